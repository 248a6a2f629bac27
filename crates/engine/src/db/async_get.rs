//! Reading a key as a future.
//!
//! ```text
//! get_async: memtables, tables in memory --+--> found, absent, failed         Ready at the first poll, nothing allocated
//!                                          +--> at a block that is missing    Waits: the read is on its way
//!                                                  |  poll, when it has come
//!                                                  +--> goes on there, and so forth
//! ```
//!
//! It is the search of [`multi_get`](super::multi_get): a key is taken as far as it goes in memory and stops at the block it
//! needs. What a waiting search keeps is owned ([`Moment`], [`Halted`]); the files that it has been through are passed over
//! again when it goes on.

use super::multi_get::{Place, Search, Stop};
use super::read::{PinnedSlice, Release, search_memtables};
use super::{Db, DbCore};
use crate::blob::BlobView;
use crate::column_family::{ColumnFamily, ColumnFamilyData, SuperVersion};
use crate::options::ReadOptions;
use crate::read::{Found, GetContext};
use crate::super_version::thread_ordinal;
use crate::table_cache::TableRef;
use crate::version::FileMetadata;
use ferrock_base::{Error, LookupKey, Result, SequenceNumber};
use ferrock_table::{BlockPin, BlockRead, LoadedBlock, NeededBlock, TableLookup, TableReader};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// What searches that wait keep of the moment they read at.
pub(super) struct Moment {
    core: Arc<DbCore>,
    data: Arc<ColumnFamilyData>,
    pinned: Arc<SuperVersion>,
    options: ReadOptions,
    sequence: SequenceNumber,
    /// Behind `pinned`: dropped when the version is let go.
    _release: Release,
}

/// A search that waits for a block.
pub(super) struct Halted {
    lookup: LookupKey,
    found: Found<BlockPin>,
    file: Arc<FileMetadata>,
    table: Arc<TableReader>,
    in_table: TableLookup,
}

/// How far a search came.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(super) enum Step {
    Over(Result<Option<PinnedSlice>>),
    Waits(Halted, NeededBlock),
}

impl Stop<'_> {
    /// The search without what it borrows; its key is still to be added.
    pub(super) fn halt(self, lookup: LookupKey, found: Found<BlockPin>) -> Step {
        let Place { file, table, lookup: in_table } = self.place;
        let halted = Halted { lookup, found, file: Arc::clone(file), table: Arc::clone(&table), in_table };
        Step::Waits(halted, self.needed)
    }
}

impl Moment {
    pub(super) fn new(
        core: &Arc<DbCore>,
        data: &Arc<ColumnFamilyData>,
        pinned: &Arc<SuperVersion>,
        options: &ReadOptions,
        sequence: SequenceNumber,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            data: Arc::clone(data),
            pinned: Arc::clone(pinned),
            options: options.clone(),
            sequence,
            _release: Release::new(core, &pinned.version),
        }
    }

    /// Begins to read the block that a search waits for.
    pub(super) fn start(&self, halted: &Halted, needed: NeededBlock) -> BlockRead {
        halted.table.start_needed(&self.options.for_table(), needed)
    }

    fn blobs(&self) -> BlobView<'_> {
        self.core.blob_view(self.data.id, &self.pinned.version, &self.options)
    }

    /// Goes on with a search for which the block came.
    pub(super) fn resume(&self, halted: Halted, block: Result<LoadedBlock>) -> Step {
        let Halted { lookup, found, file, table, mut in_table } = halted;
        let blobs = self.blobs();
        let context = GetContext::new(lookup.user_key(), self.pinned.options.merge_operator.as_deref());
        let mut context = context.with_blobs(&blobs).resume(found);
        if let Err(error) = in_table.supply(block) {
            context.fail(error);
            return Step::Over(context.finish());
        }
        let search = Search {
            data: &self.data,
            pinned: &self.pinned,
            options: &self.options,
            table_options: self.options.for_table(),
            sequence: self.sequence,
        };
        let mut candidates = self.pinned.version.candidates(&lookup);
        candidates.find(|(_, candidate)| Arc::ptr_eq(candidate, &file));
        let place = Place { file: &file, table: TableRef::Shared(table), lookup: in_table };
        match search.go_on(candidates, Some(place), &lookup, &mut context) {
            None => Step::Over(context.finish()),
            Some(stop) => {
                let found = context.suspend();
                stop.halt(lookup.clone(), found)
            }
        }
    }
}

impl Halted {
    /// What tells the block that it waits for from others.
    pub(super) fn identity_of(&self, needed: NeededBlock) -> (usize, u64) {
        needed.identity_in(&self.table)
    }
}

impl DbCore {
    /// The value of a key, as a future.
    pub(crate) fn get_async(
        self: &Arc<Self>,
        data: &Arc<ColumnFamilyData>,
        options: &ReadOptions,
        key: &[u8],
    ) -> GetAsync {
        let thread = thread_ordinal();
        let pinned = data.super_version.pin(thread);
        let sequence = self.sequence_for(options);
        let lookup = LookupKey::new(key, sequence);
        let blobs = self.blob_view(data.id, &pinned.version, options);
        let mut context = GetContext::new(key, pinned.options.merge_operator.as_deref()).with_blobs(&blobs);
        search_memtables(&pinned, &lookup, sequence, &mut context);
        if !context.is_done() {
            data.table_cache.read_sample().note_lookups(thread, 1);
            let table_options = options.for_table();
            let search = Search { data, pinned: &pinned, options, table_options, sequence };
            let candidates = pinned.version.candidates(&lookup);
            if let Some(stop) = search.go_on(candidates, None, &lookup, &mut context) {
                let step = stop.halt(lookup.clone(), context.suspend());
                return GetAsync::after(Moment::new(self, data, &pinned, options, sequence), step);
            }
        }
        GetAsync { state: State::Over(context.finish()) }
    }
}

/// A key being read: the future of [`Db::get_async`]. `'static` and `Send`; dropping it gives the read up.
#[must_use = "the value comes when it is polled"]
pub struct GetAsync {
    state: State,
}

enum State {
    Over(Result<Option<PinnedSlice>>),
    Waits(Box<Waiting>),
    Taken,
}

struct Waiting {
    read: BlockRead,
    halted: Option<Halted>,
    /// Behind what it keeps alive.
    moment: Moment,
}

impl fmt::Debug for GetAsync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Over(_) => "over",
            State::Waits(_) => "waits for a block",
            State::Taken => "taken",
        };
        f.debug_struct("GetAsync").field("state", &state).finish()
    }
}

impl GetAsync {
    /// A read that is over.
    pub(super) fn ready(result: Result<Option<PinnedSlice>>) -> Self {
        Self { state: State::Over(result) }
    }

    #[cold]
    fn after(moment: Moment, step: Step) -> Self {
        match step {
            Step::Over(result) => Self::ready(result),
            Step::Waits(halted, needed) => {
                let read = moment.start(&halted, needed);
                Self { state: State::Waits(Box::new(Waiting { read, halted: Some(halted), moment })) }
            }
        }
    }
}

impl Future for GetAsync {
    type Output = Result<Option<PinnedSlice>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            if let State::Waits(waiting) = &mut self.state {
                let block = ready!(Pin::new(&mut waiting.read).poll(context));
                if let Some(halted) = waiting.halted.take() {
                    match waiting.moment.resume(halted, block) {
                        Step::Over(result) => self.state = State::Over(result),
                        Step::Waits(halted, needed) => {
                            waiting.read = waiting.moment.start(&halted, needed);
                            waiting.halted = Some(halted);
                        }
                    }
                    continue;
                }
            }
            return Poll::Ready(match std::mem::replace(&mut self.state, State::Taken) {
                State::Over(result) => result,
                _ => Err(Error::invalid_argument("a read was polled after it was over")),
            });
        }
    }
}

impl Db {
    /// The value of a key of the default family, as a future for any executor.
    ///
    /// The call itself does what can be done in memory, as of now. A key that finds its way there is `Ready` at the first
    /// poll and costs what a [`get`](Self::get) costs. Otherwise the read of the first block that is missing is on its way
    /// when the call returns. The number of reads that follow each other is that of [`get`](Self::get): one data block for
    /// each table that the filters do not exclude, and index and filter partitions that are not in the block cache.
    ///
    /// Opening a table that is not open, and a value in a blob file, are read by who polls.
    ///
    /// ```
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// use std::future::Future;
    /// use std::task::{Context, Poll, Waker};
    /// db.put(b"key", b"value")?;
    /// let mut read = std::pin::pin!(db.get_async(&ferrock::ReadOptions::default(), b"key"));
    /// // What is in memory is there at the first poll.
    /// let Poll::Ready(value) = read.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!() };
    /// assert_eq!(value?.as_deref(), Some(&b"value"[..]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_async(&self, options: &ReadOptions, key: &[u8]) -> GetAsync {
        match self.core().default_family() {
            Ok(data) => self.core().get_async(&data, options, key),
            Err(error) => GetAsync::ready(Err(error)),
        }
    }

    /// The value of a key of a family, as a future: see [`get_async`](Self::get_async).
    pub fn get_cf_async(&self, family: &ColumnFamily, options: &ReadOptions, key: &[u8]) -> GetAsync {
        self.core().get_async(&family.data, options, key)
    }
}

/// Futures move between the threads of an executor.
const _: fn() = || {
    fn is_send<T: Send + Unpin + 'static>() {}
    is_send::<GetAsync>();
};
