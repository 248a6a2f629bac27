//! The range tombstones of all inputs of a job.

use super::context::DeeperLevels;
use super::stripes::SnapshotStripes;
use crate::iterator::range_tombstones::{RangeTombstoneSource, clip_to_file};
use ferrock_base::comparator::InternalComparator;
use ferrock_base::range_tombstone::{FragmentedRangeTombstones, RangeTombstone};
use ferrock_base::types::SequenceNumber;

/// What becomes of the range tombstones of a job.
#[derive(Debug, Default)]
pub struct TombstoneFates {
    /// Those that the outputs must carry on.
    pub surviving: Vec<RangeTombstone>,
    /// How many delete nothing any more.
    pub obsolete: u64,
}

/// Answers what is deleted, for ascending keys, and tells which tombstones have to be written again.
#[derive(Debug)]
pub struct CompactionRangeTombstones {
    order: InternalComparator,
    /// By smallest key.
    sources: Vec<RangeTombstoneSource>,
    /// First source that starts behind the last key asked about.
    next: usize,
    /// Sources over the last key asked about.
    active: Vec<usize>,
    clipped: FragmentedRangeTombstones,
}

impl CompactionRangeTombstones {
    /// The tombstones of memtables or tables, each truncated to its file.
    #[must_use]
    pub fn new(order: InternalComparator, mut sources: Vec<RangeTombstoneSource>) -> Self {
        sources.retain(|source| !source.fragments().is_empty());
        sources.sort_by(|a, b| match (a.smallest(), b.smallest()) {
            (Some(a), Some(b)) => order.compare(a, b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
        let mut list = Vec::new();
        for source in &sources {
            match (source.smallest(), source.limit()) {
                (Some(smallest), Some(limit)) => clip_to_file(source.fragments(), smallest, limit, &mut list),
                _ => list.extend(source.fragments().iter().flat_map(|fragment| {
                    fragment.sequences.iter().map(move |&sequence| RangeTombstone {
                        start: fragment.start.to_vec(),
                        end: fragment.end.to_vec(),
                        sequence,
                    })
                })),
            }
        }
        let clipped = FragmentedRangeTombstones::new(order.user().clone(), list);
        Self { order, sources, next: 0, active: Vec::new(), clipped }
    }

    /// True when there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// True when a tombstone not newer than `upper` deletes the entry `key` of `sequence`. Keys must ascend.
    #[inline]
    pub fn deletes(&mut self, key: &[u8], sequence: SequenceNumber, upper: SequenceNumber) -> bool {
        !self.sources.is_empty() && self.newest_over(key, upper).is_some_and(|newest| newest > sequence)
    }

    fn newest_over(&mut self, key: &[u8], upper: SequenceNumber) -> Option<SequenceNumber> {
        let Self { order, sources, next, active, .. } = self;
        while let Some(source) = sources.get(*next)
            && source.smallest().is_none_or(|smallest| order.compare(smallest, key).is_le())
        {
            active.push(*next);
            *next += 1;
        }
        active.retain(|&index| sources[index].limit().is_none_or(|limit| order.compare(key, limit).is_lt()));
        active.iter().filter_map(|&index| sources[index].covering_sequence(order, key, upper)).max()
    }

    /// Of each fragment the newest tombstone of every stripe, sorted by start, newest first. Those that go are counted
    /// between two user keys.
    #[must_use]
    pub fn fates(
        &self,
        stripes: &SnapshotStripes,
        bottommost: bool,
        deeper: &impl DeeperLevels,
        (start, end): (Option<&[u8]>, Option<&[u8]>),
    ) -> TombstoneFates {
        let order = self.order.user();
        let is_within = |from: &[u8], to: &[u8]| {
            start.is_none_or(|start| order.compare(to, start).is_gt())
                && end.is_none_or(|end| order.compare(from, end).is_lt())
        };
        let mut fates = TombstoneFates::default();
        for fragment in self.clipped.iter() {
            let mut last_stripe = None;
            for &sequence in fragment.sequences {
                let stripe = stripes.stripe(sequence).0;
                if last_stripe.replace(stripe) == Some(stripe) {
                    continue;
                }
                let obsolete = sequence <= stripes.earliest()
                    && (bottommost || deeper.range_not_exists_beyond_output_level(fragment.start, fragment.end));
                if obsolete {
                    fates.obsolete += u64::from(is_within(fragment.start, fragment.end));
                    continue;
                }
                let (start, end) = (fragment.start.to_vec(), fragment.end.to_vec());
                fates.surviving.push(RangeTombstone { start, end, sequence });
            }
        }
        fates
    }
}
