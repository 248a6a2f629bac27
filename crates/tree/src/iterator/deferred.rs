//! Reads of children that a merge does not need yet.
//!
//! ```text
//! child 0   |--a--b--c--|                     its first read reaches to c
//! child 1        |-b---d-|                    begins within it: read together with child 0's
//! child 2                      |--p--q--      `bound` p lies behind c: deferred, until the merge comes to p
//! ```
//!
//! A child with a pending read may know a lower bound of its keys, from the row bounds or separators of its index or
//! from the smallest key of its file. It is then ordered in the heap by that bound, and read when it reaches the top.
//! Its range tombstones are known meanwhile, as its file is open.
//!
//! A read is deferred if that costs no further round of reads, or only one that the scan may never reach:
//! - every child with a pending read begins behind an entry that is in memory: nothing has to be read now;
//! - the child begins behind what another one reads first, which is sized by a limit hint, or by how far the scan went.
//!   A read that the bounds prove to be needed is not deferred.
//!
//! A child that turns out to have an entry before that bound (a MANIFEST with wrong bounds) is corrupt: the scan ends
//! with an error.
//!
//! A merge always reaches an entry or its end, whatever the caches evict: a child that reaches the top is read, in at
//! most [`MAX_ROUNDS`] rounds and then by itself, so that it is placed; or, with a limit, it waits again, but only
//! under a key strictly behind its former one. The other children that are planned with it wait again under the same
//! key or a later one, never an earlier one: the bound of a child is kept (`waited`) even if the index partition that
//! gave it is evicted. Tables have finitely many such keys, so each child reaches the top finitely many times before it
//! is placed.
//!
//! While other children need index partitions, reads of data that may be deferred wait for them: they are made with the
//! data reads of the others, in the same round as without deferring.

use super::limit::{MergePosition, RowLimit};
use super::source::TombstoneIterator;
use ferrock_base::comparator::InternalComparator;
use ferrock_base::internal_key::{append_internal_key, user_key};
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use ferrock_base::{Error, OwnedSeekTarget, Result, SeekTarget};
use ferrock_table::{ScanEstimate, ScanRead};
use ferrock_vfs::RandomAccessFile;
use std::cmp::Ordering;
use std::sync::Arc;

pub(super) type Reads = Vec<(usize, ScanRead)>;

/// The pending read of a child, with the estimate of the rows ahead.
#[derive(Debug)]
struct EstimatedRead {
    child: usize,
    read: ScanRead,
    estimate: ScanEstimate,
}

/// A child whose read is deferred.
#[derive(Debug)]
struct DeferredChild {
    /// The read, and the target for which it was planned; `None`: the child stands on the entry before, and reads in
    /// its next step (`limit.rs`).
    read: Option<(ScanRead, OwnedSeekTarget)>,
    /// The internal key by which it is ordered: in the direction of the scan, before all entries of its user key.
    key: Vec<u8>,
}

/// The bound by which a deferred child was ordered: none of its entries comes before `key`.
#[derive(Debug)]
pub(super) struct ChildBound {
    pub(super) child: usize,
    key: Vec<u8>,
    file: Arc<dyn RandomAccessFile>,
}

impl ChildBound {
    /// # Errors
    /// `Corruption` when the child has such an entry: rows behind it were shown already.
    pub(super) fn check<I: TombstoneIterator>(
        &self,
        order: &InternalComparator,
        place: SeekTarget<'_>,
        child: &I,
    ) -> Result<()> {
        if child.valid() && comes_before(order, place, user_key(child.key()), user_key(&self.key)) {
            let message = "the table has a key outside the bounds that its index or the MANIFEST gives; run a \
                           verification of the database, and restore or repair it";
            return Err(Error::corruption(message).in_file(self.file.path()));
        }
        Ok(())
    }
}

/// The child that reached the top of the heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Winner {
    child: usize,
    /// True if the child may wait again, under a later key than before; otherwise it is read in any case.
    pub(super) may_wait_further: bool,
}

impl Winner {
    pub(super) fn new(child: usize) -> Self {
        Self { child, may_wait_further: false }
    }
}

/// Places children, defers reads that are not needed yet, and holds them.
#[derive(Debug, Default)]
pub(super) struct DeferredReads {
    /// False: no read is deferred.
    is_enabled: bool,
    /// Indexed by child; may be shorter than the list of children.
    slots: Vec<Option<DeferredChild>>,
    count: usize,
    /// Indexed by child: the last placement in which it waited, and the key under which it waited when it reached the
    /// top.
    waited: Vec<Option<(OwnedSeekTarget, Vec<u8>)>>,
    limit: Option<RowLimit>,
    /// Rows that were shown since the scan was placed.
    pub(super) rows_shown: u64,
}

impl DeferredReads {
    pub(super) fn enable(&mut self) {
        self.is_enabled = true;
    }

    pub(super) fn set_limit(&mut self, limit: Option<RowLimit>) {
        self.limit = limit;
        self.rows_shown = 0;
    }

    #[inline]
    pub(super) fn has_limit(&self) -> bool {
        self.limit.is_some()
    }

    /// Rows that are still to be shown.
    pub(super) fn rows_missing(&self) -> u64 {
        self.limit.as_ref().map_or(0, |limit| limit.rows.saturating_sub(self.rows_shown))
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The key of a deferred child; `None` for others.
    #[inline]
    pub(super) fn key(&self, child: usize) -> Option<&[u8]> {
        self.slots.get(child)?.as_ref().map(|deferred| &deferred.key[..])
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.waited.clear();
        if self.count > 0 {
            self.count = 0;
            self.slots.clear();
        }
    }

    /// Removes a child, which is being placed in another way.
    pub(super) fn forget(&mut self, child: usize) {
        if self.slots.get_mut(child).and_then(Option::take).is_some() {
            self.count -= 1;
        }
    }

    /// Moves some children forward to a target; those that have to read for that wait until the merge reaches the
    /// target.
    pub(super) fn move_on<I: TombstoneIterator>(
        &mut self,
        order: &InternalComparator,
        children: &mut [I],
        place: SeekTarget<'_>,
        which: &[usize],
    ) {
        for &child in which {
            self.forget(child);
            children[child].place(place, false);
            let Some(read) = pending_or_resumed(&mut children[child]) else { continue };
            let mut estimate = children[child].estimate(place, Some(&read));
            if let Some(target) = place.target().map(user_key) {
                let known = estimate.bound.take().filter(|bound| comes_before(order, place, target, bound));
                estimate.bound = known.or_else(|| Some(target.to_vec()));
            }
            self.push(order, place, EstimatedRead { child, read, estimate });
        }
    }

    /// Takes the children deferred together with the winner: the target of their placement, and the bound of each.
    pub(super) fn take_with(&mut self, winner: usize) -> Option<(OwnedSeekTarget, Vec<ChildBound>)> {
        let kept = self.slots.get(winner)?.as_ref()?.read.as_ref()?.1.clone();
        let mut taken = Vec::new();
        for (child, slot) in self.slots.iter_mut().enumerate() {
            let is_placed_so = |slot: &mut DeferredChild| slot.read.as_ref().is_some_and(|(_, place)| *place == kept);
            let Some(DeferredChild { read: Some((read, _)), key }) = slot.take_if(is_placed_so) else { continue };
            self.count -= 1;
            if self.waited.len() <= child {
                self.waited.resize_with(child + 1, || None);
            }
            self.waited[child] = Some((kept.clone(), key.clone()));
            let file = Arc::clone(&read.file);
            taken.push(ChildBound { child, key, file });
        }
        Some((kept, taken))
    }

    /// Defers the next step of a child, under a user key that is a lower bound of its next entries. With `is_last`, it
    /// is ordered by the last entry that the key can have, else by the first.
    pub(super) fn push_step(&mut self, child: usize, user_key: &[u8], is_last: bool) {
        let mut key = Vec::with_capacity(user_key.len() + 8);
        if is_last {
            append_internal_key(&mut key, user_key, SequenceNumber(0), ValueType::FOR_SEEK_FOR_PREV);
        } else {
            append_internal_key(&mut key, user_key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
        }
        self.put(child, DeferredChild { read: None, key });
    }

    /// Makes the deferred step of a child; false if the child has no deferred step.
    pub(super) fn take_step<I: TombstoneIterator>(
        &mut self,
        order: &InternalComparator,
        children: &mut [I],
        child: usize,
        is_backward: bool,
    ) -> bool {
        let is_step = |slot: &mut DeferredChild| slot.read.is_none();
        if self.slots.get_mut(child).and_then(|slot| slot.take_if(is_step)).is_none() {
            return false;
        }
        self.count -= 1;
        if let Some(limit) = &self.limit {
            let from = Some(user_key(children[child].key()));
            let missing = self.rows_missing();
            let blocks =
                MergePosition { order, limit, missing, from, is_backward }.guaranteed_blocks(children, child, true);
            children[child].allow_blocks(blocks);
        }
        if is_backward {
            children[child].prev();
        } else {
            children[child].next();
        }
        true
    }

    /// With a limit: sizes each data read to the blocks that are needed for certain.
    pub(super) fn size_reads<I: TombstoneIterator>(
        &self,
        order: &InternalComparator,
        children: &mut [I],
        place: SeekTarget<'_>,
        pending: Reads,
    ) -> Reads {
        let Some(limit) = &self.limit else { return pending };
        let (missing, from, is_backward) = (self.rows_missing(), place.target().map(user_key), place.is_backward());
        let position = MergePosition { order, limit, missing, from, is_backward };
        let size = |(child, read): (usize, ScanRead)| {
            let blocks = if read.is_of_metadata() { 1 } else { position.guaranteed_blocks(children, child, true) };
            if blocks < 2 {
                return Some((child, read));
            }
            children[child].allow_blocks(blocks);
            children[child].resume(false);
            Some((child, pending_or_resumed(&mut children[child])?))
        };
        pending.into_iter().filter_map(size).collect()
    }

    /// Splits pending reads into those to be made in this round and those in a later one; the others are deferred.
    /// `is_with_others`: the round is made for other merges, too, so none of its reads waits for a later one.
    pub(super) fn choose<I: TombstoneIterator>(
        &mut self,
        order: &InternalComparator,
        children: &[I],
        place: SeekTarget<'_>,
        pending: Reads,
        winner: Option<Winner>,
        is_with_others: bool,
    ) -> (Reads, Reads) {
        if !self.is_enabled {
            return (pending, Vec::new());
        }
        let known = with_estimates(children, place, pending);
        if is_with_others {
            let known = self.defer_unreached(order, children, place, known, winner);
            return (known.into_iter().map(|pending| (pending.child, pending.read)).collect(), Vec::new());
        }
        let known = self.defer_all(order, children, place, known, winner);
        let known = self.defer_unreached(order, children, place, known, winner);
        hold_for_index_reads(order, place, known)
    }

    /// Defers all if an entry in memory comes before all their bounds.
    fn defer_all<I: TombstoneIterator>(
        &mut self,
        order: &InternalComparator,
        children: &[I],
        place: SeekTarget<'_>,
        pending: Vec<EstimatedRead>,
        winner: Option<Winner>,
    ) -> Vec<EstimatedRead> {
        let is_before = |a: &[u8], b: &[u8]| comes_before(order, place, a, b);
        // A child with a deferred step stands on an entry that the merge has passed.
        let is_ahead = |&(index, child): &(usize, &I)| child.valid() && self.key(index).is_none();
        let in_memory = children.iter().enumerate().filter(is_ahead).map(|(_, child)| user_key(child.key()));
        let Some(first) = in_memory.reduce(|a, b| if is_before(b, a) { b } else { a }) else { return pending };
        let are_behind = pending.iter().all(|pending| {
            !self.holds(order, place, winner, pending)
                && pending.estimate.bound.as_ref().is_some_and(|bound| is_before(first, bound))
        });
        if are_behind {
            pending.into_iter().for_each(|pending| self.push(order, place, pending));
            return Vec::new();
        }
        pending
    }

    /// Defers the reads of children that begin behind the first read of another child.
    fn defer_unreached<I: TombstoneIterator>(
        &mut self,
        order: &InternalComparator,
        children: &[I],
        place: SeekTarget<'_>,
        pending: Vec<EstimatedRead>,
        winner: Option<Winner>,
    ) -> Vec<EstimatedRead> {
        let is_before = |a: &[u8], b: &[u8]| comes_before(order, place, a, b);
        if !pending.iter().any(|pending| may_wait(order, place, pending)) {
            return pending;
        }
        if let Some(limit) = &self.limit {
            let (missing, from, is_backward) = (self.rows_missing(), place.target().map(user_key), place.is_backward());
            let position = MergePosition { order, limit, missing, from, is_backward };
            let (needed, unsure): (Vec<_>, Vec<_>) = pending.into_iter().partition(|pending| {
                self.holds(order, place, winner, pending)
                    || !may_wait(order, place, pending)
                    || position.guaranteed_blocks(children, pending.child, false) > 0
            });
            unsure.into_iter().for_each(|pending| self.push(order, place, pending));
            return needed;
        }
        let placed =
            children.iter().filter(|child| child.valid()).filter_map(|child| child.estimate(place, None).reach);
        let planned = pending.iter().filter_map(|pending| pending.estimate.reach.clone());
        let Some(reach) = placed.chain(planned).reduce(|a, b| if is_before(&b, &a) { b } else { a }) else {
            return pending;
        };
        let is_needed = |pending: &EstimatedRead| {
            self.holds(order, place, winner, pending)
                || !may_wait(order, place, pending)
                || pending.estimate.bound.as_ref().is_none_or(|bound| !is_before(&reach, bound))
        };
        let (needed, unreached): (Vec<_>, Vec<_>) = pending.into_iter().partition(is_needed);
        unreached.into_iter().for_each(|pending| self.push(order, place, pending));
        needed
    }

    /// True for a winner that must not wait again.
    fn holds(
        &self,
        order: &InternalComparator,
        place: SeekTarget<'_>,
        winner: Option<Winner>,
        pending: &EstimatedRead,
    ) -> bool {
        let Some(winner) = winner.filter(|winner| winner.child == pending.child) else { return false };
        let is_further = || {
            let waited = self.waited_under(pending.child, place).map(user_key);
            pending
                .estimate
                .bound
                .as_ref()
                .is_some_and(|bound| waited.is_some_and(|waited| comes_before(order, place, waited, bound)))
        };
        !(winner.may_wait_further && is_further())
    }

    /// The key under which a child waited for a target.
    fn waited_under(&self, child: usize, place: SeekTarget<'_>) -> Option<&[u8]> {
        let (kept, key) = self.waited.get(child)?.as_ref()?;
        (kept.place() == place).then_some(&key[..])
    }

    /// Defers a child under the lower bound of its keys, but not under an earlier key than before.
    fn push(&mut self, order: &InternalComparator, place: SeekTarget<'_>, mut pending: EstimatedRead) {
        let Some(mut bound) = pending.estimate.bound.take() else { return };
        if let Some(waited) = self.waited_under(pending.child, place).map(user_key)
            && comes_before(order, place, &bound, waited)
        {
            bound = waited.to_vec();
        }
        self.forget(pending.child);
        let mut key = Vec::with_capacity(bound.len() + 8);
        if place.is_backward() {
            append_internal_key(&mut key, &bound, SequenceNumber(0), ValueType::FOR_SEEK_FOR_PREV);
        } else {
            append_internal_key(&mut key, &bound, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
        }
        self.put(pending.child, DeferredChild { read: Some((pending.read, OwnedSeekTarget::new(place))), key });
    }

    fn put(&mut self, child: usize, deferred: DeferredChild) {
        if self.slots.len() <= child {
            self.slots.resize_with(child + 1, || None);
        }
        self.slots[child] = Some(deferred);
        self.count += 1;
    }
}

fn with_estimates<I: TombstoneIterator>(
    children: &[I],
    place: SeekTarget<'_>,
    pending: Vec<(usize, ScanRead)>,
) -> Vec<EstimatedRead> {
    let with_estimate = |(child, read): (usize, ScanRead)| {
        let estimate = children[child].estimate(place, Some(&read));
        EstimatedRead { child, read, estimate }
    };
    pending.into_iter().map(with_estimate).collect()
}

/// The read that a child is paused for. A child that has to read for itself does so.
fn pending_or_resumed<I: TombstoneIterator>(child: &mut I) -> Option<ScanRead> {
    let read = child.pending_read();
    if read.is_none() && child.is_paused() {
        child.resume(true);
    }
    read
}

/// True when the entry `a` comes before `b`, two user keys, on the way from a place.
fn comes_before(order: &InternalComparator, place: SeekTarget<'_>, a: &[u8], b: &[u8]) -> bool {
    let wanted = if place.is_backward() { Ordering::Greater } else { Ordering::Less };
    order.user().compare(a, b) == wanted
}

/// True for a child that begins behind the target, and whose read does not cover the whole range of the scan.
fn may_wait(order: &InternalComparator, place: SeekTarget<'_>, pending: &EstimatedRead) -> bool {
    let is_behind =
        |bound: &Vec<u8>| place.target().is_none_or(|target| comes_before(order, place, user_key(target), bound));
    !pending.estimate.is_whole_range && pending.estimate.bound.as_ref().is_some_and(is_behind)
}

/// Reads to make, and reads of data that wait for a round in which the others' indexes are known.
fn hold_for_index_reads(
    order: &InternalComparator,
    place: SeekTarget<'_>,
    pending: Vec<EstimatedRead>,
) -> (Reads, Reads) {
    let needs_index = pending.iter().any(|pending| pending.read.is_of_metadata());
    let (held, now): (Vec<_>, Vec<_>) = pending
        .into_iter()
        .partition(|pending| needs_index && !pending.read.is_of_metadata() && may_wait(order, place, pending));
    let reads =
        |pending: Vec<EstimatedRead>| pending.into_iter().map(|pending| (pending.child, pending.read)).collect();
    (reads(now), reads(held))
}

#[cfg(test)]
mod tests;
