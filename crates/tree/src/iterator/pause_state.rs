//! The state of a merge that pauses until its driver has made the reads of its children: see `pausing`.

use super::deferred::{ChildBound, Winner};
use ferrock_base::{Error, ErrorKind, OwnedSeekTarget};

/// A placement that is not over.
#[derive(Debug)]
pub(super) struct Placing {
    pub(super) target: OwnedSeekTarget,
    /// The child that is read in any case.
    pub(super) winner: Option<Winner>,
    /// The bounds by which deferred children were ordered.
    pub(super) bounds: Vec<ChildBound>,
}

impl Placing {
    /// Records that the reads of a round were made.
    pub(super) fn note_round(&mut self, has_limit: bool) {
        if let Some(winner) = &mut self.winner {
            // The winner's read was made; with a limit, the read of the next block may be deferred.
            winner.may_wait_further = has_limit;
        }
    }
}

/// The state of a merge's pause.
#[derive(Debug, Default)]
pub(super) struct Pausing {
    pub(super) is_on: bool,
    /// The reads of placements are made together with those of other merges.
    pub(super) is_with_others: bool,
    pub(super) is_paused: bool,
    pub(super) placing: Option<Placing>,
    /// Children that are to be supplied; empty when some have to read for themselves.
    pub(super) reading: Vec<usize>,
}

impl Pausing {
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// True for an error after which a child can be resumed.
    pub(super) fn pauses_for(&self, error: &Error) -> bool {
        self.is_on && error.kind() == ErrorKind::TryAgain
    }

    pub(super) fn clear(&mut self) {
        self.is_paused = false;
        if self.placing.is_some() {
            self.placing = None;
        }
        self.reading.clear();
    }
}
