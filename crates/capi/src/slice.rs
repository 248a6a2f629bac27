//! Bytes and their length by value, as RocksDB's newer functions pass them.

use crate::error::Neutral;
use crate::memory::bytes;
use std::ffi::c_char;

/// Bytes that belong to another.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct rocksdb_slice_t {
    /// The first byte.
    pub data: *const c_char,
    /// How many there are.
    pub size: usize,
}

impl rocksdb_slice_t {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), size: bytes.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    /// The contract.
    pub(crate) unsafe fn bytes<'a>(&self) -> &'a [u8] {
        // SAFETY: as for this function.
        unsafe { bytes(self.data, self.size) }
    }
}

impl Neutral for rocksdb_slice_t {
    const NEUTRAL: Self = Self { data: std::ptr::null(), size: 0 };
}
