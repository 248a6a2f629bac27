//! Which families one flush job takes, and up to which of their memtables.
//!
//! | scope | families | memtables | asked for by |
//! |---|---|---|---|
//! | `Family` | one | all that are immutable when the job gets its place | a full memtable, a call |
//! | `Cut` | some | those that one switch made immutable, and older ones | `force_atomic_flush` |
//! | `All` | all | all that are immutable when the job begins | anything, with `atomic_flush` |
//!
//! What a job takes is installed by one group of records in the MANIFEST, so a crash leaves all of it or nothing. For
//! that to be one point of the history, the memtables of a job must end at one sequence number:
//!
//! - With `atomic_flush` every switch takes all families ([`switch_memtables`](JobScheduler::switch_memtables)), under
//!   the lock of the scheduler and while no thread writes. What is immutable at any moment is therefore everything up
//!   to one number. One such job runs at a time.
//! - A cut remembers how many memtables each of its families had switched by then. While it waits, no other job of
//!   these families begins, those that run take none of its memtables, and cuts run in the order in which they were
//!   made.

use super::{FamilyJobs, FlushInput, FlushScope, JobScheduler, State};
use std::sync::Arc;

impl State {
    /// Gives a place to the flush that has waited longest: a busy family must not keep an idle one, and with it the
    /// log, waiting.
    pub(super) fn begin_flush_job(&mut self) -> Option<FlushScope> {
        let scope =
            if self.is_flush_atomic { self.next_of_all() } else { self.next_cut().or_else(|| self.next_family()) }?;
        self.mark_flushing(&scope, true);
        self.running_flushes += 1;
        Some(scope)
    }

    fn next_of_all(&self) -> Option<FlushScope> {
        let is_due = self.running_flushes == 0 && self.families.values().any(FamilyJobs::needs_flush);
        is_due.then_some(FlushScope::All)
    }

    fn next_cut(&mut self) -> Option<FlushScope> {
        let is_busy = |id| self.families.get(id).is_some_and(|family| family.is_flush_running);
        let is_free = self.cuts.front().is_some_and(|ends| !ends.keys().any(is_busy));
        if is_free { self.cuts.pop_front().map(FlushScope::Cut) } else { None }
    }

    fn next_family(&self) -> Option<FlushScope> {
        let is_cut = |id| self.cuts.iter().any(|ends| ends.contains_key(&id));
        let waiting = self.families.values().filter(|family| family.needs_flush() && !is_cut(family.data.id));
        let family = waiting.min_by_key(|family| family.immutable.front().map(|first| first.log_number_after))?;
        Some(FlushScope::Family(family.data.id, family.switched_count))
    }

    /// Takes the place of a flush back.
    pub(super) fn end_flush_job(&mut self, scope: &FlushScope) {
        self.running_flushes -= 1;
        self.mark_flushing(scope, false);
    }

    fn mark_flushing(&mut self, scope: &FlushScope, is_running: bool) {
        for family in self.families.values_mut().filter(|family| scope.end_of(family.data.id).is_some()) {
            family.is_flush_running = is_running;
        }
    }
}

impl JobScheduler {
    /// True with `atomic_flush`: what flushes one family flushes all.
    pub(crate) fn is_flush_atomic(&self) -> bool {
        self.lock().is_flush_atomic
    }

    /// What a flush takes now: families with their memtables, in the order of their ids. Empty when there is nothing.
    pub(crate) fn flush_inputs(&self, scope: &FlushScope) -> Vec<FlushInput> {
        let locked = self.lock();
        locked.families.values().filter_map(|family| family.flush_input(scope.end_of(family.data.id)?)).collect()
    }

    /// A flush job ended, which flushed so many memtables of families: its place goes to the next jobs, and callers
    /// that wait for the flush go on. Also when a family was dropped under the job. The job has let go of the
    /// memtables: what waits for a flush may wait for their memory.
    pub(crate) fn finish_flush(&self, scope: &FlushScope, flushed: &[(u32, usize)]) {
        self.change(|state| {
            state.end_flush_job(scope);
            for (id, count) in flushed {
                if let Some(family) = state.families.get_mut(id) {
                    family.flushed_count += *count as u64;
                    family.is_flush_requested &= !family.immutable.is_empty();
                }
            }
        });
    }
}

impl FamilyJobs {
    /// The immutable memtables among the first `end` that the family ever switched.
    fn flush_input(&self, end: u64) -> Option<FlushInput> {
        let retired = self.switched_count - self.immutable.len() as u64;
        let count = usize::try_from(end.saturating_sub(retired)).unwrap_or(usize::MAX).min(self.immutable.len());
        let log_number_after = self.immutable.get(count.checked_sub(1)?)?.log_number_after;
        let memtables = self.immutable.iter().take(count).map(|immutable| Arc::clone(&immutable.memtable)).collect();
        Some(FlushInput { data: Arc::clone(&self.data), memtables, log_number_after, reason: self.flush_reason })
    }
}
