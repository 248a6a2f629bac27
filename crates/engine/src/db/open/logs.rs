//! The logs of an open: which ones, by what rules, and what of them each family needs.

use crate::column_family::ColumnFamilyData;
use crate::db::DbCore;
use crate::db::log_blobs::LoggedValues;
use crate::db::recovery::{LogRecovery, OpenLog, RecoveredLogs, RecoveringFamily};
use ferrock_base::{FileNumber, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How the logs of a database are read.
/// `missing_is_error`: see [`LoggedValues`].
pub(super) fn log_recovery(core: &DbCore, missing_is_error: bool) -> LogRecovery<'_> {
    let options = core.options.load();
    LogRecovery {
        file_system: &*core.env.file_system,
        directory: core.files.places().log_directory(),
        mode: options.wal_recovery_mode,
        paranoid: options.paranoid_checks,
        min_log_number: core.versions.oldest_needed_log(),
        min_log_number_to_keep: core.versions.min_log_number_to_keep(),
        info_log: core.events.log(),
        values: Some(LoggedValues { source: core.reads.blob_source(), missing_is_error }),
        observer: None,
        tailing: None,
    }
}

/// Reads `logs` into the memtables of the families. `when_full` is called with a family whose memtable passed its size.
pub(super) fn read_logs(
    core: &DbCore,
    recovery: &LogRecovery<'_>,
    logs: Vec<OpenLog>,
    when_full: impl FnMut(&Arc<ColumnFamilyData>) -> Result<()>,
) -> Result<RecoveredLogs> {
    let mut families = BTreeMap::new();
    for view in core.versions.families() {
        let data = core.families.load().get(view.id).cloned();
        let Some(data) = data else { continue };
        let table_bytes = view.current.files().map(|(_, file)| file.size_bytes).sum();
        families.insert(view.id, RecoveringFamily { data, log_number: view.log_number, table_bytes });
    }
    recovery.run(logs, &families, core.versions.last_sequence(), when_full)
}

/// The number below that of the log just begun, where a database that exists had no log to read. Its logs may be
/// empty ones in another directory, and must not count there as needed for ever.
pub(super) fn newest_log_elsewhere(core: &DbCore) -> Option<FileNumber> {
    let needed = core.versions.oldest_needed_log();
    (needed > FileNumber(0)).then(|| FileNumber(core.writes.logs().current_number().0.saturating_sub(1)))
}
