//! A MANIFEST that another process goes on writing.
//!
//! ```text
//! MANIFEST   | edits that were replayed            | edits that came |
//!            first read: all of them        read on: these alone
//!                                                 ^ last_record_end
//! ```
//!
//! - What is replayed is kept, so a look costs what came since the last one, however long the MANIFEST is. Beside a
//!   writer that removes files all the time, what follows a look is then early enough.
//! - Everything begins anew when CURRENT names another MANIFEST, when families come or go, when the end that was seen
//!   was not behind a whole record, and when the bytes before it are others by now.
//! - A [`VersionSet`] is made from a copy of what was replayed; files that did not change are shared by those of one
//!   replay.

use super::family::FamilyToOpen;
use super::manifest_reader::{ManifestRecords, ReadOn};
use super::replay::{RecoverMode, Replay, apply_at, check_all_are_named, replay_file};
use super::{DEFAULT_COLUMN_FAMILY, VersionSet, current};
use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::file_name;
use ferrock_format::version_edit::VersionEdit;
use ferrock_options::DbOptions;
use ferrock_vfs::FileSystem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The MANIFEST in use of a database, as far as it was read.
///
/// ```
/// use ferrock_base::{SequenceNumber, Temperature};
/// use ferrock_options::DbOptions;
/// use ferrock_tree::version::version_set::{FamilyToOpen, FollowedManifest, RecoverMode};
/// use ferrock_tree::version::VersionSet;
/// use ferrock_vfs::{FileSystem, MemoryFileSystem};
/// use std::path::Path;
/// use std::sync::Arc;
///
/// let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
/// files.create_dir_all(Path::new("/db"))?;
/// VersionSet::create(&*files, Path::new("/db"), None, SequenceNumber(0), Temperature::Unknown)?;
/// let default = FamilyToOpen { name: "default".to_owned(), options: Arc::default() };
/// let mut manifest = FollowedManifest::new(files, Path::new("/db"), vec![default])?;
/// manifest.read()?;
/// let versions = manifest.version_set(Arc::new(DbOptions::default()), RecoverMode::ReadOnly)?;
/// assert_eq!(versions.families().len(), 1);
/// # Ok::<(), ferrock_base::Error>(())
/// ```
pub struct FollowedManifest {
    file_system: Arc<dyn FileSystem>,
    db_path: PathBuf,
    families: Vec<FamilyToOpen>,
    begun: Option<Begun>,
    /// Where the last look ended.
    seen: Option<(FileNumber, u64)>,
    outside_changes: u64,
}

/// What was replayed.
struct Begun {
    number: FileNumber,
    records: ManifestRecords,
    replay: Replay,
}

impl FollowedManifest {
    /// Reads nothing yet; `families` are those to open.
    ///
    /// # Errors
    /// `InvalidArgument` when the default family is not among them.
    pub fn new(file_system: Arc<dyn FileSystem>, db_path: &Path, families: Vec<FamilyToOpen>) -> Result<Self> {
        if !families.iter().any(|family| family.name == DEFAULT_COLUMN_FAMILY) {
            return Err(Error::invalid_argument("the column family \"default\" must be among those to open"));
        }
        let db_path = db_path.to_path_buf();
        Ok(Self { file_system, db_path, families, begun: None, seen: None, outside_changes: 0 })
    }

    /// Reads CURRENT, and what the MANIFEST has got since the last call.
    ///
    /// # Errors
    /// `Io` when one of them cannot be read; `Corruption`, naming file and offset, for every invalid record;
    /// `InvalidArgument` when comparators differ. The next call reads the whole MANIFEST.
    pub fn read(&mut self) -> Result<()> {
        let number = current::read_current(&*self.file_system, &self.db_path)?;
        let mut begun = self.begun.take().filter(|begun| begun.number == number);
        let goes_on = begun.as_mut().map(|begun| begun.records.read_on(&*self.file_system)).transpose()?;
        if goes_on == Some(ReadOn::AnotherFile) {
            self.outside_changes += 1;
            self.seen = None;
        }
        let mut begun = match begun.filter(|_| goes_on == Some(ReadOn::Yes)) {
            Some(begun) => begun,
            None => self.begin(number)?,
        };
        // A family must be known before its first edit is replayed.
        while !self.take_edits(&mut begun, u64::MAX)? {
            begun = self.begin(number)?;
        }
        self.begun = Some(begun);
        Ok(())
    }

    /// Replays the MANIFEST up to where it ended when the families were looked at.
    fn begin(&mut self, number: FileNumber) -> Result<Begun> {
        let path = self.db_path.join(file_name::manifest(number));
        // Replayed twice: records of a dropped family must not be checked against the options of a live family of the
        // same name.
        let mut names = Replay::of_names();
        let end = replay_file(&*self.file_system, &path, &mut names)?;
        let records = ManifestRecords::open(&*self.file_system, &path)?;
        let mut begun = Begun { number, records, replay: Replay::new(&self.families, &names) };
        self.take_edits(&mut begun, end)?;
        Ok(begun)
    }

    /// Replays up to `end`; for the end of the file, [`u64::MAX`]. False when a family came or went behind what the
    /// replay knows of: then nothing of it is to be used.
    fn take_edits(&mut self, begun: &mut Begun, end: u64) -> Result<bool> {
        let is_behind_known = end == u64::MAX;
        if self.seen.is_some_and(|(number, _)| number != begun.number) {
            self.outside_changes += 1;
            self.seen = None;
        }
        while begun.records.last_record_end() < end
            && let Some((offset, edits)) = begun.records.next_edits(&*self.file_system)?
        {
            let read_to = begun.records.last_record_end();
            if let Some((_, seen)) = &mut self.seen
                && *seen < read_to
            {
                *seen = read_to;
                self.outside_changes += u64::from(edits.iter().any(is_from_outside));
            }
            if is_behind_known && edits.iter().any(|edit| edit.column_family_change.is_some()) {
                return Ok(false);
            }
            edits.iter().try_for_each(|edit| apply_at(&mut begun.replay, edit, begun.records.path(), offset))?;
        }
        let read_to = begun.records.last_record_end();
        self.seen = Some((begun.number, self.seen.map_or(read_to, |(_, seen)| seen.max(read_to))));
        Ok(true)
    }

    /// How often, since the first look, something was said that no log has: families that came or went, tables that
    /// were taken in or dropped, a MANIFEST that was begun. Flushes and compactions change nothing that is read.
    #[must_use]
    pub fn outside_changes(&self) -> u64 {
        self.outside_changes
    }

    /// Names of all families, open or not.
    #[must_use]
    pub fn family_names(&self) -> Vec<String> {
        let names = self.begun.as_ref().map(|begun| begun.replay.family_names());
        names.unwrap_or_default().into_iter().map(|(_, name, _)| name).collect()
    }

    /// Logs with smaller numbers are needed by no family, open or not; see [`VersionSet::oldest_needed_log`].
    #[must_use]
    pub fn oldest_needed_log(&self) -> FileNumber {
        self.begun.as_ref().map_or(FileNumber(0), |begun| begun.replay.oldest_needed_log())
    }

    /// Logs with smaller numbers are not kept, not even for transactions.
    #[must_use]
    pub fn min_log_number_to_keep(&self) -> FileNumber {
        self.begun.as_ref().map_or(FileNumber(0), |begun| begun.replay.min_log_number_to_keep())
    }

    /// The tables of some family have what is in the logs with smaller numbers; none has what is in this one.
    #[must_use]
    pub fn newest_log_number(&self) -> FileNumber {
        self.begun.as_ref().map_or(FileNumber(0), |begun| begun.replay.newest_log_number())
    }

    /// The state of the tree as far as it was read.
    ///
    /// # Errors
    /// `InvalidArgument` before the first [`read`](Self::read), when the tree has more levels than the options, and for
    /// [`RecoverMode::ReadWrite`] when families of the MANIFEST are not named; `Corruption` when records are missing
    /// or the tree is not consistent.
    pub fn version_set(&self, options: Arc<DbOptions>, mode: RecoverMode) -> Result<VersionSet> {
        let Some(begun) = &self.begun else {
            return Err(Error::invalid_argument("the MANIFEST was not read").in_file(&self.db_path));
        };
        if mode == RecoverMode::ReadWrite {
            check_all_are_named(&begun.replay.not_opened())?;
        }
        let mut replayed = begun.replay.finished().map_err(|error| error.in_file(begun.records.path()))?;
        replayed.state.manifest_number = begun.number;
        replayed.state.manifest_read_to = begun.records.last_record_end();
        Ok(VersionSet::of_replayed(Arc::clone(&self.file_system), &self.db_path, options, mode, replayed))
    }
}

/// A flush says up to where its tables have the logs, and a compaction takes tables for others. Tables that only come
/// were taken in, and what only went may have been dropped with its rows.
fn is_from_outside(edit: &VersionEdit) -> bool {
    let brings_alone = !edit.new_files.is_empty() && edit.deleted_files.is_empty() && edit.log_number.is_none();
    let drops_alone = edit.new_files.is_empty() && !edit.deleted_files.is_empty();
    brings_alone || drops_alone || edit.column_family_change.is_some()
}
