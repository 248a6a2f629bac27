//! The benchmarks: one table, used to parse `--benchmarks` with its `[Xn]` and `[Wn]`, and to print the help.

use crate::wrap::wrap;
use ferrock_base::checksum::ChecksumType;
use std::fmt::Write as _;

/// The default of `--benchmarks`.
pub(crate) const DEFAULT_LIST: &str = "fillseq,fillsync,fillrandom,overwrite,readrandom,readmissing,readhot,readseq,\
    readreverse,seekrandom,multireadrandom,readwhilewriting,updaterandom,deleterandom,compact,readrandom,readseq,\
    stats,levelstats";

/// The order in which keys are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Sequential,
    Random,
    /// Every key once.
    Permutation,
}

/// What the threads do that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    Read,
    Seek,
    MultiRead,
    NewIterator,
}

/// What the thread beside them does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    Put,
    Merge,
    Scan,
}

impl Work {
    /// True when it merges.
    pub(crate) fn merges(self) -> bool {
        matches!(self, Self::Merge | Self::ReadMerge | Self::Beside { back: Back::Merge, .. })
    }
}

/// The work of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Write {
        order: Order,
        sync: bool,
        divisor: u64,
        batch: Option<u64>,
    },
    ReadRandom {
        is_missing: bool,
        is_hot: bool,
    },
    ReadSequential {
        is_reverse: bool,
    },
    SeekRandom,
    MultiReadRandom,
    NewIterator,
    /// Rows put at the end and deleted at the front.
    Queue,
    Update,
    Delete {
        order: Order,
    },
    Merge,
    ReadWrite,
    /// Look-ups and merges.
    ReadMerge,
    /// Ten keys at a time, which are there together or not at all.
    VerifyTen,
    /// Threads that read, and one more thread that does something else until they are done.
    Beside {
        front: Front,
        back: Back,
    },
    /// Looks the keys up in order.
    ReadToCache,
    ApproximateSizes,
    /// Checksums of blocks of 4 KiB.
    Checksum(ChecksumType),
    /// Compacts the tables of a level into the next one.
    CompactLevel(usize),
    ResetStats,
    /// LinkBench: `num` nodes with their links.
    LinkLoad,
    /// LinkBench: its operations.
    LinkBench,
    /// LinkBench: checks every row, and every count against the existing links.
    LinkCheck,
    Compact,
    Flush,
    WaitForCompaction,
    VerifyChecksum,
    /// Prints a property.
    Property(&'static str),
    /// Prints the history of statistics.
    StatsHistory,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    /// Begins with an empty database.
    pub(crate) is_fresh: bool,
    pub(crate) work: Work,
    pub(crate) help: &'static str,
}

const fn fill(
    name: &'static str,
    order: Order,
    sync: bool,
    divisor: u64,
    batch: Option<u64>,
    help: &'static str,
) -> Benchmark {
    Benchmark { name, is_fresh: true, work: Work::Write { order, sync, divisor, batch }, help }
}

const fn beside(name: &'static str, front: Front, back: Back, help: &'static str) -> Benchmark {
    row(name, Work::Beside { front, back }, help)
}

const fn row(name: &'static str, work: Work, help: &'static str) -> Benchmark {
    Benchmark { name, is_fresh: false, work, help }
}

pub(crate) const TABLE: &[Benchmark] = &[
    fill("fillseq", Order::Sequential, false, 1, None, "write the keys in order"),
    fill("fillbatch", Order::Sequential, false, 1, Some(1000), "write the keys in order, 1000 a batch"),
    fill("fillrandom", Order::Random, false, 1, None, "write num random keys"),
    fill("filluniquerandom", Order::Permutation, false, 1, None, "write every key once, in random order"),
    fill("fillsync", Order::Random, true, 1000, None, "write num/1000 random keys, each durably"),
    row(
        "overwrite",
        Work::Write { order: Order::Random, sync: false, divisor: 1, batch: None },
        "write random keys of the database that is there",
    ),
    row("readrandom", Work::ReadRandom { is_missing: false, is_hot: false }, "look up random keys"),
    row("readmissing", Work::ReadRandom { is_missing: true, is_hot: false }, "look up keys that are not there"),
    row("readhot", Work::ReadRandom { is_missing: false, is_hot: true }, "look up random keys of the first 1 %"),
    row("readseq", Work::ReadSequential { is_reverse: false }, "iterate from the first key"),
    row("readreverse", Work::ReadSequential { is_reverse: true }, "iterate back from the last key"),
    row("seekrandom", Work::SeekRandom, "seek random keys, and seek_nexts steps from each"),
    row("multireadrandom", Work::MultiReadRandom, "look up batch_size random keys at a time"),
    Benchmark {
        name: "queue",
        is_fresh: true,
        work: Work::Queue,
        help: "num rounds: put at the end, find the first row, delete it",
    },
    row("newiterator", Work::NewIterator, "make iterators"),
    row("readtocache", Work::ReadToCache, "look the keys up in order, so that the cache has their blocks"),
    beside("readwhilewriting", Front::Read, Back::Put, "readrandom, and one more thread that writes"),
    beside("readwhilemerging", Front::Read, Back::Merge, "readrandom, and one more thread that merges"),
    beside("readwhilescanning", Front::Read, Back::Scan, "readrandom, and one more thread that reads everything"),
    beside("seekrandomwhilewriting", Front::Seek, Back::Put, "seekrandom, and one more thread that writes"),
    beside("seekrandomwhilemerging", Front::Seek, Back::Merge, "seekrandom, and one more thread that merges"),
    beside("multireadwhilewriting", Front::MultiRead, Back::Put, "multireadrandom, and one more thread that writes"),
    beside("newiteratorwhilewriting", Front::NewIterator, Back::Put, "newiterator, and one more thread that writes"),
    row("readrandomwriterandom", Work::ReadWrite, "look up and write random keys, readwritepercent of them look-ups"),
    row(
        "readrandommergerandom",
        Work::ReadMerge,
        "look up and merge into random keys, mergereadpercent of them merges",
    ),
    row(
        "randomwithverify",
        Work::VerifyTen,
        "ten keys that are there together or not at all, written, deleted, looked up",
    ),
    row("approximatesizerandom", Work::ApproximateSizes, "ask for the bytes between two random keys"),
    row("updaterandom", Work::Update, "look up a random key and write it"),
    row("mergerandom", Work::Merge, "merge into random keys"),
    row("deleteseq", Work::Delete { order: Order::Sequential }, "delete the keys in order"),
    row("deleterandom", Work::Delete { order: Order::Random }, "delete random keys"),
    Benchmark {
        name: "linkload",
        is_fresh: true,
        work: Work::LinkLoad,
        help: "LinkBench: write a social graph of num nodes",
    },
    row("linkbench", Work::LinkBench, "LinkBench: its published mix of operations on that graph"),
    row("linkcheck", Work::LinkCheck, "LinkBench: read all rows, count the links and compare"),
    row("compact", Work::Compact, "compact everything, the bottommost level too"),
    row("compactall", Work::Compact, "the same: there is one database"),
    row("compact0", Work::CompactLevel(0), "compact the tables of level 0 into the level below"),
    row("compact1", Work::CompactLevel(1), "compact the tables of level 1 into level 2"),
    row("flush", Work::Flush, "flush the memtable"),
    row("resetstats", Work::ResetStats, "begin to count from zero"),
    row("crc32c", Work::Checksum(ChecksumType::Crc32c), "checksums of blocks of 4 KiB"),
    row("xxhash", Work::Checksum(ChecksumType::XxHash), "the same with another checksum"),
    row("xxhash64", Work::Checksum(ChecksumType::XxHash64), "the same with another checksum"),
    row("xxh3", Work::Checksum(ChecksumType::Xxh3), "the same with another checksum"),
    row("waitforcompaction", Work::WaitForCompaction, "wait until nothing runs in the background"),
    row("verifychecksum", Work::VerifyChecksum, "verify the checksum of every block"),
    row("stats", Work::Property("rocksdb.stats"), "print the statistics of the database"),
    row("stats_history", Work::StatsHistory, "print by how much each ticker grew, period by period"),
    row("levelstats", Work::Property("rocksdb.levelstats"), "print files and bytes of the levels"),
    row(
        "block_cache_entry_stats",
        Work::Property("rocksdb.block-cache-entry-stats"),
        "print what the block cache holds",
    ),
    row("memory", Work::Property("ferrock.memory"), "print what holds what of the memory_budget"),
    row("sstables", Work::Property("rocksdb.sstables"), "print the tables"),
];

/// A benchmark, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) benchmark: &'static Benchmark,
    pub(crate) warmups: u32,
    pub(crate) repeats: u32,
}

/// Reads the list of `--benchmarks`.
pub(crate) fn parse_list(list: &str) -> Result<Vec<Planned>, String> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(parse_one).collect()
}

fn parse_one(item: &str) -> Result<Planned, String> {
    let (name, arguments) = match item.split_once('[') {
        None => (item, ""),
        Some((name, rest)) => {
            (name, rest.strip_suffix(']').ok_or_else(|| format!("--benchmarks: {item}: a ] is missing"))?)
        }
    };
    let benchmark = TABLE.iter().find(|benchmark| benchmark.name == name).ok_or_else(|| {
        let names: Vec<&str> = TABLE.iter().map(|benchmark| benchmark.name).collect();
        format!("--benchmarks: there is no benchmark {name:?} here; there are {}", names.join(", "))
    })?;
    let mut planned = Planned { benchmark, warmups: 0, repeats: 1 };
    for argument in arguments.split('-').filter(|argument| !argument.is_empty()) {
        let count = argument.get(1..).and_then(|digits| digits.parse::<u32>().ok()).filter(|count| *count > 0);
        match (argument.as_bytes()[0], count) {
            (b'X', Some(count)) => planned.repeats = count,
            (b'W', Some(count)) => planned.warmups = count,
            _ => {
                return Err(format!(
                    "--benchmarks: {item}: in brackets are Xn (repeats) and Wn (warm-ups), n at least 1"
                ));
            }
        }
    }
    Ok(planned)
}

/// The table as text.
pub(crate) fn help() -> String {
    let mut text = "\nBenchmarks:\n".to_owned();
    for benchmark in TABLE {
        let fresh = if benchmark.is_fresh { "; begins with an empty database" } else { "" };
        let _ = writeln!(text, "  {:<22} {}{fresh}", benchmark.name, benchmark.help);
    }
    wrap(&mut text, &format!("By default: {}", DEFAULT_LIST.replace(',', ", ")), "", "");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_with_repeats() {
        let plan = parse_list("fillseq, readrandom[X3],overwrite[W1-X22],,stats").unwrap();
        let plan: Vec<_> = plan.iter().map(|item| (item.benchmark.name, item.warmups, item.repeats)).collect();
        assert_eq!(plan, [("fillseq", 0, 1), ("readrandom", 0, 3), ("overwrite", 1, 22), ("stats", 0, 1)]);
        for wrong in ["fillsek", "fillseq[X3", "fillseq[X0]", "fillseq[Y3]", "fillseq[X]", "fillseq[é]", "fillseq]"] {
            assert!(parse_list(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_default_list_is_of_the_table() {
        assert_eq!(parse_list(DEFAULT_LIST).unwrap().len(), 19);
        for benchmark in TABLE {
            assert!(help().contains(benchmark.name) && !benchmark.help.is_empty());
            assert_eq!(TABLE.iter().filter(|other| other.name == benchmark.name).count(), 1);
        }
    }
}
