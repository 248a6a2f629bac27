//! Writes key/value blocks.

use super::entry::shared_prefix;
use super::hash_index::HashIndexBuilder;
use super::layout::{HAS_HASH_INDEX, HAS_SEPARATE_VALUES, IS_UNIFORM};
use super::uniformity::is_uniform;
use ferrock_base::coding::{put_fixed32, put_varint32, varint_len};
use ferrock_base::internal_key::user_key;

/// How a block is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockBuilderOptions {
    /// Number of entries from one restart to the next, at least 1.
    pub restart_interval: usize,
    /// Whether keys share bytes with their predecessor.
    pub use_delta_encoding: bool,
    /// True for index blocks, whose values have no length and may be differences.
    pub use_value_delta_encoding: bool,
}

impl Default for BlockBuilderOptions {
    fn default() -> Self {
        Self { restart_interval: 16, use_delta_encoding: true, use_value_delta_encoding: false }
    }
}

/// Builds one block after the other in the same memory. Keys must be added in order.
///
/// ```
/// use ferrock_format::block::{BlockBuilder, BlockBuilderOptions, MetaBlock};
/// let mut builder = BlockBuilder::new(BlockBuilderOptions::default());
/// builder.add(b"apple", b"1");
/// builder.add(b"apply", b"2");
/// let block = builder.finish();
/// assert_eq!(MetaBlock::new(block).unwrap().entries().unwrap()[1], (b"apply".to_vec(), &b"2"[..]));
/// ```
#[derive(Clone, Debug)]
pub struct BlockBuilder {
    options: BlockBuilderOptions,
    hash_index: Option<HashIndexBuilder>,
    /// The values, where they lie behind the keys.
    values: Option<Vec<u8>>,
    /// How unevenly restart keys may be spread for the hint, and how many bytes at their ends do not count.
    uniform_hint: Option<(f64, usize)>,
    is_uniform: bool,
    buffer: Vec<u8>,
    restarts: Vec<u32>,
    since_restart: usize,
    last_key: Vec<u8>,
    entry_count: usize,
}

impl BlockBuilder {
    /// A builder of empty blocks.
    #[must_use]
    pub fn new(options: BlockBuilderOptions) -> Self {
        Self {
            options: BlockBuilderOptions { restart_interval: options.restart_interval.max(1), ..options },
            hash_index: None,
            values: None,
            uniform_hint: None,
            is_uniform: false,
            buffer: Vec::new(),
            restarts: vec![0],
            since_restart: 0,
            last_key: Vec::new(),
            entry_count: 0,
        }
    }

    /// Gives every block that can have one a hash index of its user keys: keys must then be internal keys, and keys of
    /// different bytes must be different keys. `util_ratio` is keys per bucket; 0 stands for 0.75.
    ///
    /// A block of more than 64 KiB gets none; nor does one with more than 254 restarts, and none of the blocks that
    /// follow it.
    #[must_use]
    pub fn with_hash_index(self, util_ratio: f64) -> Self {
        Self { hash_index: Some(HashIndexBuilder::new(util_ratio)), ..self }
    }

    /// Puts the values of every block behind its keys.
    #[must_use]
    pub fn with_separate_values(self) -> Self {
        Self { values: Some(Vec::new()), ..self }
    }

    /// Marks index blocks whose restart keys are evenly spread: their gaps deviate by less than `threshold` times the
    /// mean. The last `ignored_bytes` of a key (the trailer of internal keys) do not count.
    #[must_use]
    pub fn with_uniform_hint(self, threshold: f64, ignored_bytes: usize) -> Self {
        Self { uniform_hint: Some((threshold, ignored_bytes)), ..self }
    }

    /// True when the block that was finished last carries the hint.
    #[must_use]
    pub fn was_uniform(&self) -> bool {
        self.is_uniform
    }

    /// Appends an entry.
    #[inline]
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        let shared = self.begin_entry(key);
        put_varint32(&mut self.buffer, shared as u32);
        put_varint32(&mut self.buffer, (key.len() - shared) as u32);
        put_varint32(&mut self.buffer, value.len() as u32);
        match &mut self.values {
            None => {
                self.buffer.extend_from_slice(&key[shared..]);
                self.buffer.extend_from_slice(value);
            }
            Some(values) => {
                if self.since_restart == 1 {
                    put_varint32(&mut self.buffer, values.len() as u32);
                }
                self.buffer.extend_from_slice(&key[shared..]);
                values.extend_from_slice(value);
            }
        }
        if let Some(hash_index) = &mut self.hash_index {
            hash_index.add(user_key(key), self.restarts.len() - 1);
        }
    }

    /// Appends an index entry: `delta_value`, where there is one, is stored when the key shares bytes with its
    /// predecessor, which is how a reader knows; pass `None` when the block is not contiguous with the one before.
    pub fn add_index(&mut self, key: &[u8], full_value: &[u8], delta_value: Option<&[u8]>) {
        if !self.options.use_value_delta_encoding {
            return self.add(key, full_value);
        }
        if delta_value.is_none() {
            // A reader recognises a full value by a shared length of 0.
            self.last_key.clear();
        }
        let shared = self.begin_entry(key);
        put_varint32(&mut self.buffer, shared as u32);
        put_varint32(&mut self.buffer, (key.len() - shared) as u32);
        self.buffer.extend_from_slice(&key[shared..]);
        match delta_value {
            Some(delta) if shared > 0 => self.buffer.extend_from_slice(delta),
            _ => self.buffer.extend_from_slice(full_value),
        }
    }

    /// The next entry repeats no bytes of its predecessor.
    pub fn share_nothing(&mut self) {
        self.last_key.clear();
    }

    /// Starts a restart interval where one is due; returns how many bytes the key shares.
    #[inline]
    fn begin_entry(&mut self, key: &[u8]) -> usize {
        let mut shared = 0;
        if self.since_restart >= self.options.restart_interval {
            self.restarts.push(self.buffer.len() as u32);
            self.since_restart = 0;
        } else if self.options.use_delta_encoding && self.since_restart > 0 {
            shared = shared_prefix(&self.last_key, key);
        }
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
        self.since_restart += 1;
        self.entry_count += 1;
        shared
    }

    /// Completes the block. Call [`reset`](Self::reset) before the next one.
    pub fn finish(&mut self) -> &[u8] {
        let size = self.size_estimate();
        let keys_end = self.buffer.len() as u32;
        self.is_uniform = self.uniform_hint.is_some_and(|(threshold, ignored_bytes)| {
            is_uniform(&self.buffer, &self.restarts, self.options.use_value_delta_encoding, ignored_bytes, threshold)
        });
        if let Some(values) = &self.values {
            self.buffer.extend_from_slice(values);
        }
        for restart in &self.restarts {
            put_fixed32(&mut self.buffer, *restart);
        }
        let mut packed = self.restarts.len() as u32;
        if self.hash_index.as_ref().is_some_and(|hash_index| hash_index.finish(&mut self.buffer, size)) {
            packed |= HAS_HASH_INDEX;
        }
        if self.values.is_some() {
            put_fixed32(&mut self.buffer, keys_end);
            packed |= HAS_SEPARATE_VALUES;
        }
        if self.is_uniform {
            packed |= IS_UNIFORM;
        }
        put_fixed32(&mut self.buffer, packed);
        &self.buffer
    }

    /// Begins the next block in the same memory.
    pub fn reset(&mut self) {
        self.buffer.clear();
        self.restarts.clear();
        self.restarts.push(0);
        self.since_restart = 0;
        self.last_key.clear();
        self.entry_count = 0;
        if let Some(hash_index) = &mut self.hash_index {
            hash_index.reset();
        }
        if let Some(values) = &mut self.values {
            values.clear();
        }
    }

    /// Entries added since the block began.
    #[must_use]
    pub fn entry_count(&self) -> usize {
        self.entry_count
    }

    /// True when nothing was added.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entry_count == 0
    }

    /// Bytes the block would have if it were finished now.
    #[inline]
    #[must_use]
    pub fn size_estimate(&self) -> usize {
        let hash_index = self.hash_index.as_ref().map_or(0, HashIndexBuilder::size);
        let values = self.values.as_ref().map_or(0, |values| values.len() + 4);
        self.buffer.len() + values + 4 * self.restarts.len() + 4 + hash_index
    }

    /// Bytes the block would have at most after one more entry; with values that may be differences, about.
    #[inline]
    #[must_use]
    pub fn size_estimate_after(&self, key: &[u8], value: &[u8]) -> usize {
        let mut size = self.size_estimate() + key.len() + 4 + varint_len(key.len() as u64);
        let is_restart = self.since_restart >= self.options.restart_interval;
        if is_restart {
            size += 4 + self.values.as_ref().map_or(0, |values| varint_len(values.len() as u64));
        }
        // A difference of handles takes half a handle. The rule decides where partitions end, so it is RocksDB's.
        size + if self.options.use_value_delta_encoding && !is_restart {
            value.len() / 2
        } else {
            value.len() + varint_len(value.len() as u64)
        }
    }

    /// Bytes of memory held.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.buffer.capacity()
            + self.restarts.capacity() * 4
            + self.last_key.capacity()
            + self.values.as_ref().map_or(0, Vec::capacity)
            + self.hash_index.as_ref().map_or(0, HashIndexBuilder::memory_bytes)
    }
}
