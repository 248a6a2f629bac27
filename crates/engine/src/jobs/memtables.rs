//! From a full memtable to a flushed one.
//!
//! Only the leader of the write queue switches memtables, while no group is being inserted, so no write is in flight
//! then, and every record of the old log is in a memtable that is immutable or still current. A family whose memtable
//! is empty does not need the old log: its log number moves to the new one.

use super::family::FamilyJobs;
use super::{JobScheduler, State};
use crate::column_family::ColumnFamilyData;
use crate::events::Event;
use ferrock_base::{FileNumber, Result, SequenceNumber};
use ferrock_memtable::MemTable;
use ferrock_options::{FlushReason, WriteBufferManager};
use ferrock_tree::version::Version;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A memtable that becomes immutable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switch {
    pub(crate) id: u32,
    /// It is flushed at once: with `min_write_buffer_number_to_merge` of 2 or more it would otherwise wait for the next
    /// one, which an idle family never has.
    pub(crate) flush_now: bool,
    /// Why.
    pub(crate) reason: FlushReason,
}

/// What decides which memtables become immutable.
pub(crate) struct FullMemtables<'a> {
    /// The oldest log, where all logs together hold too much.
    pub(crate) pinned_log: Option<FileNumber>,
    /// The log number of a family in the tree.
    pub(crate) log_number_of: &'a dyn Fn(u32) -> Option<FileNumber>,
    /// Bytes that all memtables together may have; 0 without a bound.
    pub(crate) budget_bytes: u64,
    /// Asked for memory that it shares with other databases.
    pub(crate) manager: Option<&'a WriteBufferManager>,
}

/// What a database does about memory that a manager wants back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ForMemory {
    /// No memtable is worth a table.
    Nothing,
    /// A memtable is being flushed, or is to be.
    Flush,
    /// These become immutable first.
    Switch(Vec<Switch>),
}

/// Memtables of a family that a flush job takes.
pub(crate) struct FlushInput {
    pub(crate) data: Arc<ColumnFamilyData>,
    /// Oldest first, at least one.
    pub(crate) memtables: Vec<Arc<MemTable>>,
    /// When they are in a table, logs before this one hold nothing that the family still needs.
    pub(crate) log_number_after: FileNumber,
    /// Why, as of the last that asked for it.
    pub(crate) reason: FlushReason,
}

/// A change of the tree that may let logs go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LogChange<'a> {
    /// So many of the oldest immutable memtables of families become tables.
    Flush(&'a [(u32, usize)]),
    /// A family goes.
    Drop { id: u32 },
}

impl State {
    /// Has what pins the log `oldest` flushed. True when something that was immutable is to be flushed now and was not
    /// before.
    fn add_families_that_pin(&mut self, oldest: FileNumber, full: &FullMemtables<'_>, chosen: &mut Chosen) -> bool {
        let mut is_anything_new = false;
        for family in self.families.values_mut() {
            let id = family.data.id;
            if !family.immutable.is_empty() {
                let pins = |id| (full.log_number_of)(id).is_some_and(|log_number| log_number <= oldest);
                if !family.is_flush_requested && pins(id) {
                    (family.is_flush_requested, family.flush_reason) = (true, FlushReason::WalFull);
                    is_anything_new = true;
                }
            } else if family.memtable_log_number <= oldest && !family.data.memtable.load().is_empty() {
                chosen.add(id, true, FlushReason::WalFull);
            }
        }
        is_anything_new
    }

    fn add_largest_over_budget(&self, budget_bytes: u64, chosen: &mut Chosen) {
        let sizes = self.families.values().map(|family| {
            let memtable = family.data.memtable.load();
            (memtable.approximate_memory_bytes() as u64, family.data.id, memtable.is_empty())
        });
        let sizes: Vec<_> = sizes.collect();
        if sizes.iter().map(|(bytes, ..)| bytes).sum::<u64>() >= budget_bytes
            && let Some(&(_, id, false)) = sizes.iter().max()
        {
            chosen.add(id, true, FlushReason::WriteBufferManager);
        }
    }

    /// What a database does for a manager that wants memory back: everything that is immutable is flushed, whatever
    /// waits beside it, and one more memtable becomes immutable, the one with the oldest entry of those that are worth
    /// a table.
    ///
    /// The memory may be another database's, which is idle. A memtable is therefore only worth a table when it holds
    /// the manager's [`worthwhile_bytes`](WriteBufferManager::worthwhile_bytes): else every write would make a table of
    /// one entry. When no memtable holds that much but all of the database do together, it is the largest. Beside an
    /// immutable memtable of the family, whose memory is about to be freed, only one that holds half of the size
    /// counts.
    ///
    /// True when something that was immutable is to be flushed now and was not before.
    fn add_for_manager(&mut self, manager: &WriteBufferManager, chosen: &mut Chosen) -> bool {
        let mut is_anything_new = false;
        let worthwhile = manager.worthwhile_bytes();
        let mut total = 0;
        let mut oldest = None;
        let mut largest = None;
        for family in self.families.values_mut() {
            let is_flush_due = !family.immutable.is_empty();
            is_anything_new |= is_flush_due && !family.is_flush_requested;
            if is_flush_due && !family.is_flush_requested {
                family.flush_reason = FlushReason::WriteBufferManager;
            }
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
        if let Some(id) = oldest.map(|(_, id)| id).or(fallback) {
            chosen.add(id, true, FlushReason::WriteBufferManager);
        }
        is_anything_new
    }
}

/// The memtables that become immutable, with whether they are flushed at once, and the first reason.
#[derive(Default)]
struct Chosen(BTreeMap<u32, (bool, FlushReason)>);

impl Chosen {
    fn add(&mut self, id: u32, flush_now: bool, reason: FlushReason) {
        self.0.entry(id).or_insert((flush_now, reason)).0 |= flush_now;
    }

    fn into_switches(self) -> Vec<Switch> {
        self.0.into_iter().map(|(id, (flush_now, reason))| Switch { id, flush_now, reason }).collect()
    }
}

impl JobScheduler {
    /// Takes over the families of a database that is being opened.
    pub(crate) fn adopt(&self, families: impl IntoIterator<Item = FamilyJobs>) {
        self.lock().families = families.into_iter().map(|family| (family.data.id, family)).collect();
    }

    /// Ids of all families.
    pub(crate) fn families(&self) -> Vec<u32> {
        self.lock().families.keys().copied().collect()
    }

    /// A new family, whose memtable begins with the log `log_number` and behind the number `visible`.
    pub(crate) fn add_family(&self, data: Arc<ColumnFamilyData>, log_number: FileNumber, visible: SequenceNumber) {
        let family = FamilyJobs { memtable_earliest: visible, ..FamilyJobs::new(data, log_number) };
        self.lock().families.insert(family.data.id, family);
    }

    /// Forgets a family; writers do not wait for it any more. Jobs that run for it end with an error that counts for
    /// nothing.
    pub(crate) fn remove_family(&self, id: u32) {
        let mut locked = self.lock();
        if let Some(family) = locked.families.remove(&id) {
            family.mark_dropped();
        }
        self.controller.remove(id);
        self.changed.notify_all();
    }

    /// Gives readers a new version of a family, and tells writers how far behind its jobs are. False when the family is
    /// gone. The caller holds the turn to change the tree.
    pub(crate) fn install(&self, id: u32, version: Option<Arc<Version>>) -> bool {
        let mut locked = self.lock();
        let (state, lines) = (&mut *locked.state, &mut locked.lines);
        let Some(family) = state.families.get(&id) else { return false };
        family.install(version);
        if family.update_stall_condition(&self.controller, lines) {
            self.changed.notify_all();
        }
        true
    }

    /// Gives readers what recovery left in memory and in tables. Empty memtables begin with the log `current_log`.
    pub(crate) fn install_recovered(&self, current_log: FileNumber, version_of: impl Fn(u32) -> Option<Arc<Version>>) {
        for family in self.lock().families.values_mut() {
            let memtable = family.data.memtable.load();
            if memtable.is_empty() {
                family.memtable_log_number = current_log;
            }
            // What recovery left in memory was written past the memory manager.
            memtable.report_memory();
            drop(memtable);
            family.install(version_of(family.data.id));
        }
    }

    /// Gives readers other memtables and tables of all families. The caller keeps readers of several families away.
    pub(crate) fn install_views(&self, families: Vec<(FamilyJobs, Arc<Version>)>) {
        let mut state = self.lock();
        let mut gone = std::mem::take(&mut state.families);
        for (family, version) in families {
            gone.remove(&family.data.id);
            family.data.memtable.load().report_memory();
            // Scans of before this know nothing of the tables that come.
            let change = family.data.outside_changes.begin();
            family.install(Some(version));
            drop(change);
            state.families.insert(family.data.id, family);
        }
        gone.into_values().for_each(|family| family.mark_dropped());
    }

    /// Tells writers how far behind the jobs of all families are.
    pub(crate) fn update_stall_conditions(&self) {
        let mut locked = self.lock();
        let (state, lines) = (&mut *locked.state, &mut locked.lines);
        for family in state.families.values() {
            if family.update_stall_condition(&self.controller, lines) {
                self.changed.notify_all();
            }
        }
    }

    /// The memtables that are full, hold back too much log, or hold too much memory; and whether something that is
    /// immutable already is to be flushed now and was not before.
    pub(crate) fn full_memtables(&self, full: &FullMemtables<'_>) -> (Vec<Switch>, bool) {
        let mut state = self.lock();
        let mut chosen = Chosen::default();
        let mut is_flush_due = false;
        for family in state.families.values() {
            if family.data.is_memtable_full.load(Ordering::Acquire) {
                chosen.add(family.data.id, false, family.reason_of_full());
            }
        }
        if let Some(oldest) = full.pinned_log {
            is_flush_due |= state.add_families_that_pin(oldest, full, &mut chosen);
        }
        if full.budget_bytes > 0 {
            state.add_largest_over_budget(full.budget_bytes, &mut chosen);
        }
        if let Some(manager) = full.manager {
            is_flush_due |= state.add_for_manager(manager, &mut chosen);
        }
        (chosen.into_switches(), is_flush_due)
    }

    /// Sees to it that a memtable is being flushed.
    ///
    /// # Errors
    /// The background error that stands.
    pub(crate) fn free_memory(&self, manager: &WriteBufferManager) -> Result<ForMemory> {
        let mut state = self.lock();
        state.error.check()?;
        if let Some(waiting) = state.families.values_mut().find(|family| !family.immutable.is_empty()) {
            (waiting.is_flush_requested, waiting.flush_reason) = (true, FlushReason::WriteBufferManager);
        } else if state.running_flushes == 0 {
            let mut chosen = Chosen::default();
            state.add_for_manager(manager, &mut chosen);
            let switches = chosen.into_switches();
            return Ok(if switches.is_empty() { ForMemory::Nothing } else { ForMemory::Switch(switches) });
        }
        Ok(ForMemory::Flush)
    }

    /// Makes memtables immutable, unless they are empty; with `atomic_flush` those of all families, whichever is
    /// named. Records that come from now on are in the log `log_number`. The caller leads the write queue.
    ///
    /// `visible` is the newest sequence number: the new memtables have larger ones.
    pub(crate) fn switch_memtables(&self, switches: &[Switch], log_number: FileNumber, visible: SequenceNumber) {
        let mut locked = self.lock();
        let (state, lines) = (&mut *locked.state, &mut locked.lines);
        let takes_all = state.is_flush_atomic && !switches.is_empty();
        for (id, family) in &mut state.families {
            let is_empty = family.data.memtable.load().is_empty();
            if is_empty {
                // Nothing of the older logs is missing from the tables but what waits in immutable memtables.
                family.memtable_log_number = log_number;
            }
            let named = switches.iter().find(|switch| switch.id == *id);
            if (takes_all || named.is_some()) && !is_empty {
                self.events.collect(|| Event::MemTableSealed(family.memtable_info()));
                family.switch_memtable(log_number);
                family.memtable_earliest = visible;
                if let Some(switch) = named.or(switches.first()) {
                    family.flush_reason = switch.reason;
                }
                family.is_flush_requested |= takes_all || named.is_some_and(|switch| switch.flush_now);
                family.install(None);
                if family.update_stall_condition(&self.controller, lines) {
                    self.changed.notify_all();
                }
            }
            family.data.is_memtable_full.store(false, Ordering::Release);
        }
    }

    /// Has what is immutable of families flushed, however little; with `is_cut` by one job. Returns what
    /// [`wait_for_flush`](Self::wait_for_flush) waits for.
    pub(crate) fn request_flush(&self, ids: &[u32], is_cut: bool, reason: FlushReason) -> Vec<(u32, u64)> {
        let mut locked = self.lock();
        let mut targets = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(family) = locked.families.get_mut(id) {
                family.is_flush_requested = !family.immutable.is_empty();
                family.flush_reason = reason;
                targets.push((*id, family.switched_count));
            }
        }
        let has_work =
            |(id, _): &(u32, u64)| locked.families.get(id).is_some_and(|family| !family.immutable.is_empty());
        if is_cut && !locked.is_flush_atomic && targets.iter().any(has_work) {
            locked.cuts.push_back(Arc::new(targets.iter().copied().collect()));
        }
        targets
    }

    /// Waits until families have flushed as many memtables as is asked for, or are gone.
    ///
    /// # Errors
    /// The background error that stands, `ShutdownInProgress` when the database closes first.
    pub(crate) fn wait_for_flush(&self, targets: &[(u32, u64)]) -> Result<()> {
        let mut locked = self.lock();
        loop {
            locked.error.check()?;
            let is_done = |(id, target): &(u32, u64)| {
                locked.families.get(id).is_none_or(|family| family.flushed_count >= *target)
            };
            if targets.iter().all(is_done) {
                return Ok(());
            }
            if self.is_ending() && locked.running_flushes == 0 {
                return self.check_not_closing();
            }
            self.wait(&mut locked);
        }
    }

    /// The memtables went into a table, which is in `version`: readers find them there from now on. `flushed` has the
    /// families with how many of their oldest memtables went, and their versions. The caller holds the turn to change
    /// the tree.
    pub(crate) fn retire_memtables(&self, flushed: impl IntoIterator<Item = (u32, usize, Option<Arc<Version>>)>) {
        let mut locked = self.lock();
        let (state, lines) = (&mut *locked.state, &mut locked.lines);
        for (id, count, version) in flushed {
            let Some(family) = state.families.get_mut(&id) else { continue };
            family.immutable.drain(..count);
            family.is_flush_requested &= !family.immutable.is_empty();
            family.install(version);
            if family.update_stall_condition(&self.controller, lines) {
                self.changed.notify_all();
            }
        }
    }

    /// Memtables were flushed without a job, and let go of.
    pub(crate) fn note_flushed(&self, flushed: impl IntoIterator<Item = (u32, usize)>) {
        let mut locked = self.lock();
        for (id, count) in flushed {
            if let Some(family) = locked.families.get_mut(&id) {
                family.flushed_count += count as u64;
            }
        }
        self.changed.notify_all();
    }

    /// The oldest log that a family needs once `change` is done.
    pub(crate) fn oldest_needed_log(
        &self,
        change: Option<LogChange<'_>>,
        log_number_of: impl Fn(u32) -> Option<FileNumber>,
    ) -> Option<FileNumber> {
        let locked = self.lock();
        let needed = locked.families.values().filter_map(|family| {
            let id = family.data.id;
            let memtables = match change {
                Some(LogChange::Drop { id: dropped }) if dropped == id => return None,
                Some(LogChange::Flush(flushed)) => {
                    flushed.iter().find(|(of, _)| *of == id).map_or(0, |(_, count)| *count)
                }
                _ => 0,
            };
            match memtables.checked_sub(1).and_then(|last| family.immutable.get(last)) {
                Some(last) if family.immutable.len() > memtables => Some(last.log_number_after),
                None if !family.immutable.is_empty() => Some(log_number_of(id).unwrap_or_default()),
                _ => Some(family.memtable_log_number),
            }
        });
        needed.min()
    }
}
