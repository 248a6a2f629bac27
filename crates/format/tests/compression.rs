//! Round trips of every codec, damaged input, and bounds of what a claim may allocate.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use ferrock_format::compression::{
    CompressionOptions, CompressionType, Compressor, DEFAULT_COMPRESSION_LEVEL, Dictionary, build_dictionary,
    decompress, decompress_into, zstd_frame_compress, zstd_frame_decompress,
};
use proptest::prelude::*;

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

struct StoredBlock {
    compression_type: CompressionType,
    payload: Vec<u8>,
    raw: Vec<u8>,
}

struct BlockFile {
    format_version: u32,
    dictionary: Vec<u8>,
    blocks: Vec<StoredBlock>,
}

/// Reads a fixture: format version, dictionary, then blocks of type, stored and raw bytes.
/// The raw bytes were made by other decoders (the zstd tool, zlib, libbz2).
fn read_block_file(name: &str) -> BlockFile {
    let path = format!("{}/tests/data/compression/{name}.blocks", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).unwrap();
    let mut position = 0;
    let mut take = |length: usize| {
        let taken = bytes[position..position + length].to_vec();
        position += length;
        taken
    };
    let number = |taken: Vec<u8>| u32::from_le_bytes(taken.try_into().unwrap());
    let format_version = number(take(4));
    let dictionary_size = number(take(4)) as usize;
    let dictionary = take(dictionary_size);
    let count = number(take(4));
    let blocks = (0..count)
        .map(|_| {
            let compression_type = CompressionType::try_from(take(1)[0]).unwrap();
            let payload_size = number(take(4)) as usize;
            let raw_size = number(take(4)) as usize;
            StoredBlock { compression_type, payload: take(payload_size), raw: take(raw_size) }
        })
        .collect();
    BlockFile { format_version, dictionary, blocks }
}

const BLOCK_FILES: [&str; 12] = [
    "r11.9-dict-lz4-raw",
    "r11.9-dict-zstd-raw",
    "r11.9-dict-zstd-trained",
    "r7.8-dict-lz4-raw",
    "r7.8-dict-zstd-raw",
    "r7.8-dict-zstd-trained",
    "r7.8-fmt-fv0-crc32c-zlib",
    "r7.8-fmt-fv1-xxhash-snappy",
    "r11.9-fmt-fv6-crc32c-bzip2",
    "r11.9-fmt-fv7-xxhash-zlib",
    "r11.9-fmt-fv7-xxh3-lz4hc",
    "r11.9-fmt-fv5-xxhash64-zstd",
];

#[test]
fn blocks_written_by_rocksdb_decode() {
    for name in BLOCK_FILES {
        let file = read_block_file(name);
        assert!(!file.blocks.is_empty(), "{name}");
        for block in &file.blocks {
            let dictionary = Dictionary::new(block.compression_type, file.dictionary.clone()).unwrap();
            let raw =
                decompress(block.compression_type, &block.payload, file.format_version, Some(&dictionary), 1 << 20);
            assert_eq!(raw.unwrap(), block.raw, "{name}");
        }
    }
}

/// Every byte of every fixture block is changed in three ways: an error or some output, never a
/// panic, and never more memory than the claim (which the fixture's size bounds by the codec's ratio).
#[test]
fn every_damaged_byte_is_survived() {
    for name in BLOCK_FILES {
        let file = read_block_file(name);
        let block = &file.blocks[0];
        let dictionary = Dictionary::new(block.compression_type, file.dictionary.clone()).unwrap();
        let mut out = Vec::new();
        let mut refused = 0;
        for index in 0..block.payload.len() {
            for damage in [1u8, 0x80, 0xff] {
                let mut payload = block.payload.clone();
                payload[index] ^= damage;
                let result = decompress_into(
                    block.compression_type,
                    &payload,
                    file.format_version,
                    Some(&dictionary),
                    1 << 30,
                    &mut out,
                );
                refused += usize::from(result.is_err());
                assert!(out.capacity() <= 4 << 20, "{name}: byte {index} made it allocate {}", out.capacity());
            }
        }
        assert!(refused > 0, "{name}");
        for length in 0..block.payload.len() {
            let cut = &block.payload[..length];
            let result = decompress(block.compression_type, cut, file.format_version, Some(&dictionary), 1 << 30);
            assert!(result.is_err(), "{name}: cut to {length} bytes");
        }
        let mut longer = block.payload.clone();
        longer.push(0);
        let result = decompress(block.compression_type, &longer, file.format_version, Some(&dictionary), 1 << 30);
        assert!(result.is_err(), "{name}: a byte after the stream");
    }
}

/// Huge claims on a small payload are refused or followed only as far as output appears.
#[test]
fn a_claim_allocates_nothing() {
    for name in BLOCK_FILES {
        let file = read_block_file(name);
        let block = &file.blocks[0];
        if block.compression_type == CompressionType::Snappy || file.format_version < 2 {
            continue;
        }
        let prefix_size = block.payload.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        for claim in [1u64 << 24, 1 << 31, 1 << 40, u64::MAX] {
            let mut payload = Vec::new();
            ferrock_base::coding::put_varint64(&mut payload, claim);
            payload.extend_from_slice(&block.payload[prefix_size..]);
            let dictionary = Dictionary::new(block.compression_type, file.dictionary.clone()).unwrap();
            let mut out = Vec::new();
            let result = decompress_into(
                block.compression_type,
                &payload,
                file.format_version,
                Some(&dictionary),
                usize::MAX,
                &mut out,
            );
            assert!(result.is_err(), "{name}");
            assert!(out.capacity() <= 1 << 20, "{name}: {}", out.capacity());
        }
    }
}

#[test]
fn max_size_is_kept() {
    for compression_type in WRITABLE {
        let raw = text(10_000);
        let mut stored = Vec::new();
        let options = CompressionOptions::default();
        assert!(Compressor::new(compression_type, &options, None).unwrap().compress(&raw, &mut stored));
        assert!(decompress(compression_type, &stored, 5, None, 10_000).is_ok());
        assert!(decompress(compression_type, &stored, 5, None, 9_999).is_err());
    }
}

#[test]
fn unpromising_blocks_are_left_alone() {
    let mut state = 1u64;
    let noise: Vec<u8> = (0..5000)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        })
        .collect();
    for compression_type in WRITABLE {
        let mut out = vec![1, 2, 3];
        let mut compressor = Compressor::new(compression_type, &CompressionOptions::default(), None).unwrap();
        assert!(!compressor.compress(&noise, &mut out));
        assert!(out.is_empty());
        assert!(!compressor.compress(b"", &mut out));
        let options = CompressionOptions { max_compressed_bytes_per_kb: 100, ..CompressionOptions::default() };
        let mut strict = Compressor::new(compression_type, &options, None).unwrap();
        assert!(!strict.compress(&text(5000), &mut out), "{compression_type:?} reaches a ratio of ten");
        assert!(compressor.compress(&text(5000), &mut out));
    }
}

fn compressed_size(compression_type: CompressionType, level: i32, raw: &[u8]) -> usize {
    let options = CompressionOptions { level, max_compressed_bytes_per_kb: 1024, ..CompressionOptions::default() };
    let mut out = Vec::new();
    assert!(Compressor::new(compression_type, &options, None).unwrap().compress(raw, &mut out));
    assert_eq!(decompress(compression_type, &out, 5, None, raw.len()).unwrap(), raw);
    out.len()
}

#[test]
fn levels_change_the_size() {
    let raw = text(60_000);
    for (compression_type, levels) in [
        (CompressionType::Zstd, &[-5, 1, 3, 9, 19][..]),
        (CompressionType::Zlib, &[1, 6, 9][..]),
        (CompressionType::Lz4Hc, &[1, 9, 12][..]),
        (CompressionType::Lz4, &[-8, -3, DEFAULT_COMPRESSION_LEVEL][..]),
    ] {
        let sizes: Vec<usize> = levels.iter().map(|level| compressed_size(compression_type, *level, &raw)).collect();
        assert!(sizes.windows(2).all(|pair| pair[1] < pair[0]), "{compression_type:?} {sizes:?}");
    }
    let fast = compressed_size(CompressionType::Lz4, DEFAULT_COMPRESSION_LEVEL, &raw);
    let high = compressed_size(CompressionType::Lz4Hc, DEFAULT_COMPRESSION_LEVEL, &raw);
    assert!(high * 100 < fast * 90, "LZ4 {fast}, LZ4-HC {high}");
}

#[test]
fn zlib_strategies_are_used_and_bad_options_named() {
    let raw = text(20_000);
    let mut sizes = Vec::new();
    for strategy in 0..5 {
        let options = CompressionOptions { strategy, ..CompressionOptions::default() };
        let mut out = Vec::new();
        assert!(Compressor::new(CompressionType::Zlib, &options, None).unwrap().compress(&raw, &mut out));
        assert_eq!(decompress(CompressionType::Zlib, &out, 5, None, 1 << 20).unwrap(), raw);
        sizes.push(out.len());
    }
    assert!(sizes[2] > sizes[0] && sizes[4] > sizes[0], "{sizes:?}");
    for options in [
        CompressionOptions { strategy: 5, ..CompressionOptions::default() },
        CompressionOptions { window_bits: 15, ..CompressionOptions::default() },
    ] {
        let error = Compressor::new(CompressionType::Zlib, &options, None).unwrap_err();
        assert_eq!(error.kind(), ferrock_base::ErrorKind::InvalidArgument);
    }
}

/// Readers inflate with a window of 16 KiB, so a repetition further away must not be used.
#[test]
fn zlib_keeps_its_distances_short() {
    let noise: String =
        (0..4000u32).map(|number| format!("{:04x}", (number.wrapping_mul(2_654_435_761) >> 9) as u16)).collect();
    let repeated = text(300);
    let size_with_gap = |gap: usize, repeat: bool| {
        let mut raw = repeated.clone();
        raw.extend_from_slice(&noise.as_bytes()[..gap]);
        if repeat {
            raw.extend_from_slice(&repeated);
        }
        let options = CompressionOptions { window_bits: -15, ..CompressionOptions::default() };
        let mut out = Vec::new();
        assert!(Compressor::new(CompressionType::Zlib, &options, None).unwrap().compress(&raw, &mut out));
        out.len()
    };
    let near = size_with_gap(8000, true) - size_with_gap(8000, false);
    let far = size_with_gap(16_000, true) - size_with_gap(16_000, false);
    assert!(near < 30, "a repetition within the window costs {near} bytes");
    assert!(far > 60, "a repetition beyond the window costs {far} bytes");
}

/// Format versions 0 and 1: no prefix for zlib and bzip2, eight bytes for LZ4.
#[test]
fn old_prefixes_are_read() {
    let raw = text(5000);
    for compression_type in [CompressionType::Zlib, CompressionType::BZip2, CompressionType::Lz4] {
        let mut out = Vec::new();
        assert!(Compressor::new(compression_type, &Default::default(), None).unwrap().compress(&raw, &mut out));
        let (size, length) = ferrock_base::coding::get_varint64(&out).unwrap();
        assert_eq!(size, 5000);
        let mut old = Vec::new();
        if compression_type == CompressionType::Lz4 {
            old.extend_from_slice(&size.to_le_bytes());
        }
        old.extend_from_slice(&out[length..]);
        for format_version in [0, 1] {
            assert_eq!(decompress(compression_type, &old, format_version, None, 5000).unwrap(), raw);
            assert!(decompress(compression_type, &old, format_version, None, 4999).is_err());
            assert!(decompress(compression_type, &old[..old.len() - 1], format_version, None, 5000).is_err());
        }
    }
}

/// Several segments of the optimal parse, and matches further back than LZ4 reaches.
#[test]
fn large_lz4_blocks_round_trip() {
    let mut raw = text(150_000);
    raw.extend(vec![0u8; 200_000]);
    raw.extend(text(150_000));
    for level in [1, 9, 10, 11] {
        let size = compressed_size(CompressionType::Lz4Hc, level, &raw);
        assert!(size < raw.len() / 3, "{level}: {size}");
    }
    compressed_size(CompressionType::Lz4, -2, &raw);
}

/// What a frame may hold by its blocks is not what it holds.
#[cfg(feature = "zstd")]
#[test]
fn frames_of_unknown_size_keep_no_more_memory_than_they_need() {
    const HEADER: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    // A compressed block of raw literals, without sequences.
    let hello = [HEADER, &[0x3d, 0, 0, 0x28], b"hello", &[0]].concat();
    let content = zstd_frame_decompress(&hello, 1 << 30).unwrap();
    assert_eq!(content, b"hello");
    assert!(content.capacity() <= 8192, "{}", content.capacity());
    // Three bytes that would count as 128 KiB each.
    let empty = [HEADER, &[0x04, 0, 0].repeat(40_000), &[0x05, 0, 0]].concat();
    assert!(zstd_frame_decompress(&empty, usize::MAX).unwrap_err().is_corruption());
}

#[test]
fn bare_zstd_frames_round_trip() {
    for size in [0usize, 1, 100, 40_000, 500_000] {
        let raw = text(size);
        let mut frame = Vec::new();
        zstd_frame_compress(&raw, &mut frame).unwrap();
        assert_eq!(zstd_frame_decompress(&frame, size).unwrap(), raw);
        if size > 0 {
            assert!(zstd_frame_decompress(&frame, size - 1).is_err());
        }
        frame.push(0);
        assert!(zstd_frame_decompress(&frame, size).is_err());
    }
    // Made by the zstd tool from a pipe: no content size, a content checksum.
    let mut streamed = vec![0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x29, 0x00, 0x00];
    streamed.extend_from_slice(b"hello");
    streamed.extend_from_slice(&[0xa3, 0x6d, 0x9f, 0x88]);
    assert_eq!(zstd_frame_decompress(&streamed, 100).unwrap(), b"hello");
    streamed[10] ^= 1;
    assert!(zstd_frame_decompress(&streamed, 100).is_err());
}

#[test]
fn names_and_numbers() {
    for compression_type in CompressionType::ALL {
        assert_eq!(CompressionType::try_from(compression_type.as_u8()).unwrap(), compression_type);
        assert_eq!(CompressionType::from_option_name(compression_type.option_name()), Some(compression_type));
        assert_eq!(CompressionType::from_property_name(compression_type.property_name()), Some(compression_type));
    }
    assert_eq!(CompressionType::try_from(0x40).unwrap(), CompressionType::Zstd);
    assert_eq!(CompressionType::Zstd.option_name(), "kZSTD");
    assert!(CompressionType::try_from(8).is_err() && CompressionType::try_from(0xff).is_err());
    assert_eq!(CompressionType::from_option_name("kDisableCompressionOption"), None);
    let error = decompress(CompressionType::Xpress, b"x", 5, None, 10).unwrap_err();
    assert_eq!(error.kind(), ferrock_base::ErrorKind::NotSupported);
}

/// Data that exercises matches at all distances: random words, runs, copies.
fn mixed() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 1..40),
        (any::<u8>(), 1usize..600).prop_map(|(byte, count)| vec![byte; count]),
        "[a-d]{3,12}".prop_map(String::into_bytes),
        (1usize..200).prop_map(text),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_input_round_trips(raw in mixed(), dictionary in mixed(), format_version in 2u32..8) {
        for (compression_type, level) in [
            (CompressionType::Snappy, 0),
            (CompressionType::Zlib, 1), (CompressionType::Zlib, 9),
            (CompressionType::BZip2, 1),
            (CompressionType::Lz4, 1), (CompressionType::Lz4, -7),
            (CompressionType::Lz4Hc, 1), (CompressionType::Lz4Hc, 5), (CompressionType::Lz4Hc, 9),
            (CompressionType::Lz4Hc, 10), (CompressionType::Lz4Hc, 12),
            (CompressionType::Zstd, -3), (CompressionType::Zstd, 1), (CompressionType::Zstd, 3),
            (CompressionType::Zstd, 6), (CompressionType::Zstd, 13), (CompressionType::Zstd, 19),
        ] {
            let options = CompressionOptions {
                level, max_compressed_bytes_per_kb: 1024, checksum: format_version == 5, ..CompressionOptions::default()
            };
            for used in [None, Some(dictionary.as_slice())] {
                let mut compressor = Compressor::new(compression_type, &options, used).unwrap();
                let prepared = Dictionary::new(compression_type, used.unwrap_or_default()).unwrap();
                let mut stored = Vec::new();
                for part in [&raw[..], &raw[raw.len() / 2..], &raw[..]] {
                    if compressor.compress(part, &mut stored) {
                        let read = decompress(compression_type, &stored, format_version, Some(&prepared), part.len());
                        prop_assert_eq!(read.unwrap(), part);
                    }
                }
            }
        }
    }

    #[test]
    fn any_payload_is_survived(payload in proptest::collection::vec(any::<u8>(), 0..300), format_version in 0u32..8) {
        for compression_type in CompressionType::ALL {
            let mut out = Vec::new();
            let _ = decompress_into(compression_type, &payload, format_version, None, 1 << 30, &mut out);
            prop_assert!(out.capacity() <= 64 << 20);
        }
    }
}

fn records(count: usize, seed: u64) -> (Vec<u8>, Vec<usize>) {
    let mut state = seed;
    let mut samples = Vec::new();
    let mut sizes = Vec::new();
    for number in 0..count {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let city = ["Aachen", "Bergen", "Calgary", "Dakar", "Espoo"][(state >> 60) as usize % 5];
        let record = format!(
            "{{\"id\":{},\"name\":\"user{:05}\",\"city\":\"{city}\",\"balance\":{},\"flags\":[\"active\",\"verified\"]}}",
            number * 17,
            (state >> 33) % 100_000,
            (state >> 20) % 10_000_000
        );
        sizes.push(record.len());
        samples.extend_from_slice(record.as_bytes());
    }
    (samples, sizes)
}

fn total_with_dictionary(options: &CompressionOptions, dictionary: &[u8], samples: &[u8], sizes: &[usize]) -> usize {
    let mut compressor = Compressor::new(CompressionType::Zstd, options, Some(dictionary)).unwrap();
    let prepared = Dictionary::new(CompressionType::Zstd, dictionary).unwrap();
    let (mut begin, mut total, mut out) = (0, 0, Vec::new());
    for size in sizes {
        let raw = &samples[begin..begin + size];
        begin += size;
        if compressor.compress(raw, &mut out) {
            assert_eq!(decompress(CompressionType::Zstd, &out, 5, Some(&prepared), 1 << 20).unwrap(), raw);
            total += out.len();
        } else {
            total += raw.len();
        }
    }
    total
}

#[test]
fn trained_dictionaries_beat_raw_samples() {
    // The first samples are unlike the rest, so taking them as they come is a poor choice.
    let mut samples = text(8000);
    let mut sizes = vec![80; 100];
    let (like_the_rest, like_the_rest_sizes) = records(600, 1);
    samples.extend(like_the_rest);
    sizes.extend(like_the_rest_sizes);
    let (others, other_sizes) = records(200, 2);
    for level in [1, DEFAULT_COMPRESSION_LEVEL, 9, 19] {
        let raw = CompressionOptions { level, max_dict_bytes: 2048, ..CompressionOptions::default() };
        let finalized =
            CompressionOptions { zstd_max_train_bytes: 1 << 20, use_zstd_dict_trainer: false, ..raw.clone() };
        let trained = CompressionOptions { use_zstd_dict_trainer: true, ..finalized.clone() };
        let totals = [&raw, &finalized, &trained].map(|options| {
            let dictionary = build_dictionary(CompressionType::Zstd, options, &samples, &sizes);
            assert!(!dictionary.is_empty() && dictionary.len() <= 2048);
            assert_eq!(dictionary.starts_with(&[0x37, 0xa4, 0x30, 0xec]), options.zstd_max_train_bytes > 0);
            total_with_dictionary(options, &dictionary, &others, &other_sizes)
        });
        let none = total_with_dictionary(&raw, &[], &others, &other_sizes);
        assert!(totals.iter().all(|total| *total <= none), "{level}: {none} {totals:?}");
        assert!(totals[2] * 4 < totals[0] * 3, "{level}: {none} {totals:?}");
    }
}

#[test]
fn odd_samples_train_to_something_readable() {
    let options = CompressionOptions { max_dict_bytes: 4096, zstd_max_train_bytes: 1 << 20, ..Default::default() };
    let noise: Vec<u8> = (0..20_000u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    for samples in [vec![0u8; 10_000], noise, text(30_000), text(900), vec![7u8; 50]] {
        for parts in [1, 3, 8, 100, 1000] {
            let size = samples.len() / parts;
            let sizes = vec![size; parts];
            for trainer in [true, false] {
                let options = CompressionOptions { use_zstd_dict_trainer: trainer, ..options.clone() };
                let dictionary = build_dictionary(CompressionType::Zstd, &options, &samples, &sizes);
                assert!(dictionary.len() <= 4096);
                total_with_dictionary(&options, &dictionary, &samples, &[samples.len()]);
                total_with_dictionary(&options, &dictionary, &text(5000), &[1000, 4000]);
            }
        }
    }
    assert!(build_dictionary(CompressionType::Zstd, &CompressionOptions::default(), b"abc", &[3]).is_empty());
    let raw = CompressionOptions { max_dict_bytes: 2, ..CompressionOptions::default() };
    assert_eq!(build_dictionary(CompressionType::Lz4, &raw, b"abc", &[3]), b"ab");
}

/// With the C library built in, each implementation reads what the other writes.
#[cfg(feature = "native-codecs")]
mod against_the_c_library {
    use super::*;

    fn pure_frame(raw: &[u8], level: i32, dictionary: Option<&[u8]>) -> Vec<u8> {
        let config = zstd_rs::CompressionConfig { level, checksum: true, ..zstd_rs::CompressionConfig::DEFAULT };
        let dictionary = dictionary.map(|bytes| {
            let parsed = zstd_rs::Dictionary::new(bytes, zstd_rs::DictionaryFormat::Detect).unwrap();
            zstd_rs::EncoderDictionary::new(&parsed, level).unwrap()
        });
        let mut out = Vec::new();
        ferrock_base::coding::put_varint64(&mut out, raw.len() as u64);
        zstd_rs::Compressor::new(config).unwrap().compress(raw, dictionary.as_ref(), &mut out).unwrap();
        out
    }

    fn pure_content(stored: &[u8], dictionary: Option<&[u8]>) -> Vec<u8> {
        let (size, length) = ferrock_base::coding::get_varint64(stored).unwrap();
        let dictionary = dictionary.map(|bytes| {
            let parsed = zstd_rs::Dictionary::new(bytes, zstd_rs::DictionaryFormat::Detect).unwrap();
            zstd_rs::DecoderDictionary::new(parsed).unwrap()
        });
        let mut out = Vec::new();
        let mut decoder = zstd_rs::Decompressor::new();
        decoder.decompress_frame(&stored[length..], dictionary.as_ref(), size as usize, &mut out).unwrap();
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn both_read_both(raw in mixed(), history in mixed(), level in -5i32..19, kind in 0..3) {
            let level = if level == 0 { 3 } else { level };
            let (samples, sizes) = records(300, 5);
            let trained = zstd::dict::from_continuous(&samples, &sizes, 2048).unwrap();
            let dictionary = match kind {
                0 => None,
                1 => Some(&trained[..]),
                _ => Some(&history[..]),
            };
            let dictionary = dictionary.filter(|bytes| !bytes.is_empty());
            let prepared = Dictionary::new(CompressionType::Zstd, dictionary.unwrap_or_default()).unwrap();
            let stored = pure_frame(&raw, level, dictionary);
            prop_assert_eq!(&decompress(CompressionType::Zstd, &stored, 5, Some(&prepared), raw.len()).unwrap(), &raw);
            let options = CompressionOptions { level, max_compressed_bytes_per_kb: 1024, ..Default::default() };
            let mut out = Vec::new();
            if Compressor::new(CompressionType::Zstd, &options, dictionary).unwrap().compress(&raw, &mut out) {
                prop_assert_eq!(pure_content(&out, dictionary), raw);
            }
        }
    }
}
