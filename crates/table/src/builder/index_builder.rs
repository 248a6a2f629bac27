//! Collects separators and handles; writes the index block at the end.
//!
//! Whether index keys are user keys or internal keys is known only when the last block is there: one user key that goes
//! on in the next block makes the whole index need internal keys. So entries are kept and encoded once.

use crate::options::IndexShorteningMode;
use ferrock_base::InternalComparator;
use ferrock_base::coding::{put_varint64, zigzag};
use ferrock_base::internal_key::user_key;
use ferrock_format::block::{BlockBuilder, BlockBuilderOptions};
use ferrock_format::handle::BlockHandle;

/// First format version whose index keys may be user keys.
const FIRST_USER_KEY_VERSION: u32 = 3;
/// First format version whose index values may be differences.
const FIRST_DELTA_VERSION: u32 = 4;

#[derive(Debug)]
pub(super) struct IndexBuilder {
    shortening: IndexShorteningMode,
    format_version: u32,
    restart_interval: usize,
    /// Separators behind one another, as internal keys.
    keys: Vec<u8>,
    key_ends: Vec<usize>,
    handles: Vec<BlockHandle>,
    needs_internal_keys: bool,
}

/// The encoded index and what the properties say about it.
#[derive(Debug)]
pub(super) struct BuiltIndex {
    pub(super) block: Vec<u8>,
    pub(super) key_is_user_key: bool,
    pub(super) value_is_delta_encoded: bool,
}

impl IndexBuilder {
    pub(super) fn new(shortening: IndexShorteningMode, format_version: u32, restart_interval: usize) -> Self {
        Self {
            shortening,
            format_version,
            restart_interval,
            keys: Vec::new(),
            key_ends: Vec::new(),
            handles: Vec::new(),
            needs_internal_keys: format_version < FIRST_USER_KEY_VERSION,
        }
    }

    /// Ends a block whose last key is `last`; `next` is the first key of the following one, if there is one.
    pub(super) fn add_separator(&mut self, comparator: &InternalComparator, last: &[u8], next: Option<&[u8]>) {
        let mut separator = last.to_vec();
        match next {
            Some(next) => {
                if comparator.compare_user_keys(last, next).is_eq() {
                    self.needs_internal_keys = true;
                }
                if self.shortening != IndexShorteningMode::NoShortening {
                    comparator.find_shortest_separator(&mut separator, next);
                }
            }
            None if self.shortening == IndexShorteningMode::ShortenSeparatorsAndSuccessor => {
                comparator.find_short_successor(&mut separator);
            }
            None => {}
        }
        self.keys.extend_from_slice(&separator);
        self.key_ends.push(self.keys.len());
    }

    /// Says where the next block without a handle was written.
    pub(super) fn add_handle(&mut self, handle: BlockHandle) {
        self.handles.push(handle);
    }

    pub(super) fn estimated_size(&self) -> u64 {
        (self.keys.len() + self.key_ends.len() * 12) as u64
    }

    pub(super) fn build(&self) -> BuiltIndex {
        let key_is_user_key = !self.needs_internal_keys;
        let value_is_delta_encoded = self.format_version >= FIRST_DELTA_VERSION;
        let mut builder = BlockBuilder::new(BlockBuilderOptions {
            restart_interval: self.restart_interval,
            use_delta_encoding: true,
            use_value_delta_encoding: value_is_delta_encoded,
        });
        let (mut full, mut delta) = (Vec::new(), Vec::new());
        let mut previous: Option<BlockHandle> = None;
        let mut start = 0;
        for (&end, &handle) in self.key_ends.iter().zip(&self.handles) {
            let separator = &self.keys[start..end];
            start = end;
            full.clear();
            delta.clear();
            handle.encode_to(&mut full);
            let before = previous.filter(|before| before.end_with_trailer() == Some(handle.offset));
            if let Some(before) = before {
                put_varint64(&mut delta, zigzag((handle.size as i64).wrapping_sub(before.size as i64)));
            }
            let key = if key_is_user_key { user_key(separator) } else { separator };
            builder.add_index(key, &full, before.map(|_| &delta[..]));
            previous = Some(handle);
        }
        BuiltIndex { block: builder.finish().to_vec(), key_is_user_key, value_is_delta_encoded }
    }
}
