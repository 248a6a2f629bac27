//! What all outputs of a job have in common.

use super::preserved_times::PreservedTimes;
use super::{JobContext, JobEnv};
use crate::compaction::choice::CompactionChoice;
use crate::version::boundary::BoundaryRange;
use ferrock_base::compaction_filter::TableFileCreationReason;
use ferrock_base::{FileNumber, Temperature};
use ferrock_format::compression::{CompressionOptions, CompressionType};
use ferrock_options::CompactionShape;
use ferrock_table::StoredBlocks;
use ferrock_vfs::{IoPriority, WritableOptions, WritePurpose};
use std::path::Path;
use std::sync::Arc;

/// Where `bytes_per_sync` is 0, writing to the device begins after each of so many bytes of a table: all of them are
/// synced at its end, which else waits for the device with nothing done meanwhile.
const WRITEBACK_BYTES: u64 = 1 << 20;

/// Parameters shared by all outputs of a job, or by those on one level.
#[derive(Clone)]
pub(super) struct OutputPlan<'a> {
    pub(super) context: &'a JobContext,
    pub(super) level: usize,
    /// The directory, as an entry of the family's paths.
    pub(super) path_id: u32,
    pub(super) reason: TableFileCreationReason,
    pub(super) base_level: usize,
    pub(super) is_bottommost: bool,
    /// `None`: as the options say.
    pub(super) compression: Option<CompressionType>,
    /// Unix seconds of the oldest data; 0 = unknown.
    pub(super) oldest_ancestor_time: u64,
    /// Unix seconds when the oldest key of memtables was written; 0 = unknown, as of every compaction.
    pub(super) oldest_key_time: u64,
    /// The compaction, if it is one.
    pub(super) choice: Option<&'a CompactionChoice>,
    /// Unix seconds when the newest data was there; 0 = unknown.
    pub(super) newest_key_time: u64,
    /// The temperature of the outputs; `None`: that of the options.
    pub(super) chosen_temperature: Option<Temperature>,
    /// Of the sequence numbers of the outputs.
    pub(super) times: PreservedTimes,
    /// Of reads and writes while writers are not stalled.
    pub(super) priority: IoPriority,
    /// Values in blob files with smaller numbers are written anew, so that these files become garbage.
    pub(super) collect_blobs_below: Option<FileNumber>,
    /// Blocks of the inputs, which outputs may store as the inputs do.
    pub(super) stored_blocks: Option<Arc<StoredBlocks>>,
}

impl OutputPlan<'_> {
    /// True for tables of memtables.
    pub(super) fn is_flush(&self) -> bool {
        self.reason != TableFileCreationReason::Compaction
    }

    /// The priority at which the job asks the rate limiter now: as its kind has, and more while writers are stalled,
    /// because they wait for what it does.
    ///
    /// A file keeps the priority that it was opened with. So a compaction gets no more than that of a flush, unlike in
    /// RocksDB, where both become `User`: the flush that the writers wait for may have begun before they were stalled,
    /// and would wait for all of the compactions that begin meanwhile.
    pub(super) fn io_priority(&self, env: &dyn JobEnv) -> IoPriority {
        match (env.are_writers_stalled(), self.is_flush()) {
            (false, _) => self.priority,
            (true, true) => IoPriority::User,
            (true, false) => IoPriority::High,
        }
    }

    /// How the outputs are compressed.
    pub(super) fn compression(&self) -> (CompressionType, &CompressionOptions) {
        let options = &self.context.family.options;
        let (by_options, settings) = options.compression_for(self.level, self.base_level, self.is_bottommost);
        (self.compression.unwrap_or(by_options), settings)
    }

    /// A place for blocks of inputs that outputs may have; `None` where nothing is compressed, or with a dictionary.
    pub(super) fn new_stored_blocks(&self) -> Option<Arc<StoredBlocks>> {
        let (kind, settings) = self.compression();
        let format_version = self.context.family.options.table.format_version;
        match self.context.copies_blocks {
            true => StoredBlocks::new(kind, settings, format_version),
            false => StoredBlocks::without_copies(kind, settings, format_version),
        }
    }

    /// Where the outputs go.
    pub(super) fn directory(&self) -> &Path {
        self.context.family.table_cache.paths().directory(self.path_id)
    }

    /// The temperature of the outputs: of compactions into the last level that of it, where it has one.
    pub(super) fn temperature(&self) -> Temperature {
        let options = &self.context.family.options;
        if let Some(chosen) = self.chosen_temperature {
            return chosen;
        }
        let is_last = usize::try_from(options.num_levels).is_ok_and(|levels| self.level + 1 == levels);
        let is_queue = options.compaction_shape() == CompactionShape::Queue;
        if !self.is_flush() && is_last && !is_queue && options.last_level_temperature != Temperature::Unknown {
            return options.last_level_temperature;
        }
        options.default_write_temperature
    }

    /// Unix seconds of the oldest data of an output with these internal keys, as exactly as its inputs tell. Table
    /// properties, which are written before the last key is known, have that of all inputs, as RocksDB's do.
    pub(super) fn oldest_ancestor_time_within(&self, smallest: &[u8], largest: &[u8]) -> u64 {
        let within = self.choice.map_or(0, |choice| {
            let range = BoundaryRange { smallest: Some(smallest.to_vec()), largest: Some(largest.to_vec()) };
            choice.oldest_ancestor_time_within(&range)
        });
        if within > 0 { within } else { self.oldest_ancestor_time }
    }

    /// How the files are created.
    pub(super) fn writable_options(&self) -> WritableOptions {
        let options = &self.context.db;
        WritableOptions {
            purpose: WritePurpose::Table,
            direct: options.use_direct_io_for_flush_and_compaction,
            bytes_per_sync: if options.bytes_per_sync > 0 { options.bytes_per_sync } else { WRITEBACK_BYTES },
            strict_bytes_per_sync: options.strict_bytes_per_sync,
            temperature: self.temperature(),
            buffer_bytes: usize::try_from(options.writable_file_max_buffer_size).unwrap_or(1 << 20),
            ..WritableOptions::default()
        }
    }
}
