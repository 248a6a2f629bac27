//! The model on tables that are known: the large partition of a million rows, blocks of nine rows and 1028 bytes.

use super::super::dataset::Kind;
use super::*;

const ROWS: i64 = 1_000_000;
const ROWS_PER_BLOCK: i64 = 9;
const BLOCK_BYTES: u64 = 1028;
const BLOCKS_PER_PARTITION: usize = 204;
const PARTITION_BYTES: u64 = 4100;

fn data() -> DataSet {
    DataSet::new(Kind::LargePart, ROWS as u32, 100, false, 1)
}

/// A table with every `classes`-th row, from the row `class` on.
fn table(data: &DataSet, class: i64, classes: i64) -> Layout {
    let rows: Vec<i64> = (class..ROWS).step_by(classes as usize).collect();
    let mut layout = Layout { separators_are_user_keys: true, ..Layout::default() };
    let mut at = 0;
    for (number, rows) in rows.chunks(ROWS_PER_BLOCK as usize).enumerate() {
        let keys: Vec<Key> = rows.iter().map(|row| data.key(*row)).collect();
        let bytes = if rows.len() == ROWS_PER_BLOCK as usize { BLOCK_BYTES } else { 132 };
        let separator = keys[keys.len() - 1].to_vec();
        layout.blocks.push(Block { bytes: at..at + bytes, keys, separator, partition: number / BLOCKS_PER_PARTITION });
        at += bytes;
    }
    for _ in 0..layout.blocks.len().div_ceil(BLOCKS_PER_PARTITION) {
        layout.partitions.push(at..at + PARTITION_BYTES);
        at += PARTITION_BYTES;
    }
    layout
}

fn model(data: &DataSet, classes: i64) -> Model {
    let features = Features {
        sector: 512,
        padding: 0,
        caches_data: false,
        row_filter: false,
        row_bounds: false,
        partition_cut: false,
        prefix_bytes: 4,
    };
    Model { tables: (0..classes).rev().map(|class| table(data, class, classes)).collect(), features }
}

/// The cache after a scan.
fn warm(model: &Model, data: &DataSet) -> Resident {
    let mut resident = Resident::default();
    model.run(&Plan::Skips { read: 1, skip: 0 }, data, &mut resident);
    resident
}

fn half_percent_off(bytes: u64, kib: u64) -> bool {
    bytes.abs_diff(kib * 1024) * 200 <= kib * 1024 + 200 * 512
}

#[test]
fn the_least_of_every_case_with_the_index_in_memory() {
    let data = data();
    let model = model(&data, 1);
    assert_eq!(model.tables[0].blocks.len(), 111_112);
    let skips = |read, skip| Plan::Skips { read, skip };
    let slice = |offset, read| Plan::Bounded { offset, read, backward: false };
    let few = |offset, stride, rows| Plan::FewRows { offset, stride, rows };
    let half = ROWS / 2;
    let resident = warm(&model, &data);
    for (plan, requests, kib) in [
        (skips(1, 0), 436, 111_552),
        (skips(1, 8), 436, 111_552),
        (skips(64, 1), 436, 111_552),
        (skips(1, 16), 52_288, 85_141),
        (skips(1, 32), 30_304, 45_543),
        (skips(1, 64), 15_385, 23_122),
        (skips(1, 256), 3_892, 5_848),
        (skips(1, 1024), 976, 1_466),
        (skips(1, 4096), 245, 367),
        (skips(64, 16), 11_111, 105_941),
        (skips(64, 32), 10_417, 88_863),
        (skips(64, 64), 7_813, 66_652),
        (skips(64, 256), 3_125, 26_660),
        (skips(64, 1024), 920, 7_849),
        (skips(64, 4096), 241, 2_049),
        (slice(0, 4096), 2, 458),
        (slice(half, 256), 1, 30),
        (slice(half, 4096), 2, 458),
        (few(0, ROWS / 16, 16), 16, 24),
        (few(0, 2, half), 436, 111_552),
    ] {
        let (least, allowed) = model.run(&plan, &data, &mut resident.clone());
        assert_eq!((least.data.requests, least.index), (requests, Spans::default()), "{plan:?}");
        assert!(half_percent_off(least.data.bytes, kib), "{plan:?}: {} bytes, not {kib} KiB", least.data.bytes);
        assert!(allowed.total().requests >= least.total().requests, "{plan:?}");
        assert!(allowed.total().bytes >= least.total().bytes, "{plan:?}");
    }
    for (plan, bytes) in [
        (slice(0, 1), 1536),
        (slice(0, 32), 4608),
        (slice(half, 1), 1536),
        (slice(half, 32), 5632),
        (few(half + 1, 1, 1), 1536),
    ] {
        let (least, allowed) = model.run(&plan, &data, &mut resident.clone());
        assert_eq!((least.data.requests, allowed.total().requests), (1, 1), "{plan:?}");
        assert!(least.data.bytes.abs_diff(bytes) <= 512, "{plan:?}: {}", least.data.bytes);
    }
}

#[test]
fn what_a_cold_cache_costs_more() {
    let data = data();
    let model = model(&data, 1);
    let mut resident = Resident::default();
    let of = |cost: Cost| (cost.index.requests, cost.data.requests);
    let mut cold = |plan: Plan| of(model.run(&plan, &data, &mut resident).1);
    let row = |offset| Plan::FewRows { offset, stride: 1, rows: 1 };
    assert_eq!([cold(row(500_000)), cold(row(500_001))], [(1, 1), (0, 1)], "the pair of the reference");
    let anew = |plan: Plan| of(model.run(&plan, &data, &mut Resident::default()).1);
    let slice = |offset, read| Plan::Bounded { offset, read, backward: false };
    assert_eq!(anew(slice(0, 1000)), (1, 1));
    // 1836 rows of an index partition.
    assert_eq!(anew(slice(1000, 1000)), (1, 1), "two index partitions in one request");
    assert_eq!(anew(slice(0, 4096)), (1, 2));
    let far = |read| Plan::Limit { offset: 0, read, hint: false };
    assert_eq!([anew(far(1)), anew(far(10)), anew(far(100)), anew(far(1000))], [(1, 1), (1, 2), (1, 4), (1, 7)]);
    let hinted = |read| Plan::Limit { offset: 0, read, hint: true };
    assert_eq!([anew(hinted(1)), anew(hinted(10)), anew(hinted(1000))], [(1, 1), (1, 1), (1, 1)]);
    let scan = model.run(&Plan::Skips { read: 1, skip: 0 }, &data, &mut Resident::default()).1;
    assert_eq!((scan.index.requests, scan.data.requests, scan.ramp), (36, 436, RAMP_REQUESTS));
    // The part of the index that is there already ends within the slice.
    let mut resident = Resident::default();
    model.run(&row(1000), &data, &mut resident);
    assert_eq!(of(model.run(&slice(1000, 1000), &data, &mut resident).1), (1, 2));
}

#[test]
fn rows_that_are_missing() {
    let data = data();
    let mut model = model(&data, 1);
    let resident = warm(&model, &data);
    let missing = |model: &Model, offset| {
        let (least, allowed) = model.run(&Plan::Missing { offset }, &data, &mut resident.clone());
        (least.data.requests, allowed.data.requests)
    };
    // Before the table, between two rows of a block, between two blocks, behind the table.
    let offsets = [0, 4, 9, ROWS, 2 * ROWS];
    assert_eq!(offsets.map(|offset| missing(&model, offset)), [(0, 0), (1, 1), (0, 1), (0, 0), (0, 0)]);
    model.features.row_bounds = true;
    assert_eq!(offsets.map(|offset| missing(&model, offset)), [(0, 0), (1, 1), (0, 0), (0, 0), (0, 0)]);
}

#[test]
fn behind_the_last_row_of_a_partition_that_was_cut() {
    let data = data();
    let mut model = model(&data, 1);
    // Another partition follows.
    let (_, next) = data.partition();
    let key = next.successor();
    let end = model.tables[0].blocks.last().map_or(0, |block| block.bytes.end);
    let partition = model.tables[0].partitions.len() - 1;
    let block = Block { bytes: end..end + 100, keys: vec![key], separator: key.to_vec(), partition };
    model.tables[0].blocks.push(block);
    let resident = warm(&model, &data);
    let behind =
        |model: &Model| model.run(&Plan::Missing { offset: ROWS }, &data, &mut resident.clone()).1.data.requests;
    assert_eq!(behind(&model), 1);
    model.features.partition_cut = true;
    assert_eq!(behind(&model), 0);
}

#[test]
fn several_tables_are_read_once_each() {
    let data = data();
    for tables in [1, 2, 4, 7] {
        let model = model(&data, tables);
        let resident = warm(&model, &data);
        for (read, kib) in [(10, 2.5), (100, 12.5), (1000, 113.0)] {
            let plan = Plan::Bounded { offset: ROWS / 2, read, backward: false };
            let (least, allowed) = model.run(&plan, &data, &mut resident.clone());
            assert_eq!((least.data.requests, allowed.total().requests), (tables as u64, tables as u64), "{read}");
            let spread = least.data.bytes as f64 / 1024.0 - kib;
            assert!(
                (-1.0..=2.5 * tables as f64).contains(&spread),
                "{tables} tables, {read} rows: {}",
                least.data.bytes
            );
        }
        // The newest table comes first.
        let newest = ROWS / 2 - (ROWS / 2) % tables + tables - 1;
        for (offset, with_filter, without) in [(newest, 1, 1), (newest - tables + 1, 1, tables as u64)] {
            let get = |model: &Model| model.run(&Plan::Get { offset }, &data, &mut resident.clone()).1.data.requests;
            let mut filtered = model.clone();
            filtered.features.row_filter = true;
            assert_eq!((get(&filtered), get(&model)), (with_filter, without), "{tables}");
        }
    }
}
