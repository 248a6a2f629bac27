//! Approximate sizes: what the index blocks say, without reading data.

use crate::column_family::{ColumnFamily, ColumnFamilyData, SuperVersion};
use ferrock_base::Result;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_tree::version::FileMetadata;

/// See [`Db::approximate_sizes`].
pub(crate) fn approximate_sizes(family: &ColumnFamily, ranges: &[(&[u8], &[u8])]) -> Result<Vec<u64>> {
    let data = &family.data;
    let pinned = data.super_version.load();
    ranges.iter().map(|&(begin, end)| size_of_range(data, &pinned, begin, end)).collect()
}

fn size_of_range(data: &ColumnFamilyData, pinned: &SuperVersion, begin: &[u8], end: &[u8]) -> Result<u64> {
    let order = data.comparator.user();
    let mut total = 0u64;
    if order.compare(begin, end).is_ge() {
        return Ok(0);
    }
    for (_, file) in pinned.version.files() {
        let begins_inside = order.compare(file.smallest_user_key(), begin).is_ge();
        let ends_inside = order.compare(file.largest_user_key(), end).is_lt();
        let is_outside = order.compare(file.smallest_user_key(), end).is_ge()
            || order.compare(file.largest_user_key(), begin).is_lt();
        if is_outside {
            continue;
        }
        let size = match (begins_inside, ends_inside) {
            (true, true) => file.size_bytes,
            (true, false) => offset_of(data, file, end)?,
            (false, true) => file.size_bytes.saturating_sub(offset_of(data, file, begin)?),
            (false, false) => {
                let table = data.table_cache.get(file)?;
                table.approximate_size_between(&before(begin), &before(end))?
            }
        };
        total = total.saturating_add(size);
    }
    Ok(total)
}

fn offset_of(data: &ColumnFamilyData, file: &FileMetadata, user_key: &[u8]) -> Result<u64> {
    data.table_cache.get(file)?.approximate_offset_of(&before(user_key))
}

/// The internal key before every version of a user key.
fn before(user_key: &[u8]) -> Vec<u8> {
    make_internal_key(user_key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK)
}
