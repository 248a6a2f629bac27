//! Scanning as futures.
//!
//! ```text
//! who polls     scan_async -- next_batch ......... rows -- next_batch ......... rows
//!                                \              / waker          \            / waker
//! a helper thread                 Iter: up to 64 KiB              Iter: goes on
//! ```
//!
//! The iterator is the one of blocking scans, with its readahead and its errors. It moves to one of a few threads of the
//! database for each batch and back, so that what it reads does not block whoever polls. Between batches nothing is read.

use super::read::Iter;
use super::{Db, DbCore};
use crate::column_family::{ColumnFamily, ColumnFamilyData};
use crate::options::ReadOptions;
use ferrock_base::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

/// Bytes of keys and values after which a batch ends, unless the caller says otherwise.
const BATCH_BYTES: usize = 64 << 10;

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

    fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }
}

/// The iterator, and whether it stands on its first row.
struct Cursor {
    iter: Iter,
    is_placed: bool,
    batch_bytes: usize,
    /// Rows that are wanted still.
    rows_left: u64,
}

impl Cursor {
    /// The next rows; none at the end.
    fn read(&mut self) -> Result<ScanBatch> {
        let mut batch = ScanBatch::default();
        if !std::mem::replace(&mut self.is_placed, true) && self.rows_left > 0 {
            self.iter.seek_to_first();
        }
        while self.rows_left > 0 && self.iter.valid() && batch.bytes.len() < self.batch_bytes {
            batch.push(self.iter.key(), self.iter.value());
            self.rows_left -= 1;
            if self.rows_left > 0 {
                self.iter.next();
            }
        }
        self.iter.status()?;
        Ok(batch)
    }
}

enum Stage {
    /// Nobody works.
    Rests(Box<Cursor>),
    Works(Option<Waker>),
    /// The rows, and the iterator unless it failed.
    Done(Result<ScanBatch>, Option<Box<Cursor>>),
    /// It ended or failed.
    Over,
}

struct Shared {
    stage: Mutex<Stage>,
}

/// A cursor with a thread. However that ends, who waits is told.
struct Work {
    shared: Arc<Shared>,
    cursor: Option<Box<Cursor>>,
}

impl Work {
    fn perform(mut self) {
        let Some(cursor) = &mut self.cursor else { return };
        let batch = cursor.read();
        let cursor = self.cursor.take().filter(|_| batch.is_ok());
        self.finish(batch, cursor);
    }

    fn finish(&self, batch: Result<ScanBatch>, cursor: Option<Box<Cursor>>) {
        let before = std::mem::replace(&mut *self.shared.stage.lock(), Stage::Done(batch, cursor));
        if let Stage::Works(Some(waker)) = before {
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
            self.finish(Err(Error::new(ErrorKind::Aborted, message)), None);
        }
    }
}

/// A scan of [`Db::scan_async`], as of one moment. `'static` and `Send`; dropping it ends the scan.
pub struct AsyncScan {
    shared: Arc<Shared>,
    /// Whose threads do the work; without them whoever polls does.
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
        let cursor = Cursor { iter, is_placed: false, batch_bytes: BATCH_BYTES, rows_left: u64::MAX };
        let shared = Arc::new(Shared { stage: Mutex::new(Stage::Rests(Box::new(cursor))) });
        Self { shared, core: Arc::downgrade(core), current: Default::default() }
    }

    fn failed(error: Error) -> Self {
        let stage = Mutex::new(Stage::Done(Err(error), None));
        Self { shared: Arc::new(Shared { stage }), core: Weak::new(), current: Default::default() }
    }

    /// Ends a batch when it has at least so many bytes of keys and values (64 KiB by default). To be called before the first
    /// batch; later it changes nothing.
    #[must_use]
    pub fn with_batch_bytes(self, batch_bytes: usize) -> Self {
        if let Stage::Rests(cursor) = &mut *self.shared.stage.lock() {
            cursor.batch_bytes = batch_bytes.max(1);
        }
        self
    }

    /// Ends the scan after so many rows. To be called before the first batch; later it changes nothing.
    #[must_use]
    pub fn with_limit(self, rows: u64) -> Self {
        if let Stage::Rests(cursor) = &mut *self.shared.stage.lock() {
            cursor.rows_left = rows;
        }
        self
    }

    /// The next rows, at least one; `None` at the end. After an error the scan is over. Dropping the future loses nothing:
    /// the next call gives the same rows.
    ///
    /// Costs two hand-overs between threads beside what the iterator costs. Nothing is read between the calls.
    pub fn next_batch(&mut self) -> NextBatch<'_> {
        NextBatch { scan: self }
    }

    /// The next row, from batches.
    pub async fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.current.1 >= self.current.0.len() {
            self.current = (self.next_batch().await?.unwrap_or_default(), 0);
        }
        let (batch, position) = &mut self.current;
        *position += 1;
        Ok(batch.row(*position - 1))
    }

    fn poll(&mut self, context: &Context<'_>) -> Poll<Result<Option<ScanBatch>>> {
        let mut stage = self.shared.stage.lock();
        match std::mem::replace(&mut *stage, Stage::Over) {
            Stage::Over => Poll::Ready(Ok(None)),
            Stage::Done(batch, cursor) => {
                // The end comes once, and again when it is asked for again.
                if let (Ok(batch), Some(cursor)) = (&batch, cursor)
                    && !batch.is_empty()
                {
                    *stage = Stage::Rests(cursor);
                }
                Poll::Ready(batch.map(|batch| (!batch.is_empty()).then_some(batch)))
            }
            Stage::Works(before) => {
                *stage = Stage::Works(Some(context.waker().clone()));
                drop(stage);
                drop(before);
                Poll::Pending
            }
            Stage::Rests(cursor) => {
                *stage = Stage::Works(Some(context.waker().clone()));
                drop(stage);
                let work = Work { shared: Arc::clone(&self.shared), cursor: Some(cursor) };
                match self.core.upgrade() {
                    Some(core) => core.helpers.run(Box::new(move || work.perform())),
                    None => work.perform(),
                }
                Poll::Pending
            }
        }
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

impl DbCore {
    pub(crate) fn scan_async(self: &Arc<Self>, data: &Arc<ColumnFamilyData>, options: &ReadOptions) -> AsyncScan {
        AsyncScan::new(self, self.iter(data, options))
    }
}

impl Db {
    /// Scans the default family between the bounds of `options`, in batches of rows that are futures for any executor.
    ///
    /// All batches are as of the moment of the call. The iterator of [`iter`](Self::iter) works beneath, on one of at most
    /// four threads of the database, which are there while there is something to do: it reads what a blocking scan reads.
    ///
    /// ```
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = pin!(future);
    /// #     loop {
    /// #         if let Poll::Ready(out) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) { return out; }
    /// #     }
    /// # }
    /// for key in [b"a", b"b", b"c"] { db.put(key, b"1")?; }
    /// let keys = block_on(async {
    ///     let mut scan = db.scan_async(&ferrock::ReadOptions { lower_bound: Some(b"b".to_vec()), ..Default::default() });
    ///     let mut keys = Vec::new();
    ///     while let Some(batch) = scan.next_batch().await? {
    ///         keys.extend(batch.rows().map(|(key, _)| key.to_vec()));
    ///     }
    ///     ferrock::Result::Ok(keys)
    /// })?;
    /// assert_eq!(keys, [b"b", b"c"]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn scan_async(&self, options: &ReadOptions) -> AsyncScan {
        match self.core().default_family() {
            Ok(data) => self.core().scan_async(&data, options),
            Err(error) => AsyncScan::failed(error),
        }
    }

    /// Scans a family in batches of rows: see [`scan_async`](Self::scan_async).
    #[must_use]
    pub fn scan_cf_async(&self, family: &ColumnFamily, options: &ReadOptions) -> AsyncScan {
        self.core().scan_async(&family.data, options)
    }
}

/// Scans and their futures move between the threads of an executor.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<AsyncScan>();
    is_send::<NextBatch<'static>>();
};
