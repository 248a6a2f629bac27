//! `limit(n)` of wide tables against the layout of their files: what is read lies in blocks that n rows need.
//!
//! A block is needed when, as far as the index and the row bounds tell, it can have entries from where the query begins
//! to its last row. The index tells it by separators: block i has keys behind `S_(i-1)`, or from its row bound on, up
//! to `S_i`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

use ferrock::options::{CacheOptions, CompressionType, TableBlockCache};
use ferrock::wide::{ColumnType, Query, Schema, Table};
use ferrock::{Db, DbOptions};
use ferrock_base::InternalComparator;
use ferrock_base::comparator::Comparator;
use ferrock_base::random::Random;
use ferrock_table::{BlockTable, TableReaderParams};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, ReadClass};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SECTOR: u64 = 512;

/// A read of a file.
type Read = (PathBuf, Range<u64>);

/// What some reads amount to.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    requests: usize,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, reads: &[Read]) {
        self.requests += reads.len();
        self.bytes += reads.iter().map(|(_, read)| read.end - read.start).sum::<u64>();
    }
}

/// How a table is filled.
#[derive(Clone, Copy, Debug)]
struct Shape {
    seed: u64,
    is_direct: bool,
    /// Rows of one length, or of any.
    is_even: bool,
    row_bounds: bool,
    /// Tables of level 0 that overlap what is below, each with some of the rows again and some deleted, alone or by
    /// ranges.
    overlapping: usize,
    /// Rows and deletions in the memtable.
    has_memtable: bool,
    cache_bytes: Option<usize>,
}

/// A data block as the index shows it.
#[derive(Clone, Debug)]
struct Block {
    /// The separator before it: its keys are larger.
    after: Option<Vec<u8>>,
    /// Its row bound: its keys are not smaller.
    from: Option<Vec<u8>>,
    separator: Vec<u8>,
    range: Range<u64>,
}

impl Block {
    /// True when it can have a key from `low` on up to `high`, or before `end`.
    fn reaches(&self, low: &[u8], high: Option<&[u8]>, end: &[u8]) -> bool {
        let begins_by = |key: &[u8], is_included: bool| {
            let by_bound = self.from.as_ref().is_none_or(|from| &from[..] < key || is_included && from == key);
            by_bound && self.after.as_ref().is_none_or(|after| &after[..] < key)
        };
        &self.separator[..] >= low && begins_by(end, false) && high.is_none_or(|high| begins_by(high, true))
    }
}

struct Rig {
    shape: Shape,
    file_system: MemoryFileSystem,
    db: Db,
    table: Table,
    rooms: u64,
    ticks: u64,
    files: Vec<(PathBuf, Vec<Block>)>,
}

fn schema() -> Schema {
    Schema::new().partition_by("room", ColumnType::U64).clustered_by("at", ColumnType::U64).column(
        1,
        "body",
        ColumnType::Bytes,
    )
}

/// The key of a row, or of what lies between two.
fn key(room: u64, at: u64) -> Vec<u8> {
    [room.to_be_bytes(), at.to_be_bytes()].concat()
}

impl Rig {
    fn new(shape: Shape) -> Self {
        let file_system = MemoryFileSystem::new();
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.settings.use_direct_reads = shape.is_direct;
        options.components.file_system = Some(Arc::new(file_system.clone()));
        options.components.block_cache = shape
            .cache_bytes
            .map(|capacity_bytes| TableBlockCache::new(CacheOptions { capacity_bytes, ..CacheOptions::default() }));
        let mut family = schema().column_family_options();
        family.table.no_block_cache = shape.cache_bytes.is_none();
        family.table.row_bounds = shape.row_bounds;
        family.target_file_size_base = 200 << 10;
        family.write_buffer_size = 1 << 30;
        family.compression = CompressionType::NoCompression;
        family.disable_auto_compactions = true;
        let (db, families) = Db::open_cf(Path::new("/db"), options, vec![("default".to_owned(), family)]).unwrap();
        let table = Table::open(&db, &families[0], schema()).unwrap();
        let mut rig = Self { shape, file_system, db, table, rooms: 8, ticks: 4000, files: Vec::new() };
        rig.fill();
        rig.files = rig.layout();
        let options = ferrock::ReadOptions { cache_data_blocks: false, ..ferrock::ReadOptions::default() };
        rig.table.with_read_options(options).scan().iter().unwrap().for_each(|row| drop(row.unwrap()));
        rig
    }

    fn insert(&self, random: &mut Random, room: u64, at: u64) {
        let length = if self.shape.is_even {
            80
        } else if random.one_in(20) {
            300 + random.below(900)
        } else {
            10 + random.below(80)
        };
        let body: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
        self.table.insert(room, at, &[(1, body.as_slice().into())]).unwrap();
    }

    fn fill(&self) {
        let mut random = Random::new(self.shape.seed);
        for room in 0..self.rooms {
            // Even ticks, some of them.
            for at in 0..self.ticks / 2 {
                if room % 3 == 0 || !random.one_in(3) {
                    self.insert(&mut random, room, 2 * at);
                }
            }
        }
        self.db.flush().unwrap();
        self.db.compact_range(None, None).unwrap();
        for number in 0..self.shape.overlapping + usize::from(self.shape.has_memtable) {
            self.overlay(&mut random);
            if number < self.shape.overlapping {
                self.db.flush().unwrap();
            }
        }
    }

    /// Rows among and over those that are there.
    fn overlay(&self, random: &mut Random) {
        for room in 0..self.rooms {
            for _ in 0..random.below(3) {
                let from = random.below(self.ticks);
                let length = 1 + random.below(400);
                self.table.delete_rows(room, from..from + length).unwrap();
            }
            let density = [0, 2, 30, 300][random.below(4) as usize];
            for at in 0..self.ticks {
                if density == 0 || !random.one_in(density) {
                    continue;
                }
                if random.one_in(4) {
                    self.table.delete_row(room, at).unwrap();
                } else {
                    self.insert(random, room, at);
                }
            }
        }
    }

    /// The data blocks of all tables.
    fn layout(&self) -> Vec<(PathBuf, Vec<Block>)> {
        let of_file = |number| {
            let path = PathBuf::from(format!("/db/{number:06}.sst"));
            let file = self.file_system.open_random_access(&path, &RandomAccessOptions::default()).unwrap();
            let file_system: Arc<dyn FileSystem> = Arc::new(self.file_system.clone());
            let order = InternalComparator::new(Comparator::Bytewise);
            let reader = BlockTable::open(TableReaderParams::new(file, file_system, order)).unwrap();
            let mut blocks: Vec<Block> = Vec::new();
            reader
                .contents()
                .visit_rows(&mut |block| {
                    blocks.push(Block {
                        after: blocks.last().map(|last| last.separator.clone()),
                        from: block.bound.map(|(bound, _)| bound.to_vec()),
                        separator: block.separator.to_vec(),
                        range: block.handle.offset..block.handle.end_with_trailer().unwrap(),
                    });
                    true
                })
                .unwrap();
            (path, blocks)
        };
        self.db.live_files().iter().map(|file| of_file(file.number.0)).collect()
    }

    /// Bytes of each file that rows need which are in the order from `low` to `high` (`None`: to the end of the
    /// bounds).
    fn needed(&self, low: &[u8], high: Option<&[u8]>, end: &[u8]) -> Vec<(PathBuf, Vec<Range<u64>>)> {
        let of_file = |(path, blocks): &(PathBuf, Vec<Block>)| {
            let mut runs: Vec<Range<u64>> = Vec::new();
            for block in blocks.iter().filter(|block| block.reaches(low, high, end)) {
                match runs.last_mut().filter(|run| run.end == block.range.start) {
                    Some(run) => run.end = block.range.end,
                    None => runs.push(block.range.clone()),
                }
            }
            (path.clone(), runs)
        };
        self.files.iter().map(of_file).collect()
    }

    /// Runs a query; the keys that it showed, and the reads that it made.
    fn run(&self, query: Query<'_>) -> (Vec<Vec<u8>>, Vec<Read>) {
        let (keys, reads, _) = self.run_page(query);
        (keys, reads)
    }

    /// The same, and where it goes on.
    fn run_page(&self, query: Query<'_>) -> (Vec<Vec<u8>>, Vec<Read>, Option<Vec<u8>>) {
        self.file_system.set_read_logging(true);
        let mut rows = query.iter().unwrap();
        let mut keys = Vec::new();
        while let Some(row) = rows.next_row().unwrap() {
            keys.push(row.raw_key().to_vec());
        }
        let mut log = self.file_system.take_read_log();
        // A partition of an index is read once: where all before was deleted, not before the first query that comes
        // there.
        log.retain(|read| read.class == ReadClass::Data);
        let reads = log.into_iter().map(|read| (read.path, read.offset..read.offset + read.length)).collect();
        (keys, reads, rows.page_token())
    }

    fn unit(&self) -> u64 {
        if self.shape.is_direct { SECTOR } else { 1 }
    }

    /// That reads lie in what is needed, in whole units, and bring nothing twice.
    fn check(&self, context: &str, needed: &[(PathBuf, Vec<Range<u64>>)], reads: &[Read]) {
        let unit = self.unit();
        for (number, (path, read)) in reads.iter().enumerate() {
            let runs = &needed.iter().find(|(of, _)| of == path).unwrap().1;
            let is_in =
                |run: &Range<u64>| run.start / unit * unit <= read.start && read.end <= run.end.next_multiple_of(unit);
            assert!(runs.iter().any(is_in), "{context}: {read:?} of {path:?} is not in {runs:?}; all: {reads:?}");
            let again = |other: &&Read| other.0 == *path && other.1.start < read.end && read.start < other.1.end;
            assert_eq!(reads[..number].iter().find(again), None, "{context}: {read:?} of {path:?} is read again");
        }
        let read_bytes: u64 = reads.iter().map(|(_, read)| read.end - read.start).sum();
        let runs = needed.iter().flat_map(|(_, runs)| runs);
        let needed_bytes: u64 = runs.map(|run| run.end.next_multiple_of(unit) - run.start / unit * unit).sum();
        assert!(read_bytes <= needed_bytes + SECTOR, "{context}: {read_bytes} bytes read, {needed_bytes} needed");
    }
}

/// Bounds within a room: from a tick on, or all; before a tick, or all.
fn sliced<'t>(table: &'t Table, room: u64, low: Option<u64>, high: Option<u64>) -> (Query<'t>, Vec<u8>, Vec<u8>) {
    let query = table.partition(room);
    let (from, to) = (low.unwrap_or(0), high.unwrap_or(u64::MAX));
    let query = match (low, high) {
        (None, None) => query,
        (Some(low), None) => query.rows(low..),
        (None, Some(high)) => query.rows(..high),
        (Some(low), Some(high)) => query.rows(low..high),
    };
    let begin = if low.is_some() { key(room, from) } else { room.to_be_bytes().to_vec() };
    let end = if high.is_some() { key(room, to) } else { (room + 1).to_be_bytes().to_vec() };
    (query, begin, end)
}

fn shapes() -> impl Iterator<Item = Shape> {
    let layouts = [(0, false), (0, true), (1, false), (2, false), (3, true)];
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("FERROCK_MODEL_SEED").unwrap_or(1);
    let seeds = first..first + number("FERROCK_MODEL_ROUNDS").unwrap_or(2);
    seeds.flat_map(move |seed| {
        layouts.into_iter().enumerate().map(move |(number, (overlapping, has_memtable))| {
            let bits = seed + number as u64;
            Shape {
                seed: seed * 100 + number as u64,
                is_direct: bits.is_multiple_of(2),
                is_even: bits % 4 < 2,
                row_bounds: bits % 5 != 4,
                overlapping,
                has_memtable,
                cache_bytes: None,
            }
        })
    })
}

#[test]
fn a_limit_reads_no_block_that_its_rows_do_not_need() {
    for shape in shapes() {
        let rig = Rig::new(shape);
        let mut random = Random::new(shape.seed + 1);
        let (mut limits_reached, mut exact, mut by_few) = (0, Sum::default(), Sum::default());
        for _ in 0..150 {
            let room = random.below(rig.rooms);
            let mut tick = || (!random.one_in(4)).then(|| random.below(rig.ticks));
            let (mut low, mut high) = (tick(), tick());
            if let (Some(low), Some(high)) = (&mut low, &mut high)
                && *low > *high
            {
                std::mem::swap(low, high);
            }
            let is_reverse = random.one_in(2);
            let most = [3, 12, 60, 400, 3000][random.below(5) as usize];
            let limit = 1 + random.below(most);
            let (query, begin, end) = sliced(&rig.table, room, low, high);
            let query = if is_reverse { query.reverse() } else { query };
            let (all, _) = rig.run(query.clone());
            let (rows, reads) = rig.run(query.clone().limit(limit).fewest_bytes());
            let wanted = &all[..all.len().min(limit as usize)];
            let context = format!("{shape:?}, room {room}, {low:?}..{high:?}, reverse {is_reverse}, limit {limit}");
            assert_eq!(rows, wanted, "{context}");
            let last = wanted.get(limit as usize - 1).map(|last| &last[..]);
            limits_reached += usize::from(last.is_some());
            let needed = if is_reverse {
                rig.needed(last.unwrap_or(&begin), None, &end)
            } else {
                rig.needed(&begin, last, &end)
            };
            rig.check(&context, &needed, &reads);
            // What a limit does unless it is asked for the fewest bytes: the same rows, in fewer requests.
            let (rows, few) = rig.run(query.limit(limit));
            assert_eq!(rows, wanted, "{context}");
            exact.add(&reads);
            by_few.add(&few);
        }
        println!("{shape:?}\n  exact {exact:?}, in few requests {by_few:?}");
        assert!(by_few.requests < exact.requests && exact.bytes < by_few.bytes, "{shape:?}: {exact:?}, {by_few:?}");
        assert!(limits_reached > 60, "{limits_reached}");
    }
}

#[test]
fn pages_read_each_block_once() {
    for shape in shapes() {
        let bare = Rig::new(Shape { is_direct: false, ..shape });
        let rig = Rig::new(Shape { is_direct: false, cache_bytes: Some(64 << 20), ..shape });
        let mut random = Random::new(shape.seed + 2);
        for room in 0..rig.rooms {
            let is_reverse = random.one_in(2);
            let sliced = |rig| {
                let (query, begin, end) = sliced(rig, room, Some(300), Some(3200));
                (if is_reverse { query.reverse() } else { query }, begin, end)
            };
            let (query, begin, end) = sliced(&rig.table);
            let most = [5, 60, 300][random.below(3) as usize];
            let (mut rows, mut reads, mut token) = (Vec::new(), Vec::new(), None::<Vec<u8>>);
            loop {
                let page = query.clone().limit(1 + random.below(most)).fewest_bytes();
                let page = if let Some(token) = &token { page.page(token) } else { page };
                let (of_page, reads_of_page, next) = rig.run_page(page);
                rows.extend(of_page);
                reads.extend(reads_of_page);
                token = next;
                if token.is_none() {
                    break;
                }
            }
            let context = format!("{shape:?}, room {room}, reverse {is_reverse}, pages of up to {most}");
            assert_eq!(rows, bare.run(sliced(&bare.table).0).0, "{context}");
            rig.check(&context, &rig.needed(&begin, None, &end), &reads);
        }
    }
}
