//! Reading many keys as one future.
//!
//! ```text
//! keys, sorted     k1      k2      k3        each goes as far as it comes in memory when the call is made
//!                  |       |       |
//! reads, in order  A/b7    B/b2    B/b2      each block once, all on their way when the call returns
//!                  over    C/b9    over      a key that goes on adds its next block at the end
//! ```
//!
//! The reads are waited for in their order: when the first has come, most have, and the waker is called once for it.

use super::async_get::{Halted, Moment, Step};
use super::multi_get::Search;
use super::read::{PinnedSlice, search_memtables};
use super::{Db, DbCore};
use crate::column_family::{ColumnFamily, ColumnFamilyData};
use crate::options::ReadOptions;
use crate::read::MultiGetBatch;
use crate::read::multi_get::in_callers_order;
use crate::super_version::thread_ordinal;
use ferrock_base::Result;
use ferrock_table::{BlockPin, BlockRead, NeededBlock};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

type Results = Vec<Result<Option<PinnedSlice>>>;

/// A block on its way, and the searches that wait for it, by the numbers of their lookups.
struct SharedRead {
    read: BlockRead,
    waiters: Vec<(usize, Halted)>,
}

/// Keys being read: the future of [`Db::multi_get_async`]. `'static` and `Send`; dropping it gives the reads up.
#[must_use = "the values come when it is polled"]
pub struct MultiGetAsync {
    /// Of the lookups, sorted.
    results: Results,
    /// For each key as the caller gave it, the number of its lookup.
    slots: Vec<usize>,
    reads: VecDeque<SharedRead>,
    /// Reads that were handed out already.
    taken: usize,
    /// By block: the number of its read, those that were handed out included.
    places: HashMap<(usize, u64), usize>,
    /// While there are reads.
    moment: Option<Moment>,
}

impl fmt::Debug for MultiGetAsync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiGetAsync").field("keys", &self.slots.len()).field("reads", &self.reads.len()).finish()
    }
}

impl DbCore {
    /// The values of many keys of one family, as a future.
    pub(crate) fn multi_get_async(
        self: &Arc<Self>,
        data: &Arc<ColumnFamilyData>,
        options: &ReadOptions,
        keys: &[&[u8]],
    ) -> MultiGetAsync {
        let thread = thread_ordinal();
        let pinned = data.super_version.pin(thread);
        data.table_cache.read_sample().note_lookups(thread, keys.len() as u64);
        let sequence = self.sequence_for(options);
        let operator = pinned.options.merge_operator.as_deref();
        let blobs = self.blob_view(data.id, &pinned.version, options);
        let batch = MultiGetBatch::<BlockPin>::new(data.comparator.user(), keys, sequence, operator, Some(&blobs));
        let search = Search { data, pinned: &pinned, options, table_options: options.for_table(), sequence };
        let (lookups, contexts, slots) = batch.into_parts();
        let results = Vec::with_capacity(lookups.len());
        let mut future =
            MultiGetAsync { results, slots, reads: VecDeque::new(), taken: 0, places: HashMap::new(), moment: None };
        for (number, (lookup, mut context)) in lookups.into_iter().zip(contexts).enumerate() {
            search_memtables(&pinned, &lookup, sequence, &mut context);
            let candidates = pinned.version.candidates(&lookup);
            match search.go_on(candidates, None, &lookup, &mut context) {
                None => future.results.push(context.finish()),
                Some(stop) => {
                    future.results.push(Ok(None));
                    if future.moment.is_none() {
                        future.moment = Some(Moment::new(self, data, &pinned, options, sequence));
                    }
                    let found = context.suspend();
                    future.take(number, stop.halt(lookup.clone(), found));
                }
            }
        }
        future
    }
}

impl MultiGetAsync {
    /// Everything failed.
    fn failed(error: &ferrock_base::Error, keys: usize) -> Self {
        Self {
            results: vec![Err(error.clone()); keys],
            slots: (0..keys).collect(),
            reads: VecDeque::new(),
            taken: 0,
            places: HashMap::new(),
            moment: None,
        }
    }

    /// Takes note of how far a lookup came.
    fn take(&mut self, number: usize, step: Step) {
        match step {
            Step::Over(result) => self.results[number] = result,
            Step::Waits(halted, needed) => self.wait(number, halted, needed),
        }
    }

    fn wait(&mut self, number: usize, halted: Halted, needed: NeededBlock) {
        let Some(moment) = &self.moment else { return };
        let identity = halted.identity_of(needed);
        let shared = self.places.get(&identity).and_then(|place| place.checked_sub(self.taken));
        if let Some(shared) = shared.and_then(|index| self.reads.get_mut(index)) {
            return shared.waiters.push((number, halted));
        }
        self.places.insert(identity, self.taken + self.reads.len());
        let read = moment.start(&halted, needed);
        self.reads.push_back(SharedRead { read, waiters: vec![(number, halted)] });
    }
}

impl Future for MultiGetAsync {
    type Output = Results;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        while let Some(first) = this.reads.front_mut() {
            let block = ready!(Pin::new(&mut first.read).poll(context));
            let waiters = this.reads.pop_front().map(|read| read.waiters).unwrap_or_default();
            this.taken += 1;
            for (number, halted) in waiters {
                let Some(moment) = &this.moment else { continue };
                let step = moment.resume(halted, block.clone());
                this.take(number, step);
            }
        }
        this.moment = None;
        let results = std::mem::take(&mut this.results);
        Poll::Ready(in_callers_order(results, &std::mem::take(&mut this.slots)))
    }
}

impl Db {
    /// The values of many keys of the default family, in the order of `keys` and as of one moment, as a future for any
    /// executor.
    ///
    /// The call itself does what can be done in memory; the blocks that are missing are on their way when it returns, each
    /// once. The number of reads that follow each other is that of the key which lacks most blocks, as in
    /// [`multi_get`](Self::multi_get).
    ///
    /// ```
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = pin!(future);
    /// #     loop {
    /// #         if let Poll::Ready(out) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) { return out; }
    /// #     }
    /// # }
    /// db.put(b"a", b"1")?;
    /// let values = block_on(db.multi_get_async(&ferrock::ReadOptions::default(), &[b"a", b"b"]));
    /// assert_eq!(values[0].as_ref().unwrap().as_ref().unwrap(), b"1");
    /// assert!(values[1].as_ref().unwrap().is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn multi_get_async(&self, options: &ReadOptions, keys: &[&[u8]]) -> MultiGetAsync {
        match self.core().default_family() {
            Ok(data) => self.core().multi_get_async(&data, options, keys),
            Err(error) => MultiGetAsync::failed(&error, keys.len()),
        }
    }

    /// The values of many keys of a family, as a future: see [`multi_get_async`](Self::multi_get_async).
    pub fn multi_get_cf_async(&self, family: &ColumnFamily, options: &ReadOptions, keys: &[&[u8]]) -> MultiGetAsync {
        self.core().multi_get_async(&family.data, options, keys)
    }
}

/// Futures move between the threads of an executor.
const _: fn() = || {
    fn is_send<T: Send + Unpin + 'static>() {}
    is_send::<MultiGetAsync>();
};
