//! The LOG's lines of JSON beside what a listener is told of the same histories.

use crate::recorder::{Bench, DIRECTORY, Told, all};
use ferrock::options::InfoLogLevel;
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, Db, Error, FlushOptions, IngestExternalFileOptions, Result, SstFileWriter,
    WriteOptions,
};
use ferrock_vfs::{FileSystem, read_file};
use serde_json::Value;
use std::path::Path;

const MARK: &str = " EVENT_LOG_v1 ";

/// The events of all LOG files, in order.
pub fn lines(file_system: &dyn FileSystem) -> Vec<Value> {
    let names = file_system.children(Path::new(DIRECTORY)).unwrap();
    let mut names: Vec<String> =
        names.into_iter().filter(|name| name.starts_with("LOG.old.") || name == "LOG").collect();
    // "LOG.old.<micros>" of the same length sort by time, and "LOG" is the newest.
    names.sort_by_key(|name| (name == "LOG", name.clone()));
    let mut events = Vec::new();
    for name in names {
        let text = read_file(file_system, &Path::new(DIRECTORY).join(&name)).unwrap();
        for line in text.split(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line);
            let Some((before, json)) = line.split_once(MARK) else { continue };
            let thread = before.split_once(' ').expect("a time and a thread").1;
            assert!(thread.parse::<u64>().is_ok(), "{line}");
            assert!(json.is_ascii(), "{line}");
            events.push(serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {line}")));
        }
    }
    events
}

fn of<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

/// Rows of what is compared, in an order that does not depend on threads.
fn sorted<T: Ord>(rows: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut rows: Vec<T> = rows.into_iter().collect();
    rows.sort();
    rows
}

fn number(event: &Value, key: &str) -> u64 {
    event[key].as_u64().unwrap_or_else(|| panic!("{key} of {event}"))
}

fn text(event: &Value, key: &str) -> String {
    event[key].as_str().unwrap_or_else(|| panic!("{key} of {event}")).to_owned()
}

fn number_of(path: &Path) -> u64 {
    path.file_stem().unwrap().to_str().unwrap().parse().unwrap()
}

fn status(result: &Result<()>) -> String {
    result.as_ref().map_or_else(Error::to_string, |()| "OK".to_owned())
}

/// What a LOG and a listener say of the same life of a database fits together.
pub fn check_beside(told: &[Told], events: &[Value]) {
    check_flushes(told, events);
    check_compactions(told, events);
    check_files(told, events);
}

fn check_flushes(told: &[Told], events: &[Value]) {
    let said = of(events, "flush_started").into_iter().map(|event| (number(event, "job"), text(event, "flush_reason")));
    let begun = all!(told, FlushBegin).into_iter().map(|info| (info.job_id, info.flush_reason.name().to_owned()));
    assert_eq!(sorted(said), sorted(begun));
    let said = of(events, "flush_finished").into_iter().map(|event| number(event, "job"));
    assert_eq!(sorted(said), sorted(all!(told, FlushCompleted).into_iter().map(|info| info.job_id)));
    for event in of(events, "flush_started") {
        assert!(number(event, "num_memtables") > 0 && number(event, "memory_usage") > 0, "{event}");
        assert!(number(event, "total_num_input_entries") >= number(event, "num_deletes"), "{event}");
    }
}

fn check_compactions(told: &[Told], events: &[Value]) {
    let is_moved = |moved: u64, inputs: u64| moved > 0 || inputs == 0;
    let completed = all!(told, CompactionCompleted);
    let (moved, read): (Vec<_>, Vec<_>) = completed
        .into_iter()
        .partition(|info| is_moved(info.stats.num_input_files_trivially_moved, info.stats.num_input_files));
    let row = |event: &Value| {
        let keys = ["job", "output_level", "num_output_files", "total_output_size", "num_input_records"];
        keys.map(|key| number(event, key)).to_vec()
    };
    let expected = read.iter().map(|info| {
        let stats = &info.stats;
        let records = stats.num_input_records;
        let level = info.output_level as u64;
        vec![info.job_id, level, stats.num_output_files, stats.total_output_bytes, records]
    });
    assert_eq!(sorted(of(events, "compaction_finished").into_iter().map(row)), sorted(expected));
    let of_job = |name: &str, id: u64| of(events, name).into_iter().find(|event| event["job"] == id).unwrap().clone();
    for info in &read {
        let (started, finished) =
            (of_job("compaction_started", info.job_id), of_job("compaction_finished", info.job_id));
        assert_eq!(text(&started, "cf_name"), info.column_family);
        assert_eq!(text(&started, "compaction_reason"), info.compaction_reason.name());
        assert_eq!(number(&started, "input_data_size"), info.stats.total_input_bytes);
        let files = |level: usize| started.get(format!("files_L{level}")).cloned();
        let inputs: u64 = (0..7).filter_map(files).map(|list| list.as_array().unwrap().len() as u64).sum();
        assert_eq!(inputs, info.stats.num_input_files);
        for input in &info.input_file_infos {
            let list = files(input.level).unwrap();
            assert!(list.as_array().unwrap().contains(&input.file_number.0.into()), "{started}");
        }
        assert_eq!(finished.get("status").is_some(), info.status.is_err(), "{finished}");
        let blobs = finished.get("num_blob_output_files").map_or(0, |number| number.as_u64().unwrap());
        assert_eq!(blobs, info.stats.num_output_files_blob);
        let blob_bytes = finished.get("total_blob_output_size").map_or(0, |number| number.as_u64().unwrap());
        let told: u64 = info.blob_file_addition_infos.iter().map(|file| file.total_blob_bytes).sum();
        assert_eq!(blob_bytes, told);
        assert_eq!(number(&finished, "num_output_records"), info.stats.num_output_records);
        assert_eq!(finished["lsm_state"].as_array().unwrap().len(), 7);
    }
    let row = |event: &Value| ["job", "destination_level", "files", "total_files_size"].map(|key| number(event, key));
    let expected = moved
        .iter()
        .filter(|info| info.stats.num_input_files_trivially_moved > 0)
        .map(|info| [info.job_id, info.output_level as u64, info.stats.num_input_files, info.stats.total_input_bytes]);
    assert_eq!(sorted(of(events, "trivial_move").into_iter().map(row)), sorted(expected));
}

fn check_files(told: &[Told], events: &[Value]) {
    let said = of(events, "table_file_creation").into_iter().map(|event| {
        let properties = &event["table_properties"];
        let entries = number(properties, "num_entries");
        let numbers = (number(event, "job"), number(event, "file_number"), number(event, "file_size"), entries);
        (numbers, text(event, "cf_name"), text(event, "status"))
    });
    let created = all!(told, TableFileCreated).into_iter().map(|info| {
        let entries = info.table_properties.num_entries;
        let numbers = (info.file.job_id, number_of(&info.file.file_path), info.file_size_bytes, entries);
        (numbers, info.file.column_family, status(&info.status))
    });
    assert_eq!(sorted(said), sorted(created));
    let said = of(events, "blob_file_creation").into_iter().map(|event| {
        let keys = ["job", "file_number", "total_blob_count", "total_blob_bytes"];
        (keys.map(|key| number(event, key)), text(event, "cf_name"), text(event, "status"))
    });
    let created = all!(told, BlobFileCreated).into_iter().map(|info| {
        let number = number_of(&info.file.file_path);
        let numbers = [info.file.job_id, number, info.total_blob_count, info.total_blob_bytes];
        (numbers, info.file.column_family, status(&info.status))
    });
    assert_eq!(sorted(said), sorted(created));
    let deleted =
        |name| sorted(of(events, name).into_iter().map(|event| (number(event, "file_number"), text(event, "status"))));
    let told_of = |infos: Vec<ferrock::FileDeletionInfo>| {
        sorted(infos.into_iter().map(|info| (number_of(&info.file_path), status(&info.status))))
    };
    assert_eq!(deleted("table_file_deletion"), told_of(all!(told, TableFileDeleted)));
    assert_eq!(deleted("blob_file_deletion"), told_of(all!(told, BlobFileDeleted)));
}

/// Characters that JSON escapes, a control character, one that needs two units, one of a byte that is not UTF-8.
const NAME: &str = "a\"b\\c\n\u{1}\u{7f}é😀\u{10ffff}";

fn write(db: &Db, family: &ColumnFamily, round: u8) {
    for number in 0..100_u8 {
        let length = if number % 20 == 0 { 3000 } else { 100 };
        db.put_cf(family, &[number], &vec![round; length], &WriteOptions::default()).unwrap();
    }
}

#[test]
fn a_life_with_everything_is_in_the_log() {
    let mut bench = Bench::new();
    bench.options.create_missing_column_families = true;
    bench.family.enable_blob_files = true;
    bench.family.min_blob_size = 2000;
    bench.family.enable_blob_garbage_collection = true;
    bench.family.blob_garbage_collection_age_cutoff = 1.0;
    let families = || vec![("default".to_owned(), bench.family.clone()), (NAME.to_owned(), bench.family.clone())];
    let open = || Db::open_cf(DIRECTORY, bench.options.clone(), families()).unwrap();
    let (db, handles) = open();
    for round in 0..3 {
        write(&db, &handles[1], round);
        db.delete_range_cf(&handles[1], &[200], &[201], &WriteOptions::default()).unwrap();
        db.flush_cf(&handles[1], &FlushOptions::default()).unwrap();
    }
    let snapshot = db.snapshot();
    db.compact_range_cf(&handles[1], None, None, &ferrock::CompactRangeOptions::default()).unwrap();
    drop(snapshot);
    // A flush without a table, a table that is moved, and entries that are left to the log.
    db.put(b"key", b"value").unwrap();
    db.single_delete(b"key").unwrap();
    db.flush().unwrap();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    let mut writer = SstFileWriter::new(&bench.options, bench.family.clone());
    writer.open("/outside.sst").unwrap();
    writer.put(b"ingested", b"value").unwrap();
    writer.finish().unwrap();
    db.ingest_external_file(&["/outside.sst"], &IngestExternalFileOptions::default()).unwrap();
    write(&db, &handles[1], 9);
    db.put(b"logged", b"value").unwrap();
    drop(handles);
    db.close().unwrap();
    let (db, handles) = open();
    let dropped = db.create_column_family("dropped", ColumnFamilyOptions::default()).unwrap();
    write(&db, &dropped, 1);
    db.flush_cf(&dropped, &FlushOptions::default()).unwrap();
    db.drop_column_family(&dropped).unwrap();
    drop((dropped, handles));
    db.close().unwrap();
    let events = lines(&bench.faulty);
    check_beside(&bench.recorder.told(), &events);
    check_the_rest(&events);
}

/// What no listener is told.
fn check_the_rest(events: &[Value]) {
    let started = of(events, "recovery_started");
    let finished = of(events, "recovery_finished");
    assert_eq!((started.len(), finished.len()), (1, 1), "the first open had nothing to recover");
    assert_eq!(started[0]["wal_files"].as_array().unwrap().len(), 1);
    assert_eq!((&started[0]["job"], &finished[0]["status"]), (&finished[0]["job"], &"OK".into()));
    let recovered: Vec<_> =
        of(events, "table_file_creation").into_iter().filter(|event| event["job"] == started[0]["job"]).collect();
    assert!(recovered.len() >= 2, "{recovered:?}");
    let ingested = of(events, "ingest_finished");
    assert_eq!(ingested.len(), 1);
    let files = ingested[0]["files_ingested"].as_array().unwrap();
    assert_eq!((&files[0], &files[2], files.len()), (&"file".into(), &"level".into(), 4));
    assert!(files[1].as_str().unwrap().ends_with(".sst") && files[3].is_u64(), "{files:?}");
    let named: Vec<_> = events.iter().filter(|event| event["cf_name"] == NAME).collect();
    assert!(named.len() >= 8, "{}", named.len());
    let compaction = of(events, "compaction_started")[0];
    assert!(compaction["oldest_snapshot_seqno"].as_u64().is_some_and(|number| number > 300), "{compaction}");
    assert_eq!(compaction["score"].as_f64(), Some(-1.0));
    let flushes = of(events, "flush_finished");
    assert!(flushes[0]["blob_file_head"].is_u64(), "{}", flushes[0]);
    assert_eq!(flushes[0]["lsm_state"], serde_json::json!([1, 0, 0, 0, 0, 0, 0]));
    assert_eq!(of(events, "flush_started")[0]["num_range_deletes"], 1);
    assert_eq!(of(events, "trivial_move").len(), 1);
}

#[test]
fn a_level_above_info_has_none_of_them() {
    for level in [InfoLogLevel::Info, InfoLogLevel::Warn] {
        let mut bench = Bench::new();
        bench.options.info_log_level = level;
        bench.options.components.listeners.clear();
        let db = bench.open();
        db.put(b"key", b"value").unwrap();
        db.flush().unwrap();
        db.close().unwrap();
        let events = lines(&bench.faulty);
        assert_eq!(events.is_empty(), level == InfoLogLevel::Warn, "{events:?}");
    }
}
