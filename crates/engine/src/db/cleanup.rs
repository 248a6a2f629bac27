//! Which files are needed: what is removed is the rest ([`FileRegistry`](crate::files::FileRegistry)).

use super::DbCore;
use crate::files::CleanUp;
use ferrock_tree::version::obsolete::NeededFiles;
use std::sync::Arc;

impl DbCore {
    /// Removes what is not needed, on this thread.
    pub(crate) fn delete_obsolete_files(&self) {
        if let Some(turn) = self.files.begin_cleanup() {
            self.clean_up(turn);
        }
    }

    /// Lets a thread of the database remove what only a reader held until now.
    pub(crate) fn request_cleanup(self: &Arc<Self>) {
        if let Some(turn) = self.files.request_cleanup() {
            let core = Arc::clone(self);
            self.reads.run_aside(Box::new(move || core.clean_up(turn)));
        }
    }

    pub(super) fn clean_up(&self, mut turn: CleanUp) {
        turn.begin();
        self.delete_unneeded_files();
    }

    pub(super) fn delete_unneeded_files(&self) {
        // What is needed is taken before the directory is listed: a file made in between is newer.
        let needed = self.needed_files();
        self.files.remove_unneeded(&needed, &|| self.keeps_newest_log());
    }

    /// In this order: a file that a job hands over in between is live, and one that is made in between is newer.
    fn needed_files(&self) -> NeededFiles {
        let next = self.versions.next_file_number();
        let min_pending_output = self.files.oldest_pending().map_or(next, |pending| pending.min(next));
        let live = self.versions.live_files();
        self.files.set_has_zombies(!live.zombie_tables.is_empty());
        let oldest_log = self.writes.logs().oldest();
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
