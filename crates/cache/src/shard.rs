//! A part of the cache with its own lock, clock hand and share of the capacity.
//!
//! ```text
//! lookup   index (atomic pointer) -> slot -> compare-and-swap on its meta word            no lock
//! insert   lock { evict until it fits, take a free slot, publish, index }  drop the evicted
//! ```
//!
//! Invariants, under the lock: the index names exactly the VISIBLE slots; a slot is on the free list exactly when it is
//! EMPTY; `usage` is the sum of the charges of all slots that are not EMPTY.
//!
//! Slots are in chunks that double and never move; the index is replaced by one twice as large when it is half full. Old
//! indexes stay allocated until the shard goes (together smaller than the current one), so that a lookup that runs while
//! the table grows needs no protection: what it reads there is old, and the slot itself says whether it still holds the key.

use crate::index::Index;
use crate::key::CacheKey;
use crate::role::ROLES;
use crate::slot::{Acquired, Entry, Hidden, MAX_CLOCK, Slot, Sweep};
use crate::sync::{AtomicPtr, AtomicUsize, Mutex, Ordering};
use std::ptr::NonNull;

/// Slots of the first chunk; chunk `n` has this many times `2^n`.
const FIRST_CHUNK: usize = 32;
const FIRST_CHUNK_BITS: u32 = FIRST_CHUNK.trailing_zeros();
/// Chunks: together more slots than slot numbers.
const CHUNKS: usize = 27;
const FIRST_INDEX: usize = 2 * FIRST_CHUNK;
/// Without a strict limit the hand gives up after this many entries in use for each one evicted: a cache full of pinned
/// entries must not make every insert a walk over all of them.
const EFFORT_CAP: usize = 64;

/// How much a shard may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) capacity: usize,
    pub(crate) strict: bool,
}

/// Usage and number of entries, by role.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoleUsage {
    pub(crate) charge: [usize; ROLES],
    pub(crate) count: [usize; ROLES],
}

struct State {
    /// Every index ever made; the last one is current.
    indexes: Vec<NonNull<Index>>,
    free: Vec<u32>,
    slot_count: u32,
    visible: usize,
    hand: u32,
    by_role: RoleUsage,
}

/// The shard.
pub(crate) struct Shard<P> {
    index: AtomicPtr<Index>,
    chunks: [AtomicPtr<Slot<P>>; CHUNKS],
    usage: AtomicUsize,
    state: Mutex<State>,
}

// SAFETY: the raw pointers own the indexes and chunks. Entries move between threads (`P: Send`) and are shared by holders of
// references (`P: Sync`); the protocol in `slot` and the lock order every access.
unsafe impl<P: Send + Sync> Send for Shard<P> {}
// SAFETY: as above.
unsafe impl<P: Send + Sync> Sync for Shard<P> {}

impl<P> Shard<P> {
    pub(crate) fn new() -> Self {
        let index = NonNull::from(Box::leak(Box::new(Index::new(FIRST_INDEX))));
        Self {
            index: AtomicPtr::new(index.as_ptr()),
            chunks: std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut())),
            usage: AtomicUsize::new(0),
            state: Mutex::new(State {
                indexes: vec![index],
                free: Vec::new(),
                slot_count: 0,
                visible: 0,
                hand: 0,
                by_role: RoleUsage::default(),
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
        // SAFETY: slot numbers come from the index or the free list, where they are put after their chunk was stored; the
        // chunk has `FIRST_CHUNK << chunk` slots and lives as long as the shard.
        unsafe { &*slots.add(offset) }
    }

    /// Bytes charged.
    #[inline]
    pub(crate) fn usage(&self) -> usize {
        self.usage.load(Ordering::Relaxed)
    }

    /// A reference to the entry of `key`.
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

    /// Adds an entry with one reference, in place of an entry of the same key. What is pushed out goes to `garbage`, for
    /// the caller to drop outside the lock. Over a strict limit the entry comes back.
    pub(crate) fn insert(
        &self,
        hash: u64,
        entry: Entry<P>,
        clock: u64,
        limit: Limit,
        garbage: &mut Vec<Entry<P>>,
    ) -> Result<NonNull<Slot<P>>, Entry<P>> {
        let mut state = self.state.lock();
        if let Some(old) = self.find_visible(hash, &entry.key) {
            self.hide(&mut state, hash, old, garbage);
        }
        let room = limit.capacity.saturating_sub(entry.charge);
        self.evict(&mut state, room, limit.strict, garbage);
        if limit.strict && self.usage().saturating_add(entry.charge) > limit.capacity {
            return Err(entry);
        }
        let Some(number) = self.free_slot(&mut state) else { return Err(entry) };
        if (state.visible + 1) * 2 > self.index().length() {
            self.grow_index(&mut state);
        }
        state.by_role.charge[entry.role as usize] += entry.charge;
        state.by_role.count[entry.role as usize] += 1;
        state.visible += 1;
        self.usage.fetch_add(entry.charge, Ordering::Relaxed);
        let slot = self.slot(number);
        // SAFETY: the number comes from the free list, under the lock.
        unsafe { slot.publish(entry, clock) };
        self.index().insert(hash, number);
        Ok(NonNull::from(slot))
    }

    /// Evicts what is not in use until `room` bytes or fewer are charged.
    pub(crate) fn evict_to(&self, room: usize, garbage: &mut Vec<Entry<P>>) {
        if self.usage() > room {
            self.evict(&mut self.state.lock(), room, true, garbage);
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
        if slot.hide_if_last() == Hidden::Held {
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
                Hidden::NotVisible => {}
                Hidden::Claimed => {
                    // SAFETY: claimed just now, under the lock.
                    let entry = unsafe { slot.take() };
                    self.unindex(&mut state, entry.key.hash(), slot);
                    self.account_free(&mut state, slot, &entry);
                    garbage.push(entry);
                }
                Hidden::Held => {
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
        // SAFETY: `release` returned true to the caller, who thereby owns the entry.
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

    /// Bytes of the entries that somebody holds.
    pub(crate) fn pinned_usage(&self) -> usize {
        let state = self.state.lock();
        (0..state.slot_count).map(|number| self.slot(number).pinned_charge()).sum()
    }

    /// Bytes of the tables themselves.
    pub(crate) fn table_bytes(&self) -> usize {
        let state = self.state.lock();
        // SAFETY: indexes live as long as the shard.
        let indexes: usize = state.indexes.iter().map(|index| unsafe { index.as_ref() }.memory_bytes()).sum();
        indexes + state.slot_count as usize * (size_of::<Slot<P>>() + size_of::<u32>())
    }

    /// The visible slot with `key`. Under the lock only.
    fn find_visible(&self, hash: u64, key: &CacheKey) -> Option<&Slot<P>> {
        self.index().find(hash, |number| {
            let slot = self.slot(number);
            // SAFETY: the lock is held, so a slot in the index is visible and stays so; its entry is not taken.
            (unsafe { slot.key() } == *key).then_some(slot)
        })
    }

    /// Makes a slot invisible and frees it when nobody holds it.
    fn hide(&self, state: &mut State, hash: u64, slot: &Slot<P>, garbage: &mut Vec<Entry<P>>) -> bool {
        let outcome = slot.hide();
        if outcome == Hidden::NotVisible {
            return false;
        }
        self.unindex(state, hash, slot);
        if outcome == Hidden::Claimed {
            // SAFETY: claimed just now, under the lock.
            let entry = unsafe { slot.take() };
            self.account_free(state, slot, &entry);
            garbage.push(entry);
        }
        true
    }

    fn unindex(&self, state: &mut State, hash: u64, slot: &Slot<P>) {
        self.index().remove(hash, slot.number);
        state.visible -= 1;
    }

    /// After an entry was taken out and its slot is EMPTY.
    fn account_free(&self, state: &mut State, slot: &Slot<P>, entry: &Entry<P>) {
        state.by_role.charge[entry.role as usize] -= entry.charge;
        state.by_role.count[entry.role as usize] -= 1;
        self.usage.fetch_sub(entry.charge, Ordering::Relaxed);
        state.free.push(slot.number);
    }

    /// Moves the clock hand until `room` bytes or fewer are charged or there is nothing more to evict.
    fn evict(&self, state: &mut State, room: usize, thorough: bool, garbage: &mut Vec<Entry<P>>) {
        let (mut referenced, mut evicted, mut idle_steps) = (0usize, 0usize, 0usize);
        let most_steps = state.slot_count as usize * (MAX_CLOCK as usize + 2);
        for _ in 0..most_steps {
            if self.usage() <= room || idle_steps >= state.slot_count as usize {
                return;
            }
            let slot = self.slot(state.hand);
            state.hand = if state.hand + 1 < state.slot_count { state.hand + 1 } else { 0 };
            idle_steps += 1;
            match slot.sweep() {
                Sweep::Nothing => {}
                Sweep::Aged => idle_steps = 0,
                Sweep::Referenced => {
                    referenced += 1;
                    if !thorough && referenced > EFFORT_CAP * (evicted + 1) {
                        return;
                    }
                }
                Sweep::Claimed => {
                    idle_steps = 0;
                    evicted += 1;
                    // SAFETY: claimed just now, under the lock.
                    let entry = unsafe { slot.take() };
                    self.unindex(state, entry.key.hash(), slot);
                    self.account_free(state, slot, &entry);
                    garbage.push(entry);
                }
            }
        }
    }

    /// The number of an EMPTY slot. `None` when there are four billion entries.
    fn free_slot(&self, state: &mut State) -> Option<u32> {
        if state.free.is_empty() {
            let chunk = (state.slot_count as usize + FIRST_CHUNK).ilog2() - FIRST_CHUNK_BITS;
            let count = (FIRST_CHUNK << chunk) as u32;
            let last = state.slot_count.checked_add(count)?;
            let place = self.chunks.get(chunk as usize)?;
            let slots: Box<[Slot<P>]> = (state.slot_count..last).map(Slot::new).collect();
            place.store(Box::into_raw(slots).cast(), Ordering::Release);
            state.free.extend((state.slot_count..last).rev());
            state.slot_count = last;
        }
        state.free.pop()
    }

    fn grow_index(&self, state: &mut State) {
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
        self.index.store(grown.as_ptr(), Ordering::Release);
    }
}

impl<P> Drop for Shard<P> {
    fn drop(&mut self) {
        let state = self.state.lock();
        for index in &state.indexes {
            // SAFETY: made by `Box::leak`, in the list once; nobody looks anything up any more.
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
