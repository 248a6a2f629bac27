//! The write queue: concurrent writers form groups, one leader writes for its group.
//!
//! ```text
//! join -> Leader ----------- collect members -> log -> hand over -> memtable -> in its turn visible -> finish members
//!      \-> (waits) -> Insert: puts its own batch into the memtable beside the leader, then waits for the verdict
//!                  -> Verdict: the leader did everything
//!                  -> Leader: the one before handed over
//! ```
//!
//! A leader hands over before the memtable where another writer waits or is expected, and where other threads may
//! insert at the same time; else at the end.
//!
//! Invariants: at most one leader at a time; a writer leaves the queue with a verdict or as leader, never both; a
//! leader hands over exactly once (its guard does it when dropped, so that a failing leader blocks no writer). Verdicts
//! of the next group may come before those of this one.
//!
//! A writer that finds the queue free leads with one compare-and-swap of `status`, and leaves it free with another one
//! when none came meanwhile. The lock is taken only to wait and to hand over: under it alone `WAITED_FOR` changes. A
//! lock-free list of writers was not built: groups make waiting rare.

use super::patience::Patience;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex};
use ferrock_base::{Error, ErrorKind, Result};
use std::collections::VecDeque;
use std::sync::Arc;

enum WaiterState<W, G> {
    /// In the queue, with its work.
    Waiting(W),
    /// The leader has the work.
    Taken,
    /// It shall insert its own batch as part of the group.
    Insert(W, Arc<G>),
    /// It leads now.
    Lead(W),
    /// The leader is done with it.
    Verdict(Result<()>),
}

/// A writer that waits behind a leader.
pub(crate) struct Waiter<W, G> {
    state: Mutex<WaiterState<W, G>>,
    changed: Condvar,
    /// How often another thread changed the state: what a writer looks at before it sleeps.
    changes: AtomicU64,
}

impl<W, G> Waiter<W, G> {
    fn change(&self, state: WaiterState<W, G>) {
        let mut now = self.state.lock();
        *now = state;
        self.changes.fetch_add(1, Ordering::Release);
        drop(now);
        self.changed.notify_one();
    }

    /// Returns the state once `is_awaited` holds for it, having looked for a while before it sleeps.
    /// `seen` is how many changes the caller knows of, then how many there were.
    fn wait(
        &self,
        patience: &Patience,
        seen: &mut u64,
        is_awaited: impl Fn(&WaiterState<W, G>) -> bool,
    ) -> WaiterState<W, G> {
        loop {
            patience.look(|| self.changes.load(Ordering::Acquire) > *seen);
            let mut state = self.state.lock();
            while !is_awaited(&state) && self.changes.load(Ordering::Relaxed) == *seen {
                state = self.changed.wait(state);
            }
            *seen = self.changes.load(Ordering::Relaxed);
            if is_awaited(&state) {
                return std::mem::replace(&mut *state, WaiterState::Taken);
            }
        }
    }

    fn take_work(&self) -> Option<W> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, WaiterState::Taken) {
            WaiterState::Waiting(work) => Some(work),
            other => {
                *state = other;
                None
            }
        }
    }
}

/// No writer leads, and none waits.
const FREE: u64 = 0;
/// A writer leads.
const LED: u64 = 1;
/// Writers wait; the lock is needed to leave the queue.
const WAITED_FOR: u64 = 2;

/// A writer that came while another one led makes others expected for so many groups.
const EXPECTED_FOR: u64 = 64;

/// Writers in their order. `W` is a writer's work, `G` what members of a group share.
pub(crate) struct WriteQueue<W, G> {
    /// [`FREE`], [`LED`], or [`LED`] and [`WAITED_FOR`]; the latter exactly when `waiting` has a writer.
    status: AtomicU64,
    waiting: Mutex<VecDeque<Arc<Waiter<W, G>>>>,
    patience: Patience,
    /// For so many more leaders another writer is expected, since one came while another one led.
    expected: AtomicU64,
}

/// What a writer that joined has become.
pub(crate) enum Role<'a, W, G> {
    /// It writes, for itself and the members that it collects.
    Leader(LeaderGuard<'a, W, G>, W),
    /// It inserts its own batch, then calls [`Inserter::wait`].
    Insert(W, Arc<G>, Inserter<'a, W, G>),
    /// It is done.
    Verdict(Result<()>),
}

/// A member of a group that inserts its own batch.
pub(crate) struct Inserter<'a, W, G> {
    waiter: Arc<Waiter<W, G>>,
    patience: &'a Patience,
    /// Changes of the waiter until it became one that inserts.
    seen: u64,
}

impl<W, G> Inserter<'_, W, G> {
    /// Waits until the whole group is done.
    pub(crate) fn wait(mut self) -> Result<()> {
        match self.waiter.wait(self.patience, &mut self.seen, |state| matches!(state, WaiterState::Verdict(_))) {
            WaiterState::Verdict(verdict) => verdict,
            _ => Err(Error::new(ErrorKind::Aborted, "a write ended without a verdict")),
        }
    }
}

/// Leadership; handed to the next writer when dropped.
pub(crate) struct LeaderGuard<'a, W, G> {
    queue: &'a WriteQueue<W, G>,
}

/// A collected member of the leader's group. Dropped without a verdict (the leader failed) it reports an abort.
pub(crate) struct Member<W, G> {
    waiter: Arc<Waiter<W, G>>,
    work: Option<W>,
    is_finished: bool,
}

impl<W, G> WriteQueue<W, G> {
    pub(crate) fn new() -> Self {
        Self {
            status: AtomicU64::new(FREE),
            waiting: Mutex::new(VecDeque::new()),
            patience: Patience::new(),
            expected: AtomicU64::new(0),
        }
    }

    /// Joins the queue and waits for a role.
    pub(crate) fn join(&self, work: W) -> Role<'_, W, G> {
        if self.status.compare_exchange(FREE, LED, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return Role::Leader(LeaderGuard { queue: self }, work);
        }
        self.wait_for_role(work)
    }

    #[cold]
    fn wait_for_role(&self, work: W) -> Role<'_, W, G> {
        let mut waiting = self.waiting.lock();
        if self.status.fetch_or(LED | WAITED_FOR, Ordering::AcqRel) == FREE {
            // It became free meanwhile. This thread leads now, and under the lock no other can begin to wait.
            self.status.store(LED, Ordering::Release);
            return Role::Leader(LeaderGuard { queue: self }, work);
        }
        self.expected.store(EXPECTED_FOR, Ordering::Relaxed);
        let waiter = Arc::new(Waiter {
            state: Mutex::new(WaiterState::Waiting(work)),
            changed: Condvar::new(),
            changes: AtomicU64::new(0),
        });
        waiting.push_back(Arc::clone(&waiter));
        drop(waiting);
        let is_role = |state: &WaiterState<W, G>| {
            matches!(state, WaiterState::Lead(_) | WaiterState::Verdict(_) | WaiterState::Insert(..))
        };
        let mut seen = 0;
        match waiter.wait(&self.patience, &mut seen, is_role) {
            WaiterState::Lead(work) => Role::Leader(LeaderGuard { queue: self }, work),
            WaiterState::Insert(work, group) => {
                Role::Insert(work, group, Inserter { waiter, patience: &self.patience, seen })
            }
            WaiterState::Verdict(verdict) => Role::Verdict(verdict),
            WaiterState::Waiting(_) | WaiterState::Taken => {
                Role::Verdict(Err(Error::new(ErrorKind::Aborted, "a write ended without a role")))
            }
        }
    }

    /// Writers that wait, for the statistics.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.lock().len()
    }
}

impl<W, G> LeaderGuard<'_, W, G> {
    /// True when another writer waits for its turn, or is likely to come before this one is done.
    pub(crate) fn expects_writer(&self) -> bool {
        let expected = self.queue.expected.load(Ordering::Relaxed);
        if self.queue.status.load(Ordering::Relaxed) & WAITED_FOR != 0 {
            if expected != EXPECTED_FOR {
                self.queue.expected.store(EXPECTED_FOR, Ordering::Relaxed);
            }
            return true;
        }
        if expected > 0 {
            self.queue.expected.store(expected - 1, Ordering::Relaxed);
        }
        expected > 0
    }

    /// Takes waiting writers into the group, in their order, until `accept` refuses one.
    #[inline]
    pub(crate) fn collect(&self, members: &mut Vec<Member<W, G>>, accept: impl FnMut(&W) -> bool) {
        if self.queue.status.load(Ordering::Acquire) & WAITED_FOR != 0 {
            self.collect_waiting(members, accept);
        }
    }

    #[inline(never)]
    fn collect_waiting(&self, members: &mut Vec<Member<W, G>>, mut accept: impl FnMut(&W) -> bool) {
        let mut waiting = self.queue.waiting.lock();
        while let Some(waiter) = waiting.front() {
            let is_accepted = match &*waiter.state.lock() {
                WaiterState::Waiting(work) => accept(work),
                _ => false,
            };
            if !is_accepted {
                return;
            }
            if let Some(waiter) = waiting.pop_front() {
                let work = waiter.take_work();
                members.push(Member { waiter, work, is_finished: false });
            }
        }
        self.queue.status.store(LED, Ordering::Release);
    }

    /// Lets the next writer lead, if one waits.
    #[inline(never)]
    fn pass_on(&self) {
        let status = &self.queue.status;
        let mut waiting = self.queue.waiting.lock();
        while let Some(next) = waiting.pop_front() {
            if let Some(work) = next.take_work() {
                if waiting.is_empty() {
                    status.store(LED, Ordering::Release);
                }
                drop(waiting);
                next.change(WaiterState::Lead(work));
                return;
            }
        }
        status.store(FREE, Ordering::Release);
    }
}

impl<W, G> Drop for LeaderGuard<'_, W, G> {
    #[inline]
    fn drop(&mut self) {
        if self.queue.status.compare_exchange(LED, FREE, Ordering::Release, Ordering::Relaxed).is_err() {
            self.pass_on();
        }
    }
}

impl<W, G> Member<W, G> {
    /// The member's work, while the leader has it.
    pub(crate) fn work(&self) -> Option<&W> {
        self.work.as_ref()
    }

    /// The member's work, while the leader has it.
    pub(crate) fn work_mut(&mut self) -> Option<&mut W> {
        self.work.as_mut()
    }

    /// Gives the work back: the member shall insert it itself.
    pub(crate) fn let_insert(&mut self, group: Arc<G>) {
        if let Some(work) = self.work.take() {
            self.waiter.change(WaiterState::Insert(work, group));
        }
    }

    /// Tells the member how it went. Its work is dropped before: what that gives back is there when the member goes on.
    pub(crate) fn finish(mut self, verdict: Result<()>) {
        self.is_finished = true;
        self.work = None;
        self.waiter.change(WaiterState::Verdict(verdict));
    }
}

impl<W, G> Drop for Member<W, G> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.work = None;
            let error =
                Error::new(ErrorKind::Aborted, "the writer that led this group failed before it came to this write");
            self.waiter.change(WaiterState::Verdict(Err(error)));
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_writer_is_served_once_and_in_groups() {
        let queue: Arc<WriteQueue<usize, AtomicUsize>> = Arc::new(WriteQueue::new());
        let written = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let groups = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..4usize)
            .map(|thread| {
                let (queue, written, groups) = (Arc::clone(&queue), Arc::clone(&written), Arc::clone(&groups));
                std::thread::Builder::new()
                    .spawn(move || {
                        for number in 0..500 {
                            let work = thread * 1000 + number;
                            match queue.join(work) {
                                Role::Leader(guard, work) => {
                                    let mut members = Vec::new();
                                    guard.collect(&mut members, |_| true);
                                    let mut log = written.lock();
                                    log.push(work);
                                    log.extend(members.iter().filter_map(|member| member.work().copied()));
                                    drop(log);
                                    groups.fetch_add(1, Ordering::Relaxed);
                                    members.into_iter().for_each(|member| member.finish(Ok(())));
                                }
                                Role::Verdict(verdict) => verdict.unwrap(),
                                Role::Insert(..) => panic!("no member asked for it"),
                            }
                        }
                    })
                    .unwrap()
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let mut written = written.lock().clone();
        for thread in 0..4 {
            let own: Vec<usize> = written.iter().copied().filter(|work| work / 1000 == thread).collect();
            assert!(own.is_sorted(), "a thread's writes keep their order");
        }
        written.sort_unstable();
        assert_eq!(written, (0..4).flat_map(|thread| (0..500).map(move |n| thread * 1000 + n)).collect::<Vec<_>>());
        assert!(groups.load(Ordering::Relaxed) <= 2000);
        assert_eq!(queue.waiting(), 0);
    }
}

#[cfg(all(test, shuttle))]
mod models {
    use super::*;
    use shuttle::sync::atomic::{AtomicUsize, Ordering};

    /// Three writers; leaders let members insert for themselves. Every write lands once, and no thread waits forever.
    #[test]
    fn groups_with_inserting_members() {
        shuttle::check_random(
            || {
                let queue: Arc<WriteQueue<usize, AtomicUsize>> = Arc::new(WriteQueue::new());
                let total = Arc::new(AtomicUsize::new(0));
                let threads: Vec<_> = (1..=3usize)
                    .map(|work| {
                        let (queue, total) = (Arc::clone(&queue), Arc::clone(&total));
                        shuttle::thread::spawn(move || match queue.join(work) {
                            Role::Leader(guard, work) => {
                                let mut members = Vec::new();
                                guard.collect(&mut members, |_| true);
                                let group = Arc::new(AtomicUsize::new(members.len()));
                                members.iter_mut().for_each(|member| member.let_insert(Arc::clone(&group)));
                                total.fetch_add(work, Ordering::SeqCst);
                                while group.load(Ordering::SeqCst) > 0 {
                                    shuttle::thread::yield_now();
                                }
                                members.into_iter().for_each(|member| member.finish(Ok(())));
                            }
                            Role::Insert(work, group, inserter) => {
                                total.fetch_add(work, Ordering::SeqCst);
                                group.fetch_sub(1, Ordering::SeqCst);
                                inserter.wait().unwrap();
                            }
                            Role::Verdict(verdict) => verdict.unwrap(),
                        })
                    })
                    .collect();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
                assert_eq!(total.load(Ordering::SeqCst), 6);
            },
            3_000,
        );
    }

    /// A leader that gives up lets the next one lead and tells its members.
    #[test]
    fn a_failing_leader_blocks_nobody() {
        shuttle::check_random(
            || {
                let queue: Arc<WriteQueue<usize, ()>> = Arc::new(WriteQueue::new());
                let threads: Vec<_> = (0..3usize)
                    .map(|work| {
                        let queue = Arc::clone(&queue);
                        shuttle::thread::spawn(move || match queue.join(work) {
                            Role::Leader(guard, _) => {
                                let mut members = Vec::new();
                                guard.collect(&mut members, |_| true);
                            }
                            Role::Verdict(verdict) => assert!(verdict.is_err()),
                            Role::Insert(..) => unreachable!(),
                        })
                    })
                    .collect();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            },
            3_000,
        );
    }
}
