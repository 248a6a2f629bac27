//! Reading a range, as of one sequence number.
//!
//! A read pins the SuperVersion first and takes its sequence number afterwards: what flush
//! and compaction drop is older than any number taken later.

use super::search::{PinnedSlice, blob_view, view_for};
use super::{Db, DbCore};
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::options::ReadOptions;
use crate::resting::{IterCore, IterOwner};
use crate::snapshot::Snapshot;
use crate::super_version::thread_ordinal;
use ferrock_base::{Error, Result};
use ferrock_table::{LimitReads, PlannedRead, ScanBounds, TableReadOptions};
use ferrock_tree::blob::{FetchBlob, OwnedBlobView};
use ferrock_tree::iterator::tables::{Child, table_file_iterator, table_level_iterator};
use ferrock_tree::iterator::{
    ChildIterator, DbIterator, DbIteratorOptions, MergingIterator, RangeTombstoneSource, ReadSet, ScanMemory,
    SourceIterator,
};
use ferrock_tree::read::ReadView;
use ferrock_vfs::{ReadBuffer, ReadClass};
use std::sync::Arc;

/// An iterator over a family.
pub(crate) fn iter(core: &Arc<DbCore>, data: &Arc<ColumnFamilyData>, options: &ReadOptions) -> Iter {
    let moment = Moment::now(core, data, options);
    match moment.wake_resting(options) {
        Some(woken) => woken,
        None => IterSource::of(core, data, options, moment).iter(options, false),
    }
}

/// What a read sees.
struct Moment {
    pinned: Arc<SuperVersion>,
    view: ReadView,
    /// Of the runs of deleted keys that are true at that moment.
    generation: Option<u64>,
}

impl Moment {
    fn now(core: &DbCore, data: &ColumnFamilyData, options: &ReadOptions) -> Self {
        let generation = data.outside_changes.generation();
        let pinned = data.super_version.load();
        let generation = generation.filter(|before| data.outside_changes.generation() == Some(*before));
        Self { pinned, view: view_for(core, options), generation }
    }

    /// The iterator that rests where one of these options would be made of the same things.
    fn wake_resting(&self, options: &ReadOptions) -> Option<Iter> {
        let (thread, pinned) = (thread_ordinal(), &self.pinned);
        // Its tombstones of the memtable are those of an earlier time.
        if pinned.memtable.num_range_deletes() > 0 {
            return None;
        }
        let mut core = pinned.resting.take(thread, &options.for_table())?;
        core.reads.1 = thread;
        let owner = IterOwner::new(pinned, options.snapshot.clone());
        core.iter.wake(owner, |settings| {
            set_reader(settings, options, self.view.clone());
            if let Some(memory) = &mut settings.memory {
                (memory.min_run, memory.generation) = deleted_runs(pinned, options, self.generation);
            }
        });
        Some(Iter::new(core, options))
    }
}

/// Sets what each reader has for itself.
fn set_reader(settings: &mut DbIteratorOptions, options: &ReadOptions, view: ReadView) {
    settings.view = view;
    settings.lower_bound.clone_from(&options.lower_bound);
    settings.upper_bound.clone_from(&options.upper_bound);
    settings.prefix_same_as_start = options.prefix_same_as_start;
    settings.limit_hint = options.limit_hint;
    settings.limit_reads = options.limit_reads;
    settings.max_skippable_internal_keys = options.max_skippable_internal_keys;
}

/// What iterators of one moment are made from. Keeps that moment, not the database.
pub(super) struct IterSource {
    data: Arc<ColumnFamilyData>,
    pinned: Arc<SuperVersion>,
    view: ReadView,
    snapshot: Option<Snapshot>,
    blobs: Arc<OwnedBlobView>,
    memory: ScanMemory,
}

impl IterSource {
    pub(super) fn new(core: &Arc<DbCore>, data: &Arc<ColumnFamilyData>, options: &ReadOptions) -> Self {
        Self::of(core, data, options, Moment::now(core, data, options))
    }

    fn of(core: &Arc<DbCore>, data: &Arc<ColumnFamilyData>, options: &ReadOptions, moment: Moment) -> Self {
        let Moment { pinned, view, generation } = moment;
        let blobs = OwnedBlobView {
            source: Arc::clone(core.reads.blob_source()),
            version: Arc::clone(&pinned.version),
            column_family_id: data.id,
            cache: data.blob_cache.clone(),
            fill_cache: options.fill_cache && options.cache_data_blocks,
            verify_checksums: options.verify_checksums,
            read_tier: options.read_tier,
            context: options.for_table().read_context(ReadClass::Other),
        };
        Self {
            data: Arc::clone(data),
            view,
            snapshot: options.snapshot.clone(),
            blobs: Arc::new(blobs),
            memory: scan_memory(&pinned, options, generation),
            pinned,
        }
    }

    /// An iterator with the bounds and habits of `options`; `splits_runs` as for [`children`].
    pub(super) fn iter(&self, options: &ReadOptions, splits_runs: bool) -> Iter {
        let (data, pinned) = (&self.data, &self.pinned);
        let mut settings = DbIteratorOptions {
            merge_operator: pinned.options.merge_operator.clone(),
            blobs: Some(Arc::clone(&self.blobs) as Arc<dyn FetchBlob>),
            prefix_extractor: pinned.options.prefix_extractor.clone(),
            max_sequential_skip_in_iterations: pinned.options.max_sequential_skip_in_iterations,
            memory: Some(self.memory.clone()),
            ..DbIteratorOptions::new(data.comparator.user().clone(), self.view.clone())
        };
        set_reader(&mut settings, options, self.view.clone());
        let inner = match children(data, pinned, options.for_table(), settings.scan_bounds(), splits_runs) {
            Ok(children) => MergingIterator::new(data.comparator.clone(), children).deferring_reads(),
            Err(error) => return Iter::failed(error),
        };
        let owner = IterOwner::new(pinned, self.snapshot.clone());
        let reads = (Arc::clone(data.table_cache.read_stats()), thread_ordinal());
        let may_rest = !splits_runs && may_rest(pinned);
        Iter::new(IterCore::new(DbIterator::new(inner, settings, owner), reads, options.for_table(), may_rest), options)
    }
}

/// True where iterators over memtables see what was inserted after they were made, and keep no copies.
fn may_rest(pinned: &SuperVersion) -> bool {
    let mut memtables = std::iter::once(&pinned.memtable).chain(&pinned.immutable);
    memtables.all(|memtable| memtable.iterates_in_place() && !memtable.writes_in_place())
}

/// Hidden entries in a row that a scan remembers, where `min_tombstones_for_range_conversion` is 0.
const MIN_DELETED_RUN: u64 = 64;

/// What an iterator leaves to those after it. `generation`: of the runs of deleted keys that it may use.
fn scan_memory(pinned: &SuperVersion, options: &ReadOptions, generation: Option<u64>) -> ScanMemory {
    let settings = &pinned.options.settings;
    let (min_run, generation) = deleted_runs(pinned, options, generation);
    ScanMemory {
        memtable: Arc::clone(&pinned.memtable),
        min_run,
        generation,
        flush_after_step: u64::from(settings.memtable_op_scan_flush_trigger),
        flush_after_steps: u64::from(settings.memtable_avg_op_scan_flush_trigger),
    }
}

/// The hidden entries in a row that become a run of deleted keys, and the generation of such runs.
fn deleted_runs(pinned: &SuperVersion, options: &ReadOptions, generation: Option<u64>) -> (Option<u64>, u64) {
    let shows_all_keys = pinned.memtable.iterates_in_place() && !options.prefix_same_as_start;
    let min_run = match u64::from(pinned.options.settings.min_tombstones_for_range_conversion) {
        0 => MIN_DELETED_RUN,
        length => length,
    };
    (generation.filter(|_| shows_all_keys).map(|_| min_run), generation.unwrap_or_default())
}

/// Longest run of tables of a level that `splits_runs` makes children of their own.
const MAX_SPLIT_RUN: usize = 16;

/// What an iterator merges, newest first. With `splits_runs` each of the few tables of a level that the bounds overlap
/// is a child of its own, so that all of them can be placed, and read, at once.
pub(super) fn children(
    data: &Arc<ColumnFamilyData>,
    pinned: &SuperVersion,
    table_options: TableReadOptions,
    bounds: ScanBounds,
    splits_runs: bool,
) -> Result<Vec<Child>> {
    let order = &data.comparator;
    let mut children =
        Vec::with_capacity(1 + pinned.immutable.len() + pinned.version.level(0).len() + pinned.version.num_levels());
    for memtable in std::iter::once(&pinned.memtable).chain(&pinned.immutable) {
        if memtable.is_empty() && memtable.num_range_deletes() == 0 && !Arc::ptr_eq(memtable, &pinned.memtable) {
            continue;
        }
        let tombstones = memtable.range_tombstones().map(RangeTombstoneSource::new);
        children.push(ChildIterator::MemTable(SourceIterator::new(memtable.iter(), order.clone(), tombstones)));
    }
    let bounds = Arc::new(bounds);
    // The tables of level 0 overlap: each is a run of its own.
    children.extend(pinned.version.level(0).iter().map(|file| {
        let (cache, bounds) = (Arc::clone(&data.table_cache), Arc::clone(&bounds));
        ChildIterator::Level(table_file_iterator(cache, file, order.clone(), table_options, bounds))
    }));
    let counts_reads = pinned.options.counts_reads();
    let runs = pinned.version.file_runs(bounds.lower(), bounds.upper());
    for level in (1..pinned.version.num_levels()).filter(|&level| !pinned.version.level(level).is_empty()) {
        let (cache, run) = (Arc::clone(&data.table_cache), runs.in_level(level));
        if splits_runs && (2..=MAX_SPLIT_RUN).contains(&run.len()) {
            let files = &pinned.version.level(level)[run];
            children.extend(files.iter().map(|file| {
                let (cache, bounds) = (Arc::clone(&cache), Arc::clone(&bounds));
                let level = table_file_iterator(cache, file, order.clone(), table_options, bounds);
                ChildIterator::Level(level.counting_reads(counts_reads))
            }));
            continue;
        }
        let source = (&pinned.version, level);
        let level = table_level_iterator(cache, source, run, table_options, Arc::clone(&bounds));
        children.push(ChildIterator::Level(level.counting_reads(counts_reads)));
    }
    Ok(children)
}

/// Iterates over the keys of a column family in both directions, as of one moment. `'static` and `Send`: it may be kept
/// in a struct, moved between threads, and outlive the [`Db`].
///
/// ```
/// # extern crate ferrock_engine as ferrock;
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # let db = ferrock::Db::open(directory.path(), options)?;
/// db.put(b"a", b"1")?;
/// db.put(b"b", b"2")?;
/// let mut iter = db.iter(&ferrock::ReadOptions::default());
/// iter.seek(b"b");
/// assert_eq!((iter.key(), iter.value()), (&b"b"[..], &b"2"[..]));
/// iter.prev();
/// assert_eq!(iter.key(), b"a");
/// iter.prev();
/// assert!(!iter.valid());
/// iter.status()?;
/// # Ok(())
/// # }
/// ```
pub struct Iter {
    /// `None` when there is nothing but an error.
    core: Option<Box<IterCore>>,
    failure: Option<Error>,
    limit: (u64, LimitReads),
}

impl std::fmt::Debug for Iter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Iter")
            .field("valid", &self.valid())
            .field("key", &self.key().escape_ascii().to_string())
            .finish()
    }
}

impl Drop for Iter {
    fn drop(&mut self) {
        if let Some(core) = self.core.take() {
            core.end();
        }
    }
}

impl Iter {
    fn new(core: Box<IterCore>, options: &ReadOptions) -> Self {
        Self { core: Some(core), failure: None, limit: (options.limit_hint, options.limit_reads) }
    }

    /// True when positioned on a key. When false, [`status`](Self::status) tells whether the end or an error was met.
    #[inline]
    #[must_use]
    pub fn valid(&self) -> bool {
        self.core.as_ref().is_some_and(|core| core.iter.valid())
    }

    /// The key; empty when not valid. Good until the iterator moves.
    #[inline]
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.core.as_ref().map_or(&[], |core| core.iter.key())
    }

    /// The value; empty when not valid. Good until the iterator moves.
    #[inline]
    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.core.as_ref().map_or(&[], |core| core.iter.value())
    }

    /// The value, kept: without a copy when it lies in a cached block.
    #[must_use]
    pub fn pin_value(&self) -> PinnedSlice {
        self.core.as_ref().map_or(PinnedSlice::Owned(Vec::new()), |core| core.iter.pin_value())
    }

    #[inline]
    fn note_read(&self) {
        if let Some(core) = &self.core {
            core.reads.0.note_range_read(core.reads.1);
        }
    }

    /// An iterator that has nothing but an error.
    #[doc(hidden)]
    #[must_use]
    pub fn failed(error: Error) -> Self {
        Self { core: None, failure: Some(error), limit: Default::default() }
    }

    /// Has placements pause, or not, for a caller that makes the reads of several iterators as one set.
    pub(super) fn set_driven(&mut self, is_driven: bool) {
        if let Some(core) = &mut self.core {
            core.may_rest = false;
            core.iter.set_driven(is_driven);
        }
    }

    /// From now on the iterator pauses where it would have to read, going forward, or does not any more.
    pub(super) fn set_pausing(&mut self, pauses: bool) {
        if let Some(core) = &mut self.core {
            core.may_rest = false;
            core.iter.set_pausing(pauses);
        }
    }

    /// True when the iterator waits to be resumed.
    pub(super) fn is_paused(&self) -> bool {
        self.core.as_ref().is_some_and(|core| core.iter.is_paused())
    }

    /// Adds the reads to make before the iterator is resumed, with the owner of each by its child. It adds none when
    /// the iterator has to read for itself.
    pub(super) fn needs<O>(&mut self, set: &mut ReadSet<O>, owner: impl Fn(usize) -> O) {
        if let Some(core) = &mut self.core {
            core.iter.needs(set, owner);
        }
    }

    /// Takes what a read brought.
    pub(super) fn supply(&mut self, child: usize, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        if let Some(core) = &mut self.core {
            core.iter.supply(child, read, bytes);
        }
    }

    /// Goes on after a pause. The iterator may be paused again then.
    pub(super) fn resume(&mut self) {
        if let Some(core) = &mut self.core {
            core.iter.resume();
        }
    }

    /// Hidden entries (deletions, and what is deleted or overwritten) that the iterator has passed, going forward,
    /// since it was made: what its steps cost beside the keys they show.
    #[must_use]
    pub fn passed_entries(&self) -> u64 {
        self.core.as_ref().map_or(0, |core| core.iter.passed_entries())
    }

    /// Replaces the `limit_hint` of the options from the next seek on: a query that has taken some of its rows seeks
    /// with fewer left.
    pub fn set_limit_hint(&mut self, rows: u64) {
        self.limit.0 = rows;
        if let Some(core) = &mut self.core {
            core.iter.set_limit_hint(rows);
        }
    }

    /// Changes the bounds (user keys; inclusive below, exclusive above) and goes to the first key within them.
    ///
    /// As a new iterator with these bounds, as of the same moment; but what this one has in memory stays of use:
    /// partitions of indexes, the blocks that it stands on, and bytes that it has read ahead. A range in the same block
    /// costs no read.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// # for key in [b"a", b"b", b"c", b"d"] { db.put(key, b"")?; }
    /// let mut iter = db.iter(&ferrock::ReadOptions::default());
    /// iter.fast_forward(Some(b"b"), Some(b"c"));
    /// assert_eq!(iter.key(), b"b");
    /// iter.next();
    /// assert!(!iter.valid());
    /// iter.fast_forward(Some(b"d"), None);
    /// assert_eq!(iter.key(), b"d");
    /// # iter.status()
    /// # }
    /// ```
    pub fn fast_forward(&mut self, lower: Option<&[u8]>, upper: Option<&[u8]>) {
        self.note_read();
        let (limit_hint, limit_reads) = self.limit;
        if let Some(core) = &mut self.core {
            let owned = |key: Option<&[u8]>| key.map(<[u8]>::to_vec);
            let bounds = ScanBounds::new(owned(lower), owned(upper)).with_limit_hint(limit_hint);
            let bounds = bounds.with_limit_reads(limit_reads);
            core.iter.fast_forward(lower, upper, &Arc::new(bounds));
        }
    }

    /// Goes to the first key within the bounds.
    pub fn seek_to_first(&mut self) {
        self.note_read();
        if let Some(core) = &mut self.core {
            core.iter.seek_to_first();
        }
    }

    /// Goes to the last key within the bounds.
    pub fn seek_to_last(&mut self) {
        self.note_read();
        if let Some(core) = &mut self.core {
            core.iter.seek_to_last();
        }
    }

    /// Goes to the first key at or after `key`.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(&path, options.clone())?;
    /// for key in [b"a", b"c", b"e"] {
    ///     db.put(key, b"")?;
    /// }
    /// let mut iter = db.iter(&ferrock::ReadOptions::default());
    /// iter.seek(b"b");
    /// let mut keys = Vec::new();
    /// while iter.valid() {
    ///     keys.push(iter.key().to_vec());
    ///     iter.next();
    /// }
    /// iter.status()?; // an iterator that an error ended is not valid, either
    /// assert_eq!(keys, [b"c", b"e"]);
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn seek(&mut self, key: &[u8]) {
        self.note_read();
        if let Some(core) = &mut self.core {
            core.iter.seek(key);
        }
    }

    /// Goes to the last key at or before `key`.
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        self.note_read();
        if let Some(core) = &mut self.core {
            core.iter.seek_for_prev(key);
        }
    }

    /// Goes to the next key. Does nothing when not valid.
    #[inline]
    pub fn next(&mut self) {
        if let Some(core) = &mut self.core {
            core.iter.next();
        }
    }

    /// Goes to the previous key. Does nothing when not valid.
    #[inline]
    pub fn prev(&mut self) {
        if let Some(core) = &mut self.core {
            core.iter.prev();
        }
    }

    /// The error that ended the iteration, if one did.
    ///
    /// # Errors
    /// What ended the iteration before its end: `Corruption` and `Io` of a file, `Incomplete` when the read may not
    /// touch files or [`max_skippable_internal_keys`](ReadOptions::max_skippable_internal_keys) was reached,
    /// `InvalidArgument` for operands without a merge operator. A new seek clears it.
    pub fn status(&self) -> Result<()> {
        match (&self.core, &self.failure) {
            (Some(core), _) => core.iter.status(),
            (None, Some(error)) => Err(error.clone()),
            (None, None) => Ok(()),
        }
    }
}

/// See [`Db::verify_checksum`].
pub(crate) fn verify_checksum(core: &Arc<DbCore>) -> Result<()> {
    let readahead = core.options.load().compaction_readahead_size;
    for data in core.families.load().iter() {
        let pinned = data.super_version.load();
        for (_, file) in pinned.version.files() {
            data.table_cache.get(file)?.verify_checksums(readahead)?;
        }
        blob_view(core, data, &pinned.version, &ReadOptions::default()).verify_all()?;
    }
    Ok(())
}

/// Iterators move between threads.
const _: fn() = || {
    fn is_send<T: Send + 'static>() {}
    is_send::<Iter>();
    is_send::<PinnedSlice>();
    is_send::<Snapshot>();
    is_send::<Db>();
};
