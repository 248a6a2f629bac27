//! Sets of reads: submitted together, and handed out one by one as they complete.
//!
//! ```text
//! add  add  add  add  start   add  add  add ...  start          take          take ...
//!                     [ the device works ------------------------------------------]
//! ```
//!
//! The caller plans further reads while the first ones are in flight, and processes completed ones while the last ones
//! are. The bytes lie in memory of the file system's pool, which is used again: the caller copies or decodes what it
//! keeps.
//!
//! A stream takes a ring of its own (why: [`ring`](super::ring)). Dropping it waits for the completions of all that the
//! kernel has; nothing is submitted after a ring has failed. Timed reads go to the shared ring, where they can be
//! abandoned.

use std::collections::VecDeque;
use std::sync::Arc;

use ferrock_base::Result;

use super::buffer::ReadBuffer;
use super::context::{ReadContext, ReadLabel};
use super::layer::{Backend, ReadLayer};
use super::pending::PendingRead;
use super::plan::{ReadSpan, request_bytes};
use super::range::{FileRange, unit_of, wanted};
use super::ring::{MAX_PIECES, Request, Requests, RingDevice};
use crate::counters::IoCounters;
use crate::file::RandomAccessFile;

/// Most requests of one stream in flight.
const MAX_IN_FLIGHT: usize = 64;
/// Most bytes in flight of one stream, unless a single read is larger.
const MAX_IN_FLIGHT_BYTES: usize = 32 << 20;

/// A stream of reads of one caller. Dropping it waits for the reads in flight.
pub trait ReadStream {
    /// Adds a read of `length` bytes at `offset`, counted by a label. It begins at the next [`start`](Self::start) or
    /// [`take`](Self::take).
    fn add(&mut self, file: &Arc<dyn RandomAccessFile>, offset: u64, length: usize, label: ReadLabel, tag: usize);

    /// Begins the added reads, as far as the device's queue has room. Does not wait.
    fn start(&mut self);

    /// Waits until some reads are complete and passes them to `on_read` with their tags, in any order: the bytes (fewer
    /// than wanted only at the end of the file) or the error. False if there was no read left.
    fn take(&mut self, on_read: &mut dyn FnMut(usize, Result<ReadBuffer>)) -> bool;
}

/// [`FileSystem::read_stream`](crate::FileSystem::read_stream).
pub(crate) fn read_stream<'f>(
    layer: Option<&'f ReadLayer>,
    counters: &'f IoCounters,
    context: &ReadContext,
) -> Box<dyn ReadStream + 'f> {
    match layer.filter(|layer| matches!(layer.backend(), Backend::Ring(_))) {
        Some(layer) if !context.is_timed() => Box::new(RingStream::new(layer, context)),
        ring => Box::new(ReadsInTurn { ring, counters, context: *context, has_begun: false, added: VecDeque::new() }),
    }
}

/// A read that was added.
struct AddedRead {
    range: FileRange,
    tag: usize,
}

/// A stream of reads that are performed one at a time, as they are taken; timed ones are begun together where the file
/// system has a ring.
struct ReadsInTurn<'f> {
    ring: Option<&'f ReadLayer>,
    counters: &'f IoCounters,
    context: ReadContext,
    has_begun: bool,
    added: VecDeque<(AddedRead, Option<PendingRead>)>,
}

impl ReadStream for ReadsInTurn<'_> {
    fn add(&mut self, file: &Arc<dyn RandomAccessFile>, offset: u64, length: usize, label: ReadLabel, tag: usize) {
        let range = FileRange { file: Arc::clone(file), offset, length, label };
        self.counters.streamed(!self.has_begun, range.requests(&self.context));
        self.has_begun = true;
        self.added.push_back((AddedRead { range, tag }, None));
    }

    fn start(&mut self) {
        let Some(layer) = self.ring.filter(|_| self.context.is_timed()) else { return };
        for (read, pending) in &mut self.added {
            pending.get_or_insert_with(|| PendingRead::start_range(Some(layer), read.range.clone(), &self.context));
        }
    }

    fn take(&mut self, on_read: &mut dyn FnMut(usize, Result<ReadBuffer>)) -> bool {
        self.start();
        let Some((read, pending)) = self.added.pop_front() else { return false };
        on_read(read.tag, pending.map_or_else(|| read.range.perform(&self.context), PendingRead::wait));
        true
    }
}

/// A stream with a ring of its own.
struct RingStream<'f> {
    layer: &'f ReadLayer,
    context: ReadContext,
    has_begun: bool,
    /// Taken by the first `start` or `take`.
    ring: Option<Box<dyn RingDevice>>,
    /// No ring could be taken, or it failed: reads that have not begun are performed without it.
    is_broken: bool,
    added: VecDeque<AddedRead>,
    requests: Requests<AddedRead>,
    in_flight_bytes: usize,
}

impl<'f> RingStream<'f> {
    fn new(layer: &'f ReadLayer, context: &ReadContext) -> Self {
        Self {
            layer,
            context: *context,
            has_begun: false,
            ring: None,
            is_broken: false,
            added: VecDeque::new(),
            requests: Requests::default(),
            in_flight_bytes: 0,
        }
    }

    /// Pushes added reads as far as there is room; returns how many.
    fn fill(&mut self) -> usize {
        if self.ring.is_none() && !self.is_broken {
            self.ring = self.layer.take_ring();
            self.is_broken = self.ring.is_none();
        }
        let mut pushed = 0;
        while !self.is_broken && self.requests.in_flight() < MAX_IN_FLIGHT && self.push_next().is_some() {
            pushed += 1;
        }
        pushed
    }

    /// Pushes the next added read, if the ring can perform it and there is memory. Without memory the read waits until
    /// others return theirs; if there are none, it is performed without the ring, and fails there.
    fn push_next(&mut self) -> Option<()> {
        let (ring, FileRange { file, offset, length, label }) = (self.ring.as_deref()?, &self.added.front()?.range);
        let (wanted, unit) = (wanted(&**file, 0, *offset, *length)?, unit_of(&**file));
        let span = ReadSpan::of(&wanted, unit);
        let bytes = usize::try_from(span.length()).ok()?;
        let piece_bytes = request_bytes(unit, self.context.max_request_bytes);
        let is_for_ring = i64::try_from(span.end).is_ok() && bytes.div_ceil(piece_bytes) <= MAX_PIECES;
        let is_too_much = self.in_flight_bytes > 0 && self.in_flight_bytes + bytes > MAX_IN_FLIGHT_BYTES;
        if !is_for_ring || is_too_much {
            return None;
        }
        let (descriptor, mut label) = (file.descriptor()?, *label);
        let memory = self.layer.take_memory(bytes).ok()?;
        let request = Request::new(descriptor, span.start, memory, piece_bytes, self.added.pop_front()?);
        let counters = self.layer.counters();
        let pushed = self.requests.push(ring, request, |length| {
            counters.device_request(label, length as u64);
            label.asked_bytes = 0;
        });
        match pushed {
            Ok(_) => self.in_flight_bytes += bytes,
            Err(request) => {
                self.added.push_front(request.into_parts().2);
                return None;
            }
        }
        Some(())
    }

    /// Hands the queue to the kernel and waits for `wanted` completions.
    fn enter(&mut self, wanted: usize) {
        let Some(ring) = &self.ring else { return };
        if !ring.is_broken() {
            self.layer.counters().ring_calls(1);
        }
        ring.enter(wanted, None);
        self.is_broken |= ring.is_broken();
    }

    /// Takes the requests that have completed.
    fn reap(&mut self) -> Vec<Request<AddedRead>> {
        let mut done = Vec::new();
        if let Some(ring) = &self.ring {
            let requests = &mut self.requests;
            ring.take(&mut |user_data, result| {
                done.extend(requests.complete(user_data, result).map(|(_, request)| request));
            });
        }
        self.in_flight_bytes -= done.iter().map(Request::length).sum::<usize>();
        done
    }

    /// True if the kernel has requests that have not completed. Those that a broken ring still holds in its queue are
    /// none.
    fn is_kernel_busy(&self) -> bool {
        let queued = self.ring.as_ref().filter(|_| self.is_broken).map_or(0, |ring| ring.queued());
        self.requests.in_flight() > queued
    }

    fn hand_out(&self, request: Request<AddedRead>, on_read: &mut dyn FnMut(usize, Result<ReadBuffer>)) {
        let (start, is_whole) = (request.start, request.is_whole());
        let (memory, came, AddedRead { mut range, tag }, _) = request.into_parts();
        if is_whole {
            self.layer.counters().read(came as u64, 0);
            let read = ReadBuffer::from_pool(start, memory, 0..came);
            return on_read(tag, Ok(read.slice_up_to(range.offset, range.length)));
        }
        // An error of a ring may say nothing about the file, so the outcome of the read without it is final.
        drop(memory);
        range.label.asked_bytes = 0;
        on_read(tag, range.perform(&self.context));
    }
}

impl ReadStream for RingStream<'_> {
    fn add(&mut self, file: &Arc<dyn RandomAccessFile>, offset: u64, length: usize, label: ReadLabel, tag: usize) {
        let range = FileRange { file: Arc::clone(file), offset, length, label };
        self.layer.counters().streamed(!self.has_begun, range.requests(&self.context));
        self.has_begun = true;
        self.added.push_back(AddedRead { range, tag });
    }

    fn start(&mut self) {
        if self.fill() > 0 {
            self.enter(0);
        }
    }

    fn take(&mut self, on_read: &mut dyn FnMut(usize, Result<ReadBuffer>)) -> bool {
        loop {
            let in_flight = self.requests.in_flight();
            // A single request gains nothing from a ring.
            let is_alone = in_flight == 0
                && self.added.len() == 1
                && self.added.front().is_some_and(|read| read.range.length <= self.context.max_request_bytes);
            let pushed = if is_alone { 0 } else { self.fill() };
            let done = self.reap();
            if !done.is_empty() {
                if pushed > 0 {
                    self.enter(0);
                }
                done.into_iter().for_each(|request| self.hand_out(request, on_read));
                return true;
            }
            if self.is_kernel_busy() {
                // Waits for half of them: that takes few system calls, and the caller can work while the rest is in
                // flight.
                self.enter(self.requests.in_flight().div_ceil(2));
                continue;
            }
            // Nothing is in flight: the remaining reads cannot use the ring, or were in its queue when it broke.
            let left = self.requests.take_all().into_iter().map(|request| request.into_parts().2);
            self.added.extend(left);
            self.in_flight_bytes = 0;
            let Some(read) = self.added.pop_front() else { return false };
            on_read(read.tag, read.range.perform(&self.context));
            return true;
        }
    }
}

impl Drop for RingStream<'_> {
    fn drop(&mut self) {
        while self.is_kernel_busy() {
            self.enter(1);
            drop(self.reap());
        }
        // Entries that a broken ring holds in its queue go with it.
        if let Some(ring) = self.ring.take().filter(|_| !self.is_broken) {
            self.layer.return_ring(ring);
        }
    }
}
