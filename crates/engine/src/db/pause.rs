//! Pausing background work: while at least one caller wants it, no flush and no compaction runs.
//!
//! A paused database reads and writes; writers stop when there is no room left in memory. What waits for a flush or a
//! compaction waits until the work goes on. Closing ends the pause.

use super::{DbCore, State};
use crate::db::background;
use ferrock_base::{Error, Result};
use std::sync::Arc;

/// See [`Db::pause_background_work`].
pub(crate) fn pause_background_work(core: &Arc<DbCore>) -> Result<()> {
    core.check_open()?;
    let mut state = core.state.lock();
    state.pauses += 1;
    while is_working(&state) {
        core.changed.wait(&mut state);
    }
    Ok(())
}

/// See [`Db::continue_background_work`].
pub(crate) fn continue_background_work(core: &Arc<DbCore>) -> Result<()> {
    let mut state = core.state.lock();
    if state.pauses == 0 {
        return Err(Error::invalid_argument("Background work already unpaused"));
    }
    state.pauses -= 1;
    schedule_unless_paused(core, &mut state);
    Ok(())
}

/// Closing waits for work that a pause would keep from starting.
pub(crate) fn end_pauses(core: &Arc<DbCore>) {
    let mut state = core.state.lock();
    state.pauses = 0;
    schedule_unless_paused(core, &mut state);
}

fn schedule_unless_paused(core: &Arc<DbCore>, state: &mut State) {
    if state.pauses == 0 {
        background::schedule(core, state);
        core.changed.notify_all();
    }
}

/// Manual compactions run on their callers' threads and show in the families alone.
fn is_working(state: &State) -> bool {
    state.running_flushes > 0
        || state.running_compactions > 0
        || state.families.values().any(|family| !family.running.is_empty())
}
