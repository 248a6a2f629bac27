//! Texts that RocksDB 11.8.1 wrote, and what becomes of damaged ones.

use super::*;
use ferrock_base::ErrorKind;

const VERSION_1: &str = "1795818686
101
metadata 6170700A01
6
shared_checksum/000009_sF331XSPWCU7TM1MP1CJZ_2484.sst crc32 3998301522
shared_checksum/000010_1240311344_17062.blob crc32 1240311344
private/1/MANIFEST-000005 crc32 3701220219
private/1/CURRENT crc32 2659179228
private/1/OPTIONS-000007 crc32 3253957914
private/1/000008.log crc32 1152226836
";

const VERSION_2: &str = "schema_version 2.1
1795818686
102
2
shared_checksum/000012_s3ZG91Q9JK7UQJ5XY42FP_1286.sst crc32 771291283 temp kCold
private/2/000011.log crc32 0
shared_checksum/000009_s3ZG91Q9JK7UQJ5XY42FP_2484.sst ni::excluded true
";

fn error_of(text: &str) -> Error {
    BackupMeta::decode(text.as_bytes()).expect_err(text)
}

#[test]
fn texts_of_rocksdb_are_read_and_written_alike() {
    let meta = BackupMeta::decode(VERSION_1.as_bytes()).unwrap();
    assert_eq!((meta.unix_seconds, meta.sequence, meta.files.len()), (1_795_818_686, SequenceNumber(101), 6));
    assert_eq!(meta.app_metadata, b"app\n\x01");
    assert_eq!(meta.files[1].crc32c, Some(1_240_311_344));
    assert_eq!(String::from_utf8(meta.encode(1).unwrap()).unwrap(), VERSION_1);
    let meta = BackupMeta::decode(VERSION_2.as_bytes()).unwrap();
    assert_eq!(meta.files[0].temperature, Temperature::Cold);
    assert_eq!(meta.excluded, ["shared_checksum/000009_s3ZG91Q9JK7UQJ5XY42FP_2484.sst"]);
    assert_eq!(String::from_utf8(meta.encode(2).unwrap()).unwrap(), VERSION_2);
    assert_eq!(meta.encode(1).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(meta.encode(0).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(meta.encode(3).unwrap_err().kind(), ErrorKind::NotSupported);
}

#[test]
fn fields_of_later_releases_are_passed_over_unless_they_say_otherwise() {
    let text = "schema_version 2.7\n1\n2\nnew field\n1\nprivate/1/CURRENT size 16 newer x\n// FOOTER\nnewest thing\n";
    let meta = BackupMeta::decode(text.as_bytes()).unwrap();
    assert_eq!((meta.files[0].size_bytes, meta.files[0].crc32c), (Some(16), None));
    for text in [
        "schema_version 3\n1\n2\n0\n",
        "schema_version 2.1\n1\n2\nni::new field\n0\n",
        "schema_version 2.1\n1\n2\n1\nprivate/1/CURRENT ni::new x\n",
        "schema_version 2.1\n1\n2\n1\nprivate/1/CURRENT ni::excluded maybe\n",
        "schema_version 2.1\n1\n2\n0\n// FOOTER\nni::new thing\n",
    ] {
        assert_eq!(error_of(text).kind(), ErrorKind::NotSupported, "{text}");
    }
}

#[test]
fn damage_is_found_and_placed() {
    for (text, offset) in [
        ("", 0),
        ("1\n", 2),
        ("1\n2", 2),
        ("1\n2\n", 4),
        ("x\n2\n0\n", 0),
        ("18446744073709551615\n2\n0\n", 0),
        ("1\n-2\n0\n", 2),
        ("1\n2\n0x\n", 4),
        ("1\n\n0\n", 2),
        ("1\n2\nmetadata 6\n0\n", 4),
        ("1\n2\nmetadata xx\n0\n", 4),
        ("1\n2\nother 66\n0\n", 4),
        ("1\n2\n2\nprivate/1/CURRENT crc32 1\n", 32),
        ("1\n2\n0\nprivate/1/CURRENT crc32 1\n", 32),
        ("1\n2\n1\nprivate/1/CURRENT\n", 6),
        ("1\n2\n1\nprivate/1/CURRENT crc32\n", 6),
        ("1\n2\n1\nprivate/1/CURRENT crc32 4294967296\n", 6),
        ("1\n2\n1\nprivate/1/CURRENT crc32 1 size 2\n", 6),
        ("1\n2\n1\nprivate/../CURRENT crc32 1\n", 6),
        ("1\n2\n1\nprivate/1/CURRENT  crc32 1\n", 6),
    ] {
        let error = error_of(text);
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Corruption, Some(offset)), "{text:?}: {error}");
    }
}

#[test]
fn no_prefix_of_a_text_is_a_text() {
    for end in 0..VERSION_1.len() {
        let error = BackupMeta::decode(&VERSION_1.as_bytes()[..end]).expect_err("a cut text");
        assert_eq!(error.kind(), ErrorKind::Corruption, "{end}");
    }
}

#[test]
fn what_is_read_is_written_alike_whatever_byte_changes() {
    for text in [VERSION_1, VERSION_2] {
        for at in 0..text.len() {
            for byte in [0, b' ', b'\n', b'0', b'/', b'_', 0xFF] {
                let mut changed = text.as_bytes().to_vec();
                changed[at] = byte;
                let Ok(meta) = BackupMeta::decode(&changed) else { continue };
                let version = if text == VERSION_1 { 1 } else { 2 };
                let written = meta.encode(version).unwrap();
                assert_eq!(BackupMeta::decode(&written).unwrap(), meta);
            }
        }
    }
}
