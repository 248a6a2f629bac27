//! What can happen to a database, and how proptest makes it up.

use crate::choices;
use crate::files::Place;
use crate::model::{Filter, Merge};
use crate::orders::Order;
use ferrock::ReadOptions;
use ferrock::options::{IoPriority, LimitReads};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::fmt;

/// A database from its creation to its end.
#[derive(Clone, Debug)]
pub struct Case {
    /// How many of the keys are in use.
    pub key_space: u16,
    /// Logs, tables, or both in directories of their own: the bits 1 and 2.
    pub layout: u8,
    pub files: Place,
    pub database: Vec<&'static str>,
    pub families: Vec<NewFamily>,
    pub operations: Vec<Operation>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key_space, layout, files, database, .. } = self;
        writeln!(f, "keys: {key_space}, layout: {layout}, files: {files:?}, database: {database:?}")?;
        for (index, family) in self.families.iter().enumerate() {
            writeln!(f, "family {index}: {family:?}")?;
        }
        for (index, operation) in self.operations.iter().enumerate() {
            writeln!(f, "{index:5} {operation:?}")?;
        }
        Ok(())
    }
}

/// A column family at its creation.
#[derive(Clone, Debug)]
pub struct NewFamily {
    pub order: Order,
    pub merge: Merge,
    pub filter: Filter,
    pub num_levels: i32,
    pub choices: Vec<&'static str>,
}

/// What happens to one key or range. Families and keys are taken modulo how many there are.
#[derive(Clone, Debug)]
pub struct Mutation {
    pub family: u8,
    pub key: u16,
    pub change: Change,
}

#[derive(Clone, Debug)]
pub enum Change {
    Put {
        seed: u16,
        size: u16,
    },
    Delete,
    Merge(u32),
    /// To the key so many keys further on.
    DeleteRange(u16),
}

/// Where a walk begins.
#[derive(Clone, Debug)]
pub enum Start {
    First,
    Last,
    Seek(Target),
    SeekForPrev(Target),
}

/// A key, or bytes near one.
#[derive(Clone, Debug)]
pub struct Target {
    pub key: u16,
    pub twist: u8,
}

/// How a read is made that says the same however it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Here,
    /// On a thread that ends then.
    OnThread,
    Future,
    /// Begun by a thread that ends then.
    FutureOfThread,
    /// By the handle of its family.
    Families,
    FamiliesFuture,
}

/// Read options that change no answer, as bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tuning(pub u16);

impl Tuning {
    fn has(self, bit: u32) -> bool {
        self.0 >> bit & 1 == 1
    }

    /// With one of the seven limits from 1 on that are drawn, for reads of the fewest bytes.
    pub fn with_exact_limit(self, limit: u16) -> Self {
        Self(self.0 & !(7 << 9) | limit << 9 | 1 << 12)
    }

    pub fn apply(self, options: &mut ReadOptions) {
        options.fill_cache = !self.has(0);
        options.cache_data_blocks = !self.has(1);
        options.async_io = self.has(2);
        options.adaptive_readahead = self.has(3);
        options.readahead_size = if self.has(4) && self.has(5) { 300 } else { 0 };
        options.auto_readahead_size = !(self.has(5) && self.has(6));
        options.io_gap_bytes = if self.has(7) { 0 } else { 16 << 10 };
        options.total_order_seek = self.has(8);
        options.limit_hint = [0, 0, 1, 2, 3, 10, 40, 1000][usize::from(self.0 >> 9 & 7)];
        options.limit_reads = if self.has(12) { LimitReads::FewestBytes } else { LimitReads::FewestRequests };
        options.verify_checksums = !self.has(13);
        options.auto_prefix_mode = self.has(14);
        if self.has(15) {
            options.rate_limiter_priority = Some(IoPriority::Low);
        }
    }
}

impl fmt::Debug for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A scan as futures.
#[derive(Clone, Debug)]
pub struct AsyncScanOf {
    pub family: u8,
    pub snapshot: Option<u8>,
    pub lower: Option<Target>,
    pub upper: Option<Target>,
    pub batch_bytes: u16,
    pub on_thread: bool,
    pub tuning: Tuning,
}

/// A scan of many ranges.
#[derive(Clone, Debug)]
pub struct MultiScanOf {
    pub family: u8,
    pub snapshot: Option<u8>,
    /// Bounds and limits.
    pub ranges: Vec<(Option<Target>, Option<Target>, u8)>,
    pub backward: bool,
    pub memory_bytes: u16,
    pub on_thread: bool,
    pub tuning: Tuning,
}

/// A compaction of files that are named.
#[derive(Clone, Debug)]
pub struct NamedFiles {
    pub family: u8,
    /// Of the files in their order, a bit says that one is named; the bits repeat.
    pub which: u16,
    /// Modulo a little more than the family has.
    pub level: u8,
    pub path: u16,
    pub moves: bool,
    pub file_size: u16,
    pub parts: u8,
    /// Nothing happens then.
    pub stopped: Stopped,
}

/// Why a compaction that a caller asks for does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    No,
    Canceled,
    Disabled,
    Aborted,
}

/// Short walks from many keys.
#[derive(Clone, Debug)]
pub struct Sweep {
    pub family: u8,
    pub snapshot: Option<u8>,
    pub first: u16,
    pub backward: bool,
    pub steps: u8,
    pub tuning: Tuning,
}

/// A walk that goes on within other bounds.
#[derive(Clone, Debug)]
pub struct Again {
    pub lower: Option<Target>,
    pub upper: Option<Target>,
    pub steps: Vec<bool>,
}

/// A walk of an iterator.
#[derive(Clone, Debug)]
pub struct Walk {
    pub family: u8,
    /// One of the snapshots, if there are any.
    pub snapshot: Option<u8>,
    pub lower: Option<Target>,
    pub upper: Option<Target>,
    pub start: Start,
    /// True: `next`.
    pub steps: Vec<bool>,
    pub tuning: Tuning,
    /// Begun on a thread that ends then.
    pub on_thread: bool,
    /// Within the prefix of the seek key, where the family has an extractor.
    pub prefix: bool,
    pub again: Option<Again>,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Write {
        mutation: Mutation,
        sync: bool,
        disable_wal: bool,
    },
    Batch {
        mutations: Vec<Mutation>,
        sync: bool,
    },
    Get {
        family: u8,
        snapshot: Option<u8>,
        target: Target,
        way: Way,
    },
    MultiGet {
        family: u8,
        snapshot: Option<u8>,
        targets: Vec<Target>,
        way: Way,
    },
    /// Looks up the same keys in every way, and compares how many lookups the family counts.
    CountLookups {
        family: u8,
        snapshot: Option<u8>,
        targets: Vec<Target>,
    },
    ScanAsync(AsyncScanOf),
    MultiScan(MultiScanOf),
    Sweep(Sweep),
    Walk(Walk),
    Scan {
        family: u8,
        snapshot: Option<u8>,
        backward: bool,
    },
    TakeSnapshot,
    DropSnapshot(u8),
    HoldIterator(Walk),
    StepHeld {
        which: u8,
        steps: Vec<bool>,
    },
    Flush {
        family: u8,
        wait: bool,
    },
    Compact {
        family: u8,
        from: Option<u16>,
        to: Option<u16>,
        force: u8,
        change_level: bool,
    },
    /// Drops the files of a range, and deletes the rest of it.
    DropFiles {
        family: u8,
        key: u16,
        length: u16,
    },
    SuggestCompaction {
        family: u8,
        from: u16,
        to: u16,
    },
    CompactFiles(NamedFiles),
    Wait,
    SyncWal,
    SetOptions {
        family: u8,
        choices: Vec<&'static str>,
    },
    CreateFamily(NewFamily),
    DropFamily(u8),
    /// Close, or drop the last handle; then open with other options.
    Reopen {
        close: bool,
        database: Vec<&'static str>,
        family_choices: Option<Vec<&'static str>>,
    },
    /// The process dies; what it handed to the system stays.
    Kill {
        database: Vec<&'static str>,
    },
    VerifyChecksum,
}

pub fn target() -> impl Strategy<Value = Target> {
    (any::<u16>(), prop_oneof![6 => Just(0u8), 1 => 1u8..4]).prop_map(|(key, twist)| Target { key, twist })
}

fn snapshot() -> impl Strategy<Value = Option<u8>> {
    prop_oneof![2 => Just(None), 1 => any::<u8>().prop_map(Some)]
}

fn change() -> impl Strategy<Value = Change> {
    let size = prop_oneof![4 => 0u16..20, 10 => 0u16..200, 3 => 0u16..3000, 1 => 0u16..20000];
    prop_oneof![
        20 => (any::<u16>(), size).prop_map(|(seed, size)| Change::Put { seed, size }),
        9 => Just(Change::Delete),
        8 => any::<u32>().prop_map(Change::Merge),
        2 => prop_oneof![8 => 0u16..8, 3 => 0u16..40, 1 => 0u16..500].prop_map(Change::DeleteRange),
    ]
}

fn mutation() -> impl Strategy<Value = Mutation> {
    (any::<u8>(), any::<u16>(), change()).prop_map(|(family, key, change)| Mutation { family, key, change })
}

/// Bounds of a walk, which mostly has none.
pub fn bound() -> impl Strategy<Value = Option<Target>> {
    option::weighted(0.25, target())
}

fn steps(most: usize) -> impl Strategy<Value = Vec<bool>> {
    // Runs in one direction, with a turn now and then.
    prop_oneof![
        vec(Just(true), 0..most),
        vec(Just(false), 0..most),
        vec(proptest::bool::weighted(0.8), 0..most),
        vec(any::<bool>(), 0..most),
    ]
}

fn walk() -> impl Strategy<Value = Walk> {
    let start = prop_oneof![
        1 => Just(Start::First),
        1 => Just(Start::Last),
        4 => target().prop_map(Start::Seek),
        3 => target().prop_map(Start::SeekForPrev),
    ];
    let again = (bound(), bound(), steps(12)).prop_map(|(lower, upper, steps)| Again { lower, upper, steps });
    let habits = (tuning(), on_thread(), proptest::bool::weighted(0.3), option::weighted(0.15, again));
    (any::<u8>(), snapshot(), bound(), bound(), start, steps(24), habits).prop_map(
        |(family, snapshot, lower, upper, start, steps, (tuning, on_thread, prefix, again))| Walk {
            family,
            snapshot,
            lower,
            upper,
            start,
            steps,
            tuning,
            on_thread,
            prefix,
            again,
        },
    )
}

fn tuning() -> impl Strategy<Value = Tuning> {
    prop_oneof![1 => Just(Tuning(0)), 5 => any::<u16>().prop_map(Tuning)]
}

/// Threads cost more than what they do here.
fn on_thread() -> impl Strategy<Value = bool> {
    proptest::bool::weighted(0.02)
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        40 => Just(Way::Here),
        20 => Just(Way::Future),
        10 => Just(Way::Families),
        10 => Just(Way::FamiliesFuture),
        1 => Just(Way::OnThread),
        1 => Just(Way::FutureOfThread),
    ]
}

fn async_scan() -> impl Strategy<Value = AsyncScanOf> {
    let bound = || option::weighted(0.6, target());
    (any::<u8>(), snapshot(), bound(), bound(), 1u16..3000, on_thread(), tuning()).prop_map(
        |(family, snapshot, lower, upper, batch_bytes, on_thread, tuning)| AsyncScanOf {
            family,
            snapshot,
            lower,
            upper,
            batch_bytes,
            on_thread,
            tuning,
        },
    )
}

fn sweep() -> impl Strategy<Value = Sweep> {
    (any::<u8>(), snapshot(), any::<u16>(), any::<bool>(), 0u8..12, tuning()).prop_map(
        |(family, snapshot, first, backward, steps, tuning)| Sweep { family, snapshot, first, backward, steps, tuning },
    )
}

fn multi_scan() -> impl Strategy<Value = MultiScanOf> {
    let bound = || option::weighted(0.7, target());
    let limit = prop_oneof![3 => Just(0u8), 2 => 1u8..20];
    let memory_bytes = select(&[0, 1, 300, 5000, u16::MAX][..]);
    (any::<u8>(), snapshot(), vec((bound(), bound(), limit), 0..8), any::<bool>(), memory_bytes, on_thread(), tuning())
        .prop_map(|(family, snapshot, ranges, backward, memory_bytes, on_thread, tuning)| MultiScanOf {
            family,
            snapshot,
            ranges,
            backward,
            memory_bytes,
            on_thread,
            tuning,
        })
}

fn database_choices() -> impl Strategy<Value = Vec<&'static str>> {
    vec(select(choices::DATABASE), 0..6)
}

fn family_choices() -> impl Strategy<Value = Vec<&'static str>> {
    vec(select(choices::FAMILY), 0..14)
}

fn new_family(choices: impl Strategy<Value = Vec<&'static str>>) -> impl Strategy<Value = NewFamily> {
    let order = prop_oneof![
        4 => Just(Order::Bytewise),
        2 => Just(Order::Reverse),
        1 => Just(Order::LengthFirst),
        1 => Just(Order::Folding),
        1 => Just(Order::EightBytes),
    ];
    let merge = select(&[Merge::None, Merge::Add, Merge::Append][..]);
    let filter = prop_oneof![
        4 => Just(Filter::None),
        2 => Just(Filter::Compactions),
        1 => Just(Filter::Everywhere),
        1 => Just(Filter::Made),
        1 => Just(Filter::MadeEverywhere),
    ];
    let num_levels = select(&[7, 7, 7, 3, 2, 1, 20][..]);
    (order, merge, filter, num_levels, choices).prop_map(|(order, merge, filter, num_levels, choices)| {
        // Which keys are doomed, their bytes say.
        let filter = if order == Order::Folding { Filter::None } else { filter };
        NewFamily { order, merge, filter, num_levels, choices }
    })
}

fn get(target: impl Strategy<Value = Target>) -> impl Strategy<Value = Operation> {
    (any::<u8>(), snapshot(), target, way()).prop_map(|(family, snapshot, target, way)| Operation::Get {
        family,
        snapshot,
        target,
        way,
    })
}

fn multi_get(target: impl Strategy<Value = Target>) -> impl Strategy<Value = Operation> {
    (any::<u8>(), snapshot(), vec(target, 0..12), way())
        .prop_map(|(family, snapshot, targets, way)| Operation::MultiGet { family, snapshot, targets, way })
}

fn count_lookups(target: impl Strategy<Value = Target>) -> impl Strategy<Value = Operation> {
    (any::<u8>(), snapshot(), vec(target, 0..6)).prop_map(|(family, snapshot, targets)| Operation::CountLookups {
        family,
        snapshot,
        targets,
    })
}

fn named_files() -> impl Strategy<Value = NamedFiles> {
    let which = prop_oneof![Just(1u16), Just(2), Just(u16::MAX), any::<u16>()];
    let level = prop_oneof![3 => 0u8..8, 1 => any::<u8>()];
    let file_size = prop_oneof![Just(u16::MAX), 1u16..3000];
    let stopped = prop_oneof![
        12 => Just(Stopped::No),
        1 => Just(Stopped::Canceled),
        1 => Just(Stopped::Disabled),
        1 => Just(Stopped::Aborted),
    ];
    (any::<u8>(), which, level, any::<u16>(), any::<bool>(), file_size, 0u8..4, stopped).prop_map(
        |(family, which, level, path, moves, file_size, parts, stopped)| NamedFiles {
            family,
            which,
            level,
            path,
            moves,
            file_size,
            parts,
            stopped,
        },
    )
}

fn operation() -> impl Strategy<Value = Operation> {
    let frequent = prop_oneof![
        420 => (mutation(), proptest::bool::weighted(0.1), proptest::bool::weighted(0.05))
            .prop_map(|(mutation, sync, disable_wal)| Operation::Write { mutation, sync, disable_wal }),
        80 => (vec(mutation(), 0..12), any::<bool>())
            .prop_map(|(mutations, sync)| Operation::Batch { mutations, sync }),
        160 => get(target()),
        40 => multi_get(target()),
        8 => count_lookups(target()),
        130 => walk().prop_map(Operation::Walk),
        10 => async_scan().prop_map(Operation::ScanAsync),
        10 => multi_scan().prop_map(Operation::MultiScan),
        12 => (any::<u8>(), snapshot(), any::<bool>())
            .prop_map(|(family, snapshot, backward)| Operation::Scan { family, snapshot, backward }),
        15 => Just(Operation::TakeSnapshot),
        14 => any::<u8>().prop_map(Operation::DropSnapshot),
        10 => walk().prop_map(Operation::HoldIterator),
        20 => (any::<u8>(), steps(12)).prop_map(|(which, steps)| Operation::StepHeld { which, steps }),
    ];
    let from_to = || option::weighted(0.6, any::<u16>());
    let rare = prop_oneof![
        24 => (any::<u8>(), proptest::bool::weighted(0.8))
            .prop_map(|(family, wait)| Operation::Flush { family, wait }),
        14 => (any::<u8>(), from_to(), from_to(), 0u8..4, proptest::bool::weighted(0.2)).prop_map(
            |(family, from, to, force, change_level)| Operation::Compact { family, from, to, force, change_level }
        ),
        4 => (any::<u8>(), any::<u16>(), prop_oneof![0u16..40, 0u16..2000])
            .prop_map(|(family, key, length)| Operation::DropFiles { family, key, length }),
        4 => (any::<u8>(), any::<u16>(), any::<u16>())
            .prop_map(|(family, from, to)| Operation::SuggestCompaction { family, from, to }),
        10 => named_files().prop_map(Operation::CompactFiles),
        8 => Just(Operation::Wait),
        6 => Just(Operation::SyncWal),
        6 => (any::<u8>(), vec(select(choices::MUTABLE), 1..4))
            .prop_map(|(family, choices)| Operation::SetOptions { family, choices }),
        5 => new_family(family_choices()).prop_map(Operation::CreateFamily),
        4 => any::<u8>().prop_map(Operation::DropFamily),
        6 => (any::<bool>(), database_choices(), option::of(family_choices())).prop_map(
            |(close, database, family_choices)| Operation::Reopen { close, database, family_choices }
        ),
        5 => database_choices().prop_map(|database| Operation::Kill { database }),
        1 => Just(Operation::VerifyChecksum),
    ];
    prop_oneof![95 => frequent, 4 => rare]
}

/// Cases of `count` operations.
pub fn case(count: usize) -> impl Strategy<Value = Case> {
    let key_space = select(&[24u16, 128, 512, 1024][..]);
    (key_space, 0..4u8, database_choices(), vec(new_family(family_choices()), 1..4), vec(operation(), count..=count))
        .prop_map(|(key_space, layout, database, families, operations)| Case {
            key_space,
            layout,
            files: Place::Memory,
            database,
            families,
            operations,
        })
}

/// Half of the writes of a database that is there to be read are of four keys.
fn often_written_key() -> impl Strategy<Value = u16> {
    prop_oneof![0u16..4, any::<u16>()]
}

fn often_written() -> impl Strategy<Value = Target> {
    (often_written_key(), prop_oneof![6 => Just(0u8), 1 => 1u8..4]).prop_map(|(key, twist)| Target { key, twist })
}

/// Writes that leave versions of few keys in many files: operands over values, under range deletions, kept by
/// snapshots.
fn versions() -> impl Strategy<Value = Operation> {
    let change = prop_oneof![
        8 => (any::<u16>(), prop_oneof![8 => 0u16..60, 1 => 0u16..1500])
            .prop_map(|(seed, size)| Change::Put { seed, size }),
        3 => Just(Change::Delete),
        10 => any::<u32>().prop_map(Change::Merge),
        3 => prop_oneof![2 => 0u16..8, 1 => 0u16..200].prop_map(Change::DeleteRange),
    ];
    let mutation = (prop_oneof![3 => Just(0u8), 1 => any::<u8>()], often_written_key(), change)
        .prop_map(|(family, key, change)| Mutation { family, key, change });
    prop_oneof![
        18 => mutation.prop_map(|mutation| Operation::Write { mutation, sync: false, disable_wal: false }),
        6 => Just(Operation::TakeSnapshot),
        2 => any::<u8>().prop_map(Operation::DropSnapshot),
        4 => (any::<u8>(), Just(true)).prop_map(|(family, wait)| Operation::Flush { family, wait }),
        2 => (any::<u8>(), 0u8..4).prop_map(|(family, force)| {
            Operation::Compact { family, from: None, to: None, force, change_level: false }
        }),
    ]
}

/// A read of one of all kinds.
pub fn read() -> impl Strategy<Value = Operation> {
    prop_oneof![
        10 => get(often_written()),
        6 => multi_get(often_written()),
        3 => count_lookups(often_written()),
        16 => walk().prop_map(Operation::Walk),
        4 => async_scan().prop_map(Operation::ScanAsync),
        4 => multi_scan().prop_map(Operation::MultiScan),
        2 => sweep().prop_map(Operation::Sweep),
        2 => (any::<u8>(), snapshot(), any::<bool>())
            .prop_map(|(family, snapshot, backward)| Operation::Scan { family, snapshot, backward }),
        1 => walk().prop_map(Operation::HoldIterator),
        2 => (any::<u8>(), steps(12)).prop_map(|(which, steps)| Operation::StepHeld { which, steps }),
    ]
}

/// Databases that are written in some way or other, and then read in every way, by turns.
pub fn read_case(count: usize) -> impl Strategy<Value = Case> {
    let key_space = select(&[4u16, 12, 60, 200, 600][..]);
    let files = prop_oneof![
        8 => Just(Place::Memory),
        1 => Just(Place::Directory("pread")),
        1 => Just(Place::Directory("io_uring")),
    ];
    let database = || vec(select(choices::READ_DATABASE), 0..4);
    let family = || {
        let index = prop_oneof![Just(Vec::new()), Just(choices::PARTITIONED.to_vec())];
        let own = vec(select(choices::READ_FAMILY), 4..22);
        (vec(select(choices::FAMILY), 0..3), index, own).prop_map(|(others, index, own)| [others, index, own].concat())
    };
    let reopen = (any::<bool>(), database(), option::of(family()))
        .prop_map(|(close, database, family_choices)| Operation::Reopen { close, database, family_choices });
    let operation = prop_oneof![100 => versions(), 70 => read(), 1 => reopen];
    (key_space, files, database(), vec(new_family(family()), 1..3), vec(operation, count..=count)).prop_map(
        |(key_space, files, database, families, operations)| Case {
            key_space,
            layout: 0,
            files,
            database,
            families,
            operations,
        },
    )
}
