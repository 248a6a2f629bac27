//! Keeping the files of a database where they are, and removing what stayed ([`files/holds.rs`](crate::files::holds)).

use super::DbCore;
use super::cleanup::{delete_obsolete_files, request_cleanup};
use crate::files::FileRegistry;
use std::sync::{Arc, Weak};

/// Keeps every file of a database where it is, until this is dropped. See [`Db::hold_files`](crate::Db::hold_files).
#[derive(Debug)]
pub struct FileHold {
    files: Arc<FileRegistry>,
    core: Weak<DbCore>,
}

impl FileHold {
    pub(crate) fn new(core: &Arc<DbCore>) -> Self {
        core.files.begin_hold();
        Self { files: Arc::clone(&core.files), core: Arc::downgrade(core) }
    }
}

impl Drop for FileHold {
    fn drop(&mut self) {
        let Some(owed) = self.files.end_hold() else { return };
        // A database that was closed meanwhile: the directory may be another opener's.
        let Some(core) = self.core.upgrade().filter(|core| core.jobs.check_open().is_ok()) else { return };
        // A clean-up, which closing waits for; one that comes too late is told to closing.
        let turn = self.files.begin_cleanup();
        if turn.is_some() {
            self.files.settle(owed);
            request_cleanup(&core);
        }
    }
}

/// Ends a hold of a call, and removes on this thread what stayed because of it.
pub(crate) fn enable_file_deletions(core: &DbCore) {
    if let Some(owed) = core.files.enable_removals() {
        let Some(_turn) = core.files.begin_cleanup() else { return };
        core.files.settle(owed);
        delete_obsolete_files(core);
    }
}
