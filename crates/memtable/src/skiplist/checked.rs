//! Searches that do not trust memory (`memtable_protection_bytes_per_key`, `memtable_verify_per_key_checksum_on_seek`,
//! `paranoid_memory_checks`): slower ones, beside those of every other memtable.
//!
//! A length that changed in memory leads a read out of its entry, here as in RocksDB: the checks find damaged keys and
//! values, not damaged lengths and links.

use super::node::NodeRef;
use super::nodes::{List, Nodes, Position, position};
use super::search_key::SearchKey;
use ferrock_base::internal_key::user_key;
use ferrock_base::{Error, Result};

/// Where a checked search ends.
#[derive(Clone, Copy)]
pub(crate) enum Place<'k> {
    /// At the first entry.
    First,
    /// At the last entry.
    Last,
    /// At the first entry at or after an internal key.
    AtOrAfter(&'k [u8]),
    /// At the last entry at or before an internal key.
    AtOrBefore(&'k [u8]),
    /// At the last entry before an internal key.
    Before(&'k [u8]),
}

impl Nodes {
    /// The entry at a place of a list, with the checks of the way there.
    ///
    /// # Errors
    /// `Corruption` when an entry on the way, or the one that is found, is not as it was written, or not in order.
    #[cold]
    pub(crate) fn find_checked(&self, list: List<'_>, place: Place<'_>) -> Result<Position> {
        Ok(match place {
            Place::First => {
                let first = position(list.head.next_in_order());
                self.check_on_the_way(first)?;
                first
            }
            Place::Last => position(self.neighbours(list, None)?.0),
            Place::AtOrAfter(key) => position(self.neighbours(list, Some(&SearchKey::new(key)))?.1),
            Place::Before(key) => position(self.neighbours(list, Some(&SearchKey::new(key)))?.0),
            Place::AtOrBefore(key) => {
                let key = SearchKey::new(key);
                let (before, after) = self.neighbours(list, Some(&key))?;
                let own = after.filter(|node| key.compare_node(self.comparator(), *node).is_eq());
                position(own.or(before))
            }
        })
    }

    /// The last node before `key`, or before the end when there is no key, and the node behind it.
    fn neighbours<'a>(
        &'a self,
        list: List<'a>,
        key: Option<&SearchKey<'_>>,
    ) -> Result<(Option<NodeRef<'a>>, Option<NodeRef<'a>>)> {
        let mut level = list.levels - 1;
        let mut node = list.head;
        loop {
            // SAFETY: `node` is the head, which has all levels, or was reached on this level or a higher one.
            let next = unsafe { node.next(level) };
            if let Some(candidate) = next {
                if self.checks().sums_on_the_way {
                    self.check_on_the_way(position(next))?;
                }
                if self.checks().order && node != list.head {
                    self.check_order(node, candidate)?;
                }
                if key.is_none_or(|key| key.compare_node(self.comparator(), candidate).is_lt()) {
                    node = candidate;
                    continue;
                }
            }
            if level == 0 {
                // Both were compared with the key: where they are as they were written, so is the place between them.
                let before = (node != list.head).then_some(node);
                self.check_on_the_way(position(before))?;
                self.check_on_the_way(position(next))?;
                return Ok((before, next));
            }
            level -= 1;
        }
    }

    /// The entry behind one, with the checks.
    ///
    /// # Errors
    /// As [`find_checked`](Self::find_checked).
    #[cold]
    pub(crate) fn next_checked(&self, from: Position) -> Result<Position> {
        let Some(node) = self.node(from) else { return Ok(Position::default()) };
        let next = node.next_in_order();
        if let Some(next) = next.filter(|_| self.checks().order) {
            self.check_order(node, next)?;
        }
        self.check_on_the_way(position(next))?;
        Ok(position(next))
    }

    /// Compares the sum of an entry that a search meets, unless only a lock lets that be done.
    ///
    /// # Errors
    /// As [`check_entry`](Self::check_entry).
    pub(crate) fn check_on_the_way(&self, at: Position) -> Result<()> {
        if self.checks().values_change { Ok(()) } else { self.check_entry(at) }
    }

    /// Compares the sum of an entry, if the memtable has sums. Where values are written over, the caller holds the lock
    /// of the entry's key.
    ///
    /// # Errors
    /// `Corruption` when the entry is not as it was written.
    #[cold]
    pub(crate) fn check_entry(&self, at: Position) -> Result<()> {
        let sum_bytes = usize::from(self.checks().sum_bytes);
        let Some(node) = self.node(at).filter(|_| sum_bytes > 0) else { return Ok(()) };
        // SAFETY: all entries of these nodes were written with sums of so many bytes; a position is no head.
        if unsafe { node.has_its_sum(sum_bytes) } {
            return Ok(());
        }
        Err(changed("its key or value changed after it was written", node))
    }

    fn check_order(&self, node: NodeRef<'_>, next: NodeRef<'_>) -> Result<()> {
        if SearchKey::new(node.internal_key()).compare_node(self.comparator(), next).is_gt() {
            return Ok(());
        }
        Err(changed("it is not behind the entry before it", next))
    }
}

#[cold]
fn changed(what: &str, node: NodeRef<'_>) -> Error {
    let key = user_key(node.internal_key());
    let key = key[..key.len().min(64)].escape_ascii();
    Error::corruption(format!(
        "memtable: entry of key {key}: {what}: check the memory of this machine; what went to the log is \
         there, and the next open reads it from it"
    ))
}
