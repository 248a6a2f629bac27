//! A whole index is decoded for the first lookup: the answers are the same whichever lookup that is, and an index that
//! does not decode is an error of every lookup.
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests fail by panicking")]

mod common;

use common::{Entries, check_all_ways, get_all, open_by_itself, scan};
use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::{ErrorKind, InternalComparator, LookupKey, MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use ferrock_cache::{BlockCache, CacheOptions};
use ferrock_format::compression::CompressionType;
use ferrock_format::footer::{Footer, MAX_FOOTER_SIZE};
use ferrock_format::trailer::{self, BLOCK_TRAILER_SIZE};
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, TableBlockCache, TableBuilderParams, TableReadOptions,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, WritableOptions, read_file, write_file_synced};
use std::path::Path;
use std::sync::{Arc, Barrier};

const PATH: &str = "/000009.sst";

fn entries() -> Entries {
    let entry = |index: u64| {
        let key = format!("{:03}key{index:04}", index / 9);
        (make_internal_key(key.as_bytes(), SequenceNumber(100 + index), ValueType::Value), vec![b'v'; 20])
    };
    (0..2000).map(entry).collect()
}

fn file_system(compression: CompressionType) -> Arc<dyn FileSystem> {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.options = Arc::new(BlockBasedTableOptions {
        // The footer names the index.
        format_version: 5,
        block_size: 200,
        enable_index_compression: true,
        ..BlockBasedTableOptions::default()
    });
    params.compression = compression;
    let file = file_system.create_writable(Path::new(PATH), &WritableOptions::default()).unwrap();
    let mut builder = BlockTableBuilder::new(params, file).unwrap();
    for (key, value) in entries() {
        builder.add(&key, &value).unwrap();
    }
    builder.finish().unwrap();
    file_system
}

fn cache() -> Arc<TableBlockCache> {
    BlockCache::new(CacheOptions { capacity_bytes: 1 << 20, ..CacheOptions::default() })
}

fn open(file_system: &Arc<dyn FileSystem>) -> Arc<BlockTable> {
    open_by_itself(file_system, Path::new(PATH), Some(cache()), |_| {}).unwrap()
}

fn lookup(entry: &(Vec<u8>, Vec<u8>)) -> LookupKey {
    LookupKey::new(user_key(&entry.0), MAX_SEQUENCE_NUMBER)
}

#[test]
fn the_first_lookup_decodes_the_index() {
    let entries = entries();
    for compression in [CompressionType::NoCompression, CompressionType::Lz4] {
        let file_system = file_system(compression);
        let reader = open(&file_system);
        let before = reader.memory_bytes();
        assert_eq!(get_all(&reader, &lookup(&entries[7]), &TableReadOptions::default()).unwrap(), [entries[7].clone()]);
        assert!(reader.memory_bytes() > before, "{before} bytes before and after");
        check_all_ways(&reader, &entries);
        // By a scan.
        assert_eq!(scan(&open(&file_system), TableReadOptions::default()).unwrap(), entries);
    }
}

#[test]
fn first_lookups_of_many_threads_find_the_same_index() {
    const THREADS: usize = 8;
    let (entries, file_system) = (entries(), file_system(CompressionType::NoCompression));
    for _ in 0..20 {
        let (reader, barrier) = (open(&file_system), Barrier::new(THREADS));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (reader, barrier, entries) = (&reader, &barrier, &entries);
                scope.spawn(move || {
                    barrier.wait();
                    for entry in entries.iter().skip(thread).step_by(191) {
                        let found = get_all(reader, &lookup(entry), &TableReadOptions::default()).unwrap();
                        assert_eq!(found, std::slice::from_ref(entry));
                    }
                });
            }
        });
    }
}

#[test]
fn an_index_that_does_not_decode_is_an_error_of_every_lookup() {
    let (entries, file_system) = (entries(), file_system(CompressionType::NoCompression));
    let mut bytes = read_file(&*file_system, Path::new(PATH)).unwrap();
    let footer = Footer::decode(&bytes[bytes.len() - MAX_FOOTER_SIZE..], bytes.len() as u64).unwrap();
    let handle = footer.index.unwrap();
    let (start, size) = (handle.offset as usize, handle.size as usize);
    let damage = |bytes: &mut Vec<u8>, renews_checksum: bool| {
        // The first key shares bytes with none before it.
        bytes[start] = 3;
        if renews_checksum {
            let payload = bytes[start..start + size].to_vec();
            let trailer =
                trailer::encode(footer.checksum_type, &payload, 0, footer.base_context_checksum, handle.offset);
            bytes[start + size..start + size + BLOCK_TRAILER_SIZE].copy_from_slice(&trailer);
        }
    };
    // A checksum that does not match is an error of the open.
    let mut damaged = bytes.clone();
    damage(&mut damaged, false);
    write_file_synced(&*file_system, Path::new(PATH), &damaged).unwrap();
    let error = open_by_itself(&file_system, Path::new(PATH), Some(cache()), |_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);

    damage(&mut bytes, true);
    write_file_synced(&*file_system, Path::new(PATH), &bytes).unwrap();
    let reader = open(&file_system);
    let (options, key) = (TableReadOptions::default(), lookup(&entries[7]));
    let check = |error: ferrock_base::Error| {
        assert!(error.kind() == ErrorKind::Corruption && error.to_string().contains(PATH), "{error}");
    };
    for _ in 0..3 {
        check(get_all(&reader, &key, &options).unwrap_err());
        check(scan(&reader, options).unwrap_err());
        let results = reader.multi_get(&options, &[&key, &key], &mut |_, _, _, _| true);
        results.into_iter().for_each(|result| check(result.unwrap_err()));
    }
}
