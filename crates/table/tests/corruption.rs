//! Damaged tables: every byte of a small file is changed, and the file is cut everywhere. A reader may refuse, or give
//! exactly what was written; it must never give anything else, panic or hang.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::{Entries, get_all, open_by_itself, scan, scan_backward};
use ferrock_base::checksum::ChecksumType;
use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::{Error, InternalComparator, LookupKey, MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use ferrock_format::compression::CompressionType;
use ferrock_format::filter::FilterPolicy;
use ferrock_table::{BlockBasedTableOptions, BlockTable, BlockTableBuilder, TableBuilderParams, TableReadOptions};
use ferrock_vfs::{FileSystem, MemoryFileSystem, WritableOptions, read_file, write_file_synced};
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "/000009.sst";
const DAMAGED: &str = "/000010.sst";

fn entries() -> Entries {
    (0..24u64)
        .map(|index| {
            let key = format!("key{:03}", index / 2);
            let sequence = SequenceNumber(100 - index);
            (
                make_internal_key(key.as_bytes(), sequence, ValueType::Value),
                format!("value{index}").repeat(3).into_bytes(),
            )
        })
        .collect()
}

fn build(format_version: u32, checksum: ChecksumType, compression: CompressionType) -> (Arc<dyn FileSystem>, Vec<u8>) {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let mut params = TableBuilderParams::new(InternalComparator::default());
    let options =
        BlockBasedTableOptions { format_version, checksum, block_size: 150, ..BlockBasedTableOptions::default() };
    params.options = Arc::new(options);
    params.compression = compression;
    params.filter_policy = FilterPolicy::bloom(10.0);
    let file = file_system.create_writable(Path::new(PATH), &WritableOptions::default()).unwrap();
    let mut builder = BlockTableBuilder::new(params, file).unwrap();
    for (key, value) in entries() {
        builder.add(&key, &value).unwrap();
    }
    let start = make_internal_key(b"key004", SequenceNumber(50), ValueType::RangeDeletion);
    builder.add_range_tombstone(&start, b"key006").unwrap();
    builder.finish().unwrap();
    let bytes = read_file(&*file_system, Path::new(PATH)).unwrap();
    (file_system, bytes)
}

/// Reads everything the table offers.
fn read_all(reader: &Arc<BlockTable>) -> Result<(Entries, Entries, Vec<Entries>, Option<u64>), Error> {
    let options = TableReadOptions::default();
    let forward = scan(reader, options)?;
    let backward = scan_backward(reader)?;
    let mut gets = Vec::new();
    for (key, _) in entries() {
        gets.push(get_all(reader, &LookupKey::new(user_key(&key), MAX_SEQUENCE_NUMBER), &options)?);
    }
    let covering = reader
        .range_tombstones()
        .and_then(|tombstones| tombstones.max_covering_sequence(b"key005", MAX_SEQUENCE_NUMBER))
        .map(|sequence| sequence.0);
    Ok((forward, backward, gets, covering))
}

fn check_damaged(file_system: &Arc<dyn FileSystem>, bytes: &[u8], has_checksums: bool, what: &str) -> bool {
    write_file_synced(&**file_system, Path::new(DAMAGED), bytes).unwrap();
    let refused = match open_by_itself(file_system, Path::new(DAMAGED), None, |_| {}) {
        Err(error) => Some(error),
        Ok(reader) => {
            let _ = reader.verify_checksums(0, ferrock_vfs::IoActivity::Unknown);
            match read_all(&reader) {
                Err(error) => Some(error),
                Ok((forward, backward, gets, covering)) => {
                    if has_checksums {
                        assert!(forward == entries(), "{what}: wrong entries");
                        assert!(backward == entries(), "{what}: wrong entries backward");
                        let expected = |key: &[u8]| -> Entries {
                            entries().into_iter().filter(|(other, _)| user_key(other) == user_key(key)).collect()
                        };
                        assert!(
                            gets.iter().zip(entries()).all(|(got, (key, _))| *got == expected(&key)),
                            "{what}: gets"
                        );
                        assert_eq!(covering, Some(50), "{what}");
                    }
                    None
                }
            }
        }
    };
    if let Some(error) = &refused {
        assert_eq!(error.file(), Some(Path::new(DAMAGED)), "{what}: {error}");
    }
    refused.is_some()
}

#[test]
fn every_byte_changed() {
    for (version, checksum, compression) in [
        (7, ChecksumType::Xxh3, CompressionType::Lz4),
        (5, ChecksumType::Crc32c, CompressionType::Zstd),
        (6, ChecksumType::XxHash64, CompressionType::NoCompression),
        (2, ChecksumType::XxHash, CompressionType::Snappy),
        (7, ChecksumType::NoChecksum, CompressionType::NoCompression),
        (4, ChecksumType::NoChecksum, CompressionType::Zlib),
    ] {
        let (file_system, bytes) = build(version, checksum, compression);
        let reader = open_by_itself(&file_system, Path::new(PATH), None, |_| {}).unwrap();
        assert_eq!(read_all(&reader).unwrap().0, entries());
        let mut refused = 0;
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                let has_checksums = checksum != ChecksumType::NoChecksum;
                let what = format!("version {version}, {checksum:?}, byte {at} of {} ^ {flip:#x}", bytes.len());
                refused += usize::from(check_damaged(&file_system, &damaged, has_checksums, &what));
            }
        }
        if checksum != ChecksumType::NoChecksum {
            // Unused are: padding and reserved bytes of the footer, an unasked checksum of the properties' own.
            assert!(refused > 3 * (bytes.len() - 50), "{refused} of {}", 3 * bytes.len());
        }
    }
}

#[test]
fn cut_everywhere() {
    let (file_system, bytes) = build(7, ChecksumType::Xxh3, CompressionType::Lz4);
    for length in 0..bytes.len() {
        assert!(check_damaged(&file_system, &bytes[..length], true, &format!("cut to {length}")));
    }
    // Bytes in front: every offset is wrong.
    let shifted = [b"x", &bytes[..]].concat();
    assert!(check_damaged(&file_system, &shifted, true, "shifted"));
}

#[test]
fn foreign_files() {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    for bytes in [&b""[..], b"x", &[0; 53], &[0xff; 4096]] {
        write_file_synced(&*file_system, Path::new(DAMAGED), bytes).unwrap();
        let error = open_by_itself(&file_system, Path::new(DAMAGED), None, |_| {}).unwrap_err();
        assert!(error.is_corruption() && error.file().is_some(), "{error}");
    }
    // A PlainTable: recognised, and not read.
    let mut plain = vec![0; 100];
    plain[92..].copy_from_slice(&0x4f34_18eb_7a8f_13b8u64.to_le_bytes());
    write_file_synced(&*file_system, Path::new(DAMAGED), &plain).unwrap();
    let error = open_by_itself(&file_system, Path::new(DAMAGED), None, |_| {}).unwrap_err();
    assert_eq!(error.kind(), ferrock_base::ErrorKind::NotSupported);
}
