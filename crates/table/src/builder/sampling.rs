//! How large the data blocks of a table would be, compressed by a fast and by a slow codec: `sample_for_compression`.
//!
//! ```text
//! block ---(one in n)---> LZ4, else Snappy      -> fast bytes     properties:   share * compressible + other
//!                  \----> Zstandard, else zlib  -> slow bytes     share:        compressed / sampled bytes
//! ```
//!
//! The codecs run beside that of the table, with the options that they have by default, and what they make is thrown
//! away. A block that one of them does not make small enough counts with the size that it has, and so does every block
//! for a codec that is left out of the build. As in RocksDB: of a table of which no block was drawn, both estimates are
//! the size without compression, so that sums over tables stay whole.
//!
//! Invariant: which blocks are drawn follows from the number of the file, so a table comes out the same again, with any
//! number of threads. RocksDB draws anew each time.

use super::TableBuilderParams;
use super::packing::MAX_COMPRESSED_BLOCK;
use ferrock_base::random::Random;
use ferrock_format::compression::{CompressionOptions, CompressionType, Compressor};
use ferrock_format::properties::TableProperties;
use ferrock_format::trailer::BLOCK_TRAILER_SIZE;

/// Bytes of a block that was drawn, as each of the codecs leaves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) fast: u64,
    pub(super) slow: u64,
}

/// Samples the blocks of one table.
#[derive(Debug)]
pub(super) struct Sampler {
    one_in: u64,
    random: Random,
    fast: Option<Compressor>,
    slow: Option<Compressor>,
    compressed: Vec<u8>,
    /// Bytes of the blocks that were drawn, and what they became.
    drawn: u64,
    sums: Sample,
    /// Bytes of all blocks, and those that compression never changes: trailers, and blocks that are too large for it.
    compressible: u64,
    other: u64,
}

/// The first of the codecs that this build has.
fn first_of(kinds: [CompressionType; 2]) -> Option<Compressor> {
    kinds.into_iter().find_map(|kind| Compressor::new(kind, &CompressionOptions::default(), None).ok())
}

impl Sampler {
    /// `None` where no block is to be drawn.
    pub(super) fn new(params: &TableBuilderParams) -> Option<Self> {
        (params.sample_for_compression > 0).then(|| Self {
            one_in: params.sample_for_compression,
            random: Random::new(params.file_number),
            fast: first_of([CompressionType::Lz4, CompressionType::Snappy]),
            slow: first_of([CompressionType::Zstd, CompressionType::Zlib]),
            compressed: Vec::new(),
            drawn: 0,
            sums: Sample::default(),
            compressible: 0,
            other: 0,
        })
    }

    /// Counts a data block; `Some` if it was drawn.
    pub(super) fn add(&mut self, block: &[u8]) -> Option<Sample> {
        let bytes = block.len() as u64;
        self.other += BLOCK_TRAILER_SIZE as u64;
        *(if block.len() < MAX_COMPRESSED_BLOCK { &mut self.compressible } else { &mut self.other }) += bytes;
        if !self.random.one_in(self.one_in) {
            return None;
        }
        let sample = Sample {
            fast: compressed_bytes(self.fast.as_mut(), block, &mut self.compressed),
            slow: compressed_bytes(self.slow.as_mut(), block, &mut self.compressed),
        };
        self.drawn += bytes;
        self.sums.fast += sample.fast;
        self.sums.slow += sample.slow;
        Some(sample)
    }

    /// Writes the estimates into the properties of the table.
    pub(super) fn describe_in(&self, properties: &mut TableProperties) {
        properties.fast_compression_estimated_data_size = self.estimate(self.sums.fast);
        properties.slow_compression_estimated_data_size = self.estimate(self.sums.slow);
    }

    /// All data blocks, if all become smaller as those that were drawn became `sum` bytes.
    fn estimate(&self, sum: u64) -> u64 {
        if self.drawn == 0 {
            return self.compressible + self.other;
        }
        let share = sum as f64 / self.drawn as f64;
        (share * self.compressible as f64 + self.other as f64 + 0.5) as u64
    }
}

fn compressed_bytes(codec: Option<&mut Compressor>, block: &[u8], out: &mut Vec<u8>) -> u64 {
    let codec = codec.filter(|_| block.len() < MAX_COMPRESSED_BLOCK);
    let is_smaller = codec.is_some_and(|codec| codec.compress(block, out));
    (if is_smaller { out.len() } else { block.len() }) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::InternalComparator;

    fn sampler(one_in: u64, file_number: u64) -> Option<Sampler> {
        let mut params = TableBuilderParams::new(InternalComparator::default());
        (params.sample_for_compression, params.file_number) = (one_in, file_number);
        Sampler::new(&params)
    }

    /// Of `blocks` blocks of 1000 bytes each, of digits that LZ4 finds no more in than that they come twice; how many
    /// were drawn, and the properties.
    fn described(one_in: u64, blocks: usize) -> (usize, TableProperties) {
        let (mut sampler, mut random) = (sampler(one_in, 7).unwrap(), Random::new(1));
        let digits: Vec<u8> = (0..500).map(|_| b'0' + random.below(10) as u8).collect();
        let drawn = (0..blocks).filter(|_| sampler.add(&digits.repeat(2)).is_some()).count();
        let mut properties = TableProperties::for_new_table();
        sampler.describe_in(&mut properties);
        (drawn, properties)
    }

    #[test]
    fn estimates_are_of_all_blocks_whatever_was_drawn() {
        assert!(sampler(0, 1).is_none());
        let (all, of_all) = described(1, 300);
        let (some, of_some) = described(10, 300);
        assert!(all == 300 && (5..80).contains(&some), "{some}");
        let sizes = |properties: &TableProperties| {
            (properties.fast_compression_estimated_data_size, properties.slow_compression_estimated_data_size)
        };
        // The blocks are the same, so any of them tells of all.
        assert_eq!(sizes(&of_all), sizes(&of_some));
        let (fast, slow) = sizes(&of_all);
        let trailers = 300 * BLOCK_TRAILER_SIZE as u64;
        assert!(trailers < slow && slow < fast && fast < 300 * 700 + trailers, "{fast} {slow}");
        // None was drawn.
        let (none, of_none) = described(u64::MAX, 300);
        assert_eq!((none, sizes(&of_none)), (0, (300 * 1000 + trailers, 300 * 1000 + trailers)));
        assert_eq!(sizes(&described(1, 0).1), (0, 0));
    }

    #[test]
    fn what_does_not_become_smaller_counts_with_its_size() {
        let mut random = Random::new(3);
        let noise: Vec<u8> = (0..4000).map(|_| random.next_u64() as u8).collect();
        assert_eq!(sampler(1, 1).unwrap().add(&noise), Some(Sample { fast: 4000, slow: 4000 }));
    }

    #[test]
    fn the_file_number_says_which_blocks_are_drawn() {
        let drawn = |number| {
            let mut sampler = sampler(5, number).unwrap();
            (0..100).map(|_| sampler.add(b"block").is_some()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(8), drawn(8));
        assert_ne!(drawn(8), drawn(9));
    }
}
