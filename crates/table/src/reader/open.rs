//! Opening a table.
//!
//! ```text
//! 1 the last bytes       footer: versions, checksum, metaindex
//! 2 metaindex            handles of everything else
//! 3 properties           index form, compression, global sequence number, identity
//! 4 range tombstones, dictionary, index, filter
//! ```
//!
//! Steps 2 to 4 are usually served from the bytes read in step 1, as all of it lies at the end of the file.

use super::BlockTable;
use super::block_loader::BlockLoader;
use super::description::TableDescription;
use super::file_reads::{self, FileReads};
use super::filter_reader::FilterReader;
use super::index_reader::IndexReader;
use super::mapped_blocks::MappedBlocks;
use super::params::TableReaderParams;
use super::placement::Placement;
use super::properties_block::read_properties;
use super::table_blocks::TableBlocks;
use crate::partition_boundary::PartitionBoundary;
use ferrock_base::hash::hash128;
use ferrock_base::internal_key::ParsedInternalKey;
use ferrock_base::range_tombstone::{FragmentedRangeTombstones, RangeTombstone};
use ferrock_base::types::MAX_SEQUENCE_NUMBER;
use ferrock_base::{Comparator, Error, Result, SequenceNumber, ValueType};
use ferrock_cache::EntryRole;
use ferrock_format::block::{IndexFormat, MetaBlock};
use ferrock_format::compression::{CompressionType, Dictionary};
use ferrock_format::footer::{Footer, MAX_FOOTER_SIZE, TableKind};
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex::MetaBlockHandles;
use ferrock_format::properties::{CompressionName, TableProperties};
use ferrock_format::unique_id::UniqueId;
use ferrock_statistics::Ticker;
use ferrock_vfs::{ReadClass, ReadContext, ReadLabel};
use std::sync::Arc;

/// Bytes read from the end of the file when its tail size is not known.
const DEFAULT_TAIL_BYTES: u64 = 32 << 10;
/// Upper bound of the first read, before the footer is known.
const MAX_TAIL_BYTES: u64 = 8 << 20;

/// RocksDB's message.
const NO_ROOM: &str =
    "Can't allocate BlockBasedTableReader due to memory limit based on cache capacity for memory allocation";

impl BlockTable {
    /// Opens a table: reads its footer, metaindex, properties, index, filter and range tombstones.
    ///
    /// # Errors
    /// `Corruption` for a file that is no table or whose blocks are damaged; `NotSupported` for a format or a feature
    /// that this release does not have; `InvalidArgument` when it was written with another comparator; `Io`;
    /// `MemoryLimit` when the block cache has no room for what the reader is charged with.
    pub fn open(params: TableReaderParams) -> Result<Arc<Self>> {
        let file = params.file.clone();
        open_file(params).map_err(|error| error.in_file(file.path()))
    }

    /// The properties of a table, read without opening it: among others the comparator that opening needs.
    ///
    /// # Errors
    /// `Corruption` for a file that is no table or whose properties are damaged; `Io` when it cannot be read.
    pub fn properties_of(params: &TableReaderParams) -> Result<TableProperties> {
        let read = || {
            let (loader, footer) = read_footer(params)?;
            require_blocks(footer.kind)?;
            let meta = read_metaindex(&loader, footer.metaindex)?;
            read_properties(&loader, &meta, footer.format_version)
        };
        read().map_err(|error| error.in_file(params.file.path()))
    }
}

fn open_file(params: TableReaderParams) -> Result<Arc<BlockTable>> {
    let (loader, footer) = read_footer(&params)?;
    require_blocks(footer.kind)?;
    open_blocks(params, loader, &footer)
}

/// The footer of a table of any kind.
pub(crate) fn footer_of(params: &TableReaderParams) -> Result<Footer> {
    read_footer(params).map(|(_, footer)| footer).map_err(|error| error.in_file(params.file.path()))
}

/// A table whose footer was read.
pub(crate) enum ByKind {
    /// It is open.
    Block(Arc<BlockTable>),
    /// What is needed to open it.
    Plain(Box<TableReaderParams>, Footer),
}

/// Opens a block-based table, and finds one of another kind.
pub(crate) fn open_by_kind(params: TableReaderParams) -> Result<ByKind> {
    let file = params.file.clone();
    let open = || {
        let (loader, footer) = read_footer(&params)?;
        if footer.kind == TableKind::Plain {
            return Ok(ByKind::Plain(Box::new(params), footer));
        }
        require_blocks(footer.kind)?;
        open_blocks(params, loader, &footer).map(ByKind::Block)
    };
    open().map_err(|error| error.in_file(file.path()))
}

fn require_blocks(kind: TableKind) -> Result<()> {
    match kind {
        TableKind::BlockBased => Ok(()),
        _ => Err(Error::not_supported(format!("{kind:?} tables cannot be read as block-based ones"))),
    }
}

fn open_blocks(params: TableReaderParams, mut loader: BlockLoader, footer: &Footer) -> Result<Arc<BlockTable>> {
    let meta = read_metaindex(&loader, footer.metaindex)?;
    let properties = read_properties(&loader, &meta, footer.format_version)?;
    check_identity(&params, &properties)?;
    check_readable(&params, &properties)?;
    let global_sequence = global_sequence(&properties, params.largest_sequence)?;
    let index_type = properties.index_type.unwrap_or(0);
    if index_type > 3 {
        return Err(Error::not_supported(format!("index type {index_type}")));
    }
    let index_format = IndexFormat {
        key_is_user_key: properties.index_key_is_user_key != 0,
        value_is_delta_encoded: properties.index_value_is_delta_encoded != 0,
        has_first_key: index_type == 3,
    };
    loader.decoder_mut().set_formats(index_format, global_sequence);
    loader.cache_mut().identify(cache_key_base(&params, &properties), index_type == 2);
    if let Some(file) = params.file.mapping().cloned() {
        let mapped = MappedBlocks::new(file, loader.blocks_end(), footer, &properties);
        loader.cache_mut().map(mapped);
    }
    let dictionary = read_dictionary(&loader, &meta, &properties, footer.format_version)?;
    loader.decoder_mut().set_dictionary(dictionary);
    let range_tombstones = read_range_tombstones(&loader, &meta, global_sequence)?;

    let placement = Placement::new(&params, loader.cache().is_there());
    let index_handle = footer.index.or(meta.index).filter(|handle| !handle.is_null() || footer.index.is_some());
    let index_handle = index_handle.ok_or_else(|| Error::corruption("the metaindex names no index block"))?;
    let is_by_bytes = !matches!(params.comparator.user(), Comparator::Custom(_));
    let extractor = params.prefix_extractor.as_ref();
    let partition_cut =
        extractor.filter(|_| is_by_bytes).and_then(|extractor| PartitionBoundary::of(&properties, extractor));
    let index = IndexReader::open(&mut loader, index_handle, meta.row_bounds, partition_cut, &placement)?;
    let filter = match params.skip_filters {
        true => None,
        false => FilterReader::open(&loader, &meta, &properties, extractor, &placement)?,
    };
    loader.finish_opening();
    let handles = [footer.metaindex, index_handle];
    let description = TableDescription::new(properties, meta, handles, &index, &loader);
    let mut reader = BlockTable {
        blocks: TableBlocks::new(loader, index, filter),
        description,
        file_system: params.file_system,
        file_number: params.file_number,
        options: params.options,
        range_tombstones,
        prefix_extractor: params.prefix_extractor,
        read_history: Default::default(),
        _charge: None,
    };
    if params.cache_usage.is_charged(EntryRole::BlockBasedTableReader) {
        let charge = reader.loader().cache().reserve(reader.memory_bytes(), EntryRole::BlockBasedTableReader);
        reader._charge = charge.map_err(|error| error.context(NO_ROOM))?;
    }
    Ok(Arc::new(reader))
}

/// Reads the end of the file and the footer in it.
fn read_footer(params: &TableReaderParams) -> Result<(BlockLoader, Footer)> {
    let file_size = params.file.size();
    if file_size != params.file_size {
        let message = format!("the file has {file_size} bytes, {} are recorded for it", params.file_size);
        return Err(Error::corruption(message));
    }
    let tail_bytes = params.tail_size.filter(|&size| size > 0).unwrap_or(DEFAULT_TAIL_BYTES);
    let tail_bytes = tail_bytes.clamp(MAX_FOOTER_SIZE as u64, MAX_TAIL_BYTES).min(file_size);
    let start = file_size - tail_bytes;
    let mut tail = vec![0; usize::try_from(tail_bytes).unwrap_or(0)];
    let label = ReadLabel::whole(ReadClass::Other, tail.len());
    let clock = params.read_stats.as_ref().map(|stats| stats.clock());
    let watch = file_reads::watch(params.statistics.as_ref(), clock);
    let read = params.file.read_at(start, &mut tail, label)?;
    if let Some(reads) = FileReads::of(params) {
        let now_us = || params.read_stats.as_ref().map_or(0, |stats| stats.now_us());
        reads.note(read, params.activity, watch.map(|begun_us| now_us().saturating_sub(begun_us)));
    }
    if read < tail.len() {
        return Err(super::block_loader::short_read(start, tail.len(), read));
    }
    let footer = Footer::decode(&tail[tail.len().saturating_sub(MAX_FOOTER_SIZE)..], file_size);
    let footer = footer.inspect_err(|_| {
        if let Some(statistics) = &params.statistics {
            statistics.add(Ticker::SstFooterCorruptionCount, 1);
        }
    })?;
    Ok((BlockLoader::opening(params, &footer, (start, tail)), footer))
}

fn read_metaindex(loader: &BlockLoader, handle: BlockHandle) -> Result<MetaBlockHandles> {
    let (bytes, _) = loader.read_stored(handle, &ReadContext::default(), true)?;
    let read = || {
        let entries = MetaBlock::new(&bytes)?.entries()?;
        MetaBlockHandles::from_entries(entries.iter().map(|(name, value)| (&name[..], *value)))
    };
    read().map_err(|error| error.context("metaindex").offset_by(handle.offset))
}

/// Compares the file's unique id with that of the MANIFEST, if it records one.
pub(crate) fn check_identity(params: &TableReaderParams, properties: &TableProperties) -> Result<()> {
    let Some(expected) = params.expected_unique_id.filter(|id| *id != [0; 16]) else { return Ok(()) };
    let actual = UniqueId::from_properties(properties)
        .map_err(|error| Error::corruption(format!("a unique id is recorded for the table: {}", error.message())))?;
    if actual.manifest_bytes() != expected {
        return Err(Error::corruption("the unique id of the table is not the one recorded for it: it is another file"));
    }
    Ok(())
}

/// Refuses features that this reader would read wrongly.
pub(crate) fn check_readable(params: &TableReaderParams, properties: &TableProperties) -> Result<()> {
    params.comparator.user().refuse_timestamps()?;
    let name = params.comparator.user().name();
    if properties.comparator_name.ends_with(".u64ts") {
        let message = format!("comparator {} (user-defined timestamps)", properties.comparator_name);
        return Err(Error::not_supported(message));
    }
    if !properties.comparator_name.is_empty() && properties.comparator_name != name {
        return Err(Error::invalid_argument(format!(
            "the table is sorted by {}, the column family by {name}",
            properties.comparator_name
        )));
    }
    if !properties.user_defined_timestamps_persisted {
        return Err(Error::not_supported("user-defined timestamps (stripped from the keys of the table)"));
    }
    if properties.embedded_blob_stats.is_some() {
        return Err(Error::not_supported("blobs embedded in a table"));
    }
    Ok(())
}

/// The sequence number that replaces every stored one in an ingested file.
pub(crate) fn global_sequence(
    properties: &TableProperties,
    largest: Option<SequenceNumber>,
) -> Result<Option<SequenceNumber>> {
    let stored = properties.external_sst_file_global_seqno;
    let sequence = match (properties.external_sst_file_version, stored, largest) {
        (None, None, _) | (Some(1), None, _) => return Ok(None),
        (None | Some(1), Some(_), _) => {
            return Err(Error::corruption("a global sequence number in a table that is not external"));
        }
        (Some(2), None, _) => return Err(Error::corruption("an external table without global sequence number")),
        (Some(2), Some(stored), None) => stored,
        (Some(2), Some(0), Some(largest)) => largest.0,
        (Some(2), Some(stored), Some(largest)) if stored == largest.0 => stored,
        (Some(2), Some(stored), Some(largest)) => {
            let message = format!("the table has global sequence number {stored}, {largest} is recorded for it");
            return Err(Error::corruption(message));
        }
        (Some(version), _, _) => return Err(Error::not_supported(format!("external table of version {version}"))),
    };
    if sequence > MAX_SEQUENCE_NUMBER.0 {
        return Err(Error::corruption(format!("global sequence number {sequence} is out of range")));
    }
    // Entries are stored with sequence number 0: replacing it by 0 changes nothing.
    Ok((sequence != 0).then_some(SequenceNumber(sequence)))
}

/// The prefix of this file's keys in a shared cache: made from the file's identity, its path and its size, so that a
/// table opened again finds its blocks, and a changed copy elsewhere does not.
fn cache_key_base(params: &TableReaderParams, properties: &TableProperties) -> (u64, u64) {
    let mut identity = Vec::new();
    if let Ok(id) = UniqueId::from_properties(properties) {
        for word in id.words {
            identity.extend_from_slice(&word.to_le_bytes());
        }
    }
    identity.extend_from_slice(&params.file_size.to_le_bytes());
    identity.extend_from_slice(&params.file_number.0.to_le_bytes());
    identity.extend_from_slice(params.file.path().as_os_str().as_encoded_bytes());
    hash128(&identity, 0)
}

fn read_dictionary(
    loader: &BlockLoader,
    meta: &MetaBlockHandles,
    properties: &TableProperties,
    format_version: u32,
) -> Result<Option<Dictionary>> {
    let compression = CompressionName::parse(&properties.compression_name, format_version)?;
    let Some(handle) = meta.compression_dictionary.filter(|handle| handle.size > 0) else { return Ok(None) };
    let kind = match compression {
        CompressionName::Single(kind) => kind,
        CompressionName::Builtin(kinds) if kinds.contains(&CompressionType::Zstd) => CompressionType::Zstd,
        CompressionName::Builtin(kinds) => kinds.first().copied().unwrap_or_default(),
        CompressionName::Absent => CompressionType::Zstd,
        CompressionName::Disabled => return Ok(None),
    };
    let (bytes, _) = loader.read_stored(handle, &ReadContext::default(), true)?;
    Dictionary::new(kind, bytes)
        .map(Some)
        .map_err(|error| error.context("compression dictionary").at_offset(handle.offset))
}

fn read_range_tombstones(
    loader: &BlockLoader,
    meta: &MetaBlockHandles,
    global_sequence: Option<SequenceNumber>,
) -> Result<Option<Arc<FragmentedRangeTombstones>>> {
    let Some(handle) = meta.range_deletion.filter(|handle| handle.size > 0) else { return Ok(None) };
    let (bytes, _) = loader.read_stored(handle, &ReadContext::default(), true)?;
    let mut tombstones = Vec::new();
    let read = || -> Result<()> {
        for (key, end) in MetaBlock::new(&bytes)?.entries()? {
            let start = ParsedInternalKey::parse(&key)?;
            if start.value_type != ValueType::RangeDeletion {
                return Err(Error::corruption(format!("an entry of type {:?}", start.value_type)));
            }
            tombstones.push(RangeTombstone {
                start: start.user_key.to_vec(),
                end: end.to_vec(),
                sequence: global_sequence.unwrap_or(start.sequence),
            });
        }
        Ok(())
    };
    let mut read = read;
    read().map_err(|error| error.context("range tombstones").offset_by(handle.offset))?;
    let fragments = FragmentedRangeTombstones::new(loader.comparator().user().clone(), tombstones);
    Ok((!fragments.is_empty()).then(|| Arc::new(fragments)))
}
