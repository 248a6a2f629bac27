//! How a C function is declared: its body runs behind a catcher of panics, and where the signature ends in `errptr`,
//! its error goes there.
//!
//! ```text
//! c_functions!  { /// doc   fn rocksdb_x(a: A) -> R { ... R } }
//! c_fallible!   { /// doc   fn rocksdb_x(a: A) -> R { ... Result<R> } }      adds `errptr: *mut *mut c_char`
//! ```

use ferrock::options::{IoPriority, MmapReads};
use std::time::Duration;

/// Functions without `errptr`.
macro_rules! c_functions {
    ($( $(#[doc = $doc:literal])+ fn $name:ident ( $($arg:ident : $ty:ty),* $(,)? ) $(-> $ret:ty)? $body:block )*) => {$(
        $(#[doc = $doc])+
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) $(-> $ret)? {
            $crate::error::guard(|| $body)
        }
    )*};
}

/// Functions whose last parameter is `errptr`.
macro_rules! c_fallible {
    ($( $(#[doc = $doc:literal])+ fn $name:ident ( $($arg:ident : $ty:ty),* $(,)? ) $(-> $ret:ty)? $body:block )*) => {$(
        $(#[doc = $doc])+
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the signature is RocksDB's")]
        pub unsafe extern "C" fn $name($($arg: $ty,)* errptr: *mut *mut std::ffi::c_char) $(-> $ret)? {
            let outcome = $crate::error::catch(|| -> ferrock::Result<return_type!($($ret)?)> { $body });
            // SAFETY: the contract about `errptr`.
            unsafe { $crate::error::settle(errptr, outcome) }
        }
    )*};
}

/// The type that a function gives; `()` when it gives none.
macro_rules! return_type {
    () => {
        ()
    };
    ($ty:ty) => {
        $ty
    };
}

/// Functions that destroy a handle; null is allowed.
macro_rules! c_destructors {
    ($( $(#[doc = $doc:literal])+ fn $name:ident ( $ty:ty ); )*) => {
        c_functions! {$(
            $(#[doc = $doc])+
            fn $name(handle: *mut $ty) {
                // SAFETY: the contract: the handle is one of its kind, and this is its end.
                drop(unsafe { $crate::handle::take(handle) });
            }
        )*}
    };
}

/// A value of C that an option takes as it is.
pub(crate) trait FromC<C> {
    /// The option's value.
    fn from_c(value: C) -> Self;
}

impl FromC<u8> for bool {
    fn from_c(value: u8) -> Self {
        value != 0
    }
}

/// `block_protection_bytes_per_key` is a byte in C.
impl FromC<u8> for u32 {
    fn from_c(value: u8) -> Self {
        value.into()
    }
}

impl ToC<u8> for u32 {
    fn to_c(self) -> u8 {
        u8::try_from(self).unwrap_or(u8::MAX)
    }
}

impl FromC<i32> for bool {
    fn from_c(value: i32) -> Self {
        value != 0
    }
}

impl FromC<u8> for MmapReads {
    fn from_c(value: u8) -> Self {
        // SAFETY: a caller of the C interface that sets the option makes the promise of `MmapReads::on`.
        if value != 0 { unsafe { Self::on() } } else { Self::OFF }
    }
}

impl ToC<u8> for MmapReads {
    fn to_c(self) -> u8 {
        self.is_on().into()
    }
}

/// The priority at a rate limiter, of which the number behind the last is none.
const NO_PRIORITY: i32 = 4;

impl FromC<i32> for Option<IoPriority> {
    fn from_c(value: i32) -> Self {
        match value {
            0 => Some(IoPriority::Low),
            1 => Some(IoPriority::Mid),
            2 => Some(IoPriority::High),
            3 => Some(IoPriority::User),
            _ => None,
        }
    }
}

impl ToC<i32> for Option<IoPriority> {
    fn to_c(self) -> i32 {
        self.map_or(NO_PRIORITY, |priority| priority as i32)
    }
}

macro_rules! same_in_c {
    ($($ty:ty),*) => {$(
        impl FromC<$ty> for $ty {
            fn from_c(value: $ty) -> Self {
                value
            }
        }
    )*};
}
same_in_c!(i32, u32, u64, usize, f64);

impl FromC<usize> for u64 {
    fn from_c(value: usize) -> Self {
        value as Self
    }
}

/// Microseconds.
impl FromC<u64> for Duration {
    fn from_c(value: u64) -> Self {
        Self::from_micros(value)
    }
}

/// Functions that set one field of a handle to a value that needs no check of its own: bounds are the option table's,
/// and values are brought into them when the database opens.
macro_rules! c_setters {
    (for $handle:ty: $( $(#[doc = $doc:literal])+ fn $name:ident ( $ty:ty ) => $($field:ident).+; )*) => {
        c_functions! {$(
            $(#[doc = $doc])+
            fn $name(options: *mut $handle, value: $ty) {
                // SAFETY: the contract.
                if let Some(options) = unsafe { options.as_mut() } {
                    options.$($field).+ = $crate::function::FromC::from_c(value);
                }
            }
        )*}
    };
}

/// A value of C that an option is told as.
pub(crate) trait ToC<C> {
    /// The number.
    fn to_c(self) -> C;
}

impl ToC<u8> for bool {
    fn to_c(self) -> u8 {
        self.into()
    }
}

macro_rules! told_in_c {
    ($($ty:ty),*) => {$(
        impl ToC<$ty> for $ty {
            fn to_c(self) -> $ty {
                self
            }
        }
    )*};
}
told_in_c!(i32, u32, u64, usize, f64);

impl ToC<usize> for u64 {
    fn to_c(self) -> usize {
        usize::try_from(self).unwrap_or(usize::MAX)
    }
}

/// Microseconds.
impl ToC<u64> for Duration {
    fn to_c(self) -> u64 {
        u64::try_from(self.as_micros()).unwrap_or(u64::MAX)
    }
}

/// Functions that tell one field of a handle; of a null handle, nothing.
macro_rules! c_getters {
    (for $handle:ty: $( $(#[doc = $doc:literal])+ fn $name:ident () -> $ty:ty => $($field:ident).+; )*) => {
        c_functions! {$(
            $(#[doc = $doc])+
            fn $name(options: *mut $handle) -> $ty {
                // SAFETY: the contract.
                let options = unsafe { options.as_ref() };
                options.map_or_else(Default::default, |options| $crate::function::ToC::to_c(options.$($field).+))
            }
        )*}
    };
}

/// Functions that set a field of table options to the value of a number; another number is refused by the open.
macro_rules! c_enum_setters {
    ($( $(#[doc = $doc:literal])+ fn $name:ident ( $kind:ty, $option:literal, $bound:literal ) => $($field:ident).+; )*) => {
        c_functions! {$(
            $(#[doc = $doc])+
            fn $name(options: *mut rocksdb_block_based_table_options_t, value: c_int) {
                let known = usize::try_from(value).ok().and_then(|index| <$kind>::ALL.get(index));
                let known = known.ok_or_else(|| out_of_range($option, value, $bound));
                // SAFETY: the contract.
                unsafe { set(options, $option, |options| known.map(|(kind, _)| options.$($field).+ = *kind)) };
            }
        )*}
    };
}

/// Functions that tell the number of such a value.
macro_rules! c_enum_getters {
    ($( $(#[doc = $doc:literal])+ fn $name:ident () => $($field:ident).+; )*) => {
        c_functions! {$(
            $(#[doc = $doc])+
            fn $name(options: *mut rocksdb_block_based_table_options_t) -> c_int {
                // SAFETY: the contract.
                unsafe { options.as_ref() }.map_or(0, |options| options.$($field).+ as c_int)
            }
        )*}
    };
}
