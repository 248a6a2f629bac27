//! A petabyte has 16 million files of 64 MB: too many to simulate one by one. What is simulated is a tree that is
//! smaller and alike, and the rest follows from it.
//!
//! ```text
//! levels      L0  L1      L2        L3        L4         L5         L6       1 PB
//! simulated   L0  L1      L2                                        L3       1 PB / 10^3, three levels fewer
//!                 same    template  = L2 x10  = L2 x100             = L3 x10^3
//! ```
//!
//! * Leveled: whole levels are left out. The data is divided by the multiplier for each, and `num_levels` is less by
//!   one, so the upper levels have the sizes that they will have, the base level lies where it will, and the last level
//!   is a multiple of the one above as it will be. A level in the middle costs what the last one in the middle costs
//!   (the *template*): files and levels of the same sizes beside each other overlap alike.
//! * Where the base level itself has thousands of files (very large data in seven levels), files are *coarser*: larger
//!   by a factor, with `max_compaction_bytes`. What a compaction drags along are ratios of files to levels, which
//!   stay while a level has many files.
//! * Universal: what is merged depends on the sizes of runs alone, so files may be as coarse as one likes. More flushes
//!   than are simulated go on as before: each time the data doubles the amplification grows, by a step that grows as it
//!   did.
//! * FIFO: a queue ten times longer is the same queue.

use crate::simulation::{Outcome, Phase, Run, is_leveled};
use ferrock_options::{ColumnFamilyOptions, CompactionStyle};

/// How a simulation is smaller than what it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Levels left out.
    pub levels_left_out: usize,
    /// Keys and puts are so many times fewer.
    pub divisor: u64,
    /// Files are so many times larger.
    pub coarseness: u64,
}

impl Scale {
    /// Nothing is left out.
    pub const FULL: Self = Self { levels_left_out: 0, divisor: 1, coarseness: 1 };

    /// True when every file is simulated.
    #[must_use]
    pub fn is_full(self) -> bool {
        self == Self::FULL
    }

    /// For tables of `table_bytes` when compacted, from memtables of `flushed_bytes`, of which `flushes` are written.
    #[must_use]
    pub fn of(family: &ColumnFamilyOptions, table_bytes: f64, flushes: f64, most_files: u64) -> Self {
        let most = most_files.max(100) as f64;
        match family.compaction_style {
            CompactionStyle::Level => Self::of_levels(family, table_bytes, most),
            CompactionStyle::Universal => {
                // A run is a file of level 0 or a level, so flushes are what takes time, 25 times less than a file.
                let mut divisor = 1_u64;
                while flushes / divisor as f64 > most * 25.0 {
                    divisor *= 2;
                }
                let files = table_bytes / divisor as f64 / family.target_file_size_base.max(1) as f64;
                let coarseness = if files > 200.0 { (files / 200.0).ceil() as u64 } else { 1 };
                Self { levels_left_out: 0, divisor, coarseness }
            }
            _ => {
                let divisor = (flushes / most).max(1.0) as u64;
                Self { levels_left_out: 0, divisor, coarseness: 1 }
            }
        }
    }

    fn of_levels(family: &ColumnFamilyOptions, table_bytes: f64, most: f64) -> Self {
        /// Level 0, the base level, the template and the last.
        const LEAST_LEVELS: i32 = 4;
        /// A base level of fewer files would be another kind of tree.
        const FILES_OF_BASE: f64 = 16.0;
        let multiplier = family.max_bytes_for_level_multiplier.max(2.0).round() as u64;
        let file = family.target_file_size_base.max(1) as f64;
        let mut scale = Self::FULL;
        let files = |scale: &Self| table_bytes / scale.divisor as f64 / file;
        // The template must have levels above it: the one below the base level costs less.
        let least = family.max_bytes_for_level_base as f64 * (multiplier * multiplier) as f64;
        let stays = |scale: &Self| table_bytes / scale.divisor as f64 / multiplier as f64 > least;
        let has_more = |scale: &Self| family.num_levels - scale.levels_left_out as i32 > LEAST_LEVELS;
        while files(&scale) > most && has_more(&scale) && stays(&scale) {
            scale.levels_left_out += 1;
            scale.divisor = scale.divisor.saturating_mul(multiplier);
        }
        if files(&scale) > most {
            let steps = (family.num_levels - 2).max(0);
            let base = table_bytes / (multiplier as f64).powi(steps);
            let base = base.min(family.max_bytes_for_level_base as f64);
            let allowed = (base / file / FILES_OF_BASE).max(1.0);
            // Where that is too few, up to four times as many files: then time counts.
            let coarseness = (files(&scale) / most).min(allowed).max(files(&scale) / most / 4.0);
            scale.coarseness = coarseness.ceil().max(1.0) as u64;
        }
        scale
    }

    /// The options of the simulation.
    #[must_use]
    pub fn options(self, family: &ColumnFamilyOptions) -> ColumnFamilyOptions {
        let mut options = family.clone();
        let s = &mut options.settings;
        s.num_levels -= self.levels_left_out as i32;
        s.target_file_size_base = s.target_file_size_base.saturating_mul(self.coarseness);
        s.max_compaction_bytes = s.max_compaction_bytes.saturating_mul(self.coarseness);
        let fifo = &mut s.compaction_options_fifo;
        fifo.max_table_files_size = (fifo.max_table_files_size / self.divisor).max(1);
        fifo.max_data_files_size /= self.divisor;
        // Time passes as much faster.
        for age in [&mut s.ttl, &mut s.periodic_compaction_seconds] {
            if *age > 0 {
                *age = (*age / self.divisor).max(1);
            }
        }
        options
    }

    /// The puts of the simulation.
    #[must_use]
    pub fn phases(self, phases: &[Phase]) -> Vec<Phase> {
        phases.iter().map(|phase| Phase { puts: (phase.puts / self.divisor).max(1), ..*phase }).collect()
    }
}

/// What follows for the whole from a simulation.
#[derive(Clone, Debug, Default)]
pub struct Whole {
    /// Bytes written to tables for each byte put.
    pub write_amplification: f64,
    /// The part of it that flushes wrote.
    pub of_flushes: f64,
    /// The part that merges into each level wrote.
    pub of_levels: Vec<f64>,
    /// Sorted runs, newest first.
    pub runs: Vec<Run>,
}

/// Undoes the scale.
#[must_use]
pub fn whole(outcome: &Outcome, family: &ColumnFamilyOptions, scale: Scale) -> Whole {
    let put = outcome.totals.put_bytes.max(1.0);
    let of_flushes = outcome.totals.flushed_bytes / put;
    let mut of_levels: Vec<f64> = outcome.totals.levels.iter().map(|flow| flow.written_bytes / put).collect();
    let grown = |run: &Run, factor: f64, level: usize| Run {
        level,
        files: (run.files * factor * scale.coarseness as f64).max(1.0),
        bytes: run.bytes * factor,
        entries: run.entries * factor,
        density: run.density,
    };
    let divisor = scale.divisor as f64;
    if is_leveled(family) {
        let left_out = scale.levels_left_out;
        let last = outcome.runs.iter().map(|run| run.level).max().unwrap_or(0);
        let template = last.saturating_sub(1);
        let multiplier = family.max_bytes_for_level_multiplier.max(2.0).round();
        let mut runs = Vec::new();
        for run in &outcome.runs {
            match run.level {
                0 => runs.push(Run { files: 1.0, density: run.density / divisor, ..*run }),
                level if level == last => runs.push(grown(run, divisor, level + left_out)),
                level if level == template => {
                    for step in 0..=left_out {
                        let factor = multiplier.powi(step as i32);
                        let density = run.density * factor / divisor;
                        runs.push(Run { density, ..grown(run, factor, level + step) });
                    }
                }
                level => runs.push(Run { density: run.density / divisor, ..grown(run, 1.0, level) }),
            }
        }
        // What the levels that were left out do not hold is in the last one.
        let all: f64 = outcome.runs.iter().map(|run| run.entries).sum::<f64>() * divisor;
        if let Some((deepest, others)) = runs.split_last_mut().filter(|_| left_out > 0) {
            let above: f64 = others.iter().map(|run| run.entries).sum();
            let factor = ((all - above) / deepest.entries.max(1.0)).max(1.0);
            let density = (deepest.density * factor).min(1.0);
            *deepest = Run { density, ..grown_by(deepest, factor) };
        }
        let of_template = of_levels.get(template).copied().unwrap_or(0.0);
        for _ in 0..left_out {
            of_levels.insert(template.min(of_levels.len()), of_template);
        }
        let write_amplification = of_flushes + of_levels.iter().sum::<f64>();
        return Whole { write_amplification, of_flushes, of_levels, runs };
    }
    let is_queue = family.compaction_style == CompactionStyle::Fifo;
    let runs = outcome.runs.iter().map(|run| match (run.level, is_queue) {
        (0, true) => Run { files: divisor, density: run.density / divisor, ..grown(run, divisor, 0) },
        (0, false) => Run { files: 1.0, ..grown(run, divisor, 0) },
        (level, _) => grown(run, divisor, level),
    });
    let runs = runs.collect();
    let growth = if is_queue { 0.0 } else { growth(outcome, divisor.log2()) };
    if let Some(deepest) = of_levels.last_mut() {
        *deepest += growth;
    }
    let write_amplification = of_flushes + of_levels.iter().sum::<f64>();
    Whole { write_amplification, of_flushes, of_levels, runs }
}

fn grown_by(run: &Run, factor: f64) -> Run {
    Run { files: run.files * factor, bytes: run.bytes * factor, entries: run.entries * factor, ..*run }
}

/// How much the write amplification of all puts grows while the data doubles `doublings` times. It grew by a step over
/// the last four doublings and by another over the four before; what follows grows by the same factor, which is 1 where
/// the number of runs is free, and more where few runs must hold ever more data.
fn growth(outcome: &Outcome, doublings: f64) -> f64 {
    let at = |share: f64| {
        let put = outcome.totals.put_bytes * share;
        let moment = outcome.history.iter().find(|moment| moment.put_bytes >= put);
        moment.map_or(0.0, |moment| moment.written_bytes / moment.put_bytes.max(1.0))
    };
    let (before, middle, end) = (at(1.0 / 256.0), at(1.0 / 16.0), at(1.0));
    let (earlier, later) = ((middle - before).max(0.0), (end - middle).max(0.0));
    let factor = if earlier > 0.0 { (later / earlier).clamp(1.0, 16.0).powf(0.25) } else { 1.0 };
    let whole = doublings.round() as i32;
    // The last of the four steps that make up `later`.
    let last = later / (0..4).map(|step| factor.powi(-step)).sum::<f64>();
    (1..=whole).map(|step| last * factor.powi(step)).sum()
}
