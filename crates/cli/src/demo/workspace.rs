//! The directory the demo works in. Removed at the end, also after an error; never a directory with something in it.

use crate::failure::{Failure, Result};
use ferrock::Error;
use ferrock_base::random::Random;
use ferrock_vfs::FileSystem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory of our own, with the database's in it.
pub(super) struct Workspace {
    file_system: Arc<dyn FileSystem>,
    root: PathBuf,
    is_kept: bool,
}

impl Workspace {
    /// Creates `dir`, or a fresh directory below the system's temporary one.
    pub(super) fn create(file_system: Arc<dyn FileSystem>, dir: Option<&Path>) -> Result<Self> {
        let root = match dir {
            Some(dir) if file_system.exists(dir)? && !file_system.children(dir)?.is_empty() => {
                let message =
                    format!("--dir {}: the directory is not empty; name an empty or a new one", dir.display());
                return Err(Failure::Usage(message));
            }
            Some(dir) => dir.to_owned(),
            None => {
                let unique = Random::from_entropy().next_u64();
                std::env::temp_dir().join(format!("ferrock-demo-{}-{unique:016x}", std::process::id()))
            }
        };
        file_system.create_dir_all(&root)?;
        Ok(Self { file_system, root, is_kept: false })
    }

    /// Where the database goes.
    pub(super) fn database(&self) -> PathBuf {
        self.root.join("db")
    }

    /// Leaves everything behind.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Removes everything and returns whether that worked.
    pub(super) fn remove(mut self) -> Result<()> {
        self.is_kept = true;
        Ok(self.clear()?)
    }

    fn clear(&self) -> std::result::Result<(), Error> {
        let database = self.database();
        if self.file_system.exists(&database)? {
            for name in self.file_system.children(&database)? {
                self.file_system.remove_file(&database.join(name))?;
            }
            self.file_system.remove_dir(&database)?;
        }
        self.file_system.remove_dir(&self.root)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if !self.is_kept {
            // An earlier error is the one to report.
            let _ = self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_cleans_up_after_itself_and_touches_nothing_else() {
        let outer = tempfile::tempdir().unwrap();
        let file_system = ferrock_vfs::default_file_system();
        let root = outer.path().join("work");
        let workspace = Workspace::create(Arc::clone(&file_system), Some(&root)).unwrap();
        file_system.create_dir_all(&workspace.database()).unwrap();
        ferrock_vfs::write_file_synced(&*file_system, &workspace.database().join("CURRENT"), b"x").unwrap();
        assert!(matches!(Workspace::create(Arc::clone(&file_system), Some(&root)), Err(Failure::Usage(_))));
        drop(workspace);
        assert!(!file_system.exists(&root).unwrap());

        let mut kept = Workspace::create(Arc::clone(&file_system), Some(&root)).unwrap();
        kept.keep();
        drop(kept);
        assert!(file_system.exists(&root).unwrap());
    }
}
