//! What a benchmark tells while it runs: the file of `--report_file`, and the jobs that run.
//!
//! ```text
//! secs_elapsed,interval_qps
//! 1,152000                      operations of all threads within each interval
//! 2,149500
//! ```

use crate::failure::{Failure, Result};
use ferrock::{Db, Error, ErrorKind};
use ferrock_base::clock::Clock;
use ferrock_vfs::{WritableFile, WritableOptions, default_file_system};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Where and how often operations are reported: `--report_file`, `--report_interval_seconds`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reports {
    pub(crate) file: PathBuf,
    pub(crate) interval: Duration,
}

/// Operations of all threads since the last line.
#[derive(Debug, Default)]
pub(crate) struct Reported(AtomicU64);

impl Reported {
    #[inline]
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

impl Reports {
    /// Runs `work` while a thread writes the file, which is made anew.
    ///
    /// # Errors
    /// The file cannot be written, with its name; or those of `work`.
    pub(crate) fn while_running<T>(
        &self,
        reported: &Reported,
        clock: &dyn Clock,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let file = default_file_system().create_writable(&self.file, &WritableOptions::default())?;
        std::thread::scope(|scope| {
            let (ends, ended): (Sender<()>, _) = channel();
            let writer = scope.spawn(move || write_lines(file, self.interval, reported, clock, &ended));
            let result = work();
            drop(ends);
            let panicked = |_| Err(Error::new(ErrorKind::Aborted, "the thread that writes --report_file panicked"));
            let written = writer.join().unwrap_or_else(panicked).map_err(Failure::Engine);
            result.and_then(|value| written.map(|()| value))
        })
    }
}

fn write_lines(
    mut file: Box<dyn WritableFile>,
    interval: Duration,
    reported: &Reported,
    clock: &dyn Clock,
    ended: &Receiver<()>,
) -> ferrock::Result<()> {
    file.append(b"secs_elapsed,interval_qps\n")?;
    let interval_us = interval.as_secs() * 1_000_000;
    let begun_us = clock.monotonic_us();
    let (mut last_us, mut due_us) = (begun_us, begun_us + interval_us);
    while let Err(RecvTimeoutError::Timeout) =
        ended.recv_timeout(Duration::from_micros(due_us.saturating_sub(clock.monotonic_us())))
    {
        let now_us = clock.monotonic_us();
        // A line that comes late is of a longer time.
        let passed = (now_us - last_us).max(1) as f64 * 1e-6;
        let operations = reported.0.swap(0, Ordering::Relaxed) as f64;
        let seconds = (now_us - begun_us + 500_000) / 1_000_000;
        file.append(format!("{seconds},{:.0}\n", operations / passed).as_bytes())?;
        // A program that follows the file sees each line.
        file.flush()?;
        last_us = now_us;
        while due_us <= now_us {
            due_us += interval_us;
        }
    }
    file.close()
}

/// The jobs of the database that run, a line for each.
pub(crate) fn running_jobs(db: &Db) -> String {
    let jobs = db.metrics().background.jobs;
    if jobs.is_empty() {
        return "no flush or compaction runs\n".to_owned();
    }
    jobs.iter().map(|job| format!("{job}, {}\n", job.stage.name())).collect()
}

/// Checks that the file may be made where it is named.
pub(crate) fn check(path: &Path) -> std::result::Result<(), String> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            Err(format!("--report_file={}: there is no such directory", path.display()))
        }
        _ => Ok(()),
    }
}
