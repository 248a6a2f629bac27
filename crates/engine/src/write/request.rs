//! What writers bring to the queue, and what the members of a group share.

use crate::column_family::FamilyMap;
use crate::options::WriteOptions;
use ferrock_base::{Error, Result, SequenceNumber};
use ferrock_format::write_batch::WriteBatch;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a writer brings to the queue.
pub(crate) enum WriteRequest {
    /// A batch to write.
    Batch {
        batch: WriteBatch,
        options: WriteOptions,
        /// Given by the leader.
        first: SequenceNumber,
        /// Generation of the families that the batch was checked against.
        checked: u64,
        /// Where the batch goes when the request is done with; `None`: it is dropped.
        home: Option<Arc<BatchHome>>,
    },
    /// To be alone: no other thread writes while the writer of this request leads.
    Exclusive,
}

/// A batch that comes back from the queue, whichever thread was done with it.
pub(crate) type BatchHome = Mutex<Option<WriteBatch>>;

impl Drop for WriteRequest {
    fn drop(&mut self) {
        if let Self::Batch { batch, first, home: Some(home), .. } = self {
            if first.0 != 0 {
                batch.set_sequence(*first);
            }
            *home.lock() = Some(std::mem::take(batch));
        }
    }
}

/// What the members of a group share while they insert in parallel.
pub(crate) struct WriteGroup {
    families: Arc<FamilyMap>,
    ignore_missing: bool,
    left: AtomicUsize,
    error: Mutex<Option<Error>>,
    finished: Condvar,
}

impl WriteGroup {
    /// A group of `count` batches, with the leader's, for `families`.
    pub(crate) fn new(families: Arc<FamilyMap>, ignore_missing: bool, count: usize) -> Self {
        Self {
            families,
            ignore_missing,
            left: AtomicUsize::new(count),
            error: Mutex::new(None),
            finished: Condvar::new(),
        }
    }

    /// True when records of families that are gone are passed over.
    pub(crate) fn ignores_missing(&self) -> bool {
        self.ignore_missing
    }

    /// Inserts the batch of one member, or of the leader, by `insert`.
    pub(crate) fn insert(
        &self,
        request: &WriteRequest,
        insert: impl FnOnce(&FamilyMap, &WriteBatch, SequenceNumber) -> Result<()>,
    ) {
        // Counted down also when the insert panics: the leader must not wait forever.
        struct CountDown<'a>(&'a WriteGroup);
        impl Drop for CountDown<'_> {
            fn drop(&mut self) {
                let guard = self.0.error.lock();
                if self.0.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    self.0.finished.notify_one();
                }
                drop(guard);
            }
        }
        let _count = CountDown(self);
        if let WriteRequest::Batch { batch, first, .. } = request
            && let Err(error) = insert(&self.families, batch, *first)
        {
            self.error.lock().get_or_insert(error);
        }
    }

    /// Waits until all batches are inserted; the first error.
    pub(crate) fn wait(&self) -> Result<()> {
        let mut error = self.error.lock();
        while self.left.load(Ordering::Acquire) > 0 {
            self.finished.wait(&mut error);
        }
        error.take().map_or(Ok(()), Err)
    }
}
