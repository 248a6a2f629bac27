//! Handles: boxed values that a C caller owns.

use crate::memory::null_handle;
use ferrock::Result;

/// A new handle.
#[inline]
pub(crate) fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Ends a handle and gives back what it held; `None` for null.
///
/// # Safety
/// The handle came from [`give`] and is not used again.
#[inline]
pub(crate) unsafe fn take<T>(handle: *mut T) -> Option<Box<T>> {
    // SAFETY: as for this function.
    (!handle.is_null()).then(|| unsafe { Box::from_raw(handle) })
}

/// What a handle holds.
///
/// # Errors
/// `Invalid argument` naming `what` when the handle is null.
///
/// # Safety
/// The handle is null or came from [`give`] and lives through `'a`.
#[inline]
pub(crate) unsafe fn borrow<'a, T>(handle: *const T, what: &str) -> Result<&'a T> {
    // SAFETY: as for this function.
    unsafe { handle.as_ref() }.ok_or_else(|| null_handle(what))
}

/// As [`borrow`], to change what the handle is of.
///
/// # Safety
/// As for [`borrow`], and no other thread uses the object meanwhile.
pub(crate) unsafe fn borrow_mut<'a, T>(handle: *mut T, what: &str) -> Result<&'a mut T> {
    // SAFETY: as for this function.
    unsafe { handle.as_mut() }.ok_or_else(|| null_handle(what))
}

/// As [`borrow`], with a default where null stands for it.
///
/// # Safety
/// As for [`borrow`].
#[inline]
pub(crate) unsafe fn borrow_or<T>(handle: *const T, default: &T) -> &T {
    // SAFETY: as for this function.
    unsafe { handle.as_ref() }.unwrap_or(default)
}
