//! The state of a scan that pauses instead of reading: see [`pausing`](super::pausing).

use ferrock_base::OwnedSeekTarget;
use ferrock_vfs::PendingRead;
use std::ops::Range;

/// Where a scan paused.
#[derive(Debug)]
pub(super) enum Paused {
    /// In a placement.
    Placing(OwnedSeekTarget),
    /// In a step, before the index moved.
    Index,
    /// In a step, at the block that the index moved to.
    Block,
}

/// The state of a scan's pause.
#[derive(Debug, Default)]
pub(super) struct Pausing {
    pub(super) paused: Option<Paused>,
    /// The pending read, if it is already in flight.
    pub(super) started: Option<PendingRead>,
    /// True if the pending read was started ahead.
    pub(super) is_ahead: bool,
    /// Ranges supplied since the scan first paused. If one of them is requested again, it was unusable (corrupt or
    /// uncacheable).
    pub(super) supplied: Vec<Range<u64>>,
    /// `carried_blocks` of the iterator when its placement began.
    pub(super) carried_blocks: Option<u64>,
    /// True if the pending window was supplied: the bytes behind it may be read ahead.
    pub(super) has_arrived: bool,
}

impl Pausing {
    /// True when the pending read was started before it was needed.
    pub(super) fn is_ahead(&self) -> bool {
        self.is_ahead
    }

    /// Discards the pause, as the scan is placed anew.
    pub(super) fn forget(&mut self) {
        (self.paused, self.started, self.is_ahead) = (None, None, false);
    }
}
