//! One budget for all that databases hold in memory: what is counted stays within it under mixed load, nothing is left
//! counted when all is closed, and what it cannot bound is refused.
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests fail by panicking")]

mod common;

use common::mixed_load::under_load;
use common::threads::wait_until;
use ferrock::options::{CacheOptions, FilterPolicy, MemoryBudget, TableBlockCache, WriteBufferManager, apply_text};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ErrorKind};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn family() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.filter_policy = FilterPolicy::bloom(10.0);
    family.target_file_size_base = 32 << 10;
    family.write_buffer_size = 1 << 20;
    family.max_bytes_for_level_base = 1 << 20;
    family
}

fn open(path: &Path, budget: &Arc<MemoryBudget>) -> Db {
    let mut options = common::creating();
    options.components.memory_budget = Some(Arc::clone(budget));
    Db::open_cf(path, options, vec![("default".to_owned(), family())]).unwrap().0
}

#[test]
fn what_is_counted_stays_within_the_budget_of_two_databases() {
    let directory = tempfile::tempdir().unwrap();
    let budget = MemoryBudget::of_counted(32 << 20);
    let seen = std::sync::Mutex::new(BTreeMap::<&'static str, usize>::new());
    let most = AtomicUsize::new(0);
    let databases = ["one", "two"].map(|name| open(&directory.path().join(name), &budget));
    let sample = || {
        let report = budget.report();
        most.fetch_max(budget.cache().usage(), Ordering::Relaxed);
        let mut seen = seen.lock().unwrap();
        for holder in &report.holders {
            let most = seen.entry(holder.name).or_default();
            *most = holder.bytes.max(*most);
        }
    };
    under_load(&databases, 200_000, sample);
    let files: usize = databases.iter().map(|db| db.live_files().len()).sum();
    let most = most.into_inner();
    let seen = seen.into_inner().unwrap();
    println!("{files} files; at most {most} bytes; {seen:#?}");
    assert!(files > 50, "{files} files");
    assert!(most <= (32 << 20) + (2 << 20), "{most} bytes of 32 MiB");
    for name in [
        "DataBlock",
        "IndexBlock",
        "FilterBlock",
        "WriteBuffer",
        "BlockBasedTableReader",
        "FileMetadata",
        "FilterConstruction",
        "TableBuilder",
        "ReadBuffer",
    ] {
        assert!(seen[name] > 0, "{name} held nothing: {seen:#?}");
    }
    let text = databases[0].property("ferrock.memory").unwrap();
    assert!(text.contains("WriteBuffer") && text.contains("budget"), "{text}");
    drop(databases);
    // A job that has just ended gives up what it holds behind the close.
    let holds = |name: &str, bytes: usize| !name.ends_with("Block") && bytes > 0;
    wait_until("closed databases hold nothing", || {
        !budget.report().holders.iter().any(|holder| holds(holder.name, holder.bytes))
    });
}

#[test]
fn what_the_budget_cannot_bound_is_refused() {
    let budget = MemoryBudget::new(16 << 20);
    let refusal = |change: fn(&mut DbOptions, &mut ColumnFamilyOptions)| {
        let (mut options, mut family) = (common::in_memory(), ColumnFamilyOptions::default());
        options.components.memory_budget = Some(Arc::clone(&budget));
        change(&mut options, &mut family);
        let error = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains("memory_budget"), "{error}");
    };
    refusal(|options, _| options.components.block_cache = Some(TableBlockCache::new(CacheOptions::default())));
    refusal(|options, _| options.components.write_buffer_manager = Some(WriteBufferManager::new(1 << 20, None, false)));
    refusal(|_, family| family.block_cache = Some(TableBlockCache::new(CacheOptions::default())));
    refusal(|_, family| family.table.no_block_cache = true);
}

#[test]
fn a_text_sets_it_and_it_changes_while_a_database_is_open() {
    let (mut options, mut family) = (common::in_memory(), ColumnFamilyOptions::default());
    apply_text(&mut options, &mut family, "memory_budget=64MB;write_buffer_size=8m").unwrap();
    let budget = options.components.memory_budget.clone().unwrap();
    assert_eq!(budget.bytes(), 64 << 20);
    for wrong in ["memory_budget=much", "memory_budget=-1"] {
        let error = apply_text(&mut options.clone(), &mut family.clone(), wrong).unwrap_err();
        assert!(error.to_string().contains("256MB"), "{error}");
    }
    let db = common::open_default(options, family);
    let family = db.default_column_family().unwrap();
    assert!(family.options().table.cache_index_and_filter_blocks);
    db.set_db_options(&[("memory_budget", "32MB")]).unwrap();
    assert_eq!((budget.bytes(), budget.write_buffer_manager().buffer_size()), (32 << 20, 8 << 20));
    let error = db.set_db_options(&[("memory_budget", "0")]).unwrap_err();
    assert!(error.to_string().contains("begins and ends with an open"), "{error}");
    // A change of a family does not take its metadata out of the budget.
    db.set_options_cf(&family, &[("block_based_table_factory", "{cache_index_and_filter_blocks=false}")]).unwrap();
    assert!(family.options().table.cache_index_and_filter_blocks);
    let without = common::open_default(common::in_memory(), ColumnFamilyOptions::default());
    assert!(without.set_db_options(&[("memory_budget", "32MB")]).is_err());
    assert!(without.property("ferrock.memory").unwrap().contains("no memory_budget"));
}
