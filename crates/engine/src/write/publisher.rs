//! Sequence numbers of write groups: given in the order of the log, and visible to readers in the same order.
//!
//! ```text
//! numbers   ... visible | of groups that are logged and being inserted | not given yet ...
//!                    visible                                         given
//!
//! group 1   log |--- insert ---| publish
//! group 2       log |- insert -|......... publish      behind group 1, which it waits for
//! ```
//!
//! A leader that hands the write queue over before it inserts gives its group a [turn](InsertTurn). Groups whose leader
//! stays until the end are [published](Publisher::publish) by it, while no turn is open.
//!
//! Invariants: `visible` never passes a number whose entry, or that of a smaller number, is not in its memtable; each
//! turn ends, also that of a group that failed, for those behind it wait.

use super::patience::Patience;
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::sync::{Condvar, Mutex};
use ferrock_base::SequenceNumber;

/// See the [module](self).
pub(crate) struct Publisher {
    /// The newest sequence number that readers see.
    visible: AtomicU64,
    /// The newest sequence number of all groups. Stored by leaders alone.
    given: AtomicU64,
    patience: Patience,
    /// Threads that sleep until `visible` has changed.
    sleepers: AtomicU64,
    sleep: Mutex<()>,
    changed: Condvar,
}

/// The place of a group in the order in which groups become visible. Dropped, it publishes the group.
pub(crate) struct InsertTurn<'a> {
    publisher: &'a Publisher,
    /// What must be visible before.
    before: u64,
    last: u64,
}

impl Publisher {
    pub(crate) fn new(visible: SequenceNumber) -> Self {
        Self {
            visible: AtomicU64::new(visible.0),
            given: AtomicU64::new(visible.0),
            patience: Patience::new(),
            sleepers: AtomicU64::new(0),
            sleep: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    /// The newest sequence number that readers see.
    #[inline]
    pub(crate) fn visible(&self) -> SequenceNumber {
        SequenceNumber(self.visible.load(Ordering::Acquire))
    }

    /// The newest sequence number that any group has. Only a leader may call it.
    #[inline]
    pub(crate) fn given(&self) -> SequenceNumber {
        SequenceNumber(self.given.load(Ordering::Relaxed))
    }

    /// Lets readers see everything up to `last`. Only a leader may call it, while no turn is open.
    #[inline]
    pub(crate) fn publish(&self, last: SequenceNumber) {
        self.given.store(last.0, Ordering::Relaxed);
        self.visible.store(last.0, Ordering::Release);
    }

    /// As [`publish`](Self::publish), but never back, for recovery.
    pub(crate) fn raise(&self, last: SequenceNumber) {
        let last = self.visible().max(last);
        self.publish(last);
    }

    /// Gives the numbers up to `last` to the group of this leader, which hands over before it inserts.
    pub(crate) fn begin_insert(&self, last: SequenceNumber) -> InsertTurn<'_> {
        let before = self.given.load(Ordering::Relaxed);
        self.given.store(last.0, Ordering::Relaxed);
        InsertTurn { publisher: self, before, last: last.0 }
    }

    /// Waits until every group that has numbers is in the memtables. Only a leader may call it.
    #[inline]
    pub(crate) fn wait_for_inserts(&self) {
        self.wait_until_visible(self.given.load(Ordering::Relaxed));
    }

    #[inline]
    fn wait_until_visible(&self, number: u64) {
        if self.visible.load(Ordering::Acquire) < number {
            self.sleep_until_visible(number);
        }
    }

    #[cold]
    fn sleep_until_visible(&self, number: u64) {
        let is_visible = || self.visible.load(Ordering::Acquire) >= number;
        self.patience.look(is_visible);
        if is_visible() {
            return;
        }
        let mut sleeping = self.sleep.lock();
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Either this thread sees the number that a turn stored, or that turn sees the sleeper.
        fence(Ordering::SeqCst);
        while !is_visible() {
            sleeping = self.changed.wait(sleeping);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl InsertTurn<'_> {
    /// Waits until every group before this one is visible.
    #[inline]
    pub(crate) fn wait(&self) {
        self.publisher.wait_until_visible(self.before);
    }
}

impl Drop for InsertTurn<'_> {
    fn drop(&mut self) {
        self.wait();
        self.publisher.visible.store(self.last, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.publisher.sleepers.load(Ordering::Relaxed) > 0 {
            // A thread between its last look and its sleep holds the lock.
            drop(self.publisher.sleep.lock());
            self.publisher.changed.notify_all();
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn groups_become_visible_in_the_order_of_their_numbers() {
        let publisher = Publisher::new(SequenceNumber(10));
        let first = publisher.begin_insert(SequenceNumber(12));
        let second = publisher.begin_insert(SequenceNumber(15));
        assert_eq!((publisher.visible().0, publisher.given().0), (10, 15));
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let publisher = &publisher;
            std::thread::Builder::new()
                .spawn_scoped(scope, move || {
                    drop(second);
                    sender.send(publisher.visible().0).unwrap();
                })
                .unwrap();
            assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err(), "it waits for the group before it");
            assert_eq!(publisher.visible().0, 10);
            drop(first);
            assert_eq!(receiver.recv().unwrap(), 15);
        });
        publisher.wait_for_inserts();
        publisher.publish(SequenceNumber(20));
        publisher.raise(SequenceNumber(18));
        assert_eq!((publisher.visible().0, publisher.given().0), (20, 20));
    }
}

#[cfg(all(test, shuttle))]
mod models {
    use super::*;
    use std::sync::Arc;

    /// Three groups are inserted by threads of their own, in any order, and a leader waits for all: what is visible has
    /// been inserted, and no thread sleeps for ever.
    #[test]
    fn model_of_groups_that_are_inserted_at_once() {
        shuttle::check_random(
            || {
                let publisher = Arc::new(Publisher::new(SequenceNumber(0)));
                let inserted: Arc<Vec<AtomicU64>> = Arc::new((0..4).map(|_| AtomicU64::new(0)).collect());
                let check = |publisher: &Publisher, inserted: &[AtomicU64]| {
                    let visible = publisher.visible().0 as usize;
                    assert!(inserted[1..=visible].iter().all(|flag| flag.load(Ordering::Relaxed) == 1), "{visible}");
                };
                // The numbers are given by leaders, one after the other.
                let leaders = shuttle::sync::Mutex::new(0_u64);
                let leaders = Arc::new(leaders);
                let threads: Vec<_> = (0..3)
                    .map(|_| {
                        let publisher = Arc::clone(&publisher);
                        let inserted = Arc::clone(&inserted);
                        let leaders = Arc::clone(&leaders);
                        shuttle::thread::spawn(move || {
                            let mut leader = leaders.lock().unwrap();
                            *leader += 1;
                            let number = *leader;
                            let turn = publisher.begin_insert(SequenceNumber(number));
                            drop(leader);
                            inserted[number as usize].store(1, Ordering::Relaxed);
                            drop(turn);
                            check(&publisher, &inserted);
                            assert!(publisher.visible().0 >= number);
                        })
                    })
                    .collect();
                let leader = leaders.lock().unwrap();
                publisher.wait_for_inserts();
                assert_eq!(publisher.visible(), publisher.given());
                check(&publisher, &inserted);
                drop(leader);
                threads.into_iter().for_each(|thread| thread.join().unwrap());
                assert_eq!(publisher.visible().0, 3);
            },
            5_000,
        );
    }
}
