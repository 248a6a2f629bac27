//! The steps of a repair.
//!
//! ```text
//! 1 LOCK                              in place only: no other process has the database open
//! 2 examine
//! 3 write tables, mend blob files     under new numbers; a mended blob file replaces the old one by a rename
//! 4 write MANIFEST-N, IDENTITY        N is larger than every number; both are synced
//! 5 link into lost/                   what the database does not need any more
//! 6 CURRENT -> MANIFEST-N             by a rename: from here on the database is repaired
//! 7 remove what was linked
//! ```
//!
//! A crash before 6 leaves every file that was there, and some more, which the next repair tells apart; one behind it
//! leaves a repaired database with files that it does not need, which the next open removes: they are in `lost/`.
//!
//! Into a copy: the same, with all that is kept copied into a new directory first; the source is only read. A copy that
//! was cut short before 6 has no CURRENT, so no open takes it for a database, and no repair writes into it.

use crate::examine::{Examination, ExaminationProgress};
use crate::facts::{Facts, FamilyFacts, TableFacts};
use crate::refusals::refuse;
use crate::report::Report;
use crate::salvage::{Salvage, largest_sequence};
use ferrock_base::file_checksum::{FileChecksum, generator_for};
use ferrock_base::random::Random;
use ferrock_base::{Error, FileNumber, Result, SequenceNumber};
use ferrock_engine::{ColumnFamilyDescriptor, ColumnFamilyOptions, DbOptions};
use ferrock_format::blob_file::BLOB_FILE_HEADER_SIZE;
use ferrock_format::log::{HeaderFamily, LogWriter};
use ferrock_format::unique_id::UniqueId;
use ferrock_format::version_edit::{BlobFileAddition, BlobFileGarbage, ColumnFamilyChange, NewFile, VersionEdit};
use ferrock_format::{current_file, file_name};
use ferrock_tree::places::create_directory;
use ferrock_vfs::{FileSystem, WritableOptions, copy_file, read_file, sum_of_file, write_file_atomically};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Directory, in that of the database, of what a repair has replaced.
const LOST: &str = "lost";

/// Mends a database: salvages what is intact and writes a new MANIFEST.
///
/// Where data is lost, older versions of the same keys, and keys that the lost data had deleted, may become visible
/// again. [`Examination`] tells before what is kept and what is lost.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let (path, copy) = (directory.path().join("db"), directory.path().join("copy"));
/// let mut options = ferrock::DbOptions::default();
/// options.create_if_missing = true;
/// ferrock::Db::open(&path, options)?.put(b"key", b"value")?;
/// // The damaged database stays as it is.
/// let report = ferrock::repair::Repair::new(ferrock::DbOptions::default()).into_copy(&copy).run(&path)?;
/// assert_eq!(report.entries_from_logs, 1);
/// let db = ferrock::Db::open(&copy, ferrock::DbOptions::default())?;
/// assert_eq!(db.get(b"key")?.as_deref(), Some(&b"value"[..]));
/// # Ok::<(), ferrock::Error>(())
/// ```
#[derive(Debug)]
pub struct Repair<'a> {
    /// Which looks at the database first.
    examination: Examination<'a>,
    copy: Option<PathBuf>,
}

/// What a repair did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairReport {
    /// What was found before.
    pub found: Report,
    /// Tables that the database has now.
    pub tables: u64,
    /// Those among them that the repair wrote.
    pub tables_written: u64,
    /// Entries in these tables, with range deletions.
    pub entries: u64,
    /// Entries of logs that are in these tables now.
    pub entries_from_logs: u64,
    /// The last sequence number.
    pub last_sequence: SequenceNumber,
    /// Names of the files that went to `lost/`.
    pub moved: Vec<String>,
}

impl<'a> Repair<'a> {
    /// With the options of [`Examination::new`].
    #[must_use]
    pub fn new(options: DbOptions) -> Self {
        Self { examination: Examination::new(options), copy: None }
    }

    /// As [`Examination::families`].
    #[must_use]
    pub fn families(mut self, families: Vec<ColumnFamilyDescriptor>) -> Self {
        self.examination = self.examination.families(families);
        self
    }

    /// As [`Examination::unknown_families`].
    #[must_use]
    pub fn unknown_families(mut self, options: ColumnFamilyOptions) -> Self {
        self.examination = self.examination.unknown_families(options);
        self
    }

    /// As [`Examination::progress`], while the database is looked at.
    #[must_use]
    pub fn progress(mut self, progress: &'a mut dyn FnMut(ExaminationProgress)) -> Self {
        self.examination = self.examination.progress(progress);
        self
    }

    /// Makes a repaired copy in a directory that does not exist, and leaves the source as it is.
    #[must_use]
    pub fn into_copy(mut self, directory: impl AsRef<Path>) -> Self {
        self.copy = Some(directory.as_ref().to_path_buf());
        self
    }

    /// Repairs the database in `directory`.
    ///
    /// # Errors
    /// `Busy` when a process has it open; `InvalidArgument` when there is nothing to repair, when a comparator is not
    /// known, or when the directory of the copy exists; `NotSupported` when a file has a feature that this build cannot
    /// read (nothing was changed); `Io` or `NoSpace` of a file operation: run it again.
    pub fn run(self, directory: impl AsRef<Path>) -> Result<RepairReport> {
        let directory = directory.as_ref();
        let files = self.examination.file_system();
        let lock = match &self.copy {
            None => Some(files.lock_file(&directory.join(file_name::LOCK))?),
            Some(copy) => {
                refuse_target(&*files, copy)?;
                None
            }
        };
        let facts = self.examination.facts(directory)?;
        refuse(&facts)?;
        let outcome = Job { facts: &facts, files: &*files, copy: self.copy.as_deref(), moved: Vec::new() }.run();
        drop(lock);
        outcome
    }
}

/// Refuses to write a copy over anything, and tells what a copy that was cut short looks like.
fn refuse_target(files: &dyn FileSystem, copy: &Path) -> Result<()> {
    if !files.exists(copy)? {
        return Ok(());
    }
    let what = match files.exists(&copy.join(file_name::CURRENT))? {
        true => "a repaired copy: the directory exists; name one that does not",
        false => {
            "a repaired copy: the directory exists and has no CURRENT, as a copy that was cut short has none: if it is \
             one, remove it and run the repair again; or name a directory that does not exist"
        }
    };
    Err(Error::invalid_argument(what).in_file(copy))
}

struct Job<'a> {
    facts: &'a Facts,
    files: &'a dyn FileSystem,
    copy: Option<&'a Path>,
    moved: Vec<String>,
}

impl Job<'_> {
    fn target(&self) -> &Path {
        self.copy.unwrap_or(&self.facts.subject.directory)
    }

    fn run(mut self) -> Result<RepairReport> {
        let db_id = self.facts.report.db_id.clone().unwrap_or_else(|| {
            let mut random = Random::from_entropy();
            current_file::identity_from_random(random.next_u64(), random.next_u64())
        });
        match (self.copy, self.facts.unnamed_manifest) {
            (Some(copy), _) => create_directory(self.files, copy)?,
            // Beside the MANIFEST of this repair it would not be the only one any more, and would count for less where
            // the repair is cut short.
            (None, Some(manifest)) => self.name_manifest(manifest)?,
            (None, None) => {}
        }
        let next = self.facts.subject.next_file_number().max(self.facts.tree.next_file_number);
        let mut salvage = Salvage::new(self.facts, self.copy, next, &db_id);
        let mut families = salvage.run()?;
        self.bring_kept(&mut families)?;
        self.mend_blobs(&families)?;
        let manifest = salvage.new_number();
        let last_sequence = self.facts.last_sequence.max(largest_sequence(&families));
        let next_file_number = salvage.new_number();
        let records = self.records(&families, &db_id, next_file_number, last_sequence);
        self.write_manifest(manifest, &records)?;
        if self.copy.is_some() || !self.facts.has_identity {
            let temporary = self.target().join(file_name::temp(FileNumber(0)));
            let path = self.target().join(file_name::IDENTITY);
            write_file_atomically(self.files, &path, &temporary, db_id.as_bytes())?;
        }
        let leaving = if self.copy.is_none() { self.leaving(&families) } else { Vec::new() };
        self.link(&leaving)?;
        for directory in self.facts.subject.other_directories().iter().filter(|_| self.copy.is_none()) {
            self.files.sync_dir(directory)?;
        }
        self.files.sync_dir(self.target())?;
        self.name_manifest(manifest)?;
        for path in leaving.iter().chain(&salvage.superseded) {
            self.files.remove_file(path)?;
        }
        let tables: Vec<&TableFacts> = families.values().flat_map(|family| &family.tables).collect();
        let is_written = |table: &&&TableFacts| !self.facts.subject.tables.contains_key(&table.number);
        Ok(RepairReport {
            found: self.facts.report.clone(),
            tables: tables.len() as u64,
            tables_written: tables.iter().filter(is_written).count() as u64,
            entries: tables.iter().map(|table| table.span.entries).sum(),
            entries_from_logs: salvage.log_entries,
            last_sequence,
            moved: self.moved,
        })
    }

    fn name_manifest(&self, manifest: FileNumber) -> Result<()> {
        let current = self.target().join(file_name::CURRENT);
        let temporary = self.target().join(file_name::temp(manifest));
        write_file_atomically(self.files, &current, &temporary, &current_file::encode_current(manifest))
    }

    /// Copies what is kept as it is into the directory of the copy.
    fn bring_kept(&self, families: &mut BTreeMap<u32, FamilyFacts>) -> Result<()> {
        let Some(copy) = self.copy else { return Ok(()) };
        let mut kept = BTreeSet::new();
        for table in families.values_mut().flat_map(|family| &mut family.tables) {
            kept.extend(table.references.keys().copied());
            if let Some(recorded) = &mut table.recorded {
                recorded.path_id = 0;
            }
            if !table.present.path.starts_with(copy) {
                let target = copy.join(file_name::table(table.number));
                self.copy_one(&table.present.path, &target)?;
                table.present.path = target;
            }
        }
        for number in kept {
            if let Some(present) = self.facts.subject.blobs.get(&number) {
                let target = copy.join(file_name::blob(number));
                self.copy_one(&present.path, &target)?;
            }
        }
        let subject = &self.facts.subject;
        if let Some((number, present)) = subject.options.iter().next_back()
            && subject.options_error.is_none()
            && subject.other_directories().is_empty()
        {
            let target = copy.join(file_name::options(*number));
            self.copy_one(&present.path, &target)?;
        }
        Ok(())
    }

    fn copy_one(&self, from: &Path, to: &Path) -> Result<()> {
        copy_file((self.files, from), (self.files, to), None, &WritableOptions::default()).map(|_| ())
    }

    /// Gives headers and footers to blob files that are needed and whose own are damaged.
    fn mend_blobs(&mut self, families: &BTreeMap<u32, FamilyFacts>) -> Result<()> {
        let tables = families.iter().flat_map(|(id, family)| family.tables.iter().map(move |table| (*id, table)));
        let needed: BTreeMap<FileNumber, u32> =
            tables.flat_map(|(id, table)| table.references.keys().map(move |number| (*number, id))).collect();
        for (number, family) in needed {
            let facts = self.facts.blobs.get(&number).filter(|facts| facts.needs_mending(family));
            let (Some(facts), Some(present)) = (facts, self.facts.subject.blobs.get(&number)) else { continue };
            let bytes = facts.mended(read_file(self.files, &present.path)?, family);
            let path = match self.copy {
                Some(copy) => copy.join(file_name::blob(number)),
                None => {
                    self.link(std::slice::from_ref(&present.path))?;
                    present.path.clone()
                }
            };
            write_file_atomically(self.files, &path, &path.with_file_name(file_name::temp(number)), &bytes)?;
        }
        Ok(())
    }

    fn records(
        &self,
        families: &BTreeMap<u32, FamilyFacts>,
        db_id: &str,
        next_file_number: FileNumber,
        last_sequence: SequenceNumber,
    ) -> Vec<VersionEdit> {
        let mut records = vec![VersionEdit { db_id: Some(db_id.to_owned()), ..VersionEdit::default() }];
        let largest_family = families.keys().next_back().copied().unwrap_or(0);
        for (id, facts) in families {
            let family = &facts.family;
            records.push(VersionEdit {
                comparator: Some(facts.order.user().name().to_owned()),
                persist_user_defined_timestamps: Some(family.persist_user_defined_timestamps.unwrap_or(true)),
                column_family_change: (*id != 0).then(|| ColumnFamilyChange::Add(family.name.clone())),
                ..VersionEdit::for_column_family(*id)
            });
            let (blob_file_additions, blob_file_garbages) = self.blob_records(facts);
            records.push(VersionEdit {
                new_files: new_files(facts, &|path| self.checksum_of(path)),
                blob_file_additions,
                blob_file_garbages,
                log_number: Some(next_file_number),
                prev_log_number: Some(FileNumber(0)),
                min_log_number_to_keep: (*id == 0).then_some(next_file_number),
                next_file_number: Some(FileNumber(next_file_number.0 + 1)),
                max_column_family: (*id == 0).then_some(self.facts.tree.max_column_family.max(largest_family)),
                full_history_ts_low: family.full_history_ts_low.clone(),
                last_sequence: Some(last_sequence),
                ..VersionEdit::for_column_family(*id)
            });
        }
        records
    }

    /// The checksum of a file that stays, or was written, and that the MANIFEST said none of; `None` where the database
    /// makes none, or the file cannot be read, which its next reader tells.
    fn checksum_of(&self, path: &Path) -> Option<FileChecksum> {
        let subject = &self.facts.subject;
        let generator = generator_for(subject.db.components.file_checksum_gen_factory.as_ref(), path)?;
        sum_of_file(&*subject.files, path, generator, &|_| Ok(())).ok()
    }

    /// Where a blob file is that the repaired database has.
    fn place_of_blob(&self, number: FileNumber) -> Option<PathBuf> {
        match self.copy {
            Some(copy) => Some(copy.join(file_name::blob(number))),
            None => self.facts.subject.blobs.get(&number).map(|present| present.path.clone()),
        }
    }

    /// The blob files that the tables of a family refer to; what they do not refer to is garbage.
    fn blob_records(&self, family: &FamilyFacts) -> (Vec<BlobFileAddition>, Vec<BlobFileGarbage>) {
        let mut referenced: BTreeMap<FileNumber, (u64, u64)> = BTreeMap::new();
        for (number, (count, bytes)) in family.tables.iter().flat_map(|table| &table.references) {
            let sum = referenced.entry(*number).or_default();
            (sum.0, sum.1) = (sum.0 + count, sum.1 + bytes);
        }
        let (mut additions, mut garbages) = (Vec::new(), Vec::new());
        for (number, (count, bytes)) in referenced {
            let Some(facts) = self.facts.blobs.get(&number) else { continue };
            let recorded = family.family.blobs.get(&number).map(|blob| blob.addition.clone());
            let addition = match recorded.filter(|_| facts.findings.is_empty()) {
                Some(addition) => addition,
                None => BlobFileAddition {
                    number,
                    total_blob_count: facts.count(),
                    total_blob_bytes: facts.records_end - BLOB_FILE_HEADER_SIZE as u64,
                    ..BlobFileAddition::default()
                },
            };
            let checksum = addition.checksum().or_else(|| self.checksum_of(&self.place_of_blob(number)?));
            let addition = addition.with_checksum(checksum);
            let garbage = BlobFileGarbage {
                number,
                garbage_blob_count: addition.total_blob_count.saturating_sub(count),
                garbage_blob_bytes: addition.total_blob_bytes.saturating_sub(bytes),
            };
            if garbage.garbage_blob_count > 0 {
                garbages.push(garbage);
            }
            additions.push(addition);
        }
        (additions, garbages)
    }

    fn write_manifest(&self, number: FileNumber, records: &[VersionEdit]) -> Result<()> {
        let (mut writer, mut bytes) = (LogWriter::new(FileNumber(0), HeaderFamily::Legacy), Vec::new());
        for record in records {
            writer.encode_record(&[&record.encode()], &mut bytes);
        }
        // Never in parts under its name: a repair that fails here must not leave a MANIFEST that the next one trusts.
        let (path, temporary) = (file_name::manifest(number), file_name::temp(number));
        write_file_atomically(self.files, &self.target().join(path), &self.target().join(temporary), &bytes)
    }

    /// Files that the repaired database does not need.
    fn leaving(&self, families: &BTreeMap<u32, FamilyFacts>) -> Vec<PathBuf> {
        let subject = &self.facts.subject;
        let kept: BTreeSet<_> = families.values().flat_map(|family| &family.tables).map(|table| table.number).collect();
        let blobs = referenced(families);
        let tables = subject.tables.iter().filter(|(number, _)| !kept.contains(number));
        let unreferenced = subject.blobs.iter().filter(|(number, _)| !blobs.contains(number));
        let files = tables.chain(unreferenced).chain(&subject.logs).chain(&subject.manifests);
        files.map(|(_, present)| present.path.clone()).collect()
    }

    /// Gives files a second name in `lost/`, or copies them where that cannot be.
    fn link(&mut self, paths: &[PathBuf]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let lost = self.target().join(LOST);
        self.files.create_dir_all(&lost)?;
        self.files.sync_dir(self.target())?;
        for path in paths {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let mut target = lost.join(&name);
            let mut attempt = 0;
            while self.files.exists(&target)? {
                attempt += 1;
                target = lost.join(format!("{name}.{attempt}"));
            }
            if self.files.hard_link(path, &target).is_err() {
                self.copy_one(path, &target)?;
            }
            self.moved.push(name);
        }
        self.files.sync_dir(&lost)
    }
}

/// Blob files that tables refer to.
fn referenced(families: &BTreeMap<u32, FamilyFacts>) -> BTreeSet<FileNumber> {
    let tables = families.values().flat_map(|family| &family.tables);
    tables.flat_map(|table| table.references.keys().copied()).collect()
}

/// The records of a family's tables.
fn new_files(family: &FamilyFacts, checksum_of: &dyn Fn(&Path) -> Option<FileChecksum>) -> Vec<NewFile> {
    let mut tables: Vec<&TableFacts> = family.tables.iter().collect();
    tables.sort_by_key(|table| (table.span.sequences.map(|(_, largest)| largest), table.number));
    let recorded = || tables.iter().filter_map(|table| table.recorded.as_ref()).filter(|_| family.trusts_levels);
    let has_epochs = recorded().all(|table| table.epoch_number.is_some());
    let mut epoch = recorded().filter_map(|table| table.epoch_number).max().unwrap_or(0);
    let mut files = Vec::with_capacity(tables.len());
    for table in &tables {
        let Some((smallest, largest)) = table.span.keys.clone() else { continue };
        let (smallest_seqno, largest_seqno) = table.span.sequences.unwrap_or_default();
        let unique_id = UniqueId::from_properties(&table.properties).ok().map(|id| [id.words[0], id.words[1]]);
        let mut file = match table.recorded.clone().filter(|_| family.trusts_levels) {
            // Boundaries stay: range tombstones are cut there.
            Some(recorded) => {
                NewFile { checksum: recorded.checksum.clone().filter(|_| recorded.number == table.number), ..recorded }
            }
            None => {
                epoch += 1;
                NewFile {
                    smallest,
                    largest,
                    smallest_seqno,
                    largest_seqno,
                    epoch_number: has_epochs.then_some(epoch),
                    oldest_ancester_time_secs: table.properties.creation_time,
                    file_creation_time_secs: table.properties.file_creation_time,
                    path_id: table.recorded.as_ref().map_or(0, |recorded| recorded.path_id),
                    ..NewFile::default()
                }
            }
        };
        if file.number != table.number {
            (file.number, file.size_bytes, file.tail_size_bytes) = (table.number, table.present.size_bytes, 0);
            file.unique_id = unique_id;
            file.path_id = 0;
        }
        file.oldest_blob_file_number = table.references.keys().next().copied();
        file.checksum = file.recorded_checksum().or_else(|| checksum_of(&table.present.path));
        files.push(file);
    }
    files
}
