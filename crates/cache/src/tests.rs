//! The cache against a naive model, and under real threads.

use crate::{BlockCache, CacheKey, CacheOptions, EntryRole, Handle, Priority, Reservation};
use ferrock_base::random::Random;
use ferrock_base::{Error, ErrorKind};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

const PRIORITIES: [Priority; 4] = [Priority::Bottom, Priority::Low, Priority::High, Priority::Highest];

fn options(capacity_bytes: usize, strict: bool) -> CacheOptions {
    CacheOptions {
        capacity_bytes,
        shard_bits: None,
        strict_capacity_limit: strict,
        charge_metadata: false,
        ..CacheOptions::default()
    }
}

fn key(number: u64) -> CacheKey {
    CacheKey::new((7, 9), number * 4096)
}

/// A value that counts how many of its kind are alive.
struct Counted {
    number: u64,
    alive: Arc<AtomicUsize>,
}

impl Counted {
    fn new(number: u64, alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self { number, alive: alive.clone() }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let before = self.alive.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "dropped twice");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert { key: u64, charge: usize, role: usize, priority: usize, keep: bool },
    Lookup { key: u64, keep: bool },
    Erase(u64),
    DropHandle(usize),
    CloneHandle(usize),
    ReleaseAndErase(usize),
    SetCapacity(usize),
    Reserve(usize),
    DropReservation(usize),
    EraseUnreferenced,
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u64..200, prop_oneof![9 => 0usize..400, 1 => 400usize..9_000], 0usize..3, 0usize..4, any::<bool>()).prop_map(
            |(key, charge, role, priority, keep)| Step::Insert { key, charge, role, priority, keep }
        ),
        6 => (0u64..200, any::<bool>()).prop_map(|(key, keep)| Step::Lookup { key, keep }),
        2 => (0u64..200).prop_map(Step::Erase),
        4 => any::<usize>().prop_map(Step::DropHandle),
        1 => any::<usize>().prop_map(Step::CloneHandle),
        1 => any::<usize>().prop_map(Step::ReleaseAndErase),
        1 => (0usize..12_000).prop_map(Step::SetCapacity),
        1 => (0usize..4_000).prop_map(Step::Reserve),
        1 => any::<usize>().prop_map(Step::DropReservation),
        1 => Just(Step::EraseUnreferenced),
    ]
}

/// The model's record of every cached value, by its number.
#[derive(Clone, Copy)]
struct Known {
    key: u64,
    charge: usize,
    role: EntryRole,
}

fn run_against_model(steps: Vec<Step>, strict: bool, shard_bits: u32) -> Result<(), TestCaseError> {
    let cache = BlockCache::new(CacheOptions { shard_bits: Some(shard_bits), ..options(8_000, strict) });
    let alive = Arc::new(AtomicUsize::new(0));
    let mut known: BTreeMap<u64, Known> = BTreeMap::new();
    let mut newest: BTreeMap<u64, u64> = BTreeMap::new();
    let mut handles: Vec<Handle<Counted>> = Vec::new();
    let mut reservations = Vec::new();
    let mut capacity = 8_000;
    let mut next = 0;
    for step in steps {
        match step {
            Step::Insert { key: number, charge, role, priority, keep } => {
                next += 1;
                let role = EntryRole::ALL[role];
                let value = Counted::new(next, &alive);
                match cache.insert(&key(number), value, charge, role, PRIORITIES[priority]) {
                    Ok(handle) => {
                        prop_assert_eq!((handle.charge(), handle.role()), (charge, Some(role)));
                        known.insert(next, Known { key: number, charge, role });
                        newest.insert(number, next);
                        prop_assert!(!strict || cache.usage() <= capacity, "over a strict limit");
                        if keep {
                            handles.push(handle);
                        }
                    }
                    Err(rejected) => {
                        prop_assert_eq!(rejected.0.number, next);
                        prop_assert!(cache.pinned_usage() + charge > capacity, "refused although it fits");
                        let reserved: usize = reservations.iter().map(Reservation::bytes).sum();
                        prop_assert!(
                            strict || charge > capacity.saturating_sub(reserved),
                            "refused without a strict limit"
                        );
                        newest.remove(&number);
                    }
                }
            }
            Step::Lookup { key: number, keep } => {
                if let Some(handle) = cache.lookup(&key(number)) {
                    // Only the newest value of the key may be found, and nothing after an erase.
                    prop_assert_eq!(newest.get(&number), Some(&handle.number));
                    if keep {
                        handles.push(handle);
                    }
                } else if let Some(latest) = newest.get(&number) {
                    prop_assert!(handles.iter().all(|handle| handle.number != *latest), "a pinned entry was evicted");
                }
            }
            Step::Erase(number) => {
                let there = cache.lookup(&key(number)).is_some();
                prop_assert_eq!(cache.erase(&key(number)), there);
                newest.remove(&number);
                prop_assert!(cache.lookup(&key(number)).is_none());
            }
            Step::DropHandle(index) if !handles.is_empty() => drop(handles.swap_remove(index % handles.len())),
            Step::CloneHandle(index) if !handles.is_empty() => handles.push(handles[index % handles.len()].clone()),
            Step::ReleaseAndErase(index) if !handles.is_empty() => {
                let handle = handles.swap_remove(index % handles.len());
                let number = handle.number;
                handle.release_and_erase();
                let (key_number, held) = (known[&number].key, handles.iter().any(|handle| handle.number == number));
                if !held && newest.get(&key_number) == Some(&number) {
                    newest.remove(&key_number);
                    prop_assert!(cache.lookup(&key(key_number)).is_none());
                }
            }
            Step::SetCapacity(bytes) => {
                capacity = bytes;
                cache.set_capacity(bytes);
                prop_assert!(cache.usage() <= bytes.max(cache.pinned_usage()));
            }
            Step::Reserve(bytes) => match cache.reserve(bytes, EntryRole::WriteBuffer) {
                Ok(reservation) => reservations.push(reservation),
                Err(error) => {
                    prop_assert!(strict && error.kind() == ErrorKind::MemoryLimit);
                    prop_assert!(cache.pinned_usage() + bytes > capacity);
                }
            },
            Step::DropReservation(index) if !reservations.is_empty() => {
                reservations.swap_remove(index % reservations.len());
            }
            Step::EraseUnreferenced => cache.erase_unreferenced(),
            _ => {}
        }
        check_accounting(&cache, &known, &handles, reservations.iter().map(|kept| kept.bytes()).sum(), &alive)?;
    }
    drop(cache);
    let mut held: Vec<u64> = handles.iter().map(|handle| handle.number).collect();
    held.sort_unstable();
    held.dedup();
    prop_assert_eq!(alive.load(Ordering::Relaxed), held.len(), "only held values outlive the cache");
    drop(handles);
    prop_assert_eq!(alive.load(Ordering::Relaxed), 0);
    Ok(())
}

fn check_accounting(
    cache: &BlockCache<Counted>,
    known: &BTreeMap<u64, Known>,
    handles: &[Handle<Counted>],
    reserved: usize,
    alive: &AtomicUsize,
) -> Result<(), TestCaseError> {
    let mut held: Vec<u64> = handles.iter().map(|handle| handle.number).collect();
    held.sort_unstable();
    held.dedup();
    let pinned: usize = held.iter().map(|number| known[number].charge).sum();
    prop_assert_eq!(cache.pinned_usage(), pinned + reserved);
    let total = cache.stats().total();
    prop_assert_eq!(total.usage_bytes, cache.usage());
    prop_assert_eq!(total.entry_count, alive.load(Ordering::Relaxed), "every value is in an entry, and only once");
    prop_assert!(cache.usage() >= pinned + reserved);
    for role in EntryRole::ALL {
        let pinned: usize =
            held.iter().map(|number| known[number]).filter(|entry| entry.role == role).map(|entry| entry.charge).sum();
        prop_assert!(cache.stats().role(role).usage_bytes >= pinned);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn accounts_like_the_model(steps in prop::collection::vec(steps(), 1..250), strict in any::<bool>(), shard_bits in 0u32..7) {
        run_against_model(steps, strict, shard_bits)?;
    }
}

#[test]
fn keys_of_one_file_spread_over_shards() {
    let cache = BlockCache::<u64>::new(CacheOptions { shard_bits: Some(4), ..options(64 << 20, false) });
    assert_eq!(cache.shard_count(), 16);
    for number in 0..20_000 {
        drop(cache.insert(&key(number), number, 1000, EntryRole::DataBlock, Priority::Low).unwrap());
    }
    assert_eq!(cache.usage(), 20_000_000);
    for number in 0..20_000 {
        assert_eq!(cache.lookup(&key(number)).as_deref(), Some(&number));
    }
    assert_eq!(BlockCache::<u64>::new(options(1000, false)).shard_count(), 1);
    assert_eq!(BlockCache::<u64>::new(options(8 << 20, false)).shard_count(), 4);
    assert_eq!(BlockCache::<u64>::new(options(8 << 30, false)).shard_count(), 64);
}

#[test]
fn priorities_and_use_decide_which_entries_stay() {
    let cache = BlockCache::<u64>::new(options(30_000, false));
    let insert = |number: u64, priority| {
        drop(cache.insert(&key(number), number, 100, EntryRole::DataBlock, priority).unwrap());
    };
    (0..100).for_each(|number| insert(number, Priority::High));
    (100..200).for_each(|number| insert(number, Priority::Low));
    (200..300).for_each(|number| insert(number, Priority::Bottom));
    (300..380).for_each(|number| insert(number, Priority::Low));
    let there = |range: std::ops::Range<u64>| range.filter(|&number| cache.lookup(&key(number)).is_some()).count();
    assert_eq!((there(0..100), there(100..200)), (100, 100));
    assert_eq!(there(200..300), 20, "the bottom ones went first");

    let cache = BlockCache::<u64>::new(options(20_000, false));
    let insert =
        |number: u64| drop(cache.insert(&key(number), number, 100, EntryRole::DataBlock, Priority::Low).unwrap());
    (0..100).for_each(insert);
    for number in 100..2_000 {
        insert(number);
        (0..50).for_each(|hot| drop(cache.lookup(&key(hot))));
    }
    assert!((0..50).all(|hot| cache.lookup(&key(hot)).is_some()), "a scan evicted entries in use");
    let stats = cache.stats();
    assert!(stats.role(EntryRole::DataBlock).hits >= 95_000 && stats.total().inserts == 2_000);
    assert_eq!(stats.total().evictions, 1_800);
}

/// How many of a hundred entries of each priority are left after a scan of `scanned` entries of low priority.
fn left_after_scan(options: CacheOptions, scanned: u64) -> [usize; 4] {
    let cache = BlockCache::<u64>::new(options);
    let insert = |number: u64, priority| {
        cache.insert_or_standalone(&key(number), number, 100, EntryRole::DataBlock, priority);
    };
    for number in 0..100 {
        for (class, priority) in (0..).zip(PRIORITIES) {
            insert(class * 1000 + number, priority);
        }
    }
    (10_000..10_000 + scanned).for_each(|number| insert(number, Priority::Low));
    std::array::from_fn(|class| {
        let numbers = (0..100).map(|number| class as u64 * 1000 + number);
        numbers.filter(|&number| cache.lookup(&key(number)).is_some()).count()
    })
}

#[test]
fn each_priority_outlasts_the_one_below() {
    for shard_bits in [0, 4] {
        let options = CacheOptions { shard_bits: Some(shard_bits), ..options(80_000, false) };
        let left: Vec<_> = [450, 550, 1000, 65_000, 200_000].map(|scanned| left_after_scan(options, scanned)).into();
        assert!(left.iter().all(|left| left.is_sorted()), "{left:?}");
        assert!(left[0][0] < 100 && left[0][1..] == [100; 3], "{left:?}");
        assert!(left[1][0] == 0 && left[1][1] < 100 && left[2] == [0, 0, 100, 100], "{left:?}");
        assert!(left[3][2] < 20 && left[3][3] == 100, "{left:?}");
        assert_eq!(left[4], [0; 4], "no entry stays for ever");
    }
}

#[test]
fn a_small_cache_knows_its_queues() {
    let cache = BlockCache::<u64>::new(CacheOptions { shard_bits: Some(0), ..options(2_000, false) });
    let insert = |number: u64, priority| {
        drop(cache.insert(&key(number), number, 100, EntryRole::DataBlock, priority).unwrap());
    };
    let there = |range: std::ops::Range<u64>| range.filter(|&number| cache.lookup(&key(number)).is_some()).count();
    (0..10).for_each(|number| insert(number, Priority::Low));
    (10..20).for_each(|number| insert(number, Priority::Bottom));
    (20..26).for_each(|number| insert(number, Priority::Low));
    assert_eq!((there(0..10), there(10..20), there(20..26)), (10, 4, 6), "the bottom goes first");

    (1_000..1_200).for_each(|number| insert(number, Priority::Low));
    let left = there(0..26);
    assert!(left >= 14, "a scan evicted more than its share: {left} of 20");
}

/// Other threads that evict move the same hand: wherever it is, an unused entry must be found.
#[test]
fn one_entry_to_evict_is_found_while_others_move_the_hand() {
    let cache = BlockCache::<u64>::new(CacheOptions { shard_bits: Some(1), ..options(1_000, true) });
    let is_in_first =
        |key: &CacheKey| std::ptr::eq(cache.shared.shard(key.hash()), &raw const cache.shared.shards()[0]);
    let (first, second): (Vec<_>, Vec<_>) = (0..50_000).map(key).partition(is_in_first);
    let insert = |key: &CacheKey| cache.insert(key, 0, 100, EntryRole::DataBlock, Priority::Low);
    let held: Vec<_> = first.iter().take(9).map(|key| insert(key).unwrap()).collect();
    let done = AtomicBool::new(false);
    let refused = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                cache.shared.hand.fetch_add(1, Ordering::Relaxed);
            }
        });
        let refused = second.iter().filter(|key| insert(key).is_err()).count();
        done.store(true, Ordering::Relaxed);
        refused
    });
    assert_eq!((refused, held.len(), cache.usage()), (0, 9, 1_000));
}

/// A skewed load beside a scan of twice as many blocks: blocks that are used again must not be evicted for blocks that
/// never are.
#[test]
fn a_scan_does_not_push_out_what_is_used() {
    let cache = BlockCache::<u64>::new(CacheOptions { shard_bits: Some(3), ..options(1_000_000, false) });
    let mut random = Random::new(1);
    let mut hits = 0;
    for step in 0..60_000u64 {
        // A thousand blocks; nine of ten lookups are for the first tenth.
        let number = if random.below(10) < 9 { random.below(500) } else { 500 + random.below(4_500) };
        let ask = |number: u64| {
            let found = cache.lookup(&key(number)).is_some();
            if !found {
                drop(cache.insert(&key(number), number, 1000, EntryRole::DataBlock, Priority::Low));
            }
            found
        };
        hits += u64::from(step >= 30_000 && ask(number));
        ask(1_000_000 + 2 * step);
        ask(1_000_001 + 2 * step);
        if step < 30_000 {
            ask(number);
        }
    }
    assert!(hits > 26_500, "{hits} of 30,000");
}

#[test]
fn replaced_entries_leave_nothing_behind() {
    let cache = BlockCache::<u64>::new(CacheOptions { shard_bits: Some(0), ..options(1 << 20, false) });
    let insert = |number, priority| drop(cache.insert(&key(number), number, 100, EntryRole::DataBlock, priority));
    (0..100).for_each(|number| insert(number, Priority::Low));
    let before = cache.table_bytes();
    for round in 0..10_000 {
        insert(round % 100, if round % 3 == 0 { Priority::Bottom } else { Priority::Low });
        cache.erase(&key(round % 50));
    }
    assert!(cache.table_bytes() < before + 16 * 1024, "{} after {before}", cache.table_bytes());
}

#[test]
fn pools_bound_what_a_priority_is_worth() {
    let options = options(80_000, false);
    let scan = |high_pri_pool_ratio, low_pri_pool_ratio| {
        left_after_scan(CacheOptions { high_pri_pool_ratio, low_pri_pool_ratio, ..options }, 900)
    };
    assert_eq!(scan(1.0, 1.0)[2..], [100; 2]);
    let [_, low, high, highest] = scan(0.0, 1.0);
    assert!(low == high && high == highest, "without a high pool: {low} {high} {highest}");
    // 80,000 * 0.125 = the first hundred of the two hundred of high priority.
    let [.., high, highest] = scan(0.125, 1.0);
    assert_eq!((high, highest), (50, 50));
    let [bottom, low, high, _] = scan(1.0, 0.0);
    assert!(bottom == low && high == 100, "without a low pool: {bottom} {low}");
    // An erased entry makes room in its pool.
    let cache = BlockCache::<u64>::new(CacheOptions { high_pri_pool_ratio: 0.01, ..options });
    for number in 0..100 {
        let insert = |number| cache.insert(&key(number), number, 800, EntryRole::IndexBlock, Priority::High).is_ok();
        assert!(insert(number) && insert(1_000 + number));
        cache.erase(&key(number));
        cache.erase(&key(1_000 + number));
    }
    drop(cache.insert(&key(1), 1, 800, EntryRole::IndexBlock, Priority::High));
    drop(cache.insert(&key(2), 2, 800, EntryRole::IndexBlock, Priority::High));
    for number in 10_000..10_180 {
        drop(cache.insert(&key(number), number, 800, EntryRole::DataBlock, Priority::Low));
    }
    assert!(cache.lookup(&key(1)).is_some() && cache.lookup(&key(2)).is_none(), "the second found no room in the pool");
}

#[test]
fn metadata_is_charged_on_demand() {
    let cache = BlockCache::<u64>::new(CacheOptions { charge_metadata: true, ..options(1 << 20, false) });
    let handle = cache.insert(&key(1), 1, 100, EntryRole::DataBlock, Priority::Low).unwrap();
    assert!(handle.charge() > 100 + size_of::<u64>() && cache.usage() == handle.charge());
    assert!(cache.table_bytes() > 0);
}

#[test]
fn values_outside_the_cache_have_handles_too() {
    let cache = BlockCache::new(options(1000, true));
    let pinned = cache.insert(&key(1), "one", 900, EntryRole::IndexBlock, Priority::High).unwrap();
    let bypass = cache.insert_or_standalone(&key(2), "two", 200, EntryRole::DataBlock, Priority::Low);
    assert!(pinned.is_cached() && !bypass.is_cached());
    assert_eq!((*bypass.clone(), bypass.charge(), bypass.role()), ("two", 0, None));
    let loaded = cache.lookup_or_load(&key(3), EntryRole::DataBlock, Priority::Low, || Ok(("three", 300))).unwrap();
    assert!(*loaded == "three" && !loaded.is_cached());
    assert_eq!(cache.stats().total().rejections, 2);
    bypass.release_and_erase();
    assert_eq!((cache.new_id(), cache.new_id()), (1, 2));
}

#[test]
fn a_full_cache_fails_where_that_is_wanted() {
    let cache = BlockCache::new(CacheOptions { fail_when_full: true, ..options(1000, true) });
    let load = |number, charge| {
        cache.lookup_or_load(&key(number), EntryRole::DataBlock, Priority::Low, || Ok((number, charge)))
    };
    let pinned = load(1, 900).unwrap();
    for charge in [101, 1001] {
        let error = load(2, charge).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryLimit);
        let text = error.to_string();
        let rocksdb = "Operation aborted: Memory limit reached: Insert failed due to LRU cache being full.";
        assert!(text.starts_with(rocksdb) && text.contains("DataBlock of"), "{text}");
    }
    let past = || cache.load_missing_past(&key(2), EntryRole::DataBlock, Priority::Low, || Ok((2, 200)));
    assert!(*past().unwrap() == 2 && !past().unwrap().is_cached());
    cache.set_capacity(2000);
    assert!(load(2, 200).unwrap().is_cached());
    assert_eq!(*pinned, 1);
    // Nothing is refused without a strict limit, so nothing fails.
    let lenient = BlockCache::new(CacheOptions { fail_when_full: true, ..options(1000, false) });
    let load = |number, charge| {
        lenient.lookup_or_load(&key(number), EntryRole::DataBlock, Priority::Low, || Ok((number, charge))).unwrap()
    };
    let held: Vec<_> = (0..5).map(|number| load(number, 900)).collect();
    assert!(held.iter().all(Handle::is_cached) && !load(9, 1001).is_cached());
}

#[test]
fn a_load_past_a_full_cache_does_not_fail_with_one_that_does() {
    let cache = BlockCache::<u64>::new(CacheOptions { fail_when_full: true, ..options(100, true) });
    let _held = cache.insert(&key(1), 1, 100, EntryRole::DataBlock, Priority::Low).unwrap();
    let (started, ended) = (Barrier::new(2), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let leader = scope.spawn(|| {
            let found = cache.lookup_or_load(&key(2), EntryRole::DataBlock, Priority::Low, || {
                started.wait();
                // Loads until the other thread has missed, and a while longer, so that it waits.
                while cache.stats().total().misses < 2 {
                    std::thread::yield_now();
                }
                (0..10_000).for_each(|_| std::thread::yield_now());
                ended.store(true, Ordering::Relaxed);
                Ok((2, 50))
            });
            found.map(|handle| *handle).map_err(|error| error.kind())
        });
        started.wait();
        assert!(cache.lookup(&key(2)).is_none());
        let past = cache.load_missing_past(&key(2), EntryRole::DataBlock, Priority::Low, || {
            assert!(ended.load(Ordering::Relaxed), "it waited");
            Ok((3, 50))
        });
        let past = past.map(|handle| (*handle, handle.is_cached())).map_err(|error| error.kind());
        assert_eq!(past, Ok((3, false)));
        assert_eq!(leader.join().unwrap(), Err(ErrorKind::MemoryLimit));
    });
    assert_eq!(cache.usage(), 100);
}

#[test]
fn reservations_take_room_and_give_it_back() {
    let cache = BlockCache::new(options(1000, true));
    for number in 0..10 {
        drop(cache.insert(&key(number), number, 100, EntryRole::DataBlock, Priority::Low).unwrap());
    }
    let mut reservation = cache.reserve(300, EntryRole::WriteBuffer).unwrap();
    assert_eq!((cache.usage(), cache.pinned_usage()), (1000, 300));
    assert_eq!(cache.stats().role(EntryRole::WriteBuffer).usage_bytes, 300);
    assert!(reservation.resize(1001).is_err());
    assert!(reservation.resize(usize::MAX).is_err());
    assert_eq!((reservation.bytes(), cache.pinned_usage()), (300, 300));
    reservation.resize(50).unwrap();
    assert_eq!(cache.pinned_usage(), 50);
    drop(cache);
    drop(reservation);
}

#[test]
fn one_of_many_loads() {
    let cache = BlockCache::new(options(1 << 20, false));
    let loads = AtomicUsize::new(0);
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for number in 0..200 {
                    barrier.wait();
                    let load = || {
                        loads.fetch_add(1, Ordering::Relaxed);
                        std::thread::yield_now();
                        if number % 10 == 3 { Err(Error::corruption("bad block")) } else { Ok((number, 10)) }
                    };
                    let result = cache.lookup_or_load(&key(number), EntryRole::DataBlock, Priority::Low, load);
                    match result {
                        Ok(handle) => assert!(*handle == number && number % 10 != 3),
                        Err(error) => assert!(error.is_corruption() && number % 10 == 3),
                    }
                    barrier.wait();
                    let cached = cache.lookup(&key(number)).is_some();
                    assert_eq!(cached, number % 10 != 3);
                }
            });
        }
    });
    // Every good block is loaded once; a bad one at least once and at most once by each thread.
    let loads = loads.load(Ordering::Relaxed);
    assert!((200..=180 + 20 * 8).contains(&loads), "{loads}");
    assert_eq!(cache.stats().total().inserts, 180);
}

#[test]
fn a_panicking_load_harms_no_other_thread() {
    let cache = BlockCache::new(options(1 << 20, false));
    let load = |panics: bool| {
        cache.lookup_or_load(&key(1), EntryRole::DataBlock, Priority::Low, || {
            assert!(!panics, "a loader that fails badly");
            Ok((5, 10))
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(|| load(true))).is_err());
    assert_eq!(*load(false).unwrap(), 5);

    let started = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let result = catch_unwind(AssertUnwindSafe(|| {
                cache.lookup_or_load(&key(2), EntryRole::DataBlock, Priority::Low, || {
                    started.wait();
                    for _ in 0..1000 {
                        std::thread::yield_now();
                    }
                    panic!("while another thread waits");
                })
            }));
            assert!(result.is_err());
        });
        started.wait();
        let second = cache.lookup_or_load(&key(2), EntryRole::DataBlock, Priority::Low, || Ok((6, 10))).unwrap();
        assert_eq!(*second, 6);
    });
}

#[test]
fn threads_look_up_insert_erase_and_resize() {
    let alive = Arc::new(AtomicUsize::new(0));
    let cache = BlockCache::new(CacheOptions { shard_bits: Some(1), ..options(2 << 20, false) });
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4u64)
            .map(|thread| {
                let (cache, alive) = (&cache, &alive);
                scope.spawn(move || {
                    let mut random = Random::new(thread);
                    let mut kept: Vec<Handle<Counted>> = Vec::new();
                    let mut step = 0;
                    // If the scheduler leaves the cache small for long, the threads work longer.
                    while step < 30_000 || cache.stats().total().inserts < 10_000 {
                        step += 1;
                        let number = random.below(600);
                        match random.below(20) {
                            0 => drop(cache.erase(&key(number))),
                            1..=6 => {
                                let value = Counted::new(number, alive);
                                let priority = PRIORITIES[random.below(4) as usize];
                                let charge = 4096 + random.below(4096) as usize;
                                let role = EntryRole::DataBlock;
                                kept.push(cache.insert_or_standalone(&key(number), value, charge, role, priority));
                            }
                            7 => kept.extend(kept.last().cloned()),
                            8 => kept.drain(..).for_each(Handle::release_and_erase),
                            _ => kept
                                .extend(cache.lookup(&key(number)).inspect(|found| assert_eq!(found.number, number))),
                        }
                        kept = if random.one_in(8) { Vec::new() } else { kept };
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut random = Random::new(99);
            while !stop.load(Ordering::Relaxed) {
                cache.set_capacity(random.below(4 << 20) as usize);
                let reservation = cache.reserve(random.below(1 << 20) as usize, EntryRole::WriteBuffer).unwrap();
                std::thread::yield_now();
                drop(reservation);
                cache.erase_unreferenced();
            }
        });
        for worker in workers {
            worker.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(cache.pinned_usage(), 0);
    let total = cache.stats().total();
    assert_eq!((total.entry_count, total.usage_bytes), (alive.load(Ordering::Relaxed), cache.usage()));
    cache.set_capacity(0);
    assert_eq!((cache.usage(), alive.load(Ordering::Relaxed)), (0, 0));
}

#[test]
fn handles_outlive_the_cache() {
    let alive = Arc::new(AtomicUsize::new(0));
    let cache = BlockCache::new(options(1 << 20, false));
    let first = cache.insert(&key(1), Counted::new(1, &alive), 10, EntryRole::DataBlock, Priority::Low).unwrap();
    drop(cache.insert(&key(2), Counted::new(2, &alive), 10, EntryRole::DataBlock, Priority::Low).unwrap());
    let (second, third) = (first.clone(), first.clone());
    drop(cache);
    assert_eq!(alive.load(Ordering::Relaxed), 1);
    std::thread::scope(|scope| {
        for handle in [first, second, third] {
            scope.spawn(move || assert_eq!(handle.number, 1));
        }
    });
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// One entry that fills a large part of the cache, used again and again while small ones are inserted and evicted.
fn large_entry_beside_churn(shard_bits: u32, strict: bool, large: usize) -> ferrock_base::Result<()> {
    const CAPACITY: usize = 1 << 20;
    let cache = BlockCache::new(CacheOptions { shard_bits: Some(shard_bits), ..options(CAPACITY, strict) });
    assert_eq!(cache.shard_count(), 1 << shard_bits);
    let mut loads = 0;
    let mut small_hits = 0;
    for round in 0..20_000u64 {
        let handle = cache.lookup_or_load(&key(1), EntryRole::IndexBlock, Priority::High, || {
            loads += 1;
            Ok((1, large))
        })?;
        assert_eq!(*handle, 1);
        // The second of two lookups in a row hits, whichever shard the entry is in.
        for number in [round + 10, round + 10 - round.min(1), 1_000_000 + round % 4] {
            small_hits += u64::from(cache.lookup(&key(number)).is_some());
            let load = || Ok((number, 1000));
            drop(cache.lookup_or_load(&key(number), EntryRole::DataBlock, Priority::Low, load)?);
        }
        assert!(cache.usage() <= CAPACITY, "{} bytes with {shard_bits} shard bits", cache.usage());
    }
    assert_eq!(loads, 1, "an entry of {large} bytes was loaded again with {shard_bits} shard bits");
    assert!(small_hits > 39_000, "{small_hits} of 40,000 small blocks were still there beside {large} bytes");
    Ok(())
}

#[test]
fn an_entry_larger_than_its_shard_stays() {
    for shard_bits in [0, 3, 6, 10] {
        for strict in [false, true] {
            large_entry_beside_churn(shard_bits, strict, 1 << 19).unwrap();
            large_entry_beside_churn(shard_bits, strict, (1 << 20) / 10 * 9).unwrap();
        }
    }
}

#[test]
fn what_is_larger_than_the_cache_pushes_nothing_out() {
    for strict in [false, true] {
        let cache = BlockCache::new(CacheOptions { shard_bits: Some(2), ..options(10_000, strict) });
        for number in 0..50 {
            drop(cache.insert(&key(number), number, 100, EntryRole::DataBlock, Priority::Low).unwrap());
        }
        let kept = cache.reserve(1_000, EntryRole::WriteBuffer).unwrap();
        assert!(cache.insert(&key(100), 100, 9_001, EntryRole::DataBlock, Priority::High).is_err());
        assert!(!cache.insert_or_standalone(&key(101), 101, 20_000, EntryRole::DataBlock, Priority::High).is_cached());
        assert!((0..50).all(|number| cache.lookup(&key(number)).is_some()));
        drop(kept);
        assert!(cache.insert(&key(100), 100, 9_001, EntryRole::DataBlock, Priority::High).is_ok());
        assert!(cache.usage() <= 10_000);
    }
}

#[test]
fn a_strict_limit_holds_while_threads_fill_many_shards() {
    const CAPACITY: usize = 200_000;
    let cache = BlockCache::new(CacheOptions { shard_bits: Some(5), ..options(CAPACITY, true) });
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4u64)
            .map(|thread| {
                let cache = &cache;
                scope.spawn(move || {
                    let mut random = Random::new(thread);
                    let mut kept = Vec::new();
                    for _ in 0..20_000 {
                        let number = random.below(300);
                        let charge = if number < 3 { 60_000 } else { 1_000 + random.below(3_000) as usize };
                        let (role, priority) = (EntryRole::DataBlock, PRIORITIES[random.below(4) as usize]);
                        let found =
                            cache.lookup_or_load(&key(number), role, priority, || Ok((number, charge))).unwrap();
                        assert_eq!(*found, number);
                        kept.push(found);
                        if kept.len() > 30 {
                            kept.clear();
                        }
                        if random.one_in(50) {
                            drop(cache.reserve(random.below(50_000) as usize, EntryRole::WriteBuffer));
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                assert!(cache.usage() <= CAPACITY);
            }
        });
        let results: Vec<_> = workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        stop.store(true, Ordering::Relaxed);
        assert!(results.iter().all(Result::is_ok));
    });
    assert_eq!(cache.pinned_usage(), 0);
    assert_eq!(cache.stats().total().usage_bytes, cache.usage());
    cache.set_capacity(0);
    assert_eq!(cache.usage(), 0);
}

/// More threads than there are sets of counters, one after another and at once: nothing is lost.
#[test]
fn every_thread_counts() {
    let cache = BlockCache::<u64>::new(options(1 << 20, false));
    drop(cache.insert(&key(1), 1, 10, EntryRole::DataBlock, Priority::Low).unwrap());
    let look = || (0..1000).for_each(|_| drop(cache.lookup(&key(1))));
    for _ in 0..50 {
        std::thread::scope(|scope| scope.spawn(look).join().unwrap());
    }
    let together = Barrier::new(40);
    std::thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| {
                look();
                together.wait();
                look();
            });
        }
    });
    assert_eq!(cache.stats().role(EntryRole::DataBlock).hits, 50_000 + 80_000);
}
