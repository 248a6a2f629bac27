//! Cuts blocks where large partitions end (`partition_cut`). A partition is all keys of one prefix.
//!
//! ```text
//! size cuts       | a a a b | b b b b | b b c d |          b is large: a block ended by its size between rows of it
//! partition cuts  | a a a b | b b b b | b b | c d |        it ends on a cut, however small its last block
//! ```
//!
//! So a partition that spans two blocks ends on a cut, and as the separators between different prefixes are last keys, the
//! index alone tells where it ends: see `reader/row_bounds.rs`. Small partitions go on sharing blocks. A table of many
//! partitions just above the size of a block would gain too many blocks: beyond a tenth (and a few) it goes on with cuts by
//! size, and does not carry the property that promises more.
//!
//! Prefixes are those of `rocksdb.FixedPrefix` and `rocksdb.CappedPrefix`: all keys between two of one prefix have it, too.

use ferrock_base::Comparator;
use ferrock_base::prefix::PrefixExtractor;

/// Blocks that cuts may add to any table.
const FREE_BLOCKS: u64 = 8;
/// And one for this many blocks that are cut by their size.
const SIZE_CUTS_PER_BLOCK: u64 = 10;

/// How a block ends, for the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockEnd {
    /// The separator is the last key as it is.
    pub(super) is_exact: bool,
    /// The block ends inside or with a partition of several blocks, of which this is the first.
    pub(super) large_since: Option<usize>,
    /// That partition ends here.
    pub(super) ends_large: bool,
}

/// Decides on cuts, key by key.
#[derive(Debug)]
pub(super) struct PartitionCut {
    extractor: PrefixExtractor,
    /// The block with the first row of the running partition.
    first_block: usize,
    /// A block ended since that row.
    is_large: bool,
    added_blocks: u64,
    has_given_up: bool,
    end: BlockEnd,
}

impl PartitionCut {
    /// `None` without an extractor that can say where a partition ends, and under an order in which keys between two of a
    /// prefix may have another.
    pub(super) fn new(extractor: Option<&PrefixExtractor>, order: &Comparator) -> Option<Self> {
        if matches!(order, Comparator::Custom(_)) {
            return None;
        }
        let extractor = extractor.filter(|extractor| extractor.full_length().is_some())?.clone();
        Some(Self {
            extractor,
            first_block: 0,
            is_large: false,
            added_blocks: 0,
            has_given_up: false,
            end: BlockEnd::default(),
        })
    }

    /// Whether the block ends between two user keys. `is_full` says that it does by its size, `blocks` how many have ended.
    pub(super) fn decide(&mut self, last: &[u8], next: &[u8], is_full: bool, blocks: u64) -> bool {
        if self.has_given_up {
            self.end = BlockEnd::default();
            return is_full;
        }
        let open_block = usize::try_from(blocks).unwrap_or(usize::MAX);
        let changes = self.extractor.prefix(last) != self.extractor.prefix(next);
        let mut cuts = is_full;
        if changes && self.is_large && !is_full {
            let size_cuts = blocks - self.added_blocks;
            if self.added_blocks >= FREE_BLOCKS + size_cuts / SIZE_CUTS_PER_BLOCK {
                self.has_given_up = true;
                self.end = BlockEnd::default();
                return false;
            }
            self.added_blocks += 1;
            cuts = true;
        }
        self.is_large |= is_full && !changes;
        if cuts {
            self.end = BlockEnd {
                is_exact: changes,
                large_since: self.is_large.then_some(self.first_block),
                ends_large: self.is_large && changes,
            };
        }
        if changes {
            self.first_block = open_block + usize::from(cuts);
            self.is_large = false;
        }
        cuts
    }

    /// How the block ends that was decided on last.
    pub(super) fn block_end(&self) -> BlockEnd {
        self.end
    }

    /// How the last block of the table ends.
    pub(super) fn table_end(&self) -> BlockEnd {
        BlockEnd { is_exact: !self.has_given_up, ..BlockEnd::default() }
    }

    /// The extractor by which every partition of several blocks ended on a cut.
    pub(super) fn kept_promise(&self) -> Option<&PrefixExtractor> {
        (!self.has_given_up).then_some(&self.extractor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::comparator::CustomComparator;

    /// Cuts of keys by their number of rows in a block.
    fn cuts(cut: &mut PartitionCut, keys: &[&str], rows: usize) -> Vec<usize> {
        let (mut in_block, mut ends) = (1, Vec::new());
        for (at, pair) in keys.windows(2).enumerate() {
            let blocks = ends.len() as u64;
            if cut.decide(pair[0].as_bytes(), pair[1].as_bytes(), in_block == rows, blocks) {
                ends.push(at + 1);
                in_block = 0;
            }
            in_block += 1;
        }
        ends
    }

    #[test]
    fn a_large_partition_ends_on_a_cut_and_small_ones_share() {
        let mut cut = PartitionCut::new(Some(&PrefixExtractor::Fixed(1)), &Comparator::Bytewise).unwrap();
        let keys = ["a1", "a2", "b1", "b2", "b3", "b4", "b5", "c1", "d1", "e1", "e2"];
        assert_eq!(cuts(&mut cut, &keys, 3), [3, 6, 7, 10]);
        assert!(cut.kept_promise().is_some());
        // The cut inside e: the block began with c.
        let expected = BlockEnd { is_exact: false, large_since: Some(3), ends_large: false };
        assert_eq!(cut.block_end(), expected);
    }

    #[test]
    fn too_many_cuts_end_them_all() {
        let mut cut = PartitionCut::new(Some(&PrefixExtractor::Fixed(3)), &Comparator::Bytewise).unwrap();
        // Two blocks each, the second of a single row.
        let keys: Vec<String> = (0..100).flat_map(|p| (0..4).map(move |row| format!("{p:03}{row}"))).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let ends = cuts(&mut cut, &keys, 3);
        assert!(cut.kept_promise().is_none());
        assert_eq!(cut.added_blocks, FREE_BLOCKS);
        let by_size = keys.len() as u64 / 3;
        assert!(ends.len() as u64 <= by_size + FREE_BLOCKS, "{}", ends.len());
    }

    #[test]
    fn extractors_without_a_length_are_left_alone() {
        assert!(PartitionCut::new(Some(&PrefixExtractor::Noop), &Comparator::Bytewise).is_none());
        assert!(PartitionCut::new(None, &Comparator::Bytewise).is_none());
        let fixed = PrefixExtractor::Fixed(3);
        assert!(PartitionCut::new(Some(&fixed), &Comparator::ReverseBytewise).is_some());
    }

    /// Under it `a1`, `b2`, `a3` are in order, so that a partition may go on behind a block that ends with another.
    struct BySecondByte;

    impl CustomComparator for BySecondByte {
        fn name(&self) -> &'static str {
            "by-second-byte"
        }
        fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
            a.get(1).cmp(&b.get(1)).then_with(|| a.cmp(b))
        }
    }

    #[test]
    fn a_callers_own_order_is_left_alone() {
        let order = Comparator::Custom(std::sync::Arc::new(BySecondByte));
        assert!(order.compare(b"a1", b"b2").is_lt() && order.compare(b"b2", b"a3").is_lt());
        assert!(PartitionCut::new(Some(&PrefixExtractor::Fixed(1)), &order).is_none());
    }
}
