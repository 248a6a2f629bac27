//! Options about how files are asked for: what the file system hears.

use crate::setup::{differs_with, flush_range, key};

/// What is asked of the file system differs, and `expected` is part of one of the two.
pub fn asked(name: &str, values: [&str; 2], expected: &str) {
    heard(name, values, expected);
}

/// The same, and what was asked with each value.
pub fn heard(name: &str, values: [&str; 2], expected: &str) -> [String; 2] {
    // Without the defaults that hide each other.
    let heard = differs_with(
        name,
        values,
        |setup| setup.set("max_open_files", "1"),
        |setup| {
            let db = setup.open();
            flush_range(&db, 0..100);
            flush_range(&db, 0..100);
            db.get(key(3).as_bytes()).unwrap().unwrap();
            db.compact_range(None, None).unwrap();
            setup.asked()
        },
    );
    assert!(heard.iter().any(|heard| heard.contains(expected)), "{name}: {heard:?}");
    heard
}
