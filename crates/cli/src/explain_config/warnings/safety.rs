//! What can be lost, what weakens a promise, and what a machine cannot keep up with.

use super::{OfFamily, Sink};
use crate::explain_config::figures::{Asked, Figures, jobs};
use crate::explain_config::subject::Subject;
use crate::output::bytes;
use ferrock::options::{DB_OPTIONS_WITHOUT_EFFECT, WalRecoveryMode};

pub(super) fn of_database(sink: &mut Sink<'_>, subject: &Subject, _: &Figures, asked: &Asked) {
    let db = &subject.db;
    let is_on = |name: &str| db.passthrough.get(DB_OPTIONS_WITHOUT_EFFECT, name).is_some_and(|value| value == "true");
    if db.wal_recovery_mode == WalRecoveryMode::SkipAnyCorruptedRecords {
        sink.add(
            "recovery-skips-damage",
            "wal_recovery_mode",
            "wal_recovery_mode = kSkipAnyCorruptedRecords".to_owned(),
            "after a crash damaged records are passed over: what is recovered may be no state that ever was",
            "wal_recovery_mode = kPointInTimeRecovery, the default",
        );
    }
    if is_on("unordered_write") {
        sink.add(
            "unordered-writes",
            "unordered_write",
            "unordered_write = true".to_owned(),
            "in RocksDB snapshots then change under their readers; here the option has no effect",
            "unordered_write = false",
        );
    }
    if db.manual_wal_flush {
        sink.add(
            "manual-wal-flush",
            "manual_wal_flush",
            "manual_wal_flush = true".to_owned(),
            "a process that ends loses what it wrote since its last flush_wal",
            "manual_wal_flush = false, or a call of flush_wal before anything is acknowledged",
        );
    }
    if !db.paranoid_checks {
        sink.add(
            "checks-off",
            "paranoid_checks",
            "paranoid_checks = false".to_owned(),
            "the database goes on after the first sign of damage",
            "paranoid_checks = true, the default",
        );
    }
    let jobs = jobs(db);
    if usize::try_from(jobs).unwrap_or(0) > asked.cpus {
        sink.add(
            "jobs-above-cpus",
            "max_background_jobs",
            format!("{jobs} flushes and compactions at once, with {} processors", asked.cpus),
            "jobs take processors from reads and writes, and each needs its buffers",
            "max_background_jobs = the number of processors at most",
        );
    }
    if db.delayed_write_rate > 0 && db.delayed_write_rate < 1 << 20 {
        sink.add(
            "delayed-writes-crawl",
            "delayed_write_rate",
            format!("delayed_write_rate = {} a second, below 1.0 MiB", bytes(db.delayed_write_rate)),
            "writers that are slowed down nearly stand still",
            "delayed_write_rate = 16777216, the default",
        );
    }
}

pub(super) fn of_family(sink: &mut Sink<'_>, of: &OfFamily<'_>) {
    let options = of.options;
    if !options.force_consistency_checks {
        sink.add(
            "checks-off",
            "force_consistency_checks",
            "force_consistency_checks = false".to_owned(),
            "tables that overlap where they must not are found late, or never",
            "force_consistency_checks = true, the default",
        );
    }
    if options.enable_blob_files && !options.enable_blob_garbage_collection {
        sink.add(
            "blobs-never-collected",
            "enable_blob_garbage_collection",
            "enable_blob_files = true with enable_blob_garbage_collection = false".to_owned(),
            "a blob file stays while one of its values is alive: space grows with every overwritten value",
            "enable_blob_garbage_collection = true",
        );
    }
}
