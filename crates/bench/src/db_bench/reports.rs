//! What a benchmark tells while it runs: the file of `--report_file`, and the jobs that run.
//!
//! ```text
//! secs_elapsed,interval_qps
//! 1,152000                      operations of all threads within each interval
//! 2,149500
//! ```

use crate::failure::{Failure, Result};
use ferrock::Db;
use std::fs::File;
use std::io::{BufWriter, Write as _};
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
    pub(crate) fn while_running<T>(&self, reported: &Reported, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let name = self.file.display();
        let named = |error: std::io::Error| Failure::Usage(format!("--report_file={name}: {error}"));
        let file = File::create(&self.file).map_err(named)?;
        std::thread::scope(|scope| {
            let (ends, ended): (Sender<()>, _) = channel();
            let writer = scope.spawn(move || write_lines(file, self.interval, reported, &ended));
            let result = work();
            drop(ends);
            let panicked = |_| Err(std::io::Error::other("the thread that writes it panicked"));
            writer.join().unwrap_or_else(panicked).map_err(named)?;
            result
        })
    }
}

fn write_lines(file: File, interval: Duration, reported: &Reported, ended: &Receiver<()>) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    writeln!(out, "secs_elapsed,interval_qps")?;
    let mut seconds = 0;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(interval) {
        seconds += interval.as_secs();
        writeln!(out, "{seconds},{}", reported.0.swap(0, Ordering::Relaxed) / interval.as_secs().max(1))?;
        // A program that follows the file sees each line.
        out.flush()?;
    }
    out.flush()
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
