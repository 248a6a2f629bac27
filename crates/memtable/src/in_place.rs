//! Values that are written over where they lie (`inplace_update_support`).
//!
//! A value's bytes may change only while the lock of its key is held for writing, and are read only while it is held
//! for reading: a lookup holds it while it shows the versions of its key, and an iterator copies the value when it
//! comes to an entry. Keys, trailers and links do not change, so searches take no lock.

use crate::sync::RwLock;
use ferrock_base::hash::hash64;

/// Most locks of a memtable.
const MOST_LOCKS: usize = 1 << 20;

/// The locks, each of the keys with one hash.
pub(crate) struct ValueLocks {
    locks: Box<[RwLock<()>]>,
}

impl ValueLocks {
    pub(crate) fn new(count: usize) -> Self {
        Self { locks: (0..count.clamp(1, MOST_LOCKS)).map(|_| RwLock::new(())).collect() }
    }

    /// The lock of the values of a key.
    pub(crate) fn of(&self, user_key: &[u8]) -> &RwLock<()> {
        &self.locks[(hash64(user_key) % self.locks.len() as u64) as usize]
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.locks)
    }
}
