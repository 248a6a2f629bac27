//! The data-block hash index: which restart interval holds a user key.
//!
//! ```text
//! | bucket u8 x count | count u16 |      bucket = hash32(user key, 397) % count
//!                                      0..253 interval, 254 several intervals, 255 no key
//! ```

use ferrock_base::hash::hash32;

const SEED: u32 = 397;
const COLLISION: u8 = 254;
const EMPTY: u8 = 255;
/// A block with a hash index is no larger than this.
pub const MAX_BLOCK_SIZE: usize = 65536;
/// Last restart interval that a bucket can name.
const MAX_INTERVAL: usize = 253;
/// Restarts of a block beyond which a bucket cannot name the last one.
pub const MAX_RESTARTS: usize = MAX_INTERVAL + 1;
/// The ratio that 0 stands for.
const DEFAULT_UTIL_RATIO: f64 = 0.75;

/// Collects the user keys of a block and makes its hash index.
///
/// The number of buckets is a running sum of reciprocals, truncated, as RocksDB has it: another way of rounding would
/// make other bytes.
#[derive(Clone, Debug)]
pub(super) struct HashIndexBuilder {
    buckets_per_key: f64,
    buckets: f64,
    /// False after an interval that a bucket cannot name: this block and all later ones get no index.
    is_valid: bool,
    entries: Vec<(u32, u8)>,
}

impl HashIndexBuilder {
    pub(super) fn new(util_ratio: f64) -> Self {
        let util_ratio = if util_ratio > 0.0 { util_ratio } else { DEFAULT_UTIL_RATIO };
        Self { buckets_per_key: 1.0 / util_ratio, buckets: 0.0, is_valid: true, entries: Vec::new() }
    }

    #[inline]
    pub(super) fn add(&mut self, user_key: &[u8], interval: usize) {
        if interval > MAX_INTERVAL {
            self.is_valid = false;
            return;
        }
        if self.is_valid {
            self.entries.push((hash32(user_key, SEED), interval as u8));
            self.buckets += self.buckets_per_key;
        }
    }

    /// Odd, as keys would crowd in an even number of buckets.
    #[inline]
    fn bucket_count(&self) -> u16 {
        (self.buckets as u64) as u16 | 1
    }

    /// Bytes of the index as it stands; 0 if the block gets none.
    #[inline]
    pub(super) fn size(&self) -> usize {
        if self.is_valid { usize::from(self.bucket_count()) + 2 } else { 0 }
    }

    /// Appends the index to a block of `block_size` bytes, this index included, unless the block is too large for one
    /// or has too many restarts. True if it did.
    pub(super) fn finish(&self, block: &mut Vec<u8>, block_size: usize) -> bool {
        if !self.is_valid || block_size > MAX_BLOCK_SIZE {
            return false;
        }
        let count = self.bucket_count();
        let start = block.len();
        block.resize(start + usize::from(count), EMPTY);
        for &(hash, interval) in &self.entries {
            let bucket = &mut block[start + (hash % u32::from(count)) as usize];
            *bucket = match *bucket {
                EMPTY => interval,
                same if same == interval => interval,
                _ => COLLISION,
            };
        }
        block.extend_from_slice(&count.to_le_bytes());
        true
    }

    /// Begins the next block. After a block with too many restarts none has an index, as in RocksDB's tables: with the
    /// same options the next ones would have as many.
    pub(super) fn reset(&mut self) {
        self.buckets = 0.0;
        self.entries.clear();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<(u32, u8)>()
    }
}

/// How full the hash index of a block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HashIndexBuckets {
    /// All buckets.
    pub total: usize,
    /// Buckets that name one restart interval.
    pub single: usize,
    /// Buckets where keys of several intervals met: lookups of their keys fall back to bisection.
    pub collided: usize,
}

/// The index's answer for a user key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bucket {
    /// All entries of the key in this block, if it has any, are in this restart interval.
    Interval(usize),
    /// The index does not decide.
    Collision,
    /// The block has no entry of the key.
    Empty,
}

/// Place of the index within its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashIndex {
    start: usize,
    bucket_count: usize,
}

impl HashIndex {
    /// The index that ends at `end`; `None` when it does not fit.
    pub(super) fn parse(block: &[u8], end: usize) -> Option<Self> {
        if end >= MAX_BLOCK_SIZE {
            return None;
        }
        let count_at = end.checked_sub(2)?;
        let bucket_count = usize::from(u16::from_le_bytes(block.get(count_at..end)?.try_into().ok()?));
        let start = count_at.checked_sub(bucket_count)?;
        (bucket_count > 0).then_some(Self { start, bucket_count })
    }

    pub(super) fn start(self) -> usize {
        self.start
    }

    pub(super) fn buckets(self, block: &[u8]) -> HashIndexBuckets {
        let mut buckets = HashIndexBuckets { total: self.bucket_count, ..HashIndexBuckets::default() };
        for bucket in block.iter().skip(self.start).take(self.bucket_count) {
            match *bucket {
                EMPTY => {}
                COLLISION => buckets.collided += 1,
                _ => buckets.single += 1,
            }
        }
        buckets
    }

    #[inline]
    pub(super) fn lookup(self, block: &[u8], user_key: &[u8]) -> Bucket {
        let bucket = hash32(user_key, SEED) as usize % self.bucket_count;
        match block.get(self.start + bucket) {
            Some(&EMPTY) => Bucket::Empty,
            Some(&COLLISION) | None => Bucket::Collision,
            Some(&interval) => Bucket::Interval(usize::from(interval)),
        }
    }
}
