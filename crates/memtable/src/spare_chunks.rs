//! Huge pages that ended memtables leave to the next ones, of all databases of the process.
//!
//! ```text
//! arena is dropped --give--> [ 2 MiB | 2 MiB | ... at most 64 MiB ] --take--> arena grows
//!                                  | not taken while 16 arenas ended
//!                                  v
//!                               system
//! ```
//!
//! What a memtable takes anew costs a page fault in a put, in which the system clears 2 MiB. With pages that are used
//! again there were 216 thousand inserts a second in place of 178, and 0.33 seconds in puts of more than 1 ms in place
//! of 0.93 (medians of three runs of `lsm_at_scale LIBRARY DIRECTORY universal 1500000`, dev/interop).
//!
//! The limit is the size of one memtable by default: while one is flushed the next is filled. Pages that were not
//! needed go back, and all go back with the last arena that may take them, which is that of the last open database.
//! RocksDB's memtables are the allocator's memory, which keeps as much without a limit.
//!
//! Arenas whose memory is counted (by a write buffer manager, or for a memory budget) neither take nor give: what lies
//! here is in no count.
//!
//! Invariant: a chunk is in the list or in one arena. Its bytes are those of an earlier memtable, which an arena must
//! take for uninitialised.

use crate::chunk::{Chunk, HUGE_PAGE_BYTES};
use parking_lot::{Mutex, const_mutex};

/// One memtable of the default size.
const MAX_CHUNKS: usize = (64 << 20) / HUGE_PAGE_BYTES;
/// Chunks that were not taken while so many arenas ended go back to the system.
const ENDS: usize = 16;

/// See the [module](self).
struct SpareChunks {
    chunks: Vec<Chunk>,
    /// Arenas that may take chunks.
    arenas: usize,
    /// Fewest chunks in the course of the last `ends` ends of arenas: these were not needed.
    least: usize,
    ends: usize,
}

/// The lock is held for no step that other threads are to see, so that the model checker need not know it.
static SPARE: Mutex<SpareChunks> = const_mutex(SpareChunks::new());

/// An arena begins that may take chunks, and [ends](end_arena).
pub(crate) fn begin_arena() {
    SPARE.lock().arenas += 1;
}

/// A huge page that an earlier arena left.
pub(crate) fn take() -> Option<Chunk> {
    SPARE.lock().take()
}

/// Keeps the huge pages among the chunks of an ended arena, as many as there is room for.
pub(crate) fn end_arena(chunks: Vec<Chunk>) {
    let mut spare = SPARE.lock();
    let ended = spare.end_arena(chunks);
    drop(spare);
    // Mappings end without the lock.
    drop(ended);
}

impl SpareChunks {
    const fn new() -> Self {
        Self { chunks: Vec::new(), arenas: 0, least: 0, ends: 0 }
    }

    fn take(&mut self) -> Option<Chunk> {
        let chunk = self.chunks.pop();
        self.least = self.least.min(self.chunks.len());
        chunk
    }

    /// Keeps what is of use, and returns what is not: of these chunks, and of those that are here.
    fn end_arena(&mut self, chunks: Vec<Chunk>) -> Vec<Chunk> {
        self.arenas = self.arenas.saturating_sub(1);
        if self.arenas == 0 {
            (self.least, self.ends) = (0, 0);
            return std::mem::take(&mut self.chunks).into_iter().chain(chunks).collect();
        }
        let mut ended = Vec::new();
        self.ends += 1;
        if self.ends >= ENDS {
            ended.extend(self.chunks.drain(..self.least.min(self.chunks.len())));
            (self.least, self.ends) = (self.chunks.len(), 0);
        }
        for mut chunk in chunks {
            if self.chunks.len() < MAX_CHUNKS && chunk.is_huge_page() {
                chunk.empty();
                self.chunks.push(chunk);
            } else {
                ended.push(chunk);
            }
        }
        ended
    }
}

#[cfg(all(test, target_os = "linux", not(shuttle)))]
mod tests {
    use super::*;

    fn huge_pages(count: usize) -> Vec<Chunk> {
        (0..count).map(|_| Chunk::new(HUGE_PAGE_BYTES, HUGE_PAGE_BYTES)).collect()
    }

    /// A list while many arenas live.
    fn spare() -> SpareChunks {
        SpareChunks { arenas: 1000, ..SpareChunks::new() }
    }

    #[test]
    fn as_much_is_kept_as_one_memtable_has() {
        let mut spare = spare();
        assert_eq!(spare.end_arena(huge_pages(MAX_CHUNKS + 3)).len(), 3);
        assert_eq!(spare.chunks.len(), MAX_CHUNKS);
        while spare.take().is_some() {}
        // Other sizes and alignments are of no use to the next arena.
        for (bytes, alignment) in [(1 << 20, 8), (4 << 20, HUGE_PAGE_BYTES), (HUGE_PAGE_BYTES, 8)] {
            assert_eq!(spare.end_arena(vec![Chunk::new(bytes, alignment)]).len(), 1, "{bytes}, {alignment}");
        }
        assert!(spare.chunks.is_empty());
    }

    #[test]
    fn what_was_not_needed_goes_back() {
        let mut spare = spare();
        let after_ends = |spare: &mut SpareChunks| (0..ENDS).map(|_| spare.end_arena(Vec::new()).len()).sum::<usize>();
        assert_eq!(after_ends(&mut spare), 0);
        assert!(spare.end_arena(huge_pages(5)).is_empty());
        spare.ends = 0;
        // They came in this round, so that a whole one has to pass.
        assert_eq!(after_ends(&mut spare), 0);
        let taken: Vec<Chunk> = [spare.take(), spare.take()].into_iter().flatten().collect();
        assert_eq!(taken.len(), 2);
        assert!(spare.end_arena(taken).is_empty());
        spare.ends = 0;
        assert_eq!(spare.chunks.len(), 5);
        assert_eq!((after_ends(&mut spare), spare.chunks.len()), (3, 2), "two of five were taken");
        assert_eq!((after_ends(&mut spare), spare.chunks.len()), (2, 0));
    }

    #[test]
    fn nothing_stays_behind_the_last_arena() {
        let mut spare = SpareChunks { arenas: 2, ..SpareChunks::new() };
        assert!(spare.end_arena(huge_pages(2)).is_empty());
        assert_eq!(spare.end_arena(huge_pages(3)).len(), 5);
        assert!(spare.chunks.is_empty());
    }
}
