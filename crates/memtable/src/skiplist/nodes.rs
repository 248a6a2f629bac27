//! The nodes of all lists of a memtable, and searches in a list.

use super::node::{EntryLayout, LINK_BYTES, Link, NodeRef, write_node, write_tower};
use super::search_key::SearchKey;
use crate::arena::Arena;
use crate::sync::{AtomicU64, Ordering};
use ferrock_base::comparator::InternalComparator;
use ferrock_base::internal_key::TRAILER_SIZE;
use std::cmp::Ordering as Order;
use std::ptr::NonNull;

/// Most levels: searches stay logarithmic up to 4^12 = 16 million entries; more entries are possible.
pub(crate) const MAX_HEIGHT: usize = 12;

/// What the lists of a memtable share.
pub(crate) struct Nodes {
    comparator: InternalComparator,
    arena: Arena,
    /// What is compared beside keys.
    checks: Checks,
    height_seed: AtomicU64,
}

/// What of a memtable is compared when it is read, beside the keys that a search compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checks {
    /// Bytes of the sum behind every entry: up to eight, and 0 for none. Compared for entries that are shown.
    pub(crate) sum_bytes: u8,
    /// The sums of all entries that a search meets are compared.
    pub(crate) sums_on_the_way: bool,
    /// Keys that follow each other in a list are compared.
    pub(crate) order: bool,
    /// Values are written over: only the lock of a key lets a sum be compared.
    pub(crate) values_change: bool,
}

impl Checks {
    pub(crate) fn is_any(self) -> bool {
        self.sum_bytes > 0 || self.order
    }
}

/// A position in a memtable: an entry or none. Must only be used with the [`Nodes`] it was made by, which must be
/// alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position(Option<NonNull<Link>>);

// SAFETY: a position is only an address; what it points to is reached through `Nodes`, which is `Sync`.
unsafe impl Send for Position {}
// SAFETY: as above.
unsafe impl Sync for Position {}

impl Position {
    #[inline]
    pub(crate) fn is_some(self) -> bool {
        self.0.is_some()
    }
}

/// One of the lists: its head, and the number of levels that are in use.
#[derive(Clone, Copy)]
pub(crate) struct List<'a> {
    pub(super) head: NodeRef<'a>,
    /// At most the height of the head's tower.
    pub(super) levels: usize,
}

impl Nodes {
    pub(crate) fn new(comparator: InternalComparator, arena: Arena, checks: Checks) -> Self {
        Self { comparator, arena, checks, height_seed: AtomicU64::new(0x2545_F491_4F6C_DD1D) }
    }

    pub(crate) fn arena(&self) -> &Arena {
        &self.arena
    }

    #[inline]
    pub(crate) fn comparator(&self) -> &InternalComparator {
        &self.comparator
    }

    #[inline]
    pub(crate) fn checks(&self) -> Checks {
        self.checks
    }

    /// The tower of an empty list.
    pub(super) fn new_head(&self, height: usize) -> NonNull<Link> {
        let memory = self.arena.allocate(height * LINK_BYTES);
        // SAFETY: freshly allocated, aligned, of that size; it lives as long as the arena.
        unsafe { write_tower(memory, height) }.as_raw()
    }

    /// The list of a head that [`new_head`](Self::new_head) of these nodes made with `levels` links or more.
    #[inline]
    pub(super) fn list(&self, head: NonNull<Link>, levels: usize) -> List<'_> {
        // SAFETY: the head's tower is complete and lives in `self.arena`.
        List { head: unsafe { NodeRef::from_raw(head) }, levels }
    }

    /// A node that no other thread can reach yet.
    #[inline]
    pub(super) fn make_node(&self, height: usize, user_key: &[u8], trailer: u64, value: &[u8]) -> NodeRef<'_> {
        let internal_key_length = (user_key.len() + TRAILER_SIZE) as u32;
        let sum_bytes = self.checks.sum_bytes;
        let entry = EntryLayout { internal_key_length, value_length: value.len() as u32, sum_bytes };
        let memory = self.arena.allocate(height * LINK_BYTES + entry.bytes());
        // SAFETY: the piece is fresh, aligned, as large as the node, and lives as long as the arena, hence as `self`.
        unsafe { write_node(memory, height, entry, user_key, trailer, value) }
    }

    /// The first node of `list` at or after `key`.
    #[inline(always)]
    fn find_greater_or_equal<'a>(&'a self, list: List<'a>, key: &SearchKey<'_>) -> Option<NodeRef<'a>> {
        let mut level = list.levels - 1;
        let mut node = list.head;
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
    fn find_before<'a>(&'a self, list: List<'a>, key: Option<&SearchKey<'_>>) -> Option<NodeRef<'a>> {
        let mut level = list.levels - 1;
        let mut node = list.head;
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
                return (node != list.head).then_some(node);
            }
            level -= 1;
        }
    }

    /// The node at `position`.
    #[inline]
    pub(super) fn node(&self, position: Position) -> Option<NodeRef<'_>> {
        // SAFETY: a position was made by these nodes (contract of `Position`) from a linked node, which live as
        // long as they do.
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

    /// The value at `position`.
    #[inline]
    pub(crate) fn value(&self, position: Position) -> Option<&[u8]> {
        self.node(position).map(NodeRef::value)
    }

    pub(crate) fn first(&self, list: List<'_>) -> Position {
        position(list.head.next_in_order())
    }

    pub(crate) fn last(&self, list: List<'_>) -> Position {
        position(self.find_before(list, None))
    }

    /// The first entry `>= internal_key`.
    #[inline]
    pub(crate) fn seek(&self, list: List<'_>, internal_key: &[u8]) -> Position {
        position(self.find_greater_or_equal(list, &SearchKey::new(internal_key)))
    }

    /// The last entry `<= internal_key`.
    pub(crate) fn seek_for_prev(&self, list: List<'_>, internal_key: &[u8]) -> Position {
        let key = SearchKey::new(internal_key);
        match self.find_greater_or_equal(list, &key) {
            Some(node) if key.compare_node(&self.comparator, node).is_eq() => position(Some(node)),
            _ => position(self.find_before(list, Some(&key))),
        }
    }

    #[inline]
    pub(crate) fn next(&self, from: Position) -> Position {
        position(self.node(from).and_then(NodeRef::next_in_order))
    }

    /// The last entry before `internal_key`. Links only lead forward: a step back is a search.
    pub(crate) fn last_before(&self, list: List<'_>, internal_key: &[u8]) -> Position {
        position(self.find_before(list, Some(&SearchKey::new(internal_key))))
    }

    /// The approximate number of entries before `internal_key`, estimated from the steps of a search on each level.
    pub(crate) fn estimate_rank(&self, list: List<'_>, internal_key: &[u8]) -> u64 {
        let key = SearchKey::new(internal_key);
        let mut level = list.levels - 1;
        let mut node = list.head;
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

    /// Writes `value` over the value at `position`, if that is as long or longer; else false.
    ///
    /// # Safety
    /// No other thread may read or write the value at `position` until this returns.
    pub(crate) unsafe fn overwrite_value(&self, position: Position, value: &[u8]) -> bool {
        let Some(node) = self.node(position).filter(|node| value.len() <= node.value().len()) else { return false };
        // SAFETY: not longer, and alone (caller), so that the sum moves towards the key; a position is no head.
        unsafe {
            node.overwrite_value(value);
            if self.checks.sum_bytes > 0 {
                node.write_sum(usize::from(self.checks.sum_bytes));
            }
        }
        true
    }

    /// Turns over a bit of the entry at `position`; false if there is none.
    ///
    /// # Safety
    /// No other thread may read or write the entry.
    #[cfg(any(test, feature = "test-faults"))]
    pub(crate) unsafe fn flip_bit(&self, position: Position, bit: usize) -> bool {
        let Some(node) = self.node(position) else { return false };
        // SAFETY: alone (caller); a position is no head.
        unsafe { node.flip_bit(bit) };
        true
    }

    /// Sorts entries by their keys.
    pub(crate) fn sort(&self, entries: &mut [Position]) {
        if !self.comparator.user().is_bytewise() {
            entries.sort_unstable_by(|&a, &b| self.compare(a, b));
            return;
        }
        // Most comparisons are decided by eight bytes, which then need not be fetched from the entries.
        let head = |&position: &Position| (self.key(position).map_or(0, SearchKey::head_of), position);
        let mut heads: Vec<(u64, Position)> = entries.iter().map(head).collect();
        heads.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.compare(a.1, b.1)));
        entries.iter_mut().zip(heads).for_each(|(entry, (_, position))| *entry = position);
    }

    /// How the keys of two entries sort.
    pub(crate) fn compare(&self, a: Position, b: Position) -> Order {
        match (self.node(a), self.node(b)) {
            (Some(a), Some(b)) => SearchKey::new(b.internal_key()).compare_node(&self.comparator, a),
            (a, b) => a.is_some().cmp(&b.is_some()),
        }
    }

    /// How many of the sorted `entries` are before `internal_key`.
    pub(crate) fn count_before(&self, entries: &[Position], internal_key: &[u8]) -> usize {
        let key = SearchKey::new(internal_key);
        entries.partition_point(|&entry| {
            self.node(entry).is_some_and(|node| key.compare_node(&self.comparator, node).is_lt())
        })
    }

    /// True if there is an entry at `position` and `internal_key` is its key.
    pub(crate) fn has_key(&self, position: Position, internal_key: &[u8]) -> bool {
        let key = SearchKey::new(internal_key);
        self.node(position).is_some_and(|node| key.compare_node(&self.comparator, node).is_eq())
    }

    /// Height of a tower of at most `most` links that reaches the next level with probability `1 / branching`.
    #[inline]
    pub(super) fn random_height_up_to(&self, most: usize, branching: u32) -> usize {
        if most == 1 {
            return 1;
        }
        let (mut bits, branching) = (self.next_random(), u64::from(branching));
        let mut height = 1;
        while height < most && bits % branching == 0 {
            bits /= branching;
            height += 1;
        }
        height
    }

    /// Height of a new tower. Threads that race on the seed may draw the same height, which does no harm.
    #[inline]
    pub(super) fn random_height(&self) -> usize {
        // Two zero bits with probability 1/4.
        (self.next_random().trailing_zeros() as usize / 2 + 1).min(MAX_HEIGHT)
    }

    #[inline]
    fn next_random(&self) -> u64 {
        let seed = self.height_seed.load(Ordering::Relaxed).wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.height_seed.store(seed, Ordering::Relaxed);
        let mut mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^= mixed >> 29;
        mixed
    }
}

#[inline]
pub(super) fn position(node: Option<NodeRef<'_>>) -> Position {
    Position(node.map(NodeRef::as_raw))
}

#[cfg(test)]
impl List<'_> {
    /// Checks that every level is a sorted part of the level below it and that the upper levels are in use.
    pub(crate) fn check_towers(self, nodes: &Nodes) {
        let level_keys = |level: usize| {
            let mut keys = Vec::new();
            let mut node = self.head;
            // SAFETY: `node` is the head or was reached on this level.
            while let Some(next) = unsafe { node.next(level) } {
                keys.push(next.internal_key().to_vec());
                node = next;
            }
            keys
        };
        let mut below = level_keys(0);
        for level in 1..self.levels {
            let keys = level_keys(level);
            assert!(keys.is_sorted_by(|a, b| nodes.comparator.compare(a, b).is_lt()), "level {level} is out of order");
            let mut rest = below.iter();
            assert!(
                keys.iter().all(|key| rest.any(|other| other == key)),
                "level {level} has a key that {} lacks",
                level - 1
            );
            below = keys;
        }
    }
}
