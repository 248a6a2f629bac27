//! Options from a line of text, and from the OPTIONS file of a directory.

use crate::cache::rocksdb_cache_t;
use crate::column_family::free_texts;
use crate::db::rocksdb_t;
use crate::env::rocksdb_env_t;
use crate::family_handle::{count_of, family, rocksdb_column_family_handle_t};
use crate::handle::{borrow, give, take};
use crate::memory::null_handle;
use crate::memory::{self, array, new_array, new_text, put};
use crate::options::rocksdb_options_t;
use ferrock::options::{LoadedOptions, apply_text, load_latest};
use ferrock::{Error, ErrorKind, Result};
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;
use std::sync::Arc;

/// Names and values of a caller.
///
/// # Safety
/// The contract: both arrays have `count` texts.
unsafe fn changes<'a>(
    count: c_int,
    names: *const *const c_char,
    values: *const *const c_char,
) -> Result<Vec<(&'a str, &'a str)>> {
    // SAFETY: as for this function.
    unsafe {
        if count <= 0 {
            return Err(Error::invalid_argument("empty input"));
        }
        let pairs = array(names, count_of(count)).iter().zip(array(values, count_of(count)));
        pairs.map(|(name, value)| Ok((memory::text(*name, "option")?, memory::text(*value, "value")?))).collect()
    }
}

c_fallible! {
    /// Changes options of the default column family of an open database.
    fn rocksdb_set_options(
        db: *mut rocksdb_t,
        count: c_int,
        names: *const *const c_char,
        values: *const *const c_char,
    ) {
        // SAFETY: the contract.
        let (db, changes) = unsafe { (borrow(db, "database")?, changes(count, names, values)?) };
        db.db.set_options_cf(&db.default, &changes)
    }

    /// Changes options of a column family of an open database.
    fn rocksdb_set_options_cf(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        count: c_int,
        names: *const *const c_char,
        values: *const *const c_char,
    ) {
        // SAFETY: the contract.
        let (db, family, changes) =
            unsafe { (borrow(db, "database")?, family(column_family)?, changes(count, names, values)?) };
        db.db.set_options_cf(family, &changes)
    }

    /// Changes options of an open database.
    fn rocksdb_set_db_options(
        db: *mut rocksdb_t,
        count: c_int,
        names: *const *const c_char,
        values: *const *const c_char,
    ) {
        // SAFETY: the contract.
        let (db, changes) = unsafe { (borrow(db, "database")?, changes(count, names, values)?) };
        db.db.set_db_options(&changes)
    }

    /// `new_options` become `base_options`, changed by a text like `write_buffer_size=8m;compression=kZSTD`.
    fn rocksdb_get_options_from_string(
        base_options: *const rocksdb_options_t,
        text: *const c_char,
        new_options: *mut rocksdb_options_t,
    ) {
        // SAFETY: the contract. Both handles may be the same, so the base is copied first.
        let (mut options, text) =
            unsafe { (borrow(base_options, "base options")?.clone(), memory::text(text, "options")?) };
        apply_text(&mut options.db, &mut options.family, text)?;
        // SAFETY: the contract.
        let place = unsafe { new_options.as_mut() }.ok_or_else(|| null_handle("new options"))?;
        *place = options;
        Ok(())
    }

    /// The options of a directory's newest OPTIONS file: those of the database, and name and options of every column
    /// family. To be ended with `rocksdb_load_latest_options_destroy`. A null environment is the machine.
    /// After an error the places hold null and 0.
    fn rocksdb_load_latest_options(
        path: *const c_char,
        env: *mut rocksdb_env_t,
        ignore_unknown_options: bool,
        cache: *mut rocksdb_cache_t,
        db_options: *mut *mut rocksdb_options_t,
        count: *mut usize,
        names: *mut *mut *mut c_char,
        family_options: *mut *mut *mut rocksdb_options_t,
    ) {
        // SAFETY: the contract: a place is null or can be written.
        unsafe {
            put(db_options, null_mut());
            put(count, 0);
            put(names, null_mut());
            put(family_options, null_mut());
        }
        if db_options.is_null() || count.is_null() || names.is_null() || family_options.is_null() {
            return Err(null_handle("place for the options"));
        }
        // SAFETY: the contract.
        let (path, env, cache) = unsafe { (memory::path(path)?, env.as_ref(), cache.as_ref()) };
        let files = env.and_then(rocksdb_env_t::file_system).unwrap_or_else(ferrock_vfs::default_file_system);
        // A directory that is not there has none, too.
        let loaded = if files.exists(path)? { load_latest(&*files, path)? } else { None };
        let loaded = loaded.ok_or_else(|| {
            let text = "No such file or directory: No options files found in the DB directory.";
            Error::new(ErrorKind::NotFound, format!("{text}: {}", path.display()))
        })?;
        if !ignore_unknown_options && let Some(name) = loaded.unknown.first() {
            return Err(Error::invalid_argument(format!("Extra option not recognized: {name}")).in_file(path));
        }
        let (own, texts, families) = handles_of(loaded, cache);
        // SAFETY: the contract: the places can be written.
        unsafe {
            count.write(texts.len());
            names.write(new_array(&texts));
            family_options.write(new_array(&families));
            db_options.write(own);
        }
        Ok(())
    }
}

c_functions! {
    /// Ends what `rocksdb_load_latest_options` gave.
    fn rocksdb_load_latest_options_destroy(
        db_options: *mut rocksdb_options_t,
        names: *mut *mut c_char,
        family_options: *mut *mut rocksdb_options_t,
        count: usize,
    ) {
        // SAFETY: the contract: handles and arrays are as `rocksdb_load_latest_options` made them.
        unsafe {
            drop(take(db_options));
            if !names.is_null() {
                free_texts(names, count);
            }
            for options in array(family_options, count) {
                drop(take(*options));
            }
            libc::free(family_options.cast());
        }
    }
}

/// Handles of what a file said.
fn handles_of(
    loaded: LoadedOptions,
    cache: Option<&rocksdb_cache_t>,
) -> (*mut rocksdb_options_t, Vec<*mut c_char>, Vec<*mut rocksdb_options_t>) {
    let cache = cache.map(|cache| Arc::clone(&cache.cache));
    let (mut texts, mut handles) = (Vec::new(), Vec::new());
    for (name, mut family) in loaded.column_families {
        family.block_cache.clone_from(&cache);
        texts.push(new_text(&name));
        handles.push(give(rocksdb_options_t { db: loaded.db.clone(), family, ..rocksdb_options_t::default() }));
    }
    (give(rocksdb_options_t { db: loaded.db, ..rocksdb_options_t::default() }), texts, handles)
}
