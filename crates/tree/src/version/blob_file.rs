//! The state of blob files in a version, as the MANIFEST records it.
//!
//! Blob files are kept in the version so that no edit loses them: additions and garbage are recorded by databases that
//! separate large values. A blob file leaves the version (there is no record for it) when all of it is garbage and no
//! table names it as its oldest.

use ferrock_base::{Error, Result};
use ferrock_format::blob_file::{BLOB_FILE_FOOTER_SIZE, BLOB_FILE_HEADER_SIZE};
use ferrock_format::version_edit::{BlobFileAddition, BlobFileGarbage};

/// One blob file of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobFileMetadata {
    /// As it was added.
    pub addition: BlobFileAddition,
    /// Blobs that became garbage since.
    pub garbage_blob_count: u64,
    /// Their bytes.
    pub garbage_blob_bytes: u64,
}

impl BlobFileMetadata {
    /// A file without garbage.
    #[must_use]
    pub fn new(addition: BlobFileAddition) -> Self {
        Self { addition, garbage_blob_count: 0, garbage_blob_bytes: 0 }
    }

    /// Bytes of the whole file.
    #[must_use]
    pub fn file_size_bytes(&self) -> u64 {
        self.addition.total_blob_bytes.saturating_add((BLOB_FILE_HEADER_SIZE + BLOB_FILE_FOOTER_SIZE) as u64)
    }

    /// Counts more garbage. More than there is in the file is corruption.
    ///
    /// # Errors
    /// `Corruption` when the file would have more garbage than contents; the counts stay as they were.
    pub fn add_garbage(&mut self, garbage: &BlobFileGarbage) -> Result<()> {
        let sum = |a: u64, b: u64, limit: u64| a.checked_add(b).filter(|&sum| sum <= limit);
        let addition = &self.addition;
        let count = sum(self.garbage_blob_count, garbage.garbage_blob_count, addition.total_blob_count);
        let bytes = sum(self.garbage_blob_bytes, garbage.garbage_blob_bytes, addition.total_blob_bytes);
        let (Some(count), Some(bytes)) = (count, bytes) else {
            return Err(Error::corruption(format!("garbage exceeds the contents of blob file #{}", garbage.number)));
        };
        (self.garbage_blob_count, self.garbage_blob_bytes) = (count, bytes);
        Ok(())
    }

    /// True when nothing in the file is alive.
    #[must_use]
    pub fn is_all_garbage(&self) -> bool {
        self.garbage_blob_count >= self.addition.total_blob_count
    }

    /// The garbage so far, as one record; `None` without any.
    #[must_use]
    pub fn garbage(&self) -> Option<BlobFileGarbage> {
        (self.garbage_blob_count > 0).then_some(BlobFileGarbage {
            number: self.addition.number,
            garbage_blob_count: self.garbage_blob_count,
            garbage_blob_bytes: self.garbage_blob_bytes,
        })
    }
}
