//! Whole files and whole directories, in memory: tables, MANIFESTs, WALs, databases.
//!
//! A directory is one input of this form, so that it can be mutated and kept as a seed:
//!
//! ```text
//! file ...      file: name length u8 | name | size u32 | bytes
//! ```

use crate::{repair, split_selector};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ErrorKind, ReadOptions};
use ferrock_base::comparator::{Comparator, InternalComparator};
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{InternalIterator, LookupKey, MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use ferrock_cache::CacheOptions;
use ferrock_format::file_name;
use ferrock_format::log::{LogEvent, LogReader, SliceSource, WalRecoveryMode};
use ferrock_format::write_batch::{Record, WriteBatchRef};
use ferrock_table::options::PlainEncodingType;
use ferrock_table::{
    BlockTable, PlainTableBuilder, PlainTableOptions, Table, TableBlockCache, TableBuilderParams, TableReadOptions,
    TableReaderParams,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, ReadClass, ReadLabel, WritableOptions};
use std::collections::HashSet;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// The database that `manifest` and `wal` put one changed file into.
const BASE: &[u8] = include_bytes!("../seeds/db_open/small");
/// What an input's database needs of its options: its merge operator, and little memory.
const OPTIONS: &str = "[Version]\nrocksdb_version=11.8.1\noptions_file_version=1.1\n[DBOptions]\n\
    [CFOptions \"default\"]\nmerge_operator=StringAppendOperator\narena_block_size=4096\nwrite_buffer_size=65536\n\
    [TableOptions/BlockBasedTable \"default\"]\n\
    [CFOptions \"other\"]\nmerge_operator=StringAppendOperator\narena_block_size=4096\nwrite_buffer_size=65536\n\
    [TableOptions/BlockBasedTable \"other\"]\n";
/// Where databases lie in memory.
pub const DIRECTORY: &str = "/db";

/// The files of an input: names and bytes. The last one may be cut short.
pub fn unpack(mut input: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    while let Some((&length, rest)) = input.split_first() {
        let Some((name, rest)) = rest.split_at_checked(usize::from(length)) else { break };
        let Some((size, rest)) = rest.split_first_chunk::<4>() else { break };
        let (bytes, rest) = rest.split_at((u32::from_le_bytes(*size) as usize).min(rest.len()));
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if !name.is_empty() && name.iter().all(plain) && name.iter().any(u8::is_ascii_alphanumeric) {
            files.push((String::from_utf8_lossy(name).into_owned(), bytes.to_vec()));
        }
        input = rest;
    }
    files
}

/// The opposite of [`unpack`].
pub fn pack(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in files {
        out.push(name.len() as u8);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    }
    out
}

fn write_file(file_system: &dyn FileSystem, name: &str, bytes: &[u8]) {
    let path = Path::new(DIRECTORY).join(name);
    let mut file = file_system.create_writable(&path, &WritableOptions::default()).expect("memory does not fail");
    file.append(bytes).and_then(|()| file.sync()).and_then(|()| file.close()).expect("memory does not fail");
}

fn file_system_with(files: &[(String, Vec<u8>)]) -> Arc<dyn FileSystem> {
    let file_system = MemoryFileSystem::new();
    file_system.create_dir_all(Path::new(DIRECTORY)).expect("memory does not fail");
    for (name, bytes) in files {
        write_file(&file_system, name, bytes);
    }
    Arc::new(file_system)
}

/// A small cache of its own: mutated tables keep their names, so a shared one would hold blocks of other inputs.
fn small_cache() -> Arc<TableBlockCache> {
    TableBlockCache::new(CacheOptions { capacity_bytes: 64 << 10, ..CacheOptions::default() })
}

/// Opens the directory for reading, then for writing where the selector says so; reads everything each time.
fn open_and_read(files: &[(String, Vec<u8>)], selector: u8) {
    let file_system = file_system_with(files);
    let mut options = DbOptions::default();
    options.components.file_system = Some(Arc::clone(&file_system));
    options.wal_recovery_mode = WalRecoveryMode::ALL[usize::from(selector & 3)];
    options.components.block_cache = Some(small_cache());
    let Ok((db, families)) = Db::open_read_only(DIRECTORY, options.clone(), None) else { return };
    let mut entries = Vec::new();
    for family in &families {
        entries.push(read_everything(&db, family));
    }
    drop((db, families));
    if selector & 0x30 != 0x30 {
        return;
    }
    let Ok((db, families)) = Db::open_with_latest_options(DIRECTORY, options) else { return };
    let undefined = single_deleted_keys(files);
    for (family, expected) in families.iter().zip(entries) {
        let found = read_everything(&db, family);
        if let (Ok(mut expected), Ok(mut found)) = (expected, found) {
            expected.retain(|(key, _)| !undefined.contains(key));
            found.retain(|(key, _)| !undefined.contains(key));
            assert_eq!(expected, found, "opening for writing shows something else");
        }
    }
    let _ = db.put(b"k", b"v");
    let _ = db.flush();
    let _ = db.compact_range(None, None);
    let _ = db.close();
}

/// Keys that some record of a log single-deletes. Where such a key was put more than once, what is seen is undefined:
/// the flush that opening for writing may do takes the single deletion away together with one put, and bares another.
fn single_deleted_keys(files: &[(String, Vec<u8>)]) -> HashSet<Vec<u8>> {
    let mut keys = HashSet::new();
    for (name, bytes) in files {
        let Some(log) = file_name::parse(name).filter(|parsed| parsed.kind == file_name::FileKind::Log) else {
            continue;
        };
        let mode = WalRecoveryMode::SkipAnyCorruptedRecords;
        let mut reader = LogReader::new(SliceSource(bytes), log.number, mode).with_record_limit(1 << 20);
        let mut scratch = Vec::new();
        loop {
            match reader.read_record(&mut scratch) {
                Ok(LogEvent::End) | Err(_) => break,
                Ok(LogEvent::Record { data, .. }) => {
                    let Ok(batch) = WriteBatchRef::new(data) else { continue };
                    for record in batch.iter().map_while(Result::ok) {
                        if let Record::SingleDelete { key, .. } = record {
                            keys.insert(key.to_vec());
                        }
                    }
                }
                Ok(_) => {}
            }
        }
    }
    keys
}

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Every entry, forward; the backward scan and lookups must agree.
fn read_everything(db: &Db, family: &ferrock::ColumnFamily) -> ferrock::Result<Entries> {
    let mut iter = db.iter_cf(family, &ReadOptions::default());
    let mut entries = Vec::new();
    let mut size_bytes = 0;
    iter.seek_to_first();
    while iter.valid() {
        size_bytes += iter.key().len() + iter.value().len();
        if size_bytes > 8 << 20 {
            // Shared prefixes can make a small file hold a lot.
            return Ok(Vec::new());
        }
        entries.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status()?;
    match scan_as_futures(db, family) {
        Ok(scanned) => assert_eq!(entries, scanned, "a scan as futures shows something else"),
        Err(error) => assert_ne!(error.kind(), ErrorKind::TryAgain, "{error}"),
    }
    let mut backward = 0;
    iter.seek_to_last();
    while iter.valid() && backward <= entries.len() {
        backward += 1;
        iter.prev();
    }
    let _ = iter.status();
    for (key, _) in entries.iter().take(20) {
        let _ = db.get_cf(family, &ReadOptions::default(), key);
    }
    Ok(entries)
}

fn scan_as_futures(db: &Db, family: &ferrock::ColumnFamily) -> ferrock::Result<Entries> {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut scan = db.scan_cf_async(family, &ReadOptions::default()).with_batch_bytes(500);
    let mut entries = Entries::new();
    loop {
        match pin!(scan.next_batch()).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(batch) => match batch? {
                Some(batch) => entries.extend(batch.rows().map(|(key, value)| (key.to_vec(), value.to_vec()))),
                None => return Ok(entries),
            },
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A whole directory. Logs and MANIFEST get right checksums unless the selector says otherwise.
pub fn db_open(data: &[u8]) {
    // Seeds are plain directories; what follows the last file would be cut off anyway, so the selector comes last.
    let selector = data.last().copied().unwrap_or(0);
    let mut files = unpack(data);
    if selector & 8 == 0 {
        for (name, bytes) in &mut files {
            if name.ends_with(".log") || name.starts_with("MANIFEST") {
                repair::log_checksums(bytes);
            }
        }
    }
    open_and_read(&files, selector);
}

/// A MANIFEST over the files of a good database.
pub fn manifest(data: &[u8]) {
    replace_in_base(data, |name| name.starts_with("MANIFEST"));
}

/// The WAL of a good database, in every recovery mode.
pub fn wal(data: &[u8]) {
    replace_in_base(data, |name| name.ends_with(".log"));
}

fn replace_in_base(data: &[u8], is_replaced: impl Fn(&str) -> bool) {
    let (selector, log) = split_selector(data);
    let mut log = log.to_vec();
    if selector & 8 == 0 {
        repair::log_checksums(&mut log);
    }
    let mut files = unpack(BASE);
    let replaced = files.iter_mut().find(|(name, _)| is_replaced(name)).expect("the base has one");
    replaced.1 = log;
    open_and_read(&files, selector);
}

/// A table file, with its own checksums or (up to format_version 5) without any.
pub fn table(data: &[u8]) {
    let (selector, bytes) = split_selector(data);
    let mut bytes = bytes.to_vec();
    if selector & 1 != 0 {
        repair::no_table_checksums(&mut bytes);
    }
    let name = "000009.sst".to_owned();
    let file_system = file_system_with(&[(name.clone(), bytes)]);
    let path = Path::new(DIRECTORY).join(name);
    let file = file_system.open_random_access(&path, &RandomAccessOptions::default()).expect("memory does not fail");
    let comparator = if selector & 2 == 0 { Comparator::Bytewise } else { Comparator::ReverseBytewise };
    let mut params = TableReaderParams::new(file, file_system, InternalComparator::new(comparator));
    if selector & 4 != 0 {
        params.prefix_extractor = PrefixExtractor::built_in("rocksdb.FixedPrefix.4").expect("built in");
    }
    let Ok(reader) = BlockTable::open(params) else { return };
    let options = TableReadOptions { verify_checksums: selector & 8 == 0, ..TableReadOptions::default() };
    let mut keys = vec![b"key".to_vec()];
    let mut iter = reader.iter(options);
    iter.seek_to_first();
    // A block may be named by more than one index entry, so the bytes do not bound the entries.
    for _ in 0..20_000 {
        if !iter.valid() {
            break;
        }
        if keys.len() < 10 {
            keys.push(iter.key().to_vec());
        }
        iter.next();
    }
    let _ = iter.status();
    iter.seek_to_last();
    for _ in 0..200 {
        if !iter.valid() {
            break;
        }
        iter.prev();
    }
    for key in &keys {
        iter.seek(key);
        iter.prev();
        iter.seek_for_prev(key);
        iter.next();
        let _ = reader.approximate_offset_of(key);
    }
    let lookups: Vec<_> =
        keys.iter().map(|key| LookupKey::new(&key[..key.len().saturating_sub(8)], MAX_SEQUENCE_NUMBER)).collect();
    for lookup in &lookups {
        let _ = reader.get(&options, lookup, &mut |_, value, pinned| {
            assert_eq!(pinned.pin().value(), value);
            true
        });
        let _ = reader.prefix_may_match(&options, lookup.user_key());
    }
    let _ = reader.multi_get(&options, &lookups.iter().collect::<Vec<_>>(), &mut |_, _, _, _| true);
    let _ = (reader.anchors(10), reader.verify_checksums(0, ferrock_vfs::IoActivity::Unknown), reader.has_filter());
    let _ = reader.range_tombstones().map(|tombstones| tombstones.is_empty());
}

/// A plain table, with any prefix extractor and options.
pub fn plain_table(data: &[u8]) {
    let (selector, bytes) = split_selector(data);
    let name = "000009.sst".to_owned();
    let file_system = file_system_with(&[(name.clone(), bytes.to_vec())]);
    let path = Path::new(DIRECTORY).join(name);
    let file = file_system.open_random_access(&path, &RandomAccessOptions::default()).expect("memory does not fail");
    let comparator = if selector & 1 == 0 { Comparator::Bytewise } else { Comparator::ReverseBytewise };
    let mut params = TableReaderParams::new(file, file_system, InternalComparator::new(comparator));
    let mut options = PlainTableOptions::default();
    if selector & 2 != 0 {
        (options.index_sparseness, options.hash_table_ratio) = (1, 0.1);
    }
    if selector & 4 != 0 {
        params.prefix_extractor = PrefixExtractor::built_in("rocksdb.FixedPrefix.4").expect("built in");
    }
    params.bloom_locality = u32::from(selector & 8 != 0);
    params.plain_options = Arc::new(options);
    let Ok(table @ Table::Plain(_)) = Table::open(params) else { return };
    let options = TableReadOptions::default();
    let mut keys = vec![b"key".to_vec()];
    let mut iter = table.iter(options);
    // A record takes two bytes at least.
    let (mut forward, mut backward) = (0, 0);
    iter.seek_to_first();
    while iter.valid() {
        forward += 1;
        if keys.len() < 10 {
            keys.push(iter.key().to_vec());
        }
        assert_eq!(iter.value_pin().expect("valid").value(), iter.value());
        iter.next();
    }
    assert!(forward <= bytes.len() / 2);
    let is_whole = iter.status().is_ok();
    iter.seek_to_last();
    while iter.valid() {
        backward += 1;
        iter.prev();
    }
    assert!(!is_whole || iter.status().is_err() || forward == backward);
    for key in &keys {
        iter.seek(key);
        iter.prev();
        iter.seek_for_prev(key);
        iter.next();
        let _ = table.approximate_offset_of(key);
        let lookup = LookupKey::new(&key[..key.len().saturating_sub(8)], MAX_SEQUENCE_NUMBER);
        let _ = table.get(&options, &lookup, &mut |_, value, source| {
            assert_eq!(source.pin().value(), value);
            true
        });
    }
    let _ = table.verify_checksums(0, ferrock_vfs::IoActivity::Unknown);
}

/// A small plain table: what the seeds are made of.
pub fn small_plain_table(is_prefixed: bool, is_stored: bool) -> Vec<u8> {
    let file_system = file_system_with(&[]);
    let path = Path::new(DIRECTORY).join("000009.sst");
    let file = file_system.create_writable(&path, &WritableOptions::default()).expect("memory does not fail");
    let mut params = TableBuilderParams::new(InternalComparator::default());
    let mut options = PlainTableOptions { store_index_in_file: is_stored, index_sparseness: 3, ..Default::default() };
    if is_prefixed {
        params.prefix_extractor = PrefixExtractor::built_in("rocksdb.FixedPrefix.4").expect("built in");
        options.encoding_type = PlainEncodingType::Prefix;
    }
    params.bloom_locality = is_stored.into();
    let mut builder = PlainTableBuilder::new(params, Arc::new(options), file).expect("good options");
    for number in 0..20_u64 {
        let key = format!("key{}{number:02}", number / 8);
        let key = make_internal_key(key.as_bytes(), SequenceNumber(number % 4), ValueType::Value);
        builder.add(&key, b"value").expect("in order");
    }
    let size = builder.finish().expect("a table").file_size;
    let file = file_system.open_random_access(&path, &RandomAccessOptions::default()).expect("there");
    let mut bytes = vec![0; size as usize];
    file.read_at(0, &mut bytes, ReadLabel::whole(ReadClass::Other, size as usize)).expect("memory does not fail");
    bytes
}

/// A small database of every kind of entry, packed: what the seeds are made of.
pub fn small_database(format_version: u32) -> Vec<u8> {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.components.file_system = Some(Arc::clone(&file_system));
    let mut family = ColumnFamilyOptions::default();
    family.table.format_version = format_version;
    family.table.checksum = ferrock_base::checksum::ChecksumType::NoChecksum;
    family.table.block_size = 128;
    family.table.block_restart_interval = 4;
    family.disable_auto_compactions = true;
    family.merge_operator = ferrock_base::merge::built_in("stringappend").expect("built in");
    let families = vec![("default".to_owned(), family.clone()), ("other".to_owned(), family)];
    let (db, handles) = Db::open_cf(DIRECTORY, options, families).expect("a new database");
    let write = Default::default();
    for round in 0..3 {
        for handle in &handles {
            for number in (round..20).step_by(round + 1) {
                db.put_cf(handle, format!("key{number:02}").as_bytes(), b"value", &write).expect("put");
            }
            db.delete_cf(handle, b"key03", &write).expect("delete");
            db.merge_cf(handle, b"key04", b"operand", &write).expect("merge");
            db.delete_range_cf(handle, b"key07", b"key09", &write).expect("delete range");
            db.single_delete_cf(handle, b"key11", &write).expect("single delete");
            if round < 2 {
                db.flush_cf(handle, &ferrock::FlushOptions::default()).expect("flush");
            }
        }
    }
    db.flush_wal(true).expect("sync");
    let directory = Path::new(DIRECTORY);
    let mut files = Vec::new();
    for name in file_system.children(directory).expect("memory") {
        if name.starts_with("LOG") || name == "LOCK" {
            continue;
        }
        let file = file_system.open_random_access(&directory.join(&name), &RandomAccessOptions::default());
        let file = file.expect("memory");
        let mut bytes = vec![0; file.size() as usize];
        let length = file.read_at(0, &mut bytes, ReadLabel::default()).expect("memory");
        bytes.truncate(length);
        files.push((name, bytes));
    }
    drop(handles);
    db.close().expect("close");
    // The whole text is long, and parsed by a target of its own.
    for (name, bytes) in &mut files {
        if name.starts_with("OPTIONS") {
            *bytes = OPTIONS.as_bytes().to_vec();
        }
    }
    pack(&files)
}
