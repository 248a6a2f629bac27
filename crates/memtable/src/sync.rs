//! The synchronisation types of this crate: the standard ones, or the model checker's under `--cfg shuttle`.
//!
//! Everything that threads race on uses these types, so that a shuttle test can order each step.

#[cfg(not(shuttle))]
pub(crate) use parking_lot::{Mutex, RwLock};
#[cfg(not(shuttle))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

#[cfg(shuttle)]
pub(crate) use model::{Mutex, RwLock};
#[cfg(shuttle)]
pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// A moment between two plain accesses that must look like one: the model checker lets other threads go on in it.
#[cfg(not(shuttle))]
#[inline(always)]
pub(crate) fn moment_between() {}

/// See above.
#[cfg(shuttle)]
pub(crate) fn moment_between() {
    shuttle::thread::yield_now();
}

/// What this thread stored before is seen by every thread that stored before its own fence what this one does not see.
#[inline(always)]
pub(crate) fn full_fence() {
    // The model checker knows no other order of atomics.
    #[cfg(not(shuttle))]
    std::sync::atomic::fence(Ordering::SeqCst);
}

#[cfg(shuttle)]
mod model {
    use shuttle::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

    /// A modelled lock with parking_lot's interface: no poisoning.
    #[derive(Debug, Default)]
    pub(crate) struct RwLock<T>(shuttle::sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(shuttle::sync::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
            self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }

    /// A modelled mutex with parking_lot's interface: no poisoning.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        pub(crate) fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }
}
