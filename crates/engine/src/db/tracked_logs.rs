//! Logs in the MANIFEST: option `track_and_verify_wals_in_manifest`.
//!
//! ```text
//! log:       written --switch--> synced and closed --record--> in the MANIFEST --flush--> needless --> removed
//! MANIFEST:                      WalAddition { number, size }                   WalDeletion { below }
//! ```
//!
//! A log is listed when it was switched away from and is durable, by the thread that synced it, before that sync is
//! acknowledged. The log in use is not listed. A flush says that logs are gone in the change that makes them needless,
//! whatever the option says: so the list is right after an open without it, too.
//!
//! Invariant: a log in the list is in the directory of the logs, and has at least as many bytes.

use super::DbCore;
use crate::jobs::background_error::Reason;
use crate::options::DbOptions;
use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::file_name;
use ferrock_format::version_edit::{VersionEdit, WalAddition};
use ferrock_tree::version::VersionSet;
use ferrock_vfs::FileSystem;
use std::path::Path;

/// Lists the logs in the MANIFEST that became durable since the last call. After a sync, before it is acknowledged.
pub(super) fn record(core: &DbCore) -> Result<()> {
    let finished = core.writes.logs().take_finished();
    if finished.is_empty() {
        return Ok(());
    }
    let addition = |log: crate::write::wal::LiveLog| WalAddition {
        log_number: log.number,
        synced_size_bytes: Some(log.size_bytes),
    };
    let wal_additions = finished.into_iter().map(addition).collect();
    let applied = core.versions.log_and_apply(vec![VersionEdit { wal_additions, ..VersionEdit::default() }]);
    applied.inspect_err(|error| core.jobs.set_error(Reason::Manifest, error))
}

/// Compares the list with what is there. A log that is `open` may be gone by now: a writer beside removed it.
///
/// # Errors
/// Corruption that names the log, the sizes, and what to do.
pub(super) fn check(
    options: &DbOptions,
    file_system: &dyn FileSystem,
    directory: &Path,
    versions: &VersionSet,
    open: &[FileNumber],
) -> Result<()> {
    const WHAT_TO_DO: &str =
        "restore the log; or open with track_and_verify_wals_in_manifest off, which takes the logs that are there";
    if !options.track_and_verify_wals_in_manifest {
        return Ok(());
    }
    for (number, synced) in versions.tracked_wals() {
        let path = directory.join(file_name::log(number));
        let size = match file_system.file_size(&path) {
            Ok(size) => size,
            Err(error) if error.is_not_found() && open.contains(&number) => continue,
            Err(error) if error.is_not_found() => {
                let bytes = synced.map_or_else(String::new, |synced| format!(" of {synced} synced bytes"));
                let what =
                    format!("Missing WAL with log number: {}. The MANIFEST lists it{bytes}: {WHAT_TO_DO}", number.0);
                return Err(Error::corruption(what).in_file(path));
            }
            Err(error) => return Err(error),
        };
        if let Some(synced) = synced.filter(|synced| size < *synced) {
            let what = format!(
                "Size mismatch: WAL (log number: {}) in MANIFEST is {synced} bytes, while actually is {size} bytes on \
                 disk: {WHAT_TO_DO}",
                number.0
            );
            return Err(Error::corruption(what).in_file(path));
        }
    }
    Ok(())
}
