//! Checkpoints: copies of a running database in directories of their own.

use crate::db::rocksdb_t;
use crate::handle::{borrow, give};
use crate::memory::path;
use ferrock::backup::Checkpoint;
use ferrock::{Db, Error, ErrorKind, Result, WeakDb};
use std::ffi::c_char;

/// Makes checkpoints of a database, which it does not keep open.
pub struct rocksdb_checkpoint_t {
    db: WeakDb,
}

impl rocksdb_checkpoint_t {
    /// The database.
    ///
    /// # Errors
    /// `Shutdown in progress` when it is closed.
    pub(crate) fn open_db(&self) -> Result<Db> {
        self.db.upgrade().ok_or_else(|| Error::new(ErrorKind::ShutdownInProgress, "the database is closed"))
    }
}

c_fallible! {
    /// What makes checkpoints of a database.
    fn rocksdb_checkpoint_object_create(db: *mut rocksdb_t) -> *mut rocksdb_checkpoint_t {
        // SAFETY: the contract.
        let db = unsafe { borrow(db, "database")? }.db.downgrade();
        Ok(give(rocksdb_checkpoint_t { db }))
    }

    /// Makes a checkpoint in a directory that does not exist. The memtables are flushed first where logs have at least
    /// `log_size_for_flush` bytes (0: always; the largest number: never).
    fn rocksdb_checkpoint_create(
        checkpoint: *mut rocksdb_checkpoint_t,
        checkpoint_dir: *const c_char,
        log_size_for_flush: u64,
    ) {
        // SAFETY: the contract.
        let (checkpoint, directory) = unsafe { (borrow(checkpoint, "checkpoint")?, path(checkpoint_dir)?) };
        Checkpoint::new(&checkpoint.open_db()?).log_size_for_flush(log_size_for_flush).create(directory).map(|_| ())
    }
}

c_destructors! {
    /// Ends what makes checkpoints; null is allowed.
    fn rocksdb_checkpoint_object_destroy(rocksdb_checkpoint_t);
}
