//! Compaction filters in the iterator.

use super::*;
use ferrock_base::compaction_filter::{CompactionFilter, FilterContext, FilterDecision};

/// Decides by the first byte of the value.
#[derive(Debug)]
struct ByValue;

impl CompactionFilter for ByValue {
    fn name(&self) -> &str {
        "test.ByValue"
    }
    fn filter(&self, context: &FilterContext, _key: &[u8], kind: ValueType, value: &[u8]) -> FilterDecision {
        assert_eq!(context.column_family_id, 7);
        assert!(matches!(kind, ValueType::Value | ValueType::Merge));
        match value.first() {
            Some(b'r') => FilterDecision::Remove,
            Some(b'p') => FilterDecision::Purge,
            Some(b'c') => FilterDecision::ChangeValue(b"changed".to_vec()),
            Some(b'u') => FilterDecision::RemoveAndSkipUntil(value[1..].to_vec()),
            _ => FilterDecision::Keep,
        }
    }
}

fn run(entries: &[(&str, u64, ValueType, &str)], snapshots: &[u64], bottommost: bool) -> Vec<String> {
    run_with(Arc::new(ByValue), entries, snapshots, bottommost)
}

fn run_with(
    filter: Arc<dyn CompactionFilter>,
    entries: &[(&str, u64, ValueType, &str)],
    snapshots: &[u64],
    bottommost: bool,
) -> Vec<String> {
    let order = InternalComparator::default();
    let context = FilterContext {
        is_bottommost: bottommost,
        is_manual: false,
        column_family_id: 7,
        output_level: 1,
        input_level: 0,
    };
    let options = CompactionIteratorOptions {
        compaction_filter: Some((filter, context)),
        blobs: Some(Arc::new(crate::blob::fake::FakeBlobs)),
        bottommost,
        ..options(snapshots)
    };
    let mut list: Entries = entries
        .iter()
        .map(|&(key, at, kind, value)| (make_internal_key(key.as_bytes(), SequenceNumber(at), kind), value.into()))
        .collect();
    list.sort_by(|a, b| order.compare(&a.0, &b.0));
    let tombstones = CompactionRangeTombstones::new(order.clone(), Vec::new());
    let input = VecIterator::new(order, Arc::new(list));
    let mut iter = CompactionIterator::new(input, tombstones, UnknownDeeper, options);
    let mut out = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        let parsed = ParsedInternalKey::parse(iter.key()).unwrap();
        let (key, value) = (parsed.user_key.escape_ascii(), iter.value().escape_ascii());
        out.push(format!("{key}@{} {:?} {value}", parsed.sequence, parsed.value_type));
        iter.next();
    }
    iter.status().unwrap();
    out
}

const PUT: ValueType = ValueType::Value;
const MERGE: ValueType = ValueType::Merge;

#[test]
fn the_filter_sees_what_a_reference_refers_to() {
    #[derive(Debug)]
    struct DropsBlobs;
    impl CompactionFilter for DropsBlobs {
        fn name(&self) -> &str {
            "test.DropsBlobs"
        }
        fn filter(&self, _: &FilterContext, _: &[u8], kind: ValueType, value: &[u8]) -> FilterDecision {
            assert_eq!(kind, ValueType::Value);
            if value == b"blob of a at 1" { FilterDecision::Remove } else { FilterDecision::Keep }
        }
    }
    let filter = |kind| run_with(Arc::new(DropsBlobs), &[("a", 3, kind, "1"), ("b", 2, kind, "1")], &[], false);
    assert_eq!(filter(ValueType::BlobIndex), ["a@3 Deletion ", "b@2 BlobIndex 1"]);
    assert_eq!(filter(PUT), ["a@3 Value 1", "b@2 Value 1"]);
}

#[test]
fn a_decision_by_the_key_alone_reads_no_blob_file() {
    #[derive(Debug)]
    struct ByKey;
    impl CompactionFilter for ByKey {
        fn name(&self) -> &str {
            "test.ByKey"
        }
        fn filter(&self, _: &FilterContext, key: &[u8], _: ValueType, _: &[u8]) -> FilterDecision {
            assert!(matches!(key, b"value" | b"z"), "{}", key.escape_ascii());
            FilterDecision::Keep
        }
        fn filter_blob_by_key(&self, _: &FilterContext, key: &[u8]) -> Option<FilterDecision> {
            match key {
                b"change" => Some(FilterDecision::ChangeValue(b"changed".to_vec())),
                b"keep" => Some(FilterDecision::Keep),
                b"purge" => Some(FilterDecision::Purge),
                b"remove" => Some(FilterDecision::Remove),
                b"skip" => Some(FilterDecision::RemoveAndSkipUntil(b"value".to_vec())),
                _ => None,
            }
        }
    }
    // The index `bad` cannot be fetched.
    let blob = |key| (key, 1, ValueType::BlobIndex, "bad");
    let entries = [blob("change"), blob("keep"), blob("purge"), blob("remove"), blob("skip"), blob("t")];
    let others = [("value", 1, ValueType::BlobIndex, "1"), ("z", 1, PUT, "1")];
    let found = run_with(Arc::new(ByKey), &[&entries[..], &others].concat(), &[], false);
    let wanted = ["change@1 Value changed", "keep@1 BlobIndex bad", "purge@1 SingleDeletion ", "remove@1 Deletion "];
    assert_eq!(found, [&wanted[..], &["value@1 BlobIndex 1", "z@1 Value 1"]].concat());
}

#[test]
fn decisions_change_the_newest_value() {
    assert_eq!(run(&[("a", 3, PUT, "remove")], &[], false), ["a@3 Deletion "]);
    assert_eq!(run(&[("a", 3, PUT, "purge")], &[], false), ["a@3 SingleDeletion "]);
    assert_eq!(run(&[("a", 3, PUT, "change")], &[], false), ["a@3 Value changed"]);
    assert_eq!(run(&[("a", 3, PUT, "keep"), ("b", 4, PUT, "k")], &[], false), ["a@3 Value keep", "b@4 Value k"]);
    assert!(run(&[("a", 3, PUT, "remove"), ("a", 2, PUT, "keep")], &[], true).is_empty());
    assert_eq!(run(&[("a", 3, PUT, "change"), ("b", 4, PUT, "k")], &[], true), ["a@0 Value changed", "b@0 Value k"]);
}

#[test]
fn only_the_newest_version_is_judged() {
    let entries = [("a", 5, PUT, "keep"), ("a", 3, PUT, "remove")];
    assert_eq!(run(&entries, &[3], false), ["a@5 Value keep", "a@3 Value remove"]);
    let entries = [("a", 5, PUT, "remove"), ("a", 3, PUT, "keep")];
    assert_eq!(run(&entries, &[3], true), ["a@5 Deletion ", "a@0 Value keep"]);
    assert_eq!(run(&[("a", 5, PUT, "purge"), ("a", 3, PUT, "keep")], &[3], true)[1], "a@0 Value keep");
}

#[test]
fn skipping_drops_without_tombstones() {
    let entries = [("a", 1, PUT, "uc"), ("b", 2, PUT, "k"), ("c", 3, PUT, "k"), ("d", 4, PUT, "ub")];
    assert_eq!(run(&entries, &[], false), ["c@3 Value k", "d@4 Value ub"]);
    let entries = [("a", 1, MERGE, "uc"), ("b", 2, PUT, "k"), ("c", 3, PUT, "k")];
    assert_eq!(run(&entries, &[], false), ["c@3 Value k"]);
}

#[test]
fn operands_are_judged_one_by_one_above_the_snapshots() {
    let entries = [("a", 5, MERGE, "x"), ("a", 4, MERGE, "remove"), ("a", 3, MERGE, "change"), ("a", 2, PUT, "base")];
    assert_eq!(run(&entries, &[], false), ["a@5 Value base,changed,x"]);
    assert_eq!(run(&entries, &[5], false), ["a@5 Value base,change,remove,x"]);
    assert_eq!(run(&[("a", 4, MERGE, "remove"), ("b", 2, PUT, "k")], &[], false), ["b@2 Value k"]);
    // Removed operands hide nothing, and the entry under them goes to the filter next.
    assert_eq!(run(&[("a", 4, MERGE, "remove"), ("a", 2, PUT, "remove")], &[], false), ["a@2 Deletion "]);
}

/// Decides on entities by their column `do`; says `Keep` of all else, but where the value is `entity`.
#[derive(Debug)]
struct ByColumn;

impl CompactionFilter for ByColumn {
    fn name(&self) -> &str {
        "test.ByColumn"
    }
    fn filter(&self, _: &FilterContext, _: &[u8], _: ValueType, value: &[u8]) -> FilterDecision {
        match value {
            b"entity" => {
                FilterDecision::ChangeEntity(vec![(b"b".to_vec(), b"2".to_vec()), (b"".to_vec(), b"1".to_vec())])
            }
            _ => FilterDecision::Keep,
        }
    }
    fn filters_entities(&self) -> bool {
        true
    }
    fn filter_entity(&self, _: &FilterContext, key: &[u8], columns: &[(&[u8], &[u8])]) -> FilterDecision {
        let wanted = columns.iter().find(|(name, _)| *name == b"do").map(|(_, value)| *value);
        match wanted {
            Some(b"remove") => FilterDecision::Remove,
            Some(b"value") => FilterDecision::ChangeValue(key.to_vec()),
            Some(b"swap") => {
                FilterDecision::ChangeEntity(columns.iter().map(|(a, b)| (b.to_vec(), a.to_vec())).collect())
            }
            Some(b"twice") => FilterDecision::ChangeEntity(vec![(b"n".to_vec(), vec![]), (b"n".to_vec(), vec![1])]),
            Some(b"blob of e at 1") => FilterDecision::RemoveAndSkipUntil(b"g".to_vec()),
            _ => FilterDecision::Keep,
        }
    }
}

/// What the iterator yields for one entity, or for one entry of another kind; or its error.
fn filtered(key: &str, kind: ValueType, value: &[u8]) -> Result<Vec<(ValueType, Vec<u8>)>, String> {
    let order = InternalComparator::default();
    let context =
        FilterContext { is_bottommost: false, is_manual: false, column_family_id: 7, output_level: 1, input_level: 0 };
    let options = CompactionIteratorOptions {
        compaction_filter: Some((Arc::new(ByColumn), context)),
        blobs: Some(Arc::new(crate::blob::fake::FakeBlobs)),
        ..options(&[])
    };
    let entries: Entries = vec![(make_internal_key(key.as_bytes(), SequenceNumber(3), kind), value.to_vec())];
    let tombstones = CompactionRangeTombstones::new(order.clone(), Vec::new());
    let input = VecIterator::new(order, Arc::new(entries));
    let mut iter = CompactionIterator::new(input, tombstones, UnknownDeeper, options);
    let mut out = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        out.push((ParsedInternalKey::parse(iter.key()).unwrap().value_type, iter.value().to_vec()));
        iter.next();
    }
    iter.status().map(|()| out).map_err(|error| error.to_string())
}

#[test]
fn entities_are_decided_by_their_columns() {
    use ferrock_format::wide_column::{WideColumn, encode_columns, encode_entity};
    const ENTITY: ValueType = ValueType::WideColumnEntity;
    let of = |columns: &[(&[u8], &[u8])]| encode_entity(columns).unwrap();
    let entity = |what: &[u8]| of(&[(b"do", what)]);
    let seen = |what: &[u8]| filtered("k", ENTITY, &entity(what));
    assert_eq!(seen(b"nothing").unwrap(), [(ENTITY, entity(b"nothing"))]);
    assert_eq!(seen(b"remove").unwrap(), [(ValueType::Deletion, vec![])]);
    assert_eq!(seen(b"value").unwrap(), [(PUT, b"k".to_vec())]);
    assert_eq!(seen(b"swap").unwrap(), [(ENTITY, of(&[(b"swap", b"do")]))]);
    assert_eq!(filtered("k", PUT, b"entity").unwrap(), [(ENTITY, of(&[(b"", b"1"), (b"b", b"2")]))]);
    // Two columns of a name, and an entity in the place of an operand, end the job.
    assert!(seen(b"twice").unwrap_err().contains("key k"));
    assert!(filtered("k", MERGE, b"entity").unwrap_err().contains("merge operand at key k"));
    // A column that lies in a blob file is read first; one that cannot be read ends the job.
    let in_blob = |index: &[u8]| {
        let (name, value) = (&b"do"[..], index);
        encode_columns(&[WideColumn { name, value, is_blob_index: true }]).unwrap()
    };
    assert_eq!(filtered("e", ENTITY, &in_blob(b"1")).unwrap(), []);
    assert_eq!(filtered("f", ENTITY, &in_blob(b"1")).unwrap(), [(ENTITY, in_blob(b"1"))]);
    assert!(filtered("e", ENTITY, &in_blob(b"bad")).unwrap_err().contains("bad blob"));
}
