//! Writing: one method for each kind of entry, batches, and the log.

use super::Db;
use crate::column_family::ColumnFamily;
use crate::db::write::{self, wait_for_limiter};
use crate::jobs::background_error::Reason;
use crate::options::{FlushWalOptions, WriteOptions};
use ferrock_base::{Result, SequenceNumber};
use ferrock_format::write_batch::WriteBatch;

impl Db {
    /// Writes a batch atomically.
    ///
    /// # Errors
    /// `Invalid argument` for a family that does not exist or an inverted range, `Incomplete` when `no_slowdown` is set
    /// and writers are slowed down, and the background error while there is one. After an error nothing of the batch is
    /// visible.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// let mut batch = ferrock::WriteBatch::new();
    /// batch.put(b"from", b"90")?;
    /// batch.put(b"to", b"110")?;
    /// batch.delete(b"pending")?;
    /// db.write(batch, &ferrock::WriteOptions::synced())?;
    /// assert_eq!(db.get(b"to")?.as_deref(), Some(&b"110"[..]));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn write(&self, batch: WriteBatch, options: &WriteOptions) -> Result<()> {
        write::write(self.core(), batch, options)
    }

    /// As [`write`](Self::write), but `check` may refuse the batch in the moment before it is logged. It is given the
    /// newest sequence number, up to which everything can be read; from then until the batch is logged, or refused, no
    /// other thread writes. It may read the database, and must not write to it. For transactions.
    #[doc(hidden)]
    pub fn write_checked(
        &self,
        batch: WriteBatch,
        options: &WriteOptions,
        check: impl FnOnce(SequenceNumber) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        write::write_checked(self.core(), batch, options, Box::new(check))
    }

    /// As [`write`](Self::write), but the batch stays the caller's, without a copy. Once it is written its
    /// [`sequence`](WriteBatch::sequence) is the number of its first entry.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn write_lent(&self, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
        write::write_lent(self.core(), batch, options)
    }

    /// Writes a batch durably: shorthand for [`write`](Self::write) with `sync`.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn write_synced(&self, batch: WriteBatch) -> Result<()> {
        self.write(batch, &WriteOptions::synced())
    }

    /// Sets the value of a key of the default family.
    ///
    /// # Errors
    /// Those of [`write`](Self::write); `InvalidArgument` for a key or value that is too long for a record.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"first")?;
    /// db.put(b"key", b"second")?;
    /// assert_eq!(db.get(b"key")?.as_deref(), Some(&b"second"[..]));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + value.len() + 16);
        batch.put(key, value)?;
        self.write(batch, &WriteOptions::default())
    }

    /// Sets the value of a key of a family.
    ///
    /// # Errors
    /// Those of [`write`](Self::write); `InvalidArgument` for a key or value that is too long for a record.
    pub fn put_cf(&self, family: &ColumnFamily, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + value.len() + 20);
        batch.put_cf(family.id(), key, value)?;
        self.write(batch, options)
    }

    /// Removes a key of the default family.
    ///
    /// # Errors
    /// Those of [`write`](Self::write); a key that is not there is no error.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// db.delete(b"key")?;
    /// assert!(db.get(b"key")?.is_none());
    /// db.delete(b"never there")?;
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + 16);
        batch.delete(key)?;
        self.write(batch, &WriteOptions::default())
    }

    /// Removes a key of a family.
    ///
    /// # Errors
    /// Those of [`write`](Self::write); a key that is not there is no error.
    pub fn delete_cf(&self, family: &ColumnFamily, key: &[u8], options: &WriteOptions) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + 16);
        batch.delete_cf(family.id(), key)?;
        self.write(batch, options)
    }

    /// Removes a key of the default family that was put exactly once since it was last removed: see
    /// [`single_delete_cf`](Self::single_delete_cf).
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(&path, options.clone())?;
    /// db.put(b"session", b"data")?;
    /// db.single_delete(b"session")?;
    /// assert!(db.get(b"session")?.is_none());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn single_delete(&self, key: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + 16);
        batch.single_delete(key)?;
        self.write(batch, &WriteOptions::default())
    }

    /// Removes a key that was put exactly once since it was last removed, and never merged. Cheaper than
    /// [`delete_cf`](Self::delete_cf): the pair vanishes in the first compaction that sees both.
    ///
    /// # Errors
    /// Those of [`write`](Self::write). A key that was put twice or merged is not noticed.
    pub fn single_delete_cf(&self, family: &ColumnFamily, key: &[u8], options: &WriteOptions) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + 16);
        batch.single_delete_cf(family.id(), key)?;
        self.write(batch, options)
    }

    /// Merges an operand into the value of a key of the default family.
    ///
    /// # Errors
    /// `NotSupported` when the family has no merge operator; else those of [`write`](Self::write). Whether the operand
    /// fits the value shows when the key is read or compacted.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let mut family = ferrock::ColumnFamilyOptions::default();
    /// # ferrock::options::apply_text(&mut options, &mut family, "merge_operator=stringappend")?;
    /// # let families = vec![("default".to_owned(), family)];
    /// # let db = ferrock::Db::open_cf(directory.path(), options, families)?.0;
    /// db.merge(b"tags", b"red")?;
    /// db.merge(b"tags", b"round")?;
    /// assert_eq!(db.get(b"tags")?.as_deref(), Some(&b"red,round"[..]));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + operand.len() + 16);
        batch.merge(key, operand)?;
        self.write(batch, &WriteOptions::default())
    }

    /// Merges an operand into the value of a key of a family.
    ///
    /// # Errors
    /// `NotSupported` when the family has no merge operator; else those of [`write`](Self::write).
    pub fn merge_cf(&self, family: &ColumnFamily, key: &[u8], operand: &[u8], options: &WriteOptions) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + operand.len() + 20);
        batch.merge_cf(family.id(), key, operand)?;
        self.write(batch, options)
    }

    /// Removes every key of the default family in `[begin, end)`.
    ///
    /// # Errors
    /// `InvalidArgument` when `begin` is behind `end`; else those of [`write`](Self::write).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// for key in [b"a", b"b", b"c", b"d"] {
    ///     db.put(key, b"value")?;
    /// }
    /// db.delete_range(b"b", b"d")?;
    /// assert!(db.get(b"c")?.is_none());
    /// assert!(db.get(b"d")?.is_some(), "the end is not included");
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn delete_range(&self, begin: &[u8], end: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(begin.len() + end.len() + 16);
        batch.delete_range(begin, end)?;
        self.write(batch, &WriteOptions::default())
    }

    /// Removes every key of a family in `[begin, end)`.
    ///
    /// # Errors
    /// `InvalidArgument` when `begin` is behind `end`; else those of [`write`](Self::write).
    pub fn delete_range_cf(
        &self,
        family: &ColumnFamily,
        begin: &[u8],
        end: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(begin.len() + end.len() + 20);
        batch.delete_range_cf(family.id(), begin, end)?;
        self.write(batch, options)
    }

    /// Hands the log to the operating system (needed with `manual_wal_flush`), and to the disk when `sync` is set.
    ///
    /// # Errors
    /// `Io` or `NoSpace` when the log cannot be written: writes are then refused until [`resume`](Self::resume), as
    /// what reached the log is unknown.
    pub fn flush_wal(&self, sync: bool) -> Result<()> {
        self.flush_wal_with(&FlushWalOptions { sync, ..FlushWalOptions::default() })
    }

    /// As [`flush_wal`](Self::flush_wal), which may wait for the rate limiter before.
    ///
    /// # Errors
    /// Those of [`flush_wal`](Self::flush_wal).
    pub fn flush_wal_with(&self, options: &FlushWalOptions) -> Result<()> {
        let core = self.core();
        core.jobs.check_open()?;
        let logs = core.writes.logs();
        if let Some(priority) = options.rate_limiter_priority {
            wait_for_limiter(core, &core.options.load(), priority, logs.kept_back_bytes());
        }
        let result = if options.sync { core.sync_logs() } else { logs.flush() };
        result.inspect_err(|error| {
            core.jobs.set_error(Reason::Write, error);
            core.events.tell_collected();
        })
    }

    /// Makes every write that returned before durable.
    ///
    /// # Errors
    /// Those of [`flush_wal`](Self::flush_wal).
    pub fn sync_wal(&self) -> Result<()> {
        self.flush_wal(true)
    }
}
