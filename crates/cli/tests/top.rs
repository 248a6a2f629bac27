//! `ferrock top` from outside: its numbers beside what was done, its exit codes, servers that are none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::options::Components;
use ferrock::statistics::{Statistics, StatsLevel};
use ferrock::{Db, DbOptions};
use ferrock_inspect::{Inspector, ServeInspector};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrock"));
    command.arg("top").args(arguments).stdin(Stdio::null()).env_remove("COLUMNS");
    command
}

fn top(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn open(path: &Path) -> Db {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components =
        Components { statistics: Some(Arc::new(Statistics::new(StatsLevel::All))), ..Components::default() };
    Db::open(path, options).unwrap()
}

/// A process whose refreshes are read one by one.
struct Following {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Following {
    fn start(arguments: &[&str]) -> Self {
        let mut child = command(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn refresh(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn code(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn help_teaches_and_a_wrong_line_is_64() {
    let help = text(&top(&["--help"]).stdout);
    for wanted in ["Examples:", "--interval", "--once", "--json", "Keys:", "ssh -L", "Exit codes:"] {
        assert!(help.contains(wanted), "{wanted}");
    }
    for (wrong, word) in [
        (&[][..], "DIR-or-URL".to_uppercase().as_str()),
        (&["https://127.0.0.1/"], "ssh -L"),
        (&["http://127.0.0.1:99999/"], "1 to 65535"),
        (&["http://127.0.0.1/api/metrics"], "without a path"),
        (&[".", "--interval", "0"], "0.1 to 3600"),
        (&[".", "--interval", "NaN"], "0.1 to 3600"),
        (&[".", "--count", "0"], "--count"),
        (&[".", "--once", "--count", "1"], "--count"),
    ] {
        let output = top(wrong);
        assert_eq!(output.status.code(), Some(64), "{wrong:?}");
        assert!(text(&output.stderr).contains(word), "{wrong:?}: {output:?}");
    }
}

#[test]
fn numbers_are_what_was_done() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    for number in 0..100_u32 {
        db.put(&number.to_be_bytes(), &[7; 50]).unwrap();
    }
    db.flush().unwrap();
    let inspector = db.serve_inspector("127.0.0.1:0").unwrap();
    let mut following = Following::start(&[&inspector.url(), "--count", "2", "--json", "--interval", "12"]);

    let first = following.refresh();
    assert_eq!((&first["error"], &first["source"]), (&Value::Null, &inspector.url().into()));
    assert_eq!(first["metrics"]["writes"]["keys"], 100);
    assert_eq!(first["rates"]["is_since_open"], true);
    // Between both refreshes, which are twelve seconds apart.
    let mut batch = ferrock::WriteBatch::default();
    for number in 0..30_u32 {
        batch.put(&number.to_be_bytes(), b"value").unwrap();
    }
    db.write(batch, &Default::default()).unwrap();
    for number in 0..200_u32 {
        db.get(&number.to_be_bytes()).unwrap();
    }
    db.flush().unwrap();
    let snapshot = db.snapshot();
    let second = following.refresh();
    let (metrics, rates) = (&second["metrics"], &second["rates"]);

    // The object is the one that the inspector serves.
    let own = db.metrics();
    assert_eq!((&metrics["sequence"], &metrics["is_live"]), (&130.into(), &true.into()));
    assert_eq!(metrics["name"], directory.path().to_str().unwrap());
    assert_eq!((&metrics["writes"]["keys"], &metrics["writes"]["batches"]), (&130.into(), &101.into()));
    assert_eq!(metrics["families"][0]["levels"][0]["files"], 2);
    assert_eq!(metrics["families"][0]["tables"]["bytes"], own.families[0].tables.bytes);
    assert_eq!((&metrics["snapshots"]["count"], &metrics["background"]["totals"]["flushes"]), (&1.into(), &2.into()));

    // Rates times their seconds are what was done in between.
    let seconds = rates["over_seconds"].as_f64().unwrap();
    assert!(seconds > 1.0, "{rates}");
    assert_eq!(rates["is_since_open"], false);
    let done = |rate: &Value| (rate.as_f64().unwrap() * seconds).round();
    assert_eq!((done(&rates["keys_written"]), done(&rates["batches"]), done(&rates["keys_read"])), (30.0, 1.0, 200.0));
    assert!(done(&rates["flush_bytes"]) > 0.0 && done(&rates["file_append_bytes"]) > 0.0, "{rates}");
    let get = rates["latencies"].as_array().unwrap().iter().find(|of| of["name"] == "rocksdb.db.get.micros").unwrap();
    assert_eq!(done(&get["times"]), 200.0);
    assert_eq!(rates["stalls"].as_array().unwrap().len(), 5);
    assert_eq!(following.code(), Some(0));
    drop(snapshot);

    let output = command(&[&inspector.url(), "--once"]).env("COLUMNS", "60").output().unwrap();
    let shown = text(&output.stdout);
    assert!(shown.lines().all(|line| line.chars().count() <= 60) && !shown.contains('\x1b'), "{shown}");
    for wanted in ["writes normal", "Reads and writes", "since the open", "default L0", "Memory by holder", "db.get"] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
}

#[test]
fn a_lost_server_has_a_banner_and_is_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    let inspector = db.serve_inspector("127.0.0.1:0").unwrap();
    let address = inspector.address().to_string();
    let mut following = Following::start(&[&inspector.url(), "--json", "--interval", "0.1"]);
    assert_eq!(following.refresh()["error"], Value::Null);

    drop(inspector);
    let mut lost = |is_wanted: &dyn Fn(&Value) -> bool| {
        (0..600).map(|_| following.refresh()).find(|refresh| is_wanted(refresh)).expect("refreshes for a minute")
    };
    let refresh = lost(&|refresh| !refresh["error"].is_null());
    assert_eq!((&refresh["error"]["kind"], &refresh["metrics"]), (&"connection".into(), &Value::Null));
    assert!(refresh["error"]["remedy"].as_str().unwrap().contains("still runs"), "{refresh}");

    let again: Inspector = db.serve_inspector(&address).unwrap();
    lost(&|refresh| refresh["error"].is_null());
    // A database that was closed is another trouble than a server that is gone.
    db.close().unwrap();
    let refresh = lost(&|refresh| !refresh["error"].is_null());
    assert_eq!(refresh["error"]["kind"], "database", "{refresh}");
    assert!(refresh["error"]["message"].as_str().unwrap().contains("closed"), "{refresh}");
    drop(again);
}

#[test]
fn a_directory_is_read_beside_its_writer_and_says_what_it_does_not_know() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let db = open(directory.path());
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    let output = top(&[path, "--count", "2", "--interval", "0.1"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let shown = text(&output.stdout);
    assert_eq!(shown.matches("read from the directory").count(), 2, "{shown}");
    assert!(shown.contains("are not known here") && shown.contains("default L0"), "{shown}");
    assert!(!shown.contains("Reads and writes") && !shown.contains("Latencies"), "{shown}");

    // What the writer flushes appears, and the writer keeps its LOCK.
    let mut following = Following::start(&[path, "--json", "--interval", "0.1"]);
    let first = following.refresh();
    assert_eq!((&first["rates"], &first["metrics"]["sequence"]), (&Value::Null, &1.into()));
    db.put(b"other", b"value").unwrap();
    db.flush().unwrap();
    assert!((0..300).any(|_| following.refresh()["metrics"]["families"][0]["levels"][0]["files"] == 2));
    db.close().unwrap();

    let missing = top(&["/nonexistent/database", "--once"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("begins with http://"), "{missing:?}");
    let empty = tempfile::tempdir().unwrap();
    let output = top(&[empty.path().to_str().unwrap(), "--once"]);
    assert_eq!(output.status.code(), Some(2));
    let shown = text(&output.stdout);
    assert!(shown.contains("THE DATABASE DOES NOT OPEN.") && shown.contains("What to do:"), "{shown}");
}

#[test]
fn servers_that_are_no_inspector_say_so_and_end_it_with_2() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let answers: [(&[u8], &[u8], &str); 6] = [
        (b"\x00\xff garbage", b"", "does not begin"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"", "no JSON"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"", "name is missing"),
        (b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 2\r\n\r\n{}", b"", "status 302"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n", b"{", "more than 67108864"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"{\"endless\":", "no length"),
    ];
    for (answer, more, word) in answers {
        let child = command(&[&url, "--once"]).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        assert!(stream.read(&mut request).unwrap() > 0);
        let mut sent = stream.write_all(answer);
        while sent.is_ok() && !more.is_empty() {
            sent = stream.write_all(more);
        }
        drop(stream);
        let output = child.wait_with_output().unwrap();
        // Lines are wrapped.
        let shown = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{shown}");
        assert!(shown.contains("THERE IS NO CONNECTION.") && shown.contains(word), "{word}: {shown}");
        assert!(shown.contains("What to do:"), "{shown}");
    }

    drop(listener);
    let closed = top(&[&url, "--once", "--json"]);
    assert_eq!(closed.status.code(), Some(2));
    let refresh: Value = serde_json::from_slice(&closed.stdout).unwrap();
    assert!(refresh["error"]["message"].as_str().unwrap().contains("no connection"), "{refresh}");
}
