//! A crash at every file operation.
//!
//! The hook of the file system sees every operation before it happens; there two clones of the files are taken,
//! together with what was acknowledged by then. A *crash point* is what the death of the process leaves: all that the
//! operating system was given. A *power-loss point* is what one of the policies leaves of what was not synced.
//!
//! Every clone is opened and judged by what its recovery mode promises:
//!
//! | mode | crash | power loss |
//! |---|---|---|
//! | point_in_time | opens | opens |
//! | skip_any_corrupted_records | opens | opens; any batch that was not durable may be missing, whole |
//! | tolerate_corrupted_tail_records, absolute_consistency | opens | opens, or refuses a log |
//!
//! A database that opens holds the same batches in every family, and all of those that were acknowledged as durable
//! (after a crash: all that were acknowledged); in every mode but skip_any they are a prefix of those issued. It has
//! the families whose creation was acknowledged and whose drop was not asked for, and none that was never asked for. It
//! is the same after a second crash right behind recovery, or in the middle of it, and it takes what is written to it
//! afterwards.

use crate::cores::on_all_cores;
use crate::model::{Contents, contents_after, difference};
use crate::workload::{self, FamilyLife, History, MARKER, PATH, SharedHistory, UNLOGGED};
use ferrock::options::WalRecoveryMode;
use ferrock::{ColumnFamilyOptions, Db, FlushOptions, ReadOptions, WriteBatch, WriteOptions};
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Points of each kind of one run in continuous integration.
const DEFAULT_POINTS: usize = 1500;

struct Point {
    operation: u64,
    line: String,
    policy: CrashPolicy,
    files: MemoryFileSystem,
    /// What is certain, and what was asked for at most.
    before: History,
    after: History,
}

fn power_loss(operation: u64) -> CrashPolicy {
    match operation % 5 {
        0 => CrashPolicy::KeepNothingUnsynced,
        1 | 2 => CrashPolicy::KeepSubset { seed: operation },
        3 => CrashPolicy::Torn { seed: operation, granularity_bytes: 1 },
        _ => CrashPolicy::Torn { seed: operation, granularity_bytes: 512 },
    }
}

/// Runs the workload of a seed and takes clones at every operation; and how many tables were dropped under range
/// deletions.
fn collect(seed: u64) -> (Vec<Point>, u64) {
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
        for policy in [CrashPolicy::KeepAll, power_loss(operation + seed)] {
            let before = seen.lock().unwrap().clone();
            let files = handle.crash_clone(policy);
            let after = seen.lock().unwrap().clone();
            let line = line.to_owned();
            taken.lock().unwrap().push(Point { operation, line, policy, files, before, after });
        }
    })));
    workload::run(&file_system, &history, seed);
    file_system.set_operation_hook(None);
    let range_deleted_tables = history.lock().unwrap().range_deleted_tables;
    (std::mem::take(&mut *points.lock().unwrap()), range_deleted_tables)
}

/// What a run came across.
#[derive(Debug, Default)]
struct Counts {
    crashes: usize,
    power_losses: usize,
    /// Power-loss points at which a torn MANIFEST was refused.
    refused_manifests: usize,
    batches_lost: usize,
    /// Batches that survived without having been synced.
    batches_kept: usize,
    /// Tables that were dropped because they lay under a range deletion.
    range_deleted_tables: u64,
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.replace('_', "").parse().unwrap())
}

#[test]
fn every_crash_leaves_a_prefix_that_holds_what_was_acknowledged() {
    let asked = number("FERROCK_CRASH_POINTS").map(|points| points as usize);
    let wanted = asked.unwrap_or(DEFAULT_POINTS);
    let (first, only) = (number("FERROCK_CRASH_SEED").unwrap_or(0), number("FERROCK_CRASH_SEEDS"));
    let counts = Mutex::new(Counts::default());
    let is_short = || {
        let counts = counts.lock().unwrap();
        counts.crashes < wanted || counts.power_losses < wanted
    };
    let mut seed = first;
    while only.map_or_else(is_short, |seeds| seed < first + seeds) {
        let (points, range_deleted) = collect(seed);
        counts.lock().unwrap().range_deleted_tables += range_deleted;
        // Two operations of four where no number is asked for, and more workloads in their place.
        let are_all_judged = asked.is_some() || only.is_some();
        let is_judged = |(number, _): &(usize, Point)| are_all_judged || (number / 4).is_multiple_of(2);
        let judged = points.into_iter().enumerate().filter(is_judged).map(|(_, point)| point);
        on_all_cores(judged, |point| point.count(seed, &counts));
        seed += 1;
    }
    let counts = counts.into_inner().unwrap();
    println!(
        "seeds {first} to {}: {} crash points, {} power-loss points and {} more whose MANIFEST was torn and refused; \
         {} batches lost, {} kept without having been synced; {} tables dropped under range deletions",
        seed - 1,
        counts.crashes,
        counts.power_losses,
        counts.refused_manifests,
        counts.batches_lost,
        counts.batches_kept,
        counts.range_deleted_tables
    );
    assert!(counts.refused_manifests * 25 < counts.power_losses, "{counts:?}");
    assert!(counts.batches_lost > 0 && counts.batches_kept > 0, "the policies made no difference: {counts:?}");
    // Whether a table is still there when the compaction comes that would drop it hangs on the threads: 0 to 9 by run.
    let is_long = wanted >= 10 * DEFAULT_POINTS;
    assert!(!is_long || counts.range_deleted_tables > 0, "no table was dropped unread: {counts:?}");
}

impl Point {
    fn count(&self, seed: u64, counts: &Mutex<Counts>) {
        let check = || self.check(seed);
        let kept = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)) {
            Ok(Ok(kept)) => kept,
            Ok(Err(error)) if self.is_torn_manifest(&error) => {
                counts.lock().unwrap().refused_manifests += 1;
                return;
            }
            Ok(Err(error)) => panic!("{}", self.describe(seed, &error)),
            Err(_) => panic!("{}", self.describe(seed, "panicked (see above)")),
        };
        let mut counts = counts.lock().unwrap();
        if self.is_crash() {
            counts.crashes += 1;
        } else {
            counts.power_losses += 1;
            counts.batches_lost += self.after.batches.len() - kept;
            counts.batches_kept += kept.saturating_sub(self.before.durable);
        }
    }

    fn is_crash(&self) -> bool {
        self.policy == CrashPolicy::KeepAll
    }

    /// A record of a file may have been torn.
    fn may_be_torn(&self) -> bool {
        matches!(self.policy, CrashPolicy::Torn { .. } | CrashPolicy::KeepSubset { .. })
    }

    /// A MANIFEST record of several sectors of which some reached the disk and some did not looks like a damaged one,
    /// here as in RocksDB. Opening is refused and nothing is touched: an edit that was acknowledged must not be taken
    /// for one that was not.
    fn is_torn_manifest(&self, error: &str) -> bool {
        self.may_be_torn() && error.contains("Corruption") && error.contains("/MANIFEST-")
    }

    fn describe(&self, seed: u64, error: &str) -> String {
        let names = self.files.children(Path::new(PATH)).unwrap_or_default();
        format!(
            "seed {seed} {:?}, before operation {} ({}), {:?}: {error}\n{} batches durable, {} written, {} issued; files \
             {names:?}",
            workload::Draw::new(seed),
            self.operation,
            self.line,
            self.policy,
            self.before.durable,
            self.before.written,
            self.after.batches.len(),
        )
    }

    /// Recovers the clone and compares. Returns how many batches survived.
    fn check(&self, seed: u64) -> Result<usize, String> {
        let other = WalRecoveryMode::ALL[(self.operation / 5 % 4) as usize];
        // After a crash nothing is torn, so that all modes promise the same.
        let mode = if self.is_crash() { other } else { WalRecoveryMode::PointInTimeRecovery };
        if !self.is_crash() && self.operation.is_multiple_of(2) {
            self.check_other_mode(seed, other).map_err(|error| format!("{other:?}: {error}"))?;
        }
        let kept = self.check_cut_recovery(seed, mode)?;
        let found = self.check_recovery(seed, mode).map_err(|error| format!("{mode:?}: {error}"))?;
        if kept.is_some_and(|kept| kept != found) {
            return Err(format!("{found} batches, {kept:?} after a recovery that was cut short"));
        }
        Ok(found)
    }

    fn check_recovery(&self, seed: u64, mode: WalRecoveryMode) -> Result<usize, String> {
        let opened = open(&self.files, seed, mode)?;
        let found = self.judge_prefix(&opened)?;
        drop(opened);
        // Recovery is durable: what it showed cannot be lost any more.
        let again = self.files.crash_clone(CrashPolicy::KeepNothingUnsynced);
        let opened = open(&again, seed, mode)?;
        let after_crash = self.judge_prefix(&opened)?;
        if after_crash != found {
            return Err(format!("{found} batches, {after_crash} after a second crash"));
        }
        check_writable(&again, opened, seed)?;
        Ok(found)
    }

    /// A second crash in the middle of recovery.
    fn check_cut_recovery(&self, seed: u64, mode: WalRecoveryMode) -> Result<Option<usize>, String> {
        if !self.operation.is_multiple_of(4) {
            return Ok(None);
        }
        let files = self.files.crash_clone(CrashPolicy::KeepAll);
        files.power_off_at(self.operation / 4 % 23);
        let _ = open(&files, seed, mode);
        let policy = if self.is_crash() { CrashPolicy::KeepAll } else { power_loss(self.operation / 4) };
        let left = files.crash_clone(policy);
        let kept = open(&left, seed, mode).and_then(|opened| self.judge_prefix(&opened));
        kept.map(Some).map_err(|error| format!("{mode:?}, after a recovery that was cut short ({policy:?}): {error}"))
    }

    fn check_other_mode(&self, seed: u64, mode: WalRecoveryMode) -> Result<(), String> {
        let files = self.files.crash_clone(CrashPolicy::KeepAll);
        if mode == WalRecoveryMode::SkipAnyCorruptedRecords && self.may_be_torn() {
            let opened = open(&files, seed, mode)?;
            let found = self.judge_survivors(&opened)?;
            drop(opened);
            // What was found is in tables now, and no log is needed that would stop a stricter mode.
            let opened =
                open(&files.crash_clone(CrashPolicy::KeepNothingUnsynced), seed, WalRecoveryMode::PointInTimeRecovery)?;
            return match self.judge_survivors(&opened)? == found {
                true => Ok(()),
                false => Err("other batches after a second crash".to_owned()),
            };
        }
        match open(&files, seed, mode) {
            // Logs that end where a record ends are whole for the stricter modes, too.
            Err(error) if self.may_be_torn() && error.contains("Corruption") && error.contains(".log") => Ok(()),
            opened => self.judge_prefix(&opened?).map(drop),
        }
    }

    /// The batches that the database holds: those that were certain, none that was not issued, all whole.
    fn judge_survivors(&self, opened: &Opened) -> Result<BTreeSet<usize>, String> {
        let markers = opened.families.get("default").into_iter().flat_map(|(_, contents)| contents.keys());
        let markers = markers.filter_map(|key| key.strip_prefix(MARKER));
        let parsed = markers.map(|number| String::from_utf8_lossy(number).parse::<usize>());
        let found: BTreeSet<usize> = parsed.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        let certain = if self.is_crash() { self.before.written } else { self.before.durable };
        if let Some(lost) = (1..=certain).find(|number| !found.contains(number)) {
            return Err(format!("batch {lost} of {certain} is lost; there are {} in all", found.len()));
        }
        if found.last().is_some_and(|last| *last > self.after.batches.len()) {
            return Err(format!("batch {found:?} is there"));
        }
        let expected = contents_after(found.iter().map(|number| &*self.after.batches[number - 1]));
        for (name, (id, contents)) in &opened.families {
            let empty = Contents::new();
            let expected = expected.get(id).unwrap_or(&empty);
            if name == UNLOGGED {
                self.judge_unlogged(contents)?;
            } else if contents != expected {
                return Err(format!("after {found:?}: {name} ({id}): {}", difference(contents, expected)));
            }
        }
        self.judge_families(opened)?;
        Ok(found)
    }

    /// As [`judge_survivors`](Self::judge_survivors), and they are the first so many.
    fn judge_prefix(&self, opened: &Opened) -> Result<usize, String> {
        let found = self.judge_survivors(opened)?;
        match found.iter().zip(1..).find(|(found, expected)| **found != *expected) {
            Some((_, missing)) => Err(format!("batch {missing} is missing below batch {:?}", found.last())),
            None => Ok(found.len()),
        }
    }

    /// Writes without a log survive by flushes alone, in the order in which they were made.
    fn judge_unlogged(&self, contents: &Contents) -> Result<(), String> {
        let bounds = self.before.unlogged_durable..=self.after.unlogged;
        let is_whole = contents.keys().zip(0..).all(|(key, index)| *key == format!("{index:06}").into_bytes());
        if is_whole && bounds.contains(&contents.len()) {
            return Ok(());
        }
        Err(format!("{} writes without a log are there, {bounds:?} may be", contents.len()))
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
        names.iter().map(|name| (name.clone(), workload::family_options(seed))).collect();
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

/// Writes, flushes and reopens, in the strictest mode: recovery leaves no damaged log that is still needed.
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
    let again = open(&left, seed, WalRecoveryMode::AbsoluteConsistency)?;
    let found = again.families;
    again.db.close().map_err(explain("close again"))?;
    for directory in [PATH, "/data/tables", "/data/more-tables"] {
        let names = left.children(Path::new(directory)).unwrap_or_default();
        if let Some(name) = names.iter().find(|name| name.ends_with(".dbtmp") && !name.starts_with("OPTIONS")) {
            return Err(format!("{directory}/{name} is left, and no job writes it"));
        }
    }
    match families.iter().find(|(name, contents)| found.get(*name) != Some(contents)) {
        None => Ok(()),
        Some((name, _)) => Err(format!("{name} is not what it was after a write and a reopening")),
    }
}
