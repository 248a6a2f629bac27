//! Bounds how many compactions run at once, over families and databases that share one.

use parking_lot::Mutex;
use std::fmt;
use std::sync::{Arc, Weak};

/// Bounds the automatic compactions that run at once of the families that have it as their
/// [`compaction_thread_limiter`](crate::ColumnFamilyOptions::compaction_thread_limiter), of one or several databases.
/// Compactions that a caller asks for are counted and begin in any case, as in RocksDB.
///
/// ```
/// use ferrock_options::{ColumnFamilyOptions, ConcurrentTaskLimiter};
///
/// let limiter = ConcurrentTaskLimiter::new("of cold families", 1);
/// let mut options = ColumnFamilyOptions::default();
/// options.compaction_thread_limiter = Some(limiter.clone());
/// limiter.set_max_outstanding_task(2);
/// assert_eq!(limiter.outstanding_tasks(), 0);
/// ```
pub struct ConcurrentTaskLimiter {
    name: String,
    state: Mutex<State>,
}

struct State {
    /// Negative: no bound.
    most: i32,
    outstanding: i32,
    /// Databases that were refused a task since one ended last.
    refused: Vec<Weak<dyn AwaitsTask>>,
}

/// A database that wants to know when a task may begin.
#[doc(hidden)]
pub trait AwaitsTask: Send + Sync {
    /// Called without a lock held.
    fn task_may_begin(&self);
}

/// A task that runs: it is counted until this is dropped, which may start tasks of other databases, so it is not
/// dropped under a lock of one.
#[doc(hidden)]
pub struct TaskLimiterToken(Arc<ConcurrentTaskLimiter>);

impl ConcurrentTaskLimiter {
    /// At most `max_outstanding_task` tasks at once; a negative number is no bound.
    #[must_use]
    pub fn new(name: &str, max_outstanding_task: i32) -> Arc<Self> {
        let state = State { most: max_outstanding_task, outstanding: 0, refused: Vec::new() };
        Arc::new(Self { name: name.to_owned(), state: Mutex::new(state) })
    }

    /// The name that it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Changes the bound. Tasks that run go on; when there may be more, those that wait begin.
    pub fn set_max_outstanding_task(&self, most: i32) {
        self.change(|state| state.most = most);
    }

    /// From now on there is no bound.
    pub fn reset_max_outstanding_task(&self) {
        self.set_max_outstanding_task(-1);
    }

    /// Tasks that run now.
    #[must_use]
    pub fn outstanding_tasks(&self) -> i32 {
        self.state.lock().outstanding
    }

    /// True when no task may begin now.
    #[doc(hidden)]
    #[must_use]
    pub fn is_full(&self) -> bool {
        let state = self.state.lock();
        state.most >= 0 && state.outstanding >= state.most
    }

    /// Counts a task that begins whatever the bound is.
    #[doc(hidden)]
    #[must_use]
    pub fn force(self: &Arc<Self>) -> TaskLimiterToken {
        self.state.lock().outstanding += 1;
        TaskLimiterToken(Arc::clone(self))
    }

    /// Counts a task if it may begin. If not, `waiting` is told when one may: in one step, so that no end of another
    /// comes in between.
    #[doc(hidden)]
    #[must_use]
    pub fn begin(self: &Arc<Self>, waiting: &Weak<dyn AwaitsTask>) -> Option<TaskLimiterToken> {
        let mut state = self.state.lock();
        if state.most >= 0 && state.outstanding >= state.most {
            if !state.refused.iter().any(|other| Weak::ptr_eq(other, waiting)) {
                state.refused.push(Weak::clone(waiting));
            }
            return None;
        }
        state.outstanding += 1;
        Some(TaskLimiterToken(Arc::clone(self)))
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        change(&mut state);
        let may_begin = state.most < 0 || state.outstanding < state.most;
        let refused = if may_begin { std::mem::take(&mut state.refused) } else { Vec::new() };
        drop(state);
        refused.iter().filter_map(Weak::upgrade).for_each(|waiting| waiting.task_may_begin());
    }
}

impl Drop for TaskLimiterToken {
    fn drop(&mut self) {
        self.0.change(|state| state.outstanding -= 1);
    }
}

impl fmt::Debug for ConcurrentTaskLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        write!(f, "{}: {} of {} tasks", self.name, state.outstanding, state.most)
    }
}
