//! Heads of small lists, and a list in the order of arrival.

use super::insert::Splice;
use super::node::{Link, NodeRef};
use super::nodes::{List, Nodes, Position, position};
use crate::sync::{AtomicPtr, Ordering};
use std::ptr::NonNull;

/// Where the head of a list is kept that may not exist yet, and that may get a higher one. Every method must be given
/// the same [`Nodes`].
pub(crate) struct HeadSlot(AtomicPtr<Link>);

impl HeadSlot {
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()))
    }

    #[inline]
    fn head(&self) -> Option<NonNull<Link>> {
        NonNull::new(self.0.load(Ordering::Acquire))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head().is_none()
    }

    /// The list, if it has a head, whose tower has at least `levels` links.
    #[inline]
    pub(crate) fn list<'a>(&self, nodes: &'a Nodes, levels: usize) -> Option<List<'a>> {
        self.head().map(|head| nodes.list(head, levels))
    }

    /// Gives the list a head of `levels` links, of which the upper ones lead to nothing yet. Only one thread at a time
    /// may call this or [`insert`](Self::insert).
    ///
    /// A reader that has the old head finds all entries that were in the list.
    pub(crate) fn grow_to(&self, nodes: &Nodes, levels: usize) {
        let first = self.list(nodes, 1).and_then(|list| list.head.next_in_order());
        let head = nodes.list(nodes.new_head(levels), levels).head;
        // SAFETY: every tower has a level 0.
        unsafe { head.set_next_before_linking(0, first) };
        self.0.store(head.as_raw().as_ptr(), Ordering::Release);
    }

    /// Inserts into a list whose head has at least `shape.0` levels; a tower has `shape.1` times as many nodes below
    /// it as on its level. False if the internal key already exists, or there is no head.
    #[inline]
    pub(crate) fn insert(&self, nodes: &Nodes, shape: (usize, u32), entry: (&[u8], u64, &[u8])) -> bool {
        let Some(list) = self.list(nodes, shape.0) else { return false };
        let height = nodes.random_height_up_to(shape.0, shape.1);
        let node = nodes.make_node(height, entry.0, entry.1, entry.2);
        nodes.link(list, node, height, &mut Splice::new())
    }
}

/// Entries in the order of their arrival, the newest first. Every method must be given the same [`Nodes`].
pub(crate) struct Stack {
    head: NonNull<Link>,
}

// SAFETY: `head` is the address of a tower in the arena of the `Nodes` that every method is given; it and the nodes
// behind it are immutable once linked except for their atomic links.
unsafe impl Send for Stack {}
// SAFETY: as above.
unsafe impl Sync for Stack {}

impl Stack {
    pub(crate) fn new(nodes: &Nodes) -> Self {
        Self { head: nodes.new_head(1) }
    }

    #[inline]
    fn head<'a>(&self, nodes: &'a Nodes) -> NodeRef<'a> {
        nodes.list(self.head, 1).head
    }

    /// The entry that was added last. Those before it are behind it.
    #[inline]
    pub(crate) fn newest(&self, nodes: &Nodes) -> Position {
        position(self.head(nodes).next_in_order())
    }

    /// Adds an entry, from any thread. Lengths as for [`SkipList::insert`](super::SkipList::insert).
    #[inline]
    pub(crate) fn push(&self, nodes: &Nodes, user_key: &[u8], trailer: u64, value: &[u8]) {
        let node = nodes.make_node(1, user_key, trailer, value);
        let head = self.head(nodes);
        loop {
            let newest = head.next_in_order();
            // SAFETY: every tower has a level 0. Nodes are never removed, so `newest` cannot come back after another
            // was pushed.
            let linked = unsafe {
                node.set_next_before_linking(0, newest);
                head.link_next(0, newest, node)
            };
            if linked {
                return;
            }
        }
    }
}
