//! Threads behind a trait, so that a test can run background work by hand; and pools of them for work that comes in
//! bursts.

mod pool;
mod pools;

pub use pool::{PoolQueue, ThreadPool, Work};
pub use pools::{PoolPriority, PriorityPools};

use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Work for a thread.
pub type Job = Box<dyn FnOnce() + Send + 'static>;

/// Waits for a thread to end.
pub trait Join: Send {
    /// Blocks until the thread has ended; `Err` when it panicked.
    ///
    /// # Errors
    /// `Aborted` when the thread panicked.
    fn join(self: Box<Self>) -> Result<()>;
}

/// Starts threads.
pub trait Spawner: Send + Sync + fmt::Debug {
    /// Runs `job` on a new thread called `name`.
    ///
    /// # Errors
    /// `Io` when the operating system has no thread to give. The job is then dropped and never runs.
    fn spawn(&self, name: &str, job: Job) -> Result<Box<dyn Join>>;
}

/// Starts operating-system threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct StdSpawner;

impl StdSpawner {
    /// A shared handle.
    #[must_use]
    pub fn shared() -> Arc<dyn Spawner> {
        Arc::new(Self)
    }
}

struct StdJoin(std::thread::JoinHandle<()>);

impl Join for StdJoin {
    fn join(self: Box<Self>) -> Result<()> {
        self.0.join().map_err(|_| Error::new(crate::error::ErrorKind::Aborted, "a background thread panicked"))
    }
}

impl Spawner for StdSpawner {
    fn spawn(&self, name: &str, job: Job) -> Result<Box<dyn Join>> {
        let builder = std::thread::Builder::new().name(name.to_owned());
        let handle = builder.spawn(job).map_err(|source| Error::io("starting a thread", name, source))?;
        Ok(Box::new(StdJoin(handle)))
    }
}
