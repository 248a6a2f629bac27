//! What the tests of the facade share: options, keys, and threads that are waited for without sleeping.
#![allow(dead_code, clippy::disallowed_methods, reason = "each test program uses a part of it, and starts threads")]

pub mod books;
pub mod cores;
pub mod mixed_load;
pub mod threads;

use ferrock::{ColumnFamilyOptions, Db, DbOptions, Iter, ReadOptions};
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Keys and their values.
pub type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// What the default family holds, as `options` see it.
pub fn contents(db: &Db, options: &ReadOptions) -> Contents {
    rows_of(db.iter(options))
}

/// All rows of an iterator.
pub fn rows_of(mut iter: Iter) -> Contents {
    let mut all = Contents::new();
    iter.seek_to_first();
    while iter.valid() {
        all.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().unwrap();
    all
}

/// All rows of an iterator, walked from the last one to the first, in the order of the keys.
pub fn rows_backward(mut iter: Iter) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    iter.seek_to_last();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev();
    }
    iter.status().unwrap();
    rows.reverse();
    rows
}

/// Options that create what is missing, database and families.
pub fn creating() -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options
}

/// As [`creating`], on a file system.
pub fn options_on(file_system: Arc<dyn FileSystem>) -> DbOptions {
    let mut options = creating();
    options.components.file_system = Some(file_system);
    options
}

/// As [`creating`], on files of its own in memory.
pub fn in_memory() -> DbOptions {
    options_on(Arc::new(MemoryFileSystem::new()))
}

/// Opens `/db` with these options of the default family.
pub fn open_default(options: DbOptions, family: ColumnFamilyOptions) -> Db {
    Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0
}

pub fn key(number: u64) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

pub fn slices(keys: &[Vec<u8>]) -> Vec<&[u8]> {
    keys.iter().map(Vec::as_slice).collect()
}
