//! Looking a key up: ranks along the chain, and masks in level 0.

use super::heads::{Heads, end_of_run, head_at, rank_one, rank_two, wide};
use super::{Endpoints, FileIndex, MAX_SORTED, Newest, Step};
use crate::version::version::LevelFiles;
use ferrock_base::Comparator;

/// Where a key lies in all levels of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Of the sorted levels of the chain, at `level % MAX_SORTED`.
    ranks: [u32; MAX_SORTED],
    /// Levels in which the key lies inside a file, as bits.
    pub(crate) inside: u64,
    /// Levels in which the key equals an endpoint, as bits.
    pub(crate) tied: u64,
    /// Files of level 0 that hold the key, as bits.
    pub(crate) newest: u64,
}

impl Found {
    /// Endpoints below the key in a sorted level of the chain.
    #[inline]
    pub(crate) fn rank(&self, level: usize) -> usize {
        self.ranks[level % MAX_SORTED] as usize
    }

    #[inline(always)]
    fn note(&mut self, level: u8, place: Place) {
        self.ranks[usize::from(level) % MAX_SORTED] = place.rank;
        self.inside |= u64::from(place.rank & 1) << (level & 63);
        if place.is_tied {
            self.tied |= 1 << (level & 63);
        }
    }
}

/// A rank, and whether the key equals the endpoint behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) rank: u32,
    pub(super) is_tied: bool,
}

/// A key that is looked up.
struct Probe<'a> {
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
    #[inline]
    pub(crate) fn find(&self, levels: &[LevelFiles], order: &Comparator, key: &[u8]) -> Found {
        let mut found = Found::default();
        if !self.shares_prefix(key) {
            self.find_outside(levels, order, key, &mut found);
            return found;
        }
        let probe = Probe { order, key, head: head_at(key, self.prefix_len as usize) ^ self.flip };
        let Some((root, rest)) = self.steps().split_first() else {
            if let Newest::Masked { step, .. } = &self.newest {
                let place = self.search(step, levels, &probe, 0, step.len as usize);
                found.newest = self.mask(step, place);
            }
            return found;
        };
        let mut place = self.search_root(root, levels, &probe);
        found.note(root.level, place);
        for step in rest {
            place = self.next_level(step, place, levels, &probe);
            found.note(step.level, place);
        }
        if let Newest::Masked { step, .. } = &self.newest {
            place = self.next_level(step, place, levels, &probe);
            found.newest = self.mask(step, place);
        }
        found
    }

    /// From the place of a key in one level to its place in the next level of the chain.
    #[inline(always)]
    fn next_level(&self, step: &Step, place: Place, levels: &[LevelFiles], probe: &Probe<'_>) -> Place {
        let at = step.bridge as usize + place.rank as usize;
        let Some(&bridge) = self.words.get(at) else { return Place::default() };
        if bridge & 1 == 0 && !place.is_tied {
            return Place { rank: bridge >> 1, is_tied: false };
        }
        self.search_window(step, at, levels, probe)
    }

    /// The place of a key in the window of a bridge.
    #[inline(never)]
    fn search_window(&self, step: &Step, at: usize, levels: &[LevelFiles], probe: &Probe<'_>) -> Place {
        let Some(&[low, high]) = self.words.get(at..at + 2) else { return Place::default() };
        self.search(step, levels, probe, (low >> 1) as usize, (high >> 1) as usize)
    }

    /// One step down the chain, where the bridge settles it.
    #[inline]
    pub(crate) fn follow_bridge(&self, step: usize, rank: u32) -> Option<u32> {
        let step = self.steps().get(step)?;
        let &bridge = self.words.get(step.bridge as usize + rank as usize)?;
        (bridge & 1 == 0).then_some(bridge >> 1)
    }

    /// The place of a key in the first level of the chain.
    #[inline]
    fn search_root(&self, root: &Step, levels: &[LevelFiles], probe: &Probe<'_>) -> Place {
        let radix = &self.radix;
        if radix.buckets == 0 {
            return self.search(root, levels, probe, 0, root.len as usize);
        }
        let Some(offset) = probe.head.checked_sub(radix.min) else { return Place::default() };
        let bucket = offset >> (radix.shift & 63);
        if bucket >= u64::from(radix.buckets) {
            return Place { rank: root.len, is_tied: false };
        }
        let at = radix.offset as usize + bucket as usize;
        match self.words.get(at..at + 2) {
            Some(&[low, high]) => self.search(root, levels, probe, low as usize, high as usize),
            _ => Place::default(),
        }
    }

    /// The place of a key in a level, where its rank is known to be in `low..=high`.
    #[inline(always)]
    fn search(&self, step: &Step, levels: &[LevelFiles], probe: &Probe<'_>, low: usize, high: usize) -> Place {
        let heads = self.heads(step);
        let (rank, is_settled) = match heads {
            Heads::One(heads) => {
                let rank = low + heads.get(low..high).map_or(0, |window| rank_one(window, probe.head));
                (rank, heads.get(rank).is_none_or(|&head| wide(head) != probe.head))
            }
            Heads::Two(heads) => {
                let second = head_at(probe.key, self.prefix_len as usize + 8) ^ self.flip;
                let head = u128::from(probe.head) << 64 | u128::from(second);
                let rank = low + heads.get(low..high).map_or(0, |window| rank_two(window, head));
                let is_settled = heads.get(rank).is_none_or(|other| {
                    wide([other[0], other[1]]) != probe.head || wide([other[2], other[3]]) != second
                });
                (rank, is_settled)
            }
            Heads::None => (low, false),
        };
        if is_settled {
            return Place { rank: rank as u32, is_tied: false };
        }
        let high = if step.width == 0 { high } else { end_of_run(&heads, rank, high) };
        settle(self.endpoints(step, files_of(levels, step.level)), probe, rank, high)
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
    fn find_outside(&self, levels: &[LevelFiles], order: &Comparator, key: &[u8], found: &mut Found) {
        for step in self.steps() {
            let endpoints = Endpoints::sorted(files_of(levels, step.level));
            let is_behind = order.compare(endpoints.key(0), key).is_lt();
            found.note(step.level, Place { rank: if is_behind { step.len } else { 0 }, is_tied: false });
        }
    }
}

/// The place of a key among endpoints that its head does not tell apart: by full keys.
#[cold]
fn settle(endpoints: Endpoints<'_>, probe: &Probe<'_>, low: usize, high: usize) -> Place {
    let rank = endpoints.rank_within(probe.order, probe.key, low, high);
    let is_tied = rank < endpoints.len() && probe.order.equal(endpoints.key(rank), probe.key);
    Place { rank: rank as u32, is_tied }
}
