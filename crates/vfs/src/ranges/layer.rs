//! The parts that a file system and its files share for range reads.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ferrock_base::clock::Clock;
use ferrock_base::thread::StdSpawner;
use ferrock_base::{Error, ErrorKind, Result};
use parking_lot::Mutex;

use super::context::ReadContext;
use super::driver::{Driver, OwnedDriver};
use super::page_cache::PageCacheReads;
use super::pool::{BufferPool, PooledMemory};
use super::ring::{RingDevice, RingUse};
use super::stream_ring::StreamRing;
use super::threads::IoThreads;
use crate::counters::IoCounters;

/// Rings of streams that are kept for the next ones.
const MAX_IDLE_RINGS: usize = 16;

/// How reads are performed that a thread does not perform itself.
#[derive(Clone, Copy)]
pub(crate) enum Backend {
    /// Synchronously: the bytes are in memory.
    AtOnce,
    /// By threads.
    Threads,
    /// On a ring, which the first such read creates; by threads if that fails.
    Ring(fn(RingUse) -> io::Result<Box<dyn RingDevice>>),
}

/// The memory, the clock, the counters and the backend of range reads.
pub struct ReadLayer {
    counters: Arc<IoCounters>,
    pool: BufferPool,
    clock: Arc<dyn Clock>,
    backend: Backend,
    /// Rings that no stream uses; nothing is in them.
    idle_rings: Mutex<Vec<StreamRing>>,
    driver: OnceLock<Option<OwnedDriver>>,
    threads: IoThreads,
    page_cache: PageCacheReads,
}

impl fmt::Debug for ReadLayer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReadLayer").field("pool", &self.pool).finish_non_exhaustive()
    }
}

impl ReadLayer {
    /// A layer with counters and a pool of its own; `clock` measures deadlines.
    pub(crate) fn new(clock: Arc<dyn Clock>, backend: Backend) -> Self {
        let (counters, pool, idle_rings, driver, threads, page_cache) = Default::default();
        Self { counters, pool, clock, backend, idle_rings, driver, threads, page_cache }
    }

    pub(crate) fn backend(&self) -> Backend {
        self.backend
    }

    /// Takes a ring for a stream; `None` without io_uring, or if descriptors or locked memory are exhausted.
    pub(super) fn take_ring(&self) -> Option<StreamRing> {
        let Backend::Ring(open) = self.backend else { return None };
        let idle = self.idle_rings.lock().pop();
        idle.or_else(|| open(RingUse::Stream).ok().map(StreamRing::new))
    }

    /// Returns a ring, in which nothing is queued or in flight.
    pub(super) fn return_ring(&self, ring: StreamRing) {
        let mut idle = self.idle_rings.lock();
        if idle.len() < MAX_IDLE_RINGS {
            idle.push(ring);
        }
    }

    /// The driver of started reads; the first call creates its ring.
    pub(super) fn driver(&self) -> Option<&Arc<Driver>> {
        let Backend::Ring(open) = self.backend else { return None };
        let make = |device| {
            let (pool, clock, counters) = (self.pool.clone(), Arc::clone(&self.clock), Arc::clone(&self.counters));
            OwnedDriver(Arc::new(Driver::new(device, pool, clock, counters, StdSpawner::shared())))
        };
        self.driver.get_or_init(|| open(RingUse::Shared).ok().map(make)).as_ref().map(|driver| &driver.0)
    }

    /// Takes memory for a read. Memory of abandoned reads is collected only if there is too little without it.
    pub(crate) fn take_memory(&self, length: usize) -> Result<PooledMemory> {
        self.pool.take(length).or_else(|error| {
            let Some(Some(driver)) = self.driver.get() else { return Err(error) };
            driver.0.take_completions();
            self.pool.take(length)
        })
    }

    /// Whether a read of `length` bytes may be started ahead of need.
    pub(crate) fn has_room_ahead(&self, length: usize) -> bool {
        self.pool.has_room_ahead(length)
            || self.driver.get().and_then(Option::as_ref).is_some_and(|driver| {
                driver.0.take_completions();
                self.pool.has_room_ahead(length)
            })
    }

    pub(super) fn page_cache(&self) -> &PageCacheReads {
        &self.page_cache
    }

    pub(crate) fn threads(&self) -> &IoThreads {
        &self.threads
    }

    /// How many threads read ahead or serve asynchronous reads now: none before the first such read, and none some
    /// seconds after the last.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        let driver = self.driver.get().and_then(Option::as_ref);
        self.threads.count() + usize::from(driver.is_some_and(|driver| driver.0.has_thread()))
    }

    /// The counters of the file system.
    #[must_use]
    pub fn counters(&self) -> &Arc<IoCounters> {
        &self.counters
    }

    /// The memory that ranges are read into.
    #[must_use]
    pub fn pool(&self) -> &BufferPool {
        &self.pool
    }

    /// The clock of deadlines.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}

/// Measures the time of a read with a deadline or a timeout.
pub(crate) struct Watch<'a> {
    /// `None` if the read is not timed.
    limit: Option<(&'a dyn Clock, u64)>,
}

/// Starts the time of a read; `TimedOut` if its deadline has passed. Without a layer there is no clock, and the read is
/// not timed.
pub(crate) fn start_watch<'a>(layer: Option<&'a ReadLayer>, context: &ReadContext) -> Result<Watch<'a>> {
    let Some(layer) = layer.filter(|_| context.is_timed()) else { return Ok(Watch { limit: None }) };
    let now_us = layer.clock.unix_us();
    let end_us = context.end_us(now_us);
    if context.deadline_us != 0 && now_us >= context.deadline_us {
        return Err(timed_out("the deadline passed before the read began"));
    }
    Ok(Watch { limit: Some((&*layer.clock, end_us)) })
}

/// The time left until a moment; `None` if it never comes.
pub(crate) fn time_left(layer: Option<&ReadLayer>, end_us: u64) -> Option<Duration> {
    let layer = layer.filter(|_| end_us != u64::MAX)?;
    Some(Duration::from_micros(end_us.saturating_sub(layer.clock.unix_us())))
}

impl Watch<'_> {
    /// The moment at which the read times out.
    pub(crate) fn end_us(&self) -> u64 {
        self.limit.map_or(u64::MAX, |(_, end_us)| end_us)
    }

    /// `TimedOut` if that moment has passed.
    pub(crate) fn check(&self) -> Result<()> {
        match self.limit {
            Some((clock, end_us)) if clock.unix_us() > end_us => Err(took_too_long()),
            _ => Ok(()),
        }
    }
}

#[cold]
pub(crate) fn took_too_long() -> Error {
    timed_out("the read took longer than io_timeout or the deadline allow")
}

#[cold]
fn timed_out(message: &str) -> Error {
    Error::new(ErrorKind::TimedOut, message)
}
