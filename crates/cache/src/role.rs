//! What a cache entry is and how long it should stay.

/// What an entry or a reservation holds, for accounting. The names are RocksDB's.
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
    /// Compression dictionary.
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
    /// A value from a blob file.
    BlobValue,
    /// Whatever has no role of its own.
    Other,
}

/// Number of roles.
pub(crate) const ROLES: usize = EntryRole::ALL.len();

impl EntryRole {
    /// Every role.
    pub const ALL: [Self; 13] = [
        Self::DataBlock,
        Self::FilterBlock,
        Self::FilterMetaBlock,
        Self::IndexBlock,
        Self::DictionaryBlock,
        Self::OtherBlock,
        Self::WriteBuffer,
        Self::CompressionDictionaryBuildingBuffer,
        Self::FilterConstruction,
        Self::BlockBasedTableReader,
        Self::FileMetadata,
        Self::BlobValue,
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
            Self::DictionaryBlock => "DictionaryBlock",
            Self::OtherBlock => "OtherBlock",
            Self::WriteBuffer => "WriteBuffer",
            Self::CompressionDictionaryBuildingBuffer => "CompressionDictionaryBuildingBuffer",
            Self::FilterConstruction => "FilterConstruction",
            Self::BlockBasedTableReader => "BlockBasedTableReader",
            Self::FileMetadata => "FileMetadata",
            Self::BlobValue => "BlobValue",
            Self::Other => "Misc",
        }
    }
}

/// How long an entry that nobody asks for survives: the passes of the clock hand it starts with.
///
/// `Low` starts with one pass and earns the others by being used: on skewed keys that finds more than starting with two,
/// as scans and keys that are wanted once go sooner, and it leaves more room to `High`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// First to go.
    Bottom,
    /// Data blocks.
    #[default]
    Low,
    /// Filter partitions: a lookup can do without one, at the price of a read in vain now and then.
    Middle,
    /// Index and filter blocks.
    High,
}

impl Priority {
    #[inline]
    pub(crate) fn initial_clock(self) -> u64 {
        match self {
            Self::Bottom => 0,
            Self::Low => 1,
            Self::Middle => 2,
            Self::High => 3,
        }
    }
}
