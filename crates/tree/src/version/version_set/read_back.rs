//! Reads the MANIFEST back before the database is closed: damage is found while all that it should say is in memory.
//!
//! ```text
//! MANIFEST   |record|record| ... |record|        every record is whole and an edit, every group complete,
//!                                       ^        and the last one ends where the last write ended
//! ```
//!
//! A MANIFEST that is not so is replaced by a new one, as after a write that failed. What is read may come from the
//! memory of the system and not from the disk: found is what went wrong on the way there, and what another program did
//! to the file.

use super::{ManifestReader, VersionSet};
use ferrock_base::{Error, Result};
use ferrock_format::file_name;
use ferrock_format::version_edit::VersionEdit;
use ferrock_vfs::FileSystem;
use std::path::Path;

/// What reading the MANIFEST back found.
#[derive(Debug)]
pub enum ReadBack {
    /// Nothing was written since the database was opened, or the last write failed: the next open finds out.
    NotOpen,
    /// It holds what was written.
    Good,
    /// It was damaged, as this says, and a new one is in its place.
    Replaced(Error),
}

impl VersionSet {
    /// Reads the MANIFEST back, and begins a new one where it is damaged. No change of the tree comes meanwhile.
    ///
    /// # Errors
    /// `NotSupported` where the database is open for reading only; those of writing the new MANIFEST.
    pub fn read_manifest_back(&self) -> Result<ReadBack> {
        if self.is_read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        let mut manifest = self.manifest.lock();
        let Some(size_bytes) = manifest.writer.as_ref().map(super::ManifestWriter::size_bytes) else {
            return Ok(ReadBack::NotOpen);
        };
        let number = self.state.lock().manifest_number;
        let path = self.db_path.join(file_name::manifest(number));
        let Err(damage) = check(&*self.file_system, &path, size_bytes) else { return Ok(ReadBack::Good) };
        let mut edits = vec![VersionEdit::for_column_family(0)];
        self.complete_edits(&mut edits);
        if let Err(error) = self.write_new_manifest(&mut manifest, &mut edits) {
            manifest.writer = None;
            self.state.lock().is_uncertain = true;
            return Err(error.context("the MANIFEST is damaged, and a new one could not be written"));
        }
        Ok(ReadBack::Replaced(damage))
    }
}

/// Reads all records of a MANIFEST of so many bytes.
fn check(file_system: &dyn FileSystem, path: &Path, size_bytes: u64) -> Result<()> {
    let mut reader = ManifestReader::open(file_system, path)?;
    let mut end = 0;
    while reader.next_edits()?.is_some() {
        end = reader.last_record_end();
    }
    if end == size_bytes {
        return Ok(());
    }
    let what = format!("the last whole change ends at {end}, and {size_bytes} bytes were written");
    Err(Error::corruption(what).at_offset(end).in_file(path))
}
