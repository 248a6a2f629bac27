//! The purpose of a read and the limits it must keep.

use std::time::Duration;

use crate::rate_limiter::IoPriority;

/// What is read. Counters are kept per class; the class has no other effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReadClass {
    /// Data blocks of tables.
    Data,
    /// Index blocks of tables, top level and partitions.
    Index,
    /// Filter blocks of tables and their index.
    Filter,
    /// Everything else: footers, properties, logs, whole files.
    #[default]
    Other,
}

impl ReadClass {
    /// Every class, in counter order.
    pub const ALL: [Self; 4] = [Self::Data, Self::Index, Self::Filter, Self::Other];

    /// A word for reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Index => "index",
            Self::Filter => "filter",
            Self::Other => "other",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// For which work of a database a file is read. Statistics have times for each; it has no other effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IoActivity {
    /// Another one, or none that is known.
    #[default]
    Unknown,
    /// The check of a table that a flush has written.
    Flush,
    /// A compaction, and the check of what it has written.
    Compaction,
    /// A lookup of one key.
    Get,
    /// A lookup of several keys.
    MultiGet,
    /// A scan.
    DbIterator,
    /// The verification of a database's blocks.
    VerifyDbChecksum,
    /// Tables that are opened with their database.
    DbOpen,
}

/// Longest request unless a [`ReadContext`] says otherwise.
pub const DEFAULT_MAX_REQUEST_BYTES: usize = 256 << 10;

/// How a range is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadContext {
    /// What the bytes are for.
    pub class: ReadClass,
    /// For which work they are.
    pub activity: IoActivity,
    /// Ranges of one file in one batch become one request if at most this many unwanted bytes lie between them. With 0,
    /// only ranges that touch or share a unit of direct I/O do.
    pub gap_bytes: u64,
    /// Longer requests are split. Rounded down to a multiple of the unit of direct I/O, and at least one unit.
    pub max_request_bytes: usize,
    /// After this moment, in microseconds since 1970 by the file system's clock, no request is begun and reads end with
    /// `TimedOut`; 0: no deadline.
    pub deadline_us: u64,
    /// How long a request may take before it ends with `TimedOut`; zero: no limit.
    pub io_timeout: Duration,
    /// The bytes cannot change while the file is open, as those of a table. A started read may then share a request
    /// that was already in flight when the read began.
    pub is_final: bool,
    /// A started read will be polled by a task; otherwise a thread will wait for it. Both can be done with either.
    pub is_polled: bool,
    /// At which priority the read waits for the limiter of its file; `None`: it does not wait.
    pub rate_limiter_priority: Option<IoPriority>,
}

impl Default for ReadContext {
    fn default() -> Self {
        Self {
            class: ReadClass::Other,
            activity: IoActivity::Unknown,
            gap_bytes: 0,
            max_request_bytes: DEFAULT_MAX_REQUEST_BYTES,
            deadline_us: 0,
            io_timeout: Duration::ZERO,
            is_final: false,
            is_polled: false,
            rate_limiter_priority: None,
        }
    }
}

impl ReadContext {
    /// The default context for a class.
    #[must_use]
    pub fn for_class(class: ReadClass) -> Self {
        Self { class, ..Self::default() }
    }

    /// True when time bounds the read.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.deadline_us != 0 || !self.io_timeout.is_zero()
    }

    /// The moment after which a read that begins now took too long, in microseconds since 1970.
    pub(crate) fn end_us(&self, now_us: u64) -> u64 {
        let deadline_us = if self.deadline_us == 0 { u64::MAX } else { self.deadline_us };
        let timeout_us = match u64::try_from(self.io_timeout.as_micros()) {
            Ok(0) if self.io_timeout.is_zero() => u64::MAX,
            Ok(timeout_us) => now_us.saturating_add(timeout_us.max(1)),
            Err(_) => u64::MAX,
        };
        deadline_us.min(timeout_us)
    }
}

/// How a single request is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadLabel {
    /// What the bytes are for.
    pub class: ReadClass,
    /// Bytes of the request that were asked for; the rest is alignment or gaps.
    pub asked_bytes: u64,
}

impl ReadLabel {
    /// A request of which every byte is wanted.
    #[must_use]
    pub fn whole(class: ReadClass, length: usize) -> Self {
        Self { class, asked_bytes: length as u64 }
    }
}
