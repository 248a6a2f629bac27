//! What the library made and takes back, and bytes that cross.

use crate::functions::Object;
use std::ffi::c_char;

/// An object of the library's that is given back when it is dropped.
pub struct Owned {
    object: Object,
    destroy: unsafe extern "C" fn(Object),
}

impl Owned {
    /// Takes over an object.
    ///
    /// # Safety
    /// `destroy` is the function of the library that ends such objects, and nothing else ends this one. Where the
    /// object uses others (an iterator its database), these live longer.
    #[must_use]
    pub unsafe fn new(object: Object, destroy: unsafe extern "C" fn(Object)) -> Self {
        Self { object, destroy }
    }

    /// Makes an object by a function that has no arguments.
    ///
    /// # Safety
    /// The two functions are of one library, and belong together.
    #[must_use]
    pub unsafe fn create(create: unsafe extern "C" fn() -> Object, destroy: unsafe extern "C" fn(Object)) -> Self {
        // SAFETY: the creating functions take nothing and have no requirements.
        Self { object: unsafe { create() }, destroy }
    }

    /// The object, for a call.
    #[must_use]
    pub fn object(&self) -> Object {
        self.object
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the object is the library's, and is ended only here (`new`).
        unsafe { (self.destroy)(self.object) }
    }
}

/// Bytes for the library.
#[must_use]
pub fn chars(bytes: &[u8]) -> *const c_char {
    bytes.as_ptr().cast()
}

/// Bytes that belong to the library.
///
/// # Safety
/// Pointer and length come from one call of the library, which keeps the bytes as they are for the time of the borrow.
#[must_use]
pub unsafe fn borrowed<'a>(pointer: *const c_char, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: as for this function.
    unsafe { std::slice::from_raw_parts(pointer.cast(), length) }
}
