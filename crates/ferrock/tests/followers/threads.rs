//! A secondary beside a writer that flushes, compacts, ingests, and creates and drops families all the time.

use crate::states::{FAMILIES, State, assert_same, batch, descriptors, number_of, read};
use ferrock::options::{ColumnFamilyOptions, DbOptions};
use ferrock::{Db, FlushOptions, ReadOptions, WriteOptions};
use ferrock_base::random::Random;
use ferrock_vfs::MemoryFileSystem;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const PATH: &str = "/db";
const SEED: u64 = 7;
const CATCH_UPS: u64 = 2_000;

fn write(db: &Db, states: &Mutex<Vec<State>>, written: &AtomicU64, is_over: &AtomicBool) {
    let mut random = Random::new(SEED);
    let families: Vec<(String, u32)> =
        FAMILIES.iter().map(|name| ((*name).to_owned(), db.column_family(name).unwrap().id())).collect();
    let mut state = State::new();
    let mut passing = Vec::new();
    for number in 1.. {
        if is_over.load(Ordering::Acquire) {
            return;
        }
        let batch = batch(SEED, number, &families, &mut state);
        states.lock().push(state.clone());
        db.write(batch, &WriteOptions::default()).unwrap();
        written.store(number, Ordering::Release);
        match random.below(12) {
            0 => {
                let family = db.column_family(FAMILIES[random.below(3) as usize]).unwrap();
                db.flush_cf(&family, &FlushOptions::default()).unwrap();
            }
            1 => {
                let family = db.create_column_family(&format!("passing{number}"), Default::default()).unwrap();
                db.put_cf(&family, b"key", b"value", &WriteOptions::default()).unwrap();
                passing.push(family);
            }
            2 => {
                if let Some(family) = passing.pop() {
                    db.drop_column_family(&family).unwrap();
                }
            }
            _ => {}
        }
    }
}

#[test]
fn every_view_beside_a_busy_writer_is_one_that_it_had() {
    let files = MemoryFileSystem::new();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.components.file_system = Some(Arc::new(files));
    let mut family = ColumnFamilyOptions::default();
    family.level0_file_num_compaction_trigger = 2;
    let (db, _) = Db::open_cf(PATH, options.clone(), descriptors(&family, &FAMILIES)).unwrap();
    let states = Mutex::new(vec![State::new()]);
    let (written, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| write(&db, &states, &written, &is_over));
        let followed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let families = Some(descriptors(&family, &FAMILIES));
            let (secondary, handles) = Db::open_as_secondary(PATH, "/secondary", options, families).unwrap();
            let is_read = AtomicBool::new(false);
            std::thread::scope(|scope| {
                // Readers that know of no catch-up: what they see goes on, never back.
                scope.spawn(|| {
                    let mut last = 0;
                    while !is_read.load(Ordering::Acquire) {
                        let state = read(&secondary).unwrap();
                        let number = number_of(&state);
                        assert!(number >= last, "{number} after {last}");
                        last = number;
                        assert_same(&state, &states.lock()[number as usize], &format!("batch {number}, by iterators"));
                    }
                });
                scope.spawn(|| {
                    let keys: Vec<Vec<u8>> = (0..60).map(|key| format!("key{key:03}").into_bytes()).collect();
                    while !is_read.load(Ordering::Acquire) {
                        let mut asked = vec![(0, &b"number"[..])];
                        asked.extend((0..3).flat_map(|family| keys.iter().map(move |key| (family, &key[..]))));
                        let places: Vec<_> = asked.iter().map(|(family, key)| (&handles[*family], *key)).collect();
                        let found = secondary.multi_get_families(&ReadOptions::default(), &places);
                        let found: Vec<Option<Vec<u8>>> =
                            found.into_iter().map(|value| value.unwrap().map(|value| value.to_vec())).collect();
                        let number = found[0]
                            .as_ref()
                            .map_or(0, |text| std::str::from_utf8(text).unwrap().parse::<usize>().unwrap());
                        let states = states.lock();
                        for ((family, key), value) in asked.iter().zip(&found).skip(1) {
                            let content = states[number].get(FAMILIES[*family]);
                            let wanted = content.and_then(|content| content.get(*key));
                            assert_eq!(value.as_ref(), wanted, "batch {number}, by a set, {}", key.escape_ascii());
                        }
                    }
                });
                let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    for _ in 0..CATCH_UPS {
                        let least = written.load(Ordering::Acquire);
                        secondary.try_catch_up_with_primary().unwrap();
                        let number = number_of(&read(&secondary).unwrap());
                        assert!(number >= least, "batch {number}, and {least} was written before the catch-up");
                    }
                }));
                is_read.store(true, Ordering::Release);
                caught.unwrap_or_else(|cause| std::panic::resume_unwind(cause));
            });
        }));
        is_over.store(true, Ordering::Release);
        followed.unwrap_or_else(|cause| std::panic::resume_unwind(cause));
    });
}
