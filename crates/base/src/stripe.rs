//! Sets of counters that threads do not share.
//!
//! ```text
//! stripe    0          1          ...    30         31
//! of        a thread   a thread          a thread   all other threads, by locked instructions
//! ```
//!
//! A thread leases a stripe when it counts for the first time and gives it back when it ends. Until then no other
//! thread writes to the counters of that stripe, whichever object they belong to, so that counting takes no locked
//! instruction.

use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of sets.
pub const STRIPES: usize = 32;

/// The last set is shared by the threads without one of their own.
const SHARED: usize = STRIPES - 1;
const UNASSIGNED: usize = usize::MAX;

/// A bit for each set that is leased to a living thread.
static LEASED: Mutex<u32> = Mutex::new(0);

/// Returns a thread's set when the thread ends; the lock makes its counts visible to the next owner.
struct Lease;

impl Drop for Lease {
    fn drop(&mut self) {
        let stripe = STRIPE.replace(SHARED);
        if stripe < SHARED {
            *LEASED.lock() &= !(1 << stripe);
        }
    }
}

thread_local! {
    static STRIPE: Cell<usize> = const { Cell::new(UNASSIGNED) };
    static LEASE: Lease = const { Lease };
}

/// Finds a set for a thread that counts for the first time.
#[cold]
fn assign_stripe() -> usize {
    // A thread that is being torn down can no longer return a set.
    if LEASE.try_with(|_| ()).is_err() {
        return SHARED;
    }
    let mut leased = LEASED.lock();
    let stripe = (leased.trailing_ones() as usize).min(SHARED);
    if stripe < SHARED {
        *leased |= 1 << stripe;
    }
    STRIPE.set(stripe);
    stripe
}

/// The set of a thread. It stays on the thread: it is not `Send`.
#[derive(Clone, Copy, Debug)]
pub struct Stripe {
    index: usize,
    _stays: std::marker::PhantomData<*const ()>,
}

impl Stripe {
    /// The set of the thread that calls.
    #[inline]
    #[must_use]
    pub fn of_thread() -> Self {
        let index = match STRIPE.get() {
            stripe if stripe < STRIPES => stripe,
            _ => assign_stripe(),
        };
        Self { index, _stays: std::marker::PhantomData }
    }

    /// Below [`STRIPES`].
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self.index
    }

    /// Adds to a counter of this set.
    ///
    /// ```
    /// use ferrock_base::stripe::Stripe;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// let counter = AtomicU64::new(2); // in the set `Stripe::of_thread().index()`
    /// Stripe::of_thread().add(&counter, 3);
    /// assert_eq!(counter.load(Ordering::Relaxed), 5);
    /// ```
    #[inline]
    pub fn add(self, counter: &AtomicU64, amount: u64) {
        if self.index == SHARED {
            counter.fetch_add(amount, Ordering::Relaxed);
        } else {
            // No other thread writes to this counter.
            counter.store(counter.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
        }
    }
}
