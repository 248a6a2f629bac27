//! Builds the fuzz targets with the flags that libFuzzer wants and runs them, several at once.
//!
//! cargo-fuzz does the same; not needing it saves a newcomer and CI the minutes of compiling it.

use crate::Outcome;
use crate::run::{LINUX, nightly_cargo, run as run_command, target_dir};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Coverage counters and comparisons for libFuzzer, and AddressSanitizer.
const RUSTFLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Zsanitizer=address --cfg fuzzing";

/// One allocation may not be larger than this: inputs have some kilobytes, and what they may claim is bounded.
const MALLOC_LIMIT_MB: u32 = 64;
const MAX_INPUT_BYTES: u32 = 16 << 10;
const TIMEOUT_SECS: u32 = 10;

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let wanted = arguments.first().map_or("all", String::as_str);
    let all = targets()?;
    let chosen: Vec<String> = match wanted {
        "all" | "build" => all,
        name if all.iter().any(|target| target == name) => vec![name.to_owned()],
        name => return Err(format!("there is no target `{name}`; there are: {}", all.join(", "))),
    };
    let binaries = build(&chosen)?;
    if wanted == "build" {
        return Ok(());
    }
    let limit = arguments.get(1).map_or("30", String::as_str);
    let Ok(seconds) = limit.parse::<u32>() else {
        let reproduce = Command::new(binaries.join(wanted)).arg(limit).status();
        let reproduced = reproduce.map_err(|error| error.to_string())?;
        return if reproduced.success() { Ok(()) } else { Err(format!("{limit} still fails")) };
    };
    let seed = match arguments.get(2).map(|seed| seed.parse::<u32>()) {
        None => 0,
        Some(Ok(seed)) => seed,
        Some(Err(_)) => return Err("the seed is a number; 0 takes a new one each time".to_owned()),
    };
    let failures = Mutex::new(Vec::new());
    let waiting = Mutex::new(chosen);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().ok().and_then(|mut waiting| waiting.pop());
                    let Some(target) = next else { break };
                    if let (Err(error), Ok(mut failures)) = (fuzz(&binaries, &target, seconds, seed), failures.lock()) {
                        failures.push(error);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().map_err(|_| "a worker panicked")?;
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// The targets are the files in fuzz/targets.
fn targets() -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir("fuzz/targets").map_err(|error| format!("fuzz/targets: {error}"))?;
    let stem = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.ok()?.path();
        path.file_stem()?.to_str().map(str::to_owned)
    };
    let mut targets: Vec<String> = entries.filter_map(stem).collect();
    targets.sort();
    Ok(targets)
}

fn build(targets: &[String]) -> Result<PathBuf, String> {
    let dir = target_dir().join("fuzz");
    let mut build = nightly_cargo(&["build", "--manifest-path", "fuzz/Cargo.toml", "--release", "--target", LINUX])?;
    for target in targets {
        build.args(["--bin", target]);
    }
    build.env("CARGO_TARGET_DIR", &dir).env("RUSTFLAGS", RUSTFLAGS);
    run_command(build)?;
    Ok(dir.join(LINUX).join("release"))
}

/// Runs one target; what it prints is shown only if it fails.
fn fuzz(binaries: &Path, target: &str, seconds: u32, seed: u32) -> Outcome {
    let directory = |kind: &str| {
        let path = Path::new("fuzz").join(kind).join(target);
        std::fs::create_dir_all(&path).map(|()| path).map_err(|error| format!("fuzz/{kind}/{target}: {error}"))
    };
    let corpus = directory("corpus")?;
    let artifacts = directory("artifacts")?;
    let seeds = Path::new("fuzz/seeds").join(target);
    if !seeds.is_dir() {
        return Err(format!("{target} has no seeds in {}", seeds.display()));
    }
    let output = Command::new(binaries.join(target))
        .args([&corpus, &seeds])
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-seed={seed}"))
        .arg(format!("-max_len={MAX_INPUT_BYTES}"))
        .arg(format!("-malloc_limit_mb={MALLOC_LIMIT_MB}"))
        .arg(format!("-timeout={TIMEOUT_SECS}"))
        // A database's jobs are threads that may not have begun when the leak checker looks; `asan` looks for leaks.
        .arg("-detect_leaks=0")
        .arg("-print_final_stats=1")
        .stdout(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start {target}: {error}"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let start = log.find("panicked at").or_else(|| log.find("ERROR:")).unwrap_or(0);
        let lines: Vec<&str> = log[start..].lines().take(40).collect();
        return Err(format!("{target} failed:\n{}\nsee {}", lines.join("\n"), artifacts.display()));
    }
    let executed = log.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:")).unwrap_or("?");
    println!("fuzz: {target}: {} inputs in {seconds} s, none failed", executed.trim());
    Ok(())
}
