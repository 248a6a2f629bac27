//! Options of a read: what it may read, and what it caches.

use crate::blocks::BlockRole;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_vfs::{IoActivity, IoPriority, ReadClass, ReadContext};
use std::time::Duration;

/// RocksDB's multi-scans read over gaps of this size too.
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

/// What a scan with a limit hint minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitReads {
    /// Requests: the first one reads as many blocks as the rows take on average, and one more.
    #[default]
    FewestRequests,
    /// Bytes: no request reads a block that the rows may not need.
    FewestBytes,
}

/// Options of one read of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableReadOptions {
    /// Check block checksums of what is read from the file. Cached blocks were checked when they were inserted.
    pub verify_checksums: bool,
    /// Put blocks that are read into the cache.
    pub fill_cache: bool,
    /// With `fill_cache`: also data blocks.
    pub cache_data_blocks: bool,
    /// Where the read may look.
    pub read_tier: ReadTier,
    /// Ignore prefix filters in seeks.
    pub total_order_seek: bool,
    /// Bytes to read ahead in scans; 0 leaves it to the automatic readahead.
    pub readahead_bytes: usize,
    /// Bytes between two pieces of a file that are read over rather than in another request.
    pub io_gap_bytes: usize,
    /// Deadline in microseconds since 1970 by the file system's clock; 0 is none. After it, a block that would have to
    /// be read from the file makes the read `TimedOut`.
    pub deadline_us: u64,
    /// How long one read of the file may take before the read is `TimedOut`; zero is for ever.
    pub io_timeout: Duration,
    /// At which priority reads of the file wait for its rate limiter; `None`: they do not wait.
    pub rate_limiter_priority: Option<IoPriority>,
    /// Scans start the next read of the file before they need it.
    pub async_io: bool,
    /// A scan's readahead carries over to the next file of its level.
    pub adaptive_readahead: bool,
    /// Scans read ahead no further than their bounds.
    pub auto_readahead_size: bool,
    /// For which work the table is read.
    pub activity: IoActivity,
    /// Reads are left to the scan's driver: a block that is not in memory makes a scan pause with `TryAgain`. See
    /// [`BlockTableIter::pending_read`](super::BlockTableIter::pending_read).
    pub pauses: bool,
}

impl TableReadOptions {
    /// The context of this read for the file layer.
    #[must_use]
    pub fn read_context(&self, class: ReadClass) -> ReadContext {
        let Self { deadline_us, io_timeout, rate_limiter_priority, activity, .. } = *self;
        ReadContext {
            activity,
            deadline_us,
            io_timeout,
            rate_limiter_priority,
            is_final: true,
            ..ReadContext::for_class(class)
        }
    }

    /// True when blocks that are not in memory are not to be read from the file.
    #[inline]
    pub(crate) fn reads_memory_only(&self) -> bool {
        self.pauses || self.read_tier == ReadTier::BlockCacheOnly
    }

    /// # Errors
    /// `Incomplete` or `TryAgain` when the file is not to be read.
    pub(crate) fn may_read(&self) -> Result<()> {
        if self.read_tier == ReadTier::BlockCacheOnly {
            return Err(Error::new(ErrorKind::Incomplete, "the block is not in the cache and reads are not allowed"));
        }
        if self.pauses {
            return Err(Error::new(
                ErrorKind::TryAgain,
                "the block is not in memory and is to be read by the scan's driver",
            ));
        }
        Ok(())
    }

    /// Whether a block of a role is put into the cache.
    #[inline]
    pub(crate) fn fills_cache_with(&self, role: BlockRole) -> bool {
        self.fill_cache && (self.cache_data_blocks || role != BlockRole::Data)
    }
}

impl Default for TableReadOptions {
    fn default() -> Self {
        Self {
            verify_checksums: true,
            fill_cache: true,
            cache_data_blocks: true,
            read_tier: ReadTier::All,
            total_order_seek: false,
            readahead_bytes: 0,
            io_gap_bytes: DEFAULT_IO_GAP_BYTES,
            deadline_us: 0,
            io_timeout: Duration::ZERO,
            rate_limiter_priority: None,
            async_io: false,
            adaptive_readahead: false,
            auto_readahead_size: true,
            activity: IoActivity::Unknown,
            pauses: false,
        }
    }
}
