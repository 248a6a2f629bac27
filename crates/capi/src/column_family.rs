//! Column families and their handles.

use crate::db::rocksdb_t;
use crate::family_handle::{count_of, rocksdb_column_family_handle_t};
use crate::handle::{borrow, give};
use crate::memory;
use crate::options::rocksdb_options_t;
use std::ffi::{c_char, c_int};

c_fallible! {
    /// Creates a column family. The handle is the caller's.
    fn rocksdb_create_column_family(
        db: *mut rocksdb_t,
        options: *const rocksdb_options_t,
        name: *const c_char,
    ) -> *mut rocksdb_column_family_handle_t {
        // SAFETY: the contract.
        let (db, options, name) =
            unsafe { (borrow(db, "database")?, borrow(options, "options")?, memory::name(name, "column family's name")?) };
        let family = db.create_family(&name, options)?;
        Ok(give(rocksdb_column_family_handle_t { family }))
    }

    /// Creates column families with the same options: an array of their handles from `malloc`, to be ended with
    /// `rocksdb_create_column_families_destroy`. When one cannot be created there are no handles; those before it stay.
    fn rocksdb_create_column_families(
        db: *mut rocksdb_t,
        options: *const rocksdb_options_t,
        count: c_int,
        names: *const *const c_char,
        created: *mut usize,
    ) -> *mut *mut rocksdb_column_family_handle_t {
        // SAFETY: the contract: the array has `count` elements.
        let (db, options, names) = unsafe {
            memory::put(created, 0);
            (borrow(db, "database")?, borrow(options, "options")?, memory::array(names, count_of(count)))
        };
        let mut texts = Vec::with_capacity(names.len());
        for name in names {
            // SAFETY: the contract.
            texts.push(unsafe { memory::text(*name, "column family's name")? });
        }
        let families = db.create_families(&texts, options)?;
        let handles: Vec<_> =
            families.into_iter().map(|family| give(rocksdb_column_family_handle_t { family })).collect();
        // SAFETY: the contract.
        unsafe { memory::put(created, handles.len()) };
        Ok(memory::new_array(&handles))
    }

    /// Drops a column family. The handle stays, to be destroyed.
    fn rocksdb_drop_column_family(db: *mut rocksdb_t, handle: *mut rocksdb_column_family_handle_t) {
        // SAFETY: the contract.
        let (db, handle) = unsafe { (borrow(db, "database")?, borrow(handle, "column family")?) };
        db.db.drop_column_family(&handle.family)
    }

    /// Names of the column families of a database that need not be open; to be freed with
    /// `rocksdb_list_column_families_destroy`.
    fn rocksdb_list_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        count: *mut usize,
    ) -> *mut *mut c_char {
        // SAFETY: the contract.
        let (options, path) = unsafe {
            memory::put(count, 0);
            (borrow(options, "options")?, memory::path(name)?)
        };
        let names = ferrock::Db::list_column_families(path, &options.db)?;
        let texts: Vec<*mut c_char> = names.iter().map(|name| memory::new_text(name)).collect();
        // SAFETY: the contract.
        unsafe { memory::put(count, texts.len()) };
        Ok(memory::new_array(&texts))
    }
}

c_functions! {
    /// Frees what `rocksdb_list_column_families` gave.
    fn rocksdb_list_column_families_destroy(list: *mut *mut c_char, count: usize) {
        // SAFETY: the contract: list and texts are as `rocksdb_list_column_families` made them.
        unsafe { free_texts(list, count) };
    }

    /// Frees the array that `rocksdb_create_column_families` gave, not the handles in it.
    fn rocksdb_create_column_families_destroy(list: *mut *mut rocksdb_column_family_handle_t) {
        // SAFETY: the contract: the array came from `malloc`.
        unsafe { libc::free(list.cast()) };
    }

    /// The number of a column family.
    fn rocksdb_column_family_handle_get_id(handle: *mut rocksdb_column_family_handle_t) -> u32 {
        // SAFETY: the contract.
        unsafe { handle.as_ref() }.map_or(0, |handle| handle.family.id())
    }

    /// The name of a column family, from `malloc`.
    fn rocksdb_column_family_handle_get_name(
        handle: *mut rocksdb_column_family_handle_t,
        length: *mut usize,
    ) -> *mut c_char {
        // SAFETY: the contract.
        let Some(handle) = (unsafe { handle.as_ref() }) else {
            // SAFETY: the contract.
            unsafe { memory::put(length, 0) };
            return std::ptr::null_mut();
        };
        // The bytes: of a name that is not UTF-8, the text that stands for it is longer.
        let name = handle.family.name_bytes();
        // SAFETY: the contract.
        unsafe { memory::put(length, name.len()) };
        memory::new_text(handle.family.name())
    }

    /// A handle of the default column family, to be destroyed like any other.
    fn rocksdb_get_default_column_family_handle(db: *mut rocksdb_t) -> *mut rocksdb_column_family_handle_t {
        // SAFETY: the contract.
        let db = unsafe { db.as_ref() };
        db.map_or(std::ptr::null_mut(), |db| give(rocksdb_column_family_handle_t { family: db.default.clone() }))
    }
}

c_destructors! {
    /// Ends a handle; the column family stays.
    fn rocksdb_column_family_handle_destroy(rocksdb_column_family_handle_t);
}

/// Frees an array of texts, all from `malloc`.
///
/// # Safety
/// That they are, and `count` of them.
pub(crate) unsafe fn free_texts(list: *mut *mut c_char, count: usize) {
    // SAFETY: as for this function.
    for text in unsafe { memory::array(list, count) } {
        // SAFETY: as for this function.
        unsafe { libc::free(text.cast()) };
    }
    // SAFETY: as for this function.
    unsafe { libc::free(list.cast()) };
}
