//! Pausing background work: while at least one caller wants it, no flush and no compaction runs.
//!
//! A paused database reads and writes; writers stop when there is no room left in memory. What waits for a flush or a
//! compaction waits until the work goes on. Closing ends the pause.

use super::{Db, DbCore, State};
use ferrock_base::{Error, Result};
use std::sync::Arc;

impl Db {
    /// Starts no flush and no compaction any more, and waits for those that run. Calls are counted:
    /// [`continue_background_work`](Self::continue_background_work) must come as often.
    ///
    /// # Errors
    /// `NotSupported` when the database is read-only, `ShutdownInProgress` when it is closed.
    pub fn pause_background_work(&self) -> Result<()> {
        let core = self.core();
        core.check_open()?;
        let mut state = core.state.lock();
        state.pauses += 1;
        while is_working(&state) {
            core.changed.wait(&mut state);
        }
        Ok(())
    }

    /// Takes back one [`pause_background_work`](Self::pause_background_work).
    ///
    /// # Errors
    /// `Invalid argument` when nothing is paused.
    pub fn continue_background_work(&self) -> Result<()> {
        let core = self.core();
        let mut state = core.state.lock();
        if state.pauses == 0 {
            return Err(Error::invalid_argument("Background work already unpaused"));
        }
        state.pauses -= 1;
        core.schedule_unless_paused(&mut state);
        Ok(())
    }
}

impl DbCore {
    /// Closing waits for work that a pause would keep from starting.
    pub(crate) fn end_pauses(self: &Arc<Self>) {
        let mut state = self.state.lock();
        state.pauses = 0;
        self.schedule_unless_paused(&mut state);
    }

    fn schedule_unless_paused(self: &Arc<Self>, state: &mut State) {
        if state.pauses == 0 {
            self.schedule(state);
            self.changed.notify_all();
        }
    }
}

/// Manual compactions run on their callers' threads and show in the families alone.
fn is_working(state: &State) -> bool {
    state.running_flushes > 0
        || state.running_compactions > 0
        || state.families.values().any(|family| !family.running.is_empty())
}
