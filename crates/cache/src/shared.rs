//! The part that the cache and its handles share: the shards and the capacity.
//!
//! Every entry owns an `Arc` of this structure, so that it lives until the last handle is dropped, and a handle needs
//! no `Arc` of its own: taking and dropping a handle accesses only the entry's word.

use crate::budget::{Budget, PoolRatios};
use crate::key::CacheKey;
use crate::options::CacheOptions;
use crate::role::{EntryRole, Priority, ROLES};
use crate::shard::Shard;
use crate::slot::{Entry, Slot};
use crate::stats::{Counters, Event};
use crate::sync::{AtomicUsize, Ordering};
use ferrock_base::error::{Error, ErrorKind, Result};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// A value, and the owner that keeps its slot alive. The owner is dropped last.
pub(crate) struct Payload<V> {
    pub(crate) value: V,
    pub(crate) owner: Arc<Shared<V>>,
}

/// Entries removed from the cache, to be dropped outside its locks.
pub(crate) type Garbage<V> = Vec<Entry<Payload<V>>>;

/// How hard an eviction tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Until there is nothing left to evict.
    Thorough,
    /// Gives up early among entries in use.
    Bounded,
}

/// The shared part.
pub(crate) struct Shared<V> {
    shards: Box<[Shard<Payload<V>>]>,
    pub(crate) budget: Arc<Budget>,
    reserved_bytes: AtomicUsize,
    reserved_by_role: [AtomicUsize; ROLES],
    /// Number of the shard where the clock hand continues, modulo their count.
    pub(crate) hand: AtomicUsize,
    strict: bool,
    charge_metadata: bool,
    watch: OnceLock<Watch>,
    inserts: AtomicUsize,
    pub(crate) counters: Counters,
}

/// Called once in so many inserts.
const WATCHED_INSERTS: usize = 256;

/// See [`BlockCache::watch`](crate::BlockCache::watch).
pub(crate) type Watch = Box<dyn Fn() + Send + Sync>;

impl<V> Shared<V> {
    pub(crate) fn new(shard_bits: u32, options: &CacheOptions) -> Self {
        let ratios = PoolRatios { high: options.high_pri_pool_ratio, low: options.low_pri_pool_ratio };
        let budget = Arc::new(Budget::new(options.capacity_bytes, ratios));
        Self {
            shards: (0..1usize << shard_bits).map(|_| Shard::new(budget.clone())).collect(),
            budget,
            reserved_bytes: AtomicUsize::new(0),
            reserved_by_role: std::array::from_fn(|_| AtomicUsize::new(0)),
            hand: AtomicUsize::new(0),
            strict: options.strict_capacity_limit,
            charge_metadata: options.charge_metadata,
            watch: OnceLock::new(),
            inserts: AtomicUsize::new(0),
            counters: Counters::default(),
        }
    }

    pub(crate) fn shards(&self) -> &[Shard<Payload<V>>] {
        &self.shards
    }

    /// The shard of a hash: by its high bits, since the index uses the low ones.
    #[inline]
    pub(crate) fn shard(&self, hash: u64) -> &Shard<Payload<V>> {
        &self.shards[(hash >> 52) as usize & (self.shards.len() - 1)]
    }

    pub(crate) fn capacity_bytes(&self) -> usize {
        self.budget.capacity()
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    pub(crate) fn reserved_bytes(&self) -> usize {
        self.reserved_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn reserved_by_role(&self, role: EntryRole) -> usize {
        self.reserved_by_role[role as usize].load(Ordering::Relaxed)
    }

    /// Bytes of entries and reservations.
    pub(crate) fn usage_bytes(&self) -> usize {
        self.budget.used()
    }

    /// False if there is a watch already.
    pub(crate) fn set_watch(&self, watch: Watch) -> bool {
        self.watch.set(watch).is_ok()
    }

    fn tell_watch(&self) {
        if let Some(watch) = self.watch.get()
            && self.inserts.fetch_add(1, Ordering::Relaxed).is_multiple_of(WATCHED_INSERTS)
        {
            watch();
        }
    }

    pub(crate) fn set_capacity(&self, bytes: usize) {
        self.budget.set_capacity(bytes);
        self.evict_surplus(Effort::Thorough);
    }

    /// Evicts until the usage is within the capacity.
    fn evict_surplus(&self, effort: Effort) {
        let surplus = self.usage_bytes().saturating_sub(self.capacity_bytes());
        if surplus > 0 {
            self.evict(surplus, effort);
        }
    }

    /// Takes `bytes` of the capacity, evicting to make room. False if that is refused: over a strict limit, or because
    /// the sum would overflow.
    fn take(&self, bytes: usize, effort: Effort) -> bool {
        if !self.strict {
            // Evicts before the insert, so that the hand cannot evict the new entry.
            if let Err(missing) = self.budget.try_take(bytes) {
                self.evict(missing, effort);
                return self.budget.take(bytes);
            }
            return true;
        }
        loop {
            let Err(missing) = self.budget.try_take(bytes) else { return true };
            // Evicting every entry would not make enough room, so none is evicted.
            if bytes > self.capacity_bytes().saturating_sub(self.reserved_bytes()) {
                return false;
            }
            if self.evict(missing, Effort::Thorough) == 0 {
                return self.budget.try_take(bytes).is_ok();
            }
        }
    }

    /// The full charge of an entry.
    fn full_charge(&self, charge: usize) -> usize {
        // The slot, its number and two words of index at half load.
        let metadata = size_of::<Slot<Payload<V>>>() + size_of::<u32>() + 2 * size_of::<u64>();
        charge.saturating_add(if self.charge_metadata { metadata } else { 0 })
    }

    /// Adds an entry; over a strict limit the value is returned.
    pub(crate) fn insert(
        self: &Arc<Self>,
        key: &CacheKey,
        value: V,
        charge: usize,
        role: EntryRole,
        priority: Priority,
    ) -> std::result::Result<NonNull<Slot<Payload<V>>>, V> {
        self.tell_watch();
        let hash = key.hash();
        let charge = self.full_charge(charge);
        // A value larger than the cache would evict all entries, and then be evicted itself.
        let has_room = charge <= self.capacity_bytes().saturating_sub(self.reserved_bytes());
        let mut garbage = Garbage::new();
        if !has_room || !self.take(charge, Effort::Bounded) {
            self.shard(hash).erase(hash, key, &mut garbage);
            self.counters.count(Event::Rejection, role);
            return Err(value);
        }
        let payload = Payload { value, owner: self.clone() };
        let (pool, priority) = self.budget.enter_pool(priority, charge);
        let entry = Entry { key: *key, charge, role, pool, payload };
        let inserted = self.shard(hash).insert(hash, entry, priority, &mut garbage);
        self.counters.count(if inserted.is_ok() { Event::Insert } else { Event::Rejection }, role);
        inserted.map_err(|entry| {
            self.budget.give_back(charge);
            self.budget.leave_pool(entry.pool, charge);
            entry.payload.value
        })
    }
}

/// A cache as a reservation uses it, independent of the type of values.
pub(crate) trait Capacity: Send + Sync {
    fn reserve(&self, bytes: usize, role: EntryRole) -> Result<()>;
    fn release(&self, bytes: usize, role: EntryRole);
}

impl<V: Send + Sync> Capacity for Shared<V> {
    fn reserve(&self, bytes: usize, role: EntryRole) -> Result<()> {
        if !self.take(bytes, Effort::Thorough) {
            return Err(does_not_fit(bytes, self.capacity_bytes()));
        }
        self.reserved_by_role[role as usize].fetch_add(bytes, Ordering::Relaxed);
        self.reserved_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn release(&self, bytes: usize, role: EntryRole) {
        self.reserved_by_role[role as usize].fetch_sub(bytes, Ordering::Relaxed);
        self.reserved_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.budget.give_back(bytes);
    }
}

#[cold]
fn does_not_fit(bytes: usize, capacity: usize) -> Error {
    Error::new(
        ErrorKind::MemoryLimit,
        format!(
            "{bytes} bytes cannot be reserved: the block cache of {capacity} bytes has a strict limit and is full of what \
             is in use; raise its capacity"
        ),
    )
}
