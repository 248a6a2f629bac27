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
mod interface;
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

use crate::background_error::BackgroundError;
use crate::column_family::{ColumnFamilyData, FamilyMap};
use crate::events::Events;
use crate::files::FileRegistry;
use crate::metrics::Metrics;
use crate::options::{ColumnFamilyOptions, DbOptions};
use crate::reads::ReadPath;
use crate::settings::{Environment, Identity, LiveOptions};
use crate::write::WritePath;
use arc_swap::ArcSwap;
use auto_resume::AutoResume;
use ferrock_base::clock::Alarm;
use ferrock_base::{Error, ErrorKind, FileNumber, InternalComparator, Result, SequenceNumber};
use ferrock_memtable::MemTable;
use ferrock_table::{ReadStats, ReadTier, TableBlockCache};
use ferrock_tree::blob::OwnedBlobView;
use ferrock_tree::compaction::choice::RunningCompactions;
use ferrock_tree::table_cache::{MutableTableCacheParams, TableCache, TableCacheParams};
use ferrock_tree::version::{Version, VersionSet};
use ferrock_vfs::{RandomAccessOptions, ReadContext};
use parking_lot::{Condvar, Mutex};

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

pub use async_get::GetAsync;
pub use async_multi_get::MultiGetAsync;
pub use async_scan::{AsyncScan, NextBatch, ScanBatch};
pub use interface::Db;
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
    pub(crate) options: LiveOptions,
    pub(crate) env: Environment,
    pub(crate) identity: Identity,
    pub(crate) is_read_only: bool,
    pub(crate) files: Arc<FileRegistry>,
    pub(crate) events: Events,
    pub(crate) metrics: Metrics,
    /// Has its own lock, which is taken last.
    pub(crate) versions: VersionSet,
    pub(crate) writes: WritePath,
    /// Held from the moment a change of the tables is logged until readers have it. Without it a job that installs the
    /// current version could show a flushed table beside the memtable it was made from, and merge operands would
    /// count twice.
    pub(crate) installs: Mutex<()>,
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
            file_system: Arc::clone(&self.env.file_system),
            paths: self.files.places().add_family(family, options),
            comparator: InternalComparator::new(options.comparator.clone()),
            mutable: self.mutable_table_cache_params(options),
            cache_usage: options.cache_usage,
            prefix_extractor: options.prefix_extractor.clone(),
            file_options: file_options(&db),
            verify_unique_id: db.verify_sst_unique_id_in_manifest,
            open_tables: Arc::clone(self.files.open_tables()),
            read_stats: Arc::new(ReadStats::new(Arc::clone(&self.env.clock))),
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
