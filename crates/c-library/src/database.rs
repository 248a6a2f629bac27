//! A database with one column family, safe to call.

use crate::cursor::Cursor;
use crate::functions::{Functions, Object, c_text};
use crate::object::{Owned, borrowed, chars};
use std::ffi::{c_char, c_int};
use std::path::Path;
use std::ptr::{null, null_mut};

/// An open database. Closed when it is dropped.
pub struct Database {
    pub(crate) functions: &'static Functions,
    // Given back in this order: the family before the database, which the options outlive.
    pub(crate) family: Owned,
    pub(crate) database: Owned,
    pub(crate) write: Owned,
    synced_write: Owned,
    read: Owned,
    pub(crate) options: Owned,
}

// SAFETY: databases, families and options of RocksDB's C interface may be used by many threads at once, as long as no
// thread changes options or ends an object meanwhile; options are changed in `open` alone, and ending needs the value.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// Opens a directory, or makes a database in it. `options` is RocksDB's text of options,
    /// `write_buffer_size=8m;compression=kLZ4Compression`.
    ///
    /// # Errors
    /// The library's message: an option that it does not know, a directory that has something else.
    pub fn open(functions: &'static Functions, directory: &Path, options: &str) -> Result<Self, String> {
        Self::open_by(functions, directory, options, "default", None)
    }

    /// As [`open`](Self::open), where values live for `ttl` seconds; for ever when it is not positive.
    ///
    /// # Errors
    /// Those of [`open`](Self::open); an older library has no such open.
    pub fn open_with_ttl(
        functions: &'static Functions,
        directory: &Path,
        options: &str,
        ttl: c_int,
    ) -> Result<Self, String> {
        Self::open_by(functions, directory, options, "default", Some(ttl))
    }

    /// As [`open`](Self::open), a database with another family beside the default one, which all calls then mean.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_family(
        functions: &'static Functions,
        directory: &Path,
        options: &str,
        family: &str,
    ) -> Result<Self, String> {
        Self::open_by(functions, directory, options, family, None)
    }

    fn open_by(
        functions: &'static Functions,
        directory: &Path,
        options: &str,
        family: &str,
        ttl: Option<c_int>,
    ) -> Result<Self, String> {
        let f = functions;
        let path = c_text(directory.to_str().ok_or_else(|| format!("{} is not UTF-8", directory.display()))?)?;
        let (text, name, default) = (c_text(options)?, c_text(family)?, c_text("default")?);
        // SAFETY: each pair makes and ends objects of one kind.
        let (base, options, write, synced_write, read) = unsafe {
            (
                Owned::create(f.options_create, f.options_destroy),
                Owned::create(f.options_create, f.options_destroy),
                Owned::create(f.writeoptions_create, f.writeoptions_destroy),
                Owned::create(f.writeoptions_create, f.writeoptions_destroy),
                Owned::create(f.readoptions_create, f.readoptions_destroy),
            )
        };
        // SAFETY: the options live, and the text ends with a zero.
        f.checked(|error| unsafe {
            (f.writeoptions_set_sync)(synced_write.object(), 1);
            (f.get_options_from_string)(base.object(), text.as_ptr(), options.object(), error);
        })
        .map_err(|error| format!("options {text:?}: {error}"))?;
        // The family that is meant comes last.
        let names = [default.as_ptr(), name.as_ptr()];
        let names = if family == "default" { &names[1..] } else { &names[..] };
        let families = [options.object(); 2];
        let (mut handles, count) = ([null_mut(); 2], names.len() as i32);
        let with_ttl =
            ttl.map(|ttl| f.open_column_families_with_ttl.zip(Some(ttl)).ok_or("the library has no such open"));
        let with_ttl = with_ttl.transpose()?;
        // SAFETY: the lists have as many members as the call is told, and there are places for as many handles.
        let database = f.checked(|error| unsafe {
            let (names, families, places) = (names.as_ptr(), families.as_ptr(), handles.as_mut_ptr());
            match with_ttl {
                None => {
                    (f.open_column_families)(options.object(), path.as_ptr(), count, names, families, places, error)
                }
                Some((open, ttl)) => {
                    let ttls = [ttl; 2];
                    open(options.object(), path.as_ptr(), count, names, families, places, ttls.as_ptr(), error)
                }
            }
        })?;
        let [first, second] = handles;
        let family = if count == 1 {
            first
        } else {
            // SAFETY: the handle is what the call above made, and it is ended once.
            unsafe { (f.column_family_handle_destroy)(first) };
            second
        };
        // SAFETY: both are what the call above made, and ended by their functions alone, the family first.
        let (family, database) =
            unsafe { (Owned::new(family, f.column_family_handle_destroy), Owned::new(database, f.close)) };
        Ok(Self { functions, family, database, write, synced_write, read, options })
    }

    /// The database, for a call.
    pub(crate) fn object(&self) -> Object {
        self.database.object()
    }

    /// Writes a key; durably when the call returns, with `is_synced`.
    ///
    /// # Errors
    /// The library's message.
    pub fn put(&self, key: &[u8], value: &[u8], is_synced: bool) -> Result<(), String> {
        let options = if is_synced { &self.synced_write } else { &self.write };
        let (database, family) = (self.database.object(), self.family.object());
        // SAFETY: all objects live, and the bytes are copied by the call.
        self.functions.checked(|error| unsafe {
            let (key, value) = ((chars(key), key.len()), (chars(value), value.len()));
            (self.functions.put_cf)(database, options.object(), family, key.0, key.1, value.0, value.1, error);
        })
    }

    /// Appends the value of a key to `value`; whether there is one.
    ///
    /// # Errors
    /// The library's message.
    pub fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, String> {
        let f = self.functions;
        let (database, family) = (self.database.object(), self.family.object());
        // SAFETY: all objects live.
        let found = f.checked(|error| unsafe {
            (f.get_pinned_cf)(database, self.read.object(), family, chars(key), key.len(), error)
        })?;
        // SAFETY: what the call made.
        Ok(unsafe { self.take_pinned(found, value) })
    }

    /// Appends a pinned value and unpins it; whether there was one.
    ///
    /// # Safety
    /// Null, or a pinned value that nothing else uses.
    unsafe fn take_pinned(&self, pinned: Object, value: &mut Vec<u8>) -> bool {
        if pinned.is_null() {
            return false;
        }
        let mut length = 0;
        // SAFETY: as for this function; the value is copied before it is ended.
        unsafe {
            let pinned = Owned::new(pinned, self.functions.pinnableslice_destroy);
            let bytes = (self.functions.pinnableslice_value)(pinned.object(), &mut length);
            value.extend_from_slice(borrowed(bytes, length));
        }
        true
    }

    /// Whether [`multi_get`](Self::multi_get) works: releases before 7 have no such function.
    #[must_use]
    pub fn has_multi_get(&self) -> bool {
        self.functions.batched_multi_get_cf.is_some()
    }

    /// Appends the values of many keys to `values` one behind the other, and to `lengths` the length of each, `None`
    /// of a key that is not there. A batch by `rocksdb_batched_multi_get_cf`.
    ///
    /// # Errors
    /// The library's message about the first key that could not be read.
    pub fn multi_get(
        &self,
        keys: &[&[u8]],
        values: &mut Vec<u8>,
        lengths: &mut Vec<Option<usize>>,
    ) -> Result<(), String> {
        let f = self.functions;
        let batched = f.batched_multi_get_cf.ok_or("the library has no rocksdb_batched_multi_get_cf")?;
        let (pointers, sizes): (Vec<_>, Vec<_>) = keys.iter().map(|key| (chars(key), key.len())).unzip();
        let mut pinned: Vec<Object> = vec![null_mut(); keys.len()];
        let mut errors: Vec<*mut c_char> = vec![null_mut(); keys.len()];
        let (database, family) = (self.database.object(), self.family.object());
        // SAFETY: four lists of as many members as there are keys; all objects live.
        unsafe {
            let (pointers, sizes) = (pointers.as_ptr(), sizes.as_ptr());
            let (pinned, errors) = (pinned.as_mut_ptr(), errors.as_mut_ptr());
            batched(database, self.read.object(), family, keys.len(), pointers, sizes, pinned, errors, 0);
        }
        let mut failed = None;
        for (pinned, error) in pinned.into_iter().zip(errors) {
            let before = values.len();
            // SAFETY: both are null, or what the call made for this caller alone.
            let found = unsafe {
                if !error.is_null() {
                    failed = Some(f.take_text(error));
                }
                self.take_pinned(pinned, values)
            };
            lengths.push(found.then(|| values.len() - before));
        }
        failed.map_or(Ok(()), Err)
    }

    /// The rows, of the moment of this call. Not positioned.
    #[must_use]
    pub fn rows(&self) -> Rows<'_> {
        let f = self.functions;
        // SAFETY: all objects live, and the database as long as the rows, which borrow it.
        let cursor = unsafe {
            let iterator = (f.create_iterator_cf)(self.database.object(), self.read.object(), self.family.object());
            Cursor::new(f, iterator)
        };
        Rows { cursor, _database: self }
    }

    /// Writes what is in memory to tables, and waits.
    ///
    /// # Errors
    /// The library's message.
    pub fn flush(&self) -> Result<(), String> {
        let f = self.functions;
        // SAFETY: the pair makes and ends objects of one kind; all objects live. Flushes wait by default.
        f.checked(|error| unsafe {
            let options = Owned::create(f.flushoptions_create, f.flushoptions_destroy);
            (f.flush_cf)(self.database.object(), options.object(), self.family.object(), error);
        })
    }

    /// Compacts everything, also what is at the bottom already, and waits.
    ///
    /// # Errors
    /// The library's message; an older library has no such compaction.
    pub fn compact(&self) -> Result<(), String> {
        /// RocksDB's `BottommostLevelCompaction::kForce`.
        const FORCE: u8 = 2;
        let f = self.functions;
        let compact = f.compact_range_cf_opt.zip(f.compactoptions_set_bottommost_level_compaction);
        let (compact, set_force) = compact.ok_or("the library has no rocksdb_compact_range_cf_opt")?;
        // SAFETY: the pair makes and ends objects of one kind; all objects live, and null keys are open ends.
        f.checked(|error| unsafe {
            let options = Owned::create(f.compactoptions_create, f.compactoptions_destroy);
            set_force(options.object(), FORCE);
            let (database, family) = (self.database.object(), self.family.object());
            compact(database, family, options.object(), null(), 0, null(), 0, error);
        })
    }

    /// Waits until no flush and no compaction is left to do.
    ///
    /// # Errors
    /// The library's message; an older library has no such wait.
    pub fn wait(&self) -> Result<(), String> {
        let f = self.functions;
        let options = f.wait_for_compact_options_create.zip(f.wait_for_compact_options_destroy);
        let (wait, (create, destroy)) =
            f.wait_for_compact.zip(options).ok_or("the library has no rocksdb_wait_for_compact")?;
        // SAFETY: the pair makes and ends objects of one kind; all objects live.
        f.checked(|error| unsafe {
            let options = Owned::create(create, destroy);
            wait(self.database.object(), options.object(), error);
        })
    }
}

/// Rows of a database that is open as long as they are.
pub struct Rows<'a> {
    cursor: Cursor,
    _database: &'a Database,
}

impl std::ops::Deref for Rows<'_> {
    type Target = Cursor;
    fn deref(&self) -> &Cursor {
        &self.cursor
    }
}

impl std::ops::DerefMut for Rows<'_> {
    fn deref_mut(&mut self) -> &mut Cursor {
        &mut self.cursor
    }
}
