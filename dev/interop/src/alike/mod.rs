//! Alike: one history of `ferrock_script::history`, played by RocksDB 11.8.1 under its defaults, and by Ferrock and
//! RocksDB in turns under other sets of options. Every answer must be the one that RocksDB gave.
//!
//! ```text
//! set       what each open of the history has: a library, options of the database, options of both families
//! player    plays the history in a process of its own, through the C interface of the library of each open
//! mod       sets, the comparison, smaller histories and sets
//! ```
//!
//! A difference is printed as a file of the set and a short history, which `interop alike --replay FILE` plays.

mod player;
mod set;

use crate::engine::Outcome;
use crate::random::Random;
use crate::runner::{in_parallel, prepare, run_self};
use ferrock_script::history::{History, Step, first_difference};
pub use player::play_case;
use set::{Set, Which};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Steps of a history, and sets of drawn options for each; one of Ferrock's defaults comes before them.
const STEPS: usize = 250;
const SETS: usize = 3;
/// How the last answer of a process begins that did not come to the end of its history.
const ENDED: &str = "ended by itself";
/// How long a difference is made smaller.
const SHRINK_LIMIT: Duration = Duration::from_secs(90);

/// Where the libraries are, and where databases go.
pub struct Places<'a> {
    pub rocksdb: &'a Path,
    pub ferrock: &'a Path,
    pub scratch: &'a Path,
}

/// What became of a seed.
#[derive(Debug, Default)]
pub struct AlikeResult {
    pub seed: u64,
    pub answers: usize,
    pub failure: Option<String>,
}

/// Each seed with all of its sets.
pub fn run(places: &Places<'_>, seeds: RangeInclusive<u64>) -> Vec<AlikeResult> {
    let seeds: Vec<u64> = seeds.collect();
    in_parallel("alike", &seeds, |&seed| {
        let mut result = AlikeResult { seed, ..AlikeResult::default() };
        let mut random = Random::new(seed);
        let history = History::draw(STEPS, &mut |bound| random.below(bound as usize) as u64);
        let opens = 1 + history.0.iter().filter(|step| **step == Step::Reopen).count();
        let mut sets = vec![Set::defaults(Which::Ferrock)];
        let has_blobs =
            history.0.iter().any(|step| matches!(step, Step::Set(_, name, _) if name == "enable_blob_files"));
        sets.extend((0..SETS).map(|_| Set::draw(seed, opens, has_blobs, &mut random)));
        match compare(places, &history, &sets) {
            Ok(answers) => result.answers = answers,
            Err(failure) => result.failure = Some(failure),
        }
        result
    })
}

/// Plays the file of a failure and says what every step was answered.
pub fn replay(places: &Places<'_>, file: &Path) -> Outcome<bool> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let (set, history) = set::parse(&text)?;
    let expected = answers(places, &history, &Set::defaults(Which::RocksDb))?;
    let found = answers(places, &history, &set)?;
    for (at, step) in history.0.iter().enumerate() {
        let said = |answers: &[String]| answers.get(at).cloned().unwrap_or_default();
        println!("{step}\n  RocksDB: {}\n  set:     {}", said(&expected), said(&found));
    }
    Ok(difference_of(&history, &expected, &found).is_none())
}

/// What a set answers, in a directory and a process of its own.
fn answers(places: &Places<'_>, history: &History, set: &Set) -> Outcome<Vec<String>> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let directory = places.scratch.join(format!("{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    prepare(&directory)?;
    let file = directory.join("history.txt");
    std::fs::write(&file, set::file(set, history)).map_err(|error| format!("{}: {error}", file.display()))?;
    let text = |path: &Path| path.display().to_string();
    let mut arguments = vec!["alike-case".to_owned()];
    for (name, value) in [
        ("--rocksdb", text(places.rocksdb)),
        ("--ferrock", text(places.ferrock)),
        ("--directory", text(&directory)),
        ("--file", text(&file)),
    ] {
        arguments.extend([name.to_owned(), value]);
    }
    let ended = run_self(&arguments)?;
    let mut said: Vec<String> =
        ended.lines.iter().filter_map(|line| line["answer"].as_str().map(str::to_owned)).collect();
    if !ended.status.success() {
        let failure = ended.lines.iter().find_map(|line| line["failure"].as_str()).unwrap_or(&ended.errors);
        said.push(format!("{ENDED} ({}): {failure}", ended.status));
    }
    let _ = std::fs::remove_dir_all(&directory);
    Ok(said)
}

/// The first step that was answered differently, or not at all; an error is no answer.
fn difference_of(history: &History, rocksdb: &[String], other: &[String]) -> Option<String> {
    let failed = other.iter().position(|answer| answer.starts_with("error"));
    let at = |at: usize| history.0.get(at).map(ToString::to_string).unwrap_or_default();
    first_difference(history, rocksdb, other)
        .or_else(|| failed.map(|step| format!("step {step}: {}\n  both: {}", at(step), other[step])))
}

fn difference(places: &Places<'_>, history: &History, set: &Set) -> Option<String> {
    let expected = answers(places, history, &Set::defaults(Which::RocksDb));
    match (expected, answers(places, history, set)) {
        (Ok(expected), Ok(found)) => difference_of(history, &expected, &found),
        (Err(error), _) | (_, Err(error)) => Some(error),
    }
}

/// How many answers were compared, or the smallest difference that was found.
fn compare(places: &Places<'_>, history: &History, sets: &[Set]) -> Outcome<usize> {
    let expected = answers(places, history, &Set::defaults(Which::RocksDb))?;
    for set in sets {
        let found = answers(places, history, set)?;
        let Some(first) = difference_of(history, &expected, &found) else { continue };
        // What ends a process must not become an open that is refused, or the other way round.
        let is_end = first.contains(ENDED);
        let differs = |history: &History, set: &Set| {
            difference(places, history, set).is_some_and(|found| found.contains(ENDED) == is_end)
        };
        let until = Instant::now() + SHRINK_LIMIT;
        let mut fails = |history: &History| (Instant::now() < until).then(|| differs(history, set));
        let small = history.clone().shrink(&mut fails);
        let until = Instant::now() + SHRINK_LIMIT;
        let fewer = set.clone().shrink(&mut |set| Instant::now() < until && differs(&small, set));
        let again = difference(places, &small, &fewer);
        let said = again.unwrap_or_else(|| format!("{first}\nThe smaller history does not show it each time."));
        return Err(format!("{said}\n`interop alike --replay FILE` plays this file:\n{}", set::file(&fewer, &small)));
    }
    Ok(expected.len() * sets.len())
}

/// What a case is given.
#[derive(clap::Args)]
pub struct Case {
    #[arg(long)]
    pub rocksdb: PathBuf,
    #[arg(long)]
    pub ferrock: PathBuf,
    #[arg(long)]
    pub directory: PathBuf,
    #[arg(long)]
    pub file: PathBuf,
}
