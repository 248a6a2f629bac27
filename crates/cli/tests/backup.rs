//! Copies from outside: `ferrock checkpoint`, `backup`, `backups`, `restore`, those of `ldb`; output and exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::{Db, DbOptions};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

#[track_caller]
fn ferrock(arguments: &[&str], code: i32) -> String {
    let output = run(env!("CARGO_BIN_EXE_ferrock"), arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    let all = [output.stdout, output.stderr].concat();
    String::from_utf8(all).unwrap()
}

#[track_caller]
fn ferrock_json(arguments: &[&str], code: i32) -> Value {
    let output = run(env!("CARGO_BIN_EXE_ferrock"), &[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

struct Places {
    _directory: tempfile::TempDir,
    db: String,
    backups: String,
    target: String,
}

fn places() -> Places {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (db, backups, target) = (path("db"), path("backups"), path("target"));
    Places { db, backups, target, _directory: directory }
}

fn open(path: &str) -> Db {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    Db::open(path, options).unwrap()
}

fn write(path: &str, value: &str) {
    let db = open(path);
    db.put(b"key", value.as_bytes()).unwrap();
    db.flush().unwrap();
    db.put(b"logged", value.as_bytes()).unwrap();
    db.close().unwrap();
}

fn value(path: &str) -> String {
    let mut options = DbOptions::default();
    options.create_if_missing = false;
    let db = Db::open(path, options).unwrap();
    let text = |key: &[u8]| String::from_utf8(db.get(key).unwrap().unwrap().to_vec()).unwrap();
    assert_eq!(text(b"key"), text(b"logged"));
    text(b"key")
}

#[test]
fn backups_are_made_listed_verified_removed_and_restored() {
    let Places { db, backups, target, .. } = &places();
    for (number, word) in ["one", "two", "three"].iter().enumerate() {
        write(db, word);
        let told = ferrock_json(&["backup", db, backups, "--metadata", word], 0);
        assert_eq!((told["id"].as_u64(), told["metadata"].as_str()), (Some(number as u64 + 1), Some(*word)));
        assert!(told["files"].as_u64().unwrap() >= 5 && told["bytes"].as_u64().unwrap() > 1000, "{told}");
    }
    let text = ferrock(&["backups", backups], 0);
    assert!(["one", "two", "three", "good", " UTC"].iter().all(|part| text.contains(part)), "{text}");
    let told = ferrock_json(&["backups", backups, "--verify"], 0);
    assert_eq!((told["backups"].as_array().unwrap().len(), told["verified"].as_bool()), (3, Some(true)));

    let text = ferrock(&["restore", backups, target], 0);
    assert!(text.contains("Backup 3, made"), "{text}");
    assert_eq!(value(target), "three");
    let text = ferrock(&["restore", backups, target, "--backup", "1"], 2);
    assert!(text.contains("--replace"), "{text}");
    for keep in ["nothing", "run", "checksum"] {
        for (id, word) in [("1", "one"), ("2", "two")] {
            let told = ferrock_json(&["restore", backups, target, "--backup", id, "--replace", "--keep", keep], 0);
            assert_eq!(told["metadata"], word);
            assert_eq!(value(target), word, "{keep}");
        }
    }
    let told = ferrock_json(&["backups", backups, "--purge", "2"], 0);
    assert_eq!(told["removed"]["backups"], serde_json::json!([1]));
    let told = ferrock_json(&["backups", backups, "--delete", "2"], 0);
    assert_eq!((told["backups"][0]["id"].as_u64(), told["backups"].as_array().unwrap().len()), (Some(3), 1));
    ferrock(&["backups", backups, "--delete", "2"], 2);
    ferrock(&["restore", backups, target, "--backup", "2", "--replace"], 2);
    assert_eq!(value(target), "two", "it was not touched");
}

fn table_in(directory: &Path) -> PathBuf {
    let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| path.extension().is_some_and(|ending| ending == "sst")).min().unwrap()
}

#[test]
fn exit_codes_tell_damage_from_what_cannot_be_done() {
    let Places { db, backups, target, .. } = &places();
    for arguments in
        [&["backup", db][..], &["backups"], &["restore", backups], &["backup", db, backups, "--threads", "0"]]
    {
        ferrock(arguments, 64);
    }
    ferrock(&["backup", db, backups], 2);
    ferrock(&["backups", backups], 2);
    ferrock(&["restore", backups, target], 2);
    write(db, "one");
    ferrock(&["backup", db, backups, "--no-logs"], 0);
    let held = open(db);
    let text = ferrock(&["backup", db, backups], 2);
    assert!(text.contains("lock"), "{text}");
    held.close().unwrap();
    let table = table_in(&Path::new(backups).join("shared_checksum"));
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[3] ^= 1;
    std::fs::write(&table, &bytes).unwrap();
    ferrock(&["backups", backups], 0);
    let name = table.file_name().unwrap().to_str().unwrap();
    let text = ferrock(&["backups", backups, "--verify"], 1);
    assert!(text.contains(name) && text.contains("damaged"), "{text}");
    let text = ferrock(&["restore", backups, target], 1);
    assert!(text.contains(name), "{text}");
    bytes.pop();
    std::fs::write(&table, &bytes).unwrap();
    let told = ferrock_json(&["backups", backups], 1);
    assert_eq!(told["damaged"][0]["id"], 1);
    assert!(told["damaged"][0]["error"].as_str().unwrap().contains(name), "{told}");
}

#[test]
fn ldb_says_what_rocksdbs_says() {
    let Places { db, backups, target, .. } = &places();
    write(db, "one");
    let ldb = |arguments: &[&str]| run(env!("CARGO_BIN_EXE_ldb"), arguments);
    let (of_db, of_target) = (format!("--db={db}"), format!("--db={target}"));
    let directory = format!("--backup_dir={backups}");
    let output = ldb(&[&of_db, "backup", &directory, "--num_threads=3"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "open db OK\nopen backup engine OK\ncreate new backup OK\n");
    let output = ldb(&[&of_target, "restore", &directory]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "open restore engine OK\nrestore from backup OK\n");
    assert_eq!(value(target), "one");
    for (arguments, code, part) in [
        (&[&of_db[..], "backup"][..], 64, "--backup_dir: missing backup directory"),
        (&[&of_db, "backup", &directory, "--num_threads=0"], 64, "1024"),
        (&[&of_db, "backup", &directory, "--backup_env_uri=x"], 64, "Not implemented"),
        (&[&of_target, "restore", "--backup_dir=/nowhere/at/all"], 2, "meta"),
    ] {
        let output = ldb(arguments);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(part), "{output:?}");
    }
}

#[test]
fn checkpoints_are_made() {
    let Places { db, target, .. } = &places();
    write(db, "one");
    let told = ferrock_json(&["checkpoint", db, target], 0);
    assert!(told["files_linked"].as_u64() > Some(0), "{told}");
    assert_eq!(value(target), "one");
    let refused = ferrock(&["checkpoint", db, target], 2);
    assert!(refused.contains("exists"), "{refused}");
    let copied = format!("{target}-2");
    let text = ferrock(&["checkpoint", db, &copied, "--copy", "--bytes-per-second", "1000000000"], 0);
    assert!(text.contains("0 files linked"), "{text}");
    assert_eq!(value(&copied), "one");
    let third = format!("{target}-3");
    let ldb = env!("CARGO_BIN_EXE_ldb");
    let output = run(ldb, &[&format!("--db={db}"), "checkpoint", &format!("--checkpoint_dir={third}")]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"OK\n"[..]), "{output:?}");
    assert_eq!(value(&third), "one");
    let missing = ferrock(&["checkpoint", &format!("{db}-none"), target], 2);
    assert!(missing.contains("there is no database"), "{missing}");
}
