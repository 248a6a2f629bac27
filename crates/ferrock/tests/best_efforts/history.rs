//! A drawn history of flushes, atomic or not, and compactions, of which every file stays; then files are removed, cut
//! or extended in drawn sets, and an open has to bring up what this model says.
//!
//! The model knows states, each with its tables, blob files and contents, and which steps were atomic. A state of a
//! family may count when all its files are there, or all but the newest of level 0. It looks for the newest states that
//! tear no atomic step apart by lowering those that do, until none does.

use super::common::{Contents, options_on, rows_of};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, FileKind, FlushOptions,
    LiveFilesStorageOptions, ReadOptions, WriteOptions,
};
use ferrock_base::random::Random;
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

pub(crate) const PATH: &str = "/db";
pub(crate) const NAMES: [&str; 3] = ["default", "two", "three"];
const ALL: usize = NAMES.len();

#[derive(Clone, Debug)]
struct Table {
    number: u64,
    level: usize,
    newest: u64,
    oldest_blob: Option<u64>,
}

/// What the MANIFEST says after a step.
#[derive(Clone, Debug, Default)]
struct State {
    tables: [Vec<Table>; ALL],
    blobs: BTreeSet<u64>,
    contents: [Contents; ALL],
    /// Families that the step changed atomically; fewer than two: none.
    group: Vec<usize>,
}

struct History {
    states: Vec<State>,
    /// What a family held before the flush that made the table.
    before: BTreeMap<u64, Contents>,
    owner_of_blob: BTreeMap<u64, usize>,
    has_unflushed: bool,
}

pub(crate) fn family(blobs: bool) -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    (family.enable_blob_files, family.min_blob_size) = (blobs, 20);
    family
}

fn families(blobs: bool) -> Vec<(String, ColumnFamilyOptions)> {
    NAMES.map(|name| (name.to_owned(), family(blobs && name != "three"))).into()
}

fn best_efforts(files: &MemoryFileSystem) -> DbOptions {
    let mut options = DbOptions::default();
    options.components.file_system = Some(Arc::new(files.clone()));
    options.best_efforts_recovery = true;
    options
}

fn note_state(history: &mut History, db: &Db, flushed: &[Contents; ALL], group: Vec<usize>) {
    let mut state = State { contents: flushed.clone(), group, ..State::default() };
    for file in db.live_files() {
        let family = NAMES.iter().position(|name| *name == file.column_family).unwrap();
        let table = Table {
            number: file.number.0,
            level: file.level,
            newest: file.largest_sequence.0,
            oldest_blob: file.oldest_blob_file.map(|number| number.0),
        };
        if let Some(blob) = table.oldest_blob {
            history.owner_of_blob.entry(blob).or_insert(family);
        }
        if !history.before.contains_key(&table.number) {
            let before = history.states.last().map(|state| state.contents[family].clone()).unwrap_or_default();
            history.before.insert(table.number, before);
        }
        state.tables[family].push(table);
    }
    let options = LiveFilesStorageOptions { wal_size_for_flush: u64::MAX, ..LiveFilesStorageOptions::default() };
    let files = db.live_files_storage_info(&options).unwrap();
    state.blobs = files.iter().filter(|file| file.kind == FileKind::Blob).map(|file| file.file_number.0).collect();
    history.states.push(state);
}

/// A database whose every file is still there, as it lies on disk while it is open.
fn draw(random: &mut Random, blobs: bool) -> (MemoryFileSystem, History) {
    let files = MemoryFileSystem::new();
    let (db, handles) = Db::open_cf(PATH, options_on(Arc::new(files.clone())), families(blobs)).unwrap();
    db.disable_file_deletions().unwrap();
    let mut history =
        History { states: Vec::new(), before: BTreeMap::new(), owner_of_blob: BTreeMap::new(), has_unflushed: false };
    let (mut now, mut flushed): ([Contents; ALL], [Contents; ALL]) = Default::default();
    let mut unflushed = BTreeSet::new();
    note_state(&mut history, &db, &flushed, Vec::new());
    for _ in 0..4 + random.below(12) {
        let written: Vec<usize> = (0..ALL).filter(|_| random.one_in(2)).collect();
        unflushed.extend(&written);
        for family in written {
            for _ in 0..1 + random.below(12) {
                write(&db, &handles[family], &mut now[family], random);
            }
        }
        let chosen: Vec<usize> = unflushed.iter().copied().filter(|_| !random.one_in(4)).collect();
        chosen.iter().for_each(|family| _ = unflushed.remove(family));
        let is_atomic = random.one_in(4) && chosen.len() > 1;
        let (wait, list): (_, Vec<ColumnFamily>) =
            (FlushOptions::default(), chosen.iter().map(|family| handles[*family].clone()).collect());
        if is_atomic {
            db.flush_cfs(&list, &FlushOptions { force_atomic_flush: true, ..wait }).unwrap();
            chosen.iter().for_each(|family| flushed[*family].clone_from(&now[*family]));
            note_state(&mut history, &db, &flushed, chosen);
        } else {
            for family in chosen {
                db.flush_cf(&handles[family], &FlushOptions::default()).unwrap();
                flushed[family].clone_from(&now[family]);
                note_state(&mut history, &db, &flushed, Vec::new());
            }
        }
        let family = random.below(ALL as u64) as usize;
        if random.one_in(3) && !unflushed.contains(&family) {
            db.compact_range_cf(&handles[family], None, None, &CompactRangeOptions::default()).unwrap();
            note_state(&mut history, &db, &flushed, Vec::new());
        }
    }
    history.has_unflushed = !unflushed.is_empty();
    (files.crash_clone(CrashPolicy::KeepAll), history)
}

fn write(db: &Db, family: &ColumnFamily, now: &mut Contents, random: &mut Random) {
    let key = format!("key{:02}", random.below(40)).into_bytes();
    if random.one_in(5) {
        db.delete_cf(family, &key, &WriteOptions::default()).unwrap();
        now.remove(&key);
        return;
    }
    let value = vec![b'a' + random.below(26) as u8; 1 + random.below(60) as usize];
    db.put_cf(family, &key, &value, &WriteOptions::default()).unwrap();
    now.insert(key, value);
}

/// Removes or changes files; their numbers.
fn damage(files: &MemoryFileSystem, history: &History, random: &mut Random) -> BTreeSet<u64> {
    let mut recorded: BTreeSet<u64> = history.states.iter().flat_map(|state| state.blobs.clone()).collect();
    recorded.extend(history.states.iter().flat_map(|state| state.tables.iter().flatten().map(|table| table.number)));
    let one_in = 1 + random.below(12);
    let mut gone = BTreeSet::new();
    for name in files.children(Path::new(PATH)).unwrap() {
        let Some((stem, "sst" | "blob")) = name.split_once('.') else { continue };
        let (number, path) = (stem.parse::<u64>().unwrap(), Path::new(PATH).join(&name));
        let is_recorded = recorded.contains(&number);
        if is_recorded && !(random.one_in(one_in) && random.one_in(2)) {
            continue;
        }
        // What no recorded state has may be of one between two: the model does not know what it held.
        gone.insert(number);
        let mut bytes = read_file(files, &path).unwrap();
        match random.below(4) {
            0 if is_recorded => bytes.truncate(random.below(bytes.len() as u64) as usize),
            1 if is_recorded => bytes.push(0),
            _ => {
                files.remove_file(&path).unwrap();
                continue;
            }
        }
        write_file_synced(files, &path, &bytes).unwrap();
    }
    if random.one_in(3) {
        files.remove_file(&Path::new(PATH).join("CURRENT")).unwrap();
    }
    files.sync_dir(Path::new(PATH)).unwrap();
    gone
}

impl History {
    /// What the family holds in a state without the files that are gone, if the state counts.
    fn contents_of(&self, index: usize, family: usize, gone: &BTreeSet<u64>) -> Option<&Contents> {
        let state = &self.states[index];
        let tables = &state.tables[family];
        let (missing, there): (Vec<&Table>, Vec<&Table>) =
            tables.iter().partition(|table| gone.contains(&table.number));
        let was_in_group = self.states[..=index].iter().any(|state| state.group.contains(&family));
        let newest_there = there.iter().filter(|table| table.level == 0).map(|table| table.newest).max();
        let is_end = |table: &&Table| table.level == 0 && newest_there.is_none_or(|newest| table.newest > newest);
        if !missing.is_empty() && (was_in_group || !missing.iter().all(is_end)) {
            return None;
        }
        for blob in state.blobs.iter().filter(|blob| gone.contains(blob) && self.owner_of_blob[blob] == family) {
            let names = |tables: &[&Table]| tables.iter().any(|table| table.oldest_blob == Some(*blob));
            let may_need = there.iter().any(|table| table.oldest_blob.is_some_and(|oldest| oldest <= *blob));
            let is_of_missing_alone = names(&missing) && !names(&there);
            if may_need && !is_of_missing_alone {
                return None;
            }
        }
        let oldest = missing.iter().min_by_key(|table| table.newest);
        Some(oldest.map_or(&state.contents[family], |table| &self.before[&table.number]))
    }

    /// The states of a family, for a test that fails.
    fn told(&self, family: usize) -> String {
        let state = |(index, state): (usize, &State)| {
            let tables = state.tables[family].iter().map(|table| (table.number, table.level, table.oldest_blob));
            format!("{index}: {:?} blobs {:?} group {:?}", tables.collect::<Vec<_>>(), state.blobs, state.group)
        };
        self.states.iter().enumerate().map(state).collect::<Vec<_>>().join("\n")
    }

    fn expected(&self, gone: &BTreeSet<u64>) -> [Contents; ALL] {
        let newest = |family: usize, below: usize| {
            (0..below).rev().find(|index| self.contents_of(*index, family, gone).is_some()).unwrap_or(0)
        };
        let mut points: [usize; ALL] = std::array::from_fn(|family| newest(family, self.states.len()));
        loop {
            let is_group = |index: &usize| self.states[*index].group.len() > 1;
            let is_torn =
                |index: &usize| points.iter().any(|point| point >= index) && points.iter().any(|point| point < index);
            let Some(torn) = (0..self.states.len()).find(|index| is_group(index) && is_torn(index)) else { break };
            for (family, point) in points.iter_mut().enumerate().filter(|(_, point)| **point >= torn) {
                *point = newest(family, torn);
            }
        }
        std::array::from_fn(|family| self.contents_of(points[family], family, gone).cloned().unwrap_or_default())
    }
}

pub(crate) fn contents(db: &Db, handles: &[ColumnFamily]) -> Vec<Contents> {
    handles.iter().map(|family| rows_of(db.iter_cf(family, &ReadOptions::default()))).collect()
}

fn has_log_in_lost(files: &MemoryFileSystem) -> bool {
    let lost = files.children(&Path::new(PATH).join("lost")).unwrap_or_default();
    lost.iter()
        .any(|name| name.ends_with(".log") && files.file_size(&Path::new(PATH).join("lost").join(name)).unwrap() > 0)
}

#[test]
fn the_newest_whole_state_of_each_family_comes_up() {
    let (mut lowered, mut empty) = (0, 0);
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let blobs = random.one_in(2);
        let (files, history) = draw(&mut random, blobs);
        let gone = damage(&files, &history, &mut random);
        let expected = history.expected(&gone);
        let newest = &history.states.last().unwrap().contents;
        lowered += usize::from(expected != *newest);
        empty += usize::from(expected.iter().all(Contents::is_empty));

        let (db, handles) = Db::open_cf(PATH, best_efforts(&files), families(blobs))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let found = contents(&db, &handles);
        for family in 0..ALL {
            let is_same = found[family] == expected[family];
            assert!(is_same, "seed {seed}, {}, without {gone:?}:\n{}", NAMES[family], history.told(family));
        }
        assert_eq!(has_log_in_lost(&files), history.has_unflushed, "seed {seed}");

        // It is a database like any other: what is written now counts, and nothing of before comes back.
        let mut after = expected.clone();
        for (family, now) in handles.iter().zip(&mut after) {
            write(&db, family, now, &mut random);
        }
        drop((db, handles));
        let mut options = best_efforts(&files);
        options.best_efforts_recovery = false;
        let (db, handles) = Db::open_cf(PATH, options, families(blobs)).unwrap();
        assert_eq!(contents(&db, &handles), after, "seed {seed}, opened again");
    }
    assert!(lowered > 100 && (1..200).contains(&empty), "{lowered} lowered, {empty} empty");
}

#[test]
fn a_crash_at_any_operation_leaves_what_the_next_open_brings_to_the_same_state() {
    let mut points = 0;
    for seed in [3, 5, 8, 13, 21, 34] {
        let mut random = Random::new(seed);
        let blobs = seed % 2 == 0;
        let (files, history) = draw(&mut random, blobs);
        let gone = damage(&files, &history, &mut random);
        let expected = history.expected(&gone);
        let taken: Arc<Mutex<Vec<(String, MemoryFileSystem)>>> = Arc::default();
        let (handle, list) = (files.clone(), Arc::clone(&taken));
        files.set_operation_hook(Some(Arc::new(move |operation, line| {
            let torn = CrashPolicy::Torn { seed: operation, granularity_bytes: 512 };
            for policy in [CrashPolicy::KeepAll, CrashPolicy::KeepNothingUnsynced, torn] {
                list.lock().unwrap().push((format!("{line}, {policy:?}"), handle.crash_clone(policy)));
            }
        })));
        drop(Db::open_cf(PATH, best_efforts(&files), families(blobs)).unwrap());
        files.set_operation_hook(None);
        for (line, crashed) in std::mem::take(&mut *taken.lock().unwrap()) {
            points += 1;
            let (db, handles) = Db::open_cf(PATH, best_efforts(&crashed), families(blobs))
                .unwrap_or_else(|error| panic!("seed {seed}, {line}: {error}"));
            assert_eq!(contents(&db, &handles), expected, "seed {seed}, crash before {line}");
            assert_eq!(has_log_in_lost(&crashed), history.has_unflushed, "seed {seed}, {line}");
        }
    }
    assert!(points > 300, "{points} points");
}
