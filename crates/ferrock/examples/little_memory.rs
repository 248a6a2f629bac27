//! Little memory: everything that a database keeps in memory under one bound.
//!
//!     cargo run --release -p ferrock --example little_memory
//!
//! Blocks, indexes, filters and memtables share a strict cache of 8 MiB, so that a hundred such databases take what one
//! takes.

use ferrock::options::{CacheOptions, CompressionType, FilterPolicy, IndexType, TableBlockCache, WriteBufferManager};
use ferrock::{ColumnFamilyOptions, Db, DbOptions};

const BUDGET: usize = 8 << 20;

pub fn main() -> ferrock::Result<()> {
    let directory = std::env::temp_dir().join("ferrock-little-memory");
    Db::destroy(&directory, &DbOptions::default())?;

    // A strict cache refuses to grow. Reads that do not get room for their block read it without the cache.
    let cache = TableBlockCache::new(CacheOptions {
        capacity_bytes: BUDGET,
        strict_capacity_limit: true,
        ..CacheOptions::default()
    });
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_open_files = 50;
    options.components.block_cache = Some(std::sync::Arc::clone(&cache));
    // Memtables are charged to the same cache: a flush begins early rather than late.
    options.components.write_buffer_manager = Some(WriteBufferManager::new(BUDGET / 4, Some(&cache), false));

    let mut family = ColumnFamilyOptions::default();
    family.write_buffer_size = BUDGET / 8;
    family.compression = CompressionType::Lz4;
    family.filter_policy = FilterPolicy::Bloom { millibits_per_key: 10_000 };
    // Index and filter in partitions: of a large table only those parts are in memory that reads ask for.
    family.table.cache_index_and_filter_blocks = true;
    family.table.partition_filters = true;
    family.table.index_type = IndexType::TwoLevelIndexSearch;
    let (db, _) = Db::open_cf(&directory, options, vec![("default".to_owned(), family)])?;

    for number in 0..200_000u64 {
        db.put(&(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes(), &[number as u8; 100])?;
    }
    db.flush()?;
    db.wait_for_background_work()?;
    let mut found = 0;
    for number in (0..200_000u64).step_by(7) {
        found += u64::from(db.get(&(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes())?.is_some());
    }
    println!("{found} found; {} KiB of {} KiB used", cache.usage() >> 10, BUDGET >> 10);
    assert_eq!(found, 200_000_u64.div_ceil(7));
    assert!(cache.usage() <= BUDGET);
    db.close()
}
