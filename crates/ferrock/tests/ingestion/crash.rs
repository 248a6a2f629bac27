//! A crash at every file operation of a history with ingestions.
//!
//! Steps come one after the other, so what a clone has is what a prefix of them leaves: all that were acknowledged as
//! durable, where power failed; all that were acknowledged, where only the process died. An ingestion is durable when
//! it returns, with all that was written before it. It is there in every family, or in none. The files from outside are
//! whole, unless they were moved; what a later life of the database writes does not change them.

use crate::common::cores::on_all_cores;
use crate::common::{Contents, options_on, rows_of};
use crate::rig::{KEYS, TestFile, key};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, FlushOptions, IngestExternalFileArg,
    IngestExternalFileOptions, ReadOptions, WriteOptions,
};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem, read_file};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const FAMILIES: [&str; 2] = ["default", "other"];

#[derive(Clone, Debug)]
enum Step {
    Put(usize, Vec<u8>, Vec<u8>),
    /// By family, and whether the files are moved.
    Ingest(Vec<(usize, TestFile, PathBuf)>, bool),
}

/// What is known of the steps at a moment.
#[derive(Clone, Debug, Default)]
struct Known {
    issued: Vec<Step>,
    acknowledged: usize,
    durable: usize,
    /// Bytes of files from outside.
    outside: BTreeMap<PathBuf, Vec<u8>>,
}

impl Known {
    fn contents_after(&self, steps: usize) -> [Contents; 2] {
        let mut contents: [Contents; 2] = Default::default();
        for step in &self.issued[..steps] {
            match step {
                Step::Put(family, key, value) => drop(contents[*family].insert(key.clone(), value.clone())),
                Step::Ingest(files, _) => files.iter().for_each(|(family, file, _)| file.apply(&mut contents[*family])),
            }
        }
        contents
    }
}

fn family_options() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.merge_operator = Some(Arc::new(StringAppend::default()));
    options.level0_file_num_compaction_trigger = 3;
    options
}

fn db_options(file_system: &MemoryFileSystem) -> DbOptions {
    let mut options = options_on(Arc::new(file_system.clone()));
    options.max_open_files = 50;
    options
}

fn open(file_system: &MemoryFileSystem) -> ferrock::Result<(Db, Vec<ColumnFamily>)> {
    let families = FAMILIES.map(|name| (name.to_owned(), family_options())).to_vec();
    Db::open_cf("/db", db_options(file_system), families)
}

struct Point {
    line: String,
    policy: CrashPolicy,
    files: MemoryFileSystem,
    before: Known,
    after: Known,
}

fn collect(seed: u64) -> Vec<Point> {
    let mut random = Random::new(seed);
    let file_system = MemoryFileSystem::new();
    for directory in ["/outside", "/db"] {
        file_system.create_dir_all(Path::new(directory)).unwrap();
    }
    file_system.sync_dir(Path::new("/")).unwrap();
    let (known, points): (Arc<Mutex<Known>>, Arc<Mutex<Vec<Point>>>) = Default::default();
    let (db, families) = open(&file_system).unwrap();
    let (handle, seen, taken) = (file_system.clone(), Arc::clone(&known), Arc::clone(&points));
    file_system.set_operation_hook(Some(Arc::new(move |operation, line| {
        if line.starts_with("append LOG") || line.contains("/outside/new") {
            return;
        }
        let lossy = match operation % 3 {
            0 => CrashPolicy::KeepNothingUnsynced,
            1 => CrashPolicy::KeepSubset { seed: operation },
            _ => CrashPolicy::Torn { seed: operation, granularity_bytes: 1 },
        };
        for policy in [CrashPolicy::KeepAll, lossy] {
            let before = seen.lock().unwrap().clone();
            let files = handle.crash_clone(policy);
            let after = seen.lock().unwrap().clone();
            taken.lock().unwrap().push(Point { line: line.to_owned(), policy, files, before, after });
        }
    })));
    for step in 0..26 {
        perform(&mut random, step, &file_system, (&db, &families), &known);
    }
    file_system.set_operation_hook(None);
    drop(db);
    std::mem::take(&mut *points.lock().unwrap())
}

fn perform(
    random: &mut Random,
    step: u64,
    file_system: &MemoryFileSystem,
    (db, families): (&Db, &[ColumnFamily]),
    known: &Mutex<Known>,
) {
    let family = usize::from(random.one_in(3));
    match random.below(10) {
        0..=4 => {
            let (key, value) = (key(random.below(KEYS)), format!("w{step}").into_bytes());
            let sync = random.one_in(3);
            known.lock().unwrap().issued.push(Step::Put(family, key.clone(), value.clone()));
            let options = WriteOptions { sync, ..WriteOptions::default() };
            db.put_cf(&families[family], &key, &value, &options).unwrap();
            acknowledge(known, sync);
        }
        5 => db.flush_cf(&families[family], &FlushOptions::default()).unwrap(),
        6 => db.compact_range_cf(&families[family], None, None, &CompactRangeOptions::default()).unwrap(),
        _ => {
            let indexes = if random.one_in(2) { vec![0, 1] } else { vec![family] };
            let (move_files, link_files) = [(false, false), (true, false), (false, true)][random.below(3) as usize];
            let options = IngestExternalFileOptions {
                move_files,
                link_files,
                write_global_seqno: random.one_in(2),
                ..IngestExternalFileOptions::default()
            };
            let mut files = Vec::new();
            let mut args: Vec<IngestExternalFileArg> = Vec::new();
            for index in indexes {
                let mut paths = Vec::new();
                for part in 0..=random.below(2) {
                    let file = TestFile::random(random, &format!("f{step}"));
                    let path = PathBuf::from(format!("/outside/new{step}.{index}.{part}"));
                    file.write(&path, &db_options(file_system), &family_options());
                    known.lock().unwrap().outside.insert(path.clone(), read_file(file_system, &path).unwrap());
                    files.push((index, file, path.clone()));
                    paths.push(path);
                }
                let family = families[index].clone();
                let (files, options) = (paths, options.clone());
                args.push(IngestExternalFileArg { family, files, options, file_checksums: Vec::new() });
            }
            known.lock().unwrap().issued.push(Step::Ingest(files, move_files));
            db.ingest_external_files(&args).unwrap();
            acknowledge(known, true);
        }
    }
}

fn acknowledge(known: &Mutex<Known>, is_durable: bool) {
    let mut known = known.lock().unwrap();
    known.acknowledged = known.issued.len();
    if is_durable {
        known.durable = known.issued.len();
    }
}

impl Point {
    /// How many steps the clone has.
    fn judge(&self, contents: &[Contents; 2]) -> Result<usize, String> {
        let least = if self.policy == CrashPolicy::KeepAll { self.before.acknowledged } else { self.before.durable };
        let most = self.after.issued.len();
        let found = (least..=most).rev().find(|steps| self.after.contents_after(*steps) == *contents);
        found.ok_or_else(|| format!("no prefix of {least} to {most} steps: {contents:?}"))
    }

    fn read(db: &Db, families: &[ColumnFamily]) -> [Contents; 2] {
        [0, 1].map(|index| rows_of(db.iter_cf(&families[index], &ReadOptions::default())))
    }

    fn check_outside(&self, steps: usize) -> Result<(), String> {
        let mut moved = Vec::new();
        for step in &self.after.issued[..steps] {
            if let Step::Ingest(files, true) = step {
                moved.extend(files.iter().map(|(_, _, path)| path));
            }
        }
        for (path, bytes) in &self.before.outside {
            let found = match read_file(&self.files, path) {
                Ok(found) => found,
                Err(_) if moved.contains(&path) => continue,
                Err(error) => return Err(format!("{}: {error}", path.display())),
            };
            if found != *bytes {
                return Err(format!("{} has changed", path.display()));
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let opened = open(&self.files);
        let (db, families) = match opened {
            Ok(opened) => opened,
            // A record of several sectors of which some reached the disk.
            Err(error)
                if error.to_string().contains("MANIFEST")
                    && matches!(self.policy, CrashPolicy::KeepSubset { .. } | CrashPolicy::Torn { .. }) =>
            {
                return Ok(());
            }
            Err(error) => return Err(format!("does not open: {error}")),
        };
        let steps = self.judge(&Self::read(&db, &families))?;
        self.check_outside(steps)?;
        db.verify_checksum().map_err(|error| error.to_string())?;
        // Files of the next life do not come into those from outside.
        for round in 0..4u8 {
            for family in &families {
                db.put_cf(family, &key(0), &[round; 300], &WriteOptions::default()).unwrap();
                db.flush_cf(family, &FlushOptions::default()).unwrap();
            }
        }
        self.check_outside(steps).map_err(|error| format!("after more writes: {error}"))?;
        drop(families);
        db.close().map_err(|error| error.to_string())?;
        let (db, families) = open(&self.files).map_err(|error| format!("does not open again: {error}"))?;
        let mut expected = self.after.contents_after(steps);
        expected.iter_mut().for_each(|contents| drop(contents.insert(key(0), vec![3; 300])));
        if Self::read(&db, &families) != expected {
            return Err("another life has other rows".to_owned());
        }
        Ok(())
    }
}

#[test]
fn every_crash_leaves_an_ingestion_or_nothing_of_it() {
    let wanted: u64 = std::env::var("FERROCK_INGESTION_CRASH_SEEDS").map_or(3, |text| text.parse().unwrap());
    let (mut points, mut within_ingestions) = (0, 0);
    for seed in 0..wanted {
        let of_seed = collect(seed);
        points += of_seed.len();
        let is_within = |point: &&Point| {
            let last = point.after.issued.last();
            point.before.acknowledged < point.before.issued.len() && matches!(last, Some(Step::Ingest(..)))
        };
        within_ingestions += of_seed.iter().filter(is_within).count();
        on_all_cores(of_seed, |point| {
            if let Err(error) = point.check() {
                panic!("seed {seed}, before {} with {:?}: {error}", point.line, point.policy);
            }
        });
    }
    println!("{points} points, {within_ingestions} of them within ingestions");
    assert!(points > 1000 && within_ingestions > 500, "{points}, {within_ingestions}");
}
