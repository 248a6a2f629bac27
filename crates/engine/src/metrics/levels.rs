//! What jobs of a family read and wrote, by the level that they wrote to: the rows of `cfstats`.

use ferrock_tree::compaction::choice::CompactionChoice;
use ferrock_tree::job::JobOutput;
use parking_lot::Mutex;

/// The quotient, or 0 where there is nothing to divide by.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// What flushes and compactions did since the family was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobMetrics {
    /// Jobs that wrote tables.
    pub jobs: u64,
    /// Bytes of tables read of levels above the one written to.
    pub read_above_bytes: u64,
    /// Bytes of tables read of the level written to.
    pub read_there_bytes: u64,
    /// Bytes of tables written.
    pub written_bytes: u64,
    /// The same as they would be had no data block been compressed.
    pub uncompressed_bytes: u64,
    /// Bytes of tables that only changed their level, or were dropped as a whole.
    pub moved_bytes: u64,
    /// Bytes of records of blob files that compactions read.
    pub blob_read_bytes: u64,
    /// Bytes of blob files written.
    pub blob_written_bytes: u64,
    /// Entries read.
    pub entries: u64,
    /// Entries read that came to nothing.
    pub dropped: u64,
    /// Microseconds.
    pub us: u64,
    /// Microseconds of the processor, of all threads of the jobs.
    pub cpu_us: u64,
}

impl JobMetrics {
    /// Bytes of tables and blob files read.
    #[must_use]
    pub fn read_bytes(&self) -> u64 {
        self.read_above_bytes + self.read_there_bytes + self.blob_read_bytes
    }

    /// Bytes of tables and blob files written.
    #[must_use]
    pub fn all_written_bytes(&self) -> u64 {
        self.written_bytes + self.blob_written_bytes
    }

    /// Bytes written for each of `ingested_bytes`; 0 without any.
    #[must_use]
    pub fn write_amplification(&self, ingested_bytes: u64) -> f64 {
        ratio(self.all_written_bytes() as f64, ingested_bytes as f64)
    }

    fn map(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            jobs: of(self.jobs, other.jobs),
            read_above_bytes: of(self.read_above_bytes, other.read_above_bytes),
            read_there_bytes: of(self.read_there_bytes, other.read_there_bytes),
            written_bytes: of(self.written_bytes, other.written_bytes),
            uncompressed_bytes: of(self.uncompressed_bytes, other.uncompressed_bytes),
            moved_bytes: of(self.moved_bytes, other.moved_bytes),
            blob_read_bytes: of(self.blob_read_bytes, other.blob_read_bytes),
            blob_written_bytes: of(self.blob_written_bytes, other.blob_written_bytes),
            entries: of(self.entries, other.entries),
            dropped: of(self.dropped, other.dropped),
            us: of(self.us, other.us),
            cpu_us: of(self.cpu_us, other.cpu_us),
        }
    }

    /// The sum.
    pub(crate) fn plus(self, other: Self) -> Self {
        self.map(other, u64::wrapping_add)
    }

    /// What came since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        self.map(earlier, u64::saturating_sub)
    }
}

/// The counts of a moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct FamilyJobs {
    /// By the level written to.
    pub(crate) levels: Vec<JobMetrics>,
    /// Flushes, of all levels.
    pub(crate) flushes: JobMetrics,
    /// Compactions, of all levels.
    pub(crate) compactions: JobMetrics,
    /// Files from outside that were taken in, each a job.
    pub(crate) ingestions: JobMetrics,
    /// What was in them.
    pub(crate) ingested: IngestedFiles,
}

/// Files from outside that a family took in since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IngestedFiles {
    /// Files.
    pub(crate) files: u64,
    /// Of them, those of level 0.
    pub(crate) level_0_files: u64,
    /// Entries in them.
    pub(crate) keys: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
}

impl IngestedFiles {
    /// What came since `earlier`.
    fn since(self, earlier: Self) -> Self {
        Self {
            files: self.files.saturating_sub(earlier.files),
            level_0_files: self.level_0_files.saturating_sub(earlier.level_0_files),
            keys: self.keys.saturating_sub(earlier.keys),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }
}

impl FamilyJobs {
    /// What came since `earlier`.
    fn since(&self, earlier: &Self) -> Self {
        let level = |(level, counts): (usize, &JobMetrics)| {
            counts.since(earlier.levels.get(level).copied().unwrap_or_default())
        };
        Self {
            levels: self.levels.iter().enumerate().map(level).collect(),
            flushes: self.flushes.since(earlier.flushes),
            compactions: self.compactions.since(earlier.compactions),
            ingestions: self.ingestions.since(earlier.ingestions),
            ingested: self.ingested.since(earlier.ingested),
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> JobMetrics {
        self.flushes.plus(self.compactions).plus(self.ingestions)
    }

    /// Bytes that flushes wrote.
    pub(crate) fn flushed_bytes(&self) -> u64 {
        self.flushes.all_written_bytes()
    }

    /// Bytes that came into the family: those that flushes wrote, and those of files from outside.
    pub(crate) fn ingested_bytes(&self) -> u64 {
        self.flushed_bytes() + self.ingested.bytes
    }

    /// Bytes that came into a level from above: what the bytes that jobs wrote there are compared with.
    pub(crate) fn bytes_into(&self, level: usize) -> u64 {
        match level {
            0 => self.flushed_bytes(),
            _ => self.levels.get(level).map_or(0, |counts| counts.read_above_bytes + counts.blob_read_bytes),
        }
    }

    fn add(&mut self, level: usize, counts: JobMetrics) {
        if self.levels.len() <= level {
            self.levels.resize(level + 1, JobMetrics::default());
        }
        self.levels[level] = self.levels[level].plus(counts);
    }
}

/// The counts of an open family.
#[derive(Debug, Default)]
pub(crate) struct LevelCounts {
    /// A leaf.
    jobs: Mutex<FamilyJobs>,
    /// From where `cfstats` counts.
    marks: Mutex<Marks>,
}

/// The counts of two moments.
#[derive(Debug, Default)]
struct Marks {
    /// When they were reset: nothing before that is told.
    reset: FamilyJobs,
    /// What was told last, or reset, and when, in monotonic microseconds.
    told: Option<(u64, FamilyJobs)>,
    /// What had happened at the last dump that was looked at.
    dumped: Option<Activity>,
    /// Dumps since then before which nothing more had happened.
    quiet_dumps: u32,
}

/// Of so many dumps before which nothing happened, one is made.
const QUIET_DUMPS: u32 = 8;

/// What happened in a family since its open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Jobs of all kinds.
    pub(crate) jobs: JobMetrics,
    /// Times that writers were held back.
    pub(crate) stalls: u64,
    /// Reads of files that were timed.
    pub(crate) reads: u64,
}

/// What `cfstats` tells.
#[derive(Debug)]
pub(crate) struct ToldJobs {
    /// Counts since the reset, or the open.
    pub(crate) jobs: FamilyJobs,
    /// What was told of them last.
    pub(crate) before: FamilyJobs,
    /// When that was, or the reset, in monotonic microseconds; `None`: there was neither.
    pub(crate) told_us: Option<u64>,
}

impl LevelCounts {
    /// Counts a flush.
    pub(crate) fn add_flush(&self, output: &JobOutput, us: u64) {
        let dropped = &output.dropped;
        let counts = JobMetrics {
            jobs: 1,
            written_bytes: output.size_bytes() - output.blob_size_bytes(),
            uncompressed_bytes: output.uncompressed_table_bytes(),
            blob_written_bytes: output.blob_size_bytes(),
            entries: dropped.input_entries,
            dropped: dropped.total(),
            us,
            cpu_us: output.stats.cpu_us,
            ..JobMetrics::default()
        };
        let mut jobs = self.jobs.lock();
        jobs.add(0, counts);
        jobs.flushes = jobs.flushes.plus(counts);
    }

    /// Counts a compaction.
    pub(crate) fn add_compaction(&self, choice: &CompactionChoice, output: &JobOutput, us: u64) {
        let of = |is_there: bool| {
            let levels = choice.inputs.iter().filter(|inputs| (inputs.level == choice.output_level) == is_there);
            levels.fold(0, |sum: u64, inputs| sum.saturating_add(inputs.size_bytes()))
        };
        let dropped = &output.dropped;
        let counts = if choice.kind.writes_files() {
            JobMetrics {
                jobs: 1,
                read_above_bytes: of(false),
                read_there_bytes: of(true),
                written_bytes: output.size_bytes() - output.blob_size_bytes(),
                uncompressed_bytes: output.uncompressed_table_bytes(),
                blob_read_bytes: output.blob_read_bytes,
                blob_written_bytes: output.blob_size_bytes(),
                entries: dropped.input_entries,
                dropped: dropped.total(),
                us,
                cpu_us: output.stats.cpu_us,
                ..JobMetrics::default()
            }
        } else {
            JobMetrics { moved_bytes: choice.input_size_bytes(), ..JobMetrics::default() }
        };
        let mut jobs = self.jobs.lock();
        jobs.add(choice.output_level, counts);
        jobs.compactions = jobs.compactions.plus(counts);
    }

    /// Counts a file from outside: a job that wrote it where it was copied.
    pub(crate) fn add_ingested(&self, level: usize, bytes: u64, is_copy: bool, keys: u64, us: u64) {
        let counts = match is_copy {
            true => JobMetrics { jobs: 1, written_bytes: bytes, us, ..JobMetrics::default() },
            false => JobMetrics { jobs: 1, moved_bytes: bytes, us, ..JobMetrics::default() },
        };
        let mut jobs = self.jobs.lock();
        jobs.add(level, counts);
        jobs.ingestions = jobs.ingestions.plus(counts);
        let ingested = &mut jobs.ingested;
        ingested.files += 1;
        ingested.level_0_files += u64::from(level == 0);
        ingested.keys += keys;
        ingested.bytes += bytes;
    }

    /// The counts now, since the open.
    pub(crate) fn now(&self) -> FamilyJobs {
        self.jobs.lock().clone()
    }

    /// The counts since the reset, or the open; nothing is told by it.
    pub(crate) fn told(&self) -> FamilyJobs {
        let marks = self.marks.lock();
        self.jobs.lock().since(&marks.reset)
    }

    /// The counts now, and those told last with their time; these are told from then on.
    pub(crate) fn tell(&self, now_us: u64) -> ToldJobs {
        // Taken under the lock, so that of two callers the later one has the later counts.
        let mut marks = self.marks.lock();
        let now = self.jobs.lock().clone();
        let jobs = now.since(&marks.reset);
        let Some((told_us, before)) = marks.told.replace((now_us, now)) else {
            return ToldJobs { jobs, before: FamilyJobs::default(), told_us: None };
        };
        ToldJobs { jobs, before: before.since(&marks.reset), told_us: Some(told_us) }
    }

    /// What is told from here on begins at zero.
    pub(crate) fn reset(&self, now_us: u64) {
        let mut marks = self.marks.lock();
        let now = self.jobs.lock().clone();
        *marks = Marks { reset: now.clone(), told: Some((now_us, now)), ..Marks::default() };
    }

    /// True where a periodic dump has the family: it changed since the last one, or this is the first quiet dump behind
    /// a change, or the eighth one behind such a dump.
    pub(crate) fn begin_dump(&self, activity: Activity) -> bool {
        let mut marks = self.marks.lock();
        if marks.dumped.replace(activity) != Some(activity) {
            marks.quiet_dumps = 0;
            return true;
        }
        let is_first = marks.quiet_dumps == 0;
        marks.quiet_dumps = (marks.quiet_dumps + 1) % QUIET_DUMPS;
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(jobs: u64) -> JobMetrics {
        JobMetrics { jobs, written_bytes: 100 * jobs, ..JobMetrics::default() }
    }

    #[test]
    fn what_is_told_begins_at_the_reset_and_intervals_at_what_was_told() {
        let counts = LevelCounts::default();
        counts.jobs.lock().add(2, written(3));
        let first = counts.tell(10);
        assert_eq!((first.told_us, first.jobs.levels[2], first.before.levels.len()), (None, written(3), 0));
        counts.jobs.lock().add(2, written(1));
        let second = counts.tell(20);
        assert_eq!(
            (second.told_us, second.jobs.levels[2], second.before.levels[2]),
            (Some(10), written(4), written(3))
        );
        counts.reset(30);
        counts.jobs.lock().add(3, written(7));
        assert_eq!(counts.told().levels[2..], [written(0), written(7)]);
        assert_eq!(counts.now().levels[2..], [written(4), written(7)], "the metrics go on");
        let third = counts.tell(40);
        assert_eq!(third.told_us, Some(30));
        assert_eq!((third.jobs.levels[3], third.before.levels[2]), (written(7), written(0)));
    }

    #[test]
    fn a_quiet_family_is_dumped_once_more_and_every_eighth_time() {
        let counts = LevelCounts::default();
        let activity = |jobs| Activity { jobs: written(jobs), stalls: 0, reads: 0 };
        assert!(counts.begin_dump(activity(0)), "the first one");
        let dumps: Vec<usize> = (1..=18).filter(|_| counts.begin_dump(activity(0))).collect();
        assert_eq!(dumps, [1, 9, 17]);
        assert!(counts.begin_dump(activity(1)) && counts.begin_dump(activity(1)) && !counts.begin_dump(activity(1)));
    }
}
