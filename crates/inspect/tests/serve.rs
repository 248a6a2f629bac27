//! The server from outside, by plain sockets: every answer compared with what was done to the database, and everything
//! that must be refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::options::Components;
use ferrock::statistics::{Statistics, StatsLevel};
use ferrock::{ColumnFamilyOptions, Db, DbOptions};
use ferrock_inspect::{Inspector, ServeInspector};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn open(path: &Path) -> Db {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components =
        Components { statistics: Some(Arc::new(Statistics::new(StatsLevel::All))), ..Components::default() };
    Db::open(path, options).unwrap()
}

fn send(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    // A server that refuses may close before everything was sent.
    let _ = stream.write_all(request);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

/// Status, headers and body.
fn get(inspector: &Inspector, path: &str) -> (u16, String, String) {
    let address = inspector.address();
    let answer = send(address, format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let length = format!("Content-Length: {}\r\n", body.len());
    assert!(head.contains(&length), "{head}");
    (head[9..12].parse().unwrap(), head.to_owned(), body.to_owned())
}

fn json(inspector: &Inspector, path: &str) -> Value {
    let (status, head, body) = get(inspector, path);
    assert_eq!(status, 200, "{path}: {body}");
    assert!(head.contains("Content-Type: application/json\r\n"), "{head}");
    serde_json::from_str(&body).unwrap()
}

#[test]
fn every_answer_is_what_was_done() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    let mut events = ColumnFamilyOptions::default();
    events.write_buffer_size = 1 << 20;
    let events = db.create_column_family("events", events).unwrap();
    for number in 0..100_u32 {
        db.put(format!("key\\{number:03}\n").as_bytes(), b"value").unwrap();
    }
    db.delete(b"key").unwrap();
    db.flush().unwrap();
    db.put_cf(&events, b"in memory", b"value", &Default::default()).unwrap();
    db.get(b"key\\001\n").unwrap().unwrap();
    let inspector = db.serve_inspector("127.0.0.1:0").unwrap();
    assert!(inspector.error().is_none());

    let metrics = json(&inspector, "/api/metrics");
    assert_eq!(metrics["name"], directory.path().to_str().unwrap());
    assert_eq!((&metrics["is_live"], &metrics["sequence"]), (&true.into(), &102.into()));
    assert_eq!(metrics["writes"]["batches"], 102);
    assert_eq!(metrics["stalls"]["condition"], "normal");
    assert_eq!(metrics["stalls"]["waits"].as_array().unwrap().len(), 5);
    assert_eq!(metrics["background"]["totals"]["flushes"], 1);
    assert_eq!(metrics["families"][0]["levels"][0]["files"], 1);
    assert_eq!(metrics["families"][1]["name"], "events");
    assert_eq!(metrics["families"][1]["memtables"]["active_entries"], 1);
    assert!(metrics["memory"]["holders"][0]["bytes"].as_u64().unwrap() > 0, "{}", metrics["memory"]);
    assert!(metrics["block_cache"]["kinds"].as_array().unwrap().iter().any(|kind| kind["kind"] == "DataBlock"));
    assert_eq!(metrics["statistics"]["tickers"]["rocksdb.number.keys.written"], 102);
    assert!(metrics["statistics"]["histograms"]["rocksdb.db.write.micros"]["count"].as_u64().unwrap() > 0);

    let files = json(&inspector, "/api/files");
    assert_eq!((&files["total"], &files["offset"], &files["limit"]), (&1.into(), &0.into(), &100.into()));
    let (file, live) = (&files["files"][0], &db.live_files()[0]);
    assert_eq!((&file["entries"], &file["deletions"], &file["level"]), (&101.into(), &1.into(), &0.into()));
    assert_eq!(file["size_bytes"], live.size_bytes);
    assert_eq!((&file["smallest_key"], &file["smallest_key_bytes"]), (&"key".into(), &3.into()));
    assert_eq!((&file["largest_key"], &file["largest_key_bytes"]), (&"key\\\\099\\n".into(), &8.into()));
    assert_eq!((&file["smallest_sequence"], &file["largest_sequence"]), (&1.into(), &101.into()));
    assert_eq!((&file["cf"], &file["temperature"]), (&"default".into(), &"unknown".into()));
    assert_eq!(json(&inspector, "/api/files?cf=events")["total"], 0);

    let one = json(&inspector, &format!("/api/file?number={}", file["number"]));
    assert_eq!((&one["properties"]["entries"], &one["error"]), (&101.into(), &Value::Null));
    assert_eq!(one["properties"]["comparator"], "leveldb.BytewiseComparator");
    assert!(Path::new(one["path"].as_str().unwrap()).exists());

    let options = json(&inspector, "/api/options");
    let sections = options["sections"].as_array().unwrap();
    let of = |title: &str| &sections.iter().find(|section| section["title"] == title).unwrap()["options"];
    let changed = serde_json::json!([{ "name": "write_buffer_size", "value": "1048576", "default": "67108864" }]);
    assert_eq!(*of("family events"), changed);
    assert_eq!(of("family default").as_array().unwrap().len(), 0, "{options}");
    assert!(of("database").as_array().unwrap().iter().any(|option| option["name"] == "create_if_missing"));

    let log = json(&inspector, "/api/log");
    assert!(log["text"].as_str().unwrap().contains("Options.write_buffer_size"), "{log}");

    let (status, head, page) = get(&inspector, "/metrics");
    assert_eq!(status, 200);
    assert!(head.contains("text/plain; version=0.0.4") && page.contains("ferrock_write_batches_total"));
    let (status, head, page) = get(&inspector, "/");
    assert_eq!(status, 200);
    assert!(head.contains("Content-Security-Policy: default-src 'none'; script-src 'nonce-"), "{head}");
    assert!(page.starts_with("<!doctype html>") && !page.contains("{nonce}"));

    // An open database does not wait for its page.
    db.close().unwrap();
    let (status, _, body) = get(&inspector, "/api/metrics");
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("closed"), "{body}");
}

#[test]
fn an_empty_database_has_every_answer() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let db = Db::open(directory.path(), options).unwrap();
    let inspector = db.serve_inspector("localhost:0").unwrap();
    let metrics = json(&inspector, "/api/metrics");
    assert_eq!((&metrics["sequence"], &metrics["statistics"]), (&0.into(), &Value::Null));
    assert_eq!(json(&inspector, "/api/files")["files"].as_array().unwrap().len(), 0);
    assert_eq!(get(&inspector, "/api/file?number=1").0, 404);
    json(&inspector, "/api/options");
    json(&inspector, "/api/log");
}

#[test]
fn many_tables_come_in_pages() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.level0_slowdown_writes_trigger = 100_000;
    family.level0_stop_writes_trigger = 100_000;
    family.target_file_size_base = 1 << 10;
    family.compression = ferrock::options::CompressionType::NoCompression;
    let (db, _) = Db::open_cf(directory.path(), options, vec![("default".to_owned(), family)]).unwrap();
    for number in 0..4_000_u32 {
        db.put(&number.to_be_bytes(), &[7; 600]).unwrap();
    }
    db.compact_range(None, None).unwrap();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    let live = db.live_files();
    assert!(live.len() > 1_200, "{}", live.len());

    let inspector = db.serve_inspector("127.0.0.1:0").unwrap();
    let mut seen = BTreeSet::new();
    for offset in (0..live.len()).step_by(1000) {
        let page = json(&inspector, &format!("/api/files?cf=default&offset={offset}&limit=1000"));
        assert_eq!(page["total"], live.len());
        let rows = page["files"].as_array().unwrap();
        assert_eq!(rows.len(), (live.len() - offset).min(1000));
        seen.extend(rows.iter().map(|row| row["number"].as_u64().unwrap()));
    }
    assert_eq!(seen, live.iter().map(|file| file.number.0).collect());
    assert_eq!(json(&inspector, "/api/files?level=0")["total"], 1);
    assert_eq!(json(&inspector, "/api/files?limit=0")["files"].as_array().unwrap().len(), 0);
    assert_eq!(json(&inspector, "/api/files?offset=18446744073709551615")["files"].as_array().unwrap().len(), 0);
}

#[test]
fn what_is_asked_wrongly_is_refused_and_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    let inspector = db.serve_inspector("127.0.0.1:0").unwrap();
    for (path, wanted, word) in [
        ("/nothing", 404, "the page is at /"),
        ("/api/files?limit=1001", 400, "at most 1000"),
        ("/api/files?limit=-1", 400, "whole number"),
        ("/api/files?colour=red", 400, "cf, level, offset, limit"),
        ("/api/files?cf=none", 404, "none"),
        ("/api/file", 400, "number is needed"),
        ("/api/file?number=7777", 404, "7777"),
        ("/api/metrics?x", 400, "no parameters"),
        ("/../../etc/passwd", 404, "page"),
    ] {
        let (status, head, body) = get(&inspector, path);
        assert_eq!(status, wanted, "{path}");
        let error: Value = serde_json::from_str(&body).unwrap();
        assert!(error["error"]["message"].as_str().unwrap().contains(word), "{path}: {body}");
        assert!(head.contains("default-src 'none'"), "{head}");
    }
    let address = inspector.address();
    let status = |request: &str| send(address, request.as_bytes()).get(9..12).unwrap_or("none").to_owned();
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.0.2.1"] {
        assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")), "403", "{host}");
    }
    assert_eq!(status("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "200");
    assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), "400");
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "get"] {
        let answer = send(address, format!("{method} / HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes());
        assert!(answer.starts_with("HTTP/1.1 405") && answer.contains("Allow: GET, HEAD\r\n"), "{answer}");
    }
    assert_eq!(status("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nnine byte"), "413");
    let long = "a".repeat(9000);
    assert_eq!(status(&format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n")), "431");
    assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n")), "431");
    assert_eq!(status(&format!("GET /{}", "a".repeat(500_000))), "431", "also without an end");
    assert_eq!(status("\r\n\r\n"), "400");
    assert_eq!(status(""), "none", "a connection that says nothing");
    let head = send(address, b"HEAD /api/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    // The server still answers.
    json(&inspector, "/api/metrics");
}

#[test]
fn a_server_stops_when_it_is_dropped_whatever_is_connected() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    let inspector = db.serve_inspector("127.0.0.1:0").unwrap();
    let address = inspector.address();
    let idle: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
    let (_, _, body) = get(&inspector, "/api/metrics");
    assert!(body.starts_with('{'));
    let begin = Instant::now();
    drop(inspector);
    assert!(begin.elapsed() < Duration::from_secs(30), "connections that say nothing do not hold it: {begin:?}");
    assert!(TcpStream::connect(address).is_err(), "the port is free");
    drop(idle);
    db.serve_inspector("127.0.0.1:0").unwrap();
    let taken = ferrock_inspect::serve(&db, "192.0.2.1:1").unwrap_err();
    assert!(taken.to_string().contains("192.0.2.1:1"), "{taken}");
}

#[test]
fn a_directory_is_followed_and_its_damage_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    db.put(b"key", b"value").unwrap();
    let inspector = ferrock_inspect::serve_directory(directory.path(), "127.0.0.1:0").unwrap();
    let first = json(&inspector, "/api/metrics");
    assert_eq!((&first["is_live"], &first["sequence"]), (&false.into(), &1.into()));
    db.put(b"other", b"value").unwrap();
    db.flush().unwrap();
    let wait_until = |is_done: &dyn Fn() -> bool| {
        (0..2400).any(|_| {
            is_done() || {
                std::thread::sleep(Duration::from_millis(25));
                false
            }
        })
    };
    assert!(wait_until(&|| json(&inspector, "/api/metrics")["sequence"] == 2));
    assert_eq!(json(&inspector, "/api/files")["total"], 1);
    db.close().unwrap();

    std::fs::write(directory.path().join("CURRENT"), b"MANIFEST-999999\n").unwrap();
    assert!(wait_until(&|| get(&inspector, "/api/metrics").0 == 503));
    let body: Value = serde_json::from_str(&get(&inspector, "/api/files").2).unwrap();
    for field in ["kind", "message", "file", "remedy"] {
        assert!(body["error"][field].is_string(), "{field}: {body}");
    }
    assert!(inspector.error().is_some());
    assert!(json(&inspector, "/api/options")["sections"].as_array().unwrap().len() > 1);
    assert!(!json(&inspector, "/api/log")["text"].as_str().unwrap().is_empty());
}

/// A table whose data blocks have the sizes that are expected: values that do not compress, one a block where they are
/// larger than `block_size`.
fn table_of(path: &Path, text: &str, sizes: &[usize]) -> (Db, Inspector, u64) {
    let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    options.create_if_missing = true;
    ferrock::options::apply_text(&mut options, &mut family, text).unwrap();
    let (db, _) = Db::open_cf(path, options, vec![("default".to_owned(), family)]).unwrap();
    for (number, size) in sizes.iter().enumerate() {
        db.put(&(number as u32).to_be_bytes(), &vec![7; *size]).unwrap();
    }
    db.flush().unwrap();
    let inspector = db.serve_inspector("127.0.0.1:0").unwrap();
    let number = db.live_files()[0].number.0;
    (db, inspector, number)
}

#[test]
fn blocks_of_a_table_are_those_that_were_written() {
    let sizes: Vec<usize> =
        (0..900).map(|number| if number % 9 == 0 { 20_000 } else { 5000 }).chain([300; 5]).collect();
    // A partition for a few entries: the histogram walks through all of them.
    for is_partitioned in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let index = if is_partitioned { "index_type=kTwoLevelIndexSearch;metadata_block_size=64" } else { "" };
        let text = format!("compression=kNoCompression;block_based_table_factory={{block_size=4096;{index}}}");
        let (db, inspector, number) = table_of(directory.path(), &text, &sizes);
        let properties = &json(&inspector, &format!("/api/file?number={number}"))["properties"];
        assert_eq!(properties["index_partitions"].as_u64().unwrap() > 10, is_partitioned, "{properties}");

        let blocks = json(&inspector, &format!("/api/blocks?number={number}"));
        assert_eq!((&blocks["error"], &blocks["is_of_all"]), (&Value::Null, &true.into()));
        assert_eq!(
            (&blocks["blocks"], &blocks["stored_bytes"]),
            (&properties["data_blocks"], &properties["data_bytes"])
        );
        let histogram = blocks["histogram"].as_array().unwrap();
        let found: Vec<_> = histogram
            .iter()
            .map(|bucket| ["from_bytes", "to_bytes", "blocks"].map(|field| bucket[field].as_u64().unwrap()))
            .collect();
        // The five small values share the last block, which has some 1,600 bytes.
        assert_eq!(found, [[1024, 2047, 1], [2048, 4095, 0], [4096, 8191, 800], [8192, 16383, 0], [16384, 32767, 100]]);
        assert!((20_000..20_100).contains(&blocks["largest_bytes"].as_u64().unwrap()), "{blocks}");
        assert!((1500..1700).contains(&blocks["smallest_bytes"].as_u64().unwrap()), "{blocks}");
        // A bound is kept, and told; one that is just large enough is none.
        let table = &db.live_files()[0];
        let some = db.data_block_histogram(table, 7).unwrap().unwrap();
        assert_eq!((some.blocks, some.is_of_all), (7, false));
        assert_eq!(some.buckets().map(|(_, blocks)| blocks).sum::<u64>(), 7);
        assert!(db.data_block_histogram(table, 901).unwrap().unwrap().is_of_all);
        assert!(!db.data_block_histogram(table, 0).unwrap().unwrap().is_of_all);
    }
}

#[test]
fn blocks_of_compressed_plain_and_damaged_tables() {
    let directory = tempfile::tempdir().unwrap();
    let (db, inspector, number) = table_of(directory.path(), "compression=kLZ4Compression", &[20_000; 50]);
    let path = format!("/api/blocks?number={number}");
    let blocks = json(&inspector, &path);
    // What is told is what lies in the file: twenty thousand equal bytes are a hundred there.
    assert_eq!(blocks["blocks"], 50);
    assert!(blocks["largest_bytes"].as_u64().unwrap() < 400, "{blocks}");
    for (path, wanted, word) in [
        ("/api/blocks", 400, "number is needed"),
        ("/api/blocks?number=999", 404, "not live"),
        ("/api/blocks?number=1&x=2", 400, "number"),
    ] {
        let (status, _, body) = get(&inspector, path);
        assert!(status == wanted && body.contains(word), "{path}: {status} {body}");
    }
    drop(inspector);
    db.close().unwrap();

    // The partitions of the index lie behind the data, and the first of them is damaged: the answer names the file.
    let directory = tempfile::tempdir().unwrap();
    let index = "block_based_table_factory={index_type=kTwoLevelIndexSearch;metadata_block_size=64}";
    let (db, inspector, number) = table_of(directory.path(), index, &[20_000; 50]);
    let data_bytes = db.table_properties(&db.live_files()[0]).unwrap().data_size;
    drop(inspector);
    db.close().unwrap();
    let file = directory.path().join(format!("{number:06}.sst"));
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[data_bytes as usize + 2] ^= 0xff;
    std::fs::write(&file, bytes).unwrap();
    let inspector = ferrock_inspect::serve_directory(directory.path(), "127.0.0.1:0").unwrap();
    let blocks = json(&inspector, &format!("/api/blocks?number={number}"));
    assert_eq!((&blocks["blocks"], blocks["histogram"].as_array().unwrap().len()), (&0.into(), 0));
    assert!(blocks["error"]["message"].as_str().unwrap().contains(".sst"), "{blocks}");

    let directory = tempfile::tempdir().unwrap();
    let text = "prefix_extractor=fixed:3;plain_table_factory={}";
    let (_db, inspector, number) = table_of(directory.path(), text, &[100; 10]);
    let blocks = json(&inspector, &format!("/api/blocks?number={number}"));
    assert_eq!(
        (&blocks["blocks"], &blocks["error"]),
        (&0.into(), &Value::Null),
        "a plain table has no blocks: {blocks}"
    );
}

#[test]
fn a_database_in_memory_shows_its_options_and_its_log() {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_open_files = 77;
    let (db, _) = Db::open_in_memory(options, vec![("default".to_owned(), Default::default())]).unwrap();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    let inspector = db.serve_inspector("127.0.0.1:0").unwrap();
    let options = json(&inspector, "/api/options");
    assert_eq!(options["error"], Value::Null);
    let database = options["sections"][0]["options"].as_array().unwrap();
    assert!(database.iter().any(|of| of["name"] == "max_open_files" && of["value"] == "77"), "{options}");
    let log = json(&inspector, "/api/log");
    assert_eq!(log["error"], Value::Null);
    assert!(log["text"].as_str().unwrap().contains("flushed 1 memtables to table "), "{log}");
}

#[test]
fn the_newest_log_is_shown_wherever_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let (path, logs) = (directory.path().join("db"), directory.path().join("logs"));
    std::fs::create_dir(&logs).unwrap();
    let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    let text = format!("create_if_missing=true;db_log_dir={}", logs.display());
    ferrock::options::apply_text(&mut options, &mut family, &text).unwrap();
    Db::open(&path, options).unwrap().close().unwrap();
    let inspector = ferrock_inspect::serve_directory(&path, "127.0.0.1:0").unwrap();
    let log = || json(&inspector, "/api/log");
    assert!(log()["text"].as_str().unwrap().contains("Options.create_if_missing"), "the one of the directory");
    // As RocksDB names it.
    let word: String = path.to_str().unwrap()[1..].chars().map(|c| if c == '/' { '_' } else { c }).collect();
    let there = logs.join(format!("{word}_LOG"));
    std::fs::write(&there, b"a line of RocksDB\n").unwrap();
    let write_again = |path: &Path, seconds: u64| {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    };
    write_again(&path.join("LOG"), 1_700_000_000);
    assert_eq!((&log()["text"], &log()["path"]), (&"a line of RocksDB\n".into(), &there.to_str().unwrap().into()));
    write_again(&there, 1_600_000_000);
    assert_eq!(log()["path"], path.join("LOG").to_str().unwrap());
    std::fs::remove_file(path.join("LOG")).unwrap();
    assert_eq!(log()["text"], "a line of RocksDB\n");
}
