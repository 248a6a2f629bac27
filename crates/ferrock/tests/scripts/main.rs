//! Tests as texts (`dev/script`): each file of `testdata` is a list of cases, what they do and what comes of it.
//! `UPDATE_EXPECT=1 cargo test -p ferrock --test scripts` rewrites the expectations; read the difference.
//!
//! ```text
//! database.rs   a database in memory: iterators, range deletions, flushes, recovery, MANIFEST, files, families
//! bytes.rs      codecs: write batches, logs, blocks
//! texts.rs      options from text
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod bytes;
#[path = "../common/mod.rs"]
mod common;
mod database;
mod texts;

/// Runs the cases of a file.
fn check(name: &str, run: impl FnMut(&str) -> String) {
    ferrock_script::check(env!("CARGO_MANIFEST_DIR"), &format!("tests/scripts/testdata/{name}.txt"), run);
}
