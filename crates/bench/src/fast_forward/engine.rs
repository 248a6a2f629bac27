//! The driver's interface to an engine, so that one driver measures every engine on the same files.
//!
//! ```text
//! Engine      opens a directory                    Database   reads it, and counts the cost
//! Cursor      rows within bounds that move forward
//! ```

use super::dataset::Key;
use ferrock_console::failure::Result;
use std::path::Path;

/// Opens databases.
pub trait Engine {
    /// The name of the engine in the results.
    fn name(&self) -> String;
    /// Opens a directory and every table in it.
    ///
    /// # Errors
    /// That of the engine when the directory has no database or one of its files cannot be read.
    fn open(&self, directory: &Path, how: &Opening) -> Result<Box<dyn Database>>;
}

/// How a directory is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Bytes of a key that name its partition.
    pub prefix_bytes: usize,
    /// Read past the page cache.
    pub direct: bool,
    /// Bytes of the block cache.
    pub cache_bytes: usize,
    /// Put data blocks into it, not only those of index and filter.
    pub caches_data: bool,
}

/// Sees a row: key and value.
pub type Visit<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<()>;

/// From a key on, and up to a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The first key; `None`: from the beginning.
    pub lower: Option<Key>,
    /// The exclusive end; `None`: to the end.
    pub upper: Option<Key>,
}

/// An open database.
pub trait Database {
    /// Looks a key up and shows it if it is there.
    ///
    /// # Errors
    /// That of the engine, or of `visit`; a key that is not there is no error.
    fn get(&self, key: &[u8], visit: Visit<'_>) -> Result<()>;
    /// A cursor within bounds, not positioned: it costs no read. `limit`: how many rows will be read of it, if the
    /// reader wants to say so.
    ///
    /// # Errors
    /// That of the engine when it has no cursor of this kind.
    fn cursor(&self, bounds: &Bounds, limit: Option<u64>) -> Result<Box<dyn Cursor + '_>>;
    /// Shows the rows of many ranges that ascend and do not overlap, all of which have both bounds.
    ///
    /// # Errors
    /// That of the engine, or of `visit`.
    fn ranges(&self, ranges: &mut dyn Iterator<Item = Bounds>, visit: Visit<'_>) -> Result<()>;
    /// The costs of this database so far.
    ///
    /// # Errors
    /// That of the engine when it does not count.
    fn counters(&self) -> Result<Counters>;
    /// Empties the block cache.
    ///
    /// # Errors
    /// That of the engine when its cache cannot be emptied.
    fn clear_cache(&self) -> Result<()>;
    /// Called behind every measured run with keys that it read, one of every few hundred: an engine that can keep data
    /// out of its cache only together with the index then reads the index again, unmeasured.
    ///
    /// # Errors
    /// That of the engine when a read fails.
    fn after_run(&self, keys: &mut dyn Iterator<Item = Key>) -> Result<()>;
    /// By which interface of the system files are read (`pread`, `io_uring`), so that the requests can be counted from
    /// outside; `None` for an engine whose counters come from there.
    fn request_interface(&self) -> Option<String>;
    /// Closes it.
    ///
    /// # Errors
    /// That of the engine when something could not be written.
    fn close(self: Box<Self>) -> Result<()>;
}

/// Rows in order, within bounds.
pub trait Cursor {
    /// Goes to the first row within the bounds.
    ///
    /// # Errors
    /// That of the engine when a read fails.
    fn to_first(&mut self) -> Result<()>;
    /// Goes to the last row within the bounds.
    ///
    /// # Errors
    /// That of the engine when a read fails.
    fn to_last(&mut self) -> Result<()>;
    /// Takes new bounds, which lie ahead, and goes to the first row within them.
    ///
    /// # Errors
    /// That of the engine when a read fails.
    fn fast_forward(&mut self, bounds: &Bounds) -> Result<()>;
    /// Shows at most `limit` rows from the current one on.
    ///
    /// # Errors
    /// That of the engine, or of `visit`.
    fn read(&mut self, limit: u64, visit: Visit<'_>) -> Result<()>;
    /// Shows at most `limit` rows from the current one back.
    ///
    /// # Errors
    /// That of the engine, or of `visit`.
    fn read_back(&mut self, limit: u64, visit: Visit<'_>) -> Result<()>;
}

/// Requests for the blocks of a class, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// Requests, as the device sees them.
    pub requests: u64,
    /// Bytes of them, after alignment.
    pub bytes: u64,
}

/// Uses of a cache. `None` for counts that an engine does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Blocks found.
    pub hits: u64,
    /// Blocks not found.
    pub misses: u64,
    /// Blocks put in.
    pub inserts: Option<u64>,
}

/// The costs of reads so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// All requests.
    pub total: ClassCounters,
    /// Those for data blocks.
    pub data: Option<ClassCounters>,
    /// Those for index blocks and partitions.
    pub index: Option<ClassCounters>,
    /// Those for filter blocks and partitions.
    pub filter: Option<ClassCounters>,
    /// Reads that had to wait for a window.
    pub blocked: Option<u64>,
    /// Windows that were read ahead and given up.
    pub dropped: Option<u64>,
    /// Lookups of index partitions.
    pub index_cache: CacheCounters,
    /// Lookups of filter partitions.
    pub filter_cache: CacheCounters,
    /// Lookups of data blocks.
    pub data_cache: CacheCounters,
}

fn less(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(before?))
}

impl ClassCounters {
    pub(super) fn since(self, before: Self) -> Self {
        let requests = self.requests.saturating_sub(before.requests);
        Self { requests, bytes: self.bytes.saturating_sub(before.bytes) }
    }
}

impl CacheCounters {
    fn since(self, before: Self) -> Self {
        Self {
            hits: self.hits.saturating_sub(before.hits),
            misses: self.misses.saturating_sub(before.misses),
            inserts: less(self.inserts, before.inserts),
        }
    }
}

impl Counters {
    /// The difference to earlier costs.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let class = |now: Option<ClassCounters>, before: Option<ClassCounters>| Some(now?.since(before?));
        Self {
            total: self.total.since(before.total),
            data: class(self.data, before.data),
            index: class(self.index, before.index),
            filter: class(self.filter, before.filter),
            blocked: less(self.blocked, before.blocked),
            dropped: less(self.dropped, before.dropped),
            index_cache: self.index_cache.since(before.index_cache),
            filter_cache: self.filter_cache.since(before.filter_cache),
            data_cache: self.data_cache.since(before.data_cache),
        }
    }
}
