//! Copies of a running database.
//!
//! ```
//! use ferrock::backup::Checkpoint;
//!
//! # fn main() -> ferrock::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let (path, copy) = (directory.path().join("db"), directory.path().join("copy"));
//! let mut options = ferrock::DbOptions::default();
//! options.create_if_missing = true;
//! let db = ferrock::Db::open(&path, options)?;
//! db.put(b"key", b"value")?;
//! Checkpoint::new(&db).create(&copy)?;
//! db.put(b"key", b"another")?;
//! // The copy is a database of its own.
//! let copy = ferrock::Db::open(&copy, ferrock::DbOptions::default())?;
//! assert_eq!(copy.get(b"key")?.as_deref(), Some(&b"value"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! | file | is |
//! |---|---|
//! | `checkpoint.rs` | a copy in a directory: hard links of what never changes, copies of the rest |
//! | `copying.rs` | bytes from one file system to another: rate, progress, stop |
//! | `export.rs` | the tables of one family in a directory, for another database |
//! | `engine/` | many backups in one directory, as RocksDB's BackupEngine keeps them |
//! | `places.rs` | OPTIONS of a copy, which must not name the directories of its origin |
//!
//! The crate uses the engine's public interface: `Db::hold_files` keeps the files where they are, and
//! `Db::live_files_storage_info` says which of them, and how much of each, make the state of a moment.
//! `docs/backup.md` has the formats and what a crash leaves.
#![warn(missing_docs)]

mod checkpoint;
mod copying;
mod engine;
mod export;
mod places;

pub use checkpoint::{Checkpoint, CheckpointReport};
pub use copying::CopyProgress;
pub use engine::{
    BackupEngine, BackupEngineOptions, BackupFileInfo, BackupInfo, CreateBackupOptions, ExcludeFilesCallback,
    ProgressCallback, RemovalReport, RestoreMode, RestoreOptions, ShareFilesNaming,
};
/// What keeps backups in an object store, with the feature `object-store`.
#[cfg(feature = "object-store")]
pub use ferrock_vfs::{BlockOn, ObjectStoreFileSystem, ObjectStoreOptions, object_store};
