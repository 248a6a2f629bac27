//! A read as a future: the polling task is woken once the bytes are there.
//!
//! ```text
//! start_async --+--> Ready       performed synchronously: memory, empty ranges, errors
//!               +--> Ring        waiting for, or in flight on, the ring of the driver
//!               +--> Threads     queued for, or performed by, a thread
//! ```
//!
//! Memory is taken when the ring or a thread takes the read, so waiting reads hold none.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ferrock_base::{Error, Result};

use super::begin::begin;
use super::buffer::ReadBuffer;
use super::context::ReadContext;
use super::driver::{DriverTicket, MAX_REQUEST_BYTES, Outcome, ReadSpec};
use super::layer::{self, Backend, ReadLayer};
use super::threads::TaskTicket;
use crate::file_system::RandomAccessFile;

/// A read that was started: a future that any executor can poll. Dropping it abandons the read, without waiting.
#[derive(Debug)]
#[must_use = "a read that is never polled was in vain"]
pub struct AsyncRead {
    state: AsyncState,
}

#[derive(Debug)]
enum AsyncState {
    Ready(Result<ReadBuffer>),
    Ring(AsyncRingRead),
    Threads(TaskTicket),
    /// The outcome was returned.
    Over,
}

#[derive(Debug)]
struct AsyncRingRead {
    ticket: DriverTicket,
    file: Arc<dyn RandomAccessFile>,
    offset: u64,
    length: usize,
    context: ReadContext,
}

impl AsyncRead {
    /// A read that has ended with `result`.
    pub fn ready(result: Result<ReadBuffer>) -> Self {
        Self { state: AsyncState::Ready(result) }
    }
}

impl Future for AsyncRead {
    type Output = Result<ReadBuffer>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let polled = match &mut self.state {
                AsyncState::Ready(_) | AsyncState::Over => {
                    let AsyncState::Ready(result) = std::mem::replace(&mut self.state, AsyncState::Over) else {
                        return Poll::Ready(Err(Error::invalid_argument("a read was polled after it was over")));
                    };
                    return Poll::Ready(result);
                }
                AsyncState::Threads(ticket) => ticket.poll(context),
                AsyncState::Ring(read) => match read.ticket.poll(context) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(Outcome::WithoutRing) => {
                        self.state = read.without_ring();
                        continue;
                    }
                    Poll::Ready(Outcome::Complete(came)) => Poll::Ready(Ok(came.slice_up_to(read.offset, read.length))),
                    Poll::Ready(Outcome::Late) => Poll::Ready(Err(read.located(layer::took_too_long()))),
                    Poll::Ready(Outcome::Refused(error)) => Poll::Ready(Err(read.located(error))),
                },
            };
            if polled.is_ready() {
                self.state = AsyncState::Over;
            }
            return polled;
        }
    }
}

impl AsyncRingRead {
    fn located(&self, error: Error) -> Error {
        error.in_file(self.file.path()).at_offset(self.offset)
    }

    /// Repeats the read on the pool of threads.
    fn without_ring(&self) -> AsyncState {
        match self.file.read_layer() {
            Some(layer) => by_threads(layer, &self.file, self.offset, self.length, &self.context),
            None => AsyncState::Ready(self.file.read_range(self.offset, self.length, &self.context)),
        }
    }
}

fn by_threads(
    layer: &ReadLayer,
    file: &Arc<dyn RandomAccessFile>,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> AsyncState {
    AsyncState::Threads(layer.threads().start(Arc::clone(file), offset, length, context))
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
        None => AsyncState::Ready(file.read_range(offset, length, context)),
    };
    AsyncRead { state }
}

fn start(
    layer: &ReadLayer,
    file: &Arc<dyn RandomAccessFile>,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> AsyncState {
    let begun = match begin(Some(layer), &**file, offset, length, context) {
        Ok(begun) => begun,
        Err(over) => return AsyncState::Ready(over),
    };
    if let Backend::AtOnce = layer.backend()
        && file.reads_at_once()
    {
        return AsyncState::Ready(file.read_range(offset, length, context));
    }
    let is_for_ring = begun.span.length() <= MAX_REQUEST_BYTES && i64::try_from(begun.span.end).is_ok();
    if file.raw_fd().is_some()
        && is_for_ring
        && let Some(driver) = layer.driver()
    {
        let end_us = begun.watch.end_us();
        let spec = ReadSpec { file: Arc::clone(file), span: begun.span, context: *context, end_us };
        if let Some(ticket) = driver.start(spec) {
            return AsyncState::Ring(AsyncRingRead {
                ticket,
                file: Arc::clone(file),
                offset,
                length,
                context: *context,
            });
        }
    }
    by_threads(layer, file, offset, length, context)
}
