//! Inserting: find the node before and the node after on every level (the *splice*), then link.
//!
//! `insert` keeps the splice of the last insert as a hint. If the new key falls between the same two neighbours on
//! level 0, as always when keys arrive in order, the insert needs no search: one comparison and one link.
//!
//! Why a kept splice may be used: after an insert there is a key X (the one inserted) with `before[l] <= X < after[l]`
//! on every level. Let level `r` be tight (`before[r].next == after[r]`) and around the new key Y. For a higher level
//! `l`, `after[l] > X >= before[r]` is also a node of level `r`, so `after[l] >= after[r] >= Y`; likewise `before[l] <=
//! before[r] < Y`. So all levels from `r` up bracket Y, and the levels below are searched inside the bracket. If a
//! bracket is no longer tight, the compare-and-swap fails, and that level is searched again.
//!
//! `insert` also sets every link by compare-and-swap: an uncontended one costs some nanoseconds, and any mixture of
//! `insert` and `insert_concurrent` stays correct.

use super::node::{Link, NodeRef};
use super::nodes::{List, MAX_HEIGHT, Nodes};
use super::search_key::SearchKey;
use crate::sync::{AtomicBool, Ordering};
use std::cell::UnsafeCell;
use std::cmp::Ordering as Order;
use std::ptr::NonNull;

type Neighbour = Option<NonNull<Link>>;

/// The neighbours of a key on every level below `height`; `before: None` is the head, `after: None` the end.
pub(super) struct Splice {
    height: usize,
    before: [Neighbour; MAX_HEIGHT],
    after: [Neighbour; MAX_HEIGHT],
}

impl Splice {
    pub(super) const fn new() -> Self {
        Self { height: 0, before: [None; MAX_HEIGHT], after: [None; MAX_HEIGHT] }
    }
}

/// A splice in use, which says nothing any more if a custom comparator panics.
pub(super) struct UsedSplice<'a>(pub(super) &'a mut Splice);

impl Drop for UsedSplice<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.height = 0;
        }
    }
}

/// The splice of the last insert, used by one thread at a time; a thread that finds it taken searches without it.
pub(super) struct InsertHint {
    taken: AtomicBool,
    splice: UnsafeCell<Splice>,
}

impl InsertHint {
    pub(super) fn new() -> Self {
        Self { taken: AtomicBool::new(false), splice: UnsafeCell::new(Splice::new()) }
    }

    /// The hint, if no other thread uses it.
    #[inline]
    pub(super) fn take(&self) -> Option<TakenHint<'_>> {
        (!self.taken.swap(true, Ordering::Acquire)).then(|| TakenHint(self))
    }
}

/// Releases the hint, also if a custom comparator panics.
pub(super) struct TakenHint<'a>(&'a InsertHint);

impl TakenHint<'_> {
    pub(super) fn splice(&mut self) -> &mut Splice {
        // SAFETY: `taken` was false and is now true by our swap, so this thread alone uses the splice until `drop`.
        unsafe { &mut *self.0.splice.get() }
    }
}

impl Drop for TakenHint<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.splice().height = 0;
        }
        self.0.taken.store(false, Ordering::Release);
    }
}

impl Nodes {
    #[inline]
    fn before<'a>(&'a self, list: List<'a>, neighbour: Neighbour) -> NodeRef<'a> {
        // SAFETY: neighbours in a splice are nodes of this list.
        neighbour.map_or(list.head, |link| unsafe { NodeRef::from_raw(link) })
    }

    #[inline]
    fn after(&self, neighbour: Neighbour) -> Option<NodeRef<'_>> {
        // SAFETY: neighbours in a splice are nodes of this list.
        neighbour.map(|link| unsafe { NodeRef::from_raw(link) })
    }

    /// Links a complete node that no other thread can reach yet. False (and the list is unchanged) if its key already
    /// exists.
    /// `height` is at most `list.levels`.
    pub(super) fn link(&self, list: List<'_>, node: NodeRef<'_>, height: usize, splice: &mut Splice) -> bool {
        let key = SearchKey::new(node.internal_key());
        let search_below = if splice.height < list.levels {
            *splice = Splice { height: list.levels, ..Splice::new() };
            list.levels
        } else {
            self.first_valid_level(list, &key, splice)
        };
        for level in (0..search_below).rev() {
            let (before, limit) = match level + 1 {
                above if above < splice.height => {
                    (self.before(list, splice.before[above]), self.after(splice.after[above]))
                }
                _ => (list.head, None),
            };
            self.search_level(list, &key, level, before, limit, splice);
        }
        for level in 0..height {
            loop {
                let (before, after) = (self.before(list, splice.before[level]), self.after(splice.after[level]));
                if level == 0 && after.is_some_and(|after| key.compare_node(self.comparator(), after).is_eq()) {
                    return false;
                }
                // SAFETY: level < height of `node`; `before` was reached on this level or is the head.
                let linked = unsafe {
                    node.set_next_before_linking(level, after);
                    before.link_next(level, after, node)
                };
                if linked {
                    break;
                }
                self.search_level(list, &key, level, before, None, splice);
            }
            splice.before[level] = Some(node.as_raw());
        }
        true
    }

    /// The lowest level of a kept splice that is tight and around `key`; the splice's height if the hint does not help.
    fn first_valid_level(&self, list: List<'_>, key: &SearchKey<'_>, splice: &Splice) -> usize {
        for level in 0..splice.height {
            let (before, after) = (self.before(list, splice.before[level]), self.after(splice.after[level]));
            // SAFETY: `before` was reached on this level or is the head.
            if unsafe { before.next(level) } != after {
                continue;
            }
            let is_after = splice.before[level].is_none() || key.compare_node(self.comparator(), before).is_lt();
            let is_before = is_after && after.is_none_or(|after| key.compare_node(self.comparator(), after).is_ge());
            // A tight level that does not contain the key shows that the keys do not arrive in order: search from the
            // top.
            return if is_before { level } else { splice.height };
        }
        splice.height
    }

    /// Finds the neighbours of `key` on `level`, going right from `from`; `limit`, if any, is known to be `>= key`.
    #[inline(always)]
    fn search_level<'a>(
        &'a self,
        list: List<'a>,
        key: &SearchKey<'_>,
        level: usize,
        from: NodeRef<'a>,
        limit: Option<NodeRef<'a>>,
        splice: &mut Splice,
    ) {
        let mut before = from;
        loop {
            // SAFETY: `before` was reached on this level or a higher one, or is the head.
            let next = unsafe { before.next(level) };
            match next {
                Some(candidate) if next != limit && key.compare_node(self.comparator(), candidate) == Order::Less => {
                    before = candidate;
                }
                _ => {
                    splice.before[level] = (before != list.head).then_some(before.as_raw());
                    splice.after[level] = next.map(NodeRef::as_raw);
                    return;
                }
            }
        }
    }
}
