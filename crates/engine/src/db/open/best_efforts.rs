//! An open with `best_efforts_recovery`: the newest state whose files are all there, and no log.
//!
//! ```text
//! MANIFESTs -> newest whole state -> logs get a second name in lost/ -> new MANIFEST, CURRENT -> logs are removed
//!                                                                              |
//!                                             nothing is replaced before ------+
//! ```
//!
//! What a crash leaves at any moment is the directory as it was, with some files more, or the database that was
//! recovered. Logs are not read, since what they hold follows a newer state than the one that is opened. A later open
//! must not read them either, so the new MANIFEST needs none of them; RocksDB leaves them in force, and they would
//! count again, behind or between what was written since. In `lost/` they are out of the way and not gone. Tables and
//! blob files that the state does not have are removed, as RocksDB does.

use super::Opener;
use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::file_name::{self, FileKind};
use ferrock_tree::places::create_directory;
use ferrock_tree::version::version_set;
use ferrock_tree::version::{FamilyToOpen, VersionSet};
use ferrock_vfs::{FileSystem, WritableOptions, WritePurpose, copy_file};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where logs go that were not read, below the directory of the database. A repair has the same.
const LOST: &str = "lost";

/// True when there is a database to recover. CURRENT does not tell: a MANIFEST does, unless it is what an interrupted
/// creation left.
pub(super) fn exists(file_system: &dyn FileSystem, path: &Path) -> Result<bool> {
    let is_of_creation = || version_set::check_holds_no_database(file_system, path);
    if !version_set::exists(file_system, path)? && is_of_creation().is_ok() {
        return Ok(false);
    }
    if version_set::has_manifest(file_system, path)? {
        return Ok(true);
    }
    is_of_creation().map(|()| false)
}

/// Refuses an open that could not write what it recovers.
pub(super) fn refuse(is_asked_for: bool) -> Result<()> {
    if is_asked_for {
        return Err(Error::not_supported(
            "best_efforts_recovery in an open that only reads: open for writing once, then without it",
        ));
    }
    Ok(())
}

impl Opener {
    /// The newest whole state; notes say what it is.
    pub(super) fn recover_best_efforts(&mut self, families: &[FamilyToOpen]) -> Result<VersionSet> {
        let files = self.manifest_files();
        let options = Arc::new(self.options.clone());
        let found = VersionSet::recover_best_efforts(files, &self.path, options, families)?;
        let versions = found.versions;
        self.notes.extend(found.notes);
        let paths = self.families.iter().map(|(_, family)| &family.cf_paths).chain([&self.options.db_paths]);
        for path in paths.flatten() {
            if self.file_system.exists(&path.path)? {
                versions.mark_directory_used(&path.path)?;
            }
        }
        Ok(versions)
    }

    /// Gives the logs that `versions` needs a second name in `lost/`, and lets it need none. Their paths.
    pub(super) fn release_logs(&self, versions: &VersionSet, logs: &Path) -> Result<Vec<PathBuf>> {
        let oldest = versions.oldest_needed_log();
        versions.mark_directory_used(logs)?;
        versions.release_all_logs();
        let mut unread = Vec::new();
        for name in self.file_system.children(logs)? {
            let parsed = file_name::parse(&name);
            if parsed.is_some_and(|parsed| parsed.kind == FileKind::Log && parsed.number >= oldest) {
                unread.push(logs.join(name));
            }
        }
        unread.sort_unstable();
        if !unread.is_empty() {
            self.keep_in_lost(&unread)?;
        }
        Ok(unread)
    }

    fn keep_in_lost(&self, paths: &[PathBuf]) -> Result<()> {
        let (files, lost) = (&*self.file_system, self.path.join(LOST));
        if !files.exists(&lost)? {
            create_directory(files, &lost)?;
        }
        for path in paths {
            let (size, name) = (files.file_size(path)?, path.file_name().unwrap_or_default());
            let mut target = lost.join(name);
            let mut attempt = 0;
            // An open that a crash ended has kept it already.
            while files.exists(&target)? && files.file_size(&target)? != size {
                attempt += 1;
                target = lost.join(format!("{}.{attempt}", name.to_string_lossy()));
            }
            if !files.exists(&target)? && files.hard_link(path, &target).is_err() {
                let options = WritableOptions::for_purpose(WritePurpose::Log);
                copy_file((files, path), (files, &target), None, &options)?;
            }
        }
        files.sync_dir(&lost)
    }
}

/// Removes logs that were released, once the MANIFEST says so. What cannot be removed is left to the clean-up.
pub(super) fn remove_released(file_system: &dyn FileSystem, logs: &[PathBuf]) {
    logs.iter().for_each(|log| _ = file_system.remove_file(log));
}

/// What no log has as its number: all of them are older.
pub(super) const NO_LOG: FileNumber = FileNumber(u64::MAX);
