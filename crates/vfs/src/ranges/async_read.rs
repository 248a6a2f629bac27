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

use super::batch;
use super::buffer::ReadBuffer;
use super::context::{ReadContext, ReadLabel};
use super::driver::{Asked, Outcome, Watched};
use super::layer::{self, Backend, ReadLayer};
use super::pending::is_passing;
use super::plan::Run;
use super::threads::TaskTicket;
use crate::file_system::RandomAccessFile;

/// Longest request that goes to the ring.
const MAX_RING_BYTES: usize = 1 << 30;

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
    run: Run,
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
                    Poll::Ready(Outcome::Broken) => {
                        self.state = read.without_ring();
                        continue;
                    }
                    Poll::Ready(outcome) => Poll::Ready(read.finish(outcome)),
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

    /// What the ring said. What it did not read, or not whole, is read without it.
    fn finish(&self, outcome: Outcome) -> Result<ReadBuffer> {
        let (memory, result) = match outcome {
            Outcome::Landed(memory, result) => (memory, result),
            Outcome::Late => return Err(self.located(layer::took_too_long())),
            Outcome::Refused(error) => return Err(self.located(error)),
            Outcome::Broken => return self.file.read_range(self.offset, self.length, &self.context),
        };
        let present = usize::try_from(self.file.size().min(self.run.end) - self.run.start).unwrap_or(usize::MAX);
        match usize::try_from(result) {
            Ok(count) if count >= present => {
                if let Some(layer) = self.file.read_layer() {
                    layer.counters().read(present as u64, 0);
                }
                let read = ReadBuffer::from_pool(self.run.start, memory, 0..present);
                Ok(read.slice_up_to(self.offset, self.length))
            }
            Err(_) if !is_passing(result) => {
                let error = std::io::Error::from_raw_os_error(-result);
                Err(crate::util::io_error("read", self.file.path(), error).at_offset(self.run.start))
            }
            _ => {
                drop(memory);
                self.file.read_range(self.offset, self.length, &self.context)
            }
        }
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
        Some(layer) => begin(layer, file, offset, length, context),
        None => State::Ready(file.read_range(offset, length, context)),
    };
    AsyncRead { state }
}

fn begin(
    layer: &ReadLayer,
    file: &Arc<dyn RandomAccessFile>,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> State {
    let watch = match layer::start_watch(Some(layer), context) {
        Ok(watch) => watch,
        Err(error) => return State::Ready(Err(error.in_file(file.path()).at_offset(offset))),
    };
    let Some(wanted) = batch::wanted(&**file, 0, offset, length) else {
        return State::Ready(Ok(ReadBuffer::from_vec(offset, Vec::new())));
    };
    if let Backend::AtOnce = layer.backend()
        && file.reads_at_once()
    {
        return State::Ready(file.read_range(offset, length, context));
    }
    let run = Run::of(wanted, batch::unit_of(&**file));
    let is_for_ring = run.length() <= MAX_RING_BYTES && i64::try_from(run.end).is_ok();
    if file.raw_fd().is_some()
        && is_for_ring
        && let Some(driver) = layer.driver()
    {
        let asked = Asked {
            file: Arc::clone(file),
            offset: run.start,
            length: run.length(),
            label: ReadLabel { class: context.class, asked_bytes: run.asked_bytes },
            end_us: watch.end_us(),
        };
        if let Some(watched) = driver.start(asked) {
            return State::Ring(RingRead { watched, file: Arc::clone(file), run, offset, length, context: *context });
        }
    }
    by_threads(layer, file, offset, length, context)
}
