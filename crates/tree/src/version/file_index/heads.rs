//! The first bytes of keys as integers that compare as the keys do.

use crate::version::FileMetadata;
use std::cmp::Ordering;
use std::sync::Arc;

/// The smallest user key of a file for an even number, the largest for an odd one.
#[inline]
pub(super) fn bound(file: &FileMetadata, index: usize) -> &[u8] {
    if index.is_multiple_of(2) { file.smallest_user_key() } else { file.largest_user_key() }
}

/// The eight bytes of `key` from `at` on as a big-endian integer; bytes that the key does not have are zero.
///
/// If the integer of one key is below that of another with the same first `at` bytes, so is the key.
#[inline]
pub(super) fn head_at(key: &[u8], at: usize) -> u64 {
    match key.get(at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => padded_head_at(key, at),
    }
}

#[cold]
fn padded_head_at(key: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(key.get(at..).unwrap_or_default()) {
        *to = *from;
    }
    u64::from_be_bytes(bytes)
}

/// How keys become heads in one index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeadMaker {
    pub(super) prefix_len: usize,
    pub(super) flip: u64,
}

impl HeadMaker {
    #[inline]
    pub(super) fn first(self, key: &[u8]) -> u64 {
        head_at(key, self.prefix_len) ^ self.flip
    }

    #[inline]
    pub(super) fn second(self, key: &[u8]) -> u64 {
        head_at(key, self.prefix_len.saturating_add(8)) ^ self.flip
    }

    /// Appends the head of `key` in `width` words of eight bytes.
    pub(super) fn push(self, words: &mut Vec<u32>, key: &[u8], width: u8) {
        push_wide(words, self.first(key));
        if width == 2 {
            push_wide(words, self.second(key));
        }
    }

    /// Appends the heads of the endpoints of `files`.
    pub(super) fn push_files(self, words: &mut Vec<u32>, files: &[Arc<FileMetadata>], width: u8) {
        for file in files {
            self.push(words, bound(file, 0), width);
            self.push(words, bound(file, 1), width);
        }
    }
}

#[inline]
pub(super) fn push_wide(words: &mut Vec<u32>, value: u64) {
    words.extend_from_slice(&[value as u32, (value >> 32) as u32]);
}

#[inline]
pub(super) fn wide(words: [u32; 2]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

#[inline]
pub(super) fn wider(words: [u32; 4]) -> u128 {
    u128::from(wide([words[0], words[1]])) << 64 | u128::from(wide([words[2], words[3]]))
}

/// The heads of a level.
#[derive(Clone, Copy, Debug)]
pub(super) enum Heads<'a> {
    /// A custom order has none.
    None,
    /// Eight bytes.
    One(&'a [[u32; 2]]),
    /// Sixteen bytes, the first eight first.
    Two(&'a [[u32; 4]]),
}

impl<'a> Heads<'a> {
    /// The first `len` heads of `words`.
    #[inline]
    pub(super) fn new(words: &'a [u32], len: u32, width: u8) -> Self {
        match width {
            0 => Self::None,
            1 => Self::One(words.as_chunks().0.get(..len as usize).unwrap_or_default()),
            _ => Self::Two(words.as_chunks().0.get(..len as usize).unwrap_or_default()),
        }
    }

    /// The first eight bytes of a head.
    #[inline]
    pub(super) fn first(&self, index: usize) -> Option<u64> {
        match self {
            Self::None => None,
            Self::One(heads) => heads.get(index).map(|&head| wide(head)),
            Self::Two(heads) => heads.get(index).map(|head| wide([head[0], head[1]])),
        }
    }

    /// Compares what both have of two heads; `Equal` says nothing about the keys.
    #[inline]
    pub(super) fn compare(&self, index: usize, other: &Heads<'a>, other_index: usize) -> Ordering {
        if let (Self::Two(a), Self::Two(b)) = (self, other) {
            return a.get(index).map(|&head| wider(head)).cmp(&b.get(other_index).map(|&head| wider(head)));
        }
        self.first(index).cmp(&other.first(other_index))
    }

    /// Neighbours that differ by nothing in their first eight bytes.
    pub(super) fn ties(&self, len: usize) -> usize {
        match self {
            Self::None => 0,
            Self::One(heads) => heads.windows(2).filter(|pair| pair[0] == pair[1]).count(),
            Self::Two(_) => (1..len).filter(|&at| self.first(at - 1) == self.first(at)).count(),
        }
    }
}

/// Heads below `head` among `heads`. Most windows hold one or two.
#[inline]
pub(super) fn rank_one(heads: &[[u32; 2]], head: u64) -> usize {
    match *heads {
        [only] => usize::from(wide(only) < head),
        _ => heads.partition_point(|&other| wide(other) < head),
    }
}

/// Heads below `head` among the first seven of eight, without a branch.
#[inline]
pub(super) fn rank_of_seven(heads: &[[u32; 2]; 8], head: u64) -> usize {
    let mut rank = 4 * usize::from(wide(heads[3]) < head);
    rank += 2 * usize::from(wide(heads[rank + 1]) < head);
    rank + usize::from(wide(heads[rank]) < head)
}

/// Heads of sixteen bytes below `head` among `heads`.
#[inline]
pub(super) fn rank_two(heads: &[[u32; 4]], head: u128) -> usize {
    heads.partition_point(|&other| wider(other) < head)
}

/// The first head behind `at` that is not equal to it.
pub(super) fn end_of_run(heads: &Heads<'_>, at: usize, high: usize) -> usize {
    let behind = |len: usize, is_equal: &dyn Fn(usize) -> bool| {
        (at..high.min(len)).find(|&index| !is_equal(index)).unwrap_or(high.min(len))
    };
    match heads {
        Heads::None => high,
        Heads::One(heads) => behind(heads.len(), &|index| heads[index] == heads[at]),
        Heads::Two(heads) => behind(heads.len(), &|index| heads[index] == heads[at]),
    }
}
