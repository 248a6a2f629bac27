//! Locks for code that is checked under `--cfg shuttle`: `parking_lot`'s, or the model checker's.

#[cfg(not(shuttle))]
pub use parking_lot::{Condvar, Mutex, MutexGuard};

#[cfg(shuttle)]
pub use model::{Condvar, Mutex, MutexGuard};

#[cfg(shuttle)]
mod model {
    use std::ops::{Deref, DerefMut};
    use std::sync::PoisonError;
    use std::time::Duration;

    /// A modelled mutex with parking_lot's interface: no poisoning.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(shuttle::sync::Mutex<T>);

    /// Its guard; the option is empty only while a condition variable waits.
    pub struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

    impl<T> Mutex<T> {
        /// An unlocked mutex.
        pub fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        /// Locks it until the guard is dropped.
        pub fn lock(&self) -> MutexGuard<'_, T> {
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

    /// Whether a wait timed out, which it never does in a model.
    pub struct WaitTimeoutResult;

    impl WaitTimeoutResult {
        /// False.
        pub fn timed_out(&self) -> bool {
            false
        }
    }

    /// A modelled condition variable with parking_lot's interface.
    #[derive(Debug, Default)]
    pub struct Condvar(shuttle::sync::Condvar);

    impl Condvar {
        /// Waits for a notification.
        pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let taken = guard.0.take().expect("not waiting");
            guard.0 = Some(self.0.wait(taken).unwrap_or_else(PoisonError::into_inner));
        }

        /// As [`wait`](Self::wait): a model has no timeouts.
        pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _time: Duration) -> WaitTimeoutResult {
            self.wait(guard);
            WaitTimeoutResult
        }

        /// Wakes one waiting thread.
        pub fn notify_one(&self) {
            self.0.notify_one();
        }

        /// Wakes all waiting threads.
        pub fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
