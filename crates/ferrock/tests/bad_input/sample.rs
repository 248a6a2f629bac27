//! A small database with every kind of file and every kind of entry, and what it holds.

use ferrock::options::{BottommostCompression, CompressionType, FilterPolicy, PrefixExtractor, WalRecoveryMode};
use ferrock::{ColumnFamilyOptions, Comparator, Db, DbOptions, WriteBatch, WriteOptions};
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub const DIRECTORY: &str = "/db";
pub const REVERSE: &str = "reverse";

/// What a family holds, in byte order.
pub type Contents = BTreeMap<Vec<u8>, Vec<u8>>;
/// What both families hold.
pub type State = [Contents; 2];

/// The files of a database, and what it must read as.
pub struct Sample {
    pub files: Vec<(String, Vec<u8>)>,
    /// What is in the tables.
    pub flushed: State,
    /// What is there after each batch of the log; the first is `flushed`.
    pub states: Vec<State>,
    /// Where the record of each batch ends in the log.
    pub record_ends: Vec<u64>,
}

pub fn families() -> Vec<(String, ColumnFamilyOptions)> {
    let mut first = ColumnFamilyOptions::default();
    first.write_buffer_size = 64 << 10;
    first.arena_block_size = 4 << 10;
    first.disable_auto_compactions = true;
    first.compression = CompressionType::Lz4;
    first.bottommost_compression = BottommostCompression(Some(CompressionType::Zstd));
    first.filter_policy = FilterPolicy::bloom(10.0);
    first.prefix_extractor = Some(PrefixExtractor::Fixed(3));
    first.merge_operator = Some(Arc::new(ferrock_base::merge::UInt64Add));
    first.table.block_size = 300;
    let mut second = first.clone();
    second.comparator = Comparator::built_in("rocksdb.ReverseBytewiseComparator").unwrap();
    second.compression = CompressionType::Snappy;
    second.bottommost_compression = BottommostCompression(Some(CompressionType::Zlib));
    second.prefix_extractor = None;
    vec![("default".to_owned(), first), (REVERSE.to_owned(), second)]
}

pub fn options(file_system: &MemoryFileSystem) -> DbOptions {
    let mut options = DbOptions::default();
    options.components.file_system = Some(Arc::new(file_system.clone()) as Arc<dyn FileSystem>);
    options.components.block_cache = Some(ferrock_table::TableBlockCache::new(ferrock_cache::CacheOptions {
        capacity_bytes: 64 << 10,
        shard_bits: Some(0),
        ..ferrock_cache::CacheOptions::default()
    }));
    options.max_file_opening_threads = 1;
    options.writable_file_max_buffer_size = 64 << 10;
    options.compaction_readahead_size = 16 << 10;
    options.allow_fallocate = false;
    options.wal_recovery_mode = WalRecoveryMode::PointInTimeRecovery;
    options
}

fn key(number: u32) -> Vec<u8> {
    format!("key{number:04}").into_bytes()
}

fn value(number: u32, generation: u32) -> Vec<u8> {
    format!("value {generation} of {number}; ").repeat(3).into_bytes()
}

fn put_all(db: &Db, state: &mut State, numbers: impl Iterator<Item = u32>, generation: u32) {
    for number in numbers {
        let mut batch = WriteBatch::new();
        for (id, contents) in state.iter_mut().enumerate() {
            batch.put_cf(id as u32, &key(number), &value(number, generation)).unwrap();
            contents.insert(key(number), value(number, generation));
        }
        db.write(batch, &WriteOptions::default()).unwrap();
    }
}

fn delete_range(db: &Db, state: &mut State, begin: u32, end: u32) {
    let mut batch = WriteBatch::new();
    batch.delete_range_cf(0, &key(begin), &key(end)).unwrap();
    // The second family's order is the reverse: its range holds its begin, which is the larger key.
    batch.delete_range_cf(1, &key(end), &key(begin)).unwrap();
    db.write(batch, &WriteOptions::default()).unwrap();
    state[0].retain(|found, _| !(key(begin)..key(end)).contains(found));
    state[1].retain(|found, _| *found <= key(begin) || *found > key(end));
}

fn flush_all(db: &Db) {
    for family in db.column_families() {
        db.flush_cf(&family, &ferrock::FlushOptions::default()).unwrap();
    }
}

/// Builds the database: compacted tables below flushed ones with range tombstones and merges, and a log on top.
pub fn build() -> Sample {
    let file_system = MemoryFileSystem::new();
    let mut options = options(&file_system);
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    let (db, _) = Db::open_cf(DIRECTORY, options, families()).unwrap();
    let mut state = State::default();
    put_all(&db, &mut state, 0..40, 1);
    flush_all(&db);
    for family in db.column_families() {
        db.compact_range_cf(&family, None, None, &ferrock::CompactRangeOptions::default()).unwrap();
    }
    put_all(&db, &mut state, (0..40).step_by(5), 2);
    delete_range(&db, &mut state, 11, 14);
    for id in [0u32, 1] {
        let mut batch = WriteBatch::new();
        for _ in 0..2 {
            batch.merge_cf(id, b"counter", &7u64.to_le_bytes()).unwrap();
        }
        batch.delete_cf(id, &key(21)).unwrap();
        db.write(batch, &WriteOptions::default()).unwrap();
        state[id as usize].insert(b"counter".to_vec(), 14u64.to_le_bytes().to_vec());
        state[id as usize].remove(&key(21));
    }
    flush_all(&db);
    let flushed = state.clone();
    let (states, record_ends) = write_log(&db, &file_system, state);
    let files = file_system.children(Path::new(DIRECTORY)).unwrap().into_iter();
    let read = |name: String| {
        let content = read_file(&file_system, &Path::new(DIRECTORY).join(&name)).unwrap();
        (name, content)
    };
    let files = files.filter(|name| !matches!(&name[..], "LOCK" | "LOG")).map(read).collect();
    Sample { files, flushed, states, record_ends }
}

fn write_log(db: &Db, file_system: &MemoryFileSystem, mut state: State) -> (Vec<State>, Vec<u64>) {
    let log = || {
        let names = file_system.children(Path::new(DIRECTORY)).unwrap();
        let name = names.into_iter().rfind(|name| name.ends_with(".log")).unwrap();
        file_system.file_size(&Path::new(DIRECTORY).join(name)).unwrap()
    };
    let mut states = vec![state.clone()];
    let mut record_ends = Vec::new();
    assert_eq!(log(), 0, "the log is fresh after the flush");
    for number in 0..12u32 {
        match number {
            5 => delete_range(db, &mut state, 30, 33),
            // Longer than a block of the log: three fragments.
            7 => {
                let mut batch = WriteBatch::new();
                let long = vec![b'v'; 40_000];
                batch.put(b"long", &long).unwrap();
                db.write(batch, &WriteOptions::default()).unwrap();
                state[0].insert(b"long".to_vec(), long);
            }
            _ => put_all(db, &mut state, 100 + number..101 + number, 3),
        }
        states.push(state.clone());
        record_ends.push(log());
    }
    (states, record_ends)
}

impl Sample {
    /// A file system that holds the database, with `name` replaced.
    pub fn with(&self, name: &str, content: &[u8]) -> MemoryFileSystem {
        let file_system = MemoryFileSystem::new();
        file_system.create_dir_all(Path::new(DIRECTORY)).unwrap();
        for (own, own_content) in &self.files {
            let content = if own == name { content } else { own_content };
            write_file_synced(&file_system, &Path::new(DIRECTORY).join(own), content).unwrap();
        }
        file_system
    }

    /// The files whose name passes.
    pub fn named(&self, pass: impl Fn(&str) -> bool) -> Vec<&(String, Vec<u8>)> {
        self.files.iter().filter(|(name, _)| pass(name)).collect()
    }

    /// The database without its log's records.
    pub fn newest(&self) -> &State {
        self.states.last().unwrap()
    }
}
