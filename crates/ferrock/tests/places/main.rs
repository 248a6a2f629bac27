//! Databases whose files lie in more than one directory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod paths;
mod wal_dir;

use ferrock::{Db, DbOptions, ReadOptions};
use ferrock_vfs::FileSystem;
use ferrock_vfs::MemoryFileSystem;
use std::path::Path;
use std::sync::Arc;

/// Options of a database in a file system of memory.
fn options_in(file_system: &Arc<MemoryFileSystem>) -> DbOptions {
    let mut options = DbOptions::default();
    options.components.file_system = Some(Arc::clone(file_system) as Arc<dyn FileSystem>);
    options.create_if_missing = true;
    options
}

/// Names in a directory that end in `extension`, sorted; none when there is no directory.
fn names(file_system: &MemoryFileSystem, directory: impl AsRef<Path>, extension: &str) -> Vec<String> {
    let mut names = file_system.children(directory.as_ref()).unwrap_or_default();
    names.retain(|name| name.ends_with(extension));
    names.sort();
    names
}

fn count(db: &Db) -> usize {
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    let mut count = 0;
    while iter.valid() {
        count += 1;
        iter.next();
    }
    iter.status().unwrap();
    count
}

fn fill(db: &Db, keys: std::ops::Range<u32>) {
    for key in keys {
        db.put(format!("key{key:05}").as_bytes(), &[b'v'; 100]).unwrap();
    }
}
