//! Reads that are started ahead of need and waited for later.
//!
//! ```text
//! start_read --+--> Ready       performed synchronously: memory, empty ranges, errors
//!              +--> Ring        in flight on a completion ring
//!              +--> Threads     queued for, or performed by, a thread
//!              +--> Deferred    too many bytes are read ahead already: performed by wait
//!
//! wait: returns the result, counted as waited for unless it was ready      drop: abandoned, counted as discarded
//! ```

use std::sync::Arc;

use ferrock_base::Result;

use super::batch::{self, Piece};
use super::begin::{Begun, begin};
use super::buffer::ReadBuffer;
use super::context::{ReadContext, ReadLabel};
use super::layer::{self, Backend, ReadLayer};
use super::plan::Run;
use super::reactor::{CompletedRead, Ticket, WaitFailure};
use super::threads::TaskTicket;
use crate::counters::IoCounters;
use crate::file_system::RandomAccessFile;

/// A read that was started. Dropping it abandons the read, without waiting.
#[derive(Debug)]
#[must_use = "a read that is not waited for was in vain"]
pub struct PendingRead {
    state: PendingState,
    length: usize,
    counters: Option<Arc<IoCounters>>,
}

#[derive(Debug)]
enum PendingState {
    Ready(Result<ReadBuffer>),
    Ring(Box<PendingRingRead>),
    Threads {
        ticket: TaskTicket,
        file: Arc<dyn RandomAccessFile>,
        offset: u64,
        end_us: u64,
    },
    Deferred {
        file: Arc<dyn RandomAccessFile>,
        offset: u64,
        context: ReadContext,
    },
    /// It was waited for.
    Over,
}

#[derive(Debug)]
struct PendingRingRead {
    ticket: Ticket,
    file: Arc<dyn RandomAccessFile>,
    run: Run,
    offset: u64,
    context: ReadContext,
    end_us: u64,
}

impl PendingRead {
    /// A read that has ended with `result`.
    pub fn ready(result: Result<ReadBuffer>) -> Self {
        let length = result.as_ref().map_or(0, ReadBuffer::len);
        Self { state: PendingState::Ready(result), length, counters: None }
    }

    /// True if [`wait`](Self::wait) would return at once.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        match &self.state {
            PendingState::Ready(_) | PendingState::Over => true,
            PendingState::Ring(read) => read.ticket.is_complete(),
            PendingState::Threads { ticket, .. } => ticket.is_done(),
            PendingState::Deferred { .. } => false,
        }
    }

    /// Waits for the bytes. `TimedOut` if that takes longer than the context allows.
    ///
    /// # Errors
    /// `Io` naming the file when the device fails; `TimedOut` when the read takes longer than the context allows.
    pub fn wait(mut self) -> Result<ReadBuffer> {
        if !self.is_ready()
            && let Some(counters) = &self.counters
        {
            counters.window_waited();
        }
        match std::mem::replace(&mut self.state, PendingState::Over) {
            PendingState::Ready(result) => result,
            PendingState::Ring(read) => read.wait(self.length),
            PendingState::Threads { ticket, file, offset, end_us } => {
                let layer = file.read_layer();
                ticket
                    .wait(&|| layer::time_left(layer, end_us))
                    .unwrap_or_else(|| Err(layer::took_too_long().in_file(file.path()).at_offset(offset)))
            }
            PendingState::Deferred { file, offset, context } => file.read_range(offset, self.length, &context),
            PendingState::Over => Ok(ReadBuffer::from_vec(0, Vec::new())),
        }
    }
}

impl Drop for PendingRead {
    fn drop(&mut self) {
        if !matches!(self.state, PendingState::Over)
            && let Some(counters) = &self.counters
        {
            counters.window_discarded(self.length as u64);
        }
    }
}

impl PendingRingRead {
    fn wait(self, length: usize) -> Result<ReadBuffer> {
        let Self { ticket, file, run, offset, context, end_us } = self;
        let layer = file.read_layer();
        let completed = match ticket.wait(&|| layer::time_left(layer, end_us)) {
            Ok(completed) => completed,
            Err(WaitFailure::Late) => return Err(layer::took_too_long().in_file(file.path()).at_offset(offset)),
            Err(WaitFailure::Broken) => return file.read_range(offset, length, &context),
        };
        let (memory, pieces) = settle(&*file, &run, completed, &context);
        batch::finish_alone(&*file, &run, memory, &pieces).map(|read| read.slice_up_to(offset, length))
    }
}

/// Turns the results of a ring into outcomes. Requests that the ring did not read completely are repeated without it.
///
/// An error of a ring is never returned, because it may say nothing about the file: the kernel finishes a buffered read
/// on the thread that submitted it, and if that thread has exited, the read fails with EFAULT or ECANCELED. The outcome
/// of the read without the ring is final, so a failing device gets at most two requests.
pub(crate) fn settle<F: RandomAccessFile + ?Sized>(
    file: &F,
    run: &Run,
    completed: CompletedRead,
    context: &ReadContext,
) -> (super::pool::PooledMemory, Vec<Piece>) {
    let CompletedRead { mut memory, pieces } = completed;
    let mut start = 0;
    let mut settled = Vec::with_capacity(pieces.len());
    for (length, result) in pieces {
        let offset = run.start + start as u64;
        let present = usize::try_from(file.size().saturating_sub(offset)).unwrap_or(usize::MAX).min(length);
        let outcome = match result {
            Some(count) if usize::try_from(count).is_ok_and(|count| count >= present) => {
                if let Some(layer) = file.read_layer() {
                    layer.counters().read(present as u64, 1);
                }
                Ok(present)
            }
            _ => {
                let label = ReadLabel { class: context.class, asked_bytes: 0 };
                layer::start_watch(file.read_layer(), context)
                    .map_err(|late| late.in_file(file.path()).at_offset(offset))
                    .and_then(|_| file.read_at_as(offset, &mut memory.bytes_mut()[start..start + length], label))
            }
        };
        settled.push(Piece { place: start..start + length, outcome });
        start += length;
    }
    (memory, settled)
}

/// [`FileSystem::start_read`](crate::FileSystem::start_read).
pub(crate) fn start_read(
    layer: Option<&ReadLayer>,
    file: &Arc<dyn RandomAccessFile>,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> PendingRead {
    let Some(layer) = layer else { return PendingRead::ready(file.read_range(offset, length, context)) };
    let state = start(layer, file, offset, length, context);
    PendingRead { state, length, counters: Some(Arc::clone(layer.counters())) }
}

fn start(
    layer: &ReadLayer,
    file: &Arc<dyn RandomAccessFile>,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> PendingState {
    let Begun { wanted, unit, watch, .. } = match begin(Some(layer), &**file, offset, length, context) {
        Ok(begun) => begun,
        Err(over) => return PendingState::Ready(over),
    };
    let run = Run::of(wanted, unit);
    if !layer.has_room_ahead(run.length()) {
        return PendingState::Deferred { file: Arc::clone(file), offset, context: *context };
    }
    let end_us = watch.end_us();
    match (layer.backend(), file.raw_fd()) {
        (Backend::AtOnce, _) if file.reads_at_once() => PendingState::Ready(file.read_range(offset, length, context)),
        (Backend::Ring(_), Some(fd)) if let Some(reactor) = layer.reactor() => {
            let started = match layer.take_memory(run.length()) {
                Ok(memory) => {
                    let lengths = run.request_lengths(unit, context.max_request_bytes);
                    reactor.start(fd, &run, lengths, memory).ok()
                }
                Err(_) => None,
            };
            let Some(ticket) = started else {
                return PendingState::Deferred { file: Arc::clone(file), offset, context: *context };
            };
            layer.count_requests(&run, unit, context);
            let file = Arc::clone(file);
            PendingState::Ring(Box::new(PendingRingRead { ticket, file, run, offset, context: *context, end_us }))
        }
        _ => {
            let ticket = layer.threads().start(Arc::clone(file), offset, length, context);
            PendingState::Threads { ticket, file: Arc::clone(file), offset, end_us }
        }
    }
}
