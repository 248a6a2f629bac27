//! Many sorted sources as one.
//!
//! ```text
//! winner (current child) | heap of the losers, the runner-up on top
//!                        | each with the head of its key: 8 bytes behind the prefix that all keys share
//! ```
//!
//! While the winner stays the winner, `next` costs one comparison of two integers; only equal heads look at the keys. A
//! tree of losers would need a replay per step, a plain heap two comparisons. When one child is left, the heap is empty
//! and calls go to the child.
//!
//! Invariants
//! - Every valid child is either `current` or in the heap; all stand on the current side of the direction. So does
//!   every child whose read is deferred (`deferred.rs`), in the heap only, by a key before its entries.
//! - Of equal keys the one of the newer child (lower index) comes first, going forward.
//! - A child that stops with an error invalidates the merge: entries that the child hides must not reappear.

use super::deferred::DeferredReads;
use super::pause_state::Pausing;
use super::source::TombstoneIterator;
use ferrock_base::comparator::{Comparator, InternalComparator};
use ferrock_base::internal_key::user_key;
use ferrock_base::iterator::InternalIterator;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{Error, Result, SeekTarget};
use ferrock_statistics::{PerfMetric, PerfRecorder};
use ferrock_table::{PlannedRead, ScanBounds};
use ferrock_vfs::ReadBuffer;
use std::cmp::Ordering;
use std::sync::Arc;

/// How the eight bytes of a key that are compared first are taken.
#[derive(Clone, Debug)]
struct HeadRule {
    /// For other than the built-in orders all heads are 0.
    usable: bool,
    reversed: bool,
    /// Prefix of all the children's keys. A key without it gets the lowest or the highest head, so that heads always
    /// agree with the order, if only by being equal.
    prefix: Vec<u8>,
}

impl HeadRule {
    fn new(order: &Comparator) -> Self {
        let (usable, reversed) = match order {
            Comparator::Bytewise => (true, false),
            Comparator::ReverseBytewise => (true, true),
            Comparator::Custom(_) => (false, false),
        };
        Self { usable, reversed, prefix: Vec::new() }
    }

    #[inline]
    fn head(&self, key: &[u8]) -> u64 {
        if !self.usable {
            return 0;
        }
        let head = match key.strip_prefix(&self.prefix[..]) {
            Some(rest) => first_eight(rest),
            None if key < &self.prefix[..] => 0,
            None => u64::MAX,
        };
        if self.reversed { !head } else { head }
    }
}

#[inline]
fn first_eight(bytes: &[u8]) -> u64 {
    if let Some(chunk) = bytes.first_chunk::<8>() {
        return u64::from_be_bytes(*chunk);
    }
    let mut padded = [0; 8];
    padded[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(padded)
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    head: u64,
    child: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// Merges children, newest first, into one sorted stream.
#[derive(Debug)]
pub struct MergingIterator<I> {
    pub(super) order: InternalComparator,
    pub(super) children: Vec<I>,
    pub(super) current: Option<usize>,
    heap: Vec<Entry>,
    pub(super) direction: Direction,
    rule: HeadRule,
    pub(super) error: Option<Error>,
    /// Some child has range tombstones.
    tombstones: bool,
    pub(super) deferred: DeferredReads,
    pub(super) pausing: Pausing,
    scratch: Vec<u8>,
}

impl<I: TombstoneIterator> MergingIterator<I> {
    /// Merges `children`, which are ordered newest first.
    #[must_use]
    pub fn new(order: InternalComparator, children: Vec<I>) -> Self {
        let rule = HeadRule::new(order.user());
        let heap = Vec::with_capacity(children.len());
        Self {
            order,
            children,
            current: None,
            heap,
            direction: Direction::Forward,
            rule,
            error: None,
            tombstones: false,
            deferred: DeferredReads::default(),
            pausing: Pausing::default(),
            scratch: Vec::new(),
        }
    }

    /// Defers reads of children that the merge may never reach. For scans that may stop anywhere.
    #[must_use]
    pub fn deferring_reads(mut self) -> Self {
        self.deferred.enable();
        self
    }

    /// The child that the iterator stands on.
    #[inline]
    #[must_use]
    pub fn current_child(&self) -> Option<&I> {
        self.current.map(|child| &self.children[child])
    }

    /// True when the iterator stands on the newest child.
    #[inline]
    pub(super) fn stands_on_newest_child(&self) -> bool {
        self.current == Some(0)
    }

    /// Places the newest child at the current key again, so that it shows what was inserted since it was placed. For
    /// memtables.
    pub(super) fn place_newest_child_again(&mut self) {
        let Some(current) = self.current else { return };
        let mut target = std::mem::take(&mut self.scratch);
        target.clear();
        target.extend_from_slice(self.children[current].key());
        if let Some(newest) = self.children.first_mut() {
            newest.place(SeekTarget::AtOrAfter(&target), true);
        }
        self.scratch = target;
        self.rebuild();
    }

    /// False when no child has shown a range tombstone yet.
    #[inline]
    #[must_use]
    pub fn has_range_tombstones(&self) -> bool {
        self.tombstones
    }

    /// The newest range tombstone over the current entry that a reader at `upper` sees.
    #[inline]
    #[must_use]
    pub fn covering_sequence(&self, upper: SequenceNumber) -> Option<SequenceNumber> {
        if !self.tombstones {
            return None;
        }
        self.covering_sequence_of_children(upper)
    }

    fn covering_sequence_of_children(&self, upper: SequenceNumber) -> Option<SequenceNumber> {
        let key = self.children[self.current?].key();
        self.children
            .iter()
            .filter(|child| child.has_range_tombstones())
            .filter_map(|child| child.covering_sequence(key, upper))
            .max()
    }

    /// Skips forward over the entries that range tombstones visible at `upper` delete from the current entry on. False
    /// if nothing moved.
    pub fn skip_covered_forward(&mut self, upper: SequenceNumber) -> bool {
        self.skip_covered(upper, I::covered_until, Ordering::Less)
    }

    /// The same backward.
    pub fn skip_covered_backward(&mut self, upper: SequenceNumber) -> bool {
        self.skip_covered(upper, I::covered_from, Ordering::Greater)
    }

    /// Only children older than the tombstone's may skip: entries of the tombstone's own source or a newer one may be
    /// newer than the tombstone. Children whose keys compare to the end of the coverage as `within` move there.
    #[inline]
    fn skip_covered(
        &mut self,
        upper: SequenceNumber,
        covered: impl Fn(&I, &[u8], SequenceNumber, &mut Vec<u8>) -> bool,
        within: Ordering,
    ) -> bool {
        let Some(current) = self.current else { return false };
        let mut target = std::mem::take(&mut self.scratch);
        let mut leaping = Vec::new();
        let key = self.children[current].key();
        if let Some(index) = (0..current).find(|&index| covered(&self.children[index], key, upper, &mut target)) {
            leaping.extend((index + 1..self.children.len()).filter(|&older| {
                let deferred = if self.deferred.is_empty() { None } else { self.deferred.key(older) };
                let child = &self.children[older];
                let key = deferred.or_else(|| child.valid().then(|| child.key()));
                key.is_some_and(|key| self.order.compare(key, &target) == within)
            }));
        }
        let place =
            if within == Ordering::Less { SeekTarget::AtOrAfter(&target) } else { SeekTarget::AtOrBefore(&target) };
        if self.deferred.has_limit() {
            self.deferred.move_on(&self.order, &mut self.children, place, &leaping);
        } else {
            for &child in &leaping {
                self.children[child].place(place, true);
                self.deferred.forget(child);
            }
        }
        let moved = !leaping.is_empty();
        if let Some(perf) = PerfRecorder::of_thread().filter(|_| moved) {
            perf.add(PerfMetric::InternalRangeDelReseekCount, leaping.len() as u64);
        }
        self.scratch = target;
        if moved {
            self.rebuild();
        }
        moved
    }

    /// Stops at an error of a child: permanently, or until the child is resumed.
    #[cold]
    pub(super) fn stop(&mut self, error: Error) {
        if self.pausing.pauses_for(&error) {
            self.current = None;
            self.heap.clear();
            self.pause();
        } else {
            self.fail(error);
        }
    }

    pub(super) fn fail(&mut self, error: Error) {
        self.current = None;
        self.heap.clear();
        self.deferred.clear();
        self.pausing.clear();
        self.error = Some(error);
    }

    /// The key that a child is ordered by.
    #[inline]
    fn key_of(&self, child: usize) -> &[u8] {
        let deferred = if self.deferred.is_empty() { None } else { self.deferred.key(child) };
        deferred.unwrap_or_else(|| self.children[child].key())
    }

    /// The order of two children by their keys, ties by age, in the current direction.
    fn compare_keys(&self, a: usize, b: usize) -> Ordering {
        let order = self.order.compare(self.key_of(a), self.key_of(b)).then(a.cmp(&b));
        if self.direction == Direction::Forward { order } else { order.reverse() }
    }

    /// True when `a` comes before `b` in the current direction.
    #[inline]
    fn before(&self, a: Entry, b: Entry) -> bool {
        if a.head != b.head {
            return (a.head < b.head) == (self.direction == Direction::Forward);
        }
        self.compare_keys(a.child, b.child).is_lt()
    }

    fn sift_down(&mut self, mut at: usize) {
        let entry = self.heap[at];
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.before(self.heap[child + 1], self.heap[child]) {
                child += 1;
            }
            if !self.before(self.heap[child], entry) {
                break;
            }
            self.heap[at] = self.heap[child];
            at = child;
        }
        self.heap[at] = entry;
    }

    /// Orders the children anew.
    pub(super) fn rebuild(&mut self) {
        self.order_children();
        self.enter_deferred();
    }

    /// Makes deferred reads of winners until the winner stands on an entry.
    #[inline]
    pub(super) fn enter_deferred(&mut self) {
        if !self.deferred.is_empty() {
            self.enter_deferred_winners();
        }
    }

    #[cold]
    fn enter_deferred_winners(&mut self) {
        while let Some(current) = self.current.filter(|&current| self.deferred.key(current).is_some()) {
            if self.takes_waiting_step(current) {
                self.order_children();
                continue;
            }
            self.begin_deferred(current);
            if !self.place_rest() {
                return;
            }
            self.order_children();
        }
    }

    /// Puts the children in order.
    fn order_children(&mut self) {
        self.current = None;
        self.heap.clear();
        for (index, child) in self.children.iter().enumerate() {
            self.tombstones |= child.has_range_tombstones();
            if child.valid() || !self.deferred.is_empty() && self.deferred.key(index).is_some() {
                self.heap.push(Entry { head: 0, child: index });
            } else if let Err(error) = child.status() {
                return self.stop(error);
            }
        }
        self.rule.prefix.clear();
        if self.heap.len() > 1 {
            self.order_heap();
        }
        self.pop_winner();
    }

    /// Takes the prefix that the keys of all valid children share and orders the heap by what follows it.
    fn order_heap(&mut self) {
        if self.rule.usable {
            let keys = self.heap.iter().map(|entry| user_key(self.key_of(entry.child)));
            let prefix = keys.reduce(shared_prefix).unwrap_or_default();
            let length = prefix.len();
            let mut shared = std::mem::take(&mut self.rule.prefix);
            shared.extend_from_slice(&user_key(self.key_of(self.heap[0].child))[..length]);
            self.rule.prefix = shared;
        }
        self.take_heads();
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
    }

    fn take_heads(&mut self) {
        for at in 0..self.heap.len() {
            self.heap[at].head = self.rule.head(user_key(self.key_of(self.heap[at].child)));
        }
    }

    /// Makes the runner-up the winner.
    fn pop_winner(&mut self) {
        let Some(&winner) = self.heap.first() else {
            self.current = None;
            return;
        };
        self.current = Some(winner.child);
        let last = self.heap.swap_remove(self.heap.len() - 1);
        if !self.heap.is_empty() {
            self.heap[0] = last;
            self.sift_down(0);
        }
    }

    /// Finds the winner after the current child moved; without `ENTERS` a winner whose read is deferred is left so.
    #[inline]
    fn settle<const ENTERS: bool>(&mut self, current: usize) {
        let child = &self.children[current];
        self.tombstones |= child.has_range_tombstones();
        if !child.valid() {
            match child.status() {
                Ok(()) => {
                    self.pop_winner();
                    if ENTERS {
                        self.enter_deferred();
                    }
                }
                Err(error) => self.stop(error),
            }
            return;
        }
        let Some(&runner_up) = self.heap.first() else { return };
        let mut head = self.rule.head(user_key(child.key()));
        if (head == 0 || head == u64::MAX) && !self.rule.prefix.is_empty() {
            self.shorten_prefix();
            head = self.rule.head(user_key(self.children[current].key()));
        }
        let entry = Entry { head, child: current };
        let runner_up = Entry { head: self.heap[0].head, ..runner_up };
        if self.before(entry, runner_up) {
            return;
        }
        self.heap[0] = entry;
        self.sift_down(0);
        self.current = Some(runner_up.child);
        if ENTERS {
            self.enter_deferred();
        }
    }

    /// Goes one entry forward where that is a step of the winner within what it has in memory. Gives its key, and
    /// whether the child is still the winner. Otherwise [`settle_step`](Self::settle_step) ends the step; with an empty
    /// key, `next` does.
    #[inline(always)]
    pub(super) fn step_within_block(&mut self) -> (bool, &[u8]) {
        let Some(current) = self.current else { return (false, &[]) };
        if self.direction != Direction::Forward || self.deferred.has_limit() {
            return (false, &[]);
        }
        let key = self.children[current].step_within_block();
        let is_winner = self.heap.first().is_none_or(|runner_up| {
            let head = if key.is_empty() { 0 } else { self.rule.head(user_key(key)) };
            // What leaves the shared prefix has the lowest or the highest head.
            0 < head && head < runner_up.head
        });
        (is_winner, key)
    }

    /// Finds the winner behind a step of the current child within its block.
    pub(super) fn settle_step(&mut self) {
        if let Some(current) = self.current {
            self.settle::<true>(current);
        }
    }

    /// A key left the shared prefix: shortens it to what is still shared. The order of the heap does not change.
    #[cold]
    fn shorten_prefix(&mut self) {
        let Some(current) = self.current else { return };
        let mut shared = user_key(self.children[current].key());
        for entry in &self.heap {
            shared = shared_prefix(shared, user_key(self.key_of(entry.child)));
        }
        let length = shared_prefix(shared, &self.rule.prefix).len();
        if length == self.rule.prefix.len() {
            return;
        }
        self.rule.prefix.truncate(length);
        self.take_heads();
    }

    /// Changes direction: all other children go to the other side of the current entry.
    #[cold]
    fn turn(&mut self, current: usize) {
        let forward = self.direction == Direction::Backward;
        self.direction = if forward { Direction::Forward } else { Direction::Backward };
        let key = self.children[current].key().to_vec();
        self.deferred.clear();
        for (index, child) in self.children.iter_mut().enumerate() {
            if index == current {
                continue;
            }
            if forward {
                child.seek(&key);
                if index < current && child.valid() && self.order.compare(child.key(), &key).is_eq() {
                    child.next();
                }
            } else {
                child.seek_for_prev(&key);
                if index > current && child.valid() && self.order.compare(child.key(), &key).is_eq() {
                    child.prev();
                }
            }
        }
    }

    /// Takes the result of a child's planned read.
    pub fn supply_child(&mut self, child: usize, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        if let Some(child) = self.children.get_mut(child) {
            child.supply(read, bytes);
        }
    }

    /// Bytes of the buffer that keys were made in.
    pub(super) fn scratch_capacity(&self) -> usize {
        self.scratch.capacity()
    }

    /// Lets go of what the children have in memory of their sources. The merge is as if just made, without a limit.
    pub fn rest(&mut self) {
        self.leave_position();
        self.direction = Direction::Forward;
        self.rule.prefix.clear();
        self.tombstones = false;
        self.deferred.set_limit(None);
        self.children.iter_mut().for_each(I::rest);
    }

    /// The merge stands on nothing, and waits for nothing.
    fn leave_position(&mut self) {
        self.current = None;
        self.heap.clear();
        self.deferred.clear();
        self.pausing.clear();
        self.error = None;
    }

    /// Changes the bounds of the children. The iterator is not placed afterwards.
    pub fn set_bounds(&mut self, bounds: &Arc<ScanBounds>) {
        self.leave_position();
        self.children.iter_mut().for_each(|child| child.set_bounds(bounds));
    }
}

#[inline]
fn shared_prefix<'a>(a: &'a [u8], b: &[u8]) -> &'a [u8] {
    let length = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    &a[..length]
}

impl<I: TombstoneIterator> InternalIterator for MergingIterator<I> {
    #[inline]
    fn valid(&self) -> bool {
        self.current.is_some()
    }
    #[inline]
    fn key(&self) -> &[u8] {
        self.current.map_or(&[], |child| self.children[child].key())
    }
    #[inline]
    fn value(&self) -> &[u8] {
        self.current.map_or(&[], |child| self.children[child].value())
    }
    fn seek_to_first(&mut self) {
        self.place(SeekTarget::First);
    }
    fn seek_to_last(&mut self) {
        self.place(SeekTarget::Last);
    }
    fn seek(&mut self, target: &[u8]) {
        self.place(SeekTarget::AtOrAfter(target));
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.place(SeekTarget::AtOrBefore(target));
    }
    #[inline]
    fn next(&mut self) {
        let Some(current) = self.current else { return };
        if self.direction == Direction::Forward {
            if self.deferred.has_limit() && self.defers_step(current) {
                return self.enter_deferred();
            }
            self.children[current].next();
            self.settle::<true>(current);
        } else {
            self.turn(current);
            self.children[current].next();
            self.rebuild();
        }
    }
    #[inline]
    fn prev(&mut self) {
        let Some(current) = self.current else { return };
        if self.direction == Direction::Backward {
            if self.deferred.has_limit() && self.defers_step(current) {
                return self.enter_deferred();
            }
            self.children[current].prev();
            self.settle::<true>(current);
        } else if self.pausing.is_on() {
            self.fail(Error::invalid_argument("an iterator that pauses for reads goes forward only"));
        } else {
            self.turn(current);
            self.children[current].prev();
            self.rebuild();
        }
    }
    fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }
}

mod limited;
#[cfg(test)]
mod tests;
