//! The database: its parts ([`JobScheduler`], [`FileRegistry`], [`WritePath`], [`ReadPath`], [`DatabaseCounters`],
//! [`Events`], ...), and the journeys through them. A journey is a file of functions; [`Db`] in `interface/` is what
//! programs call.
//!
//! ```text
//! open.rs       directory -> locks, MANIFEST, logs, OPTIONS -> DbCore     recovery.rs   logs -> memtables -> tables
//! write.rs      batch -> queue -> log -> memtable                         switch_memtable.rs full memtables, new logs
//! search.rs     key -> memtables -> tables                               read.rs       iterators
//! in_place_updates.rs puts that are changes                               flush.rs      immutable memtables -> level 0
//! compact.rs    choice -> job -> new tables                               manual.rs     flush, compact_range
//! resume.rs     the way back to writing after a background error          auto_resume.rs the same without a call
//! background.rs the database as the host of its jobs; closing             cleanup.rs    which files are needed
//! families.rs   create, drop, change options                              properties.rs what a program may ask
//! destroy.rs    a database's files, and nothing else                      approximate.rs sizes by the index
//! in_memory.rs  files in memory; from a directory and to one              named_files.rs compact_files
//! async_get.rs  a key, as a future                                        async_multi_get.rs many keys, as one
//! async_search.rs the search of both, where it waits                      async_scan/    rows in batches, as futures
//! multi_get.rs  many keys, in rounds of reads                             multi_scan.rs many ranges, planned together
//! log_survey.rs what recovery would take of the logs
//! job_env.rs    what a job works with                                     versions.rs   every version of a key
//! job_events.rs what listeners are told of jobs                          event_log.rs  the same as lines of the LOG
//! ingest/       tables from outside -> files of the database     metrics.rs    all numbers as one value
//! storage_info.rs what a copy is made of                            updates/      the logs as batches, for replication
//! views.rs      what a follower of another process shows                   stats.rs     what is told as time passes
//! stats_history.rs how statistics grew, period by period                 read_history.rs the same, read
//! stats_timer.rs one thread of the process that has it told               timers.rs    what a database has of it
//! remote.rs     compactions that another process runs                     open_and_compact.rs the other process
//! ```
//!
//! Locks, in the order in which they may be taken: leadership of the write queue, then `core.installs`, then those of
//! the parts, each inside its own folder: the scheduler of jobs, the version set, the logs, leaves. Readers take none
//! of them. `docs/architecture.md` has the whole order, and what may be done under each.
//!
//! Life: [`Db`] clones share a handle; dropping the last one closes the database. Jobs in the background hold the core,
//! not the handle. Iterators and snapshots hold what they read, not the database, so closing never waits for them.

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
mod direct_writes;
mod event_log;
mod families;
mod file_checksums;
mod file_hold;
mod flush;
mod in_memory;
mod in_place_updates;
mod ingest;
mod interface;
mod iter_source;
mod job_env;
mod job_events;
mod live_file;
#[cfg(test)]
mod locks;
mod log_blobs;
mod log_survey;
mod make_room;
mod manual;
mod manual_files;
mod manual_turn;
mod map_properties;
mod metrics;
mod multi_get;
mod multi_scan;
mod named_files;
mod open;
mod open_and_compact;
mod options_file;
mod properties;
mod read;
mod read_history;
mod recovery;
mod remote;
mod resume;
mod search;
mod snapshots;
mod space;
mod stats;
mod stats_history;
mod stats_timer;
mod storage_info;
mod successive_merges;
mod switch_memtable;
mod timers;
mod tracked_logs;
mod updates;
mod versions;
mod views;
mod wakeups;
mod write;

use crate::column_family::{ColumnFamilyData, FamilyMap};
use crate::events::Events;
use crate::files::FileRegistry;
use crate::jobs::JobScheduler;
use crate::metrics::DatabaseCounters;
use crate::options::{ColumnFamilyOptions, DbOptions};
use crate::reads::ReadPath;
use crate::seqno_times::SeqnoTimes;
use crate::settings::{Environment, Identity, LiveOptions};
use crate::trace::Tracer;
use crate::write::WritePath;
use arc_swap::ArcSwap;
use ferrock_base::{InternalComparator, Result, SequenceNumber};
use ferrock_cache::EntryRole;
use ferrock_table::{ReadStats, ReadTier, TableBlockCache};
use ferrock_tree::blob::{BlobCache, DirectPlace, KeepFiles, OwnedBlobView};
use ferrock_tree::counted_callbacks::counted_limiter;
use ferrock_tree::places::TablePaths;
use ferrock_tree::table_cache::{MutableTableCacheParams, TableCache, TableCacheParams};
use ferrock_tree::version::{Version, VersionSet};
use ferrock_vfs::{IoKind, IoPriority, RandomAccessOptions, RateLimiter, ReadContext};
use parking_lot::{Mutex, RwLockReadGuard};
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub use async_get::GetAsync;
pub use async_multi_get::MultiGetAsync;
pub use async_scan::{AsyncScan, NextBatch, ScanBatch};
pub use ferrock_tree::compaction::picker::UserKeyRange;
pub use file_hold::FileHold;
pub use ingest::{ExportImportFilesMetadata, ExportedFile, IngestExternalFileArg};
pub use interface::{Db, WeakDb};
pub use live_file::LiveFile;
pub use log_survey::{LogSurvey, survey_logs};
pub use map_properties::MAP_PROPERTIES;
pub use multi_scan::{MultiScan, ScanRange, ScanRow};
pub use open::ColumnFamilyDescriptor;
pub(crate) use open::file_system_of;
pub use open_and_compact::{
    CompactionServiceOptionsOverride, OpenAndCompactOptions, TableOverride, failed_compaction_result, open_and_compact,
};
pub use properties::{INTEGER_PROPERTIES, TEXT_PROPERTIES};
pub use read::Iter;
pub use read_history::{StatsHistory, StatsHistoryEntry};
pub use search::PinnedSlice;
pub use storage_info::{LiveFileStorageInfo, LiveFilesStorageOptions};
pub use updates::{WalBatch, WalFile, WalIterator, WalKind, WalReadOptions};
pub use versions::{KeyVersion, KeyVersions};

/// Everything an open database is made of.
pub(crate) struct DbCore {
    pub(crate) options: LiveOptions,
    pub(crate) env: Environment,
    pub(crate) identity: Identity,
    pub(crate) files: Arc<FileRegistry>,
    pub(crate) events: Arc<Events>,
    pub(crate) metrics: DatabaseCounters,
    /// Has its own lock, which is taken last.
    pub(crate) versions: VersionSet,
    pub(crate) writes: WritePath,
    /// Held from the moment a change of the tables is logged until readers have it. Without it a job that installs the
    /// current version could show a flushed table beside the memtable it was made from, and merge operands would
    /// count twice.
    pub(crate) installs: Mutex<()>,
    pub(crate) jobs: JobScheduler,
    pub(crate) families: ArcSwap<FamilyMap>,
    pub(crate) reads: ReadPath,
    /// Has its own lock, which is a leaf.
    pub(crate) seqno_times: SeqnoTimes,
    pub(crate) wakeups: timers::Wakeups,
    /// Has its own lock, under which that of the timer is taken.
    pub(crate) timer_place: timers::TimerPlace,
    /// Has its own lock, which is a leaf. Iterators hold it, too.
    pub(crate) tracer: Arc<Tracer>,
    /// Set where the database follows another process's.
    pub(crate) secondary: OnceLock<views::Views>,
}

impl DbCore {
    /// The cache through which the tables of a family are opened.
    pub(crate) fn new_table_cache(&self, family: u32, options: &ColumnFamilyOptions) -> Arc<TableCache> {
        self.table_cache_in(self.files.places().add_family(family, options), options)
    }

    /// One that also has the tables of a directory outside of the database, and the path id of that directory.
    pub(crate) fn table_cache_with_output(
        &self,
        options: &ColumnFamilyOptions,
        inputs: &TableCache,
        output: &Path,
    ) -> (Arc<TableCache>, u32) {
        let (paths, path_id) = inputs.paths().with_output(output);
        (self.table_cache_in(paths, options), path_id)
    }

    fn table_cache_in(&self, paths: TablePaths, options: &ColumnFamilyOptions) -> Arc<TableCache> {
        let db = self.options.load();
        Arc::new(TableCache::new(TableCacheParams {
            file_system: Arc::clone(&self.env.file_system),
            paths,
            comparator: InternalComparator::new(options.comparator.clone()),
            mutable: self.mutable_table_cache_params(options),
            cache_usage: options.cache_usage,
            bloom_locality: options.bloom_locality,
            file_options: RandomAccessOptions { temperature: options.default_temperature, ..file_options(&db) },
            are_compactions_direct: db.use_direct_io_for_compaction_reads,
            verify_unique_id: db.verify_sst_unique_id_in_manifest,
            open_tables: Arc::clone(self.files.open_tables()),
            read_limiter: self.rate_limiter(&db, IoKind::Read),
            read_stats: Arc::new(ReadStats::new(Arc::clone(&self.env.clock))),
            num_levels: options.num_levels,
            statistics: self.metrics.statistics().cloned(),
        }))
    }

    /// What limits reads, or writes, if anything does.
    pub(crate) fn rate_limiter(&self, db: &DbOptions, kind: IoKind) -> Option<Arc<dyn RateLimiter>> {
        counted_limiter(db.components.rate_limiter.as_ref(), self.metrics.statistics(), &self.env.clock, kind)
    }

    /// What of that follows the options while the family is open.
    pub(crate) fn mutable_table_cache_params(&self, options: &ColumnFamilyOptions) -> MutableTableCacheParams {
        MutableTableCacheParams {
            table_options: Arc::new(options.table.clone()),
            // A flushed table may be somewhat larger than the memtable, and hardly more.
            max_pinned_l0_file_size: (options.write_buffer_size as u64).saturating_mul(3) / 2,
            block_cache: (!options.table.no_block_cache).then(|| Arc::clone(self.block_cache_of(options))),
            prefix_extractor: options.prefix_extractor.clone(),
            plain_options: options.table_factory.plain_options(),
            protects_blocks: options.block_protection_bytes_per_key > 0,
        }
    }

    /// The cache of a family's blocks: its own, or the database's.
    pub(crate) fn block_cache_of<'a>(&'a self, options: &'a ColumnFamilyOptions) -> &'a Arc<TableBlockCache> {
        options.block_cache.as_ref().unwrap_or(self.reads.block_cache())
    }

    /// The cache of a family's values in blob files: its own, or that of the memory budget.
    pub(crate) fn new_blob_cache(&self, options: &ColumnFamilyOptions) -> Option<Arc<BlobCache>> {
        let budget = self.options.load().components.memory_budget.as_ref().map(|budget| Arc::clone(budget.cache()));
        let cache = options.blob_cache.clone().or(budget)?;
        let is_charged = options.cache_usage.is_charged(EntryRole::BlobCache);
        let charged_to = is_charged.then(|| self.block_cache_of(options));
        let cache = BlobCache::new(cache, self.reads.blob_session(), charged_to);
        Some(Arc::new(cache.counting(self.metrics.statistics().cloned())))
    }

    /// Where a family's values are written at once, if it is opened for that.
    pub(crate) fn direct_place(&self, column_family_id: u32, tables: &TableCache) -> Option<DirectPlace> {
        Some(DirectPlace {
            file_system: Arc::clone(&self.env.file_system),
            directory: tables.paths().directory(0).to_path_buf(),
            column_family_id,
            keeper: Arc::clone(&self.files) as Arc<dyn KeepFiles>,
            checksums: self.options.load().components.file_checksum_gen_factory.clone(),
        })
    }

    /// What the entries of a version have in blob files, for a job in the background.
    pub(crate) fn blobs_for_job(&self, column_family_id: u32, version: Arc<Version>) -> Arc<OwnedBlobView> {
        Arc::new(OwnedBlobView {
            source: Arc::clone(self.reads.blob_source()),
            version,
            column_family_id,
            // Not even looked at: a value may have been cached without a look at its checksum.
            cache: None,
            fill_cache: false,
            verify_checksums: true,
            read_tier: ReadTier::All,
            context: ReadContext { rate_limiter_priority: Some(IoPriority::Low), ..ReadContext::default() },
        })
    }

    /// Makes everything that was logged durable, and the values that it refers to.
    pub(crate) fn sync_logs(&self) -> Result<()> {
        // Most of it while writers go on.
        direct_writes::sync_values(self)?;
        let sync = || self.writes.logs().sync_behind(&|| direct_writes::sync_values(self));
        self.metrics.timed_sync(&*self.env.clock, sync)?;
        tracked_logs::record(self)
    }

    #[inline]
    pub(crate) fn visible(&self) -> SequenceNumber {
        self.writes.publisher().visible()
    }

    /// Keeps the views of all families those of one moment, where they are replaced together. Held for a moment.
    pub(crate) fn hold_views(&self) -> Option<RwLockReadGuard<'_, ()>> {
        self.secondary.get().map(views::Views::hold)
    }

    pub(crate) fn default_family(&self) -> Result<Arc<ColumnFamilyData>> {
        self.families.load().default_family().cloned()
    }
}

/// How tables and blob files are opened for reading.
fn file_options(options: &DbOptions) -> RandomAccessOptions {
    RandomAccessOptions {
        direct: options.use_direct_reads,
        mmap: options.allow_mmap_reads.is_on() && !options.use_direct_reads,
        advise_random: options.advise_random_on_open,
        ..RandomAccessOptions::default()
    }
}
