//! Reads and flushes of memtables in which a bit turned over.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::db::Db;
use crate::options::{DbOptions, ReadOptions};
use ferrock_base::{ErrorKind, Result};
use ferrock_vfs::MemoryFileSystem;
use std::sync::Arc;

/// What of a database meets the damaged entry, by name.
fn outcomes(option: &[(&str, &str)], key: &[u8], bit: usize) -> Vec<(&'static str, Result<()>)> {
    let mut settings = DbOptions::default();
    settings.create_if_missing = true;
    settings.components.file_system = Some(Arc::new(MemoryFileSystem::new()));
    let db = Db::open("/db", settings.clone()).unwrap();
    db.set_options_cf(&db.default_column_family().unwrap(), option).unwrap();
    // The memtable that the database began with is of before.
    db.put(b"first", b"value").unwrap();
    db.flush().unwrap();
    for key in [b"a", b"m", b"z"] {
        db.put(key, b"value").unwrap();
    }
    let family = db.core().default_family().unwrap();
    assert!(family.super_version.load().memtable.turn_over_bit(key, bit));
    let options = ReadOptions::default();
    let scan = |is_forward: bool| {
        let mut iter = db.iter(&options);
        if is_forward {
            iter.seek_to_first()
        } else {
            iter.seek_to_last()
        };
        while iter.valid() {
            if is_forward {
                iter.next()
            } else {
                iter.prev()
            };
        }
        iter.status()
    };
    let outcomes = vec![
        ("get", db.get(key).map(drop)),
        ("multi_get", db.multi_get(&[key]).pop().unwrap().map(drop)),
        ("forward", scan(true)),
        ("backward", scan(false)),
        ("flush", db.flush()),
        ("write behind it", db.put(b"later", b"value")),
    ];
    drop(family);
    drop(db);
    if outcomes.iter().any(|(_, outcome)| outcome.is_err()) {
        let db = Db::open("/db", settings).unwrap();
        assert_eq!(&*db.get(key).unwrap().unwrap(), b"value", "the log has what was written");
    }
    outcomes
}

#[test]
fn nothing_shows_or_flushes_an_entry_that_changed() {
    for (bit, what) in [(0, "of the key"), (20, "of the value")] {
        let seen = outcomes(&[("memtable_protection_bytes_per_key", "8")], b"m", bit);
        for (name, outcome) in seen {
            let error = outcome.expect_err(name);
            assert_eq!(error.kind(), ErrorKind::Corruption, "{name}, a bit {what}: {error}");
        }
        let unnoticed = outcomes(&[("memtable_protection_bytes_per_key", "0")], b"m", bit);
        assert!(unnoticed.iter().all(|(_, outcome)| outcome.is_ok()), "{unnoticed:?}");
    }
}

#[test]
fn scans_and_flushes_find_keys_out_of_order() {
    // "m" becomes "-".
    let seen = outcomes(&[("paranoid_memory_checks", "true")], b"m", 6);
    let failed: Vec<_> = seen.iter().filter(|(_, outcome)| outcome.is_err()).map(|(name, _)| *name).collect();
    assert!(["forward", "flush", "write behind it"].iter().all(|name| failed.contains(name)), "{seen:?}");
}
