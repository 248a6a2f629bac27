//! Data blocks that wait for a compression dictionary, and the dictionary made of them.

use super::TableBuilderParams;
use ferrock_format::compression::build_dictionary;

/// Uncompressed data blocks in file order.
#[derive(Debug, Default)]
pub(super) struct BufferedBlocks {
    blocks: Vec<Vec<u8>>,
    total_bytes: u64,
}

impl BufferedBlocks {
    /// True when the options ask for a dictionary that would change anything.
    pub(super) fn wanted(params: &TableBuilderParams) -> bool {
        params.compression_options.max_dict_bytes > 0 && params.compression.uses_dictionary()
    }

    pub(super) fn push(&mut self, block: &[u8]) {
        self.total_bytes += block.len() as u64;
        self.blocks.push(block.to_vec());
    }

    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// True when enough is there; without a limit, the whole table is.
    pub(super) fn is_full(&self, params: &TableBuilderParams) -> bool {
        let limit = params.compression_options.max_dict_buffer_bytes;
        limit > 0 && self.total_bytes >= limit
    }

    /// Samples blocks evenly over the table and makes a dictionary; `None` when there is nothing to learn from.
    pub(super) fn dictionary(&self, params: &TableBuilderParams) -> Option<Vec<u8>> {
        let options = &params.compression_options;
        let wanted = u64::from(if options.zstd_max_train_bytes > 0 {
            options.zstd_max_train_bytes
        } else {
            options.max_dict_bytes
        });
        let stride = usize::try_from(self.total_bytes.div_ceil(wanted.max(1))).unwrap_or(1).max(1);
        let mut left = usize::try_from(wanted).unwrap_or(usize::MAX);
        let (mut samples, mut sizes) = (Vec::new(), Vec::new());
        for block in self.blocks.iter().step_by(stride) {
            let sample = &block[..block.len().min(left)];
            left -= sample.len();
            if !sample.is_empty() {
                samples.extend_from_slice(sample);
                sizes.push(sample.len());
            }
        }
        let dictionary = build_dictionary(params.compression, options, &samples, &sizes);
        (!dictionary.is_empty()).then_some(dictionary)
    }

    pub(super) fn into_blocks(self) -> Vec<Vec<u8>> {
        self.blocks
    }
}
