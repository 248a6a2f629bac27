//! Reads, which somebody waits for, and requests, which the ring has: who belongs to whom.
//!
//! ```text
//! reads      5: Waiting     9: In 1     2: In 1    7: In 0     4: Nowhere (over; not polled yet)
//! requests   0: | file, memory | 7 |    1: | file, memory | 9, 2 |    2: | file, memory | (nobody) |
//! ```
//!
//! - A read is in the chain of those that wait, or in that of one request, or it is over. A read that is over has its outcome.
//! - A request is there until its completion was taken, whoever has gone: it owns what the kernel writes to.
//! - A request that is in `flying` has somebody who waits for it, and was not cancelled.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;

use super::slots::{Chain, Links, Slots};
use super::waiting::{Limits, Spot, Waiting};
use super::{Asked, MAX_REQUEST_BYTES, Outcome};
use crate::counters::IoCounters;
use crate::file_system::RandomAccessFile;
use crate::ranges::buffer::ReadBuffer;
use crate::ranges::context::{ReadContext, ReadLabel};
use crate::ranges::plan::Stretch;
use crate::ranges::pool::PooledMemory;

/// Who waits for a read.
pub(super) enum Reader {
    Polls(Option<Waker>),
    Done(Outcome),
    /// The outcome was handed out.
    Told,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Waiting,
    In(usize),
    Nowhere,
}

pub(super) struct Read {
    pub(super) reader: Reader,
    file: Arc<dyn RandomAccessFile>,
    spot: Spot,
    context: ReadContext,
    end_us: u64,
    place: Place,
}

impl Read {
    fn label(&self) -> ReadLabel {
        let Stretch { asked_start, asked_end, .. } = self.spot.stretch;
        ReadLabel { class: self.context.class, asked_bytes: asked_end - asked_start }
    }
}

/// What the ring has, or is about to have.
pub(super) struct Request {
    /// Keeps the descriptor.
    pub(super) file: Arc<dyn RandomAccessFile>,
    pub(super) stretch: Stretch,
    /// The kernel may write to it.
    pub(super) memory: PooledMemory,
    readers: Chain,
}

/// What the next request reads, and as what it is counted.
pub(super) struct Plan {
    pub(super) stretch: Stretch,
    pub(super) label: ReadLabel,
}

impl Plan {
    pub(super) fn length(&self) -> usize {
        usize::try_from(self.stretch.length()).unwrap_or(usize::MAX)
    }
}

#[derive(Default)]
pub(super) struct State {
    reads: Slots<Read>,
    links: Links,
    waiting: Waiting,
    requests: Slots<Request>,
    /// By file and start: what reads may still join.
    flying: BTreeMap<(usize, u64), usize>,
    pub(super) in_flight: usize,
    /// No read ends before; `u64::MAX` when none has a time.
    pub(super) next_end_us: u64,
    pub(super) has_thread: bool,
    /// The thread is in the kernel, or about to be.
    pub(super) is_asleep: bool,
    pub(super) is_closed: bool,
}

/// What is done when the lock is free again.
#[derive(Default)]
pub(super) struct Later {
    pub(super) wakers: Vec<Waker>,
    files: Vec<Arc<dyn RandomAccessFile>>,
    memory: Vec<PooledMemory>,
    buffers: Vec<ReadBuffer>,
}

impl Later {
    pub(super) fn run(&mut self) {
        for waker in self.wakers.drain(..) {
            // A waker that panics is the trouble of its task, not of those whose reads come behind.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
        self.files.clear();
        self.memory.clear();
        self.buffers.clear();
    }
}

impl State {
    pub(super) fn new() -> Self {
        Self { next_end_us: u64::MAX, ..Self::default() }
    }

    /// Adds a read: to a request in flight that brings its bytes, if it may share that, or to those that wait.
    pub(super) fn add(&mut self, asked: Asked, counters: &IoCounters) -> usize {
        let Asked { file, stretch, context, end_us } = asked;
        let spot = Spot { file: address_of(&file), stretch, is_alone: false };
        let read = Read { reader: Reader::Polls(None), file, spot, context, end_us, place: Place::Nowhere };
        let label = read.label();
        let number = self.reads.insert(read);
        match self.covering(&spot).filter(|_| context.is_final) {
            Some(request) => {
                counters.joined(label);
                self.enter(number, request);
            }
            None => {
                self.set_place(number, Place::Waiting);
                self.waiting.push(&mut self.links, number, &spot);
            }
        }
        number
    }

    /// A request in flight that brings the bytes of a read.
    fn covering(&self, spot: &Spot) -> Option<usize> {
        let (&(file, _), &number) = self.flying.range(..=(spot.file, spot.stretch.start)).next_back()?;
        let covers = |request: &&Request| file == spot.file && request.stretch.covers(&spot.stretch);
        self.requests.get(number).filter(covers).map(|_| number)
    }

    pub(super) fn read(&mut self, number: usize) -> Option<&mut Read> {
        self.reads.get_mut(number)
    }

    pub(super) fn remove_read(&mut self, number: usize) -> Option<Read> {
        self.reads.remove(number)
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.length()
    }

    fn set_place(&mut self, number: usize, place: Place) {
        if let Some(read) = self.reads.get_mut(number) {
            read.place = place;
        }
    }

    fn enter(&mut self, number: usize, request: usize) {
        self.set_place(number, Place::In(request));
        if let Some(request) = self.requests.get_mut(request) {
            request.readers.push(&mut self.links, number);
        }
    }

    /// Takes a read from where it is. A request that nobody waits for any more is returned.
    pub(super) fn leave(&mut self, number: usize) -> Option<usize> {
        let read = self.reads.get_mut(number)?;
        match std::mem::replace(&mut read.place, Place::Nowhere) {
            Place::Nowhere => None,
            Place::Waiting => {
                self.waiting.remove(&mut self.links, number, &read.spot);
                None
            }
            Place::In(at) => {
                let request = self.requests.get_mut(at)?;
                request.readers.remove(&mut self.links, number);
                request.readers.is_empty().then(|| {
                    self.land(at);
                    at
                })
            }
        }
    }

    /// From now on nobody joins the request.
    fn land(&mut self, number: usize) {
        let Some(request) = self.requests.get(number) else { return };
        let key = key_of(request);
        if self.flying.get(&key) == Some(&number) {
            self.flying.remove(&key);
        }
    }

    /// Ends a read, which is nowhere any more, for who polls it.
    fn end(&mut self, number: usize, outcome: Outcome, later: &mut Later) {
        let Some(read) = self.reads.get_mut(number) else { return };
        read.place = Place::Nowhere;
        if let Reader::Polls(waker) = std::mem::replace(&mut read.reader, Reader::Done(outcome)) {
            later.wakers.extend(waker);
        }
    }

    /// Ends a read that waits.
    pub(super) fn end_waiting(&mut self, number: usize, outcome: Outcome, later: &mut Later) {
        self.leave(number);
        self.end(number, outcome, later);
    }

    /// Plans a request that begins with the oldest read, its first member. Nothing changes.
    pub(super) fn plan(&self, members: &mut Vec<usize>) -> Option<Plan> {
        let oldest = self.waiting.oldest()?;
        let first = self.reads.get(oldest)?;
        members.clear();
        members.push(oldest);
        let context = &first.context;
        let max_bytes = (context.max_request_bytes as u64).min(MAX_REQUEST_BYTES);
        let limits = Limits { gap_bytes: context.gap_bytes, max_bytes };
        let stretch_of = |number| self.reads.get(number).map(|read| &read.spot.stretch);
        let stretch = self.waiting.join(members, &first.spot, limits, stretch_of);
        let asked_bytes = members.iter().filter_map(|&number| self.reads.get(number));
        let asked_bytes = asked_bytes.map(|read| read.label().asked_bytes).sum();
        // Reads that share a request are counted as the first of them.
        Some(Plan { stretch, label: ReadLabel { asked_bytes, ..first.label() } })
    }

    /// The same, for the oldest read alone.
    pub(super) fn plan_alone(&self, members: &mut Vec<usize>) -> Option<Plan> {
        members.truncate(1);
        let first = self.reads.get(*members.first()?)?;
        Some(Plan { stretch: first.spot.stretch, label: first.label() })
    }

    /// Makes a request for reads that wait still.
    pub(super) fn prepare(&mut self, oldest: usize, stretch: Stretch, memory: PooledMemory) -> Option<usize> {
        let file = Arc::clone(&self.reads.get(oldest)?.file);
        Some(self.requests.insert(Request { file, stretch, memory, readers: Chain::default() }))
    }

    pub(super) fn request(&mut self, number: usize) -> Option<&mut Request> {
        self.requests.get_mut(number)
    }

    /// Takes a request back that the ring did not take.
    pub(super) fn unprepare(&mut self, number: usize, later: &mut Later) {
        if let Some(Request { file, memory, .. }) = self.requests.remove(number) {
            later.files.push(file);
            later.memory.push(memory);
        }
    }

    /// The ring has the request: its readers wait for it.
    pub(super) fn launch(&mut self, number: usize, readers: &[usize]) {
        for &reader in readers {
            self.leave(reader);
            self.enter(reader, number);
        }
        if let Some(request) = self.requests.get(number) {
            self.flying.insert(key_of(request), number);
        }
        self.in_flight += 1;
    }

    /// The kernel is done with a request.
    pub(super) fn complete(&mut self, user_data: u64, result: i32, counters: &IoCounters, later: &mut Later) {
        let Ok(number) = usize::try_from(user_data) else { return };
        self.land(number);
        // A cancellation says nothing.
        let Some(Request { file, stretch, memory, mut readers }) = self.requests.remove(number) else { return };
        self.in_flight -= 1;
        let present = usize::try_from(file.size().min(stretch.end).saturating_sub(stretch.start)).unwrap_or(usize::MAX);
        let came = usize::try_from(result).unwrap_or(0).min(present);
        if came == present {
            counters.read(present as u64, 0);
        }
        later.files.push(file);
        let is_shared = readers.length() > 1;
        let came = ReadBuffer::from_pool(stretch.start, memory, 0..came).shared_if(is_shared);
        let mut again = Chain::default();
        while let Some(reader) = readers.pop(&mut self.links) {
            let Some(read) = self.reads.get_mut(reader) else { continue };
            let outcome = if read.spot.stretch.asked_end <= came.device_range().end {
                Outcome::Landed(came.clone())
            } else if is_shared {
                // Its own request tells what is wrong with its range.
                read.spot.is_alone = true;
                read.place = Place::Waiting;
                again.push(&mut self.links, reader);
                continue;
            } else {
                // Whether it failed or came short: an error is about the request, which ends with the thread that submitted it.
                Outcome::WithoutRing
            };
            self.end(reader, outcome, later);
        }
        self.waiting.put_first(&mut self.links, again);
        later.buffers.push(came);
    }

    /// Ends all reads. What the kernel has stays.
    pub(super) fn break_off(&mut self, later: &mut Later) {
        for number in 0..self.reads.end() {
            if self.reads.get(number).is_some_and(|read| read.place != Place::Nowhere) {
                self.leave(number);
                self.end(number, Outcome::WithoutRing, later);
            }
        }
    }

    /// Ends the reads whose time is over, and lists the requests that nobody waits for any more.
    pub(super) fn expire(&mut self, now_us: u64, given_up: &mut Vec<usize>, later: &mut Later) {
        self.next_end_us = u64::MAX;
        for number in 0..self.reads.end() {
            let Some(read) = self.reads.get(number).filter(|read| read.place != Place::Nowhere) else { continue };
            if read.end_us > now_us {
                self.next_end_us = self.next_end_us.min(read.end_us);
                continue;
            }
            given_up.extend(self.leave(number));
            self.end(number, Outcome::Late, later);
        }
    }

    /// What the kernel may still write to, with the descriptors.
    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        self.flying.clear();
        self.requests.take_all()
    }
}

fn address_of(file: &Arc<dyn RandomAccessFile>) -> usize {
    Arc::as_ptr(file).cast::<()>().addr()
}

fn key_of(request: &Request) -> (usize, u64) {
    (address_of(&request.file), request.stretch.start)
}
