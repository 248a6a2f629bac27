//! A key's search that suspends where it needs a read or an open, and resumes with the result.
//!
//! ```text
//! search --+--> over
//!          +--> a block that is not in memory -------- BlockRead --> goes on in its table
//!          +--> a table that is not open ------------- Opening ----> enters it
//!          +--> a value in a blob file that is open --- BlobRead ---> over
//!          +--> ... that is not open ------------------ Opening ----> BlobRead
//! ```
//!
//! It is the search of [`multi_get`](super::multi_get). A suspended search owns its state ([`PinnedState`],
//! [`SuspendedLookup`]); the files that it has searched are skipped again when it resumes.

use super::DbCore;
use super::multi_get::{AtBlock, Search, Stop, TableSearch};
use super::search::PinnedSlice;
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::db::search;
use crate::files::openings::Opening;
use crate::metrics::operations::note_lookup;
use crate::options::ReadOptions;
use ferrock_base::{Error, ErrorKind, FileNumber, LookupKey, Result};
use ferrock_format::blob_index::BlobReference;
use ferrock_statistics::ThreadState;
use ferrock_table::{BlockRead, LoadedBlock, LookupRecorder, NeededBlock, Table, TableLookup, ValuePin};
use ferrock_tree::blob::{BlobFileReader, BlobPlace, BlobRead, BlobView};
use ferrock_tree::read::{GetContext, SuspendedGet};
use ferrock_tree::table_cache::TableRef;
use ferrock_tree::version::FileMetadata;
use ferrock_vfs::IoActivity;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The state of the database that suspended searches read.
pub(super) struct PinnedState {
    core: Arc<DbCore>,
    data: Arc<ColumnFamilyData>,
    pinned: Arc<SuperVersion>,
    options: ReadOptions,
    /// What its reads of tables are for.
    activity: IoActivity,
}

/// The point at which a search is suspended.
enum At {
    Block(Arc<FileMetadata>, Table, TableLookup, NeededBlock),
    Table(Arc<FileMetadata>),
    /// The file of a reference; `true` when it was opened before and did not have the value yet.
    BlobFile(BlobReference, bool),
    Blob(Arc<BlobFileReader>, BlobReference),
}

/// A suspended search, with the state that it needs to resume.
pub(super) struct SuspendedLookup {
    state: Arc<PinnedState>,
    lookup: LookupKey,
    found: SuspendedGet<ValuePin>,
    at: At,
}

/// The result of a step of a search.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(super) enum Step {
    Over(Result<Option<PinnedSlice>>),
    Waits(SuspendedLookup),
}

/// Equal for two waits only if they are for the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Identity {
    Block(usize, u64),
    Table(FileNumber),
    BlobFile(FileNumber),
    Blob(FileNumber, u64),
}

/// The future that a suspended search waits for.
pub(super) enum Wait {
    Block(BlockRead),
    Table(Opening<Table>),
    BlobFile(Opening<BlobFileReader>),
    Blob(BlobRead),
}

/// The output of a [`Wait`].
#[derive(Clone)]
pub(super) enum Completion {
    Block(Result<LoadedBlock>),
    Table(Result<Arc<Table>>),
    BlobFile(Result<Arc<BlobFileReader>>),
    Blob(Result<Vec<u8>>),
}

impl Future for Wait {
    type Output = Completion;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Completion> {
        match &mut *self {
            Self::Block(read) => Pin::new(read).poll(context).map(Completion::Block),
            Self::Table(opening) => Pin::new(opening).poll(context).map(Completion::Table),
            Self::BlobFile(opening) => Pin::new(opening).poll(context).map(Completion::BlobFile),
            Self::Blob(read) => Pin::new(read).poll(context).map(Completion::Blob),
        }
    }
}

impl PinnedState {
    pub(super) fn new(
        core: &Arc<DbCore>,
        data: &Arc<ColumnFamilyData>,
        pinned: &Arc<SuperVersion>,
        options: &ReadOptions,
        activity: IoActivity,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            data: Arc::clone(data),
            pinned: Arc::clone(pinned),
            options: options.clone(),
            activity,
        }
    }

    fn blobs(&self) -> BlobView<'_> {
        search::blob_view(&self.core, &self.data, &self.pinned.version, &self.options)
    }

    /// The read or open for the blob index that a search ended at; `None` if the value, or an error, was supplied.
    fn at_blob(&self, context: &mut GetContext<'_, ValuePin>) -> Option<At> {
        let blobs = self.blobs();
        match blobs.follow(context.user_key(), context.blob_index()?) {
            Ok(BlobPlace::InFile(reference)) => Some(match blobs.open_file(&reference) {
                Some(file) => At::Blob(file, reference),
                None => At::BlobFile(reference, false),
            }),
            Ok(BlobPlace::Here(value)) => {
                context.supply_blob(Ok(value));
                None
            }
            Err(error) => {
                context.supply_blob(Err(error));
                None
            }
        }
    }
}

/// Finishes a search, which asked tables or did not, or suspends it. `state` is called only to suspend it.
#[inline]
pub(super) fn step(
    stop: Option<Stop<'_>>,
    lookup: &LookupKey,
    mut context: GetContext<'_, ValuePin>,
    (counts, asked_tables): (&LookupRecorder<'_>, bool),
    state: impl FnOnce() -> Arc<PinnedState>,
) -> Step {
    if stop.is_none() {
        note_lookup(counts, &context, asked_tables);
    }
    if stop.is_none() && context.blob_index().is_none() {
        return Step::Over(context.finish());
    }
    suspend(stop, lookup, &mut context, state()).map_or_else(|| Step::Over(context.finish()), Step::Waits)
}

#[cold]
fn suspend(
    stop: Option<Stop<'_>>,
    lookup: &LookupKey,
    context: &mut GetContext<'_, ValuePin>,
    state: Arc<PinnedState>,
) -> Option<SuspendedLookup> {
    let at = match stop {
        None => state.at_blob(context)?,
        Some(Stop::Table(_, file)) => At::Table(Arc::clone(file)),
        Some(Stop::Block(AtBlock { place, needed, .. })) => {
            At::Block(Arc::clone(place.file), (*place.table).clone(), place.lookup, needed)
        }
    };
    Some(SuspendedLookup { state, lookup: lookup.clone(), found: context.suspend(), at })
}

impl SuspendedLookup {
    /// The identity of the thing it waits for.
    pub(super) fn identity(&self) -> Identity {
        match &self.at {
            At::Block(_, table, _, needed) => {
                let (table, offset) = table.identity_of(*needed);
                Identity::Block(table, offset)
            }
            At::Table(file) => Identity::Table(file.number),
            At::BlobFile(reference, _) => Identity::BlobFile(reference.file_number),
            At::Blob(_, reference) => Identity::Blob(reference.file_number, reference.offset),
        }
    }

    /// Starts the read or open that it waits for.
    pub(super) fn start(&self) -> Wait {
        let (state, core) = (&self.state, &self.state.core);
        match &self.at {
            At::Block(_, table, _, needed) => {
                Wait::Block(table.start_needed(&state.options.for_table(state.activity), *needed))
            }
            At::Table(file) => {
                let (state, file) = (Arc::clone(state), Arc::clone(file));
                let (number, open) =
                    (file.number, move || state.data.table_cache.get_for(&file, state.activity).map(Arc::new));
                Wait::Table(core.reads.open_table(number, open))
            }
            At::BlobFile(reference, _) => {
                let (state, reference) = (Arc::clone(state), *reference);
                let (number, open) = (reference.file_number, move || state.blobs().file(&reference));
                Wait::BlobFile(core.reads.open_blob_file(number, open))
            }
            At::Blob(file, reference) => {
                Wait::Blob(state.blobs().start(Arc::clone(file), self.lookup.user_key(), reference))
            }
        }
    }

    /// Resumes with the result.
    pub(super) fn resume(self, completion: Completion) -> Step {
        let Self { state, lookup, found, at } = self;
        let operator = state.pinned.merge_operator.as_deref();
        let mut context = GetContext::resume(lookup.user_key(), operator, found);
        let place = match (at, completion) {
            (At::Block(file, table, mut in_table, _), Completion::Block(block)) => {
                in_table.supply(block).map(|()| (file, table, Some(in_table)))
            }
            (At::Table(file), Completion::Table(table)) => table.map(|table| (file, Table::clone(&table), None)),
            (At::BlobFile(reference, is_again), Completion::BlobFile(Ok(file))) => {
                // An open that began for another value, before this one was written: the next one begins now.
                let at = match file.covers(&reference) || is_again {
                    true => At::Blob(file, reference),
                    false => At::BlobFile(reference, true),
                };
                let found = context.suspend();
                return Step::Waits(Self { state: Arc::clone(&state), lookup: lookup.clone(), found, at });
            }
            (At::BlobFile(reference, _), Completion::BlobFile(Err(error))) => {
                Err(state.blobs().explain(&reference, error))
            }
            (At::Blob(_, reference), Completion::Blob(value)) => {
                context.supply_blob(value.and_then(|value| state.blobs().keep(&reference, value)));
                return Step::Over(context.finish());
            }
            _ => Err(Error::new(ErrorKind::Aborted, "a search was given something else than it waits for")),
        };
        match place {
            Ok((file, table, in_table)) => state.resume(&file, table, in_table, &lookup, context),
            Err(error) => {
                context.fail(error);
                Step::Over(context.finish())
            }
        }
    }
}

impl PinnedState {
    /// Continues in a table, from its beginning or where the search stopped in it, and then in the others.
    fn resume(
        self: &Arc<Self>,
        file: &Arc<FileMetadata>,
        table: Table,
        in_table: Option<TableLookup>,
        lookup: &LookupKey,
        mut context: GetContext<'_, ValuePin>,
    ) -> Step {
        let options = &self.options;
        let table_options = options.for_table(self.activity);
        let counts = &self.core.metrics.lookup_recorder(ThreadState::current());
        let search = Search { data: &self.data, pinned: &self.pinned, options, table_options, counts };
        let mut candidates = self.pinned.version.candidates(lookup);
        if let Some((level, _)) = candidates.find(|(_, candidate)| Arc::ptr_eq(candidate, file)) {
            context.enter_level(level);
        }
        let table = TableRef::Shared(table);
        let place = match in_table {
            Some(in_table) => TableSearch { file, table, lookup: in_table },
            None => search.enter(file, table, lookup, &mut context),
        };
        let stop = search.resume(candidates, Some(place), lookup, &mut context);
        step(stop, lookup, context, (counts, true), || Arc::clone(self))
    }
}
