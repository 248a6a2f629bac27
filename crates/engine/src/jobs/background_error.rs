//! Background-error states: when the database stops accepting writes, and how it goes
//! on.
//!
//! | what failed                       | severity                        |
//! |-----------------------------------|---------------------------------|
//! | flush, compaction: I/O, no space, memory limit | soft: `resume`     |
//! | flush, compaction: bound of an `SstFileManager` | hard: `resume`  |
//! | append to or sync of the log      | hard: `resume` begins a new one |
//! | tables behind an open (`open_files_async`): I/O | soft: `resume`     |
//! | any write of the MANIFEST         | hard: `resume` begins a new one |
//! | insert into a memtable            | fatal: half a batch is in it    |
//! | anything that is corrupt          | fatal                           |
//!
//! Every state stops writes and keeps reads going. `resume` (`db/resume.rs`) leaves the
//! soft and the hard states. A fatal one stays until the database is reopened: writing on
//! would bury the damage.
//!
//! Of those that `resume` leaves, the ones with a cause that passes are left without a call:
//! a full device, a bound of space, a memory limit, a lack of descriptors or of other resources. A device that
//! answers with an error is not asked again behind the caller's back. RocksDB's table differs:
//! there an I/O error that is not marked as retryable is fatal.
//!
//! The first error stands until a more severe one comes.

use ferrock_base::{Error, ErrorKind};
use ferrock_options::BackgroundErrorReason;
use std::io::ErrorKind as IoKind;

/// What was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Flush,
    Compaction,
    /// Tables behind an open.
    Opening,
    Manifest,
    /// Append to or sync of the log.
    Write,
    /// The insert that followed it.
    MemTable,
}

impl Reason {
    /// What listeners are told.
    pub(crate) fn told(self) -> BackgroundErrorReason {
        match self {
            Self::Flush => BackgroundErrorReason::Flush,
            Self::Compaction => BackgroundErrorReason::Compaction,
            Self::Opening => BackgroundErrorReason::AsyncFileOpen,
            Self::Manifest => BackgroundErrorReason::ManifestWrite,
            Self::Write => BackgroundErrorReason::WriteCallback,
            Self::MemTable => BackgroundErrorReason::MemTable,
        }
    }
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// `resume` tries again.
    Soft,
    /// Files are in an unknown state; `resume` replaces them.
    Hard,
    /// Only reopening helps.
    Fatal,
}

impl Severity {
    /// The word for it in the LOG.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Soft => "soft",
            Self::Hard => "hard",
            Self::Fatal => "fatal",
        }
    }
}

/// The severity of an error that ended background work or a write.
pub(crate) fn severity(reason: Reason, kind: ErrorKind) -> Severity {
    match (reason, kind) {
        (_, ErrorKind::Corruption) | (Reason::MemTable, _) => Severity::Fatal,
        (Reason::Manifest | Reason::Write, _) | (_, ErrorKind::SpaceLimit) => Severity::Hard,
        (
            Reason::Flush | Reason::Compaction | Reason::Opening,
            ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::MemoryLimit,
        ) => Severity::Soft,
        (Reason::Flush | Reason::Compaction | Reason::Opening, _) => Severity::Fatal,
    }
}

/// The state: no error, or the one that stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct BackgroundError {
    standing: Option<(Error, Severity, Reason)>,
    /// A thread tries to leave the state.
    is_recovering: bool,
    count: u64,
}

impl BackgroundError {
    /// True for what ends work without anything being wrong.
    pub(crate) fn counts_for_nothing(error: &Error) -> bool {
        matches!(error.kind(), ErrorKind::ShutdownInProgress | ErrorKind::ColumnFamilyDropped)
    }

    /// Takes notice of an error; returns true when the state changed.
    pub(crate) fn set(&mut self, reason: Reason, error: &Error) -> bool {
        if Self::counts_for_nothing(error) {
            return false;
        }
        self.count += 1;
        let severity = severity(reason, error.kind());
        if self.standing.as_ref().is_some_and(|(_, standing, _)| *standing >= severity) {
            return false;
        }
        self.standing = Some((error.clone(), severity, reason));
        true
    }

    /// What a writer is told.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match &self.standing {
            None => Ok(()),
            Some((error, severity, _)) => {
                let remedy = match severity {
                    _ if self.is_recovering => "writes are stopped, and accepted again when the cause is gone",
                    Severity::Soft | Severity::Hard => {
                        "writes are stopped; remove the cause, then resume or reopen the database"
                    }
                    Severity::Fatal => "writes are stopped until the database is reopened",
                };
                Err(error.clone().context(remedy))
            }
        }
    }

    /// The error that stands.
    pub(crate) fn standing(&self) -> Option<&Error> {
        self.standing.as_ref().map(|(error, ..)| error)
    }

    /// The same, and what failed.
    pub(crate) fn standing_with_reason(&self) -> Option<(&Error, Reason)> {
        self.standing.as_ref().map(|(error, _, reason)| (error, *reason))
    }

    /// True when `resume` may try.
    pub(crate) fn is_resumable(&self) -> bool {
        self.standing.as_ref().is_some_and(|(_, severity, _)| *severity < Severity::Fatal)
    }

    /// True when the cause may pass, and leaving the state without a call is safe.
    pub(crate) fn is_passing(&self) -> bool {
        self.is_resumable() && self.standing().is_some_and(passes)
    }

    /// True while a thread tries to leave the state.
    pub(crate) fn is_recovering(&self) -> bool {
        self.is_recovering
    }

    /// A thread begins or ends to try.
    pub(crate) fn set_recovering(&mut self, is_recovering: bool) {
        self.is_recovering = is_recovering;
    }

    /// Ends the state.
    pub(crate) fn clear(&mut self) {
        self.standing = None;
    }

    /// Errors noticed since the database opened.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

/// True for errors whose cause may pass without the device being at fault.
fn passes(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::NoSpace | ErrorKind::SpaceLimit | ErrorKind::MemoryLimit => true,
        ErrorKind::Io => {
            error.is_out_of_descriptors()
                || matches!(
                    error.io_kind(),
                    Some(IoKind::Interrupted | IoKind::WouldBlock | IoKind::OutOfMemory | IoKind::TimedOut)
                )
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_stands_until_a_worse_one() {
        let mut state = BackgroundError::default();
        assert!(state.check().is_ok());
        let full = Error::new(ErrorKind::NoSpace, "disk full");
        assert!(state.set(Reason::Flush, &full));
        assert!(!state.set(Reason::Compaction, &Error::new(ErrorKind::Io, "other")));
        assert!(state.is_passing());
        assert!(state.check().unwrap_err().to_string().contains("resume or reopen"));
        state.set_recovering(true);
        assert!(state.check().unwrap_err().to_string().contains("accepted again when the cause is gone"));
        state.set_recovering(false);
        assert!(state.set(Reason::Compaction, &Error::corruption("bad block")));
        assert!(!state.is_resumable() && !state.is_passing());
        assert_eq!(state.count(), 3);
        state.clear();
        assert!(state.check().is_ok());
    }

    #[test]
    fn severities() {
        assert_eq!(severity(Reason::Write, ErrorKind::Io), Severity::Hard);
        assert_eq!(severity(Reason::Flush, ErrorKind::NoSpace), Severity::Soft);
        assert_eq!(severity(Reason::Manifest, ErrorKind::NoSpace), Severity::Hard);
        assert_eq!(severity(Reason::Flush, ErrorKind::InvalidArgument), Severity::Fatal);
    }
}
