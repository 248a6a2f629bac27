//! Everything behind the data blocks, and the summary of the table.

use super::dictionary::BufferedBlocks;
use super::{BlockTableBuilder, TableSummary};
use crate::options::BlockBasedTableOptions;
use crate::partition_boundary::PartitionBoundary;
use crate::{MAX_BLOCK_ENTRIES_PROPERTY, ROW_BOUNDS_PROPERTY};
use ferrock_base::Result;
use ferrock_base::internal_key::user_key;
use ferrock_format::block::{BlockBuilder, BlockBuilderOptions};
use ferrock_format::compression::{CompressionOptions, CompressionType};
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

fn finish(mut builder: BlockTableBuilder) -> Result<TableSummary> {
    builder.write_packed(true)?;
    // As many as before the last block, which is what RocksDB's collectors are told with the last entry.
    let size_bytes = builder.writer.offset() + builder.buffered.as_ref().map_or(0, BufferedBlocks::total_bytes);
    builder.totals.judge_deletions(size_bytes);
    builder.cut_block(None)?;
    builder.write_buffered()?;
    builder.write_packed(true)?;
    builder.pipeline = None;
    let data_end = builder.writer.offset();
    let mut blocks: BTreeMap<String, BlockHandle> = BTreeMap::new();
    write_filter(&mut builder, &mut blocks)?;
    let index = write_index(&mut builder, &mut blocks)?;
    if builder.params.options.format_version >= 6 {
        blocks.insert(metaindex::INDEX.to_owned(), index);
    }
    if let Some(dictionary) = builder.writer.dictionary_bytes() {
        let handle = builder.writer.write_raw(&dictionary)?;
        blocks.insert(metaindex::COMPRESSION_DICTIONARY.to_owned(), handle);
    }
    write_range_tombstones(&mut builder, &mut blocks)?;
    complete_properties(&mut builder, data_end);
    let properties = write_entries(&mut builder, builder_entries, NO_RESTARTS)?;
    blocks.insert(metaindex::PROPERTIES.to_owned(), properties);

    let metaindex = write_metaindex(&mut builder, &blocks)?;
    let footer = Footer {
        kind: TableKind::BlockBased,
        format_version: builder.params.options.format_version,
        checksum_type: builder.params.options.checksum,
        metaindex,
        index: Some(index),
        base_context_checksum: builder.base_context,
    };
    let footer = footer.encode(builder.writer.offset())?;
    builder.writer.append_bytes(&footer)?;
    builder.writer.finish()?;
    Ok(summary(builder, data_end))
}

fn summary(builder: BlockTableBuilder, data_end: u64) -> TableSummary {
    let unique_id = UniqueId::from_properties(builder.totals.properties()).map_or([0; 16], |id| id.manifest_bytes());
    let file_size = builder.writer.offset();
    let (properties, needs_compaction, failed_collectors) = builder.totals.into_parts();
    TableSummary {
        file_size,
        tail_size: file_size - data_end,
        unique_id,
        num_verified_blocks: builder.writer.num_verified_blocks(),
        file_checksum: builder.writer.file_checksum(),
        needs_compaction,
        last_key: builder.first_key.is_some().then_some(builder.last_key),
        first_key: builder.first_key,
        properties: Arc::new(properties),
        failed_collectors,
    }
}

fn write_filter(builder: &mut BlockTableBuilder, blocks: &mut BTreeMap<String, BlockHandle>) -> Result<()> {
    let Some(filter) = &mut builder.filter else { return Ok(()) };
    let last = if builder.first_key.is_some() { user_key(&builder.last_key) } else { &[] };
    if let Some(written) = filter.write(&mut builder.writer, last, &builder.index)? {
        let properties = builder.totals.properties_mut();
        properties.num_filter_entries = written.entries;
        properties.filter_size = written.size;
        blocks.insert(written.metaindex_name, written.handle);
        if written.is_partitioned {
            builder.index.keep_partitions();
        }
    }
    Ok(())
}

fn write_index(builder: &mut BlockTableBuilder, blocks: &mut BTreeMap<String, BlockHandle>) -> Result<BlockHandle> {
    let index = builder.index.write(&mut builder.writer, builder.params.options.enable_index_compression)?;
    let encoding = builder.index.encoding();
    if let Some(size) = index.row_bounds_size {
        builder.own_properties.insert(ROW_BOUNDS_PROPERTY.to_vec(), size.to_string().into_bytes());
        let entries = builder.totals.max_block_entries().to_string().into_bytes();
        builder.own_properties.insert(MAX_BLOCK_ENTRIES_PROPERTY.to_vec(), entries);
    }
    let properties = builder.totals.properties_mut();
    properties.index_type = Some(builder.index.index_type() as u32);
    properties.index_size = index.size;
    properties.index_partitions = index.partitions;
    properties.num_uniform_blocks = Some(index.uniform_blocks);
    properties.top_level_index_size = index.top_level_size;
    properties.index_key_is_user_key = encoding.key_is_user_key.into();
    properties.index_value_is_delta_encoded = encoding.value_is_delta_encoded.into();
    blocks.extend(index.meta_blocks.into_iter().map(|(name, handle)| (name.to_owned(), handle)));
    Ok(index.root)
}

fn write_range_tombstones(builder: &mut BlockTableBuilder, blocks: &mut BTreeMap<String, BlockHandle>) -> Result<()> {
    if builder.range_tombstones.is_empty() {
        return Ok(());
    }
    let comparator = builder.params.comparator.clone();
    let mut tombstones = std::mem::take(&mut builder.range_tombstones);
    tombstones.sort_by(|a, b| comparator.compare(&a.0, &b.0).then_with(|| comparator.user().compare(&a.1, &b.1)));
    let handle = write_entries(builder, |_| tombstones, 1)?;
    blocks.insert(metaindex::RANGE_DELETION.to_owned(), handle);
    Ok(())
}

fn write_metaindex(builder: &mut BlockTableBuilder, blocks: &BTreeMap<String, BlockHandle>) -> Result<BlockHandle> {
    let entries = |_: &BlockTableBuilder| {
        let encode = |(name, handle): (&String, &BlockHandle)| {
            let mut value = Vec::new();
            handle.encode_to(&mut value);
            (name.clone().into_bytes(), value)
        };
        blocks.iter().map(encode).collect()
    };
    write_entries(builder, entries, 1)
}

fn builder_entries(builder: &BlockTableBuilder) -> Vec<(Vec<u8>, Vec<u8>)> {
    builder.totals.properties().entries()
}

/// Writes a block of names and values.
fn write_entries(
    builder: &mut BlockTableBuilder,
    entries: impl FnOnce(&BlockTableBuilder) -> Vec<(Vec<u8>, Vec<u8>)>,
    restart_interval: usize,
) -> Result<BlockHandle> {
    let mut block = BlockBuilder::new(BlockBuilderOptions { restart_interval, ..BlockBuilderOptions::default() });
    for (name, value) in entries(builder) {
        block.add(&name, &value);
    }
    builder.writer.write_raw(block.finish())
}

fn complete_properties(builder: &mut BlockTableBuilder, data_end: u64) {
    let params = &builder.params;
    let options: &BlockBasedTableOptions = &params.options;
    let extractor = params.prefix_extractor.as_ref();
    builder.totals.set_sequences();
    let properties: &mut TableProperties = builder.totals.properties_mut();
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
    properties.index_block_restart_interval = builder.index.encoding().restart_interval as u64;
    properties.separate_key_value_in_data_block = options.separate_key_value_in_data_block.into();
    properties.seqno_to_time_map.clone_from(&params.seqno_to_time_map);
    properties.user_collected.clone_from(&params.user_collected);
    properties.user_collected.append(&mut builder.own_properties);
    if let Some((extractor, min_blocks)) = builder.cut.kept_guarantee() {
        let (property, value) = PartitionBoundary::describe(extractor, min_blocks);
        properties.user_collected.insert(property.to_vec(), value);
    }
    properties.compression_options = describe(&params.compression_options, params.compression);
    let used = builder.writer.used_types();
    properties.compression_name = CompressionName::for_table(options.format_version, params.compression, used).encode();
    builder.totals.finish_collectors();
    let properties = builder.totals.properties_mut();
    if builder.params.is_external {
        properties.external_sst_file_version = Some(2);
        properties.external_sst_file_global_seqno = Some(0);
    }
}

/// The compression options as text, for dumps of the properties.
fn describe(options: &CompressionOptions, kind: CompressionType) -> String {
    format!(
        "window_bits={}; level={}; strategy={}; max_dict_bytes={}; zstd_max_train_bytes={}; enabled={}; \
         max_dict_buffer_bytes={}; use_zstd_dict_trainer={}; max_compressed_bytes_per_kb={}; checksum={}; _type={}; ",
        options.window_bits,
        options.level,
        options.strategy,
        options.max_dict_bytes,
        options.zstd_max_train_bytes,
        u8::from(options.enabled),
        options.max_dict_buffer_bytes,
        u8::from(options.use_zstd_dict_trainer),
        options.max_compressed_bytes_per_kb,
        u8::from(options.checksum),
        kind.as_u8(),
    )
}
