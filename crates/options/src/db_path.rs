//! Directories of tables.

use ferrock_base::{Error, Result};
use std::path::PathBuf;

/// Most directories of a database or a family; RocksDB's bound.
const MAX_PATHS: usize = 4;

/// A directory of tables, and how much of them it should hold.
///
/// A table of a leveled family goes to the first directory that has room for its level: the target sizes of the levels
/// are filled into the directories from the top, and the last takes what is left. What a flush writes goes to the
/// first. The sizes steer; they bound nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbPath {
    /// The directory. It is created when it is missing.
    pub path: PathBuf,
    /// Bytes that it should hold.
    pub target_size_bytes: u64,
}

impl DbPath {
    /// A directory that should hold so many bytes.
    pub fn new(path: impl Into<PathBuf>, target_size_bytes: u64) -> Self {
        Self { path: path.into(), target_size_bytes }
    }
}

/// # Errors
/// `Not implemented` for more directories than RocksDB allows, `Invalid argument` for one without a name.
pub fn check(option: &str, paths: &[DbPath]) -> Result<()> {
    if paths.len() > MAX_PATHS {
        return Err(Error::not_supported(format!("{option} = {} directories: more than {MAX_PATHS}", paths.len())));
    }
    if paths.iter().any(|path| path.path.as_os_str().is_empty()) {
        return Err(Error::invalid_argument(format!("{option} has a directory with an empty name")));
    }
    Ok(())
}
