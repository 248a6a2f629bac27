//! Damaged and forged partitioned indexes and filters. Damage that a checksum sees is `Corruption` or goes unnoticed
//! with right answers, never anything else. A forged table with renewed checksums may give wrong answers (a handle to
//! another partition is a handle), but no panic, no endless loop, and never more memory than the file could need.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

#[path = "common/allocation.rs"]
mod allocation;
mod common;

use allocation::peak_of;
use common::{Entries, get_all, open_by_itself};
use ferrock_base::checksum::ChecksumType;
use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{
    Error, ErrorKind, InternalComparator, InternalIterator, LookupKey, MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType,
};
use ferrock_cache::{BlockCache, CacheOptions};
use ferrock_format::block::MetaBlock;
use ferrock_format::compression::CompressionType;
use ferrock_format::filter::FilterPolicy;
use ferrock_format::footer::{Footer, MAX_FOOTER_SIZE};
use ferrock_format::handle::BlockHandle;
use ferrock_format::trailer::{self, BLOCK_TRAILER_SIZE};
use ferrock_table::options::IndexType;
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, TableBlockCache, TableBuilderParams, TableReadOptions,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, WritableOptions, read_file, write_file_synced};
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "/000009.sst";
const DAMAGED: &str = "/000010.sst";
/// Entries that a scan may show before it counts as endless.
const MOST_ENTRIES: usize = 100_000;

#[derive(Clone, Copy, Debug)]
struct Form {
    format_version: u32,
    checksum: ChecksumType,
    is_decoupled: bool,
    compression: CompressionType,
}

const FORMS: [Form; 3] = [
    Form {
        format_version: 5,
        checksum: ChecksumType::Crc32c,
        is_decoupled: false,
        compression: CompressionType::NoCompression,
    },
    Form { format_version: 7, checksum: ChecksumType::Xxh3, is_decoupled: true, compression: CompressionType::Lz4 },
    Form { format_version: 4, checksum: ChecksumType::XxHash, is_decoupled: true, compression: CompressionType::Zstd },
];

fn key_of(index: u64) -> Vec<u8> {
    format!("{:02}key{index:04}", index / 9).into_bytes()
}

fn entries() -> Entries {
    let entry = |index| {
        let value = format!("value{index}").repeat(2).into_bytes();
        (make_internal_key(&key_of(index), SequenceNumber(100 + index), ValueType::Value), value)
    };
    // Odd keys are there, even ones are not.
    (0..90u64).map(|index| entry(2 * index + 1)).collect()
}

/// A table with many partitions, and the places of its parts.
struct Table {
    form: Form,
    file_system: Arc<dyn FileSystem>,
    bytes: Vec<u8>,
    footer: Footer,
    meta: Vec<(Vec<u8>, BlockHandle)>,
    top_index: BlockHandle,
    index_partitions: Vec<(Vec<u8>, BlockHandle)>,
    top_filter: BlockHandle,
    filter_partitions: Vec<(Vec<u8>, BlockHandle)>,
    data: Vec<BlockHandle>,
}

fn build(form: Form) -> Table {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let mut params = TableBuilderParams::new(InternalComparator::default());
    let options = BlockBasedTableOptions {
        format_version: form.format_version,
        checksum: form.checksum,
        block_size: 90,
        index_type: IndexType::TwoLevelIndexSearch,
        partition_filters: true,
        decouple_partitioned_filters: form.is_decoupled,
        metadata_block_size: 70,
        enable_index_compression: form.compression != CompressionType::NoCompression,
        ..BlockBasedTableOptions::default()
    };
    params.options = Arc::new(options);
    params.compression = form.compression;
    params.filter_policy = FilterPolicy::bloom(10.0);
    params.prefix_extractor = Some(PrefixExtractor::Fixed(2));
    let file = file_system.create_writable(Path::new(PATH), &WritableOptions::default()).unwrap();
    let mut builder = BlockTableBuilder::new(params, file).unwrap();
    for (key, value) in entries() {
        builder.add(&key, &value).unwrap();
    }
    builder.finish().unwrap();
    let bytes = read_file(&*file_system, Path::new(PATH)).unwrap();
    let footer = Footer::decode(&bytes[bytes.len() - MAX_FOOTER_SIZE..], bytes.len() as u64).unwrap();
    let reader = open_by_itself(&file_system, Path::new(PATH), None, |_| {}).unwrap();
    let meta = reader.contents().meta_blocks().unwrap();
    let top_index = reader.contents().footer().index;
    let top_filter = meta.iter().find(|(name, _)| name.starts_with(b"partitionedfilter.")).unwrap().1;
    let mut data = Vec::new();
    reader
        .contents()
        .visit_index(&mut |_, entry| {
            data.push(entry.handle);
            true
        })
        .unwrap();
    let mut table = Table {
        form,
        file_system,
        footer,
        meta,
        top_index,
        index_partitions: Vec::new(),
        top_filter,
        filter_partitions: Vec::new(),
        data,
        bytes,
    };
    table.index_partitions = table.handles_in(&table.payload(top_index));
    table.filter_partitions = table.handles_in(&table.payload(top_filter));
    let counts = (table.index_partitions.len(), table.filter_partitions.len(), table.data.len());
    assert!(counts.0 > 5 && counts.1 > 2 && counts.2 > 25, "{counts:?}");
    table
}

impl Table {
    fn range(&self, handle: BlockHandle) -> std::ops::Range<usize> {
        let start = usize::try_from(handle.offset).unwrap();
        start..start + usize::try_from(handle.size).unwrap() + BLOCK_TRAILER_SIZE
    }

    /// The uncompressed payload of a block.
    fn payload(&self, handle: BlockHandle) -> Vec<u8> {
        let stored = &self.bytes[self.range(handle)];
        let (payload, compression) =
            trailer::verify(self.footer.checksum_type, stored, self.footer.base_context_checksum, handle.offset)
                .unwrap();
        let kind = CompressionType::try_from(compression).unwrap();
        ferrock_format::compression::decompress(kind, payload, self.form.format_version, None, 1 << 20).unwrap()
    }

    /// Keys and handles of an index block in which every entry is a restart, and so is written whole.
    fn handles_in(&self, payload: &[u8]) -> Vec<(Vec<u8>, BlockHandle)> {
        let restarts = u32::from_le_bytes(*payload.last_chunk().unwrap()) as usize;
        let end = payload.len() - 4 - 4 * restarts;
        let (mut at, mut found) = (0, Vec::new());
        while at < end {
            let length = usize::from(payload[at + 1]);
            assert!(payload[at] == 0 && length < 128, "lengths of one byte");
            let key = payload[at + 2..at + 2 + length].to_vec();
            let (handle, encoded) = BlockHandle::decode(&payload[at + 2 + length..]).unwrap();
            found.push((key, handle));
            at += 2 + length + encoded;
        }
        assert_eq!(found.len(), restarts);
        found
    }

    /// Appends a block with a valid trailer; returns its handle.
    fn append(&self, file: &mut Vec<u8>, payload: &[u8]) -> BlockHandle {
        let handle = BlockHandle { offset: file.len() as u64, size: payload.len() as u64 };
        file.extend_from_slice(payload);
        let (kind, context) = (self.footer.checksum_type, self.footer.base_context_checksum);
        file.extend_from_slice(&trailer::encode(kind, payload, 0, context, handle.offset));
        handle
    }

    /// The file with blocks appended, and with other handles of index and filter, all with valid checksums. `forge`
    /// appends blocks and changes the handles.
    fn forged(&self, forge: impl FnOnce(&mut Vec<u8>, &mut BlockHandle, &mut BlockHandle)) -> Vec<u8> {
        let mut file = self.bytes[..self.bytes.len() - MAX_FOOTER_SIZE].to_vec();
        let (mut index, mut filter) = (self.top_index, self.top_filter);
        forge(&mut file, &mut index, &mut filter);
        let mut rows = self.meta.clone();
        for (name, handle) in &mut rows {
            if name.starts_with(b"partitionedfilter.") {
                *handle = filter;
            } else if name == b"rocksdb.index" {
                *handle = index;
            }
        }
        let rows: Vec<(Vec<u8>, Vec<u8>)> = rows
            .into_iter()
            .map(|(name, handle)| {
                let mut value = Vec::new();
                handle.encode_to(&mut value);
                (name, value)
            })
            .collect();
        let block = plain_block(&rows);
        assert_eq!(MetaBlock::new(&block).unwrap().entries().unwrap().len(), self.meta.len());
        let metaindex = self.append(&mut file, &block);
        let mut footer = self.footer.clone();
        footer.metaindex = metaindex;
        if footer.index.is_some() {
            footer.index = Some(index);
        }
        let offset = file.len() as u64;
        file.extend_from_slice(&footer.encode(offset).unwrap());
        file
    }
}

/// An index block: every entry a restart, handles written whole.
fn index_block(rows: &[(Vec<u8>, BlockHandle)]) -> Vec<u8> {
    let (mut block, mut restarts) = (Vec::new(), Vec::new());
    for (key, handle) in rows {
        restarts.extend_from_slice(&(block.len() as u32).to_le_bytes());
        block.extend_from_slice(&[0, u8::try_from(key.len()).unwrap()]);
        block.extend_from_slice(key);
        handle.encode_to(&mut block);
    }
    let count = rows.len() as u32;
    block.extend_from_slice(&restarts);
    block.extend_from_slice(&count.to_le_bytes());
    block
}

/// A block of names and values.
fn plain_block(rows: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let (mut block, mut restarts) = (Vec::new(), Vec::new());
    for (key, value) in rows {
        restarts.extend_from_slice(&(block.len() as u32).to_le_bytes());
        block.extend_from_slice(&[0, u8::try_from(key.len()).unwrap(), u8::try_from(value.len()).unwrap()]);
        block.extend_from_slice(key);
        block.extend_from_slice(value);
    }
    let count = rows.len() as u32;
    block.extend_from_slice(&restarts);
    block.extend_from_slice(&count.to_le_bytes());
    block
}

/// The results of every way to read a table.
#[derive(Debug, PartialEq)]
struct Answers {
    forward: Entries,
    backward: Entries,
    gets: Vec<Entries>,
    batch: Vec<Entries>,
    /// May a key with the prefix be there? Only of prefixes that are.
    prefixes: Vec<bool>,
}

fn walk(reader: &Arc<BlockTable>, is_backward: bool) -> Result<Entries, Error> {
    let mut iter = reader.iter(TableReadOptions::default());
    let mut found = Vec::new();
    if is_backward {
        iter.seek_to_last();
    } else {
        iter.seek_to_first();
    }
    while iter.valid() {
        found.push((iter.key().to_vec(), iter.value().to_vec()));
        assert!(found.len() < MOST_ENTRIES, "an endless table");
        if is_backward {
            iter.prev();
        } else {
            iter.next();
        }
    }
    iter.status()?;
    if is_backward {
        found.reverse();
    }
    Ok(found)
}

fn ask(reader: &Arc<BlockTable>) -> Result<Answers, Error> {
    let options = TableReadOptions::default();
    let mut gets = Vec::new();
    let lookups: Vec<LookupKey> = (0..182).map(|key| LookupKey::new(&key_of(key), MAX_SEQUENCE_NUMBER)).collect();
    for lookup in &lookups {
        gets.push(get_all(reader, lookup, &options)?);
    }
    let keys: Vec<&LookupKey> = lookups.iter().collect();
    let mut batch: Vec<Entries> = vec![Vec::new(); keys.len()];
    let results = reader.multi_get(&options, &keys, &mut |index, key, value, _| {
        batch[index].push((key.encode(), value.to_vec()));
        true
    });
    for result in results {
        result?;
    }
    let mut prefixes = Vec::new();
    for (key, _) in entries() {
        prefixes.push(reader.prefix_may_match(&options, user_key(&key))?);
    }
    Ok(Answers { forward: walk(reader, false)?, backward: walk(reader, true)?, gets, batch, prefixes })
}

fn right_answers() -> Answers {
    let all = entries();
    let of = |index| all.iter().filter(|(key, _)| user_key(key) == key_of(index)).cloned().collect();
    let gets: Vec<Entries> = (0..182).map(of).collect();
    Answers { forward: all.clone(), backward: all.clone(), batch: gets.clone(), gets, prefixes: vec![true; 90] }
}

/// How a reader keeps index and filter.
const PLACES: [(bool, bool); 3] = [(false, false), (true, false), (true, true)];

/// Opens and reads a file in every way of keeping partitions; the memory bound is checked each time.
fn try_file(table: &Table, file: &[u8], what: &str) -> Vec<Result<Answers, Error>> {
    write_file_synced(&*table.file_system, Path::new(DAMAGED), file).unwrap();
    let mut outcomes = Vec::new();
    for (in_cache, pins_all) in PLACES {
        let run = || {
            let cache: Option<Arc<TableBlockCache>> =
                in_cache.then(|| BlockCache::new(CacheOptions { capacity_bytes: 1 << 16, ..CacheOptions::default() }));
            let reader = open_by_itself(&table.file_system, Path::new(DAMAGED), cache, |params| {
                let mut options = BlockBasedTableOptions::default();
                options.cache_index_and_filter_blocks = in_cache;
                if pins_all {
                    options
                        .set("metadata_cache_options", "{top_level_index_pinning=kAll;partition_pinning=kAll;}")
                        .unwrap();
                }
                params.options = Arc::new(options);
            })?;
            // Only cost and termination matter here.
            let _ = reader.verify_checksums(0, ferrock_vfs::IoActivity::Unknown);
            let _ = reader.contents().statistics();
            let _ = reader.anchors(8);
            ask(&reader)
        };
        let (outcome, peak) = peak_of(run);
        let bound = memory_bound(file.len());
        assert!(peak < bound, "{what}: {peak} bytes for a file of {}, bound {bound}", file.len());
        if let Err(error) = &outcome {
            assert_eq!(error.file(), Some(Path::new(DAMAGED)), "{what}: {error}");
        }
        outcomes.push(outcome);
    }
    outcomes
}

/// What reading a file of this size may hold at once: the file a few times over (blocks as stored, uncompressed,
/// decoded, the window of a verification, the answers), a cache of 64 KiB, and what does not depend on the file: the
/// cache's table, the reader, and what blocks in memory cost beside their bytes (66 KiB for an undamaged file).
fn memory_bound(file_size: usize) -> usize {
    8 * file_size + (144 << 10)
}

fn assert_corrupt_or_right(table: &Table, file: &[u8], right: &Answers, what: &str) -> usize {
    let mut refused = 0;
    for outcome in try_file(table, file, what) {
        match outcome {
            Ok(answers) => assert!(answers == *right, "{what}: wrong answers"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
                refused += 1;
            }
        }
    }
    refused
}

/// Blocks that make up index and filter.
fn metadata(table: &Table) -> Vec<(&'static str, BlockHandle)> {
    let mut blocks = vec![("top-level index", table.top_index), ("top-level filter", table.top_filter)];
    blocks.extend(table.index_partitions.iter().map(|(_, handle)| ("index partition", *handle)));
    blocks.extend(table.filter_partitions.iter().map(|(_, handle)| ("filter partition", *handle)));
    blocks
}

#[test]
fn every_byte_of_index_and_filter_changed() {
    for form in FORMS {
        let table = build(form);
        let right = right_answers();
        assert_eq!(assert_corrupt_or_right(&table, &table.bytes, &right, "undamaged"), 0);
        for (name, handle) in metadata(&table) {
            for at in table.range(handle) {
                let mut file = table.bytes.clone();
                file[at] ^= [0x01, 0x80, 0xff][at % 3];
                let what = format!("{form:?}: {name}, byte {at}");
                let refused = assert_corrupt_or_right(&table, &file, &right, &what);
                assert_eq!(refused, PLACES.len(), "{what}: the checksum must see it");
            }
        }
    }
}

#[test]
fn every_byte_of_index_and_filter_forged() {
    let mut outcomes = [0usize; 2];
    for form in FORMS {
        let table = build(form);
        for (name, handle) in metadata(&table) {
            let range = table.range(handle);
            let payload_end = range.end - BLOCK_TRAILER_SIZE;
            for at in range.start..payload_end {
                for flip in [0x01, 0x80] {
                    let mut file = table.bytes.clone();
                    file[at] ^= flip;
                    // The compression byte stays as it was.
                    let compression = file[payload_end];
                    let (kind, context) = (table.footer.checksum_type, table.footer.base_context_checksum);
                    let trailer =
                        trailer::encode(kind, &file[range.start..payload_end], compression, context, handle.offset);
                    file[payload_end..range.end].copy_from_slice(&trailer);
                    for outcome in try_file(&table, &file, &format!("{form:?}: {name}, byte {at} ^ {flip:#x}")) {
                        outcomes[usize::from(outcome.is_err())] += 1;
                        if let Err(error) = outcome {
                            assert!(matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotSupported), "{error}");
                        }
                    }
                }
            }
        }
    }
    assert!(outcomes[0] > 100 && outcomes[1] > 100, "{outcomes:?}");
}

/// Handles that lead nowhere.
fn impossible(table: &Table) -> Vec<BlockHandle> {
    let end = table.bytes.len() as u64;
    let handle = |offset, size| BlockHandle { offset, size };
    vec![
        handle(end, 10),
        handle(end - 20, 100),
        handle(0, end),
        handle(0, u64::from(u32::MAX)),
        handle(0, u64::MAX),
        handle(0, u64::MAX - 5),
        handle(u64::MAX, 1),
        handle(u64::MAX - 4, 3),
        handle(1 << 40, 1 << 40),
    ]
}

#[test]
fn handles_that_lead_nowhere() {
    for form in FORMS {
        let table = build(form);
        for (number, wrong) in impossible(&table).into_iter().enumerate() {
            for which in 0..table.index_partitions.len() {
                let mut rows = table.index_partitions.clone();
                rows[which].1 = wrong;
                let file = table.forged(|file, index, _| *index = table.append(file, &index_block(&rows)));
                for outcome in try_file(&table, &file, &format!("index partition {which}, handle {number}")) {
                    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Corruption, "{form:?} {number}");
                }
            }
            let mut rows = table.filter_partitions.clone();
            rows[1].1 = wrong;
            let file = table.forged(|file, _, filter| *filter = table.append(file, &index_block(&rows)));
            for outcome in try_file(&table, &file, &format!("filter partition, handle {number}")) {
                assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Corruption, "{form:?} {number}");
            }
            // A data block that is not there, in an index partition that is right otherwise.
            let mut rows = table.handles_in(&table.payload(table.index_partitions[0].1));
            rows[0].1 = wrong;
            let file = table.forged(|file, index, _| {
                let mut top = table.index_partitions.clone();
                top[0].1 = table.append(file, &index_block(&rows));
                *index = table.append(file, &index_block(&top));
            });
            for outcome in try_file(&table, &file, &format!("data block, handle {number}")) {
                assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Corruption, "{form:?} {number}");
            }
            // The top levels themselves.
            for is_filter in [false, true] {
                if !is_filter && table.footer.index.is_some() && table.footer.encode(0).is_err() {
                    continue;
                }
                let file = table.forged(|_, index, filter| *(if is_filter { filter } else { index }) = wrong);
                for outcome in try_file(&table, &file, &format!("top level, handle {number}")) {
                    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Corruption, "{form:?} {number}");
                }
            }
        }
    }
}

#[test]
fn handles_that_lead_elsewhere() {
    for form in FORMS {
        let table = build(form);
        let (first, second) = (table.index_partitions[0].1, table.index_partitions[1].1);
        let overlapping = BlockHandle { offset: first.offset + 1, ..second };
        let longer = BlockHandle { size: first.size + 1, ..first };
        let targets = [
            ("the top level itself", table.top_index),
            ("the filter's top level", table.top_filter),
            ("a data block", table.data[0]),
            ("a filter partition", table.filter_partitions[0].1),
            ("the properties", table.meta.iter().find(|(name, _)| name == b"rocksdb.properties").unwrap().1),
            ("the one after it", second),
            ("inside another", overlapping),
            ("another, too long", longer),
            ("nothing", BlockHandle { offset: 0, size: 0 }),
        ];
        for (what, target) in targets {
            let mut rows = table.index_partitions.clone();
            rows[1].1 = target;
            let file = table.forged(|file, index, _| *index = table.append(file, &index_block(&rows)));
            for outcome in try_file(&table, &file, &format!("{form:?}: an index partition is {what}")) {
                if let Err(error) = outcome {
                    assert!(matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotSupported), "{what}: {error}");
                }
            }
            let mut rows = table.filter_partitions.clone();
            rows[1].1 = target;
            let file = table.forged(|file, _, filter| *filter = table.append(file, &index_block(&rows)));
            for outcome in try_file(&table, &file, &format!("{form:?}: a filter partition is {what}")) {
                if let Err(error) = outcome {
                    assert!(matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotSupported), "{what}: {error}");
                }
            }
        }
        // A top level that is a partition, and one that is a data block.
        for (what, target) in targets {
            let file = table.forged(|_, index, _| *index = target);
            try_file(&table, &file, &format!("{form:?}: the top-level index is {what}"));
            let file = table.forged(|_, _, filter| *filter = target);
            try_file(&table, &file, &format!("{form:?}: the top-level filter is {what}"));
        }
    }
}

/// Partitions that share bytes would let a small file ask for its size times the number of its handles: without
/// checksums, or with zeros for data, any window of the file can be a filter.
#[test]
fn partitions_that_overlap_are_refused() {
    let table = build(Form { checksum: ChecksumType::NoChecksum, ..FORMS[0] });
    let file = table.forged(|file, _, filter| {
        let start = table.append(file, &[0; 64 << 10]).offset;
        let handle = |index| BlockHandle { offset: start + index, size: 48 << 10 };
        let rows: Vec<(Vec<u8>, BlockHandle)> = (0..182).map(|index| (key_of(index), handle(index))).collect();
        *filter = table.append(file, &index_block(&rows));
    });
    for outcome in try_file(&table, &file, "overlapping filter partitions") {
        let error = outcome.unwrap_err();
        assert!(error.kind() == ErrorKind::Corruption && error.message().contains("overlap"), "{error}");
    }
}

#[test]
fn top_levels_cut_short() {
    for form in FORMS {
        let table = build(form);
        for is_filter in [false, true] {
            let rows = if is_filter { &table.filter_partitions } else { &table.index_partitions };
            let whole = index_block(rows);
            for length in 0..whole.len() {
                let file = table.forged(|file, index, filter| {
                    *(if is_filter { filter } else { index }) = table.append(file, &whole[..length]);
                });
                let what = format!("{form:?}: top level of {length} bytes of {}, filter: {is_filter}", whole.len());
                for outcome in try_file(&table, &file, &what) {
                    if let Err(error) = outcome {
                        let is_right = matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotSupported);
                        assert!(is_right, "{what}: {error}");
                    }
                }
            }
        }
    }
}

/// Sizes that compressed blocks claim for themselves.
#[test]
fn claimed_sizes() {
    let table = build(FORMS[1]);
    for claimed in [1u64 << 20, 1 << 30, u64::from(u32::MAX), u64::MAX >> 1] {
        for kind in [CompressionType::Lz4, CompressionType::Zstd, CompressionType::Zlib, CompressionType::BZip2] {
            let mut payload = Vec::new();
            ferrock_base::coding::put_varint64(&mut payload, claimed);
            payload.extend_from_slice(&[0x11; 40]);
            let file = table.forged(|file, index, _| {
                let offset = file.len() as u64;
                file.extend_from_slice(&payload);
                let (checksum, context) = (table.footer.checksum_type, table.footer.base_context_checksum);
                file.extend_from_slice(&trailer::encode(checksum, &payload, kind.as_u8(), context, offset));
                let handle = BlockHandle { offset, size: payload.len() as u64 };
                let mut rows = table.index_partitions.clone();
                rows[0].1 = handle;
                *index = table.append(file, &index_block(&rows));
            });
            for outcome in try_file(&table, &file, &format!("{kind:?} claims {claimed} bytes")) {
                assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Corruption);
            }
        }
    }
}
