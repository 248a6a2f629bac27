//! The thread that looks for compactions which are due by age while nothing else changes the tree.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;
#[path = "common/quiet.rs"]
mod quiet;

use common::options_on;
use common::threads::wait_until;
use ferrock::{ColumnFamilyOptions, Db};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_vfs::MemoryFileSystem;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const START_US: u64 = 1_700_000_000_000_000;

/// A database whose files are rewritten at that age, and with that option of the database.
fn open(clock: &Arc<ManualClock>, age_secs: u64, wakeup_secs: &str) -> Db {
    let mut options = options_on(Arc::new(MemoryFileSystem::new()));
    options.components.clock = Some(Arc::clone(clock) as Arc<dyn Clock>);
    assert!(options.settings.set("max_compaction_trigger_wakeup_seconds", wakeup_secs).unwrap());
    let mut family = ColumnFamilyOptions::default();
    family.ttl = 0;
    family.periodic_compaction_seconds = age_secs;
    Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0
}

fn tables(db: &Db) -> Vec<u64> {
    db.live_files().iter().map(|file| file.number.0).collect()
}

/// A table in the last level, which nothing but its age has rewritten.
fn with_table(db: &Db) -> Vec<u64> {
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    db.wait_for_background_work().unwrap();
    tables(db)
}

/// Waits until so many threads sleep, and will sleep on: one that is about to wake asks for the time before it sleeps
/// again, and must not be told that there is more of it in between.
fn sleeps(clock: &ManualClock, threads: usize) {
    wait_until("the thread", || clock.asleep() == threads && (threads > 0 || clock.sleepers() == 0));
}

/// Without the thread the table would stay as it is for ever: nothing is written, and no snapshot is released.
#[test]
fn a_quiet_database_rewrites_what_is_old() {
    let clock = Arc::new(ManualClock::new(START_US));
    let db = open(&clock, 1000, "43200");
    let before = with_table(&db);
    sleeps(&clock, 1);
    clock.advance(Duration::from_secs(999));
    sleeps(&clock, 1);
    db.wait_for_background_work().unwrap();
    assert_eq!(tables(&db), before, "it is not old enough");
    clock.advance(Duration::from_secs(201));
    wait_until("a rewrite", || tables(&db) != before);
    assert_eq!(db.get(b"key").unwrap().unwrap(), *b"value");
    sleeps(&clock, 1);
    // Woken at once, though the clock stands still.
    db.close().unwrap();
    sleeps(&clock, 0);
}

/// Old versions in the last level go when the snapshot goes that they were kept for: nothing else has to happen.
#[test]
fn a_quiet_database_rewrites_what_a_snapshot_kept() {
    let mut options = options_on(Arc::new(MemoryFileSystem::new()));
    let mut family = ColumnFamilyOptions::default();
    ferrock::options::apply_text(&mut options, &mut family, "ttl=0;periodic_compaction_seconds=0").unwrap();
    let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
    let newest = || db.live_files().iter().map(|file| file.largest_sequence.0).collect::<Vec<_>>();
    db.put(b"key", b"old").unwrap();
    let [oldest, middle] = [(); 2].map(|()| {
        db.put(b"other", b"value").unwrap();
        db.snapshot()
    });
    db.put(b"key", b"new").unwrap();
    let before = with_table(&db);
    let kept = newest();
    assert!(kept.len() == 1 && kept[0] > 0, "{kept:?}");
    // So that the newest number is not in the table.
    db.put(b"key", b"newer").unwrap();
    let newer = db.snapshot();
    drop(oldest);
    db.wait_for_background_work().unwrap();
    assert_eq!(tables(&db), before, "one that is older than the table is left");
    drop(middle);
    wait_until("a rewrite", || tables(&db) != before);
    db.wait_for_background_work().unwrap();
    assert_eq!(newest(), [0], "one version of each key is left");
    let after = tables(&db);
    drop(newer);
    drop(db.snapshot());
    db.wait_for_background_work().unwrap();
    assert_eq!(tables(&db), after, "once");
    assert_eq!(db.get(b"key").unwrap().unwrap(), *b"newer");
    db.close().unwrap();
}

/// By default ages of 30 days need no thread; with a number of one's own they are looked at that often, 0 is 1, and no
/// number is longer than a fifth of the age.
#[test]
fn the_option_says_how_often_ages_are_looked_at() {
    const DAYS: u64 = 24 * 3600;
    for (wakeup_secs, age_secs, period_secs) in [
        ("43200", 30 * DAYS, None),
        ("43200", 0, None),
        ("10", 0, None),
        ("10", 30 * DAYS, Some(10)),
        ("0", 30 * DAYS, Some(1)),
        ("18446744073709551615", 30 * DAYS, Some(6 * DAYS)),
        ("43200", 30 * DAYS - 5, Some(43200)),
        ("43200", 1000, Some(200)),
        ("43200", 3, Some(1)),
        ("18446744073709551615", 1000, Some(200)),
    ] {
        let what = format!("max_compaction_trigger_wakeup_seconds={wakeup_secs}, age {age_secs}");
        let clock = Arc::new(ManualClock::new(START_US));
        let db = open(&clock, age_secs, wakeup_secs);
        let Some(period_secs) = period_secs else {
            // The thread would be counted as soon as it has begun; what opens next does it again.
            assert_eq!(clock.sleepers(), 0, "{what}");
            continue;
        };
        let looks = || {
            let statistics = db.property("ferrock.statistics").unwrap();
            let line = statistics.lines().find_map(|line| line.strip_prefix("age_looks=")).unwrap();
            line.parse::<u64>().unwrap()
        };
        sleeps(&clock, 1);
        clock.advance(Duration::from_secs(period_secs) - Duration::from_micros(1));
        sleeps(&clock, 1);
        assert_eq!(looks(), 0, "{what}");
        for look in 1..4 {
            clock.advance(Duration::from_secs(if look == 1 { 0 } else { period_secs }) + Duration::from_micros(1));
            wait_until("a look", || looks() == look);
            sleeps(&clock, 1);
        }
    }
}

/// Reads make a table due, and only the thread sees that: nothing is written.
#[test]
fn a_quiet_database_compacts_what_is_read_in_vain() {
    let clock = Arc::new(ManualClock::new(START_US));
    let db = open(&clock, 0, "1000");
    let family = db.default_column_family().unwrap();
    with_table(&db);
    db.delete(b"key").unwrap();
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
    let before = tables(&db);
    assert_eq!((before.len(), clock.sleepers()), (2, 0), "no age, and no reads, is looked at");
    db.set_options_cf(&family, &[("read_triggered_compaction_threshold", "0.001")]).unwrap();
    sleeps(&clock, 1);
    (0..4096).for_each(|_| assert!(db.get(b"key").unwrap().is_none()));
    clock.advance(Duration::from_secs(999));
    sleeps(&clock, 1);
    db.wait_for_background_work().unwrap();
    assert_eq!(tables(&db), before, "the thread has not looked yet");
    clock.advance(Duration::from_secs(2));
    wait_until("a compaction", || tables(&db).is_empty());
}

/// The thread comes and goes with the options of families and of the database, and with families.
#[test]
fn changed_options_start_and_end_the_thread() {
    let clock = Arc::new(ManualClock::new(START_US));
    let db = open(&clock, 0, "43200");
    let family = db.default_column_family().unwrap();
    let set = |name, value| db.set_options_cf(&family, &[(name, value)]).unwrap();
    for _ in 0..2 {
        assert_eq!(clock.sleepers(), 0);
        set("periodic_compaction_seconds", "1000");
        sleeps(&clock, 1);
        set("disable_auto_compactions", "true");
        sleeps(&clock, 0);
        set("disable_auto_compactions", "false");
        sleeps(&clock, 1);
        set("periodic_compaction_seconds", "0");
        sleeps(&clock, 0);
        set("ttl", "2592000");
        db.set_db_options(&[("max_compaction_trigger_wakeup_seconds", "60")]).unwrap();
        sleeps(&clock, 1);
        db.set_db_options(&[("max_compaction_trigger_wakeup_seconds", "43200")]).unwrap();
        sleeps(&clock, 0);
        set("ttl", "0");
    }
    let mut young = ColumnFamilyOptions::default();
    young.ttl = 100;
    let second = db.create_column_family("second", young).unwrap();
    sleeps(&clock, 1);
    db.drop_column_family(&second).unwrap();
    drop(second);
    db.set_options_cf(&family, &[("ttl", "0")]).unwrap();
    sleeps(&clock, 0);
}

/// A clock that passes sleeps does not run away: the thread waits for something to do.
#[test]
fn a_clock_that_passes_sleeps_stands_still() {
    let clock = Arc::new(ManualClock::passing_sleeps(START_US));
    let db = open(&clock, 1000, "0");
    sleeps(&clock, 1);
    assert_eq!(clock.monotonic_us(), START_US);
    let before = with_table(&db);
    clock.advance(Duration::from_secs(1200));
    wait_until("a rewrite", || tables(&db) != before);
    drop(db);
    sleeps(&clock, 0);
}

/// What other tests rely on that move a clock: without the thread nothing looks.
#[test]
fn without_a_thread_to_be_had_nothing_looks_at_ages() {
    let clock = Arc::new(ManualClock::new(START_US));
    let spawner = quiet::NoWakeups::shared();
    let mut options = options_on(Arc::new(MemoryFileSystem::new()));
    options.components.clock = Some(Arc::clone(&clock) as Arc<dyn Clock>);
    options.components.spawner = Some(Arc::clone(&spawner) as _);
    let mut family = ColumnFamilyOptions::default();
    family.ttl = 100;
    let (db, _) = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap();
    let asked = || spawner.refused.load(Ordering::Relaxed);
    assert_eq!((asked(), clock.sleepers()), (1, 0));
    // The next change of options tries again.
    db.set_options_cf(&db.default_column_family().unwrap(), &[("ttl", "200")]).unwrap();
    assert_eq!((asked(), clock.sleepers()), (2, 0));
}
