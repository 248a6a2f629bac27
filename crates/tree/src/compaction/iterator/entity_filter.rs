//! Entities before the compaction filter: decoded, with the columns that lie in blob files, and put together again.

use crate::blob::FetchBlob;
use ferrock_base::compaction_filter::{CompactionFilter, FilterContext, FilterDecision};
use ferrock_base::{Error, Result};
use ferrock_format::wide_column::{decode_entity, encode_entity};

/// What the filter says of the entity under `key`. One with columns in blob files, of which there are none at hand,
/// stays.
pub(super) fn decide(
    (filter, context): (&dyn CompactionFilter, &FilterContext),
    key: &[u8],
    entity: &[u8],
    blobs: Option<&dyn FetchBlob>,
) -> Result<FilterDecision> {
    let columns = decode_entity(entity)?;
    let mut fetched = Vec::new();
    for column in columns.iter().filter(|column| column.is_blob_index) {
        let Some(blobs) = blobs else { return Ok(FilterDecision::Keep) };
        fetched.push(blobs.fetch(key, column.value)?);
    }
    let mut fetched = fetched.iter();
    let columns: Vec<(&[u8], &[u8])> = columns
        .iter()
        .map(|column| match column.is_blob_index {
            true => (column.name, fetched.next().map_or(&[][..], |value| value)),
            false => (column.name, column.value),
        })
        .collect();
    Ok(filter.filter_entity(context, key, &columns))
}

/// The entity of the columns that a filter gave for `key`, in any order.
pub(super) fn encode(mut columns: Vec<(Vec<u8>, Vec<u8>)>, key: &[u8]) -> Result<Vec<u8>> {
    columns.sort();
    let columns: Vec<(&[u8], &[u8])> =
        columns.iter().map(|(name, value)| (name.as_slice(), value.as_slice())).collect();
    encode_entity(&columns).map_err(|error| {
        let key = key.escape_ascii();
        Error::invalid_argument(format!("the compaction filter's ChangeEntity for key {key}: {error}"))
    })
}
