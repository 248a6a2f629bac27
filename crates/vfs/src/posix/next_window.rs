//! The next window of a log, which another thread makes while the one before is stored into.
//!
//! ```text
//!  request                 a thread begins             it is mapped, and its pages are there
//! ---------> Wanted ---------------------------> Making ---------------------------------> Made, or Failed
//!              |  take, drop: it is not made       |  take: wait for it                       |
//!              |                                   |  drop: stop it, and wait for that        |
//!              v                                   v                                          v
//!            Taken                               Taken                                      Taken
//!
//! file ...|############ current window ############|
//!                                       |..overlap.|zeros.... next window ...................|
//! ```
//!
//! The thread then unmaps the window before the current one. So the thread that stores faults in no page and unmaps
//! none. The windows overlap, so that an append which the current one does not hold as a whole lies in the next.
//!
//! The zeros are dirty pages like any others. A sync writes all that are there, up to half a window and the whole next
//! one, and the sync after data was stored in them writes these pages again. Without syncs the system writes pages
//! twice where appends come to them later than its write-back: on Linux after 30 s, or what its settings say, and
//! sooner where much is dirty.
//!
//! Invariant: the other thread writes to the file only while the state is `Making`, and only zeros, from the end of the
//! current window on, where the file has zeros. The file's own thread stores and writes nothing there, and does not cut
//! the file, before it has taken or dropped the request, and both wait for a thread that has begun. Retired windows may
//! be mapped for longer: through them nothing is stored.

use memmap2::MmapRaw;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ferrock_base::thread::{Spawner, StdSpawner, ThreadPool, Work};

use super::reserved;
use crate::sync::{Condvar, Mutex};

/// After each step the thread looks whether the window is still wanted: a drop waits for one of them.
const STEP_BYTES: u64 = 64 << 10;

/// What is to be made.
struct Order {
    file: File,
    start: u64,
    zeros_from: u64,
    end: u64,
    /// A window that is not stored into any more.
    retired: Option<MmapRaw>,
}

enum State {
    Wanted(Order),
    Making,
    Made(MmapRaw),
    Failed,
    Taken,
}

struct Slot {
    state: Mutex<State>,
    ended: Condvar,
    /// Ends `Making` early.
    is_unwanted: AtomicBool,
}

struct Queued(Arc<Slot>);

/// One thread for all logs of a file system, while there is work for it. A log that it does not come to in time has its
/// windows made by its writer.
#[derive(Debug)]
pub(super) struct WindowThread(ThreadPool<Queued>);

/// See the [module](self).
pub(super) struct NextWindow {
    slot: Arc<Slot>,
    start: u64,
    end: u64,
}

impl std::fmt::Debug for NextWindow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NextWindow").field("start", &self.start).finish_non_exhaustive()
    }
}

impl Order {
    fn make(self, is_unwanted: &AtomicBool) -> io::Result<MmapRaw> {
        let map = reserved::map(&self.file, self.start, (self.end - self.start) as usize)?;
        let mut from = self.start;
        while from < self.end {
            if is_unwanted.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            #[cfg(test)]
            tests::dawdle();
            let end = (from + STEP_BYTES).min(self.end);
            reserved::write_zeros(&self.file, from.max(self.zeros_from), end, u64::MAX)?;
            reserved::make_present(&map, (from - self.start) as usize, (end - from) as usize)?;
            from = end;
        }
        Ok(map)
    }
}

impl Slot {
    fn end(&self, state: State) {
        *self.state.lock() = state;
        self.ended.notify_all();
    }
}

/// Ends the wait for a thread that panics.
struct Unfinished<'s>(Option<&'s Slot>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            slot.end(State::Failed);
        }
    }
}

impl Work for Queued {
    fn perform(self) {
        let mut order = {
            let mut state = self.0.state.lock();
            match std::mem::replace(&mut *state, State::Making) {
                State::Wanted(order) => order,
                other => {
                    *state = other;
                    return;
                }
            }
        };
        let retired = order.retired.take();
        let mut unfinished = Unfinished(Some(&self.0));
        let made = order.make(&self.0.is_unwanted);
        unfinished.0 = None;
        self.0.end(made.map_or(State::Failed, State::Made));
        // The log may wait for its window, and for this it does not.
        drop(retired);
    }
}

impl Default for WindowThread {
    fn default() -> Self {
        Self::with_spawner(StdSpawner::shared())
    }
}

impl WindowThread {
    fn with_spawner(spawner: Arc<dyn Spawner>) -> Self {
        Self(ThreadPool::new(spawner, "ferrock-log", 1))
    }

    /// Has a window made from `start` to `end`, whose bytes from `zeros_from` on are zeros and stay so. `None` where
    /// the system has no descriptor or no thread left.
    pub(super) fn request(
        &self,
        file: &File,
        start: u64,
        zeros_from: u64,
        end: u64,
        retired: Option<MmapRaw>,
    ) -> Option<NextWindow> {
        let order = Order { file: file.try_clone().ok()?, start, zeros_from, end, retired };
        let (state, is_unwanted) = (Mutex::new(State::Wanted(order)), AtomicBool::new(false));
        let slot = Arc::new(Slot { state, ended: Condvar::default(), is_unwanted });
        // Dropped where no thread could be started: one that another log starts now may have begun.
        let next = NextWindow { slot: Arc::clone(&slot), start, end };
        if self.0.add(Queued(slot)) {
            return Some(next);
        }
        let queue = self.0.queue();
        while queue.take().is_some() {}
        None
    }
}

impl NextWindow {
    /// True if the window holds all bytes from `from` to `end`.
    pub(super) fn holds(&self, from: u64, end: u64) -> bool {
        self.start <= from && end <= self.end
    }

    /// The window and where it begins, if it was made. From here on the other thread writes nothing to the file.
    pub(super) fn take(self) -> Option<(MmapRaw, u64)> {
        let map = self.wait()?;
        #[cfg(test)]
        tests::TAKEN.fetch_add(1, Ordering::Relaxed);
        Some((map, self.start))
    }

    fn wait(&self) -> Option<MmapRaw> {
        let mut state = self.slot.state.lock();
        loop {
            match std::mem::replace(&mut *state, State::Taken) {
                State::Making => {
                    *state = State::Making;
                    self.slot.ended.wait(&mut state);
                }
                State::Made(map) => return Some(map),
                State::Wanted(_) | State::Failed | State::Taken => return None,
            }
        }
    }
}

impl Drop for NextWindow {
    fn drop(&mut self) {
        self.slot.is_unwanted.store(true, Ordering::Relaxed);
        self.wait();
    }
}

#[cfg(test)]
mod tests;
