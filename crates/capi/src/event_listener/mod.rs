//! Listeners made of callbacks, and what they are told.
//!
//! ```text
//! rocksdb_eventlistener_create ---> options own it ---> each open attaches it to its database ---> callbacks
//! ```
//!
//! | file | has |
//! |---|---|
//! | `listener.rs`, `owned.rs` | the listener, and how options come to own it |
//! | `flush.rs`, `compaction.rs`, `ingestion.rs`, `job_stats.rs`, `memtable.rs` | getters of infos |
//! | `table_properties.rs`, `blob_files.rs` | getters of what lies in infos |
//!
//! An info lives while its callback runs, and what its getters give lives as long. A text has a zero byte behind it.
//! Getters of a null info give 0, null, or an empty text; so does one that asks for an element behind the last.

use ferrock_base::byte_text::to_bytes;
use std::ffi::c_char;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Functions that tell a number of an info.
macro_rules! info_numbers {
    (for $handle:ty: $( $(#[doc = $doc:literal])+ fn $name:ident -> $ty:ty = |$info:ident| $number:expr; )*) => {
        c_functions! {$(
            $(#[doc = $doc])+
            fn $name(info: *const $handle) -> $ty {
                // SAFETY: the contract.
                unsafe { info.as_ref() }.map_or_else(Default::default, |$info| $number)
            }
        )*}
    };
}

/// Functions that tell a text of an info.
macro_rules! info_texts {
    (for $handle:ty: $( $(#[doc = $doc:literal])+ fn $name:ident = |$info:ident| $text:expr; )*) => {
        c_functions! {$(
            $(#[doc = $doc])+
            fn $name(info: *const $handle, size: *mut usize) -> *const c_char {
                // SAFETY: the contract.
                let text: &$crate::event_listener::Text = match unsafe { info.as_ref() } {
                    Some($info) => $text,
                    None => $crate::event_listener::Text::EMPTY,
                };
                // SAFETY: the contract: the size can be written.
                unsafe { text.give(size) }
            }
        )*}
    };
}

/// Functions that give a part of an info.
macro_rules! info_parts {
    (for $handle:ty: $( $(#[doc = $doc:literal])+ fn $name:ident -> $part:ty = |$info:ident| $of:expr; )*) => {
        c_functions! {$(
            $(#[doc = $doc])+
            fn $name(info: *const $handle) -> *const $part {
                // SAFETY: the contract.
                unsafe { info.as_ref() }.map_or(std::ptr::null(), |$info| std::ptr::from_ref($of))
            }
        )*}
    };
}

/// Functions that give an element of a list in an info.
macro_rules! info_elements {
    (for $handle:ty: $( $(#[doc = $doc:literal])+ fn $name:ident -> $part:ty = |$info:ident| $list:expr; )*) => {
        c_functions! {$(
            $(#[doc = $doc])+
            fn $name(info: *const $handle, pos: usize) -> *const $part {
                // SAFETY: the contract.
                let list: Option<&Vec<$part>> = unsafe { info.as_ref() }.map(|$info| $list);
                let element = list.and_then(|list| list.get(pos));
                element.map_or(std::ptr::null(), std::ptr::from_ref)
            }
        )*}
    };
}

/// Functions that give a text in a list of an info; null behind the last.
macro_rules! info_text_elements {
    (for $handle:ty: $( $(#[doc = $doc:literal])+ fn $name:ident = |$info:ident, $pos:ident| $text:expr; )*) => {
        c_functions! {$(
            $(#[doc = $doc])+
            fn $name(info: *const $handle, $pos: usize, size: *mut usize) -> *const c_char {
                // SAFETY: the contract.
                let text: Option<&$crate::event_listener::Text> = unsafe { info.as_ref() }.and_then(|$info| $text);
                match text {
                    // SAFETY: the contract: the size can be written.
                    Some(text) => unsafe { text.give(size) },
                    None => {
                        // SAFETY: the contract: the size can be written.
                        unsafe { $crate::memory::put(size, 0) };
                        std::ptr::null()
                    }
                }
            }
        )*}
    };
}

mod blob_files;
mod compaction;
mod flush;
mod ingestion;
mod job_stats;
mod listener;
mod memtable;
mod owned;
mod table_properties;

pub(crate) use compaction::rocksdb_compactionjobinfo_t;
pub(crate) use listener::{Attached, CallbackListener, WithHandle, rocksdb_eventlistener_t};

/// Bytes that a getter gives, with a zero behind them.
pub(crate) struct Text(Vec<u8>);

impl Text {
    const EMPTY: &'static Self = &Self(Vec::new());

    fn new(bytes: &[u8]) -> Self {
        Self([bytes, b"\0"].concat())
    }

    /// A name, of the bytes that it stands for.
    fn of_name(name: &str) -> Self {
        Self::new(&to_bytes(name))
    }

    fn of_path(path: &Path) -> Self {
        Self::new(path.as_os_str().as_bytes())
    }

    fn bytes(&self) -> &[u8] {
        self.0.strip_suffix(b"\0").unwrap_or_default()
    }

    /// Where the bytes are, and how many.
    ///
    /// # Safety
    /// The size can be written, or is null.
    unsafe fn give(&self, size: *mut usize) -> *const c_char {
        // SAFETY: as for this function.
        unsafe { crate::memory::put(size, self.bytes().len()) };
        if self.0.is_empty() { c"".as_ptr() } else { self.0.as_ptr().cast() }
    }
}

/// A number as C has it.
fn int(number: u64) -> std::ffi::c_int {
    std::ffi::c_int::try_from(number).unwrap_or(std::ffi::c_int::MAX)
}
