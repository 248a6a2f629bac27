//! Walks a table in every way and checks that all ways tell the same.
#![allow(dead_code, reason = "each test binary uses a part")]

use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{
    Comparator, InternalComparator, InternalIterator, LookupKey, MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType,
};
use ferrock_format::properties::TableProperties;
use ferrock_table::{BlockTable, ReadTier, TableBlockCache, TableReadOptions, TableReaderParams};
use ferrock_vfs::{FileSystem, RandomAccessOptions};
use std::path::Path;
use std::sync::Arc;

pub type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Opens a table with the comparator and prefix extractor that its properties name.
pub fn open_by_itself(
    file_system: &Arc<dyn FileSystem>,
    path: &Path,
    cache: Option<Arc<TableBlockCache>>,
    change: impl FnOnce(&mut TableReaderParams),
) -> ferrock_base::Result<Arc<BlockTable>> {
    let file = file_system.open_random_access(path, &RandomAccessOptions::default())?;
    let mut params = TableReaderParams::new(file, file_system.clone(), InternalComparator::default());
    params.cache = cache;
    change(&mut params);
    let reader = match BlockTable::open(params.clone()) {
        Err(error) if error.message().contains("rocksdb.ReverseBytewiseComparator") => {
            params.comparator = InternalComparator::new(Comparator::ReverseBytewise);
            BlockTable::open(params.clone())?
        }
        other => other?,
    };
    if let Ok(Some(extractor)) = PrefixExtractor::built_in(&reader.properties().prefix_extractor_name) {
        params.prefix_extractor = Some(extractor);
        if reader.properties().comparator_name == "rocksdb.ReverseBytewiseComparator" {
            params.comparator = InternalComparator::new(Comparator::ReverseBytewise);
        }
        return BlockTable::open(params);
    }
    Ok(reader)
}

pub fn comparator_of(properties: &TableProperties) -> InternalComparator {
    match properties.comparator_name.as_str() {
        "rocksdb.ReverseBytewiseComparator" => InternalComparator::new(Comparator::ReverseBytewise),
        _ => InternalComparator::default(),
    }
}

pub fn scan(reader: &Arc<BlockTable>, options: TableReadOptions) -> ferrock_base::Result<Entries> {
    let mut iter = reader.iter(options);
    let mut entries = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        entries.push((iter.key().to_vec(), iter.value().to_vec()));
        assert_eq!(iter.value_pin().unwrap().value(), iter.value());
        iter.next();
    }
    iter.status()?;
    Ok(entries)
}

pub fn scan_backward(reader: &Arc<BlockTable>) -> ferrock_base::Result<Entries> {
    let mut iter = reader.iter(TableReadOptions::default());
    let mut entries = Vec::new();
    iter.seek_to_last();
    while iter.valid() {
        entries.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev();
    }
    iter.status()?;
    entries.reverse();
    Ok(entries)
}

/// Every entry of a user key, as `get` shows them.
pub fn get_all(reader: &BlockTable, key: &LookupKey, options: &TableReadOptions) -> ferrock_base::Result<Entries> {
    let mut found = Vec::new();
    let mut pins = Vec::new();
    reader.get(options, key, &mut |key, value, pinned| {
        found.push((key.encode(), value.to_vec()));
        pins.push(pinned.pin());
        true
    })?;
    for (pin, (_, value)) in pins.iter().zip(&found) {
        assert_eq!(pin.value(), &value[..]);
    }
    Ok(found)
}

/// Checks seeks, lookups, batches and bounds against the list of all entries.
pub fn check_all_ways(reader: &Arc<BlockTable>, entries: &Entries) {
    let comparator = comparator_of(reader.properties());
    assert!(entries.windows(2).all(|pair| comparator.compare(&pair[0].0, &pair[1].0).is_lt()), "out of order");
    assert_eq!(&scan_backward(reader).unwrap(), entries);
    let ahead = TableReadOptions { readahead_bytes: 10_000, fill_cache: false, ..TableReadOptions::default() };
    assert_eq!(&scan(reader, ahead).unwrap(), entries);

    let mut iter = reader.iter(TableReadOptions::default());
    let options = TableReadOptions::default();
    let mut lookups = Vec::new();
    for (index, (key, value)) in entries.iter().enumerate() {
        iter.seek(key);
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
        if index % 3 == 0 {
            iter.prev();
            assert_eq!(iter.valid().then(|| iter.key()), index.checked_sub(1).map(|before| &entries[before].0[..]));
        }
        let mut between = user_key(key).to_vec();
        between.push(0);
        for target in [make_internal_key(&between, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK), key.clone()] {
            let bound = entries.partition_point(|(key, _)| comparator.compare(key, &target).is_lt());
            iter.seek(&target);
            assert_eq!(iter.valid().then(|| iter.key()), entries.get(bound).map(|(key, _)| &key[..]));
            let last = entries.partition_point(|(key, _)| comparator.compare(key, &target).is_le());
            iter.seek_for_prev(&target);
            assert_eq!(iter.valid().then(|| iter.key()), last.checked_sub(1).map(|last| &entries[last].0[..]));
        }
        let lookup = LookupKey::new(user_key(key), MAX_SEQUENCE_NUMBER);
        let start = entries.partition_point(|(key, _)| comparator.compare(key, lookup.internal_key()).is_lt());
        let versions = entries[start..].iter().take_while(|(other, _)| user_key(other) == user_key(key));
        let versions: Entries = versions.cloned().collect();
        assert_eq!(get_all(reader, &lookup, &options).unwrap(), versions);
        lookups.push((lookup, versions));
        let absent = LookupKey::new(&between, MAX_SEQUENCE_NUMBER);
        let present = entries.iter().any(|(key, _)| user_key(key) == between);
        assert_eq!(!get_all(reader, &absent, &options).unwrap().is_empty(), present);
    }
    iter.seek_to_last();
    if let Some((last, _)) = entries.last() {
        assert_eq!(iter.key(), &last[..]);
        iter.next();
    }
    assert!(!iter.valid());

    // A batch, out of order.
    lookups.reverse();
    let keys: Vec<&LookupKey> = lookups.iter().map(|(lookup, _)| lookup).collect();
    let mut found: Vec<Entries> = vec![Vec::new(); keys.len()];
    let results = reader.multi_get(&options, &keys, &mut |index, key, value, _| {
        found[index].push((key.encode(), value.to_vec()));
        true
    });
    for ((result, found), (_, versions)) in results.iter().zip(&found).zip(&lookups) {
        result.as_ref().unwrap();
        assert_eq!(found, versions);
    }

    let mut offset = 0;
    for (key, _) in entries.iter().step_by(7) {
        let next = reader.approximate_offset_of(key).unwrap();
        assert!(next >= offset && next <= reader.file_size());
        let first = &entries[0].0;
        let between = reader.approximate_size_between(first, key).unwrap();
        // The first block begins at 0; two roundings may differ by one.
        assert!(between.abs_diff(next - reader.approximate_offset_of(first).unwrap()) <= 1);
        offset = next;
    }
    let behind = make_internal_key(&[0xFF; 64], SequenceNumber(0), ValueType::Deletion);
    if !entries.is_empty() && comparator.compare(&behind, &entries[entries.len() - 1].0).is_gt() {
        assert_eq!(reader.approximate_offset_of(&behind).unwrap(), reader.file_size());
    }
    let anchors = reader.anchors(8).unwrap();
    assert!(
        anchors.len() <= 8 && anchors.windows(2).all(|pair| comparator.user().compare(&pair[0].0, &pair[1].0).is_le())
    );
    if let (Some((last, _)), Some((anchor, _))) = (entries.last(), anchors.last()) {
        assert!(comparator.user().compare(anchor, user_key(last)).is_ge());
    }
    reader.verify_checksums(0, ferrock_vfs::IoActivity::Unknown).unwrap();
    assert!(reader.memory_bytes() > 0);
}

/// The entries of a table that is in the cache can be read without I/O; one that is not cannot.
pub fn check_cache_only(reader: &BlockTable, entries: &Entries) {
    let options = TableReadOptions { read_tier: ReadTier::BlockCacheOnly, ..TableReadOptions::default() };
    for (key, _) in entries.iter().step_by(11) {
        let lookup = LookupKey::new(user_key(key), MAX_SEQUENCE_NUMBER);
        assert!(!get_all(reader, &lookup, &options).unwrap().is_empty());
    }
}
