//! Every kind of memtable answers like a skip list: the same writes and reads on a database of each kind, in memtables
//! that are written, full, recovered and flushed. One iterator goes on through the reads of a round, with and without a
//! prefix, in every combination of `prefix_same_as_start`, `total_order_seek` and `auto_prefix_mode`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::options_on;
use ferrock::options::{MemTableFactory, PrefixExtractor};
use ferrock::{ColumnFamilyOptions, Db, Iter, ReadOptions, WriteBatch, WriteOptions};
use ferrock_base::Comparator;
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_vfs::MemoryFileSystem;
use std::sync::Arc;

fn factories() -> [MemTableFactory; 6] {
    let linked = |bucket_count, threshold| MemTableFactory::HashLinkList {
        bucket_count,
        threshold,
        huge_page_size: 0,
        logging_threshold: 4096,
        log_when_flash: true,
    };
    [
        MemTableFactory::default(),
        MemTableFactory::Vector { count: 0 },
        MemTableFactory::hash_skip_list(3),
        MemTableFactory::HashSkipList { bucket_count: 1000, skiplist_height: 1, branching_factor: 9 },
        linked(2, 10),
        linked(1, u32::MAX),
    ]
}

struct Database {
    files: MemoryFileSystem,
    family: ColumnFamilyOptions,
    db: Option<Db>,
}

impl Database {
    fn new(seed: u64, factory: MemTableFactory) -> Self {
        let mut family = ColumnFamilyOptions::default();
        family.memtable_factory = factory;
        family.merge_operator = Some(Arc::new(StringAppend::default()));
        family.write_buffer_size = 64 << 10;
        family.arena_block_size = 4 << 10;
        family.max_write_buffer_number = 4;
        family.disable_auto_compactions = true;
        family.min_write_buffer_number_to_merge = 3;
        family.inplace_update_support = seed % 4 == 1;
        if seed % 3 == 1 {
            family.comparator = Comparator::ReverseBytewise;
        }
        if seed % 5 < 2 {
            family.memtable_prefix_bloom_size_ratio = 0.1;
            family.memtable_whole_key_filtering = seed.is_multiple_of(5);
        }
        family.prefix_extractor = Some(match seed % 7 {
            0 => PrefixExtractor::Capped(2),
            1 => PrefixExtractor::Noop,
            2 => PrefixExtractor::Fixed(1),
            _ => PrefixExtractor::Fixed(2),
        });
        let mut database = Self { files: MemoryFileSystem::new(), family, db: None };
        database.open();
        database
    }

    fn open(&mut self) {
        self.db = None;
        let mut options = options_on(Arc::new(self.files.clone()));
        options.allow_concurrent_memtable_write = false;
        options.avoid_flush_during_recovery = true;
        let families = vec![("default".to_owned(), self.family.clone())];
        self.db = Some(Db::open_cf("/db", options, families).unwrap().0);
    }

    fn db(&self) -> &Db {
        self.db.as_ref().unwrap()
    }
}

/// Keys of no bytes to five, few of each prefix and some without one.
fn key(random: &mut Random) -> Vec<u8> {
    let length = random.below(6) as usize;
    (0..length).map(|place| b'a' + random.below(if place < 2 { 3 } else { 6 }) as u8).collect()
}

fn write(databases: &[Database], random: &mut Random) {
    let (key, other, value) =
        (key(random), key(random), vec![random.below(26) as u8 + b'A'; random.below(600) as usize]);
    let kind = random.below(12);
    for database in databases {
        let mut batch = WriteBatch::new();
        match kind {
            0 => batch.delete(&key).unwrap(),
            1 => batch.merge(&key, &value).unwrap(),
            2 if database.family.comparator.compare(&key, &other).is_lt() => batch.delete_range(&key, &other).unwrap(),
            _ => batch.put(&key, &value).unwrap(),
        }
        database.db().write(batch, &WriteOptions::default()).unwrap();
    }
}

fn show(iter: &Iter) -> Option<(Vec<u8>, Vec<u8>)> {
    iter.status().unwrap();
    iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec()))
}

/// Reads with one iterator for each database.
fn walk(databases: &[Database], random: &mut Random, seed: u64) {
    let (same, total, bounds) = (random.below(2) == 0, random.below(2) == 0, random.below(4));
    let auto = random.below(2) == 0;
    let (lower, upper) = (key(random), key(random));
    let options = ReadOptions {
        prefix_same_as_start: same,
        total_order_seek: total,
        auto_prefix_mode: auto,
        lower_bound: (bounds == 1).then_some(lower),
        upper_bound: (bounds == 2).then_some(upper),
        ..ReadOptions::default()
    };
    let mut iters: Vec<Iter> = databases.iter().map(|database| database.db().iter(&options)).collect();
    for step in 0..random.below(40) {
        let (kind, target) = (random.below(8), key(random));
        for iter in &mut iters {
            match kind {
                0 => iter.seek_to_first(),
                1 => iter.seek_to_last(),
                2 | 3 => iter.seek(&target),
                4 => iter.seek_for_prev(&target),
                5 if iter.valid() => iter.prev(),
                _ if iter.valid() => iter.next(),
                _ => {}
            }
        }
        let expected = show(&iters[0]);
        for (iter, database) in iters.iter().zip(databases).skip(1) {
            let factory = &database.family.memtable_factory;
            assert_eq!(
                show(iter),
                expected,
                "seed {seed}, step {step} ({kind} {target:?}) of {factory:?}, {options:?}"
            );
        }
    }
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let mut databases: Vec<Database> = factories().into_iter().map(|factory| Database::new(seed, factory)).collect();
    for _ in 0..60 {
        (0..random.below(60)).for_each(|_| write(&databases, &mut random));
        match random.below(20) {
            0 => databases.iter().for_each(|database| database.db().flush().unwrap()),
            1 => databases.iter_mut().for_each(Database::open),
            _ => {}
        }
        walk(&databases, &mut random, seed);
        for _ in 0..10 {
            let key = key(&mut random);
            let expected = databases[0].db().get(&key).unwrap();
            for database in &databases[1..] {
                let found = database.db().get(&key).unwrap();
                let factory = &database.family.memtable_factory;
                assert_eq!(found.as_deref(), expected.as_deref(), "seed {seed}: {key:?} in {factory:?}");
            }
        }
    }
}

#[test]
fn every_kind_answers_like_a_skip_list() {
    let rounds = std::env::var("FERROCK_MEMTABLE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(42);
    (0..rounds).for_each(run);
}
