use super::*;
use proptest::prelude::*;

fn orders() -> [Comparator; 2] {
    [Comparator::Bytewise, Comparator::ReverseBytewise]
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop::sample::select(vec![0u8, 1, b'a', b'b', 0xfe, 0xff]);
    (0usize..3, prop::collection::vec(byte, 0..12), 0usize..180).prop_map(|(kind, mut tail, length)| {
        // Long shared beginnings now and then.
        let mut key = vec![b'p'; if kind == 0 { length } else { 0 }];
        key.append(&mut tail);
        key
    })
}

#[test]
fn the_worked_example_of_the_documentation() {
    // docs/format/row-bounds.md
    let entries: [(&[u8], bool); 3] = [
        (b"\x80\x00\x00\x00\x80\x00\x00\x01", true),
        (b"\x80\x00\x00\x00\x80\x00\x00\x13", true),
        (b"\x80\x00\x00\x00\x80\x00\x00\x25", false),
    ];
    let block = encode_row_bounds(entries.into_iter());
    let expected = b"\x03\x07\x80\x00\x00\x00\x80\x00\x00\x00\x03\x01\x00\x03\x13\x00\x02\x25";
    assert_eq!(block, expected);
    let directory = encode_row_bounds_directory(&[BlockHandle::new(1033, 18), BlockHandle::new(5000, 300)]);
    assert_eq!(directory, b"\x01\x02\x89\x08\x12\x88\x27\xac\x02");
    let bounds = RowBounds::new(block).unwrap();
    for (ordinal, (key, is_exact)) in entries.into_iter().enumerate() {
        let bound = bounds.bound(ordinal).unwrap();
        assert_eq!((bound.key(), bound.is_exact()), (key, is_exact));
    }
    assert!(bounds.bound(3).is_none());
}

#[test]
fn bounds_keep_two_bytes_more_than_they_need() {
    let [bytewise, reverse] = orders();
    assert_eq!(bound_between(&bytewise, Some(b"user/alice/1"), b"user/bob/album"), b"user/bob");
    assert_eq!(separator_between(&bytewise, b"user/alice/1", b"user/bob").unwrap(), b"user/alj");
    assert_eq!(separator_between(&reverse, b"user/bob/album", b"user/alice/1").unwrap(), b"user/bob");
    assert_eq!(bound_between(&reverse, Some(b"user/bob/album"), b"user/alice/1"), b"user/alj");
    assert_eq!(bound_between(&bytewise, None, b"first"), b"first");
    // The same user key on both sides.
    assert_eq!(bound_between(&bytewise, Some(b"k"), b"k"), b"k");
    assert_eq!(separator_between(&bytewise, b"aa\xff\xffb", b"b").unwrap(), b"ab");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn bounds_bound_and_separators_separate(a in key(), b in key()) {
        for order in orders() {
            let (last, first) = if order.compare(&a, &b).is_lt() { (&a, &b) } else { (&b, &a) };
            let bound = bound_between(&order, Some(last), first);
            prop_assert!(order.compare(&bound, first).is_le());
            prop_assert!(bound.len() <= first.len());
            if last == first {
                prop_assert_eq!(&bound, first);
                continue;
            }
            prop_assert!(order.compare(last, &bound).is_lt(), "{:?} {:?} {:?}", last, bound, first);
            let separator = separator_between(&order, last, first).unwrap();
            prop_assert!(order.compare(last, &separator).is_le() && order.compare(&separator, first).is_lt());
            prop_assert!(separator.len() <= last.len());
            // What lies between two short keys is all known to be between them.
            if last.len().max(first.len()) <= shared_prefix(last, first) + 1 + SPARE_BYTES {
                prop_assert_eq!((&separator, &bound), (last, first));
            }
        }
    }

    #[test]
    fn side_blocks_round_trip(entries in prop::collection::vec((key(), any::<bool>()), 0..70)) {
        let block = encode_row_bounds(entries.iter().map(|(key, is_exact)| (&key[..], *is_exact)));
        let length = block.len();
        let bounds = RowBounds::new(block.clone()).unwrap();
        prop_assert_eq!(bounds.len(), entries.len());
        for (ordinal, (key, is_exact)) in entries.iter().enumerate() {
            let bound = bounds.bound(ordinal).unwrap();
            prop_assert_eq!((bound.key(), bound.is_exact()), (&key[..], *is_exact));
            for order in orders() {
                for (other, _) in &entries {
                    let expected = order.compare(other, key).is_le();
                    prop_assert_eq!(bounds.begins_at_or_after(&order, ordinal, other), expected);
                }
            }
        }
        for cut in 0..length {
            prop_assert!(RowBounds::new(block[..cut].to_vec()).is_err());
        }
    }

    #[test]
    fn any_bytes_decode_or_are_corruption(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(bounds) = RowBounds::new(bytes.clone()) {
            for ordinal in 0..=bounds.len() {
                prop_assert_eq!(bounds.bound(ordinal).is_some(), ordinal < bounds.len());
            }
        }
        let _ = decode_row_bounds_directory(&bytes);
    }

    #[test]
    fn directories_round_trip(words in prop::collection::vec((any::<u64>(), any::<u32>()), 0..50)) {
        let handles: Vec<BlockHandle> =
            words.into_iter().map(|(offset, size)| BlockHandle::new(offset >> 8, size.into())).collect();
        let mut block = encode_row_bounds_directory(&handles);
        prop_assert_eq!(decode_row_bounds_directory(&block).unwrap().unwrap(), handles);
        for cut in 0..block.len() {
            prop_assert!(decode_row_bounds_directory(&block[..cut]).is_err());
        }
        block[0] = 2;
        prop_assert_eq!(decode_row_bounds_directory(&block).unwrap(), None);
    }
}

#[test]
fn a_count_alone_allocates_nothing() {
    let mut block = Vec::new();
    put_varint32(&mut block, u32::MAX);
    put_varint32(&mut block, 0);
    assert!(RowBounds::new(block.clone()).unwrap_err().is_corruption());
    let mut directory = vec![1];
    put_varint32(&mut directory, u32::MAX);
    assert!(decode_row_bounds_directory(&directory).unwrap_err().is_corruption());
}
