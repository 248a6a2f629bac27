//! How busy the jobs of a database are, and how near its writers are to a stall: what listeners are told behind a job.

use super::{FamilyJobs, JobScheduler};
use ferrock_options::BackgroundJobPressure;
use ferrock_tree::compaction::picker;
use std::sync::Arc;

impl JobScheduler {
    /// As of now.
    pub(crate) fn pressure(&self) -> BackgroundJobPressure {
        let state = self.lock();
        let running: usize = state.families.values().map(|family| family.running.len()).sum();
        BackgroundJobPressure {
            compaction_scheduled: state.running_compactions,
            compaction_running: running,
            compaction_low_scheduled: state.running_compactions,
            compaction_low_running: running,
            compaction_bottom_scheduled: 0,
            compaction_bottom_running: 0,
            flush_scheduled: state.running_flushes,
            flush_running: state.running_flushes,
            write_stall_proximity_pct: state.families.values().map(FamilyJobs::stall_proximity_pct).max().unwrap_or(0),
            compaction_speedup_active: self.controller.is_behind(),
        }
    }
}

impl FamilyJobs {
    /// The part of the way to the first slowdown, by files of level 0 or by bytes to be compacted, in percent. Where
    /// nothing slows writers down, the way to the stop.
    fn stall_proximity_pct(&self) -> u32 {
        let options = self.data.options.load();
        let version = Arc::clone(&self.data.super_version.load().version);
        let first_of = |slowdown: u64, stop: u64| if slowdown > 0 { slowdown } else { stop };
        let count = |value: i32| u64::try_from(value).unwrap_or(0);
        let files = first_of(count(options.level0_slowdown_writes_trigger), count(options.level0_stop_writes_trigger));
        let bytes = first_of(options.soft_pending_compaction_bytes_limit, options.hard_pending_compaction_bytes_limit);
        let by_files = percent(picker::num_counted_runs(&options, &version) as u64, files);
        let by_bytes = percent(version.estimated_compaction_needed_bytes(&options), bytes);
        by_files.max(by_bytes)
    }
}

fn percent(part: u64, of: u64) -> u32 {
    let percent = (u128::from(part) * 100).checked_div(u128::from(of)).unwrap_or(0);
    u32::try_from(percent).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn percents() {
        assert_eq!([percent(1, 4), percent(5, 4), percent(1, 0), percent(u64::MAX, 1)], [25, 125, 0, u32::MAX]);
    }
}
