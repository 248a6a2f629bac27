//! What the cache and its handles share: the shards and the capacity.
//!
//! Every entry owns a count of this structure, so that it lives until the last handle is dropped, and a handle needs no
//! count of its own: taking and dropping one touches the entry's word and nothing else.

use crate::key::CacheKey;
use crate::role::{EntryRole, ROLES};
use crate::shard::{Limit, Shard};
use crate::slot::{Entry, Slot};
use crate::stats::{Counters, Event};
use crate::sync::{AtomicUsize, Ordering};
use ferrock_base::error::{Error, ErrorKind, Result};
use std::ptr::NonNull;
use std::sync::Arc;

/// A value with what keeps its slot alive. The owner is dropped last.
pub(crate) struct Payload<V> {
    pub(crate) value: V,
    pub(crate) owner: Arc<Shared<V>>,
}

/// Entries that left the cache, to be dropped outside its locks.
pub(crate) type Garbage<V> = Vec<Entry<Payload<V>>>;

/// The shared part.
pub(crate) struct Shared<V> {
    shards: Box<[Shard<Payload<V>>]>,
    capacity_bytes: AtomicUsize,
    reserved_bytes: AtomicUsize,
    reserved_by_role: [AtomicUsize; ROLES],
    strict: bool,
    charge_metadata: bool,
    pub(crate) counters: Counters,
}

impl<V> Shared<V> {
    pub(crate) fn new(shard_bits: u32, capacity_bytes: usize, strict: bool, charge_metadata: bool) -> Self {
        Self {
            shards: (0..1usize << shard_bits).map(|_| Shard::new()).collect(),
            capacity_bytes: AtomicUsize::new(capacity_bytes),
            reserved_bytes: AtomicUsize::new(0),
            reserved_by_role: std::array::from_fn(|_| AtomicUsize::new(0)),
            strict,
            charge_metadata,
            counters: Counters::default(),
        }
    }

    pub(crate) fn shards(&self) -> &[Shard<Payload<V>>] {
        &self.shards
    }

    /// The shard of a hash: by its high bits, since the index goes by the low ones.
    #[inline]
    pub(crate) fn shard(&self, hash: u64) -> &Shard<Payload<V>> {
        &self.shards[(hash >> 52) as usize & (self.shards.len() - 1)]
    }

    pub(crate) fn capacity_bytes(&self) -> usize {
        self.capacity_bytes.load(Ordering::Relaxed)
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
        self.shards.iter().map(Shard::usage).sum::<usize>() + self.reserved_bytes()
    }

    /// What one shard may hold now.
    fn limit(&self) -> Limit {
        let free = self.capacity_bytes().saturating_sub(self.reserved_bytes());
        Limit { capacity: free / self.shards.len(), strict: self.strict }
    }

    pub(crate) fn set_capacity(&self, bytes: usize) {
        self.capacity_bytes.store(bytes, Ordering::Relaxed);
        self.evict_to_limit();
    }

    fn evict_to_limit(&self) {
        let room = self.limit().capacity;
        for shard in &self.shards {
            let mut garbage = Garbage::new();
            shard.evict_to(room, &mut garbage);
            self.drop_evicted(garbage);
        }
    }

    /// What an entry is charged.
    fn full_charge(&self, charge: usize) -> usize {
        // The slot, its number and two words of index at half load.
        let metadata = size_of::<Slot<Payload<V>>>() + size_of::<u32>() + 2 * size_of::<u64>();
        charge.saturating_add(if self.charge_metadata { metadata } else { 0 })
    }

    /// Adds an entry; over a strict limit the value comes back.
    pub(crate) fn insert(
        self: &Arc<Self>,
        key: &CacheKey,
        value: V,
        charge: usize,
        role: EntryRole,
        clock: u64,
    ) -> std::result::Result<NonNull<Slot<Payload<V>>>, V> {
        let hash = key.hash();
        let payload = Payload { value, owner: self.clone() };
        let entry = Entry { key: *key, charge: self.full_charge(charge), role, payload };
        let mut garbage = Garbage::new();
        let inserted = self.shard(hash).insert(hash, entry, clock, self.limit(), &mut garbage);
        self.drop_evicted(garbage);
        self.counters.count(if inserted.is_ok() { Event::Insert } else { Event::Rejection }, role);
        inserted.map_err(|entry| entry.payload.value)
    }

    fn drop_evicted(&self, garbage: Garbage<V>) {
        for entry in &garbage {
            self.counters.count(Event::Eviction, entry.role);
        }
        drop(garbage);
    }
}

/// A cache seen by a reservation, which does not care for values.
pub(crate) trait Capacity: Send + Sync {
    fn reserve(&self, bytes: usize, role: EntryRole) -> Result<()>;
    fn release(&self, bytes: usize, role: EntryRole);
}

impl<V: Send + Sync> Capacity for Shared<V> {
    fn reserve(&self, bytes: usize, role: EntryRole) -> Result<()> {
        let grown = |reserved: usize| reserved.checked_add(bytes);
        if self.reserved_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_err() {
            return Err(does_not_fit(bytes, self.capacity_bytes()));
        }
        self.reserved_by_role[role as usize].fetch_add(bytes, Ordering::Relaxed);
        self.evict_to_limit();
        if self.strict && self.usage_bytes() > self.capacity_bytes() {
            self.release(bytes, role);
            return Err(does_not_fit(bytes, self.capacity_bytes()));
        }
        Ok(())
    }

    fn release(&self, bytes: usize, role: EntryRole) {
        self.reserved_by_role[role as usize].fetch_sub(bytes, Ordering::Relaxed);
        self.reserved_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cold]
fn does_not_fit(bytes: usize, capacity: usize) -> Error {
    Error::new(
        ErrorKind::Aborted,
        format!(
            "{bytes} bytes cannot be reserved: the block cache of {capacity} bytes has a strict limit and is full of what \
             is in use; raise its capacity"
        ),
    )
}
