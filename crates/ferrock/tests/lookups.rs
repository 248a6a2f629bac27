//! Lookups of single keys in every way there is, where a key's versions or spellings lie in several places; and what
//! comparators are asked.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{open_default, options_on};
use ferrock::options::{FilterPolicy, LimitReads, PrefixExtractor};
use ferrock::{ColumnFamily, ColumnFamilyOptions, Comparator, Db, ReadOptions};
use ferrock_base::comparator::CustomComparator;
use ferrock_base::merge::StringAppend;
use ferrock_vfs::MemoryFileSystem;
use std::cmp::Ordering;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

fn open(file_system: &MemoryFileSystem, family: ColumnFamilyOptions) -> (Db, ColumnFamily) {
    let db = open_default(options_on(Arc::new(file_system.clone())), family);
    let family = db.default_column_family().unwrap();
    (db, family)
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

type Value = Option<String>;

/// What every way to look a key up says; the iterator's answer comes first.
fn in_every_way(db: &Db, family: &ColumnFamily, options: &ReadOptions, key: &[u8]) -> Vec<(&'static str, Value)> {
    let text = |value: Option<&[u8]>| value.map(|value| value.escape_ascii().to_string());
    let mut iter = db.iter_cf(family, &ReadOptions { total_order_seek: true, ..options.clone() });
    iter.seek(key);
    let iterated = text((iter.valid() && family.comparator().equal(iter.key(), key)).then(|| iter.value()));
    iter.status().unwrap();
    let get = db.get_cf(family, options, key).unwrap();
    let many = db.multi_get_cf(family, options, &[key]).remove(0).unwrap();
    let of_families = db.multi_get_families(options, &[(family, key)]).remove(0).unwrap();
    let future = block_on(db.get_cf_async(family, options, key)).unwrap();
    let futures = block_on(db.multi_get_cf_async(family, options, &[key])).remove(0).unwrap();
    vec![
        ("iterator", iterated),
        ("get", text(get.as_deref())),
        ("multi_get", text(many.as_deref())),
        ("multi_get_families", text(of_families.as_deref())),
        ("get_async", text(future.as_deref())),
        ("multi_get_async", text(futures.as_deref())),
    ]
}

fn agree(db: &Db, family: &ColumnFamily, options: &ReadOptions, key: &[u8], expected: Option<&str>) {
    for (way, found) in in_every_way(db, family, options, key) {
        assert_eq!(found.as_deref(), expected, "{way} of {}", key.escape_ascii());
    }
}

/// A base and its operand in two files of a level; both have the range tombstone that is older than they are.
#[test]
fn a_key_in_two_files_under_an_older_range_tombstone_is_found_whole() {
    let mut family = ColumnFamilyOptions::default();
    family.merge_operator = Some(Arc::new(StringAppend::new(",")));
    family.settings.set("target_file_size_base", "1").unwrap();
    family.settings.set("disable_auto_compactions", "true").unwrap();
    let (db, family) = open(&MemoryFileSystem::new(), family);
    db.put(b"k", b"old").unwrap();
    let first = db.snapshot();
    db.delete_range(b"a", b"z").unwrap();
    db.put(b"k", b"base").unwrap();
    db.flush().unwrap();
    let second = db.snapshot();
    db.merge(b"k", b"op").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    let files: Vec<_> = db.live_files().iter().map(|file| (file.level, file.smallest_user_key.clone())).collect();
    assert!(files.len() > 1 && files.iter().all(|file| file.0 == files[0].0), "{files:?}");
    agree(&db, &family, &ReadOptions::default(), b"k", Some("base,op"));
    let at = |snapshot| ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    agree(&db, &family, &at(second), b"k", Some("base"));
    agree(&db, &family, &at(first), b"k", Some("old"));
}

/// Letters are equal in either case.
struct Folding {
    /// What it says of itself. `false` is wrong, as in a program that did not know better when it wrote its tables.
    says_so: bool,
}

impl CustomComparator for Folding {
    fn name(&self) -> &str {
        "test.Folding"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.iter().map(u8::to_ascii_lowercase).cmp(b.iter().map(u8::to_ascii_lowercase))
    }
    fn can_keys_with_different_bytes_be_equal(&self) -> bool {
        self.says_so
    }
}

/// All that hashes the bytes of keys.
fn hashing(says_so: bool, choices: &[(&str, &str)]) -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.comparator = Comparator::Custom(Arc::new(Folding { says_so }));
    family.filter_policy = FilterPolicy::bloom(10.0);
    family.settings.set("memtable_prefix_bloom_size_ratio", "0.1").unwrap();
    family.settings.set("memtable_whole_key_filtering", "true").unwrap();
    for (name, value) in [("data_block_index_type", "kDataBlockBinaryAndHash")].iter().chain(choices) {
        match *name {
            "extractor" => family.prefix_extractor = PrefixExtractor::built_in(value).unwrap(),
            "filter" => family.filter_policy = FilterPolicy::parse(value).unwrap(),
            _ => assert!(family.table.set(name, value).unwrap()),
        }
    }
    family
}

#[test]
fn keys_of_other_bytes_that_are_equal_are_found_whatever_hashes_bytes() {
    let forms: [&[(&str, &str)]; 6] = [
        &[],
        &[("whole_key_filtering", "false"), ("extractor", "fixed:2")],
        &[("extractor", "capped:3"), ("index_type", "kHashSearch")],
        &[("filter", "ribbonfilter:10"), ("format_version", "5")],
        &[("index_type", "kTwoLevelIndexSearch"), ("partition_filters", "true"), ("partition_from_level", "0")],
        &[("block_size", "1"), ("index_type", "kBinarySearchWithFirstKey")],
    ];
    // Written as it should be, and by a comparator that said that there are no such keys.
    for (form, written_with) in forms.iter().flat_map(|form| [(form, true), (form, false)]) {
        let file_system = MemoryFileSystem::new();
        {
            let (db, family) = open(&file_system, hashing(written_with, form));
            for round in 0..40 {
                db.put(format!("Key{round}").as_bytes(), b"old").unwrap();
            }
            db.put(b"KEY7", b"1").unwrap();
            if written_with {
                agree(&db, &family, &ReadOptions::default(), b"kEy7", Some("1"));
            }
            db.flush().unwrap();
            assert_eq!(db.property("rocksdb.num-files-at-level0").as_deref(), Some("1"));
        }
        let (db, family) = open(&file_system, hashing(true, form));
        for key in [b"Key7", b"KEY7", b"kEy7"] {
            agree(&db, &family, &ReadOptions::default(), key, Some("1"));
        }
        db.delete(b"keY7").unwrap();
        agree(&db, &family, &ReadOptions::default(), b"KEY7", None);
        db.flush().unwrap();
        agree(&db, &family, &ReadOptions::default(), b"Key7", None);
        db.compact_range(None, None).unwrap();
        agree(&db, &family, &ReadOptions::default(), b"Key7", None);
        agree(&db, &family, &ReadOptions::default(), b"KEY8", Some("old"));
    }
}

#[test]
fn tables_get_no_filter_and_no_hash_index_where_other_bytes_may_be_equal() {
    let (db, _) = open(&MemoryFileSystem::new(), hashing(true, &[]));
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    let text = db.property("rocksdb.aggregated-table-properties").unwrap();
    assert!(text.contains("filter block size=0;"), "{text}");
}

/// Takes keys of eight bytes.
#[derive(Default)]
struct EightBytes {
    others: Mutex<Vec<Vec<u8>>>,
}

impl CustomComparator for EightBytes {
    fn name(&self) -> &str {
        "test.EightBytes"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        for key in [a, b].into_iter().filter(|key| key.len() != 8) {
            self.others.lock().unwrap().push(key.to_vec());
        }
        a.cmp(b)
    }
}

/// A comparator may read its eight bytes without looking at the length.
#[test]
fn a_comparator_is_given_keys_that_were_written_and_no_others() {
    let forms: [&[(&str, &str)]; 3] = [
        &[],
        &[("index_type", "kTwoLevelIndexSearch"), ("metadata_block_size", "64"), ("partition_from_level", "0")],
        &[("index_type", "kBinarySearchWithFirstKey"), ("index_shortening", "kShortenSeparatorsAndSuccessor")],
    ];
    for form in forms {
        let order = Arc::new(EightBytes::default());
        let file_system = MemoryFileSystem::new();
        let family = || {
            let mut family = ColumnFamilyOptions::default();
            family.comparator = Comparator::Custom(Arc::clone(&order) as Arc<dyn CustomComparator>);
            family.merge_operator = Some(Arc::new(StringAppend::new(",")));
            family.settings.set("target_file_size_base", "2000").unwrap();
            family.settings.set("max_bytes_for_level_base", "4000").unwrap();
            form.iter().for_each(|(name, value)| assert!(family.table.set(name, value).unwrap()));
            family.table.set("block_size", "200").unwrap();
            family
        };
        let check = |doing: &str| {
            let others = std::mem::take(&mut *order.others.lock().unwrap());
            assert!(others.is_empty(), "{doing}: {:?}", others.first());
        };
        let key = |number: u32| format!("{number:08}").into_bytes();
        {
            let (db, _) = open(&file_system, family());
            check("open");
            for number in 0..600u32 {
                let key = key(number * 7 % 601);
                match number % 9 {
                    0 => db.delete(&key).unwrap(),
                    1 => db.merge(&key, b"operand").unwrap(),
                    2 => db.single_delete(&key).unwrap(),
                    3 => db.delete_range(&key, &[&key[..7], b":"].concat()).unwrap(),
                    _ => db.put(&key, b"value").unwrap(),
                }
                if number % 100 == 99 {
                    db.flush().unwrap();
                    check("flush");
                }
            }
            db.wait_for_background_work().unwrap();
            check("compactions");
        }
        let (db, family) = open(&file_system, family());
        check("recovery");
        for options in [
            ReadOptions::default(),
            ReadOptions { lower_bound: Some(key(20)), upper_bound: Some(key(500)), ..ReadOptions::default() },
            ReadOptions { limit_hint: 5, limit_reads: LimitReads::FewestBytes, ..ReadOptions::default() },
        ] {
            let mut iter = db.iter(&options);
            iter.seek_to_first();
            (0..50).for_each(|_| iter.next());
            iter.seek_to_last();
            (0..50).for_each(|_| iter.prev());
            iter.seek(&key(300));
            iter.prev();
            iter.seek_for_prev(&key(300));
            iter.next();
            check("iterator");
        }
        (0..600).for_each(|number| drop(in_every_way(&db, &family, &ReadOptions::default(), &key(number))));
        check("lookups");
        db.compact_range(Some(&key(100)), Some(&key(400))).unwrap();
        db.compact_range(None, None).unwrap();
        check("compact_range");
        db.approximate_sizes(&family, &[(&key(1)[..], &key(500)[..])]).unwrap();
        db.verify_checksum().unwrap();
        check("sizes");
    }
}
