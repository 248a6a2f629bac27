//! The ring of one stream: what is in flight in it, and what of that has completed. From one stream to the next it
//! keeps the memory of its tables, which a batch of 32 reads would else grow anew.

use super::context::ReadLabel;
use super::plan::PlacedRange;
use super::pool::PooledMemory;
use super::ring::{Descriptor, Request, Requests, RingDevice, RingUse};
use crate::counters::IoCounters;

/// Most bytes in flight of one stream, unless a single read is larger.
const MAX_IN_FLIGHT_BYTES: usize = 32 << 20;

/// A ring that a stream uses alone.
pub(super) struct StreamRing {
    device: Box<dyn RingDevice>,
    requests: Requests<usize>,
    /// The requests that have completed and were not taken.
    done: Vec<usize>,
    /// Bytes of the requests that were not taken.
    held_bytes: usize,
}

impl StreamRing {
    pub(super) fn new(device: Box<dyn RingDevice>) -> Self {
        Self { device, requests: Requests::default(), done: Vec::new(), held_bytes: 0 }
    }

    /// Entries that have not completed.
    pub(super) fn in_flight(&self) -> usize {
        self.requests.in_flight()
    }

    /// Whether a further read may be in flight.
    pub(super) fn has_room(&self, placed: &PlacedRange) -> bool {
        self.in_flight() + placed.requests() <= RingUse::Stream.entries()
            && (self.held_bytes == 0 || self.held_bytes + placed.length <= MAX_IN_FLIGHT_BYTES)
    }

    /// Queues a request for the stream's read `number`; false if the queue is full.
    pub(super) fn push(
        &mut self,
        number: usize,
        placed: &PlacedRange,
        descriptor: Descriptor,
        memory: PooledMemory,
        mut label: ReadLabel,
        counters: &IoCounters,
    ) -> bool {
        let request = Request::new(descriptor, placed.start, memory, placed.piece_bytes, number);
        let pushed = self.requests.push(&*self.device, request, |length| {
            counters.device_request(label, length as u64);
            label.asked_bytes = 0;
        });
        self.held_bytes += if pushed.is_ok() { placed.length } else { 0 };
        pushed.is_ok()
    }

    /// Hands the queue to the kernel and waits for `wanted` completions.
    pub(super) fn enter(&self, wanted: usize, counters: &IoCounters) {
        if !self.is_broken() {
            counters.ring_calls(1);
        }
        self.device.enter(wanted, None);
    }

    /// Notes what has completed; true if there is a request to take.
    pub(super) fn reap(&mut self) -> bool {
        let Self { device, requests, done, .. } = self;
        device.take(&mut |user_data, result| done.extend(requests.complete(user_data, result)));
        !done.is_empty()
    }

    /// Takes a request that has completed.
    pub(super) fn take_done(&mut self) -> Option<Request<usize>> {
        let request = self.requests.remove(self.done.pop()?)?;
        self.held_bytes -= request.length();
        Some(request)
    }

    /// Takes the numbers of the reads that were in the queue of a ring when it broke.
    pub(super) fn take_queued(&mut self) -> impl Iterator<Item = usize> {
        self.held_bytes = 0;
        self.requests.take_all().into_iter().map(|request| request.into_parts().2)
    }

    /// True if the kernel has requests that have not completed. Those that a broken ring still holds in its queue are
    /// none.
    pub(super) fn is_kernel_busy(&self) -> bool {
        let queued = if self.is_broken() { self.device.queued() } else { 0 };
        self.in_flight() > queued
    }

    /// True if the kernel takes no more calls.
    pub(super) fn is_broken(&self) -> bool {
        self.device.is_broken()
    }
}
