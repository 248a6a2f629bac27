//! Observed behaviour of RocksDB, as scripts: `key@sequence:type=value`, types as in the engine's notation:
//! p put, d delete, s single delete, m merge, t timed put, e entity, b blob index.

use super::*;
use ferrock_base::ErrorKind;
use ferrock_base::merge::MergeOperator;
use ferrock_format::wide_column::encode_entity;

fn type_of(letter: &str) -> ValueType {
    match letter {
        "p" => ValueType::Value,
        "d" => ValueType::Deletion,
        "s" => ValueType::SingleDeletion,
        "m" => ValueType::Merge,
        "t" => ValueType::ValuePreferredSeqno,
        "e" => ValueType::WideColumnEntity,
        "b" => ValueType::BlobIndex,
        other => unreachable!("type {other}"),
    }
}

fn parse(script: &str) -> Entries {
    let order = InternalComparator::default();
    let entry = |word: &str| {
        let (key, rest) = word.split_once('@').unwrap();
        let (sequence, rest) = rest.split_once(':').unwrap();
        let (letter, value) = rest.split_once('=').unwrap_or((rest, ""));
        let key = make_internal_key(key.as_bytes(), SequenceNumber(sequence.parse().unwrap()), type_of(letter));
        (key, value.as_bytes().to_vec())
    };
    let mut entries: Entries = script.split_whitespace().map(entry).collect();
    entries.sort_by(|a, b| order.compare(&a.0, &b.0));
    entries
}

fn show(entries: &Entries) -> String {
    let word = |(key, value): &(Vec<u8>, Vec<u8>)| {
        let parsed = ParsedInternalKey::parse(key).unwrap();
        let letters = ["p", "d", "s", "m", "t", "e", "b"];
        let letter = letters.into_iter().find(|letter| type_of(letter) == parsed.value_type).unwrap();
        let equals = if value.is_empty() { "" } else { "=" };
        format!("{}@{}:{letter}{equals}{}", parsed.user_key.escape_ascii(), parsed.sequence, value.escape_ascii())
    };
    entries.iter().map(word).collect::<Vec<_>>().join(" ")
}

type Iter<D> = CompactionIterator<MergingIterator<SourceIterator<VecIterator>>, D>;

fn iterator<D: DeeperLevels>(
    entries: Entries,
    tombstones: &[(&str, &str, u64)],
    deeper: D,
    options: CompactionIteratorOptions,
) -> Iter<D> {
    let order = InternalComparator::default();
    let list = tombstones.iter().map(|&(start, end, sequence)| RangeTombstone {
        start: start.into(),
        end: end.into(),
        sequence: SequenceNumber(sequence),
    });
    let source = RangeTombstoneSource::new(fragmented(list.collect()));
    let child = SourceIterator::new(VecIterator::new(order.clone(), Arc::new(entries)), order.clone(), None);
    let tombstones = CompactionRangeTombstones::new(order.clone(), vec![source]);
    CompactionIterator::new(MergingIterator::new(order, vec![child]), tombstones, deeper, options)
}

fn drain<D: DeeperLevels>(iter: &mut Iter<D>) -> Entries {
    let mut out = Entries::new();
    iter.seek_to_first();
    while iter.valid() {
        out.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    out
}

fn flush(script: &str, snapshots: &[u64]) -> String {
    let mut iter = iterator(parse(script), &[], UnknownDeeper, options(snapshots));
    let out = drain(&mut iter);
    iter.status().unwrap();
    show(&out)
}

fn bottom(script: &str, snapshots: &[u64]) -> String {
    let options = CompactionIteratorOptions { bottommost: true, ..options(snapshots) };
    let mut iter = iterator(parse(script), &[], NothingDeeper, options);
    let out = drain(&mut iter);
    iter.status().unwrap();
    show(&out)
}

#[test]
fn merges_fold_within_a_stripe() {
    assert_eq!(flush("k@1:m=a k@2:m=b", &[]), "k@2:m=a,b");
    assert_eq!(flush("k@1:p=p k@2:m=a k@3:m=b", &[]), "k@3:p=p,a,b");
    assert_eq!(flush("k@1:p=p k@2:d k@3:m=a", &[]), "k@3:p=a");
    assert_eq!(flush("k@1:p=p k@2:m=a k@3:m=b", &[1]), "k@3:m=a,b k@1:p=p");
    assert_eq!(flush("k@1:m=a", &[]), "k@1:m=a");
    assert_eq!(bottom("k@1:m=a k@2:m=b", &[]), "k@0:p=a,b");
    assert_eq!(bottom("k@1:m=a k@2:m=b", &[1]), "k@2:m=b k@0:p=a");
    assert_eq!(flush("k@1:s k@2:m=a", &[]), "k@2:p=a");
    assert_eq!(flush("k@3:t=v12345678 k@4:m=x", &[]), "k@4:p=v,x");
}

#[test]
fn merges_over_an_entity_stay_an_entity() {
    let entity = encode_entity(&[(b"", b"d"), (b"c", b"v")]).unwrap();
    let merged = encode_entity(&[(b"", b"d,x"), (b"c", b"v")]).unwrap();
    let key = |sequence, kind| make_internal_key(b"k", SequenceNumber(sequence), kind);
    let entries = vec![(key(2, ValueType::Merge), b"x".to_vec()), (key(1, ValueType::WideColumnEntity), entity)];
    let mut iter = iterator(entries, &[], UnknownDeeper, options(&[]));
    assert_eq!(drain(&mut iter), vec![(key(2, ValueType::WideColumnEntity), merged)]);
}

#[test]
fn operands_over_a_blob_reference_wait_when_it_is_out_of_reach() {
    assert_eq!(flush("k@1:b=ref k@2:m=a k@3:m=b", &[]), "k@3:m=a,b k@1:b=ref");
}

#[test]
fn operands_over_a_blob_reference_are_folded_over_its_value() {
    let run = |script: &str, snapshots: &[u64]| {
        let blobs: Option<Arc<dyn crate::blob::FetchBlob>> = Some(Arc::new(crate::blob::fake::FakeBlobs));
        let mut iter =
            iterator(parse(script), &[], UnknownDeeper, CompactionIteratorOptions { blobs, ..options(snapshots) });
        let out = drain(&mut iter);
        iter.status().map(|()| show(&out))
    };
    assert_eq!(run("k@1:b=r k@2:m=a k@3:m=b l@4:b=s", &[]).unwrap(), "k@3:p=blob of k at r,a,b l@4:b=s");
    assert_eq!(run("k@1:b=r k@2:m=a k@3:m=b", &[1]).unwrap(), "k@3:m=a,b k@1:b=r", "a snapshot between them");
    assert_eq!(run("k@1:b=bad k@2:p=v", &[]).unwrap(), "k@2:p=v", "what is hidden is not fetched");
    assert!(run("k@1:b=bad k@2:m=a", &[]).unwrap_err().is_corruption());
}

#[test]
fn references_read_are_counted_whatever_becomes_of_them() {
    let reference = |number: u64, size_bytes: u64| {
        let file_number = ferrock_base::FileNumber(number);
        ferrock_format::blob_index::BlobReference { file_number, offset: 100, size_bytes, compression: 0 }.encode()
    };
    let key = |key: &str, at, kind| make_internal_key(key.as_bytes(), SequenceNumber(at), kind);
    let entries = vec![
        (key("a", 3, ValueType::BlobIndex), reference(5, 10)),
        (key("a", 1, ValueType::BlobIndex), reference(5, 20)),
        (key("bb", 4, ValueType::Deletion), Vec::new()),
        (key("bb", 2, ValueType::BlobIndex), reference(6, 30)),
        (key("c", 5, ValueType::BlobIndex), reference(5, 40)),
    ];
    let mut counted = crate::blob::BlobFlow::default();
    for (key, value) in &entries {
        counted.add_entry(key, ParsedInternalKey::parse(key).unwrap().value_type, value).unwrap();
    }
    let mut iter = iterator(entries, &[], UnknownDeeper, options(&[]));
    assert_eq!(drain(&mut iter).len(), 3);
    assert_eq!(*iter.blobs_read(), counted);
}

/// Refuses partial merges.
#[derive(Debug)]
struct FullOnly;

impl MergeOperator for FullOnly {
    fn name(&self) -> &str {
        "test.FullOnly"
    }
    fn full_merge(&self, _: &[u8], existing: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        if existing == Some(b"poison") {
            return false;
        }
        out.extend_from_slice(&operands.concat());
        true
    }
}

#[test]
fn operands_that_do_not_fold_are_kept() {
    let run = |script: &str| {
        let options = CompactionIteratorOptions { merge_operator: Some(Arc::new(FullOnly)), ..options(&[]) };
        let mut iter = iterator(parse(script), &[], UnknownDeeper, options);
        let out = drain(&mut iter);
        iter.status().map(|()| show(&out))
    };
    assert_eq!(run("k@1:m=a k@2:m=b k@3:m=c l@4:p=v").unwrap(), "k@3:m=c k@2:m=b k@1:m=a l@4:p=v");
    assert!(run("k@1:p=poison k@2:m=b").unwrap_err().is_corruption());
    let options = CompactionIteratorOptions { merge_operator: None, ..options(&[]) };
    let mut iter = iterator(parse("k@1:m=a"), &[], UnknownDeeper, options);
    assert!(drain(&mut iter).is_empty());
    assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn one_version_per_stripe() {
    assert_eq!(flush("k@1:p=a k@2:p=b k@3:p=c", &[1]), "k@3:p=c k@1:p=a");
    assert_eq!(flush("k@1:p=a k@2:p=b k@3:p=c", &[]), "k@3:p=c");
    assert_eq!(flush("k@1:p=a k@2:p=b k@3:p=c", &[2, 1]), "k@3:p=c k@2:p=b k@1:p=a");
}

#[test]
fn a_flush_keeps_deletes() {
    assert_eq!(flush("k@1:p=a k@2:d", &[]), "k@2:d");
}

#[test]
fn deletes_at_the_bottom() {
    assert_eq!(bottom("k@1:p=a k@2:d", &[]), "");
    assert_eq!(bottom("k@1:p=a k@2:p=b k@3:d", &[1]), "k@3:d k@0:p=a");
    assert_eq!(bottom("k@2:p=b k@3:d", &[1]), "");
    assert_eq!(bottom("k@1:d k@3:p=x", &[2]), "k@3:p=x");
    assert_eq!(bottom("j@1:d k@3:p=x", &[]), "k@0:p=x");
}

#[test]
fn single_deletes_vanish_with_their_put() {
    assert_eq!(flush("k@1:p=a k@2:s", &[]), "");
    assert_eq!(flush("k@2:p=b k@3:s", &[1]), "");
    assert_eq!(flush("k@1:p=a k@2:s", &[1]), "k@2:s k@1:p=a");
    assert_eq!(flush("k@1:s", &[]), "k@1:s");
    assert_eq!(bottom("k@1:s", &[]), "");
    assert_eq!(flush("k@1:s k@2:s", &[]), "k@1:s");
    assert_eq!(flush("k@1:s k@2:p=a", &[]), "k@2:p=a k@1:s");
    assert_eq!(flush("k@1:p=a k@2:s k@3:p=b", &[]), "k@3:p=b");
}

#[test]
fn zeroed_entries_belong_to_the_oldest_stripe() {
    assert_eq!(bottom("k@0:p=a k@5:d", &[]), "");
    assert_eq!(bottom("k@0:p=a k@5:s", &[]), "");
    assert_eq!(bottom("k@0:p=a k@5:d", &[3]), "k@5:d k@0:p=a");
    assert_eq!(bottom("k@0:p=a k@5:m=b", &[]), "k@0:p=a,b");
}

#[test]
fn single_delete_over_delete_breaks_the_contract() {
    let run = |enforce: bool| {
        let options = CompactionIteratorOptions { enforce_single_delete_contracts: enforce, ..options(&[]) };
        let mut iter = iterator(parse("k@1:d k@2:s"), &[], UnknownDeeper, options);
        let out = drain(&mut iter);
        iter.status().map(|()| show(&out))
    };
    let error = run(true).unwrap_err();
    assert!(error.is_corruption() && error.message().contains("violating the contract"));
    assert_eq!(run(false).unwrap(), "k@1:d");
}

#[test]
fn single_deletes_under_a_put_of_the_oldest_stripe_break_nothing() {
    assert_eq!(bottom("k@1:d k@2:s k@3:p=a", &[]), "k@0:p=a");
    assert_eq!(bottom("k@1:p=x k@2:s k@3:p=a", &[]), "k@0:p=a");
    assert_eq!(bottom("k@1:p=x k@2:d k@3:s k@4:p=a", &[]), "k@0:p=a");
}

proptest! {
    #[test]
    fn a_put_of_the_oldest_stripe_is_all_that_is_left_of_its_key(older in prop::collection::vec(0usize..4, 0..12)) {
        let mut entries = String::new();
        for (index, kind) in older.iter().enumerate() {
            entries += &format!("k@{}:{} ", index + 1, ["p=x", "d", "s", "m=y"][*kind]);
        }
        entries += &format!("k@{}:p=newest l@1:p=z", older.len() + 1);
        prop_assert_eq!(bottom(&entries, &[]), "k@0:p=newest l@0:p=z");
    }
}

#[test]
fn a_write_conflict_snapshot_keeps_the_trace_of_a_write() {
    let conflict = SequenceNumber(1);
    let options = CompactionIteratorOptions { earliest_write_conflict_snapshot: conflict, ..options(&[]) };
    let mut iter = iterator(parse("k@2:p=value k@3:s l@4:p=x"), &[], UnknownDeeper, options);
    assert_eq!(show(&drain(&mut iter)), "k@3:s k@2:p l@4:p=x");
}

#[test]
fn sequence_numbers_are_zeroed_at_the_bottom_only() {
    assert_eq!(bottom("a@3:p=x b@5:p=y", &[4]), "a@0:p=x b@5:p=y");
    let options =
        CompactionIteratorOptions { bottommost: true, preserve_sequence_after: SequenceNumber(4), ..options(&[]) };
    let mut iter = iterator(parse("a@3:p=x b@5:p=y"), &[], NothingDeeper, options);
    assert_eq!(show(&drain(&mut iter)), "a@0:p=x b@5:p=y");
    assert_eq!(iter.dropped().zeroed, 1);
}

#[test]
fn range_tombstones_delete_within_their_stripe() {
    let run = |snapshots: &[u64]| {
        let script = "a@1:p=x b@2:p=x b@9:p=y c@3:d d@4:p=z";
        let mut iter = iterator(parse(script), &[("a", "d", 5)], UnknownDeeper, options(snapshots));
        let out = show(&drain(&mut iter));
        iter.status().unwrap();
        (out, iter.dropped().range_deleted, iter.tombstone_fates().surviving.len())
    };
    assert_eq!(run(&[]), ("b@9:p=y d@4:p=z".to_owned(), 2, 1));
    assert_eq!(run(&[3]), ("a@1:p=x b@9:p=y b@2:p=x c@3:d d@4:p=z".to_owned(), 0, 1));
}

#[test]
fn merge_operands_stop_at_a_range_tombstone() {
    let script = "k@1:p=p k@2:m=a k@4:m=b k@5:m=c";
    let mut iter = iterator(parse(script), &[("a", "z", 3)], UnknownDeeper, options(&[]));
    assert_eq!(show(&drain(&mut iter)), "k@5:p=b,c");
}

#[test]
fn only_tombstones_that_somebody_needs_survive() {
    let tombstones = [("a", "m", 3), ("a", "m", 5), ("g", "z", 8)];
    let show = |snapshots: &[u64], bottommost: bool| {
        let options = CompactionIteratorOptions { bottommost, ..options(snapshots) };
        let iter = iterator(Vec::new(), &tombstones, UnknownDeeper, options);
        let list = iter.tombstone_fates().surviving;
        let word = |t: &RangeTombstone| format!("{}-{}@{}", t.start.escape_ascii(), t.end.escape_ascii(), t.sequence);
        list.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(show(&[], false), "a-g@5 g-m@8 m-z@8");
    assert_eq!(show(&[5], false), "a-g@5 g-m@8 g-m@5 m-z@8");
    assert_eq!(show(&[3], false), "a-g@5 a-g@3 g-m@8 g-m@3 m-z@8");
    assert_eq!(show(&[5], true), "g-m@8 m-z@8");
    assert_eq!(show(&[], true), "");
}

#[test]
fn timed_puts_become_puts_when_nobody_can_tell() {
    let mut value = b"v".to_vec();
    value.extend_from_slice(&2u64.to_le_bytes());
    let entries = |sequence| {
        vec![(make_internal_key(b"k", SequenceNumber(sequence), ValueType::ValuePreferredSeqno), value.clone())]
    };
    let run = |tombstones: &[(&str, &str, u64)], snapshots: &[u64], preserve| {
        let options = CompactionIteratorOptions {
            bottommost: true,
            preserve_sequence_after: SequenceNumber(preserve),
            ..options(snapshots)
        };
        let mut iter = iterator(entries(6), tombstones, NothingDeeper, options);
        let out = drain(&mut iter);
        iter.status().unwrap();
        let parsed = ParsedInternalKey::parse(&out[0].0).unwrap();
        (parsed.sequence.0, parsed.value_type, out[0].1.len())
    };
    assert_eq!(run(&[], &[], 0), (2, ValueType::Value, 1));
    assert_eq!(run(&[], &[5], 0), (6, ValueType::ValuePreferredSeqno, 9));
    assert_eq!(run(&[("a", "z", 4)], &[], 0), (6, ValueType::ValuePreferredSeqno, 9));
    let bad = vec![(make_internal_key(b"k", SequenceNumber(1), ValueType::ValuePreferredSeqno), b"short".to_vec())];
    let options = CompactionIteratorOptions { bottommost: true, ..options(&[]) };
    let mut iter = iterator(bad, &[], NothingDeeper, options);
    drain(&mut iter);
    assert!(iter.status().unwrap_err().is_corruption());
}

#[test]
fn bad_input_is_refused() {
    let fails = |entries: Entries| {
        let order = InternalComparator::default();
        let tombstones = CompactionRangeTombstones::new(order.clone(), Vec::new());
        let input = VecIterator::new(order, Arc::new(entries));
        let mut iter = CompactionIterator::new(input, tombstones, UnknownDeeper, options(&[]));
        iter.seek_to_first();
        while iter.valid() {
            iter.next();
        }
        iter.status().unwrap_err().is_corruption()
    };
    let key = |user: &[u8], at| make_internal_key(user, SequenceNumber(at), ValueType::Value);
    assert!(fails(vec![(key(b"b", 1), vec![]), (key(b"a", 2), vec![])]));
    assert!(fails(vec![(key(b"a", 1), vec![]), (key(b"a", 2), vec![])]));
    assert!(fails(vec![(key(b"a", 2), vec![]), (key(b"a", 2), vec![])]));
    assert!(fails(vec![(b"short".to_vec(), vec![])]));
    assert!(fails(vec![(make_internal_key(b"a", SequenceNumber(1), ValueType::RangeDeletion), vec![])]));
}

#[test]
fn counts_what_was_dropped() {
    let mut iter = iterator(parse("a@1:p=x a@2:p=y b@3:d c@4:s"), &[], UnknownDeeper, options(&[]));
    drain(&mut iter);
    let dropped = *iter.dropped();
    assert_eq!((dropped.input_entries, dropped.hidden, dropped.input_deletions), (4, 1, 2));
    assert_eq!((dropped.input_key_bytes, dropped.input_value_bytes), (36, 2));
}
