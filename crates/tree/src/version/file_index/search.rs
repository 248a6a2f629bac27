//! Looking a key up: ranks along the chain, and masks in level 0.

use super::heads::{Heads, end_of_run, head_at, rank_of_seven, rank_one, rank_two, wide, wider};
use super::{Endpoints, FileIndex, MAX_SORTED, Newest, Step, WINDOW};
use crate::version::version::LevelFiles;
use ferrock_base::Comparator;

/// Where a key lies in all levels of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyLocation {
    /// Of the sorted levels of the chain, at `level % MAX_SORTED`.
    ranks: [u32; MAX_SORTED],
    /// Levels in which the key lies inside a file, as bits.
    pub(crate) inside: u64,
    /// Levels in which the key equals an endpoint, as bits.
    pub(crate) tied: u64,
    /// Files of level 0 that hold the key, as bits.
    pub(crate) newest: u64,
}

impl KeyLocation {
    /// Endpoints below the key in a sorted level of the chain.
    #[inline]
    pub(crate) fn rank(&self, level: usize) -> usize {
        self.ranks[level % MAX_SORTED] as usize
    }

    #[inline(always)]
    fn note(&mut self, level: u8, rank: u32) {
        self.ranks[usize::from(level) % MAX_SORTED] = rank;
        self.inside |= u64::from(rank & 1) << (level & 63);
    }
}

/// A rank, and whether the key equals the endpoint behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyRank {
    pub(super) rank: u32,
    pub(super) is_tied: bool,
}

/// A key that is looked up.
#[derive(Clone, Copy)]
struct Probe<'a> {
    levels: &'a [LevelFiles],
    order: &'a Comparator,
    key: &'a [u8],
    /// Its head; the second half is made where it is needed.
    head: u64,
}

fn files_of(levels: &[LevelFiles], level: u8) -> &[std::sync::Arc<super::FileMetadata>] {
    levels.get(usize::from(level)).map_or(&[], |files| files)
}

impl FileIndex {
    /// Levels with files that are not in the chain, as bits: they are searched by full keys.
    #[inline]
    pub(crate) fn plain(&self) -> u64 {
        self.plain
    }

    /// Where `key` lies in the levels of the version that this is the index of.
    pub(crate) fn find(&self, levels: &[LevelFiles], order: &Comparator, key: &[u8]) -> KeyLocation {
        let mut found = KeyLocation::default();
        self.find_into(levels, order, key, &mut found);
        found
    }

    /// The same, written to `found`, which must be empty.
    #[inline(always)]
    pub(crate) fn find_into(&self, levels: &[LevelFiles], order: &Comparator, key: &[u8], found: &mut KeyLocation) {
        if !self.shares_prefix(key) {
            return self.find_outside(levels, order, key, found);
        }
        let head = head_at(key, self.prefix_len as usize) ^ self.flip;
        let probe = Probe { levels, order, key, head };
        let Some((root, rest)) = self.steps().split_first() else {
            if let Newest::Masked { step, masks, .. } = &self.newest {
                found.newest = self.mask(*masks, self.search(step, probe, 0, step.len as usize));
            }
            return;
        };
        let place = self.search_root(root, probe);
        found.note(root.level, place.rank);
        if place.is_tied {
            return self.search_tied(root, rest, &{ probe }, found);
        }
        self.next_levels(rest, probe, found);
    }

    /// From the rank of a key in the root to those in all other levels.
    #[inline(always)]
    fn next_levels(&self, rest: &[Step], probe: Probe<'_>, found: &mut KeyLocation) {
        let words = &*self.words;
        let mut rest = rest.iter();
        while let Some(step) = rest.next() {
            let at = step.bridge as usize + found.rank(usize::from(step.parent));
            let Some(&bridge) = words.get(at) else { return };
            let mut rank = bridge;
            if bridge & WINDOW != 0 {
                let place = self.search_window(step, probe, at, bridge & !WINDOW);
                if place.is_tied {
                    found.note(step.level, place.rank);
                    return self.search_tied(step, rest.as_slice(), &{ probe }, found);
                }
                rank = place.rank;
            }
            found.note(step.level, rank);
        }
        if let Newest::Masked { step, masks, .. } = &self.newest {
            found.newest = self.mask(*masks, self.next_level(step, found, probe));
        }
    }

    /// The place of a key in the window behind `low` of the bridge at `at`.
    #[inline(always)]
    fn search_window(&self, step: &Step, probe: Probe<'_>, at: usize, low: u32) -> KeyRank {
        let high = self.words.get(at + 1).map_or(0, |next| next & !WINDOW);
        self.search(step, probe, low as usize, high as usize)
    }

    /// From the ranks of a key in the levels before to its place in the level of `step`, where the level that its
    /// bridge leads from is not tied.
    #[inline]
    fn next_level(&self, step: &Step, found: &KeyLocation, probe: Probe<'_>) -> KeyRank {
        let at = step.bridge as usize + found.rank(usize::from(step.parent));
        match self.words.get(at) {
            Some(&bridge) if bridge & WINDOW == 0 => KeyRank { rank: bridge, is_tied: false },
            Some(&bridge) => self.search_window(step, probe, at, bridge & !WINDOW),
            None => KeyRank::default(),
        }
    }

    /// The same for the levels behind one that is tied.
    #[cold]
    fn search_tied(&self, tied: &Step, rest: &[Step], probe: &Probe<'_>, found: &mut KeyLocation) {
        found.tied |= 1 << (tied.level & 63);
        for step in rest {
            let place = self.next_level_tied(step, found, probe);
            found.note(step.level, place.rank);
            found.tied |= u64::from(place.is_tied) << (step.level & 63);
        }
        if let Newest::Masked { step, masks, .. } = &self.newest {
            found.newest = self.mask(*masks, self.next_level_tied(step, found, probe));
        }
    }

    fn next_level_tied(&self, step: &Step, found: &KeyLocation, probe: &Probe<'_>) -> KeyRank {
        if found.tied >> (step.parent & 63) & 1 == 0 {
            return self.next_level(step, found, *probe);
        }
        // The key equals the endpoint that ends the window in the level before: it may equal the one that follows here.
        let at = step.bridge as usize + found.rank(usize::from(step.parent));
        let Some(&[low, high]) = self.words.get(at..at + 2) else { return KeyRank::default() };
        self.settle(step, probe, (low & !WINDOW) as usize, (high & !WINDOW) as usize)
    }

    /// One step down, where the bridge settles it.
    #[inline]
    pub(crate) fn follow_bridge(&self, step: usize, rank: u32) -> Option<u32> {
        let step = self.steps().get(step)?;
        let &bridge = self.words.get(step.bridge as usize + rank as usize)?;
        (bridge & WINDOW == 0).then_some(bridge)
    }

    /// The place of a key in the first level.
    #[inline(always)]
    fn search_root(&self, root: &Step, probe: Probe<'_>) -> KeyRank {
        let radix = &self.radix;
        if radix.buckets == 0 {
            return self.search(root, probe, 0, root.len as usize);
        }
        let Some(offset) = probe.head.checked_sub(radix.min) else { return KeyRank::default() };
        let bucket = offset >> (radix.shift & 63);
        if bucket >= u64::from(radix.buckets) {
            return KeyRank { rank: root.len, is_tied: false };
        }
        // Heads in other buckets differ from that of the key.
        let at = radix.offset as usize + bucket as usize;
        match self.words.get(at..at + 2) {
            Some(&[low, high]) => self.search_bucket(root, probe, low as usize, high as usize),
            _ => KeyRank::default(),
        }
    }

    /// The place of a key in a bucket of the root. Few have more than seven endpoints, and what lies behind them is not
    /// below the key: the first seven are looked at without a branch.
    #[inline(always)]
    fn search_bucket(&self, root: &Step, probe: Probe<'_>, low: usize, high: usize) -> KeyRank {
        let start = root.heads as usize + 2 * low;
        if root.width == 1
            && low + 7 <= root.len as usize
            && let Some(words) = self.words.get(start..start + 16)
            && let Some(heads) = words.as_chunks::<2>().0.first_chunk::<8>()
        {
            let rank = rank_of_seven(heads, probe.head);
            if rank < 7 && wide(heads[rank]) != probe.head {
                return KeyRank { rank: (low + rank) as u32, is_tied: false };
            }
        }
        self.search(root, probe, low, high)
    }

    /// The place of a key in a level, where its rank is known to be in `low..=high`, and that it does not equal the
    /// endpoint at `high`.
    #[inline(always)]
    fn search(&self, step: &Step, probe: Probe<'_>, low: usize, high: usize) -> KeyRank {
        if step.width != 1 {
            return self.search_wide(step, &{ probe }, low, high);
        }
        let offset = step.heads as usize;
        let window = self.words.get(offset + 2 * low..offset + 2 * high).unwrap_or_default().as_chunks().0;
        let rank = low + rank_one(window, probe.head);
        // At `high` it is the head of an endpoint that is not equal, or none at all. Testing which would be an
        // unpredictable branch; `settle` decides it.
        if let Some(&[first, last]) = self.words.get(offset + 2 * rank..offset + 2 * rank + 2)
            && wide([first, last]) == probe.head
        {
            return self.settle_run(step, &{ probe }, rank, high);
        }
        KeyRank { rank: rank as u32, is_tied: false }
    }

    /// The same where heads have sixteen bytes, or there are none.
    #[inline(never)]
    fn search_wide(&self, step: &Step, probe: &Probe<'_>, low: usize, high: usize) -> KeyRank {
        let Heads::Two(heads) = self.heads(step) else { return self.settle(step, probe, low, high) };
        let second = head_at(probe.key, self.prefix_len as usize + 8) ^ self.flip;
        let head = u128::from(probe.head) << 64 | u128::from(second);
        let window = heads.get(low..high).unwrap_or_default();
        let count = rank_two(window, head);
        if window.get(count).is_some_and(|&other| wider(other) == head) {
            return self.settle_run(step, probe, low + count, high);
        }
        KeyRank { rank: (low + count) as u32, is_tied: false }
    }

    /// The place of a key whose head equals that at `low`.
    #[cold]
    fn settle_run(&self, step: &Step, probe: &Probe<'_>, low: usize, high: usize) -> KeyRank {
        self.settle(step, probe, low, end_of_run(&self.heads(step), low, high))
    }

    /// The place of a key among endpoints that its head does not tell apart: by full keys.
    #[inline(never)]
    fn settle(&self, step: &Step, probe: &Probe<'_>, low: usize, high: usize) -> KeyRank {
        let endpoints = self.endpoints(step, files_of(probe.levels, step.level));
        let rank = endpoints.rank_within(probe.order, probe.key, low, high);
        let is_tied = rank < endpoints.len() && probe.order.equal(endpoints.key(rank), probe.key);
        KeyRank { rank: rank as u32, is_tied }
    }

    /// True when `key` begins as all endpoints do.
    #[inline]
    pub(super) fn shares_prefix(&self, key: &[u8]) -> bool {
        key.len() >= self.prefix_len as usize
            && (head_at(key, 0) ^ self.prefix) & self.prefix_mask == 0
            && (self.prefix_len <= 8 || self.shares_long_prefix(key))
    }

    #[cold]
    fn shares_long_prefix(&self, key: &[u8]) -> bool {
        let len = self.prefix_len as usize;
        let (words, _) = self.words.as_chunks::<2>();
        (8..len).step_by(8).zip(words).all(|(at, &word)| {
            let unused = 8 * 8_usize.saturating_sub(len - at);
            head_at(key, at) >> unused == wide(word) >> unused
        })
    }

    /// A key without the shared prefix lies before all endpoints or behind them.
    #[cold]
    fn find_outside(&self, levels: &[LevelFiles], order: &Comparator, key: &[u8], found: &mut KeyLocation) {
        for step in self.steps() {
            let endpoints = Endpoints::sorted(files_of(levels, step.level));
            let is_behind = order.compare(endpoints.key(0), key).is_lt();
            found.note(step.level, if is_behind { step.len } else { 0 });
        }
    }
}
