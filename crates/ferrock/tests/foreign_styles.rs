//! Families whose OPTIONS file names a compaction style that is not built: they do not grow in silence.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::options::CompactionStyle;
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, FlushOptions, ReadOptions, WriteOptions,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::path::Path;
use std::sync::Arc;

fn options_on(file_system: &MemoryFileSystem) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(file_system.clone()));
    options
}

/// A database with the families `default` and `other`, whose OPTIONS file has `style` and `num_levels`.
fn with_style(style: &str, num_levels: i32) -> MemoryFileSystem {
    let file_system = MemoryFileSystem::new();
    let mut family = ColumnFamilyOptions::default();
    family.compaction_style = CompactionStyle::None;
    family.num_levels = num_levels;
    family.level0_file_num_compaction_trigger = 4;
    family.max_bytes_for_level_base = 20_000;
    family.target_file_size_base = 8_000;
    let families = vec![("default".to_owned(), family.clone()), ("other".to_owned(), family)];
    let mut options = options_on(&file_system);
    options.create_missing_column_families = true;
    Db::open_cf("/db", options, families).unwrap().0.close().unwrap();
    for name in file_system.children(Path::new("/db")).unwrap().iter().filter(|name| name.starts_with("OPTIONS-")) {
        let path = Path::new("/db").join(name);
        let text = String::from_utf8(read_file(&file_system, &path).unwrap()).unwrap();
        let text = text.replace("kCompactionStyleNone", style);
        write_file_synced(&file_system, &path, text.as_bytes()).unwrap();
    }
    file_system
}

fn tables(db: &Db, family: &ColumnFamily, level: usize) -> usize {
    db.live_files().iter().filter(|file| file.column_family == family.name() && file.level == level).count()
}

/// Writes the same keys again and again, and returns the most tables that level 0 ever had.
fn overwrite(db: &Db, family: &ColumnFamily) -> usize {
    let mut most = 0;
    for round in 0..40u8 {
        for key in 0..50u8 {
            db.put_cf(family, &[key], &[round; 100], &WriteOptions::default()).unwrap();
        }
        db.flush_cf(family, &FlushOptions::default()).unwrap();
        db.wait_for_background_work().unwrap();
        most = most.max(tables(db, family, 0));
    }
    for key in 0..50u8 {
        let value = db.get_cf(family, &ReadOptions::default(), &[key]).unwrap();
        assert_eq!(value.as_deref(), Some(&[39; 100][..]));
    }
    most
}

#[test]
fn the_style_none_is_compacted_by_hand() {
    let file_system = with_style("kCompactionStyleNone", 7);
    let (db, families) = Db::open_with_latest_options("/db", options_on(&file_system)).unwrap();
    assert!(db.option_notes().is_empty(), "{:?}", db.option_notes());
    assert_eq!(overwrite(&db, &families[0]), 40);
    db.compact_range_cf(&families[0], None, None, &CompactRangeOptions::default()).unwrap();
    assert_eq!(db.live_files().len(), 1);
}
