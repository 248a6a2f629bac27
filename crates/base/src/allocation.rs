//! Counts the allocations of a thread: an allocator for binaries that report them.
//!
//! ```text
//! binary      #[global_allocator] static ALLOCATOR: CountingAllocator = CountingAllocator;
//! anywhere    allocations_of_this_thread()      None in a binary without it
//! ```
//!
//! The count is a plain thread-local: each allocation costs one more addition, and threads share nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, with its calls counted.
#[derive(Debug)]
pub struct CountingAllocator;

fn count() {
    // Allocations of a thread that is being torn down are not counted.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes to the system's allocator with the caller's own arguments, so its guarantees are this one's.
// Counting writes a thread-local without a destructor, which neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise about `layout` is the one that `System` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as for `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: `pointer` came from the system's allocator with `layout`; the rest is the caller's promise.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from the system's allocator with `layout`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Allocations and reallocations of the calling thread so far; `None` if the binary uses another allocator.
#[must_use]
pub fn allocations_of_this_thread() -> Option<u64> {
    let before = COUNT.get();
    drop(std::hint::black_box(Box::new(0_u8)));
    let after = COUNT.get();
    (after > before).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_counted_in_a_binary_with_another_allocator() {
        assert_eq!(allocations_of_this_thread(), None);
    }

    #[test]
    fn memory_is_usable_and_counted() {
        let before = COUNT.get();
        let layout = Layout::from_size_align(24, 8).unwrap();
        // SAFETY: the layout is not empty, the memory is used within its bounds, and given back once with the layout it
        // has by then.
        let (kept, zeroed) = unsafe {
            let pointer = CountingAllocator.alloc(layout);
            pointer.write(7);
            let grown = CountingAllocator.realloc(pointer, layout, 48);
            let kept = grown.read();
            CountingAllocator.dealloc(grown, Layout::from_size_align(48, 8).unwrap());
            let clean = CountingAllocator.alloc_zeroed(layout);
            let zeroed = clean.add(23).read();
            CountingAllocator.dealloc(clean, layout);
            (kept, zeroed)
        };
        assert_eq!((kept, zeroed, COUNT.get() - before), (7, 0, 3));
    }
}
