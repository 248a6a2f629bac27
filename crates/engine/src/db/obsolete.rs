//! Files that nothing needs: tables that left the tree, logs that are flushed, old
//! MANIFESTs, old OPTIONS files.
//!
//! Tables that a reader still holds (zombies) stay until it lets go: they are looked for again when an iterator that
//! was the last to hold a version ends, after the next flush or compaction, and when the database closes or opens.

use super::{DbCore, State};
use ferrock_base::FileNumber;
use ferrock_format::file_name::{self, FileKind};
use ferrock_tree::blob::closed_file;
use ferrock_tree::places::is_same;
use ferrock_tree::version::obsolete::{NeededFiles, obsolete_files};
use std::path::Path;
use std::sync::atomic::Ordering;

impl DbCore {
    /// Lists the directory and removes what is not needed. Failures are only logged: a file that stays costs space.
    pub(crate) fn delete_obsolete_files(&self) {
        let is_begun = self.begin_cleanup(&mut self.state.lock());
        if is_begun {
            self.clean_up();
        }
    }

    /// Announces a clean-up, which closing then waits for: once the lock of the directory is given up, the files there
    /// may be another opener's. False when it is too late: closing then does it itself.
    pub(crate) fn begin_cleanup(&self, state: &mut State) -> bool {
        if self.is_read_only {
            return false;
        }
        if self.is_closing.load(Ordering::Acquire) {
            state.is_cleanup_owed = true;
            return false;
        }
        state.running_cleanups += 1;
        true
    }

    /// What was announced by [`begin_cleanup`](Self::begin_cleanup).
    pub(crate) fn clean_up(&self) {
        self.delete_unneeded_files();
        self.state.lock().running_cleanups -= 1;
        self.changed.notify_all();
    }

    pub(super) fn delete_unneeded_files(&self) {
        // What is needed is taken before the directory is listed: a file made in between is newer.
        let needed = self.needed_files();
        if self.places.has_separate_logs() {
            self.delete_unneeded_in(self.places.log_directory(), &needed, |kind| kind == FileKind::Log);
        }
        for directory in self.places.other_table_directories() {
            self.delete_unneeded_in(&directory, &needed, |kind| matches!(kind, FileKind::Table | FileKind::Blob));
        }
        self.delete_unneeded_in(&self.path, &needed, |_| true);
    }

    /// Removes the files of some kinds that are not needed from one directory of the database.
    fn delete_unneeded_in(&self, directory: &Path, needed: &NeededFiles, is_here: impl Fn(FileKind) -> bool) {
        let listing = match self.file_system.children(directory) {
            Ok(listing) => listing,
            Err(error) => return self.events.log().warn(|| format!("listing obsolete files: {error}")),
        };
        for name in obsolete_files(&listing, needed) {
            let Some(parsed) = file_name::parse(name).filter(|parsed| is_here(parsed.kind)) else { continue };
            if parsed.kind == FileKind::Log && !self.keeps_newest_log() {
                continue;
            }
            if parsed.kind == FileKind::Log && self.may_be_unread(directory, name) {
                continue;
            }
            match (parsed.kind, parsed.number) {
                (FileKind::Table, number) => self.open_tables.evict(number),
                // Its writer crashed before it could record the file, and tables or logs may refer to it.
                (FileKind::Blob, number) if closed_file(&*self.file_system, directory, number).is_none() => {
                    continue;
                }
                (FileKind::Blob, number) => self.blob_source.evict(number),
                _ => {}
            }
            match self.file_system.remove_file(&directory.join(name)) {
                Ok(()) => self.events.log().info(|| format!("removed {name}")),
                Err(error) if error.is_not_found() => {}
                Err(error) => self.events.log().warn(|| format!("removing {name}: {error}")),
            }
        }
    }

    /// True for a log with records beside the tables when logs have a directory of their own: `wal_dir` may have been
    /// changed by another engine, and what that log holds was never read.
    fn may_be_unread(&self, directory: &Path, name: &str) -> bool {
        self.places.has_separate_logs()
            && is_same(directory, &self.path)
            && self.file_system.file_size(&directory.join(name)).map_or(true, |bytes| bytes > 0)
    }

    fn needed_files(&self) -> NeededFiles {
        let state = self.state.lock();
        let pending = state.pending_outputs.first().copied().map(FileNumber);
        let min_pending_output = pending.unwrap_or_else(|| self.versions.next_file_number());
        let live = self.versions.live_files();
        self.has_zombies.store(!live.zombie_tables.is_empty(), Ordering::Release);
        let oldest_log = self.wal.lock().oldest();
        let min_log = self.versions.oldest_needed_log();
        NeededFiles {
            live_tables: live.tables,
            live_blob_files: live.blob_files,
            min_pending_output,
            // The log list is right about what is in use; before the first switch it is empty.
            min_log_number_to_keep: if oldest_log.0 == 0 { min_log } else { min_log.min(oldest_log) },
            prev_log_number: self.versions.prev_log_number(),
            manifest_number: self.versions.manifest_number(),
            keep_info_logs: self.options.load().keep_log_file_num,
        }
    }
}
