//! Writers, flushes and readers at the same time.

use crate::common::threads::PATIENCE;
use crate::follower::{flush_all, keeping_on, open, open_at};
use ferrock::{Db, SequenceNumber, WalKind, WalReadOptions, WriteBatch, WriteOptions};
use ferrock_base::random::Random;
use ferrock_format::write_batch::Record;
use ferrock_vfs::MemoryFileSystem;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

const WRITERS: u64 = 4;
const BATCHES: u64 = 400;

/// Batch `number` of a writer: a put in each of `parts` keys, and the number of parts in the first.
fn batch_of(writer: u64, number: u64, parts: u64) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for part in 0..parts {
        let family = (part % 3) as u32;
        batch.put_cf(family, format!("{writer}/{number}/{part}").as_bytes(), parts.to_string().as_bytes()).unwrap();
    }
    batch
}

fn write_all(db: &Db, writer: u64, acknowledged: &AtomicU64) {
    let mut random = Random::new(writer);
    for number in 0..BATCHES {
        let batch = batch_of(writer, number, 1 + random.next_u64() % 6);
        let sync = random.next_u64().is_multiple_of(5);
        db.write(batch, &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
        acknowledged.store(number + 1, Ordering::Release);
        if writer == 0 && number % 50 == 25 {
            flush_all(db);
        }
    }
}

/// What a reader has seen: of each writer, how many batches.
#[derive(Default)]
struct Seen {
    next: BTreeMap<u64, u64>,
    last: u64,
}

impl Seen {
    /// Takes a record of a log: whole batches of writers, one behind the other, each the next of its writer.
    fn take(&mut self, first: SequenceNumber, batch: &WriteBatch) {
        assert_eq!(first.0, self.last + 1);
        self.last += u64::from(batch.count());
        let mut open: Option<(u64, u64, u64, u64)> = None;
        for record in batch.iter() {
            let Record::Put { key, value, .. } = record.unwrap() else { panic!("only puts are written") };
            let parts: u64 = std::str::from_utf8(value).unwrap().parse().unwrap();
            let mut key = std::str::from_utf8(key).unwrap().split('/').map(|text| text.parse::<u64>().unwrap());
            let (writer, number, part) = (key.next().unwrap(), key.next().unwrap(), key.next().unwrap());
            match open {
                None => assert_eq!(part, 0, "a batch begins with its beginning"),
                Some(open) => assert_eq!(open, (writer, number, part, parts), "no batch is torn"),
            }
            open = (part + 1 < parts).then_some((writer, number, part + 1, parts));
            if part == 0 {
                let next = self.next.entry(writer).or_default();
                assert_eq!(number, *next, "each batch once, in the order of its writer");
                *next += 1;
            }
        }
        assert_eq!(open, None, "a record ends with the end of a batch");
    }

    fn has_all(&self) -> bool {
        (0..WRITERS).all(|writer| self.next.get(&writer) == Some(&BATCHES))
    }
}

/// Follows until everything was read; with `restarts` by a new iterator now and then.
fn read_all(db: &Db, acknowledged: &[AtomicU64], restarts: bool) -> Seen {
    // Slow writers are no failure: only that nothing comes.
    let (mut seen, mut begun) = (Seen::default(), Instant::now());
    let mut random = Random::new(99);
    while !seen.has_all() {
        assert!(begun.elapsed() < PATIENCE, "{:?}", seen.next);
        let mut updates = db.updates_since(SequenceNumber(seen.last + 1), WalReadOptions::default()).unwrap();
        loop {
            let known: Vec<u64> = acknowledged.iter().map(|count| count.load(Ordering::Acquire)).collect();
            while let Some(update) = updates.next_batch().unwrap() {
                seen.take(update.sequence, &update.batch);
                begun = Instant::now();
            }
            for (writer, known) in known.into_iter().enumerate() {
                let read = seen.next.get(&(writer as u64)).copied().unwrap_or(0);
                assert!(read >= known, "{read} of {known} batches that were acknowledged before");
            }
            assert!(begun.elapsed() < PATIENCE, "{:?}", seen.next);
            if seen.has_all() || (restarts && random.next_u64().is_multiple_of(8)) {
                break;
            }
            std::thread::yield_now();
        }
    }
    seen
}

fn readers_beside_writers(db: &Db) {
    let acknowledged: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let acknowledged = &acknowledged[writer as usize];
                scope.spawn(move || write_all(db, writer, acknowledged))
            })
            .collect();
        let readers = [false, true].map(|restarts| {
            let acknowledged = &acknowledged[..];
            scope.spawn(move || read_all(db, acknowledged, restarts))
        });
        let flusher = scope.spawn(|| {
            let mut flushes = 0;
            while !is_over.load(Ordering::Acquire) {
                flush_all(db);
                flushes += 1;
                std::thread::yield_now();
            }
            flushes
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        let last = readers.map(|reader| reader.join().unwrap().last);
        is_over.store(true, Ordering::Release);
        assert!(flusher.join().unwrap() > 0);
        assert_eq!(last, [db.latest_sequence_number().0; 2]);
    });
    let logs = db.sorted_wal_files().unwrap();
    let archived = logs.iter().filter(|log| log.kind == WalKind::Archived).count();
    assert!(archived > 4, "logs were archived: {logs:?}");
}

#[test]
fn readers_follow_writers_that_form_groups() {
    let (db, _) = open(keeping_on(Arc::new(MemoryFileSystem::new()), 1_000_000)).unwrap();
    readers_beside_writers(&db);
}

#[test]
fn readers_follow_what_waits_for_a_flush_of_the_log() {
    let mut options = keeping_on(Arc::new(MemoryFileSystem::new()), 1_000_000);
    options.manual_wal_flush = true;
    readers_beside_writers(&open(options).unwrap().0);
}

/// A log in a directory has space reserved behind its records, and is cut when it is closed.
#[test]
fn readers_follow_logs_with_reserved_space() {
    let directory = tempfile::tempdir().unwrap();
    let options = keeping_on(ferrock_vfs::default_file_system(), 1_000_000);
    readers_beside_writers(&open_at(directory.path(), options).unwrap().0);
}

/// Without an archive a log that is being read stays for its reader, and goes when the reader has left it.
#[test]
fn a_log_stays_while_it_is_read() {
    use ferrock_vfs::FileSystem;
    let memory = MemoryFileSystem::new();
    let (db, _) = open(keeping_on(Arc::new(memory.clone()), 0)).unwrap();
    for number in 0..10 {
        db.write(batch_of(0, number, 1), &WriteOptions::default()).unwrap();
    }
    let mut updates = db.updates_since(SequenceNumber(1), WalReadOptions::default()).unwrap();
    let mut seen = Seen::default();
    let first = updates.next_batch().unwrap().unwrap();
    seen.take(first.sequence, &first.batch);
    let log = std::path::Path::new("/db").join(db.current_wal_file().unwrap().path());
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
    assert!(memory.exists(&log).unwrap());
    for number in 10..12 {
        db.write(batch_of(0, number, 1), &WriteOptions::default()).unwrap();
    }
    while let Some(update) = updates.next_batch().unwrap() {
        seen.take(update.sequence, &update.batch);
    }
    assert_eq!(seen.next[&0], 12);
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
    assert!(!memory.exists(&log).unwrap(), "the next flush removes it");
}
