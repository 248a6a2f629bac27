//! An allocator that remembers the largest single request, so that a length read from a damaged file and trusted shows.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Watching;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Watching = Watching;

fn note(size: usize) {
    LARGEST.fetch_max(size, Ordering::Relaxed);
}

// SAFETY: every call is passed on to the system allocator unchanged; counting touches an atomic and allocates nothing.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(new_size);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// The largest request since the last call.
pub fn take_largest() -> usize {
    LARGEST.swap(0, Ordering::Relaxed)
}

#[test]
fn the_allocator_sees_large_requests() {
    let _turn = crate::check::turn();
    take_largest();
    drop(std::hint::black_box(vec![0u8; 9 << 20]));
    assert!(take_largest() >= 9 << 20);
    assert!(take_largest() < 9 << 20);
}
