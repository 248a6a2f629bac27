//! What a copy of a running database needs: files that stay, and their list.

use super::Db;
use crate::db::file_hold::{self, FileHold};
use crate::db::storage_info::{self, LiveFileStorageInfo, LiveFilesStorageOptions};
use ferrock_base::Result;
use ferrock_statistics::Statistics;
use std::sync::Arc;

impl Db {
    /// The statistics that the database counts in, where it was opened with some.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// options.components.statistics = Some(Default::default());
    /// let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// let written = ferrock_statistics::Ticker::NumberKeysWritten;
    /// assert_eq!(db.statistics().map(|statistics| statistics.ticker(written)), Some(1));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    #[must_use]
    pub fn statistics(&self) -> Option<Arc<Statistics>> {
        self.core().metrics.statistics().cloned()
    }

    /// Keeps every file of the database where it is, until the hold is dropped: what compactions and flushes replace
    /// stays beside its replacement, and costs space. A removal that runs is waited for. Several holds add up; the
    /// clean-up comes behind the last.
    ///
    /// # Errors
    /// `Shutdown in progress` when the database is closed; `NotSupported` when it is open for reading only, which
    /// removes no file in any case.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// let hold = db.hold_files()?;
    /// let files = db.live_files_storage_info(&ferrock::LiveFilesStorageOptions::default())?;
    /// db.compact_range(None, None)?;
    /// // Whatever the compaction replaced: each of them is there still.
    /// assert!(files.iter().all(|file| file.path().exists()));
    /// drop(hold);
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn hold_files(&self) -> Result<FileHold> {
        self.core().jobs.check_open()?;
        Ok(FileHold::new(self.core()))
    }

    /// As [`hold_files`](Self::hold_files), until [`enable_file_deletions`](Self::enable_file_deletions) was called as
    /// often: for programs that cannot keep a value. The count is gone when the database is closed.
    ///
    /// # Errors
    /// Those of [`hold_files`](Self::hold_files).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// let enabled = || db.int_property("rocksdb.is-file-deletions-enabled");
    /// db.disable_file_deletions()?;
    /// assert_eq!(enabled(), Some(0));
    /// db.enable_file_deletions()?;
    /// assert_eq!(enabled(), Some(1));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn disable_file_deletions(&self) -> Result<()> {
        self.core().jobs.check_open()?;
        self.core().files.disable_removals();
        Ok(())
    }

    /// Ends one [`disable_file_deletions`](Self::disable_file_deletions); without one it does nothing. The last one
    /// removes on this thread what stayed.
    ///
    /// # Errors
    /// Those of [`hold_files`](Self::hold_files).
    pub fn enable_file_deletions(&self) -> Result<()> {
        self.core().jobs.check_open()?;
        file_hold::enable_file_deletions(self.core());
        Ok(())
    }

    /// The files that a copy of the database is made of, each with the bytes that count: a state that the database
    /// had, with everything that was acknowledged before the call. The files stay as long as a
    /// [hold](Self::hold_files) from before the call does; without one they may be gone before they are read.
    ///
    /// Table and blob files come first, then logs, the MANIFEST, OPTIONS, and CURRENT last, in the order in which a
    /// copy is written.
    ///
    /// # Errors
    /// `Shutdown in progress` when the database is closed; `NotSupported` when it is open for reading only;
    /// `InvalidArgument` after a failed write to the MANIFEST, until [`resume`](Self::resume); those of a flush.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// use ferrock::{FileKind, LiveFilesStorageOptions};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// let _hold = db.hold_files()?;
    /// let files = db.live_files_storage_info(&LiveFilesStorageOptions::default())?;
    /// assert_eq!(files[0].kind, FileKind::Table);
    /// assert_eq!(files.last().map(|file| file.kind), Some(FileKind::Current));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn live_files_storage_info(&self, options: &LiveFilesStorageOptions) -> Result<Vec<LiveFileStorageInfo>> {
        storage_info::live_files_storage_info(self.core(), options)
    }
}
