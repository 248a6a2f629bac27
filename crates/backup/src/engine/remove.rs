//! Removing backups, and what is left of attempts that were cut short.
//!
//! ```text
//! delete   meta/N removed --> directory synced --> files that no other backup names --> private/N
//!                                   |
//!                from here on the backup is gone for good, whatever happens to the rest
//! ```
//!
//! Invariants:
//! - No file that a description names is removed before the removal of the description is durable.
//! - Only files that backups have are removed: those of other programs stay, also in our directories.

use super::catalog::{Catalog, not_found};
use super::info::RemovalReport;
use super::{BackupEngine, Writing};
use ferrock_base::Result;
use ferrock_format::backup::{
    BackupFileName, META_DIRECTORY, PRIVATE_DIRECTORY, SHARED_CHECKSUM_DIRECTORY, SHARED_DIRECTORY, backup_id_of,
    is_unfinished, private_directory,
};
use ferrock_format::file_name;
use std::path::Path;

impl BackupEngine {
    /// Removes a backup, good or not, and the files that no other one needs.
    ///
    /// # Errors
    /// `NotFound`; `NotSupported` for an engine that only reads; `Busy` when another one writes to the directory;
    /// those of the file system. The backup is gone as a whole or is there as a whole; what is left of its files goes
    /// with the next write.
    pub fn delete_backup(&self, id: u32) -> Result<RemovalReport> {
        let mut writing = self.begin_write()?;
        if !writing.state.catalog.ids().contains(&id) {
            return Err(not_found(id));
        }
        self.remove_backups(&mut writing, &[id])
    }

    /// Removes the oldest good backups but for this many.
    ///
    /// ```
    /// # fn main() -> ferrock::Result<()> {
    /// use ferrock::backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path().join("db"), options)?;
    /// # let backups = directory.path().join("backups");
    /// let engine = BackupEngine::open(BackupEngineOptions::new(&backups))?;
    /// for _ in 0..3 {
    ///     engine.create_backup(&db, &CreateBackupOptions::default())?;
    /// }
    /// assert_eq!(engine.purge_old_backups(1)?.backups, [1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As of [`delete_backup`](Self::delete_backup).
    pub fn purge_old_backups(&self, keep: u32) -> Result<RemovalReport> {
        let mut writing = self.begin_write()?;
        let ids: Vec<u32> = writing.state.catalog.backups.keys().copied().collect();
        let surplus = ids.len().saturating_sub(keep as usize);
        self.remove_backups(&mut writing, &ids[..surplus])
    }

    /// Removes what is left of backups that were not completed, or not removed completely. Every first write of an
    /// engine does so as well.
    ///
    /// # Errors
    /// As of [`delete_backup`](Self::delete_backup).
    pub fn garbage_collect(&self) -> Result<RemovalReport> {
        let mut writing = self.begin_write()?;
        self.collect_garbage(&mut writing)
    }

    /// Removes descriptions, durably, and then what no other needs.
    pub(super) fn remove_backups(&self, writing: &mut Writing, ids: &[u32]) -> Result<RemovalReport> {
        let (files, meta) = (&*self.options.backup_file_system, self.path(META_DIRECTORY));
        writing.state.needs_clean_up = true;
        for id in ids {
            match files.remove_file(&meta.join(id.to_string())) {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => writing.state.catalog.forget(*id),
            }
        }
        if !ids.is_empty() && self.options.sync {
            files.sync_dir(&meta)?;
        }
        let report = self.collect_garbage(writing)?;
        Ok(RemovalReport { backups: ids.to_vec(), ..report })
    }

    /// Removes files that no backup needs.
    pub(super) fn collect_garbage(&self, writing: &mut Writing) -> Result<RemovalReport> {
        writing.state.needs_clean_up = true;
        writing.state.catalog.reload(&*self.options.backup_file_system, &self.options.backup_dir)?;
        let catalog = &writing.state.catalog;
        let mut report = RemovalReport { kept_for: catalog.unreadable(), ..RemovalReport::default() };
        self.remove_unfinished_descriptions(&mut report)?;
        for directory in [SHARED_DIRECTORY, SHARED_CHECKSUM_DIRECTORY] {
            self.remove_shared(catalog, directory, &mut report)?;
        }
        self.remove_private(catalog, &mut report)?;
        writing.state.needs_clean_up = false;
        Ok(report)
    }

    fn remove_unfinished_descriptions(&self, report: &mut RemovalReport) -> Result<()> {
        let meta = self.path(META_DIRECTORY);
        for name in self.names_in(&meta)? {
            let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
            if inner.is_some_and(|name| backup_id_of(name).is_some()) {
                self.remove(&meta.join(&name), report)?;
            }
        }
        Ok(())
    }

    fn remove_shared(&self, catalog: &Catalog, directory: &str, report: &mut RemovalReport) -> Result<()> {
        let (path, needed) = (self.path(directory), catalog.needed_files());
        for name in self.names_in(&path)? {
            let relative = format!("{directory}/{name}");
            let is_garbage = match BackupFileName::parse(&relative) {
                Some(_) => report.kept_for.is_empty() && !needed.contains(&relative[..]),
                None => is_unfinished(&name),
            };
            if is_garbage {
                self.remove(&path.join(&name), report)?;
            }
        }
        Ok(())
    }

    fn remove_private(&self, catalog: &Catalog, report: &mut RemovalReport) -> Result<()> {
        let ids = catalog.ids();
        for name in self.names_in(&self.path(PRIVATE_DIRECTORY))? {
            let Some(id) = backup_id_of(&name).filter(|id| !ids.contains(id)) else { continue };
            self.remove_private_directory(id, report)?;
        }
        Ok(())
    }

    /// Removes the directory of a backup that is none. Files of other programs stay, and the directory with them.
    pub(super) fn remove_private_directory(&self, id: u32, report: &mut RemovalReport) -> Result<()> {
        let (files, path) = (&*self.options.backup_file_system, self.path(&private_directory(id)));
        let mut stay = false;
        for name in self.names_in(&path)? {
            match file_name::parse(&name).is_some() {
                true => self.remove(&path.join(&name), report)?,
                false => stay = true,
            }
        }
        match files.remove_dir(&path) {
            Err(error) if !stay && !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Names in a directory; none when it does not exist.
    pub(super) fn names_in(&self, directory: &Path) -> Result<Vec<String>> {
        match self.options.backup_file_system.children(directory) {
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            names => names,
        }
    }

    fn remove(&self, path: &Path, report: &mut RemovalReport) -> Result<()> {
        let files = &*self.options.backup_file_system;
        let bytes = files.file_size(path).unwrap_or(0);
        match files.remove_file(path) {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        report.files += 1;
        report.bytes += bytes;
        Ok(())
    }
}
