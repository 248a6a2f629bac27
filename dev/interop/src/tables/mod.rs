//! Tables of every combination of options that decides what a table is like.
//!
//! Rows of values ([`factors`]) are generated so that any two values that go together do so in some row ([`pairs`]),
//! more rows at random. Two rows make a database of two families ([`case`]): Ferrock and RocksDB write the same to a
//! directory each, read each other's, and the properties of their tables are equal. `sst_dump --command=verify` of
//! 7.8.3 looks at Ferrock's tables where 7.8.3 reads them.

pub mod case;
pub mod factors;
pub mod pairs;
mod plain;

use crate::engine::FAMILIES;
use crate::fetch::Fetched;
use crate::random::Random;
use crate::runner::{Ended, in_parallel, run_self};
use crate::settings::{Release, TableKind};
use factors::Row;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;

/// Two rows, to be a database.
pub struct CaseJob {
    pub release: Release,
    pub kind: TableKind,
    pub seed: u64,
    pub rows: Vec<Row>,
    is_random: bool,
}

impl CaseJob {
    /// The arguments that play it again, when it is the `number`th with its release and kind.
    pub fn again(&self, number: usize) -> String {
        let kind = self.kind.name();
        if self.is_random {
            format!("--kind {kind} --seeds {}", self.seed)
        } else {
            format!("--kind {kind} --only {number}")
        }
    }
}

/// What became of a database.
#[derive(Default)]
pub struct CaseResult {
    pub tables: u64,
    pub verified_by_old: u64,
    pub comparisons: u64,
    pub most_partitions: u64,
    pub failure: Option<String>,
}

/// Databases with all pairs of values, in two families each.
pub fn pairwise(kind: TableKind, release: Release) -> Vec<CaseJob> {
    let mut rows = pairs::rows(kind, release);
    if kind == TableKind::Block {
        rows.extend([pairs::of_many_partitions(release), pairs::of_many_partitions(release)]);
    }
    if !rows.len().is_multiple_of(FAMILIES.len()) {
        rows.extend(rows.first().cloned());
    }
    let databases = rows.chunks_exact(FAMILIES.len()).enumerate();
    databases
        .map(|(number, rows)| CaseJob { release, kind, seed: number as u64, rows: rows.to_vec(), is_random: false })
        .collect()
}

/// Databases of random values.
pub fn random(kind: TableKind, release: Release, seeds: RangeInclusive<u64>) -> Vec<CaseJob> {
    let case = |seed| {
        let mut random = Random::new(seed ^ 0x7ab1e);
        let rows = FAMILIES.iter().map(|_| pairs::random_row(kind, release, &mut random)).collect();
        CaseJob { release, kind, seed, rows, is_random: true }
    };
    seeds.map(case).collect()
}

/// The pairs of values that were tried, and all that there are.
pub fn covered(jobs: &[CaseJob], kind: TableKind, release: Release) -> (usize, usize) {
    let rows = jobs.iter().filter(|job| job.release == release && job.kind == kind).flat_map(|job| &job.rows);
    (rows.flat_map(pairs::of_row).collect::<BTreeSet<_>>().len(), pairs::all(kind, release).len())
}

/// Plays all.
pub fn run(fetched: &Fetched, scratch: &Path, jobs: &[CaseJob]) -> Vec<CaseResult> {
    let numbered: Vec<(usize, &CaseJob)> = jobs.iter().enumerate().collect();
    in_parallel("databases", &numbered, |(number, job)| {
        let directory = scratch.join(format!("{}-{number}", job.release.name()));
        let mut result = CaseResult::default();
        match play(fetched, &directory, job, &mut result) {
            Ok(()) => drop(std::fs::remove_dir_all(&directory)),
            Err(error) => result.failure = Some(format!("{error}\n  directory: {}", directory.display())),
        }
        result
    })
}

fn play(fetched: &Fetched, directory: &Path, job: &CaseJob, result: &mut CaseResult) -> Result<(), String> {
    crate::runner::prepare(directory)?;
    let mut arguments = vec!["tables-case".to_owned()];
    let mut add = |name: &str, value: String| arguments.extend([format!("--{name}"), value]);
    add("release", job.release.name().to_owned());
    add("kind", job.kind.name().to_owned());
    add("library", fetched.library(job.release).display().to_string());
    add("rows", rows_to_text(&job.rows));
    add("seed", job.seed.to_string());
    add("directory", directory.display().to_string());
    let Ended { lines, errors, status, .. } = run_self(&arguments)?;
    let said = match lines.last() {
        Some(said) if status.success() => said,
        Some(said) if said["failure"].is_string() => return Err(said["failure"].as_str().unwrap_or("").to_owned()),
        _ => {
            return Err(format!(
                "the process ended by itself ({status}): {errors}; arguments: {}",
                arguments.join(" ")
            ));
        }
    };
    let number = |member: &str| said[member].as_u64().unwrap_or(0);
    (result.tables, result.comparisons) = (number("tables"), number("comparisons"));
    result.most_partitions = number("most_partitions");
    for table in said["for_old"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64) {
        verify_by_old(fetched, &directory.join(case::OURS).join(format!("{table:06}.sst")))?;
        result.verified_by_old += 1;
    }
    Ok(())
}

fn verify_by_old(fetched: &Fetched, table: &Path) -> Result<(), String> {
    let mut tool = Command::new(fetched.ldb.with_file_name("sst_dump"));
    tool.arg("--command=verify").arg(format!("--file={}", table.display()));
    if let Some(place) = fetched.old.parent() {
        tool.env("LD_LIBRARY_PATH", place);
    }
    let output = tool.output().map_err(|error| format!("cannot run sst_dump: {error}"))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    // It ends with status 0 whatever it finds.
    if output.status.success() && said.contains("The file is ok") {
        Ok(())
    } else {
        Err(format!("sst_dump 7.8.3: {said}"))
    }
}

fn rows_to_text(rows: &[Row]) -> String {
    let row = |row: &Row| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    rows.iter().map(row).collect::<Vec<_>>().join(";")
}

/// The inverse of what the arguments of a process say.
pub fn rows_from_text(kind: TableKind, release: Release, text: &str) -> Result<Vec<Row>, String> {
    let row = |text: &str| -> Result<Row, String> {
        let numbers =
            text.split(',').map(|number| number.parse::<usize>().map_err(|error| format!("{number}: {error}")));
        let row = numbers.collect::<Result<Row, String>>()?;
        let fits = row.len() == factors::of_kind(kind).len()
            && row.iter().zip(factors::of_kind(kind)).all(|(value, factor)| *value < factor.values(release).len());
        if fits { Ok(row) } else { Err(format!("{text} is no row")) }
    };
    text.split(';').map(row).collect()
}
