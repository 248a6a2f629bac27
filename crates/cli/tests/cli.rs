//! The built binary, from outside: its output, its exit codes, the files it leaves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use hmac_sha256::Hash as Sha256;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn ferrock(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ferrock")).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("killed: {output:?}"))
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}

type Entry<'a> = (&'a [u8], &'a [u8]);

/// The canonical dump's hash.
fn sha256_of_entries(entries: &[Entry<'_>]) -> String {
    let mut hash = Sha256::new();
    for part in entries.iter().flat_map(|(key, value)| [key, value]) {
        hash.update(u32::try_from(part.len()).unwrap().to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Two families, one of them empty; `k2` is deleted, `long` has a value too long to show.
fn small_database(directory: &Path) {
    let mut options = ferrock::DbOptions::default();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    let family = |name: &str| (name.to_owned(), ferrock::ColumnFamilyOptions::default());
    let (db, families) =
        ferrock::Db::open_cf(directory, options, vec![family("default"), family("empty one")]).unwrap();
    assert_eq!(families.len(), 2);
    db.put(b"k1", b"v1").unwrap();
    db.put(b"k2", b"v2").unwrap();
    db.put(b"long", &[7; 49]).unwrap();
    db.flush().unwrap();
    db.delete(b"k2").unwrap();
    db.close().unwrap();
}

#[test]
fn help_teaches_with_examples() {
    let help = ferrock(&["--help"]);
    assert_eq!(code(&help), 0);
    for wanted in ["Examples:", "ferrock demo", "ferrock digest", "Exit codes:", "64"] {
        assert!(stdout(&help).contains(wanted), "{wanted}: {}", stdout(&help));
    }
    assert!(!stdout(&help).contains("demo-writer"), "the child's command is not shown");
    for command in ["demo", "digest"] {
        let help = ferrock(&[command, "--help"]);
        assert_eq!(code(&help), 0);
        assert!(stdout(&help).contains("Examples:") && stdout(&help).contains("Exit codes:"), "{command}");
    }
    assert_eq!(code(&ferrock(&["--version"])), 0);
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("db");
    small_database(&database);
    let keys = directory.path().join("keys");
    fs::write(&keys, "absent\t00\n").unwrap();
    let (database, keys) = (path_text(&database), path_text(&keys));
    let wrong: &[&[&str]] = &[
        &[],
        &["dance"],
        &["digest"],
        &["digest", database, "--wal-recovery-mode", "hope"],
        &["digest", database, "--keys", keys],
        &["demo", "--keys", "many"],
        &["demo", "--keys", "10"],
        &["demo", "--dir", path_text(directory.path())],
    ];
    for arguments in wrong {
        let output = ferrock(arguments);
        assert_eq!(code(&output), 64, "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
}

#[test]
fn digest_as_json() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("db");
    small_database(&database);
    let keys = directory.path().join("keys");
    fs::write(&keys, "default\t6b31\ndefault\t6b32\ndefault\t6c6f6e67\nempty one\t\n").unwrap();
    let before = fs::read_dir(&database).unwrap().count();
    let output = ferrock(&["digest", path_text(&database), "--json", "--keys", path_text(&keys)]);
    assert_eq!(code(&output), 0, "{output:?}");
    let long_value = [7; 49];
    let k1: Entry = (b"k1", b"v1");
    let long: Entry = (b"long", &long_value);
    let empty = json!({"status": "OK", "count": 0, "key_bytes": 0, "value_bytes": 0, "sha256": sha256_of_entries(&[])});
    let scan = |entries: &[Entry<'_>], first: &str, last: &str| {
        json!({"status": "OK", "count": 2, "key_bytes": 6, "value_bytes": 51, "sha256": sha256_of_entries(entries),
               "first_key_hex": first, "last_key_hex": last})
    };
    let long_hash: String = Sha256::hash(&long_value).iter().map(|byte| format!("{byte:02x}")).collect();
    let wanted = json!({
        "open": {"status": "OK"},
        "latest_sequence_number": 4,
        "column_families": [
            {
                "name": "default",
                "comparator": "leveldb.BytewiseComparator",
                "scan": scan(&[k1, long], "6b31", "6c6f6e67"),
                "reverse_scan": scan(&[long, k1], "6c6f6e67", "6b31"),
                "gets": [
                    {"key_hex": "6b31", "status": "OK", "value_len": 2, "value_hex": "7631"},
                    {"key_hex": "6b32", "status": "NotFound"},
                    {"key_hex": "6c6f6e67", "status": "OK", "value_len": 49, "value_sha256": long_hash},
                ],
            },
            {
                "name": "empty one",
                "comparator": "leveldb.BytewiseComparator",
                "scan": empty,
                "reverse_scan": empty,
                "gets": [{"key_hex": "", "status": "NotFound"}],
            },
        ],
    });
    assert_eq!(json_of(&output), wanted);
    assert_eq!(fs::read_dir(&database).unwrap().count(), before, "a digest leaves nothing behind");
}

#[test]
fn digest_for_people() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("db");
    small_database(&database);
    let mut child = Command::new(env!("CARGO_BIN_EXE_ferrock"))
        .args(["digest", path_text(&database), "--keys", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"default\t6b31\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0);
    let long_value = [7; 49];
    let hash = sha256_of_entries(&[(b"k1", b"v1"), (b"long", &long_value)]);
    for wanted in ["default", "empty one", &hash, "Lookups in default", "v1"] {
        assert!(stdout(&output).contains(wanted), "{wanted}: {}", stdout(&output));
    }
}

#[test]
fn digest_of_what_does_not_open() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("nothing");
    let output = ferrock(&["digest", path_text(&missing), "--json"]);
    assert_eq!(code(&output), 2, "{output:?}");
    let report = json_of(&output);
    assert_ne!(report["open"]["status"], "OK");
    assert_eq!(report["column_families"], json!([]));
    assert!(!missing.exists(), "a digest creates nothing");

    let database = directory.path().join("db");
    small_database(&database);
    fs::write(database.join("CURRENT"), "\n").unwrap();
    let output = ferrock(&["digest", path_text(&database), "--json"]);
    assert_eq!((code(&output), json_of(&output)["open"]["status"].as_str()), (2, Some("Corruption")));
    let output = ferrock(&["digest", path_text(&database)]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("CURRENT"), "the file is named: {}", stderr(&output));
}

#[test]
fn digest_of_damage() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("db");
    small_database(&database);
    let table = fs::read_dir(&database).unwrap().map(|entry| entry.unwrap().path());
    let table = table.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "sst")).unwrap();
    let mut content = fs::read(&table).unwrap();
    content[8] ^= 1;
    fs::write(&table, content).unwrap();
    let output = ferrock(&["digest", path_text(&database), "--json"]);
    assert_eq!(code(&output), 1, "{output:?}");
    let family = &json_of(&output)["column_families"][0];
    assert_eq!(family["scan"]["status"], "Corruption");
    assert!(family["scan"]["message"].as_str().unwrap().contains(".sst"), "{family}");
}

#[test]
fn digest_obeys_the_recovery_mode() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("db");
    small_database(&database);
    let logs = fs::read_dir(&database).unwrap().map(|entry| entry.unwrap().path());
    let mut logs: Vec<_> = logs.filter(|path| path.extension().is_some_and(|extension| extension == "log")).collect();
    logs.sort();
    let log = logs.iter().rfind(|log| fs::metadata(log).unwrap().len() > 0).unwrap();
    // The log holds the deletion of k2; without its last byte the record is torn.
    let content = fs::read(log).unwrap();
    let end = content.iter().rposition(|byte| *byte != 0).unwrap();
    fs::write(log, &content[..end]).unwrap();
    let status = |mode: &str| {
        let output = ferrock(&["digest", path_text(&database), "--json", "--wal-recovery-mode", mode]);
        (code(&output), json_of(&output)["column_families"][0]["scan"]["count"].as_u64())
    };
    assert_eq!(status("point_in_time"), (0, Some(3)));
    assert_eq!(status("tolerate_corrupted_tail_records"), (0, Some(3)));
    assert_eq!(status("skip_any_corrupted_records"), (0, Some(3)));
    assert_eq!(status("absolute_consistency"), (2, None));
}

#[test]
fn demo_keeps_its_promises() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path().join("work");
    let output = ferrock(&["demo", "--keys", "20000", "--json", "--seed", "3", "--dir", path_text(&work)]);
    assert_eq!(code(&output), 0, "{output:?}");
    let report = json_of(&output);
    assert_eq!(report["status"], "OK");
    let acknowledged = report["acknowledged_keys"].as_u64().unwrap();
    assert!((10_000..20_000).contains(&acknowledged), "killed halfway: {acknowledged}");
    assert_eq!(report["after_kill"]["looked_up"], acknowledged);
    assert!(report["after_kill"]["found"].as_u64().unwrap() >= acknowledged);
    assert_eq!(report["at_the_end"]["found"], 20_000);
    for member in ["missing", "wrong", "unexpected", "torn_batches", "out_of_order"] {
        assert_eq!((&report["after_kill"][member], &report["at_the_end"][member]), (&json!(0), &json!(0)), "{member}");
    }
    for counter in ["flushes", "compactions", "file_log_bytes", "file_table_bytes", "wal_us", "wal_syncs"] {
        assert!(report["counters"][counter].as_u64().unwrap() > 0, "{counter}: {}", report["counters"]);
    }
    let write_amplification = report["amplification"][0]["after"].as_f64().unwrap();
    assert!((1.0..20.0).contains(&write_amplification), "{write_amplification}");
    assert_eq!(report["levels_after"].as_array().unwrap().len(), 1, "everything is compacted: {report}");
    assert!(!work.exists(), "the demo removes its directory");
}

#[test]
fn demo_leaves_a_database_behind_when_asked() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["demo", "--keys", "5000", "--value-size", "20", "--keep", "--dir", path_text(directory.path())];
    let output = ferrock(&arguments);
    assert_eq!(code(&output), 0, "{output:?}");
    for wanted in ["kill -9", "promise kept", "level", "amplification", "where the time went", "keys per second"] {
        assert!(stdout(&output).contains(wanted), "{wanted}: {}", stdout(&output));
    }
    let digest = ferrock(&["digest", path_text(&directory.path().join("db")), "--json"]);
    assert_eq!(code(&digest), 0);
    let scan = &json_of(&digest)["column_families"][0]["scan"];
    assert_eq!(
        (&scan["count"], &scan["key_bytes"], &scan["value_bytes"]),
        (&json!(5000), &json!(80_000), &json!(100_000))
    );
}
