//! The directory of an import.
//!
//! ```text
//! DB.import/
//!   LOCK            held while an import works here
//!   run-000001      sorted rows (runs.rs)
//!   table-000001    a table that is to come into the database
//! ```

use crate::backup::failure;
use crate::failure::{Failure, Result};
use ferrock_vfs::{FileLock, FileSystem};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const LOCK: &str = "LOCK";
const RUN: &str = "run-";
const TABLE: &str = "table-";

/// A directory that goes with all its files when this is dropped.
pub(super) struct WorkDirectory {
    pub(super) files: Arc<dyn FileSystem>,
    path: PathBuf,
    lock: Option<Box<dyn FileLock>>,
    made: AtomicU64,
}

impl WorkDirectory {
    /// Makes the directory, or takes one that an import left, and removes what is in it.
    pub(super) fn begin(files: &Arc<dyn FileSystem>, path: &Path) -> Result<Self> {
        if files.exists(path)?
            && let Some(name) = files.children(path)?.iter().find(|name| !is_ours(name))
        {
            return Err(Failure::NotDone(format!(
                "{}: the work directory has {name}, which no import makes: name another one with --work-directory",
                path.display()
            )));
        }
        files.create_dir_all(path).map_err(failure)?;
        let lock = files
            .lock_file(&path.join(LOCK))
            .map_err(|error| Failure::NotDone(format!("{}: another import works here: {error}", path.display())))?;
        let work =
            Self { files: Arc::clone(files), path: path.to_path_buf(), lock: Some(lock), made: AtomicU64::new(0) };
        work.remove_files()?;
        Ok(work)
    }

    pub(super) fn new_run(&self) -> PathBuf {
        self.new_file(RUN)
    }

    pub(super) fn new_table(&self) -> PathBuf {
        self.new_file(TABLE)
    }

    fn new_file(&self, prefix: &str) -> PathBuf {
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        self.path.join(format!("{prefix}{number:06}"))
    }

    fn remove_files(&self) -> Result<()> {
        for name in self.files.children(&self.path)? {
            if is_ours(&name) && name != LOCK {
                self.files.remove_file(&self.path.join(name))?;
            }
        }
        Ok(())
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        // What stays is recognised, and removed, by the next import.
        let _ = self.remove_files();
        self.lock = None;
        let _ = self.files.remove_file(&self.path.join(LOCK));
        let _ = self.files.remove_dir(&self.path);
    }
}

fn is_ours(name: &str) -> bool {
    let is_numbered = |rest: &str| rest.len() >= 6 && rest.bytes().all(|byte| byte.is_ascii_digit());
    name == LOCK || [RUN, TABLE].iter().any(|prefix| name.strip_prefix(prefix).is_some_and(is_numbered))
}
