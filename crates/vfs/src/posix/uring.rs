//! Batches of reads through io_uring: one system call submits many reads and waits for them together.
//!
//! Rings are pooled: a batch takes one (or makes one) and gives it back, so that no two threads share a ring and idle
//! threads hold none. A batch longer than the queue is fed through it as completions free slots; a short read is
//! submitted again for its rest. A read that fails is made once more without the ring, and has the outcome of that.
//!
//! The kernel writes to the caller's buffers until a completion says otherwise. So no path leaves
//! [`Batch::run`] while a submitted read has not completed, whatever went wrong.

use std::io;

use io_uring::{IoUring, opcode, types};
use parking_lot::Mutex;

use super::read::{device_bytes, is_addressable, is_aligned};
use crate::aligned::AlignedBuffer;
use crate::counters::IoCounters;
use crate::file_system::ReadRequest;
use crate::ranges::ReadLabel;

pub(super) const QUEUE_DEPTH: u32 = 64;
const MAX_IDLE_RINGS: usize = 16;
/// Largest single read; the result field of a completion is a signed 32-bit count.
pub(super) const MAX_READ_BYTES: usize = 1 << 30;

/// After so many calls in a row that submitted nothing, because the kernel is short of a resource, the batch continues
/// without the ring.
pub(super) const MAX_FRUITLESS_SUBMITS: u32 = 1000;

/// Rings that are not in use.
pub(super) struct RingPool {
    idle: Mutex<Vec<IoUring>>,
}

impl std::fmt::Debug for RingPool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RingPool").field("idle", &self.idle.lock().len()).finish()
    }
}

impl RingPool {
    /// A pool with one ring that has read a few bytes of a real file.
    pub(super) fn probe() -> io::Result<Self> {
        use std::os::fd::AsRawFd;
        let mut ring = IoUring::new(QUEUE_DEPTH)?;
        let mut supported = io_uring::Probe::new();
        ring.submitter().register_probe(&mut supported)?;
        if !supported.is_supported(opcode::Read::CODE) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let file = std::fs::File::open("/proc/self/exe")?;
        let mut magic = [0u8; 4];
        let mut parts = [Part::new(0, file.as_raw_fd(), 0, &mut magic, None)];
        let mut calls = 0;
        let outcome = Batch { ring: &mut ring, parts: &mut parts, next: 0, again: Vec::new() }.run(&mut calls);
        outcome?;
        match &parts[0] {
            Part { complete: true, filled: 4, .. } => Ok(Self { idle: Mutex::new(vec![ring]) }),
            _ => Err(io::Error::other("a read through a ring failed")),
        }
    }

    /// Takes a ring for one batch or stream. A ring needs a descriptor and locked memory; if those are exhausted, reads
    /// are performed without one.
    pub(super) fn take(&self) -> io::Result<IoUring> {
        let idle = self.idle.lock().pop();
        match idle {
            Some(ring) => Ok(ring),
            None => IoUring::new(QUEUE_DEPTH),
        }
    }

    /// Returns a ring, in which nothing is queued or in flight, to the pool.
    pub(super) fn give_back(&self, ring: IoUring) {
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE_RINGS {
            idle.push(ring);
        }
    }

    pub(super) fn read_batch(&self, reads: &mut [ReadRequest<'_>], counters: &IoCounters) {
        let Ok(mut ring) = self.take() else { return super::read_one_by_one(reads) };
        let mut parts = Vec::with_capacity(reads.len());
        for (index, read) in reads.iter_mut().enumerate() {
            match read.file.raw_fd() {
                Some(_) if read.buffer.is_empty() => read.result = Ok(0),
                Some(fd) if is_addressable(read.offset, read.buffer.len()) => {
                    let unit = read.file.direct_alignment();
                    counters.device_request(read.label, device_bytes(read.offset, read.buffer.len(), unit));
                    parts.push(Part::new(index, fd, read.offset, read.buffer, unit));
                }
                _ => read.perform(),
            }
        }
        let mut calls = 0;
        let outcome = Batch { ring: &mut ring, parts: &mut parts, next: 0, again: Vec::new() }.run(&mut calls);
        match outcome {
            Ok(()) => self.give_back(ring),
            // The ring is broken and nothing is in flight any more: reads that it did not complete are repeated without
            // it.
            Err(_) => drop(ring),
        }
        let finished: Vec<_> = parts.into_iter().map(Part::finish).collect();
        for (index, outcome) in finished {
            let read = &mut reads[index];
            read.result = match outcome {
                Some(count) => {
                    counters.read(count as u64, 0);
                    Ok(count)
                }
                None => {
                    let label = ReadLabel { asked_bytes: 0, ..read.label };
                    read.file.read_at_as(read.offset, read.buffer, label)
                }
            };
        }
        counters.ring_calls(calls);
    }
}

/// One request of a batch.
struct Part<'b> {
    index: usize,
    fd: i32,
    /// File offset of `buffer`, or of the bounce buffer if there is one.
    offset: u64,
    buffer: &'b mut [u8],
    /// For direct files read at an unaligned place: the aligned buffer, and how far into it the wanted bytes start.
    bounce: Option<(AlignedBuffer, usize)>,
    /// The length of a read that did not reach the end of the file is a multiple of this.
    unit: usize,
    filled: usize,
    /// The whole range was read, or as much of it as the file has.
    complete: bool,
}

impl<'b> Part<'b> {
    /// `unit` is the alignment of a direct file.
    fn new(index: usize, fd: i32, offset: u64, buffer: &'b mut [u8], unit: Option<usize>) -> Self {
        let needs_bounce = unit.is_some_and(|unit| !is_aligned(offset, buffer, unit));
        let unit = unit.unwrap_or(1);
        let mut part = Part { index, fd, offset, buffer, bounce: None, unit, filled: 0, complete: false };
        if needs_bounce {
            let lead = (offset % unit as u64) as usize;
            let length = (lead + part.buffer.len()).next_multiple_of(unit);
            part.offset -= lead as u64;
            part.bounce = Some((AlignedBuffer::new(length, unit), lead));
        }
        part
    }

    fn destination(&mut self) -> &mut [u8] {
        match &mut self.bounce {
            Some((bounce, _)) => bounce.bytes_mut(),
            None => self.buffer,
        }
    }

    fn entry(&mut self, position: usize) -> io_uring::squeue::Entry {
        let (fd, offset, filled) = (self.fd, self.offset + self.filled as u64, self.filled);
        let rest = &mut self.destination()[filled..];
        let length = rest.len().min(MAX_READ_BYTES) as u32;
        opcode::Read::new(types::Fd(fd), rest.as_mut_ptr(), length).offset(offset).build().user_data(position as u64)
    }

    /// Handles a completion; true if the rest must be submitted again.
    fn completed(&mut self, result: i32) -> bool {
        // A failed request is repeated without the ring.
        let Ok(count) = usize::try_from(result) else { return false };
        self.filled += count;
        let unit = self.unit;
        self.complete = count == 0 || !count.is_multiple_of(unit) || self.filled >= self.destination().len();
        !self.complete
    }

    /// The request's index and how many bytes were read; `None` if it failed, or the ring broke before it completed.
    fn finish(self) -> (usize, Option<usize>) {
        if !self.complete {
            return (self.index, None);
        }
        let useful = match &self.bounce {
            None => self.filled,
            Some((bounce, lead)) => {
                let useful = self.filled.saturating_sub(*lead).min(self.buffer.len());
                self.buffer[..useful].copy_from_slice(&bounce.bytes()[*lead..lead + useful]);
                useful
            }
        };
        (self.index, Some(useful))
    }
}

struct Batch<'r, 'p, 'b> {
    ring: &'r mut IoUring,
    parts: &'p mut [Part<'b>],
    /// The first part never submitted.
    next: usize,
    /// Parts to submit again.
    again: Vec<usize>,
}

impl Batch<'_, '_, '_> {
    /// Drives every part to completion. An error means that the ring cannot be used; nothing is in flight then.
    fn run(mut self, calls: &mut u64) -> io::Result<()> {
        // Entries in the submission queue, and reads the kernel has taken and not completed.
        let (mut queued, mut in_flight) = (0usize, 0usize);
        let mut failure = None;
        let mut fruitless = 0;
        loop {
            if failure.is_none() {
                queued += self.fill_queue(queued + in_flight);
            }
            if in_flight == 0 && (queued == 0 || failure.is_some()) {
                break;
            }
            *calls += 1;
            match self.ring.submit_and_wait(1) {
                Ok(count) => {
                    queued -= count.min(queued);
                    in_flight += count;
                    fruitless = 0;
                }
                Err(error) if is_transient(&error) && (in_flight > 0 || fruitless < MAX_FRUITLESS_SUBMITS) => {
                    fruitless += 1;
                }
                Err(error) => {
                    // Completions still arrive without further calls; wait for the requests that the kernel has taken.
                    failure.get_or_insert(error);
                    std::thread::yield_now();
                }
            }
            in_flight -= self.take_completions().min(in_flight);
        }
        failure.map_or(Ok(()), Err)
    }

    /// Puts entries into the submission queue until it or the ring is full, and returns their count.
    fn fill_queue(&mut self, outstanding: usize) -> usize {
        let mut added = 0;
        while outstanding + added < QUEUE_DEPTH as usize {
            let position = match self.again.pop() {
                Some(position) => position,
                None if self.next < self.parts.len() => {
                    self.next += 1;
                    self.next - 1
                }
                None => break,
            };
            let entry = self.parts[position].entry(position);
            // SAFETY: the entry's buffer is borrowed by the part, which outlives `run`; `run` returns only when every
            // submitted entry has completed, and until then nothing in this process reads or writes that buffer. The
            // descriptor belongs to a file that the request borrows.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                self.again.push(position);
                break;
            }
            added += 1;
        }
        added
    }

    fn take_completions(&mut self) -> usize {
        let mut taken = 0;
        for completion in self.ring.completion() {
            taken += 1;
            let position = completion.user_data() as usize;
            if let Some(part) = self.parts.get_mut(position)
                && part.completed(completion.result())
            {
                self.again.push(position);
            }
        }
        taken
    }
}

pub(super) fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy)
}
