//! Before a group is written: room in the memtables, and the pace at which writers may go on.
//!
//! ```text
//! a background error -> full memtables are switched -> memory: stop -> memory: pace -> stall conditions: delay, stop
//! ```
//!
//! Only the leader of the write queue comes here, so one thread sleeps, and all others wait behind it. Each wait is
//! counted by its cause. With `no_slowdown` a write is answered `Incomplete` where a listener would be told of a delay
//! or a stop, and goes on at once where writers are slowed down for what looms.

use super::{DbCore, switch_memtable};
use crate::column_family::ColumnFamilyData;
use crate::metrics::WaitCause;
use crate::metrics::stalls::WaitKind;
use crate::options::{DbOptions, WriteOptions};
use crate::spans;
use crate::write::controller::StallCondition;
use crate::write::memory_pace::Room;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_options::WriteBufferManager;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What stands between a leader and its write: an error, a stall, a full memtable, too much log.
#[inline]
pub(super) fn make_room(core: &DbCore, db_options: &DbOptions, options: &WriteOptions, bytes: usize) -> Result<()> {
    core.jobs.check_error()?;
    let has_room = !core.writes.is_room_needed()
        && db_options.components.write_buffer_manager.is_none()
        && !core.writes.memory_pace().is_flushing()
        && core.writes.controller().condition() == StallCondition::Normal;
    if has_room { Ok(()) } else { wait_for_room(core, db_options, options, bytes) }
}

#[inline(never)]
fn wait_for_room(core: &DbCore, db_options: &DbOptions, options: &WriteOptions, bytes: usize) -> Result<()> {
    // Another database may have taken the memory.
    let wants_memory = |manager: &Arc<WriteBufferManager>| manager.should_flush();
    if core.writes.is_room_needed() || db_options.components.write_buffer_manager.as_ref().is_some_and(wants_memory) {
        switch_memtable::switch_full_memtables(core)?;
    }
    wait_for_memory(core, db_options, options)?;
    if core.writes.memory_pace().is_flushing() && !options.no_slowdown {
        keep_pace_with_flushes(core, db_options, bytes as u64);
    }
    loop {
        match core.writes.controller().condition() {
            StallCondition::Normal => return Ok(()),
            StallCondition::Recovering if options.no_slowdown => return Ok(()),
            StallCondition::Recovering | StallCondition::Delayed => {
                let delay = core.writes.controller().delay(bytes as u64);
                if delay.is_zero() {
                    return Ok(());
                }
                if options.no_slowdown {
                    return Err(Error::new(ErrorKind::Incomplete, "Write stall"));
                }
                let cause = core.writes.controller().wait_cause();
                let _span = spans::write_stall(core.files.database(), cause, WaitKind::Delay);
                let before = core.env.clock.monotonic_us();
                core.writes.controller().sleep(delay);
                let slept = core.env.clock.monotonic_us().saturating_sub(before);
                core.metrics.note_stall(cause, WaitKind::Delay, slept);
                core.jobs.check_error()?;
                if core.writes.controller().condition() != StallCondition::Stopped {
                    return Ok(());
                }
            }
            StallCondition::Stopped => {
                if options.no_slowdown {
                    return Err(Error::new(ErrorKind::Incomplete, "Write stall"));
                }
                wait_while_stopped(core)?;
            }
        }
    }
}

/// Waits while memtables hold more than a manager with `allow_stall` lets them. Not when hardly any of it is this
/// database's: then waiting could last for ever.
fn wait_for_memory(core: &DbCore, db_options: &DbOptions, options: &WriteOptions) -> Result<()> {
    let Some(manager) = &db_options.components.write_buffer_manager else { return Ok(()) };
    if !manager.should_stall() {
        return Ok(());
    }
    if options.no_slowdown {
        return Err(Error::new(ErrorKind::Incomplete, "Write stall"));
    }
    // After a cancel no flush comes, and closing waits for the thread that leads the queue.
    core.jobs.check_not_closing()?;
    if !switch_memtable::begin_flush_of_something(core, manager)? {
        return Ok(());
    }
    let cause = WaitCause::WriteBufferManager;
    let _span = spans::write_stall(core.files.database(), cause, WaitKind::Stop);
    let before = core.env.clock.monotonic_us();
    core.metrics.counters().memory_stalls.fetch_add(1, Ordering::Relaxed);
    let held = || format!("memtables hold {} bytes", manager.memory_usage());
    core.jobs.tell_memory_stall(true, &format!("{}, the limit is {}", held(), manager.stops_at().unwrap_or(0)));
    let result = wait_while_memory_is_short(core, manager);
    let waited = core.env.clock.monotonic_us().saturating_sub(before);
    core.jobs.tell_memory_stall(false, &format!("{} after {waited} us", held()));
    core.metrics.note_stall(cause, WaitKind::Stop, waited);
    result
}

/// Something is being flushed.
fn wait_while_memory_is_short(core: &DbCore, manager: &WriteBufferManager) -> Result<()> {
    while manager.should_stall() {
        manager.wait_for_room(Duration::from_millis(100));
        core.jobs.check_open()?;
        core.jobs.check_not_closing()?;
        if manager.should_stall() && !switch_memtable::begin_flush_of_something(core, manager)? {
            break;
        }
    }
    Ok(())
}

/// Sleeps as long as it takes to have memory left until a flush ends.
fn keep_pace_with_flushes(core: &DbCore, db_options: &DbOptions, bytes: u64) {
    let manager = db_options.components.write_buffer_manager.as_ref();
    let of_all = manager.and_then(|manager| {
        let limit = manager.stops_at()? as u64;
        Some(Room { used: manager.memory_usage() as u64, limit })
    });
    let families = core.families.load();
    let of_family = |id| families.get(id).map(|data| room_of_family(data));
    let pace = core.writes.memory_pace();
    let Some((delay, cause)) = pace.delay(bytes, of_all, of_family) else { return };
    if core.writes.controller().is_over() {
        return;
    }
    let _span = spans::write_stall(core.files.database(), cause, WaitKind::Delay);
    let before = core.env.clock.monotonic_us();
    pace.sleep(delay);
    let slept = core.env.clock.monotonic_us().saturating_sub(before);
    core.metrics.note_stall(cause, WaitKind::Delay, slept);
}

/// The memtables of a family until `max_write_buffer_number` of them wait for their flush, each for as large as it may
/// become.
fn room_of_family(data: &ColumnFamilyData) -> Room {
    let options = data.options.load();
    let (each, most) = (options.write_buffer_size as u64, u64::try_from(options.max_write_buffer_number).unwrap_or(0));
    let full = data.super_version.load().immutable.len() as u64;
    let filled = data.memtable.load().approximate_memory_bytes() as u64;
    Room { used: each.saturating_mul(full).saturating_add(filled), limit: each.saturating_mul(most) }
}

/// Holds a write of low priority back while compaction is behind, before it joins the queue: others pass it.
pub(super) fn wait_for_low_pri(core: &DbCore, options: &WriteOptions, bytes: usize) -> Result<()> {
    if !core.writes.controller().is_behind() {
        return Ok(());
    }
    if options.no_slowdown {
        return Err(Error::new(ErrorKind::Incomplete, "Low priority write stall"));
    }
    core.writes.controller().wait_for_low_pri(bytes as u64);
    Ok(())
}

fn wait_while_stopped(core: &DbCore) -> Result<()> {
    let cause = core.writes.controller().wait_cause();
    let _span = spans::write_stall(core.files.database(), cause, WaitKind::Stop);
    let before = core.env.clock.monotonic_us();
    let result = core.jobs.wait_while_stopped();
    let waited = core.env.clock.monotonic_us().saturating_sub(before);
    core.metrics.note_stall(cause, WaitKind::Stop, waited);
    result
}
