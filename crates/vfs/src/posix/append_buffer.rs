//! What was appended to a file and not written yet.
//!
//! ```text
//! small   [ up to 64 KiB ]                     a vector: most logs and MANIFESTs need no more
//! large   [ bytes | not touched ... ]          pages, from 2 MiB on, which go back to the system with the file
//! ```
//!
//! As a vector the megabyte of a table's buffer is copied each time it doubles, and leaves as many holes in the heap,
//! in that of each thread that writes files: with vectors the heap had 30 MB after the inserts of `lsm_at_scale
//! LIBRARY DIR blobs 16000000` (dev/interop), and has 16.

use ferrock_base::pages::Pages;

/// What is not larger lies in a vector.
const MAX_SMALL_BYTES: usize = 64 << 10;
/// Pages that are taken first: a buffer of the default size, 1 MiB, with an append that is just not too large for it.
const MIN_LARGE_BYTES: usize = 2 << 20;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct AppendBuffer {
    small: Vec<u8>,
    large: Option<Pages>,
    length: usize,
}

impl AppendBuffer {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.large {
            Some(pages) => &pages[..self.length],
            None => &self.small,
        }
    }

    #[inline]
    pub(super) fn extend(&mut self, data: &[u8]) {
        let end = self.length + data.len();
        if self.large.as_ref().is_none_or(|pages| pages.len() < end) {
            if self.large.is_none() && end <= MAX_SMALL_BYTES {
                self.small.extend_from_slice(data);
                self.length = end;
                return;
            }
            self.grow(end);
        }
        if let Some(pages) = &mut self.large {
            pages[self.length..end].copy_from_slice(data);
            self.length = end;
        }
    }

    /// Moves the bytes into pages that hold as many as `bytes`.
    #[cold]
    fn grow(&mut self, bytes: usize) {
        let mut pages = Pages::new(bytes.next_power_of_two().max(MIN_LARGE_BYTES));
        pages[..self.length].copy_from_slice(self.bytes());
        self.small = Vec::new();
        self.large = Some(pages);
    }

    /// Forgets the bytes, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.small.clear();
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in() {
        let mut buffer = AppendBuffer::default();
        for most in [100, MAX_SMALL_BYTES, MIN_LARGE_BYTES, 2 * MIN_LARGE_BYTES + 1, 10] {
            let mut expected = Vec::new();
            for round in 0.. {
                let data = vec![round as u8; 1 + most / 3 * (round % 2)];
                if expected.len() + data.len() > most {
                    break;
                }
                buffer.extend(&data);
                expected.extend(data);
                assert_eq!(buffer.len(), expected.len());
            }
            assert!(buffer.bytes() == expected, "{most}");
            buffer.clear();
            assert!(buffer.len() == 0 && buffer.bytes().is_empty());
        }
    }
}
