//! Databases of many tables in processes that may have few files open.
//!
//! The tables are of one key or a few, and there are more of them than descriptors. An open of a file beyond the limit
//! fails with `EMFILE` ([`Place::FewOpen`]); nothing of the database may. What one iterator or job has open at once
//! stays within the limit: level 0 has few tables, no iterator is held, and a scan has one range (the iterators of many
//! ranges have their tables open together, and fail where these are more than the limit).

use crate::choices::{FEW_FILES_DATABASE, FEW_FILES_FAMILY};
use crate::files::Place;
use crate::model::{Filter, Merge};
use crate::operations::{Case, Change, Mutation, NewFamily, Operation, read};
use crate::orders::Order;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// What each family has, before its own choices.
const MANY_TABLES: &[&str] = &["target_file_size_base=1", "level0_file_num_compaction_trigger=2"];

fn write() -> impl Strategy<Value = Operation> {
    let change = prop_oneof![
        20 => (any::<u16>(), 0u16..60).prop_map(|(seed, size)| Change::Put { seed, size }),
        1 => Just(Change::Delete),
    ];
    let mutation = (0u8..2, any::<u16>(), change).prop_map(|(family, key, change)| Mutation { family, key, change });
    prop_oneof![
        10 => vec(mutation, 1..60).prop_map(|mutations| Operation::Batch { mutations, sync: false }),
        4 => (any::<u8>(), Just(true)).prop_map(|(family, wait)| Operation::Flush { family, wait }),
        1 => (any::<u8>(), 0u8..4).prop_map(|(family, force)| {
            Operation::Compact { family, from: None, to: None, force, change_level: false }
        }),
    ]
}

fn database() -> impl Strategy<Value = Vec<&'static str>> {
    vec(select(FEW_FILES_DATABASE), 0..3)
}

/// True if few files are open while the operation runs, and none behind it.
fn needs_few_files(read: &Operation) -> bool {
    match read {
        Operation::HoldIterator(_) => false,
        Operation::MultiScan(scan) => scan.ranges.len() <= 1,
        _ => true,
    }
}

/// Operations of the process between its kills.
fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        30 => write(),
        50 => read().prop_filter("what one iterator has open stays within the limit", needs_few_files),
        2 => Just(Operation::VerifyChecksum),
        1 => (any::<bool>(), database())
            .prop_map(|(close, database)| Operation::Reopen { close, database, family_choices: None }),
        1 => database().prop_map(|database| Operation::Kill { database }),
    ]
}

/// Databases that are written and read by turns.
pub fn few_files_case(count: usize) -> impl Strategy<Value = Case> {
    let choices =
        subsequence(FEW_FILES_FAMILY, 0..FEW_FILES_FAMILY.len() / 2).prop_map(|own| [MANY_TABLES, &own].concat());
    let family = (choices, select(&[Order::Bytewise, Order::Reverse][..])).prop_map(|(choices, order)| NewFamily {
        order,
        merge: Merge::None,
        filter: Filter::None,
        num_levels: 7,
        choices,
    });
    let key_space = select(&[200u16, 600, 1000][..]);
    (key_space, 40u8..100, database(), vec(family, 1..3), vec(operation(), count..=count)).prop_map(
        |(key_space, limit, database, families, operations)| Case {
            key_space,
            layout: 0,
            files: Place::FewOpen(limit),
            database,
            families,
            operations,
        },
    )
}
