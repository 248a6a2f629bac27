//! The bodies of the fuzz targets: one function per decoder, which takes any bytes.
//!
//! A decoder passes when it neither panics nor hangs nor allocates beyond what its input justifies (the runner sets
//! `-malloc_limit_mb`), and when what it accepts survives encoding and decoding again.
//!
//! Random bytes seldom have the right checksum, so where one guards a decoder the function either repairs it first
//! (see [`repair`]) or feeds the layer below it directly.
//!
//! Selecting an option takes a byte from the *front* of the input, so that seeds stay readable: `option byte,
//! payload`.

mod blocks;
mod codecs;
pub mod database;
mod memtable;
mod records;
pub mod repair;
mod wide;

pub use blocks::{block_data, block_index, decompress, filter, footer, properties, row_bounds};
pub use database::{db_open, manifest, plain_table, table, wal};
pub use memtable::memtable;
pub use records::{
    backup_meta, compaction_service, file_name, log_reader, options_file, trace, values, version_edit, write_batch,
};
pub use wide::wide;

/// Takes the option byte off the front.
fn split_selector(data: &[u8]) -> (u8, &[u8]) {
    data.split_first().map_or((0, data), |(&selector, rest)| (selector, rest))
}
