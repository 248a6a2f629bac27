//! Where the value of an entry goes: into the table, or into a blob file while the table has a reference.
//!
//! | entry | with blob files | references into collected files |
//! |---|---|---|
//! | value | into a blob file from `min_blob_size` on | |
//! | reference | stays | the value is read, and goes the way of values |
//! | entity without references | each column from `min_blob_size` on | |
//! | entity with references | stays | the columns of those are read, and go the way of values |
//!
//! Invariants
//! - An entry without a column that moves keeps its bytes.
//! - A column that is in a table beside one that is in a blob file stays there until all columns are in the table, as
//!   in RocksDB: an entity is taken apart once.
//! - Every record has the key of the entry, those of an entity's columns too; the references of an entity count one by
//!   one, as [`BlobFlow`](crate::blob::BlobFlow) reads them.

use super::TableOutput;
use crate::blob::{BlobValue, FetchBlob};
use crate::job::read_blobs::record_bytes;
use ferrock_base::internal_key::{append_internal_key, sequence, trailer, user_key};
use ferrock_base::{Error, Result, ValueType};
use ferrock_format::blob_index::{BlobIndex, BlobReference};
use ferrock_format::wide_column::{WideColumn, decode_entity, encode_columns};

/// A column on its way.
enum Place<'a> {
    /// As the entry had it, in the table or in a blob file.
    Kept(WideColumn<'a>),
    /// Read from a file that is collected, and too small for a new one.
    Read(BlobValue),
    /// The index of a new record.
    Moved(Vec<u8>),
}

impl TableOutput<'_> {
    /// Adds an entry, or in its place one that has the same value elsewhere.
    #[inline]
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match ValueType::from_u8(trailer(key) as u8) {
            Some(ValueType::Value) if self.blobs.is_some() => self.add_value(key, value),
            Some(ValueType::BlobIndex) if self.plan.collect_blobs_below.is_some() => self.add_index(key, value),
            Some(ValueType::WideColumnEntity) if self.blobs.is_some() || self.plan.collect_blobs_below.is_some() => {
                self.add_entity(key, value)
            }
            _ => self.add_entry(key, value),
        }
    }

    /// A value, which goes into a blob file if it is large enough.
    fn add_value(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let moved = self.move_value(user_key(key), value)?;
        if moved.is_none() && trailer(key) as u8 == ValueType::Value as u8 {
            return self.add_entry(key, value);
        }
        let (mut moved_key, mut index) = std::mem::take(&mut self.moved);
        let (value_type, value) = match moved {
            Some(reference) => {
                index.clear();
                reference.encode_into(&mut index);
                (ValueType::BlobIndex, &index[..])
            }
            None => (ValueType::Value, value),
        };
        moved_key.clear();
        append_internal_key(&mut moved_key, user_key(key), sequence(key), value_type);
        let added = self.add_entry(&moved_key, value);
        self.moved = (moved_key, index);
        added
    }

    /// The reference to a value that is large enough for a blob file.
    fn move_value(&mut self, user_key: &[u8], value: &[u8]) -> Result<Option<BlobReference>> {
        match &mut self.blobs {
            Some(blobs) => blobs.add(user_key, value, &mut self.output.written, &mut self.output.blob_files),
            None => Ok(None),
        }
    }

    /// A reference, which becomes a value again if its file is collected.
    #[cold]
    fn add_index(&mut self, key: &[u8], index: &[u8]) -> Result<()> {
        if !self.is_collected(index)? {
            return self.add_entry(key, index);
        }
        let value = self.fetch(user_key(key), index)?;
        self.add_value(key, &value)
    }

    /// An entity, whose large columns go into a blob file, or come out of one that is collected.
    fn add_entity(&mut self, key: &[u8], entity: &[u8]) -> Result<()> {
        let columns = decode_entity(entity)?;
        let has_references = columns.iter().any(|column| column.is_blob_index);
        let mut places = Vec::with_capacity(columns.len());
        for column in &columns {
            places.push(if has_references {
                self.collect_column(user_key(key), column)?
            } else {
                match self.move_value(user_key(key), column.value)? {
                    Some(reference) => Place::Moved(reference.encode()),
                    None => Place::Kept(*column),
                }
            });
        }
        if places.iter().all(|place| matches!(place, Place::Kept(_))) {
            return self.add_entry(key, entity);
        }
        let placed = columns.iter().zip(&places).map(|(column, place)| match place {
            Place::Kept(column) => *column,
            Place::Read(value) => WideColumn { value, is_blob_index: false, ..*column },
            Place::Moved(index) => WideColumn { value: index, is_blob_index: true, ..*column },
        });
        let placed = encode_columns(&placed.collect::<Vec<_>>())?;
        self.add_entry(key, &placed)
    }

    /// A column of an entity that has references.
    fn collect_column<'c>(&mut self, user_key: &[u8], column: &WideColumn<'c>) -> Result<Place<'c>> {
        if !column.is_blob_index || !self.is_collected(column.value)? {
            return Ok(Place::Kept(*column));
        }
        let value = self.fetch(user_key, column.value)?;
        Ok(match self.move_value(user_key, &value)? {
            Some(reference) => Place::Moved(reference.encode()),
            None => Place::Read(value),
        })
    }

    fn is_collected(&self, index: &[u8]) -> Result<bool> {
        let Some(below) = self.plan.collect_blobs_below.filter(|_| self.plan.context.blobs.is_some()) else {
            return Ok(false);
        };
        Ok(match BlobIndex::decode(index)? {
            BlobIndex::Reference { reference, .. } => reference.file_number.0 != 0 && reference.file_number < below,
            BlobIndex::Inlined { .. } => false,
        })
    }

    fn fetch(&mut self, user_key: &[u8], index: &[u8]) -> Result<BlobValue> {
        let value = match (&self.plan.context.blobs, &mut self.readahead) {
            (Some(blobs), Some(readahead)) => blobs.fetch_ahead(readahead, user_key, index),
            (Some(blobs), None) => blobs.fetch(user_key, index),
            (None, _) => Err(Error::not_supported("values in blob files, which this job cannot read")),
        }?;
        if let BlobIndex::Reference { reference, .. } = BlobIndex::decode(index)? {
            self.output.collected.values += 1;
            self.output.collected.bytes += reference.size_bytes;
            self.output.blob_read_bytes += record_bytes(user_key, index)?;
        }
        Ok(value)
    }
}
