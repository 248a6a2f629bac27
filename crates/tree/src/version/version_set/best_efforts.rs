//! Best-efforts recovery: the newest state of each family whose files are all there.
//!
//! ```text
//! MANIFESTs, newest first ---> names ---> survey: edit by edit, which state is whole? ---> replay up to it
//!        ^                                                                                                |
//!        +-------------------------------- the next older one, where one is damaged <---------------------+
//! ```
//!
//! CURRENT is not asked. A state of a family is *whole* when every table and every blob file that it needs is there
//! with its recorded size. So is, as in RocksDB, one that lacks nothing but the newest tables of level 0, and blob
//! files of these alone: it is the family as it was before their flushes. Not so once an atomic group has changed the
//! files of the family: what was flushed together is there together or not at all.
//!
//! Invariants:
//! - The states of all families that there were at an atomic group lie all before it or all behind it.
//! - Before log number, next file number and last sequence number are known there is no state: a MANIFEST that was
//!   being begun when the process died is passed over.
//! - What an edit says of anything but files counts to the end of the MANIFEST: numbers that were given out are not
//!   given out again.
//! - A family without a whole state is empty.
//! - No log counts. [`VersionSet::release_all_logs`] makes that last.

use super::family::FamilyToOpen;
use super::manifest_reader::ManifestReader;
use super::replay::{Replay, ReplayedManifest, apply_at, check_all_are_named, replay_file};
use super::{RecoverMode, VersionSet};
use crate::places::{FilePlaces, TablePaths};
use crate::version::BlobFileMetadata;
use ferrock_base::{Error, FileNumber, Result, SequenceNumber};
use ferrock_format::file_name::{self, FileKind};
use ferrock_format::version_edit::{BlobFileGarbage, ColumnFamilyChange, DeletedFile, NewFile, VersionEdit};
use ferrock_options::DbOptions;
use ferrock_vfs::FileSystem;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Id, name and comparator of a family.
type FamilyName = (u32, String, Option<String>);

/// True when the directory has a MANIFEST with anything in it.
///
/// # Errors
/// `Io` when the directory cannot be listed; one that does not exist has no MANIFEST.
pub fn has_manifest(file_system: &dyn FileSystem, db_path: &Path) -> Result<bool> {
    Ok(!manifests(file_system, db_path)?.is_empty())
}

/// As [`list_column_families`](super::list_column_families), from the newest MANIFEST that can be read, whatever
/// CURRENT says.
///
/// # Errors
/// `Corruption` when no MANIFEST can be read, `Io` when one cannot be looked at.
pub fn list_recoverable_families(file_system: &dyn FileSystem, db_path: &Path) -> Result<Vec<FamilyName>> {
    newest_usable(file_system, db_path, &mut Vec::new(), |_, names| Ok(names.family_names()))
}

/// Numbers of the MANIFESTs that are not empty, newest first.
fn manifests(file_system: &dyn FileSystem, db_path: &Path) -> Result<Vec<FileNumber>> {
    let names = match file_system.children(db_path) {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        names => names?,
    };
    let mut numbers = Vec::new();
    for name in names {
        let Some(parsed) = file_name::parse(&name).filter(|parsed| parsed.kind == FileKind::Manifest) else { continue };
        match file_system.file_size(&db_path.join(&name)) {
            Err(error) if error.is_not_found() => {}
            size => numbers.extend((size? > 0).then_some(parsed.number)),
        }
    }
    numbers.sort_unstable_by_key(|number| Reverse(*number));
    Ok(numbers)
}

/// What `read` makes of the newest MANIFEST that is not damaged; the others are noted.
fn newest_usable<T>(
    file_system: &dyn FileSystem,
    db_path: &Path,
    notes: &mut Vec<String>,
    mut read: impl FnMut(FileNumber, &Replay) -> Result<T>,
) -> Result<T> {
    let mut first_error = None;
    for number in manifests(file_system, db_path)? {
        let path = db_path.join(file_name::manifest(number));
        let mut names = Replay::of_names();
        let scalars = replay_file(file_system, &path, &mut names)
            .and_then(|_| names.check_scalars().map_err(|error| error.in_file(&path)));
        match scalars.and_then(|_| read(number, &names)) {
            Err(error) if error.is_corruption() || error.is_not_found() => {
                notes.push(format!("best_efforts_recovery: {} is passed over: {error}", file_name::manifest(number)));
                first_error.get_or_insert(error);
            }
            outcome => return outcome,
        }
    }
    Err(first_error.map_or_else(
        || Error::corruption("best_efforts_recovery needs a MANIFEST, and there is none: repair").in_file(db_path),
        |error| error.context("best_efforts_recovery: no MANIFEST can be used; repair"),
    ))
}

/// The newest whole state of a database.
#[derive(Debug)]
pub struct BestEfforts {
    /// The state.
    pub versions: VersionSet,
    /// What it is, in lines for the LOG.
    pub notes: Vec<String>,
    /// The MANIFEST that tells of it.
    pub manifest: FileNumber,
    /// By id of the family: tables that the MANIFEST adds behind the state, or that are left out of it. What the state
    /// lacks is in the key ranges of these alone.
    pub left_out: BTreeMap<u32, Vec<NewFile>>,
}

impl VersionSet {
    /// Opens the newest whole state of the database in `db_path`. Writes nothing; the first change begins a new
    /// MANIFEST, which holds this state alone.
    ///
    /// # Errors
    /// As [`recover`](Self::recover), but for damaged MANIFESTs: `Corruption` is returned when all of them are.
    pub fn recover_best_efforts(
        file_system: Arc<dyn FileSystem>,
        db_path: &Path,
        options: Arc<DbOptions>,
        families: &[FamilyToOpen],
    ) -> Result<BestEfforts> {
        let mut notes = Vec::new();
        let found = newest_usable(&*file_system, db_path, &mut notes, |number, names| {
            check_all_are_named(&names.names_besides(families))?;
            replay_up_to_points(&*file_system, db_path, &options, families, number, names)
        });
        let Found { replayed, notes: mut found_notes, left_out } = found?;
        notes.append(&mut found_notes);
        let manifest = replayed.state.manifest_number;
        let versions = Self::of_replayed(file_system, db_path, options, RecoverMode::ReadWrite, replayed);
        // An older MANIFEST may have known less than the tables that are left.
        versions.advance_last_sequence(versions.largest_in_tables());
        versions.mark_directory_used(db_path)?;
        Ok(BestEfforts { versions, notes, manifest, left_out })
    }

    /// Makes every log that exists a log that nothing needs, in the next MANIFEST. The directories of logs are to be
    /// [marked](Self::mark_directory_used) before.
    pub fn release_all_logs(&self) {
        let next = self.next_file_number();
        let mut state = self.state.lock();
        state.min_log_number_to_keep = state.min_log_number_to_keep.max(next);
        state.prev_log_number = FileNumber(0);
        // An open that verifies the logs of the list looks for each.
        state.tracked_wals.clear();
        state.families.values_mut().for_each(|family| family.log_number = family.log_number.max(next));
    }
}

struct Found {
    replayed: ReplayedManifest,
    notes: Vec<String>,
    left_out: BTreeMap<u32, Vec<NewFile>>,
}

/// Replays MANIFEST `number`, the files of each family up to its newest whole state.
fn replay_up_to_points(
    file_system: &dyn FileSystem,
    db_path: &Path,
    options: &DbOptions,
    families: &[FamilyToOpen],
    number: FileNumber,
    names: &Replay,
) -> Result<Found> {
    let mut replay = Replay::new(families, names);
    let path = db_path.join(file_name::manifest(number));
    let mut survey = Survey::new(file_system, db_path, options, families, names);
    survey.read(&path)?;
    let (points, units) = (survey.points, survey.units);
    let mut reader = ManifestReader::open(file_system, &path)?;
    let (mut unit, mut left_out) = (0, BTreeMap::<u32, Vec<NewFile>>::new());
    while let Some((offset, edits)) = reader.next_edits()? {
        unit += 1;
        for edit in edits {
            let point = points.get(&edit.column_family);
            let is_behind = point.is_some_and(|point| unit > point.unit);
            let is_left_out = |table: &&NewFile| {
                is_behind
                    || point.is_some_and(|point| {
                        point.left_out.deleted_files.iter().any(|left| left.number == table.number)
                    })
            };
            let lacking = edit.new_files.iter().filter(is_left_out).cloned();
            left_out.entry(edit.column_family).or_default().extend(lacking);
            let edit = if is_behind { without_files(edit) } else { edit };
            apply_at(&mut replay, &edit, &path, offset)?;
        }
    }
    let mut notes = vec![format!("best_efforts_recovery: {} counts, and no log", file_name::manifest(number))];
    for (id, name, _) in names.family_names() {
        let Some(point) = points.get(&id) else { continue };
        if point.unit < units || !is_empty(&point.left_out) {
            notes.push(format!(
                "best_efforts_recovery: family {name} is as after change {} of {units}, without {} tables of level 0",
                point.unit,
                point.left_out.deleted_files.len()
            ));
        }
        replay.apply(&point.left_out).map_err(|error| error.in_file(&path))?;
    }
    let mut replayed = replay.finished().map_err(|error| error.in_file(&path))?;
    replayed.state.manifest_number = number;
    left_out.retain(|_, tables| !tables.is_empty());
    Ok(Found { replayed, notes, left_out })
}

fn is_empty(left_out: &VersionEdit) -> bool {
    left_out.deleted_files.is_empty() && left_out.blob_file_garbages.is_empty()
}

fn without_files(edit: VersionEdit) -> VersionEdit {
    VersionEdit {
        deleted_files: Vec::new(),
        new_files: Vec::new(),
        compact_cursors: Vec::new(),
        blob_file_additions: Vec::new(),
        blob_file_garbages: Vec::new(),
        ..edit
    }
}

/// A whole state of a family: that after so many changes of the MANIFEST, but for what is left out of it.
#[derive(Clone, Debug)]
struct Point {
    unit: u64,
    left_out: VersionEdit,
}

/// A table of a family as far as the MANIFEST was read.
#[derive(Clone, Copy, Debug)]
struct Table {
    level: u32,
    is_missing: bool,
    oldest_blob: Option<FileNumber>,
    /// Larger: newer.
    age: (SequenceNumber, SequenceNumber, FileNumber),
}

#[derive(Debug)]
struct Blob {
    is_missing: bool,
    metadata: BlobFileMetadata,
}

/// The files of a family as far as the MANIFEST was read.
#[derive(Debug)]
struct FamilyFiles {
    id: u32,
    paths: TablePaths,
    tables: BTreeMap<FileNumber, Table>,
    blobs: BTreeMap<FileNumber, Blob>,
    missing: BTreeSet<FileNumber>,
    /// An atomic group has changed them.
    is_of_group: bool,
    /// What is left out of them to make them whole; `None`: they are not whole.
    whole: Option<VersionEdit>,
}

/// Reads a MANIFEST for the newest whole state of each family.
struct Survey<'a> {
    presence: Presence<'a>,
    paths: HashMap<u32, TablePaths>,
    families: BTreeMap<u32, FamilyFiles>,
    points: HashMap<u32, Point>,
    /// Families that there were at the last atomic group, and their states behind it; `None` when it is complete.
    group: Option<BTreeMap<u32, Option<Point>>>,
    scalars: Scalars,
    units: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Scalars {
    has_log_number: bool,
    has_next_file_number: bool,
    has_last_sequence: bool,
}

impl Scalars {
    fn see(&mut self, edit: &VersionEdit) {
        self.has_log_number |= edit.log_number.is_some();
        self.has_next_file_number |= edit.next_file_number.is_some();
        self.has_last_sequence |= edit.last_sequence.is_some();
    }

    fn are_known(self) -> bool {
        self.has_log_number && self.has_next_file_number && self.has_last_sequence
    }
}

impl<'a> Survey<'a> {
    fn new(
        file_system: &'a dyn FileSystem,
        db_path: &Path,
        options: &DbOptions,
        families: &[FamilyToOpen],
        names: &Replay,
    ) -> Self {
        let places = FilePlaces::new(db_path.to_path_buf(), db_path.to_path_buf(), &options.db_paths);
        let mut paths = HashMap::new();
        for (id, name, _) in names.family_names() {
            if let Some(family) = families.iter().find(|family| family.name == name) {
                paths.insert(id, places.add_family(id, &family.options));
            }
        }
        let mut survey = Self {
            presence: Presence { file_system, listings: BTreeMap::new() },
            paths,
            families: BTreeMap::new(),
            points: HashMap::new(),
            group: None,
            scalars: Scalars::default(),
            units: 0,
        };
        survey.add_family(0);
        survey
    }

    fn read(&mut self, path: &Path) -> Result<()> {
        let mut reader = ManifestReader::open(self.presence.file_system, path)?;
        while let Some((_, edits)) = reader.next_edits()? {
            let is_group = edits.iter().any(|edit| edit.remaining_in_group.is_some());
            if is_group {
                // What is whole now is so before the group.
                self.keep_all_whole();
                self.group = Some(self.families.keys().map(|id| (*id, None)).collect());
            }
            for edit in &edits {
                self.apply(edit, is_group)?;
            }
            edits.iter().for_each(|edit| self.scalars.see(edit));
            self.units += 1;
        }
        self.keep_all_whole();
        Ok(())
    }

    /// A family that is live at the end of the MANIFEST is followed; others are of no interest.
    fn add_family(&mut self, id: u32) {
        let Some(paths) = self.paths.get(&id).cloned() else { return };
        let left_out = VersionEdit::for_column_family(id);
        // Empty until there is a state.
        self.points.insert(id, Point { unit: 0, left_out: left_out.clone() });
        let files = FamilyFiles {
            id,
            paths,
            tables: BTreeMap::new(),
            blobs: BTreeMap::new(),
            missing: BTreeSet::new(),
            is_of_group: false,
            whole: Some(left_out),
        };
        self.families.insert(id, files);
    }

    fn apply(&mut self, edit: &VersionEdit, is_in_group: bool) -> Result<()> {
        let id = edit.column_family;
        match edit.column_family_change {
            Some(ColumnFamilyChange::Add(_)) => self.add_family(id),
            Some(ColumnFamilyChange::Drop) => {
                self.families.remove(&id);
                if let Some(group) = &mut self.group {
                    group.remove(&id);
                    self.end_complete_group();
                }
                return Ok(());
            }
            None => {}
        }
        if edit.is_wal_manipulation() || !changes_files(edit) {
            return Ok(());
        }
        let Some(family) = self.families.get_mut(&id) else { return Ok(()) };
        let before = family.whole.take();
        family.apply(edit, is_in_group, &mut self.presence)?;
        if let Some(left_out) = before.filter(|_| family.whole.is_none() && !is_in_group) {
            self.keep(id, left_out);
        }
        Ok(())
    }

    /// Keeps the states of all families that are whole, as they are after the changes so far.
    fn keep_all_whole(&mut self) {
        let whole = self.families.values().filter_map(|family| Some((family.id, family.whole.clone()?)));
        for (id, left_out) in whole.collect::<Vec<_>>() {
            self.keep(id, left_out);
        }
    }

    fn keep(&mut self, id: u32, left_out: VersionEdit) {
        if !self.scalars.are_known() {
            return;
        }
        let point = Point { unit: self.units, left_out };
        match self.group.as_mut().and_then(|group| group.get_mut(&id)) {
            Some(pending) => {
                *pending = Some(point);
                self.end_complete_group();
            }
            None => _ = self.points.insert(id, point),
        }
    }

    fn end_complete_group(&mut self) {
        if self.group.as_ref().is_some_and(|group| group.values().all(Option::is_some)) {
            for (id, point) in self.group.take().into_iter().flatten() {
                self.points.extend(point.map(|point| (id, point)));
            }
        }
    }
}

fn changes_files(edit: &VersionEdit) -> bool {
    !(edit.deleted_files.is_empty()
        && edit.new_files.is_empty()
        && edit.blob_file_additions.is_empty()
        && edit.blob_file_garbages.is_empty())
}

impl FamilyFiles {
    fn apply(&mut self, edit: &VersionEdit, is_in_group: bool, presence: &mut Presence<'_>) -> Result<()> {
        self.is_of_group |= is_in_group;
        for addition in &edit.blob_file_additions {
            let metadata = BlobFileMetadata::new(addition.clone());
            let names = [file_name::blob(addition.number)];
            let is_missing = !presence.has(self.paths.directory(0), &names, metadata.file_size_bytes())?;
            self.blobs.insert(addition.number, Blob { is_missing, metadata });
        }
        for garbage in &edit.blob_file_garbages {
            if let Some(blob) = self.blobs.get_mut(&garbage.number) {
                blob.metadata.add_garbage(garbage)?;
            }
        }
        for deleted in &edit.deleted_files {
            self.tables.remove(&deleted.number);
            self.missing.remove(&deleted.number);
        }
        for file in &edit.new_files {
            let names = [file_name::table(file.number), file_name::legacy_table(file.number)];
            let is_missing = !presence.has(self.paths.directory(file.path_id), &names, file.size_bytes)?;
            if is_missing {
                self.missing.insert(file.number);
            }
            let table = Table {
                level: file.level,
                is_missing,
                oldest_blob: file.oldest_blob_file_number,
                age: (file.largest_seqno, file.smallest_seqno, file.number),
            };
            self.tables.insert(file.number, table);
        }
        self.whole = self.left_out();
        Ok(())
    }

    /// What is left out of the files to make them whole; `None` when they are not.
    fn left_out(&self) -> Option<VersionEdit> {
        let mut left_out = VersionEdit::for_column_family(self.id);
        if !self.missing.is_empty() {
            if self.is_of_group {
                return None;
            }
            let level_0 = self.tables.values().filter(|table| table.level == 0);
            let newest_there = level_0.filter(|table| !table.is_missing).map(|table| table.age).max();
            for &number in &self.missing {
                let table = self.tables.get(&number)?;
                if table.level > 0 || newest_there.is_some_and(|there| table.age < there) {
                    return None;
                }
                left_out.deleted_files.push(DeletedFile { level: 0, number });
            }
        }
        let (missing, there): (Vec<&Table>, Vec<&Table>) = self.tables.values().partition(|table| table.is_missing);
        let oldest_needed = there.iter().filter_map(|table| table.oldest_blob).min();
        for (&number, blob) in self.blobs.iter().filter(|(_, blob)| blob.is_missing) {
            let is_of = |table: &&Table| table.oldest_blob == Some(number);
            let is_of_missing_alone = missing.iter().any(is_of) && !there.iter().any(is_of);
            // It has left the version.
            let has_left = blob.metadata.is_all_garbage() && !there.iter().any(is_of);
            if !is_of_missing_alone && !has_left && oldest_needed.is_some_and(|oldest| number >= oldest) {
                return None;
            }
            // A blob file leaves a version when all of it is garbage.
            let left = BlobFileGarbage {
                number,
                garbage_blob_count: blob.metadata.addition.total_blob_count - blob.metadata.garbage_blob_count,
                garbage_blob_bytes: blob.metadata.addition.total_blob_bytes - blob.metadata.garbage_blob_bytes,
            };
            left_out.blob_file_garbages.extend((left.garbage_blob_count > 0).then_some(left));
        }
        Some(left_out)
    }
}

/// Which files there are; each directory is listed once.
struct Presence<'a> {
    file_system: &'a dyn FileSystem,
    listings: BTreeMap<PathBuf, BTreeSet<String>>,
}

impl Presence<'_> {
    /// True when the directory has a file of one of these names with this size.
    fn has(&mut self, directory: &Path, names: &[String], size_bytes: u64) -> Result<bool> {
        if !self.listings.contains_key(directory) {
            let names = match self.file_system.children(directory) {
                Err(error) if error.is_not_found() => Vec::new(),
                names => names?,
            };
            self.listings.insert(directory.to_path_buf(), names.into_iter().collect());
        }
        let Some(listing) = self.listings.get(directory) else { return Ok(false) };
        let Some(name) = names.iter().find(|name| listing.contains(*name)) else { return Ok(false) };
        match self.file_system.file_size(&directory.join(name)) {
            Err(error) if error.is_not_found() => Ok(false),
            size => Ok(size? == size_bytes),
        }
    }
}
