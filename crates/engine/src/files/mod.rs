//! The files of an open database: where they are, which are being made, and the removal of those that nothing needs.
//!
//! ```text
//! reserve ---> a job writes the file ---> hand_over (it is in a Version, or its change failed) \ while it is pending
//!                                    \--> discard (the job failed: the file goes)              / no clean-up takes it
//!
//! begin_cleanup, request_cleanup ---> CleanUp::begin ---> NeededFiles ---> CleanUp::remove ---> dropped: it is over
//! ```
//!
//! Invariants:
//! - A number is pending from before its file exists until a Version has the file, or none ever will.
//! - What is needed is taken in the order: pending numbers, live Versions, logs, MANIFEST. A file that a job hands over
//!   in between is among the live ones, and a file made in between is newer than all that may go.
//! - No file is removed once [`FileRegistry::stop`] was called and [`FileRegistry::wait`] has returned: the directory
//!   may be another opener's as soon as its lock is given up. What is left to be removed then is told to closing.
//! - A directory is listed once, when it is cleaned up for the first time: that is when the database is opened, or
//!   after a family brought a directory of its own. From then on the registry knows what lies there: the names of that
//!   listing, and those that it was told of since.
//! - No file is created, listed or removed while the lock of the registry is held. The lock is a leaf, but for the
//!   number that `reserve` is given under it.
//! - Nothing but unfinished files is removed while there is a hold ([`holds`]).
//!
//! With an `SstFileManager` ([`deletion`]) a file is removed when it has become trash, whose name counts as none of the
//! database; what becomes of it then is the manager's business, also after the database was closed.
//!
//! Logs go their own way ([`retired_logs`]): to the [`archive`], or when no reader of updates has them open.
//!
//! Tables of an older version that an iterator, a point lookup or a job still holds (zombies) stay until the version is
//! dropped. Its drop requests a clean-up, which a thread of the database performs, once for all requests before its
//! begin. When only iterators requested clean-ups, the inputs of an idle database's last compaction stayed until the
//! next job if a point lookup, or the choice of a compaction, held their version at the wrong moment.

pub(crate) mod archive;
pub(crate) mod deletion;
pub(crate) mod holds;
pub(crate) mod links;
pub(crate) mod log_directory;
pub(crate) mod openings;
mod retired_logs;

use crate::events::{Event, Events};
use crate::info_log::InfoLog;
use archive::LogArchive;
use deletion::{Deletion, Removal};
use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::file_name::{self, FileKind};
use ferrock_options::FileDeletionInfo;
use ferrock_tree::blob::{BlobSource, KeepFiles, closed_file};
use ferrock_tree::job::WrittenFiles;
use ferrock_tree::places::{FilePlaces, is_same};
use ferrock_tree::table_cache::OpenTables;
use ferrock_tree::version::obsolete::{NeededFiles, obsolete_files};
use ferrock_vfs::{FileLock, FileSystem};
use holds::{HoldState, RemovalTurn};
use parking_lot::{Condvar, Mutex};
pub(crate) use retired_logs::LogPin;
use retired_logs::RetiredLogs;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// What a registry works with.
pub(crate) struct FileRegistryParts {
    pub(crate) file_system: Arc<dyn FileSystem>,
    pub(crate) database: PathBuf,
    pub(crate) places: Arc<FilePlaces>,
    pub(crate) open_tables: Arc<OpenTables>,
    pub(crate) blob_source: Arc<BlobSource>,
    pub(crate) events: Arc<Events>,
    pub(crate) deletion: Deletion,
    /// `None`: logs that nothing needs are removed.
    pub(crate) archive: Option<LogArchive>,
    /// `None`: the database is open for reading, and nothing is removed.
    pub(crate) directory_lock: Option<Box<dyn FileLock>>,
}

#[derive(Debug, Default)]
struct State {
    /// Numbers of files being written.
    pending: BTreeSet<FileNumber>,
    /// Blob files that memtables refer to.
    kept: BTreeSet<FileNumber>,
    /// Clean-ups that were begun or asked for and are not over.
    cleanups: usize,
    /// Threads open tables behind the open.
    openings: usize,
    /// A clean-up was asked for and has not begun.
    is_requested: bool,
    is_stopped: bool,
    /// A clean-up was refused because it came too late.
    is_owed: bool,
    /// What lies in the directories that were listed: of all that a clean-up may ever remove, the names.
    known: BTreeMap<PathBuf, BTreeSet<String>>,
    holds: HoldState,
    retired_logs: RetiredLogs,
}

/// Background work that a caller can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Clean-ups, which remove the inputs of compactions.
    CleanUps,
    /// Clean-ups, and the opening of tables that an open left for later.
    All,
}

impl State {
    fn is_running(&self, awaited: Awaited) -> bool {
        match awaited {
            Awaited::CleanUps => self.cleanups > 0,
            Awaited::All => self.cleanups > 0 || self.openings > 0,
        }
    }

    /// A directory that was not listed yet tells by itself what lies there.
    fn note(&mut self, directory: &Path, name: String) {
        if let Some(known) = self.known.get_mut(directory) {
            known.insert(name);
        }
    }
}

/// See the [module](self).
pub(crate) struct FileRegistry {
    file_system: Arc<dyn FileSystem>,
    database: PathBuf,
    places: Arc<FilePlaces>,
    open_tables: Arc<OpenTables>,
    blob_source: Arc<BlobSource>,
    deletion: Deletion,
    archive: Option<LogArchive>,
    log: Arc<InfoLog>,
    events: Arc<Events>,
    /// The last clean-up left tables that only readers held.
    has_zombies: AtomicBool,
    /// Scans for zombies that run now. One of them may count a version that is dropped meanwhile as held.
    zombie_scans: AtomicUsize,
    state: Mutex<State>,
    /// A clean-up is over.
    ended: Condvar,
    directory_lock: Mutex<Option<Box<dyn FileLock>>>,
}

impl FileRegistry {
    pub(crate) fn new(parts: FileRegistryParts) -> Arc<Self> {
        let FileRegistryParts {
            file_system,
            database,
            places,
            open_tables,
            blob_source,
            events,
            deletion,
            archive,
            directory_lock,
        } = parts;
        Arc::new(Self {
            file_system,
            database,
            places,
            open_tables,
            blob_source,
            deletion,
            archive,
            log: Arc::clone(events.log()),
            events,
            has_zombies: AtomicBool::new(false),
            zombie_scans: AtomicUsize::new(0),
            state: Mutex::new(State { is_stopped: directory_lock.is_none(), ..State::default() }),
            ended: Condvar::new(),
            directory_lock: Mutex::new(directory_lock),
        })
    }

    /// Directory of the database.
    pub(crate) fn database(&self) -> &Path {
        &self.database
    }

    /// Directories of all files.
    pub(crate) fn places(&self) -> &Arc<FilePlaces> {
        &self.places
    }

    /// Another bound of files that are open for reads, for those that are opened from now on.
    pub(crate) fn set_max_open_files(&self, max_open_files: i32) {
        self.open_tables.set_max_open_files(max_open_files);
        let blob_files = self.open_tables.blob_files_at_once(max_open_files);
        self.blob_source.set_max_open_files(blob_files);
    }

    /// The tables that are open, of all families.
    pub(crate) fn open_tables(&self) -> &Arc<OpenTables> {
        &self.open_tables
    }

    /// Makes a number pending that `new_number` gives. In one step: a clean-up in between would take the file for an
    /// orphan.
    pub(crate) fn reserve(&self, new_number: impl FnOnce() -> FileNumber) -> FileNumber {
        let mut state = self.state.lock();
        let number = new_number();
        state.pending.insert(number);
        number
    }

    /// Makes numbers pending, the first of which `new_numbers` gives.
    pub(crate) fn reserve_many(&self, count: u64, new_numbers: impl FnOnce() -> FileNumber) -> FileNumber {
        let mut state = self.state.lock();
        let first = new_numbers();
        state.pending.extend((0..count).map(|index| FileNumber(first.0 + index)));
        first
    }

    /// Ends that numbers are pending under which no file was made.
    pub(crate) fn release(&self, numbers: impl IntoIterator<Item = FileNumber>) {
        let mut state = self.state.lock();
        for number in numbers {
            state.pending.remove(&number);
        }
    }

    /// Keeps the blob file of a number that `new_number` gives, until it is [let go](KeepFiles::let_go). In one step,
    /// as [`reserve`](Self::reserve).
    pub(crate) fn keep(&self, new_number: impl FnOnce() -> FileNumber) -> FileNumber {
        let mut state = self.state.lock();
        let number = new_number();
        state.kept.insert(number);
        number
    }

    /// The blob files that memtables refer to.
    pub(crate) fn kept(&self) -> Vec<FileNumber> {
        self.state.lock().kept.iter().copied().collect()
    }

    /// Removes a blob file that a crash has left and that nothing refers to.
    pub(crate) fn remove_orphan(&self, directory: &Path, number: FileNumber) {
        let Some(turn) = self.begin_orphan_removal(directory, number) else { return };
        self.blob_source.evict(number);
        let what = "removing a blob file without use";
        self.remove_quietly(directory, file_name::blob(number), what, Some(turn));
    }

    /// Ends that files of a job are pending: a Version has them, or the MANIFEST may have them and keeps account
    /// itself.
    pub(crate) fn hand_over(&self, files: &WrittenFiles) {
        let mut state = self.state.lock();
        for (directory, name) in files.names() {
            state.note(directory, name);
        }
        for number in files.numbers() {
            state.pending.remove(&number);
        }
    }

    /// A file lies in `directory` that a clean-up may remove one day.
    pub(crate) fn note_file(&self, directory: &Path, name: String) {
        self.state.lock().note(directory, name);
    }

    /// Logs that no family needs lie where they were: a later clean-up removes them.
    pub(crate) fn note_logs(&self, numbers: &[FileNumber]) {
        numbers.iter().for_each(|number| self.note_file(self.places.log_directory(), file_name::log(*number)));
    }

    /// Ends that any file is pending: recovery made them, and no job has begun.
    pub(crate) fn release_all(&self) {
        self.state.lock().pending.clear();
    }

    /// Removes files of a job that failed.
    pub(crate) fn discard(&self, files: &WrittenFiles) {
        for (directory, name) in files.names() {
            self.remove_quietly(directory, name, "removing an unfinished file", None);
        }
        let mut state = self.state.lock();
        for number in files.numbers() {
            state.pending.remove(&number);
        }
    }

    /// The smallest number that is pending.
    pub(crate) fn oldest_pending(&self) -> Option<FileNumber> {
        self.state.lock().pending.first().copied()
    }

    /// A file that stays costs space, until a clean-up removes it. The turn is over before listeners hear of it: one of
    /// them may begin a hold.
    fn remove_quietly(&self, directory: &Path, name: String, what: &str, turn: Option<RemovalTurn<'_>>) {
        let removed = self.deletion.remove(&*self.file_system, &directory.join(&name), Removal::AtOnce);
        drop(turn);
        self.tell_of_removal(directory, &name, &removed);
        match removed {
            Err(error) if !error.is_not_found() => {
                self.log.warn(|| format!("{what}: {error}"));
                self.note_file(directory, name);
            }
            _ => self.forget(directory, &name),
        }
    }

    /// Tells the LOG and listeners of a table or a blob file. What is not there was not removed.
    fn tell_of_removal(&self, directory: &Path, name: &str, removed: &Result<()>) {
        let wanted = !removed.as_ref().is_err_and(Error::is_not_found);
        let Some(parsed) = file_name::parse(name).filter(|_| wanted) else { return };
        let event = match parsed.kind {
            FileKind::Table => "table_file_deletion",
            FileKind::Blob => "blob_file_deletion",
            _ => return,
        };
        self.events.log_event(event, Some(0), |line| {
            line.file("file_number", parsed.number).status(removed);
        });
        let info = || FileDeletionInfo {
            db_name: self.database.clone(),
            file_path: directory.join(name),
            job_id: 0,
            status: removed.clone(),
        };
        match parsed.kind {
            FileKind::Table => self.events.tell(|| Event::TableFileDeleted(info())),
            FileKind::Blob => self.events.tell(|| Event::BlobFileDeleted(info())),
            _ => {}
        }
    }

    /// As in RocksDB, logs in a directory of their own go at once: they may lie on another device.
    fn removal_of(&self, kind: FileKind) -> Removal {
        match kind {
            FileKind::Table | FileKind::Blob | FileKind::Trash => Removal::Paced,
            FileKind::Log if !self.places.has_separate_logs() => Removal::Paced,
            _ => Removal::AtOnce,
        }
    }

    /// What removes files, and counts them.
    pub(crate) fn deletion(&self) -> &Deletion {
        &self.deletion
    }

    fn forget(&self, directory: &Path, name: &str) {
        if let Some(known) = self.state.lock().known.get_mut(directory) {
            known.remove(name);
        }
    }

    /// What lies in a directory: listed the first time, known from then on.
    fn listing(&self, directory: &Path) -> Result<Vec<String>> {
        if let Some(known) = self.state.lock().known.get(directory) {
            return Ok(known.iter().cloned().collect());
        }
        let listing = self.file_system.children(directory)?;
        let removable = listing.iter().filter(|name| file_name::parse(name).is_some()).cloned();
        self.state.lock().known.entry(directory.to_path_buf()).or_default().extend(removable);
        Ok(listing)
    }

    /// A clean-up that the caller does now. `None` when it is too late: closing does it then.
    pub(crate) fn begin_cleanup(self: &Arc<Self>) -> Option<CleanUp> {
        let mut state = self.state.lock();
        if state.is_stopped {
            state.is_owed = true;
            return None;
        }
        state.cleanups += 1;
        // It finds what an earlier one was to find.
        state.is_owed = false;
        Some(CleanUp { files: Arc::clone(self), is_request: false })
    }

    /// A clean-up for another thread, after the drop of a version. `None` when no zombie is left, and when a request
    /// is pending already.
    pub(crate) fn request_cleanup(self: &Arc<Self>) -> Option<CleanUp> {
        if !self.has_zombies.load(Ordering::SeqCst) && self.zombie_scans.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let mut state = self.state.lock();
        if state.is_stopped || state.is_requested {
            return None;
        }
        state.is_requested = true;
        state.cleanups += 1;
        Some(CleanUp { files: Arc::clone(self), is_request: true })
    }

    /// Tables are opened behind the open, until the turn is dropped. `None` when the database is being closed.
    pub(crate) fn begin_opening(self: &Arc<Self>) -> Option<OpeningTurn> {
        let mut state = self.state.lock();
        if state.is_stopped {
            return None;
        }
        state.openings += 1;
        Some(OpeningTurn(Arc::clone(self)))
    }

    /// True when what runs aside is to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.state.lock().is_stopped
    }

    /// From now on no clean-up begins.
    pub(crate) fn stop(&self) {
        self.state.lock().is_stopped = true;
    }

    /// Waits for the clean-ups that were begun or asked for, and for tables that are opened behind the open.
    pub(crate) fn wait(&self) {
        let no_limit = self.wait_within(Awaited::All, || Ok(None));
        debug_assert!(no_limit.is_ok(), "{no_limit:?}");
    }

    /// Waits for what is `awaited`, for as long as `time_left` says.
    ///
    /// # Errors
    /// That of `time_left`.
    pub(crate) fn wait_within(&self, awaited: Awaited, time_left: impl Fn() -> Result<Option<Duration>>) -> Result<()> {
        let mut state = self.state.lock();
        while state.is_running(awaited) {
            match time_left()? {
                None => self.ended.wait(&mut state),
                Some(left) => drop(self.ended.wait_for(&mut state, left)),
            }
        }
        Ok(())
    }

    /// A clean-up comes later: closing does it if none has come by then.
    pub(crate) fn owe_cleanup(&self) {
        self.state.lock().is_owed = true;
    }

    /// True when one that was to come later has not come yet.
    pub(crate) fn is_cleanup_put_off(&self) -> bool {
        self.state.lock().is_owed
    }

    /// True when files may be left that nothing needs: a clean-up came too late, or readers held their tables.
    pub(crate) fn is_cleanup_owed(&self) -> bool {
        self.has_zombies.load(Ordering::SeqCst) || self.state.lock().is_owed
    }

    /// Gives up the lock of the directory: it may be another opener's from now on.
    pub(crate) fn unlock_directory(&self) {
        let lock = self.directory_lock.lock().take();
        drop(lock);
    }

    /// Begins a scan for zombies, before the live versions are listed. Until it ends, every drop of a version requests
    /// a clean-up: the scan may have counted the version as held.
    pub(crate) fn scan_for_zombies(&self) -> ZombieScan<'_> {
        self.zombie_scans.fetch_add(1, Ordering::SeqCst);
        self.has_zombies.store(false, Ordering::SeqCst);
        ZombieScan(self)
    }

    /// Removes what is not needed of what lies in the directories. `may_remove_logs` is asked before the first log
    /// goes. Failures are only logged: a file that stays costs space.
    pub(crate) fn remove_unneeded(&self, needed: &NeededFiles, may_remove_logs: &dyn Fn() -> bool) {
        if self.places.has_separate_logs() {
            let is_log = |kind| matches!(kind, FileKind::Log | FileKind::Trash);
            self.remove_unneeded_in(self.places.log_directory(), needed, may_remove_logs, is_log);
        }
        for directory in self.places.other_table_directories() {
            let is_table = |kind| matches!(kind, FileKind::Table | FileKind::Blob | FileKind::Temp | FileKind::Trash);
            self.remove_unneeded_in(&directory, needed, may_remove_logs, is_table);
        }
        self.remove_unneeded_in(&self.database, needed, may_remove_logs, |_| true);
        self.purge_archive();
    }

    /// Removes the files of some kinds that are not needed from one directory of the database.
    fn remove_unneeded_in(
        &self,
        directory: &Path,
        needed: &NeededFiles,
        may_remove_logs: &dyn Fn() -> bool,
        is_here: impl Fn(FileKind) -> bool,
    ) {
        let listing = match self.listing(directory) {
            Ok(listing) => listing,
            Err(error) => return self.log.warn(|| format!("listing obsolete files: {error}")),
        };
        for name in obsolete_files(&listing, needed) {
            let Some(parsed) = file_name::parse(name).filter(|parsed| is_here(parsed.kind)) else { continue };
            if parsed.kind == FileKind::Log && (!may_remove_logs() || self.may_be_unread(directory, name)) {
                continue;
            }
            let Some(turn) = self.begin_removal() else { return };
            match (parsed.kind, parsed.number) {
                (FileKind::Table, number) => self.open_tables.evict(number),
                // Its writer crashed before it could record the file, and tables or logs may refer to it.
                (FileKind::Blob, number) if closed_file(&*self.file_system, directory, number).is_none() => {
                    continue;
                }
                (FileKind::Blob, number) => self.blob_source.evict(number),
                _ => {}
            }
            let removed = if parsed.kind == FileKind::Log {
                self.retire_log(directory, parsed.number)
            } else {
                self.deletion.remove(&*self.file_system, &directory.join(name), self.removal_of(parsed.kind))
            };
            // A listener may begin a hold.
            drop(turn);
            self.tell_of_removal(directory, name, &removed);
            match removed {
                Ok(()) => {
                    self.forget(directory, name);
                    let is_archived = parsed.kind == FileKind::Log && self.archive.is_some();
                    self.log.info(|| format!("{} {name}", if is_archived { "archived" } else { "removed" }));
                }
                Err(error) if error.is_not_found() => self.forget(directory, name),
                Err(error) => self.log.warn(|| format!("removing {name}: {error}")),
            }
        }
    }

    /// True for a log with records beside the tables when logs have a directory of their own: `wal_dir` may have been
    /// changed by another engine, and what that log holds was never read.
    fn may_be_unread(&self, directory: &Path, name: &str) -> bool {
        self.places.has_separate_logs()
            && is_same(directory, &self.database)
            && self.file_system.file_size(&directory.join(name)).map_or(true, |bytes| bytes > 0)
    }
}

impl KeepFiles for FileRegistry {
    fn let_go(&self, directory: &Path, numbers: &[FileNumber], are_abandoned: bool) {
        let mut state = self.state.lock();
        for number in numbers {
            state.kept.remove(number);
            state.note(directory, file_name::blob(*number));
        }
        if !are_abandoned {
            // A clean-up may have passed over them meanwhile.
            self.has_zombies.store(true, Ordering::SeqCst);
            return;
        }
        if state.is_stopped {
            state.is_owed = true;
            return;
        }
        state.cleanups += 1;
        drop(state);
        numbers.iter().for_each(|number| self.remove_orphan(directory, *number));
        self.state.lock().cleanups -= 1;
        self.ended.notify_all();
    }
}

impl std::fmt::Debug for FileRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileRegistry").field("database", &self.database).finish_non_exhaustive()
    }
}

/// Tables that are opened behind the open, which closing waits for. It is over when this is dropped.
pub(crate) struct OpeningTurn(Arc<FileRegistry>);

impl Drop for OpeningTurn {
    fn drop(&mut self) {
        self.0.state.lock().openings -= 1;
        self.0.ended.notify_all();
    }
}

/// A scan that [`FileRegistry::scan_for_zombies`] began.
pub(crate) struct ZombieScan<'a>(&'a FileRegistry);

impl ZombieScan<'_> {
    /// Ends the scan with its result.
    pub(crate) fn end(self, has_zombies: bool) {
        if has_zombies {
            self.0.has_zombies.store(true, Ordering::SeqCst);
        }
    }
}

impl Drop for ZombieScan<'_> {
    fn drop(&mut self) {
        self.0.zombie_scans.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A clean-up that closing waits for. It is over when this is dropped.
pub(crate) struct CleanUp {
    files: Arc<FileRegistry>,
    is_request: bool,
}

impl CleanUp {
    /// Before it is looked what is needed: what is let go from now on asks for another clean-up.
    pub(crate) fn begin(&mut self) {
        if std::mem::take(&mut self.is_request) {
            self.files.state.lock().is_requested = false;
        }
    }
}

impl Drop for CleanUp {
    fn drop(&mut self) {
        self.begin();
        self.files.state.lock().cleanups -= 1;
        self.files.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::clock::ManualClock;
    use ferrock_vfs::{MemoryFileSystem, RandomAccessOptions, write_file_atomically};
    use std::collections::HashSet;

    const DIRECTORY: &str = "/db";

    fn registry(names: &[&str]) -> (Arc<dyn FileSystem>, Arc<FileRegistry>) {
        let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let database = PathBuf::from(DIRECTORY);
        file_system.create_dir_all(&database).unwrap();
        for name in names {
            write_file_atomically(&*file_system, &database.join(name), &database.join("temp"), b"contents").unwrap();
        }
        let directory_lock = file_system.lock_file(&database.join(file_name::LOCK)).unwrap();
        let places = Arc::new(FilePlaces::new(database.clone(), database.clone(), &[]));
        let open_tables = Arc::new(OpenTables::new(-1, None));
        let blob_source = Arc::new(BlobSource::new(
            Arc::clone(&file_system),
            Arc::clone(&places),
            RandomAccessOptions::default(),
            -1,
            Arc::clone(&open_tables),
        ));
        let log = InfoLog::without_file(Arc::clone(&file_system), Arc::new(ManualClock::new(0)), None);
        let events = Arc::new(Events::new(Vec::new(), log));
        let parts = FileRegistryParts {
            file_system: Arc::clone(&file_system),
            database,
            places,
            open_tables,
            blob_source,
            events,
            deletion: Deletion::default(),
            archive: None,
            directory_lock: Some(directory_lock),
        };
        (file_system, FileRegistry::new(parts))
    }

    fn tables_of_a_job(numbers: &[u64]) -> WrittenFiles {
        let tables = numbers.iter().copied().map(FileNumber).collect();
        WrittenFiles { table_directory: DIRECTORY.into(), tables, ..WrittenFiles::default() }
    }

    fn tables(file_system: &dyn FileSystem) -> Vec<String> {
        let mut names = file_system.children(Path::new(DIRECTORY)).unwrap();
        names.retain(|name| name.contains('.'));
        names.sort();
        names
    }

    /// What a database without any table would say is needed.
    fn needed(files: &FileRegistry, next: u64) -> NeededFiles {
        NeededFiles {
            live_tables: HashSet::new(),
            min_pending_output: files.oldest_pending().unwrap_or(FileNumber(next)),
            min_log_number_to_keep: FileNumber(next),
            ..NeededFiles::default()
        }
    }

    #[test]
    fn pending_files_and_logs_that_may_not_go_stay() {
        let (file_system, files) = registry(&["000003.sst", "000004.log", "000005.sst", "000006.sst"]);
        assert_eq!(files.reserve(|| FileNumber(5)), FileNumber(5));
        files.remove_unneeded(&needed(&files, 10), &|| false);
        assert_eq!(tables(&*file_system), ["000004.log", "000005.sst", "000006.sst"]);
        files.hand_over(&tables_of_a_job(&[5]));
        files.remove_unneeded(&needed(&files, 10), &|| true);
        assert!(tables(&*file_system).is_empty());
    }

    /// A directory is listed once; what comes later the registry is told of.
    #[test]
    fn a_directory_is_listed_once() {
        let (file_system, files) = registry(&["000003.sst"]);
        files.remove_unneeded(&needed(&files, 3), &|| true);
        for name in ["000004.sst", "000005.log", "000006.sst", "MANIFEST-000001"] {
            let directory = Path::new(DIRECTORY);
            write_file_atomically(&*file_system, &directory.join(name), &directory.join("temp"), b"contents").unwrap();
        }
        let manifest = NeededFiles { manifest_number: FileNumber(2), ..needed(&files, 10) };
        files.remove_unneeded(&manifest, &|| true);
        assert_eq!(tables(&*file_system), ["000004.sst", "000005.log", "000006.sst"], "it was told of none of these");
        files.reserve(|| FileNumber(4));
        files.hand_over(&tables_of_a_job(&[4]));
        files.note_logs(&[FileNumber(5)]);
        files.note_file(Path::new(DIRECTORY), "MANIFEST-000001".to_owned());
        files.remove_unneeded(&manifest, &|| true);
        assert_eq!(tables(&*file_system), ["000006.sst"]);
        assert!(!file_system.exists(&Path::new(DIRECTORY).join("MANIFEST-000001")).unwrap());
    }

    #[test]
    fn files_of_a_failed_job_go_at_once() {
        let (file_system, files) = registry(&["000003.sst", "000004.sst", "000006.dbtmp", "000007.blob"]);
        (4..8).for_each(|number| _ = files.reserve(|| FileNumber(number)));
        let blobs = vec![FileNumber(6), FileNumber(7)];
        files.discard(&WrittenFiles { blob_directory: DIRECTORY.into(), blobs, ..tables_of_a_job(&[4, 5]) });
        assert_eq!((files.oldest_pending(), tables(&*file_system)), (None, vec!["000003.sst".to_owned()]));
    }

    #[test]
    fn clean_ups_that_are_asked_for_together_are_one() {
        let (_, files) = registry(&[]);
        assert!(files.request_cleanup().is_none(), "no reader holds anything");
        let scan = files.scan_for_zombies();
        drop(files.request_cleanup().expect("the scan may have counted a dropped version as held"));
        scan.end(false);
        assert!(files.request_cleanup().is_none(), "nothing was held");
        files.scan_for_zombies().end(true);
        let mut first = files.request_cleanup().expect("a reader let go");
        assert!(files.request_cleanup().is_none(), "the first has not looked yet");
        first.begin();
        let second = files.request_cleanup().expect("what is let go now is not seen by the first");
        drop((first, second));
        files.wait();
        drop(files.request_cleanup().expect("a request that was dropped stands in no way"));
        assert!(files.request_cleanup().is_some());
    }

    #[test]
    fn closing_waits_for_clean_ups_and_takes_over_those_that_come_too_late() {
        let (_, files) = registry(&[]);
        let begun = files.begin_cleanup().expect("the database is open");
        files.stop();
        let waiting = Arc::clone(&files);
        let closing = std::thread::Builder::new().spawn(move || waiting.wait()).unwrap();
        assert!(!files.is_cleanup_owed());
        assert!(files.begin_cleanup().is_none() && files.is_cleanup_owed());
        assert!(files.request_cleanup().is_none());
        assert!(!closing.is_finished(), "a clean-up runs");
        drop(begun);
        closing.join().unwrap();
    }

    #[test]
    fn the_directory_is_unlocked_once() {
        let (file_system, files) = registry(&[]);
        let lock = Path::new(DIRECTORY).join(file_name::LOCK);
        assert!(file_system.lock_file(&lock).is_err());
        files.unlock_directory();
        files.unlock_directory();
        assert!(file_system.lock_file(&lock).is_ok());
    }
}
