//! A database that takes the updates of another one.

use crate::common::{Contents, options_on, rows_of};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, Db, DbOptions, Error, FlushOptions, ReadOptions, SequenceNumber, WalIterator,
    WalReadOptions, WriteOptions,
};
use ferrock_base::merge::StringAppend;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::path::Path;
use std::sync::Arc;

pub const FAMILIES: [&str; 3] = ["default", "one", "two"];

/// Opens `/db` with all families.
pub fn open(options: DbOptions) -> ferrock::Result<(Db, Vec<ColumnFamily>)> {
    open_at(Path::new("/db"), options)
}

pub fn open_at(path: &Path, options: DbOptions) -> ferrock::Result<(Db, Vec<ColumnFamily>)> {
    let family = || {
        let mut family = ColumnFamilyOptions::default();
        family.merge_operator = Some(Arc::new(StringAppend::new(b",")));
        family.disable_auto_compactions = true;
        family
    };
    Db::open_cf(path, options, FAMILIES.map(|name| (name.to_owned(), family())).to_vec())
}

pub fn keeping_on(file_system: Arc<dyn FileSystem>, ttl_seconds: u64) -> DbOptions {
    let mut options = options_on(file_system);
    options.wal_ttl_seconds = ttl_seconds;
    options
}

/// Puts all that is logged into tables: no log is needed any more.
pub fn flush_all(db: &Db) {
    db.flush_cfs(&db.column_families(), &FlushOptions::default()).unwrap();
}

pub fn all_contents(db: &Db, families: &[ColumnFamily]) -> Vec<Contents> {
    families.iter().map(|family| rows_of(db.iter_cf(family, &ReadOptions::default()))).collect()
}

/// See the module.
pub struct Follower {
    pub db: Db,
    pub families: Vec<ColumnFamily>,
    pub taken: SequenceNumber,
    updates: Option<WalIterator>,
}

impl Follower {
    pub fn new() -> Self {
        let (db, families) = open(options_on(Arc::new(MemoryFileSystem::new()))).unwrap();
        Self { db, families, taken: SequenceNumber(0), updates: None }
    }

    /// Forgets the iterator: the next one begins behind what was taken.
    pub fn disconnect(&mut self) {
        self.updates = None;
    }

    /// Takes what there is; how many batches that were.
    pub fn follow(&mut self, source: &Db) -> Result<usize, Error> {
        let next = SequenceNumber(self.taken.0 + 1);
        let updates = match &mut self.updates {
            Some(updates) => updates,
            none => none.insert(source.updates_since(next, WalReadOptions::default())?),
        };
        let mut batches = 0;
        while let Some(update) = updates.next_batch()? {
            assert_eq!(update.sequence.0, self.taken.0 + 1, "none is left out, and none comes twice");
            assert_eq!(update.batch.sequence(), update.sequence);
            self.taken = update.last_sequence();
            batches += 1;
            self.db.write(update.batch, &WriteOptions { disable_wal: true, ..WriteOptions::default() })?;
        }
        Ok(batches)
    }

    pub fn assert_equals(&self, source: &Db, families: &[ColumnFamily]) {
        assert_eq!(self.taken, source.latest_sequence_number());
        assert_eq!(all_contents(&self.db, &self.families), all_contents(source, families));
    }
}
