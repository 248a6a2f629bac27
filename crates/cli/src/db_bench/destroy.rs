//! Removes a database: the files that are a database's by their names, and the directory when nothing else is in it.

use ferrock::Result;
use ferrock_format::file_name::{self, LOCK};
use ferrock_vfs::{FileSystem, default_file_system};
use std::path::Path;

/// Removes the database in `directory`, if there is one. One that is in use is not touched.
pub(crate) fn destroy(directory: &Path) -> Result<()> {
    let file_system = default_file_system();
    if !file_system.exists(directory)? {
        return Ok(());
    }
    let lock = file_system.lock_file(&directory.join(LOCK))?;
    remove_files(&*file_system, directory)?;
    drop(lock);
    file_system.remove_file(&directory.join(LOCK))?;
    if file_system.children(directory)?.is_empty() {
        file_system.remove_dir(directory)?;
    }
    Ok(())
}

fn remove_files(file_system: &dyn FileSystem, directory: &Path) -> Result<()> {
    for name in file_system.children(directory)? {
        if name != LOCK && file_name::parse(&name).is_some() {
            file_system.remove_file(&directory.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock::{Db, DbOptions};

    #[test]
    fn only_the_database_goes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        destroy(&path).unwrap();
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        let db = Db::open(&path, options.clone()).unwrap();
        db.put(b"k", b"v").unwrap();
        db.flush().unwrap();
        assert!(destroy(&path).is_err(), "it is in use");
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
        db.close().unwrap();
        let file_system = default_file_system();
        ferrock_vfs::write_file_synced(&*file_system, &path.join("notes.txt"), b"mine").unwrap();
        destroy(&path).unwrap();
        assert_eq!(file_system.children(&path).unwrap(), ["notes.txt"]);
        file_system.remove_file(&path.join("notes.txt")).unwrap();
        drop(Db::open(&path, options).unwrap());
        destroy(&path).unwrap();
        assert!(!file_system.exists(&path).unwrap());
    }
}
