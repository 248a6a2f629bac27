//! Instructions per operation, for `valgrind --tool=callgrind`:
//! `memtable_cost {none|random|ordered|get|scan|prefix} [entries] [skip_list|vector|prefix_hash|hash_linkedlist]`.
//! Subtract the run with `none` (and for `get`, `scan` and `prefix` the run with `random`).
//!
//! With a kind, keys have prefixes of eight bytes, each of about eight keys; without one all eight bytes are random.
//! `get` looks every key up; `scan` walks over everything once; `prefix` walks over the entries of every prefix.
#![allow(clippy::disallowed_methods, reason = "a measuring tool reads its arguments")]

use ferrock_base::internal_key::make_internal_key;
use ferrock_base::iterator::InternalIterator;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{LookupKey, SequenceNumber, ValueType};
use ferrock_memtable::{MemTable, MemTableKind, MemTableOptions};
use std::sync::Arc;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_default();
    let entries: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let kind = arguments.next();
    let is_grouped = kind.is_some();
    let kind = match kind.as_deref() {
        Some("vector") => MemTableKind::Vector,
        Some("prefix_hash") => MemTableKind::HashSkipList { bucket_count: 1_000_000, height: 4, branching: 4 },
        Some("hash_linkedlist") => MemTableKind::HashLinkList { bucket_count: 50_000, threshold: 256 },
        _ => MemTableKind::SkipList,
    };
    let prefix_extractor = (kind != MemTableKind::SkipList).then_some(PrefixExtractor::Fixed(8));
    let table = Arc::new(MemTable::new(MemTableOptions { kind, prefix_extractor, ..MemTableOptions::default() }));
    let value = [7u8; 100];
    let prefixes = (entries / 8).max(1);
    let key = |index: u64| {
        let mut key = *b"0000000000000000";
        let number = index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let head = match &mode[..] {
            "ordered" => index,
            _ if is_grouped => (number >> 20) % prefixes,
            _ => number >> 20,
        };
        key[..8].copy_from_slice(&head.to_be_bytes());
        if is_grouped {
            key[8..].copy_from_slice(&number.to_be_bytes());
        }
        key
    };
    let mut found = 0u64;
    for index in 0..entries {
        let key = std::hint::black_box(key(index));
        if mode != "none" && table.add(SequenceNumber(index + 1), ValueType::Value, &key, &value).is_err() {
            return;
        }
    }
    match &mode[..] {
        "get" => {
            for index in 0..entries {
                let lookup = LookupKey::new(&key(index), SequenceNumber(entries));
                let visited = table.get(&lookup, |_, _, value| {
                    found += value.len() as u64;
                    false
                });
                if visited.is_err() {
                    return;
                }
            }
        }
        "scan" => {
            let mut iter = table.iter();
            iter.seek_to_first();
            while iter.valid() {
                found += iter.value().len() as u64;
                iter.next();
            }
        }
        "prefix" => {
            let mut iter = table.iter();
            for prefix in (0..prefixes).map(u64::to_be_bytes) {
                iter.limit_to_prefix(Some((&PrefixExtractor::Fixed(8), &prefix)));
                iter.seek(&make_internal_key(&prefix, SequenceNumber(entries), ValueType::FOR_SEEK));
                while iter.valid() && iter.key().starts_with(&prefix) {
                    found += iter.value().len() as u64;
                    iter.next();
                }
            }
        }
        _ => {}
    }
    println!("{mode}: {} entries, {found} bytes found", table.num_entries());
}
