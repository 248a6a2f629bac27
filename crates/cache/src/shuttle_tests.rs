//! The lock-free parts under a model checker: `RUSTFLAGS="--cfg shuttle" cargo test -p ferrock-cache --release --lib`.

use crate::{BlockCache, CacheKey, CacheOptions, EntryRole, Priority};
use ferrock_base::Error;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner, thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const ITERATIONS: usize = 10_000;

/// Bytes of stack for each thread of a model. The checker's own 32 KiB have no room for a cache that is made without
/// optimization: the counters of all its roles are a few KiB, moved through several frames.
const STACK_BYTES: usize = 256 << 10;

/// Random schedules, then schedules with few, well-placed preemptions.
fn check(model: impl Fn() + Send + Sync + Clone + 'static) {
    run(RandomScheduler::new(ITERATIONS), model.clone());
    run(PctScheduler::new(3, ITERATIONS), model);
}

fn run(scheduler: impl Scheduler + 'static, model: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    Runner::new(scheduler, config).run(model);
}

/// A value that detects a second drop and a use after a drop.
struct Counted {
    number: u64,
    alive: Arc<AtomicUsize>,
}

impl Counted {
    fn new(number: u64, alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Self { number, alive: alive.clone() }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert!(self.alive.fetch_sub(1, Ordering::SeqCst) > 0, "dropped twice");
    }
}

fn key(number: u64) -> CacheKey {
    CacheKey::new((1, 1), number)
}

fn cache(capacity_bytes: usize, strict: bool) -> Arc<BlockCache<Counted>> {
    BlockCache::new(CacheOptions {
        capacity_bytes,
        shard_bits: Some(0),
        strict_capacity_limit: strict,
        charge_metadata: false,
        ..CacheOptions::default()
    })
}

fn insert(cache: &BlockCache<Counted>, alive: &Arc<AtomicUsize>, number: u64, charge: usize) -> u64 {
    let value = Counted::new(number, alive);
    match cache.insert(&key(number), value, charge, EntryRole::DataBlock, Priority::Bottom) {
        Ok(handle) => handle.number,
        Err(rejected) => rejected.0.number,
    }
}

/// Runs the threads, then checks that nothing is lost, leaked or counted wrongly.
fn race(capacity: usize, strict: bool, threads: &[fn(&Arc<BlockCache<Counted>>, &Arc<AtomicUsize>)]) {
    let alive = Arc::new(AtomicUsize::new(0));
    let cache = cache(capacity, strict);
    insert(&cache, &alive, 1, 10);
    let running: Vec<_> = threads
        .iter()
        .map(|&body| {
            let (cache, alive) = (cache.clone(), alive.clone());
            thread::spawn(move || body(&cache, &alive))
        })
        .collect();
    running.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(cache.pinned_usage(), 0, "a reference was lost");
    let total = cache.stats().total();
    assert_eq!(total.entry_count, alive.load(Ordering::SeqCst));
    assert_eq!(total.usage_bytes, cache.usage());
    assert!(cache.usage() <= capacity);
    drop(cache);
    assert_eq!(alive.load(Ordering::SeqCst), 0, "a value was leaked");
}

fn look_up(cache: &Arc<BlockCache<Counted>>, _: &Arc<AtomicUsize>) {
    for number in [1, 2] {
        if let Some(handle) = cache.lookup(&key(number)) {
            let second = handle.clone();
            drop(handle);
            assert_eq!(second.number, number);
        }
    }
}

#[test]
fn lookup_erase_insert_of_the_same_key() {
    let erase = |cache: &Arc<BlockCache<Counted>>, _: &Arc<AtomicUsize>| {
        cache.erase(&key(1));
    };
    let replace = |cache: &Arc<BlockCache<Counted>>, alive: &Arc<AtomicUsize>| {
        assert_eq!(insert(cache, alive, 1, 10), 1);
    };
    check(move || race(100, false, &[look_up, erase, replace]));
    check(move || race(100, false, &[look_up, replace, replace]));
}

#[test]
fn lookup_while_slots_are_evicted_and_reused() {
    let fill = |cache: &Arc<BlockCache<Counted>>, alive: &Arc<AtomicUsize>| {
        for number in [2, 3, 1] {
            insert(cache, alive, number, 10);
        }
    };
    // Room for a single entry: every insert evicts the one before and reuses its slot.
    check(move || race(10, true, &[look_up, fill]));
    check(move || race(10, true, &[look_up, look_up, fill]));
    let shrink = |cache: &Arc<BlockCache<Counted>>, _: &Arc<AtomicUsize>| {
        cache.set_capacity(0);
        cache.set_capacity(20);
    };
    check(move || race(20, true, &[look_up, fill, shrink]));
}

#[test]
fn the_last_of_two_holders_frees() {
    check(|| {
        let alive = Arc::new(AtomicUsize::new(0));
        let cache = cache(100, false);
        insert(&cache, &alive, 1, 10);
        let handle = cache.lookup(&key(1)).unwrap();
        let other = handle.clone();
        let first = thread::spawn(move || handle.release_and_erase());
        let second = thread::spawn(move || assert_eq!(other.number, 1));
        let dropper = thread::spawn(move || drop(cache));
        first.join().unwrap();
        second.join().unwrap();
        dropper.join().unwrap();
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn reservations_race_with_inserts() {
    let reserve = |cache: &Arc<BlockCache<Counted>>, _: &Arc<AtomicUsize>| {
        if let Ok(mut reservation) = cache.reserve(60, EntryRole::WriteBuffer) {
            let _ = reservation.resize(90);
        }
    };
    let fill = |cache: &Arc<BlockCache<Counted>>, alive: &Arc<AtomicUsize>| {
        insert(cache, alive, 2, 50);
        insert(cache, alive, 3, 50);
    };
    check(move || race(100, true, &[reserve, fill, reserve]));
}

#[test]
fn a_missing_entry_is_loaded_once() {
    check(|| {
        let alive = Arc::new(AtomicUsize::new(0));
        let loads = Arc::new(AtomicUsize::new(0));
        let cache = cache(100, false);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (cache, alive, loads) = (cache.clone(), alive.clone(), loads.clone());
                thread::spawn(move || {
                    let load = || {
                        loads.fetch_add(1, Ordering::SeqCst);
                        thread::yield_now();
                        Ok((Counted::new(5, &alive), 10))
                    };
                    let handle = cache.lookup_or_load(&key(5), EntryRole::DataBlock, Priority::Low, load).unwrap();
                    assert_eq!(handle.number, 5);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((loads.load(Ordering::SeqCst), alive.load(Ordering::SeqCst)), (1, 1));
    });
}

#[test]
fn waiters_get_the_error_and_later_threads_try_again() {
    check(|| {
        let loads = Arc::new(AtomicUsize::new(0));
        let cache = cache(100, false);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (cache, loads) = (cache.clone(), loads.clone());
                thread::spawn(move || {
                    cache
                        .lookup_or_load(&key(5), EntryRole::DataBlock, Priority::Low, || {
                            loads.fetch_add(1, Ordering::SeqCst);
                            Err(Error::corruption("bad block"))
                        })
                        .is_err()
                })
            })
            .collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
        assert!(loads.load(Ordering::SeqCst) >= 1 && cache.lookup(&key(5)).is_none());
    });
}
