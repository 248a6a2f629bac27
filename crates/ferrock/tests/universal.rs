//! Universal families: random histories against a map, with snapshots, reopened and between styles; how many runs and
//! how much space they leave; and what callers ask for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;
#[path = "common/rig.rs"]
mod rig;

use common::{Contents, contents};
use ferrock::{
    CompactRangeOptions, CompactionJobInfo, Db, DbOptions, ErrorKind, EventListener, ReadOptions, WriteOptions,
};
use ferrock_base::random::Random;
use parking_lot::Mutex;
use rig::Rig;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

const BASE: &str = "create_if_missing=true;compaction_style=kCompactionStyleUniversal;merge_operator=stringappend;\
    write_buffer_size=65536;arena_block_size=4096;target_file_size_base=4096;max_bytes_for_level_base=20000;\
    max_background_jobs=4;block_based_table_factory={block_size=512};compression=kNoCompression";

fn rig(text: &str) -> Rig {
    Rig::new(BASE, text)
}

/// Each file of level 0 and each deeper level: its bytes, newest first.
fn runs(db: &Db) -> Vec<u64> {
    let files = db.live_files();
    let newest = files.iter().filter(|file| file.level == 0).map(|file| file.size_bytes);
    let deeper: BTreeSet<usize> = files.iter().map(|file| file.level).filter(|&level| level > 0).collect();
    let size = |level| files.iter().filter(|file| file.level == level).map(|file| file.size_bytes).sum();
    newest.chain(deeper.into_iter().map(size)).collect()
}

const ALL_KEYS: Range<u64> = 0..200;

fn key(random: &mut Random, of: &Range<u64>) -> Vec<u8> {
    format!("key{:03}", of.start + random.below(of.end - of.start)).into_bytes()
}

fn write(db: &Db, model: &mut Contents, random: &mut Random, of: &Range<u64>) {
    let key = key(random, of);
    match random.below(14) {
        0 | 1 => {
            db.delete(&key).unwrap();
            model.remove(&key);
        }
        2 => {
            let end = self::key(random, of).max(key.clone());
            db.delete_range(&key, &end).unwrap();
            model.retain(|other, _| *other < key || *other >= end);
        }
        3 => {
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

fn universal_text(random: &mut Random) -> String {
    let mut pick = |of: &[&'static str]| of[random.below(of.len() as u64) as usize];
    let options = [
        pick(&["", "size_ratio=0;", "size_ratio=40;", "size_ratio=400;"]),
        pick(&["", "min_merge_width=0;", "min_merge_width=3;"]),
        pick(&["", "max_merge_width=2;", "max_merge_width=4;"]),
        pick(&["", "max_size_amplification_percent=0;", "max_size_amplification_percent=20;"]),
        pick(&["", "compression_size_percent=50;"]),
        pick(&["", "stop_style=kCompactionStopStyleSimilarSize;"]),
        pick(&["", "allow_trivial_move=true;"]),
        pick(&["", "max_read_amp=0;", "max_read_amp=9;"]),
        pick(&["", "incremental=true;"]),
    ]
    .concat();
    let trigger = pick(&["1", "2", "4", "6"]);
    let levels = pick(&["1", "2", "4", "7"]);
    let parts = pick(&["1", "3"]);
    let limit = pick(&["max_compaction_bytes=8000;", "max_compaction_bytes=30000;", ""]);
    format!(
        "{limit}level0_file_num_compaction_trigger={trigger};num_levels={levels};max_subcompactions={parts};\
         compaction_options_universal={{{options}}}"
    )
}

/// Runs on many levels, of which parts are merged.
const MANY_RUNS: &str = "num_levels=7;level0_file_num_compaction_trigger=5;target_file_size_base=1000;\
    max_compaction_bytes=6000;\
    compaction_options_universal={incremental=true;size_ratio=0;max_size_amplification_percent=20}";

#[test]
fn what_is_merged_is_what_was_written() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let text = if seed % 4 == 0 { MANY_RUNS.to_owned() } else { universal_text(&mut random) };
        let rig = rig(&text);
        let (mut db, mut model) = (rig.open(), Contents::new());
        let mut kept = Vec::new();
        // Runs of few keys beside each other lie between files of others.
        let mut keys = ALL_KEYS;
        for step in 0..1200 {
            if random.below(40) == 0 {
                let from = random.below(180);
                keys = if random.below(3) == 0 { ALL_KEYS } else { from..from + 1 + random.below(20) };
            }
            write(&db, &mut model, &mut random, &keys);
            let what = || format!("seed {seed}, step {step}: {}", rig.text);
            match random.below(150) {
                0..6 => db.flush().unwrap(),
                6 => db.compact_range(Some(&key(&mut random, &ALL_KEYS)), None).unwrap(),
                7 => kept.push((db.snapshot(), model.clone())),
                8 if !kept.is_empty() => drop(kept.swap_remove(random.below(kept.len() as u64) as usize)),
                9 => db.suggest_compact_range_cf(&db.default_column_family().unwrap(), None, None).unwrap(),
                10 => {
                    kept.clear();
                    db.close().unwrap();
                    // By levels for a while, where there are some.
                    let style = ["kCompactionStyleUniversal", "kCompactionStyleLevel", "kCompactionStyleNone"];
                    let style = style[random.below(if rig.text.contains("num_levels=1") { 1 } else { 3 }) as usize];
                    db = rig.try_open(&format!("compaction_style={style}")).unwrap();
                }
                11 => assert_eq!(contents(&db, &ReadOptions::default()), model, "{}", what()),
                12 => {
                    for (snapshot, then) in &kept {
                        let options = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
                        assert_eq!(contents(&db, &options), *then, "{}: snapshot", what());
                    }
                }
                _ => {}
            }
        }
        db.wait_for_background_work().unwrap();
        assert_eq!(contents(&db, &ReadOptions::default()), model, "seed {seed}: {}", rig.text);
        drop(kept);
        db.verify_checksum().unwrap();
        db.compact_range(None, None).unwrap();
        assert_eq!(contents(&db, &ReadOptions::default()), model, "seed {seed}, compacted: {}", rig.text);
    }
}

#[test]
fn runs_are_few_and_their_space_is_bounded() {
    for (percent, trigger) in [(200, 4), (50, 4), (25, 2), (100, 8)] {
        let rig = rig(&format!(
            "level0_file_num_compaction_trigger={trigger};\
             compaction_options_universal={{max_size_amplification_percent={percent}}}"
        ));
        let (db, mut random, mut model) = (rig.open(), Random::new(7), Contents::new());
        let mut most = 0;
        for _ in 0..60 {
            (0..60).for_each(|_| write(&db, &mut model, &mut random, &ALL_KEYS));
            db.flush().unwrap();
            db.wait_for_background_work().unwrap();
            let runs = runs(&db);
            most = most.max(runs.len());
            assert!(runs.len() <= trigger, "{runs:?}");
            let (newer, oldest) = (runs[..runs.len() - 1].iter().sum::<u64>(), runs[runs.len() - 1]);
            assert!(runs.len() < trigger || newer * 100 <= oldest * percent, "{runs:?} of {percent} %");
        }
        assert!(most > 1 || trigger == 2, "{percent} %");
        assert_eq!(contents(&db, &ReadOptions::default()), model);
    }
}

/// The fewest tables that a compaction into the last level reads.
#[derive(Default)]
struct FewestRead(Mutex<Option<usize>>);

impl EventListener for FewestRead {
    fn on_compaction_begin(&self, event: &CompactionJobInfo) {
        let read = event.input_files.len();
        let mut fewest = self.0.lock();
        if event.output_level == 6 && event.stats.num_input_files_trivially_moved == 0 {
            *fewest = Some(fewest.map_or(read, |fewest| fewest.min(read)));
        }
    }
}

#[test]
fn with_incremental_a_part_of_the_two_oldest_runs_is_merged() {
    let fewest = ["incremental=false", "incremental=true"].map(|incremental| {
        let rig = rig(&format!(
            "level0_file_num_compaction_trigger=3;max_compaction_bytes=20000;disable_auto_compactions=true;\
             compaction_options_universal={{max_size_amplification_percent=60;{incremental}}}"
        ));
        let listener = Arc::new(FewestRead::default());
        let listen = |options: &mut DbOptions| options.components.listeners.push(Arc::clone(&listener) as _);
        let db = rig.try_open_with("", listen).unwrap();
        let mut model = Contents::new();
        let mut fill = |keys: &mut dyn Iterator<Item = u64>, byte: u8| {
            for number in keys {
                let (key, value) = (format!("key{number:05}").into_bytes(), vec![byte; 100]);
                db.put(&key, &value).unwrap();
                model.insert(key, value);
            }
            db.flush().unwrap();
        };
        fill(&mut (0..1500), b'a');
        db.compact_range(None, None).unwrap();
        *listener.0.lock() = None;
        let family = db.default_column_family().unwrap();
        db.set_options_cf(&family, &[("disable_auto_compactions", "false")]).unwrap();
        for round in 0..12 {
            fill(&mut (round..1500).step_by(12), b'b');
            db.wait_for_background_work().unwrap();
        }
        assert_eq!(contents(&db, &ReadOptions::default()), model);
        db.verify_checksum().unwrap();
        let fewest = *listener.0.lock();
        fewest.expect("a compaction into the last level")
    });
    assert!(fewest[0] >= 40 && fewest[1] <= 15, "{fewest:?}");
}

#[test]
fn a_caller_compacts_all_runs_into_the_last_level() {
    for levels in [1, 2, 7] {
        let rig = rig(&format!("num_levels={levels};disable_auto_compactions=true"));
        let (db, mut random, mut model) = (rig.open(), Random::new(levels), Contents::new());
        for _ in 0..5 {
            (0..100).for_each(|_| write(&db, &mut model, &mut random, &ALL_KEYS));
            db.flush().unwrap();
        }
        assert_eq!(runs(&db).len(), 5);
        let family = db.default_column_family().unwrap();
        db.compact_range_cf(&family, Some(b"a"), Some(b"b"), &CompactRangeOptions::default()).unwrap();
        assert!(db.live_files().iter().all(|file| file.level as u64 == levels - 1), "{:?}", db.live_files());
        assert_eq!(runs(&db).len(), 1);
        assert_eq!(contents(&db, &ReadOptions::default()), model);
    }
}

#[test]
fn old_files_are_written_again_with_all_that_is_newer() {
    // The stricter of both ages counts.
    let rig = rig("ttl=1000;periodic_compaction_seconds=5000;level0_file_num_compaction_trigger=100");
    let db = rig.open();
    for round in 0..3u8 {
        db.put(&[round], b"value").unwrap();
        db.flush().unwrap();
        rig.clock.advance(Duration::from_secs(400));
    }
    db.wait_for_background_work().unwrap();
    let before = db.live_files();
    // A flush looks at what is due.
    db.put(b"x", b"value").unwrap();
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
    let after = db.live_files();
    assert!(before.iter().all(|old| after.iter().all(|file| file.number != old.number)), "{after:?}");
    // The newest may have come when the others were chosen.
    assert!(runs(&db).len() <= 2);
}

#[test]
fn too_many_runs_stop_writers_whatever_level_they_are_on() {
    let rig = rig("level0_file_num_compaction_trigger=2;level0_slowdown_writes_trigger=3;\
        level0_stop_writes_trigger=3;compaction_options_universal={max_size_amplification_percent=100000}");
    let db = rig.open();
    let fill = |bytes: usize| {
        (0..bytes / 100).for_each(|number| db.put(format!("{number:06}").as_bytes(), &[7; 100]).unwrap());
        db.flush().unwrap();
        db.wait_for_background_work().unwrap();
    };
    let family = db.default_column_family().unwrap();
    // Two runs, one of them on a level; then nothing is merged any more.
    fill(50_000);
    db.compact_range(None, None).unwrap();
    db.set_options_cf(&family, &[("disable_auto_compactions", "true")]).unwrap();
    fill(10_000);
    fill(1_000);
    assert_eq!(runs(&db).len(), 3);
    // A compaction would begin at once, and end before the write as likely as after it.
    db.pause_background_work().unwrap();
    db.set_options_cf(&family, &[("disable_auto_compactions", "false")]).unwrap();
    let options = WriteOptions { no_slowdown: true, ..WriteOptions::default() };
    let refused = db.put_cf(&family, b"k", b"v", &options).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Incomplete, "{refused}");
    // No merge is wide enough, and any is better than none while writers wait.
    let wide = [("compaction_options_universal", "{min_merge_width=9;max_merge_width=9}")];
    db.set_options_cf(&family, &wide).unwrap();
    db.continue_background_work().unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!(runs(&db).len(), 2);
    db.put_cf(&family, b"k", b"v", &options).unwrap();
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |text: &str| rig(text).try_open("").unwrap_err();
    let error = refused("compaction_options_universal={max_read_amp=-2}");
    assert!(error.to_string().contains("max_read_amp should be at least -1"), "{error}");
    let error = refused("level0_file_num_compaction_trigger=9;compaction_options_universal={max_read_amp=3}");
    assert!(error.to_string().contains("smaller than the compaction trigger"), "{error}");
}
