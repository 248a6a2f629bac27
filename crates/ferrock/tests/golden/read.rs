//! Reading: a read-only open sees what RocksDB saw, and changes nothing.

use crate::archive::GoldenDatabase;
use crate::dump::{Direction, Scan, scan, sha256, sha256_of_entries, to_hex, total_order};
use crate::expect::{bytes, list, number, optional_bytes, text};
use crate::findings::Findings;
use crate::tables;
use ferrock::options::WalRecoveryMode;
use ferrock::{ColumnFamily, Db, DbOptions, ErrorKind, ReadOptions, SequenceNumber, options};
use serde_json::Value;
use std::path::Path;

pub fn check(database: &GoldenDatabase, findings: &mut Findings) {
    let unpacked = database.unpack();
    unpacked.set_read_only(true);
    check_open(database, &unpacked.path(), findings);
    unpacked.set_read_only(false);
    findings.check(unpacked.files() == *database.files(), || "reading changed the directory".to_owned());
}

fn check_open(database: &GoldenDatabase, path: &Path, findings: &mut Findings) {
    let expect = &database.expect;
    let (db, families) = match open(path, mode(expect)) {
        Ok(opened) if database.opens() => opened,
        Ok(_) => return findings.add(format!("opened, wanted {}", expect["open"])),
        Err(error) if database.opens() => return findings.add(format!("open: {error}")),
        Err(error) => return findings.equal("open", &error.kind().name(), &text(&expect["open"], "status")),
    };
    findings.equal("latest sequence", &db.latest_sequence_number().0, &number(expect, "latest_sequence_number"));
    let names: Vec<&str> = families.iter().map(ColumnFamily::name).collect();
    let wanted: Vec<&str> = list(expect, "column_families").iter().map(|family| text(family, "name")).collect();
    findings.equal("column families", &sorted(names), &sorted(wanted));
    for dropped in list(expect, "dropped_column_families") {
        let families = vec![(dropped.as_str().unwrap().to_owned(), ferrock::ColumnFamilyOptions::default())];
        let opened = Db::open_read_only(path, DbOptions::default(), Some(families));
        findings.check(opened.is_err(), || format!("the dropped family {dropped} opens"));
    }
    for wanted in list(expect, "column_families") {
        if let Some(family) = families.iter().find(|family| family.name() == text(wanted, "name")) {
            check_family(&db, family, wanted, path, findings);
        }
    }
    for wanted in list(expect, "historical_snapshots") {
        check_history(&db, &families, wanted, findings);
    }
    tables::check(&db, database, findings);
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}

pub fn open(path: &Path, mode: WalRecoveryMode) -> ferrock::Result<(Db, Vec<ColumnFamily>)> {
    let mut options = DbOptions::default();
    options.wal_recovery_mode = mode;
    Db::open_read_only(path, options, None)
}

/// The recovery mode that the expectations hold for.
pub fn mode(expect: &Value) -> WalRecoveryMode {
    match text(&expect["open"], "wal_recovery_mode") {
        "point_in_time" => WalRecoveryMode::PointInTimeRecovery,
        "absolute_consistency" => WalRecoveryMode::AbsoluteConsistency,
        "tolerate_corrupted_tail_records" => WalRecoveryMode::TolerateCorruptedTailRecords,
        "skip_any_corrupted_records" => WalRecoveryMode::SkipAnyCorruptedRecords,
        other => panic!("no such mode: {other}"),
    }
}

fn check_family(db: &Db, family: &ColumnFamily, wanted: &Value, path: &Path, findings: &mut Findings) {
    let name = family.name();
    findings.equal(&format!("{name}: id"), &u64::from(family.id()), &number(wanted, "id"));
    findings.equal(&format!("{name}: comparator"), &family.comparator().name(), &text(wanted, "comparator"));
    check_options(name, wanted, path, findings);
    let forward = scan(db, family, &total_order(), Direction::Forward);
    check_scan(&format!("{name}: scan"), &forward, &wanted["scan"], findings);
    let backward = scan(db, family, &total_order(), Direction::Backward);
    if wanted["reverse_scan"].is_object() {
        check_scan(&format!("{name}: reverse scan"), &backward, &wanted["reverse_scan"], findings);
    } else if forward.status.is_ok() {
        // RocksDB's plain tables are not read backwards; ours are.
        let is_reverse = backward.status.is_ok() && backward.entries.iter().rev().eq(&forward.entries);
        findings.check(is_reverse, || format!("{name}: the reverse scan is not the scan, reversed"));
    } else {
        findings.check(backward.status.is_err(), || format!("{name}: the reverse scan saw no damage"));
    }
    check_gets(db, family, wanted, findings);
    check_seeks(db, family, wanted, &forward, findings);
    check_ranges(db, family, wanted, findings);
    if wanted["errors"].is_object() {
        check_errors(db, family, &wanted["errors"], findings);
    }
}

/// The OPTIONS file names the same merge operator, prefix extractor and table options.
fn check_options(name: &str, wanted: &Value, path: &Path, findings: &mut Findings) {
    let loaded = options::load_latest(&*ferrock_vfs::default_file_system(), path).unwrap().unwrap();
    let options = loaded.column_family(name).unwrap();
    let operator = options.merge_operator.as_ref();
    let id = operator.map(|operator| operator.options_id()).unwrap_or_default();
    findings.equal("merge operator", &operator.map(|operator| operator.name()), &wanted["merge_operator_id"].as_str());
    findings.equal("merge operator", &wanted["merge_operator"].as_str(), &wanted["merge_operator_id"].as_str());
    let settings = wanted["merge_operator_options"].as_str().unwrap_or_default();
    findings.check(id.contains(settings), || format!("{name}: merge operator {id}, wanted {settings}"));
    let extractor = options.prefix_extractor.as_ref().map(|extractor| extractor.name());
    findings.equal("prefix extractor", &extractor.as_deref(), &wanted["prefix_extractor"].as_str());
    let table = &options.table;
    let numbers = [
        ("format_version", u64::from(table.format_version)),
        ("block_size", table.block_size as u64),
        ("metadata_block_size", table.metadata_block_size as u64),
        ("block_restart_interval", table.block_restart_interval as u64),
        ("index_block_restart_interval", table.index_block_restart_interval as u64),
    ];
    for (member, got) in numbers {
        // Versions 0 and 1 are read, but tables are not written in them any more.
        let is_retired = |wanted: u64| member == "format_version" && wanted < 2;
        if let Some(wanted) = wanted["options"][member].as_u64().filter(|wanted| !is_retired(*wanted)) {
            findings.equal(&format!("{name}: {member}"), &got, &wanted);
        }
    }
    for (member, got) in
        [("whole_key_filtering", table.whole_key_filtering), ("partition_filters", table.partition_filters)]
    {
        if let Some(wanted) = wanted["options"][member].as_bool() {
            findings.equal(&format!("{name}: {member}"), &got, &wanted);
        }
    }
}

fn check_scan(what: &str, got: &Scan, wanted: &Value, findings: &mut Findings) {
    let entries = &got.entries;
    if wanted["status"] != "OK" {
        // A reader may stop earlier within the same block; it must not go further or say that all is well.
        let most = number(wanted, "count");
        findings.check(got.status.is_err(), || format!("{what}: saw no damage"));
        findings.check(entries.len() as u64 <= most, || format!("{what}: {} entries, at most {most}", entries.len()));
        if entries.len() as u64 == most {
            findings.equal(what, &sha256_of_entries(entries).as_str(), &text(wanted, "sha256"));
        }
        return;
    }
    if let Err(error) = &got.status {
        return findings.add(format!("{what} after {} entries: {error}", entries.len()));
    }
    let sum = |part: fn(&(Vec<u8>, Vec<u8>)) -> usize| entries.iter().map(|entry| part(entry) as u64).sum::<u64>();
    findings.equal(&format!("{what}: count"), &(entries.len() as u64), &number(wanted, "count"));
    findings.equal(&format!("{what}: key bytes"), &sum(|entry| entry.0.len()), &number(wanted, "key_bytes"));
    findings.equal(&format!("{what}: value bytes"), &sum(|entry| entry.1.len()), &number(wanted, "value_bytes"));
    findings.equal(&format!("{what}: sha256"), &sha256_of_entries(entries).as_str(), &text(wanted, "sha256"));
    let key = |entry: Option<&(Vec<u8>, Vec<u8>)>| entry.map(|entry| to_hex(&entry.0));
    findings.equal(&format!("{what}: first"), &key(entries.first()).as_deref(), &wanted["first_key_hex"].as_str());
    findings.equal(&format!("{what}: last"), &key(entries.last()).as_deref(), &wanted["last_key_hex"].as_str());
}

fn check_gets(db: &Db, family: &ColumnFamily, wanted: &Value, findings: &mut Findings) {
    let gets = list(wanted, "gets");
    let keys: Vec<Vec<u8>> = gets.iter().map(|get| bytes(get, "key_hex")).collect();
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let together = db.multi_get_cf(family, &ReadOptions::default(), &slices);
    findings.equal("multi_get results", &together.len(), &gets.len());
    for ((get, key), of_many) in gets.iter().zip(&keys).zip(together) {
        let alone = db.get_cf(family, &ReadOptions::default(), key);
        for (how, got) in [("get", alone), ("multi_get", of_many)] {
            let what = format!("{}: {how} {}", family.name(), key.escape_ascii());
            let got = got.map(|value| value.map(|value| value.to_vec()));
            check_get(&what, got, get, findings);
        }
    }
}

fn check_get(what: &str, got: ferrock::Result<Option<Vec<u8>>>, wanted: &Value, findings: &mut Findings) {
    let status = match &got {
        Ok(Some(_)) => "OK",
        Ok(None) => "NotFound",
        Err(error) => error.kind().name(),
    };
    findings.equal(what, &status, &text(wanted, "status"));
    let Ok(Some(value)) = got else { return };
    if let Some(length) = wanted["value_len"].as_u64() {
        findings.equal(what, &(value.len() as u64), &length);
    }
    if let Some(hex) = wanted["value_hex"].as_str() {
        findings.equal(what, &to_hex(&value).as_str(), &hex);
    }
    if let Some(hash) = wanted["value_sha256"].as_str() {
        findings.equal(what, &sha256(&value).as_str(), &hash);
    }
}

fn check_seeks(db: &Db, family: &ColumnFamily, wanted: &Value, all: &Scan, findings: &mut Findings) {
    let mut iter = db.iter_cf(family, &total_order());
    for seek in list(wanted, "seeks") {
        let target = bytes(seek, "target_hex");
        for (how, is_forward) in [("seek", true), ("seek_for_prev", false)] {
            if is_forward {
                iter.seek(&target);
            } else {
                iter.seek_for_prev(&target);
            }
            let what = format!("{}: {how} {}", family.name(), target.escape_ascii());
            let got = iter.valid().then(|| iter.key().to_vec());
            // Where RocksDB does not go back, the scan says where we must arrive.
            let wanted = if is_forward || wanted["reverse_scan"].is_object() {
                optional_bytes(seek, how)
            } else {
                all.entries.iter().rev().map(|(key, _)| key).find(|key| **key <= target).cloned()
            };
            findings.equal(&what, &got, &wanted);
            findings.ok(&what, iter.status());
        }
    }
}

fn check_ranges(db: &Db, family: &ColumnFamily, wanted: &Value, findings: &mut Findings) {
    for range in list(wanted, "ranges") {
        let (lower, upper) = (bytes(range, "lower_hex"), bytes(range, "upper_hex"));
        let what = format!("{}: range {} to {}", family.name(), lower.escape_ascii(), upper.escape_ascii());
        let options = ReadOptions { lower_bound: Some(lower), upper_bound: Some(upper), ..total_order() };
        let mut forward = scan(db, family, &options, Direction::Forward);
        findings.ok(&what, forward.status.clone());
        findings.equal(&what, &(forward.entries.len() as u64), &number(range, "count"));
        findings.equal(&what, &sha256_of_entries(&forward.entries).as_str(), &text(range, "sha256"));
        let backward = scan(db, family, &options, Direction::Backward);
        forward.entries.reverse();
        findings.check(forward.entries == backward.entries, || format!("{what}: backward differs"));
    }
}

/// Damaged tables: each key that RocksDB can still read is read, and each that it cannot gives an error. The keys are
/// `key` and eight digits; the generator's numbers stay far below the bound.
fn check_errors(db: &Db, family: &ColumnFamily, wanted: &Value, findings: &mut Findings) {
    const NUMBERS: u64 = 25_000;
    let (first, last) = (bytes(wanted, "first_failing_key_hex"), bytes(wanted, "last_failing_key_hex"));
    let (mut readable, mut absent, mut failing) = (0, 0, 0);
    for number in 0..NUMBERS {
        match db.get_cf(family, &ReadOptions::default(), format!("key{number:08}").as_bytes()) {
            Ok(Some(_)) => readable += 1,
            Ok(None) => absent += 1,
            Err(error) => {
                findings.equal("kind of the error", &error.kind(), &ErrorKind::Corruption);
                failing += 1;
            }
        }
    }
    // Keys that were never written may lie in the damaged block as well.
    findings.equal("readable keys", &readable, &number(wanted, "keys_readable"));
    findings.check(failing >= number(wanted, "keys_failing"), || format!("only {failing} keys fail"));
    findings.check(absent >= number(wanted, "keys_not_found"), || format!("only {absent} keys are absent"));
    for get in list(wanted, "failing_gets") {
        let key = bytes(get, "key_hex");
        let got = db.get_cf(family, &ReadOptions::default(), &key);
        let status = got.map(|_| "no error").unwrap_or_else(|error| error.kind().name());
        findings.equal(&format!("get {}", key.escape_ascii()), &status, &text(get, "status"));
    }
    for bound in [first, last] {
        let got = db.get_cf(family, &ReadOptions::default(), &bound);
        findings.check(got.is_err(), || format!("{} does not fail", bound.escape_ascii()));
    }
}

fn check_history(db: &Db, families: &[ColumnFamily], wanted: &Value, findings: &mut Findings) {
    let sequence = number(wanted, "sequence_number");
    let default = families.iter().find(|family| family.name() == "default").unwrap();
    let Some(snapshot) = findings.ok("snapshot", db.snapshot_at(SequenceNumber(sequence))) else { return };
    let options = ReadOptions { snapshot: Some(snapshot), ..total_order() };
    let mut forward = scan(db, default, &options, Direction::Forward);
    check_scan(&format!("as of {sequence}"), &forward, wanted, findings);
    let backward = scan(db, default, &options, Direction::Backward);
    for (key, value) in &forward.entries {
        let got = db.get_cf(default, &options, key).map(|value| value.map(|value| value.to_vec()));
        let is_right = matches!(&got, Ok(Some(got)) if got == value);
        findings.check(is_right, || format!("as of {sequence}: get {}: {got:?}", key.escape_ascii()));
    }
    forward.entries.reverse();
    findings.check(forward.entries == backward.entries, || format!("as of {sequence}: backward differs"));
}
