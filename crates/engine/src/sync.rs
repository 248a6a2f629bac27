//! Synchronisation types of the engine's lock-free pieces. Built with `--cfg shuttle`
//! they are the model checker's, so that the same code runs under its scheduler.

#[cfg(not(shuttle))]
pub(crate) use std::sync::atomic;

#[cfg(shuttle)]
pub(crate) mod atomic {
    pub(crate) use shuttle::sync::atomic::{AtomicU64, Ordering, fence};
}

use std::sync::Arc;

/// Holds one box or nothing; taken and replaced atomically.
#[cfg(not(shuttle))]
pub(crate) struct Slot<T>(crossbeam_utils::atomic::AtomicCell<Option<Box<T>>>);

#[cfg(not(shuttle))]
impl<T> Slot<T> {
    pub(crate) fn new(value: Option<Box<T>>) -> Self {
        // A pointer and its niche fit a machine word: no lock hides in the cell.
        debug_assert!(crossbeam_utils::atomic::AtomicCell::<Option<Box<T>>>::is_lock_free());
        Self(crossbeam_utils::atomic::AtomicCell::new(value))
    }
    #[inline]
    pub(crate) fn take(&self) -> Option<Box<T>> {
        self.0.take()
    }
    #[inline]
    pub(crate) fn swap(&self, value: Option<Box<T>>) -> Option<Box<T>> {
        self.0.swap(value)
    }
}

/// Holds a shared value that is replaced as a whole.
#[cfg(not(shuttle))]
pub(crate) struct SwapCell<T>(arc_swap::ArcSwap<T>);

#[cfg(not(shuttle))]
impl<T> SwapCell<T> {
    pub(crate) fn new(value: Arc<T>) -> Self {
        Self(arc_swap::ArcSwap::new(value))
    }
    pub(crate) fn load(&self) -> Arc<T> {
        self.0.load_full()
    }
    pub(crate) fn store(&self, value: Arc<T>) {
        self.0.store(value);
    }
}

/// Under the model checker each cell is a lock: its operations stay atomic, and their order is explored.
#[cfg(shuttle)]
pub(crate) struct Slot<T>(shuttle::sync::Mutex<Option<Box<T>>>);

#[cfg(shuttle)]
impl<T> Slot<T> {
    pub(crate) fn new(value: Option<Box<T>>) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }
    pub(crate) fn take(&self) -> Option<Box<T>> {
        self.swap(None)
    }
    pub(crate) fn swap(&self, value: Option<Box<T>>) -> Option<Box<T>> {
        std::mem::replace(&mut self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()), value)
    }
}

/// See [`Slot`].
#[cfg(shuttle)]
pub(crate) struct SwapCell<T>(shuttle::sync::Mutex<Arc<T>>);

#[cfg(shuttle)]
impl<T> SwapCell<T> {
    pub(crate) fn new(value: Arc<T>) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }
    pub(crate) fn load(&self) -> Arc<T> {
        Arc::clone(&self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
    pub(crate) fn store(&self, value: Arc<T>) {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = value;
    }
}

/// A mutex without poisoning.
#[cfg(not(shuttle))]
pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);
#[cfg(not(shuttle))]
pub(crate) type MutexGuard<'a, T> = parking_lot::MutexGuard<'a, T>;

#[cfg(not(shuttle))]
impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock()
    }
}

/// Waits for a change of what a [`Mutex`] guards.
#[cfg(not(shuttle))]
pub(crate) struct Condvar(parking_lot::Condvar);

#[cfg(not(shuttle))]
impl Condvar {
    pub(crate) fn new() -> Self {
        Self(parking_lot::Condvar::new())
    }
    pub(crate) fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(&mut guard);
        guard
    }
    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }
    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// See [`Slot`].
#[cfg(shuttle)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);
#[cfg(shuttle)]
pub(crate) type MutexGuard<'a, T> = shuttle::sync::MutexGuard<'a, T>;

#[cfg(shuttle)]
impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// See [`Slot`].
#[cfg(shuttle)]
pub(crate) struct Condvar(shuttle::sync::Condvar);

#[cfg(shuttle)]
impl Condvar {
    pub(crate) fn new() -> Self {
        Self(shuttle::sync::Condvar::new())
    }
    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
    }
    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }
    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}
