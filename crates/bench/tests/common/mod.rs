//! Running `db_bench` from outside.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs it on a directory.
pub fn bench(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_db_bench"))
        .arg(format!("--db={}", directory.display()))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// What it printed; it must have succeeded.
#[track_caller]
pub fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}
