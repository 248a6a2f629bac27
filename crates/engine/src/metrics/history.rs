//! Snapshots of statistics that a database keeps in memory: by how much each ticker grew since the one before.
//!
//! ```text
//! marks       [ticker 0 .. ticker 262]    all that was added to each until the last snapshot
//! snapshots   unix seconds -> [(ticker, increase), ...]    only tickers that grew, in the order of their numbers
//! ```
//!
//! Invariants:
//!
//! - The marks are of sums that no reset takes anything off (`Statistics::total`), so that over all snapshots the
//!   increases of a ticker add up to what was added to it: nothing is counted twice or lost between two of them.
//! - Two snapshots of one second are one, whose increases are the sums. RocksDB keeps the later one alone.
//! - The bytes of the snapshots are within the limit that the last caller gave; the oldest go first.
//!
//! The marks begin with the database, so that the first period has a snapshot; RocksDB's first only sets the marks.

use ferrock_statistics::{Statistics, Ticker};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Tickers that grew, with their increases.
pub(crate) type Increases = Arc<[(Ticker, u64)]>;

/// What a snapshot takes beside its increases: its time and its place in the map and on the heap.
const SNAPSHOT_BYTES: usize = 64;

/// What was added to each ticker until a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(Vec<u64>);

impl Marks {
    fn of(statistics: &Statistics) -> Self {
        Self(Ticker::ALL.iter().map(|ticker| statistics.total(*ticker)).collect())
    }

    /// What grew from these marks to those.
    fn increases(&self, later: &Self) -> Vec<(Ticker, u64)> {
        let tickers = Ticker::ALL.iter().zip(self.0.iter().zip(&later.0));
        tickers
            .filter(|(_, (before, after))| after > before)
            .map(|(ticker, (before, after))| (*ticker, after - before))
            .collect()
    }
}

/// The snapshots of a database.
#[derive(Debug)]
pub(crate) struct History {
    kept: Mutex<Kept>,
    /// Where snapshots go that are kept on disk: a family that the open found fit for it.
    family: OnceLock<u32>,
}

#[derive(Debug)]
struct Kept {
    marks: Marks,
    snapshots: BTreeMap<u64, Increases>,
    bytes: usize,
}

impl History {
    /// An empty one, whose first snapshot tells what comes from here on. Without statistics there is none.
    pub(crate) fn new(statistics: Option<&Statistics>) -> Self {
        let marks = statistics.map(Marks::of).unwrap_or_default();
        let kept = Mutex::new(Kept { marks, snapshots: BTreeMap::new(), bytes: 0 });
        Self { kept, family: OnceLock::new() }
    }

    /// The id of the family that snapshots are written to; without one none is written.
    pub(crate) fn family(&self) -> Option<u32> {
        self.family.get().copied()
    }

    /// The open says it, once.
    pub(crate) fn set_family(&self, id: u32) {
        let _ = self.family.set(id);
    }

    /// Adds a snapshot, and lets the oldest go that are beyond `limit_bytes`.
    pub(crate) fn keep(&self, statistics: &Statistics, unix_seconds: u64, limit_bytes: usize) {
        let mut kept = self.kept.lock();
        let marks = Marks::of(statistics);
        let increases = kept.marks.increases(&marks);
        kept.marks = marks;
        kept.add(unix_seconds, increases);
        kept.bound(limit_bytes);
    }

    /// What grew since the last snapshot, for one that is kept elsewhere. It counts as taken once
    /// [`set_marks`](Self::set_marks) has the marks.
    pub(crate) fn look(&self, statistics: &Statistics) -> (Vec<(Ticker, u64)>, Marks) {
        let marks = Marks::of(statistics);
        (self.kept.lock().marks.increases(&marks), marks)
    }

    /// The snapshot that had these marks is kept elsewhere.
    pub(crate) fn set_marks(&self, marks: Marks) {
        self.kept.lock().marks = marks;
    }

    /// Lets the oldest snapshots go that are beyond `limit_bytes`.
    pub(crate) fn bound(&self, limit_bytes: usize) {
        self.kept.lock().bound(limit_bytes);
    }

    /// The snapshots from `start` on and before `end`, in Unix seconds, by their times.
    pub(crate) fn between(&self, start: u64, end: u64) -> Vec<(u64, Increases)> {
        let kept = self.kept.lock();
        let from = kept.snapshots.range(start..).take_while(|(time, _)| **time < end);
        from.map(|(time, increases)| (*time, Arc::clone(increases))).collect()
    }
}

impl Kept {
    fn add(&mut self, unix_seconds: u64, mut increases: Vec<(Ticker, u64)>) {
        if let Some(same) = self.snapshots.remove(&unix_seconds) {
            self.bytes -= bytes_of(&same);
            let mut sums: BTreeMap<Ticker, u64> = same.iter().copied().collect();
            increases.iter().for_each(|(ticker, increase)| *sums.entry(*ticker).or_default() += increase);
            increases = sums.into_iter().collect();
        }
        let increases = Increases::from(increases);
        self.bytes += bytes_of(&increases);
        self.snapshots.insert(unix_seconds, increases);
    }

    fn bound(&mut self, limit_bytes: usize) {
        while self.bytes > limit_bytes
            && let Some((_, oldest)) = self.snapshots.pop_first()
        {
            self.bytes -= bytes_of(&oldest);
        }
    }
}

fn bytes_of(increases: &Increases) -> usize {
    SNAPSHOT_BYTES + size_of_val::<[(Ticker, u64)]>(increases)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(history: &History) -> BTreeMap<Ticker, u64> {
        let mut sums = BTreeMap::new();
        for (_, increases) in history.between(0, u64::MAX) {
            increases.iter().for_each(|(ticker, increase)| *sums.entry(*ticker).or_default() += increase);
        }
        sums
    }

    #[test]
    fn increases_add_up_whatever_is_reset_and_whenever_they_are_taken() {
        let statistics = Statistics::default();
        statistics.add(Ticker::BytesRead, 1_000);
        let history = History::new(Some(&statistics));
        for (second, bytes) in [(10, 1), (20, 2), (20, 4), (15, 8), (30, 0), (40, 16)] {
            statistics.add(Ticker::BytesRead, bytes);
            if second == 40 {
                statistics.reset();
                statistics.set_ticker(Ticker::BytesWritten, 77);
            }
            history.keep(&statistics, second, 1 << 20);
        }
        let kept = history.between(0, 100);
        let read = |increases: &Increases| increases.iter().map(|(_, increase)| *increase).collect::<Vec<u64>>();
        let shown: Vec<(u64, Vec<u64>)> = kept.iter().map(|(second, of)| (*second, read(of))).collect();
        assert_eq!(shown, [(10, vec![1]), (15, vec![8]), (20, vec![6]), (30, vec![]), (40, vec![16])]);
        assert_eq!(sums(&history), [(Ticker::BytesRead, 31)].into());
        let times = |start, end| history.between(start, end).into_iter().map(|(time, _)| time).collect::<Vec<u64>>();
        assert_eq!(times(15, 30), [15, 20], "the end is not part of it");
        assert_eq!(times(30, 15), [0u64; 0]);
        assert_eq!(times(41, u64::MAX), [0u64; 0]);
    }

    #[test]
    fn the_oldest_go_when_the_bytes_are_too_many() {
        let statistics = Statistics::default();
        let history = History::new(Some(&statistics));
        let each = SNAPSHOT_BYTES + 2 * size_of::<(Ticker, u64)>();
        for second in 1..=50 {
            statistics.add(Ticker::BytesRead, second);
            statistics.add(Ticker::NumberKeysRead, 1);
            history.keep(&statistics, second, 10 * each + 1);
        }
        let times = || history.between(0, u64::MAX).into_iter().map(|(time, _)| time).collect::<Vec<u64>>();
        assert_eq!(times(), (41..=50).collect::<Vec<u64>>());
        assert_eq!(history.kept.lock().bytes, 10 * each);
        history.bound(2 * each);
        assert_eq!(times(), [49, 50]);
        history.keep(&statistics, 51, 0);
        assert_eq!((times(), history.kept.lock().bytes), (Vec::new(), 0), "no bytes, no snapshot");
        statistics.add(Ticker::BytesRead, 5);
        history.keep(&statistics, 52, each);
        assert_eq!(sums(&history), [(Ticker::BytesRead, 5)].into(), "what went with a snapshot comes in no other");
    }

    #[test]
    fn a_snapshot_that_is_kept_elsewhere_counts_once_it_is() {
        let statistics = Statistics::default();
        let history = History::new(Some(&statistics));
        statistics.add(Ticker::BytesRead, 3);
        assert_eq!(history.look(&statistics).0, [(Ticker::BytesRead, 3)]);
        statistics.add(Ticker::BytesRead, 4);
        let (increases, marks) = history.look(&statistics);
        assert_eq!(increases, [(Ticker::BytesRead, 7)], "the first one was not kept");
        history.set_marks(marks);
        assert_eq!(history.look(&statistics).0, []);
        assert_eq!(sums(&history), BTreeMap::new());
    }
}
