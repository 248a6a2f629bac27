use super::*;
use crate::checksum;
use serde_json::Value;

fn vectors(text: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(text).unwrap();
    document["vectors"].as_array().unwrap().clone()
}

fn hex64(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap(), 16).unwrap()
}

fn hex_bytes(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn every_hash_agrees_with_its_vectors() {
    let vectors = vectors(include_str!("../../tests/data/hashes.json"));
    let mut lengths = std::collections::BTreeSet::new();
    for vector in &vectors {
        let data = hex_bytes(&vector["hex"]);
        lengths.insert(data.len());
        let check = |field: &str, actual: u64| {
            assert_eq!(actual, hex64(&vector[field]), "{field} of {} bytes", data.len());
        };
        check("crc32c", checksum::crc32c(&data).into());
        check("crc32c_masked", checksum::mask_crc(checksum::crc32c(&data)).into());
        check("xxh32_seed0", twox_hash::XxHash32::oneshot(0, &data).into());
        check("xxh64_seed0", twox_hash::XxHash64::oneshot(0, &data));
        check("xxh3_64_released", twox_hash::XxHash3_64::oneshot(&data));
        check("xxph3_64_seed0", hash64(&data));
        check("xxph3_64_seed1", hash64_with_seed(&data, 1));
        check("xxph3_64_seed_9e3779b97f4a7c15", hash64_with_seed(&data, 0x9e3779b97f4a7c15));
        check("xxh3_128_hi", hash128(&data, 0).0);
        check("xxh3_128_lo", hash128(&data, 0).1);
        check("xxh3_128_seed_0123456789abcdef_hi", hash128(&data, 0x0123456789abcdef).0);
        check("xxh3_128_seed_0123456789abcdef_lo", hash128(&data, 0x0123456789abcdef).1);
        check("hash32_seed_bc9f1d34", hash32(&data, 0xbc9f1d34).into());
        check("hash32_seed_397", hash32(&data, 397).into());
        check("hash32_seed_0", hash32(&data, 0).into());
    }
    assert!((0..=300).all(|length| lengths.contains(&length)), "every length up to 300 is covered");
}

#[test]
fn the_bijective_hash_agrees_with_its_vectors_and_has_an_inverse() {
    for vector in vectors(include_str!("../../tests/data/bijective-hash.json")) {
        let [high, low, seed] = ["in_hi", "in_lo", "seed"].map(|field| hex64(&vector[field]));
        let hashed = bijective_hash(high, low, seed);
        assert_eq!(hashed, (hex64(&vector["out_hi"]), hex64(&vector["out_lo"])));
        assert_eq!(bijective_unhash(hashed.0, hashed.1, seed), (high, low));
        let mut bytes = low.to_le_bytes().to_vec();
        bytes.extend_from_slice(&high.to_le_bytes());
        assert_eq!(hash128(&bytes, seed), hashed);
    }
}

#[test]
fn ranges_are_reached_and_not_left() {
    assert_eq!(fast_range32(u32::MAX, 7), 6);
    assert_eq!(fast_range32(0, 7), 0);
    assert_eq!(fast_range32(1 << 31, 7), 3);
    assert_eq!(fast_range64(u64::MAX, u64::MAX), u64::MAX - 1);
    assert_eq!(fast_range64(1 << 63, 9), 4);
    assert_eq!(fast_range32(u32::MAX, 0), 0);
}
