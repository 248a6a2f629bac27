//! Where the files of a database lie.
//!
//! | file | directory |
//! |---|---|
//! | CURRENT, MANIFEST, OPTIONS, IDENTITY, LOCK, LOG | the database's own |
//! | WAL | `wal_dir`; the database's own when that is empty |
//!
//! Every path of a file whose directory depends on an option is made here, so that writing, reading, syncing and
//! removing agree on it.

use ferrock_base::FileNumber;
use ferrock_format::file_name;
use std::path::{Path, PathBuf};

/// The directories of an open database.
#[derive(Debug)]
pub(crate) struct FilePlaces {
    database: PathBuf,
    logs: PathBuf,
}

impl FilePlaces {
    /// Places of a database in `database` whose logs lie in `logs`.
    pub(crate) fn new(database: PathBuf, logs: PathBuf) -> Self {
        Self { database, logs }
    }

    /// Directory of the logs.
    pub(crate) fn log_directory(&self) -> &Path {
        &self.logs
    }

    /// True when logs do not lie among the other files.
    pub(crate) fn has_separate_logs(&self) -> bool {
        !is_same(&self.logs, &self.database)
    }

    /// Path of a log.
    pub(crate) fn log(&self, number: FileNumber) -> PathBuf {
        self.logs.join(file_name::log(number))
    }
}

/// True when two paths are spelled the same, but for slashes at the end or doubled, and single dots.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    a.components().eq(b.components())
}
