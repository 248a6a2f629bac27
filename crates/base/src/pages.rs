//! Memory for what is large and short-lived: pages of the system that go back to it with the value.
//!
//! ```text
//! mapping  [ zeroes until they are written | pages that are not touched take no memory ... ]
//! ```
//!
//! What an allocator gets back it keeps, in as many arenas as threads have freed memory, so that a list that each job
//! fills and drops is held several times over by a process that uses it once.

use memmap2::MmapMut;
use std::ops::{Deref, DerefMut};

/// Bytes that begin as zeroes. Meant for sizes of a hundred kilobytes and more: a page is the smallest unit, and each
/// that is touched costs a fault of some hundred nanoseconds.
///
/// ```
/// use ferrock_base::pages::Pages;
/// let mut pages = Pages::new(1 << 20);
/// pages[5] = 1;
/// assert_eq!((pages.len(), &pages[4..7]), (1 << 20, &[0, 1, 0][..]));
/// ```
#[derive(Debug)]
pub struct Pages(Memory);

#[derive(Debug)]
enum Memory {
    Mapping(MmapMut),
    /// Of the allocator, where the system maps nothing.
    Heap(Vec<u8>),
}

impl Pages {
    /// Memory of `bytes`: a mapping, or the allocator's where the system has none left.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self::mapped(bytes).unwrap_or_else(|| Self(Memory::Heap(vec![0; bytes])))
    }

    /// The same, but a mapping, which begins at a multiple of the system's page size; `None` where the system has none
    /// left.
    #[must_use]
    pub fn mapped(bytes: usize) -> Option<Self> {
        MmapMut::map_anon(bytes).ok().map(|mapping| Self(Memory::Mapping(mapping)))
    }
}

impl Clone for Pages {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.len());
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for Pages {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Mapping(mapping) => mapping,
            Memory::Heap(bytes) => bytes,
        }
    }
}

impl DerefMut for Pages {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Mapping(mapping) => mapping,
            Memory::Heap(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_zeroes_that_can_be_written() {
        for bytes in [0, 1, 4095, 4096, 1 << 20] {
            let mut pages = Pages::new(bytes);
            assert!(pages.len() == bytes && pages.iter().all(|&byte| byte == 0), "{bytes}");
            pages.fill(7);
            let copy = pages.clone();
            pages.fill(8);
            assert!(copy.len() == bytes && copy.iter().all(|&byte| byte == 7), "{bytes}");
        }
    }

    /// Linux joins mappings that lie side by side. Were each one of its own, 65,530 would be all that a process has.
    #[test]
    #[cfg(target_os = "linux")]
    fn many_pages_take_few_mappings() {
        let count = || std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count());
        let before = count();
        let pages: Vec<Pages> = (0..2000)
            .map(|_| {
                let mut pages = Pages::new(256 << 10);
                pages[0] = 1;
                pages
            })
            .collect();
        // Other tests may end threads meanwhile, and so unmap their stacks.
        let made = count().saturating_sub(before);
        assert!(made < 100, "{} times 256 KiB took {made} mappings", pages.len());
    }
}
