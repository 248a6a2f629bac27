//! Skip lists that many threads read without locks while one or many insert.
//!
//! - Nodes are never removed or moved; they are freed with the arena. So a reader only has to keep the arena alive.
//! - A node is linked from level 0 upwards, each level by one compare-and-swap. A reader sees a node on a level only
//!   after all its lower levels are linked; a missing upper link costs time, never a key.
//! - Level 0 defines the order; equal internal keys are refused there, before any level is linked.
//!
//! All lists of a memtable share its [`Nodes`]: the order, the arena, the source of tower heights. A list is only a
//! head. So the nodes of a hundred thousand small lists lie in one arena, and a position is good without its list.
//!
//! Towers have height `h` with probability `(1/4)^(h-1) * 3/4`, at most [`MAX_HEIGHT`].

mod checked;
mod heads;
mod insert;
mod node;
mod nodes;
mod search_key;

use crate::sync::{AtomicUsize, Mutex, Ordering};
pub(crate) use checked::Place;
use ferrock_base::prefix::PrefixExtractor;
pub(crate) use heads::{HeadSlot, Stack};
use insert::{InsertHint, Splice, UsedSplice};
use node::{Link, NodeRef};
pub(crate) use nodes::{Checks, List, MAX_HEIGHT, Nodes, Position};
use std::collections::HashMap;
use std::ptr::NonNull;

/// The list that holds a whole memtable. Every method must be given the [`Nodes`] that the list was made with.
pub(crate) struct SkipList {
    head: NonNull<Link>,
    max_height: AtomicUsize,
    hint: InsertHint,
    prefix_hints: Option<Box<PrefixHints>>,
}

/// Where the last insert of each prefix went.
struct PrefixHints {
    extractor: PrefixExtractor,
    splices: Mutex<HashMap<Box<[u8]>, Box<Splice>>>,
}

// SAFETY: `head` is the address of a tower in the arena of the list's `Nodes`, which every method is given; nodes are
// immutable once linked except for their atomic links; the insert hint guards itself, a mutex those of prefixes.
unsafe impl Send for SkipList {}
// SAFETY: as above.
unsafe impl Sync for SkipList {}

impl PrefixHints {
    #[inline(never)]
    fn link(&self, nodes: &Nodes, list: List<'_>, (node, height): (NodeRef<'_>, usize), prefix: &[u8]) -> bool {
        let mut splices = self.splices.lock();
        let splice = match splices.get_mut(prefix) {
            Some(splice) => splice,
            None => splices.entry(prefix.into()).or_insert_with(|| Box::new(Splice::new())),
        };
        nodes.link(list, node, height, UsedSplice(splice).0)
    }
}

impl SkipList {
    /// An empty list. With `hint_prefixes`, [`insert`](Self::insert) keeps a hint for each of these prefixes.
    pub(crate) fn new(nodes: &Nodes, hint_prefixes: Option<PrefixExtractor>) -> Self {
        let hints = |extractor| Box::new(PrefixHints { extractor, splices: Mutex::new(HashMap::new()) });
        Self {
            head: nodes.new_head(MAX_HEIGHT),
            max_height: AtomicUsize::new(1),
            hint: InsertHint::new(),
            prefix_hints: hint_prefixes.map(hints),
        }
    }

    /// Bytes of the hints.
    pub(crate) fn hint_bytes(&self) -> usize {
        let count = self.prefix_hints.as_ref().map_or(0, |hints| hints.splices.lock().len());
        count * (size_of::<Splice>() + size_of::<(Box<[u8]>, Box<Splice>)>())
    }

    /// The list as far as it is built.
    #[inline]
    pub(crate) fn list<'a>(&self, nodes: &'a Nodes) -> List<'a> {
        nodes.list(self.head, self.max_height.load(Ordering::Relaxed))
    }

    /// Inserts with the kept hint; fastest from one thread at a time. False if the internal key already exists.
    /// `user_key.len() + 8` and `value.len()` must fit 32 bits.
    #[inline(always)]
    pub(crate) fn insert(&self, nodes: &Nodes, user_key: &[u8], trailer: u64, value: &[u8]) -> bool {
        let height = nodes.random_height();
        let node = nodes.make_node(height, user_key, trailer, value);
        let list = nodes.list(self.head, self.raise_max_height(height));
        if let Some(hints) = &self.prefix_hints
            && let Some(prefix) = hints.extractor.prefix(user_key)
        {
            return hints.link(nodes, list, (node, height), prefix);
        }
        let (mut hint, mut fresh) = (self.hint.take(), None);
        let splice = match &mut hint {
            Some(hint) => hint.splice(),
            None => fresh.insert(Splice::new()),
        };
        nodes.link(list, node, height, splice)
    }

    /// Inserts from many threads at once. False if the internal key already exists. Lengths as in `insert`.
    pub(crate) fn insert_concurrent(&self, nodes: &Nodes, user_key: &[u8], trailer: u64, value: &[u8]) -> bool {
        let height = nodes.random_height();
        let node = nodes.make_node(height, user_key, trailer, value);
        let list = nodes.list(self.head, self.raise_max_height(height));
        nodes.link(list, node, height, &mut Splice::new())
    }

    fn raise_max_height(&self, height: usize) -> usize {
        let mut current = self.max_height.load(Ordering::Relaxed);
        while height > current {
            match self.max_height.compare_exchange_weak(current, height, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return height,
                Err(now) => current = now,
            }
        }
        current
    }

    /// Checks that every level is a sorted part of the level below it and that the upper levels are in use.
    #[cfg(test)]
    pub(crate) fn check_towers(&self, nodes: &Nodes) {
        nodes.list(self.head, MAX_HEIGHT).check_towers(nodes);
    }
}
