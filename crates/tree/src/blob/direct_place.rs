//! Where blob files of direct writes are, and what keeps them there until their memtable is gone.

use ferrock_base::FileNumber;
use ferrock_base::file_checksum::FileChecksumGenFactory;
use ferrock_vfs::FileSystem;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Keeps files from being removed, from before they exist until their memtable is gone.
pub trait KeepFiles: Debug + Send + Sync {
    /// No memtable needs these files any more. Abandoned ones are in no version, and never will be.
    fn let_go(&self, directory: &Path, numbers: &[FileNumber], are_abandoned: bool);
}

/// Where the files of a family are.
#[derive(Clone, Debug)]
pub struct DirectPlace {
    /// Makes the files.
    pub file_system: Arc<dyn FileSystem>,
    /// Their directory.
    pub directory: PathBuf,
    /// The number of the family.
    pub column_family_id: u32,
    /// Keeps them.
    pub keeper: Arc<dyn KeepFiles>,
    /// Makes the checksums of whole files.
    pub checksums: Option<Arc<dyn FileChecksumGenFactory>>,
}
