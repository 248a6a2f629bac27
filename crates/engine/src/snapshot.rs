//! Snapshots: sequence numbers that flush and compaction must keep readable.
//!
//! A [`Snapshot`] is an owned handle; dropping the last clone releases its sequence
//! number. It holds the list of snapshots alive and nothing else, so a database
//! closes whatever snapshots are around.
//!
//! The oldest number that is held keeps old versions in tables at the bottom. The picking of compactions says which
//! number is the next that such a table waits for ([`SnapshotList::await_release`]); the release that lets it go is
//! told to an observer, once, in the thread that drops the handle. A release that no table waits for costs a comparison
//! more, and one that leaves no snapshot, while the newest write is in such a table, a second look at the list.

use ferrock_base::SequenceNumber;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

#[derive(Debug, Default)]
struct Held {
    /// Sequence number -> handles on it, and when the first was taken (unix seconds).
    numbers: BTreeMap<SequenceNumber, (usize, u64)>,
    /// A number was released since the threshold was last looked at.
    has_released: bool,
    bottommost_threshold: SequenceNumber,
    /// Family -> the smallest newest number of its tables at the bottom that wait for a release.
    awaited: BTreeMap<u32, SequenceNumber>,
    /// The same, smallest first.
    by_number: BTreeSet<(SequenceNumber, u32)>,
}

impl Held {
    fn oldest(&self) -> Option<SequenceNumber> {
        self.numbers.keys().next().copied()
    }

    fn least_awaited(&self) -> Option<SequenceNumber> {
        self.by_number.first().map(|(number, _)| *number)
    }
}

/// Is told that tables are worth rewriting which waited for the oldest snapshot.
pub(crate) trait ReleaseObserver: Debug + Send + Sync {
    /// Called without a lock, in the thread that released the snapshot.
    fn released(&self);
}

/// The sequence numbers that live snapshots hold.
#[derive(Debug, Default)]
pub(crate) struct SnapshotList {
    held: Mutex<Held>,
    observer: OnceLock<Box<dyn ReleaseObserver>>,
}

impl SnapshotList {
    /// Takes a snapshot at the sequence number that `latest` gives. It is asked under the lock, so that a compaction
    /// that lists the snapshots either sees this one or began before it could be read.
    pub(crate) fn take(self: &Arc<Self>, unix_seconds: u64, latest: impl FnOnce() -> SequenceNumber) -> Snapshot {
        let mut held = self.held.lock();
        let sequence = latest();
        held.numbers.entry(sequence).or_insert((0, unix_seconds)).0 += 1;
        drop(held);
        Snapshot { inner: Arc::new(SnapshotInner { sequence, list: Arc::clone(self) }) }
    }

    /// Has releases told that tables wait for. The first observer stays.
    pub(crate) fn observe(&self, observer: Box<dyn ReleaseObserver>) {
        // A second one would be of the same database.
        let _ = self.observer.set(observer);
    }

    /// The newest number of the table of a family that is the first to be worth rewriting once older snapshots are
    /// released; `None` when none waits. False when they were released since the threshold was looked at by which it
    /// waits. `latest` is that of [`bottommost_threshold`](Self::bottommost_threshold).
    pub(crate) fn await_release(
        &self,
        family: u32,
        newest: Option<SequenceNumber>,
        latest: impl FnOnce() -> SequenceNumber,
    ) -> bool {
        let mut held = self.held.lock();
        let before = match newest {
            Some(newest) => held.awaited.insert(family, newest),
            None => held.awaited.remove(&family),
        };
        if before != newest {
            before.map(|number| held.by_number.remove(&(number, family)));
            held.by_number.extend(newest.map(|number| (number, family)));
        }
        !(held.has_released && newest.is_some_and(|newest| newest < held.oldest().unwrap_or_else(latest)))
    }

    /// True when tables wait for nothing older than the oldest snapshot, or than `latest` without one. Then they wait
    /// no more: the next look at their families says which others do.
    pub(crate) fn end_wait(&self, latest: SequenceNumber) -> bool {
        let mut held = self.held.lock();
        let oldest = held.oldest().unwrap_or(latest);
        let is_over = held.least_awaited().is_some_and(|awaited| awaited < oldest);
        if is_over {
            held.awaited.clear();
            held.by_number.clear();
        }
        is_over
    }

    /// Held sequence numbers, oldest first.
    pub(crate) fn sequences(&self) -> Vec<SequenceNumber> {
        self.held.lock().numbers.keys().copied().collect()
    }

    /// The oldest held sequence number.
    pub(crate) fn oldest(&self) -> Option<SequenceNumber> {
        self.held.lock().oldest()
    }

    /// The newest held sequence number; 0 without one.
    pub(crate) fn newest(&self) -> SequenceNumber {
        self.held.lock().numbers.keys().next_back().copied().unwrap_or_default()
    }

    /// Tables at the bottom with nothing newer than this may hold what only a released snapshot needed, and are worth
    /// rewriting. 0 until the first release: tables that were only moved to the bottom are not rewritten for nothing.
    /// `latest` gives the newest visible number, for when no snapshot is left.
    pub(crate) fn bottommost_threshold(&self, latest: impl FnOnce() -> SequenceNumber) -> SequenceNumber {
        let mut held = self.held.lock();
        if std::mem::take(&mut held.has_released) {
            let oldest = held.oldest().unwrap_or_else(latest);
            held.bottommost_threshold = held.bottommost_threshold.max(oldest);
        }
        held.bottommost_threshold
    }

    /// How many handles there are, and the oldest number with when it was first held, in unix seconds; of one moment.
    pub(crate) fn summary(&self) -> (usize, Option<(SequenceNumber, u64)>) {
        let held = self.held.lock();
        let oldest = held.numbers.iter().next().map(|(number, (_, time))| (*number, *time));
        (held.numbers.values().map(|(count, _)| count).sum(), oldest)
    }
}

#[derive(Debug)]
struct SnapshotInner {
    sequence: SequenceNumber,
    list: Arc<SnapshotList>,
}

impl Drop for SnapshotInner {
    fn drop(&mut self) {
        let mut held = self.list.held.lock();
        let was_oldest = held.oldest() == Some(self.sequence);
        let Some((count, _)) = held.numbers.get_mut(&self.sequence) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        held.numbers.remove(&self.sequence);
        held.has_released = true;
        let oldest = held.oldest();
        let is_awaited = held.least_awaited().is_some_and(|awaited| oldest.is_none_or(|oldest| awaited < oldest));
        drop(held);
        if let Some(observer) = self.list.observer.get().filter(|_| was_oldest && is_awaited) {
            observer.released();
        }
    }
}

/// A state of the database that stays readable. Cheap to clone; `'static` and `Send`.
///
/// ```
/// # extern crate ferrock_engine as ferrock;
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// let db = ferrock::Db::open(directory.path(), options)?;
/// db.put(b"k", b"old")?;
/// let snapshot = db.snapshot();
/// db.put(b"k", b"new")?;
/// let before = ferrock::ReadOptions { snapshot: Some(snapshot), ..Default::default() };
/// assert_eq!(db.get_with(&before, b"k")?.as_deref(), Some(&b"old"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot {
    inner: Arc<SnapshotInner>,
}

impl Snapshot {
    /// The newest sequence number that the snapshot sees.
    #[must_use]
    pub fn sequence(&self) -> SequenceNumber {
        self.inner.sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_held_until_its_last_handle_goes() {
        let list = Arc::new(SnapshotList::default());
        let first = list.take(10, || SequenceNumber(5));
        let twin = first.clone();
        let other = list.take(11, || SequenceNumber(5));
        let newer = list.take(12, || SequenceNumber(8));
        assert_eq!(list.sequences(), [SequenceNumber(5), SequenceNumber(8)]);
        assert_eq!(list.summary(), (3, Some((SequenceNumber(5), 10))));
        drop(first);
        drop(other);
        assert_eq!(list.oldest(), Some(SequenceNumber(5)));
        drop(twin);
        assert_eq!(list.oldest(), Some(SequenceNumber(8)));
        drop(newer);
        assert_eq!(list.summary(), (0, None));
    }

    #[test]
    fn only_releases_raise_the_threshold() {
        let list = Arc::new(SnapshotList::default());
        let threshold = |latest| list.bottommost_threshold(|| SequenceNumber(latest)).0;
        assert_eq!(threshold(9), 0);
        let [first, second] = [5, 8].map(|number| list.take(0, || SequenceNumber(number)));
        drop(first.clone());
        assert_eq!(threshold(9), 0);
        drop(first);
        assert_eq!((threshold(9), threshold(10)), (8, 8));
        drop(second);
        assert_eq!((threshold(11), threshold(12)), (11, 11));
        let _third = list.take(0, || SequenceNumber(12));
        drop(list.take(0, || SequenceNumber(13)));
        assert_eq!((threshold(13), threshold(14)), (12, 12));
    }

    #[derive(Debug, Default)]
    struct Count(Arc<std::sync::atomic::AtomicUsize>);

    impl ReleaseObserver for Count {
        fn released(&self) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }

    #[test]
    fn the_release_that_a_table_waits_for_is_told() {
        let list = Arc::new(SnapshotList::default());
        let count = Count::default();
        let told = Arc::clone(&count.0);
        list.observe(Box::new(count));
        let told = || told.load(std::sync::atomic::Ordering::Relaxed);
        let take = |number| list.take(0, || SequenceNumber(number));
        drop(take(5));
        assert_eq!(told(), 0, "nothing waits");
        let wait = |family, newest| {
            list.bottommost_threshold(|| SequenceNumber(6));
            assert!(list.await_release(family, Some(SequenceNumber(newest)), || SequenceNumber(20)));
        };
        wait(1, 7);
        wait(2, 9);
        let [first, second, third] = [5, 7, 8].map(take);
        drop(first);
        assert_eq!(told(), 0, "the next oldest one is not newer than the table");
        drop(third);
        assert_eq!(told(), 0, "not the oldest one");
        let fourth = take(8);
        drop(second);
        assert_eq!(told(), 1);
        assert!(list.end_wait(SequenceNumber(20)), "the table of the first family may go");
        assert!(!list.end_wait(SequenceNumber(20)), "once");
        drop(fourth);
        assert_eq!(told(), 1, "no other waits until its family is looked at");
        wait(2, 9);
        drop(take(9));
        assert_eq!(told(), 2);
        assert!(!list.end_wait(SequenceNumber(9)), "what was written last is in the table");
        assert!(!list.await_release(2, Some(SequenceNumber(9)), || SequenceNumber(10)), "it was released meanwhile");
        assert_eq!(list.bottommost_threshold(|| SequenceNumber(10)).0, 10);
        assert!(list.await_release(2, None, || SequenceNumber(20)));
        drop(take(30));
        assert_eq!(told(), 2);
    }
}
