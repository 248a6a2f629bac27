//! Damaged files: whichever byte is changed, the commands come to an end without a panic.

use super::run;
use crate::arguments::{Parsed, parse};
use std::path::Path;

fn outcome(words: &[&str]) -> (bool, Vec<u8>) {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let Ok(Parsed::Request(request)) = parse(&words) else { panic!("{words:?}") };
    let mut out = Vec::new();
    (run(&request, &mut out).is_ok(), out)
}

/// Every so many bytes: each run opens the machine's files anew, which takes a while.
const STEP: usize = 5;

/// Runs a command over files that differ from `content` by a byte, or are cut short. Counts those that are refused.
#[expect(clippy::disallowed_methods, reason = "thousands of files need not be synced")]
fn damage(content: &[u8], path: &Path, words: &[&str]) -> usize {
    let mut refused = 0;
    for at in (0..content.len()).step_by(STEP) {
        let mut changed = content.to_vec();
        changed[at] ^= 1 << (at % 8);
        for wrong in [&changed[..], &content[..at]] {
            std::fs::write(path, wrong).unwrap();
            refused += usize::from(!outcome(words).0);
        }
    }
    refused
}

#[test]
fn damaged_manifests_and_logs_are_refused_or_printed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("000007.log");
    let walfile = format!("--walfile={}", path.display());
    let manifest = format!("--path={}", path.display());
    let content = include_bytes!("../../../tests/data/ldb/single-delete.log");
    let refused = damage(content, &path, &["dump_wal", &walfile, "--print_value"]);
    // Every byte is under a checksum; what is cut off counts as torn.
    assert!(refused >= content.len() / STEP * 9 / 10, "{refused} of {}", content.len());
    let content = include_bytes!("../../../tests/data/ldb/wal-tracked.manifest");
    let refused = damage(content, &path, &["manifest_dump", &manifest, "--verbose"]);
    assert!(refused >= content.len() / STEP * 8 / 10, "{refused} of {}", content.len());
}
