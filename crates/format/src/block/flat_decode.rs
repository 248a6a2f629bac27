//! Decodes a stored index block into its flat form.

use super::entry::bad_entry;
use super::index_format::IndexFormat;
use super::index_search::{FlatIndex, FlatIndexBuilder};
use super::index_walker::IndexWalker;
use super::layout::BlockLayout;
use crate::trailer::BLOCK_TRAILER_SIZE;
use ferrock_base::Result;
use ferrock_base::coding::get_varint64;
use ferrock_base::internal_key::TRAILER_SIZE;
use std::ops::Range;

/// Memory that the flat form may take: half as much again as the block.
pub(super) fn flat_budget(bytes: &[u8]) -> usize {
    bytes.len() + bytes.len() / 2 + 64
}

/// The result of decoding a block into the flat form in one pass.
#[derive(Debug, PartialEq)]
pub(super) enum Decoded {
    /// The index, and how many entries it has.
    Flat(FlatIndex, usize),
    TooLarge,
    /// A key lacks the common prefix of the first and the last: no correct writer produces this.
    OutOfOrder,
}

impl FlatIndex {
    /// In one pass: in a sorted block the first and the last key have the prefix that all share. Opening a table
    /// decodes its whole index, so a saved pass makes opening a database faster.
    pub(super) fn decode(bytes: &[u8], layout: &BlockLayout, format: IndexFormat) -> Result<Decoded> {
        let mut walker = IndexWalker::default();
        if !walker.step(bytes, layout, format)? {
            return Ok(Decoded::OutOfOrder);
        }
        let mut prefix = format.user_key(walker.key.as_slice()).to_vec();
        walker.go_to(layout.restart(bytes, layout.restart_count.saturating_sub(1)));
        while walker.step(bytes, layout, format)? {}
        let last = format.user_key(walker.key.as_slice());
        let common = prefix.iter().zip(last).take_while(|(a, b)| a == b).count();
        prefix.truncate(common);

        match Self::decode_whole_keys(bytes, layout, format, &prefix) {
            Some(decoded) => Ok(decoded),
            None => Self::decode_any(bytes, layout, format, &prefix),
        }
    }

    fn decode_any(bytes: &[u8], layout: &BlockLayout, format: IndexFormat, prefix: &[u8]) -> Result<Decoded> {
        let mut flat = FlatIndexBuilder::new(flat_budget(bytes));
        flat.begin(prefix, layout.restart_count, format);
        let (mut entry_count, mut restarts_met) = (0, 0);
        let mut walker = IndexWalker::default();
        while walker.step(bytes, layout, format)? {
            entry_count += 1;
            walker.meet_restart(bytes, layout, &mut restarts_met)?;
            let key = walker.key.as_slice();
            if !format.user_key(key).starts_with(prefix) {
                return Ok(Decoded::OutOfOrder);
            }
            let first_key = format.has_first_key.then(|| walker.first_key(bytes));
            if !flat.add(key, format, walker.handle, first_key) {
                return Ok(Decoded::TooLarge);
            }
        }
        if restarts_met != layout.restart_count {
            return Err(bad_entry("a restart is not at an entry", layout.restart(bytes, restarts_met)));
        }
        Ok(Decoded::Flat(flat.finish(), entry_count))
    }

    /// The same for the ordinary index: every entry is a restart, with a whole key and a whole handle. It takes about
    /// 0.6 of the time of the general path, for blocks that are read again after eviction from a small cache, and for
    /// every table that is opened. `None` for anything else: the general path decodes it, or returns the error.
    fn decode_whole_keys(bytes: &[u8], layout: &BlockLayout, format: IndexFormat, prefix: &[u8]) -> Option<Decoded> {
        if format.has_first_key {
            return None;
        }
        let entries = bytes.get(..layout.entries_end)?;
        let budget = flat_budget(bytes);
        let mut flat = FlatIndexBuilder::new(budget);
        flat.begin(prefix, layout.restart_count, format);
        // A tail is an entry without its header, the prefix, and the head, if the key is long enough; one byte is its
        // length.
        let spared = layout.restart_count.saturating_mul(1 + prefix.len() + size_of::<u64>());
        flat.reserve_tails(entries.len().saturating_sub(spared).min(budget) + 16);
        let prefix = PrefixCheck::new(prefix);
        let mut at = 0;
        for restart in 0..layout.restart_count {
            if layout.restart(bytes, restart) != at {
                return None;
            }
            let (key_range, value_end) = whole_entry(entries, at, format.value_is_delta_encoded)?;
            let (key, value_at) = (entries.get(key_range.clone())?, key_range.end);
            let value = entries.get(value_at..value_end.unwrap_or(entries.len()))?;
            let (offset, offset_length) = get_varint64(value)?;
            let (size, size_length) = get_varint64(&value[offset_length..])?;
            size.checked_add(BLOCK_TRAILER_SIZE as u64)?.checked_add(offset)?;
            let user_key = if format.key_is_user_key { key } else { key.get(..key.len().checked_sub(TRAILER_SIZE)?)? };
            if !prefix.is_prefix_of(user_key) {
                return None;
            }
            let handle_length = offset_length + size_length;
            if !flat.add_stored(&entries[key_range.start..], key.len(), handle_length) {
                return Some(Decoded::TooLarge);
            }
            at = value_end.unwrap_or(value_at + handle_length);
        }
        (at == entries.len()).then(|| Decoded::Flat(flat.finish(), layout.restart_count))
    }
}

/// Where the key of an entry with a short header and a whole key lies, and where its value ends if the header says so.
#[inline]
fn whole_entry(entries: &[u8], at: usize, is_delta: bool) -> Option<(Range<usize>, Option<usize>)> {
    let header = entries.get(at..)?.first_chunk::<3>()?;
    if header[0] != 0 || header[1] >= 0x80 {
        return None;
    }
    let key_at = at + if is_delta { 2 } else { 3 };
    let key = key_at..key_at + usize::from(header[1]);
    match is_delta {
        true => Some((key, None)),
        false if header[2] < 0x80 => {
            let value_end = key.end + usize::from(header[2]);
            Some((key, Some(value_end)))
        }
        false => None,
    }
}

/// A prefix to compare with many keys: by words, as most are shorter than two of them.
struct PrefixCheck<'a> {
    prefix: &'a [u8],
    last: u64,
}

impl<'a> PrefixCheck<'a> {
    fn new(prefix: &'a [u8]) -> Self {
        Self { prefix, last: prefix.last_chunk().map_or(0, |last| u64::from_le_bytes(*last)) }
    }

    #[inline]
    fn is_prefix_of(&self, key: &[u8]) -> bool {
        let Some(start) = key.get(..self.prefix.len()) else { return false };
        match (start.first_chunk::<8>(), start.last_chunk::<8>()) {
            (Some(first), Some(last)) => {
                // A difference is most likely near the end.
                u64::from_le_bytes(*last) == self.last
                    && Some(first) == self.prefix.first_chunk()
                    && (start.len() <= 16 || start == self.prefix)
            }
            _ => start.iter().eq(self.prefix),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{BlockBuilder, BlockBuilderOptions};
    use crate::handle::BlockHandle;
    use proptest::prelude::*;

    fn block(keys: &[Vec<u8>], gaps: &[u64], format: IndexFormat, interval: usize) -> Vec<u8> {
        let mut builder = BlockBuilder::new(BlockBuilderOptions {
            restart_interval: interval,
            use_delta_encoding: true,
            use_value_delta_encoding: format.value_is_delta_encoded,
        });
        let mut offset = 0;
        for (key, gap) in keys.iter().zip(gaps.iter().cycle()) {
            let mut full = Vec::new();
            BlockHandle::new(offset, *gap).encode_to(&mut full);
            offset += gap + 1000;
            let mut key = key.clone();
            if !format.key_is_user_key {
                key.extend_from_slice(&(offset << 8 | 1).to_le_bytes());
            }
            builder.add_index(&key, &full, None);
        }
        builder.finish().to_vec()
    }

    /// The quick path gives the same result for a block as the general path.
    fn compare(bytes: &[u8], format: IndexFormat, prefix: &[u8]) -> bool {
        let Ok(layout) = BlockLayout::parse(bytes) else { return false };
        let Some(quick) = FlatIndex::decode_whole_keys(bytes, &layout, format, prefix) else { return false };
        let general = FlatIndex::decode_any(bytes, &layout, format, prefix);
        assert_eq!(Ok(contents(&quick)), general.map(|general| contents(&general)).map_err(|error| error.to_string()));
        true
    }

    /// The content of an index: a corrupt number may be stored longer than necessary, and is kept so by the quick path.
    fn contents(decoded: &Decoded) -> Option<String> {
        let Decoded::Flat(flat, count) = decoded else { return None };
        let entry = |index| {
            let mut key = Vec::new();
            flat.key_into(index, &mut key);
            (key, flat.entry(index).map(|entry| entry.handle))
        };
        Some(format!("{count} entries: {:?}", (0..flat.len()).map(entry).collect::<Vec<_>>()))
    }

    proptest! {
        #[test]
        fn both_ways_agree(
            keys in prop::collection::btree_set(prop::collection::vec(any::<u8>(), 0..24), 1..40),
            prefix in prop::collection::vec(any::<u8>(), 0..20),
            gaps in prop::collection::vec(0u64..1 << 40, 1..5),
            flags in any::<(bool, bool)>(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        ) {
            let format = IndexFormat { key_is_user_key: flags.0, value_is_delta_encoded: flags.1, has_first_key: false };
            let keys: Vec<Vec<u8>> = keys.iter().map(|key| [&prefix[..], &key[..]].concat()).collect();
            let mut bytes = block(&keys, &gaps, format, 1);
            prop_assert!(compare(&bytes, format, &prefix), "an ordinary block goes the quick way");
            for (place, value) in damage {
                let place = place.index(bytes.len());
                bytes[place] = value;
                compare(&bytes, format, &prefix);
            }
        }
    }

    #[test]
    fn shared_keys_go_the_general_way() {
        let format = IndexFormat { key_is_user_key: true, value_is_delta_encoded: false, has_first_key: false };
        let keys: Vec<Vec<u8>> = (0..20).map(|number| format!("key{number:04}").into_bytes()).collect();
        assert!(!compare(&block(&keys, &[10], format, 4), format, b"key"));
        assert!(compare(&block(&keys, &[10], format, 1), format, b"key00"));
    }
}
