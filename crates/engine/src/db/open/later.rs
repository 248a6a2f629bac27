//! Opening tables behind an open that has returned (`open_files_async`).
//!
//! ```text
//! open returns --> threads: one table after the other, newest of each level first --> the clean-up of what was held
//!                       |                        |
//!                       |                        +--- cannot be opened: background error (paranoid_checks), or the LOG
//!                       +--- the database closes: they end with the table they have
//! ```
//!
//! A read that needs a table opens it itself. The versions of that moment are held until the end, so that no table of
//! theirs is missed because a compaction removed it.

use super::{DbCore, TableToOpen, opening_threads, tables_to_open};
use crate::db::cleanup;
use crate::files::OpeningTurn;
use crate::jobs::background_error::Reason;
use ferrock_tree::version::Version;
use ferrock_vfs::IoActivity;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the threads share.
struct Work {
    tables: Vec<TableToOpen>,
    next: AtomicUsize,
    /// Let go by the thread that ends last.
    held: Mutex<Option<(Vec<Arc<Version>>, OpeningTurn)>>,
    running: AtomicUsize,
}

/// Starts the threads. Without one to be had, tables are opened as reads need them.
pub(super) fn open_tables(core: &Arc<DbCore>) {
    let Some(turn) = core.files.begin_opening() else { return };
    let versions = core.families.load().iter().map(|data| Arc::clone(&data.super_version.load().version)).collect();
    let tables = tables_to_open(core);
    let threads = opening_threads(core).clamp(1, tables.len().max(1));
    let work = Arc::new(Work {
        tables,
        next: AtomicUsize::new(0),
        held: Mutex::new(Some((versions, turn))),
        running: AtomicUsize::new(threads),
    });
    for index in 0..threads {
        let (core_of_thread, work_of_thread) = (Arc::clone(core), Arc::clone(&work));
        let job = Box::new(move || {
            run(&core_of_thread, &work_of_thread);
            end(&core_of_thread, &work_of_thread);
        });
        if core.env.spawner.spawn(&format!("ferrock-open-{index}"), job).is_err() {
            end(core, &work);
        }
    }
}

fn run(core: &DbCore, work: &Work) {
    while !core.files.is_stopped() {
        let index = work.next.fetch_add(1, Ordering::Relaxed);
        let Some((cache, file)) = work.tables.get(index) else { return };
        if let Err(error) = cache.get_ref_for(file, IoActivity::DbOpen) {
            core.events.log().warn(|| format!("a table cannot be opened: {error}"));
            if core.options.load().paranoid_checks {
                core.jobs.raise_error(Reason::Opening, &error);
            }
        }
    }
}

/// A thread ended. The last one lets go of what was held, and has removed what only that kept.
fn end(core: &Arc<DbCore>, work: &Work) {
    if work.running.fetch_sub(1, Ordering::AcqRel) == 1 {
        let held = work.held.lock().take();
        if let Some((versions, turn)) = held {
            drop(versions);
            cleanup::request_cleanup(core);
            drop(turn);
        }
    }
}
