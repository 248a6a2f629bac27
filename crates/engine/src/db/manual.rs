//! What callers ask for by hand: flush, compact_range.

use super::compact::ScheduledCompaction;
use super::{Db, DbCore, ExclusiveManual};
use crate::background_error::Reason;
use crate::column_family::{ColumnFamily, ColumnFamilyData};
use crate::options::{BottommostLevelCompaction, CompactRangeOptions, FlushOptions};
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::version_edit::{DeletedFile, NewFile, VersionEdit};
use ferrock_tree::compaction::picker::{
    ManualChoice, ManualRequest, ManualStep, PickerInput, manual_steps, pick_manual,
};
use std::path::PathBuf;
use std::sync::Arc;

/// A live table, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFile {
    /// The column family.
    pub column_family: String,
    /// The level.
    pub level: usize,
    /// The number in its name.
    pub number: FileNumber,
    /// The directory that the file is in.
    pub directory: PathBuf,
    /// Bytes in the file.
    pub size_bytes: u64,
    /// Smallest user key.
    pub smallest_user_key: Vec<u8>,
    /// Largest user key.
    pub largest_user_key: Vec<u8>,
    /// Oldest sequence number.
    pub smallest_sequence: ferrock_base::SequenceNumber,
    /// Newest sequence number.
    pub largest_sequence: ferrock_base::SequenceNumber,
    /// Checksum of the whole file, where one was recorded.
    pub file_checksum: Vec<u8>,
    /// What made the checksum.
    pub file_checksum_function_name: String,
}

impl Db {
    /// Flushes the default family and waits.
    ///
    /// # Errors
    /// The background error that stands or that the flush itself meets (`Io`, `NoSpace`, `Corruption`): what was to be
    /// flushed stays in memory and in the log. `NotSupported` when the database is read-only, `ShutdownInProgress` when
    /// it is closing.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// db.flush()?;
    /// assert_eq!(db.live_files().len(), 1);
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn flush(&self) -> Result<()> {
        self.core().check_open()?;
        self.core().flush_families(&[0], true)
    }

    /// Flushes a family.
    ///
    /// # Errors
    /// `Column family dropped` for a family that was, before or while its flush was waited for.
    pub fn flush_cf(&self, family: &ColumnFamily, options: &FlushOptions) -> Result<()> {
        let data = &family.data;
        let check = || {
            if data.is_dropped() { Err(Error::new(ErrorKind::ColumnFamilyDropped, &data.name[..])) } else { Ok(()) }
        };
        self.core().check_open()?;
        check()?;
        self.core().flush_families(&[data.id], options.wait)?;
        check()
    }

    /// Compacts the user keys of the default family in `[begin, end]`, all when both are `None`, and waits.
    ///
    /// # Errors
    /// Those of [`compact_range_cf`](Self::compact_range_cf).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// for value in [b"1", b"2"] {
    ///     db.put(b"key", value)?;
    ///     db.flush()?;
    /// }
    /// db.compact_range(None, None)?;
    /// assert_eq!(db.live_files().len(), 1);
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn compact_range(&self, begin: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        let family = self.default_column_family()?;
        self.compact_range_cf(&family, begin, end, &CompactRangeOptions::default())
    }

    /// Compacts the user keys of a family in `[begin, end]`, all when both are `None`, and waits.
    ///
    /// # Errors
    /// `InvalidArgument` for a `target_path_id` or a `target_level` that the family cannot have; `ColumnFamilyDropped`;
    /// those of the flush that comes first ([`flush`](Self::flush)); and `Io`, `NoSpace` or `Corruption` when a table
    /// cannot be read or written. Inputs are kept until their outputs are installed, so that nothing is lost.
    pub fn compact_range_cf(
        &self,
        family: &ColumnFamily,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        options: &CompactRangeOptions,
    ) -> Result<()> {
        let core = self.core();
        core.check_open()?;
        core.compact_range(&family.data, begin, end, options)
    }

    /// Leaves the background-error state: begins a new log, flushes what is in memory, makes all old logs needless in
    /// one change of the MANIFEST (a new one when the old one failed), and accepts writes again when all of that
    /// worked. Writes that failed are then gone for good, also after a crash. Without an error it does nothing.
    ///
    /// # Errors
    /// The error that stands, when it is of a kind that only reopening cures or its cause is still there.
    pub fn resume(&self) -> Result<()> {
        let core = self.core();
        core.check_open()?;
        core.resume()
    }

    /// The error for which writes are stopped, if any.
    #[must_use]
    pub fn background_error(&self) -> Option<Error> {
        self.core().state.lock().error.standing().cloned()
    }

    /// Every table of the tree.
    #[must_use]
    pub fn live_files(&self) -> Vec<LiveFile> {
        let mut files = Vec::new();
        for family in self.column_families() {
            let pinned = family.data.super_version.load();
            files.extend(pinned.version.files().map(|(level, file)| LiveFile {
                column_family: family.name().to_owned(),
                level,
                number: file.number,
                directory: family.data.table_cache.paths().directory(file.path_id).to_path_buf(),
                size_bytes: file.size_bytes,
                smallest_user_key: file.smallest_user_key().to_vec(),
                largest_user_key: file.largest_user_key().to_vec(),
                smallest_sequence: file.smallest_seqno,
                largest_sequence: file.largest_seqno,
                file_checksum: file.checksum.as_ref().map(|checksum| checksum.value.clone()).unwrap_or_default(),
                file_checksum_function_name:
                    file.checksum.as_ref().map(|checksum| checksum.function_name.clone()).unwrap_or_default(),
            }));
        }
        files
    }

    /// The properties of a live table.
    ///
    /// # Errors
    /// `NotFound` when the table is not live any more; `Io` or `Corruption` when it cannot be opened.
    pub fn table_properties(&self, file: &LiveFile) -> Result<Arc<ferrock_format::properties::TableProperties>> {
        for family in self.column_families() {
            let pinned = family.data.super_version.load();
            if let Some((_, found)) = pinned.version.files().find(|(_, found)| found.number == file.number) {
                return Ok(Arc::clone(family.data.table_cache.get(found)?.properties()));
            }
        }
        Err(Error::new(ErrorKind::NotFound, format!("table {} is not live", file.number)))
    }
}

impl DbCore {
    fn compact_range(
        self: &Arc<Self>,
        data: &Arc<ColumnFamilyData>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        options: &CompactRangeOptions,
    ) -> Result<()> {
        if !data.table_cache.paths().has(options.target_path_id) {
            let (id, count) = (options.target_path_id, data.table_cache.paths().count());
            return Err(Error::invalid_argument(format!("target_path_id = {id}: the family has {count} directories")));
        }
        self.flush_families(&[data.id], true)?;
        let exclusive = options.exclusive_manual_compaction;
        self.begin_manual(data, exclusive)?;
        let result = self.compact_steps(data, begin, end, options);
        let result =
            result.and_then(|()| if options.change_level { self.move_up(data, options.target_level) } else { Ok(()) });
        // Closing waits for the job, and then for its clean-up.
        let cleanup = self.files.begin_cleanup();
        let mut state = self.state.lock();
        state.running_manual -= 1;
        if let Some(family) = state.families.get_mut(&data.id)
            && exclusive
        {
            family.exclusive_manual = ExclusiveManual { is_running: false, ..family.exclusive_manual };
        }
        self.schedule(&mut state);
        self.changed.notify_all();
        drop(state);
        if let Some(turn) = cleanup {
            self.clean_up(turn);
        }
        result
    }

    /// Takes a place among the manual jobs. An exclusive one waits until nothing else compacts the family, and from the
    /// moment that it waits nothing else begins to: else a family that always has something to compact would never be
    /// quiet.
    fn begin_manual(self: &Arc<Self>, data: &ColumnFamilyData, exclusive: bool) -> Result<()> {
        let mut state = self.state.lock();
        state.running_manual += 1;
        if exclusive && let Some(family) = state.families.get_mut(&data.id) {
            family.exclusive_manual.waiting += 1;
        }
        let result = loop {
            if let Err(error) = self.closing_error() {
                break Err(error);
            }
            let Some(family) = state.families.get_mut(&data.id) else {
                let message = format!("column family {} was dropped", data.name);
                break Err(Error::new(ErrorKind::ColumnFamilyDropped, message));
            };
            let may_begin = match exclusive {
                true => !family.exclusive_manual.is_running && family.running.is_empty(),
                // It would come between an exclusive one and the end of what that waits for.
                false => family.exclusive_manual.waiting == 0,
            };
            if may_begin {
                family.exclusive_manual.is_running |= exclusive;
                break Ok(());
            }
            self.changed.wait(&mut state);
        };
        if exclusive && let Some(family) = state.families.get_mut(&data.id) {
            family.exclusive_manual.waiting -= 1;
        }
        if result.is_err() {
            state.running_manual -= 1;
            // What it kept from beginning.
            self.schedule(&mut state);
        }
        self.changed.notify_all();
        result
    }

    fn compact_steps(
        self: &Arc<Self>,
        data: &Arc<ColumnFamilyData>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        options: &CompactRangeOptions,
    ) -> Result<()> {
        let Some(version) = self.versions.current(data.id) else { return Ok(()) };
        let mode = options.bottommost_level_compaction;
        // A filter has seen what the steps before wrote into the bottommost level; only `Force` rewrites that, too.
        let ignore_files_from = match mode {
            BottommostLevelCompaction::IfHaveCompactionFilter | BottommostLevelCompaction::ForceOptimized => {
                self.versions.next_file_number()
            }
            BottommostLevelCompaction::Skip | BottommostLevelCompaction::Force => FileNumber(u64::MAX),
        };
        let steps = manual_steps(&version, &data.options.load(), begin, end, mode);
        for step in steps {
            self.compact_step(data, step, begin, end, ignore_files_from, options.target_path_id)?;
        }
        Ok(())
    }

    fn compact_step(
        self: &Arc<Self>,
        data: &Arc<ColumnFamilyData>,
        step: ManualStep,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        ignore_files_from: FileNumber,
        target_path_id: u32,
    ) -> Result<()> {
        let mut begin = begin.map(<[u8]>::to_vec);
        loop {
            let Some((job, next_begin)) =
                self.start_manual_piece(data, step, begin.as_deref(), end, ignore_files_from, target_path_id)?
            else {
                return Ok(());
            };
            let result = self.compact(&job);
            let mut state = self.state.lock();
            if let Some(family) = state.families.get_mut(&data.id) {
                family.running.finish(job.running);
            }
            if let Err(error) = &result
                && !data.is_dropped()
            {
                self.set_background_error_locked(&mut state, Reason::Compaction, error);
            }
            self.changed.notify_all();
            drop(state);
            result?;
            if next_begin.is_none() {
                return Ok(());
            }
            begin = next_begin;
        }
    }

    /// Waits until the next piece of a manual compaction can run, and marks its files.
    fn start_manual_piece(
        &self,
        data: &Arc<ColumnFamilyData>,
        step: ManualStep,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        ignore_files_from: FileNumber,
        target_path_id: u32,
    ) -> Result<Option<(ScheduledCompaction, Option<Vec<u8>>)>> {
        let mut state = self.state.lock();
        loop {
            state.error.check()?;
            self.closing_error()?;
            if state.pauses > 0 {
                self.changed.wait(&mut state);
                continue;
            }
            let Some(version) = self.versions.current(data.id) else { return Ok(None) };
            let Some(family) = state.families.get_mut(&data.id) else { return Ok(None) };
            let options = data.options.load();
            let input = PickerInput {
                version: &version,
                options: &options,
                running: &family.running,
                bottommost_threshold: self.reads.snapshots().bottommost_threshold(|| self.visible()),
                now_secs: self.clock.unix_seconds(),
            };
            match pick_manual(&input, &ManualRequest { step, begin, end, ignore_files_from, target_path_id }) {
                ManualChoice::Done => return Ok(None),
                ManualChoice::Compact { choice, next_begin } => {
                    let running = family.running.start(&choice);
                    let job_id = state.next_job_id;
                    state.next_job_id += 1;
                    let job = ScheduledCompaction {
                        data: Arc::clone(data),
                        choice: *choice,
                        running,
                        job_id,
                        is_manual: true,
                    };
                    return Ok(Some((job, next_begin)));
                }
                ManualChoice::Conflict => self.changed.wait(&mut state),
            }
        }
    }

    /// Moves the deepest level's files up to the highest empty level that can hold them, or to `target`.
    fn move_up(&self, data: &ColumnFamilyData, target: Option<usize>) -> Result<()> {
        let _installs = self.installs.lock();
        let mut state = self.state.lock();
        let Some(family) = state.families.get(&data.id) else { return Ok(()) };
        let Some(version) = self.versions.current(data.id) else { return Ok(()) };
        let Some(deepest) = version.deepest_non_empty_level() else { return Ok(()) };
        let first_free = (1..deepest).rev().take_while(|&level| version.level(level).is_empty()).last();
        let target = match target {
            Some(target) if target == 0 || target >= version.num_levels() => {
                return Err(Error::invalid_argument(format!(
                    "target_level = {target} is out of 1..={}",
                    version.num_levels() - 1
                )));
            }
            Some(target) if target != deepest && (target > deepest || first_free.is_none_or(|free| target < free)) => {
                return Err(Error::invalid_argument(format!(
                    "target_level = {target}: the levels from it to {deepest} are not empty"
                )));
            }
            Some(target) => target,
            None => first_free.unwrap_or(deepest),
        };
        if target == deepest || !family.running.is_empty() {
            return Ok(());
        }
        let files = version.level(deepest);
        let edit = VersionEdit {
            deleted_files: files
                .iter()
                .map(|file| DeletedFile { level: deepest as u32, number: file.number })
                .collect(),
            new_files: files.iter().map(|file| NewFile { level: target as u32, ..file.recorded().clone() }).collect(),
            ..VersionEdit::for_column_family(data.id)
        };
        if let Err(error) = self.versions.log_and_apply(vec![edit]) {
            self.set_background_error_locked(&mut state, Reason::Manifest, &error);
            return Err(error);
        }
        if let Some(family) = state.families.get(&data.id) {
            self.install_super_version(family, self.versions.current(data.id));
        }
        Ok(())
    }
}
