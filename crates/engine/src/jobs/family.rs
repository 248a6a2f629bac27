//! What the scheduler knows of one column family.

use super::Lines;
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::write::controller::{StallCondition, WriteController};
use ferrock_base::FileNumber;
use ferrock_memtable::MemTable;
use ferrock_tree::compaction::choice::RunningCompactions;
use ferrock_tree::compaction::picker;
use ferrock_tree::compaction::picker::stall::{self, StallInput};
use ferrock_tree::version::Version;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
    pub(super) is_flush_running: bool,
    /// Compactions that run now.
    pub(super) running: RunningCompactions,
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
            is_flush_running: false,
            running: RunningCompactions::default(),
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

    /// Makes the memtable immutable and begins another one; the records that come from now on are in `log_number`.
    pub(super) fn switch_memtable(&mut self, log_number: FileNumber) {
        let memtable = self.data.memtable.swap(self.data.new_memtable());
        memtable.retire();
        self.immutable.push_back(ImmutableMemTable { memtable, log_number_after: log_number });
        self.memtable_log_number = log_number;
        self.switched_count += 1;
    }

    /// Gives readers the family as it is now; `version` when that changed too.
    pub(super) fn install(&self, version: Option<Arc<Version>>) {
        let data = &self.data;
        let version = version.unwrap_or_else(|| Arc::clone(&data.super_version.load().version));
        data.super_version.install(Arc::new(SuperVersion {
            memtable: data.memtable.load_full(),
            immutable: self.immutable.iter().rev().map(|immutable| Arc::clone(&immutable.memtable)).collect(),
            version,
            options: data.options.load_full(),
        }));
    }

    /// Tells the writers how far behind flush and compaction of the family are. True when that changed how writers are
    /// treated.
    pub(super) fn update_stall_condition(&self, controller: &WriteController, lines: &mut Lines<'_>) -> bool {
        let options = self.data.options.load();
        let version = Arc::clone(&self.data.super_version.load().version);
        let input = StallInput {
            num_unflushed_memtables: self.immutable.len(),
            num_level_0_files: picker::num_counted_runs(&options, &version),
            compaction_needed_bytes: version.estimated_compaction_needed_bytes(&options),
        };
        let wanted = stall::stall_condition(&options, &input);
        self.data.stalls.add(wanted, self.running.uses_level_0());
        let condition = match wanted {
            stall::StallCondition::Normal => StallCondition::Normal,
            stall::StallCondition::Delayed(_) => StallCondition::Delayed,
            stall::StallCondition::Stopped(_) => StallCondition::Stopped,
        };
        let before = controller.condition();
        let near_stop = stall::is_near_stop(&options, &input);
        controller.update(self.data.id, condition, input.compaction_needed_bytes, near_stop);
        let after = controller.condition();
        if before != after {
            lines.warn(format!("[{}] writes are {after:?} (were {before:?}): {wanted:?}", self.data.name));
        }
        before != after
    }

    /// From now on the family is gone.
    pub(super) fn mark_dropped(&self) {
        self.data.is_dropped.store(true, Ordering::Release);
    }
}
