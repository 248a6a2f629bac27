//! The lock-free parts under a model checker: `RUSTFLAGS="--cfg shuttle" cargo test -p ferrock-memtable --release
//! --lib`.

use crate::arena::Arena;
use crate::skiplist::{Checks, Nodes, Position, SkipList};
use crate::{MemTable, MemTableKind, MemTableOptions};
use ferrock_base::comparator::InternalComparator;
use ferrock_base::internal_key::{make_internal_key, pack_trailer, user_key};
use ferrock_base::iterator::InternalIterator;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{LookupKey, SequenceNumber, ValueType};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::thread;
use std::sync::Arc;

const ITERATIONS: usize = 10_000;

/// Random schedules, then schedules with few, well-placed preemptions.
fn check(model: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(model.clone(), ITERATIONS);
    shuttle::check_pct(model, ITERATIONS, 3);
}

/// A list with its nodes.
struct WholeList {
    nodes: Nodes,
    list: SkipList,
}

impl WholeList {
    fn new() -> Self {
        let nodes = Nodes::new(InternalComparator::default(), Arena::new(4096, 0, false), Checks::default());
        Self { list: SkipList::new(&nodes, None), nodes }
    }
    fn insert(&self, key: &[u8], trailer: u64, value: &[u8]) -> bool {
        self.list.insert(&self.nodes, key, trailer, value)
    }
    fn insert_concurrent(&self, key: &[u8], trailer: u64, value: &[u8]) -> bool {
        self.list.insert_concurrent(&self.nodes, key, trailer, value)
    }
    fn entry(&self, position: Position) -> Option<(&[u8], &[u8])> {
        self.nodes.entry(position)
    }
    fn key(&self, position: Position) -> Option<&[u8]> {
        self.nodes.key(position)
    }
    fn seek(&self, target: &[u8]) -> Position {
        self.nodes.seek(self.list.list(&self.nodes), target)
    }
    fn first(&self) -> Position {
        self.nodes.first(self.list.list(&self.nodes))
    }
    fn last(&self) -> Position {
        self.nodes.last(self.list.list(&self.nodes))
    }
    fn next(&self, position: Position) -> Position {
        self.nodes.next(position)
    }
    fn prev(&self, position: Position) -> Position {
        let key = self.nodes.key(position).unwrap_or_default();
        self.nodes.last_before(self.list.list(&self.nodes), key)
    }
    fn check_towers(&self) {
        self.list.check_towers(&self.nodes);
    }
}

fn keys_in_order(list: &WholeList) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut position = list.first();
    while let Some(key) = list.key(position) {
        keys.push(user_key(key).to_vec());
        position = list.next(position);
    }
    keys
}

fn insert_while_reading(hinted: fn(usize) -> bool) {
    let list = Arc::new(WholeList::new());
    let trailer = pack_trailer(SequenceNumber(1), ValueType::Value);
    let writers: Vec<_> = (0..2usize)
        .map(|writer| {
            let list = list.clone();
            thread::spawn(move || {
                for index in 0..4u8 {
                    let key = [index * 2 + writer as u8];
                    let inserted = if hinted(writer) {
                        list.insert(&key, trailer, &key)
                    } else {
                        list.insert_concurrent(&key, trailer, &key)
                    };
                    assert!(inserted);
                    // An inserted key is found at once.
                    let target = make_internal_key(&key, SequenceNumber(1), ValueType::Value);
                    assert_eq!(list.entry(list.seek(&target)), Some((&target[..], &key[..])));
                }
            })
        })
        .collect();
    let reader = {
        let list = list.clone();
        thread::spawn(move || {
            let before = keys_in_order(&list);
            let after = keys_in_order(&list);
            assert!(before.is_sorted() && after.is_sorted());
            assert!(before.iter().all(|key| after.contains(key)), "a key was lost");
            let mut position = list.last();
            let mut last: Option<Vec<u8>> = None;
            while let Some(key) = list.key(position) {
                assert!(last.is_none_or(|last| user_key(key) < &last[..]));
                last = Some(user_key(key).to_vec());
                position = list.prev(position);
            }
        })
    };
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    reader.join().unwrap();
    assert_eq!(keys_in_order(&list), (0..8u8).map(|key| vec![key]).collect::<Vec<_>>());
    list.check_towers();
}

#[test]
fn concurrent_inserts_lose_nothing() {
    check(|| insert_while_reading(|_| false));
}

#[test]
fn hinted_inserts_mix_with_concurrent_ones() {
    check(|| insert_while_reading(|writer| writer == 0));
    check(|| insert_while_reading(|_| true));
}

#[test]
fn one_of_two_equal_keys_wins() {
    check(|| {
        let list = Arc::new(WholeList::new());
        let wins: usize = (0..2u8)
            .map(|value| {
                let list = list.clone();
                thread::spawn(move || {
                    let first = list.insert_concurrent(b"k", 256, &[value]);
                    list.insert_concurrent(&[b'a' + value], 256, &[value]);
                    first
                })
            })
            .collect::<Vec<_>>()
            .into_iter()
            .map(|thread| usize::from(thread.join().unwrap()))
            .sum();
        assert_eq!(wins, 1);
        assert_eq!(keys_in_order(&list), [b"a", b"b", b"k"]);
    });
}

#[test]
fn arena_pieces_do_not_overlap() {
    check(|| {
        let arena = Arc::new(Arena::new(4096, 0, false));
        let threads: Vec<_> = (0..3usize)
            .map(|thread| {
                let arena = arena.clone();
                thread::spawn(move || {
                    let sizes = [1000 + thread, 900, 1024, 3000];
                    sizes.map(|bytes| (arena.allocate(bytes).as_ptr() as usize, bytes))
                })
            })
            .collect();
        let mut pieces: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        pieces.sort_unstable();
        assert!(pieces.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        let total: usize = pieces.iter().map(|piece| piece.1).sum();
        assert!(arena.used_bytes() >= total && arena.used_bytes() <= arena.allocated_bytes());
    });
}

#[test]
fn a_reader_sees_every_tombstone_before_its_snapshot() {
    check(|| {
        let table = Arc::new(MemTable::new(MemTableOptions { arena_block_bytes: 4096, ..Default::default() }));
        let published = Arc::new(AtomicU64::new(0));
        let writer = {
            let (table, published) = (table.clone(), published.clone());
            thread::spawn(move || {
                for sequence in 1..=3u64 {
                    table.add(SequenceNumber(sequence), ValueType::RangeDeletion, b"a", b"m").unwrap();
                    published.store(sequence, Ordering::Release);
                }
            })
        };
        let readers: Vec<_> = (0..2)
            .map(|reader| {
                let (table, published) = (table.clone(), published.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        let snapshot = SequenceNumber(published.load(Ordering::Acquire));
                        let newest = if reader == 0 {
                            table.max_covering_tombstone(b"c", snapshot)
                        } else {
                            table.range_tombstones().and_then(|list| list.max_covering_sequence(b"c", snapshot))
                        };
                        assert_eq!(newest, (snapshot.0 > 0).then_some(snapshot));
                    }
                })
            })
            .collect();
        writer.join().unwrap();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

#[test]
fn the_filter_never_hides_a_linked_key() {
    check(|| {
        let table = Arc::new(MemTable::new(MemTableOptions {
            arena_block_bytes: 4096,
            prefix_bloom_bits: 512,
            whole_key_filtering: true,
            ..Default::default()
        }));
        let writer = {
            let table = table.clone();
            thread::spawn(move || {
                for key in [b"a", b"b"] {
                    table.add_concurrent(SequenceNumber(1), ValueType::Value, key, b"").unwrap();
                }
            })
        };
        let mut seen = 0;
        let count = |key: &[u8]| {
            let mut count = 0;
            table
                .get(&LookupKey::new(key, SequenceNumber(1)), |_, _, _| {
                    count += 1;
                    true
                })
                .unwrap();
            count
        };
        let mut iter = table.iter();
        iter.seek_to_first();
        while iter.valid() {
            seen += count(user_key(iter.key()));
            iter.next();
            assert!(seen > 0);
        }
        writer.join().unwrap();
        assert_eq!((count(b"a"), count(b"b")), (1, 1));
    });
}

/// Writers of one list race with readers of the list, of all lists, and of one key. Whatever a reader's sequence number
/// sees it must find.
fn other_structures(kind: MemTableKind) {
    check(move || {
        let table = Arc::new(MemTable::new(MemTableOptions {
            arena_block_bytes: 4096,
            prefix_extractor: Some(PrefixExtractor::Fixed(1)),
            kind: kind.clone(),
            protection_bytes: 8,
            check_order: true,
            ..Default::default()
        }));
        let published: Arc<[AtomicU64; 2]> = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let writers: Vec<_> = (0..2u8)
            .map(|writer| {
                let (table, published) = (table.clone(), published.clone());
                thread::spawn(move || {
                    for index in 1..=3u8 {
                        // Descending, so that the front of the list changes; the last key has no prefix.
                        let key = [b'a', 9 - index, writer];
                        let key = if index == 3 { &key[..0] } else { &key[..] };
                        let sequence = SequenceNumber(u64::from(index) * 2 + u64::from(writer));
                        table.add_concurrent(sequence, ValueType::Value, key, &[writer]).unwrap();
                        published[writer as usize].store(u64::from(index), Ordering::Release);
                    }
                })
            })
            .collect();
        let readers: Vec<_> = (0..2u8)
            .map(|reader| {
                let (table, published) = (table.clone(), published.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        let seen: u64 = published.iter().map(|count| count.load(Ordering::Acquire)).sum();
                        let in_prefix: u64 = published.iter().map(|count| count.load(Ordering::Acquire).min(2)).sum();
                        let first = published[0].load(Ordering::Acquire);
                        let mut iter = table.iter();
                        let extractor = PrefixExtractor::Fixed(1);
                        iter.limit_to_prefix((reader == 1).then_some((&extractor, &b"a"[..])));
                        let mut keys = Vec::new();
                        iter.seek_to_first();
                        while iter.valid() {
                            keys.push(iter.key().to_vec());
                            iter.next();
                        }
                        let order = table.comparator();
                        assert!(keys.is_sorted_by(|a, b| order.compare(a, b).is_lt()));
                        assert!(keys.len() as u64 >= if reader == 1 { in_prefix } else { seen });
                        let mut found = 0;
                        table
                            .get(&LookupKey::new(&[b'a', 8, 0], SequenceNumber(9)), |_, _, _| {
                                found += 1;
                                true
                            })
                            .unwrap();
                        assert!(first == 0 || found == 1);
                    }
                })
            })
            .collect();
        writers.into_iter().chain(readers).for_each(|thread| thread.join().unwrap());
        let mut iter = table.iter();
        iter.seek_to_last();
        let mut count = 0;
        while iter.valid() {
            count += 1;
            iter.prev();
        }
        assert_eq!((count, table.num_entries()), (6, 6));
        table.check_towers();
    });
}

#[test]
fn a_vector_loses_nothing() {
    other_structures(MemTableKind::Vector);
}

#[test]
fn hashed_skip_lists_lose_nothing() {
    other_structures(MemTableKind::HashSkipList { bucket_count: 1, height: 2, branching: 2 });
}

#[test]
fn linked_lists_lose_nothing_when_they_become_skip_lists() {
    other_structures(MemTableKind::HashLinkList { bucket_count: 1, threshold: 2 });
}

/// A reader sees a value whole, and never an older one than was there when it began.
#[test]
fn values_are_written_over_whole() {
    check(|| {
        let table = Arc::new(MemTable::new(MemTableOptions {
            arena_block_bytes: 4096,
            in_place_locks: 1,
            protection_bytes: 8,
            check_order: true,
            ..Default::default()
        }));
        table.add_in_place(SequenceNumber(1), b"k", &[0; 4], SequenceNumber(0)).unwrap();
        let written = Arc::new(AtomicU64::new(0));
        let writer = {
            let (table, written) = (table.clone(), written.clone());
            thread::spawn(move || {
                for round in 1..=3u64 {
                    let value = vec![round as u8; 4 - round as usize];
                    table.add_in_place(SequenceNumber(1 + round), b"k", &value, SequenceNumber(0)).unwrap();
                    written.store(round, Ordering::Release);
                }
            })
        };
        let readers: Vec<_> = (0..2)
            .map(|reader| {
                let (table, written) = (table.clone(), written.clone());
                thread::spawn(move || {
                    let before = written.load(Ordering::Acquire);
                    let mut seen = Vec::new();
                    if reader == 0 {
                        table
                            .get(&LookupKey::new(b"k", SequenceNumber(9)), |_, _, value| {
                                seen = value.to_vec();
                                false
                            })
                            .unwrap();
                    } else {
                        let mut iter = table.iter();
                        iter.seek_to_first();
                        seen = iter.value().to_vec();
                    }
                    let round = u64::from(seen[0]);
                    assert!(round >= before && seen == vec![round as u8; 4 - round as usize]);
                })
            })
            .collect();
        writer.join().unwrap();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert_eq!(table.num_entries(), 1);
    });
}
