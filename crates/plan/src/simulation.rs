//! The events of a database on a virtual clock: a writer fills memtables, flushes and compactions take the time that
//! their bytes take.
//!
//! ```text
//! writer        ====full====full====  stopped  ====full===      rate: as told, slower or 0 as `picker::stall` says
//! flushes            [---]   [---]             [---]            max_background_jobs / 4 at once, at least one
//! compactions        [--------]  [------------------------]     the others; chosen by `picker::pick` when one ends
//! ```
//!
//! Without a rate of puts the database is *settled*: the writer goes on when nothing is left to do. Then the tree has
//! the shape that compactions want, and each byte is rewritten as often as that takes. With a rate compactions may fall
//! behind, level 0 grows, and merges become fewer and larger.

use crate::coverage::{Coverage, Popularity};
use crate::merge::{Contents, Cutter, TableSize, merge};
use crate::sizes::{Chance, Sizes};
use crate::tree::{NewContents, VirtualTree};
use ferrock_base::{MAX_SEQUENCE_NUMBER, Result, SequenceNumber};
use ferrock_options::{ColumnFamilyOptions, CompactionStyle, DbOptions};
use ferrock_tree::compaction::choice::{CompactionChoice, CompactionKind, RunningCompactions, RunningId};
use ferrock_tree::compaction::picker::{self, PickerInput, stall};
use std::sync::Arc;

/// How keys are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each key once, in the order of keys.
    Sequential,
    /// Each key once, in random order.
    Once,
    /// Random keys.
    Random,
}

/// A part of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// How.
    pub order: Order,
    /// Number of puts.
    pub puts: u64,
}

/// Speeds of the virtual clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Bytes of keys and values that are put a second while nothing is in the way; `None`: as many as leave time for
    /// every compaction that is due.
    pub put_bytes_per_sec: Option<f64>,
    /// Bytes that one job writes a second.
    pub job_bytes_per_sec: f64,
}

/// What went into and out of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LevelFlow {
    /// Bytes that compactions into the level took from above.
    pub from_above_bytes: f64,
    /// Bytes of the level itself that they read.
    pub overlapped_bytes: f64,
    /// Bytes that they wrote.
    pub written_bytes: f64,
    /// Merges into it.
    pub merges: u64,
    /// Files moved into it as they were.
    pub moved_files: u64,
}

/// Sums of a simulation, from its beginning on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Bytes of keys and values that were put.
    pub put_bytes: f64,
    /// Bytes of tables that flushes wrote.
    pub flushed_bytes: f64,
    /// Bytes of tables that compactions wrote.
    pub compacted_bytes: f64,
    /// Bytes that compactions read.
    pub read_bytes: f64,
    /// Tables dropped without being read.
    pub dropped_bytes: f64,
    /// Tables of memtables.
    pub flushes: u64,
    /// Seconds of the virtual clock.
    pub seconds: f64,
    /// Seconds in which the writer was slowed down or stopped.
    pub stalled_seconds: f64,
    /// By the level they write to.
    pub levels: Vec<LevelFlow>,
}

impl Totals {
    /// Bytes written to tables for each byte put.
    #[must_use]
    pub fn write_amplification(&self) -> f64 {
        (self.flushed_bytes + self.compacted_bytes) / self.put_bytes.max(1.0)
    }
}

/// A moment of a simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Bytes of keys and values put so far.
    pub put_bytes: f64,
    /// Bytes written to tables so far.
    pub written_bytes: f64,
    /// Bytes of all tables.
    pub table_bytes: f64,
}

/// A sorted run at the end: a file of level 0, or a level.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Run {
    /// Its level.
    pub level: usize,
    /// Files.
    pub files: f64,
    /// Their bytes.
    pub bytes: f64,
    /// Their entries.
    pub entries: f64,
    /// Share of all keys that the run has.
    pub density: f64,
}

/// What a simulation runs with.
#[derive(Debug)]
pub struct Setting<'a> {
    /// Keys that there are.
    pub keys: u64,
    /// Bytes of a key and a value.
    pub entry_bytes: u64,
    /// Puts that fill a memtable.
    pub memtable_entries: u64,
    /// What is put.
    pub phases: &'a [Phase],
    /// How often keys are put.
    pub popularity: &'a Popularity,
    /// Bytes of tables.
    pub sizes: &'a Sizes,
    /// The database.
    pub db: &'a DbOptions,
    /// The family.
    pub family: &'a ColumnFamilyOptions,
    /// Speeds.
    pub rates: Rates,
}

/// What came of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Sums.
    pub totals: Totals,
    /// After every flush.
    pub history: Vec<Moment>,
    /// The tree at the end, when all that was due was done.
    pub runs: Vec<Run>,
    /// Share of all keys that have a value.
    pub live_share: f64,
    /// Largest size of all tables after the first third of the puts, beside what a full compaction would have left.
    pub peak_space: f64,
}

struct Running {
    id: RunningId,
    choice: CompactionChoice,
    outputs: Vec<NewContents>,
    ends_at: f64,
}

/// A simulation under way.
pub(crate) struct Simulation<'a> {
    setting: &'a Setting<'a>,
    tree: VirtualTree,
    running: RunningCompactions,
    jobs: Vec<Running>,
    /// When each flush ends, and what it adds: file, puts.
    flushes: Vec<(f64, NewContents, u64)>,
    /// Full memtables without a flush.
    waiting: std::collections::VecDeque<(Contents, u64)>,
    most_flushes: usize,
    most_compactions: usize,
    now: f64,
    delayed_rate: f64,
    last_needed: u64,
    chance: Chance,
    put: Coverage,
    totals: Totals,
    history: Vec<Moment>,
    peak_space: f64,
}

/// When the virtual clock begins, in Unix seconds.
const EPOCH_SECS: u64 = 1_000_000_000;

impl<'a> Simulation<'a> {
    pub(crate) fn new(setting: &'a Setting<'a>) -> Self {
        let all = usize::try_from(setting.db.max_background_jobs).unwrap_or(2);
        let most_flushes = (all / 4).max(1);
        let levels = usize::try_from(setting.family.num_levels).unwrap_or(7).clamp(1, 64);
        Self {
            setting,
            tree: VirtualTree::new(setting.family),
            running: RunningCompactions::default(),
            jobs: Vec::new(),
            flushes: Vec::new(),
            waiting: std::collections::VecDeque::new(),
            most_flushes,
            most_compactions: all.saturating_sub(most_flushes).max(1),
            now: 0.0,
            delayed_rate: setting.db.delayed_write_rate.max(1) as f64,
            last_needed: 0,
            chance: Chance::new(42),
            put: Coverage::default(),
            totals: Totals { levels: vec![LevelFlow::default(); levels], ..Totals::default() },
            history: Vec::new(),
            peak_space: 0.0,
        }
    }

    /// Runs to the end. `progress` is told the share that is done, now and then.
    ///
    /// # Errors
    /// An edit that the tree refuses: a defect.
    pub(crate) fn run(mut self, progress: &mut dyn FnMut(f64)) -> Result<Outcome> {
        let all: u64 = self.setting.phases.iter().map(|phase| phase.puts).sum();
        let mut done = 0;
        for phase in self.setting.phases {
            let mut left = phase.puts;
            let mut at = 0;
            while left > 0 {
                let puts = left.min(self.setting.memtable_entries);
                self.write(puts)?;
                let contents = self.memtable(phase.order, at, puts);
                self.waiting.push_back((contents, puts));
                self.begin_jobs()?;
                (left, at, done) = (left - puts, at + puts, done + puts);
                self.note_moment(done as f64 / all.max(1) as f64);
                if self.totals.flushes.is_multiple_of(64) {
                    progress(done as f64 / all.max(1) as f64);
                }
            }
        }
        while self.end_next_job()? {}
        self.note_moment(1.0);
        self.totals.seconds = self.now;
        let live_share = self.setting.popularity.density(self.put);
        let runs = self.runs();
        Ok(Outcome { totals: self.totals, history: self.history, runs, live_share, peak_space: self.peak_space })
    }

    /// The memtable of the next `puts`, and what they add to what was put.
    fn memtable(&mut self, order: Order, at: u64, puts: u64) -> Contents {
        let keys = self.setting.keys.max(1);
        let share = puts as f64 / keys as f64;
        let (begin, end, coverage, added) = match order {
            Order::Sequential => {
                let begin = at.min(keys - 1);
                let end = (at + puts).clamp(begin + 1, keys);
                let full = Coverage { loaded: 1.0, written: 0.0 };
                (begin, end, full, Coverage { loaded: share, written: 0.0 })
            }
            Order::Once => {
                let part = Coverage { loaded: share.min(1.0), written: 0.0 };
                (0, keys, part, part)
            }
            Order::Random => {
                let part = Coverage { loaded: 0.0, written: share };
                (0, keys, part, part)
            }
        };
        self.put = self.put.with(added);
        let entries = self.setting.popularity.density(coverage) * (end - begin) as f64;
        self.totals.put_bytes += (puts * self.setting.entry_bytes) as f64;
        Contents { begin, end, coverage, entries }
    }

    /// Lets the clock run until the writer has put so many entries.
    fn write(&mut self, puts: u64) -> Result<()> {
        let Some(rate) = self.setting.rates.put_bytes_per_sec else {
            while self.end_next_job()? {}
            return Ok(());
        };
        let mut left = (puts * self.setting.entry_bytes) as f64;
        loop {
            let now_rate = self.rate(rate);
            let writes_until = if now_rate > 0.0 { self.now + left / now_rate } else { f64::INFINITY };
            let from = self.now;
            match self.next_end().filter(|&end| end < writes_until) {
                None if now_rate > 0.0 => {
                    self.now = writes_until;
                    self.note_stall(now_rate < rate, from);
                    return Ok(());
                }
                // Stopped, and nothing runs that would change it: the picker has nothing to do.
                None => return Ok(()),
                Some(end) => {
                    left -= now_rate * (end - from);
                    self.end_next_job()?;
                    self.note_stall(now_rate < rate, from);
                }
            }
        }
    }

    fn note_stall(&mut self, is_stalled: bool, from: f64) {
        if is_stalled {
            self.totals.stalled_seconds += self.now - from;
        }
    }

    /// The rate at which the writer may put now.
    fn rate(&mut self, wanted: f64) -> f64 {
        let family = self.setting.family;
        let flushing = self.flushes.iter().map(|flush| flush.1.size_bytes).sum::<u64>();
        let puts_waiting = self.waiting.iter().map(|memtable| memtable.1).sum::<u64>();
        let unflushed_bytes = flushing + puts_waiting * self.setting.entry_bytes;
        let input = stall::StallInput {
            num_unflushed_memtables: self.waiting.len() + self.flushes.len(),
            num_level_0_files: picker::num_counted_runs(family, &self.tree.version),
            compaction_needed_bytes: self.tree.version.estimated_compaction_needed_bytes(family),
            looming_bytes: self.tree.version.looming_compaction_needed_bytes(family, unflushed_bytes),
        };
        let most = self.setting.db.delayed_write_rate.max(1) as f64;
        let is_debt_growing = input.compaction_needed_bytes >= self.last_needed;
        self.last_needed = input.compaction_needed_bytes;
        let way_to_stop = stall::way_to_stop(family, &input);
        let trend =
            stall::DelayTrend { is_near_stop: stall::is_near_stop(family, &input), is_debt_growing, way_to_stop };
        let condition = stall::stall_condition(family, &input);
        match condition {
            stall::StallCondition::Normal => self.delayed_rate = most,
            stall::StallCondition::Delayed(_) => {
                self.delayed_rate = stall::next_delayed_rate(self.delayed_rate as u64, most as u64, trend) as f64;
            }
            stall::StallCondition::Stopped(_) => return 0.0,
        }
        let is_bounded = way_to_stop > 0.0 || condition != stall::StallCondition::Normal;
        if is_bounded {
            wanted.min(stall::rate_on_the_way(self.delayed_rate as u64, way_to_stop) as f64)
        } else {
            wanted
        }
    }

    fn next_end(&self) -> Option<f64> {
        let flushes = self.flushes.iter().map(|flush| flush.0);
        flushes.chain(self.jobs.iter().map(|job| job.ends_at)).min_by(f64::total_cmp)
    }

    /// Gives free places to jobs.
    fn begin_jobs(&mut self) -> Result<()> {
        while self.flushes.len() < self.most_flushes
            && let Some((contents, puts)) = self.waiting.pop_front()
        {
            let file = self.new_file(contents);
            let ends_at = self.now + file.size_bytes as f64 / self.setting.rates.job_bytes_per_sec;
            self.flushes.push((ends_at, file, puts));
        }
        while self.jobs.len() < self.most_compactions {
            let input = PickerInput {
                version: &self.tree.version,
                options: self.setting.family,
                running: &self.running,
                bottommost_threshold: SequenceNumber(0),
                earliest_snapshot: MAX_SEQUENCE_NUMBER,
                readable: None,
                now_secs: self.now_secs(),
                early_secs: 0,
            };
            let Some(choice) = picker::pick(&input) else { break };
            let job = self.begin(choice);
            self.jobs.push(job);
        }
        Ok(())
    }

    fn begin(&mut self, choice: CompactionChoice) -> Running {
        let id = self.running.start(&choice);
        let mut outputs = Vec::new();
        let mut bytes = 0;
        if choice.kind == CompactionKind::Merge {
            let inputs: Vec<Contents> = choice.input_files().map(|(_, file)| self.tree.contents(file.number)).collect();
            let chance = &mut self.chance;
            let (popularity, sizes) = (self.setting.popularity, self.setting.sizes);
            let merged = merge(&inputs, popularity, sizes, Cutter::of(&choice), &mut || chance.normal());
            outputs = merged.into_iter().map(|contents| self.new_file(contents)).collect();
            bytes = outputs.iter().map(|output| output.size_bytes).sum();
        }
        let ends_at = self.now + bytes as f64 / self.setting.rates.job_bytes_per_sec;
        Running { id, choice, outputs, ends_at }
    }

    fn new_file(&self, contents: Contents) -> NewContents {
        let density = contents.entries / (contents.end - contents.begin).max(1) as f64;
        let sizes = self.setting.sizes;
        let bytes = sizes.fixed_bytes() + contents.entries * sizes.entry_bytes(density);
        NewContents { contents, size_bytes: bytes.max(1.0) as u64 }
    }

    /// Ends the job that ends first, and begins others. False if there is none.
    fn end_next_job(&mut self) -> Result<bool> {
        let Some(end) = self.next_end() else { return Ok(false) };
        self.now = self.now.max(end);
        if let Some(at) = self.flushes.iter().position(|flush| flush.0 <= end) {
            let (_, file, puts) = self.flushes.remove(at);
            self.totals.flushed_bytes += file.size_bytes as f64;
            self.totals.flushes += 1;
            self.tree.add_flushed(file, puts, self.now_secs(), self.setting.family)?;
        } else if let Some(at) = self.jobs.iter().position(|job| job.ends_at <= end) {
            let job = self.jobs.swap_remove(at);
            self.count(&job);
            self.running.finish(job.id);
            self.tree.finish(&job.choice, &job.outputs, self.now_secs(), self.setting.family)?;
        }
        self.begin_jobs()?;
        Ok(true)
    }

    fn count(&mut self, job: &Running) {
        let choice = &job.choice;
        let all = choice.input_size_bytes() as f64;
        let Some(flow) = self.totals.levels.get_mut(choice.output_level) else { return };
        match choice.kind {
            CompactionKind::Drop => self.totals.dropped_bytes += all,
            // The simulated families are of other styles.
            CompactionKind::Copy => {}
            CompactionKind::Move => flow.moved_files += choice.input_files().count() as u64,
            CompactionKind::Merge => {
                let own = choice.inputs.iter().filter(|inputs| inputs.level == choice.output_level);
                let own: u64 = own.map(ferrock_tree::compaction::choice::LevelInputs::size_bytes).sum();
                let written: u64 = job.outputs.iter().map(|output| output.size_bytes).sum();
                flow.from_above_bytes += all - own as f64;
                flow.overlapped_bytes += own as f64;
                flow.written_bytes += written as f64;
                flow.merges += 1;
                self.totals.read_bytes += all;
                self.totals.compacted_bytes += written as f64;
            }
        }
    }

    fn now_secs(&self) -> u64 {
        EPOCH_SECS + self.now as u64
    }

    fn note_moment(&mut self, share: f64) {
        let table_bytes = self.tree.size_bytes() as f64;
        let written_bytes = self.totals.flushed_bytes + self.totals.compacted_bytes;
        self.history.push(Moment { put_bytes: self.totals.put_bytes, written_bytes, table_bytes });
        let density = self.setting.popularity.density(self.put);
        let compacted = self.setting.sizes.compacted_bytes(density * self.setting.keys as f64, density);
        if share > 1.0 / 3.0 && compacted > 0.0 {
            self.peak_space = self.peak_space.max(table_bytes / compacted);
        }
    }

    fn runs(&self) -> Vec<Run> {
        let version: &Arc<_> = &self.tree.version;
        let mut runs = Vec::new();
        for level in 0..version.num_levels() {
            let files = version.level(level);
            let of = |files: &[Arc<ferrock_tree::version::FileMetadata>]| {
                let entries: f64 = files.iter().map(|file| self.tree.contents(file.number).entries).sum();
                Run {
                    level,
                    files: files.len() as f64,
                    bytes: files.iter().map(|file| file.size_bytes as f64).sum(),
                    entries,
                    density: entries / self.setting.keys.max(1) as f64,
                }
            };
            match level {
                0 => runs.extend(files.chunks(1).map(of)),
                _ if !files.is_empty() => runs.push(of(files)),
                _ => {}
            }
        }
        runs
    }
}

/// True for families whose deeper levels are multiples of each other.
pub(crate) fn is_leveled(family: &ColumnFamilyOptions) -> bool {
    family.compaction_style == CompactionStyle::Level
}
