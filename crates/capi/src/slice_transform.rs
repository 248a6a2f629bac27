//! Slice transforms: which part of a key is its prefix.

use crate::callback::{Destructor, Name, State, missing};
use crate::handle::give;
use ferrock::Result;
use ferrock::options::PrefixExtractor;
use ferrock_base::prefix::CustomPrefixExtractor;
use std::ffi::{c_char, c_uchar, c_void};
use std::sync::Arc;

/// state, key, length of the prefix -> the prefix, in the key
type Transform = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *mut usize) -> *mut c_char;
/// state, key -> whether it has a prefix
type InDomain = unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> c_uchar;

/// A prefix extractor.
pub struct rocksdb_slicetransform_t {
    extractor: Result<PrefixExtractor>,
}

impl rocksdb_slicetransform_t {
    /// # Errors
    /// What was wrong with the callbacks.
    pub(crate) fn into_extractor(self) -> Result<PrefixExtractor> {
        self.extractor
    }
}

struct CallbackTransform {
    state: State,
    name: String,
    transform: Transform,
    in_domain: InDomain,
}

impl CallbackTransform {
    /// Where in the key the callback says that its prefix is; `None` when it is elsewhere.
    fn place(&self, key: &[u8]) -> Option<std::ops::Range<usize>> {
        let mut length = 0;
        // SAFETY: the contract about callbacks; key and length live through the call.
        let prefix = unsafe { (self.transform)(self.state.pointer(), key.as_ptr().cast(), key.len(), &raw mut length) };
        let begin = (prefix as usize).checked_sub(key.as_ptr() as usize)?;
        let end = begin.checked_add(length)?;
        (end <= key.len()).then_some(begin..end)
    }
}

impl CustomPrefixExtractor for CallbackTransform {
    fn name(&self) -> &str {
        &self.name
    }

    fn in_domain(&self, key: &[u8]) -> bool {
        // SAFETY: the contract about callbacks; the key lives through the call.
        let has_prefix = unsafe { (self.in_domain)(self.state.pointer(), key.as_ptr().cast(), key.len()) };
        // A prefix that does not lie in the key could not be told from memory that is gone.
        has_prefix != 0 && self.place(key).is_some()
    }

    fn transform<'a>(&self, key: &'a [u8]) -> &'a [u8] {
        self.place(key).and_then(|place| key.get(place)).unwrap_or(key)
    }
}

c_functions! {
    /// A prefix extractor made of callbacks. The prefix lies in the key, else the key has none. The name is asked for
    /// once, now.
    fn rocksdb_slicetransform_create(
        state: *mut c_void,
        destructor: Destructor,
        transform: Option<Transform>,
        in_domain: Option<InDomain>,
        name: Name,
    ) -> *mut rocksdb_slicetransform_t {
        const WHAT: &str = "slice transform";
        let state = State::new(state, destructor);
        let extractor = state.name(name, WHAT).and_then(|name| {
            let transform = transform.ok_or_else(|| missing(WHAT, "transform"))?;
            let in_domain = in_domain.ok_or_else(|| missing(WHAT, "in_domain"))?;
            Ok(PrefixExtractor::Custom(Arc::new(CallbackTransform { state, name, transform, in_domain })))
        });
        give(rocksdb_slicetransform_t { extractor })
    }

    /// The first so many bytes; shorter keys have no prefix.
    fn rocksdb_slicetransform_create_fixed_prefix(length: usize) -> *mut rocksdb_slicetransform_t {
        give(rocksdb_slicetransform_t { extractor: Ok(PrefixExtractor::Fixed(length)) })
    }

    /// The whole key.
    fn rocksdb_slicetransform_create_noop() -> *mut rocksdb_slicetransform_t {
        give(rocksdb_slicetransform_t { extractor: Ok(PrefixExtractor::Noop) })
    }
}

c_destructors! {
    /// Ends a slice transform that was not given to options.
    fn rocksdb_slicetransform_destroy(rocksdb_slicetransform_t);
}
