//! The command lines of `ferrock compare` and of the processes that it starts.

use super::data::check_value_size;
use super::fault::Fault;
use super::workload::{WORKLOADS, Workload};
use clap::{Args, ValueEnum};
use ferrock_console::failure::{Failure, Result};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrock compare --rocksdb-lib /usr/lib/librocksdb.so
                                          a minute: is Ferrock faster here, and what does it cost?
  ferrock compare --rocksdb-lib librocksdb.so --workloads readrandom,ycsb-a --rounds 7
                                          two workloads, more rounds: how sure is a ratio?
  ferrock compare --rocksdb-lib librocksdb.so --suite full --html compare.html --json compare.json
                                          everything, as a page to show and as figures to keep
  ferrock compare --rocksdb-lib before/libferrock_capi.so --ferrock-lib after/libferrock_capi.so
                                          two builds of Ferrock: any library with RocksDB's C interface goes
  ferrock compare --rocksdb-lib librocksdb.so --num 20000000 --cache-mb 256 --compression lz4 --dir /mnt/nvme
                                          more data than fits into the cache, on a certain disk
  ferrock compare --rocksdb-lib librocksdb.so --workloads readrandom --num 1M,3M,10M,30M --html growth.html
                                          how do costs grow with the number of keys?
  ferrock compare --list                  the workloads, and what each does

The columns: a library through RocksDB's C interface, Ferrock's library through the same interface, and Ferrock through
its own. Each runs each workload in a process of its own, in turns (A B C A B C ...), with the same options, keys, values
and choices, so that the members of a pair lie next to each other in time. A ratio is Ferrock's figure over the other
library's, pair by pair: the median of the rounds, with the lowest and the highest.

Every value that is read is compared in full, scans must give every row in order, and after writing all rows are read and
checked. That is not timed: op/s are operations by the time within calls of the engine; a read contains one copy of the
value. CPU and bytes contain flushes and compactions that writes left to do.

Several numbers of keys are measured one after the other, from the least. The reports then begin with one table over the
numbers, the page with plots of what an operation costs. Files are written again after each number. A load and each
reading of all rows take time with the number of keys: a hundred million want --timeout 3600, and tens of gigabytes.
With --one-load there is one load for all columns.

Where the machine does other work, only ratios mean something, and a row where `others` is far from 0 little.

Exit codes:
  0   every value was right
  1   a value was wrong or missing, or a process crashed or hung
  2   the work could not be done (no such library, no space, no permission)
  64  the command line is wrong";

/// Compare Ferrock with another library of RocksDB's C interface, such as RocksDB itself.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The shared library to compare with: RocksDB's, or another one with its C interface.
    #[arg(long, value_name = "PATH", required_unless_present = "list")]
    pub(super) rocksdb_lib: Option<PathBuf>,
    /// Ferrock's shared library [default: libferrock_capi.so beside this program].
    #[arg(long, value_name = "PATH")]
    pub(super) ferrock_lib: Option<PathBuf>,
    /// How much: `quick` takes about a minute, `full` up to an hour.
    #[arg(long, value_enum, default_value_t = Suite::Quick)]
    pub(super) suite: Suite,
    /// Only these, instead of those of the suite.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = parse_workload)]
    pub(super) workloads: Vec<&'static str>,
    /// List the workloads.
    #[arg(long)]
    pub(super) list: bool,
    /// Keys, or several numbers of them; `k` and `M` may follow a number [default: 200000 quick, 2000000 full].
    #[arg(long, value_name = "COUNT,...", value_delimiter = ',', value_parser = parse_num)]
    num: Vec<u64>,
    /// Bytes of a value.
    #[arg(long, value_name = "BYTES", default_value = "100", value_parser = parse_value_size)]
    value_size: usize,
    /// Leave out Ferrock's own interface, which is a third of the work.
    #[arg(long)]
    no_native: bool,
    /// Have Ferrock's library alone load, and the others begin with copies of its databases: less to wait for.
    #[arg(long)]
    pub(super) one_load: bool,
    /// Threads of a workload.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    threads: u64,
    /// Rounds: pairs for each ratio [default: 3 quick, 5 full].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// How blocks are compressed.
    #[arg(long, value_enum, default_value_t = Compression::None)]
    compression: Compression,
    /// Mebibytes of the block cache [default: 256 quick, 1024 full].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    cache_mb: Option<u64>,
    /// Mebibytes of a memtable [default: 4 quick, 64 full].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    write_buffer_mb: Option<u64>,
    /// More options for both, in RocksDB's text: `max_background_jobs=4;level0_file_num_compaction_trigger=8`.
    #[arg(long, value_name = "TEXT", default_value = "")]
    options: String,
    /// Seconds after which the timed part of a cell ends, though it has done less [default: 10 quick, 60 full].
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    seconds: Option<f64>,
    /// Seconds after which a process counts as hung.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = parse_seconds)]
    pub(super) timeout: f64,
    /// Which keys and values; the same number makes the same ones.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Where the databases are made; they are removed at the end [default: the directory for temporary files].
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
    /// Also write all figures of all cells as JSON; `-`: to standard output, instead of the tables.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Also write a page with plots, which needs no other file.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Also write the plots over the numbers of keys, as one SVG that does not tell the machine.
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
    /// What a column does wrong, for tests of this tool.
    #[arg(long, value_name = "COLUMN=FAULT", hide = true, value_parser = parse_fault)]
    pub(super) fault: Option<(Column, Fault)>,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Suite {
    Quick,
    Full,
}

/// How blocks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Compression {
    None,
    Snappy,
    Lz4,
    Zstd,
}

/// An engine, and the way to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum Column {
    /// The library of `--rocksdb-lib`.
    Rocksdb,
    /// Ferrock's library, through the same interface.
    Ferrock,
    /// Ferrock through its own interface.
    Native,
}

impl Column {
    pub(super) const ALL: [Self; 3] = [Self::Rocksdb, Self::Ferrock, Self::Native];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rocksdb => "rocksdb",
            Self::Ferrock => "ferrock",
            Self::Native => "native",
        }
    }
}

/// The work that all columns of a comparison share.
#[derive(Args, Clone, Debug)]
pub(super) struct Shape {
    #[arg(long)]
    pub(super) num: u64,
    #[arg(long)]
    pub(super) value_size: usize,
    #[arg(long)]
    pub(super) threads: u64,
    #[arg(long, value_enum)]
    pub(super) compression: Compression,
    #[arg(long)]
    pub(super) cache_mb: u64,
    #[arg(long)]
    pub(super) write_buffer_mb: u64,
    #[arg(long, default_value = "")]
    pub(super) more_options: String,
    #[arg(long)]
    pub(super) seconds: f64,
    #[arg(long)]
    pub(super) seed: u64,
}

/// One cell, run by a process that `compare` starts.
#[derive(Args, Clone, Debug)]
pub struct CellArguments {
    #[arg(long, value_enum)]
    pub(super) column: Column,
    #[arg(long)]
    pub(super) library: Option<PathBuf>,
    #[arg(long)]
    pub(super) directory: PathBuf,
    #[arg(long)]
    pub(super) workload: String,
    #[arg(long)]
    pub(super) round: u32,
    #[command(flatten)]
    pub(super) shape: Shape,
    #[arg(long, value_enum)]
    pub(super) fault: Option<Fault>,
}

impl Arguments {
    /// The workloads, in the order in which they run.
    pub(super) fn chosen(&self) -> Vec<Workload> {
        let is_chosen = |workload: &Workload| match (self.workloads.is_empty(), self.suite) {
            (false, _) => self.workloads.contains(&workload.name),
            (true, Suite::Quick) => workload.is_quick,
            (true, Suite::Full) => true,
        };
        WORKLOADS.into_iter().filter(is_chosen).collect()
    }

    pub(super) fn rounds(&self) -> u32 {
        self.rounds.unwrap_or_else(|| self.of_suite(3, 5))
    }

    fn of_suite<T>(&self, quick: T, full: T) -> T {
        if self.suite == Suite::Quick { quick } else { full }
    }

    /// The numbers of keys to measure, from the least, each once.
    pub(super) fn numbers(&self) -> Vec<u64> {
        if self.num.is_empty() {
            return vec![self.of_suite(200_000, 2_000_000)];
        }
        let mut numbers = self.num.clone();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The columns, in the order in which they run.
    pub(super) fn columns(&self) -> &'static [Column] {
        if self.no_native { &[Column::Rocksdb, Column::Ferrock] } else { &Column::ALL }
    }

    /// The work over a number of keys.
    pub(super) fn shape(&self, num: u64) -> Shape {
        Shape {
            num,
            value_size: self.value_size,
            threads: self.threads,
            compression: self.compression,
            cache_mb: self.cache_mb.unwrap_or_else(|| self.of_suite(256, 1024)),
            write_buffer_mb: self.write_buffer_mb.unwrap_or_else(|| self.of_suite(4, 64)),
            more_options: self.options.clone(),
            seconds: self.seconds.unwrap_or_else(|| self.of_suite(10.0, 60.0)),
            seed: self.seed,
        }
    }

    /// Ferrock's library: the one that is named, else the one beside this program.
    ///
    /// # Errors
    /// There is none; the message says how to get it.
    pub(super) fn ferrock_library(&self) -> Result<PathBuf> {
        let library = match &self.ferrock_lib {
            Some(path) => path.clone(),
            None => {
                let program = std::env::current_exe()
                    .map_err(|error| Failure::NotDone(format!("the path of this program: {error}")))?;
                program.with_file_name("libferrock_capi.so")
            }
        };
        if library.exists() {
            return Ok(library);
        }
        Err(Failure::NotDone(format!(
            "{} is not there; build it with `cargo build --release -p ferrock-capi`, or name another with --ferrock-lib",
            library.display()
        )))
    }

    /// The library to compare with.
    ///
    /// # Errors
    /// It is not there.
    pub(super) fn rocksdb_library(&self) -> Result<PathBuf> {
        let library = self.rocksdb_lib.clone().unwrap_or_default();
        if library.exists() {
            return Ok(library);
        }
        Err(Failure::NotDone(format!(
            "--rocksdb-lib {}: there is no such file; Debian's package librocksdb-dev has a librocksdb.so, and so has \
             RocksDB's artifact for Java in it",
            library.display()
        )))
    }
}

impl Shape {
    /// RocksDB's text of the options that all columns open with.
    pub(super) fn options(&self) -> String {
        let compression = match self.compression {
            Compression::None => "kNoCompression",
            Compression::Snappy => "kSnappyCompression",
            Compression::Lz4 => "kLZ4Compression",
            Compression::Zstd => "kZSTD",
        };
        let (cache, buffer) = (self.cache_mb << 20, self.write_buffer_mb << 20);
        let more = if self.more_options.is_empty() { String::new() } else { format!(";{}", self.more_options) };
        format!(
            "create_if_missing=true;compression={compression};write_buffer_size={buffer};\
             block_based_table_factory={{block_cache={cache};filter_policy=bloomfilter:10:false}}{more}"
        )
    }

    /// The arguments that give a process this shape.
    pub(super) fn words(&self) -> Vec<String> {
        let compression =
            self.compression.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        vec![
            format!("--num={}", self.num),
            format!("--value-size={}", self.value_size),
            format!("--threads={}", self.threads),
            format!("--compression={compression}"),
            format!("--cache-mb={}", self.cache_mb),
            format!("--write-buffer-mb={}", self.write_buffer_mb),
            format!("--more-options={}", self.more_options),
            format!("--seconds={}", self.seconds),
            format!("--seed={}", self.seed),
        ]
    }
}

fn parse_workload(text: &str) -> std::result::Result<&'static str, String> {
    let found = WORKLOADS.iter().find(|workload| workload.name == text);
    found
        .map(|workload| workload.name)
        .ok_or_else(|| "no such workload; `ferrock compare --list` names them".to_owned())
}

fn parse_num(text: &str) -> std::result::Result<u64, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let num = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(unit));
    let num = num.filter(|num| (100..=1_000_000_000).contains(num));
    num.ok_or_else(|| "a number of keys, 100 to 1000000000, such as 500000, 500k or 3M".to_owned())
}

fn parse_value_size(text: &str) -> std::result::Result<usize, String> {
    check_value_size(text.parse().map_err(|_| "a number of bytes".to_owned())?)
}

fn parse_seconds(text: &str) -> std::result::Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.001..=1e6).contains(seconds));
    seconds.ok_or_else(|| "a number of seconds, 0.001 to 1000000".to_owned())
}

fn parse_fault(text: &str) -> std::result::Result<(Column, Fault), String> {
    let (column, fault) = text.split_once('=').ok_or("COLUMN=FAULT")?;
    Ok((Column::from_str(column, false)?, Fault::from_str(fault, false)?))
}

/// The arguments of a command line.
#[cfg(test)]
pub(super) fn parsed(line: &str) -> std::result::Result<Arguments, clap::Error> {
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    Line::try_parse_from(["compare"].into_iter().chain(line.split_whitespace())).map(|line| line.arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct CellLine {
        #[command(flatten)]
        cell: CellArguments,
    }

    #[test]
    fn suites_have_their_defaults() {
        let quick = parsed("--rocksdb-lib x.so").unwrap();
        assert_eq!((quick.numbers(), quick.rounds(), quick.chosen().len()), (vec![200_000], 3, 11));
        let full = parsed("--rocksdb-lib x.so --suite full --rounds 2").unwrap();
        assert_eq!((full.numbers(), full.rounds(), full.chosen().len()), (vec![2_000_000], 2, WORKLOADS.len()));
        let two = parsed("--rocksdb-lib x.so --workloads ycsb-a,fillseq").unwrap();
        let names: Vec<_> = two.chosen().iter().map(|workload| workload.name).collect();
        assert_eq!(names, ["fillseq", "ycsb-a"]);
    }

    #[test]
    fn numbers_of_keys_are_a_list() {
        for (list, numbers) in [
            ("1234", &[1234][..]),
            ("3M,500k,1000,3000000", &[1000, 500_000, 3_000_000]),
            ("1000M", &[1_000_000_000]),
            ("1000 --num 2000", &[1000, 2000]),
        ] {
            assert_eq!(parsed(&format!("--rocksdb-lib x.so --num {list}")).unwrap().numbers(), numbers, "{list}");
        }
        for wrong in ["99", "1000,", "M", "1001M", "1K", "1m", "0.5M", "-1", "99999999999999999M", "1000;2000"] {
            assert!(parsed(&format!("--rocksdb-lib x.so --num={wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_column_can_be_left_out() {
        assert_eq!(parsed("--rocksdb-lib x.so").unwrap().columns(), Column::ALL);
        let two = parsed("--rocksdb-lib x.so --no-native").unwrap();
        assert_eq!(two.columns(), [Column::Rocksdb, Column::Ferrock]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "",
            "--rocksdb-lib x.so --workloads writes",
            "--rocksdb-lib x.so --value-size 3",
            "--rocksdb-lib x.so --rounds 0",
            "--rocksdb-lib x.so --threads 0",
            "--rocksdb-lib x.so --compression gzip",
            "--rocksdb-lib x.so --fault ferrock=late",
            "--rocksdb-lib x.so --suite slow",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
        assert!(parsed("--list").is_ok());
    }

    #[test]
    fn a_process_gets_the_shape_that_was_asked_for() {
        let line = "--rocksdb-lib x.so --compression lz4 --options max_background_jobs=4 --seconds 0.5";
        let shape = parsed(line).unwrap().shape(1234);
        let words = ["cell", "--column=native", "--directory=d", "--workload=fillseq", "--round=1"].map(str::to_owned);
        let cell = CellLine::try_parse_from(words.into_iter().chain(shape.words())).unwrap().cell;
        assert_eq!(cell.shape.options(), shape.options());
        assert!(shape.options().contains("kLZ4Compression") && shape.options().ends_with("};max_background_jobs=4"));
        assert_eq!((cell.shape.num, cell.shape.seconds, cell.shape.threads), (1234, 0.5, 1));
    }
}
