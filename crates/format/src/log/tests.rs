use super::*;
use crate::compression::zstd_frame_compress;
use ferrock_base::checksum::{crc32c, mask_crc};
use proptest::prelude::*;
use std::borrow::Cow;

const TOLERATE: WalRecoveryMode = WalRecoveryMode::TolerateCorruptedTailRecords;
const ABSOLUTE: WalRecoveryMode = WalRecoveryMode::AbsoluteConsistency;
const POINT_IN_TIME: WalRecoveryMode = WalRecoveryMode::PointInTimeRecovery;
const SKIP_ANY: WalRecoveryMode = WalRecoveryMode::SkipAnyCorruptedRecords;

/// `Put("k1", "v1")`, the first write of a database, as RocksDB logged it.
const FIRST_WRITE: &[u8] = b"\x0f\x0a\xef\x62\x13\x00\x01\x01\0\0\0\0\0\0\0\x01\0\0\0\x01\x02k1\x02v1";

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Record(Vec<u8>),
    Corruption(String),
    OldRecord,
}

/// Everything up to the end of the log.
fn read_all(log: &[u8], number: u64, mode: WalRecoveryMode) -> Vec<Seen> {
    let mut reader = LogReader::new(SliceSource(log), FileNumber(number), mode);
    let mut scratch = Vec::new();
    let mut seen = Vec::new();
    loop {
        match reader.read_record(&mut scratch).unwrap() {
            LogEvent::Record { data, .. } => seen.push(Seen::Record(data.to_vec())),
            LogEvent::Corruption { what, .. } => seen.push(Seen::Corruption(what.into_owned())),
            LogEvent::OldRecord { .. } => {
                seen.push(Seen::OldRecord);
                return seen;
            }
            LogEvent::End => return seen,
        }
        assert!(seen.len() <= log.len() / LEGACY_HEADER_SIZE_BYTES + 3, "the reader does not advance");
    }
}

fn write_all(number: u64, family: HeaderFamily, records: &[&[u8]]) -> Vec<u8> {
    let mut writer = LogWriter::new(FileNumber(number), family);
    let mut out = Vec::new();
    for record in records {
        writer.encode_record(&[record], &mut out);
        assert_eq!(writer.block_offset(), out.len() % BLOCK_SIZE_BYTES);
    }
    out
}

#[test]
fn a_record_takes_what_is_reckoned_for_it() {
    let block = BLOCK_SIZE_BYTES - LEGACY_HEADER_SIZE_BYTES;
    for size in [0, 1, block - 1, block, block + 1, 3 * block, 3 * block + 1, 100_000] {
        assert_eq!(write_all(3, HeaderFamily::Legacy, &[&vec![1; size]]).len(), legacy_size_bytes(size), "{size}");
    }
}

fn record(data: &[u8]) -> Seen {
    Seen::Record(data.to_vec())
}

fn damage(what: &str) -> Seen {
    Seen::Corruption(what.to_owned())
}

/// A physical record of any type.
fn raw_record(kind: u8, log_number: Option<u32>, payload: &[u8]) -> Vec<u8> {
    let mut covered = vec![kind];
    covered.extend(log_number.iter().flat_map(|number| number.to_le_bytes()));
    covered.extend_from_slice(payload);
    let mut out = mask_crc(crc32c(&covered)).to_le_bytes().to_vec();
    out.extend_from_slice(&(payload.len() as u16).to_le_bytes());
    out.extend(covered);
    out
}

#[test]
fn the_first_write_has_rocksdbs_bytes() {
    assert_eq!(write_all(4, HeaderFamily::Legacy, &[&FIRST_WRITE[7..]]), FIRST_WRITE);
    for mode in WalRecoveryMode::ALL {
        assert_eq!(read_all(FIRST_WRITE, 4, mode), [record(&FIRST_WRITE[7..])]);
    }
}

#[test]
fn a_recycled_record_has_rocksdbs_bytes() {
    let payload = b"\xc9\0\0\0\0\0\0\0\x01\0\0\0\x01\x04last\x03one";
    let mut expected = b"\xd9\x69\x09\xbe\x16\x00\x05\x0e\0\0\0".to_vec();
    expected.extend_from_slice(payload);
    assert_eq!(write_all(14, HeaderFamily::Recyclable, &[payload]), expected);
    assert_eq!(read_all(&expected, 14, POINT_IN_TIME), [record(payload)]);
    // Only the low half of the number is stored.
    assert_eq!(read_all(&expected, (7 << 32) + 14, POINT_IN_TIME), [record(payload)]);
}

#[test]
fn special_records_have_rocksdbs_bytes() {
    let mut writer = LogWriter::new(FileNumber(12), HeaderFamily::Legacy);
    let mut out = Vec::new();
    writer.encode_set_zstd_compression(&mut out);
    assert_eq!(out, b"\xe1\x2c\x08\xf8\x04\x00\x09\x07\0\0\0");
    let info = PredecessorWalInfo { log_number: FileNumber(10), size_bytes: 0x37, last_sequence: SequenceNumber(4) };
    writer.encode_predecessor(&info, &mut out);
    assert_eq!(&out[11..], b"\x21\xb1\x45\x0c\x18\x00\x82\x0a\0\0\0\0\0\0\0\x37\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0");
    let sizes = [TimestampSize { column_family: 0, size_bytes: 8 }];
    let start = out.len();
    writer.encode_timestamp_sizes(&sizes, &mut out).unwrap();
    assert_eq!(&out[start..], b"\xda\x5a\xb0\xbc\x06\x00\x0a\0\0\0\0\x08\x00");
    assert!(writer.encode_timestamp_sizes(&[TimestampSize { column_family: 1, size_bytes: 0 }], &mut out).is_err());

    let mut reader = LogReader::new(SliceSource(&out), FileNumber(12), ABSOLUTE);
    assert_eq!(reader.read_record(&mut Vec::new()).unwrap(), LogEvent::End);
    assert!(reader.is_compressed() && !reader.is_recyclable());
    assert_eq!((reader.predecessor(), reader.timestamp_sizes()), (Some(info), &sizes[..]));
}

#[test]
fn compressed_logs_round_trip() {
    let large: Vec<u8> = (0..200_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let records: [&[u8]; 4] = [b"one", b"", &large, b"last"];
    let mut writer = LogWriter::new(FileNumber(4), HeaderFamily::Recyclable);
    let mut log = Vec::new();
    writer.encode_set_zstd_compression(&mut log);
    for plain in records {
        let mut frame = Vec::new();
        if !plain.is_empty() {
            zstd_frame_compress(plain, &mut frame).unwrap();
        }
        writer.encode_compressed_record(&frame, &mut log);
    }
    let expected: Vec<_> = records.into_iter().map(record).collect();
    assert_eq!(read_all(&log, 4, POINT_IN_TIME), expected);
    // A frame over the limit is damage, not memory.
    let mut reader = LogReader::new(SliceSource(&log), FileNumber(4), ABSOLUTE).with_record_limit(2);
    assert!(matches!(reader.read_record(&mut Vec::new()).unwrap(), LogEvent::Corruption { .. }));
    assert_eq!(reader.last_record_end(), 0);
}

/// RocksDB 7.8 would take the second for the first.
#[test]
fn no_two_fragments_of_a_compressed_record_begin_at_the_same_place_of_a_block() {
    let block = BLOCK_SIZE_BYTES;
    for family in [HeaderFamily::Legacy, HeaderFamily::Recyclable] {
        for offset in
            [0, 1, 11, 61, 5000, block - 40, block - 12, block - 11, block - 8, block - 7, block - 6, block - 1]
        {
            for size in [0, 1, 31, 33, block - 50, block - 11, block - 7, block, 2 * block - 14, 3 * block, 200_000] {
                let mut writer = LogWriter::resume(FileNumber(4), family, offset as u64);
                let mut out = vec![0; offset];
                writer.encode_compressed_record(&vec![7; size], &mut out);
                assert_eq!(writer.block_offset(), out.len() % block);
                let header_size = if family == HeaderFamily::Legacy {
                    LEGACY_HEADER_SIZE_BYTES
                } else {
                    RECYCLABLE_HEADER_SIZE_BYTES
                };
                let (mut at, mut places, mut kinds, mut bytes) = (offset, Vec::new(), Vec::new(), 0);
                while at < out.len() {
                    if block - at % block < header_size {
                        at = at.next_multiple_of(block);
                        continue;
                    }
                    let length = usize::from(u16::from_le_bytes([out[at + 4], out[at + 5]]));
                    assert!(at % block + header_size + length <= block, "a fragment spans blocks");
                    places.push(at % block);
                    kinds.push(out[at + 6] - if family == HeaderFamily::Legacy { 0 } else { 4 });
                    (at, bytes) = (at + header_size + length, bytes + length);
                }
                assert_eq!(bytes, size);
                assert!(places.windows(2).all(|pair| pair[0] != pair[1]), "{size} bytes at {offset}: {places:?}");
                let middle = kinds.len().saturating_sub(2);
                let expected = if kinds.len() == 1 { vec![1] } else { [vec![2], vec![3; middle], vec![4]].concat() };
                assert_eq!(kinds, expected, "{size} bytes at {offset}");
            }
        }
    }
}

#[test]
fn special_records_out_of_place_are_reported() {
    let compression = raw_record(9, None, &7u32.to_le_bytes());
    let data = raw_record(1, None, b"data");
    let after = "SetCompression is not the first record";
    assert_eq!(read_all(&[data.clone(), compression.clone()].concat(), 1, SKIP_ANY), [record(b"data"), damage(after)]);
    let twice = "more than one SetCompression record";
    assert_eq!(read_all(&[compression.clone(), compression].concat(), 1, SKIP_ANY), [damage(twice)]);
    for (kind, payload) in [
        (9, &b"\x04\0\0\0"[..]),
        (9, b"\x07\0\0\0\0"),
        (10, b"12345"),
        (10, b"\0\0\0\0\0\0"),
        (10, b"\0\0\0\0\x08\0\0\0\0\0\x08\0"),
        (130, b"1234567890123456789012345"),
        (130, b"12345678901234567890123"),
    ] {
        let seen = read_all(&[raw_record(kind, None, payload), data.clone()].concat(), 1, SKIP_ANY);
        assert!(matches!(seen[..], [Seen::Corruption(_), Seen::Record(_)]), "{kind} {payload:?}: {seen:?}");
    }
}

#[test]
fn unknown_types_are_skipped_or_reported() {
    let (data, first) = (raw_record(1, None, b"data"), raw_record(2, None, b"first"));
    let log = [raw_record(50, None, b"x"), data.clone()].concat();
    assert_eq!(read_all(&log, 1, ABSOLUTE), [damage("unknown record type 50"), record(b"data")]);
    let log = [first, raw_record(200, None, b"x"), data].concat();
    assert_eq!(read_all(&log, 1, ABSOLUTE), [record(b"data")]);
}

#[test]
fn fragments_without_a_partner_are_reported() {
    let (first, middle, last) = (raw_record(2, None, b"1"), raw_record(3, None, b"2"), raw_record(4, None, b"3"));
    let empty_first = raw_record(2, None, b"");
    let log = [middle, last, first.clone(), first, raw_record(4, None, b"4"), empty_first, raw_record(1, None, b"5")];
    let orphan = "missing start of fragmented record";
    let cut = "partial record without end";
    let expected = [damage(orphan), damage(orphan), damage(cut), record(b"14"), record(b"5")];
    assert_eq!(read_all(&log.concat(), 1, SKIP_ANY), expected);
}

#[test]
fn every_record_size_near_a_block_end_round_trips() {
    for family in [HeaderFamily::Legacy, HeaderFamily::Recyclable] {
        let header = if family == HeaderFamily::Legacy { 7 } else { 11 };
        for size in BLOCK_SIZE_BYTES - 2 * header - 14..BLOCK_SIZE_BYTES + 3 {
            let big = vec![b'x'; size];
            let log = write_all(9, family, &[&big, b"", b"tail", &big]);
            let expected = [record(&big), record(b""), record(b"tail"), record(&big)];
            assert_eq!(read_all(&log, 9, ABSOLUTE), expected, "{family:?} {size}");
        }
    }
}

#[test]
fn a_writer_resumes_where_a_reader_stopped() {
    let big = vec![7; 40_000];
    let mut log = write_all(0, HeaderFamily::Legacy, &[b"one", &big]);
    let end = log.len() as u64;
    log.extend_from_slice(&[1, 2, 3]);
    let mut reader = LogReader::manifest(SliceSource(&log));
    let mut scratch = Vec::new();
    while reader.read_record(&mut scratch).unwrap() != LogEvent::End {}
    assert_eq!(reader.last_record_end(), end);
    log.truncate(end as usize);
    LogWriter::resume(FileNumber(0), HeaderFamily::Legacy, end).encode_record(&[b"tw", b"", b"o"], &mut log);
    assert_eq!(read_all(&log, 0, ABSOLUTE), [record(b"one"), record(&big), record(b"two")]);
}

#[test]
fn torn_ends_follow_the_recovery_mode() {
    let big = vec![7; 40_000];
    let log = write_all(3, HeaderFamily::Legacy, &[b"one", b"two"]);
    let fragmented = write_all(3, HeaderFamily::Legacy, &[b"one", &big]);
    let cases: [(&[u8], &str); 4] = [
        (&log[..log.len() - 1], "truncated record body"),
        (&log[..14], "truncated header"),
        (&fragmented[..BLOCK_SIZE_BYTES], "error reading trailing data"),
        (&fragmented[..BLOCK_SIZE_BYTES + 100], "truncated record body"),
    ];
    for (torn, what) in cases {
        for mode in [TOLERATE, SKIP_ANY] {
            assert_eq!(read_all(torn, 3, mode), [record(b"one")], "{what} {mode:?}");
        }
        for mode in [ABSOLUTE, POINT_IN_TIME] {
            assert_eq!(read_all(torn, 3, mode), [record(b"one"), damage(what)], "{mode:?}");
        }
    }
}

#[test]
fn a_flipped_bit_loses_the_rest_of_the_block() {
    let big = vec![7; BLOCK_SIZE_BYTES];
    let mut log = write_all(3, HeaderFamily::Legacy, &[b"one", b"two", &big, b"after"]);
    log[12] ^= 1;
    let orphan = damage("missing start of fragmented record");
    for mode in WalRecoveryMode::ALL {
        let expected = [record(b"one"), damage("checksum mismatch"), record(b"after")];
        let seen: Vec<_> = read_all(&log, 3, mode).into_iter().filter(|seen| *seen != orphan).collect();
        assert_eq!(seen, expected, "{mode:?}");
    }
}

#[test]
fn preallocated_zeros_end_a_log() {
    for family in [HeaderFamily::Legacy, HeaderFamily::Recyclable] {
        for zeros in [7, 100, 4096, 100_000] {
            let mut log = write_all(3, family, &[b"one"]);
            log.resize(log.len() + zeros, 0);
            for mode in WalRecoveryMode::ALL {
                let seen = read_all(&log, 3, mode);
                assert_eq!(seen[0], record(b"one"));
                let torn = log.len() % BLOCK_SIZE_BYTES < 7 && log.len() > BLOCK_SIZE_BYTES;
                assert!(seen.len() == 1 || torn, "{family:?} {zeros} {mode:?}: {seen:?}");
            }
        }
    }
}

#[test]
fn zeros_to_the_end_of_the_file_are_a_torn_end() {
    let log = write_all(3, HeaderFamily::Legacy, &[b"one", &vec![7; 100_000]]);
    for zeros in [4096, BLOCK_SIZE_BYTES, 100_000] {
        // The first fragment and a part of the second got there.
        let mut torn = log[..BLOCK_SIZE_BYTES].to_vec();
        torn.resize(torn.len() + zeros, 0);
        for mode in [TOLERATE, SKIP_ANY] {
            assert_eq!(read_all(&torn, 3, mode), [record(b"one")], "{zeros} {mode:?}");
        }
        for mode in [ABSOLUTE, POINT_IN_TIME] {
            let expected = [record(b"one"), damage("error reading trailing data")];
            assert_eq!(read_all(&torn, 3, mode), expected, "{zeros} {mode:?}");
        }
        let mut source = SliceSource(&torn);
        let mut manifest = LogReader::manifest(&mut source);
        let mut scratch = Vec::new();
        assert!(matches!(manifest.read_record(&mut scratch).unwrap(), LogEvent::Record { .. }));
        assert!(
            matches!(manifest.read_record(&mut scratch).unwrap(), LogEvent::Corruption { .. }),
            "no space is reserved"
        );
        // Something behind the zeros: they are a hole.
        torn.resize(torn.len().next_multiple_of(BLOCK_SIZE_BYTES), 0);
        torn.extend(write_all(3, HeaderFamily::Legacy, &[b"behind"]));
        for mode in WalRecoveryMode::ALL {
            let expected = [record(b"one"), damage("error in middle of record"), record(b"behind")];
            assert_eq!(read_all(&torn, 3, mode), expected, "{zeros} {mode:?}");
        }
    }
}

#[test]
fn a_recycled_tail_ends_a_log() {
    let old = write_all(3, HeaderFamily::Recyclable, &[b"old1", b"old2", b"old3"]);
    let new = write_all(9, HeaderFamily::Recyclable, &[b"new1"]);
    let mut aligned = old.clone();
    aligned[..new.len()].copy_from_slice(&new);
    assert_eq!(read_all(&aligned, 9, POINT_IN_TIME), [record(b"new1"), Seen::OldRecord]);
    for mode in [TOLERATE, ABSOLUTE, SKIP_ANY] {
        assert_eq!(read_all(&aligned, 9, mode), [record(b"new1")], "{mode:?}");
    }

    let longer = write_all(9, HeaderFamily::Recyclable, &[b"new-1"]);
    let mut unaligned = old;
    unaligned[..longer.len()].copy_from_slice(&longer);
    assert_eq!(read_all(&unaligned, 9, TOLERATE), [record(b"new-1")]);
    let seen = read_all(&unaligned, 9, POINT_IN_TIME);
    assert!(matches!(&seen[..], [Seen::Record(_), Seen::Corruption(_)]), "{seen:?}");
}

#[test]
fn a_recycled_tail_inside_a_fragmented_record_is_reported() {
    let stale = write_all(3, HeaderFamily::Recyclable, &[&vec![1; 100_000]]);
    let fresh = write_all(9, HeaderFamily::Recyclable, &[b"one", &vec![2; 50_000]]);
    let mut log = stale;
    log[..BLOCK_SIZE_BYTES].copy_from_slice(&fresh[..BLOCK_SIZE_BYTES]);
    assert_eq!(read_all(&log, 9, TOLERATE), [record(b"one")]);
    for mode in [ABSOLUTE, POINT_IN_TIME] {
        assert_eq!(read_all(&log, 9, mode), [record(b"one"), damage("error reading trailing data")]);
    }
}

#[test]
fn mixed_headers_do_not_hang_the_reader() {
    let log = [raw_record(1, None, b"legacy"), raw_record(5, Some(3), b"new"), raw_record(5, Some(3), b"newer")];
    let expected = [record(b"legacy"), damage("recyclable record after a legacy one")];
    for mode in WalRecoveryMode::ALL {
        assert_eq!(read_all(&log.concat(), 3, mode), expected);
    }
}

#[test]
fn events_say_where() {
    let mut log = write_all(3, HeaderFamily::Legacy, &[b"one", b"two", b"three"]);
    log[17] ^= 1;
    let mut reader = LogReader::new(SliceSource(&log), FileNumber(3), POINT_IN_TIME);
    let mut scratch = Vec::new();
    assert_eq!(reader.read_record(&mut scratch).unwrap(), LogEvent::Record { physical_offset: 0, data: b"one" });
    let what = Cow::Borrowed("checksum mismatch");
    let expected = LogEvent::Corruption { offset: 10, bytes_dropped: 22, what };
    assert_eq!(reader.read_record(&mut scratch).unwrap(), expected);
}

#[test]
fn mode_names() {
    for mode in WalRecoveryMode::ALL {
        assert_eq!(mode.option_name().parse::<WalRecoveryMode>().unwrap(), mode);
        assert_eq!(mode.name().parse::<WalRecoveryMode>().unwrap(), mode);
    }
    assert!("none".parse::<WalRecoveryMode>().unwrap_err().to_string().contains("point_in_time"));
}

#[test]
fn damage_anywhere_loses_records_but_invents_none() {
    let big = vec![7; 33_000];
    for family in [HeaderFamily::Legacy, HeaderFamily::Recyclable] {
        let written: [&[u8]; 5] = [b"one", b"two", &big, b"", b"tail"];
        let log = write_all(3, family, &written);
        // Every byte near the headers, some of the long payload.
        let places = (0..60).chain((60..log.len() - 400).step_by(997)).chain(log.len() - 400..log.len());
        for place in places {
            for flip in [0x01, 0x80, 0xff] {
                let mut bad = log.clone();
                bad[place] ^= flip;
                for mode in WalRecoveryMode::ALL {
                    let seen = read_all(&bad, 3, mode);
                    for one in &seen {
                        if let Seen::Record(data) = one {
                            assert!(written.contains(&data.as_slice()), "{place}");
                        }
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn logs_round_trip(
        records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 0..30),
        scale in 1usize..40,
        recyclable in any::<bool>(),
    ) {
        let records: Vec<Vec<u8>> = records.iter().map(|record| record.repeat(scale)).collect();
        let family = if recyclable { HeaderFamily::Recyclable } else { HeaderFamily::Legacy };
        let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let log = write_all(5, family, &slices);
        let expected: Vec<_> = slices.iter().map(|data| record(data)).collect();
        prop_assert_eq!(read_all(&log, 5, ABSOLUTE), expected);
    }

    #[test]
    fn any_bytes_are_read_to_their_end(pieces in prop::collection::vec((0u8..12, prop::collection::vec(any::<u8>(), 0..20)), 0..30)) {
        let log: Vec<u8> = pieces.iter().flat_map(|(kind, payload)| match kind {
            0 => payload.clone(),
            kind => raw_record(*kind, (*kind > 4 && *kind < 9 || *kind == 11).then_some(1), payload),
        }).collect();
        for mode in WalRecoveryMode::ALL {
            read_all(&log, 1, mode);
        }
    }
}
