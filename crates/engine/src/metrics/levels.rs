//! What jobs of a family read and wrote, by the level that they wrote to: the rows of `cfstats`.

use ferrock_tree::compaction::choice::CompactionChoice;
use ferrock_tree::job::JobOutput;
use parking_lot::Mutex;

/// Counts of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobCounts {
    /// Jobs.
    pub(crate) jobs: u64,
    /// Bytes of tables read of levels above the one written to.
    pub(crate) read_above: u64,
    /// Bytes of tables read of the level written to.
    pub(crate) read_there: u64,
    /// Bytes of tables written.
    pub(crate) written: u64,
    /// Bytes of tables that only changed their level.
    pub(crate) moved: u64,
    /// Bytes of blob files written.
    pub(crate) blob_written: u64,
    /// Entries read.
    pub(crate) entries: u64,
    /// Entries read that came to nothing.
    pub(crate) dropped: u64,
    /// Microseconds.
    pub(crate) us: u64,
}

impl JobCounts {
    fn map(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            jobs: of(self.jobs, other.jobs),
            read_above: of(self.read_above, other.read_above),
            read_there: of(self.read_there, other.read_there),
            written: of(self.written, other.written),
            moved: of(self.moved, other.moved),
            blob_written: of(self.blob_written, other.blob_written),
            entries: of(self.entries, other.entries),
            dropped: of(self.dropped, other.dropped),
            us: of(self.us, other.us),
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
    pub(crate) levels: Vec<JobCounts>,
    /// Flushes, of all levels.
    pub(crate) flushes: JobCounts,
    /// Compactions, of all levels.
    pub(crate) compactions: JobCounts,
}

impl FamilyJobs {
    /// All of them.
    pub(crate) fn all(&self) -> JobCounts {
        self.flushes.plus(self.compactions)
    }

    fn add(&mut self, level: usize, counts: JobCounts) {
        if self.levels.len() <= level {
            self.levels.resize(level + 1, JobCounts::default());
        }
        self.levels[level] = self.levels[level].plus(counts);
    }
}

/// The counts of an open family.
#[derive(Debug, Default)]
pub(crate) struct LevelCounts {
    /// A leaf.
    jobs: Mutex<FamilyJobs>,
    /// What `cfstats` told last, and when, in monotonic microseconds.
    told: Mutex<Option<(u64, FamilyJobs)>>,
}

impl LevelCounts {
    /// Counts a flush.
    pub(crate) fn add_flush(&self, output: &JobOutput, us: u64) {
        let dropped = &output.dropped;
        let counts = JobCounts {
            jobs: 1,
            written: output.size_bytes() - output.blob_size_bytes(),
            blob_written: output.blob_size_bytes(),
            entries: dropped.input_entries,
            dropped: dropped.total(),
            us,
            ..JobCounts::default()
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
            JobCounts {
                jobs: 1,
                read_above: of(false),
                read_there: of(true),
                written: output.size_bytes() - output.blob_size_bytes(),
                blob_written: output.blob_size_bytes(),
                entries: dropped.input_entries,
                dropped: dropped.total(),
                us,
                ..JobCounts::default()
            }
        } else {
            JobCounts { moved: choice.input_size_bytes(), ..JobCounts::default() }
        };
        let mut jobs = self.jobs.lock();
        jobs.add(choice.output_level, counts);
        jobs.compactions = jobs.compactions.plus(counts);
    }

    /// The counts now, and those told last with their time; these are told from then on.
    pub(crate) fn tell(&self, now_us: u64) -> (FamilyJobs, Option<(u64, FamilyJobs)>) {
        // Taken under the lock, so that of two callers the later one has the later counts.
        let mut told = self.told.lock();
        let now = self.jobs.lock().clone();
        let before = told.replace((now_us, now.clone()));
        (now, before)
    }
}
