//! Counts: what statistics and properties say after one history, by RocksDB 11.8.1 and by Ferrock's library.
//!
//! ```text
//! history   what is done: two families, writes of every kind, flushes, compactions, reads of every kind
//! known     the counts that differ, with their reasons
//! events    the lines of JSON that the LOG has of it
//! helpers   what all getters say of options behind each helper that sets many of them
//! ```
//!
//! Each library plays the history in a process and a directory of its own. A ticker, a histogram (its count, and its
//! sum where it is none of times) or a property that differs and is not in the list fails the run, and so does one in
//! the list that does not differ. The list with both numbers is a page of `docs`.

mod events;
mod helpers;
mod history;
mod known;

use crate::c_engine::CEngine;
use crate::engine::{Database, Engine, OpenMode, Outcome};
use crate::runner::run_self;
use crate::settings::Settings;
use known::KNOWN;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// A count of both libraries.
pub struct Count {
    pub name: String,
    pub rocksdb: u64,
    pub ferrock: u64,
    /// Why they may differ, for those in the list.
    pub reason: Option<&'static str>,
}

impl Count {
    /// True when the numbers and the list agree.
    pub fn is_right(&self) -> bool {
        (self.rocksdb != self.ferrock) == self.reason.is_some()
    }
}

/// Names and numbers.
type Numbers = BTreeMap<String, u64>;

/// What one library counts, and the events in its LOG.
struct Said {
    numbers: Numbers,
    events: Vec<String>,
    /// What getters say of options.
    helpers: Value,
}

/// Plays the history twice.
pub fn run(rocksdb: &Path, ferrock: &Path, scratch: &Path) -> Outcome<Vec<Count>> {
    let theirs = ask(rocksdb, &scratch.join("rocksdb"))?;
    let ours = ask(ferrock, &scratch.join("ferrock"))?;
    if let Some(difference) = events::difference(&theirs.events, &ours.events) {
        return Err(difference);
    }
    if let Some(difference) = helpers::difference(&theirs.helpers, &ours.helpers) {
        return Err(difference);
    }
    let (theirs, ours) = (theirs.numbers, ours.numbers);
    if let Some(name) =
        theirs.keys().chain(ours.keys()).find(|name| !theirs.contains_key(*name) || !ours.contains_key(*name))
    {
        return Err(format!("only one of the two libraries counts {name}"));
    }
    if let Some((name, _)) = KNOWN.iter().find(|(name, _)| !theirs.contains_key(*name)) {
        return Err(format!("the list names {name}, which no library counts"));
    }
    let reason = |name: &str| KNOWN.iter().find(|(known, _)| *known == name).map(|(_, reason)| *reason);
    Ok(theirs
        .into_iter()
        .map(|(name, number)| Count { rocksdb: number, ferrock: ours[&name], reason: reason(&name), name })
        .collect())
}

fn ask(library: &Path, directory: &Path) -> Outcome<Said> {
    let _ = std::fs::remove_dir_all(directory);
    std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let arguments = ["counts-case".to_owned(), "--directory".to_owned(), directory.display().to_string()];
    let library_argument = ["--library".to_owned(), library.display().to_string()];
    let ended = run_self(&[&arguments[..], &library_argument].concat())?;
    let numbers = ended.lines.iter().find_map(|line| line["counts"].as_object());
    let Some(numbers) = numbers.filter(|_| ended.status.success()) else {
        let failure = ended.lines.iter().find_map(|line| line["failure"].as_str()).unwrap_or(&ended.errors);
        return Err(format!("{}: {failure} ({})", library.display(), ended.status));
    };
    Ok(Said {
        numbers: numbers.iter().map(|(name, number)| (name.clone(), number.as_u64().unwrap_or(u64::MAX))).collect(),
        events: events::read(&directory.join("db"))?,
        helpers: ended
            .lines
            .iter()
            .find(|line| line["helpers"].is_object())
            .map(|line| line["helpers"].clone())
            .unwrap_or_default(),
    })
}

/// The part of one library.
pub fn play(directory: &Path, library: &Path) -> Outcome<Value> {
    let (db, options) = CEngine::load(library)?.open_counting(&directory.join("db"), &history::settings())?;
    let mut db: Box<dyn Database> = Box::new(db);
    history::play(&mut *db)?;
    let mut numbers = from_statistics(&options.statistics()?);
    for family in 0..db.families() {
        for name in history::PROPERTIES {
            let number = settled(&*db, family, name)?;
            numbers.insert(format!("{name}, family {family}"), number);
        }
    }
    db.close()?;
    // What was left to the log is recovered, for the events of that.
    CEngine::load(library)?.open(&directory.join("db"), OpenMode::ReadWrite, &Settings::default())?.close()?;
    Ok(json!({ "counts": numbers, "helpers": helpers::play(library)? }))
}

/// The property of a family; one that counts running jobs when these are over: a call returns before its job has ended.
fn settled(db: &dyn Database, family: usize, name: &str) -> Outcome<u64> {
    for _ in 0..1000 {
        let value = db.property(family, &format!("rocksdb.{name}"))?;
        let number = value.parse().map_err(|_| format!("{name} is no number: {value}"))?;
        if number == 0 || !name.starts_with("num-running-") {
            return Ok(number);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(format!("{name} does not become 0 within ten seconds"))
}

/// `NAME COUNT : 1` of tickers; `NAME P50 : .. COUNT : 1 SUM : 2` of histograms.
fn from_statistics(text: &str) -> Numbers {
    let number = |line: &str, name: &str| line.split_once(name)?.1.split(' ').next()?.trim().parse().ok();
    let mut numbers = Numbers::new();
    for line in text.lines() {
        let Some((name, _)) = line.split_once(' ') else { continue };
        let count: u64 = number(line, " COUNT : ").unwrap_or(u64::MAX);
        match number(line, " SUM : ") {
            None => {
                // Tickers of times.
                if !is_time(name) {
                    numbers.insert(name.to_owned(), count);
                }
            }
            Some(sum) => {
                numbers.insert(format!("{name}, values"), count);
                if !is_time(name) {
                    numbers.insert(format!("{name}, sum"), sum);
                }
            }
        }
    }
    numbers
}

fn is_time(name: &str) -> bool {
    const TIMES: &[&str] = &["micros", "nanos", "millis", "time", "seconds", "rocksdb.db.write.stall"];
    TIMES.iter().any(|part| name.contains(part))
}

/// The page that lists what differs.
pub fn page(counts: &[Count]) -> String {
    let mut page = String::from(
        "# Counts beside RocksDB's\n\n\
         What statistics and properties of Ferrock and of RocksDB 11.8.1 say after one history over the C interface of\n\
         each: two families, puts, deletions of each kind, merges, flushes, compactions by hand, lookups of one key and\n\
         of several, scans both ways, snapshots, blob files ([history.rs](../dev/interop/src/counts/history.rs)). Times\n\
         are left out. This page is written by `cargo run -p ferrock-interop -- counts --write`; `cargo xtask interop`\n\
         fails when a count differs that is not listed, or one is listed and does not differ.\n\n",
    );
    let is_other = |count: &&Count| count.rocksdb != count.ferrock;
    let counted = counts.iter().filter(|count| count.rocksdb != 0 || count.ferrock != 0).count();
    let other = counts.iter().filter(is_other).count();
    let _ = writeln!(
        page,
        "Of {} numbers {counted} are not 0 in both; {} of these are equal, and {other} differ:\n",
        counts.len(),
        counted - other
    );
    page.push_str("| | Ferrock | RocksDB | |\n|---|--:|--:|---|\n");
    for count in counts.iter().filter(is_other) {
        let reason = count.reason.unwrap_or("?");
        let _ = writeln!(page, "| {} | {} | {} | {reason} |", count.name, count.ferrock, count.rocksdb);
    }
    page
}
