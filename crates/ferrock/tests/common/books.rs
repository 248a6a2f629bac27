//! The books of blob files: what the MANIFEST says of each is compared with the references that the live tables really
//! hold, and with the files that are really there.

use ferrock_base::internal_key::ParsedInternalKey;
use ferrock_base::iterator::InternalIterator;
use ferrock_base::{Comparator, InternalComparator, ValueType};
use ferrock_format::blob_index::BlobReference;
use ferrock_format::compression::{CompressionType, decompress};
use ferrock_format::log::{LogEvent, LogReader, SliceSource};
use ferrock_format::version_edit::VersionEdit;
use ferrock_format::wide_column::decode_entity;
use ferrock_table::{BlockTable, TableReadOptions, TableReaderParams};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, read_file, write_file_synced};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What the MANIFEST says.
#[derive(Debug, Default)]
pub struct Books {
    /// Blob file -> records and bytes that are not garbage.
    pub blobs: BTreeMap<u64, (u64, u64)>,
    /// Table -> the oldest blob file it refers to.
    pub tables: BTreeMap<u64, Option<u64>>,
}

pub fn read_books(file_system: &dyn FileSystem, path: &Path) -> Books {
    let current = String::from_utf8(read_file(file_system, &path.join("CURRENT")).unwrap()).unwrap();
    let manifest = read_file(file_system, &path.join(current.trim())).unwrap();
    let mut reader = LogReader::manifest(SliceSource(&manifest));
    let (mut books, mut scratch) = (Books::default(), Vec::new());
    while let LogEvent::Record { data, .. } = reader.read_record(&mut scratch).unwrap() {
        let edit = VersionEdit::decode(data).unwrap();
        for deleted in &edit.deleted_files {
            books.tables.remove(&deleted.number.0);
        }
        for file in &edit.new_files {
            books.tables.insert(file.number.0, file.oldest_blob_file_number.map(|number| number.0));
        }
        for blob in &edit.blob_file_additions {
            books.blobs.insert(blob.number.0, (blob.total_blob_count, blob.total_blob_bytes));
        }
        for garbage in &edit.blob_file_garbages {
            let (count, bytes) = books.blobs.get_mut(&garbage.number.0).unwrap();
            *count = count.checked_sub(garbage.garbage_blob_count).unwrap();
            *bytes = bytes.checked_sub(garbage.garbage_blob_bytes).unwrap();
        }
    }
    books.blobs.retain(|_, (count, _)| *count > 0);
    books
}

/// The value of a reference, without what the engine's reader checks.
pub fn blob_value(file_system: &dyn FileSystem, path: &Path, index: &[u8]) -> Vec<u8> {
    let reference = BlobReference::decode(index).unwrap();
    let file = read_file(file_system, &path.join(format!("{:06}.blob", reference.file_number.0))).unwrap();
    let stored = &file[reference.offset as usize..][..reference.size_bytes as usize];
    match CompressionType::try_from(reference.compression).unwrap() {
        CompressionType::NoCompression => stored.to_vec(),
        compression => decompress(compression, stored, 2, None, 1 << 30).unwrap(),
    }
}

/// References in a table: file -> records and bytes.
fn references(file_system: &dyn FileSystem, path: &Path, table: u64) -> BTreeMap<u64, (u64, u64)> {
    // A reader owns its file system, so the table is copied into one.
    let copy = MemoryFileSystem::new();
    let name = format!("{table:06}.sst");
    let bytes = read_file(file_system, &path.join(&name)).unwrap();
    copy.create_dir_all(Path::new("/copy")).unwrap();
    write_file_synced(&copy, &Path::new("/copy").join(&name), &bytes).unwrap();
    let file = copy.open_random_access(&Path::new("/copy").join(&name), &RandomAccessOptions::default()).unwrap();
    let order = InternalComparator::new(Comparator::Bytewise);
    let reader = BlockTable::open(TableReaderParams::new(file, Arc::new(copy), order)).unwrap();
    let mut found: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut iter = reader.iter(TableReadOptions::default());
    iter.seek_to_first();
    while iter.valid() {
        let key = ParsedInternalKey::parse(iter.key()).unwrap();
        let indexes: Vec<&[u8]> = match key.value_type {
            ValueType::BlobIndex => vec![iter.value()],
            ValueType::WideColumnEntity => {
                let columns = decode_entity(iter.value()).unwrap();
                columns.into_iter().filter(|column| column.is_blob_index).map(|column| column.value).collect()
            }
            _ => Vec::new(),
        };
        for index in indexes {
            let reference = BlobReference::decode(index).unwrap();
            let (count, bytes) = found.entry(reference.file_number.0).or_default();
            *count += 1;
            *bytes += 32 + key.user_key.len() as u64 + reference.size_bytes;
        }
        iter.next();
    }
    iter.status().unwrap();
    found
}

/// Compares MANIFEST and tables. `unlisted` blob files are known to no MANIFEST.
pub fn check_books(what: &str, file_system: &dyn FileSystem, path: &Path, unlisted: &BTreeSet<u64>) {
    let books = read_books(file_system, path);
    let mut found: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for (table, oldest) in &books.tables {
        let references = references(file_system, path, *table);
        assert_eq!(*oldest, references.keys().next().copied(), "{what}: oldest blob file of table {table}");
        for (file, (count, bytes)) in references {
            let sum = found.entry(file).or_default();
            *sum = (sum.0 + count, sum.1 + bytes);
        }
    }
    found.retain(|number, _| !unlisted.contains(number));
    assert_eq!(books.blobs, found, "{what}: live records by blob file, in the MANIFEST and in the tables");
}

/// Compares MANIFEST and directory. Only true while no old reader is around.
pub fn check_directory(what: &str, file_system: &dyn FileSystem, path: &Path, unlisted: &BTreeSet<u64>) {
    let wanted: BTreeSet<u64> =
        read_books(file_system, path).blobs.keys().copied().chain(unlisted.iter().copied()).collect();
    assert_eq!(blob_files(file_system, path), wanted, "{what}: blob files in the directory");
    let unfinished = file_system.children(path).unwrap().into_iter().find(|name| name.ends_with(".dbtmp"));
    assert_eq!(unfinished, None, "{what}: a file that no job writes");
}

pub fn blob_files(file_system: &dyn FileSystem, path: &Path) -> BTreeSet<u64> {
    let names = file_system.children(path).unwrap().into_iter();
    names.filter_map(|name| name.strip_suffix(".blob").map(|number| number.parse().unwrap())).collect()
}
