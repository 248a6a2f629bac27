//! Files that a caller names are compacted, with all that belongs to them: nothing older comes to lie over anything
//! newer, whatever is named, and whatever the style.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{Contents, contents, options_on};
use ferrock::options::{CompressionType, DbPath, Temperature};
use ferrock::{ColumnFamilyOptions, CompactionOptions, Db, DbOptions, ErrorKind, LiveFile, ReadOptions};
use ferrock_base::random::Random;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn open(files: &MemoryFileSystem, more: &str) -> Db {
    let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    let text = "create_if_missing=true;target_file_size_base=4096;max_bytes_for_level_base=16384;\
        disable_auto_compactions=true;level_compaction_dynamic_level_bytes=false;num_levels=5;";
    ferrock::options::apply_text(&mut options, &mut family, &format!("{text}{more}")).unwrap();
    options.components.file_system = Some(Arc::new(files.clone()));
    Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0
}

fn key(number: u64) -> Vec<u8> {
    format!("k{number:03}").into_bytes()
}

fn compact(db: &Db, files: &[LiveFile], level: usize, options: &CompactionOptions) -> ferrock::Result<Vec<PathBuf>> {
    let names: Vec<String> = files.iter().map(LiveFile::name).collect();
    db.compact_files_cf(&db.default_column_family().unwrap(), &names, level, None, options)
}

fn tables(files: &MemoryFileSystem) -> Vec<String> {
    let mut names: Vec<String> = files.children(Path::new("/db")).unwrap();
    names.retain(|name| name.ends_with(".sst"));
    names.sort();
    names
}

#[test]
fn any_files_go_to_any_level() {
    for (style, deepest) in [("Level", 4), ("Universal", 4), ("None", 4), ("FIFO", 0)] {
        for seed in 0..25 {
            let (files, mut random) = (MemoryFileSystem::new(), Random::new(seed));
            let db = open(&files, &format!("compaction_style=kCompactionStyle{style};max_subcompactions=3"));
            let (mut expected, mut snapshots) = (Contents::new(), Vec::new());
            for round in 0..40_u64 {
                for _ in 0..random.below(60) {
                    let key = key(random.below(200));
                    if random.below(4) == 0 {
                        db.delete(&key).unwrap();
                        expected.remove(&key);
                    } else {
                        let value = format!("{round} {}", "v".repeat(random.below(200) as usize)).into_bytes();
                        db.put(&key, &value).unwrap();
                        expected.insert(key, value);
                    }
                }
                if random.below(8) == 0 {
                    snapshots.push((db.snapshot(), expected.clone()));
                }
                db.flush().unwrap();
                let live = db.live_files();
                let named: Vec<LiveFile> = live.iter().filter(|_| random.below(6) == 0).cloned().collect();
                let level = random.below(deepest + 1) as usize;
                let options = CompactionOptions {
                    output_file_size_limit: [u64::MAX, 2000][random.below(2) as usize],
                    max_subcompactions: random.below(3) as u32,
                    allow_trivial_move: random.below(2) == 0,
                    compression: [None, Some(CompressionType::NoCompression)][random.below(2) as usize],
                    output_temperature_override: [Temperature::Unknown, Temperature::Ice][random.below(2) as usize],
                    canceled: None,
                };
                let outcome = compact(&db, &named, level, &options);
                let is_possible = !named.is_empty() && named.iter().all(|file| file.level <= level);
                match outcome {
                    Ok(made) => {
                        assert!(is_possible, "{style}, seed {seed}: {named:?}");
                        let after = db.live_files();
                        for name in &made {
                            let made = after.iter().find(|file| file.directory.join(file.name()) == *name);
                            assert_eq!(made.map(|file| file.level), Some(level), "{}", name.display());
                        }
                        let is_moved = |file: &LiveFile| made.iter().any(|name| name.ends_with(file.name()));
                        assert!(after.iter().all(|file| !named.contains(file) || is_moved(file)));
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
                        assert!(!is_possible, "{style}, seed {seed}: {error}");
                        assert_eq!(db.live_files(), live);
                    }
                }
                if random.below(5) == 0 {
                    // Automatic picks take over what was left.
                    let family = db.default_column_family().unwrap();
                    db.set_options_cf(&family, &[("disable_auto_compactions", "false")]).unwrap();
                    db.wait_for_background_work().unwrap();
                    db.set_options_cf(&family, &[("disable_auto_compactions", "true")]).unwrap();
                }
                assert_eq!(contents(&db, &ReadOptions::default()), expected, "{style}, seed {seed}, round {round}");
                if style != "FIFO" {
                    for (snapshot, then) in &snapshots {
                        let read = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
                        assert_eq!(&contents(&db, &read), then, "{style}, seed {seed}, round {round}");
                    }
                }
            }
            db.wait_for_background_work().unwrap();
            assert_eq!(tables(&files).len(), db.live_files().len(), "{style}, seed {seed}");
        }
    }
}

#[test]
fn outputs_have_the_form_that_the_caller_wants() {
    let files = MemoryFileSystem::new();
    let db = open(&files, "compression=kLZ4Compression;default_write_temperature=kHot;last_level_temperature=kIce");
    for number in 0..300 {
        db.put(&key(number), &[7; 200]).unwrap();
    }
    db.flush().unwrap();
    let form = |level: usize, options: &CompactionOptions| {
        let before = db.live_files();
        compact(&db, &before, level, options).unwrap();
        let after = db.live_files();
        // Number 4 is LZ4.
        let is_compressed = db.table_properties(&after[0]).unwrap().compression_name.contains("04");
        (after.len() > 1, after.iter().any(|file| before.iter().any(|old| old.number == file.number)), is_compressed)
    };
    let default = CompactionOptions::default();
    assert_eq!(form(1, &default), (false, false, true));
    let allow_trivial_move = CompactionOptions { allow_trivial_move: true, ..default.clone() };
    assert_eq!(form(2, &allow_trivial_move), (false, true, true));
    let compression = Some(CompressionType::NoCompression);
    assert_eq!(form(2, &CompactionOptions { compression, ..default.clone() }), (false, false, false));
    let output_file_size_limit = 1000;
    let (has_many, ..) = form(2, &CompactionOptions { output_file_size_limit, ..default.clone() });
    assert!(has_many);
    assert!(!form(2, &default).0);
    let temperature = |level: usize, output_temperature_override: Temperature| {
        form(level, &CompactionOptions { output_temperature_override, ..default.clone() });
        db.live_files()[0].temperature
    };
    use Temperature::{Cold, Hot, Ice, Unknown};
    assert_eq!([temperature(3, Unknown), temperature(3, Cold)], [Hot, Cold]);
    assert_eq!([temperature(4, Unknown), temperature(4, Cold)], [Ice, Cold]);
}

#[test]
fn names_are_those_of_tables_whatever_directory_comes_before_them() {
    let files = MemoryFileSystem::new();
    let db = open(&files, "");
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    let (family, options) = (db.default_column_family().unwrap(), CompactionOptions::default());
    let name = db.live_files()[0].name();
    for bad in ["000001.log", "CURRENT", "", "x.sst", "/"] {
        let error = db.compact_files_cf(&family, &[bad], 1, None, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{bad}: {error}");
    }
    let mut made = db.compact_files_cf(&family, &[format!("/{name}")], 1, Some(0), &options).unwrap();
    for level in 2..4 {
        made = db.compact_files_cf(&family, &made, level, None, &options).unwrap();
        assert_eq!(db.live_files()[0].level, level);
    }
    let error = db.compact_files_cf(&family, &made, 3, Some(1), &options).unwrap_err();
    assert!(error.to_string().contains("output path 1: the family has 1 directories"), "{error}");
}

#[test]
fn one_of_several_directories_has_to_be_named() {
    let files = MemoryFileSystem::new();
    let mut options = options_on(Arc::new(files.clone()));
    options.db_paths = vec![DbPath::new("/one", 1 << 20), DbPath::new("/two", 1 << 20)];
    let db = Db::open("/db", options).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    let (family, options) = (db.default_column_family().unwrap(), CompactionOptions::default());
    let names = [db.live_files()[0].name()];
    let error = db.compact_files_cf(&family, &names, 1, None, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
    let made = db.compact_files_cf(&family, &names, 1, Some(1), &options).unwrap();
    assert!(made[0].starts_with("/two") && files.exists(&made[0]).unwrap(), "{made:?}");
    assert_eq!(contents(&db, &ReadOptions::default()).len(), 1);
}
