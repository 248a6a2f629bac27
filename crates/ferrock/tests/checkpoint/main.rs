//! Checkpoints: copies of a running database, and the holds that keep its files meanwhile.
//!
//! ```text
//! holds.rs      what stays, and what goes behind the last hold
//! histories.rs  drawn histories over drawn options; each copy equals what the model had
//! under_load.rs writers, flushes and compactions go on: each copy is a state that the database had
//! crashes.rs    a crash, and a failure, at every file operation of a copy
//! refused.rs    what is refused, progress, stop, links
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "a test starts threads")]

#[path = "../common/mod.rs"]
mod common;
mod crashes;
mod histories;
mod holds;
mod refused;
mod under_load;

use common::Contents;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions};
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Directory of the database.
const PATH: &str = "/data/db";
/// Directory of the copy.
const COPY: &str = "/data/copy";

/// Files in memory with the directory that has both.
fn memory() -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    files.create_dir_all(Path::new("/data")).unwrap();
    files.sync_dir(Path::new("/")).unwrap();
    files
}

fn options(files: &MemoryFileSystem) -> DbOptions {
    common::options_on(Arc::new(files.clone()))
}

/// All rows of all families of a database that is opened with default options.
fn contents_at(files: &MemoryFileSystem, path: &str, db: DbOptions) -> ferrock::Result<BTreeMap<String, Contents>> {
    let mut options = db;
    options.create_if_missing = false;
    options.components.file_system = Some(Arc::new(files.clone()));
    let names = Db::list_column_families(path, &options)?;
    let family = || {
        let mut family = ColumnFamilyOptions::default();
        family.merge_operator = Some(Arc::new(ferrock_base::merge::StringAppend::new(",")));
        family
    };
    let families = names.into_iter().map(|name| (name, family())).collect();
    let (db, families) = Db::open_cf(path, options, families)?;
    Ok(families
        .iter()
        .map(|family| (family.name().to_owned(), common::rows_of(db.iter_cf(family, &ReadOptions::default()))))
        .collect())
}
