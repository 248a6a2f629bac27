//! What a table consists of, block by block, for tools, which show everything a table holds.

use super::index_position::IndexPosition;
use super::open::read_properties_block;
use super::{BlockTable, TableReadOptions};
use crate::blocks::{BlockRole, CachedBlock};
use ferrock_base::checksum::ChecksumType;
use ferrock_base::internal_key::user_key;
use ferrock_base::{Error, InternalComparator, Result};
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

impl BlockTable {
    /// The content of the footer.
    #[must_use]
    pub fn footer(&self) -> FooterDetails {
        FooterDetails {
            format_version: self.loader.format_version,
            checksum_type: self.loader.checksum_type,
            metaindex: self.metaindex,
            index: self.index_handle,
            has_index: self.loader.format_version < FIRST_VERSION_WITHOUT_INDEX,
        }
    }

    /// Order of the keys.
    #[must_use]
    pub fn comparator(&self) -> &InternalComparator {
        &self.loader.comparator
    }

    /// The entries of the metaindex: names and handles. Read from the file anew.
    ///
    /// # Errors
    /// `Io` when the block cannot be read, `Corruption` when it is damaged; both name the file.
    pub fn meta_blocks(&self) -> Result<Vec<(Vec<u8>, BlockHandle)>> {
        let read = || -> Result<Vec<(Vec<u8>, BlockHandle)>> {
            let (bytes, _) = self.loader.read_stored(self.metaindex, &ReadContext::default(), true)?;
            let entries = MetaBlock::new(&bytes)?.entries()?;
            entries.into_iter().map(|(name, value)| Ok((name.clone(), BlockHandle::decode(value)?.0))).collect()
        };
        read().map_err(|error| self.loader.in_file(error.context("metaindex")))
    }

    /// The properties that RocksDB calls user-collected, as they are stored: those that no release defines, and a few
    /// that RocksDB's own collectors wrote. Read from the file anew.
    ///
    /// # Errors
    /// `Io` when the block cannot be read, `Corruption` when it is damaged; both name the file.
    pub fn user_collected_properties(&self) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
        let Some(handle) = self.meta.properties else { return Ok(BTreeMap::new()) };
        let read = || -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
            let bytes = read_properties_block(&self.loader, handle)?;
            let entries = MetaBlock::new(&bytes)?.entries()?;
            let is_collected = |name: &[u8]| {
                let is = |known: &&str| known.as_bytes() == name;
                SHOWN_AS_COLLECTED.iter().any(is) || !names::ALL.iter().any(is)
            };
            let entries = entries.into_iter().filter(|(name, _)| is_collected(name));
            Ok(entries.map(|(name, value)| (name.clone(), value.to_vec())).collect())
        };
        read().map_err(|error| self.loader.in_file(error.context("properties")))
    }

    /// The compression dictionary as it is stored, `None` when the table has none.
    ///
    /// # Errors
    /// `Io` when the block cannot be read, `Corruption` when it is damaged; both name the file.
    pub fn compression_dictionary(&self) -> Result<Option<Vec<u8>>> {
        let Some(handle) = self.meta.compression_dictionary else { return Ok(None) };
        let stored = self.loader.read_stored(handle, &ReadContext::default(), true);
        stored
            .map(|(bytes, _)| Some(bytes))
            .map_err(|error| self.loader.in_file(error.context("compression dictionary")))
    }

    /// Shows `visit` every entry of the index in order, partitions one after another: the separator's user key, and the
    /// data block behind it. Ends early when it returns false.
    ///
    /// # Errors
    /// `Io` when an index block cannot be read, `Corruption` when one is damaged; both name the file.
    pub fn visit_index(&self, visit: &mut dyn FnMut(&[u8], IndexEntry<'_>) -> bool) -> Result<()> {
        let options = TableReadOptions { fill_cache: false, ..TableReadOptions::default() };
        let context = self.index_fetcher(&options);
        let mut position = IndexPosition::default();
        let mut separator = Vec::new();
        let mut walk = || {
            context.seek_to_first(&mut position)?;
            while position.valid() {
                position.key_into(&mut separator)?;
                let is_user_key = self.loader.index_format.key_is_user_key;
                let key = if is_user_key { &separator[..] } else { user_key(&separator) };
                if !visit(key, position.entry()?) {
                    break;
                }
                context.next(&mut position)?;
            }
            Ok(())
        };
        walk().map_err(|error| self.loader.in_file(error))
    }

    /// A data block, read and checked past the cache.
    ///
    /// # Errors
    /// `Io` when the block cannot be read; `Corruption` when it is damaged, reaches beyond the file or is no data
    /// block.
    pub fn read_data_block(&self, handle: BlockHandle) -> Result<DataBlock> {
        match self.loader.read(handle, BlockRole::Data, true)? {
            CachedBlock::Data(block) => Ok(block),
            CachedBlock::Index(_) | CachedBlock::Filter(_) => {
                Err(self.loader.in_file(Error::corruption("not a data block").at_offset(handle.offset)))
            }
        }
    }
}
