//! Scans over real tables, with reads deferred and without: the same rows, and never more reads.

use super::super::model::{Entries, History, Write, fragmented, key_bytes, split_into_files};
use super::super::{
    ChildIterator, DbIterator, DbIteratorOptions, LevelIterator, LevelSource, MergingIterator, OpenedTable,
    RangeTombstoneSource, SourceIterator,
};
use crate::read::ReadView;
use ferrock_base::clock::Clock;
use ferrock_base::comparator::{Comparator, InternalComparator};
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::iterator::VecIterator;
use ferrock_base::merge::StringAppend;
use ferrock_base::range_tombstone::{FragmentedRangeTombstones, RangeTombstone};
use ferrock_base::{Result, SequenceNumber, ValueType};
use ferrock_cache::CacheOptions;
use ferrock_table::options::IndexShorteningMode::{NoShortening, ShortenSeparators};
use ferrock_table::options::{FlushBlockPolicy, IndexType, PartitionFromLevel};
use ferrock_table::{
    BlockBasedTableOptions, BlockTableBuilder, LimitReads, ScanBounds, Table, TableBlockCache, TableBuilderParams,
    TableIter, TableReadOptions, TableReaderParams,
};
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, RandomAccessOptions,
    ReadClass, Trigger, WritableOptions,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
struct File {
    smallest: Vec<u8>,
    largest: Vec<u8>,
    reader: Table,
}

/// Tables of a level, read without a cache.
#[derive(Clone, Debug)]
struct Level {
    files: Arc<Vec<File>>,
    bounds: Arc<ScanBounds>,
}

impl LevelSource for Level {
    type Iter = TableIter;
    fn file_count(&self) -> usize {
        self.files.len()
    }
    fn smallest(&self, index: usize) -> &[u8] {
        &self.files[index].smallest
    }
    fn largest(&self, index: usize) -> &[u8] {
        &self.files[index].largest
    }
    fn open(&self, index: usize) -> Result<OpenedTable<TableIter>> {
        let reader = &self.files[index].reader;
        let tombstones = reader.range_tombstones().cloned();
        let options = TableReadOptions::default();
        Ok(OpenedTable { iter: reader.iter_within(options, Arc::clone(&self.bounds)), tombstones })
    }
    fn set_bounds(&mut self, bounds: &Arc<ScanBounds>) {
        self.bounds = Arc::clone(bounds);
    }
}

type Scan = DbIterator<ChildIterator<VecIterator, Level>, ()>;

/// Blocks of a few rows, in one index block.
const WHOLE_INDEX: Form = Form { row_bounds: true, partitioned: false, block_size: 100, is_starved: false };

/// How tables are written.
#[derive(Clone, Copy, Debug)]
struct Form {
    row_bounds: bool,
    partitioned: bool,
    block_size: u64,
    /// Index partitions are in a block cache that holds nothing, one for each block, and each block for each key;
    /// separators are the keys themselves, so that a scan that goes back comes to the block behind its target first.
    is_starved: bool,
}

impl Form {
    fn options(self) -> Arc<BlockBasedTableOptions> {
        Arc::new(BlockBasedTableOptions {
            row_bounds: self.row_bounds,
            index_type: if self.partitioned { IndexType::TwoLevelIndexSearch } else { IndexType::BinarySearch },
            partition_from_level: PartitionFromLevel::Level(0),
            metadata_block_size: if self.is_starved { 1 } else { 64 },
            block_size: self.block_size,
            cache_index_and_filter_blocks: self.is_starved,
            index_shortening: if self.is_starved { NoShortening } else { ShortenSeparators },
            flush_block_policy_factory: if self.is_starved {
                FlushBlockPolicy::EveryKey
            } else {
                FlushBlockPolicy::BySize
            },
            ..BlockBasedTableOptions::default()
        })
    }
}

/// Sources, newest first: a memtable, then levels.
struct Tables {
    file_system: FaultInjectionFileSystem,
    form: Form,
    memtable: Option<(Arc<Entries>, Arc<FragmentedRangeTombstones>)>,
    levels: Vec<Arc<Vec<File>>>,
}

impl Tables {
    fn new(form: Form) -> Self {
        let file_system = FaultInjectionFileSystem::with_clock(Arc::new(MemoryFileSystem::new()), Arc::new(OutOfReads));
        Self { file_system, form, memtable: None, levels: Vec::new() }
    }

    /// Adds a level below the others, in files of `per_file` entries.
    fn add_level(&mut self, (entries, tombstones): &(Entries, Vec<RangeTombstone>), per_file: usize) {
        let mut files = Vec::new();
        for file in split_into_files(entries, tombstones, per_file) {
            let path = format!("/{:03}-{:03}.sst", self.levels.len(), files.len());
            let reader = self.write(Path::new(&path), &file.entries, &file.tombstones);
            files.push(File { smallest: file.smallest, largest: file.largest, reader });
        }
        self.levels.push(Arc::new(files));
    }

    fn write(&self, path: &Path, entries: &Entries, tombstones: &FragmentedRangeTombstones) -> Table {
        let order = InternalComparator::default();
        let mut params = TableBuilderParams::new(order.clone());
        params.options = self.form.options();
        let file = self.file_system.create_writable(path, &WritableOptions::default()).unwrap();
        let mut builder = BlockTableBuilder::new(params, file).unwrap();
        for (key, value) in entries {
            builder.add(key, value).unwrap();
        }
        for fragment in tombstones.iter() {
            for &sequence in fragment.sequences {
                let start = make_internal_key(fragment.start, sequence, ValueType::RangeDeletion);
                builder.add_range_tombstone(&start, fragment.end).unwrap();
            }
        }
        builder.finish().unwrap();
        let file = self.file_system.open_random_access(path, &RandomAccessOptions::default()).unwrap();
        let mut params = TableReaderParams::new(file, Arc::new(self.file_system.clone()), order);
        params.options = self.form.options();
        if self.form.is_starved {
            let nothing = CacheOptions { capacity_bytes: 0, ..CacheOptions::default() };
            params.cache = Some(TableBlockCache::new(nothing));
        }
        Table::open(params).unwrap()
    }

    fn scan(&self, is_deferring: bool, options: DbIteratorOptions) -> Scan {
        let order = InternalComparator::default();
        let bounds = Arc::new(bounds_of(&options));
        let mut children = Vec::new();
        if let Some((entries, tombstones)) = &self.memtable {
            let iter = VecIterator::new(order.clone(), Arc::clone(entries));
            let tombstones = Some(RangeTombstoneSource::new(Arc::clone(tombstones)));
            children.push(ChildIterator::MemTable(SourceIterator::new(iter, order.clone(), tombstones)));
        }
        for files in &self.levels {
            let source = Level { files: Arc::clone(files), bounds: Arc::clone(&bounds) };
            children.push(ChildIterator::Level(LevelIterator::new(source, order.clone(), Arc::clone(&bounds))));
        }
        let merging = MergingIterator::new(order, children);
        DbIterator::new(if is_deferring { merging.deferring_reads() } else { merging }, options, ())
    }

    /// From now on a read beyond so many panics. A read that only failed could be planned again without end, as one
    /// that succeeds.
    fn bound_reads(&self, most: u64) {
        let beyond = FaultRule::new(OperationKind::Read, "*", Fault::Delay(Duration::ZERO));
        self.file_system.add_rule(beyond.when(Trigger::From(most + 1)));
    }

    /// Requests for data and for index partitions, and batches, so far.
    fn reads(&self) -> (u64, u64) {
        let counters = self.file_system.counters().snapshot();
        (counters.class(ReadClass::Data).requests, counters.class(ReadClass::Index).requests)
    }
}

fn bounds_of(options: &DbIteratorOptions) -> ScanBounds {
    ScanBounds::new(options.lower_bound.clone(), options.upper_bound.clone())
        .with_limit_hint(options.limit_hint)
        .with_limit_reads(options.limit_reads)
}

fn options(snapshot: u64) -> DbIteratorOptions {
    DbIteratorOptions {
        merge_operator: Some(Arc::new(StringAppend::default())),
        ..DbIteratorOptions::new(Comparator::Bytewise, ReadView::UpTo(SequenceNumber(snapshot)))
    }
}

/// One table or level: keys from `start`, and how it is cut into files.
#[derive(Clone, Debug)]
struct Piece {
    start: u8,
    width: u8,
    writes: Vec<(u8, u8, u8)>,
    per_file: usize,
}

impl Piece {
    fn writes(&self) -> impl Iterator<Item = Write> + '_ {
        let key = |at: u8| self.start.saturating_add(at % self.width.max(1));
        self.writes.iter().map(move |(kind, a, b)| match kind {
            0..=9 => Write::Put(key(*a)),
            10 => Write::Delete(key(*a)),
            11 => Write::Merge(key(*a)),
            _ => Write::DeleteRange(key(*a).min(key(*b)), key(*a).max(key(*b))),
        })
    }
}

/// Pieces of keys that are each written once, and none by range: no scan of them seeks for itself. (Where one does,
/// what it read in vain before may count as reading in sequence, and make what it reads next larger.)
fn plain_piece() -> impl Strategy<Value = Piece> {
    piece().prop_map(|mut piece| {
        let width = piece.width;
        piece.writes.iter_mut().for_each(|write| *write = (write.0.min(11), write.1 % width, 0));
        piece.writes.sort_by_key(|write| write.1);
        piece.writes.dedup_by_key(|write| write.1);
        piece
    })
}

/// The same data for two readers, and what it is.
struct Case {
    history: History,
    deferring: Tables,
    plain: Tables,
}

impl Case {
    /// `pieces` from the oldest to the newest; the newest stays in memory if `has_memtable`.
    fn new(form: Form, pieces: &[Piece], has_memtable: bool) -> Self {
        let history = History(pieces.iter().flat_map(Piece::writes).collect());
        let mut ends: Vec<usize> = vec![0];
        pieces.iter().for_each(|piece| ends.push(ends.last().unwrap() + piece.writes.len()));
        let build = || {
            let mut tables = Tables::new(form);
            for (number, piece) in pieces.iter().enumerate().rev() {
                let source = history.source(ends[number], ends[number + 1]);
                if has_memtable && number + 1 == pieces.len() {
                    tables.memtable = Some((Arc::new(source.0), fragmented(source.1)));
                } else {
                    tables.add_level(&source, piece.per_file);
                }
            }
            tables
        };
        let (deferring, plain) = (build(), build());
        Self { history, deferring, plain }
    }
}

fn piece() -> impl Strategy<Value = Piece> {
    piece_of(40)
}

fn piece_of(most: usize) -> impl Strategy<Value = Piece> {
    let writes = prop::collection::vec((0u8..14, any::<u8>(), any::<u8>()), 1..most);
    (0u8..200, 1u8..80, writes, prop_oneof![Just(3usize), Just(12), Just(1000)])
        .prop_map(|(start, width, writes, per_file)| Piece { start, width, writes, per_file })
}

#[derive(Clone, Debug)]
enum Move {
    First,
    Last,
    Seek(u8),
    SeekForPrev(u8),
    Next(u8),
    Prev(u8),
    FastForward(Option<u8>, Option<u8>),
}

fn moves() -> impl Strategy<Value = Move> {
    let bound = || prop::option::of(any::<u8>());
    prop_oneof![
        1 => Just(Move::First),
        1 => Just(Move::Last),
        3 => any::<u8>().prop_map(Move::Seek),
        3 => any::<u8>().prop_map(Move::SeekForPrev),
        4 => (1u8..12).prop_map(Move::Next),
        4 => (1u8..12).prop_map(Move::Prev),
        1 => (bound(), bound()).prop_map(|(lower, upper)| Move::FastForward(lower, upper)),
    ]
}

/// The rows within bounds, and a place among them.
struct Naive {
    state: BTreeMap<Vec<u8>, Vec<u8>>,
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
    at: Option<Vec<u8>>,
}

impl Naive {
    fn go(&mut self, found: Option<Vec<u8>>) {
        let is_within = |key: &Vec<u8>| {
            self.lower.as_ref().is_none_or(|lower| key >= lower) && self.upper.as_ref().is_none_or(|upper| key < upper)
        };
        self.at = found.filter(is_within);
    }

    fn from(&self, bound: Bound<Vec<u8>>) -> Option<Vec<u8>> {
        self.state.range((bound, Bound::Unbounded)).next().map(|(key, _)| key.clone())
    }

    fn to(&self, bound: Bound<Vec<u8>>) -> Option<Vec<u8>> {
        self.state.range((Bound::Unbounded, bound)).next_back().map(|(key, _)| key.clone())
    }

    fn first(&mut self) {
        let found = self.from(self.lower.clone().map_or(Bound::Unbounded, Bound::Included));
        self.go(found);
    }

    fn last(&mut self) {
        let found = self.to(self.upper.clone().map_or(Bound::Unbounded, Bound::Excluded));
        self.go(found);
    }

    fn seek(&mut self, key: Vec<u8>) {
        let key = self.lower.clone().map_or(key.clone(), |lower| lower.max(key));
        let found = self.from(Bound::Included(key));
        self.go(found);
    }

    fn seek_for_prev(&mut self, key: Vec<u8>) {
        let found = match &self.upper {
            Some(upper) if key >= *upper => self.to(Bound::Excluded(upper.clone())),
            _ => self.to(Bound::Included(key)),
        };
        self.go(found);
    }

    fn step(&mut self, is_forward: bool) {
        if let Some(at) = self.at.take() {
            let found = if is_forward { self.from(Bound::Excluded(at)) } else { self.to(Bound::Excluded(at)) };
            self.go(found);
        }
    }
}

fn apply(scan: &mut Scan, step: &Move, (limit_hint, limit_reads): (u64, LimitReads)) {
    match step {
        Move::First => scan.seek_to_first(),
        Move::Last => scan.seek_to_last(),
        Move::Seek(key) => scan.seek(&key_bytes(*key)),
        Move::SeekForPrev(key) => scan.seek_for_prev(&key_bytes(*key)),
        Move::Next(count) => (0..*count).for_each(|_| scan.next()),
        Move::Prev(count) => (0..*count).for_each(|_| scan.prev()),
        Move::FastForward(lower, upper) => {
            let (lower, upper) = (lower.map(key_bytes), upper.map(key_bytes));
            let bounds = ScanBounds::new(lower.clone(), upper.clone()).with_limit_hint(limit_hint);
            let bounds = bounds.with_limit_reads(limit_reads);
            scan.fast_forward(lower.as_deref(), upper.as_deref(), &Arc::new(bounds));
        }
    }
}

fn apply_naive(naive: &mut Naive, step: &Move) {
    match step {
        Move::First => naive.first(),
        Move::Last => naive.last(),
        Move::Seek(key) => naive.seek(key_bytes(*key)),
        Move::SeekForPrev(key) => naive.seek_for_prev(key_bytes(*key)),
        Move::Next(count) => (0..*count).for_each(|_| naive.step(true)),
        Move::Prev(count) => (0..*count).for_each(|_| naive.step(false)),
        Move::FastForward(lower, upper) => {
            (naive.lower, naive.upper) = (lower.map(key_bytes), upper.map(key_bytes));
            naive.first();
        }
    }
}

fn settings(bounds: (Option<u8>, Option<u8>), limit_hint: u64, snapshot: u64) -> DbIteratorOptions {
    DbIteratorOptions {
        lower_bound: bounds.0.map(key_bytes),
        upper_bound: bounds.1.map(key_bytes),
        limit_hint,
        ..options(snapshot)
    }
}

fn forms() -> impl Strategy<Value = Form> {
    (any::<bool>(), any::<bool>(), prop_oneof![Just(30u64), Just(100), Just(1000)]).prop_map(
        |(row_bounds, partitioned, block_size)| Form { row_bounds, partitioned, block_size, is_starved: false },
    )
}

/// The same, over caches that keep all or nothing.
fn fed_and_starved_forms() -> impl Strategy<Value = Form> {
    (forms(), any::<bool>()).prop_map(|(form, is_starved)| Form { is_starved, ..form })
}

/// More reads than the scans of a case can have a use for.
const MOST_READS: u64 = 20_000;

/// The clock of reads that are too many, which are to be delayed.
#[derive(Debug)]
struct OutOfReads;

impl Clock for OutOfReads {
    fn monotonic_us(&self) -> u64 {
        0
    }
    fn unix_us(&self) -> u64 {
        0
    }
    fn sleep(&self, _: Duration) {
        panic!("too many reads: a scan does not end");
    }
}

fn snapshots() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(u64::MAX >> 8), 1 => 0u64..200]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(700))]
    #[test]
    fn deferred_reads_show_the_same(
        pieces in prop::collection::vec(prop_oneof![piece_of(40), piece_of(150)], 1..7),
        has_memtable in any::<bool>(),
        form in fed_and_starved_forms(),
        bounds in (prop::option::of(any::<u8>()), prop::option::of(any::<u8>())),
        limit_hint in prop_oneof![Just(0u64), Just(1), 2u64..20, Just(1000)],
        limit_reads in prop_oneof![Just(LimitReads::FewestRequests), Just(LimitReads::FewestBytes)],
        snapshot in snapshots(),
        moves in prop::collection::vec(moves(), 1..14),
    ) {
        let case = Case::new(form, &pieces, has_memtable);
        case.deferring.bound_reads(MOST_READS);
        let settings = DbIteratorOptions { limit_reads, ..settings(bounds, limit_hint, snapshot) };
        let mut scan = case.deferring.scan(true, settings.clone());
        let state = case.history.state_at(snapshot);
        let mut naive = Naive { state, lower: settings.lower_bound, upper: settings.upper_bound, at: None };
        for step in &moves {
            apply(&mut scan, step, (limit_hint, limit_reads));
            apply_naive(&mut naive, step);
            scan.status().unwrap();
            prop_assert_eq!(scan.valid().then(|| scan.key().to_vec()), naive.at.clone(), "{:?}", step);
            if let Some(at) = &naive.at {
                prop_assert_eq!(scan.value(), &naive.state[at][..]);
            }
        }
    }

    #[test]
    fn a_scan_makes_no_more_reads_wherever_it_stops(
        pieces in prop::collection::vec(plain_piece(), 1..7),
        has_memtable in any::<bool>(),
        form in forms(),
        bounds in (prop::option::of(any::<u8>()), prop::option::of(any::<u8>())),
        limit_hint in prop_oneof![Just(0u64), Just(1), 2u64..20],
        snapshot in snapshots(),
        place in prop_oneof![Just(Move::First), Just(Move::Last), any::<u8>().prop_map(Move::Seek), any::<u8>().prop_map(Move::SeekForPrev)],
    ) {
        let case = Case::new(form, &pieces, has_memtable);
        let settings = settings(bounds, limit_hint, snapshot);
        let limit = (limit_hint, settings.limit_reads);
        let (before, before_plain) = (case.deferring.reads(), case.plain.reads());
        let mut scan = case.deferring.scan(true, settings.clone());
        let mut plain = case.plain.scan(false, settings);
        let step = if matches!(place, Move::First | Move::Seek(_)) { Move::Next(1) } else { Move::Prev(1) };
        apply(&mut scan, &place, limit);
        apply(&mut plain, &place, limit);
        loop {
            prop_assert_eq!((plain.key(), plain.value()), (scan.key(), scan.value()));
            let (now, now_plain) = (case.deferring.reads(), case.plain.reads());
            prop_assert!(now.0 - before.0 <= now_plain.0 - before_plain.0, "{:?} {:?}", now, now_plain);
            prop_assert!(now.1 - before.1 <= now_plain.1 - before_plain.1, "{:?} {:?}", now, now_plain);
            if !scan.valid() {
                break;
            }
            apply(&mut scan, &step, limit);
            apply(&mut plain, &step, limit);
        }
    }
}

/// Tables of the keys given, newest first, read with deferring and without.
fn tables(form: Form, keys: &[&[u8]]) -> Case {
    let piece = |keys: &&[u8]| Piece {
        start: 0,
        width: 255,
        writes: keys.iter().map(|key| (0, *key, 0)).collect(),
        per_file: 1000,
    };
    Case::new(form, &keys.iter().rev().map(piece).collect::<Vec<_>>(), false)
}

fn keys(from: u8, to: u8) -> Vec<u8> {
    (from..to).collect()
}

/// The rows of a scan of `rows` rows, and the data requests, requests for index partitions and batches that it makes.
fn reads_of(
    tables: &Tables,
    is_deferring: bool,
    settings: DbIteratorOptions,
    place: &Move,
    rows: usize,
) -> (usize, u64, u64, u64) {
    let (before, batches) = (tables.reads(), tables.file_system.counters().snapshot().batches);
    let limit = (settings.limit_hint, settings.limit_reads);
    let mut scan = tables.scan(is_deferring, settings);
    let step = if matches!(place, Move::First | Move::Seek(_)) { Move::Next(1) } else { Move::Prev(1) };
    apply(&mut scan, place, limit);
    let mut shown = 0;
    while scan.valid() && shown < rows {
        shown += 1;
        if shown < rows {
            apply(&mut scan, &step, limit);
        }
    }
    scan.status().unwrap();
    let (after, batches_after) = (tables.reads(), tables.file_system.counters().snapshot().batches);
    (shown, after.0 - before.0, after.1 - before.1, batches_after - batches)
}

fn all() -> DbIteratorOptions {
    options(u64::MAX >> 8)
}

fn limited(rows: u64) -> DbIteratorOptions {
    DbIteratorOptions { limit_hint: rows, ..all() }
}

#[test]
fn a_table_behind_the_others_is_read_when_the_scan_comes_to_it() {
    let case = tables(WHOLE_INDEX, &[&keys(0, 60), &keys(100, 160), &keys(200, 250)]);
    let reads = |is_deferring, settings, place: &Move, rows| {
        let tables = if is_deferring { &case.deferring } else { &case.plain };
        let (shown, data, ..) = reads_of(tables, is_deferring, settings, place, rows);
        assert_eq!(shown, rows);
        data
    };
    // Going back, a row is complete only with the entry before it: the step to the next table is one row earlier.
    let places = [(Move::First, 61), (Move::Seek(0), 61), (Move::Last, 50), (Move::SeekForPrev(255), 50)];
    for (place, next) in places {
        assert_eq!((reads(true, all(), &place, 1), reads(false, all(), &place, 1)), (1, 3), "{place:?}");
        assert_eq!((reads(true, limited(30), &place, 30), reads(false, limited(30), &place, 30)), (1, 3), "{place:?}");
        // With its first row the next table costs one read; a whole scan costs what it did.
        let of_one = reads(true, all(), &place, next - 1);
        assert_eq!(reads(true, all(), &place, next), of_one + 1, "{place:?}");
        assert_eq!(reads(true, all(), &place, 170), reads(false, all(), &place, 170), "{place:?}");
    }
}

#[test]
fn what_the_bounds_take_in_is_read_at_once() {
    let case = tables(WHOLE_INDEX, &[&keys(0, 60), &keys(100, 160), &keys(200, 250)]);
    let bounded = settings((Some(10), Some(230)), 0, u64::MAX >> 8);
    for place in [Move::First, Move::Last] {
        let (deferring, plain) = (&case.deferring, &case.plain);
        let expected = (140, 3, 0, 1);
        assert_eq!(reads_of(deferring, true, bounded.clone(), &place, 140), expected, "{place:?}");
        assert_eq!(reads_of(plain, false, bounded.clone(), &place, 140), expected, "{place:?}");
    }
}

#[test]
fn row_bounds_tell_of_a_gap_in_a_table() {
    // The second table has rows on both sides of the first's.
    let around: Vec<u8> = (0..20).chain(200..220).collect();
    for (row_bounds, expected) in [(true, 1), (false, 2)] {
        let case = tables(Form { row_bounds, ..WHOLE_INDEX }, &[&keys(60, 120), &around]);
        for (settings, rows) in [(all(), 1), (limited(5), 5)] {
            let (shown, data, ..) = reads_of(&case.deferring, true, settings, &Move::Seek(60), rows);
            assert_eq!((shown, data), (rows, expected));
        }
    }
    // Back, the separator tells, which is nearer to the row before it with row bounds.
    let case = tables(WHOLE_INDEX, &[&keys(60, 120), &around]);
    assert_eq!(reads_of(&case.deferring, true, limited(5), &Move::SeekForPrev(110), 5), (5, 1, 0, 0));
    assert_eq!(reads_of(&case.plain, false, limited(5), &Move::SeekForPrev(110), 5), (5, 2, 0, 1));
}

#[test]
fn a_row_in_memory_comes_before_any_read() {
    let mut case = tables(WHOLE_INDEX, &[&keys(100, 160), &keys(100, 160)]);
    let row = |key: u8| vec![(make_internal_key(&key_bytes(key), SequenceNumber(9999), ValueType::Value), vec![key])];
    case.deferring.memtable = Some((Arc::new(row(7)), fragmented(Vec::new())));
    for place in [Move::First, Move::Seek(3)] {
        assert_eq!(reads_of(&case.deferring, true, all(), &place, 1), (1, 0, 0, 0), "{place:?}");
        // Then both tables are read, in one batch.
        assert_eq!(reads_of(&case.deferring, true, all(), &place, 2), (2, 2, 0, 1), "{place:?}");
    }
}

#[test]
fn tables_that_lie_over_one_another_take_no_more_rounds() {
    let evens: Vec<u8> = (0..125).map(|key| 2 * key).collect();
    let odds: Vec<u8> = (0..125).map(|key| 2 * key + 1).collect();
    for partitioned in [false, true] {
        let form = Form { partitioned, ..WHOLE_INDEX };
        // Index partitions stay in memory once they are read.
        let (cold, warm) = (if partitioned { (1, 2, 2) } else { (1, 2, 1) }, (1, 2, 1));
        for settings in [all(), limited(3)] {
            let case = tables(form, &[&evens, &odds]);
            for (batches, expected) in [("cold", cold), ("warm", warm)] {
                for (tables, is_deferring) in [(&case.deferring, true), (&case.plain, false)] {
                    let (shown, data, _, rounds) =
                        reads_of(tables, is_deferring, settings.clone(), &Move::Seek(101), 1);
                    assert_eq!((shown, data, rounds), (expected.0, expected.1, expected.2), "{batches} {is_deferring}");
                }
            }
        }
    }
}

#[test]
fn data_waits_for_the_indexes_of_others() {
    let form = Form { partitioned: true, ..WHOLE_INDEX };
    let case = tables(form, &[&keys(0, 60), &keys(100, 160)]);
    // The index of the second table comes into memory, that of the first does not.
    let warm = settings((Some(100), None), 0, u64::MAX >> 8);
    assert_eq!(reads_of(&case.deferring, true, warm, &Move::First, 1).0, 1);
    // One index partition, then one block: nothing of the second table.
    let (shown, data, index, _) = reads_of(&case.deferring, true, limited(2), &Move::First, 2);
    assert_eq!((shown, data, index), (2, 1, 1));
    // With both in memory no more than the block.
    assert_eq!(reads_of(&case.deferring, true, limited(2), &Move::First, 2), (2, 1, 0, 0));
}

#[test]
fn a_deferred_read_that_fails_ends_the_scan_with_its_error() {
    let case = tables(WHOLE_INDEX, &[&keys(0, 60), &keys(100, 160)]);
    let rule = FaultRule::new(OperationKind::Read, "*001-000.sst", Fault::Io).when(Trigger::From(1));
    let id = case.deferring.file_system.add_rule(rule);
    let mut scan = case.deferring.scan(true, all());
    scan.seek_to_first();
    for key in 0..60 {
        scan.status().unwrap();
        assert_eq!(scan.key(), key_bytes(key));
        scan.next();
    }
    assert!(!scan.valid());
    let error = scan.status().unwrap_err().to_string();
    assert!(error.contains("001-000.sst"), "{error}");
    // And the other way round it stands in the way at once.
    scan.seek_to_last();
    assert!(!scan.valid() && scan.status().is_err());
    case.deferring.file_system.remove_rule(id);
    scan.seek_to_last();
    assert_eq!(scan.key(), key_bytes(159));
    scan.status().unwrap();
}

/// A place at the border of two index partitions needs both, and the cache keeps neither. The scan comes there by a
/// leap over a deleted range, while another table waits with its next step.
#[test]
fn a_limited_scan_ends_where_no_index_partition_stays() {
    let puts = |keys: &[u8]| keys.iter().map(|key| (0, *key, 0)).collect();
    let piece = |writes: Vec<(u8, u8, u8)>| Piece { start: 0, width: 255, writes, per_file: 1000 };
    let (below, above) = (keys(50, 100), keys(131, 140));
    let covered = piece(puts(&keys(50, 130)));
    let beside = piece(puts(&[&[40, 41, 42][..], &above].concat()));
    for (row_bounds, has_memtable) in [(false, true), (true, true), (false, false), (true, false)] {
        let form = Form { row_bounds, partitioned: true, block_size: 30, is_starved: true };
        let pieces = [covered.clone(), beside.clone(), piece(vec![(12, 100, 130)])];
        let case = Case::new(form, &pieces, has_memtable);
        case.deferring.bound_reads(MOST_READS);
        let mut expected: Vec<Vec<u8>> =
            [&[40, 41, 42][..], &below, &above].concat().into_iter().map(key_bytes).collect();
        for is_backward in [false, true] {
            let limit_reads = LimitReads::FewestBytes;
            let settings = DbIteratorOptions { limit_reads, ..settings((None, None), 1000, u64::MAX >> 8) };
            let before = case.deferring.reads();
            let mut scan = case.deferring.scan(true, settings);
            if is_backward {
                scan.seek_to_last();
                expected.reverse();
            } else {
                scan.seek_to_first();
            }
            let mut found = Vec::new();
            while scan.valid() {
                found.push(scan.key().to_vec());
                if is_backward { scan.prev() } else { scan.next() }
            }
            scan.status().unwrap();
            assert_eq!(found, expected);
            let now = case.deferring.reads();
            // Each row is a block and a partition; a place at a border takes a few of each more.
            let most = 2 * (expected.len() as u64 + 30) + 20;
            assert!(now.0 - before.0 + now.1 - before.1 <= most, "{now:?} after {before:?}");
        }
    }
}
