//! The public interface of the cache.

use crate::flight::Flights;
use crate::handle::Handle;
use crate::key::CacheKey;
use crate::options::CacheOptions;
use crate::reservation::Reservation;
use crate::role::{EntryRole, Priority};
use crate::shared::{Garbage, Shared};
use crate::stats::{CacheStats, Event};
use ferrock_base::error::{Error, ErrorKind, Result};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A value that the cache refused: the caller continues without caching it.
pub struct Rejected<V>(pub V);

impl<V> fmt::Debug for Rejected<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rejected")
    }
}

/// A cache of values by 16-byte keys. Looking up takes no lock; inserting and erasing lock one shard.
///
/// ```
/// use ferrock_cache::{BlockCache, CacheKey, CacheOptions, EntryRole, Priority};
/// let cache = BlockCache::new(CacheOptions { capacity_bytes: 1 << 20, ..Default::default() });
/// let key = CacheKey::new((1, 2), 4096);
/// let handle = cache.insert(&key, "block", 5, EntryRole::DataBlock, Priority::Low).unwrap();
/// assert_eq!(*handle, "block");
/// assert_eq!(cache.lookup(&key).as_deref(), Some(&"block"));
/// ```
pub struct BlockCache<V> {
    pub(crate) shared: Arc<Shared<V>>,
    flights: Flights<V>,
    fail_when_full: bool,
    next_id: AtomicU64,
}

impl<V> BlockCache<V> {
    /// An empty cache.
    #[must_use]
    pub fn new(options: CacheOptions) -> Arc<Self> {
        let shared = Shared::new(options.effective_shard_bits(), &options);
        Arc::new(Self {
            shared: Arc::new(shared),
            flights: Flights::new(),
            fail_when_full: options.strict_capacity_limit && options.fail_when_full,
            next_id: AtomicU64::new(1),
        })
    }

    /// The entry of `key`, pinned. A miss is counted without a role; see [`lookup_as`](Self::lookup_as).
    #[inline]
    #[must_use]
    pub fn lookup(&self, key: &CacheKey) -> Option<Handle<V>> {
        self.lookup_as(key, EntryRole::Other)
    }

    /// The entry of `key`, pinned; a miss is counted for `role`.
    #[inline]
    #[must_use]
    pub fn lookup_as(&self, key: &CacheKey, role: EntryRole) -> Option<Handle<V>> {
        let found = self.find(key);
        match &found {
            Some(handle) => self.shared.counters.count(Event::Hit, handle.role().unwrap_or(role)),
            None => self.shared.counters.count(Event::Miss, role),
        }
        found
    }

    /// The entry of `key`, pinned, for a caller that does not load it: a miss is not counted.
    #[inline]
    #[must_use]
    pub fn lookup_present(&self, key: &CacheKey, role: EntryRole) -> Option<Handle<V>> {
        let found = self.find(key)?;
        self.shared.counters.count(Event::Hit, found.role().unwrap_or(role));
        Some(found)
    }

    /// The entry of `key`, pinned, for a caller that only inspects the cache: nothing is counted.
    #[inline]
    #[must_use]
    pub fn peek(&self, key: &CacheKey) -> Option<Handle<V>> {
        self.find(key)
    }

    #[inline]
    fn find(&self, key: &CacheKey) -> Option<Handle<V>> {
        let hash = key.hash();
        // SAFETY: `lookup` gives us a reference.
        self.shared.shard(hash).lookup(hash, key).map(|slot| unsafe { Handle::from_slot(slot) })
    }

    /// Adds a value, in place of an entry of the same key (whose holders keep it). Evicts to make room. If the value
    /// does not fit beside the entries in use, a cache without a strict limit takes it nevertheless; one with a strict
    /// limit returns it. A value larger than the whole capacity (less the reservations) is always returned.
    ///
    /// # Errors
    /// [`Rejected`] with the value when it does not fit, or is larger than the whole capacity.
    pub fn insert(
        &self,
        key: &CacheKey,
        value: V,
        charge: usize,
        role: EntryRole,
        priority: Priority,
    ) -> std::result::Result<Handle<V>, Rejected<V>> {
        match self.shared.insert(key, value, charge, role, priority) {
            // SAFETY: `insert` gives us the entry's first reference.
            Ok(slot) => Ok(unsafe { Handle::from_slot(slot) }),
            Err(value) => Err(Rejected(value)),
        }
    }

    /// Adds a value; if it is refused, returns it in a handle outside the cache.
    pub fn insert_or_standalone(
        &self,
        key: &CacheKey,
        value: V,
        charge: usize,
        role: EntryRole,
        priority: Priority,
    ) -> Handle<V> {
        self.insert(key, value, charge, role, priority).unwrap_or_else(|Rejected(value)| Handle::standalone(value))
    }

    /// Adds a value; if it is refused, returns it in a handle outside the cache, or fails, as the options say.
    ///
    /// # Errors
    /// `MemoryLimit` when the value is refused and the options say `fail_when_full`: raise the capacity, then try
    /// again.
    pub fn insert_or_fail(
        &self,
        key: &CacheKey,
        value: V,
        charge: usize,
        role: EntryRole,
        priority: Priority,
    ) -> Result<Handle<V>> {
        match self.insert(key, value, charge, role, priority) {
            Ok(handle) => Ok(handle),
            Err(_) if self.fail_when_full => Err(self.full(charge, role)),
            Err(Rejected(value)) => Ok(Handle::standalone(value)),
        }
    }

    #[cold]
    fn full(&self, charge: usize, role: EntryRole) -> Error {
        let (usage, capacity) = (self.usage(), self.capacity());
        let message = format!(
            "Insert failed due to LRU cache being full. {} of {charge} bytes beside {usage} bytes in use, the block cache \
             has a strict limit of {capacity}: raise its capacity, or let reads go past it (fail_when_full = false)",
            role.name()
        );
        Error::new(ErrorKind::MemoryLimit, message)
    }

    /// The entry of `key`; if it is missing, `load` makes it (value and charge). If many threads miss at once, one
    /// loads and the others wait for its result or its error; errors are not cached. If that thread panics, another one
    /// loads. `load` must not look up the same key again.
    ///
    /// # Errors
    /// Those of `load`; and [`ErrorKind::MemoryLimit`] if the value is refused and the options say `fail_when_full`.
    pub fn lookup_or_load(
        &self,
        key: &CacheKey,
        role: EntryRole,
        priority: Priority,
        load: impl FnOnce() -> Result<(V, usize)>,
    ) -> Result<Handle<V>> {
        match self.lookup_as(key, role) {
            Some(handle) => Ok(handle),
            None => self.load_missing(key, role, priority, load),
        }
    }

    /// As [`lookup_or_load`](Self::lookup_or_load) for a key that was looked up in vain just now: that miss is the one
    /// that is counted.
    ///
    /// # Errors
    /// Those of [`lookup_or_load`](Self::lookup_or_load).
    pub fn load_missing(
        &self,
        key: &CacheKey,
        role: EntryRole,
        priority: Priority,
        load: impl FnOnce() -> Result<(V, usize)>,
    ) -> Result<Handle<V>> {
        let make = || load().and_then(|(value, charge)| self.insert_or_fail(key, value, charge, role, priority));
        self.flights.load(key, || self.find(key), make)
    }

    /// As [`load_missing`](Self::load_missing), but never fails because the cache is full, whatever the options
    /// say. If this call waited for the load of another thread, and the full cache failed that one, it loads the value
    /// again for itself alone.
    ///
    /// # Errors
    /// Those of `load`.
    pub fn load_missing_past(
        &self,
        key: &CacheKey,
        role: EntryRole,
        priority: Priority,
        mut load: impl FnMut() -> Result<(V, usize)>,
    ) -> Result<Handle<V>> {
        let mut has_loaded = false;
        let make = || {
            has_loaded = true;
            load().map(|(value, charge)| self.insert_or_standalone(key, value, charge, role, priority))
        };
        let found = self.flights.load(key, || self.find(key), make);
        match found {
            Err(error) if !has_loaded && error.kind() == ErrorKind::MemoryLimit => {
                load().map(|(value, _)| Handle::standalone(value))
            }
            found => found,
        }
    }

    /// Removes the entry of `key`; holders keep it. True when there was one.
    pub fn erase(&self, key: &CacheKey) -> bool {
        let hash = key.hash();
        let mut garbage = Garbage::new();
        self.shared.shard(hash).erase(hash, key, &mut garbage)
    }

    /// Removes every entry without references.
    pub fn erase_unreferenced(&self) {
        for shard in self.shared.shards() {
            let mut garbage = Garbage::new();
            shard.erase_all(false, &mut garbage);
        }
    }

    /// Bytes the cache may hold.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.shared.capacity_bytes()
    }

    /// Changes the capacity, and evicts entries that no longer fit at once.
    pub fn set_capacity(&self, bytes: usize) {
        self.shared.set_capacity(bytes);
    }

    /// Calls a function now and then while entries are inserted, by the threads that insert: before an insert, without
    /// locks. Only the first call sets one; false for a later one.
    pub fn watch(&self, watch: Box<dyn Fn() + Send + Sync>) -> bool {
        self.shared.set_watch(watch)
    }

    /// True if values that do not fit are refused.
    #[must_use]
    pub fn has_strict_capacity_limit(&self) -> bool {
        self.shared.is_strict()
    }

    /// Bytes charged: entries (also erased ones that are still referenced) and reservations.
    #[must_use]
    pub fn usage(&self) -> usize {
        self.shared.usage_bytes()
    }

    /// Bytes charged for referenced entries and for reservations. Walks over all entries.
    #[must_use]
    pub fn pinned_usage(&self) -> usize {
        self.shared.shards().iter().map(|shard| shard.pinned_usage()).sum::<usize>() + self.shared.reserved_bytes()
    }

    /// Bytes of the cache's own tables.
    #[must_use]
    pub fn table_bytes(&self) -> usize {
        self.shared.shards().iter().map(|shard| shard.table_bytes()).sum()
    }

    /// Total words of the index tables.
    #[must_use]
    pub fn table_address_count(&self) -> usize {
        self.shared.shards().iter().map(|shard| shard.index_length()).sum()
    }

    /// Number of shards.
    #[must_use]
    pub fn shard_count(&self) -> usize {
        self.shared.shards().len()
    }

    /// Counters and usage by role.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        let mut stats = self.shared.counters.snapshot();
        for usage in self.shared.shards().iter().map(|shard| shard.role_usage()) {
            for role in EntryRole::ALL {
                stats.role_mut(role).usage_bytes += usage.charge[role as usize];
                stats.role_mut(role).entry_count += usage.count[role as usize];
            }
        }
        for role in EntryRole::ALL {
            stats.role_mut(role).usage_bytes += self.shared.reserved_by_role(role);
        }
        stats
    }

    /// A number that is unique in this cache: the key base of a file without an id of its own.
    #[must_use]
    pub fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }
}

impl<V: Send + Sync + 'static> BlockCache<V> {
    /// Reserves a part of the capacity for memory elsewhere. Evicts to make room; fails if that is not enough and the
    /// limit is strict.
    ///
    /// # Errors
    /// `MemoryLimit` when the limit is strict and entries in use leave no room.
    pub fn reserve(&self, bytes: usize, role: EntryRole) -> Result<Reservation> {
        let mut reservation = Reservation::new(self.shared.clone(), role);
        reservation.resize(bytes)?;
        Ok(reservation)
    }

    /// A reservation of nothing yet, which cannot fail.
    pub fn reservation(&self, role: EntryRole) -> Reservation {
        Reservation::new(self.shared.clone(), role)
    }
}

impl<V> Drop for BlockCache<V> {
    fn drop(&mut self) {
        // Entries own the shared part: without this they would keep each other alive.
        for shard in self.shared.shards() {
            let mut garbage = Garbage::new();
            shard.erase_all(true, &mut garbage);
        }
    }
}

impl<V> fmt::Debug for BlockCache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCache")
            .field("capacity", &self.capacity())
            .field("usage", &self.usage())
            .field("shards", &self.shard_count())
            .finish_non_exhaustive()
    }
}
