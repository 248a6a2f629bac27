//! Files and directories for the Ferrock engine.
//!
//! Everything the engine does to a disk goes through the [`FileSystem`] trait, so
//! that a test can own the disk: count every request, fail any of them, or cut
//! the power after any of them.
//!
//! ```text
//! PosixFileSystem            the machine's files: buffered, O_DIRECT, mapped; sets of reads by pread or io_uring
//! MemoryFileSystem           files in memory that remember what was synced; crash clones; operation trace
//! FaultInjectionFileSystem   wraps any of them; rules fail, tear, flip or delay chosen operations
//! ObservedFileSystem         wraps any of them; an observer is told of every operation on a file
//! ObjectStoreFileSystem      objects of a store, for backups alone (feature `object-store`)
//! ```
//!
//! This crate alone touches `std::fs` and system calls. Paths are passed through unchanged; this crate knows of tables
//! and logs only [`WritePurpose`], by which bytes are counted.
#![warn(missing_docs)]

mod aligned;
mod counters;
mod fault;
mod file;
mod file_system;
mod idle_cpus;
mod io_stats;
mod limited;
mod memory;
mod mmap_reads;
mod observed;
mod options;
#[cfg(unix)]
mod posix;
#[cfg_attr(
    not(all(target_os = "linux", feature = "io-uring")),
    allow(dead_code, unused_imports, reason = "no device opens a ring")
)]
pub mod process_memory;
mod ranges;
mod rate_limiter;
#[cfg(feature = "object-store")]
mod store;
mod summed;
mod sync;
mod thread_cpu;
mod util;

pub use aligned::AlignedBuffer;
pub use counters::{ClassSnapshot, IoCounters, IoSnapshot, PurposeSnapshot};
pub use fault::{Fault, FaultInjectionFileSystem, FaultRule, FaultRuleId, OperationKind, Trigger};
pub use file::{FileLock, RandomAccessFile, SequentialFile, WritableFile};
pub use file_system::{FileEntry, FileSystem};
pub use idle_cpus::idle_cpus;
pub use io_stats::{IoMetric, IoStatsContext};
pub use limited::limited;
pub use memory::{CrashPolicy, LoggedRead, MemoryFileSystem, OperationHook};
pub use mmap_reads::MmapReads;
#[cfg(feature = "object-store")]
pub use object_store;
pub use observed::{FileObserver, FileOperation, FileOperationKind, ObservedFileSystem};
pub use options::{RandomAccessOptions, SequentialOptions, WritableOptions, WritePurpose};
#[cfg(unix)]
pub use posix::{IO_BACKEND_VARIABLE, PosixFileSystem};
pub use ranges::{
    BufferPool, DEFAULT_MAX_REQUEST_BYTES, Descriptor, IoActivity, PendingRead, PoolLimits, PoolObserver, PoolUsage,
    RangeRead, ReadBuffer, ReadClass, ReadContext, ReadLabel, ReadLayer, ReadStream, read_owned, read_range,
    read_ranges,
};
pub use rate_limiter::{IoKind, IoPriority, LimiterMode, RateLimiter, TokenBucket, TokenBucketOptions};
#[cfg(feature = "object-store")]
pub use store::{BlockOn, ObjectStoreFileSystem, ObjectStoreOptions};
pub use summed::{FileSum, sum_of_file, summed};
pub use thread_cpu::thread_cpu_ns;
pub use util::{copy_file, read_file, write_file_atomically, write_file_atomically_as, write_file_synced};

/// The machine's files, with the read backend that the environment asks for or the machine allows.
#[cfg(unix)]
#[must_use]
pub fn default_file_system() -> std::sync::Arc<dyn FileSystem> {
    std::sync::Arc::new(PosixFileSystem::new())
}
