//! Which keys, and prefixes of keys, the Bloom filter of a memtable has.

use crate::bloom::ConcurrentBloom;
use crate::options::MemTableOptions;
use ferrock_base::prefix::PrefixExtractor;

/// The filter, and what of a key goes into it.
pub(crate) struct Filter {
    pub(crate) bloom: ConcurrentBloom,
    pub(crate) prefix_extractor: Option<PrefixExtractor>,
    whole_key: bool,
}

impl Filter {
    /// The filter of these options; `None` if it could exclude no key.
    pub(crate) fn new(options: &MemTableOptions) -> Option<Self> {
        // Equal keys of different bytes have different hashes, as may their prefixes.
        let by_bytes = !options.comparator.user().can_keys_with_different_bytes_be_equal();
        let whole_key = options.whole_key_filtering;
        let wanted = by_bytes && options.prefix_bloom_bits > 0 && (whole_key || options.prefix_extractor.is_some());
        wanted.then(|| Self {
            bloom: ConcurrentBloom::new(options.prefix_bloom_bits),
            prefix_extractor: options.prefix_extractor.clone(),
            whole_key,
        })
    }

    pub(crate) fn prefix<'a>(&self, user_key: &'a [u8]) -> Option<&'a [u8]> {
        self.prefix_extractor.as_ref().and_then(|extractor| extractor.prefix(user_key))
    }

    pub(crate) fn add(&self, user_key: &[u8]) {
        if let Some(prefix) = self.prefix(user_key) {
            self.bloom.add(prefix);
        }
        if self.whole_key {
            self.bloom.add(user_key);
        }
    }

    pub(crate) fn may_contain(&self, user_key: &[u8]) -> bool {
        if self.whole_key {
            return self.bloom.may_contain(user_key);
        }
        self.prefix(user_key).is_none_or(|prefix| self.bloom.may_contain(prefix))
    }
}
