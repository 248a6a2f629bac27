//! The minimum and the allowed cost of a case's reads, computed from the blocks of the tables.
//!
//! ```text
//! minimum    blocks that hold a key within the bounds -> runs of sectors -> requests of at most 256 KiB
//! allowed    step by step: blocks between which the index cannot tell, index partitions that are not in the cache yet,
//!            windows that double where the end is not known
//! ```
//!
//! The minimum is computed with full knowledge, including later steps. The allowance is computed with a reader's
//! knowledge: the bounds of its step, and the blocks that earlier steps left in the cache.

use super::cost::{Cost, Spans};
use super::dataset::{DataSet, Key};
use super::engine::Bounds;
use super::layout::{Block, Layout};
use super::plan::{Plan, Step};
use std::collections::BTreeSet;
use std::ops::Range;

/// Absent index partitions of a read are read together with its first one if they take no more than this.
const INDEX_EAGER_BYTES: u64 = 16 << 10;
/// Later index partitions are read ahead in pieces of this.
const INDEX_AHEAD_BYTES: u64 = 64 << 10;
/// Cached bytes may be read again if they lie between two uncached pieces, and are no longer than this.
const DATA_GAP_BYTES: u64 = 16 << 10;
/// The same for partitions of the index.
const INDEX_GAP_BYTES: u64 = 5 << 10;
/// Requests more than a scan of everything needs, while its windows grow.
const RAMP_REQUESTS: u64 = 8;

/// How the tables were written and are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Features {
    /// Alignment of reads in bytes; 1: none.
    pub(crate) sector: u64,
    /// Bytes that may lie between two blocks.
    pub(crate) padding: u64,
    pub(crate) caches_data: bool,
    pub(crate) row_filter: bool,
    pub(crate) row_bounds: bool,
    pub(crate) partition_cut: bool,
    /// Bytes of a key that name its partition.
    pub(crate) prefix_bytes: usize,
}

/// The content of the cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resident {
    index: BTreeSet<(usize, usize)>,
    filter: BTreeSet<(usize, usize)>,
    data: BTreeSet<(usize, usize)>,
}

/// The tables of a database, the newest first.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) tables: Vec<Layout>,
    pub(crate) features: Features,
}

/// The cursor of a run.
#[derive(Default)]
struct Walk {
    bounds: Bounds,
    limit: Option<u64>,
    /// The block of each table that the cursor still has.
    held: Vec<Option<usize>>,
}

impl Model {
    /// The minimum and the allowed cost of a run; `resident` becomes the content of the cache after the run.
    pub(crate) fn run(&self, plan: &Plan, data: &DataSet, resident: &mut Resident) -> (Cost, Cost) {
        let least = self.least(plan, data, resident);
        let mut allowed = Cost::default();
        let mut walk = Walk { held: vec![None; self.tables.len()], ..Walk::default() };
        for step in plan.steps(data) {
            match step {
                Step::Open(bounds, limit) => {
                    walk = Walk { bounds, limit, held: vec![None; self.tables.len()] };
                }
                Step::Forward { bounds, .. } => allowed.add(self.range(&bounds, &mut walk.held, resident)),
                Step::Read { limit: u64::MAX, .. } | Step::ReadBack { .. } => {
                    allowed.add(self.range(&walk.bounds, &mut walk.held, resident));
                }
                Step::Read { limit, .. } => allowed.add(self.limited(&walk, limit, resident)),
                Step::Get { key, .. } => allowed.add(self.get(&key, resident)),
            }
        }
        if plan.ranges(data).is_some() {
            // Requests of one batch may meet within a block, which is then read by both.
            allowed.data.bytes += allowed.data.bytes / 16;
        }
        (least, allowed)
    }

    /// The least that all steps of a run need together.
    fn least(&self, plan: &Plan, data: &DataSet, resident: &Resident) -> Cost {
        let mut cost = Cost::default();
        let mut needed: Vec<usize> = (0..self.tables.len()).collect();
        if let Plan::Get { offset } = *plan {
            // The one table that has the row is enough.
            needed.retain(|number| has(&self.tables[*number], &data.key(offset)));
        }
        for number in needed {
            let table = &self.tables[number];
            let (mut wanted, mut partitions) = (BTreeSet::new(), BTreeSet::new());
            for bounds in plan.read_bounds(data) {
                let found = holding(table, &bounds);
                partitions.extend(table.blocks[found.clone()].iter().map(|block| block.partition));
                wanted.extend(found);
            }
            wanted.retain(|block| !self.features.caches_data || !resident.data.contains(&(number, *block)));
            partitions.retain(|partition| !resident.index.contains(&(number, *partition)));
            cost.data.add(self.spans(wanted.iter().map(|block| &table.blocks[*block].bytes)));
            cost.index.add(self.spans(partitions.iter().map(|partition| &table.partitions[*partition])));
        }
        cost
    }

    fn spans<'a>(&self, ranges: impl Iterator<Item = &'a Range<u64>>) -> Spans {
        Spans::of(ranges, self.features.sector, self.features.padding)
    }

    /// The same where a reader may also read over a gap rather than make another request.
    fn spans_over<'a>(&self, ranges: impl Iterator<Item = &'a Range<u64>> + Clone, gap: u64) -> Spans {
        let joined = Spans::of(ranges.clone(), self.features.sector, gap);
        let apart = self.spans(ranges);
        Spans { requests: apart.requests, bytes: apart.bytes.max(joined.bytes) }
    }

    /// A read of everything within bounds.
    fn range(&self, bounds: &Bounds, held: &mut [Option<usize>], resident: &mut Resident) -> Cost {
        let mut cost = Cost::default();
        for (number, table) in self.tables.iter().enumerate() {
            let candidates = self.candidates(table, bounds);
            if candidates.is_empty() {
                continue;
            }
            if self.is_of_one_partition(bounds) {
                cost.add(self.filter(number, bounds.lower.as_deref().unwrap_or_default(), resident));
            }
            let knew_the_first = resident.index.contains(&(number, table.blocks[candidates.start].partition));
            let reads = self.index(number, candidates.clone(), resident, &mut cost);
            let wanted = candidates.clone().filter(|block| self.may_hold(&table.blocks[*block], bounds));
            let wanted: Vec<usize> = wanted.filter(|block| held[number] != Some(*block)).collect();
            held[number] = wanted.last().copied().or(held[number]);
            let mut spans = self.data(number, &wanted, resident);
            // What lies behind the known part of the index is found when more of it has come; a scan of everything has
            // it come before.
            let later_reads = reads.saturating_sub(u64::from(!knew_the_first));
            match bounds.upper {
                Some(_) if spans.requests > 0 => spans.requests += later_reads,
                None if spans.requests > 1 => cost.ramp += RAMP_REQUESTS,
                _ => {}
            }
            cost.data.add(spans);
        }
        cost
    }

    /// A read that ends after so many rows, in windows of 1, 2, 4 ... blocks, or in one if it says so before.
    fn limited(&self, walk: &Walk, limit: u64, resident: &mut Resident) -> Cost {
        let mut cost = Cost::default();
        let runs = self.runs();
        // Without a hint each run is read as far as its share of the rows goes; a hint is all that each of them knows.
        let share = if walk.limit.is_some() { limit } else { limit.min(limit.div_ceil(runs.len().max(1) as u64) + 1) };
        for run in runs {
            let mut rows = 0;
            for number in run {
                if rows < share {
                    rows += self.windows(number, walk, share - rows, resident, &mut cost);
                }
            }
        }
        cost
    }

    /// Tables that do not overlap are read one after the other, as those of a level are; in the order of their keys.
    fn runs(&self) -> Vec<Vec<usize>> {
        let mut runs: Vec<Vec<usize>> = Vec::new();
        let ends = |number: usize| {
            let blocks = &self.tables[number].blocks;
            (blocks.first().map_or(&[][..], Block::first), blocks.last().map_or(&[][..], Block::last))
        };
        let is_apart = |one: usize, other: usize| ends(one).1 < ends(other).0 || ends(other).1 < ends(one).0;
        for number in 0..self.tables.len() {
            match runs.iter_mut().find(|run| run.iter().all(|other| is_apart(number, *other))) {
                Some(run) => run.push(number),
                None => runs.push(vec![number]),
            }
        }
        for run in &mut runs {
            run.sort_by_key(|number| ends(*number).0);
        }
        runs
    }

    /// Adds the cost of one table of a run, and returns how many rows its windows hold.
    fn windows(&self, number: usize, walk: &Walk, wanted: u64, resident: &mut Resident, cost: &mut Cost) -> u64 {
        let table = &self.tables[number];
        let candidates = self.candidates(table, &walk.bounds);
        let from = walk.bounds.lower.as_deref().unwrap_or_default();
        let mut spent = Spans::default();
        let (mut at, mut rows, mut window) = (candidates.start, 0, 1);
        while at < candidates.end && rows < wanted {
            let partition = table.blocks[at].partition;
            self.index(number, at..at + 1, resident, cost);
            let mut end = (at + window).min(candidates.end);
            if walk.limit.is_some() {
                end = self.blocks_for(table, at..candidates.end, wanted - rows, from);
            }
            let next_partition = (at..end).find(|block| table.blocks[*block].partition != partition);
            if let Some(clip) = next_partition
                && !resident.index.contains(&(number, table.blocks[clip].partition))
            {
                end = clip;
            }
            rows += (at..end).map(|block| rows_from(&table.blocks[block], from)).sum::<u64>();
            let blocks: Vec<usize> = (at..end).collect();
            spent.add(self.data(number, &blocks, resident));
            (at, window) = (end, window * 2);
        }
        if walk.limit.is_none() && spent.requests > 0 {
            // The bytes read in vain may not exceed the bytes used by more than a block.
            let needed = self.blocks_for(table, candidates.clone(), wanted, from) - 1;
            let used: Vec<&Range<u64>> = (candidates.start..needed).map(|at| &table.blocks[at].bytes).collect();
            let one = used.iter().map(|bytes| bytes.end - bytes.start).max().unwrap_or(0);
            spent.bytes = spent.bytes.max(2 * self.spans(used.into_iter()).bytes + one);
        }
        cost.data.add(spent);
        rows
    }

    /// The end of the blocks that certainly hold so many rows: one more than would do.
    fn blocks_for(&self, table: &Layout, blocks: Range<usize>, rows: u64, from: &[u8]) -> usize {
        let mut found = 0;
        for block in blocks.clone() {
            if found >= rows {
                return block + 1;
            }
            found += rows_from(&table.blocks[block], from);
        }
        blocks.end
    }

    /// A lookup: the newest table first, until the row is found.
    fn get(&self, key: &[u8], resident: &mut Resident) -> Cost {
        let mut cost = Cost::default();
        for (number, table) in self.tables.iter().enumerate() {
            let block = table.blocks.partition_point(|block| block.separator[..] < *key);
            let Some(found) = table.blocks.get(block).filter(|_| is_within(table, key)) else { continue };
            if self.features.row_filter {
                cost.add(self.filter(number, key, resident));
            }
            let holds_it = found.keys.iter().any(|found| found[..] == *key);
            if holds_it || !self.features.row_filter {
                self.index(number, block..block + 1, resident, &mut cost);
                if !self.features.row_bounds || (*found.first() <= *key && *found.last() >= *key) {
                    cost.data.add(self.data(number, &[block], resident));
                }
            }
            if holds_it {
                break;
            }
        }
        cost
    }

    /// The blocks that the index leaves in question.
    fn candidates(&self, table: &Layout, bounds: &Bounds) -> Range<usize> {
        let (lower, upper) = (bounds.lower.as_deref(), bounds.upper.as_deref());
        let outside = match (table.blocks.first(), table.blocks.last()) {
            (Some(first), Some(last)) => {
                upper.is_some_and(|upper| upper <= first.first()) || lower.is_some_and(|lower| lower > last.last())
            }
            _ => true,
        };
        if outside || lower.zip(upper).is_some_and(|(lower, upper)| lower >= upper) {
            return 0..0;
        }
        let start = lower.map_or(0, |lower| table.blocks.partition_point(|block| block.separator[..] < *lower));
        let ends_before = |block: &Block| {
            upper.is_none_or(|upper| {
                // Behind a separator comes its successor, and nothing between them.
                let successor =
                    table.separators_are_user_keys && upper.strip_suffix(&[0]) == Some(&block.separator[..]);
                upper > &block.separator[..] && !successor
            })
        };
        let end = (table.blocks.partition_point(ends_before) + 1).min(table.blocks.len());
        if self.is_in_a_gap_between_partitions(table, bounds, start) { 0..0 } else { start..end.max(start) }
    }

    /// A large partition ends on a cut: behind its last row comes nothing of it.
    fn is_in_a_gap_between_partitions(&self, table: &Layout, bounds: &Bounds, start: usize) -> bool {
        let prefix = |key: &[u8]| key.get(..self.features.prefix_bytes).map(<[u8]>::to_vec);
        let (Some(lower), Some(upper)) = (bounds.lower, bounds.upper) else { return false };
        let partition = prefix(&lower);
        self.features.partition_cut
            && partition.is_some()
            && prefix(&upper) == partition
            && table.blocks.get(start).is_some_and(|block| prefix(&block.separator) != partition)
            && start.checked_sub(1).is_some_and(|before| prefix(&table.blocks[before].separator) == partition)
    }

    /// The filter knows the partitions, too; one that is a single block is in memory.
    fn is_of_one_partition(&self, bounds: &Bounds) -> bool {
        let prefix = |key: Key| key.get(..self.features.prefix_bytes).map(<[u8]>::to_vec);
        bounds.lower.and_then(prefix).is_some_and(|partition| bounds.upper.and_then(prefix) == Some(partition))
    }

    /// With row bounds the index knows where the keys of a block begin and end.
    fn may_hold(&self, block: &Block, bounds: &Bounds) -> bool {
        !self.features.row_bounds || holds(block, bounds)
    }

    /// Adds what the index partitions of blocks cost that are not in the cache, and says in how many reads they came.
    fn index(&self, number: usize, blocks: Range<usize>, resident: &mut Resident, cost: &mut Cost) -> u64 {
        let table = &self.tables[number];
        let (Some(first), Some(last)) =
            (table.blocks.get(blocks.start), table.blocks.get(blocks.end.saturating_sub(1)))
        else {
            return 0;
        };
        let absent = (first.partition..=last.partition).filter(|partition| resident.index.insert((number, *partition)));
        let absent: Vec<&Range<u64>> = absent.map(|partition| &table.partitions[partition]).collect();
        let mut spans = self.spans_over(absent.iter().copied(), INDEX_GAP_BYTES);
        let bytes: u64 = absent.iter().map(|range| range.end - range.start).sum();
        if bytes > INDEX_EAGER_BYTES {
            let first = absent.first().map_or(0, |range| range.end - range.start);
            spans.requests = spans.requests.max(1 + (bytes - first).div_ceil(INDEX_AHEAD_BYTES));
        }
        let requests = spans.requests;
        cost.index.add(spans);
        requests
    }

    fn filter(&self, number: usize, key: &[u8], resident: &mut Resident) -> Cost {
        let filters = &self.tables[number].filters;
        let at = filters.partition_point(|(last, _)| last[..] < *key).min(filters.len().saturating_sub(1));
        let absent = filters.get(at).filter(|_| resident.filter.insert((number, at)));
        Cost { filter: self.spans(absent.iter().map(|(_, bytes)| bytes)), ..Cost::default() }
    }

    /// Blocks that are read, those in the cache left out.
    fn data(&self, number: usize, blocks: &[usize], resident: &mut Resident) -> Spans {
        let mut is_cached = |block: &&usize| self.features.caches_data && !resident.data.insert((number, **block));
        let absent: Vec<usize> = blocks.iter().filter(|block| !is_cached(block)).copied().collect();
        self.spans_over(absent.iter().map(|block| &self.tables[number].blocks[*block].bytes), DATA_GAP_BYTES)
    }
}

fn holds(block: &Block, bounds: &Bounds) -> bool {
    bounds.lower.is_none_or(|lower| *block.last() >= lower[..])
        && bounds.upper.is_none_or(|upper| *block.first() < upper[..])
}

/// The blocks that hold a key within the bounds.
fn holding(table: &Layout, bounds: &Bounds) -> Range<usize> {
    let start = table.blocks.partition_point(|block| bounds.lower.is_some_and(|lower| *block.last() < lower[..]));
    let end = table.blocks.partition_point(|block| bounds.upper.is_none_or(|upper| *block.first() < upper[..]));
    start..end.max(start)
}

fn has(table: &Layout, key: &[u8]) -> bool {
    let block = table.blocks.partition_point(|block| *block.last() < *key);
    table.blocks.get(block).is_some_and(|block| block.keys.iter().any(|found| found[..] == *key))
}

fn is_within(table: &Layout, key: &[u8]) -> bool {
    let (first, last) = (table.blocks.first(), table.blocks.last());
    first.is_some_and(|block| *block.first() <= *key) && last.is_some_and(|block| *block.last() >= *key)
}

/// Rows of a block from a key on.
fn rows_from(block: &Block, from: &[u8]) -> u64 {
    block.keys.iter().filter(|key| key[..] >= *from).count() as u64
}

#[cfg(test)]
mod tests;
