//! Which directory has the logs of a database that is being opened.
//!
//! The caller's `wal_dir` counts, as in RocksDB; where the directory's own options are asked for, that of the newest
//! OPTIONS file. RocksDB stops there, and a database opened with another `wal_dir` than before comes up without what
//! its logs hold. Here the places where logs may be are compared first, and an open that would leave some unread is
//! refused:
//!
//! | found | outcome |
//! |---|---|
//! | logs that the MANIFEST needs, elsewhere and not in the directory chosen | refused: say the other `wal_dir`, or move them |
//! | such logs in both, and no caller chose | refused: a checkpoint beside its origin looks like this |
//! | the place that the OPTIONS file names is missing or has no log at all, and no log is elsewhere | refused: a volume that is not mounted looks like this; `skip_any_corrupted_records` opens all the same |
//! | the place that the OPTIONS file names is a database itself | the directory was copied or renamed: its own logs count |
//!
//! "Elsewhere" is the database's own directory and the place that the newest OPTIONS file names. Reading both places
//! together was rejected: in a checkpoint the OPTIONS file names the logs of another, living database.

use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::file_name::{self, FileKind};
use ferrock_format::log::WalRecoveryMode;
use ferrock_format::options_file::OptionsFile;
use ferrock_format::options_file::value::unescape;
use ferrock_tree::places::{is_another_database, is_same};
use ferrock_vfs::{FileSystem, read_file};
use std::path::{Path, PathBuf};

/// Whose `wal_dir` an open has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalDirFrom {
    Caller,
    OptionsFile,
}

/// What decides.
pub(crate) struct LogDirectoryRequest<'a> {
    pub(crate) file_system: &'a dyn FileSystem,
    /// Directory of the database.
    pub(crate) database: &'a Path,
    /// `wal_dir` of the options; empty: none.
    pub(crate) wal_dir: &'a str,
    pub(crate) wal_dir_from: WalDirFrom,
    /// No log before this one is needed.
    pub(crate) min_log_number: FileNumber,
    pub(crate) mode: WalRecoveryMode,
}

/// Where the logs are, and what is worth a line in the LOG.
#[derive(Debug)]
pub(crate) struct LogDirectory {
    pub(crate) path: PathBuf,
    pub(crate) notes: Vec<String>,
}

/// What a directory holds of logs.
#[derive(Clone, Copy, Debug, Default)]
struct LogsAt {
    exists: bool,
    /// Logs, needed or not.
    count: usize,
    /// Logs that the MANIFEST needs, also empty ones.
    needed: usize,
    needed_bytes: u64,
}

/// The `wal_dir` that the newest OPTIONS file of a database names, and the name of that file.
struct Recorded {
    directory: PathBuf,
    options_file: String,
}

impl LogDirectoryRequest<'_> {
    pub(crate) fn choose(&self) -> Result<LogDirectory> {
        let (own, mut notes) = (self.database, Vec::new());
        let recorded = self.recorded()?;
        let is_from_file = self.wal_dir_from == WalDirFrom::OptionsFile;
        let is_chosen_by_caller = !is_from_file && !self.wal_dir.is_empty();
        let mut path = match &recorded {
            Some(recorded) if is_from_file => recorded.directory.clone(),
            _ if is_chosen_by_caller => self.callers_choice()?,
            _ => own.to_path_buf(),
        };
        let at_own = self.logs_at(own)?;
        let at_recorded = recorded.as_ref().map(|recorded| self.logs_at(&recorded.directory)).transpose()?;
        if let Some(at_recorded) = at_recorded
            && is_from_file
            && at_recorded.count == 0
            && at_own.needed > 0
        {
            notes.push(format!("wal_dir = {} has no logs; those beside the tables are read", path.display()));
            path = own.to_path_buf();
        }
        let here = self.logs_at(&path)?;
        let others = std::iter::once((own, at_own))
            .chain(recorded.as_ref().map(|recorded| recorded.directory.as_path()).zip(at_recorded))
            .filter(|(directory, _)| !is_same(directory, &path));
        for (other, there) in others.filter(|(_, there)| there.needed_bytes > 0) {
            // An empty log may be what an earlier change of the directory left.
            if here.needed_bytes == 0 {
                return Err(unread(other, &path, there));
            }
            if !is_chosen_by_caller {
                return Err(ambiguous(other, &path));
            }
            notes.push(format!("{} logs in {} are not read: wal_dir says otherwise", there.needed, other.display()));
        }
        if let (Some(recorded), Some(at_recorded)) = (&recorded, at_recorded)
            && at_recorded.count == 0
        {
            let error = missing(recorded, at_recorded);
            if here.needed == 0 && self.mode != WalRecoveryMode::SkipAnyCorruptedRecords {
                return Err(error);
            }
            notes.push(error.message().to_owned());
        }
        Ok(LogDirectory { path, notes })
    }

    /// The caller's directory. One that is a database itself is either this one under another name, or a mistake.
    fn callers_choice(&self) -> Result<PathBuf> {
        let path = PathBuf::from(self.wal_dir);
        if is_another_database(self.file_system, &path, self.database)? {
            return Err(Error::invalid_argument("wal_dir is the directory of another database").in_file(path));
        }
        Ok(if self.is_database(&path)? { self.database.to_path_buf() } else { path })
    }

    fn is_database(&self, directory: &Path) -> Result<bool> {
        self.file_system.exists(&directory.join(file_name::CURRENT))
    }

    /// What the OPTIONS file says, unless that means the directory of the database.
    fn recorded(&self) -> Result<Option<Recorded>> {
        let names = self.file_system.children(self.database)?;
        let files = names.iter().filter_map(|name| file_name::parse(name).map(|parsed| (parsed, name)));
        let newest =
            files.filter(|(parsed, _)| parsed.kind == FileKind::Options).max_by_key(|(parsed, _)| parsed.number);
        let Some((_, name)) = newest else { return Ok(None) };
        let Some(text) = wal_dir_of(&read_file(self.file_system, &self.database.join(name))?) else { return Ok(None) };
        let directory = PathBuf::from(text);
        if is_same(&directory, self.database) || self.is_database(&directory)? {
            return Ok(None);
        }
        Ok(Some(Recorded { directory, options_file: name.clone() }))
    }

    fn logs_at(&self, directory: &Path) -> Result<LogsAt> {
        let names = match self.file_system.children(directory) {
            Ok(names) => names,
            Err(error) if error.is_not_found() => return Ok(LogsAt::default()),
            Err(error) => return Err(error),
        };
        let mut found = LogsAt { exists: true, ..LogsAt::default() };
        for name in &names {
            let Some(parsed) = file_name::parse(name).filter(|parsed| parsed.kind == FileKind::Log) else { continue };
            found.count += 1;
            if parsed.number >= self.min_log_number {
                found.needed += 1;
                found.needed_bytes += match self.file_system.file_size(&directory.join(name)) {
                    // Beside a running writer a log may go at any time.
                    Err(error) if error.is_not_found() => 0,
                    size => size?,
                };
            }
        }
        Ok(found)
    }
}

/// `wal_dir` of an OPTIONS file, also of one whose grammar is broken elsewhere.
fn wal_dir_of(content: &[u8]) -> Option<String> {
    let value = match OptionsFile::parse(content) {
        Ok(file) => file.db.statements.iter().find(|statement| statement.name == "wal_dir")?.value.clone(),
        Err(_) => {
            let text = String::from_utf8_lossy(content);
            text.lines().find_map(|line| line.trim().strip_prefix("wal_dir=").map(str::to_owned))?
        }
    };
    Some(unescape(value.trim())).filter(|value| !value.is_empty())
}

/// Refuses the directory of logs of a database that is yet to be made when it holds logs: they are another database's.
pub(crate) fn check_is_unused(file_system: &dyn FileSystem, directory: &Path) -> Result<()> {
    let names = match file_system.children(directory) {
        Err(error) if error.is_not_found() => return Ok(()),
        names => names?,
    };
    let log = names.iter().find(|name| file_name::parse(name).is_some_and(|name| name.kind == FileKind::Log));
    log.map_or(Ok(()), |name| {
        let what = format!("While creating a new Db, wal_dir contains existing log file: {name}");
        Err(Error::corruption(what).in_file(directory))
    })
}

fn unread(there: &Path, chosen: &Path, logs: LogsAt) -> Error {
    Error::invalid_argument(format!(
        "{} logs that the database needs lie in {}, and this open would read those of {}: set wal_dir to {}, or move \
         the logs; nothing was changed",
        logs.needed,
        there.display(),
        chosen.display(),
        there.display(),
    ))
}

fn ambiguous(there: &Path, chosen: &Path) -> Error {
    Error::invalid_argument(format!(
        "{} and {} both hold logs that the database may need: set wal_dir to the directory that is right; nothing was \
         changed",
        there.display(),
        chosen.display(),
    ))
}

fn missing(recorded: &Recorded, found: LogsAt) -> Error {
    Error::invalid_argument(format!(
        "wal_dir not found: {}, which {} names, {}; is a volume not mounted? Set wal_dir to where the logs are; \
         wal_recovery_mode kSkipAnyCorruptedRecords opens the database without what they held",
        recorded.directory.display(),
        recorded.options_file,
        if found.exists { "holds no log" } else { "does not exist" },
    ))
}
