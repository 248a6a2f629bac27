//! The command line.

use super::dataset::Kind;
use super::groups::Group;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrock fast-forward                                  a million rows, every group, in the temporary directory
  ferrock fast-forward --dir /mnt/nvme/ff               on the device that matters; what is written there is used again
  ferrock fast-forward --dir D --run-tests large-partition-select-few-rows --keep-cache-across-test-cases \\
      --test-case-duration 0                            one row cold, then its neighbour warm: one read of at most 2 KiB
  ferrock fast-forward --dir D --extra --check-minimum  beside each case what it costs at least; exit code 1 above it
  ferrock fast-forward --dir D --enable-cache           with a block cache for everything
  ferrock fast-forward --list                           the groups and what they are about

Columns (a row is the run with the median frag/s):
  frags, frag/s     rows that came, and how many a second; mad, max, min over the runs
  aio, (KiB)        requests to files, of data, index and filters together; their bytes as the device reads them
  avg aio           mean over the runs
  blocked, dropped  waits for a window; windows read ahead and given up
  idx hit/miss/blk  index partitions found in the block cache, not found, waited for
  c hit/miss/blk    data blocks found in the block cache, not found, put in
  allocs, cpu       allocations; share of the time on a processor. tasks, insns/f: not known here
  --extra           data, index and filter apart; what must be read at least (min) and at most (may)

Exit codes: 0 all is well, 1 other rows came than must, a read that must not be was made, or more was read than
--check-minimum allows, 2 the work could not be done, 64 the command line is wrong.";

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

/// How files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// Past the system's page cache.
    Direct,
    /// Through it.
    Buffered,
}

/// By which interface Ferrock is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Api {
    /// Keys and iterators.
    Db,
    /// Tables of wide partitions.
    Wide,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// Arguments of `fast-forward`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Groups to run, by name, separated by commas; all by default.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', value_parser = parse_group)]
    pub(crate) run_tests: Vec<Group>,
    /// Say which groups there are, and end.
    #[arg(long)]
    pub(crate) list: bool,
    /// Data sets: large-part-ds1, small-part (these two by default), sb-large-part-ds1, sb-small-part.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = parse_kind)]
    pub(crate) datasets: Vec<Kind>,
    /// Where the data sets are, or go to; without it a directory that is removed at the end.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Write the data sets anew; otherwise those in --dir are read, and written where they are missing.
    #[arg(long)]
    pub(crate) populate: bool,
    /// Rows of each data set.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(200..=500_000_000))]
    pub(crate) rows: u32,
    /// Bytes of a value.
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=1 << 20))]
    pub(crate) value_size: u32,
    /// Give every row a value of its own.
    #[arg(long)]
    pub(crate) unique_values: bool,
    /// Tables over which the rows are dealt out in turns: the last level, and tables of level 0.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=32))]
    pub(crate) levels: u32,
    /// Bytes of a data block.
    #[arg(long, value_name = "BYTES", default_value_t = 1024)]
    pub(crate) block_size: u64,
    /// Bytes of an index or filter partition.
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    pub(crate) metadata_block_size: u64,
    /// Entries between restarts of index blocks.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) index_restart: i32,
    /// Bytes of a table; 0: all rows in one.
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = parse_size)]
    pub(crate) file_size: u64,
    /// Bytes of a memtable.
    #[arg(long, value_name = "BYTES", default_value = "300M", value_parser = parse_size)]
    pub(crate) flush_threshold: u64,
    /// Whole keys in the filter, not only prefixes.
    #[arg(long, value_name = "SWITCH", value_enum, default_value_t = Switch::Off)]
    pub(crate) row_filter: Switch,
    /// End blocks where large partitions end, and say so in the table.
    #[arg(long, value_name = "SWITCH", value_enum, default_value_t = Switch::Off)]
    pub(crate) partition_cut: Switch,
    /// Note for each block where its rows begin.
    #[arg(long, value_name = "SWITCH", value_enum, default_value_t = Switch::Off)]
    pub(crate) row_bounds: Switch,
    /// Begin every block at a sector of so many bytes; 0: where the one before ends.
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=65_536))]
    pub(crate) pad_to_sector: u64,
    /// By which interface Ferrock is asked: `db`, keys and iterators, or `wide`, tables of wide partitions. The same
    /// files.
    #[arg(long, value_name = "API", value_enum, default_value_t = Api::Db)]
    pub(crate) api: Api,
    /// How tables are read.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Io::Direct)]
    pub(crate) io: Io,
    /// Block cache for data: `off` (index and filters alone are cached) or its bytes.
    #[arg(long, value_name = "off|BYTES", default_value = "off", value_parser = parse_cache)]
    pub(crate) data_cache: DataCache,
    /// A block cache that has room for everything; also runs the groups that are about it.
    #[arg(long, conflicts_with = "data_cache")]
    pub(crate) enable_cache: bool,
    /// Do not empty the caches between groups.
    #[arg(long)]
    pub(crate) keep_cache_across_test_groups: bool,
    /// Do not empty the caches between the cases of a group.
    #[arg(long)]
    pub(crate) keep_cache_across_test_cases: bool,
    /// Empty the system's page cache, too, whenever the caches are emptied. Needs root.
    #[arg(long)]
    pub(crate) drop_os_cache: bool,
    /// What --extra and --check-minimum align reads to [default: the unit of the device; 1 for buffered reads].
    #[arg(long, value_name = "BYTES", value_parser = ["512", "4096"])]
    pub(crate) sector: Option<String>,
    /// Seconds for which a case is repeated: once more than three times at least; 0: each case runs once.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = parse_seconds)]
    pub(crate) test_case_duration: f64,
    /// A name for the run in the JSON.
    #[arg(long, value_name = "TEXT", default_value = "default")]
    pub(crate) name: String,
    /// Print a table, or JSON.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    pub(crate) output_format: Format,
    /// Every run in the JSON, not only the median one.
    #[arg(long)]
    pub(crate) dump_all_results: bool,
    /// Which values to make; the same number makes the same ones.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) random_seed: u64,
    /// More columns: data, index and filter apart, and what the blocks that there are make necessary.
    #[arg(long)]
    pub(crate) extra: bool,
    /// Fail when the first run of a case reads more than is necessary.
    #[arg(long)]
    pub(crate) check_minimum: bool,
    /// Hold the counters against what the system counted: /proc/self/io, or with io_uring /proc/diskstats. With direct
    /// I/O.
    #[arg(long)]
    pub(crate) verify_outside: bool,
    /// Also write a page, a plot and the JSON there: fast-forward.md, .svg and .json.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// JSON of another engine's run of the same cases, for the page.
    #[arg(long, value_name = "FILE", requires = "out")]
    pub(crate) compare: Option<PathBuf>,
}

/// Bytes of the cache for data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataCache {
    Off,
    Bytes(u64),
}

impl Arguments {
    /// Whether another interface than keys and iterators is asked for, which only Ferrock has.
    #[must_use]
    pub fn wants_wide(&self) -> bool {
        self.api == Api::Wide
    }

    /// The command that repeats the run, whatever its directories are called here.
    pub(crate) fn command(&self) -> String {
        let mut words = vec!["ferrock fast-forward --dir DIR --out docs/benchmarks".to_owned()];
        let switch = |name: &str, switch: Switch| (switch == Switch::On).then(|| format!("--{name} on"));
        let flag = |name: &str, is_set: bool| is_set.then(|| format!("--{name}"));
        let names = |names: Vec<&str>| names.join(",");
        let groups: Vec<&str> = self.run_tests.iter().map(|group| group.name()).collect();
        let kinds: Vec<&str> = self.datasets.iter().map(|kind| kind.name()).collect();
        words.extend((!groups.is_empty()).then(|| format!("--run-tests {}", names(groups))));
        words.extend((!kinds.is_empty()).then(|| format!("--datasets {}", names(kinds))));
        words.extend((self.rows != 1_000_000).then(|| format!("--rows {}", self.rows)));
        words.extend((self.levels != 1).then(|| format!("--levels {}", self.levels)));
        words.extend((self.index_restart != 1).then(|| format!("--index-restart {}", self.index_restart)));
        words.extend(switch("row-filter", self.row_filter));
        words.extend(switch("partition-cut", self.partition_cut));
        words.extend(switch("row-bounds", self.row_bounds));
        words.extend((self.pad_to_sector > 0).then(|| format!("--pad-to-sector {}", self.pad_to_sector)));
        words.extend(self.wants_wide().then(|| "--api wide".to_owned()));
        words.extend((self.io == Io::Buffered).then(|| "--io buffered".to_owned()));
        words.extend(flag("enable-cache", self.enable_cache));
        words.extend(flag("keep-cache-across-test-groups", self.keep_cache_across_test_groups));
        words.extend(flag("keep-cache-across-test-cases", self.keep_cache_across_test_cases));
        let seconds = self.test_case_duration;
        words.extend(((seconds - 1.0).abs() > 1e-9).then(|| format!("--test-case-duration {seconds}")));
        words.extend(flag("extra", self.extra));
        words.extend(flag("check-minimum", self.check_minimum));
        words.extend(flag("verify-outside", self.verify_outside));
        words.extend(self.compare.is_some().then(|| "--compare FILE".to_owned()));
        words.join(" ")
    }
}

fn parse_group(text: &str) -> Result<Group, String> {
    let found = Group::ALL.into_iter().find(|group| group.name() == text);
    found.ok_or_else(|| "no such group; `--list` names them".to_owned())
}

fn parse_kind(text: &str) -> Result<Kind, String> {
    let names = Kind::ALL.map(Kind::name).join(", ");
    Kind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| format!("the data sets are {names}"))
}

/// A number of bytes, with K, M or G for powers of 1024.
fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| "a number of bytes, such as 4096, 300M or 1G".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "too many bytes".to_owned())
}

fn parse_cache(text: &str) -> Result<DataCache, String> {
    if text == "off" { Ok(DataCache::Off) } else { parse_size(text).map(DataCache::Bytes) }
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    seconds.ok_or_else(|| "a number of seconds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_names() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!((parse_size("300M"), parse_size("2k")), (Ok(300 << 20), Ok(2048)));
        assert!(parse_size("M").is_err() && parse_size("99999999999G").is_err() && parse_size("").is_err());
        assert_eq!((parse_cache("off"), parse_cache("1G")), (Ok(DataCache::Off), Ok(DataCache::Bytes(1 << 30))));
        assert_eq!(parse_group("point-lookup"), Ok(Group::PointLookup));
        assert!(parse_group("lookup").is_err() && parse_kind("small").is_err() && parse_seconds("-1").is_err());
    }
}
