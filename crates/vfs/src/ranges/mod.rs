//! Reads of ranges: planned, coalesced, split, read into pooled memory, counted by class.
//!
//! ```text
//! context.rs   the purpose and the limits of a read: ReadClass, ReadContext
//! pool.rs      BufferPool: aligned memory for reads
//! buffer.rs    ReadBuffer: a view of bytes that were read
//! plan.rs      from ranges to requests: alignment, coalescing, splitting
//! begin.rs     the first step of every read of one range
//! batch.rs     a planned batch: performed, and each range given its own result
//! pending.rs   PendingRead: a read that was started and is waited for later
//! reactor.rs   reads in flight on a completion ring
//! threads.rs   reads performed by threads, where there is no ring
//! driver/      asynchronous reads: which of them share a request, and the thread that sleeps for completions
//! async_read.rs  AsyncRead: a read of the driver, or of threads, as a future
//! layer.rs     ReadLayer: what a file system and its files share for range reads
//! ```
//!
//! Every implementation of [`FileSystem`](crate::FileSystem) gets these reads from its `read_batch` and `read_at_as`.

mod async_read;
mod batch;
mod begin;
mod buffer;
mod context;
mod driver;
mod layer;
mod pending;
mod plan;
mod pool;
mod reactor;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
#[cfg(test)]
mod tests;
mod threads;

pub use async_read::AsyncRead;
pub(crate) use async_read::start_async;
pub use batch::RangeRead;
pub(crate) use batch::{read_owned, read_range, read_ranges};
pub use buffer::ReadBuffer;
pub use context::{DEFAULT_MAX_REQUEST_BYTES, ReadClass, ReadContext, ReadLabel};
pub(crate) use layer::Backend;
pub use layer::ReadLayer;
pub(crate) use layer::{Watch, start_watch};
pub use pending::PendingRead;
pub(crate) use pending::start_read;
pub(crate) use pool::PooledMemory;
pub use pool::{BufferPool, PoolLimits, PoolUsage};
pub(crate) use reactor::RingDevice;
#[cfg(target_os = "linux")]
pub(crate) use reactor::{CANCEL_USER_DATA, Entry};
