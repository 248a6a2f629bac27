//! The limits of a scan, in the form in which an index is searched for them.
//!
//! ```text
//! keys      ..  k1 k2 | k3 k4 k5 | k6 k7 k8 | k9 ..        blocks, with the separators S1, S2, S3 between them
//! bounds             [lower          upper)
//! blocks              ^^^^^^^^^^ ^^^^^^^^^^
//! ```
//!
//! The last block is the first one whose separator `S` satisfies `upper <= succ(S)`, where `succ(S)` is `S` and a zero
//! byte: the keys behind `S` in the file are larger than `S`, so at least `succ(S)`. Thereby the range of one key,
//! `[key, key 00)`, needs one block even if the key is the last of its block. The search is for the upper bound without
//! its last byte, if that is zero. It does not hold where separators carry sequence numbers (older versions of the
//! separator's key may follow), nor under another order than that of bytes.

use super::direction::Direction;
use super::read_options::LimitReads;
use ferrock_base::Comparator;
use ferrock_base::internal_key::{append_internal_key, user_key};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, ValueType};

/// The range of a scan, from `lower` inclusive to `upper` exclusive, and the number of rows after which it may stop.
///
/// Bounds shape what is read, and end an iteration early: a [`BlockTableIter`](super::BlockTableIter) may become
/// invalid, without an error, once all keys ahead of it are outside; it may still show keys outside that lie in a block
/// with keys inside.
///
/// ```
/// use ferrock_table::ScanBounds;
/// let bounds = ScanBounds::new(Some(b"user:1".to_vec()), Some(b"user:2".to_vec())).with_limit_hint(10);
/// assert_eq!(bounds.upper(), Some(&b"user:2"[..]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanBounds {
    lower: Option<BoundKey>,
    upper: Option<BoundKey>,
    limit_hint: u64,
    limit_reads: LimitReads,
    /// With what it was made by.
    prefix: Option<(PrefixExtractor, Vec<u8>)>,
}

impl ScanBounds {
    /// Bounds of user keys, inclusive below and exclusive above.
    #[must_use]
    pub fn new(lower: Option<Vec<u8>>, upper: Option<Vec<u8>>) -> Self {
        Self {
            lower: lower.map(|key| BoundKey::new(&key)),
            upper: upper.map(|key| BoundKey::new(&key)),
            ..Self::default()
        }
    }

    /// The same bounds for a reader that expects to take only `rows`; 0: no expectation.
    #[must_use]
    pub fn with_limit_hint(mut self, rows: u64) -> Self {
        self.limit_hint = rows;
        self
    }

    /// The same bounds, with what a limit hint minimises.
    #[must_use]
    pub fn with_limit_reads(mut self, limit_reads: LimitReads) -> Self {
        self.limit_reads = limit_reads;
        self
    }

    /// True when there is a limit hint, and no block may be read that it does not need.
    pub(super) fn has_exact_limit(&self) -> bool {
        self.limit_hint > 0 && self.limit_reads == LimitReads::FewestBytes
    }

    /// The same bounds for a scan of one prefix: the scan ends with the keys of the prefix, if the prefix is a piece of
    /// the key and keys are ordered by their bytes, and filters are queried for it.
    #[must_use]
    pub fn within_prefix(&self, extractor: &PrefixExtractor, order: &Comparator, prefix: &[u8]) -> Self {
        // A prefix that is a piece of the key is its own prefix.
        let narrowed = bounds_of_prefix(extractor, order, prefix);
        let narrowed = narrowed.map_or_else(|| self.clone(), |(lower, upper)| self.narrowed(order, lower, upper));
        Self { prefix: Some((extractor.clone(), prefix.to_vec())), ..narrowed }
    }

    /// The prefix that the scan is limited to, and what it was taken by.
    #[must_use]
    pub fn prefix(&self) -> Option<(&PrefixExtractor, &[u8])> {
        self.prefix.as_ref().map(|(extractor, prefix)| (extractor, &prefix[..]))
    }

    /// That prefix, if it was made by this extractor. The extractor of a family may have changed since a table was
    /// opened, and what one calls a prefix may be the start of many prefixes of the other.
    pub(super) fn prefix_by(&self, extractor: &PrefixExtractor) -> Option<&[u8]> {
        self.prefix().filter(|(own, _)| *own == extractor).map(|(_, prefix)| prefix)
    }

    /// First user key wanted.
    #[must_use]
    pub fn lower(&self) -> Option<&[u8]> {
        self.lower.as_ref().map(BoundKey::user_key)
    }

    /// First user key no longer wanted.
    #[must_use]
    pub fn upper(&self) -> Option<&[u8]> {
        self.upper.as_ref().map(BoundKey::user_key)
    }

    /// Rows after which the reader expects to stop; 0: no expectation.
    #[must_use]
    pub fn limit_hint(&self) -> u64 {
        self.limit_hint
    }

    /// True when `key` is all that lies between itself and the upper bound, in the order of bytes.
    pub(super) fn is_single_key(&self, key: &[u8]) -> bool {
        self.upper().and_then(|upper| upper.strip_suffix(&[0])) == Some(key)
    }

    /// These bounds and others, whichever is narrower.
    fn narrowed(&self, order: &Comparator, lower: BoundKey, upper: Option<BoundKey>) -> Self {
        let is_before = |a: &BoundKey, b: &BoundKey| order.compare(a.user_key(), b.user_key()).is_lt();
        let lower = match &self.lower {
            Some(own) if is_before(&lower, own) => own.clone(),
            _ => lower,
        };
        let upper = match (&self.upper, upper) {
            (Some(own), Some(upper)) => Some(if is_before(&upper, own) { upper } else { own.clone() }),
            (own, upper) => upper.or_else(|| own.clone()),
        };
        Self { lower: Some(lower), upper, prefix: self.prefix.clone(), ..*self }
    }

    pub(super) fn lower_key(&self) -> Option<&BoundKey> {
        self.lower.as_ref()
    }

    pub(super) fn upper_key(&self) -> Option<&BoundKey> {
        self.upper.as_ref()
    }

    /// True when a scan may go to any key.
    #[inline]
    pub(super) fn are_open(&self) -> bool {
        self.lower.is_none() && self.upper.is_none() && self.prefix.is_none()
    }

    /// The bound that a scan in a direction comes to.
    #[inline]
    pub(super) fn end(&self, direction: Direction) -> Option<&BoundKey> {
        match direction {
            Direction::Forward => self.upper.as_ref(),
            Direction::Backward => self.lower.as_ref(),
        }
    }
}

/// A bound as the targets of index searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoundKey {
    /// The internal key before all entries of the bound.
    target: Vec<u8>,
    /// The same of the bound without its last byte, when that is zero.
    predecessor: Option<Vec<u8>>,
}

impl BoundKey {
    pub(super) fn new(key: &[u8]) -> Self {
        let target_of = |key: &[u8]| {
            let mut target = Vec::with_capacity(key.len() + 8);
            append_internal_key(&mut target, key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
            target
        };
        let predecessor = key.strip_suffix(&[0]).map(target_of);
        Self { target: target_of(key), predecessor }
    }

    pub(super) fn user_key(&self) -> &[u8] {
        user_key(&self.target)
    }

    /// The target of the search for the first entry at or after the bound.
    pub(super) fn target(&self) -> &[u8] {
        &self.target
    }

    /// The target of the search for the last block before the bound. `separators_are_exact`: see the module.
    pub(super) fn end_target(&self, separators_are_exact: bool) -> &[u8] {
        self.predecessor.as_deref().filter(|_| separators_are_exact).unwrap_or(&self.target)
    }
}

/// The bounds of the keys that share the prefix of `key`; `None` where the prefix is not a piece of the key, or the
/// order not that of bytes. The upper one is missing when nothing can follow.
pub(super) fn bounds_of_prefix(
    extractor: &PrefixExtractor,
    comparator: &Comparator,
    key: &[u8],
) -> Option<(BoundKey, Option<BoundKey>)> {
    if !extractor.is_piece() || !matches!(comparator, Comparator::Bytewise) {
        return None;
    }
    let prefix = extractor.prefix(key)?;
    let upper = prefix.iter().rposition(|&byte| byte != 0xff).map(|last| {
        let mut successor = prefix[..=last].to_vec();
        successor[last] += 1;
        BoundKey::new(&successor)
    });
    Some((BoundKey::new(prefix), upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_a_prefix_hold_its_keys() {
        let fixed = PrefixExtractor::Fixed(2);
        let bounds = |key: &[u8]| {
            bounds_of_prefix(&fixed, &Comparator::Bytewise, key)
                .map(|(lower, upper)| (lower.user_key().to_vec(), upper.map(|upper| upper.user_key().to_vec())))
        };
        assert_eq!(bounds(b"abc"), Some((b"ab".to_vec(), Some(b"ac".to_vec()))));
        assert_eq!(bounds(b"a\xffc"), Some((b"a\xff".to_vec(), Some(b"b".to_vec()))));
        assert_eq!(bounds(b"\xff\xffc"), Some((b"\xff\xff".to_vec(), None)));
        assert_eq!(bounds(b"a"), None);
        assert!(bounds_of_prefix(&PrefixExtractor::Noop, &Comparator::Bytewise, b"abc").is_none());
        assert!(bounds_of_prefix(&fixed, &Comparator::ReverseBytewise, b"abc").is_none());
    }

    #[test]
    fn a_bound_that_ends_in_zero_is_searched_without_it() {
        let bound = BoundKey::new(b"k\0");
        assert_eq!(user_key(bound.end_target(true)), b"k");
        assert_eq!(user_key(bound.end_target(false)), b"k\0");
        assert_eq!(user_key(BoundKey::new(b"k").end_target(true)), b"k");
        assert_eq!(user_key(BoundKey::new(b"k\0\0").end_target(true)), b"k\0");
    }
}
