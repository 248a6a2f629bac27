//! Index partitions that one iterator holds, and how it reads more of them in one request.
//!
//! ```text
//! top level  ... | P4 | P5 | P6 | P7 | P8 | ...
//! seek            ^lower    ^upper                not in memory: P4, P5, P6 in one request, when they are small enough
//! crossing                       ^^^^^^^          on the way over: one, then ever more, up to 64 KiB
//! ```
//!
//! A scan that plans its reads restarts its placement after each of them, so partitions that were read must stay in
//! memory until the placement succeeds, whatever the cache evicts: at the border of two partitions a backward scan
//! needs both. The iterator holds the partitions of the last two reads, and those that the scan used between them. So
//! each read adds the first missing partition of a placement, and those before it stay.
//!
//! A scan with both bounds needs every partition between them, so they cost no request that it would not make anyway. A
//! scan that may stop early reads one partition when it begins.

use super::direction::{Direction, Step};
use super::meta_source::Partitions;
use super::read_options::{ReadTier, TableReadOptions};
use super::resident_index::ResidentIndex;
use super::scan_bounds::ScanBounds;
use crate::adaptive::{CrossingRamp, EAGER_BYTES, NEAR_BYTES};
use crate::blocks::{BlockGuard, BlockRef, BlockRole};
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::block::{IndexBlock, IndexCursor};
use ferrock_format::handle::BlockHandle;
use ferrock_vfs::ReadClass;
use std::cell::RefCell;
use std::ops::Range;

/// Bytes between two partitions that are read with them rather than in another request.
const MAX_GAP_BYTES: u64 = 4 << 10;

/// Partitions that follow one another in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartitionRun {
    handles: Vec<BlockHandle>,
    /// End offset of the last partition, its row bounds included.
    end: u64,
}

impl PartitionRun {
    /// A run of partitions in any order.
    fn new(resident: &ResidentIndex<'_>, mut handles: Vec<BlockHandle>) -> Self {
        handles.sort_by_key(|handle| handle.offset);
        let end = handles.last().map_or(0, |last| end_of(resident, *last).unwrap_or(last.offset));
        Self { handles, end }
    }

    /// The bytes of the run in the file.
    pub(crate) fn range(&self) -> Range<u64> {
        let start = self.handles.first().map_or(0, |handle| handle.offset);
        start..self.end.max(start)
    }
}

/// Where a partition ends, with the row bounds behind it; `None` when it does not lie in the file.
fn end_of(resident: &ResidentIndex<'_>, handle: BlockHandle) -> Option<u64> {
    handle.offset.checked_add(resident.loader.index_extent(handle).ok()? as u64)
}

/// The index partitions that one iterator holds.
#[derive(Debug, Default)]
pub(crate) struct NearPartitions {
    held: Vec<HeldPartition>,
    crossings: CrossingRamp,
    /// Reads are recorded in `wanted` instead of being made.
    pub(crate) is_planning: bool,
    /// The partitions that planning found missing.
    pub(crate) wanted: Option<PartitionRun>,
}

#[derive(Debug)]
struct HeldPartition {
    offset: u64,
    block: BlockRef,
    /// True if the partition came with the last read, or the scan used it since.
    is_needed: bool,
}

impl NearPartitions {
    fn find(&mut self, handle: BlockHandle) -> Option<BlockRef> {
        let held = self.held.iter_mut().find(|held| held.offset == handle.offset)?;
        held.is_needed = true;
        Some(held.block.clone())
    }

    /// Drops the partitions that the scan no longer needs.
    fn let_go(&mut self) {
        self.held.retain_mut(|held| std::mem::take(&mut held.is_needed));
    }

    fn hold(&mut self, handle: BlockHandle, block: BlockRef) {
        self.held.retain(|held| held.offset != handle.offset);
        self.held.push(HeldPartition { offset: handle.offset, block, is_needed: true });
    }

    /// Resets the size of the next crossing's read.
    pub(crate) fn restart(&mut self) {
        self.crossings.restart();
    }

    /// Takes the bytes of a run: decodes its partitions, and holds them. A damaged or incomplete partition is skipped;
    /// a scan that needs it reads it again.
    pub(crate) fn take_run(
        &mut self,
        resident: &ResidentIndex<'_>,
        options: &TableReadOptions,
        partitions: &Partitions,
        run: &PartitionRun,
        bytes: &[u8],
    ) {
        let start = run.range().start;
        self.let_go();
        for &handle in &run.handles {
            let decoded = resident.loader.index_extent(handle).and_then(|length| {
                let from = usize::try_from(handle.offset - start).unwrap_or(usize::MAX);
                let stored = bytes.get(from..from.saturating_add(length));
                let stored = stored.ok_or_else(|| Error::corruption("a partition is not whole"))?;
                // The partition is copied, as it may outlive the bytes.
                let verify = true;
                resident.loader.decode_index_extent(stored.to_vec(), handle, verify)
            });
            if let Ok(block) = decoded
                && let Ok(block) = partitions.keep(resident.loader, handle, block, options)
            {
                self.hold(handle, block);
            }
        }
    }
}

/// The part of an iterator in a search of the index.
#[derive(Clone, Copy)]
pub(crate) struct IndexScan<'o> {
    pub(crate) near: &'o RefCell<NearPartitions>,
    pub(crate) bounds: &'o ScanBounds,
    /// The direction of the scan once it is placed.
    pub(crate) direction: Direction,
}

impl IndexScan<'_> {
    /// The partition at the top level's cursor: held, in memory, or read, maybe with others that the scan will need.
    pub(crate) fn leaf<'a>(
        &self,
        resident: &ResidentIndex<'a>,
        options: &TableReadOptions,
        partitions: &'a Partitions,
        top: (&IndexBlock, &IndexCursor),
        step: Step,
    ) -> Result<BlockGuard<'a>> {
        let handle = top.1.entry(top.0).handle;
        if let Some(block) = self.near.borrow_mut().find(handle) {
            return Ok(BlockGuard::Held(block));
        }
        if let Some(block) = partitions.resident(resident.loader, handle) {
            return Ok(block);
        }
        let run = self.run(resident, partitions, top, step);
        let mut near = self.near.borrow_mut();
        if options.read_tier == ReadTier::All {
            if near.is_planning {
                near.wanted = Some(run);
                return Err(Error::new(ErrorKind::Incomplete, "the index partition is to be read with others"));
            }
            if run.handles.len() > 1 {
                self.read_run(&mut near, resident, options, partitions, &run);
                if let Some(block) = near.find(handle) {
                    return Ok(BlockGuard::Held(block));
                }
            }
        }
        partitions.get(resident.loader, handle, BlockRole::Index, options)
    }

    /// Reads a run. When that fails, the needed partition is read alone, which returns the error.
    fn read_run(
        &self,
        near: &mut NearPartitions,
        resident: &ResidentIndex<'_>,
        options: &TableReadOptions,
        partitions: &Partitions,
        run: &PartitionRun,
    ) {
        let range = run.range();
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        if let Ok(bytes) = resident.loader.read_bytes(range.start, length, &options.read_context(ReadClass::Index)) {
            near.take_run(resident, options, partitions, run, &bytes);
        }
    }

    /// The partitions to read when the one at the cursor is missing: all that the scan can need, if they are few, else
    /// more with each crossing.
    fn run(
        &self,
        resident: &ResidentIndex<'_>,
        partitions: &Partitions,
        top: (&IndexBlock, &IndexCursor),
        step: Step,
    ) -> PartitionRun {
        let first = top.1.entry(top.0).handle;
        let direction = match step {
            Step::Seek => self.direction,
            Step::Cross(direction) => direction,
        };
        let single = PartitionRun::new(resident, vec![first]);
        if end_of(resident, first).is_none() {
            return single;
        }
        let last = self.last_needed(resident, top.0, direction).filter(|_| self.bounds.limit_hint() == 0);
        let all = |limit| {
            let handles = self.neighbours(resident, partitions, top, (direction, step == Step::Seek), last, limit);
            handles.filter(|handles| last.is_some_and(|last| handles.contains(&last)))
        };
        let handles = match step {
            Step::Seek => all(EAGER_BYTES).map(|mut handles| {
                // The farther partitions may be in memory already.
                while handles.len() > 1
                    && handles.pop_if(|last| partitions.peek(resident.loader, *last).is_some()).is_some()
                {
                }
                handles
            }),
            Step::Cross(_) => {
                let limit = self.near.borrow_mut().crossings.next_bytes(self.bounds.limit_hint() > 0);
                all(NEAR_BYTES).or_else(|| self.neighbours(resident, partitions, top, (direction, false), last, limit))
            }
        };
        handles.map_or(single, |handles| PartitionRun::new(resident, handles))
    }

    /// The partition at the cursor and those next to it in the file, up to `last` and to `limit` bytes. A partition in
    /// memory ends the run, unless it is small enough to be read over.
    fn neighbours(
        &self,
        resident: &ResidentIndex<'_>,
        partitions: &Partitions,
        (top, cursor): (&IndexBlock, &IndexCursor),
        (direction, reads_over): (Direction, bool),
        last: Option<BlockHandle>,
        limit: u64,
    ) -> Option<Vec<BlockHandle>> {
        let size = |handle: BlockHandle| resident.loader.index_extent(handle).ok().map(|bytes| bytes as u64);
        let mut previous = cursor.entry(top).handle;
        let mut bytes = size(previous)?;
        let mut handles = vec![previous];
        let mut at = cursor.clone();
        while last != Some(previous) {
            direction.step(&mut at, top);
            if !at.valid() {
                break;
            }
            let handle = at.entry(top).handle;
            bytes = bytes.saturating_add(size(handle)?);
            let (low, high) = if direction.is_backward() { (handle, previous) } else { (previous, handle) };
            let gap = end_of(resident, low).and_then(|end| high.offset.checked_sub(end));
            if bytes > limit || gap.is_none_or(|gap| gap > MAX_GAP_BYTES) {
                break;
            }
            if !reads_over && partitions.peek(resident.loader, handle).is_some() {
                break;
            }
            handles.push(handle);
            previous = handle;
        }
        Some(handles)
    }

    /// The last partition, in the direction of the scan, that its bounds can need.
    fn last_needed(&self, resident: &ResidentIndex<'_>, top: &IndexBlock, direction: Direction) -> Option<BlockHandle> {
        let target = if direction.is_backward() {
            self.bounds.lower_key()?.target()
        } else {
            self.bounds.upper_key()?.end_target(resident.loader.decoder().separators_are_exact())
        };
        let mut cursor = IndexCursor::new();
        cursor.seek(top, resident.loader.comparator(), target);
        if !cursor.valid() {
            cursor.seek_to_last(top);
        }
        cursor.valid().then(|| cursor.entry(top).handle)
    }
}
