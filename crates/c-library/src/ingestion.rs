//! Tables from outside of a database.

use crate::database::Database;
use crate::functions::c_text;
use crate::object::{Owned, chars};
use std::path::Path;

/// An entry of a table, or a range of keys that it deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableEntry {
    /// A key with its value.
    Put(Vec<u8>, Vec<u8>),
    /// A key with an operand.
    Merge(Vec<u8>, Vec<u8>),
    /// A key that is deleted.
    Delete(Vec<u8>),
    /// The keys from the first on, and before the second.
    DeleteRange(Vec<u8>, Vec<u8>),
}

/// How tables are taken in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngestHow {
    /// `move_files`.
    pub move_files: bool,
    /// `write_global_seqno`.
    pub write_global_seqno: bool,
}

const MISSING: &str = "the library has no functions for tables from outside";

fn c_path(path: &Path) -> Result<std::ffi::CString, String> {
    c_text(path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))?)
}

impl Database {
    /// Writes a table of the form that the options of the database give. Keys come in ascending order.
    ///
    /// # Errors
    /// The library's message; an older library has no such writer.
    pub fn write_table(&self, path: &Path, entries: &[TableEntry]) -> Result<(), String> {
        let f = self.functions;
        let (create_env, destroy_env) = f.envoptions_create.zip(f.envoptions_destroy).ok_or(MISSING)?;
        let (create, destroy) = f.sstfilewriter_create.zip(f.sstfilewriter_destroy).ok_or(MISSING)?;
        let (open, finish) = f.sstfilewriter_open.zip(f.sstfilewriter_finish).ok_or(MISSING)?;
        let (put, merge) = f.sstfilewriter_put.zip(f.sstfilewriter_merge).ok_or(MISSING)?;
        let (delete, delete_range) = f.sstfilewriter_delete.zip(f.sstfilewriter_delete_range).ok_or(MISSING)?;
        let path = c_path(path)?;
        // SAFETY: the pair makes and ends objects of one kind.
        let env = unsafe { Owned::create(create_env, destroy_env) };
        // SAFETY: as above; the options of both outlive the writer, which is dropped first.
        let writer = unsafe { Owned::new(create(env.object(), self.options.object()), destroy) };
        // SAFETY: the writer lives, and the path ends with a zero.
        f.checked(|error| unsafe { open(writer.object(), path.as_ptr(), error) })?;
        for entry in entries {
            let its = writer.object();
            // SAFETY: the writer lives, and the bytes are copied by the call.
            f.checked(|error| unsafe {
                match entry {
                    TableEntry::Put(key, value) => {
                        put(its, chars(key), key.len(), chars(value), value.len(), error);
                    }
                    TableEntry::Merge(key, operand) => {
                        merge(its, chars(key), key.len(), chars(operand), operand.len(), error);
                    }
                    TableEntry::Delete(key) => delete(its, chars(key), key.len(), error),
                    TableEntry::DeleteRange(begin, end) => {
                        delete_range(its, chars(begin), begin.len(), chars(end), end.len(), error);
                    }
                }
            })?;
        }
        // SAFETY: the writer lives.
        f.checked(|error| unsafe { finish(writer.object(), error) })
    }

    /// Takes tables in.
    ///
    /// # Errors
    /// The library's message; an older library has no such function.
    pub fn ingest(&self, paths: &[&Path], how: IngestHow) -> Result<(), String> {
        let f = self.functions;
        let options = f.ingestexternalfileoptions_create.zip(f.ingestexternalfileoptions_destroy);
        let (create, destroy) = options.ok_or(MISSING)?;
        let set_move = f.ingestexternalfileoptions_set_move_files.ok_or(MISSING)?;
        let set_write = f.ingestexternalfileoptions_set_write_global_seqno.ok_or(MISSING)?;
        let ingest = f.ingest_external_file_cf.ok_or(MISSING)?;
        let texts = paths.iter().map(|path| c_path(path)).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        // SAFETY: the pair makes and ends objects of one kind; all objects live, and the list has as many members as
        // the call is told.
        f.checked(|error| unsafe {
            let options = Owned::create(create, destroy);
            set_move(options.object(), how.move_files.into());
            set_write(options.object(), how.write_global_seqno.into());
            let (database, family) = (self.database.object(), self.family.object());
            ingest(database, family, pointers.as_ptr(), pointers.len(), options.object(), error);
        })
    }

    /// Adds an operand to a key.
    ///
    /// # Errors
    /// The library's message.
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<(), String> {
        let merge = self.functions.merge_cf.ok_or("the library has no rocksdb_merge_cf")?;
        let (database, write, family) = (self.database.object(), self.write.object(), self.family.object());
        // SAFETY: all objects live, and the bytes are copied by the call.
        self.functions.checked(|error| unsafe {
            let (key, operand) = ((chars(key), key.len()), (chars(operand), operand.len()));
            merge(database, write, family, key.0, key.1, operand.0, operand.1, error);
        })
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// The library's message.
    pub fn delete(&self, key: &[u8]) -> Result<(), String> {
        let delete = self.functions.delete_cf.ok_or("the library has no rocksdb_delete_cf")?;
        let (database, write, family) = (self.database.object(), self.write.object(), self.family.object());
        // SAFETY: all objects live, and the bytes are copied by the call.
        self.functions.checked(|error| unsafe { delete(database, write, family, chars(key), key.len(), error) })
    }

    /// A snapshot is held while `work` runs.
    pub fn with_snapshot<R>(&self, work: impl FnOnce() -> R) -> R {
        let f = self.functions;
        // SAFETY: the database lives, and the snapshot is released once.
        let snapshot = unsafe { (f.create_snapshot)(self.database.object()) };
        let result = work();
        // SAFETY: as above.
        unsafe { (f.release_snapshot)(self.database.object(), snapshot) };
        result
    }
}
