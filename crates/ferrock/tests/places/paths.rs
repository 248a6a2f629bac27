//! Tables in several directories: each level in its own, found again, removed everywhere.

use super::{count, fill, names, options_in};
use ferrock::options::DbPath;
use ferrock::{ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ErrorKind, ReadOptions, WriteOptions};
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const DB: &str = "/db";

/// Levels 0 and 1 fit into the first directory, the others go to the second.
fn two_paths(first: &str, second: &str) -> Vec<DbPath> {
    vec![DbPath::new(first, 200 << 10), DbPath::new(second, u64::MAX)]
}

fn small_levels() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.write_buffer_size = 64 << 10;
    family.level0_file_num_compaction_trigger = 2;
    family.max_bytes_for_level_base = 64 << 10;
    family.max_bytes_for_level_multiplier = 4.0;
    family.target_file_size_base = 16 << 10;
    family.compression = ferrock::options::CompressionType::NoCompression;
    family
}

fn with_db_paths(file_system: &Arc<MemoryFileSystem>) -> DbOptions {
    let mut options = options_in(file_system);
    options.db_paths = two_paths("/fast/tables", "/slow/tables");
    options
}

fn open(options: DbOptions) -> ferrock::Result<Db> {
    Db::open_cf(DB, options, vec![("default".to_owned(), small_levels())]).map(|(db, _)| db)
}

fn fill_levels(db: &Db) {
    fill(db, 0..6000);
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
}

/// Rewrites everything, alone: beside a flush that runs, an obsolete table may stay until the next compaction.
fn leave_nothing_obsolete(db: &Db) {
    let mut options = CompactRangeOptions::default();
    options.exclusive_manual_compaction = true;
    options.bottommost_level_compaction = ferrock::options::BottommostLevelCompaction::Force;
    db.compact_range_cf(&db.default_column_family().unwrap(), None, None, &options).unwrap();
    db.wait_for_background_work().unwrap();
}

/// Every live table lies where it is said to, and no other table lies anywhere.
fn check_directories(db: &Db, file_system: &MemoryFileSystem, directories: &[&str]) {
    let mut live: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in db.live_files() {
        live.entry(file.directory.to_str().unwrap().to_owned()).or_default().push(format!("{:06}.sst", file.number.0));
    }
    live.values_mut().for_each(|names| names.sort());
    for directory in directories {
        let expected = live.remove(*directory).unwrap_or_default();
        assert_eq!(names(file_system, directory, ".sst"), expected, "{directory}");
    }
    assert!(live.is_empty(), "tables elsewhere: {live:?}");
}

#[test]
fn each_level_lies_in_its_directory() {
    let file_system = Arc::new(MemoryFileSystem::new());
    let directories = [DB, "/fast/tables", "/slow/tables"];
    let mut options = options_in(&file_system);
    options.db_paths = two_paths("/fast/tables", "/slow/tables");
    let db = open(options.clone()).unwrap();
    assert!(
        db.option_notes()
            .iter()
            .any(|note| note.contains("level_compaction_dynamic_level_bytes = true is not possible"))
    );
    fill_levels(&db);
    // Another table of level 0, which nothing compacts.
    db.set_options_cf(&db.default_column_family().unwrap(), &[("disable_auto_compactions", "true")]).unwrap();
    fill(&db, 0..100);
    db.flush().unwrap();
    let check = |db: &Db| {
        for file in db.live_files() {
            let expected = if file.level < 2 { "/fast/tables" } else { "/slow/tables" };
            assert_eq!(file.directory, Path::new(expected), "table {} of level {}", file.number.0, file.level);
        }
    };
    check(&db);
    assert!(db.live_files().iter().any(|file| file.level >= 2) && db.live_files().iter().any(|file| file.level < 2));
    drop(db);
    let db = open(options.clone()).unwrap();
    // Beside a flush that runs, an obsolete table may stay for a while; the open removed it.
    db.wait_for_background_work().unwrap();
    check_directories(&db, &file_system, &directories);
    assert_eq!(count(&db), 6000);
    fill_levels(&db);
    check(&db);
    drop(db);
    let (db, _) = Db::open_read_only(DB, options.clone(), Some(vec![("default".to_owned(), small_levels())])).unwrap();
    assert_eq!(count(&db), 6000);
    drop(db);
    Db::destroy(DB, &options).unwrap();
    for directory in directories {
        assert!(!file_system.exists(Path::new(directory)).unwrap(), "{directory}");
    }
}

#[test]
fn the_result_of_compact_range_goes_where_the_caller_says() {
    let file_system = Arc::new(MemoryFileSystem::new());
    let db = open(with_db_paths(&file_system)).unwrap();
    db.set_options_cf(&db.default_column_family().unwrap(), &[("disable_auto_compactions", "true")]).unwrap();
    for (target_path_id, directory) in [(0, "/fast/tables"), (1, "/slow/tables"), (0, "/fast/tables")] {
        fill(&db, 0..2000);
        let family = db.default_column_family().unwrap();
        let mut options = CompactRangeOptions::default();
        options.target_path_id = target_path_id;
        options.bottommost_level_compaction = ferrock::options::BottommostLevelCompaction::Force;
        db.compact_range_cf(&family, None, None, &options).unwrap();
        assert!(db.live_files().iter().all(|file| file.directory == Path::new(directory)), "{directory}");
        check_directories(&db, &file_system, &[DB, "/fast/tables", "/slow/tables"]);
    }
    let mut options = CompactRangeOptions::default();
    options.target_path_id = 2;
    let family = db.default_column_family().unwrap();
    let error = db.compact_range_cf(&family, None, None, &options).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains("target_path_id = 2"), "{error}");
}

#[test]
fn options_that_name_other_directories_are_refused() {
    let file_system = Arc::new(MemoryFileSystem::new());
    fill_levels(&open(with_db_paths(&file_system)).unwrap());
    let tables = |directory| names(&file_system, directory, ".sst");
    let before = (tables("/fast/tables"), tables("/slow/tables"));
    let wrong = [
        vec![],
        two_paths("/slow/tables", "/fast/tables"),
        two_paths("/fast/tables", "/elsewhere"),
        vec![DbPath::new("/fast/tables", 0)],
    ];
    for paths in wrong {
        for max_open_files in [-1, 20] {
            let mut options = with_db_paths(&file_system);
            options.max_open_files = max_open_files;
            options.db_paths.clone_from(&paths);
            let error = open(options.clone()).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains("db_paths"), "{error}");
            options.create_if_missing = false;
            let error = Db::open_read_only(DB, options, None).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains("db_paths"), "{error}");
        }
    }
    assert_eq!((tables("/fast/tables"), tables("/slow/tables")), before);
    // Brought into one directory, they are found there under any path id.
    for name in before.1 {
        file_system.rename(&Path::new("/slow/tables").join(&name), &Path::new("/fast/tables").join(&name)).unwrap();
    }
    let mut options = with_db_paths(&file_system);
    options.db_paths = vec![DbPath::new("/fast/tables", 0)];
    assert_eq!(count(&open(options).unwrap()), 6000);
}

#[test]
fn what_cannot_be_is_refused() {
    let file_system = Arc::new(MemoryFileSystem::new());
    let mut options = with_db_paths(&file_system);
    options.db_paths = (0..5).map(|number| DbPath::new(format!("/{number}"), 0)).collect();
    assert_eq!(open(options.clone()).unwrap_err().kind(), ErrorKind::NotSupported);
    options.db_paths = vec![DbPath::new("", 0)];
    assert_eq!(open(options.clone()).unwrap_err().kind(), ErrorKind::InvalidArgument);
    drop(Db::open("/other", options_in(&file_system)).unwrap());
    options.db_paths = two_paths("/fast", "/other");
    let error = open(options).unwrap_err();
    assert!(error.message().contains("directory of another database"), "{error}");
}

#[test]
fn families_have_directories_of_their_own() {
    let file_system = Arc::new(MemoryFileSystem::new());
    let mut other = small_levels();
    other.cf_paths = two_paths("/other/a", "/other/b");
    let directories = [DB, "/fast/tables", "/slow/tables", "/other/a", "/other/b"];
    let fill_other = |db: &Db| {
        let family = db.column_family("other").unwrap();
        for key in 0..4000u32 {
            db.put_cf(&family, &key.to_be_bytes(), &[b'o'; 100], &WriteOptions::default()).unwrap();
        }
        fill_levels(db);
        db.flush_cf(&family, &Default::default()).unwrap();
        db.wait_for_background_work().unwrap();
    };
    let db = open(with_db_paths(&file_system)).unwrap();
    db.create_column_family("other", other.clone()).unwrap();
    fill_other(&db);
    leave_nothing_obsolete(&db);
    check_directories(&db, &file_system, &directories);
    for file in db.live_files() {
        let is_other = file.directory.starts_with("/other");
        assert_eq!(is_other, file.column_family == "other", "{file:?}");
    }
    drop(db);
    let families = || vec![("default".to_owned(), small_levels()), ("other".to_owned(), other.clone())];
    let (db, handles) = Db::open_cf(DB, with_db_paths(&file_system), families()).unwrap();
    let mut iter = db.iter_cf(&handles[1], &ReadOptions::default());
    iter.seek_to_first();
    db.drop_column_family(&handles[1]).unwrap();
    drop(handles);
    // A reader of the dropped family holds its tables; then they go from their own directories.
    let mut read = 0;
    while iter.valid() {
        read += 1;
        iter.next();
    }
    iter.status().unwrap();
    assert_eq!(read, 4000);
    drop(iter);
    fill_levels(&db);
    leave_nothing_obsolete(&db);
    check_directories(&db, &file_system, &directories);
    assert_eq!(names(&file_system, "/other/a", ".sst"), [""; 0]);
    drop(db);
    let (db, _) = Db::open_cf(DB, with_db_paths(&file_system), vec![("default".to_owned(), small_levels())]).unwrap();
    db.create_column_family("other", other.clone()).unwrap();
    fill_other(&db);
    drop(db);
    Db::destroy_cf(DB, &with_db_paths(&file_system), &families()).unwrap();
    for directory in directories {
        assert!(!file_system.exists(Path::new(directory)).unwrap(), "{directory}");
    }
}

#[test]
fn a_power_failure_loses_no_table_that_the_manifest_names() {
    let file_system = Arc::new(MemoryFileSystem::new());
    let db = open(with_db_paths(&file_system)).unwrap();
    for round in 1..8 {
        fill(&db, 500 * (round - 1)..500 * round);
        db.flush().unwrap();
        db.wait_for_background_work().unwrap();
        for seed in 0..6 {
            let after = Arc::new(file_system.crash_clone(CrashPolicy::KeepSubset { seed }));
            let opened =
                open(with_db_paths(&after)).unwrap_or_else(|error| panic!("round {round} seed {seed}: {error}"));
            assert_eq!(count(&opened), 500 * round as usize, "round {round} seed {seed}");
        }
    }
}

#[test]
#[cfg(unix)]
fn the_directory_of_the_database_may_be_one_of_them_under_another_name() {
    let directory = tempfile::tempdir().unwrap();
    let (path, name) = (directory.path().join("db"), directory.path().join("name"));
    std::fs::create_dir(&path).unwrap();
    std::os::unix::fs::symlink(&path, &name).unwrap();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.db_paths = vec![DbPath::new(&name, 0)];
    for round in 1..3 {
        // The first creates the database.
        let db = Db::open(&path, options.clone()).unwrap();
        fill(&db, 100 * (round - 1)..100 * round);
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
        assert_eq!(count(&db), 100 * round as usize);
    }
}
