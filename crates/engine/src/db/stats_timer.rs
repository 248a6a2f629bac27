//! The timer of the process: one thread that has databases tell their statistics when it is time.
//!
//! ```text
//! open, changed options: settle -> in the list at its time ------> thread: sleeps until the first time, asks that
//!                               or out of it, without a period        database (stats.rs), puts it at its next time
//! ```
//!
//! A process may have thousands of databases, most of them idle, so the thread is one for all of them, as in RocksDB,
//! and it ends when the list is empty. A database with a clock or threads of its own cannot share it: the thread of
//! `wakeups.rs` does the same where it runs, and runs where the period is not the default one.
//!
//! Invariants: a database is in the list once at most; the list holds no database open; no lock is held while a
//! database is asked; a close waits until the thread has asked it.

use super::timers::TIMER;
use super::{DbCore, stats};
use ferrock_base::clock::Clock;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// True where the timer of the process has the database tell, and no thread of its own.
pub(super) fn is_shared(core: &DbCore) -> bool {
    let options = core.options.load();
    options.components.clock.is_none() && options.components.spawner.is_none()
}

/// Puts a database at its next time in the list, after its open and whenever its options change.
pub(super) fn settle(core: &Arc<DbCore>) {
    if is_shared(core) {
        put(core);
    }
}

/// Puts a database into the list, or takes it out.
fn put(core: &Arc<DbCore>) {
    let mut own = core.timer_place.0.lock();
    // Under the lock: of two threads the later one has the later options.
    let until_us = stats::until_due_us(core);
    let mut list = TIMER.list.lock();
    if let Some(place) = own.take() {
        list.remove(place);
    }
    let Some(until_us) = until_us else { return };
    list.last += 1;
    let place = (TIMER.clock.monotonic_us().saturating_add(until_us), list.last);
    list.databases.insert(place, Arc::downgrade(core));
    *own = Some(place);
    if list.is_running {
        return TIMER.alarm.ring();
    }
    let started = core.env.spawner.spawn("ferrock:stats", Box::new(run));
    list.is_running = started.is_ok();
    // A LOG may take long.
    drop((own, list));
    if let Err(error) = started {
        // Jobs ask, too; and the next database that is put into the list tries again.
        core.events.log().warn(|| format!("statistics are dumped where a job begins: {error}"));
    }
}

/// The body of the thread.
fn run() {
    loop {
        // Before anything is looked at: what changes from here on ends the sleep below.
        TIMER.alarm.arm();
        let mut list = TIMER.list.lock();
        let Some((&(due_us, _), _)) = list.databases.first_key_value() else {
            list.is_running = false;
            return;
        };
        let now_us = TIMER.clock.monotonic_us();
        let due = if due_us <= now_us { list.databases.pop_first() } else { None };
        drop(list);
        match due {
            None => TIMER.clock.idle(&TIMER.alarm, Duration::from_micros(due_us - now_us)),
            Some((_, database)) => ask(&database),
        }
    }
}

/// Has a database tell what is due.
fn ask(database: &Weak<DbCore>) {
    let Some(core) = database.upgrade() else { return };
    // One that is being closed tells nothing any more.
    let Ok(hold) = core.jobs.hold_open() else { return };
    stats::tell_if_due(&core);
    put(&core);
    drop(hold);
}
