//! Reads in flight on a completion ring, without a thread of their own: whoever waits takes what has completed, for all.
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
//! The kernel writes to a read's memory until its completion says otherwise, so the memory belongs to the read's slot until
//! then, and dropping a read only marks it. A slot is used again when all its requests have completed.
//!
//! Completions are taken under the lock. One waiter at a time, the *leader*, sleeps in the kernel without the lock; while
//! there is one, nobody else takes completions, for the kernel wakes it only for one that is still there.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex as RealMutex;

use super::plan::Run;
use super::pool::PooledMemory;
use crate::sync::{Condvar, Mutex};

/// Most requests in flight; what is beyond is read by whoever waits for it.
const MAX_IN_FLIGHT: usize = 256;
/// Most requests of one read; their number takes the low bits of what the ring returns.
const MAX_PIECES: usize = 1 << 8;

/// Of a read that was waited for.
const NO_SLOT: usize = usize::MAX;

/// What is asked of the ring.
#[derive(Debug)]
pub(crate) enum Entry {
    /// Read `length` bytes of a descriptor at `offset` into memory.
    Read { user_data: u64, fd: i32, offset: u64, memory: *mut u8, length: u32 },
    /// End that read early, if possible. Its own completion says nothing.
    Cancel { target: u64 },
}

/// What a completion of a cancellation carries.
pub(crate) const CANCEL_USER_DATA: u64 = u64::MAX;

/// A ring: takes requests, and gives completions in any order.
pub(crate) trait RingDevice: Send + Sync {
    /// Hands a request over; not called by two threads at once. After an error it is certain that it was not taken.
    ///
    /// # Safety
    /// The descriptor is open, and the memory stays where it is, untouched, until the completion was taken.
    unsafe fn submit(&self, entry: Entry) -> io::Result<()>;

    /// Puts an entry into the queue, for the next [`enter`](Self::enter); false when that is full. Not called by two threads
    /// at once.
    ///
    /// # Safety
    /// As for [`submit`](Self::submit), and the descriptor stays open until the completion was taken, too.
    unsafe fn push(&self, entry: Entry) -> bool;

    /// Hands the queue over, then sleeps until so many completions came, or for so long, or for no reason.
    fn enter(&self, wanted: usize, time: Option<Duration>);

    /// Takes the completions that are there: `user_data` and the bytes read, or an error number below zero. Not called by
    /// two threads at once.
    fn take(&self, each: &mut dyn FnMut(u64, i32));

    /// Sleeps until there is a completion that nobody took, or for so long, or for no reason. One thread at a time.
    fn wait(&self, time: Option<Duration>);

    /// True when the kernel takes no more calls for the ring. What it has taken may still complete, and may not.
    fn is_broken(&self) -> bool;
}

/// A request of a read.
#[derive(Clone, Copy, Debug)]
struct Piece {
    length: usize,
    /// What the ring said; `None` before that, or when it was never asked.
    result: Option<i32>,
}

/// A read in flight.
struct Flight {
    memory: PooledMemory,
    pieces: Vec<Piece>,
    /// Requests that have not completed.
    outstanding: usize,
    is_abandoned: bool,
}

#[derive(Default)]
struct State {
    slots: Vec<Option<Flight>>,
    free: Vec<usize>,
    in_flight: usize,
    has_leader: bool,
}

/// The reads in flight of a file system.
pub(crate) struct Reactor {
    device: Box<dyn RingDevice>,
    state: Mutex<State>,
    taken: Condvar,
}

impl fmt::Debug for Reactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reactor").field("in_flight", &self.state.lock().in_flight).finish()
    }
}

/// What came of a read: its memory, and for every request its length and the bytes read, or an error number below zero, or
/// nothing when the ring did not take it.
pub(crate) struct Landed {
    pub(crate) memory: PooledMemory,
    pub(crate) pieces: Vec<(usize, Option<i32>)>,
}

/// Why there is nothing to show for a read, which was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// The time was over first.
    Late,
    /// The ring does not work any more: it is to be read without.
    Broken,
}

/// A read in flight. Dropping it gives it up.
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

impl State {
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
        Self { device, state: Mutex::new(State::default()), taken: Condvar::default() }
    }

    /// Takes what has completed. What nobody wants any more goes to `garbage`, to be freed without the lock.
    fn reap(&self, state: &mut State, garbage: &mut Vec<Flight>) {
        if state.has_leader || state.in_flight == 0 {
            return;
        }
        self.device.take(&mut |user_data, result| state.complete(user_data, result, garbage));
    }

    /// Frees what was given up and has completed. Whoever reads does so, too; this is for when there is too little memory to.
    pub(crate) fn collect(&self) {
        let mut garbage = Vec::new();
        self.reap(&mut self.state.lock(), &mut garbage);
    }

    /// Begins to read a run of a descriptor that stays open until this returns. Gives the memory back when there is too
    /// much in flight.
    pub(crate) fn start(
        self: &Arc<Self>,
        fd: i32,
        run: &Run,
        lengths: impl Iterator<Item = usize>,
        memory: PooledMemory,
    ) -> Result<Ticket, PooledMemory> {
        let pieces: Vec<Piece> = lengths.map(|length| Piece { length, result: None }).collect();
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

    fn submit_pieces(&self, state: &mut State, slot: usize, fd: i32, mut offset: u64) {
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
            // The bytes belong to the flight, which stays in its slot until `outstanding`, counted here, is back at zero,
            // that is until the completion was taken; nothing looks into its memory before. `Reactor::drop` waits for it.
            if unsafe { self.device.submit(entry) }.is_err() {
                break;
            }
            *outstanding += 1;
            state.in_flight += 1;
            offset += piece.length as u64;
        }
    }

    /// Asks for an early end of what a slot still waits for.
    fn cancel(&self, state: &State, slot: usize) {
        let Some(Some(flight)) = state.slots.get(slot) else { return };
        if flight.outstanding == 0 {
            return;
        }
        for (number, piece) in flight.pieces.iter().enumerate() {
            if piece.result.is_none() {
                // SAFETY: a cancellation has neither descriptor nor memory. One that is not taken changes nothing: the
                // read ends by itself.
                let _ = unsafe { self.device.submit(Entry::Cancel { target: user_data(slot, number) }) };
            }
        }
    }

    fn is_landed(state: &State, slot: usize) -> bool {
        !matches!(state.slots.get(slot), Some(Some(flight)) if flight.outstanding > 0)
    }

    /// Waits until the slot has landed. `time_left` is asked before every sleep.
    fn wait_for(&self, slot: usize, time_left: &dyn Fn() -> Option<Duration>) -> Result<(), Missed> {
        let mut garbage = Vec::new();
        let mut state = self.state.lock();
        loop {
            self.reap(&mut state, &mut garbage);
            if Self::is_landed(&state, slot) {
                break;
            }
            if self.device.is_broken() {
                self.taken.notify_all();
                return Err(Missed::Broken);
            }
            let time = time_left();
            if time.is_some_and(|time| time.is_zero()) {
                return Err(Missed::Late);
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
            // Those whose reads have landed, and one that leads from now on.
            self.taken.notify_all();
        }
        drop(state);
        drop(garbage);
        Ok(())
    }

    /// Waits for everything in flight, if the ring lets us.
    fn quiesce(&self) {
        let mut garbage = Vec::new();
        loop {
            let mut state = self.state.lock();
            self.reap(&mut state, &mut garbage);
            if state.in_flight == 0 {
                return;
            }
            if self.device.is_broken() {
                // Nobody can say whether the kernel will still write to this memory, so nobody else gets it.
                leave_to_the_kernel(std::mem::take(&mut state.slots));
                return;
            }
            drop(state);
            self.device.wait(None);
        }
    }
}

/// What a broken ring may still write to: it stays for as long as the process.
static LEFT_TO_THE_KERNEL: RealMutex<Vec<Box<dyn Any + Send>>> = RealMutex::new(Vec::new());

pub(super) fn leave_to_the_kernel(memory: impl Any + Send) {
    LEFT_TO_THE_KERNEL.lock().push(Box::new(memory));
}

impl Drop for Reactor {
    fn drop(&mut self) {
        // Tickets keep the reactor alive: what is in flight now was given up, and there is no leader.
        self.quiesce();
    }
}

impl Ticket {
    /// True when waiting takes no time.
    pub(crate) fn is_landed(&self) -> bool {
        let mut garbage = Vec::new();
        let mut state = self.reactor.state.lock();
        self.reactor.reap(&mut state, &mut garbage);
        Reactor::is_landed(&state, self.slot) || self.reactor.device.is_broken()
    }

    /// What came of the read.
    pub(crate) fn wait(mut self, time_left: &dyn Fn() -> Option<Duration>) -> Result<Landed, Missed> {
        self.reactor.wait_for(self.slot, time_left)?;
        let flight = self.reactor.state.lock().remove(self.slot);
        // The slot is free from now on, and may be somebody else's.
        self.slot = NO_SLOT;
        let Flight { memory, pieces, .. } = flight.ok_or(Missed::Broken)?;
        Ok(Landed { memory, pieces: pieces.iter().map(|piece| (piece.length, piece.result)).collect() })
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
        if Reactor::is_landed(&state, self.slot) {
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
