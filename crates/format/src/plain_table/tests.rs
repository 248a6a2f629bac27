use super::*;
use ferrock_base::ValueType;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::types::SequenceNumber;
use proptest::prelude::*;

fn internal(key: &[u8], sequence: u64, value_type: ValueType) -> Vec<u8> {
    make_internal_key(key, SequenceNumber(sequence), value_type)
}

fn value_at_zero(key: &[u8]) -> Vec<u8> {
    internal(key, 0, ValueType::Value)
}

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn written(form: RecordForm, sparseness: usize, prefix: usize, entries: &Entries) -> Vec<u8> {
    let (mut writer, mut out) = (RecordWriter::new(form, sparseness), Vec::new());
    for (key, value) in entries {
        writer.append(&mut out, key, value, &key[..prefix.min(key.len() - 8)]).unwrap();
    }
    out
}

fn read(form: RecordForm, data: &[u8]) -> ferrock_base::Result<Entries> {
    let (mut cursor, mut entries) = (RecordCursor::new(form), Vec::new());
    while cursor.read(data)? {
        entries.push((cursor.key().to_vec(), data[cursor.value()].to_vec()));
    }
    Ok(entries)
}

const VARIABLE: RecordForm = RecordForm { encoding: PlainEncoding::Plain, fixed_key_length: 0 };
const FIXED: RecordForm = RecordForm { encoding: PlainEncoding::Plain, fixed_key_length: 8 };
const PREFIXED: RecordForm = RecordForm { encoding: PlainEncoding::Prefix, fixed_key_length: 0 };

#[test]
fn records_have_these_bytes() {
    let entries = vec![(value_at_zero(b"key00000"), b"val0".to_vec())];
    assert_eq!(written(VARIABLE, 16, 0, &entries), b"\x08key00000\xff\x04val0");
    assert_eq!(written(FIXED, 16, 0, &entries), b"key00000\xff\x04val0");
    let entries = vec![
        (internal(b"key00000", 1, ValueType::Value), b"val0".to_vec()),
        (internal(b"key00001", 3, ValueType::Value), b"v2".to_vec()),
        (internal(b"key00001", 2, ValueType::Deletion), Vec::new()),
        (value_at_zero(b"key00002"), Vec::new()),
        (value_at_zero(b"key00003"), Vec::new()),
    ];
    let bytes = written(PREFIXED, 4, 6, &entries);
    let expected: &[u8] = b"\x08key00000\x01\x01\0\0\0\0\0\0\x04val0\
        \x46\x8201\x01\x03\0\0\0\0\0\0\x02v2\
        \x8201\0\x02\0\0\0\0\0\0\0\
        \x8202\xff\0\
        \x08key00003\xff\0";
    assert_eq!(bytes, expected);
    assert_eq!(read(PREFIXED, &bytes).unwrap(), entries);
}

#[test]
fn a_length_of_63_takes_more_bytes() {
    for (length, head) in [(62, &[62][..]), (63, &[63, 0]), (64, &[63, 1]), (300, &[63, 237, 1])] {
        let entries = vec![(value_at_zero(&vec![7; length]), Vec::new())];
        let bytes = written(PREFIXED, 4, 6, &entries);
        assert_eq!(bytes[..head.len()], *head);
        assert_eq!(read(PREFIXED, &bytes).unwrap(), entries);
    }
}

#[test]
fn damaged_records_are_corruptions() {
    for (form, bytes) in [
        (PREFIXED, &b"\x8201\xff\0"[..]),
        (PREFIXED, b"\x46\x8201\xff\0"),
        (PREFIXED, b"\x02ab\xff\0\x43\x8201\xff\0"),
        (PREFIXED, b"\x02ab\xff\0\x42\x0201\xff\0"),
        (PREFIXED, b"\xc2ab\xff\0"),
        (PREFIXED, b"\x3f\xff\xff\xff\xff\x0f"),
        (VARIABLE, b"\x02ab\x0d\0\0\0\0\0\0\0\0"),
        (VARIABLE, b"\x02ab\x0f\0\0\0\0\0\0\0\0"),
        (VARIABLE, b"\x02ab\x7f\0\0\0\0\0\0\0\0"),
        (VARIABLE, b"\x02ab\x01\0\0\0\0\0\0"),
        (VARIABLE, b"\x02ab"),
        (VARIABLE, b"\x02ab\xff"),
        (VARIABLE, b"\x02ab\xff\x01"),
        (VARIABLE, b"\xff\xff\xff\xff\x0f"),
        (FIXED, b"1234567"),
    ] {
        let error = read(form, bytes).unwrap_err();
        assert!(error.is_corruption() && error.offset().is_some(), "{}: {error}", bytes.escape_ascii());
    }
    let mut cursor = RecordCursor::new(VARIABLE);
    cursor.jump(2);
    assert!(cursor.read(b"\0").unwrap_err().is_corruption());
}

#[test]
fn a_key_of_another_length_is_refused() {
    let mut writer = RecordWriter::new(FIXED, 16);
    let error = writer.append(&mut Vec::new(), &value_at_zero(b"short"), b"", b"").unwrap_err();
    assert!(error.to_string().contains("user_key_len is 8"), "{error}");
}

#[test]
fn indexes_have_these_bytes() {
    // Two prefixes, 0.75 for each bucket: three buckets.
    let mut maker = IndexMaker::new(0.75, 2);
    for (prefix, offset) in [(b"aa", 0), (b"aa", 10), (b"aa", 20), (b"bb", 30)] {
        maker.add(prefix, offset, true);
    }
    let block = maker.finish();
    let index = PlainIndex::parse(&block).unwrap();
    assert_eq!((index.buckets(), index.prefixes()), (3, 2));
    let (a, b) = (prefix_hash(b"aa") % 3, prefix_hash(b"bb") % 3);
    assert_ne!(a, b);
    let mut expected = vec![3, 2];
    for bucket in 0..3 {
        expected.extend_from_slice(match bucket {
            _ if bucket == a => &[0, 0, 0, 0x80],
            _ if bucket == b => &[30, 0, 0, 0],
            _ => &[0xff, 0xff, 0xff, 0x7f],
        });
    }
    expected.extend_from_slice(&[2, 0, 0, 0, 0, 20, 0, 0, 0]);
    assert_eq!(block, expected);
    assert_eq!(index.lookup(&block, prefix_hash(b"bb")).unwrap(), Bucket::One(30));
    let Bucket::Many(offsets) = index.lookup(&block, prefix_hash(b"aa")).unwrap() else { panic!() };
    assert_eq!((offsets.len(), offsets.get(0), offsets.get(1), offsets.get(2)), (2, Some(0), Some(20), None));
    assert_eq!(index.all_offsets(&block).unwrap(), [0, 20, 30]);

    let mut maker = IndexMaker::new(0.0, 0);
    assert!(maker.add(b"", 0, true) && !maker.add(b"", 20, false) && !maker.add(b"", 43, true));
    let block = maker.finish();
    assert_eq!(block, [1, 1, 0, 0, 0, 0x80, 2, 0, 0, 0, 0, 43, 0, 0, 0]);
    assert_eq!(IndexMaker::new(0.0, 16).finish(), [1, 0, 0xff, 0xff, 0xff, 0x7f]);
}

#[test]
fn damaged_indexes_are_corruptions() {
    for block in [&[][..], &[0, 0], &[2], &[2, 1, 0, 0, 0, 0], &[0xff, 0xff, 0xff, 0xff, 0x0f, 0]] {
        assert!(PlainIndex::parse(block).unwrap_err().is_corruption(), "{block:?}");
    }
    for block in [
        &[1, 1, 0, 0, 0, 0x80][..],
        &[1, 1, 0, 0, 0, 0x80, 2, 0, 0, 0, 0],
        &[1, 1, 9, 0, 0, 0x80, 2, 0, 0, 0, 0],
        &[1, 1, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0],
    ] {
        let index = PlainIndex::parse(block).unwrap();
        assert!(index.lookup(block, 5).unwrap_err().is_corruption(), "{block:?}");
        assert!(index.all_offsets(block).is_err());
    }
    // Three buckets, all with one sub-index of four offsets: more than the block has room for.
    let mut block = vec![3, 1];
    block.extend([0, 0, 0, 0x80].repeat(3));
    block.push(4);
    block.extend([0; 16]);
    assert!(PlainIndex::parse(&block).unwrap().all_offsets(&block).is_err());
}

#[test]
fn filters_have_these_bits() {
    // One item of hash 0: all probes are bit 0.
    for has_lines in [false, true] {
        let mut bits = BloomBits::new(1, 10, has_lines).unwrap();
        assert_eq!(bits.lines(), u32::from(has_lines));
        bits.add(0);
        let (shape, bytes) = bits.finish();
        assert_eq!(bytes.len(), if has_lines { 64 } else { 2 });
        assert_eq!((bytes[0], bytes[1..].iter().any(|byte| *byte != 0)), (1, false));
        assert!(shape.may_match(&bytes, 0) && !shape.may_match(&bytes, 1));
        assert_eq!(PlainBloom::parse(&bytes, u32::from(has_lines)), Some(shape));
    }
    // 1024 bits are two lines, made odd.
    assert_eq!(BloomBits::new(1024, 1, true).unwrap().lines(), 3);
    assert!(BloomBits::new(0, 10, true).is_none() && BloomBits::new(10, 0, false).is_none());
    assert!(BloomBits::new(u64::from(u32::MAX), 10, false).is_none());
    assert_eq!(
        (PlainBloom::parse(&[], 0), PlainBloom::parse(&[0; 64], 3), PlainBloom::parse(&[0; 4], 64)),
        (None, None, None)
    );
}

proptest! {
    #[test]
    fn records_round_trip(
        keys in prop::collection::btree_set(prop::collection::vec(0u8..3, 2..90), 1..40),
        sequences in prop::collection::vec(0u64..3, 40),
        sparseness in 0usize..6,
        prefix in 0usize..80,
        is_prefixed in any::<bool>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let form = if is_prefixed { PREFIXED } else { VARIABLE };
        let entries: Entries = keys.iter().zip(&sequences)
            .map(|(key, &sequence)| (internal(key, sequence, ValueType::Value), vec![9; sequence as usize])).collect();
        let bytes = written(form, sparseness, prefix, &entries);
        prop_assert_eq!(read(form, &bytes).unwrap(), entries);
        let cut = cut.index(bytes.len());
        if let Ok(fewer) = read(form, &bytes[..cut]) {
            prop_assert!(fewer.len() < keys.len());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), form in 0usize..3) {
        let _ = read([VARIABLE, FIXED, PREFIXED][form], &bytes);
        if let Ok(index) = PlainIndex::parse(&bytes) {
            for hash in 0..50 {
                let _ = index.lookup(&bytes, hash);
            }
            let _ = index.all_offsets(&bytes);
        }
        for lines in 0..20 {
            let _ = PlainBloom::parse(&bytes, lines).map(|bloom| bloom.may_match(&bytes, 0x1234_5678));
        }
    }

    #[test]
    fn what_was_added_is_found(hashes in prop::collection::vec(any::<u32>(), 1..300), has_lines in any::<bool>()) {
        let mut bits = BloomBits::new(hashes.len() as u64, 10, has_lines).unwrap();
        hashes.iter().for_each(|&hash| bits.add(hash));
        let lines = bits.lines();
        let (_, bytes) = bits.finish();
        let shape = PlainBloom::parse(&bytes, lines).unwrap();
        prop_assert!(hashes.iter().all(|&hash| shape.may_match(&bytes, hash)));
    }
}
