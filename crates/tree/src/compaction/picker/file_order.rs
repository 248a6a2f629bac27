//! Which file of a level is compacted first: option `compaction_pri`.

use super::PickerInput;
use crate::version::FileMetadata;
use ferrock_options::CompactionPriority;
use std::cmp::Reverse;

/// Indexes of the files of `level`, the one to compact first in front. In level 0 that is the oldest: what overlaps it
/// comes along anyway.
pub(super) fn file_order(input: &PickerInput<'_>, level: usize) -> Vec<usize> {
    let version = input.version;
    let files = version.level(level);
    let mut order: Vec<usize> = (0..files.len()).collect();
    if level == 0 {
        order.reverse();
        return order;
    }
    match input.options.compaction_pri {
        CompactionPriority::ByCompensatedSize => {
            let statistics = version.accumulated_statistics();
            order.sort_by_cached_key(|&index| Reverse(statistics.compensated_size_bytes(&files[index])));
        }
        CompactionPriority::OldestLargestSeqFirst => order.sort_by_key(|&index| files[index].largest_seqno),
        CompactionPriority::OldestSmallestSeqFirst => order.sort_by_key(|&index| files[index].smallest_seqno),
        CompactionPriority::MinOverlappingRatio => {
            let ratios = overlapping_ratios(input, level);
            order.sort_by(|&a, &b| {
                let marked = files[b].needs_compaction.cmp(&files[a].needs_compaction);
                // Of equal ones the smaller keys: a run of neighbours can be moved together.
                let by_key = || version.comparator().compare(&files[a].smallest, &files[b].smallest);
                marked.then(ratios[a].cmp(&ratios[b])).then_with(by_key)
            });
        }
        CompactionPriority::RoundRobin => {
            if let Some(cursor) = version.compact_cursor(level) {
                let comparator = version.comparator();
                let start = files.partition_point(|file| comparator.compare(&file.smallest, cursor).is_lt());
                order.rotate_left(start);
            }
        }
    }
    order
}

/// Bytes of the next level that each file drags along, per 1024 bytes of its own. Walks both levels once.
fn overlapping_ratios(input: &PickerInput<'_>, level: usize) -> Vec<u64> {
    let version = input.version;
    let comparator = version.comparator();
    let statistics = version.accumulated_statistics();
    let booster = TtlBooster::new(input, level);
    let next_level = version.level(level + 1);
    let mut next = 0;
    let mut ratios = Vec::with_capacity(version.level(level).len());
    for file in version.level(level) {
        while next_level.get(next).is_some_and(|below| comparator.compare(&below.largest, &file.smallest).is_lt()) {
            next += 1;
        }
        let mut overlapping_bytes = 0u64;
        while let Some(below) = next_level.get(next)
            && comparator.compare(&below.smallest, &file.largest).is_lt()
        {
            overlapping_bytes = overlapping_bytes.saturating_add(below.size_bytes);
            if comparator.compare(&below.largest, &file.largest).is_gt() {
                // It reaches into the next file's range too: stay on it.
                break;
            }
            next += 1;
        }
        let size = statistics.compensated_size_bytes(file).max(1);
        ratios.push(overlapping_bytes.saturating_mul(1024) / size / booster.score(file));
    }
    ratios
}

/// Brings files forward that would soon be compacted for their age anyway: the deeper the level, the later it starts.
struct TtlBooster {
    now_secs: u64,
    /// Age from which a file is brought forward, and the age per step; `None` for levels without boost.
    start_and_step_secs: Option<(u64, u64)>,
}

impl TtlBooster {
    fn new(input: &PickerInput<'_>, level: usize) -> Self {
        const STEPS: u64 = 16;
        let ttl = input.options.ttl;
        let num_non_empty = input.version.deepest_non_empty_level().map_or(0, |deepest| deepest + 1);
        let start_and_step_secs = (ttl > 0 && level > 0 && level + 1 < num_non_empty).then(|| {
            let earliest = ttl / 2;
            let range = (ttl / 32 * 31).saturating_sub(earliest) >> (num_non_empty - level - 1);
            (earliest + range, (range / STEPS).max(1))
        });
        Self { now_secs: input.now_secs, start_and_step_secs }
    }

    fn score(&self, file: &FileMetadata) -> u64 {
        let born = file.oldest_ancester_time_secs;
        match self.start_and_step_secs {
            Some((start, step)) if born > 0 => {
                (self.now_secs.saturating_sub(born).saturating_sub(start) / step).saturating_add(1)
            }
            _ => 1,
        }
    }
}
