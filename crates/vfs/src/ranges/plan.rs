//! From ranges to requests: alignment, coalescing, splitting.
//!
//! ```text
//! asked      |--A--|  |-B-|              |----C----|
//! units   .....|.....|.....|.....|.....|.....|.....|.....|
//! runs    [=================]           [=============]      A and B share a unit, or their gap is small enough
//! requests[=======][========]           [=============]      no longer than max_request_bytes
//! ```
//!
//! A run is read into one piece of memory, so that every range in it is contiguous there, wherever it is split. No unit
//! is in two runs, and none in two requests.

use std::ops::Range;

/// A run that would grow longer ends here, unless the next range shares a unit: a slice that is kept holds the memory
/// of its whole run.
const MAX_RUN_BYTES: u64 = 4 << 20;
/// Longest request a system call takes.
const MAX_SYSTEM_BYTES: usize = 1 << 30;

/// A wanted range of a file, cut at the end of the file; not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Index of the read in its batch.
    pub(crate) index: usize,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// A piece of a file: the wanted bytes and the units that contain them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadSpan {
    /// Aligned.
    pub(crate) start: u64,
    /// Aligned, so that it may lie past the end of the file.
    pub(crate) end: u64,
    /// Where the first wanted byte lies.
    pub(crate) asked_start: u64,
    /// Where the last wanted byte ends.
    pub(crate) asked_end: u64,
}

impl ReadSpan {
    /// The span that holds one range.
    pub(crate) fn of(wanted: &Wanted, unit: u64) -> Self {
        let (start, end) = (align_down(wanted.start, unit), align_up(wanted.end, unit));
        Self { start, end, asked_start: wanted.start, asked_end: wanted.end }
    }

    pub(crate) fn length(&self) -> u64 {
        self.end - self.start
    }

    /// Whether `behind`, which begins no earlier, may share a request with this one: they share a unit, or touch, or at
    /// most `gap_bytes` unwanted bytes lie between them.
    pub(crate) fn is_near(&self, behind: &Self, gap_bytes: u64) -> bool {
        behind.start <= self.end || behind.asked_start.saturating_sub(self.asked_end) <= gap_bytes
    }

    /// The span from the start of the first to the end of the last.
    pub(crate) fn with(&self, other: &Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
            asked_start: self.asked_start.min(other.asked_start),
            asked_end: self.asked_end.max(other.asked_end),
        }
    }
}

/// A range as requests to the device read it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedRange {
    /// Aligned.
    pub(super) start: u64,
    /// A multiple of the unit, so that the range may extend past the end of the file.
    pub(super) length: usize,
    /// The length of every request but the last.
    pub(super) piece_bytes: usize,
}

impl PlacedRange {
    /// How many requests it takes.
    pub(super) fn requests(&self) -> usize {
        if self.length <= self.piece_bytes { 1 } else { self.length.div_ceil(self.piece_bytes) }
    }
}

/// A part of a file that is read into one piece of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Aligned.
    pub(crate) start: u64,
    /// Aligned, so that it may lie past the end of the file.
    pub(crate) end: u64,
    /// The wanted ranges in it, by position.
    pub(crate) members: Range<usize>,
    /// Wanted bytes; where ranges overlap, the bytes count once for each.
    pub(crate) asked_bytes: u64,
}

impl Run {
    pub(crate) fn length(&self) -> usize {
        usize::try_from(self.end - self.start).unwrap_or(usize::MAX)
    }
}

/// The length of requests under a limit: a multiple of the unit, and at least one.
pub(crate) fn request_bytes(unit: u64, max_request_bytes: usize) -> usize {
    let unit = usize::try_from(unit).unwrap_or(usize::MAX);
    let max = max_request_bytes.clamp(unit, MAX_SYSTEM_BYTES.max(unit));
    max & !(unit - 1)
}

/// The lengths of the requests for `length` bytes, in order.
pub(crate) fn piece_lengths(length: usize, piece_bytes: usize) -> impl Iterator<Item = usize> {
    let mut left = length;
    std::iter::from_fn(move || {
        let next = left.min(piece_bytes);
        left -= next;
        (next > 0).then_some(next)
    })
}

// Units are powers of two: that takes no divisions.
fn align_down(offset: u64, unit: u64) -> u64 {
    offset & !(unit - 1)
}

fn align_up(offset: u64, unit: u64) -> u64 {
    offset.checked_add(unit - 1).map_or(offset, |end| align_down(end, unit))
}

/// Joins the ranges of one file, which are sorted by their starts.
pub(crate) fn coalesce(wanted: &[Wanted], unit: u64, gap_bytes: u64) -> Vec<Run> {
    let mut runs: Vec<(Run, ReadSpan)> = Vec::new();
    for (position, next) in wanted.iter().enumerate() {
        let alone = ReadSpan::of(next, unit);
        if let Some((run, span)) = runs.last_mut() {
            let shares_a_unit = alone.start < span.end;
            let joined = span.with(&alone);
            let fits = joined.length() <= MAX_RUN_BYTES;
            if shares_a_unit || span.is_near(&alone, gap_bytes) && fits {
                *span = joined;
                run.end = joined.end;
                run.members.end = position + 1;
                run.asked_bytes += next.end - next.start;
                continue;
            }
        }
        let (ReadSpan { start, end, .. }, asked_bytes) = (alone, next.end - next.start);
        runs.push((Run { start, end, members: position..position + 1, asked_bytes }, alone));
    }
    runs.into_iter().map(|(run, _)| run).collect()
}
