//! A slot holds one entry. One atomic word is its whole state.
//!
//! ```text
//! meta    [ half: 37 | slow: 36 | state: bits 34..36 | clock: bits 32..34 | references: bits 0..32 ]
//!
//!             publish                    evict, erase (no references)
//!   EMPTY ---------------> VISIBLE -------------------------------------> EMPTY
//!  (owned by the shard)       | ^ lookup: one more reference, clock + 1
//!                             |
//!                             | erase, replace (references left)          last reference dropped
//!                             +-------------------> INVISIBLE -----------------------> EMPTY
//! ```
//!
//! - A *slow* entry ages at every second pass of the clock hand; *half* is set between the first pass and the second.
//!   Lookups ignore both bits.
//! - References are only added to a VISIBLE slot, by compare-and-swap. (A blind `fetch_add` would be cheaper when many
//!   threads hit one entry, but it also lands on slots that are being freed, and then "the last reference" is no longer
//!   one well-defined thread that may access the slot safely after all other holders have released it.)
//! - The thread that drops the last reference of an INVISIBLE slot, or changes VISIBLE without references to EMPTY,
//!   owns the entry and frees it. There is exactly one such thread, because no state is entered twice without an owner
//!   between.
//! - Key and entry are written by the shard (under its lock) while the slot is EMPTY and read only by holders of a
//!   reference. Slots are neither moved nor freed before the cache is dropped, so a late reader still finds a slot,
//!   maybe with another entry.

use crate::key::CacheKey;
use crate::role::{EntryRole, Pool, Tenacity};
use crate::sync::{AtomicU64, Ordering};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

const REFERENCES: u64 = (1 << 32) - 1;
/// Far below the maximum of the field, so that racing threads cannot overflow it.
const MAX_REFERENCES: u64 = 1 << 31;
const CLOCK_SHIFT: u32 = 32;
/// Highest clock value: passes of the hand that an entry survives.
const MAX_CLOCK: u64 = 3;
/// Most passes of the hand until an unused entry is evicted.
pub(crate) const MOST_PASSES: usize = 2 * (MAX_CLOCK as usize + 1);
const CLOCK: u64 = MAX_CLOCK << CLOCK_SHIFT;
const STATE_SHIFT: u32 = 34;
const STATE: u64 = 3 << STATE_SHIFT;
const EMPTY: u64 = 0;
const VISIBLE: u64 = 1 << STATE_SHIFT;
const INVISIBLE: u64 = 2 << STATE_SHIFT;
const ONE_CLOCK: u64 = 1 << CLOCK_SHIFT;
const SLOW: u64 = 1 << 36;
const HALF: u64 = 1 << 37;

/// The queue in which an entry waits for eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// All slots; the clock hand passes over them.
    Main,
    /// New entries, which move to the main queue once they are used again.
    Probation,
    /// Evicted first.
    Bottom,
}

const QUEUE_BITS: u32 = 2;

/// The contents of a slot. The key, which a lookup compares, comes first.
#[repr(C)]
pub(crate) struct Entry<P> {
    pub(crate) key: CacheKey,
    pub(crate) charge: usize,
    pub(crate) role: EntryRole,
    pub(crate) pool: Pool,
    pub(crate) payload: P,
}

/// Storage for one entry. A lookup reads one cache line of it.
#[repr(C, align(64))]
pub(crate) struct Slot<P> {
    meta: AtomicU64,
    /// Its number in the shard.
    pub(crate) number: u32,
    /// The queue of the entry, and a number that changes with each entry. Used under the shard's lock.
    queue_tag: std::sync::atomic::AtomicU32,
    entry: UnsafeCell<MaybeUninit<Entry<P>>>,
}

/// What a lookup gets from a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// No reference: the slot is not visible.
    Nothing,
    /// A reference to the entry.
    Entry,
    /// A reference to an entry of another key, to be given back.
    OtherKey,
}

/// What the clock hand found in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SweepOutcome {
    /// No entry, or one that is already invisible.
    Nothing,
    /// In use.
    Referenced,
    /// The entry had passes left, now one fewer.
    Aged,
    /// The slot is EMPTY now and the caller owns the entry.
    Claimed,
}

/// The result of hiding a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HideOutcome {
    /// The slot was not visible, or its references did not meet the condition.
    NotVisible,
    /// There are references; the last holder frees the entry.
    Held,
    /// The slot is EMPTY now and the caller owns the entry.
    Claimed,
}

impl<P> Slot<P> {
    pub(crate) fn new(number: u32) -> Self {
        Self {
            meta: AtomicU64::new(EMPTY),
            number,
            queue_tag: Default::default(),
            entry: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Makes an entry visible with one reference, which the caller holds.
    ///
    /// # Safety
    /// The caller must own the EMPTY slot: taken from the shard's free list under its lock.
    pub(crate) unsafe fn publish(&self, entry: Entry<P>, tenacity: Tenacity) {
        debug_assert_eq!(self.meta.load(Ordering::Relaxed), EMPTY);
        // SAFETY: no thread reads the entry of an EMPTY slot, and the caller is its only owner.
        unsafe { (*self.entry.get()).write(entry) };
        // Release: a thread that acquires the VISIBLE state sees the entry.
        let slow = if tenacity.is_slow { SLOW } else { 0 };
        self.meta.store(VISIBLE | slow | (tenacity.clock << CLOCK_SHIFT) | 1, Ordering::Release);
    }

    /// Takes a reference if the slot is visible and holds `key`; that counts as a use.
    #[inline]
    pub(crate) fn acquire(&self, key: &CacheKey) -> Acquired {
        let mut meta = self.meta.load(Ordering::Relaxed);
        loop {
            if meta & STATE != VISIBLE || meta & REFERENCES >= MAX_REFERENCES {
                return Acquired::Nothing;
            }
            let clock = if meta & CLOCK == CLOCK { 0 } else { ONE_CLOCK };
            match self.meta.compare_exchange_weak(meta, meta + clock + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => meta = now,
            }
        }
        // SAFETY: this thread holds a reference.
        if unsafe { self.entry() }.key == *key { Acquired::Entry } else { Acquired::OtherKey }
    }

    /// Adds a reference, for a thread that already holds one.
    #[inline]
    pub(crate) fn add_reference(&self) {
        // Relaxed: the caller's reference keeps the entry.
        if self.meta.fetch_add(1, Ordering::Relaxed) & REFERENCES >= MAX_REFERENCES {
            // Two billion handles that were never dropped: as with `Arc`, the only sound reaction is to abort.
            std::process::abort();
        }
    }

    /// Releases a reference. True: it was the last one of an invisible slot; the caller owns the entry, must take it
    /// with [`take`](Self::take), and the slot is not reused before the caller has called
    /// [`mark_empty`](Self::mark_empty).
    ///
    /// After `false` the slot must not be accessed: the cache may be freed.
    #[inline]
    #[must_use]
    pub(crate) fn release(&self) -> bool {
        let before = self.meta.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(before & REFERENCES != 0);
        before & (STATE | REFERENCES) == INVISIBLE | 1
    }

    /// Puts a new entry into a queue; returns the entry's number. Under the shard's lock.
    pub(crate) fn enter_queue(&self, queue: Queue) -> u32 {
        let number = (self.queue_tag.load(Ordering::Relaxed) >> QUEUE_BITS).wrapping_add(1) << QUEUE_BITS >> QUEUE_BITS;
        self.queue_tag.store(number << QUEUE_BITS | queue as u32, Ordering::Relaxed);
        number
    }

    /// Moves the entry to the main queue. Under the shard's lock.
    pub(crate) fn move_to_main(&self) {
        self.queue_tag.fetch_and(!((1 << QUEUE_BITS) - 1), Ordering::Relaxed);
    }

    /// Whether entry `number` is in the slot, in `queue`. Under the shard's lock.
    pub(crate) fn is_in(&self, queue: Queue, number: u32) -> bool {
        self.queue_tag.load(Ordering::Relaxed) == number << QUEUE_BITS | queue as u32
    }

    /// Whether the entry is in the main queue. Under the shard's lock.
    pub(crate) fn is_in_main(&self) -> bool {
        self.queue_tag.load(Ordering::Relaxed) & ((1 << QUEUE_BITS) - 1) == Queue::Main as u32
    }

    /// Charge of the entry.
    ///
    /// # Safety
    /// As [`key`](Self::key).
    pub(crate) unsafe fn charge(&self) -> usize {
        // SAFETY: as in `key`, for the charge field.
        unsafe { (&raw const (*(*self.entry.get()).as_ptr()).charge).read() }
    }

    /// The entry.
    ///
    /// # Safety
    /// The caller must hold a reference, or own the entry.
    #[inline]
    pub(crate) unsafe fn entry(&self) -> &Entry<P> {
        // SAFETY: written before the slot became visible; not changed or taken while there is a reference.
        unsafe { (*self.entry.get()).assume_init_ref() }
    }

    /// The key.
    ///
    /// # Safety
    /// As [`entry`](Self::entry); or the caller holds the shard's lock and knows that the slot is not EMPTY. (The entry
    /// of an INVISIBLE slot may be taken meanwhile, but its key is plain bytes, which stay until the slot is reused,
    /// and that takes the lock.)
    pub(crate) unsafe fn key(&self) -> CacheKey {
        // SAFETY: the bytes are initialised and no thread writes them now; only the key field is read.
        unsafe { (&raw const (*(*self.entry.get()).as_ptr()).key).read() }
    }

    /// True while lookups find the slot. Stays so only under the shard's lock.
    pub(crate) fn is_visible(&self) -> bool {
        self.meta.load(Ordering::Acquire) & STATE == VISIBLE
    }

    /// Takes the entry out.
    ///
    /// # Safety
    /// The caller must own the entry (a `Claimed`, or `release` returned true), take it only once, and do so before the
    /// slot can be reused.
    pub(crate) unsafe fn take(&self) -> Entry<P> {
        // SAFETY: initialised since `publish`; no other thread accesses an owned entry.
        unsafe { (*self.entry.get()).assume_init_read() }
    }

    /// Makes the slot EMPTY, after its last reference was released and its entry taken.
    pub(crate) fn mark_empty(&self) {
        self.meta.store(EMPTY, Ordering::Release);
    }

    /// Passes the clock hand over the slot.
    pub(crate) fn sweep(&self) -> SweepOutcome {
        let meta = self.meta.load(Ordering::Relaxed);
        if meta & STATE != VISIBLE {
            return SweepOutcome::Nothing;
        }
        if meta & REFERENCES != 0 {
            return SweepOutcome::Referenced;
        }
        let (next, outcome) = if meta & (SLOW | HALF) == SLOW {
            (meta | HALF, SweepOutcome::Aged)
        } else if meta & CLOCK == 0 {
            (EMPTY, SweepOutcome::Claimed)
        } else {
            ((meta & !HALF) - ONE_CLOCK, SweepOutcome::Aged)
        };
        match self.meta.compare_exchange(meta, next, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => outcome,
            // Another thread has just used the entry.
            Err(_) => SweepOutcome::Referenced,
        }
    }

    /// Hides the entry from lookups.
    pub(crate) fn hide(&self) -> HideOutcome {
        self.hide_if(|_| true)
    }

    /// Hides the entry if the caller's reference is the only one; the caller keeps that.
    pub(crate) fn hide_if_last(&self) -> HideOutcome {
        self.hide_if(|references| references == 1)
    }

    /// Hides the entry if there are no references.
    pub(crate) fn hide_if_unreferenced(&self) -> HideOutcome {
        self.hide_if(|references| references == 0)
    }

    fn hide_if(&self, condition: impl Fn(u64) -> bool) -> HideOutcome {
        let mut meta = self.meta.load(Ordering::Relaxed);
        loop {
            let references = meta & REFERENCES;
            if meta & STATE != VISIBLE || !condition(references) {
                return HideOutcome::NotVisible;
            }
            let next = if references == 0 { EMPTY } else { INVISIBLE | references };
            match self.meta.compare_exchange_weak(meta, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if references == 0 => return HideOutcome::Claimed,
                Ok(_) => return HideOutcome::Held,
                Err(now) => meta = now,
            }
        }
    }

    /// Charge of the entry when it is referenced, else 0; a snapshot. Under the shard's lock.
    pub(crate) fn pinned_charge(&self) -> usize {
        let meta = self.meta.load(Ordering::Acquire);
        if meta & STATE == EMPTY || meta & REFERENCES == 0 {
            return 0;
        }
        // SAFETY: the lock is held and the slot was not EMPTY: no thread writes to it before the lock is released.
        unsafe { self.charge() }
    }
}
