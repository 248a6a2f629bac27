//! What a read may do and what it should leave behind.

/// A request costs a device as much as this many bytes more in another one: 60 microseconds, in which it reads 16 to 32 KiB.
const DEFAULT_IO_GAP_BYTES: usize = 16 << 10;

/// Where a read may look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadTier {
    /// Cache and file.
    #[default]
    All,
    /// Memory only: a block that would have to be read makes the read `Incomplete`.
    BlockCacheOnly,
}

/// Options of one read of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableReadOptions {
    /// Check block checksums of what is read from the file. Cached blocks were checked when they came in.
    pub verify_checksums: bool,
    /// Put blocks that are read into the cache.
    pub fill_cache: bool,
    /// Where the read may look.
    pub read_tier: ReadTier,
    /// Ignore prefix filters in seeks.
    pub total_order_seek: bool,
    /// The caller only wants keys of the seek key's prefix: a seek may then end at once when a filter says so.
    pub prefix_same_as_start: bool,
    /// Bytes to read ahead in scans; 0 leaves it to the automatic readahead.
    pub readahead_bytes: usize,
    /// Bytes between two pieces of a file that are read over rather than in another request.
    pub io_gap_bytes: usize,
}

impl Default for TableReadOptions {
    fn default() -> Self {
        Self {
            verify_checksums: true,
            fill_cache: true,
            read_tier: ReadTier::All,
            total_order_seek: false,
            prefix_same_as_start: false,
            readahead_bytes: 0,
            io_gap_bytes: DEFAULT_IO_GAP_BYTES,
        }
    }
}
