//! Keys of many families as one future, as of one moment.

use super::*;
use ferrock::{FlushOptions, WriteBatch, WriteOptions};
use ferrock_base::random::Random;
use std::sync::atomic::{AtomicBool, Ordering};

const FAMILIES: usize = 4;
const KEYS: u64 = 150;

fn open(place: &Place, max_open_files: i32, family: &ColumnFamilyOptions) -> (Db, Vec<ColumnFamily>) {
    let names = ["default", "b", "c", "d"].map(|name| (name.to_owned(), family.clone()));
    Db::open_cf(&place.path, db_options(&place.file_system, max_open_files), names.to_vec()).unwrap()
}

#[test]
fn they_find_what_blocking_reads_find() {
    for seed in 0..3 {
        everywhere(|place| {
            let layout = if seed == 1 { partitioned(family_options()) } else { family_options() };
            let (db, families) = open(place, [-1, 1, 3][seed as usize], &layout);
            let write = WriteOptions::default();
            let mut random = Random::new(seed);
            let mut snapshots = vec![db.snapshot()];
            for step in 0..1500u32 {
                let family = &families[random.below(FAMILIES as u64) as usize];
                let number = random.below(KEYS);
                match random.below(100) {
                    0..=59 => db.put_cf(family, &key(number), format!("v{step}").repeat(9).as_bytes(), &write).unwrap(),
                    60..=84 => db.merge_cf(family, &key(number), format!("m{step}").as_bytes(), &write).unwrap(),
                    85..=94 => db.delete_cf(family, &key(number), &write).unwrap(),
                    95..=97 => snapshots.push(db.snapshot()),
                    _ => db.flush_cf(family, &FlushOptions::default()).unwrap(),
                }
            }
            for round in 0..20 {
                let keys: Vec<_> = (0..random.below(120)).map(|_| key(random.below(KEYS + 10))).collect();
                let of = |index: usize| &families[(index * 7 + round) % (1 + round % FAMILIES)];
                let pairs: Vec<(&ColumnFamily, &[u8])> =
                    keys.iter().enumerate().map(|(index, key)| (of(index), &key[..])).collect();
                let snapshot =
                    (round % 2 == 1).then(|| snapshots[random.below(snapshots.len() as u64) as usize].clone());
                let options = ReadOptions { snapshot, fill_cache: round % 3 == 0, ..ReadOptions::default() };
                let wanted: Vec<Found> = db.multi_get_families(&options, &pairs).into_iter().map(owned).collect();
                let found = block_on(polling(|| db.multi_get_families_async(&options, &pairs)));
                assert_eq!(found.len(), pairs.len());
                for ((found, wanted), (family, key)) in found.into_iter().zip(&wanted).zip(&pairs) {
                    assert_same(&format!("seed {seed}, round {round}"), key, &owned(found), wanted);
                    assert_same("alone", key, &owned(db.get_cf(family, &options, key)), wanted);
                }
            }
            assert!(block_on(db.multi_get_families_async(&ReadOptions::default(), &[])).is_empty());
        });
    }
}

/// What one batch wrote to all families is seen whole or not at all, also while their memtables change.
#[test]
fn they_are_as_of_one_moment() {
    everywhere(|place| {
        let mut family = family_options();
        family.write_buffer_size = 64 << 10;
        let (db, families) = open(place, -1, &family);
        let write = |round: u64| {
            let mut batch = WriteBatch::new();
            for family in &families {
                batch.put_cf(family.id(), b"round", &round.to_be_bytes()).unwrap();
                batch.put_cf(family.id(), &key(round % 500), &[b'x'; 400]).unwrap();
            }
            db.write(batch, &WriteOptions::default()).unwrap();
        };
        write(0);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (1..1500).for_each(write);
                is_over.store(true, Ordering::Release);
            });
            let pairs: Vec<(&ColumnFamily, &[u8])> = families.iter().map(|family| (family, &b"round"[..])).collect();
            let options = ReadOptions { fill_cache: false, ..ReadOptions::default() };
            let mut newest = Vec::new();
            while !is_over.load(Ordering::Acquire) {
                let found = block_on(polling(|| db.multi_get_families_async(&options, &pairs)));
                let rounds: Vec<_> = found.into_iter().map(|value| owned(value).unwrap().unwrap()).collect();
                assert!(rounds.iter().all(|round| *round == rounds[0]), "{rounds:?}");
                assert!(newest <= rounds[0], "time goes on");
                newest.clone_from(&rounds[0]);
            }
        });
    });
}
