//! Headers of records in a log: one that was changed costs its own record, or the rest of a block, and is told.

use super::world::{PATH, World, contents_at, db_options, descriptors, examine, repair};
use ferrock::{Db, FileKind, WriteOptions};
use ferrock_base::FileNumber;
use ferrock_format::file_name;
use ferrock_format::log::{
    BLOCK_SIZE_BYTES, HeaderFamily, LogEvent, LogReader, LogWriter, SliceSource, WalRecoveryMode,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::path::{Path, PathBuf};

const RECORDS: u64 = 120;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:03}").into_bytes()
}

/// A closed database with a record of about a kilobyte for each key, all in one log, and the log.
fn of_one_log() -> (MemoryFileSystem, PathBuf, FileNumber) {
    let files = MemoryFileSystem::new();
    files.create_dir_all(Path::new("/data")).unwrap();
    files.sync_dir(Path::new("/")).unwrap();
    let mut options = db_options(&files);
    (options.create_if_missing, options.create_missing_column_families) = (true, true);
    (options.avoid_flush_during_shutdown, options.avoid_flush_during_recovery) = (true, true);
    let (db, families) = Db::open_cf(PATH, options, descriptors()).unwrap();
    for number in 0..RECORDS {
        let value = vec![number as u8; 900 + number as usize];
        db.put_cf(&families[0], &key(number), &value, &WriteOptions::default()).unwrap();
    }
    db.sync_wal().unwrap();
    drop((db, families));
    let names = files.children(Path::new(PATH)).unwrap();
    let logs = names.iter().filter_map(|name| file_name::parse(name)).filter(|name| name.kind == FileKind::Log);
    let path_of = |number| Path::new(PATH).join(file_name::log(number));
    let numbers: Vec<FileNumber> = logs.map(|name| name.number).collect();
    let number = *numbers.iter().max_by_key(|number| files.file_size(&path_of(**number)).unwrap()).unwrap();
    (files, path_of(number), number)
}

/// The records of a log: where they begin, and their bytes. The first one says what came before.
fn records(bytes: &[u8], number: FileNumber) -> Vec<(usize, Vec<u8>)> {
    let mut reader = LogReader::new(SliceSource(bytes), number, WalRecoveryMode::AbsoluteConsistency);
    let (mut records, mut scratch) = (Vec::new(), Vec::new());
    while let LogEvent::Record { physical_offset, data } = reader.read_record(&mut scratch).unwrap() {
        records.push((physical_offset as usize, data.to_vec()));
    }
    records
}

/// The keys that a repair of the log with other bytes keeps, and whether the examination said that it is damaged.
fn kept(template: &MemoryFileSystem, log: &Path, bytes: &[u8]) -> (Vec<u64>, bool) {
    let files = template.crash_clone(ferrock_vfs::CrashPolicy::KeepAll);
    write_file_synced(&files, log, bytes).unwrap();
    let report = examine(&files);
    repair(&files).unwrap();
    let after: World = contents_at(&files, PATH).unwrap();
    let is_there = |number: &u64| after["default"].contains_key(&key(*number));
    ((0..RECORDS).filter(is_there).collect(), report.is_damaged())
}

/// Flips each of `bits` in the header of some records; at most the record and, where its length or its checksum was
/// hit, the rest of its block are lost, and something is said.
fn flip(bytes: &[u8], number: FileNumber, bits: std::ops::Range<usize>, costs_one: impl Fn(usize, usize) -> bool) {
    let (template, log, _) = of_one_log();
    let records = records(bytes, number);
    assert_eq!(records.len() as u64, RECORDS + 1);
    // That of the beginning, the first with a key, one across two blocks, and one amid others.
    let block_of = |at: usize| at / BLOCK_SIZE_BYTES;
    let across = (1..records.len() - 1).find(|at| block_of(records[*at].0) != block_of(records[at + 1].0)).unwrap();
    for record in [0, 1, across, 70] {
        let (offset, _) = records[record];
        let end = records[record + 1].0;
        for bit in bits.clone() {
            let mut changed = bytes.to_vec();
            changed[offset + bit / 8] ^= 1 << (bit % 8);
            let (kept, is_told) = kept(&template, &log, &changed);
            let may_go = |key: u64| {
                let at = records[key as usize + 1].0;
                let is_behind_in_block = at >= offset && block_of(at) <= block_of(end.max(offset));
                if costs_one(record, bit) { key as usize + 1 == record } else { is_behind_in_block }
            };
            let lost: Vec<u64> = (0..RECORDS).filter(|key| !kept.contains(key)).collect();
            assert!(is_told, "bit {bit} of the header of record {record}");
            assert!(
                lost.iter().all(|key| may_go(*key)),
                "bit {bit} of the header of record {record}: {lost:?} are lost"
            );
        }
    }
}

#[test]
fn a_changed_header_costs_its_record_or_the_rest_of_its_block() {
    let (files, log, number) = of_one_log();
    let bytes = read_file(&files, &log).unwrap();
    // With either of these bits the type of the first record says that a number follows, which is not that of the log.
    flip(&bytes, number, 0..56, |record, bit| record == 0 && (bit == 50 || bit == 55));
}

#[test]
fn a_changed_number_in_a_recycled_log_costs_its_record() {
    let (files, log, number) = of_one_log();
    let plain = records(&read_file(&files, &log).unwrap(), number);
    let write = |number: FileNumber, more: &[u8]| {
        let (mut writer, mut bytes) = (LogWriter::new(number, HeaderFamily::Recyclable), Vec::new());
        plain.iter().for_each(|(_, data)| writer.encode_record(&[data, more], &mut bytes));
        bytes
    };
    let mut bytes = write(number, b"");
    let sound = kept(&files, &log, &bytes);
    assert_eq!((sound.0.len() as u64, sound.1), (RECORDS, false));
    // An earlier use of the file, longer than this one, whose values look like records of other logs.
    let earlier = write(FileNumber(number.0 - 1), b"longer than it was before");
    bytes.extend_from_slice(&earlier[bytes.len()..]);
    let sound = kept(&files, &log, &bytes);
    assert_eq!((sound.0.len() as u64, sound.1), (RECORDS, false), "the end of a recycled log is no damage");
    flip(&bytes, number, 56..88, |_, _| true);
}
