//! Key order. The built-in orders are enum variants, so that a comparison in a hot
//! loop is a branch and a memcmp; a caller's own order is the `Custom` fallback.
//!
//! The *name* of a comparator is stored in MANIFEST, OPTIONS and every table; a
//! database opens only with the comparator it was made with.

use crate::error::{Error, Result};
use crate::internal_key::{TRAILER_SIZE, append_internal_key, pack_trailer, split_timestamp, trailer, user_key};
use crate::types::{MAX_SEQUENCE_NUMBER, ValueType};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Name of the bytewise order on disk.
pub const BYTEWISE_NAME: &str = "leveldb.BytewiseComparator";
/// Name of the reverse bytewise order on disk.
pub const REVERSE_BYTEWISE_NAME: &str = "rocksdb.ReverseBytewiseComparator";

/// A caller's own key order. It must be total and must never change under the same name.
pub trait CustomComparator: Send + Sync {
    /// Stored with the data; a different order needs a different name.
    fn name(&self) -> &str;
    /// Three-way comparison.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;
    /// May shorten `start` to any key in `[start, limit)`; called when `start < limit`.
    fn find_shortest_separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        let _ = (start, limit);
    }
    /// May shorten `key` to any key `>= key`.
    fn find_short_successor(&self, key: &mut Vec<u8>) {
        let _ = key;
    }
    /// Bytes of a timestamp at the end of each user key; 0: there is none. A database refuses an order that has one.
    fn timestamp_size(&self) -> usize {
        0
    }
    /// True, as by default in RocksDB, if two keys of different bytes may compare equal. Everything that hashes bytes
    /// is then off: filters of whole keys and of prefixes, in tables and memtables, and the hash indexes of data
    /// blocks. They are not written, and not used in tables that have them. A comparator that returns `false` gets
    /// them.
    fn can_keys_with_different_bytes_be_equal(&self) -> bool {
        true
    }
}

/// The order of a column family's user keys.
#[derive(Clone, Default)]
pub enum Comparator {
    /// Unsigned bytes, shorter prefix first.
    #[default]
    Bytewise,
    /// Exact reverse of [`Bytewise`](Self::Bytewise).
    ReverseBytewise,
    /// The caller's own.
    Custom(Arc<dyn CustomComparator>),
}

impl fmt::Debug for Comparator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Comparator {
    /// The name on disk.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Bytewise => BYTEWISE_NAME,
            Self::ReverseBytewise => REVERSE_BYTEWISE_NAME,
            Self::Custom(custom) => custom.name(),
        }
    }

    /// The built-in comparator of this name.
    ///
    /// # Errors
    /// `NotSupported` for any other name: open with an implementation of the comparator that has that name.
    pub fn built_in(name: &str) -> Result<Self> {
        match name {
            BYTEWISE_NAME => Ok(Self::Bytewise),
            REVERSE_BYTEWISE_NAME => Ok(Self::ReverseBytewise),
            _ if name.ends_with(".u64ts") => {
                Err(Error::not_supported(format!("comparator {name} (user-defined timestamps)")))
            }
            _ => Err(Error::not_supported(format!(
                "comparator {name} is not built in: open with an implementation of that name"
            ))),
        }
    }

    /// Three-way comparison of user keys.
    #[inline]
    #[must_use]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Bytewise => a.cmp(b),
            Self::ReverseBytewise => b.cmp(a),
            // Keys of the same bytes are the same key in any order, so a custom comparator is not called.
            Self::Custom(_) if a == b => Ordering::Equal,
            Self::Custom(custom) => custom.compare(a, b),
        }
    }

    /// True when the keys are the same key.
    #[inline]
    #[must_use]
    pub fn equal(&self, a: &[u8], b: &[u8]) -> bool {
        match self {
            Self::Bytewise | Self::ReverseBytewise => a == b,
            Self::Custom(custom) => a == b || custom.compare(a, b) == Ordering::Equal,
        }
    }

    /// Bytes of the timestamp at the end of each user key; 0: there is none.
    #[inline]
    #[must_use]
    pub fn timestamp_size(&self) -> usize {
        match self {
            Self::Bytewise | Self::ReverseBytewise => 0,
            Self::Custom(custom) => custom.timestamp_size(),
        }
    }

    /// A user key without its timestamp.
    #[inline]
    #[must_use]
    pub fn without_timestamp<'k>(&self, user_key: &'k [u8]) -> &'k [u8] {
        split_timestamp(user_key, self.timestamp_size()).0
    }

    /// Refuses an order with timestamps: filters, prefixes, bounds and range tombstones take a user key whole.
    ///
    /// # Errors
    /// `NotSupported`.
    #[doc(hidden)]
    pub fn refuse_timestamps(&self) -> Result<()> {
        match self.timestamp_size() {
            0 => Ok(()),
            size => Err(Error::not_supported(format!(
                "comparator {} (user-defined timestamps of {size} bytes)",
                self.name()
            ))),
        }
    }

    /// True for the unsigned byte order, where eight-byte heads may be compared as big-endian integers.
    #[inline]
    #[must_use]
    pub fn is_bytewise(&self) -> bool {
        matches!(self, Self::Bytewise)
    }

    /// True if keys of different bytes may be equal.
    #[inline]
    #[must_use]
    pub fn can_keys_with_different_bytes_be_equal(&self) -> bool {
        match self {
            Self::Bytewise | Self::ReverseBytewise => false,
            Self::Custom(custom) => custom.can_keys_with_different_bytes_be_equal(),
        }
    }

    /// Shortens `start` to a key in `[start, limit)` where that is possible.
    pub fn find_shortest_separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        match self {
            Self::Bytewise => bytewise_separator(start, limit),
            Self::ReverseBytewise => reverse_bytewise_separator(start, limit),
            Self::Custom(custom) => custom.find_shortest_separator(start, limit),
        }
    }

    /// Shortens `key` to a key `>= key` where that is possible.
    pub fn find_short_successor(&self, key: &mut Vec<u8>) {
        match self {
            Self::Bytewise => {
                if let Some(index) = key.iter().position(|&byte| byte != 0xff) {
                    key[index] += 1;
                    key.truncate(index + 1);
                }
            }
            Self::ReverseBytewise => {}
            Self::Custom(custom) => custom.find_short_successor(key),
        }
    }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn bytewise_separator(start: &mut Vec<u8>, limit: &[u8]) {
    let index = common_prefix(start, limit);
    if index >= start.len().min(limit.len()) || start[index] >= limit[index] {
        return;
    }
    if index + 1 < limit.len() || start[index] + 1 < limit[index] {
        start[index] += 1;
        start.truncate(index + 1);
        return;
    }
    // The differing bytes are consecutive values and `limit` ends here: the separator increments the first later byte
    // below 0xff.
    if let Some(offset) = start[index + 1..].iter().position(|&byte| byte != 0xff) {
        let position = index + 1 + offset;
        start[position] += 1;
        start.truncate(position + 1);
    }
}

fn reverse_bytewise_separator(start: &mut Vec<u8>, limit: &[u8]) {
    let index = common_prefix(start, limit);
    if index < start.len().min(limit.len()) && start[index] > limit[index] && index + 1 < start.len() {
        start.truncate(index + 1);
    }
}

/// The order of internal keys: user keys ascending, then trailers descending.
#[derive(Clone, Debug, Default)]
pub struct InternalComparator {
    user: Comparator,
}

impl InternalComparator {
    /// The internal order over a user-key order.
    #[must_use]
    pub fn new(user: Comparator) -> Self {
        Self { user }
    }

    /// The order of user keys.
    #[inline]
    #[must_use]
    pub fn user(&self) -> &Comparator {
        &self.user
    }

    /// Three-way comparison of internal keys.
    #[inline]
    #[must_use]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.user.compare(user_key(a), user_key(b)).then_with(|| trailer(b).cmp(&trailer(a)))
    }

    /// Three-way comparison of the user keys of two internal keys.
    #[inline]
    #[must_use]
    pub fn compare_user_keys(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.user.compare(user_key(a), user_key(b))
    }

    /// Shortens internal key `start` to a separator in `[start, limit)`. A shortened key carries the largest trailer,
    /// so that it sorts before every real entry of its user key.
    pub fn find_shortest_separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        let mut short = user_key(start).to_vec();
        self.user.find_shortest_separator(&mut short, user_key(limit));
        self.replace_if_shorter(start, short);
    }

    /// Shortens internal key `key` to one `>= key`.
    pub fn find_short_successor(&self, key: &mut Vec<u8>) {
        let mut short = user_key(key).to_vec();
        self.user.find_short_successor(&mut short);
        self.replace_if_shorter(key, short);
    }

    fn replace_if_shorter(&self, key: &mut Vec<u8>, short: Vec<u8>) {
        let original = user_key(key);
        if short.len() <= original.len() && self.user.compare(original, &short) == Ordering::Less {
            key.clear();
            append_internal_key(key, &short, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
        }
    }
}

/// The largest possible internal key of `user_key` in the internal order is the one with trailer 0; the smallest has
/// this.
#[must_use]
pub const fn smallest_trailer() -> u64 {
    pack_trailer(MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK)
}

const _: () = assert!(TRAILER_SIZE == 8);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::internal_key::make_internal_key;
    use crate::types::SequenceNumber;
    use proptest::prelude::*;

    fn separator(comparator: &Comparator, start: &[u8], limit: &[u8]) -> Vec<u8> {
        let mut start = start.to_vec();
        comparator.find_shortest_separator(&mut start, limit);
        start
    }

    #[test]
    fn separators_by_example() {
        let order = Comparator::Bytewise;
        assert_eq!(separator(&order, b"abcdef", b"abzz"), b"abd");
        assert_eq!(separator(&order, b"abc", b"abcd"), b"abc");
        assert_eq!(separator(&order, b"ab1xx", b"ab2"), b"ab1y");
        assert_eq!(separator(&order, b"ab1\xff\xff", b"ab2"), b"ab1\xff\xff");
        assert_eq!(separator(&order, b"ab1", b"ab2x"), b"ab2");
        let mut key = make_internal_key(b"key000017", SequenceNumber(25), ValueType::Value);
        let order = InternalComparator::default();
        order.find_short_successor(&mut key);
        assert_eq!(key, b"l\x18\xff\xff\xff\xff\xff\xff\xff");
    }

    /// Keys ascending, timestamps descending, as RocksDB's `.u64ts` orders have them.
    struct WithTimestamps;

    impl CustomComparator for WithTimestamps {
        fn name(&self) -> &str {
            "test.BytewiseComparator.u64ts"
        }
        fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
            let ((a, at), (b, bt)) = (split_timestamp(a, 8), split_timestamp(b, 8));
            a.cmp(b).then_with(|| bt.cmp(at))
        }
        fn timestamp_size(&self) -> usize {
            8
        }
    }

    #[test]
    fn an_order_with_timestamps_splits_keys_and_is_refused() {
        let order = Comparator::Custom(Arc::new(WithTimestamps));
        assert_eq!(order.timestamp_size(), 8);
        assert_eq!(order.without_timestamp(b"key\0\0\0\0\0\0\0\x07"), b"key");
        assert!(order.compare(b"key\0\0\0\0\0\0\0\x07", b"key\0\0\0\0\0\0\0\x06").is_lt(), "newest first");
        let error = order.refuse_timestamps().unwrap_err();
        assert_eq!(error.kind(), crate::error::ErrorKind::NotSupported);
        assert_eq!(Comparator::Bytewise.without_timestamp(b"key01234567"), b"key01234567");
        Comparator::Bytewise.refuse_timestamps().unwrap();
    }

    proptest! {
        #[test]
        fn separators_separate(a in prop::collection::vec(any::<u8>(), 0..6), b in prop::collection::vec(any::<u8>(), 0..6)) {
            for order in [Comparator::Bytewise, Comparator::ReverseBytewise] {
                let (low, high) = match order.compare(&a, &b) {
                    Ordering::Less => (&a, &b),
                    Ordering::Greater => (&b, &a),
                    Ordering::Equal => continue,
                };
                let middle = separator(&order, low, high);
                prop_assert!(middle.len() <= low.len());
                prop_assert_ne!(order.compare(&middle, low), Ordering::Less);
                prop_assert_eq!(order.compare(&middle, high), Ordering::Less);
                let mut successor = low.clone();
                order.find_short_successor(&mut successor);
                prop_assert_ne!(order.compare(&successor, low), Ordering::Less);
            }
        }
    }

    #[test]
    fn newer_versions_come_first() {
        let order = InternalComparator::default();
        let new = make_internal_key(b"k", SequenceNumber(9), ValueType::Value);
        let old = make_internal_key(b"k", SequenceNumber(8), ValueType::Value);
        assert_eq!(order.compare(&new, &old), Ordering::Less);
        assert_eq!(
            order.compare(&old, &make_internal_key(b"k\0", SequenceNumber(9), ValueType::Value)),
            Ordering::Less
        );
    }
}
