//! Tables are read again before they replace what they were made from: `paranoid_file_checks`, `verify_output_flags`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;

use common::{contents, key, open_default, options_on};
use ferrock::{ColumnFamilyOptions, Db, ErrorKind, ReadOptions};
use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger};
use std::sync::Arc;

/// Bits of `verify_output_flags`.
const CHECKSUMS: &str = "1025";
const ENTRIES: &str = "1026";
const WITHOUT_PLACE: &str = "3";

fn open(files: &FaultInjectionFileSystem, option: (&str, &str)) -> Db {
    let mut family = ColumnFamilyOptions::default();
    family.compression = ferrock::options::CompressionType::NoCompression;
    family.disable_auto_compactions = true;
    assert!(family.settings.set(option.0, option.1).unwrap());
    open_default(options_on(Arc::new(files.clone())), family)
}

fn fill(db: &Db, keys: std::ops::Range<u64>) {
    keys.for_each(|number| db.put(&key(number), &[7; 200]).unwrap());
}

/// A bit of the next table changes on its way to the file, within the data blocks.
fn break_next_table(files: &FaultInjectionFileSystem) {
    files.add_rule(FaultRule::new(OperationKind::Append, "*.sst", Fault::BitFlip { seed: 1 }).when(Trigger::Nth(1)));
}

fn tables(files: &FaultInjectionFileSystem) -> usize {
    let names = files.children("/db".as_ref()).unwrap();
    names.iter().filter(|name| name.ends_with(".sst")).count()
}

#[test]
fn a_flush_does_not_install_what_differs() {
    for (paranoid, is_found) in [("false", false), ("true", true)] {
        let files = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
        let db = open(&files, ("paranoid_file_checks", paranoid));
        fill(&db, 0..2000);
        break_next_table(&files);
        let flushed = db.flush();
        let Err(error) = flushed else {
            assert!(!is_found, "{paranoid}");
            assert_eq!((db.live_files().len(), tables(&files)), (1, 1));
            continue;
        };
        assert!(is_found && error.kind() == ErrorKind::Corruption, "{error}");
        assert!(error.to_string().contains(".sst"), "{error}");
        assert_eq!((db.live_files().len(), tables(&files)), (0, 0), "nothing is left");
        // All is still in memory and in the log.
        assert_eq!(contents(&db, &ReadOptions::default()).len(), 2000);
        drop(db);
        let db = open(&files, ("paranoid_file_checks", paranoid));
        assert_eq!(contents(&db, &ReadOptions::default()).len(), 2000);
    }
}

#[test]
fn a_compaction_does_not_install_what_differs() {
    for (option, is_found) in [
        (("verify_output_flags", "0"), false),
        (("verify_output_flags", WITHOUT_PLACE), false),
        (("verify_output_flags", CHECKSUMS), true),
        (("verify_output_flags", ENTRIES), true),
        (("verify_output_flags", "4294967295"), true),
        (("paranoid_file_checks", "true"), true),
    ] {
        let files = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
        let db = open(&files, option);
        fill(&db, 0..2000);
        db.flush().unwrap();
        fill(&db, 1000..3000);
        db.flush().unwrap();
        break_next_table(&files);
        let compacted = db.compact_range(None, None);
        assert_eq!(compacted.is_err(), is_found, "{option:?}: {compacted:?}");
        if is_found {
            assert_eq!(compacted.unwrap_err().kind(), ErrorKind::Corruption);
            let levels: Vec<_> = db.live_files().iter().map(|file| file.level).collect();
            assert_eq!((levels, tables(&files)), (vec![0, 0], 2), "{option:?}: the inputs stay, and nothing else");
            assert_eq!(contents(&db, &ReadOptions::default()).len(), 3000);
        } else {
            // Only a reader finds it.
            let mut iter = db.iter(&ReadOptions::default());
            iter.seek_to_first();
            while iter.valid() {
                iter.next();
            }
            assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::Corruption);
        }
    }
}

#[test]
fn both_options_change_while_the_database_is_open() {
    let files = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
    let db = open(&files, ("paranoid_file_checks", "false"));
    let family = db.default_column_family().unwrap();
    db.set_options_cf(&family, &[("verify_output_flags", ENTRIES)]).unwrap();
    for _ in 0..2 {
        fill(&db, 0..2000);
        db.flush().unwrap();
    }
    break_next_table(&files);
    assert_eq!(db.compact_range(None, None).unwrap_err().kind(), ErrorKind::Corruption);
    drop(db);
    let db = open(&files, ("verify_output_flags", "0"));
    let family = db.default_column_family().unwrap();
    db.set_options_cf(&family, &[("paranoid_file_checks", "true")]).unwrap();
    fill(&db, 0..2000);
    break_next_table(&files);
    assert_eq!(db.flush().unwrap_err().kind(), ErrorKind::Corruption);
}
