//! Any library with RocksDB's C interface: the real one, or Ferrock's.

mod living;
mod others;
mod traces;

use crate::engine::{
    Cursor, Database, EXTRA, Engine, FAMILIES, IterHow, OpenMode, Outcome, Record, WriteHow, columns, table_directories,
};

use crate::settings::{FamilySettings, Settings, TableKind};
use ferrock::WriteBatch;
use ferrock_c_library::{self as c_library, Functions, Object, Owned, borrowed, c_text, chars};
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::ptr::{null, null_mut};

/// A loaded library.
pub struct CEngine {
    functions: &'static Functions,
}

impl CEngine {
    pub fn load(path: &Path) -> Outcome<Self> {
        Ok(Self { functions: Functions::load(path)? })
    }
}

/// An object whose creating function takes nothing; `create` and `destroy` belong together.
pub(crate) fn made(create: unsafe extern "C" fn() -> Object, destroy: unsafe extern "C" fn(Object)) -> Owned {
    // SAFETY: every caller names the two functions of one kind of object.
    unsafe { Owned::create(create, destroy) }
}

/// Options of a database and of its families.
struct OpenOptions {
    names: Vec<CString>,
    db: Owned,
    families: Vec<Owned>,
}

impl CEngine {
    fn options(&self) -> Owned {
        made(self.functions.options_create, self.functions.options_destroy)
    }

    /// `base` changed by the text.
    fn changed(&self, base: Object, text: &str) -> Outcome<Owned> {
        let (new, c) = (self.options(), c_text(text)?);
        let f = self.functions;
        // SAFETY: both are options, and the text ends with a zero.
        f.checked(|error| unsafe { (f.get_options_from_string)(base, c.as_ptr(), new.object(), error) })
            .map_err(|error| format!("options {text}: {error}"))?;
        Ok(new)
    }

    fn fresh_options(&self, settings: &Settings) -> Outcome<OpenOptions> {
        let base = self.options();
        let db = self.changed(base.object(), &joined(&settings.db))?;
        // The one that is created later is not there yet.
        let families = settings.families.iter().take(FAMILIES.len());
        let families = families.map(|family| self.changed(base.object(), &family_text(family)));
        let families = families.collect::<Outcome<Vec<_>>>()?;
        Ok(OpenOptions { names: FAMILIES.iter().map(|name| c_text(name)).collect::<Outcome<_>>()?, db, families })
    }

    /// No OPTIONS file has these.
    fn set_table_directories(&self, options: &Owned, directory: &Path) -> Outcome<()> {
        let f = self.functions;
        let mut paths = Vec::new();
        for (path, bytes) in table_directories(directory) {
            let text = c_text(path.to_str().ok_or("the path is not UTF-8")?)?;
            // SAFETY: the text ends with a zero, and is copied; the function ends what the other one made.
            paths.push(unsafe { Owned::new((f.dbpath_create)(text.as_ptr(), bytes), f.dbpath_destroy) });
        }
        let handles: Vec<Object> = paths.iter().map(|path| path.object()).collect();
        // SAFETY: the list has so many members, which are copied.
        unsafe { (f.options_set_db_paths)(options.object(), handles.as_ptr(), handles.len()) };
        Ok(())
    }

    /// The directory's OPTIONS file; a name that the library does not know is an error.
    fn latest_options(&self, directory: &CString, settings: &Settings) -> Outcome<OpenOptions> {
        let f = self.functions;
        let env = f.create_default_env.zip(f.env_destroy).map(|(create, destroy)| made(create, destroy));
        // SAFETY: a cache, and the function that ends caches.
        let cache = unsafe { Owned::new((f.cache_create_lru)(8 << 20), f.cache_destroy) };
        let (mut db, mut count, mut names, mut families) = (null_mut(), 0, null_mut(), null_mut());
        let env = env.as_ref().map_or(null_mut(), |env| env.object());
        // SAFETY: the environment and the cache outlive the call, the rest are places for its results.
        f.checked(|error| unsafe {
            let (path, cache) = (directory.as_ptr(), cache.object());
            (f.load_latest_options)(path, env, 0, cache, &mut db, &mut count, &mut names, &mut families, error);
        })
        .map_err(|error| format!("load_latest_options: {error}"))?;
        let copy = || {
            let mut copied =
                OpenOptions { names: Vec::new(), db: self.changed(db, &joined(&settings.db))?, families: Vec::new() };
            for number in 0..count {
                // SAFETY: both lists have `count` members, and the names end with zeros.
                let (name, family) =
                    unsafe { (std::ffi::CStr::from_ptr(*names.add(number)).to_owned(), *families.add(number)) };
                let mut known = FAMILIES.iter().chain([&EXTRA]);
                let position = known.position(|known| name.to_bytes() == known.as_bytes());
                let text = position.and_then(|at| settings.families.get(at)).map(family_text).unwrap_or_default();
                copied.names.push(name);
                copied.families.push(self.changed(family, &text)?);
            }
            Ok(copied)
        };
        let copied = copy();
        // SAFETY: what the call above gave, given back once.
        unsafe { (f.load_latest_options_destroy)(db, names, families, count) };
        copied
    }
}

fn joined(settings: &[(String, String)]) -> String {
    settings.iter().map(|(name, value)| format!("{name}={value};")).collect()
}

fn family_text(settings: &FamilySettings) -> String {
    let mut text = joined(&settings.family);
    let table = joined(&settings.table);
    match settings.kind {
        TableKind::Block if settings.table.is_empty() => {}
        TableKind::Block if !settings.is_new_kind => {
            text.push_str(&format!("block_based_table_factory={{{table}}};"));
        }
        kind => text.push_str(&format!("table_factory={{id={};{table}}};", kind.factory())),
    }
    text
}

/// Options of a database that counts.
pub struct CountingOptions {
    functions: &'static Functions,
    db: Owned,
}

impl CountingOptions {
    /// What was counted so far.
    pub fn statistics(&self) -> Outcome<String> {
        let get = self.functions.options_statistics_get_string.ok_or("no statistics")?;
        // SAFETY: options that exist.
        let text = unsafe { get(self.db.object()) };
        if text.is_null() {
            return Err("nothing is counted".to_owned());
        }
        // SAFETY: a text that the call above allocated for us.
        Ok(unsafe { self.functions.take_text(text) })
    }
}

impl CEngine {
    /// Makes a database, and has it count.
    pub fn open_counting(&self, directory: &Path, settings: &Settings) -> Outcome<(CDatabase, CountingOptions)> {
        let options = self.fresh_options(settings)?;
        let enable = self.functions.options_enable_statistics.ok_or("no statistics")?;
        // SAFETY: options that exist.
        unsafe { enable(options.db.object()) };
        let (database, db) = self.open_with(directory, OpenMode::Create, options)?;
        Ok((database, CountingOptions { functions: self.functions, db }))
    }

    /// The database, and the options it has itself.
    fn open_with(&self, directory: &Path, mode: OpenMode, options: OpenOptions) -> Outcome<(CDatabase, Owned)> {
        let f = self.functions;
        let path = c_text(directory.to_str().ok_or("the path is not UTF-8")?)?;
        self.set_table_directories(&options.db, directory)?;
        let names: Vec<*const c_char> = options.names.iter().map(|name| name.as_ptr()).collect();
        let families: Vec<Object> = options.families.iter().map(|family| family.object()).collect();
        let count = names.len() as c_int;
        let mut handles: Vec<Object> = vec![null_mut(); names.len()];
        let (db_options, names, families, out) =
            (options.db.object(), names.as_ptr(), families.as_ptr(), handles.as_mut_ptr());
        // SAFETY: the three lists have `count` members and outlive the call.
        let db = f.checked(|error| unsafe {
            if mode == OpenMode::ReadOnly {
                (f.open_for_read_only_column_families)(db_options, path.as_ptr(), count, names, families, out, 0, error)
            } else {
                (f.open_column_families)(db_options, path.as_ptr(), count, names, families, out, error)
            }
        })?;
        let database = CDatabase {
            functions: f,
            db,
            handles,
            names: options.names,
            snapshots: Vec::new(),
            tails: BTreeMap::new(),
        };
        Ok((database, options.db))
    }
}

impl CEngine {
    /// As [`Engine::open`], for what only this kind of database has.
    pub fn open_database(&self, directory: &Path, mode: OpenMode, settings: &Settings) -> Outcome<CDatabase> {
        let path = c_text(directory.to_str().ok_or("the path is not UTF-8")?)?;
        let options = match mode {
            OpenMode::Create => self.fresh_options(settings)?,
            OpenMode::ReadWrite | OpenMode::ReadOnly => self.latest_options(&path, settings)?,
        };
        Ok(self.open_with(directory, mode, options)?.0)
    }
}

impl Engine for CEngine {
    fn open(&self, directory: &Path, mode: OpenMode, settings: &Settings) -> Outcome<Box<dyn Database>> {
        Ok(Box::new(self.open_database(directory, mode, settings)?))
    }
}

/// An open database. Snapshots are released, and families given back, before it is closed.
pub struct CDatabase {
    functions: &'static Functions,
    db: Object,
    handles: Vec<Object>,
    names: Vec<CString>,
    snapshots: Vec<Option<Object>>,
    /// One of each family at most.
    tails: BTreeMap<usize, living::Tail>,
}

impl Drop for CDatabase {
    fn drop(&mut self) {
        let f = self.functions;
        self.tails.clear();
        // SAFETY: all of them are of this database, each is given back once, and the database last. Iterators borrow
        // it.
        unsafe {
            for snapshot in self.snapshots.drain(..).flatten() {
                (f.release_snapshot)(self.db, snapshot);
            }
            for handle in self.handles.drain(..) {
                (f.column_family_handle_destroy)(handle);
            }
            (f.close)(self.db);
        }
    }
}

/// Batches of the logs, with their sequence numbers, and what ended them.
pub struct Updates {
    pub batches: Vec<(u64, Vec<u8>)>,
    pub status: Option<String>,
}

impl CDatabase {
    /// What the logs have from a sequence number on.
    pub fn updates_since(&self, sequence: u64) -> Outcome<Updates> {
        let f = self.functions;
        let begin = f.get_updates_since.ok_or("no updates")?;
        let (destroy, next) = f.wal_iter_destroy.zip(f.wal_iter_next).ok_or("no updates")?;
        let (valid, status) = f.wal_iter_valid.zip(f.wal_iter_status).ok_or("no updates")?;
        let (batch_of, data_of) = f.wal_iter_get_batch.zip(f.writebatch_data).ok_or("no updates")?;
        // SAFETY: the database exists and outlives the iterator; null stands for the default options.
        let iter = match f.checked(|error| unsafe { begin(self.db, sequence, null_mut(), error) }) {
            Err(message) => return Ok(Updates { batches: Vec::new(), status: Some(message) }),
            // SAFETY: an iterator, and the function that ends such.
            Ok(iter) => unsafe { Owned::new(iter, destroy) },
        };
        let mut batches = Vec::new();
        // SAFETY: the iterator exists.
        while unsafe { valid(iter.object()) } != 0 {
            let (mut first, mut length) = (0, 0);
            // SAFETY: the iterator is on a batch, which is given back once and is not changed meanwhile.
            let batch = unsafe { Owned::new(batch_of(iter.object(), &mut first), f.writebatch_destroy) };
            // SAFETY: pointer and length come from one call, and the batch lives on.
            let data = unsafe { borrowed(data_of(batch.object(), &mut length), length) };
            batches.push((first, data.to_vec()));
            // SAFETY: the iterator exists.
            unsafe { next(iter.object()) };
        }
        // SAFETY: the iterator exists.
        let status = f.checked(|error| unsafe { status(iter.object(), error) }).err();
        Ok(Updates { batches, status })
    }

    fn read_options(&self, snapshot: Option<usize>) -> Owned {
        let f = self.functions;
        let options = made(f.readoptions_create, f.readoptions_destroy);
        // SAFETY: options that exist; a snapshot that is not released before the read is over.
        unsafe {
            (f.readoptions_set_verify_checksums)(options.object(), 1);
            if let Some(snapshot) = snapshot.and_then(|number| self.snapshots[number]) {
                (f.readoptions_set_snapshot)(options.object(), snapshot);
            }
        }
        options
    }

    fn add(&self, batch: Object, record: &Record) -> Outcome<()> {
        let f = self.functions;
        // SAFETY: the batch and the families exist; keys and values are copied by the call.
        unsafe {
            match record {
                Record::Put(family, key, value) => {
                    let (key, value) = ((chars(key), key.len()), (chars(value), value.len()));
                    (f.writebatch_put_cf)(batch, self.handles[*family], key.0, key.1, value.0, value.1);
                }
                Record::PutEntity(..) => return Err("an entity in a batch of records".to_owned()),
                Record::Merge(family, key, value) => {
                    let (key, value) = ((chars(key), key.len()), (chars(value), value.len()));
                    (f.writebatch_merge_cf)(batch, self.handles[*family], key.0, key.1, value.0, value.1);
                }
                Record::Delete(family, key) => {
                    (f.writebatch_delete_cf)(batch, self.handles[*family], chars(key), key.len());
                }
                Record::SingleDelete(family, key) => {
                    let function = f.writebatch_singledelete_cf.ok_or("no single deletion in batches")?;
                    function(batch, self.handles[*family], chars(key), key.len());
                }
                Record::DeleteRange(family, begin, end) => {
                    let (begin, end) = ((chars(begin), begin.len()), (chars(end), end.len()));
                    (f.writebatch_delete_range_cf)(batch, self.handles[*family], begin.0, begin.1, end.0, end.1);
                }
            }
        }
        Ok(())
    }

    fn single_delete(&self, family: usize, key: &[u8], options: &Owned) -> Outcome<()> {
        let f = self.functions;
        let (family, pointer, length) = (self.handles[family], chars(key), key.len());
        // SAFETY: database, options and family exist.
        f.checked(|error| unsafe { (f.singledelete_cf)(self.db, options.object(), family, pointer, length, error) })
    }

    /// A batch of one entity, which the C interface can only take in the form of its bytes.
    fn write_entity(&self, family: usize, key: &[u8], value: &[u8], options: &Owned) -> Outcome<()> {
        let f = self.functions;
        let (id_of, create) = f
            .column_family_handle_get_id
            .zip(f.writebatch_create_from)
            .ok_or("no batches from bytes, so no entities")?;
        let mut batch = WriteBatch::new();
        // SAFETY: the family exists.
        let id = unsafe { id_of(self.handles[family]) };
        batch.put_entity_cf(id, key, &columns(value)).map_err(|error| error.to_string())?;
        // SAFETY: the bytes are copied by the call; what it returns is destroyed once.
        let made = unsafe { create(chars(batch.data()), batch.data().len()) };
        // SAFETY: database, options and batch exist.
        let written = f.checked(|error| unsafe { (f.write)(self.db, options.object(), made, error) });
        // SAFETY: as above; it is not used any more.
        unsafe { (f.writebatch_destroy)(made) };
        written
    }

    fn write_batch(&self, records: &[Record], options: &Owned) -> Outcome<()> {
        let f = self.functions;
        let batch = made(f.writebatch_create, f.writebatch_destroy);
        for record in records {
            self.add(batch.object(), record)?;
        }
        // SAFETY: database, options and batch exist.
        f.checked(|error| unsafe { (f.write)(self.db, options.object(), batch.object(), error) })
    }
}

impl Database for CDatabase {
    fn families(&self) -> usize {
        self.handles.len()
    }

    fn family(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known.to_bytes() == name.as_bytes())
    }

    fn write(&mut self, batch: &[Record], how: WriteHow) -> Outcome<()> {
        let f = self.functions;
        let options = made(f.writeoptions_create, f.writeoptions_destroy);
        // SAFETY: options that exist.
        unsafe {
            (f.writeoptions_set_sync)(options.object(), how.sync.into());
            (f.writeoptions_disable_WAL)(options.object(), how.disable_wal.into());
        }
        // What the library cannot add to a batch goes by itself.
        let is_alone = |record: &Record| match record {
            Record::SingleDelete(..) => f.writebatch_singledelete_cf.is_none(),
            Record::PutEntity(..) => true,
            _ => false,
        };
        for part in batch.chunk_by(|first, second| !is_alone(first) && !is_alone(second)) {
            match part {
                [Record::SingleDelete(family, key)] if f.writebatch_singledelete_cf.is_none() => {
                    self.single_delete(*family, key, &options)?;
                }
                [Record::PutEntity(family, key, value)] => self.write_entity(*family, key, value, &options)?,
                _ => self.write_batch(part, &options)?,
            }
        }
        Ok(())
    }

    fn flush(&mut self, family: usize) -> Outcome<()> {
        let f = self.functions;
        let options = made(f.flushoptions_create, f.flushoptions_destroy);
        // SAFETY: database, options and family exist; flushing waits by default.
        f.checked(|error| unsafe { (f.flush_cf)(self.db, options.object(), self.handles[family], error) })
    }

    fn compact(&mut self, family: usize, begin: Option<&[u8]>, end: Option<&[u8]>, force: bool) -> Outcome<()> {
        let f = self.functions;
        let handle = self.handles[family];
        let (begin, begin_length) = begin.map_or((null(), 0), |key| (chars(key), key.len()));
        let (end, end_length) = end.map_or((null(), 0), |key| (chars(key), key.len()));
        let Some(compact) = f.compact_range_cf_opt else {
            // SAFETY: database and family exist; a null key is an open end.
            unsafe { (f.compact_range_cf)(self.db, handle, begin, begin_length, end, end_length) };
            return Ok(());
        };
        const FORCE: u8 = 2;
        let options = made(f.compactoptions_create, f.compactoptions_destroy);
        if let Some(set) = f.compactoptions_set_bottommost_level_compaction.filter(|_| force) {
            // SAFETY: options that exist.
            unsafe { set(options.object(), FORCE) };
        }
        // SAFETY: as above.
        f.checked(|error| unsafe {
            compact(self.db, handle, options.object(), begin, begin_length, end, end_length, error);
        })
    }

    fn flush_wal(&mut self) -> Outcome<()> {
        let f = self.functions;
        // SAFETY: the database exists.
        f.checked(|error| unsafe { (f.flush_wal)(self.db, 0, error) })
    }

    fn snapshot(&mut self) -> Outcome<()> {
        // SAFETY: the database exists.
        self.snapshots.push(Some(unsafe { (self.functions.create_snapshot)(self.db) }));
        Ok(())
    }

    fn release_snapshot(&mut self, number: usize) -> Outcome<()> {
        if let Some(snapshot) = self.snapshots[number].take() {
            // SAFETY: a snapshot of this database, taken out of the list so that it is released once.
            unsafe { (self.functions.release_snapshot)(self.db, snapshot) };
        }
        Ok(())
    }

    fn get(&self, family: usize, key: &[u8], snapshot: Option<usize>) -> Outcome<Option<Vec<u8>>> {
        let f = self.functions;
        let options = self.read_options(snapshot);
        // SAFETY: database, options and family exist.
        let found = f.checked(|error| unsafe {
            (f.get_pinned_cf)(self.db, options.object(), self.handles[family], chars(key), key.len(), error)
        })?;
        if found.is_null() {
            return Ok(None);
        }
        let mut length = 0;
        // SAFETY: a pinned value and the function that ends such values; it exists until `found` is dropped.
        unsafe {
            let found = Owned::new(found, f.pinnableslice_destroy);
            let value = (f.pinnableslice_value)(found.object(), &mut length);
            Ok(Some(borrowed(value, length).to_vec()))
        }
    }

    fn multi_get(&self, family: usize, keys: &[&[u8]], snapshot: Option<usize>) -> Outcome<Vec<Option<Vec<u8>>>> {
        self.multi_get_of(&vec![self.handles[family]; keys.len()], keys, snapshot)
    }

    fn iterate(&self, family: usize, how: &IterHow) -> Outcome<Box<dyn Cursor + '_>> {
        let f = self.functions;
        let options = self.read_options(how.snapshot);
        // SAFETY: options that exist.
        unsafe {
            (f.readoptions_set_total_order_seek)(options.object(), (!how.prefix_same_as_start).into());
            (f.readoptions_set_prefix_same_as_start)(options.object(), how.prefix_same_as_start.into());
        }
        Ok(Box::new(self.cursor(family, how, options)))
    }

    fn verify_checksum(&self) -> Outcome<bool> {
        let f = self.functions;
        let Some(verify) = f.verify_checksum else { return Ok(false) };
        let options = self.read_options(None);
        // SAFETY: database and options exist.
        f.checked(|error| unsafe { verify(self.db, options.object(), error) }).map(|()| true)
    }

    fn property(&self, family: usize, name: &str) -> Outcome<String> {
        let f = self.functions;
        let c = c_text(name)?;
        // SAFETY: database and family exist, and the name ends with a zero.
        let value = unsafe { (f.property_value_cf)(self.db, self.handles[family], c.as_ptr()) };
        if value.is_null() {
            return Err(format!("there is no property {name}"));
        }
        // SAFETY: a text that the call above allocated for us.
        Ok(unsafe { f.take_text(value) })
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl CDatabase {
    /// A cursor with the bounds of `how`, and options that have all else.
    fn cursor(&self, family: usize, how: &IterHow, options: Owned) -> CCursor<'_> {
        let f = self.functions;
        let bounds = (how.lower.clone(), how.upper.clone());
        // SAFETY: options that exist; the bounds are kept with the cursor, and the memory of a vector does not move
        // with it; the database lives longer than the cursor, which borrows it.
        let cursor = unsafe {
            if let Some(lower) = &bounds.0 {
                (f.readoptions_set_iterate_lower_bound)(options.object(), chars(lower), lower.len());
            }
            if let Some(upper) = &bounds.1 {
                (f.readoptions_set_iterate_upper_bound)(options.object(), chars(upper), upper.len());
            }
            c_library::Cursor::new(f, (f.create_iterator_cf)(self.db, options.object(), self.handles[family]))
        };
        CCursor { cursor, _options: options, _bounds: bounds, _database: self }
    }

    /// The value of each key in the family at its place.
    fn multi_get_of(
        &self,
        families: &[Object],
        keys: &[&[u8]],
        snapshot: Option<usize>,
    ) -> Outcome<Vec<Option<Vec<u8>>>> {
        let f = self.functions;
        let options = self.read_options(snapshot);
        let (pointers, lengths): (Vec<_>, Vec<_>) = keys.iter().map(|key| (chars(key), key.len())).unzip();
        let mut values: Vec<*mut c_char> = vec![null_mut(); keys.len()];
        let mut value_lengths = vec![0usize; keys.len()];
        let mut errors: Vec<*mut c_char> = vec![null_mut(); keys.len()];
        // SAFETY: six lists of as many members as there are keys.
        unsafe {
            (f.multi_get_cf)(
                self.db,
                options.object(),
                families.as_ptr(),
                keys.len(),
                pointers.as_ptr(),
                lengths.as_ptr(),
                values.as_mut_ptr(),
                value_lengths.as_mut_ptr(),
                errors.as_mut_ptr(),
            );
        }
        let mut results = Vec::new();
        let mut failed = None;
        for ((value, length), error) in values.into_iter().zip(value_lengths).zip(errors) {
            if !error.is_null() {
                // SAFETY: a message of the call above, for us to free.
                failed = Some(unsafe { f.take_text(error) });
            }
            if value.is_null() {
                results.push(None);
                continue;
            }
            // SAFETY: allocated by the call above for us to free, and copied before.
            unsafe {
                results.push(Some(borrowed(value, length).to_vec()));
                (f.free)(value.cast());
            }
        }
        failed.map_or(Ok(results), Err)
    }
}

/// An iterator; dropped before its options and its database.
struct CCursor<'a> {
    cursor: c_library::Cursor,
    _options: Owned,
    _bounds: (Option<Vec<u8>>, Option<Vec<u8>>),
    _database: &'a CDatabase,
}

impl Cursor for CCursor<'_> {
    fn seek_to_first(&mut self) {
        self.cursor.seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.cursor.seek_to_last();
    }
    fn seek(&mut self, key: &[u8]) {
        self.cursor.seek(key);
    }
    fn seek_for_prev(&mut self, key: &[u8]) {
        self.cursor.seek_for_prev(key);
    }
    fn next(&mut self) {
        self.cursor.next();
    }
    fn prev(&mut self) {
        self.cursor.prev();
    }
    fn valid(&self) -> bool {
        self.cursor.valid()
    }
    fn key(&self) -> &[u8] {
        self.cursor.key()
    }
    fn value(&self) -> &[u8] {
        self.cursor.value()
    }
    fn status(&self) -> Outcome<()> {
        self.cursor.status()
    }
}
