//! A part of the cache with its own lock and clock hand. All shards share one capacity ([`Budget`]).
//!
//! ```text
//! lookup   index (atomic pointer) -> slot -> compare-and-swap on its meta word            no lock
//! insert   lock { take a free slot, publish, index }           its charge was taken from the budget before
//! sweep    lock { move the clock hand a little }  drop the evicted
//! ```
//!
//! Invariants, under the lock: the index names exactly the VISIBLE slots; a slot is on the free list exactly when it is
//! EMPTY; the budget holds the charges of all slots that are not EMPTY.
//!
//! Slots are in chunks that double and never move; the index is replaced by one twice as large when it is half full.
//! Old indexes stay allocated until the shard is dropped (together they are smaller than the current one), so a lookup
//! that runs while the table grows needs no protection: it may read an outdated index, but the slot itself tells
//! whether it still holds the key.

use crate::budget::Budget;
use crate::ghosts::Ghosts;
use crate::index::Index;
use crate::key::CacheKey;
use crate::role::{Pool, Priority, ROLES};
use crate::slot::{Acquired, Entry, HideOutcome, Queue, Slot, SweepOutcome};
use crate::sync::{AtomicPtr, Mutex, Ordering};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;

/// Slots of the first chunk; chunk `n` has this many times `2^n`.
const FIRST_CHUNK: usize = 32;
const FIRST_CHUNK_BITS: u32 = FIRST_CHUNK.trailing_zeros();
/// Number of chunks: together they have more slots than there are slot numbers.
const CHUNKS: usize = 27;
const FIRST_INDEX: usize = 2 * FIRST_CHUNK;
/// Entries on probation may take one part in so many of the bytes of low priority.
const PROBATION_SHARE: usize = 10;
/// Steps in the probation queue for each step of the clock hand in the main queue.
const TURNS_BETWEEN: usize = 64;
/// A step of the clock hand looks at so many slots at most to find one of the main queue.
const SLOTS_A_STEP: usize = 16;

/// How far a walk of the clock hand goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Over this many slots, those of the queues beside the main one first.
    Turn(usize),
    /// Over every slot, whatever its queue.
    Whole,
}

/// The counts of a walk of the clock hand through a part of a shard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SweepCounts {
    /// Slots passed.
    pub(crate) steps: usize,
    /// Bytes freed.
    pub(crate) freed: usize,
    /// Entries that had passes left, now one fewer.
    pub(crate) aged: usize,
    /// Entries in use.
    pub(crate) referenced: usize,
}

/// Usage and number of entries, by role.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoleUsage {
    pub(crate) charge: [usize; ROLES],
    pub(crate) count: [usize; ROLES],
}

struct ShardState {
    /// Every index allocated so far; the last one is current.
    indexes: Vec<NonNull<Index>>,
    free: Vec<u32>,
    slot_count: u32,
    visible: usize,
    hand: u32,
    by_role: RoleUsage,
    /// Slots and the numbers of their entries, oldest first. Some of the entries may have been removed or moved to the
    /// main queue.
    probation: VecDeque<(u32, u32)>,
    bottom: VecDeque<(u32, u32)>,
    /// Charges of the entries without high priority, and below, of the entries outside the main queue.
    low_bytes: usize,
    probation_bytes: usize,
    ghosts: Ghosts,
    /// Entries taken from the probation queue since the hand last moved in the main one.
    turns: usize,
}

impl ShardState {
    /// Puts a new entry into the queue of its priority, or into the main queue if an earlier entry of its key was
    /// evicted too early.
    fn enqueue<P>(&mut self, slot: &Slot<P>, hash: u64, priority: Priority, entry: &Entry<P>) {
        let queue = match priority {
            Priority::High | Priority::Highest => Queue::Main,
            Priority::Low if self.ghosts.take(hash, self.visible) => Queue::Main,
            Priority::Low => Queue::Probation,
            Priority::Bottom => Queue::Bottom,
        };
        let number = slot.enter_queue(queue);
        if entry.pool != Pool::High {
            self.low_bytes += entry.charge;
        }
        match queue {
            Queue::Main => return,
            Queue::Probation => self.probation.push_back((slot.number, number)),
            Queue::Bottom => self.bottom.push_back((slot.number, number)),
        }
        self.probation_bytes += entry.charge;
    }

    /// The next entry to sweep outside the main queue, if it is the turn of those queues: the bottom queue always, the
    /// probation queue while it is larger than its share, except that the main queue gets a turn after every
    /// [`TURNS_BETWEEN`] entries, because unused entries there must be evicted, too.
    fn next_unproven(&mut self) -> Option<(Queue, u32, u32)> {
        if let Some((slot, entry)) = self.bottom.pop_front() {
            return Some((Queue::Bottom, slot, entry));
        }
        let is_large = self.probation_bytes > self.low_bytes / PROBATION_SHARE;
        if !is_large || self.turns >= TURNS_BETWEEN {
            self.turns = 0;
            return None;
        }
        self.turns += 1;
        self.probation.pop_front().map(|(slot, entry)| (Queue::Probation, slot, entry))
    }
}

/// The shard.
pub(crate) struct Shard<P> {
    index: AtomicPtr<Index>,
    chunks: [AtomicPtr<Slot<P>>; CHUNKS],
    budget: Arc<Budget>,
    state: Mutex<ShardState>,
}

// SAFETY: the raw pointers own the indexes and chunks. Entries move between threads (`P: Send`) and are shared by
// holders of references (`P: Sync`); the protocol in `slot` and the lock order every access.
unsafe impl<P: Send + Sync> Send for Shard<P> {}
// SAFETY: as above.
unsafe impl<P: Send + Sync> Sync for Shard<P> {}

impl<P> Shard<P> {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        let index = NonNull::from(Box::leak(Box::new(Index::new(FIRST_INDEX))));
        Self {
            index: AtomicPtr::new(index.as_ptr()),
            chunks: std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut())),
            budget,
            state: Mutex::new(ShardState {
                indexes: vec![index],
                free: Vec::new(),
                slot_count: 0,
                visible: 0,
                hand: 0,
                by_role: RoleUsage::default(),
                probation: VecDeque::new(),
                bottom: VecDeque::new(),
                low_bytes: 0,
                probation_bytes: 0,
                ghosts: Ghosts::new(FIRST_INDEX),
                turns: 0,
            }),
        }
    }

    #[inline]
    fn index(&self) -> &Index {
        // SAFETY: set in `new` and `grow_index` to an index that lives as long as the shard.
        unsafe { &*self.index.load(Ordering::Acquire) }
    }

    #[inline]
    fn slot(&self, number: u32) -> &Slot<P> {
        let position = number as usize + FIRST_CHUNK;
        let chunk = position.ilog2() - FIRST_CHUNK_BITS;
        let offset = position - (FIRST_CHUNK << chunk);
        let slots = self.chunks[chunk as usize].load(Ordering::Acquire);
        // SAFETY: slot numbers come from the index or the free list, where they are put after their chunk was stored;
        // the chunk has `FIRST_CHUNK << chunk` slots and lives as long as the shard.
        unsafe { &*slots.add(offset) }
    }

    /// Takes a reference to the entry of `key`.
    #[inline]
    pub(crate) fn lookup(&self, hash: u64, key: &CacheKey) -> Option<NonNull<Slot<P>>> {
        self.index().find(hash, |number| {
            let slot = self.slot(number);
            match slot.acquire(key) {
                Acquired::Entry => Some(NonNull::from(slot)),
                Acquired::Nothing => None,
                Acquired::OtherKey => {
                    if slot.release() {
                        drop(self.take_released(slot));
                    }
                    None
                }
            }
        })
    }

    /// Adds an entry with one reference, in place of an entry of the same key. Its charge was taken from the budget
    /// before. A replaced entry goes to `garbage`, for the caller to drop outside the lock. If the shard has four
    /// billion entries, the new one is returned, its charge still taken.
    pub(crate) fn insert(
        &self,
        hash: u64,
        entry: Entry<P>,
        priority: Priority,
        garbage: &mut Vec<Entry<P>>,
    ) -> Result<NonNull<Slot<P>>, Entry<P>> {
        let mut state = self.state.lock();
        if let Some(old) = self.find_visible(hash, &entry.key) {
            self.hide(&mut state, hash, old, garbage);
        }
        let Some(number) = self.free_slot(&mut state) else { return Err(entry) };
        self.forget_stale(&mut state);
        if (state.visible + 1) * 2 > self.index().length() {
            self.grow_index(&mut state);
        }
        state.by_role.charge[entry.role as usize] += entry.charge;
        state.by_role.count[entry.role as usize] += 1;
        state.visible += 1;
        let slot = self.slot(number);
        state.enqueue(slot, hash, priority, &entry);
        // SAFETY: the number comes from the free list, under the lock.
        unsafe { slot.publish(entry, priority.tenacity()) };
        self.index().insert(hash, number);
        Ok(NonNull::from(slot))
    }

    /// Moves the clock hand over a part of the slots or all of them, until `wanted` bytes are freed.
    pub(crate) fn sweep(&self, extent: Extent, wanted: usize, garbage: &mut Vec<Entry<P>>) -> SweepCounts {
        let mut state = self.state.lock();
        let state = &mut *state;
        let mut swept = SweepCounts::default();
        let slot_count = state.slot_count as usize;
        let (takes_all, steps) = match extent {
            Extent::Turn(slots) => (false, slots.min(slot_count)),
            Extent::Whole => (true, slot_count),
        };
        while swept.steps < steps && swept.freed < wanted {
            swept.steps += 1;
            match if takes_all { None } else { state.next_unproven() } {
                None => {
                    let slot = self.advance_hand(state, takes_all);
                    if takes_all || slot.is_in_main() {
                        self.sweep_slot(state, slot, &mut swept, garbage);
                    }
                }
                Some((queue, number, entry)) => {
                    let slot = self.slot(number);
                    // Otherwise the slot holds another entry by now, or the entry has left the queue.
                    if slot.is_in(queue, entry) {
                        self.sweep_unproven(state, slot, queue, &mut swept, garbage);
                    }
                }
            }
        }
        swept
    }

    /// Moves the hand to the next slot, or to the next one of the main queue if it is near.
    fn advance_hand(&self, state: &mut ShardState, takes_all: bool) -> &Slot<P> {
        let mut slot = self.slot(state.hand);
        for _ in 0..SLOTS_A_STEP {
            slot = self.slot(state.hand);
            state.hand = if state.hand + 1 < state.slot_count { state.hand + 1 } else { 0 };
            if takes_all || (slot.is_in_main() && slot.is_visible()) {
                break;
            }
        }
        slot
    }

    fn sweep_slot(
        &self,
        state: &mut ShardState,
        slot: &Slot<P>,
        swept: &mut SweepCounts,
        garbage: &mut Vec<Entry<P>>,
    ) -> SweepOutcome {
        let outcome = slot.sweep();
        match outcome {
            SweepOutcome::Nothing => {}
            SweepOutcome::Aged => swept.aged += 1,
            SweepOutcome::Referenced => swept.referenced += 1,
            SweepOutcome::Claimed => {
                // SAFETY: claimed just now, under the lock.
                let entry = unsafe { slot.take() };
                swept.freed += entry.charge;
                self.unindex(state, entry.key.hash(), slot);
                self.account_free(state, slot, &entry);
                garbage.push(entry);
            }
        }
        outcome
    }

    /// Sweeps the oldest entry of a queue other than the main one: evicts it if it was not used, else moves it to the
    /// main queue.
    fn sweep_unproven(
        &self,
        state: &mut ShardState,
        slot: &Slot<P>,
        queue: Queue,
        swept: &mut SweepCounts,
        garbage: &mut Vec<Entry<P>>,
    ) {
        match self.sweep_slot(state, slot, swept, garbage) {
            SweepOutcome::Nothing => {}
            SweepOutcome::Aged | SweepOutcome::Referenced => {
                slot.move_to_main();
                // SAFETY: the lock is held, and the slot was visible a moment ago.
                state.probation_bytes -= unsafe { slot.charge() };
            }
            SweepOutcome::Claimed => {
                if queue == Queue::Probation
                    && let Some(entry) = garbage.last()
                {
                    state.ghosts.add(entry.key.hash());
                }
            }
        }
    }

    /// Removes the entry of `key`; holders keep it. True when there was one.
    pub(crate) fn erase(&self, hash: u64, key: &CacheKey, garbage: &mut Vec<Entry<P>>) -> bool {
        let mut state = self.state.lock();
        let found = self.find_visible(hash, key);
        found.is_some_and(|slot| self.hide(&mut state, hash, slot, garbage))
    }

    /// Removes the entry in `slot`, to which the caller holds a reference, when there is no other reference.
    pub(crate) fn hide_if_last(&self, hash: u64, slot: &Slot<P>) {
        let mut state = self.state.lock();
        if slot.hide_if_last() == HideOutcome::Held {
            self.index().remove(hash, slot.number);
            state.visible -= 1;
        }
    }

    /// Removes every entry, or every entry that is not in use.
    pub(crate) fn erase_all(&self, also_referenced: bool, garbage: &mut Vec<Entry<P>>) {
        let mut state = self.state.lock();
        for number in 0..state.slot_count {
            let slot = self.slot(number);
            let outcome = if also_referenced { slot.hide() } else { slot.hide_if_unreferenced() };
            match outcome {
                HideOutcome::NotVisible => {}
                HideOutcome::Claimed => {
                    // SAFETY: claimed just now, under the lock.
                    let entry = unsafe { slot.take() };
                    self.unindex(&mut state, entry.key.hash(), slot);
                    self.account_free(&mut state, slot, &entry);
                    garbage.push(entry);
                }
                HideOutcome::Held => {
                    // SAFETY: the lock is held, so the slot is at most INVISIBLE.
                    let hash = unsafe { slot.key() }.hash();
                    self.unindex(&mut state, hash, slot);
                }
            }
        }
    }

    /// Takes the entry out of a slot whose last reference was released after it became invisible.
    #[cold]
    pub(crate) fn take_released(&self, slot: &Slot<P>) -> Entry<P> {
        // SAFETY: `release` returned true to the caller, which thereby owns the entry.
        let entry = unsafe { slot.take() };
        self.free_released(slot, &entry);
        entry
    }

    /// Makes the slot of a taken entry reusable.
    pub(crate) fn free_released(&self, slot: &Slot<P>, entry: &Entry<P>) {
        let mut state = self.state.lock();
        slot.mark_empty();
        self.account_free(&mut state, slot, entry);
    }

    /// Usage by role and the bytes of entries in use.
    pub(crate) fn role_usage(&self) -> RoleUsage {
        self.state.lock().by_role
    }

    /// Bytes of the entries that have references.
    pub(crate) fn pinned_usage(&self) -> usize {
        let state = self.state.lock();
        (0..state.slot_count).map(|number| self.slot(number).pinned_charge()).sum()
    }

    /// Words of the index.
    pub(crate) fn index_length(&self) -> usize {
        self.index().length()
    }

    /// Bytes of the tables themselves.
    pub(crate) fn table_bytes(&self) -> usize {
        let state = self.state.lock();
        // SAFETY: indexes live as long as the shard.
        let indexes: usize = state.indexes.iter().map(|index| unsafe { index.as_ref() }.memory_bytes()).sum();
        let queues = (state.probation.capacity() + state.bottom.capacity()) * size_of::<(u32, u32)>();
        let slots = state.slot_count as usize * (size_of::<Slot<P>>() + size_of::<u32>());
        indexes + slots + queues + state.ghosts.memory_bytes()
    }

    /// The visible slot with `key`. Under the lock only.
    fn find_visible(&self, hash: u64, key: &CacheKey) -> Option<&Slot<P>> {
        self.index().find(hash, |number| {
            let slot = self.slot(number);
            // SAFETY: the lock is held, so a slot in the index is visible and stays so; its entry is not taken.
            (unsafe { slot.key() } == *key).then_some(slot)
        })
    }

    /// Makes a slot invisible, and frees it if it has no references.
    fn hide(&self, state: &mut ShardState, hash: u64, slot: &Slot<P>, garbage: &mut Vec<Entry<P>>) -> bool {
        let outcome = slot.hide();
        if outcome == HideOutcome::NotVisible {
            return false;
        }
        self.unindex(state, hash, slot);
        if outcome == HideOutcome::Claimed {
            // SAFETY: claimed just now, under the lock.
            let entry = unsafe { slot.take() };
            self.account_free(state, slot, &entry);
            garbage.push(entry);
        }
        true
    }

    fn unindex(&self, state: &mut ShardState, hash: u64, slot: &Slot<P>) {
        self.index().remove(hash, slot.number);
        state.visible -= 1;
    }

    /// Updates the counts after an entry was taken and its slot is EMPTY.
    fn account_free(&self, state: &mut ShardState, slot: &Slot<P>, entry: &Entry<P>) {
        state.by_role.charge[entry.role as usize] -= entry.charge;
        state.by_role.count[entry.role as usize] -= 1;
        if entry.pool != Pool::High {
            state.low_bytes -= entry.charge;
        }
        if !slot.is_in_main() {
            state.probation_bytes -= entry.charge;
        }
        self.budget.give_back(entry.charge);
        self.budget.leave_pool(entry.pool, entry.charge);
        state.free.push(slot.number);
    }

    /// Drops the queue records of entries that have been removed or moved otherwise, once there are many.
    fn forget_stale(&self, state: &mut ShardState) {
        let most = 2 * state.slot_count as usize;
        let is_there = |queue| move |&(slot, entry): &(u32, u32)| self.slot(slot).is_in(queue, entry);
        if state.probation.len() >= most {
            state.probation.retain(is_there(Queue::Probation));
        }
        if state.bottom.len() >= most {
            state.bottom.retain(is_there(Queue::Bottom));
        }
    }

    /// The number of an EMPTY slot; `None` if there are four billion entries.
    fn free_slot(&self, state: &mut ShardState) -> Option<u32> {
        if state.free.is_empty() {
            let chunk = (state.slot_count as usize + FIRST_CHUNK).ilog2() - FIRST_CHUNK_BITS;
            let count = (FIRST_CHUNK << chunk) as u32;
            let last = state.slot_count.checked_add(count)?;
            let place = self.chunks.get(chunk as usize)?;
            let slots: Box<[Slot<P>]> = (state.slot_count..last).map(Slot::new).collect();
            place.store(Box::into_raw(slots).cast(), Ordering::Release);
            state.free.extend((state.slot_count..last).rev());
            state.slot_count = last;
            self.budget.add_slots(count as usize);
        }
        state.free.pop()
    }

    fn grow_index(&self, state: &mut ShardState) {
        let grown = Index::new(self.index().length() * 2);
        for number in 0..state.slot_count {
            let slot = self.slot(number);
            if slot.is_visible() {
                // SAFETY: visible, and the lock is held, so it stays so.
                grown.insert(unsafe { slot.key() }.hash(), number);
            }
        }
        let grown = NonNull::from(Box::leak(Box::new(grown)));
        state.indexes.push(grown);
        state.ghosts = Ghosts::new(self.index().length());
        self.index.store(grown.as_ptr(), Ordering::Release);
    }
}

impl<P> Drop for Shard<P> {
    fn drop(&mut self) {
        let state = self.state.lock();
        for index in &state.indexes {
            // SAFETY: made by `Box::leak`, in the list once; no lookup runs any more.
            drop(unsafe { Box::from_raw(index.as_ptr()) });
        }
        for (chunk, place) in self.chunks.iter().enumerate() {
            let slots = place.load(Ordering::Acquire);
            if slots.is_null() {
                break;
            }
            let slots = std::ptr::slice_from_raw_parts_mut(slots, FIRST_CHUNK << chunk);
            // SAFETY: made by `Box::into_raw` with this length. All slots are EMPTY: every entry keeps the cache alive.
            drop(unsafe { Box::from_raw(slots) });
        }
    }
}
