//! Full merges: operands over the entry below them.

use crate::blob::{BlobValue, FetchBlob};
use ferrock_base::merge::MergeOperator;
use ferrock_base::{Error, Result, ValueType};
use ferrock_format::wide_column::{decode_entity, default_column, encode_entity};
use ferrock_statistics::{PerfMetric, PerfTimer};
use std::borrow::Cow;
use std::ops::Deref;

/// What lies under the operands of a merge.
#[derive(Clone, Copy, Debug)]
pub enum MergeBase<'a> {
    /// Nothing: a tombstone or the end of history.
    None,
    /// The plain value of the entry below: see [`visible_value`].
    Value(&'a [u8]),
}

/// The operator, or the error of a merge without one.
///
/// # Errors
/// `InvalidArgument` without an operator: open the family with the operator that its operands were written for.
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
    let timer = PerfTimer::begin(PerfMetric::MergeOperatorTimeNanos);
    let is_merged = operator.full_merge(key, existing, operands, out);
    drop(timer);
    if is_merged {
        return Ok(());
    }
    Err(Error::corruption(format!(
        "Merge operator failed: {} could not combine {} operands of key {}",
        operator.name(),
        operands.len(),
        key.escape_ascii()
    )))
}

/// Folds `operands`, oldest first, over `base` into the value that a plain read returns.
///
/// # Errors
/// `InvalidArgument` without an operator, `Corruption` when the operator fails.
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
    }
}

/// What a plain read shows of an entry.
#[derive(Clone, Copy, Debug)]
pub enum Visible<'v> {
    /// Part of what is stored.
    Value(&'v [u8]),
    /// In a blob file; this is its index.
    InBlob(&'v [u8]),
}

/// What a plain read shows of an entry that is neither a tombstone nor an operand. Of an entity that is its default
/// column, or an empty value when it has none.
///
/// # Errors
/// `Corruption` when the bytes do not match the type.
pub fn visible(value_type: ValueType, stored: &[u8]) -> Result<Visible<'_>> {
    match value_type {
        ValueType::Value => Ok(Visible::Value(stored)),
        ValueType::ValuePreferredSeqno => timed_put_value(stored).map(Visible::Value),
        ValueType::BlobIndex => Ok(Visible::InBlob(stored)),
        ValueType::WideColumnEntity => match default_column(stored)? {
            None => Ok(Visible::Value(&[])),
            Some(column) if column.is_blob_index => Ok(Visible::InBlob(column.value)),
            Some(column) => Ok(Visible::Value(column.value)),
        },
        other => Err(Error::corruption(format!("entry of unexpected type {other:?}"))),
    }
}

/// What a plain read shows of an entry, with what is in a blob file fetched.
#[derive(Clone, Debug)]
pub enum Fetched<'v> {
    /// Part of what is stored.
    Stored(&'v [u8]),
    /// From a blob file.
    Blob(BlobValue),
}

impl Fetched<'_> {
    /// The bytes as a vector of their own.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Stored(value) => value.to_vec(),
            Self::Blob(value) => value.into_vec(),
        }
    }
}

impl Deref for Fetched<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Stored(value) => value,
            Self::Blob(value) => value,
        }
    }
}

/// As [`visible`], with what is in a blob file fetched.
///
/// # Errors
/// As [`visible`], and what fetching a blob reports.
pub fn visible_value<'v>(
    key: &[u8],
    value_type: ValueType,
    stored: &'v [u8],
    blobs: Option<&dyn FetchBlob>,
) -> Result<Fetched<'v>> {
    match visible(value_type, stored)? {
        Visible::Value(value) => Ok(Fetched::Stored(value)),
        Visible::InBlob(index) => fetch(key, index, blobs).map(Fetched::Blob),
    }
}

#[cold]
fn fetch(key: &[u8], index: &[u8], blobs: Option<&dyn FetchBlob>) -> Result<BlobValue> {
    match blobs {
        Some(blobs) => blobs.fetch(key, index),
        None => Err(out_of_reach()),
    }
}

#[cold]
pub(super) fn out_of_reach() -> Error {
    Error::not_supported("value in a blob file, and blob files are out of reach here")
}

/// Folds `operands`, oldest first, over the default column of `entity` into a new entity; the other columns stay, those
/// in blob files inline.
///
/// # Errors
/// As [`full_merge`] and [`visible_value`].
pub fn full_merge_entity(
    operator: Option<&dyn MergeOperator>,
    key: &[u8],
    entity: &[u8],
    operands: &[&[u8]],
    blobs: Option<&dyn FetchBlob>,
) -> Result<Vec<u8>> {
    let operator = require_operator(operator)?;
    let decoded = decode_entity(entity)?;
    let mut columns: Vec<(&[u8], Cow<'_, [u8]>)> = Vec::with_capacity(decoded.len() + 1);
    for column in decoded {
        let value = match column.is_blob_index {
            true => Cow::Owned(fetch(key, column.value, blobs)?.into_vec()),
            false => Cow::Borrowed(column.value),
        };
        columns.push((column.name, value));
    }
    if columns.first().is_none_or(|(name, _)| !name.is_empty()) {
        columns.insert(0, (&[], Cow::Borrowed(&[])));
    }
    if let Some((_, default)) = columns.first_mut() {
        let mut merged = Vec::new();
        run(operator, key, Some(default), operands, &mut merged)?;
        *default = Cow::Owned(merged);
    }
    let pairs: Vec<(&[u8], &[u8])> = columns.iter().map(|(name, value)| (*name, &**value)).collect();
    encode_entity(&pairs)
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
        let merged = full_merge_entity(Some(&operator), b"k", &entity, &[b"x"], None).unwrap();
        assert_eq!(merged, encode_entity(&[(b"", b",x"), (b"col", b"v")]).unwrap());
        let mut out = Vec::new();
        let base = visible_value(b"k", ValueType::WideColumnEntity, &entity, None).unwrap();
        full_merge(Some(&operator), b"k", MergeBase::Value(&base), &[b"x"], &mut out).unwrap();
        assert_eq!(out, b",x");
    }

    #[test]
    fn no_operator_is_the_callers_mistake() {
        let error = full_merge(None, b"k", MergeBase::None, &[b"x"], &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ferrock_base::ErrorKind::InvalidArgument);
    }
}
