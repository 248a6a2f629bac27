//! A key's search that stops where something is missing, and goes on when it came.
//!
//! ```text
//! search --+--> over
//!          +--> a block that is not in memory -------- BlockRead --> goes on in its table
//!          +--> a table that is not open ------------- Opening ----> enters it
//!          +--> a value in a blob file that is open --- BlobRead ---> over
//!          +--> ... that is not open ------------------ Opening ----> BlobRead
//! ```
//!
//! It is the search of [`multi_get`](super::multi_get). What a waiting one keeps is owned ([`Moment`], [`Halted`]); the files
//! that it has been through are passed over again when it goes on.

use super::DbCore;
use super::multi_get::{AtBlock, Place, Search, Stop};
use super::openings::Opening;
use super::read::{PinnedSlice, Release};
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::options::ReadOptions;
use ferrock_base::{Error, ErrorKind, FileNumber, LookupKey, Result, SequenceNumber};
use ferrock_format::blob_index::BlobReference;
use ferrock_table::{BlockPin, BlockRead, LoadedBlock, NeededBlock, TableLookup, TableReader};
use ferrock_tree::blob::{BlobFileReader, BlobPlace, BlobRead, BlobView};
use ferrock_tree::read::{Found, GetContext};
use ferrock_tree::table_cache::TableRef;
use ferrock_tree::version::FileMetadata;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

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

/// Where a search stands while it waits.
enum At {
    Block(Arc<FileMetadata>, Arc<TableReader>, TableLookup, NeededBlock),
    Table(Arc<FileMetadata>),
    BlobFile(BlobReference),
    Blob(Arc<BlobFileReader>, BlobReference),
}

/// A search that waits, with all that it needs to go on.
pub(super) struct Halted {
    moment: Arc<Moment>,
    lookup: LookupKey,
    found: Found<BlockPin>,
    at: At,
}

/// How far a search came.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(super) enum Step {
    Over(Result<Option<PinnedSlice>>),
    Waits(Halted),
}

/// What tells things that are waited for apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Identity {
    Block(usize, u64),
    Table(FileNumber),
    BlobFile(FileNumber),
    Blob(FileNumber, u64),
}

/// Something on its way to a search.
pub(super) enum Wait {
    Block(BlockRead),
    Table(Opening<TableReader>),
    BlobFile(Opening<BlobFileReader>),
    Blob(BlobRead),
}

/// Something that came.
#[derive(Clone)]
pub(super) enum Came {
    Block(Result<LoadedBlock>),
    Table(Result<Arc<TableReader>>),
    BlobFile(Result<Arc<BlobFileReader>>),
    Blob(Result<Vec<u8>>),
}

impl Future for Wait {
    type Output = Came;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Came> {
        match &mut *self {
            Self::Block(read) => Pin::new(read).poll(context).map(Came::Block),
            Self::Table(opening) => Pin::new(opening).poll(context).map(Came::Table),
            Self::BlobFile(opening) => Pin::new(opening).poll(context).map(Came::BlobFile),
            Self::Blob(read) => Pin::new(read).poll(context).map(Came::Blob),
        }
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
            _release: Release::handed_over(core, &pinned.version),
        }
    }

    fn blobs(&self) -> BlobView<'_> {
        self.core.blob_view(self.data.id, &self.pinned.version, &self.options)
    }

    /// Where the value behind the index that a search ended at is to be had, unless that is over, too.
    fn at_blob(&self, context: &mut GetContext<'_, BlockPin>) -> Option<At> {
        let blobs = self.blobs();
        match blobs.follow(context.user_key(), context.blob_index()?) {
            Ok(BlobPlace::InFile(reference)) => Some(match blobs.open_file(&reference) {
                Some(file) => At::Blob(file, reference),
                None => At::BlobFile(reference),
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

/// What became of a search. `moment` is asked for when it waits.
#[inline]
pub(super) fn step(
    stop: Option<Stop<'_>>,
    lookup: &LookupKey,
    mut context: GetContext<'_, BlockPin>,
    moment: impl FnOnce() -> Arc<Moment>,
) -> Step {
    if stop.is_none() && context.blob_index().is_none() {
        return Step::Over(context.finish());
    }
    halt(stop, lookup, &mut context, moment()).map_or_else(|| Step::Over(context.finish()), Step::Waits)
}

#[cold]
fn halt(
    stop: Option<Stop<'_>>,
    lookup: &LookupKey,
    context: &mut GetContext<'_, BlockPin>,
    moment: Arc<Moment>,
) -> Option<Halted> {
    let at = match stop {
        None => moment.at_blob(context)?,
        Some(Stop::Table(_, file)) => At::Table(Arc::clone(file)),
        Some(Stop::Block(AtBlock { place, needed, .. })) => {
            At::Block(Arc::clone(place.file), Arc::clone(&place.table), place.lookup, needed)
        }
    };
    Some(Halted { moment, lookup: lookup.clone(), found: context.suspend(), at })
}

impl Halted {
    /// What tells what it waits for from other things.
    pub(super) fn identity(&self) -> Identity {
        match &self.at {
            At::Block(_, table, _, needed) => {
                let (table, offset) = needed.identity_in(table);
                Identity::Block(table, offset)
            }
            At::Table(file) => Identity::Table(file.number),
            At::BlobFile(reference) => Identity::BlobFile(reference.file_number),
            At::Blob(_, reference) => Identity::Blob(reference.file_number, reference.offset),
        }
    }

    /// Begins to read or open what it waits for.
    pub(super) fn start(&self) -> Wait {
        let (moment, core) = (&self.moment, &self.moment.core);
        match &self.at {
            At::Block(_, table, _, needed) => Wait::Block(table.start_needed(&moment.options.for_table(), *needed)),
            At::Table(file) => {
                let (moment, file) = (Arc::clone(moment), Arc::clone(file));
                let (number, open) = (file.number, move || moment.data.table_cache.get(&file));
                Wait::Table(core.opening_tables.start(&core.helpers, number, open))
            }
            At::BlobFile(reference) => {
                let (moment, reference) = (Arc::clone(moment), *reference);
                let (number, open) = (reference.file_number, move || moment.blobs().file(&reference));
                Wait::BlobFile(core.opening_blob_files.start(&core.helpers, number, open))
            }
            At::Blob(file, reference) => {
                Wait::Blob(moment.blobs().start(Arc::clone(file), self.lookup.user_key(), reference))
            }
        }
    }

    /// Goes on with what came.
    pub(super) fn resume(self, came: Came) -> Step {
        let Self { moment, lookup, found, at } = self;
        let operator = moment.pinned.options.merge_operator.as_deref();
        let mut context = GetContext::new(lookup.user_key(), operator).resume(found);
        let place = match (at, came) {
            (At::Block(file, table, mut in_table, _), Came::Block(block)) => {
                in_table.supply(block).map(|()| (file, table, Some(in_table)))
            }
            (At::Table(file), Came::Table(table)) => table.map(|table| (file, table, None)),
            (At::BlobFile(reference), Came::BlobFile(Ok(file))) => {
                let (found, at) = (context.suspend(), At::Blob(file, reference));
                return Step::Waits(Self { moment: Arc::clone(&moment), lookup: lookup.clone(), found, at });
            }
            (At::BlobFile(reference), Came::BlobFile(Err(error))) => Err(moment.blobs().explain(&reference, error)),
            (At::Blob(..), Came::Blob(value)) => {
                context.supply_blob(value);
                return Step::Over(context.finish());
            }
            _ => Err(Error::new(ErrorKind::Aborted, "a search was given something else than it waits for")),
        };
        match place {
            Ok((file, table, in_table)) => moment.go_on(&file, table, in_table, &lookup, context),
            Err(error) => {
                context.fail(error);
                Step::Over(context.finish())
            }
        }
    }
}

impl Moment {
    /// Goes on in a table, from its beginning or where the search stopped in it, and then in the others.
    fn go_on(
        self: &Arc<Self>,
        file: &Arc<FileMetadata>,
        table: Arc<TableReader>,
        in_table: Option<TableLookup>,
        lookup: &LookupKey,
        mut context: GetContext<'_, BlockPin>,
    ) -> Step {
        let (options, sequence) = (&self.options, self.sequence);
        let table_options = options.for_table();
        let search = Search { data: &self.data, pinned: &self.pinned, options, table_options, sequence };
        let mut candidates = self.pinned.version.candidates(lookup);
        candidates.find(|(_, candidate)| Arc::ptr_eq(candidate, file));
        let table = TableRef::Shared(table);
        let place = match in_table {
            Some(in_table) => Place { file, table, lookup: in_table },
            None => search.enter(file, table, lookup, &mut context),
        };
        let stop = search.go_on(candidates, Some(place), lookup, &mut context);
        step(stop, lookup, context, || Arc::clone(self))
    }
}
