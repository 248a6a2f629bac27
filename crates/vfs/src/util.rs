//! Whole-file helpers over any [`FileSystem`].

use std::io;
use std::path::Path;

use ferrock_base::{Error, ErrorKind, Result, Temperature};

use crate::file::WritableFile;
use crate::file_system::FileSystem;
use crate::options::{SequentialOptions, WritableOptions};

/// An error of a file operation, with a remedy where one is known.
pub(crate) fn io_error(operation: &str, path: &Path, source: io::Error) -> Error {
    let remedy = match source.kind() {
        io::ErrorKind::StorageFull => "the device is full: free space, then resume",
        io::ErrorKind::QuotaExceeded => "the quota is used up: free space or raise it, then resume",
        io::ErrorKind::PermissionDenied => "not permitted: check the owner and mode of the file and its directory",
        io::ErrorKind::ReadOnlyFilesystem => "mounted read-only: open read-only, or remount",
        _ => return Error::io(operation, path, source),
    };
    Error::io(operation, path, source).context(remedy)
}

/// The message has RocksDB's words in RocksDB's order, which bindings and scripts look for: the path, then the error.
pub(crate) fn lock_is_held(path: &Path, what: &str, system: &str) -> Error {
    let message = format!("{what}: {}: {system}; close the other opener, or open read-only", path.display());
    Error::new(ErrorKind::Busy, message)
}

/// The error of a file that this process has locked; posix and memory say the same.
pub(crate) fn held_by_this_process(path: &Path) -> Error {
    lock_is_held(path, &format!("lock hold by current process (pid {})", std::process::id()), "No locks available")
}

const CHUNK_BYTES: usize = 256 << 10;

/// The whole file. Memory follows the bytes that are really there, not the size the file claims.
///
/// # Errors
/// Those of opening and reading the file.
pub fn read_file(file_system: &dyn FileSystem, path: &Path) -> Result<Vec<u8>> {
    let mut file = file_system.open_sequential(path, &SequentialOptions::default())?;
    let mut contents = Vec::new();
    loop {
        let start = contents.len();
        contents.resize(start + CHUNK_BYTES.min(start.max(4096)), 0);
        let read = file.read(&mut contents[start..])?;
        contents.truncate(start + read);
        if read == 0 {
            return Ok(contents);
        }
    }
}

/// Creates (or replaces) the file with `contents` and syncs it. The directory entry is not synced.
///
/// # Errors
/// Those of creating, writing and syncing the file, which may then be there in part.
pub fn write_file_synced(file_system: &dyn FileSystem, path: &Path, contents: &[u8]) -> Result<()> {
    write_synced_as(file_system, path, contents, Temperature::Unknown)
}

fn write_synced_as(file_system: &dyn FileSystem, path: &Path, contents: &[u8], temperature: Temperature) -> Result<()> {
    let mut file = file_system.create_writable(path, &WritableOptions { temperature, ..WritableOptions::default() })?;
    write_and_sync(file.as_mut(), contents)
}

fn write_and_sync(file: &mut dyn WritableFile, contents: &[u8]) -> Result<()> {
    file.append(contents)?;
    file.sync()?;
    file.close()
}

/// Replaces the file durably: after a crash at any moment it holds its old contents or the new ones. Writes
/// `temporary` in the same directory, syncs it, renames it over `path` and syncs the directory.
///
/// # Errors
/// `InvalidArgument` when the two paths are not in one directory; else those of writing `temporary`, of the rename and
/// of syncing the directory. Up to the rename the old contents stay.
pub fn write_file_atomically(
    file_system: &dyn FileSystem,
    path: &Path,
    temporary: &Path,
    contents: &[u8],
) -> Result<()> {
    write_file_atomically_as(file_system, path, temporary, contents, Temperature::Unknown)
}

/// As [`write_file_atomically`]; the file is created with the hint `temperature`.
///
/// # Errors
/// As of [`write_file_atomically`].
pub fn write_file_atomically_as(
    file_system: &dyn FileSystem,
    path: &Path,
    temporary: &Path,
    contents: &[u8],
    temperature: Temperature,
) -> Result<()> {
    let dir = path.parent().filter(|_| path.parent() == temporary.parent()).ok_or_else(|| {
        Error::invalid_argument(format!("{} and {} are not in one directory", path.display(), temporary.display()))
    })?;
    let written = write_synced_as(file_system, temporary, contents, temperature)
        .and_then(|()| file_system.rename(temporary, path));
    if let Err(error) = written {
        // Best effort: the first error is the one to report.
        let _ = file_system.remove_file(temporary);
        return Err(error);
    }
    file_system.sync_dir(dir)
}

/// Copies the first `limit_bytes` of a file (all of it for `None`), to another file system if that is given, syncs the
/// copy and returns its size.
///
/// # Errors
/// Those of reading `from` and of creating, writing and syncing `to`, which may then be there in part.
pub fn copy_file(
    (from_files, from): (&dyn FileSystem, &Path),
    (to_files, to): (&dyn FileSystem, &Path),
    limit_bytes: Option<u64>,
    options: &WritableOptions,
) -> Result<u64> {
    let mut source = from_files.open_sequential(from, &SequentialOptions::default())?;
    let mut target = to_files.create_writable(to, options)?;
    let mut left = limit_bytes.unwrap_or(u64::MAX);
    let mut buffer = vec![0; CHUNK_BYTES];
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let read = source.read(&mut buffer[..wanted])?;
        if read == 0 {
            break;
        }
        target.append(&buffer[..read])?;
        left -= read as u64;
    }
    target.sync()?;
    target.close()?;
    Ok(target.size())
}
