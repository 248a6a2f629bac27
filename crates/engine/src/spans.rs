//! Spans of what a database does, for programs with a subscriber of the crate `tracing`: the feature `tracing`.
//!
//! | span (target `ferrock`) | is | fields |
//! |---|---|---|
//! | `open` | an open, for reading too | `path` |
//! | `flush` | memtables of families become tables that count | `path`, `job`, `families` |
//! | `compaction` | from its begin until readers have its outputs | `path`, `family`, `reason`, `start_level`, `output_level`, `input_bytes` |
//! | `write_stall` | a writer is slowed down or stopped | `path`, `cause`, `kind` |
//!
//! A span is entered by the thread that does the work, and left where the [`Span`] is dropped. Without the feature a
//! [`Span`] is empty, and nothing is done for it.

use crate::metrics::WaitCause;
use crate::metrics::stalls::WaitKind;
use ferrock_tree::compaction::choice::CompactionChoice;
use std::path::Path;

/// A span that the thread is in until this is dropped.
#[must_use]
pub(crate) struct Span {
    #[cfg(feature = "tracing")]
    _entered: tracing::span::EnteredSpan,
}

#[cfg(feature = "tracing")]
macro_rules! span {
    ($name:literal, $($field:tt)*) => {
        Span { _entered: tracing::info_span!(target: "ferrock", $name, $($field)*).entered() }
    };
}

/// Without the feature the fields are named only.
#[cfg(not(feature = "tracing"))]
macro_rules! span {
    ($name:literal, $($field:ident = $(%)? $value:expr),*) => {{
        $(let _ = || $value;)*
        Span {}
    }};
}

/// An open.
pub(crate) fn open(path: &Path) -> Span {
    span!("open", path = %path.display())
}

/// A flush of so many families.
pub(crate) fn flush(path: &Path, job: u64, families: usize) -> Span {
    span!("flush", path = %path.display(), job = job, families = families)
}

/// A compaction.
pub(crate) fn compaction(path: &Path, family: &str, choice: &CompactionChoice) -> Span {
    span!(
        "compaction",
        path = %path.display(),
        family = family,
        reason = %choice.reason.name(),
        start_level = choice.start_level,
        output_level = choice.output_level,
        input_bytes = choice.input_size_bytes()
    )
}

/// A wait of a writer.
pub(crate) fn write_stall(path: &Path, cause: WaitCause, kind: WaitKind) -> Span {
    let kind = match kind {
        WaitKind::Delay => "delay",
        WaitKind::Stop => "stop",
    };
    span!("write_stall", path = %path.display(), cause = cause.name(), kind = kind)
}
