//! Events that wait for a thread that may tell them, told one after the other in their order.
//!
//! A queue has at most one thread that tells. Others leave their events to it, or wait until it has told all.

use super::Event;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

#[derive(Default)]
struct State {
    waiting: VecDeque<Event>,
    /// A thread tells, or is about to begin.
    is_telling: bool,
    teller: Option<ThreadId>,
}

/// See the [module](self). The lock is a leaf: no listener is called under it.
#[derive(Default)]
pub(super) struct EventQueue {
    /// What the state says, for those who come by.
    has_events: AtomicBool,
    state: Mutex<State>,
    all_told: Condvar,
}

impl EventQueue {
    pub(super) fn add(&self, event: Event) {
        let mut state = self.state.lock();
        state.waiting.push_back(event);
        self.has_events.store(true, Ordering::Release);
    }

    /// True when there may be something to tell.
    #[inline]
    pub(super) fn has_events(&self) -> bool {
        self.has_events.load(Ordering::Acquire)
    }

    /// True for the caller that has to see to it that [`tell_all`](Self::tell_all) is called: events wait, and no
    /// thread tells them.
    pub(super) fn begin(&self) -> bool {
        let mut state = self.state.lock();
        let begins = !state.is_telling && !state.waiting.is_empty();
        state.is_telling |= begins;
        begins
    }

    /// Gives up what [`begin`](Self::begin) gave.
    pub(super) fn give_up(&self) {
        self.state.lock().is_telling = false;
        self.all_told.notify_all();
    }

    /// Tells all that waits. The caller has begun.
    pub(super) fn tell_all(&self, tell: impl Fn(&Event)) {
        loop {
            let mut state = self.state.lock();
            state.teller = Some(std::thread::current().id());
            let Some(event) = state.waiting.pop_front() else {
                (state.is_telling, state.teller) = (false, None);
                self.has_events.store(false, Ordering::Release);
                self.all_told.notify_all();
                return;
            };
            drop(state);
            tell(&event);
        }
    }

    /// Waits until no thread tells, unless a listener that this thread tells of an event waits here.
    pub(super) fn wait(&self) {
        let mut state = self.state.lock();
        while state.is_telling && state.teller != Some(std::thread::current().id()) {
            self.all_told.wait(&mut state);
        }
    }

    /// True in a listener that is told of an event of the queue.
    pub(super) fn is_told_by_this_thread(&self) -> bool {
        self.state.lock().teller == Some(std::thread::current().id())
    }
}
