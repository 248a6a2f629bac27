//! What is printed.

use crate::engine::Outcome;
use crate::fetch::Fetched;
use crate::golden::{self, GoldenResult};
use crate::runner::HistoryResult;
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
