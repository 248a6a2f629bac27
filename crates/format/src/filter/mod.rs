//! Filters: small structures that tell which keys a table certainly does not hold.
//!
//! A filter payload ends in five bytes that select the implementation, whatever policy wrote it; partitions of one
//! table may differ.
//!
//! ```text
//! | filter bytes | m0 | m1 m2 m3 m4 |
//!
//! m0 = 0          always maybe
//! m0 = 1 .. 127   legacy Bloom: m0 probes, m1..m4 = number of lines u32
//! m0 = ff         m1 = 0: FastLocalBloom, m2 = log2(block bytes / 64) << 5 | probes, m3 m4 = 0
//! m0 = fe         Ribbon: m1 seed, m2..m4 = number of blocks u24
//! other m0        always maybe (reserved)
//! five bytes or fewer: nothing was added, always no
//! ```
//!
//! Reading: [`FilterKind::parse`] validates the metadata once; the result holds no bytes and probes the same payload
//! any number of times. Invalid metadata means *maybe*, never *no*: a filter may become useless, but must not hide a
//! key. A probe never panics, whatever the payload.
//!
//! Writing: [`FilterPolicy`] chooses, [`FilterBuilder`] collects hashes and builds.

mod builder;
mod fast_local_bloom;
mod hash_list;
mod legacy_bloom;
mod metadata;
mod policy;
mod ribbon;
mod ribbon_builder;
#[cfg(test)]
mod tests;

pub use builder::FilterBuilder;
pub use fast_local_bloom::FastLocalBloom;
pub use legacy_bloom::LegacyBloom;
pub use metadata::METADATA_SIZE;
pub use policy::{FilterFormat, FilterPolicy};
pub use ribbon::Ribbon;

use ferrock_base::hash::hash64;

/// The name under which every built-in filter appears in the metaindex, and the read-only policy in OPTIONS files.
pub const COMPATIBILITY_NAME: &str = "rocksdb.BuiltinBloomFilter";

/// How to probe one filter payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    /// Malformed, unknown, or written to match always: every key may be there.
    AlwaysTrue,
    /// No key was added.
    AlwaysFalse,
    /// The filter of format versions before 5.
    LegacyBloom(LegacyBloom),
    /// The Bloom filter of format_version 5 on.
    FastLocalBloom(FastLocalBloom),
    /// Standard128Ribbon.
    Ribbon(Ribbon),
}

impl FilterKind {
    /// Reads the metadata of a payload (without the block trailer).
    #[must_use]
    pub fn parse(payload: &[u8]) -> Self {
        let Some((filter, metadata)) = payload.split_last_chunk::<METADATA_SIZE>() else { return Self::AlwaysFalse };
        if filter.is_empty() {
            return Self::AlwaysFalse;
        }
        let parsed = match metadata[0] {
            1..=127 => LegacyBloom::parse(filter.len(), metadata).map(Self::LegacyBloom),
            0xff => FastLocalBloom::parse(filter.len(), metadata).map(Self::FastLocalBloom),
            0xfe => Ribbon::parse(filter.len(), metadata).map(Self::Ribbon),
            _ => None,
        };
        parsed.unwrap_or(Self::AlwaysTrue)
    }

    /// False only if `key` was certainly not added. `payload` is the one parsed.
    #[inline]
    #[must_use]
    pub fn may_match(&self, payload: &[u8], key: &[u8]) -> bool {
        match self {
            Self::FastLocalBloom(bloom) => bloom.may_match(payload, hash64(key)),
            Self::LegacyBloom(bloom) => bloom.may_match(payload, legacy_bloom::hash(key)),
            Self::Ribbon(ribbon) => ribbon.may_match(payload, hash64(key)),
            Self::AlwaysTrue => true,
            Self::AlwaysFalse => false,
        }
    }

    /// [`may_match`](Self::may_match) for a caller that probes several tables with one key: `key_hash64` is
    /// [`hash64`] of `key`, computed once. The key itself is used by legacy filters only, which hash it their own way.
    #[inline]
    #[must_use]
    pub fn may_match_hash64(&self, payload: &[u8], key_hash64: u64, key: &[u8]) -> bool {
        match self {
            Self::FastLocalBloom(bloom) => bloom.may_match(payload, key_hash64),
            Self::Ribbon(ribbon) => ribbon.may_match(payload, key_hash64),
            Self::LegacyBloom(_) | Self::AlwaysTrue | Self::AlwaysFalse => self.may_match(payload, key),
        }
    }

    /// Probes many keys of one filter: clears `may_match[i]` where `keys[i]` is certainly absent, and leaves the other
    /// flags as they are (a flag that is already false costs nothing).
    ///
    /// The first probe of all keys is made before the second of any, so that their cache misses overlap instead of
    /// queueing up behind one another.
    ///
    /// `keys` holds each key with its [`hash64`]; both slices have the same length (extra elements are ignored).
    pub fn may_match_batch(&self, payload: &[u8], keys: &[(u64, &[u8])], may_match: &mut [bool]) {
        match self {
            Self::AlwaysTrue => {}
            Self::AlwaysFalse => may_match.iter_mut().take(keys.len()).for_each(|flag| *flag = false),
            Self::FastLocalBloom(bloom) => {
                // No allocation: keys go through in groups, which also bounds the lines held in the first-level cache.
                const GROUP: usize = 32;
                for (keys, flags) in keys.chunks(GROUP).zip(may_match.chunks_mut(GROUP)) {
                    for ((hash, _), flag) in keys.iter().zip(flags.iter_mut()) {
                        *flag &= bloom.first_probe_matches(payload, *hash);
                    }
                    for ((hash, _), flag) in keys.iter().zip(flags.iter_mut()) {
                        *flag = *flag && bloom.may_match(payload, *hash);
                    }
                }
            }
            Self::LegacyBloom(_) | Self::Ribbon(_) => {
                for ((hash, key), flag) in keys.iter().zip(may_match) {
                    *flag = *flag && self.may_match_hash64(payload, *hash, key);
                }
            }
        }
    }
}
