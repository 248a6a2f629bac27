//! `ldb` from outside: its output is RocksDB's, reading writes nothing, exit codes tell the kinds of failure.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::{ColumnFamilyOptions, Db, DbOptions, WriteOptions};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn ldb(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ldb")).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn on(directory: &Path, arguments: &[&str]) -> Output {
    let database = format!("--db={}", directory.display());
    ldb(&[&[&database[..]], arguments].concat())
}

fn ldb_with_input(directory: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ldb"))
        .arg(format!("--db={}", directory.display()))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[track_caller]
fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn fails(output: &Output, code: i32, message: &str) {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.starts_with("Failed: ") && text.contains(message), "{text}");
}

/// Two families; `b` was written twice, the second time only to the log.
fn small_database(directory: &Path) {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    let family = |name: &str| (name.to_owned(), ColumnFamilyOptions::default());
    let (db, families) = Db::open_cf(directory, options, vec![family("default"), family("other one")]).unwrap();
    db.put(b"a", b"1").unwrap();
    db.put(b"b", b"2").unwrap();
    db.put(b"c", b"three").unwrap();
    db.flush().unwrap();
    db.put(b"b", b"two").unwrap();
    db.delete(b"c").unwrap();
    db.put_cf(&families[1], b"k", b"v", &WriteOptions::default()).unwrap();
    db.close().unwrap();
}

fn state_of(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn files_of_rocksdb_are_printed_as_rocksdb_prints_them() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ldb");
    let check = |name: &str, arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ldb")).args(arguments).current_dir(&data).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let expected = fs::read(data.join(format!("{name}.expected"))).unwrap();
        for (line, (ours, theirs)) in
            output.stdout.split(|b| *b == b'\n').zip(expected.split(|b| *b == b'\n')).enumerate()
        {
            assert_eq!(ours.escape_ascii().to_string(), theirs.escape_ascii().to_string(), "{name}, line {line}");
        }
        assert_eq!(output.stdout.len(), expected.len(), "{name}");
    };
    for name in ["atomic-flush.manifest", "blob-gc.manifest", "wal-tracked.manifest"] {
        check(name, &["manifest_dump", &format!("--path={name}"), "--verbose", "--hex"]);
    }
    check("two-phase-commit.log", &["dump_wal", "--walfile=two-phase-commit.log", "--header"]);
    check("single-delete.log", &["dump_wal", "--header", "--print_value", "--walfile=single-delete.log"]);
}

#[test]
fn reading_prints_what_is_there_and_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    small_database(path);
    let before = state_of(path);
    let text = |arguments: &[&str]| printed(&on(path, arguments));
    assert_eq!(text(&["get", "b"]), "two\n");
    assert_eq!(text(&["get", "0x62", "--hex"]), "0x74776F\n");
    assert_eq!(text(&["get", "0x62", "--key_hex"]), "two\n");
    assert_eq!(text(&["scan"]), "a : 1\nb : two\n");
    assert_eq!(text(&["scan", "--hex", "--from=0x62"]), "0x62 : 0x74776F\n");
    assert_eq!(text(&["scan", "--to=b"]), "a : 1\n");
    assert_eq!(text(&["scan", "--max_keys=1", "--no_value"]), "a\n");
    assert_eq!(text(&["scan", "--column_family=other one"]), "k : v\n");
    assert_eq!(text(&["dump", "--from=b"]), "b ==> two\nKeys in range: 1\n");
    let counted = text(&["dump", "--count_only"]);
    assert!(counted.starts_with("Keys in range: 2\nValue size distribution: \nCount: 2 Average: 2.0000"), "{counted}");
    assert_eq!(
        text(&["idump"]),
        "'a' seq:1, type:1 => 1\n'b' seq:4, type:1 => two\n'b' seq:2, type:1 => 2\n'c' seq:5, type:0 => \n\
         'c' seq:3, type:1 => three\nInternal keys in range: 5\n"
    );
    assert_eq!(
        text(&["idump", "--hex", "--from=0x62", "--to=0x63", "--max_keys=1"]),
        "'62' seq:4, type:1 => 74776F\nInternal keys in range: 1\n"
    );
    assert_eq!(text(&["idump", "--count_only", "--input_key_hex", "--from=0x63"]), "Internal keys in range: 2\n");
    assert_eq!(
        text(&["list_column_families"]),
        format!("Column families in {}: \n{{default, other one}}\n", path.display())
    );
    assert_eq!(text(&["checkconsistency"]), "OK\n");
    let size: u64 = text(&["approxsize", "--from=a", "--to=d"]).trim().parse().unwrap();
    assert!((100..5000).contains(&size), "{size}");
    assert_eq!(text(&["approxsize", "--from=x", "--to=z"]), "0\n");
    assert!(text(&["get_property", "rocksdb.levelstats"]).starts_with("rocksdb.levelstats: Level Files Size(MB)\n"));
    assert!(text(&["manifest_dump"]).contains("--------------- Column family \"other one\"  (ID 1) --------------\n"));
    let log = before.iter().map(|(name, _)| name).rfind(|name| name.ends_with(".log")).unwrap();
    let log = text(&["dump_wal", &format!("--walfile={}", path.join(log).display()), "--print_value"]);
    assert!(log.ends_with(",PUT(1) : 0x6B : 0x76 \n") && log.contains("DELETE(0) : 0x63 \n"), "{log}");
    assert_eq!(state_of(path), before, "reading changes nothing");
}

#[test]
fn writing() {
    let directory = tempfile::tempdir().unwrap();
    let path = &directory.path().join("new");
    fails(&on(path, &["put", "k", "v"]), 2, "--create_if_missing");
    assert!(!path.exists(), "nothing is created for a refusal");
    assert_eq!(printed(&on(path, &["put", "k", "v", "--create_if_missing", "--block_size=1024"])), "OK\n");
    assert_eq!(printed(&on(path, &["put", "0x6B00", "0xFF", "--hex"])), "OK\n");
    assert_eq!(printed(&on(path, &["batchput", "x", "1", "y", "2", "z", "3"])), "OK\n");
    assert_eq!(printed(&on(path, &["delete", "k"])), "OK\n");
    assert_eq!(printed(&on(path, &["deleterange", "y", "z"])), "OK\n");
    assert_eq!(printed(&on(path, &["singledelete", "z"])), "OK\n");
    assert_eq!(printed(&on(path, &["scan", "--hex"])), "0x6B00 : 0xFF\n0x78 : 0x31\n");
    fails(&on(path, &["get", "k"]), 1, "NotFound");
    assert_eq!(printed(&on(path, &["compact", "--compression_type=no"])), "");
    assert_eq!(printed(&on(path, &["idump", "--count_only"])), "Internal keys in range: 2\n");
    assert_eq!(printed(&on(path, &["create_column_family", "more"])), "OK\n");
    assert_eq!(printed(&on(path, &["put", "k", "other", "--column_family=more"])), "OK\n");
    assert_eq!(printed(&on(path, &["scan", "--column_family=more"])), "k : other\n");
    assert_eq!(printed(&on(path, &["drop_column_family", "more"])), "OK\n");
    fails(&on(path, &["scan", "--column_family=more"]), 2, "Non-existing column family more; there are default");
}

#[test]
fn a_dump_is_loaded_again() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    small_database(&from);
    let dump = on(&from, &["dump", "--hex"]);
    for flags in [&["--create_if_missing"][..], &["--bulk_load", "--compact"], &["--disable_wal"]] {
        let loaded = ldb_with_input(&to, &[&["load", "--hex"], flags].concat(), &dump.stdout);
        assert_eq!((printed(&loaded), loaded.stderr.len()), (String::new(), 0));
        assert_eq!(on(&to, &["dump", "--hex"]).stdout, dump.stdout);
    }
    let loaded = ldb_with_input(&to, &["load"], b"d ==> 4\nwhat is this\nnor this");
    assert_eq!(String::from_utf8_lossy(&loaded.stderr), "Warning: 2 bad lines ignored.\n");
    assert_eq!(printed(&on(&to, &["get", "d"])), "4\n");
}

#[test]
fn what_cannot_be_done_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let path = &directory.path().join("db");
    fails(&ldb(&["scan"]), 64, "--db=<directory> must be given");
    fails(&on(path, &["scan"]), 2, "is --db right?");
    assert!(!path.exists());
    small_database(path);
    fails(&on(path, &["scan", "--foo=3"]), 64, "Invalid command-line option foo");
    fails(&on(path, &["frobnicate"]), 64, "Unknown command frobnicate");
    fails(&on(path, &["get"]), 64, "usage: ldb --db=<directory> get <key>");
    fails(&on(path, &["get", "k", "--hex"]), 64, "is not hexadecimal");
    fails(&on(path, &["batchput", "k", "v", "l"]), 64, "the last key has no value");
    fails(&on(path, &["scan", "--ttl"]), 1, "was the database written without a time to live?");
    fails(&on(path, &["idump", "--ttl"]), 64, "--ttl is for get");
    fails(&on(path, &["scan", "--max_keys=x"]), 64, "a number is expected");
    fails(&on(path, &["get", "absent"]), 1, "NotFound");
    fails(&on(path, &["get_property", "rocksdb.mood"]), 2, "failed to get property: rocksdb.mood");
    fails(&on(path, &["put", "k", "v", "--block_size=none"]), 64, "--block_size");
    assert_eq!(ldb(&["--help"]).status.code(), Some(0));
    assert_eq!(ldb(&["--version"]).status.code(), Some(0));
}

#[test]
fn damage_is_named_by_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    small_database(path);
    let named = |suffix: &str| {
        let names = state_of(path).into_iter().map(|(name, _)| name);
        names.into_iter().rfind(|name| name.ends_with(suffix) || name.starts_with(suffix)).unwrap()
    };
    let (table, manifest, log) = (named(".sst"), named("MANIFEST-"), named(".log"));
    let damage = |name: &str, at: usize| {
        let mut bytes = fs::read(path.join(name)).unwrap();
        bytes[at] ^= 0x55;
        fs::write(path.join(name), bytes).unwrap();
    };

    damage(&table, 9);
    fails(&on(path, &["scan"]), 1, &table);
    damage(&table, 9);
    assert_eq!(printed(&on(path, &["checkconsistency"])), "OK\n");

    damage(&manifest, 20);
    fails(&on(path, &["manifest_dump"]), 1, &manifest);
    fails(&on(path, &["list_column_families"]), 1, &manifest);
    damage(&manifest, 20);

    damage(&log, 20);
    let dumped = ldb(&["dump_wal", &format!("--walfile={}", path.join(&log).display())]);
    fails(&dumped, 1, &log);
    damage(&log, 20);
    fails(&ldb(&["dump_wal", "--walfile=/no/such.log"]), 2, "/no/such.log");

    fs::remove_file(path.join(&table)).unwrap();
    let output = on(path, &["checkconsistency"]);
    assert_ne!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains(&table), "{output:?}");
}

/// A table of the usual kind below, plain ones above it.
#[test]
fn plain_tables_are_read_and_written_beside_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let open = |text: &str| {
        let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
        options.create_if_missing = true;
        ferrock::options::apply_text(&mut options, &mut family, text).unwrap();
        Db::open_cf(path, options, vec![("default".to_owned(), family)]).unwrap().0
    };
    let db = open("disable_auto_compactions=true");
    db.put(b"abc1", b"old").unwrap();
    db.put(b"abd1", b"block").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let plain = "disable_auto_compactions=true;prefix_extractor=fixed:3;table_factory=PlainTable;\
        plain_table_factory={encoding_type=kPrefix;store_index_in_file=true};allow_mmap_reads=true";
    let db = open(plain);
    db.put(b"abc1", b"new").unwrap();
    db.put(b"abc2", b"plain").unwrap();
    db.flush().unwrap();
    db.close().unwrap();

    let text = |arguments: &[&str]| printed(&on(path, arguments));
    let kinds = || -> Vec<bool> {
        let tables = state_of(path).into_iter().filter(|(name, _)| name.ends_with(".sst"));
        tables.map(|(_, bytes)| bytes.ends_with(&0x4f34_18eb_7a8f_13b8_u64.to_le_bytes())).collect()
    };
    assert_eq!(kinds(), [false, true]);
    assert_eq!(text(&["scan"]), "abc1 : new\nabc2 : plain\nabd1 : block\n");
    assert_eq!(text(&["get", "abc2"]), "plain\n");
    assert_eq!(text(&["get", "abd1"]), "block\n");
    assert!(text(&["idump"]).contains("Internal keys in range: 4"));
    text(&["checkconsistency"]);
    for (name, _) in state_of(path).iter().filter(|(name, _)| name.ends_with(".sst")) {
        let file = format!("--file={}", path.join(name).display());
        let dump = Command::new(env!("CARGO_BIN_EXE_sst_dump")).args([&file, "--command=scan"]).output().unwrap();
        assert!(printed(&dump).contains("'abc1' seq:"), "{dump:?}");
    }
    text(&["put", "abe1", "more"]);
    text(&["compact"]);
    assert!(kinds().into_iter().all(|is_plain| is_plain));
    assert_eq!(text(&["scan"]), "abc1 : new\nabc2 : plain\nabd1 : block\nabe1 : more\n");
}

#[test]
fn a_table_is_written_from_lines_and_taken_in() {
    let directory = tempfile::tempdir().unwrap();
    let (database, table) = (directory.path().join("db"), directory.path().join("table.sst"));
    small_database(&database);
    let table_text = table.display().to_string();
    let lines = b"b ==> new\nno entry\nd ==> 4\nKeys in range: 2\n";
    let written = ldb_with_input(&database, &["write_extern_sst", &table_text], lines);
    assert!(printed(&written).contains(&format!("external SST file written to {table_text}")));
    assert!(String::from_utf8_lossy(&written.stderr).contains("1 bad lines ignored"));
    assert!(printed(&on(&database, &["ingest_extern_sst", &table_text])).contains("external SST files ingested"));
    assert_eq!(printed(&on(&database, &["scan"])), "a : 1\nb : new\nd : 4\n");
    assert!(table.exists());

    // What is out of order, what is of another family, and what is not allowed.
    let unordered = ldb_with_input(&database, &["write_extern_sst", &table_text], b"b ==> 1\na ==> 2\n");
    fails(&unordered, 2, "strict ascending order");
    assert!(!table.exists(), "a table that is not finished is removed");
    printed(&ldb_with_input(&database, &["write_extern_sst", &table_text, "--hex"], b"0x65 ==> 0x35\n"));
    let other = on(&database, &["ingest_extern_sst", &table_text, "--column_family=other one"]);
    fails(&other, 2, "column family id");
    let strict = ["ingest_extern_sst", &table_text, "--allow_global_seqno=false"];
    fails(&on(&database, &strict), 64, "cannot write global_seqno");
    let strict = [&strict[..], &["--write_global_seqno=false", "--move_files=true"]].concat();
    printed(&on(&database, &strict));
    assert!(!table.exists());
    assert!(printed(&on(&database, &["get", "e"])).starts_with('5'));
}

#[test]
fn values_with_times_are_written_and_read_without_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    assert_eq!(printed(&on(&path, &["put", "--ttl", "--create_if_missing", "a", "1"])), "OK\n");
    assert_eq!(printed(&on(&path, &["batchput", "--ttl", "b", "2", "d", "4"])), "OK\n");
    assert_eq!(printed(&on(&path, &["delete", "--ttl", "d"])), "OK\n");
    let loaded = ldb_with_input(&path, &["load", "--ttl"], b"c ==> 3\n");
    assert_eq!(loaded.status.code(), Some(0), "{loaded:?}");
    assert_eq!(printed(&on(&path, &["get", "--ttl", "a"])), "1\n");
    assert_eq!(printed(&on(&path, &["scan", "--ttl"])), "a : 1\nb : 2\nc : 3\n");
    assert_eq!(printed(&on(&path, &["dump", "--ttl"])), "a ==> 1\nb ==> 2\nc ==> 3\nKeys in range: 3\n");
    // Four bytes of time are behind each value.
    let stored = printed(&on(&path, &["get", "--value_hex", "c"]));
    assert!(stored.starts_with("0x33") && stored.trim_end().len() == 12, "{stored}");
    fails(&on(&path, &["idump", "--ttl"]), 64, "--ttl is for get");
    printed(&on(&path, &["put", "e", "no"]));
    fails(&on(&path, &["get", "--ttl", "e"]), 1, "fewer than the 4 of the time");
}

#[test]
fn several_keys_are_read_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    small_database(path);
    let text = |arguments: &[&str]| printed(&on(path, arguments));
    assert_eq!(text(&["multi_get", "a", "c", "b"]), "a ==> 1\nKey not found: c\nb ==> two\n");
    assert_eq!(text(&["multi_get", "0x61", "0x63", "--hex"]), "0x61 ==> 0x31\nKey not found: 0x63\n");
    fails(&on(path, &["multi_get"]), 64, "usage: ldb --db=<directory> multi_get <key>");
    fails(&on(path, &["multi_get", "a", "--read_timestamp=1"]), 64, "--read_timestamp");
}

#[test]
fn entities_are_written_and_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    small_database(path);
    let text = |arguments: &[&str]| printed(&on(path, arguments));
    assert_eq!(text(&["put_entity", "e", "size:large", ":whole", "colour:red"]), "OK\n");
    assert_eq!(text(&["put_entity", "f", "0x61:0x62", "--value_hex"]), "OK\n");
    assert_eq!(text(&["get_entity", "e"]), ":whole colour:red size:large\n");
    assert_eq!(text(&["get", "e"]), "whole\n");
    assert_eq!(text(&["get_entity", "0x66", "--hex"]), "0x61:0x62\n");
    // A plain value is that of the column without a name.
    assert_eq!(
        text(&["multi_get_entity", "b", "c", "e"]),
        "b ==> :two\nKey not found: c\ne ==> :whole colour:red size:large\n"
    );
    fails(&on(path, &["get_entity", "c"]), 1, "GetEntity failed: NotFound");
    fails(&on(path, &["put_entity", "g", "column"]), 64, "wide column format needs to be");
    fails(&on(path, &["put_entity", "g"]), 64, "usage: ldb");
    assert_eq!(text(&["delete", "e"]), "OK\n");
    fails(&on(path, &["get_entity", "e"]), 1, "NotFound");
}

#[test]
fn queries_are_lines_of_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    small_database(path);
    let lines = "get a\nget nowhere\nput d 4\nget d\ndelete a\nget a\ncount\ncount --from=c\ncount --to=c\nput x\n\
                 get a --from=b\nfly\n\ncount --flag\nhelp\n";
    let output = ldb_with_input(path, &["query"], lines.as_bytes());
    let expected = "a ==> 1\nget nowhere status: NotFound: \nput d => 4 succeeded\nd ==> 4\ndelete a succeeded\n\
                    get a status: NotFound: \n2\n1\n1\nput gets invalid arguments\nget gets invalid arguments\n\
                    Unknown command fly\nBad command\nBad command\nget <key>\nput <key> <value>\ndelete <key>\n\
                    count [--from=<start_key>] [--to=<end_key>]\n";
    assert_eq!(printed(&output), expected);
    assert_eq!(printed(&on(path, &["scan"])), "b : two\nd : 4\n");
    let hex = ldb_with_input(path, &["query", "--hex"], b"get 0x62\nget b\n");
    assert_eq!(printed(&hex), "0x62 ==> 0x74776F\n\"b\" is not hexadecimal: it is 0x and two digits a byte\n");
}

#[test]
fn a_follower_reads_what_its_leader_flushed() {
    let directory = tempfile::tempdir().unwrap();
    let (leader, own) = (directory.path().join("db"), directory.path().join("own"));
    small_database(&leader);
    let before = state_of(&leader);
    let flag = format!("--leader_path={}", leader.display());
    assert_eq!(printed(&on(&own, &["get", "b", &flag])), "2\n", "logs are not read");
    assert_eq!(printed(&on(&own, &["scan", &flag])), printed(&on(&own, &["scan", &flag])), "opened again");
    assert_eq!(state_of(&leader), before);
    fails(&on(&own, &["put", "b", "3", &flag]), 64, "only read");
    fails(&on(&own, &["get", "b", &flag, "--secondary_path=elsewhere"]), 64, "one of them");
    fails(&on(&leader, &["get", "b", &flag]), 2, "directory of its own");
}
