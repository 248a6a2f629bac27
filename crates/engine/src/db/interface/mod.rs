//! [`Db`]: what a program calls. Every method checks little and hands over to a journey.
//!
//! ```text
//! mod.rs    opening, closing, destroying     write.rs   batches, single entries, the log
//! read.rs   keys, ranges, snapshots, futures  manage.rs  families, options, jobs
//! properties.rs what it tells
//! compactions.rs compactions of files, pauses, aborts, waiting       logs.rs files of the log, and what they hold
//! copying.rs what a copy of a running database needs  ingest.rs  files from outside
//! tracing.rs what the database is asked, written down
//! ```

use super::{ColumnFamilyDescriptor, DbCore, background, destroy, in_memory, open};
use crate::column_family::ColumnFamily;
use crate::options::{ColumnFamilyOptions, DbOptions};
use ferrock_base::{Result, SequenceNumber};
use ferrock_tree::version::version_set::DEFAULT_COLUMN_FAMILY;
use ferrock_vfs::FileSystem;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Weak};

mod compactions;
mod copying;
mod followers;
mod ingest;
mod logs;
mod manage;
mod properties;
mod read;
mod tracing;
mod write;

/// Closes the database when the last clone of [`Db`] goes.
struct Handle {
    core: Arc<DbCore>,
    /// False of those that a [`WeakDb`] gives.
    closes: bool,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.closes {
            return;
        }
        if let Err(error) = background::close(&self.core) {
            self.core.events.log().error(|| format!("closing: {error}"));
        }
    }
}

/// An open database. Cheap to clone, `Send` and `Sync`; the last clone closes it.
///
/// ```
/// # extern crate ferrock_engine as ferrock;
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// let mut options = ferrock::DbOptions::default();
/// options.create_if_missing = true;
/// let db = ferrock::Db::open(directory.path(), options)?;
/// db.put(b"key", b"value")?;
/// assert_eq!(db.get(b"key")?.as_deref(), Some(&b"value"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Db {
    handle: Arc<Handle>,
}

/// A handle that does not keep a database open. See [`Db::downgrade`].
#[derive(Clone)]
pub struct WeakDb {
    core: Weak<DbCore>,
}

impl fmt::Debug for WeakDb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakDb").finish_non_exhaustive()
    }
}

impl WeakDb {
    /// The database, or `None` when nothing of it is left. The handle does not keep it open either: calls fail with
    /// `Shutdown in progress` once it is closed.
    #[must_use]
    pub fn upgrade(&self) -> Option<Db> {
        self.core.upgrade().map(|core| Db { handle: Arc::new(Handle { core, closes: false }) })
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db").field("path", &self.core().files.database()).finish_non_exhaustive()
    }
}

impl Db {
    pub(crate) fn from_core(core: Arc<DbCore>) -> Self {
        Self { handle: Arc::new(Handle { core, closes: true }) }
    }

    pub(crate) fn core(&self) -> &Arc<DbCore> {
        &self.handle.core
    }

    /// Opens a database that has no column family but the default one.
    ///
    /// # Errors
    /// `Corruption` when the directory has files of a database but no CURRENT, whatever `create_if_missing` says;
    /// `Invalid argument` when it has no database and `create_if_missing` is off, when there are other
    /// families (name them: [`open_cf`](Self::open_cf)), or when an option is out of its bounds; `Resource busy` when
    /// another process, or another handle in this one, has the database open; `Corruption` and `IO error` as they come.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// let mut options = ferrock::DbOptions::default();
    /// options.create_if_missing = true;
    /// let db = ferrock::Db::open(&path, options)?;
    /// db.put(b"key", b"value")?;
    /// db.close()?;
    /// // Without `create_if_missing` only what is there is opened.
    /// let db = ferrock::Db::open(&path, ferrock::DbOptions::default())?;
    /// assert!(db.get(b"key")?.is_some());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, options: DbOptions) -> Result<Self> {
        Self::open_cf(path, options, vec![(DEFAULT_COLUMN_FAMILY.to_owned(), ColumnFamilyOptions::default())])
            .map(|(db, _)| db)
    }

    /// Opens a database with all its column families; the handles come in the order of `families`.
    ///
    /// # Errors
    /// As for [`open`](Self::open), and `InvalidArgument` when a family of the database is not among `families`, or one
    /// of `families` is not in the database and `create_missing_column_families` is off.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// use ferrock::{ColumnFamilyOptions, Db, DbOptions, WriteOptions};
    ///
    /// let mut options = DbOptions::default();
    /// options.create_if_missing = true;
    /// options.create_missing_column_families = true;
    /// let mut events = ColumnFamilyOptions::default();
    /// events.write_buffer_size = 8 << 20;
    /// let families = vec![("default".to_owned(), ColumnFamilyOptions::default()), ("events".to_owned(), events)];
    /// let (db, handles) = Db::open_cf(&path, options, families)?;
    /// db.put_cf(&handles[1], b"key", b"value", &WriteOptions::default())?;
    /// assert_eq!(handles[1].name(), "events");
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn open_cf(
        path: impl AsRef<Path>,
        options: DbOptions,
        families: Vec<ColumnFamilyDescriptor>,
    ) -> Result<(Self, Vec<ColumnFamily>)> {
        open::open(path.as_ref(), options, families).map(|(core, families)| (Self::from_core(core), families))
    }

    /// Opens an existing database with the options that its own OPTIONS file has. What that file asks for and cannot be
    /// had is in [`option_notes`](Self::option_notes). A `wal_dir` in `base` stands before that of the file, and
    /// `db_paths` are those of `base`, as no file has them.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and `NotSupported` when a family's comparator is not built in: use
    /// [`open_cf`](Self::open_cf). An OPTIONS file that cannot be read is no error but a note.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(&path, options.clone())?;
    /// # db.close()?;
    /// use ferrock::{Db, DbOptions};
    ///
    /// let (db, families) = Db::open_with_latest_options(&path, DbOptions::default())?;
    /// assert_eq!(families[0].name(), "default");
    /// assert!(db.option_notes().is_empty(), "all that the file asks for is done");
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn open_with_latest_options(path: impl AsRef<Path>, base: DbOptions) -> Result<(Self, Vec<ColumnFamily>)> {
        open::open_with_latest_options(path.as_ref(), base).map(|(core, families)| (Self::from_core(core), families))
    }

    /// Opens a database for reading. Nothing is written, not even a lock: it works on a read-only mount, and beside a
    /// process that has the database open, whose later writes are not seen. Without `families` all of them are opened
    /// with the options of the directory's OPTIONS file; of the database's own options the recovery mode, a `wal_dir`,
    /// `db_paths` and the components are then taken from `options`.
    ///
    /// # Errors
    /// `InvalidArgument` for a family that does not exist and without a database; `Corruption` and `Io` when its files
    /// cannot be read.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(&path, options.clone())?;
    /// # db.put(b"key", b"value")?;
    /// // `db` stays open, in this process or another one.
    /// let (reader, families) = ferrock::Db::open_read_only(&path, ferrock::DbOptions::default(), None)?;
    /// assert!(reader.get(b"key")?.is_some());
    /// assert!(reader.put(b"key", b"other").is_err());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn open_read_only(
        path: impl AsRef<Path>,
        options: DbOptions,
        families: Option<Vec<ColumnFamilyDescriptor>>,
    ) -> Result<(Self, Vec<ColumnFamily>)> {
        open::open_read_only(path.as_ref(), options, families).map(|(core, families)| (Self::from_core(core), families))
    }

    /// Opens a new, empty database whose files are in memory: for tests, and for caches that are filled anew. What it
    /// holds is gone when it is closed, unless [`save_to`](Self::save_to) wrote it to a directory. Everything else is
    /// as on a disk: logs, flushes and compactions, so `WriteOptions::disable_wal` and large memtables save memory.
    /// Missing families are created, and reads go to the bytes of the files themselves.
    ///
    /// # Errors
    /// `InvalidArgument` for options that name directories (`wal_dir`, `db_paths`, `cf_paths`), and those of
    /// [`open_cf`](Self::open_cf).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let directory = directory.path().join("saved");
    /// use ferrock::{Db, DbOptions};
    ///
    /// let (db, _) = Db::open_in_memory(DbOptions::default(), vec![("default".to_owned(), Default::default())])?;
    /// db.put(b"key", b"value")?;
    /// db.save_to(&directory)?;
    /// db.put(b"key", b"other")?;
    ///
    /// let (copy, _) = Db::load_in_memory(&directory, DbOptions::default(), None)?;
    /// assert_eq!(copy.get(b"key")?.as_deref(), Some(&b"value"[..]));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn open_in_memory(
        options: DbOptions,
        families: Vec<ColumnFamilyDescriptor>,
    ) -> Result<(Self, Vec<ColumnFamily>)> {
        in_memory::open(options, families).map(|(core, families)| (Self::from_core(core), families))
    }

    /// Copies a directory that no process has open into memory and opens the copy, which lives as that of
    /// [`open_in_memory`](Self::open_in_memory). Without `families` all are opened with the options of the directory's
    /// OPTIONS file. The directory stays as it is.
    ///
    /// # Errors
    /// `Busy` when the directory is open; `NotSupported` when logs or tables of the database are in other directories;
    /// and those of [`open_in_memory`](Self::open_in_memory).
    pub fn load_in_memory(
        directory: impl AsRef<Path>,
        options: DbOptions,
        families: Option<Vec<ColumnFamilyDescriptor>>,
    ) -> Result<(Self, Vec<ColumnFamily>)> {
        let opened = in_memory::load(directory.as_ref(), options, families);
        opened.map(|(core, families)| (Self::from_core(core), families))
    }

    /// Names of the column families of a database, in the order of their ids.
    ///
    /// # Errors
    /// `Io` when there is no database or its MANIFEST cannot be read, `Corruption` when that is damaged.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(&path, options.clone())?;
    /// # db.create_column_family("events", ferrock::ColumnFamilyOptions::default())?;
    /// let names = ferrock::Db::list_column_families(&path, &ferrock::DbOptions::default())?;
    /// assert_eq!(names, ["default", "events"]);
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn list_column_families(path: impl AsRef<Path>, options: &DbOptions) -> Result<Vec<String>> {
        open::list_column_families(path.as_ref(), options)
    }

    /// Removes a database that no process has open. Files that are not a database's stay, and with them the directory.
    /// Where there is nothing, nothing is done. Logs in another directory go when `options` names it as `wal_dir`,
    /// tables when it is one of `db_paths`; a `wal_dir` that only the OPTIONS file names is left alone, as it may be
    /// that of the database of which this one is a copy.
    ///
    /// # Errors
    /// `Resource busy` when it is open, `IO error` for the first file that cannot be removed; the others go all the
    /// same.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(&path, options.clone())?;
    /// assert!(ferrock::Db::destroy(&path, &options).is_err(), "it is open");
    /// db.close()?;
    /// ferrock::Db::destroy(&path, &options)?;
    /// assert!(!path.join("CURRENT").exists());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn destroy(path: impl AsRef<Path>, options: &DbOptions) -> Result<()> {
        Self::destroy_cf(path, options, &[])
    }

    /// As [`destroy`](Self::destroy), with families whose `cf_paths` have tables to remove, too.
    ///
    /// # Errors
    /// Those of [`destroy`](Self::destroy).
    pub fn destroy_cf(path: impl AsRef<Path>, options: &DbOptions, families: &[ColumnFamilyDescriptor]) -> Result<()> {
        destroy::destroy(path.as_ref(), options, families)
    }

    /// Closes the database and says whether everything was written. Without it the last clone closes silently.
    ///
    /// # Errors
    /// The first error of flushing what no log has and of closing the log. The database is closed all the same, and
    /// acknowledged writes that are in the log are recovered by the next open.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// db.close()?;
    /// let db = ferrock::Db::open(directory.path(), ferrock::DbOptions::default())?;
    /// assert!(db.get(b"key")?.is_some());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn close(self) -> Result<()> {
        background::close(self.core())
    }

    /// A handle that does not keep the database open: for a listener that calls the database it listens to, which would
    /// else keep it open for ever.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// use ferrock::{Db, DbOptions, EventListener, FlushJobInfo, WeakDb};
    /// use std::sync::{Arc, OnceLock};
    ///
    /// /// Notes in the database what was flushed.
    /// #[derive(Default)]
    /// struct Notes(OnceLock<WeakDb>);
    ///
    /// impl EventListener for Notes {
    ///     fn on_flush_completed(&self, info: &FlushJobInfo) {
    ///         if let Some(db) = self.0.get().and_then(WeakDb::upgrade) {
    ///             let key = format!("flush {}", info.job_id);
    ///             let _ = db.put(key.as_bytes(), &info.file_size_bytes.to_le_bytes());
    ///         }
    ///     }
    /// }
    ///
    /// # let directory = tempfile::tempdir().unwrap();
    /// let notes = Arc::new(Notes::default());
    /// let mut options = DbOptions::default();
    /// options.create_if_missing = true;
    /// options.components.listeners.push(Arc::clone(&notes) as Arc<dyn EventListener>);
    /// let db = Db::open(directory.path(), options)?;
    /// notes.0.set(db.downgrade()).ok();
    /// db.put(b"key", b"value")?;
    /// db.flush()?;
    /// db.close()?;
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    #[must_use]
    pub fn downgrade(&self) -> WeakDb {
        WeakDb { core: Arc::downgrade(self.core()) }
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.core().files.database()
    }

    /// What holds its files: the file system of `Components::file_system`, or else that of the machine.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// let mut options = ferrock::DbOptions::default();
    /// options.create_if_missing = true;
    /// let (db, _) = ferrock::Db::open_in_memory(options, vec![("default".to_owned(), Default::default())])?;
    /// assert!(db.file_system().exists(&db.path().join("CURRENT"))?);
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    #[must_use]
    pub fn file_system(&self) -> Arc<dyn FileSystem> {
        Arc::clone(&self.core().env.file_system)
    }

    /// The database's identity, as in the file IDENTITY.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.core().identity.db_id
    }

    /// The newest sequence number.
    #[must_use]
    pub fn latest_sequence_number(&self) -> SequenceNumber {
        self.core().visible()
    }

    /// Settings that do not do what was asked for: values that were out of their bounds and what is used instead, hints
    /// without effect here, what an OPTIONS file has and could not be taken over as it is, and compaction styles that
    /// have no automatic compaction here. Of an option that is set again and again, the last note stays.
    #[must_use]
    pub fn option_notes(&self) -> Vec<String> {
        self.core().options.notes().all()
    }
}

/// Handles move between threads.
const _: fn() = || {
    fn is_send<T: Send + 'static>() {}
    is_send::<Db>();
};
