//! What a database has of the two threads that wake it while it does nothing: whether its own runs (`wakeups.rs`), and
//! its place in the list of the process's timer (`stats_timer.rs`).

use super::DbCore;
use ferrock_base::clock::{Alarm, SystemClock};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Weak};

/// Whether the thread of a database runs, and what wakes it.
#[derive(Debug, Default)]
pub(crate) struct Wakeups {
    pub(super) is_running: Mutex<bool>,
    pub(super) alarm: Arc<Alarm>,
}

impl Wakeups {
    /// The thread looks at the options again, and ends where it is of no use.
    pub(super) fn wake(&self) {
        self.alarm.ring();
    }
}

impl Drop for Wakeups {
    fn drop(&mut self) {
        self.alarm.ring();
    }
}

/// The timer of the process.
pub(super) static TIMER: LazyLock<Timer> = LazyLock::new(Timer::default);

/// A place in the list: a time in microseconds of the timer's clock, and a number that no other place has.
pub(super) type Place = (u64, u64);

/// Where a database is in the list.
#[derive(Debug, Default)]
pub(crate) struct TimerPlace(pub(super) Mutex<Option<Place>>);

impl Drop for TimerPlace {
    fn drop(&mut self) {
        if let Some(place) = self.0.get_mut().take() {
            TIMER.list.lock().remove(place);
        }
    }
}

/// The list, and what ends the sleep of its thread.
#[derive(Debug, Default)]
pub(super) struct Timer {
    pub(super) clock: SystemClock,
    pub(super) alarm: Arc<Alarm>,
    pub(super) list: Mutex<List>,
}

/// The databases, by when they are asked.
#[derive(Default)]
pub(super) struct List {
    pub(super) databases: BTreeMap<Place, Weak<DbCore>>,
    /// The number that was given out last.
    pub(super) last: u64,
    pub(super) is_running: bool,
}

impl List {
    /// Takes a database out. Without any the thread ends.
    pub(super) fn remove(&mut self, place: Place) {
        self.databases.remove(&place);
        if self.databases.is_empty() {
            TIMER.alarm.ring();
        }
    }
}

impl std::fmt::Debug for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("List").field("databases", &self.databases.len()).finish_non_exhaustive()
    }
}
