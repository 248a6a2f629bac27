//! What readers have of a tree that was read from a MANIFEST of another process: of each family its memtables and
//! tables, which are put in force all at once.

use super::DbCore;
use crate::column_family::{ColumnFamilyData, FamilyMap};
use crate::db::open;
use crate::jobs::FamilyJobs;
use ferrock_base::SequenceNumber;
use ferrock_tree::version::VersionSet;
use ferrock_tree::version::version_set::FamilyView;
use std::sync::Arc;

/// How long an open or a catch-up begins anew, and how often at least and at most. A writer that works off what has
/// gathered flushes several hundred times a second, for seconds.
pub(super) const PATIENCE_US: u64 = 10_000_000;
pub(super) const LEAST_ATTEMPTS: usize = 50;
pub(super) const MOST_ATTEMPTS: usize = 10_000;

/// The families of a tree, with what readers have of them already.
pub(super) fn families_of(core: &DbCore, fresh: &VersionSet) -> Vec<(FamilyView, Arc<ColumnFamilyData>)> {
    let known = core.families.load_full();
    let with_data = |view: FamilyView| {
        let data = known.get(view.id).cloned().unwrap_or_else(|| open::new_family(core, view.clone()));
        (view, data)
    };
    fresh.families().into_iter().map(with_data).collect()
}

/// Gives readers the views. The number first: with it, what was there before is still read as it was.
pub(super) fn install(
    core: &DbCore,
    fresh: VersionSet,
    views: Vec<(FamilyView, Arc<ColumnFamilyData>)>,
    end: SequenceNumber,
) {
    core.writes.publisher().raise(end);
    let mut families = FamilyMap::default();
    let mut states = Vec::new();
    for (view, data) in views {
        families.insert(Arc::clone(&data));
        states.push((FamilyJobs::new(data, view.log_number), view.current));
    }
    core.families.store(Arc::new(families));
    core.jobs.install_views(states);
    core.versions.adopt(fresh);
    let live = core.versions.live_files();
    core.reads.blob_source().keep_only(|number| live.blob_files.contains(&number));
}
