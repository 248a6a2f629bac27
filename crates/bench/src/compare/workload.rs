//! The workloads: what each does, and from which database it starts.

/// The database that a workload starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// An empty directory.
    Empty,
    /// The loaded database, which is only read.
    Base,
    /// A copy of it of its own.
    Copy,
}

/// One of the six mixes of YCSB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mix {
    /// Of a hundred operations; those that are left over read a key and write it.
    pub(super) reads: u64,
    pub(super) updates: u64,
    pub(super) inserts: u64,
    pub(super) scans: u64,
    /// Reads are of what was inserted last, not of keys that are asked for often.
    pub(super) reads_latest: bool,
}

/// What the timed part of a cell does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Writes the loaded database; not measured.
    Load,
    FillSeq,
    FillRandom,
    FillSync,
    Overwrite,
    ReadRandom,
    ReadMissing,
    MultiGet,
    /// A seek and so many steps.
    Seek(usize),
    ReadSeq,
    ReadReverse,
    ReadWhileWriting,
    Compact,
    Reopen,
    Ycsb(Mix),
}

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Workload {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) work: Work,
    pub(super) start: Start,
    /// It is part of the quick suite.
    pub(super) is_quick: bool,
    /// Of `--num` operations a cell does one in so many.
    pub(super) share: u64,
}

const fn mix(reads: u64, updates: u64, inserts: u64, scans: u64) -> Mix {
    Mix { reads, updates, inserts, scans, reads_latest: false }
}

const fn workload(name: &'static str, work: Work, start: Start, share: u64, what: &'static str) -> Workload {
    Workload { name, what, work, start, is_quick: false, share }
}

const fn quick(workload: Workload) -> Workload {
    Workload { is_quick: true, ..workload }
}

/// Makes the database that others start from.
pub(super) const LOAD: Workload = workload("load", Work::Load, Start::Empty, 1, "");

/// All of them, in the order in which they run.
pub(super) const WORKLOADS: [Workload; 21] = [
    quick(workload("fillseq", Work::FillSeq, Start::Empty, 1, "puts in the order of the keys")),
    quick(workload("fillrandom", Work::FillRandom, Start::Empty, 1, "puts of every key once, in random order")),
    workload("fillsync", Work::FillSync, Start::Empty, 500, "puts that are durable when they return"),
    quick(workload("overwrite", Work::Overwrite, Start::Copy, 1, "puts of random keys that are there")),
    quick(workload("compact", Work::Compact, Start::Copy, 1, "one compaction of everything; its operations are keys")),
    workload("reopen", Work::Reopen, Start::Copy, 5000, "a put, closing, opening"),
    quick(workload("readrandom", Work::ReadRandom, Start::Base, 1, "gets of random keys")),
    quick(workload("readmissing", Work::ReadMissing, Start::Base, 1, "gets of keys that lie between those there are")),
    quick(workload(
        "multireadrandom",
        Work::MultiGet,
        Start::Base,
        1,
        "gets of 32 random keys by one call; latency is a batch's",
    )),
    quick(workload(
        "readseq",
        Work::ReadSeq,
        Start::Base,
        1,
        "all rows, forward, again and again; latency is that of 64 rows",
    )),
    workload("readreverse", Work::ReadReverse, Start::Base, 1, "the same, backward"),
    workload("seekrandom0", Work::Seek(0), Start::Base, 4, "a new iterator, and a seek to a random key"),
    quick(workload("seekrandom10", Work::Seek(10), Start::Base, 8, "the same, and 10 steps")),
    workload("seekrandom100", Work::Seek(100), Start::Base, 32, "the same, and 100 steps"),
    quick(workload(
        "readwhilewriting",
        Work::ReadWhileWriting,
        Start::Copy,
        1,
        "gets beside one thread that puts 20,000 keys a second",
    )),
    quick(workload(
        "ycsb-a",
        Work::Ycsb(mix(50, 50, 0, 0)),
        Start::Copy,
        1,
        "half gets, half updates; some keys often (Zipf, 0.99)",
    )),
    workload("ycsb-b", Work::Ycsb(mix(95, 5, 0, 0)), Start::Copy, 1, "95 % gets, 5 % updates"),
    workload("ycsb-c", Work::Ycsb(mix(100, 0, 0, 0)), Start::Copy, 1, "gets"),
    workload(
        "ycsb-d",
        Work::Ycsb(Mix { reads_latest: true, ..mix(95, 0, 5, 0) }),
        Start::Copy,
        1,
        "95 % gets of keys that were inserted last, 5 % inserts",
    ),
    workload("ycsb-e", Work::Ycsb(mix(0, 0, 5, 95)), Start::Copy, 20, "95 % scans of up to 100 rows, 5 % inserts"),
    workload("ycsb-f", Work::Ycsb(mix(50, 0, 0, 0)), Start::Copy, 1, "half gets, half gets with a put of the same key"),
];

impl Workload {
    /// The workload of a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        WORKLOADS.into_iter().chain([LOAD]).find(|workload| workload.name == name)
    }

    /// Operations of a cell over `num` keys.
    pub(super) fn operations(&self, num: u64) -> u64 {
        (num / self.share).max(10)
    }
}
