//! A MANIFEST whose checksums are right and whose tree is not: the open is refused, and nothing is deleted. (RocksDB
//! opens such a family empty and deletes its tables.)

use crate::check::turn;
use crate::sample::{DIRECTORY, Sample, build, families, options};
use ferrock::{Db, ErrorKind, FileNumber};
use ferrock_format::log::{HeaderFamily, LogWriter};
use ferrock_format::version_edit::{DeletedFile, NewFile, VersionEdit};
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file};
use std::collections::BTreeMap;
use std::path::Path;

fn contents(file_system: &MemoryFileSystem) -> BTreeMap<String, Vec<u8>> {
    let names = file_system.children(Path::new(DIRECTORY)).unwrap();
    let names = names.into_iter().filter(|name| !matches!(&name[..], "LOCK") && !name.starts_with("LOG"));
    names.map(|name| (name.clone(), read_file(file_system, &Path::new(DIRECTORY).join(&name)).unwrap())).collect()
}

/// Adds `edit` to the MANIFEST, opens in both ways, and returns the error.
fn refused(sample: &Sample, edit: &VersionEdit) -> ferrock::Error {
    let (name, content) = sample.named(|name| name.starts_with("MANIFEST")).pop().unwrap().clone();
    let mut content = content;
    let mut writer = LogWriter::resume(FileNumber(0), HeaderFamily::Legacy, content.len() as u64);
    writer.encode_record(&[&edit.encode()], &mut content);
    let file_system = sample.with(&name, &content);
    let before = contents(&file_system);
    let error = Db::open_cf(DIRECTORY, options(&file_system), families()).map(drop).unwrap_err();
    assert!(contents(&file_system) == before, "a refused open changed the directory");
    Db::open_read_only(DIRECTORY, options(&file_system), Some(families())).map(drop).unwrap_err();
    Db::open_with_latest_options(DIRECTORY, options(&file_system)).map(drop).unwrap_err();
    assert!(contents(&file_system) == before, "a refused open changed the directory");
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert!(error.to_string().contains(&name), "the MANIFEST is not named: {error}");
    error
}

/// The files of the default family as the database has them.
fn recorded_files(sample: &Sample) -> Vec<NewFile> {
    let file_system = sample.with("", &[]);
    let (db, _) = Db::open_read_only(DIRECTORY, options(&file_system), Some(families())).unwrap();
    let files = db.live_files().into_iter().filter(|file| file.column_family == "default");
    let key = |user: &[u8], sequence| {
        ferrock_base::internal_key::make_internal_key(user, sequence, ferrock_base::ValueType::Value)
    };
    let recorded = |file: ferrock::LiveFile| NewFile {
        level: file.level as u32,
        number: file.number,
        size_bytes: file.size_bytes,
        smallest: key(&file.smallest_user_key, file.largest_sequence),
        largest: key(&file.largest_user_key, file.smallest_sequence),
        smallest_seqno: file.smallest_sequence,
        largest_seqno: file.largest_sequence,
        epoch_number: Some(1),
        ..NewFile::default()
    };
    files.map(recorded).collect()
}

#[test]
fn overlapping_files_below_level_0_are_refused() {
    let _turn = turn();
    let sample = build();
    let files = recorded_files(&sample);
    let (deep, flat) = (files.iter().find(|file| file.level > 0).unwrap(), files.iter().find(|file| file.level == 0));
    let moved = NewFile { level: deep.level, ..flat.unwrap().clone() };
    let edit = VersionEdit {
        deleted_files: vec![DeletedFile { level: 0, number: moved.number }],
        new_files: vec![moved],
        ..VersionEdit::for_column_family(0)
    };
    let error = refused(&sample, &edit);
    assert!(error.to_string().contains("overlapping"), "{error}");
}

#[test]
fn files_of_one_epoch_that_overlap_in_level_0_are_refused() {
    let _turn = turn();
    let sample = build();
    let flat = recorded_files(&sample).into_iter().find(|file| file.level == 0).unwrap();
    let number = FileNumber(flat.number.0);
    let edit = VersionEdit {
        deleted_files: vec![DeletedFile { level: 0, number }],
        new_files: vec![
            NewFile { epoch_number: Some(7), ..flat.clone() },
            NewFile { epoch_number: Some(7), number: FileNumber(90_000), ..flat },
        ],
        ..VersionEdit::for_column_family(0)
    };
    let error = refused(&sample, &edit);
    assert!(error.to_string().contains("epoch"), "{error}");
}

#[test]
fn a_deleted_file_that_is_not_there_is_refused() {
    let _turn = turn();
    let sample = build();
    for level in [0, 3] {
        let edit = VersionEdit {
            deleted_files: vec![DeletedFile { level, number: FileNumber(4_711) }],
            ..VersionEdit::for_column_family(0)
        };
        let error = refused(&sample, &edit);
        assert!(error.to_string().contains("4711"), "{error}");
    }
}

#[test]
fn a_file_added_twice_is_refused() {
    let _turn = turn();
    let sample = build();
    let again = recorded_files(&sample).into_iter().find(|file| file.level == 0).unwrap();
    let edit = VersionEdit { new_files: vec![again], ..VersionEdit::for_column_family(0) };
    refused(&sample, &edit);
}

#[test]
fn a_table_that_is_missing_is_named_and_nothing_is_deleted() {
    let _turn = turn();
    let sample = build();
    let (name, _) = sample.named(|name| name.ends_with(".sst"))[0].clone();
    let file_system = sample.with("", &[]);
    file_system.remove_file(&Path::new(DIRECTORY).join(&name)).unwrap();
    let before = contents(&file_system);
    let error = Db::open_cf(DIRECTORY, options(&file_system), families()).map(drop).unwrap_err();
    assert!(error.to_string().contains(&name), "{error}");
    assert!(contents(&file_system) == before);
}

#[test]
fn a_comparator_that_is_not_the_recorded_one_is_refused() {
    let _turn = turn();
    let sample = build();
    let file_system = sample.with("", &[]);
    let before = contents(&file_system);
    let mut families = families();
    families[1].1.comparator = ferrock::Comparator::default();
    let error = Db::open_cf(DIRECTORY, options(&file_system), families).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("ReverseBytewise"), "{error}");
    assert!(contents(&file_system) == before);
}
