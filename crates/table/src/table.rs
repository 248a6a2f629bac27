//! A table of any kind. A further kind becomes a variant here and in [`TableIter`](crate::TableIter); what is above
//! (file metadata, pinned values, iterators over levels) names no kind.

use crate::blocks::PinnedBlock;
#[cfg(any(test, feature = "test-kinds"))]
use crate::entries_table::EntriesTable;
use crate::plain::PlainTable;
use crate::reader::open::{ByKind, footer_of, open_by_kind};
use crate::reader::{
    Approach, BlockRead, BlockTable, LookupCounts, NeededBlock, NoCounts, RoundReads, ScanBounds, TableLookup,
    TableReadOptions, TableReaderParams,
};
use crate::table_iter::TableIter;
use crate::value::ValueSource;
use ferrock_base::range_tombstone::FragmentedRangeTombstones;
use ferrock_base::{FileNumber, InternalComparator, LookupKey, ParsedInternalKey, Result};
use ferrock_format::footer::TableKind;
use ferrock_format::properties::TableProperties;
use ferrock_vfs::IoActivity;
use std::path::Path;
use std::sync::Arc;

/// An open table. A clone is the same table.
#[derive(Clone, Debug)]
pub enum Table {
    /// RocksDB's block-based table.
    Block(Arc<BlockTable>),
    /// RocksDB's PlainTable.
    Plain(Arc<PlainTable>),
    /// A table of tests.
    #[cfg(any(test, feature = "test-kinds"))]
    Entries(Arc<EntriesTable>),
}

/// The same expression for every kind.
macro_rules! of_kind {
    ($table:expr, $inner:ident => $then:expr) => {
        match $table {
            Table::Block($inner) => $then,
            Table::Plain($inner) => $then,
            #[cfg(any(test, feature = "test-kinds"))]
            Table::Entries($inner) => $then,
        }
    };
}

impl Table {
    /// Opens a table of the kind that its footer names.
    ///
    /// # Errors
    /// `Corruption` for a file that is not a whole table; `NotSupported` for a kind or a feature that cannot be read;
    /// `InvalidArgument` for a table of another order; `MemoryLimit` when the cache has no room for its charge; the
    /// error of a read.
    pub fn open(params: TableReaderParams) -> Result<Self> {
        #[cfg(any(test, feature = "test-kinds"))]
        if let Some(table) = EntriesTable::open(&params)? {
            return Ok(Self::Entries(table));
        }
        match open_by_kind(params)? {
            ByKind::Block(table) => Ok(Self::Block(table)),
            ByKind::Plain(params, footer) => PlainTable::open(*params, &footer).map(Self::Plain),
        }
    }

    /// The properties of a table of any kind, read without opening it. No key is looked at, so any order will do.
    ///
    /// # Errors
    /// `Corruption` for a file that is no table or whose properties are damaged; `Io` when it cannot be read.
    pub fn properties_of(params: &TableReaderParams) -> Result<TableProperties> {
        let footer = footer_of(params)?;
        match footer.kind {
            TableKind::Plain => PlainTable::properties_of(params, &footer),
            _ => BlockTable::properties_of(params),
        }
    }

    /// Shows `visit` the entries of the key's user key, newest first, from the lookup's sequence number on, until it
    /// returns false. Range tombstones are not looked at.
    ///
    /// # Errors
    /// The error of a read; `Corruption` for a damaged block.
    #[inline]
    pub fn get(
        &self,
        options: &TableReadOptions,
        key: &LookupKey,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], ValueSource<'_>) -> bool,
    ) -> Result<()> {
        self.get_counted(options, key, &NoCounts, visit)
    }

    /// As [`get`](Self::get), which counts what it did in `counts`.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    #[inline]
    pub fn get_counted(
        &self,
        options: &TableReadOptions,
        key: &LookupKey,
        counts: &impl LookupCounts,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], ValueSource<'_>) -> bool,
    ) -> Result<()> {
        match self {
            Self::Block(table) => table.get_counted(options, key, counts, &mut of_block(visit)),
            Self::Plain(table) => table.get(key, visit),
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(table) => table.get(key, visit),
        }
    }

    /// Advances `lookup` without reading: to a block that it needs, or (`None`) to its end, after `visit` saw the
    /// entries of the key as in [`get`](Self::get).
    ///
    /// # Errors
    /// `Incomplete` or `TryAgain` when the options allow no read; `Corruption` for a damaged block.
    #[inline]
    pub fn advance(
        &self,
        options: &TableReadOptions,
        key: &LookupKey,
        lookup: &mut TableLookup,
        counts: &impl LookupCounts,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], ValueSource<'_>) -> bool,
    ) -> Result<Option<NeededBlock>> {
        match self {
            Self::Block(table) => lookup.advance(table, options, key, counts, &mut of_block(visit)),
            Self::Plain(table) => table.get(key, visit).map(|()| None),
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(table) => table.get(key, visit).map(|()| None),
        }
    }

    /// Brings a lookup to the block that it searches first, for [`advance`](Self::advance) to go on with.
    ///
    /// # Errors
    /// Those of [`advance`](Self::advance).
    #[inline]
    pub fn begin(
        &self,
        options: &TableReadOptions,
        key: &LookupKey,
        lookup: &mut TableLookup,
        counts: &impl LookupCounts,
    ) -> Result<Approach> {
        match self {
            Self::Block(table) => lookup.begin(table, options, key, counts),
            Self::Plain(_) => Ok(Approach::AtBlock),
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(_) => Ok(Approach::AtBlock),
        }
    }

    /// Begins to read a block that a lookup in this table needs.
    pub fn start_needed(&self, options: &TableReadOptions, needed: NeededBlock) -> BlockRead {
        BlockRead::start(self.of_needed(), options, needed)
    }

    /// Adds the block that a lookup in this table needs to the reads of a round.
    pub fn add_to<W>(&self, round: &mut RoundReads<'_, W>, needed: NeededBlock, waiter: W) {
        round.add(self.of_needed(), needed, waiter);
    }

    /// Equal for two needed blocks only if they are the same block; as [`BlockRead::identity`] of its read.
    #[must_use]
    pub fn identity_of(&self, needed: NeededBlock) -> (usize, u64) {
        needed.identity_in(self.of_needed())
    }

    /// The table of blocks that a lookup advanced in. Only such a table needs a block.
    fn of_needed(&self) -> &Arc<BlockTable> {
        match self {
            Self::Block(table) => table,
            Self::Plain(_) => unreachable!("a lookup in a plain table needs no block"),
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(_) => unreachable!("a lookup in entries needs no block"),
        }
    }

    /// A new iterator, not positioned.
    #[must_use]
    pub fn iter(&self, options: TableReadOptions) -> TableIter {
        self.iter_within(options, Arc::default())
    }

    /// A new iterator over the keys within bounds, not positioned.
    #[must_use]
    pub fn iter_within(&self, options: TableReadOptions, bounds: Arc<ScanBounds>) -> TableIter {
        match self {
            Self::Block(table) => TableIter::Block(Box::new(table.iter_within(options, bounds))),
            Self::Plain(table) => TableIter::Plain(Box::new(table.iter())),
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(table) => TableIter::Entries(table.iter()),
        }
    }

    /// As [`iter_within`](Self::iter_within), in the memory of an iterator that is not needed any more.
    #[must_use]
    pub fn iter_in_place_of(&self, former: TableIter, options: TableReadOptions, bounds: Arc<ScanBounds>) -> TableIter {
        match (self, former) {
            (Self::Block(table), TableIter::Block(mut iter)) => {
                iter.begin_in(table, options, bounds);
                TableIter::Block(iter)
            }
            (_, former) => {
                drop(former);
                self.iter_within(options, bounds)
            }
        }
    }

    /// The table's range tombstones, `None` when it has none.
    #[inline]
    #[must_use]
    pub fn range_tombstones(&self) -> Option<&Arc<FragmentedRangeTombstones>> {
        of_kind!(self, table => table.range_tombstones())
    }

    /// Order of the keys.
    #[must_use]
    pub fn comparator(&self) -> &InternalComparator {
        of_kind!(self, table => table.comparator())
    }

    /// The table's properties.
    #[must_use]
    pub fn properties(&self) -> &Arc<TableProperties> {
        of_kind!(self, table => table.properties())
    }

    /// Bytes that the table itself holds in memory, without what is in the block cache.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        of_kind!(self, table => table.memory_bytes())
    }

    /// Loads the table into the cache, as reads would: what `prepopulate_block_cache` asks for.
    ///
    /// # Errors
    /// The error of a read; `MemoryLimit` of a cache that fails when it is full.
    pub fn fill_cache(&self) -> Result<()> {
        match self {
            Self::Block(table) => table.fill_cache(),
            Self::Plain(_) => Ok(()),
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(_) => Ok(()),
        }
    }

    /// Takes blocks of the table out of the block cache, and returns how many: see [`BlockTable::uncache`]. Other kinds
    /// have none there.
    pub fn uncache(&self, aggressiveness: u32) -> u64 {
        match self {
            Self::Block(table) => table.uncache(aggressiveness),
            Self::Plain(_) => 0,
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(_) => 0,
        }
    }

    /// Where in the file the first entry at or after `internal_key` lies, or would lie.
    ///
    /// # Errors
    /// The error of a read; `Corruption` for a damaged index.
    pub fn approximate_offset_of(&self, internal_key: &[u8]) -> Result<u64> {
        of_kind!(self, table => table.approximate_offset_of(internal_key))
    }

    /// Bytes of the file between two internal keys.
    ///
    /// # Errors
    /// The error of a read; `Corruption` for a damaged index.
    pub fn approximate_size_between(&self, begin: &[u8], end: &[u8]) -> Result<u64> {
        of_kind!(self, table => table.approximate_size_between(begin, end))
    }

    /// Reads the whole file past the cache and checks it; of a plain table, which has no checksums, the number and the
    /// order of the entries. `readahead_bytes` is how much to read at a time, 0 for a
    /// default; the reads count as those of `activity`.
    ///
    /// # Errors
    /// The error of a read; `Corruption` for what is damaged.
    pub fn verify_checksums(&self, readahead_bytes: usize, activity: IoActivity) -> Result<()> {
        match self {
            Self::Block(table) => table.verify_checksums(readahead_bytes, activity),
            Self::Plain(table) => table.verify(),
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(_) => Ok(()),
        }
    }

    /// The table as one of blocks, for what only such a table has.
    #[must_use]
    pub fn as_block(&self) -> Option<&Arc<BlockTable>> {
        match self {
            Self::Block(table) => Some(table),
            Self::Plain(_) => None,
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(_) => None,
        }
    }

    /// The file.
    #[must_use]
    pub fn file_path(&self) -> &Path {
        of_kind!(self, table => table.file_path())
    }

    /// Number of the file.
    #[must_use]
    pub fn file_number(&self) -> FileNumber {
        of_kind!(self, table => table.file_number())
    }

    /// True for two clones of one table.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Block(one), Self::Block(other)) => Arc::ptr_eq(one, other),
            (Self::Plain(one), Self::Plain(other)) => Arc::ptr_eq(one, other),
            #[cfg(any(test, feature = "test-kinds"))]
            (Self::Entries(one), Self::Entries(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// True while this is the only clone.
    #[must_use]
    pub fn is_unshared(&self) -> bool {
        of_kind!(self, table => Arc::strong_count(table) == 1)
    }
}

/// The visitor of a block-based table.
#[inline]
fn of_block(
    visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], ValueSource<'_>) -> bool,
) -> impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool {
    move |key, value, pinned| visit(key, value, ValueSource::Block(pinned))
}
