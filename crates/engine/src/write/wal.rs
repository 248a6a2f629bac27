//! The write-ahead log of a database: one open file, and the older ones that are
//! still needed.
//!
//! ```text
//! 000011.log  closed, not synced      |  sync() makes them durable first,
//! 000014.log  closed, synced          |  oldest to newest, then the current one,
//! 000019.log  current                 v  then the directory entry
//! ```
//!
//! Invariants:
//! - After an error in an append or a sync nothing is appended to that file again (a
//!   record may be cut); the database goes on in a new one after `resume`.
//! - A file that failed stays among those to sync, so every `sync` fails, until what was
//!   acknowledged from it is in tables and it is released.
//! - `sync` returns only when every byte appended before it is durable, in whichever
//!   file it is.
//! - A file leaves the list when no column family needs it any more.
//! - The first record of a file, and a record behind writes that went to no log, come behind a *follow record*: an
//!   empty batch whose log data says up to which sequence number logs were written before. Without it a disk that keeps
//!   a later unsynced write and loses an earlier one would leave a hole that looks like nothing: recovery would go on
//!   behind it. Log data means nothing to other readers.

use ferrock_base::{Error, FileNumber, Result, SequenceNumber, Temperature};
use ferrock_format::compression::zstd_frame_compress;
use ferrock_format::log::{HeaderFamily, LogWriter};
use ferrock_format::write_batch::{HEADER_SIZE_BYTES, Record, WriteBatch, WriteBatchRef};
use ferrock_tree::places::FilePlaces;
use ferrock_vfs::{FileSystem, WritableFile, WritableOptions, WritePurpose};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the log data of a follow record begins with; eight bytes of sequence number come behind it.
const FOLLOWS: &[u8] = b"ferrock.follows:";

/// The follow record before a batch at `first`, when logs were written up to `last`.
fn follow_record(first: SequenceNumber, last: SequenceNumber) -> Result<Vec<u8>> {
    let mut batch = WriteBatch::new();
    batch.set_sequence(first);
    batch.put_log_data(&[FOLLOWS, &last.0.to_le_bytes()].concat())?;
    Ok(batch.into_data())
}

/// Up to which sequence number logs were written before a follow record; `None` for other batches.
pub(crate) fn follows(batch: &WriteBatchRef<'_>) -> Option<SequenceNumber> {
    if batch.count() > 0 {
        return None;
    }
    match batch.iter().next() {
        Some(Ok(Record::LogData(data))) => {
            let last = data.strip_prefix(FOLLOWS)?.try_into().ok()?;
            Some(SequenceNumber(u64::from_le_bytes(last)))
        }
        _ => None,
    }
}

/// How logs are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalOptions {
    /// Records stay in the process until `flush`.
    pub(crate) manual_flush: bool,
    /// Reserve space and append through a mapping.
    pub(crate) allow_fallocate: bool,
    pub(crate) bytes_per_sync: u64,
    pub(crate) strict_bytes_per_sync: bool,
    /// Records are written as Zstandard frames.
    pub(crate) compress: bool,
    /// Logs that are written to their end and durable are gathered for the MANIFEST.
    pub(crate) track: bool,
    /// A hint to the file system.
    pub(crate) temperature: Temperature,
    /// Bytes that a log is expected to reach: what to reserve.
    pub(crate) expected_bytes: u64,
}

#[derive(Debug)]
pub(super) struct OpenLog {
    pub(super) number: FileNumber,
    file: Box<dyn WritableFile>,
    writer: LogWriter,
    /// Records encoded and not yet handed to the file.
    pending: Vec<u8>,
    /// Where records are compressed; `None`: they are not. Memory of one record is kept for the next.
    frame: Option<Frame>,
    is_synced: bool,
    has_failed: bool,
}

/// A record on its way into a compressed log.
#[derive(Debug, Default)]
struct Frame {
    plain: Vec<u8>,
    compressed: Vec<u8>,
}

/// Memory that a [`Frame`] keeps from one record to the next.
const MOST_KEPT_FRAME_BYTES: usize = 1 << 20;

impl Frame {
    /// The frame of a record that is made of `parts`.
    fn make(&mut self, parts: &[&[u8]]) -> Result<&[u8]> {
        for buffer in [&mut self.plain, &mut self.compressed] {
            buffer.clear();
            buffer.shrink_to(MOST_KEPT_FRAME_BYTES);
        }
        parts.iter().for_each(|part| self.plain.extend_from_slice(part));
        zstd_frame_compress(&self.plain, &mut self.compressed)?;
        Ok(&self.compressed)
    }
}

impl OpenLog {
    pub(super) fn size_bytes(&self) -> u64 {
        self.file.size() + self.pending.len() as u64
    }

    /// A file that failed once is in an unknown state: a later sync that succeeds would prove nothing.
    fn check(&self) -> Result<()> {
        if !self.has_failed {
            return Ok(());
        }
        let what = format!("log {:06} failed earlier and takes no more records", self.number.0);
        Err(Error::new(ferrock_base::ErrorKind::Io, what))
    }

    /// Encodes a record made of `parts` into what waits for the file. The first one of a compressed log brings the
    /// record that says so before it: a log without records stays empty.
    #[inline]
    fn encode(&mut self, parts: &[&[u8]]) -> Result<()> {
        if self.frame.is_some() {
            return self.encode_frame(parts);
        }
        self.writer.encode_record(parts, &mut self.pending);
        Ok(())
    }

    #[cold]
    fn encode_frame(&mut self, parts: &[&[u8]]) -> Result<()> {
        let Some(frame) = &mut self.frame else { return Ok(()) };
        let payload = frame.make(parts)?;
        if self.file.size() == 0 && self.pending.is_empty() {
            self.writer.encode_set_zstd_compression(&mut self.pending);
        }
        self.writer.encode_compressed_record(payload, &mut self.pending);
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.check()?;
        if self.pending.is_empty() {
            return self.file.flush();
        }
        let result = self.file.append(&self.pending).and_then(|()| self.file.flush());
        self.has_failed |= result.is_err();
        self.pending.clear();
        result
    }

    pub(super) fn close(mut self) -> Result<()> {
        let flushed = if self.has_failed || self.is_synced { Ok(()) } else { self.flush() };
        flushed.and(self.file.close())
    }

    pub(super) fn sync(&mut self) -> Result<()> {
        if self.is_synced {
            return Ok(());
        }
        self.flush()?;
        let result = self.file.sync();
        self.has_failed |= result.is_err();
        self.is_synced = result.is_ok();
        result
    }
}

/// Makes the files of logs. No lock is needed, and none is held: no thread waits behind the file system.
#[derive(Debug)]
pub(super) struct LogMaker {
    pub(super) file_system: Arc<dyn FileSystem>,
    pub(super) places: Arc<FilePlaces>,
    pub(super) options: WalOptions,
    /// Replace those of the options.
    pub(super) bytes_per_sync: AtomicU64,
    pub(super) strict_bytes_per_sync: AtomicBool,
}

impl LogMaker {
    /// A new, empty log.
    pub(super) fn make(&self, number: FileNumber) -> Result<OpenLog> {
        let options = WritableOptions {
            purpose: WritePurpose::Log,
            direct: false,
            preallocate_bytes: if self.options.allow_fallocate { self.options.expected_bytes } else { 0 },
            bytes_per_sync: self.bytes_per_sync.load(Ordering::Relaxed),
            strict_bytes_per_sync: self.strict_bytes_per_sync.load(Ordering::Relaxed),
            buffer_bytes: 0,
            mapped_append: self.options.allow_fallocate,
            temperature: self.options.temperature,
        };
        Ok(OpenLog {
            number,
            file: self.file_system.create_writable(&self.places.log(number), &options)?,
            writer: LogWriter::new(number, HeaderFamily::Legacy),
            pending: Vec::new(),
            frame: self.options.compress.then(Frame::default),
            is_synced: false,
            has_failed: false,
        })
    }
}

/// What became of the wish to make the current log durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CurrentSync {
    Done,
    /// Nothing was done: logs that were switched away from come first.
    ClosedLogsFirst,
}

/// A log that is still needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LiveLog {
    pub(crate) number: FileNumber,
    pub(crate) size_bytes: u64,
}

/// The logs of an open database, for one thread at a time: see [`Logs`](super::logs::Logs).
#[derive(Debug)]
pub(super) struct Wal {
    /// Records stay in the process until [`flush`](Self::flush).
    manual_flush: bool,
    current: Option<OpenLog>,
    /// Switched away from, not durable yet; oldest first.
    unsynced: VecDeque<OpenLog>,
    /// Every log still needed but the current one, oldest first.
    older: VecDeque<LiveLog>,
    /// Where logs are tracked: those that were switched away from and are durable, not taken yet.
    finished: Vec<LiveLog>,
    tracks: bool,
    is_directory_synced: bool,
    /// The newest sequence number that is in a log, or was made needless by a table.
    last_logged: SequenceNumber,
    /// What that was when each log began: the first of this open, those that are needed, and the newest before them, up
    /// to [`MOST_BEGINS`]. A reader of a log learns from it what a failed write left behind, also when the next log is
    /// gone.
    began_after: BTreeMap<FileNumber, SequenceNumber>,
}

/// Begins of logs that are kept. A reader that is further behind goes by what the files say.
const MOST_BEGINS: usize = 4096;

impl Wal {
    pub(super) fn new(manual_flush: bool, tracks: bool) -> Self {
        Self {
            manual_flush,
            finished: Vec::new(),
            tracks,
            current: None,
            unsynced: VecDeque::new(),
            older: VecDeque::new(),
            is_directory_synced: true,
            last_logged: SequenceNumber(0),
            began_after: BTreeMap::new(),
        }
    }

    /// The newest sequence number that is in a log, or was made needless by a table.
    pub(super) fn last_logged(&self) -> SequenceNumber {
        self.last_logged
    }

    /// Everything up to `last` was recovered, or what came later failed.
    pub(super) fn set_last_logged(&mut self, last: SequenceNumber) {
        self.last_logged = last;
    }

    /// Counts a log that recovery left alive.
    pub(super) fn keep_recovered(&mut self, log: LiveLog) {
        self.older.push_back(log);
    }

    /// Number of the log being written.
    pub(super) fn current_number(&self) -> FileNumber {
        self.current.as_ref().map_or(FileNumber(0), |log| log.number)
    }

    /// True when nothing was written to the current log.
    pub(super) fn is_current_empty(&self) -> bool {
        self.current.as_ref().is_some_and(|log| log.size_bytes() == 0 && !log.has_failed)
    }

    /// Bytes of all logs still needed.
    pub(super) fn total_bytes(&self) -> u64 {
        let older: u64 = self.older.iter().map(|log| log.size_bytes).sum();
        older + self.current.as_ref().map_or(0, OpenLog::size_bytes)
    }

    /// Logs still needed besides the current one.
    pub(super) fn older_count(&self) -> usize {
        self.older.len()
    }

    /// Number of the oldest log still needed.
    pub(super) fn oldest(&self) -> FileNumber {
        self.older.front().map_or_else(|| self.current_number(), |log| log.number)
    }

    /// Writes what waits in the log that is about to be switched away from: a later record must not survive a crash
    /// that this one does not. A log that failed keeps what it has.
    pub(super) fn flush_before_switch(&mut self) -> Result<()> {
        match &mut self.current {
            Some(log) if !log.has_failed => log.flush(),
            _ => Ok(()),
        }
    }

    /// Goes on in `log`.
    pub(super) fn switch(&mut self, log: OpenLog) {
        self.is_directory_synced = false;
        self.began_after.insert(log.number, self.last_logged);
        if let Some(mut old) = self.current.replace(log) {
            self.older.push_back(LiveLog { number: old.number, size_bytes: old.size_bytes() });
            if old.is_synced {
                self.note_finished(old.number, old.size_bytes());
                let _ = old.file.close();
            } else {
                self.unsynced.push_back(old);
            }
        }
    }

    /// A log that was switched away from is durable, with so many bytes.
    pub(super) fn note_finished(&mut self, number: FileNumber, size_bytes: u64) {
        if self.tracks && size_bytes > 0 {
            self.finished.push(LiveLog { number, size_bytes });
        }
    }

    /// Takes the logs that were noted, in the order in which they became durable.
    pub(super) fn take_finished(&mut self) -> Vec<LiveLog> {
        std::mem::take(&mut self.finished)
    }

    /// Appends one record made of `parts`: a batch of `count` sequence numbers from `first` on. It survives a crash of
    /// the process (unless flushing is manual), and a crash of the machine after [`sync`](Self::sync).
    ///
    /// A batch without any record leaves no trace: to the recovery of an earlier release one at the beginning of a log
    /// means that an earlier recovery stopped.
    #[inline]
    pub(super) fn append(&mut self, first: SequenceNumber, count: u32, parts: &[&[u8]]) -> Result<()> {
        if parts.iter().map(|part| part.len()).sum::<usize>() <= HEADER_SIZE_BYTES {
            return self.current.as_ref().map_or(Err(no_log()), OpenLog::check);
        }
        let needs_follow = self.is_current_empty() || first != self.last_logged.plus(1);
        let last_logged = self.last_logged;
        let Some(log) = &mut self.current else { return Err(no_log()) };
        log.check()?;
        log.is_synced = false;
        if needs_follow {
            log.encode(&[&follow_record(first, last_logged)?])?;
        }
        // A follow record that waits alone must not go out: nothing comes behind it.
        log.encode(parts).inspect_err(|_| log.has_failed = true)?;
        self.last_logged = SequenceNumber(first.plus(u64::from(count)).0 - 1).max(last_logged);
        if self.manual_flush {
            return Ok(());
        }
        let result = log.file.append(&log.pending);
        log.pending.clear();
        log.has_failed |= result.is_err();
        result
    }

    /// Writes the follow record that the batch at `next` would come behind, as a proof that the current log takes
    /// records. It is not synced.
    pub(super) fn append_follow_record(&mut self, next: SequenceNumber) -> Result<()> {
        let last_logged = self.last_logged;
        let Some(log) = &mut self.current else { return Err(no_log()) };
        log.check()?;
        log.is_synced = false;
        log.encode(&[&follow_record(next, last_logged)?])
    }

    /// Bytes of records of the current log that wait for a flush.
    pub(super) fn kept_back_bytes(&self) -> usize {
        self.current.as_ref().map_or(0, |log| log.pending.len())
    }

    /// Hands everything to the operating system.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.current.as_mut().map_or(Ok(()), OpenLog::flush)
    }

    /// As [`flush`](Self::flush), which a log that failed before does not fail.
    pub(super) fn flush_for_reader(&mut self) -> Result<()> {
        match &mut self.current {
            Some(log) if !log.has_failed && !log.pending.is_empty() => log.flush(),
            _ => Ok(()),
        }
    }

    /// The logs that are still needed, oldest first.
    ///
    /// # Errors
    /// `ShutdownInProgress` when they were closed: the current one is not among them any more.
    pub(super) fn live_logs(&self) -> Result<Vec<LiveLog>> {
        let current = self.current.as_ref().ok_or_else(no_log)?;
        let current = LiveLog { number: current.number, size_bytes: current.file.size() };
        Ok(self.older.iter().copied().chain([current]).collect())
    }

    /// Makes the current log durable, unless logs before it are not.
    pub(super) fn sync_current(&mut self) -> Result<CurrentSync> {
        if !self.unsynced.is_empty() {
            return Ok(CurrentSync::ClosedLogsFirst);
        }
        if let Some(log) = &mut self.current {
            log.sync()?;
        }
        Ok(CurrentSync::Done)
    }

    /// Takes the logs that were switched away from and are not durable, oldest first.
    pub(super) fn take_unsynced(&mut self) -> VecDeque<OpenLog> {
        std::mem::take(&mut self.unsynced)
    }

    /// The log whose name is the newest, unless the names of the logs are durable.
    pub(super) fn unsynced_name(&self) -> Option<FileNumber> {
        (!self.is_directory_synced).then(|| self.current_number())
    }

    /// The names of the logs up to `number` are durable.
    pub(super) fn note_directory_synced(&mut self, number: FileNumber) {
        self.is_directory_synced |= self.current_number() == number;
    }

    /// True for a log that no family needs any more.
    pub(super) fn is_released(&self, number: FileNumber) -> bool {
        number != self.current_number() && !self.older.iter().any(|log| log.number == number)
    }

    /// Up to where the logs before `number` go.
    pub(super) fn began_after(&self, number: FileNumber) -> Option<SequenceNumber> {
        self.began_after.get(&number).copied()
    }

    /// The last sequence number that counts in a log which is written no more; `None` where that is not known.
    pub(super) fn ended_with(&self, number: FileNumber) -> Option<SequenceNumber> {
        let first = *self.began_after.first_key_value()?.0;
        let is_next_known = number < first || self.began_after.contains_key(&number);
        let mut later = self.began_after.range((Excluded(number), Unbounded));
        later.next().filter(|_| is_next_known).map(|(_, last)| *last)
    }

    /// Forgets the logs before `number` and returns their numbers: no family needs them.
    pub(super) fn release_before(&mut self, number: FileNumber) -> Vec<FileNumber> {
        // The first says where the logs before this open ended.
        while self.began_after.len() > MOST_BEGINS
            && let Some(second) = self.began_after.keys().nth(1).copied().filter(|second| *second < number)
        {
            self.began_after.remove(&second);
        }
        let mut released = Vec::new();
        while let Some(log) = self.older.front().copied().filter(|log| log.number < number) {
            self.older.pop_front();
            self.unsynced.retain(|open| open.number != log.number);
            released.push(log.number);
        }
        released
    }

    /// Closes the current log for good. Those before it were taken.
    pub(super) fn close(&mut self) -> Result<()> {
        self.current.take().map_or(Ok(()), OpenLog::close)
    }
}

#[cold]
fn no_log() -> Error {
    Error::new(ferrock_base::ErrorKind::ShutdownInProgress, "the log is closed")
}
