//! Lookups of many keys: filters first, then all reads at once, then the searches.

use super::index_reader::IndexPosition;
use super::{ReadTier, TableReadOptions, TableReader};
use crate::blocks::{BlockRef, BlockRole, PinnedBlock};
use ferrock_base::{Error, ErrorKind, LookupKey, ParsedInternalKey, Result};
use ferrock_format::handle::BlockHandle;
use ferrock_vfs::{ReadClass, ReadLabel, ReadRequest};

/// Most bytes that one batch of reads may hold at a time.
const MAX_BATCH_BYTES: usize = 32 << 20;

/// A data block that some keys of the batch need.
struct WantedBlock {
    handle: BlockHandle,
    block: Option<Result<BlockRef>>,
}

impl TableReader {
    /// Looks up many keys, in any order. `visit` gets the index of the key with each entry, as in [`get`](Self::get).
    ///
    /// The blocks that are not in memory are read as one batch of the file system, each once however many keys are in
    /// it. The answer has one result for every key.
    pub fn multi_get(
        &self,
        options: &TableReadOptions,
        keys: &[&LookupKey],
        visit: &mut impl FnMut(usize, ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Vec<Result<()>> {
        let mut results: Vec<Result<()>> = keys.iter().map(|_| Ok(())).collect();
        let mut order: Vec<usize> = (0..keys.len()).collect();
        let comparator = &self.loader.comparator;
        order.sort_by(|&a, &b| comparator.compare(keys[a].internal_key(), keys[b].internal_key()));

        // Sorted keys meet blocks in the order of the file, so keys of one block are neighbours.
        let mut wanted: Vec<WantedBlock> = Vec::new();
        let mut places: Vec<(usize, usize)> = Vec::with_capacity(keys.len());
        let context = self.index_context(options);
        let mut position = IndexPosition::default();
        for index in order {
            match self.find_block(&context, &mut position, options, keys[index]) {
                Ok(None) => {}
                Ok(Some(handle)) => {
                    if wanted.last().is_none_or(|last| last.handle != handle) {
                        wanted.push(WantedBlock { handle, block: None });
                    }
                    places.push((index, wanted.len() - 1));
                }
                Err(error) => results[index] = Err(error),
            }
        }
        self.load_wanted(options, &mut wanted);
        for (index, place) in places {
            let wanted = &wanted[place];
            results[index] = match &wanted.block {
                None => Ok(()),
                Some(Err(error)) => Err(error.clone()),
                Some(Ok(block)) => {
                    let mut was_found = false;
                    let mut visit_one = |key: ParsedInternalKey<'_>, value: &[u8], pinned: &PinnedBlock<'_>| {
                        was_found = true;
                        visit(index, key, value, pinned)
                    };
                    let target = keys[index].internal_key();
                    let searched = self.search_from(options, target, (block, wanted.handle.offset), &mut visit_one);
                    self.note_lookup(was_found);
                    searched
                }
            };
        }
        results
    }

    fn find_block<'a>(
        &'a self,
        context: &super::IndexContext<'a, '_>,
        position: &mut IndexPosition<'a>,
        options: &TableReadOptions,
        key: &LookupKey,
    ) -> Result<Option<BlockHandle>> {
        if !self.key_may_match(options, key)? {
            return Ok(None);
        }
        let target = key.internal_key();
        context.seek(position, target).map_err(|error| self.loader.in_file(error))?;
        if !position.valid() {
            return Ok(None);
        }
        let entry = position.entry()?;
        let starts_behind =
            entry.first_key.is_some_and(|first| self.loader.comparator.compare_user_keys(first, target).is_gt());
        if starts_behind {
            return Ok(None);
        }
        let handle = entry.handle;
        if self.is_in_gap(position, target)? {
            self.note_lookup(false);
            return Ok(None);
        }
        Ok(Some(handle))
    }

    /// Finds every wanted block in the cache, or reads it.
    fn load_wanted(&self, options: &TableReadOptions, wanted: &mut [WantedBlock]) {
        let mut missing = Vec::new();
        for (index, block) in wanted.iter_mut().enumerate() {
            let cached = self.loader.cache.as_ref().and_then(|cache| {
                let role = BlockRole::Data.entry_role();
                cache.lookup_as(&self.loader.cache_key(block.handle), role)
            });
            match cached {
                Some(found) => block.block = Some(Ok(found)),
                None if options.read_tier == ReadTier::BlockCacheOnly => {
                    let message = "the block is not in the cache and reads are not allowed";
                    block.block = Some(Err(Error::new(ErrorKind::Incomplete, message)));
                }
                None => missing.push(index),
            }
        }
        while !missing.is_empty() {
            missing = self.read_some(options, wanted, missing);
        }
    }

    /// Reads blocks until the batch is full; returns those that are left.
    fn read_some(&self, options: &TableReadOptions, wanted: &mut [WantedBlock], missing: Vec<usize>) -> Vec<usize> {
        let mut buffers: Vec<(usize, Vec<u8>)> = Vec::new();
        let mut left = Vec::new();
        let mut total = 0;
        for index in missing {
            match self.loader.stored_length(wanted[index].handle) {
                Err(error) => wanted[index].block = Some(Err(self.loader.in_file(error))),
                Ok(length) if total > 0 && total + length > MAX_BATCH_BYTES => left.push(index),
                Ok(length) => {
                    total += length;
                    buffers.push((index, vec![0; length]));
                }
            }
        }
        let mut requests: Vec<ReadRequest<'_>> = buffers
            .iter_mut()
            .map(|(index, buffer)| {
                let label = ReadLabel::whole(ReadClass::Data, buffer.len());
                ReadRequest::labelled(&*self.loader.file, wanted[*index].handle.offset, buffer, label)
            })
            .collect();
        self.file_system.read_batch(&mut requests);
        let outcomes: Vec<Result<usize>> = requests.into_iter().map(|request| request.result).collect();
        for ((index, buffer), outcome) in buffers.into_iter().zip(outcomes) {
            let handle = wanted[index].handle;
            wanted[index].block = Some(self.finish_read(options, handle, buffer, outcome));
        }
        left
    }

    fn finish_read(
        &self,
        options: &TableReadOptions,
        handle: BlockHandle,
        buffer: Vec<u8>,
        outcome: Result<usize>,
    ) -> Result<BlockRef> {
        let read = outcome?;
        self.loader.note_block_read();
        if read < buffer.len() {
            let error = super::block_loader::short_read(handle.offset, buffer.len(), read);
            return Err(self.loader.in_file(error));
        }
        let block = self.loader.decode_stored(buffer, handle, BlockRole::Data, options.verify_checksums)?;
        self.loader.keep(handle, block, options).map_err(|error| self.loader.in_file(error))
    }
}
