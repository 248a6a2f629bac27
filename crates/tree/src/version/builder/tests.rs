use super::*;
use crate::version::boundary::BoundaryRange;
use ferrock_base::internal_key::{LookupKey, make_internal_key};
use ferrock_base::{MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use ferrock_format::version_edit::{BlobFileAddition, BlobFileGarbage};
use proptest::prelude::*;

fn settings() -> ColumnFamilySettings {
    ColumnFamilySettings { num_levels: 4, ..ColumnFamilySettings::default() }
}

fn file(level: u32, number: u64, smallest: (&str, u64), largest: (&str, u64)) -> NewFile {
    NewFile {
        level,
        number: FileNumber(number),
        size_bytes: number * 10,
        smallest: make_internal_key(smallest.0.as_bytes(), SequenceNumber(smallest.1), ValueType::Value),
        largest: make_internal_key(largest.0.as_bytes(), SequenceNumber(largest.1), ValueType::Value),
        smallest_seqno: SequenceNumber(smallest.1.min(largest.1)),
        largest_seqno: SequenceNumber(smallest.1.max(largest.1)),
        epoch_number: Some(number),
        ..NewFile::default()
    }
}

fn edit(new_files: Vec<NewFile>) -> VersionEdit {
    VersionEdit { new_files, ..VersionEdit::default() }
}

fn build(edits: &[VersionEdit]) -> Result<Version> {
    let mut builder = VersionBuilder::new(Arc::new(Version::empty(InternalComparator::default(), &settings())));
    for edit in edits {
        builder.apply(edit)?;
    }
    builder.build(&settings())
}

fn numbers(version: &Version, level: usize) -> Vec<u64> {
    version.level(level).iter().map(|file| file.number.0).collect()
}

#[test]
fn levels_are_ordered() {
    let version = build(&[
        edit(vec![file(0, 1, ("a", 1), ("z", 2)), file(0, 3, ("a", 5), ("z", 6)), file(0, 2, ("a", 3), ("z", 4))]),
        edit(vec![file(2, 8, ("m", 0), ("p", 0)), file(2, 9, ("a", 0), ("c", 0))]),
    ])
    .unwrap();
    assert_eq!(numbers(&version, 0), [3, 2, 1], "newest first");
    assert_eq!(numbers(&version, 2), [9, 8]);
    assert_eq!((version.level_size_bytes(0), version.num_files()), (60, 5));
    assert_eq!(version.deepest_non_empty_level(), Some(2));
}

#[test]
fn a_moved_file_keeps_what_was_learned() {
    let base = Arc::new(build(&[edit(vec![file(0, 1, ("a", 1), ("b", 2))])]).unwrap());
    let statistics = crate::version::FileStatistics { num_entries: 7, ..Default::default() };
    base.level(0)[0].set_statistics(statistics);
    let mut moving = edit(vec![file(3, 1, ("a", 1), ("b", 2))]);
    moving.delete_file(0, FileNumber(1));
    let mut builder = VersionBuilder::new(Arc::clone(&base));
    builder.apply(&moving).unwrap();
    let version = builder.build(&settings()).unwrap();
    assert_eq!((numbers(&version, 0), numbers(&version, 3)), (vec![], vec![1]));
    assert_eq!(version.level(3)[0].statistics(), Some(statistics));
    assert_eq!(version.level(3)[0].level, 3);
}

#[test]
fn untouched_levels_are_shared() {
    let base = Arc::new(build(&[edit(vec![file(0, 1, ("a", 1), ("b", 2)), file(2, 2, ("a", 0), ("b", 0))])]).unwrap());
    let mut builder = VersionBuilder::new(Arc::clone(&base));
    builder.apply(&edit(vec![file(0, 3, ("a", 3), ("b", 4))])).unwrap();
    let version = builder.build(&settings()).unwrap();
    assert!(Arc::ptr_eq(&version.level_shared(2), &base.level_shared(2)));
    assert_eq!(numbers(&version, 0), [3, 1]);
}

#[test]
fn what_breaks_the_rules_is_corruption() {
    let mut deletes_absent = VersionEdit::new();
    deletes_absent.delete_file(0, FileNumber(7));
    let mut deletes_elsewhere = VersionEdit::new();
    deletes_elsewhere.delete_file(1, FileNumber(1));
    let one = edit(vec![file(0, 1, ("a", 1), ("b", 2))]);
    let mut short = file(0, 2, ("a", 1), ("b", 2));
    short.smallest.truncate(7);
    let same_epoch = NewFile { epoch_number: Some(1), ..file(0, 5, ("b", 3), ("c", 2)) };
    let blob = |number| VersionEdit {
        blob_file_additions: vec![BlobFileAddition {
            number: FileNumber(number),
            total_blob_count: 2,
            total_blob_bytes: 20,
            ..BlobFileAddition::default()
        }],
        ..VersionEdit::default()
    };
    let garbage = |number, count| VersionEdit {
        blob_file_garbages: vec![BlobFileGarbage {
            number: FileNumber(number),
            garbage_blob_count: count,
            garbage_blob_bytes: count * 10,
        }],
        ..VersionEdit::default()
    };
    let cases: Vec<(Vec<VersionEdit>, &str)> = vec![
        (vec![deletes_absent], "cannot delete table file #000007 from level 0: it is not in the tree"),
        (vec![one.clone(), deletes_elsewhere], "cannot delete table file #000001 from level 1: it is on level 0"),
        (vec![one.clone(), one.clone()], "cannot add table file #000001 to level 0: it is already in the tree"),
        (
            vec![edit(vec![file(0, 2, ("k", 1), ("b", 2))])],
            "table file #000002 ends before it begins: smallest k@1/1, largest b@2/1",
        ),
        (vec![edit(vec![short])], "the smallest key of table file #000002 has 7 bytes"),
        (
            vec![one.clone(), edit(vec![same_epoch])],
            "level 0 has files of the same epoch number with overlapping ranges",
        ),
        (
            vec![edit(vec![file(1, 1, ("a", 1), ("k", 2)), file(1, 2, ("k", 3), ("z", 0))])],
            "level 1 has files with overlapping ranges: #000001 [a@1/1 .. k@2/1] epoch 1 and #000002 [k@3/1 .. z@0/1]",
        ),
        (vec![blob(9), blob(9)], "blob file #000009 is added twice"),
        (vec![garbage(9, 1)], "garbage is recorded for blob file #000009, which does not exist"),
        (vec![blob(9), garbage(9, 2), garbage(9, 1)], "garbage exceeds the contents of blob file #000009"),
    ];
    for (edits, message) in cases {
        let error = build(&edits).unwrap_err();
        assert!(error.is_corruption() && error.message().starts_with(message), "{error}");
    }
    let deep = build(&[edit(vec![file(4, 1, ("a", 1), ("b", 2))])]).unwrap_err();
    assert_eq!(deep.kind(), ferrock_base::ErrorKind::InvalidArgument);
    assert!(deep.message().contains("db has more levels than options.num_levels"), "{deep}");
}

#[test]
fn a_user_key_may_span_files_and_a_sentinel_ends_before_its_key() {
    let mut sentinel = file(1, 1, ("a", 9), ("k", 0));
    sentinel.largest = make_internal_key(b"k", MAX_SEQUENCE_NUMBER, ValueType::RangeDeletion);
    let version =
        build(&[edit(vec![sentinel, file(1, 2, ("k", 8), ("m", 7)), file(1, 3, ("m", 6), ("m", 5))])]).unwrap();
    let found = |key: &str, sequence: u64| -> Vec<u64> {
        let key = LookupKey::new(key.as_bytes(), SequenceNumber(sequence));
        version.files_for_user_key(1, &key).map(|file| file.number.0).collect()
    };
    assert_eq!(found("b", 99), [1]);
    assert_eq!(found("k", 99), [2], "the end of file 1 is exclusive");
    assert_eq!(found("m", 99), [2, 3], "older versions are in the next file");
    assert_eq!(found("m", 5), [3], "file 2 ends before the version looked for");
    assert_eq!(found("n", 99), [] as [u64; 0]);

    let first = std::slice::from_ref(&version.level(1)[0]);
    assert_eq!(version.expand_to_clean_cut(1, first).unwrap().len(), 1);
    let second = std::slice::from_ref(&version.level(1)[1]);
    assert_eq!(version.expand_to_clean_cut(1, second).unwrap().len(), 2, "files 2 and 3 share m");
    version.level(1)[2].set_being_compacted(true);
    assert!(version.expand_to_clean_cut(1, second).is_none());
}

#[test]
fn dead_blob_files_leave() {
    let blob = |number| BlobFileAddition {
        number: FileNumber(number),
        total_blob_count: 1,
        total_blob_bytes: 10,
        ..BlobFileAddition::default()
    };
    let linked = NewFile { oldest_blob_file_number: Some(FileNumber(6)), ..file(0, 1, ("a", 1), ("b", 2)) };
    let adding = VersionEdit { blob_file_additions: vec![blob(5), blob(6), blob(7)], ..edit(vec![linked]) };
    let garbage =
        |number| BlobFileGarbage { number: FileNumber(number), garbage_blob_count: 1, garbage_blob_bytes: 10 };
    let version = build(std::slice::from_ref(&adding)).unwrap();
    let alive: Vec<u64> = version.blob_files().keys().map(|number| number.0).collect();
    assert_eq!(alive, [6, 7], "nothing can refer to 5 any more");
    let dying = VersionEdit { blob_file_garbages: vec![garbage(7)], ..VersionEdit::default() };
    let version = build(&[adding.clone(), dying]).unwrap();
    assert_eq!(version.blob_files().keys().map(|number| number.0).collect::<Vec<_>>(), [6]);
    let unlinking =
        VersionEdit { deleted_files: vec![DeletedFile { level: 0, number: FileNumber(1) }], ..VersionEdit::default() };
    assert!(build(&[adding.clone(), unlinking]).unwrap().blob_files().is_empty(), "no table refers to any");
    let broken = VersionEdit { blob_file_garbages: vec![garbage(6)], ..VersionEdit::default() };
    assert!(build(&[adding, broken]).unwrap_err().message().contains("consists entirely of garbage"));
}

#[test]
fn missing_epochs_are_inferred_for_all() {
    let mut builder = VersionBuilder::new(Arc::new(Version::empty(InternalComparator::default(), &settings())));
    let without = |file: NewFile| NewFile { epoch_number: None, ..file };
    builder
        .apply(&edit(vec![
            without(file(0, 10, ("a", 30), ("z", 31))),
            file(0, 11, ("a", 20), ("z", 21)),
            without(file(3, 1, ("a", 0), ("b", 0))),
            without(file(3, 2, ("c", 0), ("d", 0))),
            without(file(1, 3, ("a", 1), ("b", 2))),
        ]))
        .unwrap();
    let version = builder.build_recovered(&settings()).unwrap();
    let epochs: Vec<_> = version.files().map(|(_, file)| (file.number.0, file.epoch_number.unwrap())).collect();
    assert_eq!(epochs, [(10, 4), (11, 3), (3, 2), (1, 1), (2, 1)]);
}

/// Files as the naive model keeps them: number, level, first and last key.
type Model = BTreeMap<u64, (u32, u8, u8)>;

#[derive(Clone, Debug)]
enum Step {
    Add { level: u32, first: u8, last: u8 },
    Delete { index: usize },
    Move { index: usize, level: u32 },
    Rebuild,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4u32, 0..60u8, 0..12u8).prop_map(|(level, first, length)| Step::Add { level, first, last: first + length }),
        2 => any::<usize>().prop_map(|index| Step::Delete { index }),
        2 => (any::<usize>(), 0..4u32).prop_map(|(index, level)| Step::Move { index, level }),
        1 => Just(Step::Rebuild),
    ]
}

fn new_file(number: u64, (level, first, last): (u32, u8, u8)) -> NewFile {
    NewFile {
        level,
        number: FileNumber(number),
        size_bytes: 1,
        smallest: make_internal_key(&[first], SequenceNumber(number), ValueType::Value),
        largest: make_internal_key(&[last], SequenceNumber(0), ValueType::Value),
        epoch_number: Some(number),
        ..NewFile::default()
    }
}

fn fits(model: &Model, (level, first, last): (u32, u8, u8)) -> bool {
    level == 0 || model.values().all(|&(other, a, b)| other != level || b < first || last < a)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn builder_agrees_with_a_naive_model(steps in prop::collection::vec(step(), 1..60)) {
        let settings = settings();
        let mut version = Arc::new(Version::empty(InternalComparator::default(), &settings));
        let mut builder = VersionBuilder::new(Arc::clone(&version));
        let mut model = Model::new();
        let mut next_number = 1;
        for step in steps.iter().chain([&Step::Rebuild]) {
            let pick = |index: &usize| (!model.is_empty()).then(|| {
                let (&number, &file) = model.iter().nth(index % model.len()).unwrap();
                (number, file)
            });
            match step {
                Step::Add { level, first, last } => {
                    let file = (*level, *first, *last);
                    if fits(&model, file) {
                        builder.apply(&edit(vec![new_file(next_number, file)])).unwrap();
                        model.insert(next_number, file);
                        next_number += 1;
                    }
                }
                Step::Delete { index } => if let Some((number, file)) = pick(index) {
                    let mut change = VersionEdit::new();
                    change.delete_file(file.0, FileNumber(number));
                    builder.apply(&change).unwrap();
                    model.remove(&number);
                },
                Step::Move { index, level } => if let Some((number, file)) = pick(index) {
                    let moved = (*level, file.1, file.2);
                    let mut others = model.clone();
                    others.remove(&number);
                    if fits(&others, moved) {
                        let mut change = edit(vec![new_file(number, moved)]);
                        change.delete_file(file.0, FileNumber(number));
                        builder.apply(&change).unwrap();
                        model.insert(number, moved);
                    }
                },
                Step::Rebuild => {
                    version = Arc::new(builder.build(&settings).unwrap());
                    check(&version, &model)?;
                    builder = VersionBuilder::new(Arc::clone(&version));
                }
            }
        }
    }
}

fn check(version: &Version, model: &Model) -> std::result::Result<(), TestCaseError> {
    for level in 0..4u32 {
        let mut expected: Vec<_> = model.iter().filter(|(_, file)| file.0 == level).collect();
        if level == 0 {
            expected.sort_by_key(|&(&number, _)| std::cmp::Reverse(number));
        } else {
            expected.sort_by_key(|(_, file)| file.1);
        }
        let expected: Vec<u64> = expected.into_iter().map(|(&number, _)| number).collect();
        prop_assert_eq!(numbers(version, level as usize), &expected[..]);
        for key in (0..80u8).step_by(3) {
            let lookup = LookupKey::new(&[key], SequenceNumber(1000));
            let found: Vec<u64> =
                version.files_for_user_key(level as usize, &lookup).map(|file| file.number.0).collect();
            let holding = expected.iter().copied().filter(|number| (model[number].1..=model[number].2).contains(&key));
            prop_assert_eq!(found, holding.collect::<Vec<_>>());
            let range = BoundaryRange::of_user_keys(Some(&[key]), Some(&[key + 9]));
            let overlapping: Vec<u64> = if level == 0 {
                version.overlapping_inputs(0, &range).iter().map(|file| file.number.0).collect()
            } else {
                version.level(level as usize)[version.overlapping_indexes(level as usize, &range)]
                    .iter()
                    .map(|file| file.number.0)
                    .collect()
            };
            prop_assert_eq!(overlapping, overlap_naively(model, level, &expected, key, key + 9));
        }
    }
    Ok(())
}

fn overlap_naively(model: &Model, level: u32, order: &[u64], mut begin: u8, mut end: u8) -> Vec<u64> {
    loop {
        let found: Vec<u64> =
            order.iter().copied().filter(|number| model[number].1 <= end && begin <= model[number].2).collect();
        let widened = (
            found.iter().map(|number| model[number].1).fold(begin, u8::min),
            found.iter().map(|number| model[number].2).fold(end, u8::max),
        );
        if level > 0 || widened == (begin, end) {
            return found;
        }
        (begin, end) = widened;
    }
}
