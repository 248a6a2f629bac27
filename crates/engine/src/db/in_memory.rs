//! Databases whose files are in memory, and the way to a directory and back.
//!
//! ```text
//! directory --load--> files in memory --Opener--> DbCore --writes, jobs--> files in memory
//!                                                    |
//!                                                    +--save: flush; a copy of the files, while no thread writes and
//!                                                       no MANIFEST changes--> a new directory, CURRENT last
//! ```
//!
//! A copy holds what was acknowledged before [`save`] was called, writes without log included, and of the logged writes
//! that come meanwhile a prefix. The bytes of the copy are shared until either side changes them, so writers wait for a
//! moment only.

use super::{ColumnFamilyDescriptor, DbCore, flush, open, write};
use crate::column_family::ColumnFamily;
use crate::options::{DbOptions, load_latest};
use ferrock_base::{Error, Result};
use ferrock_format::file_name::{self, FileKind};
use ferrock_options::FlushReason;
use ferrock_tree::places::is_same;
use ferrock_vfs::{FileSystem, MemoryFileSystem, WritableOptions, copy_file, default_file_system};
use std::path::Path;
use std::sync::Arc;

/// The directory of the database in its file system in memory.
const DIRECTORY: &str = "/ferrock";

/// See [`Db::open_in_memory`](crate::Db::open_in_memory).
pub(crate) fn open(
    mut options: DbOptions,
    families: Vec<ColumnFamilyDescriptor>,
) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
    (options.create_if_missing, options.create_missing_column_families) = (true, true);
    open::open(Path::new(DIRECTORY), placed_in(MemoryFileSystem::without_crashes(), options, &families)?, families)
}

/// See [`Db::load_in_memory`](crate::Db::load_in_memory).
pub(crate) fn load(
    directory: &Path,
    options: DbOptions,
    families: Option<Vec<ColumnFamilyDescriptor>>,
) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
    let source = open::file_system_of(&options)?;
    check_has_own_logs(&*source, directory)?;
    let memory = MemoryFileSystem::without_crashes();
    memory.create_dir_all(Path::new(DIRECTORY))?;
    let lock = source.lock_file(&directory.join(file_name::LOCK))?;
    copy_database(&*source, directory, &memory, Path::new(DIRECTORY))?;
    drop(lock);
    match families {
        Some(families) => open::open(Path::new(DIRECTORY), placed_in(memory, options, &families)?, families),
        None => open::open_with_latest_options(Path::new(DIRECTORY), placed_in(memory, options, &[])?),
    }
}

/// See [`Db::save_to`](crate::Db::save_to).
pub(crate) fn save(core: &Arc<DbCore>, directory: &Path) -> Result<()> {
    core.jobs.check_open()?;
    let target = default_file_system();
    if target.exists(directory)?
        && let Some(name) = target.children(directory)?.first()
    {
        let message = format!("save_to: the directory is not empty: it has {name}");
        return Err(Error::invalid_argument(message).in_file(directory));
    }
    flush::flush_all(core, FlushReason::GetLiveFiles)?;
    let copy = write::exclusively(core, || {
        // No job changes the MANIFEST meanwhile. What runs may add files that it does not name; opening removes them.
        let _installs = core.installs.lock();
        core.writes.logs().flush()?;
        Ok(core.env.file_system.copy_of_now())
    })??;
    let Some(copy) = copy else {
        let message = "save_to: the files of the database are not in memory: copy its directory while it is closed";
        return Err(Error::not_supported(message));
    };
    target.create_dir_all(directory)?;
    copy_database(&*copy, core.files.database(), &*target, directory)?;
    match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => target.sync_dir(parent),
        _ => Ok(()),
    }
}

/// Options of a database whose files are all in one directory of `memory`.
fn placed_in(
    memory: MemoryFileSystem,
    mut options: DbOptions,
    families: &[ColumnFamilyDescriptor],
) -> Result<DbOptions> {
    let has_places = !options.wal_dir.is_empty()
        || !options.db_paths.is_empty()
        || families.iter().any(|(_, family)| !family.cf_paths.is_empty());
    if has_places {
        let message = "wal_dir, db_paths and cf_paths have no meaning for a database in memory: leave them out";
        return Err(Error::invalid_argument(message));
    }
    options.components.file_system = Some(Arc::new(memory));
    Ok(options)
}

/// Refuses a database whose logs its OPTIONS file has in another directory.
fn check_has_own_logs(files: &dyn FileSystem, directory: &Path) -> Result<()> {
    let loaded = load_latest(files, directory).ok().flatten().unwrap_or_default();
    let logs = Path::new(&loaded.db.wal_dir);
    if loaded.db.wal_dir.is_empty() || is_same(logs, directory) {
        return Ok(());
    }
    let message = format!("its logs are in {}: open it there, flush all families and close it first", logs.display());
    Err(Error::not_supported(message).in_file(directory))
}

/// Copies what belongs to a database, CURRENT last: a copy that was interrupted is none.
fn copy_database(from: &dyn FileSystem, source: &Path, to: &dyn FileSystem, target: &Path) -> Result<()> {
    let kept = |name: &str| {
        file_name::parse(name).is_some_and(|name| {
            use FileKind::{Blob, Current, Identity, Log, Manifest, Options, Table};
            matches!(name.kind, Log | Table | Blob | Manifest | Current | Identity | Options)
        })
    };
    let mut names = from.children(source)?;
    names.retain(|name| kept(name));
    names.sort_by_key(|name| name == file_name::CURRENT);
    if names.last().is_none_or(|name| name != file_name::CURRENT) {
        return Err(Error::invalid_argument("no database: CURRENT is missing").in_file(source));
    }
    for name in &names {
        if name == file_name::CURRENT {
            to.sync_dir(target)?;
        }
        copy_file((from, &source.join(name)), (to, &target.join(name)), None, &WritableOptions::default())?;
    }
    to.sync_dir(target)
}
