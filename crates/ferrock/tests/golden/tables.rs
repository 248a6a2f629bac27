//! Live tables: where they are in the tree, and what their properties say.

use crate::archive::GoldenDatabase;
use crate::dump::to_hex;
use crate::expect::{list, number, text};
use crate::findings::Findings;
use ferrock::{Db, LiveFile};
use serde_json::Value;
use std::collections::BTreeMap;

pub fn check(db: &Db, database: &GoldenDatabase, findings: &mut Findings) {
    let wanted = list(&database.expect, "tables");
    let live: BTreeMap<String, LiveFile> =
        db.live_files().into_iter().map(|file| (format!("{:06}.sst", file.number.0), file)).collect();
    // Two databases list no tables although they have some: RocksDB could not read the properties of all.
    if wanted.is_empty() && list(&database.expect, "files").iter().any(|file| text(file, "name").ends_with(".sst")) {
        return findings.check(database.name.contains("corrupt-footer"), || "no tables are expected".to_owned());
    }
    findings.equal("live tables", &live.len(), &wanted.len());
    for table in wanted {
        match live.get(text(table, "file")) {
            Some(file) => check_table(db, file, table, findings),
            None => findings.add(format!("{} is not live", text(table, "file"))),
        }
    }
}

fn check_table(db: &Db, file: &LiveFile, wanted: &Value, findings: &mut Findings) {
    let name = text(wanted, "file");
    let texts = [
        ("cf", file.column_family.clone()),
        ("smallest_key_hex", to_hex(&file.smallest_user_key)),
        ("largest_key_hex", to_hex(&file.largest_user_key)),
    ];
    for (member, got) in texts {
        findings.equal(&format!("{name}: {member}"), &got.as_str(), &text(wanted, member));
    }
    let numbers = [
        ("level", file.level as u64),
        ("size", file.size_bytes),
        ("smallest_seqno", file.smallest_sequence.0),
        ("largest_seqno", file.largest_sequence.0),
    ];
    for (member, got) in numbers {
        findings.equal(&format!("{name}: {member}"), &got, &number(wanted, member));
    }
    if let Some(checksum) = wanted["file_checksum_hex"].as_str() {
        findings.equal(&format!("{name}: file checksum"), &to_hex(&file.file_checksum).as_str(), &checksum);
        let function = text(wanted, "file_checksum_func");
        findings.equal(&format!("{name}: file checksum"), &file.file_checksum_function_name.as_str(), &function);
    }
    check_properties(db, file, wanted, findings);
}

fn check_properties(db: &Db, file: &LiveFile, wanted: &Value, findings: &mut Findings) {
    let name = text(wanted, "file");
    let Some(properties) = findings.ok(name, db.table_properties(file)) else { return };
    let numbers = [
        ("num_entries", properties.num_entries),
        ("num_deletions", properties.num_deletions),
        ("num_merge_operands", properties.num_merge_operands),
        ("num_range_deletions", properties.num_range_deletions),
        ("num_data_blocks", properties.num_data_blocks),
        ("data_size", properties.data_size),
        ("index_size", properties.index_size),
        ("filter_size", properties.filter_size),
        ("index_partitions", properties.index_partitions),
        ("index_key_is_user_key", properties.index_key_is_user_key),
        ("index_value_is_delta_encoded", properties.index_value_is_delta_encoded),
        ("raw_key_size", properties.raw_key_size),
        ("raw_value_size", properties.raw_value_size),
        ("table_format_version", properties.format_version),
    ];
    for (member, got) in numbers {
        findings.equal(&format!("{name}: {member}"), &got, &number(wanted, member));
    }
    let texts =
        [("compression_name", &properties.compression_name), ("filter_policy_name", &properties.filter_policy_name)];
    for (member, got) in texts {
        findings.equal(&format!("{name}: {member}"), &as_text(got), &text(wanted, member).to_owned());
    }
}

fn as_text(value: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(value.as_ref()).into_owned()
}
