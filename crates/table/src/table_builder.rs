//! A builder of a table of any kind.

use crate::builder::{BlockTableBuilder, TableBuilderParams, TableSize, TableSummary};
use crate::options::TableFactory;
use crate::plain::PlainTableBuilder;
use ferrock_base::{ErrorKind, Result};
use ferrock_vfs::WritableFile;
use std::sync::Arc;

/// Builds one table from sorted entries, of the kind that a [`TableFactory`] names.
///
/// ```
/// # use ferrock_base::{InternalComparator, SequenceNumber, ValueType, internal_key::make_internal_key};
/// # use ferrock_table::{TableBuilder, TableBuilderParams, options::TableFactory};
/// # use ferrock_vfs::{FileSystem, MemoryFileSystem, WritableOptions};
/// let file = MemoryFileSystem::new().create_writable("/7.sst".as_ref(), &WritableOptions::default())?;
/// let params = TableBuilderParams::new(InternalComparator::default());
/// let mut builder = TableBuilder::new(&TableFactory::default(), params, file)?;
/// builder.add(&make_internal_key(b"key", SequenceNumber(1), ValueType::Value), b"value")?;
/// assert_eq!(builder.finish()?.properties.num_entries, 1);
/// # Ok::<(), ferrock_base::Error>(())
/// ```
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a job has one, and most are of the large kind")]
pub enum TableBuilder {
    /// A block-based table.
    Block(BlockTableBuilder),
    /// A plain table.
    Plain(PlainTableBuilder),
}

macro_rules! of_kind {
    ($builder:expr, $inner:ident => $then:expr) => {
        match $builder {
            TableBuilder::Block($inner) => $then,
            TableBuilder::Plain($inner) => $then,
        }
    };
}

impl TableBuilder {
    /// Begins a table in an empty file.
    ///
    /// # Errors
    /// Those of [`BlockTableBuilder::new`] and [`PlainTableBuilder::new`].
    pub fn new(factory: &TableFactory, params: TableBuilderParams, file: Box<dyn WritableFile>) -> Result<Self> {
        match factory {
            TableFactory::BlockBased => BlockTableBuilder::new(params, file).map(Self::Block),
            TableFactory::Plain(options) => PlainTableBuilder::new(params, Arc::clone(options), file).map(Self::Plain),
        }
    }

    /// Adds an entry. Internal keys must come in strictly ascending order.
    ///
    /// # Errors
    /// Those of the kind's own `add`.
    #[inline]
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        of_kind!(self, builder => builder.add(internal_key, value))
    }

    /// Adds a range tombstone.
    ///
    /// # Errors
    /// Those of the kind's own function: a plain table has none.
    pub fn add_range_tombstone(&mut self, start_internal_key: &[u8], end_user_key: &[u8]) -> Result<()> {
        of_kind!(self, builder => builder.add_range_tombstone(start_internal_key, end_user_key))
    }

    /// Bytes that were written so far.
    #[must_use]
    pub fn file_size(&self) -> u64 {
        of_kind!(self, builder => builder.file_size())
    }

    /// Threads that compress its blocks, that of the caller among them.
    #[must_use]
    pub fn threads(&self) -> usize {
        match self {
            Self::Block(builder) => builder.threads(),
            Self::Plain(_) => 1,
        }
    }

    /// What the table would take if it were finished now, or more. Costs little.
    #[inline]
    #[must_use]
    pub fn size_at_most(&self) -> TableSize {
        match self {
            Self::Block(builder) => builder.size_at_most(),
            Self::Plain(builder) => TableSize { bytes: builder.file_size(), most_bytes: builder.file_size() },
        }
    }

    /// What the table would take if it were finished now. Waits for threads that write blocks.
    #[must_use]
    pub fn size(&mut self) -> TableSize {
        match self {
            Self::Block(builder) => builder.size(),
            Self::Plain(_) => self.size_at_most(),
        }
    }

    /// True when the kind of the table has no room for an entry that was added, as its format has limits that a
    /// block-based table does not have.
    #[must_use]
    pub fn is_out_of_its_limits(&self, error: ErrorKind) -> bool {
        matches!(self, Self::Plain(_)) && matches!(error, ErrorKind::InvalidArgument | ErrorKind::NotSupported)
    }

    /// The encoded times of the table's sequence numbers, known when its entries are; in place of those of the
    /// parameters.
    pub fn set_seqno_to_time_map(&mut self, encoded: Vec<u8>) {
        of_kind!(self, builder => builder.params_mut().seqno_to_time_map = encoded);
    }

    /// Completes the table, makes the file durable and closes it. The directory entry is the caller's.
    ///
    /// # Errors
    /// Those of the kind's own `finish`.
    pub fn finish(self) -> Result<TableSummary> {
        of_kind!(self, builder => builder.finish())
    }

    /// Gives the table up; its file is the caller's.
    pub fn abandon(self) {}
}
