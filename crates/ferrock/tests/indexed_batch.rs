//! Batches that can be read: every read of batch and database together answers what the database alone answers once the
//! batch is written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::in_memory;
use ferrock::indexed_batch::{BatchLookup, IndexMode, IndexedIter, WriteBatchWithIndex};
use ferrock::options::MergeOperator;
use ferrock::{ColumnFamily, ColumnFamilyOptions, Comparator, Db, ErrorKind, ReadOptions, WriteOptions};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use std::collections::BTreeMap;
use std::sync::Arc;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn family(comparator: Comparator) -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.comparator = comparator;
    options.merge_operator = Some(Arc::new(StringAppend::new(",")) as Arc<dyn MergeOperator>);
    options
}

fn open() -> (Db, Vec<ColumnFamily>) {
    let mut options = in_memory();
    options.create_missing_column_families = true;
    let families = vec![
        ("default".to_owned(), family(Comparator::Bytewise)),
        ("backward".to_owned(), family(Comparator::ReverseBytewise)),
    ];
    Db::open_cf("/db", options, families).unwrap()
}

fn key(random: &mut Random) -> Vec<u8> {
    format!("k{:02}", random.below(25)).into_bytes()
}

/// Adds a random update to a batch and to what the database will have.
fn add(batch: &mut WriteBatchWithIndex, families: &[ColumnFamily], model: &mut [Rows], random: &mut Random) {
    let at = random.below(2) as usize;
    let (family, rows) = (&families[at], &mut model[at]);
    let (key, value) = (key(random), format!("v{}", random.below(1000)).into_bytes());
    // Of the default family, the functions without one are the same.
    let is_plain = at == 0 && random.one_in(2);
    match random.below(8) {
        0 | 1 => {
            if is_plain {
                batch.delete(&key).unwrap()
            } else {
                batch.delete_cf(family, &key).unwrap()
            }
            rows.remove(&key);
        }
        2 | 3 => {
            if is_plain {
                batch.merge(&key, &value).unwrap()
            } else {
                batch.merge_cf(family, &key, &value).unwrap()
            }
            let merged = rows.get(&key).map_or_else(|| value.clone(), |old| [&old[..], &value].join(&b','));
            rows.insert(key, merged);
        }
        4 => batch.put_log_data(&value).unwrap(),
        _ => {
            if is_plain {
                batch.put(&key, &value).unwrap()
            } else {
                batch.put_cf(family, &key, &value).unwrap()
            }
            rows.insert(key, value);
        }
    }
}

/// Rows in the order of a family, within bounds.
fn in_order(rows: &Rows, is_reverse: bool, options: &ReadOptions) -> Vec<(Vec<u8>, Vec<u8>)> {
    let compare = |a: &[u8], b: &[u8]| if is_reverse { b.cmp(a) } else { a.cmp(b) };
    let mut all: Vec<_> = rows.clone().into_iter().collect();
    all.sort_by(|a, b| compare(&a.0, &b.0));
    all.retain(|(key, _)| {
        options.lower_bound.as_ref().is_none_or(|lower| compare(key, lower).is_ge())
            && options.upper_bound.as_ref().is_none_or(|upper| compare(key, upper).is_lt())
    });
    all
}

fn current(iter: &IndexedIter) -> Option<(Vec<u8>, Vec<u8>)> {
    iter.status().unwrap();
    iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec()))
}

/// Walks at random; the model is the sorted list and a place in it.
fn walk(iter: &mut IndexedIter, rows: &[(Vec<u8>, Vec<u8>)], is_reverse: bool, random: &mut Random, context: &str) {
    let compare = |a: &[u8], b: &[u8]| if is_reverse { b.cmp(a) } else { a.cmp(b) };
    let mut place: Option<usize> = None;
    for _ in 0..40 {
        let movement = random.below(8);
        match movement {
            0 => {
                iter.seek_to_first();
                place = Some(0);
            }
            1 => {
                iter.seek_to_last();
                place = rows.len().checked_sub(1);
            }
            2 => {
                let key = key(random);
                iter.seek(&key);
                place = Some(rows.partition_point(|row| compare(&row.0, &key).is_lt()));
            }
            3 => {
                let key = key(random);
                iter.seek_for_prev(&key);
                place = rows.partition_point(|row| compare(&row.0, &key).is_le()).checked_sub(1);
            }
            4 | 5 => {
                iter.next();
                place = place.map(|place| place + 1);
            }
            _ => {
                iter.prev();
                place = place.and_then(|place| place.checked_sub(1));
            }
        }
        place = place.filter(|place| *place < rows.len());
        assert_eq!(current(iter), place.map(|place| rows[place].clone()), "{context}, movement {movement}");
    }
}

fn check(db: &Db, batch: &WriteBatchWithIndex, families: &[ColumnFamily], model: &[Rows], random: &mut Random) {
    for (at, (family, rows)) in families.iter().zip(model).enumerate() {
        let plain = ReadOptions::default();
        for number in 0..25 {
            let key = format!("k{number:02}").into_bytes();
            let found = batch.get_from_batch_and_db(db, family, &plain, &key).unwrap();
            assert_eq!(found.as_deref(), rows.get(&key).map(Vec::as_slice), "{}", key.escape_ascii());
            match batch.get_from_batch(family, &key).unwrap() {
                BatchLookup::Value(value) => assert_eq!(Some(&value), rows.get(&key)),
                BatchLookup::Deleted => assert!(!rows.contains_key(&key)),
                BatchLookup::NotInBatch => {
                    let below = db.get_cf(family, &plain, &key).unwrap();
                    assert_eq!(below.as_deref(), rows.get(&key).map(Vec::as_slice));
                }
                BatchLookup::MergeOver(operands) => assert!(!operands.is_empty()),
            }
        }
        let mut options = ReadOptions::default();
        if random.one_in(2) {
            let (a, b) = (key(random), key(random));
            let (low, high) = if (at == 1) == (a < b) { (b, a) } else { (a, b) };
            options.lower_bound = random.one_in(2).then_some(low);
            options.upper_bound = random.one_in(2).then_some(high);
        }
        let mut iter = batch.iter_with_base_options(family, db.iter_cf(family, &options), &options);
        assert!(!iter.valid() && iter.key().is_empty() && iter.value().is_empty());
        walk(&mut iter, &in_order(rows, at == 1, &options), at == 1, random, family.name());
    }
}

#[test]
fn batch_and_database_are_what_the_database_will_be() {
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let (db, families) = open();
        let mut model = vec![Rows::new(), Rows::new()];
        for (family, rows) in families.iter().zip(&mut model) {
            for _ in 0..random.below(20) {
                let (key, value) = (key(&mut random), b"below".to_vec());
                db.put_cf(family, &key, &value, &WriteOptions::default()).unwrap();
                rows.insert(key, value);
            }
        }
        let mode = if random.one_in(2) { IndexMode::OverwriteKeys } else { IndexMode::KeepAll };
        let mut batch = WriteBatchWithIndex::new(mode);
        let below = model.clone();
        let mut save_points = Vec::new();
        for _ in 0..random.below(60) {
            match random.below(12) {
                0 => {
                    batch.set_save_point();
                    save_points.push(model.clone());
                }
                1 => match save_points.pop() {
                    Some(before) if random.one_in(2) => {
                        batch.rollback_to_save_point().unwrap();
                        model = before;
                    }
                    Some(_) => batch.pop_save_point().unwrap(),
                    None => {
                        assert_eq!(batch.rollback_to_save_point().unwrap_err().kind(), ErrorKind::NotFound);
                        assert_eq!(batch.pop_save_point().unwrap_err().kind(), ErrorKind::NotFound);
                    }
                },
                2 if random.one_in(8) => {
                    batch.clear();
                    save_points.clear();
                    model.clone_from(&below);
                }
                _ => add(&mut batch, &families, &mut model, &mut random),
            }
            if random.one_in(10) {
                check(&db, &batch, &families, &model, &mut random);
            }
        }
        check(&db, &batch, &families, &model, &mut random);
        let count = batch.count();
        assert_eq!(
            batch.read(|records| records.iter().filter(|r| r.as_ref().unwrap().is_counted()).count()),
            count as usize
        );
        batch.write_to(&db, &WriteOptions::default()).unwrap();
        for (family, rows) in families.iter().zip(&model) {
            let found = common::rows_of(db.iter_cf(family, &ReadOptions::default()));
            assert_eq!(found.into_iter().collect::<Rows>(), *rows, "seed {seed}");
        }
    }
}

#[test]
fn an_iterator_sees_what_is_added_when_it_moves() {
    let (db, families) = open();
    db.put(b"b", b"below").unwrap();
    db.put(b"d", b"below").unwrap();
    let mut batch = WriteBatchWithIndex::default();
    let mut iter = batch.iter_with_base(&families[0], db.iter(&ReadOptions::default()));
    iter.seek_to_first();
    assert_eq!(iter.key(), b"b");
    batch.put(b"a", b"1").unwrap();
    batch.put(b"c", b"2").unwrap();
    batch.single_delete(b"d").unwrap();
    db.put(b"e", b"later").unwrap();
    iter.next();
    assert_eq!((iter.key(), iter.value()), (&b"c"[..], &b"2"[..]));
    batch.clear();
    assert_eq!((iter.key(), iter.value()), (&b"c"[..], &b"2"[..]), "it stays where it is");
    iter.next();
    assert_eq!((iter.key(), iter.value()), (&b"d"[..], &b"below"[..]));
    iter.next();
    assert!(!iter.valid());
    iter.status().unwrap();
}

#[test]
fn operands_need_an_operator() {
    let (db, _) =
        Db::open_in_memory(in_memory(), vec![("default".to_owned(), ColumnFamilyOptions::default())]).unwrap();
    let family = db.default_column_family().unwrap();
    let mut batch = WriteBatchWithIndex::with_comparator(Comparator::Bytewise, IndexMode::KeepAll);
    batch.put(b"a", b"1").unwrap();
    batch.merge(b"b", b"2").unwrap();
    let read = ReadOptions::default();
    assert_eq!(batch.get_from_batch(&family, b"b").unwrap(), BatchLookup::MergeOver(vec![b"2".to_vec()]));
    let error = batch.get_from_batch_and_db(&db, &family, &read, b"b").unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("merge_operator"));
    let mut iter = batch.iter_with_base(&family, db.iter(&read));
    iter.seek_to_first();
    assert_eq!(iter.key(), b"a");
    iter.next();
    assert!(!iter.valid());
    assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::InvalidArgument);
    iter.seek(b"a");
    iter.status().unwrap();
    batch.delete(b"b").unwrap();
    batch.merge(b"b", b"3").unwrap();
    assert_eq!(batch.get_from_batch(&family, b"b").unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn an_error_of_the_base_ends_the_iteration() {
    let (db, families) = open();
    for number in 0..50 {
        db.put(format!("k{number:02}").as_bytes(), b"").unwrap();
        db.delete(format!("k{number:02}").as_bytes()).unwrap();
    }
    let mut batch = WriteBatchWithIndex::default();
    batch.put(b"z", b"1").unwrap();
    let options = ReadOptions { max_skippable_internal_keys: 5, ..ReadOptions::default() };
    let mut iter = batch.iter_with_base(&families[0], db.iter(&options));
    iter.seek_to_first();
    assert!(!iter.valid());
    assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::Incomplete);
}
