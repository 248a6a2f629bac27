use super::*;
use proptest::prelude::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn version_7() -> Vec<u8> {
    bytes(&format!("04 3e007a00 f53c5279 e518987a 38000000 {} 07000000 f7cff485b741e288", "00".repeat(24)))
}

#[test]
fn a_footer_of_version_7_reads_and_writes() {
    let footer = Footer::decode(&version_7(), 1397).unwrap();
    let expected = Footer {
        kind: TableKind::BlockBased,
        format_version: 7,
        checksum_type: ChecksumType::Xxh3,
        metaindex: BlockHandle::new(1283, 56),
        index: None,
        base_context_checksum: 0x7a98_18e5,
    };
    assert_eq!(footer, expected);
    assert_eq!(footer.encode(1344).unwrap()[..], version_7()[..]);
}

#[test]
fn a_footer_of_version_5_reads_and_writes() {
    let tail = bytes(&format!("01 890821 960116 {} 05000000 f7cff485b741e288", "00".repeat(34)));
    let footer = Footer::decode(&tail, 1071 + 53).unwrap();
    assert_eq!((footer.format_version, footer.checksum_type), (5, ChecksumType::Crc32c));
    assert_eq!((footer.metaindex, footer.index), (BlockHandle::new(1033, 33), Some(BlockHandle::new(150, 22))));
    assert_eq!(footer.encode(1071).unwrap()[..], tail[..]);
    // The same handles in a file that ends one byte too early.
    assert!(Footer::decode(&tail, 1070 + 53).unwrap_err().is_corruption());
}

#[test]
fn handles_that_are_the_extended_magic_are_neither_read_nor_written_before_version_6() {
    // (62, 0) and (122, 0), in as many bytes as they need and in more.
    for handles in ["3e00 7a00", "be00 00 7a00", "3e8000 fa8000 8000"] {
        let handles = bytes(handles);
        let mut tail = bytes(&format!("01 {} 05000000 f7cff485b741e288", "00".repeat(40)));
        tail[1..=handles.len()].copy_from_slice(&handles);
        let error = Footer::decode(&tail, 1071 + 53).unwrap_err();
        assert!(error.to_string().contains("extended magic"), "{error}");
    }
    let footer = Footer {
        kind: TableKind::BlockBased,
        format_version: 5,
        checksum_type: ChecksumType::Crc32c,
        metaindex: BlockHandle::new(62, 0),
        index: Some(BlockHandle::new(122, 0)),
        base_context_checksum: 0,
    };
    assert!(footer.encode(1071).is_err());
}

#[test]
fn legacy_and_plain_footers_are_recognised() {
    let legacy = bytes(&format!("890821 960116 {} 57fb808b247547db", "00".repeat(34)));
    let mut longer = vec![0xaa; 5];
    longer.extend_from_slice(&legacy);
    let footer = Footer::decode(&longer, 5000).unwrap();
    assert_eq!((footer.kind, footer.format_version, footer.encoded_len()), (TableKind::BlockBased, 0, 48));
    assert_eq!(footer.index, Some(BlockHandle::new(150, 22)));

    let plain = bytes(&format!("890821 0000 {} b8138f7aeb18344f", "00".repeat(35)));
    let footer = Footer::decode(&plain, 1066 + 48).unwrap();
    assert_eq!((footer.kind, footer.format_version), (TableKind::Plain, 0));
    assert!(footer.encode(1066).is_err());

    for (kind, legacy) in [(TableKind::BlockBased, true), (TableKind::BlockBased, false), (TableKind::Cuckoo, false)] {
        assert_eq!(TableKind::from_magic(kind.magic(u32::from(!legacy))), Some((kind, legacy)));
    }
}

#[test]
fn what_a_later_release_wrote_is_not_called_corrupt() {
    let mut tail = version_7();
    tail[VERSION_AT] = 8;
    let error = Footer::decode(&tail, 1397).unwrap_err();
    assert_eq!(error.kind(), ferrock_base::ErrorKind::NotSupported);
    assert_eq!(error.offset(), Some(1344 + 41));

    let mut tail: [u8; 53] = version_7().try_into().unwrap();
    tail[40] = 1;
    let checksum = footer_checksum(&tail, ChecksumType::Xxh3, 0x7a98_18e5, 1344);
    tail[5..9].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(Footer::decode(&tail, 1397).unwrap_err().kind(), ferrock_base::ErrorKind::NotSupported);
}

#[test]
fn every_flipped_bit_of_a_version_7_footer_is_refused() {
    let original = version_7();
    for bit in 0..original.len() * 8 {
        let mut tail = original.clone();
        tail[bit / 8] ^= 1 << (bit % 8);
        let outcome = Footer::decode(&tail, 1397);
        assert!(outcome.is_err(), "bit {bit}: {outcome:?}");
        assert!(outcome.unwrap_err().offset().is_some());
    }
    // Right bytes at a wrong place: the footer's offset is part of its checksum.
    assert!(Footer::decode(&original, 1398).is_err());
}

#[test]
fn versions_0_and_1_and_bad_arguments_are_not_written() {
    let footer = Footer::decode(&version_7(), 1397).unwrap();
    for version in [0, 1, 8] {
        assert!(Footer { format_version: version, ..footer.clone() }.encode(1344).is_err());
    }
    assert!(Footer { format_version: 5, ..footer.clone() }.encode(1344).is_err(), "no index handle");
    assert!(Footer { base_context_checksum: 0, ..footer.clone() }.encode(1344).is_err());
    assert!(footer.encode(1345).is_err(), "a gap behind the metaindex");
}

proptest! {
    #[test]
    fn footers_round_trip(
        version in 2u32..=7,
        kind in 0u8..5,
        base in 1u32..,
        size in any::<u32>(),
        gap in 0u64..1 << 50,
        index in any::<(u32, u32)>(),
    ) {
        let metaindex = BlockHandle::new(gap + (1 << 34), u64::from(size));
        let footer_offset = metaindex.end_with_trailer().unwrap();
        let footer = Footer {
            kind: TableKind::BlockBased,
            format_version: version,
            checksum_type: ChecksumType::try_from(kind).unwrap(),
            metaindex,
            index: (version < 6).then_some(BlockHandle::new(index.0.into(), index.1.into())),
            base_context_checksum: if version < 6 { 0 } else { base },
        };
        let encoded = footer.encode(footer_offset).unwrap();
        prop_assert_eq!(Footer::decode(&encoded, footer_offset + 53).unwrap(), footer);
    }

    #[test]
    fn any_tail_is_survived(
        mut tail in prop::collection::vec(any::<u8>(), 0..60),
        magic in 0usize..6,
        version in 0u32..9,
        file_size in prop_oneof![0u64..200, any::<u64>()],
    ) {
        let magics = [0x88e241b785f4cff7u64, 0xdb4775248b80fb57, 0x8242229663bf9564, 0x4f3418eb7a8f13b8, 0x926789d0c5f17873];
        if let (Some(magic), Some(at)) = (magics.get(magic), tail.len().checked_sub(12)) {
            tail[at..at + 4].copy_from_slice(&version.to_le_bytes());
            tail[at + 4..].copy_from_slice(&magic.to_le_bytes());
        }
        if let Ok(footer) = Footer::decode(&tail, file_size) {
            prop_assert!(footer.metaindex.end().unwrap() <= file_size);
        }
    }
}
