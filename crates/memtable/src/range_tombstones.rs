//! The range tombstones of a memtable: a list that writers append to, and a fragmented index that readers build when
//! they need it.
//!
//! ```text
//! list   t0 t1 t2 t3 t4 t5 t6 | t7 t8        written since the last read
//! runs   [ t0 .. t3 ][t4 t5][t6]             each fragmented; lengths more than halve from run to run
//! ```
//!
//! - Without tombstones a read costs one load.
//! - A write only appends: many `DeleteRange`s between two reads are indexed together.
//! - The first read after a write fragments only the new tombstones, together with the last runs that are not more than
//!   twice as long. So when reads and writes alternate, a tombstone is fragmented O(log n) times in all, not n times.
//!
//! A reader at sequence number `s` sees every tombstone added before `s` was published: `count` is raised before the
//! writer publishes `s`, and the reader loads `count` after it has read `s`.

use crate::sync::{AtomicUsize, Mutex, Ordering};
use arc_swap::ArcSwap;
use ferrock_base::SequenceNumber;
use ferrock_base::comparator::Comparator;
use ferrock_base::range_tombstone::{FragmentedRangeTombstones, RangeTombstone};
use std::sync::Arc;

#[derive(Clone)]
struct Run {
    /// Index of its first tombstone in the list; it ends where the next run starts.
    first: usize,
    fragments: Arc<FragmentedRangeTombstones>,
}

/// The index over the first `covered` tombstones of the list. Immutable.
#[derive(Default)]
struct Index {
    runs: Vec<Run>,
    covered: usize,
}

/// The range tombstones of a memtable, and their index.
pub(crate) struct RangeTombstones {
    comparator: Comparator,
    count: AtomicUsize,
    memory_bytes: AtomicUsize,
    list: Mutex<Vec<RangeTombstone>>,
    index: ArcSwap<Index>,
}

impl RangeTombstones {
    pub(crate) fn new(comparator: Comparator) -> Self {
        Self {
            comparator,
            count: AtomicUsize::new(0),
            memory_bytes: AtomicUsize::new(0),
            list: Mutex::new(Vec::new()),
            index: ArcSwap::default(),
        }
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Bytes of the tombstones and of their index.
    pub(crate) fn memory_bytes(&self) -> usize {
        if self.count() == 0 {
            return 0;
        }
        let index: usize = self.index.load().runs.iter().map(|run| run.fragments.memory_bytes()).sum();
        self.memory_bytes.load(Ordering::Relaxed) + index
    }

    pub(crate) fn add(&self, tombstone: RangeTombstone) {
        let bytes = size_of::<RangeTombstone>() + tombstone.start.len() + tombstone.end.len();
        let mut list = self.list.lock();
        list.push(tombstone);
        self.memory_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.count.store(list.len(), Ordering::Release);
    }

    /// The newest tombstone over `user_key` that a reader at `upper` sees.
    #[inline]
    pub(crate) fn max_covering(&self, user_key: &[u8], upper: SequenceNumber) -> Option<SequenceNumber> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        self.max_covering_slow(count, user_key, upper)
    }

    fn max_covering_slow(&self, count: usize, user_key: &[u8], upper: SequenceNumber) -> Option<SequenceNumber> {
        let newest = |index: &Index| {
            index.runs.iter().filter_map(|run| run.fragments.max_covering_sequence(user_key, upper)).max()
        };
        let index = self.index.load();
        if index.covered >= count { newest(&index) } else { newest(&self.refresh(false)) }
    }

    /// All tombstones as one list of fragments.
    pub(crate) fn fragments(&self) -> Option<Arc<FragmentedRangeTombstones>> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let single = |index: &Index| match &index.runs[..] {
            [run] if index.covered >= count => Some(run.fragments.clone()),
            _ => None,
        };
        single(&self.index.load()).or_else(|| single(&self.refresh(true)))
    }

    /// Brings the index up to date with the list; merges it into a single run if `merge_all`.
    #[cold]
    fn refresh(&self, merge_all: bool) -> Arc<Index> {
        let list = self.list.lock();
        let old = self.index.load_full();
        if old.covered == list.len() && (!merge_all || old.runs.len() == 1) {
            return old;
        }
        let mut runs = old.runs.clone();
        let mut first = old.covered;
        if merge_all {
            runs.clear();
            first = 0;
        }
        while let Some(run) = runs.last() {
            if first - run.first > 2 * (list.len() - first) {
                break;
            }
            first = run.first;
            runs.pop();
        }
        let fragments = FragmentedRangeTombstones::new(self.comparator.clone(), list[first..].to_vec());
        runs.push(Run { first, fragments: Arc::new(fragments) });
        let index = Arc::new(Index { runs, covered: list.len() });
        self.index.store(index.clone());
        index
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn answers_like_the_list(
            steps in prop::collection::vec((0u8..30, 0u8..30, any::<bool>(), any::<bool>(), 0u8..30, 0u64..60), 1..60)
        ) {
            let tombstones = RangeTombstones::new(Comparator::Bytewise);
            prop_assert!(tombstones.fragments().is_none());
            let mut list: Vec<(u8, u8, u64)> = Vec::new();
            for (step, (start, end, probe, merge, key, upper)) in steps.into_iter().enumerate() {
                let sequence = step as u64 + 1;
                let (start_key, end_key) = (vec![start], vec![end]);
                tombstones.add(RangeTombstone { start: start_key, end: end_key, sequence: SequenceNumber(sequence) });
                list.push((start, end, sequence));
                let covers = |&&(start, end, sequence): &&(u8, u8, u64)| start <= key && key < end && sequence <= upper;
                let expected = list.iter().filter(covers).map(|entry| SequenceNumber(entry.2)).max();
                if probe {
                    prop_assert_eq!(tombstones.max_covering(&[key], SequenceNumber(upper)), expected);
                }
                if merge {
                    let fragments = tombstones.fragments().unwrap();
                    prop_assert_eq!(fragments.max_covering_sequence(&[key], SequenceNumber(upper)), expected);
                    prop_assert_eq!(tombstones.index.load().runs.len(), 1);
                }
            }
            prop_assert_eq!(tombstones.count(), list.len());
        }
    }

    #[test]
    fn alternating_reads_and_writes_keep_few_runs() {
        let tombstones = RangeTombstones::new(Comparator::Bytewise);
        for sequence in 1..=1000u64 {
            let start = sequence.to_be_bytes().to_vec();
            let end = (sequence + 1).to_be_bytes().to_vec();
            tombstones.add(RangeTombstone { start: start.clone(), end, sequence: SequenceNumber(sequence) });
            let newest = tombstones.max_covering(&start, SequenceNumber(sequence));
            assert_eq!(newest, Some(SequenceNumber(sequence)));
            assert!(tombstones.index.load().runs.len() <= 11);
        }
        let index = tombstones.index.load_full();
        assert_eq!(index.covered, 1000);
        assert!(tombstones.memory_bytes() > 1000 * (size_of::<RangeTombstone>() + 16));
    }
}
