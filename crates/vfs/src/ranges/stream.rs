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
//! What the page cache has is read from there (why: [`page_cache`](super::page_cache)), and handed out first.
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
use super::plan::PlacedRange;
use super::pool::PooledMemory;
use super::range::FileRange;
use super::ring::MAX_PIECES;
use super::stream_ring::StreamRing;
use crate::counters::IoCounters;
use crate::file::RandomAccessFile;
use crate::io_stats::{IoMetric, timed};
use crate::limited::wait_for_limiter;

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

/// A stream of reads that are performed one at a time, as they are taken; timed ones are begun together where the file
/// system has a ring.
struct ReadsInTurn<'f> {
    ring: Option<&'f ReadLayer>,
    counters: &'f IoCounters,
    context: ReadContext,
    has_begun: bool,
    added: VecDeque<(FileRange, usize, Option<PendingRead>)>,
}

impl ReadStream for ReadsInTurn<'_> {
    fn add(&mut self, file: &Arc<dyn RandomAccessFile>, offset: u64, length: usize, label: ReadLabel, tag: usize) {
        let range = FileRange { file: Arc::clone(file), offset, length, label };
        let requests = range.placed(&self.context).map_or(1, |placed| placed.requests());
        self.counters.streamed(!self.has_begun, requests as u64);
        self.has_begun = true;
        self.added.push_back((range, tag, None));
    }

    fn start(&mut self) {
        let Some(layer) = self.ring.filter(|_| self.context.is_timed()) else { return };
        for (range, _, pending) in &mut self.added {
            pending.get_or_insert_with(|| PendingRead::start_range(Some(layer), range.clone(), &self.context));
        }
    }

    fn take(&mut self, on_read: &mut dyn FnMut(usize, Result<ReadBuffer>)) -> bool {
        self.start();
        let Some((range, tag, pending)) = self.added.pop_front() else { return false };
        on_read(tag, pending.map_or_else(|| range.perform(&self.context), PendingRead::wait));
        true
    }
}

/// Reads that the page cache answers before they are handed out: their memory is held until then.
const MAX_READY: usize = 64;

/// A read of a [`RingStream`].
struct AddedRead {
    range: FileRange,
    /// `None`: it is performed without the ring.
    placed: Option<PlacedRange>,
    tag: usize,
    /// The file's rate limiter was asked.
    is_granted: bool,
}

impl AddedRead {
    /// Performs it without a ring.
    fn perform(&self, context: &ReadContext) -> Result<ReadBuffer> {
        let rate_limiter_priority = context.rate_limiter_priority.filter(|_| !self.is_granted);
        self.range.perform(&ReadContext { rate_limiter_priority, ..*context })
    }
}

/// A stream with a ring of its own.
struct RingStream<'f> {
    layer: &'f ReadLayer,
    context: ReadContext,
    has_begun: bool,
    /// Requests of reads that were added since they were last counted.
    uncounted_requests: usize,
    /// Taken by the first `start` or `take`.
    ring: Option<StreamRing>,
    /// No ring could be taken, or it failed: reads that have not begun are performed without it.
    is_broken: bool,
    /// All reads; their numbers are those that the ring returns.
    reads: Vec<AddedRead>,
    /// The first read that has not begun.
    next: usize,
    /// Reads that have begun on a ring that broke, to be performed without it.
    left: Vec<usize>,
    /// What the page cache had, with the number of the read and how many bytes came.
    ready: Vec<(usize, PooledMemory, usize)>,
}

impl<'f> RingStream<'f> {
    fn new(layer: &'f ReadLayer, context: &ReadContext) -> Self {
        let (has_begun, uncounted_requests, ring, is_broken, reads, next, left, ready) = Default::default();
        Self { layer, context: *context, has_begun, uncounted_requests, ring, is_broken, reads, next, left, ready }
    }

    /// Pushes added reads as far as there is room, but for those that the page cache answers; returns how many.
    fn fill(&mut self) -> usize {
        if self.ring.is_none() && !self.is_broken {
            self.ring = self.layer.take_ring();
            self.is_broken = self.ring.is_none();
        }
        let mut pushed = 0;
        while !self.is_broken
            && self.ready.len() < MAX_READY
            && let Some(is_on_ring) = self.begin_next()
        {
            pushed += usize::from(is_on_ring);
        }
        pushed
    }

    /// Takes the next added read from the page cache or pushes it, if the ring can perform it and there is memory; true
    /// if it is on the ring. Without memory the read waits until others return theirs; if there are none, it is
    /// performed without the ring, and fails there.
    fn begin_next(&mut self) -> Option<bool> {
        let (ring, read) = (self.ring.as_mut()?, self.reads.get_mut(self.next)?);
        let placed = read.placed.as_ref().filter(|placed| ring.has_room(placed))?;
        let descriptor = read.range.file.descriptor()?;
        let mut memory = self.layer.take_memory(placed.length).ok()?;
        if !std::mem::replace(&mut read.is_granted, true) {
            wait_for_limiter(&*read.range.file, &self.context, placed.length as u64);
        }
        let (layer, label) = (self.layer, read.range.label);
        let file = &read.range.file;
        let ask = |start, buffer: &mut [u8]| file.read_cached(start, buffer);
        let cached = layer.page_cache().read(file.size(), placed, &mut memory, label, layer.counters(), ask);
        if let Some(came) = cached {
            self.ready.push((self.next, memory, came));
            self.next += 1;
            return Some(false);
        }
        let is_pushed = ring.push(self.next, placed, descriptor, memory, label, layer.counters());
        self.next += usize::from(is_pushed);
        is_pushed.then_some(true)
    }

    /// Hands out what the page cache had.
    fn hand_out_ready(&mut self, on_read: &mut dyn FnMut(usize, Result<ReadBuffer>)) {
        for (number, memory, came) in self.ready.drain(..) {
            let AddedRead { range, placed, tag, .. } = &self.reads[number];
            let start = placed.map_or(range.offset, |placed| placed.start);
            on_read(*tag, Ok(ReadBuffer::from_pool(start, memory, 0..came).cut_to(range.offset, range.length)));
        }
    }

    /// Counts the reads that were added.
    fn count_added(&mut self) {
        let requests = std::mem::take(&mut self.uncounted_requests);
        if requests > 0 {
            self.layer.counters().streamed(!std::mem::replace(&mut self.has_begun, true), requests as u64);
        }
    }

    fn enter(&mut self, wanted: usize) {
        let Some(ring) = &self.ring else { return };
        timed(IoMetric::ReadNanos, || ring.enter(wanted, self.layer.counters()));
        self.is_broken |= ring.is_broken();
    }

    /// Hands out the requests that have completed.
    fn hand_out(&mut self, on_read: &mut dyn FnMut(usize, Result<ReadBuffer>)) {
        let (mut reads, mut bytes) = (0, 0);
        while let Some(request) = self.ring.as_mut().and_then(StreamRing::take_done) {
            let (start, is_whole) = (request.start, request.is_whole());
            let (memory, came, number, _) = request.into_parts();
            let read = &self.reads[number];
            let AddedRead { range, tag, .. } = read;
            if is_whole {
                (reads, bytes) = (reads + 1, bytes + came as u64);
                on_read(*tag, Ok(ReadBuffer::from_pool(start, memory, 0..came).cut_to(range.offset, range.length)));
            } else {
                // An error of a ring may say nothing about the file, so the outcome of the read without it is final.
                drop(memory);
                let label = ReadLabel { asked_bytes: 0, ..range.label };
                let again = AddedRead { range: FileRange { label, ..range.clone() }, ..*read };
                on_read(*tag, again.perform(&self.context));
            }
        }
        self.layer.counters().reads_of_ring(reads, bytes);
    }
}

impl ReadStream for RingStream<'_> {
    fn add(&mut self, file: &Arc<dyn RandomAccessFile>, offset: u64, length: usize, label: ReadLabel, tag: usize) {
        let range = FileRange { file: Arc::clone(file), offset, length, label };
        let placed = range.placed(&self.context);
        let requests = placed.map_or(1, |placed| placed.requests());
        self.uncounted_requests += requests;
        let is_for_ring = |placed: &PlacedRange| {
            let end = placed.start.checked_add(placed.length as u64);
            requests <= MAX_PIECES && end.is_some_and(|end| i64::try_from(end).is_ok())
        };
        self.reads.push(AddedRead { range, placed: placed.filter(is_for_ring), tag, is_granted: false });
    }

    fn start(&mut self) {
        self.count_added();
        if self.fill() > 0 {
            self.enter(0);
        }
    }

    fn take(&mut self, on_read: &mut dyn FnMut(usize, Result<ReadBuffer>)) -> bool {
        self.count_added();
        loop {
            let in_flight = self.ring.as_ref().map_or(0, StreamRing::in_flight);
            // A single request gains nothing from a ring.
            let is_alone = in_flight == 0
                && self.reads.len() == self.next + 1
                && self.reads[self.next].range.length <= self.context.max_request_bytes;
            let pushed = if is_alone { 0 } else { self.fill() };
            if !self.ready.is_empty() {
                // The device works meanwhile.
                if pushed > 0 {
                    self.enter(0);
                }
                self.hand_out_ready(on_read);
                return true;
            }
            if self.ring.as_mut().is_some_and(StreamRing::reap) {
                if pushed > 0 {
                    self.enter(0);
                }
                self.hand_out(on_read);
                return true;
            }
            if let Some(ring) = self.ring.as_ref().filter(|ring| ring.is_kernel_busy()) {
                // Waits for half of them: that takes few system calls, and the caller can work while the rest is in
                // flight.
                self.enter(ring.in_flight().div_ceil(2));
                continue;
            }
            // Nothing is in flight: the remaining reads cannot use the ring, or were in its queue when it broke.
            let queued = self.ring.as_mut().filter(|ring| ring.in_flight() > 0).map(StreamRing::take_queued);
            self.left.extend(queued.into_iter().flatten());
            let number = self.left.pop().unwrap_or(self.next);
            let Some(read) = self.reads.get(number) else { return false };
            self.next += usize::from(number == self.next);
            on_read(read.tag, read.perform(&self.context));
            return true;
        }
    }
}

impl Drop for RingStream<'_> {
    fn drop(&mut self) {
        self.count_added();
        let Some(mut ring) = self.ring.take() else { return };
        while ring.is_kernel_busy() {
            ring.enter(1, self.layer.counters());
            ring.reap();
        }
        // Entries that a broken ring holds in its queue go with it.
        if !ring.is_broken() {
            while ring.take_done().is_some() {}
            self.layer.return_ring(ring);
        }
    }
}
