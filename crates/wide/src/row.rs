//! A row that was read.

use super::shared::Core;
use ferrock_base::{Error, Result};
use ferrock_engine::PinnedSlice;
use ferrock_format::wide::{Column, Component, KeyDecoder, RowRef, Value, ValueRef};
use std::fmt;
use std::sync::Arc;

/// Names a column: its id, or its name.
pub trait ColumnKey: Copy {
    /// The column of a table.
    ///
    /// # Errors
    /// `Invalid argument` when the table has none.
    #[doc(hidden)]
    fn find(self, columns: &[Column]) -> Result<&Column>;
}

impl ColumnKey for u32 {
    #[inline]
    fn find(self, columns: &[Column]) -> Result<&Column> {
        // Ids are mostly numbered from 1 without gaps.
        match columns.get((self as usize).wrapping_sub(1)) {
            Some(column) if column.id == self => Ok(column),
            _ => match columns.binary_search_by_key(&self, |column| column.id) {
                Ok(at) => Ok(&columns[at]),
                Err(_) => Err(no_column(&self)),
            },
        }
    }
}

impl ColumnKey for &str {
    #[inline]
    fn find(self, columns: &[Column]) -> Result<&Column> {
        columns.iter().find(|column| column.name == self).ok_or_else(|| no_column(&self))
    }
}

#[cold]
fn no_column(key: &dyn fmt::Debug) -> Error {
    Error::invalid_argument(format!("the table has no column {key:?}"))
}

/// A row in place, borrowed until the rows move on.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    pub(super) core: &'a Core,
    pub(super) key: &'a [u8],
    pub(super) value: &'a [u8],
}

/// An owned row. Its value stays in its cached block, without a copy.
#[derive(Clone)]
pub struct Row {
    pub(super) core: Arc<Core>,
    pub(super) key: Vec<u8>,
    pub(super) value: PinnedSlice,
}

impl<'a> RowView<'a> {
    fn decode(self, components: &[Component]) -> Result<Vec<Value>> {
        let mut decoder = KeyDecoder::new(self.key);
        components.iter().map(|&component| decoder.next(component)).collect()
    }

    /// The values of the partition components.
    ///
    /// # Errors
    /// `Corruption` when the key is not one of the table.
    pub fn partition(self) -> Result<Vec<Value>> {
        self.decode(self.core.partition_components())
    }

    /// The values of the clustering components.
    ///
    /// # Errors
    /// As [`partition`](Self::partition).
    pub fn clustering(self) -> Result<Vec<Value>> {
        let mut decoder = KeyDecoder::new(self.key);
        self.core.partition_components().iter().try_for_each(|&component| decoder.skip(component))?;
        let components = self.core.clustering_components();
        let values = components.iter().map(|&component| decoder.next(component)).collect::<Result<_>>()?;
        decoder.finish()?;
        Ok(values)
    }

    /// The value of a component by its name.
    ///
    /// # Errors
    /// `Invalid argument` when no component is called so; else as [`partition`](Self::partition).
    pub fn component(self, name: &str) -> Result<Value> {
        let mut decoder = KeyDecoder::new(self.key);
        for column in self.core.key_columns() {
            if column.name == name {
                return decoder.next(column.component);
            }
            decoder.skip(column.component)?;
        }
        Err(Error::invalid_argument(format!("the table has no component {name:?}")))
    }

    /// The value of a column; `None` when the row has none. Columns behind it are not decoded.
    ///
    /// # Errors
    /// `Invalid argument` when the table has no such column, `Corruption` when the row is damaged.
    pub fn get(self, column: impl ColumnKey) -> Result<Option<ValueRef<'a>>> {
        let id = column.find(self.core.schema.columns())?.id;
        RowRef::new(self.value)?.get(id)
    }

    /// Ids and values of all columns that the row has, in the order of their ids. Those of types that this version does
    /// not know are left out.
    ///
    /// # Errors
    /// Each item: `Corruption` when the row is damaged.
    pub fn columns(self) -> Result<impl Iterator<Item = Result<(u32, ValueRef<'a>)>>> {
        let columns = RowRef::new(self.value)?.columns();
        Ok(columns.filter_map(|column| {
            let value =
                |column: ferrock_format::wide::ColumnRef<'a>| Ok(column.value()?.map(|value| (column.id, value)));
            column.and_then(value).transpose()
        }))
    }

    /// The key as it is stored.
    #[must_use]
    pub fn raw_key(self) -> &'a [u8] {
        self.key
    }

    /// The value as it is stored.
    #[must_use]
    pub fn raw_value(self) -> &'a [u8] {
        self.value
    }
}

impl Row {
    /// The row as a [`RowView`].
    #[must_use]
    pub fn view(&self) -> RowView<'_> {
        RowView { core: &self.core, key: &self.key, value: &self.value }
    }

    /// As [`RowView::partition`].
    ///
    /// # Errors
    /// The same.
    pub fn partition(&self) -> Result<Vec<Value>> {
        self.view().partition()
    }

    /// As [`RowView::clustering`].
    ///
    /// # Errors
    /// The same.
    pub fn clustering(&self) -> Result<Vec<Value>> {
        self.view().clustering()
    }

    /// As [`RowView::component`].
    ///
    /// # Errors
    /// The same.
    pub fn component(&self, name: &str) -> Result<Value> {
        self.view().component(name)
    }

    /// As [`RowView::get`].
    ///
    /// # Errors
    /// The same.
    pub fn get(&self, column: impl ColumnKey) -> Result<Option<ValueRef<'_>>> {
        self.view().get(column)
    }

    /// As [`RowView::columns`].
    ///
    /// # Errors
    /// The same.
    pub fn columns(&self) -> Result<impl Iterator<Item = Result<(u32, ValueRef<'_>)>>> {
        self.view().columns()
    }
}

impl fmt::Debug for RowView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (column, value) in self.core.key_columns().zip(self.decode(&self.core.components).unwrap_or_default()) {
            map.entry(&column.name, &value);
        }
        for (id, value) in self.columns().into_iter().flatten().flatten() {
            match id.find(self.core.schema.columns()) {
                Ok(column) => map.entry(&column.name, &value),
                Err(_) => map.entry(&id, &value),
            };
        }
        map.finish()
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}
