//! Hashes of entries that were evicted before a second use.
//!
//! ```text
//! word    [ number of the eviction: 16 bits | tag: 16 bits ]        at the low bits of the hash; 0 = never written
//! ```
//!
//! A key that is inserted again soon was evicted too early. The table is direct-mapped; a word is forgotten when it is
//! overwritten or too old. A wrong answer only puts an entry into the wrong queue at first.

/// The table.
pub(crate) struct Ghosts {
    words: Box<[u32]>,
    evictions: u16,
}

impl Ghosts {
    /// A table of `length` words, a power of two.
    pub(crate) fn new(length: usize) -> Self {
        debug_assert!(length.is_power_of_two());
        Self { words: vec![0; length].into_boxed_slice(), evictions: 0 }
    }

    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.words.len() - 1)
    }

    /// Bits of the hash that choose neither the word nor the shard. Never 0.
    fn tag(hash: u64) -> u32 {
        (hash >> 36) as u32 & 0xffff | 1
    }

    pub(crate) fn add(&mut self, hash: u64) {
        self.evictions = self.evictions.wrapping_add(1);
        let place = self.place(hash);
        self.words[place] = u32::from(self.evictions) << 16 | Self::tag(hash);
    }

    /// True if the hash was added at most `most` evictions ago; it is then removed.
    pub(crate) fn take(&mut self, hash: u64, most: usize) -> bool {
        let place = self.place(hash);
        let word = self.words[place];
        if word & 0xffff != Self::tag(hash) {
            return false;
        }
        self.words[place] = 0;
        usize::from(self.evictions.wrapping_sub((word >> 16) as u16)) <= most
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.words.len() * size_of::<u32>()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn what_was_evicted_is_known_once_and_for_a_while() {
        let mut ghosts = Ghosts::new(64);
        let hash = |number: u64| number << 40 | number;
        (0..20).for_each(|number| ghosts.add(hash(number)));
        assert!(ghosts.take(hash(19), 5) && !ghosts.take(hash(19), 5), "it is forgotten once it was taken");
        assert!(!ghosts.take(hash(3), 10), "too long ago");
        assert!(!ghosts.take(hash(50), 100) && !ghosts.take(hash(3), 100));
        (0..64).for_each(|number| ghosts.add(hash(number) ^ 1 << 44));
        assert!(!ghosts.take(hash(7), 100), "overwritten");
        assert_eq!(ghosts.memory_bytes(), 256);
    }
}
