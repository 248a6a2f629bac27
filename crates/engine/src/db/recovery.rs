//! Reading the logs back: what was acknowledged and is not in tables yet.
//!
//! Logs are read in the order of their numbers; a record goes into the memtable of every
//! family that does not have it in its tables (`log_number` of the family <= number of
//! the log). What damage is accepted is the recovery mode's business:
//!
//! | mode | a damaged record |
//! |---|---|
//! | tolerate_corrupted_tail_records, absolute_consistency | fails the open (what counts as damage differs: see the log reader) |
//! | point_in_time | ends this log; of later logs only what continues the sequence exactly is taken |
//! | skip_any_corrupted_records | is passed over, and so is every gap in the sequence numbers |
//!
//! Without `paranoid_checks` damage is passed over in every mode.
//!
//! A record may refer to values in blob files that were written just before it ([`log_blobs`](super::log_blobs)). One
//! whose value is not there or not whole is damaged, too; in mode `tolerate_corrupted_tail_records` it ends the log.
//!
//! Where a recovery stops in the middle of the logs, or passes over damage, what it found goes into tables at once,
//! whatever `avoid_flush_during_recovery` says: a damaged log that stayed needed would be read again, by the rules of
//! whatever mode is set then, and what was written since lies behind the damage. So no log has to say where an earlier
//! recovery stopped. Directories of earlier releases kept damaged logs: there an empty batch right behind the first
//! follow record of a log is the mark of a recovery that stopped. An empty batch means nothing else than that anywhere:
//! the write path does not log batches without records, and those of RocksDB are not behind a follow record.
//!
//! Nothing is changed on disk here, so an open that fails leaves the directory as it was
//! (tables written on the way are unreferenced and go with the next open).

use super::log_blobs::{LoggedValues, Values};
use crate::column_family::ColumnFamilyData;
use crate::info_log::InfoLog;
use crate::write::insert::{InsertMode, Inserter, Target, prepared_transactions};
use crate::write::wal;
use ferrock_base::{Error, ErrorKind, FileNumber, Result, SequenceNumber, ValueType};
use ferrock_format::file_name::{self, FileKind};
use ferrock_format::log::{BLOCK_SIZE_BYTES, BlockSource, LogEvent, LogReader, WalRecoveryMode};
use ferrock_format::write_batch::{HEADER_SIZE_BYTES, Record, WriteBatchRef};
use ferrock_vfs::{FileSystem, SequentialFile, SequentialOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A family as recovery sees it.
pub(crate) struct RecoveringFamily {
    pub(crate) data: Arc<ColumnFamilyData>,
    /// Logs before this one hold nothing that is not in tables.
    pub(crate) log_number: FileNumber,
    pub(crate) table_bytes: u64,
}

/// What reading the logs brought.
#[derive(Debug, Default)]
pub(crate) struct RecoveredLogs {
    /// Logs that were read, oldest first, with their sizes.
    pub(crate) logs: Vec<(FileNumber, u64)>,
    /// The newest sequence number found, if any record was.
    pub(crate) last_sequence: Option<SequenceNumber>,
    /// The first log that is damaged; reading stopped there (not in mode `skip_any_corrupted_records`).
    pub(crate) stopped_at: Option<FileNumber>,
    /// The logs are not whole: reading stopped somewhere, passed over damage, or took a record that was cut off for the
    /// end.
    pub(crate) is_damaged: bool,
    /// How far the references reach into blob files that no version has.
    pub(crate) blob_ends: BTreeMap<FileNumber, u64>,
    /// Everything up to this number was read, or is in tables.
    pub(crate) reached: SequenceNumber,
    /// Some log says where sequence numbers were left out, as those of this writer do.
    pub(crate) announces_gaps: bool,
    /// Reading stopped at numbers that are in no log, while the MANIFEST changed: it may have them by now.
    pub(crate) stopped_at_gap: bool,
}

/// Where the logs are and how to read them.
pub(crate) struct LogRecovery<'a> {
    pub(crate) file_system: &'a dyn FileSystem,
    pub(crate) directory: &'a Path,
    pub(crate) mode: WalRecoveryMode,
    pub(crate) paranoid: bool,
    /// No log before this one is needed by any family.
    pub(crate) min_log_number: FileNumber,
    /// No log before this one is kept. Those from it up to `min_log_number` hold prepared transactions.
    pub(crate) min_log_number_to_keep: FileNumber,
    pub(crate) info_log: &'a InfoLog,
    /// Values that records refer to; `None`: they are not looked at.
    pub(crate) values: Option<LoggedValues<'a>>,
    /// Is told of every batch that counts: its log, its first number and the one behind its last.
    pub(crate) observer: Option<&'a dyn Fn(FileNumber, SequenceNumber, SequenceNumber)>,
    /// Set where the writer of the logs goes on beside this reader.
    pub(crate) tailing: Option<Tailing<'a>>,
}

/// How the logs of a writer that goes on are read: what is not whole yet is the end of what there is, whatever lies
/// behind it, and no error.
pub(crate) struct Tailing<'a> {
    /// Batches up to this number are in the memtables already.
    pub(crate) held: SequenceNumber,
    /// What the MANIFEST tells of tables reaches to this number.
    pub(crate) recorded: SequenceNumber,
    /// True as long as the MANIFEST says nothing new of what no log has.
    pub(crate) is_tree_complete: &'a dyn Fn() -> bool,
}

/// A log that is open, so that it can be read to its end though a writer beside removes its name.
pub(crate) struct OpenLog {
    number: FileNumber,
    path: PathBuf,
    /// When it was opened: a writer beside may add to it.
    size_bytes: u64,
    source: FileSource,
}

impl OpenLog {
    pub(crate) fn open(file_system: &dyn FileSystem, directory: &Path, number: FileNumber) -> Result<Self> {
        let path = directory.join(file_name::log(number));
        let size_bytes = file_system.file_size(&path)?;
        let source = FileSource(file_system.open_sequential(&path, &SequentialOptions::default())?);
        Ok(Self { number, path, size_bytes, source })
    }

    pub(crate) fn number(&self) -> FileNumber {
        self.number
    }
}

/// Numbers of the logs in a directory, sorted.
pub(crate) fn log_numbers(file_system: &dyn FileSystem, directory: &Path) -> Result<Vec<FileNumber>> {
    let names = file_system.children(directory)?;
    let parsed = names.iter().filter_map(|name| file_name::parse(name));
    let mut numbers: Vec<FileNumber> =
        parsed.filter(|name| name.kind == FileKind::Log).map(|name| name.number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

struct FileSource(Box<dyn SequentialFile>);

impl BlockSource for FileSource {
    fn read_block(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.0.read(buffer)
    }
}

/// How a record of a log went in.
enum Taken {
    Yes,
    /// The rest of this log is not to be read.
    Stop,
    /// A value that the record refers to is not there.
    WithoutValue(Error),
}

struct Progress {
    /// The sequence number that the next record must have to continue without a gap.
    next: SequenceNumber,
    /// Numbers before `next` that the last record counts and does not use: those of empty range deletions. RocksDB
    /// gives them out again after a recovery.
    unused: u64,
    /// What the MANIFEST had: records up to there are in tables, or were durable before it said so.
    recorded: SequenceNumber,
    is_stopped: bool,
    /// Until a record was seen, every first sequence number continues.
    has_seen_record: bool,
    /// What the first record of the log being read says, when it is a follow record and nothing else was read yet.
    begins_at: LogStart,
    /// The log being read says where sequence numbers were left out: a gap that it does not announce is a loss.
    announces_gaps: bool,
    /// Families that the last record wrote to.
    written: BTreeSet<u32>,
    outcome: RecoveredLogs,
}

/// How far the beginning of a log was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogStart {
    NothingRead,
    /// A follow record for the batch at this sequence number.
    Follows(SequenceNumber),
    Past,
}

impl Progress {
    fn begin_log(&mut self) {
        self.announces_gaps = false;
        self.begins_at = LogStart::NothingRead;
    }

    /// After a stop, whether `batch` continues what was read before it.
    ///
    /// The next sequence number does. So does, in a directory of an earlier release, the mark of a recovery that
    /// stopped at the same place: an empty batch behind the log's first follow record. What a writer of those releases
    /// was asked to log empty looks the same there. It is told apart by what the MANIFEST had: the recovery went on
    /// only after it had recorded where, so that nothing was lost before the mark that was not lost to that recovery
    /// already.
    fn continues_at(&self, batch: &WriteBatchRef<'_>, is_empty: bool, begun: LogStart) -> bool {
        let first = batch.sequence();
        let is_mark = is_empty && begun == LogStart::Follows(first) && first <= self.recorded.plus(1);
        (self.has_seen_record && first == self.next) || is_mark
    }
}

fn missing(from: SequenceNumber, to: SequenceNumber) -> Error {
    Error::corruption(format!("the records of sequence numbers {from} to {to}, written before, are missing"))
}

/// Refuses a log that all families have in tables and that is kept for a transaction which was prepared in it: with
/// the first change of the tree it would go.
fn check_has_nothing_prepared(log: OpenLog) -> Result<()> {
    let mut reader = LogReader::new(log.source, log.number, WalRecoveryMode::SkipAnyCorruptedRecords);
    let mut scratch = Vec::new();
    loop {
        match reader.read_record(&mut scratch)? {
            LogEvent::Record { physical_offset, data } => {
                let Ok(batch) = WriteBatchRef::new(data) else { continue };
                if batch.iter().any(|record| matches!(record, Ok(Record::BeginPrepare(_)))) {
                    return Err(prepared_transactions().at_offset(physical_offset));
                }
            }
            LogEvent::End | LogEvent::OldRecord { .. } => return Ok(()),
            LogEvent::Corruption { .. } => {}
        }
    }
}

impl LogRecovery<'_> {
    /// Opens every log that is kept, oldest first.
    pub(crate) fn open(&self) -> Result<Vec<OpenLog>> {
        let oldest_kept = self.min_log_number.min(self.min_log_number_to_keep);
        let kept = log_numbers(self.file_system, self.directory)?.into_iter().filter(|number| *number >= oldest_kept);
        kept.map(|number| OpenLog::open(self.file_system, self.directory, number)).collect()
    }

    /// Reads every log of `logs` that is needed. `when_full` is called with a family whose memtable passed its size.
    pub(crate) fn run(
        &self,
        logs: Vec<OpenLog>,
        families: &BTreeMap<u32, RecoveringFamily>,
        last_sequence: SequenceNumber,
        mut when_full: impl FnMut(&Arc<ColumnFamilyData>) -> Result<()>,
    ) -> Result<RecoveredLogs> {
        let mut progress = Progress {
            next: last_sequence.plus(1),
            unused: 0,
            recorded: last_sequence,
            is_stopped: false,
            has_seen_record: false,
            begins_at: LogStart::NothingRead,
            announces_gaps: false,
            written: BTreeSet::new(),
            outcome: RecoveredLogs::default(),
        };
        for log in logs {
            let path = log.path.clone();
            let read = if log.number < self.min_log_number {
                check_has_nothing_prepared(log)
            } else {
                progress.outcome.logs.push((log.number, log.size_bytes));
                self.read_log(log, families, &mut progress, &mut when_full)
            };
            read.map_err(|error| error.in_file(&path))?;
        }
        progress.outcome.reached = SequenceNumber(progress.next.0.saturating_sub(1));
        let stopped_at = progress.outcome.stopped_at.filter(|_| !progress.outcome.stopped_at_gap);
        if let Some(stopped_at) = stopped_at.filter(|_| self.mode != WalRecoveryMode::SkipAnyCorruptedRecords) {
            let families = families.values();
            let families = families.map(|family| (&*family.data.name, family.log_number, family.table_bytes > 0));
            check_families_are_of_one_moment(self.directory, families, stopped_at)?;
        }
        Ok(progress.outcome)
    }

    fn read_log(
        &self,
        log: OpenLog,
        families: &BTreeMap<u32, RecoveringFamily>,
        progress: &mut Progress,
        when_full: &mut impl FnMut(&Arc<ColumnFamilyData>) -> Result<()>,
    ) -> Result<()> {
        let OpenLog { number, path, source, .. } = log;
        let mut reader = LogReader::new(source, number, self.mode);
        progress.begin_log();
        let mut scratch = Vec::new();
        loop {
            let taken = match reader.read_record(&mut scratch)? {
                LogEvent::End => {
                    progress.outcome.is_damaged |= reader.has_torn_end();
                    return Ok(());
                }
                LogEvent::OldRecord { offset } => {
                    self.stop(number, offset, "a record of an earlier use of the file", progress)
                }
                LogEvent::Corruption { offset, bytes_dropped, what } => {
                    self.info_log
                        .warn(|| format!("{}: {what} at {offset}, {bytes_dropped} bytes dropped", path.display()));
                    self.damaged(number, offset, &what, progress)?
                }
                // Zeros are passed over without a word, and the follow record that would tell was among them.
                LogEvent::Record { physical_offset, .. }
                    if progress.begins_at == LogStart::NothingRead
                        && physical_offset >= BLOCK_SIZE_BYTES as u64
                        && !self.passes_over_damage() =>
                {
                    self.damaged(number, 0, "the log begins with a block of zeros", progress)?
                }
                LogEvent::Record { physical_offset, data } => {
                    progress.outcome.is_damaged |=
                        progress.begins_at == LogStart::NothingRead && physical_offset >= BLOCK_SIZE_BYTES as u64;
                    match self.take_record(number, data, families, progress) {
                        Ok(Taken::WithoutValue(error)) => self.lost_value(number, physical_offset, &error, progress)?,
                        Ok(taken) => taken,
                        Err(error) if error.is_corruption() => {
                            self.damaged(number, physical_offset, error.message(), progress)?
                        }
                        Err(error) => return Err(error.at_offset(physical_offset)),
                    }
                }
            };
            if matches!(taken, Taken::Stop) {
                return Ok(());
            }
            // Not all families: of thousands, a record writes to few.
            for family in std::mem::take(&mut progress.written).iter().filter_map(|id| families.get(id)) {
                let memtable = family.data.memtable.load();
                if family.data.is_full(&memtable) {
                    drop(memtable);
                    when_full(&family.data)?;
                }
            }
        }
    }

    /// True when damage is passed over.
    fn passes_over_damage(&self) -> bool {
        self.mode == WalRecoveryMode::SkipAnyCorruptedRecords || !self.paranoid
    }

    fn damaged(&self, number: FileNumber, offset: u64, what: &str, progress: &mut Progress) -> Result<Taken> {
        progress.outcome.is_damaged = true;
        if self.passes_over_damage() {
            self.info_log.warn(|| format!("log {number}: passed over at offset {offset}: {what}"));
            return Ok(Taken::Yes);
        }
        match self.mode {
            WalRecoveryMode::PointInTimeRecovery => Ok(self.stop(number, offset, what, progress)),
            _ => Err(Error::corruption(format!(
                "{what}; open with wal_recovery_mode point_in_time to keep what was written before"
            ))
            .at_offset(offset)),
        }
    }

    /// A value was written before the record, and is gone: the machine stopped before either was durable. That is an
    /// end of the log that was cut off, as it is where the record itself is not whole.
    fn lost_value(&self, number: FileNumber, offset: u64, error: &Error, progress: &mut Progress) -> Result<Taken> {
        let what = format!("a value that the record refers to is lost: {error}");
        if self.mode == WalRecoveryMode::TolerateCorruptedTailRecords && !self.passes_over_damage() {
            return Ok(self.stop(number, offset, &what, progress));
        }
        self.damaged(number, offset, &what, progress)
    }

    fn stop(&self, number: FileNumber, offset: u64, what: &str, progress: &mut Progress) -> Taken {
        progress.outcome.is_damaged = true;
        progress.is_stopped = true;
        progress.outcome.stopped_at.get_or_insert(number);
        let line = || format!("log {number}: recovery stops at offset {offset}: {what}");
        match self.tailing {
            // It is being written.
            Some(_) => self.info_log.info(line),
            None => self.info_log.warn(line),
        }
        Taken::Stop
    }

    /// The sequence numbers `from` to `to` were written to a log and are not there.
    fn missing(&self, from: SequenceNumber, to: SequenceNumber, progress: &mut Progress) -> Result<()> {
        if !self.passes_over_damage() {
            return Err(missing(from, to));
        }
        progress.outcome.is_damaged = true;
        self.info_log.warn(|| format!("goes on behind the missing sequence numbers {from} to {to}"));
        Ok(())
    }

    fn take_record(
        &self,
        number: FileNumber,
        data: &[u8],
        families: &BTreeMap<u32, RecoveringFamily>,
        progress: &mut Progress,
    ) -> Result<Taken> {
        let batch = WriteBatchRef::new(data)?;
        // Every record is checked before the first one is inserted: a damaged batch leaves nothing behind.
        let kinds = batch.verify()?;
        let first = batch.sequence();
        let follows = wal::follows(&batch);
        let begun = std::mem::replace(&mut progress.begins_at, LogStart::Past);
        if begun == LogStart::NothingRead && follows.is_some() {
            progress.begins_at = LogStart::Follows(first);
        }
        progress.announces_gaps |= follows.is_some();
        progress.outcome.announces_gaps |= follows.is_some();
        if progress.is_stopped {
            if !progress.continues_at(&batch, data.len() == HEADER_SIZE_BYTES, begun) {
                return Ok(Taken::Yes);
            }
            progress.next = first;
            progress.outcome.stopped_at = None;
            self.info_log.info(|| format!("log {number} continues at sequence number {first}"));
            progress.is_stopped = false;
        }
        if progress.has_seen_record && first.plus(progress.unused) < progress.next {
            return Err(Error::corruption(format!(
                "sequence number {first} after {}: the log goes back in time",
                progress.next.0 - 1
            )));
        }
        if let Some(tailing) = &self.tailing
            && !self.is_gap_final(tailing, number, first, progress)
        {
            progress.outcome.stopped_at_gap = true;
            return Ok(self.stop(
                number,
                0,
                &format!("numbers from {} to {first} are in no log", progress.next),
                progress,
            ));
        }
        if let Some(last) = follows {
            if last >= progress.next && last > progress.recorded {
                self.missing(progress.next, last, progress)?;
            }
            progress.next = progress.next.max(first);
            return Ok(Taken::Yes);
        }
        if progress.announces_gaps && first > progress.next {
            self.missing(progress.next, SequenceNumber(first.0 - 1), progress)?;
        }
        if kinds.may_refer_to_blobs()
            && let Values::Lost(error) = self.check_values(number, &batch, families, &mut progress.outcome.blob_ends)?
        {
            return Ok(Taken::WithoutValue(error));
        }
        let next = first.plus(u64::from(batch.count()));
        let is_held = self.tailing.as_ref().is_some_and(|tailing| next <= tailing.held.plus(1));
        let written = &mut progress.written;
        let mut inserter = Inserter::new(InsertMode::Exclusive, first, |id| {
            Ok(match families.get(&id) {
                Some(family) if family.log_number <= number && !is_held => {
                    written.insert(id);
                    Target::MemTable(&family.data, family.data.memtable.load())
                }
                _ => Target::Skip,
            })
        });
        inserter.insert_all(batch.iter())?;
        progress.unused = inserter.unused_before(next);
        progress.next = if progress.has_seen_record { progress.next.max(next) } else { next };
        progress.has_seen_record = true;
        let last = SequenceNumber(progress.next.0 - 1);
        progress.outcome.last_sequence = progress.outcome.last_sequence.max(Some(last));
        if let Some(observer) = self.observer {
            observer(number, first, next);
        }
        Ok(Taken::Yes)
    }

    /// Whether a batch at `first` may follow what was read before it.
    ///
    /// Numbers that are in no log belong to what was not logged: files that were taken in, or writes without the log.
    /// The MANIFEST has the former before anything behind them is logged. So when it says nothing new of such, behind
    /// the look at the batch, they are none of its tables. Numbers are missing as well where an earlier log
    /// was read before its last records came: then it has another size than before.
    fn is_gap_final(
        &self,
        tailing: &Tailing<'_>,
        number: FileNumber,
        first: SequenceNumber,
        progress: &Progress,
    ) -> bool {
        if first <= progress.next || first <= tailing.recorded.plus(1) {
            return true;
        }
        let earlier = progress.outcome.logs.iter().filter(|(earlier, _)| *earlier < number);
        let has_size = |&(earlier, size_bytes): &(FileNumber, u64)| {
            let path = self.directory.join(file_name::log(earlier));
            self.file_system.file_size(&path).is_ok_and(|now| now == size_bytes)
        };
        earlier.into_iter().all(has_size) && (tailing.is_tree_complete)()
    }

    /// Looks at the values that the entries of a batch refer to.
    fn check_values(
        &self,
        number: FileNumber,
        batch: &WriteBatchRef<'_>,
        families: &BTreeMap<u32, RecoveringFamily>,
        ends: &mut BTreeMap<FileNumber, u64>,
    ) -> Result<Values> {
        let Some(values) = &self.values else { return Ok(Values::Whole) };
        for record in batch.iter() {
            let Some((id, value_type, key, value)) = record?.as_entry() else { continue };
            if !matches!(value_type, ValueType::BlobIndex | ValueType::WideColumnEntity) {
                continue;
            }
            let Some(family) = families.get(&id).filter(|family| family.log_number <= number) else { continue };
            if let Values::Lost(error) =
                values.check((&family.data, family.log_number), value_type, key, value, ends)?
            {
                return Ok(Values::Lost(error));
            }
        }
        Ok(Values::Whole)
    }
}

/// A family whose tables are newer than the point where reading of the logs in `directory` stopped would be ahead of
/// the others. Of each family: its name, its log number, and whether it has tables.
pub(super) fn check_families_are_of_one_moment<'n>(
    directory: &Path,
    mut families: impl Iterator<Item = (&'n str, FileNumber, bool)>,
    stopped_at: FileNumber,
) -> Result<()> {
    match families.find(|(_, log_number, has_tables)| *log_number > stopped_at && *has_tables) {
        Some((name, ..)) => Err(Error::new(
            ErrorKind::Corruption,
            format!(
                "log {stopped_at} is damaged, and column family {name} has tables that are newer: the families would \
                 not be of one moment; restore the log, or open with wal_recovery_mode skip_any_corrupted_records"
            ),
        )
        .in_file(directory.join(file_name::log(stopped_at)))),
        None => Ok(()),
    }
}
