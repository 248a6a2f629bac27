//! What is measured: a database behind one interface, whichever way it is called.
//!
//! Values and rows are copied into the driver's memory, which is part of what is timed: a program at least looks at
//! what it reads. Each call of this interface is one virtual call more than a program makes, on every side.

use super::trouble::{Outcome, Trouble};
use ferrock::options::{BottommostLevelCompaction, apply_text};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, Iter, ReadOptions, WaitForCompactOptions,
    WriteOptions,
};
use ferrock_c_library::{Database, Functions, Rows};
use std::path::Path;

/// Lengths of values in a batch; `None` of a key that is not there.
pub(super) type Lengths = Vec<Option<usize>>;

/// An open database. Closed when it is dropped.
pub(super) trait Target: Send + Sync {
    fn put(&self, key: &[u8], value: &[u8], is_synced: bool) -> Outcome<()>;
    /// Appends the value; whether there is one.
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Outcome<bool>;
    /// Appends the values one behind the other, and their lengths.
    fn multi_get(&self, keys: &[&[u8]], values: &mut Vec<u8>, lengths: &mut Lengths) -> Outcome<()>;
    fn rows(&self) -> Box<dyn Cursor + '_>;
    fn flush(&self) -> Outcome<()>;
    /// Compacts everything.
    fn compact(&self) -> Outcome<()>;
    /// Until no flush and no compaction is left to do.
    fn wait(&self) -> Outcome<()>;
}

/// Rows in order.
pub(super) trait Cursor {
    fn seek_to_first(&mut self);
    fn seek_to_last(&mut self);
    fn seek(&mut self, key: &[u8]);
    fn next(&mut self);
    fn prev(&mut self);
    /// Key and value, if there is a row.
    fn row(&self) -> Option<(&[u8], &[u8])>;
    /// The error that ended the rows.
    fn status(&self) -> Outcome<()>;
}

/// Opens a directory through a library's C interface.
pub(super) fn open_by_c(functions: &'static Functions, directory: &Path, options: &str) -> Outcome<Box<dyn Target>> {
    let opened = Database::open(functions, directory, options);
    Ok(Box::new(ByC(opened.map_err(|error| Trouble::NotDone(format!("{}: {error}", directory.display())))?)))
}

/// Opens a directory through Ferrock's own interface.
pub(super) fn open_natively(directory: &Path, options: &str) -> Outcome<Box<dyn Target>> {
    let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    apply_text(&mut db, &mut family, options)?;
    let (db, families) = Db::open_cf(directory, db, vec![("default".to_owned(), family)])?;
    let family = families.into_iter().next();
    Ok(Box::new(Native { db, family: family.ok_or_else(|| Trouble::NotDone("no column family".to_owned()))? }))
}

struct ByC(Database);

impl Target for ByC {
    fn put(&self, key: &[u8], value: &[u8], is_synced: bool) -> Outcome<()> {
        Ok(self.0.put(key, value, is_synced)?)
    }
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Outcome<bool> {
        Ok(self.0.get(key, value)?)
    }
    fn multi_get(&self, keys: &[&[u8]], values: &mut Vec<u8>, lengths: &mut Lengths) -> Outcome<()> {
        Ok(self.0.multi_get(keys, values, lengths)?)
    }
    fn rows(&self) -> Box<dyn Cursor + '_> {
        Box::new(self.0.rows())
    }
    fn flush(&self) -> Outcome<()> {
        Ok(self.0.flush()?)
    }
    fn compact(&self) -> Outcome<()> {
        Ok(self.0.compact()?)
    }
    fn wait(&self) -> Outcome<()> {
        Ok(self.0.wait()?)
    }
}

impl Cursor for Rows<'_> {
    fn seek_to_first(&mut self) {
        (**self).seek_to_first();
    }
    fn seek_to_last(&mut self) {
        (**self).seek_to_last();
    }
    fn seek(&mut self, key: &[u8]) {
        (**self).seek(key);
    }
    fn next(&mut self) {
        (**self).next();
    }
    fn prev(&mut self) {
        (**self).prev();
    }
    fn row(&self) -> Option<(&[u8], &[u8])> {
        self.valid().then(|| (self.key(), self.value()))
    }
    fn status(&self) -> Outcome<()> {
        Ok((**self).status()?)
    }
}

struct Native {
    db: Db,
    family: ColumnFamily,
}

impl Target for Native {
    fn put(&self, key: &[u8], value: &[u8], is_synced: bool) -> Outcome<()> {
        let options = if is_synced { WriteOptions::synced() } else { WriteOptions::default() };
        Ok(self.db.put_cf(&self.family, key, value, &options)?)
    }
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Outcome<bool> {
        let found = self.db.get(key)?;
        if let Some(found) = &found {
            value.extend_from_slice(found);
        }
        Ok(found.is_some())
    }
    fn multi_get(&self, keys: &[&[u8]], values: &mut Vec<u8>, lengths: &mut Lengths) -> Outcome<()> {
        for found in self.db.multi_get(keys) {
            let found = found?;
            lengths.push(found.as_ref().map(|value| value.len()));
            values.extend_from_slice(found.as_deref().unwrap_or_default());
        }
        Ok(())
    }
    fn rows(&self) -> Box<dyn Cursor + '_> {
        Box::new(self.db.iter(&ReadOptions::default()))
    }
    fn flush(&self) -> Outcome<()> {
        Ok(self.db.flush()?)
    }
    fn compact(&self) -> Outcome<()> {
        let mut options = CompactRangeOptions::default();
        options.bottommost_level_compaction = BottommostLevelCompaction::Force;
        Ok(self.db.compact_range_cf(&self.family, None, None, &options)?)
    }
    fn wait(&self) -> Outcome<()> {
        Ok(self.db.wait_for_compact(&WaitForCompactOptions::default())?)
    }
}

impl Cursor for Iter {
    fn seek_to_first(&mut self) {
        Iter::seek_to_first(self);
    }
    fn seek_to_last(&mut self) {
        Iter::seek_to_last(self);
    }
    fn seek(&mut self, key: &[u8]) {
        Iter::seek(self, key);
    }
    fn next(&mut self) {
        Iter::next(self);
    }
    fn prev(&mut self) {
        Iter::prev(self);
    }
    fn row(&self) -> Option<(&[u8], &[u8])> {
        self.valid().then(|| (self.key(), self.value()))
    }
    fn status(&self) -> Outcome<()> {
        Ok(Iter::status(self)?)
    }
}
