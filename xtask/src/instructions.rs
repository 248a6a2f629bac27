//! Instructions per operation, which do not depend on load: counted, and held against what the tree records.
//!
//! A count is the difference of two runs of `crates/bench/examples/instructions.rs` with different numbers of
//! operations, over the difference of these numbers. callgrind runs them on a processor that it emulates, so counts
//! come again to about one in a thousand. What the processor has still shows (checksums and hashes choose their code at
//! run time); of glibc's variants of `memcpy` the plainest is asked for. callgrind hides AVX-512, so all recent x86-64
//! processors look alike.

use crate::Outcome;
use crate::run::{cargo, root, run as run_to_its_end, target_dir};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

const RECORD: &str = "docs/benchmarks/instructions.txt";
/// Percent by which a count may be above the record.
const TOLERANCE: u64 = 1;
/// Operations, and the two counts of each. `compaction` counts entries, loaded before.
const OPERATIONS: [(&str, u64, u64); 8] = [
    ("put", 20_000, 60_000),
    ("get", 20_000, 60_000),
    ("miss", 20_000, 60_000),
    ("seek", 20_000, 60_000),
    ("iterator", 20_000, 60_000),
    ("next", 50_000, 150_000),
    ("multi_get", 20_000 / 32 * 32, 60_000 / 32 * 32),
    ("compaction", 40_000, 120_000),
];
/// glibc's plainest copies and comparisons, so that they do not depend on the processor.
const TUNABLES: &str = "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-EVEX,-ERMS,-FSRM,-BMI2";

const HEAD: &str = "\
# Instructions per operation of a release build through the Rust interface, counted by callgrind: 100,000 keys of 16
# bytes with values of 100, not compressed, Bloom filter, everything cached; iterator: one is made, placed and dropped;
# multi_get by keys of batches of 32, compaction by entries. `cargo xtask instructions` fails where one rises by more than 1 %; --write records what is.
";

/// What counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counter {
    Callgrind,
    Perf,
}

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let writes = match arguments {
        [] => false,
        [word] if word == "--write" => true,
        _ => return Err("the one argument there is is --write".to_owned()),
    };
    let counter = counter()?;
    let mut build = cargo(&["build", "--locked", "--release", "-p", "ferrock-bench", "--example", "instructions"]);
    build.env("CARGO_TARGET_DIR", target_dir());
    run_to_its_end(build)?;
    let program = target_dir().join("release/examples/instructions");
    let directory = std::env::temp_dir().join(format!("ferrock-instructions-{}", std::process::id()));
    let counted = count_all(counter, &program, &directory);
    for part in ["", ".put", ".overlapping"] {
        // What was not made is not there.
        let _ = std::fs::remove_dir_all(format!("{}{part}", directory.display()));
    }
    let counted = counted?;
    let path = root().join(RECORD);
    if counter == Counter::Perf {
        counted.iter().for_each(|(operation, count)| println!("{operation:12} {count:8}"));
        return Err(format!(
            "{RECORD} has counts of callgrind, with which these of perf cannot be compared. {INSTALL}"
        ));
    }
    if writes {
        let lines: String = OPERATIONS.iter().map(|(name, ..)| format!("{name} {}\n", counted[*name])).collect();
        return std::fs::write(&path, format!("{HEAD}{lines}")).map_err(|error| format!("{RECORD}: {error}"));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{RECORD}: {error}"))?;
    verdict(&recorded(&text)?, &counted)
}

const INSTALL: &str = "Install valgrind (`apt-get install valgrind`), and run this again";

fn starts(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn counter() -> Result<Counter, String> {
    if starts("valgrind", &["--version"]) {
        return Ok(Counter::Callgrind);
    }
    if starts("perf", &["stat", "-e", "instructions:u", "true"]) {
        return Ok(Counter::Perf);
    }
    Err(format!("there is no valgrind, and no perf that counts instructions here. {INSTALL}"))
}

fn count_all(counter: Counter, program: &Path, directory: &Path) -> Result<BTreeMap<&'static str, u64>, String> {
    let mut counted = BTreeMap::new();
    for (operation, few, many) in OPERATIONS {
        let mut counts = [0; 2];
        for (count, place) in [few, many].into_iter().zip(&mut counts) {
            // Compactions change what they read, and reads nothing.
            if operation == "compaction" || (operation == "get" && count == few) {
                std::fs::remove_dir_all(directory).ok();
                std::fs::remove_dir_all(directory.with_extension("overlapping")).ok();
                program_output(Command::new(program), directory, "load", count)?;
            }
            std::fs::remove_dir_all(directory.with_extension("put")).ok();
            *place = count_once(counter, program, directory, operation, count)?;
        }
        let [few_counted, many_counted] = counts;
        let difference = many_counted.checked_sub(few_counted);
        let difference = difference.ok_or_else(|| format!("{operation}: more operations took fewer instructions"))?;
        counted.insert(operation, difference / (many - few));
        eprintln!("  {operation}: {}", difference / (many - few));
    }
    Ok(counted)
}

fn program_output(mut command: Command, directory: &Path, operation: &str, count: u64) -> Result<String, String> {
    command.arg(directory).arg(operation).arg(count.to_string());
    let result = command.output().map_err(|error| format!("{operation}: {error}"))?;
    let said = String::from_utf8_lossy(&result.stderr).into_owned();
    if result.status.success() { Ok(said) } else { Err(format!("{operation} failed ({}): {said}", result.status)) }
}

/// Instructions of a whole run.
fn count_once(counter: Counter, program: &Path, directory: &Path, operation: &str, count: u64) -> Result<u64, String> {
    let mut command = match counter {
        Counter::Callgrind => {
            let mut command = Command::new("valgrind");
            command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
            command
        }
        Counter::Perf => {
            let mut command = Command::new("perf");
            command.args(["stat", "-x,", "-e", "instructions:u"]);
            command
        }
    };
    command.arg(program).env("GLIBC_TUNABLES", TUNABLES).env("FERROCK_IO_BACKEND", "pread");
    let said = program_output(command, directory, operation, count)?;
    let found = match counter {
        Counter::Callgrind => said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok()),
        Counter::Perf => said.lines().find_map(|line| line.split(',').next()?.parse().ok()),
    };
    found.ok_or_else(|| format!("{operation}: no count in what the counter said: {said}"))
}

/// The lines `operation count` of the record.
fn recorded(text: &str) -> Result<BTreeMap<String, u64>, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let parsed = lines.map(|line| {
        let (name, count) = line.split_once(' ')?;
        Some((name.to_owned(), count.trim().parse().ok()?))
    });
    parsed.collect::<Option<_>>().ok_or_else(|| format!("{RECORD} has a line that is not `operation count`"))
}

/// Prints both, and fails where a count rose.
fn verdict(recorded: &BTreeMap<String, u64>, counted: &BTreeMap<&str, u64>) -> Outcome {
    let (mut risen, mut fallen) = (Vec::new(), false);
    for (operation, now) in counted {
        let before = *recorded.get(*operation).ok_or_else(|| format!("{RECORD} does not have {operation}"))?;
        let change = *now as f64 / before as f64 - 1.0;
        println!("{operation:12} {before:8} -> {now:8}  {:+.2} %", change * 100.0);
        if now * 100 > before * (100 + TOLERANCE) {
            risen.push(format!("{operation} takes {now} instructions, {:.1} % more than recorded", change * 100.0));
        }
        fallen |= now * 100 < before * (100 - TOLERANCE);
    }
    if !risen.is_empty() {
        return Err(format!(
            "\n  {}\nWhat a change is worth this much, its commit says, and has {RECORD} written again:\n  \
             cargo xtask instructions --write",
            risen.join("\n  ")
        ));
    }
    if fallen {
        println!("Some take fewer; `cargo xtask instructions --write` keeps it so.");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_of_more_than_one_percent_is_a_failure() {
        let recorded = recorded("# a comment\nget 1000\nput 2000\n").unwrap();
        let counted = |get, put| BTreeMap::from([("get", get), ("put", put)]);
        assert_eq!(verdict(&recorded, &counted(1010, 2000)), Ok(()));
        assert_eq!(verdict(&recorded, &counted(500, 2020)), Ok(()));
        let message = verdict(&recorded, &counted(1011, 2000)).unwrap_err();
        assert!(message.contains("get takes 1011") && !message.contains("put takes"), "{message}");
        assert!(verdict(&recorded, &BTreeMap::from([("seek", 1)])).unwrap_err().contains("seek"));
    }

    #[test]
    fn a_record_has_operations_and_counts() {
        assert!(recorded("get many\n").is_err() && recorded("get\n").is_err());
        assert_eq!(recorded("").unwrap(), BTreeMap::new());
        assert!(OPERATIONS.iter().all(|(_, few, many)| many > few));
    }
}
