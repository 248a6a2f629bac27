//! Databases whose entries expire, and how every other function reads and writes them: [`rocksdb_t::get`] and its
//! siblings put times behind values, or take them away, where a database has them.

use crate::db::{Mode, families, give_with_families, open, rocksdb_t};
use crate::family_handle::{count_of, rocksdb_column_family_handle_t};
use crate::handle::{borrow, give};
use crate::memory;
use crate::memory::null_handle;
use crate::options::rocksdb_options_t;
use crate::read::Results;
use ferrock::{ColumnFamily, Error, PinnedSlice, ReadOptions, Result, WriteBatch, WriteOptions};
use std::ffi::{c_char, c_int};
use std::time::Duration;

/// How long values live, as C says it: without an end when it is not positive.
fn time_to_live(seconds: c_int) -> Option<Duration> {
    u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

impl rocksdb_t {
    /// The value of a key, as it was put.
    #[inline]
    pub(crate) fn get(&self, family: &ColumnFamily, options: &ReadOptions, key: &[u8]) -> Result<Option<PinnedSlice>> {
        match &self.ttl {
            None => self.db.get_cf(family, options, key),
            Some(ttl) => ttl.get_cf(family, options, key),
        }
    }

    /// The values of many keys of a family.
    pub(crate) fn multi_get(&self, family: &ColumnFamily, options: &ReadOptions, keys: &[&[u8]]) -> Results {
        match &self.ttl {
            None => self.db.multi_get_cf(family, options, keys),
            Some(ttl) => {
                let keys: Vec<_> = keys.iter().map(|key| (family, *key)).collect();
                ttl.multi_get_families(options, &keys)
            }
        }
    }

    /// The values of many keys, each of the family beside it.
    pub(crate) fn multi_get_families(&self, options: &ReadOptions, keys: &[(&ColumnFamily, &[u8])]) -> Results {
        match &self.ttl {
            None => self.db.multi_get_families(options, keys),
            Some(ttl) => ttl.multi_get_families(options, keys),
        }
    }

    /// Sets the value of a key.
    #[inline]
    pub(crate) fn put(&self, family: &ColumnFamily, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<()> {
        match &self.ttl {
            None => self.db.put_cf(family, key, value, options),
            Some(ttl) => ttl.put_cf(family, key, value, options),
        }
    }

    /// Merges an operand into the value of a key.
    #[inline]
    pub(crate) fn merge(
        &self,
        family: &ColumnFamily,
        key: &[u8],
        operand: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        match &self.ttl {
            None => self.db.merge_cf(family, key, operand, options),
            Some(ttl) => ttl.merge_cf(family, key, operand, options),
        }
    }

    /// Writes a batch, which stays the caller's.
    pub(crate) fn write(&self, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
        match &self.ttl {
            None => self.db.write_lent(batch, options),
            Some(ttl) => ttl.write(batch, options),
        }
    }

    /// Creates a family; where values expire, one whose values do not.
    pub(crate) fn create_family(&self, name: &str, options: &rocksdb_options_t) -> Result<ColumnFamily> {
        let options = options.family_to_open()?;
        match &self.ttl {
            None => self.db.create_column_family(name, options),
            Some(ttl) => ttl.create_column_family(name, options, None),
        }
    }

    /// Creates families with the same options, as [`create_family`](Self::create_family) does.
    pub(crate) fn create_families(&self, names: &[&str], options: &rocksdb_options_t) -> Result<Vec<ColumnFamily>> {
        if self.ttl.is_some() {
            return names.iter().map(|name| self.create_family(name, options)).collect();
        }
        let options = options.family_to_open()?;
        self.db.create_column_families(names.iter().map(|name| ((*name).to_owned(), options.clone())).collect())
    }
}

c_fallible! {
    /// Opens a database that has the default column family alone, whose values live for `ttl` seconds; for ever when it
    /// is not positive.
    fn rocksdb_open_with_ttl(options: *const rocksdb_options_t, name: *const c_char, ttl: c_int) -> *mut rocksdb_t {
        // SAFETY: the contract.
        let (options, path) = unsafe { (borrow(options, "options")?, memory::path(name)?) };
        let mode = Mode::WithTtl(&[time_to_live(ttl)]);
        open(options, path, &[("default".into(), options)], mode).map(|(db, _)| give(db))
    }

    /// Opens a database with its column families, each of which has a time to live in seconds, and gives a handle for
    /// each.
    fn rocksdb_open_column_families_with_ttl(
        options: *const rocksdb_options_t,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        ttls: *const c_int,
    ) -> *mut rocksdb_t {
        if count > 0 && ttls.is_null() {
            return Err(null_handle("list of times to live"));
        }
        // SAFETY: the contract: the arrays have `count` elements.
        let (families, ttls, options, path) = unsafe {
            (
                families(count, names, family_options)?,
                memory::array(ttls, count_of(count)),
                borrow(options, "options")?,
                memory::path(name)?,
            )
        };
        let ttls: Vec<_> = ttls.iter().map(|seconds| time_to_live(*seconds)).collect();
        let opened = open(options, path, &families, Mode::WithTtl(&ttls))?;
        // SAFETY: the contract: there is a place for every family.
        Ok(unsafe { give_with_families(opened, handles) })
    }

    /// Creates a column family whose values live for `ttl` seconds. The handle is the caller's.
    fn rocksdb_create_column_family_with_ttl(
        db: *mut rocksdb_t,
        options: *const rocksdb_options_t,
        name: *const c_char,
        ttl: c_int,
    ) -> *mut rocksdb_column_family_handle_t {
        // SAFETY: the contract.
        let (db, options, name) =
            unsafe { (borrow(db, "database")?, borrow(options, "options")?, memory::name(name, "column family's name")?) };
        let with_ttl = db.ttl.as_ref().ok_or_else(|| {
            Error::invalid_argument(
                "the database was not opened with a time to live: open it with rocksdb_open_with_ttl or \
                 rocksdb_open_column_families_with_ttl",
            )
        })?;
        let family = with_ttl.create_column_family(&name, options.family_to_open()?, time_to_live(ttl))?;
        Ok(give(rocksdb_column_family_handle_t { family }))
    }
}
