//! The state that handles of a table share, and keys in its order.

use super::schema::Schema;
use super::tuple::{KeyTuple, RowRange};
use ferrock_base::{Error, Result};
use ferrock_engine::{ColumnFamily, Db};
use ferrock_format::wide::{Column, Component, KeyColumn, MAX_KEY_BYTES, ValueRef, successor_into};
use std::ops::Bound;

/// The state that handles of a table share.
pub(super) struct Core {
    pub(super) db: Db,
    pub(super) family: ColumnFamily,
    pub(super) schema: Schema,
    /// Those of the partition, then those of the clustering.
    pub(super) components: Vec<Component>,
    pub(super) partition_count: usize,
    /// Distinguishes tokens of other tables.
    pub(super) fingerprint: u64,
}

impl Core {
    pub(super) fn partition_components(&self) -> &[Component] {
        &self.components[..self.partition_count]
    }

    pub(super) fn clustering_components(&self) -> &[Component] {
        &self.components[self.partition_count..]
    }

    pub(super) fn key_columns(&self) -> impl Iterator<Item = &KeyColumn> {
        self.schema.partition().iter().chain(self.schema.clustering())
    }

    /// An error that names the table.
    #[cold]
    pub(super) fn wrong(&self, what: &str) -> Error {
        Error::invalid_argument(format!("table {}: {what}", self.family.name()))
    }

    #[cold]
    pub(super) fn wrong_component(&self, at: usize, error: &Error) -> Error {
        let name = self.key_columns().nth(at).map_or("?", |column| &column.name);
        self.wrong(&format!("component {name:?}: {}", error.message()))
    }

    #[cold]
    pub(super) fn wrong_count(&self, got: usize, from: usize, to: usize) -> Error {
        let names: Vec<&str> = self.key_columns().skip(from).take(to - from).map(|column| &column.name[..]).collect();
        self.wrong(&format!("{got} values for the components ({})", names.join(", ")))
    }

    /// Appends values of the components from `from` on and before `to`; how many there were.
    #[inline]
    pub(super) fn encode_components(
        &self,
        values: &impl KeyTuple,
        (from, to): (usize, usize),
        out: &mut Vec<u8>,
    ) -> Result<usize> {
        let mut at = from;
        values.each(&mut |value| {
            match self.components[..to].get(at) {
                Some(component) => {
                    component.encode(value, out).map_err(|error| self.wrong_component(at, &error))?;
                }
                None => return Err(self.wrong_count(at + 1 - from, from, to)),
            }
            at += 1;
            Ok(())
        })?;
        Ok(at - from)
    }

    /// Appends the values of all components from `from` on and before `to`.
    #[inline]
    pub(super) fn encode_whole(&self, values: &impl KeyTuple, from: usize, to: usize, out: &mut Vec<u8>) -> Result<()> {
        let count = self.encode_components(values, (from, to), out)?;
        if count != to - from {
            return Err(self.wrong_count(count, from, to));
        }
        if out.len() > MAX_KEY_BYTES {
            return Err(self.wrong(&format!("a key of {} bytes, the limit is {MAX_KEY_BYTES}", out.len())));
        }
        Ok(())
    }

    /// The key of a row, into `out`.
    #[inline]
    pub(super) fn encode_key(
        &self,
        partition: &impl KeyTuple,
        clustering: &impl KeyTuple,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.clear();
        self.encode_whole(partition, 0, self.partition_count, out)?;
        self.encode_whole(clustering, self.partition_count, self.components.len(), out)
    }

    pub(super) fn encode_partition(&self, partition: &impl KeyTuple, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        self.encode_whole(partition, 0, self.partition_count, out)
    }

    /// The range of keys that begin with `prefix`, the encoding of the components before `from`, and continue with a
    /// range of the others: its first key, and the first key behind it, if there can be one.
    pub(super) fn bounds_of(
        &self,
        prefix: &[u8],
        from: usize,
        range: &impl RowRange,
    ) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        let to = self.components.len();
        // The key of an end, and whether it is that of a single row.
        let key_of = |values: &_| -> Result<(Vec<u8>, bool)> {
            let mut key = prefix.to_vec();
            let count = self.encode_components(values, (from, to), &mut key)?;
            if key.len() > MAX_KEY_BYTES {
                return Err(self.wrong(&format!("a bound of {} bytes, the limit is {MAX_KEY_BYTES}", key.len())));
            }
            Ok((key, count == to - from))
        };
        let behind = |(mut key, is_row): (Vec<u8>, bool)| {
            if is_row {
                key.push(0);
                return Some(key);
            }
            let mut successor = Vec::new();
            successor_into(&key, &mut successor);
            (!successor.is_empty()).then_some(successor)
        };
        let lower = match range.start() {
            Bound::Unbounded => Some(prefix.to_vec()),
            Bound::Included(values) => Some(key_of(values)?.0),
            Bound::Excluded(values) => behind(key_of(values)?),
        };
        let upper = match range.end() {
            Bound::Unbounded => behind((prefix.to_vec(), false)),
            Bound::Included(values) => behind(key_of(values)?),
            Bound::Excluded(values) => Some(key_of(values)?.0),
        };
        match lower {
            Some(lower) => Ok((lower, upper)),
            // Behind all possible keys.
            None => Ok((vec![0xff; MAX_KEY_BYTES + 1], Some(prefix.to_vec()))),
        }
    }

    /// A value converted to its column's type.
    #[inline]
    pub(super) fn checked<'v>(&self, column: &Column, value: ValueRef<'v>) -> Result<ValueRef<'v>> {
        if value.column_type() == column.column_type {
            return Ok(value);
        }
        value.coerced(column.column_type).ok_or_else(|| {
            self.wrong(&format!("column {:?}: {value:?} is no value of the type {}", column.name, column.column_type))
        })
    }
}
