//! Drawn histories over drawn options. After each catch-up the secondary has the newest state of the writer, in all
//! families; between catch-ups it has the state of the last one, whatever the writer does to its files meanwhile. So
//! has a follower, before whose catch-ups the writer flushes.

use crate::states::{FAMILIES, Kind, State, assert_same, batch, descriptors, read};
use ferrock::options::{ColumnFamilyOptions, DbOptions, IngestExternalFileOptions};
use ferrock::{CompactRangeOptions, Db, FlushOptions, SstFileWriter, WriteOptions};
use ferrock_base::random::Random;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::sync::Arc;

const PATH: &str = "/db";
const OWN: &str = "/own";
const SEEDS: u64 = 24;
const STEPS: u64 = 160;

struct Player {
    seed: u64,
    random: Random,
    files: MemoryFileSystem,
    options: DbOptions,
    family: ColumnFamilyOptions,
    db: Option<Db>,
    number: u64,
    state: State,
    made: u64,
}

impl Player {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let files = MemoryFileSystem::new();
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.create_missing_column_families = true;
        options.components.file_system = Some(Arc::new(files.clone()));
        options.atomic_flush = random.one_in(3);
        options.avoid_flush_during_recovery = random.one_in(3);
        options.avoid_flush_during_shutdown = random.one_in(2);
        if random.one_in(3) {
            options.wal_dir = "/logs".to_owned();
        }
        if random.one_in(3) {
            options.max_manifest_file_size = 1;
        }
        if random.one_in(4) {
            options.wal_ttl_seconds = 1000;
        }
        if random.one_in(4) {
            options.max_open_files = 20;
        }
        let mut family = ColumnFamilyOptions::default();
        family.level0_file_num_compaction_trigger = 2;
        family.write_buffer_size = if random.one_in(2) { 64 << 10 } else { 1 << 20 };
        if random.one_in(3) {
            family.enable_blob_files = true;
            family.min_blob_size = 100;
            family.enable_blob_garbage_collection = random.one_in(2);
            family.blob_garbage_collection_age_cutoff = 1.0;
            family.enable_blob_direct_write = random.one_in(2);
            options.allow_concurrent_memtable_write = !family.enable_blob_direct_write;
        }
        let mut player =
            Self { seed, random, files, options, family, db: None, number: 0, state: State::new(), made: 0 };
        player.reopen();
        player
    }

    fn db(&self) -> &Db {
        self.db.as_ref().unwrap()
    }

    fn reopen(&mut self) {
        if let Some(db) = self.db.take() {
            if self.random.one_in(2) { db.close().unwrap() } else { drop(db) }
        }
        let mut names: Vec<&str> = FAMILIES.to_vec();
        names.retain(|name| self.state.is_empty() || self.state.contains_key(*name));
        let extra: Vec<String> = self.state.keys().filter(|name| !names.contains(&&name[..])).cloned().collect();
        names.extend(extra.iter().map(String::as_str));
        let (db, _) = Db::open_cf(PATH, self.options.clone(), descriptors(&self.family, &names)).unwrap();
        for name in names {
            self.state.entry(name.to_owned()).or_default();
        }
        self.db = Some(db);
    }

    fn secondary(&self, kind: Kind) -> Db {
        kind.publish(self.db());
        let mut options = self.options.clone();
        options.create_if_missing = false;
        kind.open(PATH, OWN, options, None).unwrap().0
    }

    fn write(&mut self) {
        let families: Vec<(String, u32)> =
            self.db().column_families().iter().map(|family| (family.name().to_owned(), family.id())).collect();
        self.number += 1;
        let batch = batch(self.seed, self.number, &families, &mut self.state);
        let sync = self.random.one_in(5);
        self.db().write(batch, &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
    }

    /// A table that overwrites what is there; without a batch, so the number stays.
    fn ingest(&mut self) {
        self.made += 1;
        let path = format!("/made{}.sst", self.made);
        let mut options = DbOptions::default();
        options.components.file_system = Some(Arc::new(self.files.clone()));
        let mut writer = SstFileWriter::new(&options, ColumnFamilyOptions::default());
        writer.open(&path).unwrap();
        let content = self.state.get_mut("default").unwrap();
        for number in 0..5 {
            let (key, value) = (format!("key{:03}", number * 7), format!("ingested {}", self.made));
            writer.put(key.as_bytes(), value.as_bytes()).unwrap();
            content.insert(key.into_bytes(), value.into_bytes());
        }
        writer.finish().unwrap();
        self.db().ingest_external_file(&[&path], &IngestExternalFileOptions::default()).unwrap();
    }

    fn step(&mut self) {
        match self.random.below(24) {
            0 => self.db().flush().unwrap(),
            1 => {
                let families = self.db().column_families();
                let family = &families[self.random.below(families.len() as u64) as usize];
                self.db().flush_cf(family, &FlushOptions::default()).unwrap();
            }
            2 => {
                let families = self.db().column_families();
                let family = &families[self.random.below(families.len() as u64) as usize];
                self.db().compact_range_cf(family, None, None, &CompactRangeOptions::default()).unwrap();
            }
            3 => {
                self.made += 1;
                let name = format!("made{}", self.made);
                self.db().create_column_family(&name, self.family.clone()).unwrap();
                self.state.insert(name, Default::default());
            }
            4 => {
                let last = self.db().column_families().into_iter().skip(FAMILIES.len()).last();
                if let Some(family) = last {
                    self.db().drop_column_family(&family).unwrap();
                    self.state.remove(family.name());
                }
            }
            5 => self.ingest(),
            6 if self.random.one_in(2) => self.reopen(),
            _ => self.write(),
        }
    }
}

fn play(seed: u64, kind: Kind) {
    let mut player = Player::new(seed);
    let mut secondary = player.secondary(kind);
    let mut seen = player.state.clone();
    for step in 0..STEPS {
        player.step();
        let what = format!("seed {seed}, step {step}");
        match player.random.below(12) {
            0..=3 => {
                kind.publish(player.db());
                secondary.try_catch_up_with_primary().unwrap_or_else(|error| panic!("{what}: {error}"));
                seen = player.state.clone();
                assert!(secondary.latest_sequence_number() <= player.db().latest_sequence_number(), "{what}");
            }
            4 if player.random.one_in(4) => {
                secondary.close().unwrap();
                secondary = player.secondary(kind);
                seen = player.state.clone();
            }
            _ => {}
        }
        let state = read(&secondary).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_same(&state, &seen, &what);
        assert_eq!(state.keys().collect::<Vec<_>>(), seen.keys().collect::<Vec<_>>(), "{what}");
    }
    assert!(player.files.children(std::path::Path::new(OWN)).unwrap().iter().any(|name| name == "LOG"));
}

#[test]
fn a_secondary_has_the_newest_state_after_each_catch_up_and_keeps_it_until_the_next() {
    for seed in 0..SEEDS {
        play(seed, Kind::Secondary);
    }
}

#[test]
fn a_follower_has_what_is_flushed_after_each_catch_up_and_keeps_it_until_the_next() {
    for seed in SEEDS..2 * SEEDS {
        play(seed, Kind::Follower);
    }
}
