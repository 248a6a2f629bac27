//! Reads of ranges: planned, coalesced, split, read into pooled memory, counted by what they are for.
//!
//! ```text
//! context.rs   what a read is for and what it may cost: ReadClass, ReadContext
//! pool.rs      aligned memory that is used again
//! buffer.rs    ReadBuffer: a view of bytes that were read
//! plan.rs      from ranges to requests: alignment, coalescing, splitting
//! batch.rs     a planned batch: performed, and each range given its own result
//! pending.rs   PendingRead: a read that was started and is waited for later
//! layer.rs     what a file system and its files share for all this
//! ```
//!
//! Every implementation of [`FileSystem`](crate::FileSystem) gets these reads from its `read_batch` and `read_at_as`.

mod batch;
mod buffer;
mod context;
mod layer;
mod pending;
mod plan;
mod pool;
#[cfg(test)]
mod tests;

pub use batch::RangeRead;
pub(crate) use batch::{read_owned, read_range, read_ranges};
pub use buffer::ReadBuffer;
pub use context::{DEFAULT_MAX_REQUEST_BYTES, ReadClass, ReadContext, ReadLabel};
pub use layer::ReadLayer;
pub use pending::PendingRead;
pub(crate) use pending::start_read;
pub use pool::{BufferPool, PoolLimits, PoolUsage};
