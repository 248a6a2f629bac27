//! The memory that a process really has, beside the budget of its database. A program of its own, because other tests
//! of the same process would be counted.
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests fail by panicking")]
#![cfg(target_os = "linux")]

mod common;

use common::mixed_load::{KEYS, under_load, value};
use ferrock::options::{FilterPolicy, MemoryBudget};
use ferrock::{ColumnFamilyOptions, Db};
use ferrock_base::random::Random;
use ferrock_vfs::process_memory;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn the_memory_of_the_process_stays_near_the_budget() {
    const BUDGET: usize = 64 << 20;
    let directory = tempfile::tempdir().unwrap();
    let before = process_memory::anonymous_bytes().unwrap();
    let budget = MemoryBudget::new(BUDGET);
    let mut options = common::creating();
    options.components.memory_budget = Some(Arc::clone(&budget));
    let mut family = ColumnFamilyOptions::default();
    family.filter_policy = FilterPolicy::bloom(10.0);
    family.target_file_size_base = 32 << 10;
    let db = Db::open_cf(directory.path(), options, vec![("default".to_owned(), family)]).unwrap().0;
    let mut random = Random::new(1);
    for number in 0..KEYS {
        db.put(&common::key(number), &value(number, &mut random)).unwrap();
    }
    db.compact_range(None, None).unwrap();
    let most = AtomicUsize::new(0);
    under_load(&[db.clone(), db.clone()], 120_000, || {
        let now = process_memory::anonymous_bytes().unwrap().saturating_sub(before);
        most.fetch_max(now as usize, Ordering::Relaxed);
    });
    let most = most.into_inner();
    println!("at most {:.1} MiB of {} MiB; {}", most as f64 / 1048576.0, BUDGET >> 20, budget.report());
    // 67 to 72 MiB as measured; threads, their stacks and what the test itself holds are in it.
    assert!(most < BUDGET * 5 / 4, "{most} bytes of {BUDGET}: {}", budget.report());
    assert!(most > BUDGET / 2, "{most} bytes: the budget was not used");
}
