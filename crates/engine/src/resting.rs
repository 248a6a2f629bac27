//! Iterators at rest: what an iterator leaves to the next one that is made over the same memtables and tables.
//!
//! ```text
//! SuperVersion 7 --> slots [ - ][ iterator ][ - ] ...      one per thread (modulo), each on its own cache line
//!                              ^ holds memtables and version, not the SuperVersion
//! ```
//!
//! Making an iterator and dropping it took a third of the instructions of a scan of ten rows (docs/benchmarks.md). One
//! that is dropped goes into the slot of its thread, without blocks and bytes of files; the next one of the thread
//! takes it, if the options of its reads of tables are the same. A new SuperVersion begins with empty slots, and those
//! of the old one end with it: a resting iterator keeps nothing alive that would not be.
//!
//! Both ways, `take` and `end`, are inlined by force: the compiler stopped doing it when iterators began to be traced,
//! which took 29 of the 4,088 instructions of an iterator that is made, placed and dropped
//! (`cargo xtask instructions`).
//!
//! At most [`MAX_RESTING`] iterators of the process have a permit to rest; others are made and dropped. An iterator has
//! its permit for life, so that using it writes to no memory that threads share.

use crate::snapshot::Snapshot;
use crate::super_version::thread_ordinal;
use crate::sync::Slot;
use ferrock_table::{ReadStats, TableReadOptions};
use ferrock_tree::iterator::DbIterator;
use ferrock_tree::iterator::tables::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Slots of a SuperVersion in which an iterator has rested. More threads than this share.
const SLOTS: usize = 16;

/// Iterators of the process that may rest: at 2 KiB a table, 32 tables at most, no more than 8 MB, and one MB where
/// trees are in order.
const MAX_RESTING: usize = 128;

/// What an iterator keeps alive while it is in use: memtables, tables, and the snapshot it reads at.
pub(crate) struct IterOwner<S> {
    super_version: Option<Arc<S>>,
    _snapshot: Option<Snapshot>,
}

impl<S> Default for IterOwner<S> {
    fn default() -> Self {
        Self { super_version: None, _snapshot: None }
    }
}

impl<S: RestingPlace> IterOwner<S> {
    fn is_fit_for_rest(&self) -> bool {
        self.super_version.as_ref().is_some_and(|pinned| pinned.is_fit_for_rest())
    }
}

impl<S> IterOwner<S> {
    pub(crate) fn new(super_version: &Arc<S>, snapshot: Option<Snapshot>) -> Self {
        Self { super_version: Some(Arc::clone(super_version)), _snapshot: snapshot }
    }
}

/// What iterators are made over, and rest in: a SuperVersion.
pub(crate) trait RestingPlace: Sized {
    /// Those that rest.
    fn resting(&self) -> &RestingIterators<Self>;
    /// False where iterators that rested would not show what new ones do.
    fn is_fit_for_rest(&self) -> bool;
}

/// An iterator with all that it is used with.
pub(crate) struct IterCore<S> {
    pub(crate) iter: DbIterator<Child, IterOwner<S>>,
    /// Where its placements are counted, as those of the thread that made it.
    pub(crate) reads: (Arc<ReadStats>, usize),
    /// With these options its tables are read.
    pub(crate) table_options: TableReadOptions,
    /// It may rest when it is dropped.
    pub(crate) may_rest: bool,
    permit: Option<RestPermit>,
}

impl<S: RestingPlace> IterCore<S> {
    pub(crate) fn new(
        iter: DbIterator<Child, IterOwner<S>>,
        reads: (Arc<ReadStats>, usize),
        table_options: TableReadOptions,
        may_rest: bool,
    ) -> Box<Self> {
        Box::new(Self { iter, reads, table_options, may_rest, permit: None })
    }

    /// Ends an iteration. The iterator rests until the next one, or is dropped.
    #[inline(always)]
    pub(crate) fn end(mut self: Box<Self>) {
        // No two reads have the same deadline.
        if !self.may_rest || self.table_options.deadline_us > 0 || !self.iter.owner().is_fit_for_rest() {
            return;
        }
        self.permit = self.permit.take().or_else(RestPermit::find);
        if self.permit.is_none() {
            return;
        }
        // Dropped last: it may be what keeps the slots.
        let Some(owner) = self.iter.rest() else { return };
        if let Some(pinned) = &owner.super_version {
            pinned.resting().put(thread_ordinal(), self);
        }
    }
}

/// The right to rest.
struct RestPermit;

static TAKEN: AtomicUsize = AtomicUsize::new(0);

impl RestPermit {
    #[cold]
    fn find() -> Option<Self> {
        let more = |taken: usize| (taken < MAX_RESTING).then(|| taken + 1);
        TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self)
    }
}

impl Drop for RestPermit {
    fn drop(&mut self) {
        TAKEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The iterators of one SuperVersion that rest.
pub(crate) struct RestingIterators<S>(OnceLock<Box<[PaddedSlot<S>]>>);

impl<S> Default for RestingIterators<S> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

/// A slot on a cache line of its own.
#[repr(align(128))]
struct PaddedSlot<S>(Slot<IterCore<S>>);

impl<S> RestingIterators<S> {
    /// The iterator that a thread left, if it reads tables so.
    #[inline(always)]
    pub(crate) fn take(&self, thread: usize, table_options: &TableReadOptions) -> Option<Box<IterCore<S>>> {
        let slot = &self.0.get()?[thread % SLOTS].0;
        let core = slot.take()?;
        if core.table_options == *table_options {
            return Some(core);
        }
        drop(slot.swap(Some(core)));
        None
    }

    fn put(&self, thread: usize, core: Box<IterCore<S>>) {
        let slots = self.0.get_or_init(|| (0..SLOTS).map(|_| PaddedSlot(Slot::new(None))).collect());
        drop(slots[thread % SLOTS].0.swap(Some(core)));
    }
}

#[cfg(test)]
mod tests;
