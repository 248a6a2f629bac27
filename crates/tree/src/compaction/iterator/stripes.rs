//! Snapshot stripes: sequence numbers that every reader sees together.
//!
//! ```text
//! snapshots          s1        s2
//! sequence   0 ....... | ....... | ........ ->
//! stripe        s1     |   s2    |  the tip
//! ```
//!
//! Of the versions of a key in one stripe only the newest can ever be read.

use ferrock_base::types::{MAX_SEQUENCE_NUMBER, SequenceNumber};

/// The stripes between the snapshots of a job.
#[derive(Clone, Debug, Default)]
pub struct SnapshotStripes {
    snapshots: Vec<SequenceNumber>,
}

impl SnapshotStripes {
    /// The stripes of `snapshots`, which come in any order.
    #[must_use]
    pub fn new(mut snapshots: Vec<SequenceNumber>) -> Self {
        snapshots.sort_unstable();
        snapshots.dedup();
        Self { snapshots }
    }

    /// The oldest snapshot; the largest sequence number when there is none.
    #[must_use]
    pub fn earliest(&self) -> SequenceNumber {
        self.snapshots.first().copied().unwrap_or(MAX_SEQUENCE_NUMBER)
    }

    /// The newest snapshot; 0 when there is none.
    #[must_use]
    pub fn latest(&self) -> SequenceNumber {
        self.snapshots.last().copied().unwrap_or_default()
    }

    /// The stripe of `sequence`: its newest sequence number, and the snapshot below it that ends it (0 = none).
    #[inline]
    #[must_use]
    pub fn stripe(&self, sequence: SequenceNumber) -> (SequenceNumber, SequenceNumber) {
        if self.snapshots.is_empty() {
            return (MAX_SEQUENCE_NUMBER, SequenceNumber(0));
        }
        let at = self.snapshots.partition_point(|&snapshot| snapshot < sequence);
        let upper = self.snapshots.get(at).copied().unwrap_or(MAX_SEQUENCE_NUMBER);
        let lower = at.checked_sub(1).map_or(SequenceNumber(0), |below| self.snapshots[below]);
        (upper, lower)
    }
}

/// True when `sequence` is below the stripe that `below` ends. Sequence number 0 (zeroed, ingested) belongs to the
/// oldest stripe, which nothing ends.
#[inline]
#[must_use]
pub(super) fn is_below_stripe(sequence: SequenceNumber, below: SequenceNumber) -> bool {
    below.0 > 0 && sequence <= below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripe_ends_at_its_snapshot() {
        let stripes = SnapshotStripes::new(vec![SequenceNumber(9), SequenceNumber(4)]);
        let stripe = |sequence| {
            let (upper, lower) = stripes.stripe(SequenceNumber(sequence));
            (upper.0, lower.0)
        };
        assert_eq!(stripe(0), (4, 0));
        assert_eq!(stripe(4), (4, 0));
        assert_eq!(stripe(5), (9, 4));
        assert_eq!(stripe(10), (MAX_SEQUENCE_NUMBER.0, 9));
        assert_eq!((stripes.earliest().0, stripes.latest().0), (4, 9));
        assert_eq!(SnapshotStripes::default().stripe(SequenceNumber(7)), (MAX_SEQUENCE_NUMBER, SequenceNumber(0)));
    }
}
