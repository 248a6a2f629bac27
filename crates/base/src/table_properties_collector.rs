//! Collectors of table properties: what a program learns of each table while it is written, and stores in it.
//!
//! ```text
//! entry entry | entry ... |              add; add_block after each data block
//! finish                                 -> names and values, among the properties of the table
//! ```
//!
//! A collector sees what one table gets, in the order of the file, and range tombstones at the end. It cannot change
//! an entry and cannot fail a flush or compaction: an error is written to the LOG and its table is stored without that
//! collector's properties, as in RocksDB. Names that begin with `rocksdb.` or `ferrock.` belong to the engines.

use crate::error::Result;
use crate::types::{SequenceNumber, ValueType};
use std::collections::BTreeMap;
use std::fmt;

/// Properties of the collected kind, by name. They are read back as
/// [`TableProperties::user_collected`](https://docs.rs/ferrock/latest/ferrock/struct.TableProperties.html).
pub type UserCollectedProperties = BTreeMap<Vec<u8>, Vec<u8>>;

/// The table for which a collector is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorContext {
    /// The family's number.
    pub column_family_id: u32,
    /// The level that the table is written for: 0 for a flush.
    pub level_at_creation: usize,
    /// Levels of the family.
    pub num_levels: usize,
    /// Entries with numbers up to this one are old enough for the last level; `None` where the family does not place
    /// entries by their age (`preclude_last_level_data_seconds`), and of tables outside of a database.
    pub last_level_through: Option<SequenceNumber>,
}

/// An entry as it goes into a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectedEntry<'a> {
    /// The user key; of a range tombstone, its first key.
    pub user_key: &'a [u8],
    /// The value as it is stored: of a range tombstone, the key behind its last; of a value in a blob file, the
    /// reference.
    pub value: &'a [u8],
    /// What the entry is.
    pub value_type: ValueType,
    /// When it was written.
    pub sequence: SequenceNumber,
    /// Bytes of the file so far, without the data block that is being filled.
    pub file_size: u64,
}

/// Collects properties of one table. Used by one thread.
pub trait TablePropertiesCollector: Send {
    /// An entry is added to the table.
    ///
    /// # Errors
    /// Any error is noted in the LOG, and this collector is asked no more.
    fn add(&mut self, entry: &CollectedEntry<'_>) -> Result<()>;

    /// A data block of so many bytes, not compressed, is complete. Plain tables have none.
    fn add_block(&mut self, _uncompressed_bytes: u64) {}

    /// The block that was just completed was drawn by `sample_for_compression`: it would be so many bytes, compressed
    /// by a fast codec and by a slow one. Most blocks are not drawn.
    fn add_sample(&mut self, _fast_bytes: u64, _slow_bytes: u64) {}

    /// The table is complete; what is put into `properties` is stored in it.
    ///
    /// # Errors
    /// As of [`add`](Self::add): nothing of the collector is stored.
    fn finish(&mut self, properties: &mut UserCollectedProperties) -> Result<()>;

    /// Whether the table should be compacted soon, although its level is not full. Asked after `finish`.
    fn needs_compaction(&self) -> bool {
        false
    }
}

impl fmt::Debug for dyn TablePropertiesCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TablePropertiesCollector")
    }
}

/// Makes a collector for each table.
///
/// ```
/// use ferrock_base::Result;
/// use ferrock_base::table_properties_collector::{CollectedEntry, CollectorContext, TablePropertiesCollector};
/// use ferrock_base::table_properties_collector::{TablePropertiesCollectorFactory, UserCollectedProperties};
///
/// /// The longest value of each table.
/// struct Longest;
///
/// impl TablePropertiesCollectorFactory for Longest {
///     fn name(&self) -> &str {
///         "example.Longest"
///     }
///     fn create(&self, _: &CollectorContext) -> Option<Box<dyn TablePropertiesCollector>> {
///         Some(Box::new(LongestOf(0)))
///     }
/// }
///
/// struct LongestOf(usize);
///
/// impl TablePropertiesCollector for LongestOf {
///     fn add(&mut self, entry: &CollectedEntry<'_>) -> Result<()> {
///         self.0 = self.0.max(entry.value.len());
///         Ok(())
///     }
///     fn finish(&mut self, properties: &mut UserCollectedProperties) -> Result<()> {
///         properties.insert(b"example.longest".to_vec(), self.0.to_string().into_bytes());
///         Ok(())
///     }
/// }
/// ```
pub trait TablePropertiesCollectorFactory: Send + Sync {
    /// The name in the LOG, and in the table's property `rocksdb.property.collectors`.
    fn name(&self) -> &str;

    /// A collector for one table; `None`: nothing is collected of it.
    fn create(&self, context: &CollectorContext) -> Option<Box<dyn TablePropertiesCollector>>;
}

impl fmt::Debug for dyn TablePropertiesCollectorFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
