//! Bytes that cross: borrowed on the way in, from `malloc` on the way out, so that `free` and `rocksdb_free` end them.

use ferrock::{Error, Result};
use ferrock_base::byte_text::{from_bytes, to_bytes};
use std::borrow::Cow;
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The bytes of a caller. A null pointer, or a length of 0, is the empty slice.
///
/// # Safety
/// `data` points to `length` bytes that stay through `'a`, or `length` is 0, or `data` is null.
#[inline]
pub(crate) unsafe fn bytes<'a>(data: *const c_char, length: usize) -> &'a [u8] {
    if data.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: as for this function.
    unsafe { std::slice::from_raw_parts(data.cast(), length) }
}

/// The bytes of a caller, where null says that there are none.
///
/// # Safety
/// As for [`bytes`].
#[inline]
pub(crate) unsafe fn optional_bytes<'a>(data: *const c_char, length: usize) -> Option<&'a [u8]> {
    // SAFETY: as for this function.
    (!data.is_null()).then(|| unsafe { bytes(data, length) })
}

/// An array of a caller. A null pointer, or a length of 0, is the empty slice.
///
/// # Safety
/// `data` points to `length` elements that stay through `'a`, or `length` is 0, or `data` is null.
#[inline]
pub(crate) unsafe fn array<'a, T>(data: *const T, length: usize) -> &'a [T] {
    if data.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: as for this function.
    unsafe { std::slice::from_raw_parts(data, length) }
}

/// For a handle that must be there and is not.
#[cold]
pub(crate) fn null_handle(what: &str) -> Error {
    Error::invalid_argument(format!("the {what} is a null pointer"))
}

/// The keys of a caller.
///
/// # Safety
/// Both arrays have `count` elements, as the contract says.
pub(crate) unsafe fn keys_of<'a>(
    count: usize,
    keys: *const *const c_char,
    lengths: *const usize,
) -> Result<Vec<&'a [u8]>> {
    if count > 0 && (keys.is_null() || lengths.is_null()) {
        return Err(null_handle("list of keys"));
    }
    // SAFETY: as for this function.
    unsafe {
        let pairs = array(keys, count).iter().zip(array(lengths, count));
        Ok(pairs.map(|(key, length)| bytes(*key, *length)).collect())
    }
}

/// The place of an element in an array; null in a null array.
pub(crate) fn at<T>(array: *mut T, index: usize) -> *mut T {
    if array.is_null() { array } else { array.wrapping_add(index) }
}

/// A text of a caller.
///
/// # Errors
/// `Invalid argument` naming `what` when it is null or not UTF-8.
///
/// # Safety
/// `text` is null or ends in a zero byte and stays through `'a`.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str> {
    if text.is_null() {
        return Err(null_handle(what));
    }
    // SAFETY: as for this function.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Error::invalid_argument(format!("the {what} is not UTF-8")))
}

/// A name of a caller that may be of any bytes, as the text that stands for it.
///
/// # Errors
/// `Invalid argument` naming `what` when it is null.
///
/// # Safety
/// As for [`text`].
pub(crate) unsafe fn name<'a>(name: *const c_char, what: &str) -> Result<Cow<'a, str>> {
    if name.is_null() {
        return Err(null_handle(what));
    }
    // SAFETY: as for this function.
    Ok(from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()))
}

/// A path of a caller.
///
/// # Errors
/// `Invalid argument` when it is null.
///
/// # Safety
/// As for [`text`].
pub(crate) unsafe fn path<'a>(text: *const c_char) -> Result<&'a Path> {
    if text.is_null() {
        return Err(null_handle("path"));
    }
    // SAFETY: as for this function.
    let text = unsafe { CStr::from_ptr(text) };
    Ok(Path::new(OsStr::from_bytes(text.to_bytes())))
}

/// A copy from `malloc`; null when there is no memory. Of no bytes it is not null.
#[inline]
pub(crate) fn new_bytes(bytes: &[u8]) -> *mut c_char {
    // SAFETY: `malloc` may be called with any size.
    let copy = unsafe { libc::malloc(bytes.len().max(1)) };
    if !copy.is_null() {
        // SAFETY: the copy has room for the bytes, and is new.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), copy.cast(), bytes.len()) };
    }
    copy.cast()
}

/// A text from `malloc`, up to its first zero byte; names in it are of the bytes that they stand for.
pub(crate) fn new_text(text: &str) -> *mut c_char {
    let text = to_bytes(text.split('\0').next().unwrap_or_default());
    let mut bytes = Vec::with_capacity(text.len() + 1);
    bytes.extend_from_slice(&text);
    bytes.push(0);
    new_bytes(&bytes)
}

/// A path as a text from `malloc`.
pub(crate) fn new_path(path: &Path) -> *mut c_char {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    bytes.push(0);
    new_bytes(&bytes)
}

/// An array from `malloc`; null when there is no memory.
pub(crate) fn new_array<T: Copy>(elements: &[T]) -> *mut T {
    // SAFETY: `malloc` may be called with any size; the elements exist, so their size does not overflow.
    let copy: *mut T = unsafe { libc::malloc(size_of_val(elements).max(1)) }.cast();
    if !copy.is_null() {
        // SAFETY: the copy has room for the elements, and is new; `malloc` aligns for every type of C.
        unsafe { std::ptr::copy_nonoverlapping(elements.as_ptr(), copy, elements.len()) };
    }
    copy
}

/// Writes a result, if the caller wants it.
///
/// # Safety
/// `place` is null or can be written.
#[inline]
pub(crate) unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: as for this function.
        unsafe { place.write(value) };
    }
}

c_functions! {
    /// Frees what a function gave: values, texts, errors.
    fn rocksdb_free(memory: *mut std::ffi::c_void) {
        // SAFETY: the contract: it is null or came from `malloc`.
        unsafe { libc::free(memory) };
    }
}
