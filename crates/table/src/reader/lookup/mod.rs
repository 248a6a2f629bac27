//! Lookups of keys, as machines that never read, and their drivers.
//!
//! ```text
//!    machine.rs, next_blocks.rs, search.rs                driver                     table_blocks.rs
//! filter -> index -> data block                      get, rounds or future    checked, decoded, into the
//!    \        \          \                              reads it              cache, handed to its lookups
//!     +--------+----------+--> not in memory: NeededBlock --> ... --> LoadedBlock --+
//!     ^                                                                             |
//!     +-----------------------------------------------------------------------------+
//! ```
//!
//! | driver | reads |
//! |---|---|
//! | `get.rs` | one block at a time, on the thread that asks; for many keys in rounds |
//! | `rounds.rs` | the blocks that many keys wait for, each once, in any number of tables, as one batch |
//! | `block_read.rs` | one block as a future |
//!
//! A [`TableLookup`] is the state of one key's lookup in one table. It advances until it has its answer or needs a
//! block that is not in memory; its driver reads the block and advances the lookup again. A block that was read for a
//! lookup stays with it as long as it is needed, so no lookup needs the same block twice, whatever the cache evicts.

mod block_read;
mod counts;
mod get;
mod machine;
mod next_blocks;
mod rounds;
mod search;

pub use block_read::BlockRead;
pub use counts::{LookupCounts, LookupRecorder, NoCounts};
pub use machine::{Approach, TableLookup};
pub use rounds::RoundReads;
