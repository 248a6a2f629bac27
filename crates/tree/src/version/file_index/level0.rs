//! Level 0: its files overlap, so a key may be in many.
//!
//! For up to 64 files the distinct endpoints are a step of the chain, and each place between and on them has a mask of
//! the files that hold keys there. For more files their bounds are compared one after the other, 64 at a time.

use super::heads::{HeadMaker, push_wide, wide};
use super::search::KeyRank;
use super::{Endpoints, FileIndex, Newest, bound};
use crate::version::FileMetadata;
use ferrock_base::Comparator;
use std::sync::Arc;

/// The distinct endpoints of up to 64 files, in order, as `2 * file + is_largest`.
pub(super) fn distinct_endpoints(order: &Comparator, files: &[Arc<FileMetadata>]) -> Vec<u32> {
    let key = |at: u32| files.get(at as usize / 2).map_or(&[][..], |file| bound(file, at as usize));
    let mut endpoints: Vec<u32> = (0..2 * files.len() as u32).collect();
    endpoints.sort_by(|&a, &b| order.compare(key(a), key(b)));
    endpoints.dedup_by(|b, a| order.equal(key(*a), key(*b)));
    endpoints
}

/// Appends the masks: of the keys before the first endpoint, on it, between it and the second, and so on.
pub(super) fn push_masks(words: &mut Vec<u32>, order: &Comparator, endpoints: Endpoints<'_>) {
    let mut masks = vec![0_u64; 2 * endpoints.len() + 1];
    let place_on = |key: &[u8]| 2 * endpoints.rank_within(order, key, 0, endpoints.len()) + 1;
    for (index, file) in endpoints.files.iter().enumerate() {
        let first = place_on(file.smallest_user_key());
        let behind = place_on(file.largest_user_key()) + usize::from(!file.largest_is_exclusive());
        for mask in masks.iter_mut().take(behind).skip(first) {
            *mask |= 1 << (index & 63);
        }
    }
    masks.into_iter().for_each(|mask| push_wide(words, mask));
}

impl FileIndex {
    /// The files of level 0 that hold the key at `place`, by its masks.
    #[inline]
    pub(super) fn mask(&self, masks: u32, place: KeyRank) -> u64 {
        let at = masks as usize + 4 * place.rank as usize + 2 * usize::from(place.is_tied);
        match self.words.get(at..at + 2) {
            Some(&[low, high]) => wide([low, high]),
            _ => 0,
        }
    }

    /// True when level 0 has more files than masks are kept for.
    #[inline]
    pub(crate) fn scans_level0(&self) -> bool {
        matches!(self.newest, Newest::Bounds { .. } | Newest::Plain)
    }

    /// Of the 64 files of level 0 from `first` on, those that may hold a key, by the heads of their bounds. All in a
    /// custom order.
    pub(crate) fn scan_level0(&self, first: usize, count: usize, key: &[u8]) -> u64 {
        let count = count.saturating_sub(first).min(64);
        let all = if count == 64 { u64::MAX } else { (1 << count) - 1 };
        let Newest::Bounds { offset } = self.newest else { return all };
        if !self.shares_prefix(key) {
            return all;
        }
        let head = HeadMaker { prefix_len: self.prefix_len as usize, flip: self.flip }.first(key);
        let bounds = self.words.get(offset as usize..).unwrap_or_default().as_chunks::<4>().0;
        let mut mask = 0;
        for (index, bound) in bounds.iter().skip(first).take(count).enumerate() {
            let (smallest, largest) = (wide([bound[0], bound[1]]), wide([bound[2], bound[3]]));
            mask |= u64::from(smallest <= head && head <= largest) << index;
        }
        mask & all
    }
}
