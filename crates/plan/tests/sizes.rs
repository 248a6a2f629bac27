//! Bytes of index, filter and file, as the planner takes them from samples, against tables of another size.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use ferrock_base::internal_key::make_internal_key;
use ferrock_base::{InternalComparator, SequenceNumber, ValueType};
use ferrock_options::{ColumnFamilyOptions, DbOptions, apply_text};
use ferrock_plan::Entry;
use ferrock_plan::sizes::{Sizes, false_positive_rate, memtable_entries};
use ferrock_table::{TableBuilder, TableBuilderParams, TableSummary};
use ferrock_vfs::{FileSystem, MemoryFileSystem, WritableOptions};
use std::sync::Arc;

fn family(text: &str) -> ColumnFamilyOptions {
    let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    apply_text(&mut db, &mut family, text).unwrap();
    family.settle_in(&db);
    family
}

fn table(entry: Entry, family: &ColumnFamilyOptions, entries: u64, gap: u64) -> TableSummary {
    let file_system = MemoryFileSystem::new();
    let file = file_system.create_writable("/1.sst".as_ref(), &WritableOptions::default()).unwrap();
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.options = Arc::new(family.table.clone());
    params.filter_policy = family.filter_policy;
    let mut builder = TableBuilder::new(&family.table_factory, params, file).unwrap();
    let value = vec![b'x'; entry.value_size];
    for index in 0..entries {
        let mut key = (7_000_000 + index * gap + index % gap).to_be_bytes().to_vec();
        key.resize(entry.key_size, b'0');
        builder.add(&make_internal_key(&key, SequenceNumber(1 << 30), ValueType::Value), &value).unwrap();
    }
    builder.finish().unwrap()
}

/// Three tables of other lengths than the samples have, in each form.
#[test]
fn samples_tell_the_bytes_of_other_tables() {
    let plain = "block_based_table_factory={filter_policy=bloomfilter:10}";
    let partitioned = "block_based_table_factory={filter_policy=bloomfilter:10;index_type=kTwoLevelIndexSearch;\
                       partition_filters=true;cache_index_and_filter_blocks=true}";
    let ribbon = "block_based_table_factory={filter_policy=ribbonfilter:10;block_size=16k}";
    for (text, value_size, entries, gap) in
        [(plain, 100, 150_000, 1), (plain, 400, 50_000, 64), (partitioned, 100, 200_000, 4), (ribbon, 100, 120_000, 1)]
    {
        let entry = Entry { key_size: 16, value_size };
        let family = family(text);
        let sizes = Sizes::new(entry, &family, 1.0).unwrap();
        let parts = sizes.parts(1.0 / gap as f64);
        let real = table(entry, &family, entries, gap);
        let properties = &real.properties;
        for (what, planned, real, tolerance) in [
            ("file", parts.file.of(1.0, entries as f64), real.file_size, 0.01),
            ("data", parts.data.of(1.0, entries as f64), properties.data_size, 0.01),
            ("blocks", parts.blocks.of(1.0, entries as f64), properties.num_data_blocks, 0.02),
            ("index", parts.index.of(1.0, entries as f64), properties.index_size, 0.05),
            ("top level", parts.top_level.of(1.0, entries as f64), properties.top_level_index_size, 0.15),
            ("filter", parts.filter.of(1.0, entries as f64), properties.filter_size, 0.03),
        ] {
            let off = (planned - real as f64).abs() / (real as f64).max(1.0);
            assert!(off <= tolerance, "{text} {value_size}: {what} planned {planned:.0}, is {real}");
        }
    }
}

#[test]
fn compression_leaves_a_share_of_the_data_alone() {
    let entry = Entry { key_size: 16, value_size: 100 };
    let family = family("block_based_table_factory={filter_policy=bloomfilter:10}");
    let (whole, half) = (Sizes::new(entry, &family, 1.0).unwrap(), Sizes::new(entry, &family, 0.5).unwrap());
    let (whole, half) = (whole.parts(1.0), half.parts(1.0));
    assert!((half.data.per_entry / whole.data.per_entry - 0.5).abs() < 1e-9);
    assert_eq!((half.index, half.filter), (whole.index, whole.filter));
    let saved = whole.file.per_entry - half.file.per_entry;
    assert!((saved - whole.data.per_entry / 2.0).abs() < 1e-6);
}

#[test]
fn filters_are_as_accurate_as_theirs() {
    assert!((false_positive_rate(&family("")).unwrap() - 1.0).abs() < 1e-12);
    let ten = family("block_based_table_factory={filter_policy=bloomfilter:10}");
    let rate = false_positive_rate(&ten).unwrap();
    assert!((0.007..0.012).contains(&rate), "{rate}");
}

#[test]
fn large_entries_fill_a_memtable_with_few() {
    let family = family("write_buffer_size=64k");
    let few = memtable_entries(Entry { key_size: 16, value_size: 60 << 10 }, &family).unwrap();
    assert!((1..=2).contains(&few), "{few}");
    let many = memtable_entries(Entry { key_size: 8, value_size: 0 }, &family).unwrap();
    assert!((800..3000).contains(&many), "{many}");
}
