//! Reading a key as a future.
//!
//! ```text
//! get_async: memtables, tables in memory --+--> found, absent, failed       Ready at the first poll, nothing allocated
//!                                          +--> something is missing          Waits: it is on its way
//!                                                  |  poll, when it has come
//!                                                  +--> goes on there, and so forth
//! ```

use super::DbCore;
use super::async_search::{PinnedState, Step, SuspendedLookup, Wait, step};
use super::multi_get::Search;
use super::search::PinnedSlice;
use crate::column_family::ColumnFamilyData;
use crate::db::search;
use crate::metrics::operations::FutureWatch;
use crate::options::ReadOptions;
use ferrock_base::{Error, Result};
use ferrock_statistics::ThreadState;
use ferrock_vfs::IoActivity;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The value of a key, as a future.
pub(crate) fn get_async(
    core: &Arc<DbCore>,
    data: &Arc<ColumnFamilyData>,
    options: &ReadOptions,
    key: &[u8],
) -> GetAsync {
    let thread = ThreadState::current();
    let watch = FutureWatch::begin(&core.metrics, thread, &core.env.clock);
    let perf = watch.as_ref().and_then(|_| thread.perf());
    search::look_up(core, data, options, key, (thread, perf), |pinned, lookup, mut context| {
        let counts = core.metrics.lookup_recorder(thread);
        let asks_tables = context.needs_tables();
        let stop = if !asks_tables {
            None
        } else {
            let table_options = options.for_table(IoActivity::Get);
            let search = Search { data, pinned, options, table_options, counts: &counts };
            search.resume(pinned.version.candidates(lookup), None, lookup, &mut context)
        };
        let state = || Arc::new(PinnedState::new(core, data, pinned, options, IoActivity::Get));
        match step(stop, lookup, context, (&counts, asks_tables), state) {
            Step::Over(result) => {
                if let Some(watch) = watch {
                    watch.end_get(&result);
                }
                GetAsync::ready(result)
            }
            Step::Waits(suspended) => GetAsync::waiting(suspended, watch),
        }
    })
}

/// A key being read: the future of [`Db::get_async`](crate::Db::get_async). `'static` and `Send`; dropping it gives the
/// read up.
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
    watch: Option<FutureWatch>,
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
    fn waiting(suspended: SuspendedLookup, watch: Option<FutureWatch>) -> Self {
        let waiting = Waiting { wait: suspended.start(), suspended: Some(suspended), watch };
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
                        Step::Over(result) => {
                            if let Some(watch) = &waiting.watch {
                                watch.end_get(&result);
                            }
                            self.state = State::Over(result);
                        }
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

/// Futures move between the threads of an executor.
const _: fn() = || {
    fn is_send<T: Send + Unpin + 'static>() {}
    is_send::<GetAsync>();
};
