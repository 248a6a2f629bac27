//! What a copy of the tree is made of: the MANIFEST up to a record, and the versions that these records describe.
//!
//! Both are taken under the lock that serialises changes: the versions are those of the last record, neither older nor
//! newer. A copy of so many bytes of the MANIFEST, with the files of these versions, is a tree.

use super::VersionSet;
use crate::version::Version;
use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::file_name;
use std::sync::Arc;

/// The MANIFEST up to a record, and the versions that its records describe.
#[derive(Clone, Debug)]
pub struct ManifestToCopy {
    /// Number of the MANIFEST that CURRENT names.
    pub number: FileNumber,
    /// Bytes of the MANIFEST that count; more may come behind them at any time.
    pub size_bytes: u64,
    /// WALs with smaller numbers are not needed by the copy.
    pub oldest_needed_log: FileNumber,
    /// The current version of each family, by the family's id.
    pub versions: Vec<(u32, Arc<Version>)>,
}

impl VersionSet {
    /// The MANIFEST and the versions of this moment. Waits for a change that is being written.
    ///
    /// # Errors
    /// `InvalidArgument` after a failed write to the MANIFEST, until the database was resumed: its end is not known.
    /// Of the file system, where the size of a MANIFEST that an earlier open wrote is asked for.
    pub fn manifest_to_copy(&self) -> Result<ManifestToCopy> {
        let manifest = self.manifest.lock();
        let state = self.state.lock();
        if state.is_uncertain {
            let what = "the end of the MANIFEST is not known after a failed write: resume the database first";
            return Err(
                Error::invalid_argument(what).in_file(self.db_path.join(file_name::manifest(state.manifest_number)))
            );
        }
        let number = state.manifest_number;
        let tracked = state.tracked_wals.keys().next().copied();
        let versions = state.families.iter().map(|(id, family)| (*id, Arc::clone(&family.current))).collect();
        drop(state);
        let size_bytes = match &manifest.writer {
            Some(writer) => writer.size_bytes(),
            None => self.file_system.file_size(&self.db_path.join(file_name::manifest(number)))?,
        };
        // An open that verifies tracked WALs looks for each that these bytes list.
        let oldest_needed_log = self.oldest_needed_log();
        let oldest_needed_log = tracked.map_or(oldest_needed_log, |tracked| tracked.min(oldest_needed_log));
        Ok(ManifestToCopy { number, size_bytes, oldest_needed_log, versions })
    }
}
