//! What the database tells the outside: lines of the LOG, and calls of listeners.
//!
//! Listeners are user code: they may call the database, and may take as long as they like. So no lock of the database
//! is held while one is called; what happened under a lock is collected there, and [`Events::tell`] is called after it.
//!
//! Changes of stall conditions are found out under the lock of the scheduler, often by the leader of the write queue,
//! which then waits for the end of the stall. They are queued there, in their order, and told by a thread that ends
//! when it has told all:
//!
//! ```text
//! under the scheduler's lock: note_stall ---> queue        lock given up: tell_stalls ---> thread, if none tells
//! ```

use crate::info_log::InfoLog;
use ferrock_base::thread::Spawner;
use ferrock_options::{EventListener, WriteStallInfo};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::ThreadId;

/// Where events go.
pub(crate) struct Events {
    listeners: Vec<Arc<dyn EventListener>>,
    log: Arc<InfoLog>,
    /// A leaf: no listener is called under it.
    stalls: Mutex<Stalls>,
    all_told: Condvar,
}

#[derive(Default)]
struct Stalls {
    waiting: VecDeque<WriteStallInfo>,
    is_telling: bool,
    teller: Option<ThreadId>,
}

impl Events {
    /// Events go to `listeners`, in their order, and to `log`.
    pub(crate) fn new(listeners: Vec<Arc<dyn EventListener>>, log: Arc<InfoLog>) -> Self {
        Self { listeners, log, stalls: Mutex::default(), all_told: Condvar::new() }
    }

    /// The LOG.
    #[inline]
    pub(crate) fn log(&self) -> &Arc<InfoLog> {
        &self.log
    }

    /// Calls every listener. The caller holds no lock of the database.
    pub(crate) fn tell(&self, mut call: impl FnMut(&dyn EventListener)) {
        self.listeners.iter().for_each(|listener| call(&**listener));
    }

    /// Queues a change of a stall condition. False when there is no listener for it.
    pub(crate) fn note_stall(&self, info: WriteStallInfo) -> bool {
        if self.listeners.is_empty() {
            return false;
        }
        self.stalls.lock().waiting.push_back(info);
        true
    }

    /// Has what is queued told by a thread, if none does so already. The caller may hold locks of the database, but not
    /// the scheduler's. Without a thread it stays in the queue for the next change.
    pub(crate) fn tell_stalls(self: &Arc<Self>, spawner: &Arc<dyn Spawner>) {
        let mut stalls = self.stalls.lock();
        if stalls.is_telling || stalls.waiting.is_empty() {
            return;
        }
        stalls.is_telling = true;
        drop(stalls);
        let events = Arc::clone(self);
        if let Err(error) = spawner.spawn("ferrock:stalls", Box::new(move || events.tell_queued_stalls())) {
            self.stalls.lock().is_telling = false;
            self.all_told.notify_all();
            self.log.warn(|| format!("no thread tells listeners of a stall condition: {error}"));
        }
    }

    fn tell_queued_stalls(&self) {
        loop {
            let mut stalls = self.stalls.lock();
            stalls.teller = Some(std::thread::current().id());
            let Some(info) = stalls.waiting.pop_front() else {
                (stalls.is_telling, stalls.teller) = (false, None);
                self.all_told.notify_all();
                return;
            };
            drop(stalls);
            self.tell(|listener| listener.on_stall_conditions_changed(&info));
        }
    }

    /// Waits until all changes of stall conditions are told, unless a listener that is told of one waits here.
    pub(crate) fn wait_until_told(&self) {
        let mut stalls = self.stalls.lock();
        while stalls.is_telling && stalls.teller != Some(std::thread::current().id()) {
            self.all_told.wait(&mut stalls);
        }
    }
}
