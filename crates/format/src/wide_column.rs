//! Wide columns: the value of an entity, a set of named columns under one key.
//!
//! ```text
//! version 1   varint32 1 | varint32 n | n x { lps name, varint32 value size } | values
//!
//! version 2   varint32 2 | varint32 n | varint32 bytes of the name sizes | varint32 bytes of the value sizes
//!             | varint32 bytes of the names | n x u8 type | n x varint32 name size | n x varint32 value size
//!             | names | values              type 01 = the value is inline, 11 = the value is a blob index
//! ```
//!
//! Invariants: names ascend strictly, bytewise; the default column has the empty name and so is the first; nothing
//! follows the last value. Version 2 is written for entities with a column in a blob file and for no others: RocksDB
//! before 11 refuses it.

use ferrock_base::coding::{Cursor, put_length_prefixed, put_varint64};
use ferrock_base::{Error, Result, ValueType};

/// The column that a plain read of an entity returns.
pub const DEFAULT_COLUMN_NAME: &[u8] = b"";

/// One column of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideColumn<'a> {
    /// Name; empty for the default column.
    pub name: &'a [u8],
    /// The value, or with [`is_blob_index`](Self::is_blob_index) a reference to it.
    pub value: &'a [u8],
    /// True when `value` is a blob index (see [`crate::blob_index`]).
    pub is_blob_index: bool,
}

/// Encodes an entity as version 1. `columns` are names and values in ascending order of the names.
///
/// # Errors
/// `InvalidArgument` when names are out of order or repeated, or a size exceeds 32 bits.
pub fn encode_entity(columns: &[(&[u8], &[u8])]) -> Result<Vec<u8>> {
    check_columns(columns.iter().copied())?;
    let size: usize = columns.iter().map(|(name, value)| name.len() + value.len() + 10).sum();
    let mut out = Vec::with_capacity(size + 10);
    put_varint64(&mut out, 1);
    put_varint64(&mut out, columns.len() as u64);
    for (name, value) in columns {
        put_length_prefixed(&mut out, name);
        put_varint64(&mut out, value.len() as u64);
    }
    for (_, value) in columns {
        out.extend_from_slice(value);
    }
    Ok(out)
}

/// Encodes an entity some of whose columns may be in blob files: as version 2 if one is, else as version 1. `columns`
/// ascend by name.
///
/// # Errors
/// As [`encode_entity`].
///
/// ```
/// use ferrock_format::wide_column::{WideColumn, decode_entity, encode_columns};
///
/// let inline = WideColumn { name: b"", value: b"small", is_blob_index: false };
/// let moved = WideColumn { name: b"photo", value: b"\x01\x07\x40\x1e\x00", is_blob_index: true };
/// let entity = encode_columns(&[inline, moved])?;
/// assert_eq!(decode_entity(&entity)?, [inline, moved]);
/// # Ok::<(), ferrock_base::Error>(())
/// ```
pub fn encode_columns(columns: &[WideColumn<'_>]) -> Result<Vec<u8>> {
    if !columns.iter().any(|column| column.is_blob_index) {
        let pairs: Vec<_> = columns.iter().map(|column| (column.name, column.value)).collect();
        return encode_entity(&pairs);
    }
    check_columns(columns.iter().map(|column| (column.name, column.value)))?;
    let (mut name_sizes, mut value_sizes) = (Vec::new(), Vec::new());
    for column in columns {
        put_varint64(&mut name_sizes, column.name.len() as u64);
        put_varint64(&mut value_sizes, column.value.len() as u64);
    }
    let names_size: usize = columns.iter().map(|column| column.name.len()).sum();
    if u32::try_from(names_size).is_err() {
        return Err(Error::invalid_argument("wide columns: the names together exceed 32 bits"));
    }
    let mut out = Vec::new();
    put_varint64(&mut out, 2);
    for size in [columns.len(), name_sizes.len(), value_sizes.len(), names_size] {
        put_varint64(&mut out, size as u64);
    }
    let kind = |column: &WideColumn<'_>| if column.is_blob_index { ValueType::BlobIndex } else { ValueType::Value };
    out.extend(columns.iter().map(|column| kind(column) as u8));
    out.extend_from_slice(&name_sizes);
    out.extend_from_slice(&value_sizes);
    columns.iter().for_each(|column| out.extend_from_slice(column.name));
    columns.iter().for_each(|column| out.extend_from_slice(column.value));
    Ok(out)
}

/// Names ascend strictly, and all numbers fit into 32 bits.
fn check_columns<'c>(columns: impl ExactSizeIterator<Item = (&'c [u8], &'c [u8])>) -> Result<()> {
    let too_large = |size: usize| u32::try_from(size).is_err();
    let mut is_too_large = too_large(columns.len());
    let mut last: Option<&[u8]> = None;
    for (name, value) in columns {
        if last.is_some_and(|last| last >= name) {
            return Err(Error::invalid_argument("wide column names must ascend and differ"));
        }
        last = Some(name);
        is_too_large |= too_large(name.len()) || too_large(value.len());
    }
    if is_too_large {
        return Err(Error::invalid_argument("wide columns: a count or size exceeds 32 bits"));
    }
    Ok(())
}

/// Decodes an entity of either version.
///
/// # Errors
/// `Corruption` when the bytes are not an entity.
pub fn decode_entity(entity: &[u8]) -> Result<Vec<WideColumn<'_>>> {
    let mut cursor = Cursor::new(entity);
    let columns = match cursor.varint32("wide column version")? {
        1 => decode_version1(&mut cursor)?,
        2 => decode_version2(&mut cursor)?,
        version => return Err(Error::corruption(format!("unknown wide column version {version}"))),
    };
    if !cursor.is_empty() {
        return Err(Error::corruption("bytes after the last wide column").at_offset(cursor.position() as u64));
    }
    if columns.windows(2).any(|pair| pair[0].name >= pair[1].name) {
        return Err(Error::corruption("wide columns out of order"));
    }
    Ok(columns)
}

/// The default column of an entity, `None` when it has none. Plain reads use it, so in version 1 nothing is allocated
/// and the other columns are only skipped.
///
/// # Errors
/// `Corruption` when the bytes are not an entity.
pub fn default_column(entity: &[u8]) -> Result<Option<WideColumn<'_>>> {
    let mut cursor = Cursor::new(entity);
    if cursor.varint32("wide column version")? != 1 {
        return Ok(decode_entity(entity)?.first().copied().filter(|column| column.name.is_empty()));
    }
    let mut default_size = None;
    for index in 0..cursor.varint32("wide column count")? {
        let name = cursor.length_prefixed("wide column name")?;
        let size = cursor.varint32("wide column value size")? as usize;
        if index == 0 {
            if !name.is_empty() {
                return Ok(None);
            }
            default_size = Some(size);
        }
    }
    let column = |value| WideColumn { name: DEFAULT_COLUMN_NAME, value, is_blob_index: false };
    default_size.map(|size| cursor.bytes(size, "wide column value").map(column)).transpose()
}

fn decode_version1<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<WideColumn<'a>>> {
    let count = cursor.varint32("wide column count")? as usize;
    // A column takes at least two bytes, which bounds what a wrong count can allocate.
    let mut index = Vec::with_capacity(count.min(cursor.rest().len() / 2));
    for _ in 0..count {
        let name = cursor.length_prefixed("wide column name")?;
        index.push((name, cursor.varint32("wide column value size")? as usize));
    }
    let column =
        |(name, size)| Ok(WideColumn { name, value: cursor.bytes(size, "wide column value")?, is_blob_index: false });
    index.into_iter().map(column).collect()
}

fn decode_version2<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<WideColumn<'a>>> {
    let count = cursor.varint32("wide column count")? as usize;
    let name_sizes_size = cursor.varint32("wide column name sizes")? as usize;
    let value_sizes_size = cursor.varint32("wide column value sizes")? as usize;
    let names_size = cursor.varint32("wide column names")? as usize;
    let types = cursor.bytes(count, "wide column types")?;
    let mut name_sizes = Cursor::new(cursor.bytes(name_sizes_size, "wide column name sizes")?);
    let mut value_sizes = Cursor::new(cursor.bytes(value_sizes_size, "wide column value sizes")?);
    let mut names = Cursor::new(cursor.bytes(names_size, "wide column names")?);
    let mut columns = Vec::with_capacity(count);
    for &kind in types {
        let name_size = name_sizes.varint32("wide column name size")? as usize;
        let value_size = value_sizes.varint32("wide column value size")? as usize;
        let is_blob_index = match ValueType::from_u8(kind) {
            Some(ValueType::Value) => false,
            Some(ValueType::BlobIndex) => true,
            _ => return Err(Error::corruption(format!("unknown wide column type {kind:#04x}"))),
        };
        columns.push(WideColumn {
            name: names.bytes(name_size, "wide column name")?,
            value: cursor.bytes(value_size, "wide column value")?,
            is_blob_index,
        });
    }
    if !(name_sizes.is_empty() && value_sizes.is_empty() && names.is_empty()) {
        return Err(Error::corruption("wide column section sizes do not match their contents"));
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const VERSION1: &[u8] = b"\x01\x02\x00\x04\x03col\x03dfltval";
    const VERSION2: &[u8] = b"\x02\x03\x03\x03\x05\x01\x11\x01\x00\x03\x02\x02\x05\x01bigsmdd\x01\x07\x40\x1e\x00s";

    fn inline<'a>(name: &'a [u8], value: &'a [u8]) -> WideColumn<'a> {
        WideColumn { name, value, is_blob_index: false }
    }

    #[test]
    fn a_real_entity_of_version_1() {
        assert_eq!(decode_entity(VERSION1).unwrap(), [inline(b"", b"dflt"), inline(b"col", b"val")]);
        assert_eq!(encode_entity(&[(b"", b"dflt"), (b"col", b"val")]).unwrap(), VERSION1);
        assert_eq!(default_column(VERSION1).unwrap().unwrap().value, b"dflt");
    }

    #[test]
    fn a_real_entity_of_version_2() {
        let columns = decode_entity(VERSION2).unwrap();
        let big = WideColumn { name: b"big", value: b"\x01\x07\x40\x1e\x00", is_blob_index: true };
        assert_eq!(columns, [inline(b"", b"dd"), big, inline(b"sm", b"s")]);
        assert_eq!(encode_columns(&columns).unwrap(), VERSION2);
        assert_eq!(encode_columns(&decode_entity(VERSION1).unwrap()).unwrap(), VERSION1);
    }

    #[test]
    fn truncated_and_extended_entities_are_refused() {
        for entity in [VERSION1, VERSION2] {
            for length in 0..entity.len() {
                assert!(decode_entity(&entity[..length]).unwrap_err().is_corruption(), "{length}");
            }
            let mut longer = entity.to_vec();
            longer.push(0);
            assert!(decode_entity(&longer).unwrap_err().is_corruption());
        }
        assert!(decode_entity(b"\x03\x00").unwrap_err().is_corruption());
        assert!(decode_entity(b"\x01\xff\xff\xff\xff\x0f").unwrap_err().is_corruption());
        assert!(decode_entity(b"\x01\x02\x01b\x00\x01a\x00").unwrap_err().is_corruption());
    }

    #[test]
    fn columns_out_of_order_are_not_encoded() {
        assert!(encode_entity(&[(b"b", b""), (b"a", b"")]).is_err());
        assert!(encode_entity(&[(b"a", b""), (b"a", b"")]).is_err());
        let moved = WideColumn { name: b"b", value: b"index", is_blob_index: true };
        assert!(encode_columns(&[moved, inline(b"a", b"")]).is_err());
        assert!(encode_columns(&[moved, inline(b"b", b"")]).is_err());
    }

    proptest! {
        #[test]
        fn entities_round_trip(columns in prop::collection::btree_map(".{0,4}", prop::collection::vec(any::<u8>(), 0..200), 0..6)) {
            let columns: BTreeMap<String, Vec<u8>> = columns;
            let pairs: Vec<(&[u8], &[u8])> = columns.iter().map(|(n, v)| (n.as_bytes(), v.as_slice())).collect();
            let entity = encode_entity(&pairs).unwrap();
            let decoded = decode_entity(&entity).unwrap();
            let again: Vec<_> = decoded.iter().map(|column| (column.name, column.value)).collect();
            prop_assert_eq!(again, pairs);
            let default = default_column(&entity).unwrap().map(|column| column.value);
            prop_assert_eq!(default, columns.get("").map(Vec::as_slice));
            let moved = |column: &WideColumn<'_>| column.value.len() >= 100;
            let some_moved: Vec<_> =
                decoded.iter().map(|column| WideColumn { is_blob_index: moved(column), ..*column }).collect();
            let entity = encode_columns(&some_moved).unwrap();
            prop_assert_eq!(decode_entity(&entity).unwrap(), some_moved);
        }

        #[test]
        fn any_bytes_decode_or_fail(entity in prop::collection::vec(0u8..20, 0..40)) {
            let _ = decode_entity(&entity);
            let _ = default_column(&entity);
        }
    }
}
