//! Which of a memtable's blob files a value goes to: RocksDB's `blob_direct_write_partition_strategy`.

use std::fmt;

/// Chooses the partition of each value that `enable_blob_direct_write` writes, so that values that die together lie
/// together: a blob file whose values are all garbage is removed without a copy. Without a strategy values go to the
/// partitions in turn.
///
/// ```
/// use ferrock_options::{BlobFilePartitionStrategy, ColumnFamilyOptions};
/// use std::sync::Arc;
///
/// /// Keys that begin with the same byte share a file.
/// struct ByTenant;
///
/// impl BlobFilePartitionStrategy for ByTenant {
///     fn name(&self) -> &str {
///         "ByTenant"
///     }
///
///     fn select_partition(&self, _partitions: u32, _family: u32, key: &[u8], _value: &[u8]) -> u32 {
///         key.first().copied().map_or(0, u32::from)
///     }
/// }
///
/// let mut options = ColumnFamilyOptions::default();
/// options.enable_blob_files = true;
/// options.enable_blob_direct_write = true;
/// options.blob_direct_write_partitions = 4;
/// options.blob_direct_write_partition_strategy = Some(Arc::new(ByTenant));
/// ```
///
/// It is called by the thread that leads the write queue, with every other writer waiting behind it: it must be quick,
/// and must not call the database.
pub trait BlobFilePartitionStrategy: Send + Sync {
    /// For the LOG.
    fn name(&self) -> &str;

    /// The partition of a value, before it is compressed. Any number is good: its remainder by `num_partitions`, which
    /// is `blob_direct_write_partitions`, counts.
    fn select_partition(&self, num_partitions: u32, column_family_id: u32, key: &[u8], value: &[u8]) -> u32;

    /// The partition of all large columns of an entity, whose `columns` are names and values in the order of the names.
    /// Unless implemented, that of the default column's value, which has the empty name, or of the first column's.
    fn select_partition_of_entity(
        &self,
        num_partitions: u32,
        column_family_id: u32,
        key: &[u8],
        columns: &[(&[u8], &[u8])],
    ) -> u32 {
        // The empty name comes before all others.
        let value = columns.first().map_or(&[][..], |column| column.1);
        self.select_partition(num_partitions, column_family_id, key, value)
    }
}

impl fmt::Debug for dyn BlobFilePartitionStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BlobFilePartitionStrategy").field(&self.name()).finish()
    }
}
