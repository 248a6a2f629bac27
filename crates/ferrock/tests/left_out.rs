//! A build without codecs refuses them by name wherever they come in, and goes on without compression:
//! `cargo test -p ferrock --no-default-features --test left_out`.
#![cfg(not(any(feature = "bzip2", feature = "lz4", feature = "snappy", feature = "zlib", feature = "zstd")))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock::options::{BottommostCompression, CompressionType};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions};
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::path::Path;
use std::sync::Arc;

const LEFT_OUT: [(CompressionType, &str); 6] = [
    (CompressionType::Snappy, "snappy"),
    (CompressionType::Zlib, "zlib"),
    (CompressionType::BZip2, "bzip2"),
    (CompressionType::Lz4, "lz4"),
    (CompressionType::Lz4Hc, "lz4"),
    (CompressionType::Zstd, "zstd"),
];

fn options(files: &MemoryFileSystem) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(files.clone()));
    options
}

fn refusal<T>(outcome: ferrock::Result<T>, kind: CompressionType, feature: &str) {
    let error = outcome.err().unwrap_or_else(|| panic!("{kind:?} is taken")).to_string();
    assert!(error.contains(kind.option_name()), "{error}");
    assert!(error.contains(&format!("build with the feature `{feature}`")), "{error}");
}

#[test]
fn options_that_name_a_codec_are_refused() {
    let files = MemoryFileSystem::new();
    let db = Db::open("/db", options(&files)).unwrap();
    let default = db.default_column_family().unwrap();
    assert_eq!(default.options().compression, CompressionType::NoCompression, "the default of such a build");
    for (kind, feature) in LEFT_OUT {
        let family = |set: &dyn Fn(&mut ColumnFamilyOptions)| {
            let mut family = ColumnFamilyOptions::default();
            set(&mut family);
            family
        };
        for family in [
            family(&|family| family.compression = kind),
            family(&|family| family.compression_per_level = vec![CompressionType::NoCompression, kind]),
            family(&|family| family.bottommost_compression = BottommostCompression(Some(kind))),
        ] {
            refusal(db.create_column_family("other", family.clone()), kind, feature);
            let other = MemoryFileSystem::new();
            refusal(Db::open_cf("/db", options(&other), vec![("default".to_owned(), family)]), kind, feature);
            assert!(!other.exists(Path::new("/db/CURRENT")).unwrap());
        }
        refusal(db.set_options_cf(&default, &[("compression", kind.option_name())]), kind, feature);
    }
    // All else works.
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    assert_eq!(&*db.get(b"key").unwrap().unwrap(), b"value");
}

/// A block of a type that is left out, in a table that was whole when it was written: its trailer says so.
#[test]
fn blocks_of_a_codec_are_refused() {
    use ferrock_base::checksum::ChecksumType;
    for (kind, feature) in LEFT_OUT {
        let files = MemoryFileSystem::new();
        let mut family = ColumnFamilyOptions::default();
        family.table.checksum = ChecksumType::NoChecksum;
        let open = || Db::open_cf("/db", options(&files), vec![("default".to_owned(), family.clone())]).unwrap().0;
        let db = open();
        db.put(b"key", b"value").unwrap();
        db.flush().unwrap();
        let table = db.live_files().first().unwrap().number;
        db.close().unwrap();
        let path = format!("/db/{table:06}.sst");
        let mut bytes = ferrock_vfs::read_file(&files, Path::new(&path)).unwrap();
        // The first block of a table is a data block; the type is the first byte behind it.
        let end = bytes.windows(5).position(|five| five == b"value").unwrap();
        let trailer = end + 5 + 8;
        assert_eq!(bytes[trailer], 0);
        bytes[trailer] = kind.as_u8();
        ferrock_vfs::write_file_synced(&files, Path::new(&path), &bytes).unwrap();
        let db = open();
        refusal(db.get(b"key"), kind, feature);
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek_to_first();
        assert!(!iter.valid());
        refusal(iter.status(), kind, feature);
    }
}
