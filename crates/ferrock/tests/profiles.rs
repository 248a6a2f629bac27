//! A database opens with each profile, does its work, and comes back from its OPTIONS file as it was.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests fail by panicking")]

use ferrock::options::{Profile, differences_between, load_latest};
use ferrock::{ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ReadOptions, WriteOptions};
use ferrock_vfs::PosixFileSystem;

const FAMILIES: [&str; 2] = ["default", "events"];

/// On a disk: direct I/O is not for every file system in memory.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn options(profile: Profile) -> (DbOptions, Vec<(String, ColumnFamilyOptions)>) {
    let mut db = DbOptions::default();
    db.create_if_missing = true;
    db.create_missing_column_families = true;
    let mut families = FAMILIES.map(|name| (name.to_owned(), ColumnFamilyOptions::default())).to_vec();
    profile.apply(&mut db, &mut families);
    (db, families)
}

#[test]
fn a_database_works_with_each_and_its_file_has_it() {
    for profile in Profile::ALL {
        let directory = directory();
        let (db_options, families) = options(profile);
        let (db, handles) = Db::open_cf(directory.path(), db_options.clone(), families.clone()).unwrap();
        assert_eq!(db.option_notes(), Vec::<String>::new(), "{profile}");
        for round in 0..3_u8 {
            for number in 0..2000_u32 {
                for handle in &handles {
                    db.put_cf(handle, &number.to_be_bytes(), &[round; 50], &WriteOptions::default()).unwrap();
                }
            }
            db.flush().unwrap();
        }
        for handle in &handles {
            db.compact_range_cf(handle, None, None, &CompactRangeOptions::default()).unwrap();
            for number in 0..2000_u32 {
                let value = db
                    .get_cf(handle, &ReadOptions::default(), &number.to_be_bytes())
                    .unwrap()
                    .expect("nothing is lost");
                assert_eq!(value[..], [2; 50], "{profile}");
            }
        }
        drop(handles);
        db.close().unwrap();

        let loaded = load_latest(&PosixFileSystem::default(), directory.path()).unwrap().expect("an OPTIONS file");
        assert_eq!(loaded.notes, Vec::<String>::new(), "{profile}");
        let settled: Vec<_> = families
            .iter()
            .map(|(name, family)| {
                let mut family = family.clone();
                family.settle_in(&db_options);
                (name.clone(), family)
            })
            .collect();
        let back = (&loaded.db, &loaded.column_families[..]);
        assert_eq!(differences_between((&db_options, &settled), back), [], "{profile}");

        // And it opens with them, whatever profile it had before.
        let (db, _) = Db::open_cf(directory.path(), loaded.db, loaded.column_families).unwrap();
        assert!(db.get(&7_u32.to_be_bytes()).unwrap().is_some());
        db.close().unwrap();
    }
}

#[test]
fn what_was_loaded_in_bulk_opens_with_another_profile() {
    let directory = directory();
    let mut db_options = DbOptions::for_bulk_load();
    db_options.create_if_missing = true;
    let family = |options| vec![("default".to_owned(), options)];
    let (db, _) = Db::open_cf(directory.path(), db_options, family(ColumnFamilyOptions::for_bulk_load())).unwrap();
    for round in 0..12_u32 {
        for number in 0..500_u32 {
            db.put(&(number * 12 + round).to_be_bytes(), b"value").unwrap();
        }
        db.flush().unwrap();
    }
    assert_eq!(db.property("rocksdb.num-files-at-level0").as_deref(), Some("12"), "nothing was compacted");
    db.compact_range(None, None).unwrap();
    assert_eq!(db.property("rocksdb.num-files-at-level0").as_deref(), Some("0"));
    db.close().unwrap();

    let (db_options, families) = options(Profile::Balanced);
    let (db, _) = Db::open_cf(directory.path(), db_options, families).unwrap();
    for number in 0..6000_u32 {
        assert!(db.get(&number.to_be_bytes()).unwrap().is_some(), "{number}");
    }
}
