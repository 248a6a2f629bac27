//! What an iterator is made of, as of one moment: by waking one that rests, or anew.
//!
//! A read pins the SuperVersion first and takes its sequence number afterwards: what flush and compaction drop is older
//! than any number taken later.

use super::DbCore;
use super::read::Iter;
use super::search::view_for;
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::options::ReadOptions;
use crate::resting::{IterCore, IterOwner, RestingPlace};
use crate::snapshot::Snapshot;
use crate::super_version::thread_ordinal;
use ferrock_base::Result;
use ferrock_table::{ScanBounds, TableReadOptions};
use ferrock_tree::blob::{FetchBlob, OwnedBlobView};
use ferrock_tree::iterator::tables::{Child, table_file_iterator, table_level_iterator};
use ferrock_tree::iterator::{
    ChildIterator, DbIterator, DbIteratorOptions, MergingIterator, RangeTombstoneSource, ScanMemory, SourceIterator,
};
use ferrock_tree::read::ReadView;
use ferrock_vfs::{IoActivity, ReadClass};
use std::sync::Arc;

/// An iterator over a family.
pub(crate) fn iter(core: &Arc<DbCore>, data: &Arc<ColumnFamilyData>, options: &ReadOptions) -> Iter {
    let moment = Moment::now(core, data, options);
    let iter = match moment.wake_resting(options) {
        Some(woken) => woken,
        None => IterSource::of(core, data, options, moment).iter(options, false),
    };
    iter.counted(core)
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
        if !pinned.is_fit_for_rest() {
            return None;
        }
        let mut core = pinned.resting.take(thread, &options.for_table(IoActivity::DbIterator))?;
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
            context: options.for_table(IoActivity::Unknown).read_context(ReadClass::Other),
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
            merge_operator: pinned.merge_operator.clone(),
            blobs: Some(Arc::clone(&self.blobs) as Arc<dyn FetchBlob>),
            prefix_extractor: pinned.options.prefix_extractor.clone(),
            max_sequential_skip_in_iterations: pinned.options.max_sequential_skip_in_iterations,
            memory: Some(self.memory.clone()),
            ..DbIteratorOptions::new(data.comparator.user().clone(), self.view.clone())
        };
        set_reader(&mut settings, options, self.view.clone());
        let inner = match children(
            data,
            pinned,
            options.for_table(IoActivity::DbIterator),
            settings.scan_bounds(),
            splits_runs,
        ) {
            Ok(children) => MergingIterator::new(data.comparator.clone(), children).deferring_reads(),
            Err(error) => return Iter::failed(error),
        };
        let owner = IterOwner::new(pinned, self.snapshot.clone());
        let reads = (Arc::clone(data.table_cache.read_stats()), thread_ordinal());
        let may_rest = !splits_runs && may_rest(pinned);
        Iter::new(
            IterCore::new(
                DbIterator::new(inner, settings, owner),
                reads,
                options.for_table(IoActivity::DbIterator),
                may_rest,
            ),
            options,
        )
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
