//! Comparing a node's key with the search key.
//!
//! Under the bytewise order user keys are compared eight bytes at a time as big-endian integers: for the short keys
//! that most databases have this is fewer instructions than a call of `memcmp`, and a node needs no copy of its key's
//! head.

use super::node::NodeRef;
use ferrock_base::comparator::{Comparator, InternalComparator};
use ferrock_base::internal_key::{TRAILER_SIZE, trailer, user_key};
use std::cmp::Ordering;

/// An internal key to look for: at least eight bytes.
#[derive(Clone, Copy)]
pub(super) struct SearchKey<'a> {
    internal_key: &'a [u8],
    trailer: u64,
    /// First eight bytes of the user key, most significant first, padded with zeros.
    head: u64,
}

/// Replaces a malformed (too short) target: the first entry of the empty user key.
const SHORT: &[u8] = &[0xff; TRAILER_SIZE];

impl<'a> SearchKey<'a> {
    #[inline]
    pub(super) fn new(internal_key: &'a [u8]) -> Self {
        let internal_key = if internal_key.len() < TRAILER_SIZE { SHORT } else { internal_key };
        Self { internal_key, trailer: trailer(internal_key), head: head(internal_key) }
    }

    /// The first eight bytes of the user key of an internal key, as a number that sorts as they do.
    pub(super) fn head_of(internal_key: &[u8]) -> u64 {
        head(internal_key)
    }

    /// The second eight bytes of a user key that has them.
    #[inline]
    fn second(&self) -> Option<u64> {
        (self.internal_key.len() >= 16 + TRAILER_SIZE).then(|| word(self.internal_key, 8))
    }

    /// How a node's key sorts relative to this key. The node must not be the head of the list.
    #[inline(always)]
    pub(super) fn compare_node(&self, comparator: &InternalComparator, node: NodeRef<'_>) -> Ordering {
        // Two different heads decide: if one key ended and was padded with zeros, it is the shorter and the smaller
        // one.
        if comparator.user().is_bytewise() {
            let node_head = node.long_key_head().unwrap_or_else(|| head(node.internal_key()));
            if node_head != self.head {
                return if node_head < self.head { Ordering::Less } else { Ordering::Greater };
            }
            // Many keys begin alike: with a name, or the number of a tenant.
            if let (Some(own), Some(other)) = (node.long_key_second(), self.second())
                && own != other
            {
                return if own < other { Ordering::Less } else { Ordering::Greater };
            }
        }
        self.compare_whole(comparator, node.internal_key())
    }

    /// How `node_key` sorts relative to this key.
    #[inline(never)]
    fn compare_whole(&self, comparator: &InternalComparator, node_key: &[u8]) -> Ordering {
        let by_user_key = match comparator.user() {
            Comparator::Bytewise => compare_words(node_key, self.internal_key),
            Comparator::ReverseBytewise => compare_words(self.internal_key, node_key),
            custom @ Comparator::Custom(_) => custom.compare(user_key(node_key), user_key(self.internal_key)),
        };
        by_user_key.then_with(|| self.trailer.cmp(&trailer(node_key)))
    }
}

/// The head of the user key of an internal key.
#[inline]
fn head(internal_key: &[u8]) -> u64 {
    let first = word(internal_key, 0);
    match internal_key.len().wrapping_sub(TRAILER_SIZE) {
        0 => 0,
        length @ 1..8 => first & (u64::MAX << (64 - 8 * length as u32)),
        _ => first,
    }
}

/// Eight bytes at `at`, most significant first. Only called where an internal key has them.
#[inline]
fn word(key: &[u8], at: usize) -> u64 {
    key.get(at..).and_then(|rest| rest.first_chunk::<8>()).map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Bytewise order of the user keys of two internal keys. The trailers behind them make every eight-byte read possible.
#[inline]
fn compare_words(a: &[u8], b: &[u8]) -> Ordering {
    let (a_length, b_length) = (a.len().wrapping_sub(TRAILER_SIZE), b.len().wrapping_sub(TRAILER_SIZE));
    let common = a_length.min(b_length);
    let mut at = 0;
    while common - at >= 8 {
        let (left, right) = (word(a, at), word(b, at));
        if left != right {
            return left.cmp(&right);
        }
        at += 8;
    }
    let rest = common - at;
    if rest > 0 {
        let unused_bits = 64 - 8 * rest as u32;
        let (left, right) = (word(a, at) >> unused_bits, word(b, at) >> unused_bits);
        if left != right {
            return left.cmp(&right);
        }
    }
    a_length.cmp(&b_length)
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use ferrock_base::internal_key::make_internal_key;
    use ferrock_base::{SequenceNumber, ValueType};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_compare_like_bytes(
            common in prop::collection::vec(0u8..3, 0..20),
            a in prop::collection::vec(0u8..3, 0..12),
            b in prop::collection::vec(any::<u8>(), 0..12),
            sequences in (0u64..3, 0u64..3),
        ) {
            let a = [&common[..], &a].concat();
            let b = [&common[..], &b].concat();
            let a = make_internal_key(&a, SequenceNumber(sequences.0), ValueType::Value);
            let b = make_internal_key(&b, SequenceNumber(sequences.1), ValueType::Value);
            for user in [Comparator::Bytewise, Comparator::ReverseBytewise] {
                let comparator = InternalComparator::new(user);
                let key = SearchKey::new(&b);
                let expected = comparator.compare(&a, &b);
                prop_assert_eq!(key.compare_whole(&comparator, &a), expected);
                if comparator.user().is_bytewise() && head(&a) != key.head {
                    prop_assert_eq!(head(&a).cmp(&key.head), expected);
                } else if let Some(second) = key.second().filter(|_| comparator.user().is_bytewise() && a.len() >= 24)
                    && second != word(&a, 8)
                {
                    prop_assert_eq!(word(&a, 8).cmp(&second), expected);
                }
            }
        }
    }
}
