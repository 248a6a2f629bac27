//! What a file system and its files share for reading ranges.

use std::fmt;
use std::sync::Arc;

use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::{Error, ErrorKind, Result};

use super::context::ReadContext;
use super::pool::BufferPool;
use crate::counters::IoCounters;

/// The memory, the clock and the counters of range reads.
pub struct ReadLayer {
    counters: Arc<IoCounters>,
    pool: BufferPool,
    clock: Arc<dyn Clock>,
}

impl Default for ReadLayer {
    fn default() -> Self {
        Self::with_clock(SystemClock::shared())
    }
}

impl fmt::Debug for ReadLayer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReadLayer").field("pool", &self.pool).finish_non_exhaustive()
    }
}

impl ReadLayer {
    /// With its own counters and memory, and deadlines by a clock.
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { counters: Arc::default(), pool: BufferPool::default(), clock }
    }

    /// What was asked so far.
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

/// Watches the time of reads with a deadline or a timeout.
pub(crate) struct Watch<'a> {
    /// `None` when there is nothing to watch.
    limit: Option<(&'a dyn Clock, u64)>,
}

/// Begins a read; `TimedOut` when its deadline has passed. Without a layer there is no clock, and nothing to watch.
pub(crate) fn start_watch<'a>(layer: Option<&'a ReadLayer>, context: &ReadContext) -> Result<Watch<'a>> {
    let Some(layer) = layer.filter(|_| context.is_timed()) else { return Ok(Watch { limit: None }) };
    let now_us = layer.clock.unix_us();
    let end_us = context.end_us(now_us);
    if context.deadline_us != 0 && now_us >= context.deadline_us {
        return Err(timed_out("the deadline passed before the read began"));
    }
    Ok(Watch { limit: Some((&*layer.clock, end_us)) })
}

impl Watch<'_> {
    /// `TimedOut` when the read took too long.
    pub(crate) fn check(&self) -> Result<()> {
        match self.limit {
            Some((clock, end_us)) if clock.unix_us() > end_us => {
                Err(timed_out("the read took longer than io_timeout or the deadline allow"))
            }
            _ => Ok(()),
        }
    }
}

#[cold]
pub(crate) fn timed_out(message: &str) -> Error {
    Error::new(ErrorKind::TimedOut, message)
}
