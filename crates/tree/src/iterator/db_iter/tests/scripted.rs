//! Single behaviours, by example.

use super::super::super::level::{LevelIterator, LevelSource, OpenedTable};
use super::super::super::model::fragmented;
use super::super::super::range_tombstones::RangeTombstoneSource;
use super::super::super::source::SourceIterator;
use super::*;
use crate::blob::fake::FakeBlobs;
use crate::read::pinned::Pin;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::iterator::VecIterator;
use ferrock_base::range_tombstone::RangeTombstone;
use ferrock_format::wide_column::encode_entity;
use std::cell::RefCell;
use std::rc::Rc;

fn over<'a>(
    entries: &[(&'a str, u64, ValueType, &'a [u8])],
    options: DbIteratorOptions,
) -> DbIterator<SourceIterator<VecIterator>, ()> {
    let order = InternalComparator::new(options.comparator.clone());
    let mut list: Vec<(Vec<u8>, Vec<u8>)> = entries
        .iter()
        .map(|&(key, at, kind, value)| (make_internal_key(key.as_bytes(), SequenceNumber(at), kind), value.to_vec()))
        .collect();
    list.sort_by(|a, b| order.compare(&a.0, &b.0));
    let child = SourceIterator::new(VecIterator::new(order.clone(), Arc::new(list)), order.clone(), None);
    DbIterator::new(MergingIterator::new(order, vec![child]), options, ())
}

fn keys<I: TombstoneIterator, O>(iter: &mut DbIterator<I, O>) -> String {
    let mut keys = Vec::new();
    while iter.valid() {
        keys.push(String::from_utf8(iter.key().to_vec()).unwrap());
        iter.next();
    }
    iter.status().unwrap();
    keys.join(" ")
}

const PUT: ValueType = ValueType::Value;

#[test]
fn iterators_can_be_sent_to_another_thread() {
    fn assert_send<T: Send + 'static>() {}
    assert_send::<DbIterator<SourceIterator<VecIterator>, Arc<()>>>();
}

#[test]
fn entities_and_timed_puts_show_their_value() {
    let entity = encode_entity(&[(b"", b"default"), (b"c", b"v")]).unwrap();
    let bare = encode_entity(&[(b"c", b"v")]).unwrap();
    let list = [
        ("a", 1, ValueType::WideColumnEntity, &entity[..]),
        ("b", 2, ValueType::WideColumnEntity, &bare),
        ("c", 3, ValueType::ValuePreferredSeqno, b"timed12345678"),
        ("d", 5, ValueType::Merge, b"x"),
        ("d", 4, ValueType::WideColumnEntity, &entity),
    ];
    let mut iter = over(&list, options(9));
    for backward in [false, true] {
        let mut values = Vec::new();
        if backward {
            iter.seek_to_last()
        } else {
            iter.seek_to_first()
        }
        while iter.valid() {
            values.push(String::from_utf8(iter.value().to_vec()).unwrap());
            if backward { iter.prev() } else { iter.next() }
        }
        iter.status().unwrap();
        if backward {
            values.reverse();
        }
        assert_eq!(values, ["default", "", "timed", "default,x"]);
    }
}

#[test]
fn blob_values_are_fetched_in_both_directions() {
    let list = [
        ("a", 1, ValueType::BlobIndex, &b"1"[..]),
        ("b", 3, ValueType::Merge, b"x"),
        ("b", 2, ValueType::BlobIndex, b"2"),
        ("c", 5, PUT, b"y"),
        ("c", 4, ValueType::BlobIndex, b"bad"),
        ("d", 6, ValueType::BlobIndex, b"6"),
    ];
    let wanted = ["blob of a at 1", "blob of b at 2,x", "y", "blob of d at 6"];
    // A small bound takes the way of keys with many versions.
    for max_sequential_skip_in_iterations in [1, 8] {
        let blobs: Option<Arc<dyn FetchBlob>> = Some(Arc::new(FakeBlobs));
        let options = DbIteratorOptions { blobs, max_sequential_skip_in_iterations, ..options(9) };
        let mut iter = over(&list, options);
        let mut seen = Vec::new();
        iter.seek_to_first();
        while iter.valid() {
            seen.push((iter.key().to_vec(), String::from_utf8(iter.value().to_vec()).unwrap()));
            assert_eq!(iter.pin_value(), iter.value());
            iter.next();
        }
        iter.status().unwrap();
        assert_eq!(seen.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(), wanted);
        let mut backward = Vec::new();
        iter.seek_to_last();
        while iter.valid() {
            backward.push((iter.key().to_vec(), String::from_utf8(iter.value().to_vec()).unwrap()));
            iter.prev();
        }
        iter.status().unwrap();
        backward.reverse();
        assert_eq!(backward, seen);
        iter.seek(b"d");
        iter.prev();
        assert_eq!((iter.key(), iter.value()), (&b"c"[..], &b"y"[..]));
        iter.prev();
        iter.next();
        iter.next();
        assert_eq!((iter.key(), iter.value()), (&b"d"[..], &b"blob of d at 6"[..]));
    }
}

#[test]
fn a_blob_that_cannot_be_fetched_ends_the_iteration() {
    let list = [("a", 1, PUT, &b"x"[..]), ("b", 2, ValueType::BlobIndex, b"bad"), ("c", 3, PUT, b"y")];
    let blobs: Option<Arc<dyn FetchBlob>> = Some(Arc::new(FakeBlobs));
    let mut iter = over(&list, DbIteratorOptions { blobs, ..options(9) });
    iter.seek_to_first();
    iter.next();
    assert!(!iter.valid() && iter.status().unwrap_err().is_corruption());
    iter.seek_to_last();
    iter.prev();
    assert!(!iter.valid() && iter.status().unwrap_err().is_corruption());
    iter.seek(b"c");
    assert!(iter.valid() && iter.status().is_ok());
}

#[test]
fn a_blob_reference_is_an_error_unless_it_is_hidden() {
    let list = [("a", 1, PUT, &b"x"[..]), ("b", 2, ValueType::BlobIndex, b"ref"), ("c", 3, PUT, b"y")];
    let mut iter = over(&list, options(9));
    iter.seek_to_first();
    iter.next();
    assert!(!iter.valid());
    assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::NotSupported);
    iter.seek_to_last();
    assert_eq!(iter.key(), b"c");
    iter.prev();
    assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::NotSupported);
    let list = [("b", 3, ValueType::Deletion, &b""[..]), ("b", 2, ValueType::BlobIndex, b"ref"), ("c", 3, PUT, b"y")];
    let mut iter = over(&list, options(9));
    iter.seek_to_first();
    assert_eq!(keys(&mut iter), "c");
    iter.seek_to_last();
    iter.prev();
    assert!(!iter.valid() && iter.status().is_ok());
}

#[test]
fn malformed_entries_are_errors_both_ways() {
    let order = InternalComparator::default();
    let child = SourceIterator::new(
        VecIterator::new(order.clone(), Arc::new(vec![(b"bad".to_vec(), vec![])])),
        order.clone(),
        None,
    );
    let mut iter = DbIterator::new(MergingIterator::new(order, vec![child]), options(9), ());
    iter.seek_to_first();
    assert!(iter.status().unwrap_err().is_corruption());
    iter.seek_to_last();
    assert!(iter.status().unwrap_err().is_corruption());
    let mut iter = over(&[("k", 1, ValueType::ValuePreferredSeqno, b"short")], options(9));
    iter.seek_to_first();
    assert!(!iter.valid() && iter.status().unwrap_err().is_corruption());
    let mut iter = over(&[("k", 1, ValueType::Merge, b"x")], DbIteratorOptions { merge_operator: None, ..options(9) });
    iter.seek_to_last();
    assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn an_iterator_stays_in_the_prefix_it_started_in() {
    let list = ["aa1", "aa2", "ab1", "b", "ba1"].map(|key| (key, 1, PUT, &b"v"[..]));
    let prefixed = DbIteratorOptions {
        prefix_extractor: Some(PrefixExtractor::Fixed(2)),
        prefix_same_as_start: true,
        ..options(9)
    };
    let mut iter = over(&list, prefixed.clone());
    iter.seek(b"aa");
    assert_eq!(keys(&mut iter), "aa1 aa2");
    iter.seek(b"aa3");
    assert!(!iter.valid());
    iter.seek_to_first();
    assert_eq!(keys(&mut iter), "aa1 aa2");
    iter.seek(b"ab0");
    iter.prev();
    assert!(!iter.valid() && iter.status().is_ok());
    // A key without prefix starts an iteration without that bound.
    iter.seek(b"b");
    assert_eq!(keys(&mut iter), "b ba1");
    let mut iter = over(&list, DbIteratorOptions { prefix_same_as_start: false, ..prefixed });
    iter.seek(b"aa");
    assert_eq!(keys(&mut iter), "aa1 aa2 ab1 b ba1");
}

#[test]
fn the_prefix_of_a_target_below_the_lower_bound_is_that_of_the_target() {
    let list = ["aa1", "ab1", "ab2", "ac1"].map(|key| (key, 1, PUT, &b"v"[..]));
    let prefixed = DbIteratorOptions {
        prefix_extractor: Some(PrefixExtractor::Fixed(2)),
        prefix_same_as_start: true,
        lower_bound: Some(b"ab1".to_vec()),
        ..options(9)
    };
    let mut iter = over(&list, prefixed);
    iter.seek(b"aa0");
    assert!(!iter.valid() && iter.status().is_ok());
    iter.seek(b"ab0");
    assert_eq!(keys(&mut iter), "ab1 ab2");
    iter.seek_to_first();
    assert_eq!(keys(&mut iter), "ab1 ab2");
    // A target without prefix sets no bound.
    iter.seek(b"a");
    assert_eq!(keys(&mut iter), "ab1 ab2 ac1");
}

#[test]
fn other_orders_and_bounds() {
    let list = ["a", "b", "c", "d"].map(|key| (key, 1, PUT, &b"v"[..]));
    let reverse = DbIteratorOptions {
        lower_bound: Some(b"c".to_vec()),
        upper_bound: Some(b"a".to_vec()),
        ..DbIteratorOptions::new(Comparator::ReverseBytewise, ReadView::UpTo(SequenceNumber(5)))
    };
    let mut iter = over(&list, reverse);
    iter.seek_to_first();
    assert_eq!(keys(&mut iter), "c b");
    iter.seek_to_last();
    assert_eq!(iter.key(), b"b");
    iter.seek(b"d");
    assert_eq!(iter.key(), b"c");
    iter.seek_for_prev(b"a");
    assert_eq!(iter.key(), b"b");
    iter.seek(b"a");
    assert!(!iter.valid() && iter.status().is_ok());
}

/// Smallest and largest key, and the entries.
type NotingFile = (Vec<u8>, Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>);

/// Files that note when they are opened; one may fail to.
#[derive(Debug)]
struct Noting {
    files: Vec<NotingFile>,
    opened: Rc<RefCell<Vec<usize>>>,
    failing: Option<usize>,
    tombstones: Vec<(usize, RangeTombstone)>,
}

impl LevelSource for Noting {
    type Iter = VecIterator;
    fn file_count(&self) -> usize {
        self.files.len()
    }
    fn smallest(&self, index: usize) -> &[u8] {
        &self.files[index].0
    }
    fn largest(&self, index: usize) -> &[u8] {
        &self.files[index].1
    }
    fn open(&self, index: usize) -> Result<OpenedTable<VecIterator>> {
        self.opened.borrow_mut().push(index);
        if self.failing == Some(index) {
            return Err(Error::corruption("no footer"));
        }
        let list = self.tombstones.iter().filter(|(file, _)| *file == index).map(|(_, tombstone)| tombstone.clone());
        let iter = VecIterator::new(InternalComparator::default(), Arc::new(self.files[index].2.clone()));
        Ok(OpenedTable { iter, tombstones: Some(fragmented(list.collect())) })
    }
}

fn noting(groups: &[&str], failing: Option<usize>) -> (Noting, Rc<RefCell<Vec<usize>>>) {
    let opened = Rc::new(RefCell::new(Vec::new()));
    let files = groups.iter().map(|group| {
        let entry = |key: &str| (make_internal_key(key.as_bytes(), SequenceNumber(1), PUT), key.as_bytes().to_vec());
        let entries: Vec<_> = group.split_whitespace().map(entry).collect();
        (entries.first().unwrap().0.clone(), entries.last().unwrap().0.clone(), entries)
    });
    (Noting { files: files.collect(), opened: opened.clone(), failing, tombstones: Vec::new() }, opened)
}

#[test]
fn a_level_opens_only_what_it_needs() {
    let order = InternalComparator::default();
    let (source, opened) = noting(&["a b", "d e", "g h", "k l"], None);
    let level =
        LevelIterator::new(source, order.clone(), Arc::new(ScanBounds::new(Some(b"d".to_vec()), Some(b"i".to_vec()))));
    let bounded =
        DbIteratorOptions { lower_bound: Some(b"d".to_vec()), upper_bound: Some(b"i".to_vec()), ..options(9) };
    let mut iter = DbIterator::new(MergingIterator::new(order, vec![level]), bounded, ());
    iter.seek_to_first();
    assert_eq!(opened.take(), [1]);
    assert_eq!(keys(&mut iter), "d e g h");
    assert_eq!(opened.take(), [2]);
    iter.seek_to_last();
    assert_eq!(iter.key(), b"h");
    while iter.valid() {
        iter.prev();
    }
    iter.status().unwrap();
    assert_eq!(opened.take(), [2, 1]);
    iter.seek(b"e");
    iter.seek(b"d");
    assert_eq!(opened.take(), [1], "the open file serves seeks into it");
}

#[test]
fn a_file_that_does_not_open_is_an_error_not_a_gap() {
    let order = InternalComparator::default();
    let (source, _) = noting(&["a b", "d e", "g h"], Some(1));
    let level = LevelIterator::new(source, order.clone(), Arc::default());
    let mut iter = DbIterator::new(MergingIterator::new(order, vec![level]), options(9), ());
    iter.seek_to_first();
    iter.next();
    assert_eq!(iter.key(), b"b");
    iter.next();
    assert!(!iter.valid() && iter.status().unwrap_err().is_corruption());
    iter.seek_to_last();
    iter.prev();
    iter.prev();
    assert!(!iter.valid() && iter.status().unwrap_err().is_corruption());
    iter.seek(b"g");
    assert!(iter.valid() && iter.status().is_ok());
}

/// Counts the entries it hands out.
#[derive(Debug)]
struct Counting(VecIterator, Rc<RefCell<usize>>);

impl InternalIterator for Counting {
    fn valid(&self) -> bool {
        self.0.valid()
    }
    fn key(&self) -> &[u8] {
        self.0.key()
    }
    fn value(&self) -> &[u8] {
        self.0.value()
    }
    fn seek_to_first(&mut self) {
        self.0.seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.0.seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        self.0.seek(target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.0.seek_for_prev(target);
    }
    fn next(&mut self) {
        *self.1.borrow_mut() += 1;
        self.0.next();
    }
    fn prev(&mut self) {
        *self.1.borrow_mut() += 1;
        self.0.prev();
    }
    fn status(&self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn long_deleted_ranges_and_long_histories_are_jumped() {
    let order = InternalComparator::default();
    let steps = Rc::new(RefCell::new(0));
    let source = |list: Vec<(String, u64)>, tombstones: Vec<RangeTombstone>| {
        let mut list: Vec<(Vec<u8>, Vec<u8>)> = list
            .into_iter()
            .map(|(key, at)| (make_internal_key(key.as_bytes(), SequenceNumber(at), PUT), b"v".to_vec()))
            .collect();
        list.sort_by(|a, b| order.compare(&a.0, &b.0));
        let iter = Counting(VecIterator::new(order.clone(), Arc::new(list)), steps.clone());
        SourceIterator::new(iter, order.clone(), Some(RangeTombstoneSource::new(fragmented(tombstones))))
    };
    let deleted = RangeTombstone { start: b"k".to_vec(), end: b"l".to_vec(), sequence: SequenceNumber(5000) };
    let newer = source(vec![("k0500".to_owned(), 6000)], vec![deleted]);
    let old: Vec<(String, u64)> = (0..1000).map(|at| (format!("k{at:04}"), at + 1)).collect();
    let many_versions = (0..1000).map(|at| ("many".to_owned(), 2000 + at));
    let older = source(
        old.into_iter().chain([("a".to_owned(), 1), ("z".to_owned(), 2)]).chain(many_versions).collect(),
        vec![],
    );
    let mut iter = DbIterator::new(MergingIterator::new(order.clone(), vec![newer, older]), options(10_000), ());
    iter.seek_to_first();
    assert_eq!(keys(&mut iter), "a k0500 many z");
    assert!(*steps.borrow() < 80, "{} steps forward", steps.borrow());
    *steps.borrow_mut() = 0;
    let mut back = Vec::new();
    iter.seek_to_last();
    while iter.valid() {
        back.push(String::from_utf8(iter.key().to_vec()).unwrap());
        iter.prev();
    }
    assert_eq!(back.join(" "), "z many k0500 a");
    assert!(*steps.borrow() < 80, "{} steps back", steps.borrow());
}

/// Values lie in a block that can be pinned.
#[derive(Debug)]
struct Pinning(VecIterator, Arc<Vec<u8>>);

impl InternalIterator for Pinning {
    fn valid(&self) -> bool {
        self.0.valid()
    }
    fn key(&self) -> &[u8] {
        self.0.key()
    }
    fn value(&self) -> &[u8] {
        &self.1[2..7]
    }
    fn seek_to_first(&mut self) {
        self.0.seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.0.seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        self.0.seek(target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.0.seek_for_prev(target);
    }
    fn next(&mut self) {
        self.0.next();
    }
    fn prev(&mut self) {
        self.0.prev();
    }
    fn status(&self) -> Result<()> {
        Ok(())
    }
}

impl PinValue for Pinning {
    type Pin = Arc<Vec<u8>>;
    fn value_pin(&self) -> Option<Arc<Vec<u8>>> {
        Some(self.1.clone())
    }
}

#[test]
fn values_are_pinned_where_they_lie() {
    let order = InternalComparator::default();
    let block = Arc::new(b"..value..".to_vec());
    let entries = vec![(make_internal_key(b"k", SequenceNumber(1), PUT), vec![])];
    let inner = Pinning(VecIterator::new(order.clone(), Arc::new(entries)), block.clone());
    let child = SourceIterator::new(inner, order.clone(), None);
    let mut iter = DbIterator::new(MergingIterator::new(order, vec![child]), options(9), ());
    iter.seek_to_first();
    let pinned = iter.pin_value();
    assert!(pinned.is_pinned());
    assert_eq!(pinned.as_slice().as_ptr(), block.bytes()[2..].as_ptr());
    drop(iter);
    assert_eq!(pinned, b"value");
}
