//! Slice transforms: which part of a key is its prefix.

use crate::handle::give;
use ferrock::options::PrefixExtractor;

/// A prefix extractor.
pub struct rocksdb_slicetransform_t {
    extractor: PrefixExtractor,
}

impl rocksdb_slicetransform_t {
    pub(crate) fn into_extractor(self) -> PrefixExtractor {
        self.extractor
    }
}

c_functions! {
    /// The first so many bytes; shorter keys have no prefix.
    fn rocksdb_slicetransform_create_fixed_prefix(length: usize) -> *mut rocksdb_slicetransform_t {
        give(rocksdb_slicetransform_t { extractor: PrefixExtractor::Fixed(length) })
    }

    /// The whole key.
    fn rocksdb_slicetransform_create_noop() -> *mut rocksdb_slicetransform_t {
        give(rocksdb_slicetransform_t { extractor: PrefixExtractor::Noop })
    }
}

c_destructors! {
    /// Ends a slice transform that was not given to options.
    fn rocksdb_slicetransform_destroy(rocksdb_slicetransform_t);
}
