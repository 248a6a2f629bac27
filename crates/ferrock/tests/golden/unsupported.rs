//! Databases that need what is not there yet: they read right, or say so. Nothing in between.

use crate::archive::GoldenDatabase;
use crate::dump::{Direction, scan, sha256_of_entries, total_order};
use crate::expect::{bytes, list, text};
use crate::findings::Findings;
use crate::read;
use ferrock::{ColumnFamily, Db, Error, ErrorKind, ReadOptions};
use serde_json::Value;

pub fn check(database: &GoldenDatabase, findings: &mut Findings) {
    let unpacked = database.unpack();
    match read::open(&unpacked.path(), read::mode(&database.expect)) {
        Err(error) => check_excuse(database, "open", &error, findings),
        Ok((db, families)) => {
            for wanted in list(&database.expect, "column_families") {
                match families.iter().find(|family| family.name() == text(wanted, "name")) {
                    Some(family) => check_family(database, &db, family, wanted, findings),
                    None => findings.add(format!("the family {} is gone", text(wanted, "name"))),
                }
            }
        }
    }
    findings.check(unpacked.files() == *database.files(), || "reading changed the directory".to_owned());
}

/// The feature is named as missing, or, where a file is, the file.
fn check_excuse(database: &GoldenDatabase, what: &str, error: &Error, findings: &mut Findings) {
    let wanted = if database.name.contains("missing-table") { ErrorKind::Io } else { ErrorKind::NotSupported };
    findings.check(error.kind() == wanted, || format!("{what}: {error}, wanted {wanted:?}"));
    findings.check(error.to_string().len() > 20, || format!("{what}: `{error}` says nothing"));
}

fn check_family(database: &GoldenDatabase, db: &Db, family: &ColumnFamily, wanted: &Value, findings: &mut Findings) {
    for (member, direction) in [("scan", Direction::Forward), ("reverse_scan", Direction::Backward)] {
        let got = scan(db, family, &total_order(), direction);
        match &got.status {
            Ok(()) if wanted[member]["status"] == "OK" => {
                let hash = sha256_of_entries(&got.entries);
                findings.equal(
                    &format!("{}: {member}", family.name()),
                    &hash.as_str(),
                    &text(&wanted[member], "sha256"),
                );
            }
            Ok(()) => findings.add(format!("{}: {member} saw nothing wrong", family.name())),
            Err(error) => check_excuse(database, member, error, findings),
        }
    }
    for get in list(wanted, "gets") {
        let key = bytes(get, "key_hex");
        let status = match db.get_cf(family, &ReadOptions::default(), &key) {
            Ok(Some(value)) => {
                let length = get["value_len"].as_u64().unwrap_or(value.len() as u64);
                findings.equal("value length", &(value.len() as u64), &length);
                "OK"
            }
            Ok(None) => "NotFound",
            Err(error) => {
                check_excuse(database, "get", &error, findings);
                continue;
            }
        };
        findings.equal(&format!("get {}", key.escape_ascii()), &status, &text(get, "status"));
    }
}
