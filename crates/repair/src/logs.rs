//! The intact entries of a log, record by record.
//!
//! A record counts when its checksum is right and every entry of its batch can be read. Reading goes on behind damage,
//! as with `wal_recovery_mode=kSkipAnyCorruptedRecords`; what the other modes would lose is told.

use crate::report::{Finding, Problem};
use ferrock_base::{Error, FileNumber, Result, SequenceNumber, ValueType};
use ferrock_format::log::{BLOCK_SIZE_BYTES, LogEvent, LogReader, SliceSource, WalRecoveryMode, intact_record};
use ferrock_format::write_batch::{Record, WriteBatchRef};
use ferrock_vfs::{FileSystem, read_file};
use std::path::Path;

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
    /// An earlier record of this log is damaged: point-in-time recovery does not reach this one.
    pub(crate) is_behind_damage: bool,
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
    let mut facts = LogFacts::default();
    let bytes = match read_file(files, path) {
        Ok(bytes) => bytes,
        Err(error) => {
            facts.findings.push(Finding::of(&error));
            return Ok(facts);
        }
    };
    let mut reader = LogReader::new(SliceSource(&bytes), number, WalRecoveryMode::PointInTimeRecovery);
    let (mut scratch, mut is_behind_damage, mut goes_on) = (Vec::new(), false, false);
    loop {
        match reader.read_record(&mut scratch) {
            Ok(LogEvent::Record { physical_offset, data }) => {
                if let Err(finding) = read_batch(data, physical_offset, is_behind_damage, &mut facts, visit)? {
                    facts.findings.push(finding);
                    is_behind_damage = true;
                }
            }
            Ok(LogEvent::Corruption { offset, what, bytes_dropped }) => {
                let is_torn = ["truncated header", "truncated record body", "error reading trailing data"];
                let is_torn = is_torn.contains(&&*what) && !has_record_behind(&bytes, offset, number);
                let problem = if is_torn { Problem::TornEnd } else { Problem::Damaged };
                facts.findings.push(Finding::at(problem, offset, format!("{what}; {bytes_dropped} bytes are lost")));
                is_behind_damage = true;
            }
            // The end of a recycled log, unless this one goes on behind it: then the header of a record was changed.
            Ok(LogEvent::OldRecord { .. }) if goes_on => {}
            Ok(LogEvent::OldRecord { offset }) if has_own_record(&bytes, offset, bytes.len(), number) => {
                let what = "a record seems to be of an earlier use of the file, and intact ones of this log follow it";
                facts.findings.push(Finding::at(Problem::Damaged, offset, what));
                (is_behind_damage, goes_on) = (true, true);
            }
            Ok(LogEvent::OldRecord { .. } | LogEvent::End) => break,
            Err(error) => {
                facts.findings.push(Finding::of(&error));
                break;
            }
        }
    }
    Ok(facts)
}

/// True when an intact record lies behind what looks like a torn end: then a length was damaged. No more than two
/// blocks are looked at, as a reader takes only the last one for torn.
fn has_record_behind(bytes: &[u8], offset: u64, number: FileNumber) -> bool {
    has_own_record(bytes, offset, 2 * BLOCK_SIZE_BYTES, number)
}

/// True when within `reach` bytes behind `offset` an intact record of this log begins.
fn has_own_record(bytes: &[u8], offset: u64, reach: usize, number: FileNumber) -> bool {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).saturating_add(1);
    let end = bytes.len().min(start.saturating_add(reach));
    (start..end).any(|position| intact_record(&bytes[position..], number).is_some())
}

/// The entries of one batch, or what is wrong with it.
fn read_batch(
    data: &[u8],
    offset: u64,
    is_behind_damage: bool,
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
        visit(LogEntry { family, sequence, value_type, key, value, is_behind_damage })?;
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
