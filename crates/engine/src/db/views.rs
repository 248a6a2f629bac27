//! What a database has that follows another process's: the lock under which its views change, and the state of its
//! catch-ups.
//!
//! A view of a family is its memtables and tables. Those of all families change at once; whatever reads several
//! families holds the lock for reading until it has them all. `open/secondary.rs` replaces the views and keeps its
//! state here, of which nothing else knows the type.

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::any::Any;

/// The views of a secondary.
pub(crate) struct Views {
    /// Held by a catch-up.
    follower: Mutex<Box<dyn Any + Send>>,
    /// Held for writing while views are replaced, for reading while several families are pinned.
    changes: RwLock<()>,
}

impl Views {
    /// Without a view yet; `follower` is the state of its catch-ups.
    pub(crate) fn new(follower: impl Any + Send) -> Self {
        Self { follower: Mutex::new(Box::new(follower)), changes: RwLock::new(()) }
    }

    /// No view changes while the guard lives.
    pub(crate) fn hold(&self) -> RwLockReadGuard<'_, ()> {
        self.changes.read_recursive()
    }

    /// To replace the views; waits for the readers that hold them.
    pub(crate) fn replace(&self) -> RwLockWriteGuard<'_, ()> {
        self.changes.write()
    }

    /// The state of the catch-ups, for one of them at a time.
    pub(crate) fn follower(&self) -> MutexGuard<'_, Box<dyn Any + Send>> {
        self.follower.lock()
    }
}
