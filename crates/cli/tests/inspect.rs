//! `ferrock inspect` from outside: what it prints, beside a process that writes, its exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::{Db, DbOptions};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn inspect(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ferrock")).arg("inspect").args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn database(directory: &Path) -> Db {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let db = Db::open(directory, options).unwrap();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    db
}

/// A server that ends with the test.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(directory: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ferrock"))
            .arg("inspect")
            .arg(directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let address = url.trim().strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
        Self { child, address }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn help_teaches_and_a_wrong_line_is_64() {
    let output = inspect(&["--help"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for wanted in ["Examples:", "--listen", "--once", "loopback", "Exit codes:"] {
        assert!(text.contains(wanted), "{wanted}");
    }
    for wrong in [&["--once"][..], &["dir", "--once"], &["dir", "--json"], &[]] {
        assert_eq!(inspect(wrong).status.code(), Some(64), "{wrong:?}");
    }
}

#[test]
fn numbers_once_with_and_without_a_writer() {
    let directory = tempfile::tempdir().unwrap();
    let db = database(directory.path());
    let path = directory.path().to_str().unwrap();
    let numbers = || -> Value {
        let output = inspect(&[path, "--once", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(numbers()["families"][0]["levels"][0]["files"], 1);
    db.close().unwrap();
    assert_eq!(numbers()["sequence"], 1);
}

#[test]
fn a_page_beside_a_writer_follows_it_and_takes_no_lock() {
    let directory = tempfile::tempdir().unwrap();
    let db = database(directory.path());
    let serving = Serving::start(directory.path());
    assert!(serving.get("/").contains("<title>Ferrock inspect"));
    db.put(b"other", b"value").unwrap();
    db.flush().unwrap();
    // The view that is there stays for a second, and then the next request opens another one.
    let sees_it = || serving.get("/api/metrics").contains("\"sequence\":2");
    assert!((0..200).any(|_| sees_it() || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        false
    }));
    db.close().unwrap();
    let again = Db::open(directory.path(), DbOptions::default()).expect("the lock is free");
    again.put(b"third", b"value").unwrap();
}

#[test]
fn what_does_not_open_is_2_and_has_a_page() {
    let missing = inspect(&["/nonexistent/database"]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");

    let directory = tempfile::tempdir().unwrap();
    database(directory.path()).close().unwrap();
    let current = std::fs::read_to_string(directory.path().join("CURRENT")).unwrap();
    let manifest = directory.path().join(current.trim());
    let mut bytes = std::fs::read(&manifest).unwrap();
    bytes[8] ^= 0xff;
    std::fs::write(&manifest, bytes).unwrap();

    let output = inspect(&[directory.path().to_str().unwrap(), "--once", "--json"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(value["error"]["file"].as_str().unwrap().contains("MANIFEST"), "{value}");
    assert!(!output.stderr.is_empty());

    let serving = Serving::start(directory.path());
    assert!(serving.get("/").starts_with("HTTP/1.1 200"));
    let answer = serving.get("/api/metrics");
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("remedy"), "{answer}");
    assert!(serving.get("/api/log").starts_with("HTTP/1.1 200"));
}
