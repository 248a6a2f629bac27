//! The write path: its parts, and the stages that a group of batches goes through.
//!
//! ```text
//! admission       refuse what could fail later (db/write.rs), join the queue       queue.rs, request.rs
//! make room       errors, stalls, full memtables, too much log                     controller.rs, memory_pace.rs
//! check           what a request brought to be asked before it is logged           request.rs
//! log             one record for the group                                         logs.rs, wal.rs
//! insert          alone, or each member its own batch                              insert.rs
//! publish         the last sequence number of the group becomes visible
//! ```
//!
//! A leader hands the queue over before it inserts where other writers come and go: the next group is logged meanwhile
//! ([`publisher`] keeps their order). Two writers that waited for each other's inserts made 0.55 of what one alone
//! did (232 and 425 thousand a second, docs/benchmarks.md).
//!
//! Invariants: only the leader of the queue gives numbers, appends and switches logs and memtables, and it switches
//! memtables only while none is being inserted into; a number is published after the entries that have it, and those
//! of all smaller ones, are in the memtables. An uncontended write locks one mutex, that of the log: it joins and
//! leaves the queue with an atomic each, and looks at the controller and at the wish for room without a lock.

pub(crate) mod controller;
pub(crate) mod insert;
pub(crate) mod logs;
pub(crate) mod memory_pace;
mod patience;
pub(crate) mod publisher;
pub(crate) mod queue;
pub(crate) mod request;
pub(crate) mod timer;
pub(crate) mod wal;

use controller::WriteController;
use ferrock_base::SequenceNumber;
use ferrock_base::clock::Clock;
use logs::Logs;
use memory_pace::MemoryPace;
use publisher::Publisher;
use queue::WriteQueue;
use request::{WriteGroup, WriteRequest};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the writers of a database share.
pub(crate) struct WritePath {
    queue: WriteQueue<WriteRequest, WriteGroup>,
    logs: Logs,
    /// Shared with the scheduler of jobs, which says how far behind they are.
    controller: Arc<WriteController>,
    /// Also of the flushes, which say when memory will be free.
    memory_pace: MemoryPace,
    publisher: Publisher,
    /// A memtable is full, or there is too much log: the next leader makes room.
    is_room_needed: AtomicBool,
    has_unlogged_writes: AtomicBool,
}

impl WritePath {
    /// Everything up to `visible` is in tables or is about to be recovered. Delayed writers get `delayed_rate` bytes a
    /// second.
    pub(crate) fn new(logs: Logs, visible: SequenceNumber, delayed_rate: u64, clock: Arc<dyn Clock>) -> Self {
        Self {
            queue: WriteQueue::new(),
            logs,
            controller: Arc::new(WriteController::new(delayed_rate, Arc::clone(&clock))),
            memory_pace: MemoryPace::new(clock),
            publisher: Publisher::new(visible),
            // What an open finds may be too much log.
            is_room_needed: AtomicBool::new(true),
            has_unlogged_writes: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn queue(&self) -> &WriteQueue<WriteRequest, WriteGroup> {
        &self.queue
    }

    #[inline]
    pub(crate) fn logs(&self) -> &Logs {
        &self.logs
    }

    #[inline]
    pub(crate) fn controller(&self) -> &Arc<WriteController> {
        &self.controller
    }

    #[inline]
    pub(crate) fn memory_pace(&self) -> &MemoryPace {
        &self.memory_pace
    }

    /// The order in which groups become visible.
    #[inline]
    pub(crate) fn publisher(&self) -> &Publisher {
        &self.publisher
    }

    /// The next leader looks whether a memtable has to be switched.
    pub(crate) fn ask_for_room(&self) {
        self.is_room_needed.store(true, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_room_needed(&self) -> bool {
        self.is_room_needed.load(Ordering::Acquire)
    }

    /// The leader is about to look at everything that [`ask_for_room`](Self::ask_for_room) may mean.
    pub(crate) fn begin_making_room(&self) {
        self.is_room_needed.store(false, Ordering::Release);
    }

    /// Entries are written that no log has: closing flushes.
    pub(crate) fn note_unlogged(&self) {
        self.has_unlogged_writes.store(true, Ordering::Release);
    }

    pub(crate) fn has_unlogged_writes(&self) -> bool {
        self.has_unlogged_writes.load(Ordering::Acquire)
    }
}
