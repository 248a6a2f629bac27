//! Comparators made of callbacks.

use crate::callback::{Destructor, Name, State, missing};
use crate::handle::give;
use crate::not_built::{NotBuilt, error};
use ferrock::{Comparator, Result};
use ferrock_base::comparator::CustomComparator;
use std::cmp::Ordering;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

type Compare = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> c_int;

/// A key order of the caller's.
pub struct rocksdb_comparator_t {
    comparator: Result<Arc<CallbackComparator>>,
}

impl rocksdb_comparator_t {
    /// # Errors
    /// What was wrong with the callbacks.
    pub(crate) fn comparator(&self) -> Result<Comparator> {
        self.comparator.clone().map(|comparator| Comparator::Custom(comparator))
    }
}

impl NotBuilt for rocksdb_comparator_t {
    fn not_built(function: &'static str, _state: Option<State>) -> Self {
        Self { comparator: Err(error(function)) }
    }
}

struct CallbackComparator {
    state: State,
    name: String,
    compare: Compare,
}

impl CustomComparator for CallbackComparator {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        // SAFETY: the contract about callbacks; the keys live through the call.
        let order =
            unsafe { (self.compare)(self.state.pointer(), a.as_ptr().cast(), a.len(), b.as_ptr().cast(), b.len()) };
        order.cmp(&0)
    }
}

c_functions! {
    /// A key order made of callbacks. The name is asked for once, now.
    fn rocksdb_comparator_create(
        state: *mut c_void,
        destructor: Destructor,
        compare: Option<Compare>,
        name: Name,
    ) -> *mut rocksdb_comparator_t {
        let state = State::new(state, destructor);
        let comparator = state.name(name, "comparator").and_then(|name| {
            let compare = compare.ok_or_else(|| missing("comparator", "compare"))?;
            Ok(Arc::new(CallbackComparator { state, name, compare }))
        });
        give(rocksdb_comparator_t { comparator })
    }
}

c_destructors! {
    /// Ends a comparator. Its state goes with the last options and databases that use it.
    fn rocksdb_comparator_destroy(rocksdb_comparator_t);
}
