//! Reads of ranges: planned, coalesced, split, read into pooled memory, counted by what they are for.
//!
//! ```text
//! context.rs   what a read is for and what it may cost: ReadClass, ReadContext
//! pool.rs      aligned memory that is used again
//! buffer.rs    ReadBuffer: a view of bytes that were read
//! plan.rs      from ranges to requests: alignment, coalescing, splitting
//! begin.rs     what every read of one range begins with
//! batch.rs     a planned batch: performed, and each range given its own result
//! pending.rs   PendingRead: a read that was started and is waited for later
//! reactor.rs   reads in flight on a completion ring
//! threads.rs   reads performed by threads, where there is no ring
//! driver/      reads that wake: what shares a request, and the thread that sleeps for completions
//! async_read.rs  AsyncRead: such a read, or one by threads, as a future
//! layer.rs     what a file system and its files share for all this
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
