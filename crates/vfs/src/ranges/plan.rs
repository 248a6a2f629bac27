//! From ranges to requests: alignment, coalescing, splitting.
//!
//! ```text
//! asked      |--A--|  |-B-|              |----C----|
//! units   .....|.....|.....|.....|.....|.....|.....|.....|
//! runs    [=================]           [=============]      A and B share a unit, or their gap is small enough
//! requests[=======][========]           [=============]      no longer than max_request_bytes
//! ```
//!
//! A run is read into one piece of memory, so that every range in it is contiguous there, wherever it is split. No unit is
//! in two runs, and none in two requests.

use std::ops::Range;

/// Longer runs are begun anew where no unit is shared: a slice that is kept holds the memory of its whole run.
const MAX_RUN_BYTES: u64 = 4 << 20;
/// Longest request a system call takes.
const MAX_SYSTEM_BYTES: usize = 1 << 30;

/// A range that is wanted of a file, cut at its end; not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Who wants it.
    pub(crate) index: usize,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// What is read of the file in one piece of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Aligned.
    pub(crate) start: u64,
    /// Aligned, so that it may lie past the end of the file.
    pub(crate) end: u64,
    /// The wanted ranges in it, by position.
    pub(crate) members: Range<usize>,
    /// Bytes that are wanted, those of overlapping ranges counted once for each.
    pub(crate) asked_bytes: u64,
}

impl Run {
    /// The run that holds one range.
    pub(crate) fn of(wanted: Wanted, unit: u64) -> Self {
        Self::at(&wanted, 0, unit)
    }

    fn at(wanted: &Wanted, position: usize, unit: u64) -> Self {
        Self {
            start: align_down(wanted.start, unit),
            end: align_up(wanted.end, unit),
            members: position..position + 1,
            asked_bytes: wanted.end - wanted.start,
        }
    }

    pub(crate) fn length(&self) -> usize {
        usize::try_from(self.end - self.start).unwrap_or(usize::MAX)
    }

    /// Lengths of its requests, in order.
    pub(crate) fn request_lengths(&self, unit: u64, max_request_bytes: usize) -> impl Iterator<Item = usize> + use<> {
        let unit = usize::try_from(unit).unwrap_or(usize::MAX);
        let max = max_request_bytes.clamp(unit, MAX_SYSTEM_BYTES.max(unit));
        let max = max - max % unit;
        let mut left = self.length();
        std::iter::from_fn(move || {
            let next = left.min(max);
            left -= next;
            (next > 0).then_some(next)
        })
    }
}

fn align_down(offset: u64, unit: u64) -> u64 {
    offset - offset % unit
}

fn align_up(offset: u64, unit: u64) -> u64 {
    offset.checked_next_multiple_of(unit).unwrap_or(offset)
}

/// Joins the ranges of one file, which are sorted by where they start.
pub(crate) fn coalesce(wanted: &[Wanted], unit: u64, gap_bytes: u64) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    // Where the wanted bytes of the last run end.
    let mut asked_end = 0;
    for (position, next) in wanted.iter().enumerate() {
        let alone = Run::at(next, position, unit);
        if let Some(run) = runs.last_mut() {
            let shares_a_unit = alone.start < run.end;
            let is_near = alone.start == run.end || next.start.saturating_sub(asked_end) <= gap_bytes;
            let fits = alone.end.max(run.end) - run.start <= MAX_RUN_BYTES;
            if shares_a_unit || is_near && fits {
                run.end = run.end.max(alone.end);
                run.members.end = position + 1;
                run.asked_bytes += alone.asked_bytes;
                asked_end = asked_end.max(next.end);
                continue;
            }
        }
        asked_end = next.end;
        runs.push(alone);
    }
    runs
}
