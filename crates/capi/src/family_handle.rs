//! The handle of a column family.

use crate::handle::borrow;
use ferrock::{ColumnFamily, Result};
use std::ffi::c_int;

/// A handle of a column family.
pub struct rocksdb_column_family_handle_t {
    pub(crate) family: ColumnFamily,
}

/// The family of a handle.
///
/// # Safety
/// The contract.
#[inline]
pub(crate) unsafe fn family<'a>(handle: *const rocksdb_column_family_handle_t) -> Result<&'a ColumnFamily> {
    // SAFETY: as for this function.
    unsafe { Ok(&borrow(handle, "column family")?.family) }
}

/// A C count as a number of elements.
pub(crate) fn count_of(count: c_int) -> usize {
    usize::try_from(count).unwrap_or(0)
}
