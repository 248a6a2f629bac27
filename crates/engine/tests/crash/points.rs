//! A crash at every file operation.
//!
//! The hook of the file system sees every operation before it happens; there a clone of the files is taken, as one of
//! the policies would leave them, together with what was acknowledged by then. Every clone is opened and must hold
//!
//! - everything that was acknowledged as durable, in every family at once: the state after some number of batches that
//!   lies between the last one acknowledged and the last one issued;
//! - the families whose creation was acknowledged and whose drop was not asked for, and none that was never asked for;
//! - the same after a second crash right behind recovery, or in the middle of it;
//! - what is written to it afterwards.

use crate::workload::{self, COUNTER, Contents, FamilyLife, History, PATH, SharedHistory};
use ferrock::options::WalRecoveryMode;
use ferrock::{ColumnFamilyOptions, Db, FlushOptions, ReadOptions, WriteBatch, WriteOptions};
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Seeds of one run in continuous integration: more than 2,000 crash points.
const DEFAULT_SEEDS: u64 = 3;
const MIN_POINTS: usize = 2000;

struct Point {
    operation: u64,
    line: String,
    policy: CrashPolicy,
    files: MemoryFileSystem,
    /// What is durable for certain, and what was asked for at most.
    before: History,
    after: History,
}

fn policy(operation: u64) -> CrashPolicy {
    match operation % 6 {
        0 => CrashPolicy::KeepNothingUnsynced,
        1 => CrashPolicy::KeepAll,
        2 | 3 => CrashPolicy::KeepSubset { seed: operation },
        4 => CrashPolicy::Torn { seed: operation, granularity_bytes: 1 },
        _ => CrashPolicy::Torn { seed: operation, granularity_bytes: 512 },
    }
}

/// Runs the workload of a seed and takes a clone at every operation.
fn collect(seed: u64) -> Vec<Point> {
    let file_system = MemoryFileSystem::new();
    file_system.create_dir_all(Path::new("/data")).unwrap();
    file_system.sync_dir(Path::new("/")).unwrap();
    let history: SharedHistory = Arc::default();
    let points: Arc<Mutex<Vec<Point>>> = Arc::default();
    let (handle, seen, taken) = (file_system.clone(), Arc::clone(&history), Arc::clone(&points));
    file_system.set_operation_hook(Some(Arc::new(move |operation, line| {
        // Messages are no data; nothing is to be learned from a crash between two of them.
        if line.starts_with("append LOG") {
            return;
        }
        let policy = policy(operation + seed);
        let before = seen.lock().unwrap().clone();
        let files = handle.crash_clone(policy);
        let after = seen.lock().unwrap().clone();
        let line = line.to_owned();
        taken.lock().unwrap().push(Point { operation, line, policy, files, before, after });
    })));
    workload::run(&file_system, &history, seed);
    file_system.set_operation_hook(None);
    std::mem::take(&mut *points.lock().unwrap())
}

#[test]
fn every_crash_leaves_a_prefix_that_holds_what_was_synced() {
    let seeds = std::env::var("FERROCK_CRASH_SEEDS").map_or(DEFAULT_SEEDS, |text| text.parse().unwrap());
    let (mut count, mut refused, mut batches_lost, mut batches_kept) = (0, 0, 0, 0);
    for seed in 0..seeds {
        for point in collect(seed) {
            let check = || point.check(seed);
            let kept = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)) {
                Ok(Ok(kept)) => kept,
                Ok(Err(error)) if point.is_torn_manifest(&error) => {
                    refused += 1;
                    continue;
                }
                Ok(Err(error)) => panic!("{}", point.describe(seed, &error)),
                Err(_) => panic!("{}", point.describe(seed, "panicked (see above)")),
            };
            count += 1;
            batches_lost += point.after.batches.len() - kept;
            batches_kept += kept - point.before.durable.min(kept);
        }
    }
    println!(
        "{count} crash points and {refused} refused; {batches_lost} batches lost, {batches_kept} kept without having been synced"
    );
    assert!(count >= MIN_POINTS, "{count} crash points");
    assert!(refused * 50 < count, "{refused} of {count} refused for a torn MANIFEST");
    assert!(batches_lost > 0 && batches_kept > 0, "the policies made no difference");
}

impl Point {
    /// A MANIFEST record of several sectors of which some reached the disk and some did not looks like a damaged one,
    /// here as in RocksDB. Opening is refused and nothing is touched: an edit that was acknowledged must not be taken
    /// for one that was not.
    fn is_torn_manifest(&self, error: &str) -> bool {
        matches!(self.policy, CrashPolicy::Torn { .. } | CrashPolicy::KeepSubset { .. })
            && error.contains("Corruption")
            && error.contains("/MANIFEST-")
    }

    fn describe(&self, seed: u64, error: &str) -> String {
        let names = self.files.children(Path::new(PATH)).unwrap_or_default();
        format!(
            "seed {seed}, before operation {} ({}), {:?}: {error}\n{} batches durable, {} issued; files {names:?}",
            self.operation,
            self.line,
            self.policy,
            self.before.durable,
            self.after.batches.len(),
        )
    }

    /// Recovers the clone and compares. Returns how many batches survived.
    fn check(&self, seed: u64) -> Result<usize, String> {
        self.check_other_modes(seed)?;
        let kept = self.check_cut_recovery(seed)?;
        let opened = open(&self.files, seed, WalRecoveryMode::PointInTimeRecovery)?;
        let found = self.judge(&opened)?;
        if kept.is_some_and(|kept| kept != found) {
            return Err(format!("{found} batches, {kept:?} after a recovery that was cut short"));
        }
        drop(opened);
        // Recovery is durable: what it showed cannot be lost any more.
        let again = self.files.crash_clone(CrashPolicy::KeepNothingUnsynced);
        let opened = open(&again, seed, WalRecoveryMode::PointInTimeRecovery)?;
        let after_crash = self.judge(&opened)?;
        if after_crash != found {
            return Err(format!("{found} batches, {after_crash} after a second crash"));
        }
        check_writable(&again, opened, seed)?;
        Ok(found)
    }

    /// A second crash in the middle of recovery.
    fn check_cut_recovery(&self, seed: u64) -> Result<Option<usize>, String> {
        if !self.operation.is_multiple_of(4) {
            return Ok(None);
        }
        let files = self.files.crash_clone(CrashPolicy::KeepAll);
        files.power_off_at(self.operation / 4 % 23);
        let _ = open(&files, seed, WalRecoveryMode::PointInTimeRecovery);
        let policy = policy(self.operation / 4);
        let left = files.crash_clone(policy);
        let opened = open(&left, seed, WalRecoveryMode::PointInTimeRecovery)
            .map_err(|error| format!("after a recovery that was cut short ({policy:?}): {error}"))?;
        self.judge(&opened)
            .map(Some)
            .map_err(|error| format!("after a recovery that was cut short ({policy:?}): {error}"))
    }

    /// Logs that end where a record ends are whole for the stricter modes, too.
    fn check_other_modes(&self, seed: u64) -> Result<(), String> {
        if !matches!(self.policy, CrashPolicy::KeepAll | CrashPolicy::KeepNothingUnsynced) {
            return Ok(());
        }
        let mode = WalRecoveryMode::ALL[(self.operation / 6 % 4) as usize];
        let files = self.files.crash_clone(CrashPolicy::KeepAll);
        let opened = open(&files, seed, mode).map_err(|error| format!("{mode:?}: {error}"))?;
        self.judge(&opened).map(drop).map_err(|error| format!("{mode:?}: {error}"))
    }

    /// Finds out how many batches the database holds, and that it holds exactly those.
    fn judge(&self, opened: &Opened) -> Result<usize, String> {
        let counter = opened.families.get("default").and_then(|(_, contents)| contents.get(COUNTER));
        let count: usize =
            counter.map_or(Ok(0), |text| String::from_utf8_lossy(text).parse()).map_err(|error| format!("{error}"))?;
        if count < self.before.durable || count > self.after.batches.len() {
            return Err(format!("{count} batches are there"));
        }
        let expected = self.after.contents_after(count);
        for (name, (id, contents)) in &opened.families {
            let empty = Contents::new();
            let expected = expected.get(id).unwrap_or(&empty);
            if contents != expected {
                return Err(format!("after {count} batches: {name} ({id}): {}", difference(contents, expected)));
            }
        }
        self.judge_families(opened)?;
        Ok(count)
    }

    fn judge_families(&self, opened: &Opened) -> Result<(), String> {
        let found: BTreeSet<&str> = opened.families.keys().map(|name| &name[..]).collect();
        let must_exist = |life: &&FamilyLife| {
            let later = self.after.families.iter().find(|later| later.id.is_some() && later.id == life.id);
            life.id.is_some() && later.is_none_or(|later| !later.is_drop_issued)
        };
        for life in self.before.families.iter().filter(must_exist) {
            if !found.contains(&life.name[..]) {
                return Err(format!("family {} is gone", life.name));
            }
        }
        for name in found {
            let mut lives = self.after.families.iter().filter(|life| life.name == name);
            let before = |life: &FamilyLife| {
                let earlier = self.before.families.iter().find(|earlier| earlier.id.is_some() && earlier.id == life.id);
                earlier.is_some_and(|earlier| earlier.is_drop_acknowledged)
            };
            if name != "default" && lives.all(before) {
                return Err(format!("family {name} is there, which was dropped or never made"));
            }
        }
        Ok(())
    }
}

fn difference(found: &Contents, expected: &Contents) -> String {
    let keys: BTreeSet<&Vec<u8>> = found.keys().chain(expected.keys()).collect();
    let head = |value: Option<&Vec<u8>>| {
        value.map_or("nothing".to_owned(), |value| value[..value.len().min(12)].escape_ascii().to_string())
    };
    let lines = keys
        .into_iter()
        .filter(|key| found.get(*key) != expected.get(*key))
        .map(|key| format!("{}: {} instead of {}", key.escape_ascii(), head(found.get(key)), head(expected.get(key))));
    lines.take(4).collect::<Vec<_>>().join("; ")
}

/// A recovered database.
struct Opened {
    db: Db,
    /// By name: the id, and what is there.
    families: BTreeMap<String, (u32, Contents)>,
}

fn open(files: &MemoryFileSystem, seed: u64, mode: WalRecoveryMode) -> Result<Opened, String> {
    let mut options = workload::options(files, seed);
    options.wal_recovery_mode = mode;
    // Before the creation of the database was durable there may be nothing, or a part of it.
    let names = Db::list_column_families(PATH, &options).unwrap_or_else(|_| vec!["default".to_owned()]);
    let descriptors: Vec<(String, ColumnFamilyOptions)> =
        names.iter().map(|name| (name.clone(), workload::family_options())).collect();
    let (db, handles) = Db::open_cf(PATH, options, descriptors).map_err(|error| format!("open: {error}"))?;
    let mut families = BTreeMap::new();
    for handle in handles {
        let mut contents = Contents::new();
        let mut iter = db.iter_cf(&handle, &ReadOptions::default());
        iter.seek_to_first();
        while iter.valid() {
            contents.insert(iter.key().to_vec(), iter.value().to_vec());
            iter.next();
        }
        iter.status().map_err(|error| format!("scan: {error}"))?;
        families.insert(handle.name().to_owned(), (handle.id(), contents));
    }
    Ok(Opened { db, families })
}

/// Writes, flushes and reopens.
fn check_writable(files: &MemoryFileSystem, opened: Opened, seed: u64) -> Result<(), String> {
    let explain = |what: &'static str| move |error: ferrock::Error| format!("after recovery: {what}: {error}");
    let Opened { db, mut families } = opened;
    let handles = db.column_families();
    let mut batch = WriteBatch::new();
    for handle in &handles {
        batch.put_cf(handle.id(), b"after", b"recovery").map_err(explain("batch"))?;
        families.get_mut(handle.name()).unwrap().1.insert(b"after".to_vec(), b"recovery".to_vec());
    }
    db.write(batch, &WriteOptions::synced()).map_err(explain("write"))?;
    if seed.is_multiple_of(2) {
        db.flush_cf(&handles[0], &FlushOptions::default()).map_err(explain("flush"))?;
    }
    drop(handles);
    db.close().map_err(explain("close"))?;
    let left = files.crash_clone(CrashPolicy::KeepNothingUnsynced);
    // Without a flush at recovery the torn log is still there.
    let keeps_logs = workload::options(&left, seed).avoid_flush_during_recovery;
    let mode = if keeps_logs { WalRecoveryMode::PointInTimeRecovery } else { WalRecoveryMode::AbsoluteConsistency };
    let again = open(&left, seed, mode)?;
    match families.iter().find(|(name, contents)| again.families.get(*name) != Some(contents)) {
        None => Ok(()),
        Some((name, _)) => Err(format!("{name} is not what it was after a write and a reopening")),
    }
}
