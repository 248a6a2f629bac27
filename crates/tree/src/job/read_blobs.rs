//! What a job reads of blob files, in bytes of their records.

use crate::blob::{BlobValue, FetchBlob};
use ferrock_base::Result;
use ferrock_format::blob_file::BLOB_RECORD_HEADER_SIZE;
use ferrock_format::blob_index::BlobIndex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the record behind a reference; 0 of a value that lies in the reference itself.
///
/// # Errors
/// `Corruption` when the reference is damaged.
pub(super) fn record_bytes(user_key: &[u8], index: &[u8]) -> Result<u64> {
    Ok(match BlobIndex::decode(index)? {
        BlobIndex::Reference { reference, .. } => {
            ((BLOB_RECORD_HEADER_SIZE + user_key.len()) as u64).saturating_add(reference.size_bytes)
        }
        BlobIndex::Inlined { .. } => 0,
    })
}

/// Values of blob files for filters and merges of one part of a job, counted.
#[derive(Debug)]
pub(super) struct CountedBlobs {
    pub(super) blobs: Arc<dyn FetchBlob>,
    /// Bytes of the records that were read.
    pub(super) read_bytes: Arc<AtomicU64>,
}

impl FetchBlob for CountedBlobs {
    fn fetch(&self, user_key: &[u8], index: &[u8]) -> Result<BlobValue> {
        let value = self.blobs.fetch(user_key, index)?;
        self.read_bytes.fetch_add(record_bytes(user_key, index)?, Ordering::Relaxed);
        Ok(value)
    }

    fn fetch_in_memory(&self, user_key: &[u8], index: &[u8]) -> Result<Option<BlobValue>> {
        self.blobs.fetch_in_memory(user_key, index)
    }
}
