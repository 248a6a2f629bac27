//! Collectors of table properties: what they see, what is stored, and what their failures do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;

use common::{in_memory, open_default, options_on};
use ferrock::options::{
    CollectedEntry, CollectorContext, PlainTableOptions, PrefixExtractor, TableFactory, TablePropertiesCollector,
    TablePropertiesCollectorFactory, UserCollectedProperties,
};
use ferrock::{ColumnFamilyOptions, Db, Error, FlushOptions, Result, WriteOptions};
use ferrock_base::ValueType;
use ferrock_base::random::Random;
use ferrock_vfs::{MemoryFileSystem, read_file};
use std::sync::{Arc, Mutex};

/// What the collectors of a factory do wrong or ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Habit {
    #[default]
    Counts,
    FailsAtEntry(u64),
    FailsAtEnd,
    TakesAReservedName,
    WantsCompaction,
    IsNone,
}

struct Factory {
    name: &'static str,
    habit: Habit,
    contexts: Arc<Mutex<Vec<CollectorContext>>>,
}

struct Counter {
    name: &'static str,
    habit: Habit,
    kinds: [u64; 6],
    bytes: u64,
    blocks: u64,
    block_bytes: u64,
    samples: u64,
    newest: u64,
    last: Vec<u8>,
    last_size: u64,
}

impl TablePropertiesCollectorFactory for Factory {
    fn name(&self) -> &str {
        self.name
    }
    fn create(&self, context: &CollectorContext) -> Option<Box<dyn TablePropertiesCollector>> {
        self.contexts.lock().unwrap().push(*context);
        (self.habit != Habit::IsNone).then(|| -> Box<dyn TablePropertiesCollector> {
            Box::new(Counter {
                name: self.name,
                habit: self.habit,
                kinds: [0; 6],
                bytes: 0,
                blocks: 0,
                block_bytes: 0,
                samples: 0,
                newest: 0,
                last: Vec::new(),
                last_size: 0,
            })
        })
    }
}

impl TablePropertiesCollector for Counter {
    fn add(&mut self, entry: &CollectedEntry<'_>) -> Result<()> {
        let kind = match entry.value_type {
            ValueType::Value => 0,
            ValueType::Deletion => 1,
            ValueType::SingleDeletion => 2,
            ValueType::Merge => 3,
            ValueType::RangeDeletion => 4,
            _ => 5,
        };
        self.kinds[kind] += 1;
        if kind != 4 {
            assert!(self.last.as_slice() <= entry.user_key, "in the order of the file");
            self.last = entry.user_key.to_vec();
        }
        assert!(self.last_size <= entry.file_size);
        self.last_size = entry.file_size;
        self.bytes += (entry.user_key.len() + entry.value.len()) as u64;
        self.newest = self.newest.max(entry.sequence.0);
        match self.habit {
            Habit::FailsAtEntry(number) if self.kinds.iter().sum::<u64>() == number => {
                Err(Error::invalid_argument("an entry that it does not like"))
            }
            _ => Ok(()),
        }
    }
    fn add_block(&mut self, uncompressed_bytes: u64) {
        self.blocks += 1;
        self.block_bytes += uncompressed_bytes;
    }
    fn add_sample(&mut self, fast_bytes: u64, slow_bytes: u64) {
        assert!(fast_bytes > 0 && slow_bytes > 0 && slow_bytes <= self.block_bytes);
        self.samples += 1;
    }
    fn finish(&mut self, properties: &mut UserCollectedProperties) -> Result<()> {
        let numbers =
            [&self.kinds[..], &[self.bytes, self.blocks, self.block_bytes, self.newest, self.samples]].concat();
        let text = numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        properties.insert(self.name.as_bytes().to_vec(), text.into_bytes());
        match self.habit {
            Habit::FailsAtEnd => Err(Error::invalid_argument("an end that it does not like")),
            Habit::TakesAReservedName => {
                properties.insert(b"rocksdb.num.entries".to_vec(), b"1".to_vec());
                Ok(())
            }
            _ => Ok(()),
        }
    }
    fn needs_compaction(&self) -> bool {
        self.habit == Habit::WantsCompaction
    }
}

fn factory(name: &'static str, habit: Habit) -> Arc<Factory> {
    Arc::new(Factory { name, habit, contexts: Arc::default() })
}

fn family(factories: &[&Arc<Factory>]) -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    for each in factories {
        family.table_properties_collector_factories.push(Arc::clone(each) as _);
    }
    family
}

/// The numbers that a table has of a collector.
fn numbers(collected: &UserCollectedProperties, name: &str) -> Option<Vec<u64>> {
    let text = String::from_utf8(collected.get(name.as_bytes())?.clone()).unwrap();
    Some(text.split(' ').map(|number| number.parse().unwrap()).collect())
}

fn settle(db: &Db) {
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
}

/// All blocks are drawn, or none.
fn sample_for_compression(seed: u64) -> u64 {
    seed % 2
}

/// Random histories: each table says of its own entries what its other properties say, whoever wrote it.
#[test]
fn collectors_see_what_is_in_a_table() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut options = ColumnFamilyOptions::default();
        options.table_properties_collector_factories = vec![factory("test.counter", Habit::Counts)];
        options.compression = ferrock::options::CompressionType::NoCompression;
        options.sample_for_compression = sample_for_compression(seed);
        let is_plain = seed % 3 == 1;
        if is_plain {
            options.table_factory = TableFactory::Plain(Arc::new(PlainTableOptions::default()));
            options.prefix_extractor = PrefixExtractor::built_in("fixed:1").unwrap();
        }
        options.enable_blob_files = seed % 4 == 2;
        options.min_blob_size = 30;
        options.level0_file_num_compaction_trigger = 2;
        options.target_file_size_base = 4000;
        options.merge_operator = ferrock_base::merge::built_in("stringappend").unwrap();
        let mut db_options = in_memory();
        db_options.max_subcompactions = 1 + random.below(3) as u32;
        let db = open_default(db_options, options);
        for _ in 0..random.below(800) + 1 {
            let key = format!("{:03}", random.below(200)).into_bytes();
            match random.below(20) {
                0..10 => db.put(&key, &vec![b'v'; random.below(60) as usize]).unwrap(),
                10..12 => db.delete(&key).unwrap(),
                12 => db.single_delete(&[&key[..], b"once"].concat()).unwrap(),
                13..16 => db.merge(&key, b"operand").unwrap(),
                16 if !is_plain => db.delete_range(&key, &[&key[..], b"~"].concat()).unwrap(),
                17 => db.flush().unwrap(),
                18 if random.below(10) == 0 => db.compact_range(None, None).unwrap(),
                _ => {}
            }
        }
        settle(&db);
        for file in db.live_files() {
            let properties = db.table_properties(&file).unwrap();
            let seen = numbers(&properties.user_collected, "test.counter").unwrap();
            let total: u64 = seen[..6].iter().sum();
            assert_eq!(total, properties.num_entries, "seed {seed}: {seen:?}");
            assert_eq!(seen[1] + seen[2], properties.num_point_deletions(), "seed {seed}: {seen:?}");
            assert_eq!((seen[3], seen[4]), (properties.num_merge_operands, properties.num_range_deletions));
            // Keys are counted with their 8 bytes of number and kind.
            let raw = properties.raw_key_size + properties.raw_value_size;
            assert_eq!(seen[6] + 8 * total, raw, "seed {seed}: {seen:?}");
            assert_eq!(seen[9], file.largest_sequence.0, "seed {seed}: {seen:?}");
            // Nothing is compressed; each block has a trailer of 5 bytes.
            let data_size = if is_plain { 0 } else { properties.data_size };
            let blocks = if is_plain { 0 } else { properties.num_data_blocks };
            assert_eq!((seen[7], seen[8] + 5 * seen[7]), (blocks, data_size), "seed {seed}");
            assert_eq!(seen[10], blocks * sample_for_compression(seed), "seed {seed}");
            let names = if is_plain { "" } else { "[test.counter]" };
            assert_eq!(properties.property_collectors_names, names);
        }
    }
}

#[test]
fn a_factory_is_told_which_table_it_is() {
    let told = factory("test.told", Habit::Counts);
    let mut options = family(&[&told]);
    options.num_levels = 4;
    let db = open_default(in_memory(), options.clone());
    let other = db.create_column_family("other", options).unwrap();
    db.put(b"a", b"1").unwrap();
    settle(&db);
    db.put(b"a", b"2").unwrap();
    db.compact_range(None, None).unwrap();
    db.put_cf(&other, b"a", b"1", &WriteOptions::default()).unwrap();
    db.flush_cf(&other, &FlushOptions::default()).unwrap();
    let context = |column_family_id, level_at_creation| CollectorContext {
        column_family_id,
        level_at_creation,
        num_levels: 4,
        last_level_through: None,
    };
    let told = told.contexts.lock().unwrap().clone();
    assert_eq!(told, [context(0, 0), context(0, 0), context(0, 3), context(1, 0)]);
}

#[test]
fn a_collector_that_fails_takes_only_its_own_properties_along() {
    let habits = [
        factory("test.entry", Habit::FailsAtEntry(2)),
        factory("test.end", Habit::FailsAtEnd),
        factory("test.reserved", Habit::TakesAReservedName),
        factory("test.none", Habit::IsNone),
        factory("test.good", Habit::Counts),
    ];
    let files = MemoryFileSystem::new();
    let db = open_default(options_on(Arc::new(files.clone())), family(&habits.each_ref()));
    for key in [b"a", b"b", b"c"] {
        db.put(key, b"value").unwrap();
    }
    settle(&db);
    let [file] = &db.live_files()[..] else { panic!() };
    let properties = db.table_properties(file).unwrap();
    let own = |name: &&Vec<u8>| name.starts_with(b"test.");
    let names: Vec<_> = properties.user_collected.keys().filter(own).collect();
    assert_eq!(names, [b"test.good"]);
    assert_eq!(properties.num_entries, 3, "the name was taken");
    assert_eq!(properties.property_collectors_names, "[test.entry,test.end,test.reserved,test.none,test.good]");
    let log = String::from_utf8(read_file(&files, "/db/LOG".as_ref()).unwrap()).unwrap();
    for name in ["test.entry", "test.end", "test.reserved"] {
        assert_eq!(log.matches(&format!("collector {name} failed")).count(), 1, "{name}\n{log}");
    }
    assert!(!log.contains("collector test.good") && log.contains("Options.table_properties_collectors: test.entry;"));
    assert_eq!(db.get(b"b").unwrap().unwrap().to_vec(), b"value");
}

#[test]
fn a_collector_asks_for_a_compaction() {
    for (habit, expected) in [(Habit::Counts, 0), (Habit::WantsCompaction, 6)] {
        let db = open_default(in_memory(), family(&[&factory("test.wants", habit)]));
        db.put(b"a", b"1").unwrap();
        settle(&db);
        let levels: Vec<_> = db.live_files().iter().map(|file| file.level).collect();
        assert_eq!(levels, [expected], "{habit:?}");
    }
}
