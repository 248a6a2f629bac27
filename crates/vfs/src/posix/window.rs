//! Appending through a shared mapping: a copy into the page cache instead of a system call.
//!
//! ```text
//!          start        position       start + length            physical_end
//! file ......|#############|zeros............|.........................|
//!            |<---------- window ----------->|
//! ```
//!
//! Invariant: every byte of a live window lies below `physical_end`, which only grows while there is one, and has
//! a block reserved by `fallocate`. So no store can hit a hole (and fail with SIGBUS on a full device) or the end of
//! the file. A sparse `ftruncate` would give the same layout without the blocks, which is why it is not used.
//!
//! What a killed process leaves: all finished appends, since they are in the page cache, then zeros, among which may
//! lie parts of the one append it was killed in. A copy stores its bytes in no particular order, so that a torn log
//! record could show a header without its payload, which a strict log reader must take for damage. Therefore the first
//! eight bytes of an append, and those after each multiple of the log's block size within it, where headers lie, are
//! stored last: until then the reader meets zeros there, which end the log. An append within one block is thus there as
//! a whole or not at all; the headers of a longer one are stored front to back in consecutive instructions.
//!
//! An append that no window holds as a whole would be cut at a window's end, in the middle of a record, for as long as
//! mapping and storing the rest takes, with zeros behind the cut. RocksDB takes that for damage and not for the end of
//! the log, so such an append is written by calls to a file that ends where the append begins: what a kill leaves of it
//! ends with the file. The next append is mapped again.
//!
//! Another thread makes the [next window](super::next_window) while the second half of one is stored into, where the
//! file's beginning and its last sync are far back. The next sync then writes up to one and a half windows of zeros for
//! nothing, as does the system where it writes back zeros before data comes to them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{Ordering, compiler_fence};

use ferrock_base::Result;
use memmap2::MmapRaw;

use super::device;
use super::log_blocks::{HEADER_BYTES, LOG_BLOCK_BYTES, left_of};
use super::next_window::{NextWindow, WindowThread};
use super::reserved;
use super::target::Target;

/// Space is reserved in steps of this size, where no other is asked for, and never of more than the second.
const DEFAULT_RESERVED_BYTES: u64 = 4 << 20;
const MAX_RESERVED_BYTES: u64 = 16 << 20;
/// What is mapped at once, unless an append needs more: the storing thread unmaps a full window, which takes as long as
/// it has pages, 1.7 ms for 16 MiB.
const WINDOW_BYTES: u64 = 1 << 20;
/// Pages are made present in steps ahead of the stores: one call instead of a fault per page. Such a page is dirty and
/// gets written whether anything is stored in it or not, so a step is an eighth of the file, within these bounds.
/// The storing thread waits for the step, which with puts of half a kilobyte is the p99.9 of a put: 170 us with steps
/// of 256 KiB, 70 with 64. With 32 KiB it is 63, but the p99 is 29 us in place of 7 (`lsm_at_scale LIBRARY DIRECTORY
/// universal 1500000`, dev/interop).
const POPULATE_BYTES: usize = 64 << 10;
const MIN_POPULATE_BYTES: usize = 16 << 10;
/// A log is synced often if the last sync, or its beginning, is fewer bytes back than this, of which 64 KiB are a
/// sixteenth.
const OFTEN_BYTES: u64 = 1 << 20;
/// The mapping ends after so many syncs in a row with fewer than [`APPENDS_PER_SYNC`] appends each: writing back a page
/// that was just mapped costs more than the system call that the mapping saved.
const SYNCS_BEFORE_SWITCH: u32 = 16;
const APPENDS_PER_SYNC: u32 = 2;

/// A window begins so far before the end of the one before: no append that is shorter lies in neither.
const OVERLAP_BYTES: u64 = 64 << 10;
/// Windows are made ahead where the file's beginning and its last sync are so far back. Each sync writes the zeros made
/// ahead, about one window of them: an eighth more, and with a sync every 4 MiB it would be a quarter.
const MADE_AHEAD_AFTER_BYTES: u64 = 8 * WINDOW_BYTES;

#[derive(Debug)]
struct Window {
    map: MmapRaw,
    start: u64,
    /// Pages that are present.
    present: usize,
    /// Stores behind this have pages made present, or the next window requested.
    looks_at: usize,
}

/// The state of a file that is appended to through windows.
#[derive(Debug)]
pub(super) struct MappedAppend {
    window: Option<Window>,
    next: Option<NextWindow>,
    thread: Arc<WindowThread>,
    /// The window before, which goes to the thread that makes the next one.
    retired: Option<MmapRaw>,
    reserved_bytes: u64,
    /// Longer appends fit into no reservation as a whole, wherever in a page they begin.
    longest_append_bytes: u64,
    appends_since_sync: u32,
    busy_syncs: u32,
    /// Where the file ended at the last sync.
    synced_to: Option<u64>,
}

impl MappedAppend {
    pub(super) fn new(preallocate_bytes: u64, thread: &Arc<WindowThread>) -> Self {
        let wanted = if preallocate_bytes == 0 { DEFAULT_RESERVED_BYTES } else { preallocate_bytes };
        let reserved_bytes = wanted.clamp(POPULATE_BYTES as u64, MAX_RESERVED_BYTES);
        let reserved_bytes = reserved_bytes.next_multiple_of(device::page_bytes());
        Self {
            window: None,
            next: None,
            thread: Arc::clone(thread),
            retired: None,
            longest_append_bytes: reserved_bytes - device::page_bytes(),
            reserved_bytes,
            appends_since_sync: 0,
            busy_syncs: 0,
            synced_to: None,
        }
    }

    /// The steps in which space is reserved.
    pub(super) fn reserved_bytes(&self) -> u64 {
        self.reserved_bytes
    }

    /// Counts an append for [`note_sync`](Self::note_sync).
    #[inline]
    pub(super) fn note_append(&mut self) {
        self.appends_since_sync = self.appends_since_sync.saturating_add(1);
    }

    /// Counts a sync of a file that ends at `position`; true when syncs dominate and plain writes would serve better.
    pub(super) fn note_sync(&mut self, position: u64) -> bool {
        self.synced_to = Some(position);
        let dominates = self.appends_since_sync <= APPENDS_PER_SYNC;
        self.busy_syncs = if dominates { self.busy_syncs + 1 } else { 0 };
        self.appends_since_sync = 0;
        self.busy_syncs >= SYNCS_BEFORE_SWITCH
    }

    /// True for an append that fits into no reservation as a whole, wherever in a page it begins.
    #[inline]
    pub(super) fn is_too_large(&self, data: &[u8]) -> bool {
        data.len() as u64 > self.longest_append_bytes
    }

    /// Gives the window up and ends the file at the position.
    pub(super) fn close_window(&mut self, target: &mut Target) -> Result<()> {
        self.leave_windows();
        target.trim()
    }

    /// From here on nothing is stored through a window, and no other thread writes to the file.
    fn leave_windows(&mut self) {
        self.next = None;
        self.window = None;
        self.retired = None;
    }

    /// Copies the bytes, which are [not too many](Self::is_too_large) for a window, and moves the position over them.
    /// False asks for [`advance`](Self::advance): they fit into the next window as a whole, which may overlap this one.
    #[inline]
    pub(super) fn store(&mut self, target: &mut Target, data: &[u8]) -> io::Result<bool> {
        let Some(window) = &mut self.window else { return Ok(false) };
        let within = (target.position - window.start) as usize;
        if data.len() > window.map.len() - within {
            return Ok(false);
        }
        if within + data.len() > window.looks_at {
            // A log that begins may be synced often from the first record on.
            let unsynced = target.position - self.synced_to.unwrap_or(0);
            window.make_present(target, within + data.len(), unsynced < OFTEN_BYTES)?;
            // The next window may hold no longer appends either.
            let helps = unsynced >= MADE_AHEAD_AFTER_BYTES && data.len() as u64 <= OVERLAP_BYTES;
            if helps && self.next.is_none() && window.has_next(target, within + data.len()) {
                let (start, end) = (window.end() - OVERLAP_BYTES, window.end() + WINDOW_BYTES);
                self.next = self.thread.request(&target.file, start, window.end(), end, self.retired.take());
            }
        }
        window.publish(within, target.position, data);
        target.position += data.len() as u64;
        target.counters.mapped_write(target.purpose, data.len() as u64);
        Ok(true)
    }

    /// Unmaps the full window and maps the next, which holds `data` as a whole. Reserves space where none is left.
    /// False where space or mapping cannot be had.
    pub(super) fn advance(&mut self, target: &mut Target, data: &[u8]) -> bool {
        let page = device::page_bytes();
        let start = target.position - target.position % page;
        if !tail_is_readable(target, start) {
            return false;
        }
        if self.take_next(target, data) {
            return true;
        }
        self.leave_windows();
        let wanted = (target.position - start + data.len() as u64).next_multiple_of(page);
        let length = wanted.max(WINDOW_BYTES).min(self.reserved_bytes);
        let Some(reserved_end) = start.checked_add(self.reserved_bytes) else { return false };
        if start + length > target.physical_end() && !target.grow(reserved_end) {
            return false;
        }
        let Ok(map) = reserved::map(&target.file, start, length as usize) else { return false };
        self.window = Some(Window { map, start, present: 0, looks_at: 0 });
        true
    }

    /// Goes on in the window that was made ahead, if it holds `data` as a whole.
    fn take_next(&mut self, target: &Target, data: &[u8]) -> bool {
        let Some(next) = self.next.take() else { return false };
        if !next.holds(target.position, target.position + data.len() as u64) {
            return false;
        }
        let Some((map, start)) = next.take() else { return false };
        self.retired = self.window.take().map(|window| window.map);
        let present = map.len();
        self.window = Some(Window { map, start, present, looks_at: present / 2 });
        true
    }
}

/// Reads what the page of the position, which begins at `start`, already holds: a page that the device cannot read is
/// an error here and would be a SIGBUS in the mapping.
fn tail_is_readable(target: &Target, start: u64) -> bool {
    use std::os::unix::fs::FileExt;
    target.position == start || super::retry::retry(|| target.file.read_at(&mut [0], start)).is_ok()
}

/// Splits off what lies before the next multiple of the log's block size.
#[inline]
fn split_at_block(position: u64, data: &[u8]) -> (&[u8], &[u8]) {
    let left_in_block = left_of(LOG_BLOCK_BYTES, position) as usize;
    data.split_at(left_in_block.min(data.len()))
}

impl Window {
    /// Stores `data`, which is to lie at `position` of the file, `within` bytes into the window; headers last.
    #[inline]
    fn publish(&mut self, within: usize, position: u64, data: &[u8]) {
        assert!(within + data.len() <= self.map.len(), "a store stays in its window");
        // SAFETY: `within` lies in the mapping, as just asserted.
        let destination = unsafe { self.map.as_mut_ptr().add(within) };
        let mut rest = data;
        while !rest.is_empty() {
            let done = data.len() - rest.len();
            let (segment, after) = split_at_block(position + done as u64, rest);
            if let Some(body) = segment.get(HEADER_BYTES..) {
                // SAFETY: the segments partition `data`, so that the destination lies in the asserted range. Nothing
                // else in this process loads or stores these bytes: `&mut self` excludes a second store through this
                // mapping, and through the mappings that overlap it, those of the window before and of the next one,
                // nothing is loaded or stored while this one is the current. `data` cannot overlap it because no
                // reference into a mapping is ever given out. The space is reserved and below the end of the file (see
                // the invariant above), so that the store does not fault.
                unsafe {
                    let target = destination.add(done + HEADER_BYTES);
                    std::ptr::copy_nonoverlapping(body.as_ptr(), target, body.len());
                }
            }
            rest = after;
        }
        // What is read after a kill is what was stored in program order: only the compiler must keep that order.
        compiler_fence(Ordering::SeqCst);
        let mut rest = data;
        while !rest.is_empty() {
            let done = data.len() - rest.len();
            let (segment, after) = split_at_block(position + done as u64, rest);
            // SAFETY: as above; an array of bytes may lie at any address.
            unsafe {
                let target = destination.add(done);
                match segment.first_chunk::<HEADER_BYTES>() {
                    Some(header) => target.cast::<[u8; HEADER_BYTES]>().write_volatile(*header),
                    None => std::ptr::copy_nonoverlapping(segment.as_ptr(), target, segment.len()),
                }
            }
            rest = after;
        }
    }

    /// Makes the pages up to `needed` bytes of the window present and writable, and some more. Bytes from the target's
    /// position on are zeros, and stay zeros.
    #[cold]
    fn make_present(&mut self, target: &Target, needed: usize, is_synced_often: bool) -> io::Result<()> {
        if needed > self.present {
            let file_bytes = usize::try_from(self.start).unwrap_or(usize::MAX).saturating_add(needed);
            let ahead = (file_bytes / 8).clamp(MIN_POPULATE_BYTES, POPULATE_BYTES);
            let end = (needed + ahead).next_multiple_of(MIN_POPULATE_BYTES).min(self.map.len());
            // The first page of a window may hold what was appended before.
            let zeros_from = target.position.max(self.start + self.present as u64);
            let piece = if is_synced_often { device::page_bytes() } else { u64::MAX };
            reserved::write_zeros(&target.file, zeros_from, self.start + end as u64, piece)?;
            reserved::make_present(&self.map, self.present, end - self.present)?;
            self.present = end;
        }
        self.looks_at = self.present.min(needed + POPULATE_BYTES);
        Ok(())
    }

    fn end(&self) -> u64 {
        self.start + self.map.len() as u64
    }

    /// True where a window can be made ahead: the half of this one is full, and the space of the next is reserved.
    fn has_next(&self, target: &Target, needed: usize) -> bool {
        let is_whole = self.map.len() as u64 >= WINDOW_BYTES;
        is_whole && needed > self.map.len() / 2 && self.end() + WINDOW_BYTES <= target.physical_end()
    }
}
