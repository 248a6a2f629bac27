//! The removal of files that nothing needs, by the [`SstFileManager`] where the database has one.
//!
//! What jobs write is counted as each file is complete, and what an open finds in the tree before anything else. Files
//! of a job that failed are not paced: where space is short they are in the way of the next attempt.

use crate::column_family::ColumnFamilyData;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::file_name;
use ferrock_options::{RemovalPlace, SpaceReservation, SstFileManager};
use ferrock_statistics::{Statistics, Ticker};
use ferrock_tree::version::Version;
use ferrock_vfs::FileSystem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a file is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    AtOnce,
    /// By the manager, at its rate.
    Paced,
}

/// See the [module](self). Without a manager everything goes at once, and no space is counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deletion {
    managed: Option<(Arc<SstFileManager>, Arc<RemovalPlace>)>,
    /// Where removals are counted that are not left to the manager.
    statistics: Option<Arc<Statistics>>,
}

impl Deletion {
    pub(crate) fn new(
        manager: Option<Arc<SstFileManager>>,
        place: RemovalPlace,
        statistics: Option<Arc<Statistics>>,
    ) -> Self {
        Self { managed: manager.map(|manager| (manager, Arc::new(place))), statistics }
    }

    pub(crate) fn manager(&self) -> Option<&Arc<SstFileManager>> {
        self.managed.as_ref().map(|(manager, _)| manager)
    }

    pub(super) fn remove(&self, file_system: &dyn FileSystem, path: &Path, removal: Removal) -> Result<()> {
        if let (Some((manager, place)), Removal::Paced) = (&self.managed, removal) {
            return manager.remove(place, path);
        }
        let removed = file_system.remove_file(path);
        if let Some(statistics) = self.statistics.as_ref().filter(|_| removed.is_ok()) {
            statistics.add(Ticker::FilesDeletedImmediately, 1);
        }
        if let Some(manager) = self.manager().filter(|_| removed.as_ref().map_or_else(Error::is_not_found, |()| true)) {
            manager.on_delete_file(path);
        }
        removed
    }

    /// Counts a file that was written.
    pub(crate) fn count(&self, path: PathBuf, bytes: u64) {
        if let Some(manager) = self.manager() {
            manager.on_add_file(path, bytes);
        }
    }

    /// Counts all files of a version.
    pub(crate) fn count_version(&self, data: &ColumnFamilyData, version: &Version) {
        let Some(manager) = self.manager() else { return };
        let paths = data.table_cache.paths();
        for (_, file) in version.files() {
            manager.on_add_file(paths.directory(file.path_id).join(file_name::table(file.number)), file.size_bytes);
        }
        for (number, file) in version.blob_files() {
            manager.on_add_file(paths.directory(0).join(file_name::blob(*number)), file.file_size_bytes());
        }
    }

    /// What a job is told when the files have reached their bound.
    ///
    /// # Errors
    /// `SpaceLimit`.
    pub(crate) fn check_limit(&self) -> Result<()> {
        self.manager().map_or(Ok(()), |manager| manager.check_limit())
    }

    /// Space for a compaction of so many bytes.
    ///
    /// # Errors
    /// `CompactionTooLarge` where there is not enough.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<Option<SpaceReservation>> {
        let Some(manager) = self.manager() else { return Ok(None) };
        let reserved = manager.reserve(bytes).ok_or_else(|| {
            let what = "the inputs do not fit a second time below max_allowed_space_usage of the SstFileManager";
            Error::new(ErrorKind::CompactionTooLarge, format!("{bytes} bytes: {what}"))
        });
        reserved.map(Some)
    }

    /// A reservation ended: others may begin.
    pub(crate) fn tell_of_space(&self) {
        if let Some(manager) = self.manager() {
            manager.tell_of_space();
        }
    }
}
