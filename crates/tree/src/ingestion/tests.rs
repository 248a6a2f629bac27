//! Random trees and files against what the head of the module says, level by level.

use super::*;
use crate::compaction::choice::{CompactionChoice, CompactionKind, CompactionReason, LevelInputs};
use crate::version::VersionBuilder;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::random::Random;
use ferrock_base::{InternalComparator, ValueType};
use ferrock_format::version_edit::{NewFile, VersionEdit};
use ferrock_options::ColumnFamilyOptions;
use std::sync::Arc;

const LEVELS: usize = 5;
const KEYS: u64 = 60;

fn bound(number: u64) -> Vec<u8> {
    make_internal_key(format!("{number:03}").as_bytes(), SequenceNumber(0), ValueType::Value)
}

fn range(from: u64, to: u64) -> BoundaryRange {
    BoundaryRange { smallest: Some(bound(from)), largest: Some(bound(to)) }
}

fn version(random: &mut Random) -> Arc<Version> {
    let mut options = ColumnFamilyOptions::default();
    options.num_levels = LEVELS as i32;
    options.level_compaction_dynamic_level_bytes = random.one_in(2);
    let mut edit = VersionEdit::default();
    let mut number = 1;
    for level in 0..LEVELS {
        if random.one_in(2) {
            continue;
        }
        let mut from = random.below(15);
        while from < KEYS {
            let to = from + random.below(8);
            number += 1;
            edit.new_files.push(NewFile {
                level: level as u32,
                number: FileNumber(number),
                size_bytes: 100,
                smallest: bound(from),
                largest: bound(to),
                smallest_seqno: SequenceNumber(1),
                largest_seqno: SequenceNumber(1),
                epoch_number: Some(number),
                ..NewFile::default()
            });
            from = if level == 0 { from + random.below(20) + 1 } else { to + 1 + random.below(20) };
        }
    }
    let empty = Arc::new(Version::empty(InternalComparator::default(), &options));
    let mut builder = VersionBuilder::new(empty);
    builder.apply(&edit).unwrap();
    Arc::new(builder.build(&options).unwrap())
}

/// A compaction of some file, if there is one, into the next level.
fn running(random: &mut Random, version: &Arc<Version>) -> RunningCompactions {
    let mut running = RunningCompactions::default();
    let files: Vec<_> = version.files().collect();
    if files.is_empty() || random.one_in(2) {
        return running;
    }
    let (level, file) = files[random.below(files.len() as u64) as usize];
    if level + 1 < LEVELS {
        let inputs = vec![LevelInputs { level, files: vec![Arc::clone(file)] }];
        let reason = CompactionReason::ManualCompaction;
        running.start(&CompactionChoice::of_whole_files(CompactionKind::Move, reason, version, inputs, level + 1));
    }
    running
}

fn incoming(random: &mut Random, version: &Version) -> Incoming {
    let from = random.below(KEYS);
    let range = range(from, from + random.below(10));
    let order = version.comparator().user();
    let touched = version.files().filter(|(_, file)| range.overlaps(order, file));
    let passed = touched.map(|(_, file)| file.number).filter(|_| random.one_in(3)).collect();
    Incoming { range, passed, kept: None }
}

/// What stands in the way of a file at a level: a boundary, and a key or a compaction.
fn obstacles(version: &Version, running: &RunningCompactions, file: &Incoming, level: usize) -> (bool, bool) {
    let order = version.comparator().user();
    let touched: Vec<_> = version.level(level).iter().filter(|other| file.range.overlaps(order, other)).collect();
    let has_key = touched.iter().any(|other| !file.passed.contains(&other.number));
    (!touched.is_empty(), has_key || running.writes_into(order, level, &file.range))
}

#[test]
fn a_file_lies_above_the_keys_that_it_overlaps() {
    let (mut numbered, mut deep) = (0, 0);
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        let version = version(&mut random);
        let running = running(&mut random, &version);
        let file = incoming(&mut random, &version);
        let last = SequenceNumber(7);
        let places = place(&version, &running, std::slice::from_ref(&file), PlacementRules::default(), last).unwrap();
        let [place_of] = places[..] else { panic!("{places:?}") };
        let first = (0..LEVELS).find(|level| obstacles(&version, &running, &file, *level).1);
        let fits = |level: &usize| *level >= version.base_level() && !obstacles(&version, &running, &file, *level).0;
        let expected = (1..first.unwrap_or(LEVELS)).filter(fits).max().unwrap_or(0);
        assert_eq!(place_of.level, expected, "seed {seed}");
        assert_eq!(place_of.sequence.0, if first.is_some() { 8 } else { 0 }, "seed {seed}");
        numbered += usize::from(first.is_some());
        deep += usize::from(expected > 0);
        let keeps = PlacementRules { keeps_numbers: true, ..PlacementRules::default() };
        let kept = place(&version, &running, &[file], keeps, last);
        assert_eq!(kept.is_ok(), first.is_none(), "seed {seed}");
    }
    assert!(numbered > 500 && deep > 500, "{numbered} {deep}");
}

#[test]
fn files_that_overlap_lie_above_each_other() {
    let (mut refused, mut stacked) = (0, 0);
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        let version = version(&mut random);
        let running = running(&mut random, &version);
        let files: Vec<Incoming> = (0..=random.below(4)).map(|_| incoming(&mut random, &version)).collect();
        let rules = PlacementRules {
            numbers_all: random.one_in(4),
            only_level_0: random.one_in(6),
            only_last_level: random.one_in(6),
            keeps_numbers: false,
        };
        let Ok(places) = place(&version, &running, &files, rules, SequenceNumber(3)) else {
            assert!(rules.only_last_level);
            refused += 1;
            continue;
        };
        let order = version.comparator().user();
        let overlap = overlap_each_other(&version, &files);
        let mut given = 3;
        for (index, (file, its)) in files.iter().zip(&places).enumerate() {
            assert!(!rules.only_level_0 || its.level == 0);
            assert!(!rules.only_last_level || its.level + 1 == LEVELS);
            if its.sequence.0 > 0 {
                given += 1;
                assert_eq!(its.sequence.0, given, "the numbers follow each other");
            }
            assert!(its.sequence.0 > 0 || !(rules.numbers_all || overlap));
            if its.level > 0 {
                assert!((0..=its.level).all(|level| !obstacles(&version, &running, file, level).1));
                assert!(!obstacles(&version, &running, file, its.level).0);
            }
            for (before, of_before) in files[..index].iter().zip(&places) {
                if before.range.overlaps_range(order, &file.range) {
                    stacked += 1;
                    assert!(its.level < of_before.level || its.level == 0, "seed {seed}: {places:?}");
                }
            }
        }
    }
    assert!(refused > 50 && stacked > 500, "{refused} {stacked}");
}
