use super::*;
use ferrock_base::{ErrorKind, SequenceNumber};
use proptest::prelude::*;

/// One batch with every common kind, default family and family 1, as RocksDB wrote it.
const ALL_KINDS: &[u8] = b"\x02\0\0\0\0\0\0\0\x0a\0\0\0\
    \x01\x01a\x01A\x02\x01m\x011\x03\x07LOGDATA\x00\x01d\x07\x01s\x0f\x01x\x01z\
    \x05\x01\x01a\x01A\x06\x01\x01m\x011\x04\x01\x01d\x08\x01\x01s\x0e\x01\x01x\x01z";

fn all_kinds() -> WriteBatch {
    let mut batch = WriteBatch::new();
    batch.set_sequence(SequenceNumber(2));
    batch.put(b"a", b"A").unwrap();
    batch.merge(b"m", b"1").unwrap();
    batch.put_log_data(b"LOGDATA").unwrap();
    batch.delete(b"d").unwrap();
    batch.single_delete(b"s").unwrap();
    batch.delete_range(b"x", b"z").unwrap();
    batch.put_cf(1, b"a", b"A").unwrap();
    batch.merge_cf(1, b"m", b"1").unwrap();
    batch.delete_cf(1, b"d").unwrap();
    batch.single_delete_cf(1, b"s").unwrap();
    batch.delete_range_cf(1, b"x", b"z").unwrap();
    batch
}

#[test]
fn all_kinds_have_rocksdbs_bytes() {
    let batch = all_kinds();
    assert_eq!(batch.data(), ALL_KINDS);
    let again = WriteBatch::from_data(ALL_KINDS).unwrap();
    assert_eq!(again, batch);
    assert_eq!((again.sequence(), again.count()), (SequenceNumber(2), 10));
    assert!(again.has_merge() && again.has_delete_range() && !again.is_simple());
}

#[test]
fn an_entity_has_rocksdbs_bytes() {
    let mut batch = WriteBatch::new();
    batch.put_entity(b"e", &[(b"c1", b"v"), (b"", b"d")]).unwrap();
    assert_eq!(batch.records(), b"\x16\x01e\x0a\x01\x02\x00\x01\x02c1\x01dv");
}

#[test]
fn two_phase_commit_has_rocksdbs_bytes() {
    let mut prepare = WriteBatch::new();
    prepare.set_sequence(SequenceNumber(1));
    prepare.mark_begin_prepare(PreparePolicy::WriteCommitted).unwrap();
    prepare.put(b"a", b"1").unwrap();
    prepare.put(b"b", b"2").unwrap();
    prepare.mark_end_prepare(b"xid1").unwrap();
    assert_eq!(prepare.data(), b"\x01\0\0\0\0\0\0\0\x02\0\0\0\x09\x01\x01a\x011\x01\x01b\x012\x0a\x04xid1");
    let mut rest = WriteBatch::new();
    rest.mark_commit(b"xid1").unwrap();
    rest.mark_rollback(b"xid2").unwrap();
    rest.mark_noop().unwrap();
    rest.mark_commit_with_timestamp(b"12345678", b"x").unwrap();
    rest.mark_begin_prepare(PreparePolicy::WritePrepared).unwrap();
    rest.mark_begin_prepare(PreparePolicy::WriteUnprepared).unwrap();
    assert_eq!(rest.records(), b"\x0b\x04xid1\x0c\x04xid2\x0d\x15\x0812345678\x01x\x12\x13");
    assert_eq!(rest.count(), 0);
    let records: Vec<_> = rest.iter().map(|record| record.unwrap()).collect();
    assert_eq!(records[0], Record::Commit { xid: b"xid1" });
    assert_eq!(records[3], Record::CommitWithTimestamp { timestamp: b"12345678", xid: b"x" });
    assert_eq!(records[5], Record::BeginPrepare(PreparePolicy::WriteUnprepared));
}

#[test]
fn timed_puts_and_timestamps() {
    let mut batch = WriteBatch::new();
    batch.timed_put_cf(0, b"k", b"v", 7).unwrap();
    batch.timed_put_cf(3, b"k", b"v", u64::MAX).unwrap();
    batch.put_cf_with_timestamp(3, b"k", b"TS", b"v").unwrap();
    batch.delete_range_cf_with_timestamp(0, b"a", b"b", b"TS").unwrap();
    batch.put_blob_index_cf(300, b"k", b"i").unwrap();
    let expected = b"\x18\x01k\x09v\x07\0\0\0\0\0\0\0\x05\x03\x01k\x01v\x05\x03\x03kTS\x01v\x0f\x03aTS\x03bTS\
        \x10\xac\x02\x01k\x01i";
    assert_eq!(batch.records(), expected);
    assert!(WriteBatch::from_data(batch.data()).is_ok());
    assert!(WriteBatch::from_data(&b"\0\0\0\0\0\0\0\0\x01\0\0\0\x18\x01k\x011"[..]).unwrap_err().is_corruption());
}

#[test]
fn the_long_form_of_the_default_family_is_read() {
    let batch = WriteBatch::from_data(&b"\0\0\0\0\0\0\0\0\x01\0\0\0\x05\0\x01k\x01v"[..]).unwrap();
    let record = batch.iter().next().unwrap().unwrap();
    assert_eq!(record, Record::Put { column_family: 0, key: b"k", value: b"v" });
}

#[test]
fn wrong_counts_tags_and_headers_are_refused() {
    let mut data = ALL_KINDS.to_vec();
    data[8] = 9;
    let error = WriteBatch::from_data(data).unwrap_err();
    assert!(error.is_corruption() && error.message().contains("wrong count"), "{error}");
    for tag in [0x14, 0x1a, 0x7f, 0xff] {
        let error = WriteBatch::from_data(vec![0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, tag]).unwrap_err();
        assert_eq!(error.offset(), Some(12), "{error}");
    }
    assert!(WriteBatch::from_data(vec![0; 11]).unwrap_err().is_corruption());
    assert!(WriteBatch::from_data(vec![0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).unwrap_err().is_corruption());
    for length in 13..ALL_KINDS.len() {
        assert!(WriteBatch::from_data(&ALL_KINDS[..length]).is_err(), "{length}");
    }
}

#[test]
fn an_error_ends_the_iteration() {
    let view = WriteBatchRef::new(b"\0\0\0\0\0\0\0\0\x02\0\0\0\x01\x05k\x01\x01k\x01v").unwrap();
    let results: Vec<_> = view.iter().collect();
    assert_eq!(results.len(), 1);
    assert!(results[0].is_err());
}

#[test]
fn save_points_nest() {
    let mut batch = WriteBatch::new();
    assert_eq!(batch.rollback_to_save_point().unwrap_err().kind(), ErrorKind::NotFound);
    batch.put(b"a", b"1").unwrap();
    batch.set_save_point();
    let first = batch.data().to_vec();
    batch.merge(b"b", b"2").unwrap();
    batch.set_save_point();
    batch.put(b"c", b"3").unwrap();
    batch.pop_save_point().unwrap();
    assert_eq!(batch.count(), 3);
    batch.rollback_to_save_point().unwrap();
    assert_eq!((batch.data(), batch.has_merge()), (first.as_slice(), false));
    assert!(batch.pop_save_point().is_err());
}

#[test]
fn ranges_that_end_before_they_begin_are_refused() {
    let mut batch = WriteBatch::new();
    batch.delete_range(b"a", b"a").unwrap();
    assert_eq!(batch.count(), 1);
    batch.check_ranges(|_, begin, end| Ok(begin.cmp(end))).unwrap();
    batch.delete_range_cf(4, b"b", b"a").unwrap();
    let error = batch.check_ranges(|_, begin, end| Ok(begin.cmp(end))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    batch.check_ranges(|family, b, e| Ok(if family == 4 { e.cmp(b) } else { b.cmp(e) })).unwrap();
}

#[test]
fn append_adds_records_and_counts() {
    let (mut one, two) = (all_kinds(), all_kinds());
    one.append(&two).unwrap();
    assert_eq!(one.count(), 20);
    assert_eq!(one.sequence(), SequenceNumber(2));
    assert_eq!(one.iter().count(), 24 - 2);
    assert!(WriteBatch::from_data(one.data()).is_ok());
    one.clear();
    assert!(one.is_empty() && one.count() == 0 && one.sequence() == SequenceNumber(0));
}

#[derive(Clone, Debug)]
struct Update {
    kind: u8,
    family: u32,
    key: Vec<u8>,
    value: Vec<u8>,
}

fn update() -> impl Strategy<Value = Update> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..300);
    (0u8..8, prop_oneof![Just(0u32), 1u32..400, any::<u32>()], bytes(), bytes())
        .prop_map(|(kind, family, key, value)| Update { kind, family, key, value })
}

proptest! {
    #[test]
    fn batches_round_trip(updates in prop::collection::vec(update(), 0..20)) {
        let mut batch = WriteBatch::new();
        let mut expected = Vec::new();
        for Update { kind, family: column_family, key, value } in &updates {
            let column_family = *column_family;
            match kind {
                0 => batch.put_cf(column_family, key, value).unwrap(),
                1 => batch.delete_cf(column_family, key).unwrap(),
                2 => batch.single_delete_cf(column_family, key).unwrap(),
                3 => batch.merge_cf(column_family, key, value).unwrap(),
                4 => batch.delete_range_cf(column_family, key, value).unwrap(),
                5 => batch.put_blob_index_cf(column_family, key, value).unwrap(),
                6 => batch.put_encoded_entity_cf(column_family, key, value).unwrap(),
                _ => batch.put_log_data(value).unwrap(),
            }
            expected.push(match kind {
                0 => Record::Put { column_family, key, value },
                1 => Record::Delete { column_family, key },
                2 => Record::SingleDelete { column_family, key },
                3 => Record::Merge { column_family, key, operand: value },
                4 => Record::DeleteRange { column_family, begin: key, end: value },
                5 => Record::BlobIndex { column_family, key, index: value },
                6 => Record::PutEntity { column_family, key, entity: value },
                _ => Record::LogData(value),
            });
        }
        let again = WriteBatch::from_data(batch.data()).unwrap();
        let records: Vec<_> = again.iter().map(|record| record.unwrap()).collect();
        prop_assert_eq!(records, expected);
        prop_assert_eq!(again.count() as usize, updates.iter().filter(|update| update.kind != 7).count());
    }

    #[test]
    fn any_bytes_decode_or_fail(records in prop::collection::vec(0u8..30, 0..60)) {
        let mut data = vec![0; HEADER_SIZE_BYTES];
        data.extend(records);
        let _ = WriteBatch::from_data(data);
    }
}
