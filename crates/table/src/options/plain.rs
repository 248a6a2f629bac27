//! `PlainTableOptions`: every key that RocksDB writes into a `[TableOptions/PlainTable ...]` section.

use ferrock_base::{option_enum, option_table};
use ferrock_format::plain_table::{MAX_FILE_SIZE, PlainEncoding};
use std::sync::Arc;

option_enum! {
    /// How a plain table stores its keys.
    pub enum PlainEncodingType {
        /// Every key in full.
        Plain = "kPlain",
        /// Without the prefix that a key has in common with the one before it. Needs a prefix extractor: without one,
        /// keys are stored in full.
        Prefix = "kPrefix",
    }
}

option_table! {
    /// How a plain table is written, and how its index and filter are made where the file has none.
    pub struct PlainTableOptions {
        /// Length of every user key; 0 for keys of any length.
        fixed user_key_len: u32 = 0;
        /// Bits of the filter for a prefix, or for a key without a prefix extractor; 0 for no filter. The hash index of
        /// a table that stores none filters by itself.
        fixed bloom_bits_per_key: i32 = 10, 0..=i32::MAX => 0;
        /// Prefixes for each bucket of a hash index that is stored; one that is made when a table is opened has the
        /// density that is best. 0 for one bucket in all: no hash index.
        fixed hash_table_ratio: f64 = 0.75, 0.0..=1_000_000_000.0;
        /// Of the keys of a prefix, every one so far from the last is in the index, and stored in full.
        fixed index_sparseness: usize = 16;
        /// Size of the pages for index and filter. A hint: they come from the ordinary allocator.
        fixed huge_page_tlb_size: usize = 0;
        /// How keys are stored.
        fixed encoding_type: PlainEncodingType = PlainEncodingType::Plain;
        /// RocksDB then reads a table from its front only, without an index. A hint: here every table has an index.
        fixed full_scan_mode: bool = false;
        /// Store index and filter in the file, instead of making them when it is opened.
        fixed store_index_in_file: bool = false;
    }
}

/// Which kind of tables a column family writes. Tables of every kind are read, whichever is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TableFactory {
    /// RocksDB's `BlockBasedTable`: for everything.
    #[default]
    BlockBased,
    /// RocksDB's `PlainTable`: for data that is in memory, mapped or whole, and for lookups and scans within a prefix.
    Plain(Arc<PlainTableOptions>),
}

impl TableFactory {
    /// RocksDB's name of the kind.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::BlockBased => BLOCK_BASED_TABLE,
            Self::Plain(_) => PLAIN_TABLE,
        }
    }

    /// Compactions end a table at this size at the latest: of a kind with a limit, half of it, which leaves room for a
    /// large entry.
    #[must_use]
    pub fn cut_bytes(&self) -> u64 {
        match self {
            Self::BlockBased => u64::MAX,
            Self::Plain(_) => MAX_FILE_SIZE / 2,
        }
    }

    /// The options of plain tables: those of the factory, or RocksDB's defaults to read tables that another one wrote.
    #[must_use]
    pub fn plain_options(&self) -> Arc<PlainTableOptions> {
        match self {
            Self::BlockBased => Arc::default(),
            Self::Plain(options) => Arc::clone(options),
        }
    }
}

/// RocksDB's name of the factory of block-based tables.
pub const BLOCK_BASED_TABLE: &str = "BlockBasedTable";
/// RocksDB's name of the factory of plain tables.
pub const PLAIN_TABLE: &str = "PlainTable";

impl PlainTableOptions {
    /// Bits of the filter, which are not negative.
    #[must_use]
    pub fn bloom_bits(&self) -> u32 {
        u32::try_from(self.bloom_bits_per_key).unwrap_or(0)
    }

    /// How keys are stored, given an extractor or not.
    #[must_use]
    pub fn encoding(&self, has_extractor: bool) -> PlainEncoding {
        match self.encoding_type {
            PlainEncodingType::Prefix if has_extractor => PlainEncoding::Prefix,
            _ => PlainEncoding::Plain,
        }
    }
}
