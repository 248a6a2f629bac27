//! Capacity reserved for memory outside the cache: memtables, open tables, builders.

use crate::role::EntryRole;
use crate::shared::Capacity;
use ferrock_base::error::Result;
use std::fmt;
use std::sync::Arc;

/// A reserved part of a cache's capacity, released on drop.
///
/// Growing a reservation may evict entries and, over a strict limit, fail; so grow it in steps of some ten kilobytes,
/// not per entry.
pub struct Reservation {
    cache: Arc<dyn Capacity>,
    role: EntryRole,
    bytes: usize,
}

impl Reservation {
    pub(crate) fn new(cache: Arc<dyn Capacity>, role: EntryRole) -> Self {
        Self { cache, role, bytes: 0 }
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Changes the size. On failure (a strict limit) it stays as it is; shrinking never fails.
    ///
    /// # Errors
    /// `MemoryLimit` when the limit is strict and entries in use leave no room.
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.bytes {
            self.cache.reserve(bytes - self.bytes, self.role)?;
        } else {
            self.cache.release(self.bytes - bytes, self.role);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.cache.release(self.bytes, self.role);
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("role", &self.role).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
