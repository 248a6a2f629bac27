//! One history under many sets of options: every answer must be the same. There is no model; what all sets answer alike
//! and wrongly is found by `tests/model`, and by RocksDB itself in `dev/interop`.
//!
//! ```text
//! ferrock_script::history   the history: its text, how it is drawn and made smaller
//! player.rs                 plays it on a database in memory
//! main.rs                   sets of options, the comparison, replays
//! ```
//!
//! A set has options for each open of the history: style, subcompactions, blob files, memtables, caches of nothing,
//! tiny buffers and files, partitioners, budgets, checks of what is written. The first set has the defaults.
//!
//! A failure prints a file of two sets and a short history. `FERROCK_HISTORY=FILE` plays such a file,
//! `FERROCK_HISTORY_SEED=n` sets the first seed, `FERROCK_HISTORIES=n` how many histories are played.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "a test measures its own time")]

#[allow(dead_code, reason = "shared with the model test")]
#[path = "../model/choices.rs"]
mod choices;
#[allow(dead_code, reason = "shared with the model test")]
#[path = "../model/keys.rs"]
mod keys;
#[allow(dead_code, reason = "shared with the model test")]
#[path = "../model/orders.rs"]
mod orders;
mod player;
#[path = "../common/workers.rs"]
mod workers;

use ferrock_base::random::Random;
use ferrock_script::history::{History, first_difference, play};
use player::{Ferrock, RANGE_DELETED_TABLES};
use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Histories that are played when nothing else is asked for, sets of each, and steps.
const HISTORIES: u64 = 20;
const SETS: usize = 6;
const STEPS: usize = 250;
/// How long a failing history is made smaller.
const SHRINK_LIMIT: Duration = Duration::from_secs(40);

/// The options of one open, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    pub database: Vec<&'static str>,
    pub family: Vec<&'static str>,
}

/// The options of each open in turn; the last ones are those of all further opens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionSet(pub Vec<Opening>);

impl OptionSet {
    fn draw(random: &mut Random, opens: usize) -> Self {
        let mut draw = |choices: &[&'static str], most: u64| -> Vec<&'static str> {
            let count = random.below(most + 1);
            let mut drawn: Vec<&'static str> = Vec::new();
            for _ in 0..count {
                let choice = choices[random.below(choices.len() as u64) as usize];
                let name = |choice: &str| choice.split('=').next().map(str::to_owned);
                // Plain tables refuse range deletions, so their answers are other ones.
                if !choice.starts_with("plain_table") && drawn.iter().all(|other| name(other) != name(choice)) {
                    drawn.push(choice);
                }
            }
            drawn
        };
        let opening = |_| {
            let mut family = draw(choices::FAMILY, 12);
            family.extend(draw(choices::READ_FAMILY, 3));
            Opening { database: draw(choices::DATABASE, 4), family }
        };
        Self((0..opens).map(opening).collect())
    }

    fn text(&self) -> String {
        let mut text = "set\n".to_owned();
        for Opening { database, family } in &self.0 {
            let _ = writeln!(text, "open {} | {}", database.join(" "), family.join(" "));
        }
        text
    }
}

/// Reads the sets and the history of a file.
fn parse(text: &str) -> (Vec<OptionSet>, History) {
    let (mut sets, mut steps): (Vec<OptionSet>, String) = (Vec::new(), String::new());
    for line in text.lines() {
        let words = |part: &str| part.split_whitespace().map(|word| &*word.to_owned().leak()).collect();
        if line == "set" {
            sets.push(OptionSet::default());
        } else if let Some((database, family)) = line.strip_prefix("open").and_then(|rest| rest.split_once('|')) {
            let opening = Opening { database: words(database), family: words(family) };
            sets.last_mut().expect("a line `set` comes before `open`").0.push(opening);
        } else {
            let _ = writeln!(steps, "{line}");
        }
    }
    (sets, History::parse(&steps).unwrap())
}

fn file(sets: &[OptionSet], history: &History) -> String {
    sets.iter().map(OptionSet::text).collect::<String>() + &history.to_string()
}

/// What a set answers; a panic is an answer, too.
fn answers(history: &History, set: &OptionSet) -> Vec<String> {
    let played = std::panic::catch_unwind(AssertUnwindSafe(|| match Ferrock::create(set) {
        Ok(mut player) => play(history, &mut player),
        Err(error) => vec![format!("create: {error}")],
    }));
    played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        vec![format!("panicked: {}", text.unwrap_or_default())]
    })
}

/// The first difference of two sets.
fn difference(history: &History, one: &OptionSet, other: &OptionSet) -> Option<String> {
    first_difference(history, &answers(history, one), &answers(history, other))
}

/// The two sets with as few options as still show a difference.
fn fewer_options(history: &History, mut set: OptionSet, until: Instant) -> OptionSet {
    let default = OptionSet::default();
    let fails = |set: &OptionSet| Instant::now() < until && difference(history, &default, set).is_some();
    let mut at = set.0.len();
    while at > 0 {
        at -= 1;
        for of_family in [false, true] {
            let mut choice = 0;
            loop {
                let mut smaller = set.clone();
                let list = if of_family { &mut smaller.0[at].family } else { &mut smaller.0[at].database };
                if choice >= list.len() {
                    break;
                }
                list.remove(choice);
                if fails(&smaller) {
                    set = smaller;
                } else {
                    choice += 1;
                }
            }
        }
        let mut smaller = set.clone();
        smaller.0.remove(at);
        if fails(&smaller) {
            set = smaller;
        }
    }
    set
}

/// Plays a history under sets, and panics with a small one that has two answers.
fn compare(history: History, sets: &[OptionSet], seed: u64) -> usize {
    let expected = answers(&history, &sets[0]);
    for other in &sets[1..] {
        let Some(found) = first_difference(&history, &expected, &answers(&history, other)) else { continue };
        eprintln!("FERROCK_HISTORY_SEED={seed}: {found}\nlooking for a smaller history");
        let until = Instant::now() + SHRINK_LIMIT;
        let mut fails =
            |history: &History| (Instant::now() < until).then(|| difference(history, &sets[0], other).is_some());
        let small = history.shrink(&mut fails);
        let until = Instant::now() + SHRINK_LIMIT / 2;
        let fewer = fewer_options(&small, other.clone(), until);
        // Opens that had options of their own may go now.
        let small = small.shrink(&mut |history| {
            (Instant::now() < until).then(|| difference(history, &OptionSet::default(), &fewer).is_some())
        });
        let both = [OptionSet::default(), fewer];
        let found = difference(&small, &both[0], &both[1]).unwrap_or_else(|| "it does not repeat".to_owned());
        panic!("FERROCK_HISTORY_SEED={seed}: {found}\nFERROCK_HISTORY=FILE plays this file:\n{}", file(&both, &small));
    }
    expected.len()
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

#[test]
fn all_options_answer_alike() {
    if let Some(path) = environment("FERROCK_HISTORY") {
        let (sets, history) = parse(&std::fs::read_to_string(path).unwrap());
        assert!(sets.len() > 1, "a file has two sets or more, and a history");
        let all: Vec<Vec<String>> = sets.iter().map(|set| answers(&history, set)).collect();
        for (at, step) in history.0.iter().enumerate() {
            println!("{step}");
            all.iter().for_each(|answers| println!("  {}", answers.get(at).map_or("", |answer| answer)));
        }
        for answers in &all[1..] {
            assert_eq!(first_difference(&history, &all[0], answers), None);
        }
        return;
    }
    let number = |name: &str, default| environment(name).map_or(default, |text| text.parse().unwrap());
    let (first, histories) = (number("FERROCK_HISTORY_SEED", 1), number("FERROCK_HISTORIES", HISTORIES));
    let (begun, mut steps) = (Instant::now(), 0);
    for seed in first..first + histories {
        let mut random = Random::new(seed);
        let history = History::draw(STEPS, &mut |bound| random.below(bound));
        let opens = 1 + history.0.iter().filter(|step| **step == ferrock_script::history::Step::Reopen).count();
        let mut sets = vec![OptionSet::default()];
        sets.extend((1..SETS).map(|_| OptionSet::draw(&mut random, opens)));
        steps += compare(history, &sets, seed);
    }
    let dropped = RANGE_DELETED_TABLES.load(Ordering::Relaxed);
    println!("{dropped} tables were dropped under range deletions");
    assert!(dropped > 0 || histories < HISTORIES, "no table lay under a range deletion");
    println!("{histories} histories of {steps} steps under {SETS} sets of options each, {:.1?}", begun.elapsed());
}

#[test]
fn files_are_read_as_they_were_written() {
    let mut random = Random::new(1);
    let history = History::draw(30, &mut |bound| random.below(bound));
    let sets = [OptionSet::default(), OptionSet::draw(&mut random, 3)];
    let (read, steps) = parse(&file(&sets, &history));
    assert_eq!((&read[..], steps), (&sets[..], history));
}
