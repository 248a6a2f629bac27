//! What is charged to the block cache beside blocks, in a database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::options_on;
use ferrock::options::{CacheOptions, ChargeDecision, FilterPolicy, TableBlockCache};
use ferrock::{ColumnFamilyOptions, Db, ErrorKind, Result};
use ferrock_vfs::MemoryFileSystem;
use std::sync::Arc;

fn family() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.filter_policy = FilterPolicy::bloom(10.0);
    family.disable_auto_compactions = true;
    family.cache_usage.block_based_table_reader = ChargeDecision::Enabled;
    family
}

fn open(files: &MemoryFileSystem, capacity_bytes: usize, family: ColumnFamilyOptions) -> Result<Db> {
    let mut options = options_on(Arc::new(files.clone()));
    options.components.block_cache = Some(TableBlockCache::new(CacheOptions {
        capacity_bytes,
        strict_capacity_limit: true,
        ..CacheOptions::default()
    }));
    Db::open_cf("/db", options, vec![("default".to_owned(), family)]).map(|(db, _)| db)
}

fn charged(db: &Db, role: &str) -> u64 {
    db.map_property("block-cache-entry-stats").unwrap()[&format!("bytes.{role}")].parse().unwrap()
}

#[test]
fn a_cache_of_rows_is_taken_and_said_to_have_no_effect() {
    let mut options = options_on(Arc::new(MemoryFileSystem::new()));
    let cache = TableBlockCache::new(CacheOptions { capacity_bytes: 1 << 20, ..CacheOptions::default() });
    options.components.row_cache = Some(Arc::clone(&cache));
    let db = Db::open("/db", options).unwrap();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    assert_eq!(db.option_notes(), ["database: row_cache has no effect; give its memory to the block cache"]);
    assert!(db.property("ferrock.options-without-effect").unwrap().contains("row_cache"));
}

#[test]
fn open_tables_are_charged() {
    let files = MemoryFileSystem::new();
    let db = open(&files, 8 << 20, family()).unwrap();
    assert_eq!(charged(&db, "block-based-table-reader"), 0);
    for part in 0..2u32 {
        for number in 0..20_000u32 {
            db.put(&[number.to_be_bytes(), part.to_be_bytes()].concat(), b"value").unwrap();
        }
        db.flush().unwrap();
    }
    let of_two = charged(&db, "block-based-table-reader");
    assert!(of_two > 40_000 * 10 / 8 && of_two == db.int_property("estimate-table-readers-mem").unwrap(), "{of_two}");
    assert!(db.int_property("block-cache-pinned-usage").unwrap() >= of_two);
    db.close().unwrap();
    // Too small a cache: no table opens, and no data is lost.
    let outcome = open(&files, usize::try_from(of_two / 4).unwrap(), family());
    let error = outcome.and_then(|db| db.get(&[0; 8]).map(drop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MemoryLimit, "{error}");
    let mut uncharged = family();
    uncharged.cache_usage.block_based_table_reader = ChargeDecision::Fallback;
    let db = open(&files, usize::try_from(of_two / 4).unwrap(), uncharged).unwrap();
    assert_eq!(&*db.get(&[0; 8]).unwrap().unwrap(), b"value");
    assert_eq!(charged(&db, "block-based-table-reader"), 0);
}

#[test]
fn what_cannot_be_charged_is_refused() {
    let mut family = family();
    family.table.no_block_cache = true;
    let error = open(&MemoryFileSystem::new(), 1 << 20, family.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(
        error.to_string().contains("cache_usage") && error.to_string().contains("BlockBasedTableReader"),
        "{error}"
    );
    family.cache_usage.block_based_table_reader = ChargeDecision::Disabled;
    assert!(open(&MemoryFileSystem::new(), 1 << 20, family).is_ok());
}

/// The same key range for each part: overlapping tables, which only a compaction can merge.
fn fill(db: &Db, part: u32) -> Result<()> {
    for number in 0..20_000u32 {
        db.put(&number.to_be_bytes(), format!("value {number} {part}").as_bytes())?;
    }
    db.flush()
}

#[test]
fn a_cache_without_room_for_open_tables_stops_no_flush_and_no_compaction() {
    let files = MemoryFileSystem::new();
    // No table of this size can be charged.
    let db = open(&files, 8 << 10, family()).unwrap();
    for part in 0..3 {
        fill(&db, part).unwrap();
    }
    let refused = db.get(&[0; 4]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::MemoryLimit, "{refused}");
    assert_eq!(db.property("num-files-at-level0").unwrap(), "3");
    // Once into an empty level, once with a table of that level as input.
    for part in 3..5 {
        db.compact_range(None, None).unwrap();
        assert_eq!(db.property("num-files-at-level0").unwrap(), "0");
        fill(&db, part).unwrap();
    }
    db.compact_range(None, None).unwrap();
    assert_eq!(charged(&db, "block-based-table-reader"), 0);
    db.put(b"writes", b"go on").unwrap();
    db.close().unwrap();
    let mut uncharged = family();
    uncharged.cache_usage.block_based_table_reader = ChargeDecision::Disabled;
    let db = open(&files, 8 << 10, uncharged).unwrap();
    for number in [0u32, 7, 19_999] {
        let value = db.get(&number.to_be_bytes()).unwrap().unwrap();
        assert_eq!(&*value, format!("value {number} 4").as_bytes());
    }
}

#[test]
fn changed_table_options_count_for_tables_that_are_opened_afterwards() {
    let mut family = family();
    family.cache_usage.block_based_table_reader = ChargeDecision::Disabled;
    let files = MemoryFileSystem::new();
    let db = open(&files, 8 << 20, family).unwrap();
    let default = db.default_column_family().unwrap();
    let read = || db.get(&7u32.to_be_bytes()).unwrap().unwrap();
    fill(&db, 0).unwrap();
    read();
    assert_eq!((charged(&db, "index-block"), charged(&db, "filter-block")), (0, 0), "held by the table");
    db.set_options_cf(&default, &[("cache_index_and_filter_blocks", "true")]).unwrap();
    read();
    assert_eq!((charged(&db, "index-block"), charged(&db, "filter-block")), (0, 0), "the table was open already");
    fill(&db, 1).unwrap();
    read();
    assert!(charged(&db, "index-block") > 0 && charged(&db, "filter-block") > 0);
    // What is opened now is read past the cache, which then may hold no index either.
    let refused = db.set_options_cf(&default, &[("no_block_cache", "true")]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
    db.set_options_cf(&default, &[("cache_index_and_filter_blocks", "false"), ("no_block_cache", "true")]).unwrap();
    fill(&db, 2).unwrap();
    let before = charged(&db, "data-block");
    for number in (0..20_000u32).step_by(100) {
        assert!(db.get(&number.to_be_bytes()).unwrap().unwrap().ends_with(b" 2"));
    }
    assert_eq!(charged(&db, "data-block"), before);
    db.set_options_cf(&default, &[("no_block_cache", "false")]).unwrap();
    fill(&db, 3).unwrap();
    for number in (0..20_000u32).step_by(100) {
        assert!(db.get(&number.to_be_bytes()).unwrap().unwrap().ends_with(b" 3"));
    }
    assert!(charged(&db, "data-block") > before);
}
