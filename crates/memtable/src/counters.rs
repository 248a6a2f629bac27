//! What a memtable counts of the entries that are added.

use crate::sync::{AtomicU64, Ordering};
use ferrock_base::types::SequenceNumber;

/// Counts of the added entries. Exact as long as [`MemTable::add`] has one caller at a time.
pub(crate) struct Counters {
    pub(crate) entries: AtomicU64,
    pub(crate) deletes: AtomicU64,
    pub(crate) data_size_bytes: AtomicU64,
    pub(crate) smallest_sequence: AtomicU64,
    pub(crate) largest_sequence: AtomicU64,
}

/// Whether other threads may be counting at the same time.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Writers {
    One,
    Many,
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self {
            entries: AtomicU64::new(0),
            deletes: AtomicU64::new(0),
            data_size_bytes: AtomicU64::new(0),
            smallest_sequence: AtomicU64::new(u64::MAX),
            largest_sequence: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(crate) fn record(&self, sequence: SequenceNumber, is_delete: bool, bytes: usize, writers: Writers) {
        // With one writer a load and a store suffice instead of a locked instruction.
        let add = |counter: &AtomicU64, amount: u64| match writers {
            Writers::One => counter.store(counter.load(Ordering::Relaxed) + amount, Ordering::Relaxed),
            Writers::Many => {
                counter.fetch_add(amount, Ordering::Relaxed);
            }
        };
        add(&self.entries, 1);
        add(&self.data_size_bytes, bytes as u64);
        if is_delete {
            add(&self.deletes, 1);
        }
        if sequence.0 < self.smallest_sequence.load(Ordering::Relaxed) {
            self.smallest_sequence.fetch_min(sequence.0, Ordering::Relaxed);
        }
        if sequence.0 > self.largest_sequence.load(Ordering::Relaxed) {
            match writers {
                Writers::One => self.largest_sequence.store(sequence.0, Ordering::Relaxed),
                Writers::Many => {
                    self.largest_sequence.fetch_max(sequence.0, Ordering::Relaxed);
                }
            }
        }
    }
}
