//! Reading many keys at once: level by level, and in each level table by table, so that the blocks that the keys of one
//! table need are read in one batch.
//!
//! The keys are sorted and each is there once, so those of one table are neighbours: below level 0 the pairs of key and
//! table come out grouped by table, even where a key goes on in the next table (no other key can).

use super::DbCore;
use super::read::{PinnedSlice, search_memtables, table_for_read};
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::iterator::range_tombstones::covering_sequence_in_file;
use crate::options::ReadOptions;
use crate::read::{GetContext, MultiGetBatch};
use crate::super_version::thread_ordinal;
use crate::version::FileMetadata;
use ferrock_base::{LookupKey, Result, SequenceNumber};
use ferrock_table::{BlockPin, TableReadOptions};
use std::sync::Arc;

impl DbCore {
    /// The values of many keys of one family, in the order of `keys`.
    pub(crate) fn multi_get(
        &self,
        data: &ColumnFamilyData,
        options: &ReadOptions,
        keys: &[&[u8]],
    ) -> Vec<Result<Option<PinnedSlice>>> {
        let thread = thread_ordinal();
        let pinned = data.super_version.pin(thread);
        data.table_cache.read_sample().note_lookups(thread, keys.len() as u64);
        let sequence = self.sequence_for(options);
        let operator = pinned.options.merge_operator.as_deref();
        let blobs = self.blob_view(data.id, &pinned.version, options);
        let mut batch: MultiGetBatch<'_, BlockPin> =
            MultiGetBatch::new(data.comparator.user(), keys, sequence, operator, Some(&blobs));
        let (lookups, contexts) = batch.parts();
        for (lookup, context) in lookups.iter().zip(contexts) {
            search_memtables(&pinned, lookup, sequence, context);
        }
        let search = Search { data, pinned: &pinned, options, table_options: options.for_table(), sequence };
        for level in 0..pinned.version.num_levels() {
            if pinned.version.level(level).is_empty() {
                continue;
            }
            if batch.is_done() {
                break;
            }
            let (lookups, contexts) = batch.parts();
            if level == 0 { search.newest_level(lookups, contexts) } else { search.level(level, lookups, contexts) }
        }
        batch.finish()
    }
}

/// What all lookups of a batch have in common.
struct Search<'a> {
    data: &'a ColumnFamilyData,
    pinned: &'a SuperVersion,
    options: &'a ReadOptions,
    table_options: TableReadOptions,
    sequence: SequenceNumber,
}

impl Search<'_> {
    /// Level 0: its tables overlap, the newest is asked first.
    fn newest_level(&self, lookups: &[LookupKey], contexts: &mut [GetContext<'_, BlockPin>]) {
        let mut members = Vec::with_capacity(lookups.len());
        for file in self.pinned.version.level(0) {
            members.clear();
            members.extend((0..lookups.len()).filter(|&index| {
                !contexts[index].is_done_after_source()
                    && self.pinned.version.file_may_hold(file, lookups[index].user_key())
            }));
            self.table(file, &members, lookups, contexts);
        }
    }

    fn level(&self, level: usize, lookups: &[LookupKey], contexts: &mut [GetContext<'_, BlockPin>]) {
        let mut pairs: Vec<(&Arc<FileMetadata>, usize)> = Vec::with_capacity(lookups.len());
        for (index, lookup) in lookups.iter().enumerate().filter(|(index, _)| !contexts[*index].is_done_after_source())
        {
            pairs.extend(self.pinned.version.files_for_user_key(level, lookup).map(|file| (file, index)));
        }
        let mut members = Vec::with_capacity(pairs.len());
        for group in pairs.chunk_by(|a, b| Arc::ptr_eq(a.0, b.0)) {
            members.clear();
            // A key that goes on in this table may have been settled by the one before.
            members.extend(group.iter().map(|(_, index)| *index).filter(|&index| !contexts[index].is_done()));
            self.table(group[0].0, &members, lookups, contexts);
        }
    }

    /// Looks `members` up in one table.
    fn table(
        &self,
        file: &Arc<FileMetadata>,
        members: &[usize],
        lookups: &[LookupKey],
        contexts: &mut [GetContext<'_, BlockPin>],
    ) {
        if members.is_empty() {
            return;
        }
        let table = match table_for_read(&self.data.table_cache, file, self.options) {
            Ok(table) => table,
            Err(error) => return members.iter().for_each(|&index| contexts[index].fail(error.clone())),
        };
        if let Some(tombstones) = table.range_tombstones() {
            for &index in members {
                let (smallest, largest, key) = (&file.smallest, &file.largest, lookups[index].user_key());
                let covering = covering_sequence_in_file(tombstones, smallest, largest, key, self.sequence);
                contexts[index].add_covering_tombstone(covering);
            }
        }
        if let [index] = *members {
            let context = &mut contexts[index];
            let outcome = table.get(&self.table_options, &lookups[index], &mut |entry, value, block| {
                context.add(entry.sequence, entry.value_type, value, || Some(block.pin()))
            });
            if let Err(error) = outcome {
                context.fail(error);
            }
            return;
        }
        let keys: Vec<&LookupKey> = members.iter().map(|&index| &lookups[index]).collect();
        let results = table.multi_get(&self.table_options, &keys, &mut |position, entry, value, block| {
            contexts[members[position]].add(entry.sequence, entry.value_type, value, || Some(block.pin()))
        });
        for (position, result) in results.into_iter().enumerate() {
            if let Err(error) = result {
                contexts[members[position]].fail(error);
            }
        }
    }
}
