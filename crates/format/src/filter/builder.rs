//! Building a filter: collects hashes, drops adjacent repeats, sizes the filter by what is left.
//!
//! Only adjacent repeats are dropped, and by hash: the number of entries decides the size, so another rule would make
//! other bytes. Keys and prefixes share one filter and are not distinguished.

use super::hash_list::HashList;
use super::{FilterKind, fast_local_bloom, legacy_bloom, ribbon_builder};
use ferrock_base::hash::hash64;
use ferrock_base::{Error, Result};

/// Format and density of the filter to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sizing {
    LegacyBloom { whole_bits_per_key: u32 },
    FastLocalBloom { millibits_per_key: u32 },
    Ribbon { millibits_per_key: u32 },
}

/// Collects the keys of one filter. Made by [`FilterPolicy::builder`](super::FilterPolicy::builder).
///
/// ```
/// use ferrock_format::filter::{FilterKind, FilterPolicy};
/// let mut builder = FilterPolicy::bloom(10.0).builder(7, 1).unwrap();
/// builder.add_key(b"hello");
/// let payload = builder.finish().unwrap();
/// assert!(FilterKind::parse(&payload).may_match(&payload, b"hello"));
/// ```
#[derive(Clone, Debug)]
pub struct FilterBuilder {
    sizing: Sizing,
    hashes: HashList,
    previous_alternative: Option<u64>,
    /// Exclusive-or of all hashes added, kept only with checks.
    checksum: Option<u64>,
}

impl FilterBuilder {
    pub(super) fn new(sizing: Sizing) -> Self {
        Self { sizing, hashes: HashList::default(), previous_alternative: None, checksum: None }
    }

    /// Makes [`finish`](Self::finish) check that the collected hashes are those that were added, and that the filter
    /// has all of them: a filter that lacks a key makes that key unreadable.
    #[must_use]
    pub fn with_checks(self) -> Self {
        Self { checksum: Some(0), ..self }
    }

    #[inline]
    fn push(&mut self, hash: u64) {
        self.hashes.push(hash);
        if let Some(checksum) = &mut self.checksum {
            *checksum ^= hash;
        }
    }

    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        match self.sizing {
            Sizing::FastLocalBloom { .. } | Sizing::Ribbon { .. } => hash64(key),
            Sizing::LegacyBloom { .. } => legacy_bloom::hash(key).into(),
        }
    }

    /// Adds a user key (or a prefix), without timestamp.
    #[inline]
    pub fn add_key(&mut self, key: &[u8]) {
        let hash = self.hash(key);
        if self.hashes.last() != Some(hash) {
            self.push(hash);
        }
    }

    /// Adds a user key together with its prefix.
    ///
    /// The prefix goes first, so that the last hash stays the key's and runs of one key or one prefix collapse.
    pub fn add_key_and_alt(&mut self, key: &[u8], prefix: &[u8]) {
        let (key_hash, prefix_hash) = (self.hash(key), self.hash(prefix));
        let last = self.hashes.last();
        let previous = self.previous_alternative.replace(prefix_hash);
        if Some(prefix_hash) != previous && prefix_hash != key_hash && Some(prefix_hash) != last {
            self.push(prefix_hash);
        }
        // A key that equals the previous prefix is there already (the end of a prefix in reverse order).
        if Some(key_hash) != last && Some(key_hash) != previous {
            self.push(key_hash);
        }
    }

    /// Entries so far, as the table property `rocksdb.num.filter_entries` counts them.
    #[must_use]
    pub fn num_entries(&self) -> u64 {
        self.hashes.len()
    }

    /// True if nothing was added: the table then gets no filter block.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Bytes that [`finish`](Self::finish) would return now, a few more or less for a Ribbon filter.
    #[must_use]
    pub fn estimated_size(&self) -> u64 {
        if self.hashes.is_empty() { 0 } else { self.size_of(self.num_entries()) }
    }

    /// Bytes of a filter of so many entries, a few more or less for a Ribbon filter.
    #[must_use]
    pub fn size_of(&self, entries: u64) -> u64 {
        match self.sizing {
            Sizing::LegacyBloom { whole_bits_per_key } => legacy_bloom::size(entries, whole_bits_per_key),
            Sizing::FastLocalBloom { millibits_per_key } => fast_local_bloom::size(entries, millibits_per_key),
            Sizing::Ribbon { millibits_per_key } => ribbon_builder::size(entries, millibits_per_key),
        }
    }

    /// Entries that a payload of `bytes` holds: what partitions of a filter are cut by.
    #[must_use]
    pub fn entries_that_fit(&self, bytes: u64) -> u64 {
        match self.sizing {
            Sizing::LegacyBloom { whole_bits_per_key } => legacy_bloom::entries_that_fit(bytes, whole_bits_per_key),
            Sizing::FastLocalBloom { millibits_per_key } => {
                fast_local_bloom::entries_that_fit(bytes, millibits_per_key)
            }
            Sizing::Ribbon { millibits_per_key } => ribbon_builder::entries_that_fit(bytes, millibits_per_key),
        }
    }

    /// Memory that the collected hashes take.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.hashes.memory_bytes()
    }

    /// Memory that [`finish`](Self::finish) takes beside the hashes and the payload: a Ribbon filter's equations.
    #[must_use]
    pub fn construction_bytes(&self) -> usize {
        match self.sizing {
            Sizing::Ribbon { millibits_per_key } => {
                ribbon_builder::construction_bytes(self.num_entries(), millibits_per_key)
            }
            Sizing::LegacyBloom { .. } | Sizing::FastLocalBloom { .. } => 0,
        }
    }

    /// As [`finish`](Self::finish), but with a Bloom filter in place of a Ribbon filter: larger, and built in less
    /// memory.
    ///
    /// # Errors
    /// Those of [`finish`](Self::finish).
    pub fn finish_as_bloom(&mut self) -> Result<Vec<u8>> {
        let asked_for = self.sizing;
        if let Sizing::Ribbon { millibits_per_key } = asked_for {
            self.sizing = Sizing::FastLocalBloom { millibits_per_key };
        }
        let payload = self.finish();
        self.sizing = asked_for;
        payload
    }

    /// The payload, empty if nothing was added. The builder starts over, keeping some of its memory.
    ///
    /// Fails only [with checks](Self::with_checks), when memory changed under the builder.
    ///
    /// # Errors
    /// `Corruption`, and only [with checks](Self::with_checks), when memory changed under the builder.
    pub fn finish(&mut self) -> Result<Vec<u8>> {
        let payload = match self.sizing {
            _ if self.hashes.is_empty() => Vec::new(),
            Sizing::LegacyBloom { whole_bits_per_key } => legacy_bloom::build(&self.hashes, whole_bits_per_key),
            Sizing::FastLocalBloom { millibits_per_key } => fast_local_bloom::build(&self.hashes, millibits_per_key),
            Sizing::Ribbon { millibits_per_key } => ribbon_builder::build(&self.hashes, millibits_per_key),
        };
        let checked = self.check(&payload);
        self.hashes.clear();
        self.previous_alternative = None;
        self.checksum = self.checksum.map(|_| 0);
        checked.map(|()| payload)
    }

    pub(super) fn check(&self, payload: &[u8]) -> Result<()> {
        let Some(checksum) = self.checksum else { return Ok(()) };
        if self.hashes.iter().fold(0, |all, hash| all ^ hash) != checksum {
            return Err(Error::corruption("the hashes collected for a filter changed in memory"));
        }
        let kind = FilterKind::parse(payload);
        let has = |hash: u64| match kind {
            FilterKind::LegacyBloom(bloom) => bloom.may_match(payload, hash as u32),
            _ => kind.may_match_hash64(payload, hash, &[]),
        };
        if self.hashes.iter().all(has) {
            return Ok(());
        }
        Err(Error::corruption("a filter lacks a key that was added to it"))
    }

    #[cfg(test)]
    pub(super) fn flip_bit(&mut self, entry: usize, bit: u32) {
        self.hashes.flip_bit(entry, bit);
    }
}
