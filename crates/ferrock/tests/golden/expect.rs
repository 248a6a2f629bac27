//! Access to `expect.json`, and the guarantee that nothing in it is overlooked.

use crate::archive::GoldenDatabase;
use crate::dump::{from_hex, sha256};
use crate::findings::Findings;
use serde_json::Value;
use std::collections::BTreeSet;

/// Members that a check looks at, by the object that has them. A new one fails until a check is written for it.
const KNOWN: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "name",
            "description",
            "covers",
            "rocksdb_version",
            "seed",
            "total_bytes",
            "notes",
            "open",
            "files",
            "latest_sequence_number",
            "column_families",
            "dropped_column_families",
            "tables",
            "damage",
            "historical_snapshots",
        ],
    ),
    ("open", &["status", "wal_recovery_mode", "message"]),
    ("files", &["name", "size", "sha256"]),
    (
        "column_families",
        &[
            "name",
            "id",
            "comparator",
            "options",
            "scan",
            "reverse_scan",
            "gets",
            "seeks",
            "ranges",
            "merge_operator",
            "merge_operator_id",
            "merge_operator_options",
            "prefix_extractor",
            "errors",
            // Of features that are not there yet.
            "timestamped_scans",
            "all_versions_scan",
            "entity_scan",
        ],
    ),
    (
        "tables",
        &[
            "file",
            "cf",
            "level",
            "size",
            "smallest_seqno",
            "largest_seqno",
            "smallest_key_hex",
            "largest_key_hex",
            "num_entries",
            "num_deletions",
            "num_merge_operands",
            "num_range_deletions",
            "num_data_blocks",
            "data_size",
            "index_size",
            "filter_size",
            "index_partitions",
            "index_key_is_user_key",
            "index_value_is_delta_encoded",
            "raw_key_size",
            "raw_value_size",
            "table_format_version",
            "compression_name",
            "filter_policy_name",
            "file_checksum_hex",
            "file_checksum_func",
        ],
    ),
    (
        "historical_snapshots",
        &["sequence_number", "status", "count", "key_bytes", "value_bytes", "sha256", "first_key_hex", "last_key_hex"],
    ),
];

/// The members are known, and the archive holds the files that it says it holds.
pub fn check_members_are_known(database: &GoldenDatabase, findings: &mut Findings) {
    for (place, known) in KNOWN {
        let objects = if place.is_empty() { vec![&database.expect] } else { list_or_object(&database.expect[*place]) };
        for object in objects {
            for member in object.as_object().unwrap().keys().filter(|member| !known.contains(&member.as_str())) {
                findings.add(format!("{place}: nothing checks {member}"));
            }
        }
    }
    findings.equal("name", &text(&database.expect, "name"), &database.name.as_str());
    check_files(database, findings);
}

fn check_files(database: &GoldenDatabase, findings: &mut Findings) {
    let mut total = 0;
    let mut names = BTreeSet::new();
    for file in list(&database.expect, "files") {
        let name = text(file, "name");
        names.insert(name);
        let Some(content) = database.files().get(name) else {
            findings.add(format!("{name} is not in the archive"));
            continue;
        };
        total += content.len() as u64;
        findings.equal(name, &(content.len() as u64), &number(file, "size"));
        findings.equal(name, &sha256(content).as_str(), &text(file, "sha256"));
    }
    findings.equal("files", &database.files().len(), &names.len());
    findings.equal("total_bytes", &total, &number(&database.expect, "total_bytes"));
}

/// The members of a list; nothing when there is no such list.
pub fn list<'a>(object: &'a Value, member: &str) -> &'a [Value] {
    object[member].as_array().map_or(&[], Vec::as_slice)
}

fn list_or_object(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(objects) => objects.iter().collect(),
        Value::Object(_) => vec![value],
        _ => Vec::new(),
    }
}

pub fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    object[member].as_str().unwrap_or_else(|| panic!("{member} is no text in {object}"))
}

pub fn number(object: &Value, member: &str) -> u64 {
    object[member].as_u64().unwrap_or_else(|| panic!("{member} is no number in {object}"))
}

pub fn bytes(object: &Value, member: &str) -> Vec<u8> {
    from_hex(text(object, member))
}

/// Bytes, or `None` for null or nothing.
pub fn optional_bytes(object: &Value, member: &str) -> Option<Vec<u8>> {
    object[member].as_str().map(from_hex)
}
