//! Column families of plain tables: what they hold in every form, beside block-based tables and turned into them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock::options::{ColumnFamilyOptions, DbOptions, apply_text, load_latest};
use ferrock::{Db, ErrorKind, ReadOptions};
use ferrock_vfs::{FileSystem, MemoryFileSystem, PosixFileSystem, read_file};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Ends the file of a plain table, whose footer has the old form.
const PLAIN_MAGIC: [u8; 8] = 0x4f34_18eb_7a8f_13b8_u64.to_le_bytes();

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// Options of a database with one family, from a text.
fn options(files: &MemoryFileSystem, text: &str) -> (DbOptions, ColumnFamilyOptions) {
    let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    apply_text(
        &mut db,
        &mut family,
        "create_if_missing=true;merge_operator=stringappend;disable_auto_compactions=true",
    )
    .unwrap();
    apply_text(&mut db, &mut family, text).unwrap();
    db.components.file_system = Some(Arc::new(files.clone()));
    (db, family)
}

fn open(files: &MemoryFileSystem, text: &str) -> ferrock::Result<Db> {
    let (db, family) = options(files, text);
    Db::open_cf("/db", db, vec![("default".to_owned(), family)]).map(|(db, _)| db)
}

/// How many of the tables of a database are plain ones.
fn plain_tables(files: &MemoryFileSystem, db: &Db) -> (usize, usize) {
    let tables = db.live_files();
    let is_plain = |name: &String| {
        let bytes = read_file(files, &Path::new("/db").join(name)).unwrap();
        bytes.ends_with(&PLAIN_MAGIC)
    };
    let names: Vec<String> = tables.iter().map(|file| format!("{:06}.sst", file.number.0)).collect();
    (names.iter().filter(|name| is_plain(name)).count(), names.len())
}

fn key(number: u32) -> Vec<u8> {
    format!("p{:02}k{number:05}", number % 17).into_bytes()
}

/// Three rounds of puts, deletes and merges, each flushed.
fn fill(db: &Db) -> Contents {
    let mut contents = Contents::new();
    for round in 0..3_u32 {
        for number in 0..500_u32 {
            let key = key(number);
            match (number + round) % 5 {
                0 => {
                    db.delete(&key).unwrap();
                    contents.remove(&key);
                }
                1 => {
                    db.merge(&key, b"m").unwrap();
                    let old = contents.get(&key).map(|old| [old, &b",m"[..]].concat());
                    contents.insert(key, old.unwrap_or_else(|| b"m".to_vec()));
                }
                _ if (number + round) % 3 != 0 => {
                    let value = format!("value {round} {number}").into_bytes();
                    db.put(&key, &value).unwrap();
                    contents.insert(key, value);
                }
                _ => {}
            }
        }
        db.flush().unwrap();
    }
    contents
}

/// All ways to read tell the same.
fn check(db: &Db, contents: &Contents) {
    for number in 0..510 {
        assert_eq!(db.get(&key(number)).unwrap().as_deref(), contents.get(&key(number)).map(Vec::as_slice));
    }
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    for (key, value) in contents {
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
        iter.next();
    }
    assert!(!iter.valid());
    iter.seek_to_last();
    for (key, value) in contents.iter().rev() {
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
        iter.prev();
    }
    assert!(!iter.valid());
    iter.status().unwrap();
    let prefixes = if db.default_column_family().unwrap().options().prefix_extractor.is_some() { 17 } else { 0 };
    for prefix in 0..prefixes {
        let prefix = format!("p{prefix:02}").into_bytes();
        let mut options = ReadOptions::default();
        options.prefix_same_as_start = true;
        let mut iter = db.iter(&options);
        iter.seek(&prefix);
        let mut within = contents.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
        while iter.valid() {
            assert_eq!(Some((iter.key(), iter.value())), within.next().map(|(key, value)| (&key[..], &value[..])));
            iter.next();
        }
        assert!(within.next().is_none());
    }
}

const BLOCK_BASED: &str = "prefix_extractor=fixed:3";

/// Every form of a plain table.
const FORMS: [&str; 10] = [
    "prefix_extractor=fixed:3;plain_table_factory={}",
    "prefix_extractor=fixed:3;plain_table_factory={encoding_type=kPrefix}",
    "prefix_extractor=fixed:3;plain_table_factory={encoding_type=kPrefix;user_key_len=9;store_index_in_file=true}",
    "prefix_extractor=fixed:3;plain_table_factory={user_key_len=9;index_sparseness=1}",
    "prefix_extractor=fixed:3;plain_table_factory={hash_table_ratio=0.1;store_index_in_file=true};bloom_locality=1",
    "prefix_extractor=fixed:3;plain_table_factory={bloom_bits_per_key=0;full_scan_mode=true}",
    "prefix_extractor=fixed:3;table_factory={id=PlainTable;huge_page_tlb_size=2097152};allow_mmap_reads=true",
    "prefix_extractor=fixed:3;memtable_factory=prefix_hash:10;allow_concurrent_memtable_write=false;\
     table_factory=PlainTable;allow_mmap_reads=true;bloom_locality=1",
    "plain_table_factory={hash_table_ratio=0}",
    "plain_table_factory={hash_table_ratio=0;encoding_type=kPrefix;store_index_in_file=true}",
];

#[test]
fn every_form_is_written_compacted_and_read_again() {
    for form in FORMS {
        let files = MemoryFileSystem::new();
        let db = open(&files, form).unwrap();
        let contents = fill(&db);
        let (plain, all) = plain_tables(&files, &db);
        assert!(plain == all && all > 0, "{form}: {plain} of {all}");
        check(&db, &contents);
        db.compact_range(None, None).unwrap();
        let (plain, all) = plain_tables(&files, &db);
        assert!(plain == all && all > 0, "{form}: {plain} of {all} after the compaction");
        check(&db, &contents);
        db.close().unwrap();
        check(&open(&files, form).unwrap(), &contents);
        // The OPTIONS file says the form.
        let loaded = load_latest(&files, Path::new("/db")).unwrap().unwrap();
        assert_eq!(loaded.column_families[0].1.table_factory, options(&files, form).1.table_factory, "{form}");
    }
}

/// Compaction turns tables of one kind into the other; both are read beside each other.
#[test]
fn tables_of_both_kinds_live_in_one_database_and_are_converted_either_way() {
    for form in FORMS {
        let files = MemoryFileSystem::new();
        let contents = fill(&open(&files, BLOCK_BASED).unwrap());
        let db = open(&files, form).unwrap();
        check(&db, &contents);
        db.put(&key(3), b"changed").unwrap();
        db.flush().unwrap();
        let mut contents = contents;
        contents.insert(key(3), b"changed".to_vec());
        let (plain, all) = plain_tables(&files, &db);
        assert!(plain == 1 && all > 1, "{form}: {plain} of {all}");
        check(&db, &contents);
        db.compact_range(None, None).unwrap();
        let (plain, all) = plain_tables(&files, &db);
        assert_eq!(plain, all, "{form}");
        check(&db, &contents);
        db.close().unwrap();
        let db = open(&files, BLOCK_BASED).unwrap();
        check(&db, &contents);
        db.put(&key(4), b"block").unwrap();
        contents.insert(key(4), b"block".to_vec());
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
        assert_eq!(plain_tables(&files, &db).0, 0, "{form}");
        check(&db, &contents);
    }
}

/// What a plain table has no room for gets into block-based tables: nothing that was acknowledged is in the way of a
/// flush.
#[test]
fn entries_that_a_plain_table_cannot_hold_are_in_block_based_ones() {
    let files = MemoryFileSystem::new();
    let form = "prefix_extractor=fixed:3;plain_table_factory={user_key_len=9}";
    let db = open(&files, form).unwrap();
    let mut contents = fill(&db);
    for odd in [&b""[..], b"ab", b"another length"] {
        db.put(odd, b"odd").unwrap();
        contents.insert(odd.to_vec(), b"odd".to_vec());
        db.flush().unwrap();
        check(&db, &contents);
    }
    let (plain, all) = plain_tables(&files, &db);
    assert!(plain > 0 && plain < all, "{plain} of {all}");
    let log = read_file(&files, Path::new("/db/LOG")).unwrap();
    assert!(String::from_utf8_lossy(&log).contains("block-based tables are written: "));
    db.compact_range(None, None).unwrap();
    check(&db, &contents);
    db.close().unwrap();
    check(&open(&files, form).unwrap(), &contents);
}

/// A plain table has no range tombstones: a deletion of a range is refused as by RocksDB, before it is logged. Those
/// that were written when the family had block-based tables stay good.
#[test]
fn ranges_are_not_deleted_but_deleted_ranges_stay_deleted() {
    let files = MemoryFileSystem::new();
    let db = open(&files, BLOCK_BASED).unwrap();
    let mut contents = fill(&db);
    let snapshot = db.snapshot();
    db.delete_range(b"p03", b"p05").unwrap();
    contents.retain(|key, _| !(&b"p03"[..]..&b"p05"[..]).contains(&&key[..]));
    drop(snapshot);
    // The deletion is in the log alone.
    db.close().unwrap();
    let db = open(&files, FORMS[0]).unwrap();
    check(&db, &contents);
    let refused = db.delete_range(b"p06", b"p07").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotSupported);
    assert!(refused.message().contains("CFD::DeleteRange not supported for table type PlainTable in CF default"));
    db.put(&key(3), b"new").unwrap();
    contents.insert(key(3), b"new".to_vec());
    db.flush().unwrap();
    check(&db, &contents);
    db.compact_range(None, None).unwrap();
    check(&db, &contents);
    let (plain, all) = plain_tables(&files, &db);
    assert_eq!(plain, all, "no range tombstone is left");
}

/// The same on the machine's file system, mapped and not, with files that are closed and opened again.
#[test]
fn mapped_and_whole_files_read_the_same() {
    for text in ["allow_mmap_reads=true", "allow_mmap_reads=true;max_open_files=20", "use_direct_reads=true"] {
        let directory = tempfile::tempdir().unwrap();
        let (mut db, family) = options(&MemoryFileSystem::new(), &format!("{};{text}", FORMS[2]));
        db.components.file_system = Some(Arc::new(PosixFileSystem::new()) as Arc<dyn FileSystem>);
        let open = || Db::open_cf(directory.path(), db.clone(), vec![("default".to_owned(), family.clone())]);
        let (opened, _) = match open() {
            Ok(opened) => opened,
            // A file system without direct I/O.
            Err(error) if error.kind() == ErrorKind::NotSupported => continue,
            Err(error) => panic!("{error}"),
        };
        let contents = fill(&opened);
        check(&opened, &contents);
        opened.compact_range(None, None).unwrap();
        check(&opened, &contents);
        opened.close().unwrap();
        check(&open().unwrap().0, &contents);
    }
}

/// The bits of a key are in one line of the cache, or anywhere in the filter; either is read as it was written.
#[test]
fn bloom_locality_lays_out_a_stored_filter() {
    let sizes = ["0", "1"].map(|locality| {
        let files = MemoryFileSystem::new();
        let form = "prefix_extractor=fixed:3;plain_table_factory={store_index_in_file=true}";
        let db = open(&files, &format!("{form};bloom_locality={locality}")).unwrap();
        let contents = fill(&db);
        check(&db, &contents);
        let lines = db.live_files().into_iter().map(|file| {
            let properties = db.table_properties(&file).unwrap();
            properties.user_collected.get(&b"rocksdb.plain.table.bloom.numblocks"[..]).cloned()
        });
        lines.collect::<Vec<_>>()
    });
    assert_ne!(sizes[0], sizes[1]);
}
