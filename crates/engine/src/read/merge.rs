//! Full merges: operands over what they found below them.

use ferrock_base::merge::MergeOperator;
use ferrock_base::{Error, Result};
use ferrock_format::wide_column::{decode_entity, default_column, encode_entity};

/// What lies under the operands of a merge.
#[derive(Clone, Copy, Debug)]
pub enum MergeBase<'a> {
    /// Nothing: a tombstone or the end of history.
    None,
    /// A plain value.
    Value(&'a [u8]),
    /// An entity: operators work on its default column.
    Entity(&'a [u8]),
}

/// The operator, or the error of a merge without one.
pub fn require_operator(operator: Option<&dyn MergeOperator>) -> Result<&dyn MergeOperator> {
    operator.ok_or_else(|| {
        Error::invalid_argument(
            "merge operands without a merge operator: open the column family with the operator it was written with",
        )
    })
}

fn run(
    operator: &dyn MergeOperator,
    key: &[u8],
    existing: Option<&[u8]>,
    operands: &[&[u8]],
    out: &mut Vec<u8>,
) -> Result<()> {
    out.clear();
    if operator.full_merge(key, existing, operands, out) {
        return Ok(());
    }
    Err(Error::corruption(format!(
        "merge operator {} failed to combine {} operands of key {}",
        operator.name(),
        operands.len(),
        key.escape_ascii()
    )))
}

/// Folds `operands`, oldest first, over `base` into the value that a plain read returns.
///
/// # Errors
/// `InvalidArgument` without an operator, `Corruption` when the operator fails or an entity is malformed.
pub fn full_merge(
    operator: Option<&dyn MergeOperator>,
    key: &[u8],
    base: MergeBase<'_>,
    operands: &[&[u8]],
    out: &mut Vec<u8>,
) -> Result<()> {
    let operator = require_operator(operator)?;
    match base {
        MergeBase::None => run(operator, key, None, operands, out),
        MergeBase::Value(value) => run(operator, key, Some(value), operands, out),
        MergeBase::Entity(entity) => run(operator, key, Some(entity_value(entity)?), operands, out),
    }
}

/// What a plain read of an entity returns: its default column, or nothing at all but an empty value.
///
/// # Errors
/// `Corruption` when the bytes are no entity, `NotSupported` when the column is in a blob file.
pub fn entity_value(entity: &[u8]) -> Result<&[u8]> {
    match default_column(entity)? {
        None => Ok(&[]),
        Some(column) if column.is_blob_index => Err(blob_not_supported()),
        Some(column) => Ok(column.value),
    }
}

/// Folds `operands`, oldest first, over the default column of `entity` into a new entity; the other columns stay.
///
/// # Errors
/// As [`full_merge`]; `NotSupported` for an entity with columns in blob files.
pub fn full_merge_entity(
    operator: Option<&dyn MergeOperator>,
    key: &[u8],
    entity: &[u8],
    operands: &[&[u8]],
) -> Result<Vec<u8>> {
    let operator = require_operator(operator)?;
    let columns = decode_entity(entity)?;
    if columns.iter().any(|column| column.is_blob_index) {
        return Err(blob_not_supported());
    }
    let existing = columns.first().filter(|column| column.name.is_empty()).map_or(&[][..], |column| column.value);
    let mut merged = Vec::new();
    run(operator, key, Some(existing), operands, &mut merged)?;
    let mut pairs: Vec<(&[u8], &[u8])> = vec![(b"", &merged)];
    pairs.extend(columns.iter().filter(|column| !column.name.is_empty()).map(|column| (column.name, column.value)));
    encode_entity(&pairs)
}

/// Values in blob files cannot be read yet.
#[cold]
#[must_use]
pub fn blob_not_supported() -> Error {
    Error::not_supported("value in a blob file")
}

/// The value of a timed put without the eight bytes behind it.
///
/// # Errors
/// `Corruption` when the eight bytes are missing.
#[inline]
pub fn timed_put_value(packed: &[u8]) -> Result<&[u8]> {
    packed
        .len()
        .checked_sub(8)
        .map(|length| &packed[..length])
        .ok_or_else(|| Error::corruption("timed put without its preferred sequence number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::merge::StringAppend;

    #[test]
    fn an_entity_without_default_column_counts_as_having_an_empty_one() {
        let operator = StringAppend::default();
        let entity = encode_entity(&[(b"col", b"v")]).unwrap();
        let merged = full_merge_entity(Some(&operator), b"k", &entity, &[b"x"]).unwrap();
        assert_eq!(merged, encode_entity(&[(b"", b",x"), (b"col", b"v")]).unwrap());
        let mut out = Vec::new();
        full_merge(Some(&operator), b"k", MergeBase::Entity(&entity), &[b"x"], &mut out).unwrap();
        assert_eq!(out, b",x");
    }

    #[test]
    fn no_operator_is_the_callers_mistake() {
        let error = full_merge(None, b"k", MergeBase::None, &[b"x"], &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ferrock_base::ErrorKind::InvalidArgument);
    }
}
