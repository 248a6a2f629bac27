//! Round trips of every codec, damaged input, and bounds of what a claim may allocate.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use ferrock_format::compression::{CompressionOptions, CompressionType, Compressor, Dictionary, decompress};

const WRITABLE: [CompressionType; 6] = [
    CompressionType::Snappy,
    CompressionType::Zlib,
    CompressionType::BZip2,
    CompressionType::Lz4,
    CompressionType::Lz4Hc,
    CompressionType::Zstd,
];

fn text(size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut state = 7u64;
    while out.len() < size {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let word = ["key", "value", "the", "table", "block", "compaction", "level", "zebra", "snapshot"]
            [(state >> 40) as usize % 9];
        out.extend_from_slice(word.as_bytes());
        out.extend_from_slice(format!("{:03}", (state >> 50) % 1000).as_bytes());
    }
    out.truncate(size);
    out
}

#[test]
fn every_type_round_trips() {
    for compression_type in WRITABLE {
        for size in [1usize, 20, 100, 1000, 4096, 40_000, 300_000] {
            let raw = text(size);
            let mut compressor = Compressor::new(compression_type, &CompressionOptions::default(), None).unwrap();
            let mut stored = Vec::new();
            for _ in 0..3 {
                let kept = compressor.compress(&raw, &mut stored);
                assert!(kept || size <= 100, "{compression_type:?} {size}");
                if kept {
                    assert_eq!(
                        decompress(compression_type, &stored, 5, None, 1 << 20).unwrap(),
                        raw,
                        "{compression_type:?} {size}"
                    );
                }
            }
        }
    }
}

#[test]
fn dictionaries_round_trip_and_help() {
    let raw = text(3000);
    let dictionary = text(12_000);
    for compression_type in WRITABLE {
        let options = CompressionOptions::default();
        let mut plain = Vec::new();
        let mut with = Vec::new();
        assert!(Compressor::new(compression_type, &options, None).unwrap().compress(&raw, &mut plain));
        assert!(Compressor::new(compression_type, &options, Some(&dictionary)).unwrap().compress(&raw, &mut with));
        let prepared = Dictionary::new(compression_type, dictionary.clone()).unwrap();
        assert_eq!(decompress(compression_type, &with, 5, Some(&prepared), 1 << 20).unwrap(), raw);
        if compression_type.uses_dictionary() {
            assert!(with.len() * 2 < plain.len(), "{compression_type:?}: {} {}", with.len(), plain.len());
        }
    }
}
