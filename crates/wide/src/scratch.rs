//! Buffers of a thread into which keys and rows are encoded.

use super::row::ColumnKey;
use super::shared::Core;
use super::tuple::{KeyTuple, RowRange};
use ferrock_base::Result;
use ferrock_format::wide::{MAX_KEY_BYTES, ValueRef, begin_row, put_column};
use std::cell::RefCell;

/// The thread's reusable buffers into which rows are encoded.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) key: Vec<u8>,
    /// The end of a range.
    pub(super) end: Vec<u8>,
    pub(super) row: Vec<u8>,
}

/// Largest buffer, in bytes, that a thread keeps for its next row.
const MAX_KEPT_BYTES: usize = 1 << 20;

impl Scratch {
    #[inline]
    pub(super) fn let_go_of_large(&mut self) {
        if self.row.capacity() > MAX_KEPT_BYTES {
            self.row = Vec::new();
        }
    }

    #[inline]
    pub(super) fn encode_row<K: ColumnKey>(&mut self, core: &Core, columns: &[(K, ValueRef<'_>)]) -> Result<()> {
        self.row.clear();
        begin_row(&mut self.row);
        let known = core.schema.columns();
        let mut last = 0;
        for (key, value) in columns {
            let column = key.find(known)?;
            if column.id <= last {
                return self.encode_sorted(core, columns);
            }
            last = column.id;
            put_column(&mut self.row, column.id, core.checked(column, *value)?);
        }
        Ok(())
    }

    /// The same for columns that are not in the order of their ids.
    #[cold]
    fn encode_sorted<K: ColumnKey>(&mut self, core: &Core, columns: &[(K, ValueRef<'_>)]) -> Result<()> {
        self.row.clear();
        begin_row(&mut self.row);
        let mut sorted = Vec::with_capacity(columns.len());
        for (key, value) in columns {
            let column = key.find(core.schema.columns())?;
            sorted.push((column, core.checked(column, *value)?));
        }
        sorted.sort_by_key(|(column, _)| column.id);
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0.id == pair[1].0.id) {
            return Err(core.wrong(&format!("column {:?} is given twice", pair[0].0.name)));
        }
        sorted.into_iter().for_each(|(column, value)| put_column(&mut self.row, column.id, value));
        Ok(())
    }

    /// Key and end of the rows of a partition within a range; false when none can be in it.
    pub(super) fn encode_range(
        &mut self,
        core: &Core,
        partition: &impl KeyTuple,
        range: &impl RowRange,
    ) -> Result<bool> {
        let mut prefix = Vec::new();
        core.encode_partition(partition, &mut prefix)?;
        let (lower, upper) = core.bounds_of(&prefix, core.partition_count, range)?;
        self.key = lower;
        // Behind every row: no key is that long.
        self.end = upper.unwrap_or_else(|| vec![0xff; MAX_KEY_BYTES + 1]);
        Ok(self.key < self.end)
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Runs with the thread's reusable buffers.
#[inline]
pub(super) fn with_scratch<R>(work: impl FnOnce(&mut Scratch) -> R) -> R {
    SCRATCH.with(|scratch| match scratch.try_borrow_mut() {
        Ok(mut scratch) => {
            let result = work(&mut scratch);
            scratch.let_go_of_large();
            result
        }
        // A caller's own `KeyTuple` that writes while it is visited.
        Err(_) => work(&mut Scratch::default()),
    })
}
