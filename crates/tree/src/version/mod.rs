//! Versions: the set of tables that makes up a column family, and its record in the MANIFEST.
//!
//! ```text
//! FileMetadata     one table: what the MANIFEST says about it, and whether it is being compacted
//! Version          all tables of a family at one moment, by level; immutable
//! VersionBuilder   Version + VersionEdits -> Version, checking the rules of the tree
//! VersionSet       the current Version of every family, and the MANIFEST that makes changes durable
//! obsolete         which files of the directory are no longer needed
//! ```
//!
//! Level 0 holds flushed files, newest first, with overlapping key ranges; every deeper level is one sorted run. A
//! reader that looks through the levels in order finds newer versions of a key before older ones.

pub mod blob_file;
pub mod boundary;
mod builder;
mod consistency;
mod covers;
mod estimates;
mod file_index;
mod file_metadata;
mod level_targets;
pub(crate) mod lookup;
pub mod measuring;
pub mod obsolete;
pub(crate) mod overlap;
#[allow(clippy::module_inception, reason = "the type Version gives both the folder and the file their name")]
mod version;
pub mod version_set;

pub use blob_file::BlobFileMetadata;
pub use builder::VersionBuilder;
pub use covers::Covers;
pub use file_metadata::{FileMetadata, FileStatistics};
pub(crate) use level_targets::multiply;
pub use lookup::{Candidates, UnaskedCandidates};
pub use overlap::KeyNotBeyondLevel;
pub(crate) use version::total_size_bytes;
pub use version::{LevelFiles, ReleaseObserver, Version};
pub use version_set::{FamilyToOpen, LogRelease, ReadBack, VersionSet};
