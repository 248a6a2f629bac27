//! Looking a key up in what a SuperVersion has, source after source.

use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::options::{ReadOptions, ReadTier};
use ferrock_base::{Error, ErrorKind, LookupKey, Result};
use ferrock_table::ValuePin;
use ferrock_tree::iterator::range_tombstones::covering_sequence_in_file;
use ferrock_tree::read::GetContext;
use ferrock_tree::table_cache::{TableCache, TableRef};

/// Looks a key up in the memtables. True when tables are to be asked: such a lookup, and no other, is one that the
/// family counts, in whichever call it is ([`ReadStats`]), as the counts decide how tables are written.
#[inline]
pub(super) fn search_memtables(
    pinned: &SuperVersion,
    lookup: &LookupKey,
    context: &mut GetContext<'_, ValuePin>,
) -> bool {
    for memtable in std::iter::once(&pinned.memtable).chain(&pinned.immutable) {
        context.add_covering_tombstone(memtable.max_covering_tombstone(lookup.user_key(), context.newest()));
        memtable.get(lookup, |sequence, value_type, value| context.add(sequence, value_type, value, || None));
        if context.is_done() {
            return false;
        }
    }
    context.needs_tables()
}

/// Looks a key up in the tables, after the memtables.
pub(super) fn search_tables(
    data: &ColumnFamilyData,
    pinned: &SuperVersion,
    lookup: &LookupKey,
    options: &ReadOptions,
    context: &mut GetContext<'_, ValuePin>,
) -> Result<()> {
    let table_options = options.for_table();
    let mut candidates = pinned.version.candidates_of(lookup);
    let candidates = candidates.find();
    while let Some(file) = context.next_file(candidates) {
        let table = table_for_read(&data.table_cache, file, options)?;
        if let Some(tombstones) = table.range_tombstones() {
            let (smallest, largest, key) = (&file.smallest, &file.largest, lookup.user_key());
            let covering = covering_sequence_in_file(tombstones, smallest, largest, key, context.newest());
            context.add_covering_tombstone(covering);
        }
        table.get(&table_options, lookup, &mut |entry, value, block| {
            context.add(entry.sequence, entry.value_type, value, || Some(block.pin()))
        })?;
    }
    Ok(())
}

/// The open table of a file. Where reads are not allowed, a table that is not open answers `Incomplete`.
pub(super) fn table_for_read<'a>(
    cache: &TableCache,
    file: &'a ferrock_tree::version::FileMetadata,
    options: &ReadOptions,
) -> Result<TableRef<'a>> {
    if options.read_tier == ReadTier::BlockCacheOnly {
        let table = cache.get_if_open(file).map(TableRef::Shared);
        return table.ok_or_else(not_open);
    }
    cache.get_ref(file)
}

#[cold]
pub(super) fn not_open() -> Error {
    Error::new(ErrorKind::Incomplete, "the table is not open and the read may not open it")
}
