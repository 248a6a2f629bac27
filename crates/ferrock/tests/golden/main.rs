//! Databases written by RocksDB itself, read and written by us. README.md in this directory describes them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod archive;
mod dump;
mod expect;
mod findings;
mod read;
mod recovery;
mod tables;
mod unsupported;
mod write;

use archive::GoldenDatabase;
use findings::Findings;

/// Features that come later; such a database must say so.
const NOT_YET: [&str; 3] = ["udt-", "2pc", "missing-table"];

fn is_supported(database: &GoldenDatabase) -> bool {
    !NOT_YET.iter().any(|part| database.name.contains(part))
}

/// Runs a course over the databases that `wanted` picks, and reports every finding of every database at once.
fn course(least: usize, wanted: impl Fn(&GoldenDatabase) -> bool, check: impl Fn(&GoldenDatabase, &mut Findings)) {
    let filter = std::env::var("GOLDEN").unwrap_or_default();
    let mut findings = Findings::default();
    let mut count = 0;
    for database in archive::databases().iter().filter(|database| wanted(database)) {
        count += 1;
        if database.name.contains(&filter) {
            findings.of_database(&database.name, |findings| check(database, findings));
        }
    }
    assert!(count >= least, "only {count} databases were picked");
    findings.assert_none();
}

#[test]
fn every_member_of_every_expectation_is_checked() {
    course(169, |_| true, expect::check_members_are_known);
}

#[test]
fn contents_are_what_rocksdb_read() {
    course(162, is_supported, read::check);
}

#[test]
fn contents_follow_what_is_written_to_them() {
    course(162, is_supported, write::check);
}

#[test]
fn damaged_logs_obey_the_recovery_mode() {
    course(16, recovery::has_damaged_log, recovery::check);
}

#[test]
fn what_is_not_there_yet_says_so() {
    course(7, |database| !is_supported(database), unsupported::check);
}
