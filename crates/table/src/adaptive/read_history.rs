//! The share of readahead bytes that scans use, kept per table and kind of window.
//!
//! A scan whose bounds are known reads its whole range at once; if such scans keep stopping early, part of it is read
//! in vain. So a table counts the bytes that its scans read and left unused, and if more than a quarter is unused, it
//! ignores the bounds: windows begin small and double, as in scans without bounds. The other way round, a scan without
//! bounds may begin with the largest window whose loss would keep the share under a quarter. Old counts lose their
//! weight by halves.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts are halved when they reach this number of bytes, so that they reflect the last few megabytes.
const MEMORY_BYTES: u64 = 8 << 20;
/// Fewer bytes than this decide nothing.
const MIN_BYTES: u64 = 256 << 10;

/// Bytes that windows of one kind read, and bytes of them left unused. Updates race, so both are estimates.
#[derive(Debug, Default)]
pub(crate) struct ReadHistory {
    read: AtomicU64,
    unused: AtomicU64,
}

impl ReadHistory {
    /// Adds a window of `read` bytes, of which `unused` were left.
    pub(crate) fn note(&self, read: u64, unused: u64) {
        let total = self.read.fetch_add(read, Relaxed) + read;
        self.unused.fetch_add(unused.min(read), Relaxed);
        if total >= MEMORY_BYTES {
            self.read.store(total / 2, Relaxed);
            self.unused.store(self.unused.load(Relaxed) / 2, Relaxed);
        }
    }

    /// True when more than a quarter of what is read ahead is left unread.
    pub(crate) fn is_wasteful(&self) -> bool {
        let read = self.read.load(Relaxed);
        read >= MIN_BYTES && self.unused.load(Relaxed) * 4 > read
    }

    /// The largest power of two of bytes that could be read in vain with the unused share still under a quarter; 0 if
    /// there is none.
    pub(crate) fn affordable_bytes(&self) -> u64 {
        let (read, unused) = (self.read.load(Relaxed), self.unused.load(Relaxed));
        // (unused + bytes) / (read + bytes) <= 1 / 4
        let bytes = (read / 4).saturating_sub(unused) / 3 * 4;
        if read < MIN_BYTES || bytes == 0 { 0 } else { 1 << bytes.ilog2() }
    }
}

/// The histories of a table.
#[derive(Debug, Default)]
pub(crate) struct ReadHistories {
    /// History of windows whose end was known.
    pub(crate) exact: ReadHistory,
    /// History of windows that grew as the scan went.
    pub(crate) growing: ReadHistory,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waste_is_noticed_and_forgotten() {
        let history = ReadHistory::default();
        assert!(!history.is_wasteful());
        assert_eq!(history.affordable_bytes(), 0);
        history.note(1 << 20, 512 << 10);
        assert!(history.is_wasteful());
        assert_eq!(history.affordable_bytes(), 0);
        for _ in 0..64 {
            history.note(1 << 20, 0);
        }
        assert!(!history.is_wasteful());
        let affordable = history.affordable_bytes();
        let (read, unused) = (history.read.load(Relaxed), history.unused.load(Relaxed));
        assert!(affordable > 0 && 4 * (unused + affordable) <= read + affordable, "{affordable} of {read}");
    }
}
