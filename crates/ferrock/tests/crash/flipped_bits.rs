//! Absolute consistency: one flipped bit in any log that is still needed refuses the open, whichever family it is of.
//!
//! The database was killed with several logs, some of which lie in tables for some families; the process before it may
//! have kept logs of the one before that. Which logs are needed, the MANIFEST says, as RocksDB reads it: none before
//! `min_log_number_to_keep`, and none before the smallest log number of a family. What the other logs have is in
//! tables.
//!
//! `FERROCK_DAMAGE_SEEDS=n` runs more.

use ferrock::options::WalRecoveryMode;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, FlushOptions, ReadOptions, WriteOptions};
use ferrock_base::FileNumber;
use ferrock_base::random::Random;
use ferrock_format::log::{LogEvent, LogReader, SliceSource};
use ferrock_format::version_edit::VersionEdit;
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PATH: &str = "/data/db";
const FAMILIES: [&str; 3] = ["default", "one", "two"];
const DEFAULT_SEEDS: u64 = 60;

type Contents = Vec<(Vec<u8>, Vec<u8>)>;

#[derive(Clone, Copy)]
struct Shape {
    has_log_directory: bool,
    keeps_logs: bool,
}

impl Shape {
    fn logs(self) -> &'static Path {
        Path::new(if self.has_log_directory { "/logs" } else { PATH })
    }

    fn open(self, files: &MemoryFileSystem, mode: WalRecoveryMode) -> ferrock::Result<Db> {
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.create_missing_column_families = true;
        options.max_file_opening_threads = 1;
        options.avoid_flush_during_recovery = self.keeps_logs;
        options.wal_recovery_mode = mode;
        if self.has_log_directory {
            options.wal_dir = "/logs".to_owned();
        }
        options.components.file_system = Some(Arc::new(files.clone()));
        let family = ColumnFamilyOptions::default();
        let families = FAMILIES.iter().map(|name| ((*name).to_owned(), family.clone())).collect();
        Db::open_cf(PATH, options, families).map(|(db, _)| db)
    }
}

/// A database that was killed, once or more, between writes and flushes of single families.
fn make(random: &mut Random, shape: Shape) -> MemoryFileSystem {
    let mut files = MemoryFileSystem::new();
    files.create_dir_all(Path::new("/data")).unwrap();
    for _ in 0..1 + random.below(3) {
        let db = shape.open(&files, WalRecoveryMode::AbsoluteConsistency).unwrap();
        let families = db.column_families();
        for _ in 0..random.below(60) {
            let family = &families[random.below(FAMILIES.len() as u64) as usize];
            if random.one_in(12) {
                db.flush_cf(family, &FlushOptions::default()).unwrap();
                continue;
            }
            let (key, size) = (format!("key{:02}", random.below(60)), random.below(3000) as usize);
            db.put_cf(family, key.as_bytes(), &vec![b'v'; size], &WriteOptions::default()).unwrap();
        }
        files = files.crash_clone(CrashPolicy::KeepAll);
    }
    files
}

fn contents(db: &Db) -> BTreeMap<u32, Contents> {
    let of = |family: &ferrock::ColumnFamily| {
        let mut iter = db.iter_cf(family, &ReadOptions::default());
        let mut found = Contents::new();
        iter.seek_to_first();
        while iter.valid() {
            found.push((iter.key().to_vec(), iter.value().to_vec()));
            iter.next();
        }
        iter.status().unwrap();
        found
    };
    db.column_families().iter().map(|family| (family.id(), of(family))).collect()
}

fn records(bytes: &[u8], number: u64, mut take: impl FnMut(&[u8])) {
    let mut reader = LogReader::new(SliceSource(bytes), FileNumber(number), WalRecoveryMode::AbsoluteConsistency);
    let mut scratch = Vec::new();
    loop {
        match reader.read_record(&mut scratch).unwrap() {
            LogEvent::Record { data, .. } => take(data),
            LogEvent::End => return,
            event => panic!("{event:?}"),
        }
    }
}

/// The first log that the MANIFEST says is needed.
fn first_needed(files: &MemoryFileSystem) -> u64 {
    let current = read_file(files, &Path::new(PATH).join("CURRENT")).unwrap();
    let name = String::from_utf8(current).unwrap();
    let bytes = read_file(files, &Path::new(PATH).join(name.trim())).unwrap();
    let (mut kept_from, mut families) = (0, BTreeMap::new());
    records(&bytes, 0, |data| {
        let edit = VersionEdit::decode(data).unwrap();
        kept_from = kept_from.max(edit.min_log_number_to_keep.map_or(0, |number| number.0));
        let own = families.entry(edit.column_family).or_insert(0);
        *own = edit.log_number.map_or(*own, |number| number.0);
    });
    kept_from.max(families.values().copied().min().unwrap())
}

/// The logs with records, by number.
fn logs(files: &MemoryFileSystem, shape: Shape) -> Vec<(u64, PathBuf, Vec<u8>)> {
    let names = files.children(shape.logs()).unwrap();
    let numbers = names.iter().filter_map(|name| Some((name.strip_suffix(".log")?.parse().unwrap(), name)));
    let with_bytes = numbers.map(|(number, name): (u64, &String)| {
        let path = shape.logs().join(name);
        let bytes = read_file(files, &path).unwrap();
        (number, path, bytes)
    });
    with_bytes.filter(|(.., bytes)| !bytes.is_empty()).collect()
}

#[test]
fn absolute_consistency_takes_no_needed_log_with_a_flipped_bit() {
    let seeds = std::env::var("FERROCK_DAMAGE_SEEDS").map_or(DEFAULT_SEEDS, |text| text.parse().unwrap());
    let (mut older, mut unneeded) = (0, 0);
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let shape = Shape { has_log_directory: random.one_in(2), keeps_logs: random.one_in(2) };
        let files = make(&mut random, shape);
        let logs = logs(&files, shape);
        let needed_from = first_needed(&files);
        let whole = files.crash_clone(CrashPolicy::KeepAll);
        let expected = contents(&shape.open(&whole, WalRecoveryMode::AbsoluteConsistency).unwrap());
        for (number, path, bytes) in &logs {
            // Headers and payloads end each other, and no record of these needs padding but at the end of a block.
            let byte = random.below(bytes.len() as u64) as usize;
            let is_padding = bytes[byte] == 0 && bytes.len() - byte > 7 && byte % (32 << 10) > (32 << 10) - 7;
            let left = files.crash_clone(CrashPolicy::KeepAll);
            let mut damaged = bytes.clone();
            damaged[byte] ^= 1 << random.below(8);
            write_file_synced(&left, path, &damaged).unwrap();
            let at = format!("seed {seed}: log {number} of {}, needed from {needed_from}, byte {byte}", logs.len());
            match shape.open(&left, WalRecoveryMode::AbsoluteConsistency) {
                Err(error) => assert!(error.is_corruption() && *number >= needed_from, "{at}: {error}"),
                Ok(db) => {
                    assert!(*number < needed_from || is_padding, "{at}: a needed log was taken");
                    assert_eq!(contents(&db), expected, "{at}");
                    unneeded += 1;
                }
            }
            older += usize::from(*number >= needed_from && logs.last().is_some_and(|(last, ..)| last > number));
        }
    }
    println!("{seeds} directories, {older} older logs damaged that were needed, {unneeded} logs that were not");
    assert!(older > 0);
}
