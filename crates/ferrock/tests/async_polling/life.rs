//! Futures that are dropped, and futures that outlive their database, at every stage of waiting.

use super::*;
use ferrock::{FlushOptions, WriteOptions};
use ferrock_base::thread::{Job, Join, Spawner, StdSpawner};
use ferrock_base::{Error, ErrorKind, Result as BaseResult};

const KEYS: u64 = 400;

/// Tables of level 0 that overlap, with merges through all of them; closed and opened again with few open files.
fn layers(place: &Place) -> Db {
    let db = place.open(-1, family_options());
    for round in 0..6u64 {
        for number in 0..KEYS {
            let value = format!("{round}-{number}").repeat(8);
            match (number + round) % 3 {
                0 if round == 0 => db.put(&key(number), value.as_bytes()).unwrap(),
                _ => db.merge(&key(number), value.as_bytes()).unwrap(),
            }
        }
        db.flush().unwrap();
    }
    db.close().unwrap();
    place.open(2, family_options())
}

#[test]
fn futures_are_dropped_at_any_stage() {
    everywhere(|place| {
        let db = layers(place);
        let options = ReadOptions { fill_cache: false, ..ReadOptions::default() };
        for polls in 0..25 {
            let mut reads: Vec<_> =
                polling(|| (0..KEYS).step_by(40).map(|number| db.get_async(&options, &key(number))).collect());
            let keys: Vec<_> = (0..KEYS).step_by(9).map(key).collect();
            let mut many = polling(|| db.multi_get_async(&options, &slices(&keys)));
            let mut is_over = false;
            for _ in 0..polls {
                reads.retain_mut(|read| poll_once(read).is_none());
                is_over = is_over || poll_once(&mut many).is_some();
                // How far the reads have come when they are dropped is what varies.
                std::thread::sleep(Duration::from_micros(300));
            }
            drop(reads);
            drop(many);
        }
        let family = db.default_column_family().unwrap();
        compare("afterwards", &db, &family, &options, &(0..KEYS).step_by(11).map(key).collect::<Vec<_>>());
    });
}

#[test]
fn futures_outlive_the_database_while_tables_are_opened_for_them() {
    everywhere(|place| {
        let db = layers(place);
        let options = ReadOptions::default();
        let keys: Vec<_> = (0..KEYS).step_by(7).map(key).collect();
        let wanted: Vec<Found> = keys.iter().map(|key| owned(db.get(key))).collect();
        db.close().unwrap();
        let db = place.open(2, family_options());
        place.file_system.shut_gate(true);
        let reads = polling(|| keys.iter().map(|key| db.get_async(&options, key)).collect::<Vec<_>>());
        let many = polling(|| db.multi_get_async(&options, &slices(&keys)));
        // Some are given up while a thread is at it.
        let given_up = polling(|| keys.iter().map(|key| db.get_async(&options, key)).collect::<Vec<_>>());
        place.file_system.wait_at_gate();
        drop(given_up);
        // The close waits for nothing.
        drop(db);
        place.file_system.shut_gate(false);
        for (found, wanted) in run_all(reads).into_iter().zip(&wanted) {
            assert_eq!(owned(found), *wanted);
        }
        for (found, wanted) in block_on(many).into_iter().zip(&wanted) {
            assert_eq!(owned(found), *wanted);
        }
        // No process holds the directory any more.
        assert_eq!(owned(place.open(2, family_options()).get(&keys[3])), wanted[3]);
    });
}

#[test]
fn tables_that_were_compacted_away_are_opened_for_old_futures_and_then_go() {
    everywhere(|place| {
        let db = layers(place);
        let options = ReadOptions::default();
        let wanted: Vec<Found> = (0..KEYS).map(|number| owned(db.get(&key(number)))).collect();
        db.close().unwrap();
        let db = place.open(1, family_options());
        let old: Vec<_> = db.live_files().iter().map(|file| format!("{:06}.sst", file.number.0)).collect();
        // They stop at the first table; the others are opened when the database has no use for them any more.
        let reads = polling(|| (0..KEYS).map(|number| db.get_async(&options, &key(number))).collect::<Vec<_>>());
        db.delete_range(b"a", b"z").unwrap();
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
        for (found, wanted) in run_all(reads).into_iter().zip(&wanted) {
            assert_eq!(owned(found), *wanted);
        }
        assert!(db.get(&key(1)).unwrap().is_none());
        let is_there = || {
            let names = place.file_system.children(&place.path).unwrap();
            names.iter().any(|name| old.contains(name))
        };
        // The last of them may go with a thread that opened a table.
        wait_until("the end of the obsolete tables", || !is_there());
        let family = db.default_column_family().unwrap();
        db.put_cf(&family, b"k", b"v", &WriteOptions::default()).unwrap();
        db.flush_cf(&family, &FlushOptions::default()).unwrap();
    });
}

/// Has threads for everything but for opening files.
#[derive(Debug)]
struct NoOpeners;

impl Spawner for NoOpeners {
    fn spawn(&self, name: &str, job: Job) -> BaseResult<Box<dyn Join>> {
        match name {
            "ferrock-open" => Err(Error::new(ErrorKind::Aborted, "no more threads")),
            _ => StdSpawner.spawn(name, job),
        }
    }
}

#[test]
fn without_threads_who_asks_opens_the_tables() {
    everywhere(|place| {
        layers(place).close().unwrap();
        let mut options = db_options(&place.file_system, 1);
        options.components.spawner = Some(Arc::new(NoOpeners));
        let (db, families) = Db::open_cf(&place.path, options, vec![("default".to_owned(), family_options())]).unwrap();
        let keys: Vec<_> = (0..KEYS).step_by(13).map(key).collect();
        compare("no openers", &db, &families[0], &ReadOptions::default(), &keys);
        let blocked = place.file_system.take_blocked();
        assert!(blocked.iter().any(|what| what.starts_with("opened")), "a thread had to: {blocked:?}");
        assert!(blocked.iter().all(|what| what.ends_with(".sst")), "{blocked:?}");
    });
}
