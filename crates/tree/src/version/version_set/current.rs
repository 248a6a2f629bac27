//! CURRENT: the file that names the MANIFEST in use.

use super::remains::check_holds_no_database;
use ferrock_base::{FileNumber, Result, Temperature};
use ferrock_format::{current_file, file_name};
use ferrock_vfs::{FileSystem, SequentialOptions, write_file_atomically_as};
use std::path::Path;

/// True when the directory holds a database.
///
/// # Errors
/// `Io` when the directory cannot be looked at; a directory that does not exist holds no database, and is no error.
pub fn exists(file_system: &dyn FileSystem, db_path: &Path) -> Result<bool> {
    file_system.exists(&db_path.join(file_name::CURRENT))
}

/// The MANIFEST that CURRENT names.
///
/// # Errors
/// `Corruption` when CURRENT does not name a MANIFEST, and when it is missing beside files of a database; `Io` when it
/// cannot be read or there is no database.
pub fn read_current(file_system: &dyn FileSystem, db_path: &Path) -> Result<FileNumber> {
    let path = db_path.join(file_name::CURRENT);
    let mut file = match file_system.open_sequential(&path, &SequentialOptions::default()) {
        Err(error) if error.is_not_found() => {
            // Without a database, the error names CURRENT.
            check_holds_no_database(file_system, db_path)?;
            return Err(error);
        }
        file => file?,
    };
    // One byte more than is allowed, so that a longer file is refused and not cut.
    let mut content = vec![0; current_file::MAX_SIZE_BYTES + 1];
    let mut length = 0;
    while length < content.len() {
        let read = file.read(&mut content[length..])?;
        if read == 0 {
            break;
        }
        length += read;
    }
    current_file::decode_current(&content[..length]).map_err(|error| error.in_file(&path))
}

/// Makes CURRENT name MANIFEST `number`: after a crash it names the old or the new one.
pub(super) fn write_current(
    file_system: &dyn FileSystem,
    db_path: &Path,
    number: FileNumber,
    temperature: Temperature,
) -> Result<()> {
    // A disk may keep the rename and lose the entry of the file that CURRENT then names.
    file_system.sync_dir(db_path)?;
    write_file_atomically_as(
        file_system,
        &db_path.join(file_name::CURRENT),
        &db_path.join(file_name::temp(number)),
        &current_file::encode_current(number),
        temperature,
    )
}
