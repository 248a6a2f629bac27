//! What runs in the background, as callers steer it: compactions of named files, pauses, aborts, waiting.

use super::Db;
use crate::column_family::ColumnFamily;
use crate::db::{background, named_files};
use crate::options::{CompactionOptions, WaitForCompactOptions};
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_options::CompactionJobInfo;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

impl Db {
    /// Compacts tables of a family into a level, on this thread, and waits for nothing but that. Tables are named as
    /// [`live_files`](Self::live_files) names them; directories before the name say nothing. Whatever has to come
    /// along does: neighbours that share a user key, what overlaps on the levels down to the output level, and of level
    /// 0 what is older. Memtables stay. Without `output_path_id` the family has to have one directory alone. Returns
    /// the paths of the tables and blob files that the compaction made, or moved.
    ///
    /// # Errors
    /// `InvalidArgument` when no table is named, one does not exist, lies below the output level, or there is no such
    /// level or directory; `Aborted` when a table that is needed is being compacted, or another compaction writes
    /// into the same range: wait until it has ended; `Incomplete` when the call is
    /// [canceled](CompactionOptions::canceled) or manual compactions are
    /// [disabled](Self::disable_manual_compaction); `NotSupported` for a compression that is not built; and those of
    /// [`compact_range_cf`](Self::compact_range_cf).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// for key in [b"a", b"b"] {
    ///     db.put(key, b"value")?;
    ///     db.flush()?;
    /// }
    /// let names: Vec<_> = db.live_files().iter().map(|file| file.name()).collect();
    /// let family = db.default_column_family()?;
    /// let made = db.compact_files_cf(&family, &names, 6, None, &ferrock::CompactionOptions::default())?;
    /// assert_eq!((made.len(), db.live_files()[0].level), (1, 6));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn compact_files_cf(
        &self,
        family: &ColumnFamily,
        names: &[impl AsRef<Path>],
        output_level: usize,
        output_path_id: Option<u32>,
        options: &CompactionOptions,
    ) -> Result<Vec<PathBuf>> {
        let numbers = names.iter().map(|name| named_files::number_of(name.as_ref()));
        let numbers: BTreeSet<FileNumber> = numbers.collect::<Result<_>>()?;
        named_files::compact_files(self.core(), family, &numbers, output_level, output_path_id, options, None)
    }

    /// As [`compact_files_cf`](Self::compact_files_cf), and returns what listeners are told of the end of the
    /// compaction.
    ///
    /// # Errors
    /// Those of [`compact_files_cf`](Self::compact_files_cf).
    pub fn compact_files_with_info_cf(
        &self,
        family: &ColumnFamily,
        names: &[impl AsRef<Path>],
        output_level: usize,
        output_path_id: Option<u32>,
        options: &CompactionOptions,
    ) -> Result<(Vec<PathBuf>, CompactionJobInfo)> {
        let numbers = names.iter().map(|name| named_files::number_of(name.as_ref()));
        let numbers: BTreeSet<FileNumber> = numbers.collect::<Result<_>>()?;
        let told = OnceLock::new();
        let core = self.core();
        let made =
            named_files::compact_files(core, family, &numbers, output_level, output_path_id, options, Some(&told))?;
        let missing = || Error::new(ErrorKind::Aborted, "a compaction ended without a word of it");
        Ok((made, told.into_inner().ok_or_else(missing)?))
    }

    /// Ends the compactions that callers asked for, which answer `Incomplete` and leave nothing behind, and refuses new
    /// ones in the same way. Returns when none runs. Calls are counted:
    /// [`enable_manual_compaction`](Self::enable_manual_compaction) must come as often.
    pub fn disable_manual_compaction(&self) {
        self.core().jobs.disable_manual();
    }

    /// Takes back one [`disable_manual_compaction`](Self::disable_manual_compaction).
    ///
    /// # Errors
    /// `InvalidArgument` when they are not disabled.
    pub fn enable_manual_compaction(&self) -> Result<()> {
        self.core().jobs.enable_manual()
    }

    /// Ends all compactions, those that callers asked for included, and starts none any more. Their inputs stay, and
    /// nothing of their outputs. Returns when none runs; flushes go on. Calls are counted:
    /// [`resume_all_compactions`](Self::resume_all_compactions) must come as often.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.abort_all_compactions();
    /// let refused = db.compact_range(None, None).unwrap_err();
    /// assert_eq!(refused.kind(), ferrock::ErrorKind::Incomplete);
    /// db.resume_all_compactions()?;
    /// db.compact_range(None, None)?;
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn abort_all_compactions(&self) {
        self.core().jobs.abort_compactions();
    }

    /// Takes back one [`abort_all_compactions`](Self::abort_all_compactions). What was aborted begins anew, but for
    /// what callers asked for.
    ///
    /// # Errors
    /// `InvalidArgument` when they are not aborted.
    pub fn resume_all_compactions(&self) -> Result<()> {
        self.core().jobs.resume_compactions()
    }

    /// Ends all flushes and compactions for good, before the database is closed: none starts any more. What was written
    /// without log is flushed first, unless `avoid_flush_during_shutdown` says otherwise. Reads go on, and writes do
    /// until they would have to wait for a flush. With `wait` it returns when no job runs.
    ///
    /// # Errors
    /// Those of the flush, which leave everything as it was; `ShutdownInProgress` when the database is closed.
    pub fn cancel_all_background_work(&self, wait: bool) -> Result<()> {
        background::cancel_all_background_work(self.core(), wait)
    }

    /// Waits until no flush or compaction runs or is due, through pauses and aborts too.
    ///
    /// # Errors
    /// The background error that stands; `Aborted` and `TimedOut` as the options say; `ShutdownInProgress` when
    /// [`cancel_all_background_work`](Self::cancel_all_background_work) was called; those of flushing and closing.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// let options = ferrock::WaitForCompactOptions { flush: true, close_db: true, ..Default::default() };
    /// db.wait_for_compact(&options)?;
    /// assert!(db.put(b"key", b"other").is_err(), "it is closed");
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn wait_for_compact(&self, options: &WaitForCompactOptions) -> Result<()> {
        background::wait_for_compact(self.core(), options)
    }

    /// Starts no flush and no compaction any more, and waits for those that run. Calls are counted:
    /// [`continue_background_work`](Self::continue_background_work) must come as often.
    ///
    /// # Errors
    /// `NotSupported` when the database is read-only, `ShutdownInProgress` when it is closed.
    pub fn pause_background_work(&self) -> Result<()> {
        let core = self.core();
        core.jobs.check_open()?;
        core.jobs.pause();
        Ok(())
    }

    /// Takes back one [`pause_background_work`](Self::pause_background_work).
    ///
    /// # Errors
    /// `Invalid argument` when nothing is paused.
    pub fn continue_background_work(&self) -> Result<()> {
        self.core().jobs.end_pause()
    }
}
