//! `dump_wal`: the records of a log file, a line each.
//!
//! ```text
//! sequence,count,bytes,offset,RECORD(family) : 0xKEY [: 0xVALUE] ...
//! ```
//!
//! The file alone is read, so families are numbers.

use crate::arguments::Request;
use crate::log_file::LogFile;
use crate::text::hexadecimal;
use crate::{Failure, Result};
use ferrock_format::file_name::{self, FileKind};
use ferrock_format::log::{LogEvent, LogReader, WalRecoveryMode};
use ferrock_format::write_batch::{PreparePolicy, Record, WriteBatchRef};
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

/// What is printed of a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    /// A line of titles first.
    pub(super) header: bool,
    pub(super) values: bool,
    /// Transactions were written when they committed.
    pub(super) is_committed: bool,
}

pub(super) fn run(request: &Request, out: &mut dyn Write) -> Result<()> {
    let path = request.get("walfile");
    let path = Path::new(path.ok_or_else(|| Failure::Usage("Argument --walfile must be specified.".to_owned()))?);
    let columns = Columns {
        header: request.is_set("header"),
        values: request.is_set("print_value"),
        is_committed: request.get("write_committed") != Some("false"),
    };
    print(path, columns, out)
}

/// Prints the records of a log.
pub(super) fn print(path: &Path, columns: Columns, out: &mut dyn Write) -> Result<()> {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(file_name::parse);
    let number = match name {
        Some(name) if name.kind == FileKind::Log => name.number,
        // Checked by recyclable records only; any number will do for a file with another name.
        _ => ferrock::FileNumber(0),
    };
    let source = LogFile::open(path)?;
    if columns.header {
        write!(out, "Sequence,Count,ByteSize,Physical Offset,Key(s)")?;
        if columns.values {
            write!(out, " : value ")?;
        }
        writeln!(out)?;
    }
    let mode = WalRecoveryMode::TolerateCorruptedTailRecords;
    let mut reader = LogReader::new(source, number, mode);
    let mut scratch = Vec::new();
    let mut damage = None;
    loop {
        match reader.read_record(&mut scratch).map_err(|error| error.in_file(path))? {
            LogEvent::Record { physical_offset, data } => {
                let line = line(data, physical_offset, columns.values, columns.is_committed)
                    .map_err(|error| error.at_offset(physical_offset).in_file(path))?;
                writeln!(out, "{line}")?;
            }
            LogEvent::Corruption { offset, bytes_dropped, what } => {
                damage.get_or_insert_with(|| {
                    format!(
                        "Corruption: {}: {what}, at offset {offset} ({bytes_dropped} bytes dropped)",
                        path.display()
                    )
                });
            }
            LogEvent::OldRecord { .. } | LogEvent::End => break,
        }
    }
    damage.map_or(Ok(()), |damage| Err(Failure::Data(damage)))
}

/// The line of a batch.
fn line(data: &[u8], offset: u64, with_values: bool, is_committed: bool) -> ferrock::Result<String> {
    let batch = WriteBatchRef::new(data)?;
    let mut text = format!("{},{},{},{offset},", batch.sequence().0, batch.count(), data.len());
    for record in batch.iter() {
        append(&mut text, &record?, with_values, is_committed);
    }
    Ok(text)
}

/// Adds a record; each ends with a space.
fn append(text: &mut String, record: &Record<'_>, with_values: bool, is_committed: bool) {
    let hex = hexadecimal;
    let mut entry = |name: &str, family: u32, key: &[u8], value: Option<&[u8]>| {
        let _ = write!(text, "{name}({family}) : {} ", hex(key));
        if let Some(value) = value.filter(|_| with_values) {
            let _ = write!(text, ": {} ", hex(value));
        }
    };
    match *record {
        Record::Put { column_family, key, value } => entry("PUT", column_family, key, Some(value)),
        Record::Delete { column_family, key } => entry("DELETE", column_family, key, None),
        Record::SingleDelete { column_family, key } => entry("SINGLE_DELETE", column_family, key, None),
        Record::Merge { column_family, key, operand } => entry("MERGE", column_family, key, Some(operand)),
        Record::DeleteRange { column_family, begin, end } => {
            entry("DELETE_RANGE", column_family, begin, None);
            let _ = write!(text, "{} ", hex(end));
        }
        Record::BlobIndex { column_family, key, index } => entry("PUT_BLOB_INDEX", column_family, key, Some(index)),
        Record::PutEntity { column_family, key, entity } => entry("PUT_ENTITY", column_family, key, Some(entity)),
        Record::TimedPut { column_family, key, value_and_time } => {
            entry("TIMED_PUT", column_family, key, Some(value_and_time));
        }
        // It is the application's own, and RocksDB's tool does not show it.
        Record::LogData(_) => {}
        Record::BeginPrepare(policy) => {
            let _ = write!(text, "BEGIN_PREPARE({}) ", policy == PreparePolicy::WriteUnprepared);
        }
        Record::EndPrepare { xid } => {
            let _ = write!(text, "END_PREPARE({}) ", hex(xid));
        }
        Record::Commit { xid } => {
            let _ = write!(text, "COMMIT({}) ", hex(xid));
        }
        Record::CommitWithTimestamp { timestamp, xid } => {
            let _ = write!(text, "COMMIT_WITH_TIMESTAMP({}, {}) ", hex(xid), hex(timestamp));
        }
        Record::Rollback { xid } => {
            let _ = write!(text, "ROLLBACK({}) ", hex(xid));
        }
        // In other policies the mark only ends a batch.
        Record::Noop => {
            let _ = write!(text, "{}", if is_committed { "NOOP " } else { "" });
        }
    }
}
