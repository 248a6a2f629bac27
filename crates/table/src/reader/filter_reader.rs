//! The filter of a table, whole or partitioned.

use super::block_loader::BlockLoader;
use super::index_reader::handles;
use super::meta_source::{MetaSource, Partitions};
use super::placement::Placement;
use super::read_options::TableReadOptions;
use crate::blocks::BlockRole;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_base::{ErrorKind, Result};
use ferrock_format::block::IndexCursor;
use ferrock_format::metaindex::MetaBlockHandles;
use ferrock_format::properties::TableProperties;

#[derive(Debug)]
enum Blocks {
    Full(MetaSource),
    Partitioned { top: MetaSource, partitions: Partitions },
}

/// A filter, with what may be asked of it.
#[derive(Debug)]
pub(crate) struct FilterReader {
    blocks: Blocks,
    has_whole_keys: bool,
    /// The extractor, when prefixes are in the filter and were made by the same one.
    prefix_extractor: Option<PrefixExtractor>,
}

impl FilterReader {
    /// Opens the filter that the metaindex names; `None` when there is none, or none that may be asked anything.
    pub(crate) fn open(
        loader: &BlockLoader,
        handles_in_file: &MetaBlockHandles,
        properties: &TableProperties,
        prefix_extractor: Option<&PrefixExtractor>,
        placement: &Placement,
    ) -> Result<Option<Self>> {
        let has_whole_keys = properties.filter_has_whole_keys();
        let prefix_extractor = prefix_extractor
            .filter(|extractor| {
                properties.filter_has_prefixes() && extractor.name() == properties.prefix_extractor_name
            })
            .cloned();
        if !has_whole_keys && prefix_extractor.is_none() {
            return Ok(None);
        }
        let blocks = if let Some(handle) = handles_in_file.full_filter {
            Blocks::Full(MetaSource::open(loader, handle, BlockRole::Filter, placement.unpartitioned)?)
        } else if let Some(handle) = handles_in_file.partitioned_filter {
            let top = MetaSource::open(loader, handle, BlockRole::FilterIndex, placement.top_level)?;
            let found = {
                let block = top.get(loader, &TableReadOptions::default())?;
                handles(&block)?
            };
            let partitions = Partitions::open(loader, found, BlockRole::Filter, placement)?;
            Blocks::Partitioned { top, partitions }
        } else {
            return Ok(None);
        };
        Ok(Some(Self { blocks, has_whole_keys, prefix_extractor }))
    }

    /// False only when the table certainly has no entry of the user key.
    #[inline]
    pub(crate) fn key_may_match(
        &self,
        loader: &BlockLoader,
        user_key: &[u8],
        internal_key: &[u8],
        options: &TableReadOptions,
    ) -> Result<bool> {
        if self.has_whole_keys {
            return self.may_match(loader, user_key, internal_key, options);
        }
        match self.prefix_extractor.as_ref().and_then(|extractor| extractor.prefix(user_key)) {
            Some(prefix) => self.may_match(loader, prefix, internal_key, options),
            None => Ok(true),
        }
    }

    /// False only when the table certainly has no key with the prefix of `user_key`. True when it has no prefix.
    pub(crate) fn prefix_may_match(
        &self,
        loader: &BlockLoader,
        user_key: &[u8],
        options: &TableReadOptions,
    ) -> Result<bool> {
        let Some(prefix) = self.prefix_extractor.as_ref().and_then(|extractor| extractor.prefix(user_key)) else {
            return Ok(true);
        };
        match &self.blocks {
            Blocks::Full(_) => self.may_match(loader, prefix, &[], options),
            Blocks::Partitioned { .. } => {
                let first = make_internal_key(user_key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
                self.may_match(loader, prefix, &first, options)
            }
        }
    }

    /// Asks the filter. A filter that is not in memory and may not be read answers *maybe*.
    #[inline]
    fn may_match(
        &self,
        loader: &BlockLoader,
        entry: &[u8],
        internal_key: &[u8],
        options: &TableReadOptions,
    ) -> Result<bool> {
        match self.ask(loader, entry, internal_key, options) {
            Err(error) if error.kind() == ErrorKind::Incomplete => Ok(true),
            answer => answer,
        }
    }

    #[inline]
    fn ask(&self, loader: &BlockLoader, entry: &[u8], internal_key: &[u8], options: &TableReadOptions) -> Result<bool> {
        match &self.blocks {
            Blocks::Full(source) => Ok(source.get(loader, options)?.filter()?.may_match(entry)),
            Blocks::Partitioned { top, partitions } => {
                let top = top.get(loader, options)?;
                let index = top.index()?;
                if index.is_empty() {
                    return Ok(true);
                }
                let mut cursor = IndexCursor::new();
                cursor.seek(index, &loader.comparator, internal_key);
                cursor.status()?;
                if !cursor.valid() {
                    // Keys behind the last separator are in the last partition.
                    cursor.seek_to_last(index);
                    cursor.status()?;
                }
                let handle = cursor.entry(index).handle;
                if handle.size == 0 {
                    return Ok(true);
                }
                let partition = partitions.get(loader, handle, BlockRole::Filter, options)?;
                Ok(partition.filter()?.may_match(entry))
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match &self.blocks {
            Blocks::Full(source) => source.memory_bytes(),
            Blocks::Partitioned { top, partitions } => top.memory_bytes() + partitions.memory_bytes(),
        }
    }
}
