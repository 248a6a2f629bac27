//! The synchronisation types of this crate: real ones, or the model checker's under `--cfg shuttle`.
//!
//! Whatever two threads race on goes through here, so that a shuttle test can order every step of it. Counters that decide
//! nothing (statistics) stay outside.

#[cfg(not(shuttle))]
pub(crate) use parking_lot::{Condvar, Mutex};
#[cfg(not(shuttle))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

#[cfg(shuttle)]
pub(crate) use model::{Condvar, Mutex};
#[cfg(shuttle)]
pub(crate) use shuttle::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

#[cfg(shuttle)]
mod model {
    use std::ops::{Deref, DerefMut};
    use std::sync::PoisonError;

    /// A modelled mutex with parking_lot's interface: no poisoning.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    /// Its guard; the option is empty only while a condition variable waits.
    pub(crate) struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;
        fn deref(&self) -> &T {
            self.0.as_ref().expect("not waiting")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect("not waiting")
        }
    }

    /// A modelled condition variable with parking_lot's interface.
    #[derive(Debug, Default)]
    pub(crate) struct Condvar(shuttle::sync::Condvar);

    impl Condvar {
        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let taken = guard.0.take().expect("not waiting");
            guard.0 = Some(self.0.wait(taken).unwrap_or_else(PoisonError::into_inner));
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
