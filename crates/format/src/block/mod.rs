//! Key/value blocks: the one encoding behind data, index, range-deletion, properties and metaindex blocks.
//!
//! ```text
//! | entry ... | (values) | restart u32 ... | (hash index) | (values offset u32) | packed u32 |
//!
//! entry        shared varint32 | non-shared varint32 | value length varint32 | key suffix | value
//! index entry  shared | non-shared | key suffix | handle or zigzag size difference (| first key)   value-delta index
//! data entry   shared | non-shared | value length (| value offset, at restarts only) | key suffix  separated values
//!
//! packed       31 hash index | 30 reserved | 29 keys are spread evenly | 28 values are separate | 27..0 restarts
//! ```
//!
//! A key is the first `shared` bytes of the key before it and its own suffix. At a restart nothing is shared, so a
//! search bisects the restarts and scans one interval.
//!
//! - [`BlockLayout`] finds the regions and checks every restart once; nothing later trusts an unchecked offset.
//! - [`DataBlock`] with [`DataBlockCursor`]: internal keys, read in both directions, searched in place.
//! - [`IndexBlock`] with [`IndexCursor`]: decoded when it is loaded, because one index is searched thousands of times.
//! - [`MetaBlock`]: names and values, read once from front to back.
//! - [`BlockBuilder`] writes all of them.
//! - [`RowBounds`]: not of that form, and Ferrock's own: where the rows of the blocks of an index partition begin.
//!
//! Every decoder answers damaged bytes with `Corruption` and the offset within the block.

mod builder;
mod data;
mod data_cursor;
mod data_iter;
mod entry;
mod entry_sums;
mod flat_decode;
mod hash_index;
mod head_guide;
mod index;
mod index_cursor;
mod index_format;
mod index_search;
mod index_walker;
mod interpolation;
mod key_buffer;
mod layout;
mod meta;
mod row_bounds;
#[cfg(test)]
mod tests;
mod uniformity;

pub use builder::{BlockBuilder, BlockBuilderOptions};
pub use data::DataBlock;
pub use data_cursor::DataBlockCursor;
pub use data_iter::DataBlockIter;
pub use hash_index::{
    HashIndexBuckets, MAX_BLOCK_SIZE as MAX_HASH_INDEX_BLOCK_SIZE, MAX_RESTARTS as MAX_HASH_INDEX_RESTARTS,
};
pub use index::{IndexBlock, IndexEntry, IndexSearch};
pub use index_cursor::IndexCursor;
pub use index_format::IndexFormat;
pub(crate) use key_buffer::KeyBuffer;
pub use layout::BlockLayout;
pub use meta::MetaBlock;
pub use row_bounds::{
    RowBound, RowBounds, bound_between, decode_row_bounds_directory, encode_row_bounds, encode_row_bounds_directory,
    separator_between,
};
