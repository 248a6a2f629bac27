//! A pool of aligned buffers.
//!
//! ```text
//! take(length) -> size class (powers of two, 4 KiB to 2 MiB) -> an idle buffer of the class, else a new one
//! drop         -> back to the idle buffers of its class, while they are few enough; else freed
//! ```
//!
//! Buffers longer than the largest class are made for one read and freed after it. Reused memory is not zeroed: readers
//! see only the bytes that were read into it.
//!
//! Idle memory is bounded three ways: by `idle_bytes`; by the peak use over the last [`PERIOD`] returns; and, while no
//! buffer is in use, by [`RESTING_BYTES`].

use std::fmt;
use std::sync::{Arc, Weak};

use ferrock_base::{Error, ErrorKind, Result};
use parking_lot::Mutex;

use crate::aligned::AlignedBuffer;

/// Alignment of every buffer: a multiple of every unit of direct I/O in use.
const ALIGNMENT: usize = 4096;
const SMALLEST_BYTES: usize = 4 << 10;
const CLASSES: usize = 10;
const LARGEST_BYTES: usize = SMALLEST_BYTES << (CLASSES - 1);
/// Kept for the next read when no buffer is in use.
const RESTING_BYTES: u64 = 1 << 20;
/// The pool adapts to the peak use once in so many returned buffers.
const PERIOD: u32 = 1024;

/// Observers hear of changes by so many bytes.
const TOLD_BYTES: u64 = 256 << 10;

/// The limits of a [`BufferPool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Most bytes in use; a read that would exceed it fails with `MemoryLimit`.
    pub total_bytes: u64,
    /// Most bytes in use with which a read is started ahead of need; beyond, it is performed when it is waited for.
    pub read_ahead_bytes: u64,
    /// Most bytes kept for later reads.
    pub idle_bytes: u64,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self { total_bytes: u64::MAX, read_ahead_bytes: 64 << 20, idle_bytes: 8 << 20 }
    }
}

/// The usage of a [`BufferPool`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolUsage {
    /// Bytes of buffers that reads hold.
    pub in_use_bytes: u64,
    /// Bytes kept for later reads.
    pub idle_bytes: u64,
    /// Buffers allocated so far.
    pub allocations: u64,
    /// Buffers used again so far.
    pub reuses: u64,
}

/// Hears how much memory a pool has, in use or idle: after each change by 256 KiB, and at once when it begins.
pub trait PoolObserver: Send + Sync {
    /// The pool has so many bytes now. Calls may overtake each other; the last one is right to within a step.
    fn has_bytes(&self, bytes: u64);
}

#[derive(Default)]
struct PoolState {
    idle: [Vec<AlignedBuffer>; CLASSES],
    limits: PoolLimits,
    usage: PoolUsage,
    observers: Vec<Weak<dyn PoolObserver>>,
    /// What the observers were told last.
    told_bytes: u64,
    /// Most bytes in use in this period, and returns in it.
    peak_bytes: u64,
    returns: u32,
}

/// The buffers of a file system. Clones share them.
#[derive(Clone, Default)]
pub struct BufferPool {
    state: Arc<Mutex<PoolState>>,
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BufferPool").field("usage", &self.usage()).finish()
    }
}

/// The class for a length: its number, if it is kept, and the bytes of its buffers.
fn size_class(length: usize) -> (Option<usize>, usize) {
    if length > LARGEST_BYTES {
        return (None, length.next_multiple_of(ALIGNMENT));
    }
    let bytes = length.next_power_of_two().max(SMALLEST_BYTES);
    (Some((bytes / SMALLEST_BYTES).trailing_zeros() as usize), bytes)
}

impl PoolState {
    /// Whom to tell how many bytes there are now, once the lock is released.
    fn news(&mut self) -> Option<(Vec<Arc<dyn PoolObserver>>, u64)> {
        if self.observers.is_empty() {
            return None;
        }
        let bytes = self.usage.in_use_bytes + self.usage.idle_bytes;
        if bytes.abs_diff(self.told_bytes) < TOLD_BYTES {
            return None;
        }
        self.told_bytes = bytes;
        self.observers.retain(|observer| observer.strong_count() > 0);
        Some((self.observers.iter().filter_map(Weak::upgrade).collect(), bytes))
    }

    /// Frees idle buffers, the largest first, until at most `keep_bytes` are kept.
    fn trim(&mut self, keep_bytes: u64) -> Vec<AlignedBuffer> {
        let mut freed = Vec::new();
        for class in (0..CLASSES).rev() {
            while self.usage.idle_bytes > keep_bytes {
                let Some(buffer) = self.idle[class].pop() else { break };
                self.usage.idle_bytes -= (SMALLEST_BYTES << class) as u64;
                freed.push(buffer);
            }
        }
        freed
    }

    fn give_back(&mut self, buffer: AlignedBuffer, class: Option<usize>, bytes: usize) -> Vec<AlignedBuffer> {
        self.usage.in_use_bytes -= bytes as u64;
        let mut freed = Vec::new();
        match class {
            Some(class) if self.usage.idle_bytes + bytes as u64 <= self.limits.idle_bytes => {
                self.usage.idle_bytes += bytes as u64;
                self.idle[class].push(buffer);
            }
            _ => freed.push(buffer),
        }
        self.returns += 1;
        if self.usage.in_use_bytes == 0 {
            freed.extend(self.trim(RESTING_BYTES));
        }
        if self.returns >= PERIOD {
            let needed = self.peak_bytes.saturating_sub(self.usage.in_use_bytes).max(RESTING_BYTES);
            freed.extend(self.trim(needed));
            self.peak_bytes = self.usage.in_use_bytes;
            self.returns = 0;
        }
        freed
    }
}

impl BufferPool {
    /// The current limits.
    #[must_use]
    pub fn limits(&self) -> PoolLimits {
        self.state.lock().limits
    }

    /// Changes the limits; idle buffers beyond them are freed at once.
    pub fn set_limits(&self, limits: PoolLimits) {
        let mut state = self.state.lock();
        state.limits = limits;
        let freed = state.trim(limits.idle_bytes);
        let news = state.news();
        drop(state);
        drop(freed);
        tell(news);
    }

    /// Tells an observer from now on, for as long as it lives.
    pub fn observe(&self, observer: &Arc<dyn PoolObserver>) {
        let mut state = self.state.lock();
        state.observers.push(Arc::downgrade(observer));
        let bytes = state.usage.in_use_bytes + state.usage.idle_bytes;
        drop(state);
        observer.has_bytes(bytes);
    }

    /// True for clones of one pool.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }

    /// The current usage.
    #[must_use]
    pub fn usage(&self) -> PoolUsage {
        self.state.lock().usage
    }

    /// Frees every idle buffer.
    pub fn trim(&self) {
        let mut state = self.state.lock();
        let (freed, news) = (state.trim(0), state.news());
        drop(state);
        drop(freed);
        tell(news);
    }

    /// Takes memory for a read of `length` bytes. Its contents are unspecified: those of an earlier read, or zeros.
    pub(crate) fn take(&self, length: usize) -> Result<PooledMemory> {
        self.take_below_limit(length).ok_or_else(|| {
            let limits = self.limits();
            let message = format!(
                "a read of {length} bytes does not fit into the read buffers: {} of at most {} bytes are in use; read less \
                 at a time, or raise PoolLimits::total_bytes",
                self.usage().in_use_bytes,
                limits.total_bytes
            );
            Error::new(ErrorKind::MemoryLimit, message)
        })
    }

    /// Whether a read of `length` bytes may be started ahead of need.
    pub(crate) fn has_room_ahead(&self, length: usize) -> bool {
        let (_, bytes) = size_class(length);
        let state = self.state.lock();
        let limit = state.limits.read_ahead_bytes.min(state.limits.total_bytes);
        state.usage.in_use_bytes.saturating_add(bytes as u64) <= limit
    }

    fn take_below_limit(&self, length: usize) -> Option<PooledMemory> {
        let (class, bytes) = size_class(length);
        let (found, news) = {
            let mut state = self.state.lock();
            let in_use_bytes = state.usage.in_use_bytes.saturating_add(bytes as u64);
            if in_use_bytes > state.limits.total_bytes {
                return None;
            }
            state.usage.in_use_bytes = in_use_bytes;
            state.peak_bytes = state.peak_bytes.max(in_use_bytes);
            let found = class.and_then(|class| state.idle[class].pop());
            if found.is_some() {
                state.usage.idle_bytes -= bytes as u64;
                state.usage.reuses += 1;
            } else {
                state.usage.allocations += 1;
            }
            (found, state.news())
        };
        tell(news);
        let buffer = found.unwrap_or_else(|| AlignedBuffer::new(bytes, ALIGNMENT));
        Some(PooledMemory { buffer: Some(buffer), length, class, charged: bytes, pool: self.clone() })
    }
}

fn tell(news: Option<(Vec<Arc<dyn PoolObserver>>, u64)>) {
    if let Some((observers, bytes)) = news {
        observers.iter().for_each(|observer| observer.has_bytes(bytes));
    }
}

/// A buffer of a pool, given back when dropped.
pub(crate) struct PooledMemory {
    /// Taken only by `drop`.
    buffer: Option<AlignedBuffer>,
    length: usize,
    class: Option<usize>,
    charged: usize,
    pool: BufferPool,
}

impl PooledMemory {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |buffer| &buffer.bytes()[..self.length])
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let length = self.length;
        self.buffer.as_mut().map_or(&mut [], |buffer| &mut buffer.bytes_mut()[..length])
    }
}

impl Drop for PooledMemory {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            // Freed without the lock: returning a large buffer to the system takes time.
            let mut state = self.pool.state.lock();
            let freed = state.give_back(buffer, self.class, self.charged);
            let news = state.news();
            drop(state);
            drop(freed);
            tell(news);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_their_lengths() {
        for length in [0, 1, 4096, 4097, 8192, 100_000, LARGEST_BYTES - 1, LARGEST_BYTES] {
            let (class, bytes) = size_class(length);
            assert!(bytes >= length && bytes < (2 * length).max(SMALLEST_BYTES + 1), "{length}: {bytes}");
            assert_eq!(SMALLEST_BYTES << class.unwrap(), bytes);
        }
        assert_eq!(size_class(LARGEST_BYTES + 1), (None, LARGEST_BYTES + ALIGNMENT));
    }

    #[test]
    fn buffers_are_used_again_and_aligned() {
        let pool = BufferPool::default();
        for round in 0..10 {
            let mut memory = pool.take(5000).unwrap();
            assert_eq!(memory.bytes_mut().len(), 5000);
            assert!(memory.bytes().as_ptr().addr().is_multiple_of(4096));
            let usage = pool.usage();
            assert_eq!((usage.in_use_bytes, usage.idle_bytes), (8192, 0));
            assert_eq!((usage.allocations, usage.reuses), (1, round));
        }
        assert_eq!(pool.usage().idle_bytes, 8192);
        pool.trim();
        assert_eq!(pool.usage().idle_bytes, 0);
    }

    #[test]
    fn memory_goes_back_to_the_system() {
        let pool = BufferPool::default();
        let all: Vec<_> = (0..16).map(|_| pool.take(1 << 20).unwrap()).collect();
        assert_eq!(pool.usage().in_use_bytes, 16 << 20);
        let mut all = all.into_iter();
        let last = all.next();
        drop(all);
        assert_eq!(pool.usage().idle_bytes, 8 << 20, "at most idle_bytes while one is in use");
        drop(last);
        assert_eq!(pool.usage().idle_bytes, RESTING_BYTES, "little once none is in use");
        drop(pool.take(10 << 20).unwrap());
        assert_eq!(pool.usage().idle_bytes, RESTING_BYTES, "longer buffers than the largest class are not kept");
    }

    #[test]
    fn a_burst_is_forgotten_while_one_buffer_stays_in_use() {
        let pool = BufferPool::default();
        let _held = pool.take(100).unwrap();
        drop((0..6).map(|_| pool.take(1 << 20).unwrap()).collect::<Vec<_>>());
        assert_eq!(pool.usage().idle_bytes, 6 << 20);
        for _ in 0..2 * PERIOD {
            drop(pool.take(4096).unwrap());
        }
        assert!(pool.usage().idle_bytes <= RESTING_BYTES);
    }

    #[test]
    fn limits_refuse_and_recover() {
        let pool = BufferPool::default();
        pool.set_limits(PoolLimits { total_bytes: 16 << 10, read_ahead_bytes: 8 << 10, idle_bytes: 4 << 10 });
        let first = pool.take(8 << 10).unwrap();
        assert!(!pool.has_room_ahead(1), "read-ahead gives way first");
        let second = pool.take(8 << 10).unwrap();
        let refused = pool.take(1).map(drop).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::MemoryLimit);
        assert!(refused.to_string().contains("PoolLimits::total_bytes"), "{refused}");
        drop((first, second));
        assert_eq!((pool.usage().in_use_bytes, pool.usage().idle_bytes), (0, 0));
        assert!(pool.has_room_ahead(1));
    }
}
