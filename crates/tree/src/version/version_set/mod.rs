//! The current version of every column family, and the MANIFEST that records every change of it.
//!
//! ```text
//! log_and_apply(edits)     manifest lock ---------------------------------------------------------------+
//!   build the new versions from the current ones        state lock, briefly                             |
//!   encode, append to the MANIFEST, sync                no other lock: readers and choosers go on       |
//!   install                                             state lock, briefly                             |
//!                          +----------------------------------------------------------------------------+
//! ```
//!
//! - Nothing is installed before it is durable.
//! - After a failed write the MANIFEST is not touched again: its end is unknown. The next change begins a new one,
//!   which holds everything. Until then the files of the failed change count as live, because the record may have
//!   reached the disk after all.
//! - CURRENT is replaced by a synced temporary file and a rename, then the directory is synced.

mod adoption;
mod best_efforts;
mod copying;
mod current;
mod families;
mod family;
mod followed;
mod gone_tables;
mod log_and_apply;
mod manifest_reader;
mod manifest_writer;
mod read_back;
mod recover;
mod remains;
mod replay;
mod snapshot_records;
#[cfg(test)]
mod tests;

pub use best_efforts::{BestEfforts, has_manifest, list_recoverable_families};
pub use copying::ManifestToCopy;
pub use family::{FamilyToOpen, FamilyView};
pub use followed::FollowedManifest;
pub use gone_tables::GoneTable;
pub use manifest_reader::ManifestReader;
pub use read_back::ReadBack;
pub use recover::list_column_families;
pub use replay::RecoverMode;

use super::{ReleaseObserver, Version};
use arc_swap::ArcSwap;
use family::Family;
use ferrock_base::{Error, FileNumber, Result, SequenceNumber};
use ferrock_format::file_name;
use ferrock_format::version_edit::VersionEdit;
use ferrock_options::DbOptions;
use ferrock_vfs::FileSystem;
use manifest_writer::ManifestWriter;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
#[cfg(test)]
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

pub use current::{exists, read_current};
pub use remains::check_holds_no_database;

/// Name of the family that always exists.
pub const DEFAULT_COLUMN_FAMILY: &str = "default";

/// All column families of an open database. Every method may be called from any thread.
#[derive(Debug)]
pub struct VersionSet {
    file_system: Arc<dyn FileSystem>,
    db_path: PathBuf,
    options: ArcSwap<DbOptions>,
    is_read_only: bool,
    next_file_number: AtomicU64,
    last_sequence: AtomicU64,
    state: Mutex<State>,
    /// Serialises changes. Taken before `state`, never while it is held.
    manifest: Mutex<Manifest>,
}

#[derive(Debug, Default)]
struct State {
    families: BTreeMap<u32, Family>,
    db_id: Option<String>,
    max_column_family: u32,
    min_log_number_to_keep: FileNumber,
    prev_log_number: FileNumber,
    /// The smallest log number of the families that are in the MANIFEST and not open, which only a read-only open has.
    log_number_not_opened: Option<FileNumber>,
    /// WALs that a database with `track_and_verify_wals_in_manifest` recorded, with their synced sizes.
    tracked_wals: BTreeMap<FileNumber, Option<u64>>,
    manifest_number: FileNumber,
    /// Where the last record that was read of it ends.
    manifest_read_to: u64,
    /// MANIFESTs that were begun and not [taken](VersionSet::take_replaced_manifests).
    begun_manifests: BTreeSet<FileNumber>,
    /// Every version that a reader may still hold, with its family.
    versions: Vec<(u32, Weak<Version>)>,
    observer: Option<Arc<dyn ReleaseObserver>>,
    /// Not [taken](VersionSet::take_gone_tables) yet.
    gone_tables: Vec<GoneTable>,
    /// A write failed since the last new MANIFEST: a crash may leave its records or not.
    is_uncertain: bool,
    /// Tables and blob files of changes whose write failed.
    uncertain_files: HashSet<FileNumber>,
}

#[derive(Debug, Default)]
struct Manifest {
    /// `None` makes the next change begin a new MANIFEST.
    writer: Option<ManifestWriter>,
    /// Size of the open MANIFEST after it was begun.
    last_compacted_size_bytes: u64,
}

/// Logs that a change of the tree releases.
///
/// It goes into the same record as the change. Recovery skips a log as soon as no family's log number reaches back to
/// it, and the log behind it says up to which sequence number logs were written before: the record that moves the log
/// number, or drops the family that held it back, must therefore record those numbers, in a table or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogRelease {
    /// The oldest log that is still needed; `None` when no further log is released.
    pub min_log_number_to_keep: Option<FileNumber>,
    /// The last sequence number of the logs before that one.
    pub last_sequence: Option<SequenceNumber>,
}

impl LogRelease {
    /// Writes it into an edit.
    pub fn add_to(self, edit: &mut VersionEdit) {
        edit.min_log_number_to_keep = self.min_log_number_to_keep;
        edit.last_sequence = edit.last_sequence.max(self.last_sequence);
    }
}

/// Files that a live version needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveFiles {
    /// Tables.
    pub tables: HashSet<FileNumber>,
    /// Blob files.
    pub blob_files: HashSet<FileNumber>,
    /// Tables that only a reader of an older version holds, with their bytes: zombies.
    pub zombie_tables: HashMap<FileNumber, u64>,
}

/// What the versions of a family hold that are current or that a reader still holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldVersions {
    /// How many there are.
    pub versions: u64,
    /// Bytes of their tables, each counted once.
    pub table_bytes: u64,
    /// Bytes of their blob files, each counted once.
    pub blob_file_bytes: u64,
}

impl VersionSet {
    /// A number for a new file.
    pub fn new_file_number(&self) -> FileNumber {
        FileNumber(self.next_file_number.fetch_add(1, Ordering::Relaxed))
    }

    /// So many numbers for new files, one after the other; the first of them.
    pub fn new_file_numbers(&self, count: u64) -> FileNumber {
        FileNumber(self.next_file_number.fetch_add(count, Ordering::Relaxed))
    }

    /// The number that the next new file will get.
    #[must_use]
    pub fn next_file_number(&self) -> FileNumber {
        FileNumber(self.next_file_number.load(Ordering::Relaxed))
    }

    /// Reserves `number`, found in the directory or in a log.
    pub fn mark_file_number_used(&self, number: FileNumber) {
        if number.0 <= file_name::MAX_FILE_NUMBER {
            self.next_file_number.fetch_max(number.0 + 1, Ordering::Relaxed);
        }
    }

    /// The last sequence number that a change of the tree or a caller has reported.
    #[must_use]
    pub fn last_sequence(&self) -> SequenceNumber {
        SequenceNumber(self.last_sequence.load(Ordering::Acquire))
    }

    /// Raises the last sequence number.
    pub fn advance_last_sequence(&self, sequence: SequenceNumber) {
        self.last_sequence.fetch_max(sequence.0, Ordering::AcqRel);
    }

    /// WALs with smaller numbers are not needed.
    #[must_use]
    pub fn min_log_number_to_keep(&self) -> FileNumber {
        self.state.lock().min_log_number_to_keep
    }

    /// The legacy second log; 0 in everything that RocksDB writes.
    #[must_use]
    pub fn prev_log_number(&self) -> FileNumber {
        self.state.lock().prev_log_number
    }

    /// Identity of the database, where the MANIFEST has one or [`set_db_id`](Self::set_db_id) was called.
    #[must_use]
    pub fn db_id(&self) -> Option<String> {
        self.state.lock().db_id.clone()
    }

    /// Gives the database an identity. It reaches the disk with the next new MANIFEST, which the first change after an
    /// open always begins.
    pub fn set_db_id(&self, db_id: String) {
        self.state.lock().db_id = Some(db_id);
    }

    /// The highest column family id ever used.
    #[must_use]
    pub fn max_column_family(&self) -> u32 {
        self.state.lock().max_column_family
    }

    /// WALs recorded by a database that tracks them, with their synced sizes.
    #[must_use]
    pub fn tracked_wals(&self) -> BTreeMap<FileNumber, Option<u64>> {
        self.state.lock().tracked_wals.clone()
    }

    /// Counts the metadata of these versions' files in the memory budget, where there is one.
    fn charge_files<'a>(&self, versions: impl Iterator<Item = &'a Arc<Version>>) {
        let options = self.options.load();
        if let Some(budget) = &options.components.memory_budget {
            versions.flat_map(|version| version.files()).for_each(|(_, file)| file.charge(budget.file_metadata()));
        }
    }

    /// Takes over options that changed while the database is open.
    pub fn set_db_options(&self, options: Arc<DbOptions>) {
        self.options.store(options);
    }

    /// Number of the MANIFEST that CURRENT points to.
    #[must_use]
    pub fn manifest_number(&self) -> FileNumber {
        self.state.lock().manifest_number
    }

    /// MANIFESTs that were begun since the last call, or since the open, and are replaced by now: their files may go,
    /// as may the temporary files of CURRENT with their numbers.
    pub fn take_replaced_manifests(&self) -> Vec<FileNumber> {
        let mut state = self.state.lock();
        let current = state.manifest_number;
        let kept = state.begun_manifests.split_off(&current);
        std::mem::replace(&mut state.begun_manifests, kept).into_iter().collect()
    }

    /// True from a failed write to the MANIFEST until a new one is in force: a crash may leave the failed change or
    /// not, so nothing that depends on either may be acknowledged.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        self.state.lock().is_uncertain
    }

    /// Path of the MANIFEST that CURRENT points to.
    #[must_use]
    #[cfg(test)]
    pub fn manifest_path(&self) -> PathBuf {
        self.db_path.join(file_name::manifest(self.manifest_number()))
    }

    /// What the versions of a family hold that are current or that a reader still holds.
    #[must_use]
    pub fn held_by(&self, family: u32) -> HeldVersions {
        let state = self.state.lock();
        let mut held = HeldVersions::default();
        let (mut tables, mut blob_files) = (HashSet::new(), HashSet::new());
        for version in state.versions.iter().filter(|(own, _)| *own == family).filter_map(|(_, held)| held.upgrade()) {
            held.versions += 1;
            let new_tables = version.files().filter(|(_, file)| tables.insert(file.number));
            held.table_bytes += new_tables.map(|(_, file)| file.size_bytes).sum::<u64>();
            let new_blob_files = version.blob_files().iter().filter(|(number, _)| blob_files.insert(**number));
            held.blob_file_bytes += new_blob_files.map(|(_, file)| file.file_size_bytes()).sum::<u64>();
        }
        held
    }

    /// Sets the observer of the drops of versions: of the current ones and of all later ones.
    pub fn observe_releases(&self, observer: Arc<dyn ReleaseObserver>) {
        let mut state = self.state.lock();
        state.families.values().for_each(|family| family.current.set_observer(&observer));
        state.observer = Some(observer);
    }

    /// Every file that a live version has: the current versions, those that readers still hold, and files of changes
    /// whose write failed.
    #[must_use]
    pub fn live_files(&self) -> LiveFiles {
        let mut state = self.state.lock();
        let mut live = LiveFiles::default();
        let mut current = HashSet::new();
        for family in state.families.values() {
            live.tables.extend(family.current.files().map(|(_, file)| file.number));
            live.blob_files.extend(blob_files_of(&family.current));
            current.insert(Arc::as_ptr(&family.current));
        }
        let mut zombies = HashMap::new();
        state.versions.retain(|(_, version)| {
            let Some(version) = version.upgrade() else { return false };
            if !current.contains(&Arc::as_ptr(&version)) {
                let files = version.files().map(|(_, file)| (file.number, file.size_bytes));
                zombies.extend(files.filter(|(number, _)| !live.tables.contains(number)));
                live.blob_files.extend(blob_files_of(&version));
            }
            true
        });
        live.tables.extend(zombies.keys());
        live.zombie_tables = zombies;
        live.tables.extend(&state.uncertain_files);
        live.blob_files.extend(&state.uncertain_files);
        live
    }
}

/// Says in each edit that all of them count together. One record is atomic by itself.
fn number_group(edits: &mut [VersionEdit]) -> Result<()> {
    let count = u32::try_from(edits.len()).map_err(|_| Error::invalid_argument("too many edits in a group"))?;
    for (edit, remaining) in edits.iter_mut().zip((0..count).rev()).filter(|_| count > 1) {
        edit.remaining_in_group = Some(remaining);
    }
    Ok(())
}

/// The blob files of a version, with those that only its tables name.
fn blob_files_of(version: &Version) -> impl Iterator<Item = FileNumber> + '_ {
    let named = version.files().filter_map(|(_, file)| file.oldest_blob_file_number);
    version.blob_files().keys().copied().chain(named)
}

impl State {
    /// Registers a version so that its files stay as long as the version is held.
    fn track(&mut self, family: u32, version: &Arc<Version>) {
        if self.versions.len() == self.versions.capacity() {
            self.versions.retain(|(_, version)| version.strong_count() > 0);
        }
        self.versions.push((family, Arc::downgrade(version)));
        if let Some(observer) = &self.observer {
            version.set_observer(observer);
        }
    }

    /// A copy of what [`apply_scalars`](Self::apply_scalars) has set, and of nothing else.
    fn with_scalars_alone(&self) -> Self {
        Self {
            db_id: self.db_id.clone(),
            max_column_family: self.max_column_family,
            min_log_number_to_keep: self.min_log_number_to_keep,
            prev_log_number: self.prev_log_number,
            tracked_wals: self.tracked_wals.clone(),
            ..Self::default()
        }
    }

    /// Applies the fields of an edit that concern the whole database.
    fn apply_scalars(&mut self, edit: &VersionEdit) {
        if let Some(number) = edit.min_log_number_to_keep {
            self.min_log_number_to_keep = self.min_log_number_to_keep.max(number);
        }
        if let Some(number) = edit.prev_log_number {
            self.prev_log_number = number;
        }
        if let Some(db_id) = &edit.db_id {
            self.db_id = Some(db_id.clone());
        }
        if let Some(id) = edit.max_column_family {
            self.max_column_family = self.max_column_family.max(id);
        }
        for wal in &edit.wal_additions {
            self.tracked_wals.insert(wal.log_number, wal.synced_size_bytes);
        }
        if let Some(number) = edit.wal_deletion {
            self.tracked_wals = self.tracked_wals.split_off(&number);
        }
    }
}
