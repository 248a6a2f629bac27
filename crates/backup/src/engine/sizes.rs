//! Sizes of files of a directory of backups: each is asked for once, and whole directories at once where the file
//! system lists them by one request.

use ferrock_base::Result;
use ferrock_vfs::{FileEntry, FileSystem};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Sizes as they were when they were asked for.
pub(super) struct Sizes<'a> {
    files: &'a dyn FileSystem,
    directory: &'a Path,
    /// By names below the directory; `None` for files that are missing.
    known: HashMap<String, Option<u64>>,
    /// Directories all of whose files are known.
    listed: HashSet<String>,
}

impl<'a> Sizes<'a> {
    pub(super) fn new(files: &'a dyn FileSystem, directory: &'a Path) -> Self {
        Self { files, directory, known: HashMap::new(), listed: HashSet::new() }
    }

    /// The size of a file by its name below the directory of backups; `None` when it is missing.
    pub(super) fn of(&mut self, name: &str) -> Result<Option<u64>> {
        if let Some(size) = self.known.get(name) {
            return Ok(*size);
        }
        let parent = name.rsplit_once('/').map_or("", |(parent, _)| parent);
        if self.listed.contains(parent) {
            return Ok(None);
        }
        if let Some(entries) = self.list(parent)? {
            self.listed.insert(parent.to_owned());
            let size = |entry: FileEntry| (format!("{parent}/{}", entry.name), Some(entry.size_bytes));
            self.known.extend(entries.into_iter().map(size));
            return Ok(self.known.get(name).copied().flatten());
        }
        let size = match self.files.file_size(&self.directory.join(name)) {
            Err(error) if error.is_not_found() => None,
            size => Some(size?),
        };
        self.known.insert(name.to_owned(), size);
        Ok(size)
    }

    fn list(&self, parent: &str) -> Result<Option<Vec<FileEntry>>> {
        match self.files.list_files(&self.directory.join(parent)) {
            Err(error) if error.is_not_found() => Ok(Some(Vec::new())),
            listed => listed,
        }
    }
}
