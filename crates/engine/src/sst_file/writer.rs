//! Writing a table from outside.

use crate::ColumnFamily;
use crate::db::file_system_of;
use crate::options::{ColumnFamilyOptions, DbOptions, TableFactory};
use ferrock_base::byte_text::to_bytes;
use ferrock_base::file_checksum::{FileChecksum, generator_for};
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::random::Random;
use ferrock_base::table_properties_collector::CollectorContext;
use ferrock_base::{Error, InternalComparator, Result, SequenceNumber, ValueType};
use ferrock_format::properties::UNKNOWN_COLUMN_FAMILY_ID;
use ferrock_format::{unique_id, wide_column};
use ferrock_table::{TableBuilder, TableBuilderParams};
use ferrock_vfs::{FileSum, FileSystem, WritableOptions, WritePurpose, summed};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What RocksDB's writer names as the database that made a table.
const DB_ID: &str = "SST Writer";
/// The version of tables that have a place for a global sequence number.
const VERSION: u32 = 2;
/// The longest key, and the longest value: their lengths are 32 bits in a table, and an internal key has 8 bytes more.
const MAX_KEY_BYTES: usize = u32::MAX as usize - 8;
const MAX_VALUE_BYTES: usize = u32::MAX as usize;

/// A table that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExternalSstFileInfo {
    /// Where it is.
    pub file_path: PathBuf,
    /// The first key of an entry; empty in a table of range deletions alone.
    pub smallest_key: Vec<u8>,
    /// The last key of an entry.
    pub largest_key: Vec<u8>,
    /// The first key that a range deletion deletes; empty without any.
    pub smallest_range_del_key: Vec<u8>,
    /// The key before which the last range deletion ends.
    pub largest_range_del_key: Vec<u8>,
    /// The sequence number of all entries: 0.
    pub sequence_number: SequenceNumber,
    /// Bytes of the file.
    pub file_size: u64,
    /// Entries, without range deletions.
    pub num_entries: u64,
    /// Range deletions.
    pub num_range_del_entries: u64,
    /// Version of the format of external tables: 2.
    pub version: u32,
    /// The checksum of the whole file, where the options have a `file_checksum_gen_factory`.
    pub file_checksum: Option<FileChecksum>,
}

/// A table that is being written.
#[derive(Debug)]
struct OpenTable {
    builder: TableBuilder,
    sum: FileSum,
    info: ExternalSstFileInfo,
    last_key: Vec<u8>,
}

/// Writes tables that databases can [ingest](crate::Db::ingest_external_file), one at a time. Keys come in strictly
/// ascending order of the family's comparator; range deletions come in any order.
///
/// A table that is not [finished](Self::finish) is removed when the writer is dropped or opens the next one.
///
/// ```
/// # extern crate ferrock_engine as ferrock;
/// use ferrock::{ColumnFamilyOptions, Db, DbOptions, IngestExternalFileOptions, SstFileWriter};
///
/// # let directory = tempfile::tempdir().unwrap();
/// let path = directory.path().join("table.sst");
/// let mut writer = SstFileWriter::new(&DbOptions::default(), ColumnFamilyOptions::default());
/// writer.open(&path)?;
/// writer.put(b"apple", b"red")?;
/// writer.put(b"banana", b"yellow")?;
/// let info = writer.finish()?;
/// assert_eq!((info.num_entries, &info.smallest_key[..]), (2, &b"apple"[..]));
///
/// let mut options = DbOptions::default();
/// options.create_if_missing = true;
/// let db = Db::open(directory.path().join("db"), options)?;
/// db.ingest_external_file(&[&path], &IngestExternalFileOptions::default())?;
/// assert_eq!(db.get(b"banana")?.as_deref(), Some(&b"yellow"[..]));
/// # Ok::<(), ferrock::Error>(())
/// ```
#[derive(Debug)]
pub struct SstFileWriter {
    db: DbOptions,
    options: ColumnFamilyOptions,
    family: Option<(u32, String)>,
    session_id: String,
    /// Of the next table: with the session it makes its unique id.
    next_number: u64,
    open: Option<OpenTable>,
    last_size: u64,
}

impl SstFileWriter {
    /// A writer of tables in the form that `options` give those of the last level, with their comparator, compression,
    /// filter and collectors of properties. Of `db` come the file system, the clock and the use of direct I/O.
    #[must_use]
    pub fn new(db: &DbOptions, options: ColumnFamilyOptions) -> Self {
        let mut random = Random::from_entropy();
        Self {
            db: db.clone(),
            options,
            family: None,
            session_id: unique_id::encode_session_id(random.next_u64(), random.next_u64()),
            next_number: 1,
            open: None,
            last_size: 0,
        }
    }

    /// Records in the tables that they are of this family: no other one takes them in.
    #[must_use]
    pub fn for_family(mut self, family: &ColumnFamily) -> Self {
        self.family = Some((family.id(), family.name().to_owned()));
        self
    }

    /// Begins a table in a new file; a file of this name is replaced.
    ///
    /// # Errors
    /// `InvalidArgument` for options that are out of their bounds or contradict each other; `NotSupported` for plain
    /// tables, which have no place for a global sequence number, for a comparator with timestamps, and for an algorithm
    /// of compression that is not built; `Io` when the file cannot be created.
    pub fn open(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        self.abandon();
        if let Some(violation) = self.options.violations().first() {
            return Err(Error::invalid_argument(violation.to_string()));
        }
        if let TableFactory::Plain(_) = self.options.table_factory {
            return Err(Error::not_supported(
                "a plain table to be ingested: it has no place for a global sequence number; set table_factory to \
                 block-based tables",
            ));
        }
        let params = self.builder_params();
        params.comparator.user().refuse_timestamps()?;
        if !params.compression.is_supported() {
            let name = params.compression.option_name();
            return Err(Error::not_supported(format!("compression {name} is not built")));
        }
        let file_system = self.file_system()?;
        // Not written over: a database may have the file under another name.
        match file_system.remove_file(path) {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        let file = file_system.create_writable(path, &self.writable_options())?;
        let checksums = self.db.components.file_checksum_gen_factory.as_ref();
        let (file, sum) = summed(file, generator_for(checksums, path));
        let builder = match TableBuilder::new(&TableFactory::BlockBased, params, file) {
            Ok(builder) => builder,
            Err(error) => {
                let _ = file_system.remove_file(path);
                return Err(error);
            }
        };
        self.next_number += 1;
        self.last_size = 0;
        let info = ExternalSstFileInfo { file_path: path.to_owned(), version: VERSION, ..Default::default() };
        self.open = Some(OpenTable { builder, sum, info, last_key: Vec::new() });
        Ok(())
    }

    /// Adds a key with its value.
    ///
    /// # Errors
    /// `InvalidArgument` when no table is open, when the key is not behind the one before, and when key or value are
    /// longer than 32 bits can say; then the table goes on without the entry. The error of the file, which every later
    /// call gives, too.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.add(key, value, ValueType::Value)
    }

    /// Adds a key with an operand for the merge operator of the family that takes the table in.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.add(key, operand, ValueType::Merge)
    }

    /// Adds a key with columns, in any order. The column without a name is the value that reads of values see.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), and `InvalidArgument` when two columns have one name.
    pub fn put_entity(&mut self, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<()> {
        let mut columns = columns.to_vec();
        columns.sort_by_key(|(name, _)| *name);
        self.add(key, &wide_column::encode_entity(&columns)?, ValueType::WideColumnEntity)
    }

    /// Adds the deletion of a key.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.add(key, b"", ValueType::Deletion)
    }

    /// Adds the deletion of a key that was put once since it was deleted last, or never.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    pub fn single_delete(&mut self, key: &[u8]) -> Result<()> {
        self.add(key, b"", ValueType::SingleDeletion)
    }

    /// Adds the deletion of all keys from `begin` on and before `end`, whatever entries of them are in older tables and
    /// in the database; entries of this table stay. An empty range adds nothing.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), and `InvalidArgument` when `begin` is behind `end`.
    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
        let order = self.options.comparator.clone();
        let Some(open) = &mut self.open else { return Err(not_open()) };
        check_length("begin key", begin, MAX_KEY_BYTES)?;
        check_length("end key", end, MAX_VALUE_BYTES)?;
        let comparison = order.compare(begin, end);
        if comparison.is_gt() {
            let (begin, end) = (begin.escape_ascii(), end.escape_ascii());
            return Err(Error::invalid_argument(format!(
                "end key comes before start key: delete_range from {begin} to {end}"
            )));
        }
        if comparison.is_eq() {
            return Ok(());
        }
        let start = make_internal_key(begin, SequenceNumber(0), ValueType::RangeDeletion);
        open.builder.add_range_tombstone(&start, end)?;
        let info = &mut open.info;
        let is_first = info.num_range_del_entries == 0;
        if is_first || order.compare(begin, &info.smallest_range_del_key).is_lt() {
            info.smallest_range_del_key = begin.to_vec();
        }
        if is_first || order.compare(end, &info.largest_range_del_key).is_gt() {
            info.largest_range_del_key = end.to_vec();
        }
        info.num_range_del_entries += 1;
        Ok(())
    }

    /// Completes the table, and makes it and its name durable.
    ///
    /// # Errors
    /// `InvalidArgument` when no table is open, and for a table without entries, which stays open; the error of the
    /// file, which is removed then.
    pub fn finish(&mut self) -> Result<ExternalSstFileInfo> {
        let Some(open) = &self.open else { return Err(not_open()) };
        if open.info.num_entries == 0 && open.info.num_range_del_entries == 0 {
            return Err(Error::invalid_argument(format!(
                "Cannot create sst file with no entries: {}",
                open.info.file_path.display()
            )));
        }
        let file_system = self.file_system()?;
        let Some(OpenTable { builder, sum, mut info, last_key }) = self.open.take() else { return Err(not_open()) };
        let directory = match info.file_path.parent() {
            Some(parent) if parent != Path::new("") => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let finished = builder.finish().and_then(|summary| file_system.sync_dir(&directory).map(|()| summary));
        match finished {
            Ok(summary) => {
                self.last_size = summary.file_size;
                info.file_size = summary.file_size;
                info.largest_key = last_key;
                info.file_checksum = sum.finish();
                Ok(info)
            }
            Err(error) => {
                let _ = file_system.remove_file(&info.file_path);
                Err(error)
            }
        }
    }

    /// Bytes of the table that is open, as far as they are written; of none, those of the last one.
    #[must_use]
    pub fn file_size(&self) -> u64 {
        self.open.as_ref().map_or(self.last_size, |open| open.builder.file_size())
    }

    fn add(&mut self, key: &[u8], value: &[u8], value_type: ValueType) -> Result<()> {
        let Some(open) = &mut self.open else { return Err(not_open()) };
        check_length("key", key, MAX_KEY_BYTES)?;
        check_length("value", value, MAX_VALUE_BYTES)?;
        let is_first = open.info.num_entries == 0;
        if !is_first && self.options.comparator.compare(key, &open.last_key).is_le() {
            let (key, last) = (key.escape_ascii(), open.last_key.escape_ascii());
            return Err(Error::invalid_argument(format!(
                "Keys must be added in strict ascending order: {key} comes after {last}"
            )));
        }
        open.builder.add(&make_internal_key(key, SequenceNumber(0), value_type), value)?;
        if is_first {
            open.info.smallest_key = key.to_vec();
        }
        open.info.num_entries += 1;
        open.last_key.clear();
        open.last_key.extend_from_slice(key);
        Ok(())
    }

    /// Removes a table that is not finished.
    fn abandon(&mut self) {
        let Some(OpenTable { builder, info, .. }) = self.open.take() else { return };
        builder.abandon();
        if let Ok(file_system) = self.file_system() {
            let _ = file_system.remove_file(&info.file_path);
        }
    }

    fn file_system(&self) -> Result<Arc<dyn FileSystem>> {
        file_system_of(&self.db)
    }

    fn writable_options(&self) -> WritableOptions {
        WritableOptions {
            purpose: WritePurpose::Table,
            direct: self.db.use_direct_io_for_flush_and_compaction,
            bytes_per_sync: self.db.bytes_per_sync,
            strict_bytes_per_sync: self.db.strict_bytes_per_sync,
            buffer_bytes: usize::try_from(self.db.writable_file_max_buffer_size).unwrap_or(1 << 20),
            ..WritableOptions::default()
        }
    }

    fn builder_params(&self) -> TableBuilderParams {
        let options = &self.options;
        let num_levels = usize::try_from(options.num_levels).unwrap_or(1);
        let last_level = num_levels.saturating_sub(1);
        let (compression, compression_options) = options.compression_for(usize::MAX - 1, 1, true);
        let mut params = TableBuilderParams::new(InternalComparator::new(options.comparator.clone()));
        params.options = Arc::new(options.table.clone());
        params.compression = compression;
        params.compression_options = compression_options.clone();
        params.spawner = (compression_options.parallel_threads > 1).then(|| self.db.components.spawner());
        params.statistics.clone_from(&self.db.components.statistics);
        params.prefix_extractor.clone_from(&options.prefix_extractor);
        params.filter_policy = options.filter_policy;
        params.deletion_rules.clone_from(&options.compact_on_deletion.0);
        params.sample_for_compression = options.sample_for_compression;
        params.collectors.factories.clone_from(&options.table_properties_collector_factories);
        let (id, name) = match &self.family {
            Some((id, name)) => (u64::from(*id), to_bytes(name).into_owned()),
            None => (UNKNOWN_COLUMN_FAMILY_ID, Vec::new()),
        };
        params.collectors.context = Some(CollectorContext {
            column_family_id: u32::try_from(id).unwrap_or(u32::MAX),
            level_at_creation: last_level,
            num_levels,
            last_level_through: None,
        });
        params.column_family_id = id;
        params.column_family_name = name;
        params.db_id = DB_ID.to_owned();
        params.db_session_id.clone_from(&self.session_id);
        params.file_number = self.next_number;
        params.merge_operator_name = options.merge_operator.as_ref().map(|operator| operator.name().to_owned());
        params.is_external = true;
        params
    }
}

impl Drop for SstFileWriter {
    fn drop(&mut self) {
        self.abandon();
    }
}

fn not_open() -> Error {
    Error::invalid_argument("File is not opened: open a table before entries are added")
}

fn check_length(what: &str, bytes: &[u8], bound: usize) -> Result<()> {
    match bytes.len() {
        length if length > bound => {
            Err(Error::invalid_argument(format!("{what} is too large: {length} bytes of at most {bound}")))
        }
        _ => Ok(()),
    }
}
