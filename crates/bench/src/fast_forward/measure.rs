//! One run of a case: carries out the plan, checks every row, and takes the counters.

use super::dataset::DataSet;
use super::engine::{Counters, Cursor, Database};
use super::plan::{Plan, Step};
use ferrock_base::allocation::allocations_of_this_thread;
use ferrock_console::failure::{Failure, Result};
use ferrock_console::text::hexadecimal;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// The cost of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Run {
    pub(crate) seconds: f64,
    /// Rows read.
    pub(crate) frags: u64,
    pub(crate) counters: Counters,
    pub(crate) allocations: Option<u64>,
    /// Time of this thread on a processor.
    pub(crate) cpu_seconds: f64,
}

impl Run {
    pub(crate) fn frags_per_second(&self) -> f64 {
        self.frags as f64 / self.seconds.max(1e-9)
    }
}

fn seconds(time: Timespec) -> f64 {
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Time since an arbitrary start, in seconds.
pub(crate) fn now() -> f64 {
    seconds(clock_gettime(ClockId::Monotonic))
}

fn thread_time() -> f64 {
    seconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// Compares rows with those expected.
struct Check<'a> {
    data: &'a DataSet,
    frags: u64,
    scratch: Vec<u8>,
}

impl Check<'_> {
    fn row(&mut self, expected: Option<i64>, key: &[u8], value: &[u8]) -> Result<()> {
        self.frags += 1;
        let wrong = |what: String| Err(Failure::Data(what));
        let Some(row) = expected else {
            return wrong(format!("a row too many: {}", hexadecimal(key)));
        };
        let wanted = self.data.key(row);
        if *key != wanted[..] {
            return wrong(format!("row {row}: the key is {} instead of {}", hexadecimal(key), hexadecimal(&wanted)));
        }
        if value != self.data.value(row, &mut self.scratch) {
            return wrong(format!("row {row}: the value is wrong"));
        }
        Ok(())
    }
}

/// Runs a plan once.
///
/// # Errors
/// [`Failure::Data`] when unexpected rows come.
pub(crate) fn run(database: &dyn Database, plan: &Plan, data: &DataSet) -> Result<Run> {
    let mut check = Check { data, frags: 0, scratch: Vec::new() };
    let expected = plan.expected(data);
    let counters = database.counters()?;
    let allocations = allocations_of_this_thread();
    let (started, cpu) = (now(), thread_time());
    carry_out(database, plan, &mut check)?;
    let (seconds, cpu_seconds) = (now() - started, thread_time() - cpu);
    // The question itself allocates once.
    let allocated = allocations.zip(allocations_of_this_thread()).map(|(before, after)| after - before - 1);
    let counters = database.counters()?.since(counters);
    if check.frags != expected {
        return Err(Failure::Data(format!("{} rows came instead of {expected}", check.frags)));
    }
    Ok(Run { seconds, frags: check.frags, counters, allocations: allocated, cpu_seconds })
}

fn carry_out(database: &dyn Database, plan: &Plan, check: &mut Check<'_>) -> Result<()> {
    let data = check.data;
    if let Some(mut ranges) = plan.ranges(data) {
        let mut rows = plan.rows_of_ranges(data);
        return database.ranges(&mut *ranges, &mut |key, value| check.row(rows.next(), key, value));
    }
    let mut cursor: Option<Box<dyn Cursor + '_>> = None;
    let none = || Failure::NotDone("a plan reads before it opens a cursor".to_owned());
    for step in plan.steps(data) {
        match step {
            Step::Open(bounds, limit) => cursor = Some(database.cursor(&bounds, limit)?),
            Step::Read { limit, mut rows } => {
                let cursor = cursor.as_mut().ok_or_else(none)?;
                cursor.to_first()?;
                cursor.read(limit, &mut |key, value| check.row(rows.next(), key, value))?;
            }
            Step::ReadBack { rows } => {
                let (cursor, mut rows) = (cursor.as_mut().ok_or_else(none)?, rows.rev());
                cursor.to_last()?;
                cursor.read_back(u64::MAX, &mut |key, value| check.row(rows.next(), key, value))?;
            }
            Step::Forward { bounds, mut rows } => {
                let cursor = cursor.as_mut().ok_or_else(none)?;
                cursor.fast_forward(&bounds)?;
                cursor.read(u64::MAX, &mut |key, value| check.row(rows.next(), key, value))?;
            }
            Step::Get { key, row } => database.get(&key, &mut |key, value| check.row(row, key, value))?,
        }
    }
    Ok(())
}

/// The runs of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Statistics {
    /// The run with the median rate.
    pub(crate) median: Run,
    pub(crate) iterations: usize,
    /// Median absolute deviation, greatest and least of the rates.
    pub(crate) mad: f64,
    pub(crate) max: f64,
    pub(crate) min: f64,
    /// Mean of the requests.
    pub(crate) average_aio: f64,
}

impl Statistics {
    pub(crate) fn of(runs: &[Run]) -> Self {
        let mut sorted = runs.to_vec();
        sorted.sort_by(|a, b| a.frags_per_second().total_cmp(&b.frags_per_second()));
        let Some(median) = sorted.get(sorted.len() / 2).copied() else { return Self::default() };
        let rate = median.frags_per_second();
        let mut deviations: Vec<f64> = sorted.iter().map(|run| (run.frags_per_second() - rate).abs()).collect();
        deviations.sort_by(f64::total_cmp);
        let requests: u64 = runs.iter().map(|run| run.counters.total.requests).sum();
        Self {
            median,
            iterations: runs.len(),
            mad: deviations[deviations.len() / 2],
            max: sorted.last().map_or(0.0, Run::frags_per_second),
            min: sorted.first().map_or(0.0, Run::frags_per_second),
            average_aio: requests as f64 / runs.len() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::ClassCounters;
    use super::*;

    fn run_of(frags: u64, requests: u64) -> Run {
        let total = ClassCounters { requests, bytes: 0 };
        Run { seconds: 1.0, frags, counters: Counters { total, ..Counters::default() }, ..Run::default() }
    }

    #[test]
    fn the_median_run_is_shown() {
        let statistics = Statistics::of(&[run_of(10, 4), run_of(1, 1), run_of(12, 1)]);
        assert_eq!((statistics.median.frags, statistics.median.counters.total.requests), (10, 4));
        assert_eq!((statistics.mad, statistics.max, statistics.min), (2.0, 12.0, 1.0));
        assert_eq!((statistics.iterations, statistics.average_aio), (3, 2.0));
        assert_eq!(Statistics::of(&[]), Statistics::default());
    }
}
