//! Finding and opening tables.

use crate::Result;
use ferrock::{Error, ErrorKind};
use ferrock_base::{Comparator, InternalComparator};
use ferrock_table::{BlockTable, Table, TableReaderParams};
use ferrock_vfs::{FileSystem, RandomAccessOptions, default_file_system};
use std::path::{Path, PathBuf};
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

/// Opens a table by what it says about itself.
pub(crate) fn open(path: &Path) -> std::result::Result<Table, Error> {
    let file_system: Arc<dyn FileSystem> = default_file_system();
    let file = file_system.open_random_access(path, &RandomAccessOptions::default())?;
    let mut params = TableReaderParams::new(file, file_system, InternalComparator::default());
    // Plain tables do not name their order.
    let name = match BlockTable::properties_of(&params) {
        Ok(properties) => properties.comparator_name,
        Err(error) if error.kind() == ErrorKind::NotSupported => String::new(),
        Err(error) => return Err(error),
    };
    if !name.is_empty() {
        let comparator = Comparator::built_in(&name).map_err(|error| error.in_file(path))?;
        params.comparator = InternalComparator::new(comparator);
    }
    Table::open(params)
}

/// The table as one of blocks.
///
/// # Errors
/// `NotSupported` for any other.
pub(crate) fn blocks_of<'a>(table: &'a Table, what: &str) -> std::result::Result<&'a Arc<BlockTable>, Error> {
    let error = || Error::not_supported(format!("{what} of a table without blocks")).in_file(table.file_path());
    table.as_block().ok_or_else(error)
}
