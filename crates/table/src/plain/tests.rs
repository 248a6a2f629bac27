use super::*;
use crate::options::{PlainEncodingType, PlainTableOptions};
use crate::{Table, TableBuilderParams, TableReadOptions, TableReaderParams};
use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, SequenceNumber};
use ferrock_base::{Comparator, InternalComparator, InternalIterator, LookupKey, Result, ValueType};
use ferrock_format::plain_table::PlainProperties;
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, WritableOptions};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn place(bytes: &[u8]) -> Arc<dyn FileSystem> {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let mut file = file_system.create_writable(Path::new("/1.sst"), &WritableOptions::default()).unwrap();
    file.append(bytes).unwrap();
    file.close().unwrap();
    file_system
}

fn bytes_of(file_system: &Arc<dyn FileSystem>) -> Vec<u8> {
    let file = file_system.open_random_access(Path::new("/1.sst"), &RandomAccessOptions::default()).unwrap();
    let mut bytes = vec![0; file.size() as usize];
    let label = ferrock_vfs::ReadLabel::whole(ferrock_vfs::ReadClass::Other, bytes.len());
    file.read_at(0, &mut bytes, label).unwrap();
    bytes
}

#[derive(Clone, Debug)]
struct Shape {
    options: PlainTableOptions,
    extractor: Option<PrefixExtractor>,
    locality: u32,
    is_reverse: bool,
}

impl Shape {
    fn order(&self) -> InternalComparator {
        InternalComparator::new(if self.is_reverse { Comparator::ReverseBytewise } else { Comparator::Bytewise })
    }

    fn write(&self, entries: &Entries) -> Result<Arc<dyn FileSystem>> {
        let file_system = place(b"");
        let file = file_system.create_writable(Path::new("/1.sst"), &WritableOptions::default()).unwrap();
        let mut params = TableBuilderParams::new(self.order());
        params.prefix_extractor.clone_from(&self.extractor);
        let mut builder = PlainTableBuilder::new(params, Arc::new(self.options.clone()), file)?;
        for (key, value) in entries {
            builder.add(key, value)?;
        }
        let summary = builder.finish()?;
        assert_eq!(summary.first_key.as_ref(), entries.first().map(|(key, _)| key));
        Ok(file_system)
    }

    fn open(&self, file_system: &Arc<dyn FileSystem>, change: impl FnOnce(&mut TableReaderParams)) -> Result<Table> {
        let file = file_system.open_random_access(Path::new("/1.sst"), &RandomAccessOptions::default())?;
        let mut params = TableReaderParams::new(file, Arc::clone(file_system), self.order());
        params.prefix_extractor.clone_from(&self.extractor);
        params.plain_options = Arc::new(self.options.clone());
        params.bloom_locality = self.locality;
        change(&mut params);
        Table::open(params)
    }
}

fn default_shape() -> Shape {
    Shape { options: PlainTableOptions::default(), extractor: None, locality: 0, is_reverse: false }
}

fn shapes() -> impl Strategy<Value = Shape> {
    let extractor = prop_oneof![
        Just(None),
        (1usize..4).prop_map(|length| Some(PrefixExtractor::Fixed(length))),
        (0usize..6).prop_map(|length| Some(PrefixExtractor::Capped(length))),
        Just(Some(PrefixExtractor::Noop)),
    ];
    let ratio = prop_oneof![Just(0.0), Just(0.75), Just(0.1), Just(5.0)];
    let bits = prop_oneof![Just(0), Just(1), Just(10)];
    (extractor, ratio, bits, 0usize..6, any::<[bool; 4]>()).prop_map(|(extractor, ratio, bits, sparseness, flags)| {
        let [is_prefixed, is_stored, has_lines, is_reverse] = flags;
        let options = PlainTableOptions {
            hash_table_ratio: ratio,
            bloom_bits_per_key: bits,
            index_sparseness: sparseness,
            encoding_type: if is_prefixed { PlainEncodingType::Prefix } else { PlainEncodingType::Plain },
            store_index_in_file: is_stored,
            ..PlainTableOptions::default()
        };
        Shape { options, extractor, locality: has_lines.into(), is_reverse }
    })
}

/// Keys of few letters, so that many have a prefix in common; some with several versions.
fn entries_of(keys: &std::collections::BTreeMap<Vec<u8>, Vec<u64>>, order: &InternalComparator) -> Entries {
    let mut entries = Entries::new();
    for (key, sequences) in keys {
        for &sequence in sequences {
            let kind = if sequence % 5 == 4 { ValueType::Deletion } else { ValueType::Value };
            entries.push((make_internal_key(key, SequenceNumber(sequence), kind), vec![b'v'; sequence as usize % 7]));
        }
    }
    entries.sort_by(|a, b| order.compare(&a.0, &b.0));
    entries.dedup_by(|a, b| a.0 == b.0);
    entries
}

fn walk(table: &Table, is_forward: bool) -> Entries {
    let (mut iter, mut entries) = (table.iter(TableReadOptions::default()), Entries::new());
    if is_forward {
        iter.seek_to_first()
    } else {
        iter.seek_to_last()
    }
    while iter.valid() {
        entries.push((iter.key().to_vec(), iter.value().to_vec()));
        assert_eq!(iter.value_pin().unwrap().value(), iter.value());
        if is_forward { iter.next() } else { iter.prev() }
    }
    iter.status().unwrap();
    entries
}

fn check_lookups(table: &Table, entries: &Entries, order: &InternalComparator, probes: &[(Vec<u8>, u64)]) {
    for (key, sequence) in probes {
        let lookup = LookupKey::new(key, SequenceNumber(*sequence));
        let is_wanted = |entry: &&(Vec<u8>, Vec<u8>)| {
            user_key(&entry.0) == key && order.compare(&entry.0, lookup.internal_key()).is_ge()
        };
        let wanted: Entries = entries.iter().filter(is_wanted).cloned().collect();
        let mut got = Entries::new();
        let visit = &mut |key: ferrock_base::ParsedInternalKey<'_>, value: &[u8], source: crate::ValueSource<'_>| {
            assert_eq!(source.pin().value(), value);
            got.push((key.encode(), value.to_vec()));
            true
        };
        table.get(&TableReadOptions::default(), &lookup, visit).unwrap();
        assert_eq!(got, wanted, "{}", key.escape_ascii());
    }
}

fn check_seeks(table: &Table, entries: &Entries, order: &InternalComparator, probes: &[(Vec<u8>, u64)]) {
    let mut iter = table.iter(TableReadOptions::default());
    for (key, sequence) in probes {
        let target = make_internal_key(key, SequenceNumber(*sequence), ValueType::FOR_SEEK);
        let at = entries.partition_point(|(key, _)| order.compare(key, &target).is_lt());
        let key_at = |at: Option<usize>| at.and_then(|at| entries.get(at)).map(|(key, _)| &key[..]);
        let key_of = |iter: &crate::TableIter| iter.valid().then(|| iter.key().to_vec());
        iter.seek(&target);
        assert_eq!(key_of(&iter).as_deref(), key_at(Some(at)));
        for steps in 1..4 {
            iter.prev();
            assert_eq!(key_of(&iter).as_deref(), key_at(at.checked_sub(steps).filter(|_| at < entries.len())));
        }
        iter.next();
        iter.seek_for_prev(&target);
        let before = if entries.get(at).is_some_and(|(key, _)| *key == target) { Some(at) } else { at.checked_sub(1) };
        assert_eq!(key_of(&iter).as_deref(), key_at(before));
        for steps in 1..4 {
            iter.next();
            assert_eq!(key_of(&iter).as_deref(), key_at(before.map(|before| before + steps)));
        }
        iter.status().unwrap();
        assert!(table.approximate_offset_of(&target).unwrap() <= table.properties().data_size);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_was_written_is_read(
        keys in prop::collection::btree_map(
            prop::collection::vec(b'a'..b'd', 3..7), prop::collection::vec(0u64..9, 1..5), 0..60),
        shape in shapes(),
        reading in shapes(),
        probes in prop::collection::vec((prop::collection::vec(b'a'..b'e', 0..8), 0u64..10), 30),
    ) {
        let order = shape.order();
        let entries = entries_of(&keys, &order);
        let file_system = shape.write(&entries).unwrap();
        // As it was written, and with any other extractor and options.
        for change in [&shape, &reading] {
            let table = shape.open(&file_system, |params| {
                params.prefix_extractor.clone_from(&change.extractor);
                params.plain_options = Arc::new(change.options.clone());
                params.bloom_locality = change.locality;
            }).unwrap();
            prop_assert_eq!(&walk(&table, true), &entries);
            let mut backward = walk(&table, false);
            backward.reverse();
            prop_assert_eq!(&backward, &entries);
            let present = entries.iter().map(|(key, _)| (user_key(key).to_vec(), MAX_SEQUENCE_NUMBER.0));
            let probes: Vec<_> = probes.iter().cloned().chain(present).collect();
            check_lookups(&table, &entries, &order, &probes);
            check_seeks(&table, &entries, &order, &probes);
            table.verify_checksums(0, ferrock_vfs::IoActivity::Unknown).unwrap();
        }
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        keys in prop::collection::btree_map(
            prop::collection::vec(b'a'..b'd', 3..7), prop::collection::vec(0u64..9, 1..5), 1..30),
        shape in shapes(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let entries = entries_of(&keys, &shape.order());
        let mut bytes = bytes_of(&shape.write(&entries).unwrap());
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let Ok(table) = shape.open(&place(&bytes), |_| {}) else { return Ok(()) };
        let mut iter = table.iter(TableReadOptions::default());
        iter.seek_to_first();
        while iter.valid() {
            iter.next();
        }
        iter.seek_to_last();
        while iter.valid() {
            iter.prev();
        }
        for (key, _) in &entries {
            iter.seek(key);
            iter.seek_for_prev(key);
            let lookup = LookupKey::new(user_key(key), MAX_SEQUENCE_NUMBER);
            let _ = table.get(&TableReadOptions::default(), &lookup, &mut |_, _, _| true);
            let _ = table.approximate_offset_of(key);
        }
        let _ = table.verify_checksums(0, ferrock_vfs::IoActivity::Unknown);
    }
}

#[test]
fn limits_are_named() {
    let refused = |shape: &Shape, entries: &Entries| match shape.write(entries) {
        Ok(_) => panic!("{shape:?} takes {entries:?}"),
        Err(error) => error.to_string(),
    };
    let entry = |key: &[u8], kind| vec![(make_internal_key(key, SequenceNumber(1), kind), Vec::new())];
    let shape = default_shape();
    assert!(refused(&shape, &entry(b"a", ValueType::RangeDeletion)).contains("range tombstone"));
    let fixed = Shape { extractor: Some(PrefixExtractor::Fixed(4)), ..default_shape() };
    assert!(refused(&fixed, &entry(b"abc", ValueType::Value)).contains("rocksdb.FixedPrefix.4"));
    let mut lengths = default_shape();
    lengths.options.user_key_len = 4;
    assert!(refused(&lengths, &entry(b"abc", ValueType::Value)).contains("user_key_len is 4"));
    assert!(lengths.write(&entry(b"abcd", ValueType::Value)).is_ok());
}

#[test]
fn properties_are_those_that_rocksdb_writes() {
    let entries = vec![(make_internal_key(b"key", SequenceNumber(1), ValueType::Value), b"value".to_vec())];
    let mut shape = default_shape();
    shape.options.encoding_type = PlainEncodingType::Prefix;
    for (extractor, encoding) in [(None, 0), (Some(PrefixExtractor::Fixed(2)), 1)] {
        shape.extractor = extractor;
        let table = shape.open(&shape.write(&entries).unwrap(), |_| {}).unwrap();
        let properties = table.properties();
        let always = [properties.num_uniform_blocks, properties.newest_key_time, properties.tail_start_offset];
        assert_eq!(always, [Some(0); 3]);
        // The version follows the option, the encoding also the extractor.
        assert_eq!(properties.format_version, 1);
        let number = PlainProperties::from_table(properties).unwrap().form.encoding as u32;
        assert_eq!(number, encoding);
    }
}

#[test]
fn what_is_no_plain_table_is_refused() {
    let shape = default_shape();
    let entries = vec![(make_internal_key(b"key", SequenceNumber(1), ValueType::Value), b"value".to_vec())];
    let bytes = bytes_of(&shape.write(&entries).unwrap());
    for cut in 0..bytes.len() {
        assert!(shape.open(&place(&bytes[..cut]), |_| {}).is_err(), "{cut}");
    }
    let table = shape.open(&place(&bytes), |_| {}).unwrap();
    assert!(table.as_block().is_none() && table.range_tombstones().is_none() && table.memory_bytes() >= bytes.len());
    let error = shape.open(&place(&bytes), |params| params.file_size += 1).unwrap_err();
    assert!(error.is_corruption(), "{error}");
}
