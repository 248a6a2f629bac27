//! What a cache entry holds, and how long it should stay.

/// What an entry or a reservation holds, for accounting. The names are RocksDB's, except for two finer ones
/// and three of memory that RocksDB does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum EntryRole {
    /// Data block.
    DataBlock,
    /// Filter or filter partition.
    FilterBlock,
    /// Top-level index of a partitioned filter.
    FilterMetaBlock,
    /// Index block or partition.
    IndexBlock,
    /// Top-level index of a partitioned index (RocksDB counts it as an index block).
    IndexMetaBlock,
    /// Compression dictionary (RocksDB counts it as another block).
    DictionaryBlock,
    /// Any other block: properties, range tombstones.
    OtherBlock,
    /// Reserved for memtables.
    WriteBuffer,
    /// Reserved for samples a dictionary is trained from.
    CompressionDictionaryBuildingBuffer,
    /// Reserved for a filter under construction.
    FilterConstruction,
    /// Reserved for open tables.
    BlockBasedTableReader,
    /// Reserved for the metadata of live files.
    FileMetadata,
    /// Reserved for buffers of reads.
    ReadBuffer,
    /// Reserved for tables that are being written.
    TableBuilder,
    /// Reserved for memory that the allocator loses.
    AllocatorLoss,
    /// A value from a blob file.
    BlobValue,
    /// Reserved for a cache of values from blob files that is not the block cache.
    BlobCache,
    /// Anything without a role of its own.
    Other,
}

/// Number of roles.
pub(crate) const ROLES: usize = EntryRole::ALL.len();

impl EntryRole {
    /// Every role.
    pub const ALL: [Self; 18] = [
        Self::DataBlock,
        Self::FilterBlock,
        Self::FilterMetaBlock,
        Self::IndexBlock,
        Self::IndexMetaBlock,
        Self::DictionaryBlock,
        Self::OtherBlock,
        Self::WriteBuffer,
        Self::CompressionDictionaryBuildingBuffer,
        Self::FilterConstruction,
        Self::BlockBasedTableReader,
        Self::FileMetadata,
        Self::ReadBuffer,
        Self::TableBuilder,
        Self::AllocatorLoss,
        Self::BlobValue,
        Self::BlobCache,
        Self::Other,
    ];

    /// The name in statistics and properties.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DataBlock => "DataBlock",
            Self::FilterBlock => "FilterBlock",
            Self::FilterMetaBlock => "FilterMetaBlock",
            Self::IndexBlock => "IndexBlock",
            Self::IndexMetaBlock => "IndexMetaBlock",
            Self::DictionaryBlock => "DictionaryBlock",
            Self::OtherBlock => "OtherBlock",
            Self::WriteBuffer => "WriteBuffer",
            Self::CompressionDictionaryBuildingBuffer => "CompressionDictionaryBuildingBuffer",
            Self::FilterConstruction => "FilterConstruction",
            Self::BlockBasedTableReader => "BlockBasedTableReader",
            Self::FileMetadata => "FileMetadata",
            Self::ReadBuffer => "ReadBuffer",
            Self::TableBuilder => "TableBuilder",
            Self::AllocatorLoss => "AllocatorLoss",
            Self::BlobValue => "BlobValue",
            Self::BlobCache => "BlobCache",
            Self::Other => "Misc",
        }
    }
}

/// How long an unused entry survives: the passes of the clock hand that it starts with. Each use adds one, up to three.
/// Entries that start with none begin in a queue of their own, and move to the main one once they are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// Evicted first.
    Bottom,
    /// Data blocks.
    #[default]
    Low,
    /// Index and filter blocks.
    High,
    /// Blocks that should outlast other index and filter blocks, such as index partitions: each pass counts half.
    Highest,
}

impl Priority {
    /// The passes an entry starts with, and whether each counts half.
    #[inline]
    pub(crate) fn tenacity(self) -> Tenacity {
        match self {
            Self::Bottom | Self::Low => Tenacity { clock: 0, is_slow: false },
            Self::High => Tenacity { clock: 3, is_slow: false },
            Self::Highest => Tenacity { clock: 3, is_slow: true },
        }
    }
}

/// How an entry ages under the clock hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tenacity {
    pub(crate) clock: u64,
    /// It ages at every second pass only.
    pub(crate) is_slow: bool,
}

/// The parts of the capacity that are set aside for a priority: an entry that does not fit counts as the priority
/// below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pool {
    /// Nothing is set aside.
    None,
    Low,
    High,
}
