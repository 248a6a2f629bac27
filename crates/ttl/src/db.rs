//! A database whose entries expire.

use crate::filter::{TimeToLive, TtlFilterFactory};
use crate::iter::TtlIter;
use crate::merge::TtlMergeOperator;
use crate::suffix::{stamped, strip};
use ferrock_base::clock::Clock;
use ferrock_base::compaction_filter::CompactionFilterFactory;
use ferrock_base::merge::MergeOperator;
use ferrock_base::{Error, Result};
use ferrock_engine::{
    ColumnFamily, ColumnFamilyOptions, Db, DbOptions, PinnedSlice, ReadOptions, WeakDb, WriteBatch, WriteOptions,
};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A family to open: its name, its options, and how long its values live (`None` or zero: for ever).
pub type TtlFamily = (String, ColumnFamilyOptions, Option<Duration>);

/// What a [`TtlDb`] knows beside its database.
struct Rules {
    clock: Arc<dyn Clock>,
    /// By the number of the family.
    families: RwLock<HashMap<u32, Arc<TimeToLive>>>,
}

/// A database whose entries expire. Cheap to clone; the last clone closes it.
///
/// Values that are older than the time to live of their family are dropped by the next compaction that rewrites their
/// table, not before. [`compact_range`](Db::compact_range) over the whole family drops all of them.
///
/// The time is that of the clock in the components of the options. Compaction filters and merge operators of the
/// options see values without times. What is written and read through [`db`](method@Self::db) has the four bytes of the
/// time at its end.
///
/// ```
/// use ferrock::ttl::TtlDb;
/// use ferrock::{ColumnFamilyOptions, DbOptions, WriteOptions};
/// use std::time::Duration;
///
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// let mut options = DbOptions::default();
/// options.create_if_missing = true;
/// options.create_missing_column_families = true;
/// let families = vec![
///     ("default".to_owned(), ColumnFamilyOptions::default(), None),
///     ("visits".to_owned(), ColumnFamilyOptions::default(), Some(Duration::from_secs(1800))),
/// ];
/// let (db, handles) = TtlDb::open_cf(directory.path(), options, families)?;
/// db.put_cf(&handles[1], b"7", b"Ada", &WriteOptions::default())?;
/// db.set_ttl(&handles[1], Some(Duration::from_secs(60)))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TtlDb {
    db: Db,
    rules: Arc<Rules>,
}

/// A handle that does not keep a [`TtlDb`] open.
#[derive(Clone)]
pub struct WeakTtlDb {
    db: WeakDb,
    rules: Arc<Rules>,
}

impl WeakTtlDb {
    /// The database, or `None` when nothing of it is left: see [`WeakDb::upgrade`].
    #[must_use]
    pub fn upgrade(&self) -> Option<TtlDb> {
        self.db.upgrade().map(|db| TtlDb { db, rules: Arc::clone(&self.rules) })
    }
}

impl fmt::Debug for WeakTtlDb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakTtlDb").finish_non_exhaustive()
    }
}

impl fmt::Debug for TtlDb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TtlDb").field("path", &self.db.path()).finish_non_exhaustive()
    }
}

/// Puts filter and merge operator around those of the caller.
fn with_rules(mut options: ColumnFamilyOptions, ttl: &Arc<TimeToLive>, clock: &Arc<dyn Clock>) -> ColumnFamilyOptions {
    let factory = TtlFilterFactory {
        ttl: Arc::clone(ttl),
        clock: Arc::clone(clock),
        filter: options.compaction_filter.take(),
        factory: options.compaction_filter_factory.take(),
    };
    options.compaction_filter_factory = Some(Arc::new(factory) as Arc<dyn CompactionFilterFactory>);
    options.merge_operator = options.merge_operator.take().map(|user| {
        let clock = Arc::clone(clock);
        Arc::new(TtlMergeOperator { user, clock }) as Arc<dyn MergeOperator>
    });
    options
}

/// How a directory is opened.
type Open = fn(&Path, DbOptions, Vec<(String, ColumnFamilyOptions)>) -> Result<(Db, Vec<ColumnFamily>)>;

impl TtlDb {
    /// Opens a database that has no column family but the default one. Its values live for `ttl`; with `None` or zero
    /// for ever.
    ///
    /// # Errors
    /// Those of [`Db::open`].
    pub fn open(path: impl AsRef<Path>, options: DbOptions, ttl: Option<Duration>) -> Result<Self> {
        Self::open_cf(path, options, vec![("default".to_owned(), ColumnFamilyOptions::default(), ttl)])
            .map(|(db, _)| db)
    }

    /// Opens a database with all its column families; the handles come in the order of `families`.
    ///
    /// # Errors
    /// Those of [`Db::open_cf`].
    pub fn open_cf(
        path: impl AsRef<Path>,
        options: DbOptions,
        families: Vec<TtlFamily>,
    ) -> Result<(Self, Vec<ColumnFamily>)> {
        Self::open_by(|path, options, families| Db::open_cf(path, options, families), path.as_ref(), options, families)
    }

    /// Opens families of a database for reading; nothing is written, and nothing expires.
    ///
    /// # Errors
    /// Those of [`Db::open_read_only`].
    pub fn open_read_only(
        path: impl AsRef<Path>,
        options: DbOptions,
        families: Vec<TtlFamily>,
    ) -> Result<(Self, Vec<ColumnFamily>)> {
        let open: Open = |path, options, families| Db::open_read_only(path, options, Some(families));
        Self::open_by(open, path.as_ref(), options, families)
    }

    fn open_by(
        open: Open,
        path: &Path,
        options: DbOptions,
        families: Vec<TtlFamily>,
    ) -> Result<(Self, Vec<ColumnFamily>)> {
        let clock = options.components.clock();
        let mut descriptors = Vec::with_capacity(families.len());
        let mut lives = Vec::with_capacity(families.len());
        for (name, family, ttl) in families {
            let ttl = Arc::new(TimeToLive::new(ttl));
            descriptors.push((name, with_rules(family, &ttl, &clock)));
            lives.push(ttl);
        }
        let (db, handles) = open(path, options, descriptors)?;
        let families = handles.iter().map(ColumnFamily::id).zip(lives).collect();
        Ok((Self { db, rules: Arc::new(Rules { clock, families: RwLock::new(families) }) }, handles))
    }

    /// The database beneath: flushes, compactions, snapshots, options, properties, closing. Its values end with times.
    #[must_use]
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// A handle that does not keep the database open.
    #[must_use]
    pub fn downgrade(&self) -> WeakTtlDb {
        WeakTtlDb { db: self.db.downgrade(), rules: Arc::clone(&self.rules) }
    }

    /// Creates a column family whose values live for `ttl`.
    ///
    /// # Errors
    /// Those of [`Db::create_column_family`].
    pub fn create_column_family(
        &self,
        name: &str,
        options: ColumnFamilyOptions,
        ttl: Option<Duration>,
    ) -> Result<ColumnFamily> {
        let ttl = Arc::new(TimeToLive::new(ttl));
        let family = self.db.create_column_family(name, with_rules(options, &ttl, &self.rules.clock))?;
        self.rules.families.write().insert(family.id(), ttl);
        Ok(family)
    }

    /// How long the values of a family live; `None`: for ever.
    ///
    /// # Errors
    /// `InvalidArgument` when the family was created through [`db`](method@Self::db), or is of another database.
    pub fn ttl(&self, family: &ColumnFamily) -> Result<Option<Duration>> {
        self.life(family).map(|life| life.get())
    }

    /// Changes how long the values of a family live, those that it has included: compactions go by it from now on. It
    /// is not kept: the next open says it anew.
    ///
    /// # Errors
    /// Those of [`ttl`](Self::ttl).
    pub fn set_ttl(&self, family: &ColumnFamily, ttl: Option<Duration>) -> Result<()> {
        self.life(family).map(|life| life.set(ttl))
    }

    fn life(&self, family: &ColumnFamily) -> Result<Arc<TimeToLive>> {
        let found = self.rules.families.read().get(&family.id()).cloned();
        found.ok_or_else(|| {
            Error::invalid_argument(format!(
                "column family {} has no time to live: it was not opened or created by this TtlDb",
                family.name()
            ))
        })
    }

    /// The value of a key of the default family.
    ///
    /// # Errors
    /// Those of [`get_cf`](Self::get_cf).
    pub fn get(&self, key: &[u8]) -> Result<Option<PinnedSlice>> {
        self.get_cf(&self.db.default_column_family()?, &ReadOptions::default(), key)
    }

    /// The value of a key of a family. One that is too old is there until a compaction drops it.
    ///
    /// # Errors
    /// Those of [`Db::get_cf`], and `Corruption` naming the key when its value has no time that can be one.
    pub fn get_cf(&self, family: &ColumnFamily, options: &ReadOptions, key: &[u8]) -> Result<Option<PinnedSlice>> {
        Ok(self.get_with_time_cf(family, options, key)?.map(|(value, _)| value))
    }

    /// The value of a key of a family, and when it was written, in unix seconds. Of merged operands it is the time of
    /// the merge, which a read makes anew.
    ///
    /// # Errors
    /// Those of [`get_cf`](Self::get_cf).
    ///
    /// ```
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::ttl::TtlDb::open(directory.path(), options, None)?;
    /// let family = db.db().default_column_family()?;
    /// db.put(b"key", b"value")?;
    /// let (value, time_secs) = db.get_with_time_cf(&family, &ferrock::ReadOptions::default(), b"key")?.unwrap();
    /// assert!(value == b"value" && time_secs > 1_600_000_000);
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_with_time_cf(
        &self,
        family: &ColumnFamily,
        options: &ReadOptions,
        key: &[u8],
    ) -> Result<Option<(PinnedSlice, u32)>> {
        let stored = self.db.get_cf(family, options, key)?;
        stored.map(|stored| strip(stored, family.name(), key)).transpose()
    }

    /// The values of many keys, each of the family beside it, in the order of `keys` and all as of one moment.
    #[must_use]
    pub fn multi_get_families(
        &self,
        options: &ReadOptions,
        keys: &[(&ColumnFamily, &[u8])],
    ) -> Vec<Result<Option<PinnedSlice>>> {
        let found = self.db.multi_get_families(options, keys);
        let without_time = |stored: Result<Option<PinnedSlice>>, (family, key): &(&ColumnFamily, &[u8])| {
            let stripped = stored?.map(|stored| strip(stored, family.name(), key)).transpose()?;
            Ok(stripped.map(|(value, _)| value))
        };
        found.into_iter().zip(keys).map(|(stored, place)| without_time(stored, place)).collect()
    }

    /// An iterator over the default family, not positioned yet.
    #[must_use]
    pub fn iter(&self, options: &ReadOptions) -> TtlIter {
        TtlIter::new(self.db.iter(options), "default")
    }

    /// An iterator over a family, not positioned yet.
    #[must_use]
    pub fn iter_cf(&self, family: &ColumnFamily, options: &ReadOptions) -> TtlIter {
        TtlIter::new(self.db.iter_cf(family, options), family.name())
    }

    /// Sets the value of a key of the default family, as of now.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + value.len() + 16);
        batch.put(key, value)?;
        self.write(&mut batch, &WriteOptions::default())
    }

    /// Sets the value of a key of a family, as of now.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn put_cf(&self, family: &ColumnFamily, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + value.len() + 20);
        batch.put_cf(family.id(), key, value)?;
        self.write(&mut batch, options)
    }

    /// Merges an operand, as of now, into the value of a key of a family.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn merge_cf(&self, family: &ColumnFamily, key: &[u8], operand: &[u8], options: &WriteOptions) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(key.len() + operand.len() + 20);
        batch.merge_cf(family.id(), key, operand)?;
        self.write(&mut batch, options)
    }

    /// Removes a key of the default family.
    ///
    /// # Errors
    /// Those of [`Db::delete`].
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.db.delete(key)
    }

    /// Removes a key of a family.
    ///
    /// # Errors
    /// Those of [`Db::delete_cf`].
    pub fn delete_cf(&self, family: &ColumnFamily, key: &[u8], options: &WriteOptions) -> Result<()> {
        self.db.delete_cf(family, key, options)
    }

    /// Writes a batch atomically; its values and operands are as of now. The batch stays the caller's, without times;
    /// its [`sequence`](WriteBatch::sequence) is then the number of its first entry.
    ///
    /// # Errors
    /// Those of [`Db::write`], and `NotSupported` for a batch with entities, timed puts, references to blob files or
    /// parts of transactions.
    pub fn write(&self, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
        let mut with_times = stamped(batch, &*self.rules.clock)?;
        self.db.write_lent(&mut with_times, options)?;
        batch.set_sequence(with_times.sequence());
        Ok(())
    }

    /// Closes the database and says whether everything was written.
    ///
    /// # Errors
    /// Those of [`Db::close`].
    pub fn close(self) -> Result<()> {
        self.db.close()
    }
}
