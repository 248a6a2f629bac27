//! Values in blob files: of RocksDB's databases, compressed ones among them, and of files made here, with large values
//! and merges over them.

use super::*;
use ferrock::{FlushOptions, WriteBatch, WriteOptions};
use ferrock_base::FileNumber;
use ferrock_base::random::Random;
use ferrock_format::blob_file::{BlobFileHeader, BlobRecordHeader};
use ferrock_format::blob_index::BlobReference;
use ferrock_format::file_name;
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, OperationKind, ReadContext, read_owned, write_file_synced,
};

fn all_keys(db: &Db, family: &ColumnFamily) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut iter = db.iter_cf(family, &ReadOptions::default());
    iter.seek_to_first();
    while iter.valid() {
        keys.push(iter.key().to_vec());
        keys.push([iter.key(), b"-"].concat());
        iter.next();
    }
    iter.status().unwrap();
    keys
}

/// Changes a number in the OPTIONS files of a database: they say how it is opened.
fn set_option(directory: &Path, name: &str, value: i32) {
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with("OPTIONS-") {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let change = |line: &str| match line.trim_start().starts_with(&format!("{name}=")) {
                true => format!("  {name}={value}\n"),
                false => format!("{line}\n"),
            };
            let changed: String = text.lines().map(change).collect();
            assert!(changed.contains(&format!("  {name}={value}\n")));
            std::fs::write(entry.path(), changed).unwrap();
        }
    }
}

fn check_blob_database(database: &archive::GoldenDatabase, backend: &str, max_open_files: i32) {
    let what = format!("{}, {backend}, {max_open_files} open files", database.name);
    let unpacked = database.unpack();
    set_option(&unpacked.path(), "max_open_files", max_open_files);
    let file_system = Watched::new(Arc::new(PosixFileSystem::with_backend(Some(backend))));
    let open = || Db::open_with_latest_options(unpacked.path(), db_options(&file_system, max_open_files)).unwrap();
    let (db, families) = open();
    let keys: Vec<_> = families.iter().map(|family| all_keys(&db, family)).collect();
    drop((db, families));
    let (db, families) = open();
    for (family, keys) in families.iter().zip(&keys) {
        // First of all: no blob file is open.
        let futures =
            polling(|| keys.iter().map(|key| db.get_cf_async(family, &ReadOptions::default(), key)).collect());
        let cold: Vec<Found> = run_all(futures).into_iter().map(owned).collect();
        for verify_checksums in [true, false] {
            let options = ReadOptions { verify_checksums, ..ReadOptions::default() };
            assert!(compare(&what, &db, family, &options, keys) == cold, "{what}");
        }
        let mut expected = database.expect["column_families"].as_array().unwrap().iter();
        let expected = expected.find(|expected| expected["name"] == family.name()).unwrap();
        if expected["merge_operator"] == "StringAppendOperator" {
            for key in keys {
                db.merge_cf(family, key, b"operand", &WriteOptions::default()).unwrap();
            }
            db.flush_cf(family, &FlushOptions::default()).unwrap();
            let found = compare(&what, &db, family, &ReadOptions::default(), keys);
            assert!(found.iter().all(|found| found.as_ref().unwrap().as_ref().unwrap().ends_with(b"operand")));
        }
    }
    assert_eq!(file_system.take_blocked(), Vec::<String>::new(), "{what}");
    drop((db, families));
    assert_nothing_in_use(&file_system);
}

#[test]
fn the_blob_databases_of_rocksdb_are_read_without_blocking() {
    let has_blobs = |database: &&archive::GoldenDatabase| database.files().keys().any(|name| name.ends_with(".blob"));
    let databases: Vec<_> = archive::databases().iter().filter(has_blobs).collect();
    assert_eq!(databases.len(), 10);
    for database in databases {
        for (backend, max_open_files) in [("pread", 1), ("io_uring", 1), ("io_uring", -1)] {
            check_blob_database(database, backend, max_open_files);
        }
    }
}

fn blob_path(place: &Place, number: u64) -> PathBuf {
    place.path.join(file_name::blob(FileNumber(number)))
}

/// A blob file of the default family that no MANIFEST knows, and the references to its values.
fn write_blobs(place: &Place, number: u64, values: &[(Vec<u8>, Vec<u8>)]) -> Vec<BlobReference> {
    let header = BlobFileHeader { column_family_id: 0, has_ttl: false, compression: 0, expiration_range: (0, 0) };
    let (mut bytes, mut references) = (header.encode(), Vec::new());
    for (key, value) in values {
        bytes.extend(BlobRecordHeader::new(key, value).encode());
        bytes.extend_from_slice(key);
        let (offset, size_bytes) = (bytes.len() as u64, value.len() as u64);
        references.push(BlobReference { file_number: FileNumber(number), offset, size_bytes, compression: 0 });
        bytes.extend_from_slice(value);
    }
    write_file_synced(&place.file_system, &blob_path(place, number), &bytes).unwrap();
    references
}

fn put_reference(db: &Db, key: &[u8], index: &[u8]) {
    let mut batch = WriteBatch::new();
    batch.put_blob_index_cf(0, key, index).unwrap();
    db.write(batch, &WriteOptions::default()).unwrap();
}

const KEYS: u64 = 120;
const FIRST_FILE: u64 = 900_000;
const FILES: u64 = 5;

/// Values of many sizes, some larger than a request of the ring's buffers.
fn blob_value(file: u64, number: u64) -> Vec<u8> {
    let length = match number % 40 {
        0 => 0,
        1 => 3_000_000 + number as usize,
        2 => 300_000,
        other => other as usize * 97,
    };
    (0..length).map(|index| (index as u64 * 31 + file * 7 + number) as u8).collect()
}

fn write_all_blobs(place: &Place) -> Vec<Vec<BlobReference>> {
    let values = |file| (0..KEYS).map(|number| (key(number), blob_value(file, number))).collect::<Vec<_>>();
    (0..FILES).map(|file| write_blobs(place, FIRST_FILE + file, &values(file))).collect()
}

#[test]
fn random_histories_with_blobs_are_read_without_blocking() {
    for seed in 0..3 {
        everywhere(|place| {
            let max_open_files = [1, -1, 2][seed as usize];
            let layout = if seed == 1 { partitioned(family_options()) } else { family_options() };
            let db = place.open(max_open_files, layout);
            let references = write_all_blobs(place);
            let family = db.default_column_family().unwrap();
            let mut random = Random::new(seed);
            let (mut snapshots, mut found_large) = (vec![db.snapshot()], 0);
            for step in 0..600u32 {
                let number = random.below(KEYS);
                match random.below(100) {
                    0..=44 => {
                        let reference = references[random.below(FILES) as usize][number as usize];
                        put_reference(&db, &key(number), &reference.encode());
                    }
                    45..=47 => put_reference(&db, &key(number), b"\x00\x05inlined"),
                    48..=69 => db.merge(&key(number), format!("m{step}").as_bytes()).unwrap(),
                    70..=79 => db.put(&key(number), format!("v{step}").as_bytes()).unwrap(),
                    80..=89 => db.delete(&key(number)).unwrap(),
                    90..=91 => db.delete_range(&key(number), &key(number + 5)).unwrap(),
                    92..=94 => snapshots.push(db.snapshot()),
                    95..=98 => db.flush().unwrap(),
                    _ => db.compact_range(None, None).unwrap(),
                }
                if step % 200 == 199 {
                    let snapshot =
                        (step > 300).then(|| snapshots[random.below(snapshots.len() as u64) as usize].clone());
                    let options = ReadOptions { snapshot, verify_checksums: step > 300, ..ReadOptions::default() };
                    let keys: Vec<_> = (0..KEYS).map(key).collect();
                    let found = compare(&format!("seed {seed}, step {step}"), &db, &family, &options, &keys);
                    let is_large = |found: &&Found| found.as_ref().unwrap().as_ref().is_some_and(|v| v.len() > 200_000);
                    found_large += found.iter().filter(is_large).count();
                }
            }
            assert!(found_large > 0, "seed {seed}");
        });
    }
}

/// The values of a database of blobs without merges are those that were put there.
#[test]
fn a_blob_is_one_read_and_one_wait() {
    everywhere(|place| {
        let db = place.open(-1, family_options());
        let references = write_all_blobs(place);
        for number in 0..KEYS {
            put_reference(&db, &key(number), &references[(number % FILES) as usize][number as usize].encode());
        }
        // In memory but for the values themselves, whose files are not open.
        place.file_system.take_opened();
        let options = ReadOptions::default();
        let before = place.file_system.counters().snapshot().all_classes();
        let futures = polling(|| (0..KEYS).map(|number| db.get_async(&options, &key(number))).collect());
        for (number, found) in run_all(futures).into_iter().enumerate() {
            let number = number as u64;
            assert_eq!(owned(found).unwrap().unwrap(), blob_value(number % FILES, number));
        }
        let mut opened = place.file_system.take_opened();
        opened.sort();
        let names: Vec<_> = (0..FILES).map(|file| file_name::blob(FileNumber(FIRST_FILE + file))).collect();
        assert_eq!(opened, names, "each once");
        let requests = place.file_system.counters().snapshot().all_classes().since(before).requests;
        // Without a footer a file takes two reads to open; the largest values take requests of their own.
        let large = (0..KEYS).filter(|&number| blob_value(number % FILES, number).len() > 250_000).count() as u64;
        assert!((KEYS..=KEYS + 2 * FILES + large * 16).contains(&requests), "{requests}");
        // Now that they are open, a future waits for its record alone.
        block_on(polling(|| db.get_async(&options, &key(5)))).unwrap();
        assert_eq!(place.file_system.take_opened(), Vec::<String>::new());
    });
}

#[test]
fn what_is_wrong_with_a_blob_is_said_as_get_says_it() {
    for max_open_files in [1, -1] {
        everywhere(|place| {
            let db = place.open(max_open_files, family_options());
            let references = write_all_blobs(place);
            for number in 0..KEYS {
                put_reference(&db, &key(number), &references[(number % FILES) as usize][number as usize].encode());
            }
            // The wrong references, and operands over all that is damaged, are in memory: a flush would stop at them.
            db.flush().unwrap();
            let other = BlobReference { offset: references[0][10].offset + 1, ..references[0][10] };
            put_reference(&db, &key(10), &other.encode());
            put_reference(&db, &key(11), b"\x09 no index");
            put_reference(&db, &key(12), &BlobReference { size_bytes: 1 << 40, ..references[0][12] }.encode());
            put_reference(&db, &key(13), &BlobReference { file_number: FileNumber(0), ..references[0][13] }.encode());
            put_reference(
                &db,
                &key(14),
                &BlobReference { file_number: FileNumber(7777), ..references[0][14] }.encode(),
            );
            put_reference(&db, &key(15), &BlobReference { compression: 4, ..references[0][15] }.encode());
            for number in (0..KEYS).filter(|number| number % 3 == 0) {
                db.merge(&key(number), b"operand").unwrap();
            }
            // Three files are damaged in different ways, one is gone.
            place.file_system.remove_file(&blob_path(place, FIRST_FILE + 1)).unwrap();
            for (file, at) in [(2, 40), (3, 9), (4, usize::MAX)] {
                let path = blob_path(place, FIRST_FILE + file);
                let size = place.file_system.file_size(&path).unwrap();
                let opened = place.file_system.open_random_access(&path, &Default::default()).unwrap();
                let mut bytes = read_owned(&*opened, 0, size as usize, &ReadContext::default()).unwrap();
                match at {
                    usize::MAX => bytes.truncate(size as usize / 2),
                    at => bytes[at] ^= 0x55,
                }
                write_file_synced(&place.file_system, &path, &bytes).unwrap();
            }
            let family = db.default_column_family().unwrap();
            let keys: Vec<_> = (0..KEYS).map(key).collect();
            for verify_checksums in [true, false] {
                let options = ReadOptions { verify_checksums, ..ReadOptions::default() };
                let found = compare("damage", &db, &family, &options, &keys);
                let failed = found.iter().filter(|found| found.is_err()).count();
                assert!((40..110).contains(&failed), "{failed}");
                // Without checksums nothing notices that a reference is one byte beside its value.
                assert_eq!(found[10].is_err(), verify_checksums);
                assert!(found[11..16].iter().all(Found::is_err));
            }
            let cached = ferrock::options::ReadTier::BlockCacheOnly;
            compare("cache only", &db, &family, &ReadOptions { read_tier: cached, ..ReadOptions::default() }, &keys);
        });
    }
}

#[test]
fn time_is_over_for_blobs_too() {
    let faulty = Arc::new(FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let file_system = Watched::new(Arc::clone(&faulty) as Arc<dyn FileSystem>);
    let place = Place { file_system, path: PathBuf::from("/db"), _directory: tempfile::tempdir().unwrap() };
    let db = place.open(-1, family_options());
    let references = write_blobs(&place, FIRST_FILE, &[(key(1), b"value".to_vec()), (key(2), b"other".to_vec())]);
    put_reference(&db, &key(1), &references[0].encode());
    put_reference(&db, &key(2), &references[1].encode());
    let family = db.default_column_family().unwrap();
    let late = ReadOptions { deadline: Duration::from_secs(1), ..ReadOptions::default() };
    let hurried = ReadOptions { io_timeout: Duration::from_millis(2), ..ReadOptions::default() };
    for found in compare("1970", &db, &family, &late, &[key(1), key(2)]) {
        assert!(found.unwrap_err().starts_with("TimedOut"));
    }
    faulty.add_rule(FaultRule::new(OperationKind::Read, "*.blob", Fault::Delay(Duration::from_millis(20))));
    for found in compare("slow", &db, &family, &hurried, &[key(1), key(2)]) {
        assert!(found.unwrap_err().starts_with("TimedOut"));
    }
    faulty.clear_rules();
    assert_eq!(compare("in time", &db, &family, &ReadOptions::default(), &[key(1)]), [Ok(Some(b"value".to_vec()))]);
    assert_eq!(place.file_system.take_blocked(), Vec::<String>::new());
}
