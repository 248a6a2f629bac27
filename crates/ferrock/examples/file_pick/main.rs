//! What choosing the files of a point lookup costs, in four ways, on a synthetic version.
//!
//! ```text
//! a    a bisection per level
//! b    hints from file to file, a vector of them per level
//! c    the same hints in one arena: what RocksDB does
//! d    Ferrock: Version::candidates
//!
//! cargo run --release -p ferrock --example file_pick -- [--levels 2,4,40,400,4000,40000] [--picks 200000] [--cold]
//! valgrind --tool=callgrind --toggle-collect='file_pick::pick_d' target/release/examples/file_pick --variant d
//! ```
//!
//! `--levels` are files per level from level 0 on. Every variant must choose the same files in the same order: that is
//! checked before anything is measured. `--cold` pushes everything out of the caches before each pick.
#![allow(clippy::disallowed_methods, reason = "a measuring tool reads its arguments and the clock")]
#![allow(clippy::print_stdout, reason = "its result")]

mod hints;
mod tree;

use ferrock::internals::{Version, build_file_index, follow_bridge};
use ferrock_base::random::Random;
use ferrock_base::{Error, LookupKey, Result, SequenceNumber};
use hints::{Arena, PerLevel, Plain};
use std::hint::black_box;
use std::time::{Duration, Instant};
use tree::Tree;

/// The files of a lookup: their number, and a sum that depends on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Picked {
    count: u64,
    sum: u64,
}

impl Picked {
    #[inline]
    fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum = self.sum.rotate_left(7) ^ number;
    }
}

#[inline(never)]
fn pick_a(plain: &Plain, key: &LookupKey) -> Picked {
    plain.pick(key)
}

#[inline(never)]
fn pick_b(hints: &PerLevel, key: &LookupKey) -> Picked {
    hints.pick(key)
}

#[inline(never)]
fn pick_c(hints: &Arena, key: &LookupKey) -> Picked {
    hints.pick(key)
}

#[inline(never)]
fn pick_d(version: &Version, key: &LookupKey) -> Picked {
    let mut picked = Picked::default();
    let mut candidates = version.candidates_of(key);
    for (_, file) in candidates.find() {
        picked.add(file.number.0);
    }
    picked
}

/// One step down the chain by itself: in `pick_d` it is part of the search.
#[inline(never)]
fn next_level_d(version: &Version, step: usize, rank: u32) -> Option<u32> {
    follow_bridge(version, step, rank)
}

struct Arguments {
    levels: Vec<u64>,
    picks: u64,
    variant: Option<String>,
    is_cold: bool,
}

fn arguments() -> Result<Arguments> {
    let mut parsed =
        Arguments { levels: vec![2, 4, 40, 400, 4_000, 40_000], picks: 200_000, variant: None, is_cold: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--cold" {
            parsed.is_cold = true;
            continue;
        }
        let value = arguments.next().unwrap_or_default();
        let wrong = || Error::invalid_argument(format!("{name} {value}: see the head of this example"));
        match name.as_str() {
            "--levels" => {
                let counts = value.split(',').map(str::parse).collect::<std::result::Result<_, _>>();
                parsed.levels = counts.map_err(|_| wrong())?;
            }
            "--picks" => parsed.picks = value.parse().map_err(|_| wrong())?,
            "--variant" if ["a", "b", "c", "d"].contains(&value.as_str()) => parsed.variant = Some(value),
            _ => return Err(wrong()),
        }
    }
    Ok(parsed)
}

fn keys(seed: u64) -> impl Iterator<Item = LookupKey> {
    let mut random = Random::new(seed);
    std::iter::repeat_with(move || LookupKey::new(&tree::random_key(&mut random), SequenceNumber(100)))
}

/// Mean time of a pick.
fn time(arguments: &Arguments, pick: impl Fn(&LookupKey) -> Picked) -> (f64, u64) {
    let mut files = 0;
    if !arguments.is_cold {
        let keys: Vec<_> = keys(2).take(arguments.picks.min(100_000) as usize).collect();
        let started = Instant::now();
        for index in 0..arguments.picks as usize {
            files += black_box(pick(black_box(&keys[index % keys.len()]))).count;
        }
        return (started.elapsed().as_nanos() as f64 / arguments.picks as f64, files);
    }
    let mut ballast = vec![1_u64; 8 << 20];
    let mut spent = Duration::ZERO;
    for key in keys(2).take(arguments.picks as usize) {
        ballast.iter_mut().step_by(8).for_each(|word| *word = word.wrapping_mul(3));
        black_box(&ballast);
        let started = Instant::now();
        files += black_box(pick(black_box(&key))).count;
        spent += started.elapsed();
    }
    (spent.as_nanos() as f64 / arguments.picks as f64, files)
}

fn report(name: &str, (nanos, files): (f64, u64), picks: u64) {
    println!("{name}    {nanos:8.1} ns per pick    {:.2} files per pick", files as f64 / picks as f64);
}

fn build_times(tree: &Tree, version: &std::sync::Arc<Version>) -> Result<()> {
    let median = |work: &dyn Fn() -> usize| {
        let mut times: Vec<_> = (0..21)
            .map(|_| {
                let started = Instant::now();
                black_box(work());
                started.elapsed()
            })
            .collect();
        times.sort_unstable();
        times[10]
    };
    let bytes = build_file_index(version, None);
    println!("index: {bytes} bytes, {:.2} per file", bytes as f64 / version.num_files() as f64);
    println!("built from scratch in {:.0?}", median(&|| build_file_index(version, None)));
    let Some(level) = tree.levels.len().checked_sub(2) else { return Ok(()) };
    let next = tree::apply(version, &tree.compaction(level))?;
    println!(
        "built after a compaction of level {level} into {} in {:.0?}",
        level + 1,
        median(&|| build_file_index(&next, Some(version)))
    );
    Ok(())
}

fn run() -> Result<()> {
    let arguments = arguments()?;
    let tree = Tree::new(&arguments.levels);
    let version = tree.version()?;
    let (a, b, c) = (Plain::new(&tree), PerLevel::new(&tree), Arena::new(&tree));
    for key in keys(1).take(20_000) {
        let expected = plain_check(&a, &key);
        if [b.pick(&key), c.pick(&key), candidates(&version, &key)] != [expected; 3] {
            return Err(Error::corruption(format!("the variants differ for key {:?}", key.user_key())));
        }
    }
    let picks = arguments.picks;
    let wants = |name: &str| arguments.variant.as_deref().is_none_or(|variant| variant == name);
    if wants("a") {
        report("a", time(&arguments, |key| pick_a(&a, key)), picks);
    }
    if wants("b") {
        report("b", time(&arguments, |key| pick_b(&b, key)), picks);
    }
    if wants("c") {
        report("c", time(&arguments, |key| pick_c(&c, key)), picks);
    }
    if wants("d") {
        report("d", time(&arguments, |key| pick_d(&version, key)), picks);
        let steps = (1..).map_while(|step| next_level_d(&version, step, black_box(1))).count();
        black_box(steps);
    }
    if arguments.variant.is_none() {
        build_times(&tree, &version)?;
    }
    Ok(())
}

// The same outside of the measured functions.
fn plain_check(plain: &Plain, key: &LookupKey) -> Picked {
    plain.pick(key)
}

fn candidates(version: &Version, key: &LookupKey) -> Picked {
    version.candidates(key).fold(Picked::default(), |mut picked, (_, file)| {
        picked.add(file.number.0);
        picked
    })
}

fn main() -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}
