//! Making room: full memtables become immutable, a new log begins.
//!
//! Only the leader of the write queue comes here, so no write is in flight and every
//! record of the old log is in a memtable that is now immutable or still current.
//!
//! A family whose memtable is empty does not need the old log: its log number moves to
//! the new one. A family that wrote little and long ago does: when all logs together
//! pass `max_total_wal_size`, the families that hold back the oldest log are switched,
//! however small their memtables are. So an idle family never pins the log.
//!
//! What is switched for the sake of the logs or of memory is flushed at once: with
//! `min_write_buffer_number_to_merge` of 2 or more an immutable memtable would otherwise
//! wait for the next one, which an idle family never has.

use super::{DbCore, FamilyState, ImmutableMemTable, State};
use crate::background_error::Reason;
use crate::column_family::SuperVersion;
use crate::db::background;
use crate::db::resume;
use crate::write::logs::LogSize;
use ferrock_base::{FileNumber, Result};
use ferrock_options::WriteBufferManager;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// More logs than this are not kept either: thousands of tiny ones exhaust inodes and make the next open slow.
pub(super) const MAX_LIVE_LOGS: usize = 64;

/// Bytes that all logs together may have.
pub(crate) fn wal_limit_bytes(core: &DbCore) -> u64 {
    let configured = core.options.load().max_total_wal_size;
    if configured > 0 {
        return configured;
    }
    let families = core.families.load();
    let buffers: u64 = families
        .iter()
        .map(|data| {
            let options = data.options.load();
            options.write_buffer_size as u64 * u64::try_from(options.max_write_buffer_number).unwrap_or(1)
        })
        .sum();
    buffers.saturating_mul(4)
}

/// True when the logs grew past their limit, by size or by number.
#[inline]
pub(crate) fn passes_log_limit(core: &DbCore, size: LogSize) -> bool {
    size.older > 0 && (size.older >= MAX_LIVE_LOGS || size.bytes > wal_limit_bytes(core))
}

/// Switches what is full, what holds back too much log, and what holds too much memory.
pub(crate) fn switch_full_memtables(core: &Arc<DbCore>) -> Result<()> {
    let mut state = core.state.lock();
    state.error.check()?;
    core.writes.begin_making_room();
    let mut ids: Vec<u32> = Vec::new();
    let mut is_flush_due = false;
    for family in state.families.values() {
        if family.data.is_memtable_full.load(Ordering::Acquire) {
            ids.push(family.data.id);
        }
    }
    is_flush_due |= add_families_that_pin_the_log(core, &mut state, &mut ids);
    add_largest_family_over_budget(core, &mut state, &mut ids);
    if let Some(manager) = core.options.load().components.write_buffer_manager.as_ref()
        && manager.should_flush()
    {
        is_flush_due |= add_family_for_manager(&mut state, manager, &mut ids);
    }
    ids.sort_unstable();
    ids.dedup();
    if !ids.is_empty() {
        switch_memtables(core, &mut state, &ids)?;
        is_flush_due = true;
    }
    if is_flush_due {
        background::schedule(core, &mut state);
    }
    Ok(())
}

/// Returns true when something that was immutable is to be flushed now and was not before.
fn add_families_that_pin_the_log(core: &DbCore, state: &mut State, ids: &mut Vec<u32>) -> bool {
    let logs = core.writes.logs();
    if !passes_log_limit(core, logs.size()) {
        return false;
    }
    let oldest = logs.oldest();
    let mut is_anything_new = false;
    for family in state.families.values_mut() {
        let id = family.data.id;
        if !family.immutable.is_empty() {
            let pins = |id| core.versions.family(id).is_some_and(|family| family.log_number <= oldest);
            if !family.is_flush_requested && pins(id) {
                family.is_flush_requested = true;
                is_anything_new = true;
            }
        } else if family.memtable_log_number <= oldest && !family.data.memtable.load().is_empty() {
            family.is_flush_requested = true;
            ids.push(id);
        }
    }
    is_anything_new
}

fn add_largest_family_over_budget(core: &DbCore, state: &mut State, ids: &mut Vec<u32>) {
    let budget = core.options.load().db_write_buffer_size;
    if budget == 0 {
        return;
    }
    let sizes = state.families.values().map(|family| {
        let memtable = family.data.memtable.load();
        (memtable.approximate_memory_bytes() as u64, family.data.id, memtable.is_empty())
    });
    let sizes: Vec<_> = sizes.collect();
    if sizes.iter().map(|(bytes, ..)| bytes).sum::<u64>() >= budget
        && let Some((_, id, false)) = sizes.iter().max()
        && let Some(family) = state.families.get_mut(id)
    {
        family.is_flush_requested = true;
        ids.push(*id);
    }
}

/// Sees to it that a memtable is being flushed; false when there is none that would be worth it.
pub(crate) fn begin_flush_of_something(core: &Arc<DbCore>, manager: &WriteBufferManager) -> Result<bool> {
    let mut state = core.state.lock();
    state.error.check()?;
    if let Some(waiting) = state.families.values_mut().find(|family| !family.immutable.is_empty()) {
        waiting.is_flush_requested = true;
    } else if state.running_flushes == 0 {
        let mut ids = Vec::new();
        add_family_for_manager(&mut state, manager, &mut ids);
        if ids.is_empty() {
            return Ok(false);
        }
        switch_memtables(core, &mut state, &ids)?;
    }
    background::schedule(core, &mut state);
    Ok(true)
}

/// What is told of the memory of memtables.
pub(crate) fn memory_tracker(core: &DbCore) -> Option<Arc<dyn ferrock_memtable::MemoryTracker>> {
    let manager = core.options.load().components.write_buffer_manager.clone();
    manager.map(|manager| manager as Arc<dyn ferrock_memtable::MemoryTracker>)
}

/// Makes the memtables of `ids` immutable and begins a new log when the current one has records. The caller leads
/// the write queue.
pub(crate) fn switch_memtables(core: &DbCore, state: &mut State, ids: &[u32]) -> Result<()> {
    let log_number = begin_log_if_used(core, state)?;
    for (id, family) in &mut state.families {
        let is_empty = family.data.memtable.load().is_empty();
        if is_empty {
            // Nothing of the older logs is missing from the tables but what waits in immutable memtables.
            family.memtable_log_number = log_number;
        }
        if ids.contains(id) && !is_empty {
            switch_family(family, log_number);
            install_super_version(core, family, None);
            background::update_stall_condition(core, family, &family.data.options.load());
        }
        family.data.is_memtable_full.store(false, Ordering::Release);
    }
    Ok(())
}

/// Returns the number of the log that the next records go to.
fn begin_log_if_used(core: &DbCore, state: &mut State) -> Result<FileNumber> {
    let switched = core.writes.logs().switch_if_used(|| core.versions.new_file_number());
    switched.inspect_err(|error| resume::set_background_error_locked(core, state, Reason::Write, error))
}

/// Gives readers the family as it is now; `version` when that changed too.
pub(crate) fn install_super_version(
    _core: &DbCore,
    family: &FamilyState,
    version: Option<Arc<ferrock_tree::version::Version>>,
) {
    let data = &family.data;
    let version = version.unwrap_or_else(|| Arc::clone(&data.super_version.load().version));
    data.super_version.install(Arc::new(SuperVersion {
        memtable: data.memtable.load_full(),
        immutable: family.immutable.iter().rev().map(|immutable| Arc::clone(&immutable.memtable)).collect(),
        version,
        options: data.options.load_full(),
    }));
}

/// What a database does for a manager that wants memory back: everything that is immutable is flushed, whatever waits
/// beside it, and one more memtable becomes immutable, the one with the oldest entry of those that are worth a table.
///
/// The memory may be another database's, which is idle. A memtable is therefore only worth a table when it holds the
/// manager's [`worthwhile_bytes`](WriteBufferManager::worthwhile_bytes): else every write would make a table of one
/// entry. When no memtable holds that much but all of the database do together, it is the largest. Beside an immutable
/// memtable of the family, whose memory is about to be freed, only one that holds half of the size counts.
///
/// Returns true when something that was immutable is to be flushed now and was not before.
fn add_family_for_manager(state: &mut State, manager: &WriteBufferManager, ids: &mut Vec<u32>) -> bool {
    let mut is_anything_new = false;
    let worthwhile = manager.worthwhile_bytes();
    let mut total = 0;
    let mut oldest = None;
    let mut largest = None;
    for family in state.families.values_mut() {
        let is_flush_due = !family.immutable.is_empty();
        is_anything_new |= is_flush_due && !family.is_flush_requested;
        family.is_flush_requested |= is_flush_due;
        let memtable = family.data.memtable.load();
        if memtable.is_empty() {
            continue;
        }
        let bytes = memtable.approximate_memory_bytes();
        total += bytes;
        if is_flush_due && bytes < manager.buffer_size() / 2 {
            continue;
        }
        let age = (memtable.smallest_sequence(), family.data.id);
        if bytes >= worthwhile && oldest.is_none_or(|oldest| age < oldest) {
            oldest = Some(age);
        }
        largest = largest.max(Some((bytes, family.data.id)));
    }
    let fallback = largest.filter(|_| total >= worthwhile).map(|(_, id)| id);
    let chosen = oldest.map(|(_, id)| id).or(fallback);
    if let Some(family) = chosen.and_then(|id| state.families.get_mut(&id)) {
        family.is_flush_requested = true;
        ids.push(family.data.id);
    }
    is_anything_new
}

fn switch_family(family: &mut FamilyState, log_number: FileNumber) {
    let data = &family.data;
    let memtable = data.memtable.swap(data.new_memtable());
    memtable.retire();
    family.immutable.push_back(ImmutableMemTable { memtable, log_number_after: log_number, is_flushing: false });
    family.memtable_log_number = log_number;
    family.switched_count += 1;
}
