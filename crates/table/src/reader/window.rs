//! The piece of a file that one scan has in memory, and how much of it the scan reads next.
//!
//! ```text
//! |== block ==|======|======|======|======|         the end is known: one request, up to `max_bytes` each
//! |==|                                              not known: the block alone,
//!    |==|==|                                        then as much as the scan has used, up to `initial_bytes`, which
//!          |==|==|==|==|                            double with each window, clipped where the scan is known to end
//! ```
//!
//! For a file that can be prefetched ([`RandomAccessFile::prefetches`]) a fixed readahead is prefetched into the page
//! cache, and a window copies at most [`COPIED_BYTES`] of it. Windows of the whole readahead, 2 MiB for each input of a
//! compaction, took 12 MB more memory and were no faster (docs/bounded-reads.md).
//!
//! ```text
//! |== window ==|------ prefetched -------|                  the next prefetch begins when half of it is used
//! ```
//!
//! With direct I/O a window is whole device units; the next one begins behind it, so that no unit is read twice.
//! A block that lies in two windows is put together from both.

use super::block_loader::short_read;
use super::direction::Direction;
use super::extent::Extent;
use super::read_options::TableReadOptions;
use crate::options::BlockBasedTableOptions;
use ferrock_base::Result;
use ferrock_vfs::{PendingRead, RandomAccessFile, ReadBuffer, ReadContext, read_range};
use std::ops::Range;

/// Requests that follow one another meet at multiples of this, whatever the device's unit is.
const JOINT_BYTES: u64 = 4096;
/// Shorter requests are not aligned so.
const MIN_JOINED_BYTES: u64 = 128 << 10;

/// Largest window over prefetched bytes: small enough for the cache of a processor core.
const COPIED_BYTES: u64 = 128 << 10;

/// Bytes of `initial_bytes` beyond this may be read even if the scan has not used as many.
const DEFAULT_INITIAL_BYTES: u64 = 8 << 10;

/// How large windows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowPolicy {
    /// Bytes behind the block that is needed, from the first read on; 0: as the scan goes.
    pub(crate) fixed_bytes: u64,
    /// Bytes to prefetch beyond the start of a fixed window; 0: none.
    pub(crate) prefetched_bytes: u64,
    /// First automatic window behind the block that is needed.
    pub(crate) initial_bytes: u64,
    /// Largest automatic window, and longest request of a scan whose end is known; 0: blocks are read one by one.
    pub(crate) max_bytes: u64,
    /// Number of the sequential read that is the first automatic window; 0: the first read, of `initial_bytes` at once.
    pub(crate) threshold: u64,
    /// A scan whose end is known reads its range at once.
    pub(crate) is_sized_by_bounds: bool,
    /// The next window is read while the scan is in this one, from the second one on, when windows are at least this
    /// large.
    pub(crate) ahead_from_bytes: Option<u64>,
}

impl WindowPolicy {
    /// For a scan with these options of a file.
    pub(crate) fn new(table: &BlockBasedTableOptions, options: &TableReadOptions, file: &dyn RandomAccessFile) -> Self {
        let max_bytes = table.max_auto_readahead_size as u64;
        let readahead = options.readahead_bytes as u64;
        // Scans that pause, and scans with `async_io`, start the reads of their windows themselves.
        let prefetches = file.prefetches() && !options.pauses && !options.async_io;
        let (fixed_bytes, prefetched_bytes) =
            if prefetches && readahead > COPIED_BYTES { (COPIED_BYTES, readahead) } else { (readahead, 0) };
        Self {
            fixed_bytes,
            prefetched_bytes,
            initial_bytes: table.initial_auto_readahead_size as u64,
            max_bytes,
            threshold: table.num_file_reads_for_auto_readahead,
            is_sized_by_bounds: options.auto_readahead_size,
            ahead_from_bytes: if options.async_io {
                Some(0)
            } else {
                // With buffered reads the page cache reads ahead. With direct reads, a scan that has reached the
                // largest windows is likely to go on.
                file.direct_alignment().is_some().then_some(max_bytes)
            },
        }
    }
}

/// Size of one window read, and whether the scan's end was known, for the history.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) read: u64,
    pub(crate) unused: u64,
    pub(crate) is_bounded: bool,
    /// The scan began with it.
    pub(crate) is_first: bool,
}

/// Windows of one scan over one file.
#[derive(Debug)]
pub(crate) struct Window {
    policy: WindowPolicy,
    /// Bytes of the next automatic window; 0 until they begin.
    automatic_bytes: u64,
    sequential_reads: u64,
    /// Offset at which the sequence of reads began.
    begins_at: u64,
    /// Bytes that windows may read without the scan having used as many.
    trusted_bytes: u64,
    /// True if the next read continues the scan of another file.
    is_continued: bool,
    /// The block that a read is made for.
    needed: Range<u64>,
    /// The block passed last.
    passed: Option<Range<u64>>,
    /// Adjacent pieces in the order of the file.
    pieces: Vec<ReadBuffer>,
    /// The range requested with the last piece, and how it was sized.
    last_asked: Range<u64>,
    is_last_exact: bool,
    is_last_bounded: bool,
    /// The range prefetched so far.
    prefetched: Range<u64>,
    /// Nothing beyond it is prefetched: the end of what a forward scan is known to read.
    sure_end: u64,
    /// The next piece, in flight.
    ahead: Option<(Range<u64>, PendingRead)>,
}

impl Window {
    pub(crate) fn new(policy: WindowPolicy) -> Self {
        Self {
            policy,
            automatic_bytes: 0,
            sequential_reads: 0,
            begins_at: 0,
            trusted_bytes: 0,
            is_continued: false,
            needed: 0..0,
            passed: None,
            pieces: Vec::new(),
            last_asked: 0..0,
            is_last_exact: false,
            is_last_bounded: false,
            prefetched: 0..0,
            sure_end: 0,
            ahead: None,
        }
    }

    /// Lets go of its bytes, and begins anew.
    pub(crate) fn begin_anew(&mut self) {
        *self = Self::new(self.policy);
    }

    /// The longest request of an automatic window.
    pub(crate) fn max_bytes(&self) -> u64 {
        self.policy.max_bytes
    }

    /// True when the read that was planned last goes as far as the bounds of the scan.
    pub(crate) fn is_exact(&self) -> bool {
        self.is_last_exact
    }

    /// Records that the scan reached a block, whether cached or read.
    pub(crate) fn pass(&mut self, block: Range<u64>) {
        self.passed = Some(block);
    }

    /// Takes over the window size of another file's scan, which this scan continues.
    pub(crate) fn continue_ramp(&mut self, other: &Self) {
        self.automatic_bytes = other.automatic_bytes;
        self.sequential_reads = other.sequential_reads;
        self.trusted_bytes = other.trusted_bytes.max(other.automatic_bytes);
        self.is_continued = true;
    }

    /// True when all of `block` is in memory.
    pub(crate) fn covers(&self, block: &Range<u64>) -> bool {
        let first = self.pieces.first().map(|piece| piece.device_range().start);
        let last = self.pieces.last().map(|piece| piece.device_range().end);
        first.is_some_and(|start| start <= block.start) && last.is_some_and(|end| block.end <= end)
    }

    /// A copy of the bytes of `block`, when they are in memory.
    pub(crate) fn bytes(&self, block: &Range<u64>) -> Option<Vec<u8>> {
        if !self.covers(block) {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(block.end - block.start).ok()?);
        for piece in &self.pieces {
            let range = piece.device_range();
            let (from, to) = (range.start.max(block.start), range.end.min(block.end));
            if from < to {
                bytes.extend_from_slice(piece.slice(from, usize::try_from(to - from).ok()?)?.bytes());
            }
        }
        Some(bytes)
    }

    /// True when `block` follows the one that the scan was in before.
    fn goes_on_at(&self, block: &Range<u64>, direction: Direction) -> bool {
        self.passed.as_ref().is_some_and(|passed| match direction {
            // Between two blocks there may be padding.
            Direction::Forward => passed.end <= block.start && block.start - passed.end < JOINT_BYTES,
            Direction::Backward => block.end <= passed.start && passed.start - block.end < JOINT_BYTES,
        })
    }

    /// The piece that was read ahead, if `block` begins in it.
    pub(crate) fn wanted_ahead(
        &mut self,
        file: &dyn RandomAccessFile,
        block: &Range<u64>,
        direction: Direction,
    ) -> Option<(Range<u64>, PendingRead)> {
        let (range, ahead) = self.ahead.take()?;
        self.needed = block.clone();
        let missing = self.rest(block, direction);
        // The device returned whole units.
        let unit = file.direct_alignment().unwrap_or(1).max(1) as u64;
        let is_wanted = match direction {
            Direction::Forward => range.start <= missing.start && missing.start < range.end.next_multiple_of(unit),
            Direction::Backward => range.start / unit * unit < missing.end && missing.end <= range.end,
        };
        is_wanted.then_some((range, ahead))
    }

    /// Waits for the piece that was read ahead, if `block` begins in it; false when there is none.
    pub(crate) fn take_ahead(&mut self, file: &dyn RandomAccessFile, block: &Range<u64>, direction: Direction) -> bool {
        let Some((range, pending)) = self.wanted_ahead(file, block, direction) else { return false };
        match pending.wait() {
            Ok(piece) if !piece.is_empty() => {
                self.take_piece(range, piece, direction);
                self.covers(block)
            }
            // The error is dropped: the read that is made instead reports it.
            _ => false,
        }
    }

    /// Takes the bytes of the request `range`.
    pub(crate) fn take_piece(&mut self, range: Range<u64>, piece: ReadBuffer, direction: Direction) {
        self.last_asked = range;
        self.add(piece, direction);
    }

    /// Counts a window that was read ahead and came to be needed.
    pub(crate) fn note_sequential(&mut self) {
        self.sequential_reads += 1;
        self.automatic_bytes = self.automatic_bytes.saturating_mul(2).min(self.policy.max_bytes);
    }

    /// True when the next window may be read ahead.
    pub(crate) fn may_start_ahead(&self) -> bool {
        let is_large =
            self.policy.ahead_from_bytes.is_some_and(|from| self.is_last_exact || self.automatic_bytes >= from);
        is_large && self.sequential_reads > 0 && self.ahead.is_none()
    }

    /// Starts the read of the bytes behind the last piece, if the scan is known to reach them and is still sequential.
    pub(crate) fn start_ahead(
        &mut self,
        direction: Direction,
        extent: Extent,
        start: impl FnOnce(&Range<u64>) -> PendingRead,
    ) {
        let far_end = match direction {
            Direction::Forward => self.pieces.last().map(|last| last.device_range().end),
            Direction::Backward => self.pieces.first().map(|first| first.device_range().start),
        };
        let passed = self.begins_at.abs_diff(far_end.unwrap_or(self.begins_at));
        let automatic = if self.is_last_exact {
            self.policy.max_bytes
        } else if self.policy.threshold == 0 {
            self.automatic_bytes
        } else {
            self.automatic_bytes.min(passed)
        };
        let bytes = automatic.min(self.policy.max_bytes).max(self.policy.fixed_bytes);
        if !self.may_start_ahead() || bytes == 0 {
            return;
        }
        let next = match direction {
            Direction::Forward => {
                let Some(last) = self.pieces.last().map(ReadBuffer::device_range) else { return };
                last.end..last.end.saturating_add(bytes).min(extent.sure)
            }
            Direction::Backward => {
                let Some(first) = self.pieces.first().map(ReadBuffer::device_range) else { return };
                first.start.saturating_sub(bytes).max(extent.sure)..first.start
            }
        };
        if next.start < next.end {
            let near = if direction == Direction::Forward { next.start } else { next.end };
            let next = joined(next, &(near..near), direction, extent.sure);
            self.ahead = Some((next.clone(), start(&next)));
        }
    }

    /// The use of the last window, when the scan leaves it; its memory is kept.
    pub(crate) fn spend(&mut self, direction: Direction) -> Spent {
        let asked = std::mem::replace(&mut self.last_asked, 0..0);
        let passed = self.passed.clone().unwrap_or(0..0);
        let unused = match direction {
            Direction::Forward => asked.end.saturating_sub(passed.end.max(asked.start)),
            Direction::Backward => passed.start.min(asked.end).saturating_sub(asked.start),
        };
        let read = asked.end.saturating_sub(asked.start);
        Spent { read, unused: unused.min(read), is_bounded: self.is_last_bounded, is_first: self.sequential_reads == 0 }
    }

    /// The range to read when `block` is needed and not in memory. `extent` is the scan's end, as far as which a window
    /// goes unless scans with bounds stop after `usual_bytes`; `limit_end` is where the scan is expected to stop
    /// (`None`: not known).
    pub(crate) fn plan(
        &mut self,
        block: &Range<u64>,
        direction: Direction,
        extent: Extent,
        usual_bytes: Option<u64>,
        limit_end: Option<u64>,
    ) -> Range<u64> {
        self.needed = block.clone();
        self.sure_end = if direction == Direction::Forward { extent.sure } else { 0 };
        if std::mem::take(&mut self.is_continued) {
            self.sequential_reads += 1;
            self.begins_at = near_end(block, direction);
        } else if self.goes_on_at(block, direction) {
            self.sequential_reads += 1;
        } else {
            self.sequential_reads = 0;
            let usual = if extent.is_exact { usual_bytes.unwrap_or(0) } else { 0 };
            (self.trusted_bytes, self.automatic_bytes) = (usual, usual);
            self.begins_at = near_end(block, direction);
        }
        let policy = self.policy;
        self.is_last_bounded = extent.is_exact && policy.is_sized_by_bounds && limit_end.is_none();
        self.is_last_exact = self.is_last_bounded && usual_bytes.is_none();
        let reach = |bytes: u64| match direction {
            Direction::Forward => block.start..block.end.saturating_add(bytes),
            Direction::Backward => block.start.saturating_sub(bytes)..block.end,
        };
        // Bytes that do not extend beyond the block do not help.
        let end = limit_end.or(self.is_last_exact.then_some(extent.sure));
        let wanted = if policy.fixed_bytes > 0 {
            clip(reach(policy.fixed_bytes), block, direction, extent.sure)
        } else if let Some(end) = end.filter(|_| policy.max_bytes > 0) {
            let whole = clip(reach(u64::MAX), block, direction, end);
            let request = clip(reach(policy.max_bytes.saturating_sub(block.end - block.start)), block, direction, end);
            // If a hint was too small, the scan continues with windows of that size.
            self.automatic_bytes = (whole.end - whole.start).max(policy.initial_bytes).min(policy.max_bytes);
            clip(request, block, direction, extent.sure)
        } else if policy.max_bytes > 0 && (self.automatic_bytes > 0 || self.sequential_reads + 1 >= policy.threshold) {
            let bytes = self.automatic_bytes.max(policy.initial_bytes).min(policy.max_bytes);
            self.automatic_bytes = bytes.saturating_mul(2).min(policy.max_bytes);
            // A window reads no more bytes than the scan has used, unless the options or the history allow more.
            let unearned = self.trusted_bytes + policy.initial_bytes.saturating_sub(DEFAULT_INITIAL_BYTES);
            let used = self.begins_at.abs_diff(near_end(block, direction)).saturating_add(unearned);
            let bytes = if policy.threshold == 0 { bytes } else { bytes.min(used) };
            clip(reach(bytes), block, direction, extent.sure)
        } else {
            block.clone()
        };
        if limit_end.is_some() { wanted } else { joined(wanted, block, direction, extent.sure) }
    }

    /// Reads what [`plan`](Self::plan) said, less the bytes in memory; returns how many that were. Pieces that the scan
    /// has passed are dropped.
    pub(crate) fn fill(
        &mut self,
        file: &dyn RandomAccessFile,
        wanted: &Range<u64>,
        direction: Direction,
        context: &ReadContext,
    ) -> Result<usize> {
        let rest = self.rest(wanted, direction);
        let length = usize::try_from(rest.end - rest.start).unwrap_or(usize::MAX);
        let context = ReadContext { max_request_bytes: context.max_request_bytes.max(length), ..*context };
        self.prefetch(file, &rest);
        let piece = read_range(file, rest.start, length, &context)?;
        self.last_asked = rest.clone();
        if piece.is_empty() {
            return Err(short_read(rest.start, length, 0));
        }
        let came = piece.bytes().len();
        self.add(piece, direction);
        Ok(came)
    }

    /// Prefetches `rest` and what a forward scan reads behind it, once half of the last prefetch is used.
    fn prefetch(&mut self, file: &dyn RandomAccessFile, rest: &Range<u64>) {
        let bytes = self.policy.prefetched_bytes;
        let goes_on = self.prefetched.start <= rest.start && rest.start <= self.prefetched.end;
        let from = if goes_on { self.prefetched.end } else { rest.start };
        let to = rest.start.saturating_add(bytes).min(self.sure_end);
        if bytes > 0 && from < to && (to - from >= bytes / 2 || to == self.sure_end) {
            file.prefetch(from, to - from);
            self.prefetched = rest.start..to;
        }
    }

    /// The part of `wanted` that is not in memory, on the side to which the scan goes.
    pub(crate) fn rest(&self, wanted: &Range<u64>, direction: Direction) -> Range<u64> {
        let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) else { return wanted.clone() };
        let held = first.device_range().start..last.device_range().end;
        match direction {
            Direction::Forward if held.start <= wanted.start && wanted.contains(&held.end) => held.end..wanted.end,
            Direction::Backward if wanted.end <= held.end && wanted.start < held.start && held.start < wanted.end => {
                wanted.start..held.start
            }
            _ => wanted.clone(),
        }
    }

    /// Takes bytes that were read for the scan. Pieces that are not adjacent to them, or that the scan has left, are
    /// dropped.
    pub(crate) fn add(&mut self, piece: ReadBuffer, direction: Direction) {
        let range = piece.device_range();
        let joins = match direction {
            Direction::Forward => self.pieces.last().is_some_and(|last| last.device_range().end == range.start),
            Direction::Backward => self.pieces.first().is_some_and(|first| first.device_range().start == range.end),
        };
        let needed = &self.needed;
        self.pieces.retain(|piece| {
            let piece = piece.device_range();
            joins && piece.start < needed.end && needed.start < piece.end
        });
        let at = if direction == Direction::Forward { self.pieces.len() } else { 0 };
        self.pieces.insert(at, piece);
    }
}

/// The end of a block that a scan comes to first.
fn near_end(block: &Range<u64>, direction: Direction) -> u64 {
    match direction {
        Direction::Forward => block.start,
        Direction::Backward => block.end,
    }
}

/// Cuts `range` off at `end`, but never within `block`.
fn clip(range: Range<u64>, block: &Range<u64>, direction: Direction, end: u64) -> Range<u64> {
    match direction {
        Direction::Forward => range.start..range.end.min(end).max(block.end),
        Direction::Backward => range.start.max(end).min(block.start)..range.end,
    }
}

/// Moves the far end of a request that another may follow to where whole units of a device end.
/// Short windows stay as they are: the units that they share with the next are in memory anyway.
fn joined(range: Range<u64>, block: &Range<u64>, direction: Direction, sure: u64) -> Range<u64> {
    if range.end - range.start < MIN_JOINED_BYTES {
        return range;
    }
    match direction {
        Direction::Forward if range.end < sure && range.end > block.end => {
            let end = range.end - range.end % JOINT_BYTES;
            range.start..if end > block.end { end } else { range.end }
        }
        Direction::Backward if range.start > sure && range.start < block.start => {
            let start = range.start.next_multiple_of(JOINT_BYTES);
            (if start < block.start { start } else { range.start })..range.end
        }
        _ => range,
    }
}
