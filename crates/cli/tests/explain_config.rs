//! `ferrock explain-config` from outside. The texts under `data/explain_config` are what it prints; they are written
//! with FERROCK_WRITE_DOCS=1.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::options::Profile;
use ferrock::{ColumnFamilyOptions, Db, DbOptions};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/explain_config")
}

/// Run in the directory of the texts, so that none names a place of this machine.
fn explain(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrock"));
    command.arg("explain-config").args(arguments).current_dir(data()).stdin(Stdio::null()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json_of(arguments: &[&str]) -> Value {
    let output = explain(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn golden(name: &str, arguments: &[&str]) {
    let output = explain(&[arguments, &["--cpus", "8"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let (text, path) = (stdout(&output), data().join(name));
    if std::env::var_os("FERROCK_WRITE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{name} is outdated: run this test with FERROCK_WRITE_DOCS=1, and read it");
}

#[test]
fn texts_for_people() {
    golden("defaults.txt", &["--options", "max_background_jobs=2"]);
    golden("balanced.txt", &["--profile", "balanced", "--data", "500GB", "--memory", "8GiB"]);
    golden("write_heavy.txt", &["--profile", "write-heavy", "--data", "1TB", "--value-size", "1KB"]);
    golden("tiny.txt", &["--profile", "tiny", "--data", "10GB", "--memory", "64MiB"]);
    golden("bulk_load.txt", &["--profile", "bulk-load", "--data", "100GB"]);
    golden("mistakes.txt", &["OPTIONS-000007", "--data", "300GB", "--memory", "1GiB"]);
}

#[test]
fn help_teaches() {
    let output = explain(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    for wanted in ["Examples:", "--profile", "--memory", "write-heavy", "Exit codes:", "--strict", "equal share"] {
        assert!(stdout(&output).contains(wanted), "{wanted}");
    }
}

#[test]
fn a_directory_is_its_newest_file() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = DbOptions::default();
    (options.create_if_missing, options.create_missing_column_families) = (true, true);
    let mut events = ColumnFamilyOptions::default();
    events.write_buffer_size = 1 << 20;
    let mut families = vec![("default".to_owned(), ColumnFamilyOptions::default()), ("events".to_owned(), events)];
    Profile::PointLookup.apply(&mut options, &mut families);
    Db::open_cf(directory.path(), options, families).unwrap().0.close().unwrap();
    let value = json_of(&[directory.path().to_str().unwrap(), "--data", "10GB"]);
    assert_eq!(value["families"][1]["name"], "events");
    assert_eq!(value["families"][1]["memtable_bytes_at_most"], 2 << 20);
    assert_eq!(value["families"][0]["tree"]["data_bytes"], 5_000_000_000_u64, "each has its share");
    let names: Vec<&str> =
        value["differences"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"data_block_index_type") && names.contains(&"write_buffer_size"), "{names:?}");
    let text = stdout(&explain(&[directory.path().to_str().unwrap()]));
    assert!(text.contains("Family default") && text.contains("Family events"), "{text}");
}

#[test]
fn figures_for_programs() {
    let value = json_of(&["OPTIONS-000007", "--data", "300GB", "--memory", "1GiB", "--cpus", "8"]);
    let codes: Vec<&str> =
        value["warnings"].as_array().unwrap().iter().map(|row| row["code"].as_str().unwrap()).collect();
    for wanted in
        ["memtables-over-memory", "level0-slowdown-below-trigger", "queue-drops-data", "open-files-below-tables"]
    {
        assert!(codes.contains(&wanted), "{wanted}: {codes:?}");
    }
    let holders = value["memory_bytes_at_most"]["holders"].as_object().unwrap();
    let sum: u64 = holders.values().map(|bytes| bytes.as_u64().unwrap()).sum();
    assert!(value["memory_bytes_at_most"]["all"].as_u64().unwrap().abs_diff(sum) < 10, "{value}");
    assert_eq!(value["asked"]["data_bytes"], 300_000_000_000_u64);
}

#[test]
fn exit_codes() {
    assert_eq!(explain(&["--profile", "balanced", "--strict", "--cpus", "8"]).status.code(), Some(0));
    let warned = explain(&["--profile", "bulk-load", "--strict", "--cpus", "8"]);
    assert_eq!(warned.status.code(), Some(3), "{warned:?}");
    assert!(stdout(&warned).contains("no-compactions"));

    let directory = tempfile::tempdir().unwrap();
    let empty = explain(&[directory.path().to_str().unwrap()]);
    assert_eq!(empty.status.code(), Some(2), "{empty:?}");
    assert!(String::from_utf8_lossy(&empty.stderr).contains("no OPTIONS file"), "{empty:?}");
    assert_eq!(explain(&["/no/such/place"]).status.code(), Some(2));
    let damaged = directory.path().join("OPTIONS-000009");
    std::fs::write(&damaged, "[DBOptions]\nthis is no statement\n").unwrap();
    let output = explain(&[directory.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("OPTIONS-000009"), "{output:?}");
}

#[test]
fn wrong_requests_say_what_to_do() {
    for (arguments, wanted) in [
        (&[][..], "required"),
        (&["--profile", "fast"], "bulk-load"),
        (&["--profile", "tiny", "--data", "many"], "begin with a number"),
        (&["--profile", "tiny", "--data", "0"], "above 0"),
        (&["--profile", "tiny", "--compression-ratio", "2"], "at most 1"),
        (&["--options", "no_such_option=1"], "no_such_option"),
        (&["--options", "compression=kNoSuch"], "compression"),
    ] {
        let output = explain(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {error}");
        assert!(error.contains(wanted), "{arguments:?}: {error}");
    }
}
