//! Questions about a table as a whole: places, sizes, integrity.

use super::block_loader::BlockLoader;
use super::index_position::IndexPosition;
use super::index_reader::handles;
use super::properties_block::{global_sequence_place, read_properties_block};
use super::readahead::Readahead;
use super::uncache::Uncaching;
use super::{BlockTable, TableReadOptions};
use crate::blocks::BlockRole;
use ferrock_base::{Result, SeekTarget};
use ferrock_format::block::MetaBlock;
use ferrock_format::handle::BlockHandle;
use ferrock_vfs::{IoActivity, ReadClass, ReadContext};

/// Window of a verification pass when the caller gives none.
const VERIFY_READAHEAD_BYTES: usize = 256 << 10;

impl BlockTable {
    /// Roughly how much of the file belongs to the keys before an internal key: the data blocks before that of the key,
    /// and of the rest of the file (index, filters, properties) the share that these have of the data. The whole file
    /// for a key behind all others, so that neighbouring ranges add up to it.
    ///
    /// # Errors
    /// `Io` or `Corruption` of an index block.
    pub fn approximate_offset_of(&self, internal_key: &[u8]) -> Result<u64> {
        Ok(self.description.with_metadata(self.data_offset_of(internal_key)?))
    }

    /// Roughly how much of the file belongs to the keys from one internal key to another.
    ///
    /// # Errors
    /// `Io` or `Corruption` of an index block.
    pub fn approximate_size_between(&self, begin: &[u8], end: &[u8]) -> Result<u64> {
        let data_bytes = self.data_offset_of(end)?.saturating_sub(self.data_offset_of(begin)?);
        Ok(self.description.with_metadata(data_bytes))
    }

    /// The offset of the data block of an internal key, or the end of the data.
    fn data_offset_of(&self, internal_key: &[u8]) -> Result<u64> {
        let options = TableReadOptions::default();
        let mut position = IndexPosition::default();
        let seek = self.blocks.index_fetcher(&options).place(&mut position, SeekTarget::AtOrAfter(internal_key));
        seek.map_err(|error| self.loader().in_file(error))?;
        if position.valid() { Ok(position.entry()?.handle.offset) } else { Ok(self.description.data_size()) }
    }

    /// At most `count` user keys that cut the table into ranges of about the same size, each with the bytes from the
    /// anchor before it. The last anchor is at or behind the last key.
    ///
    /// # Errors
    /// `Io` or `Corruption` of an index block, naming the file.
    pub fn anchors(&self, count: usize) -> Result<Vec<(Vec<u8>, u64)>> {
        let options = TableReadOptions { fill_cache: false, ..TableReadOptions::default() };
        let decoder = self.loader().decoder();
        let step = (self.description.properties().data_size.max(1) / count.max(1) as u64).max(1);
        let (mut anchors, mut gathered, mut key) = (Vec::new(), 0u64, Vec::new());
        let walk = self.blocks.visit_data_blocks(&options, &mut |position| {
            let handle = position.entry()?.handle;
            gathered += handle.size + ferrock_format::trailer::BLOCK_TRAILER_SIZE as u64;
            position.key_into(&mut key)?;
            let is_last_wanted = anchors.len() + 1 >= count.max(1);
            if gathered >= step && !is_last_wanted {
                anchors.push((decoder.separator_user_key(&key).to_vec(), std::mem::take(&mut gathered)));
            }
            Ok(true)
        });
        walk.map_err(|error| self.loader().in_file(error))?;
        if gathered > 0 && count > 0 {
            anchors.push((decoder.separator_user_key(&key).to_vec(), gathered));
        }
        Ok(anchors)
    }

    /// Where the file has the eight bytes of its global sequence number; `None` without any.
    ///
    /// # Errors
    /// `Io` or `Corruption` of the properties block.
    pub fn global_sequence_offset(&self) -> Result<Option<u64>> {
        let Some(handle) = self.description.meta().properties else { return Ok(None) };
        let payload = read_properties_block(self.loader(), handle).map_err(|error| self.loader().in_file(error))?;
        Ok(global_sequence_place(&payload).map(|place| handle.offset + place.start as u64))
    }

    /// Reads every block of the file past the cache and checks it: data, index, filter with their partitions, and
    /// everything that the metaindex names. `readahead_bytes` is how much to read at a time, 0 for a default; the reads
    /// count as those of `activity`.
    ///
    /// # Errors
    /// `Corruption` naming file and offset of the first block that is wrong; `Io` when the file cannot be read.
    pub fn verify_checksums(&self, readahead_bytes: usize, activity: IoActivity) -> Result<()> {
        self.verify(readahead_bytes, activity).map_err(|error| self.loader().in_file(error))
    }

    fn verify(&self, readahead_bytes: usize, activity: IoActivity) -> Result<()> {
        let (loader, index) = (self.loader(), self.description.index());
        self.verify_meta_blocks(activity)?;
        if loader.cache().index_is_partitioned() {
            let top = loader.read(index, BlockRole::Index, true)?;
            for handle in handles(&top)? {
                verify_block(loader, handle, ReadClass::Index, activity)?;
                self.verify_side_block(handle, activity)?;
            }
        } else {
            self.verify_side_block(index, activity)?;
        }
        if let Some(handle) = self.description.meta().partitioned_filter {
            let top = loader.read(handle, BlockRole::FilterIndex, true)?;
            for handle in handles(&top)? {
                verify_block(loader, handle, ReadClass::Filter, activity)?;
            }
        }
        let bytes = if readahead_bytes == 0 { VERIFY_READAHEAD_BYTES } else { readahead_bytes };
        let mut readahead = Readahead::fixed(bytes).during(activity);
        let options = TableReadOptions { fill_cache: false, activity, ..TableReadOptions::default() };
        self.blocks.visit_data_blocks(&options, &mut |position| {
            let handle = position.entry()?.handle;
            let length = loader.stored_length(handle)?;
            let stored = readahead.bytes(loader, handle.offset, length, ReadClass::Data)?;
            loader.decoder().verify(&stored, handle).map(|_| true)
        })
    }

    fn verify_side_block(&self, index: BlockHandle, activity: IoActivity) -> Result<()> {
        let side = self.loader().side_blocks().behind(index);
        side.map_or(Ok(()), |side| {
            verify_block(self.loader(), side, ReadClass::Index, activity).map_err(|error| error.context("row bounds"))
        })
    }

    /// Loads every data block and every partition into the cache, as reads would: what `prepopulate_block_cache` asks
    /// for. Without a cache nothing happens. A cache with a strict limit ends the loading at the first block that does
    /// not fit; a cache that fails when full then returns an error of kind `MemoryLimit`.
    ///
    /// # Errors
    /// `MemoryLimit` as said above; `Io` or `Corruption` of a block.
    pub fn fill_cache(&self) -> Result<()> {
        let loader = self.loader();
        if !loader.cache().is_there() {
            return Ok(());
        }
        let options = TableReadOptions::default();
        if let Some(filter) = self.blocks.filter()
            && !filter.load_partitions(loader, &options)?
        {
            return Ok(());
        }
        let mut readahead = Readahead::fixed(VERIFY_READAHEAD_BYTES);
        self.blocks.visit_data_blocks(&options, &mut |position| {
            let handle = position.entry()?.handle;
            let read = || readahead.data_block(loader, handle, options.verify_checksums);
            let block = loader.load_by(handle, BlockRole::Data, &options, read)?;
            Ok(!loader.cache().was_refused(&block))
        })
    }

    /// Takes blocks of the table out of the block cache, and returns how many. `aggressiveness`: 0 takes none, 1 ends
    /// at the first that is not there, 10,000 and more asks for all; see the option `uncache_aggressiveness`.
    pub fn uncache(&self, aggressiveness: u32) -> u64 {
        let loader = self.loader();
        if aggressiveness == 0 || !loader.cache().is_there() {
            return 0;
        }
        let mut uncaching = Uncaching { loader, aggressiveness, removed: 0 };
        if let Some(filter) = self.blocks.filter() {
            filter.uncache(&mut uncaching);
        }
        self.blocks.resident_index().index.uncache(&mut uncaching);
        uncaching.removed
    }

    fn verify_meta_blocks(&self, activity: IoActivity) -> Result<()> {
        let (loader, description) = (self.loader(), &self.description);
        verify_block(loader, description.index(), ReadClass::Index, activity)?;
        let context = ReadContext { activity, ..ReadContext::default() };
        let (metaindex, _) = loader.read_stored(description.metaindex(), &context, true)?;
        for (name, value) in MetaBlock::new(&metaindex)?.entries()? {
            let Ok((handle, _)) = BlockHandle::decode(value) else { continue };
            if Some(handle) == description.meta().properties {
                // The properties may carry a global sequence number that their checksum does not cover.
                read_properties_block(loader, handle)?;
            } else if !handle.is_null() {
                let name = String::from_utf8_lossy(&name).into_owned();
                verify_block(loader, handle, ReadClass::Other, activity).map_err(|error| error.context(&name))?;
            }
        }
        Ok(())
    }

    /// Memory that the reader itself holds: index, filter, dictionary, range tombstones. Cached blocks are not counted.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let tombstones = self.range_tombstones.as_ref().map_or(0, |tombstones| tombstones.memory_bytes());
        size_of::<Self>() + self.blocks.memory_bytes() + tombstones
    }
}

fn verify_block(loader: &BlockLoader, handle: BlockHandle, class: ReadClass, activity: IoActivity) -> Result<()> {
    let length = loader.stored_length(handle)?;
    let context = ReadContext { activity, ..ReadContext::for_class(class) };
    let stored = loader.read_bytes(handle.offset, length, &context)?;
    loader.decoder().verify(&stored, handle).map(|_| ())
}
