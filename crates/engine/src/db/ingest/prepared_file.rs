//! A file from outside on its way into the tree.

use ferrock_base::file_checksum::FileChecksum;
use ferrock_base::{FileNumber, SequenceNumber, Temperature};
use ferrock_format::properties::TableProperties;
use ferrock_tree::ingestion::Incoming;
use std::path::PathBuf;
use std::sync::Arc;
/// A file that is in the directory of the database, and not in the tree.
pub(super) struct PreparedFile {
    /// As the caller named it.
    pub(super) external_path: PathBuf,
    pub(super) number: FileNumber,
    pub(super) size_bytes: u64,
    pub(super) incoming: Incoming,
    pub(super) properties: Arc<TableProperties>,
    /// Where the file has the eight bytes for its number, where they are to be written.
    pub(super) number_offset: Option<u64>,
    /// Of a file that keeps its sequence numbers, the smallest and the largest.
    pub(super) kept: Option<(SequenceNumber, SequenceNumber)>,
    /// It is no second name of the file from outside.
    pub(super) is_copy: bool,
    pub(super) temperature: Temperature,
    /// Of the whole file: what was said of it, and once it is brought, what the MANIFEST is to have.
    pub(super) checksum: Option<FileChecksum>,
}
