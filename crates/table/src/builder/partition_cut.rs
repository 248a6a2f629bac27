//! Cuts blocks where large partitions end (`partition_cut`). A partition is all keys of one prefix.
//!
//! ```text
//! size cuts       | a a a b | b b b b | b b c d |          b is large: a block ended by its size between rows of it
//! partition cuts  | a a a b | b b b b | b b | c d |        it ends on a cut, however small its last block
//! ```
//!
//! So a partition that spans two blocks ends on a cut, and as the separators between different prefixes are last keys,
//! the index alone tells where it ends: see `reader/row_bounds.rs`. Small partitions go on sharing blocks.
//!
//! A table of many partitions that lie over the end of a block would gain too many blocks. When cuts have added a tenth
//! (and a few), it continues with a weaker guarantee: that a partition with rows in 4 blocks ends on a cut, and at last
//! in 12, where each added block has eleven others that the partition filled, so that a tenth is never passed. Earlier
//! cuts satisfy the weaker guarantee, too. The property names the guarantee of the table as a whole.
//!
//! A partition may be declared large (`large_partitions`): it begins with a cut, too. With `dense_block_size` the
//! blocks of a large partition have a size of their own, from the second on or, where it was declared, from the first;
//! as its index grows beyond `dense_index_limit` they become larger.
//!
//! Prefixes are those of `rocksdb.FixedPrefix`, `rocksdb.CappedPrefix` and `ferrock.Components`: all keys between two
//! of one prefix have it, too.

use crate::options::{BlockBasedTableOptions, LargePartitions};
use ferrock_base::Comparator;
use ferrock_base::prefix::PrefixExtractor;

/// Blocks with rows of a partition from which on it is cut: the guarantees, strongest first.
const GUARANTEES: [u64; 3] = [2, 4, 12];
/// Blocks that cuts may add to any table.
const FREE_BLOCKS: u64 = 8;
/// Cuts may add one more block for each this many blocks that end by their size.
const SIZE_CUTS_PER_BLOCK: u64 = 10;

/// Blocks do not grow beyond this.
const MAX_BLOCK_BYTES: u64 = 1 << 31;

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

/// Sizes of the blocks of large partitions.
#[derive(Clone, Copy, Debug)]
struct DenseBlocks {
    /// Of the blocks of all others.
    shared_bytes: u64,
    bytes: u64,
    /// 0: none.
    index_limit: u64,
    /// Bytes of the index where the running partition began.
    index_before: u64,
}

impl DenseBlocks {
    fn new(options: &BlockBasedTableOptions) -> Option<Self> {
        let (shared_bytes, bytes) = (options.block_size, options.dense_block_size);
        let dense = Self { shared_bytes, bytes, index_limit: options.dense_index_limit, index_before: 0 };
        (bytes > 0).then_some(dense)
    }

    /// Of the next block of a large partition.
    fn scaled(&self, index_bytes: u64) -> u64 {
        let doublings = index_bytes.saturating_sub(self.index_before).checked_div(self.index_limit).unwrap_or(0);
        self.bytes.saturating_mul(1 << doublings.min(31)).min(MAX_BLOCK_BYTES)
    }
}

/// Decides on cuts, key by key.
#[derive(Debug)]
pub(super) struct PartitionCut {
    extractor: PrefixExtractor,
    /// The block with the first row of the running partition.
    first_block: usize,
    /// Blocks that ended since that row.
    inner_cuts: u64,
    /// True if the partition was declared large.
    is_declared: bool,
    declared: LargePartitions,
    /// Index of the guarantee in force.
    guarantee: usize,
    dense: Option<DenseBlocks>,
    added_blocks: u64,
    end: BlockEnd,
}

impl PartitionCut {
    /// `None` without an extractor that defines where a partition ends, and under an order in which a key between two
    /// keys of one prefix may have another prefix.
    pub(super) fn new(
        extractor: Option<&PrefixExtractor>,
        order: &Comparator,
        options: &BlockBasedTableOptions,
    ) -> Option<Self> {
        if matches!(order, Comparator::Custom(_)) {
            return None;
        }
        let extractor = extractor.filter(|extractor| extractor.is_piece())?.clone();
        Some(Self {
            extractor,
            first_block: 0,
            inner_cuts: 0,
            is_declared: false,
            guarantee: 0,
            declared: options.large_partitions.clone(),
            dense: DenseBlocks::new(options),
            added_blocks: 0,
            end: BlockEnd::default(),
        })
    }

    /// Notes the first user key of the table.
    pub(super) fn begin(&mut self, first: &[u8]) {
        self.is_declared = self.declares(first);
    }

    /// Blocks with rows of a partition from which on it ends on a cut.
    fn min_blocks(&self) -> u64 {
        GUARANTEES[self.guarantee]
    }

    /// True when the running partition must end on a cut if it goes on in the open block.
    fn must_end(&self) -> bool {
        self.inner_cuts + 1 >= self.min_blocks()
    }

    fn is_large(&self) -> bool {
        self.is_declared || self.must_end()
    }

    fn declares(&self, key: &[u8]) -> bool {
        self.extractor.prefix(key).is_some_and(|prefix| self.declared.contains(prefix))
    }

    /// Bytes of the block that begins now, where that is not the same for all; `index_bytes` are those of the index so
    /// far.
    pub(super) fn block_bytes(&self, index_bytes: u64) -> Option<u64> {
        let dense = self.dense.as_ref()?;
        Some(if self.is_large() { dense.scaled(index_bytes) } else { dense.shared_bytes })
    }

    /// Whether the block ends between two user keys. `is_full` says that it does by its size, `blocks` how many have
    /// ended and `index_bytes` what their index takes.
    pub(super) fn decide(&mut self, last: &[u8], next: &[u8], is_full: bool, blocks: u64, index_bytes: u64) -> bool {
        let open_block = usize::try_from(blocks).unwrap_or(usize::MAX);
        let changes = self.extractor.prefix(last) != self.extractor.prefix(next);
        let starts_declared = changes && self.declares(next);
        let adds = changes && !is_full && self.adds_cut(starts_declared, blocks);
        self.added_blocks += u64::from(adds);
        let cuts = is_full || adds;
        self.inner_cuts += u64::from(is_full && !changes);
        if cuts {
            let is_large = self.is_large();
            self.end = BlockEnd {
                is_exact: changes,
                large_since: is_large.then_some(self.first_block),
                ends_large: is_large && changes,
            };
        }
        if changes {
            self.first_block = open_block + usize::from(cuts);
            self.inner_cuts = 0;
            self.is_declared = starts_declared;
            if let Some(dense) = &mut self.dense {
                dense.index_before = index_bytes;
            }
        }
        cuts
    }

    /// Whether a block that is not full ends between two partitions. When too many have been added, fewer partitions
    /// count as large from then on, and a declaration alone adds none.
    fn adds_cut(&mut self, starts_declared: bool, blocks: u64) -> bool {
        let size_cuts = blocks - self.added_blocks;
        if self.added_blocks < FREE_BLOCKS + size_cuts / SIZE_CUTS_PER_BLOCK {
            return self.is_large() || starts_declared;
        }
        while self.must_end() && self.guarantee + 1 < GUARANTEES.len() {
            self.guarantee += 1;
        }
        self.must_end()
    }

    /// How the block ends that was decided on last.
    pub(super) fn block_end(&self) -> BlockEnd {
        self.end
    }

    /// How the last block of the table ends.
    pub(super) fn table_end(&self) -> BlockEnd {
        BlockEnd { is_exact: true, ..BlockEnd::default() }
    }

    /// The guarantee of the finished table: a partition by this extractor with rows in so many blocks ends on a cut.
    pub(super) fn kept_guarantee(&self) -> (&PrefixExtractor, u64) {
        (&self.extractor, self.min_blocks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::comparator::CustomComparator;

    fn with(extractor: Option<&PrefixExtractor>, order: &Comparator) -> Option<PartitionCut> {
        PartitionCut::new(extractor, order, &BlockBasedTableOptions::default())
    }

    fn new(prefix: usize) -> PartitionCut {
        with(Some(&PrefixExtractor::Fixed(prefix)), &Comparator::Bytewise).unwrap()
    }

    /// Cuts of keys by their number of rows in a block.
    fn cuts(cut: &mut PartitionCut, keys: &[&str], rows: usize) -> Vec<usize> {
        let (mut in_block, mut ends) = (1, Vec::new());
        for (at, pair) in keys.windows(2).enumerate() {
            let blocks = ends.len() as u64;
            if cut.decide(pair[0].as_bytes(), pair[1].as_bytes(), in_block == rows, blocks, 0) {
                ends.push(at + 1);
                in_block = 0;
            }
            in_block += 1;
        }
        ends
    }

    #[test]
    fn a_large_partition_ends_on_a_cut_and_small_ones_share() {
        let mut cut = new(1);
        let keys = ["a1", "a2", "b1", "b2", "b3", "b4", "b5", "c1", "d1", "e1", "e2"];
        assert_eq!(cuts(&mut cut, &keys, 3), [3, 6, 7, 10]);
        assert_eq!(cut.kept_guarantee().1, 2);
        // The cut inside e: the block began with c.
        let expected = BlockEnd { is_exact: false, large_since: Some(3), ends_large: false };
        assert_eq!(cut.block_end(), expected);
    }

    #[test]
    fn a_declared_partition_begins_and_ends_on_a_cut() {
        let mut cut = new(1);
        cut.declared = LargePartitions::new([b"b".to_vec(), b"c".to_vec(), b"e".to_vec()]);
        cut.begin(b"a1");
        let keys = ["a1", "b1", "b2", "c1", "d1", "d2", "e1", "e2", "e3", "e4", "f1"];
        assert_eq!(cuts(&mut cut, &keys, 3), [1, 3, 4, 6, 9, 10]);
        assert_eq!(cut.block_end(), BlockEnd { is_exact: true, large_since: Some(4), ends_large: true });
        assert_eq!(cut.kept_guarantee().1, 2);
        cut.begin(b"e1");
        assert!(cut.is_large());
    }

    #[test]
    fn blocks_of_large_partitions_have_their_own_size() {
        let options = BlockBasedTableOptions {
            dense_block_size: 1000,
            dense_index_limit: 300,
            large_partitions: LargePartitions::new([b"c".to_vec()]),
            ..BlockBasedTableOptions::default()
        };
        let extractor = PrefixExtractor::Fixed(1);
        let mut cut = PartitionCut::new(Some(&extractor), &Comparator::Bytewise, &options).unwrap();
        cut.begin(b"a1");
        assert_eq!(cut.block_bytes(0), Some(4096));
        assert!(!cut.decide(b"a1", b"b1", false, 0, 7));
        assert_eq!(cut.block_bytes(7), Some(4096));
        // It turns out to be large.
        assert!(cut.decide(b"b1", b"b2", true, 0, 7));
        assert_eq!(cut.block_bytes(7), Some(1000));
        assert_eq!(
            [306, 307, 606, 607, 907].map(|bytes| cut.block_bytes(bytes).unwrap()),
            [1000, 2000, 2000, 4000, 8000]
        );
        assert_eq!(cut.block_bytes(u64::MAX), Some(1 << 31));
        // A declared one follows, and one that is small.
        assert!(cut.decide(b"b2", b"c1", false, 1, 700));
        assert_eq!([700, 1000].map(|bytes| cut.block_bytes(bytes).unwrap()), [1000, 2000]);
        assert!(cut.decide(b"c1", b"d1", false, 2, 800));
        assert_eq!(cut.block_bytes(5000), Some(4096));
        let never = DenseBlocks { index_limit: 0, ..cut.dense.unwrap() };
        assert_eq!(never.scaled(u64::MAX), 1000);
        assert_eq!(new(1).block_bytes(0), None);
    }

    /// Partitions of so many rows each.
    fn partitions(rows: &[usize]) -> Vec<String> {
        let of_one = |(number, &rows): (usize, &usize)| (0..rows).map(move |row| format!("{number:03}{row:04}"));
        rows.iter().enumerate().flat_map(of_one).collect()
    }

    #[test]
    fn too_many_cuts_make_fewer_partitions_large() {
        // Rows of all partitions, in blocks of three, and the guarantee of the table.
        let cases: [(Vec<usize>, u64); 4] = [
            (vec![4; 100], 4),
            ((0..100).map(|at| if at % 10 == 7 { 40 } else { 4 }).collect(), 4),
            (vec![11; 100], 12),
            (vec![100; 50], 2),
        ];
        for (rows, guarantee) in cases {
            let mut cut = new(3);
            let keys = partitions(&rows);
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let ends = cuts(&mut cut, &keys, 3);
            assert_eq!(cut.kept_guarantee().1, guarantee, "{rows:?}");
            let size_cuts = ends.len() as u64 - cut.added_blocks;
            assert!(cut.added_blocks <= FREE_BLOCKS + size_cuts / SIZE_CUTS_PER_BLOCK, "{rows:?}");
            // A partition with rows in so many blocks ends on a cut.
            let mut first = 0;
            for &rows in &rows {
                let end = first + rows;
                let blocks = 1 + ends.iter().filter(|&&cut| first < cut && cut < end).count() as u64;
                assert!(blocks < guarantee || end == keys.len() || ends.contains(&end), "{blocks} blocks up to {end}");
                first = end;
            }
        }
    }

    #[test]
    fn declarations_alone_add_no_more_than_a_tenth() {
        let mut cut = new(3);
        cut.declared = LargePartitions::new((0..100).map(|number| format!("{number:03}").into_bytes()));
        let keys = partitions(&[1; 100]);
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let ends = cuts(&mut cut, &keys, 5);
        assert_eq!(cut.kept_guarantee().1, 2);
        assert!(ends.len() <= 100 / 5 + 9, "{ends:?}");
    }

    #[test]
    fn extractors_without_an_end_are_left_alone() {
        assert!(with(Some(&PrefixExtractor::Noop), &Comparator::Bytewise).is_none());
        assert!(with(None, &Comparator::Bytewise).is_none());
        let fixed = PrefixExtractor::Fixed(3);
        assert!(with(Some(&fixed), &Comparator::ReverseBytewise).is_some());
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
        assert!(with(Some(&PrefixExtractor::Fixed(1)), &order).is_none());
    }
}
