//! Huge pages that ended memtables leave to the next ones, of all databases of the process.
//!
//! ```text
//! arena is dropped --give--> [ 2 MiB | 2 MiB | ... at most 64 MiB ] --take--> arena grows
//!                                  | not taken while 16 arenas ended
//!                                  v
//!                               system
//! ```
//!
//! What a memtable takes anew costs a page fault in a put, and where the page cache has filled the memory the system
//! makes room for a huge page within it. Of 3,000,000 inserts 584 took more than 1 ms, 2.9 seconds in all, of which 2.1
//! were system time; with pages that are used again 361, 1.1 seconds and 0.65 (single runs, `docs/compaction.md`).
//!
//! The limit is the size of one memtable by default: while one is flushed the next is filled, so that no process takes
//! more memory at its most than it would without, and it keeps no more when it is idle. Pages that were not needed go
//! back. RocksDB's memtables are the allocator's memory, which keeps as much without a limit.
//!
//! Arenas whose memory is counted (by a write buffer manager, or for a memory budget) neither take nor give: what lies
//! here is in no count.
//!
//! Invariant: a chunk is in the list or in one arena. Its bytes are those of an earlier memtable, which an arena must
//! take for uninitialised.

use crate::arena::{Chunk, HUGE_PAGE_BYTES};
use parking_lot::{Mutex, const_mutex};

/// One memtable of the default size.
const MAX_CHUNKS: usize = (64 << 20) / HUGE_PAGE_BYTES;
/// Chunks that were not taken while so many arenas ended go back to the system.
const ENDS: usize = 16;

/// See the [module](self).
struct SpareChunks {
    chunks: Vec<Chunk>,
    /// Fewest chunks in the course of the last `ends` ends of arenas: these were not needed.
    least: usize,
    ends: usize,
}

/// The lock is held for no step that other threads are to see, so that the model checker need not know it.
static SPARE: Mutex<SpareChunks> = const_mutex(SpareChunks::new());

/// A huge page that an earlier arena left.
pub(crate) fn take() -> Option<Chunk> {
    SPARE.lock().take()
}

/// Keeps the huge pages among the chunks of an ended arena, as many as there is room for.
pub(crate) fn give(chunks: impl Iterator<Item = Chunk>) {
    let mut spare = SPARE.lock();
    let mut ended = spare.end_arena();
    ended.extend(chunks.filter_map(|chunk| spare.give(chunk)));
    drop(spare);
    // Mappings end without the lock.
    drop(ended);
}

impl SpareChunks {
    const fn new() -> Self {
        Self { chunks: Vec::new(), least: 0, ends: 0 }
    }

    /// Counts the end of an arena, and takes out what has been of no use for long enough.
    fn end_arena(&mut self) -> Vec<Chunk> {
        self.ends += 1;
        if self.ends < ENDS {
            return Vec::new();
        }
        let old = self.chunks.drain(..self.least.min(self.chunks.len())).collect();
        (self.least, self.ends) = (self.chunks.len(), 0);
        old
    }

    fn take(&mut self) -> Option<Chunk> {
        let chunk = self.chunks.pop();
        self.least = self.least.min(self.chunks.len());
        chunk
    }

    /// Gives the chunk back where there is no room for it.
    fn give(&mut self, mut chunk: Chunk) -> Option<Chunk> {
        if self.chunks.len() >= MAX_CHUNKS || !chunk.is_huge_page() {
            return Some(chunk);
        }
        chunk.empty();
        self.chunks.push(chunk);
        None
    }
}

#[cfg(all(test, target_os = "linux", not(shuttle)))]
mod tests {
    use super::*;
    use crate::arena::Arena;

    fn huge_page() -> Chunk {
        Chunk::new(HUGE_PAGE_BYTES, HUGE_PAGE_BYTES)
    }

    #[test]
    fn as_much_is_kept_as_one_memtable_has() {
        let mut spare = SpareChunks::new();
        let refused = (0..MAX_CHUNKS + 3).filter_map(|_| spare.give(huge_page())).count();
        assert_eq!((refused, spare.chunks.len()), (3, MAX_CHUNKS));
        while spare.take().is_some() {}
        // Other sizes and alignments are of no use to the next arena.
        for (bytes, alignment) in [(1 << 20, 8), (4 << 20, HUGE_PAGE_BYTES), (HUGE_PAGE_BYTES, 8)] {
            assert!(spare.give(Chunk::new(bytes, alignment)).is_some(), "{bytes}, {alignment}");
        }
        assert_eq!(spare.chunks.len(), 0);
    }

    #[test]
    fn what_was_not_needed_goes_back() {
        let mut spare = SpareChunks::new();
        let after_ends = |spare: &mut SpareChunks| (0..ENDS).map(|_| spare.end_arena().len()).sum::<usize>();
        assert_eq!(after_ends(&mut spare), 0);
        for _ in 0..5 {
            assert!(spare.give(huge_page()).is_none());
        }
        // They came in this round, so that a whole one has to pass.
        assert_eq!(after_ends(&mut spare), 0);
        let taken = [spare.take(), spare.take()];
        assert!(taken.iter().all(Option::is_some));
        for chunk in taken.into_iter().flatten() {
            assert!(spare.give(chunk).is_none());
        }
        assert_eq!(spare.chunks.len(), 5);
        assert_eq!((after_ends(&mut spare), spare.chunks.len()), (3, 2), "two of five were taken");
        assert_eq!((after_ends(&mut spare), spare.chunks.len()), (2, 0));
    }

    /// The pages of one arena are those of the next, with what was written to them.
    #[test]
    fn arenas_take_what_others_left() {
        let fill = |arena: &Arena| -> Vec<usize> {
            let pieces = (0..4 * HUGE_PAGE_BYTES / 1000).map(|_| arena.allocate(1000).as_ptr() as usize);
            // Those of the first 4 MiB, and of the chunk in which they end, lie in no huge page.
            pieces.skip(5 << 10).map(|address| address / HUGE_PAGE_BYTES).collect()
        };
        let first = Arena::new(1 << 20, 0, true);
        let pages = fill(&first);
        drop(first);
        let counted = Arena::new(1 << 20, 0, false);
        let others = fill(&counted);
        let second = Arena::new(1 << 20, 0, true);
        let again = fill(&second);
        let is_shared = |pages: &[usize], of: &[usize]| of.iter().filter(|page| pages.contains(page)).count() > 2000;
        // A counted arena has mappings of its own.
        assert!(is_shared(&pages, &again) && !is_shared(&pages, &others));
        assert_eq!(second.allocated_bytes(), counted.allocated_bytes());
    }
}
