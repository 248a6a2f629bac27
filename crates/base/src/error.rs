//! Errors: a few kinds that a caller can act on, with rich context inside.
//!
//! The kind tells what the caller can do; the message tells what happened, to which file, at which offset, and the
//! remedy. Errors are cheap to clone because one background failure is reported to every later writer.
//!
//! The `Display` form starts with RocksDB's status prefix (`Corruption: `,
//! `IO error: `, ...), which bindings and log scrapers parse.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Shorthand used throughout the engine.
pub type Result<T> = std::result::Result<T, Error>;

/// What a caller can do about an [`Error`]. The names are RocksDB's status codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The requested object does not exist.
    NotFound,
    /// Bytes on disk differ from those that were written. Restore or repair.
    Corruption,
    /// The value or file uses a feature this build does not have.
    NotSupported,
    /// The caller's argument or option is wrong.
    InvalidArgument,
    /// A file operation failed. The source tells why.
    Io,
    /// The device is full (an [`Io`](Self::Io) error with its own remedy: free space; a database then resumes by
    /// itself).
    NoSpace,
    /// The files of databases have reached the bound of their `SstFileManager` (an [`Io`](Self::Io) error with its own
    /// remedy: raise the bound, or remove data; a database then resumes by itself).
    SpaceLimit,
    /// A compaction does not fit below that bound.
    CompactionTooLarge,
    /// The merge operator could not combine its operands.
    MergeInProgress,
    /// The work could not be done without waiting (`no_slowdown`, `read_tier`).
    Incomplete,
    /// The database is closing.
    ShutdownInProgress,
    /// A wait ran out of time.
    TimedOut,
    /// The work was cancelled.
    Aborted,
    /// A memory budget with a strict limit is full of memory in use (in RocksDB an [`Aborted`](Self::Aborted) error,
    /// with its own remedy: raise the capacity, then try again).
    MemoryLimit,
    /// Another owner holds the resource (the LOCK file, a column family).
    Busy,
    /// Another change invalidated the result; the same call may succeed now.
    TryAgain,
    /// The column family was dropped.
    ColumnFamilyDropped,
}

impl ErrorKind {
    /// RocksDB's prefix for the kind, as its `Status::ToString` prints it.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::NotFound => "NotFound: ",
            Self::Corruption => "Corruption: ",
            Self::NotSupported => "Not implemented: ",
            Self::InvalidArgument => "Invalid argument: ",
            Self::Io => "IO error: ",
            Self::NoSpace => "IO error: No space left on device: ",
            Self::SpaceLimit => "IO error: Space limit reached: ",
            Self::CompactionTooLarge => "Compaction too large: ",
            Self::MergeInProgress => "Merge in progress: ",
            Self::Incomplete => "Result incomplete: ",
            Self::ShutdownInProgress => "Shutdown in progress: ",
            Self::TimedOut => "Operation timed out: ",
            Self::Aborted => "Operation aborted: ",
            Self::MemoryLimit => "Operation aborted: Memory limit reached: ",
            Self::Busy => "Resource busy: ",
            Self::TryAgain => "Operation failed. Try again.: ",
            Self::ColumnFamilyDropped => "Column family dropped: ",
        }
    }

    /// The bare status name used by tools (`Corruption`, `NotFound`, ...).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFound => "NotFound",
            Self::Corruption => "Corruption",
            Self::NotSupported => "NotSupported",
            Self::InvalidArgument => "InvalidArgument",
            Self::Io | Self::NoSpace | Self::SpaceLimit => "IOError",
            Self::CompactionTooLarge => "CompactionTooLarge",
            Self::MergeInProgress => "MergeInProgress",
            Self::Incomplete => "Incomplete",
            Self::ShutdownInProgress => "ShutdownInProgress",
            Self::TimedOut => "TimedOut",
            Self::Aborted | Self::MemoryLimit => "Aborted",
            Self::Busy => "Busy",
            Self::TryAgain => "TryAgain",
            Self::ColumnFamilyDropped => "ColumnFamilyDropped",
        }
    }
}

#[derive(Clone, Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    file: Option<PathBuf>,
    offset: Option<u64>,
    source: Option<Arc<std::io::Error>>,
}

/// An error of the engine: a kind, a message, and where it happened.
///
/// ```
/// use ferrock_base::{Error, ErrorKind};
/// let error = Error::corruption("block checksum mismatch").in_file("000012.sst").at_offset(4096);
/// assert_eq!(error.kind(), ErrorKind::Corruption);
/// assert_eq!(error.to_string(), "Corruption: block checksum mismatch: file 000012.sst, offset 4096");
/// ```
#[derive(Clone, Debug)]
pub struct Error(Arc<Inner>);

impl Error {
    /// An error of any kind. The named constructors read better.
    #[cold]
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner { kind, message: message.into(), file: None, offset: None, source: None }))
    }

    /// Bytes on disk are wrong. Add [`in_file`](Self::in_file) and [`at_offset`](Self::at_offset) where they are known.
    #[cold]
    #[must_use]
    pub fn corruption(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corruption, what)
    }

    /// The caller's argument is wrong; say the value and the bound.
    #[cold]
    #[must_use]
    pub fn invalid_argument(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, what)
    }

    /// A feature that this build does not have.
    #[cold]
    #[must_use]
    pub fn not_supported(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotSupported, what)
    }

    /// A file operation failed. `operation` is a verb: `open`, `sync`, `rename to x`.
    #[cold]
    #[must_use]
    pub fn io(operation: &str, path: impl AsRef<Path>, source: std::io::Error) -> Self {
        let kind = match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => ErrorKind::NoSpace,
            _ => ErrorKind::Io,
        };
        Self(Arc::new(Inner {
            kind,
            message: format!("While {operation}: {source}"),
            file: Some(path.as_ref().to_path_buf()),
            offset: None,
            source: Some(Arc::new(source)),
        }))
    }

    /// Names the file, unless a deeper layer already did.
    #[must_use]
    pub fn in_file(mut self, file: impl AsRef<Path>) -> Self {
        let inner = Arc::make_mut(&mut self.0);
        if inner.file.is_none() {
            inner.file = Some(file.as_ref().to_path_buf());
        }
        self
    }

    /// Names the byte offset in the file, unless a deeper layer already did.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        let inner = Arc::make_mut(&mut self.0);
        if inner.offset.is_none() {
            inner.offset = Some(offset);
        }
        self
    }

    /// Adds an offset to the one already named (a block knows offsets within itself,
    /// its reader knows where the block starts).
    #[must_use]
    pub fn offset_by(mut self, base: u64) -> Self {
        let inner = Arc::make_mut(&mut self.0);
        inner.offset = Some(base.saturating_add(inner.offset.unwrap_or(0)));
        self
    }

    /// Prefixes the message with what was attempted.
    #[must_use]
    pub fn context(mut self, what: &str) -> Self {
        let inner = Arc::make_mut(&mut self.0);
        inner.message = format!("{what}: {}", inner.message);
        self
    }

    /// What the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The file, where one is known.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    /// The byte offset in [`file`](Self::file), where one is known.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The message without prefix, file and offset.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The operating system's error kind, if a file operation failed.
    #[must_use]
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        self.0.source.as_ref().map(|source| source.kind())
    }

    /// True for errors of kind [`ErrorKind::Corruption`].
    #[must_use]
    pub fn is_corruption(&self) -> bool {
        self.kind() == ErrorKind::Corruption
    }

    /// True if the process or the system has reached its limit of open files.
    #[must_use]
    #[doc(hidden)]
    pub fn is_out_of_descriptors(&self) -> bool {
        // ENFILE and EMFILE; the standard library has no kind for them.
        let code = self.0.source.as_ref().and_then(|source| source.raw_os_error());
        cfg!(unix) && matches!(code, Some(23 | 24))
    }

    /// True if a file or directory did not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.kind() == ErrorKind::NotFound || self.io_kind() == Some(std::io::ErrorKind::NotFound)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.kind.prefix())?;
        f.write_str(&self.0.message)?;
        match (&self.0.file, self.0.offset) {
            (Some(file), Some(offset)) => write!(f, ": file {}, offset {offset}", file.display()),
            (Some(file), None) => write!(f, ": file {}", file.display()),
            (None, Some(offset)) => write!(f, ": offset {offset}"),
            (None, None) => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| &**source as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_layer_names_the_place() {
        let error = Error::corruption("bad entry").at_offset(7).in_file("a.sst").in_file("b.sst").at_offset(9);
        assert_eq!(error.file(), Some(Path::new("a.sst")));
        assert_eq!(error.offset(), Some(7));
        assert_eq!(error.offset_by(100).offset(), Some(107));
    }

    #[test]
    fn a_full_device_has_its_own_kind() {
        let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = Error::io("append", "000004.log", source);
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert_eq!(error.kind().name(), "IOError");
    }
}
