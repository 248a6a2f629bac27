//! `ferrock import` from outside: what comes into a database, what is refused, what is left, how much memory it takes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::{Db, DbOptions, ReadOptions, options};
use ferrock_base::random::Random;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

struct World {
    directory: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), contents).unwrap();
        self.path(name).display().to_string()
    }

    fn spawn(&self, arguments: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_ferrock"))
            .args(["import", self.path("db").to_str().unwrap()])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.spawn(arguments).wait_with_output().unwrap()
    }

    /// Runs an import that succeeds. Returns what it tells a program.
    #[track_caller]
    fn import(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--create", "--json"]].concat());
        assert!(output.status.success(), "{output:?}");
        assert!(!self.path("db.import").exists(), "the work directory has gone");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Runs an import that is refused with this code, and a text in its error.
    #[track_caller]
    fn refused(&self, arguments: &[&str], code: i32, text: &str) {
        let output = self.run(arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(told.contains(text), "{arguments:?}: {told}");
    }

    fn open(&self) -> (Db, Vec<ferrock::ColumnFamily>) {
        Db::open_with_latest_options(self.path("db"), DbOptions::default()).unwrap()
    }

    fn rows_of(&self, family: &str) -> Rows {
        let (db, families) = self.open();
        let family = families.iter().find(|known| known.name() == family).unwrap();
        let mut iter = db.iter_cf(family, &ReadOptions::default());
        let mut rows = Rows::new();
        iter.seek_to_first();
        while iter.valid() {
            rows.insert(iter.key().to_vec(), iter.value().to_vec());
            iter.next();
        }
        iter.status().unwrap();
        rows
    }

    fn rows(&self) -> Rows {
        self.rows_of("default")
    }
}

fn rows(list: &[(&str, &str)]) -> Rows {
    list.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec())).collect()
}

#[test]
fn csv_by_names_numbers_and_quotes() {
    let world = World::new();
    let text = "\u{feff}name,id,\"no\"\"te\"\r\n\
                Ada,7,x\r\n\
                \"Grace, Admiral\",3,\"a\nb\"\r\n\
                \n\
                \"say \"\"hi\"\"\",,\n\
                é,9,last";
    let file = world.file("a.csv", text);
    let told = world.import(&[&file, "--key", "id", "--value", "name"]);
    assert_eq!(world.rows(), rows(&[("", "say \"hi\""), ("3", "Grace, Admiral"), ("7", "Ada"), ("9", "é")]));
    assert_eq!((&told["rows"], &told["keys"], &told["duplicates"]), (&4.into(), &4.into(), &0.into()));
    world.import(&[&file, "--key", "id", "--value", "no\"te", "--family", "notes"]);
    assert_eq!(world.rows_of("notes"), rows(&[("", ""), ("3", "a\nb"), ("7", "x"), ("9", "last")]));
    let tabs = world.file("b.csv", "v1\tk1\nv2\tk2\r\n");
    world.import(&[&tabs, "--no-header", "--key", "2", "--value", "1", "--delimiter", "\\t", "--family", "tabs"]);
    assert_eq!(world.rows_of("tabs"), rows(&[("k1", "v1"), ("k2", "v2")]));
    // Of equal keys the last one counts: in a file, and over the files; the database's own rows are older still.
    let first = world.file("c.csv", "key,value\na,1\nb,1\na,2\n");
    let second = world.file("d.csv", "value,key\n3,b\n3,z\n");
    let told = world.import(&[&first, &second, "--family", "tabs"]);
    assert_eq!((&told["rows"], &told["keys"], &told["duplicates"]), (&5.into(), &3.into(), &2.into()));
    let expected = [("a", "2"), ("b", "3"), ("k1", "v1"), ("k2", "v2"), ("z", "3")];
    assert_eq!(world.rows_of("tabs"), rows(&expected));
    let hex = world.file("e.csv", "0x6B,7A\n00,\n");
    world.import(&[&hex, "--no-header", "--hex", "--family", "hex"]);
    assert_eq!(world.rows_of("hex"), rows(&[("k", "z"), ("\0", "")]));
    // A carriage return is a line end before a line feed and at the end of the file, and a byte elsewhere.
    let returns = world.file("f.csv", "\r\nkey,value\n\rk,v\n\r\n\r\n\r,x\ny\r,\r\r\n\r");
    world.import(&[&returns, "--family", "returns"]);
    assert_eq!(world.rows_of("returns"), rows(&[("\rk", "v"), ("\r", "x"), ("y\r", "\r")]));
}

#[test]
fn json_lines_and_dumps_also_from_standard_input() {
    let world = World::new();
    let json = "{\"key\":\"a\\n\",\"value\":\"é\"}\n\n{\"value\":{\"x\":[1,null]},\"key\":17,\"more\":0}\r\n";
    let file = world.file("a.jsonl", json);
    world.import(&[&file]);
    assert_eq!(world.rows(), rows(&[("17", "{\"x\":[1,null]}"), ("a\n", "é")]));
    let mut child = world.spawn(&["--format", "dump", "--create", "--family", "dumped"]);
    child.stdin.take().unwrap().write_all(b"a ==> 1\n ==> \nb ==>  ==> 2\nKeys in range: 3\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(world.rows_of("dumped"), rows(&[("", ""), ("a", "1"), ("b", " ==> 2")]));
    // What our own ldb dumps comes back, whatever the bytes are.
    let all: Rows = (0..=255u8).map(|byte| (vec![byte, b'\n'], vec![byte; 3])).collect();
    let (db, _) = world.open();
    let binary = db.create_column_family("binary", ferrock::ColumnFamilyOptions::default()).unwrap();
    for (key, value) in &all {
        db.put_cf(&binary, key, value, &ferrock::WriteOptions::default()).unwrap();
    }
    drop(binary);
    db.close().unwrap();
    let dump = Command::new(env!("CARGO_BIN_EXE_ldb"))
        .args([&format!("--db={}", world.path("db").display()), "--column_family=binary", "--hex", "dump"])
        .output()
        .unwrap();
    assert!(dump.status.success(), "{dump:?}");
    let file = world.file("b.dump", &dump.stdout);
    world.import(&[&file, "--hex", "--family", "again"]);
    assert_eq!(world.rows_of("again"), all);
}

#[test]
fn damaged_lines_are_named_and_leave_nothing() {
    let world = World::new();
    let good = world.file("good.csv", "key,value\na,1\n");
    world.import(&[&good]);
    let cases = [
        ("csv", "key,value\na,b\nc,d,e\n", "line 3, column 1: the row has 3 fields, and the first line has 2"),
        ("csv", "key,value\na,\"b\nc\"\nd,e\"f\n", "line 4, column 4: a quote in a field"),
        ("csv", "key,value\na,\"b\"c\n", "line 2, column 6: a closing quote"),
        ("csv", "key,value\na,b\n\"c,d\ne,f\n", "line 3, column 1: the quote that begins here is not closed"),
        ("csv", "key\na\n", "field 2 is to be taken"),
        ("jsonl", "{\"key\":1,\"value\":2}\n{\"key\":1,\"value\":2\n", "line 2, column"),
        ("jsonl", "{\"key\":1}\n", "line 1, column 1: the object has no \"value\""),
        ("jsonl", "{\"key\":null,\"value\":2}\n", "\"key\""),
        ("jsonl", "[1]\n", "line 1"),
        ("dump", "a ==> b\na => b\n", "line 2, column 1"),
        ("dump", "a ==> b\nKeys in range: 2\n", "line 2, column 1: the dump has 1 rows"),
        ("dump", "a ==> b\nc ==> ", "the dump ends without its last line"),
    ];
    for (format, text, told) in cases {
        let file = world.file(&format!("bad.{format}"), text);
        world.refused(&[&file], 1, told);
        assert_eq!(world.rows(), rows(&[("a", "1")]), "{text:?}");
        assert!(!world.path("db.import").exists());
    }
    let hex = world.file("hex.csv", "key,value\n61,62\n6,62\n61,xx\n");
    world.refused(&[&hex, "--hex"], 1, "line 3, column 1: the key is not hexadecimal");
    world.refused(&[&hex, "--value-hex"], 1, "line 4, column 4: the value is not hexadecimal");
    let told = world.import(&[&hex, "--hex", "--skip-bad-lines", "--family", "hex"]);
    assert_eq!((&told["bad_lines"], &told["keys"]), (&2.into(), &1.into()));
    let mixed = world.file("mixed.csv", "key,value\na,b\nc,d,e\nf,g\"\nh,i\n");
    let told = world.import(&[&mixed, "--skip-bad-lines", "--family", "mixed"]);
    assert_eq!((&told["bad_lines"], &told["rows"]), (&2.into(), &2.into()));
    assert_eq!(world.rows_of("mixed"), rows(&[("a", "b"), ("h", "i")]));
    // What would swallow the rest of a file is refused all the same.
    let open = world.file("open.csv", "key,value\na,b\n\"c,d\ne,f\n");
    world.refused(&[&open, "--skip-bad-lines"], 1, "is not closed");
    let long = world.file("long.csv", format!("key,value\na,{}\n", "x".repeat(20_000)));
    world.refused(&[&long, "--memory", "1MiB", "--skip-bad-lines"], 1, "raise it");
    world.import(&[&long, "--memory", "2MiB", "--family", "long"]);
}

#[test]
fn what_is_wrong_with_the_command_is_told() {
    let world = World::new();
    let good = world.file("good.csv", "key,value\na,1\n");
    world.refused(&[&good], 2, "there is no database");
    world.import(&[&good]);
    world.refused(&[&good, "--family", "none"], 2, "--create");
    world.refused(&[&good, "--key", "none"], 64, "there is no column \"none\"; the first line has key, value");
    world.refused(&[&good, "--key", "value"], 64, "same column");
    world.refused(&[&good, "--no-header", "--key", "0"], 64, "from 1 on");
    world.refused(&[&good, "--delimiter", "ab"], 64, "one byte");
    world.refused(&[&good, "--memory", "1KiB"], 64, "1MiB");
    world.refused(&[], 64, "--format");
    world.refused(&[&world.path("none.csv").display().to_string()], 2, "none.csv");
    // A directory that has other things is left alone.
    fs::create_dir(world.path("db.import")).unwrap();
    let own = world.file("db.import/thesis.txt", "years of work");
    world.refused(&[&good], 2, "thesis.txt");
    assert!(Path::new(&own).exists());
    fs::remove_file(own).unwrap();
    // What a killed import left is removed; a directory in which one works is not taken.
    world.file("db.import/run-000001", "half a row");
    world.import(&[&good]);
    let (db, _) = world.open();
    world.refused(&[&good], 2, "");
    drop(db);
    let empty = world.file("empty.csv", "");
    assert_eq!(world.import(&[&empty])["keys"], 0);
    assert_eq!(world.rows(), rows(&[("a", "1")]));
}

#[test]
fn rows_of_a_killed_import_are_not_there_and_the_next_one_succeeds() {
    let world = World::new();
    let good = world.file("good.csv", "key,value\na,1\n");
    world.import(&[&good]);
    let mut child = world.spawn(&["--format", "csv", "--memory", "1MiB"]);
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"key,value\n").unwrap();
    let mut number = 0u64;
    // Until there is a run: then rows are on the disk.
    while !world.path("db.import/run-000001").exists() {
        writeln!(input, "key{number},{}", "v".repeat(100)).unwrap();
        number += 1;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(number > 1000 && world.path("db.import").exists());
    assert_eq!(world.rows(), rows(&[("a", "1")]));
    let again = world.file("again.csv", "key,value\nb,2\n");
    world.import(&[&again]);
    assert_eq!(world.rows(), rows(&[("a", "1"), ("b", "2")]));
}

/// Writes rows with keys in any order, of which some come again. Returns what is there in the end.
fn write_rows(file: &Path, count: u64, seed: u64) -> (Rows, u64) {
    let mut random = Random::new(seed);
    let mut out = std::io::BufWriter::new(fs::File::create(file).unwrap());
    let mut expected = Rows::new();
    out.write_all(b"key,value\n").unwrap();
    for number in 0..count {
        let key = format!("key{:09}", random.below(count));
        let value = format!("{number}:{}", "x".repeat(random.below(60) as usize));
        writeln!(out, "{key},\"{value}\"").unwrap();
        expected.insert(key.into_bytes(), value.into_bytes());
    }
    out.flush().unwrap();
    let bytes = fs::metadata(file).unwrap().len();
    (expected, bytes)
}

/// The most memory that a process held, read again and again until it ends.
fn peak_of(child: &mut Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|kib| kib.trim().parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) * 1024);
        std::thread::yield_now();
    }
    peak
}

#[test]
fn input_far_larger_than_memory_is_sorted_in_bounded_memory() {
    const MEMORY: u64 = 2 << 20;
    let world = World::new();
    let small = world.file("small.csv", "key,value\na,1\n");
    // A child that ends soon may be looked at too early, or too late.
    let base = (0..8).map(|_| {
        let mut child = world.spawn(&[&small, "--create", "--memory", "2MiB"]);
        let peak = peak_of(&mut child);
        assert!(child.wait().unwrap().success());
        peak
    });
    let base = base.max().unwrap();
    assert!(base > 0);
    let file = world.path("large.csv");
    let (expected, bytes) = write_rows(&file, 600_000, 7);
    assert!(bytes > 10 * MEMORY, "{bytes}");
    let arguments = [file.to_str().unwrap(), "--create", "--memory", "2MiB", "--family", "large", "--json"];
    let mut child = world.spawn(&arguments);
    let peak = peak_of(&mut child);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |name: &str| told[name].as_u64().unwrap();
    assert_eq!((number("rows"), number("keys")), (600_000, expected.len() as u64), "{told}");
    assert_eq!(number("duplicates"), 600_000 - expected.len() as u64, "{told}");
    // More runs than may be open at once: they are merged in steps.
    assert!(number("runs") > 20 && number("tables") > 10, "{told}");
    assert!(number("peak_memory_bytes") <= MEMORY, "{told}");
    // Beside the rows: the tables that are written, and the list of those that come into the database.
    assert!(peak < base + 6 * MEMORY, "{peak} of {bytes}, and {base} for one row: {told}");
    assert!(world.rows_of("large") == expected);
}

#[test]
fn the_order_of_the_family_counts_whatever_the_memory_is() {
    let world = World::new();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let mut family = ferrock::ColumnFamilyOptions::default();
    family.comparator = ferrock::Comparator::ReverseBytewise;
    family.compression = options::CompressionType::Zstd;
    let db = Db::open_cf(world.path("db"), options, vec![("default".to_owned(), family)]).unwrap().0;
    db.put(b"key000000001", b"older").unwrap();
    db.close().unwrap();
    let file = world.path("rows.csv");
    let (mut expected, _) = write_rows(&file, 60_000, 8);
    expected.entry(b"key000000001".to_vec()).or_insert(b"older".to_vec());
    for (memory, threads) in [("1MiB", "1"), ("3MiB", "16"), ("64MiB", "4")] {
        let told = world.import(&[file.to_str().unwrap(), "--memory", memory, "--threads", threads]);
        assert_eq!(told["rows"], 60_000);
        assert!(told["peak_memory_bytes"].as_u64() <= told["memory_bytes"].as_u64(), "{told}");
        assert!(world.rows() == expected, "{memory}");
    }
    let (db, _) = world.open();
    db.verify_checksum().unwrap();
}

#[test]
fn json_values_stay_as_they_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let (db, file) = (directory.path().join("db"), directory.path().join("rows.jsonl"));
    let rows = concat!(
        r#"{"key":100000000000000000000,"value":1}"#,
        "\n",
        r#"{"key":100000000000000000001,"value":1.10}"#,
        "\n",
        r#"{"key":"a","value":{"b":1.10,"a":1e3,"b":2}}"#,
        "\n",
    );
    fs::write(&file, rows).unwrap();
    let output =
        Command::new(env!("CARGO_BIN_EXE_ferrock")).args(["import", "--create"]).args([&db, &file]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let db = Db::open(&db, DbOptions::default()).unwrap();
    let value = |key: &[u8]| db.get(key).unwrap().map(|value| String::from_utf8(value.to_vec()).unwrap());
    assert_eq!(value(b"100000000000000000000").as_deref(), Some("1"));
    assert_eq!(value(b"100000000000000000001").as_deref(), Some("1.10"));
    assert_eq!(value(b"a").as_deref(), Some(r#"{"b":1.10,"a":1e3,"b":2}"#));
}
