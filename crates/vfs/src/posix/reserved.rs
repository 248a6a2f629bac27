//! Reserved space of a file: mapped, and its pages brought into memory.
//!
//! A fault in reserved space reads the page, and around it as much as the device reads ahead: 8 MiB of zeros on the
//! machine of the measurements, 2 ms, in one put of 16,000. So pages are written as zeros by a call before they are
//! faulted in: of what a fault finds in memory it reads nothing. 64 KiB then take 21 to 27 us at a mean, 90 to 150 at
//! most in 999 of 1000, and 38 and 1,700 by faults alone. `MADV_RANDOM` without the zeros: 75 and 190.
//! `POSIX_FADV_WILLNEED`: 64 to 72 and 175.
//!
//! One call makes one piece of page cache of it, which is dirty as a whole once a byte is stored in it: after a sync of
//! 600 bytes 64 KiB were to be written again, 4 before. So where a log is synced often the zeros are written page by
//! page, at 71 to 90 us for 64 KiB.

use memmap2::{MmapOptions, MmapRaw};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::retry::retry;

/// Zeros that one call writes at most.
const MOST_ZEROS: usize = 80 << 10;

/// Maps a part of a file, which must have blocks for all of it.
pub(super) fn map(file: &File, start: u64, bytes: usize) -> io::Result<MmapRaw> {
    MmapOptions::new().offset(start).len(bytes).map_raw(file)
}

/// Writes zeros over zeros; each call ends where a `piece` of the file does.
pub(super) fn write_zeros(file: &File, mut from: u64, end: u64, piece: u64) -> io::Result<()> {
    const ZEROS: &[u8] = &[0; MOST_ZEROS];
    while from < end {
        let wanted = (piece - from % piece).min(end - from).min(ZEROS.len() as u64);
        match retry(|| file.write_at(&ZEROS[..wanted as usize], from))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => from += count as u64,
        }
    }
    Ok(())
}

/// Makes pages of a mapping present and writable. Where a store would raise SIGBUS, this call returns an error.
#[cfg_attr(not(target_os = "linux"), expect(clippy::unnecessary_wraps, reason = "the others have no such call"))]
pub(super) fn make_present(map: &MmapRaw, from: usize, bytes: usize) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    match map.advise_range(memmap2::Advice::PopulateWrite, from, bytes) {
        // Kernels that do not know the advice (before 5.14) fault page by page.
        Err(error) if error.kind() != io::ErrorKind::InvalidInput => return Err(error),
        _ => {}
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (map, from, bytes);
    Ok(())
}
