//! Scans that pause where they would have to read: driven from outside they go where scans go that read for themselves,
//! both ways, over tables of every form that RocksDB wrote; and they read nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::{Entries, comparator_of, open_by_itself, scan};
use ferrock_base::internal_key::user_key;
use ferrock_base::random::Random;
use ferrock_base::{Error, ErrorKind, InternalIterator};
use ferrock_cache::{BlockCache, CacheOptions};
use ferrock_table::{BlockTable, BlockTableIter, ScanBounds, ScanRead, TableReadOptions, TableReaderParams};
use ferrock_vfs::{FileSystem, PosixFileSystem, ReadClass, read_range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn tables() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let list = std::fs::read_to_string(dir.join("expected.tsv")).unwrap();
    let names = list.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split('\t').next());
    names.map(|name| dir.join(name)).collect()
}

/// Makes the pending reads of a paused scan until it continues. The scan reads for itself if it has none.
struct Supplier<'a> {
    file_system: &'a dyn FileSystem,
    /// The scan begins reads ahead.
    reads_ahead: bool,
    /// Reads that were made for the scan, and pauses in which it had to read for itself.
    supplied: u64,
    left: u64,
}

impl Supplier<'_> {
    fn requests(&self) -> u64 {
        let counters = self.file_system.counters().snapshot();
        ReadClass::ALL.iter().map(|&class| counters.class(class).requests).sum()
    }

    /// Moves a scan, and drives it on until it is not paused any more.
    fn drive(&mut self, iter: &mut BlockTableIter, step: impl Fn(&mut BlockTableIter)) {
        let before = self.requests();
        step(iter);
        assert!(self.reads_ahead || self.requests() == before, "it read by itself");
        while iter.is_paused() {
            assert!(!iter.valid());
            assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::TryAgain);
            let Some(read) = iter.pending_read() else {
                self.left += 1;
                iter.set_pausing(false);
                iter.resume(true);
                iter.set_pausing(true);
                continue;
            };
            self.supplied += 1;
            let ScanRead { read, file, context, .. } = read;
            drop(iter.take_started());
            let bytes = read_range(&*file, read.offset(), read.length(), &context);
            let before = self.requests();
            iter.supply(&read, bytes);
            iter.resume(true);
            assert!(self.reads_ahead || self.requests() == before, "it read by itself");
        }
    }
}

#[derive(Clone, Debug)]
enum Move {
    First,
    Last,
    Seek(Vec<u8>),
    SeekForPrev(Vec<u8>),
    Next,
    Prev,
}

impl Move {
    fn random(random: &mut Random, entries: &Entries) -> Self {
        let key = || entries[0].0.clone();
        let target = entries.get(random.below(entries.len() as u64) as usize).map_or_else(key, |entry| entry.0.clone());
        match random.below(20) {
            0 => Self::First,
            1 => Self::Last,
            2..5 => Self::Seek(target),
            5..7 => Self::SeekForPrev(target),
            7..16 => Self::Next,
            _ => Self::Prev,
        }
    }

    fn apply(&self, iter: &mut BlockTableIter) {
        match self {
            Self::First => iter.seek_to_first(),
            Self::Last => iter.seek_to_last(),
            Self::Seek(target) => iter.seek(target),
            Self::SeekForPrev(target) => iter.seek_for_prev(target),
            Self::Next if iter.valid() => iter.next(),
            Self::Prev => iter.prev(),
            Self::Next => {}
        }
    }
}

/// Random moves over a table, of a scan that pauses and one that reads.
fn compare(
    reader: &Arc<BlockTable>,
    file_system: &dyn FileSystem,
    entries: &Entries,
    (seed, reads_ahead): (u64, bool),
) -> (u64, u64) {
    let mut random = Random::new(seed);
    let order = comparator_of(reader.properties());
    let mut supplier = Supplier { file_system, reads_ahead, supplied: 0, left: 0 };
    for _ in 0..6 {
        let mut bound = || user_key(&entries[random.below(entries.len() as u64) as usize].0).to_vec();
        let (a, b) = (bound(), bound());
        let (low, high) = if order.user().compare(&a, &b).is_lt() { (a, b) } else { (b, a) };
        let lower = (random.below(3) == 0).then_some(low);
        let upper = (random.below(3) == 0).then_some(high);
        let bounds = ScanBounds::new(lower, upper).with_limit_hint([0, 0, 5][random.below(3) as usize]);
        let bounds = Arc::new(bounds);
        let options = TableReadOptions {
            fill_cache: random.below(2) == 0,
            readahead_bytes: [0, 0, 9000][random.below(3) as usize],
            async_io: reads_ahead,
            ..TableReadOptions::default()
        };
        let mut reading = reader.iter_within(options, Arc::clone(&bounds));
        let mut pausing = reader.iter_within(TableReadOptions { pauses: true, ..options }, bounds);
        for _ in 0..120 {
            let step = Move::random(&mut random, entries);
            step.apply(&mut reading);
            supplier.drive(&mut pausing, |iter| step.apply(iter));
            reading.status().unwrap();
            pausing.status().unwrap();
            let stands = |iter: &BlockTableIter| iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec()));
            assert!(stands(&reading) == stands(&pausing), "seed {seed} {step:?}");
        }
    }
    (supplier.supplied, supplier.left)
}

fn compare_all(reads_ahead: bool) {
    let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::with_backend(Some("pread")));
    let (mut supplied, mut left, mut compared) = (0, 0, 0);
    for (number, path) in tables().iter().enumerate() {
        for (round, cache_bytes) in [None, Some(2000), Some(1 << 20)].into_iter().enumerate() {
            let cache = cache_bytes.map(|capacity_bytes| {
                let options = CacheOptions { capacity_bytes, ..CacheOptions::default() };
                BlockCache::new(options)
            });
            let change = |params: &mut TableReaderParams| {
                Arc::make_mut(&mut params.options).cache_index_and_filter_blocks = round > 0;
            };
            let reader = open_by_itself(&file_system, path, cache, change).unwrap();
            let entries = scan(&reader, TableReadOptions { fill_cache: false, ..Default::default() }).unwrap();
            if entries.is_empty() {
                continue;
            }
            let seed = (3 * number + round) as u64;
            let (more, itself) = compare(&reader, &*file_system, &entries, (seed, reads_ahead));
            (supplied, left, compared) = (supplied + more, left + itself, compared + 1);
        }
    }
    assert!(compared > 60 && supplied > 5000, "{compared} tables, {supplied} reads");
    // Where an index or a filter is to be in a cache that has no room for it.
    assert!(left > 0 && left < supplied / 2, "{left} of {supplied}");
}

#[test]
fn they_go_where_scans_go_that_read() {
    compare_all(false);
}

#[test]
fn reading_ahead_they_go_there_too() {
    compare_all(true);
}

#[test]
fn a_read_that_fails_is_made_again_by_the_scan_but_not_when_time_ran_out() {
    let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::with_backend(Some("pread")));
    let path = tables().into_iter().next().unwrap();
    let reader = open_by_itself(&file_system, &path, None, |_| {}).unwrap();
    let options = TableReadOptions { pauses: true, ..TableReadOptions::default() };
    for (kind, is_final) in [(ErrorKind::Io, false), (ErrorKind::TimedOut, true)] {
        let mut iter = reader.iter_within(options, Arc::default());
        iter.seek_to_first();
        let ScanRead { read, .. } = iter.pending_read().unwrap();
        iter.supply(&read, Err(Error::new(kind, "no")));
        iter.resume(true);
        if is_final {
            assert!(!iter.is_paused());
            assert_eq!(iter.status().unwrap_err().kind(), kind);
            continue;
        }
        assert!(iter.is_paused() && iter.pending_read().is_none(), "it is not asked for twice");
        iter.set_pausing(false);
        iter.resume(true);
        assert!(iter.valid());
    }
}

/// The table with most data blocks that has no partitions.
fn long_table(file_system: &Arc<dyn FileSystem>) -> Arc<BlockTable> {
    let readers = tables().into_iter().filter_map(|path| open_by_itself(file_system, &path, None, |_| {}).ok());
    readers
        .filter(|reader| reader.properties().index_partitions == 0)
        .max_by_key(|reader| reader.properties().num_data_blocks)
        .unwrap()
}

fn supply(iter: &mut BlockTableIter) {
    while iter.is_paused() {
        let ScanRead { read, file, context, .. } = iter.pending_read().unwrap();
        drop(iter.take_started());
        let bytes = read_range(&*file, read.offset(), read.length(), &context);
        iter.supply(&read, bytes);
        iter.resume(true);
    }
}

#[test]
fn a_scan_placed_anew_without_pausing_forgets_what_it_lacked() {
    let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::with_backend(Some("pread")));
    let reader = long_table(&file_system);
    let options = TableReadOptions { pauses: true, readahead_bytes: 16 << 20, ..Default::default() };
    let mut iter = reader.iter_within(options, Arc::default());
    iter.seek_to_first();
    assert!(iter.is_paused());
    // As `DeferredReads::place_pending` does for the last child, on a helper thread.
    iter.set_pausing(false);
    iter.seek_to_first();
    assert!(iter.valid());
    iter.set_pausing(true);
    let is_paused_while_valid = iter.is_paused();
    let mut last_pause_at_end = false;
    while iter.valid() {
        iter.next();
        // As a merge asks.
        if !iter.valid() && iter.status().is_err() {
            supply(&mut iter);
            if !iter.valid() {
                last_pause_at_end = true;
            }
        }
    }
    iter.status().unwrap();
    assert!(!last_pause_at_end, "it paused at the end of the table");
    assert!(!is_paused_while_valid, "paused and valid");
}

#[test]
fn a_scan_behind_its_hint_in_the_next_file_reads_as_one_that_reads_does() {
    let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::with_backend(Some("pread")));
    let bounds = Arc::new(ScanBounds::new(None, None).with_limit_hint(1));
    let mut costs = Vec::new();
    for pauses in [false, true] {
        let reader = long_table(&file_system);
        let options = TableReadOptions { pauses, ..Default::default() };
        let mut before = reader.iter_within(TableReadOptions::default(), Arc::clone(&bounds));
        before.seek_to_first();
        let mut iter = reader.iter_within(options, Arc::clone(&bounds));
        iter.continue_readahead(&before);
        let data = || file_system.counters().snapshot().class(ReadClass::Data).device_bytes;
        let (mut sizes, mut last) = (Vec::new(), data());
        iter.seek_to_first();
        supply(&mut iter);
        while iter.valid() {
            if data() > last {
                sizes.push(data() - last);
                last = data();
            }
            iter.next();
            supply(&mut iter);
        }
        costs.push(sizes);
    }
    assert_eq!(costs[0], costs[1], "bytes of each request: reading, pausing");
}
