//! Everything behind the data blocks, and the summary of the table.

use super::copying::Copying;
use super::dictionary::BufferedBlocks;
use super::sink::BlockSink;
use super::{BlockTableBuilder, Stage, TableSummary, lost};
use crate::options::BlockBasedTableOptions;
use crate::partition_boundary::PartitionBoundary;
use crate::stored_blocks::compression_text;
use crate::{MAX_BLOCK_ENTRIES_PROPERTY, ROW_BOUNDS_PROPERTY};
use ferrock_base::Result;
use ferrock_base::internal_key::user_key;
use ferrock_format::block::{BlockBuilder, BlockBuilderOptions};
use ferrock_format::footer::{Footer, TableKind};
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex;
use ferrock_format::properties::{CompressionName, TableProperties};
use ferrock_format::unique_id::UniqueId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A property block has one restart, however many entries.
const NO_RESTARTS: usize = usize::MAX;

impl BlockTableBuilder {
    /// Completes the table, makes the file durable and closes it. The directory entry is the caller's.
    ///
    /// # Errors
    /// The error of an earlier call; else `Io` or `NoSpace` when the rest of the table cannot be written or synced. The
    /// file is then not a table: remove it.
    pub fn finish(mut self) -> Result<TableSummary> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        finish(self)
    }
}

/// A table whose data blocks are written.
struct Ending {
    builder: BlockTableBuilder,
    sink: Box<BlockSink>,
}

fn finish(mut builder: BlockTableBuilder) -> Result<TableSummary> {
    // As many as before the last block, which is what RocksDB's collectors are told with the last entry.
    if let Stage::Shared(pipeline) = &mut builder.stage {
        pipeline.drain()?;
    }
    let size_bytes = builder.file_size() + builder.buffered.as_ref().map_or(0, BufferedBlocks::total_bytes);
    builder.totals.judge_deletions(size_bytes);
    builder.cut_block(None)?;
    builder.write_buffered()?;
    let sink = match std::mem::replace(&mut builder.stage, Stage::Lost) {
        Stage::Alone(sink) => sink,
        Stage::Shared(pipeline) => pipeline.into_sink()?,
        Stage::Lost => return Err(lost()),
    };
    end(Ending { builder, sink })
}

/// Writes all that is behind the data blocks.
fn end(mut ending: Ending) -> Result<TableSummary> {
    let data_end = ending.sink.writer.offset();
    let mut blocks: BTreeMap<String, BlockHandle> = BTreeMap::new();
    write_filter(&mut ending, &mut blocks)?;
    let index = write_index(&mut ending, &mut blocks)?;
    if ending.builder.params.options.format_version >= 6 {
        blocks.insert(metaindex::INDEX.to_owned(), index);
    }
    if let Some(dictionary) = ending.sink.writer.dictionary_bytes() {
        let handle = ending.sink.writer.write_raw(&dictionary)?;
        blocks.insert(metaindex::COMPRESSION_DICTIONARY.to_owned(), handle);
    }
    write_range_tombstones(&mut ending, &mut blocks)?;
    complete_properties(&mut ending, data_end);
    let properties = write_entries(&mut ending, builder_entries, NO_RESTARTS)?;
    blocks.insert(metaindex::PROPERTIES.to_owned(), properties);

    let metaindex = write_metaindex(&mut ending, &blocks)?;
    let footer = Footer {
        kind: TableKind::BlockBased,
        format_version: ending.builder.params.options.format_version,
        checksum_type: ending.builder.params.options.checksum,
        metaindex,
        index: Some(index),
        base_context_checksum: ending.builder.base_context,
    };
    let footer = footer.encode(ending.sink.writer.offset())?;
    ending.sink.writer.append_bytes(&footer)?;
    ending.sink.writer.finish()?;
    Ok(summary(ending, data_end))
}

fn summary(ending: Ending, data_end: u64) -> TableSummary {
    let unique_id =
        UniqueId::from_properties(ending.builder.totals.properties()).map_or([0; 16], |id| id.manifest_bytes());
    let file_size = ending.sink.writer.offset();
    let (properties, needs_compaction, failed_collectors) = ending.builder.totals.into_parts();
    TableSummary {
        file_size,
        tail_size: file_size - data_end,
        unique_id,
        num_verified_blocks: ending.sink.writer.num_verified_blocks(),
        copied: ending.builder.copying.as_ref().map(Copying::copied).unwrap_or_default(),
        needs_compaction,
        last_key: ending.builder.first_key.is_some().then_some(ending.builder.last_key),
        first_key: ending.builder.first_key,
        properties: Arc::new(properties),
        failed_collectors,
    }
}

fn write_filter(ending: &mut Ending, blocks: &mut BTreeMap<String, BlockHandle>) -> Result<()> {
    let Some(filter) = &mut ending.sink.filter else { return Ok(()) };
    let last = if ending.builder.first_key.is_some() { user_key(&ending.builder.last_key) } else { &[] };
    if let Some(written) = filter.write(&mut ending.sink.writer, last, &ending.sink.index)? {
        let properties = ending.builder.totals.properties_mut();
        properties.num_filter_entries = written.entries;
        properties.filter_size = written.size;
        blocks.insert(written.metaindex_name, written.handle);
        if written.is_partitioned {
            ending.sink.index.keep_partitions();
        }
    }
    Ok(())
}

fn write_index(ending: &mut Ending, blocks: &mut BTreeMap<String, BlockHandle>) -> Result<BlockHandle> {
    let index =
        ending.sink.index.write(&mut ending.sink.writer, ending.builder.params.options.enable_index_compression)?;
    let encoding = ending.sink.index.encoding();
    if let Some(size) = index.row_bounds_size {
        ending.builder.own_properties.insert(ROW_BOUNDS_PROPERTY.to_vec(), size.to_string().into_bytes());
        let entries = ending.builder.totals.max_block_entries().to_string().into_bytes();
        ending.builder.own_properties.insert(MAX_BLOCK_ENTRIES_PROPERTY.to_vec(), entries);
    }
    let properties = ending.builder.totals.properties_mut();
    properties.index_type = Some(ending.sink.index.index_type() as u32);
    properties.index_size = index.size;
    properties.index_partitions = index.partitions;
    properties.num_uniform_blocks = Some(index.uniform_blocks);
    properties.top_level_index_size = index.top_level_size;
    properties.index_key_is_user_key = encoding.key_is_user_key.into();
    properties.index_value_is_delta_encoded = encoding.value_is_delta_encoded.into();
    blocks.extend(index.meta_blocks.into_iter().map(|(name, handle)| (name.to_owned(), handle)));
    Ok(index.root)
}

fn write_range_tombstones(ending: &mut Ending, blocks: &mut BTreeMap<String, BlockHandle>) -> Result<()> {
    if ending.builder.range_tombstones.is_empty() {
        return Ok(());
    }
    let comparator = ending.builder.params.comparator.clone();
    let mut tombstones = std::mem::take(&mut ending.builder.range_tombstones);
    tombstones.sort_by(|a, b| comparator.compare(&a.0, &b.0).then_with(|| comparator.user().compare(&a.1, &b.1)));
    let handle = write_entries(ending, |_| tombstones, 1)?;
    blocks.insert(metaindex::RANGE_DELETION.to_owned(), handle);
    Ok(())
}

fn write_metaindex(ending: &mut Ending, blocks: &BTreeMap<String, BlockHandle>) -> Result<BlockHandle> {
    let entries = |_: &Ending| {
        let encode = |(name, handle): (&String, &BlockHandle)| {
            let mut value = Vec::new();
            handle.encode_to(&mut value);
            (name.clone().into_bytes(), value)
        };
        blocks.iter().map(encode).collect()
    };
    write_entries(ending, entries, 1)
}

fn builder_entries(ending: &Ending) -> Vec<(Vec<u8>, Vec<u8>)> {
    ending.builder.totals.properties().entries()
}

/// Writes a block of names and values.
fn write_entries(
    ending: &mut Ending,
    entries: impl FnOnce(&Ending) -> Vec<(Vec<u8>, Vec<u8>)>,
    restart_interval: usize,
) -> Result<BlockHandle> {
    let mut block = BlockBuilder::new(BlockBuilderOptions { restart_interval, ..BlockBuilderOptions::default() });
    for (name, value) in entries(ending) {
        block.add(&name, &value);
    }
    ending.sink.writer.write_raw(block.finish())
}

fn complete_properties(ending: &mut Ending, data_end: u64) {
    let params = &ending.builder.params;
    let options: &BlockBasedTableOptions = &params.options;
    let extractor = params.prefix_extractor.as_ref();
    ending.builder.totals.set_sequences();
    let properties: &mut TableProperties = ending.builder.totals.properties_mut();
    properties.data_size = data_end;
    properties.tail_start_offset = Some(data_end);
    properties.format_version = options.format_version.into();
    properties.original_file_number = params.file_number;
    properties.column_family_id = params.column_family_id;
    properties.column_family_name.clone_from(&params.column_family_name);
    properties.creation_time = params.creation_time;
    properties.oldest_key_time = params.oldest_key_time;
    properties.newest_key_time = Some(params.newest_key_time);
    properties.file_creation_time = params.file_creation_time;
    properties.db_id.clone_from(&params.db_id);
    properties.db_session_id.clone_from(&params.db_session_id);
    properties.db_host_id.clone_from(&params.db_host_id);
    properties.filter_policy_name = params.filter_policy.property_name().to_owned();
    properties.comparator_name = params.comparator.user().name().to_owned();
    properties.merge_operator_name = params.merge_operator_name.clone().unwrap_or_else(|| "nullptr".to_owned());
    properties.prefix_extractor_name = extractor.map_or_else(|| "nullptr".to_owned(), |extractor| extractor.name());
    properties.whole_key_filtering = Some(options.whole_key_filtering);
    properties.prefix_filtering = Some(extractor.is_some());
    properties.decoupled_partitioned_filters = options.decouple_partitioned_filters;
    properties.data_block_restart_interval = u64::try_from(options.block_restart_interval).unwrap_or(0);
    properties.index_block_restart_interval = ending.sink.index.encoding().restart_interval as u64;
    properties.separate_key_value_in_data_block = options.separate_key_value_in_data_block.into();
    properties.seqno_to_time_map.clone_from(&params.seqno_to_time_map);
    properties.user_collected.clone_from(&params.user_collected);
    properties.user_collected.append(&mut ending.builder.own_properties);
    if let Some((extractor, min_blocks)) = ending.builder.cut.kept_guarantee() {
        let (property, value) = PartitionBoundary::describe(extractor, min_blocks);
        properties.user_collected.insert(property.to_vec(), value);
    }
    properties.compression_options = compression_text(&params.compression_options, params.compression);
    let used = ending.sink.writer.used_types();
    properties.compression_name = CompressionName::for_table(options.format_version, params.compression, used).encode();
    ending.sink.describe_in(ending.builder.totals.properties_mut());
    ending.builder.totals.finish_collectors();
    let properties = ending.builder.totals.properties_mut();
    if ending.builder.params.is_external {
        properties.external_sst_file_version = Some(2);
        properties.external_sst_file_global_seqno = Some(0);
    }
}
