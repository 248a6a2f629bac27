//! Opening for reading, also beside a process that writes.
//!
//! ```text
//! CURRENT -> MANIFEST -> logs are opened -> CURRENT and MANIFEST again -> tables -> logs are read
//! ```
//!
//! The writer removes a log, or a table, once its MANIFEST says that nothing needs it. Where that happens between the
//! look at the MANIFEST and the look for the file, a table is missing, which is an error, or a log is, which can look
//! like the end of what was written. A log that is open can be read whatever happens to its name. So the logs are
//! opened first, and then the MANIFEST is looked at again: the open begins anew when a log that it needed may have
//! been gone, and when something is missing later while the MANIFEST changed. A MANIFEST that grew alone is no
//! reason: beside a busy writer that would never end. But what it says behind the records of the logs may be of
//! families that came or went, or of tables that no log had: with later batches and without these, the database would
//! be in no state that the writer had.
//!
//! Tried and lost: to look again only behind the tables and the logs' records. Beside a writer that flushed more often
//! than such an open takes, no open was ever good.

use super::{DbCore, Opener, best_efforts, logs};
use crate::column_family::ColumnFamily;
use crate::db::open;
use crate::db::recovery::Tailing;
use crate::db::tracked_logs;
use crate::info_log::InfoLog;
use crate::spans;
use ferrock_base::{Error, ErrorKind, FileNumber, Result, SequenceNumber};
use ferrock_format::file_name;
use ferrock_format::version_edit::VersionEdit;
use ferrock_tree::version::version_set::{ManifestReader, RecoverMode, read_current};
use std::cell::Cell;
use std::sync::Arc;

/// For how long an open begins anew, and how often at least and at most. A writer that works off what has gathered
/// flushes several hundred times a second, for seconds.
pub(super) const PATIENCE_US: u64 = 10_000_000;
pub(super) const LEAST_ATTEMPTS: usize = 50;
pub(super) const MOST_ATTEMPTS: usize = 10_000;

/// How often an open begins anew for numbers that are in no log. A writer that does not log all it writes leaves them,
/// too.
const ATTEMPTS_AT_GAP: usize = 20;

const CHANGES_TOO_FAST: &str = "another process changes the database too fast for a read-only open; try again";

impl Opener {
    pub(super) fn open_read_only(self) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
        let _span = spans::open(&self.path);
        best_efforts::refuse(self.options.best_efforts_recovery)?;
        let names: Vec<String> = self.families.iter().map(|(name, _)| name.clone()).collect();
        let clock = self.options.components.clock();
        let begin_us = clock.monotonic_us();
        let (mut failure, mut is_nobody_there) = (None, false);
        for attempt in 0..MOST_ATTEMPTS {
            if attempt >= LEAST_ATTEMPTS && clock.monotonic_us().saturating_sub(begin_us) > PATIENCE_US {
                break;
            }
            let before = self.manifest_in_use();
            match self.clone().read_everything(before.as_ref().ok(), !is_nobody_there, attempt < ATTEMPTS_AT_GAP) {
                Ok(Some(core)) => return open::handles(core, names),
                Ok(None) => {}
                Err(error) => match (before, self.manifest_in_use()) {
                    // Without a writer a blob file that is missing is what a crash took.
                    (Ok(before), Ok(after)) if before == after && error.is_not_found() && !is_nobody_there => {
                        is_nobody_there = true;
                    }
                    (Ok(before), Ok(after)) if before == after => return Err(error),
                    _ => failure = Some(error),
                },
            }
        }
        Err(failure
            .map_or_else(|| Error::new(ErrorKind::Busy, CHANGES_TOO_FAST), |error| error.context(CHANGES_TOO_FAST)))
    }

    /// Number and size of the MANIFEST that counts.
    pub(super) fn manifest_in_use(&self) -> Result<(FileNumber, u64)> {
        let number = read_current(&*self.file_system, &self.path)?;
        Ok((number, self.file_system.file_size(&self.path.join(file_name::manifest(number)))?))
    }

    /// Whether the MANIFEST that counts now, `now`, says more than `before` of what no log has: families that came or
    /// went, tables that were taken in. Flushes and compactions change nothing that is read.
    pub(super) fn has_change_from_outside(&self, before: (FileNumber, u64), now: (FileNumber, u64)) -> Result<bool> {
        if now == before {
            return Ok(false);
        }
        if now.0 != before.0 {
            return Ok(true);
        }
        let mut reader = ManifestReader::open(&*self.file_system, &self.path.join(file_name::manifest(now.0)))?;
        while let Some((_, edits)) = reader.next_edits()? {
            if reader.last_record_end() > before.1 && edits.iter().any(is_from_outside) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True when the logs from `oldest` on are still needed: then none of them was removed before it was opened.
    pub(super) fn needs_logs_from(&self, oldest: FileNumber) -> bool {
        self.recover_versions(&self.families_to_open(), RecoverMode::ReadOnly)
            .is_ok_and(|now| now.oldest_needed_log() == oldest)
    }

    /// `None` when a log may have been removed before it was opened, and with `stops_at_gaps` when numbers are in no
    /// log: a table that was taken in from outside meanwhile may have them. `before` is the MANIFEST in use before
    /// this.
    fn read_everything(
        mut self,
        before: Option<&(FileNumber, u64)>,
        missing_is_error: bool,
        stops_at_gaps: bool,
    ) -> Result<Option<Arc<DbCore>>> {
        let (components, files) = (&self.options.components, Arc::clone(&self.file_system));
        let info_log = InfoLog::without_file(files, components.clock(), components.info_log.clone());
        let versions = self.recover_versions(&self.families_to_open(), RecoverMode::ReadOnly)?;
        let directory = self.find_logs(&versions, &info_log)?;
        if !self.file_system.exists(&directory)? {
            return Err(Error::invalid_argument("wal_dir not found").in_file(directory));
        }
        tracked_logs::check(&self.options, &*self.file_system, &directory, &versions)?;
        let core = self.assemble(versions, directory, info_log, None, true);
        let mut recovery = logs::log_recovery(&core, missing_is_error);
        let is_manifest_unchanged = || self.manifest_in_use().is_ok_and(|now| before == Some(&now));
        let changes = OutsideChanges::since(&self, before.copied());
        let is_tree_complete = || changes.are_none();
        if stops_at_gaps {
            let recorded = core.versions.last_sequence().max(core.versions.largest_in_tables());
            let is_tree_complete = &is_tree_complete;
            recovery.tailing = Some(Tailing { held: SequenceNumber(0), recorded, is_tree_complete });
        }
        let opened = recovery.open()?;
        if !is_manifest_unchanged() && !self.needs_logs_from(core.versions.oldest_needed_log()) {
            return Ok(None);
        }
        open::open_tables(&core)?;
        let recovered = logs::read_logs(&core, &recovery, opened, |_| Ok(()))?;
        if recovered.stopped_at_gap || (stops_at_gaps && !changes.are_none()) {
            return Ok(None);
        }
        if let Some(last) = recovered.last_sequence {
            core.writes.publisher().raise(last);
        }
        Ok(Some(core))
    }
}

/// What the MANIFEST says of changes from outside since an open or a catch-up began, looked at again when it grew.
pub(super) struct OutsideChanges<'a> {
    opener: &'a Opener,
    before: Option<(FileNumber, u64)>,
    /// The MANIFEST at the last look, and that there were none.
    seen: Cell<Option<((FileNumber, u64), bool)>>,
}

impl<'a> OutsideChanges<'a> {
    pub(super) fn since(opener: &'a Opener, before: Option<(FileNumber, u64)>) -> Self {
        Self { opener, before, seen: Cell::new(None) }
    }

    /// True when there are none; false, too, where that cannot be told.
    pub(super) fn are_none(&self) -> bool {
        let (Some(before), Ok(now)) = (self.before, self.opener.manifest_in_use()) else { return false };
        if let Some((_, are_none)) = self.seen.get().filter(|(seen, _)| *seen == now) {
            return are_none;
        }
        let are_none = self.opener.has_change_from_outside(before, now).is_ok_and(|has_change| !has_change);
        self.seen.set(Some((now, are_none)));
        are_none
    }
}

/// A flush says up to where its tables have the logs, and a compaction removes tables.
fn is_from_outside(edit: &VersionEdit) -> bool {
    let brings_tables = !edit.new_files.is_empty() && edit.deleted_files.is_empty() && edit.log_number.is_none();
    brings_tables || edit.column_family_change.is_some()
}
