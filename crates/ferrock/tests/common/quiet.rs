//! Databases in which nothing happens by itself when a clock is moved on.

use ferrock_base::Result;
use ferrock_base::thread::{Job, Join, Spawner, StdSpawner};
use std::sync::Arc;

/// Has no thread for what looks at ages: a test that moves the clock decides itself when they are looked at.
#[derive(Debug)]
pub struct NoWakeups;

impl NoWakeups {
    pub fn shared() -> Arc<dyn Spawner> {
        Arc::new(Self)
    }
}

impl Spawner for NoWakeups {
    fn spawn(&self, name: &str, job: Job) -> Result<Box<dyn Join>> {
        if name == "ferrock:wakeups" {
            return Err(ferrock_base::Error::new(ferrock_base::ErrorKind::Io, "the test has no such thread"));
        }
        StdSpawner.spawn(name, job)
    }
}
