//! Blob files that logs refer to and no MANIFEST has.
//!
//! ```text
//! replay    each value that a log refers to in such a file is read: one that is not whole ends the log
//! tables    what the logs held, at once, whatever avoid_flush_during_recovery says
//! files     those that the tables refer to are completed (a writer that crashed left no footer)
//! MANIFEST  the edit that adds the tables adds these files; what the tables do not refer to in them is garbage
//! after it  files that nothing refers to go
//! ```
//!
//! A writer that appends values to blob files as it writes ([`direct_writes`](super::direct_writes), as RocksDB's)
//! tells the MANIFEST of a file when it flushes. One that crashes before has left the references in its log alone. A
//! crash between two of these steps leaves what the next recovery can begin with.
//!
//! A file of a memtable is newer than the log that the memtable began with. So a reference to an older one that is
//! missing is not what a crash took: a caller made it (`put_blob_index_cf`), or it expires, and its reader gets to
//! know.
//!
//! A file that nothing refers to stays if it has no footer and a table may refer to it: of a table the MANIFEST has the
//! oldest blob file alone, and releases before direct writes left such files as they were. Those newer than the logs of
//! all families are in no table, for a table comes with the record of its files.

use super::{DbCore, file_checksums};
use crate::column_family::ColumnFamilyData;
use ferrock_base::{Error, FileNumber, Result, ValueType};
use ferrock_format::blob_file::{BLOB_FILE_FOOTER_SIZE, BLOB_FILE_HEADER_SIZE};
use ferrock_format::blob_index::{BlobIndex, BlobReference};
use ferrock_format::file_name::{self, FileKind};
use ferrock_format::version_edit::{BlobFileAddition, VersionEdit};
use ferrock_table::ReadTier;
use ferrock_tree::blob::{BlobFlow, BlobSource, BlobView, FetchBlob, closed_file, complete_file, for_each_reference};
use ferrock_vfs::ReadContext;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Reads the values that logs refer to in files that no version has.
pub(crate) struct LoggedValues<'a> {
    pub(super) source: &'a BlobSource,
    /// A file that is missing is no loss, but what a writer in another process did meanwhile: the open begins anew.
    pub(super) missing_is_error: bool,
}

/// What became of the values of a batch.
pub(super) enum Values {
    Whole,
    /// One is not there, or not whole.
    Lost(Error),
}

impl LoggedValues<'_> {
    /// Looks at the values of an entry that a log has, of a family whose memtables begin behind log `begun`. `ends`
    /// gets how far the references into each file reach.
    ///
    /// # Errors
    /// Those of reading that say nothing about the values.
    pub(super) fn check(
        &self,
        (data, begun): (&ColumnFamilyData, FileNumber),
        value_type: ValueType,
        key: &[u8],
        value: &[u8],
        ends: &mut BTreeMap<FileNumber, u64>,
    ) -> Result<Values> {
        let mut references = Vec::new();
        let mut note = |reference: &BlobReference| {
            references.push(*reference);
            Ok(())
        };
        // Entities may have references; of the other values those that do not expire.
        let may_be_direct = value_type != ValueType::BlobIndex
            || matches!(BlobIndex::decode(value), Ok(BlobIndex::Reference { expiration_secs: None, .. }));
        if !may_be_direct || for_each_reference(value_type, value, &mut note).is_err() {
            // The reader of the key gets to know.
            return Ok(Values::Whole);
        }
        let version = &data.super_version.load().version;
        for reference in references {
            if reference.file_number <= begun || version.blob_files().contains_key(&reference.file_number) {
                continue;
            }
            let view = BlobView {
                source: self.source,
                version,
                column_family_id: data.id,
                cache: None,
                fill_cache: false,
                verify_checksums: true,
                read_tier: ReadTier::All,
                context: ReadContext::default(),
            };
            let file = view.file(&reference);
            let read = match file {
                Err(error) if error.is_not_found() && self.missing_is_error => return Err(error),
                Err(error) => Err(view.explain(&reference, error)),
                Ok(_) => view.fetch(key, &reference.encode()).map(|_| ()),
            };
            match read {
                Err(error) if error.is_corruption() => return Ok(Values::Lost(error)),
                outcome => outcome?,
            }
            let end = reference.offset.saturating_add(reference.size_bytes);
            let known = ends.entry(reference.file_number).or_default();
            *known = end.max(*known);
        }
        Ok(Values::Whole)
    }
}

/// What recovery gathers.
#[derive(Debug, Default)]
pub(super) struct LogBlobs {
    /// Files that no version has, with their directories. With a record for the MANIFEST where they are complete.
    unknown: BTreeMap<FileNumber, (PathBuf, Option<BlobFileAddition>)>,
    /// References that went from the logs into tables, by family.
    written: BTreeMap<u32, BlobFlow>,
    /// Files that the edits add.
    added: BTreeSet<FileNumber>,
    /// The oldest blob file that each table refers to which was there before the logs were read, and the table.
    tables: Vec<(FileNumber, FileNumber)>,
    /// The newest log that a family begins with.
    newest_begun: FileNumber,
}

impl LogBlobs {
    /// True when there may be a file that only the logs keep.
    pub(super) fn is_any_needed(&self, ends: &BTreeMap<FileNumber, u64>) -> bool {
        !ends.is_empty() || self.unknown.values().any(|(_, closed)| closed.is_some())
    }

    /// Counts the references of a table made from a log.
    pub(super) fn add_written(&mut self, family: u32, flow: &BlobFlow) {
        self.written.entry(family).or_default().absorb(flow);
    }

    /// Adds the files of the edit's family to the edit, completed; what no table refers to in them is garbage from the
    /// start.
    ///
    /// # Errors
    /// Of the file system.
    pub(super) fn add_files(
        &mut self,
        core: &DbCore,
        ends: &BTreeMap<FileNumber, u64>,
        edit: &mut VersionEdit,
    ) -> Result<()> {
        let Some(written) = self.written.get(&edit.column_family) else { return Ok(()) };
        for (number, (directory, closed)) in &self.unknown {
            let of_any_size = BlobFileAddition { number: *number, ..BlobFileAddition::default() };
            if written.adopt(&of_any_size).is_none() {
                continue;
            }
            let end = ends.get(number).copied().unwrap_or_default();
            // A value at the end of a file may look like a footer.
            let records_end =
                |file: &BlobFileAddition| file.total_blob_bytes.saturating_add(BLOB_FILE_HEADER_SIZE as u64);
            let complete = match closed.clone().filter(|file| end <= records_end(file)) {
                Some(complete) => complete,
                None => complete_file(&*core.env.file_system, directory, *number, edit.column_family, end)?,
            };
            let path = directory.join(file_name::blob(*number));
            let complete = complete.with_checksum(file_checksums::checksum_of(core, &path)?);
            core.reads.blob_source().evict(*number);
            let Some((addition, garbage)) = written.adopt(&complete) else { continue };
            let size = complete.total_blob_bytes + (BLOB_FILE_HEADER_SIZE + BLOB_FILE_FOOTER_SIZE) as u64;
            core.files.deletion().count(path, size);
            edit.blob_file_additions.push(addition);
            edit.blob_file_garbages.extend(garbage);
            self.added.insert(*number);
        }
        Ok(())
    }

    /// Removes what nothing refers to. The edits were applied; where logs are kept, nothing goes. Complete files are
    /// left to the clean-up.
    pub(super) fn remove_unused(&self, core: &DbCore, are_logs_kept: bool) {
        if are_logs_kept {
            return;
        }
        for (number, (directory, closed)) in &self.unknown {
            let may_be_named = *number <= self.newest_begun
                && self.tables.iter().any(|(oldest, table)| oldest <= number && number < table);
            if closed.is_none() && !self.added.contains(number) && !may_be_named {
                core.files.remove_orphan(directory, *number);
            }
        }
    }
}

/// Looks for blob files that no version has, and takes note of the numbers of all files.
pub(super) fn find_log_blobs(core: &DbCore) -> Result<LogBlobs> {
    let known = core.versions.live_files().blob_files;
    let mut found = LogBlobs::default();
    for view in core.versions.families() {
        found.newest_begun = found.newest_begun.max(view.log_number);
        let files = view.current.files();
        found.tables.extend(files.filter_map(|(_, file)| Some((file.oldest_blob_file_number?, file.number))));
    }
    for directory in core.files.places().table_directories() {
        let names = core.env.file_system.children(&directory)?;
        let names: Vec<_> = names.iter().filter_map(|name| file_name::parse(name)).collect();
        // Of these directories the version set knows but that of the database: the number of a file that no version
        // has must not be given out again, or two files would be one.
        for name in names.iter().filter(|name| name.kind.uses_file_number()) {
            core.versions.mark_file_number_used(name.number);
        }
        let blobs = names.iter().filter(|name| name.kind == FileKind::Blob).map(|name| name.number);
        for number in blobs.filter(|number| !known.contains(number)) {
            let closed = closed_file(&*core.env.file_system, &directory, number);
            found.unknown.insert(number, (directory.clone(), closed));
        }
    }
    Ok(found)
}
