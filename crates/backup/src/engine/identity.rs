//! Which run of a database wrote a table: a property of the table.

use ferrock_base::comparator::InternalComparator;
use ferrock_base::{Comparator, Result};
use ferrock_format::file_name;
use ferrock_table::{Table, TableReaderParams};
use ferrock_vfs::{FileSystem, RandomAccessOptions};
use std::path::Path;
use std::sync::Arc;

/// The id of the run; `None` for tables of releases that did not write it down, and for those that were not written
/// under the number in their names: tables from outside. What wrote those may have written others of this number.
///
/// # Errors
/// `Corruption` for a file that is no table, or whose properties are damaged; `Io` when it cannot be read.
pub(super) fn run_id_of(files: &Arc<dyn FileSystem>, path: &Path) -> Result<Option<String>> {
    let file = files.open_random_access(path, &RandomAccessOptions::default())?;
    // No key is compared.
    let comparator = InternalComparator::new(Comparator::Bytewise);
    let properties = Table::properties_of(&TableReaderParams::new(file, Arc::clone(files), comparator))?;
    let number = path.file_name().and_then(|name| name.to_str()).and_then(file_name::parse).map(|name| name.number);
    let is_own = properties.external_sst_file_version.is_none()
        && number.is_some_and(|number| number.0 == properties.original_file_number);
    let id = properties.db_session_id;
    // It becomes part of a file's name.
    let is_plain = is_own && !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Ok(is_plain.then_some(id))
}
