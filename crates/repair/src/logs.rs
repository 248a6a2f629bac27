//! The intact entries of a log, record by record.
//!
//! A record counts when its checksum is right and every entry of its batch can be read. Reading goes on behind damage,
//! as with `wal_recovery_mode=kSkipAnyCorruptedRecords`; what the other modes would lose is told.

use crate::report::{Finding, Problem};
use ferrock_base::checksum::{crc32c, mask_crc};
use ferrock_base::{Error, FileNumber, Result, SequenceNumber, ValueType};
use ferrock_format::log::{
    BLOCK_SIZE_BYTES, LEGACY_HEADER_SIZE_BYTES, LogEvent, LogReader, SliceSource, WalRecoveryMode, intact_record,
};
use ferrock_format::write_batch::{Record, WriteBatchRef};
use ferrock_vfs::{FileSystem, read_file};
use std::path::Path;

/// Types of records up to this one have no number of their log.
const LAST_LEGACY_TYPE: u8 = 4;

/// A type of records that every reader passes over: its first bit says so.
const IGNORED_TYPE: u8 = 254;

/// What a reader says of fragments behind which an earlier use of the file seems to begin; it stops there.
const TRAILING: &str = "error reading trailing data";

/// Bytes of a record behind the value of a put that remembers its time.
const TIME_BYTES: usize = 8;

/// An entry of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogEntry<'a> {
    pub(crate) family: u32,
    pub(crate) sequence: SequenceNumber,
    pub(crate) value_type: ValueType,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// What is known of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogFacts {
    pub(crate) findings: Vec<Finding>,
    /// Numbers of the first and the last intact batch.
    pub(crate) sequences: Option<(SequenceNumber, SequenceNumber)>,
    /// Entries of intact batches.
    pub(crate) entries: u64,
}

/// Shows `visit` the entries of a log.
///
/// # Errors
/// Those of `visit`; damage is in the result.
pub(crate) fn read(
    files: &dyn FileSystem,
    path: &Path,
    number: FileNumber,
    visit: &mut dyn FnMut(LogEntry<'_>) -> Result<()>,
) -> Result<LogFacts> {
    let bytes = match read_file(files, path) {
        Ok(bytes) => bytes,
        Err(error) => return Ok(LogFacts { findings: vec![Finding::of(&error)], ..LogFacts::default() }),
    };
    let mut reading = Reading { bytes, number, facts: LogFacts::default(), from: 0, is_recycled: false };
    while let Some(end) = reading.read(visit)? {
        if !reading.skip(end) {
            break;
        }
    }
    Ok(reading.facts)
}

/// A log that is read until a reader would stop before its end. What it stopped at is then taken for a record that says
/// nothing, and the log is read again from there.
struct Reading {
    bytes: Vec<u8>,
    number: FileNumber,
    facts: LogFacts,
    /// Records before this offset were shown.
    from: u64,
    /// Records have the number of the log.
    is_recycled: bool,
}

impl Reading {
    /// Shows the entries from `from` on. Returns where the reader stopped, if that is not where the log ends.
    fn read(&mut self, visit: &mut dyn FnMut(LogEntry<'_>) -> Result<()>) -> Result<Option<u64>> {
        let mut reader = LogReader::new(SliceSource(&self.bytes), self.number, WalRecoveryMode::PointInTimeRecovery);
        let mut scratch = Vec::new();
        loop {
            match reader.read_record(&mut scratch) {
                Ok(LogEvent::Record { physical_offset, .. }) if physical_offset < self.from => {}
                Ok(LogEvent::Corruption { offset, .. }) if offset < self.from => {}
                Ok(LogEvent::Record { physical_offset, data }) => {
                    self.is_recycled |= self.type_at(physical_offset).is_some_and(|kind| kind > LAST_LEGACY_TYPE);
                    if let Err(finding) = read_batch(data, physical_offset, &mut self.facts, visit)? {
                        self.facts.findings.push(finding);
                    }
                }
                Ok(LogEvent::Corruption { offset, what, bytes_dropped }) => {
                    let may_be_torn = ["truncated header", "truncated record body", TRAILING].contains(&&*what);
                    // Of what looks like a torn end a length was damaged where intact records follow. A reader takes
                    // no more than the last block for torn.
                    let is_torn = may_be_torn && self.next_own(offset, 2 * BLOCK_SIZE_BYTES).is_none();
                    let problem = if is_torn { Problem::TornEnd } else { Problem::Damaged };
                    let is_trailing = what == TRAILING;
                    let what = format!("{what}; {bytes_dropped} bytes are lost");
                    self.facts.findings.push(Finding::at(problem, offset, what));
                    if is_trailing {
                        return Ok(Some(offset));
                    }
                }
                // The end of a recycled log, unless this one goes on behind it: then a header was changed.
                Ok(LogEvent::OldRecord { offset }) => {
                    if self.next_own(offset, self.bytes.len()).is_none() {
                        return Ok(None);
                    }
                    let what =
                        "a record seems to be of an earlier use of the file, and intact ones of this log follow it";
                    self.facts.findings.push(Finding::at(Problem::Damaged, offset, what));
                    return Ok(Some(offset));
                }
                Ok(LogEvent::End) => return Ok(None),
                Err(error) => {
                    self.facts.findings.push(Finding::of(&error));
                    return Ok(None);
                }
            }
        }
    }

    fn type_at(&self, offset: u64) -> Option<u8> {
        self.bytes.get(usize::try_from(offset).ok()?.checked_add(LEGACY_HEADER_SIZE_BYTES - 1)?).copied()
    }

    /// Where the first intact record of this log begins, within `reach` bytes behind `offset`. In a recycled log the
    /// bytes of an earlier use may look like a record without a number.
    fn next_own(&self, offset: u64, reach: usize) -> Option<usize> {
        let start = usize::try_from(offset).ok()?.checked_add(1)?;
        let end = self.bytes.len().min(start.saturating_add(reach));
        (start..end).find(|&position| {
            let bytes = &self.bytes[position..];
            let is_kind = bytes.get(LEGACY_HEADER_SIZE_BYTES - 1).is_some_and(|kind| *kind > LAST_LEGACY_TYPE);
            (is_kind || !self.is_recycled) && intact_record(bytes, self.number).is_some()
        })
    }

    /// Puts records that say nothing over what lies between `offset` and the next intact record of this log; false
    /// where there is none.
    fn skip(&mut self, offset: u64) -> bool {
        let Some(next) = self.next_own(offset, self.bytes.len()) else { return false };
        let mut start = usize::try_from(offset).unwrap_or(next);
        while start < next {
            let end = next.min((start / BLOCK_SIZE_BYTES + 1) * BLOCK_SIZE_BYTES);
            let piece = &mut self.bytes[start..end];
            piece.fill(0);
            // Fewer bytes are the padding of a block, or too few for a record: the record behind them is lost, too.
            if let Some(length) = piece.len().checked_sub(LEGACY_HEADER_SIZE_BYTES) {
                piece[4..6].copy_from_slice(&(length as u16).to_le_bytes());
                piece[6] = IGNORED_TYPE;
                let crc = mask_crc(crc32c(&piece[6..]));
                piece[..4].copy_from_slice(&crc.to_le_bytes());
            }
            start = end;
        }
        self.from = next as u64;
        true
    }
}

/// The entries of one batch, or what is wrong with it.
fn read_batch(
    data: &[u8],
    offset: u64,
    facts: &mut LogFacts,
    visit: &mut dyn FnMut(LogEntry<'_>) -> Result<()>,
) -> Result<std::result::Result<(), Finding>> {
    let damaged = |error: Error| Finding::at(Problem::of(&error), offset, error.message());
    let batch = match WriteBatchRef::new(data).and_then(|batch| batch.verify().map(|_| batch)) {
        Ok(batch) => batch,
        Err(error) => return Ok(Err(damaged(error))),
    };
    let has_prepared = batch.iter().flatten().any(|record| {
        // What is committed may have been prepared in a log that no table's family needs any more.
        matches!(record, Record::BeginPrepare(_) | Record::Commit { .. } | Record::CommitWithTimestamp { .. })
    });
    if has_prepared {
        let what = "a prepared transaction, or the commit of one: open the database with what wrote it, and close it, \
                    so that no log has transactions";
        return Ok(Err(Finding::at(Problem::NotSupported, offset, what)));
    }
    let mut sequence = batch.sequence();
    for record in batch.iter().flatten() {
        let Some((family, value_type, key, value)) = record.as_entry() else { continue };
        let (value_type, value) = match value_type {
            // Without the time, as a flush leaves it.
            ValueType::ValuePreferredSeqno => (ValueType::Value, &value[..value.len().saturating_sub(TIME_BYTES)]),
            other => (other, value),
        };
        visit(LogEntry { family, sequence, value_type, key, value })?;
        facts.entries += 1;
        sequence = sequence.plus(1);
    }
    let last = SequenceNumber(sequence.0.saturating_sub(1).max(batch.sequence().0));
    if batch.count() > 0 {
        let (first, newest) = facts.sequences.get_or_insert((batch.sequence(), last));
        (*first, *newest) = ((*first).min(batch.sequence()), (*newest).max(last));
    }
    Ok(Ok(()))
}
