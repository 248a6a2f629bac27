//! Reading a key as a future.
//!
//! ```text
//! get_async: memtables, tables in memory --+--> found, absent, failed       Ready at the first poll, nothing allocated
//!                                          +--> something is missing          Waits: it is on its way
//!                                                  |  poll, when it has come
//!                                                  +--> goes on there, and so forth
//! ```

use super::async_search::{ReadView, Step, SuspendedLookup, Wait, step};
use super::multi_get::Search;
use super::read::PinnedSlice;
use super::{Db, DbCore};
use crate::column_family::{ColumnFamily, ColumnFamilyData};
use crate::options::ReadOptions;
use ferrock_base::{Error, Result};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

impl DbCore {
    /// The value of a key, as a future.
    pub(crate) fn get_async(
        self: &Arc<Self>,
        data: &Arc<ColumnFamilyData>,
        options: &ReadOptions,
        key: &[u8],
    ) -> GetAsync {
        self.look_up(data, options, key, |pinned, lookup, sequence, mut context| {
            let stop = if !context.needs_tables() {
                None
            } else {
                let table_options = options.for_table();
                let search = Search { data, pinned, options, table_options, sequence };
                search.resume(pinned.version.candidates(lookup), None, lookup, &mut context)
            };
            let view = || Arc::new(ReadView::new(self, data, pinned, options, sequence));
            match step(stop, lookup, context, view) {
                Step::Over(result) => GetAsync::ready(result),
                Step::Waits(suspended) => GetAsync::waiting(suspended),
            }
        })
    }
}

/// A key being read: the future of [`Db::get_async`]. `'static` and `Send`; dropping it gives the read up.
#[must_use = "the value comes when it is polled"]
pub struct GetAsync {
    state: State,
}

enum State {
    Over(Result<Option<PinnedSlice>>),
    Waits(Box<Waiting>),
    Taken,
}

struct Waiting {
    wait: Wait,
    suspended: Option<SuspendedLookup>,
}

impl fmt::Debug for GetAsync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Over(_) => "over",
            State::Waits(_) => "waits",
            State::Taken => "taken",
        };
        f.debug_struct("GetAsync").field("state", &state).finish()
    }
}

impl GetAsync {
    /// A read that is over.
    pub(super) fn ready(result: Result<Option<PinnedSlice>>) -> Self {
        Self { state: State::Over(result) }
    }

    #[cold]
    fn waiting(suspended: SuspendedLookup) -> Self {
        let waiting = Waiting { wait: suspended.start(), suspended: Some(suspended) };
        Self { state: State::Waits(Box::new(waiting)) }
    }
}

impl Future for GetAsync {
    type Output = Result<Option<PinnedSlice>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            if let State::Waits(waiting) = &mut self.state {
                let completion = ready!(Pin::new(&mut waiting.wait).poll(context));
                if let Some(suspended) = waiting.suspended.take() {
                    match suspended.resume(completion) {
                        Step::Over(result) => self.state = State::Over(result),
                        Step::Waits(suspended) => {
                            waiting.wait = suspended.start();
                            waiting.suspended = Some(suspended);
                        }
                    }
                    continue;
                }
            }
            return Poll::Ready(match std::mem::replace(&mut self.state, State::Taken) {
                State::Over(result) => result,
                _ => Err(Error::invalid_argument("a read was polled after it was over")),
            });
        }
    }
}

impl Db {
    /// The value of a key of the default family, as a future for any executor.
    ///
    /// The call itself does what can be done in memory, as of now. A key that finds its way there is `Ready` at the
    /// first poll and costs what a [`get`](Self::get) costs. Otherwise the read of the first block that is missing is
    /// on its way when the call returns. The number of reads that follow each other is that of [`get`](Self::get): one
    /// data block for each table that the filters do not exclude, and one more for each further block that the versions
    /// of the key fill; index and filter partitions that are not in the block cache; the record, for a value in a blob
    /// file.
    ///
    /// A polling thread reads nothing: a table or blob file that is not open is opened by a thread of the database,
    /// once for all futures that wait for it.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// use std::future::Future;
    /// use std::task::{Context, Poll, Waker};
    /// db.put(b"key", b"value")?;
    /// let mut read = std::pin::pin!(db.get_async(&ferrock::ReadOptions::default(), b"key"));
    /// // What is in memory is there at the first poll.
    /// let Poll::Ready(value) = read.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!() };
    /// assert_eq!(value?.as_deref(), Some(&b"value"[..]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_async(&self, options: &ReadOptions, key: &[u8]) -> GetAsync {
        match self.core().default_family() {
            Ok(data) => self.core().get_async(&data, options, key),
            Err(error) => GetAsync::ready(Err(error)),
        }
    }

    /// The value of a key of a family, as a future: see [`get_async`](Self::get_async).
    pub fn get_cf_async(&self, family: &ColumnFamily, options: &ReadOptions, key: &[u8]) -> GetAsync {
        self.core().get_async(&family.data, options, key)
    }
}

/// Futures move between the threads of an executor.
const _: fn() = || {
    fn is_send<T: Send + Unpin + 'static>() {}
    is_send::<GetAsync>();
};
