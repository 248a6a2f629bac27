//! `check` and `scan`: the entries of a table in order.

use crate::Result;
use crate::arguments::{Command, Range, Request};
use ferrock::{Error, ValueType};
use ferrock_base::internal_key::{ParsedInternalKey, make_internal_key};
use ferrock_base::{InternalIterator, MAX_SEQUENCE_NUMBER};
use ferrock_console::tables::{EntryText, print_entry};
use ferrock_table::{Table, TableIter, TableReadOptions};
use std::io::Write;

/// How reading ended.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) entries: u64,
    pub(crate) error: Option<Error>,
}

/// Reads the entries that are asked for, and prints them when that is asked for; at most `most`.
pub(crate) fn read(request: &Request, reader: &Table, most: u64, out: &mut dyn Write) -> Result<Counted> {
    let prints = request.command == Command::Scan;
    let options = TableReadOptions {
        verify_checksums: !prints || request.is_set("verify_checksum"),
        readahead_bytes: request.readahead_bytes,
        fill_cache: false,
        total_order_seek: true,
        ..TableReadOptions::default()
    };
    let text =
        EntryText { is_hex: request.is_set("output_hex"), decodes_blob_index: request.is_set("decode_blob_index") };
    let mut iter = start(&request.range, reader, options);
    let comparator = reader.comparator().user().clone();
    let mut entries = 0;
    while iter.valid() && entries < most {
        let key = match ParsedInternalKey::parse(iter.key()) {
            Ok(key) => key,
            Err(error) => return Ok(Counted { entries, error: Some(error.in_file(reader.file_path())) }),
        };
        let is_beyond = match &request.range.prefix {
            Some(prefix) => !key.user_key.starts_with(prefix),
            None => false,
        };
        if is_beyond || request.range.to.as_ref().is_some_and(|to| comparator.compare(key.user_key, to).is_ge()) {
            break;
        }
        entries += 1;
        if prints {
            print_entry(text, key, iter.value(), out)?;
        }
        iter.next();
    }
    let error = iter.status().err().or_else(|| miscounted(&request.range, reader, entries));
    Ok(Counted { entries, error })
}

/// An iterator at the first entry of the range.
fn start(range: &Range, reader: &Table, options: TableReadOptions) -> TableIter {
    let mut iter = reader.iter(options);
    let is_forward = reader.comparator().user().is_bytewise();
    let from = match &range.prefix {
        // Behind it lie, in the reverse order, the keys that begin with the prefix.
        Some(prefix) if !is_forward => successor(prefix),
        Some(prefix) => Some(prefix.clone()),
        None => range.from.clone(),
    };
    match &from {
        Some(from) => iter.seek(&make_internal_key(from, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK)),
        None => iter.seek_to_first(),
    }
    if let (Some(from), false, true) = (&from, is_forward, range.prefix.is_some()) {
        let order = reader.comparator().user();
        while iter.valid() && order.equal(ferrock_base::internal_key::user_key(iter.key()), from) {
            iter.next();
        }
    }
    iter
}

/// The smallest key, bytewise, larger than all that begin with `prefix`.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut successor = prefix[..=last].to_vec();
    successor[last] += 1;
    Some(successor)
}

/// What the properties count must be there.
fn miscounted(range: &Range, reader: &Table, entries: u64) -> Option<Error> {
    let properties = reader.properties();
    let counted = properties.num_entries.checked_sub(properties.num_range_deletions)?;
    // Tables without properties count nothing.
    (range.is_all() && properties.num_entries > 0 && entries != counted).then(|| {
        let message = format!("the table has {entries} point entries, its properties say {counted}");
        Error::corruption(message).in_file(reader.file_path())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successors() {
        assert_eq!(successor(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(successor(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(successor(b"\xff"), None);
        assert_eq!(successor(b""), None);
    }
}
