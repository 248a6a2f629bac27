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
/// A block with a hash index is smaller than this, as its restarts are few.
const MAX_BLOCK_SIZE: usize = 65536;

/// What the index knows about a user key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bucket {
    /// All entries of the key in this block, if it has any, are in this restart interval.
    Interval(usize),
    /// Nothing is known.
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
