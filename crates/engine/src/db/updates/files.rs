//! The logs of a database, alive and archived: which there are, where each begins, and how far each is to be read.
//!
//! ```text
//! view of the logs in use -> WAL_DIR -> WAL_DIR/archive      a log that moves meanwhile is in one of the two
//! ```
//!
//! A log of the running database has space reserved behind its records, and its writer may be adding to it: it is read
//! as far as the view says. One that is not in use any more is read to its end.

use crate::db::DbCore;
use crate::files::LogPin;
use crate::files::archive::{archive_of, log_numbers};
use crate::jobs::background_error::Reason;
use crate::write::logs::LogsView;
use crate::write::wal;
use ferrock_base::{Error, ErrorKind, FileNumber, Result, SequenceNumber};
use ferrock_format::file_name::{self, ARCHIVE_DIRECTORY};
use ferrock_format::log::{BlockSource, LogEvent, LogReader, WalRecoveryMode};
use ferrock_format::write_batch::WriteBatchRef;
use ferrock_vfs::{SequentialFile, SequentialOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a log lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WalKind {
    /// In the directory of the logs: needed, or about to be archived or removed.
    Alive,
    /// In `archive/` below it: kept by `wal_ttl_seconds` or `wal_size_limit_mb`.
    Archived,
}

/// A log of a database. See [`Db::sorted_wal_files`](crate::Db::sorted_wal_files).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalFile {
    /// The number in its name.
    pub number: FileNumber,
    /// Where it lay when it was listed.
    pub kind: WalKind,
    /// The sequence number of its first batch; 0: it has none yet.
    pub start_sequence: SequenceNumber,
    /// Bytes of its records; of a log that is not in use any more those of the file.
    pub size_bytes: u64,
}

impl WalFile {
    /// The path below the directory of the logs: `000012.log`, or `archive/000012.log`.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        relative_path(self.number, self.kind)
    }
}

fn relative_path(number: FileNumber, kind: WalKind) -> PathBuf {
    let name = file_name::log(number);
    match kind {
        WalKind::Alive => PathBuf::from(name),
        WalKind::Archived => [ARCHIVE_DIRECTORY, &name].iter().collect(),
    }
}

/// How a log begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// The sequence number of the first batch.
    start: Option<SequenceNumber>,
    /// Up to which sequence number the logs before were written, where the log says it.
    follows: Option<SequenceNumber>,
    /// Something before the first batch is damaged.
    is_damaged: bool,
}

impl Head {
    /// The last sequence number that a log before this one has to tell. What lies behind it there was never
    /// acknowledged, or was given up by a recovery.
    pub(super) fn bound_of_earlier(&self) -> Option<SequenceNumber> {
        self.follows.or_else(|| self.start.map(|start| SequenceNumber(start.0.saturating_sub(1))))
    }

    pub(super) fn has_record(&self) -> bool {
        *self != Self::default()
    }

    pub(super) fn start(&self) -> Option<SequenceNumber> {
        self.start
    }
}

/// A log that was found.
#[derive(Clone, Debug)]
pub(super) struct ListedLog {
    pub(super) number: FileNumber,
    pub(super) kind: WalKind,
    /// Bytes to read; `None`: all.
    pub(super) limit: Option<u64>,
    /// As far as it was looked at.
    pub(super) head: Head,
}

/// A log as far as it may be read.
pub(super) struct BoundedFile {
    file: Box<dyn SequentialFile>,
    position: u64,
    pub(super) limit: u64,
}

impl BlockSource for BoundedFile {
    fn read_block(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let left = usize::try_from(self.limit - self.position).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read(&mut buffer[..left])?;
        self.position += read as u64;
        Ok(read)
    }
}

/// A log that is being read. It is not removed meanwhile.
pub(super) struct OpenLog {
    pub(super) number: FileNumber,
    pub(super) path: PathBuf,
    pub(super) reader: LogReader<BoundedFile>,
    _pin: LogPin,
}

impl OpenLog {
    /// Reads on where the log has got longer; false where it has not.
    pub(super) fn raise_limit(&mut self, limit: Option<u64>) -> Result<bool> {
        let source = self.reader.source_mut();
        let limit = limit.unwrap_or(u64::MAX);
        if limit <= source.limit {
            return Ok(false);
        }
        source.limit = limit;
        self.reader.read_on().map_err(|error| error.in_file(&self.path))?;
        Ok(true)
    }
}

/// What is in the logs now, for a reader. What waited for a flush is in the files then.
pub(super) fn view(core: &DbCore) -> Result<LogsView> {
    if core.jobs.is_read_only() {
        return Ok(LogsView { logs: Vec::new(), last_logged: core.visible() });
    }
    core.writes.logs().view().inspect_err(|error| {
        if error.kind() == ErrorKind::ShutdownInProgress {
            return;
        }
        core.jobs.set_error(Reason::Write, error);
        core.events.tell_collected();
    })
}

/// The logs of a view and those that lie in the archive, oldest first. Heads that `known` logs have are taken over.
pub(super) fn list(core: &DbCore, view: &LogsView, known: &[ListedLog]) -> Result<Vec<ListedLog>> {
    let (file_system, directory) = (&*core.env.file_system, core.files.places().log_directory());
    let alive = log_numbers(file_system, directory)?;
    let archived = log_numbers(file_system, &archive_of(directory))?;
    let newest = view.logs.last().map(|log| log.number);
    let mut logs: Vec<ListedLog> = Vec::with_capacity(alive.len() + archived.len());
    for (number, kind) in
        archived.iter().map(|log| (*log, WalKind::Archived)).chain(alive.iter().map(|log| (*log, WalKind::Alive)))
    {
        // One that was begun since the view was taken is a later look's business.
        if newest.is_some_and(|newest| number > newest) || logs.iter().any(|log| log.number == number) {
            continue;
        }
        let head = known.iter().find(|log| log.number == number).map_or_else(Head::default, |log| log.head);
        logs.push(ListedLog { number, kind, limit: limit_of(view, number), head });
    }
    logs.sort_by_key(|log| log.number);
    Ok(logs)
}

/// Bytes of a log that may be read; `None`: all.
pub(super) fn limit_of(view: &LogsView, number: FileNumber) -> Option<u64> {
    view.logs.iter().find(|log| log.number == number).map(|log| log.size_bytes)
}

/// Opens a log, also one that was archived since it was listed; `None` where it is gone.
pub(super) fn open(core: &DbCore, log: &ListedLog, verify_checksums: bool) -> Result<Option<OpenLog>> {
    let Some(pin) = core.files.pin_log(log.number) else { return Ok(None) };
    let directory = core.files.places().log_directory();
    for kind in [log.kind, WalKind::Archived] {
        let path = directory.join(relative_path(log.number, kind));
        let file = match core.env.file_system.open_sequential(&path, &SequentialOptions::default()) {
            Err(error) if error.is_not_found() => continue,
            file => file?,
        };
        let source = BoundedFile { file, position: 0, limit: log.limit.unwrap_or(u64::MAX) };
        let reader = LogReader::new(source, log.number, WalRecoveryMode::TolerateCorruptedTailRecords);
        let reader = if verify_checksums { reader } else { reader.without_checksums() };
        return Ok(Some(OpenLog { number: log.number, path, reader, _pin: pin }));
    }
    Ok(None)
}

/// How a log begins; `None` where it is gone. `damage` is what was passed over before its first batch.
fn read_head(core: &DbCore, log: &ListedLog) -> Result<Option<(Head, Option<Error>)>> {
    let Some(mut open) = open(core, log, true)? else { return Ok(None) };
    let (mut head, mut damage, mut scratch) = (Head::default(), None, Vec::new());
    loop {
        let found = match open.reader.read_record(&mut scratch).map_err(|error| error.in_file(&open.path))? {
            LogEvent::Record { physical_offset, data } => match WriteBatchRef::new(data) {
                Ok(batch) => match wal::follows(&batch) {
                    Some(last) => {
                        head.follows = head.follows.or(Some(last));
                        continue;
                    }
                    None => {
                        head.start = Some(batch.sequence());
                        return Ok(Some((head, damage)));
                    }
                },
                Err(error) => error.at_offset(physical_offset).in_file(&open.path),
            },
            LogEvent::Corruption { offset, what, .. } => damaged(&open.path, offset, &what),
            LogEvent::End | LogEvent::OldRecord { .. } => break,
        };
        damage = damage.or(Some(found));
    }
    if open.reader.has_torn_end() {
        damage = damage.or_else(|| Some(torn(&open)));
    }
    head.is_damaged = damage.is_some();
    Ok(Some((head, damage)))
}

pub(super) fn damaged(path: &Path, offset: u64, what: &str) -> Error {
    Error::corruption(what.to_owned()).at_offset(offset).in_file(path)
}

pub(super) fn torn(log: &OpenLog) -> Error {
    damaged(&log.path, log.reader.last_record_end(), "the log ends in the middle of a record")
}

/// How the log at `index` begins, looked at until it has a record. One that is gone has none.
pub(super) fn head(core: &DbCore, logs: &mut [ListedLog], index: usize) -> Result<Head> {
    let log = &mut logs[index];
    if !log.head.has_record() {
        log.head = read_head(core, log)?.map_or_else(Head::default, |(head, _)| head);
    }
    Ok(log.head)
}

/// See [`Db::sorted_wal_files`](crate::Db::sorted_wal_files).
pub(crate) fn sorted_wal_files(core: &DbCore) -> Result<Vec<WalFile>> {
    check_readable(core)?;
    let view = view(core)?;
    let mut files = Vec::new();
    for log in list(core, &view, &[])? {
        let Some((head, damage)) = read_head(core, &log)? else { continue };
        match (head.start, damage) {
            (None, Some(damage)) if core.options.load().paranoid_checks => return Err(damage),
            (None, _) => {}
            (Some(_), _) => files.extend(told(core, &log, head)?),
        }
    }
    Ok(files)
}

/// See [`Db::current_wal_file`](crate::Db::current_wal_file).
pub(crate) fn current_wal_file(core: &Arc<DbCore>) -> Result<WalFile> {
    core.jobs.check_open()?;
    let view = view(core)?;
    let Some(current) = view.logs.last() else {
        return Err(Error::new(ErrorKind::NotFound, "there is no log"));
    };
    let limit = Some(current.size_bytes);
    let log = ListedLog { number: current.number, kind: WalKind::Alive, limit, head: Head::default() };
    let head = read_head(core, &log)?.map(|(head, _)| head).unwrap_or_default();
    let start_sequence = head.start.unwrap_or(SequenceNumber(0));
    Ok(WalFile { number: log.number, kind: WalKind::Alive, start_sequence, size_bytes: current.size_bytes })
}

/// What is told of a log, unless it is gone.
fn told(core: &DbCore, log: &ListedLog, head: Head) -> Result<Option<WalFile>> {
    let directory = core.files.places().log_directory();
    for kind in [log.kind, WalKind::Archived] {
        let size_bytes = match core.env.file_system.file_size(&directory.join(relative_path(log.number, kind))) {
            Err(error) if error.is_not_found() => continue,
            size => log.limit.unwrap_or(size?),
        };
        let start_sequence = head.start.unwrap_or(SequenceNumber(0));
        return Ok(Some(WalFile { number: log.number, kind, start_sequence, size_bytes }));
    }
    Ok(None)
}

/// Refuses a database that is closed.
pub(super) fn check_readable(core: &DbCore) -> Result<()> {
    if core.jobs.is_read_only() { Ok(()) } else { core.jobs.check_open() }
}
