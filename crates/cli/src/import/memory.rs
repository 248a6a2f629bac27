//! Who holds how many bytes of what `--memory` allows.
//!
//! ```text
//! while rows are read     [ rows: 3/8 ][ their places: 1/8 ][ a row, buffers ]
//! while tables are made   [ buffers of runs: 1/4 ][ pieces: 3/8 ][ table builders ]
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts bytes, and the most of them.
#[derive(Debug)]
pub(super) struct Memory {
    limit: u64,
    now: AtomicU64,
    peak: AtomicU64,
}

/// Bytes that are counted until this is dropped.
#[derive(Debug)]
pub(super) struct Held<'a> {
    memory: &'a Memory,
    bytes: u64,
}

impl Memory {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, now: AtomicU64::new(0), peak: AtomicU64::new(0) }
    }

    /// So many eighths of all.
    pub(super) fn eighths(&self, eighths: u64) -> usize {
        usize::try_from(self.limit / 8 * eighths).unwrap_or(usize::MAX)
    }

    /// How many bytes a row may have. A reader has it more than once beside the rows that are gathered; when tables are
    /// made, it is in buffers, and in a piece.
    pub(super) fn longest_row_bytes(&self) -> usize {
        (self.eighths(1) / 8).min(1 << 30)
    }

    pub(super) fn hold(&self, bytes: usize) -> Held<'_> {
        let mut held = Held { memory: self, bytes: 0 };
        held.set(bytes);
        held
    }

    pub(super) fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

impl Held<'_> {
    pub(super) fn set(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        let now = &self.memory.now;
        let after = match bytes >= self.bytes {
            true => now.fetch_add(bytes - self.bytes, Ordering::Relaxed) + (bytes - self.bytes),
            false => now.fetch_sub(self.bytes - bytes, Ordering::Relaxed) - (self.bytes - bytes),
        };
        self.bytes = bytes;
        self.memory.peak.fetch_max(after, Ordering::Relaxed);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.set(0);
    }
}
