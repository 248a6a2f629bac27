//! The database: a handle of parts ([`FileRegistry`], [`WritePath`], [`ReadPath`], [`Metrics`], [`Events`], ...). Each
//! file here is one journey through them.
//!
//! ```text
//! open.rs       directory -> locks, MANIFEST, logs, OPTIONS -> DbCore     recovery.rs   logs -> memtables -> tables
//! write.rs      batch -> queue -> log -> memtable                         switch_memtable.rs full memtables, new logs
//! read.rs       key -> memtables -> tables; iterators                     flush.rs      immutable memtables -> level 0
//! compact.rs    choice -> job -> new tables                               manual.rs     flush, compact_range
//! resume.rs     background errors, and the way back to writing               auto_resume.rs the same without a call
//! background.rs which job runs when                                       cleanup.rs    which files are needed
//! families.rs   create, drop, list                                        properties.rs what a person may ask
//! pause.rs      no jobs for a while                                       approximate.rs sizes by the index
//! destroy.rs    a database's files, and nothing else                      versions.rs   every version of a key
//! async_get.rs  a key, as a future                                         async_multi_get.rs many keys, as one
//! async_search.rs what waits in both, and goes on                           async_scan.rs rows in batches, as futures
//! multi_get.rs  many keys, in rounds of reads                             multi_scan.rs many ranges, planned together
//! ```
//!
//! Locks, in the order in which they may be taken: leadership of the write queue, then
//! `core.installs`, then [`State`] (`core.state`), then the log (`core.writes`). Nothing is read from a table and
//! nothing is written but the MANIFEST, a new log and CURRENT while `state` is held.
//! Readers take none of them.
//!
//! Life: [`Db`] clones share a [`Handle`]; dropping the last one closes the database. Jobs
//! in the background hold the core, not the handle. Iterators and snapshots hold what
//! they read, not the database, so closing never waits for them.

mod approximate;
mod async_get;
mod async_multi_get;
mod async_scan;
mod async_search;
mod auto_resume;
mod background;
mod cleanup;
mod compact;
mod destroy;
mod families;
mod flush;
mod job_env;
mod log_blobs;
mod manual;
mod multi_get;
mod multi_scan;
mod open;
mod options_file;
mod pause;
mod properties;
mod read;
mod recovery;
mod resume;
mod switch_memtable;
mod versions;
mod write;

use crate::background_error::{BackgroundError, Reason};
use crate::column_family::{ColumnFamily, ColumnFamilyData, FamilyMap};
use crate::events::Events;
use crate::files::FileRegistry;
use crate::metrics::Metrics;
use crate::option_notes::OptionNotes;
use crate::options::{ColumnFamilyOptions, DbOptions, ReadOptions, WriteOptions};
use crate::reads::ReadPath;
use crate::snapshot::Snapshot;
use crate::write::WritePath;
use arc_swap::ArcSwap;
use auto_resume::AutoResume;
use ferrock_base::clock::{Alarm, Clock};
use ferrock_base::thread::Spawner;
use ferrock_base::{Error, ErrorKind, FileNumber, InternalComparator, Result, SequenceNumber};
use ferrock_format::write_batch::WriteBatch;
use ferrock_memtable::MemTable;
use ferrock_table::{ReadStats, ReadTier, TableBlockCache};
use ferrock_tree::blob::OwnedBlobView;
use ferrock_tree::compaction::choice::RunningCompactions;
use ferrock_tree::table_cache::{MutableTableCacheParams, TableCache, TableCacheParams};
use ferrock_tree::version::{Version, VersionSet};
use ferrock_vfs::{FileSystem, RandomAccessOptions, ReadContext};
use parking_lot::{Condvar, Mutex};

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

pub use async_get::GetAsync;
pub use async_multi_get::MultiGetAsync;
pub use async_scan::{AsyncScan, NextBatch, ScanBatch};
pub use manual::LiveFile;
pub use multi_scan::{MultiScan, ScanRange, ScanRow};
pub use open::ColumnFamilyDescriptor;
pub use properties::{INTEGER_PROPERTIES, MAP_PROPERTIES, TEXT_PROPERTIES};
pub use read::{Iter, PinnedSlice};
pub use versions::{KeyVersion, KeyVersions};

/// A full memtable on its way to a table.
pub(crate) struct ImmutableMemTable {
    pub(crate) memtable: Arc<MemTable>,
    /// When it is in a table, logs before this one hold nothing that the family still needs.
    pub(crate) log_number_after: FileNumber,
    /// A flush job has it.
    pub(crate) is_flushing: bool,
}

/// The manual compactions of a family that tolerate no other beside them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExclusiveManual {
    pub(crate) is_running: bool,
    /// Those that wait for the compactions that run.
    pub(crate) waiting: usize,
}

impl ExclusiveManual {
    /// True when no automatic compaction may begin.
    pub(crate) fn keeps_others_out(self) -> bool {
        self.is_running || self.waiting > 0
    }
}

/// What the database's lock guards of one column family.
pub(crate) struct FamilyState {
    pub(crate) data: Arc<ColumnFamilyData>,
    /// Oldest first.
    pub(crate) immutable: VecDeque<ImmutableMemTable>,
    /// The log that was current when the memtable began.
    pub(crate) memtable_log_number: FileNumber,
    /// Flush what is immutable, however little.
    pub(crate) is_flush_requested: bool,
    pub(crate) is_flush_running: bool,
    /// Compactions that run now.
    pub(crate) running: RunningCompactions,
    pub(crate) exclusive_manual: ExclusiveManual,
    /// Memtables flushed since the database opened; `flush` waits for it to pass a number.
    pub(crate) flushed_count: u64,
    pub(crate) switched_count: u64,
}

/// What the database's lock guards.
pub(crate) struct State {
    pub(crate) families: BTreeMap<u32, FamilyState>,
    pub(crate) error: BackgroundError,
    pub(crate) running_flushes: usize,
    pub(crate) running_compactions: usize,
    /// What callers do on their own threads and closing waits for: manual jobs that run or wait for their turn, OPTIONS
    /// files being written.
    pub(crate) running_manual: usize,
    /// Callers that want no background work now.
    pub(crate) pauses: usize,
    pub(crate) next_job_id: u64,
    pub(crate) auto_resume: AutoResume,
}

/// Everything an open database is made of.
pub(crate) struct DbCore {
    pub(crate) options: ArcSwap<DbOptions>,
    pub(crate) is_read_only: bool,
    pub(crate) file_system: Arc<dyn FileSystem>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) spawner: Arc<dyn Spawner>,
    pub(crate) files: Arc<FileRegistry>,
    pub(crate) events: Events,
    pub(crate) metrics: Metrics,
    pub(crate) option_notes: OptionNotes,
    pub(crate) db_id: String,
    pub(crate) session_id: String,
    /// Has its own lock, which is taken last.
    pub(crate) versions: VersionSet,
    pub(crate) writes: WritePath,
    /// Held from the moment a change of the tables is logged until readers have it. Without it a job that installs the
    /// current version could show a flushed table beside the memtable it was made from, and merge operands would
    /// count twice.
    pub(crate) installs: Mutex<()>,
    /// Held while an OPTIONS file is put together and written: the newest file has the newest options.
    pub(crate) options_file: Mutex<()>,
    pub(crate) state: Mutex<State>,
    /// Background work ended, a condition changed, an error came or went.
    pub(crate) changed: Condvar,
    pub(crate) families: ArcSwap<FamilyMap>,
    pub(crate) reads: ReadPath,
    pub(crate) has_background_error: AtomicBool,
    pub(crate) is_closing: AtomicBool,
    /// Wakes the thread that waits for its next attempt to leave a background error.
    resume_alarm: Arc<Alarm>,
    /// For jobs that begin where only a reference is at hand.
    this: Weak<DbCore>,
}

impl DbCore {
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_read_only {
            return Err(Error::not_supported(
                "Not supported operation in read only mode. The database is open read-only",
            ));
        }
        if self.is_closing.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::ShutdownInProgress, "the database is closed"));
        }
        Ok(())
    }

    /// The cache through which the tables of a family are opened.
    pub(crate) fn new_table_cache(&self, family: u32, options: &ColumnFamilyOptions) -> Arc<TableCache> {
        let db = self.options.load();
        Arc::new(TableCache::new(TableCacheParams {
            file_system: Arc::clone(&self.file_system),
            paths: self.files.places().add_family(family, options),
            comparator: InternalComparator::new(options.comparator.clone()),
            mutable: self.mutable_table_cache_params(options),
            cache_usage: options.cache_usage,
            prefix_extractor: options.prefix_extractor.clone(),
            file_options: file_options(&db),
            verify_unique_id: db.verify_sst_unique_id_in_manifest,
            open_tables: Arc::clone(self.files.open_tables()),
            read_stats: Arc::new(ReadStats::new(Arc::clone(&self.clock))),
        }))
    }

    /// What of that follows the options while the family is open.
    pub(crate) fn mutable_table_cache_params(&self, options: &ColumnFamilyOptions) -> MutableTableCacheParams {
        MutableTableCacheParams {
            table_options: Arc::new(options.table.clone()),
            // A flushed table may be somewhat larger than the memtable, and hardly more.
            max_pinned_l0_file_size: (options.write_buffer_size as u64).saturating_mul(3) / 2,
            block_cache: (!options.table.no_block_cache).then(|| Arc::clone(self.block_cache_of(options))),
        }
    }

    /// The cache of a family's blocks: its own, or the database's.
    pub(crate) fn block_cache_of<'a>(&'a self, options: &'a ColumnFamilyOptions) -> &'a Arc<TableBlockCache> {
        options.block_cache.as_ref().unwrap_or(self.reads.block_cache())
    }

    /// What the entries of a version have in blob files, for a job in the background.
    pub(crate) fn blobs_for_job(&self, column_family_id: u32, version: Arc<Version>) -> Arc<OwnedBlobView> {
        Arc::new(OwnedBlobView {
            source: Arc::clone(self.reads.blob_source()),
            version,
            column_family_id,
            verify_checksums: true,
            read_tier: ReadTier::All,
            context: ReadContext::default(),
        })
    }

    #[inline]
    pub(crate) fn visible(&self) -> SequenceNumber {
        self.writes.visible()
    }

    pub(crate) fn default_family(&self) -> Result<Arc<ColumnFamilyData>> {
        let families = self.families.load();
        families.get(0).cloned().ok_or_else(|| Error::corruption("the database has no default column family"))
    }
}

/// How tables and blob files are opened for reading.
fn file_options(options: &DbOptions) -> RandomAccessOptions {
    RandomAccessOptions {
        direct: options.use_direct_reads,
        mmap: options.allow_mmap_reads && !options.use_direct_reads,
        advise_random: options.advise_random_on_open,
    }
}

/// Closes the database when the last clone of [`Db`] goes.
struct Handle {
    core: Arc<DbCore>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Err(error) = self.core.close() {
            self.core.events.log().error(|| format!("closing: {error}"));
        }
    }
}

/// An open database. Cheap to clone, `Send` and `Sync`; the last clone closes it.
///
/// ```
/// # extern crate ferrock_engine as ferrock;
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// let mut options = ferrock::DbOptions::default();
/// options.create_if_missing = true;
/// let db = ferrock::Db::open(directory.path(), options)?;
/// db.put(b"key", b"value")?;
/// assert_eq!(db.get(b"key")?.as_deref(), Some(&b"value"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Db {
    handle: Arc<Handle>,
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db").field("path", &self.core().files.database()).finish_non_exhaustive()
    }
}

impl Db {
    pub(crate) fn from_core(core: Arc<DbCore>) -> Self {
        Self { handle: Arc::new(Handle { core }) }
    }

    pub(crate) fn core(&self) -> &Arc<DbCore> {
        &self.handle.core
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.core().files.database()
    }

    /// The database's identity, as in the file IDENTITY.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.core().db_id
    }

    /// The newest sequence number.
    #[must_use]
    pub fn latest_sequence_number(&self) -> SequenceNumber {
        self.core().visible()
    }

    /// Settings that do not do what was asked for: values that were out of their bounds and what is used instead, hints
    /// without effect here, what an OPTIONS file has and could not be taken over as it is, and compaction styles that
    /// have no automatic compaction here. Of an option that is set again and again, the last note stays.
    #[must_use]
    pub fn option_notes(&self) -> Vec<String> {
        self.core().option_notes.all()
    }

    /// A state of the whole database that stays readable until the last clone of the snapshot goes.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"before")?;
    /// let snapshot = db.snapshot();
    /// db.put(b"key", b"after")?;
    /// let then = ferrock::ReadOptions { snapshot: Some(snapshot), ..Default::default() };
    /// assert_eq!(db.get_with(&then, b"key")?.as_deref(), Some(&b"before"[..]));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let core = self.core();
        core.reads.snapshots().take(core.clock.unix_seconds(), || core.visible())
    }

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
        self.core().write(batch, options)
    }

    /// As [`write`](Self::write), but the batch stays the caller's, without a copy. Once it is written its
    /// [`sequence`](WriteBatch::sequence) is the number of its first entry.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn write_lent(&self, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
        self.core().write_lent(batch, options)
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

    /// Removes a key of the default family that was put exactly once since it was last removed: see
    /// [`single_delete_cf`](Self::single_delete_cf).
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn single_delete(&self, key: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + 16);
        batch.single_delete(key)?;
        self.write(batch, &WriteOptions::default())
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

    /// Removes a key of a family.
    ///
    /// # Errors
    /// Those of [`write`](Self::write); a key that is not there is no error.
    pub fn delete_cf(&self, family: &ColumnFamily, key: &[u8], options: &WriteOptions) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + 16);
        batch.delete_cf(family.id(), key)?;
        self.write(batch, options)
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

    /// Merges an operand into the value of a key of a family.
    ///
    /// # Errors
    /// `NotSupported` when the family has no merge operator; else those of [`write`](Self::write).
    pub fn merge_cf(&self, family: &ColumnFamily, key: &[u8], operand: &[u8], options: &WriteOptions) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + operand.len() + 20);
        batch.merge_cf(family.id(), key, operand)?;
        self.write(batch, options)
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
        let core = self.core();
        core.check_open()?;
        let logs = core.writes.logs();
        let result = if sync { logs.sync() } else { logs.flush() };
        result.inspect_err(|error| core.set_background_error(Reason::Write, error))
    }

    /// Makes every write that returned before durable.
    ///
    /// # Errors
    /// Those of [`flush_wal`](Self::flush_wal).
    pub fn sync_wal(&self) -> Result<()> {
        self.flush_wal(true)
    }

    /// The value of a key of the default family.
    ///
    /// # Errors
    /// Those of [`get_cf`](Self::get_cf).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// if let Some(value) = db.get(b"key")? {
    ///     // Pinned in its block, not copied.
    ///     assert_eq!(&value[..], b"value");
    /// }
    /// assert!(db.get(b"other")?.is_none());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn get(&self, key: &[u8]) -> Result<Option<PinnedSlice>> {
        self.get_with(&ReadOptions::default(), key)
    }

    /// The value of a key of the default family.
    ///
    /// # Errors
    /// Those of [`get_cf`](Self::get_cf).
    pub fn get_with(&self, options: &ReadOptions, key: &[u8]) -> Result<Option<PinnedSlice>> {
        let data = self.core().default_family()?;
        self.core().get(&data, options, key)
    }

    /// The value of a key of a family.
    ///
    /// # Errors
    /// A key that is not there is `Ok(None)`. `Corruption` naming file and offset when a block is damaged or the merge
    /// operator fails, `Io` when a file cannot be read, `Incomplete` when [`read_tier`](ReadOptions::read_tier) forbids
    /// the read, `TimedOut` after the deadline of the options, `MemoryLimit` when a block does not fit into a cache
    /// that refuses what is too much, `InvalidArgument` for merge operands without an operator.
    pub fn get_cf(&self, family: &ColumnFamily, options: &ReadOptions, key: &[u8]) -> Result<Option<PinnedSlice>> {
        self.core().get(&family.data, options, key)
    }

    /// Closes the database and says whether everything was written. Without it the last clone closes silently.
    ///
    /// # Errors
    /// The first error of flushing what no log has and of closing the log. The database is closed all the same, and
    /// acknowledged writes that are in the log are recovered by the next open.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// db.close()?;
    /// let db = ferrock::Db::open(directory.path(), ferrock::DbOptions::default())?;
    /// assert!(db.get(b"key")?.is_some());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn close(self) -> Result<()> {
        self.core().close()
    }
}
