//! Changes of the MANIFEST of a closed database, and a crash at every operation of one.

use super::common::{Contents, rows_of};
use super::world::{PATH, db_options};
use ferrock::repair::Surgery;
use ferrock::{ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ErrorKind, FileNumber, ReadOptions};
use ferrock_base::random::Random;
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem};
use std::path::Path;
use std::sync::{Arc, Mutex};

fn creating(files: &MemoryFileSystem) -> DbOptions {
    let mut options = db_options(files);
    (options.create_if_missing, options.create_missing_column_families) = (true, true);
    options
}

fn families(num_levels: i32) -> Vec<(String, ColumnFamilyOptions)> {
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.settings.num_levels = num_levels;
    ["default", "two"].map(|name| (name.to_owned(), family.clone())).into()
}

fn rows(files: &MemoryFileSystem, num_levels: i32) -> Vec<Contents> {
    let (db, handles) = Db::open_cf(PATH, db_options(files), families(num_levels)).unwrap();
    handles.iter().map(|family| rows_of(db.iter_cf(family, &ReadOptions::default()))).collect()
}

/// Tables of level 0 with keys of their own, and one key that is only in the log: what each table holds, newest first.
fn of_tables(count: usize, random: &mut Random) -> (MemoryFileSystem, Vec<(FileNumber, Contents)>) {
    let files = MemoryFileSystem::new();
    let (db, _) = Db::open_cf(PATH, creating(&files), families(7)).unwrap();
    let mut tables = Vec::new();
    for table in 0..count {
        let mut own = Contents::new();
        for row in 0..1 + random.below(20) {
            let (key, value) = (format!("{table} {row}").into_bytes(), vec![b'v'; random.below(50) as usize]);
            db.put(&key, &value).unwrap();
            own.insert(key, value);
        }
        db.flush().unwrap();
        tables.push((db.live_files().iter().map(|file| file.number).max().unwrap(), own));
    }
    db.put(b"log", b"1").unwrap();
    let (copy, _) = (files.crash_clone(CrashPolicy::KeepAll), drop(db));
    (copy, tables)
}

#[test]
fn a_table_leaves_with_what_it_holds_and_the_logs_stay() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let (files, tables) = of_tables(2 + random.below(5) as usize, &mut random);
        let chosen = random.below(tables.len() as u64) as usize;
        let expected = |without: Option<usize>| {
            let kept = tables.iter().enumerate().filter(|(index, _)| Some(*index) != without);
            let mut rows: Contents = kept.flat_map(|(_, (_, own))| own.clone()).collect();
            rows.insert(b"log".to_vec(), b"1".to_vec());
            rows
        };
        let surgery = Surgery::open(PATH, db_options(&files)).unwrap();
        let error = surgery.remove_table(FileNumber(999_999)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        let taken: Arc<Mutex<Vec<(String, MemoryFileSystem)>>> = Arc::default();
        let (handle, list) = (files.clone(), Arc::clone(&taken));
        files.set_operation_hook(Some(Arc::new(move |operation, line| {
            let torn = CrashPolicy::Torn { seed: operation, granularity_bytes: 512 };
            for policy in [CrashPolicy::KeepAll, CrashPolicy::KeepNothingUnsynced, torn] {
                list.lock().unwrap().push((format!("{line}, {policy:?}"), handle.crash_clone(policy)));
            }
        })));
        assert_eq!(surgery.remove_table(tables[chosen].0).unwrap(), ("default".to_owned(), 0));
        files.set_operation_hook(None);
        for (line, crashed) in std::mem::take(&mut *taken.lock().unwrap()) {
            let found = &rows(&crashed, 7)[0];
            let is_known = *found == expected(None) || *found == expected(Some(chosen));
            assert!(is_known, "seed {seed}, crash before {line}");
        }
        // It is durable, and another opener is kept out until the end.
        assert_eq!(rows(&files.crash_clone(CrashPolicy::KeepNothingUnsynced), 7)[0], expected(Some(chosen)));
        assert!(Db::open_cf(PATH, db_options(&files), families(7)).is_err());
        drop(surgery);
        assert_eq!(rows(&files, 7)[0], expected(Some(chosen)), "seed {seed}");
    }
}

#[test]
fn levels_are_reduced_where_one_level_is_left() {
    for levels in 2..7 {
        let (files, tables) = of_tables(4, &mut Random::new(levels));
        let levels = levels as usize;
        let all: Contents =
            tables.iter().flat_map(|(_, own)| own.clone()).chain([(b"log".to_vec(), b"1".to_vec())]).collect();
        let (db, _) = Db::open_cf(PATH, db_options(&files), families(7)).unwrap();
        db.compact_range_cf(&db.default_column_family().unwrap(), None, None, &CompactRangeOptions::default()).unwrap();
        drop(db);
        let error = Db::open_cf(PATH, db_options(&files), families(levels as i32)).map(drop).unwrap_err();
        assert!(error.to_string().contains("more levels"), "{error}");
        let surgery = Surgery::open(PATH, db_options(&files)).unwrap();
        assert_eq!(surgery.files()[0].levels_in_use(), 7);
        assert_eq!(surgery.reduce_levels("default", 1).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(surgery.reduce_levels("none", 3).unwrap_err().kind(), ErrorKind::InvalidArgument);
        surgery.reduce_levels("default", levels).unwrap();
        // The second family has nothing to move.
        surgery.reduce_levels("two", levels).unwrap();
        assert_eq!(surgery.files()[0].levels_in_use(), levels);
        drop(surgery);
        assert_eq!(rows(&files, levels as i32)[0], all);
    }
}

#[test]
fn a_look_takes_no_lock_and_changes_nothing() {
    let (files, tables) = of_tables(3, &mut Random::new(5));
    let before = files.operation_count();
    let surgery = Surgery::open_read_only(PATH, db_options(&files)).unwrap();
    let numbers: Vec<FileNumber> = surgery.files()[0].tables.iter().map(|table| table.number).collect();
    assert_eq!(numbers, tables.iter().rev().map(|(number, _)| *number).collect::<Vec<_>>());
    assert_eq!(surgery.remove_table(numbers[0]).unwrap_err().kind(), ErrorKind::NotSupported);
    assert_eq!(files.operation_count(), before);
    let nowhere = Surgery::open("/nowhere", db_options(&files)).map(drop).unwrap_err();
    assert!(nowhere.is_not_found() && !files.exists(Path::new("/nowhere")).unwrap(), "{nowhere}");
}
