//! Work whose instructions are counted: `cargo xtask instructions` runs this under callgrind, each operation with two
//! counts, so that in the difference opening, loading and closing cancel out.
//!
//! ```text
//! instructions DIRECTORY load COUNT         a database in one level; in a directory beside it so many keys in four
//!                                           tables that overlap, for `compaction`
//! instructions DIRECTORY OPERATION COUNT    put get miss seek next multi_get compaction
//! ```
//!
//! One thread, no background work, everything in the block cache, not compressed, keys of 16 bytes and values of 100 by
//! a fixed seed.
#![allow(clippy::disallowed_methods, reason = "a program of its own")]

use ferrock::options::{BottommostLevelCompaction, apply_text};
use ferrock::{ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ReadOptions};
use ferrock_base::random::Random;
use ferrock_bench::permutation::Permutation;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;

/// Keys of the database that is read.
const KEYS: u64 = 100_000;
const BATCH: usize = 32;
const OPTIONS: &str = "create_if_missing=true;compression=kNoCompression;write_buffer_size=268435456;\
                       disable_auto_compactions=true;max_subcompactions=1;\
                       block_based_table_factory={block_cache=268435456;filter_policy=bloomfilter:10:false}";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn open(directory: &Path) -> Outcome<Db> {
    let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    apply_text(&mut db, &mut family, OPTIONS)?;
    Ok(Db::open_cf(directory, db, vec![("default".to_owned(), family)])?.0)
}

/// As those of `db_bench`. The even numbers are written, the odd ones between are not.
fn key(number: u64) -> [u8; 16] {
    let mut key = [b'0'; 16];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

fn put(db: &Db, number: u64) -> Outcome<()> {
    let mut value = [b'v'; 100];
    value[..8].copy_from_slice(&number.to_le_bytes());
    Ok(db.put(&key(number * 2), &value)?)
}

fn compact(db: &Db) -> Outcome<()> {
    let mut options = CompactRangeOptions::default();
    options.bottommost_level_compaction = BottommostLevelCompaction::Force;
    Ok(db.compact_range_cf(&db.default_column_family()?, None, None, &options)?)
}

fn load(directory: &Path, count: u64) -> Outcome<()> {
    let (db, permutation) = (open(directory)?, Permutation::new(KEYS, 1));
    (0..KEYS).try_for_each(|place| put(&db, permutation.at(place)))?;
    compact(&db)?;
    db.close()?;
    let db = open(&directory.with_extension("overlapping"))?;
    for part in 0..4 {
        (0..count).filter(|number| number % 4 == part).try_for_each(|number| put(&db, number))?;
        db.flush()?;
    }
    Ok(db.close()?)
}

/// Reads every row once, so that the cache has every block.
fn warm(db: &Db) -> Outcome<()> {
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    let mut rows = 0;
    while iter.valid() {
        black_box((iter.key(), iter.value()));
        rows += 1;
        iter.next();
    }
    iter.status()?;
    if rows == KEYS { Ok(()) } else { Err(format!("{rows} rows of {KEYS}").into()) }
}

fn read(db: &Db, operation: &str, count: u64) -> Outcome<u64> {
    let mut random = Random::new(7);
    let mut found = 0;
    let mut iter = db.iter(&ReadOptions::default());
    match operation {
        "get" => (0..count).try_for_each(|_| {
            found += u64::from(db.get(&key(random.below(KEYS) * 2))?.is_some());
            Ok::<(), Box<dyn Error>>(())
        })?,
        "miss" => (0..count).try_for_each(|_| {
            found += u64::from(db.get(&key(random.below(KEYS) * 2 + 1))?.is_none());
            Ok::<(), Box<dyn Error>>(())
        })?,
        "multi_get" => {
            for _ in 0..count / BATCH as u64 {
                let keys: [_; BATCH] = std::array::from_fn(|_| key(random.below(KEYS) * 2));
                let keys: [&[u8]; BATCH] = std::array::from_fn(|at| keys[at].as_slice());
                for value in db.multi_get(&keys) {
                    found += u64::from(value?.is_some());
                }
            }
        }
        "seek" => {
            for _ in 0..count {
                iter.seek(&key(random.below(KEYS) * 2));
                found += u64::from(black_box(iter.key()).len() == 16);
            }
        }
        "iterator" => {
            drop(std::mem::replace(&mut iter, db.iter(&ReadOptions::default())));
            for _ in 0..count {
                let mut iter = db.iter(&ReadOptions::default());
                iter.seek(&key(random.below(KEYS) * 2));
                found += u64::from(black_box(iter.key()).len() == 16);
            }
        }
        "next" => {
            for _ in 0..count {
                if !iter.valid() {
                    iter.seek_to_first();
                }
                found += u64::from(black_box(iter.key()).len() == 16);
                black_box(iter.value());
                iter.next();
            }
        }
        other => return Err(format!("there is no operation `{other}`").into()),
    }
    iter.status()?;
    Ok(found)
}

fn run(directory: &Path, operation: &str, count: u64) -> Outcome<()> {
    match operation {
        "load" => return load(directory, count),
        "put" => {
            let (db, permutation) = (open(&directory.with_extension("put"))?, Permutation::new(count, 3));
            (0..count).try_for_each(|place| put(&db, permutation.at(place)))?;
            // What is in the log is not flushed by closing.
            return Ok(db.close()?);
        }
        "compaction" => {
            let db = open(&directory.with_extension("overlapping"))?;
            compact(&db)?;
            return Ok(db.close()?);
        }
        _ => {}
    }
    let db = open(directory)?;
    warm(&db)?;
    let found = read(&db, operation, count)?;
    if found == count { Ok(db.close()?) } else { Err(format!("{operation}: {found} of {count} as expected").into()) }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, operation, count] = arguments.as_slice() else {
        return Err("usage: instructions DIRECTORY OPERATION COUNT; see the head of this program".into());
    };
    run(Path::new(directory), operation, count.parse()?)
}
