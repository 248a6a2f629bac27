//! Merge operators made of callbacks.

use crate::callback::{Destructor, Name, State, missing};
use crate::handle::give;
use crate::memory::bytes;
use ferrock::Result;
use ferrock::options::MergeOperator;
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::sync::Arc;

/// state, key, existing value (null: none), operands, success, length of the result -> the result
type FullMerge = unsafe extern "C" fn(
    *mut c_void,
    *const c_char,
    usize,
    *const c_char,
    usize,
    *const *const c_char,
    *const usize,
    c_int,
    *mut c_uchar,
    *mut usize,
) -> *mut c_char;

/// state, key, operands, success, length of the result -> the result
type PartialMerge = unsafe extern "C" fn(
    *mut c_void,
    *const c_char,
    usize,
    *const *const c_char,
    *const usize,
    c_int,
    *mut c_uchar,
    *mut usize,
) -> *mut c_char;

/// Ends a result of the two above.
type DeleteValue = unsafe extern "C" fn(*mut c_void, *const c_char, usize);

/// A merge operator of the caller's.
pub struct rocksdb_mergeoperator_t {
    operator: Result<CallbackMergeOperator>,
}

impl rocksdb_mergeoperator_t {
    /// # Errors
    /// What was wrong with the callbacks.
    pub(crate) fn into_operator(self) -> Result<Arc<dyn MergeOperator>> {
        self.operator.map(|operator| Arc::new(operator) as Arc<dyn MergeOperator>)
    }
}

struct CallbackMergeOperator {
    state: State,
    name: String,
    full_merge: FullMerge,
    partial_merge: PartialMerge,
    delete_value: Option<DeleteValue>,
}

/// Operands as two arrays of C.
struct Operands {
    pointers: Vec<*const c_char>,
    lengths: Vec<usize>,
    count: c_int,
}

impl Operands {
    /// `None` when there are more than C can count.
    fn new(operands: &[&[u8]]) -> Option<Self> {
        Some(Self {
            count: c_int::try_from(operands.len()).ok()?,
            pointers: operands.iter().map(|operand| operand.as_ptr().cast()).collect(),
            lengths: operands.iter().map(|operand| operand.len()).collect(),
        })
    }
}

impl CallbackMergeOperator {
    /// Copies a result and ends it, whatever the verdict was.
    ///
    /// # Safety
    /// `result` and `length` are what a merge callback gave.
    unsafe fn take(&self, result: *mut c_char, length: usize, success: c_uchar, out: &mut Vec<u8>) -> bool {
        if success != 0 {
            // SAFETY: as for this function.
            out.extend_from_slice(unsafe { bytes(result, length) });
        }
        match self.delete_value {
            // SAFETY: the contract: the callback ends what the merge callbacks give.
            Some(delete_value) => unsafe { delete_value(self.state.pointer(), result, length) },
            // SAFETY: the contract: without that callback, results come from `malloc`.
            None => unsafe { libc::free(result.cast()) },
        }
        success != 0
    }
}

impl MergeOperator for CallbackMergeOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let Some(operands) = Operands::new(operands) else { return false };
        let (mut success, mut length) = (1, 0);
        // SAFETY: the contract about callbacks; everything handed over lives through the call.
        unsafe {
            let result = (self.full_merge)(
                self.state.pointer(),
                key.as_ptr().cast(),
                key.len(),
                existing.map_or(std::ptr::null(), |value| value.as_ptr().cast()),
                existing.map_or(0, <[u8]>::len),
                operands.pointers.as_ptr(),
                operands.lengths.as_ptr(),
                operands.count,
                &raw mut success,
                &raw mut length,
            );
            self.take(result, length, success, out)
        }
    }

    fn partial_merge(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let Some(operands) = Operands::new(operands) else { return false };
        let (mut success, mut length) = (1, 0);
        // SAFETY: the contract about callbacks; everything handed over lives through the call.
        unsafe {
            let result = (self.partial_merge)(
                self.state.pointer(),
                key.as_ptr().cast(),
                key.len(),
                operands.pointers.as_ptr(),
                operands.lengths.as_ptr(),
                operands.count,
                &raw mut success,
                &raw mut length,
            );
            self.take(result, length, success, out)
        }
    }
}

c_functions! {
    /// A merge operator made of callbacks. The name is asked for once, now.
    fn rocksdb_mergeoperator_create(
        state: *mut c_void,
        destructor: Destructor,
        full_merge: Option<FullMerge>,
        partial_merge: Option<PartialMerge>,
        delete_value: Option<DeleteValue>,
        name: Name,
    ) -> *mut rocksdb_mergeoperator_t {
        let state = State::new(state, destructor);
        let operator = state.name(name, "merge operator").and_then(|name| {
            let full_merge = full_merge.ok_or_else(|| missing("merge operator", "full_merge"))?;
            let partial_merge = partial_merge.ok_or_else(|| missing("merge operator", "partial_merge"))?;
            Ok(CallbackMergeOperator { state, name, full_merge, partial_merge, delete_value })
        });
        give(rocksdb_mergeoperator_t { operator })
    }
}

c_destructors! {
    /// Ends a merge operator that was not given to options.
    fn rocksdb_mergeoperator_destroy(rocksdb_mergeoperator_t);
}
