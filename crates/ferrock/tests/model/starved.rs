//! Databases for scans with a limit, over index partitions that are gone when they are wanted again.
//!
//! Each partition is of one block or a few, each block of one row or a few, and the block cache keeps none, one, or all
//! but those that a read does not leave there; or it refuses them, and the scan may end with that error
//! ([`Straits`](crate::files::Straits)). A scan goes back over the borders of partitions and of files, and plans its
//! reads anew after each of them. Many tables lie over one another, so that reads of some are deferred until the scan
//! comes to them. How many reads a step may make is bounded ([`Place::Bounded`]): a scan that plans the same reads
//! again and again is a failure, not a hang.

use crate::choices::{STARVED_DATABASE, STARVED_FAMILY, STARVED_INDEX};
use crate::files::Place;
use crate::model::{Filter, Merge};
use crate::operations::{Case, Change, Mutation, NewFamily, Operation, Start, Sweep, Tuning, Walk, bound, target};
use crate::orders::Order;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Read options of a scan that reads no block which its limit does not need.
fn limited() -> impl Strategy<Value = Tuning> {
    (any::<u16>(), 2u16..8).prop_map(|(bits, limit)| Tuning(bits).with_exact_limit(limit))
}

fn put() -> impl Strategy<Value = Mutation> {
    let change = prop_oneof![
        12 => (any::<u16>(), 0u16..60).prop_map(|(seed, size)| Change::Put { seed, size }),
        1 => Just(Change::Delete),
    ];
    (any::<u16>(), change).prop_map(|(key, change)| Mutation { family: 0, key, change })
}

/// Keys that are neighbours of one another: a table of them has gaps to those of others.
fn neighbours() -> impl Strategy<Value = Vec<Mutation>> {
    (any::<u16>(), vec((0u16..60, any::<u16>(), 0u16..60), 1..40)).prop_map(|(first, puts)| {
        let put = |(step, seed, size): (u16, u16, u16)| Mutation {
            family: 0,
            key: first.saturating_add(step),
            change: Change::Put { seed, size },
        };
        puts.into_iter().map(put).collect()
    })
}

fn write() -> impl Strategy<Value = Operation> {
    let range = (any::<u16>(), prop_oneof![0u16..8, 0u16..200]).prop_map(|(key, length)| Mutation {
        family: 0,
        key,
        change: Change::DeleteRange(length),
    });
    prop_oneof![
        6 => vec(put(), 1..40).prop_map(|mutations| Operation::Batch { mutations, sync: false }),
        6 => neighbours().prop_map(|mutations| Operation::Batch { mutations, sync: false }),
        2 => range.prop_map(|mutation| Operation::Write { mutation, sync: false, disable_wal: false }),
        12 => Just(Operation::Flush { family: 0, wait: true }),
        1 => (0u8..4).prop_map(|force| Operation::Compact { family: 0, from: None, to: None, force, change_level: false }),
    ]
}

fn walk() -> impl Strategy<Value = Walk> {
    let start = prop_oneof![
        1 => Just((Start::First, false)),
        1 => Just((Start::Last, true)),
        2 => target().prop_map(|target| (Start::Seek(target), false)),
        4 => target().prop_map(|target| (Start::SeekForPrev(target), true)),
    ];
    // Mostly on in one direction, with a turn now and then.
    let turns = prop_oneof![2 => vec(Just(false), 0..60), 1 => vec(proptest::bool::weighted(0.1), 0..60)];
    (start, turns, bound(), bound(), limited()).prop_map(|((start, is_backward), turns, lower, upper, tuning)| Walk {
        family: 0,
        snapshot: None,
        lower,
        upper,
        start,
        steps: turns.into_iter().map(|turns| turns == is_backward).collect(),
        tuning,
        on_thread: false,
        prefix: false,
        again: None,
    })
}

fn sweep() -> impl Strategy<Value = Sweep> {
    (any::<u16>(), proptest::bool::weighted(0.7), 0u8..40, limited()).prop_map(|(first, backward, steps, tuning)| {
        Sweep { family: 0, snapshot: None, first, backward, steps, tuning }
    })
}

/// Databases that are written and scanned by turns.
pub fn starved_case(count: usize) -> impl Strategy<Value = Case> {
    let database = (select(STARVED_DATABASE), option_of("max_open_files=1"))
        .prop_map(|(cache, others)| [vec![cache], others].concat());
    let family = (vec(select(STARVED_INDEX), 0..3), subsequence(STARVED_FAMILY, 0..STARVED_FAMILY.len()))
        .prop_map(|(index, others)| [crate::choices::PARTITIONED, &others, &index].concat());
    let order = prop_oneof![4 => Just(Order::Bytewise), 1 => Just(Order::Reverse)];
    let operation =
        prop_oneof![30 => write(), 10 => walk().prop_map(Operation::Walk), 6 => sweep().prop_map(Operation::Sweep)];
    let key_space = select(&[60u16, 200, 600][..]);
    (key_space, database, order, family, vec(operation, count..=count)).prop_map(
        |(key_space, database, order, choices, operations)| Case {
            key_space,
            layout: 0,
            files: Place::Bounded,
            database,
            families: vec![NewFamily { order, merge: Merge::None, filter: Filter::None, num_levels: 7, choices }],
            operations,
        },
    )
}

fn option_of(choice: &'static str) -> impl Strategy<Value = Vec<&'static str>> {
    proptest::bool::weighted(0.2).prop_map(move |is_chosen| if is_chosen { vec![choice] } else { Vec::new() })
}
