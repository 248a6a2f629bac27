//! The parts of a compaction that run at once: `max_subcompactions`.
//!
//! ```text
//! anchors of all inputs      |--|----|-|---|--|------|--|-----|          user keys, with the bytes before each
//! parts                      [      0     [    1     [   2    ]          of about the same size
//! ```
//!
//! A part is a range of user keys, so all versions of a key are in one part, and the outputs of two parts never
//! overlap. Each part reads the inputs by iterators of its own, and of the range tombstones what lies in it.

use crate::compaction::choice::{CompactionChoice, CompactionKind, CompactionReason};
use crate::table_cache::TableCache;
use ferrock_base::Result;
use ferrock_base::comparator::Comparator;
use ferrock_base::range_tombstone::RangeTombstone;
use ferrock_options::CompactionStyle;
use ferrock_vfs::IoActivity;

/// Anchors of a file: enough to cut it into so many parts evenly.
const ANCHORS_PER_FILE: usize = 128;

/// User keys from the first, inclusive, to the last, exclusive; `None`: all before, all behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPart {
    /// First user key.
    pub begin: Option<Vec<u8>>,
    /// User key behind the last.
    pub end: Option<Vec<u8>>,
}

impl KeyPart {
    /// What of range tombstones lies in the part.
    pub(super) fn clip(&self, order: &Comparator, tombstones: Vec<RangeTombstone>) -> Vec<RangeTombstone> {
        let clip = |mut tombstone: RangeTombstone| {
            if let Some(begin) = &self.begin
                && order.compare(&tombstone.start, begin).is_lt()
            {
                tombstone.start.clone_from(begin);
            }
            if let Some(end) = &self.end
                && order.compare(&tombstone.end, end).is_gt()
            {
                tombstone.end.clone_from(end);
            }
            order.compare(&tombstone.start, &tombstone.end).is_lt().then_some(tombstone)
        };
        tombstones.into_iter().filter_map(clip).collect()
    }
}

/// The parts of a compaction, in the order of their keys: at most `most`, none much smaller than an output file. One
/// that is itself a part, `within`, is not cut again.
///
/// # Errors
/// Those of reading the indexes of the inputs.
pub(super) fn parts_of(
    choice: &CompactionChoice,
    within: Option<&KeyPart>,
    style: CompactionStyle,
    tables: &TableCache,
    most: usize,
) -> Result<Vec<KeyPart>> {
    if let Some(within) = within {
        return Ok(vec![within.clone()]);
    }
    // Of sorted runs whatever the reason: one run may have all there is.
    let is_large = choice.reason == CompactionReason::ManualCompaction || style == CompactionStyle::Universal;
    let may_split = choice.kind == CompactionKind::Merge && choice.output_level > 0;
    // As in RocksDB: a level's own compactions are small, but for those of round robin; those out of level 0 hold
    // writers up.
    let has_many_files = choice.next_compact_cursor.is_some();
    if !may_split || most < 2 || !(is_large || has_many_files || choice.start_level == 0) {
        return Ok(vec![KeyPart::default()]);
    }
    let mut anchors = Vec::new();
    for (_, file) in choice.input_files() {
        let table = tables.get_for_job(file, IoActivity::Compaction)?;
        // A plain table has no blocks to tell where its bytes are.
        match table.as_block() {
            Some(table) => anchors.extend(table.anchors(ANCHORS_PER_FILE)?),
            None => anchors.push((file.smallest_user_key().to_vec(), file.size_bytes)),
        }
    }
    let order = choice.version.comparator().user();
    let least = choice.max_output_file_size_bytes;
    Ok(cut(order, anchors, most, least))
}

/// Cuts where each part has its share of the bytes.
fn cut(order: &Comparator, mut anchors: Vec<(Vec<u8>, u64)>, most: usize, least: u64) -> Vec<KeyPart> {
    anchors.sort_by(|a, b| order.compare(&a.0, &b.0));
    let total = anchors.iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let share = total.div_ceil(most as u64).max(least).max(1);
    let mut parts = Vec::new();
    let (mut begin, mut gathered) = (None::<Vec<u8>>, 0u64);
    for (key, bytes) in anchors {
        gathered = gathered.saturating_add(bytes);
        let is_new = begin.as_ref().is_none_or(|begin| order.compare(begin, &key).is_lt());
        if gathered >= share && is_new && parts.len() + 1 < most {
            parts.push(KeyPart { begin: begin.replace(key.clone()), end: Some(key) });
            gathered = 0;
        }
    }
    parts.push(KeyPart { begin, end: None });
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::types::SequenceNumber;

    fn anchors(keys: &[(&str, u64)]) -> Vec<(Vec<u8>, u64)> {
        keys.iter().map(|(key, bytes)| (key.as_bytes().to_vec(), *bytes)).collect()
    }

    fn ends(parts: &[KeyPart]) -> Vec<Option<&str>> {
        parts.iter().map(|part| part.end.as_deref().and_then(|end| std::str::from_utf8(end).ok())).collect()
    }

    #[test]
    fn parts_have_about_the_same_size_and_cover_everything() {
        let order = Comparator::Bytewise;
        let even: Vec<(String, u64)> = (0..100).map(|number| (format!("{number:02}"), 10)).collect();
        let even: Vec<(&str, u64)> = even.iter().map(|(key, bytes)| (&key[..], *bytes)).collect();
        assert_eq!(ends(&cut(&order, anchors(&even), 4, 0)), [Some("24"), Some("49"), Some("74"), None]);
        // No part below the size of a file, no more than asked for, none for nothing.
        assert_eq!(ends(&cut(&order, anchors(&even), 4, 400)), [Some("39"), Some("79"), None]);
        assert_eq!(ends(&cut(&order, anchors(&even), 4, 10_000)), [None]);
        assert_eq!(ends(&cut(&order, Vec::new(), 4, 0)), [None]);
        // One key is never cut, however much it has.
        let same = [("a", 500), ("a", 500), ("b", 1), ("b", 500)];
        let parts = cut(&order, anchors(&same), 8, 0);
        assert_eq!(ends(&parts), [Some("a"), Some("b"), None]);
        for pair in parts.windows(2) {
            assert_eq!(pair[0].end, pair[1].begin);
        }
    }

    #[test]
    fn tombstones_are_cut_at_the_ends_of_parts() {
        let order = Comparator::Bytewise;
        let tombstone = |start: &str, end: &str| RangeTombstone {
            start: start.as_bytes().to_vec(),
            end: end.as_bytes().to_vec(),
            sequence: SequenceNumber(1),
        };
        let all = vec![tombstone("a", "z"), tombstone("c", "d"), tombstone("m", "p")];
        let part = |begin: Option<&str>, end: Option<&str>| KeyPart {
            begin: begin.map(|key| key.as_bytes().to_vec()),
            end: end.map(|key| key.as_bytes().to_vec()),
        };
        assert_eq!(part(None, Some("c")).clip(&order, all.clone()), [tombstone("a", "c")]);
        assert_eq!(
            part(Some("c"), Some("n")).clip(&order, all.clone()),
            [tombstone("c", "n"), tombstone("c", "d"), tombstone("m", "n")]
        );
        assert_eq!(part(Some("n"), None).clip(&order, all), [tombstone("n", "z"), tombstone("n", "p")]);
    }
}
