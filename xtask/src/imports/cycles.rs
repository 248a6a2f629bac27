//! Circles among files: the strongly connected components, after Tarjan, and in each the shortest circles that are not
//! permitted.

use super::Uses;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

struct Search<'a> {
    uses: &'a Uses,
    /// File -> the order in which the search came to it.
    order: BTreeMap<&'a str, usize>,
    /// File -> the lowest order that its subtree leads back to.
    low: BTreeMap<&'a str, usize>,
    stack: Vec<&'a str>,
    found: Vec<Vec<String>>,
}

/// For every use that closes a circle, the shortest such circle, without repetition; a circle of two files counts where
/// `is_permitted` does not allow it. Each is written from its first file in alphabetical order on.
pub(super) fn circles(uses: &Uses, is_permitted: impl Fn(&str, &str) -> bool) -> Vec<Vec<String>> {
    let mut found = BTreeSet::new();
    for component in strongly_connected(uses).into_iter().filter(|files| files.len() > 1) {
        for from in &component {
            for to in uses[from].iter().filter(|to| component.contains(to)) {
                let goes_back = uses[to].contains(from);
                if goes_back && !is_permitted(from, to) {
                    found.insert(BTreeSet::from([from.clone(), to.clone()]).into_iter().collect());
                } else if let Some(circle) = longer_circle(uses, from, to) {
                    found.insert(circle);
                }
            }
        }
    }
    found.into_iter().collect()
}

/// The shortest circle of three files and more that begins with the use `from -> to`.
fn longer_circle(uses: &Uses, from: &str, to: &str) -> Option<Vec<String>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut waiting = VecDeque::from([to]);
    while let Some(file) = waiting.pop_front() {
        for next in uses.get(file).into_iter().flatten() {
            if file == to && next == from {
                continue;
            }
            if next == from {
                let mut circle = vec![from.to_owned(), file.to_owned()];
                let mut at = file;
                while let Some(previous) = came_from.get(at).filter(|_| at != to) {
                    circle.push((*previous).to_owned());
                    at = previous;
                }
                // Collected against the direction of the uses.
                circle[1..].reverse();
                let first = circle.iter().enumerate().min_by_key(|(_, file)| *file).map_or(0, |(at, _)| at);
                circle.rotate_left(first);
                return Some(circle);
            }
            if next != to && !came_from.contains_key(&next[..]) {
                came_from.insert(next, file);
                waiting.push_back(next);
            }
        }
    }
    None
}

/// The components, each sorted. The depth of the recursion is at most the number of files of a crate.
fn strongly_connected(uses: &Uses) -> Vec<Vec<String>> {
    let mut search =
        Search { uses, order: BTreeMap::new(), low: BTreeMap::new(), stack: Vec::new(), found: Vec::new() };
    for file in uses.keys() {
        if !search.order.contains_key(&file[..]) {
            search.visit(file);
        }
    }
    search.found
}

impl<'a> Search<'a> {
    fn visit(&mut self, file: &'a str) {
        let own = self.order.len();
        self.order.insert(file, own);
        self.low.insert(file, own);
        self.stack.push(file);
        for next in self.uses.get(file).into_iter().flatten() {
            if !self.order.contains_key(&next[..]) {
                self.visit(next);
                self.lower(file, self.low[&next[..]]);
            } else if self.stack.contains(&&next[..]) {
                self.lower(file, self.order[&next[..]]);
            }
        }
        if self.low[file] == own {
            let at = self.stack.iter().position(|on| *on == file).unwrap_or(0);
            let mut component: Vec<String> = self.stack.split_off(at).into_iter().map(str::to_owned).collect();
            component.sort();
            self.found.push(component);
        }
    }

    fn lower(&mut self, file: &'a str, to: usize) {
        if let Some(low) = self.low.get_mut(file) {
            *low = to.min(*low);
        }
    }
}
