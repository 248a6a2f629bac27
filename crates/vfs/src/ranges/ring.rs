//! What the kernel has of a completion ring: requests, and the memory and descriptors that they keep.
//!
//! ```text
//! push       request -> entries (one for each piece_bytes) -> submission queue     the table owns the request
//! complete   completion queue -> piece -> ... the last one: the request goes back to its owner
//! ```
//!
//! The kernel writes to a request's memory until the completions of all its entries were taken. So until then the
//! [`Requests`] own the memory and share the descriptor, whatever becomes of the readers. This is the only place that
//! pushes reads; two owners of a table use it in two ways:
//!
//! - the [`driver`](super::driver) has one ring for a whole file system: reads that are polled, waited for later, or
//!   timed;
//! - a [`stream`](super::stream) takes a ring of its own for as long as it lives, so that a thread that performs a
//!   batch shares neither a lock nor a wake-up with others.
//!
//! One shared ring for both was rejected: `multi_get_async`, whose completions another thread takes, brings 0.84 of the
//! keys of `multi_get` (docs/async.md), since a batch of 32 is handed from thread to thread several times. Formerly
//! there were four submitters: batches into the caller's buffers (which needed bounce buffers for direct reads),
//! streams, reads waited for, and reads polled.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex as RealMutex;

use super::buffer::ReadBuffer;
use super::plan::piece_lengths;
use super::pool::{BufferPool, PooledMemory};
use super::slots::Slots;

/// How a ring is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RingUse {
    /// For a file system: threads that work on something else have their reads completed for others.
    Shared,
    /// By a stream: reads are completed when their thread asks for them.
    Stream,
}

impl RingUse {
    /// Entries of the submission queue: as many as the owner has in flight. Cancellations are pushed when there is
    /// room.
    pub(crate) const fn entries(self) -> usize {
        match self {
            Self::Shared => 256,
            Self::Stream => 64,
        }
    }
}

/// An entry of the submission queue.
#[derive(Debug)]
pub(crate) enum Entry {
    /// Read `length` bytes of a descriptor at `offset` into memory.
    Read { user_data: u64, fd: i32, offset: u64, memory: *mut u8, length: u32 },
    /// Cancel the read with this `user_data`, if possible. The completion of the cancellation itself carries no
    /// information.
    Cancel { target: u64 },
}

/// The `user_data` of a cancellation's completion.
pub(crate) const CANCEL_USER_DATA: u64 = u64::MAX;

/// A completion ring: takes entries and returns their completions in any order.
pub(crate) trait RingDevice: Send + Sync {
    /// Puts an entry into the queue, for the next [`enter`](Self::enter); false if the queue is full. Not called by two
    /// threads at once.
    ///
    /// # Safety The descriptor stays open, and the memory is neither moved nor accessed, until the completion is taken.
    unsafe fn push(&self, entry: Entry) -> bool;

    /// Submits the queue, then sleeps until `wanted` completions have arrived or `time` has passed; may wake
    /// spuriously.
    fn enter(&self, wanted: usize, time: Option<Duration>);

    /// Takes the available completions: `user_data` and the bytes read, or a negated error number. Not called by two
    /// threads at once.
    fn take(&self, each: &mut dyn FnMut(u64, i32));

    /// Entries in the queue that the kernel has not taken.
    fn queued(&self) -> usize;

    /// True if the kernel accepts no more calls for the ring. Requests that it has taken may complete or not.
    fn is_broken(&self) -> bool;
}

/// An open file as a ring reads it.
#[derive(Clone)]
pub struct Descriptor {
    fd: i32,
    size: u64,
    owner: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for Descriptor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Descriptor").field("fd", &self.fd).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Descriptor {
    /// A descriptor that is open for as long as `owner` lives, of a file of `size` bytes.
    pub fn new(fd: i32, size: u64, owner: Arc<dyn Any + Send + Sync>) -> Self {
        Self { fd, size, owner }
    }

    /// The address of the owner: equal for reads of the same open file, and for no other file as long as one lives.
    pub(super) fn identity(&self) -> usize {
        Arc::as_ptr(&self.owner).cast::<()>().addr()
    }
}

/// A read of a contiguous part of a file into one piece of memory.
pub(super) struct Request<R> {
    descriptor: Descriptor,
    pub(super) start: u64,
    memory: PooledMemory,
    /// The length of every entry but the last.
    piece_bytes: usize,
    /// Entries that have not completed.
    outstanding: usize,
    /// Where the first byte is missing: the end of the file, or of what was read.
    came: usize,
    pub(super) readers: R,
}

impl<R> Request<R> {
    /// A request for as many bytes as the memory holds, by entries of `piece_bytes`.
    #[inline]
    pub(super) fn new(
        descriptor: Descriptor,
        start: u64,
        memory: PooledMemory,
        piece_bytes: usize,
        readers: R,
    ) -> Self {
        let length = memory.bytes().len();
        let came = usize::try_from(descriptor.size.saturating_sub(start)).unwrap_or(usize::MAX).min(length);
        Self { descriptor, start, memory, piece_bytes, outstanding: 0, came, readers }
    }

    /// The identity of its file, and its first byte.
    pub(super) fn key(&self) -> (usize, u64) {
        (self.descriptor.identity(), self.start)
    }

    pub(super) fn length(&self) -> usize {
        self.memory.bytes().len()
    }

    /// The first `came` bytes of the memory were read; the descriptor is to be dropped without a lock.
    #[inline]
    pub(super) fn into_parts(self) -> (PooledMemory, usize, R, Descriptor) {
        (self.memory, self.came, self.readers, self.descriptor)
    }

    /// Whether all bytes that the file has were read.
    #[inline]
    pub(super) fn is_whole(&self) -> bool {
        let left = self.descriptor.size.saturating_sub(self.start);
        self.came as u64 == left.min(self.length() as u64)
    }
}

/// Most entries of one request; the entry's number takes the low bits of `user_data`.
pub(super) const MAX_PIECES: usize = 1 << 6;

/// The requests that a ring has.
pub(super) struct Requests<R> {
    slots: Slots<Request<R>>,
    /// Entries that have not completed.
    in_flight: usize,
}

impl<R> Default for Requests<R> {
    fn default() -> Self {
        Self { slots: Slots::default(), in_flight: 0 }
    }
}

impl<R> Requests<R> {
    /// Entries that have not completed.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn get(&self, number: usize) -> Option<&Request<R>> {
        self.slots.get(number)
    }

    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut Request<R>> {
        self.slots.get_mut(number)
    }

    /// Pushes the entries of a request; gives it back if the queue is full. `count` is called with the length of each
    /// entry.
    #[expect(clippy::result_large_err, reason = "a box would be an allocation for each read")]
    #[inline]
    pub(super) fn push(
        &mut self,
        device: &dyn RingDevice,
        request: Request<R>,
        mut count: impl FnMut(usize),
    ) -> Result<usize, Request<R>> {
        let number = self.slots.insert(request);
        let Some(request) = self.slots.get_mut(number) else { return Ok(number) };
        let (fd, mut offset) = (request.descriptor.fd, request.start);
        let mut rest = request.memory.bytes_mut();
        for (piece, length) in piece_lengths(rest.len(), request.piece_bytes).enumerate() {
            let (bytes, after) = rest.split_at_mut(length);
            rest = after;
            let user_data = (number * MAX_PIECES + piece) as u64;
            let entry = Entry::Read { user_data, fd, offset, memory: bytes.as_mut_ptr(), length: length as u32 };
            // SAFETY: the bytes belong to the request, and the descriptor to an owner that it shares. The request stays
            // in its slot until `outstanding`, counted here, is back at zero, that is until the completion was taken,
            // and nothing accesses its memory before: `Request` hands it out by value only. Who drops the table has
            // waited for the completions, or has left the requests to the kernel.
            if piece >= MAX_PIECES || !unsafe { device.push(entry) } {
                request.came = request.came.min(piece * request.piece_bytes);
                break;
            }
            count(length);
            request.outstanding += 1;
            offset += length as u64;
        }
        self.in_flight += request.outstanding;
        if request.outstanding > 0 {
            return Ok(number);
        }
        self.slots.remove(number).map_or(Ok(number), Err)
    }

    /// Handles a completion. Returns the number of the request if it is the last of its entries: the request can then
    /// be [removed](Self::remove).
    #[inline]
    pub(super) fn complete(&mut self, user_data: u64, result: i32) -> Option<usize> {
        let number = usize::try_from(user_data).ok()? / MAX_PIECES;
        // The completion of a cancellation has no request.
        let request = self.slots.get_mut(number)?;
        let start = (user_data as usize % MAX_PIECES) * request.piece_bytes;
        let length = request.piece_bytes.min(request.length().saturating_sub(start));
        let end = start + usize::try_from(result).unwrap_or(0).min(length);
        // A piece that is whole leaves the end where another piece or the file has put it.
        if end < start + length {
            request.came = request.came.min(end);
        }
        request.outstanding -= 1;
        self.in_flight -= 1;
        (request.outstanding == 0).then_some(number)
    }

    /// Removes a request that has completed.
    #[inline]
    pub(super) fn remove(&mut self, number: usize) -> Option<Request<R>> {
        self.slots.get(number).filter(|request| request.outstanding == 0)?;
        self.slots.remove(number)
    }

    /// Asks the kernel to give up a request; its completions arrive all the same.
    pub(super) fn cancel(&self, device: &dyn RingDevice, number: usize) -> bool {
        let Some(request) = self.slots.get(number) else { return false };
        let pieces = piece_lengths(request.length(), request.piece_bytes).count().min(MAX_PIECES);
        (0..pieces).fold(false, |any, piece| push_cancellation(device, (number * MAX_PIECES + piece) as u64) | any)
    }

    /// Removes all requests, whose memory and descriptors the kernel may still use.
    pub(super) fn take_all(&mut self) -> Vec<Request<R>> {
        self.in_flight = 0;
        self.slots.take_all()
    }
}

pub(super) fn push_cancellation(device: &dyn RingDevice, target: u64) -> bool {
    // SAFETY: a cancellation has neither descriptor nor memory. If the ring does not take it, the read just completes
    // normally.
    unsafe { device.push(Entry::Cancel { target }) }
}

/// Reads the first bytes of a file through a ring that nothing else uses.
#[cfg(all(target_os = "linux", feature = "io-uring"))]
pub(crate) fn read_once(device: &dyn RingDevice, descriptor: Descriptor, length: usize) -> Option<ReadBuffer> {
    let mut requests = Requests::default();
    let request = Request::new(descriptor, 0, BufferPool::default().take(length).ok()?, length, ());
    requests.push(device, request, |_| {}).ok()?;
    let mut done = None;
    while done.is_none() {
        if device.is_broken() {
            leave_to_the_kernel(requests.take_all());
            return None;
        }
        device.enter(1, None);
        device.take(&mut |user_data, result| done = requests.complete(user_data, result).or(done));
    }
    let request = requests.remove(done?)?;
    let (start, (memory, came, ..)) = (request.start, request.into_parts());
    Some(ReadBuffer::from_pool(start, memory, 0..came))
}

/// Memory that the kernel may still write to for a broken ring: kept until the process exits.
static LEFT_TO_THE_KERNEL: RealMutex<Vec<Box<dyn Any + Send>>> = RealMutex::new(Vec::new());

pub(super) fn leave_to_the_kernel(memory: impl Any + Send) {
    LEFT_TO_THE_KERNEL.lock().push(Box::new(memory));
}
