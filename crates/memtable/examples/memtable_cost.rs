//! Instructions per operation, for `valgrind --tool=callgrind`: `memtable_cost {none|random|ordered|get} [entries]`.
//! Subtract the run with `none` (and for `get` the run with `random`).
#![allow(clippy::disallowed_methods, reason = "a measuring tool reads its arguments")]

use ferrock_base::{LookupKey, SequenceNumber, ValueType};
use ferrock_memtable::{MemTable, MemTableOptions};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_default();
    let entries: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let table = MemTable::new(MemTableOptions::default());
    let value = [7u8; 100];
    let key = |index: u64| {
        let number = if mode == "ordered" { index } else { index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20 };
        let mut key = *b"0000000000000000";
        key[..8].copy_from_slice(&number.to_be_bytes());
        key
    };
    let mut found = 0u64;
    for index in 0..entries {
        let key = std::hint::black_box(key(index));
        if mode != "none" && table.add(SequenceNumber(index + 1), ValueType::Value, &key, &value).is_err() {
            return;
        }
    }
    if mode == "get" {
        for index in 0..entries {
            let lookup = LookupKey::new(&key(index), SequenceNumber(entries));
            table.get(&lookup, |_, _, value| {
                found += value.len() as u64;
                false
            });
        }
    }
    println!("{mode}: {} entries, {found} bytes found", table.num_entries());
}
