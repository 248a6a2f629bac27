//! Destroying a database: its files, and nothing else that lies in the directory.
//!
//! CURRENT goes last but for the lock: a destruction that is interrupted leaves a database that names what it misses,
//! never one that opens as if it had always held less.

use super::ColumnFamilyDescriptor;
use super::open::file_system_of;
use crate::options::{DbOptions, DbPath};
use ferrock_base::{Error, Result};
use ferrock_format::file_name::{self, ARCHIVE_DIRECTORY, FileKind};
use ferrock_options::SstFileManager;
use ferrock_tree::places::is_same;
use ferrock_vfs::FileSystem;
use std::path::Path;

/// See [`Db::destroy_cf`].
pub(crate) fn destroy(path: &Path, options: &DbOptions, families: &[ColumnFamilyDescriptor]) -> Result<()> {
    let (path, file_system) = (path, file_system_of(options)?);
    let counted = options.components.sst_file_manager.as_deref();
    if !file_system.exists(path)? {
        return Ok(());
    }
    let lock_path = path.join(file_name::LOCK);
    let lock = file_system.lock_file(&lock_path)?;
    let mut first_error = None;
    let mut names = file_system.children(path)?;
    // Stable, so the rest keeps the order of the directory.
    names.sort_by_key(|name| name == file_name::CURRENT);
    for name in &names {
        if file_name::parse(name).is_some_and(|name| name.kind != FileKind::Lock) {
            note(&mut first_error, remove(&*file_system, counted, &path.join(name)));
        }
    }
    note(&mut first_error, destroy_files_in(&*file_system, counted, &path.join(ARCHIVE_DIRECTORY), &[FileKind::Log]));
    for paths in families.iter().map(|(_, family)| &family.cf_paths).chain([&options.db_paths]) {
        for DbPath { path: directory, .. } in paths.iter().filter(|paths| !is_same(&paths.path, path)) {
            let kinds = [FileKind::Table, FileKind::Blob, FileKind::Trash];
            note(&mut first_error, destroy_files_in(&*file_system, counted, directory, &kinds));
        }
    }
    let logs = Path::new(&options.wal_dir);
    if !options.wal_dir.is_empty() && !is_same(logs, path) {
        for directory in [&logs.join(ARCHIVE_DIRECTORY), logs] {
            note(&mut first_error, destroy_files_in(&*file_system, counted, directory, &[FileKind::Log]));
        }
    }
    drop(lock);
    note(&mut first_error, file_system.remove_file(&lock_path));
    if let Some(error) = first_error {
        return Err(error);
    }
    // A directory with something else in it stays.
    if file_system.children(path)?.is_empty() {
        let _ = file_system.remove_dir(path);
    }
    Ok(())
}

/// Removes the files of some kinds from a directory, and the directory when it is empty then.
fn destroy_files_in(
    file_system: &dyn FileSystem,
    counted: Option<&SstFileManager>,
    directory: &Path,
    kinds: &[FileKind],
) -> Result<()> {
    for name in file_system.children(directory)? {
        if file_name::parse(&name).is_some_and(|name| kinds.contains(&name.kind)) {
            remove(file_system, counted, &directory.join(name))?;
        }
    }
    if file_system.children(directory)?.is_empty() { file_system.remove_dir(directory) } else { Ok(()) }
}

/// Removes a file at once, whatever the rate: nothing of the database is left that it could be in the way of.
fn remove(file_system: &dyn FileSystem, counted: Option<&SstFileManager>, path: &Path) -> Result<()> {
    file_system.remove_file(path)?;
    if let Some(manager) = counted {
        manager.on_delete_file(path);
    }
    Ok(())
}

fn note(first_error: &mut Option<Error>, result: Result<()>) {
    if let Err(error) = result
        && !error.is_not_found()
    {
        first_error.get_or_insert(error);
    }
}
