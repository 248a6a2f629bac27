//! How large the data blocks of a table are in its file, by the index alone.
//!
//! ```text
//! bucket    [ 1 ] [ 2 3 ] [ 4 .. 7 ]  ..  [ 4096 .. 8191 ]  ..      bytes, with the trailer of the block
//!             0       1        2                 12
//! ```
//!
//! An index entry has the size of its block, so no data is read: the index, or its partitions one after the other. The
//! caller says how many blocks are enough, which bounds the work for a table of any size, and the histogram says where
//! it is not of all.

use super::{BlockTable, TableReadOptions};
use ferrock_base::Result;
use std::ops::RangeInclusive;

/// Buckets, one for each bit of a size.
const BUCKETS: usize = 64;

/// Data blocks by their bytes in the file, trailers included, in buckets of powers of two.
///
/// The sum of all sizes is the property `data_size` of the table, where the histogram is of all blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataBlockHistogram {
    /// Blocks that were counted.
    pub blocks: u64,
    /// Their bytes.
    pub stored_bytes: u64,
    /// Bytes of the smallest; 0 without blocks.
    pub smallest_bytes: u64,
    /// Bytes of the largest; 0 without blocks.
    pub largest_bytes: u64,
    /// False where the table has more blocks than were looked at, which are the first ones.
    pub is_of_all: bool,
    counts: [u64; BUCKETS],
}

impl Default for DataBlockHistogram {
    fn default() -> Self {
        let counts = [0; BUCKETS];
        Self { blocks: 0, stored_bytes: 0, smallest_bytes: 0, largest_bytes: 0, is_of_all: true, counts }
    }
}

impl DataBlockHistogram {
    fn add(&mut self, bytes: u64) {
        self.smallest_bytes = if self.blocks == 0 { bytes } else { self.smallest_bytes.min(bytes) };
        self.largest_bytes = self.largest_bytes.max(bytes);
        self.blocks += 1;
        self.stored_bytes += bytes;
        self.counts[bytes.max(1).ilog2() as usize] += 1;
    }

    /// The sizes of each bucket and the blocks in it, from the first that has any to the last, empty ones between them
    /// included.
    pub fn buckets(&self) -> impl Iterator<Item = (RangeInclusive<u64>, u64)> + '_ {
        let first = self.counts.iter().position(|count| *count > 0).unwrap_or(BUCKETS);
        let end = self.counts.iter().rposition(|count| *count > 0).map_or(first, |last| last + 1);
        (first..end).map(|bucket| {
            let from = 1_u64 << bucket;
            (from..=from + (from - 1), self.counts[bucket])
        })
    }
}

impl BlockTable {
    /// Sizes of the first `most_blocks` data blocks. Reads the index alone, past the cache, and of an index of
    /// partitions those that these blocks are in.
    ///
    /// # Errors
    /// `Io` or `Corruption` of an index block, naming the file; `Corruption` of a block that reaches beyond the file.
    pub fn data_block_histogram(&self, most_blocks: u64) -> Result<DataBlockHistogram> {
        let options = TableReadOptions { fill_cache: false, ..TableReadOptions::default() };
        let mut histogram = DataBlockHistogram::default();
        let walk = self.blocks.visit_data_blocks(&options, &mut |position| {
            if histogram.blocks == most_blocks {
                histogram.is_of_all = false;
                return Ok(false);
            }
            histogram.add(self.loader().stored_length(position.entry()?.handle)? as u64);
            Ok(true)
        });
        walk.map_err(|error| self.loader().in_file(error))?;
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_in_the_bucket_of_its_highest_bit() {
        let mut histogram = DataBlockHistogram::default();
        assert_eq!(histogram.buckets().count(), 0);
        for bytes in [4095, 4096, 8191, 700, u64::from(u32::MAX)] {
            histogram.add(bytes);
        }
        let buckets: Vec<_> = histogram.buckets().filter(|(_, count)| *count > 0).collect();
        assert_eq!(buckets, [(512..=1023, 1), (2048..=4095, 1), (4096..=8191, 2), (1 << 31..=(1 << 32) - 1, 1)]);
        assert_eq!(histogram.buckets().count(), 23, "those between are there");
        assert_eq!(
            (histogram.blocks, histogram.smallest_bytes, histogram.largest_bytes),
            (5, 700, u64::from(u32::MAX))
        );
        histogram.add(u64::MAX >> 1);
        assert_eq!(histogram.buckets().last(), Some((1 << 62..=(1 << 62) + ((1 << 62) - 1), 1)));
    }
}
