//! The files of the log, and the updates that they hold.

use super::Db;
use crate::db::updates::{self, WalFile, WalIterator, WalReadOptions};
use ferrock_base::{Result, SequenceNumber};

impl Db {
    /// The logs that have a batch, archived ones first, by their numbers. What waited for
    /// [`flush_wal`](Self::flush_wal) is in the files then.
    ///
    /// # Errors
    /// `Corruption` where the beginning of a log is damaged, with `paranoid_checks`; `Io`.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// use ferrock::{Db, DbOptions, SequenceNumber, WalKind};
    ///
    /// let mut options = DbOptions::default();
    /// options.create_if_missing = true;
    /// options.wal_ttl_seconds = 3600;
    /// let db = Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// db.flush()?;
    /// db.put(b"key", b"other")?;
    /// let logs = db.sorted_wal_files()?;
    /// assert_eq!((logs[0].kind, logs[1].kind), (WalKind::Archived, WalKind::Alive));
    /// assert_eq!(logs[1].start_sequence, SequenceNumber(2));
    /// assert!(directory.path().join(logs[0].path()).exists());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn sorted_wal_files(&self) -> Result<Vec<WalFile>> {
        updates::sorted_wal_files(self.core())
    }

    /// The log that writes go to. It may have no batch yet.
    ///
    /// # Errors
    /// `NotSupported` for a database that is open for reading; `Io`.
    pub fn current_wal_file(&self) -> Result<WalFile> {
        updates::current_wal_file(self.core())
    }

    /// The batches that were written, from the one on that has the sequence number `sequence`: out of the logs, also
    /// of the one that is being written. The iterator ends at the newest batch, and goes on when more is written. From
    /// 0 on it begins with whatever batch the oldest log has.
    ///
    /// A program that copies a database by this has to keep logs (`wal_ttl_seconds`, `wal_size_limit_mb`) for longer
    /// than the copy may fall behind, and to write without `disable_wal`. It keeps
    /// [`last_sequence`](crate::WalBatch::last_sequence) of what it has taken, and goes on with the number behind it.
    /// Entries that refer to blob files (`enable_blob_direct_write`) mean nothing in another database.
    ///
    /// The log that is being read stays until the iterator leaves it or is dropped.
    ///
    /// # Errors
    /// `NotFound` for a number that is not the next one and was not written yet; `Io`. What is missing in the logs is
    /// an error of [`next_batch`](WalIterator::next_batch).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let directory = directory.path();
    /// use ferrock::{Db, DbOptions, SequenceNumber, WalReadOptions, WriteOptions};
    ///
    /// let mut options = DbOptions::default();
    /// options.create_if_missing = true;
    /// options.wal_ttl_seconds = 3600;
    /// let source = Db::open(directory.join("source"), options.clone())?;
    /// let copy = Db::open(directory.join("copy"), options)?;
    /// source.put(b"key", b"value")?;
    /// source.flush()?;
    /// source.delete(b"other")?;
    ///
    /// let mut taken = SequenceNumber(0);
    /// let mut updates = source.updates_since(taken.plus(1), WalReadOptions::default())?;
    /// while let Some(update) = updates.next_batch()? {
    ///     taken = update.last_sequence();
    ///     copy.write(update.batch, &WriteOptions::default())?;
    /// }
    /// assert_eq!(taken, SequenceNumber(2));
    /// assert_eq!(copy.get(b"key")?.as_deref(), Some(&b"value"[..]));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn updates_since(&self, sequence: SequenceNumber, options: WalReadOptions) -> Result<WalIterator> {
        updates::updates_since(self.core(), sequence, options)
    }
}
