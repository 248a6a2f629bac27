//! `data_block_index_type = kDataBlockAuto` follows the reads of each family, table by table as they are rewritten.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock::{ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ReadOptions, WriteOptions};
use ferrock_table::options::DataBlockIndexType;
use ferrock_vfs::{FileSystem as _, PosixFileSystem, read_file};

const KEYS: u32 = 4000;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:08}").into_bytes()
}

fn options() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.table.data_block_index_type = DataBlockIndexType::Auto;
    options
}

fn choice(db: &Db, name: &str) -> String {
    db.property_cf(&db.column_family(name).unwrap(), "ferrock.data-block-index").unwrap()
}

/// Bytes of data blocks: a hash index makes them more.
fn data_size(db: &Db, name: &str) -> u64 {
    let text = db.property_cf(&db.column_family(name).unwrap(), "rocksdb.aggregated-table-properties").unwrap();
    let rest = text.split("data block size=").nth(1).unwrap_or_else(|| panic!("{text}"));
    rest.split(';').next().unwrap().trim().parse().unwrap()
}

fn rewrite(db: &Db, name: &str) -> u64 {
    let family = db.column_family(name).unwrap();
    let options = CompactRangeOptions {
        bottommost_level_compaction: ferrock::options::BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compact_range_cf(&family, None, None, &options).unwrap();
    data_size(db, name)
}

#[test]
fn tables_follow_the_reads_of_their_family() {
    let directory = tempfile::tempdir().unwrap();
    let mut db_options = DbOptions::default();
    db_options.create_if_missing = true;
    db_options.create_missing_column_families = true;
    let descriptors = ["default", "other"].map(|name| (name.to_owned(), options()));
    let (db, _) = Db::open_cf(directory.path(), db_options, descriptors.to_vec()).unwrap();
    for name in ["default", "other"] {
        let family = db.column_family(name).unwrap();
        for number in 0..KEYS {
            db.put_cf(&family, &key(number), &number.to_be_bytes(), &WriteOptions::default()).unwrap();
        }
    }
    let plain = [rewrite(&db, "default"), rewrite(&db, "other")];
    assert!(choice(&db, "default").starts_with("kDataBlockBinarySearch: fewer than 2000 reads"));

    let other = db.column_family("other").unwrap();
    for number in 0..KEYS {
        assert_eq!(db.get(&key(number)).unwrap().unwrap().to_vec(), number.to_be_bytes());
        let mut iter = db.iter_cf(&other, &ReadOptions::default());
        iter.seek(&key(number));
        assert_eq!(iter.key(), key(number));
    }
    let hashed = rewrite(&db, "default");
    assert!(hashed > plain[0], "{hashed} after {plain:?}: {}", choice(&db, "default"));
    assert!(choice(&db, "default").starts_with("kDataBlockBinaryAndHash: of 4000 reads 100.0 % were point lookups"));
    assert_eq!(rewrite(&db, "other"), plain[1], "each family has its own reads");
    assert!(
        choice(&db, "other").starts_with("kDataBlockBinarySearch: of 4000 reads 0.0 %"),
        "{}",
        choice(&db, "other")
    );
    for number in 0..KEYS {
        assert_eq!(db.get(&key(number)).unwrap().unwrap().to_vec(), number.to_be_bytes());
        assert!(db.get(&[key(number), b"x".to_vec()].concat()).unwrap().is_none());
    }

    // Lookups that miss the cache: without filling it every block is read.
    let uncached = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let default = db.column_family("default").unwrap();
    let keys: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
    db.set_options_cf(&default, &[("disable_auto_compactions", "true")]).unwrap();
    rewrite(&db, "default");
    for key in &keys {
        assert!(db.get_cf(&default, &uncached, key).unwrap().is_some());
    }
    assert_eq!(rewrite(&db, "default"), plain[0], "{}", choice(&db, "default"));
    assert!(choice(&db, "default").contains("100.0 % read a data block"), "{}", choice(&db, "default"));
    drop(db);

    // The choice is in the OPTIONS file, where RocksDB finds one that it knows.
    let files = PosixFileSystem::new();
    let names = files.children(directory.path()).unwrap();
    let newest = names.iter().filter(|name| name.starts_with("OPTIONS-")).max().unwrap();
    let text = String::from_utf8(read_file(&files, &directory.path().join(newest)).unwrap()).unwrap();
    assert_eq!(text.matches("\n  data_block_index_type=kDataBlockBinarySearch\n").count(), 2, "{text}");
    assert_eq!(text.matches("# ferrock: data_block_index_type=kDataBlockAuto").count(), 2, "{text}");
    let loaded = ferrock::options::load_latest(&files, directory.path()).unwrap().unwrap();
    for (_, family) in &loaded.column_families {
        assert_eq!(family.table.data_block_index_type, DataBlockIndexType::Auto);
    }
    assert!(loaded.unknown.is_empty() && loaded.notes.is_empty(), "{:?}", loaded.notes);
}
