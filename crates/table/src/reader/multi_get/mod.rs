//! Lookups of many keys, in rounds: the blocks that all keys wait for are read together, in any number of tables.
//!
//! ```text
//!     plan.rs, next_blocks.rs                 reads.rs                         finish.rs
//! filter -> index -> data block       RoundReads: each block once,        checked, decoded, into the
//!    \        \          \            all tables, one batch               cache, handed to its lookups
//!     +--------+----------+--> not in memory: NeededBlock --> ... --> LoadedBlock --+
//!     ^                                                                             |
//!     +-----------------------------------------------------------------------------+
//! ```
//!
//! A [`TableLookup`] is the state of one key's lookup in one table. It advances until it has its answer or needs a
//! block that is not in memory; its owner collects the blocks that all lookups need, reads them at once and advances
//! the lookups again. A block that was read for a lookup stays with it as long as it is needed, so no lookup needs the
//! same block twice, whatever the cache evicts.

mod block_read;
mod finish;
mod next_blocks;
mod plan;
mod reads;

pub use block_read::BlockRead;
pub use plan::TableLookup;
pub use reads::RoundReads;

use super::{BlockTable, TableReadOptions};
use crate::blocks::PinnedBlock;
use ferrock_base::{LookupKey, ParsedInternalKey, Result};
use std::sync::Arc;

impl BlockTable {
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
        let mut visit_of = |index: usize, lookup: &mut TableLookup| {
            self.advance(options, keys[index], lookup, &mut |key, value, pinned| visit(index, key, value, pinned))
        };
        let mut round = RoundReads::new(&*self.file_system, *options);
        for (index, result) in results.iter_mut().enumerate() {
            let mut lookup = TableLookup::default();
            match visit_of(index, &mut lookup) {
                Ok(Some(needed)) => round.add(self, needed, (index, lookup)),
                Ok(None) => {}
                Err(error) => *result = Err(error),
            }
        }
        while !round.is_empty() {
            let mut next_round = RoundReads::new(&*self.file_system, *options);
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
}
