//! Databases in which nothing happens by itself when a clock is moved on.

use ferrock_base::Result;
use ferrock_base::thread::{Job, Join, Spawner, StdSpawner};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Has no thread for what looks at ages: a test that moves the clock decides itself when they are looked at.
#[derive(Debug, Default)]
pub struct NoWakeups {
    /// How often one was asked for.
    pub refused: AtomicU64,
}

impl NoWakeups {
    pub fn shared() -> Arc<Self> {
        Arc::default()
    }
}

impl Spawner for NoWakeups {
    fn spawn(&self, name: &str, job: Job) -> Result<Box<dyn Join>> {
        if name == "ferrock:wakeups" {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(ferrock_base::Error::new(ferrock_base::ErrorKind::Io, "the test has no such thread"));
        }
        StdSpawner.spawn(name, job)
    }
}
