//! The levels of a column family and their tables, as they are at a moment.

use crate::db::rocksdb_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::handle::give;
use crate::memory::{new_bytes, new_text, put};
use ferrock::{ColumnFamily, LiveFile};
use ferrock_format::file_name;
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;
use std::sync::Arc;

/// The levels of a column family.
pub struct rocksdb_column_family_metadata_t {
    family: Arc<Levels>,
}

/// A level.
pub struct rocksdb_level_metadata_t {
    family: Arc<Levels>,
    /// Its place in the list.
    level: usize,
}

/// A table of a level.
pub struct rocksdb_sst_file_metadata_t {
    family: Arc<Levels>,
    level: usize,
    index: usize,
}

/// What all handles of one question share, so that they may end in any order.
pub(crate) struct Levels {
    name: String,
    pub(crate) levels: Vec<LevelFiles>,
}

/// The tables of a level.
pub(crate) struct LevelFiles {
    number: usize,
    pub(crate) files: Vec<LiveFile>,
}

/// More than any tree has.
const MAX_LEVELS: usize = 1000;

impl Levels {
    /// Those of a family, now.
    pub(crate) fn of(db: &rocksdb_t, family: &ColumnFamily) -> Self {
        let has_level =
            |level: &usize| db.db.property_cf(family, &format!("rocksdb.num-files-at-level{level}")).is_some();
        let empty = |number| LevelFiles { number, files: Vec::new() };
        let mut levels: Vec<LevelFiles> = (0..MAX_LEVELS).take_while(has_level).map(empty).collect();
        for file in db.db.live_files().into_iter().filter(|file| file.column_family == family.name()) {
            levels.extend((levels.len()..=file.level).map(empty));
            let level = file.level;
            levels[level].files.push(file);
        }
        Self { name: family.name().to_owned(), levels }
    }

    pub(crate) fn give(self) -> *mut rocksdb_column_family_metadata_t {
        give(rocksdb_column_family_metadata_t { family: Arc::new(self) })
    }

    fn level(&self, level: usize) -> &[LiveFile] {
        self.levels.get(level).map_or(&[], |level| &level.files[..])
    }
}

fn size_of(files: &[LiveFile]) -> u64 {
    files.iter().map(|file| file.size_bytes).sum()
}

/// The table of a handle.
///
/// # Safety
/// The contract.
unsafe fn table<'a>(handle: *const rocksdb_sst_file_metadata_t) -> Option<&'a LiveFile> {
    // SAFETY: as for this function.
    let handle = unsafe { handle.as_ref() }?;
    handle.family.level(handle.level).get(handle.index)
}

/// A key of a table, from `malloc`.
///
/// # Safety
/// The contract.
unsafe fn give_key(key: Option<&Vec<u8>>, length: *mut usize) -> *mut c_char {
    // SAFETY: as for this function.
    unsafe { put(length, key.map_or(0, Vec::len)) };
    key.map_or(null_mut(), |key| new_bytes(key))
}

c_functions! {
    /// The levels of the default column family, now.
    fn rocksdb_get_column_family_metadata(db: *mut rocksdb_t) -> *mut rocksdb_column_family_metadata_t {
        // SAFETY: the contract.
        unsafe { db.as_ref() }.map_or(null_mut(), |db| Levels::of(db, &db.default).give())
    }

    /// The levels of a column family, now.
    fn rocksdb_get_column_family_metadata_cf(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_column_family_metadata_t {
        // SAFETY: the contract.
        let both = unsafe { db.as_ref().zip(column_family.as_ref()) };
        both.map_or(null_mut(), |(db, family)| Levels::of(db, &family.family).give())
    }

    /// Bytes of all tables.
    fn rocksdb_column_family_metadata_get_size(metadata: *mut rocksdb_column_family_metadata_t) -> u64 {
        // SAFETY: the contract.
        unsafe { metadata.as_ref() }.map_or(0, |metadata| metadata.family.levels.iter().map(|level| size_of(&level.files)).sum())
    }

    /// How many tables there are.
    fn rocksdb_column_family_metadata_get_file_count(metadata: *mut rocksdb_column_family_metadata_t) -> usize {
        // SAFETY: the contract.
        unsafe { metadata.as_ref() }.map_or(0, |metadata| metadata.family.levels.iter().map(|level| level.files.len()).sum())
    }

    /// The name of the column family, from `malloc`.
    fn rocksdb_column_family_metadata_get_name(metadata: *mut rocksdb_column_family_metadata_t) -> *mut c_char {
        // SAFETY: the contract.
        unsafe { metadata.as_ref() }.map_or(null_mut(), |metadata| new_text(&metadata.family.name))
    }

    /// How many levels there are.
    fn rocksdb_column_family_metadata_get_level_count(metadata: *mut rocksdb_column_family_metadata_t) -> usize {
        // SAFETY: the contract.
        unsafe { metadata.as_ref() }.map_or(0, |metadata| metadata.family.levels.len())
    }

    /// A level; null behind the last.
    fn rocksdb_column_family_metadata_get_level_metadata(
        metadata: *mut rocksdb_column_family_metadata_t,
        level: usize,
    ) -> *mut rocksdb_level_metadata_t {
        // SAFETY: the contract.
        let metadata = unsafe { metadata.as_ref() }.filter(|metadata| level < metadata.family.levels.len());
        metadata.map_or(null_mut(), |metadata| {
            give(rocksdb_level_metadata_t { family: Arc::clone(&metadata.family), level })
        })
    }

    /// The number of a level.
    fn rocksdb_level_metadata_get_level(level: *mut rocksdb_level_metadata_t) -> c_int {
        // SAFETY: the contract.
        let of = unsafe { level.as_ref() }.and_then(|level| level.family.levels.get(level.level));
        of.map_or(0, |level| c_int::try_from(level.number).unwrap_or(c_int::MAX))
    }

    /// Bytes of its tables.
    fn rocksdb_level_metadata_get_size(level: *mut rocksdb_level_metadata_t) -> u64 {
        // SAFETY: the contract.
        unsafe { level.as_ref() }.map_or(0, |level| size_of(level.family.level(level.level)))
    }

    /// How many tables it has.
    fn rocksdb_level_metadata_get_file_count(level: *mut rocksdb_level_metadata_t) -> usize {
        // SAFETY: the contract.
        unsafe { level.as_ref() }.map_or(0, |level| level.family.level(level.level).len())
    }

    /// A table of a level; null behind the last.
    fn rocksdb_level_metadata_get_sst_file_metadata(
        level: *mut rocksdb_level_metadata_t,
        index: usize,
    ) -> *mut rocksdb_sst_file_metadata_t {
        // SAFETY: the contract.
        let level = unsafe { level.as_ref() }.filter(|level| index < level.family.level(level.level).len());
        level.map_or(null_mut(), |level| {
            give(rocksdb_sst_file_metadata_t { family: Arc::clone(&level.family), level: level.level, index })
        })
    }

    /// The name of a table, from `malloc`.
    fn rocksdb_sst_file_metadata_get_relative_filename(file: *mut rocksdb_sst_file_metadata_t) -> *mut c_char {
        // SAFETY: the contract.
        unsafe { table(file) }.map_or(null_mut(), |file| new_text(&file_name::table(file.number)))
    }

    /// Its directory, from `malloc`.
    fn rocksdb_sst_file_metadata_get_directory(file: *mut rocksdb_sst_file_metadata_t) -> *mut c_char {
        // SAFETY: the contract.
        unsafe { table(file) }.map_or(null_mut(), |file| new_text(&file.directory.to_string_lossy()))
    }

    /// Its bytes.
    fn rocksdb_sst_file_metadata_get_size(file: *mut rocksdb_sst_file_metadata_t) -> u64 {
        // SAFETY: the contract.
        unsafe { table(file) }.map_or(0, |file| file.size_bytes)
    }

    /// Its smallest key, from `malloc`.
    fn rocksdb_sst_file_metadata_get_smallestkey(
        file: *mut rocksdb_sst_file_metadata_t,
        length: *mut usize,
    ) -> *mut c_char {
        // SAFETY: the contract.
        unsafe { give_key(table(file).map(|file| &file.smallest_user_key), length) }
    }

    /// Its largest key, from `malloc`.
    fn rocksdb_sst_file_metadata_get_largestkey(
        file: *mut rocksdb_sst_file_metadata_t,
        length: *mut usize,
    ) -> *mut c_char {
        // SAFETY: the contract.
        unsafe { give_key(table(file).map(|file| &file.largest_user_key), length) }
    }
}

c_destructors! {
    /// Ends the levels of a column family; handles of levels and tables stay.
    fn rocksdb_column_family_metadata_destroy(rocksdb_column_family_metadata_t);
    /// Ends a level; handles of tables stay.
    fn rocksdb_level_metadata_destroy(rocksdb_level_metadata_t);
    /// Ends a table.
    fn rocksdb_sst_file_metadata_destroy(rocksdb_sst_file_metadata_t);
}
