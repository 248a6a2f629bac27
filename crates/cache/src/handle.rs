//! Handles: pinned values.

use crate::role::EntryRole;
use crate::shared::{Garbage, Payload};
use crate::slot::{Entry, Slot};
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// A value that lives at least as long as the handle: in the cache, where it is not evicted meanwhile, or, if the cache
/// refused it, on its own. The handle stays usable after the cache was dropped. A clone is one atomic addition.
pub struct Handle<V>(Repr<V>);

enum Repr<V> {
    /// Holds one reference of the slot.
    Cached(NonNull<Slot<Payload<V>>>),
    Standalone(Arc<V>),
}

// SAFETY: a handle gives shared access to the value from any thread (`V: Sync`) and may be the one that drops it
// (`V: Send`), like an `Arc<V>`; the slot's word is atomic.
unsafe impl<V: Send + Sync> Send for Handle<V> {}
// SAFETY: as above.
unsafe impl<V: Send + Sync> Sync for Handle<V> {}

impl<V> Handle<V> {
    /// # Safety
    /// The caller passes on a reference of the slot.
    #[inline]
    pub(crate) unsafe fn from_slot(slot: NonNull<Slot<Payload<V>>>) -> Self {
        Self(Repr::Cached(slot))
    }

    /// A handle to a value outside any cache.
    #[must_use]
    pub fn standalone(value: V) -> Self {
        Self(Repr::Standalone(Arc::new(value)))
    }

    /// False if the cache refused the value.
    #[must_use]
    pub fn is_cached(&self) -> bool {
        matches!(self.0, Repr::Cached(_))
    }

    #[inline]
    fn cached_entry(&self) -> Option<&Entry<Payload<V>>> {
        match &self.0 {
            // SAFETY: the handle holds a reference, so the slot is alive (its entry owns the cache's memory) and the
            // entry stays in it.
            Repr::Cached(slot) => Some(unsafe { slot.as_ref().entry() }),
            Repr::Standalone(_) => None,
        }
    }

    /// Bytes charged to the cache; 0 outside of it.
    #[must_use]
    pub fn charge(&self) -> usize {
        self.cached_entry().map_or(0, |entry| entry.charge)
    }

    /// What the entry holds; `None` outside the cache.
    #[must_use]
    pub fn role(&self) -> Option<EntryRole> {
        self.cached_entry().map(|entry| entry.role)
    }

    /// Removes the entry of this handle's key from the cache, although this handle and others keep it. False when it is
    /// not there any more, or was never.
    ///
    /// ```
    /// use ferrock_cache::{BlockCache, CacheKey, CacheOptions, EntryRole, Priority};
    /// let cache = BlockCache::new(CacheOptions { capacity_bytes: 1 << 20, ..Default::default() });
    /// let key = CacheKey::new((1, 2), 4096);
    /// let handle = cache.insert(&key, "block", 5, EntryRole::DataBlock, Priority::Low).unwrap();
    /// assert!(handle.erase() && !handle.erase() && cache.lookup(&key).is_none());
    /// assert_eq!(*handle, "block");
    /// ```
    pub fn erase(&self) -> bool {
        self.cached_entry().is_some_and(|entry| {
            let (hash, mut garbage) = (entry.key.hash(), Garbage::new());
            entry.payload.owner.shard(hash).erase(hash, &entry.key, &mut garbage)
        })
    }

    /// Drops the handle and, if it was the only one, its entry: for blocks that will not be used again.
    pub fn release_and_erase(self) {
        if let Repr::Cached(slot) = &self.0
            && let Some(entry) = self.cached_entry()
        {
            let hash = entry.key.hash();
            // SAFETY: as in `cached_entry`.
            entry.payload.owner.shard(hash).hide_if_last(hash, unsafe { slot.as_ref() });
        }
    }
}

impl<V> Deref for Handle<V> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        match &self.0 {
            // SAFETY: as in `cached_entry`.
            Repr::Cached(slot) => unsafe { &slot.as_ref().entry().payload.value },
            Repr::Standalone(value) => value,
        }
    }
}

impl<V> Clone for Handle<V> {
    #[inline]
    fn clone(&self) -> Self {
        match &self.0 {
            Repr::Cached(slot) => {
                // SAFETY: the handle holds a reference, so the slot is alive.
                unsafe { slot.as_ref() }.add_reference();
                Self(Repr::Cached(*slot))
            }
            Repr::Standalone(value) => Self(Repr::Standalone(value.clone())),
        }
    }
}

impl<V> Drop for Handle<V> {
    #[inline]
    fn drop(&mut self) {
        if let Repr::Cached(slot) = self.0 {
            // SAFETY: the handle holds a reference, so the slot is alive until that is released, and not accessed
            // afterwards.
            if unsafe { slot.as_ref() }.release() {
                free(slot);
            }
        }
    }
}

/// Frees an entry that is no longer in the cache, after its last reference was released.
#[cold]
fn free<V>(slot: NonNull<Slot<Payload<V>>>) {
    // SAFETY: `release` returned true: this thread owns the entry, whose `owner` keeps the slot and the shard alive.
    let slot = unsafe { slot.as_ref() };
    // SAFETY: as above; taken once, before the shard can reuse the slot.
    let entry = unsafe { slot.take() };
    let owner = entry.payload.owner.clone();
    owner.shard(entry.key.hash()).free_released(slot, &entry);
    drop(entry);
}

impl<V: fmt::Debug> fmt::Debug for Handle<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handle").field(&**self).finish()
    }
}
