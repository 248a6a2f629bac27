//! The turn of a call that changes the files of a family by hand.

use super::{DbCore, cleanup};
use crate::column_family::ColumnFamilyData;
use crate::jobs::StoppedBy;
use ferrock_base::Result;

/// Runs `work` in a turn of the family, and deletes the files that nothing needs any more. With `is_exclusive` no other
/// compaction of the family runs meanwhile.
///
/// # Errors
/// Those of `work`; that of a database that is closing, or of a family that was dropped, or of a call that is stopped.
pub(super) fn in_turn<T>(
    core: &DbCore,
    data: &ColumnFamilyData,
    is_exclusive: bool,
    stopped_by: StoppedBy<'_>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    core.jobs.begin_manual(data, is_exclusive, stopped_by)?;
    let result = work();
    // Closing waits for the job, and then for its clean-up.
    let cleanup = core.files.begin_cleanup();
    core.jobs.finish_manual(data.id, is_exclusive, stopped_by);
    if let Some(turn) = cleanup {
        cleanup::clean_up(core, turn);
    }
    result
}
