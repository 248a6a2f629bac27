//! Bytes that RocksDB wrote, damage, and round trips.

use super::*;
use proptest::prelude::*;

const HEADER: TraceHeader = TraceHeader { version: (0, 2), rocksdb_version: (11, 8) };

/// Frames of a trace that RocksDB 11.8.1 wrote.
const BY_ROCKSDB: [&str; 5] = [
    "775f6b174d610600031a0000000200000000000000110000000000000000010000000101 6b0176",
    "4a616b174d610600040f0000000c0000000000000001000000026b6b",
    "a0616b174d610600060e00000030000000000000000000000001 7a",
    "c8616b174d6106000512000000f0000000000000000100000001 6301620179",
    "d5616b174d6106000d1a0000000007000000000000020000000800000000000000000 4016b0171",
];

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| *byte != b' ').collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The operation of a frame, and its time.
fn decode(frame: &[u8]) -> Result<(u64, Option<Operation>)> {
    let header = FrameHeader::decode(frame[..FRAME_HEADER_SIZE_BYTES].try_into().unwrap());
    let payload = &frame[FRAME_HEADER_SIZE_BYTES..];
    assert_eq!(header.payload_size as usize, payload.len());
    Ok((header.timestamp_us, Operation::decode(&HEADER, header.kind, payload)?))
}

fn encode(timestamp_us: u64, operation: &Operation) -> Vec<u8> {
    let mut out = Vec::new();
    match operation {
        Operation::Write { batch } => encode_write(&mut out, timestamp_us, batch),
        Operation::Get { family, key } => encode_get(&mut out, timestamp_us, *family, key),
        Operation::Seek { direction, family, key, lower, upper } => {
            encode_seek(&mut out, timestamp_us, *direction, (*family, key), [lower.as_deref(), upper.as_deref()]);
        }
        Operation::MultiGet { keys } => {
            encode_multi_get(&mut out, timestamp_us, keys.iter().map(|(family, key)| (*family, key.as_slice())));
        }
    }
    out
}

#[test]
fn frames_are_those_of_rocksdb() {
    for hex in BY_ROCKSDB {
        let bytes = bytes_of(hex);
        let (timestamp_us, operation) = decode(&bytes).unwrap();
        assert_eq!(encode(timestamp_us, &operation.unwrap()), bytes);
    }
    let (_, operation) = decode(&bytes_of(BY_ROCKSDB[3])).unwrap();
    let (direction, key) = (SeekDirection::Forward, b"c".to_vec());
    let (lower, upper) = (Some(b"b".to_vec()), Some(b"y".to_vec()));
    assert_eq!(operation, Some(Operation::Seek { direction, family: 1, key, lower, upper }));
    let mut begin = Vec::new();
    encode_begin(&mut begin, 0);
    assert_eq!(begin.len(), 13 + 91, "as long as RocksDB's");
    assert_eq!(TraceHeader::decode(&begin[13..]).unwrap(), HEADER);
}

#[test]
fn what_is_no_header_is_refused() {
    let refused = |text: &str| TraceHeader::decode(text.as_bytes()).unwrap_err().to_string();
    assert!(refused("").contains("does not begin as a trace"));
    assert!(refused("feedcafedeadbeef\tTrace Version: 0.\tRocksDB Version: 1.2\t").contains("Trace Version: "));
    assert!(refused("feedcafedeadbeef\tTrace Version: 0.2\tRocksDB Version: 1,2\t").contains("RocksDB Version: "));
    assert!(refused("feedcafedeadbeef\tTrace Version: 0.+2\tRocksDB Version: 1.2\t").contains("Trace Version: "));
    let newer = refused("feedcafedeadbeef\tTrace Version: 1.0\tRocksDB Version: 99.2\t");
    assert!(newer.starts_with("Not implemented: ") && newer.contains("1.0"), "{newer}");
}

#[test]
fn traces_of_the_first_version_are_read() {
    let header = TraceHeader { version: (0, 1), ..HEADER };
    let batch = b"anything".to_vec();
    let write = Operation::decode(&header, FrameKind::Write, &batch).unwrap();
    assert_eq!(write, Some(Operation::Write { batch }));
    let get = Operation::decode(&header, FrameKind::Get, b"\x02\0\0\0\x01k").unwrap();
    assert_eq!(get, Some(Operation::Get { family: 2, key: b"k".to_vec() }));
    assert!(Operation::decode(&header, FrameKind::Get, b"\x02\0\0\0\x01kx").unwrap_err().is_corruption());
}

#[test]
fn a_count_of_keys_beyond_what_is_there_is_damage() {
    let mut frame = bytes_of(BY_ROCKSDB[4]);
    frame[13 + 8 + 3] = 0xff;
    assert!(decode(&frame).unwrap_err().is_corruption());
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..20)
}

fn operation() -> impl Strategy<Value = Operation> {
    let bound = || prop::option::of(prop::collection::vec(any::<u8>(), 1..9));
    let seek =
        (any::<bool>(), any::<u32>(), key(), bound(), bound()).prop_map(|(forward, family, key, lower, upper)| {
            let direction = if forward { SeekDirection::Forward } else { SeekDirection::Backward };
            Operation::Seek { direction, family, key, lower, upper }
        });
    prop_oneof![
        key().prop_map(|batch| Operation::Write { batch }),
        (any::<u32>(), key()).prop_map(|(family, key)| Operation::Get { family, key }),
        seek,
        prop::collection::vec((any::<u32>(), key()), 0..9).prop_map(|keys| Operation::MultiGet { keys }),
    ]
}

proptest! {
    #[test]
    fn operations_round_trip(timestamp_us in any::<u64>(), operation in operation()) {
        let bytes = encode(timestamp_us, &operation);
        prop_assert_eq!(decode(&bytes).unwrap(), (timestamp_us, Some(operation)));
    }

    #[test]
    fn damage_is_an_error_or_another_operation(operation in operation(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut bytes = encode(1, &operation);
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        let header = FrameHeader::decode(bytes[..FRAME_HEADER_SIZE_BYTES].try_into().unwrap());
        let _ = Operation::decode(&HEADER, header.kind, &bytes[FRAME_HEADER_SIZE_BYTES..]);
        for kind in FrameKind::KNOWN.map(|(_, kind)| kind) {
            let _ = Operation::decode(&TraceHeader { version: (0, 1), ..HEADER }, kind, &bytes);
            let _ = Operation::decode(&HEADER, kind, &bytes[..at]);
        }
    }
}
