//! Blob files that logs refer to and no MANIFEST has.
//!
//! A writer that appends values to blob files as it writes tells the MANIFEST of a file when it flushes. One that
//! crashes before has left the references in its log, and:
//!
//! - a file without footer: it is read as it is and never deleted (see `obsolete.rs`);
//! - a file that it had closed already: to the clean-up after the open it looks like what a failed flush left behind,
//!   and of the files that a table refers to the MANIFEST names only the oldest. So recovery brings the references into
//!   tables at once, whatever `avoid_flush_during_recovery` says, and the edit that adds the tables adds the files.

use super::DbCore;
use ferrock_base::{FileNumber, Result};
use ferrock_format::file_name::{self, FileKind};
use ferrock_format::version_edit::{BlobFileAddition, VersionEdit};
use ferrock_tree::blob::{BlobFlow, closed_file};
use std::collections::BTreeMap;

/// What recovery gathers.
#[derive(Debug, Default)]
pub(super) struct LogBlobs {
    /// Closed files that no version has.
    closed: BTreeMap<FileNumber, BlobFileAddition>,
    /// References that went from the logs into tables, by family.
    written: BTreeMap<u32, BlobFlow>,
}

impl LogBlobs {
    /// True when there may be a file that only the logs keep.
    pub(super) fn is_any_closed(&self) -> bool {
        !self.closed.is_empty()
    }

    /// Counts the references of a table made from a log.
    pub(super) fn add_written(&mut self, family: u32, flow: &BlobFlow) {
        self.written.entry(family).or_default().absorb(flow);
    }

    /// Adds the files of the edit's family to the edit; what no table refers to in them is garbage from the start.
    pub(super) fn complete(&self, edit: &mut VersionEdit) {
        let Some(written) = self.written.get(&edit.column_family) else { return };
        for (addition, garbage) in self.closed.values().filter_map(|file| written.adopt(file)) {
            edit.blob_file_additions.push(addition);
            edit.blob_file_garbages.extend(garbage);
        }
    }
}

/// Looks for closed blob files that no version has, and takes note of the numbers of all files.
pub(super) fn find_log_blobs(core: &DbCore) -> Result<LogBlobs> {
    let known = core.versions.live_files().blob_files;
    let mut found = LogBlobs::default();
    for directory in core.files.places().table_directories() {
        let names = core.env.file_system.children(&directory)?;
        let names: Vec<_> = names.iter().filter_map(|name| file_name::parse(name)).collect();
        // Of these directories the version set knows but that of the database: the number of a file that no version
        // has must not be given out again, or two files would be one.
        for name in names.iter().filter(|name| name.kind.uses_file_number()) {
            core.versions.mark_file_number_used(name.number);
        }
        let blobs = names.iter().filter(|name| name.kind == FileKind::Blob).map(|name| name.number);
        let closed = blobs
            .filter(|number| !known.contains(number))
            .filter_map(|number| closed_file(&*core.env.file_system, &directory, number));
        found.closed.extend(closed.map(|file| (file.number, file)));
    }
    Ok(found)
}
