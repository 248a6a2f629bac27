//! Compares the block cache with two other crates. `cargo run --release` prints the table; `cargo run --release -- hits
//! CACHE LOOKUPS` does nothing but that many hits in one cache, for a profiler.

#![allow(clippy::disallowed_methods, reason = "it measures real time, with threads")]

mod caches;
mod workload;

use caches::{Block, Cache, Ferrock, Moka, Quick};
use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

/// Blocks of the cache in which every lookup hits.
const RESIDENT: u64 = 16 << 10;
const LOOKUPS: usize = 1 << 20;
/// Keys of the skewed load, and blocks of its cache: about nine of ten lookups hit.
const KEYS: u64 = 256 << 10;
const SKEWED_BLOCKS: usize = 100 << 10;
const ROUNDS: usize = 5;
const STRETCH: usize = 32 << 10;

/// Measures one cache with two threads' draws of the skewed load.
type Measure = fn(&[Vec<u64>; 2]) -> Measured;

/// What was measured of one cache; times in nanoseconds for a lookup, the best of the rounds.
struct Measured {
    name: &'static str,
    hit: [f64; 2],
    skewed: [f64; 2],
    skewed_hits: f64,
    scan_hits: f64,
    bytes_per_entry: f64,
}

/// Looks every key up in order, on each thread with its own; adds what is missing. Nanoseconds a lookup, and the part
/// that hit.
///
/// The time is taken of short stretches, of which other work on the machine disturbs some: alone the best one counts,
/// with several threads the median, for the best one may have run while the other threads did not.
fn run<C: Cache>(cache: &C, keys: &[Vec<u64>]) -> (f64, f64) {
    let barrier = Barrier::new(keys.len());
    let results: Vec<(Vec<f64>, u64)> = std::thread::scope(|scope| {
        let threads: Vec<_> = keys
            .iter()
            .map(|keys| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    let mut hits = 0;
                    let stretches = keys.chunks(STRETCH).map(|keys| {
                        let begun = Instant::now();
                        for &key in keys {
                            match cache.get(key) {
                                Some(block) => hits += u64::from(black_box(block) == key),
                                None => cache.insert(key, Block(key)),
                            }
                        }
                        begun.elapsed().as_nanos() as f64 / keys.len() as f64
                    });
                    (stretches.collect(), hits)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a reader panicked")).collect()
    });
    let lookups: usize = keys.iter().map(Vec::len).sum();
    let hits = results.iter().map(|(_, hits)| hits).sum::<u64>() as f64 / lookups as f64;
    let mut stretches: Vec<f64> = results.into_iter().flat_map(|(stretches, _)| stretches).collect();
    stretches.sort_by(f64::total_cmp);
    (stretches[if keys.len() == 1 { 0 } else { stretches.len() / 2 }], hits)
}

fn resident<C: Cache>() -> C {
    // Twice the room: caches that divide their capacity must not evict.
    let cache = C::new(2 * RESIDENT as usize);
    for key in 0..RESIDENT {
        cache.insert(key, Block(key));
    }
    cache.settle();
    cache
}

fn hit_time<C: Cache>(cache: &C, threads: usize) -> f64 {
    let keys: Vec<_> = (0..threads).map(|thread| workload::uniform(RESIDENT, LOOKUPS, thread as u64)).collect();
    let (time, hits) = run(cache, &keys);
    assert!(hits > 0.999, "only {hits} of the lookups hit");
    time
}

/// Part of the skewed lookups that hit while a scan goes on.
fn hits_beside_scan<C: Cache>(draws: &[u64]) -> f64 {
    let cache = C::new(SKEWED_BLOCKS / 4);
    let keys = workload::with_scan(draws, KEYS);
    let half = keys.len() / 2;
    run(&cache, &[keys[..half].to_vec()]);
    // None of the scan's lookups hits.
    run(&cache, &[keys[half..].to_vec()]).1 * 2.0
}

/// Resident bytes of this process.
fn resident_bytes() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split_whitespace().nth(1)?.parse::<f64>().ok());
    pages.expect("/proc/self/statm has no second number") * 4096.0
}

/// What an entry takes beside its block's own bytes, in a process that does nothing else.
fn print_bytes_per_entry<C: Cache>() {
    let before = resident_bytes();
    let blocks = 1 << 20;
    let cache = C::new(blocks as usize);
    (0..blocks / 4 * 3).for_each(|key| cache.insert(key, Block(key)));
    cache.settle();
    let there = (0..blocks / 4 * 3).filter(|&key| cache.get(key).is_some()).count();
    cache.settle();
    println!("{}", (resident_bytes() - before) / there as f64 - size_of::<Block>() as f64);
}

fn bytes_per_entry(cache: &str) -> f64 {
    let program = std::env::current_exe().expect("the program has a name");
    let output = std::process::Command::new(program).args(["memory", cache]).output().expect("it can be started");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("it prints a number")
}

fn measure<C: Cache>(name: &'static str, short: &str, draws: &[Vec<u64>; 2]) -> Measured {
    let cache = resident::<C>();
    let best = |time: &dyn Fn() -> f64| (0..ROUNDS).map(|_| time()).fold(f64::MAX, f64::min);
    let hit = [1, 2].map(|threads| best(&|| hit_time(&cache, threads)));
    let skewed_cache = C::new(SKEWED_BLOCKS);
    run(&skewed_cache, &draws[..1]);
    let skewed_hits = run(&skewed_cache, &draws[1..]).1;
    let skewed = [1, 2].map(|threads| best(&|| run(&skewed_cache, &draws[..threads]).0));
    let scan_hits = hits_beside_scan::<C>(&draws[0]);
    Measured { name, hit, skewed, skewed_hits, scan_hits, bytes_per_entry: bytes_per_entry(short) }
}

fn print_table() {
    let draws = [1, 2].map(|seed| workload::zipf(KEYS, LOOKUPS, seed));
    println!(
        "| cache | hit, 1 thread | hit, 2 threads | skewed, 1 thread | skewed, 2 threads | hits, skewed | hits beside a scan | memory of an entry |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let all: [Measure; 3] = [
        |draws| measure::<Ferrock>("ferrock-cache", "ferrock", draws),
        |draws| measure::<Quick>("quick_cache", "quick", draws),
        |draws| measure::<Moka>("moka", "moka", draws),
    ];
    for measured in all {
        let m = measured(&draws);
        println!(
            "| {} | {:.1} ns | {:.1} ns | {:.1} ns | {:.1} ns | {:.2} % | {:.2} % | {:.0} B |",
            m.name,
            m.hit[0],
            m.hit[1],
            m.skewed[0],
            m.skewed[1],
            100.0 * m.skewed_hits,
            100.0 * m.scan_hits,
            m.bytes_per_entry
        );
    }
}

fn only_hits<C: Cache>(lookups: usize) {
    let cache = resident::<C>();
    let keys = workload::uniform(RESIDENT, lookups, 1);
    let hits = keys.iter().filter(|&&key| cache.get(key).is_some()).count();
    println!("{hits} hits");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => print_table(),
        ["memory", "ferrock"] => print_bytes_per_entry::<Ferrock>(),
        ["memory", "quick"] => print_bytes_per_entry::<Quick>(),
        ["memory", "moka"] => print_bytes_per_entry::<Moka>(),
        ["hits", cache, lookups] => {
            let Ok(lookups) = lookups.parse() else { return usage() };
            match cache {
                "ferrock" => only_hits::<Ferrock>(lookups),
                "quick" => only_hits::<Quick>(lookups),
                "moka" => only_hits::<Moka>(lookups),
                _ => usage(),
            }
        }
        _ => usage(),
    }
}

fn usage() {
    eprintln!("cache-comparison [hits ferrock|quick|moka LOOKUPS | memory ferrock|quick|moka]");
    std::process::exit(2);
}
