//! Which levels and which keys a question for the levels of a column family is about.

use crate::db::rocksdb_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::handle::give;
use crate::memory::{bytes, put};
use crate::metadata::{Levels, rocksdb_column_family_metadata_t};
use ferrock::{ColumnFamily, LiveFile};
use std::cmp::Ordering;
use std::ffi::{c_char, c_int};
use std::ptr::{null, null_mut};

/// What is asked for.
#[derive(Default)]
pub struct rocksdb_column_family_metadata_options_t {
    /// The only level; all of them below 0.
    level: Option<c_int>,
    /// Tables that end before it are left out.
    start: Option<Vec<u8>>,
    /// Tables that begin behind it are left out.
    end: Option<Vec<u8>>,
}

const ALL_LEVELS: c_int = -1;

impl rocksdb_column_family_metadata_options_t {
    fn level(&self) -> c_int {
        self.level.unwrap_or(ALL_LEVELS)
    }

    fn wants(&self, family: &ColumnFamily, file: &LiveFile) -> bool {
        let options = family.options();
        let compare = |left: &[u8], right: &[u8]| options.comparator.compare(left, right);
        let ends_before = |start: &Vec<u8>| compare(&file.largest_user_key, start) == Ordering::Less;
        let begins_behind = |end: &Vec<u8>| compare(&file.smallest_user_key, end) == Ordering::Greater;
        let is_level = usize::try_from(self.level()).map_or(true, |level| level == file.level);
        // Nothing is between keys in the wrong order.
        let is_range = match (&self.start, &self.end) {
            (Some(start), Some(end)) => compare(start, end) != Ordering::Greater,
            _ => true,
        };
        is_level
            && is_range
            && !self.start.as_ref().is_some_and(ends_before)
            && !self.end.as_ref().is_some_and(begins_behind)
    }

    fn ask(this: Option<&Self>, db: &rocksdb_t, family: &ColumnFamily) -> *mut rocksdb_column_family_metadata_t {
        let all = Self::default();
        let this = this.unwrap_or(&all);
        let mut levels = Levels::of(db, family);
        levels.levels.iter_mut().for_each(|level| level.files.retain(|file| this.wants(family, file)));
        levels.levels.retain(|level| !level.files.is_empty());
        levels.give()
    }
}

/// Keeps a key, or that there is none.
///
/// # Safety
/// The contract.
unsafe fn key_of(key: *const c_char, length: usize) -> Option<Vec<u8>> {
    // SAFETY: as for this function.
    (!key.is_null()).then(|| unsafe { bytes(key, length) }.to_vec())
}

/// A key that stays that of the options.
///
/// # Safety
/// The contract.
unsafe fn shown(key: Option<&Vec<u8>>, length: *mut usize) -> *const c_char {
    // SAFETY: as for this function.
    unsafe { put(length, key.map_or(0, Vec::len)) };
    key.map_or(null(), |key| key.as_ptr().cast())
}

c_functions! {
    /// Options that ask for all levels and keys.
    fn rocksdb_column_family_metadata_options_create() -> *mut rocksdb_column_family_metadata_options_t {
        give(rocksdb_column_family_metadata_options_t::default())
    }

    /// Asks for one level; a negative number is all of them.
    fn rocksdb_column_family_metadata_options_set_level(
        options: *mut rocksdb_column_family_metadata_options_t,
        level: c_int,
    ) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.level = Some(level);
        }
    }

    /// The number that was set; at first -1.
    fn rocksdb_column_family_metadata_options_get_level(
        options: *mut rocksdb_column_family_metadata_options_t,
    ) -> c_int {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(ALL_LEVELS, rocksdb_column_family_metadata_options_t::level)
    }

    /// Leaves out tables whose last key is before this one, which is copied; null takes it back.
    fn rocksdb_column_family_metadata_options_set_start_key(
        options: *mut rocksdb_column_family_metadata_options_t,
        key: *const c_char,
        length: usize,
    ) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            // SAFETY: the contract.
            options.start = unsafe { key_of(key, length) };
        }
    }

    /// The key, while the options keep it; null without one.
    fn rocksdb_column_family_metadata_options_get_start_key(
        options: *const rocksdb_column_family_metadata_options_t,
        length: *mut usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        unsafe { shown(options.as_ref().and_then(|options| options.start.as_ref()), length) }
    }

    /// Leaves out tables whose first key is behind this one, which is copied; null takes it back.
    fn rocksdb_column_family_metadata_options_set_end_key(
        options: *mut rocksdb_column_family_metadata_options_t,
        key: *const c_char,
        length: usize,
    ) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            // SAFETY: the contract.
            options.end = unsafe { key_of(key, length) };
        }
    }

    /// The key, while the options keep it; null without one.
    fn rocksdb_column_family_metadata_options_get_end_key(
        options: *const rocksdb_column_family_metadata_options_t,
        length: *mut usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        unsafe { shown(options.as_ref().and_then(|options| options.end.as_ref()), length) }
    }

    /// The levels of the default column family that have tables which the options ask for, with these tables; null
    /// options ask for all.
    fn rocksdb_get_column_family_metadata_with_options(
        db: *mut rocksdb_t,
        options: *const rocksdb_column_family_metadata_options_t,
    ) -> *mut rocksdb_column_family_metadata_t {
        type Asked = rocksdb_column_family_metadata_options_t;
        // SAFETY: the contract.
        unsafe { db.as_ref() }.map_or(null_mut(), |db| unsafe { Asked::ask(options.as_ref(), db, &db.default) })
    }

    /// The same of a column family.
    fn rocksdb_get_column_family_metadata_cf_with_options(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        options: *const rocksdb_column_family_metadata_options_t,
    ) -> *mut rocksdb_column_family_metadata_t {
        type Asked = rocksdb_column_family_metadata_options_t;
        // SAFETY: the contract.
        let (both, options) = unsafe { (db.as_ref().zip(column_family.as_ref()), options.as_ref()) };
        both.map_or(null_mut(), |(db, family)| Asked::ask(options, db, &family.family))
    }
}

c_destructors! {
    /// Ends options of such a question.
    fn rocksdb_column_family_metadata_options_destroy(rocksdb_column_family_metadata_options_t);
}
