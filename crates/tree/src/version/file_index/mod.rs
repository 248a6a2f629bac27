//! Which files of a version can hold a key, for all levels at once: fractional cascading over the levels, in one flat
//! allocation per version.
//!
//! The files of a sorted level have `2n` *endpoints* in order: `s0 l0 s1 l1 ...`, the user keys of smallest and
//! largest. The *rank* of a key is the number of endpoints strictly below it, and determines the file:
//!
//! ```text
//! endpoints     s0      l0      s1      l1
//! rank       0      1       2       3       4
//!                 file 0         file 1              odd: inside file rank/2; even: in the gap before it
//! ```
//!
//! Only a key that *equals* an endpoint needs more: the trailers of the endpoints decide (the key may go on in the next
//! file, or the endpoint is the exclusive end of a range tombstone). Such a level is *tied*, and searched by full keys
//! from the file that the rank names.
//!
//! # From level to level
//!
//! Levels form a *chain* from the one with the most files to the one with the fewest, level 0 behind them. The first,
//! the *root*, is searched. For every rank in a level of the chain a *bridge* tells the rank in the next one:
//!
//! ```text
//! root    e0  e1  e2  e3  e4  e5  e6  e7 ...      bridge[r] = endpoints below e(r-1), and a bit: window is not empty
//! next            u0              u1              window    = endpoints u with e(r-1) <= u < e(r)
//! ```
//!
//! The next level has fewer endpoints, so most windows are empty, and the bridge *is* the answer: one load per level
//! and no comparison. It is never lost: gaps have bridges like files, and levels without files are not in the chain.
//! (From the top down, as RocksDB goes, a file has about ten files below it, and every level has to be searched among
//! them.) A bridge may come from an earlier level than the one before: see `parent.rs`.
//!
//! An empty window also says that the key equals no endpoint of the next level, unless it did in this one: the endpoint
//! above the key in the next level is not below the one above it here.
//!
//! # Comparing
//!
//! Endpoints are compared by *heads*: their eight bytes (sixteen, where eight do not tell enough of them apart) behind
//! the prefix that all endpoints of the version share, as big-endian integers. Heads are padded with zeros, so equal
//! heads do not mean equal keys (`"ab"` and `"ab\0"`): then the full keys in the metadata of the files are compared.
//! For the reverse bytewise order the heads are complemented. A custom order has no heads and compares full keys; ranks
//! and bridges are the same.
//!
//! # The allocation
//!
//! ```text
//! words: [u32]
//!   prefix    u64[]                the shared prefix behind its first eight bytes
//!   per level of the chain
//!     heads   u64[2n] or u128[2n]  not for a custom order
//!     radix   u32[buckets + 1]     of the root: rank of the first head in each bucket of the range of heads
//!     bridge  u32[2N + 2]          not for the root; N files of the level it leads from; the last entry is a guard
//!   level 0, up to 64 files: its distinct endpoints in order, t <= 2m
//!     heads   u64[t] or u128[t]
//!     bridge  u32[2N + 2]
//!     sources u32[t]               2 * file + (is largest)
//!     masks   u64[2t + 1]          files that hold a key below, at, between endpoints
//!   level 0, more files
//!     bounds  (u64, u64)[m]        heads of smallest and largest, newest first
//! ```
//!
//! That is 24 bytes per file of a sorted level, and one to two for the radix. Where the arrays lie is in [`Step`]s, in
//! the version itself.
//!
//! Invariants: the endpoints of a level in the chain do not decrease; a bridge's rank is at most the number of
//! endpoints of the level it leads to. A level that breaks the first (a MANIFEST opened without consistency checks) and
//! levels more than 15 above the deepest are not in the chain, and are searched by full keys: see [`FileIndex::plain`].

mod build;
mod heads;
mod level0;
mod parent;
mod search;
#[cfg(test)]
mod tests;

use super::FileMetadata;
use ferrock_base::Comparator;
use heads::{Heads, bound};
pub(crate) use search::KeyLocation;
use std::sync::Arc;

/// Sorted levels in a chain.
pub(crate) const MAX_SORTED: usize = 16;
/// Set in a bridge: the window is not empty.
const WINDOW: u32 = 1 << 31;
/// Files of level 0 that masks are kept for.
const MAX_MASKED: usize = 64;

/// One level of the chain: where its arrays lie, in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Step {
    /// Leads here from a level before.
    bridge: u32,
    heads: u32,
    /// Endpoints.
    len: u32,
    level: u8,
    /// The level that the bridge leads from.
    parent: u8,
    /// Eight-byte words per head: 0 (custom order), 1 or 2.
    width: u8,
}

/// Level 0 as the index has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Newest {
    /// No files.
    #[default]
    Empty,
    /// Up to 64 files.
    Masked { step: Step, sources: u32, masks: u32 },
    /// More files, in an order with heads.
    Bounds { offset: u32 },
    /// More files, in a custom order.
    Plain,
}

/// A first guess at where a head lies in the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Radix {
    offset: u32,
    /// 0: there is none.
    buckets: u32,
    shift: u8,
    min: u64,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileIndex {
    words: Box<[u32]>,
    steps: [Step; MAX_SORTED],
    num_steps: u8,
    newest: Newest,
    /// Levels with files that are not in the chain, as bits.
    plain: u64,
    radix: Radix,
    /// Bytes that all endpoints share, its first eight as a head, and which bits of that count.
    prefix_len: u32,
    prefix: u64,
    prefix_mask: u64,
    /// All ones for the reverse order.
    flip: u64,
}

impl FileIndex {
    /// Bytes of the allocation.
    #[must_use]
    pub(crate) fn size_bytes(&self) -> usize {
        self.words.len() * size_of::<u32>()
    }

    #[inline]
    fn steps(&self) -> &[Step] {
        self.steps.get(..usize::from(self.num_steps)).unwrap_or_default()
    }

    #[inline]
    fn heads(&self, step: &Step) -> Heads<'_> {
        Heads::new(self.words.get(step.heads as usize..).unwrap_or_default(), step.len, step.width)
    }

    /// The endpoints of a step as full keys.
    #[inline]
    fn endpoints<'a>(&'a self, step: &Step, files: &'a [Arc<FileMetadata>]) -> Endpoints<'a> {
        let sources = match self.newest {
            Newest::Masked { step: newest, sources, .. } if step.level == 0 => {
                self.words.get(sources as usize..(sources + newest.len) as usize)
            }
            _ => None,
        };
        Endpoints { files, sources }
    }
}

/// The endpoints of a level as full keys.
#[derive(Clone, Copy)]
struct Endpoints<'a> {
    files: &'a [Arc<FileMetadata>],
    /// Level 0: which bound of which file each endpoint is.
    sources: Option<&'a [u32]>,
}

impl<'a> Endpoints<'a> {
    fn sorted(files: &'a [Arc<FileMetadata>]) -> Self {
        Self { files, sources: None }
    }

    fn len(&self) -> usize {
        self.sources.map_or(2 * self.files.len(), <[u32]>::len)
    }

    fn key(&self, index: usize) -> &'a [u8] {
        let index = self.sources.map_or(index, |sources| sources.get(index).map_or(usize::MAX, |&at| at as usize));
        self.files.get(index / 2).map_or(&[], |file| bound(file, index))
    }

    /// How many of the endpoints from `low` to before `high` are below `key`, added to `low`.
    fn rank_within(&self, order: &Comparator, key: &[u8], mut low: usize, mut high: usize) -> usize {
        while low < high {
            let middle = low + (high - low) / 2;
            if order.compare(self.key(middle), key).is_lt() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}
