//! Huge pages that ended memtables leave to the next ones, of all databases of the process.
//!
//! ```text
//! arena is dropped --give--> [ 2 MiB | 2 MiB | ... what arenas take in half a second, at most 64 MiB ] --take--> arena
//!                                  | more than that                                                            grows
//!                                  v
//!                               system
//! ```
//!
//! What a memtable takes anew costs a page fault in a put, in which the system clears 2 MiB. With pages that are used
//! again there were 216 thousand inserts a second in place of 178, and 0.33 seconds in puts of more than 1 ms in place
//! of 0.93 (medians of three runs of `lsm_at_scale LIBRARY DIRECTORY universal 1500000`, dev/interop).
//!
//! The limit is the size of one memtable by default: while one is flushed the next is filled. Where memtables are
//! filled slowly fewer are kept: as many as are taken in half a second ([`KEPT_FOR_US`]). Else the pages lie here
//! while the next memtable is filled: the mixed part of `lsm_at_scale LIBRARY DIRECTORY blobs 4000000` held 362 MB
//! with all of them and 335 with this rule (one run each; with 16000000 no difference was seen). And what was not
//! taken while [16 arenas ended](ENDS) goes back: part of the next memtable is filled before the last one is flushed.
//! Whatever is here goes back with the last arena that may take it, which is that of the last open database. RocksDB's
//! memtables are the allocator's memory, which keeps as much without a limit.
//!
//! Arenas whose memory is counted (by a write buffer manager, or for a memory budget) neither take nor give: what lies
//! here is in no count.
//!
//! Invariant: a chunk is in the list or in one arena. Its bytes are those of an earlier memtable, which an arena must
//! take for uninitialised.

use crate::chunk::{Chunk, HUGE_PAGE_BYTES};
use ferrock_base::clock::{Clock, SystemClock};
use parking_lot::{Mutex, const_mutex};
use std::sync::LazyLock;

/// One memtable of the default size.
const MAX_CHUNKS: usize = (64 << 20) / HUGE_PAGE_BYTES;
/// As many chunks are kept as arenas take in so long: 64 MiB at 128 MB/s.
const KEPT_FOR_US: u64 = 500_000;

/// Chunks that were not taken while so many arenas ended go back to the system.
const ENDS: usize = 16;

/// See the [module](self).
struct SpareChunks {
    chunks: Vec<Chunk>,
    /// Arenas that may take chunks.
    arenas: usize,
    /// Chunks that arenas asked for since a moment.
    asked_for: usize,
    since_us: u64,
    /// Chunks that arenas take in [`KEPT_FOR_US`], by the last measurement.
    wanted: usize,
    /// Fewest chunks in the course of the last `ends` ends of arenas: these were not needed.
    least: usize,
    ends: usize,
}

/// The lock is held for no step that other threads are to see, so that the model checker need not know it.
static SPARE: Mutex<SpareChunks> = const_mutex(SpareChunks::new());
static CLOCK: LazyLock<SystemClock> = LazyLock::new(SystemClock::default);

/// An arena begins that may take chunks, and [ends](end_arena).
pub(crate) fn begin_arena() {
    SPARE.lock().arenas += 1;
}

/// A huge page that an earlier arena left.
pub(crate) fn take() -> Option<Chunk> {
    SPARE.lock().take()
}

/// Keeps the huge pages among the chunks of an ended arena, as many as are of use.
pub(crate) fn end_arena(chunks: Vec<Chunk>) {
    let now_us = CLOCK.monotonic_us();
    let mut spare = SPARE.lock();
    let ended = spare.end_arena(chunks, now_us);
    drop(spare);
    // Mappings end without the lock.
    drop(ended);
}

impl SpareChunks {
    const fn new() -> Self {
        Self { chunks: Vec::new(), arenas: 0, asked_for: 0, since_us: 0, wanted: MAX_CHUNKS, least: 0, ends: 0 }
    }

    fn take(&mut self) -> Option<Chunk> {
        self.asked_for += 1;
        let chunk = self.chunks.pop();
        self.least = self.least.min(self.chunks.len());
        chunk
    }

    /// Keeps what is of use, and returns what is not: of these chunks, and of those that are here.
    fn end_arena(&mut self, chunks: Vec<Chunk>, now_us: u64) -> Vec<Chunk> {
        self.arenas = self.arenas.saturating_sub(1);
        if self.arenas == 0 {
            let ended = std::mem::take(&mut self.chunks).into_iter().chain(chunks).collect();
            *self = Self { since_us: now_us, ..Self::new() };
            return ended;
        }
        self.measure(now_us);
        let mut ended = Vec::new();
        self.ends += 1;
        if self.ends >= ENDS {
            ended.extend(self.chunks.drain(..self.least.min(self.chunks.len())));
            (self.least, self.ends) = (self.chunks.len(), 0);
        }
        for mut chunk in chunks {
            if self.chunks.len() < self.wanted && chunk.is_huge_page() {
                chunk.empty();
                self.chunks.push(chunk);
            } else {
                ended.push(chunk);
            }
        }
        ended.extend(self.chunks.drain(self.wanted.min(self.chunks.len())..));
        self.least = self.least.min(self.chunks.len());
        ended
    }

    /// Looks how fast chunks are taken, over no less time than they are kept for.
    fn measure(&mut self, now_us: u64) {
        let elapsed_us = now_us.saturating_sub(self.since_us);
        if elapsed_us >= KEPT_FOR_US {
            let wanted = (self.asked_for as u64).saturating_mul(KEPT_FOR_US).div_ceil(elapsed_us);
            self.wanted = usize::try_from(wanted).map_or(MAX_CHUNKS, |wanted| wanted.min(MAX_CHUNKS));
            (self.asked_for, self.since_us) = (0, now_us);
        }
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
        assert_eq!(spare.end_arena(huge_pages(MAX_CHUNKS + 3), 1).len(), 3);
        assert_eq!(spare.chunks.len(), MAX_CHUNKS);
        while spare.take().is_some() {}
        // Other sizes and alignments are of no use to the next arena.
        for (bytes, alignment) in [(1 << 20, 8), (4 << 20, HUGE_PAGE_BYTES), (HUGE_PAGE_BYTES, 8)] {
            assert_eq!(spare.end_arena(vec![Chunk::new(bytes, alignment)], 1).len(), 1, "{bytes}, {alignment}");
        }
        assert!(spare.chunks.is_empty());
    }

    #[test]
    fn as_much_is_kept_as_is_taken_in_half_a_second() {
        let mut spare = spare();
        let mut now_us = 0;
        // A memtable of 16 huge pages that is filled in so many milliseconds; what is kept of it.
        let mut fill = |spare: &mut SpareChunks, milliseconds: u64| {
            let taken: Vec<Option<Chunk>> = (0..16).map(|_| spare.take()).collect();
            let fresh = taken.iter().filter(|chunk| chunk.is_none()).count();
            now_us += milliseconds * 1000;
            let chunks: Vec<Chunk> = taken.into_iter().flatten().chain(huge_pages(fresh)).collect();
            spare.end_arena(chunks, now_us);
            spare.chunks.len()
        };
        assert_eq!(fill(&mut spare, 100), 16, "not measured yet");
        assert_eq!(fill(&mut spare, 1000), 15, "32 in 1.1 seconds");
        assert_eq!(fill(&mut spare, 1000), 8);
        assert_eq!(fill(&mut spare, 1000), 8, "taken, given back, and no more");
        assert_eq!(fill(&mut spare, 100_000), 1, "an arena that was filled slowly leaves the next one little");
        assert_eq!(fill(&mut spare, 250), 1, "still by the last measurement");
        assert_eq!(fill(&mut spare, 250), 16, "32 in half a second");
    }

    #[test]
    fn what_was_not_needed_goes_back() {
        let mut spare = spare();
        let after_ends =
            |spare: &mut SpareChunks| (0..ENDS).map(|_| spare.end_arena(Vec::new(), 1).len()).sum::<usize>();
        assert_eq!(after_ends(&mut spare), 0);
        assert!(spare.end_arena(huge_pages(5), 1).is_empty());
        spare.ends = 0;
        // They came in this round, so that a whole one has to pass.
        assert_eq!(after_ends(&mut spare), 0);
        let taken: Vec<Chunk> = [spare.take(), spare.take()].into_iter().flatten().collect();
        assert_eq!(taken.len(), 2);
        assert!(spare.end_arena(taken, 1).is_empty());
        spare.ends = 0;
        assert_eq!(spare.chunks.len(), 5);
        assert_eq!((after_ends(&mut spare), spare.chunks.len()), (3, 2), "two of five were taken");
        assert_eq!((after_ends(&mut spare), spare.chunks.len()), (2, 0));
    }

    #[test]
    fn nothing_stays_behind_the_last_arena() {
        let mut spare = SpareChunks { arenas: 2, ..SpareChunks::new() };
        assert!(spare.end_arena(huge_pages(2), 1).is_empty());
        assert_eq!(spare.end_arena(huge_pages(3), 1).len(), 5);
        assert!(spare.chunks.is_empty());
    }
}
