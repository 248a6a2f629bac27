//! Reading many keys as one future.
//!
//! ```text
//! keys, sorted     k1      k2      k3        each goes as far as it comes in memory when the call is made
//!                  |       |       |
//! waits, in order  A/b7    B/b2    B/b2      each block, table or blob once, all on their way when the call returns
//!                  over    C/b9    over      a key that goes on adds what it waits for next at the end
//! ```
//!
//! They are waited for in their order: when the first has come, most have, and the waker is called once for it. Keys of
//! several column families wait in one queue.

use super::DbCore;
use super::async_search::{Completion, Identity, PinnedState, Step, SuspendedLookup, Wait, step};
use super::multi_get::{Search, group_by_family};
use super::search::{PinnedSlice, search_memtables};
use crate::column_family::{ColumnFamily, ColumnFamilyData, SuperVersion};
use crate::db::multi_get;
use crate::db::search;
use crate::metrics::operations::FutureWatch;
use crate::options::ReadOptions;
use ferrock_base::Result;
use ferrock_statistics::ThreadState;
use ferrock_table::ValuePin;
use ferrock_tree::read::multi_get::in_callers_order;
use ferrock_tree::read::{MultiGetBatch, ReadView};
use ferrock_vfs::IoActivity;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

type Results = Vec<Result<Option<PinnedSlice>>>;

/// A pending read or open, and the searches that wait for it, with the numbers of their lookups.
struct SharedWait {
    wait: Wait,
    waiters: Vec<(usize, SuspendedLookup)>,
}

/// Keys being read: the future of [`Db::multi_get_async`](crate::Db::multi_get_async). `'static` and `Send`; dropping
/// it gives the reads up.
#[must_use = "the values come when it is polled"]
#[derive(Default)]
pub struct MultiGetAsync {
    /// Of the lookups, sorted within their family.
    results: Results,
    /// For each key as the caller gave it, the number of its lookup.
    slots: Vec<usize>,
    waits: VecDeque<SharedWait>,
    /// Waits that are over already.
    taken: usize,
    /// The numbers of the waits, those that are over included.
    places: HashMap<Identity, usize>,
    watch: Option<FutureWatch>,
}

impl fmt::Debug for MultiGetAsync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiGetAsync").field("keys", &self.slots.len()).field("waits", &self.waits.len()).finish()
    }
}

/// The values of many keys of one family, as a future.
pub(crate) fn multi_get_async(
    core: &Arc<DbCore>,
    data: &Arc<ColumnFamilyData>,
    options: &ReadOptions,
    keys: &[&[u8]],
) -> MultiGetAsync {
    let thread = ThreadState::current();
    let watch = FutureWatch::begin(&core.metrics, thread, &core.env.clock);
    let pinned = data.super_version.pin(thread.ordinal());
    let mut future = MultiGetAsync { watch, ..MultiGetAsync::default() };
    future.slots = future.search(core, (data, &pinned), options, &search::view_for(core, options), keys);
    future
}

/// The values of many keys, each of its own family, as a future; all families as of one moment.
pub(crate) fn multi_get_families_async(
    core: &Arc<DbCore>,
    families: &[&ColumnFamily],
    options: &ReadOptions,
    keys: &[&[u8]],
) -> MultiGetAsync {
    let groups = group_by_family(families);
    let views = core.hold_views();
    let options = &multi_get::as_of_one_moment(core, options, groups.len());
    let data = |group: &[usize]| &families[group[0]].data;
    let thread = ThreadState::current();
    let watch = FutureWatch::begin(&core.metrics, thread, &core.env.clock);
    let pins: Vec<_> = groups.iter().map(|group| data(group).super_version.pin(thread.ordinal())).collect();
    // Behind all pins: no family has dropped anything that is visible in this view.
    let view = search::view_for(core, options);
    drop(views);
    let mut future = MultiGetAsync { slots: vec![0; keys.len()], watch, ..MultiGetAsync::default() };
    for (group, pinned) in groups.iter().zip(&pins) {
        let own: Vec<&[u8]> = group.iter().map(|&index| keys[index]).collect();
        let slots = future.search(core, (data(group), pinned), options, &view, &own);
        for (&index, slot) in group.iter().zip(slots) {
            future.slots[index] = slot;
        }
    }
    future
}

impl MultiGetAsync {
    /// Everything failed.
    pub(super) fn failed(error: &ferrock_base::Error, keys: usize) -> Self {
        Self { results: vec![Err(error.clone()); keys], slots: (0..keys).collect(), ..Self::default() }
    }

    /// Searches the keys of a family in memory. Returns the numbers of their lookups.
    fn search(
        &mut self,
        core: &Arc<DbCore>,
        (data, pinned): (&Arc<ColumnFamilyData>, &Arc<SuperVersion>),
        options: &ReadOptions,
        view: &ReadView,
        keys: &[&[u8]],
    ) -> Vec<usize> {
        let operator = pinned.merge_operator.as_deref();
        let batch = MultiGetBatch::<ValuePin>::new(data.comparator.user(), keys, view, operator);
        let thread = ThreadState::current();
        let counts = &core.metrics.lookup_recorder(thread);
        let search = Search { data, pinned, options, table_options: options.for_table(IoActivity::MultiGet), counts };
        let (lookups, contexts, mut slots) = batch.into_parts();
        let first = self.results.len();
        self.results.reserve(lookups.len());
        let (mut state, mut asking): (Option<Arc<PinnedState>>, u64) = (None, 0);
        for (number, (lookup, mut context)) in lookups.into_iter().zip(contexts).enumerate() {
            let asks_tables = search_memtables(pinned, &lookup, &mut context, counts.perf);
            let stop = if asks_tables {
                asking += 1;
                search.resume(pinned.version.candidates(&lookup), None, &lookup, &mut context)
            } else {
                None
            };
            let state = || {
                let make = || Arc::new(PinnedState::new(core, data, pinned, options, IoActivity::MultiGet));
                Arc::clone(state.get_or_insert_with(make))
            };
            match step(stop, &lookup, context, (counts, asks_tables), state) {
                Step::Over(result) => self.results.push(result),
                Step::Waits(suspended) => {
                    self.results.push(Ok(None));
                    self.wait(first + number, suspended);
                }
            }
        }
        data.table_cache.read_stats().note_lookups(thread.ordinal(), asking);
        slots.iter_mut().for_each(|slot| *slot += first);
        slots
    }

    fn wait(&mut self, number: usize, suspended: SuspendedLookup) {
        let identity = suspended.identity();
        let shared = self.places.get(&identity).and_then(|place| place.checked_sub(self.taken));
        if let Some(shared) = shared.and_then(|index| self.waits.get_mut(index)) {
            return shared.waiters.push((number, suspended));
        }
        self.places.insert(identity, self.taken + self.waits.len());
        self.waits.push_back(SharedWait { wait: suspended.start(), waiters: vec![(number, suspended)] });
    }

    /// Resumes the searches that waited for the first completion.
    fn resume(&mut self, completion: &Completion) {
        let waiters = self.waits.pop_front().map(|wait| wait.waiters).unwrap_or_default();
        self.taken += 1;
        for (number, suspended) in waiters {
            match suspended.resume(completion.clone()) {
                Step::Over(result) => self.results[number] = result,
                Step::Waits(suspended) => self.wait(number, suspended),
            }
        }
    }
}

impl Future for MultiGetAsync {
    type Output = Results;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        while let Some(first) = self.waits.front_mut() {
            let completion = ready!(Pin::new(&mut first.wait).poll(context));
            self.resume(&completion);
        }
        let results = std::mem::take(&mut self.results);
        let found = in_callers_order(results, &std::mem::take(&mut self.slots));
        if let Some(watch) = self.watch.take() {
            watch.end_batch(&found);
        }
        Poll::Ready(found)
    }
}

/// Futures move between the threads of an executor.
const _: fn() = || {
    fn is_send<T: Send + Unpin + 'static>() {}
    is_send::<MultiGetAsync>();
};
