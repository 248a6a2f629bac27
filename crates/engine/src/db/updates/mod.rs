//! Reading what was written, in the order of its sequence numbers, out of the logs: archived ones, those that are
//! needed, and the one that is being written.
//!
//! ```text
//! log 12: 1..40   log 15: [up to 40] 41..70 | failed: 71..72   log 19: [up to 70] 73..90 | being written
//!                                             \ bound of 15: 70                      \ bound: what readers see, and
//! the reader gives 1..70, and then an error, for 71..72 are in no log                  what a log has
//! ```
//!
//! A batch of the log is what one leader wrote for its group: one `WriteBatch`, or several, one behind the other. This
//! is what RocksDB logs and gives, too.
//!
//! Invariants:
//! - A batch is given when every reader of the database sees it, never before, and never a part of it.
//! - What a log holds behind its bound is not given: a write that failed, or what a recovery gave up. The bound is the
//!   least of what later logs say of those before them (or the number before their first batch), and of what was the
//!   last that counted when the log was switched away from, which is known when the next one is gone.
//! - Every look takes, in this order: the number that readers see; the view of the logs, for which what waits for a
//!   flush is written; the names of the files; their heads. Whatever has a number up to the first is in a file of the
//!   third, or in no log.
//! - After the first batch no number is left out: what is missing is an error, and the iterator gives nothing behind
//!   it. Damage that hides nothing that is wanted is passed over.
//! - A log is not removed while an iterator reads it ([`LogPin`](crate::files::LogPin)); the logs behind it may be.
//!   It can be archived, for the file stays open.

mod files;

pub use files::{WalFile, WalKind};
pub(crate) use files::{current_wal_file, sorted_wal_files};

use super::DbCore;
use crate::write::logs::LogsView;
use crate::write::wal;
use ferrock_base::{Error, ErrorKind, FileNumber, Result, SequenceNumber};
use ferrock_format::log::LogEvent;
use ferrock_format::write_batch::{Record, WriteBatch};
use ferrock_statistics::Ticker;
use files::{ListedLog, OpenLog};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// How [`Db::updates_since`](crate::Db::updates_since) reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalReadOptions {
    /// Compare the checksum of every record. Without, damage may be given out as data.
    pub verify_checksums: bool,
    /// Where the batch that was asked for is in no log any more, begin with the next one that is, as RocksDB does. The
    /// first batch tells by its sequence number what is missing.
    pub from_first_available: bool,
}

impl Default for WalReadOptions {
    fn default() -> Self {
        Self { verify_checksums: true, from_first_available: false }
    }
}

/// A batch as a log has it: what one write brought, or several that were logged together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalBatch {
    /// The number of its first entry.
    pub sequence: SequenceNumber,
    /// Its entries, of families by their ids.
    pub batch: WriteBatch,
}

impl WalBatch {
    /// The number of its last entry. The next batch has the one behind it. That of a batch of log data alone, which
    /// has no number, is the number before it.
    #[must_use]
    pub fn last_sequence(&self) -> SequenceNumber {
        last_of(self.sequence, self.batch.count())
    }
}

fn last_of(first: SequenceNumber, count: u32) -> SequenceNumber {
    SequenceNumber(first.0.saturating_add(u64::from(count)).saturating_sub(1))
}

/// A record of a log.
struct Logged {
    first: SequenceNumber,
    last: SequenceNumber,
    batch: WriteBatch,
}

/// What a record is to the reader.
enum Place {
    Next,
    /// It lies before what is wanted, or is not to be given at all.
    PassedOver,
    /// No reader of the database sees it yet.
    Later,
}

/// Batches of the logs. See [`Db::updates_since`](crate::Db::updates_since).
pub struct WalIterator {
    core: Arc<DbCore>,
    options: WalReadOptions,
    /// The number that the next batch has to have.
    wanted: SequenceNumber,
    /// Numbers before `wanted` that the last batch counts and does not use. RocksDB gives them out again.
    unused: u64,
    has_begun: bool,
    /// The first batch has to have the number that was asked for.
    is_exact: bool,
    /// What readers saw at the last look.
    visible: SequenceNumber,
    view: LogsView,
    /// The logs from the one on that is being read.
    logs: Vec<ListedLog>,
    log: Option<OpenLog>,
    /// The log that is being read, or was read last.
    at: FileNumber,
    /// The last number that the open log has to tell.
    bound: SequenceNumber,
    /// A record that no reader of the database sees yet.
    held: Option<Logged>,
    /// What was passed over since the last batch.
    damage: Option<Error>,
    failure: Option<Error>,
    scratch: Vec<u8>,
}

impl fmt::Debug for WalIterator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WalIterator").field("wanted", &self.wanted).field("log", &self.at).finish_non_exhaustive()
    }
}

/// See [`Db::updates_since`](crate::Db::updates_since).
pub(crate) fn updates_since(
    core: &Arc<DbCore>,
    sequence: SequenceNumber,
    options: WalReadOptions,
) -> Result<WalIterator> {
    if let Some(recorder) = core.metrics.recorder() {
        recorder.add(Ticker::GetUpdatesSinceCalls, 1);
    }
    files::check_readable(core)?;
    let visible = core.visible();
    if sequence > visible.plus(1) {
        return Err(not_found(format!(
            "Requested sequence not yet written in the db: {sequence} was asked for, and {visible} is the newest; has \
             the database been restored from an older copy?"
        )));
    }
    let mut iterator = WalIterator {
        core: Arc::clone(core),
        options,
        wanted: sequence.max(SequenceNumber(1)),
        unused: 0,
        has_begun: false,
        is_exact: !options.from_first_available && sequence > SequenceNumber(0),
        visible,
        view: LogsView::default(),
        logs: Vec::new(),
        log: None,
        at: FileNumber(0),
        bound: SequenceNumber(0),
        held: None,
        damage: None,
        failure: None,
        scratch: Vec::new(),
    };
    iterator.open_first()?;
    Ok(iterator)
}

impl WalIterator {
    /// The next batch; `None` when all that was written before was given. A later call goes on with what was written
    /// since.
    ///
    /// # Errors
    /// `NotFound` for sequence numbers that are in no log: it was removed, or they were written with `disable_wal`, or
    /// the write failed. `Corruption`, with file and offset, where what is missing was damaged. `ShutdownInProgress`
    /// when the database was closed, and `Io`. An iterator that failed gives that error from then on.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// use ferrock::{SequenceNumber, WalReadOptions};
    ///
    /// let mut updates = db.updates_since(SequenceNumber(1), WalReadOptions::default())?;
    /// assert!(updates.next_batch()?.is_none());
    /// db.put(b"key", b"value")?;
    /// assert_eq!(updates.next_batch()?.unwrap().batch.count(), 1);
    /// assert!(updates.next_batch()?.is_none());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn next_batch(&mut self) -> Result<Option<WalBatch>> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let found = self.find_next();
        self.failure = found.as_ref().err().cloned();
        found
    }

    /// The number that the next batch begins with. A program that keeps it can go on there with another iterator.
    #[must_use]
    pub fn next_sequence(&self) -> SequenceNumber {
        self.wanted
    }

    fn find_next(&mut self) -> Result<Option<WalBatch>> {
        files::check_readable(&self.core)?;
        loop {
            if self.wanted > self.core.visible() {
                return Ok(None);
            }
            let record = match self.held.take() {
                Some(held) => Some(held),
                None => self.read()?,
            };
            let Some(record) = record else {
                if self.advance()? {
                    continue;
                }
                // The look came behind the number: what is not there now will never be.
                let is_missing = self.wanted <= self.visible && (self.has_begun || self.is_exact);
                return if is_missing { Err(self.missing(None)) } else { Ok(None) };
            };
            match self.place(&record)? {
                Place::Next => return Ok(Some(self.give(record))),
                Place::PassedOver => {}
                Place::Later => {
                    self.held = Some(record);
                    return Ok(None);
                }
            }
        }
    }

    fn give(&mut self, record: Logged) -> WalBatch {
        self.wanted = record.last.plus(1);
        self.unused = unused_numbers(&record.batch);
        self.has_begun = true;
        self.damage = None;
        WalBatch { sequence: record.first, batch: record.batch }
    }

    fn place(&mut self, record: &Logged) -> Result<Place> {
        let (first, last) = (record.first, record.last);
        let is_gap = first > self.wanted && (self.has_begun || self.is_exact);
        if last > self.bound {
            self.look()?;
        }
        if last > self.bound {
            if self.next_log()?.is_some() {
                // So is all that lies behind it in this log.
                self.log = None;
                return Ok(Place::PassedOver);
            }
            // What is before it would have been read before it.
            let is_missing = is_gap && self.wanted <= self.visible;
            return if is_missing { Err(self.missing(Some(first))) } else { Ok(Place::Later) };
        }
        if !self.has_begun && last < self.wanted {
            self.damage = None;
            return Ok(Place::PassedOver);
        }
        if is_gap {
            return Err(self.missing(Some(first)));
        }
        if self.has_begun && first.plus(self.unused) < self.wanted {
            let what = format!("sequence number {first} after {}: the log goes back in time", self.wanted.0 - 1);
            return Err(Error::corruption(what).in_file(self.path()));
        }
        Ok(Place::Next)
    }

    fn path(&self) -> PathBuf {
        self.log.as_ref().map_or_else(PathBuf::new, |log| log.path.clone())
    }

    /// The next record of the open log; `None` at the end of what may be read of it.
    fn read(&mut self) -> Result<Option<Logged>> {
        let Some(log) = &mut self.log else { return Ok(None) };
        loop {
            let damage = match log.reader.read_record(&mut self.scratch).map_err(|error| error.in_file(&log.path))? {
                LogEvent::Record { physical_offset, data } => match WriteBatch::from_data(data) {
                    Ok(batch) if wal::follows(&batch.view()).is_some() => continue,
                    Ok(batch) => {
                        let first = batch.sequence();
                        return Ok(Some(Logged { first, last: last_of(first, batch.count()), batch }));
                    }
                    Err(error) => error.at_offset(physical_offset).in_file(&log.path),
                },
                LogEvent::Corruption { offset, what, .. } => files::damaged(&log.path, offset, &what),
                LogEvent::End | LogEvent::OldRecord { .. } => {
                    // A write that failed may leave a torn end behind the bound.
                    if log.reader.has_torn_end() && self.wanted <= self.bound {
                        self.damage.get_or_insert(files::torn(log));
                    }
                    return Ok(None);
                }
            };
            self.damage.get_or_insert(damage);
        }
    }

    /// Goes on behind the end of what was read: in the same log, where it has got longer, or in the next one. False
    /// when there is nothing yet.
    fn advance(&mut self) -> Result<bool> {
        self.look()?;
        if let Some(log) = &mut self.log
            && log.raise_limit(files::limit_of(&self.view, log.number))?
        {
            return Ok(true);
        }
        while let Some(index) = self.next_log()? {
            if self.open(index)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Looks at what there is now: see the [module](self).
    fn look(&mut self) -> Result<()> {
        self.visible = self.core.visible();
        let newest = |view: &LogsView| view.logs.last().map(|log| log.number);
        let view = files::view(&self.core)?;
        if self.logs.is_empty() || newest(&view) != newest(&self.view) {
            self.logs = files::list(&self.core, &view, &self.logs)?;
            self.logs.retain(|log| log.number >= self.at);
        }
        self.view = view;
        for log in &mut self.logs {
            log.limit = files::limit_of(&self.view, log.number);
        }
        self.set_bound()
    }

    fn set_bound(&mut self) -> Result<()> {
        self.bound = self.visible.min(self.view.last_logged);
        let ended_with = self.core.writes.logs().ended_with(self.at);
        self.bound = self.bound.min(ended_with.unwrap_or(self.bound));
        // Of all of them: a recovery that stopped in an earlier one began the log that says the least.
        for index in 0..self.logs.len() {
            if self.logs[index].number > self.at
                && let Some(bound) = files::head(&self.core, &mut self.logs, index)?.bound_of_earlier()
            {
                self.bound = self.bound.min(bound);
            }
        }
        Ok(())
    }

    /// Index of the oldest log behind the open one that has a record.
    fn next_log(&mut self) -> Result<Option<usize>> {
        for index in 0..self.logs.len() {
            if self.logs[index].number > self.at && files::head(&self.core, &mut self.logs, index)?.has_record() {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Opens the log that has what is wanted, or the oldest one.
    fn open_first(&mut self) -> Result<()> {
        self.look()?;
        for index in (0..self.logs.len()).rev() {
            let head = files::head(&self.core, &mut self.logs, index)?;
            if head.start().is_some_and(|start| start <= self.wanted) && self.open(index)? {
                return Ok(());
            }
        }
        self.advance().map(drop)
    }

    /// Goes on in another log; false when it is gone. What was in it is missing then.
    fn open(&mut self, index: usize) -> Result<bool> {
        let listed = self.logs[index].clone();
        self.at = listed.number;
        self.log = files::open(&self.core, &listed, self.options.verify_checksums)?;
        self.set_bound()?;
        Ok(self.log.is_some())
    }

    /// The error for the numbers from the wanted one on, up to that of the batch which was found.
    fn missing(&self, found: Option<SequenceNumber>) -> Error {
        let (from, to) = (self.wanted, found.map_or(self.visible, |found| SequenceNumber(found.0 - 1)));
        match &self.damage {
            Some(damage) => damage.clone().context(&format!("sequence numbers {from} to {to} are lost")),
            None => not_found(format!(
                "Gap in sequence numbers: {from} to {to} are in no log. The log was removed (wal_ttl_seconds and \
                 wal_size_limit_mb keep logs), or they were written with disable_wal, or the write failed: begin with a \
                 new copy of the database"
            )),
        }
    }
}

fn not_found(message: String) -> Error {
    Error::new(ErrorKind::NotFound, message)
}

/// How many of its numbers a batch has not used: an empty range deletion uses none.
fn unused_numbers(batch: &WriteBatch) -> u64 {
    if !batch.has_delete_range() {
        return 0;
    }
    let is_empty = |record: &Record<'_>| matches!(record, Record::DeleteRange { begin, end, .. } if begin == end);
    batch.iter().filter(|record| record.as_ref().is_ok_and(is_empty)).count() as u64
}
