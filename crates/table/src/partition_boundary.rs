//! Which partitions of a table are guaranteed to end on a block boundary, as its properties record it.
//!
//! ```text
//! ferrock.partition-cut        EXTRACTOR          a partition with rows in two blocks ends on a cut
//! ferrock.partition-cut-from   BLOCKS EXTRACTOR   one with rows in so many does
//! ```
//!
//! The second is for tables in which the first would have cost too many blocks (see `builder/partition_cut.rs`). A
//! reader that does not know it ignores it.

use ferrock_base::prefix::PrefixExtractor;
use ferrock_format::properties::TableProperties;

/// Property of a table whose partitions of several blocks end on cuts: its value is the name of the prefix extractor.
pub const PARTITION_CUT_PROPERTY: &[u8] = b"ferrock.partition-cut";

/// Property of a table whose partitions end on cuts only from more than two blocks on: that number and the name of the
/// extractor.
pub const PARTITION_CUT_FROM_PROPERTY: &[u8] = b"ferrock.partition-cut-from";

/// The guarantee that a partition by the extractor with rows in `min_blocks` data blocks or more ends on a cut.
#[derive(Clone, Debug)]
pub(crate) struct PartitionBoundary {
    pub(crate) extractor: PrefixExtractor,
    /// At least 2.
    pub(crate) min_blocks: usize,
}

impl PartitionBoundary {
    /// The property that records the guarantee, and its value.
    pub(crate) fn describe(extractor: &PrefixExtractor, min_blocks: u64) -> (&'static [u8], Vec<u8>) {
        let name = extractor.name();
        if min_blocks <= 2 {
            (PARTITION_CUT_PROPERTY, name.into_bytes())
        } else {
            (PARTITION_CUT_FROM_PROPERTY, format!("{min_blocks} {name}").into_bytes())
        }
    }

    /// The guarantee of a table for partitions by this extractor.
    pub(crate) fn of(properties: &TableProperties, extractor: &PrefixExtractor) -> Option<Self> {
        if !extractor.is_piece() {
            return None;
        }
        let name = extractor.name();
        let of_property = |property: &[u8]| properties.user_collected.get(property).map(Vec::as_slice);
        if of_property(PARTITION_CUT_PROPERTY) == Some(name.as_bytes()) {
            return Some(Self { extractor: extractor.clone(), min_blocks: 2 });
        }
        let (blocks, cut_by) = std::str::from_utf8(of_property(PARTITION_CUT_FROM_PROPERTY)?).ok()?.split_once(' ')?;
        let min_blocks = blocks.parse().ok().filter(|blocks| (2..=MAX_BLOCKS).contains(blocks))?;
        (cut_by == name).then(|| Self { extractor: extractor.clone(), min_blocks })
    }
}

/// Bounds the index entries that a lookup walks over.
const MAX_BLOCKS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_is_read_as_it_was_written() {
        let extractor = PrefixExtractor::Fixed(3);
        let read = |property: &[u8], value: &[u8], extractor| {
            let mut properties = TableProperties::for_new_table();
            properties.user_collected.insert(property.to_vec(), value.to_vec());
            PartitionBoundary::of(&properties, extractor).map(|boundary| boundary.min_blocks)
        };
        for min_blocks in [2, 4, 12] {
            let (property, value) = PartitionBoundary::describe(&extractor, min_blocks);
            assert_eq!(property == PARTITION_CUT_PROPERTY, min_blocks == 2);
            assert_eq!(read(property, &value, &extractor), Some(min_blocks as usize));
            assert_eq!(read(property, &value, &PrefixExtractor::Fixed(4)), None);
        }
        for wrong in [
            &b"1 rocksdb.FixedPrefix.3"[..],
            b"65 rocksdb.FixedPrefix.3",
            b"rocksdb.FixedPrefix.3",
            b"\xff",
            b"-4 x",
            b"",
        ] {
            assert_eq!(read(PARTITION_CUT_FROM_PROPERTY, wrong, &extractor), None);
        }
        assert_eq!(read(PARTITION_CUT_PROPERTY, PrefixExtractor::Noop.name().as_bytes(), &PrefixExtractor::Noop), None);
    }
}
