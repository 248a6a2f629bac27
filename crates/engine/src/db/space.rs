//! The space that the files of the database may take, where an `SstFileManager` bounds it.
//!
//! A flush that reaches the bound is installed, for what it holds is acknowledged, and stops writes behind it; a
//! compaction that reaches it fails and leaves nothing. Both are a background error that is left as soon as there is
//! space again (`auto_resume.rs`). A compaction whose inputs would not fit a second time does not begin: it is chosen
//! again when the manager says that there is more space.

use super::DbCore;
use crate::jobs::background_error::Reason;
use ferrock_base::Result;
use ferrock_options::{SpaceObserver, SpaceReservation};
use ferrock_tree::compaction::choice::CompactionChoice;
use std::sync::{Arc, Weak};

impl SpaceObserver for DbCore {
    fn space_freed(&self) {
        self.jobs.ask_all_families();
    }
}

/// Counts what an open found in the tree, and hears of space from now on.
pub(super) fn begin(core: &Arc<DbCore>) {
    let deletion = core.files.deletion();
    let Some(manager) = deletion.manager() else { return };
    for data in core.families.load().iter() {
        deletion.count_version(data, &data.super_version.load().version);
    }
    let observer: Weak<DbCore> = Arc::downgrade(core);
    manager.observe(observer);
}

/// Space for the outputs of a compaction. What writes nothing needs none.
///
/// # Errors
/// `CompactionTooLarge` where there is not enough.
pub(super) fn reserve(core: &DbCore, choice: &CompactionChoice) -> Result<Option<SpaceReservation>> {
    if !choice.kind.writes_files() {
        return Ok(None);
    }
    core.files.deletion().reserve(choice.input_size_bytes())
}

/// Stops writes when a flush has reached the bound.
pub(super) fn note_flushed(core: &DbCore) {
    if let Err(error) = core.files.deletion().check_limit() {
        core.jobs.set_error(Reason::Flush, &error);
    }
}
