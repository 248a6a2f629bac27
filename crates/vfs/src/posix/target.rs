//! State shared by all ways of appending: the descriptor, the end of the appended bytes, and the space reserved beyond.
//!
//! ```text
//! 0 ........ position ........ physical_end ........ reserved_end
//!   appended          zeros                  blocks without size
//!                     (grown reservation)    (KeepSize reservation)
//! ```
//!
//! `position` counts the bytes the system has; `position <= physical_end` (the size that `stat` tells), and bytes
//! between the two read as zeros. [`Target::trim`] makes the file end at `position`.
//!
//! A kill may interrupt a write between two pages. At the end of the file that leaves a file that ends early, which a
//! log reader knows for a torn end. In reserved space it would leave a record's header with zeros in the place of its
//! payload, which is damage to a reader. So an append into reserved space is written from its second page on first, and
//! then its first page, which has the header. The record is there as a whole or not at all if the append lies in one
//! block of the log and its header in one page. Before any other append the file is cut: then it ends with the append.
//!
//! Tried: the same for each log block of a longer append, without the cut. A kill between the first pages then leaves
//! headers of some blocks and not of others, which a reader cannot tell from pages that a device lost.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ferrock_base::{Error, Result};

use super::device::{self, Reserve};
use super::log_blocks::{HEADER_BYTES, LOG_BLOCK_BYTES, left_of};
use super::reserved;
use super::retry::retry;
use crate::counters::IoCounters;
use crate::io_stats::{IoMetric, timed, timed_with_cpu};
use crate::options::{WritableOptions, WritePurpose};
use crate::rate_limiter::{IoKind, IoPriority, RateLimiter, limiter_of};
use crate::util::io_error;

/// Where syncs are many, zeros are written so far ahead: in steps of 256 KiB the p99 is higher.
const ZEROS_AHEAD_BYTES: u64 = 64 << 10;
/// And where a sync has at least so many bytes. The first write to a reserved page makes the sync after it note that in
/// the file system's journal. Syncs a second of a loop of
/// `pwrite` and `fdatasync`, with zeros ahead and without: of 8 KB 2.7k and 1.5k, of 4 KB 2.9k and
/// 1.5k, of 2 KB 3.1k and 2.6k, of 1 KB and less no difference, as most of them write to a page that was written to.
const ZEROED_FOR_BYTES: u64 = 2000;

#[derive(Debug)]
pub(super) struct Target {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) purpose: WritePurpose,
    pub(super) position: u64,
    physical_end: u64,
    reserved_end: u64,
    /// The size changed since the last sync, so `fdatasync` may not suffice.
    size_changed: bool,
    preallocate_bytes: u64,
    /// Writes are synced one by one: see [`prepare_for_syncs`](Self::prepare_for_syncs).
    reserves_size: bool,
    zeroes_ahead: bool,
    zeroed_to: u64,
    synced_to: u64,
    bytes_per_sync: u64,
    /// What is written back is waited for before more is asked for.
    waits_for_writeback: bool,
    writeback_start: u64,
    limiter: Option<(Arc<dyn RateLimiter>, IoPriority)>,
    pub(super) counters: Arc<IoCounters>,
}

impl Target {
    pub(super) fn new(file: File, path: &Path, options: &WritableOptions, counters: Arc<IoCounters>) -> Result<Self> {
        let size = file.metadata().map_err(|error| io_error("get size", path, error))?.len();
        Ok(Self {
            file,
            path: path.to_path_buf(),
            purpose: options.purpose,
            position: size,
            physical_end: size,
            reserved_end: size,
            size_changed: true,
            preallocate_bytes: options.preallocate_bytes,
            reserves_size: false,
            zeroes_ahead: false,
            zeroed_to: 0,
            synced_to: size,
            bytes_per_sync: options.bytes_per_sync,
            waits_for_writeback: options.strict_bytes_per_sync && !options.direct,
            writeback_start: size,
            limiter: None,
            counters,
        })
    }

    pub(super) fn error(&self, operation: &str, error: io::Error) -> Error {
        io_error(operation, &self.path, error)
    }

    pub(super) fn set_rate_limiter(&mut self, limiter: Option<Arc<dyn RateLimiter>>, priority: IoPriority) {
        self.limiter = limiter_of(limiter, IoKind::Write).map(|limiter| (limiter, priority));
    }

    #[inline]
    pub(super) fn limit(&self, bytes: usize) {
        if let Some((limiter, priority)) = &self.limiter {
            limiter.request(bytes as u64, *priority);
        }
    }

    /// Writes bytes at `offset`, which lies at most a unit of the device before `position`, and moves `position` to
    /// the end of those written.
    pub(super) fn write_at(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        self.limit(data.len());
        self.preallocate(offset + data.len() as u64);
        self.write_all(offset, data)?;
        self.start_writeback()
    }

    /// Writes bytes at `position`, records of a log as the description of this file says.
    pub(super) fn append(&mut self, data: &[u8]) -> Result<()> {
        self.limit(data.len());
        let is_cut = self.cut_for(data)?;
        if !is_cut {
            self.preallocate(self.position + data.len() as u64);
        }
        if self.position < self.physical_end {
            self.write_into_zeros(data)?;
        } else {
            self.write_all(self.position, data)?;
        }
        if is_cut && data.len() as u64 <= LOG_BLOCK_BYTES / 4 {
            // The next append probably needs no cut: the sync of this one then writes both changes of the size. Appends
            // of nearly a block each need one nearly always, and took twice the time with this.
            self.preallocate(self.position + 1);
        }
        self.write_zeros_ahead();
        self.start_writeback()
    }

    /// Ends the file before an append that a kill could leave as half a record if zeros were behind it.
    fn cut_for(&mut self, data: &[u8]) -> Result<bool> {
        let lies_in_one_block = data.len() as u64 <= left_of(LOG_BLOCK_BYTES, self.position);
        let left_in_page = left_of(device::page_bytes(), self.position);
        let header_is_whole = left_in_page >= (data.len() as u64).min(HEADER_BYTES as u64);
        let has_zeros = self.position < self.physical_end || self.reserves_size;
        let cuts = has_zeros && !(lies_in_one_block && header_is_whole);
        if cuts {
            self.trim()?;
        }
        Ok(cuts)
    }

    /// Writes what lies behind the first page, and then that. After a failure the file ends, when it is closed, where
    /// the append begins.
    fn write_into_zeros(&mut self, data: &[u8]) -> Result<()> {
        let start = self.position;
        let left_in_page = left_of(device::page_bytes(), start) as usize;
        let (first_page, behind) = data.split_at(left_in_page.min(data.len()));
        let written = self.write_all(start + first_page.len() as u64, behind);
        let written = written.and_then(|()| self.write_all(start, first_page));
        self.position = start + if written.is_ok() { data.len() as u64 } else { 0 };
        written
    }

    /// Writes at `offset` and moves `position` to the end of what was written.
    fn write_all(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        let mut written = 0;
        while written < data.len() {
            let at = offset + written as u64;
            let write = || retry(|| self.file.write_at(&data[written..], at));
            let outcome = timed_with_cpu(IoMetric::WriteNanos, IoMetric::CpuWriteNanos, write)
                .and_then(|count| if count == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(count) });
            let count = outcome.map_err(|error| self.error("append", error).at_offset(at))?;
            self.counters.write(self.purpose, count as u64);
            written += count;
            self.position = offset + written as u64;
            if self.position > self.physical_end {
                self.physical_end = self.position;
                self.size_changed = true;
            }
        }
        Ok(())
    }

    /// From now on syncs are many: space is reserved in steps of `step` bytes that make the file longer, and where a
    /// sync comes to new pages it finds them written as zeros. So it has no size to write, and nothing else about the
    /// file but its data.
    pub(super) fn prepare_for_syncs(&mut self, step: u64) {
        (self.reserves_size, self.preallocate_bytes) = (true, step);
    }

    /// Writes zeros behind what was just written, which reached the end of those before. A page at a time, as a sync
    /// writes the whole piece that one call makes in the page cache: 64 KiB for 1000 bytes. It is no part of the
    /// append: where it fails, nothing is written ahead any more until the next sync.
    fn write_zeros_ahead(&mut self) {
        if !self.zeroes_ahead || self.position <= self.zeroed_to {
            return;
        }
        let end = (self.position + ZEROS_AHEAD_BYTES).min(self.physical_end);
        match reserved::write_zeros(&self.file, self.position, end, device::page_bytes()) {
            Ok(()) => self.zeroed_to = end,
            Err(_) => self.zeroes_ahead = false,
        }
    }

    /// Reserves the next block of space, without changing the size unless [told to](Self::prepare_for_syncs). A hint:
    /// if it fails, the write itself reports the error.
    fn preallocate(&mut self, end: u64) {
        timed(IoMetric::PrepareWriteNanos, || self.reserve_next(end));
    }

    fn reserve_next(&mut self, end: u64) {
        let step = self.preallocate_bytes;
        if self.reserves_size && step > 0 {
            if let Some(new_end) = end.checked_next_multiple_of(step).filter(|_| end > self.physical_end)
                && !self.grow(new_end)
            {
                self.preallocate_bytes = 0;
            }
            return;
        }
        if step == 0 || end <= self.reserved_end.max(self.physical_end) {
            return;
        }
        let start = self.reserved_end.max(self.physical_end);
        let Some(new_end) = end.checked_next_multiple_of(step) else { return };
        let reserve = || device::reserve(&self.file, Reserve::KeepSize, start, new_end - start);
        match timed(IoMetric::AllocateNanos, reserve) {
            Ok(()) => self.reserved_end = new_end,
            Err(_) => self.preallocate_bytes = 0,
        }
    }

    /// Makes the file `end` bytes long, with allocated blocks for every byte past `position`; false if that is
    /// impossible, and then the file ends at `position`. No window may be stored into any more.
    pub(super) fn grow(&mut self, end: u64) -> bool {
        let start = self.physical_end.max(self.position);
        if end <= start {
            return true;
        }
        self.size_changed = true;
        let reserve = || device::reserve(&self.file, Reserve::Grow, start, end - start);
        match timed(IoMetric::AllocateNanos, reserve) {
            Ok(()) => {
                self.physical_end = end;
                true
            }
            Err(_) => {
                // A reservation that ran out of space may have grown the file part of the way.
                self.physical_end = end;
                let _ = self.trim();
                false
            }
        }
    }

    /// The end of the space that a mapping may store to.
    pub(super) fn physical_end(&self) -> u64 {
        self.physical_end
    }

    /// Starts the write-back of full spans early, so that `sync` has little to do. Where it waits for those before, an
    /// error is that of their pages: the system tells it once, and no later sync has it again.
    #[inline(always)]
    pub(super) fn start_writeback(&mut self) -> Result<()> {
        if self.bytes_per_sync == 0 || self.position - self.writeback_start < self.bytes_per_sync {
            return Ok(());
        }
        self.write_back()
    }

    // Most appends end no span.
    #[cold]
    #[inline(never)]
    fn write_back(&mut self) -> Result<()> {
        // The last page is left out, because the next append changes it again.
        let page = device::page_bytes();
        let end = self.position - self.position % page;
        if end > self.writeback_start {
            let start = std::mem::replace(&mut self.writeback_start, end);
            let ask = || match self.waits_for_writeback {
                true => device::write_back_in_turn(&self.file, end),
                false => {
                    device::start_writeback(&self.file, start, end - start);
                    Ok(())
                }
            };
            let asked = timed(IoMetric::RangeSyncNanos, ask);
            asked.map_err(|error| self.error("write back (strict_bytes_per_sync)", error))?;
        }
        Ok(())
    }

    /// Makes written bytes and the size durable. Pages dirtied through a mapping of this file are written as well:
    /// Linux, the only place where windows are mapped, finds them by the file and not by the mapping.
    pub(super) fn sync(&mut self) -> Result<()> {
        self.counters.sync(self.purpose);
        let synced = timed(IoMetric::FsyncNanos, || {
            retry(|| if self.size_changed { self.file.sync_all() } else { self.file.sync_data() })
        });
        synced.map_err(|error| self.error("sync", error))?;
        self.size_changed = false;
        self.zeroes_ahead = self.reserves_size && self.position - self.synced_to >= ZEROED_FOR_BYTES;
        self.synced_to = self.position;
        Ok(())
    }

    /// Sets the size to `position` when a padded direct write went past it.
    pub(super) fn cut_padding(&mut self, position: u64) -> Result<()> {
        self.physical_end = self.physical_end.max(self.position);
        self.position = position;
        if self.physical_end > position {
            retry(|| self.file.set_len(position)).map_err(|error| self.error("cut padding", error))?;
            self.physical_end = position;
            self.size_changed = true;
        }
        Ok(())
    }

    /// Ends the file at `position` and gives back everything reserved beyond. No window may be stored into any more.
    pub(super) fn trim(&mut self) -> Result<()> {
        // Sets the size even if only blocks past the end must be freed: ext4 frees them when the size is set to its
        // current value, and punches no hole there; on other file systems it is the other way around.
        if self.physical_end.max(self.reserved_end) > self.position {
            retry(|| self.file.set_len(self.position)).map_err(|error| self.error("truncate reserved space", error))?;
            self.size_changed |= self.physical_end > self.position;
            self.physical_end = self.position;
            self.zeroed_to = self.zeroed_to.min(self.position);
        }
        if self.reserved_end > self.position {
            device::release(&self.file, self.position, self.reserved_end - self.position);
            self.reserved_end = self.position;
        }
        Ok(())
    }
}
