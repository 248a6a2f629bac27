//! A Bloom filter in which threads set bits while others probe it. It exists only in the memory of one memtable, so its
//! layout is not persisted: 512-bit blocks (one cache line), six bits of one block per key.

use crate::sync::{AtomicU64, Ordering};
use ferrock_base::hash::{fast_range64, hash64};

const WORDS_PER_BLOCK: usize = 8;
const PROBES: u32 = 6;

/// The filter.
pub(crate) struct ConcurrentBloom {
    words: Box<[AtomicU64]>,
}

impl ConcurrentBloom {
    /// A filter of about `bits` bits.
    pub(crate) fn new(bits: usize) -> Self {
        let blocks = bits.div_ceil(64 * WORDS_PER_BLOCK).max(1);
        Self { words: (0..blocks * WORDS_PER_BLOCK).map(|_| AtomicU64::new(0)).collect() }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    /// The words and masks of a key.
    #[inline]
    fn probes(&self, key: &[u8]) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let hash = hash64(key);
        let block = fast_range64(hash, (self.words.len() / WORDS_PER_BLOCK) as u64) as usize * WORDS_PER_BLOCK;
        // The high bits choose the block; each probe takes nine other bits of the remixed hash.
        let bits = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (0..PROBES).map(move |probe| {
            let bit = (bits >> (9 * probe)) & 511;
            (&self.words[block + (bit >> 6) as usize], 1 << (bit & 63))
        })
    }

    #[inline]
    pub(crate) fn add(&self, key: &[u8]) {
        for (word, mask) in self.probes(key) {
            // Most bits of a busy prefix are set already: a load keeps the cache line shared.
            if word.load(Ordering::Relaxed) & mask == 0 {
                word.fetch_or(mask, Ordering::Relaxed);
            }
        }
    }

    #[inline]
    pub(crate) fn may_contain(&self, key: &[u8]) -> bool {
        self.probes(key).all(|(word, mask)| word.load(Ordering::Relaxed) & mask != 0)
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn added_keys_are_found_and_few_others() {
        let bloom = ConcurrentBloom::new(10 * 2000);
        (0u32..2000).for_each(|key| bloom.add(&key.to_le_bytes()));
        assert!((0u32..2000).all(|key| bloom.may_contain(&key.to_le_bytes())));
        let wrong = (2000u32..12_000).filter(|key| bloom.may_contain(&key.to_le_bytes())).count();
        assert!(wrong < 300, "{wrong} false positives of 10000");
        assert!(ConcurrentBloom::new(0).memory_bytes() > 0);
    }
}
