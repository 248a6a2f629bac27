//! Reading many keys at once, in rounds.
//!
//! ```text
//! keys, sorted   k1      k2      k3        each goes through its own candidate tables, newest first:
//!                |       |       |         filter, index, cache
//! round 1        A/b7    B/b2    B/b2      what they then wait for is read as one batch, each block once
//!                found   |       found
//! round 2                C/b9              ... of those whose search goes on
//! ```
//!
//! A key that finds its way in memory waits for nothing. So a call takes as many batches of reads, one after the other,
//! as the key with most tables to read takes, not as there are tables. Keys of several column families share the
//! rounds.

use super::DbCore;
use super::search::{PinnedSlice, not_open, search_memtables};
use crate::column_family::{ColumnFamily, ColumnFamilyData, SuperVersion};
use crate::db::search;
use crate::metrics::operations::BatchCounts;
use crate::options::{ReadOptions, ReadTier};
use ferrock_base::{LookupKey, Result};
use ferrock_statistics::{Histogram, PerfMetric, PerfTimer, ThreadState};
use ferrock_table::{
    Approach, LookupCounts, NeededBlock, NoCounts, RoundReads, TableLookup, TableReadOptions, ValuePin,
};
use ferrock_tree::blob::FetchBlob;
use ferrock_tree::iterator::range_tombstones::covering_sequence_in_file;
use ferrock_tree::read::{GetContext, MultiGetBatch};
use ferrock_tree::table_cache::TableRef;
use ferrock_tree::version::{Candidates, FileMetadata, UnaskedCandidates};
use ferrock_vfs::{IoActivity, thread_cpu_ns};
use std::sync::Arc;

type Results = Vec<Result<Option<PinnedSlice>>>;
type Batch<'a> = MultiGetBatch<'a, ValuePin>;

/// The values of many keys of one family, in the order of `keys`.
pub(crate) fn multi_get(core: &DbCore, data: &ColumnFamilyData, options: &ReadOptions, keys: &[&[u8]]) -> Results {
    let thread = ThreadState::current();
    if !core.metrics.counts(thread) {
        return multi_get_counting(core, data, options, keys, thread.ordinal(), &NoCounts);
    }
    let counts = core.metrics.watch(thread, &*core.env.clock);
    multi_get_counting(core, data, options, keys, thread.ordinal(), &counts)
}

fn multi_get_counting(
    core: &DbCore,
    data: &ColumnFamilyData,
    options: &ReadOptions,
    keys: &[&[u8]],
    thread: usize,
    counts: &impl BatchCounts<ValuePin>,
) -> Results {
    let perf = counts.of_lookups().perf();
    let _processor = PerfTimer::of_processor(perf, PerfMetric::GetCpuNanos, thread_cpu_ns);
    let timer = PerfTimer::of(perf, PerfMetric::GetSnapshotTime);
    let pinned = data.super_version.pin(thread);
    let view = search::view_for(core, options);
    drop(timer);
    let operator = pinned.merge_operator.as_deref();
    let mut batch = Batch::new(data.comparator.user(), keys, &view, operator);
    let search = Search {
        data,
        pinned: &pinned,
        options,
        table_options: options.for_table(IoActivity::MultiGet),
        counts: counts.of_lookups(),
    };
    let (lookups, contexts) = batch.parts();
    let asking = search_in_rounds(core, thread, &mut [Family { search, lookups, contexts }]);
    counts.note_search(batch.parts().1, asking);
    let _timer = PerfTimer::of(perf, PerfMetric::GetPostProcessTime);
    let found = batch.finish(|key, index| search::blob_view(core, data, &pinned.version, options).fetch(key, index));
    counts.end(&found);
    found
}

/// The values of many keys, each of its own family, in the order of `keys`; all families as of one moment.
pub(crate) fn multi_get_families(
    core: &DbCore,
    families: &[&ColumnFamily],
    options: &ReadOptions,
    keys: &[&[u8]],
) -> Results {
    let thread = ThreadState::current();
    if !core.metrics.counts(thread) {
        return multi_get_families_counting(core, families, options, keys, thread.ordinal(), &NoCounts);
    }
    let counts = core.metrics.watch(thread, &*core.env.clock);
    multi_get_families_counting(core, families, options, keys, thread.ordinal(), &counts)
}

fn multi_get_families_counting(
    core: &DbCore,
    families: &[&ColumnFamily],
    options: &ReadOptions,
    keys: &[&[u8]],
    thread: usize,
    counts: &impl BatchCounts<ValuePin>,
) -> Results {
    let perf = counts.of_lookups().perf();
    let _processor = PerfTimer::of_processor(perf, PerfMetric::GetCpuNanos, thread_cpu_ns);
    let timer = PerfTimer::of(perf, PerfMetric::GetSnapshotTime);
    let groups = group_by_family(families);
    let views = core.hold_views();
    let options = &as_of_one_moment(core, options, groups.len());
    let data = |group: &[usize]| &*families[group[0]].data;
    let pins: Vec<_> = groups.iter().map(|group| data(group).super_version.pin(thread)).collect();
    // Behind all pins: no family has dropped anything that is visible in this view.
    let view = search::view_for(core, options);
    drop((views, timer));
    let mut batches: Vec<Batch<'_>> = Vec::with_capacity(groups.len());
    for (group, pinned) in groups.iter().zip(&pins) {
        let own: Vec<&[u8]> = group.iter().map(|&index| keys[index]).collect();
        let operator = pinned.merge_operator.as_deref();
        batches.push(Batch::new(data(group).comparator.user(), &own, &view, operator));
    }
    let mut searches: Vec<_> = groups
        .iter()
        .zip(&pins)
        .zip(&mut batches)
        .map(|((group, pinned), batch)| {
            let (lookups, contexts) = batch.parts();
            let table_options = options.for_table(IoActivity::MultiGet);
            let search = Search { data: data(group), pinned, options, table_options, counts: counts.of_lookups() };
            Family { search, lookups, contexts }
        })
        .collect();
    let mut asking = search_in_rounds(core, thread, &mut searches);
    drop(searches);
    for batch in &mut batches {
        let contexts = batch.parts().1;
        let own = asking.min(contexts.len() as u64);
        asking -= own;
        counts.note_search(contexts, own);
    }
    let _timer = PerfTimer::of(perf, PerfMetric::GetPostProcessTime);
    let mut results: Results = keys.iter().map(|_| Ok(None)).collect();
    for ((group, batch), pinned) in groups.iter().zip(batches).zip(&pins) {
        let fetch =
            |key: &_, index: &_| search::blob_view(core, data(group), &pinned.version, options).fetch(key, index);
        for (&index, result) in group.iter().zip(batch.finish(fetch)) {
            results[index] = result;
        }
    }
    counts.end(&results);
    results
}

/// Options for a read of so many families as of one moment.
///
/// To be called before their states are pinned: whatever is visible at the snapshot is in every pinned state, also
/// when a family changes its memtable between two pins.
pub(super) fn as_of_one_moment(core: &DbCore, options: &ReadOptions, families: usize) -> ReadOptions {
    if core.secondary.get().is_some() {
        // The caller holds the views, and no job of this process drops what they have.
        return options.clone();
    }
    let moment = || core.reads.snapshots().take(core.env.clock.unix_seconds(), || core.visible());
    let snapshot = options.snapshot.clone().or_else(|| (families > 1).then(moment));
    ReadOptions { snapshot, ..options.clone() }
}

/// Keys that have come to a block before the first of the blocks is searched. Their blocks are held meanwhile, also
/// past the capacity of the cache: 256 KiB of blocks of 4 KiB. Batches of 32 were measured, larger ones were not.
const KEYS_AT_BLOCK: usize = 64;

/// Takes every key of every family as far as it goes, reads what they wait for, and so on until none waits. How many
/// keys went on to tables.
fn search_in_rounds<'f, T: LookupCounts>(core: &DbCore, thread: usize, families: &mut [Family<'f, '_, '_, T>]) -> u64 {
    let Some(table_options) = families.first().map(|family| family.search.table_options) else { return 0 };
    let mut all_asking = 0;
    let keys = families.iter().map(|family| family.lookups.len()).sum();
    let mut round = RoundReads::new(&*core.env.file_system, table_options, keys);
    for (number, Family { search, lookups, contexts }) in families.iter_mut().enumerate() {
        let mut wait = |index: usize, stop: AtBlock<'f>| stop.wait(&mut round, (number, index));
        let (mut asking, mut nearing) = (0, Vec::with_capacity(lookups.len().min(KEYS_AT_BLOCK)));
        for (index, lookup) in lookups.iter().enumerate() {
            let context = &mut contexts[index];
            if !search_memtables(search.pinned, lookup, context, search.counts.perf()) {
                continue;
            }
            asking += 1;
            nearing.push(NearKey { index, candidates: search.pinned.version.candidates_of(lookup), place: None });
            if let Some(stop) = search.approach(&mut nearing, lookup, context) {
                wait(index, stop);
            }
            if nearing.len() == KEYS_AT_BLOCK {
                search.search_blocks(lookups, contexts, &mut nearing, &mut wait);
            }
        }
        search.search_blocks(lookups, contexts, &mut nearing, &mut wait);
        search.data.table_cache.read_stats().note_lookups(thread, asking);
        all_asking += asking;
    }
    while !round.is_empty() {
        if let Some(recorder) = core.metrics.recorder() {
            recorder.record(Histogram::MultigetIoBatchSize, round.len() as u64);
        }
        let mut next_round = RoundReads::new(&*core.env.file_system, table_options, round.waiting());
        round.run(&mut |(waiter, stop): ((usize, usize), AtBlock<'f>), block| {
            let Family { search, lookups, contexts } = &mut families[waiter.0];
            let (lookup, context) = (&lookups[waiter.1], &mut contexts[waiter.1]);
            let AtBlock { candidates, mut place, .. } = stop;
            if let Err(error) = place.lookup.supply(block) {
                return context.fail(error);
            }
            if let Some(stop) = search.resume_opening(candidates, Some(place), lookup, context) {
                stop.wait(&mut next_round, waiter);
            }
        });
        round = next_round;
    }
    all_asking
}

/// Positions of the keys of each family, families in the order in which they are named first.
pub(super) fn group_by_family(families: &[&ColumnFamily]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, family) in families.iter().enumerate() {
        // Handles of one family are of one database, and few families are named in one call.
        match groups.iter_mut().find(|group| Arc::ptr_eq(&families[group[0]].data, &family.data)) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// What is looked up in one family, sorted, and how far each key has come.
struct Family<'f, 'c, 'k, T> {
    search: Search<'f, T>,
    lookups: &'f [LookupKey],
    contexts: &'c mut [GetContext<'k, ValuePin>],
}

/// What all lookups in a family have in common.
pub(super) struct Search<'f, T> {
    pub(super) data: &'f ColumnFamilyData,
    pub(super) pinned: &'f SuperVersion,
    pub(super) options: &'f ReadOptions,
    pub(super) table_options: TableReadOptions,
    pub(super) counts: &'f T,
}

/// A table that a key's search is in, and how far it has come there.
pub(super) struct TableSearch<'f> {
    pub(super) file: &'f Arc<FileMetadata>,
    pub(super) table: TableRef<'f>,
    pub(super) lookup: TableLookup,
}

/// Where a key's search stops.
pub(super) enum Stop<'f> {
    /// At a block that is not in memory.
    Block(AtBlock<'f>),
    /// Before a table that is not open.
    Table(Candidates<'f>, &'f Arc<FileMetadata>),
}

/// A key that has come to a block in memory, which is not searched yet. It stays where it is: it is much to move.
struct NearKey<'f> {
    index: usize,
    candidates: UnaskedCandidates<'f>,
    place: Option<TableSearch<'f>>,
}

/// Where a key's search stands while it waits for a block.
pub(super) struct AtBlock<'f> {
    pub(super) candidates: Candidates<'f>,
    pub(super) place: TableSearch<'f>,
    pub(super) needed: NeededBlock,
}

impl AtBlock<'_> {
    fn wait(self, round: &mut RoundReads<'_, ((usize, usize), Self)>, waiter: (usize, usize)) {
        let (table, needed) = (self.place.table.clone(), self.needed);
        table.add_to(round, needed, (waiter, self));
    }
}

impl<'f, T: LookupCounts> Search<'f, T> {
    /// Goes on with a key: in the table where it waited, then in the others. Ends when older tables cannot change the
    /// result, or where something is missing.
    #[inline]
    pub(super) fn resume(
        &self,
        mut candidates: Candidates<'f>,
        mut waited_in: Option<TableSearch<'f>>,
        lookup: &'f LookupKey,
        context: &mut GetContext<'_, ValuePin>,
    ) -> Option<Stop<'f>> {
        loop {
            let mut place = match waited_in.take() {
                Some(waited_in) => waited_in,
                None => {
                    let file = context.next_file(&mut candidates)?;
                    match self.open_table(file) {
                        Some(table) => self.enter(file, table, lookup, context),
                        None => return self.stop_before(candidates, file, context),
                    }
                }
            };
            match self.search(&mut place, lookup, context) {
                Ok(None) => {}
                Ok(Some(needed)) => return Some(Stop::Block(AtBlock { candidates, place, needed })),
                Err(error) => {
                    context.fail(error);
                    return None;
                }
            }
        }
    }

    /// Goes with the last key to the first block that it searches. The key is taken out when there is none, by filters
    /// and indexes, or when it has to wait.
    #[inline]
    fn approach(
        &self,
        nearing: &mut Vec<NearKey<'f>>,
        lookup: &'f LookupKey,
        context: &mut GetContext<'_, ValuePin>,
    ) -> Option<AtBlock<'f>> {
        let key = nearing.last_mut()?;
        let candidates = key.candidates.find();
        let stop = loop {
            let Some(file) = context.next_file(candidates) else { break None };
            let Some(table) = self.open_table(file) else {
                break self.stop_before(candidates.clone(), file, context);
            };
            let place = key.place.insert(self.enter(file, table, lookup, context));
            match place.table.begin(&self.table_options, lookup, &mut place.lookup, self.counts) {
                Ok(Approach::Absent) => context.note_searched(file),
                Ok(Approach::AtBlock) => return None,
                Ok(Approach::Needs(needed)) => {
                    let candidates = candidates.clone();
                    break key.place.take().map(|place| Stop::Block(AtBlock { candidates, place, needed }));
                }
                Err(error) => {
                    context.fail(error);
                    break None;
                }
            }
        };
        nearing.pop();
        self.open_after(stop?, lookup, context)
    }

    /// Searches the blocks that keys have come to, and goes on with each key. `wait` is told of those that then wait.
    fn search_blocks(
        &self,
        lookups: &'f [LookupKey],
        contexts: &mut [GetContext<'_, ValuePin>],
        nearing: &mut Vec<NearKey<'f>>,
        wait: &mut impl FnMut(usize, AtBlock<'f>),
    ) {
        let places = nearing.iter().filter_map(|key| key.place.as_ref());
        std::hint::black_box(places.fold(0, |sum, place| sum ^ place.lookup.touch()));
        for NearKey { index, candidates, place } in &mut *nearing {
            let (lookup, context) = (&lookups[*index], &mut contexts[*index]);
            let Some(found) = place else { continue };
            let candidates = candidates.left();
            let stop = match self.search(found, lookup, context) {
                Ok(None) => {
                    let next = context.next_file(candidates);
                    next.and_then(|file| self.go_on(candidates.clone(), file, lookup, context))
                }
                Ok(Some(needed)) => {
                    let candidates = candidates.clone();
                    place.take().map(|place| AtBlock { candidates, place, needed })
                }
                Err(error) => {
                    context.fail(error);
                    None
                }
            };
            if let Some(stop) = stop {
                wait(*index, stop);
            }
        }
        nearing.clear();
    }

    /// Goes on with a key in the table of a file, and in those behind it.
    fn go_on(
        &self,
        candidates: Candidates<'f>,
        file: &'f Arc<FileMetadata>,
        lookup: &'f LookupKey,
        context: &mut GetContext<'_, ValuePin>,
    ) -> Option<AtBlock<'f>> {
        match self.open_table(file) {
            Some(table) => {
                let place = self.enter(file, table, lookup, context);
                self.resume_opening(candidates, Some(place), lookup, context)
            }
            None => {
                let stop = self.stop_before(candidates, file, context)?;
                self.open_after(stop, lookup, context)
            }
        }
    }

    /// Goes on in a table, as far as memory goes.
    #[inline]
    fn search(
        &self,
        place: &mut TableSearch<'f>,
        lookup: &LookupKey,
        context: &mut GetContext<'_, ValuePin>,
    ) -> Result<Option<NeededBlock>> {
        let TableSearch { file, table, lookup: search } = place;
        let needed = table.advance(&self.table_options, lookup, search, self.counts, &mut |entry, value, block| {
            context.add(entry.sequence, entry.value_type, value, || Some(block.pin()))
        })?;
        if needed.is_none() {
            context.note_searched(file);
        }
        Ok(needed)
    }

    /// As [`resume`](Self::resume), but opens the tables that are not open.
    #[inline]
    fn resume_opening(
        &self,
        candidates: Candidates<'f>,
        waited_in: Option<TableSearch<'f>>,
        lookup: &'f LookupKey,
        context: &mut GetContext<'_, ValuePin>,
    ) -> Option<AtBlock<'f>> {
        self.open_after(self.resume(candidates, waited_in, lookup, context)?, lookup, context)
    }

    /// Opens the table that a search stopped before, and goes on.
    #[inline]
    fn open_after(
        &self,
        stop: Stop<'f>,
        lookup: &'f LookupKey,
        context: &mut GetContext<'_, ValuePin>,
    ) -> Option<AtBlock<'f>> {
        match stop {
            Stop::Block(stop) => Some(stop),
            Stop::Table(candidates, file) => self.open_and_resume(candidates, file, lookup, context),
        }
    }

    #[cold]
    fn open_and_resume(
        &self,
        mut candidates: Candidates<'f>,
        mut file: &'f Arc<FileMetadata>,
        lookup: &'f LookupKey,
        context: &mut GetContext<'_, ValuePin>,
    ) -> Option<AtBlock<'f>> {
        loop {
            let timer = PerfTimer::of(self.counts.perf(), PerfMetric::FindTableNanos);
            let found = self.data.table_cache.get_ref_for(file, self.table_options.activity);
            drop(timer);
            let table = match found {
                Ok(table) => table,
                Err(error) => {
                    context.fail(error);
                    return None;
                }
            };
            let place = self.enter(file, table, lookup, context);
            match self.resume(candidates, Some(place), lookup, context)? {
                Stop::Block(stop) => return Some(stop),
                Stop::Table(left, next) => (candidates, file) = (left, next),
            }
        }
    }

    /// The table of a file, if it is open.
    #[inline]
    fn open_table(&self, file: &'f FileMetadata) -> Option<TableRef<'f>> {
        let _timer = PerfTimer::of(self.counts.perf(), PerfMetric::FindTableNanos);
        self.data.table_cache.get_ref_if_open(file)
    }

    /// The stop before a table that is not open, unless nothing may be read.
    #[cold]
    fn stop_before(
        &self,
        candidates: Candidates<'f>,
        file: &'f Arc<FileMetadata>,
        context: &mut GetContext<'_, ValuePin>,
    ) -> Option<Stop<'f>> {
        if self.options.read_tier == ReadTier::BlockCacheOnly {
            context.fail(not_open());
            return None;
        }
        Some(Stop::Table(candidates, file))
    }

    /// Enters the table of a file: `context` is told of its range tombstones.
    #[inline]
    pub(super) fn enter(
        &self,
        file: &'f Arc<FileMetadata>,
        table: TableRef<'f>,
        lookup: &LookupKey,
        context: &mut GetContext<'_, ValuePin>,
    ) -> TableSearch<'f> {
        if let Some(tombstones) = table.range_tombstones() {
            let (smallest, largest, key) = (&file.smallest, &file.largest, lookup.user_key());
            let covering = covering_sequence_in_file(tombstones, smallest, largest, key, context.newest());
            context.add_covering_tombstone(covering);
        }
        TableSearch { file, table, lookup: TableLookup::default() }
    }
}
