//! What a database of that many tables holds in memory, and what opening it takes.

use crate::merge::boundary_key;
use crate::simulation::Run;
use crate::sizes::{Entry, Sizes, TableParts};
use ferrock_base::{FileNumber, SequenceNumber};
use ferrock_format::version_edit::{NewFile, VersionEdit};
use ferrock_options::{ColumnFamilyOptions, DbOptions};
use ferrock_table::options::IndexType;
use ferrock_tree::version::FileMetadata;

/// Bytes in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// Indexes of all tables.
    pub index_bytes: f64,
    /// Filters of all tables.
    pub filter_bytes: f64,
    /// Top levels of partitioned indexes; 0 without partitions.
    pub top_level_bytes: f64,
    /// Index and filter are partitioned.
    pub is_partitioned: bool,
    /// Open tables with what they hold beside the block cache: all of index and filter, or top levels alone.
    pub reader_bytes: f64,
    /// Metadata of all files, with the index over them.
    pub file_metadata_bytes: f64,
    /// Memtables at most.
    pub memtable_bytes: f64,
    /// The block cache.
    pub cache_bytes: f64,
    /// What the cache has for data blocks.
    pub cache_for_data_bytes: f64,
    /// Share of index and filter blocks that are in memory.
    pub metadata_cached: f64,
    /// What must be in memory so that a lookup reads nothing but data blocks, beside the cache.
    pub resident_bytes: f64,
}

/// Beside the metadata itself: in the list of a level, and in the index over the files, as `FileMetadata` charges it.
const BESIDE_METADATA_BYTES: f64 = 64.0;

impl Memory {
    /// Of a tree.
    #[must_use]
    pub fn of(runs: &[Run], family: &ColumnFamilyOptions, sizes: &Sizes, cache_bytes: u64) -> Self {
        let last = runs.last().map_or(0, |run| run.level);
        let without = family.optimize_filters_for_hits.then(|| sizes.without_filter());
        let parts = |run: &Run| match &without {
            Some(sizes) if run.level == last => sizes.parts(run.density),
            _ => sizes.parts(run.density),
        };
        let sum = |figure: fn(&TableParts) -> crate::sizes::Linear| -> f64 {
            runs.iter().map(|run| figure(&parts(run)).of(run.files, run.entries)).sum()
        };
        let files: f64 = runs.iter().map(|run| run.files).sum();
        let index_bytes = sum(|parts| parts.index);
        let filter_bytes = sum(|parts| parts.filter);
        let reader_bytes = sum(|parts| parts.reader);
        let is_partitioned = family.table.index_type == IndexType::TwoLevelIndexSearch;
        let metadata = size_of::<FileMetadata>() as f64 + 2.0 * boundary_key(0).len() as f64 + BESIDE_METADATA_BYTES;
        let in_cache = family.table.cache_index_and_filter_blocks || is_partitioned;
        let in_readers = (reader_bytes - files * size_of::<FileMetadata>() as f64).max(0.0);
        let needed = if in_cache { (index_bytes + filter_bytes - in_readers.min(index_bytes)).max(0.0) } else { 0.0 };
        let cache = cache_bytes as f64;
        let metadata_cached = if needed > 0.0 { (cache / needed).min(1.0) } else { 1.0 };
        Self {
            index_bytes,
            filter_bytes,
            top_level_bytes: sum(|parts| parts.top_level),
            is_partitioned,
            reader_bytes,
            file_metadata_bytes: files * metadata,
            memtable_bytes: family.write_buffer_size as f64 * f64::from(family.max_write_buffer_number.max(1)),
            cache_bytes: cache,
            cache_for_data_bytes: (cache - needed).max(0.0),
            metadata_cached,
            resident_bytes: reader_bytes + files * metadata + needed,
        }
    }

    /// Everything, the cache included.
    #[must_use]
    pub fn all_bytes(&self) -> f64 {
        self.reader_bytes + self.file_metadata_bytes + self.memtable_bytes + self.cache_bytes
    }
}

/// What opening takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Opening {
    /// Bytes of the MANIFEST when it has just been written anew.
    pub manifest_bytes: f64,
    /// Tables that are opened with the database.
    pub tables_opened: f64,
    /// Seconds about, from devices with reads of [`READ_SECONDS`].
    pub seconds: f64,
}

/// Seconds of a read of a few kilobytes from an SSD.
pub const READ_SECONDS: f64 = 100e-6;
/// Seconds to decode the record of a file in the MANIFEST, put it in order and index it, about.
pub const SECONDS_PER_FILE: f64 = 1.5e-6;
/// Seconds to open a table beside its read, on one core, about.
pub const SECONDS_PER_TABLE: f64 = 30e-6;

impl Opening {
    /// Of a tree.
    #[must_use]
    pub fn of(runs: &[Run], db: &DbOptions, entry: Entry) -> Self {
        let files: f64 = runs.iter().map(|run| run.files).sum();
        let bytes: f64 = runs.iter().map(|run| run.files * record_bytes(run, entry) as f64).sum();
        let most = f64::from(db.max_open_files);
        // With a bound a quarter of it is opened ahead.
        let tables_opened = if most < 0.0 { files } else { files.min(most / 4.0) };
        let threads = f64::from(db.max_file_opening_threads.max(1));
        let seconds = files * SECONDS_PER_FILE + tables_opened * (READ_SECONDS / threads + SECONDS_PER_TABLE);
        Self { manifest_bytes: bytes, tables_opened, seconds }
    }
}

/// Bytes of the record of a file of the run, as the MANIFEST has it.
fn record_bytes(run: &Run, entry: Entry) -> usize {
    let key = vec![b'k'; entry.key_size + 8];
    let sequence = SequenceNumber(1 << 40);
    let file = NewFile {
        level: run.level as u32,
        number: FileNumber(1 << 22),
        size_bytes: (run.bytes / run.files.max(1.0)) as u64,
        smallest: key.clone(),
        largest: key,
        smallest_seqno: if run.level > 0 { SequenceNumber(0) } else { sequence },
        largest_seqno: sequence,
        oldest_ancester_time_secs: 1_700_000_000,
        file_creation_time_secs: 1_700_000_000,
        epoch_number: Some(1 << 22),
        unique_id: Some([u64::MAX, u64::MAX]),
        tail_size_bytes: 1 << 20,
        ..NewFile::default()
    };
    let with = VersionEdit { new_files: vec![file], ..VersionEdit::default() }.encode().len();
    with - VersionEdit::default().encode().len()
}
