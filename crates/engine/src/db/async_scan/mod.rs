//! Scanning as futures.
//!
//! ```text
//! poll         next_batch: Iter --> rows, rows, rows ... --> Ready: a batch of 64 KiB, or the last rows
//!                          |   ^
//!                paused for |   | woken: all of them came
//!                          v   |
//! the ring                 reads: those of all tables that the iterator has to know of, at once
//! ```
//!
//! The iterator is the one of blocking scans, with its readahead, its limit hints and its errors. Where that would
//! read, it pauses and says what it lacks (`iterator/db_iter/pausing.rs`); the reads go to the driver of
//! [`get_async`](super::async_get). What is read ahead is on its way there, too.
//!
//! What cannot be read that way is left to a thread of the database, which fills the batch as a blocking scan would:
//! tables that are not open, values in blob files, blocks of indexes and filters that the cache has no room for, and
//! reads that failed. No polling thread waits.

mod cursor;

use self::cursor::Cursor;
use super::DbCore;
use super::read::Iter;
use crate::column_family::ColumnFamilyData;
use crate::db::iter_source;
use crate::options::ReadOptions;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_tree::iterator::ReadSet;
use parking_lot::Mutex;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

/// Rows of a scan, in order.
#[derive(Clone, Debug, Default)]
pub struct ScanBatch {
    /// Keys and values, one behind the other.
    bytes: Vec<u8>,
    /// Where each key and each value ends.
    ends: Vec<(usize, usize)>,
}

impl ScanBatch {
    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The keys and values.
    pub fn rows(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.len()).filter_map(|index| self.row(index))
    }

    fn row(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let (key_end, end) = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before].1);
        Some((&self.bytes[start..key_end], &self.bytes[key_end..end]))
    }

    fn with_capacity(bytes: usize, rows: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes + bytes / 16), ends: Vec::with_capacity(rows + rows / 16) }
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }
}

/// What came of filling a batch on a thread: the cursor unless it failed.
type Filled = Result<Box<Cursor>>;

/// Where a cursor comes back from a thread.
#[derive(Default)]
struct Return {
    filled: Option<Filled>,
    waker: Option<Waker>,
}

/// A cursor with a thread. However that ends, the waiting task is woken.
struct Work {
    back: Arc<Mutex<Return>>,
    cursor: Option<Box<Cursor>>,
}

impl Work {
    fn perform(mut self) {
        let Some(cursor) = &mut self.cursor else { return };
        let back = &self.back;
        // The scan has the other half.
        let filled = cursor.fill_blocking(|| Arc::strong_count(back) > 1);
        if let Some(cursor) = self.cursor.take() {
            self.finish(filled.map(|()| cursor));
        }
    }

    fn finish(&self, filled: Filled) {
        let mut back = self.back.lock();
        back.filled = Some(filled);
        let waker = back.waker.take();
        drop(back);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Taken by `perform`, unless that panicked or never ran.
        if self.cursor.take().is_some() {
            let message =
                "the scan was given up by its thread: it panicked, or the database was closed before it began";
            self.finish(Err(Error::new(ErrorKind::Aborted, message)));
        }
    }
}

enum Stage {
    /// Nothing is on its way.
    Rests(Box<Cursor>),
    /// The iterator is paused for reads.
    Reads(Box<Cursor>, ReadSet<usize>),
    /// The cursor is with a thread.
    Away(Arc<Mutex<Return>>),
    Failed(Error),
    /// It ended or failed.
    Over,
}

/// A scan of [`Db::scan_async`](crate::Db::scan_async), as of one moment. `'static` and `Send`; dropping it ends the
/// scan.
pub struct AsyncScan {
    stage: Stage,
    /// The database whose threads do what blocks; without them the polling thread does.
    core: Weak<DbCore>,
    /// Of [`next`](Self::next): the batch, and the next of its rows.
    current: (ScanBatch, usize),
}

impl fmt::Debug for AsyncScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncScan").finish_non_exhaustive()
    }
}

impl AsyncScan {
    fn new(core: &Arc<DbCore>, iter: Iter) -> Self {
        let stage = Stage::Rests(Box::new(Cursor::new(iter)));
        Self { stage, core: Arc::downgrade(core), current: Default::default() }
    }

    pub(super) fn failed(error: Error) -> Self {
        Self { stage: Stage::Failed(error), core: Weak::new(), current: Default::default() }
    }

    /// Ends a batch when it has at least so many bytes of keys and values (64 KiB by default). To be called before the
    /// first batch; later it may come too late for the next one.
    #[must_use]
    pub fn with_batch_bytes(mut self, batch_bytes: usize) -> Self {
        if let Stage::Rests(cursor) = &mut self.stage {
            cursor.batch_bytes = batch_bytes.max(1);
        }
        self
    }

    /// Ends the scan after so many rows. To be called before the first batch; later it may come too late for the next
    /// one.
    #[must_use]
    pub fn with_limit(mut self, rows: u64) -> Self {
        if let Stage::Rests(cursor) = &mut self.stage {
            cursor.rows_left = rows;
        }
        self
    }

    /// The next rows, at least one; `None` at the end. After an error the scan is over. Dropping the future loses
    /// nothing: the next call gives the same rows.
    ///
    /// **Cost:** the reads of an iterator, each handed from thread to thread once. Between the calls nothing is read
    /// but what a scan that goes on reads ahead.
    pub fn next_batch(&mut self) -> NextBatch<'_> {
        NextBatch { scan: self }
    }

    /// The next row, from batches.
    ///
    /// # Errors
    /// Those of [`next_batch`](Self::next_batch). The scan is then at its end.
    pub async fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.current.1 >= self.current.0.len() {
            self.current = (self.next_batch().await?.unwrap_or_default(), 0);
        }
        let (batch, position) = &mut self.current;
        *position += 1;
        Ok(batch.row(*position - 1))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<ScanBatch>>> {
        loop {
            let mut cursor = match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Over => return Poll::Ready(Ok(None)),
                Stage::Failed(error) => return Poll::Ready(Err(error)),
                Stage::Rests(cursor) => cursor,
                Stage::Reads(mut cursor, mut reads) => {
                    if !reads.poll(context) {
                        self.stage = Stage::Reads(cursor, reads);
                        return Poll::Pending;
                    }
                    cursor.supply(reads);
                    cursor
                }
                Stage::Away(back) => {
                    let mut locked = back.lock();
                    let Some(filled) = locked.filled.take() else {
                        let before = locked.waker.replace(context.waker().clone());
                        drop(locked);
                        drop(before);
                        self.stage = Stage::Away(back);
                        return Poll::Pending;
                    };
                    return Poll::Ready(filled.map(|cursor| self.hand_out(cursor)));
                }
            };
            match cursor.fill() {
                Ok(true) => return Poll::Ready(Ok(self.hand_out(cursor))),
                Err(error) => return Poll::Ready(Err(error)),
                Ok(false) => {
                    self.stage = match cursor.needs() {
                        Some(reads) => Stage::Reads(cursor, reads),
                        None => self.send_away(cursor),
                    }
                }
            }
        }
    }

    /// The batch that was filled; `None` at the end.
    fn hand_out(&mut self, mut cursor: Box<Cursor>) -> Option<ScanBatch> {
        let batch = cursor.take_batch();
        if batch.is_empty() {
            return None;
        }
        self.stage = Stage::Rests(cursor);
        Some(batch)
    }

    /// Has the batch filled by a thread that may block; where there is none, here.
    fn send_away(&self, cursor: Box<Cursor>) -> Stage {
        let back = Arc::<Mutex<Return>>::default();
        let work = Work { back: Arc::clone(&back), cursor: Some(cursor) };
        match self.core.upgrade() {
            Some(core) => core.reads.run_aside(Box::new(move || work.perform())),
            None => work.perform(),
        }
        Stage::Away(back)
    }
}

/// The future of [`AsyncScan::next_batch`].
#[derive(Debug)]
#[must_use = "the rows come when it is polled"]
pub struct NextBatch<'s> {
    scan: &'s mut AsyncScan,
}

impl Future for NextBatch<'_> {
    type Output = Result<Option<ScanBatch>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.scan.poll(context)
    }
}

pub(crate) fn scan_async(core: &Arc<DbCore>, data: &Arc<ColumnFamilyData>, options: &ReadOptions) -> AsyncScan {
    AsyncScan::new(core, iter_source::iter(core, data, options))
}

/// Scans and their futures move between the threads of an executor.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<AsyncScan>();
    is_send::<NextBatch<'static>>();
};
