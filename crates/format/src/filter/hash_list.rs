//! The hashes of a filter that is being built.
//!
//! ```text
//! full     [ 4096 hashes ] [ 4096 hashes ] ...
//! current  [ hashes, up to 4096 ]
//! ```
//!
//! A table of small entries has millions of them. In one array they would be copied each time it doubles, beside the
//! array that they are copied from, and an allocator keeps what such arrays leave behind.

/// Hashes of a piece, 32 KiB: less than what an allocator takes from the system for one caller alone.
const PIECE_HASHES: usize = 4096;

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct HashList {
    full: Vec<Vec<u64>>,
    current: Vec<u64>,
}

impl HashList {
    #[inline]
    pub(super) fn push(&mut self, hash: u64) {
        if self.current.len() == PIECE_HASHES {
            self.begin_piece();
        }
        self.current.push(hash);
    }

    #[cold]
    fn begin_piece(&mut self) {
        let full = std::mem::replace(&mut self.current, Vec::with_capacity(PIECE_HASHES));
        self.full.push(full);
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
        (self.full.len() * PIECE_HASHES + self.current.len()) as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.current.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.full.iter().flatten().chain(&self.current).copied()
    }

    /// Forgets all hashes, and keeps the memory of one piece.
    pub(super) fn clear(&mut self) {
        self.full.clear();
        self.current.clear();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.full.len() * PIECE_HASHES + self.current.capacity()) * size_of::<u64>()
    }

    #[cfg(test)]
    pub(super) fn flip_bit(&mut self, entry: usize, bit: u32) {
        let piece = self.full.get_mut(entry / PIECE_HASHES).unwrap_or(&mut self.current);
        piece[entry % PIECE_HASHES] ^= 1 << bit;
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
