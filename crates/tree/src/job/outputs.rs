//! Tables written by flush and compaction: one builder at a time, fed entry by entry,
//! cut where the splitter says, with the range tombstones and the boundaries that belong
//! to each output. Large values go into blob files on their way.

mod values;

use super::blob_output::BlobOutput;
use super::events::{FileTold, FileWritten};
use super::plan::OutputPlan;
use super::verify::{EntriesDigest, Verification};
use super::{JobContext, JobEnv, JobOutput, WrittenFiles};
use crate::blob::{BlobFlow, BlobReadahead, for_each_reference};
use crate::compaction::iterator::{
    CompactionIterator, DeeperLevels, OutputSize, OutputSplitter, Precision, boundary_between, output_contents,
};
use ferrock_base::byte_text::to_bytes;
use ferrock_base::file_checksum;
use ferrock_base::internal_key::{make_internal_key, sequence, trailer};
use ferrock_base::range_tombstone::RangeTombstone;
use ferrock_base::table_properties_collector::CollectorContext;
use ferrock_base::{
    Error, ErrorKind, FileNumber, InternalComparator, InternalIterator, Result, SequenceNumber, ValueType,
};
use ferrock_cache::Held;
use ferrock_format::file_name;
use ferrock_format::version_edit::NewFile;
use ferrock_table::adaptive::HASH_INDEX_PROPERTY;
use ferrock_table::options::{DataBlockIndexType, TableFactory};
use ferrock_table::{Charging, TableBuilder, TableBuilderParams};
use ferrock_vfs::{FileSum, IoKind, summed};
use std::sync::Arc;

/// What the contexts and buffers of compressors take for one table, for a memory budget: those of ZSTD at its default
/// level, which take most.
const COMPRESSOR_BYTES: usize = 512 << 10;

/// Of an entry in a block, at most: lengths, a restart, and what a new block takes.
const ENTRY_BYTES: u64 = 64;

struct OpenOutput {
    number: FileNumber,
    builder: TableBuilder,
    sum: FileSum,
    first: Vec<u8>,
    last: Vec<u8>,
    smallest_sequence: SequenceNumber,
    largest_sequence: SequenceNumber,
    /// Smallest number of a blob file that an entry refers to.
    oldest_blob_file: Option<FileNumber>,
    /// Of the entries so far, where they are read again.
    digest: Option<EntriesDigest>,
    /// What the builder, the file and blocks of the inputs hold, where a memory budget counts it.
    memory: Option<Held>,
}

impl OpenOutput {
    /// Brings the memory that is counted up to date.
    fn count_memory(&mut self, plan: &OutputPlan<'_>) {
        if let Some(memory) = &mut self.memory {
            let tail_bytes = self.builder.size_at_most().bytes.saturating_sub(self.builder.file_size());
            let buffer_bytes = plan.context.db.writable_file_max_buffer_size;
            let compressors = self.builder.threads().saturating_mul(COMPRESSOR_BYTES);
            let stored = plan.stored_blocks.as_ref().map_or(0, |stored| stored.memory_bytes());
            memory.set(usize::try_from(tail_bytes.saturating_add(buffer_bytes)).unwrap_or(0) + compressors + stored);
            if let Some(budget) = &plan.context.db.components.memory_budget {
                budget.look();
            }
        }
    }
}

/// Writes the outputs of one job.
pub(super) struct TableOutput<'a> {
    env: &'a dyn JobEnv,
    plan: &'a OutputPlan<'a>,
    /// The kind of the tables.
    factory: &'a TableFactory,
    /// A table had no room for an entry for a reason of its kind.
    is_out_of_limits: bool,
    order: InternalComparator,
    surviving: Vec<RangeTombstone>,
    /// What the surviving tombstones add to a table at most, where its size is bounded with all that is in it.
    bounded_tombstone_bytes: Option<u64>,
    open: Option<Box<OpenOutput>>,
    told: FileTold<'a>,
    /// The exact size of the open output is wanted at each key.
    are_sizes_asked_for: bool,
    /// The entries of outputs are read again.
    takes_digests: bool,
    /// `None` where all values are in tables.
    blobs: Option<BlobOutput<'a>>,
    /// Buffers for the values that are collected.
    readahead: Option<BlobReadahead>,
    /// Key and index of an entry whose value went into a blob file.
    moved: (Vec<u8>, Vec<u8>),
    /// Boundary with the output before.
    lower: Option<Vec<u8>>,
    output: JobOutput,
}

impl<'a> TableOutput<'a> {
    /// Writes tables of a kind. Only block-based tables have range tombstones.
    ///
    /// # Errors
    /// `NotSupported` for a compression of blob files that is not built.
    pub(super) fn new(
        env: &'a dyn JobEnv,
        plan: &'a OutputPlan<'a>,
        factory: &'a TableFactory,
        surviving: Vec<RangeTombstone>,
    ) -> Result<Self> {
        let order = plan.context.family.comparator.clone();
        let factory = if surviving.is_empty() { factory } else { &TableFactory::BlockBased };
        let tombstone_bytes = surviving.iter().fold(0u64, |sum, tombstone| {
            sum.saturating_add((tombstone.start.len() + tombstone.end.len()) as u64 + ENTRY_BYTES)
        });
        let is_bounded = plan.context.family.options.target_file_size_is_upper_bound;
        let written = WrittenFiles {
            table_directory: plan.directory().to_path_buf(),
            blob_directory: plan.context.family.blob_directory.clone(),
            ..WrittenFiles::default()
        };
        Ok(Self {
            env,
            plan,
            factory,
            is_out_of_limits: false,
            order,
            surviving,
            bounded_tombstone_bytes: is_bounded.then_some(tombstone_bytes),
            open: None,
            told: FileTold::new(env, &plan.context.family.name, plan.reason, false),
            are_sizes_asked_for: false,
            takes_digests: Verification::of(&plan.context.family.options, plan.reason).entries,
            blobs: BlobOutput::new(env, plan, plan.writable_options())?,
            readahead: plan.collect_blobs_below.and_then(|_| blob_readahead(plan)),
            moved: Default::default(),
            lower: None,
            output: JobOutput { written, ..JobOutput::default() },
        })
    }

    /// The files written so far; an unfinished one is abandoned. `result` is what became of the job.
    pub(super) fn into_output(mut self, result: &Result<()>) -> JobOutput {
        self.told.end_with(result);
        if let Some(blobs) = &mut self.blobs {
            blobs.end_with(result);
        }
        self.output
    }

    /// True after an error that another kind of table would not have had.
    pub(super) fn is_out_of_limits(&self) -> bool {
        self.is_out_of_limits
    }

    /// Writes everything that `input` has left.
    pub(super) fn write_all<I: InternalIterator, D: DeeperLevels>(
        &mut self,
        input: &mut CompactionIterator<I, D>,
        mut splitter: OutputSplitter,
    ) -> Result<()> {
        let mut counter = 0u32;
        while input.valid() {
            counter = counter.wrapping_add(1);
            if counter.is_multiple_of(1024) {
                self.check()?;
            }
            self.write(&mut splitter, input.key(), input.value())?;
            input.next();
        }
        input.status()?;
        self.finish()
    }

    /// To be called about every thousand entries.
    pub(super) fn check(&mut self) -> Result<()> {
        self.env.check_stop()?;
        if let Some(open) = &mut self.open {
            open.count_memory(self.plan);
        }
        Ok(())
    }

    /// Writes the next entry, in another table than the last if the splitter says so.
    #[inline]
    pub(super) fn write(&mut self, splitter: &mut OutputSplitter, key: &[u8], value: &[u8]) -> Result<()> {
        let with_entry = self.bounded_tombstone_bytes.map(|tombstones| {
            let entry = (key.len() + value.len()) as u64 + ENTRY_BYTES;
            entry.saturating_add(tombstones)
        });
        if self.open.is_none() {
            self.are_sizes_asked_for = splitter.asks_for_sizes();
        }
        let current = self.open.as_deref_mut().map(|OpenOutput { last, builder, .. }| {
            let size = |precision| {
                let size = if precision == Precision::Exact { builder.size() } else { builder.size_at_most() };
                let with_entry_bytes = with_entry.map_or(0, |more| size.most_bytes.saturating_add(more));
                OutputSize { bytes: size.bytes, with_entry_bytes }
            };
            (&last[..], size)
        });
        if splitter.should_cut_between(key, current) {
            self.finish_open(Some(key))?;
        }
        self.add(key, value)
    }

    /// Ends the last table, behind the last entry.
    pub(super) fn finish(&mut self) -> Result<()> {
        if self.open.is_none() && !self.surviving.is_empty() {
            // Tombstones behind the last entry, or nothing but tombstones.
            self.finish_tombstones()?;
        }
        self.finish_open(None)?;
        if let Some(blobs) = &mut self.blobs {
            self.output.blob_files.extend(blobs.finish()?);
        }
        if self.output.files.is_empty() {
            return Ok(());
        }
        // The MANIFEST must not name a file whose directory entry a crash could take away.
        let file_system = &self.plan.context.file_system;
        let written = &self.output.written;
        if !self.output.blob_files.is_empty() && written.blob_directory != written.table_directory {
            file_system.sync_dir(&written.blob_directory)?;
        }
        file_system.sync_dir(self.plan.directory())
    }

    #[inline]
    fn add_entry(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.open.is_none() {
            let mut open = self.begin()?;
            open.first.extend_from_slice(key);
            self.open = Some(open);
        }
        // The output stays where it is: moving its builder for every entry cost more than the entry.
        let Some(open) = &mut self.open else { return Ok(()) };
        let number = sequence(key);
        note_references(open, &mut self.output.blobs, key, value)?;
        if let Err(error) = open.builder.add(key, value) {
            self.is_out_of_limits = open.builder.is_out_of_its_limits(error.kind());
            return Err(error);
        }
        if let Some(digest) = &mut open.digest {
            digest.add(key, value);
        }
        open.last.clear();
        open.last.extend_from_slice(key);
        open.smallest_sequence = open.smallest_sequence.min(number);
        open.largest_sequence = open.largest_sequence.max(number);
        Ok(())
    }

    fn begin(&mut self) -> Result<Box<OpenOutput>> {
        let context = self.plan.context;
        let number = self.env.new_output();
        self.output.written.tables.push(number);
        let path = self.plan.directory().join(file_name::table(number));
        self.told.begin(path.clone());
        let mut file = context.file_system.create_writable(&path, &self.plan.writable_options())?;
        file.set_rate_limiter(context.rate_limiter(IoKind::Write), self.plan.io_priority(self.env));
        let checksums = context.db.components.file_checksum_gen_factory.as_ref();
        let (file, sum) = summed(file, file_checksum::generator_for(checksums, &path));
        let params = self.builder_params(number);
        let builder = TableBuilder::new(self.factory, params, file)?;
        let budget = context.db.components.memory_budget.as_ref();
        let mut open = Box::new(OpenOutput {
            number,
            builder,
            sum,
            first: Vec::new(),
            last: Vec::new(),
            smallest_sequence: SequenceNumber(u64::MAX),
            largest_sequence: SequenceNumber(0),
            oldest_blob_file: None,
            digest: self.takes_digests.then(EntriesDigest::default),
            memory: budget.map(|budget| Held::new(budget.table_builders(), 0)),
        });
        open.count_memory(self.plan);
        Ok(open)
    }

    fn builder_params(&self, number: FileNumber) -> TableBuilderParams {
        let (plan, context) = (self.plan, self.plan.context);
        let family = &context.family;
        let options = &family.options;
        let (compression, compression_options) = plan.compression();
        let mut params = TableBuilderParams::new(self.order.clone());
        params.options = Arc::new(options.table.clone());
        if options.table.data_block_index_type == DataBlockIndexType::Auto {
            let decision = family.hash_index_choice.decide(|| hash_index_growth(context));
            if decision.uses_hash_index {
                Arc::make_mut(&mut params.options).data_block_index_type = DataBlockIndexType::BinaryAndHash;
            }
            params.user_collected.insert(HASH_INDEX_PROPERTY.to_vec(), decision.to_string().into_bytes());
        }
        params.compression = compression;
        params.compression_options = compression_options.clone();
        // 0: no thread beside the job's, not even where a processor is idle.
        let may_share = compression_options.parallel_threads > u32::from(self.are_sizes_asked_for);
        params.spawner = may_share.then(|| context.db.components.spawner());
        params.statistics.clone_from(&context.db.components.statistics);
        params.prefix_extractor = options.prefix_extractor.clone();
        params.filter_policy = options.filter_policy;
        params.charging = (!options.table.no_block_cache)
            .then(|| Charging { cache: Arc::clone(&family.block_cache), usage: options.cache_usage });
        params.bloom_locality = options.bloom_locality;
        params.stored_blocks.clone_from(&plan.stored_blocks);
        params.deletion_rules.clone_from(&options.compact_on_deletion.0);
        params.compact_for_tiering = options.compact_for_tiering;
        params.sample_for_compression = options.sample_for_compression;
        params.collectors.factories.clone_from(&options.table_properties_collector_factories);
        params.collectors.context = Some(CollectorContext {
            column_family_id: family.id,
            level_at_creation: plan.level,
            num_levels: usize::try_from(options.num_levels).unwrap_or(0),
            last_level_through: plan.times.old_through,
        });
        params.build_filter = !(plan.is_bottommost && options.optimize_filters_for_hits);
        params.column_family_id = u64::from(family.id);
        params.column_family_name = to_bytes(&family.name).into_owned();
        params.filter_level = if plan.is_flush() { -1 } else { i32::try_from(plan.level).unwrap_or(i32::MAX) };
        params.creation_time = plan.oldest_ancestor_time;
        params.oldest_key_time = plan.oldest_key_time;
        params.newest_key_time = plan.newest_key_time;
        params.file_creation_time = context.clock.unix_seconds();
        params.db_id = context.db_id.clone();
        params.db_session_id = context.session_id.clone();
        params.file_number = number.0;
        params.merge_operator_name = options.merge_operator.as_ref().map(|operator| operator.name().to_owned());
        params
    }

    /// Ends the open output before `next`, the first key of the one to come, or for good.
    fn finish_open(&mut self, next: Option<&[u8]>) -> Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let upper = next.map(|next| boundary_between(&self.order, &open.last, next));
        let points = (!open.last.is_empty()).then_some((&open.first[..], &open.last[..]));
        let contents = output_contents(&self.order, &self.surviving, points, self.lower.as_deref(), upper.as_deref());
        for tombstone in &contents.tombstones {
            let start = make_internal_key(&tombstone.start, tombstone.sequence, ValueType::RangeDeletion);
            open.builder.add_range_tombstone(&start, &tombstone.end)?;
            open.smallest_sequence = open.smallest_sequence.min(tombstone.sequence);
            open.largest_sequence = open.largest_sequence.max(tombstone.sequence);
        }
        self.lower = upper;
        let (Some(smallest), Some(largest)) = (contents.smallest, contents.largest) else {
            open.builder.abandon();
            self.told.end(Err(Error::new(ErrorKind::Aborted, "Empty SST file not kept")));
            return Ok(());
        };
        let plan = self.plan;
        let times = plan.times.encoded_for(open.smallest_sequence, open.largest_sequence);
        open.builder.set_seqno_to_time_map(times);
        let summary = open.builder.finish()?;
        self.env.note_verified_blocks(summary.num_verified_blocks);
        self.output.copied.absorb(summary.copied);
        for failed in &summary.failed_collectors {
            self.env.note_failed_collector(&plan.context.family.name, open.number, failed);
        }
        let properties = Arc::clone(&summary.properties);
        let checksum = open.sum.finish();
        self.told.end(Ok(FileWritten::Table {
            size_bytes: summary.file_size,
            checksum: checksum.clone(),
            properties,
            smallest_seqno: open.smallest_sequence,
            largest_seqno: open.largest_sequence,
            oldest_blob_file_number: open.oldest_blob_file,
        }));
        self.output.properties.insert(open.number, summary.properties);
        self.output.digests.extend(open.digest.map(|digest| (open.number, digest)));
        self.output.files.push(NewFile {
            level: u32::try_from(plan.level).unwrap_or(u32::MAX),
            number: open.number,
            path_id: plan.path_id,
            size_bytes: summary.file_size,
            oldest_ancester_time_secs: plan.oldest_ancestor_time_within(&smallest, &largest),
            smallest,
            largest,
            smallest_seqno: open.smallest_sequence,
            largest_seqno: open.largest_sequence,
            oldest_blob_file_number: open.oldest_blob_file,
            file_creation_time_secs: self.plan.context.clock.unix_seconds(),
            unique_id: manifest_unique_id(summary.unique_id),
            epoch_number: Some(plan.context.epoch_number),
            tail_size_bytes: summary.tail_size,
            checksum,
            temperature: plan.temperature(),
            needs_compaction: summary.needs_compaction,
            ..NewFile::default()
        });
        self.env.note_output(plan.directory().join(file_name::table(open.number)), summary.file_size)
    }

    /// An output without entries for tombstones that no output with entries covers.
    fn finish_tombstones(&mut self) -> Result<()> {
        let is_left = {
            let contents = output_contents(&self.order, &self.surviving, None, self.lower.as_deref(), None);
            !contents.is_empty()
        };
        if is_left {
            let open = self.begin()?;
            self.open = Some(open);
        }
        Ok(())
    }
}

/// The buffers that `blob_compaction_readahead_size` asks for.
fn blob_readahead(plan: &OutputPlan<'_>) -> Option<BlobReadahead> {
    let budget = plan.context.db.components.memory_budget.as_ref();
    let held = budget.map(|budget| Held::new(budget.read_buffers(), 0));
    BlobReadahead::new(plan.context.family.options.settings.blob_compaction_readahead_size, held)
}

/// Counts the references of an entry into blob files.
#[inline]
fn note_references(open: &mut OpenOutput, written: &mut BlobFlow, key: &[u8], value: &[u8]) -> Result<()> {
    let Some(value_type) = ValueType::from_u8(trailer(key) as u8) else { return Ok(()) };
    for_each_reference(value_type, value, |reference| {
        if reference.file_number.0 == 0 {
            return Err(Error::not_supported("moving values that lie in blob records of their own table"));
        }
        written.add(key, reference);
        let oldest = open.oldest_blob_file.get_or_insert(reference.file_number);
        *oldest = reference.file_number.min(*oldest);
        Ok(())
    })
}

/// The unique id as the MANIFEST has it; all zeros are none.
fn manifest_unique_id(bytes: [u8; 16]) -> Option<[u64; 2]> {
    let (low, high) = bytes.split_at(8);
    let words = [low, high].map(|half| half.try_into().map_or(0, u64::from_le_bytes));
    (words != [0, 0]).then_some(words)
}

/// Bytes of hash index for each byte of the family's data, by the entries of its tables.
fn hash_index_growth(context: &JobContext) -> f64 {
    let (mut entries, mut bytes) = (0, 0);
    for (_, file) in context.family.version.files() {
        if let Some(statistics) = file.statistics() {
            entries += statistics.num_entries;
            bytes += statistics.raw_key_size_bytes + statistics.raw_value_size_bytes;
        }
    }
    let ratio = context.family.options.table.data_block_hash_table_util_ratio;
    // A bucket is a byte; 0 is the default.
    let bytes_per_entry = 1.0 / if ratio > 0.0 { ratio } else { 0.75 };
    entries as f64 * bytes_per_entry / (bytes as f64).max(1.0)
}
