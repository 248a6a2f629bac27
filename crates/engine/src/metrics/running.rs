//! Flushes and compactions as they run: one row for each. A flush is listed while it writes its tables, family by
//! family, a compaction until its outputs are installed or given up, one that another process runs included.
//!
//! A job takes the lock twice, when it begins and when it ends; what it has written is an atomic of its own. What
//! writes no files (a move, a drop) is not listed: it is over within one edit of the MANIFEST.

use crate::events::thread_number;
use ferrock_base::clock::Clock;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JobKind {
    /// Memtables become tables of level 0.
    Flush,
    /// Tables are merged, or copied for another temperature.
    Compaction,
}

impl JobKind {
    /// `flush` or `compaction`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flush => "flush",
            Self::Compaction => "compaction",
        }
    }
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JobStage {
    /// It reads its inputs and writes its outputs.
    Writing,
    /// Its outputs are complete, and become part of the tree.
    Installing,
}

impl JobStage {
    /// `writing` or `installing`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Writing => "writing",
            Self::Installing => "installing",
        }
    }
}

/// A flush or a compaction that runs: RocksDB's thread status. See
/// [`BackgroundMetrics::jobs`](super::BackgroundMetrics::jobs).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningJob {
    /// What it does.
    pub kind: JobKind,
    /// The number that the LOG and the infos of listeners have for it.
    pub job_id: u64,
    /// The number of its thread, as in infos of listeners.
    pub thread_id: u64,
    /// The family.
    pub family: String,
    /// Why it runs: RocksDB's name of the reason.
    pub reason: &'static str,
    /// True for a call of `compact_range` or `compact_files`.
    pub is_manual: bool,
    /// The level of its first inputs; `None` of a flush.
    pub start_level: Option<usize>,
    /// The level of its outputs.
    pub output_level: usize,
    /// Its inputs: tables, or memtables.
    pub inputs: usize,
    /// Their bytes.
    pub input_bytes: u64,
    /// Bytes of the outputs that are complete: it grows with each table and blob file.
    pub written_bytes: u64,
    /// How far it is.
    pub stage: JobStage,
    /// Microseconds since it began.
    pub elapsed_us: u64,
}

impl fmt::Display for RunningJob {
    /// One line: `compaction 12 of default, L1 to L2 (LevelMaxLevelSize): 4 inputs of 1000 bytes, 500 written, 12 us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}, ", self.kind.name(), self.job_id, self.family)?;
        if let Some(level) = self.start_level {
            write!(f, "L{level} ")?;
        }
        let Self { output_level, reason, inputs, input_bytes, written_bytes, elapsed_us, .. } = self;
        write!(
            f,
            "to L{output_level} ({reason}): {inputs} inputs of {input_bytes} bytes, {written_bytes} written, {elapsed_us} us"
        )
    }
}

/// What a job says of itself when it begins.
#[derive(Clone, Debug)]
pub(crate) struct JobDescription {
    pub(crate) kind: JobKind,
    pub(crate) job_id: u64,
    pub(crate) family: String,
    pub(crate) reason: &'static str,
    pub(crate) is_manual: bool,
    pub(crate) start_level: Option<usize>,
    pub(crate) output_level: usize,
    pub(crate) inputs: usize,
    pub(crate) input_bytes: u64,
}

/// A job in the list.
#[derive(Debug)]
struct Listed {
    description: JobDescription,
    thread_id: u64,
    begun_us: u64,
    written_bytes: AtomicU64,
    stage: AtomicU8,
}

impl Listed {
    fn now(&self, now_us: u64) -> RunningJob {
        let JobDescription { kind, job_id, family, reason, is_manual, start_level, output_level, inputs, input_bytes } =
            self.description.clone();
        let stage = match self.stage.load(Ordering::Relaxed) {
            0 => JobStage::Writing,
            _ => JobStage::Installing,
        };
        RunningJob {
            kind,
            job_id,
            thread_id: self.thread_id,
            family,
            reason,
            is_manual,
            start_level,
            output_level,
            inputs,
            input_bytes,
            written_bytes: self.written_bytes.load(Ordering::Relaxed),
            stage,
            elapsed_us: now_us.saturating_sub(self.begun_us),
        }
    }
}

/// The jobs of a database that run.
#[derive(Debug, Default)]
pub(crate) struct RunningJobs {
    listed: Mutex<ListedJobs>,
}

#[derive(Debug, Default)]
struct ListedJobs {
    next: u64,
    by_place: BTreeMap<u64, Arc<Listed>>,
}

impl RunningJobs {
    /// Lists a job of the thread that calls, until what is returned is dropped.
    pub(crate) fn begin(&self, clock: &dyn Clock, description: JobDescription) -> JobProgress<'_> {
        let job = Arc::new(Listed {
            description,
            thread_id: thread_number(),
            begun_us: clock.monotonic_us(),
            written_bytes: AtomicU64::new(0),
            stage: AtomicU8::new(0),
        });
        let mut listed = self.listed.lock();
        let place = listed.next;
        listed.next += 1;
        listed.by_place.insert(place, Arc::clone(&job));
        JobProgress { jobs: self, place, job }
    }

    /// Those that run, the oldest first.
    pub(crate) fn now(&self, now_us: u64) -> Vec<RunningJob> {
        self.listed.lock().by_place.values().map(|job| job.now(now_us)).collect()
    }
}

/// The place of a job in the list.
#[derive(Debug)]
pub(crate) struct JobProgress<'a> {
    jobs: &'a RunningJobs,
    place: u64,
    job: Arc<Listed>,
}

impl JobProgress<'_> {
    /// An output is complete.
    pub(crate) fn add_written(&self, bytes: u64) {
        self.job.written_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What was written counts for nothing.
    pub(crate) fn begin_anew(&self) {
        self.job.written_bytes.store(0, Ordering::Relaxed);
    }

    /// All outputs are complete.
    pub(crate) fn installs(&self) {
        self.job.stage.store(1, Ordering::Relaxed);
    }
}

impl Drop for JobProgress<'_> {
    fn drop(&mut self) {
        self.jobs.listed.lock().by_place.remove(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::clock::ManualClock;
    use std::time::Duration;

    #[test]
    fn a_job_is_listed_while_it_runs() {
        let (jobs, clock) = (RunningJobs::default(), ManualClock::new(1_000_000));
        let description = |job_id| JobDescription {
            kind: JobKind::Compaction,
            job_id,
            family: "default".to_owned(),
            reason: "LevelMaxLevelSize",
            is_manual: false,
            start_level: Some(1),
            output_level: 2,
            inputs: 4,
            input_bytes: 1000,
        };
        let first = jobs.begin(&clock, description(12));
        clock.advance(Duration::from_micros(5));
        let second = jobs.begin(&clock, description(13));
        first.add_written(300);
        first.add_written(200);
        second.installs();
        clock.advance(Duration::from_micros(7));
        let now = jobs.now(clock.monotonic_us());
        let seen: Vec<_> = now.iter().map(|job| (job.job_id, job.written_bytes, job.stage, job.elapsed_us)).collect();
        assert_eq!(seen, [(12, 500, JobStage::Writing, 12), (13, 0, JobStage::Installing, 7)]);
        let text = "compaction 12 of default, L1 to L2 (LevelMaxLevelSize): 4 inputs of 1000 bytes, 500 written, 12 us";
        assert_eq!(now[0].to_string(), text);
        drop(first);
        assert_eq!(jobs.now(0).len(), 1);
        drop(second);
        assert!(jobs.now(0).is_empty());
    }
}
