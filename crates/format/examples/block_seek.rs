//! What a point lookup's search within a data block costs, with a hash index and without.
//!
//! ```text
//! cargo run --release -p ferrock-format --example block_seek -- [value bytes, 20]
//! valgrind --tool=callgrind --toggle-collect='*find_all*' target/release/examples/block_seek 20 0.75
//! ```
//!
//! Every key of one 16-KiB block is looked up, in scattered order. Without a ratio all forms are timed; with one (0 is
//! no hash index) only that form runs, for an instruction counter.
#![allow(clippy::disallowed_methods, reason = "a measuring tool reads its arguments and the clock")]
#![allow(clippy::print_stdout, reason = "its result")]

use ferrock_base::internal_key::make_internal_key;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{InternalComparator, Result, ValueType};
use ferrock_format::block::{BlockBuilder, BlockBuilderOptions, DataBlock, DataBlockCursor};
use std::time::Instant;

const BLOCK_BYTES: usize = 16 << 10;
const ROUNDS: usize = 400;

fn block(value_bytes: usize, ratio: f64) -> Result<(DataBlock, Vec<Vec<u8>>)> {
    let options =
        BlockBuilderOptions { restart_interval: 16, use_delta_encoding: true, use_value_delta_encoding: false };
    let mut builder = BlockBuilder::new(options);
    if ratio > 0.0 {
        builder = builder.with_hash_index(ratio);
    }
    let (mut keys, value) = (Vec::new(), vec![b'v'; value_bytes]);
    while builder.size_estimate() < BLOCK_BYTES {
        let user_key = format!("{:016}", 7_000_000 + keys.len());
        let key = make_internal_key(user_key.as_bytes(), SequenceNumber(0), ValueType::Value);
        builder.add(&key, &value);
        keys.push(key);
    }
    Ok((DataBlock::new(builder.finish().to_vec())?, keys))
}

/// Looks up every key once and counts those that were found.
#[inline(never)]
fn find_all(block: &DataBlock, keys: &[Vec<u8>]) -> usize {
    let comparator = InternalComparator::default();
    let (mut found, mut place) = (0, 0);
    for _ in keys {
        // Odd strides reach all places of a power of two; a place beyond the keys is passed over.
        loop {
            place = (place + 173) % keys.len().next_power_of_two();
            if place < keys.len() {
                break;
            }
        }
        let mut cursor = DataBlockCursor::new(None);
        cursor.seek_for_get(block, &comparator, &keys[place]);
        found += usize::from(cursor.valid() && cursor.key(block) == keys[place]);
    }
    found
}

fn main() -> Result<()> {
    let arguments: Vec<f64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let value_bytes = arguments.first().map_or(20, |bytes| *bytes as usize);
    if let Some(ratio) = arguments.get(1) {
        let (block, keys) = block(value_bytes, *ratio)?;
        println!("{} of {} keys found", find_all(&block, &keys), keys.len());
        return Ok(());
    }
    println!("{value_bytes} B values     keys  block bytes    ns/lookup");
    for ratio in [0.0, 0.5, 0.75, 1.0] {
        let (block, keys) = block(value_bytes, ratio)?;
        let started = Instant::now();
        let found: usize = (0..ROUNDS).map(|_| find_all(&block, &keys)).sum();
        let nanoseconds = started.elapsed().as_nanos() as f64 / found as f64;
        let form = if ratio > 0.0 { format!("hash {ratio}") } else { "binary".to_owned() };
        println!("{form:<13} {:>7} {:>12} {nanoseconds:>12.1}", found / ROUNDS, block.bytes().len());
    }
    Ok(())
}
