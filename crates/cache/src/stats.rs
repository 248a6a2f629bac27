//! Hit, miss and insert counters without contention between threads.

use crate::role::{EntryRole, ROLES};
use ferrock_base::stripe::{STRIPES, Stripe};
use std::sync::atomic::{AtomicU64, Ordering};

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

/// The counters of a stripe, in cache line pairs of their own, against the neighbour-line prefetcher.
#[repr(align(128))]
#[derive(Default)]
struct StripeCounters {
    counters: [[AtomicU64; EVENTS]; ROLES],
}

/// The counters.
#[derive(Default)]
pub(crate) struct Counters {
    stripes: [StripeCounters; STRIPES],
}

impl Counters {
    #[inline]
    pub(crate) fn count(&self, event: Event, role: EntryRole) {
        let stripe = Stripe::of_thread();
        stripe.add(&self.stripes[stripe.index()].counters[role as usize][event as usize], 1);
    }

    pub(crate) fn snapshot(&self) -> CacheStats {
        let mut stats = CacheStats::default();
        for role in EntryRole::ALL {
            let sum = |event: Event| {
                let of_stripe =
                    |stripe: &StripeCounters| stripe.counters[role as usize][event as usize].load(Ordering::Relaxed);
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
