//! Runs histories: starts workers, two at a time where there are two processors, and gathers what they say.

use crate::history::{History, Player};
use crate::settings::{CHECKSUMS, COMPRESSIONS, MEMTABLES, Release, TableKind};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// One history to be run.
#[derive(Clone, Debug)]
pub struct HistoryJob {
    pub release: Release,
    pub library: PathBuf,
    pub ferrock_library: Option<PathBuf>,
    pub seed: u64,
}

/// What became of a history.
#[derive(Clone, Debug, Default)]
pub struct HistoryResult {
    pub seed: u64,
    pub release: &'static str,
    pub turns: usize,
    pub kills: usize,
    pub comparisons: u64,
    /// Blob files that workers of compactions wrote.
    pub remote_blob_files: u64,
    /// What went wrong, and where the directory is.
    pub failure: Option<String>,
}

/// Does `run` with every member of `jobs`, on as many threads as there are processors, behind a progress bar on
/// terminals.
pub fn in_parallel<J: Sync, R: Send>(what: &'static str, jobs: &[J], run: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let bar = ProgressBar::new(jobs.len() as u64);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {elapsed}, {eta} left") {
        bar.set_style(style);
    }
    bar.set_message(what);
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((at, job)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    jobs.get(at).map(|job| (at, job))
                } {
                    let result = run(job);
                    if let Ok(mut results) = results.lock() {
                        results.push((at, result));
                    }
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// A part of a history, or a database, takes a second; what takes this long hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// What a worker left behind.
pub struct Ended {
    /// The lines of JSON that it printed.
    pub lines: Vec<Value>,
    /// The rest of what it said, and how it ended.
    pub errors: String,
    pub status: ExitStatus,
    /// It was killed for want of an end.
    hangs: bool,
}

fn read_all(stream: Option<impl std::io::Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        let _ = stream.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The threads of a process, each with its state (`R`: it runs, `S`: it waits). Names tell whose a thread is, so this
/// says which of two engines in one process hangs.
fn threads_of(process: u32) -> String {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return String::new() };
    let threads = threads.flatten().filter_map(|thread| {
        // `17 (rocksdb:low) R ...`: the name may hold anything.
        let stat = std::fs::read_to_string(thread.path().join("stat")).ok()?;
        let (before, after) = stat.rsplit_once(") ")?;
        Some(format!("{} {}", before.split_once('(')?.1, after.chars().next()?))
    });
    threads.collect::<Vec<_>>().join(", ")
}

/// Starts this program again with other arguments and waits for its end.
pub fn run_self(arguments: &[String]) -> Result<Ended, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find myself: {error}"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot start a worker: {error}"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let start = Instant::now();
    std::thread::scope(|scope| {
        let stdout = scope.spawn(|| read_all(stdout));
        let stderr = scope.spawn(|| read_all(stderr));
        let mut threads = None;
        let status = loop {
            match child.try_wait().map_err(|error| format!("cannot wait for a worker: {error}"))? {
                Some(status) => break status,
                None if start.elapsed() > LIMIT && threads.is_none() => {
                    threads = Some(threads_of(child.id()));
                    let _ = child.kill();
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let said = stdout.join().unwrap_or_default();
        let mut errors = stderr.join().unwrap_or_default().trim().to_owned();
        let lines: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if let Some(threads) = &threads {
            errors = format!("it hung for {} s, and was killed; its threads: {threads}; {errors}", LIMIT.as_secs());
        }
        Ok(Ended { lines, errors, status, hangs: threads.is_some() })
    })
}

/// Runs a history to its end. Its directory is removed when all is well and named when not.
pub fn run_history(job: &HistoryJob, scratch: &Path) -> HistoryResult {
    let directory = scratch.join(format!("{}-seed-{}", job.release.name(), job.seed));
    let mut result = HistoryResult { seed: job.seed, release: job.release.name(), ..HistoryResult::default() };
    let played = prepare(&directory).and_then(|()| play(job, &directory, &mut result));
    match played {
        Ok(()) => drop(std::fs::remove_dir_all(&directory)),
        Err(error) => result.failure = Some(format!("{error}\n  directory: {}", directory.display())),
    }
    result
}

/// An empty directory.
pub fn prepare(directory: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(format!("cannot clear {}: {error}", directory.display()));
        }
        _ => {}
    }
    std::fs::create_dir_all(directory).map_err(|error| format!("cannot create {}: {error}", directory.display()))
}

fn play(job: &HistoryJob, directory: &Path, result: &mut HistoryResult) -> Result<(), String> {
    let mut from = 0;
    loop {
        let mut arguments = vec!["worker".to_owned()];
        let mut add = |name: &str, value: String| arguments.extend([format!("--{name}"), value]);
        add("release", job.release.name().to_owned());
        add("library", job.library.display().to_string());
        add("seed", job.seed.to_string());
        add("directory", directory.display().to_string());
        add("from-turn", from.to_string());
        if let Some(library) = &job.ferrock_library {
            add("ferrock-library", library.display().to_string());
        }
        let Ended { lines, errors, status, hangs } = run_self(&arguments)?;
        let mut killed = None;
        let mut is_done = false;
        for line in &lines {
            if line["turn"].is_u64() {
                result.turns += 1;
                result.comparisons += line["comparisons"].as_u64().unwrap_or(0);
                result.remote_blob_files += line["remote_blob_files"].as_u64().unwrap_or(0);
            } else if let Some(turn) = line["kill"].as_u64() {
                killed = Some(turn as usize);
            } else if line["failure"].is_object() {
                let failure = &line["failure"];
                let text = |member: &str| failure[member].as_str().unwrap_or("").to_owned();
                let (turn, player, step, message) = (&failure["turn"], text("player"), text("step"), text("message"));
                return Err(format!("turn {turn} ({player}), step {step}\n  {message}"));
            }
            is_done |= line["done"].is_boolean();
        }
        use std::os::unix::process::ExitStatusExt as _;
        match killed.filter(|_| !hangs) {
            Some(turn) if status.signal() == Some(rustix::process::Signal::KILL.as_raw()) => {
                result.kills += 1;
                from = turn + 1;
                if from == History::new(job.release, job.seed).turns.len() {
                    return Ok(());
                }
            }
            _ if is_done && status.success() => return Ok(()),
            _ => {
                let turn = result.turns;
                return Err(format!("turn {turn}: the process ended by itself ({status})\n  {errors}"));
            }
        }
    }
}

/// What the histories let each engine write, and what is missing of all that it can.
pub struct Coverage {
    written: BTreeSet<(&'static str, &'static str, String)>,
}

impl Coverage {
    pub fn of(jobs: &[HistoryJob]) -> Self {
        let mut written = BTreeSet::new();
        for job in jobs {
            for turn in History::new(job.release, job.seed).turns {
                let player = turn.player.name();
                for family in &turn.settings.families {
                    written.insert((player, "table_factory", family.kind.factory().to_owned()));
                    for (name, value) in family.family.iter().chain(&family.table) {
                        for known in ["format_version", "checksum", "compression", "memtable_factory"] {
                            if name == known {
                                written.insert((player, known, value.clone()));
                            }
                        }
                    }
                }
            }
        }
        Self { written }
    }

    pub fn missing(&self, release: Release) -> Vec<String> {
        let mut missing = Vec::new();
        let tables = [TableKind::Block.factory(), TableKind::Plain.factory()];
        for player in [Player::Ferrock.name(), Player::RocksDb.name()] {
            let wanted = [
                ("format_version", release.format_versions()),
                ("checksum", &CHECKSUMS[..]),
                ("compression", &COMPRESSIONS[..]),
                ("memtable_factory", &MEMTABLES[..]),
                ("table_factory", &tables),
            ];
            for (name, values) in wanted {
                for value in values {
                    if !self.written.contains(&(player, name, (*value).to_owned())) {
                        missing.push(format!("{player} never has {name} = {value}"));
                    }
                }
            }
        }
        missing
    }
}
