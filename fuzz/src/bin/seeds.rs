//! Writes the seeds that are made of a database of our own: `cargo +nightly run --release --bin seeds` in this folder.

use ferrock_fuzz::database::{small_database, small_plain_table, unpack};
use std::fs;

fn put(target: &str, name: &str, selector: Option<u8>, bytes: &[u8]) {
    let directory = format!("seeds/{target}");
    fs::create_dir_all(&directory).expect("create");
    let mut seed: Vec<u8> = selector.into_iter().collect();
    seed.extend_from_slice(bytes);
    fs::write(format!("{directory}/{name}"), seed).expect("write");
}

fn main() {
    for (name, selector, is_prefixed, is_stored) in [
        ("total-order", 0, false, false),
        ("prefix", 4, true, false),
        ("stored", 0, false, true),
        ("stored-prefix", 4, true, true),
    ] {
        put("plain_table", name, Some(selector), &small_plain_table(is_prefixed, is_stored));
    }
    for (format_version, name) in [(4, "small"), (7, "small-v7")] {
        let database = small_database(format_version);
        put("db_open", name, None, &database);
        // The last byte is the selector; what is behind the last file is no file.
        put("db_open", &format!("{name}-writing"), None, &[&database[..], &[0x32]].concat());
        for (file, bytes) in unpack(&database) {
            if file.ends_with(".sst") {
                put("table", &format!("{name}-{file}"), Some(1), &bytes);
            } else if format_version == 4 && file.starts_with("MANIFEST") {
                put("manifest", "reading", Some(2), &bytes);
                put("manifest", "writing", Some(0x32), &bytes);
            } else if format_version == 4 && file.ends_with(".log") && !bytes.is_empty() {
                put("wal", "reading", Some(2), &bytes);
                put("wal", "writing", Some(0x32), &bytes);
            }
        }
    }
}
