//! What point-in-time recovery would take of the logs of a closed database, found out by the same code, with no
//! memtable to put it into.
//!
//! Values in blob files that records refer to are not looked at: the caller has read these files.

use super::recovery::{LogRecovery, check_families_are_of_one_moment};
use crate::files::log_directory::{LogDirectoryRequest, WalDirFrom};
use crate::info_log::InfoLog;
use ferrock_base::clock::SystemClock;
use ferrock_base::{FileNumber, Result, SequenceNumber};
use ferrock_format::log::WalRecoveryMode;
use ferrock_tree::version::VersionSet;
use ferrock_vfs::FileSystem;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What point-in-time recovery takes of logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSurvey {
    /// Where the logs are.
    directory: PathBuf,
    /// By log: the sequence numbers of batches that count, from the first of each range to before its end.
    taken: BTreeMap<FileNumber, Vec<(SequenceNumber, SequenceNumber)>>,
    /// The log in which it stops.
    stopped_at: Option<FileNumber>,
}

impl LogSurvey {
    /// True when the entry of a log with this sequence number counts.
    #[must_use]
    pub fn has(&self, log: FileNumber, sequence: SequenceNumber) -> bool {
        let ranges = self.taken.get(&log);
        ranges.is_some_and(|ranges| ranges.iter().any(|(from, end)| *from <= sequence && sequence < *end))
    }

    /// True where recovery stops before the end of the logs.
    #[must_use]
    pub fn stops(&self) -> bool {
        self.stopped_at.is_some()
    }

    /// Whether an open of `versions` accepts what counts; tables of `left_out` are taken for not there.
    ///
    /// # Errors
    /// `Corruption` where the families would be of different moments.
    pub fn check(&self, versions: &VersionSet, left_out: &BTreeSet<FileNumber>) -> Result<()> {
        let Some(stopped_at) = self.stopped_at else { return Ok(()) };
        let families = versions.families();
        let families = families.iter().map(|view| {
            let has_tables = view.current.files().any(|(_, file)| !left_out.contains(&file.number));
            (&*view.name, view.log_number, has_tables)
        });
        check_families_are_of_one_moment(&self.directory, families, stopped_at)
    }
}

/// Reads the logs of the database in `database` as an open of `versions` with `wal_recovery_mode=kPointInTimeRecovery`
/// does. `wal_dir` is that of the options, and whether the OPTIONS file alone names it. Writes nothing.
///
/// # Errors
/// Those of the open, but for what [`LogSurvey::check`] tells: `InvalidArgument` where it is not clear which directory
/// has the logs, `NotSupported` for prepared transactions, `Io` of reads.
pub fn survey_logs(
    file_system: &Arc<dyn FileSystem>,
    database: &Path,
    (wal_dir, is_by_file): (&str, bool),
    versions: &VersionSet,
) -> Result<LogSurvey> {
    let request = LogDirectoryRequest {
        file_system: &**file_system,
        database,
        wal_dir,
        wal_dir_from: if is_by_file { WalDirFrom::OptionsFile } else { WalDirFrom::Caller },
        min_log_number: versions.oldest_needed_log(),
        mode: WalRecoveryMode::PointInTimeRecovery,
    };
    let directory = request.choose()?.path;
    let info_log = InfoLog::without_file(Arc::clone(file_system), SystemClock::shared(), None);
    let survey = Mutex::new(LogSurvey::default());
    let observer = |log, from: SequenceNumber, end: SequenceNumber| {
        let mut survey = survey.lock();
        let ranges = survey.taken.entry(log).or_default();
        match ranges.last_mut() {
            Some((_, before)) if *before == from => *before = end,
            _ => ranges.push((from, end)),
        }
    };
    let recovery = LogRecovery {
        file_system: &**file_system,
        directory: &directory,
        mode: WalRecoveryMode::PointInTimeRecovery,
        paranoid: true,
        min_log_number: versions.oldest_needed_log(),
        min_log_number_to_keep: versions.min_log_number_to_keep(),
        info_log: &info_log,
        values: None,
        observer: Some(&observer),
        tailing: None,
    };
    let read = recovery.run(recovery.open()?, &BTreeMap::new(), versions.last_sequence(), |_| Ok(()))?;
    Ok(LogSurvey { directory, stopped_at: read.stopped_at, ..survey.into_inner() })
}
