//! What a table of a writer has, and a reader finds.

use crate::common::{Contents, options_on};
use crate::rig::{TestFile, key};
use ferrock::{ColumnFamilyOptions, DbOptions, ErrorKind, ReadOptions, SstFileReader, SstFileWriter, ValueType};
use ferrock_base::comparator::Comparator;
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_format::properties::UNKNOWN_COLUMN_FAMILY_ID;
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::path::Path;
use std::sync::Arc;

fn rig() -> (MemoryFileSystem, DbOptions, ColumnFamilyOptions) {
    let file_system = MemoryFileSystem::new();
    let db = options_on(Arc::new(file_system.clone()));
    let mut options = ColumnFamilyOptions::default();
    options.merge_operator = Some(Arc::new(StringAppend::default()));
    (file_system, db, options)
}

#[test]
fn a_table_says_what_rocksdb_expects_of_one_to_be_ingested() {
    let (_, db, options) = rig();
    let mut writer = SstFileWriter::new(&db, options.clone());
    let mut ids = Vec::new();
    for (number, path) in (1..).zip(["/a.sst", "/b.sst"]) {
        writer.open(path).unwrap();
        writer.put(b"b", b"1").unwrap();
        writer.merge(b"c", b"2").unwrap();
        writer.delete(b"d").unwrap();
        writer.single_delete(b"e").unwrap();
        writer.delete_range(b"m", b"p").unwrap();
        writer.delete_range(b"a", b"c").unwrap();
        writer.delete_range(b"x", b"x").unwrap();
        let info = writer.finish().unwrap();
        assert_eq!((info.num_entries, info.num_range_del_entries, info.version), (4, 2, 2));
        assert_eq!((&info.smallest_key[..], &info.largest_key[..]), (&b"b"[..], &b"e"[..]));
        assert_eq!((&info.smallest_range_del_key[..], &info.largest_range_del_key[..]), (&b"a"[..], &b"p"[..]));
        assert_eq!((info.file_size, &*info.file_path), (writer.file_size(), Path::new(path)));
        let reader = SstFileReader::open(path, &db, options.clone()).unwrap();
        let properties = reader.properties();
        assert_eq!(properties.external_sst_file_version, Some(2));
        assert_eq!(properties.external_sst_file_global_seqno, Some(0));
        assert_eq!(properties.column_family_id, UNKNOWN_COLUMN_FAMILY_ID);
        assert_eq!((properties.num_entries, properties.num_range_deletions, properties.num_deletions), (6, 2, 4));
        assert_eq!((properties.db_id.as_str(), properties.original_file_number), ("SST Writer", number));
        assert_eq!(properties.key_largest_seqno, Some(0));
        ids.push(properties.db_session_id.clone());
        let mut types = Vec::new();
        reader
            .visit_entries(|key, _| {
                assert_eq!(key.sequence.0, 0);
                types.push(key.value_type);
                true
            })
            .unwrap();
        assert_eq!(types, [ValueType::Value, ValueType::Merge, ValueType::Deletion, ValueType::SingleDeletion]);
        assert_eq!(reader.range_deletions().len(), 2);
        reader.verify_checksum().unwrap();
        reader.verify_num_entries().unwrap();
    }
    assert_eq!(ids[0], ids[1], "one session, and another number in each table");
}

#[test]
fn a_reader_shows_what_a_database_of_the_table_alone_would() {
    let (_, db, options) = rig();
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let file = TestFile::random(&mut random, "f");
        file.write(Path::new("/table.sst"), &db, &options);
        let mut expected = Contents::new();
        file.apply(&mut expected);
        let reader = SstFileReader::open("/table.sst", &db, options.clone()).unwrap();
        let mut iter = reader.iter(&ReadOptions::default());
        let mut found = Contents::new();
        iter.seek_to_first();
        while iter.valid() {
            found.insert(iter.key().to_vec(), iter.value().to_vec());
            iter.next();
        }
        iter.status().unwrap();
        assert_eq!(found, expected, "seed {seed}");
        let (from, to) = (key(random.below(60)), key(random.below(60)));
        let bounds =
            ReadOptions { lower_bound: Some(from.clone()), upper_bound: Some(to.clone()), ..ReadOptions::default() };
        let mut iter = reader.iter(&bounds);
        iter.seek_to_last();
        let last = expected.range(from.clone()..to.max(from)).next_back();
        assert_eq!(iter.valid().then(|| iter.key()), last.map(|(key, _)| &key[..]), "seed {seed}");
        reader.verify_num_entries().unwrap();
    }
}

#[test]
fn keys_come_in_the_order_of_the_comparator() {
    let (file_system, db, mut options) = rig();
    let mut writer = SstFileWriter::new(&db, options.clone());
    assert_eq!(writer.put(b"a", b"").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::InvalidArgument);
    writer.open("/table.sst").unwrap();
    let error = writer.finish().unwrap_err();
    assert!(error.to_string().contains("no entries") && error.to_string().contains("/table.sst"), "{error}");
    writer.put(b"m", b"").unwrap();
    for key in [&b"m"[..], b"a"] {
        let error = writer.put(key, b"").unwrap_err().to_string();
        assert!(error.contains(&format!("{} comes after m", key.escape_ascii())), "{error}");
    }
    assert!(writer.delete_range(b"z", b"a").is_err());
    writer.put(b"n", b"").unwrap();
    assert_eq!(writer.finish().unwrap().num_entries, 2, "the table goes on without what was refused");
    // One that is not finished is removed.
    writer.open("/other.sst").unwrap();
    writer.put(b"a", b"").unwrap();
    drop(writer);
    assert!(!file_system.exists(Path::new("/other.sst")).unwrap());

    options.comparator = Comparator::ReverseBytewise;
    let mut writer = SstFileWriter::new(&db, options.clone());
    writer.open("/reverse.sst").unwrap();
    writer.put(b"b", b"").unwrap();
    writer.put(b"a", b"").unwrap();
    assert!(writer.put(b"c", b"").is_err());
    assert!(writer.delete_range(b"a", b"b").is_err());
    writer.delete_range(b"z", b"y").unwrap();
    writer.finish().unwrap();
    let wrong = SstFileReader::open("/reverse.sst", &db, ColumnFamilyOptions::default()).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::InvalidArgument, "{wrong}");
}

#[test]
fn a_reader_finds_what_is_damaged() {
    let (file_system, db, options) = rig();
    let mut writer = SstFileWriter::new(&db, options.clone());
    writer.open("/table.sst").unwrap();
    for number in 0..500 {
        writer.put(&key(number), &[7; 100]).unwrap();
    }
    writer.finish().unwrap();
    let whole = read_file(&file_system, Path::new("/table.sst")).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 60) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        write_file_synced(&file_system, Path::new("/flipped.sst"), &flipped).unwrap();
        let found = SstFileReader::open("/flipped.sst", &db, options.clone());
        assert!(found.and_then(|reader| reader.verify_checksum()).is_err(), "byte {at}");
        write_file_synced(&file_system, Path::new("/short.sst"), &whole[..at]).unwrap();
        assert!(SstFileReader::open("/short.sst", &db, options.clone()).is_err(), "{at} bytes");
    }
}
