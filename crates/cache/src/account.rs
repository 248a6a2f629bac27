//! Memory outside the cache that counts against its capacity and cannot be refused: memtables, buffers of reads and of
//! tables that are being written, metadata of files.
//!
//! ```text
//! used        0 ......................................| exactly what the holder has
//! reserved    0 ...........................................| in the cache, in steps of 256 KiB
//! ```
//!
//! - `reserved` follows `used` up at once, and down when a quarter of it is idle, so that most changes take no lock.
//! - A strict limit that is full refuses the reservation and not the memory: what is used is there already. The next
//!   change tries again.

use crate::reservation::Reservation;
use crate::sync::{AtomicUsize, Mutex, Ordering};
use std::fmt;
use std::sync::Arc;

/// Reservations are made in these steps.
const STEP_BYTES: usize = 256 << 10;

/// The bytes that one kind of holder has outside the cache.
///
/// ```
/// use ferrock_cache::{Account, BlockCache, CacheOptions, EntryRole, Held};
/// let cache = BlockCache::<Vec<u8>>::new(CacheOptions { capacity_bytes: 1 << 20, ..CacheOptions::default() });
/// let account = Account::new(cache.reserve(0, EntryRole::Other)?);
/// let held = Held::new(&account, 300_000);
/// assert_eq!((account.used(), cache.usage()), (300_000, 512 << 10));
/// drop(held);
/// assert_eq!((account.used(), cache.usage()), (0, 0));
/// # Ok::<(), ferrock_base::Error>(())
/// ```
pub struct Account {
    used: AtomicUsize,
    /// As the reservation, for a look without its lock.
    reserved: AtomicUsize,
    reservation: Mutex<Reservation>,
}

impl Account {
    /// An account over a reservation, which it resizes from then on.
    #[must_use]
    pub fn new(reservation: Reservation) -> Arc<Self> {
        let (used, reserved) = (AtomicUsize::new(0), AtomicUsize::new(reservation.bytes()));
        Arc::new(Self { used, reserved, reservation: Mutex::new(reservation) })
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes reserved in the cache.
    #[must_use]
    pub fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }

    /// So many bytes more are in use.
    pub fn grow(&self, bytes: usize) {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.follow(used);
    }

    /// So many bytes fewer are in use.
    pub fn shrink(&self, bytes: usize) {
        let used = self.used.fetch_sub(bytes, Ordering::Relaxed) - bytes;
        self.follow(used);
    }

    fn follow(&self, used: usize) {
        let reserved = self.reserved();
        if used <= reserved && used.div_ceil(STEP_BYTES) * STEP_BYTES >= reserved / 4 * 3 {
            return;
        }
        let mut reservation = self.reservation.lock();
        // Other threads may have changed it since.
        let wanted = self.used().div_ceil(STEP_BYTES) * STEP_BYTES;
        if wanted > reservation.bytes() || wanted < reservation.bytes() / 4 * 3 {
            // A refusal by a strict limit: see the module.
            let _ = reservation.resize(wanted);
            self.reserved.store(reservation.bytes(), Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Account");
        shown.field("used", &self.used()).field("reserved", &self.reserved()).finish_non_exhaustive()
    }
}

/// Bytes of an account, in use until this is dropped.
#[derive(Debug)]
pub struct Held {
    account: Arc<Account>,
    bytes: usize,
}

impl Held {
    /// So many bytes of the account are in use from now on.
    #[must_use]
    pub fn new(account: &Arc<Account>, bytes: usize) -> Self {
        account.grow(bytes);
        Self { account: Arc::clone(account), bytes }
    }

    /// Bytes in use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Changes how many are in use.
    pub fn set(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.account.grow(bytes - self.bytes);
        } else if bytes < self.bytes {
            self.account.shrink(self.bytes - bytes);
        }
        self.bytes = bytes;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.account.shrink(self.bytes);
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::{BlockCache, CacheOptions, EntryRole};

    fn account(strict: bool) -> (Arc<BlockCache<u8>>, Arc<Account>) {
        let options = CacheOptions { capacity_bytes: 4 << 20, strict_capacity_limit: strict, ..Default::default() };
        let cache = BlockCache::new(options);
        let account = Account::new(cache.reserve(0, EntryRole::Other).unwrap());
        (cache, account)
    }

    #[test]
    fn a_reservation_covers_what_is_used_and_little_more() {
        let (cache, account) = account(false);
        let mut random = ferrock_base::random::Random::new(7);
        let mut held: Vec<Held> = Vec::new();
        for _ in 0..20_000 {
            match random.below(3) {
                0 => held.push(Held::new(&account, random.below(200_000) as usize)),
                1 if !held.is_empty() => drop(held.swap_remove(random.below(held.len() as u64) as usize)),
                _ => {
                    let bytes = random.below(400_000) as usize;
                    if let Some(last) = held.last_mut() {
                        last.set(bytes);
                    }
                }
            }
            let used: usize = held.iter().map(Held::bytes).sum();
            assert_eq!((account.used(), account.reserved()), (used, cache.usage()));
            assert!(account.reserved() >= used && account.reserved() * 3 / 4 <= used + 2 * STEP_BYTES, "{account:?}");
        }
        drop(held);
        assert_eq!(cache.usage(), 0);
    }

    #[test]
    fn threads_leave_nothing_behind() {
        let (cache, account) = account(false);
        std::thread::scope(|scope| {
            for seed in 0..4 {
                let account = &account;
                scope.spawn(move || {
                    let mut random = ferrock_base::random::Random::new(seed);
                    for _ in 0..20_000 {
                        drop(Held::new(account, random.below(1 << 20) as usize));
                    }
                });
            }
        });
        drop(Held::new(&account, 1));
        assert_eq!((account.used(), account.reserved(), cache.usage()), (0, 0, 0));
    }

    #[test]
    fn memory_that_a_strict_limit_refuses_is_used_all_the_same() {
        let (cache, account) = account(true);
        let first = Held::new(&account, 3 << 20);
        let second = Held::new(&account, 3 << 20);
        assert_eq!((account.used(), cache.usage()), (6 << 20, 3 << 20));
        drop(first);
        assert_eq!(cache.usage(), 3 << 20);
        drop(second);
        assert_eq!(cache.usage(), 0);
    }
}
