//! The space that tables and blob files take on disk, of one database or of several: counted, bounded, and given back
//! at a rate. After RocksDB's `SstFileManager`.
//!
//! ```text
//! output of a job ---> on_add_file ---> tracked files ---> total size --- >= max allowed: jobs fail (SpaceLimit)
//!                                          ^    |                     +-- and reserved: no compaction begins
//!                                          |    v
//!                          not wanted any more: remove ---> rate 0, or much trash: gone at once
//!                                               |
//!                                               +---> NAME.trash ---> queue ---> the thread removes at the rate
//! ```
//!
//! Invariants:
//! - A name that ends in `.trash` is a file that nothing needs. The next open of the directory may remove it: a crash
//!   leaves trash behind, and the next open goes on with it.
//! - The total includes trash: it takes space until it is gone.
//! - There is a thread while there is trash, and no longer. It outlives a database that is closed, as long as the
//!   manager does; the end of the manager ends it, and leaves the rest to the next open.
//! - The lock is a leaf: no file is touched and no observer called while it is held.
//!
//! RocksDB also counts a file whose size changed off the space that compactions reserved; here a reservation ends with
//! its compaction alone.

mod trash;

use ferrock_base::clock::{Alarm, Clock};
use ferrock_base::thread::Spawner;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_statistics::{Statistics, Ticker};
use ferrock_vfs::FileSystem;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use trash::Trash;

#[cfg(test)]
mod tests;

/// How a [`SstFileManager`] begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SstFileManagerOptions {
    /// Bytes of files that are removed a second; 0 or less removes each at once.
    pub delete_rate_bytes_per_second: i64,
    /// Trash beyond this part of the total size is not paced: files are then removed at once.
    pub max_trash_db_ratio: f64,
    /// A larger file is cut by so many bytes at a time before it is removed; 0 cuts none.
    pub bytes_max_delete_chunk: u64,
}

impl Default for SstFileManagerOptions {
    fn default() -> Self {
        Self { delete_rate_bytes_per_second: 0, max_trash_db_ratio: 0.25, bytes_max_delete_chunk: 64 << 20 }
    }
}

/// Hears that there is more space than there was.
#[doc(hidden)]
pub trait SpaceObserver: Send + Sync {
    /// A compaction or a flush that was refused may fit now. No lock is held.
    fn space_freed(&self);
}

/// Where files of a database are removed, and what paces and runs that.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct RemovalPlace {
    /// The files.
    pub file_system: Arc<dyn FileSystem>,
    /// Paces.
    pub clock: Arc<dyn Clock>,
    /// Starts the thread.
    pub spawner: Arc<dyn Spawner>,
    /// False where a file may still be read through a mapping, which a cut would take bytes from.
    pub may_cut: bool,
    /// Counts what becomes trash, and what is removed of it.
    pub statistics: Option<Arc<Statistics>>,
}

impl RemovalPlace {
    fn count(&self, ticker: Ticker) {
        if let Some(statistics) = &self.statistics {
            statistics.add(ticker, 1);
        }
    }
}

/// Counts, bounds and removes the tables and blob files of databases. Give the same one to several databases to bound
/// them together.
///
/// ```
/// # mod ferrock { pub use ferrock_options::*; pub mod options { pub use ferrock_options::*; } }
/// use ferrock::options::{SstFileManager, SstFileManagerOptions};
/// let manager = SstFileManager::new(SstFileManagerOptions {
///     delete_rate_bytes_per_second: 32 << 20,
///     ..SstFileManagerOptions::default()
/// });
/// manager.set_max_allowed_space_usage(100 << 30);
/// let mut options = ferrock::DbOptions::default();
/// options.components.sst_file_manager = Some(manager.clone());
/// assert_eq!((manager.total_size(), manager.is_max_allowed_space_reached()), (0, false));
/// ```
pub struct SstFileManager {
    shared: Arc<Shared>,
}

struct Shared {
    bytes_max_delete_chunk: u64,
    state: Mutex<State>,
    /// The last trash is gone, or the thread ended.
    emptied: Condvar,
    /// Rings when the thread is to look again: another rate, or the end.
    alarm: Arc<Alarm>,
}

#[derive(Default)]
struct State {
    files: HashMap<PathBuf, u64>,
    total_bytes: u64,
    max_allowed_bytes: u64,
    compaction_buffer_bytes: u64,
    reserved_bytes: u64,
    delete_rate: i64,
    max_trash_db_ratio: f64,
    trash: VecDeque<Trash>,
    trash_bytes: u64,
    /// When the next removal may begin, in monotonic microseconds.
    due_us: u64,
    has_thread: bool,
    is_closing: bool,
    /// Something was refused for lack of space since observers were told of more.
    was_refused: bool,
    observers: Vec<Weak<dyn SpaceObserver>>,
    /// Trash that could not be removed, with the reason.
    errors: BTreeMap<PathBuf, Error>,
}

impl State {
    fn add(&mut self, path: PathBuf, bytes: u64) {
        let before = self.files.insert(path, bytes).unwrap_or(0);
        self.total_bytes = self.total_bytes.saturating_sub(before).saturating_add(bytes);
    }

    /// The size that was counted, for a file that was.
    fn take(&mut self, path: &Path) -> Option<u64> {
        let bytes = self.files.remove(path)?;
        self.total_bytes = self.total_bytes.saturating_sub(bytes);
        Some(bytes)
    }

    fn is_limit_reached(&self, more_bytes: u64) -> bool {
        self.max_allowed_bytes > 0 && self.total_bytes.saturating_add(more_bytes) >= self.max_allowed_bytes
    }

    /// True when the next file is to become trash.
    fn paces(&self) -> bool {
        self.delete_rate > 0 && self.trash_bytes as f64 <= self.total_bytes as f64 * self.max_trash_db_ratio
    }
}

/// Space that a compaction may need at most, until it is dropped.
#[doc(hidden)]
pub struct SpaceReservation {
    shared: Arc<Shared>,
    bytes: u64,
}

impl fmt::Debug for SpaceReservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpaceReservation").field("bytes", &self.bytes).finish()
    }
}

impl Drop for SpaceReservation {
    fn drop(&mut self) {
        // Observers are not told: it may be dropped under the locks that they take.
        let mut state = self.shared.state.lock();
        state.reserved_bytes = state.reserved_bytes.saturating_sub(self.bytes);
    }
}

impl SstFileManager {
    /// A manager without any file yet.
    #[must_use]
    pub fn new(options: SstFileManagerOptions) -> Arc<Self> {
        let state = State {
            delete_rate: options.delete_rate_bytes_per_second,
            max_trash_db_ratio: options.max_trash_db_ratio,
            ..State::default()
        };
        Arc::new(Self {
            shared: Arc::new(Shared {
                bytes_max_delete_chunk: options.bytes_max_delete_chunk,
                state: Mutex::new(state),
                emptied: Condvar::new(),
                alarm: Arc::default(),
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock()
    }

    /// Bounds the total size; 0 takes the bound away. A flush or compaction that reaches it stops writes with a
    /// `SpaceLimit` error, until there is space again.
    pub fn set_max_allowed_space_usage(&self, bytes: u64) {
        self.state().max_allowed_bytes = bytes;
        self.shared.tell_observers();
    }

    /// Bytes that stay free, below the bound, beside what a compaction that begins may need.
    pub fn set_compaction_buffer_size(&self, bytes: u64) {
        self.state().compaction_buffer_bytes = bytes;
        self.shared.tell_observers();
    }

    /// True when the total size has reached its bound.
    #[must_use]
    pub fn is_max_allowed_space_reached(&self) -> bool {
        self.state().is_limit_reached(0)
    }

    /// The same, where all that running compactions may still write counts.
    #[must_use]
    pub fn is_max_allowed_space_reached_including_compactions(&self) -> bool {
        let state = self.state();
        state.is_limit_reached(state.reserved_bytes)
    }

    /// Bytes of all tracked files, trash among them.
    #[must_use]
    pub fn total_size(&self) -> u64 {
        self.state().total_bytes
    }

    /// Bytes of files that wait to be removed.
    #[must_use]
    pub fn total_trash_size(&self) -> u64 {
        self.state().trash_bytes
    }

    /// Bytes that running compactions may write at most.
    #[must_use]
    pub fn compactions_reserved_size(&self) -> u64 {
        self.state().reserved_bytes
    }

    /// The tracked files and their sizes.
    #[must_use]
    pub fn tracked_files(&self) -> HashMap<PathBuf, u64> {
        self.state().files.clone()
    }

    /// Bytes of files that are removed a second; 0 or less: each at once.
    #[must_use]
    pub fn delete_rate_bytes_per_second(&self) -> i64 {
        self.state().delete_rate
    }

    /// Changes the rate. With 0 or less, what is trash goes at once.
    pub fn set_delete_rate_bytes_per_second(&self, rate: i64) {
        {
            let mut state = self.state();
            state.delete_rate = rate;
            state.due_us = 0;
        }
        self.shared.alarm.ring();
    }

    /// The part of the total size that trash may have before files are removed at once.
    #[must_use]
    pub fn max_trash_db_ratio(&self) -> f64 {
        self.state().max_trash_db_ratio
    }

    /// Changes that part.
    pub fn set_max_trash_db_ratio(&self, ratio: f64) {
        self.state().max_trash_db_ratio = ratio;
    }

    /// Trash that could not be removed since the manager was made; the next open of its database tries again.
    #[must_use]
    pub fn background_errors(&self) -> BTreeMap<PathBuf, Error> {
        self.state().errors.clone()
    }

    /// Waits until no trash is left.
    pub fn wait_for_empty_trash(&self) {
        let mut state = self.state();
        while !state.trash.is_empty() && state.has_thread {
            self.shared.emptied.wait(&mut state);
        }
    }

    /// From now on the file counts, with this size.
    #[doc(hidden)]
    pub fn on_add_file(&self, path: PathBuf, bytes: u64) {
        self.state().add(path, bytes);
    }

    /// The file is gone.
    #[doc(hidden)]
    pub fn on_delete_file(&self, path: &Path) {
        if self.state().take(path).is_some() {
            self.shared.tell_observers();
        }
    }

    /// The observer hears of space as long as it lives.
    #[doc(hidden)]
    pub fn observe(&self, observer: Weak<dyn SpaceObserver>) {
        let mut state = self.state();
        state.observers.retain(|observer| observer.strong_count() > 0);
        state.observers.push(observer);
    }

    /// Something else than a removal made space: a reservation ended.
    #[doc(hidden)]
    pub fn tell_of_space(&self) {
        self.shared.tell_observers();
    }

    /// Space for the outputs of a compaction; `None` when there is not enough below the bound, or not with the buffer.
    #[doc(hidden)]
    #[must_use]
    pub fn reserve(&self, bytes: u64) -> Option<SpaceReservation> {
        let mut state = self.state();
        let needed = state.reserved_bytes.saturating_add(bytes).saturating_add(state.compaction_buffer_bytes);
        if state.max_allowed_bytes != 0 && needed.saturating_add(state.total_bytes) > state.max_allowed_bytes {
            state.was_refused = true;
            return None;
        }
        state.reserved_bytes = state.reserved_bytes.saturating_add(bytes);
        Some(SpaceReservation { shared: Arc::clone(&self.shared), bytes })
    }

    /// The error of a job that finds the bound reached.
    ///
    /// # Errors
    /// `SpaceLimit` when it is.
    #[doc(hidden)]
    pub fn check_limit(&self) -> Result<()> {
        let mut state = self.state();
        if !state.is_limit_reached(0) {
            return Ok(());
        }
        state.was_refused = true;
        Err(Error::new(
            ErrorKind::SpaceLimit,
            format!(
                "Max allowed space was reached: {} of {} bytes; raise max_allowed_space_usage of the SstFileManager, or \
                 remove data",
                state.total_bytes, state.max_allowed_bytes
            ),
        ))
    }

    /// Removes a file that nothing needs: at once, or as trash at the rate.
    ///
    /// # Errors
    /// Those of the file system when it is removed at once. Trash that cannot be removed is one of the
    /// [`background_errors`](Self::background_errors).
    #[doc(hidden)]
    pub fn remove(&self, place: &Arc<RemovalPlace>, path: &Path) -> Result<()> {
        if !self.state().paces() {
            return self.remove_now(place, path);
        }
        match self.shared.make_trash(place, path) {
            Ok(()) => Ok(()),
            Err(error) if error.is_not_found() => {
                self.on_delete_file(path);
                Err(error)
            }
            Err(_) => self.remove_now(place, path),
        }
    }

    fn remove_now(&self, place: &RemovalPlace, path: &Path) -> Result<()> {
        let removed = place.file_system.remove_file(path);
        if removed.is_ok() {
            place.count(Ticker::FilesDeletedImmediately);
        }
        if removed.as_ref().map_or_else(Error::is_not_found, |()| true) {
            self.on_delete_file(path);
        }
        removed
    }
}

impl Shared {
    /// Tells every database that there is more space, if anything was refused for the lack of it.
    fn tell_observers(&self) {
        let observers: Vec<_> = {
            let mut state = self.state.lock();
            if !std::mem::take(&mut state.was_refused) {
                return;
            }
            state.observers.iter().filter_map(Weak::upgrade).collect()
        };
        observers.iter().for_each(|observer| observer.space_freed());
    }
}

impl Drop for SstFileManager {
    fn drop(&mut self) {
        self.state().is_closing = true;
        self.shared.alarm.ring();
        // After it no file is touched any more. The time limit is a safety net: the thread may be this one.
        let mut state = self.state();
        if state.has_thread {
            self.shared.emptied.wait_for(&mut state, Duration::from_secs(1));
        }
    }
}

impl fmt::Debug for SstFileManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("SstFileManager")
            .field("total_bytes", &state.total_bytes)
            .field("max_allowed_bytes", &state.max_allowed_bytes)
            .field("trash_bytes", &state.trash_bytes)
            .field("delete_rate", &state.delete_rate)
            .finish_non_exhaustive()
    }
}
