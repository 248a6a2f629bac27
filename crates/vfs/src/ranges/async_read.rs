//! A read as a future: whoever polls it is woken when the bytes are there.
//!
//! ```text
//! start_async --+--> Ready       performed at once: memory, empty ranges, errors
//!               +--> Ring        waiting for, or in flight on, the ring of the driver
//!               +--> Threads     queued for, or performed by, a thread
//! ```
//!
//! Memory is taken when the ring or a thread takes the read, so that reads which wait hold none.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ferrock_base::{Error, Result};

use super::begin::begin;
use super::buffer::ReadBuffer;
use super::context::ReadContext;
use super::driver::{Asked, MAX_REQUEST_BYTES, Outcome, Watched};
use super::layer::{self, Backend, ReadLayer};
use super::threads::TaskTicket;
use crate::file_system::RandomAccessFile;

/// A read on its way. A future that any executor can poll; dropping it gives the read up, without waiting.
#[derive(Debug)]
#[must_use = "a read that nobody polls was in vain"]
pub struct AsyncRead {
    state: State,
}

#[derive(Debug)]
enum State {
    Ready(Result<ReadBuffer>),
    Ring(RingRead),
    Threads(TaskTicket),
    /// The outcome was handed out.
    Over,
}

#[derive(Debug)]
struct RingRead {
    watched: Watched,
    file: Arc<dyn RandomAccessFile>,
    offset: u64,
    length: usize,
    context: ReadContext,
}

impl AsyncRead {
    /// A read that is over.
    pub fn ready(result: Result<ReadBuffer>) -> Self {
        Self { state: State::Ready(result) }
    }
}

impl Future for AsyncRead {
    type Output = Result<ReadBuffer>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let polled = match &mut self.state {
                State::Ready(_) | State::Over => {
                    let State::Ready(result) = std::mem::replace(&mut self.state, State::Over) else {
                        return Poll::Ready(Err(Error::invalid_argument("a read was polled after it was over")));
                    };
                    return Poll::Ready(result);
                }
                State::Threads(ticket) => ticket.poll(context),
                State::Ring(read) => match read.watched.poll(context) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(Outcome::WithoutRing) => {
                        self.state = read.without_ring();
                        continue;
                    }
                    Poll::Ready(Outcome::Landed(came)) => Poll::Ready(Ok(came.slice_up_to(read.offset, read.length))),
                    Poll::Ready(Outcome::Late) => Poll::Ready(Err(read.located(layer::took_too_long()))),
                    Poll::Ready(Outcome::Refused(error)) => Poll::Ready(Err(read.located(error))),
                },
            };
            if polled.is_ready() {
                self.state = State::Over;
            }
            return polled;
        }
    }
}

impl RingRead {
    fn located(&self, error: Error) -> Error {
        error.in_file(self.file.path()).at_offset(self.offset)
    }

    /// The same read by threads.
    fn without_ring(&self) -> State {
        match self.file.read_layer() {
            Some(layer) => by_threads(layer, &self.file, self.offset, self.length, &self.context),
            None => State::Ready(self.file.read_range(self.offset, self.length, &self.context)),
        }
    }
}

fn by_threads(
    layer: &ReadLayer,
    file: &Arc<dyn RandomAccessFile>,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> State {
    State::Threads(layer.threads().start(Arc::clone(file), offset, length, context))
}

/// [`FileSystem::start_async`](crate::FileSystem::start_async).
pub(crate) fn start_async(
    layer: Option<&ReadLayer>,
    file: &Arc<dyn RandomAccessFile>,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> AsyncRead {
    let state = match layer {
        Some(layer) => start(layer, file, offset, length, context),
        None => State::Ready(file.read_range(offset, length, context)),
    };
    AsyncRead { state }
}

fn start(
    layer: &ReadLayer,
    file: &Arc<dyn RandomAccessFile>,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> State {
    let begun = match begin(Some(layer), &**file, offset, length, context) {
        Ok(begun) => begun,
        Err(over) => return State::Ready(over),
    };
    if let Backend::AtOnce = layer.backend()
        && file.reads_at_once()
    {
        return State::Ready(file.read_range(offset, length, context));
    }
    let is_for_ring = begun.stretch.length() <= MAX_REQUEST_BYTES && i64::try_from(begun.stretch.end).is_ok();
    if file.raw_fd().is_some()
        && is_for_ring
        && let Some(driver) = layer.driver()
    {
        let end_us = begun.watch.end_us();
        let asked = Asked { file: Arc::clone(file), stretch: begun.stretch, context: *context, end_us };
        if let Some(watched) = driver.start(asked) {
            return State::Ring(RingRead { watched, file: Arc::clone(file), offset, length, context: *context });
        }
    }
    by_threads(layer, file, offset, length, context)
}
