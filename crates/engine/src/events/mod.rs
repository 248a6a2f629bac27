//! What the database tells the outside: lines of the LOG, and calls of listeners.
//!
//! Listeners are user code: they may call the database, and may take as long as they like. So no lock of the database
//! is held while one is called, and none while the write queue is led. There are three ways for an event:
//!
//! ```text
//! no lock held            tell            ------------------------------------------------> listeners, on this thread
//! locks held, or leading  collect, defer  ---> queue ---> tell_collected, behind the locks ---> listeners
//! stall conditions        note_stall      ---> queue ---> tell_stalls ---> a thread ---> listeners
//! ```
//!
//! What is collected is told by the thread that collected it, when it has given up its locks, or by a flush that begins
//! before: whichever comes first, in the order in which it was collected.
//!
//! Changes of stall conditions are found out under the lock of the scheduler, often by the leader of the write queue,
//! which then waits for the end of the stall: that is why a thread tells them, which ends when it has told all.
//!
//! Without listeners nothing is collected, and no info is made.
//!
//! Beside that the LOG has a line of JSON for each file and job ([`Events::log_event`]), with RocksDB's keys.

mod event;
mod json_line;
mod queue;
mod threads;

pub(crate) use event::Event;
pub(crate) use json_line::{Item, JsonLine};
pub(crate) use threads::thread_number;

use crate::info_log::InfoLog;
use ferrock_base::Error;
use ferrock_base::thread::Spawner;
use ferrock_options::{BackgroundErrorReason, EventListener, WriteStallInfo};
use parking_lot::Mutex;
use queue::EventQueue;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ThreadId;

/// Where events go.
pub(crate) struct Events {
    listeners: Vec<Arc<dyn EventListener>>,
    log: Arc<InfoLog>,
    collected: EventQueue,
    stalls: EventQueue,
    /// Threads whose events are collected; a leaf.
    deferring: Mutex<Vec<ThreadId>>,
    num_deferring: AtomicUsize,
    is_shutdown_told: AtomicBool,
}

/// While it lives, what its thread tells is collected. See [`Events::defer`].
pub(crate) struct Deferred<'a>(Option<&'a Events>);

impl Drop for Deferred<'_> {
    fn drop(&mut self) {
        let Some(events) = self.0 else { return };
        let this = std::thread::current().id();
        let mut deferring = events.deferring.lock();
        if let Some(at) = deferring.iter().rposition(|thread| *thread == this) {
            deferring.remove(at);
        }
        events.num_deferring.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Events {
    /// Events go to `listeners`, in their order, and to `log`.
    pub(crate) fn new(listeners: Vec<Arc<dyn EventListener>>, log: Arc<InfoLog>) -> Self {
        Self {
            listeners,
            log,
            collected: EventQueue::default(),
            stalls: EventQueue::default(),
            deferring: Mutex::default(),
            num_deferring: AtomicUsize::new(0),
            is_shutdown_told: AtomicBool::new(false),
        }
    }

    /// The LOG.
    #[inline]
    pub(crate) fn log(&self) -> &Arc<InfoLog> {
        &self.log
    }

    /// Writes a line of JSON to the LOG, unless its level is higher than `Info`. The caller may hold any lock under
    /// which the LOG may be written; `fill` may take others.
    pub(crate) fn log_event(&self, name: &str, job_id: Option<u64>, fill: impl FnOnce(&mut JsonLine)) {
        self.log_family_event(name, None, job_id, fill);
    }

    /// As [`log_event`](Self::log_event), of a family that the line begins with.
    pub(crate) fn log_family_event(
        &self,
        name: &str,
        family: Option<&str>,
        job_id: Option<u64>,
        fill: impl FnOnce(&mut JsonLine),
    ) {
        let Some(unix_us) = self.log.event_time_us() else { return };
        let mut line = JsonLine::new(unix_us);
        if let Some(family) = family {
            line.text("cf_name", family);
        }
        if let Some(job_id) = job_id {
            line.number("job", job_id);
        }
        fill(line.text("event", name));
        self.log.info(|| format!("{} EVENT_LOG_v1 {}", thread_number(), line.finish()));
    }

    /// Whether there is anything to be told.
    #[inline]
    pub(crate) fn has_listeners(&self) -> bool {
        !self.listeners.is_empty()
    }

    /// Tells every listener. The caller holds no lock of the database, or has [deferred](Self::defer).
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if !self.has_listeners() {
            return;
        }
        let event = event();
        if self.is_deferring() {
            self.collected.add(event);
        } else {
            self.deliver(&event);
        }
    }

    fn deliver(&self, event: &Event) {
        self.listeners.iter().for_each(|listener| event.deliver(&**listener));
    }

    /// Has an event told by [`tell_collected`](Self::tell_collected). The caller may hold any lock.
    pub(crate) fn collect(&self, event: impl FnOnce() -> Event) {
        if self.has_listeners() {
            self.collected.add(event());
        }
    }

    /// What this thread tells is collected until the value is dropped. [`tell_collected`](Self::tell_collected) follows
    /// when the locks are given up for which it is.
    pub(crate) fn defer(&self) -> Deferred<'_> {
        if !self.has_listeners() {
            return Deferred(None);
        }
        self.num_deferring.fetch_add(1, Ordering::Relaxed);
        self.deferring.lock().push(std::thread::current().id());
        Deferred(Some(self))
    }

    fn is_deferring(&self) -> bool {
        // A thread sees what it has counted itself.
        self.num_deferring.load(Ordering::Relaxed) > 0 && self.deferring.lock().contains(&std::thread::current().id())
    }

    /// Tells what was collected, if no other thread does so already. The caller holds no lock of the database.
    #[inline]
    pub(crate) fn tell_collected(&self) {
        if self.collected.has_events() {
            self.tell_collected_now();
        }
    }

    #[cold]
    fn tell_collected_now(&self) {
        if !self.is_deferring() && self.collected.begin() {
            self.collected.tell_all(|event| self.deliver(event));
        }
    }

    /// As [`tell_collected`](Self::tell_collected), and waits for another thread that does so: what the caller tells
    /// next comes behind all of it.
    pub(crate) fn tell_collected_first(&self) {
        while self.collected.has_events() && !self.is_deferring() {
            self.tell_collected_now();
            self.collected.wait();
            if self.collected.is_told_by_this_thread() {
                return;
            }
        }
    }

    /// Asks the listeners what an error counts for; `None`: for nothing. The caller holds no lock of the database.
    pub(crate) fn ask_of_error(&self, reason: BackgroundErrorReason, error: &Error) -> Option<Error> {
        if self.has_listeners() && self.is_deferring() {
            self.collected.add(Event::BackgroundError(reason, error.clone()));
            return Some(error.clone());
        }
        let mut answer = Some(error.clone());
        self.listeners.iter().for_each(|listener| listener.on_background_error(reason, &mut answer));
        answer
    }

    /// Asks the listeners whether the database may try to leave the error by itself.
    pub(crate) fn ask_for_recovery(&self, reason: BackgroundErrorReason, error: &Error) -> bool {
        let mut may_recover = true;
        self.listeners.iter().for_each(|listener| listener.on_error_recovery_begin(reason, error, &mut may_recover));
        may_recover
    }

    /// Tells, once, that the database begins to close.
    pub(crate) fn tell_shutdown(&self) {
        if self.has_listeners() && !self.is_shutdown_told.swap(true, Ordering::Relaxed) {
            self.tell(|| Event::DbShutdownBegin);
        }
    }

    /// Queues a change of a stall condition. False when there is no listener for it.
    pub(crate) fn note_stall(&self, info: WriteStallInfo) -> bool {
        if self.has_listeners() {
            self.stalls.add(Event::StallConditionsChanged(info));
        }
        self.has_listeners()
    }

    /// Has what is queued told by a thread, if none does so already. The caller may hold locks of the database, but not
    /// the scheduler's. Without a thread it stays in the queue for the next change.
    pub(crate) fn tell_stalls(self: &Arc<Self>, spawner: &Arc<dyn Spawner>) {
        if !self.stalls.begin() {
            return;
        }
        let events = Arc::clone(self);
        let job = Box::new(move || events.stalls.tell_all(|event| events.deliver(event)));
        if let Err(error) = spawner.spawn("ferrock:stalls", job) {
            self.stalls.give_up();
            self.log.warn(|| format!("no thread tells listeners of a stall condition: {error}"));
        }
    }

    /// Waits until all changes of stall conditions are told, unless a listener that is told of one waits here.
    pub(crate) fn wait_until_told(&self) {
        self.stalls.wait();
    }
}
