//! Reads in flight on a completion ring without a thread: each waiting thread takes completions, its own and those of
//! others.
//!
//! ```text
//!            start            completion taken           wait
//!   (free) ---------> InFlight ---------------> Done -----------> (free)
//!                        |  drop                  |  drop
//!                        v                        v
//!                     Abandoned ------------->  (free)
//!                              completion taken
//! ```
//!
//! The kernel writes to a read's memory until its completion arrives, so the read's slot owns the memory until then,
//! and dropping a read only marks the slot. A slot is used again once all its requests have completed.
//!
//! Completions are taken under the lock. One waiting thread at a time, the *leader*, sleeps in the kernel without the
//! lock; meanwhile no other thread takes completions, because the kernel wakes the leader only for a completion that is
//! still in the queue.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex as RealMutex;

use super::plan::Run;
use super::pool::PooledMemory;
use crate::sync::{Condvar, Mutex};

/// Most requests in flight; a read beyond that is performed by the thread that waits for it.
const MAX_IN_FLIGHT: usize = 256;
/// Most requests of one read; the request's number takes the low bits of `user_data`.
const MAX_PIECES: usize = 1 << 8;

/// The slot of a ticket whose read was waited for.
const NO_SLOT: usize = usize::MAX;

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

/// A completion ring: takes requests and returns their completions in any order.
pub(crate) trait RingDevice: Send + Sync {
    /// Submits a request; not called by two threads at once. After an error the kernel has certainly not taken the
    /// request.
    ///
    /// # Safety The descriptor is open, and the memory is neither moved nor accessed until the completion is taken.
    unsafe fn submit(&self, entry: Entry) -> io::Result<()>;

    /// Puts an entry into the queue, for the next [`enter`](Self::enter); false if the queue is full. Not called by two
    /// threads at once.
    ///
    /// # Safety As for [`submit`](Self::submit); the descriptor also stays open until the completion is taken.
    unsafe fn push(&self, entry: Entry) -> bool;

    /// Submits the queue, then sleeps until `wanted` completions have arrived or `time` has passed; may wake
    /// spuriously.
    fn enter(&self, wanted: usize, time: Option<Duration>);

    /// Takes the available completions: `user_data` and the bytes read, or a negated error number. Not called by two
    /// threads at once.
    fn take(&self, each: &mut dyn FnMut(u64, i32));

    /// Sleeps until the queue holds a completion or `time` has passed; may wake spuriously. One thread at a time.
    fn wait(&self, time: Option<Duration>);

    /// True if the kernel accepts no more calls for the ring. Requests that it has taken may complete or not.
    fn is_broken(&self) -> bool;
}

/// One request of a read.
#[derive(Clone, Copy, Debug)]
struct RingPiece {
    length: usize,
    /// The result in the completion; `None` before it, or if the request was never submitted.
    result: Option<i32>,
}

/// A read in flight.
struct Flight {
    memory: PooledMemory,
    pieces: Vec<RingPiece>,
    /// Requests that have not completed.
    outstanding: usize,
    is_abandoned: bool,
}

#[derive(Default)]
struct ReactorState {
    slots: Vec<Option<Flight>>,
    free: Vec<usize>,
    in_flight: usize,
    has_leader: bool,
}

/// The reads in flight of a file system.
pub(crate) struct Reactor {
    device: Box<dyn RingDevice>,
    state: Mutex<ReactorState>,
    taken: Condvar,
}

impl fmt::Debug for Reactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reactor").field("in_flight", &self.state.lock().in_flight).finish()
    }
}

/// A read that has ended: its memory, and for each request its length and the bytes read, or a negated error number, or
/// `None` if the ring did not take the request.
pub(crate) struct CompletedRead {
    pub(crate) memory: PooledMemory,
    pub(crate) pieces: Vec<(usize, Option<i32>)>,
}

/// Why a wait ended without the read, which is abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitFailure {
    /// The time was over before the read completed.
    Late,
    /// The ring is broken: the range must be read without it.
    Broken,
}

/// A read in flight, as its owner holds it. Dropping it abandons the read.
pub(crate) struct Ticket {
    reactor: Arc<Reactor>,
    slot: usize,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Ticket").field(&self.slot).finish()
    }
}

fn user_data(slot: usize, piece: usize) -> u64 {
    (slot * MAX_PIECES + piece) as u64
}

impl ReactorState {
    fn add(&mut self, flight: Flight) -> usize {
        if let Some(slot) = self.free.pop() {
            self.slots[slot] = Some(flight);
            return slot;
        }
        self.slots.push(Some(flight));
        self.slots.len() - 1
    }

    fn remove(&mut self, slot: usize) -> Option<Flight> {
        let flight = self.slots.get_mut(slot)?.take()?;
        self.free.push(slot);
        Some(flight)
    }

    fn complete(&mut self, user_data: u64, result: i32, garbage: &mut Vec<Flight>) {
        if user_data == CANCEL_USER_DATA {
            return;
        }
        let (slot, piece) = (user_data as usize / MAX_PIECES, user_data as usize % MAX_PIECES);
        let Some(Some(flight)) = self.slots.get_mut(slot) else { return };
        flight.pieces[piece].result = Some(result);
        flight.outstanding -= 1;
        self.in_flight -= 1;
        if flight.outstanding == 0 && flight.is_abandoned {
            garbage.extend(self.remove(slot));
        }
    }
}

impl Reactor {
    pub(crate) fn new(device: Box<dyn RingDevice>) -> Self {
        Self { device, state: Mutex::new(ReactorState::default()), taken: Condvar::default() }
    }

    /// Takes completions. Abandoned reads that have completed go to `garbage`, to be freed without the lock.
    fn reap(&self, state: &mut ReactorState, garbage: &mut Vec<Flight>) {
        if state.has_leader || state.in_flight == 0 {
            return;
        }
        self.device.take(&mut |user_data, result| state.complete(user_data, result, garbage));
    }

    /// Frees abandoned reads that have completed. Every read does so as well; this is for the case that memory for the
    /// next read is short.
    pub(crate) fn collect(&self) {
        let mut garbage = Vec::new();
        self.reap(&mut self.state.lock(), &mut garbage);
    }

    /// Begins to read a run of a file. The descriptor must stay open until this returns. Gives the memory back if too
    /// many requests are in flight.
    pub(crate) fn start(
        self: &Arc<Self>,
        fd: i32,
        run: &Run,
        lengths: impl Iterator<Item = usize>,
        memory: PooledMemory,
    ) -> Result<Ticket, PooledMemory> {
        let pieces: Vec<RingPiece> = lengths.map(|length| RingPiece { length, result: None }).collect();
        let fits_addresses = i64::try_from(run.end).is_ok();
        let mut garbage = Vec::new();
        let mut state = self.state.lock();
        self.reap(&mut state, &mut garbage);
        if self.device.is_broken()
            || !fits_addresses
            || pieces.len() >= MAX_PIECES
            || state.in_flight + pieces.len() > MAX_IN_FLIGHT
        {
            return Err(memory);
        }
        let slot = state.add(Flight { memory, pieces, outstanding: 0, is_abandoned: false });
        self.submit_pieces(&mut state, slot, fd, run.start);
        drop(state);
        drop(garbage);
        Ok(Ticket { reactor: Arc::clone(self), slot })
    }

    fn submit_pieces(&self, state: &mut ReactorState, slot: usize, fd: i32, mut offset: u64) {
        let Some(Some(flight)) = state.slots.get_mut(slot) else { return };
        let Flight { memory, pieces, outstanding, .. } = flight;
        let mut rest = memory.bytes_mut();
        for (number, piece) in pieces.iter().enumerate() {
            let (bytes, after) = rest.split_at_mut(piece.length);
            rest = after;
            let length = piece.length as u32;
            let entry =
                Entry::Read { user_data: user_data(slot, number), fd, offset, memory: bytes.as_mut_ptr(), length };
            // SAFETY: the caller keeps the descriptor open until the request was taken, and the kernel does afterwards.
            // The bytes belong to the flight, which stays in its slot until `outstanding`, counted here, is back at
            // zero, that is until the completion was taken; nothing accesses its memory before. `Reactor::drop` waits
            // for it.
            if unsafe { self.device.submit(entry) }.is_err() {
                break;
            }
            *outstanding += 1;
            state.in_flight += 1;
            offset += piece.length as u64;
        }
    }

    /// Cancels the requests of a slot that have not completed.
    fn cancel(&self, state: &ReactorState, slot: usize) {
        let Some(Some(flight)) = state.slots.get(slot) else { return };
        if flight.outstanding == 0 {
            return;
        }
        for (number, piece) in flight.pieces.iter().enumerate() {
            if piece.result.is_none() {
                // SAFETY: a cancellation has neither descriptor nor memory. If the ring does not take it, the read just
                // completes normally.
                let _ = unsafe { self.device.submit(Entry::Cancel { target: user_data(slot, number) }) };
            }
        }
    }

    fn is_complete(state: &ReactorState, slot: usize) -> bool {
        !matches!(state.slots.get(slot), Some(Some(flight)) if flight.outstanding > 0)
    }

    /// Waits until the slot has completed. `time_left` is called before every sleep.
    fn wait_for(&self, slot: usize, time_left: &dyn Fn() -> Option<Duration>) -> Result<(), WaitFailure> {
        let mut garbage = Vec::new();
        let mut state = self.state.lock();
        loop {
            self.reap(&mut state, &mut garbage);
            if Self::is_complete(&state, slot) {
                break;
            }
            if self.device.is_broken() {
                self.taken.notify_all();
                return Err(WaitFailure::Broken);
            }
            let time = time_left();
            if time.is_some_and(|time| time.is_zero()) {
                return Err(WaitFailure::Late);
            }
            if state.has_leader {
                match time {
                    Some(time) => drop(self.taken.wait_for(&mut state, time)),
                    None => self.taken.wait(&mut state),
                }
                continue;
            }
            state.has_leader = true;
            drop(state);
            self.device.wait(time);
            state = self.state.lock();
            state.has_leader = false;
            self.reap(&mut state, &mut garbage);
            // Wakes the threads whose reads have completed, and the next leader.
            self.taken.notify_all();
        }
        drop(state);
        drop(garbage);
        Ok(())
    }

    /// Waits for everything in flight, unless the ring is broken.
    fn quiesce(&self) {
        let mut garbage = Vec::new();
        loop {
            let mut state = self.state.lock();
            self.reap(&mut state, &mut garbage);
            if state.in_flight == 0 {
                return;
            }
            if self.device.is_broken() {
                // The kernel may still write to this memory, so it is never freed or used again.
                leave_to_the_kernel(std::mem::take(&mut state.slots));
                return;
            }
            drop(state);
            self.device.wait(None);
        }
    }
}

/// Memory that the kernel may still write to for a broken ring: kept until the process exits.
static LEFT_TO_THE_KERNEL: RealMutex<Vec<Box<dyn Any + Send>>> = RealMutex::new(Vec::new());

pub(super) fn leave_to_the_kernel(memory: impl Any + Send) {
    LEFT_TO_THE_KERNEL.lock().push(Box::new(memory));
}

impl Drop for Reactor {
    fn drop(&mut self) {
        // Tickets keep the reactor alive: reads in flight now were abandoned, and there is no leader.
        self.quiesce();
    }
}

impl Ticket {
    /// True if `wait` would return at once.
    pub(crate) fn is_complete(&self) -> bool {
        let mut garbage = Vec::new();
        let mut state = self.reactor.state.lock();
        self.reactor.reap(&mut state, &mut garbage);
        Reactor::is_complete(&state, self.slot) || self.reactor.device.is_broken()
    }

    /// Waits for the read.
    pub(crate) fn wait(mut self, time_left: &dyn Fn() -> Option<Duration>) -> Result<CompletedRead, WaitFailure> {
        self.reactor.wait_for(self.slot, time_left)?;
        let flight = self.reactor.state.lock().remove(self.slot);
        // The slot is free from now on, and another read may take it.
        self.slot = NO_SLOT;
        let Flight { memory, pieces, .. } = flight.ok_or(WaitFailure::Broken)?;
        Ok(CompletedRead { memory, pieces: pieces.iter().map(|piece| (piece.length, piece.result)).collect() })
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.slot == NO_SLOT {
            return;
        }
        let mut garbage = Vec::new();
        let mut state = self.reactor.state.lock();
        self.reactor.reap(&mut state, &mut garbage);
        if Reactor::is_complete(&state, self.slot) {
            garbage.extend(state.remove(self.slot));
        } else {
            self.reactor.cancel(&state, self.slot);
            if let Some(Some(flight)) = state.slots.get_mut(self.slot) {
                flight.is_abandoned = true;
            }
            self.reactor.reap(&mut state, &mut garbage);
        }
        drop(state);
        drop(garbage);
    }
}
