//! Ranges of keys.

/// Keys from one on and before another, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyRange {
    pub(super) lower: Vec<u8>,
    pub(super) upper: Option<Vec<u8>>,
}

impl KeyRange {
    pub(super) fn is_empty(&self) -> bool {
        self.upper.as_ref().is_some_and(|upper| *upper <= self.lower)
    }

    pub(super) fn has(&self, key: &[u8]) -> bool {
        *key >= self.lower[..] && self.upper.as_ref().is_none_or(|upper| *key < upper[..])
    }
}
