//! What the rig asks of an engine: the common part of Ferrock's Rust interface and RocksDB's C interface.
//!
//! Column families are numbered in the order of [`FAMILIES`]; settings are the texts of the OPTIONS file, which both
//! sides understand; errors are texts.

use crate::random::Random;
use crate::settings::Settings;
pub use ferrock_script::history::columns;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The column families of every history.
pub const FAMILIES: [&str; 2] = ["default", "second"];
/// The family that some histories create and drop, behind those.
pub const EXTRA: &str = "third";

/// One record of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    Put(usize, Vec<u8>, Vec<u8>),
    /// Of an entity that reads as the value: see [`columns`].
    PutEntity(usize, Vec<u8>, Vec<u8>),
    Merge(usize, Vec<u8>, Vec<u8>),
    Delete(usize, Vec<u8>),
    SingleDelete(usize, Vec<u8>),
    /// From the first key up to the second, which is left out.
    DeleteRange(usize, Vec<u8>, Vec<u8>),
}

/// One of a put, a deletion and, less often, a deletion of a range, of a key among so many.
pub fn drawn_record(random: &mut Random, keys: usize) -> Record {
    let family = random.below(FAMILIES.len());
    let (first, second) = (drawn_key(random, keys), drawn_key(random, keys));
    match random.below(10) {
        0 | 1 => Record::Delete(family, first),
        2 => Record::DeleteRange(family, first.clone().min(second.clone()), first.max([&second[..], b"+"].concat())),
        _ => Record::Put(family, first, vec![random.below(256) as u8; random.below(120)]),
    }
}

/// One of so many keys.
pub fn drawn_key(random: &mut Random, keys: usize) -> Vec<u8> {
    format!("key{:03}", random.below(keys)).into_bytes()
}

/// How a batch is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteHow {
    pub sync: bool,
    pub disable_wal: bool,
}

/// What an iterator is restricted to.
#[derive(Clone, Debug, Default)]
pub struct IterHow {
    pub snapshot: Option<usize>,
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
    /// Only keys with the prefix of the key that was sought; otherwise everything in order.
    pub prefix_same_as_start: bool,
}

/// How a directory is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// A new database, with nothing but the settings given.
    Create,
    /// With the directory's own OPTIONS file, changed by the settings given.
    ReadWrite,
    /// With the directory's own OPTIONS file, and without leaving a trace.
    ReadOnly,
}

pub type Outcome<T> = Result<T, String>;

/// Opens databases.
pub trait Engine {
    fn open(&self, directory: &Path, mode: OpenMode, settings: &Settings) -> Outcome<Box<dyn Database>>;
}

/// An open database.
pub trait Database {
    /// The number of a family; `None` when there is none of that name.
    fn family(&self, name: &str) -> Option<usize>;
    /// How many families there are.
    fn families(&self) -> usize;
    fn write(&mut self, batch: &[Record], how: WriteHow) -> Outcome<()>;
    fn flush(&mut self, family: usize) -> Outcome<()>;
    /// Compacts a range; with `force`, the bottommost level as well.
    fn compact(&mut self, family: usize, begin: Option<&[u8]>, end: Option<&[u8]>, force: bool) -> Outcome<()>;
    fn flush_wal(&mut self) -> Outcome<()>;
    /// Snapshots are numbered from 0 in the order of their creation.
    fn snapshot(&mut self) -> Outcome<()>;
    fn release_snapshot(&mut self, number: usize) -> Outcome<()>;
    fn get(&self, family: usize, key: &[u8], snapshot: Option<usize>) -> Outcome<Option<Vec<u8>>>;
    fn multi_get(&self, family: usize, keys: &[&[u8]], snapshot: Option<usize>) -> Outcome<Vec<Option<Vec<u8>>>>;
    fn iterate(&self, family: usize, how: &IterHow) -> Outcome<Box<dyn Cursor + '_>>;
    /// Reads every block of every table. False when the interface cannot ask for it.
    fn verify_checksum(&self) -> Outcome<bool>;
    /// What the engine says about a family under a name.
    fn property(&self, family: usize, name: &str) -> Outcome<String>;
    fn close(self: Box<Self>) -> Outcome<()>;
}

/// All rows: number of the family, key, and the first byte and the length of the value.
pub fn rows(db: &dyn Database) -> Outcome<Value> {
    let mut all = Vec::new();
    for family in 0..db.families() {
        let mut cursor = db.iterate(family, &IterHow::default())?;
        cursor.seek_to_first();
        while cursor.valid() {
            let value = cursor.value().first().map(|byte| (*byte, cursor.value().len()));
            all.push(json!([family, String::from_utf8_lossy(cursor.key()), value]));
            cursor.next();
        }
        cursor.status()?;
    }
    Ok(all.into())
}

/// An iterator.
pub trait Cursor {
    fn seek_to_first(&mut self);
    fn seek_to_last(&mut self);
    fn seek(&mut self, key: &[u8]);
    fn seek_for_prev(&mut self, key: &[u8]);
    fn next(&mut self);
    fn prev(&mut self);
    fn valid(&self) -> bool;
    fn key(&self) -> &[u8];
    fn value(&self) -> &[u8];
    fn status(&self) -> Outcome<()>;
}

/// The first directory of tables, in the directory of the database, where it has several.
pub const FIRST_TABLES: &str = "tables-a";

/// The directories of tables, with the bytes that they should hold; none where all lie beside the other files.
pub fn table_directories(directory: &Path) -> Vec<(PathBuf, u64)> {
    let first = directory.join(FIRST_TABLES);
    if first.is_dir() { vec![(first, 100_000), (directory.join("tables-b"), 0)] } else { Vec::new() }
}
