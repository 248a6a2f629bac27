//! Errors and panics on their way to a C caller.
//!
//! An error becomes a text from `malloc`, status prefix first, behind `errptr`; a text that was there is freed. A panic
//! becomes an error of its own or, where there is no `errptr`, the neutral result.

use crate::memory;
use ferrock::{Error, ErrorKind, Result};
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a function gives when it has nothing to give.
pub(crate) trait Neutral {
    /// Null, zero, nothing.
    const NEUTRAL: Self;
}

macro_rules! neutral {
    ($($ty:ty = $value:expr),* $(,)?) => {$(
        impl Neutral for $ty {
            const NEUTRAL: Self = $value;
        }
    )*};
}
neutral!(() = (), bool = false, u8 = 0, i32 = 0, u32 = 0, i64 = 0, u64 = 0, usize = 0, f64 = 0.0);

impl<T> Neutral for *mut T {
    const NEUTRAL: Self = std::ptr::null_mut();
}

impl<T> Neutral for *const T {
    const NEUTRAL: Self = std::ptr::null();
}

/// Runs the body of a function without `errptr`.
#[inline]
pub(crate) fn guard<R: Neutral>(body: impl FnOnce() -> R) -> R {
    // State that a panic left half changed belongs to the caller's handle alone, or is behind locks of the engine that
    // its own code keeps in order.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(R::NEUTRAL)
}

/// Runs the body of a function with `errptr`.
#[inline]
pub(crate) fn catch<R>(body: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| Err(panicked()))
}

/// Gives the result, or saves the error and gives the neutral one.
///
/// # Safety
/// `errptr` as the contract says.
#[inline]
pub(crate) unsafe fn settle<R: Neutral>(errptr: *mut *mut c_char, outcome: Result<R>) -> R {
    match outcome {
        Ok(result) => result,
        Err(error) => {
            // SAFETY: as for this function.
            unsafe { save(errptr, &error) };
            R::NEUTRAL
        }
    }
}

/// Saves the text of an error behind `errptr`, if there is one, in place of the text that is there.
///
/// # Safety
/// `errptr` as the contract says.
#[cold]
pub(crate) unsafe fn save(errptr: *mut *mut c_char, error: &Error) {
    if errptr.is_null() {
        return;
    }
    let text = text_of(error);
    // SAFETY: the contract: what is there is null or came from `malloc`, and the place can be written.
    unsafe {
        libc::free((*errptr).cast());
        *errptr = text;
    }
}

/// The text of an error, from `malloc`.
#[cold]
pub(crate) fn text_of(error: &Error) -> *mut c_char {
    memory::new_text(&error.to_string())
}

#[cold]
fn panicked() -> Error {
    Error::new(ErrorKind::Aborted, "a defect in the engine stopped this call (a panic, see standard error)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn take(errptr: &mut *mut c_char) -> String {
        // SAFETY: `save` left a text there.
        let text = unsafe { CStr::from_ptr(*errptr) }.to_str().unwrap().to_owned();
        // SAFETY: it came from `malloc`.
        unsafe { libc::free(errptr.cast()) };
        *errptr = std::ptr::null_mut();
        text
    }

    #[test]
    fn a_panic_is_an_error_or_nothing() {
        let mut errptr = std::ptr::null_mut();
        let outcome = catch(|| -> Result<usize> { panic!("for the test") });
        // SAFETY: `errptr` is null.
        assert_eq!(unsafe { settle(&raw mut errptr, outcome) }, 0);
        assert!(take(&mut errptr).starts_with("Operation aborted: a defect"));
        assert!(guard(|| -> *mut u8 { panic!("for the test") }).is_null());
    }

    #[test]
    fn a_newer_error_replaces_an_older_one() {
        let mut errptr = std::ptr::null_mut();
        for text in ["first", "second"] {
            // SAFETY: `errptr` is null or has the text of the round before.
            unsafe { save(&raw mut errptr, &Error::invalid_argument(text)) };
        }
        assert_eq!(take(&mut errptr), "Invalid argument: second");
    }
}
