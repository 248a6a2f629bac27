//! Column families that are exported from one database and imported into another.
//!
//! ```text
//! histories.rs  drawn histories over drawn options; the new family equals the model, also after more writes
//! crashes.rs    a crash, and a failure, at every file operation of an export and of an import
//! refused.rs    what is refused, and leaves nothing
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and start threads"
)]

#[path = "../common/mod.rs"]
mod common;
mod crashes;
mod histories;
mod refused;

use common::{Contents, options_on, rows_of};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, Db, ExportImportFilesMetadata, FlushOptions, ReadOptions, WriteOptions,
};
use ferrock_base::merge::StringAppend;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::path::Path;
use std::sync::Arc;

const FROM: &str = "/data/from";
const TO: &str = "/data/to";
const EXPORT: &str = "/data/export";

fn memory() -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    files.create_dir_all(Path::new("/data")).unwrap();
    files.sync_dir(Path::new("/")).unwrap();
    files
}

fn merging() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.merge_operator = Some(Arc::new(StringAppend::new(",")));
    options
}

/// The names of the tables in a directory.
fn tables_in(files: &dyn FileSystem, directory: &str) -> Vec<String> {
    let mut names = files.children(Path::new(directory)).unwrap();
    names.retain(|name| name.ends_with(".sst"));
    names.sort();
    names
}

fn rows(db: &Db, family: &ColumnFamily) -> Contents {
    rows_of(db.iter_cf(family, &ReadOptions::default()))
}

/// A database whose default family has tables in two levels, with range deletions; and what it has.
fn source(files: Arc<dyn FileSystem>) -> (Db, Contents) {
    let mut options = merging();
    options.disable_auto_compactions = true;
    let db = Db::open_cf(FROM, options_on(files), vec![("default".to_owned(), options)]).unwrap().0;
    for round in 0..3u8 {
        for number in (round..30).step_by(1 + usize::from(round)) {
            db.put(&[number], &[round; 40]).unwrap();
        }
        let default = db.default_column_family().unwrap();
        db.delete_range_cf(&default, &[round * 5], &[round * 5 + 3], &WriteOptions::default()).unwrap();
        db.flush_cf(&default, &FlushOptions::default()).unwrap();
        if round == 0 {
            db.compact_range(None, None).unwrap();
        }
    }
    let contents = rows(&db, &db.default_column_family().unwrap());
    (db, contents)
}

fn export(db: &Db, directory: &str) -> ferrock::Result<ExportImportFilesMetadata> {
    let family = db.default_column_family()?;
    ferrock::backup::Checkpoint::new(db).export_column_family(&family, directory)
}
