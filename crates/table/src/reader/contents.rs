//! What a table consists of, block by block, for tools, which show everything a table holds.

use super::description::TableDescription;
use super::index_position::IndexPosition;
use super::properties_block::read_properties_block;
use super::read_options::TableReadOptions;
use super::table_blocks::TableBlocks;
use crate::blocks::{BlockRole, CachedBlock};
use ferrock_base::checksum::ChecksumType;
use ferrock_base::{Error, Result};
use ferrock_format::block::{DataBlock, IndexEntry, MetaBlock};
use ferrock_format::handle::BlockHandle;
use ferrock_format::properties::names;
use ferrock_vfs::ReadContext;
use std::collections::BTreeMap;

/// First format version whose index handle is in the metaindex.
const FIRST_VERSION_WITHOUT_INDEX: u32 = 6;

/// Properties that RocksDB's reader decodes and also leaves among the user-collected ones.
const SHOWN_AS_COLLECTED: &[&str] = &[
    names::NUM_DELETIONS,
    names::NUM_MERGE_OPERANDS,
    names::INDEX_TYPE,
    names::WHOLE_KEY_FILTERING,
    names::PREFIX_FILTERING,
    names::DECOUPLED_PARTITIONED_FILTERS,
    names::EXTERNAL_SST_FILE_VERSION,
    names::EXTERNAL_SST_FILE_GLOBAL_SEQNO,
];

/// The content of the footer, and the handle of the index, from the footer or the metaindex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FooterDetails {
    /// The format_version.
    pub format_version: u32,
    /// The checksum of every block.
    pub checksum_type: ChecksumType,
    /// The metaindex block.
    pub metaindex: BlockHandle,
    /// The index block, or the top level of the index.
    pub index: BlockHandle,
    /// True when the footer itself names the index; otherwise the metaindex does.
    pub has_index: bool,
}

/// A data block and its row bounds.
#[derive(Clone, Copy, Debug)]
pub struct RowsOfBlock<'a> {
    /// The block.
    pub handle: BlockHandle,
    /// User key of its separator: no row is behind it.
    pub separator: &'a [u8],
    /// A lower bound of the user keys, and whether the separator is the last row's key; `None` without row bounds.
    pub bound: Option<(&'a [u8], bool)>,
}

/// The blocks of an open table, for tools: see [`BlockTable::contents`](super::BlockTable::contents).
#[derive(Clone, Copy, Debug)]
pub struct TableContents<'t> {
    blocks: &'t TableBlocks,
    description: &'t TableDescription,
}

impl<'t> TableContents<'t> {
    pub(super) fn new(blocks: &'t TableBlocks, description: &'t TableDescription) -> Self {
        Self { blocks, description }
    }

    pub(super) fn blocks(&self) -> &'t TableBlocks {
        self.blocks
    }

    pub(super) fn description(&self) -> &'t TableDescription {
        self.description
    }

    /// The content of the footer.
    #[must_use]
    pub fn footer(&self) -> FooterDetails {
        let decoder = self.blocks.loader().decoder();
        FooterDetails {
            format_version: decoder.format_version(),
            checksum_type: decoder.checksum_type(),
            metaindex: self.description.metaindex(),
            index: self.description.index(),
            has_index: decoder.format_version() < FIRST_VERSION_WITHOUT_INDEX,
        }
    }

    fn in_file<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.blocks.loader().in_file(error))
    }

    /// The entries of the metaindex: names and handles. Read from the file anew.
    ///
    /// # Errors
    /// `Io` when the block cannot be read, `Corruption` when it is damaged; both name the file.
    pub fn meta_blocks(&self) -> Result<Vec<(Vec<u8>, BlockHandle)>> {
        let read = || -> Result<Vec<(Vec<u8>, BlockHandle)>> {
            let metaindex = self.description.metaindex();
            let (bytes, _) = self.blocks.loader().read_stored(metaindex, &ReadContext::default(), true)?;
            let entries = MetaBlock::new(&bytes)?.entries()?;
            entries.into_iter().map(|(name, value)| Ok((name.clone(), BlockHandle::decode(value)?.0))).collect()
        };
        self.in_file(read().map_err(|error| error.context("metaindex")))
    }

    /// The properties that RocksDB calls user-collected, as they are stored: those that no release defines, and a few
    /// that RocksDB's own collectors wrote. Read from the file anew.
    ///
    /// # Errors
    /// `Io` when the block cannot be read, `Corruption` when it is damaged; both name the file.
    pub fn user_collected_properties(&self) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
        let Some(handle) = self.description.meta().properties else { return Ok(BTreeMap::new()) };
        let read = || -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
            let bytes = read_properties_block(self.blocks.loader(), handle)?;
            let entries = MetaBlock::new(&bytes)?.entries()?;
            let is_collected = |name: &[u8]| {
                let is = |known: &&str| known.as_bytes() == name;
                SHOWN_AS_COLLECTED.iter().any(is) || !names::ALL.iter().any(is)
            };
            let entries = entries.into_iter().filter(|(name, _)| is_collected(name));
            Ok(entries.map(|(name, value)| (name.clone(), value.to_vec())).collect())
        };
        self.in_file(read().map_err(|error| error.context("properties")))
    }

    /// The compression dictionary as it is stored, `None` when the table has none.
    ///
    /// # Errors
    /// `Io` when the block cannot be read, `Corruption` when it is damaged; both name the file.
    pub fn compression_dictionary(&self) -> Result<Option<Vec<u8>>> {
        let Some(handle) = self.description.meta().compression_dictionary else { return Ok(None) };
        let stored = self.blocks.loader().read_stored(handle, &ReadContext::default(), true);
        self.in_file(stored.map(|(bytes, _)| Some(bytes)).map_err(|error| error.context("compression dictionary")))
    }

    /// Shows `visit` every entry of the index in order, partitions one after another: the separator's user key, and the
    /// data block behind it. Ends early when it returns false.
    ///
    /// # Errors
    /// `Io` when an index block cannot be read, `Corruption` when one is damaged; both name the file.
    pub fn visit_index(&self, visit: &mut dyn FnMut(&[u8], IndexEntry<'_>) -> bool) -> Result<()> {
        let mut separator = Vec::new();
        self.visit_data_blocks(&mut |position| {
            position.key_into(&mut separator)?;
            Ok(visit(self.blocks.loader().decoder().separator_user_key(&separator), position.entry()?))
        })
    }

    /// Shows `visit` what is known of the rows of every data block, in order. Ends early when it returns false.
    ///
    /// # Errors
    /// `Io` or `Corruption` of an index block or a block of row bounds, naming the file.
    pub fn visit_rows(&self, visit: &mut dyn FnMut(RowsOfBlock<'_>) -> bool) -> Result<()> {
        let mut separator = Vec::new();
        self.visit_data_blocks(&mut |position| {
            position.key_into(&mut separator)?;
            let separator = self.blocks.loader().decoder().separator_user_key(&separator);
            let rows = position.rows(self.blocks.loader().comparator().user())?;
            let bound = rows.as_ref().map(|rows| (rows.lower_bound(), rows.ends_with_separator()));
            Ok(visit(RowsOfBlock { handle: position.entry()?.handle, separator, bound }))
        })
    }

    fn visit_data_blocks(&self, visit: &mut dyn FnMut(&IndexPosition<'_>) -> Result<bool>) -> Result<()> {
        let options = TableReadOptions { fill_cache: false, ..TableReadOptions::default() };
        self.in_file(self.blocks.visit_data_blocks(&options, visit))
    }

    /// A data block, read and checked past the cache.
    ///
    /// # Errors
    /// `Io` when the block cannot be read; `Corruption` when it is damaged, reaches beyond the file or is no data
    /// block.
    pub fn read_data_block(&self, handle: BlockHandle) -> Result<DataBlock> {
        match self.blocks.loader().read(handle, BlockRole::Data, true)? {
            CachedBlock::Data(block) => Ok(block),
            CachedBlock::Index(_) | CachedBlock::Filter(_) | CachedBlock::Blob(_) => {
                self.in_file(Err(Error::corruption("not a data block").at_offset(handle.offset)))
            }
        }
    }
}
