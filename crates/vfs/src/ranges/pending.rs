//! Reads that are started now and awaited later: by a thread that waits, or by a task that polls.
//!
//! ```text
//! start --+--> Ready       performed synchronously: memory, the page cache, empty ranges, errors
//!         +--> Ring        on the shared ring of the file system
//!         +--> Threads     queued for, or performed by, a thread
//!         +--> Deferred    too many bytes are read ahead of a thread already: performed by `wait`, or begun by a poll
//!
//! wait, poll: the result, counted as waited for unless it was ready      drop: abandoned, counted as discarded
//! ```
//!
//! A poll never reads on its own thread, unless no other thread can be had. Counted are reads ahead of a thread that
//! waits; what a task polls is not.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ferrock_base::{Error, Result};

use super::buffer::ReadBuffer;
use super::context::ReadContext;
use super::driver::{DriverTicket, Outcome};
use super::layer::{self, Backend, ReadLayer};
use super::range::{Begun, FileRange, begin, label_of, start_on_ring};
use super::threads::TaskTicket;
use crate::counters::IoCounters;
use crate::file::RandomAccessFile;
use crate::limited::is_limited;

/// A read that was started. Dropping it abandons the read, without waiting.
#[derive(Debug)]
#[must_use = "a read that is neither waited for nor polled was in vain"]
pub struct PendingRead {
    state: PendingState,
    /// `None` for a read that was over from the start.
    read: Option<StartedRead>,
    counters: Option<Arc<IoCounters>>,
}

#[derive(Debug)]
enum PendingState {
    Ready(Result<ReadBuffer>),
    Ring(DriverTicket),
    Threads(TaskTicket),
    Deferred,
    /// Its outcome was returned.
    Over,
}

#[derive(Debug)]
struct StartedRead {
    range: FileRange,
    context: ReadContext,
    end_us: u64,
}

impl StartedRead {
    fn time_left(&self) -> Option<Duration> {
        layer::time_left(self.range.file.read_layer(), self.end_us)
    }

    fn late(&self) -> Error {
        self.range.located(layer::took_too_long())
    }

    /// The result of what became of it on the ring; `None` if it must be read without.
    fn settle(&self, outcome: Outcome) -> Option<Result<ReadBuffer>> {
        Some(match outcome {
            Outcome::Complete(came) => Ok(came.cut_to(self.range.offset, self.range.length)),
            Outcome::Late => Err(self.late()),
            Outcome::Refused(error) => Err(self.range.located(error)),
            Outcome::WithoutRing => return None,
        })
    }

    /// Begins it on another thread.
    fn by_threads(&self) -> PendingState {
        let Some(layer) = self.range.file.read_layer() else {
            return PendingState::Ready(self.range.perform(&self.context));
        };
        let (range, context) = (self.range.clone(), self.context);
        PendingState::Threads(layer.threads().start(range.offset, Box::new(move || range.perform(&context))))
    }

    /// Begins it on the ring, or on another thread: there, where it must wait for a rate limiter.
    fn in_background(&self, layer: &ReadLayer, begun: &Begun<'_>) -> PendingState {
        if is_limited(&*self.range.file, &self.context) {
            return self.by_threads();
        }
        if let Some(read) = self.ask_page_cache(layer) {
            return PendingState::Ready(Ok(read));
        }
        match start_on_ring(layer, &*self.range.file, begun, self.range.label, &self.context) {
            Some(ticket) => PendingState::Ring(ticket),
            None => self.by_threads(),
        }
    }

    /// The bytes, if the page cache has them.
    fn ask_page_cache(&self, layer: &ReadLayer) -> Option<ReadBuffer> {
        let FileRange { file, offset, length, label } = &self.range;
        let placed = self.range.placed(&self.context)?;
        let mut memory = layer.take_memory(placed.length).ok()?;
        let ask = |start, buffer: &mut [u8]| file.read_cached(start, buffer);
        let came = layer.page_cache().read(file.size(), &placed, &mut memory, *label, layer.counters(), ask)?;
        Some(ReadBuffer::from_pool(placed.start, memory, 0..came).cut_to(*offset, *length))
    }

    /// Begins it at last, for a task that polls it.
    fn begin_deferred(&self) -> PendingState {
        let FileRange { file, offset, length, .. } = &self.range;
        match (file.read_layer(), begin(file.read_layer(), &**file, *offset, *length, &self.context)) {
            (Some(layer), Ok(begun)) => self.in_background(layer, &begun),
            (None, Ok(_)) => self.by_threads(),
            (_, Err(over)) => PendingState::Ready(over),
        }
    }
}

impl PendingRead {
    /// A read that has ended with `result`.
    pub fn ready(result: Result<ReadBuffer>) -> Self {
        Self { state: PendingState::Ready(result), read: None, counters: None }
    }

    /// [`FileSystem::start_read`](crate::FileSystem::start_read).
    pub(crate) fn start(
        layer: Option<&ReadLayer>,
        file: &Arc<dyn RandomAccessFile>,
        offset: u64,
        length: usize,
        context: &ReadContext,
    ) -> Self {
        let label = label_of(&**file, offset, length, context);
        let mut started =
            Self::start_range(layer, FileRange { file: Arc::clone(file), offset, length, label }, context);
        started.counters = layer.filter(|_| !context.is_polled).map(|layer| Arc::clone(layer.counters()));
        started
    }

    /// The same, not counted.
    pub(super) fn start_range(layer: Option<&ReadLayer>, range: FileRange, context: &ReadContext) -> Self {
        let Some(layer) = layer else { return Self::ready(range.perform(context)) };
        let begun = match begin(Some(layer), &*range.file, range.offset, range.length, context) {
            Ok(begun) => begun,
            Err(over) => return Self::ready(over),
        };
        let is_at_once = matches!(layer.backend(), Backend::AtOnce)
            && range.file.reads_at_once()
            && !is_limited(&*range.file, context);
        let has_room =
            context.is_polled || layer.has_room_ahead(usize::try_from(begun.span.length()).unwrap_or(usize::MAX));
        let read = StartedRead { range, context: *context, end_us: begun.watch.end_us() };
        let state = match (has_room, is_at_once) {
            (false, _) => PendingState::Deferred,
            (true, true) => PendingState::Ready(read.range.perform(context)),
            (true, false) => read.in_background(layer, &begun),
        };
        Self { state, read: Some(read), counters: None }
    }

    /// True if [`wait`](Self::wait) would return at once.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        match &self.state {
            PendingState::Ready(_) | PendingState::Over => true,
            PendingState::Ring(ticket) => ticket.is_complete(),
            PendingState::Threads(ticket) => ticket.is_done(),
            PendingState::Deferred => false,
        }
    }

    /// Waits for the bytes. `TimedOut` if that takes longer than the context allows.
    ///
    /// # Errors
    /// `Io` naming the file when the device fails; `TimedOut` when the read takes longer than the context allows.
    pub fn wait(mut self) -> Result<ReadBuffer> {
        if let Some(counters) = &self.counters
            && !self.is_ready()
        {
            counters.window_waited();
        }
        let state = std::mem::replace(&mut self.state, PendingState::Over);
        let Some(read) = &self.read else {
            let PendingState::Ready(result) = state else { return Ok(ReadBuffer::from_vec(0, Vec::new())) };
            return result;
        };
        match state {
            PendingState::Ready(result) => result,
            PendingState::Ring(ticket) => {
                read.settle(ticket.wait(&|| read.time_left())).unwrap_or_else(|| read.range.perform(&read.context))
            }
            PendingState::Threads(ticket) => ticket.wait(&|| read.time_left()).unwrap_or_else(|| Err(read.late())),
            PendingState::Deferred => read.range.perform(&read.context),
            PendingState::Over => Ok(ReadBuffer::from_vec(read.range.offset, Vec::new())),
        }
    }
}

impl Future for PendingRead {
    type Output = Result<ReadBuffer>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.counters = None;
        loop {
            let (polled, next) = match (&this.state, &this.read) {
                (PendingState::Threads(ticket), _) => (ticket.poll(context).map(Some), PendingState::Over),
                (PendingState::Ring(ticket), Some(read)) => match ticket.poll(context) {
                    Poll::Pending => (Poll::Pending, PendingState::Over),
                    Poll::Ready(outcome) => match read.settle(outcome) {
                        Some(result) => (Poll::Ready(Some(result)), PendingState::Over),
                        None => (Poll::Ready(None), read.by_threads()),
                    },
                },
                (PendingState::Deferred, Some(read)) => (Poll::Ready(None), read.begin_deferred()),
                _ => (Poll::Ready(None), PendingState::Over),
            };
            let Poll::Ready(result) = polled else { return Poll::Pending };
            let before = std::mem::replace(&mut this.state, next);
            match (result, before) {
                (Some(result), _) | (None, PendingState::Ready(result)) => return Poll::Ready(result),
                (None, PendingState::Over) => {
                    return Poll::Ready(Err(Error::invalid_argument("a read was polled after it was over")));
                }
                _ => {}
            }
        }
    }
}

impl Drop for PendingRead {
    fn drop(&mut self) {
        if let Some(counters) = self.counters.take()
            && !matches!(self.state, PendingState::Over)
        {
            let length = self.read.as_ref().map_or(0, |read| read.range.length);
            counters.window_discarded(length as u64);
        }
    }
}
