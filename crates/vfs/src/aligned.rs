//! Memory at an aligned address, as O_DIRECT needs it.

/// A fixed run of zeroed bytes whose address is a multiple of its alignment.
///
/// The bytes are a part of a slightly longer vector that is never resized, which needs no unsafe code. A reader that
/// wants to skip the bounce buffer of a direct file can read into one.
#[derive(Debug)]
pub struct AlignedBuffer {
    storage: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    /// `length` zeroed bytes at a multiple of `alignment`, which is rounded up to a power of two.
    #[must_use]
    pub fn new(length: usize, alignment: usize) -> Self {
        let alignment = alignment.max(1).next_power_of_two();
        let storage = vec![0; length + alignment];
        let start = storage.as_ptr().addr().wrapping_neg() % alignment;
        Self { storage, start, length }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.storage[self.start..self.start + self.length]
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.storage[self.start..self.start + self.length]
    }
}
