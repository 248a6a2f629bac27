//! Managing an open database: families, options, flushes and compactions.

use super::Db;
use crate::column_family::ColumnFamily;
use crate::db::{
    LiveFile, UserKeyRange, background, families, flush, in_memory, live_file, manual, manual_files, resume,
};
use crate::jobs::StoppedBy;
use crate::options::{ColumnFamilyOptions, CompactRangeOptions, FlushOptions, WaitForCompactOptions};
use ferrock_base::byte_text::canonical;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_options::FlushReason;
use ferrock_table::{DataBlockHistogram, Table};
use std::path::Path;
use std::sync::Arc;

impl Db {
    /// Creates a column family, durably. A name of any bytes is given as the text that stands for it
    /// ([`byte_text`](crate::byte_text)).
    ///
    /// # Errors
    /// `Invalid argument` when it exists, its name is empty, or an option means nothing; `Not implemented` for a value
    /// that asks for what is not built. A number that is only out of its bounds is brought to the nearest good one,
    /// which [`option_notes`](Self::option_notes) tells.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// let users = db.create_column_family("users", ferrock::ColumnFamilyOptions::default())?;
    /// let options = ferrock::WriteOptions::default();
    /// db.put_cf(&users, b"7", b"Ada", &options)?;
    /// assert!(db.get(b"7")?.is_none(), "the default family has keys of its own");
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn create_column_family(&self, name: &str, options: ColumnFamilyOptions) -> Result<ColumnFamily> {
        families::create_column_family(self.core(), name, options)
    }

    /// Creates column families, each as [`create_column_family`](Self::create_column_family) does, and writes one
    /// OPTIONS file for all of them: what thousands of families with options of their own are created by. They come one
    /// after another: a crash may leave the first ones alone, and those of the last second without a section in it.
    ///
    /// # Errors
    /// Those of [`create_column_family`](Self::create_column_family) for the first that cannot be created. Those before
    /// it stay; [`column_family`](Self::column_family) has them.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// let options = ferrock::ColumnFamilyOptions::default();
    /// let names = ["users", "orders"];
    /// let families = db.create_column_families(names.map(|name| (name.to_owned(), options.clone())).to_vec())?;
    /// assert_eq!(families.iter().map(ferrock::ColumnFamily::name).collect::<Vec<_>>(), names);
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn create_column_families(&self, families: Vec<(String, ColumnFamilyOptions)>) -> Result<Vec<ColumnFamily>> {
        families::create_column_families(self.core(), families)
    }

    /// Drops a column family, durably. Its tables go once no reader holds them; handles and iterators that exist keep
    /// reading what they have.
    ///
    /// # Errors
    /// `InvalidArgument` for the default family and for one that was dropped before; `NotSupported` when the database
    /// is read-only; `Io` when the MANIFEST cannot be written, after which writes are refused until
    /// [`resume`](Self::resume).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// let users = db.create_column_family("users", ferrock::ColumnFamilyOptions::default())?;
    /// db.drop_column_family(&users)?;
    /// assert!(db.column_family("users").is_none());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn drop_column_family(&self, family: &ColumnFamily) -> Result<()> {
        families::drop_column_family(self.core(), family)
    }

    /// The handle of a column family that is open.
    #[must_use]
    pub fn column_family(&self, name: &str) -> Option<ColumnFamily> {
        let families = self.core().families.load();
        families.by_name(&canonical(name)).map(|data| ColumnFamily { data: Arc::clone(data) })
    }

    /// The default column family.
    ///
    /// # Errors
    /// Only when the database is damaged beyond opening; a database that is open has one.
    pub fn default_column_family(&self) -> Result<ColumnFamily> {
        self.core().default_family().map(|data| ColumnFamily { data })
    }

    /// Handles of all column families, in the order of their ids.
    #[must_use]
    pub fn column_families(&self) -> Vec<ColumnFamily> {
        let families = self.core().families.load();
        let mut all: Vec<ColumnFamily> = families.iter().map(|data| ColumnFamily { data: Arc::clone(data) }).collect();
        all.sort_by_key(ColumnFamily::id);
        all
    }

    /// Changes options that are mutable while the database is open, and writes a new OPTIONS file. What says how tables
    /// are read counts for those that are opened from then on. A number that is out of its bounds is brought to the
    /// nearest good one, which [`option_notes`](Self::option_notes) tells.
    ///
    /// # Errors
    /// `Invalid argument` names every option that does not exist, is fixed, or means nothing, `Not implemented` a
    /// value that asks for what is not built; then none changes.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// let family = db.default_column_family()?;
    /// db.set_options_cf(&family, &[("write_buffer_size", "8388608")])?;
    /// assert!(db.set_options_cf(&family, &[("write_buffer_sise", "1")]).is_err());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn set_options_cf(&self, family: &ColumnFamily, changes: &[(&str, &str)]) -> Result<()> {
        families::set_options_cf(self.core(), family, changes)
    }

    /// Changes options of the whole database that are mutable while it is open, and writes a new OPTIONS file. Bounds
    /// and errors are as for [`set_options_cf`](Self::set_options_cf).
    ///
    /// # Errors
    /// As for [`set_options_cf`](Self::set_options_cf), but `NotFound` when an option does not exist. Then none
    /// changes.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.set_db_options(&[("max_background_jobs", "4")])?;
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn set_db_options(&self, changes: &[(&str, &str)]) -> Result<()> {
        families::set_db_options(self.core(), changes)
    }

    /// Waits until no flush or compaction runs or is due, and no thread removes obsolete files.
    ///
    /// # Errors
    /// The background error that stands: call [`resume`](Self::resume) when its cause is gone, or reopen the database.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(&path, options.clone())?;
    /// db.put(b"key", b"value")?;
    /// db.flush()?;
    /// db.wait_for_background_work()?;
    /// assert_eq!(db.property("rocksdb.num-running-compactions").as_deref(), Some("0"));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn wait_for_background_work(&self) -> Result<()> {
        let options = WaitForCompactOptions { wait_for_purge: true, ..WaitForCompactOptions::default() };
        background::wait_for_compact(self.core(), &options)
    }

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
        self.core().jobs.check_open()?;
        let (options, reason) = (FlushOptions::default(), FlushReason::ManualFlush);
        flush::flush_families(self.core(), &[0], &options, StoppedBy::Closing, reason)
    }

    /// Flushes a family.
    ///
    /// # Errors
    /// `Column family dropped` for a family that was, before or while its flush was waited for.
    pub fn flush_cf(&self, family: &ColumnFamily, options: &FlushOptions) -> Result<()> {
        manual::flush_families(self.core(), std::slice::from_ref(family), options)
    }

    /// Flushes families. Each becomes durable by itself, unless `force_atomic_flush` or the option `atomic_flush` ask
    /// for one step.
    ///
    /// # Errors
    /// `Column family dropped` for a family that was, before or while its flush was waited for; those of
    /// [`flush`](Self::flush).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # use ferrock::{ColumnFamilyOptions, FlushOptions, WriteBatch, WriteOptions};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// let index = db.create_column_family("index", ColumnFamilyOptions::default())?;
    /// let mut batch = WriteBatch::new();
    /// batch.put(b"key", b"value")?;
    /// batch.put_cf(index.id(), b"value", b"key")?;
    /// db.write(batch, &WriteOptions { disable_wal: true, ..WriteOptions::default() })?;
    /// // A crash leaves both families with the batch, or neither.
    /// let atomic = FlushOptions { force_atomic_flush: true, ..FlushOptions::default() };
    /// db.flush_cfs(&[db.default_column_family()?, index], &atomic)?;
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn flush_cfs(&self, families: &[ColumnFamily], options: &FlushOptions) -> Result<()> {
        manual::flush_families(self.core(), families, options)
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
        core.jobs.check_open()?;
        manual::compact_range(core, &family.data, begin, end, options)
    }

    /// Deletes the tables of a family, but for those of level 0, that lie as a whole in one of the ranges, without
    /// reading them: the quick way to give back the space of keys that are not needed any more. What of the ranges
    /// lies in other files stays, also in memory; older versions of a key may come to light there, and snapshots lose
    /// what the files held. Bounds that are `None` are open; with `includes_end` a file may end with the end of its
    /// range.
    ///
    /// # Errors
    /// `ColumnFamilyDropped`; those of a change of the MANIFEST.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"2024-01", b"old")?;
    /// db.compact_range(None, None)?;
    /// let family = db.default_column_family()?;
    /// db.delete_files_in_ranges_cf(&family, &[(None, Some(b"2025"))], true)?;
    /// assert!(db.live_files().is_empty());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn delete_files_in_ranges_cf(
        &self,
        family: &ColumnFamily,
        ranges: &[UserKeyRange<'_>],
        includes_end: bool,
    ) -> Result<()> {
        manual_files::delete_files_in_ranges(self.core(), family, ranges, includes_end)
    }

    /// Marks the tables that overlap the user keys `[begin, end]`: each is compacted into the next level when a thread
    /// is free, but for those of the deepest level. Does not wait. The marks are forgotten when the database closes.
    ///
    /// # Errors
    /// `ColumnFamilyDropped`.
    pub fn suggest_compact_range_cf(
        &self,
        family: &ColumnFamily,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Result<()> {
        manual_files::suggest_compact_range(self.core(), family, (begin, end))
    }

    /// Moves all tables of level 0 to another level without reading them. Waits until nothing else compacts the
    /// family.
    ///
    /// # Errors
    /// `InvalidArgument` when they overlap, or a level from 1 to `target` is not empty; `ColumnFamilyDropped`; those of
    /// a change of the MANIFEST.
    pub fn promote_l0_cf(&self, family: &ColumnFamily, target: usize) -> Result<()> {
        manual_files::promote_l0(self.core(), family, target)
    }

    /// Leaves the background-error state: begins a new log, flushes what is in memory, makes all old logs needless in
    /// one change of the MANIFEST (a new one when the old one failed), and accepts writes again when all of that
    /// worked. Writes that failed are then gone for good, also after a crash. Without an error it does nothing.
    ///
    /// # Errors
    /// The error that stands, when it is of a kind that only reopening cures or its cause is still there.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(&path, options.clone())?;
    /// if let Err(error) = db.put(b"key", b"value") {
    ///     eprintln!("writes are refused: {error}");
    ///     // The cause is gone, for example a disk that was full.
    ///     db.resume()?;
    ///     db.put(b"key", b"value")?;
    /// }
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn resume(&self) -> Result<()> {
        let core = self.core();
        core.jobs.check_open()?;
        resume::resume(core)
    }

    /// The error for which writes are stopped, if any.
    #[must_use]
    pub fn background_error(&self) -> Option<Error> {
        self.core().jobs.standing_error()
    }

    /// Every table of the tree.
    #[must_use]
    pub fn live_files(&self) -> Vec<LiveFile> {
        live_file::live_files(self.core())
    }

    /// The properties of a live table.
    ///
    /// # Errors
    /// `NotFound` when the table is not live any more; `Io` or `Corruption` when it cannot be opened.
    pub fn table_properties(&self, file: &LiveFile) -> Result<Arc<ferrock_format::properties::TableProperties>> {
        Ok(Arc::clone(self.live_table(file)?.properties()))
    }

    fn live_table(&self, file: &LiveFile) -> Result<Table> {
        for family in self.column_families() {
            let pinned = family.data.super_version.load();
            if let Some((_, found)) = pinned.version.files().find(|(_, found)| found.number == file.number) {
                return family.data.table_cache.get(found);
            }
        }
        Err(Error::new(ErrorKind::NotFound, format!("table {} is not live", file.number)))
    }

    /// Sizes of the first `most_blocks` data blocks of a live table in its file, by its index alone. `None` of a plain
    /// table, which has no blocks.
    ///
    /// # Errors
    /// `NotFound` when the table is not live any more; `Io` or `Corruption` when it cannot be opened, or a block of its
    /// index cannot be read.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// db.flush()?;
    /// let table = &db.live_files()[0];
    /// let histogram = db.data_block_histogram(table, u64::MAX)?.expect("tables are of blocks");
    /// assert_eq!((histogram.blocks, histogram.is_of_all), (1, true));
    /// assert_eq!(histogram.stored_bytes, db.table_properties(table)?.data_size);
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn data_block_histogram(&self, file: &LiveFile, most_blocks: u64) -> Result<Option<DataBlockHistogram>> {
        let table = self.live_table(file)?;
        table.as_block().map(|table| table.data_block_histogram(most_blocks)).transpose()
    }

    /// Writes a copy of a database in memory into a directory that is empty or not there, which then opens as any
    /// other. It has everything that was written before the call, writes without log included, and of the logged
    /// writes that come meanwhile a prefix; writers wait for a moment only.
    ///
    /// # Errors
    /// `NotSupported` when the files of the database are not in memory; `InvalidArgument` for a directory with
    /// something in it; `Io` and `NoSpace` when it cannot be written, which leaves a directory that does not open; and
    /// those of a flush.
    pub fn save_to(&self, directory: impl AsRef<Path>) -> Result<()> {
        in_memory::save(self.core(), directory.as_ref())
    }
}
