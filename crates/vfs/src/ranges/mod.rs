//! Reads of ranges: planned, coalesced, split, read into pooled memory, counted by class.
//!
//! ```text
//! context.rs      the purpose and the limits of a read: ReadClass, ReadContext
//! pool.rs         BufferPool: aligned memory for reads
//! buffer.rs       ReadBuffer: a view of bytes that were read
//! plan.rs         from ranges to requests: alignment, coalescing, splitting
//! slots.rs        values by number, and linked lists of numbers
//! ring.rs         what the kernel has of a ring: the one place that pushes reads
//! stream_ring.rs  the ring of one stream
//! driver/         the shared ring of a file system: which reads share a request, and who sleeps for completions
//! threads.rs      reads performed by threads, where there is no ring
//! page_cache.rs   what the page cache has, before a ring is asked
//! layer.rs        ReadLayer: what a file system and its files share for range reads
//! range.rs        one range on the calling thread
//! pending.rs      PendingRead: a read that was started, and is waited for or polled later
//! stream.rs       ReadStream: a set of reads, handed out as they complete
//! batch.rs        many ranges at once, coalesced
//! ```
//!
//! Every implementation of [`FileSystem`](crate::FileSystem) gets these reads from its layer and its files' `read_at`.

mod batch;
mod buffer;
mod context;
mod driver;
mod layer;
mod page_cache;
mod pending;
mod plan;
mod pool;
mod range;
mod ring;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod slots;
mod stream;
mod stream_ring;
#[cfg(test)]
mod tests;
mod threads;

pub use batch::{RangeRead, read_ranges};
pub use buffer::ReadBuffer;
pub use context::{DEFAULT_MAX_REQUEST_BYTES, IoActivity, ReadClass, ReadContext, ReadLabel};
pub(crate) use layer::Backend;
pub use layer::ReadLayer;
pub use pending::PendingRead;
pub use pool::{BufferPool, PoolLimits, PoolObserver, PoolUsage};
pub use range::{read_owned, read_range};
pub use ring::Descriptor;
#[cfg(all(target_os = "linux", feature = "io-uring"))]
pub(crate) use ring::{CANCEL_USER_DATA, Entry, RingDevice, RingUse, read_once};
pub use stream::ReadStream;
pub(crate) use stream::read_stream;
