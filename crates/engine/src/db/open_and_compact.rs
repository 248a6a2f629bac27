//! The worker of a remote compaction: opens the directory of a database that another process has open, reads the tables
//! that it is told to, and writes others elsewhere.
//!
//! ```text
//! input -> OPTIONS file -> CURRENT, MANIFEST -> CompactionJob -> tables, blob files in the output directory -> result
//! ```
//!
//! Nothing in the directory of the database is written or locked, and no log is read: what a compaction needs is in
//! tables. The database may begin a new MANIFEST or OPTIONS file meanwhile and remove the old one; then the open begins
//! anew. Blob files have numbers that the database gave with the job, as tables refer to them by number.

use super::DbCore;
use super::job_env::{job_context, run_on_threads};
use super::open::{self, ColumnFamilyDescriptor};
use crate::options::{ColumnFamilyOptions, Components, DbOptions, apply_text};
use ferrock_base::Comparator;
use ferrock_base::byte_text::canonical;
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::compaction_service::{BlobJob, CompactionServiceInput, CompactionServiceResult};
use ferrock_format::file_name::{self, FileKind};
use ferrock_options::{
    CompactionFilter, CompactionFilterFactory, DbPath, FilterPolicy, MergeOperator, PrefixExtractor,
    SstPartitionerFactory, TablePropertiesCollectorFactory,
};
use ferrock_table::BlockBasedTableOptions;
use ferrock_table::options::TableFactory;
use ferrock_tree::blob::BlobCollection;
use ferrock_tree::file_counts::WrittenBy;
use ferrock_tree::job::remote::{check_components, choice_of, result_of};
use ferrock_tree::job::{CompactionJob, JobEnv, KeyPart, WrittenFiles};
use ferrock_tree::version::version_set::DEFAULT_COLUMN_FAMILY;
use ferrock_vfs::FileSystem;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a worker runs a compaction.
#[derive(Clone, Default)]
pub struct OpenAndCompactOptions {
    /// Asked about every thousand entries; `true` ends the compaction with `Incomplete`.
    pub canceled: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// Files that an earlier run left in the output directory are removed, and the compaction begins anew. Without it
    /// a directory with outputs is refused. (RocksDB may also go on where that run ended.)
    pub allow_resumption: bool,
}

impl fmt::Debug for OpenAndCompactOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAndCompactOptions")
            .field("canceled", &self.canceled.is_some())
            .field("allow_resumption", &self.allow_resumption)
            .finish()
    }
}

/// How tables are written and read, whatever the OPTIONS file says.
#[derive(Clone, Debug, Default)]
pub struct TableOverride {
    /// Which kind of tables is written.
    pub table_factory: TableFactory,
    /// How block-based ones are.
    pub table: BlockBasedTableOptions,
    /// Their filters.
    pub filter_policy: FilterPolicy,
}

/// What the database has and an OPTIONS file cannot say. `None` leaves what the file names, where that is built in.
#[derive(Clone, Default)]
pub struct CompactionServiceOptionsOverride {
    /// File system, clock, caches and threads of the worker.
    pub components: Components,
    /// The order of keys, of the family of the job and of the default one if it has the same.
    pub comparator: Option<Comparator>,
    /// Combines merge operands.
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// Drops or changes entries.
    pub compaction_filter: Option<Arc<dyn CompactionFilter>>,
    /// Makes filters that do.
    pub compaction_filter_factory: Option<Arc<dyn CompactionFilterFactory>>,
    /// Prefixes of keys, for filters.
    pub prefix_extractor: Option<PrefixExtractor>,
    /// Says where tables end.
    pub sst_partitioner_factory: Option<Arc<dyn SstPartitionerFactory>>,
    /// Collect properties of the outputs.
    pub table_properties_collector_factories: Vec<Arc<dyn TablePropertiesCollectorFactory>>,
    /// Kind and options of tables.
    pub table: Option<TableOverride>,
    /// The directories of the database's tables, which no OPTIONS file has.
    pub db_paths: Vec<DbPath>,
    /// Those of the family's tables.
    pub cf_paths: Vec<DbPath>,
    /// Further options, of the database and the family, as `name=value;`, over those of the file.
    pub options: String,
}

impl fmt::Debug for CompactionServiceOptionsOverride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompactionServiceOptionsOverride")
            .field("components", &self.components)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Runs a compaction that a database handed to its [`CompactionService`](crate::options::CompactionService), in another
/// process over the same files, or in this one. Tables and blob files are written into `output_directory`, which is
/// created and has to be the job's own. Returns what the service hands back to the database.
///
/// # Errors
/// `InvalidArgument` for an `input` that is no such text, of another database, or out of date; `NotSupported` when the
/// overrides lack a component that the database compacts with; `Incomplete` when it was cancelled; those of files. The
/// outputs are removed. [`failed_compaction_result`] makes a result of the error, so that the database learns of it.
///
/// ```no_run
/// # extern crate ferrock_engine as ferrock;
/// # fn input() -> Vec<u8> { Vec::new() }
/// let overrides = ferrock::CompactionServiceOptionsOverride::default();
/// let options = ferrock::OpenAndCompactOptions::default();
/// let result = ferrock::open_and_compact(&options, "/data/db", "/data/jobs/7/output", &input(), &overrides)
///     .unwrap_or_else(|error| ferrock::failed_compaction_result(&error));
/// # let _ = result;
/// ```
pub fn open_and_compact(
    options: &OpenAndCompactOptions,
    db_path: impl AsRef<Path>,
    output_directory: impl AsRef<Path>,
    input: &[u8],
    overrides: &CompactionServiceOptionsOverride,
) -> Result<Vec<u8>> {
    let job = CompactionServiceInput::decode(input)?;
    let components = Components { compaction_service: None, ..overrides.components.clone() };
    let base = DbOptions { components, db_paths: overrides.db_paths.clone(), ..DbOptions::default() };
    let mut env = Worker {
        file_system: open::file_system_of(&base)?,
        next_number: AtomicU64::new(0),
        blobs: BlobJob::default(),
        blobs_begun: AtomicU64::new(0),
        canceled: options.canceled.clone(),
    };
    env.check_stop()?;
    let directory = output_directory.as_ref();
    if directory.to_str().is_none() {
        return Err(Error::invalid_argument("the output directory has a name that is not UTF-8").in_file(directory));
    }
    prepare(&*env.file_system, directory, options.allow_resumption)?;
    let name = canonical(&job.column_family);
    let comparator_of = |family: &str, comparator: &str| match &overrides.comparator {
        Some(own) if own.name() == comparator => Ok(own.clone()),
        // It is not opened.
        _ if family != name && family != DEFAULT_COLUMN_FAMILY => Ok(Comparator::default()),
        _ => Comparator::built_in(comparator),
    };
    let core = open::open_tree(db_path.as_ref(), job.options_file_number, &base, comparator_of, |db, families| {
        override_options(db, families, &job, overrides)
    })?;

    env.next_number = AtomicU64::new(core.versions.next_file_number().0);
    env.blobs = job.details.as_ref().and_then(|details| details.blobs).unwrap_or_default();
    compact(&core, &env, directory, &job, input)
}

/// The result of a compaction that failed.
#[must_use]
pub fn failed_compaction_result(error: &Error) -> Vec<u8> {
    CompactionServiceResult::failed(error.clone()).encode()
}

/// The directory must have no outputs: a result must not name one of another run.
fn prepare(file_system: &dyn FileSystem, directory: &Path, removes_outputs: bool) -> Result<()> {
    file_system.create_dir_all(directory)?;
    if file_system.exists(&directory.join(file_name::CURRENT))? {
        return Err(Error::invalid_argument("the output directory is that of a database").in_file(directory));
    }
    // A blob file that is not complete has the name of a temporary one.
    let is_output = |name: &String| {
        file_name::parse(name)
            .is_some_and(|name| matches!(name.kind, FileKind::Table | FileKind::Blob | FileKind::Temp))
    };
    for name in file_system.children(directory)?.into_iter().filter(is_output) {
        let path = directory.join(name);
        if !removes_outputs {
            let what = "the output directory has outputs already; each job needs a directory of its own";
            return Err(Error::invalid_argument(what).in_file(path));
        }
        file_system.remove_file(&path)?;
    }
    Ok(())
}

/// The options of the job, and of the families that are opened for it: its own and the default one.
fn override_options(
    db: &mut DbOptions,
    families: &mut Vec<ColumnFamilyDescriptor>,
    job: &CompactionServiceInput,
    overrides: &CompactionServiceOptionsOverride,
) -> Result<()> {
    let name = canonical(&job.column_family);
    families.retain(|(known, _)| *known == name || known == DEFAULT_COLUMN_FAMILY);
    let Some((_, family)) = families.iter_mut().find(|(known, _)| *known == name) else {
        return Err(Error::invalid_argument(format!("Column family not found: {name}")));
    };
    override_family(family, overrides);
    apply_text(db, family, &overrides.options)?;
    db.settings.max_open_files = -1;
    match &job.details {
        Some(details) => check_components(family, details),
        None => Ok(()),
    }
}

fn override_family(family: &mut ColumnFamilyOptions, overrides: &CompactionServiceOptionsOverride) {
    if let Some(comparator) = &overrides.comparator {
        family.comparator = comparator.clone();
    }
    family.cf_paths.clone_from(&overrides.cf_paths);
    if overrides.merge_operator.is_some() {
        family.merge_operator.clone_from(&overrides.merge_operator);
    }
    if overrides.compaction_filter.is_some() {
        family.compaction_filter.clone_from(&overrides.compaction_filter);
    }
    if overrides.compaction_filter_factory.is_some() {
        family.compaction_filter_factory.clone_from(&overrides.compaction_filter_factory);
    }
    if overrides.prefix_extractor.is_some() {
        family.prefix_extractor.clone_from(&overrides.prefix_extractor);
    }
    if overrides.sst_partitioner_factory.is_some() {
        family.sst_partitioner_factory.clone_from(&overrides.sst_partitioner_factory);
    }
    if let Some(table) = &overrides.table {
        family.table_factory = table.table_factory.clone();
        family.table = table.table.clone();
        family.filter_policy = table.filter_policy;
    }
    if !overrides.table_properties_collector_factories.is_empty() {
        family.table_properties_collector_factories.clone_from(&overrides.table_properties_collector_factories);
    }
}

fn compact(
    core: &DbCore,
    env: &Worker,
    directory: &Path,
    job: &CompactionServiceInput,
    input: &[u8],
) -> Result<Vec<u8>> {
    let clock = &core.env.clock;
    let before_us = clock.monotonic_us();
    if !job.db_id.is_empty() && !core.identity.db_id.is_empty() && job.db_id != core.identity.db_id {
        return Err(Error::invalid_argument(format!(
            "the job is of the database {:?}, the directory has {:?}",
            job.db_id, core.identity.db_id
        )));
    }
    let data = core.families.load().by_name(&canonical(&job.column_family)).cloned();
    let Some(data) = data else {
        return Err(Error::invalid_argument(format!("Column family not found: {}", job.column_family)));
    };
    let version =
        core.versions.current(data.id).ok_or_else(|| Error::new(ErrorKind::ColumnFamilyDropped, &data.name[..]))?;
    let mut context = job_context(core, &data, Some(Arc::clone(&version)), Some(0), WrittenBy::Compaction)?;
    context.db_id.clone_from(&job.db_id);
    context.snapshots.clone_from(&job.snapshots);
    let (table_cache, path_id) = core.table_cache_with_output(&context.family.options, &data.table_cache, directory);
    context.family.table_cache = table_cache;
    context.family.blob_directory = directory.to_path_buf();
    let choice = choice_of(&version, &context.family.options, job, path_id)?;
    context.epoch_number = choice.epoch_number.unwrap_or(0);
    let within =
        (job.begin.is_some() || job.end.is_some()).then(|| KeyPart { begin: job.begin.clone(), end: job.end.clone() });
    let is_manual = job.details.as_ref().is_some_and(|details| details.is_manual);
    let collection = BlobCollection::of_files_below(env.blobs.collect_below);
    let (context, choice, max_subcompactions) = (&context, &choice, 0);
    let output = CompactionJob { context, choice, is_manual, collection, within, max_subcompactions }.run(env)?;
    let described = result_of(&context.family, choice, &output, directory, input);
    let mut result = described.inspect_err(|_| env.discard(&output.written))?;
    result.stats.elapsed_us = clock.monotonic_us().saturating_sub(before_us);
    Ok(result.encode())
}

/// The place of a job that belongs to no database.
struct Worker {
    file_system: Arc<dyn FileSystem>,
    next_number: AtomicU64,
    /// The numbers that blob files may have.
    blobs: BlobJob,
    /// How many blob files were begun.
    blobs_begun: AtomicU64,
    canceled: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl JobEnv for Worker {
    /// The database that gets the files counts them.
    fn note_output(&self, _: PathBuf, _: u64) -> Result<()> {
        Ok(())
    }

    fn new_output(&self) -> FileNumber {
        FileNumber(self.next_number.fetch_add(1, Ordering::Relaxed))
    }

    fn new_blob_output(&self) -> Result<FileNumber> {
        let index = self.blobs_begun.fetch_add(1, Ordering::Relaxed);
        let number = FileNumber(self.blobs.first_number.0.saturating_add(index));
        if self.blobs.has_number(number) {
            return Ok(number);
        }
        Err(Error::not_supported(format!(
            "more than {} blob files: the database gave numbers for so many; a larger blob_file_size takes fewer",
            self.blobs.numbers
        )))
    }

    fn check_stop(&self) -> Result<()> {
        match &self.canceled {
            Some(canceled) if canceled() => Err(Error::new(ErrorKind::Incomplete, "the compaction was cancelled")),
            _ => Ok(()),
        }
    }

    fn discard(&self, files: &WrittenFiles) {
        for (directory, name) in files.names() {
            // What cannot be removed lies in the job's own directory, which its service removes.
            let _ = self.file_system.remove_file(&directory.join(name));
        }
    }

    fn run_at_once(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        run_on_threads(count, run);
    }
}
