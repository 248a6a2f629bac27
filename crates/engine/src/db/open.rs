//! Opening: from a directory to a running database.
//!
//! ```text
//! check options -> LOCK -> CURRENT -> MANIFEST -> tables -> logs -> new log -> new MANIFEST -> OPTIONS -> clean up
//!                                                                     |
//!                              nothing on disk is committed before ---+
//! ```
//!
//! An open that fails deletes nothing. In particular a MANIFEST that breaks a rule of the tree makes the open fail,
//! instead of an empty family whose tables then count as obsolete.

mod begin;
mod best_efforts;
mod follower;
mod history;
mod later;
mod logs;
mod own_names;
mod read_only;
mod secondary;
mod tree;
mod views;
mod writers_tree;

use begin::recover_and_begin;

pub(crate) use follower::{end_following, open_as_follower};
pub(crate) use secondary::{catch_up, open_as_secondary};
pub(crate) use tree::open_tree;

use super::DbCore;
use super::timers::{TimerPlace, Wakeups};
use super::wakeups;
use crate::column_family::{ColumnFamily, ColumnFamilyData, FamilyMap};
use crate::db::options_file;
use crate::db::space;
use crate::db::switch_memtable;
use crate::db::tracked_logs;
use crate::db::{cleanup, families};
use crate::events::Events;
use crate::files::archive::{LogArchive, archive_of};
use crate::files::deletion::Deletion;
use crate::files::log_directory::{self, LogDirectory, LogDirectoryRequest, WalDirFrom};
use crate::files::{FileRegistry, FileRegistryParts};
use crate::info_log::{InfoLog, InfoLogOptions};
use crate::jobs::{FamilyJobs, JobScheduler, JobSchedulerParts, Places};
use crate::metrics::DatabaseCounters;
use crate::options::{ColumnFamilyOptions, DbOptions, LoadedOptions, load_latest};
use crate::reads::ReadPath;
use crate::seqno_times::{FIRST_SEQUENCE, SeqnoTimes};
use crate::settings::{Environment, Identity, LiveOptions};
use crate::spans;
use crate::trace::Tracer;
use crate::write::WritePath;
use crate::write::logs::Logs;
use crate::write::wal::WalOptions;
use arc_swap::ArcSwap;
use ferrock_base::byte_text::canonical;
use ferrock_base::random::Random;
use ferrock_base::{Comparator, Error, FileNumber, Result, SequenceNumber};
use ferrock_format::compression::CompressionType;
use ferrock_format::log::WalRecoveryMode;
use ferrock_format::stats_history::COLUMN_FAMILY;
use ferrock_format::{current_file, file_name, unique_id};
use ferrock_options::{RemovalPlace, combinations, db_path, dump, observe_files};
use ferrock_table::TableBlockCache;
use ferrock_tree::blob::{BlobCacheSession, BlobSource};
use ferrock_tree::counted_callbacks::counted_limiter;
use ferrock_tree::file_counts::{BlobReadCounts, WrittenBy, counted};
use ferrock_tree::places::{FilePlaces, TablePaths, create_directory, create_table_directories, is_same};
use ferrock_tree::table_cache::{OpenFileBudget, OpenTables, TableCache, not_in_its_path, open_all};
use ferrock_tree::version::version_set::{self, FamilyView, FollowedManifest, RecoverMode};
use ferrock_tree::version::{FamilyToOpen, VersionSet};
use ferrock_vfs::{FileLock, FileSystem, IoKind, read_file, write_file_atomically_as};
use parking_lot::Mutex;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

/// Bytes of the block cache that a database gets when its options name none.
const DEFAULT_BLOCK_CACHE_BYTES: usize = 32 << 20;
/// Of `max_open_files`, so many are set aside for logs, the MANIFEST and the like.
const DESCRIPTORS_FOR_OTHER_FILES: usize = 10;
/// Of a bounded table cache, no more than so many are opened at once with the database.
const MOST_TABLES_AT_OPEN: usize = 16;

type TableToOpen = (Arc<TableCache>, Arc<ferrock_tree::version::FileMetadata>);

/// A column family to open: its name and its options.
pub type ColumnFamilyDescriptor = (String, ColumnFamilyOptions);

/// See [`Db::open_cf`].
pub(crate) fn open(
    path: &Path,
    options: DbOptions,
    families: Vec<ColumnFamilyDescriptor>,
) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
    Opener::new(path, options, families, Vec::new(), WalDirFrom::Caller)?.open()
}

/// See [`Db::open_with_latest_options`].
pub(crate) fn open_with_latest_options(path: &Path, base: DbOptions) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
    let wal_dir_from = wal_dir_from(&base);
    let (options, families, notes) = latest_options(path, base, load_latest, built_in)?;
    Opener::new(path, options, families, notes, wal_dir_from)?.open()
}

/// See [`Db::open_read_only`].
pub(crate) fn open_read_only(
    path: &Path,
    options: DbOptions,
    families: Option<Vec<ColumnFamilyDescriptor>>,
) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
    let (from, (options, families, notes)) = match families {
        Some(families) => (WalDirFrom::Caller, (options, families, Vec::new())),
        None => (wal_dir_from(&options), latest_options(path, options, load_latest, built_in)?),
    };
    Opener::new(path, options, families, notes, from)?.open_read_only()
}

/// See [`Db::list_column_families`].
pub(crate) fn list_column_families(path: &Path, options: &DbOptions) -> Result<Vec<String>> {
    let file_system = file_system_of(options)?;
    let families = version_set::list_column_families(&*file_system, path)?;
    Ok(families.into_iter().map(|(_, name, _)| name).collect())
}

pub(crate) fn file_system_of(options: &DbOptions) -> Result<Arc<dyn FileSystem>> {
    match &options.components.file_system {
        Some(file_system) => Ok(Arc::clone(file_system)),
        None => Ok(ferrock_vfs::default_file_system()),
    }
}

fn wal_dir_from(base: &DbOptions) -> WalDirFrom {
    if base.wal_dir.is_empty() { WalDirFrom::OptionsFile } else { WalDirFrom::Caller }
}

/// Id, name and comparator of every family that an open with these options finds.
fn existing_families(
    file_system: &dyn FileSystem,
    path: &Path,
    options: &DbOptions,
) -> Result<Vec<(u32, String, Option<String>)>> {
    match options.best_efforts_recovery {
        true => version_set::list_recoverable_families(file_system, path),
        false => version_set::list_column_families(file_system, path),
    }
}

/// The comparator of a family, by its name.
fn built_in(_family: &str, name: &str) -> Result<Comparator> {
    Comparator::built_in(name)
}

/// The directory's own options, as `load` finds them, with the recovery mode, the directories of tables, the `wal_dir`
/// if there is one, and the components of `base`, for every family that exists.
fn latest_options(
    path: &Path,
    base: DbOptions,
    load: impl Fn(&dyn FileSystem, &Path) -> Result<Option<LoadedOptions>>,
    comparator_of: impl Fn(&str, &str) -> Result<Comparator>,
) -> Result<(DbOptions, Vec<ColumnFamilyDescriptor>, Vec<String>)> {
    let file_system = file_system_of(&base)?;
    let existing = existing_families(&*file_system, path, &base)?;
    let (mut loaded, mut notes) = match load(&*file_system, path) {
        Ok(loaded) => (loaded.unwrap_or_default(), Vec::new()),
        // The options describe how to write; the data can be read without them.
        Err(error) => (LoadedOptions::default(), vec![format!("the OPTIONS file is not used: {error}")]),
    };
    notes.append(&mut loaded.notes);
    let mut options = loaded.db;
    let of_file = options.components.file_checksum_gen_factory.take();
    options.components = base.components.clone();
    // Files have checksums as long as the OPTIONS file says so.
    options.components.file_checksum_gen_factory = options.components.file_checksum_gen_factory.or(of_file);
    options.wal_recovery_mode = base.wal_recovery_mode;
    options.best_efforts_recovery = base.best_efforts_recovery;
    options.db_paths.clone_from(&base.db_paths);
    if wal_dir_from(&base) == WalDirFrom::Caller {
        options.settings.wal_dir = base.settings.wal_dir;
    }
    options.create_if_missing = false;
    options.error_if_exists = false;
    let mut families = Vec::new();
    let mut known: BTreeMap<String, ColumnFamilyOptions> = loaded.column_families.into_iter().collect();
    for (_, name, comparator) in existing {
        let mut family = known.remove(&name).unwrap_or_default();
        // The MANIFEST is right about the comparator, whatever the OPTIONS file says.
        if let Some(comparator) = comparator
            && family.comparator.name() != comparator
        {
            family.comparator = comparator_of(&name, &comparator)?;
        }
        family.is_from_file = true;
        families.push((name, family));
    }
    Ok((options, families, notes))
}

/// An open on its way.
#[derive(Clone)]
struct Opener {
    path: PathBuf,
    options: DbOptions,
    families: Vec<ColumnFamilyDescriptor>,
    notes: Vec<String>,
    wal_dir_from: WalDirFrom,
    file_system: Arc<dyn FileSystem>,
    /// The directory of a follower's own, which has the tables and blob files.
    tables_in: Option<PathBuf>,
}

impl Opener {
    fn new(
        path: &Path,
        mut options: DbOptions,
        mut families: Vec<ColumnFamilyDescriptor>,
        mut notes: Vec<String>,
        wal_dir_from: WalDirFrom,
    ) -> Result<Self> {
        for (name, _) in &mut families {
            *name = canonical(name);
        }
        check_options(&options, &families)?;
        options.adopt_budget();
        let file_system = file_system_of(&options)?;
        let components = &options.components;
        let file_system = observe_files(file_system, &components.listeners, || components.clock());
        for note in ferrock_options::notes_of(&options, &families) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes.extend(options.adjust().iter().map(|adjustment| format!("database: {adjustment}")));
        for (name, family) in &mut families {
            notes.extend(settle(name, family, &options));
        }
        Ok(Self { path: path.to_path_buf(), options, families, notes, wal_dir_from, file_system, tables_in: None })
    }

    fn open(mut self) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
        let _span = spans::open(&self.path);
        let lock = self.lock_directory()?;
        let info_log = self.begin_info_log();
        info_log.header(self.log_header());
        info_log.info(|| format!("opening; I/O backend: {}", self.file_system.io_backend()));
        self.notes.iter().for_each(|note| info_log.warn(|| format!("options: {note}")));
        let result = self.open_locked(&info_log, lock);
        if let Err(error) = &result {
            info_log.error(|| format!("open failed: {error}"));
        }
        result
    }

    /// Opens the family of the history of statistics, too, which no caller has to name.
    fn add_history_family(&mut self) {
        if !self.families.iter().any(|(name, _)| name == COLUMN_FAMILY) {
            let mut family = history::family_options();
            self.notes.extend(settle(COLUMN_FAMILY, &mut family, &self.options));
            self.families.push((COLUMN_FAMILY.to_owned(), family));
        }
    }

    /// True for the family of the history of statistics where the options ask for it.
    fn makes_by_itself(&self, name: &str) -> bool {
        self.options.persist_stats_to_disk && name == COLUMN_FAMILY
    }

    fn begin_info_log(&self) -> Arc<InfoLog> {
        let (components, files) = (&self.options.components, Arc::clone(&self.file_system));
        if components.info_log.is_some() {
            return InfoLog::without_file(files, components.clock(), components.info_log.clone());
        }
        let options = InfoLogOptions {
            level: self.options.info_log_level,
            max_file_bytes: self.options.info_log_limit_bytes(),
            keep_files: self.options.keep_log_file_num,
        };
        InfoLog::open(files, &self.path, components.clock(), options)
    }

    /// What every LOG begins with: all options.
    fn log_header(&self) -> Vec<String> {
        let mut lines = dump::db_lines(&self.options);
        for (name, options) in self.families.iter().take(dump::FAMILIES_SHOWN) {
            lines.extend(dump::family_lines(name, options));
        }
        let hidden = self.families.iter().skip(dump::FAMILIES_SHOWN);
        lines
            .extend(hidden.map(|(name, _)| format!("Options for column family [{name}]: (skipping printing options)")));
        lines
    }

    fn open_locked(
        &mut self,
        info_log: &Arc<InfoLog>,
        lock: Box<dyn FileLock>,
    ) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
        let is_new = self.create_or_check()?;
        let existing = existing_families(&*self.file_system, &self.path, &self.options)?;
        let existing: BTreeSet<String> = existing.into_iter().map(|(_, name, _)| name).collect();
        let names: Vec<String> = self.families.iter().map(|(name, _)| name.clone()).collect();
        if existing.contains(COLUMN_FAMILY) {
            self.add_history_family();
        }
        let is_missing = |name: &String| !existing.contains(name);
        let missing: Vec<ColumnFamilyDescriptor> =
            self.families.iter().filter(|(name, _)| is_missing(name) && !self.makes_by_itself(name)).cloned().collect();
        if let Some((name, _)) = missing.first()
            && !self.options.create_missing_column_families
        {
            return Err(Error::invalid_argument(format!(
                "Column family not found: {name}; create_missing_column_families is off"
            )));
        }
        let mut to_open = self.families_to_open();
        to_open.retain(|family| !is_missing(&family.name));
        let is_best_efforts = self.options.best_efforts_recovery && !is_new;
        let versions = if is_best_efforts {
            let known_notes = self.notes.len();
            let versions = self.recover_best_efforts(&to_open)?;
            self.notes[known_notes..].iter().for_each(|note| info_log.warn(|| note.clone()));
            versions
        } else {
            self.recover_versions(&to_open, RecoverMode::ReadWrite)?
        };
        let logs =
            if is_new { self.new_log_directory() } else { self.find_logs(versions.oldest_needed_log(), info_log)? };
        // Best efforts want no log.
        if !is_best_efforts {
            tracked_logs::check(&self.options, &*self.file_system, &logs, &versions, &[])?;
        }
        if !self.file_system.exists(&logs)? {
            create_directory(&*self.file_system, &logs)?;
        }
        let released = if is_best_efforts { self.release_logs(&versions, &logs)? } else { Vec::new() };
        // It is for this open: a program that takes the options of the OPTIONS file later has not asked for it.
        self.options.settings.best_efforts_recovery = false;
        // Also what tells a directory of tables that is this one under another name from one of another database.
        self.reconcile_identity(&versions)?;
        let families = self.families.iter().filter(|(name, _)| !is_missing(name));
        for paths in families.map(|(_, family)| &family.cf_paths).chain([&self.options.db_paths]) {
            create_table_directories(&*self.file_system, &self.path, paths)?;
        }
        let core = self.assemble(versions, logs, Arc::clone(info_log), Some(lock), false);
        core.files.prepare_archive()?;
        space::begin(&core);
        let opens_later = self.options.open_files_async;
        if opens_later {
            check_places(&core)?
        } else {
            open_tables(&core)?
        }
        recover_and_begin(&core)?;
        best_efforts::remove_released(&*self.file_system, &released);
        families::configure_seqno_times(&core);
        for (name, options) in missing {
            families::create_family(&core, &name, options)?;
        }
        let named = self.families.iter().find(|(name, _)| name == COLUMN_FAMILY);
        history::begin(&core, named.map(|(_, options)| options.clone()))?;
        if is_new && self.preserves_times() {
            core.seqno_times.spread(&*core.env.clock);
        }
        options_file::write_options_file(&core)?;
        cleanup::delete_obsolete_files(&core);
        core.jobs.update_stall_conditions();
        core.jobs.raise_pools(Places::default());
        core.jobs.schedule();
        core.jobs.allow_attempts();
        wakeups::settle(&core);
        core.reads.snapshots().observe(Box::new(wakeups::Releases(Arc::downgrade(&core))));
        if opens_later {
            later::open_tables(&core);
        }
        handles(core, names)
    }

    fn lock_directory(&self) -> Result<Box<dyn FileLock>> {
        // Refused here, the open leaves nothing behind. What the answer is under the lock counts.
        self.check_existence()?;
        if !self.file_system.exists(&self.path)? {
            create_directory(&*self.file_system, &self.path)?;
        }
        self.file_system.lock_file(&self.path.join(file_name::LOCK))
    }

    /// True when there is a database; an error when there should not be one, or should be.
    fn check_existence(&self) -> Result<bool> {
        let exists = if self.options.best_efforts_recovery {
            best_efforts::exists(&*self.file_system, &self.path)?
        } else {
            version_set::exists(&*self.file_system, &self.path)?
        };
        if !exists {
            version_set::check_holds_no_database(&*self.file_system, &self.path)?;
        }
        match (exists, self.options.create_if_missing, self.options.error_if_exists) {
            (true, _, true) => {
                Err(Error::invalid_argument(format!("{}: exists (error_if_exists is true)", self.path.display())))
            }
            (false, false, _) => Err(does_not_exist(&self.path)),
            _ => Ok(exists),
        }
    }

    /// Creates the database unless it exists; true when it did not.
    fn create_or_check(&self) -> Result<bool> {
        if self.check_existence()? {
            return Ok(false);
        }
        let logs = self.new_log_directory();
        if !is_same(&logs, &self.path) {
            log_directory::check_is_unused(&*self.file_system, &logs)?;
        }
        log_directory::check_is_unused(&*self.file_system, &archive_of(&logs))?;
        let id = self.new_identity();
        let last_sequence = if self.preserves_times() { FIRST_SEQUENCE } else { SequenceNumber(0) };
        let temperature = self.options.metadata_write_temperature;
        VersionSet::create(&*self.file_system, &self.path, Some(&id), last_sequence, temperature)?;
        Ok(true)
    }

    fn preserves_times(&self) -> bool {
        self.families.iter().any(|(_, options)| options.kept_times_secs() > 0)
    }

    /// Where the logs of a database that is made now will be.
    fn new_log_directory(&self) -> PathBuf {
        if self.options.wal_dir.is_empty() { self.path.clone() } else { PathBuf::from(&self.options.wal_dir) }
    }

    /// Where the logs of a database that exists are. The options name it from then on.
    fn find_logs(&mut self, oldest_needed: FileNumber, info_log: &InfoLog) -> Result<PathBuf> {
        let (min_log_number, mode) = match self.options.best_efforts_recovery {
            true => (best_efforts::NO_LOG, WalRecoveryMode::SkipAnyCorruptedRecords),
            false => (oldest_needed, self.options.wal_recovery_mode),
        };
        let request = LogDirectoryRequest {
            file_system: &*self.file_system,
            database: &self.path,
            wal_dir: &self.options.wal_dir,
            wal_dir_from: self.wal_dir_from,
            min_log_number,
            mode,
        };
        let LogDirectory { path, notes } = request.choose()?;
        notes.iter().for_each(|note| info_log.warn(|| note.clone()));
        self.notes.extend(notes);
        let is_own = is_same(&path, &self.path);
        self.options.wal_dir = if is_own { String::new() } else { path.to_string_lossy().into_owned() };
        Ok(path)
    }

    fn new_identity(&self) -> String {
        let mut random = Random::from_entropy();
        current_file::identity_from_random(random.next_u64(), random.next_u64())
    }

    fn families_to_open(&self) -> Vec<FamilyToOpen> {
        let family = |(name, options): &ColumnFamilyDescriptor| FamilyToOpen {
            name: name.clone(),
            options: Arc::new(options.clone()),
        };
        self.families.iter().map(family).collect()
    }

    fn recover_versions(&self, families: &[FamilyToOpen], mode: RecoverMode) -> Result<VersionSet> {
        let options = Arc::new(self.options.clone());
        VersionSet::recover(self.manifest_files(), &self.path, options, families, mode)
    }

    /// The MANIFEST of a database that another process writes. Nothing of it is read yet.
    fn followed_manifest(&self) -> Result<FollowedManifest> {
        FollowedManifest::new(self.manifest_files(), &self.path, self.families_to_open())
    }

    /// The file system, with the count of what MANIFESTs take.
    fn manifest_files(&self) -> Arc<dyn FileSystem> {
        let components = &self.options.components;
        counted(&self.file_system, components.statistics.as_ref(), &components.clock(), WrittenBy::Manifest)
    }

    /// The MANIFEST is right about the identity, then the file IDENTITY, then chance.
    fn reconcile_identity(&self, versions: &VersionSet) -> Result<()> {
        let path = self.path.join(file_name::IDENTITY);
        let on_file = match read_file(&*self.file_system, &path) {
            Ok(content) => current_file::decode_identity(&content),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let id = versions.db_id().or_else(|| on_file.clone()).unwrap_or_else(|| self.new_identity());
        versions.set_db_id(id.clone());
        if self.options.write_identity_file && on_file.as_ref() != Some(&id) {
            let temp = self.path.join(file_name::temp(FileNumber(0)));
            let temperature = self.options.metadata_write_temperature;
            write_file_atomically_as(&*self.file_system, &path, &temp, id.as_bytes(), temperature)?;
        }
        Ok(())
    }

    fn assemble(
        &self,
        versions: VersionSet,
        logs: PathBuf,
        info_log: Arc<InfoLog>,
        lock: Option<Box<dyn FileLock>>,
        is_read_only: bool,
    ) -> Arc<DbCore> {
        let components = &self.options.components;
        let clock = components.clock();
        let block_cache = components.block_cache.clone().unwrap_or_else(|| {
            TableBlockCache::new(ferrock_cache::CacheOptions {
                capacity_bytes: DEFAULT_BLOCK_CACHE_BYTES,
                ..ferrock_cache::CacheOptions::default()
            })
        });
        let budget = self.file_system.open_file_limit().map(OpenFileBudget::new);
        let open_tables = Arc::new(OpenTables::new(self.options.max_open_files, budget));
        let mut random = Random::from_entropy();
        let last_sequence = versions.last_sequence();
        let wal_options = WalOptions {
            manual_flush: self.options.manual_wal_flush,
            allow_fallocate: self.options.allow_fallocate,
            bytes_per_sync: self.options.wal_bytes_per_sync,
            strict_bytes_per_sync: self.options.strict_bytes_per_sync,
            compress: self.options.wal_compression != CompressionType::NoCompression,
            track: self.options.track_and_verify_wals_in_manifest,
            temperature: self.options.wal_write_temperature,
            expected_bytes: self.families.first().map_or(0, |(_, options)| options.write_buffer_size as u64 * 11 / 10),
        };
        let places = Arc::new(match &self.tables_in {
            Some(own) => FilePlaces::of_follower(self.path.clone(), own.clone()),
            None => FilePlaces::new(self.path.clone(), logs, &self.options.db_paths),
        });
        let blob_source = BlobSource::new(
            Arc::clone(&self.file_system),
            Arc::clone(&places),
            super::file_options(&self.options),
            open_tables.blob_files_at_once(self.options.max_open_files),
            Arc::clone(&open_tables),
        );
        let counts = BlobReadCounts::of(components.statistics.as_ref(), &clock);
        let limiter = components.rate_limiter.as_ref();
        let limiter = counted_limiter(limiter, components.statistics.as_ref(), &clock, IoKind::Read);
        let blob_source = blob_source.with_read_limiter(limiter);
        let blob_source = Arc::new(blob_source.with_counts(counts));
        let events = Arc::new(Events::new(components.listeners.clone(), info_log));
        let archive = LogArchive::of(&self.options, &self.file_system, places.log_directory(), &clock);
        let archive = archive.filter(|_| !is_read_only);
        let files = FileRegistry::new(FileRegistryParts {
            file_system: Arc::clone(&self.file_system),
            database: self.path.clone(),
            places: Arc::clone(&places),
            open_tables,
            blob_source: Arc::clone(&blob_source),
            events: Arc::clone(&events),
            deletion: Deletion::new(
                components.sst_file_manager.clone().filter(|_| !is_read_only),
                RemovalPlace {
                    file_system: Arc::clone(&self.file_system),
                    clock: Arc::clone(&clock),
                    spawner: components.spawner(),
                    may_cut: !super::file_options(&self.options).mmap,
                    statistics: components.statistics.clone(),
                },
                components.statistics.clone(),
            ),
            archive,
            directory_lock: lock,
        });
        let logs = Logs::new(Arc::clone(&self.file_system), places, wal_options);
        let writes = WritePath::new(logs, last_sequence, self.options.delayed_write_rate, Arc::clone(&clock));
        let tracer_clock = Arc::clone(&clock);
        let core = Arc::new_cyclic(|this: &Weak<DbCore>| DbCore {
            options: LiveOptions::new(self.options.clone(), self.notes.clone()),
            identity: Identity {
                db_id: versions.db_id().unwrap_or_default(),
                session_id: unique_id::encode_session_id(random.next_u64(), random.next_u64()),
            },
            files,
            metrics: DatabaseCounters::new(clock.monotonic_us(), components.statistics.clone()),
            reads: ReadPath::new(
                block_cache,
                blob_source,
                BlobCacheSession(random.next_u64(), random.next_u64()),
                components.spawner(),
            ),
            env: Environment {
                _counted_reads: components
                    .memory_budget
                    .as_ref()
                    .and_then(|budget| self.file_system.read_layer().map(|layer| budget.count_pool(layer.pool()))),
                file_system: Arc::clone(&self.file_system),
                clock,
                spawner: components.spawner(),
            },
            versions,
            installs: Mutex::new(()),
            jobs: JobScheduler::new(JobSchedulerParts {
                statistics: components.statistics.clone(),
                is_read_only,
                is_flush_atomic: self.options.atomic_flush,
                controller: Arc::clone(writes.controller()),
                events: Arc::clone(&events),
                spawner: components.spawner(),
                pools: components.thread_pools.clone(),
                host: this.clone(),
            }),
            writes,
            events,
            families: ArcSwap::from_pointee(FamilyMap::default()),
            seqno_times: SeqnoTimes::default(),
            wakeups: Wakeups::default(),
            timer_place: TimerPlace::default(),
            tracer: Arc::new(Tracer::new(tracer_clock)),
            secondary: OnceLock::new(),
        });
        if !is_read_only {
            core.versions.observe_releases(Arc::new(cleanup::Releases(Arc::downgrade(&core))));
        }
        adopt_families(&core);
        if let Some(OpenFileBudget { process_limit, tables }) = budget {
            let asked = self.options.max_open_files;
            core.events.log().info(|| {
                format!("max_open_files = {asked}: at most {tables} tables, for the process may have {process_limit} files open")
            });
        }
        core
    }
}

/// Brings the options of a family into their bounds; what is told of it.
fn settle(name: &str, family: &mut ColumnFamilyOptions, options: &DbOptions) -> Vec<String> {
    family.settle_in(options).iter().map(|adjustment| format!("column family {name}: {adjustment}")).collect()
}

fn does_not_exist(path: &Path) -> Error {
    Error::invalid_argument(format!(
        "{}: does not exist (create_if_missing is false)",
        path.join(file_name::CURRENT).display()
    ))
}

/// Every option that means nothing, in one error.
fn check_options(options: &DbOptions, families: &[ColumnFamilyDescriptor]) -> Result<()> {
    let mut problems: Vec<String> = options.violations().iter().map(ToString::to_string).collect();
    let mut names = BTreeSet::new();
    for (name, family) in families {
        problems.extend(family.violations().iter().map(|violation| format!("column family {name}: {violation}")));
        if !names.insert(name) {
            problems.push(format!("column family {name} is named twice"));
        }
    }
    if !problems.is_empty() {
        return Err(Error::invalid_argument(problems.join("; ")));
    }
    combinations::check_db(options)?;
    families.iter().try_for_each(|(_, family)| combinations::check_family(options, family))?;
    db_path::check("db_paths", &options.db_paths)?;
    families.iter().try_for_each(|(_, family)| db_path::check("cf_paths", &family.cf_paths))?;
    for (name, family) in families.iter().filter(|(_, family)| !family.is_from_file) {
        if let Some(first) = family.unsupported().first() {
            return Err(Error::not_supported(format!("column family {name}: {first}")));
        }
    }
    Ok(())
}

/// Sets up every family that the MANIFEST has.
fn adopt_families(core: &DbCore) {
    let mut families = FamilyMap::default();
    let mut states = Vec::new();
    for view in core.versions.families() {
        let log_number = view.log_number;
        let data = new_family(core, view);
        families.insert(Arc::clone(&data));
        states.push(FamilyJobs::new(data, log_number));
    }
    core.families.store(Arc::new(families));
    core.jobs.adopt(states);
}

/// Sets up one that the MANIFEST has.
fn new_family(core: &DbCore, view: FamilyView) -> Arc<ColumnFamilyData> {
    let table_cache = core.new_table_cache(view.id, &view.options);
    let blob_cache = core.new_blob_cache(&view.options);
    let direct = core.direct_place(view.id, &table_cache).filter(|_| !core.jobs.is_read_only());
    ColumnFamilyData::new(
        view.id,
        view.name,
        view.options,
        view.current,
        table_cache,
        blob_cache,
        switch_memtable::memory_tracker(core),
        direct,
    )
}

/// Opens every table when all may stay open; otherwise a quarter of what may be open, as RocksDB does: the newest
/// of each level, from the top. The others are opened as they are needed. Errors of single tables count with
/// `paranoid_checks` alone.
fn open_tables(core: &DbCore) -> Result<()> {
    check_places(core)?;
    open_tables_or_fail(core).or_else(|error| tolerate(core, error))
}

/// As [`open_tables`], and errors of single tables always count.
fn open_tables_or_fail(core: &DbCore) -> Result<()> {
    open_all(&*core.env.spawner, opening_threads(core), tables_to_open(core))
}

fn check_places(core: &DbCore) -> Result<()> {
    let in_place = core.families.load().iter().try_for_each(|data| check_table_places(core, data));
    in_place.or_else(|error| tolerate(core, error))
}

fn opening_threads(core: &DbCore) -> usize {
    usize::try_from(core.options.load().max_file_opening_threads).unwrap_or(1)
}

fn tables_to_open(core: &DbCore) -> Vec<TableToOpen> {
    let options = core.options.load();
    let families = core.families.load();
    let mut files = Vec::new();
    for data in families.iter() {
        let version = Arc::clone(&data.super_version.load().version);
        for level in 0..version.num_levels() {
            let mut own = version.level(level).to_vec();
            own.sort_by_key(|file| std::cmp::Reverse(file.number));
            files.extend(own.into_iter().map(|file| (Arc::clone(&data.table_cache), file)));
        }
    }
    if options.max_open_files < 0 {
        files.truncate(core.files.open_tables().most_kept());
    }
    if let Ok(bound) = usize::try_from(options.max_open_files) {
        files.truncate((bound.saturating_sub(DESCRIPTORS_FOR_OTHER_FILES) / 4).min(MOST_TABLES_AT_OPEN));
    }
    files
}

/// What it means that a table cannot be opened.
fn tolerate(core: &DbCore, error: Error) -> Result<()> {
    if core.options.load().paranoid_checks {
        return Err(error);
    }
    core.events.log().warn(|| format!("a table cannot be opened: {error}"));
    Ok(())
}

/// Looks for every table of a family whose tables lie in other directories than the database's own: options that
/// name the wrong ones are noticed here, however few tables are opened with the database.
fn check_table_places(core: &DbCore, data: &ColumnFamilyData) -> Result<()> {
    let (paths, version): (&TablePaths, _) = (data.table_cache.paths(), &data.super_version.load().version);
    let is_plain = paths.count() == 1 && is_same(paths.directory(0), core.files.database());
    if is_plain && version.files().all(|(_, file)| file.path_id == 0) {
        return Ok(());
    }
    let mut names: BTreeMap<&Path, BTreeSet<String>> = BTreeMap::new();
    for (_, file) in version.files() {
        let directory = paths.directory(file.path_id);
        let names = match names.entry(directory) {
            Entry::Occupied(listed) => listed.into_mut(),
            Entry::Vacant(unlisted) => match core.env.file_system.children(directory) {
                Err(error) if error.is_not_found() => unlisted.insert(BTreeSet::new()),
                listing => unlisted.insert(listing?.into_iter().collect()),
            },
        };
        let name = [file_name::table(file.number), file_name::legacy_table(file.number)];
        if !name.iter().any(|name| names.contains(name)) {
            return Err(not_in_its_path(file.number, file.path_id, paths));
        }
    }
    Ok(())
}

fn handles(core: Arc<DbCore>, names: Vec<String>) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
    let families = core.families.load_full();
    let by_name: BTreeMap<&str, _> = families.iter().map(|data| (&data.name[..], data)).collect();
    let handle = |name: &String| {
        let data = by_name.get(&name[..]).copied().cloned();
        data.map(|data| ColumnFamily { data })
            .ok_or_else(|| Error::invalid_argument(format!("Column family not found: {name}")))
    };
    let handles = names.iter().map(handle).collect::<Result<Vec<_>>>()?;
    Ok((core, handles))
}
