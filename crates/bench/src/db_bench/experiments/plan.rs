//! The plan of an experiment: points, at each of them arms side by side, and cells that every arm runs.
//!
//! ```text
//! experiment -> points        a size of the cache, a size of the values, ...
//! point      -> arms          databases that differ in the studied option; the first one is the reference
//!            -> cells         a benchmark with so many threads
//! ```
//!
//! An arm is a db_bench command line: defaults of the experiment, overridden by the user's flags, overridden by the
//! flags of the arm. So every arm can be run by hand, and any flag of the engine can be tried on all arms.

use super::measure::{Figure, Sample};
use crate::flags::Setting;
use ferrock_bench::plot::Plot;
use std::collections::BTreeMap;

/// An experiment.
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// Description of the experiment and of the published results, for the page.
    pub(crate) about: &'static str,
    /// Flags of every arm, unless the command line says otherwise.
    pub(crate) defaults: fn(Scale) -> Vec<Setting>,
    pub(crate) points: fn(Scale) -> Vec<Point>,
    /// The columns of the table.
    pub(crate) figures: &'static [Figure],
    /// Columns that belong to an arm's tables, not to a measurement: a name among [`Row::facts`], and a title.
    pub(crate) facts: &'static [(&'static str, &'static str)],
    /// Length of a cell at full scale.
    pub(crate) seconds: f64,
    pub(crate) rounds: u32,
    /// True if its cells write: then a database cannot be reused by another run, and every round begins with a
    /// compaction.
    pub(crate) changes_data: bool,
    /// Benchmarks that every arm runs at the end, and that are not measured.
    pub(crate) finally: &'static [&'static str],
    /// The conclusions from the rows, in sentences.
    pub(crate) conclude: fn(&Outcome) -> Vec<String>,
    pub(crate) plots: fn(&Outcome) -> Vec<Plot>,
}

/// How large an experiment is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale(pub(crate) f64);

impl Scale {
    /// That share of `full`, but at least `least`.
    pub(crate) fn of(self, full: u64, least: u64) -> u64 {
        ((full as f64 * self.0) as u64).max(least)
    }
}

/// A flag with its value.
pub(crate) fn set(name: &'static str, value: impl ToString) -> Setting {
    (name, value.to_string())
}

/// Arms that are measured side by side.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) name: String,
    /// The position of the point on an axis.
    pub(crate) x: f64,
    pub(crate) arms: Vec<Arm>,
    pub(crate) cells: Vec<Cell>,
    /// The warm-up of every arm, which is not measured.
    pub(crate) warm_up: Vec<WarmUp>,
}

/// One of the databases.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub(crate) name: String,
    /// The database it reads; arms of several points may read the same one.
    pub(crate) data: String,
    pub(crate) flags: Vec<Setting>,
    /// After the first warm-up everything is rewritten, then warmed up again: for choices that the engine learns from
    /// reads and applies when it writes.
    pub(crate) is_rewritten: bool,
    /// Its cache, in percent of the uncompressed data blocks of the point's first arm.
    pub(crate) cache_percent: Option<f64>,
}

/// A benchmark before the measurements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarmUp {
    pub(crate) benchmark: &'static str,
    /// As a share of a cell's time; benchmarks that read everything once ignore it.
    pub(crate) share: f64,
}

/// A measurement that every arm runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) benchmark: &'static str,
    pub(crate) threads: usize,
}

impl Cell {
    pub(crate) fn name(self) -> String {
        match self.threads {
            1 => format!("{}, 1 thread", self.benchmark),
            threads => format!("{}, {threads} threads", self.benchmark),
        }
    }
}

/// All that an experiment measured.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    /// Point, arm, and the flags in effect.
    pub(crate) commands: Vec<(String, String, String)>,
}

/// An arm in a cell of a point.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) point: String,
    pub(crate) x: f64,
    pub(crate) cell: Cell,
    pub(crate) arm: String,
    /// Round by round.
    pub(crate) samples: Vec<Sample>,
    /// Round by round, operations a second over those of the point's first arm.
    pub(crate) ratios: Vec<f64>,
    /// Figures of the arm's tables.
    pub(crate) facts: BTreeMap<&'static str, f64>,
}

impl Row {
    /// The median of the rounds.
    pub(crate) fn median(&self, figure: Figure) -> Option<f64> {
        let values: Vec<f64> = self.samples.iter().filter_map(|sample| sample.get(figure)).collect();
        (!values.is_empty()).then(|| ferrock_bench::median::median(&values))
    }

    /// Operations a second, the median.
    pub(crate) fn rate(&self) -> f64 {
        self.median(Figure::OpsPerSecond).unwrap_or(0.0)
    }

    /// A figure over that of another arm in the same cell: the median of the rounds' ratios.
    pub(crate) fn paired(&self, other: &Self, figure: Figure) -> Option<f64> {
        let pairs = self.samples.iter().zip(&other.samples);
        let ratios: Vec<f64> = pairs
            .filter_map(|(own, other)| Some(own.get(figure)? / other.get(figure).filter(|value| *value > 0.0)?))
            .collect();
        (!ratios.is_empty()).then(|| ferrock_bench::median::median(&ratios))
    }

    /// Median, least and greatest ratio to the reference.
    pub(crate) fn ratio(&self) -> [f64; 3] {
        let least = self.ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = self.ratios.iter().copied().fold(0.0, f64::max);
        [ferrock_bench::median::median(&self.ratios), least, greatest]
    }
}

impl Outcome {
    /// The row of that point, cell and arm.
    pub(crate) fn row(&self, point: &str, cell: Cell, arm: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.point == point && row.cell == cell && row.arm == arm)
    }

    /// Number of values that were read and checked.
    pub(crate) fn values_checked(&self) -> u64 {
        self.rows.iter().flat_map(|row| &row.samples).map(|sample| sample.values_checked).sum()
    }

    /// The different values of something of the rows, in their order.
    pub(crate) fn distinct<T: PartialEq>(&self, of: impl Fn(&Row) -> T) -> Vec<T> {
        let mut all = Vec::new();
        for value in self.rows.iter().map(of) {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        all
    }
}
