use super::*;
use ferrock_base::Temperature;
use ferrock_base::byte_text::from_bytes;
use proptest::prelude::*;

const COMPARATOR: &[u8] = b"\x01\x1aleveldb.BytewiseComparator";

fn round_trip(record: &[u8]) -> VersionEdit {
    let edit = VersionEdit::decode(record).unwrap();
    assert_eq!(edit.encode(), record);
    edit
}

fn decode_error(record: &[u8]) -> String {
    let error = VersionEdit::decode(record).unwrap_err();
    assert!(error.is_corruption(), "{error}");
    error.to_string()
}

#[test]
fn records_of_a_fresh_database_have_rocksdbs_bytes() {
    let mut db_id = b"\x81\x40\x24".to_vec();
    db_id.extend_from_slice(&[b'f'; 36]);
    assert_eq!(round_trip(&db_id).db_id.unwrap(), "f".repeat(36));
    assert_eq!(round_trip(b""), VersionEdit::new());
    let edit = round_trip(&[COMPARATOR, b"\x89\x40\x01\x01"].concat());
    assert_eq!(edit.comparator.as_deref(), Some("leveldb.BytewiseComparator"));
    assert_eq!(edit.persist_user_defined_timestamps, Some(true));
    let edit = round_trip(b"\x02\x00\x04\x00");
    assert_eq!((edit.log_number, edit.last_sequence), (Some(FileNumber(0)), Some(SequenceNumber(0))));
    assert_eq!(round_trip(b"\x8b\x40\x01\x76").last_compacted_manifest_file_size_bytes, Some(0x76));
    let edit = round_trip(b"\x09\x00\x03\x06\x04\x00");
    assert_eq!((edit.prev_log_number, edit.next_file_number), (Some(FileNumber(0)), Some(FileNumber(6))));
}

#[test]
fn column_family_edits_have_rocksdbs_bytes() {
    let add = [COMPARATOR, b"\x02\x04\x03\x08\x04\x00\xc8\x01\x01\xc9\x01\x03cf1\x89\x40\x01\x01"].concat();
    let edit = round_trip(&add);
    assert_eq!(edit.column_family, 1);
    assert_eq!(edit.column_family_change, Some(ColumnFamilyChange::Add("cf1".to_owned())));
    let edit = round_trip(b"\x03\x0f\xcb\x01\x01\x04\x0e\xc8\x01\x01\xca\x01");
    assert_eq!((edit.max_column_family, edit.column_family_change), (Some(1), Some(ColumnFamilyChange::Drop)));
}

#[test]
fn wal_edits_have_rocksdbs_bytes() {
    let edit = round_trip(b"\x03\x0d\x04\x03\x87\x40\x04\x0a\x02\x37\x01");
    let addition = WalAddition { log_number: FileNumber(10), synced_size_bytes: Some(0x37) };
    assert_eq!(edit.wal_additions, [addition]);
    assert!(edit.is_wal_manipulation());
    assert_eq!(round_trip(b"\x88\x40\x01\x0c").wal_deletion, Some(FileNumber(12)));
    // The retired forms have no length in front.
    assert_eq!(VersionEdit::decode(b"\x84\x40\x0a\x02\x37\x01").unwrap().wal_additions, [addition]);
    assert_eq!(VersionEdit::decode(b"\x85\x40\x0c").unwrap().wal_deletion, Some(FileNumber(12)));
}

#[test]
fn a_flush_with_a_blob_file_has_rocksdbs_bytes() {
    let mut record = b"\x02\x08\x09\x00\x03\x0b\x04\x05\x67\x00\x09\xac\x0a".to_vec();
    record.extend_from_slice(b"\x0ckey0\x11\x01\0\0\0\0\0\0\x0dsmall\x01\x05\0\0\0\0\0\0\x01\x05");
    record.extend_from_slice(b"\x05\x05\xdd\xef\x80\xd8\x06\x06\x05\xdd\xef\x80\xd8\x06\x0d\x01\x01\x04\x01\x0a");
    record.extend_from_slice(b"\x0c\x10\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x0f\x02\xd8\x09\x01");
    record.extend_from_slice(b"\x90\x03\x0a\x04\xf4\x02\0\0\0");
    let edit = round_trip(&record);
    let file = &edit.new_files[0];
    assert_eq!((file.level, file.number, file.size_bytes), (0, FileNumber(9), 1324));
    assert_eq!((file.smallest_seqno, file.largest_seqno), (SequenceNumber(1), SequenceNumber(5)));
    assert_eq!((file.unique_id, file.tail_size_bytes), (Some([1, 2]), 1240));
    assert_eq!((file.epoch_number, file.oldest_blob_file_number), (Some(1), Some(FileNumber(10))));
    let blob = &edit.blob_file_additions[0];
    assert_eq!((blob.number, blob.total_blob_count, blob.total_blob_bytes), (FileNumber(10), 4, 372));
    for length in 0..record.len() {
        // A cut is an error or falls between fields.
        if let Ok(edit) = VersionEdit::decode(&record[..length]) {
            assert_eq!(edit.encode(), record[..length]);
        }
    }
}

#[test]
fn retired_forms_of_a_new_file_are_read() {
    let keys = b"\x09a\x01\x01\0\0\0\0\0\0\x09b\x01\x02\0\0\0\0\0\0";
    let v1 = VersionEdit::decode(&[b"\x07\x01\x05\x64", &keys[..]].concat()).unwrap();
    let v2 = VersionEdit::decode(&[b"\x64\x01\x05\x64", &keys[..], b"\x01\x02"].concat()).unwrap();
    let v3 = VersionEdit::decode(&[b"\x66\x01\x05\x02\x64", &keys[..], b"\x01\x02"].concat()).unwrap();
    let mut file = NewFile {
        level: 1,
        number: FileNumber(5),
        size_bytes: 100,
        smallest: keys[1..10].to_vec(),
        largest: keys[11..].to_vec(),
        ..NewFile::default()
    };
    assert_eq!(v1.new_files, [file.clone()]);
    (file.smallest_seqno, file.largest_seqno) = (SequenceNumber(1), SequenceNumber(2));
    assert_eq!(v2.new_files, [file.clone()]);
    file.path_id = 2;
    assert_eq!(v3.new_files, [file]);
}

#[test]
fn unknown_tags_are_skipped_or_refused() {
    // 8292 = 0x2064 has the ignorable bit, 8 does not.
    assert_eq!(VersionEdit::decode(b"\xe4\x40\x03abc\x04\x07").unwrap().last_sequence, Some(SequenceNumber(7)));
    assert!(decode_error(b"\x08\x00").contains("unknown tag"));
    assert!(decode_error(b"\x04\x07\xff").contains("offset 2"));

    let mut record = VersionEdit { new_files: vec![sample_file()], ..VersionEdit::new() }.encode();
    record.pop();
    let with = |custom: &[u8]| [&record[..], custom, b"\x01"].concat();
    assert_eq!(VersionEdit::decode(&with(b"\x20\x02ab")).unwrap().new_files, [sample_file()]);
    assert!(decode_error(&with(b"\x42\x02ab")).contains("unknown custom tag"));
    assert!(decode_error(&with(b"\x41\x01\x04")).contains("path id 4"));
    assert!(decode_error(&with(b"\x0c\x0fabcdefgh1234567")).contains("unique id"));
    assert!(decode_error(&with(b"\x05\x02\x01\x01")).contains("after the field's value"));
    assert!(decode_error(&with(b"\x09\x00")).contains("instead of one"));
    assert_eq!(VersionEdit::decode(&with(b"\x09\x01\x77")).unwrap().new_files[0].temperature, Temperature::Unknown);

    assert!(decode_error(b"\x90\x03\x0a\x04\x05\0\0\x40\x00\x00").contains("unknown custom tag"));
    let skipped = VersionEdit::decode(b"\x90\x03\x0a\x04\x05\0\0\x02\x01x\0").unwrap();
    assert_eq!(skipped.blob_file_additions.len(), 1);
    assert_eq!(VersionEdit::decode(b"\x82\x40\x0a\x04\x05\0\0\0").unwrap().blob_file_additions.len(), 1);
    assert_eq!(VersionEdit::decode(b"\x83\x40\x0a\x04\x05\0").unwrap().blob_file_garbages[0].garbage_blob_bytes, 5);
    assert!(decode_error(b"\x86\x40\x00").contains("empty timestamp"));
    assert!(decode_error(b"\x06\x01").contains("VersionEdit field 6"));
    assert!(decode_error(b"\x67\x00\x09\x05\x03abc\x09aaaaaaaaa").contains("no trailer"));
}

fn sample_file() -> NewFile {
    NewFile { number: FileNumber(9), smallest: vec![7; 9], largest: vec![8; 9], ..NewFile::default() }
}

#[test]
fn the_log_number_to_keep_goes_into_the_first_file_too() {
    let edit = VersionEdit {
        min_log_number_to_keep: Some(FileNumber(12)),
        new_files: vec![sample_file(), sample_file()],
        ..VersionEdit::new()
    };
    let record = edit.encode();
    let field = b"\x03\x08\x0c\0\0\0\0\0\0\0";
    assert_eq!(record.windows(field.len()).filter(|window| window == field).count(), 1);
    assert_eq!(VersionEdit::decode(&record).unwrap(), edit);
}

#[test]
fn boundaries_of_files_without_timestamps() {
    let mut file = sample_file();
    file.smallest = b"aTTTT\x01\x05\0\0\0\0\0\0".to_vec();
    file.largest = b"bTTTT\x0f\xff\xff\xff\xff\xff\xff\xff".to_vec();
    file.strip_boundary_timestamps(4);
    assert_eq!(file.smallest, b"a\x01\x05\0\0\0\0\0\0");
    let (smallest, largest) = file.boundaries_with_timestamp(4);
    assert_eq!(smallest, b"a\0\0\0\0\x01\x05\0\0\0\0\0\0");
    assert_eq!(largest, b"b\xff\xff\xff\xff\x0f\xff\xff\xff\xff\xff\xff\xff");
    file.largest[1] = 1;
    assert_eq!(file.boundaries_with_timestamp(2).1, b"b\0\0\x01\xff\xff\xff\xff\xff\xff\xff");
    assert_eq!(
        VersionEdit::decode(&VersionEdit { new_files: vec![file.clone()], ..VersionEdit::new() }.encode())
            .unwrap()
            .new_files,
        [file]
    );
}

fn grouped(remaining: u32) -> VersionEdit {
    VersionEdit { remaining_in_group: Some(remaining), ..VersionEdit::new() }
}

#[test]
fn atomic_groups_are_held_back_until_complete() {
    assert_eq!(round_trip(b"\xac\x02\x02").remaining_in_group, Some(2));
    let mut buffer = AtomicGroupBuffer::new();
    assert_eq!(buffer.push(VersionEdit::new()).unwrap().len(), 1);
    assert_eq!(buffer.push(grouped(2)).unwrap(), []);
    assert_eq!(buffer.push(grouped(1)).unwrap(), []);
    assert!(buffer.is_incomplete());
    assert_eq!(buffer.push(grouped(0)).unwrap(), [grouped(2), grouped(1), grouped(0)]);
    assert!(!buffer.is_incomplete());
    assert_eq!(buffer.push(grouped(0)).unwrap(), [grouped(0)]);
    assert!(buffer.push(grouped(u32::MAX)).unwrap().is_empty());
    assert!(buffer.clone().push(VersionEdit::new()).unwrap_err().message().contains("atomic group"));
    assert!(buffer.push(grouped(3)).unwrap_err().message().contains("atomic group"));
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 8..40)
}

fn checksum() -> impl Strategy<Value = Option<FileChecksum>> {
    let some = ("[a-zA-Z0-9]{1,20}", prop::collection::vec(any::<u8>(), 0..8));
    prop::option::of(some.prop_map(|(function_name, value)| FileChecksum { function_name, value }))
}

fn new_file() -> impl Strategy<Value = NewFile> {
    let timestamps = || prop::collection::vec(any::<u8>(), 0..9);
    let base = (0u32..7, any::<u64>(), 0u32..4, any::<u64>(), key(), key(), any::<u64>(), any::<u64>());
    let more = (any::<bool>(), prop::option::of(1u64..9), any::<u64>(), any::<u64>(), prop::option::of(any::<u64>()));
    let rest = (checksum(), 0usize..6, timestamps(), timestamps(), prop::option::of(any::<[u64; 2]>()));
    let last = (any::<u64>(), any::<u64>(), any::<bool>(), timestamps());
    (base, more, rest, last).prop_map(|(base, more, rest, last)| NewFile {
        level: base.0,
        number: FileNumber(base.1),
        path_id: base.2,
        size_bytes: base.3,
        smallest: base.4,
        largest: base.5,
        smallest_seqno: SequenceNumber(base.6),
        largest_seqno: SequenceNumber(base.7),
        needs_compaction: more.0,
        oldest_blob_file_number: more.1.map(FileNumber),
        oldest_ancester_time_secs: more.2,
        file_creation_time_secs: more.3,
        epoch_number: more.4,
        checksum: rest.0,
        temperature: Temperature::ALL[rest.1],
        min_timestamp: rest.2,
        max_timestamp: rest.3,
        unique_id: rest.4,
        compensated_range_deletion_size_bytes: last.0,
        tail_size_bytes: last.1,
        user_defined_timestamps_persisted: last.2,
        file_open_metadata: last.3,
    })
}

/// Names are of any bytes.
fn family_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{1,12}",
        prop::collection::vec(any::<u8>(), 1..12).prop_map(|bytes| from_bytes(&bytes).into_owned())
    ]
}

fn edit() -> impl Strategy<Value = VersionEdit> {
    let number = || prop::option::of(any::<u64>().prop_map(FileNumber));
    let scalars = (number(), number(), number(), number(), prop::option::of(any::<u32>()), number());
    let names = (prop::option::of("[a-z.]{1,30}"), prop::option::of("[a-f0-9]{36}"), any::<u32>());
    let lists = (
        prop::collection::vec((any::<u32>(), key()), 0..3),
        prop::collection::btree_set((0u32..7, any::<u64>()), 0..4),
        prop::collection::vec(new_file(), 0..4),
        prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..3),
        prop::collection::vec((any::<u64>(), prop::option::of(any::<u64>())), 0..3),
    );
    let change = prop::option::of(prop::option::of(family_name()));
    let rest = (change, prop::option::of(any::<u32>()), prop::option::of(key()), prop::option::of(any::<bool>()));
    (scalars, names, lists, rest).prop_map(|(scalars, names, lists, rest)| VersionEdit {
        db_id: names.1,
        comparator: names.0,
        log_number: scalars.0,
        prev_log_number: scalars.1,
        next_file_number: scalars.2,
        max_column_family: scalars.4,
        min_log_number_to_keep: scalars.3,
        last_sequence: scalars.5.map(|number| SequenceNumber(number.0)),
        compact_cursors: lists.0,
        deleted_files: lists.1.into_iter().map(|(l, n)| DeletedFile { level: l, number: FileNumber(n) }).collect(),
        new_files: lists.2,
        blob_file_additions: lists
            .3
            .iter()
            .map(|&(number, count, bytes)| BlobFileAddition {
                number: FileNumber(number),
                total_blob_count: count,
                total_blob_bytes: bytes,
                checksum_method: "crc".repeat(count as usize % 2),
                checksum_value: bytes.to_le_bytes().to_vec(),
            })
            .collect(),
        blob_file_garbages: lists
            .3
            .iter()
            .map(|&(number, count, bytes)| BlobFileGarbage {
                number: FileNumber(number),
                garbage_blob_count: count,
                garbage_blob_bytes: bytes,
            })
            .collect(),
        wal_additions: lists
            .4
            .into_iter()
            .map(|(number, synced_size_bytes)| WalAddition { log_number: FileNumber(number), synced_size_bytes })
            .collect(),
        wal_deletion: scalars.0,
        column_family: names.2,
        column_family_change: rest.0.map(|name| name.map_or(ColumnFamilyChange::Drop, ColumnFamilyChange::Add)),
        remaining_in_group: rest.1,
        subcompaction_progress: rest.2.clone(),
        full_history_ts_low: rest.2,
        persist_user_defined_timestamps: rest.3,
        last_compacted_manifest_file_size_bytes: scalars.3.map(|number| number.0),
    })
}

proptest! {
    #[test]
    fn edits_round_trip(edit in edit()) {
        let record = edit.encode();
        let again = VersionEdit::decode(&record).unwrap();
        prop_assert_eq!(&again, &edit);
        prop_assert_eq!(again.encode(), record);
    }

    #[test]
    fn damaged_edits_decode_or_fail(edit in edit(), place in any::<prop::sample::Index>(), flip in 1u8..) {
        let mut record = edit.encode();
        if !record.is_empty() {
            let place = place.index(record.len());
            record[place] ^= flip;
            let _ = VersionEdit::decode(&record);
            let _ = VersionEdit::decode(&record[..place]);
        }
    }
}
