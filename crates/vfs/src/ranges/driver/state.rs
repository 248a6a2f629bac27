//! Reads, which tasks wait for, and requests, which the ring has: which read belongs to which request.
//!
//! ```text
//! reads      5: Waiting    9: Request(1)   2: Request(1)   7: Request(0)   4: Detached (done, not polled yet)
//! requests   0: | file, memory | 7 |    1: | file, memory | 9, 2 |    2: | file, memory | (cancelled) |
//! ```
//!
//! - A read is in the chain of waiting reads, or in the chain of one request, or detached. A detached read has its
//!   outcome.
//! - A request exists until its completion is taken, even if all its reads are gone: it owns the memory that the kernel
//!   writes to.
//! - A request in `joinable` has at least one read, and was not cancelled.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

use ferrock_base::Error;

use super::waiting::{FileSpan, Limits, Waiting};
use crate::counters::IoCounters;
use crate::ranges::buffer::ReadBuffer;
use crate::ranges::context::{ReadContext, ReadLabel};
use crate::ranges::plan::ReadSpan;
use crate::ranges::pool::PooledMemory;
use crate::ranges::ring::{Descriptor, Request, Requests, RingDevice};
use crate::ranges::slots::{Chain, Links, Slots};

/// Longest request that the ring takes.
pub(crate) const MAX_REQUEST_BYTES: u64 = 1 << 30;

/// A range to read, and how.
pub(crate) struct ReadSpec {
    pub(crate) descriptor: Descriptor,
    /// Not empty, within the file, and no longer than [`MAX_REQUEST_BYTES`].
    pub(crate) span: ReadSpan,
    /// Longest entry of the ring that a request of this read takes.
    pub(crate) piece_bytes: usize,
    pub(crate) label: ReadLabel,
    pub(crate) context: ReadContext,
    /// The read times out at this moment, in microseconds since 1970; `u64::MAX`: never.
    pub(crate) end_us: u64,
}

/// The result of a read on the ring.
pub(crate) enum Outcome {
    /// A buffer that contains all requested bytes.
    Complete(ReadBuffer),
    /// The read timed out.
    Late,
    /// The range must be read without the ring: the ring is broken, or it returned too few bytes or an error.
    WithoutRing,
    /// The pool has no memory for the read.
    Refused(Error),
}

/// What a poll of a read finds.
pub(super) enum PollState {
    Pending(Option<Waker>),
    Done(Outcome),
    /// The outcome was handed out.
    Consumed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attachment {
    Waiting,
    Request(usize),
    Detached,
}

pub(super) struct Read {
    poll_state: PollState,
    descriptor: Descriptor,
    file_span: FileSpan,
    piece_bytes: usize,
    label: ReadLabel,
    context: ReadContext,
    end_us: u64,
    attachment: Attachment,
}

/// The range of the next request, and the label under which it is counted.
pub(super) struct Plan {
    pub(super) span: ReadSpan,
    pub(super) label: ReadLabel,
    /// The length of the entries of the ring.
    piece_bytes: usize,
}

impl Plan {
    pub(super) fn length(&self) -> usize {
        usize::try_from(self.span.length()).unwrap_or(usize::MAX)
    }
}

#[derive(Default)]
pub(super) struct DriverState {
    reads: Slots<Read>,
    links: Links,
    waiting: Waiting,
    requests: Requests<Chain>,
    /// The requests in flight that reads may still join, by file and start.
    joinable: BTreeMap<(usize, u64), usize>,
    /// No read times out before this moment; `u64::MAX` if none is timed.
    pub(super) next_end_us: u64,
    pub(super) has_thread: bool,
    /// A thread that waits for its own read sleeps in the kernel, or is about to.
    pub(super) has_leader: bool,
    /// Threads that sleep until the driver's thread or a leader has taken completions.
    pub(super) blocked: usize,
    /// The thread sleeps in the kernel, or is about to.
    pub(super) is_asleep: bool,
    pub(super) is_closed: bool,
}

/// What [`run`](Self::run) does once the lock is released: wakers to call, and values to drop.
#[derive(Default)]
pub(super) struct DeferredDrops {
    pub(super) wakers: Vec<Waker>,
    descriptors: Vec<Descriptor>,
    memory: Vec<PooledMemory>,
    buffers: Vec<ReadBuffer>,
}

impl DeferredDrops {
    pub(super) fn run(&mut self) {
        for waker in self.wakers.drain(..) {
            // A waker that panics must not keep the other tasks from being woken.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
        self.descriptors.clear();
        self.memory.clear();
        self.buffers.clear();
    }
}

impl DriverState {
    pub(super) fn new() -> Self {
        Self { next_end_us: u64::MAX, ..Self::default() }
    }

    /// Adds a read: to a request in flight that covers it, if its context allows that, else to the waiting reads.
    pub(super) fn add(&mut self, spec: ReadSpec, counters: &IoCounters) -> usize {
        let ReadSpec { descriptor, span, piece_bytes, label, context, end_us } = spec;
        let file_span = FileSpan { file: descriptor.identity(), span, is_alone: false };
        let read = Read {
            poll_state: PollState::Pending(None),
            descriptor,
            file_span,
            piece_bytes,
            label,
            context,
            end_us,
            attachment: Attachment::Detached,
        };
        let number = self.reads.insert(read);
        match self.covering(&file_span).filter(|_| context.is_final) {
            Some(request) => {
                counters.joined(label);
                self.enter(number, request);
            }
            None => {
                self.set_attachment(number, Attachment::Waiting);
                self.waiting.push(&mut self.links, number, &file_span);
            }
        }
        number
    }

    /// A request in flight that covers a read.
    fn covering(&self, file_span: &FileSpan) -> Option<usize> {
        let (&(file, _), &number) = self.joinable.range(..=(file_span.file, file_span.span.start)).next_back()?;
        let (span, request) = (&file_span.span, self.requests.get(number)?);
        let covers = request.start <= span.start && span.end <= request.start + request.length() as u64;
        (file == file_span.file && covers).then_some(number)
    }

    pub(super) fn poll_state(&mut self, number: usize) -> Option<&mut PollState> {
        self.reads.get_mut(number).map(|read| &mut read.poll_state)
    }

    pub(super) fn remove_read(&mut self, number: usize) -> Option<Read> {
        self.reads.remove(number)
    }

    /// Returns the outcome of a read once.
    pub(super) fn take_outcome(&mut self, number: usize) -> Option<Outcome> {
        let read = self.reads.get_mut(number).filter(|read| !matches!(read.poll_state, PollState::Pending(_)))?;
        match std::mem::replace(&mut read.poll_state, PollState::Consumed) {
            PollState::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.requests.in_flight()
    }

    pub(super) fn is_waiting(&self, number: usize) -> bool {
        self.reads.get(number).is_some_and(|read| read.attachment == Attachment::Waiting)
    }

    /// Whether a thread may take completions: not while another one sleeps for its own in the kernel, and not instead
    /// of the driver's thread while that works.
    pub(super) fn may_take(&self) -> bool {
        self.is_asleep || !self.has_thread && !self.has_leader
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.length()
    }

    fn set_attachment(&mut self, number: usize, attachment: Attachment) {
        if let Some(read) = self.reads.get_mut(number) {
            read.attachment = attachment;
        }
    }

    fn enter(&mut self, number: usize, request: usize) {
        self.set_attachment(number, Attachment::Request(request));
        if let Some(request) = self.requests.get_mut(request) {
            request.readers.push(&mut self.links, number);
        }
    }

    /// Detaches a read. Returns its request if that has no reads left.
    pub(super) fn leave(&mut self, number: usize) -> Option<usize> {
        let read = self.reads.get_mut(number)?;
        match std::mem::replace(&mut read.attachment, Attachment::Detached) {
            Attachment::Detached => None,
            Attachment::Waiting => {
                self.waiting.remove(&mut self.links, number, &read.file_span);
                None
            }
            Attachment::Request(at) => {
                let request = self.requests.get_mut(at)?;
                request.readers.remove(&mut self.links, number);
                request.readers.is_empty().then(|| {
                    self.close_to_joins(at);
                    at
                })
            }
        }
    }

    /// Keeps further reads from joining the request.
    fn close_to_joins(&mut self, number: usize) {
        let Some(request) = self.requests.get(number) else { return };
        let key = request.key();
        if self.joinable.get(&key) == Some(&number) {
            self.joinable.remove(&key);
        }
    }

    /// Stores the outcome of a detached read and schedules its waker.
    fn end(&mut self, number: usize, outcome: Outcome, deferred: &mut DeferredDrops) {
        let Some(read) = self.reads.get_mut(number) else { return };
        read.attachment = Attachment::Detached;
        if let PollState::Pending(waker) = std::mem::replace(&mut read.poll_state, PollState::Done(outcome)) {
            deferred.wakers.extend(waker);
        }
    }

    /// Ends a waiting read.
    pub(super) fn end_waiting(&mut self, number: usize, outcome: Outcome, deferred: &mut DeferredDrops) {
        self.leave(number);
        self.end(number, outcome, deferred);
    }

    /// Plans a request for the oldest waiting read, which becomes the first of `members`. Changes no state.
    pub(super) fn plan(&self, members: &mut Vec<usize>) -> Option<Plan> {
        let oldest = self.waiting.oldest()?;
        let first = self.reads.get(oldest)?;
        members.clear();
        members.push(oldest);
        let context = &first.context;
        let max_bytes = (context.max_request_bytes as u64).min(MAX_REQUEST_BYTES);
        let limits = Limits { gap_bytes: context.gap_bytes, max_bytes };
        let span_of = |number| self.reads.get(number).map(|read| &read.file_span.span);
        let span = self.waiting.join(members, &first.file_span, limits, span_of);
        let asked_bytes = members.iter().filter_map(|&number| self.reads.get(number));
        let asked_bytes = asked_bytes.map(|read| read.label.asked_bytes).sum();
        // A shared request is counted under the class of its first read.
        let label = ReadLabel { asked_bytes, ..first.label };
        Some(Plan { span, label, piece_bytes: first.piece_bytes })
    }

    /// As [`plan`](Self::plan), for the oldest read alone.
    pub(super) fn plan_alone(&self, members: &mut Vec<usize>) -> Option<Plan> {
        members.truncate(1);
        let first = self.reads.get(*members.first()?)?;
        Some(Plan { span: first.file_span.span, label: first.label, piece_bytes: first.piece_bytes })
    }

    /// Pushes a request for waiting reads into the ring; false if that is full.
    pub(super) fn launch(
        &mut self,
        device: &dyn RingDevice,
        plan: &Plan,
        readers: &[usize],
        memory: PooledMemory,
        counters: &IoCounters,
        deferred: &mut DeferredDrops,
    ) -> bool {
        let Some(descriptor) = readers.first().and_then(|&oldest| self.reads.get(oldest)).map(|read| &read.descriptor)
        else {
            return false;
        };
        let request = Request::new(descriptor.clone(), plan.span.start, memory, plan.piece_bytes, Chain::default());
        let mut label = plan.label;
        let pushed = self.requests.push(device, request, |length| {
            counters.device_request(label, length as u64);
            label.asked_bytes = 0;
        });
        let number = match pushed {
            Ok(number) => number,
            Err(request) => {
                let (memory, _, _, descriptor) = request.into_parts();
                deferred.memory.push(memory);
                deferred.descriptors.push(descriptor);
                return false;
            }
        };
        for &reader in readers {
            self.leave(reader);
            self.enter(reader, number);
        }
        if let Some(request) = self.requests.get(number) {
            self.joinable.insert(request.key(), number);
        }
        true
    }

    pub(super) fn cancel(&self, device: &dyn RingDevice, request: usize) -> bool {
        self.requests.cancel(device, request)
    }

    /// Handles a completion: gives the reads of the request their outcomes.
    pub(super) fn complete(
        &mut self,
        user_data: u64,
        result: i32,
        counters: &IoCounters,
        deferred: &mut DeferredDrops,
    ) {
        let Some(number) = self.requests.complete(user_data, result) else { return };
        let Some(request) = self.requests.remove(number) else { return };
        let (start, key) = (request.start, request.key());
        if self.joinable.get(&key) == Some(&number) {
            self.joinable.remove(&key);
        }
        let is_whole = request.is_whole();
        let (memory, came, mut readers, descriptor) = request.into_parts();
        if is_whole {
            counters.read(came as u64, 0);
        }
        deferred.descriptors.push(descriptor);
        let is_shared = readers.length() > 1;
        let came = ReadBuffer::from_pool(start, memory, 0..came).shared_if(is_shared);
        let mut again = Chain::default();
        while let Some(reader) = readers.pop(&mut self.links) {
            let Some(read) = self.reads.get_mut(reader) else { continue };
            let outcome = if read.file_span.span.asked_end <= came.device_range().end {
                Outcome::Complete(came.clone())
            } else if is_shared {
                // A request of its own will show whether this range fails.
                read.file_span.is_alone = true;
                read.attachment = Attachment::Waiting;
                again.push(&mut self.links, reader);
                continue;
            } else {
                // For an error as for a short read: an error may only mean that the submitting thread has exited.
                Outcome::WithoutRing
            };
            self.end(reader, outcome, deferred);
        }
        self.waiting.put_first(&mut self.links, again);
        deferred.buffers.push(came);
    }

    /// Ends all reads. Requests that the kernel has stay.
    pub(super) fn abort_reads(&mut self, deferred: &mut DeferredDrops) {
        for number in 0..self.reads.end() {
            if self.reads.get(number).is_some_and(|read| read.attachment != Attachment::Detached) {
                self.leave(number);
                self.end(number, Outcome::WithoutRing, deferred);
            }
        }
    }

    /// Ends the reads that timed out, and adds the requests without reads to `given_up`.
    pub(super) fn expire(&mut self, now_us: u64, given_up: &mut Vec<usize>, deferred: &mut DeferredDrops) {
        self.next_end_us = u64::MAX;
        for number in 0..self.reads.end() {
            let Some(read) = self.reads.get(number).filter(|read| read.attachment != Attachment::Detached) else {
                continue;
            };
            if read.end_us > now_us {
                self.next_end_us = self.next_end_us.min(read.end_us);
                continue;
            }
            given_up.extend(self.leave(number));
            self.end(number, Outcome::Late, deferred);
        }
    }

    /// Removes all requests, whose memory and descriptors the kernel may still use.
    pub(super) fn take_requests(&mut self) -> Vec<Request<Chain>> {
        self.joinable.clear();
        self.requests.take_all()
    }
}
