//! The tables of a database, and lists of tables that a caller puts together.

use crate::db::rocksdb_t;
use crate::handle::{give, take};
use crate::memory::{bytes, put};
use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The tables of a moment.
#[derive(Default)]
pub struct rocksdb_livefiles_t {
    files: Vec<rocksdb_livefile_t>,
}

/// What is told of a table.
#[derive(Default)]
pub struct rocksdb_livefile_t {
    column_family: CString,
    name: CString,
    directory: CString,
    level: c_int,
    size_bytes: usize,
    smallest_key: Vec<u8>,
    largest_key: Vec<u8>,
    smallest_sequence: u64,
    largest_sequence: u64,
    entries: u64,
    deletions: u64,
    /// What an export told, and no setter says.
    exported: ferrock::ExportedFile,
}

impl rocksdb_livefiles_t {
    /// The tables of an exported family.
    pub(crate) fn of_export(files: &[ferrock::ExportedFile]) -> Self {
        Self { files: files.iter().map(of_exported).collect() }
    }

    /// The tables as those of an exported family.
    pub(crate) fn to_export(&self) -> Vec<ferrock::ExportedFile> {
        self.files.iter().map(to_exported).collect()
    }
}

fn of_exported(file: &ferrock::ExportedFile) -> rocksdb_livefile_t {
    let text = |path: Option<&OsStr>| path.map(OsStr::as_bytes).unwrap_or_default().to_vec();
    let name = [b"/", &text(file.path.file_name())[..]].concat();
    let user_key = |key: &Vec<u8>| key[..key.len().saturating_sub(8)].to_vec();
    rocksdb_livefile_t {
        name: CString::new(name).unwrap_or_default(),
        directory: CString::new(text(file.path.parent().map(Path::as_os_str))).unwrap_or_default(),
        level: c_int::try_from(file.level).unwrap_or(c_int::MAX),
        size_bytes: usize::try_from(file.size_bytes).unwrap_or(usize::MAX),
        smallest_key: user_key(&file.smallest),
        largest_key: user_key(&file.largest),
        smallest_sequence: file.smallest_sequence.0,
        largest_sequence: file.largest_sequence.0,
        exported: file.clone(),
        ..rocksdb_livefile_t::default()
    }
}

fn to_exported(file: &rocksdb_livefile_t) -> ferrock::ExportedFile {
    let name = file.name.to_bytes();
    let name = name.strip_prefix(b"/").unwrap_or(name);
    ferrock::ExportedFile {
        path: Path::new(OsStr::from_bytes(file.directory.to_bytes())).join(OsStr::from_bytes(name)),
        level: usize::try_from(file.level).unwrap_or(usize::MAX),
        size_bytes: file.size_bytes as u64,
        smallest_sequence: ferrock::SequenceNumber(file.smallest_sequence),
        largest_sequence: ferrock::SequenceNumber(file.largest_sequence),
        ..file.exported.clone()
    }
}

/// A table of a database as this interface tells it. RocksDB's names begin with the slash that parts them from the
/// directory.
fn told(file: &ferrock::LiveFile) -> rocksdb_livefile_t {
    rocksdb_livefile_t {
        column_family: CString::new(&file.column_family[..]).unwrap_or_default(),
        name: CString::new(format!("/{}", file.name())).unwrap_or_default(),
        directory: CString::new(file.directory.as_os_str().as_bytes()).unwrap_or_default(),
        level: c_int::try_from(file.level).unwrap_or(c_int::MAX),
        size_bytes: usize::try_from(file.size_bytes).unwrap_or(usize::MAX),
        smallest_key: file.smallest_user_key.clone(),
        largest_key: file.largest_user_key.clone(),
        smallest_sequence: file.smallest_sequence.0,
        largest_sequence: file.largest_sequence.0,
        entries: file.num_entries,
        deletions: file.num_deletions,
        ..rocksdb_livefile_t::default()
    }
}

/// # Safety
/// The contract.
unsafe fn file<'a>(files: *const rocksdb_livefiles_t, index: c_int) -> Option<&'a rocksdb_livefile_t> {
    // SAFETY: as for this function.
    unsafe { files.as_ref() }?.files.get(usize::try_from(index).ok()?)
}

/// A key of a table; null behind the last.
///
/// # Safety
/// The contract.
unsafe fn tell_key(
    file: Option<&rocksdb_livefile_t>,
    key: fn(&rocksdb_livefile_t) -> &Vec<u8>,
    length: *mut usize,
) -> *const c_char {
    let key = file.map(key);
    // SAFETY: as for this function.
    unsafe { put(length, key.map_or(0, Vec::len)) };
    key.map_or(std::ptr::null(), |key| key.as_ptr().cast())
}

/// A text of a caller, copied.
///
/// # Safety
/// The contract.
unsafe fn copied(text: *const c_char) -> CString {
    // SAFETY: as for this function.
    if text.is_null() { CString::default() } else { unsafe { CStr::from_ptr(text) }.to_owned() }
}

c_functions! {
    /// The tables of all column families, now.
    fn rocksdb_livefiles(db: *mut rocksdb_t) -> *const rocksdb_livefiles_t {
        // SAFETY: the contract.
        let Some(db) = (unsafe { db.as_ref() }) else { return std::ptr::null() };
        give(rocksdb_livefiles_t { files: db.db.live_files().iter().map(told).collect() })
    }

    /// No tables.
    fn rocksdb_livefiles_create() -> *mut rocksdb_livefiles_t {
        give(rocksdb_livefiles_t::default())
    }

    /// Adds a table, which belongs to the list from now on.
    fn rocksdb_livefiles_add(files: *mut rocksdb_livefiles_t, file: *mut rocksdb_livefile_t) {
        // SAFETY: the contract: the table is handed over.
        let (files, file) = unsafe { (files.as_mut(), take(file)) };
        if let (Some(files), Some(file)) = (files, file) {
            files.files.push(*file);
        }
    }

    /// How many tables there are.
    fn rocksdb_livefiles_count(files: *const rocksdb_livefiles_t) -> c_int {
        // SAFETY: the contract.
        let count = unsafe { files.as_ref() }.map_or(0, |files| files.files.len());
        c_int::try_from(count).unwrap_or(c_int::MAX)
    }

    /// The name of a table; null behind the last.
    fn rocksdb_livefiles_name(files: *const rocksdb_livefiles_t, index: c_int) -> *const c_char {
        // SAFETY: the contract.
        unsafe { file(files, index) }.map_or(std::ptr::null(), |file| file.name.as_ptr())
    }

    /// The name of its column family.
    fn rocksdb_livefiles_column_family_name(files: *const rocksdb_livefiles_t, index: c_int) -> *const c_char {
        // SAFETY: the contract.
        unsafe { file(files, index) }.map_or(std::ptr::null(), |file| file.column_family.as_ptr())
    }

    /// Its directory.
    fn rocksdb_livefiles_directory(files: *const rocksdb_livefiles_t, index: c_int) -> *const c_char {
        // SAFETY: the contract.
        unsafe { file(files, index) }.map_or(std::ptr::null(), |file| file.directory.as_ptr())
    }

    /// The level of a table.
    fn rocksdb_livefiles_level(files: *const rocksdb_livefiles_t, index: c_int) -> c_int {
        // SAFETY: the contract.
        unsafe { file(files, index) }.map_or(0, |file| file.level)
    }

    /// The bytes of a table.
    fn rocksdb_livefiles_size(files: *const rocksdb_livefiles_t, index: c_int) -> usize {
        // SAFETY: the contract.
        unsafe { file(files, index) }.map_or(0, |file| file.size_bytes)
    }

    /// Its smallest key.
    fn rocksdb_livefiles_smallestkey(
        files: *const rocksdb_livefiles_t,
        index: c_int,
        length: *mut usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        unsafe { tell_key(file(files, index), |file| &file.smallest_key, length) }
    }

    /// Its largest key.
    fn rocksdb_livefiles_largestkey(
        files: *const rocksdb_livefiles_t,
        index: c_int,
        length: *mut usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        unsafe { tell_key(file(files, index), |file| &file.largest_key, length) }
    }

    /// Its oldest sequence number.
    fn rocksdb_livefiles_smallest_seqno(files: *const rocksdb_livefiles_t, index: c_int) -> u64 {
        // SAFETY: the contract.
        unsafe { file(files, index) }.map_or(0, |file| file.smallest_sequence)
    }

    /// Its newest sequence number.
    fn rocksdb_livefiles_largest_seqno(files: *const rocksdb_livefiles_t, index: c_int) -> u64 {
        // SAFETY: the contract.
        unsafe { file(files, index) }.map_or(0, |file| file.largest_sequence)
    }

    /// Its entries.
    fn rocksdb_livefiles_entries(files: *const rocksdb_livefiles_t, index: c_int) -> u64 {
        // SAFETY: the contract.
        unsafe { file(files, index) }.map_or(0, |file| file.entries)
    }

    /// Those of them that remove a key.
    fn rocksdb_livefiles_deletions(files: *const rocksdb_livefiles_t, index: c_int) -> u64 {
        // SAFETY: the contract.
        unsafe { file(files, index) }.map_or(0, |file| file.deletions)
    }

    /// Ends a list of tables.
    fn rocksdb_livefiles_destroy(files: *const rocksdb_livefiles_t) {
        // SAFETY: the contract: the handle is not used again.
        drop(unsafe { take(files.cast_mut()) });
    }

    /// A table about which nothing is said yet.
    fn rocksdb_livefile_create() -> *mut rocksdb_livefile_t {
        give(rocksdb_livefile_t::default())
    }

    /// Says the smallest key.
    fn rocksdb_livefile_set_smallest_key(file: *mut rocksdb_livefile_t, key: *const c_char, length: usize) {
        // SAFETY: the contract.
        if let Some(file) = unsafe { file.as_mut() } {
            // SAFETY: the contract.
            file.smallest_key = unsafe { bytes(key, length) }.to_vec();
        }
    }

    /// Says the largest key.
    fn rocksdb_livefile_set_largest_key(file: *mut rocksdb_livefile_t, key: *const c_char, length: usize) {
        // SAFETY: the contract.
        if let Some(file) = unsafe { file.as_mut() } {
            // SAFETY: the contract.
            file.largest_key = unsafe { bytes(key, length) }.to_vec();
        }
    }
}

/// Setters of a table's texts and numbers.
macro_rules! says {
    ($($name:ident($ty:ty) => $field:ident $(by $copy:ident)?;)*) => {
        c_functions! {$(
            #[doc = "Says something about a table."]
            fn $name(file: *mut rocksdb_livefile_t, value: $ty) {
                // SAFETY: the contract.
                if let Some(file) = unsafe { file.as_mut() } {
                    // SAFETY: the contract.
                    $( let value = unsafe { $copy(value) }; )?
                    file.$field = value;
                }
            }
        )*}
    };
}

says! {
    rocksdb_livefile_set_column_family_name(*const c_char) => column_family by copied;
    rocksdb_livefile_set_name(*const c_char) => name by copied;
    rocksdb_livefile_set_directory(*const c_char) => directory by copied;
    rocksdb_livefile_set_level(c_int) => level;
    rocksdb_livefile_set_size(usize) => size_bytes;
    rocksdb_livefile_set_smallest_seqno(u64) => smallest_sequence;
    rocksdb_livefile_set_largest_seqno(u64) => largest_sequence;
    rocksdb_livefile_set_num_entries(u64) => entries;
    rocksdb_livefile_set_num_deletions(u64) => deletions;
}

c_destructors! {
    /// Ends what is told of a table.
    fn rocksdb_livefile_destroy(rocksdb_livefile_t);
}
