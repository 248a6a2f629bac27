//! The caches, behind one face: 16-byte keys, blocks that count 4 KiB each, a hit that gives the block for as long as
//! it is held.

use ferrock_cache::{BlockCache, CacheKey, CacheOptions, EntryRole, Priority};
use std::sync::Arc;

/// What every block is charged.
pub const CHARGE: usize = 4096;

/// A block. Its bytes are few, so that what the caches take themselves shows.
pub struct Block(pub u64);

/// A cache under comparison.
pub trait Cache: Send + Sync {
    /// A cache of this many blocks.
    fn new(blocks: usize) -> Self;
    /// The first word of the block, if it is there.
    fn get(&self, key: u64) -> Option<u64>;
    /// Adds a block.
    fn insert(&self, key: u64, block: Block);
    /// Ends what a cache has put off.
    fn settle(&self) {}
}

/// Keys as tables have them: a file's id, and an offset.
fn key(number: u64) -> (u64, u64) {
    (0x9E37_79B9_7F4A_7C15, 0x2545_F491_4F6C_DD1D ^ (number * CHARGE as u64))
}

/// This project's.
pub struct Ferrock(Arc<BlockCache<Block>>);

impl Cache for Ferrock {
    fn new(blocks: usize) -> Self {
        Self(BlockCache::new(CacheOptions {
            capacity_bytes: blocks * CHARGE,
            charge_metadata: false,
            ..CacheOptions::default()
        }))
    }

    #[inline]
    fn get(&self, number: u64) -> Option<u64> {
        let (file, offset) = key(number);
        self.0.lookup_as(&CacheKey::new((file, 0), offset), EntryRole::DataBlock).map(|block| block.0)
    }

    #[inline]
    fn insert(&self, number: u64, block: Block) {
        let (file, offset) = key(number);
        let key = CacheKey::new((file, 0), offset);
        drop(self.0.insert(&key, block, CHARGE, EntryRole::DataBlock, Priority::Low));
    }
}

/// `quick_cache`, with its own hasher.
pub struct Quick(quick_cache::sync::Cache<(u64, u64), Arc<Block>, FixedWeight>);

#[derive(Clone)]
pub struct FixedWeight;

impl quick_cache::Weighter<(u64, u64), Arc<Block>> for FixedWeight {
    fn weight(&self, _: &(u64, u64), _: &Arc<Block>) -> u64 {
        CHARGE as u64
    }
}

impl Cache for Quick {
    fn new(blocks: usize) -> Self {
        Self(quick_cache::sync::Cache::with_weighter(blocks, (blocks * CHARGE) as u64, FixedWeight))
    }

    #[inline]
    fn get(&self, number: u64) -> Option<u64> {
        self.0.get(&key(number)).map(|block| block.0)
    }

    #[inline]
    fn insert(&self, number: u64, block: Block) {
        self.0.insert(key(number), Arc::new(block));
    }
}

/// `moka`, with its own hasher.
pub struct Moka(moka::sync::Cache<(u64, u64), Arc<Block>>);

impl Cache for Moka {
    fn new(blocks: usize) -> Self {
        let cache = moka::sync::Cache::builder()
            .max_capacity((blocks * CHARGE) as u64)
            .initial_capacity(blocks)
            .weigher(|_, _| CHARGE as u32)
            .build();
        Self(cache)
    }

    #[inline]
    fn get(&self, number: u64) -> Option<u64> {
        self.0.get(&key(number)).map(|block| block.0)
    }

    #[inline]
    fn insert(&self, number: u64, block: Block) {
        self.0.insert(key(number), Arc::new(block));
    }

    fn settle(&self) {
        self.0.run_pending_tasks();
    }
}
