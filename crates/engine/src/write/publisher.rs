//! Sequence numbers of write groups: given in the order of the log, and visible to readers in the same order.
//!
//! ```text
//! numbers   ... visible | of groups that are logged and being inserted | not given yet ...
//!               ended                                                given
//!
//! group 1   log |--- insert ---| end
//! group 2       log |- insert -|......... end      behind group 1, which it waits for
//! ```
//!
//! Every group that is logged takes a [turn](InsertTurn), whether its leader hands the write queue over before it
//! inserts, or after.
//!
//! A group that failed while it was inserted, or whose thread panicked, ends as well, since those behind it wait. From
//! then on nothing becomes visible: part of that group is in the memtables. The groups behind it fail, too.
//!
//! Invariants: turns end in the order of their numbers; `visible` never passes a number whose entry, or that of a
//! smaller number, is not in its memtable.

use super::patience::Patience;
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::sync::{Condvar, Mutex};
use ferrock_base::{Error, ErrorKind, Result, SequenceNumber};

/// See the [module](self).
pub(crate) struct Publisher {
    /// The newest sequence number that readers see.
    visible: AtomicU64,
    /// The groups up to this number have ended. It differs from `visible` only behind a group that failed.
    ended: AtomicU64,
    /// The newest sequence number of all groups. Stored by leaders alone.
    given: AtomicU64,
    /// 1: a group failed.
    is_broken: AtomicU64,
    patience: Patience,
    /// Threads that sleep until `ended` has changed.
    sleepers: AtomicU64,
    sleep: Mutex<()>,
    changed: Condvar,
}

/// The place of a group in the order in which groups become visible. Dropped without an [end](Self::end) the group has
/// failed.
#[must_use]
pub(crate) struct InsertTurn<'a> {
    publisher: &'a Publisher,
    /// What must have ended before.
    before: u64,
    /// As `before` for a group without numbers, which inserts nothing.
    last: u64,
    has_ended: bool,
}

impl Publisher {
    pub(crate) fn new(visible: SequenceNumber) -> Self {
        Self {
            visible: AtomicU64::new(visible.0),
            ended: AtomicU64::new(visible.0),
            given: AtomicU64::new(visible.0),
            is_broken: AtomicU64::new(0),
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

    /// Gives the numbers up to `last` to nothing, and lets readers pass over them. Only a leader may call it, while no
    /// turn is open.
    pub(crate) fn skip(&self, last: SequenceNumber) {
        self.given.store(last.0, Ordering::Relaxed);
        if self.is_broken.load(Ordering::Relaxed) == 0 {
            self.visible.store(last.0, Ordering::Release);
        }
        self.ended.store(last.0, Ordering::Release);
    }

    /// As [`skip`](Self::skip), but never back, for recovery.
    pub(crate) fn raise(&self, last: SequenceNumber) {
        self.skip(self.visible().max(last));
    }

    /// Gives the numbers up to `last` to the group of this leader, which is in the log and not in the memtables.
    #[inline]
    pub(crate) fn begin_insert(&self, last: SequenceNumber) -> InsertTurn<'_> {
        let before = self.given.load(Ordering::Relaxed);
        self.given.store(last.0, Ordering::Relaxed);
        InsertTurn { publisher: self, before, last: last.0, has_ended: false }
    }

    /// Waits until no group is being inserted. Only a leader may call it.
    #[inline]
    pub(crate) fn wait_for_inserts(&self) {
        self.wait_for_end(self.given.load(Ordering::Relaxed));
    }

    #[inline]
    fn wait_for_end(&self, number: u64) {
        if self.ended.load(Ordering::Acquire) < number {
            self.sleep_until_end(number);
        }
    }

    #[cold]
    fn sleep_until_end(&self, number: u64) {
        let has_ended = || self.ended.load(Ordering::Acquire) >= number;
        self.patience.look(has_ended);
        if has_ended() {
            return;
        }
        let mut sleeping = self.sleep.lock();
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Either this thread sees the number that a turn stored, or that turn sees the sleeper.
        fence(Ordering::SeqCst);
        while !has_ended() {
            sleeping = self.changed.wait(sleeping);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl InsertTurn<'_> {
    /// Waits until every group before this one has ended.
    #[inline]
    pub(crate) fn wait(&self) {
        self.publisher.wait_for_end(self.before);
    }

    /// Ends the group behind those before it, which makes it visible.
    ///
    /// # Errors
    /// The group's own, and `Aborted` behind a group that failed.
    #[inline]
    pub(crate) fn end(mut self, inserted: Result<()>) -> Result<()> {
        self.has_ended = true;
        self.wait();
        let publisher = self.publisher;
        let is_broken = publisher.is_broken.load(Ordering::Relaxed) != 0;
        if inserted.is_err() {
            publisher.is_broken.store(1, Ordering::Relaxed);
        }
        // A group without numbers may end while the next one does, and must not take it back.
        if self.last > self.before {
            if inserted.is_ok() && !is_broken {
                publisher.visible.store(self.last, Ordering::Release);
            }
            publisher.ended.store(self.last, Ordering::Release);
            fence(Ordering::SeqCst);
            if publisher.sleepers.load(Ordering::Relaxed) > 0 {
                // A thread between its last look and its sleep holds the lock.
                drop(publisher.sleep.lock());
                publisher.changed.notify_all();
            }
        }
        if is_broken { inserted.and(Err(failed_before())) } else { inserted }
    }
}

#[cold]
fn failed_before() -> Error {
    Error::new(
        ErrorKind::Aborted,
        "a write before this one failed while it was put into the memtable: open the database again; what its log has \
         of both is there then",
    )
}

impl Drop for InsertTurn<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            let turn = InsertTurn { has_ended: true, ..*self };
            // The thread panics.
            drop(turn.end(Err(failed_before())));
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
                    second.end(Ok(())).unwrap();
                    sender.send(publisher.visible().0).unwrap();
                })
                .unwrap();
            assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err(), "it waits for the group before it");
            assert_eq!(publisher.visible().0, 10);
            first.end(Ok(())).unwrap();
            assert_eq!(receiver.recv().unwrap(), 15);
        });
        publisher.wait_for_inserts();
        publisher.skip(SequenceNumber(20));
        publisher.raise(SequenceNumber(18));
        assert_eq!((publisher.visible().0, publisher.given().0), (20, 20));
    }

    #[test]
    fn a_group_without_numbers_takes_nothing_back() {
        let publisher = Publisher::new(SequenceNumber(12));
        let empty = publisher.begin_insert(SequenceNumber(12));
        publisher.begin_insert(SequenceNumber(15)).end(Ok(())).unwrap();
        empty.end(Ok(())).unwrap();
        assert_eq!((publisher.visible().0, publisher.given().0), (15, 15));
        publisher.wait_for_inserts();
    }

    #[test]
    fn nothing_becomes_visible_behind_a_group_that_failed() {
        for panics in [false, true] {
            let publisher = Publisher::new(SequenceNumber(10));
            let [first, second, third] = [11, 12, 13].map(|last| publisher.begin_insert(SequenceNumber(last)));
            first.end(Ok(())).unwrap();
            if panics {
                drop(second);
            } else {
                assert_eq!(second.end(Err(Error::corruption("damaged"))).unwrap_err().kind(), ErrorKind::Corruption);
            }
            assert_eq!(third.end(Ok(())).unwrap_err().kind(), ErrorKind::Aborted);
            publisher.wait_for_inserts();
            publisher.skip(SequenceNumber(14));
            assert_eq!((publisher.visible().0, publisher.given().0), (11, 14));
        }
    }
}

#[cfg(all(test, shuttle))]
mod models {
    use super::*;
    use std::sync::Arc;

    /// Four groups, one of them without numbers, are inserted by threads of their own, in any order, and a leader waits
    /// for all: what is visible has been inserted and stays visible, and no thread sleeps for ever.
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
                let leaders = Arc::new(shuttle::sync::Mutex::new(0_u64));
                let threads: Vec<_> = (0..4_u64)
                    .map(|thread| {
                        let publisher = Arc::clone(&publisher);
                        let inserted = Arc::clone(&inserted);
                        let leaders = Arc::clone(&leaders);
                        shuttle::thread::spawn(move || {
                            let mut leader = leaders.lock().unwrap();
                            *leader += thread.min(1);
                            let number = *leader;
                            let turn = publisher.begin_insert(SequenceNumber(number));
                            drop(leader);
                            if thread > 0 {
                                inserted[number as usize].store(1, Ordering::Relaxed);
                            }
                            turn.end(Ok(())).unwrap();
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
