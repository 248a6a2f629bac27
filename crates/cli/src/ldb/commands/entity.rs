//! Entities: keys whose value is a row of columns. `put_entity`, `get_entity`, `multi_get_entity`.
//!
//! ```text
//! name:value name:value ...      the column without a name is the value that get prints
//! ```

use super::several_keys;
use crate::arguments::Request;
use crate::database::{Opened, open_for_reading, open_for_writing};
use crate::text::Texts;
use crate::{Failure, Result};
use ferrock::{Error, ValueType, WriteBatch, WriteOptions};
use ferrock_format::wide_column::decode_entity;
use std::io::Write;

/// Name and value of each column.
type Columns = Vec<(Vec<u8>, Vec<u8>)>;

pub(super) fn put(request: &Request, out: &mut dyn Write) -> Result<()> {
    let texts = request.texts();
    let key = texts.key_from(&request.arguments[0])?;
    let mut columns = Columns::new();
    for argument in &request.arguments[1..] {
        let parts: Vec<&str> = argument.split(':').collect();
        let [name, value] = parts[..] else {
            return Err(Failure::Usage(format!(
                "{argument:?}: wide column format needs to be <column_name>:<column_value> (did you mean put <key> \
                 <value>?)"
            )));
        };
        // No digits are no bytes: the default column has no name.
        let bytes = |text: &str| if text.is_empty() { Ok(Vec::new()) } else { texts.value_from(text) };
        columns.push((bytes(name)?, bytes(value)?));
    }
    let opened = open_for_writing(request)?;
    let mut batch = WriteBatch::new();
    let columns: Vec<(&[u8], &[u8])> = columns.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    batch.put_entity_cf(opened.family.id(), &key, &columns)?;
    let options = WriteOptions { disable_wal: request.is_set("disable_wal"), ..WriteOptions::default() };
    opened.write(batch, &options)?;
    drop(opened.family);
    opened.db.close()?;
    writeln!(out, "OK")?;
    Ok(())
}

pub(super) fn get(request: &Request, out: &mut dyn Write) -> Result<()> {
    let texts = request.texts();
    let key = texts.key_from(&request.arguments[0])?;
    let opened = open_for_reading(request)?;
    match columns_of(&opened, &key)? {
        Some(columns) => {
            out.write_all(&printed(texts, &columns))?;
            writeln!(out)?;
            Ok(())
        }
        None => Err(Failure::Data(format!("GetEntity failed: NotFound: key {}", request.arguments[0]))),
    }
}

pub(super) fn multi_get(request: &Request, out: &mut dyn Write) -> Result<()> {
    let texts = request.texts();
    several_keys::read(request, out, |opened, key| Ok(columns_of(opened, key)?.map(|columns| printed(texts, &columns))))
}

/// A line of columns, without its end.
fn printed(texts: Texts, columns: &Columns) -> Vec<u8> {
    // No digits for no bytes, as in RocksDB.
    let shown = |bytes: &[u8]| if bytes.is_empty() { Vec::new() } else { texts.value(bytes) };
    let column = |(name, value): &(Vec<u8>, Vec<u8>)| [&shown(name)[..], b":", &shown(value)].concat();
    columns.iter().map(column).collect::<Vec<_>>().join(&b' ')
}

/// The columns of a key; a plain value is that of the default column.
fn columns_of(opened: &Opened, key: &[u8]) -> std::result::Result<Option<Columns>, Error> {
    // What a read sees: with merge operands in it, and without what is deleted.
    let Some(value) = opened.get(key)? else { return Ok(None) };
    let mut versions = opened.db.key_versions(&opened.family, Some(key), None)?;
    let mut has_operands = false;
    while let Some(version) = versions.current()? {
        if version.user_key != key {
            break;
        }
        match version.value_type {
            ValueType::Merge => has_operands = true,
            ValueType::WideColumnEntity if has_operands => {
                return Err(Error::not_supported(
                    "the key has merge operands over an entity: compact its range first, which joins them",
                ));
            }
            ValueType::WideColumnEntity => return entity(version.value, &value).map(Some),
            _ => break,
        }
        versions.advance();
    }
    Ok(Some(vec![(Vec::new(), value.to_vec())]))
}

/// The columns of an entity, of whose default column the value is known.
fn entity(stored: &[u8], default: &[u8]) -> std::result::Result<Columns, Error> {
    let mut columns = Columns::new();
    for column in decode_entity(stored)? {
        let value = match column.is_blob_index {
            false => column.value.to_vec(),
            true if column.name.is_empty() => default.to_vec(),
            true => {
                return Err(Error::not_supported(format!(
                    "the value of column {} is in a blob file, which get_entity does not read",
                    column.name.escape_ascii()
                )));
            }
        };
        columns.push((column.name.to_vec(), value));
    }
    Ok(columns)
}
