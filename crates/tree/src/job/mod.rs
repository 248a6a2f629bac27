//! Jobs: a flush makes tables of memtables, a compaction makes tables of tables. Neither knows a database.
//!
//! ```text
//! JobContext (what the job works with, as of its start) --+
//! memtables, or a CompactionChoice ----------------------+--> FlushJob / CompactionJob --> JobOutput --> VersionEdit
//! JobEnv (numbers of files, whether to stop) ------------+
//! ```
//!
//! A job reads its inputs, writes tables and blob files through the file system of its context, and opens each of them
//! before it ends, or reads it again as a whole where the options say so.
//! It changes no Version and no MANIFEST: the caller puts [`JobOutput`] into a VersionEdit and installs that. So a job
//! runs in a test without a database, and may run in another process.
//!
//! Invariants: a job that fails leaves no file behind; the numbers of a job that succeeds stay reserved until the
//! caller gives them back; the directory entries of the outputs are durable when the job ends.

mod blob_output;
mod compaction;
mod copy;
mod events;
mod filter;
mod flush;
mod outputs;
mod parts;
mod plan;
mod preserved_times;
mod read_blobs;
pub mod remote;
mod streams;
#[cfg(test)]
mod tests;
mod verify;

pub use compaction::CompactionJob;
pub use events::{FileBegun, FileEnded, FileWritten, stats_of_inputs};
pub use flush::FlushJob;
pub use parts::KeyPart;

use crate::compaction::iterator::DroppedEntries;
use crate::seqno_time::SeqnoToTimeMapping;
use crate::table_cache::TableCache;
use crate::version::{BlobFileMetadata, Version};
use ferrock_base::clock::Clock;
use ferrock_base::{Error, FileNumber, InternalComparator, Result, SequenceNumber};
use ferrock_format::file_name;
use ferrock_format::properties::TableProperties;
use ferrock_format::trailer::BLOCK_TRAILER_SIZE;
use ferrock_format::version_edit::{BlobFileAddition, BlobFileGarbage, NewFile};
use ferrock_options::{ColumnFamilyOptions, CompactionJobStats, DbOptions};
use ferrock_table::adaptive::HashIndexChoice;
use ferrock_table::options::TableFactory;
use ferrock_table::{CopiedBlocks, FailedCollector, TableBlockCache};
use ferrock_vfs::{FileSystem, IoKind, RateLimiter};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::blob::{BlobCache, BlobFlow, OwnedBlobView};
use crate::counted_callbacks::counted_limiter;
use verify::EntriesDigest;

/// Services that a job needs from its caller.
pub trait JobEnv: Sync {
    /// Reserves the number of a table or blob file. A clean-up of obsolete files leaves such a file alone from before
    /// it exists.
    fn new_output(&self) -> FileNumber;

    /// Reserves the number of a blob file. References name the file by it, so nothing gives the file another one later.
    ///
    /// # Errors
    /// An error ends the job, which removes its files.
    fn new_blob_output(&self) -> Result<FileNumber> {
        Ok(self.new_output())
    }

    /// Called about every thousand entries.
    ///
    /// # Errors
    /// An error ends the job, which removes its files.
    fn check_stop(&self) -> Result<()>;

    /// Gives the numbers back and removes those of the files that exist, under any of their names: the job failed.
    fn discard(&self, files: &WrittenFiles);

    /// Called for each table and blob file that is complete.
    ///
    /// # Errors
    /// An error ends the job, which removes its files.
    fn note_output(&self, path: PathBuf, bytes: u64) -> Result<()>;

    /// Called when a family's tables are written as block-based ones, because the limits of the kind that its options
    /// name are in the way.
    fn note_block_based(&self, _family: &str, _reason: &Error) {}

    /// Calls `run` with each number below `count`, on as many threads as there are, and waits for all.
    fn run_at_once(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        (0..count).for_each(run);
    }

    /// Called for each collector of properties that failed, and whose properties the table therefore does not have.
    fn note_failed_collector(&self, _family: &str, _table: FileNumber, _failed: &FailedCollector) {}

    /// Whether writers are slowed down or stopped: the job's reads and writes then come first at the rate limiter.
    fn are_writers_stalled(&self) -> bool {
        false
    }

    /// Blocks of a finished table whose compression was verified while it was written.
    fn note_verified_blocks(&self, _blocks: u64) {}

    /// Called before a table or blob file is created, on the thread that writes it.
    fn note_file_begun(&self, _file: &FileBegun<'_>) {}

    /// Called once for each file that was begun, on the same thread, when it is complete, or will not be. Of one that
    /// is complete before [`note_output`](Self::note_output).
    fn note_file_ended(&self, _file: &FileEnded<'_>) {}

    /// Called when a part of a compaction begins, on its thread.
    fn note_part_begun(&self, _part: usize) {}

    /// Called when a part of a compaction ended, on its thread, with what it read and wrote.
    fn note_part_ended(&self, _part: usize, _stats: &CompactionJobStats, _result: &Result<()>) {}
}

/// The context of a job, as of its start.
#[derive(Clone)]
pub struct JobContext {
    /// Where the files are.
    pub file_system: Arc<dyn FileSystem>,
    /// The clock for the times in the tables' properties.
    pub clock: Arc<dyn Clock>,
    /// How files are read and written.
    pub db: Arc<DbOptions>,
    /// Identity of the database, for the properties of tables.
    pub db_id: String,
    /// Identity of the session, for the properties and unique ids of tables.
    pub session_id: String,
    /// The family.
    pub family: FamilyContext,
    /// Snapshots: versions of keys visible at these sequence numbers are kept.
    pub snapshots: Vec<SequenceNumber>,
    /// Access to the values in blob files.
    pub blobs: Option<Arc<OwnedBlobView>>,
    /// Epoch number of the outputs.
    pub epoch_number: u64,
    /// When sequence numbers were written, as far as the process knows; empty where the family does not preserve it.
    pub seqno_times: SeqnoToTimeMapping,
    /// Outputs of compactions store blocks as the inputs do where they are equal. False is for tests, which compare: it
    /// makes the same tables.
    pub copies_blocks: bool,
}

impl JobContext {
    /// What limits reads, or writes, of the job, if anything does.
    pub(crate) fn rate_limiter(&self, kind: IoKind) -> Option<Arc<dyn RateLimiter>> {
        let components = &self.db.components;
        counted_limiter(components.rate_limiter.as_ref(), components.statistics.as_ref(), &self.clock, kind)
    }
}

/// The column family that a job works for.
#[derive(Clone)]
pub struct FamilyContext {
    /// Number in batches and in the MANIFEST.
    pub id: u32,
    /// Name, for messages and for the properties of tables.
    pub name: String,
    /// The order of internal keys.
    pub comparator: InternalComparator,
    /// The options.
    pub options: Arc<ColumnFamilyOptions>,
    /// The cache through which inputs and outputs are opened. It has the directories.
    pub table_cache: Arc<TableCache>,
    /// The cache that builders charge memory to.
    pub block_cache: Arc<TableBlockCache>,
    /// The cache of the family's values in blob files.
    pub blob_cache: Option<Arc<BlobCache>>,
    /// Decides whether tables get hash indexes, if the options say `kDataBlockAuto`.
    pub hash_index_choice: Arc<HashIndexChoice>,
    /// The tables of the family, from which the growth by hash indexes is estimated.
    pub version: Arc<Version>,
    /// Where new blob files go: beside the family's others, or where another process fetches them.
    pub blob_directory: PathBuf,
}

impl fmt::Debug for JobContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobContext").field("family", &self.family.name).finish_non_exhaustive()
    }
}

/// The files that a job has made. Their numbers are reserved until the caller gives them back.
#[derive(Clone, Debug, Default)]
pub struct WrittenFiles {
    /// Where the tables are.
    pub table_directory: PathBuf,
    /// Numbers of tables, including those of empty ones.
    pub tables: Vec<FileNumber>,
    /// Where the blob files are.
    pub blob_directory: PathBuf,
    /// Numbers of blob files. One that is not complete has the name of a temporary file.
    pub blobs: Vec<FileNumber>,
}

impl WrittenFiles {
    /// Adds the files of another part of the job.
    fn append(&mut self, next: Self) {
        if !next.tables.is_empty() || !next.blobs.is_empty() {
            // All parts write to the same directories.
            (self.table_directory, self.blob_directory) = (next.table_directory, next.blob_directory);
        }
        self.tables.extend(next.tables);
        self.blobs.extend(next.blobs);
    }

    /// Every number.
    pub fn numbers(&self) -> impl Iterator<Item = FileNumber> {
        self.tables.iter().chain(&self.blobs).copied()
    }

    /// Every name that a file may have, with its directory.
    pub fn names(&self) -> impl Iterator<Item = (&Path, String)> {
        let tables = self.tables.iter().map(|number| (&*self.table_directory, file_name::table(*number)));
        let in_blobs = |number: FileNumber| [file_name::temp(number), file_name::blob(number)];
        let blobs = self.blobs.iter().flat_map(move |number| in_blobs(*number));
        tables.chain(blobs.map(|name| (&*self.blob_directory, name)))
    }
}

/// Entries that a compaction read, without range tombstones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntriesRead {
    /// How many.
    pub entries: u64,
    /// False when a filter skipped some unread.
    pub is_exact: bool,
}

/// Bytes of internal keys and values that memtables gave to a flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// All of them; of range tombstones those that the table got.
    pub bytes: u64,
    /// Those that the table did not get.
    pub garbage_bytes: u64,
}

impl Payload {
    /// Nothing where the table got more than there was, as RocksDB counts: a merge adds delimiters.
    fn of(output: &JobOutput, tombstone_bytes: u64) -> Self {
        let read = output.dropped.input_key_bytes + output.dropped.input_value_bytes + tombstone_bytes;
        let written = output.properties.values().map(|table| table.raw_key_size + table.raw_value_size).sum();
        match read.checked_sub(written) {
            Some(garbage_bytes) => Self { bytes: read, garbage_bytes },
            None => Self::default(),
        }
    }
}

/// Values that a compaction took from blob files that it collects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectedValues {
    /// How many.
    pub values: u64,
    /// Their bytes as the files store them.
    pub bytes: u64,
}

/// The output of a job.
#[derive(Debug, Default)]
pub struct JobOutput {
    /// The tables, as records of a VersionEdit.
    pub files: Vec<NewFile>,
    /// The blob files, as records of a VersionEdit.
    pub blob_files: Vec<BlobFileAddition>,
    /// What was made of files, complete or not.
    pub written: WrittenFiles,
    /// References into blob files that the tables have.
    pub blobs: BlobFlow,
    /// References into blob files that the inputs of a compaction have.
    pub blobs_read: BlobFlow,
    /// Values that went from old blob files into new ones, or into tables.
    pub collected: CollectedValues,
    /// Bytes of the records of blob files that a compaction read: for filters, for merges, and to collect them.
    pub blob_read_bytes: u64,
    /// Records of blob files that no output refers to any more.
    pub garbage: Vec<BlobFileGarbage>,
    /// What a compaction read.
    pub read: EntriesRead,
    /// Parts that ran at the same time.
    pub parts: usize,
    /// What became of the entries that a job read.
    pub dropped: DroppedEntries,
    /// What a flush read in bytes.
    pub payload: Payload,
    /// Data blocks of the tables that were copied from inputs.
    pub copied: CopiedBlocks,
    /// Properties of the tables that were written by this process.
    pub properties: BTreeMap<FileNumber, Arc<TableProperties>>,
    /// What a compaction read and wrote, of all that its parts know; of a flush the time of the processor.
    pub stats: CompactionJobStats,
    /// Of the tables whose entries are read again before they are installed.
    digests: BTreeMap<FileNumber, EntriesDigest>,
}

impl JobOutput {
    /// Adds what the next part of the job wrote.
    fn append(&mut self, next: Self) {
        self.files.extend(next.files);
        self.blob_files.extend(next.blob_files);
        self.written.append(next.written);
        self.blobs.absorb(&next.blobs);
        self.copied.absorb(next.copied);
        self.collected.values += next.collected.values;
        self.collected.bytes += next.collected.bytes;
        self.blob_read_bytes += next.blob_read_bytes;
        self.properties.extend(next.properties);
        self.digests.extend(next.digests);
    }

    /// Bytes of the tables and blob files.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size_bytes).sum::<u64>() + self.blob_size_bytes()
    }

    /// Bytes of the tables as they would be had no data block been compressed. A table of which no such number is
    /// known, as of one that another process wrote, counts as it is.
    #[must_use]
    pub fn uncompressed_table_bytes(&self) -> u64 {
        let of = |file: &NewFile| match self.properties.get(&file.number) {
            Some(table) if table.uncompressed_data_size > 0 => {
                let data = table.uncompressed_data_size + table.num_data_blocks * BLOCK_TRAILER_SIZE as u64;
                file.size_bytes.saturating_sub(table.data_size).saturating_add(data)
            }
            _ => file.size_bytes,
        };
        self.files.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Bytes of the blob files.
    #[must_use]
    pub fn blob_size_bytes(&self) -> u64 {
        self.blob_files.iter().map(|file| BlobFileMetadata::new(file.clone()).file_size_bytes()).sum()
    }
}

/// Writes tables of the family's kind, or block-based ones where `write` meets the limits of that kind and sets its
/// flag: what was acknowledged has to get into tables, whatever its keys are.
fn write_tables(
    family: &FamilyContext,
    env: &dyn JobEnv,
    write: impl Fn(&TableFactory, &mut bool) -> Result<JobOutput>,
) -> Result<JobOutput> {
    let mut is_out_of_limits = false;
    match write(&family.options.table_factory, &mut is_out_of_limits) {
        Err(error) if is_out_of_limits => {
            env.note_block_based(&family.name, &error);
            write(&TableFactory::BlockBased, &mut is_out_of_limits)
        }
        outcome => outcome,
    }
}

/// The inputs must have given as many entries as they hold.
fn check_entries(family: &FamilyContext, job: &str, inputs: &str, read: u64, held: u64) -> Result<()> {
    if read == held {
        return Ok(());
    }
    Err(Error::corruption(format!("[{}] a {job} read {read} entries of {inputs} that hold {held}", family.name)))
}
