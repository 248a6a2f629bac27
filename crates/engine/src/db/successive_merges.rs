//! Operands that are merged with the value of their key when they are written (`max_successive_merges`).
//!
//! A key that is merged to again and again collects operands in the memtable, and each read folds all of them. From a
//! number of operands on, a further one is folded once, by the writer, and the memtable gets a value. The log keeps the
//! operand: a recovery without this option gives the same. Operands below the value stay for older snapshots.
//!
//! The value is only computed where that is certain to give what a read would: a value or nothing under the operands
//! (no entity, no blob), no error, and, without `strict_max_successive_merges`, no block that is not in memory.

use super::search::{search_memtables, search_tables};
use crate::column_family::ColumnFamilyData;
use crate::options::{ReadOptions, ReadTier};
use crate::super_version::thread_ordinal;
use ferrock_base::{LookupKey, Result, SequenceNumber, ValueType};
use ferrock_memtable::MemTable;
use ferrock_table::NoCounts;
use ferrock_tree::read::merge::{MergeBase, full_merge};
use ferrock_tree::read::{GetContext, PinnedValue, ReadView};

/// The value that `key` has with a further `operand`, which gets the number `sequence`; `None` where the operand is to
/// be kept as it is. The caller alone inserts.
pub(super) fn merged_value(
    data: &ColumnFamilyData,
    memtable: &MemTable,
    key: &[u8],
    operand: &[u8],
    sequence: SequenceNumber,
) -> Option<Vec<u8>> {
    let options = data.options.load();
    if options.max_successive_merges == 0 {
        return None;
    }
    let lookup = LookupKey::new(key, sequence);
    let mut operands = 0;
    let counted = memtable.get(&lookup, |_, value_type, _| {
        operands += usize::from(value_type == ValueType::Merge);
        value_type == ValueType::Merge && operands < options.max_successive_merges
    });
    // A damaged entry is a matter of reads.
    if counted.is_err() || operands < options.max_successive_merges {
        return None;
    }
    let read_tier = if options.strict_max_successive_merges { ReadTier::All } else { ReadTier::BlockCacheOnly };
    let read = ReadOptions { read_tier, ..ReadOptions::default() };
    // A read that fails leaves the operand to later reads.
    let existing = plain_value(data, &lookup, sequence, &read).ok()??;
    let operator = options.merge_operator.as_deref();
    let mut merged = Vec::new();
    full_merge(operator, key, MergeBase::Value(&existing), &[operand], &mut merged).ok()?;
    Some(merged)
}

/// What a read at `sequence` finds, if that is a value that came from values and operands alone.
fn plain_value(
    data: &ColumnFamilyData,
    lookup: &LookupKey,
    sequence: SequenceNumber,
    read: &ReadOptions,
) -> Result<Option<Vec<u8>>> {
    let pinned = data.super_version.pin(thread_ordinal());
    let operator = pinned.merge_operator.as_deref();
    let mut context = GetContext::new(lookup.user_key(), ReadView::UpTo(sequence), operator);
    if search_memtables(&pinned, lookup, &mut context, None) {
        search_tables(data, &pinned, lookup, read, &mut context, &NoCounts)?;
    }
    if !context.is_plain() {
        return Ok(None);
    }
    Ok(context.finish()?.map(PinnedValue::into_vec))
}
