//! Which keys and values the demo writes. Everything follows from an index and the seed, so that the parent can compute
//! what the child wrote.
//!
//! ```text
//! key   := u64be(mix(index, seed)) u64be(index)        random order; its two halves authenticate each other
//! value := random bytes, the second half repeating the first, so that it compresses to about a half
//! batch := keys_per_batch keys of consecutive index
//! ```

use crate::failure::Result;
use ferrock::options::FilterPolicy;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, WriteBatch, WriteOptions};
use ferrock_base::random::Random;
use std::ops::Range;

/// Bytes of a key.
pub(super) const KEY_SIZE_BYTES: usize = 16;
/// Keys written atomically.
pub(super) const KEYS_PER_BATCH: u64 = 100;
/// Every so many keys a batch is written with `sync`.
const KEYS_PER_SYNC: u64 = 10_000;

/// The parameters of the workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Workload {
    pub(super) keys: u64,
    pub(super) value_size_bytes: usize,
    pub(super) seed: u64,
}

impl Workload {
    /// The key of an index.
    pub(super) fn key(&self, index: u64) -> [u8; KEY_SIZE_BYTES] {
        let mixed = Random::new(self.seed ^ index).next_u64();
        let mut key = [0; KEY_SIZE_BYTES];
        key[..8].copy_from_slice(&mixed.to_be_bytes());
        key[8..].copy_from_slice(&index.to_be_bytes());
        key
    }

    /// The index of a key; `None` when the demo writes no such key.
    pub(super) fn index_of(&self, key: &[u8]) -> Option<u64> {
        let index = u64::from_be_bytes(*key.last_chunk::<8>()?);
        (index < self.keys && self.key(index) == key).then_some(index)
    }

    /// Puts the value of an index into `value`.
    pub(super) fn fill_value(&self, index: u64, value: &mut Vec<u8>) {
        let mut random = Random::new(!self.seed ^ index.rotate_left(32));
        value.clear();
        while value.len() < self.value_size_bytes.div_ceil(2) {
            value.extend_from_slice(&random.next_u64().to_le_bytes());
        }
        value.truncate(self.value_size_bytes.div_ceil(2));
        value.extend_from_within(..self.value_size_bytes - value.len());
    }

    /// When so many keys are acknowledged, the child is killed.
    pub(super) fn kill_at(&self) -> u64 {
        self.keys / 2
    }

    /// The child goes no further, however late the kill comes. A whole number of batches.
    pub(super) fn hold_at(&self) -> u64 {
        (self.keys / 4 * 3).next_multiple_of(KEYS_PER_BATCH).min(self.keys)
    }

    /// Bytes of all keys and values.
    pub(super) fn total_bytes(&self) -> u64 {
        self.keys * (KEY_SIZE_BYTES + self.value_size_bytes) as u64
    }

    /// Writes the keys of the indexes in `range`, batch by batch, and reports after each where the next one begins.
    pub(super) fn load(
        &self,
        db: &Db,
        range: Range<u64>,
        mut acknowledged: impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let mut next = range.start;
        let mut value = Vec::with_capacity(self.value_size_bytes);
        while next < range.end {
            let end = (next + KEYS_PER_BATCH).min(range.end);
            let mut batch = WriteBatch::new();
            for index in next..end {
                self.fill_value(index, &mut value);
                batch.put(&self.key(index), &value)?;
            }
            let sync = end / KEYS_PER_SYNC > next / KEYS_PER_SYNC;
            db.write(batch, &WriteOptions { sync, ..WriteOptions::default() })?;
            next = end;
            acknowledged(next)?;
        }
        Ok(())
    }

    /// Options of the database.
    #[expect(clippy::unused_self, reason = "both option sets are asked of the workload")]
    pub(super) fn db_options(&self) -> DbOptions {
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options
    }

    /// Options of the column family: buffers small enough against the data that it flushes and compacts all the time.
    pub(super) fn column_family_options(&self) -> ColumnFamilyOptions {
        let buffer_bytes = (self.total_bytes() / 16).clamp(128 << 10, 64 << 20);
        let mut options = ColumnFamilyOptions::default();
        options.write_buffer_size = usize::try_from(buffer_bytes).unwrap_or(usize::MAX);
        options.target_file_size_base = buffer_bytes;
        options.max_bytes_for_level_base = buffer_bytes * 4;
        options.filter_policy = FilterPolicy::bloom(10.0);
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const WORKLOAD: Workload = Workload { keys: 1000, value_size_bytes: 37, seed: 7 };

    #[test]
    fn keys_know_where_they_come_from() {
        let keys: BTreeSet<[u8; 16]> = (0..1000).map(|index| WORKLOAD.key(index)).collect();
        assert_eq!(keys.len(), 1000);
        assert!(keys.iter().map(|key| WORKLOAD.index_of(key)).all(|index| index.is_some()));
        assert_eq!(WORKLOAD.index_of(&WORKLOAD.key(999)), Some(999));
        assert_eq!(WORKLOAD.index_of(&WORKLOAD.key(1000)), None, "beyond the last");
        let mut forged = WORKLOAD.key(5);
        forged[0] ^= 1;
        assert_eq!(WORKLOAD.index_of(&forged), None);
        assert_eq!(WORKLOAD.index_of(b"short"), None);
        assert_ne!(Workload { seed: 8, ..WORKLOAD }.key(5), WORKLOAD.key(5));
    }

    #[test]
    fn values_have_their_size_and_repeat_themselves() {
        let mut value = Vec::new();
        for size in [0, 1, 2, 7, 8, 100, 4097] {
            let workload = Workload { value_size_bytes: size, ..WORKLOAD };
            workload.fill_value(3, &mut value);
            assert_eq!(value.len(), size);
            let half = size.div_ceil(2);
            assert_eq!(value[half..], value[..size - half]);
        }
        WORKLOAD.fill_value(3, &mut value);
        let mut other = Vec::new();
        WORKLOAD.fill_value(4, &mut other);
        assert_ne!(value, other);
    }
}
