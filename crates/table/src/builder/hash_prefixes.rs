//! The hash part of a hash-search index: which data blocks hold the keys of a prefix.
//!
//! ```text
//! prefixes   | prefix | prefix | ...                                        all of them, in key order
//! metadata   | prefix length varint32 | first block varint32 | blocks varint32 | ...
//! ```
//!
//! Blocks are numbered from 0. A key without a prefix is in none of them; a lookup of such a key bisects the index.

use ferrock_base::coding::put_varint32;
use ferrock_base::prefix::PrefixExtractor;

#[derive(Debug)]
pub(super) struct HashPrefixes {
    extractor: PrefixExtractor,
    prefixes: Vec<u8>,
    metadata: Vec<u8>,
    /// The prefix of the keys added last.
    pending: Vec<u8>,
    first_block: usize,
    /// 0: no prefix is open.
    block_count: usize,
}

impl HashPrefixes {
    pub(super) fn new(extractor: PrefixExtractor) -> Self {
        Self {
            extractor,
            prefixes: Vec::new(),
            metadata: Vec::new(),
            pending: Vec::new(),
            first_block: 0,
            block_count: 0,
        }
    }

    /// Notes that a key is in a block.
    #[inline]
    pub(super) fn add_key(&mut self, user_key: &[u8], block: usize) {
        let Some(prefix) = self.extractor.prefix(user_key) else { return };
        if self.block_count > 0 && self.pending == prefix {
            self.block_count = block - self.first_block + 1;
            return;
        }
        if self.block_count > 0 {
            flush(&self.pending, self.first_block, self.block_count, &mut self.prefixes, &mut self.metadata);
        }
        self.pending.clear();
        self.pending.extend_from_slice(prefix);
        self.first_block = block;
        self.block_count = 1;
    }

    /// Metadata and prefixes.
    pub(super) fn finish(&mut self) -> (&[u8], &[u8]) {
        if self.block_count > 0 {
            flush(&self.pending, self.first_block, self.block_count, &mut self.prefixes, &mut self.metadata);
            self.block_count = 0;
        }
        (&self.metadata, &self.prefixes)
    }
}

fn flush(prefix: &[u8], first_block: usize, block_count: usize, prefixes: &mut Vec<u8>, metadata: &mut Vec<u8>) {
    prefixes.extend_from_slice(prefix);
    for number in [prefix.len(), first_block, block_count] {
        put_varint32(metadata, number as u32);
    }
}
