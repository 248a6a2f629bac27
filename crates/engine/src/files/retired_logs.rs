//! Logs that no family needs any more: archived, removed, or left for the readers that have them open.
//!
//! ```text
//! retire_logs ---> the archive, if there is one        (readers keep the open file)
//!             \--> removed, unless a reader has it open -> stays -> with the next that are retired, or a clean-up
//! ```
//!
//! Invariants:
//! - A log that was [pinned](FileRegistry::pin_log) is not removed before the pin is dropped, and one that is being
//!   removed is not pinned.
//! - While files are [held](super::holds) every log keeps its name, and no archived one is removed.

use super::FileRegistry;
use super::archive::LogArchive;
use super::deletion::Removal;
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::file_name::{self, FileKind};
use ferrock_tree::places::is_same;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What the registry knows of them.
#[derive(Debug, Default)]
pub(super) struct RetiredLogs {
    /// Logs that readers of updates have open, and how many have each.
    pinned: BTreeMap<FileNumber, usize>,
    /// Logs that are being removed.
    going: BTreeSet<FileNumber>,
    /// Logs that nothing needs and that stayed for their readers, or could not be moved or removed.
    stayed: BTreeSet<FileNumber>,
}

impl FileRegistry {
    /// Archives logs that no family needs, or removes them, and those that stayed before.
    pub(crate) fn retire_logs(&self, numbers: &[FileNumber]) {
        let mut all = std::mem::take(&mut self.state.lock().retired_logs.stayed);
        all.extend(numbers);
        for number in all {
            let (directory, name) = (self.places.log_directory(), file_name::log(number));
            let Some(_turn) = self.begin_removal() else {
                // The clean-up behind the last hold finds it.
                self.note_file(directory, name);
                continue;
            };
            let retired = self.retire_log(directory, number);
            match retired {
                Err(error) if !error.is_not_found() => {
                    self.log.warn(|| format!("an obsolete log: {error}"));
                    let mut state = self.state.lock();
                    state.retired_logs.stayed.insert(number);
                    state.note(directory, name);
                }
                _ => self.forget(directory, &name),
            }
        }
        self.purge_archive();
    }

    /// # Errors
    /// Those of the file system, and `Busy` while a reader has the log open and there is no archive.
    pub(super) fn retire_log(&self, directory: &Path, number: FileNumber) -> Result<()> {
        let path = directory.join(file_name::log(number));
        if let Some(archive) = self.archive.as_ref().filter(|_| is_same(directory, self.places.log_directory())) {
            return archive.take(&path, number);
        }
        self.remove_log(&path, number, self.removal_of(FileKind::Log))
    }

    /// Removes a log that no reader has open.
    fn remove_log(&self, path: &Path, number: FileNumber, removal: Removal) -> Result<()> {
        let mut state = self.state.lock();
        if state.retired_logs.pinned.contains_key(&number) {
            return Err(Error::new(ErrorKind::Busy, "a reader of updates has the log open").in_file(path));
        }
        state.retired_logs.going.insert(number);
        drop(state);
        let removed = self.deletion.remove(&*self.file_system, path, removal);
        self.state.lock().retired_logs.going.remove(&number);
        removed
    }

    /// Removes archived logs that are too old or too many. Their directory is not among those that are known.
    pub(crate) fn purge_archive(&self) {
        let Some(archive) = self.archive.as_ref().filter(|_| self.are_removals_enabled()) else { return };
        archive.purge(&self.log, |path, number| {
            let Some(_turn) = self.begin_removal() else { return false };
            match self.remove_log(path, number, Removal::AtOnce) {
                Err(error) if !error.is_not_found() => {
                    self.log.info(|| format!("an archived log stays: {error}"));
                    false
                }
                _ => true,
            }
        });
    }

    /// Keeps a log from being removed, not from being archived, until the pin is dropped. `None` for one that is being
    /// removed.
    pub(crate) fn pin_log(self: &Arc<Self>, number: FileNumber) -> Option<LogPin> {
        let mut state = self.state.lock();
        if state.retired_logs.going.contains(&number) {
            return None;
        }
        *state.retired_logs.pinned.entry(number).or_default() += 1;
        Some(LogPin { files: Arc::clone(self), number })
    }

    /// Makes the directory of archived logs, if logs are archived.
    pub(crate) fn prepare_archive(&self) -> Result<()> {
        self.archive.as_ref().map_or(Ok(()), LogArchive::prepare)
    }
}

/// A log that is not removed for as long as this lives.
pub(crate) struct LogPin {
    files: Arc<FileRegistry>,
    number: FileNumber,
}

impl Drop for LogPin {
    fn drop(&mut self) {
        let mut state = self.files.state.lock();
        if let Some(count) = state.retired_logs.pinned.get_mut(&self.number) {
            *count -= 1;
            if *count == 0 {
                state.retired_logs.pinned.remove(&self.number);
            }
        }
    }
}
