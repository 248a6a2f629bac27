//! The digest as JSON and as a table.
//!
//! JSON members: `open.status`, `latest_sequence_number`, and per column family `name`,
//! `comparator`, `scan` and `reverse_scan` (`status`, `count`, `key_bytes`, `value_bytes`,
//! `sha256`, `first_key_hex`, `last_key_hex`) and `gets` (`key_hex`, `status`, and of a value
//! `value_len` with `value_hex` up to 48 bytes or `value_sha256` above). A failure adds `message`.

use super::keys::LookupResult;
use super::scan::ScanResult;
use crate::failure::{Outcome, Result};
use crate::{hex, output};
use hmac_sha256::Hash as Sha256;
use serde_json::{Map, Value, json};

/// Longer values are shown by their hash.
const LONGEST_SHOWN_VALUE_BYTES: usize = 48;

/// All results of `digest`.
pub(super) struct DigestReport {
    pub(super) open: ferrock::Result<()>,
    pub(super) latest_sequence_number: Option<u64>,
    pub(super) families: Vec<FamilyReport>,
}

/// The results for one column family.
pub(super) struct FamilyReport {
    pub(super) name: String,
    pub(super) comparator: String,
    pub(super) forward: ScanResult,
    pub(super) backward: ScanResult,
    pub(super) lookups: Vec<LookupResult>,
}

impl FamilyReport {
    fn is_good(&self) -> bool {
        self.forward.status.is_ok()
            && self.backward.status.is_ok()
            && self.is_symmetric()
            && self.lookups.iter().all(|lookup| lookup.value.is_ok())
    }

    /// Both directions saw as many entries and bytes.
    fn is_symmetric(&self) -> bool {
        let figures = |scan: &ScanResult| (scan.count, scan.key_bytes, scan.value_bytes);
        figures(&self.forward) == figures(&self.backward)
    }
}

impl DigestReport {
    pub(super) fn outcome(&self) -> Outcome {
        match &self.open {
            Err(_) => Outcome::NotDone,
            Ok(()) if self.families.iter().all(FamilyReport::is_good) => Outcome::Good,
            Ok(()) => Outcome::BadData,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let mut report = Map::new();
        report.insert("open".to_owned(), with_status(Map::new(), &self.open));
        if let Some(sequence) = self.latest_sequence_number {
            report.insert("latest_sequence_number".to_owned(), json!(sequence));
        }
        report.insert("column_families".to_owned(), self.families.iter().map(family_json).collect());
        Value::Object(report)
    }

    pub(super) fn print(&self) -> Result<()> {
        if let Err(error) = &self.open {
            output::complain(&format!("the database does not open: {error}"));
            return Ok(());
        }
        let header =
            ["column family", "comparator", "status", "keys", "key bytes", "value bytes", "SHA-256 of all entries"];
        let mut table = output::table(&header, 3);
        // A hash broken over two lines cannot be compared or copied.
        table.set_content_arrangement(comfy_table::ContentArrangement::Disabled);
        for family in &self.families {
            let scan = &family.forward;
            table.add_row([
                family.name.clone(),
                family.comparator.clone(),
                status_name(&scan.status).to_owned(),
                output::number(scan.count),
                output::number(scan.key_bytes),
                output::number(scan.value_bytes),
                hex::encode(&scan.sha256),
            ]);
        }
        output::say(&table.to_string())?;
        self.families.iter().try_for_each(print_lookups)?;
        self.families.iter().for_each(complain_about);
        Ok(())
    }
}

fn print_lookups(family: &FamilyReport) -> Result<()> {
    if family.lookups.is_empty() {
        return Ok(());
    }
    let mut table = output::table(&["key", "status", "value"], 3);
    for lookup in &family.lookups {
        let value = match &lookup.value {
            Ok(Some(value)) if value.len() <= LONGEST_SHOWN_VALUE_BYTES => value.escape_ascii().to_string(),
            Ok(Some(value)) => format!("{} bytes, SHA-256 {}", value.len(), hex::encode(&Sha256::hash(value))),
            Ok(None) | Err(_) => String::new(),
        };
        table.add_row([lookup.key.escape_ascii().to_string(), lookup_status(&lookup.value).to_owned(), value]);
    }
    output::say(&format!("Lookups in {}:\n{table}", family.name))
}

fn complain_about(family: &FamilyReport) {
    let name = &family.name;
    for (direction, scan) in [("forward", &family.forward), ("backward", &family.backward)] {
        if let Err(error) = &scan.status {
            output::complain(&format!("{name}: the {direction} scan ended after {} keys: {error}", scan.count));
        }
    }
    if family.forward.status.is_ok() && family.backward.status.is_ok() && !family.is_symmetric() {
        let (forward, backward) = (family.forward.count, family.backward.count);
        output::complain(&format!("{name}: {forward} keys forward, but {backward} backward"));
    }
    for lookup in &family.lookups {
        if let Err(error) = &lookup.value {
            output::complain(&format!("{name}: looking up {}: {error}", lookup.key.escape_ascii()));
        }
    }
}

fn family_json(family: &FamilyReport) -> Value {
    json!({
        "name": family.name,
        "comparator": family.comparator,
        "scan": scan_json(&family.forward),
        "reverse_scan": scan_json(&family.backward),
        "gets": family.lookups.iter().map(lookup_json).collect::<Vec<_>>(),
    })
}

fn scan_json(scan: &ScanResult) -> Value {
    let mut members = Map::new();
    members.insert("count".to_owned(), json!(scan.count));
    members.insert("key_bytes".to_owned(), json!(scan.key_bytes));
    members.insert("value_bytes".to_owned(), json!(scan.value_bytes));
    members.insert("sha256".to_owned(), json!(hex::encode(&scan.sha256)));
    for (name, key) in [("first_key_hex", &scan.first_key), ("last_key_hex", &scan.last_key)] {
        if let Some(key) = key {
            members.insert(name.to_owned(), json!(hex::encode(key)));
        }
    }
    with_status(members, &scan.status)
}

fn lookup_json(lookup: &LookupResult) -> Value {
    let mut members = Map::new();
    members.insert("key_hex".to_owned(), json!(hex::encode(&lookup.key)));
    match &lookup.value {
        Ok(None) => {
            members.insert("status".to_owned(), json!("NotFound"));
            return Value::Object(members);
        }
        Ok(Some(value)) => {
            members.insert("value_len".to_owned(), json!(value.len()));
            let (name, text) = if value.len() <= LONGEST_SHOWN_VALUE_BYTES {
                ("value_hex", hex::encode(value))
            } else {
                ("value_sha256", hex::encode(&Sha256::hash(value)))
            };
            members.insert(name.to_owned(), json!(text));
        }
        Err(_) => {}
    }
    with_status(members, &lookup.value)
}

fn with_status<T>(mut members: Map<String, Value>, result: &ferrock::Result<T>) -> Value {
    members.insert("status".to_owned(), json!(status_name(result)));
    if let Err(error) = result {
        members.insert("message".to_owned(), json!(error.to_string()));
    }
    Value::Object(members)
}

fn status_name<T>(result: &ferrock::Result<T>) -> &'static str {
    result.as_ref().map_or_else(|error| error.kind().name(), |_| "OK")
}

fn lookup_status(result: &ferrock::Result<Option<Vec<u8>>>) -> &'static str {
    if matches!(result, Ok(None)) { "NotFound" } else { status_name(result) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock::Error;

    fn lookup(value: ferrock::Result<Option<Vec<u8>>>) -> Value {
        lookup_json(&LookupResult { key: b"k".to_vec(), value })
    }

    #[test]
    fn lookups_say_what_they_found() {
        assert_eq!(lookup(Ok(None)), json!({"key_hex": "6b", "status": "NotFound"}));
        let short = json!({"key_hex": "6b", "status": "OK", "value_len": 1, "value_hex": "76"});
        assert_eq!(lookup(Ok(Some(b"v".to_vec()))), short);
        let long = lookup(Ok(Some(vec![0; 49])));
        assert_eq!((&long["value_len"], &long["value_hex"]), (&json!(49), &Value::Null));
        assert_eq!(long["value_sha256"].as_str().map(str::len), Some(64));
        let failed = lookup(Err(Error::corruption("bad block")));
        assert_eq!((&failed["status"], &failed["message"]), (&json!("Corruption"), &json!("Corruption: bad block")));
    }

    #[test]
    fn a_database_that_does_not_open_is_still_reported() {
        let open = Err(Error::corruption("CURRENT is empty"));
        let report = DigestReport { open, latest_sequence_number: None, families: Vec::new() };
        assert_eq!(report.outcome(), Outcome::NotDone);
        let json = report.to_json();
        assert_eq!(json["open"]["status"], json!("Corruption"));
        assert_eq!(json["column_families"], json!([]));
    }
}
