//! The index against a naive search of the files, over random trees in every order.

use super::{FileIndex, MAX_SORTED, Newest};
use crate::version::overlap::ends_before;
use crate::version::version::LevelFiles;
use crate::version::{FileMetadata, Version};
use ferrock_base::comparator::CustomComparator;
use ferrock_base::internal_key::{RANGE_TOMBSTONE_SENTINEL, TRAILER_SIZE, user_key};
use ferrock_base::random::Random;
use ferrock_base::{Comparator, FileNumber, InternalComparator, LookupKey, MAX_SEQUENCE_NUMBER, SequenceNumber};
use ferrock_format::version_edit::NewFile;
use ferrock_options::ColumnFamilySettings;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;

/// Letters of both cases are equal: keys of different bytes are the same key.
struct CaseBlind;

impl CustomComparator for CaseBlind {
    fn name(&self) -> &str {
        "test.CaseBlind"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
    }
}

fn orders() -> [Comparator; 3] {
    [Comparator::Bytewise, Comparator::ReverseBytewise, Comparator::Custom(Arc::new(CaseBlind))]
}

/// How the keys of a tree look.
#[derive(Clone, Debug)]
struct Shape {
    prefix: Vec<u8>,
    /// Bytes that keys are made of.
    alphabet: &'static [u8],
    max_len: u64,
}

impl Shape {
    fn random(random: &mut Random) -> Self {
        let alphabets: [&'static [u8]; 4] =
            [b"\0\x01\xfe\xff", b"aAbBcC", b"0123456789", b"\0\x01\x10 09AZaz\x7f\x80\xf0\xff"];
        let prefix = (0..random.below(33)).map(|_| random.below(256) as u8).collect();
        let prefix = if random.one_in(2) { Vec::new() } else { prefix };
        let max_len = [3, 9, 20, 40][random.below(4) as usize];
        Self { prefix, alphabet: alphabets[random.below(4) as usize], max_len }
    }

    fn key(&self, random: &mut Random) -> Vec<u8> {
        let mut key = self.prefix.clone();
        let len = random.below(self.max_len + 1);
        key.extend((0..len).map(|_| self.alphabet[random.below(self.alphabet.len() as u64) as usize]));
        key
    }

    fn internal_key(&self, random: &mut Random) -> Vec<u8> {
        let mut key = self.key(random);
        key.extend_from_slice(&(random.below(20) << 8 | 1).to_le_bytes());
        key
    }
}

fn file(level: usize, number: u64, smallest: Vec<u8>, largest: Vec<u8>) -> Arc<FileMetadata> {
    let recorded = NewFile {
        level: level as u32,
        number: FileNumber(number),
        size_bytes: 1,
        smallest,
        largest,
        ..NewFile::default()
    };
    Arc::new(FileMetadata::from(recorded))
}

/// Makes the end of a file exclusive where that keeps the keys in order.
fn maybe_exclusive(random: &mut Random, order: &InternalComparator, smallest: &[u8], largest: &mut [u8]) {
    if random.one_in(4) && order.compare_user_keys(smallest, largest).is_lt() {
        let trailer = largest.len() - TRAILER_SIZE;
        largest[trailer..].copy_from_slice(&RANGE_TOMBSTONE_SENTINEL.to_le_bytes());
    }
}

/// Files of a sorted level, between the bounds of those that stay on both sides.
fn sorted_files(
    random: &mut Random,
    order: &InternalComparator,
    shape: &Shape,
    level: usize,
    count: u64,
    between: (Option<&FileMetadata>, Option<&FileMetadata>),
) -> Vec<Arc<FileMetadata>> {
    let mut keys: Vec<Vec<u8>> = (0..2 * count).map(|_| shape.internal_key(random)).collect();
    keys.retain(|key| {
        between.0.is_none_or(|file| order.compare(&file.largest, key).is_lt())
            && between.1.is_none_or(|file| order.compare(key, &file.smallest).is_lt())
    });
    keys.sort_by(|a, b| order.compare(a, b));
    keys.dedup_by(|a, b| order.compare(a, b).is_eq());
    let (pairs, _) = keys.as_chunks::<2>();
    let make = |[smallest, largest]: &[Vec<u8>; 2]| {
        let (smallest, mut largest) = (smallest.clone(), largest.clone());
        maybe_exclusive(random, order, &smallest, &mut largest);
        if random.one_in(10) {
            largest.clone_from(&smallest);
        }
        file(level, random.next_u64() >> 1, smallest, largest)
    };
    pairs.iter().map(make).collect()
}

fn newest_files(random: &mut Random, order: &InternalComparator, shape: &Shape, count: u64) -> Vec<Arc<FileMetadata>> {
    let mut make = |_| {
        let (a, b) = (shape.internal_key(random), shape.internal_key(random));
        let (smallest, mut largest) = if order.compare(&a, &b).is_le() { (a, b) } else { (b, a) };
        maybe_exclusive(random, order, &smallest, &mut largest);
        file(0, random.next_u64() >> 1, smallest, largest)
    };
    (0..count).map(&mut make).collect()
}

fn count_of_files(random: &mut Random, most: u64) -> u64 {
    match random.below(5) {
        0 => 0,
        1 => 1 + random.below(2),
        2 => random.below(20),
        _ => random.below(most + 1),
    }
}

fn random_levels(random: &mut Random, order: &InternalComparator, shape: &Shape, most: u64) -> Vec<LevelFiles> {
    let num_levels = 1 + random.below(7) as usize;
    let newest = count_of_files(random, 100).min(if random.one_in(4) { 200 } else { 12 });
    let mut levels = vec![newest_files(random, order, shape, newest).into()];
    for level in 1..num_levels {
        let count = count_of_files(random, most);
        // Some levels are crowded into a corner.
        let corner = Shape { prefix: [&shape.prefix[..], &shape.alphabet[..1]].concat(), ..shape.clone() };
        let shape = if random.one_in(3) { &corner } else { shape };
        levels.push(sorted_files(random, order, shape, level, count, (None, None)).into());
    }
    levels
}

fn version(order: &Comparator, levels: Vec<LevelFiles>, base: Option<&Version>) -> Version {
    let cursors = vec![None; levels.len()];
    let settings = ColumnFamilySettings::default();
    Version::from_parts(InternalComparator::new(order.clone()), &settings, levels, cursors, Arc::default(), base)
}

/// Keys on bounds of files, around them, and anywhere.
fn probes(random: &mut Random, shape: &Shape, version: &Version, count: usize) -> Vec<Vec<u8>> {
    let files: Vec<_> = version.files().map(|(_, file)| file).collect();
    let mut probes: Vec<Vec<u8>> = vec![Vec::new(), vec![0xff; 50]];
    for _ in 0..count {
        let mut key = match files.get(random.below(files.len().max(1) as u64) as usize) {
            Some(file) if !random.one_in(3) => {
                user_key(if random.one_in(2) { &file.smallest } else { &file.largest }).to_vec()
            }
            _ => shape.key(random),
        };
        match random.below(8) {
            0 => key.push(0),
            1 => key.push(0xff),
            2 => drop(key.pop()),
            3 => key.truncate(random.below(key.len() as u64 + 1) as usize),
            4 => key.last_mut().into_iter().for_each(|last| *last = last.wrapping_add(1)),
            _ => {}
        }
        probes.push(key);
    }
    probes
}

/// The answer from the bounds of each file.
fn naive_candidates(version: &Version, key: &LookupKey) -> Vec<(usize, u64)> {
    let order = version.comparator();
    let holds = |level: usize, file: &FileMetadata| {
        let begins = order.user().compare(file.smallest_user_key(), key.user_key()).is_le();
        let goes_on = match level {
            0 => !ends_before(order.user(), file, key.user_key()),
            _ => order.compare(&file.largest, key.internal_key()).is_ge(),
        };
        begins && goes_on
    };
    version.files().filter(|(level, file)| holds(*level, file)).map(|(level, file)| (level, file.number.0)).collect()
}

fn check_candidates(version: &Version, key: &[u8], sequence: u64) -> Result<(), TestCaseError> {
    let lookup = LookupKey::new(key, SequenceNumber(sequence));
    let found: Vec<_> = version.candidates(&lookup).map(|(level, file)| (level, file.number.0)).collect();
    prop_assert_eq!(&found, &naive_candidates(version, &lookup), "key {:?} at {}", key, sequence);
    let by_level: Vec<_> = (0..version.num_levels())
        .flat_map(|level| version.files_for_user_key(level, &lookup).map(move |file| (level, file.number.0)))
        .collect();
    prop_assert_eq!(&found, &by_level, "key {:?} at {}", key, sequence);
    // Kept and gone on with.
    let mut first = version.candidates(&lookup);
    let head: Vec<_> = first.by_ref().take(2).map(|(level, file)| (level, file.number.0)).collect();
    let rest: Vec<_> = first.clone().map(|(level, file)| (level, file.number.0)).collect();
    prop_assert_eq!([head, rest].concat(), found);
    Ok(())
}

fn check_runs(version: &Version, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<(), TestCaseError> {
    let order = version.comparator().user();
    let runs = version.file_runs(lower, upper);
    for level in 1..version.num_levels() {
        let files = version.level(level);
        let first = files.iter().position(|file| lower.is_none_or(|lower| !ends_before(order, file, lower)));
        let first = first.unwrap_or(files.len());
        let is_before = |file: &&Arc<FileMetadata>| {
            upper.is_none_or(|upper| order.compare(file.smallest_user_key(), upper).is_lt())
        };
        let behind = files.iter().take_while(is_before).count();
        let expected = if first < behind { first..behind } else { behind..behind };
        let run = runs.in_level(level);
        prop_assert!(run == expected || run.is_empty() && expected.is_empty(), "{level}: {run:?} {expected:?}");
    }
    Ok(())
}

fn check(random: &mut Random, shape: &Shape, version: &Version, count: usize) -> Result<(), TestCaseError> {
    let keys = probes(random, shape, version, count);
    for key in &keys {
        for sequence in [0, random.below(20), MAX_SEQUENCE_NUMBER.0] {
            check_candidates(version, key, sequence)?;
        }
    }
    for pair in keys.windows(2) {
        let lower = Some(&*pair[0]).filter(|_| !random.one_in(8));
        let upper = Some(&*pair[1]).filter(|_| !random.one_in(8));
        check_runs(version, lower, upper)?;
    }
    Ok(())
}

/// Replaces a run of files of some levels.
fn edit(random: &mut Random, order: &InternalComparator, shape: &Shape, levels: &[LevelFiles]) -> Vec<LevelFiles> {
    let mut edit_level = |(level, old): (usize, &LevelFiles)| {
        if random.one_in(2) {
            return Arc::clone(old);
        }
        let first = random.below(old.len() as u64 + 1) as usize;
        let behind = (first + random.below(12) as usize).min(old.len());
        let count = random.below(12);
        let new = if level == 0 {
            newest_files(random, order, shape, count)
        } else {
            let before = first.checked_sub(1).and_then(|index| old.get(index));
            let between = (before.map(|file| &**file), old.get(behind).map(|file| &**file));
            sorted_files(random, order, shape, level, count, between)
        };
        [&old[..first], &new, &old[behind..]].concat().into()
    };
    levels.iter().enumerate().map(&mut edit_level).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn candidates_are_those_of_a_naive_search(seed: u64) {
        let mut random = Random::new(seed);
        let user = orders()[random.below(3) as usize].clone();
        let order = InternalComparator::new(user.clone());
        let shape = Shape::random(&mut random);
        let levels = random_levels(&mut random, &order, &shape, 120);
        let version = version(&user, levels, None);
        check(&mut random, &shape, &version, 60)?;
    }

    #[test]
    fn an_index_built_from_the_one_before_is_the_same(seed: u64) {
        let mut random = Random::new(seed);
        let user = orders()[random.below(3) as usize].clone();
        let order = InternalComparator::new(user.clone());
        let mut shape = Shape::random(&mut random);
        let mut current = version(&user, random_levels(&mut random, &order, &shape, 300), None);
        for _ in 0..6 {
            if random.one_in(6) {
                // The shared prefix becomes shorter.
                shape.prefix.pop();
            }
            let levels = edit(&mut random, &order, &shape, current.levels());
            let next = version(&user, levels.clone(), Some(&current));
            let scratch = version(&user, levels, None);
            prop_assert_eq!(next.index(), scratch.index());
            current = next;
        }
        check(&mut random, &shape, &current, 20)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn levels_of_thousands_of_files(seed: u64) {
        let mut random = Random::new(seed);
        let user = orders()[random.below(3) as usize].clone();
        let order = InternalComparator::new(user.clone());
        let shape = Shape { max_len: 20, ..Shape::random(&mut random) };
        let levels = random_levels(&mut random, &order, &shape, 5000);
        let version = version(&user, levels, None);
        check(&mut random, &shape, &version, 60)?;
    }
}

fn internal(key: &[u8], sequence: u64) -> Vec<u8> {
    [key, &(sequence << 8 | 1).to_le_bytes()].concat()
}

fn numbers(version: &Version, key: &[u8]) -> Vec<u64> {
    let lookup = LookupKey::new(key, SequenceNumber(100));
    version.candidates(&lookup).map(|(_, file)| file.number.0).collect()
}

/// Number, smallest and largest user key of a file.
type Bounds<'a> = (u64, &'a [u8], &'a [u8]);

/// Files from level 0 on.
fn levels_of(files: &[&[Bounds<'_>]]) -> Vec<LevelFiles> {
    let level = |(level, files): (usize, &&[Bounds<'_>])| {
        files.iter().map(|&(number, a, b)| file(level, number, internal(a, 9), internal(b, 1))).collect()
    };
    files.iter().enumerate().map(level).collect()
}

#[test]
fn keys_that_only_padding_makes_equal_are_told_apart() {
    let levels = levels_of(&[&[], &[(1, b"a", b"ab"), (2, b"ab\0\0", b"ab\0\0\0"), (3, b"ab\0\0\0\0\x01", b"b")]]);
    let version = version(&Comparator::Bytewise, levels, None);
    assert_eq!(numbers(&version, b"ab"), [1]);
    assert_eq!(numbers(&version, b"ab\0"), [] as [u64; 0]);
    assert_eq!(numbers(&version, b"ab\0\0"), [2]);
    assert_eq!(numbers(&version, b"ab\0\0\0"), [2]);
    assert_eq!(numbers(&version, b"ab\0\0\0\0"), [] as [u64; 0]);
    assert_eq!(numbers(&version, b"ab\0\0\0\0\x01"), [3]);
}

#[test]
fn every_place_around_the_files_of_two_levels() {
    let upper: [Bounds<'_>; 2] = [(1, b"c", b"e"), (2, b"m", b"m")];
    let lower: [Bounds<'_>; 3] = [(3, b"a", b"b"), (4, b"d", b"k"), (5, b"l", b"z")];
    for levels in [levels_of(&[&[], &upper, &lower]), levels_of(&[&[], &lower, &[], &upper])] {
        let version = version(&Comparator::Bytewise, levels, None);
        for key in b"abcdefghijklmnopqrstuvwxyz{" {
            for key in [vec![*key], vec![*key, 0], vec![*key - 1, 0xff]] {
                check_candidates(&version, &key, 5).unwrap();
            }
        }
    }
}

#[test]
fn buckets_of_the_radix_of_every_size() {
    // Runs of 0 to 20 endpoints that are close together, far from the next run, and at the very end of the level one of
    // 2.
    let run = |(run, count): (u64, u64)| (0..count).map(move |at| ((run << 40) + 4 * at).to_be_bytes());
    let keys: Vec<[u8; 8]> = (0..=20).chain([2]).zip(0..).map(|(count, at)| (at, count)).flat_map(run).collect();
    let files: Vec<_> = keys.as_chunks::<2>().0.iter().map(|[a, b]| (1, &a[..], &b[..])).collect();
    let version = version(&Comparator::Bytewise, levels_of(&[&[], &files]), None);
    assert!(version.index().radix.buckets > 20);
    for key in &keys {
        let number = u64::from_be_bytes(*key);
        for number in number - 1..number + 2 {
            check_candidates(&version, &number.to_be_bytes(), 5).unwrap();
            check_candidates(&version, &[&number.to_be_bytes()[..], b"0"].concat(), 5).unwrap();
        }
    }
}

#[test]
fn what_lies_behind_the_heads_of_the_root_is_not_taken_for_heads() {
    // Small numbers as heads, among which those of the radix could be: a file of level 0 keeps the shared prefix empty.
    let ends = (0..60).map(|n| n << 30).chain((1..5).map(|n| (59 << 30) + n)).chain([60 << 30, 61 << 30]);
    let keys: Vec<[u8; 8]> = ends.map(u64::to_be_bytes).collect();
    let files: Vec<_> = keys.as_chunks::<2>().0.iter().zip(1..).map(|([a, b], n)| (n, &a[..], &b[..])).collect();
    let version = version(&Comparator::Bytewise, levels_of(&[&[(99, &[0xff; 8], &[0xff; 9])], &files]), None);
    assert_eq!(version.index().radix.buckets, 16);
    assert_eq!(numbers(&version, &((60_u64 << 30) + 5).to_be_bytes()), [33]);
    assert_eq!(numbers(&version, &((61_u64 << 30) + 5).to_be_bytes()), [] as [u64; 0]);
}

#[test]
fn a_level_that_is_crowded_into_a_corner_leads_nowhere() {
    let key = |number: u64| format!("{number:09}").into_bytes();
    let level = |level: usize, count: u64, stride: u64| -> LevelFiles {
        let bounds = |n: u64| [key(n * stride * 4), key(n * stride * 4 + stride)];
        let files = (0..count).map(bounds).map(|[a, b]| file(level, 0, internal(&a, 9), internal(&b, 1)));
        files.collect()
    };
    for order in orders() {
        // Levels 2 and 4 spread over all keys, level 3 over a hundredth of them.
        let mut levels = vec![level(0, 0, 1), level(1, 3, 100_000), level(2, 30, 10_000), level(3, 40, 100)];
        levels.push(level(4, 300, 1000));
        if matches!(order, Comparator::ReverseBytewise) {
            for files in &mut levels {
                let turned =
                    |old: &Arc<FileMetadata>| file(old.level as usize, 0, old.largest.clone(), old.smallest.clone());
                *files = files.iter().rev().map(turned).collect();
            }
        }
        let version = version(&order, levels, None);
        let chain: Vec<_> = version.index().steps().iter().map(|step| (step.level, step.parent)).collect();
        assert_eq!(chain, [(4, 0), (3, 4), (2, 4), (1, 2)], "{order:?}");
        for number in (0..1_200_000).step_by(1000) {
            for number in [number, number + 1, number + 999] {
                check_candidates(&version, &key(number), 5).unwrap();
            }
        }
    }
}

#[test]
fn a_key_on_a_bound_of_one_level_is_looked_for_on_bounds_of_the_others() {
    // "m" is a bound in the level with most files, in one of the two that are reached from it, and in level 0.
    let deep: [Bounds<'_>; 5] = [(1, b"a", b"b"), (2, b"c", b"d"), (3, b"m", b"o"), (4, b"p", b"q"), (5, b"r", b"s")];
    let middle: [Bounds<'_>; 2] = [(6, b"d", b"m"), (7, b"mm", b"z")];
    let newest: [Bounds<'_>; 2] = [(8, b"l", b"m"), (9, b"m", b"n")];
    for middle_begins in [&b"d"[..], b"m"] {
        let middle = [(6, middle_begins, &b"m"[..]), middle[1]];
        let version = version(&Comparator::Bytewise, levels_of(&[&newest, &[(10, b"m", b"m")], &middle, &deep]), None);
        assert_eq!(numbers(&version, b"m"), [8, 9, 10, 6, 3]);
        assert_eq!(numbers(&version, b"l"), if middle_begins == b"d" { vec![8, 6] } else { vec![8] });
        assert_eq!(numbers(&version, b"n"), [9, 7, 3]);
    }
}

#[test]
fn heads_are_as_wide_as_the_keys_need() {
    let keys: Vec<Vec<u8>> = (0..200_u64).map(|n| [&[n as u8 / 100; 8][..], &n.to_be_bytes()].concat()).collect();
    let files: Vec<_> = keys.iter().map(|key| (1, &key[..], &key[..])).collect();
    let version = version(&Comparator::Bytewise, levels_of(&[&[], &files]), None);
    let [step] = version.index().steps() else { panic!("one level") };
    assert_eq!((step.width, step.len), (2, 400));
    keys.iter().for_each(|key| check_candidates(&version, key, 5).unwrap());
}

#[test]
fn deep_trees_and_levels_out_of_order_are_searched_by_full_keys() {
    let level = |level: usize| vec![file(level, level as u64, internal(b"b", 9), internal(b"y", 1))];
    let mut levels: Vec<LevelFiles> = (0..40).map(|index| level(index).into()).collect();
    levels[39] = [level(39), vec![file(39, 100, internal(b"a", 9), internal(b"c", 1))]].concat().into();
    let version = version(&Comparator::Bytewise, levels, None);
    assert_eq!(version.index().steps().len(), MAX_SORTED - 1);
    assert_eq!(version.index().plain().count_ones(), 24);
    assert_eq!(numbers(&version, b"k")[..39], (0..39).collect::<Vec<u64>>());
    for key in [b"a", b"b", b"c", b"k", b"y", b"z"] {
        let lookup = LookupKey::new(key, SequenceNumber(100));
        let by_level = (0..40).flat_map(|level| version.files_for_user_key(level, &lookup));
        assert_eq!(numbers(&version, key), by_level.map(|file| file.number.0).collect::<Vec<_>>());
    }
    assert!(numbers(&version, b"z").is_empty());
}

#[test]
fn a_crowded_level_0_is_scanned() {
    let keys: Vec<[u8; 4]> = (0..300_u32).map(u32::to_be_bytes).collect();
    let files: Vec<_> = (0..200).map(|n| (n as u64, &keys[n][..], &keys[n + 100][..])).collect();
    for order in orders() {
        let mut levels = levels_of(&[&files]);
        if matches!(order, Comparator::ReverseBytewise) {
            let turned = |(number, a, b): &Bounds<'_>| file(0, *number, internal(b, 9), internal(a, 1));
            levels = vec![files.iter().map(turned).collect()];
        }
        let version = version(&order, levels, None);
        assert!(matches!(version.index().newest, Newest::Bounds { .. } | Newest::Plain));
        keys.iter().for_each(|key| check_candidates(&version, key, 5).unwrap());
        check_candidates(&version, b"elsewhere", 5).unwrap();
    }
}

#[test]
fn a_file_takes_24_bytes_and_at_most_two_of_the_radix() {
    let keys: Vec<[u8; 8]> = (0..40_000_u64).map(|n| (n << 20).to_be_bytes()).collect();
    let files: Vec<_> = keys.as_chunks::<2>().0.iter().map(|[a, b]| (1, &a[..], &b[..])).collect();
    let upper: Vec<_> = files.iter().step_by(10).copied().collect();
    let version = version(&Comparator::Bytewise, levels_of(&[&[], &upper, &files]), None);
    let per_file = version.index().size_bytes() as f64 / version.num_files() as f64;
    assert!(per_file <= 26.0, "{per_file}");
    assert_eq!(FileIndex::build(&Comparator::Bytewise, &[], None).size_bytes(), 0);
}
