//! Hit, miss and insert counters without contention between threads.

use crate::role::{EntryRole, ROLES};
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of counter sets. Most threads have a set of their own, in which they count without locked instructions.
const STRIPES: usize = 32;

/// One role's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoleStats {
    /// Lookups that found an entry of the role.
    pub hits: u64,
    /// Lookups for the role that found nothing.
    pub misses: u64,
    /// Entries inserted.
    pub inserts: u64,
    /// Entries refused by a strict capacity limit.
    pub rejections: u64,
    /// Entries evicted to make room.
    pub evictions: u64,
    /// Entries in the cache now.
    pub entry_count: usize,
    /// Bytes charged for them, reservations included.
    pub usage_bytes: usize,
}

/// A snapshot of the counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    roles: [RoleStats; ROLES],
}

impl CacheStats {
    /// The counters of one role.
    #[must_use]
    pub fn role(&self, role: EntryRole) -> &RoleStats {
        &self.roles[role as usize]
    }

    pub(crate) fn role_mut(&mut self, role: EntryRole) -> &mut RoleStats {
        &mut self.roles[role as usize]
    }

    /// The sums over all roles.
    #[must_use]
    pub fn total(&self) -> RoleStats {
        self.roles.iter().fold(RoleStats::default(), |sum, role| RoleStats {
            hits: sum.hits + role.hits,
            misses: sum.misses + role.misses,
            inserts: sum.inserts + role.inserts,
            rejections: sum.rejections + role.rejections,
            evictions: sum.evictions + role.evictions,
            entry_count: sum.entry_count + role.entry_count,
            usage_bytes: sum.usage_bytes + role.usage_bytes,
        })
    }
}

/// An event that is counted.
#[derive(Clone, Copy)]
pub(crate) enum Event {
    Hit,
    Miss,
    Insert,
    Rejection,
    Eviction,
}

const EVENTS: usize = 5;

/// A cache line pair of its own, against the neighbour-line prefetcher.
#[repr(align(128))]
#[derive(Default)]
struct Stripe {
    counters: [[AtomicU64; EVENTS]; ROLES],
}

/// The counters.
#[derive(Default)]
pub(crate) struct Counters {
    stripes: [Stripe; STRIPES],
}

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

impl Counters {
    #[inline]
    pub(crate) fn count(&self, event: Event, role: EntryRole) {
        let stripe = match STRIPE.get() {
            stripe if stripe < STRIPES => stripe,
            _ => assign_stripe(),
        };
        let counter = &self.stripes[stripe].counters[role as usize][event as usize];
        if stripe == SHARED {
            counter.fetch_add(1, Ordering::Relaxed);
        } else {
            // No other thread writes to this counter.
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    pub(crate) fn snapshot(&self) -> CacheStats {
        let mut stats = CacheStats::default();
        for role in EntryRole::ALL {
            let sum = |event: Event| {
                let of_stripe =
                    |stripe: &Stripe| stripe.counters[role as usize][event as usize].load(Ordering::Relaxed);
                self.stripes.iter().map(of_stripe).sum()
            };
            *stats.role_mut(role) = RoleStats {
                hits: sum(Event::Hit),
                misses: sum(Event::Miss),
                inserts: sum(Event::Insert),
                rejections: sum(Event::Rejection),
                evictions: sum(Event::Eviction),
                ..RoleStats::default()
            };
        }
        stats
    }
}
