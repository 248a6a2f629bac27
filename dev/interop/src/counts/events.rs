//! What the LOG has of the history in its lines of JSON (`EVENT_LOG_v1`), by both libraries.
//!
//! An event is a row: its keys with their values, in the order in which the line has them, where what depends on the
//! moment, on memory or on numbers of files and jobs has no value. The rows of both must be the same, in any order:
//! two files of one job may be told of in either.

use crate::engine::Outcome;
use serde_json::Value;
use std::path::Path;

const MARK: &str = " EVENT_LOG_v1 ";

/// Values that are not compared.
const ANY: &[&str] = &[
    // Of the moment.
    "time_micros",
    "compaction_time_micros",
    "compaction_time_cpu_micros",
    "creation_time",
    "oldest_key_time",
    "newest_key_time",
    "file_creation_time",
    "db_id",
    "db_session_id",
    // Numbers of jobs and files, which each library gives out in its own order.
    "job",
    "file_number",
    "orig_file_number",
    "oldest_blob_file_number",
    "blob_file_head",
    "blob_file_tail",
    "wal_files",
    // The arena of a memtable, and how an entry lies in it: RocksDB counts the lengths of key and value, too.
    "memory_usage",
    "total_data_size",
    // Tables have other properties beside: the name of the host, for one.
    "file_size",
    "total_output_size",
    "input_data_size",
    // RocksDB counts range deletions among the records of a compaction.
    "num_input_records",
];

/// The rows of the LOG of a directory, sorted.
pub fn read(directory: &Path) -> Outcome<Vec<String>> {
    let mut rows = Vec::new();
    let entries = std::fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    for entry in entries.flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        if name != "LOG" && !name.starts_with("LOG.old.") {
            continue;
        }
        let bytes = std::fs::read(entry.path()).map_err(|error| format!("{name}: {error}"))?;
        for line in String::from_utf8_lossy(&bytes).lines() {
            let Some((_, json)) = line.split_once(MARK) else { continue };
            let value: Value = serde_json::from_str(json).map_err(|error| format!("{name}: {error}: {line}"))?;
            rows.push(row(json, &value)?);
        }
    }
    rows.sort();
    Ok(rows)
}

/// The values that count, in the order of the keys in `json`.
fn row(json: &str, value: &Value) -> Outcome<String> {
    let object = value.as_object().ok_or("an event that is no object")?;
    let mut members: Vec<(usize, String)> = Vec::new();
    for (key, value) in object {
        let at = json.find(&format!("\"{key}\": ")).ok_or_else(|| format!("{key} is not spelled as RocksDB does"))?;
        let text = match value {
            _ if ANY.contains(&&key[..]) => "*".to_owned(),
            Value::Object(_) => row(&json[at + key.len() + 4..], value)?,
            // Numbers of the files of a level: how many.
            Value::Array(list) if key.starts_with("files_L") => list.len().to_string(),
            other => other.to_string(),
        };
        members.push((at, format!("{key}={text}")));
    }
    members.sort();
    let members: Vec<String> = members.into_iter().map(|(_, text)| text).collect();
    Ok(members.join(" "))
}

/// The first difference of two lists of rows.
pub fn difference(theirs: &[String], ours: &[String]) -> Option<String> {
    let only = |of: &[String], other: &[String]| -> Vec<String> {
        let mut other = other.to_vec();
        let mut only = of.to_vec();
        only.retain(|row| match other.iter().position(|there| there == row) {
            Some(at) => {
                other.swap_remove(at);
                false
            }
            None => true,
        });
        only
    };
    let (theirs_only, ours_only) = (only(theirs, ours), only(ours, theirs));
    if theirs_only.is_empty() && ours_only.is_empty() {
        return None;
    }
    Some(format!(
        "the LOGs tell of different events; RocksDB alone:\n  {}\nFerrock alone:\n  {}",
        theirs_only.join("\n  "),
        ours_only.join("\n  ")
    ))
}
