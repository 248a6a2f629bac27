//! Writes one plain table.
//!
//! ```text
//! add ... add      records go out as they come
//! finish           filter and index, if they are stored; properties, metaindex, footer; sync
//! ```
//!
//! An error is sticky: every later call returns the same error, and the file is to be deleted.

use crate::builder::{TableBuilderParams, TableSummary};
use crate::collectors::Collectors;
use crate::options::{PlainEncodingType, PlainTableOptions};
use crate::stored_blocks::CopiedBlocks;
use ferrock_base::internal_key::{TRAILER_SIZE, user_key};
use ferrock_base::{Error, Result, ValueType};
use ferrock_format::block::{BlockBuilder, BlockBuilderOptions};
use ferrock_format::footer::Footer;
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex;
use ferrock_format::plain_table::{
    BLOOM_BLOCK, BloomBits, INDEX_BLOCK, IndexMaker, MAX_FILE_SIZE, PlainProperties, RecordForm, RecordWriter,
    prefix_hash,
};
use ferrock_format::properties::TableProperties;
use ferrock_format::unique_id::UniqueId;
use ferrock_vfs::WritableFile;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Bytes that are gathered before they are appended.
const BUFFER_BYTES: usize = 64 << 10;
/// A property block has one restart, however many entries.
const NO_RESTARTS: usize = usize::MAX;

/// Builds a plain table from sorted entries.
#[derive(Debug)]
pub struct PlainTableBuilder {
    params: TableBuilderParams,
    options: Arc<PlainTableOptions>,
    has_bloom_lines: bool,
    file: Box<dyn WritableFile>,
    writer: RecordWriter,
    /// Not yet appended.
    buffer: Vec<u8>,
    /// Bytes of the file, those of the buffer included.
    offset: u64,
    /// Of an index that is stored, and hashes for the filter beside it.
    index: Option<(IndexMaker, Vec<u32>)>,
    properties: TableProperties,
    collectors: Collectors,
    first_key: Option<Vec<u8>>,
    last_key: Vec<u8>,
    error: Option<Error>,
}

impl PlainTableBuilder {
    pub(crate) fn params_mut(&mut self) -> &mut TableBuilderParams {
        &mut self.params
    }

    /// Begins a table in an empty file. Of the parameters, those of blocks, compression and filter policy do not
    /// matter. With a `bloom_locality` that is not 0, the bits of a
    /// key in a stored filter lie in one line of a cache.
    ///
    /// # Errors
    /// `NotSupported` for an order with timestamps, and for a file to be ingested: the format has no place for its
    /// sequence number.
    pub fn new(
        params: TableBuilderParams,
        options: Arc<PlainTableOptions>,
        file: Box<dyn WritableFile>,
    ) -> Result<Self> {
        params.comparator.user().refuse_timestamps()?;
        if params.is_external {
            return Err(Error::not_supported("a plain table to be ingested: it has no global sequence number"));
        }
        let extractor = params.prefix_extractor.as_ref();
        let encoding = options.encoding(extractor.is_some());
        let form = RecordForm { encoding, fixed_key_length: options.user_key_len };
        let ratio = if extractor.is_some() { options.hash_table_ratio } else { 0.0 };
        let maker = || (IndexMaker::new(ratio, options.index_sparseness), Vec::new());
        let index = options.store_index_in_file.then(maker);
        Ok(Self {
            writer: RecordWriter::new(form, options.index_sparseness),
            has_bloom_lines: params.bloom_locality > 0,
            buffer: Vec::new(),
            offset: 0,
            index,
            properties: TableProperties::default(),
            collectors: Collectors::new(&params.deletion_rules, params.compact_for_tiering, &params.collectors),
            first_key: None,
            last_key: Vec::new(),
            error: None,
            options,
            params,
            file,
        })
    }

    /// Adds an entry. Internal keys must come in strictly ascending order.
    ///
    /// # Errors
    /// `NotSupported` for a range tombstone, and for an entry that does not fit into the file: the format has no place
    /// for the one, and 31 bits for offsets. `InvalidArgument` for a key that does not come behind the last one, that
    /// has another length than `user_key_len`, or no prefix although there is a prefix extractor. The error of the
    /// file. The builder then returns this error to every later call: give the file up.
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let added = self.add_entry(internal_key, value);
        if let Err(error) = &added {
            self.error = Some(error.clone());
        }
        added
    }

    fn add_entry(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        let type_byte = internal_key.len().checked_sub(TRAILER_SIZE).map(|at| internal_key[at]);
        let value_type = match type_byte.and_then(ValueType::from_u8) {
            Some(ValueType::RangeDeletion) => return Err(no_range_tombstones()),
            Some(value_type) if value_type.is_point_entry() => value_type,
            other => return Err(Error::invalid_argument(format!("an entry of type {other:?} in a table"))),
        };
        if self.first_key.is_none() {
            self.first_key = Some(internal_key.to_vec());
        } else if self.params.comparator.compare(&self.last_key, internal_key).is_ge() {
            return Err(Error::invalid_argument("keys are added out of order to a table"));
        }
        let key = user_key(internal_key);
        let prefix = match &self.params.prefix_extractor {
            None => &[][..],
            Some(extractor) => extractor.prefix(key).ok_or_else(|| {
                let (length, name) = (key.len(), extractor.name());
                Error::invalid_argument(format!("plain table: a key of {length} bytes has no prefix by {name}"))
            })?,
        };
        // Longer than any record of the entry.
        let most = (internal_key.len() + value.len() + 32) as u64;
        if self.offset + most > MAX_FILE_SIZE {
            let message = format!("a plain table has room for {MAX_FILE_SIZE} bytes; the next entry would exceed that");
            return Err(Error::not_supported(message));
        }
        if let Some((index, hashes)) = &mut self.index {
            index.add(prefix, self.offset as u32, true);
            hashes.push(prefix_hash(if self.params.prefix_extractor.is_some() { prefix } else { key }));
        }
        let (before, file_size) = (self.buffer.len(), self.offset);
        self.writer.append(&mut self.buffer, internal_key, value, prefix)?;
        self.offset += (self.buffer.len() - before) as u64;
        self.last_key.clear();
        self.last_key.extend_from_slice(internal_key);
        self.collectors.add(internal_key, value, value_type, self.properties.num_entries, file_size);
        self.properties.count_entry(internal_key, value, value_type);
        if self.buffer.len() >= BUFFER_BYTES { self.write_buffer() } else { Ok(()) }
    }

    /// A plain table has no range tombstones.
    ///
    /// # Errors
    /// `NotSupported`, always. Every later call returns the same error.
    pub fn add_range_tombstone(&mut self, _start_internal_key: &[u8], _end_user_key: &[u8]) -> Result<()> {
        let error = self.error.get_or_insert_with(no_range_tombstones);
        Err(error.clone())
    }

    fn write_buffer(&mut self) -> Result<()> {
        self.file.append(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn append(&mut self, block: &[u8]) -> Result<BlockHandle> {
        let handle = BlockHandle::new(self.offset, block.len() as u64);
        self.buffer.extend_from_slice(block);
        self.offset += block.len() as u64;
        self.write_buffer()?;
        Ok(handle)
    }

    /// Completes the table, makes the file durable and closes it. The directory entry is the caller's.
    ///
    /// # Errors
    /// The error of an earlier call; `NotSupported` for a file that gets too long; the error of the file. The file is
    /// then not a table: remove it.
    pub fn finish(mut self) -> Result<TableSummary> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let data_end = self.offset;
        self.collectors.judge_deletions(&self.properties, data_end);
        let mut blocks: BTreeMap<&str, BlockHandle> = BTreeMap::new();
        let mut stored_index = self.options.store_index_in_file.then_some(None);
        let has_entries = self.properties.num_entries > 0;
        if let Some((index, hashes)) = self.index.take().filter(|_| has_entries) {
            let bits = self.options.bloom_bits();
            if let Some(mut bloom) = BloomBits::new(hashes.len() as u64, bits, self.has_bloom_lines) {
                hashes.iter().for_each(|&hash| bloom.add(hash));
                stored_index = Some(Some(bloom.lines()));
                let handle = self.append(&bloom.finish().1)?;
                self.properties.filter_size = handle.size;
                blocks.insert(BLOOM_BLOCK, handle);
            }
            let handle = self.append(&index.finish())?;
            self.properties.index_size = handle.size;
            blocks.insert(INDEX_BLOCK, handle);
        }
        self.complete_properties(data_end, stored_index);
        let handle = self.append(&block_of(self.properties.entries(), NO_RESTARTS))?;
        blocks.insert(metaindex::PROPERTIES, handle);
        let entries = blocks.into_iter().map(|(name, handle)| {
            let mut value = Vec::new();
            handle.encode_to(&mut value);
            (name.as_bytes().to_vec(), value)
        });
        let metaindex = self.append(&block_of(entries, 1))?;
        self.append(&Footer::encode_plain(metaindex))?;
        if self.offset > MAX_FILE_SIZE {
            let message = format!("a plain table of {} bytes: the format has room for {MAX_FILE_SIZE}", self.offset);
            return Err(Error::not_supported(message));
        }
        self.file.sync()?;
        self.file.close()?;
        let (needs_compaction, failed_collectors) = self.collectors.into_verdict();
        Ok(TableSummary {
            file_size: self.offset,
            tail_size: 0,
            unique_id: UniqueId::from_properties(&self.properties).map_or([0; 16], |id| id.manifest_bytes()),
            num_verified_blocks: 0,
            copied: CopiedBlocks::default(),
            needs_compaction,
            failed_collectors,
            last_key: self.first_key.is_some().then_some(self.last_key),
            first_key: self.first_key,
            properties: Arc::new(self.properties),
        })
    }

    fn complete_properties(&mut self, data_end: u64, stored_index: Option<Option<u32>>) {
        let (params, properties) = (&self.params, &mut self.properties);
        let extractor = params.prefix_extractor.as_ref();
        properties.data_size = data_end;
        properties.num_data_blocks = 1;
        // RocksDB writes these into tables of every kind.
        let always = Some(0);
        (properties.num_uniform_blocks, properties.newest_key_time) = (always, always);
        properties.tail_start_offset = always;
        properties.original_file_number = params.file_number;
        properties.column_family_id = params.column_family_id;
        properties.column_family_name.clone_from(&params.column_family_name);
        properties.db_id.clone_from(&params.db_id);
        properties.db_session_id.clone_from(&params.db_session_id);
        properties.db_host_id.clone_from(&params.db_host_id);
        properties.prefix_extractor_name = extractor.map_or_else(|| "nullptr".to_owned(), |extractor| extractor.name());
        properties.user_collected.clone_from(&params.user_collected);
        PlainProperties::add_to(properties, self.writer.form(), stored_index);
        // Says which encoding was asked for, whether or not there is an extractor for it.
        properties.format_version = u64::from(self.options.encoding_type == PlainEncodingType::Prefix);
        self.collectors.finish(properties);
    }

    /// Entries so far.
    #[must_use]
    pub fn num_entries(&self) -> u64 {
        self.properties.num_entries
    }

    /// True when nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.properties.num_entries == 0
    }

    /// Bytes of the records.
    #[must_use]
    pub fn file_size(&self) -> u64 {
        self.offset
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }
}

#[cold]
fn no_range_tombstones() -> Error {
    Error::not_supported("a range tombstone in a plain table: the format has no place for it")
}

fn block_of(entries: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>, restart_interval: usize) -> Vec<u8> {
    let mut block = BlockBuilder::new(BlockBuilderOptions { restart_interval, ..BlockBuilderOptions::default() });
    for (name, value) in entries {
        block.add(&name, &value);
    }
    block.finish().to_vec()
}
