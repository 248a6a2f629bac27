//! Opening for reading, also beside a process that writes.
//!
//! ```text
//! logs are opened, MANIFEST -> tables are opened -> logs are read
//!            ^                            |                |
//!            +------ a table is gone -----+-- a gap -------+      what is open stays so
//! ```
//!
//! The writer removes a log, or a table, once its MANIFEST says that nothing needs it. A file that is open can be read
//! whatever happens to its name. How logs and tree are those of one moment is told in
//! [`writers_tree`](super::writers_tree). Where a table is removed before it is opened, the open looks again: at what
//! came to the MANIFEST, and for the tables that it has not open yet. So beside a busy writer an attempt takes no
//! longer than what the writer did since the last one, and a MANIFEST that grew is no reason to begin anew. But what it
//! says behind the records of the logs may be of families that came or went, or of tables that no log had: with later
//! batches and without these, the database would be in no state that the writer had.
//!
//! Tried and lost: to begin each attempt with a database of its own. Its tables were opened again, and beside a writer
//! that compacted more often than that takes, no open was ever good.

use super::views::{LEAST_ATTEMPTS, MOST_ATTEMPTS, PATIENCE_US, families_of, install};
use super::writers_tree::WritersTree;
use super::{DbCore, Opener, best_efforts, logs};
use crate::column_family::ColumnFamily;
use crate::db::open;
use crate::db::recovery::{OpenLog, Tailing};
use crate::db::tracked_logs;
use crate::info_log::InfoLog;
use crate::spans;
use ferrock_base::{Error, ErrorKind, FileNumber, Result, SequenceNumber};
use ferrock_format::file_name;
use ferrock_format::stats_history::COLUMN_FAMILY;
use ferrock_tree::version::version_set::read_current;
use std::sync::Arc;

/// How often an open begins anew for numbers that are in no log. A writer that does not log all it writes leaves them,
/// too.
const ATTEMPTS_AT_GAP: usize = 20;

const CHANGES_TOO_FAST: &str = "another process changes the database too fast for a read-only open; try again";

impl Opener {
    pub(super) fn open_read_only(mut self) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
        let _span = spans::open(&self.path);
        best_efforts::refuse(self.options.best_efforts_recovery)?;
        let names: Vec<String> = self.families.iter().map(|(name, _)| name.clone()).collect();
        if self.options.persist_stats_to_disk {
            let existing = open::existing_families(&*self.file_system, &self.path, &self.options)?;
            if existing.iter().any(|(_, name, _)| name == COLUMN_FAMILY) {
                self.add_history_family();
            }
        }
        let clock = self.options.components.clock();
        let begin_us = clock.monotonic_us();
        let mut opening = ReadOnlyOpen { tree: WritersTree::new(&self)?, opener: self, core: None };
        let (mut failure, mut is_nobody_there, mut gaps) = (None, false, 0);
        for attempt in 0..MOST_ATTEMPTS {
            if attempt >= LEAST_ATTEMPTS && clock.monotonic_us().saturating_sub(begin_us) > PATIENCE_US {
                break;
            }
            let before = opening.opener.manifest_in_use();
            match opening.attempt(before.as_ref().ok(), !is_nobody_there, gaps < ATTEMPTS_AT_GAP) {
                Ok(Some(core)) => return open::handles(core, names),
                Ok(None) => gaps += 1,
                Err(error) => match (before, opening.opener.manifest_in_use()) {
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
}

/// An open, through its attempts.
struct ReadOnlyOpen {
    opener: Opener,
    tree: WritersTree,
    /// Tables that an attempt opened stay open in it.
    core: Option<Arc<DbCore>>,
}

impl ReadOnlyOpen {
    /// The database without what it holds: the MANIFEST `number` says where the logs are, and only an open, which
    /// begins another, may have them elsewhere.
    fn core(&mut self, number: Option<FileNumber>) -> Result<Arc<DbCore>> {
        if let Some(core) = self.core.as_ref().filter(|core| number == Some(core.versions.manifest_number())) {
            return Ok(Arc::clone(core));
        }
        let opener = &mut self.opener;
        let (components, files) = (&opener.options.components, Arc::clone(&opener.file_system));
        let info_log = InfoLog::without_file(files, components.clock(), components.info_log.clone());
        self.tree.read()?;
        let directory = opener.find_logs(self.tree.oldest_needed_log(), &info_log)?;
        if !opener.file_system.exists(&directory)? {
            return Err(Error::invalid_argument("wal_dir not found").in_file(directory));
        }
        let core = opener.assemble(self.tree.versions(opener)?, directory, info_log, None, true);
        self.core = Some(Arc::clone(&core));
        Ok(core)
    }

    /// Logs and tree of one moment, the tables open.
    fn open_files(&mut self, core: &DbCore, before: Option<&(FileNumber, u64)>) -> Result<Vec<OpenLog>> {
        let (opener, directory) = (&self.opener, core.files.places().log_directory());
        let opened = self.tree.open_logs(opener, directory)?;
        let fresh = self.tree.versions(opener)?;
        let open: Vec<FileNumber> = opened.iter().map(OpenLog::number).collect();
        tracked_logs::check(&opener.options, &*opener.file_system, directory, &fresh, &open)?;
        fresh.take_open_tables(&core.versions);
        let families = families_of(core, &fresh);
        families.iter().for_each(|(_, data)| data.memtable.store(data.new_memtable()));
        let recorded = fresh.last_sequence();
        install(core, fresh, families, recorded);
        open::check_places(core)?;
        match open::open_tables_or_fail(core) {
            Err(error) if !error.is_not_found() || opener.manifest_in_use().ok().as_ref() == before => {
                open::tolerate(core, error)?;
            }
            outcome => outcome?,
        }
        Ok(opened)
    }

    /// `None` with `stops_at_gaps` when numbers are in no log: a table that was taken in from outside meanwhile may
    /// have them. `before` is the MANIFEST in use before this.
    fn attempt(
        &mut self,
        before: Option<&(FileNumber, u64)>,
        missing_is_error: bool,
        stops_at_gaps: bool,
    ) -> Result<Option<Arc<DbCore>>> {
        let core = self.core(before.map(|(number, _)| *number))?;
        let opened = self.open_files(&core, before)?;
        let changes = self.tree.outside_changes();
        let is_tree_complete = || self.tree.is_as_of(changes);
        let mut recovery = logs::log_recovery(&core, missing_is_error);
        if stops_at_gaps {
            let recorded = core.versions.last_sequence().max(core.versions.largest_in_tables());
            let is_tree_complete = &is_tree_complete;
            recovery.tailing = Some(Tailing { held: SequenceNumber(0), recorded, is_tree_complete });
        }
        let recovered = logs::read_logs(&core, &recovery, opened, |_| Ok(()))?;
        if self.tree.was_log_taken_away(&recovered) {
            let what = "a log went while it was read";
            return Err(Error::new(ErrorKind::TryAgain, what).in_file(core.files.places().log_directory()));
        }
        if recovered.stopped_at_gap || (stops_at_gaps && !is_tree_complete()) {
            return Ok(None);
        }
        if let Some(last) = recovered.last_sequence {
            core.writes.publisher().raise(last);
        }
        Ok(Some(core))
    }
}
