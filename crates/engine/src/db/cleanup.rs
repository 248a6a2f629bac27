//! Which files are needed: what is removed is the rest ([`FileRegistry`](crate::files::FileRegistry)).

use super::DbCore;
use crate::db::flush;
use crate::files::CleanUp;
use ferrock_format::file_name;
use ferrock_tree::version::ReleaseObserver;
use ferrock_tree::version::obsolete::NeededFiles;
use std::sync::{Arc, Weak};

/// Removes what is not needed, on this thread.
pub(crate) fn delete_obsolete_files(core: &DbCore) {
    if let Some(turn) = core.files.begin_cleanup() {
        clean_up(core, turn);
    }
}

/// Asks for a clean-up when a version is dropped. The thread that drops it must not block and may hold locks of the
/// database, so another thread removes the files.
#[derive(Debug)]
pub(super) struct Releases(pub(super) Weak<DbCore>);

impl ReleaseObserver for Releases {
    fn on_version_released(&self) {
        if let Some(core) = self.0.upgrade() {
            request_cleanup(&core);
        }
    }
}

/// Starts a clean-up on a thread of the database, if a table is left that only a dropped version can have held.
pub(crate) fn request_cleanup(core: &Arc<DbCore>) {
    if let Some(turn) = core.files.request_cleanup() {
        let job_core = Arc::clone(core);
        core.reads.run_aside(Box::new(move || clean_up(&job_core, turn)));
    }
}

pub(super) fn clean_up(core: &DbCore, mut turn: CleanUp) {
    turn.begin();
    delete_unneeded_files(core);
}

pub(super) fn delete_unneeded_files(core: &DbCore) {
    if core.jobs.is_read_only() {
        // The files are another process's.
        return;
    }
    for number in core.versions.take_replaced_manifests() {
        core.files.note_file(core.files.database(), file_name::manifest(number));
        core.files.note_file(core.files.database(), file_name::temp(number));
    }
    let gone = core.versions.take_gone_tables();
    // What is needed is taken before what there is: a file made in between is newer.
    let needed = needed_files(core);
    let (held, free) = gone.into_iter().partition::<Vec<_>, _>(|table| needed.live_tables.contains(&table.number()));
    core.versions.put_back_gone_tables(held);
    for table in free {
        let blocks = table.uncache(core.files.open_tables());
        core.events.log().info(|| format!("uncached {blocks} blocks of table {}", table.number()));
    }
    core.files.remove_unneeded(&needed, &|| flush::keeps_newest_log(core));
}

/// In this order: a file that a job hands over in between is live, and one that is made in between is newer.
fn needed_files(core: &DbCore) -> NeededFiles {
    let scan = core.files.scan_for_zombies();
    let next = core.versions.next_file_number();
    let min_pending_output = core.files.oldest_pending().map_or(next, |pending| pending.min(next));
    // Before the versions: what memtables let go of meanwhile is in one of them.
    let kept = core.files.kept();
    let mut live = core.versions.live_files();
    live.blob_files.extend(kept);
    scan.end(!live.zombie_tables.is_empty());
    let oldest_log = core.writes.logs().oldest();
    let min_log = core.versions.oldest_needed_log();
    NeededFiles {
        live_tables: live.tables,
        live_blob_files: live.blob_files,
        min_pending_output,
        // The log list is right about what is in use; before the first switch it is empty.
        min_log_number_to_keep: if oldest_log.0 == 0 { min_log } else { min_log.min(oldest_log) },
        prev_log_number: core.versions.prev_log_number(),
        manifest_number: core.versions.manifest_number(),
        keep_info_logs: core.options.load().keep_log_file_num,
    }
}
