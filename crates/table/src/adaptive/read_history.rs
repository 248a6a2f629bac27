//! The share of the bytes read by scans with bounds that they use, kept per table.
//!
//! A scan whose bounds are known reads its whole range at once; if such scans keep stopping early, part of it is read
//! in vain. So a table counts the bytes that its scans with bounds read and left unused, and while more than a quarter
//! is unused, it ignores the bounds: a scan begins with a window of what scans usually use, and doubles it. Those
//! windows are counted, too: they are mostly used, so the share falls, and the bounds are trusted again. Scans that go
//! on stopping early thus leave about a quarter unused, and scans that begin to use their ranges are believed after a
//! few megabytes. Old counts lose their weight by halves.
//!
//! Tried and lost: windows that begin with one block and double (four times the requests where scans use a tenth of
//! their ranges of 800 KiB); a first window for scans without bounds, as large as the history could bear (no difference
//! to the requests and bytes of scans with `adaptive_readahead` over 200 tables, as a scan that continues in the next
//! table keeps its window).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts are halved when they reach this number of bytes, so that they reflect the last few megabytes.
const MEMORY_BYTES: u64 = 8 << 20;
/// Fewer bytes than this decide nothing.
const MIN_BYTES: u64 = 256 << 10;
/// The last scan counts as one of so many in the usual use.
const WEIGHT: u64 = 8;

/// Bytes that windows read, bytes of them left unused, and what scans usually use. Updates race, so all are estimates.
#[derive(Debug, Default)]
pub(crate) struct ReadHistory {
    read: AtomicU64,
    unused: AtomicU64,
    usual: AtomicU64,
}

impl ReadHistory {
    /// Adds a window of `read` bytes, of which `unused` were left; `is_first`: the one that a scan began with.
    pub(crate) fn note(&self, read: u64, unused: u64, is_first: bool) {
        let total = self.read.fetch_add(read, Relaxed) + read;
        self.unused.fetch_add(unused.min(read), Relaxed);
        if total >= MEMORY_BYTES {
            self.read.store(total / 2, Relaxed);
            self.unused.store(self.unused.load(Relaxed) / 2, Relaxed);
        }
        if is_first {
            // A scan that uses all of its first window goes on.
            let used = if unused == 0 { 2 * read } else { read.saturating_sub(unused) };
            let usual = self.usual.load(Relaxed);
            let next = if usual == 0 { used } else { usual - usual / WEIGHT + used / WEIGHT };
            self.usual.store(next, Relaxed);
        }
    }

    /// The bytes that scans with bounds usually use, and a quarter more, if they leave more than a quarter of what is
    /// read unused; `None` while their bounds can be trusted.
    pub(crate) fn usual_bytes(&self) -> Option<u64> {
        let (read, unused) = (self.read.load(Relaxed), self.unused.load(Relaxed));
        let usual = self.usual.load(Relaxed);
        (read >= MIN_BYTES && unused * 4 > read).then_some(usual + usual / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waste_is_noticed_and_forgotten() {
        let history = ReadHistory::default();
        assert_eq!(history.usual_bytes(), None);
        history.note(128 << 10, 96 << 10, true);
        assert_eq!(history.usual_bytes(), None, "too little to decide");
        history.note(128 << 10, 96 << 10, true);
        assert_eq!(history.usual_bytes(), Some(40 << 10));
        let windows = (1..).find(|_| {
            history.note(64 << 10, 0, false);
            history.usual_bytes().is_none()
        });
        // Four times the 192 KiB that were left unused, less the 256 KiB that were read.
        assert_eq!(windows, Some(8));
    }

    #[test]
    fn scans_that_use_their_first_window_get_larger_ones() {
        let history = ReadHistory::default();
        history.note(1 << 20, 1 << 20, true);
        let mut window = 4096;
        for _ in 0..200 {
            history.note(window, window.saturating_sub(100_000), true);
            window = history.usual_bytes().unwrap_or(window);
        }
        assert!((100_000..150_000).contains(&window), "{window}");
    }
}
