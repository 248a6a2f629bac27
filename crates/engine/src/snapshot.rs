//! Snapshots: sequence numbers that flush and compaction must keep readable.
//!
//! A [`Snapshot`] is an owned handle; dropping the last clone releases its sequence
//! number. It holds the list of snapshots alive and nothing else, so a database
//! closes whatever snapshots are around.

use ferrock_base::SequenceNumber;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Default)]
struct Held {
    /// Sequence number -> handles on it, and when the first was taken (unix seconds).
    numbers: BTreeMap<SequenceNumber, (usize, u64)>,
    /// A number was released since the threshold was last looked at.
    has_released: bool,
    bottommost_threshold: SequenceNumber,
}

/// The sequence numbers that live snapshots hold.
#[derive(Debug, Default)]
pub(crate) struct SnapshotList {
    held: Mutex<Held>,
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

    /// Held sequence numbers, oldest first.
    pub(crate) fn sequences(&self) -> Vec<SequenceNumber> {
        self.held.lock().numbers.keys().copied().collect()
    }

    /// The oldest held sequence number.
    pub(crate) fn oldest(&self) -> Option<SequenceNumber> {
        self.held.lock().numbers.keys().next().copied()
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
            let oldest = held.numbers.keys().next().copied().unwrap_or_else(latest);
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
        if let Some((count, _)) = held.numbers.get_mut(&self.sequence) {
            *count -= 1;
            if *count == 0 {
                held.numbers.remove(&self.sequence);
                held.has_released = true;
            }
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
}
