//! How far a scan with a limit hint is: how many blocks it may still read for the rows that are hinted at.
//!
//! ```text
//! placed --> first read: the blocks of the hint, less those found in the cache --> the rest, a request at a time
//!        \-> with an exact limit: as many as are needed for certain, told before each read
//! ```

/// The progress of a scan towards its limit hint.
#[derive(Debug)]
pub(super) struct LimitProgress {
    hint: HintProgress,
    /// Blocks found in the cache since the iterator was placed, if it has a limit hint.
    found_blocks: u64,
    /// Blocks that the limit hint of the file before asks for, for the first read of this one.
    carried_blocks: Option<u64>,
    /// With an exact limit: blocks that the next read may bring; 0: the limit was passed.
    guaranteed_blocks: u64,
}

/// What a planned read leaves of a limit hint.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HintProgress {
    /// Blocks that the hint still asks for; `None` when the iterator has read nothing since it was placed.
    blocks: Option<u64>,
    /// The scan went on behind what the hint asked for.
    is_passed: bool,
}

impl Default for LimitProgress {
    fn default() -> Self {
        Self { hint: HintProgress::default(), found_blocks: 0, carried_blocks: None, guaranteed_blocks: 1 }
    }
}

impl LimitProgress {
    /// Begins anew, as the scan is placed.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.hint = HintProgress { blocks: self.carried_blocks.take(), is_passed: false };
        self.found_blocks = 0;
    }

    /// Goes on with what the scan of the file before left of the hint.
    pub(super) fn continue_from(&mut self, previous: &Self) {
        self.carried_blocks = previous.hint.blocks;
    }

    /// What the first read takes over from the file before.
    pub(super) fn carried_blocks(&self) -> Option<u64> {
        self.carried_blocks
    }

    /// Sets that, for a placement that is made again.
    pub(super) fn set_carried_blocks(&mut self, blocks: Option<u64>) {
        self.carried_blocks = blocks;
    }

    /// Counts a block that was found in the cache.
    pub(super) fn note_found(&mut self) {
        self.found_blocks += 1;
    }

    /// With an exact limit: lets the next read bring so many blocks; 0: the limit was passed.
    pub(super) fn allow(&mut self, blocks: u64) {
        self.guaranteed_blocks = blocks;
    }

    /// True when the scan has read for its hint since it was placed.
    pub(super) fn has_read(&self) -> bool {
        self.hint.blocks.is_some()
    }

    /// True when the scan went on behind what the hint asked for.
    pub(super) fn is_passed(&self) -> bool {
        self.hint.is_passed
    }

    /// What is left of the hint.
    pub(super) fn hint(&self) -> HintProgress {
        self.hint
    }

    /// Returns to what a planned read leaves of the hint.
    pub(super) fn set_hint(&mut self, hint: HintProgress) {
        self.hint = hint;
    }

    /// Blocks that the next read brings behind the one that is needed; `None`: the limit is behind the scan. `hinted`:
    /// what the hint asks for in all.
    ///
    /// Behind the limit the first read is of one block: where a row backwards is the first one of its block, it takes
    /// the block before to know that the row has no newer version.
    pub(super) fn take_blocks(&mut self, hinted: u64, is_exact: bool) -> Option<u64> {
        let blocks = if is_exact {
            std::mem::replace(&mut self.guaranteed_blocks, 1)
        } else {
            // Blocks found in the cache since the placement count toward the rows.
            self.hint.blocks.unwrap_or_else(|| hinted.saturating_sub(self.found_blocks).max(1))
        };
        if blocks == 0 && std::mem::replace(&mut self.hint.is_passed, true) {
            return None;
        }
        Some(blocks.saturating_sub(1))
    }

    /// Records the blocks that the read leaves for the next one.
    pub(super) fn set_left(&mut self, blocks: u64, is_exact: bool) {
        self.hint.blocks = Some(blocks).filter(|_| !is_exact);
    }
}
