//! Data blocks that wait for a compression dictionary, and the dictionary made of them.

use super::TableBuilderParams;
use crate::charging::Charge;
use ferrock_cache::EntryRole;
use ferrock_format::compression::build_dictionary;

/// A prime, so that steps of this size visit every block, unless the number of blocks is a multiple of it.
const SAMPLE_STEP: u64 = 545_055_921_143;

/// Uncompressed data blocks in file order.
#[derive(Debug)]
pub(super) struct BufferedBlocks {
    blocks: Vec<Vec<u8>>,
    total_bytes: u64,
    charge: Option<Charge>,
    /// The block cache has no room for more.
    is_out_of_room: bool,
}

impl BufferedBlocks {
    /// `None` unless the options ask for a dictionary that would change anything.
    pub(super) fn new(params: &TableBuilderParams) -> Option<Self> {
        let is_wanted = params.compression_options.max_dict_bytes > 0 && params.compression.uses_dictionary();
        let role = EntryRole::CompressionDictionaryBuildingBuffer;
        is_wanted.then(|| Self {
            blocks: Vec::new(),
            total_bytes: 0,
            charge: Charge::begin(params.charging.as_ref(), role),
            is_out_of_room: false,
        })
    }

    pub(super) fn push(&mut self, block: &[u8]) {
        self.total_bytes += block.len() as u64;
        self.blocks.push(block.to_vec());
        if let Some(charge) = &mut self.charge {
            self.is_out_of_room = charge.set(usize::try_from(self.total_bytes).unwrap_or(usize::MAX)).is_err();
        }
    }

    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// True when enough bytes are buffered; without a limit, only when the cache has no room for more.
    pub(super) fn is_full(&self, params: &TableBuilderParams) -> bool {
        let limit = params.compression_options.max_dict_buffer_bytes;
        self.is_out_of_room || (limit > 0 && self.total_bytes >= limit)
    }

    /// Samples blocks from all over the table and makes a dictionary; `None` when there is nothing to learn from.
    ///
    /// The blocks are those that RocksDB takes, so the same blocks make the same dictionary where none is trained: from
    /// the middle on, in steps of [`SAMPLE_STEP`] around the table, until there are enough bytes.
    pub(super) fn dictionary(&self, params: &TableBuilderParams) -> Option<Vec<u8>> {
        let options = &params.compression_options;
        let wanted =
            if options.zstd_max_train_bytes > 0 { options.zstd_max_train_bytes } else { options.max_dict_bytes };
        let mut left = usize::try_from(wanted).unwrap_or(usize::MAX);
        let count = self.blocks.len();
        let step = usize::try_from(SAMPLE_STEP % count.max(1) as u64).unwrap_or(0);
        let (mut samples, mut sizes) = (Vec::new(), Vec::new());
        let mut at = count / 2;
        for _ in 0..count {
            if left == 0 {
                break;
            }
            let block = self.blocks.get(at).map_or(&[][..], Vec::as_slice);
            let sample = &block[..block.len().min(left)];
            left -= sample.len();
            samples.extend_from_slice(sample);
            sizes.push(sample.len());
            at = (at + step) % count;
        }
        let dictionary = build_dictionary(params.compression, options, &samples, &sizes);
        (!dictionary.is_empty()).then_some(dictionary)
    }

    /// The blocks, and what keeps their memory charged.
    pub(super) fn into_blocks(self) -> (Vec<Vec<u8>>, Option<Charge>) {
        (self.blocks, self.charge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::InternalComparator;
    use ferrock_format::compression::CompressionType;

    #[test]
    fn samples_are_those_of_rocksdb() {
        let mut params = TableBuilderParams::new(InternalComparator::default());
        params.compression = CompressionType::Zstd;
        params.compression_options.max_dict_bytes = 8;
        let mut blocks = BufferedBlocks::new(&params).unwrap();
        assert_eq!(blocks.dictionary(&params), None);
        for block in [b"aaa", b"bbb", b"ccc", b"ddd", b"eee"] {
            blocks.push(block);
        }
        // From block 5 / 2 = 2 on, in steps of 545055921143 % 5 = 3. The last sample is cut.
        assert_eq!(blocks.dictionary(&params).unwrap(), b"cccaaadd");
        params.compression_options.max_dict_bytes = 1000;
        assert_eq!(blocks.dictionary(&params).unwrap(), b"cccaaadddbbbeee");
    }
}
