//! A chunk: memory of an arena, of the allocator or a mapping of its own.
//!
//! ```text
//! chunk   [ piece | piece | piece | ... free ... ]
//!                                   ^ used (atomic bump)
//! ```
//!
//! Invariants: a chunk is the only owner of its memory; pieces that were taken do not overlap until it is emptied.

use crate::sync::{AtomicUsize, Ordering};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Chunks from this size on are mappings of their own: glibc's `M_MMAP_THRESHOLD` is half of it, before it grows.
#[cfg(target_os = "linux")]
pub(crate) const MIN_MAPPED_BYTES: usize = 256 << 10;
/// Memory of a mapping begins at a multiple of at least this, and is a multiple of it.
#[cfg(target_os = "linux")]
const MAPPED_ALIGNMENT: usize = 4096;
/// A huge page of x86-64, and of ARM with pages of 4 KiB.
pub(crate) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Memory that pieces are taken from.
pub(crate) struct Chunk {
    base: NonNull<u8>,
    layout: Layout,
    /// The memory is a mapping, and not the allocator's.
    is_mapped: bool,
    /// Bytes requested of the chunk so far; exceeds the capacity once the chunk is full.
    used: AtomicUsize,
}

// SAFETY: the chunk owns the memory at `base`, which nothing else refers to once its arena is gone; all else of it is
// numbers and an atomic.
unsafe impl Send for Chunk {}

impl Chunk {
    pub(crate) fn new(bytes: usize, alignment: usize) -> Self {
        // A size beyond every address space cannot be allocated; `handle_alloc_error` is what a `Vec` of that size
        // would call.
        let layout = match Layout::from_size_align(bytes, alignment) {
            Ok(layout) if bytes > 0 => layout,
            _ => handle_alloc_error(Layout::new::<u64>()),
        };
        let mapped = Self::map(layout);
        let base = mapped.unwrap_or_else(|| {
            // SAFETY: the layout's size is not zero.
            let base = unsafe { alloc(layout) };
            NonNull::new(base).unwrap_or_else(|| handle_alloc_error(layout))
        });
        Self { base, layout, is_mapped: mapped.is_some(), used: AtomicUsize::new(0) }
    }

    /// A mapping for a large chunk. `None` where the system gives none: the allocator may have memory still.
    #[cfg(target_os = "linux")]
    fn map(layout: Layout) -> Option<NonNull<u8>> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
        let (bytes, alignment) = (layout.size(), layout.align());
        if bytes < MIN_MAPPED_BYTES || bytes % MAPPED_ALIGNMENT != 0 {
            return None;
        }
        // Longer by the alignment: somewhere in it the chunk begins where it must, and what is around it goes back.
        let spare = if alignment > MAPPED_ALIGNMENT { alignment } else { 0 };
        let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: without an address and `FIXED` the mapping is made where nothing is.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes.checked_add(spare)?, access, kind) }.ok()?;
        let head = if spare > 0 { start.align_offset(alignment).min(spare) } else { 0 };
        // SAFETY: `head` is at most `spare`, so this and what follows lies in the mapping of `bytes + spare`; all of it
        // is whole pages, of which none has been used.
        let base = unsafe {
            let base = start.byte_add(head);
            for (from, length) in [(start, head), (base.byte_add(bytes), spare - head)] {
                if length > 0 {
                    let _ = munmap(from, length);
                }
            }
            base
        };
        NonNull::new(base.cast())
    }

    #[cfg(not(target_os = "linux"))]
    fn map(_: Layout) -> Option<NonNull<u8>> {
        None
    }

    /// Gives a mapping back.
    #[cfg(target_os = "linux")]
    fn unmap(&self) {
        // SAFETY: `map` made it with this size, and the chunk is its only owner.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.layout.size()) };
    }

    #[cfg(not(target_os = "linux"))]
    fn unmap(&self) {}

    /// Where its memory begins.
    #[inline]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Bytes of its memory.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.layout.size()
    }

    /// Bytes that were taken.
    pub(crate) fn used_bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed).min(self.bytes())
    }

    /// The memory is a mapping, and not the allocator's.
    #[cfg(test)]
    pub(crate) fn is_mapped(&self) -> bool {
        self.is_mapped
    }

    /// True for one huge page that is a mapping of its own: what any arena that takes such chunks can use.
    pub(crate) fn is_huge_page(&self) -> bool {
        self.is_mapped && (self.layout.size(), self.layout.align()) == (HUGE_PAGE_BYTES, HUGE_PAGE_BYTES)
    }

    /// Forgets the pieces. What they held stays, as what is in memory that is new is not said either.
    pub(crate) fn empty(&mut self) {
        // What is read of an arena that is gone shall not look like an entry.
        #[cfg(debug_assertions)]
        // SAFETY: the memory is the chunk's, of this size, and no arena has it.
        unsafe {
            self.base.as_ptr().write_bytes(0xdd, self.layout.size());
        }
        self.used = AtomicUsize::new(0);
    }

    /// Asks for huge pages. A system that gives none is no error: the memory is there.
    #[cfg(target_os = "linux")]
    pub(crate) fn advise_huge_pages(&self) {
        let (base, bytes) = (self.base.as_ptr().cast(), self.layout.size());
        // SAFETY: the range is this allocation, as a whole; the advice changes what backs it and not what it holds.
        let _ = unsafe { rustix::mm::madvise(base, bytes, rustix::mm::Advice::LinuxHugepage) };
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn advise_huge_pages(&self) {}

    /// Allocates a piece of `bytes` (a multiple of the alignment); `None` if the chunk is full.
    #[inline]
    pub(crate) fn take(&self, bytes: usize) -> Option<NonNull<u8>> {
        let offset = self.used.fetch_add(bytes, Ordering::Relaxed);
        if offset.checked_add(bytes)? > self.layout.size() {
            return None;
        }
        // SAFETY: offset + bytes <= size of the allocation, checked just above. `used` cannot wrap: a failed attempt
        // adds at most a quarter chunk and its thread then replaces the chunk.
        Some(unsafe { self.base.add(offset) })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        if self.is_mapped {
            return self.unmap();
        }
        // SAFETY: allocated in `new` with this layout, freed only here.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}
