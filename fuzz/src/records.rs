//! Records: logs, write batches, version edits, and the text files of a database directory.

use crate::{repair, split_selector};
use ferrock_base::byte_text::to_bytes;
use ferrock_base::comparator::Comparator;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{FileNumber, ParsedInternalKey};
use ferrock_format::backup::{BackupFileName, BackupMeta};
use ferrock_format::blob_index::{BlobIndex, BlobReference};
use ferrock_format::compaction_service::{CompactionServiceInput, CompactionServiceResult};
use ferrock_format::current_file::{decode_current, decode_identity, encode_current};
use ferrock_format::file_name;
use ferrock_format::filter::FilterPolicy;
use ferrock_format::log::{LogEvent, LogReader, SliceSource, WalRecoveryMode};
use ferrock_format::options_file::{OptionsFile, value};
use ferrock_format::trace::{self, FRAME_HEADER_SIZE_BYTES, FrameHeader, Operation, TraceHeader};
use ferrock_format::version_edit::{AtomicGroupBuffer, VersionEdit};
use ferrock_format::wide_column::{decode_entity, default_column, encode_entity};
use ferrock_format::write_batch::{Record, WriteBatch, WriteBatchRef};

/// A log file in every recovery mode, with its own checksums or repaired ones.
pub fn log_reader(data: &[u8]) {
    let (selector, log) = split_selector(data);
    let mode = WalRecoveryMode::ALL[usize::from(selector & 3)];
    let number = FileNumber(u64::from(selector >> 3 & 7));
    let mut log = log.to_vec();
    if selector & 4 == 0 {
        repair::log_checksums(&mut log);
    }
    let mut reader = if selector & 0x80 == 0 {
        LogReader::new(SliceSource(&log), number, mode)
    } else {
        LogReader::manifest(SliceSource(&log))
    }
    .with_record_limit(1 << 20);
    let mut scratch = Vec::new();
    // Every event but the last consumes at least a header, or the rest of a block.
    for _ in 0..log.len() / 4 + 8 {
        match reader.read_record(&mut scratch).expect("memory does not fail") {
            LogEvent::End => return,
            LogEvent::OldRecord { offset } => {
                assert!(offset <= log.len() as u64);
                return;
            }
            LogEvent::Corruption { offset, .. } => assert!(offset <= log.len() as u64),
            LogEvent::Record { physical_offset, data } => {
                assert!(physical_offset < log.len() as u64);
                if let Ok(batch) = WriteBatchRef::new(data) {
                    let _ = batch.verify();
                }
            }
        }
        assert!(reader.last_record_end() <= log.len() as u64);
    }
    panic!("the reader does not come to an end");
}

/// The records of a write batch; an accepted batch is built again from its records.
pub fn write_batch(data: &[u8]) {
    let Ok(batch) = WriteBatchRef::new(data) else { return };
    let mut copy = WriteBatch::new();
    let mut can_copy = true;
    let mut records = 0usize;
    for record in batch.iter() {
        let Ok(record) = record else { break };
        records += 1;
        let _ = (record.as_entry(), record.column_family());
        can_copy &= match record {
            Record::Put { column_family, key, value } => copy.put_cf(column_family, key, value).is_ok(),
            Record::Delete { column_family, key } => copy.delete_cf(column_family, key).is_ok(),
            Record::SingleDelete { column_family, key } => copy.single_delete_cf(column_family, key).is_ok(),
            Record::Merge { column_family, key, operand } => copy.merge_cf(column_family, key, operand).is_ok(),
            Record::BlobIndex { column_family, key, index } => {
                copy.put_blob_index_cf(column_family, key, index).is_ok()
            }
            Record::LogData(blob) => copy.put_log_data(blob).is_ok(),
            _ => false,
        };
    }
    assert!(records <= data.len());
    if batch.verify().is_ok() && can_copy {
        copy.set_sequence(batch.sequence());
        let ours: Vec<_> = copy.view().iter().map(|record| record.expect("our own batch")).collect();
        let theirs: Vec<_> = batch.iter().map(|record| record.expect("verified")).collect();
        assert_eq!(ours, theirs);
        assert_eq!(copy.count(), batch.count());
        copy.view().verify().expect("our own batch");
    }
    if let Ok(mut owned) = WriteBatch::from_data(data) {
        let _ = owned.append(&copy);
        owned.clear();
    }
}

/// A version edit; an accepted one is encoded and decoded again.
pub fn version_edit(data: &[u8]) {
    let Ok(edit) = VersionEdit::decode(data) else { return };
    let again = VersionEdit::decode(&edit.encode()).expect("decode what was encoded");
    // Deleted files form a set; encoding brings them in order.
    assert_eq!(edit.encode(), again.encode());
    for file in &edit.new_files {
        let mut file = file.clone();
        for size in [0, 8, 64] {
            let _ = file.boundaries_with_timestamp(size);
            file.strip_boundary_timestamps(size);
        }
    }
    let mut group = AtomicGroupBuffer::new();
    let _ = group.push(edit.clone());
    let _ = group.push(again);
}

/// The job or the result of a compaction in another process, or what the fuzzer makes of one.
pub fn compaction_service(data: &[u8]) {
    if let Ok(input) = CompactionServiceInput::decode(data) {
        assert_eq!(CompactionServiceInput::decode(&input.encode()).expect("our own"), input);
    }
    if let Ok(result) = CompactionServiceResult::decode(data) {
        let again = CompactionServiceResult::decode(&result.encode()).expect("our own");
        assert_eq!((again.output_files, again.stats), (result.output_files, result.stats));
    }
}

/// The description of a backup; an accepted one is written and read again.
pub fn backup_meta(data: &[u8]) {
    let Ok(meta) = BackupMeta::decode(data) else { return };
    let mut written = meta.clone();
    // No version that is written has these.
    written.files.iter_mut().for_each(|file| file.size_bytes = None);
    let text = written.encode(2).expect("version 2 can say everything");
    assert_eq!(BackupMeta::decode(&text).expect("our own"), written);
    for file in &meta.files {
        BackupFileName::parse(&file.name).expect("names are checked");
    }
}

/// Frames of a trace; an operation that is accepted is encoded and decoded again.
pub fn trace(data: &[u8]) {
    let (selector, mut rest) = split_selector(data);
    let header = TraceHeader { version: (0, u32::from(selector & 1) + 1), rocksdb_version: (11, 8) };
    let _ = TraceHeader::decode(rest);
    while let Some((head, behind)) = rest.split_first_chunk::<FRAME_HEADER_SIZE_BYTES>() {
        let frame = FrameHeader::decode(head);
        let payload = &behind[..behind.len().min(frame.payload_size as usize)];
        rest = &behind[payload.len()..];
        let Ok(Some(operation)) = Operation::decode(&header, frame.kind, payload) else { continue };
        let mut again = Vec::new();
        match &operation {
            Operation::Write { batch } => trace::encode_write(&mut again, 0, batch),
            Operation::Get { family, key } => trace::encode_get(&mut again, 0, *family, key),
            Operation::Seek { direction, family, key, lower, upper } => {
                let bounds = [lower.as_deref(), upper.as_deref()];
                if bounds.contains(&Some(b"")) {
                    // An empty bound is none, and is not written.
                    continue;
                }
                trace::encode_seek(&mut again, 0, *direction, (*family, key), bounds);
            }
            Operation::MultiGet { keys } => {
                trace::encode_multi_get(&mut again, 0, keys.iter().map(|(family, key)| (*family, key.as_slice())));
            }
        }
        let newest = TraceHeader { version: trace::VERSION, ..header };
        let decoded = Operation::decode(&newest, frame.kind, &again[FRAME_HEADER_SIZE_BYTES..]);
        assert_eq!(decoded.expect("our own"), Some(operation));
    }
}

/// An OPTIONS file; an accepted one is formatted and parsed again.
pub fn options_file(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = value::parse_struct(text);
        let _ = value::ObjectId::parse(text);
        assert_eq!(value::unescape(&value::escape(text)), text);
        value::parse_list(text).for_each(|item| drop(item.to_owned()));
        let _ = FilterPolicy::parse(text);
        let _ = PrefixExtractor::built_in(text);
        let _ = Comparator::built_in(text);
    }
    let Ok(parsed) = OptionsFile::parse(data) else { return };
    if let Ok(formatted) = parsed.format() {
        let again = OptionsFile::parse(&to_bytes(&formatted)).expect("parse what was formatted");
        assert_eq!(again.format().expect("format again"), formatted);
    }
}

/// The names in a database directory, and CURRENT and IDENTITY.
pub fn file_name(data: &[u8]) {
    if let Ok(number) = decode_current(data) {
        assert_eq!(decode_current(&encode_current(number)).expect("our own"), number);
    }
    let _ = decode_identity(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some(name) = file_name::parse(text) else { return };
    let _ = name.kind.uses_file_number();
    let _ = file_name::info_log_prefix(text);
}

/// Values that refer to something else: blob indexes and wide-column entities; internal keys.
pub fn values(data: &[u8]) {
    blob_file(data);
    if let Ok(BlobIndex::Reference { reference, expiration_secs: None }) = BlobIndex::decode(data) {
        assert_eq!(BlobReference::decode(&reference.encode()).expect("our own"), reference);
    }
    let _ = BlobReference::decode(data);
    if let Ok(key) = ParsedInternalKey::parse(data) {
        assert_eq!(key.encode(), data);
    }
    let default = default_column(data);
    let Ok(columns) = decode_entity(data) else { return };
    assert_eq!(default.expect("the whole entity is fine"), columns.first().copied().filter(|c| c.name.is_empty()));
    if columns.iter().all(|column| !column.is_blob_index) {
        let pairs: Vec<_> = columns.iter().map(|column| (column.name, column.value)).collect();
        let encoded = encode_entity(&pairs).expect("decoded columns are in order");
        assert_eq!(decode_entity(&encoded).expect("our own"), columns);
    }
}

/// Headers and footers of blob files: what decodes is what its encoding decodes to.
fn blob_file(data: &[u8]) {
    use ferrock_format::blob_file::{BlobFileFooter, BlobFileHeader, BlobRecordHeader};
    if let Ok(header) = BlobFileHeader::decode(data) {
        assert_eq!(BlobFileHeader::decode(&header.encode()).expect("our own"), header);
    }
    if let Ok(footer) = BlobFileFooter::decode(data) {
        assert_eq!(BlobFileFooter::decode(&footer.encode()).expect("our own"), footer);
    }
    if let Ok(record) = BlobRecordHeader::decode(data) {
        assert_eq!(BlobRecordHeader::decode(&record.encode()).expect("our own"), record);
        let (key, value) = data.split_at(data.len() / 2);
        let _ = (record.verify_blob(key, value), record.record_size());
    }
}
