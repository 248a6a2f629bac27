//! An arena: memory that is allocated in pieces and freed all at once.
//!
//! ```text
//! chunk   [ piece | piece | piece | ... free ... ]     pieces are 8-byte aligned and never move
//!                                   ^ used (atomic bump)
//! ```
//!
//! Many threads may allocate at once: a piece is one `fetch_add` on the current chunk; only a thread that finds the
//! chunk full takes the lock and allocates the next one. A piece larger than a quarter of a chunk gets a chunk of its
//! own, so that the rest of the current one is not wasted. Chunks have the configured size (`arena_block_size`, 4 KiB
//! to 1 GiB), except for the first, which is always 4 KiB: an idle column family costs no more. RocksDB's arena
//! likewise begins in a small block (of 2 KiB) before it allocates the first of the configured size.
//!
//! On Linux chunks of 256 KiB and more are mappings of their own, which go back to the system with the arena. What an
//! allocator gets back it keeps: after inserts of 1 GB with memtables of 64 MB, glibc held 39 to 103 MB free, which
//! now are 6 to 10 MB. New pages cost time, 14 to 21 % of the inserts. So from 4 MiB on an arena takes 2 MiB at a
//! time, which the system is asked to back with one huge page, and leaves them to the next arena
//! ([`crate::spare_chunks`]). An arena of less than that takes pages as it needs them.
//!
//! With `memtable_huge_page_size` all chunks of a page and more begin where a page does and are whole pages, and on
//! Linux the system is asked to back them with huge pages.
//!
//! Tried and lost: populating each mapping of 1 MiB at once (5 to 26 % fewer inserts still, and a p99.9 of 74 to 86 us
//! in place of 55 to 57).
//!
//! Invariants: a piece belongs to one caller; chunks live until the arena is dropped; `allocated_bytes` is the exact
//! sum of the chunk sizes.

use crate::chunk::{Chunk, HUGE_PAGE_BYTES};
use crate::spare_chunks;
use crate::sync::{AtomicPtr, AtomicUsize, Mutex, Ordering};
use std::ptr::NonNull;

/// Alignment of every piece.
pub(crate) const ALIGNMENT: usize = 8;
/// Size of the first chunk.
const FIRST_CHUNK_BYTES: usize = 4096;
/// Smallest size of the later chunks.
const MIN_CHUNK_BYTES: usize = 4096;
/// Largest size of a chunk that pieces share.
const MAX_CHUNK_BYTES: usize = 1 << 30;

/// An arena that has this much takes huge pages, if its chunks are at least half as large as one.
const HUGE_PAGES_FROM_BYTES: usize = 4 << 20;

/// The allocator.
pub(crate) struct Arena {
    /// The chunk that pieces come from; null before the first allocation. Always one of `chunks`.
    current: AtomicPtr<Chunk>,
    chunks: Mutex<Vec<NonNull<Chunk>>>,
    allocated_bytes: AtomicUsize,
    /// Sizes of all chunks except the current one; they count as fully used.
    sealed_bytes: AtomicUsize,
    chunk_bytes: usize,
    /// Alignment of chunks from this size on, whose sizes are multiples of it; 0: only [`ALIGNMENT`].
    page_bytes: usize,
    /// Huge pages are taken from, and left in, the list of spare ones.
    uses_spare: bool,
}

// SAFETY: the raw pointers own the chunks, which are memory plus an atomic counter; every access to them is atomic or
// under the lock, and they are freed only in `drop`, when there is a single owner.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// `page_bytes`: chunks are whole pages of this size, so that the system can back them with huge pages. 0, or no
    /// power of two: they are of any size. `uses_spare`: memory that is not counted as this arena's may stay behind.
    pub(crate) fn new(chunk_bytes: usize, page_bytes: usize, uses_spare: bool) -> Self {
        let page_bytes = if page_bytes.is_power_of_two() && page_bytes <= MAX_CHUNK_BYTES { page_bytes } else { 0 };
        let chunk_bytes = chunk_bytes.clamp(MIN_CHUNK_BYTES, MAX_CHUNK_BYTES) & !(ALIGNMENT - 1);
        if uses_spare {
            spare_chunks::begin_arena();
        }
        Self {
            current: AtomicPtr::new(std::ptr::null_mut()),
            chunks: Mutex::new(Vec::new()),
            allocated_bytes: AtomicUsize::new(0),
            sealed_bytes: AtomicUsize::new(0),
            chunk_bytes: if page_bytes > 0 { chunk_bytes.next_multiple_of(page_bytes) } else { chunk_bytes },
            page_bytes,
            uses_spare,
        }
    }

    /// Bytes taken from the system.
    pub(crate) fn allocated_bytes(&self) -> usize {
        self.allocated_bytes.load(Ordering::Relaxed)
    }

    /// Bytes allocated, including the unused rest of full chunks.
    pub(crate) fn used_bytes(&self) -> usize {
        // SAFETY: `current` is null or one of `chunks`, which live as long as `self`.
        let current = unsafe { self.current.load(Ordering::Acquire).as_ref() };
        let in_current = current.map_or(0, Chunk::used_bytes);
        self.sealed_bytes.load(Ordering::Relaxed) + in_current
    }

    /// Uninitialised memory of at least `bytes` bytes, aligned to [`ALIGNMENT`], valid until the arena is dropped.
    #[inline]
    pub(crate) fn allocate(&self, bytes: usize) -> NonNull<u8> {
        let bytes = bytes.max(1).checked_next_multiple_of(ALIGNMENT).unwrap_or(usize::MAX);
        if bytes <= self.chunk_bytes / 4 {
            let current = self.current.load(Ordering::Acquire);
            // SAFETY: `current` is null or one of `chunks`, which live as long as `self`.
            if let Some(piece) = unsafe { current.as_ref() }.and_then(|chunk| chunk.take(bytes)) {
                return piece;
            }
        }
        self.allocate_slow(bytes)
    }

    #[cold]
    fn allocate_slow(&self, bytes: usize) -> NonNull<u8> {
        let mut chunks = self.chunks.lock();
        if bytes > self.chunk_bytes / 4 {
            // SAFETY: just made, lives as long as `self`; its base is its only piece.
            let chunk = unsafe { self.add_chunk(&mut chunks, bytes).as_ref() };
            self.sealed_bytes.fetch_add(chunk.bytes(), Ordering::Relaxed);
            return chunk.base();
        }
        loop {
            let current = self.current.load(Ordering::Acquire);
            // SAFETY: `current` is null or one of `chunks`, which live as long as `self`.
            let current = unsafe { current.as_ref() };
            // Another thread may have made a new chunk while this one waited for the lock.
            if let Some(piece) = current.and_then(|chunk| chunk.take(bytes)) {
                return piece;
            }
            let size = match current {
                None => FIRST_CHUNK_BYTES.max(bytes),
                Some(_) => self.chunk_bytes,
            };
            let next = self.add_chunk(&mut chunks, size);
            self.current.store(next.as_ptr(), Ordering::Release);
            if let Some(full) = current {
                self.sealed_bytes.fetch_add(full.bytes(), Ordering::Relaxed);
            }
        }
    }

    /// The size of huge pages for a chunk, if it gets any.
    fn page_bytes_of(&self, bytes: usize) -> Option<usize> {
        if self.page_bytes > 0 {
            return (bytes >= self.page_bytes).then_some(self.page_bytes.max(ALIGNMENT));
        }
        let is_shared = bytes == self.chunk_bytes && bytes >= HUGE_PAGE_BYTES / 2;
        let is_large = is_shared && self.allocated_bytes() >= HUGE_PAGES_FROM_BYTES;
        (cfg!(target_os = "linux") && is_large).then_some(HUGE_PAGE_BYTES)
    }

    fn add_chunk(&self, chunks: &mut Vec<NonNull<Chunk>>, bytes: usize) -> NonNull<Chunk> {
        let page_bytes = self.page_bytes_of(bytes);
        let alignment = page_bytes.unwrap_or(ALIGNMENT);
        let bytes = bytes.checked_next_multiple_of(alignment).unwrap_or(bytes);
        let is_huge_page = (bytes, alignment) == (HUGE_PAGE_BYTES, HUGE_PAGE_BYTES);
        let spare = if self.uses_spare && is_huge_page { spare_chunks::take() } else { None };
        let chunk = spare.unwrap_or_else(|| {
            let chunk = Chunk::new(bytes, alignment);
            if page_bytes.is_some() {
                chunk.advise_huge_pages();
            }
            chunk
        });
        let chunk = NonNull::from(Box::leak(Box::new(chunk)));
        chunks.push(chunk);
        self.allocated_bytes.fetch_add(bytes, Ordering::Relaxed);
        chunk
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let chunks = std::mem::take(self.chunks.get_mut()).into_iter().map(|chunk| {
            // SAFETY: made by `Box::leak` in `add_chunk`, in the list once, and no other user is left.
            *unsafe { Box::from_raw(chunk.as_ptr()) }
        });
        let chunks: Vec<Chunk> = chunks.collect();
        if self.uses_spare {
            spare_chunks::end_arena(chunks);
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    #[cfg(target_os = "linux")]
    use crate::chunk::MIN_MAPPED_BYTES;

    fn chunk_sizes(arena: &Arena) -> Vec<usize> {
        let chunks = arena.chunks.lock();
        // SAFETY: the arena is alive.
        chunks.iter().map(|chunk| unsafe { chunk.as_ref() }.bytes()).collect()
    }

    #[test]
    fn chunks_have_the_size_that_was_asked_for() {
        for asked in [4 << 10, 64 << 10, 1 << 20, 3 << 20] {
            let arena = Arena::new(asked, 0, false);
            arena.allocate(100);
            assert_eq!(chunk_sizes(&arena), [FIRST_CHUNK_BYTES], "one small piece costs the first chunk");
            while arena.allocated_bytes() < 3 * asked {
                arena.allocate(1000);
            }
            let sizes = chunk_sizes(&arena);
            for (index, &size) in sizes.iter().enumerate().skip(1) {
                let before: usize = sizes[..index].iter().sum();
                let is_huge = cfg!(target_os = "linux") && before >= HUGE_PAGES_FROM_BYTES && asked >= 1 << 20;
                let wanted = if is_huge { asked.next_multiple_of(HUGE_PAGE_BYTES) } else { asked };
                assert_eq!(size, wanted, "{asked}: {sizes:?}");
            }
            assert!(sizes.len() >= 3, "{asked}: {sizes:?}");
            // A piece of a quarter still shares a chunk; a larger one has a chunk of its own, of exactly its size.
            let before = sizes.len();
            arena.allocate(asked / 4 + 8);
            assert_eq!(chunk_sizes(&arena)[before..], [asked / 4 + 8], "{asked}");
        }
        for (asked, least) in [(0, MIN_CHUNK_BYTES), (1, MIN_CHUNK_BYTES), (usize::MAX, MAX_CHUNK_BYTES)] {
            assert_eq!(Arena::new(asked, 0, false).chunk_bytes, least);
        }
    }

    #[test]
    fn chunks_are_whole_pages_where_pages_are_asked_for() {
        const PAGE: usize = 64 << 10;
        let arena = Arena::new(100_000, PAGE, false);
        for bytes in [100, 3000, 20_000, 50_000, 5_000_000, 20_000].iter().cycle().take(60) {
            arena.allocate(*bytes);
        }
        let chunks = arena.chunks.lock();
        // SAFETY: the arena is alive.
        let chunks: Vec<&Chunk> = chunks.iter().map(|chunk| unsafe { chunk.as_ref() }).collect();
        let sizes: Vec<usize> = chunks.iter().map(|chunk| chunk.bytes()).collect();
        assert!(sizes.contains(&(2 * PAGE)) && sizes.contains(&5_046_272), "{sizes:?}");
        for chunk in chunks.iter().filter(|chunk| chunk.bytes() >= PAGE) {
            assert_eq!((chunk.bytes() % PAGE, chunk.base().as_ptr() as usize % PAGE), (0, 0));
        }
        assert_eq!(arena.allocated_bytes(), sizes.iter().sum());
        // Sizes that no page has are no wish.
        for page in [0, 3, usize::MAX] {
            assert_eq!(
                (Arena::new(8192, page, false).page_bytes, Arena::new(8192, page, false).chunk_bytes),
                (0, 8192)
            );
        }
    }

    /// The flags of the mapping that an address lies in, as the system tells them; `None` where it has no huge pages.
    #[cfg(target_os = "linux")]
    #[expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    fn flags_of_mapping(address: usize) -> Option<String> {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return None;
        }
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_there = false;
        for line in maps.lines() {
            let range = line.split_whitespace().next().and_then(|range| range.split_once('-'));
            if let Some((Ok(start), Ok(end))) =
                range.map(|(start, end)| (usize::from_str_radix(start, 16), usize::from_str_radix(end, 16)))
            {
                is_there = (start..end).contains(&address);
            } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| is_there) {
                return Some(flags.to_owned());
            }
        }
        panic!("no mapping holds {address:#x}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn large_chunks_are_mappings_that_end_with_the_arena() {
        let arena = Arena::new(1 << 20, 0, false);
        let pieces: Vec<_> = (0..100).map(|_| arena.allocate(100_000)).collect();
        let own = arena.allocate(5 << 20);
        for piece in &pieces {
            // SAFETY: the piece is ours and this long.
            unsafe { piece.as_ptr().write_bytes(7, 100_000) };
        }
        // SAFETY: as above.
        unsafe { own.as_ptr().write_bytes(7, 5 << 20) };
        {
            let chunks = arena.chunks.lock();
            // SAFETY: the arena is alive.
            let chunks: Vec<&Chunk> = chunks.iter().map(|chunk| unsafe { chunk.as_ref() }).collect();
            let mut mapped = chunks.iter().filter(|chunk| chunk.is_mapped());
            assert!(mapped.clone().all(|chunk| chunk.bytes() >= MIN_MAPPED_BYTES));
            assert_eq!(chunks.iter().filter(|chunk| !chunk.is_mapped()).count(), 1, "the first");
            // Four of 1 MiB, then whole huge pages; the large piece has just what it needs.
            let sizes: Vec<usize> = mapped.clone().map(|chunk| chunk.bytes() >> 20).collect();
            assert_eq!(sizes, [1, 1, 1, 1, 2, 2, 2, 5]);
            assert!(mapped.all(|chunk| {
                let size = chunk.bytes();
                size != HUGE_PAGE_BYTES || (chunk.base().as_ptr() as usize).is_multiple_of(HUGE_PAGE_BYTES)
            }));
            assert_eq!(arena.allocated_bytes(), chunks.iter().map(|chunk| chunk.bytes()).sum::<usize>());
        }
        drop(arena);
        let small = Arena::new(MIN_MAPPED_BYTES - ALIGNMENT, 0, false);
        for _ in 0..100 {
            small.allocate(10_000);
        }
        // SAFETY: the arena is alive.
        assert!(small.chunks.lock().iter().all(|chunk| !unsafe { chunk.as_ref() }.is_mapped()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn huge_pages_are_asked_for() {
        const PAGE: usize = 2 << 20;
        for (page_bytes, is_wanted) in [(PAGE, true), (0, false)] {
            let arena = Arena::new(2 * PAGE, page_bytes, false);
            let piece = arena.allocate(2 * PAGE);
            let Some(flags) = flags_of_mapping(piece.as_ptr() as usize) else { return };
            assert_eq!(flags.split_whitespace().any(|flag| flag == "hg"), is_wanted, "{flags}");
        }
    }

    /// The pages of one arena are those of the next, with what was written to them.
    #[cfg(target_os = "linux")]
    #[test]
    fn arenas_take_what_others_left() {
        let fill = |arena: &Arena| -> Vec<usize> {
            let pieces = (0..4 * HUGE_PAGE_BYTES / 1000).map(|_| arena.allocate(1000).as_ptr() as usize);
            // Those of the first 4 MiB, and of the chunk in which they end, lie in no huge page.
            pieces.skip(5 << 10).map(|address| address / HUGE_PAGE_BYTES).collect()
        };
        let is_shared = |pages: &[usize], of: &[usize]| of.iter().filter(|page| pages.contains(page)).count() > 2000;
        let _keeps_the_list = Arena::new(4096, 0, true);
        // Other tests of this process take and give, too.
        let mut rounds = (0..50).map(|_| {
            let first = Arena::new(1 << 20, 0, true);
            let pages = fill(&first);
            drop(first);
            let counted = Arena::new(1 << 20, 0, false);
            let others = fill(&counted);
            let second = Arena::new(1 << 20, 0, true);
            let again = fill(&second);
            assert_eq!(second.allocated_bytes(), counted.allocated_bytes());
            // A counted arena has mappings of its own.
            assert!(!is_shared(&pages, &others));
            is_shared(&pages, &again)
        });
        assert!(rounds.any(|is_shared| is_shared));
    }

    #[test]
    fn pieces_do_not_overlap_and_memory_is_counted() {
        let arena = Arena::new(16 << 10, 0, false);
        assert_eq!((arena.allocated_bytes(), arena.used_bytes()), (0, 0));
        let mut pieces = Vec::new();
        let mut asked = 0;
        for index in 0..3000usize {
            let bytes = if index % 97 == 0 { 9000 } else { index % 61 + 1 };
            let piece = arena.allocate(bytes);
            assert_eq!(piece.as_ptr() as usize % ALIGNMENT, 0);
            // SAFETY: the piece is ours and `bytes` long.
            unsafe { piece.as_ptr().write_bytes(index as u8, bytes) };
            pieces.push((piece, bytes, index as u8));
            asked += bytes.next_multiple_of(ALIGNMENT);
            assert!(arena.used_bytes() >= asked && arena.used_bytes() <= arena.allocated_bytes());
        }
        assert_eq!(arena.allocated_bytes(), chunk_sizes(&arena).iter().sum());
        for (piece, bytes, fill) in pieces {
            // SAFETY: written above.
            let content = unsafe { std::slice::from_raw_parts(piece.as_ptr(), bytes) };
            assert!(content.iter().all(|&byte| byte == fill));
        }
    }
}
