//! Reads by threads under a model checker: `cargo xtask models ferrock-vfs`.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::sync::Arc;

use ferrock_base::Result;
use ferrock_base::thread::{Job, Join, Spawner};
use shuttle::thread;

use super::context::ReadContext;
use super::range::read_range;
use super::threads::IoThreads;
use crate::file::RandomAccessFile;
use crate::file_system::FileSystem;
use crate::memory::MemoryFileSystem;
use crate::options::{RandomAccessOptions, WritableOptions};

const ITERATIONS: usize = 5000;

/// Random schedules, then schedules with few, well-placed preemptions.
fn check(model: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(model.clone(), ITERATIONS);
    shuttle::check_pct(model, ITERATIONS, 3);
}

#[derive(Debug)]
struct ModelSpawner;

struct ModelJoin(thread::JoinHandle<()>);

impl Join for ModelJoin {
    fn join(self: Box<Self>) -> Result<()> {
        self.0.join().unwrap();
        Ok(())
    }
}

impl Spawner for ModelSpawner {
    fn spawn(&self, _name: &str, job: Job) -> Result<Box<dyn Join>> {
        Ok(Box::new(ModelJoin(thread::spawn(job))))
    }
}

fn file() -> (MemoryFileSystem, Arc<dyn RandomAccessFile>) {
    let file_system = MemoryFileSystem::new();
    let mut written = file_system.create_writable(Path::new("/f"), &WritableOptions::default()).unwrap();
    written.append(b"0123456789").unwrap();
    written.close().unwrap();
    let file = file_system.open_random_access(Path::new("/f"), &RandomAccessOptions::default()).unwrap();
    (file_system, file)
}

/// A read is performed once, by a pool thread or the waiting thread, or not at all if it is abandoned; the threads
/// exit.
#[test]
fn shuttle_threads_and_waiters_share_the_work() {
    check(|| {
        let (file_system, file) = file();
        let threads = IoThreads::with_spawner(Arc::new(ModelSpawner));
        let start = |offset| {
            let file = Arc::clone(&file);
            threads.start(offset, Box::new(move || read_range(&*file, offset, 2, &ReadContext::default())))
        };
        let (first, second, third) = (start(0), start(2), start(4));
        let waiter = thread::spawn(move || second.wait(&|| None).unwrap().unwrap().bytes().to_vec());
        drop(third);
        assert_eq!(first.wait(&|| None).unwrap().unwrap().bytes(), b"01");
        assert_eq!(waiter.join().unwrap(), b"23");
        drop(threads);
        let performed = file_system.counters().snapshot().read_requests;
        assert!((2..=3).contains(&performed), "{performed} reads");
    });
}
