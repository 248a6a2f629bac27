//! What a thread is to counters: a number, a set of counters of its own, and how much it has counted of itself.
//!
//! ```text
//! word of a thread   [ordinal + 1: 48 bits] [stripe: 8 bits] [by level: 1 bit] [level: 7 bits]
//!                    0 in the ordinal: not asked for yet
//!
//! stripe    0          1          ...    30         31
//! of        a thread   a thread          a thread   all other threads, by locked instructions
//! ```
//!
//! A thread leases a stripe when it asks for its word for the first time and gives it back when it ends. Until then no
//! other thread writes to the counters of that stripe, whichever object they belong to, so that counting takes no
//! locked instruction. All three are one word because an access to what is thread-local is a call in a shared library.

use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of sets.
pub const STRIPES: usize = 32;

/// The last set is shared by the threads without one of their own.
const SHARED: usize = STRIPES - 1;

const LEVEL_MASK: u64 = 0x7f;
const BY_LEVEL: u64 = 0x80;
const STRIPE_SHIFT: u32 = 8;
const STRIPE_MASK: u64 = 0xff << STRIPE_SHIFT;
const ORDINAL_SHIFT: u32 = 16;

/// The level that a thread begins with.
const FIRST_LEVEL: u64 = 1;

/// A bit for each set that is leased to a living thread.
static LEASED: Mutex<u32> = Mutex::new(0);

/// Returns a thread's set when the thread ends; the lock makes its counts visible to the next owner.
struct Lease;

impl Drop for Lease {
    fn drop(&mut self) {
        let word = ThreadWord(WORD.get(), std::marker::PhantomData);
        let stripe = word.stripe().index;
        WORD.set(word.0 & !STRIPE_MASK | (SHARED as u64) << STRIPE_SHIFT);
        if stripe < SHARED {
            *LEASED.lock() &= !(1 << stripe);
        }
    }
}

thread_local! {
    static WORD: Cell<u64> = const { Cell::new(FIRST_LEVEL) };
    static LEASE: Lease = const { Lease };
}

/// Leases a set, if one is left.
fn lease_stripe() -> usize {
    // A thread that is being torn down can no longer return a set.
    if LEASE.try_with(|_| ()).is_err() {
        return SHARED;
    }
    let mut leased = LEASED.lock();
    let stripe = (leased.trailing_ones() as usize).min(SHARED);
    if stripe < SHARED {
        *leased |= 1 << stripe;
    }
    stripe
}

/// The word of a thread, as it was when it was asked for. It stays on the thread: it is not `Send`.
#[derive(Clone, Copy, Debug)]
pub struct ThreadWord(u64, std::marker::PhantomData<*const ()>);

impl ThreadWord {
    /// That of the thread that calls.
    #[inline]
    #[must_use]
    pub fn current() -> Self {
        let word = WORD.get();
        let word = if word >> ORDINAL_SHIFT == 0 { Self::begin(word) } else { word };
        Self(word, std::marker::PhantomData)
    }

    #[cold]
    fn begin(word: u64) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let ordinal = NEXT.fetch_add(1, Ordering::Relaxed);
        let word = ordinal << ORDINAL_SHIFT | (lease_stripe() as u64) << STRIPE_SHIFT | word & (LEVEL_MASK | BY_LEVEL);
        WORD.set(word);
        word
    }

    /// A number that differs between threads, from 0 on in the order in which they asked.
    #[inline]
    #[must_use]
    pub fn ordinal(self) -> usize {
        ((self.0 >> ORDINAL_SHIFT) - 1) as usize
    }

    /// The set of counters of the thread.
    #[inline]
    #[must_use]
    pub fn stripe(self) -> Stripe {
        let index = ((self.0 & STRIPE_MASK) >> STRIPE_SHIFT) as usize;
        Stripe { index: index.min(SHARED), _stays: std::marker::PhantomData }
    }

    /// How much the thread has counted of itself: a number that [`set_level`](Self::set_level) set, at first 1.
    #[inline]
    #[must_use]
    pub fn level(self) -> u8 {
        (self.0 & LEVEL_MASK) as u8
    }

    /// Sets the level of the thread that calls: below 128.
    pub fn set_level(level: u8) {
        WORD.set(WORD.get() & !LEVEL_MASK | u64::from(level) & LEVEL_MASK);
    }

    /// True where the thread has what it counts of itself also by the level of the tree.
    #[inline]
    #[must_use]
    pub fn counts_by_level(self) -> bool {
        self.0 & BY_LEVEL != 0
    }

    /// Sets that for the thread that calls.
    pub fn set_counts_by_level(counts: bool) {
        WORD.set(if counts { WORD.get() | BY_LEVEL } else { WORD.get() & !BY_LEVEL });
    }
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
        ThreadWord::current().stripe()
    }

    /// Below [`STRIPES`].
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self.index
    }

    /// True for the set that several threads may add to.
    #[inline]
    #[must_use]
    pub fn is_shared(self) -> bool {
        self.index == SHARED
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
        if self.is_shared() {
            counter.fetch_add(amount, Ordering::Relaxed);
        } else {
            // No other thread writes to this counter.
            counter.store(counter.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_word_and_gives_its_stripe_back() {
        let seen = std::thread::scope(|scope| {
            let word = || {
                let first = ThreadWord::current();
                ThreadWord::set_level(6);
                let then = ThreadWord::current();
                assert_eq!((first.level(), then.level()), (1, 6));
                assert_eq!(first.ordinal(), then.ordinal());
                assert_eq!(first.stripe().index(), then.stripe().index());
                (then.ordinal(), then.stripe().index())
            };
            let run = || scope.spawn(word).join().expect("the thread ends");
            (0..100).map(|_| run()).collect::<Vec<_>>()
        });
        assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0), "numbers differ: {seen:?}");
        assert!(seen.iter().any(|(_, stripe)| *stripe < SHARED), "stripes are given back: {seen:?}");
    }

    #[test]
    fn a_thread_that_is_torn_down_has_the_shared_stripe() {
        struct Sees(Cell<Option<usize>>);
        static SEEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());
        impl Drop for Sees {
            fn drop(&mut self) {
                SEEN.lock().push(ThreadWord::current().stripe().index());
            }
        }
        // The order of destructors is the platform's: of one that is registered before the lease and one behind it, one
        // runs when the lease is gone.
        thread_local! {
            static BEFORE: Sees = const { Sees(Cell::new(None)) };
            static BEHIND: Sees = const { Sees(Cell::new(None)) };
        }
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                BEFORE.with(|sees| sees.0.set(Some(0)));
                let word = ThreadWord::current();
                BEHIND.with(|sees| sees.0.set(Some(1)));
                word.stripe().index()
            });
            // The end of the scope waits for the closure, and a join for what is torn down behind it.
            let leased = thread.join().expect("the thread ends");
            assert_ne!(leased, SHARED, "stripes are left");
            let mut seen = std::mem::take(&mut *SEEN.lock());
            seen.sort_unstable();
            assert_eq!(seen, [leased, SHARED]);
        });
    }
}
