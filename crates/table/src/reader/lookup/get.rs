//! The blocking drivers of lookups: the thread that asks reads each block that is needed, for many keys in rounds.

use super::counts::{LookupCounts, NoCounts};
use super::machine::TableLookup;
use super::rounds::RoundReads;
use crate::blocks::PinnedBlock;
use crate::reader::filter_reader::FilterAnswer;
use crate::reader::table_blocks::Question;
use crate::reader::{BlockTable, TableReadOptions};
use ferrock_base::{LookupKey, ParsedInternalKey, Result};
use std::sync::Arc;

impl BlockTable {
    /// Shows `visit` the entries of the key's user key, newest first, from the lookup's sequence number on, until it
    /// returns false. Nothing is allocated and nothing copied: a visitor that wants to keep a value pins its block.
    ///
    /// Range tombstones are not looked at.
    ///
    /// # Errors
    /// `Io` when a block cannot be read, `Corruption` naming file and offset when one is damaged, `Incomplete` when the
    /// options forbid the read that is needed, `MemoryLimit` when a strict cache refuses the block.
    #[inline]
    pub fn get(
        &self,
        options: &TableReadOptions,
        key: &LookupKey,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<()> {
        self.get_counted(options, key, &NoCounts, visit)
    }

    /// As [`get`](Self::get), which counts what it did in `counts`.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    #[inline]
    pub fn get_counted(
        &self,
        options: &TableReadOptions,
        key: &LookupKey,
        counts: &impl LookupCounts,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<()> {
        // A machine that has not begun costs nothing: most keys that the table does not have end here.
        let mut lookup = match self.blocks.kept_filter_answer(key.user_key(), counts) {
            Some(false) => return Ok(()),
            Some(true) => TableLookup::behind_filter(),
            None => TableLookup::default(),
        };
        while let Some(needed) = lookup.advance(self, options, key, counts, visit)? {
            lookup.supply(self.blocks.load_needed(options, needed))?;
        }
        Ok(())
    }

    /// Looks up many keys, in any order, in this table alone. `visit` gets the index of the key with each entry, as in
    /// [`get`](Self::get). The answer has one result for every key.
    ///
    /// A caller with several tables drives [`TableLookup`]s itself, so that one batch of reads serves all of them.
    pub fn multi_get(
        self: &Arc<Self>,
        options: &TableReadOptions,
        keys: &[&LookupKey],
        visit: &mut impl FnMut(usize, ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Vec<Result<()>> {
        let mut results: Vec<Result<()>> = keys.iter().map(|_| Ok(())).collect();
        let counts = NoCounts;
        let mut visit_of = |index: usize, lookup: &mut TableLookup| {
            lookup.advance(self, options, keys[index], &counts, &mut |key, value, pinned| {
                visit(index, key, value, pinned)
            })
        };
        let mut round = RoundReads::new(&*self.file_system, *options, keys.len());
        for (index, result) in results.iter_mut().enumerate() {
            let mut lookup = TableLookup::default();
            match visit_of(index, &mut lookup) {
                Ok(Some(needed)) => round.add(self, needed, (index, lookup)),
                Ok(None) => {}
                Err(error) => *result = Err(error),
            }
        }
        while !round.is_empty() {
            let mut next_round = RoundReads::new(&*self.file_system, *options, keys.len());
            round.run(&mut |(index, mut lookup), block| match lookup
                .supply(block)
                .and_then(|()| visit_of(index, &mut lookup))
            {
                Ok(Some(needed)) => next_round.add(self, needed, (index, lookup)),
                Ok(None) => {}
                Err(error) => results[index] = Err(error),
            });
            round = next_round;
        }
        results
    }

    /// False only when the filter says that the table has no key with the prefix of `user_key_with_prefix`.
    ///
    /// # Errors
    /// Those of reading a partition of the filter: see [`get`](Self::get).
    pub fn prefix_may_match(&self, options: &TableReadOptions, user_key_with_prefix: &[u8]) -> Result<bool> {
        let answer = self.blocks.ask_for_scan(options, Question::Prefix(user_key_with_prefix))?;
        Ok(!matches!(answer, FilterAnswer::Absent))
    }
}
