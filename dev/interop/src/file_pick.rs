//! Point lookups for an instruction counter: what choosing files costs in RocksDB and in Ferrock, on one database.
//!
//! The database is filled by RocksDB, in order and then at random, with files so small that five levels have some;
//! three small flushes come last, so that the upper ones are not empty. It is then opened read-only, scanned once so
//! that all of it is in the cache, and asked for random keys that it has.

use crate::engine::{Database, Engine, FAMILIES, IterHow, OpenMode, Outcome, Record, WriteHow};
use crate::random::Random;
use crate::settings::{FamilySettings, Settings};
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Arguments {
    /// The database. One that does not exist is filled first, by RocksDB.
    #[arg(long, value_name = "PATH")]
    db: PathBuf,
    /// Let Ferrock read it.
    #[arg(long)]
    ferrock: bool,
    /// Keys that are filled, in order.
    #[arg(long, default_value_t = 500_000)]
    keys: u64,
    /// Keys that are written again, at random.
    #[arg(long, default_value_t = 250_000)]
    overwrites: u64,
    /// Lookups.
    #[arg(long, default_value_t = 20_000)]
    gets: u64,
}

impl Arguments {
    pub fn is_for_ferrock(&self) -> bool {
        self.ferrock
    }

    /// True when there is a database to read.
    pub fn is_filled(&self) -> bool {
        self.db.join("CURRENT").exists()
    }

    pub fn fill(&self, rocksdb: &dyn Engine) -> Outcome<()> {
        fill(rocksdb, self)
    }

    /// True when every key was found.
    pub fn read(&self, engine: &dyn Engine) -> Outcome<bool> {
        read(engine, self)
    }
}

const FILLING: [(&str, &str); 8] = [
    ("compression", "kNoCompression"),
    ("level_compaction_dynamic_level_bytes", "false"),
    ("write_buffer_size", "262144"),
    ("target_file_size_base", "16384"),
    ("max_bytes_for_level_base", "65536"),
    ("max_bytes_for_level_multiplier", "10"),
    ("num_levels", "7"),
    ("level0_file_num_compaction_trigger", "4"),
];

fn texts(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// As db_bench makes them: the number first, then zeros.
fn key(number: u64) -> [u8; 20] {
    let mut key = [b'0'; 20];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

/// Fills the database by RocksDB and waits until no compaction is left to do.
fn fill(rocksdb: &dyn Engine, arguments: &Arguments) -> Outcome<()> {
    let db = texts(&[
        ("create_if_missing", "true"),
        ("create_missing_column_families", "true"),
        ("max_open_files", "-1"),
        ("max_background_jobs", "2"),
    ]);
    let table = texts(&[("filter_policy", "bloomfilter:10:false"), ("block_cache", "2G")]);
    let families = FAMILIES
        .map(|_| FamilySettings { family: texts(&FILLING), table: table.clone(), ..FamilySettings::default() })
        .to_vec();
    let mut database = rocksdb.open(&arguments.db, OpenMode::Create, &Settings { db, families })?;
    let mut random = Random::new(7);
    let put = |database: &mut dyn Database, random: &mut Random, number: u64| {
        let value = (0..13).flat_map(|_| random.next().to_le_bytes()).take(100).collect();
        let how = WriteHow { disable_wal: true, ..WriteHow::default() };
        database.write(&[Record::Put(0, key(number).to_vec(), value)], how)
    };
    for number in 0..arguments.keys {
        put(&mut *database, &mut random, number)?;
    }
    for _ in 0..arguments.overwrites {
        let number = random.next() % arguments.keys.max(1);
        put(&mut *database, &mut random, number)?;
    }
    database.flush(0)?;
    wait_for_compactions(&*database)?;
    // So that the upper levels are not left empty by the last compaction.
    for _ in 0..3 {
        for _ in 0..1000 {
            let number = random.next() % arguments.keys.max(1);
            put(&mut *database, &mut random, number)?;
        }
        database.flush(0)?;
    }
    wait_for_compactions(&*database)?;
    database.close()
}

fn wait_for_compactions(database: &dyn Database) -> Outcome<()> {
    let is_idle = |name: &str| Ok::<_, String>(database.property(0, name)?.trim() == "0");
    while !(is_idle("rocksdb.compaction-pending")? && is_idle("rocksdb.num-running-compactions")?) {
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

/// The phase that is counted.
#[inline(never)]
fn counted_gets(get: &dyn Fn(&[u8]) -> Outcome<bool>, keys: &[[u8; 20]]) -> Outcome<usize> {
    let mut found = 0;
    for key in keys {
        found += usize::from(get(key)?);
    }
    Ok(found)
}

fn read(engine: &dyn Engine, arguments: &Arguments) -> Outcome<bool> {
    let table = match arguments.ferrock {
        true => Vec::new(),
        false => texts(&[("filter_policy", "bloomfilter:10:false"), ("block_cache", "2G")]),
    };
    let families = vec![FamilySettings { table, ..FamilySettings::default() }];
    let database = engine.open(&arguments.db, OpenMode::ReadOnly, &Settings { db: Vec::new(), families })?;
    let mut rows = 0_u64;
    let mut cursor = database.iterate(0, &IterHow::default())?;
    cursor.seek_to_first();
    while cursor.valid() {
        rows += 1;
        cursor.next();
    }
    cursor.status()?;
    drop(cursor);
    let mut random = Random::new(11);
    let keys: Vec<_> = (0..arguments.gets).map(|_| key(random.next() % rows.max(1))).collect();
    let found = counted_gets(&|key| Ok(database.get(0, key, None)?.is_some()), &keys)?;
    println!("{rows} rows; {found} of {} lookups found their key", keys.len());
    println!("{}", database.property(0, "rocksdb.levelstats")?);
    Ok(found == keys.len())
}
