//! Copies of a database, safe to call: checkpoints, and a directory of backups.

use crate::database::Database;
use crate::functions::{Functions, Object, c_text};
use crate::object::{Owned, borrowed, chars};
use std::path::Path;

/// How an engine is opened, as RocksDB numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupHow {
    /// Whether backups share tables and blob files.
    pub share_table_files: bool,
    /// Whether shared files are told apart by more than their numbers.
    pub share_files_with_checksum: bool,
    /// How they are named.
    pub naming: u32,
    /// The version of descriptions.
    pub schema_version: i32,
    /// Whether logs are part of a backup.
    pub backup_log_files: bool,
}

/// A backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupTold {
    /// Its number.
    pub id: u32,
    /// Bytes of its files.
    pub size: u64,
    /// How many there are.
    pub files: u32,
    /// Bytes of the program.
    pub metadata: Vec<u8>,
}

/// An open engine. Closed when it is dropped.
pub struct Backups {
    functions: &'static Functions,
    engine: Owned,
    _environment: Owned,
}

fn missing() -> String {
    "the library has no functions of backups".to_owned()
}

fn path_text(path: &Path) -> Result<std::ffi::CString, String> {
    c_text(path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))?)
}

impl Database {
    /// Makes a checkpoint in a directory that does not exist. Memtables are flushed where logs have so many bytes.
    ///
    /// # Errors
    /// The library's message; an older library has no checkpoints.
    pub fn checkpoint(&self, directory: &Path, log_size_for_flush: u64) -> Result<(), String> {
        let f = self.functions;
        let text = path_text(directory)?;
        let none = || "the library has no rocksdb_checkpoint_create".to_owned();
        let make = f.checkpoint_object_create.zip(f.checkpoint_object_destroy).ok_or_else(none)?;
        let create = f.checkpoint_create.ok_or_else(none)?;
        // SAFETY: the database lives.
        let checkpoint = f.checked(|error| unsafe { (make.0)(self.object(), error) })?;
        // SAFETY: the object is what the call above made.
        let checkpoint = unsafe { Owned::new(checkpoint, make.1) };
        // SAFETY: database and object live, and the text ends with a zero.
        f.checked(|error| unsafe { create(checkpoint.object(), text.as_ptr(), log_size_for_flush, error) })
    }
}

impl Backups {
    /// Opens a directory, or makes one.
    ///
    /// # Errors
    /// The library's message; an older library has no such functions.
    pub fn open(functions: &'static Functions, directory: &Path, how: BackupHow) -> Result<Self, String> {
        let f = functions;
        let text = path_text(directory)?;
        let environment = f.create_default_env.zip(f.env_destroy).ok_or_else(missing)?;
        let options = f.backup_engine_options_create.zip(f.backup_engine_options_destroy).ok_or_else(missing)?;
        let (open, close) = f.backup_engine_open_opts.zip(f.backup_engine_close).ok_or_else(missing)?;
        // SAFETY: each pair makes and ends objects of one kind; the text ends with a zero.
        let (environment, options) = unsafe {
            let environment = Owned::create(environment.0, environment.1);
            (environment, Owned::new((options.0)(text.as_ptr()), options.1))
        };
        let set = |set: Option<unsafe extern "C" fn(Object, u8)>, value: bool| {
            // SAFETY: the options live.
            set.map(|set| unsafe { set(options.object(), value.into()) }).ok_or_else(missing)
        };
        set(f.backup_engine_options_set_share_table_files, how.share_table_files)?;
        set(f.backup_engine_options_set_share_files_with_checksum, how.share_files_with_checksum)?;
        set(f.backup_engine_options_set_backup_log_files, how.backup_log_files)?;
        let naming = f.backup_engine_options_set_share_files_with_checksum_naming.ok_or_else(missing)?;
        let schema = f.backup_engine_options_set_schema_version.ok_or_else(missing)?;
        // SAFETY: the options live.
        unsafe {
            naming(options.object(), how.naming.cast_signed());
            schema(options.object(), how.schema_version);
        }
        // SAFETY: options and environment live; the environment outlives the engine.
        let engine = f.checked(|error| unsafe { open(options.object(), environment.object(), error) })?;
        // SAFETY: the engine is what the call above made.
        let engine = unsafe { Owned::new(engine, close) };
        Ok(Self { functions, engine, _environment: environment })
    }

    /// Makes a backup and tells its number.
    ///
    /// # Errors
    /// The library's message.
    pub fn create(&self, database: &Database, flushes: bool, metadata: &[u8]) -> Result<u32, String> {
        let f = self.functions;
        let options = f.create_backup_options_create.zip(f.create_backup_options_destroy).ok_or_else(missing)?;
        let flush = f.create_backup_options_set_flush_before_backup.ok_or_else(missing)?;
        let create = f.backup_engine_create_new_backup_with_metadata.ok_or_else(missing)?;
        let mut id = 0;
        // SAFETY: the pair makes and ends objects of one kind; all objects live, and there is a place for the number.
        f.checked(|error| unsafe {
            let options = Owned::create(options.0, options.1);
            flush(options.object(), flushes.into());
            let (database, metadata) = (database.object(), (chars(metadata), metadata.len()));
            create(self.engine.object(), database, options.object(), metadata.0, metadata.1, &mut id, error);
        })?;
        Ok(id)
    }

    /// What there is, oldest first.
    ///
    /// # Errors
    /// An older library has no such functions.
    pub fn told(&self) -> Result<Vec<BackupTold>, String> {
        let f = self.functions;
        let info = f.backup_engine_get_backup_info.zip(f.backup_engine_info_destroy).ok_or_else(missing)?;
        let count = f.backup_engine_info_count.ok_or_else(missing)?;
        let numbers = f.backup_engine_info_backup_id.zip(f.backup_engine_info_number_files).ok_or_else(missing)?;
        let (size, metadata) = f.backup_engine_info_size.zip(f.backup_engine_info_app_metadata).ok_or_else(missing)?;
        // SAFETY: the infos live through the calls, and every index is below the count.
        unsafe {
            let info = Owned::new((info.0)(self.engine.object()), info.1);
            let told = (0..count(info.object())).map(|index| {
                let mut length = 0;
                let bytes = metadata(info.object(), index, &mut length);
                BackupTold {
                    id: (numbers.0)(info.object(), index),
                    size: size(info.object(), index),
                    files: (numbers.1)(info.object(), index),
                    metadata: borrowed(bytes, length).to_vec(),
                }
            });
            Ok(told.collect())
        }
    }

    /// Checks the sizes of the files of a backup.
    ///
    /// # Errors
    /// The library's message.
    pub fn verify(&self, id: u32) -> Result<(), String> {
        let verify = self.functions.backup_engine_verify_backup.ok_or_else(missing)?;
        // SAFETY: the engine lives.
        self.functions.checked(|error| unsafe { verify(self.engine.object(), id, error) })
    }

    /// Restores a backup into a directory, in a mode as RocksDB numbers them.
    ///
    /// # Errors
    /// The library's message.
    pub fn restore(&self, id: u32, directory: &Path, mode: i32) -> Result<(), String> {
        let f = self.functions;
        let text = path_text(directory)?;
        let options = f.restore_options_create.zip(f.restore_options_destroy).ok_or_else(missing)?;
        let set_mode = f.restore_options_set_mode.ok_or_else(missing)?;
        let restore = f.backup_engine_restore_db_from_backup.ok_or_else(missing)?;
        // SAFETY: the pair makes and ends objects of one kind; all objects live, and the text ends with a zero.
        f.checked(|error| unsafe {
            let options = Owned::create(options.0, options.1);
            set_mode(options.object(), mode);
            restore(self.engine.object(), text.as_ptr(), text.as_ptr(), options.object(), id, error);
        })
    }

    /// Removes the oldest backups but for so many.
    ///
    /// # Errors
    /// The library's message.
    pub fn purge(&self, keep: u32) -> Result<(), String> {
        let purge = self.functions.backup_engine_purge_old_backups.ok_or_else(missing)?;
        // SAFETY: the engine lives.
        self.functions.checked(|error| unsafe { purge(self.engine.object(), keep, error) })
    }
}
