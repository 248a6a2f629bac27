//! Answers: the same calls of the C interface, made to RocksDB 11.8.1 and to Ferrock's library, in a directory and a
//! process each, and what they answered compared.
//!
//! ```text
//! script    a seed -> calls: opens, families, writes, reads, properties, texts of options, setters, files
//! player    makes the calls to one library and prints every answer
//! known     differences that are meant, with their reasons
//! ```
//!
//! An error is the same when Ferrock's contains RocksDB's text, with the directories' names left out: Ferrock may say
//! more. Everything else must be equal.

mod known;
mod library;
pub mod player;
mod script;

use crate::engine::Outcome;
use crate::runner::{in_parallel, run_self};
use known::{AHEAD, APART, KNOWN, RARE};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;

/// The two libraries.
pub struct Libraries<'a> {
    pub rocksdb: &'a Path,
    pub ferrock: &'a Path,
}

/// What became of a seed.
#[derive(Debug, Default)]
pub struct AnswersResult {
    pub seed: u64,
    pub answers: u64,
    /// Members of [`KNOWN`] that were seen.
    pub known: BTreeSet<usize>,
    pub differences: Vec<String>,
}

/// From so many seeds on every known difference must have been seen.
const COVERING_SEEDS: usize = 160;

/// Each seed in two processes.
pub fn run(libraries: &Libraries<'_>, scratch: &Path, seeds: RangeInclusive<u64>) -> Vec<AnswersResult> {
    let seeds: Vec<u64> = seeds.collect();
    in_parallel("answers", &seeds, |&seed| {
        let mut result = AnswersResult { seed, ..AnswersResult::default() };
        if let Err(failure) = compare(libraries, scratch, &mut result) {
            result.differences.push(failure);
        }
        result
    })
}

/// Known differences that none of many seeds showed.
pub fn not_seen(results: &[AnswersResult]) -> Vec<&'static str> {
    if results.len() < COVERING_SEEDS {
        return Vec::new();
    }
    let seen: BTreeSet<usize> = results.iter().flat_map(|result| result.known.iter().copied()).collect();
    let unseen = KNOWN.iter().enumerate().filter(|(at, _)| !seen.contains(at));
    unseen.map(|(_, known)| known.about).collect()
}

/// A call and its answers: labels and texts.
type Answered = (String, Vec<(String, String)>);

fn ask(seed: u64, directory: &Path, library: &Path) -> Outcome<Vec<Answered>> {
    let _ = std::fs::remove_dir_all(directory);
    let empty = directory.join("empty");
    std::fs::create_dir_all(&empty).map_err(|error| format!("{}: {error}", empty.display()))?;
    let arguments = ["answers-case", "--seed", &seed.to_string(), "--directory"].map(str::to_owned);
    let places = [directory.display().to_string(), "--library".to_owned(), library.display().to_string()];
    let ended = run_self(&[&arguments[..], &places].concat())?;
    if !ended.status.success() {
        let last = ended.lines.iter().rev().find_map(|line| line["begins"].as_str()).unwrap_or("nothing");
        let failure = ended.lines.iter().find_map(|line| line["failure"].as_str()).unwrap_or(&ended.errors);
        return Err(format!("{}: ended by itself ({}) in {last}: {failure}", library.display(), ended.status));
    }
    // Directories have different names.
    let own = directory.display().to_string();
    let text = |value: &Value| value.as_str().unwrap_or_default().replace(&own, "DIR");
    let pair = |pair: &Value| (text(&pair[0]), text(&pair[1]));
    let calls = ended.lines.iter().filter(|line| line["call"].is_string());
    Ok(calls
        .map(|line| (text(&line["call"]), line["answers"].as_array().into_iter().flatten().map(pair).collect()))
        .collect())
}

fn compare(libraries: &Libraries<'_>, scratch: &Path, result: &mut AnswersResult) -> Outcome<()> {
    let own = scratch.join(result.seed.to_string());
    let theirs = ask(result.seed, &own.join("rocksdb"), libraries.rocksdb)?;
    let ours = ask(result.seed, &own.join("ferrock"), libraries.ferrock)?;
    if theirs.len() != ours.len() {
        return Err(format!("RocksDB answered {} calls, Ferrock {}", theirs.len(), ours.len()));
    }
    let mut defaults = BTreeMap::new();
    // After an open that one of them refused nothing is comparable until the next one.
    let mut are_apart = false;
    // RocksDB writes an OPTIONS file for a database that is open read-only, too, when an option changes, of the
    // families that are open; and no whole LOG.
    let mut has_stale_files = false;
    let mut sequences = Sequences::default();
    let mut estimates = Estimates::default();
    'calls: for ((call, theirs), (_, ours)) in theirs.iter().zip(&ours) {
        sequences.has_lost_writes |= has_empty_range(call) || DELETIONS.iter().any(|deletion| call.contains(deletion));
        estimates.note(call);
        if call == "Defaults" {
            defaults.extend(theirs.iter().cloned());
        }
        if are_apart && !call.starts_with("Open(") {
            continue;
        }
        for (label, rocksdb, ferrock) in pairs(theirs, ours) {
            result.answers += 1;
            if label == "open" {
                has_stale_files |= call.contains("is_read_only: true");
                are_apart = match (rocksdb.starts_with("error"), ferrock.starts_with("error")) {
                    (false, false) => {
                        has_stale_files &= call.contains("is_read_only: true");
                        false
                    }
                    (true, true) => are_apart,
                    _ => true,
                };
            }
            if has_stale_files && ["OPTIONS", "LOG", "load options"].iter().any(|file| label.starts_with(file)) {
                continue;
            }
            // Ferrock leaves options out that have their defaults, so that older releases read the file.
            let is_default = ferrock == NO_ANSWER && defaults.get(&without_family(label)) == Some(&rocksdb);
            let is_estimate = || estimates.are_same(label, &rocksdb, &ferrock);
            if is_default
                || is_same(&rocksdb, &ferrock)
                || sequences.are_same(label, &rocksdb, &ferrock)
                || is_estimate()
            {
                if rocksdb.contains(STOPS_WRITES) {
                    break 'calls;
                }
                continue;
            }
            if APART.is(label, &rocksdb, &ferrock) {
                break 'calls;
            }
            if RARE.iter().any(|known| known.is(label, &rocksdb, &ferrock)) {
                continue;
            }
            match KNOWN.iter().position(|known| known.is(label, &rocksdb, &ferrock)) {
                Some(at) => drop(result.known.insert(at)),
                None => result
                    .differences
                    .push(format!("{call}\n    {label}\n    RocksDB: {rocksdb}\n    Ferrock: {ferrock}")),
            }
        }
    }
    if result.differences.is_empty() {
        let _ = std::fs::remove_dir_all(&own);
    }
    Ok(())
}

/// Calls after which writes may leave nothing: those to a dropped family, and single deletions that meet their puts.
const DELETIONS: [&str; 2] = ["Drop(", "SingleDelete("];

/// How far Ferrock's sequence numbers are ahead: in a recovery RocksDB does not count writes that left nothing, and
/// gives the numbers of those at the end of a log again.
#[derive(Default)]
struct Sequences {
    has_lost_writes: bool,
    ahead: u64,
}

impl Sequences {
    fn are_same(&mut self, label: &str, rocksdb: &str, ferrock: &str) -> bool {
        let is_ahead = |theirs: u64, ours: u64| theirs + self.ahead == ours;
        match label {
            "sequence" => {
                matches!((rocksdb.parse(), ferrock.parse()), (Ok(theirs), Ok(ours)) if is_ahead(theirs, ours))
            }
            "batch bytes afterwards" => match (stamped(rocksdb), stamped(ferrock)) {
                (Some((theirs, rest)), Some((ours, own))) => rest == own && is_ahead(theirs, ours),
                _ => false,
            },
            "open" if AHEAD.is(label, rocksdb, ferrock) => match (opened(rocksdb), opened(ferrock)) {
                (Some((families, theirs)), Some((own, ours))) if families == own => {
                    let is_same = is_ahead(theirs, ours) || self.has_lost_writes && ours > theirs;
                    self.ahead = ours.saturating_sub(theirs);
                    is_same
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// Properties whose numbers follow from what tables are like, which no format says.
#[derive(Default)]
struct Estimates {
    has_range_deletion: bool,
    /// A compaction had range deletions among its inputs. RocksDB keeps a table of nothing else if it overlaps no other
    /// and counts its deletions on; Ferrock drops them.
    has_dropped_ranges: bool,
}

impl Estimates {
    fn note(&mut self, call: &str) {
        self.has_range_deletion |= call.contains("DeleteRange(");
        self.has_dropped_ranges |= self.has_range_deletion && call.starts_with("Compact(");
    }

    fn are_same(&self, label: &str, rocksdb: &str, ferrock: &str) -> bool {
        // The same tables may differ by some bytes, in the lengths of their properties.
        let are_both_some = ![rocksdb, ferrock].iter().any(|answer| ["0", "none", NO_ANSWER].contains(answer));
        (label.contains("estimate-num-keys") && self.has_dropped_ranges)
            || (label.contains("estimate-pending-compaction-bytes") && are_both_some)
    }
}

/// The sequence number in front of a batch's bytes, and the rest of them.
fn stamped(bytes: &str) -> Option<(u64, &str)> {
    let (number, rest) = bytes.split_at_checked(16)?;
    Some((u64::from_str_radix(number, 16).ok()?.swap_bytes(), rest))
}

/// The families of a database that was opened, and its sequence number.
fn opened(answer: &str) -> Option<(&str, u64)> {
    let (families, number) = answer.split_once(", sequence ")?;
    Some((families, number.parse().ok()?))
}

/// Whether a call deletes a range that begins where it ends.
fn has_empty_range(call: &str) -> bool {
    call.split("DeleteRange(").skip(1).any(|range| {
        let mut keys = range.split('[').skip(1).map(|key| key.split(']').next());
        keys.next() == keys.next()
    })
}

/// After such a write RocksDB takes no others, and has it in its log; Ferrock has refused it before anything was
/// written.
const STOPS_WRITES: &str = "Invalid column family specified in write batch";

const NO_ANSWER: &str = "no answer";

/// The label of an option of any family as that of the default one.
fn without_family(label: &str) -> String {
    match (label.find('"'), label.rfind('"')) {
        (Some(first), Some(last)) => format!("{}\"default{}", &label[..first], &label[last..]),
        _ => label.to_owned(),
    }
}

/// Both answers under every label.
fn pairs<'a>(theirs: &'a [(String, String)], ours: &'a [(String, String)]) -> Vec<(&'a str, String, String)> {
    let find = |in_all: &[(String, String)], label: &str| {
        in_all.iter().find(|(other, _)| other == label).map_or_else(|| NO_ANSWER.to_owned(), |found| found.1.clone())
    };
    let mut done = BTreeSet::new();
    let labels = theirs.iter().chain(ours).map(|(label, _)| label.as_str()).filter(|label| done.insert(*label));
    labels.map(|label| (label, find(theirs, label), find(ours, label))).collect()
}

/// Ferrock may say more than RocksDB in an error; of the holder of a lock RocksDB says the time and the thread.
fn is_same(rocksdb: &str, ferrock: &str) -> bool {
    if rocksdb == ferrock {
        return true;
    }
    if let Some(names) = not_opened(rocksdb) {
        return not_opened(ferrock) == Some(names);
    }
    let Some((status, words)) = words_of(rocksdb) else { return false };
    if !ferrock.starts_with(status) {
        return false;
    }
    match words.split_once(", acquire time") {
        Some((before, after)) => {
            let after = after.split_once(": ").map_or("", |(_, after)| after);
            ferrock.contains(before) && ferrock.contains(after)
        }
        None => ferrock.contains(words),
    }
}

/// `error: STATUS: ` of an error, and the rest of it.
fn words_of(answer: &str) -> Option<(&str, &str)> {
    let end = answer.strip_prefix("error: ")?.find(": ")? + "error: ".len() + 2;
    Some((&answer[..end], answer[end..].trim()))
}

/// Names of the families that an open left out: RocksDB says them in no order.
fn not_opened(answer: &str) -> Option<BTreeSet<&str>> {
    let names = answer.strip_prefix("error: Invalid argument: Column families not opened: ")?;
    Some(names.split(", ").collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_may_say_more() {
        let theirs = "error: IO error: lock hold by current process";
        assert!(is_same(theirs, "error: IO error: DIR: lock hold by current process: 3"));
        assert!(!is_same(theirs, "error: Corruption: lock hold by current process"));
        assert!(!is_same(theirs, "error: IO error: the lock is held"));
        assert!(!is_same("done", "error: IO error: done"));
        assert!(!is_same("7", "77"));
        let left_out = |names| format!("error: Invalid argument: Column families not opened: {names}");
        assert!(is_same(&left_out("b, a"), &left_out("a, b")) && !is_same(&left_out("b, a"), &left_out("a")));
    }

    #[test]
    fn numbers_of_empty_ranges_may_be_ahead() {
        assert!(has_empty_range("Batch([Put(0, [97], []), DeleteRange(0, [98], [98])])"));
        assert!(!has_empty_range("Write(DeleteRange(0, [97, 98], [98]))"));
        let mut sequences = Sequences::default();
        let (theirs, ours) = ("families 0 1, sequence 4", "families 0 1, sequence 5");
        assert!(!sequences.are_same("open", theirs, ours), "nothing explains it");
        let mut sequences = Sequences { has_lost_writes: true, ahead: 0 };
        assert!(!sequences.are_same("sequence", "4", "5"), "not before an open");
        assert!(sequences.are_same("open", theirs, ours) && sequences.are_same("sequence", "7", "8"));
        let batch = |first: &str| format!("{first}000000000000000200000001026b31");
        assert!(sequences.are_same("batch bytes afterwards", &batch("0b"), &batch("0c")));
        assert!(!sequences.are_same("batch bytes afterwards", &batch("0b"), &batch("0d")));
        assert!(!sequences.are_same("sequence", "9", "9"));
    }

    #[test]
    fn estimates_after_a_compaction_of_range_deletions_may_differ() {
        let mut estimates = Estimates::default();
        let label = "property rocksdb.estimate-num-keys";
        estimates.note("Compact(1)");
        estimates.note("Write(DeleteRange(1, [], [98]))");
        assert!(!estimates.are_same(label, "1", "2"));
        estimates.note("Compact(1)");
        assert!(estimates.are_same(label, "1", "2"));
        let label = "property rocksdb.estimate-pending-compaction-bytes";
        assert!(estimates.are_same(label, "5186", "5162") && !estimates.are_same(label, "5186", "0"));
    }

    #[test]
    fn known_differences_are_on_a_page() {
        let pages = [include_str!("../../../../docs/c-api.md"), include_str!("../../../../docs/compatibility.md")];
        let pages = pages.concat().split_whitespace().collect::<Vec<_>>().join(" ");
        for known in KNOWN.iter().chain(RARE).chain([&APART, &AHEAD]) {
            assert!(pages.contains(known.said), "{}: no page says `{}`", known.about, known.said);
        }
    }
}
