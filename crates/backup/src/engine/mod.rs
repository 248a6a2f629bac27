//! Backups: many states of a database in one directory, which share what they have in common.
//!
//! ```text
//! create   hold files --> list --> what is not there yet --> private/N/.., shared_checksum/.*.tmp
//!                 threads copy, with checksums --> renamed to their final names --> directories synced
//!                 meta/.N.tmp --> meta/N, synced: the backup is there
//! restore  CURRENT removed --> MANIFEST --> the other files --> directories synced --> CURRENT: the database is there
//! delete   meta/N removed, synced --> files that nothing names
//! ```
//!
//! | file | is |
//! |---|---|
//! | `options.rs`, `info.rs` | what an engine is told, and what it tells |
//! | `catalog.rs` | what the directory holds, as it was read |
//! | `transfer.rs` | files that threads copy or read |
//! | `sizes.rs` | how large files are, in few requests |
//! | `identity.rs` | which run of a database wrote a table |
//! | `create.rs`, `verify.rs`, `remove.rs`, `restore.rs` | what is done |
//! | `restore_plan.rs` | which files a restored database gets, and which it has |
//!
//! Invariants:
//! - A backup is there when its description is (`meta/N`), which is renamed into place when everything that it names
//!   is durable. So a crash leaves it whole, or leaves files that nothing names, which the next write removes.
//! - A shared file is never changed: it gets its name by a rename, when it is whole. Where files appear whole by
//!   themselves, as objects of a store do ([`FileSystem::creates_whole_files`]), nothing is renamed.
//! - Reads of one engine run beside each other, and wait for its writes. Writes of several engines, also of other
//!   processes, exclude each other by the file BACKUP_LOCK; each looks first whether another one has changed the
//!   directory.
//!
//! RocksDB reads and writes the same directory. It does not know BACKUP_LOCK: it and Ferrock must not write at the same
//! time.

mod catalog;
mod create;
mod identity;
mod info;
mod options;
mod remove;
mod restore;
mod restore_plan;
mod sizes;
mod transfer;
mod verify;

pub use info::{BackupFileInfo, BackupInfo, RemovalReport};
pub use options::{
    BackupEngineOptions, CreateBackupOptions, ExcludeFilesCallback, ProgressCallback, RestoreMode, ShareFilesNaming,
};
pub use restore::RestoreOptions;

use crate::copying::Copier;
use catalog::Catalog;
use ferrock_base::{Error, Result};
use ferrock_format::backup::{META_DIRECTORY, PRIVATE_DIRECTORY, SHARED_CHECKSUM_DIRECTORY, SHARED_DIRECTORY};
use ferrock_vfs::{FileLock, FileSystem, RateLimiter};
use parking_lot::{RwLock, RwLockWriteGuard};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use transfer::{Meter, Transfers};

/// Held while an engine writes. Not the name of a database's: both may be in one directory.
const LOCK_FILE: &str = "BACKUP_LOCK";

/// Makes, lists, verifies, restores and removes backups in a directory.
///
/// ```
/// use ferrock::backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreOptions};
///
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let (path, backups) = (directory.path().join("db"), directory.path().join("backups"));
/// # let restored = directory.path().join("restored");
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # let db = ferrock::Db::open(&path, options)?;
/// db.put(b"key", b"value")?;
/// let engine = BackupEngine::open(BackupEngineOptions::new(&backups))?;
/// let id = engine.create_backup(&db, &CreateBackupOptions::default())?;
/// engine.verify_backup(id, true)?;
/// engine.restore_db_from_backup(id, &restored, &restored, &RestoreOptions::default())?;
/// let db = ferrock::Db::open(&restored, ferrock::DbOptions::default())?;
/// assert_eq!(db.get(b"key")?.as_deref(), Some(&b"value"[..]));
/// # Ok(())
/// # }
/// ```
pub struct BackupEngine {
    options: BackupEngineOptions,
    is_read_only: bool,
    backup_limiter: Option<Arc<dyn RateLimiter>>,
    restore_limiter: Option<Arc<dyn RateLimiter>>,
    /// Set for good by [`stop_backup`](Self::stop_backup).
    stop: Arc<AtomicBool>,
    state: RwLock<State>,
}

struct State {
    catalog: Catalog,
    /// There may be files that no backup needs.
    needs_clean_up: bool,
}

/// A write of the directory, which excludes others.
struct Writing<'a> {
    state: RwLockWriteGuard<'a, State>,
    _lock: Box<dyn FileLock>,
}

impl fmt::Debug for BackupEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackupEngine")
            .field("options", &self.options)
            .field("is_read_only", &self.is_read_only)
            .finish_non_exhaustive()
    }
}

impl BackupEngine {
    /// Opens a directory of backups for reading and writing; makes it when it does not exist. Nothing that is there is
    /// changed, unless `destroy_old_data` asks for it.
    ///
    /// # Errors
    /// Those of [`BackupEngineOptions::validate`]; those of the file system. Damaged backups are no error: see
    /// [`corrupted_backups`](Self::corrupted_backups).
    pub fn open(options: BackupEngineOptions) -> Result<Self> {
        options.validate()?;
        let files = &*options.backup_file_system;
        make_directories(files, &options)?;
        let destroys = options.destroy_old_data;
        let engine = Self::with_catalog(options, false, u32::MAX)?;
        if destroys {
            let mut writing = engine.begin_write()?;
            let ids: Vec<u32> = writing.state.catalog.ids().into_iter().collect();
            engine.remove_backups(&mut writing, &ids)?;
            writing.state.catalog.newest_id = 0;
        }
        Ok(engine)
    }

    /// Opens a directory of backups for reading: nothing in it is written. Of the good backups the newest
    /// `max_valid_backups_to_open` are there.
    ///
    /// # Errors
    /// `NotFound` when there is no such directory; `InvalidArgument` with `destroy_old_data`; as of
    /// [`open`](Self::open).
    pub fn open_read_only(options: BackupEngineOptions) -> Result<Self> {
        options.validate()?;
        if options.destroy_old_data {
            return Err(Error::invalid_argument("destroy_old_data: an engine that only reads removes nothing"));
        }
        let limit = options.max_valid_backups_to_open;
        Self::with_catalog(options, true, limit)
    }

    fn with_catalog(options: BackupEngineOptions, is_read_only: bool, limit: u32) -> Result<Self> {
        let catalog = Catalog::load(&*options.backup_file_system, &options.backup_dir, limit)?;
        let [backup_limiter, restore_limiter] = options.limiters();
        Ok(Self {
            options,
            is_read_only,
            backup_limiter,
            restore_limiter,
            stop: Arc::default(),
            state: RwLock::new(State { catalog, needs_clean_up: true }),
        })
    }

    /// What the engine was told.
    #[must_use]
    pub fn options(&self) -> &BackupEngineOptions {
        &self.options
    }

    /// The good backups, oldest first.
    #[must_use]
    pub fn backup_infos(&self) -> Vec<BackupInfo> {
        let state = self.state.read();
        state.catalog.backups.iter().map(|(id, backup)| BackupInfo::of(*id, backup)).collect()
    }

    /// One backup.
    ///
    /// # Errors
    /// `NotFound`; for a damaged backup what is wrong with it.
    pub fn backup_info(&self, id: u32) -> Result<BackupInfo> {
        self.state.read().catalog.backup(id).map(|backup| BackupInfo::of(id, backup))
    }

    /// The newest good backup.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn latest_backup_info(&self) -> Result<BackupInfo> {
        let state = self.state.read();
        let id = state.catalog.latest_id()?;
        state.catalog.backup(id).map(|backup| BackupInfo::of(id, backup))
    }

    /// The files of a backup.
    ///
    /// # Errors
    /// As of [`backup_info`](Self::backup_info).
    pub fn backup_files(&self, id: u32) -> Result<Vec<BackupFileInfo>> {
        let state = self.state.read();
        let files = &state.catalog.backup(id)?.meta.files;
        let info = files.iter().map(|file| BackupFileInfo {
            relative_filename: file.name.clone(),
            size: file.size_bytes.unwrap_or(0),
            crc32c: file.crc32c,
            temperature: file.temperature,
        });
        Ok(info.collect())
    }

    /// The numbers of damaged backups, and what is wrong with each. They may be deleted; until then what they need
    /// stays.
    #[must_use]
    pub fn corrupted_backups(&self) -> Vec<(u32, String)> {
        let state = self.state.read();
        state.catalog.broken.iter().map(|(id, broken)| (*id, broken.error.to_string())).collect()
    }

    /// Ends the backup that another thread is making, with `Incomplete`, and every later one of this engine. Does not
    /// wait.
    pub fn stop_backup(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// A path below the directory.
    fn path(&self, relative: &str) -> PathBuf {
        self.options.backup_dir.join(relative)
    }

    /// Excludes other writes, and looks whether another engine has written.
    fn begin_write(&self) -> Result<Writing<'_>> {
        if self.is_read_only {
            let what = "the backup engine is open for reading only: open it for writing";
            return Err(Error::not_supported(what).in_file(&self.options.backup_dir));
        }
        let mut state = self.state.write();
        let files = &*self.options.backup_file_system;
        let lock = files.lock_file(&self.path(LOCK_FILE))?;
        state.catalog.refresh(files, &self.options.backup_dir)?;
        Ok(Writing { state, _lock: lock })
    }

    fn copier(&self, limiter: &Option<Arc<dyn RateLimiter>>, stop: Option<Arc<AtomicBool>>) -> Copier {
        Copier {
            rate_limiter: limiter.clone(),
            stop,
            leaves_unsynced: !self.options.sync,
            chunk_bytes: self.options.io_buffer_size,
            counts: None,
        }
    }

    fn transfers(
        &self,
        (from, to): (&Arc<dyn FileSystem>, &Arc<dyn FileSystem>),
        copier: Copier,
        meter: Option<Arc<Meter>>,
    ) -> Transfers {
        Transfers {
            from: Arc::clone(from),
            to: Arc::clone(to),
            copier,
            meter,
            threads: self.options.max_background_operations,
            spawner: Arc::clone(&self.options.spawner),
        }
    }
}

/// Makes what an engine that writes needs.
fn make_directories(files: &dyn FileSystem, options: &BackupEngineOptions) -> Result<()> {
    let shared = match (options.share_table_files, options.share_files_with_checksum) {
        (true, true) => Some(SHARED_CHECKSUM_DIRECTORY),
        (true, false) => Some(SHARED_DIRECTORY),
        (false, _) => None,
    };
    make_directory(files, &options.backup_dir, options.sync)?;
    for name in [Some(PRIVATE_DIRECTORY), shared, Some(META_DIRECTORY)].into_iter().flatten() {
        files.create_dir_all(&options.backup_dir.join(name))?;
    }
    if options.sync { files.sync_dir(&options.backup_dir) } else { Ok(()) }
}

/// Makes a directory and those above it, durably when that is asked for.
fn make_directory(files: &dyn FileSystem, directory: &Path, is_synced: bool) -> Result<()> {
    let mut above = vec![parent_of(directory)];
    while let Some(&last) = above.last()
        && !files.exists(last)?
    {
        above.push(parent_of(last));
    }
    files.create_dir_all(directory)?;
    if is_synced { above.into_iter().try_for_each(|directory| files.sync_dir(directory)) } else { Ok(()) }
}

/// The directory above, which is the current one for a name alone.
fn parent_of(directory: &Path) -> &Path {
    directory.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
