//! What is left out of a build is refused by name. The algorithms themselves are tested in `tests/compression.rs`.

use super::*;
use ferrock_base::ErrorKind;

/// In a build with all features only XPRESS; with `--no-default-features` all.
fn left_out() -> impl Iterator<Item = CompressionType> {
    CompressionType::ALL.into_iter().filter(|kind| !kind.is_supported())
}

#[test]
fn left_out_types_are_refused_by_name_wherever_they_are_met() {
    assert!(left_out().any(|kind| kind == CompressionType::Xpress));
    for kind in left_out() {
        let name = if kind == CompressionType::Xpress { "XPRESS" } else { kind.option_name() };
        let refusals = [
            kind.check_built().unwrap_err(),
            decompress(kind, b"\x01x", 5, None, 10).unwrap_err(),
            decompress(kind, b"\x01x", 0, None, 10).unwrap_err(),
            Compressor::new(kind, &CompressionOptions::default(), None).map(drop).unwrap_err(),
        ];
        for error in refusals {
            assert_eq!(error.kind(), ErrorKind::NotSupported);
            assert!(error.message().contains(name), "{error}");
            assert!(kind == CompressionType::Xpress || error.message().contains("build with the feature `"), "{error}");
        }
        assert_eq!(kind.if_built(), CompressionType::NoCompression);
        assert!(Dictionary::new(kind, *b"dictionary").is_ok(), "its bytes say nothing of the type");
    }
}

#[test]
#[cfg(not(feature = "zstd"))]
fn left_out_types_of_logs_are_refused_and_no_damage() {
    use crate::log::{HeaderFamily, LogReader, LogWriter, SliceSource, WalRecoveryMode};
    use ferrock_base::FileNumber;
    let number = FileNumber(4);
    let (mut writer, mut log) = (LogWriter::new(number, HeaderFamily::Recyclable), Vec::new());
    writer.encode_set_zstd_compression(&mut log);
    writer.encode_record(&[b"frame"], &mut log);
    let mut reader = LogReader::new(SliceSource(&log), number, WalRecoveryMode::PointInTimeRecovery);
    let error = reader.read_record(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(error.message().contains("build with the feature `zstd`"), "{error}");
}
