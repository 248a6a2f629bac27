//! Random histories against sorted maps, compared at every step.

use crate::common::{Contents, options_on, rows_backward, rows_of};
use crate::rig::{KEYS, TestFile, key, merge};
use ferrock::options::{CompactionStyle, CompressionType, FilterPolicy};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ErrorKind, FlushOptions,
    IngestExternalFileArg, IngestExternalFileOptions, Iter, ReadOptions, Snapshot, WriteOptions,
};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_format::file_name::{self, FileKind};
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FAMILIES: [&str; 2] = ["default", "other"];
const STEPS: usize = 220;

/// What was seen, so that the test knows that it has seen something.
#[derive(Debug, Default)]
struct Seen {
    ingested: usize,
    with_number: usize,
    without_number: usize,
    below_level_0: usize,
    refused: usize,
    of_several_files: usize,
    of_both_families: usize,
}

struct History {
    random: Random,
    file_system: MemoryFileSystem,
    db_options: DbOptions,
    family_options: ColumnFamilyOptions,
    db: Option<(Db, Vec<ColumnFamily>)>,
    models: [Contents; 2],
    snapshots: Vec<(Snapshot, [Contents; 2])>,
    iters: Vec<(Iter, Contents)>,
    next_name: u64,
}

fn family_options(random: &mut Random) -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.merge_operator = Some(Arc::new(StringAppend::default()));
    options.write_buffer_size = if random.one_in(2) { 64 << 10 } else { 4 << 20 };
    options.level0_file_num_compaction_trigger = 2 + i32::try_from(random.below(4)).unwrap();
    options.disable_auto_compactions = random.one_in(3);
    options.compaction_style = match random.below(8) {
        0 | 1 => CompactionStyle::Universal,
        2 => CompactionStyle::Fifo,
        _ => CompactionStyle::Level,
    };
    options.num_levels = match options.compaction_style {
        CompactionStyle::Fifo => 1,
        CompactionStyle::Universal => 1 + i32::try_from(random.below(5)).unwrap(),
        _ => 2 + i32::try_from(random.below(6)).unwrap(),
    };
    options.level_compaction_dynamic_level_bytes = random.one_in(2);
    options.max_bytes_for_level_base = 1 << 10;
    options.target_file_size_base = 512;
    options.table.block_size = 256;
    options.filter_policy = if random.one_in(2) { FilterPolicy::bloom(10.0) } else { FilterPolicy::None };
    options.compression = CompressionType::NoCompression;
    options.enable_blob_files = random.one_in(6);
    options
}

impl History {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let file_system = MemoryFileSystem::new();
        file_system.create_dir_all(Path::new("/outside")).unwrap();
        let mut db_options = options_on(Arc::new(file_system.clone()));
        db_options.max_open_files = if random.one_in(2) { -1 } else { 100 };
        db_options.atomic_flush = random.one_in(5);
        let family_options = family_options(&mut random);
        if family_options.compaction_style == CompactionStyle::Fifo {
            db_options.max_open_files = -1;
        }
        let mut history = Self {
            random,
            file_system,
            db_options,
            family_options,
            db: None,
            models: Default::default(),
            snapshots: Vec::new(),
            iters: Vec::new(),
            next_name: 0,
        };
        history.open();
        history
    }

    fn open(&mut self) {
        let families = FAMILIES.map(|name| (name.to_owned(), self.family_options.clone())).to_vec();
        self.db = Some(Db::open_cf("/db", self.db_options.clone(), families).unwrap());
    }

    fn db(&self) -> &Db {
        &self.db.as_ref().unwrap().0
    }

    fn family(&self, index: usize) -> &ColumnFamily {
        &self.db.as_ref().unwrap().1[index]
    }

    fn step(&mut self, seen: &mut Seen) {
        let index = usize::from(self.random.one_in(3));
        let (number, options) = (self.random.below(KEYS), WriteOptions::default());
        self.next_name += 1;
        let value = format!("w{}", self.next_name).into_bytes();
        let family = self.family(index).clone();
        match self.random.below(28) {
            0..=7 => {
                self.db().put_cf(&family, &key(number), &value, &options).unwrap();
                self.models[index].insert(key(number), value);
            }
            8 | 9 => {
                self.db().delete_cf(&family, &key(number), &options).unwrap();
                self.models[index].remove(&key(number));
            }
            10 | 11 => {
                self.db().merge_cf(&family, &key(number), &value, &options).unwrap();
                merge(&mut self.models[index], &key(number), &value);
            }
            12 => {
                let end = key(number + self.random.below(12));
                self.db().delete_range_cf(&family, &key(number), &end, &options).unwrap();
                self.models[index].retain(|kept, _| *kept < key(number) || *kept >= end);
            }
            13 | 14 => self.db().flush_cf(&family, &FlushOptions::default()).unwrap(),
            15 => {
                let compact = CompactRangeOptions { change_level: self.random.one_in(4), ..Default::default() };
                let result = self.db().compact_range_cf(&family, None, None, &compact);
                assert!(result.is_ok() || compact.change_level, "{result:?}");
            }
            16 => self.snapshots.push((self.db().snapshot(), self.models.clone())),
            17 => drop(self.snapshots.pop()),
            18 => self.iters.push((self.db().iter_cf(&family, &ReadOptions::default()), self.models[index].clone())),
            19 => {
                self.snapshots.clear();
                self.iters.clear();
                self.db.take().unwrap().0.close().unwrap();
                self.open();
            }
            _ => self.ingest(seen),
        }
    }

    fn options(&mut self) -> IngestExternalFileOptions {
        let random = &mut self.random;
        let (move_files, link_files) = match random.below(4) {
            0 => (true, false),
            1 => (false, true),
            _ => (false, false),
        };
        IngestExternalFileOptions {
            move_files,
            link_files,
            failed_move_fall_back_to_copy: random.one_in(2),
            snapshot_consistency: !random.one_in(4),
            allow_global_seqno: !random.one_in(5),
            allow_blocking_flush: !random.one_in(5),
            write_global_seqno: random.one_in(4),
            verify_checksums_before_ingest: random.one_in(3),
            fail_if_not_bottommost_level: random.one_in(10),
            fill_cache: random.one_in(2),
            prefetch_lmax_index_and_filter_blocks: random.one_in(2),
            file_opening_threads: 1 + i32::try_from(random.below(3)).unwrap(),
            ..IngestExternalFileOptions::default()
        }
    }

    fn ingest(&mut self, seen: &mut Seen) {
        let of_both = self.random.one_in(4);
        let first = usize::from(self.random.one_in(3));
        let indexes: Vec<usize> = if of_both { vec![first, 1 - first] } else { vec![first] };
        let options = self.options();
        let mut args = Vec::new();
        let mut after = self.models.clone();
        let before = self.live_files();
        for index in indexes {
            let mut files = Vec::new();
            for _ in 0..=self.random.below(3) {
                self.next_name += 1;
                let path = PathBuf::from(format!("/outside/{}.sst", self.next_name));
                let file = TestFile::random(&mut self.random, &format!("f{}", self.next_name));
                file.write(&path, &self.db_options, &self.family_options);
                file.apply(&mut after[index]);
                files.push(path);
            }
            let (family, options) = (self.family(index).clone(), options.clone());
            args.push(IngestExternalFileArg { family, files, options, file_checksums: Vec::new() });
        }
        let given: Vec<PathBuf> = args.iter().flat_map(|arg| arg.files.clone()).collect();
        let result = self.db().ingest_external_files(&args);
        for path in &given {
            let is_there = self.file_system.exists(path).unwrap();
            assert_eq!(is_there, result.is_err() || !options.move_files, "{}", path.display());
        }
        match result {
            Ok(()) => {
                seen.ingested += given.len();
                seen.of_several_files += usize::from(given.len() > 1);
                seen.of_both_families += usize::from(args.len() > 1);
                if !options.snapshot_consistency {
                    // They may see the files.
                    self.snapshots.clear();
                }
                self.models = after;
                for file in self.db().live_files().iter().filter(|file| !before.contains(&file.number.0)) {
                    seen.below_level_0 += usize::from(file.level > 0);
                    match file.largest_sequence.0 {
                        0 => seen.without_number += 1,
                        _ => seen.with_number += 1,
                    }
                }
            }
            Err(error) => {
                seen.refused += 1;
                let may_fail = match error.kind() {
                    ErrorKind::InvalidArgument => !options.allow_global_seqno || !options.allow_blocking_flush,
                    ErrorKind::TryAgain => options.fail_if_not_bottommost_level,
                    _ => false,
                };
                assert!(may_fail, "{error} with {options:?}");
            }
        }
    }

    fn live_files(&self) -> BTreeSet<u64> {
        self.db().live_files().iter().map(|file| file.number.0).collect()
    }

    fn check(&mut self) {
        for index in 0..FAMILIES.len() {
            let (family, model) = (self.family(index).clone(), &self.models[index]);
            let now = ReadOptions::default();
            assert_eq!(&rows_of(self.db().iter_cf(&family, &now)), model, "{}", FAMILIES[index]);
            let backward = rows_backward(self.db().iter_cf(&family, &now));
            assert!(backward.iter().map(|(key, value)| (key, value)).eq(model), "{} backward", FAMILIES[index]);
            for number in (0..KEYS).step_by(7) {
                let found = self.db().get_cf(&family, &now, &key(number)).unwrap();
                assert_eq!(found.as_deref(), model.get(&key(number)).map(Vec::as_slice), "{number}");
            }
            for (snapshot, models) in &self.snapshots {
                let then = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
                let found = rows_of(self.db().iter_cf(&family, &then));
                assert_eq!(found, models[index], "{} at {}", FAMILIES[index], snapshot.sequence());
            }
        }
    }

    /// What iterators show that were made before; then every table is one that the tree has.
    fn end(mut self) {
        for (mut iter, model) in self.iters.drain(..) {
            iter.seek_to_first();
            let mut found = Contents::new();
            while iter.valid() {
                found.insert(iter.key().to_vec(), iter.value().to_vec());
                iter.next();
            }
            iter.status().unwrap();
            assert_eq!(found, model, "an iterator that was made before");
        }
        self.snapshots.clear();
        self.db().verify_checksum().unwrap();
        self.db.take().unwrap().0.close().unwrap();
        // Nothing is written or removed while the directory is listed.
        self.family_options.disable_auto_compactions = true;
        self.open();
        self.check();
        let live = self.live_files();
        let names = self.file_system.children(Path::new("/db")).unwrap();
        let tables = names.iter().filter_map(|name| file_name::parse(name));
        let tables: BTreeSet<u64> =
            tables.filter(|name| name.kind == FileKind::Table).map(|name| name.number.0).collect();
        let strays: Vec<&u64> = tables.difference(&live).collect();
        assert!(strays.is_empty(), "tables that the tree does not have: {strays:?}");
    }
}

#[test]
fn random_histories_are_those_of_sorted_maps() {
    let wanted: u64 = std::env::var("FERROCK_INGESTION_SEEDS").map_or(24, |text| text.parse().unwrap());
    let mut seen = Seen::default();
    for seed in 0..wanted {
        let run = std::panic::AssertUnwindSafe(|| {
            let mut history = History::new(seed);
            for _ in 0..STEPS {
                history.step(&mut seen);
                history.check();
            }
            history.end();
        });
        if let Err(panic) = std::panic::catch_unwind(run) {
            println!("seed {seed} failed");
            std::panic::resume_unwind(panic);
        }
    }
    println!("{seen:?}");
    assert!(seen.ingested > 500 && seen.refused > 50 && seen.with_number > 100, "{seen:?}");
    assert!(seen.without_number > 50 && seen.below_level_0 > 100, "{seen:?}");
    assert!(seen.of_several_files > 100 && seen.of_both_families > 50, "{seen:?}");
}
