//! Memory at an aligned address, as O_DIRECT needs it.
//!
//! Long buffers are mappings of their own. glibc takes the first of them from the system too, but learns from the
//! first that is freed to keep them: a buffer of 2 MiB then comes from the arena of its thread, where smaller pieces
//! that live on come to lie behind it. In a load with two background jobs (1,000,000 values of 550 bytes, memtables of
//! 8 MiB) the process held 150 MB of which 52 MB were in use.

use ferrock_base::pages::Pages;

/// From this length on a buffer is a mapping. Making one takes a call, and a page fault for each page of it.
const MAPPED_FROM_BYTES: usize = 128 << 10;
/// No alignment of a mapping can be relied upon beyond the smallest page of any system.
const PAGE_BYTES: usize = 4096;

/// A fixed run of zeroed bytes whose address is a multiple of its alignment.
///
/// A reader that wants to skip the bounce buffer of a direct file can read into one.
#[derive(Debug)]
pub struct AlignedBuffer {
    storage: Storage,
    start: usize,
    length: usize,
}

#[derive(Debug)]
enum Storage {
    /// The buffer is a part of a slightly longer vector that is never resized, which needs no unsafe code.
    Heap(Vec<u8>),
    Mapped(Pages),
}

impl Storage {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}

impl AlignedBuffer {
    /// `length` zeroed bytes at a multiple of `alignment`, which is rounded up to a power of two.
    #[must_use]
    pub fn new(length: usize, alignment: usize) -> Self {
        let alignment = alignment.max(1).next_power_of_two();
        if length >= MAPPED_FROM_BYTES && alignment <= PAGE_BYTES {
            // Where there is no mapping to be had the allocator decides, as for any vector.
            if let Some(map) = Pages::mapped(length) {
                return Self { storage: Storage::Mapped(map), start: 0, length };
            }
        }
        let storage = vec![0; length + alignment];
        let start = storage.as_ptr().addr().wrapping_neg() % alignment;
        Self { storage: Storage::Heap(storage), start, length }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.storage.bytes()[self.start..self.start + self.length]
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = match &mut self.storage {
            Storage::Heap(bytes) => bytes.as_mut_slice(),
            Storage::Mapped(map) => map,
        };
        &mut bytes[self.start..self.start + self.length]
    }
}
