//! Databases with blob files that RocksDB wrote: read, written to, compacted, reopened, damaged.
//!
//! Beside the contents it is checked that the books are right: what the MANIFEST says of each blob file is compared
//! with the references that the live tables really hold, and with the files that are really there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

#[path = "golden/archive.rs"]
#[allow(dead_code, reason = "the archive serves the golden tests too")]
mod archive;
mod common;

use archive::GoldenDatabase;
use common::{books, rows_backward};
use ferrock::options::BottommostLevelCompaction;
use ferrock::options::DbPath;
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, FlushOptions, ReadOptions, WriteBatch,
    WriteOptions,
};
use ferrock_format::blob_file::{
    BLOB_FILE_HEADER_SIZE, BLOB_RECORD_HEADER_SIZE, BlobFileFooter, BlobFileHeader, BlobRecordHeader,
};
use ferrock_vfs::{MemoryFileSystem, default_file_system, write_file_synced};
use hmac_sha256::Hash as Sha256;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn with_blobs() -> Vec<&'static GoldenDatabase> {
    let has_blobs = |database: &&GoldenDatabase| database.files().keys().any(|name| name.ends_with(".blob"));
    let databases: Vec<_> = archive::databases().iter().filter(has_blobs).collect();
    assert_eq!(databases.len(), 10);
    databases
}

fn database(name: &str) -> &'static GoldenDatabase {
    with_blobs().into_iter().find(|database| database.name == name).unwrap()
}

fn open(path: &Path) -> (Db, Vec<ColumnFamily>) {
    Db::open_with_latest_options(path, DbOptions::default()).unwrap()
}

fn open_read_only(path: &Path) -> (Db, Vec<ColumnFamily>) {
    Db::open_read_only(path, DbOptions::default(), None).unwrap()
}

fn scan(db: &Db, family: &ColumnFamily) -> Map {
    let mut map = Map::new();
    let mut iter = db.iter_cf(family, &ReadOptions::default());
    iter.seek_to_first();
    while iter.valid() {
        map.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().unwrap();
    map
}

/// Every way of reading gives `wanted`.
fn check(what: &str, db: &Db, family: &ColumnFamily, wanted: &Map) {
    let options = ReadOptions::default();
    assert!(scan(db, family) == *wanted, "{what}: forward");
    let backward = rows_backward(db.iter_cf(family, &options));
    assert!(backward.into_iter().eq(wanted.clone()), "{what}: backward");
    let mut batches = db.scan_cf_async(family, &options).with_batch_bytes(1000);
    let mut scanned = Map::new();
    while let Some(batch) = smol::block_on(batches.next_batch()).unwrap() {
        scanned.extend(batch.rows().map(|(key, value)| (key.to_vec(), value.to_vec())));
    }
    assert!(scanned == *wanted, "{what}: as futures");
    let keys: Vec<&[u8]> = wanted.keys().map(Vec::as_slice).collect();
    for (got, (key, value)) in db.multi_get_cf(family, &options, &keys).into_iter().zip(wanted) {
        assert_eq!(got.unwrap().unwrap(), value, "{what}: multi_get {}", key.escape_ascii());
        assert_eq!(db.get_cf(family, &options, key).unwrap().unwrap(), value, "{what}: get {}", key.escape_ascii());
    }
}

fn compact(db: &Db, family: &ColumnFamily) {
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compact_range_cf(family, None, None, &options).unwrap();
}

// --- the books -----------------------------------------------------------------------------------------------------

fn check_books(what: &str, path: &Path, unlisted: &BTreeSet<u64>) {
    books::check_books(what, &*default_file_system(), path, unlisted);
}

fn check_directory(what: &str, path: &Path, unlisted: &BTreeSet<u64>) {
    books::check_directory(what, &*default_file_system(), path, unlisted);
}

fn blob_files(path: &Path) -> BTreeSet<u64> {
    books::blob_files(&*default_file_system(), path)
}

fn read_books(path: &Path) -> books::Books {
    books::read_books(&*default_file_system(), path)
}

/// Blob files that a crashed writer has left without telling the MANIFEST.
fn unlisted(path: &Path) -> BTreeSet<u64> {
    let listed: BTreeSet<u64> = read_books(path).blobs.keys().copied().collect();
    blob_files(path).difference(&listed).copied().collect()
}

// --- tests ---------------------------------------------------------------------------------------------------------

fn digest(map: &Map) -> String {
    let mut hash = Sha256::new();
    for part in map.iter().flat_map(|(key, value)| [key, value]) {
        hash.update(u32::try_from(part.len()).unwrap().to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn compacting_keeps_every_value_and_the_books() {
    for database in with_blobs() {
        let name = &database.name;
        let unpacked = database.unpack();
        let path = unpacked.path();
        assert_eq!(!unlisted(&path).is_empty(), name.contains("direct-write"), "{name}");
        // What the log refers to in them is adopted.
        let unlisted = BTreeSet::new();
        let mut wanted = BTreeMap::new();
        for round in 0..2 {
            let (db, families) = open(&path);
            check_books(&format!("{name}: opened"), &path, &unlisted);
            for family in &families {
                let map = wanted.entry(family.name().to_owned()).or_insert_with(|| scan(&db, family)).clone();
                let expected = database.expect["column_families"].as_array().unwrap().iter();
                let expected = expected.clone().find(|expected| expected["name"] == family.name()).unwrap();
                assert_eq!(digest(&map), expected["scan"]["sha256"].as_str().unwrap(), "{name}");
                check(&format!("{name}: opened"), &db, family, &map);
                compact(&db, family);
                check(&format!("{name}: compacted"), &db, family, &map);
            }
            db.verify_checksum().unwrap();
            drop(families);
            db.close().unwrap();
            check_books(&format!("{name}: round {round}"), &path, &unlisted);
            check_directory(&format!("{name}: round {round}"), &path, &unlisted);
        }
    }
}

/// Overwrites, deletes and merges over what is in blob files.
fn change(db: &Db, family: &ColumnFamily, map: &mut Map, can_merge: bool, round: usize) {
    let keys: Vec<Vec<u8>> = map.keys().cloned().collect();
    let mut batch = WriteBatch::new();
    let id = family.id();
    for (index, key) in keys.iter().enumerate() {
        match (index + round) % 7 {
            0 => {
                let value = format!("new value {index}").into_bytes();
                batch.put_cf(id, key, &value).unwrap();
                map.insert(key.clone(), value);
            }
            2 => {
                batch.delete_cf(id, key).unwrap();
                map.remove(key);
            }
            4 if can_merge => {
                batch.merge_cf(id, key, b"operand").unwrap();
                let value = map.get_mut(key).unwrap();
                value.extend_from_slice(b",operand");
            }
            _ => {}
        }
    }
    db.write(batch, &WriteOptions::default()).unwrap();
    let (begin, end) = (&keys[keys.len() / 2], &keys[keys.len() / 2 + 20]);
    db.delete_range_cf(family, begin, end, &WriteOptions::default()).unwrap();
    map.retain(|key, _| key < begin || key >= end);
}

#[test]
fn changes_over_blob_values_are_right_and_leave_garbage() {
    for database in with_blobs() {
        let name = &database.name;
        let unpacked = database.unpack();
        let path = unpacked.path();
        let unlisted = BTreeSet::new();
        let expected = &database.expect["column_families"][0];
        let can_merge = expected["merge_operator"] == "StringAppendOperator";
        let (mut db, mut families) = open(&path);
        let mut map = scan(&db, &families[0]);
        let original = map.clone();
        let snapshot = db.snapshot();
        let mut old = db.iter_cf(&families[0], &ReadOptions::default());
        old.seek_to_first();
        for round in 0..2 {
            change(&db, &families[0], &mut map, can_merge, round);
            check(&format!("{name}: in memory"), &db, &families[0], &map);
            db.flush_cf(&families[0], &FlushOptions::default()).unwrap();
            check(&format!("{name}: flushed"), &db, &families[0], &map);
            compact(&db, &families[0]);
            check(&format!("{name}: compacted"), &db, &families[0], &map);
            check_books(&format!("{name}: changed"), &path, &unlisted);
            let at = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
            for (key, value) in original.iter().step_by(3) {
                assert_eq!(db.get_cf(&families[0], &at, key).unwrap().unwrap(), value, "{name}: at the snapshot");
            }
        }
        drop(snapshot);
        compact(&db, &families[0]);
        check(&format!("{name}: without the snapshot"), &db, &families[0], &map);
        // The iterator is older than all of this and keeps what it reads from.
        for (key, value) in &original {
            assert_eq!((old.key(), old.value()), (&key[..], &value[..]), "{name}: an old iterator");
            old.next();
        }
        old.status().unwrap();
        drop(old);
        drop(families);
        db.close().unwrap();
        (db, families) = open(&path);
        check_books(&format!("{name}: reopened"), &path, &unlisted);
        check_directory(&format!("{name}: reopened"), &path, &unlisted);
        check(&format!("{name}: reopened"), &db, &families[0], &map);
    }
}

#[test]
fn blob_files_go_when_nothing_refers_to_them() {
    let database = database("r7.8-blob-plain");
    let unpacked = database.unpack();
    let path = unpacked.path();
    let (db, families) = open(&path);
    let family = &families[0];
    let before = blob_files(&path);
    assert!(before.len() > 3);
    let property = |name: &str| db.int_property(name).unwrap();
    let on_disk = |number: &u64| fs::metadata(path.join(format!("{number:06}.blob"))).unwrap().len();
    assert_eq!(property("rocksdb.num-blob-files"), before.len() as u64);
    assert_eq!(property("rocksdb.live-blob-file-size"), before.iter().map(on_disk).sum::<u64>());
    assert!(property("rocksdb.live-blob-file-garbage-size") > 0);
    db.delete_range_cf(family, b"", b"\xff", &WriteOptions::default()).unwrap();
    db.put_cf(family, b"left", b"over", &WriteOptions::default()).unwrap();
    db.flush_cf(family, &FlushOptions::default()).unwrap();
    compact(&db, family);
    assert_eq!(blob_files(&path), BTreeSet::new());
    assert_eq!(read_books(&path).blobs, BTreeMap::new());
    drop(families);
    db.close().unwrap();
    let (db, families) = open(&path);
    assert_eq!(scan(&db, &families[0]), Map::from([(b"left".to_vec(), b"over".to_vec())]));
}

/// Reads everything; a value is right or its read fails with the file and the offset. Returns the failures.
fn read_damaged(path: &Path, wanted: &Map, blob_file: &str) -> usize {
    let (db, families) = open_read_only(path);
    let keys: Vec<&[u8]> = wanted.keys().map(Vec::as_slice).collect();
    let mut failures = 0;
    let mut check = |result: ferrock::Result<Option<ferrock::PinnedSlice>>, value: &Vec<u8>| match result {
        Ok(read) => assert_eq!(read.unwrap(), value),
        Err(error) => {
            let text = error.to_string();
            assert!(error.is_corruption() && text.contains(blob_file) && text.contains("offset "), "{text}");
            failures += 1;
        }
    };
    for (result, value) in
        db.multi_get_cf(&families[0], &ReadOptions::default(), &keys).into_iter().zip(wanted.values())
    {
        check(result, value);
    }
    let failed_gets = failures;
    let mut iter = db.iter_cf(&families[0], &ReadOptions::default());
    iter.seek_to_first();
    while iter.valid() {
        assert_eq!(wanted.get(iter.key()).unwrap(), iter.value());
        iter.next();
    }
    assert_eq!(iter.status().is_err(), failed_gets > 0, "a scan fails when a lookup does");
    assert!(failed_gets == 0 || db.verify_checksum().is_err(), "verification finds what lookups find");
    failed_gets
}

#[test]
fn a_damaged_record_is_an_error_and_never_a_wrong_value() {
    for (name, blob_file, step) in [("r7.8-blob-plain", "000019.blob", 61), ("r7.8-blob-compressed", "", 37)] {
        let database = database(name);
        let unpacked = database.unpack();
        let path = unpacked.path();
        let smallest = database.files().iter().filter(|(name, _)| name.ends_with(".blob")).min_by_key(|(_, f)| f.len());
        let blob_file = if blob_file.is_empty() { smallest.unwrap().0.as_str() } else { blob_file };
        let (db, families) = open_read_only(&path);
        let wanted = scan(&db, &families[0]);
        drop((db, families));
        let intact = &database.files()[blob_file];
        let mut failures = 0;
        for position in (0..intact.len()).step_by(step) {
            let mut damaged = intact.clone();
            damaged[position] ^= 0x10;
            fs::write(path.join(blob_file), &damaged).unwrap();
            failures += read_damaged(&path, &wanted, blob_file);
        }
        assert!(failures > 3, "{name}: {failures} failures");
        for length in [0, 20, 62, intact.len() / 2, intact.len() - 1] {
            fs::write(path.join(blob_file), &intact[..length]).unwrap();
            assert!(read_damaged(&path, &wanted, blob_file) > 0, "{name}: cut at {length}");
        }
        fs::write(path.join(blob_file), intact).unwrap();
        assert_eq!(read_damaged(&path, &wanted, blob_file), 0);
    }
}

#[test]
fn a_compaction_that_cannot_read_a_merge_base_fails_and_loses_nothing() {
    let database = database("r7.8-blob-plain");
    let unpacked = database.unpack();
    let path = unpacked.path();
    let (db, families) = open(&path);
    let family = &families[0];
    let map = scan(&db, family);
    let in_blobs: Vec<&Vec<u8>> = map.iter().filter(|(_, value)| value.len() > 200).map(|(key, _)| key).collect();
    for key in &in_blobs {
        db.merge_cf(family, key, b"x", &WriteOptions::default()).unwrap();
    }
    db.flush_cf(family, &FlushOptions::default()).unwrap();
    for number in blob_files(&path) {
        let file = path.join(format!("{number:06}.blob"));
        let mut damaged = fs::read(&file).unwrap();
        damaged[200] ^= 1;
        fs::write(&file, damaged).unwrap();
    }
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    let error = db.compact_range_cf(family, None, None, &options).unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains(".blob"), "{error}");
    let readable = in_blobs.iter().filter(|key| db.get_cf(family, &ReadOptions::default(), key).is_ok()).count();
    assert!(readable > in_blobs.len() / 2 && readable < in_blobs.len(), "{readable} of {}", in_blobs.len());
}

#[test]
fn a_missing_blob_file_is_told_by_the_reads_that_need_it() {
    let database = database("r7.8-blob-plain");
    let unpacked = database.unpack();
    let path = unpacked.path();
    let (db, families) = open_read_only(&path);
    let wanted = scan(&db, &families[0]);
    drop((db, families));
    fs::remove_file(path.join("000019.blob")).unwrap();
    let (db, families) = open_read_only(&path);
    let mut failures = 0;
    for (key, value) in &wanted {
        match db.get_cf(&families[0], &ReadOptions::default(), key) {
            Ok(read) => assert_eq!(read.unwrap(), value),
            Err(error) => {
                assert!(error.to_string().contains("000019.blob"), "{error}");
                failures += 1;
            }
        }
    }
    assert!(failures > 0 && failures < wanted.len());
}

/// Gives a file whose writer crashed the footer that it would have got next. Returns how many records it has.
fn seal(path: &Path) -> u64 {
    let mut content = fs::read(path).unwrap();
    let (mut offset, mut blob_count) = (BLOB_FILE_HEADER_SIZE, 0);
    while offset < content.len() {
        let header = BlobRecordHeader::decode(&content[offset..][..BLOB_RECORD_HEADER_SIZE]).unwrap();
        offset += usize::try_from(header.record_size().unwrap()).unwrap();
        blob_count += 1;
    }
    assert_eq!(offset, content.len());
    content.extend(BlobFileFooter { blob_count, expiration_range: (0, 0) }.encode());
    fs::write(path, content).unwrap();
    blob_count
}

/// Its writer crashed between closing the blob file and telling the MANIFEST: only the log names it.
#[test]
fn a_closed_blob_file_that_only_the_log_names_is_kept() {
    let database = database("r11.9-blob-direct-write");
    for avoid_flush in [false, true] {
        let what = format!("avoid_flush_during_recovery={avoid_flush}");
        let unpacked = database.unpack();
        let path = unpacked.path();
        for number in unlisted(&path) {
            assert!(seal(&path.join(format!("{number:06}.blob"))) > 1);
        }
        for entry in fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.file_name().unwrap().to_str().unwrap().starts_with("OPTIONS") {
                let text = fs::read_to_string(&entry).unwrap();
                assert!(text.contains("avoid_flush_during_recovery=false"));
                let ours = format!("avoid_flush_during_recovery={avoid_flush}");
                fs::write(&entry, text.replace("avoid_flush_during_recovery=false", &ours)).unwrap();
            }
        }
        let before = blob_files(&path);
        let (db, families) = open(&path);
        assert_eq!(blob_files(&path), before, "{what}");
        let map = scan(&db, &families[0]);
        let expected = &database.expect["column_families"].as_array().unwrap()[0];
        assert_eq!(digest(&map), expected["scan"]["sha256"].as_str().unwrap(), "{what}");
        drop((db, families));
        for round in 0..2 {
            let (db, families) = open(&path);
            check(&format!("{what}: round {round}"), &db, &families[0], &map);
            // Tables name only the oldest file that they refer to.
            compact(&db, &families[0]);
            check(&format!("{what}: compacted in round {round}"), &db, &families[0], &map);
            db.close().unwrap();
            check_books(&what, &path, &BTreeSet::new());
            check_directory(&what, &path, &BTreeSet::new());
        }
    }
}

/// What a flush that crashed leaves in a directory of tables keeps its number: a file of the same number would be taken
/// for it.
#[test]
fn a_number_of_a_file_that_no_version_has_is_not_given_out_again() {
    let files = MemoryFileSystem::new();
    let open = || {
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.db_paths = vec![DbPath::new("/tables", 1 << 30)];
        options.components.file_system = Some(Arc::new(files.clone()));
        let mut family = ColumnFamilyOptions::default();
        family.enable_blob_files = true;
        Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0
    };
    let db = open();
    db.put(b"key", b"value").unwrap();
    db.close().unwrap();
    // All numbers that the next open may want.
    let header = BlobFileHeader { column_family_id: 0, has_ttl: false, compression: 0, expiration_range: (0, 0) };
    let orphan = [header.encode(), BlobFileFooter { blob_count: 3, expiration_range: (0, 0) }.encode()].concat();
    for number in 0..30 {
        write_file_synced(&files, Path::new(&format!("/tables/{number:06}.blob")), &orphan).unwrap();
    }
    for _ in 0..2 {
        let db = open();
        assert_eq!(&*db.get(b"key").unwrap().unwrap(), b"value");
        db.close().unwrap();
    }
    let left = books::blob_files(&files, Path::new("/tables"));
    assert!(left.len() == 1 && left.iter().all(|number| *number >= 30), "{left:?}");
}
