//! `preclude_last_level_data_seconds`: young entries stay on the level above the last and go down as time passes,
//! nothing is compacted for nothing, and whatever happens reads answer as a map does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;
#[path = "common/rig.rs"]
mod rig;

use common::{Contents, contents, rows_backward};
use ferrock::options::{CompactionOptions, Temperature};
use ferrock::{Db, ReadOptions};
use ferrock_base::random::Random;
use rig::Rig;
use std::collections::BTreeMap;
use std::time::Duration;

const STYLES: [&str; 2] = ["compaction_style=kCompactionStyleLevel", "compaction_style=kCompactionStyleUniversal"];

const BASE: &str = "create_if_missing=true;merge_operator=stringappend;write_buffer_size=65536;arena_block_size=4096;\
    compression=kNoCompression;ttl=0;block_based_table_factory={block_size=512}";

fn rig(text: &str) -> Rig {
    Rig::new(BASE, text)
}

/// Entries on each level, and the temperatures of their tables.
fn levels(db: &Db) -> BTreeMap<usize, (u64, Temperature)> {
    let mut levels = BTreeMap::new();
    for file in db.live_files() {
        let level = levels.entry(file.level).or_insert((0, file.temperature));
        level.0 += file.num_entries;
        assert_eq!(level.1, file.temperature);
    }
    levels
}

fn statistic(db: &Db, name: &str) -> u64 {
    let text = db.property("ferrock.statistics").unwrap();
    text.lines().find_map(|line| line.strip_prefix(&format!("{name}="))).unwrap().parse().unwrap()
}

fn fill(db: &Db, model: &mut Contents, numbers: std::ops::Range<u64>, byte: u8) {
    for number in numbers {
        let (key, value) = (common::key(number), vec![byte; 100]);
        db.put(&key, &value).unwrap();
        model.insert(key, value);
    }
    db.flush().unwrap();
}

/// All ways of reading see the same.
fn check(db: &Db, options: &ReadOptions, expected: &Contents, what: &dyn Fn() -> String) {
    let found = contents(db, options);
    let wrong: Vec<String> = found
        .iter()
        .filter(|(key, value)| expected.get(*key) != Some(value))
        .chain(expected.iter().filter(|(key, _)| !found.contains_key(*key)))
        .map(|(key, _)| key.escape_ascii().to_string())
        .collect();
    assert!(wrong.is_empty(), "{}: {wrong:?}, {:?}", what(), db.live_files());
    assert!(rows_backward(db.iter(options)).into_iter().eq(expected.clone()), "{}: backward", what());
    let family = db.default_column_family().unwrap();
    let keys: Vec<Vec<u8>> = (0..60).map(common::key).collect();
    for (key, value) in keys.iter().zip(db.multi_get_cf(&family, options, &common::slices(&keys))) {
        let (value, expected) = (value.unwrap().map(|value| value.to_vec()), expected.get(key).cloned());
        assert_eq!(value, expected, "{}: {}", what(), key.escape_ascii());
        assert_eq!(db.get_with(options, key).unwrap().map(|value| value.to_vec()), expected, "{}", what());
    }
}

#[test]
fn young_entries_stay_above_the_last_level() {
    use Temperature::{Cold, Warm};
    for style in STYLES {
        let rig = rig(&format!("{style};default_write_temperature=kWarm;last_level_temperature=kCold"));
        let (db, mut model) = (rig.try_open("preclude_last_level_data_seconds=1000").unwrap(), Contents::new());
        fill(&db, &mut model, 0..60, b'a');
        rig.clock.advance(Duration::from_secs(2000));
        fill(&db, &mut model, 20..30, b'b');
        db.compact_range(None, None).unwrap();
        let placed = BTreeMap::from([(5, (10, Warm)), (6, (50, Cold))]);
        assert_eq!(levels(&db), placed, "{style}");
        check(&db, &ReadOptions::default(), &model, &|| style.to_owned());

        // Most of the time, once more, and the database was closed meanwhile.
        rig.clock.advance(Duration::from_secs(900));
        db.compact_range(None, None).unwrap();
        assert_eq!(levels(&db), placed, "{style}");
        db.close().unwrap();
        let db = rig.try_open("preclude_last_level_data_seconds=1000").unwrap();
        assert_eq!(levels(&db), placed, "{style}");
        rig.clock.advance(Duration::from_secs(200));
        db.compact_range(None, None).unwrap();
        assert_eq!(levels(&db), BTreeMap::from([(6, (60, Cold))]), "{style}");
        check(&db, &ReadOptions::default(), &model, &|| style.to_owned());

        // What is newer than a snapshot counts as young, and without the option nothing does.
        let (snapshot, then) = (db.snapshot(), model.clone());
        fill(&db, &mut model, 40..45, b'c');
        rig.clock.advance(Duration::from_secs(5000));
        db.compact_range(None, None).unwrap();
        assert_eq!(levels(&db), BTreeMap::from([(5, (5, Warm)), (6, (60, Cold))]), "{style}");
        let options = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
        check(&db, &options, &then, &|| style.to_owned());
        check(&db, &ReadOptions::default(), &model, &|| style.to_owned());
        drop((snapshot, options));
        fill(&db, &mut model, 50..55, b'd');
        let family = db.default_column_family().unwrap();
        db.set_options_cf(&family, &[("preclude_last_level_data_seconds", "0")]).unwrap();
        db.compact_range(None, None).unwrap();
        // The level above is of no use any more, and is drained without being asked, too.
        db.wait_for_background_work().unwrap();
        assert_eq!(levels(&db), BTreeMap::from([(6, (60, Cold))]), "{style}");
        check(&db, &ReadOptions::default(), &model, &|| style.to_owned());
    }
}

/// How many old entries the tables say they have, by level.
fn old_entries(db: &Db) -> Vec<(usize, Option<u64>)> {
    let mut told = Vec::new();
    for file in db.live_files() {
        let collected = &db.table_properties(&file).unwrap().user_collected;
        let number = collected.get(&b"rocksdb.eligible.last.level.entries"[..]);
        told.push((file.level, number.map(|text| String::from_utf8(text.clone()).unwrap().parse().unwrap())));
    }
    told.sort_unstable();
    told
}

/// Entries that became old in the memtable are on their way to the last level as soon as they are flushed, the young
/// ones beside them stop above it, and then nothing more happens.
#[test]
fn a_table_of_old_entries_goes_down_although_no_level_is_full() {
    const TIERING: &str = "preclude_last_level_data_seconds=1000;level0_file_num_compaction_trigger=10";
    for style in STYLES {
        let write_old_and_young = |db: &Db, rig: &Rig, model: &mut Contents| {
            let mut put = |number: u64| {
                db.put(&common::key(number), &[b'v'; 100]).unwrap();
                model.insert(common::key(number), vec![b'v'; 100]);
            };
            (0..40).for_each(&mut put);
            rig.clock.advance(Duration::from_secs(2000));
            (40..45).for_each(&mut put);
            db.flush().unwrap();
            db.wait_for_background_work().unwrap();
        };
        let levels_of =
            |db: &Db| levels(db).into_iter().map(|(level, (entries, _))| (level, entries)).collect::<Vec<_>>();
        for (share, stays) in [("0", None), ("0.95", Some(40)), ("1.1", Some(40))] {
            let rig = rig(style);
            let db = rig.try_open(&format!("{TIERING};compact_for_tiering={share}")).unwrap();
            write_old_and_young(&db, &rig, &mut Contents::new());
            assert_eq!(old_entries(&db), [(0, stays)], "{style} {share}");
        }
        let (rig, mut model) = (rig(style), Contents::new());
        let db = rig.try_open(TIERING).unwrap();
        let family = db.default_column_family().unwrap();
        // It counts for the tables that are written from then on.
        db.set_options_cf(&family, &[("compact_for_tiering", "0.5")]).unwrap();
        write_old_and_young(&db, &rig, &mut model);
        assert_eq!(levels_of(&db), [(5, 5), (6, 40)], "{style}");
        assert_eq!(old_entries(&db), [(5, None), (6, None)], "{style}");
        check(&db, &ReadOptions::default(), &model, &|| style.to_owned());
        // What a snapshot may want stays, and is no reason for a compaction.
        let snapshot = db.snapshot();
        write_old_and_young(&db, &rig, &mut model);
        assert_eq!(levels_of(&db), [(0, 45), (5, 5), (6, 40)], "{style}");
        assert_eq!(old_entries(&db)[0], (0, None), "{style}");
        check(&db, &ReadOptions::default(), &model, &|| style.to_owned());
        drop(snapshot);
    }
}

/// Levels far beyond their targets, and runs that would be merged again and again: what stays for its age is left
/// alone, stops no writer, and goes down by itself when it is old.
#[test]
fn what_stays_is_not_compacted_again_and_again() {
    for text in [
        "compaction_style=kCompactionStyleLevel;num_levels=3;level_compaction_dynamic_level_bytes=false;\
         max_bytes_for_level_base=2000;max_bytes_for_level_multiplier=1;target_file_size_base=1000",
        "compaction_style=kCompactionStyleLevel;compaction_pri=kRoundRobin;num_levels=4;max_bytes_for_level_base=2000;\
         target_file_size_base=1000;soft_pending_compaction_bytes_limit=1;hard_pending_compaction_bytes_limit=2",
        "compaction_style=kCompactionStyleUniversal;num_levels=4;level0_file_num_compaction_trigger=2;\
         compaction_options_universal={size_ratio=1000;max_size_amplification_percent=1}",
        "compaction_style=kCompactionStyleLevel;num_levels=4;compact_on_deletion={window_size=8;deletion_trigger=1;};\
         max_bytes_for_level_base=2000",
    ] {
        let rig = rig(&format!("preclude_last_level_data_seconds=1000;{text}"));
        let (db, mut model) = (rig.open(), Contents::new());
        for round in 0..8 {
            fill(&db, &mut model, round * 20..round * 20 + 60, b'a' + round as u8);
            for number in [round * 20, round * 20 + 7] {
                db.delete(&common::key(number)).unwrap();
                model.remove(&common::key(number));
            }
            db.flush().unwrap();
        }
        db.wait_for_background_work().unwrap();
        let young = statistic(&db, "compactions");
        assert!(young < 200, "{text}: {young}");
        check(&db, &ReadOptions::default(), &model, &|| text.to_owned());
        let last = rig_levels(text) - 1;
        assert!(!levels(&db).contains_key(&last), "{text}: {:?}", levels(&db));
        let _snapshot = db.snapshot();
        rig.clock.advance(Duration::from_secs(3000));
        for round in 0..4 {
            fill(&db, &mut model, 300 + round * 20..310 + round * 20, b'z');
            db.wait_for_background_work().unwrap();
        }
        assert!(levels(&db).contains_key(&last), "{text}: {:?}", levels(&db));
        let old = statistic(&db, "compactions");
        assert!(old < young + 200, "{text}: {young} and {old}");
        check(&db, &ReadOptions::default(), &model, &|| text.to_owned());
    }
}

fn rig_levels(text: &str) -> usize {
    text.split(';').find_map(|option| option.strip_prefix("num_levels=")).unwrap().parse().unwrap()
}

fn draw(random: &mut Random) -> String {
    let mut pick = |of: &[&'static str]| of[random.below(of.len() as u64) as usize];
    [
        pick(&STYLES),
        pick(&["preclude_last_level_data_seconds=20", "preclude_last_level_data_seconds=300"]),
        pick(&["", "preserve_internal_time_seconds=1", "preserve_internal_time_seconds=1000"]),
        pick(&["num_levels=3", "num_levels=4", "num_levels=7"]),
        pick(&["", "compaction_pri=kRoundRobin", "compaction_pri=kOldestSmallestSeqFirst"]),
        pick(&["", "level_compaction_dynamic_level_bytes=false"]),
        pick(&["max_bytes_for_level_base=2000", "max_bytes_for_level_base=20000"]),
        pick(&["target_file_size_base=500", "target_file_size_base=4000"]),
        pick(&["", "target_file_size_is_upper_bound=true"]),
        pick(&["", "max_compaction_bytes=4000"]),
        pick(&["", "max_subcompactions=3"]),
        pick(&["level0_file_num_compaction_trigger=2", "level0_file_num_compaction_trigger=4"]),
        pick(&["", "periodic_compaction_seconds=100", "ttl=200"]),
        pick(&[
            "",
            "enable_blob_files=true;min_blob_size=50;enable_blob_garbage_collection=true;\
                    blob_garbage_collection_age_cutoff=0.7;blob_file_size=2000",
        ]),
        pick(&["", "read_triggered_compaction_threshold=0.0001"]),
        pick(&[
            "",
            "compaction_options_universal={incremental=true;max_size_amplification_percent=20}",
            "compaction_options_universal={allow_trivial_move=true}",
        ]),
        pick(&["", "paranoid_file_checks=true"]),
        pick(&["", "max_open_files=10"]),
        pick(&["", "compact_for_tiering=0.3", "compact_for_tiering=0.000001"]),
    ]
    .into_iter()
    .filter(|option| !option.is_empty())
    .collect::<Vec<_>>()
    .join(";")
}

fn write(db: &Db, model: &mut Contents, random: &mut Random) {
    let key = common::key(random.below(60));
    match random.below(14) {
        0 | 1 => {
            db.delete(&key).unwrap();
            model.remove(&key);
        }
        2 => {
            let end = common::key(random.below(60)).max(key.clone());
            db.delete_range(&key, &end).unwrap();
            model.retain(|other, _| *other < key || *other >= end);
        }
        3 | 4 => {
            db.merge(&key, b"m").unwrap();
            let merged = model.get(&key).map_or_else(|| b"m".to_vec(), |value| [&value[..], b",m"].concat());
            model.insert(key, merged);
        }
        _ => {
            let value = vec![b'a' + random.below(26) as u8; random.below(120) as usize];
            db.put(&key, &value).unwrap();
            model.insert(key, value);
        }
    }
}

/// A version of a key never comes to lie over a newer one, and no deletion under what it deletes.
#[test]
fn reads_answer_as_a_map_does() {
    let mut placed = 0;
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let rig = rig(&draw(&mut random));
        let last = rig_levels(&rig.text) - 1;
        let (mut db, mut model) = (rig.open(), Contents::new());
        let mut kept = Vec::new();
        for step in 0..1500 {
            write(&db, &mut model, &mut random);
            let what = || format!("seed {seed}, step {step}: {}", rig.text);
            match random.below(170) {
                0..8 => db.flush().unwrap(),
                8 => {
                    let (from, to) = (common::key(random.below(60)), common::key(random.below(60)));
                    db.compact_range(Some(&from), Some(&to)).unwrap();
                }
                9 => kept.push((db.snapshot(), model.clone())),
                10 | 11 if !kept.is_empty() => {
                    drop(kept.swap_remove(random.below(kept.len() as u64) as usize));
                }
                12 => {
                    let family = db.default_column_family().unwrap();
                    db.suggest_compact_range_cf(&family, None, None).unwrap();
                }
                13 => {
                    let files: Vec<_> = db.live_files().iter().map(|file| file.name()).collect();
                    let some: Vec<_> = files.iter().filter(|_| random.below(3) == 0).collect();
                    let family = db.default_column_family().unwrap();
                    let options = CompactionOptions { output_file_size_limit: 700, ..CompactionOptions::default() };
                    // What is busy, or none, is refused.
                    let _ = db.compact_files_cf(&family, &some, last, None, &options);
                }
                14 => {
                    kept.clear();
                    db.close().unwrap();
                    // Without the option for a while, or compacted in another way.
                    let other = ["", STYLES[0], STYLES[1], "preclude_last_level_data_seconds=0"];
                    db = rig.try_open(other[random.below(4) as usize]).unwrap();
                }
                15 | 16 => check(&db, &ReadOptions::default(), &model, &what),
                17 | 18 => {
                    for (snapshot, then) in &kept {
                        let options = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
                        check(&db, &options, then, &what);
                    }
                }
                19..24 => rig.clock.advance(Duration::from_secs(random.below(60))),
                24 => placed += u64::from([last - 1, last].iter().all(|level| levels(&db).contains_key(level))),
                _ => {}
            }
        }
        db.wait_for_background_work().unwrap();
        let what = || format!("seed {seed}: {}", rig.text);
        check(&db, &ReadOptions::default(), &model, &what);
        drop(kept);
        db.verify_checksum().unwrap();
        rig.clock.advance(Duration::from_secs(10_000));
        db.compact_range(None, None).unwrap();
        check(&db, &ReadOptions::default(), &model, &what);
    }
    assert!(placed > 50, "{placed}");
}
