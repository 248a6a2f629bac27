//! The database to be looked at: its directories, its files by name, and the options of its families.

use ferrock_base::{Comparator, FileNumber, Result};
use ferrock_engine::options::{DbPath, load_latest};
use ferrock_engine::{ColumnFamilyDescriptor, ColumnFamilyOptions, DbOptions};
use ferrock_format::file_name::{self, FileKind};
use ferrock_tree::places::is_same;
use ferrock_vfs::FileSystem;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that is there.
#[derive(Clone, Debug)]
pub(crate) struct Present {
    pub(crate) path: PathBuf,
    pub(crate) size_bytes: u64,
}

/// Files of one kind, by number.
pub(crate) type Files = BTreeMap<FileNumber, Present>;

/// A database in a directory. Nothing in it is open.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) files: Arc<dyn FileSystem>,
    pub(crate) directory: PathBuf,
    pub(crate) db: DbOptions,
    families: Vec<ColumnFamilyDescriptor>,
    /// Options of families that have none of their own.
    pub(crate) unknown: ColumnFamilyOptions,
    pub(crate) tables: Files,
    pub(crate) blobs: Files,
    pub(crate) logs: Files,
    pub(crate) manifests: Files,
    pub(crate) options: Files,
    /// Names in the database's own directory.
    pub(crate) names: Vec<String>,
    /// Why the OPTIONS file was not used, if it was not.
    pub(crate) options_error: Option<ferrock_base::Error>,
    /// The directory of logs that the OPTIONS file alone names, and that is not the database's own.
    pub(crate) wal_dir_by_file: Option<PathBuf>,
    /// A directory that could not be listed, and why.
    pub(crate) unlisted: Option<(PathBuf, ferrock_base::Error)>,
}

impl Subject {
    /// Lists the directories. Without families, the newest OPTIONS file tells them, and where the logs are.
    pub(crate) fn new(
        directory: &Path,
        mut db: DbOptions,
        mut families: Vec<ColumnFamilyDescriptor>,
        unknown: ColumnFamilyOptions,
    ) -> Result<Self> {
        let files = db.components.file_system.clone().unwrap_or_else(ferrock_vfs::default_file_system);
        let mut names = files.children(directory)?;
        names.sort_unstable();
        let (mut options_error, mut wal_dir_by_file) = (None, None);
        match load_latest(&*files, directory) {
            Ok(Some(loaded)) => {
                if families.is_empty() {
                    families = loaded.column_families;
                }
                if db.wal_dir.is_empty() {
                    db.settings.wal_dir = loaded.db.settings.wal_dir;
                    let named = (!db.wal_dir.is_empty()).then(|| PathBuf::from(&db.wal_dir));
                    wal_dir_by_file = named.filter(|named| !is_same(named, directory));
                }
                if db.db_paths.is_empty() {
                    db.db_paths = loaded.db.db_paths;
                }
                let factory = &mut db.components.file_checksum_gen_factory;
                *factory = factory.take().or(loaded.db.components.file_checksum_gen_factory);
            }
            Ok(None) => {}
            Err(error) => options_error = Some(error),
        }
        let mut subject = Self {
            files,
            directory: directory.to_path_buf(),
            db,
            families,
            unknown,
            tables: Files::new(),
            blobs: Files::new(),
            logs: Files::new(),
            manifests: Files::new(),
            options: Files::new(),
            names,
            options_error,
            wal_dir_by_file,
            unlisted: None,
        };
        subject.list();
        Ok(subject)
    }

    fn list(&mut self) {
        let mut directories = vec![self.directory.clone()];
        directories.extend(self.other_directories());
        for (index, directory) in directories.iter().enumerate() {
            let names = match self.files.children(directory) {
                Ok(names) => names,
                // What the database misses there is reported; a repair is refused.
                Err(error) => {
                    self.unlisted.get_or_insert((directory.clone(), error));
                    continue;
                }
            };
            for name in names {
                let Some(parsed) = file_name::parse(&name) else { continue };
                let path = directory.join(&name);
                let Ok(size_bytes) = self.files.file_size(&path) else { continue };
                let list = match parsed.kind {
                    FileKind::Table => &mut self.tables,
                    FileKind::Blob => &mut self.blobs,
                    FileKind::Log => &mut self.logs,
                    FileKind::Manifest if index == 0 => &mut self.manifests,
                    FileKind::Options if index == 0 => &mut self.options,
                    _ => continue,
                };
                list.entry(parsed.number).or_insert(Present { path, size_bytes });
            }
        }
    }

    /// Directories of tables, blob files and logs beside the database's own, each once.
    pub(crate) fn other_directories(&self) -> Vec<PathBuf> {
        let logs = (!self.db.wal_dir.is_empty()).then(|| PathBuf::from(&self.db.wal_dir));
        let families = self.families.iter().flat_map(|(_, family)| &family.cf_paths);
        let paths = self.db.db_paths.iter().chain(families).map(|DbPath { path, .. }| path.clone());
        let mut directories: Vec<PathBuf> = Vec::new();
        for directory in paths.chain(logs) {
            let is_known = |known: &PathBuf| is_same(known, &directory);
            if !is_known(&self.directory) && !directories.iter().any(is_known) {
                directories.push(directory);
            }
        }
        directories
    }

    /// The directory of the logs.
    pub(crate) fn directory_of_logs(&self) -> PathBuf {
        if self.db.wal_dir.is_empty() { self.directory.clone() } else { PathBuf::from(&self.db.wal_dir) }
    }

    /// Options of a family, by its name.
    pub(crate) fn family(&self, name: &str) -> &ColumnFamilyOptions {
        self.families.iter().find(|(known, _)| known == name).map_or(&self.unknown, |(_, options)| options)
    }

    /// The order of a family's keys: the caller's, or a built-in one of the name that was recorded.
    pub(crate) fn comparator(&self, family: &str, recorded: &str) -> Result<Comparator> {
        let own = &self.family(family).comparator;
        if recorded.is_empty() || own.name() == recorded { Ok(own.clone()) } else { Comparator::built_in(recorded) }
    }

    /// Directory of a table with this path id, of a family.
    pub(crate) fn path_of(&self, family: &str, path_id: u32, name: &str) -> PathBuf {
        let own = &self.family(family).cf_paths;
        let paths = if own.is_empty() { &self.db.db_paths } else { own };
        let last = paths.len().saturating_sub(1);
        let id = usize::try_from(path_id).unwrap_or(usize::MAX).min(last);
        paths.get(id).map_or(&self.directory, |paths| &paths.path).join(name)
    }

    /// A number that no file has.
    pub(crate) fn next_file_number(&self) -> u64 {
        let lists = [&self.tables, &self.blobs, &self.logs, &self.manifests, &self.options];
        let largest = lists.iter().filter_map(|list| list.keys().next_back()).map(|number| number.0).max();
        let named = self.names.iter().filter_map(|name| file_name::parse(name));
        let named = named.filter(|name| name.kind.uses_file_number()).map(|name| name.number.0).max();
        largest.max(named).unwrap_or(0) + 1
    }
}
