//! Ferrock beside other embedded stores that Rust programs use.
//!
//! ```text
//! peers DIRECTORY [KEYS] [CACHE_MB]     all stores, each workload of each in turns, three rounds; a table
//! ```
//!
//! Each store runs in a process of its own, which fills a directory with KEYS keys (default 1,000,000; 8 bytes, values
//! of 100) in random order and then goes through the workloads. Every value is compared with what was written, every
//! scan must have its rows in order; that is not timed. Figures are medians of three rounds, in which the stores take
//! turns. Single operations are told by percentiles, which other work on the machine moves less than it does rates.

#![allow(clippy::disallowed_methods, reason = "it measures real time")]

mod store;

use ferrock_console::histogram::Histogram;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;
use store::{Key, Outcome, Store};

const STORES: [&str; 4] = ["ferrock", "fjall", "redb", "lmdb"];
const ROUNDS: usize = 3;
const VALUE_BYTES: usize = 100;
/// Figures of a store, in the order of the table.
const FIGURES: [&str; 15] = [
    "load, keys/s",
    "overwrite, keys/s",
    "all rows, rows/s",
    "get, p50 us",
    "get, p99 us",
    "absent get, p50 us",
    "10 rows, p50 us",
    "10 rows, p99 us",
    "100 rows, p50 us",
    "100 rows, p99 us",
    "durable put, p50 us",
    "durable put, p99 us",
    "CPU seconds",
    "written MB",
    "on disk MB",
];

fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Keys ascend with their numbers; the odd ones between are absent.
fn key(number: u64) -> Key {
    (number * 2).to_be_bytes()
}

fn absent_key(number: u64) -> Key {
    (number * 2 + 1).to_be_bytes()
}

/// The value of a key that was written in a generation; its second half repeats the first.
fn value(number: u64, generation: u8) -> Vec<u8> {
    let mut value = vec![generation];
    let mut state = mixed(number ^ (u64::from(generation) << 56));
    while value.len() < VALUE_BYTES / 2 {
        value.extend_from_slice(&state.to_le_bytes());
        state = mixed(state);
    }
    value.truncate(VALUE_BYTES / 2);
    value.extend_from_within(..);
    value
}

/// Numbers below `count`, once each, scattered.
fn scattered(count: u64) -> impl Iterator<Item = u64> {
    // A step that shares no divisor with the count.
    let divides = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a > 1
    };
    let mut step = (count as f64 * 0.618) as u64 | 1;
    while divides(step, count) {
        step += 2;
    }
    (0..count).map(move |index| (u128::from(index) * u128::from(step) % u128::from(count)) as u64)
}

/// A store, what was written to it, and what was measured of it.
struct Run {
    store: Box<dyn Store>,
    keys: u64,
    /// A fourth of the keys was written again.
    is_overwritten: bool,
    figures: BTreeMap<String, f64>,
    random: u64,
}

fn is_overwritten(number: u64) -> bool {
    mixed(number).is_multiple_of(4)
}

impl Run {
    fn generation(&self, number: u64) -> u8 {
        if self.is_overwritten && is_overwritten(number) { 2 } else { 1 }
    }

    fn any(&mut self) -> u64 {
        self.random = self.random.wrapping_add(1);
        mixed(self.random) % self.keys
    }

    /// Operations a second.
    fn rate(&mut self, name: &str, operations: u64, start: Instant) {
        self.figures.insert(name.to_owned(), operations as f64 / start.elapsed().as_secs_f64().max(1e-9));
    }

    /// Percentiles of single operations.
    fn percentiles(&mut self, name: &str, times: &Histogram) {
        for percent in [50, 99] {
            let figure = times.percentile(f64::from(percent)) / 1e3;
            self.figures.insert(format!("{name}, p{percent} us"), figure);
        }
    }

    fn get(&mut self, count: u64) -> Outcome<()> {
        let (mut times, mut found) = (Histogram::fine(), Vec::new());
        for _ in 0..count {
            let number = self.any();
            found.clear();
            let start = Instant::now();
            self.store.get(key(number), &mut |value| found.extend_from_slice(value))?;
            times.add(start.elapsed().as_nanos() as u64);
            if found != value(number, self.generation(number)) {
                return Err(format!("wrong value of key {number}").into());
            }
        }
        self.percentiles("get", &times);
        Ok(())
    }

    fn get_absent(&mut self, count: u64) -> Outcome<()> {
        let (mut times, mut found) = (Histogram::fine(), false);
        for _ in 0..count {
            let key = absent_key(self.any());
            let start = Instant::now();
            self.store.get(key, &mut |_| found = true)?;
            times.add(start.elapsed().as_nanos() as u64);
        }
        if found {
            return Err("a key is there that was never written".into());
        }
        self.percentiles("absent get", &times);
        Ok(())
    }

    /// Scans of so many rows, from random keys on, or one of all rows.
    fn scan(&mut self, name: &str, count: u64, rows: u64) -> Outcome<()> {
        let (mut times, mut seen, mut bytes) = (Histogram::fine(), Vec::new(), Vec::new());
        for _ in 0..count {
            let first = if rows == self.keys { 0 } else { self.any() };
            seen.clear();
            bytes.clear();
            let start = Instant::now();
            self.store.scan(key(first), rows as usize, &mut |key, value| {
                seen.push((Key::try_from(key).unwrap_or_default(), value.len()));
                bytes.extend_from_slice(value);
            })?;
            times.add(start.elapsed().as_nanos() as u64);
            if rows == self.keys {
                self.rate("all rows, rows/s", rows, start);
            }
            let expected = first..(first + rows).min(self.keys);
            if seen.len() as u64 != expected.end - expected.start {
                return Err(format!("{} rows of {expected:?}", seen.len()).into());
            }
            let mut rest = bytes.as_slice();
            for (number, (seen_key, length)) in expected.zip(&seen) {
                let (found, behind) = rest.split_at(*length);
                rest = behind;
                if *seen_key != key(number) || found != value(number, self.generation(number)) {
                    return Err(format!("a scan from {first} has a wrong row {number}").into());
                }
            }
        }
        self.percentiles(name, &times);
        Ok(())
    }

    fn run(&mut self) -> Outcome<()> {
        let keys = self.keys;
        let start = Instant::now();
        self.store.put_all(&mut scattered(keys).map(|number| (key(number), value(number, 1))))?;
        self.rate("load, keys/s", keys, start);
        self.store.settle()?;
        let reads = keys.min(500_000);
        self.get(reads)?;
        self.get(reads)?;
        self.get_absent(reads)?;
        self.scan("10 rows", reads / 10, 10)?;
        self.scan("100 rows", reads / 50, 100)?;
        self.scan("all rows", 1, keys)?;
        let overwritten: Vec<u64> = scattered(keys).filter(|number| is_overwritten(*number)).collect();
        let start = Instant::now();
        self.store.put_all(&mut overwritten.iter().map(|number| (key(*number), value(*number, 2))))?;
        self.rate("overwrite, keys/s", overwritten.len() as u64, start);
        self.is_overwritten = true;
        let mut times = Histogram::fine();
        for number in overwritten.iter().take(1000) {
            let value = value(*number, 2);
            let start = Instant::now();
            self.store.put_durably(key(*number), &value)?;
            times.add(start.elapsed().as_nanos() as u64);
        }
        self.percentiles("durable put", &times);
        self.store.settle()?;
        // What was written is all there, once more.
        let all_rows = self.figures.get("all rows, rows/s").copied();
        self.scan("all rows", 1, keys)?;
        self.figures.extend(all_rows.map(|rate| ("all rows, rows/s".to_owned(), rate)));
        Ok(())
    }
}

fn field(path: &str, name: &str) -> f64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0.0)
}

/// Seconds of CPU time of this process, user and system.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// Bytes that the blocks of files take.
fn disk_bytes(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        Some(if metadata.is_dir() { disk_bytes(&entry.path()) } else { metadata.blocks() * 512 })
    });
    sizes.sum()
}

/// One store in this process; prints a figure a line.
fn one(name: &str, directory: &Path, keys: u64, cache_bytes: u64) -> Outcome<()> {
    std::fs::create_dir_all(directory)?;
    let store = store::open(name, directory, cache_bytes)?;
    let mut run = Run { store, keys, is_overwritten: false, figures: BTreeMap::new(), random: 1 };
    run.run()?;
    let mut figures = std::mem::take(&mut run.figures);
    drop(run);
    figures.insert("CPU seconds".to_owned(), cpu_seconds());
    figures.insert("written MB".to_owned(), field("/proc/self/io", "write_bytes") / 1e6);
    figures.insert("on disk MB".to_owned(), disk_bytes(directory) as f64 / 1e6);
    figures.iter().for_each(|(name, figure)| println!("{name}\t{figure}"));
    Ok(())
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

/// All stores in turns, each in a process of its own.
fn all(directory: &Path, keys: u64, cache_mb: u64) -> Outcome<()> {
    let mut found: BTreeMap<(&str, String), Vec<f64>> = BTreeMap::new();
    for round in 1..=ROUNDS {
        for store in STORES {
            eprintln!("round {round}, {store}");
            let place = directory.join(store);
            let _ = std::fs::remove_dir_all(&place);
            let numbers = [keys.to_string(), cache_mb.to_string()];
            let mut command = Command::new(std::env::current_exe()?);
            let output = command.arg("one").arg(store).arg(&place).args(numbers).output()?;
            if !output.status.success() {
                return Err(format!("{store}: {}", String::from_utf8_lossy(&output.stderr)).into());
            }
            for line in String::from_utf8(output.stdout)?.lines() {
                let (name, figure) = line.split_once('\t').ok_or("a line without a figure")?;
                found.entry((store, name.to_owned())).or_default().push(figure.parse()?);
            }
            std::fs::remove_dir_all(&place)?;
        }
    }
    println!("| | {} |\n|---|{}", STORES.join(" | "), "--:|".repeat(STORES.len()));
    for name in FIGURES {
        let cells = STORES.map(|store| {
            let figure = median(found.get(&(store, name.to_owned())).cloned().unwrap_or_default());
            match figure {
                large if large >= 1e4 => format!("{:.0}k", large / 1e3),
                middle if middle >= 100.0 => format!("{middle:.0}"),
                small => format!("{small:.2}"),
            }
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: Option<&&str>, default: u64| text.map_or(Ok(default), |text| text.parse::<u64>());
    let result = match words.as_slice() {
        ["one", store, directory, keys, cache_mb] => match (keys.parse(), cache_mb.parse::<u64>()) {
            (Ok(keys), Ok(cache_mb)) => one(store, Path::new(directory), keys, cache_mb << 20),
            _ => Err("KEYS and CACHE_MB are numbers".into()),
        },
        [directory, rest @ ..] if rest.len() <= 2 && !directory.starts_with('-') => {
            match (number(rest.first(), 1_000_000), number(rest.get(1), 256)) {
                (Ok(keys), Ok(cache_mb)) => all(Path::new(directory), keys.max(100), cache_mb),
                _ => Err("KEYS and CACHE_MB are numbers".into()),
            }
        }
        _ => Err("usage: peers DIRECTORY [KEYS] [CACHE_MB]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}
