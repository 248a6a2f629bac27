//! What queries of wide tables ask of files, counted where files are read.
//!
//! `FERROCK_WIDE_ROWS=1000000` makes the large partition as large.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

use ferrock::options::{CacheOptions, TableBlockCache};
use ferrock::wide::{ColumnType, Query, Schema, Table, Timestamp};
use ferrock::{Db, DbOptions};
use ferrock_base::random::Random;
use ferrock_vfs::{FileSystem, MemoryFileSystem, ReadClass};
use std::path::Path;

/// A data block and its trailer.
const BLOCK: u64 = 1024 + 5;
/// Of the rows' clock.
const TICK: i64 = 1_000_000;

/// Partitions by a text, which has an end mark, or by numbers of fixed length.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Partitions {
    Text,
    Number,
}

impl Partitions {
    fn schema(self) -> Schema {
        let schema = match self {
            Self::Text => Schema::new().partition_by("room", ColumnType::Text),
            Self::Number => Schema::new().partition_by("room", ColumnType::U64),
        };
        schema.clustered_by_descending("at", ColumnType::Timestamp).column(1, "body", ColumnType::Bytes)
    }

    fn name(self, number: u64) -> ferrock::wide::Value {
        match self {
            Self::Text => format!("room {number}").into(),
            Self::Number => number.into(),
        }
    }
}

struct Rig {
    file_system: MemoryFileSystem,
    partitions: Partitions,
    table: Table,
    _db: Db,
}

/// Rows of the large partition.
fn large_rows() -> i64 {
    std::env::var("FERROCK_WIDE_ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(40_000)
}

/// The large partition.
const LARGE: u64 = 500;

/// A level of several tables: a partition of many rows among a thousand of few, even numbers all of them.
fn rig(partitions: Partitions, cache_bytes: Option<usize>) -> Rig {
    let file_system = MemoryFileSystem::new();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(std::sync::Arc::new(file_system.clone()));
    options.components.block_cache = cache_bytes
        .map(|capacity_bytes| TableBlockCache::new(CacheOptions { capacity_bytes, ..CacheOptions::default() }));
    let mut family = partitions.schema().column_family_options();
    family.table.no_block_cache = cache_bytes.is_none();
    // Four tables or so, however many rows there are.
    family.target_file_size_base = (large_rows() as u64 * 26).max(1 << 20);
    family.write_buffer_size = 1 << 30;
    family.compression = ferrock::options::CompressionType::NoCompression;
    let families = vec![("default".to_owned(), family)];
    let (db, families) = Db::open_cf(Path::new("/db"), options, families).unwrap();
    let table = Table::open(&db, &families[0], partitions.schema()).unwrap();
    let mut random = Random::new(7);
    let mut body = [0; 80];
    // A table over all of it, so that it is not the other one that moves down whole.
    for number in [0, 999] {
        table.insert(partitions.name(2 * number), Timestamp(0), &[(1, (&body).into())]).unwrap();
    }
    db.flush().unwrap();
    for number in 0..1000u64 {
        for row in 0..if number == LARGE { large_rows() } else { 3 } {
            body.fill_with(|| random.next_u64() as u8);
            let columns = [(1, (&body).into())];
            table.insert(partitions.name(2 * number), Timestamp(row * TICK), &columns).unwrap();
        }
    }
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    assert!(db.live_files().len() >= 4, "{} tables", db.live_files().len());
    let rig = Rig { file_system, partitions, table, _db: db };
    // Index and filters of every table into memory. A cache gets no data.
    let options = ferrock::ReadOptions { cache_data_blocks: false, ..ferrock::ReadOptions::default() };
    assert_eq!(rig.table.with_read_options(options).scan().iter().unwrap().count() as i64, large_rows() + 999 * 3);
    rig
}

impl Rig {
    /// Requests of all kinds and their bytes, and of data the same.
    fn asked<R>(&self, action: impl FnOnce() -> R) -> (R, u64, u64) {
        let before = self.file_system.counters().snapshot();
        let result = action();
        let after = self.file_system.counters().snapshot();
        let all = after.all_classes().since(before.all_classes());
        let data = after.class(ReadClass::Data).since(before.class(ReadClass::Data));
        assert_eq!(all.requests, data.requests, "only data is not in memory");
        (result, all.requests, all.device_bytes)
    }

    fn large(&self) -> Query<'_> {
        self.table.partition(self.partitions.name(2 * LARGE))
    }

    fn rows(&self, query: Query<'_>) -> (usize, u64, u64) {
        self.asked(|| query.iter().unwrap().collect::<Result<Vec<_>, _>>().unwrap().len())
    }
}

fn both(check: impl Fn(Partitions)) {
    check(Partitions::Text);
    check(Partitions::Number);
}

#[test]
fn a_row_of_a_large_partition_is_one_small_read() {
    both(|partitions| {
        let rig = rig(partitions, None);
        let mut random = Random::new(1);
        for _ in 0..200 {
            let at = Timestamp(random.below(large_rows() as u64) as i64 * TICK);
            let large = partitions.name(2 * LARGE);
            let (row, requests, bytes) = rig.asked(|| rig.table.get(&large, at).unwrap());
            assert!(row.is_some());
            assert!(requests == 1 && bytes <= 2048, "get: {requests} requests, {bytes} bytes");
            let (rows, requests, bytes) = rig.rows(rig.large().rows_of(at));
            assert_eq!(rows, 1);
            assert!(requests == 1 && bytes <= 2048, "slice of one row: {requests} requests, {bytes} bytes");
        }
    });
}

#[test]
fn an_absent_partition_is_no_read() {
    both(|partitions| {
        let rig = rig(partitions, None);
        // Each of the four ways, of a thousand partitions that lie between others.
        let mut reads = [0; 5];
        for number in 0..1000 {
            let absent = partitions.name(2 * number + 1);
            let at = Timestamp(5 * TICK);
            let query = || rig.table.partition(&absent);
            let (row, requests, _) = rig.asked(|| rig.table.get(&absent, at).unwrap());
            assert!(row.is_none());
            reads[0] += requests;
            let queries = [query(), query().rows(at..), query().reverse().limit(3), query().rows(..at).rows(at..)];
            for (query, reads) in queries.into_iter().zip(&mut reads[1..]) {
                let (rows, requests, _) = rig.rows(query);
                assert_eq!(rows, 0);
                *reads += requests;
            }
        }
        // Two tables are asked at most; a false positive each in a hundred.
        assert!(reads.iter().all(|&reads| reads <= 25), "{reads:?}");
    });
}

#[test]
fn a_limit_reads_what_its_rows_need() {
    both(|partitions| {
        let rig = rig(partitions, None);
        for from in [0, 1, 17_000, large_rows() - 3000] {
            for limit in [1, 2, 10, 11, 100, 1000, 2500] {
                for is_reverse in [false, true] {
                    // Descending: the newest row is the first.
                    let from = Timestamp((large_rows() - 1 - from) * TICK);
                    let last = Timestamp(from.0 - (limit - 1) * TICK);
                    let (exact, limited) = if is_reverse {
                        (rig.large().rows(from..=last).reverse(), rig.large().rows(..=last).reverse())
                    } else {
                        (rig.large().rows(from..=last), rig.large().rows(from..))
                    };
                    let (rows, _, needed) = rig.rows(exact);
                    assert_eq!(rows as i64, limit);
                    let (rows, requests, bytes) = rig.rows(limited.clone().limit(limit as u64).fewest_bytes());
                    assert_eq!(rows as i64, limit);
                    let context = format!("{partitions:?}, from {from:?}, limit {limit}, reverse {is_reverse}");
                    assert!(
                        bytes <= needed && requests <= 6,
                        "{context}: {requests} requests of {bytes} bytes; its blocks have {needed}"
                    );
                    let (rows, requests, bytes) = rig.rows(limited.limit(limit as u64));
                    assert_eq!(rows as i64, limit);
                    // Where in its block the first row lies is not known before it is read: hence one block more. The
                    // tables of the small partitions have fewer rows in a block, which is what a limit goes by.
                    let most = needed + BLOCK + if limit >= 1000 { needed / 8 } else { 0 };
                    assert!(
                        bytes <= most && requests <= 4,
                        "{context}, few requests: {requests} of {bytes} bytes; its blocks have {needed}"
                    );
                }
            }
        }
    });
}

#[test]
fn pages_go_on_where_the_last_one_ended() {
    both(|partitions| {
        for (is_reverse, few_requests) in [(false, false), (true, false), (false, true), (true, true)] {
            let rig = rig(partitions, Some(64 << 20));
            let query = || if is_reverse { rig.large().reverse() } else { rig.large() };
            let query = || if few_requests { query() } else { query().fewest_bytes() };
            let (mut token, mut rows, mut requests, mut bytes) = (None::<Vec<u8>>, 0, 0, 0);
            while rows < 5000 {
                let mut page = query().limit(50);
                if let Some(token) = &token {
                    page = page.page(token);
                }
                let ((count, next), page_requests, page_bytes) = rig.asked(|| {
                    let mut page = page.iter().unwrap();
                    let count = page.by_ref().collect::<Result<Vec<_>, _>>().unwrap().len();
                    (count, page.page_token())
                });
                assert_eq!(count, 50);
                (token, rows) = (next, rows + count);
                (requests, bytes) = (requests + page_requests, bytes + page_bytes);
            }
            // The same rows without pages, and nothing in memory.
            let bare = self::rig(partitions, None);
            let from = Timestamp((large_rows() - 5000) * TICK);
            let exact = if is_reverse {
                bare.large().rows(Timestamp(4999 * TICK)..).reverse()
            } else {
                bare.large().rows(..=from)
            };
            let (count, _, once) = bare.rows(exact);
            assert_eq!((count, rows), (5000, 5000));
            // No block twice: what a page read of the next one's rows is in the cache.
            let (most_requests, most_bytes) = if few_requests { (100 + 5, once + 2 * BLOCK) } else { (110, once) };
            assert!(requests <= most_requests, "{requests} requests");
            assert!(bytes <= most_bytes, "{bytes} bytes in pages, {once} at once");
        }
    });
}

#[test]
fn ranges_are_read_together() {
    both(|partitions| {
        let rig = rig(partitions, None);
        let mut query = rig.large();
        for part in 1..=16 {
            let from = Timestamp((large_rows() - part * (large_rows() / 20)) * TICK);
            query = query.rows(from..Timestamp(from.0 - 20 * TICK));
        }
        let asked = |query: Query<'_>| {
            let before = rig.file_system.counters().snapshot().batches;
            let (rows, requests, _) = rig.rows(query);
            (rows, requests, rig.file_system.counters().snapshot().batches - before)
        };
        let many = |asked| matches!(asked, (320, 16..=18, 1));
        for together in [query.clone(), query.clone().reverse(), query.clone().limit(400)] {
            let asked = asked(together);
            assert!(many(asked), "{asked:?}");
        }
        // Of which only the first two are needed.
        let (rows, requests, _) = asked(query.limit(40).fewest_bytes());
        assert!(rows == 40 && requests <= 6, "{rows} rows, {requests} requests");
    });
}
