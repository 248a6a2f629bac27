//! Memory that the process has and nobody uses: what the allocator loses between the pieces that are in use.
//!
//! ```text
//! anonymous memory of the process   |- before the budget -|- counted by holders -|- loss: the rest, at most half -|
//! what is held beside holders                                                    |- loss -|- room of memtables -|
//! ```
//!
//! The loss is looked at when blocks enter the cache and while tables are written, at most once in [`LOOK_US`], and is
//! a holder like others: where the allocator loses much, the cache holds less. Above a sixteenth of the budget the
//! allocator is also asked to return free pages, by a thread of its own and as often as [`FreePages`] finds it worth.
//!
//! Room of memtables: a flush lets go of their memory, and blocks that took it would have to leave again while the next
//! ones fill. But what a block leaves is seldom whole pages, so that the system gets nothing back for it, and each look
//! finds more loss and has more blocks leave: with a budget of 64 MiB the process came to 73, with 17 MiB of blocks. So
//! what memtables had is kept for the next ones, and forgotten by and by: half of it in 2,840 looks, which are five
//! minutes where blocks come in all the time.
//!
//! Memory that the program itself allocates after the budget was made cannot be told from loss, and counts as it: a
//! program that grows leaves the cache at least half of the budget.

use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::thread::StdSpawner;
use ferrock_cache::{Account, Held};
use ferrock_vfs::process_memory::{self, FreePages};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Time between two looks: one takes some microseconds.
const LOOK_US: u64 = 100_000;
/// The loss counts up to this part of the budget (one in so many).
const MOST_PART: usize = 2;
/// The room of memtables becomes smaller by this part with each look (one in so many).
const ROOM_DECAY: usize = 4096;
/// From this part of the budget on (one in so many), free pages are returned.
const RETURN_PART: usize = 16;

/// Follows the loss of the allocator.
pub(crate) struct AllocatorLoss {
    clock: Arc<dyn Clock>,
    /// Anonymous memory before the budget.
    base_bytes: u64,
    next_look_us: AtomicU64,
    state: Mutex<State>,
}

struct State {
    held: Held,
    /// The most that memtables had, becoming less.
    most_memtables: usize,
}

impl AllocatorLoss {
    /// `None` where the system does not say what the process has.
    pub(crate) fn new(account: &Arc<Account>) -> Option<Self> {
        Some(Self {
            base_bytes: process_memory::anonymous_bytes()?,
            clock: SystemClock::shared(),
            next_look_us: AtomicU64::new(0),
            state: Mutex::new(State { held: Held::new(account, 0), most_memtables: 0 }),
        })
    }

    /// Brings the loss up to date, unless that was done a moment ago. `counted` says what all holders have, what this
    /// one holds included, and `memtables` what memtables have.
    pub(crate) fn look(&self, budget_bytes: usize, counted: impl Fn() -> usize, memtables: impl Fn() -> usize) {
        let now_us = self.clock.monotonic_us();
        let next_us = self.next_look_us.load(Ordering::Relaxed);
        let is_mine = now_us >= next_us
            && self
                .next_look_us
                .compare_exchange(next_us, now_us + LOOK_US, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if !is_mine {
            return;
        }
        let mut state = self.state.lock();
        let Some(loss) = self.loss(&state.held, counted()) else { return };
        let memtables = memtables();
        state.most_memtables = memtables.max(state.most_memtables - state.most_memtables.div_ceil(ROOM_DECAY));
        let room = state.most_memtables - memtables;
        state.held.set(loss.saturating_add(room).min(budget_bytes / MOST_PART));
        if loss > budget_bytes / RETURN_PART && FreePages::of_process().are_due() {
            // Without a thread nothing is returned.
            let job = Box::new(|| FreePages::of_process().return_if_due());
            let _ = StdSpawner::shared().spawn("ferrock-memory", job);
        }
    }

    fn loss(&self, held: &Held, counted: usize) -> Option<usize> {
        let since = process_memory::anonymous_bytes()?.saturating_sub(self.base_bytes);
        let used = counted.saturating_sub(held.bytes());
        Some(usize::try_from(since).unwrap_or(usize::MAX).saturating_sub(used))
    }
}

impl fmt::Debug for AllocatorLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllocatorLoss").field("bytes", &self.state.lock().held.bytes()).finish_non_exhaustive()
    }
}
