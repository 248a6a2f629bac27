//! What is printed.

use crate::alike::AlikeResult;
use crate::answers::{self, AnswersResult};
use crate::counts::Count;
use crate::engine::Outcome;
use crate::fetch::Fetched;
use crate::golden::{self, GoldenResult};
use crate::rewritings::Rewriting;
use crate::runner::HistoryResult;
use crate::settings::{Release, TableKind};
use crate::tables::{self, CaseJob, CaseResult, factors};
use comfy_table::{Table, presets};
use serde_json::{Value, json};
use std::time::Duration;

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY).set_header(header);
    table
}

/// Where the libraries are.
pub fn fetched(fetched: &Fetched, json: bool) {
    let rows = [("11.8.1", &fetched.current), ("7.8.3", &fetched.old), ("ldb 7.8.3", &fetched.ldb)];
    if json {
        let object: serde_json::Map<_, _> =
            rows.iter().map(|(name, path)| ((*name).to_owned(), json!(path.display().to_string()))).collect();
        println!("{}", Value::Object(object));
        return;
    }
    for (name, path) in rows {
        println!("{name:10} {}", path.display());
    }
}

/// The last line of a worker; true when it is no failure.
pub fn said(outcome: Outcome<Value>) -> bool {
    match outcome {
        Ok(value) => {
            println!("{value}");
            true
        }
        Err(failure) => {
            println!("{}", json!({ "failure": failure }));
            false
        }
    }
}

/// Counts of both libraries; true when those differ that are said to.
pub fn counts(counts: &[Count], json: bool) -> bool {
    let wrong: Vec<&Count> = counts.iter().filter(|count| !count.is_right()).collect();
    if json {
        let row = |count: &Count| json!({"name": count.name, "rocksdb": count.rocksdb, "ferrock": count.ferrock, "reason": count.reason});
        println!("{}", json!({"counts": counts.iter().map(row).collect::<Vec<_>>(), "wrong": wrong.len()}));
        return wrong.is_empty();
    }
    let differ = counts.iter().filter(|count| count.rocksdb != count.ferrock).count();
    println!(
        "counts: {} compared, {differ} differ, {} of them or of those listed without reason",
        counts.len(),
        wrong.len()
    );
    if !wrong.is_empty() {
        let mut table = table(["count", "Ferrock", "RocksDB", ""]);
        for count in &wrong {
            let fault = if count.reason.is_some() { "is listed and does not differ" } else { "is not listed" };
            table.add_row([&count.name, &count.ferrock.to_string(), &count.rocksdb.to_string(), fault]);
        }
        println!("{table}");
    }
    wrong.is_empty()
}

/// Histories; true when none failed and nothing is missing.
pub fn histories(results: &[HistoryResult], missing: &[String], took: Duration, json: bool) -> bool {
    let failed = results.iter().filter(|result| result.failure.is_some()).count();
    if json {
        let histories: Vec<Value> = results
            .iter()
            .map(|result| {
                json!({"release": result.release, "seed": result.seed, "turns": result.turns, "kills": result.kills,
                       "comparisons": result.comparisons, "failure": result.failure})
            })
            .collect();
        println!(
            "{}",
            json!({"histories": histories, "failed": failed, "not_covered": missing,
                              "seconds": took.as_secs_f64()})
        );
        return failed == 0 && missing.is_empty();
    }
    let mut table = table(["RocksDB", "histories", "turns", "killed", "comparisons", "failed"]);
    for release in ["11.8.1", "7.8.3"] {
        let of: Vec<_> = results.iter().filter(|result| result.release == release).collect();
        if of.is_empty() {
            continue;
        }
        table.add_row([
            release.to_owned(),
            of.len().to_string(),
            of.iter().map(|result| result.turns).sum::<usize>().to_string(),
            of.iter().map(|result| result.kills).sum::<usize>().to_string(),
            of.iter().map(|result| result.comparisons).sum::<u64>().to_string(),
            of.iter().filter(|result| result.failure.is_some()).count().to_string(),
        ]);
    }
    println!("{table}");
    for result in results {
        if let Some(failure) = &result.failure {
            println!("FAILED: RocksDB {}, seed {}: {failure}", result.release, result.seed);
            println!("  again: interop histories --seeds {} --release {}", result.seed, result.release);
        }
    }
    for what in missing {
        println!("NOT COVERED: {what}");
    }
    println!("histories: {} of {} agree, in {:.1} s", results.len() - failed, results.len(), took.as_secs_f64());
    failed == 0 && missing.is_empty()
}

/// Databases of combined options; true when none failed and, if it `is_whole`, every pair of values was there.
pub fn tables(jobs: &[CaseJob], results: &[CaseResult], is_whole: bool, took: Duration, json: bool) -> bool {
    let mut releases = Vec::new();
    let mut rows = table([
        "RocksDB",
        "kind",
        "databases",
        "tables",
        "comparisons",
        "sst_dump 7.8.3",
        "most partitions",
        "pairs",
        "failed",
    ]);
    let mut is_good = true;
    let kinds = [TableKind::Block, TableKind::Plain];
    for (kind, release) in kinds.into_iter().flat_map(|kind| [(kind, Release::Current), (kind, Release::Old)]) {
        let is_of = |job: &CaseJob| job.release == release && job.kind == kind;
        let of: Vec<_> = jobs.iter().zip(results).filter(|(job, _)| is_of(job)).map(|(_, r)| r).collect();
        if of.is_empty() {
            continue;
        }
        let sum = |count: fn(&CaseResult) -> u64| of.iter().map(|result| count(result)).sum::<u64>();
        let failed = of.iter().filter(|result| result.failure.is_some()).count();
        let (covered, all) = tables::covered(jobs, kind, release);
        let most = of.iter().map(|result| result.most_partitions).max().unwrap_or(0);
        // Hundreds of partitions are part of the promise.
        is_good &= failed == 0 && (!is_whole || covered == all && (kind == TableKind::Plain || most >= 200));
        let (verified, compared) = (sum(|result| result.verified_by_old), sum(|result| result.comparisons));
        releases.push(json!({"release": release.name(), "kind": kind.name(), "databases": of.len(), "tables": sum(|result| result.tables),
            "comparisons": compared, "verified_by_sst_dump": verified, "most_partitions": most,
            "pairs": covered, "all_pairs": all, "failed": failed}));
        rows.add_row([
            release.name().to_owned(),
            kind.name().to_owned(),
            of.len().to_string(),
            sum(|result| result.tables).to_string(),
            compared.to_string(),
            verified.to_string(),
            most.to_string(),
            format!("{covered} of {all}"),
            failed.to_string(),
        ]);
    }
    let failures: Vec<(usize, &CaseJob, &String)> = jobs
        .iter()
        .zip(results)
        .enumerate()
        .filter_map(|(number, (job, result))| Some((number, job, result.failure.as_ref()?)))
        .collect();
    if json {
        let failures: Vec<Value> = failures
            .iter()
            .map(
                |(number, job, failure)| json!({"release": job.release.name(), "kind": job.kind.name(), "database": number, "failure": failure}),
            )
            .collect();
        println!("{}", json!({"releases": releases, "failures": failures, "seconds": took.as_secs_f64()}));
        return is_good;
    }
    println!("{rows}");
    for (_, job, failure) in &failures {
        println!("FAILED: RocksDB {}: {failure}", job.release.name());
        for row in &job.rows {
            println!("  family: {}", factors::describe(job.kind, job.release, row));
        }
        let same = jobs.iter().filter(|other| other.release == job.release && other.kind == job.kind);
        let number = same.take_while(|other| !std::ptr::eq(*other, *job)).count();
        println!("  again: interop tables --release {} {}", job.release.name(), job.again(number));
    }
    println!(
        "tables: {} of {} databases agree, in {:.1} s",
        results.len() - failures.len(),
        results.len(),
        took.as_secs_f64()
    );
    is_good
}

/// Golden databases that were rewritten twice; true when nothing differs that may not.
pub fn rewritings(results: &[Rewriting], took: Duration, json: bool) -> bool {
    let failed = results.iter().filter(|result| result.failure.is_some()).count();
    if json {
        let rows: Vec<Value> = results
            .iter()
            .map(|result| {
                json!({"database": result.name, "tables": result.tables, "properties": result.properties,
                       "equal": result.equal, "sizes": result.sizes, "allowed": result.allowed, "failure": result.failure})
            })
            .collect();
        println!("{}", json!({"rewritings": rows, "failed": failed, "seconds": took.as_secs_f64()}));
        return failed == 0;
    }
    let mut rows = table(["golden database", "tables", "properties", "equal", "follow the compressor", "allowed"]);
    for result in results {
        rows.add_row([
            result.name.clone(),
            result.tables.to_string(),
            result.properties.to_string(),
            result.equal.to_string(),
            result.sizes.len().to_string(),
            result.allowed.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        ]);
    }
    println!("{rows}");
    let reasons: std::collections::BTreeSet<_> = results.iter().flat_map(|result| &result.allowed).collect();
    for (name, reason) in reasons {
        println!("allowed: {name}: {reason}");
    }
    for result in results {
        if let Some(failure) = &result.failure {
            println!("FAILED: {}: {failure}", result.name);
        }
    }
    println!("rewritings: {} of {} are alike, in {:.1} s", results.len() - failed, results.len(), took.as_secs_f64());
    failed == 0
}

/// Golden databases; true when all are as the lists say.
pub fn golden(results: &[GoldenResult], took: Duration, json: bool) -> bool {
    let surprises = golden::surprises(results);
    let exceptions = golden::known_exceptions(results);
    let rewritten = results.iter().filter(|result| result.rewritten.is_ok()).count();
    let checked = results.iter().filter(|result| matches!(result.ldb, Some(Ok(())))).count();
    if json {
        let exceptions: Vec<Value> = exceptions
            .iter()
            .map(|(name, what, reason)| json!({"database": name, "what": what, "reason": reason}))
            .collect();
        println!(
            "{}",
            json!({"databases": results.len(), "rewritten_and_equal": rewritten, "consistent_by_ldb": checked,
                              "exceptions": exceptions, "surprises": surprises, "seconds": took.as_secs_f64()})
        );
        return surprises.is_empty();
    }
    if !exceptions.is_empty() {
        let mut table = table(["golden database", "what", "why"]);
        for (name, what, reason) in exceptions {
            table.add_row([name, what.to_owned(), reason.to_owned()]);
        }
        println!("{table}");
    }
    for surprise in &surprises {
        println!("FAILED: {surprise}");
    }
    println!(
        "golden databases: of {}, {rewritten} rewritten by Ferrock read the same in RocksDB 11.8.1, and ldb 7.8.3 finds \
         {checked} consistent; {:.1} s",
        results.len(),
        took.as_secs_f64()
    );
    surprises.is_empty()
}

/// Histories under many sets of options; true when every answer was RocksDB's.
pub fn alike(results: &[AlikeResult], took: Duration, json: bool) -> bool {
    let failed = results.iter().filter(|result| result.failure.is_some()).count();
    if json {
        let histories = results
            .iter()
            .map(|result| json!({"seed": result.seed, "answers": result.answers, "failure": result.failure}));
        println!("{}", json!({"alike": histories.collect::<Vec<_>>(), "seconds": took.as_secs_f64()}));
        return failed == 0;
    }
    for result in results {
        if let Some(failure) = &result.failure {
            println!("FAILED: seed {}: {failure}\n  again: interop alike --seeds {}", result.seed, result.seed);
        }
    }
    let answers: usize = results.iter().map(|result| result.answers).sum();
    println!(
        "alike: {} of {} histories, {answers} answers as RocksDB's, in {:.1} s",
        results.len() - failed,
        results.len(),
        took.as_secs_f64()
    );
    failed == 0
}

/// Answers of both libraries; true when none differs that is not known to.
pub fn answers(results: &[AnswersResult], took: Duration, json: bool) -> bool {
    let failed = results.iter().filter(|result| !result.differences.is_empty()).count();
    let answers: u64 = results.iter().map(|result| result.answers).sum();
    let not_seen = answers::not_seen(results);
    if json {
        let differing = results.iter().filter(|result| !result.differences.is_empty());
        let differing = differing.map(|result| json!({"seed": result.seed, "differences": result.differences}));
        println!(
            "{}",
            json!({"answers": answers, "differing": differing.collect::<Vec<_>>(), "not_seen": not_seen,
                   "seconds": took.as_secs_f64()})
        );
        return failed == 0 && not_seen.is_empty();
    }
    for result in results {
        for difference in &result.differences {
            println!("answers of seed {}: {difference}", result.seed);
        }
    }
    for about in &not_seen {
        println!("a known difference was not seen: {about}");
    }
    println!(
        "answers: {answers} compared, {failed} of {} seeds with differences; {:.1} s",
        results.len(),
        took.as_secs_f64()
    );
    failed == 0 && not_seen.is_empty()
}
