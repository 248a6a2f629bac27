//! The older ways of choosing files: bisections over the bounds of the files, with and without hints.
//!
//! A hint says for a file which files of the next level a key can be in, by where the key lies relative to the file:
//!
//! ```text
//! smallest_lb   first lower file that ends at or behind the file's smallest key
//! largest_lb    ... its largest key
//! smallest_rb   last lower file that begins at or before the file's smallest key
//! largest_rb    ... its largest key
//! ```

use crate::Picked;
use crate::tree::Tree;
use ferrock_base::internal_key::user_key;
use ferrock_base::{InternalComparator, LookupKey};
use std::cmp::Ordering;

/// What a search knows of a file: 88 bytes, and the keys elsewhere.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "what is not read takes its place in the cache lines")]
pub(crate) struct Brief {
    table: u64,
    number: u64,
    size: u64,
    smallest_seqno: u64,
    largest_seqno: u64,
    metadata: u64,
    smallest: &'static [u8],
    largest: &'static [u8],
    padding: u64,
}

/// The files of all levels in one allocation, and their keys in another.
#[derive(Debug)]
pub(crate) struct Plain {
    order: InternalComparator,
    levels: Vec<&'static [Brief]>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hint {
    smallest_lb: i32,
    largest_lb: i32,
    smallest_rb: i32,
    largest_rb: i32,
}

/// Hints in a vector per level.
#[derive(Debug)]
pub(crate) struct PerLevel {
    plain: Plain,
    hints: Vec<Vec<Hint>>,
    last: Vec<i32>,
}

/// Hints in one allocation.
#[derive(Debug)]
pub(crate) struct Arena {
    plain: Plain,
    levels: &'static [&'static [Hint]],
    last: &'static [i32],
}

impl Plain {
    pub(crate) fn new(tree: &Tree) -> Self {
        let mut keys = Vec::new();
        tree.levels.iter().flatten().for_each(|file| {
            keys.extend_from_slice(&file.smallest);
            keys.extend_from_slice(&file.largest);
        });
        let mut rest: &'static [u8] = keys.leak();
        let mut take = |len: usize| {
            let (key, behind) = rest.split_at(len);
            rest = behind;
            key
        };
        let briefs = tree.levels.iter().flatten().map(|file| Brief {
            table: 0,
            number: file.number.0,
            size: 0,
            smallest_seqno: 0,
            largest_seqno: 0,
            metadata: 0,
            smallest: take(file.smallest.len()),
            largest: take(file.largest.len()),
            padding: 0,
        });
        let mut briefs: &'static [Brief] = briefs.collect::<Vec<_>>().leak();
        let mut levels = Vec::new();
        for files in &tree.levels {
            let (level, behind) = briefs.split_at(files.len());
            levels.push(level);
            briefs = behind;
        }
        Self { order: InternalComparator::default(), levels }
    }

    fn compare(&self, key: &LookupKey, bound: &[u8]) -> Ordering {
        self.order.user().compare(key.user_key(), user_key(bound))
    }

    fn pick_newest(&self, key: &LookupKey, picked: &mut Picked) {
        for file in self.levels.first().copied().unwrap_or_default() {
            if self.compare(key, file.smallest).is_ge() && self.compare(key, file.largest).is_le() {
                picked.add(file.number);
            }
        }
    }

    /// The first file from `left` on and before `behind` whose largest key is not below the key.
    fn lower_bound(&self, files: &[Brief], key: &LookupKey, left: usize, behind: usize) -> usize {
        let (mut low, mut high) = (left, behind);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.order.compare(files[middle].largest, key.internal_key()).is_lt() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    pub(crate) fn pick(&self, key: &LookupKey) -> Picked {
        let mut picked = Picked::default();
        self.pick_newest(key, &mut picked);
        for files in self.levels.iter().skip(1) {
            let first = self.lower_bound(files, key, 0, files.len());
            for file in &files[first..] {
                if self.compare(key, file.smallest).is_lt() {
                    break;
                }
                picked.add(file.number);
                if self.compare(key, file.largest).is_ne() {
                    break;
                }
            }
        }
        picked
    }

    /// The walk with hints; `next` answers with the files of the next level that are left.
    #[inline(always)]
    fn pick_with(&self, key: &LookupKey, next: impl Fn(usize, usize, Ordering, Ordering) -> (i32, i32)) -> Picked {
        let mut picked = Picked::default();
        self.pick_newest(key, &mut picked);
        let (mut left, mut right) = (0_i32, i32::MAX);
        for (level, files) in self.levels.iter().enumerate().skip(1) {
            if files.is_empty() {
                (left, right) = (0, i32::MAX);
                continue;
            }
            let last = files.len() as i32 - 1;
            if right == i32::MAX {
                right = last;
            }
            if left > right {
                (left, right) = (0, i32::MAX);
                continue;
            }
            let mut at = self.lower_bound(files, key, left as usize, (right + 1) as usize);
            if at == right as usize + 1 {
                (left, right) = (0, i32::MAX);
                if at >= files.len() || self.compare(key, files[at].smallest).is_lt() {
                    continue;
                }
            }
            loop {
                let file = &files[at];
                let to_smallest = self.compare(key, file.smallest);
                let to_largest = match to_smallest {
                    Ordering::Less => Ordering::Less,
                    _ => self.compare(key, file.largest),
                };
                (left, right) = next(level, at, to_smallest, to_largest);
                if to_smallest.is_lt() {
                    break;
                }
                picked.add(file.number);
                at += 1;
                if to_largest.is_ne() || at >= files.len() {
                    break;
                }
            }
        }
        picked
    }
}

/// The rule of the hints.
#[inline(always)]
fn range(hints: &[Hint], last: i32, file: usize, to_smallest: Ordering, to_largest: Ordering) -> (i32, i32) {
    let hint = &hints[file];
    match (to_smallest, to_largest) {
        (Ordering::Less, _) => (if file == 0 { 0 } else { hints[file - 1].largest_lb }, hint.smallest_rb),
        (Ordering::Equal, _) => (hint.smallest_lb, hint.smallest_rb),
        (_, Ordering::Less) => (hint.smallest_lb, hint.largest_rb),
        (_, Ordering::Equal) => (hint.largest_lb, hint.largest_rb),
        _ => (hint.largest_lb, last),
    }
}

#[inline(never)]
pub(crate) fn next_level_b(
    hints: &PerLevel,
    level: usize,
    file: usize,
    to_smallest: Ordering,
    to_largest: Ordering,
) -> (i32, i32) {
    match hints.hints.get(level) {
        Some(level_hints) if !level_hints.is_empty() => {
            range(level_hints, hints.last[level + 1], file, to_smallest, to_largest)
        }
        _ => (0, -1),
    }
}

#[inline(never)]
pub(crate) fn next_level_c(
    hints: &Arena,
    level: usize,
    file: usize,
    to_smallest: Ordering,
    to_largest: Ordering,
) -> (i32, i32) {
    match hints.levels.get(level) {
        Some(level_hints) if !level_hints.is_empty() => {
            range(level_hints, hints.last[level + 1], file, to_smallest, to_largest)
        }
        _ => (0, -1),
    }
}

impl PerLevel {
    pub(crate) fn new(tree: &Tree) -> Self {
        let plain = Plain::new(tree);
        let pairs = plain.levels.iter().zip(plain.levels.iter().skip(1)).enumerate();
        let mut hints: Vec<Vec<Hint>> = pairs
            .map(|(level, (upper, lower))| if level == 0 { Vec::new() } else { hints_between(&plain, upper, lower) })
            .collect();
        hints.push(Vec::new());
        let last = plain.levels.iter().map(|files| files.len() as i32 - 1).collect();
        Self { plain, hints, last }
    }

    pub(crate) fn pick(&self, key: &LookupKey) -> Picked {
        self.plain.pick_with(key, |level, file, a, b| next_level_b(self, level, file, a, b))
    }
}

impl Arena {
    pub(crate) fn new(tree: &Tree) -> Self {
        let PerLevel { plain, hints, last } = PerLevel::new(tree);
        let mut rest: &'static [Hint] = hints.concat().leak();
        let take = |level: &Vec<Hint>| {
            let (taken, behind) = rest.split_at(level.len());
            rest = behind;
            taken
        };
        let levels: Vec<&'static [Hint]> = hints.iter().map(take).collect();
        Self { plain, levels: levels.leak(), last: last.leak() }
    }

    pub(crate) fn pick(&self, key: &LookupKey) -> Picked {
        self.plain.pick_with(key, |level, file, a, b| next_level_c(self, level, file, a, b))
    }
}

fn hints_between(plain: &Plain, upper: &[Brief], lower: &[Brief]) -> Vec<Hint> {
    let order = plain.order.user();
    let first_behind =
        |key: &[u8]| lower.partition_point(|file| order.compare(user_key(file.largest), user_key(key)).is_lt()) as i32;
    let last_before = |key: &[u8]| {
        lower.partition_point(|file| order.compare(user_key(file.smallest), user_key(key)).is_le()) as i32 - 1
    };
    let hint = |file: &Brief| Hint {
        smallest_lb: first_behind(file.smallest),
        largest_lb: first_behind(file.largest),
        smallest_rb: last_before(file.smallest),
        largest_rb: last_before(file.largest),
    };
    upper.iter().map(hint).collect()
}
