//! Destroying a database: its files, and nothing else that lies in the directory.
//!
//! CURRENT goes last but for the lock: a destruction that is interrupted leaves a database that names what it misses,
//! never one that opens as if it had always held less.

use super::ColumnFamilyDescriptor;
use super::open::file_system_of;
use crate::options::{DbOptions, DbPath};
use ferrock_base::{Error, Result};
use ferrock_format::file_name::{self, FileKind};
use ferrock_tree::places::is_same;
use ferrock_vfs::FileSystem;
use std::path::Path;

/// Where RocksDB keeps logs that are no longer needed for a while.
const ARCHIVE: &str = "archive";

/// See [`Db::destroy_cf`].
pub(crate) fn destroy(path: &Path, options: &DbOptions, families: &[ColumnFamilyDescriptor]) -> Result<()> {
    let (path, file_system) = (path, file_system_of(options)?);
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
            note(&mut first_error, file_system.remove_file(&path.join(name)));
        }
    }
    note(&mut first_error, destroy_files_in(&*file_system, &path.join(ARCHIVE), &[FileKind::Log]));
    for paths in families.iter().map(|(_, family)| &family.cf_paths).chain([&options.db_paths]) {
        for DbPath { path: directory, .. } in paths.iter().filter(|paths| !is_same(&paths.path, path)) {
            note(&mut first_error, destroy_files_in(&*file_system, directory, &[FileKind::Table, FileKind::Blob]));
        }
    }
    let logs = Path::new(&options.wal_dir);
    if !options.wal_dir.is_empty() && !is_same(logs, path) {
        for directory in [&logs.join(ARCHIVE), logs] {
            note(&mut first_error, destroy_files_in(&*file_system, directory, &[FileKind::Log]));
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
fn destroy_files_in(file_system: &dyn FileSystem, directory: &Path, kinds: &[FileKind]) -> Result<()> {
    for name in file_system.children(directory)? {
        if file_name::parse(&name).is_some_and(|name| kinds.contains(&name.kind)) {
            file_system.remove_file(&directory.join(name))?;
        }
    }
    if file_system.children(directory)?.is_empty() { file_system.remove_dir(directory) } else { Ok(()) }
}

fn note(first_error: &mut Option<Error>, result: Result<()>) {
    if let Err(error) = result
        && !error.is_not_found()
    {
        first_error.get_or_insert(error);
    }
}
