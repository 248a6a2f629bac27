//! What the scheduler knows of one column family.

use super::Lines;
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::options::ColumnFamilyOptions;
use crate::resting::RestingIterators;
use crate::write::controller::{FamilyDebt, StallCondition, WriteController};
use ferrock_base::{FileNumber, SequenceNumber};
use ferrock_memtable::MemTable;
use ferrock_options::{FlushReason, MemTableInfo, WriteStallInfo};
use ferrock_tree::compaction::choice::{RunningCompactions, RunningId};
use ferrock_tree::compaction::picker;
use ferrock_tree::compaction::picker::stall::{self, StallInput};
use ferrock_tree::counted_callbacks::counted_merges;
use ferrock_tree::version::Version;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A full memtable on its way to a table.
pub(super) struct ImmutableMemTable {
    pub(super) memtable: Arc<MemTable>,
    /// When it is in a table, logs before this one hold nothing that the family still needs.
    pub(super) log_number_after: FileNumber,
}

/// The manual compactions of a family that tolerate no other beside them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExclusiveManual {
    pub(super) is_running: bool,
    /// Those that wait for the compactions that run.
    pub(super) waiting: usize,
}

impl ExclusiveManual {
    /// True when no automatic compaction may begin.
    pub(super) fn keeps_others_out(self) -> bool {
        self.is_running || self.waiting > 0
    }
}

/// See the [module](self).
pub(crate) struct FamilyJobs {
    pub(super) data: Arc<ColumnFamilyData>,
    /// Oldest first.
    pub(super) immutable: VecDeque<ImmutableMemTable>,
    /// The log that was current when the memtable began.
    pub(super) memtable_log_number: FileNumber,
    /// Flush what is immutable, however little.
    pub(super) is_flush_requested: bool,
    /// Of the next flush.
    pub(super) flush_reason: FlushReason,
    /// No entry of the memtable has a smaller number.
    pub(super) memtable_earliest: SequenceNumber,
    pub(super) is_flush_running: bool,
    /// Compactions that run now.
    pub(super) running: RunningCompactions,
    /// Something changed since it was found that no automatic compaction can begin.
    pub(super) may_compact: AtomicBool,
    pub(super) exclusive_manual: ExclusiveManual,
    /// Memtables flushed since the database opened; a caller that flushes waits for it to pass a number.
    pub(super) flushed_count: u64,
    pub(super) switched_count: u64,
}

impl FamilyJobs {
    /// A family whose memtable began with the log `log_number`.
    pub(crate) fn new(data: Arc<ColumnFamilyData>, log_number: FileNumber) -> Self {
        Self {
            data,
            immutable: VecDeque::new(),
            memtable_log_number: log_number,
            is_flush_requested: false,
            flush_reason: FlushReason::Others,
            memtable_earliest: SequenceNumber(0),
            is_flush_running: false,
            running: RunningCompactions::default(),
            may_compact: AtomicBool::new(true),
            exclusive_manual: ExclusiveManual::default(),
            flushed_count: 0,
            switched_count: 0,
        }
    }

    /// True when a flush of the family should run and none does.
    pub(super) fn needs_flush(&self) -> bool {
        if self.is_flush_running || self.immutable.is_empty() {
            return false;
        }
        let enough = usize::try_from(self.data.options.load().min_write_buffer_number_to_merge).unwrap_or(1);
        self.is_flush_requested || self.immutable.len() >= enough
    }

    /// Why a memtable that takes no more is flushed.
    pub(super) fn reason_of_full(&self) -> FlushReason {
        let most = u64::from(self.data.options.load().memtable_max_range_deletions);
        match most > 0 && self.data.memtable.load().num_range_deletes() >= most {
            true => FlushReason::MemtableMaxRangeDeletions,
            false => FlushReason::WriteBufferFull,
        }
    }

    /// What listeners are told of the memtable.
    pub(super) fn memtable_info(&self) -> MemTableInfo {
        let memtable = self.data.memtable.load();
        MemTableInfo {
            column_family: self.data.name.clone(),
            first_seqno: memtable.smallest_sequence().unwrap_or_default(),
            earliest_seqno: self.memtable_earliest,
            num_entries: memtable.num_entries(),
            num_deletes: memtable.num_deletes(),
            newest_udt: Vec::new(),
        }
    }

    /// Makes the memtable immutable and begins another one; the records that come from now on are in `log_number`.
    pub(super) fn switch_memtable(&mut self, log_number: FileNumber) {
        let next = self.data.new_memtable();
        next.inherit_deleted_runs(&self.data.memtable.load());
        let memtable = self.data.memtable.swap(next);
        memtable.retire();
        self.immutable.push_back(ImmutableMemTable { memtable, log_number_after: log_number });
        self.memtable_log_number = log_number;
        self.switched_count += 1;
    }

    /// A compaction ended, and its inputs are free.
    pub(super) fn finish_compaction(&mut self, running: RunningId) {
        self.running.finish(running);
        self.may_compact.store(true, Ordering::Relaxed);
    }

    /// Gives readers the family as it is now; `version` when that changed too.
    pub(super) fn install(&self, version: Option<Arc<Version>>) {
        self.may_compact.store(true, Ordering::Relaxed);
        let data = &self.data;
        let version = version.unwrap_or_else(|| Arc::clone(&data.super_version.load().version));
        let options = data.options.load_full();
        data.super_version.install(Arc::new(SuperVersion {
            memtable: data.memtable.load_full(),
            immutable: self.immutable.iter().rev().map(|immutable| Arc::clone(&immutable.memtable)).collect(),
            version,
            merge_operator: counted_merges(options.merge_operator.as_ref(), data.table_cache.statistics()),
            options,
            resting: RestingIterators::default(),
        }));
    }

    fn stall_input(&self, options: &ColumnFamilyOptions) -> StallInput {
        let version = Arc::clone(&self.data.super_version.load().version);
        let unflushed = self.immutable.iter().map(|immutable| immutable.memtable.approximate_memory_bytes() as u64);
        // Of values that go into blob files, compactions rewrite the references alone.
        let unflushed_bytes = if options.enable_blob_files { 0 } else { unflushed.sum() };
        StallInput {
            num_unflushed_memtables: self.immutable.len(),
            num_level_0_files: picker::num_counted_runs(options, &version),
            compaction_needed_bytes: version.estimated_compaction_needed_bytes(options),
            looming_bytes: version.looming_compaction_needed_bytes(options, unflushed_bytes),
        }
    }

    /// True when writers would be slowed down or stopped if the memtable that they fill were flushed now: by one more
    /// memtable that waits, or one more table in level 0. As in RocksDB, what is below the triggers of flushes and
    /// compactions does not count: no job would come of waiting.
    pub(super) fn would_flush_stall_writers(&self) -> bool {
        let options = self.data.options.load();
        let count = |value: i32| usize::try_from(value).unwrap_or(0);
        let mut input = self.stall_input(&options);
        if input.num_unflushed_memtables < count(options.min_write_buffer_number_to_merge)
            && input.num_level_0_files < count(options.level0_file_num_compaction_trigger)
        {
            return false;
        }
        input.num_unflushed_memtables += usize::from(!self.data.memtable.load().is_empty());
        input.num_level_0_files += 1;
        stall::stall_condition(&options, &input) != stall::StallCondition::Normal
    }

    /// Tells the writers how far behind flush and compaction of the family are. True when that changed how writers are
    /// treated.
    pub(super) fn update_stall_condition(&self, controller: &WriteController, lines: &mut Lines<'_>) -> bool {
        let options = self.data.options.load();
        let input = self.stall_input(&options);
        let wanted = stall::stall_condition(&options, &input);
        self.data.stalls.add(wanted, self.running.uses_level_0());
        let (condition, cause) = match wanted {
            stall::StallCondition::Normal => (StallCondition::Normal, None),
            stall::StallCondition::Delayed(cause) => (StallCondition::Delayed, Some(cause)),
            stall::StallCondition::Stopped(cause) => (StallCondition::Stopped, Some(cause)),
        };
        let before = controller.condition();
        let debt = FamilyDebt {
            condition,
            cause,
            bytes: input.compaction_needed_bytes,
            is_near_stop: stall::is_near_stop(&options, &input),
            way_to_stop: stall::way_to_stop(&options, &input),
            is_behind: stall::is_behind(&options, &input),
        };
        let before_of_family = controller.update(self.data.id, debt);
        let (previous, current) = (before_of_family.condition.told(), condition.told());
        if let Some(cause) = cause.or(before_of_family.cause).filter(|_| previous != current) {
            let info = WriteStallInfo { column_family: self.data.name.clone(), cause: cause.into(), previous, current };
            let rate = match controller.actual_delayed_rate() {
                0 => String::new(),
                rate => format!("; writers share {rate} bytes a second"),
            };
            lines.stall(info, &format!("{}{rate}", stall::numbers(&options, &input, cause)));
        }
        before != controller.condition()
    }

    /// From now on the family is gone.
    pub(super) fn mark_dropped(&self) {
        self.data.is_dropped.store(true, Ordering::Release);
    }
}
