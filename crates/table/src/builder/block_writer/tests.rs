//! A wrong compressor: caught with `verify_compression`, and written without. Padding.

use crate::builder::{BlockTableBuilder, Stage, TableBuilderParams};
use crate::options::BlockBasedTableOptions;
use ferrock_base::error::ErrorKind;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::{InternalComparator, Result, SequenceNumber, ValueType};
use ferrock_format::compression::{CompressionOptions, CompressionType};
use ferrock_vfs::{FileSystem, MemoryFileSystem, WritableOptions};
use std::path::Path;
use std::sync::Arc;

const KINDS: [CompressionType; 6] = [
    CompressionType::Snappy,
    CompressionType::Zlib,
    CompressionType::BZip2,
    CompressionType::Lz4,
    CompressionType::Lz4Hc,
    CompressionType::Zstd,
];

/// A compressor that returns a different block, correctly compressed: no decoder can detect it.
fn another_block(kind: CompressionType) -> fn(&mut Vec<u8>) {
    fn store(kind: CompressionType, out: &mut Vec<u8>) {
        let mut compressor =
            ferrock_format::compression::Compressor::new(kind, &CompressionOptions::default(), None).unwrap();
        let mut other = Vec::new();
        assert!(compressor.compress(&[b'x'; 3000], &mut other));
        *out = other;
    }
    match kind {
        CompressionType::Snappy => |out| store(CompressionType::Snappy, out),
        CompressionType::Zlib => |out| store(CompressionType::Zlib, out),
        CompressionType::BZip2 => |out| store(CompressionType::BZip2, out),
        CompressionType::Lz4 => |out| store(CompressionType::Lz4, out),
        CompressionType::Lz4Hc => |out| store(CompressionType::Lz4Hc, out),
        _ => |out| store(CompressionType::Zstd, out),
    }
}

fn cut(out: &mut Vec<u8>) {
    out.truncate(out.len() / 2);
}

/// A table of a few dozen blocks; returns how many blocks were verified.
fn build(
    kind: CompressionType,
    verify_compression: bool,
    max_dict_bytes: u32,
    spoil: Option<fn(&mut Vec<u8>)>,
) -> Result<u64> {
    let memory = MemoryFileSystem::new();
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.compression = kind;
    params.compression_options.max_dict_bytes = max_dict_bytes;
    params.options = Arc::new(BlockBasedTableOptions { verify_compression, ..BlockBasedTableOptions::default() });
    let file = memory.create_writable(Path::new("/000007.sst"), &WritableOptions::default())?;
    let mut builder = BlockTableBuilder::new(params, file)?;
    if let Stage::Alone(sink) = &mut builder.stage {
        sink.writer.spoil(spoil);
    }
    for number in 0..2000u32 {
        let key = make_internal_key(&number.to_be_bytes(), SequenceNumber(9), ValueType::Value);
        if let Err(error) = builder.add(&key, &[b'v'; 60]) {
            // The builder stays in its error.
            assert_eq!(builder.finish().map(drop).unwrap_err().kind(), error.kind());
            return Err(error);
        }
    }
    let summary = builder.finish()?;
    assert!(summary.properties.num_data_blocks > 20);
    assert_eq!(summary.properties.num_data_blocks_compression_rejected, 0);
    // The index is compressed too, where that pays.
    assert!(summary.num_verified_blocks == 0 || summary.num_verified_blocks >= summary.properties.num_data_blocks);
    Ok(summary.num_verified_blocks)
}

#[test]
fn verify_compression_looks_at_every_compressed_block() {
    for kind in KINDS {
        assert_eq!(build(kind, false, 0, None).unwrap(), 0, "{kind:?}");
        assert!(build(kind, true, 0, None).unwrap() > 20, "{kind:?}");
    }
    assert!(build(CompressionType::Zstd, true, 4096, None).unwrap() > 20, "with a dictionary");
    assert_eq!(build(CompressionType::NoCompression, true, 0, None).unwrap(), 0, "nothing is compressed");
}

#[test]
fn verify_compression_catches_a_wrong_compressor() {
    let with = |kind, verify_compression, spoil| build(kind, verify_compression, 0, Some(spoil));
    for kind in KINDS {
        for (what, spoil) in [("another block", another_block(kind)), ("half a block", cut as fn(&mut Vec<u8>))] {
            let error = with(kind, true, spoil).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "{kind:?}, {what}: {error}");
            // Without the option the wrong block is written: only the verification that the test above counts detects
            // it.
            assert_eq!(with(kind, false, spoil).unwrap(), 0, "{kind:?}, {what}");
        }
    }
    assert_eq!(build(CompressionType::Zstd, true, 4096, Some(cut)).unwrap_err().kind(), ErrorKind::Corruption);
}

#[test]
fn a_trailer_may_lie_behind_a_boundary() {
    let options = BlockBasedTableOptions {
        super_block_alignment_size: 4096,
        super_block_alignment_space_overhead_ratio: 8,
        ..BlockBasedTableOptions::default()
    };
    let padding = super::Padding::new(&options);
    // As RocksDB 11.8.1 does it: the payload counts, and only a small loss is borne.
    assert_eq!([98, 99, 100, 5000].map(|payload| padding.before(2 * 4096 - 100, payload)), [0, 0, 100, 100]);
    assert_eq!([511, 512].map(|left| padding.before(4096 - left, 1000)), [511, 0]);
}
