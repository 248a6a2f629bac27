//! The hashes of a filter that is being built.
//!
//! ```text
//! current  [ hashes, up to 4096 ]                     of the allocator; hashes are added here
//! full     [ 32 times 4096 hashes ] [ ... ] ...       pages of the system, little endian
//! ```
//!
//! A table of small entries has millions of them. In one array they would be copied each time it doubles, beside the
//! array that they are copied from. And an allocator keeps what is given back, in an arena for each thread that ran a
//! job: with pieces of 32 KiB from the allocator 55 to 83 MB of the heap were free after the inserts of `lsm_at_scale
//! LIBRARY DIR blobs 16000000` (dev/interop), with pages 19 and 23 MB.

use ferrock_base::pages::Pages;

/// Hashes of a piece, 32 KiB: as small filters have no more, they take no page of their own.
const PIECE_HASHES: usize = 4096;
const PIECE_BYTES: usize = PIECE_HASHES * size_of::<u64>();
/// Bytes of pages that are taken at a time.
const PAGES_BYTES: usize = 32 * PIECE_BYTES;

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct HashList {
    full: Vec<Pages>,
    full_pieces: usize,
    current: Vec<u64>,
}

impl HashList {
    #[inline]
    pub(super) fn push(&mut self, hash: u64) {
        if self.current.len() == PIECE_HASHES {
            self.put_away();
        }
        self.current.push(hash);
    }

    /// Moves the current piece behind the full ones.
    #[cold]
    fn put_away(&mut self) {
        let offset = self.full_pieces * PIECE_BYTES % PAGES_BYTES;
        if offset == 0 {
            self.full.push(Pages::new(PAGES_BYTES));
        }
        let pieces = self.full.last_mut().into_iter().flat_map(|pages| pages[offset..].chunks_exact_mut(8));
        for (bytes, hash) in pieces.zip(self.current.drain(..)) {
            bytes.copy_from_slice(&hash.to_le_bytes());
        }
        self.full_pieces += 1;
    }

    /// The hash that came last: the current piece has one, unless the list is empty.
    #[inline]
    pub(super) fn last(&self) -> Option<u64> {
        self.current.last().copied()
    }

    pub(super) fn first(&self) -> Option<u64> {
        self.iter().next()
    }

    pub(super) fn len(&self) -> u64 {
        (self.full_pieces * PIECE_HASHES + self.current.len()) as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.current.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let words = self.full.iter().flat_map(|pages| pages.as_chunks::<8>().0);
        let full = words.take(self.full_pieces * PIECE_HASHES).map(|word| u64::from_le_bytes(*word));
        full.chain(self.current.iter().copied())
    }

    /// Forgets all hashes, and keeps the memory of one piece.
    pub(super) fn clear(&mut self) {
        self.full.clear();
        self.full_pieces = 0;
        self.current.clear();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.full_pieces * PIECE_BYTES + self.current.capacity() * size_of::<u64>()
    }

    #[cfg(test)]
    pub(super) fn flip_bit(&mut self, entry: usize, bit: u32) {
        match entry.checked_sub(self.full_pieces * PIECE_HASHES) {
            Some(entry) => self.current[entry] ^= 1 << bit,
            None => {
                let at = entry * size_of::<u64>() + bit as usize / 8;
                self.full[at / PAGES_BYTES][at % PAGES_BYTES] ^= 1 << (bit % 8);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_keep_their_order_over_pieces() {
        let mut list = HashList::default();
        for round in 0..2 {
            assert_eq!((list.len(), list.is_empty(), list.first(), list.last()), (0, true, None, None));
            let count = [3 * PIECE_HASHES as u64, PIECE_HASHES as u64 + 1][round];
            for hash in 0..count {
                list.push(hash * 7);
                assert_eq!((list.last(), list.len()), (Some(hash * 7), hash + 1));
            }
            assert!(list.iter().eq((0..count).map(|hash| hash * 7)));
            assert_eq!((list.first(), list.is_empty()), (Some(0), false));
            assert!(list.memory_bytes() <= (count as usize + PIECE_HASHES) * 8);
            list.flip_bit(PIECE_HASHES - 1, 0);
            assert_eq!(list.iter().nth(PIECE_HASHES - 1), Some(((PIECE_HASHES as u64 - 1) * 7) ^ 1));
            list.clear();
            assert!(list.memory_bytes() <= PIECE_HASHES * 8, "one piece is kept");
        }
    }
}
