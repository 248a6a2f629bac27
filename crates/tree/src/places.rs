//! The directories of a database's files.
//!
//! | file | directory |
//! |---|---|
//! | CURRENT, MANIFEST, OPTIONS, IDENTITY, LOCK, LOG | the database's own |
//! | WAL | `wal_dir`; the database's own when that is empty |
//! | table | entry *path id* of the family's `cf_paths`, else of `db_paths`, else the database's own |
//! | blob file | the first of these |
//!
//! A follower reads the MANIFEST in its leader's directory, and has all tables and blob files in one of its own.
//!
//! The path id of a table is in the MANIFEST. One behind the last directory means the last, as in RocksDB: a database
//! whose tables were all brought into fewer directories opens without a change to its MANIFEST.
//!
//! Every path of a file whose directory depends on an option is made here, so that writing, reading, syncing and
//! removing agree on it.

use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::file_name;
use ferrock_options::{ColumnFamilyOptions, DbPath};
use ferrock_vfs::{FileSystem, RandomAccessFile, RandomAccessOptions, read_file};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The directories of an open database.
#[derive(Debug)]
pub struct FilePlaces {
    database: PathBuf,
    logs: PathBuf,
    db_paths: TablePaths,
    /// Whatever the options of a family say, `db_paths` has its tables.
    is_one: bool,
    /// By id. Families that were dropped stay: readers may hold their tables, which are removed later.
    families: RwLock<HashMap<u32, TablePaths>>,
}

impl FilePlaces {
    /// Places of a database in `database` whose logs lie in `logs`.
    pub fn new(database: PathBuf, logs: PathBuf, db_paths: &[DbPath]) -> Self {
        let db_paths = TablePaths::new(db_paths).unwrap_or_else(|| TablePaths::from(database.clone()));
        Self { database, logs, db_paths, is_one: false, families: RwLock::default() }
    }

    /// Places of a follower of the database in `leader`: its logs are not read, and the tables and blob files of all
    /// families are in `own`.
    pub fn of_follower(leader: PathBuf, own: PathBuf) -> Self {
        let db_paths = TablePaths::from(own);
        Self { logs: leader.clone(), database: leader, db_paths, is_one: true, families: RwLock::default() }
    }

    /// Directory of the logs.
    pub fn log_directory(&self) -> &Path {
        &self.logs
    }

    /// True when logs do not lie among the other files.
    pub fn has_separate_logs(&self) -> bool {
        !is_same(&self.logs, &self.database)
    }

    /// Path of a log.
    pub fn log(&self, number: FileNumber) -> PathBuf {
        self.logs.join(file_name::log(number))
    }

    /// Registers the table directories of a family, and returns them.
    pub fn add_family(&self, id: u32, options: &ColumnFamilyOptions) -> TablePaths {
        let named = if self.is_one { None } else { TablePaths::new(&options.cf_paths) };
        let paths = named.unwrap_or_else(|| self.db_paths.clone());
        self.families.write().insert(id, paths.clone());
        paths
    }

    /// Where new tables of a family with these options lie.
    #[must_use]
    pub fn directory_of(&self, options: &ColumnFamilyOptions) -> PathBuf {
        let paths = TablePaths::new(&options.cf_paths);
        paths.as_ref().unwrap_or(&self.db_paths).directory(0).to_path_buf()
    }

    /// Path of a blob file.
    pub(crate) fn blob(&self, family: u32, number: FileNumber) -> PathBuf {
        let families = self.families.read();
        families.get(&family).unwrap_or(&self.db_paths).directory(0).join(file_name::blob(number))
    }

    /// Directories that may have tables or blob files, each once, without the database's own.
    pub fn other_table_directories(&self) -> Vec<PathBuf> {
        let families = self.families.read();
        let mut directories: Vec<PathBuf> = Vec::new();
        for paths in std::iter::once(&self.db_paths).chain(families.values()) {
            for directory in paths.directories.iter().filter(|directory| !is_same(directory, &self.database)) {
                if !directories.iter().any(|known| is_same(known, directory)) {
                    directories.push(directory.clone());
                }
            }
        }
        directories
    }

    /// Directories that may have tables or blob files, each once; the database's own comes first.
    pub fn table_directories(&self) -> Vec<PathBuf> {
        let mut directories = vec![self.database.clone()];
        directories.append(&mut self.other_table_directories());
        directories
    }
}

/// Where a file that is read is. What reads a table opens its location, and names no directory and no file system.
#[derive(Clone, Debug)]
pub enum FileLocation {
    /// A file in the database's file system.
    Local {
        /// Its path.
        path: PathBuf,
    },
    /// A file in another store: a second kind, by which a test shows that tables are opened by their location alone.
    #[cfg(test)]
    Elsewhere {
        /// The store.
        store: Arc<dyn FileSystem>,
        /// The path there.
        path: PathBuf,
    },
}

impl FileLocation {
    /// Opens the file for reading; `local` is the database's file system.
    ///
    /// # Errors
    /// Those of the store that has the file; `is_not_found` where it has none.
    pub fn open(&self, local: &dyn FileSystem, options: &RandomAccessOptions) -> Result<Arc<dyn RandomAccessFile>> {
        match self {
            Self::Local { path } => local.open_random_access(path, options),
            #[cfg(test)]
            Self::Elsewhere { store, path } => store.open_random_access(path, options),
        }
    }
}

/// The directories of a family's tables, by path id; never none.
#[derive(Clone, Debug)]
pub struct TablePaths {
    directories: Arc<[PathBuf]>,
    /// Has the tables instead.
    #[cfg(test)]
    pub(crate) elsewhere: Option<Arc<dyn FileSystem>>,
}

impl From<PathBuf> for TablePaths {
    fn from(directory: PathBuf) -> Self {
        Self::of(Arc::new([directory]))
    }
}

impl TablePaths {
    /// `None` without a directory.
    fn new(paths: &[DbPath]) -> Option<Self> {
        (!paths.is_empty()).then(|| Self::of(paths.iter().map(|path| path.path.clone()).collect()))
    }

    fn of(directories: Arc<[PathBuf]>) -> Self {
        Self {
            directories,
            #[cfg(test)]
            elsewhere: None,
        }
    }

    /// These directories and `output`, with the path id of that. All path ids that a MANIFEST may have mean what they
    /// did.
    #[must_use]
    pub fn with_output(&self, output: &Path) -> (Self, u32) {
        const PATH_IDS: u32 = 4;
        let own = (0..PATH_IDS).map(|id| self.directory(id).to_path_buf());
        let mut paths = self.clone();
        paths.directories = own.chain([output.to_path_buf()]).collect();
        (paths, PATH_IDS)
    }

    /// The location of a file of a path id, by its name.
    pub fn locate(&self, path_id: u32, name: &str) -> FileLocation {
        let path = self.directory(path_id).join(name);
        #[cfg(test)]
        if let Some(store) = &self.elsewhere {
            return FileLocation::Elsewhere { store: Arc::clone(store), path };
        }
        FileLocation::Local { path }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.directories.len()
    }

    /// True when there is a directory for the path id itself.
    pub fn has(&self, path_id: u32) -> bool {
        usize::try_from(path_id).is_ok_and(|id| id < self.directories.len())
    }

    /// The directory of a path id; the last for one behind it.
    pub fn directory(&self, path_id: u32) -> &Path {
        let id = usize::try_from(path_id).unwrap_or(usize::MAX);
        &self.directories[id.min(self.directories.len() - 1)]
    }
}

/// True when two paths are spelled the same, but for slashes at the end or doubled, and single dots.
pub fn is_same(a: &Path, b: &Path) -> bool {
    a.components().eq(b.components())
}

/// True when `directory` is that of a database other than the one in `database`, which may be known under two names.
///
/// # Errors
/// `Io` when the directory cannot be looked at.
pub fn is_another_database(file_system: &dyn FileSystem, directory: &Path, database: &Path) -> Result<bool> {
    if is_same(directory, database) || !file_system.exists(&directory.join(file_name::CURRENT))? {
        return Ok(false);
    }
    let identity = |directory: &Path| read_file(file_system, &directory.join(file_name::IDENTITY)).ok();
    Ok(identity(directory).is_none_or(|id| Some(id) != identity(database)))
}

/// Makes the directories of tables that are missing.
///
/// # Errors
/// `Invalid argument` for the directory of another database: its tables would count as orphans of this one.
pub fn create_table_directories(file_system: &dyn FileSystem, database: &Path, paths: &[DbPath]) -> Result<()> {
    for DbPath { path, .. } in paths {
        if is_another_database(file_system, path, database)? {
            let what = "db_paths and cf_paths may not name the directory of another database";
            return Err(Error::invalid_argument(what).in_file(path));
        }
        if !file_system.exists(path)? {
            create_directory(file_system, path)?;
        }
    }
    Ok(())
}

/// Creates a directory, with its missing parents, durably: each is an entry of the one above.
///
/// # Errors
/// `Io` or `NoSpace` when a directory cannot be created, or its parent not be synced. Some of the parents may exist
/// then.
pub fn create_directory(file_system: &dyn FileSystem, path: &Path) -> Result<()> {
    let mut parents = Vec::new();
    let mut directory = path;
    loop {
        let parent =
            directory.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
        let Some(parent) = parent else { break };
        parents.push(parent);
        if file_system.exists(parent)? {
            break;
        }
        directory = parent;
    }
    file_system.create_dir_all(path)?;
    parents.into_iter().rev().try_for_each(|parent| file_system.sync_dir(parent))
}
