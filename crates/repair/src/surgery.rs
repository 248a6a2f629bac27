//! Changes of the MANIFEST of a database that is closed: what a tool does where an open would not help.
//!
//! ```text
//! Surgery::open    LOCK -> OPTIONS -> CURRENT -> MANIFEST        writes nothing
//! remove_table     one edit  --> new MANIFEST, synced --> CURRENT
//! reduce_levels    one edit  /
//! ```
//!
//! - A change is there after a crash or it is not: the new MANIFEST is durable before CURRENT names it.
//! - Logs stay in force: a change releases none.
//! - Files that a change takes out of the tree stay in the directory; the next open removes them.

use crate::states;
use ferrock_base::file_checksum::FileChecksum;
use ferrock_base::{Comparator, Error, ErrorKind, FileNumber, Result};
use ferrock_engine::options::load_latest;
use ferrock_engine::{ColumnFamilyOptions, DbOptions};
use ferrock_format::file_name;
use ferrock_format::version_edit::{NewFile, VersionEdit};
use ferrock_tree::places::FilePlaces;
use ferrock_tree::version::version_set::{RecoverMode, list_column_families};
use ferrock_tree::version::{BlobFileMetadata, VersionSet};
use ferrock_vfs::{FileLock, FileSystem};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A table of a [`FamilyFiles`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOfFamily {
    /// Its number.
    pub number: FileNumber,
    /// Its level.
    pub level: usize,
    /// Where it is.
    pub path: PathBuf,
    /// The checksum of the whole file; `None`: none was recorded.
    pub checksum: Option<FileChecksum>,
}

/// A blob file of a [`FamilyFiles`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobOfFamily {
    /// Its number.
    pub number: FileNumber,
    /// Where it is.
    pub path: PathBuf,
    /// The checksum of the whole file; `None`: none was recorded.
    pub checksum: Option<FileChecksum>,
}

/// The files of a family, as the MANIFEST says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyFiles {
    /// Name of the family.
    pub name: String,
    /// Levels of its tree: of its options, or more where tables are deeper.
    pub num_levels: usize,
    /// Its tables, level by level: newest first in level 0, and in the order of keys below.
    pub tables: Vec<TableOfFamily>,
    /// Its blob files, by number.
    pub blob_files: Vec<BlobOfFamily>,
}

impl FamilyFiles {
    /// The number of levels down to the deepest one that has a table.
    #[must_use]
    pub fn levels_in_use(&self) -> usize {
        self.tables.iter().map(|table| table.level + 1).max().unwrap_or(0)
    }
}

/// A closed database whose MANIFEST is looked at, and changed.
///
/// ```
/// use ferrock::repair::Surgery;
///
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("db");
/// let mut options = ferrock::DbOptions::default();
/// options.create_if_missing = true;
/// let db = ferrock::Db::open(&path, options)?;
/// db.put(b"key", b"value")?;
/// db.flush()?;
/// db.close()?;
/// let surgery = Surgery::open(&path, ferrock::DbOptions::default())?;
/// let table = surgery.files()[0].tables[0].number;
/// // All that the table held is gone.
/// assert_eq!(surgery.remove_table(table)?, ("default".to_owned(), 0));
/// drop(surgery);
/// let db = ferrock::Db::open(&path, ferrock::DbOptions::default())?;
/// assert_eq!(db.get(b"key")?, None);
/// # Ok(())
/// # }
/// ```
pub struct Surgery {
    versions: VersionSet,
    places: FilePlaces,
    /// By family: levels of the options.
    num_levels: Vec<(String, usize)>,
    _lock: Option<Box<dyn FileLock>>,
}

impl Surgery {
    /// Locks the database in `directory`, which must be closed, and reads its MANIFEST. Options of its families come
    /// from its OPTIONS file, those of the database from the caller: `db_paths` and the file system count.
    ///
    /// # Errors
    /// `Io` when there is no database or another process has it open; `Corruption` of CURRENT or the MANIFEST, which a
    /// [`Repair`](crate::Repair) mends; `InvalidArgument` for an order of keys that is not built in.
    pub fn open(directory: impl AsRef<Path>, options: DbOptions) -> Result<Self> {
        let directory = directory.as_ref();
        let files = file_system_of(&options);
        // A lock would make the file, in a directory that has no database.
        ferrock_tree::version::version_set::read_current(&*files, directory)?;
        let lock = files.lock_file(&directory.join(file_name::LOCK))?;
        Self::recover(directory, options, RecoverMode::ReadWrite, Some(lock))
    }

    /// As [`open`](Self::open), without the lock: for a look at a database that may be open elsewhere.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), but for the lock. Every change is refused as `NotSupported`.
    pub fn open_read_only(directory: impl AsRef<Path>, options: DbOptions) -> Result<Self> {
        Self::recover(directory.as_ref(), options, RecoverMode::ReadOnly, None)
    }

    fn recover(
        directory: &Path,
        mut options: DbOptions,
        mode: RecoverMode,
        lock: Option<Box<dyn FileLock>>,
    ) -> Result<Self> {
        let files = file_system_of(&options);
        let loaded = load_latest(&*files, directory)?.unwrap_or_default();
        if options.db_paths.is_empty() {
            options.db_paths.clone_from(&loaded.db.db_paths);
        }
        let (mut families, mut num_levels) = (Vec::new(), Vec::new());
        for (_, name, recorded) in list_column_families(&*files, directory)? {
            let family: ColumnFamilyOptions = loaded.column_family(&name).cloned().unwrap_or_default();
            let comparator = match recorded.filter(|recorded| family.comparator.name() != recorded) {
                Some(recorded) => Comparator::built_in(&recorded)?,
                None => family.comparator.clone(),
            };
            num_levels.push((name.clone(), usize::try_from(family.num_levels).unwrap_or(1)));
            families.push(states::to_open(name, family, comparator));
        }
        let places = FilePlaces::new(directory.to_path_buf(), directory.to_path_buf(), &options.db_paths);
        let versions = VersionSet::recover(files, directory, Arc::new(options), &families, mode)?;
        Ok(Self { versions, places, num_levels, _lock: lock })
    }

    /// The files of every family.
    #[must_use]
    pub fn files(&self) -> Vec<FamilyFiles> {
        let mut families = Vec::new();
        for view in self.versions.families() {
            let paths = self.places.add_family(view.id, &view.options);
            let table = |(level, file): (usize, &Arc<ferrock_tree::version::FileMetadata>)| TableOfFamily {
                number: file.number,
                level,
                path: paths.directory(file.path_id).join(file_name::table(file.number)),
                checksum: file.recorded_checksum(),
            };
            let tables: Vec<TableOfFamily> = view.current.files().map(table).collect();
            let blob = |(number, file): (&FileNumber, &Arc<BlobFileMetadata>)| BlobOfFamily {
                number: *number,
                path: paths.directory(0).join(file_name::blob(*number)),
                checksum: file.addition.checksum(),
            };
            let of_options =
                self.num_levels.iter().find(|(name, _)| *name == view.name).map_or(0, |(_, levels)| *levels);
            let mut family = FamilyFiles {
                name: view.name,
                num_levels: of_options,
                tables,
                blob_files: view.current.blob_files().iter().map(blob).collect(),
            };
            family.num_levels = family.num_levels.max(family.levels_in_use());
            families.push(family);
        }
        families
    }

    /// Takes a table out of the tree, whatever it holds: family and level where it was. What it held is gone, and what
    /// it hid may come back: older values, and keys that it had deleted.
    ///
    /// # Errors
    /// `NotFound` when no family has the table; `Io` when the MANIFEST cannot be written.
    pub fn remove_table(&self, number: FileNumber) -> Result<(String, usize)> {
        for view in self.versions.families() {
            let Some((level, _)) = view.current.files().find(|(_, file)| file.number == number) else { continue };
            let mut edit = VersionEdit::for_column_family(view.id);
            edit.delete_file(level as u32, number);
            self.versions.log_and_apply(vec![edit])?;
            return Ok((view.name, level));
        }
        let what = format!("table {number} is in no family; `ldb list_live_files_metadata` tells which there are");
        Err(Error::new(ErrorKind::NotFound, what))
    }

    /// Brings the tables of a family into its first `levels` levels, so that it opens with that `num_levels`. It has to
    /// be compacted before: of the levels from `levels` - 1 on only one may have tables.
    ///
    /// # Errors
    /// `InvalidArgument` for fewer than two levels, an unknown family, and where several levels would have to share the
    /// last one; `Io` when the MANIFEST cannot be written.
    pub fn reduce_levels(&self, family: &str, levels: usize) -> Result<()> {
        if levels <= 1 {
            return Err(Error::invalid_argument("Number of levels needs to be bigger than 1"));
        }
        let views = self.versions.families();
        let view = views.into_iter().find(|view| view.name == family);
        let view = view.ok_or_else(|| Error::invalid_argument(format!("there is no column family {family}")))?;
        let last = levels - 1;
        let counts = (last..view.current.num_levels()).map(|level| (level, view.current.level(level).len()));
        let used: Vec<(usize, usize)> = counts.filter(|(_, count)| *count > 0).collect();
        if let [(first, count), (second, other), ..] = used[..] {
            return Err(Error::invalid_argument(format!(
                "Found at least two levels containing files: [{first}:{count}],[{second}:{other}]: compact the family \
                 before"
            )));
        }
        let Some((from, _)) = used.first().copied().filter(|(level, _)| *level > last) else { return Ok(()) };
        let mut edit = VersionEdit::for_column_family(view.id);
        for file in view.current.level(from) {
            edit.delete_file(from as u32, file.number);
            edit.new_files.push(NewFile { level: last as u32, ..file.recorded().clone() });
        }
        self.versions.log_and_apply(vec![edit])
    }
}

impl std::fmt::Debug for Surgery {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Surgery").field("files", &self.files()).finish_non_exhaustive()
    }
}

fn file_system_of(options: &DbOptions) -> Arc<dyn FileSystem> {
    options.components.file_system.clone().unwrap_or_else(ferrock_vfs::default_file_system)
}
