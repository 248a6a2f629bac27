//! Tables that stay open in the metadata of their file.

use ferrock_table::Table;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An open table in its `FileMetadata`.
#[derive(Clone, Debug)]
pub struct KeptTable {
    table: Table,
    _permit: Arc<KeepPermit>,
}

impl KeptTable {
    /// A table that stays open as long as the metadata that holds it.
    pub fn new(table: Table, permit: Arc<KeepPermit>) -> Self {
        Self { table, _permit: permit }
    }

    /// The table.
    #[inline]
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }
}

/// Counts a table that stays open, until the last metadata that has it is dropped.
#[derive(Debug)]
pub struct KeepPermit(Arc<AtomicUsize>);

impl KeepPermit {
    /// One table of those that `kept` counts already.
    pub fn new(kept: Arc<AtomicUsize>) -> Self {
        Self(kept)
    }
}

impl Drop for KeepPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
