//! What is done to a database that is open, and that only `alike` asks for: families that come and go, options that
//! change, tables that go or are to be compacted, batches with entities, and iterators of two more kinds.

use super::{CDatabase, CEngine, family_text, made};
use crate::engine::{Cursor, EXTRA, IterHow, Outcome, Record, columns};
use crate::settings::FamilySettings;
use ferrock::WriteBatch;
use ferrock_c_library::{self as c_library, Object, Owned, c_text, chars};
use std::ffi::c_char;
use std::ptr::null;

/// An iterator that sees what is written after it was made. The cursor goes before its options.
pub struct Tail {
    cursor: c_library::Cursor,
    _options: Owned,
}

/// A function over a range of keys.
type OverRange = unsafe extern "C" fn(Object, Object, *const c_char, usize, *const c_char, usize, *mut *mut c_char);

fn missing() -> String {
    "the library is too old".to_owned()
}

impl CEngine {
    /// Creates the family [`EXTRA`], behind the others.
    pub fn create_family(&self, database: &mut CDatabase, settings: &FamilySettings) -> Outcome<()> {
        let create = self.functions.create_column_family.ok_or_else(missing)?;
        let options = self.changed(self.options().object(), &family_text(settings))?;
        let name = c_text(EXTRA)?;
        // SAFETY: database and options exist, and the name ends with a zero.
        let handle =
            self.functions.checked(|error| unsafe { create(database.db, options.object(), name.as_ptr(), error) })?;
        database.handles.push(handle);
        database.names.push(name);
        Ok(())
    }
}

impl CDatabase {
    /// Drops the last family.
    pub fn drop_last_family(&mut self) -> Outcome<()> {
        let f = self.functions;
        let drop = f.drop_column_family.ok_or_else(missing)?;
        let handle = self.handles.pop().ok_or("there is no family")?;
        self.names.pop();
        self.tails.remove(&self.handles.len());
        // SAFETY: the database and the handle exist, and its iterator is gone.
        let dropped = f.checked(|error| unsafe { drop(self.db, handle, error) });
        // SAFETY: it was taken out of the list, so that it is given back once.
        unsafe { (f.column_family_handle_destroy)(handle) };
        dropped
    }

    /// Changes an option of a family.
    pub fn set_option(&mut self, family: usize, name: &str, value: &str) -> Outcome<()> {
        let f = self.functions;
        let set = f.set_options_cf.ok_or_else(missing)?;
        let (name, value) = (c_text(name)?, c_text(value)?);
        let (names, values) = ([name.as_ptr()], [value.as_ptr()]);
        // SAFETY: database and family exist; both lists have one member, which ends with a zero.
        f.checked(|error| unsafe { set(self.db, self.handles[family], 1, names.as_ptr(), values.as_ptr(), error) })
    }

    fn over_range(
        &self,
        function: Option<OverRange>,
        family: usize,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Outcome<()> {
        let function = function.ok_or_else(missing)?;
        let (begin, begin_length) = begin.map_or((null(), 0), |key| (chars(key), key.len()));
        let (end, end_length) = end.map_or((null(), 0), |key| (chars(key), key.len()));
        let handle = self.handles[family];
        // SAFETY: database and family exist; a null key is an open end.
        self.functions
            .checked(|error| unsafe { function(self.db, handle, begin, begin_length, end, end_length, error) })
    }

    /// Deletes the tables that lie in a range, whose end belongs to it.
    pub fn delete_files(&mut self, family: usize, begin: &[u8], end: &[u8]) -> Outcome<()> {
        self.over_range(self.functions.delete_file_in_range_cf, family, Some(begin), Some(end))
    }

    /// Marks the tables of a range for compaction.
    pub fn suggest_compact(&mut self, family: usize, begin: Option<&[u8]>, end: Option<&[u8]>) -> Outcome<()> {
        self.over_range(self.functions.suggest_compact_range_cf, family, begin, end)
    }

    /// A batch as its bytes: no function adds entities to one.
    pub fn write_bytes(&mut self, records: &[Record]) -> Outcome<()> {
        let f = self.functions;
        let (id_of, create) = f.column_family_handle_get_id.zip(f.writebatch_create_from).ok_or_else(missing)?;
        let mut batch = WriteBatch::new();
        for record in records {
            // SAFETY: the family exists.
            let id = |family: &usize| unsafe { id_of(self.handles[*family]) };
            match record {
                Record::Put(family, key, value) => batch.put_cf(id(family), key, value),
                Record::PutEntity(family, key, value) => batch.put_entity_cf(id(family), key, &columns(value)),
                Record::Merge(family, key, value) => batch.merge_cf(id(family), key, value),
                Record::Delete(family, key) => batch.delete_cf(id(family), key),
                Record::SingleDelete(family, key) => batch.single_delete_cf(id(family), key),
                Record::DeleteRange(family, begin, end) => batch.delete_range_cf(id(family), begin, end),
            }
            .map_err(|error| error.to_string())?;
        }
        let options = made(f.writeoptions_create, f.writeoptions_destroy);
        let bytes = batch.data();
        // SAFETY: the bytes are copied by the call, and the batch is ended once.
        let batch = unsafe { Owned::new(create(chars(bytes), bytes.len()), f.writebatch_destroy) };
        // SAFETY: database, options and batch exist.
        f.checked(|error| unsafe { (f.write)(self.db, options.object(), batch.object(), error) })
    }

    /// The values of several keys of several families.
    pub fn get_across(&self, keys: &[(usize, &[u8])], snapshot: Option<usize>) -> Outcome<Vec<Option<Vec<u8>>>> {
        let families: Vec<Object> = keys.iter().map(|(family, _)| self.handles[*family]).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|(_, key)| *key).collect();
        self.multi_get_of(&families, &keys, snapshot)
    }

    /// An iterator that asks prefix filters as its upper bound allows, if the library knows such.
    pub fn iterate_auto(&self, family: usize, how: &IterHow) -> Outcome<Box<dyn Cursor + '_>> {
        let set = self.functions.readoptions_set_auto_prefix_mode.ok_or_else(missing)?;
        let options = self.read_options(how.snapshot);
        // SAFETY: options that exist.
        unsafe { set(options.object(), 1) };
        Ok(Box::new(self.cursor(family, how, options)))
    }

    /// The tailing iterator of a family, made when it is asked for first.
    pub fn tail(&mut self, family: usize) -> Outcome<&mut Tail> {
        let f = self.functions;
        let set = f.readoptions_set_tailing.ok_or_else(missing)?;
        if !self.tails.contains_key(&family) {
            let options = self.read_options(None);
            // SAFETY: options that exist; the iterator is dropped before the family and the database, and its options
            // stay with it.
            let cursor = unsafe {
                (f.readoptions_set_total_order_seek)(options.object(), 1);
                set(options.object(), 1);
                c_library::Cursor::new(f, (f.create_iterator_cf)(self.db, options.object(), self.handles[family]))
            };
            self.tails.insert(family, Tail { cursor, _options: options });
        }
        self.tails.get_mut(&family).ok_or_else(missing)
    }
}

impl Cursor for Tail {
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
