//! A merge into the last level whose young entries stay on the level above: `preclude_last_level_data_seconds`.
//!
//! ```text
//! merged inputs      a@90  a@10  b@12  c@80  [d, f)@85  [d, k)@9  g@7          proximal_after = 50
//!
//! proximal level     a@90              c@80  [d, f)@85                          numbers above it
//! last level               a@0   b@0                    [d, k)@9  g@0           all others
//! ```
//!
//! One number divides entries and range tombstones, so of each key the newer versions are above the older ones, and
//! what a range tombstone can delete is on its own level or below it. What the job drops, it drops before: it is one
//! sorted run that is written to two levels. Each level has tables, blob files and boundaries of its own.
//!
//! The outputs of the proximal level lie in the range that the choice has reserved: what is newer than everything that
//! the last level gave the job comes from the other inputs, or all keys of the job are in the range.

use super::outputs::TableOutput;
use super::plan::OutputPlan;
use super::{JobEnv, JobOutput};
use crate::compaction::choice::ProximalOutput;
use crate::compaction::iterator::{CompactionIterator, DeeperLevels, OutputSplitter};
use ferrock_base::internal_key::sequence;
use ferrock_base::range_tombstone::RangeTombstone;
use ferrock_base::{InternalIterator, Result};
use ferrock_table::options::TableFactory;

/// What a part of a job has written.
pub(super) struct Written {
    pub(super) result: Result<()>,
    /// The error is one that another kind of table would not have had.
    pub(super) is_out_of_limits: bool,
    pub(super) output: JobOutput,
}

impl Written {
    /// What `write` wrote, on one level.
    pub(super) fn of<'a>(
        output: Result<TableOutput<'a>>,
        write: impl FnOnce(&mut TableOutput<'a>) -> Result<()>,
    ) -> Self {
        match output {
            Ok(mut output) => Self::ended(write(&mut output), output),
            Err(error) => Self { result: Err(error), is_out_of_limits: false, output: JobOutput::default() },
        }
    }

    fn ended(result: Result<()>, output: TableOutput<'_>) -> Self {
        let (is_out_of_limits, output) = (output.is_out_of_limits(), output.into_output(&result));
        Self { result, is_out_of_limits, output }
    }
}

/// The outputs of a part on both levels.
pub(super) struct Streams<'a> {
    pub(super) env: &'a dyn JobEnv,
    /// Of the last level.
    pub(super) plan: &'a OutputPlan<'a>,
    pub(super) factory: &'a TableFactory,
    pub(super) proximal: &'a ProximalOutput,
}

impl Streams<'_> {
    /// Writes everything that `input` has, and the range tombstones that survive.
    pub(super) fn write<I: InternalIterator, D: DeeperLevels>(
        &self,
        input: &mut CompactionIterator<I, D>,
        surviving: Vec<RangeTombstone>,
        last_splitter: OutputSplitter,
        proximal_splitter: OutputSplitter,
    ) -> Written {
        let after = self.plan.times.proximal_after;
        let (young, old) = surviving.into_iter().partition(|tombstone| tombstone.sequence > after);
        let plan = OutputPlan { level: self.proximal.level, is_bottommost: false, ..self.plan.clone() };
        let outputs = TableOutput::new(self.env, self.plan, self.factory, old)
            .and_then(|last| Ok((last, TableOutput::new(self.env, &plan, self.factory, young)?)));
        let (mut last, mut proximal) = match outputs {
            Ok(outputs) => outputs,
            Err(error) => return Written { result: Err(error), is_out_of_limits: false, output: JobOutput::default() },
        };
        let mut streams = [(&mut last, last_splitter), (&mut proximal, proximal_splitter)];
        let result = write_each(input, &mut streams, |key| usize::from(sequence(key) > after));
        let mut written = Written::ended(result, last);
        let above = Written::ended(Ok(()), proximal);
        written.is_out_of_limits |= above.is_out_of_limits;
        written.output.append(above.output);
        written
    }
}

/// Writes each entry to the stream that `place` names.
fn write_each<I: InternalIterator, D: DeeperLevels>(
    input: &mut CompactionIterator<I, D>,
    streams: &mut [(&mut TableOutput<'_>, OutputSplitter); 2],
    place: impl Fn(&[u8]) -> usize,
) -> Result<()> {
    let mut counter = 0u32;
    while input.valid() {
        counter = counter.wrapping_add(1);
        if counter.is_multiple_of(1024) {
            streams.iter_mut().try_for_each(|(output, _)| output.check())?;
        }
        if let Some((output, splitter)) = streams.get_mut(place(input.key())) {
            output.write(splitter, input.key(), input.value())?;
        }
        input.next();
    }
    input.status()?;
    streams.iter_mut().try_for_each(|(output, _)| output.finish())
}
