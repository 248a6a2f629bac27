//! Writes, reads and scans of several threads, with values that name their keys.

use super::key;
use ferrock::{Db, ReadOptions};
use ferrock_base::random::Random;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Keys that the load draws from.
pub const KEYS: u64 = 200_000;

/// A value of a key.
pub fn value(number: u64, random: &mut Random) -> Vec<u8> {
    let mut value = number.to_be_bytes().to_vec();
    value.resize(40 + random.below(300) as usize, random.below(256) as u8);
    value
}

/// Writes, reads and scans for so many rounds.
fn mix(db: &Db, seed: u64, rounds: u64) {
    let mut random = Random::new(seed);
    for _ in 0..rounds {
        let number = random.below(KEYS);
        let wanted = key(number);
        match random.below(40) {
            0..=14 => db.put(&wanted, &value(number, &mut random)).unwrap(),
            15..=36 => {
                if let Some(found) = db.get(&wanted).unwrap() {
                    assert_eq!(found[..8], number.to_be_bytes());
                }
            }
            37 => db.delete(&wanted).unwrap(),
            _ => {
                let mut iter = db.iter(&ReadOptions::default());
                iter.seek(&wanted);
                for _ in 0..random.below(100) {
                    if !iter.valid() {
                        break;
                    }
                    assert_eq!(key(u64::from_be_bytes(iter.value()[..8].try_into().unwrap())), iter.key());
                    iter.next();
                }
                iter.status().unwrap();
            }
        }
    }
}

/// Calls `sample` while the databases are under load.
pub fn under_load(databases: &[Db], rounds: u64, sample: impl Fn() + Sync) {
    let (is_over, left) = (AtomicBool::new(false), AtomicUsize::new(databases.len() * 2));
    std::thread::scope(|scope| {
        for (seed, db) in databases.iter().chain(databases).enumerate() {
            let (is_over, left) = (&is_over, &left);
            scope.spawn(move || {
                mix(db, seed as u64, rounds);
                if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    is_over.store(true, Ordering::Release);
                }
            });
        }
        while !is_over.load(Ordering::Acquire) {
            sample();
            // Only how often a sample is taken depends on this time.
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}
