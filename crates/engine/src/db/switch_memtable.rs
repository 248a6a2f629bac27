//! Making room: full memtables become immutable, a new log begins.
//!
//! Only the leader of the write queue comes here, and waits until no group is being
//! inserted, so no write is in flight and every record of the old log is in a memtable
//! that is now immutable or still current.
//!
//! A family whose memtable is empty does not need the old log: its log number moves to
//! the new one. A family that wrote little and long ago does: when all logs together
//! pass `max_total_wal_size`, the families that hold back the oldest log are switched,
//! however small their memtables are. So an idle family never pins the log.
//!
//! What is switched for the sake of the logs or of memory is flushed at once: with
//! `min_write_buffer_number_to_merge` of 2 or more an immutable memtable would otherwise
//! wait for the next one, which an idle family never has.

use super::DbCore;
use crate::column_family::ColumnFamilyData;
use crate::jobs::background_error::Reason;
use crate::jobs::{ForMemory, FullMemtables, Switch};
use crate::write::logs::LogSize;
use ferrock_base::Result;
use ferrock_options::WriteBufferManager;
use std::sync::Arc;

/// More logs than this are not kept either: thousands of tiny ones exhaust inodes and make the next open slow.
pub(super) const MAX_LIVE_LOGS: usize = 64;

/// True when the logs grew past their limit, by size or by number.
#[inline]
pub(crate) fn passes_log_limit(core: &DbCore, size: LogSize) -> bool {
    size.older > 0 && (size.older >= MAX_LIVE_LOGS || passes_wal_limit(core, size.bytes))
}

/// True when all logs together have more bytes than they may. Asked by every write that finds an older log: of many
/// families, it looks at no more than decide.
fn passes_wal_limit(core: &DbCore, bytes: u64) -> bool {
    let configured = core.options.load().max_total_wal_size;
    if configured > 0 {
        return bytes > configured;
    }
    let families = core.families.load();
    let mut limit = 0_u64;
    families.iter().all(|data| {
        limit = limit.saturating_add(buffer_bytes(data).saturating_mul(4));
        bytes > limit
    })
}

/// Bytes that the memtables of a family may have.
fn buffer_bytes(data: &ColumnFamilyData) -> u64 {
    let options = data.options.load();
    options.write_buffer_size as u64 * u64::try_from(options.max_write_buffer_number).unwrap_or(1)
}

/// Switches what is full, what holds back too much log, and what holds too much memory.
pub(super) fn switch_full_memtables(core: &DbCore) -> Result<()> {
    // What is being inserted may fill another memtable, or fail.
    core.writes.publisher().wait_for_inserts();
    core.jobs.check_error()?;
    core.writes.begin_making_room();
    let logs = core.writes.logs();
    let options = core.options.load();
    let manager = options.components.write_buffer_manager.as_deref();
    let (switches, is_flush_due) = core.jobs.full_memtables(&FullMemtables {
        pinned_log: passes_log_limit(core, logs.size()).then(|| logs.oldest()),
        log_number_of: &|id| core.versions.log_number(id),
        budget_bytes: options.db_write_buffer_size,
        manager: manager.filter(|manager| manager.should_flush()),
    });
    if !switches.is_empty() {
        switch_memtables(core, &switches)?;
    }
    if is_flush_due || !switches.is_empty() {
        core.jobs.schedule();
    }
    Ok(())
}

/// Sees to it that a memtable is being flushed; false when there is none that would be worth it.
pub(super) fn begin_flush_of_something(core: &DbCore, manager: &WriteBufferManager) -> Result<bool> {
    core.writes.publisher().wait_for_inserts();
    match core.jobs.free_memory(manager)? {
        ForMemory::Nothing => return Ok(false),
        ForMemory::Flush => {}
        ForMemory::Switch(switches) => switch_memtables(core, &switches)?,
    }
    core.jobs.schedule();
    Ok(true)
}

/// What is told of the memory of memtables.
pub(crate) fn memory_tracker(core: &DbCore) -> Option<Arc<dyn ferrock_memtable::MemoryTracker>> {
    let manager = core.options.load().components.write_buffer_manager.clone();
    manager.map(|manager| manager as Arc<dyn ferrock_memtable::MemoryTracker>)
}

/// Makes memtables immutable and begins a new log when the current one has records. The caller leads the write queue.
pub(super) fn switch_memtables(core: &DbCore, switches: &[Switch]) -> Result<()> {
    // What is logged in the log of a memtable belongs into that memtable.
    core.writes.publisher().wait_for_inserts();
    let switched = core.writes.logs().switch_if_used(|| core.versions.new_file_number());
    let log_number = switched.inspect_err(|error| {
        core.jobs.set_error(Reason::Write, error);
    })?;
    core.jobs.switch_memtables(switches, log_number, core.visible());
    Ok(())
}
