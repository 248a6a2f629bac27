//! Properties.

use crate::db::rocksdb_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::memory::{new_text, put, text};
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

c_functions! {
    /// A property of the default column family as a text from `malloc`; null when there is none of that name.
    fn rocksdb_property_value(db: *mut rocksdb_t, name: *const c_char) -> *mut c_char {
        // SAFETY: the contract.
        let (db, name) = unsafe { (db.as_ref(), text(name, "name of the property").ok()) };
        let value = db.zip(name).and_then(|(db, name)| db.db.property_cf(&db.default, name));
        value.map_or(null_mut(), |value| new_text(&value))
    }

    /// A property of a column family as a text from `malloc`; null when there is none of that name.
    fn rocksdb_property_value_cf(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        name: *const c_char,
    ) -> *mut c_char {
        // SAFETY: the contract.
        let (db, family, name) =
            unsafe { (db.as_ref(), column_family.as_ref(), text(name, "name of the property").ok()) };
        let value = db.zip(family).zip(name);
        let value = value.and_then(|((db, family), name)| db.db.property_cf(&family.family, name));
        value.map_or(null_mut(), |value| new_text(&value))
    }

    /// A property of the default column family as a number: 0 when it has it, -1 when not.
    fn rocksdb_property_int(db: *mut rocksdb_t, name: *const c_char, value: *mut u64) -> c_int {
        // SAFETY: the contract.
        let (db, name) = unsafe { (db.as_ref(), text(name, "name of the property").ok()) };
        match db.zip(name).and_then(|(db, name)| db.db.int_property_cf(&db.default, name)) {
            Some(number) => {
                // SAFETY: the contract.
                unsafe { put(value, number) };
                0
            }
            None => -1,
        }
    }

    /// A property of a column family as a number: 0 when it has it, -1 when not.
    fn rocksdb_property_int_cf(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        name: *const c_char,
        value: *mut u64,
    ) -> c_int {
        // SAFETY: the contract.
        let (db, family, name) =
            unsafe { (db.as_ref(), column_family.as_ref(), text(name, "name of the property").ok()) };
        let number = db.zip(family).zip(name);
        match number.and_then(|((db, family), name)| db.db.int_property_cf(&family.family, name)) {
            Some(number) => {
                // SAFETY: the contract.
                unsafe { put(value, number) };
                0
            }
            None => -1,
        }
    }

    /// The identity of a database, from `malloc`.
    fn rocksdb_get_db_identity(db: *mut rocksdb_t, length: *mut usize) -> *mut c_char {
        // SAFETY: the contract.
        let identity = unsafe { db.as_ref() }.map(|db| db.db.identity());
        // SAFETY: the contract.
        unsafe { put(length, identity.map_or(0, str::len)) };
        identity.map_or(null_mut(), new_text)
    }
}
