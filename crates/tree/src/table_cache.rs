//! Open tables, by file.
//!
//! ```text
//! max_open_files = -1    a table, once opened, stays open: a slot in its FileMetadata, no lock, no look-up
//! max_open_files = n     at most n tables of the whole database: shards of a clock cache, evicted ones are reopened
//! ```
//!
//! The number of files that the process may open bounds both ([`OpenFileBudget`]). With -1, three quarters of the
//! budget for tables go to tables that stay open; tables opened beyond that go through a cache with the rest. Where the
//! process runs out of descriptors all the same (other files are open too), a cached table is closed to open the one
//! that is needed, or a blob file. The tables that an iterator or a job reads at the same time are open at the same
//! time: every table of level 0 and one of each other level. If those are more than the process may open, the error
//! names the limit.
//!
//! A [`TableCache`] belongs to a column family, because how a table is opened depends on the family's options. What is
//! bounded is shared by all families: [`OpenTables`].
//!
//! The clock: a hit takes a shard's lock for reading and sets a flag; an insertion into a full shard moves a hand over
//! the slots, clears the flags it meets and takes the first slot without one. A table that is in use when it is evicted
//! is closed by its last user.

use crate::kept_table::{KeepPermit, KeptTable};
use crate::places::TablePaths;
use crate::version::{FileMetadata, FileStatistics};
use arc_swap::ArcSwap;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::thread::Spawner;
use ferrock_base::{Error, ErrorKind, FileNumber, InternalComparator, Result, Temperature};
use ferrock_format::file_name;
use ferrock_format::properties::decode_seqno_time_map;
use ferrock_statistics::{Histogram, Statistics, Ticker};
use ferrock_table::{
    BlockBasedTableOptions, CacheUsageOptions, ChargeDecision, PlainTableOptions, ReadStats, Table, TableBlockCache,
    TableReaderParams,
};
use ferrock_vfs::{FileSystem, IoActivity, RandomAccessFile, RandomAccessOptions, RateLimiter, limited};
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// When the oldest entry of a file had been written, by the times that its table has; 0: they do not say.
fn oldest_entry_by_secs(file: &FileMetadata, seqno_to_time_map: &[u8]) -> u64 {
    if seqno_to_time_map.is_empty() {
        return 0;
    }
    let pairs = decode_seqno_time_map(seqno_to_time_map).unwrap_or_default();
    pairs.iter().find(|pair| pair.seqno >= file.smallest_seqno).map_or(0, |pair| pair.time)
}

#[cfg(test)]
mod tests;

/// The open tables of a database.
#[derive(Debug)]
pub struct OpenTables {
    bound: ArcSwap<Bound>,
    kept: Arc<AtomicUsize>,
    budget: Option<OpenFileBudget>,
}

/// How many tables may be open, and those of them that another may take the place of.
#[derive(Debug)]
struct Bound {
    /// How many tables may stay open in their `FileMetadata`.
    most_kept: usize,
    /// The others; `None` where all are kept.
    shards: Option<Box<[RwLock<Shard>]>>,
}

/// How many tables a database may have open where a process may have `process_limit` files open. A quarter, at least
/// 32 and at most 256, is set aside: for logs, the MANIFEST, outputs of jobs, rings, and what the program opens itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFileBudget {
    /// The process's limit.
    pub process_limit: u64,
    /// Tables within it.
    pub tables: usize,
}

impl OpenFileBudget {
    /// The budget of a process.
    #[must_use]
    pub fn new(process_limit: u64) -> Self {
        let set_aside = (process_limit / 4).clamp(32, 256);
        let tables = usize::try_from(process_limit.saturating_sub(set_aside)).unwrap_or(usize::MAX);
        Self { process_limit, tables: tables.max(4) }
    }
}

#[derive(Debug, Default)]
struct Shard {
    capacity: usize,
    positions: HashMap<FileNumber, usize>,
    slots: Vec<Slot>,
    hand: usize,
}

#[derive(Debug)]
struct Slot {
    number: FileNumber,
    table: Table,
    was_used: AtomicBool,
}

/// Shards of a large cache; a small one has one, so that its bound is exact for any set of files.
const SHARDS: usize = 16;

impl OpenTables {
    /// Keeps at most `max_open_files` tables open, and no more than the budget; a negative number sets no other bound.
    #[must_use]
    pub fn new(max_open_files: i32, budget: Option<OpenFileBudget>) -> Self {
        Self { bound: ArcSwap::from_pointee(Bound::new(max_open_files, budget)), kept: Arc::default(), budget }
    }

    /// Another bound, for tables that are opened from now on. Cached tables are closed, and opened again when they are
    /// read; those that are kept stay open for as long as they are in the tree, for readers hold them without a count.
    pub fn set_max_open_files(&self, max_open_files: i32) {
        self.bound.store(Arc::new(Bound::new(max_open_files, self.budget)));
    }

    /// A bound of blob files that are open, beside `max_open_files` tables; negative without one.
    #[must_use]
    pub fn blob_files_at_once(&self, max_open_files: i32) -> i32 {
        let most = self.budget.and_then(|budget| i32::try_from(budget.tables / 4).ok());
        match most {
            Some(most) if max_open_files < 0 || most < max_open_files => most,
            _ => max_open_files,
        }
    }

    /// Tables that may stay open in their `FileMetadata`.
    #[must_use]
    pub fn most_kept(&self) -> usize {
        self.bound.load().most_kept
    }

    /// A place among the tables that stay open, if one is free.
    fn keep(&self) -> Option<Arc<KeepPermit>> {
        let most_kept = self.most_kept();
        let more = |kept: usize| (kept < most_kept).then(|| kept + 1);
        self.kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Arc::new(KeepPermit::new(Arc::clone(&self.kept))))
    }

    /// Closes a table of the cache that nothing uses; false when there is none.
    fn close_one(&self) -> bool {
        self.bound.load().shards.iter().flatten().any(|shard| {
            let mut shard = shard.write();
            let unused = shard.slots.iter().find(|slot| slot.table.is_unshared()).map(|slot| slot.number);
            unused.is_some_and(|number| shard.remove(number))
        })
    }

    /// Opens a file. As long as `open` fails for lack of descriptors, tables of the cache that nothing uses are closed.
    ///
    /// # Errors
    /// Those of `open`. When descriptors are still lacking with every unused table closed, the message advises which
    /// limit to raise.
    pub fn make_room<T>(&self, mut open: impl FnMut() -> Result<T>) -> Result<T> {
        loop {
            match open() {
                Err(error) if error.is_out_of_descriptors() && self.close_one() => {}
                Err(error) if error.is_out_of_descriptors() => return Err(error.context(&self.advice())),
                outcome => return outcome,
            }
        }
    }

    /// What helps when no file can be closed for another.
    fn advice(&self) -> String {
        self.budget.map_or_else(
            || "raise the limit of open files (ulimit -n), or set max_open_files".to_owned(),
            |OpenFileBudget { process_limit, .. }| {
                format!(
                    "all {process_limit} files that the process may have open are in use: raise the limit (ulimit -n)"
                )
            },
        )
    }

    /// Tables open in a bounded cache.
    #[must_use]
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.bound.load().shards.iter().flatten().map(|shard| shard.read().slots.len()).sum()
    }

    /// True when a bounded cache has no table.
    #[must_use]
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn get(&self, number: FileNumber) -> Option<Table> {
        let bound = self.bound.load();
        let shard = bound.shard(number)?.read();
        let slot = &shard.slots[*shard.positions.get(&number)?];
        slot.was_used.store(true, Ordering::Relaxed);
        Some(slot.table.clone())
    }

    /// The table of a file, if it is open in the bounded cache.
    pub(crate) fn if_open(&self, number: FileNumber) -> Option<Table> {
        self.get(number)
    }

    /// Adds a table and returns it, or the one that another thread added first.
    fn insert(&self, number: FileNumber, table: Table) -> Table {
        let bound = self.bound.load();
        let Some(shard) = bound.shard(number) else { return table };
        let mut shard = shard.write();
        if let Some(&position) = shard.positions.get(&number) {
            return shard.slots[position].table.clone();
        }
        let slot = Slot { number, table: table.clone(), was_used: AtomicBool::new(false) };
        let position = if shard.slots.len() < shard.capacity {
            shard.slots.push(slot);
            shard.slots.len() - 1
        } else {
            let position = shard.victim();
            let evicted = std::mem::replace(&mut shard.slots[position], slot);
            shard.positions.remove(&evicted.number);
            position
        };
        shard.positions.insert(number, position);
        table
    }

    /// Closes a table whose file is to be deleted.
    pub fn evict(&self, number: FileNumber) {
        let bound = self.bound.load();
        let Some(shard) = bound.shard(number) else { return };
        shard.write().remove(number);
    }
}

impl Bound {
    fn new(max_open_files: i32, budget: Option<OpenFileBudget>) -> Self {
        let most = budget.map_or(usize::MAX, |budget| budget.tables);
        let (most_kept, capacity) = match (usize::try_from(max_open_files), budget) {
            (Ok(bound), _) => (0, bound.min(most)),
            (Err(_), Some(_)) => (most - most / 4, most / 4),
            (Err(_), None) => return Self { most_kept: usize::MAX, shards: None },
        };
        let count = if capacity >= SHARDS * 4 { SHARDS } else { 1 };
        let shard = || RwLock::new(Shard { capacity: (capacity / count).max(1), ..Shard::default() });
        Self { most_kept, shards: Some((0..count).map(|_| shard()).collect()) }
    }

    fn shard(&self, number: FileNumber) -> Option<&RwLock<Shard>> {
        let shards = self.shards.as_ref()?;
        shards.get(usize::try_from(number.0 % shards.len() as u64).ok()?)
    }
}

impl Shard {
    /// False when the table is not there.
    fn remove(&mut self, number: FileNumber) -> bool {
        let Some(position) = self.positions.remove(&number) else { return false };
        self.slots.swap_remove(position);
        if let Some(moved) = self.slots.get(position).map(|slot| slot.number) {
            self.positions.insert(moved, position);
        }
        true
    }

    fn victim(&mut self) -> usize {
        loop {
            self.hand = (self.hand + 1) % self.slots.len();
            if !self.slots[self.hand].was_used.swap(false, Ordering::Relaxed) {
                return self.hand;
            }
        }
    }
}

/// The part of [`TableCacheParams`] that may change while the family is open. It counts for tables that are opened from
/// then on.
#[derive(Clone, Debug)]
pub struct MutableTableCacheParams {
    /// Caching policy.
    pub table_options: Arc<BlockBasedTableOptions>,
    /// Size up to which a table of level 0 counts as one that a flush made.
    pub max_pinned_l0_file_size: u64,
    /// Cache of blocks.
    pub block_cache: Option<Arc<TableBlockCache>>,
    /// The family's prefix extractor.
    pub prefix_extractor: Option<PrefixExtractor>,
    /// How index and filter of plain tables are made that have none in their file.
    pub plain_options: Arc<PlainTableOptions>,
    /// Blocks keep checksums of their entries.
    pub protects_blocks: bool,
}

/// How the tables of a column family are opened.
#[derive(Clone, Debug)]
pub struct TableCacheParams {
    /// Where the files are.
    pub file_system: Arc<dyn FileSystem>,
    /// Directories, by path id.
    pub paths: TablePaths,
    /// Order of the keys.
    pub comparator: InternalComparator,
    /// What may change while the family is open.
    pub mutable: MutableTableCacheParams,
    /// What is charged to it beside blocks.
    pub cache_usage: CacheUsageOptions,
    /// The family's `bloom_locality`.
    pub bloom_locality: u32,
    /// How the files are opened; the temperature is that of tables without a recorded one.
    pub file_options: RandomAccessOptions,
    /// Compactions read past the page cache of the system, where others do not: `use_direct_io_for_compaction_reads`.
    pub are_compactions_direct: bool,
    /// Compare each table's unique id with the MANIFEST's.
    pub verify_unique_id: bool,
    /// The bounded cache, shared by all families.
    pub open_tables: Arc<OpenTables>,
    /// Asked by reads of the files whose options have a priority, if it limits reads.
    pub read_limiter: Option<Arc<dyn RateLimiter>>,
    /// Counters of the family's reads.
    pub read_stats: Arc<ReadStats>,
    /// The family's `num_levels`.
    pub num_levels: i32,
    /// What the database counts in.
    pub statistics: Option<Arc<Statistics>>,
}

/// Opens the tables of a column family and keeps them open.
pub struct TableCache {
    params: TableCacheParams,
    /// Replaces `params.mutable`.
    mutable: ArcSwap<MutableTableCacheParams>,
    /// A table with range deletions was opened.
    has_range_deletions: AtomicBool,
}

impl fmt::Debug for TableCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableCache").field("paths", &self.params.paths).finish_non_exhaustive()
    }
}

/// An open table: borrowed from the file's metadata where all tables stay open, shared otherwise.
#[derive(Clone, Debug)]
pub enum TableRef<'a> {
    /// Lives in the metadata.
    Borrowed(&'a Table),
    /// From a bounded cache.
    Shared(Table),
}

impl Deref for TableRef<'_> {
    type Target = Table;
    #[inline]
    fn deref(&self) -> &Table {
        match self {
            Self::Borrowed(table) => table,
            Self::Shared(table) => table,
        }
    }
}

impl TableCache {
    /// A cache for one family.
    #[must_use]
    pub fn new(params: TableCacheParams) -> Self {
        Self {
            mutable: ArcSwap::from_pointee(params.mutable.clone()),
            params,
            has_range_deletions: AtomicBool::new(false),
        }
    }

    /// What the database counts in.
    #[inline]
    #[must_use]
    pub fn statistics(&self) -> Option<&Arc<Statistics>> {
        self.params.statistics.as_ref()
    }

    /// The directories of the family's tables.
    pub fn paths(&self) -> &TablePaths {
        &self.params.paths
    }

    /// Opens tables in another way from now on.
    pub fn set_mutable(&self, mutable: MutableTableCacheParams) {
        self.mutable.store(Arc::new(mutable));
    }

    /// Counters of the family's reads.
    #[inline]
    #[must_use]
    pub fn read_stats(&self) -> &Arc<ReadStats> {
        &self.params.read_stats
    }

    /// The open table of `file`, for as long as the file's metadata is held. Point reads use this: where all tables
    /// stay open it touches no shared count.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    #[inline]
    pub fn get_ref<'a>(&self, file: &'a FileMetadata) -> Result<TableRef<'a>> {
        self.get_ref_for(file, IoActivity::Unknown)
    }

    /// As [`get_ref`](Self::get_ref), for some work: if the table is opened for it, its reads count as those of that.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    #[inline]
    pub fn get_ref_for<'a>(&self, file: &'a FileMetadata, activity: IoActivity) -> Result<TableRef<'a>> {
        match file.open_table().get() {
            Some(kept) => Ok(TableRef::Borrowed(kept.table())),
            None => self.get_slow(file, activity),
        }
    }

    /// As [`get_ref`](Self::get_ref), of a table that is open.
    #[inline]
    #[must_use]
    pub fn get_ref_if_open<'a>(&self, file: &'a FileMetadata) -> Option<TableRef<'a>> {
        match file.open_table().get() {
            Some(kept) => Some(TableRef::Borrowed(kept.table())),
            None => self.get_shared(file),
        }
    }

    #[inline(never)]
    fn get_shared<'a>(&self, file: &'a FileMetadata) -> Option<TableRef<'a>> {
        self.params.open_tables.get(file.number).map(TableRef::Shared)
    }

    /// The open table of `file`.
    ///
    /// # Errors
    /// `Io` and `Corruption` of opening the table; `MemoryLimit` when the block cache has no room for what an open
    /// table is charged with. An error is not kept: the next call tries again.
    pub fn get(&self, file: &FileMetadata) -> Result<Table> {
        self.get_for(file, IoActivity::Unknown)
    }

    /// As [`get`](Self::get), for some work.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub fn get_for(&self, file: &FileMetadata, activity: IoActivity) -> Result<Table> {
        Ok((*self.get_ref_for(file, activity)?).clone())
    }

    /// The open table, if it is open.
    #[must_use]
    pub fn get_if_open(&self, file: &FileMetadata) -> Option<Table> {
        file.open_table().get().map(|kept| kept.table().clone()).or_else(|| self.params.open_tables.get(file.number))
    }

    #[cold]
    fn get_slow<'a>(&self, file: &'a FileMetadata, activity: IoActivity) -> Result<TableRef<'a>> {
        let open_tables = &self.params.open_tables;
        if let Some(table) = open_tables.get(file.number) {
            return Ok(TableRef::Shared(table));
        }
        let table = self.open_with(file, &self.params.file_options, self.params.cache_usage, activity)?;
        if let Some(permit) = open_tables.keep() {
            // Of two threads that open the same table, the first one's stays.
            let kept = file.open_table().get_or_init(|| KeptTable::new(table, permit));
            if let Some(fragments) = kept.table().range_tombstones() {
                file.set_range_tombstones(fragments, true);
            }
            return Ok(TableRef::Borrowed(kept.table()));
        }
        Ok(TableRef::Shared(open_tables.insert(file.number, table)))
    }

    /// True once a table with range deletions was opened: what they cover may be dropped.
    #[must_use]
    pub fn has_range_deletions(&self) -> bool {
        self.has_range_deletions.load(Ordering::Acquire)
    }

    /// The open table of `file`, for a job in the background. Where the block cache has no room for the charge of an
    /// open table, it is opened uncharged and closed by the job: a full cache stops neither flushes nor compactions.
    ///
    /// # Errors
    /// `Io` and `Corruption` of opening the table.
    pub fn get_for_job(&self, file: &FileMetadata, activity: IoActivity) -> Result<Table> {
        match self.get_for(file, activity) {
            Err(error) if error.kind() == ErrorKind::MemoryLimit => self.open_uncharged(file, activity),
            outcome => outcome,
        }
    }

    /// The table of `file` for a compaction that reads it: opened for that alone where compactions read in another way
    /// than the others.
    ///
    /// # Errors
    /// `Io` and `Corruption` of opening the table; those of a file system that cannot read directly.
    pub fn get_for_compaction(&self, file: &FileMetadata) -> Result<Table> {
        if !self.params.are_compactions_direct || self.params.file_options.direct {
            return self.get_for_job(file, IoActivity::Compaction);
        }
        let options = RandomAccessOptions { direct: true, mmap: false, ..self.params.file_options };
        self.open_with(file, &options, self.uncharged(), IoActivity::Compaction)
    }

    /// Opens the table of `file` for some work without keeping it, and without charging it to the block cache.
    ///
    /// # Errors
    /// `Io` and `Corruption` of opening the table.
    pub fn open_uncharged(&self, file: &FileMetadata, activity: IoActivity) -> Result<Table> {
        self.open_with(file, &self.params.file_options, self.uncharged(), activity)
    }

    fn uncharged(&self) -> CacheUsageOptions {
        CacheUsageOptions { block_based_table_reader: ChargeDecision::Disabled, ..self.params.cache_usage }
    }

    /// Opens the table of `file` without keeping it, and counts that.
    fn open_with(
        &self,
        file: &FileMetadata,
        how: &RandomAccessOptions,
        cache_usage: CacheUsageOptions,
        activity: IoActivity,
    ) -> Result<Table> {
        let Some(statistics) = &self.params.statistics else {
            return self.open_uncounted(file, how, cache_usage, activity);
        };
        let begun_us = self.params.read_stats.now_us();
        let opened = self.open_uncounted(file, how, cache_usage, activity);
        if let Some(recorder) = statistics.recorder() {
            recorder.add(if opened.is_ok() { Ticker::NoFileOpens } else { Ticker::NoFileErrors }, 1);
            if recorder.is_timing() {
                let took_us = self.params.read_stats.now_us().saturating_sub(begun_us);
                recorder.record(Histogram::TableOpenIoMicros, took_us);
            }
        }
        opened
    }

    fn open_uncounted(
        &self,
        file: &FileMetadata,
        how: &RandomAccessOptions,
        cache_usage: CacheUsageOptions,
        activity: IoActivity,
    ) -> Result<Table> {
        let params = &self.params;
        let mutable = self.mutable.load();
        let handle = self.open_file(file, how)?;
        let unique_id = file.unique_id.filter(|_| params.verify_unique_id).map(|[low, high]| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&low.to_le_bytes());
            bytes[8..].copy_from_slice(&high.to_le_bytes());
            bytes
        });
        let path = handle.path().to_path_buf();
        let table = Table::open(TableReaderParams {
            file_size: file.size_bytes,
            file_number: file.number,
            level: i32::try_from(file.level).unwrap_or(-1),
            is_last_level: i32::try_from(file.level).is_ok_and(|level| level + 1 == params.num_levels),
            temperature: file.temperature,
            activity,
            max_pinned_l0_file_size: mutable.max_pinned_l0_file_size,
            options: Arc::clone(&mutable.table_options),
            cache: mutable.block_cache.clone(),
            cache_usage,
            prefix_extractor: mutable.prefix_extractor.clone(),
            plain_options: Arc::clone(&mutable.plain_options),
            bloom_locality: params.bloom_locality,
            protects_blocks: mutable.protects_blocks,
            largest_sequence: Some(file.largest_seqno),
            expected_unique_id: unique_id,
            read_stats: Some(Arc::clone(&params.read_stats)),
            statistics: params.statistics.clone(),
            tail_size: (file.tail_size_bytes > 0).then_some(file.tail_size_bytes),
            ..TableReaderParams::new(handle, Arc::clone(&params.file_system), params.comparator.clone())
        })
        .map_err(|error| error.in_file(path))?;
        let properties = table.properties();
        // Tables without the property: the time of their oldest entry is all that they say, and RocksDB goes by it.
        let newest = properties.newest_key_time.filter(|time| *time > 0).unwrap_or(properties.creation_time);
        file.set_newest_key_time_secs(newest);
        file.set_oldest_entry_by_secs(oldest_entry_by_secs(file, &properties.seqno_to_time_map));
        file.set_statistics(FileStatistics {
            num_entries: properties.num_entries,
            num_deletions: properties.num_deletions,
            num_range_deletions: properties.num_range_deletions,
            raw_key_size_bytes: properties.raw_key_size,
            raw_value_size_bytes: properties.raw_value_size,
        });
        if let Some(fragments) = table.range_tombstones() {
            file.set_range_tombstones(fragments, false);
            self.has_range_deletions.store(true, Ordering::Release);
        }
        Ok(table)
    }

    /// Opens the file under its name, or the name that LevelDB gave tables.
    fn open_file(&self, file: &FileMetadata, how: &RandomAccessOptions) -> Result<Arc<dyn RandomAccessFile>> {
        let params = &self.params;
        let temperature = match file.temperature {
            Temperature::Unknown => how.temperature,
            recorded => recorded,
        };
        let options = RandomAccessOptions { temperature, ..*how };
        let open = |name: String| {
            let location = params.paths.locate(file.path_id, &name);
            let file = params.open_tables.make_room(|| location.open(&*params.file_system, &options))?;
            Ok(limited(file, params.read_limiter.as_ref()))
        };
        open(file_name::table(file.number)).or_else(|error: Error| {
            if !error.is_not_found() {
                return Err(error);
            }
            open(file_name::legacy_table(file.number)).map_err(|_| match params.paths.has(file.path_id) {
                true => error,
                false => not_in_its_path(file.number, file.path_id, &params.paths),
            })
        })
    }

    /// Forgets the table of a file that is to be deleted.
    #[cfg(test)]
    pub fn evict(&self, number: FileNumber) {
        self.params.open_tables.evict(number);
    }
}

/// For a table that is not where the options say it is.
pub fn not_in_its_path(number: FileNumber, path_id: u32, paths: &TablePaths) -> Error {
    let directory = paths.directory(path_id);
    Error::invalid_argument(format!(
        "the table is not in path {path_id}, where the MANIFEST has it; the options name {} and say {} for it: give \
         db_paths and cf_paths as they were when it was written",
        paths.count(),
        directory.display(),
    ))
    .in_file(directory.join(file_name::table(number)))
}

/// Tables of a thread, at least: beginning and joining it is not free, and once a second thread ran, each unmapping in
/// the process interrupts both cores.
const TABLES_PER_THREAD: usize = 4;

/// Opens `files` on up to `threads` threads, each through its family's cache; the first error in order is returned,
/// with every file tried. A bounded cache is filled to its bound by the first files.
///
/// # Errors
/// The error of the first file, in order, that did not open; that of `spawner` when it has no thread.
pub fn open_all(spawner: &dyn Spawner, threads: usize, files: Vec<(Arc<TableCache>, Arc<FileMetadata>)>) -> Result<()> {
    let threads = threads.clamp(1, (files.len() / TABLES_PER_THREAD).max(1));
    let work = Arc::new(Work { files, next: AtomicUsize::new(0), first_error: Mutex::new(None) });
    let mut joins = Vec::new();
    for index in 1..threads {
        let work = Arc::clone(&work);
        joins.push(spawner.spawn(&format!("ferrock-open-{index}"), Box::new(move || work.run()))?);
    }
    work.run();
    for join in joins {
        join.join()?;
    }
    let first_error = work.first_error.lock().take();
    first_error.map_or(Ok(()), |(_, error)| Err(error))
}

struct Work {
    files: Vec<(Arc<TableCache>, Arc<FileMetadata>)>,
    next: AtomicUsize,
    first_error: Mutex<Option<(usize, Error)>>,
}

impl Work {
    fn run(&self) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((cache, file)) = self.files.get(index) else { return };
            if let Err(error) = cache.get_ref_for(file, IoActivity::DbOpen) {
                let mut first = self.first_error.lock();
                if first.as_ref().is_none_or(|(earlier, _)| index < *earlier) {
                    *first = Some((index, error));
                }
            }
        }
    }
}
