use super::file_reader::FooterRule;
use super::*;
use crate::places::FilePlaces;
use crate::table_cache::{OpenFileBudget, OpenTables};
use crate::version::{Version, VersionBuilder};
use ferrock_base::comparator::CustomComparator;
use ferrock_base::{Comparator, ErrorKind, FileNumber, InternalComparator, ValueType};
use ferrock_format::blob_file::{BlobFileFooter, BlobFileHeader, BlobRecordHeader};
use ferrock_format::blob_index::BlobReference;
use ferrock_format::version_edit::{BlobFileAddition, NewFile, VersionEdit};
use ferrock_format::wide_column::encode_entity;
use ferrock_options::ColumnFamilySettings;
use ferrock_table::ReadTier;
use ferrock_vfs::{
    FaultInjectionFileSystem, FileSystem, MemoryFileSystem, RandomAccessOptions, ReadContext, WritableOptions,
};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

const FAMILY: u32 = 3;

/// A blob file of uncompressed values, with the references to them.
fn blob_file(number: u64, pairs: &[(&str, &str)], has_footer: bool) -> (Vec<u8>, Vec<BlobReference>) {
    let header = BlobFileHeader { column_family_id: FAMILY, has_ttl: false, compression: 0, expiration_range: (0, 0) };
    let mut bytes = header.encode();
    let mut references = Vec::new();
    for (key, value) in pairs {
        bytes.extend(BlobRecordHeader::new(key.as_bytes(), value.as_bytes()).encode());
        bytes.extend_from_slice(key.as_bytes());
        let (offset, size_bytes) = (bytes.len() as u64, value.len() as u64);
        references.push(BlobReference { file_number: FileNumber(number), offset, size_bytes, compression: 0 });
        bytes.extend_from_slice(value.as_bytes());
    }
    if has_footer {
        bytes.extend(BlobFileFooter { blob_count: pairs.len() as u64, expiration_range: (0, 0) }.encode());
    }
    (bytes, references)
}

/// A reference that any file covers.
fn whole(number: u64) -> BlobReference {
    BlobReference { file_number: FileNumber(number), offset: 0, size_bytes: 0, compression: 0 }
}

struct Bench {
    file_system: Arc<MemoryFileSystem>,
    source: BlobSource,
    version: Version,
}

impl Bench {
    /// A version that has the files 1 to 4.
    fn new(max_open_files: i32) -> Self {
        let file_system = Arc::new(MemoryFileSystem::new());
        file_system.create_dir_all(Path::new("/db")).unwrap();
        let settings = ColumnFamilySettings::default();
        let addition = |number| BlobFileAddition {
            number: FileNumber(number),
            total_blob_count: 2,
            total_blob_bytes: 100,
            ..BlobFileAddition::default()
        };
        let boundary =
            ferrock_base::internal_key::make_internal_key(b"k", ferrock_base::SequenceNumber(1), ValueType::BlobIndex);
        let table = NewFile {
            number: FileNumber(9),
            smallest: boundary.clone(),
            largest: boundary,
            oldest_blob_file_number: Some(FileNumber(1)),
            ..NewFile::default()
        };
        let edit = VersionEdit {
            new_files: vec![table],
            blob_file_additions: (1..5).map(addition).collect(),
            ..VersionEdit::default()
        };
        let mut builder = VersionBuilder::new(Arc::new(Version::empty(InternalComparator::default(), &settings)));
        builder.apply(&edit).unwrap();
        let version = builder.build(&settings).unwrap();
        let options = RandomAccessOptions::default();
        let places = Arc::new(FilePlaces::new("/db".into(), "/db".into(), &[]));
        let tables = Arc::new(OpenTables::new(max_open_files, None));
        let source = BlobSource::new(Arc::clone(&file_system) as _, places, options, max_open_files, tables);
        Self { file_system, source, version }
    }

    fn write(&self, number: u64, bytes: &[u8]) {
        self.source.evict(FileNumber(number));
        let path = Path::new("/db").join(ferrock_format::file_name::blob(FileNumber(number)));
        let mut file = self.file_system.create_writable(&path, &WritableOptions::default()).unwrap();
        file.append(bytes).unwrap();
        file.close().unwrap();
    }

    fn view(&self, read_tier: ReadTier) -> BlobView<'_> {
        BlobView {
            source: &self.source,
            version: &self.version,
            column_family_id: FAMILY,
            cache: None,
            fill_cache: true,
            verify_checksums: true,
            read_tier,
            context: ReadContext::default(),
        }
    }

    /// Blocking and as a future, with and without checksums: values and errors are the same.
    fn fetch(&self, key: &str, reference: &BlobReference) -> Result<Vec<u8>> {
        for verify_checksums in [false, true] {
            let view = BlobView { verify_checksums, ..self.view(ReadTier::All) };
            let (blocking, future) = (fetched(&view, key, reference), fetch_async(&view, key, reference));
            let texts = |read: &Result<Vec<u8>>| read.clone().map_err(|error| (error.kind(), error.to_string()));
            assert_eq!(texts(&blocking), texts(&future));
        }
        fetched(&self.view(ReadTier::All), key, reference)
    }
}

fn fetched(view: &BlobView<'_>, key: &str, reference: &BlobReference) -> Result<Vec<u8>> {
    view.fetch(key.as_bytes(), &reference.encode()).map(BlobValue::into_vec)
}

fn fetch_async(view: &BlobView<'_>, key: &str, reference: &BlobReference) -> Result<Vec<u8>> {
    let BlobPlace::InFile(reference) = view.follow(key.as_bytes(), &reference.encode())? else { panic!() };
    let read =
        view.start(view.file(&reference).map_err(|error| view.explain(&reference, error))?, key.as_bytes(), &reference);
    match pin!(read).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(read) => read,
        Poll::Pending => panic!("it is in memory"),
    }
}

const PAIRS: [(&str, &str); 2] = [("k1", "a value"), ("key2", "another value")];

#[test]
#[cfg(unix)]
fn a_blob_file_that_nothing_uses_is_closed_for_want_of_descriptors() {
    let bench = Bench::new(-1);
    (1..5).for_each(|number| bench.write(number, &blob_file(number, &PAIRS, true).0));
    let limited = FaultInjectionFileSystem::new(Arc::clone(&bench.file_system) as _);
    limited.set_open_file_limit(Some(2));
    let places = Arc::new(FilePlaces::new("/db".into(), "/db".into(), &[]));
    let tables = Arc::new(OpenTables::new(-1, Some(OpenFileBudget::new(2))));
    let source = BlobSource::new(Arc::new(limited.clone()), places, RandomAccessOptions::default(), -1, tables);
    let open = |number| source.get(&whole(number), FAMILY, FooterRule::Required);
    (1..5).for_each(|number| drop(open(number).unwrap()));
    assert_eq!((source.open_files(), limited.open_files()), (2, 2));
    let _in_use = (open(1).unwrap(), open(2).unwrap());
    let error = open(3).unwrap_err();
    assert!(error.is_out_of_descriptors() && error.to_string().contains("all 2 files"), "{error}");
    assert!(error.to_string().contains("ulimit -n"), "{error}");
}

#[test]
fn values_are_read_and_few_files_stay_open() {
    let bench = Bench::new(2);
    let mut all = Vec::new();
    for number in 1..5 {
        let (bytes, references) = blob_file(number, &PAIRS, true);
        bench.write(number, &bytes);
        all.push(references);
    }
    for _ in 0..3 {
        for references in &all {
            for (reference, (key, value)) in references.iter().zip(PAIRS) {
                assert_eq!(bench.fetch(key, reference).unwrap(), value.as_bytes());
                assert!((1..=2).contains(&bench.source.open_files()));
            }
        }
    }
    bench.view(ReadTier::All).verify_all().unwrap();
    let tier = bench.view(ReadTier::BlockCacheOnly).fetch(b"k1", &all[0][0].encode());
    assert_eq!(tier.unwrap_err().kind(), ErrorKind::Incomplete);
    assert_eq!(bench.view(ReadTier::All).fetch(b"k", b"\x00\x05inline").unwrap(), b"inline");
    let context = ReadContext { deadline_us: 1, ..ReadContext::default() };
    let late = BlobView { context, ..bench.view(ReadTier::All) }.fetch(b"k1", &all[0][0].encode());
    assert_eq!(late.unwrap_err().kind(), ErrorKind::TimedOut);
}

#[test]
fn every_changed_byte_is_noticed_or_harmless() {
    let bench = Bench::new(-1);
    let (bytes, references) = blob_file(1, &PAIRS, true);
    for position in 0..bytes.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[position] ^= change;
            bench.write(1, &damaged);
            let mut failures = 0;
            for (reference, (key, value)) in references.iter().zip(PAIRS) {
                match bench.fetch(key, reference) {
                    Ok(read) => assert_eq!(read, value.as_bytes(), "byte {position}"),
                    Err(error) => {
                        failures += 1;
                        assert!(matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotSupported), "{error}");
                        assert!(error.to_string().contains("file /db/000001.blob"), "byte {position}: {error}");
                        let is_offset_known = error.is_corruption();
                        assert!(!is_offset_known || error.to_string().contains("offset "), "byte {position}: {error}");
                    }
                }
            }
            assert!(failures > 0, "byte {position} was not missed");
        }
    }
}

#[test]
fn references_are_checked_before_anything_is_read() {
    let bench = Bench::new(-1);
    let (bytes, references) = blob_file(1, &PAIRS, true);
    bench.write(1, &bytes);
    let good = references[0];
    let refused = |key: &str, reference: BlobReference| {
        let error = bench.fetch(key, &reference).unwrap_err();
        assert!(error.is_corruption() && error.to_string().contains("000001.blob"), "{error}");
    };
    for offset in [0, 1, good.offset - 1, good.offset + 1, bytes.len() as u64, u64::MAX] {
        refused("k1", BlobReference { offset, ..good });
    }
    for size_bytes in [0, good.size_bytes - 1, good.size_bytes + 1, bytes.len() as u64, 1 << 40, u64::MAX] {
        refused("k1", BlobReference { size_bytes, ..good });
    }
    refused("k1", BlobReference { compression: 7, ..good });
    refused("k2", good);
    refused("k", good);
    refused(&"k".repeat(1000), good);
    let embedded = bench.fetch("k1", &BlobReference { file_number: FileNumber(0), ..good });
    assert_eq!(embedded.unwrap_err().kind(), ErrorKind::NotSupported);
    for index in [&b""[..], b"\x01", b"\x09abc", b"\x01\x01\x01\x01\x00\x00"] {
        let error = bench.view(ReadTier::All).fetch(b"k1", index).unwrap_err();
        assert!(error.is_corruption() && error.to_string().contains("value of key k1"), "{error}");
    }
}

#[test]
fn a_file_without_footer_is_read_only_when_the_version_does_not_have_it() {
    let bench = Bench::new(-1);
    for (number, is_read) in [(1, false), (7, true)] {
        let (bytes, references) = blob_file(number, &PAIRS, false);
        bench.write(number, &bytes);
        let read = bench.fetch(PAIRS[1].0, &references[1]);
        assert_eq!(read.is_ok(), is_read, "{read:?}");
        let closed = || closed_file(&*bench.file_system, Path::new("/db"), FileNumber(number));
        assert_eq!(closed(), None);
        bench.write(number, &blob_file(number, &PAIRS, true).0);
        assert_eq!(bench.fetch(PAIRS[1].0, &references[1]).unwrap(), PAIRS[1].1.as_bytes());
        assert_eq!(closed().unwrap().total_blob_count, PAIRS.len() as u64);
        assert_eq!(closed().unwrap().total_blob_bytes, bytes.len() as u64 - 30);
    }
    let missing = BlobReference { file_number: FileNumber(8), offset: 64, size_bytes: 1, compression: 0 };
    let error = bench.fetch("k1", &missing).unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("Invalid blob file number"), "{error}");
    let listed = bench.fetch("k1", &BlobReference { file_number: FileNumber(2), ..missing }).unwrap_err();
    assert!(listed.kind() == ErrorKind::Io && listed.to_string().contains("000002.blob"), "{listed}");
}

#[test]
fn a_file_of_another_family_is_refused() {
    let bench = Bench::new(-1);
    bench.write(1, &blob_file(1, &PAIRS, true).0);
    let opened = bench.source.get(&whole(1), FAMILY + 1, FooterRule::Required);
    assert!(opened.unwrap_err().to_string().contains("of column family 3, not 4"));
}

#[test]
fn garbage_is_what_went_in_and_did_not_come_out() {
    let bench = Bench::new(-1);
    let key = |text: &str| {
        ferrock_base::internal_key::make_internal_key(
            text.as_bytes(),
            ferrock_base::SequenceNumber(1),
            ValueType::Value,
        )
    };
    let reference =
        |number, size_bytes| BlobReference { file_number: FileNumber(number), offset: 100, size_bytes, compression: 0 };
    let (mut read, mut written) = (BlobFlow::default(), BlobFlow::default());
    read.add(&key("a"), &reference(1, 10));
    read.add(&key("bcd"), &reference(1, 20));
    read.add(&key("e"), &reference(2, 30));
    read.add(&key("f"), &reference(7, 40));
    written.add(&key("a"), &reference(1, 10));
    written.add(&key("e"), &reference(2, 30));
    let garbage = read.garbage(&written, &bench.version);
    assert_eq!(garbage.len(), 1, "file 2 lost nothing, and nothing is known of file 7: {garbage:?}");
    let only = &garbage[0];
    assert_eq!((only.number.0, only.garbage_blob_count, only.garbage_blob_bytes), (1, 1, 32 + 3 + 20));
}

#[test]
fn references_in_entities_count() {
    let entity = b"\x02\x03\x03\x03\x05\x01\x11\x01\x00\x03\x02\x02\x05\x01bigsmdd\x01\x07\x40\x1e\x00s";
    let mut seen = Vec::new();
    let mut see = |value_type, value: &[u8]| {
        for_each_reference(value_type, value, |reference| {
            seen.push(reference.file_number.0);
            Ok(())
        })
    };
    see(ValueType::WideColumnEntity, entity).unwrap();
    see(ValueType::WideColumnEntity, &encode_entity(&[(b"c", b"v")]).unwrap()).unwrap();
    see(ValueType::Value, b"\x01\x08\x40\x1e\x00").unwrap();
    see(ValueType::BlobIndex, b"\x01\x09\x40\x1e\x00").unwrap();
    assert!(see(ValueType::BlobIndex, b"\x01\x09").unwrap_err().is_corruption());
    assert!(see(ValueType::WideColumnEntity, &entity[..9]).unwrap_err().is_corruption());
    assert_eq!(seen, [7, 9]);
}

/// Keys are equal if their first bytes are.
#[derive(Debug)]
struct FirstByte;

impl CustomComparator for FirstByte {
    fn name(&self) -> &str {
        "test.FirstByte"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        a.first().cmp(&b.first())
    }
}

#[test]
fn the_record_of_a_key_is_found_by_other_bytes_that_the_order_calls_equal() {
    let bench = Bench::new(10);
    let long = "b".repeat(20_000);
    let (bytes, references) = blob_file(1, &[("apple", "one"), (&long, "two"), ("c", "three")], true);
    bench.write(1, &bytes);
    let file = bench.source.get(&whole(1), FAMILY, FooterRule::Required).unwrap();
    let first_byte = Comparator::Custom(Arc::new(FirstByte));
    let read = |key: &str, reference, order| {
        [false, true].map(|verify| {
            file.read_by_order(key.as_bytes(), reference, verify, &ReadContext::default(), order).map_err(|e| e.kind())
        })
    };
    for (key, reference, value) in [
        ("apple", &references[0], "one"),
        ("angle", &references[0], "one"),
        ("a", &references[0], "one"),
        ("a much longer key than there is room for before the value", &references[0], "one"),
        ("b", &references[1], "two"),
        ("cdefghi", &references[2], "three"),
    ] {
        assert_eq!(read(key, reference, &first_byte), [Ok(value.as_bytes().to_vec()), Ok(value.as_bytes().to_vec())]);
    }
    let [_, verified] = read("angle", &references[0], &Comparator::Bytewise);
    assert_eq!(verified, Err(ErrorKind::Corruption));
    let [_, verified] = read("x", &references[0], &first_byte);
    assert_eq!(verified, Err(ErrorKind::Corruption), "a key that is not equal");
}

#[derive(Debug)]
struct KeepsAll;

impl KeepFiles for KeepsAll {
    fn let_go(&self, _directory: &Path, _numbers: &[FileNumber], _are_abandoned: bool) {}
}

/// Or a cache that has the first value would give it for the second.
#[test]
fn no_place_in_a_file_is_given_twice() {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    file_system.create_dir_all(Path::new("/db")).unwrap();
    let keeper = Arc::new(KeepsAll);
    let place = DirectPlace { file_system, directory: "/db".into(), column_family_id: 0, keeper, checksums: None };
    let blobs = DirectBlobs::new(place);
    let settings = ColumnFamilySettings::default();
    let how = DirectOptions {
        settings: &settings,
        bytes_per_sync: 0,
        strict_bytes_per_sync: false,
        warmed: None,
        partition: 0,
    };
    let mut numbers = 10..;
    let mut add = |value: &[u8]| {
        let reference = blobs.add(&how, b"key", value, || FileNumber(numbers.next().unwrap())).unwrap();
        (reference.file_number, reference.offset)
    };
    let first = add(b"first");
    blobs.flush(false).unwrap();
    let second = add(b"other");
    blobs.flush(true).unwrap();
    assert_ne!(first, second);
    assert_ne!(second, add(b"third"));
}
