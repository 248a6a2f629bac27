//! The charges of all shards: one sum for the whole cache, so that an entry may be as large as the cache and not only
//! as large as a shard's share of it.
//!
//! Under a strict limit a charge is taken with a compare-and-swap that refuses to pass the capacity *before* the entry
//! exists, so the sum is never above the capacity (except after the capacity was lowered below the bytes in use).

use crate::role::{Pool, Priority};
use crate::sync::{AtomicUsize, Ordering};

/// The parts of the capacity that are set aside for priorities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolRatios {
    pub(crate) high: f64,
    pub(crate) low: f64,
}

/// The capacity, and how much of it is used.
pub(crate) struct Budget {
    capacity: AtomicUsize,
    /// Bytes of entries (also erased ones that are still referenced) and of reservations.
    used: AtomicUsize,
    /// Bytes that entries of high priority, and below of low priority, use of the parts set aside for them.
    high: AtomicUsize,
    low: AtomicUsize,
    ratios: PoolRatios,
    /// Slots of all shards, in use or not: the length of a pass of the clock hand.
    slots: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(capacity: usize, ratios: PoolRatios) -> Self {
        Self {
            capacity: AtomicUsize::new(capacity),
            used: AtomicUsize::new(0),
            high: AtomicUsize::new(0),
            low: AtomicUsize::new(0),
            ratios,
            slots: AtomicUsize::new(0),
        }
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

    /// Takes `bytes` if the sum stays within the capacity. Otherwise returns how many must be freed first.
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

    /// Takes `bytes` regardless of the capacity. False if the sum would overflow.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let grown = |used: usize| used.checked_add(bytes);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes);
    }

    /// The pool that takes an entry, and the priority that it then has.
    pub(crate) fn enter_pool(&self, priority: Priority, charge: usize) -> (Pool, Priority) {
        if priority >= Priority::High && self.enter(&self.high, self.ratios.high, charge) {
            return (Pool::High, priority);
        }
        if priority >= Priority::Low && self.enter(&self.low, self.ratios.low, charge) {
            return (Pool::Low, Priority::Low);
        }
        (Pool::None, Priority::Bottom)
    }

    fn enter(&self, pool: &AtomicUsize, ratio: f64, charge: usize) -> bool {
        // The product is approximate, which suffices for a bound on charges.
        let bound = if ratio >= 1.0 { usize::MAX } else { (self.capacity() as f64 * ratio) as usize };
        let grown = |used: usize| used.checked_add(charge).filter(|sum| *sum <= bound);
        bound > 0 && pool.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
    }

    pub(crate) fn leave_pool(&self, pool: Pool, charge: usize) {
        match pool {
            Pool::None => {}
            Pool::Low => _ = self.low.fetch_sub(charge, Ordering::Relaxed),
            Pool::High => _ = self.high.fetch_sub(charge, Ordering::Relaxed),
        }
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots.load(Ordering::Relaxed)
    }

    pub(crate) fn add_slots(&self, count: usize) {
        self.slots.fetch_add(count, Ordering::Relaxed);
    }
}
