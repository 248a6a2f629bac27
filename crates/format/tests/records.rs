//! Log files, version edits, write batches and OPTIONS files that RocksDB wrote: read, written again, damaged.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use ferrock_base::{FileNumber, SequenceNumber};
use ferrock_format::log::{
    BLOCK_SIZE_BYTES, HeaderFamily, LogEvent, LogReader, LogWriter, SliceSource, WalRecoveryMode,
};
use ferrock_format::options_file::OptionsFile;
use ferrock_format::options_file::value::{format_struct, parse_struct};
use ferrock_format::version_edit::{AtomicGroupBuffer, ColumnFamilyChange, VersionEdit};
use ferrock_format::wide_column::decode_entity;
use ferrock_format::write_batch::{PreparePolicy, Record, WriteBatch, WriteBatchRef};
use std::collections::{BTreeMap, BTreeSet};

macro_rules! data {
    ($name:literal) => {
        include_bytes!(concat!("data/records/", $name))
    };
}

const BLOB_GC: &[u8] = data!("r11.9-blob-gc.manifest");
const LEVELED: &[u8] = data!("r7.8-lsm-leveled.manifest");
const ATOMIC_FLUSH: &[u8] = data!("r11.9-atomic-flush.manifest");
const COLUMN_FAMILIES: &[u8] = data!("r7.8-column-families.manifest");
const FILE_CHECKSUMS: &[u8] = data!("r11.9-file-checksums.manifest");
const NO_TIMESTAMPS: &[u8] = data!("r11.9-udt-not-persisted.manifest");
const DELETE_RANGE: &[u8] = data!("r11.9-delete-range-wide.manifest");
const MANIFESTS: [&[u8]; 7] =
    [BLOB_GC, LEVELED, ATOMIC_FLUSH, COLUMN_FAMILIES, FILE_CHECKSUMS, NO_TIMESTAMPS, DELETE_RANGE];

const WIDE_COLUMNS_LOG: &[u8] = data!("r11.9-wide-columns.log");
const TWO_PHASE_LOG: &[u8] = data!("r11.9-wal-2pc.log");
/// The first 12000 bytes of a compressed log.
const ZSTD_LOG: &[u8] = data!("r11.9-wal-zstd-prefix.log");

/// The records of a log up to its end; damage is a failure.
fn records(log: &[u8], number: u64, mode: WalRecoveryMode) -> Vec<Vec<u8>> {
    let mut reader = LogReader::new(SliceSource(log), FileNumber(number), mode);
    let (mut scratch, mut records) = (Vec::new(), Vec::new());
    loop {
        match reader.read_record(&mut scratch).unwrap() {
            LogEvent::Record { data, .. } => records.push(data.to_vec()),
            LogEvent::End => return records,
            event => panic!("{event:?}"),
        }
    }
}

fn edits(manifest: &[u8]) -> Vec<VersionEdit> {
    let records = records(manifest, 0, WalRecoveryMode::AbsoluteConsistency);
    records.iter().map(|record| VersionEdit::decode(record).unwrap()).collect()
}

/// Live tables after all edits: level by number.
fn live_tables(manifest: &[u8]) -> BTreeMap<u64, u32> {
    let mut live = BTreeMap::new();
    for edit in edits(manifest) {
        for file in edit.deleted_files {
            assert_eq!(live.remove(&file.number.0), Some(file.level));
        }
        for file in edit.new_files {
            assert_eq!(live.insert(file.number.0, file.level), None);
        }
    }
    live
}

#[test]
fn manifests_are_written_again_byte_for_byte() {
    for manifest in MANIFESTS {
        let mut writer = LogWriter::new(FileNumber(0), HeaderFamily::Legacy);
        let mut again = Vec::new();
        for edit in edits(manifest) {
            writer.encode_record(&[&edit.encode()], &mut again);
        }
        assert_eq!(again, manifest);
    }
}

#[test]
fn edits_add_up_to_the_live_files() {
    assert_eq!(live_tables(BLOB_GC), BTreeMap::from([(40, 6)]));
    let leveled = [(34, 2), (44, 2), (45, 3), (46, 2), (47, 3), (48, 3), (49, 3), (54, 2), (55, 1), (57, 2), (58, 2)];
    assert_eq!(live_tables(LEVELED), BTreeMap::from(leveled));
    let last = edits(BLOB_GC).iter().filter_map(|edit| edit.last_sequence).max();
    assert_eq!(last, Some(SequenceNumber(1800)));
}

#[test]
fn blob_files_are_gone_when_all_is_garbage() {
    let mut blobs: BTreeMap<u64, i128> = BTreeMap::new();
    for edit in edits(BLOB_GC) {
        for addition in &edit.blob_file_additions {
            *blobs.entry(addition.number.0).or_default() += i128::from(addition.total_blob_count);
        }
        for garbage in &edit.blob_file_garbages {
            *blobs.get_mut(&garbage.number.0).unwrap() -= i128::from(garbage.garbage_blob_count);
        }
    }
    assert!(blobs.values().all(|&left| left >= 0), "{blobs:?}");
    let live: Vec<_> = blobs.into_iter().filter(|&(_, left)| left > 0).map(|(number, _)| number).collect();
    assert_eq!(live, [36, 37, 38, 41, 42]);
}

#[test]
fn atomic_groups_come_complete() {
    let mut buffer = AtomicGroupBuffer::new();
    let mut groups = Vec::new();
    for edit in edits(ATOMIC_FLUSH) {
        let ready = buffer.push(edit).unwrap();
        if ready.first().is_some_and(|edit| edit.remaining_in_group.is_some()) {
            groups.push(ready.len());
        }
    }
    assert!(!buffer.is_incomplete());
    assert!(!groups.is_empty() && groups.iter().all(|&size| size > 1), "{groups:?}");
}

#[test]
fn column_families_come_and_go() {
    let mut names = BTreeSet::new();
    let mut ids = BTreeMap::new();
    for edit in edits(COLUMN_FAMILIES) {
        match edit.column_family_change {
            Some(ColumnFamilyChange::Add(name)) => {
                ids.insert(edit.column_family, name.clone());
                assert!(names.insert(name));
            }
            Some(ColumnFamilyChange::Drop) => assert!(names.remove(&ids[&edit.column_family])),
            None => {}
        }
    }
    let expected = ["alpha", "beta", "gamma with spaces é", "empty", "recreated"];
    assert_eq!(names, expected.map(str::to_owned).into());
}

#[test]
fn new_files_have_their_custom_fields() {
    for file in edits(FILE_CHECKSUMS).iter().flat_map(|edit| &edit.new_files) {
        let checksum = file.checksum.as_ref().unwrap();
        assert_eq!((checksum.function_name.as_str(), checksum.value.len()), ("FileChecksumCrc32c", 4));
        assert!(file.unique_id.is_some() && file.epoch_number.is_some() && file.tail_size_bytes > 0);
    }
    let edits_without = edits(NO_TIMESTAMPS);
    assert!(edits_without.iter().any(|edit| edit.persist_user_defined_timestamps == Some(false)));
    let file = edits_without.iter().flat_map(|edit| &edit.new_files).next().unwrap();
    assert!(!file.user_defined_timestamps_persisted);
    let (smallest, largest) = file.boundaries_with_timestamp(8);
    assert_eq!((smallest.len(), largest.len()), (file.smallest.len() + 8, file.largest.len() + 8));
    assert!(edits(DELETE_RANGE).iter().flat_map(|edit| &edit.new_files).any(|file| file.largest_is_exclusive()));
    let old = edits(LEVELED);
    assert!(old.iter().flat_map(|edit| &edit.new_files).all(|file| file.epoch_number.is_none()));
}

#[test]
fn write_batches_of_a_log() {
    let log = records(WIDE_COLUMNS_LOG, 11, WalRecoveryMode::AbsoluteConsistency);
    let mut entities = 0;
    let mut expected = None;
    for data in &log {
        let batch = WriteBatch::from_data(data.as_slice()).unwrap();
        assert!(expected.is_none_or(|sequence| batch.sequence() == sequence));
        expected = Some(batch.sequence().plus(u64::from(batch.count())));
        for record in &batch {
            if let Record::PutEntity { entity, .. } = record.unwrap() {
                decode_entity(entity).unwrap();
                entities += 1;
            }
        }
    }
    assert_eq!(expected, Some(SequenceNumber(1251)));
    assert!(entities > 50, "{entities}");
    let mut writer = LogWriter::new(FileNumber(11), HeaderFamily::Legacy);
    let mut again = Vec::new();
    log.iter().for_each(|data| writer.encode_record(&[&data[..5], &data[5..]], &mut again));
    assert_eq!(again, WIDE_COLUMNS_LOG);
}

#[test]
fn two_phase_commit_in_a_log() {
    let (mut prepared, mut ended, mut keys) = (BTreeSet::new(), 0, 0);
    for data in records(TWO_PHASE_LOG, 4, WalRecoveryMode::AbsoluteConsistency) {
        for record in WriteBatchRef::new(&data).unwrap() {
            match record.unwrap() {
                Record::EndPrepare { xid } => assert!(prepared.insert(xid.to_vec())),
                Record::Commit { xid } | Record::Rollback { xid } => {
                    assert!(prepared.remove(xid));
                    ended += 1;
                }
                Record::BeginPrepare(policy) => assert_eq!(policy, PreparePolicy::WriteCommitted),
                record => keys += u32::from(record.is_counted()),
            }
        }
    }
    assert!(ended > 0 && keys > 200, "{ended} {keys}");
}

#[test]
fn a_compressed_log() {
    let log = records(ZSTD_LOG, 4, WalRecoveryMode::TolerateCorruptedTailRecords);
    assert!(log.len() > 5, "{}", log.len());
    let mut expected = 1;
    for data in log {
        let batch = WriteBatch::from_data(data).unwrap();
        assert_eq!(batch.sequence(), SequenceNumber(expected));
        expected += u64::from(batch.count());
    }
}

#[test]
fn options_files_are_written_again_line_for_line() {
    for options in [&data!("r11.9.options")[..], data!("r7.8.options")] {
        let file = OptionsFile::parse(options).unwrap();
        let written = file.format().unwrap();
        let body = |text: &str| text[text.find("[Version]").unwrap()..].to_owned();
        assert_eq!(body(&written), body(std::str::from_utf8(options).unwrap()));
        let default = file.column_family("default").unwrap();
        assert_eq!(default.table.as_ref().unwrap().factory, "BlockBasedTable");
        for statement in default.options.statements.iter().filter(|statement| statement.value.starts_with('{')) {
            let fields = parse_struct(&statement.value).unwrap();
            assert!(!fields.is_empty());
            assert_eq!(format_struct(fields), statement.value);
        }
    }
}

/// Reads all of a damaged log in every mode; decodes what comes out.
fn read_damaged(log: &[u8], number: u64, decode: fn(&[u8])) {
    for mode in WalRecoveryMode::ALL {
        let mut reader = LogReader::new(SliceSource(log), FileNumber(number), mode);
        let mut scratch = Vec::new();
        for events in 0.. {
            assert!(events < 1000, "the reader does not end");
            match reader.read_record(&mut scratch).unwrap() {
                LogEvent::Record { data, .. } => decode(data),
                LogEvent::End => break,
                _ => {}
            }
        }
    }
}

#[test]
fn every_byte_of_a_manifest_damaged_or_cut() {
    for manifest in [BLOB_GC, COLUMN_FAMILIES, NO_TIMESTAMPS] {
        let whole = edits(manifest);
        for place in 0..manifest.len() {
            let mut bad = manifest.to_vec();
            bad[place] ^= 0x55;
            read_damaged(&bad, 0, |data| drop(VersionEdit::decode(data)));
            let cut = records(&manifest[..place], 0, WalRecoveryMode::TolerateCorruptedTailRecords);
            assert!(cut.len() < whole.len());
            assert!(cut.iter().zip(&whole).all(|(data, edit)| VersionEdit::decode(data).unwrap() == *edit));
        }
    }
}

#[test]
fn every_byte_of_an_edit_damaged() {
    for edit in MANIFESTS.iter().flat_map(|manifest| edits(manifest)) {
        let record = edit.encode();
        for place in 0..record.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bad = record.clone();
                bad[place] ^= flip;
                let _ = VersionEdit::decode(&bad);
            }
            let _ = VersionEdit::decode(&record[..place]);
        }
    }
}

#[test]
fn every_byte_of_a_batch_damaged() {
    for (log, number) in [(WIDE_COLUMNS_LOG, 11), (TWO_PHASE_LOG, 4)] {
        for data in records(log, number, WalRecoveryMode::AbsoluteConsistency).into_iter().take(12) {
            for place in 0..data.len() {
                let mut bad = data.clone();
                bad[place] ^= 0x81;
                let _ = WriteBatch::from_data(bad);
                assert!(WriteBatch::from_data(&data[..place]).is_err());
            }
        }
    }
}

#[test]
fn a_compressed_log_damaged() {
    let block = &ZSTD_LOG[..BLOCK_SIZE_BYTES.min(3000)];
    for place in 0..block.len() {
        let mut bad = block.to_vec();
        bad[place] ^= 0x55;
        read_damaged(&bad, 4, |data| drop(WriteBatch::from_data(data)));
    }
}
