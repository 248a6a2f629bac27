//! Tables with many entries that are old enough for the last level and do not lie there: how a writer notices them.
//!
//! ```text
//! last level through 50       entry@12  entry@77  entry@3  entry@90        old: 2 of 4
//! ```
//!
//! With `preclude_last_level_data_seconds` entries go down to the last level when they are old, but only when something
//! compacts their table. A table of which a share of `compact_for_tiering` is old when it is written asks for that: its
//! `NewFile` record is marked. The rule, and the property that tells how many entries are old, are those of RocksDB's
//! `CompactForTieringCollector`. An entry counts as old if a compaction would write it into the last level; a timed put
//! counts with its preferred number, which a compaction gives it unless a snapshot or a range tombstone is in the way.
//! Range tombstones are entries like others.
//!
//! RocksDB's collector takes the entry with the very number of the bound for young, and marks a table by a share of
//! none of no entries; here neither counts.

use ferrock_base::table_properties_collector::CollectorContext;
use ferrock_base::{SequenceNumber, ValueType};
use ferrock_format::properties::TableProperties;

/// How many entries are old, in decimal; absent where none is.
const OLD_ENTRIES_PROPERTY: &[u8] = b"rocksdb.eligible.last.level.entries";

/// Counts the old entries of one table.
#[derive(Clone, Debug)]
pub(crate) struct OldEntries {
    least_share: f64,
    through: SequenceNumber,
    old: u64,
    all: u64,
}

impl OldEntries {
    /// `None` where nothing is counted: a share of 0 or less, a table of the last level, a family that does not place
    /// entries by their age.
    pub(crate) fn new(least_share: f64, context: &CollectorContext) -> Option<Self> {
        let is_last = context.level_at_creation + 1 >= context.num_levels;
        let through = context.last_level_through.filter(|_| least_share > 0.0 && !is_last)?;
        Some(Self { least_share, through, old: 0, all: 0 })
    }

    pub(crate) fn add(&mut self, sequence: SequenceNumber, value_type: ValueType, value: &[u8]) {
        let preferred = value.last_chunk().filter(|_| value_type == ValueType::ValuePreferredSeqno);
        let sequence = preferred.map_or(sequence, |bytes| SequenceNumber(u64::from_le_bytes(*bytes)));
        self.old += u64::from(sequence <= self.through);
        self.all += 1;
    }

    /// Tells how many there are, and returns whether they are enough.
    pub(crate) fn finish(&self, properties: &mut TableProperties) -> bool {
        if self.old > 0 {
            properties.user_collected.insert(OLD_ENTRIES_PROPERTY.to_vec(), self.old.to_string().into_bytes());
        }
        self.old > 0 && self.old as f64 >= self.least_share * self.all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(level_at_creation: usize, through: Option<u64>) -> CollectorContext {
        let last_level_through = through.map(SequenceNumber);
        CollectorContext { column_family_id: 1, level_at_creation, num_levels: 6, last_level_through }
    }

    #[test]
    fn a_share_of_old_entries_is_enough() {
        for (least_share, is_enough) in [(0.1, true), (0.5, true), (0.51, false), (1.0, false), (1.5, false)] {
            let mut entries = OldEntries::new(least_share, &context(1, Some(49))).unwrap();
            (0..100).for_each(|number| entries.add(SequenceNumber(number), ValueType::Value, b"value"));
            let mut properties = TableProperties::for_new_table();
            assert_eq!(entries.finish(&mut properties), is_enough, "{least_share}");
            assert_eq!(properties.user_collected.get(OLD_ENTRIES_PROPERTY), Some(&b"50".to_vec()));
        }
    }

    #[test]
    fn a_timed_put_counts_with_its_preferred_number() {
        let mut entries = OldEntries::new(1.0, &context(0, Some(49))).unwrap();
        for number in 0..50u64 {
            let packed = [b"value", &number.to_le_bytes()[..]].concat();
            entries.add(SequenceNumber(1000), ValueType::ValuePreferredSeqno, &packed);
        }
        assert!(entries.finish(&mut TableProperties::for_new_table()));
        // A damaged one has no such number.
        entries.add(SequenceNumber(1000), ValueType::ValuePreferredSeqno, b"short");
        assert!(!entries.finish(&mut TableProperties::for_new_table()));
    }

    #[test]
    fn where_nothing_can_be_old_nothing_is_counted() {
        assert!(OldEntries::new(0.5, &context(5, Some(49))).is_none(), "the last level");
        assert!(OldEntries::new(0.5, &context(1, None)).is_none(), "no placement by age");
        for off in [0.0, -1.0, f64::NAN] {
            assert!(OldEntries::new(off, &context(1, Some(49))).is_none(), "{off}");
        }
        let mut entries = OldEntries::new(0.5, &context(1, Some(49))).unwrap();
        let mut properties = TableProperties::for_new_table();
        assert!(!entries.finish(&mut properties), "no entries");
        entries.add(SequenceNumber(50), ValueType::Value, b"");
        assert!(!entries.finish(&mut properties) && properties.user_collected.is_empty());
    }
}
