//! Finding tables.

use crate::Result;
use ferrock::Error;
use ferrock_table::{BlockTable, Table};
use ferrock_vfs::default_file_system;
use std::path::PathBuf;
use std::sync::Arc;

/// What the command line named, and what is there.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<PathBuf>,
    /// The only path named, when it is a directory.
    pub(crate) directory: Option<PathBuf>,
}

/// The files that the paths name: tables, and the tables in directories, sorted by name.
pub(crate) fn find(paths: &[PathBuf]) -> Result<Found> {
    let file_system = default_file_system();
    let mut found = Found::default();
    for path in paths {
        if let Ok(mut children) = file_system.children(path) {
            children.sort();
            found.files.extend(children.iter().filter(|name| name.ends_with(".sst")).map(|name| path.join(name)));
            found.directory = Some(path.clone());
        } else {
            // Says what is wrong when nothing is there.
            file_system.file_size(path)?;
            found.files.push(path.clone());
        }
    }
    if paths.len() > 1 {
        found.directory = None;
    }
    Ok(found)
}

/// The table as one of blocks.
///
/// # Errors
/// `NotSupported` for any other.
pub(crate) fn blocks_of<'a>(table: &'a Table, what: &str) -> std::result::Result<&'a Arc<BlockTable>, Error> {
    let error = || Error::not_supported(format!("{what} of a table without blocks")).in_file(table.file_path());
    table.as_block().ok_or_else(error)
}
