//! Golden texts of the view: `UPDATE_EXPECT=1 cargo test -p ferrock-cli --bin ferrock top` rewrites `testdata/*.txt`,
//! and the difference is then read in the version control.

use super::layout::{Line, width_of};
use super::look::{Look, View};
use super::numbers::Numbers;
use super::render::render;
use super::snapshot::{Reading, Snapshot, Trouble, TroubleKind};
use serde_json::{Value, json};
use std::path::Path;

const LOADED: &str = include_str!("testdata/loaded.json");
const EMPTY: &str = include_str!("testdata/empty.json");

fn reading(value: Value) -> Reading {
    Reading { numbers: Numbers::parse(&value).unwrap(), value }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Adds to numbers that are given by their JSON pointers.
fn later(value: &Value, seconds: u64, added: &[(&str, u64)]) -> Value {
    let mut value = value.clone();
    let us = seconds * 1_000_000;
    for (pointer, more) in [("/as_of_us", us), ("/uptime_us", us)].iter().chain(added) {
        let of = value.pointer_mut(pointer).unwrap();
        *of = json!(of.as_u64().unwrap() + more);
    }
    value
}

const TIME_US: u64 = 1_795_819_025_000_000;

fn follow(answers: Vec<Result<Value, Trouble>>) -> Snapshot {
    let mut last: Option<Snapshot> = None;
    for answer in answers {
        last = Some(Snapshot::next(last.as_ref(), "http://127.0.0.1:8080/", TIME_US, answer.map(reading)));
    }
    last.unwrap()
}

fn empty() -> Snapshot {
    follow(vec![Ok(parsed(EMPTY))])
}

fn loaded() -> Snapshot {
    let before = parsed(LOADED);
    let after = later(
        &before,
        2,
        &[
            ("/sequence", 300_000),
            ("/writes/keys", 300_000),
            ("/writes/batches", 15_000),
            ("/writes/bytes", 30 << 20),
            ("/writes/wal_bytes", 32 << 20),
            ("/writes/wal_syncs", 3),
            ("/io/read_bytes", 200 << 20),
            ("/io/append_bytes", 300 << 20),
            ("/background/totals/flush_bytes", 28 << 20),
            ("/background/totals/compaction_read_bytes", 140 << 20),
            ("/background/totals/compaction_write_bytes", 130 << 20),
            ("/block_cache/kinds/0/hits", 90_000),
            ("/block_cache/kinds/0/misses", 10_000),
            ("/statistics/tickers/rocksdb.number.keys.read", 180_001),
            ("/statistics/histograms/rocksdb.db.get.micros/count", 180_001),
            ("/statistics/histograms/rocksdb.db.get.micros/sum", 1_440_008),
        ],
    );
    follow(vec![Ok(before), Ok(after)])
}

fn stalled() -> Snapshot {
    let before = parsed(LOADED);
    let mut after = later(
        &before,
        1,
        &[
            ("/writes/stall_us", 3_400_000),
            ("/stalls/waits/1/stops", 4),
            ("/stalls/waits/1/stop_us", 3_100_000),
            ("/stalls/waits/2/delays", 90),
            ("/stalls/waits/2/delay_us", 300_000),
        ],
    );
    after["stalls"]["condition"] = json!("delayed");
    after["stalls"]["delayed_write_rate"] = json!(16 << 20);
    after["background"]["write_stall_proximity_pct"] = json!(100);
    after["background"]["error"] =
        json!({ "message": "I/O error: /data/orders/000123.sst: writing: No space left on device" });
    follow(vec![Ok(before), Ok(after)])
}

fn trouble(kind: TroubleKind) -> Trouble {
    Trouble {
        kind,
        message: "http://127.0.0.1:8080/: no connection: Connection refused (os error 111)".to_owned(),
        remedy: "check that the program or `ferrock inspect` still runs, and its port".to_owned(),
    }
}

fn lost() -> Snapshot {
    follow(vec![Ok(parsed(LOADED)), Err(trouble(TroubleKind::Connection))])
}

fn never_there() -> Snapshot {
    follow(vec![Err(trouble(TroubleKind::Connection))])
}

fn directory() -> Snapshot {
    let mut value = parsed(LOADED);
    value["is_live"] = json!(false);
    follow(vec![Ok(value)])
}

fn text_of(lines: &[Line]) -> String {
    lines.iter().map(|line| line.plain() + "\n").collect()
}

/// Compares with a file of `testdata`, or rewrites it.
fn check(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/top/testdata").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        #[expect(clippy::disallowed_methods, reason = "a file of the source tree, on request rewritten")]
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} (UPDATE_EXPECT=1 rewrites it):\n{found}", path.display());
}

#[test]
fn views_are_those_of_the_golden_texts() {
    for (name, snapshot) in [
        ("empty", empty()),
        ("loaded", loaded()),
        ("stalled", stalled()),
        ("lost", lost()),
        ("never_there", never_there()),
        ("directory", directory()),
    ] {
        let mut text = String::new();
        for width in [60, 100, 200] {
            let lines = render(&snapshot, Look::default(), width, None);
            text += &format!("--- {width} columns\n{}", text_of(&lines));
        }
        check(&format!("{name}.txt"), &text);
    }
}

#[test]
fn parts_on_a_terminal_are_those_of_the_golden_texts() {
    let (snapshot, mut text) = (loaded(), String::new());
    let mut look = Look::default();
    for _ in 0..6 {
        for (width, height) in [(60, 24), (120, 30)] {
            let lines = render(&snapshot, look.sorted(1), width, Some(height));
            text += &format!("--- {width} x {height}\n{}", text_of(&lines));
        }
        look = look.turned(1);
    }
    check("terminal.txt", &text);
}

#[test]
fn every_size_of_a_terminal_is_kept() {
    for snapshot in [empty(), loaded(), stalled(), lost(), never_there(), directory()] {
        let mut look = Look::default();
        for _ in 0..6 {
            for width in [1, 2, 7, 20, 59, 60, 61, 124, 128, 300] {
                for height in [0, 1, 2, 5, 24, 200] {
                    let lines = render(&snapshot, look, width, Some(height));
                    assert_eq!(lines.len(), height);
                    let widest = lines.iter().map(|line| width_of(&line.plain())).max().unwrap_or(0);
                    assert!(widest <= width, "{look:?} {width} x {height}: {widest}");
                }
                render(&snapshot, look, width, None);
            }
            look = look.turned(1);
        }
    }
}

#[test]
fn rates_are_differences_over_the_time_of_the_process() {
    let snapshot = loaded();
    let rates = snapshot.rates.as_ref().unwrap();
    assert_eq!((rates.over_seconds, rates.is_since_open), (2.0, false));
    assert_eq!((rates.keys_written, rates.batches, rates.wal_syncs), (150_000.0, 7_500.0, 1.5));
    assert_eq!(rates.file_append_bytes, Some((150 << 20).into()));
    assert_eq!((rates.cache[0].hits, rates.cache[0].misses, rates.cache[1].hits), (45_000.0, 5_000.0, 0.0));
    let json = snapshot.to_json();
    assert_eq!(json["metrics"]["writes"]["keys"], 880_300_000);
    assert_eq!((&json["rates"]["keys_read"], &json["error"]), (&json!(90_000.5), &Value::Null));
    let get = &json["rates"]["latencies"].as_array().unwrap().iter().find(|of| of["name"] == "rocksdb.db.get.micros");
    assert_eq!(get.unwrap()["mean_us"], 8.0);

    // The first one is since the open, where files are not known; and so is one behind another open of the database.
    let first = follow(vec![Ok(parsed(LOADED))]);
    let rates = first.rates.as_ref().unwrap();
    assert_eq!((rates.is_since_open, rates.over_seconds, rates.file_read_bytes), (true, 7200.0, None));
    let mut again = parsed(EMPTY);
    again["name"] = json!("/data/orders");
    let again = follow(vec![Ok(parsed(LOADED)), Ok(again)]);
    assert!(again.rates.unwrap().is_since_open);

    // No rates of what another process counts, and none while the connection is lost.
    assert_eq!((directory().rates, lost().rates), (None, None));
    let json = lost().to_json();
    assert_eq!((&json["metrics"], &json["error"]["kind"]), (&Value::Null, &json!("connection")));
    // Once it is back, they are over all of that time.
    let back = follow(vec![
        Ok(parsed(LOADED)),
        Err(trouble(TroubleKind::Connection)),
        Ok(later(&parsed(LOADED), 10, &[("/writes/keys", 1000)])),
    ]);
    assert_eq!(back.rates.map(|rates| (rates.over_seconds, rates.keys_written)), Some((10.0, 100.0)));
}

#[test]
fn an_answer_of_another_form_is_refused_by_the_name_of_its_field() {
    let whole = parsed(LOADED);
    for (pointer, changed, place) in [
        ("/writes/keys", json!("many"), "writes.keys is not a number"),
        ("/families/1/levels/0/files", json!(-1), "families[1].levels[0].files is not a number"),
        ("/families", json!({}), "families is not a list"),
        ("/is_live", json!(1), "is_live is not true or false"),
        ("/stalls/condition", Value::Null, "stalls.condition is not a text"),
        ("/statistics/histograms/rocksdb.db.get.micros", json!(3), "statistics.histograms.rocksdb.db.get.micros.count"),
        ("/background", json!([]), "background.totals is missing"),
    ] {
        let mut value = whole.clone();
        *value.pointer_mut(pointer).unwrap() = changed;
        let error = Numbers::parse(&value).unwrap_err();
        assert!(error.contains(place) && error.contains("another version"), "{error}");
    }
    for value in [json!(null), json!([]), json!({}), json!("text"), json!({ "error": {} })] {
        assert!(Numbers::parse(&value).unwrap_err().contains("name is missing"));
    }
}

#[test]
fn numbers_and_texts_of_any_kind_are_shown() {
    // Every number is the largest that there is, and every text tries to move the cursor.
    fn extreme(value: &mut Value) {
        match value {
            Value::Number(number) if number.is_u64() => *value = json!(u64::MAX),
            Value::Number(_) => *value = json!(f64::MAX),
            Value::String(text) => text.push_str("\x1b[2J\n\u{202e}表"),
            Value::Array(all) => all.iter_mut().for_each(extreme),
            Value::Object(all) => all.values_mut().for_each(extreme),
            _ => {}
        }
    }
    let mut value = parsed(LOADED);
    extreme(&mut value);
    let zero = parsed(EMPTY);
    for answers in [vec![Ok(value.clone())], vec![Ok(zero.clone()), Ok(value.clone())], vec![Ok(value), Ok(zero)]] {
        let snapshot = follow(answers);
        snapshot.to_json();
        for width in [20, 60, 200] {
            let lines = render(&snapshot, Look { view: View::All, sort: 0 }, width, None);
            let text = text_of(&lines);
            assert!(!text.contains(['\x1b', '\u{202e}']) && lines.iter().all(|line| line.width() <= width));
        }
    }
}
