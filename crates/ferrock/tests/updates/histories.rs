//! Random histories, and a follower that is as far as its source at every step at which it looks.
//!
//! Steps: batches of puts, deletions, single deletions, merges and range deletions over three families, synced or not,
//! by `write` or with a manual flush of the log; flushes of a family or all; time that passes, so that archived logs
//! go; a new iterator in place of the old one; a close and an open, with the logs in the archive and in use.
//!
//! A follower that looked before the archive lost what it had not taken goes on; one that did not, gets an error that
//! names the numbers, and never a batch behind the gap.

use crate::follower::{Follower, flush_all, keeping_on, open};
use ferrock::{ErrorKind, FlushOptions, SequenceNumber, WalKind, WalReadOptions, WriteBatch, WriteOptions};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_base::random::Random;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::sync::Arc;
use std::time::Duration;

const TTL_SECONDS: u64 = 1_000;

fn random_batch(random: &mut Random, singles: &mut u64) -> WriteBatch {
    let mut batch = WriteBatch::new();
    let entries = if random.next_u64().is_multiple_of(20) { 3_000 } else { 1 + random.next_u64() % 12 };
    for _ in 0..entries {
        let family = (random.next_u64() % 3) as u32;
        let key = format!("key{:03}", random.next_u64() % 200).into_bytes();
        let value = vec![b'a' + (random.next_u64() % 26) as u8; (random.next_u64() % 60) as usize];
        match random.next_u64() % 12 {
            0 | 1 => batch.delete_cf(family, &key).unwrap(),
            2 | 3 => batch.merge_cf(family, &key, &value).unwrap(),
            4 => {
                let end = format!("key{:03}", random.next_u64() % 200).into_bytes();
                let (begin, end) = if key < end { (key, end) } else { (end, key) };
                batch.delete_range_cf(family, &begin, &end).unwrap();
            }
            5 => {
                // A key of its own: it may be written once before its single deletion.
                let key = format!("single{singles:06}").into_bytes();
                *singles += 1;
                batch.put_cf(family, &key, &value).unwrap();
                if random.next_u64().is_multiple_of(2) {
                    batch.single_delete_cf(family, &key).unwrap();
                }
            }
            6 => batch.put_log_data(&value).unwrap(),
            _ => batch.put_cf(family, &key, &value).unwrap(),
        }
    }
    batch
}

struct Outcome {
    batches: usize,
    gaps: usize,
    archived: usize,
}

fn run(seed: u64) -> Outcome {
    let mut random = Random::new(seed);
    let clock = Arc::new(ManualClock::new(1_000_000_000_000_000));
    let memory = MemoryFileSystem::new();
    memory.set_unix_seconds(clock.unix_seconds());
    let mut options = keeping_on(Arc::new(memory.clone()), TTL_SECONDS);
    options.components.clock = Some(clock.clone() as Arc<dyn Clock>);
    options.manual_wal_flush = seed % 3 == 1;
    if seed % 7 < 3 {
        options.wal_compression = ferrock::options::CompressionType::Zstd;
    }
    options.track_and_verify_wals_in_manifest = seed % 2 == 1;
    options.avoid_flush_during_recovery = seed % 4 == 2;
    if seed % 5 == 3 {
        options.wal_dir = "/logs".to_owned();
    }
    let (mut db, mut families) = open(options.clone()).unwrap();
    let mut follower = Follower::new();
    let (mut singles, mut outcome) = (0, Outcome { batches: 0, gaps: 0, archived: 0 });
    for _ in 0..120 {
        // Some followers look seldom.
        match random.next_u64() % if seed.is_multiple_of(3) { 16 } else { 20 } {
            0 => flush_all(&db),
            1 => {
                let family = &families[(random.next_u64() % 3) as usize];
                db.flush_cf(family, &FlushOptions::default()).unwrap();
            }
            2 => {
                clock.advance(Duration::from_secs(random.next_u64() % (TTL_SECONDS * 3 / 2)));
                memory.set_unix_seconds(clock.unix_seconds());
            }
            3 => follower.disconnect(),
            4 => {
                db.flush_wal(random.next_u64().is_multiple_of(2)).unwrap();
                follower.disconnect();
                db.close().unwrap();
                drop(families);
                (db, families) = open(options.clone()).unwrap();
            }
            15..=19 => match follower.follow(&db) {
                Ok(batches) => {
                    outcome.batches += batches;
                    follower.assert_equals(&db, &families);
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
                    let next = follower.taken.0 + 1;
                    assert!(error.to_string().contains(&format!("Gap in sequence numbers: {next} to ")), "{error}");
                    check_is_gone(&db, next);
                    outcome.gaps += 1;
                    follower = restart(&db, &families);
                }
            },
            _ => {
                let batch = random_batch(&mut random, &mut singles);
                let sync = random.next_u64().is_multiple_of(4);
                db.write(batch, &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
            }
        }
        check_files(&db, &memory, options.wal_dir.as_str(), &mut outcome);
    }
    outcome
}

/// What the follower misses is in no log.
fn check_is_gone(db: &ferrock::Db, sequence: u64) {
    let oldest = db.sorted_wal_files().unwrap().first().map(|log| log.start_sequence.0);
    assert!(oldest.is_none_or(|oldest| oldest > sequence), "{oldest:?} {sequence}");
    let options = WalReadOptions { from_first_available: true, ..WalReadOptions::default() };
    let first = db.updates_since(SequenceNumber(sequence), options).unwrap().next_batch().unwrap();
    assert_eq!(first.map(|first| first.sequence.0), oldest);
}

/// A new copy of the database.
fn restart(db: &ferrock::Db, families: &[ferrock::ColumnFamily]) -> Follower {
    let mut follower = Follower::new();
    for (family, contents) in crate::follower::all_contents(db, families).into_iter().enumerate() {
        for (key, value) in contents {
            follower.db.put_cf(&follower.families[family], &key, &value, &WriteOptions::default()).unwrap();
        }
    }
    follower.taken = db.latest_sequence_number();
    follower
}

/// The list of logs is that of the directories, sorted, and the current log is its last, if it has a batch.
fn check_files(db: &ferrock::Db, memory: &MemoryFileSystem, wal_dir: &str, outcome: &mut Outcome) {
    let directory = std::path::Path::new(if wal_dir.is_empty() { "/db" } else { wal_dir });
    let logs = db.sorted_wal_files().unwrap();
    assert!(logs.is_sorted_by_key(|log| (log.kind == WalKind::Alive, log.number)));
    assert!(logs.is_sorted_by_key(|log| log.start_sequence));
    for log in &logs {
        assert!(memory.file_size(&directory.join(log.path())).unwrap() >= log.size_bytes, "{log:?}");
    }
    let current = db.current_wal_file().unwrap();
    assert_eq!(current.kind, WalKind::Alive);
    if current.start_sequence > SequenceNumber(0) {
        assert_eq!(logs.last(), Some(&current));
    }
    outcome.archived = outcome.archived.max(logs.iter().filter(|log| log.kind == WalKind::Archived).count());
}

#[test]
fn a_follower_is_as_its_source_or_knows_what_it_misses() {
    let mut all = Outcome { batches: 0, gaps: 0, archived: 0 };
    for seed in 0..40 {
        let outcome = run(seed);
        all.batches += outcome.batches;
        all.gaps += outcome.gaps;
        all.archived = all.archived.max(outcome.archived);
    }
    assert!(all.batches > 500 && all.gaps > 3 && all.archived > 3, "{} {} {}", all.batches, all.gaps, all.archived);
}

/// The same answers for every starting point, of a database with logs of all kinds.
#[test]
fn every_starting_point_begins_with_the_batch_that_has_it() {
    let memory = MemoryFileSystem::new();
    let (db, families) = open(keeping_on(Arc::new(memory), 100_000)).unwrap();
    let (mut random, mut singles, mut written) = (Random::new(7), 0, Vec::new());
    for step in 0..60 {
        let mut batch = random_batch(&mut random, &mut singles);
        if batch.count() > 0 {
            db.write_lent(&mut batch, &WriteOptions::default()).unwrap();
            written.push(batch);
        }
        if step % 13 == 5 {
            db.flush_cf(&families[step % 3], &FlushOptions::default()).unwrap();
        }
    }
    let last = db.latest_sequence_number().0;
    for start in 0..=last + 1 {
        let mut updates = db.updates_since(SequenceNumber(start), WalReadOptions::default()).unwrap();
        let first = updates.next_batch().unwrap();
        let expected = written.iter().find(|batch| batch.sequence().0 + u64::from(batch.count()) > start.max(1));
        assert_eq!(first.as_ref().map(|first| first.batch.data()), expected.map(WriteBatch::data), "{start}");
    }
    let error = db.updates_since(SequenceNumber(last + 2), WalReadOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
