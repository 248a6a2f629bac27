//! What can happen to a database, and how proptest makes it up.

use crate::choices;
use crate::model::{Filter, Merge, Order};
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
    pub database: Vec<&'static str>,
    pub families: Vec<NewFamily>,
    pub operations: Vec<Operation>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "keys: {}, layout: {}, database: {:?}", self.key_space, self.layout, self.database)?;
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
    pub fill_cache: bool,
    /// Within the prefix of the seek key, where the family has an extractor.
    pub prefix: bool,
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
    },
    MultiGet {
        family: u8,
        snapshot: Option<u8>,
        targets: Vec<Target>,
    },
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

fn target() -> impl Strategy<Value = Target> {
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
    let bound = || option::weighted(0.25, target());
    (any::<u8>(), snapshot(), bound(), bound(), start, steps(24), any::<bool>(), proptest::bool::weighted(0.3))
        .prop_map(|(family, snapshot, lower, upper, start, steps, fill_cache, prefix)| Walk {
            family,
            snapshot,
            lower,
            upper,
            start,
            steps,
            fill_cache,
            prefix,
        })
}

fn database_choices() -> impl Strategy<Value = Vec<&'static str>> {
    vec(select(choices::DATABASE), 0..6)
}

fn family_choices() -> impl Strategy<Value = Vec<&'static str>> {
    vec(select(choices::FAMILY), 0..14)
}

fn new_family() -> impl Strategy<Value = NewFamily> {
    let order = prop_oneof![
        4 => Just(Order::Bytewise),
        2 => Just(Order::Reverse),
        1 => Just(Order::LengthFirst),
    ];
    let merge = select(&[Merge::None, Merge::Add, Merge::Append][..]);
    let filter = prop_oneof![4 => Just(Filter::None), 2 => Just(Filter::Compactions), 1 => Just(Filter::Everywhere)];
    let num_levels = select(&[7, 7, 7, 3, 2, 1, 20][..]);
    (order, merge, filter, num_levels, family_choices())
        .prop_map(|(order, merge, filter, num_levels, choices)| NewFamily { order, merge, filter, num_levels, choices })
}

fn operation() -> impl Strategy<Value = Operation> {
    let frequent = prop_oneof![
        420 => (mutation(), proptest::bool::weighted(0.1), proptest::bool::weighted(0.05))
            .prop_map(|(mutation, sync, disable_wal)| Operation::Write { mutation, sync, disable_wal }),
        80 => (vec(mutation(), 0..12), any::<bool>())
            .prop_map(|(mutations, sync)| Operation::Batch { mutations, sync }),
        160 => (any::<u8>(), snapshot(), target())
            .prop_map(|(family, snapshot, target)| Operation::Get { family, snapshot, target }),
        40 => (any::<u8>(), snapshot(), vec(target(), 0..12))
            .prop_map(|(family, snapshot, targets)| Operation::MultiGet { family, snapshot, targets }),
        130 => walk().prop_map(Operation::Walk),
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
        8 => Just(Operation::Wait),
        6 => Just(Operation::SyncWal),
        6 => (any::<u8>(), vec(select(choices::MUTABLE), 1..4))
            .prop_map(|(family, choices)| Operation::SetOptions { family, choices }),
        5 => new_family().prop_map(Operation::CreateFamily),
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
    (key_space, 0..4u8, database_choices(), vec(new_family(), 1..4), vec(operation(), count..=count)).prop_map(
        |(key_space, layout, database, families, operations)| Case {
            key_space,
            layout,
            database,
            families,
            operations,
        },
    )
}
