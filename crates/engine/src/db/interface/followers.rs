//! Reading a database that another process writes.

use super::Db;
use crate::column_family::ColumnFamily;
use crate::db::views::Views;
use crate::db::{ColumnFamilyDescriptor, open};
use crate::options::DbOptions;
use ferrock_base::{Error, Result};
use ferrock_format::file_name::{self, FileKind};
use std::path::Path;

impl Db {
    /// Opens a database that another process may write, to follow it: reads see it as of the last
    /// [`try_catch_up_with_primary`](Self::try_catch_up_with_primary), and as of this call before the first. What reads
    /// see is at all times one state that the writer had, of all families together, and never an earlier one.
    ///
    /// Nothing is written to `path`, not even a lock; `secondary_path` gets a LOG and is created where it is missing.
    /// Families and options are as for [`open_read_only`](Self::open_read_only); without `families`, those that the
    /// primary creates later are there after a catch-up ([`column_family`](Self::column_family)). All tables are held
    /// open, whatever `max_open_files` says.
    ///
    /// # Errors
    /// Those of [`open_read_only`](Self::open_read_only); `InvalidArgument` when both directories are the same; `Io`
    /// when `secondary_path` cannot be created.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let (path, own) = (directory.path().join("db"), directory.path().join("secondary"));
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// let db = ferrock::Db::open(&path, options)?; // in this process or another one
    /// db.put(b"key", b"1")?;
    /// let (reader, _) = ferrock::Db::open_as_secondary(&path, &own, ferrock::DbOptions::default(), None)?;
    /// db.put(b"key", b"2")?;
    /// db.flush()?;
    /// assert_eq!(reader.get(b"key")?.as_deref(), Some(&b"1"[..]));
    /// reader.try_catch_up_with_primary()?;
    /// assert_eq!(reader.get(b"key")?.as_deref(), Some(&b"2"[..]));
    /// assert!(reader.put(b"key", b"3").is_err());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn open_as_secondary(
        path: impl AsRef<Path>,
        secondary_path: impl AsRef<Path>,
        options: DbOptions,
        families: Option<Vec<ColumnFamilyDescriptor>>,
    ) -> Result<(Self, Vec<ColumnFamily>)> {
        let opened = open::open_as_secondary(path.as_ref(), secondary_path.as_ref(), options, families);
        opened.map(|(core, families)| (Self::from_core(core), families))
    }

    /// Opens a database that another process may write, to follow it from a directory of one's own, as RocksDB's
    /// `OpenAsFollower`: `path` gets hard links to the tables and blob files of `leader_path`, so that the leader may
    /// remove them, and a LOG. Logs are not read: of each family is seen what the leader has flushed, and of all
    /// families one moment where it flushes them together (`atomic_flush`). What is seen never goes back.
    ///
    /// A thread catches up every `follower_refresh_catchup_period_ms`, and tries again `follower_catchup_retry_count`
    /// times, `follower_catchup_retry_wait_ms` apart;
    /// [`try_catch_up_with_primary`](Self::try_catch_up_with_primary) does it at once. Closing ends the thread. These
    /// three options are those of `options`; families and the other options are as for
    /// [`open_as_secondary`](Self::open_as_secondary), with `leader_path` as its directory.
    ///
    /// `path` is created where it is missing. Opened again, it keeps its links and drops those without use. Where the
    /// file system refuses a link, the file is copied.
    ///
    /// # Errors
    /// Those of [`open_read_only`](Self::open_read_only); `InvalidArgument` when `leader_path` has no CURRENT, and when
    /// `path` is a directory of the leader, of another follower's leader, or of anything but a follower; `Busy` when
    /// `path` is in use; `NotSupported` for a leader without an identity; `Io` when a file can neither be linked nor
    /// copied, or no thread can be started.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let (leader, own) = (directory.path().join("db"), directory.path().join("follower"));
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// let db = ferrock::Db::open(&leader, options)?; // in this process or another one
    /// db.put(b"key", b"1")?;
    /// db.flush()?;
    /// let mut options = ferrock::DbOptions::default();
    /// options.follower_refresh_catchup_period_ms = 600_000; // every ten minutes
    /// let (follower, _) = ferrock::Db::open_as_follower(&own, &leader, options, None)?;
    /// db.put(b"key", b"2")?;
    /// db.compact_range(None, None)?; // the tables of before are removed
    /// assert_eq!(follower.get(b"key")?.as_deref(), Some(&b"1"[..]));
    /// follower.try_catch_up_with_primary()?;
    /// assert_eq!(follower.get(b"key")?.as_deref(), Some(&b"2"[..]));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn open_as_follower(
        path: impl AsRef<Path>,
        leader_path: impl AsRef<Path>,
        options: DbOptions,
        families: Option<Vec<ColumnFamilyDescriptor>>,
    ) -> Result<(Self, Vec<ColumnFamily>)> {
        let opened = open::open_as_follower(path.as_ref(), leader_path.as_ref(), options, families);
        opened.map(|(core, families)| (Self::from_core(core), families))
    }

    /// Takes in what the primary of a secondary, or the leader of a follower, has written to its files since. Reads go
    /// on meanwhile, and see either what they saw before or all of it. Families that the primary dropped are gone then;
    /// their handles keep what they have.
    ///
    /// # Errors
    /// What reads see stays as it was, and a later call tries again. `NotSupported` when the database is neither;
    /// `ShutdownInProgress` once a follower is closed; `Busy` while a [`snapshot`](Self::snapshot) of this database is
    /// held and tables of the primary changed, and when they change faster than they can be opened; `TryAgain` when the
    /// files end before what was seen; `Io` and `Corruption` of the primary's files.
    pub fn try_catch_up_with_primary(&self) -> Result<()> {
        open::catch_up(self.core())
    }

    /// True when the database follows another process's: opened with [`open_as_secondary`](Self::open_as_secondary),
    /// or with [`open_as_follower`](Self::open_as_follower).
    #[must_use]
    pub fn is_secondary(&self) -> bool {
        self.core().secondary.get().is_some()
    }

    /// True when the database was opened with [`open_as_follower`](Self::open_as_follower).
    #[must_use]
    pub fn is_follower(&self) -> bool {
        self.core().secondary.get().is_some_and(Views::is_follower)
    }

    /// Runs `read` while no catch-up replaces what is seen: iterators made in it, over several families of a
    /// secondary, are of one moment. `read` must neither catch up nor close the database: both wait for its end.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let _primary = ferrock::Db::open(directory.path(), options)?;
    /// # let own = tempfile::tempdir().unwrap();
    /// # let options = ferrock::DbOptions::default();
    /// # let (db, _) = ferrock::Db::open_as_secondary(directory.path(), own.path(), options, None)?;
    /// let families = db.column_families();
    /// let options = ferrock::ReadOptions::default();
    /// let iters = || families.iter().map(|family| db.iter_cf(family, &options)).collect::<Vec<_>>();
    /// let iterators = db.at_one_view(iters);
    /// # assert_eq!(iterators.len(), 1);
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn at_one_view<R>(&self, read: impl FnOnce() -> R) -> R {
        let _views = self.core().hold_views();
        read()
    }

    /// As [`open_read_only`](Self::open_read_only), for a reader that wants everything to be in tables: refused when
    /// the directory of the logs, `wal_dir` of `options` or else the database's, has one, be it empty.
    ///
    /// # Errors
    /// `Corruption` naming the newest log when there is one, and those of [`open_read_only`](Self::open_read_only).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let _db = ferrock::Db::open(directory.path(), options)?;
    /// let opened = ferrock::Db::open_read_only_without_logs(directory.path(), ferrock::DbOptions::default(), None);
    /// assert!(opened.is_err(), "its writer has a log");
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn open_read_only_without_logs(
        path: impl AsRef<Path>,
        options: DbOptions,
        families: Option<Vec<ColumnFamilyDescriptor>>,
    ) -> Result<(Self, Vec<ColumnFamily>)> {
        let path = path.as_ref();
        let logs = if options.wal_dir.is_empty() { path } else { Path::new(&options.wal_dir) };
        let children = open::file_system_of(&options)?.children(logs)?;
        let numbers = children.iter().filter_map(|name| file_name::parse(name));
        let newest = numbers.filter(|name| name.kind == FileKind::Log).map(|name| name.number).max();
        match newest {
            Some(number) => {
                let what = "opened read-only with error_if_wal_file_exists, and there is a WAL";
                Err(Error::corruption(what).in_file(logs.join(file_name::log(number))))
            }
            None => Self::open_read_only(path, options, families),
        }
    }
}
