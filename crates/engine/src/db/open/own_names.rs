//! The names that a follower gives the files of its leader, and which it needs.

use crate::column_family::ColumnFamilyData;
use crate::db::DbCore;
use crate::db::views::Views;
use crate::files::links::{Links, WantedFile};
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::file_name::FileKind;
use ferrock_tree::places::FilePlaces;
use ferrock_tree::version::version_set::FamilyView;
use std::collections::BTreeSet;
use std::sync::Arc;
/// Number and size of a MANIFEST.
pub(super) type ManifestStamp = (FileNumber, u64);

/// The names that a follower gives the files of its leader.
pub(super) struct OwnNames {
    /// `None` once the follower is closed.
    pub(super) links: Option<Links>,
    /// Where the leader has its files.
    pub(super) leader: FilePlaces,
    /// Readers hold views whose files no later view needs.
    pub(super) may_drop_more: bool,
    /// The MANIFEST that the view is from, and where it was read to.
    pub(super) read_to: Option<ManifestStamp>,
}

impl OwnNames {
    pub(super) fn links(&mut self) -> Result<&mut Links> {
        let closed = || Error::new(ErrorKind::ShutdownInProgress, "the follower is closed");
        self.links.as_mut().ok_or_else(closed)
    }

    /// The leader has begun another MANIFEST, and may have given numbers out again.
    pub(super) fn forget(&mut self, core: &DbCore, families: &[(FamilyView, Arc<ColumnFamilyData>)]) -> Result<()> {
        for (view, _) in families {
            view.current.files().for_each(|(_, file)| core.files.open_tables().evict(file.number));
        }
        self.links()?.forget();
        Ok(())
    }

    /// Gives all files of the families their names.
    pub(super) fn take(
        &mut self,
        core: &DbCore,
        views: &Views,
        families: &[(FamilyView, Arc<ColumnFamilyData>)],
    ) -> Result<()> {
        let mut wanted = Vec::new();
        for (view, _) in families {
            let paths = self.leader.add_family(view.id, &view.options);
            wanted.extend(view.current.files().map(|(_, file)| WantedFile {
                from: paths.directory(file.path_id).to_path_buf(),
                kind: FileKind::Table,
                number: file.number,
                size_bytes: file.size_bytes,
            }));
            wanted.extend(view.current.blob_files().iter().map(|(number, file)| WantedFile {
                from: paths.directory(0).to_path_buf(),
                kind: FileKind::Blob,
                number: *number,
                size_bytes: file.file_size_bytes(),
            }));
        }
        self.links()?.take(&wanted, core.events.log(), || views.check_goes_on())
    }

    /// Removes the names that no view needs.
    pub(super) fn drop_unneeded(&mut self, core: &DbCore) {
        let live = core.versions.live_files();
        let current = core.versions.blob_files_now().into_iter();
        let current: BTreeSet<FileNumber> = current.map(|(_, number)| number).collect();
        let has_more_blobs = live.blob_files.iter().any(|number| !current.contains(number));
        self.may_drop_more = !live.zombie_tables.is_empty() || has_more_blobs;
        let Ok(links) = self.links() else { return };
        let gone = links.drop_unneeded(&live, core.events.log());
        gone.into_iter().for_each(|number| core.files.open_tables().evict(number));
    }
}
