//! The lock-free parts under a model checker: `RUSTFLAGS="--cfg shuttle" cargo test -p ferrock-memtable --release
//! --lib`.

use crate::arena::Arena;
use crate::skiplist::SkipList;
use crate::{MemTable, MemTableOptions};
use ferrock_base::comparator::InternalComparator;
use ferrock_base::internal_key::{make_internal_key, pack_trailer, user_key};
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

fn keys_in_order(list: &SkipList) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut position = list.first();
    while let Some(key) = list.key(position) {
        keys.push(user_key(key).to_vec());
        position = list.next(position);
    }
    keys
}

fn insert_while_reading(hinted: fn(usize) -> bool) {
    let list = Arc::new(SkipList::new(InternalComparator::default(), 4096));
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
        let list = Arc::new(SkipList::new(InternalComparator::default(), 4096));
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
        let arena = Arc::new(Arena::new(4096));
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
            table.get(&LookupKey::new(key, SequenceNumber(1)), |_, _, _| {
                count += 1;
                true
            });
            count
        };
        let mut iter = table.iter();
        ferrock_base::InternalIterator::seek_to_first(&mut iter);
        while ferrock_base::InternalIterator::valid(&iter) {
            seen += count(user_key(ferrock_base::InternalIterator::key(&iter)));
            ferrock_base::InternalIterator::next(&mut iter);
            assert!(seen > 0);
        }
        writer.join().unwrap();
        assert_eq!((count(b"a"), count(b"b")), (1, 1));
    });
}
