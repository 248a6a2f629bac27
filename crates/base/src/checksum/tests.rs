use super::*;
use proptest::prelude::*;
use serde_json::Value;

fn vectors(text: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(text).unwrap();
    document["vectors"].as_array().unwrap().clone()
}

fn hex32(value: &Value) -> u32 {
    u32::from_str_radix(value.as_str().unwrap(), 16).unwrap()
}

fn hex_bytes(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn block_checksums_agree_with_their_vectors() {
    for vector in vectors(include_str!("../../tests/data/block-checksums.json")) {
        let data = hex_bytes(&vector["hex"]);
        let type_byte = hex_bytes(&vector["type_byte"])[0];
        for (kind, name) in ChecksumType::ALL.into_iter().zip(["none", "crc32c", "xxh32", "xxh64", "xxh3"]) {
            let expected = hex32(&vector[format!("{name}_with_type_byte")]);
            assert_eq!(kind.block_checksum(&data, type_byte), expected, "{name}, {} bytes", data.len());
            let expected = hex32(&vector[format!("{name}_whole_buffer")]);
            assert_eq!(kind.checksum(&data), expected, "{name}, whole {} bytes", data.len());
        }
    }
}

#[test]
fn context_modifiers_agree_with_their_vectors() {
    for vector in vectors(include_str!("../../tests/data/checksum-context.json")) {
        let base = hex32(&vector["base_context_checksum"]);
        let offset = vector["offset"].as_u64().unwrap();
        assert_eq!(context_modifier(base, offset), hex32(&vector["modifier"]), "base {base:#x} offset {offset}");
    }
}

#[test]
fn combined_crcs_agree_with_their_vectors() {
    for vector in vectors(include_str!("../../tests/data/crc32c-combine.json")) {
        let length = vector["len_b"].as_u64().unwrap();
        let combined = crc32c_combine(hex32(&vector["crc_a"]), hex32(&vector["crc_b"]), length);
        assert_eq!(combined, hex32(&vector["crc_ab"]));
    }
}

#[test]
fn names_and_numbers_are_frozen() {
    let names = ["kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3"];
    for (number, name) in names.into_iter().enumerate() {
        let kind = ChecksumType::try_from(number as u8).unwrap();
        assert_eq!((kind as usize, kind.option_name()), (number, name));
        assert_eq!(ChecksumType::from_option_name(name), Some(kind));
    }
    assert!(ChecksumType::try_from(5).unwrap_err().is_corruption());
    assert_eq!(ChecksumType::from_option_name("kxxhash"), None);
}

/// The definition, a bit at a time.
fn naive_crc32c(data: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in data {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
        }
    }
    !crc
}

proptest! {
    #[test]
    fn a_crc_is_the_same_in_pieces(data in prop::collection::vec(any::<u8>(), 0..5000), at in any::<prop::sample::Index>()) {
        let (first, second) = data.split_at(at.index(data.len() + 1));
        let whole = naive_crc32c(&data);
        prop_assert_eq!(crc32c(&data), whole);
        prop_assert_eq!(crc32c_extend(crc32c(first), second), whole);
        prop_assert_eq!(crc32c_combine(crc32c(first), crc32c(second), second.len() as u64), whole);
        prop_assert_eq!(unmask_crc(mask_crc(whole)), whole);
    }

    #[test]
    fn a_flipped_bit_is_seen(mut data in prop::collection::vec(any::<u8>(), 1..300), bit in any::<prop::sample::Index>()) {
        let bit = bit.index(data.len() * 8);
        for kind in ChecksumType::ALL.into_iter().skip(1) {
            let before = kind.block_checksum(&data, 4);
            data[bit / 8] ^= 1 << (bit % 8);
            prop_assert_ne!(kind.block_checksum(&data, 4), before);
            data[bit / 8] ^= 1 << (bit % 8);
            prop_assert_ne!(kind.block_checksum(&data, 5), before);
        }
    }
}
