//! Tables that are not open, and keys whose versions span blocks.

use super::*;
use ferrock::CompactRangeOptions;
use ferrock::options::BottommostLevelCompaction;
use ferrock_base::random::Random;
use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, OperationKind, ReadContext, read_owned};
use std::collections::BTreeSet;

const KEYS: u64 = 300;

/// Writes of every kind with flushes and some compactions between them. Every fifth key gets operands that fill blocks.
fn random_history(db: &Db, random: &mut Random) -> Vec<ferrock::Snapshot> {
    let mut snapshots = Vec::new();
    for step in 0..1500u32 {
        let number = random.below(KEYS);
        match random.below(1000) {
            0..=399 => {
                db.put(&key(number), format!("v{step}-").repeat(1 + random.below(12) as usize).as_bytes()).unwrap()
            }
            400..=859 => db.merge(&key(number / 25 * 5), format!("m{step}").repeat(15).as_bytes()).unwrap(),
            860..=939 => db.delete(&key(number)).unwrap(),
            940..=959 => db.delete_range(&key(number), &key(number + random.below(20))).unwrap(),
            960..=979 => snapshots.push(db.snapshot()),
            980..=994 => db.flush().unwrap(),
            _ => {
                let (a, b) = (key(random.below(KEYS)), key(random.below(KEYS)));
                db.compact_range(Some((&a).min(&b)), Some((&a).max(&b))).unwrap();
            }
        }
    }
    snapshots
}

fn arrangement(seed: u64) -> ColumnFamilyOptions {
    let mut family = if seed.is_multiple_of(2) { family_options() } else { partitioned(family_options()) };
    family.target_file_size_base = 8 << 10;
    family.table.block_size = [256, 512, 4096][(seed % 3) as usize];
    family
}

#[test]
fn random_histories_are_read_without_blocking() {
    for seed in 0..5 {
        everywhere(|place| {
            let max_open_files = [-1, 1, 3][(seed % 3) as usize];
            let db = place.open(max_open_files, arrangement(seed));
            let mut random = Random::new(seed);
            let snapshots = random_history(&db, &mut random);
            let family = db.default_column_family().unwrap();
            let mut found = 0;
            for round in 0..3usize {
                let keys: Vec<_> = (0..60).map(|_| key(random.below(KEYS + 20))).collect();
                let snapshot =
                    (round % 2 == 1).then(|| snapshots[random.below(snapshots.len() as u64) as usize].clone());
                let options = ReadOptions { snapshot, fill_cache: round % 3 != 1, ..ReadOptions::default() };
                let what = format!("seed {seed}, round {round}");
                let values = compare(&what, &db, &family, &options, &keys);
                found += values.iter().filter(|value| value.as_ref().unwrap().is_some()).count();
            }
            assert!(found > 30, "seed {seed} finds {found}");
        });
    }
}

/// One table whose only key has as many operands as fill `blocks` blocks; neighbours around it.
fn one_key_in_blocks(db: &Db, blocks: u64) -> Vec<u8> {
    db.put(&key(1), b"before").unwrap();
    let (mut snapshots, mut wanted) = (Vec::new(), Vec::new());
    for number in 0..blocks {
        // Operands that a snapshot tells apart are not merged when they are flushed.
        snapshots.push(db.snapshot());
        let operand = format!("{number:04}").repeat(140).into_bytes();
        wanted.extend_from_slice(if number == 0 { b"" } else { b"," });
        wanted.extend_from_slice(&operand);
        db.merge(&key(2), &operand).unwrap();
    }
    db.put(&key(3), b"behind").unwrap();
    db.flush().unwrap();
    drop(snapshots);
    wanted
}

#[test]
fn a_key_in_many_blocks_is_read_block_by_block() {
    for layout in [family_options, || partitioned(family_options())] {
        everywhere(|place| {
            let db = place.open(-1, layout());
            let wanted = one_key_in_blocks(&db, 12);
            let uncached = ReadOptions { fill_cache: false, ..ReadOptions::default() };
            let family = db.default_column_family().unwrap();
            let found = compare("many blocks", &db, &family, &uncached, &[key(1), key(2), key(3)]);
            assert_eq!(found[1], Ok(Some(wanted)));
            // No more requests than the blocking read.
            let requests = |read: &dyn Fn() -> Found| {
                let before = place.file_system.counters().snapshot().all_classes();
                assert!(read().unwrap().is_some());
                place.file_system.counters().snapshot().all_classes().since(before).requests
            };
            let blocking = requests(&|| owned(db.get_with(&uncached, &key(2))));
            assert!(blocking >= 12, "{blocking} requests");
            // Which partitions are in the cache depends on what was read before.
            let alone = requests(&|| owned(block_on(polling(|| db.get_async(&uncached, &key(2))))));
            let many = || polling(|| db.multi_get_async(&uncached, &[&key(2)]));
            let together = requests(&|| owned(block_on(many()).remove(0)));
            for future in [alone, together] {
                assert!((12..=blocking).contains(&future), "{future} requests, {blocking} when blocking");
            }
        });
    }
}

/// A database of so many tables of level 1, closed and opened again.
fn many_tables(place: &Place, max_open_files: i32) -> (Db, Vec<String>) {
    let mut family = family_options();
    family.target_file_size_base = 8 << 10;
    let db = place.open(-1, family.clone());
    for number in 0..1000 {
        db.put(&key(number), &[b'v'; 100]).unwrap();
    }
    db.flush().unwrap();
    let bottommost_level_compaction = BottommostLevelCompaction::Force;
    let rewriting = CompactRangeOptions { bottommost_level_compaction, ..CompactRangeOptions::default() };
    db.compact_range_cf(&db.default_column_family().unwrap(), None, None, &rewriting).unwrap();
    let names: Vec<String> = db.live_files().iter().map(|file| format!("{:06}.sst", file.number.0)).collect();
    assert!(names.len() > 8, "{}", names.len());
    db.close().unwrap();
    let db = place.open(max_open_files, family);
    place.file_system.take_opened();
    (db, names)
}

#[test]
fn a_table_is_opened_once_for_all_who_want_it() {
    everywhere(|place| {
        let (db, names) = many_tables(place, 1);
        let options = ReadOptions::default();
        let keys: Vec<_> = (0..1000).map(key).collect();
        db.get(&keys[0]).unwrap();
        place.file_system.take_opened();
        place.file_system.shut_gate(true);
        let mut futures: Vec<_> = polling(|| keys.iter().map(|key| db.get_async(&options, key)).collect());
        let mut many = polling(|| db.multi_get_async(&options, &slices(&keys)));
        for future in futures.iter_mut().rev().take(100) {
            assert!(poll_once(future).is_none());
        }
        assert!(poll_once(&mut many).is_none());
        place.file_system.shut_gate(false);
        for (number, value) in run_all(futures).into_iter().enumerate() {
            assert_eq!(owned(value), Ok(Some(vec![b'v'; 100])), "key {number}");
        }
        assert!(block_on(many).into_iter().all(|value| owned(value) == Ok(Some(vec![b'v'; 100]))));
        let opened = place.file_system.take_opened();
        let different: BTreeSet<&String> = opened.iter().collect();
        assert!(different.iter().all(|name| names.contains(name)), "{different:?}");
        assert_eq!((opened.len(), different.len()), (names.len() - 1, names.len() - 1), "one of them was open");
    });
}

#[test]
fn a_table_that_is_missing_or_damaged_fails_its_keys_as_it_does_for_get() {
    for damage in ["missing", "damaged", "short"] {
        everywhere(|place| {
            let (db, names) = many_tables(place, 1);
            let path = place.path.join(&names[3]);
            match damage {
                "missing" => place.file_system.remove_file(&path).unwrap(),
                "short" => place.file_system.truncate(&path, 1000).unwrap(),
                _ => {
                    let size = place.file_system.file_size(&path).unwrap();
                    let file = place.file_system.open_random_access(&path, &Default::default()).unwrap();
                    let mut bytes = read_owned(&*file, 0, size as usize, &ReadContext::default()).unwrap();
                    let end = bytes.len() - 60;
                    bytes[end..].fill(0xff);
                    ferrock_vfs::write_file_synced(&place.file_system, &path, &bytes).unwrap();
                }
            }
            let family = db.default_column_family().unwrap();
            let keys: Vec<_> = (0..1000).step_by(7).map(key).collect();
            let found = compare(damage, &db, &family, &ReadOptions::default(), &keys);
            let errors: Vec<_> = found.iter().filter_map(|found| found.as_ref().err()).collect();
            assert!(!errors.is_empty() && errors.len() < found.len() / 2, "{} errors", errors.len());
            assert!(errors.iter().all(|error| error.contains(&names[3])), "{damage}: {errors:?}");
        });
    }
}

#[test]
fn what_may_not_be_read_is_not_opened() {
    everywhere(|place| {
        let (db, _) = many_tables(place, 2);
        let options = ReadOptions { read_tier: ferrock::options::ReadTier::BlockCacheOnly, ..ReadOptions::default() };
        let family = db.default_column_family().unwrap();
        let found = compare("cache only", &db, &family, &options, &(0..1000).step_by(50).map(key).collect::<Vec<_>>());
        assert!(found.iter().all(|found| found.as_ref().unwrap_err().starts_with("Incomplete")), "{found:?}");
        assert_eq!(place.file_system.take_opened(), Vec::<String>::new());
    });
}

#[test]
fn time_is_over_for_futures_as_for_gets() {
    let faulty = Arc::new(FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let file_system = Watched::new(Arc::clone(&faulty) as Arc<dyn FileSystem>);
    let place = Place { file_system, path: PathBuf::from("/db"), _directory: tempfile::tempdir().unwrap() };
    for max_open_files in [-1, 1] {
        let (db, _) = many_tables(&place, max_open_files);
        let family = db.default_column_family().unwrap();
        let keys: Vec<_> = (0..1000).step_by(90).map(key).collect();
        let late = ReadOptions { deadline: Duration::from_secs(1), ..ReadOptions::default() };
        for found in compare("1970", &db, &family, &late, &keys) {
            assert!(found.unwrap_err().starts_with("TimedOut"));
        }
        let id = faulty.add_rule(FaultRule::new(OperationKind::Read, "*.sst", Fault::Delay(Duration::from_millis(20))));
        let hurried = ReadOptions { io_timeout: Duration::from_millis(2), ..ReadOptions::default() };
        for found in compare("slow", &db, &family, &hurried, &keys[..4]) {
            assert!(found.unwrap_err().starts_with("TimedOut"));
        }
        let patient = ReadOptions { io_timeout: Duration::from_secs(60), ..ReadOptions::default() };
        for found in compare("slow", &db, &family, &patient, &keys[4..6]) {
            assert!(found.unwrap().is_some());
        }
        faulty.remove_rule(id);
    }
    assert_eq!(place.file_system.take_blocked(), Vec::<String>::new());
}
