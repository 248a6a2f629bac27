//! `ferrock trace` and `ferrock replay`: what they print, what they make, and exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions, TraceOptions, WriteBatch, WriteOptions};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

#[track_caller]
fn ferrock(arguments: &[&str], code: i32) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ferrock")).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn ferrock_json(arguments: &[&str], code: i32) -> Value {
    serde_json::from_str(&ferrock(&[arguments, &["--json"]].concat(), code).0).unwrap()
}

fn open(path: &Path) -> Db {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let db = Db::open(path, options).unwrap();
    db.create_column_family("one", ColumnFamilyOptions::default()).unwrap();
    db
}

/// A trace of two batches, a get, two seeks and a multi-get.
fn make_trace(directory: &Path) -> String {
    let db = open(&directory.join("db"));
    let path = directory.join("trace");
    db.start_trace(&path, TraceOptions::default()).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"key", b"value").unwrap();
    batch.put(b"kez", b"value").unwrap();
    batch.delete_cf(1, b"other").unwrap();
    db.write(batch, &WriteOptions::default()).unwrap();
    db.write(WriteBatch::new(), &WriteOptions::default()).unwrap();
    db.get(b"key\xff").unwrap();
    let bounds = ReadOptions { lower_bound: Some(b"a".to_vec()), ..ReadOptions::default() };
    db.iter(&bounds).seek(b"k");
    db.iter(&ReadOptions::default()).seek_for_prev(b"a");
    drop(db.multi_get(&[b"key", b"missing"]));
    db.end_trace().unwrap();
    db.close().unwrap();
    path.display().to_string()
}

#[test]
fn a_trace_is_told_by_kind_and_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let trace = make_trace(directory.path());
    let told = ferrock_json(&["trace", &trace], 0);
    assert_eq!((&told["operations"], &told["is_complete"], &told["damage"]), (&6.into(), &true.into(), &Value::Null));
    let rows: Vec<Value> = told["by_kind"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            json!([
                row["operation"],
                row["family"],
                row["operations"],
                row["keys"],
                row["key_bytes"],
                row["value_bytes"]
            ])
        })
        .collect();
    let expected = json!([
        ["delete", 1, 1, 1, 5, 0],
        ["empty batch", 0, 1, 0, 0, 0],
        ["get", 0, 1, 1, 4, 0],
        ["multi_get", 0, 1, 2, 10, 0],
        ["put", 0, 1, 2, 6, 10],
        ["seek", 0, 1, 1, 1, 0],
        ["seek_for_prev", 0, 1, 1, 1, 0],
    ]);
    assert_eq!(Value::from(rows), expected);
    let (text, _) = ferrock(&["trace", &trace], 0);
    assert!(text.contains("multi_get") && text.contains("6 operations in "), "{text}");

    let (lines, _) = ferrock(&["trace", &trace, "--operations"], 0);
    let lines: Vec<&str> = lines.lines().map(|line| line[13..].trim()).collect();
    assert_eq!(lines[0], "write      3 entries, 42 bytes", "{lines:?}");
    assert!(lines[2].starts_with("get        family 0 key"), "{lines:?}");
    assert_eq!(lines[3], "seek       family 0 k within [a, )");
    assert_eq!(lines[5], "multi-get  family 0 key, family 0 missing");
    let (lines, _) = ferrock(&["trace", &trace, "--operations", "--limit", "4", "--json"], 0);
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(lines.lines().count(), 4);
    assert_eq!((&last["operation"], &last["key"], &last["lower"]), (&"seek".into(), &"k".into(), &"a".into()));
}

#[test]
fn a_replay_writes_what_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let trace = make_trace(directory.path());
    let copy = directory.path().join("copy");
    open(&copy).close().unwrap();
    let copy = copy.display().to_string();
    let told = ferrock_json(&["replay", &trace, &copy, "--speed", "max", "--threads", "2"], 0);
    assert_eq!((&told["operations"], &told["writes"], &told["multi_get_keys"]), (&6.into(), &2.into(), &2.into()));
    let (digest, _) = ferrock(&["digest", &copy], 0);
    assert_eq!(digest, ferrock(&["digest", &directory.path().join("db").display().to_string()], 0).0);
    let (text, _) = ferrock(&["replay", &trace, &copy, "--speed", "1000"], 0);
    assert!(text.contains("6 operations in ") && text.contains("2 writes"), "{text}");
}

#[test]
fn damage_and_mistakes_have_their_exit_codes() {
    let directory = tempfile::tempdir().unwrap();
    let trace = make_trace(directory.path());
    let copy = directory.path().join("copy");
    open(&copy).close().unwrap();
    let copy = copy.display().to_string();
    let bytes = std::fs::read(&trace).unwrap();
    std::fs::write(&trace, &bytes[..bytes.len() - 13]).unwrap();
    let (text, _) = ferrock(&["trace", &trace], 0);
    assert!(text.contains("6 operations") && text.contains("the trace has no end"), "{text}");
    // The length of the key of the get, which is behind 104 bytes of the first frame and the two batches.
    let mut damaged = bytes.clone();
    let at = damaged.windows(4).position(|window| window == b"key\xff").unwrap() - 1;
    damaged[at] = 9;
    std::fs::write(&trace, &damaged).unwrap();
    let told = ferrock_json(&["trace", &trace], 1);
    assert_eq!(told["operations"], 2);
    assert!(told["damage"].as_str().unwrap().contains(&trace), "{told}");
    let (_, error) = ferrock(&["replay", &trace, &copy, "--speed", "max"], 1);
    assert!(error.contains(&trace) && error.contains("key"), "{error}");
    std::fs::write(&trace, b"something else").unwrap();
    ferrock(&["trace", &trace], 1);
    ferrock(&["trace", "/no/such/trace"], 2);
    ferrock(&["replay", &trace, "/no/such/db"], 1);
    for arguments in [&["replay", "t", "d", "--speed", "0"][..], &["replay", "t", "d", "--threads", "0"], &["trace"]] {
        ferrock(arguments, 64);
    }
}
