//! The capabilities of a device and the file system on it.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use ferrock_base::{Error, Result};
use rustix::fs::StatVfs;

use crate::util::io_error;

/// Direct I/O unit if the kernel does not report one: a multiple of every sector size in use.
const FALLBACK_ALIGNMENT: usize = 4096;
const SECTOR_BYTES: usize = 512;

#[cfg(target_os = "linux")]
pub(super) fn request_direct(open: &mut OpenOptions) {
    super::retry::add_flags(open, rustix::fs::OFlags::DIRECT);
}

#[cfg(not(target_os = "linux"))]
pub(super) fn request_direct(_open: &mut OpenOptions) {}

/// Explains a failed open; a file system without direct I/O returns `EINVAL`.
pub(super) fn open_error(what: &str, path: &Path, error: io::Error, direct: bool) -> Error {
    if direct && error.kind() == io::ErrorKind::InvalidInput {
        return Error::not_supported("the file system has no direct I/O; open without it").in_file(path);
    }
    io_error(what, path, error)
}

/// Refuses directories (which open for reading like files) and, off Linux, direct I/O.
pub(super) fn finish_open(file: &File, path: &Path, direct: bool) -> Result<u64> {
    if direct && !cfg!(target_os = "linux") {
        return Err(Error::not_supported("direct I/O is only available on Linux").in_file(path));
    }
    let metadata = file.metadata().map_err(|error| io_error("get size", path, error))?;
    if metadata.is_dir() {
        return Err(io_error("open", path, io::ErrorKind::IsADirectory.into()));
    }
    Ok(metadata.len())
}

/// The unit in which offset, length and memory must be aligned for direct I/O on this file: a power of two, 512 where
/// the device allows it.
#[cfg(target_os = "linux")]
pub(super) fn direct_alignment(file: &File) -> usize {
    use rustix::fs::{AtFlags, StatxFlags};
    let Ok(stat) = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) else {
        return FALLBACK_ALIGNMENT;
    };
    if stat.stx_mask & StatxFlags::DIOALIGN.bits() == 0 {
        return FALLBACK_ALIGNMENT;
    }
    let unit = stat.stx_dio_mem_align.max(stat.stx_dio_offset_align) as usize;
    if unit == 0 || !unit.is_power_of_two() { FALLBACK_ALIGNMENT } else { unit.max(SECTOR_BYTES) }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn direct_alignment(_file: &File) -> usize {
    FALLBACK_ALIGNMENT
}

/// True where a store into space reserved by `fallocate` cannot fail for want of space.
///
/// This is a list of file systems known to be safe, not of those known to be unsafe: network file systems may lose the
/// server between reservation and store, copy-on-write ones allocate again when a reserved block is written, and a
/// store that fails is a SIGBUS. ext2 and ext3 share ext4's number; they refuse `fallocate` itself.
#[cfg(target_os = "linux")]
pub(super) fn reservations_hold(file: &File) -> bool {
    use rustix::fs::FsWord;
    const EXT4: FsWord = 0xEF53;
    const XFS: FsWord = 0x5846_5342;
    const TMPFS: FsWord = 0x0102_1994;
    rustix::fs::fstatfs(file).is_ok_and(|stat| matches!(stat.f_type, EXT4 | XFS | TMPFS))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn reservations_hold(_file: &File) -> bool {
    false
}

/// How a reservation treats the end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserve {
    /// Blocks past the end; the size stays.
    KeepSize,
    /// The file grows, reading as zeros.
    Grow,
}

/// Reserves real blocks for a range.
#[cfg(target_os = "linux")]
pub(super) fn reserve(file: &File, kind: Reserve, start: u64, length_bytes: u64) -> io::Result<()> {
    use rustix::fs::FallocateFlags;
    let flags = match kind {
        Reserve::KeepSize => FallocateFlags::KEEP_SIZE,
        Reserve::Grow => FallocateFlags::empty(),
    };
    super::retry::retry(|| rustix::fs::fallocate(file, flags, start, length_bytes).map_err(io::Error::from))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn reserve(_file: &File, _kind: Reserve, _start: u64, _length_bytes: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Gives back blocks reserved past the end, where setting the size did not.
#[cfg(target_os = "linux")]
pub(super) fn release(file: &File, start: u64, length_bytes: u64) {
    use rustix::fs::FallocateFlags;
    if length_bytes > 0 {
        // Best effort: on failure the blocks stay allocated until the file is removed, nothing else.
        let flags = FallocateFlags::KEEP_SIZE | FallocateFlags::PUNCH_HOLE;
        let _ = rustix::fs::fallocate(file, flags, start, length_bytes);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn release(_file: &File, _start: u64, _length_bytes: u64) {}

/// Starts writing back a range without waiting. Its result is of no interest, because this is a hint and `sync` reports
/// what goes wrong.
#[cfg(target_os = "linux")]
pub(super) fn start_writeback(file: &File, start: u64, length_bytes: u64) {
    let _ = sync_file_range(file, start, length_bytes, libc::SYNC_FILE_RANGE_WRITE);
}

#[cfg(not(target_os = "linux"))]
pub(super) fn start_writeback(_file: &File, _start: u64, _length_bytes: u64) {}

/// Waits for every write-back of the file's first `end` bytes that has begun, then starts the write-back of those that
/// are dirty. The error of a page that could not be written is told by this call and by no later sync, whatever its
/// number: so a call that does nothing says first whether there is such a call for the file. Where the file system, or
/// what watches over the process, has none, the file is synced instead.
#[cfg(target_os = "linux")]
pub(super) fn write_back_in_turn(file: &File, end: u64) -> io::Result<()> {
    if sync_file_range(file, 0, end, 0).is_err() {
        return super::retry::retry(|| file.sync_data());
    }
    sync_file_range(file, 0, end, libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn write_back_in_turn(file: &File, _end: u64) -> io::Result<()> {
    super::retry::retry(|| file.sync_data())
}

#[cfg(target_os = "linux")]
fn sync_file_range(file: &File, start: u64, length_bytes: u64, flags: libc::c_uint) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let number = |value: u64| i64::try_from(value).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let (start, length) = (number(start)?, number(length_bytes)?);
    super::retry::retry(|| {
        // SAFETY: the call takes numbers only; the descriptor is open for as long as `file` is borrowed.
        match unsafe { libc::sync_file_range(file.as_raw_fd(), start, length, flags) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    })
}

pub(super) fn stat_volume(path: &Path) -> io::Result<StatVfs> {
    super::retry::retry(|| rustix::fs::statvfs(path).map_err(io::Error::from))
}

/// Bytes in a page of memory.
pub(super) fn page_bytes() -> u64 {
    (rustix::param::page_size() as u64).max(FALLBACK_ALIGNMENT as u64)
}
