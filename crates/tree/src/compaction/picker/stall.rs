//! When writers must slow down or stop because compaction is behind: a pure function of counts.

use ferrock_options::{ColumnFamilySettings, CompactionShape, WaitCause};

/// What the conditions look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallInput {
    /// Memtables that wait for their flush. The one that writers fill is none of them.
    pub num_unflushed_memtables: usize,
    /// Files in level 0; of a universal family sorted runs.
    pub num_level_0_files: usize,
    /// Bytes that compactions must rewrite until the tree is in shape.
    pub compaction_needed_bytes: u64,
    /// The same, once all that lies in memtables and in level 0 is on its way down.
    pub looming_bytes: u64,
}

/// Why writers wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StallCause {
    /// Too many memtables wait for their flush.
    Memtables,
    /// Too many files in level 0.
    Level0Files,
    /// Too many bytes wait for compaction.
    PendingCompactionBytes,
}

impl From<StallCause> for WaitCause {
    fn from(cause: StallCause) -> Self {
        match cause {
            StallCause::Memtables => Self::Memtables,
            StallCause::Level0Files => Self::Level0Files,
            StallCause::PendingCompactionBytes => Self::PendingCompactionBytes,
        }
    }
}

/// The numbers that make a cause hold, or no more, for a line of the LOG.
#[must_use]
pub fn numbers(settings: &ColumnFamilySettings, input: &StallInput, cause: StallCause) -> String {
    match cause {
        StallCause::Memtables => format!(
            "{} memtables wait for their flush, max_write_buffer_number is {}",
            input.num_unflushed_memtables, settings.max_write_buffer_number
        ),
        StallCause::Level0Files => format!(
            "{} files in level 0, level0_slowdown_writes_trigger is {}, level0_stop_writes_trigger {}",
            input.num_level_0_files, settings.level0_slowdown_writes_trigger, settings.level0_stop_writes_trigger
        ),
        StallCause::PendingCompactionBytes => format!(
            "{} bytes wait for compactions, soft_pending_compaction_bytes_limit is {}, \
             hard_pending_compaction_bytes_limit {}",
            input.compaction_needed_bytes,
            settings.soft_pending_compaction_bytes_limit,
            settings.hard_pending_compaction_bytes_limit
        ),
    }
}

/// What writers must do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StallCondition {
    /// Go on.
    #[default]
    Normal,
    /// Write at the delayed rate.
    Delayed(StallCause),
    /// Wait.
    Stopped(StallCause),
}

/// What writers of a family must do, the most severe condition first.
#[must_use]
pub fn stall_condition(settings: &ColumnFamilySettings, input: &StallInput) -> StallCondition {
    use StallCause::{Level0Files, Memtables, PendingCompactionBytes};
    let count = |value: i32| usize::try_from(value).unwrap_or(usize::MAX);
    let max_memtables = count(settings.max_write_buffer_number);
    let is_compacted = !settings.disable_auto_compactions;
    let counts_level_0 = is_compacted && counts_level_0(settings);
    let stops_at = count(settings.level0_stop_writes_trigger).max(least_runs(settings));
    let slows_down_at = count(settings.level0_slowdown_writes_trigger).max(least_runs(settings));
    let reaches = |limit: u64| is_compacted && limit > 0 && input.compaction_needed_bytes >= limit;

    if input.num_unflushed_memtables >= max_memtables {
        return StallCondition::Stopped(Memtables);
    }
    if counts_level_0 && input.num_level_0_files >= stops_at {
        return StallCondition::Stopped(Level0Files);
    }
    if reaches(settings.hard_pending_compaction_bytes_limit) {
        return StallCondition::Stopped(PendingCompactionBytes);
    }
    if max_memtables > 3
        && input.num_unflushed_memtables >= max_memtables - 1
        && input.num_unflushed_memtables > count(settings.min_write_buffer_number_to_merge)
    {
        return StallCondition::Delayed(Memtables);
    }
    // A negative trigger is switched off: `count` makes it unreachable.
    if counts_level_0 && input.num_level_0_files >= slows_down_at {
        return StallCondition::Delayed(Level0Files);
    }
    if reaches(settings.soft_pending_compaction_bytes_limit) {
        return StallCondition::Delayed(PendingCompactionBytes);
    }
    StallCondition::Normal
}

/// False where nothing takes files out of level 0, and where they are dropped when there are too many.
fn counts_level_0(settings: &ColumnFamilySettings) -> bool {
    matches!(settings.compaction_shape(), CompactionShape::Levels | CompactionShape::Runs)
}

/// Below so many there is nothing to wait for: the oldest sorted run stays, and above it one of what is young.
fn least_runs(settings: &ColumnFamilySettings) -> usize {
    match (settings.compaction_shape(), settings.preclude_last_level_data_seconds) {
        (CompactionShape::Runs, 0) => 2,
        (CompactionShape::Runs, _) => 3,
        _ => 0,
    }
}

/// Sorted runs from which on writers are slowed down or stopped.
#[must_use]
pub fn runs_that_hold_up(settings: &ColumnFamilySettings) -> usize {
    let triggers = [settings.level0_slowdown_writes_trigger, settings.level0_stop_writes_trigger];
    let least = triggers.into_iter().filter_map(|trigger| usize::try_from(trigger).ok()).min();
    least.map_or(usize::MAX, |least| least.max(least_runs(settings)))
}

/// What the delayed rate follows each time the condition is evaluated while writers are delayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayTrend {
    /// Writers were stopped, or are close to it.
    pub is_near_stop: bool,
    /// There is no less to do than at the last evaluation.
    pub is_debt_growing: bool,
    /// See [`way_to_stop`].
    pub way_to_stop: f64,
}

/// Delayed writers get no less, in bytes a second.
const MIN_DELAYED_RATE: u64 = 16 << 10;
/// On the last of their way to a stop, writers keep this part of the rate.
const LEAST_SHARE: f64 = 1.0 / 256.0;

/// The next delayed rate, in bytes a second. Writers get the share of it that [`rate_on_the_way`] leaves them, which
/// already follows the debt. So on the way to a stop the rate itself changes only as far as it takes to keep writers
/// about half of the way from it; before, it follows the debt alone, as RocksDB's does.
#[must_use]
pub fn next_delayed_rate(current: u64, max_rate: u64, trend: DelayTrend) -> u64 {
    let factor = if trend.way_to_stop > 0.0 {
        match (trend.way_to_stop > 0.5, trend.is_debt_growing) {
            (true, true) => 0.8,
            (false, false) => 1.25,
            _ => 1.0,
        }
    } else {
        match trend {
            DelayTrend { is_near_stop: true, .. } => 0.6,
            DelayTrend { is_debt_growing: true, .. } => 0.8,
            DelayTrend { .. } => 1.25,
        }
    };
    ((current as f64 * factor) as u64).clamp(MIN_DELAYED_RATE.min(max_rate), max_rate)
}

/// What is left to writers of the delayed rate on the way to a stop: the square of what is left of the way. With what
/// is left itself, writers that had run free for ten seconds came to the end with their memtables full, and were
/// stopped for 3 seconds in one of two runs.
#[must_use]
pub fn rate_on_the_way(rate: u64, way_to_stop: f64) -> u64 {
    let left = rate as f64 * (1.0 - way_to_stop).clamp(0.0, 1.0).powi(2).max(LEAST_SHARE);
    (left as u64).max(MIN_DELAYED_RATE.min(rate))
}

/// How much of the way to a stop is behind the writers, from 0, where they are not slowed down, to 1, where they are
/// stopped. Of bytes those count that loom: what waits in memtables will be flushed whatever the writers do from now
/// on, and a table of level 0 may be worth a hundred times its size in debt. Of files those count that are there: a
/// memtable is only one more. No file is worth more than another, so nothing comes at once at the end of their way: it
/// is counted such that writers keep the part of the rate that is left of it, and not its square. Universal inserts of
/// `lsm_at_scale LIBRARY DIRECTORY universal 16000000` (dev/interop) were 205,000 a second with the square and 196,000
/// to 228,000 without, in single runs: no difference that can be told from noise.
#[must_use]
pub fn way_to_stop(settings: &ColumnFamilySettings, input: &StallInput) -> f64 {
    if settings.disable_auto_compactions {
        return 0.0;
    }
    let part = |value: u64, from: u64, to: u64| {
        if value <= from || to <= from { 0.0 } else { ((value - from) as f64 / (to - from) as f64).min(1.0) }
    };
    let (soft, hard) = (settings.soft_pending_compaction_bytes_limit, settings.hard_pending_compaction_bytes_limit);
    let of_bytes = if soft == 0 { 0.0 } else { part(input.looming_bytes, soft, hard) };
    let count = |value: i32| u64::try_from(value).unwrap_or(u64::MAX).max(least_runs(settings) as u64);
    let (slows_down_at, stops_at) =
        (count(settings.level0_slowdown_writes_trigger), count(settings.level0_stop_writes_trigger));
    if !counts_level_0(settings) {
        return of_bytes;
    }
    let of_files = part(input.num_level_0_files as u64, slows_down_at, stops_at);
    of_bytes.max(1.0 - (1.0 - of_files).sqrt())
}

/// True when compaction is behind, though writers may not be slowed down yet: level 0 is twice as long as a compaction
/// wants it, or a quarter of the way to where writers are slowed down, or a quarter of the bytes pending are there that
/// slow them down.
#[must_use]
pub fn is_behind(settings: &ColumnFamilySettings, input: &StallInput) -> bool {
    if settings.disable_auto_compactions {
        return false;
    }
    let trigger = i64::from(settings.level0_file_num_compaction_trigger);
    let way = trigger + (i64::from(settings.level0_slowdown_writes_trigger) - trigger) / 4;
    let files = i64::try_from(input.num_level_0_files).unwrap_or(i64::MAX);
    let soft = settings.soft_pending_compaction_bytes_limit;
    (counts_level_0(settings) && trigger >= 0 && files >= way.min(2 * trigger).max(1))
        || (soft > 0 && input.compaction_needed_bytes >= (soft / 4).max(1))
}

/// True when the family is so close to a stop that the delayed rate must fall fast.
#[must_use]
pub fn is_near_stop(settings: &ColumnFamilySettings, input: &StallInput) -> bool {
    let files = i64::try_from(input.num_level_0_files).unwrap_or(i64::MAX);
    let (soft, hard) = (settings.soft_pending_compaction_bytes_limit, settings.hard_pending_compaction_bytes_limit);
    let near_bytes = soft.saturating_add(hard.saturating_sub(soft) / 4 * 3);
    (counts_level_0(settings) && files >= i64::from(settings.level0_stop_writes_trigger).saturating_sub(2))
        || (soft > 0 && hard > 0 && input.compaction_needed_bytes > near_bytes)
}
