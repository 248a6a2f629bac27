//! A skip list that many threads read without locks while one or many insert.
//!
//! - Nodes are never removed or moved; they are freed with the arena. So a reader only has to keep the list alive.
//! - A node is linked from level 0 upwards, each level by one compare-and-swap. A reader sees a node on a level only
//!   after all its lower levels are linked; a missing upper link costs time, never a key.
//! - Level 0 defines the order; equal internal keys are refused there, before any level is linked.
//!
//! Towers have height `h` with probability `(1/4)^(h-1) * 3/4`, at most [`MAX_HEIGHT`].

mod insert;
mod node;
mod search_key;

use crate::arena::Arena;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use ferrock_base::comparator::InternalComparator;
use insert::InsertHint;
use node::{LINK_BYTES, Link, NodeRef, write_tower};
use search_key::SearchKey;
use std::cmp::Ordering as Order;
use std::ptr::NonNull;

/// Most levels: searches stay logarithmic up to 4^12 = 16 million entries; more entries are possible.
pub(crate) const MAX_HEIGHT: usize = 12;

/// The list and its arena.
pub(crate) struct SkipList {
    comparator: InternalComparator,
    arena: Arena,
    head: NonNull<Link>,
    max_height: AtomicUsize,
    height_seed: AtomicU64,
    hint: InsertHint,
}

// SAFETY: `head` points into `arena`, which is owned; nodes are immutable once linked except for their atomic links;
// the insert hint guards itself.
unsafe impl Send for SkipList {}
// SAFETY: as above.
unsafe impl Sync for SkipList {}

/// A position in a list: an entry or none. Must only be used with the list that made it, which must be alive.
#[derive(Clone, Copy, Default)]
pub(crate) struct Position(Option<NonNull<Link>>);

// SAFETY: a position is only an address; what it points to is reached through the list, which is `Sync`.
unsafe impl Send for Position {}
// SAFETY: as above.
unsafe impl Sync for Position {}

impl Position {
    #[inline]
    pub(crate) fn is_some(self) -> bool {
        self.0.is_some()
    }
}

impl SkipList {
    pub(crate) fn new(comparator: InternalComparator, arena_block_bytes: usize) -> Self {
        let arena = Arena::new(arena_block_bytes);
        let memory = arena.allocate(MAX_HEIGHT * LINK_BYTES);
        // SAFETY: freshly allocated, aligned, of that size; it lives as long as the arena, which lives as long as the
        // list.
        let head = unsafe { write_tower(memory, MAX_HEIGHT) }.as_raw();
        Self {
            comparator,
            arena,
            head,
            max_height: AtomicUsize::new(1),
            height_seed: AtomicU64::new(0x2545_F491_4F6C_DD1D),
            hint: InsertHint::new(),
        }
    }

    pub(crate) fn arena(&self) -> &Arena {
        &self.arena
    }

    pub(crate) fn comparator(&self) -> &InternalComparator {
        &self.comparator
    }

    #[inline]
    fn head(&self) -> NodeRef<'_> {
        // SAFETY: the head's tower is complete and lives in `self.arena`.
        unsafe { NodeRef::from_raw(self.head) }
    }

    /// The first node at or after `key`.
    fn find_greater_or_equal(&self, key: &SearchKey<'_>) -> Option<NodeRef<'_>> {
        let mut level = self.max_height.load(Ordering::Relaxed) - 1;
        let mut node = self.head();
        let mut last_bigger = None;
        loop {
            // SAFETY: `node` is the head, which has all levels, or was reached on this level or a higher one.
            let next = unsafe { node.next(level) };
            if let Some(candidate) = next
                && next != last_bigger
            {
                match key.compare_node(&self.comparator, candidate) {
                    Order::Less => {
                        node = candidate;
                        continue;
                    }
                    Order::Equal => return next,
                    Order::Greater => last_bigger = next,
                }
            }
            if level == 0 {
                return next;
            }
            level -= 1;
        }
    }

    /// The last node before `key`, or before the end when there is no key.
    fn find_before(&self, key: Option<&SearchKey<'_>>) -> Option<NodeRef<'_>> {
        let mut level = self.max_height.load(Ordering::Relaxed) - 1;
        let head = self.head();
        let mut node = head;
        let mut last_bigger = None;
        loop {
            // SAFETY: `node` is the head, which has all levels, or was reached on this level or a higher one.
            let next = unsafe { node.next(level) };
            if let Some(candidate) = next
                && next != last_bigger
            {
                if key.is_none_or(|key| key.compare_node(&self.comparator, candidate).is_lt()) {
                    node = candidate;
                    continue;
                }
                last_bigger = next;
            }
            if level == 0 {
                return (node != head).then_some(node);
            }
            level -= 1;
        }
    }

    /// The node at `position`.
    #[inline]
    fn node(&self, position: Position) -> Option<NodeRef<'_>> {
        // SAFETY: a position was made by this list (contract of `Position`) from a linked node; nodes live as long as
        // it.
        position.0.map(|link| unsafe { NodeRef::from_raw(link) })
    }

    /// The entry at `position`: internal key and value.
    #[inline]
    pub(crate) fn entry(&self, position: Position) -> Option<(&[u8], &[u8])> {
        self.node(position).map(|node| (node.internal_key(), node.value()))
    }

    /// The internal key at `position`.
    #[inline]
    pub(crate) fn key(&self, position: Position) -> Option<&[u8]> {
        self.node(position).map(NodeRef::internal_key)
    }

    pub(crate) fn first(&self) -> Position {
        position(self.head().next_in_order())
    }

    pub(crate) fn last(&self) -> Position {
        position(self.find_before(None))
    }

    /// The first entry `>= internal_key`.
    #[inline]
    pub(crate) fn seek(&self, internal_key: &[u8]) -> Position {
        position(self.find_greater_or_equal(&SearchKey::new(internal_key)))
    }

    /// The last entry `<= internal_key`.
    pub(crate) fn seek_for_prev(&self, internal_key: &[u8]) -> Position {
        let key = SearchKey::new(internal_key);
        match self.find_greater_or_equal(&key) {
            Some(node) if key.compare_node(&self.comparator, node).is_eq() => position(Some(node)),
            _ => position(self.find_before(Some(&key))),
        }
    }

    #[inline]
    pub(crate) fn next(&self, from: Position) -> Position {
        position(self.node(from).and_then(NodeRef::next_in_order))
    }

    /// Links only lead forward: a step back is a search.
    pub(crate) fn prev(&self, from: Position) -> Position {
        let key = self.node(from).map(|node| SearchKey::new(node.internal_key()));
        position(key.and_then(|key| self.find_before(Some(&key))))
    }

    /// The approximate number of entries before `internal_key`, estimated from the steps of a search on each level.
    pub(crate) fn estimate_rank(&self, internal_key: &[u8]) -> u64 {
        let key = SearchKey::new(internal_key);
        let mut level = self.max_height.load(Ordering::Relaxed) - 1;
        let mut node = self.head();
        let mut rank = 0u64;
        loop {
            // SAFETY: `node` is the head, which has all levels, or was reached on this level or a higher one.
            let next = unsafe { node.next(level) };
            match next {
                Some(next) if key.compare_node(&self.comparator, next).is_lt() => {
                    node = next;
                    rank += 1;
                }
                _ if level == 0 => return rank,
                _ => {
                    rank *= 4;
                    level -= 1;
                }
            }
        }
    }

    /// Checks that every level is a sorted part of the level below it and that the upper levels are in use.
    #[cfg(test)]
    pub(crate) fn check_towers(&self) {
        let level_keys = |level: usize| {
            let mut keys = Vec::new();
            let mut node = self.head();
            // SAFETY: `node` is the head or was reached on this level.
            while let Some(next) = unsafe { node.next(level) } {
                keys.push(next.internal_key().to_vec());
                node = next;
            }
            keys
        };
        let mut below = level_keys(0);
        for level in 1..MAX_HEIGHT {
            let keys = level_keys(level);
            assert!(keys.is_sorted_by(|a, b| self.comparator.compare(a, b).is_lt()), "level {level} is out of order");
            let mut rest = below.iter();
            assert!(
                keys.iter().all(|key| rest.any(|other| other == key)),
                "level {level} has a key that {} lacks",
                level - 1
            );
            below = keys;
        }
    }

    /// Height of a new tower. Threads that race on the seed may draw the same height, which does no harm.
    #[inline]
    fn random_height(&self) -> usize {
        let seed = self.height_seed.load(Ordering::Relaxed).wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.height_seed.store(seed, Ordering::Relaxed);
        let mut mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^= mixed >> 29;
        // Two zero bits with probability 1/4.
        (mixed.trailing_zeros() as usize / 2 + 1).min(MAX_HEIGHT)
    }
}

#[inline]
fn position(node: Option<NodeRef<'_>>) -> Position {
    Position(node.map(NodeRef::as_raw))
}
