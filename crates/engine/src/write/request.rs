//! What writers bring to the queue, and what the members of a group share.

use crate::column_family::FamilyMap;
use crate::options::WriteOptions;
use ferrock_base::{Error, ErrorKind, Result, SequenceNumber};
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
        /// Generation of the families that the batch was checked against; `None`: any will do.
        checked: Option<u64>,
        /// What few requests have; `None`: nothing is checked, and the batch is dropped.
        extra: Option<Arc<WriteExtra>>,
    },
    /// To be alone: no other thread writes while the writer of this request leads.
    Exclusive,
}

/// Looks at the database in the moment before a batch is logged, and may refuse the batch. It is given the newest
/// sequence number: no other thread writes until the batch is logged or refused.
pub(crate) type PreWriteCheck = Box<dyn FnOnce(SequenceNumber) -> Result<()> + Send>;

/// What a request may have besides its batch.
#[derive(Default)]
pub(crate) struct WriteExtra {
    check: Mutex<Option<PreWriteCheck>>,
    /// Where the batch goes when the request is done with, whichever thread was done with it.
    home: Mutex<Option<WriteBatch>>,
}

impl WriteExtra {
    pub(crate) fn with_check(check: PreWriteCheck) -> Self {
        Self { check: Mutex::new(Some(check)), home: Mutex::default() }
    }

    /// The batch, when the request is done with. `None` where the thread that had it panicked.
    pub(crate) fn take_batch(&self) -> Option<WriteBatch> {
        self.home.lock().take()
    }
}

impl WriteRequest {
    /// Bytes of the batch.
    pub(crate) fn byte_size(&self) -> usize {
        if let Self::Batch { batch, .. } = self { batch.byte_size() } else { 0 }
    }

    /// True for a batch without records.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Batch { batch, .. } if batch.records().is_empty())
    }

    /// Gives the caller's own batch back, in whose place another one was written.
    pub(crate) fn put_back(&mut self, own: WriteBatch) {
        if let Self::Batch { batch, .. } = self {
            *batch = own;
        }
    }

    /// True for a request that must lead its group: it is checked while nothing is written.
    pub(crate) fn has_check(&self) -> bool {
        matches!(self, Self::Batch { extra: Some(extra), .. } if extra.check.lock().is_some())
    }

    /// Runs the check of the request. The caller leads the write queue and has logged nothing yet.
    pub(crate) fn check(&self, visible: SequenceNumber) -> Result<()> {
        let Self::Batch { extra: Some(extra), .. } = self else { return Ok(()) };
        let check = extra.check.lock().take();
        check.map_or(Ok(()), |check| check(visible))
    }
}

impl Drop for WriteRequest {
    #[inline]
    fn drop(&mut self) {
        if let Self::Batch { batch, first, extra: Some(extra), .. } = self {
            take_home(batch, *first, extra);
        }
    }
}

#[inline(never)]
fn take_home(batch: &mut WriteBatch, first: SequenceNumber, extra: &WriteExtra) {
    if first.0 != 0 {
        batch.set_sequence(first);
    }
    *extra.home.lock() = Some(std::mem::take(batch));
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
        struct CountDown<'a> {
            group: &'a WriteGroup,
            has_returned: bool,
        }
        impl Drop for CountDown<'_> {
            fn drop(&mut self) {
                let mut error = self.group.error.lock();
                if !self.has_returned {
                    error.get_or_insert_with(|| {
                        Error::new(ErrorKind::Aborted, "a thread that inserted a batch panicked")
                    });
                }
                if self.group.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    self.group.finished.notify_one();
                }
                drop(error);
            }
        }
        let mut count = CountDown { group: self, has_returned: false };
        if let WriteRequest::Batch { batch, first, .. } = request
            && let Err(error) = insert(&self.families, batch, *first)
        {
            self.error.lock().get_or_insert(error);
        }
        count.has_returned = true;
    }

    /// Waits, when it is dropped, until no thread inserts for the group any more.
    pub(crate) fn until_all_have_inserted(&self) -> impl Drop {
        struct Inserting<'a>(&'a WriteGroup);
        impl Drop for Inserting<'_> {
            fn drop(&mut self) {
                let mut error = self.0.error.lock();
                while self.0.left.load(Ordering::Acquire) > 0 {
                    self.0.finished.wait(&mut error);
                }
            }
        }
        Inserting(self)
    }

    /// The first error of the inserts.
    pub(crate) fn result(&self) -> Result<()> {
        self.error.lock().take().map_or(Ok(()), Err)
    }
}
