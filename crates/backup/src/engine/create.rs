//! Making a backup.
//!
//! ```text
//! LiveFileStorageInfo --> Planned: its name in the backup, and what there is to do
//!   table, blob file    there already: its size is checked, and its checksum where one is known; nothing is copied
//!                       else copied to .NAME.tmp
//!   all others          copied to private/N/NAME; CURRENT is written
//! copies --> renamed --> directories synced --> meta/N
//! ```
//!
//! Invariants:
//! - What `live_files_storage_info` lists is one state of the database, and the hold keeps it there while it is
//!   copied.
//! - Only files that never change again are shared. A blob file that grows is private.
//! - A file that the directory has, and that no good backup names, is copied again over it: nothing says that it is
//!   whole.
//! - A failure removes what was begun, as far as that works; the rest goes with the next write.

use super::catalog::{KnownFile, size_in_name};
use super::identity::run_id_of;
use super::options::{CreateBackupOptions, ShareFilesNaming};
use super::sizes::Sizes;
use super::transfer::{Meter, Source, Transfer, Transferred, Transfers};
use super::{BackupEngine, Writing};
use crate::copying::{Copier, CopyCounts};
use ferrock_base::{Error, ErrorKind, Result, SequenceNumber, Temperature};
use ferrock_engine::{Db, FileKind, FlushOptions, LiveFileStorageInfo, LiveFilesStorageOptions};
use ferrock_format::backup::{
    BackupMeta, BackupMetaFile, MAX_APP_METADATA_BYTES, META_DIRECTORY, PRIVATE_DIRECTORY, SHARED_CHECKSUM_DIRECTORY,
    SHARED_DIRECTORY, name_with_checksum, name_with_run, private_directory, unfinished,
};
use ferrock_statistics::Ticker;
use ferrock_vfs::{FileSystem, WritableOptions};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The checksum that a database may record for whole files and that is that of a backup.
const CRC32C_FUNCTION: &str = "FileChecksumCrc32c";

/// A file of the backup that is being made.
struct Planned {
    source: LiveFileStorageInfo,
    /// Its name below the backup directory.
    name: String,
    /// Checksum, where it is known before the file is copied.
    crc32c: Option<u32>,
    /// It is in the directory already.
    is_there: bool,
    /// The backup does without it.
    is_excluded: bool,
    is_shared: bool,
}

impl Planned {
    fn is_copied(&self) -> bool {
        !self.is_there && !self.is_excluded
    }

    /// Where it is written. Shared files need another name until they are whole, unless the file system sees to that.
    fn written_name(&self, creates_whole_files: bool) -> String {
        match self.name.rsplit_once('/') {
            Some((directory, name)) if self.is_shared && !creates_whole_files => {
                format!("{directory}/{}", unfinished(name))
            }
            _ => self.name.clone(),
        }
    }
}

impl BackupEngine {
    /// Makes a backup of a database and returns its number. The database goes on meanwhile.
    ///
    /// ```
    /// # fn main() -> ferrock::Result<()> {
    /// use ferrock::backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path().join("db"), options)?;
    /// let mut options = BackupEngineOptions::new(directory.path().join("backups"));
    /// options.max_background_operations = 4;
    /// options.backup_rate_limit = 100 << 20;
    /// let engine = BackupEngine::open(options)?;
    /// let options = CreateBackupOptions { app_metadata: b"before the upgrade".to_vec(), ..Default::default() };
    /// let id = engine.create_backup(&db, &options)?;
    /// assert_eq!(engine.backup_info(id)?.app_metadata, b"before the upgrade");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Incomplete` when stopped; `InvalidArgument` for too much metadata; `NotSupported` for an engine or a database
    /// that only reads; `Busy` when another engine writes to the directory; `Corruption` when a file of the database
    /// or of the directory is not what it has to be; those of the file systems. There is no new backup then, and the
    /// others are as they were.
    pub fn create_backup(&self, db: &Db, options: &CreateBackupOptions) -> Result<u32> {
        self.check_stopped()?;
        if options.app_metadata.len() > MAX_APP_METADATA_BYTES {
            let bytes = options.app_metadata.len();
            let what = format!("App metadata too large: {bytes} bytes, and at most {MAX_APP_METADATA_BYTES} are kept");
            return Err(Error::invalid_argument(what));
        }
        if options.exclude_files.is_some() && self.options.schema_version < 2 {
            return Err(Error::invalid_argument("exclude_files_callback requires schema_version >= 2"));
        }
        let mut writing = self.begin_write()?;
        if writing.state.needs_clean_up {
            self.collect_garbage(&mut writing)?;
        }
        let none_left = || Error::invalid_argument("the numbers of backups are used up: begin another directory");
        let id = writing.state.catalog.newest_id.checked_add(1).ok_or_else(none_left)?;
        match self.create(&writing, id, db, options) {
            Ok(meta) => {
                let files = &*self.options.backup_file_system;
                writing.state.catalog.add(files, &self.options.backup_dir, id, meta);
                Ok(id)
            }
            Err(error) => {
                // The first error is the one to report; the next write removes what stays now.
                // A description that is there after all, and could not be removed, keeps its files.
                writing.state.needs_clean_up = true;
                if self.options.backup_file_system.creates_whole_files() {
                    // A store may carry out later what it did not answer: this number's description must not replace
                    // that of another backup.
                    let newest = &mut writing.state.catalog.newest_id;
                    *newest = id.max(*newest);
                }
                let _ = self.collect_garbage(&mut writing);
                Err(error)
            }
        }
    }

    fn check_stopped(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            let what = "Backup stopped: stop_backup was called; open another engine to make backups";
            return Err(Error::new(ErrorKind::Incomplete, what));
        }
        Ok(())
    }

    fn create(&self, writing: &Writing, id: u32, db: &Db, options: &CreateBackupOptions) -> Result<BackupMeta> {
        let files = &self.options.backup_file_system;
        files.create_dir_all(&self.path(&private_directory(id)))?;
        let unix_seconds = i64::try_from(self.options.clock.unix_us() / 1_000_000).unwrap_or(i64::MAX);
        let hold = db.hold_files()?;
        let sequence = db.latest_sequence_number();
        let list = self.live_files(db, options)?;
        let known = writing.state.catalog.known_files();
        let counts = CopyCounts::of(db, Ticker::BackupReadBytes, Ticker::BackupWriteBytes);
        let copier = Copier { counts, ..self.copier(&self.backup_limiter, Some(Arc::clone(&self.stop))) };
        let transfers = self.transfers((&db.file_system(), files), copier, None);
        let mut planned = self.plan(&transfers, id, list, &known)?;
        if let Some(exclude) = options.exclude_files.as_ref().filter(|_| self.options.share_files_with_checksum) {
            for file in planned.iter_mut().filter(|file| file.is_shared && !file.is_there) {
                file.is_excluded = exclude(&file.name);
            }
        }
        let done = self.copy(transfers, &planned, options)?;
        drop(hold);
        self.place(&planned)?;
        let meta = describe(planned, done, unix_seconds, sequence, options);
        self.install(id, &meta)?;
        Ok(meta)
    }

    /// The files of a moment that the backup is to have.
    fn live_files(&self, db: &Db, options: &CreateBackupOptions) -> Result<Vec<LiveFileStorageInfo>> {
        let flushes = options.flush_before_backup || !self.options.backup_log_files;
        let mut wal_size_for_flush = if flushes { 0 } else { u64::MAX };
        if flushes && options.atomic_flush {
            let flush = FlushOptions { force_atomic_flush: true, ..FlushOptions::default() };
            db.flush_cfs(&db.column_families(), &flush)?;
            wal_size_for_flush = u64::MAX;
        }
        let list = LiveFilesStorageOptions { wal_size_for_flush, include_checksum_info: true };
        let mut list = db.live_files_storage_info(&list)?;
        if !self.options.backup_log_files {
            // Blob files that grow are those that logs alone refer to.
            list.retain(|file| file.kind != FileKind::Log && (file.is_final || file.kind != FileKind::Blob));
        }
        Ok(list)
    }

    /// Finds the names of files, and what there is to do for each.
    fn plan(
        &self,
        transfers: &Transfers,
        id: u32,
        list: Vec<LiveFileStorageInfo>,
        known: &HashMap<&str, KnownFile>,
    ) -> Result<Vec<Planned>> {
        let mut planned = Vec::with_capacity(list.len());
        for source in list {
            self.check_stopped()?;
            let is_data = matches!(source.kind, FileKind::Table | FileKind::Blob);
            let is_shared = self.options.share_table_files && is_data && source.is_final;
            let name = match (is_shared, self.options.share_files_with_checksum) {
                (false, _) => format!("{}/{}", private_directory(id), source.relative_filename),
                (true, false) => format!("{SHARED_DIRECTORY}/{}", source.relative_filename),
                // Those without a run of the database get their names when their checksums are known.
                (true, true) => self.name_by_run(&transfers.from, &source)?.unwrap_or_default(),
            };
            let crc32c = recorded_checksum(&source);
            planned.push(Planned { source, name, crc32c, is_there: false, is_excluded: false, is_shared });
        }
        self.name_by_checksum(transfers, &mut planned)?;
        let mut sizes = Sizes::new(&*self.options.backup_file_system, &self.options.backup_dir);
        for file in planned.iter_mut().filter(|file| file.is_shared) {
            self.find(transfers, file, known, &mut sizes)?;
        }
        Ok(planned)
    }

    fn name_by_run(&self, files: &Arc<dyn FileSystem>, source: &LiveFileStorageInfo) -> Result<Option<String>> {
        let naming = self.options.share_files_with_checksum_naming;
        if source.kind != FileKind::Table || naming == ShareFilesNaming::Checksum {
            return Ok(None);
        }
        let Some(run) = run_id_of(files, &source.path())? else { return Ok(None) };
        let size = (naming == ShareFilesNaming::DbSessionIdAndSize).then_some(source.size_bytes);
        let name = name_with_run(&source.relative_filename, &run, size);
        Ok(Some(format!("{SHARED_CHECKSUM_DIRECTORY}/{name}")))
    }

    /// Reads files that have no name yet, unless the database has recorded their checksums.
    fn name_by_checksum(&self, transfers: &Transfers, planned: &mut [Planned]) -> Result<()> {
        let is_unnamed = |file: &&mut Planned| file.name.is_empty();
        let unread: Vec<&mut Planned> =
            planned.iter_mut().filter(is_unnamed).filter(|file| file.crc32c.is_none()).collect();
        let reads = unread.iter().map(|file| Transfer::read(file.source.path(), Some(file.source.size_bytes)));
        let done = transfers.run(reads.collect())?;
        for (file, done) in unread.into_iter().zip(done) {
            file.crc32c = Some(done.crc32c);
        }
        for file in planned.iter_mut().filter(is_unnamed) {
            let crc = file.crc32c.unwrap_or(0);
            let name = name_with_checksum(&file.source.relative_filename, crc, file.source.size_bytes);
            file.name = format!("{SHARED_CHECKSUM_DIRECTORY}/{name}");
        }
        Ok(())
    }

    /// Looks whether a shared file is in the directory.
    fn find(
        &self,
        transfers: &Transfers,
        file: &mut Planned,
        known: &HashMap<&str, KnownFile>,
        sizes: &mut Sizes,
    ) -> Result<()> {
        let Some(known) = known.get(&file.name[..]) else { return Ok(()) };
        let path = self.path(&file.name);
        // If it was removed behind our back, copying it again mends the other backups as well.
        let Some(size) = sizes.of(&file.name)? else { return Ok(()) };
        let ours = file.source.size_bytes;
        if size != ours && size_in_name(&file.name) == Some(ours) {
            // As above: a file of this name can only be this one.
            return Ok(());
        }
        if size != ours || known.size_bytes != ours {
            let what = format!(
                "the file has {size} bytes, and that of the database {ours}: it is damaged, or of another state of the \
                 database; verify the backups, delete those that are damaged, or back up to another directory"
            );
            return Err(Error::corruption(what).in_file(path));
        }
        if file.crc32c.is_none() && known.crc32c.is_none() {
            let read = Transfer::read(file.source.path(), Some(ours));
            file.crc32c = transfers.run(vec![read])?.first().map(|done| done.crc32c);
        }
        if let (Some(ours), Some(theirs)) = (file.crc32c, known.crc32c)
            && ours != theirs
        {
            let what = format!(
                "the checksum of the file is {theirs:#010x}, and that of the database's {ours:#010x}: verify the \
                 database; if it is sound, delete the backups that have the file, or back up to another directory"
            );
            return Err(Error::corruption(what).in_file(path));
        }
        file.crc32c = file.crc32c.or(known.crc32c);
        file.is_there = true;
        Ok(())
    }

    /// Copies what is not there.
    fn copy(
        &self,
        mut transfers: Transfers,
        planned: &[Planned],
        options: &CreateBackupOptions,
    ) -> Result<Vec<Option<Transferred>>> {
        let plan: Vec<Transfer> =
            planned.iter().filter(|file| file.is_copied()).map(|file| self.transfer_of(file)).collect();
        let included = planned.iter().filter(|file| !file.is_excluded);
        let (files, bytes) = included.fold((0, 0), |(files, bytes), file| (files + 1, bytes + file.source.size_bytes));
        transfers.meter = options
            .progress
            .as_ref()
            .map(|progress| Arc::new(Meter::new(progress, self.options.callback_trigger_interval_size, files, bytes)));
        if let Some(meter) = &transfers.meter {
            for file in planned.iter().filter(|file| file.is_there) {
                meter.add_bytes(file.source.size_bytes);
                meter.add_file();
            }
        }
        let mut done = transfers.run(plan)?.into_iter();
        Ok(planned.iter().map(|file| if file.is_copied() { done.next() } else { None }).collect())
    }

    fn transfer_of(&self, file: &Planned) -> Transfer {
        let source = match &file.source.replacement_contents {
            Some(contents) => Source::Contents(contents.clone()),
            None => Source::File { path: file.source.path(), length_bytes: Some(file.source.size_bytes) },
        };
        Transfer {
            source,
            target: Some(self.path(&file.written_name(self.options.backup_file_system.creates_whole_files()))),
            temperature: Temperature::Unknown,
            crc32c: file.crc32c,
        }
    }

    /// Gives shared files their names, and makes all names durable.
    fn place(&self, planned: &[Planned]) -> Result<()> {
        let files = &*self.options.backup_file_system;
        for file in planned.iter().filter(|file| file.is_shared && file.is_copied()) {
            let written = file.written_name(files.creates_whole_files());
            if written != file.name {
                files.rename(&self.path(&written), &self.path(&file.name))?;
            }
        }
        if !self.options.sync {
            return Ok(());
        }
        let mut directories: Vec<PathBuf> = vec![self.path(PRIVATE_DIRECTORY), self.options.backup_dir.clone()];
        for file in planned {
            if let Some((directory, _)) = file.name.rsplit_once('/') {
                directories.push(self.path(directory));
            }
        }
        directories.sort_unstable();
        directories.dedup();
        directories.iter().try_for_each(|directory| files.sync_dir(directory))
    }

    /// Writes the description: from now on there is a backup.
    fn install(&self, id: u32, meta: &BackupMeta) -> Result<()> {
        self.check_stopped()?;
        let files = &*self.options.backup_file_system;
        let (directory, name) = (self.path(META_DIRECTORY), id.to_string());
        let path = directory.join(&name);
        let written = if files.creates_whole_files() { path.clone() } else { directory.join(unfinished(&name)) };
        let text = meta.encode(self.options.schema_version)?;
        let write = || {
            let mut file = files.create_writable(&written, &WritableOptions::default())?;
            file.append(&text)?;
            if self.options.sync {
                file.sync()?;
            }
            file.close()?;
            if written != path {
                files.rename(&written, &path)?;
            }
            if self.options.sync { files.sync_dir(&directory) } else { Ok(()) }
        };
        write().inspect_err(|_| {
            // It failed for the caller, so it must not come back.
            let _ = files.remove_file(&path);
        })
    }
}

/// The checksum that the database has recorded for a whole file.
fn recorded_checksum(source: &LiveFileStorageInfo) -> Option<u32> {
    let bytes = <[u8; 4]>::try_from(&source.file_checksum[..]).ok()?;
    (source.file_checksum_func_name == CRC32C_FUNCTION).then(|| u32::from_be_bytes(bytes))
}

fn describe(
    planned: Vec<Planned>,
    done: Vec<Option<Transferred>>,
    unix_seconds: i64,
    sequence: SequenceNumber,
    options: &CreateBackupOptions,
) -> BackupMeta {
    let (excluded, included): (Vec<_>, Vec<_>) = planned.into_iter().zip(done).partition(|(file, _)| file.is_excluded);
    let files = included.into_iter().map(|(file, done)| BackupMetaFile {
        crc32c: done.map(|done| done.crc32c).or(file.crc32c),
        size_bytes: Some(done.map_or(file.source.size_bytes, |done| done.size_bytes)),
        temperature: file.source.temperature,
        name: file.name,
    });
    BackupMeta {
        unix_seconds,
        sequence,
        app_metadata: options.app_metadata.clone(),
        files: files.collect(),
        excluded: excluded.into_iter().map(|(file, _)| file.name).collect(),
    }
}
