//! Values computed from their keys, so that a read can be checked without a record of the writes.
//!
//! ```text
//! value  := tag text                       size bytes in all; a value shorter than 8 bytes is the start of its tag
//! tag    := u64le of hash(key, size)       another key's value, and a value cut short, are seen
//! text   := a slice of the pool, from where the tag says
//! pool   := 1 MiB of pieces of 100 bytes, each random bytes and their repetition, by the compression ratio
//! ```
//!
//! The pool depends on nothing but the ratio, so a run checks what an earlier one wrote. Making a value is one hash and
//! a copy, checking one a hash and a comparison.

use ferrock_base::hash::hash128;
use ferrock_base::random::Random;

const POOL_SIZE_BYTES: usize = 1 << 20;
const PIECE_SIZE_BYTES: usize = 100;
const TAG_SIZE_BYTES: usize = 8;
const SEED: u64 = 0x6665_7272_6f63_6b21;

/// How merges change the value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merging {
    /// Not at all, or the operand replaces the value: all of a key's values are the same.
    Replace,
    /// Values are joined by commas.
    Append,
    /// Values are counters.
    Count,
}

impl Merging {
    /// The effect of the built-in operator of that name.
    pub(crate) fn of(operator: &str) -> Self {
        let operator = operator.to_ascii_lowercase();
        match &operator[..] {
            name if name.starts_with("stringappend") => Self::Append,
            name if name.starts_with("uint64add") => Self::Count,
            _ => Self::Replace,
        }
    }
}

/// Makes and checks values.
#[derive(Debug)]
pub(crate) struct ValuePool {
    size: usize,
    pool: Vec<u8>,
    merging: Merging,
}

impl ValuePool {
    /// Values of `size` bytes.
    pub(crate) fn new(size: usize, compression_ratio: f64, merging: Merging) -> Self {
        let random_bytes = ((PIECE_SIZE_BYTES as f64 * compression_ratio) as usize).clamp(1, PIECE_SIZE_BYTES);
        let mut random = Random::new(SEED);
        let pool_size = POOL_SIZE_BYTES.max(size.saturating_mul(2));
        let mut pool = Vec::with_capacity(pool_size + PIECE_SIZE_BYTES);
        let mut piece = Vec::with_capacity(PIECE_SIZE_BYTES + TAG_SIZE_BYTES);
        while pool.len() < pool_size {
            piece.clear();
            while piece.len() < random_bytes {
                // Printable, as RocksDB's are.
                piece.push(b' ' + random.below(95) as u8);
            }
            while piece.len() < PIECE_SIZE_BYTES {
                let more = piece.len().min(PIECE_SIZE_BYTES - piece.len());
                piece.extend_from_within(..more);
            }
            pool.extend_from_slice(&piece);
        }
        Self { size, pool, merging }
    }

    #[inline]
    fn parts(&self, key: &[u8], size: usize) -> ([u8; TAG_SIZE_BYTES], usize) {
        let (tag, place) = hash128(key, SEED ^ size as u64);
        let room = self.pool.len().saturating_sub(size) as u64;
        // The remainder keeps the place below the room, which a `usize` holds.
        (tag.to_le_bytes(), (place % room.max(1)) as usize)
    }

    /// Puts the value of a key into `value`.
    #[inline]
    pub(crate) fn make(&self, key: &[u8], value: &mut Vec<u8>) {
        value.clear();
        self.append(key, self.size, value);
    }

    /// Appends a value of another size, which is no more than half of the pool or the usual size.
    #[inline]
    pub(crate) fn append(&self, key: &[u8], size: usize, value: &mut Vec<u8>) {
        let (tag, place) = self.parts(key, size);
        let tag = &tag[..size.min(TAG_SIZE_BYTES)];
        value.extend_from_slice(tag);
        value.extend_from_slice(&self.pool[place..place + size - tag.len()]);
    }

    /// Puts the operand of a merge of a key into `operand`.
    pub(crate) fn make_operand(&self, key: &[u8], operand: &mut Vec<u8>) {
        if self.merging == Merging::Count {
            operand.clear();
            operand.extend_from_slice(&1_u64.to_le_bytes());
        } else {
            self.make(key, operand);
        }
    }

    /// True when the benchmarks may have written the value for the key.
    #[inline]
    pub(crate) fn check(&self, key: &[u8], value: &[u8]) -> bool {
        self.is_made(key, value) || self.is_merged(key, value)
    }

    #[inline]
    fn is_made(&self, key: &[u8], value: &[u8]) -> bool {
        let (tag, place) = self.parts(key, value.len());
        let (start, text) = value.split_at(value.len().min(TAG_SIZE_BYTES));
        start == &tag[..start.len()] && self.pool.get(place..place + text.len()) == Some(text)
    }

    #[cold]
    fn is_merged(&self, key: &[u8], value: &[u8]) -> bool {
        match self.merging {
            Merging::Replace => false,
            // The initial value of a counter is unknown: the value of a fill is read as a number, too.
            Merging::Count => value.len() == size_of::<u64>(),
            Merging::Append => {
                let mut one = Vec::with_capacity(self.size);
                self.make(key, &mut one);
                let step = one.len() + 1;
                (value.len() + 1).is_multiple_of(step)
                    && value
                        .chunks(step)
                        .all(|piece| piece.starts_with(&one) && piece.get(one.len()).is_none_or(|byte| *byte == b','))
            }
        }
    }

    /// Bytes of a value.
    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(pool: &ValuePool, key: &[u8]) -> Vec<u8> {
        let mut value = Vec::new();
        pool.make(key, &mut value);
        value
    }

    #[test]
    fn a_value_is_known_by_its_key_and_nothing_else() {
        for size in [0, 1, 7, 8, 9, 100, 5000, 3 << 20] {
            let pool = ValuePool::new(size, 0.5, Merging::Replace);
            let value = made(&pool, b"key");
            assert_eq!(value.len(), size);
            assert!(pool.check(b"key", &value));
            assert_eq!(pool.check(b"kez", &value), size == 0, "{size}");
            for at in [0, size / 2, size.saturating_sub(1)].into_iter().filter(|at| *at < size) {
                let mut wrong = value.clone();
                wrong[at] ^= 1;
                assert!(!pool.check(b"key", &wrong), "{size} {at}");
            }
            if size > 4 {
                assert!(!pool.check(b"key", &value[..size - 1]), "cut short: {size}");
            }
        }
    }

    #[test]
    fn another_size_is_checked_too() {
        let (small, large) = (ValuePool::new(100, 0.5, Merging::Replace), ValuePool::new(1000, 0.5, Merging::Replace));
        assert!(small.check(b"key", &made(&large, b"key")) && large.check(b"key", &made(&small, b"key")));
        // Far more than the pool of small values has.
        assert!(!small.check(b"key", &vec![0; POOL_SIZE_BYTES * 2]));
    }

    #[test]
    fn merged_values() {
        let append = ValuePool::new(20, 0.5, Merging::of("stringappend"));
        let one = made(&append, b"key");
        let joined = [&one[..], b",", &one[..], b",", &one[..]].concat();
        assert!(append.check(b"key", &joined) && !append.check(b"key", &joined[1..]));
        assert!(!append.check(b"key", &[&one[..], b";", &one[..]].concat()));
        assert!(!append.check(b"key", &[&one[..], b","].concat()));
        let mut count = Vec::new();
        let counter = ValuePool::new(20, 0.5, Merging::of("uint64add"));
        counter.make_operand(b"key", &mut count);
        assert_eq!(count, 1_u64.to_le_bytes());
        assert!(counter.check(b"key", &count) && !counter.check(b"key", b"123"));
        assert_eq!(Merging::of("PutOperator"), Merging::Replace);
    }

    #[test]
    fn the_pool_compresses_by_its_ratio() {
        let pool = ValuePool::new(100, 0.25, Merging::Replace);
        assert!(pool.pool[..100].windows(25).filter(|window| *window == &pool.pool[..25]).count() == 4);
        let incompressible = ValuePool::new(100, 1.0, Merging::Replace);
        assert_ne!(incompressible.pool[..50], incompressible.pool[50..100]);
    }
}
