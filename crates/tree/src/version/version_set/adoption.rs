//! Taking over what another process wrote to the MANIFEST.
//!
//! ```text
//! versions that readers have     tables 5 7 9        9 is open: its reader goes over
//!                                         |
//! a MANIFEST that was read anew  tables   7 9 12     only 12 is opened
//! ```

use super::VersionSet;
use crate::version::Version;
use ferrock_base::{FileNumber, SequenceNumber};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl VersionSet {
    /// Gives the files of this set the readers of those of `older` that are the same: nothing is opened twice, and what
    /// was removed meanwhile stays readable.
    pub fn take_open_tables(&self, older: &Self) {
        let mut open = HashMap::new();
        for family in older.families() {
            for (_, file) in family.current.files() {
                if let Some(kept) = file.open_table().get() {
                    open.insert((family.id, file.number, file.size_bytes, file.unique_id), kept.clone());
                }
            }
        }
        for family in self.families() {
            for (_, file) in family.current.files() {
                if let Some(kept) = open.remove(&(family.id, file.number, file.size_bytes, file.unique_id)) {
                    // A file that was just read from the MANIFEST is not open.
                    let _ = file.open_table().set(kept);
                }
            }
        }
    }

    /// The MANIFEST that was read, and where the last record that was read of it ends.
    #[must_use]
    pub fn manifest_read_to(&self) -> (FileNumber, u64) {
        let state = self.state.lock();
        (state.manifest_number, state.manifest_read_to)
    }

    /// The largest sequence number that a table has.
    #[must_use]
    pub fn largest_in_tables(&self) -> SequenceNumber {
        let families = self.families();
        let files = families.iter().flat_map(|family| family.current.files());
        files.map(|(_, file)| file.largest_seqno).max().unwrap_or_default()
    }

    /// Becomes `newer`, which was read from the same directory. Versions that readers hold stay as they are.
    pub fn adopt(&self, newer: Self) {
        self.next_file_number.fetch_max(newer.next_file_number.load(Ordering::Relaxed), Ordering::Relaxed);
        self.last_sequence.fetch_max(newer.last_sequence.load(Ordering::Acquire), Ordering::AcqRel);
        let mut taken = newer.state.into_inner();
        let mut state = self.state.lock();
        let held: Vec<(u32, Arc<Version>)> =
            state.versions.iter().filter_map(|(id, version)| Some((*id, version.upgrade()?))).collect();
        std::mem::swap(&mut *state, &mut taken);
        held.iter().for_each(|(id, version)| state.track(*id, version));
        drop(state);
    }

    /// Blob files that a family's current version has.
    pub fn blob_files_now(&self) -> Vec<(u32, FileNumber)> {
        let families = self.families();
        let own = |family: &super::FamilyView| {
            let id = family.id;
            family.current.blob_files().keys().map(move |number| (id, *number)).collect::<Vec<_>>()
        };
        families.iter().flat_map(own).collect()
    }
}
