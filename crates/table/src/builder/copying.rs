//! Blocks that are stored as an input of a merge stores them, and early ends of blocks so that the next ones can be.
//!
//! ```text
//! credit      each copied block +1    each early end -4    each 16th block +1     between 0 and 32, at first 3
//! price       an early end behind which no block is copied: the next one takes 8, 16 ... 32
//! patience    a look in vain: the next 1, 2, 4 ... 64 blocks that inputs come to are not looked at
//! ```
//!
//! An early end costs an entry of the index and some compression, and pays where blocks behind it are copied. So there
//! is about one for four blocks that were copied, and next to none where blocks have another size or form than those of
//! the inputs, so that none is ever equal. Where entries of several inputs alternate, there is soon no look at
//! most of the blocks that inputs come to: a look compares keys of all inputs.
//!
//! However little a block has, it may end early. A new key among keys of one size moves all ends of blocks by an entry,
//! so that is what most open blocks have where a run begins; and one that is not ended has as much again where the next
//! block of the run begins, block for block. Each early end makes one block more, whatever is in it.

use super::TableBuilderParams;
use super::block_cut::BlockCut;
use crate::stored_blocks::{CopiedBlocks, StoredBlocks, StoredPayload};
use bytes::Bytes;
use ferrock_base::InternalComparator;
use std::sync::Arc;

const MOST_CREDIT: u32 = 32;
/// What an early end takes of the credit, where the one before was of use.
const PRICE: u32 = 4;
/// Blocks that are cut for each credit that is not earned by a copy.
const BLOCKS_PER_CREDIT: u32 = 16;
/// Blocks of inputs that are passed over after looks in vain, at most.
const MOST_SKIPPED: u32 = 64;

/// What is known of the block that ended early last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EarlyEnd {
    /// Whether it was of use, or there was none.
    Judged,
    /// It is being cut.
    Open,
    /// The block behind it, which tells, is not cut yet.
    Behind,
}

/// Copies blocks into one table.
#[derive(Debug)]
pub(super) struct Copying {
    stored: Arc<StoredBlocks>,
    copied: CopiedBlocks,
    /// False where other rules say where blocks end.
    may_end_early: bool,
    credit: u32,
    price: u32,
    last_early_end: EarlyEnd,
    cut_blocks: u32,
    /// Blocks of inputs that are not looked at, and as how many they were set.
    skipped: u32,
    next_skipped: u32,
}

impl Copying {
    /// `None` where nothing can be copied into tables of this form.
    pub(super) fn new(params: &TableBuilderParams, cut: &BlockCut) -> Option<Self> {
        let (kind, options) = (params.compression, &params.compression_options);
        let stored = params.stored_blocks.as_ref();
        let stored = stored.filter(|stored| stored.are_for(kind, options, params.options.format_version))?;
        Some(Self {
            stored: Arc::clone(stored),
            copied: CopiedBlocks::default(),
            may_end_early: cut.may_end_early(),
            credit: PRICE - 1,
            price: PRICE,
            last_early_end: EarlyEnd::Judged,
            cut_blocks: 0,
            skipped: 0,
            next_skipped: 1,
        })
    }

    /// What is stored for a block that was cut, if an input has it.
    pub(super) fn find(&mut self, block: &[u8]) -> Option<StoredPayload> {
        // Where a block of an input begins behind this one, it does so anyway.
        self.stored.skip_news();
        self.cut_blocks += 1;
        if self.cut_blocks >= BLOCKS_PER_CREDIT {
            (self.cut_blocks, self.credit) = (0, (self.credit + 1).min(MOST_CREDIT));
        }
        let found = self.stored.find(block);
        self.last_early_end = match self.last_early_end {
            EarlyEnd::Open => EarlyEnd::Behind,
            EarlyEnd::Behind => {
                self.price = if found.is_some() { PRICE } else { (2 * self.price).min(MOST_CREDIT) };
                EarlyEnd::Judged
            }
            EarlyEnd::Judged => EarlyEnd::Judged,
        };
        let payload = found?;
        self.credit = (self.credit + 1).min(MOST_CREDIT);
        let payload = payload.filter(|_| self.stored.copies())?;
        let bytes = payload.bytes().map_or(block.len(), Bytes::len) as u64;
        self.copied.absorb(CopiedBlocks { blocks: 1, bytes });
        Some(payload)
    }

    /// True when the open block is to end before this key, so that the next ones can be copied.
    #[inline]
    pub(super) fn ends_before(&mut self, internal_key: &[u8], order: &InternalComparator) -> bool {
        self.stored.has_news() && self.look(internal_key, order)
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, internal_key: &[u8], order: &InternalComparator) -> bool {
        if !self.may_end_early || self.credit < self.price || self.skipped > 0 {
            self.skipped = self.skipped.saturating_sub(1);
            self.stored.skip_news();
            return false;
        }
        if !self.stored.begins_run(internal_key, order) {
            self.skipped = self.next_skipped;
            self.next_skipped = (2 * self.next_skipped).min(MOST_SKIPPED);
            return false;
        }
        self.next_skipped = 1;
        self.credit -= self.price;
        self.last_early_end = EarlyEnd::Open;
        true
    }

    /// What was copied so far.
    pub(super) fn copied(&self) -> CopiedBlocks {
        self.copied
    }
}
