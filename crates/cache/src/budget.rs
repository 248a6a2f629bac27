//! What all shards charge: one sum for the whole cache, so that an entry may be as large as the cache and not only as large
//! as a shard's share of it.
//!
//! Under a strict limit a charge is taken with a compare-and-swap that refuses to pass the capacity *before* the entry
//! exists, so the sum is never above the capacity (but after the capacity itself was lowered below what is in use).

use crate::sync::{AtomicUsize, Ordering};

/// Capacity and what is used of it.
pub(crate) struct Budget {
    capacity: AtomicUsize,
    /// Entries (also erased ones that somebody holds) and reservations.
    used: AtomicUsize,
    /// Slots of all shards, in use or not: how long a pass of the clock hand is.
    slots: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity: AtomicUsize::new(capacity), used: AtomicUsize::new(0), slots: AtomicUsize::new(0) }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }

    pub(crate) fn set_capacity(&self, bytes: usize) {
        self.capacity.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes `bytes` when the sum stays within the capacity. Otherwise says how many must be freed first.
    pub(crate) fn try_take(&self, bytes: usize) -> Result<(), usize> {
        let mut used = self.used();
        loop {
            let capacity = self.capacity();
            let Some(sum) = used.checked_add(bytes) else { return Err(usize::MAX) };
            if sum > capacity {
                return Err(sum - capacity);
            }
            match self.used.compare_exchange_weak(used, sum, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => used = now,
            }
        }
    }

    /// Takes `bytes` whatever the capacity. False when the sum would not fit a number.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let grown = |used: usize| used.checked_add(bytes);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes);
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots.load(Ordering::Relaxed)
    }

    pub(crate) fn add_slots(&self, count: usize) {
        self.slots.fetch_add(count, Ordering::Relaxed);
    }
}
