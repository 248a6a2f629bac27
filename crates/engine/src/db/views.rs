//! What a database has that follows another process's: the lock under which its views change, the state of its
//! catch-ups, and of a follower the thread that does them.
//!
//! A view of a family is its memtables and tables. Those of all families change at once; whatever reads several
//! families holds the lock for reading until it has them all. `open/secondary.rs` replaces the views and keeps its
//! state here, of which nothing else knows the type.

use ferrock_base::clock::Alarm;
use ferrock_base::thread::Join;
use ferrock_base::{Error, ErrorKind, Result};
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The views of a secondary, or of a follower.
pub(crate) struct Views {
    is_follower: bool,
    /// Held by a catch-up.
    follower: Mutex<Box<dyn Any + Send>>,
    /// Held for writing while views are replaced, for reading while several families are pinned.
    changes: RwLock<()>,
    /// Set when the database is closed: no catch-up begins, and one that runs ends early.
    is_over: AtomicBool,
    /// Wakes the thread of a follower.
    alarm: Arc<Alarm>,
    thread: Mutex<Option<Box<dyn Join>>>,
}

impl Views {
    /// Without a view yet; `follower` is the state of its catch-ups.
    pub(crate) fn new(follower: impl Any + Send, is_follower: bool) -> Self {
        Self {
            is_follower,
            follower: Mutex::new(Box::new(follower)),
            changes: RwLock::new(()),
            is_over: AtomicBool::new(false),
            alarm: Arc::default(),
            thread: Mutex::new(None),
        }
    }

    /// True of a follower, false of a secondary.
    pub(crate) fn is_follower(&self) -> bool {
        self.is_follower
    }

    /// # Errors
    /// `Shutdown in progress` once a follower is closed.
    pub(crate) fn check_goes_on(&self) -> Result<()> {
        if self.is_over.load(Ordering::Acquire) {
            let what = "the database is closed, and follows its leader no more";
            return Err(Error::new(ErrorKind::ShutdownInProgress, what));
        }
        Ok(())
    }

    /// What ends the sleeps of the thread.
    pub(crate) fn alarm(&self) -> &Arc<Alarm> {
        &self.alarm
    }

    /// Keeps the thread of a follower.
    pub(crate) fn keep_thread(&self, thread: Box<dyn Join>) {
        *self.thread.lock() = Some(thread);
    }

    /// Ends the catch-ups, and waits for the thread.
    ///
    /// # Errors
    /// `Aborted` when the thread panicked.
    pub(crate) fn end(&self) -> Result<()> {
        self.is_over.store(true, Ordering::Release);
        self.alarm.ring();
        let thread = self.thread.lock().take();
        thread.map_or(Ok(()), Join::join)
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
