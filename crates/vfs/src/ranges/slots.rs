//! Values by number, where freed numbers are used again, and linked lists of such numbers.
//!
//! ```text
//! chain    first -> 7 <-> 2 <-> 9 <- last        a number is in at most one chain: one pair of links for each
//! ```

/// The link behind the end of a chain.
const NONE: usize = usize::MAX;

/// Values by number. The numbers of removed values are used again.
pub(super) struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    #[inline]
    pub(super) fn insert(&mut self, value: T) -> usize {
        if let Some(number) = self.free.pop() {
            self.slots[number] = Some(value);
            return number;
        }
        self.slots.push(Some(value));
        self.slots.len() - 1
    }

    #[inline]
    pub(super) fn remove(&mut self, number: usize) -> Option<T> {
        let value = self.slots.get_mut(number)?.take()?;
        self.free.push(number);
        Some(value)
    }

    pub(super) fn get(&self, number: usize) -> Option<&T> {
        self.slots.get(number)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.slots.get_mut(number)?.as_mut()
    }

    /// A bound above every number in use.
    pub(super) fn end(&self) -> usize {
        self.slots.len()
    }

    /// Removes and returns all values.
    pub(super) fn take_all(&mut self) -> Vec<T> {
        self.free.clear();
        std::mem::take(&mut self.slots).into_iter().flatten().collect()
    }
}

#[derive(Clone, Copy)]
struct Link {
    before: usize,
    behind: usize,
}

/// The links of all chains.
#[derive(Default)]
pub(super) struct Links(Vec<Link>);

impl Links {
    fn set(&mut self, number: usize, link: Link) {
        if number >= self.0.len() {
            self.0.resize(number + 1, Link { before: NONE, behind: NONE });
        }
        self.0[number] = link;
    }
}

/// A doubly linked list of numbers.
pub(super) struct Chain {
    first: usize,
    last: usize,
    length: usize,
}

impl Default for Chain {
    fn default() -> Self {
        Self { first: NONE, last: NONE, length: 0 }
    }
}

impl Chain {
    pub(super) fn length(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(super) fn first(&self) -> Option<usize> {
        (self.first != NONE).then_some(self.first)
    }

    /// Appends a number that is in no chain.
    pub(super) fn push(&mut self, links: &mut Links, number: usize) {
        links.set(number, Link { before: self.last, behind: NONE });
        match self.last {
            NONE => self.first = number,
            last => links.0[last].behind = number,
        }
        self.last = number;
        self.length += 1;
    }

    /// Removes a number of this chain.
    pub(super) fn remove(&mut self, links: &mut Links, number: usize) {
        let Link { before, behind } = links.0[number];
        match before {
            NONE => self.first = behind,
            before => links.0[before].behind = behind,
        }
        match behind {
            NONE => self.last = before,
            behind => links.0[behind].before = before,
        }
        self.length -= 1;
    }

    pub(super) fn pop(&mut self, links: &mut Links) -> Option<usize> {
        let first = self.first()?;
        self.remove(links, first);
        Some(first)
    }

    /// Prepends all numbers of another chain.
    pub(super) fn put_first(&mut self, links: &mut Links, other: Self) {
        match (other.last, self.first) {
            (NONE, _) => return,
            (_, NONE) => self.last = other.last,
            (last, first) => {
                links.0[last].behind = first;
                links.0[first].before = last;
            }
        }
        self.first = other.first;
        self.length += other.length;
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn chains_are_queues(steps in prop::collection::vec((0usize..2, 0u8..4, any::<usize>()), 0..120)) {
            let (mut links, mut chains) = (Links::default(), [Chain::default(), Chain::default()]);
            let mut expected = [VecDeque::new(), VecDeque::new()];
            let (mut slots, mut live) = (Slots::default(), 0);
            for (chain, step, pick) in steps {
                let length = expected[chain].len();
                match step {
                    0 => {
                        let number = slots.insert(());
                        live += 1;
                        prop_assert!(!expected.iter().any(|numbers| numbers.contains(&number)));
                        chains[chain].push(&mut links, number);
                        expected[chain].push_back(number);
                    }
                    1 if length > 0 => {
                        let number = expected[chain].remove(pick % length).unwrap_or_default();
                        chains[chain].remove(&mut links, number);
                        prop_assert!(slots.remove(number).is_some() && slots.remove(number).is_none());
                        live -= 1;
                    }
                    2 => {
                        let number = chains[chain].pop(&mut links);
                        prop_assert_eq!(number, expected[chain].pop_front());
                        live -= usize::from(number.and_then(|number| slots.remove(number)).is_some());
                    }
                    3 => {
                        let other = std::mem::take(&mut chains[1 - chain]);
                        chains[chain].put_first(&mut links, other);
                        let mut joined = std::mem::take(&mut expected[1 - chain]);
                        joined.append(&mut expected[chain]);
                        expected[chain] = joined;
                    }
                    _ => {}
                }
                for (chain, expected) in chains.iter().zip(&expected) {
                    prop_assert_eq!((chain.length(), chain.first()), (expected.len(), expected.front().copied()));
                    prop_assert_eq!(chain.is_empty(), expected.is_empty());
                }
            }
            prop_assert!(slots.end() >= live);
            prop_assert_eq!(slots.take_all().len(), live);
        }
    }
}
