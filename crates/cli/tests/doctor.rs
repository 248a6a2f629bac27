//! `ferrock doctor`, `ferrock repair` and `ldb repair` from outside: output and exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::{Db, DbOptions};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn run(program: &str, arguments: &[&str], code: i32) -> String {
    let Output { status, stdout, stderr } = Command::new(program).args(arguments).output().unwrap();
    let text = String::from_utf8([stdout, stderr].concat()).unwrap();
    assert_eq!(status.code(), Some(code), "{arguments:?}: {text}");
    text
}

fn ferrock(arguments: &[&str], code: i32) -> String {
    run(env!("CARGO_BIN_EXE_ferrock"), arguments, code)
}

/// A database with a table, and a row in a log.
fn fill(path: &Path) {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.avoid_flush_during_shutdown = true;
    let db = Db::open(path, options).unwrap();
    for number in 0..2000 {
        db.put(format!("key{number:05}").as_bytes(), &[b'v'; 50]).unwrap();
    }
    db.flush().unwrap();
    db.put(b"later", b"in the log").unwrap();
    db.close().unwrap();
}

fn read(path: &Path, key: &[u8]) -> Option<Vec<u8>> {
    Db::open(path, DbOptions::default()).unwrap().get(key).unwrap().map(|value| value.to_vec())
}

#[test]
fn a_sound_database_and_a_damaged_one() {
    let directory = tempfile::tempdir().unwrap();
    let (db, copy) = (directory.path().join("db"), directory.path().join("copy"));
    fill(&db);
    let (path, into) = (db.display().to_string(), copy.display().to_string());
    assert!(ferrock(&["doctor", &path], 0).contains("Nothing is damaged."));
    let names = std::fs::read_dir(&db).unwrap().map(|entry| entry.unwrap().path());
    let table = names.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "sst")).unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&table, bytes).unwrap();
    let text = ferrock(&["doctor", &path], 1);
    assert!(text.contains("damaged at offset 0") && text.contains("loses in default: the first key to"), "{text}");
    let json: Value = serde_json::from_str(&ferrock(&["doctor", &path, "--json"], 1)).unwrap();
    assert_eq!(json["damaged"], true);
    assert!(json["remedies"]["repair"]["entries_lost"].as_u64().unwrap() > 0);
    let text = ferrock(&["repair", &path, "--into", &into], 1);
    assert!(text.contains("is repaired: 2 tables, 2 of them written anew"), "{text}");
    assert!(ferrock(&["doctor", &into], 0).contains("Nothing is damaged."));
    assert_eq!(read(&copy, b"later").as_deref(), Some(&b"in the log"[..]));
    assert_eq!(read(&copy, b"key01999").as_deref(), Some(&[b'v'; 50][..]));
    assert!(ferrock(&["repair", &path, "--into", &into], 2).contains("exists"));
    ferrock(&["doctor", &directory.path().join("nothing").display().to_string()], 2);
}

#[test]
fn ldb_repairs_as_the_tool_of_rocksdb_does() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("db");
    fill(&db);
    std::fs::remove_file(db.join("CURRENT")).unwrap();
    let argument = format!("--db={}", db.display());
    assert_eq!(run(env!("CARGO_BIN_EXE_ldb"), &["repair", &argument], 0), "OK\n");
    assert_eq!(read(&db, b"later").as_deref(), Some(&b"in the log"[..]));
    assert!(db.join("lost").exists());
}
