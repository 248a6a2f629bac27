//! Opening, closing and destroying databases.

use crate::event_listener::{Attached, WithHandle};
use crate::family_handle::{count_of, rocksdb_column_family_handle_t};
use crate::handle::{borrow, give, take};
use crate::memory;
use crate::memory::null_handle;
use crate::options::rocksdb_options_t;
use ferrock::repair::Repair;
use ferrock::ttl::{TtlDb, WeakTtlDb};
use ferrock::{ColumnFamily, Db, DbOptions, Error, ErrorKind, EventListener, Result};
use std::borrow::Cow;
use std::ffi::{c_char, c_int, c_uchar};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// An open database.
pub struct rocksdb_t {
    pub(crate) db: Db,
    /// Looked up once: every function without a family means this one.
    pub(crate) default: ColumnFamily,
    /// Where values have times.
    pub(crate) ttl: Option<TtlDb>,
    /// Calls of `rocksdb_enable_manual_compaction` that nothing preceded.
    pub(crate) enabled_ahead: AtomicU32,
}

/// How to open.
#[derive(Clone, Copy)]
pub(crate) enum Mode<'a> {
    ReadWrite,
    ReadOnly {
        error_if_wal_file_exists: bool,
    },
    /// Values have times, and in each family live so long.
    WithTtl(&'a [Option<Duration>]),
    /// With a directory of its own.
    Secondary(&'a Path),
}

c_fallible! {
    /// Opens a database that has the default column family alone.
    fn rocksdb_open(options: *const rocksdb_options_t, name: *const c_char) -> *mut rocksdb_t {
        // SAFETY: the contract.
        let (options, path) = unsafe { (borrow(options, "options")?, memory::path(name)?) };
        open(options, path, &[("default".into(), options)], Mode::ReadWrite).map(|(db, _)| give(db))
    }

    /// Opens the default column family for reading.
    fn rocksdb_open_for_read_only(
        options: *const rocksdb_options_t,
        name: *const c_char,
        error_if_wal_file_exists: c_uchar,
    ) -> *mut rocksdb_t {
        // SAFETY: the contract.
        let (options, path) = unsafe { (borrow(options, "options")?, memory::path(name)?) };
        let mode = Mode::ReadOnly { error_if_wal_file_exists: error_if_wal_file_exists != 0 };
        open(options, path, &[("default".into(), options)], mode).map(|(db, _)| give(db))
    }

    /// Opens a database with its column families, and gives a handle for each.
    fn rocksdb_open_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_t {
        // SAFETY: the contract.
        let (families, options, path) = unsafe {
            (families(count, names, family_options)?, borrow(options, "options")?, memory::path(name)?)
        };
        let opened = open(options, path, &families, Mode::ReadWrite)?;
        // SAFETY: the contract: there is a place for every family.
        Ok(unsafe { give_with_families(opened, handles) })
    }

    /// Opens column families of a database for reading, and gives a handle for each.
    fn rocksdb_open_for_read_only_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        error_if_wal_file_exists: c_uchar,
    ) -> *mut rocksdb_t {
        // SAFETY: the contract.
        let (families, options, path) = unsafe {
            (families(count, names, family_options)?, borrow(options, "options")?, memory::path(name)?)
        };
        let mode = Mode::ReadOnly { error_if_wal_file_exists: error_if_wal_file_exists != 0 };
        let opened = open(options, path, &families, mode)?;
        // SAFETY: the contract: there is a place for every family.
        Ok(unsafe { give_with_families(opened, handles) })
    }
}

c_fallible! {
    /// Opens the default column family of a database that another process may write, to follow it.
    fn rocksdb_open_as_secondary(
        options: *const rocksdb_options_t,
        name: *const c_char,
        secondary_path: *const c_char,
    ) -> *mut rocksdb_t {
        // SAFETY: the contract.
        let (options, path, own) =
            unsafe { (borrow(options, "options")?, memory::path(name)?, memory::path(secondary_path)?) };
        open(options, path, &[("default".into(), options)], Mode::Secondary(own)).map(|(db, _)| give(db))
    }

    /// Opens column families of a database that another process may write, and gives a handle for each.
    fn rocksdb_open_as_secondary_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        secondary_path: *const c_char,
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_t {
        // SAFETY: the contract.
        let (families, options, path, own) = unsafe {
            (
                families(count, names, family_options)?,
                borrow(options, "options")?,
                memory::path(name)?,
                memory::path(secondary_path)?,
            )
        };
        let opened = open(options, path, &families, Mode::Secondary(own))?;
        // SAFETY: the contract: there is a place for every family.
        Ok(unsafe { give_with_families(opened, handles) })
    }

    /// Takes in what the primary of a secondary has written since.
    fn rocksdb_try_catch_up_with_primary(db: *mut rocksdb_t) {
        // SAFETY: the contract.
        unsafe { borrow(db, "database")? }.db.try_catch_up_with_primary()
    }
}

c_fallible! {
    /// Removes the files of a database that is not open.
    fn rocksdb_destroy_db(options: *const rocksdb_options_t, name: *const c_char) {
        // SAFETY: the contract.
        let (options, path) = unsafe { (borrow(options, "options")?, memory::path(name)?) };
        Db::destroy(path, &options.db).map_err(lock_error)
    }

    /// Salvages what is intact of a database that is not open, and writes a new MANIFEST; what is replaced goes to
    /// `lost/`. The options are those of every column family.
    fn rocksdb_repair_db(options: *const rocksdb_options_t, name: *const c_char) {
        // SAFETY: the contract.
        let (options, path) = unsafe { (borrow(options, "options")?, memory::path(name)?) };
        let family = options.family_to_open()?;
        let repair = Repair::new(options.db.clone()).families(vec![("default".to_owned(), family.clone())]);
        repair.unknown_families(family).run(path).map(|_| ()).map_err(lock_error)
    }
}

c_functions! {
    /// Closes a database: waits for what runs, flushes what only memory has, gives up the lock.
    fn rocksdb_close(db: *mut rocksdb_t) {
        // SAFETY: the contract: the handle is not used again.
        if let Some(db) = unsafe { take(db) } {
            // There is nowhere to say that closing failed; the LOG has it.
            let rocksdb_t { db, default, ttl, .. } = *db;
            drop((default, ttl));
            let _ = db.close();
        }
    }

    /// The newest sequence number.
    fn rocksdb_get_latest_sequence_number(db: *mut rocksdb_t) -> u64 {
        // SAFETY: the contract.
        unsafe { db.as_ref() }.map_or(0, |db| db.db.latest_sequence_number().0)
    }
}

/// Names and options of the families to open.
///
/// # Safety
/// Both arrays have `count` elements, as the contract says.
pub(crate) unsafe fn families<'a>(
    count: c_int,
    names: *const *const c_char,
    options: *const *const rocksdb_options_t,
) -> Result<Vec<(Cow<'a, str>, &'a rocksdb_options_t)>> {
    let count = count_of(count);
    if count > 0 && (names.is_null() || options.is_null()) {
        return Err(null_handle("list of column families"));
    }
    // SAFETY: as for this function.
    let (names, options) = unsafe { (memory::array(names, count), memory::array(options, count)) };
    let family = |(name, options): (&*const c_char, &*const rocksdb_options_t)| {
        // SAFETY: as for this function.
        unsafe { Ok((memory::name(*name, "column family's name")?, borrow(*options, "column family's options")?)) }
    };
    names.iter().zip(options).map(family).collect()
}

pub(crate) fn open(
    options: &rocksdb_options_t,
    path: &Path,
    families: &[(Cow<'_, str>, &rocksdb_options_t)],
    mode: Mode<'_>,
) -> Result<(rocksdb_t, Vec<ColumnFamily>)> {
    let mut db_options = options.db_to_open()?;
    let listeners: Vec<_> = options.event_listeners.iter().map(Attached::new).collect();
    let told = listeners.iter().map(|listener| Arc::clone(listener) as Arc<dyn EventListener>);
    db_options.components.listeners.extend(told);
    let opened = open_with(db_options, path, families, mode);
    let db = opened.as_ref().ok().map(|(db, _)| db);
    listeners.iter().for_each(|listener| listener.attach(db.map(handle_for_listeners)));
    opened
}

/// Handles of a database for its listeners, which do not keep it open.
fn handle_for_listeners(db: &rocksdb_t) -> WithHandle {
    let (weak, default) = (db.db.downgrade(), db.default.clone());
    let weak_ttl = db.ttl.as_ref().map(TtlDb::downgrade);
    Box::new(move |call| {
        if let Some(db) = weak.upgrade() {
            let ttl = weak_ttl.as_ref().and_then(WeakTtlDb::upgrade);
            let mut handle = rocksdb_t { db, default: default.clone(), ttl, enabled_ahead: AtomicU32::new(0) };
            call((&raw mut handle).cast());
        }
    })
}

fn open_with(
    db_options: DbOptions,
    path: &Path,
    families: &[(Cow<'_, str>, &rocksdb_options_t)],
    mode: Mode<'_>,
) -> Result<(rocksdb_t, Vec<ColumnFamily>)> {
    let mut descriptors = Vec::with_capacity(families.len());
    for (name, options) in families {
        descriptors.push((name.to_string(), options.family_to_open()?));
    }
    let (db, handles) = match mode {
        Mode::ReadWrite => Db::open_cf(path, db_options, descriptors).map_err(lock_error)?,
        Mode::WithTtl(ttls) => {
            let families = descriptors.into_iter().zip(ttls).map(|((name, options), ttl)| (name, options, *ttl));
            let (with_ttl, handles) = TtlDb::open_cf(path, db_options, families.collect()).map_err(lock_error)?;
            let (db, default) = (with_ttl.db().clone(), with_ttl.db().default_column_family()?);
            return Ok((rocksdb_t { db, default, ttl: Some(with_ttl), enabled_ahead: AtomicU32::new(0) }, handles));
        }
        Mode::ReadOnly { error_if_wal_file_exists } => {
            if error_if_wal_file_exists {
                Db::open_read_only_without_logs(path, db_options, Some(descriptors))?
            } else {
                Db::open_read_only(path, db_options, Some(descriptors))?
            }
        }
        Mode::Secondary(own) => Db::open_as_secondary(path, own, db_options, Some(descriptors))?,
    };
    let default = db.default_column_family()?;
    Ok((rocksdb_t { db, default, ttl: None, enabled_ahead: AtomicU32::new(0) }, handles))
}

/// A directory that another process or handle has open is `IO error` in RocksDB, and bindings look for that.
fn lock_error(error: Error) -> Error {
    if error.kind() != ErrorKind::Busy {
        return error;
    }
    Error::new(ErrorKind::Io, error.message())
}

/// # Safety
/// `places` has room for every handle.
pub(crate) unsafe fn give_with_families(
    (db, families): (rocksdb_t, Vec<ColumnFamily>),
    places: *mut *mut rocksdb_column_family_handle_t,
) -> *mut rocksdb_t {
    if !places.is_null() {
        for (index, family) in families.into_iter().enumerate() {
            // SAFETY: as for this function.
            unsafe { places.add(index).write(give(rocksdb_column_family_handle_t { family })) };
        }
    }
    give(db)
}
