//! What a backup engine is told.

use crate::copying::CopyProgress;
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::thread::{Spawner, StdSpawner};
use ferrock_base::{Error, Result};
use ferrock_format::backup::NEWEST_SCHEMA;
use ferrock_vfs::{FileSystem, RateLimiter, TokenBucket, default_file_system};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes between two calls of a progress callback.
const DEFAULT_CALLBACK_INTERVAL_BYTES: u64 = 4 << 20;
/// The most bytes that a copy reads and writes at once.
const MAX_IO_BUFFER_BYTES: usize = 1 << 30;
/// The most threads.
const MAX_BACKGROUND_OPERATIONS: u32 = 1024;

/// How tables are named in `shared_checksum`. Backups of different namings may lie beside each other; a table that is
/// there under another name is copied again. Blob files, and tables that do not know which run of a database wrote
/// them, have the names of [`Checksum`](Self::Checksum).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShareFilesNaming {
    /// `000012_<CRC32C>_<bytes>.sst`, RocksDB's `kLegacyCrc32cAndFileSize`: every backup reads every table.
    Checksum,
    /// `000012_s<id of the run>.sst`, RocksDB's `kUseDbSessionId`.
    DbSessionId,
    /// `000012_s<id of the run>_<bytes>.sst`: the former with `kFlagIncludeFileSize`.
    #[default]
    DbSessionIdAndSize,
}

impl ShareFilesNaming {
    const CHECKSUM_BITS: u32 = 1;
    const RUN_BITS: u32 = 2;
    const SIZE_FLAG: u32 = 1 << 31;

    /// The number that RocksDB has for it.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Checksum => Self::CHECKSUM_BITS,
            Self::DbSessionId => Self::RUN_BITS,
            Self::DbSessionIdAndSize => Self::RUN_BITS | Self::SIZE_FLAG,
        }
    }

    /// The naming with this number.
    ///
    /// # Errors
    /// `InvalidArgument` for other numbers.
    pub fn from_bits(bits: u32) -> Result<Self> {
        match bits & !Self::SIZE_FLAG {
            Self::CHECKSUM_BITS => Ok(Self::Checksum),
            Self::RUN_BITS if bits & Self::SIZE_FLAG != 0 => Ok(Self::DbSessionIdAndSize),
            Self::RUN_BITS => Ok(Self::DbSessionId),
            _ => Err(Error::invalid_argument(format!(
                "share_files_with_checksum_naming = {bits}: it is 1 (checksum), 2 (id of the run), or 2 with bit 31 \
                 (and size)"
            ))),
        }
    }
}

/// Where backups are, and how they are made and read. The names are RocksDB's.
///
/// ```
/// let options = ferrock::backup::BackupEngineOptions::new("/backups/db");
/// assert!(options.share_table_files && options.sync);
/// ```
#[derive(Clone)]
pub struct BackupEngineOptions {
    /// The directory; made by engines that write.
    pub backup_dir: PathBuf,
    /// The file system of that directory (default: that of the operating system). With the feature `object-store` it
    /// may be an `ObjectStoreFileSystem`; the directory is then a prefix of its keys.
    pub backup_file_system: Arc<dyn FileSystem>,
    /// The file system that databases are restored to (default: that of the operating system).
    pub db_file_system: Arc<dyn FileSystem>,
    /// Tables and blob files are kept once for all backups that need them. False: each backup has all of its files.
    pub share_table_files: bool,
    /// Shared files are told apart by more than their numbers. False, which RocksDB calls deprecated, is safe for one
    /// database that never goes back to an earlier state.
    pub share_files_with_checksum: bool,
    /// How shared files are named.
    pub share_files_with_checksum_naming: ShareFilesNaming,
    /// What was written is durable when a call returns. False: backups that were made before are safe all the same.
    pub sync: bool,
    /// Opening removes all backups.
    pub destroy_old_data: bool,
    /// Logs are part of a backup. False: everything is flushed before a backup, so that it needs none.
    pub backup_log_files: bool,
    /// Bytes a second that backups write; 0: as many as they can.
    pub backup_rate_limit: u64,
    /// In place of `backup_rate_limit`.
    pub backup_rate_limiter: Option<Arc<dyn RateLimiter>>,
    /// Bytes a second that restoring writes; 0: as many as it can.
    pub restore_rate_limit: u64,
    /// In place of `restore_rate_limit`.
    pub restore_rate_limiter: Option<Arc<dyn RateLimiter>>,
    /// Threads that copy and read, from 1 to 1024.
    pub max_background_operations: u32,
    /// Bytes between two calls of a progress callback.
    pub callback_trigger_interval_size: u64,
    /// Engines that only read look at this many of the newest good backups; the others are not there for them.
    pub max_valid_backups_to_open: u32,
    /// Bytes read and written at once, up to 1 GiB; 0: 1 MiB.
    pub io_buffer_size: usize,
    /// Version of the texts in `meta`: 1, or 2, which also tells how often files are expected to be read.
    pub schema_version: u32,
    /// Must be false: the file systems of this release do not tell where a file is kept now.
    pub current_temperatures_override_manifest: bool,
    /// Tells the time of a backup.
    pub clock: Arc<dyn Clock>,
    /// Starts threads.
    pub spawner: Arc<dyn Spawner>,
}

impl BackupEngineOptions {
    /// The defaults, which are RocksDB's, for a directory.
    #[must_use]
    pub fn new(backup_dir: impl AsRef<Path>) -> Self {
        let files = default_file_system();
        Self {
            backup_dir: backup_dir.as_ref().to_path_buf(),
            backup_file_system: Arc::clone(&files),
            db_file_system: files,
            share_table_files: true,
            share_files_with_checksum: true,
            share_files_with_checksum_naming: ShareFilesNaming::default(),
            sync: true,
            destroy_old_data: false,
            backup_log_files: true,
            backup_rate_limit: 0,
            backup_rate_limiter: None,
            restore_rate_limit: 0,
            restore_rate_limiter: None,
            max_background_operations: 1,
            callback_trigger_interval_size: DEFAULT_CALLBACK_INTERVAL_BYTES,
            max_valid_backups_to_open: u32::MAX,
            io_buffer_size: 0,
            schema_version: 1,
            current_temperatures_override_manifest: false,
            clock: SystemClock::shared(),
            spawner: StdSpawner::shared(),
        }
    }

    /// Finds every value out of its bounds.
    ///
    /// # Errors
    /// `InvalidArgument` naming each value and its bound; `NotSupported` for what this release does not have.
    pub fn validate(&self) -> Result<()> {
        let mut wrong = Vec::new();
        if self.backup_dir.as_os_str().is_empty() {
            wrong.push("backup_dir is empty".to_owned());
        }
        if self.max_background_operations == 0 || self.max_background_operations > MAX_BACKGROUND_OPERATIONS {
            let threads = self.max_background_operations;
            wrong.push(format!(
                "max_background_operations = {threads}: it must be from 1 to {MAX_BACKGROUND_OPERATIONS}"
            ));
        }
        if self.io_buffer_size > MAX_IO_BUFFER_BYTES {
            let bytes = self.io_buffer_size;
            wrong.push(format!("io_buffer_size = {bytes}: it must be at most {MAX_IO_BUFFER_BYTES}"));
        }
        if self.schema_version == 0 {
            wrong.push("schema_version = 0: it must be at least 1".to_owned());
        }
        if !wrong.is_empty() {
            return Err(Error::invalid_argument(format!("backup engine: {}", wrong.join("; "))));
        }
        if self.schema_version > NEWEST_SCHEMA {
            let version = self.schema_version;
            return Err(Error::not_supported(format!(
                "schema_version = {version}: 1 and 2 are known; use one of them"
            )));
        }
        if self.current_temperatures_override_manifest {
            return Err(Error::not_supported(
                "current_temperatures_override_manifest: no file system here tells where a file is kept; leave it off",
            ));
        }
        Ok(())
    }

    /// The limiters of backups and of restoring.
    pub(super) fn limiters(&self) -> [Option<Arc<dyn RateLimiter>>; 2] {
        let limiter = |given: &Option<Arc<dyn RateLimiter>>, rate: u64| {
            given.clone().or_else(|| {
                let bucket = || Arc::new(TokenBucket::new(rate, Arc::clone(&self.clock))) as Arc<dyn RateLimiter>;
                (rate > 0).then(bucket)
            })
        };
        [
            limiter(&self.backup_rate_limiter, self.backup_rate_limit),
            limiter(&self.restore_rate_limiter, self.restore_rate_limit),
        ]
    }
}

impl fmt::Debug for BackupEngineOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackupEngineOptions")
            .field("backup_dir", &self.backup_dir)
            .field("share_table_files", &self.share_table_files)
            .field("share_files_with_checksum", &self.share_files_with_checksum)
            .field("share_files_with_checksum_naming", &self.share_files_with_checksum_naming)
            .field("sync", &self.sync)
            .field("backup_log_files", &self.backup_log_files)
            .field("max_background_operations", &self.max_background_operations)
            .field("schema_version", &self.schema_version)
            .finish_non_exhaustive()
    }
}

/// Is told how far a copy is, by any of the threads that copy, one at a time. Of the engine it may call
/// [`stop_backup`](super::BackupEngine::stop_backup) alone: everything else waits for the copy.
pub type ProgressCallback = Arc<dyn Fn(CopyProgress) + Send + Sync>;

/// Says, of a name below the backup directory, whether a backup does without the file.
pub type ExcludeFilesCallback = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// How one backup is made.
#[derive(Clone, Default)]
pub struct CreateBackupOptions {
    /// Memtables are flushed first, and no log is needed for what was written before. Writes that went to no log are
    /// in the backup only then.
    pub flush_before_backup: bool,
    /// With `flush_before_backup`: the families are flushed as one, so that a backup without logs has the same writes
    /// in all of them.
    pub atomic_flush: bool,
    /// Up to 1 MiB for the program that makes the backup.
    pub app_metadata: Vec<u8>,
    /// Is told how far the backup is.
    pub progress: Option<ProgressCallback>,
    /// Is asked about every file of `shared_checksum` that would be copied. What is left out must be in another place,
    /// and be put into the directory, or already be in the database's, before the backup can be restored, or be in one
    /// of [`RestoreOptions::alternate_dirs`](super::RestoreOptions::alternate_dirs). Needs `schema_version` 2.
    pub exclude_files: Option<ExcludeFilesCallback>,
}

impl fmt::Debug for CreateBackupOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateBackupOptions")
            .field("flush_before_backup", &self.flush_before_backup)
            .field("atomic_flush", &self.atomic_flush)
            .field("app_metadata", &self.app_metadata.len())
            .finish_non_exhaustive()
    }
}

/// Which files of the directory that is restored to stay, when the backup has the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestoreMode {
    /// Tables whose number, size and run of the database are those of the backup's, by their properties. Their blocks
    /// are not looked at.
    KeepLatestDbSessionIdFiles,
    /// Tables and blob files whose checksums are those of the backup's. All of them are read.
    VerifyChecksum,
    /// None.
    #[default]
    PurgeAllFiles,
}
