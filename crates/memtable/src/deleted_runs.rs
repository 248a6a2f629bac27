//! Runs of deleted keys that scans have found, so that the next scan leaps over them.
//!
//! ```text
//! keys of all sources  | d d d d d d d d d d d d d d d d | x d | y z
//! run                    (start                           end)         no live key, and none newer than `sequence`
//! walk                                                     [from ->     a scan goes on where the run ended
//! ```
//!
//! A queue deletes at its front: what it has deleted lies between the begin of the key space and its first row, and
//! every scan for the first row would walk over all of it. A *run* says that a reader at `sequence` sees nothing in it,
//! and that no value was written into it since; so neither does a reader at a later number. Nothing of this is on disk
//! or changes what a read answers: runs that are lost cost time.
//!
//! Invariants
//! - Every value that is written is inserted first and noted then, before its number is published. A scan begins a
//!   walk before it steps over the keys of the walk, and places its iterator of the memtable then. So a value that is
//!   written into them is met by the scan or noted in the walk (or both): of the insertion and the begin of the walk,
//!   each followed by a full fence, one sees the other.
//! - A noted value ends a run or walk before its key. Deletions end none: they leave nothing to be seen.
//! - Runs are of the memtable that takes writes, and of all that is older. The next one inherits them while no thread
//!   writes.
//! - A memtable whose iterators go through a copy of its entries has no walks.
//! - Files that come from elsewhere, and files that are taken away, change what is seen without a write. The owner
//!   counts such changes (the *generation*), and a reader uses the runs of its own generation only.
//!
//! Tried and lost: a range tombstone in the memtable, as RocksDB writes one. It covers what is older than the memtable,
//! but within the memtable every entry still has to be looked at, as it could be newer than the tombstone; and a
//! tombstone for every few rounds of a queue makes thousands of fragments.

use crate::sync::{AtomicUsize, Mutex, Ordering, full_fence};
use ferrock_base::SequenceNumber;
use ferrock_base::comparator::Comparator;

/// Runs that are kept; the one that was not used for the longest time goes first.
const MAX_RUNS: usize = 32;
/// Scans that may be on a walk at the same time; others remember nothing.
const MAX_WALKS: usize = 64;

/// A run that a scan found its position in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunId(u64);

/// A scan that may become a run, from [`DeletedRuns::begin`] to [`DeletedRuns::finish`].
#[derive(Debug)]
#[must_use]
pub struct WalkId(u64);

#[derive(Clone)]
struct Run {
    id: u64,
    /// Exclusive: the versions of this key may have been passed before the walk began.
    start: Vec<u8>,
    /// Exclusive.
    end: Vec<u8>,
    sequence: SequenceNumber,
    generation: u64,
    used: u64,
}

struct Walk {
    id: u64,
    start: Vec<u8>,
    generation: u64,
    /// The walk begins where this run ended.
    after: Option<RunId>,
    /// The first key at or behind `start` that was written meanwhile.
    written: Option<Vec<u8>>,
}

#[derive(Default)]
struct State {
    runs: Vec<Run>,
    walks: Vec<Walk>,
    /// Gives ids, and the order of uses.
    clock: u64,
}

impl State {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn take(&mut self, id: Option<RunId>) -> Option<Run> {
        let RunId(id) = id?;
        let at = self.runs.iter().position(|run| run.id == id)?;
        Some(self.runs.swap_remove(at))
    }
}

/// The runs of deleted keys of a column family.
pub struct DeletedRuns {
    order: Comparator,
    /// Runs and walks; 0 when nothing has to be noted.
    watched: AtomicUsize,
    state: Mutex<State>,
}

impl DeletedRuns {
    pub(crate) fn new(order: Comparator) -> Self {
        Self { order, watched: AtomicUsize::new(0), state: Mutex::new(State::default()) }
    }

    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state.lock();
        let result = change(&mut state);
        self.watched.store(state.runs.len() + state.walks.len(), Ordering::SeqCst);
        result
    }

    /// Notes that a value of `key` was inserted. Called before its number is published.
    #[inline]
    pub(crate) fn note_value(&self, key: &[u8]) {
        full_fence();
        if self.watched.load(Ordering::SeqCst) > 0 {
            self.note_watched(key);
        }
    }

    #[cold]
    fn note_watched(&self, key: &[u8]) {
        let order = &self.order;
        self.change(|state| {
            for run in &mut state.runs {
                if order.compare(key, &run.start).is_gt() && order.compare(key, &run.end).is_lt() {
                    run.end = key.to_vec();
                }
            }
            for walk in &mut state.walks {
                let is_first = || walk.written.as_ref().is_none_or(|written| order.compare(key, written).is_lt());
                if order.compare(key, &walk.start).is_ge() && is_first() {
                    walk.written = Some(key.to_vec());
                }
            }
        });
    }

    /// Finds the run that holds `key` and reaches furthest, of those that a reader at `view` may use. Its end, which is
    /// the first key that the reader has to look at, goes into `end`.
    pub fn find(&self, key: &[u8], view: SequenceNumber, generation: u64, end: &mut Vec<u8>) -> Option<RunId> {
        if self.watched.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let mut state = self.state.lock();
        let now = state.tick();
        let run = self.usable(&mut state, key, view, generation).max_by(|a, b| self.order.compare(&a.end, &b.end))?;
        run.used = now;
        end.clear();
        end.extend_from_slice(&run.end);
        Some(RunId(run.id))
    }

    /// Finds the run that holds `key` and begins furthest before it, of those that a reader at `view` may use. Its
    /// start, which is the first key that a reader that goes back has to look at, goes into `start`. False if there is
    /// none.
    pub fn find_back(&self, key: &[u8], view: SequenceNumber, generation: u64, start: &mut Vec<u8>) -> bool {
        if self.watched.load(Ordering::SeqCst) == 0 {
            return false;
        }
        let mut state = self.state.lock();
        let now = state.tick();
        let runs = self.usable(&mut state, key, view, generation);
        let Some(run) = runs.min_by(|a, b| self.order.compare(&a.start, &b.start)) else { return false };
        run.used = now;
        start.clear();
        start.extend_from_slice(&run.start);
        true
    }

    /// The runs that hold `key` and that a reader at `view` may use.
    fn usable<'s>(
        &'s self,
        state: &'s mut State,
        key: &'s [u8],
        view: SequenceNumber,
        generation: u64,
    ) -> impl Iterator<Item = &'s mut Run> {
        let order = &self.order;
        state.runs.iter_mut().filter(move |run| {
            run.generation == generation
                && run.sequence <= view
                && order.compare(key, &run.start).is_gt()
                && order.compare(key, &run.end).is_lt()
        })
    }

    /// Begins a walk at `key`: from now on values that are written at or behind it are noted. The caller steps over
    /// entries at or behind `key` only afterwards, newer ones than it can see included; but for those of `key` itself
    /// where the walk begins after no run. `None` when too many scans are on a walk.
    pub fn begin(&self, key: &[u8], generation: u64, after: Option<RunId>) -> Option<WalkId> {
        let walk = self.change(|state| {
            let id = state.tick();
            let fits = state.walks.len() < MAX_WALKS;
            fits.then(|| state.walks.push(Walk { id, start: key.to_vec(), generation, after, written: None }))?;
            Some(WalkId(id))
        });
        full_fence();
        walk
    }

    /// Ends a walk of a reader at `view` that saw nothing before `end`, where it may have come upon another run.
    /// Returns the run that it became, if it did.
    pub fn finish(&self, walk: WalkId, end: &[u8], view: SequenceNumber, into: Option<RunId>) -> Option<RunId> {
        self.change(|state| {
            let at = state.walks.iter().position(|other| other.id == walk.0)?;
            let walk = state.walks.swap_remove(at);
            let order = &self.order;
            let is_cut = walk.written.as_ref().is_some_and(|written| order.compare(written, end).is_lt());
            let mut run = Run {
                id: walk.id,
                start: walk.start,
                end: if is_cut { walk.written.unwrap_or_default() } else { end.to_vec() },
                sequence: view,
                generation: walk.generation,
                used: walk.id,
            };
            if order.compare(&run.start, &run.end).is_ge() {
                return None;
            }
            if walk.after.is_some() {
                // Without the run it has no start that is exclusive: it would have to begin anew.
                let before = state.take(walk.after)?;
                if order.compare(&before.end, &run.start).is_ne() {
                    state.runs.push(before);
                    return None;
                }
                run.start = before.start;
            }
            if let Some(next) = state.take(into.filter(|_| !is_cut)) {
                if order.compare(&next.start, &run.end).is_lt() && order.compare(&next.end, &run.end).is_gt() {
                    run.end = next.end;
                } else {
                    state.runs.push(next);
                }
            }
            let id = RunId(run.id);
            insert(state, order, run);
            Some(id)
        })
    }

    /// Ends a walk that makes no run.
    pub fn abandon(&self, walk: WalkId) {
        self.change(|state| state.walks.retain(|other| other.id != walk.0));
    }

    /// Takes over the runs of the memtable before. No thread writes.
    pub(crate) fn inherit(&self, older: &Self) {
        let runs = older.state.lock().runs.clone();
        self.change(|state| {
            state.clock = runs.iter().map(|run| run.id.max(run.used)).max().unwrap_or(0);
            state.runs = runs;
        });
    }
}

/// Adds a run in place of those that it makes useless.
fn insert(state: &mut State, order: &Comparator, run: Run) {
    state.runs.retain(|other| {
        if other.generation != run.generation {
            return other.generation > run.generation;
        }
        let is_within = order.compare(&other.start, &run.start).is_ge() && order.compare(&other.end, &run.end).is_le();
        !(is_within && other.sequence >= run.sequence) && order.compare(&other.start, &other.end).is_lt()
    });
    state.runs.push(run);
    if state.runs.len() > MAX_RUNS
        && let Some(oldest) = (0..state.runs.len()).min_by_key(|&at| state.runs[at].used)
    {
        state.runs.swap_remove(oldest);
    }
}

#[cfg(all(test, not(shuttle)))]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn runs() -> DeletedRuns {
        DeletedRuns::new(Comparator::Bytewise)
    }

    fn found(runs: &DeletedRuns, key: &str, view: u64) -> Option<String> {
        let mut end = Vec::new();
        runs.find(key.as_bytes(), SequenceNumber(view), 0, &mut end)?;
        Some(String::from_utf8(end).unwrap())
    }

    fn add(runs: &DeletedRuns, start: &str, end: &str, view: u64) {
        let walk = runs.begin(start.as_bytes(), 0, None).unwrap();
        runs.finish(walk, end.as_bytes(), SequenceNumber(view), None);
    }

    #[test]
    fn readers_that_are_older_than_a_run_do_not_use_it() {
        let runs = runs();
        add(&runs, "b", "m", 10);
        assert_eq!(found(&runs, "b", 10), None, "the key at which the walk began may have a newer value");
        assert_eq!((found(&runs, "c", 9), found(&runs, "m", 10)), (None, None));
        assert_eq!(found(&runs, "c", 10).as_deref(), Some("m"));
    }

    #[test]
    fn a_value_ends_a_run_before_its_key() {
        let runs = runs();
        add(&runs, "b", "m", 10);
        runs.note_value(b"m");
        runs.note_value(b"f");
        assert_eq!((found(&runs, "e", 10).as_deref(), found(&runs, "g", 10)), (Some("f"), None));
        let walk = runs.begin(b"n", 0, None).unwrap();
        runs.note_value(b"s");
        runs.note_value(b"q");
        runs.note_value(b"r");
        runs.finish(walk, b"z", SequenceNumber(11), None);
        assert_eq!((found(&runs, "p", 11).as_deref(), found(&runs, "r", 11)), (Some("q"), None));
    }

    #[test]
    fn a_walk_extends_the_run_before_it_and_joins_the_one_behind_it() {
        let runs = runs();
        let mut end = Vec::new();
        add(&runs, "b", "f", 10);
        add(&runs, "k", "p", 10);
        let before = runs.find(b"c", SequenceNumber(12), 0, &mut end);
        let walk = runs.begin(&end, 0, before).unwrap();
        let behind = runs.find(b"l", SequenceNumber(12), 0, &mut end);
        runs.finish(walk, b"l", SequenceNumber(12), behind);
        assert_eq!(found(&runs, "c", 12).as_deref(), Some("p"));
        assert_eq!(found(&runs, "c", 11), None, "keys between the two were only seen to be deleted at 12");
        // A run that a value has ended meanwhile is not extended.
        let before = runs.find(b"c", SequenceNumber(12), 0, &mut end);
        let walk = runs.begin(&end, 0, before).unwrap();
        runs.note_value(b"d");
        runs.finish(walk, b"z", SequenceNumber(13), None);
        assert_eq!((found(&runs, "c", 13).as_deref(), found(&runs, "q", 13)), (Some("d"), None));
    }

    #[test]
    fn a_snapshot_keeps_a_run_of_its_own_and_useless_runs_go() {
        let runs = runs();
        add(&runs, "b", "f", 10);
        add(&runs, "b", "p", 20);
        assert_eq!((found(&runs, "c", 10).as_deref(), found(&runs, "c", 20).as_deref()), (Some("f"), Some("p")));
        add(&runs, "a", "q", 10);
        assert_eq!(runs.state.lock().runs.len(), 1);
        (0..100).for_each(|index| add(&runs, &format!("r{index:02}"), &format!("r{index:02}5"), 10));
        assert_eq!(runs.state.lock().runs.len(), MAX_RUNS);
        assert_eq!(runs.watched.load(Ordering::SeqCst), MAX_RUNS);
    }

    #[test]
    fn the_next_memtable_inherits_runs_and_no_walks() {
        let (old, new) = (runs(), runs());
        add(&old, "b", "f", 10);
        let walk = old.begin(b"g", 0, None).unwrap();
        new.inherit(&old);
        old.finish(walk, b"k", SequenceNumber(10), None);
        assert_eq!((found(&new, "c", 10).as_deref(), found(&new, "h", 10)), (Some("f"), None));
        // After a change without writes.
        assert_eq!(new.find(b"c", SequenceNumber(10), 2, &mut Vec::new()), None);
        let walk = new.begin(b"h", 2, None).unwrap();
        new.finish(walk, b"k", SequenceNumber(10), None);
        assert_eq!((found(&new, "c", 10), found(&new, "i", 10)), (None, None));
        assert!(new.find(b"i", SequenceNumber(10), 2, &mut Vec::new()).is_some());
    }
}
