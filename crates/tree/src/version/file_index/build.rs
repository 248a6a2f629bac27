//! Building an index, from scratch or from the index of the version before.
//!
//! A compaction changes a few neighbouring files of two levels. The heads of the files before and behind them are
//! copied, and so are bridges between levels that did not change. An index built so is the same, bit by bit, as one
//! built from scratch: tests compare them.

use super::heads::{HeadMaker, Heads, head_at, push_wide};
use super::parent::Parents;
use super::{Endpoints, FileIndex, MAX_MASKED, MAX_SORTED, Newest, Radix, Step, WINDOW, level0};
use crate::version::FileMetadata;
use crate::version::version::LevelFiles;
use ferrock_base::Comparator;
use std::cmp::Reverse;
use std::sync::Arc;

/// The index of the version before, and its levels.
pub(crate) type Base<'a> = (&'a FileIndex, &'a [LevelFiles]);

/// Endpoints of the root per bucket of the radix, on average at least.
const ENDPOINTS_PER_BUCKET: u32 = 4;
/// A level with fewer endpoints is searched from scratch.
const MIN_RADIX_ENDPOINTS: u32 = 64;
/// More files than ranks have bits for.
const MAX_FILES: usize = 1 << 28;

impl FileIndex {
    /// The index of `levels`.
    pub(crate) fn build(order: &Comparator, levels: &[LevelFiles], base: Option<Base<'_>>) -> Self {
        if let Some((index, old)) = base
            && old.len() == levels.len()
            && old.iter().zip(levels).all(|(old, new)| Arc::ptr_eq(old, new))
        {
            return index.clone();
        }
        Builder::new(order, levels, base).build()
    }
}

struct Builder<'a> {
    order: &'a Comparator,
    levels: &'a [LevelFiles],
    base: Option<Base<'a>>,
    maker: HeadMaker,
    words: Vec<u32>,
    index: FileIndex,
}

/// Files at the beginning and the end of a level that its older state has too.
#[derive(Clone, Copy)]
struct Same {
    first: usize,
    last: usize,
}

impl<'a> Builder<'a> {
    fn new(order: &'a Comparator, levels: &'a [LevelFiles], base: Option<Base<'a>>) -> Self {
        let flip = if matches!(order, Comparator::ReverseBytewise) { u64::MAX } else { 0 };
        let maker = HeadMaker { prefix_len: 0, flip };
        Self { order, levels, base, maker, words: Vec::new(), index: FileIndex { flip, ..FileIndex::default() } }
    }

    fn files(&self, level: u8) -> &'a [Arc<FileMetadata>] {
        self.levels.get(usize::from(level)).map_or(&[], |files| files)
    }

    fn has_heads(&self) -> bool {
        !matches!(self.order, Comparator::Custom(_))
    }

    fn build(mut self) -> FileIndex {
        let chain = self.choose_levels();
        self.set_prefix(&chain);
        let files: usize = chain.iter().map(|&level| self.files(level).len()).sum();
        self.words.reserve(6 * files + files / 4 + 1024);
        let mut parents = Parents::new(self.order, self.levels, files);
        for &level in &chain {
            let mut step = self.push_level(level);
            match parents.choose(&self.index, &self.words, &step, None) {
                Some(parent) => {
                    let known = self.base_bridge(&parent, &step);
                    self.push_bridge(&parent, &mut step, known, None);
                }
                None => self.push_radix(&step),
            }
            self.index.steps[usize::from(self.index.num_steps)] = step;
            self.index.num_steps += 1;
        }
        self.push_newest(&mut parents);
        self.index.words = self.words.into_boxed_slice();
        self.index
    }

    /// The sorted levels of the chain, in its order. The others that have files are noted as plain.
    fn choose_levels(&mut self) -> Vec<u8> {
        let deepest = self.levels.iter().rposition(|files| !files.is_empty()).unwrap_or(0);
        let mut chain = Vec::with_capacity(MAX_SORTED);
        for level in 1..=deepest.min(63) {
            let files = &self.levels[level];
            if files.is_empty() {
                continue;
            }
            if level + MAX_SORTED > deepest && files.len() <= MAX_FILES && self.is_sorted(level as u8) {
                chain.push(level as u8);
            } else {
                self.index.plain |= 1 << level;
            }
        }
        chain.sort_by_key(|&level| Reverse((self.files(level).len(), level)));
        chain
    }

    /// True when the endpoints of a level do not decrease. What did not change since the base is not looked at.
    fn is_sorted(&self, level: u8) -> bool {
        let files = self.files(level);
        let (mut first, mut behind) = (0, files.len());
        if let Some((old, old_files)) = self.base_step(level)
            && old.len > 0
        {
            let same = same(old_files, files);
            first = same.first.saturating_sub(1);
            behind = (files.len() - same.last + 1).min(files.len());
        }
        let order = self.order;
        let is_below = |a: &[u8], b: &[u8]| order.compare(a, b).is_le();
        let changed = &files[first.min(behind)..behind];
        changed.iter().all(|file| is_below(file.smallest_user_key(), file.largest_user_key()))
            && changed.windows(2).all(|pair| is_below(pair[0].largest_user_key(), pair[1].smallest_user_key()))
    }

    /// The step of a level in the base, with the files that the level had.
    fn base_step(&self, level: u8) -> Option<(&'a Step, &'a [Arc<FileMetadata>])> {
        let (index, levels) = self.base?;
        let step = index.steps().iter().find(|step| step.level == level)?;
        Some((step, levels.get(usize::from(level))?))
    }

    fn set_prefix(&mut self, chain: &[u8]) {
        if !self.has_heads() {
            return;
        }
        let ends = chain.iter().flat_map(|&level| {
            let files = self.files(level);
            [files.first().map(|file| file.smallest_user_key()), files.last().map(|file| file.largest_user_key())]
        });
        let newest =
            self.files(0).iter().flat_map(|file| [Some(file.smallest_user_key()), Some(file.largest_user_key())]);
        let mut keys = ends.chain(newest).flatten();
        let Some(first) = keys.next() else { return };
        let prefix = keys.fold(first, |prefix, key| {
            let shared = prefix.iter().zip(key).take_while(|(a, b)| a == b).count();
            &prefix[..shared]
        });
        self.maker.prefix_len = prefix.len();
        self.index.prefix_len = prefix.len() as u32;
        self.index.prefix = head_at(prefix, 0);
        self.index.prefix_mask = match prefix.len() {
            0 => 0,
            len => u64::MAX << (8 * 8_usize.saturating_sub(len)),
        };
        for at in (8..prefix.len()).step_by(8) {
            push_wide(&mut self.words, head_at(prefix, at));
        }
    }

    /// Appends the heads of a level.
    fn push_level(&mut self, level: u8) -> Step {
        let files = self.files(level);
        let heads = self.words.len();
        let mut step = Step { level, len: 2 * files.len() as u32, heads: heads as u32, ..Step::default() };
        if !self.has_heads() {
            return step;
        }
        step.width = 1;
        self.push_heads(&step, files);
        if self.has_too_many_ties(&step) {
            self.words.truncate(heads);
            step.width = 2;
            self.push_heads(&step, files);
        }
        step
    }

    /// True when more than one in eight neighbours have the same eight bytes.
    fn has_too_many_ties(&self, step: &Step) -> bool {
        let heads = Heads::new(&self.words[step.heads as usize..], step.len, step.width);
        8 * heads.ties(step.len as usize) > step.len as usize
    }

    fn push_heads(&mut self, step: &Step, files: &[Arc<FileMetadata>]) {
        let maker = self.maker;
        if let Some((index, _)) = self.base
            && let Some((old, old_files)) = self.base_step(step.level)
            && old.width >= step.width
            && index.prefix_len as usize == maker.prefix_len
        {
            let same = same(old_files, files);
            self.copy_heads(index, old, step.width, 0, same.first);
            maker.push_files(&mut self.words, &files[same.first..files.len() - same.last], step.width);
            self.copy_heads(index, old, step.width, old_files.len() - same.last, same.last);
        } else {
            maker.push_files(&mut self.words, files, step.width);
        }
    }

    /// Appends the heads of `count` files of the base, or the first half of each.
    fn copy_heads(&mut self, index: &FileIndex, old: &Step, width: u8, first: usize, count: usize) {
        let words = 4 * usize::from(old.width);
        let from = old.heads as usize + words * first;
        let heads = index.words.get(from..from + words * count).unwrap_or_default();
        if old.width == width {
            self.words.extend_from_slice(heads);
        } else {
            self.words.extend(heads.as_chunks::<4>().0.iter().flat_map(|head| [head[0], head[1]]));
        }
    }

    /// The bridge between two levels in the base, if neither has changed.
    fn base_bridge(&self, before: &Step, step: &Step) -> Option<&'a [u32]> {
        let (index, levels) = self.base?;
        let old = index.steps().iter().find(|old| (old.parent, old.level) == (before.level, step.level))?;
        let is_same = |level: u8| {
            let level = usize::from(level);
            levels.get(level).zip(self.levels.get(level)).is_some_and(|(old, new)| Arc::ptr_eq(old, new))
        };
        let from = old.bridge as usize;
        (is_same(before.level) && is_same(step.level)).then(|| index.words.get(from..from + bridge_len(before)))?
    }

    /// Appends the bridge that leads from one step to the next: a copy of `known`, or a merge of the two.
    fn push_bridge(&mut self, before: &Step, step: &mut Step, known: Option<&[u32]>, sources: Option<&[u32]>) {
        let start = self.words.len();
        (step.bridge, step.parent) = (start as u32, before.level);
        if let Some(known) = known {
            self.words.extend_from_slice(known);
            return;
        }
        self.words.resize(start + bridge_len(before), 0);
        let above = Endpoints::sorted(self.files(before.level));
        let below = Endpoints { files: self.files(step.level), sources };
        let order = self.order;
        let (words, bridge) = self.words.split_at_mut(start);
        let heads = |step: &Step| Heads::new(&words[step.heads as usize..], step.len, step.width);
        let (a, b) = (heads(before), heads(step));
        let by_keys = |rank: usize, at: usize| order.compare(below.key(rank), above.key(at)).is_lt();
        let lens = (before.len as usize, step.len as usize);
        match (a, b) {
            (Heads::One(a), Heads::One(b)) => merge(bridge, lens, |rank, at| {
                let (head, other) = (super::heads::wide(b[rank]), super::heads::wide(a[at]));
                head < other || head == other && by_keys(rank, at)
            }),
            (Heads::None, _) | (_, Heads::None) => merge(bridge, lens, by_keys),
            _ => merge(bridge, lens, |rank, at| {
                b.compare(rank, &a, at).then_with(|| order.compare(below.key(rank), above.key(at))).is_lt()
            }),
        }
    }

    /// Appends the radix of the root.
    fn push_radix(&mut self, root: &Step) {
        let heads = Heads::new(&self.words[root.heads as usize..], root.len, root.width);
        let len = root.len as usize;
        let (Some(min), Some(max)) = (heads.first(0), heads.first(len.saturating_sub(1))) else { return };
        if root.len < MIN_RADIX_ENDPOINTS || max <= min {
            return;
        }
        let most = u64::from(root.len / ENDPOINTS_PER_BUCKET);
        let shift = (0..64_u8).find(|&shift| (max - min) >> shift < most).unwrap_or(63);
        let buckets = ((max - min) >> shift) as u32 + 1;
        let mut table = Vec::with_capacity(buckets as usize + 1);
        for at in 0..len {
            let bucket = heads.first(at).map_or(0, |head| (head.saturating_sub(min) >> shift) as usize);
            if table.len() <= bucket {
                table.resize(bucket + 1, at as u32);
            }
        }
        table.resize(buckets as usize + 1, root.len);
        self.index.radix = Radix { offset: self.words.len() as u32, buckets, shift, min };
        self.words.extend_from_slice(&table);
    }

    /// Appends what there is for level 0.
    fn push_newest(&mut self, parents: &mut Parents<'_>) {
        let files = self.files(0);
        if files.is_empty() {
            return;
        }
        if files.len() > MAX_MASKED {
            self.index.newest = if self.has_heads() {
                let offset = self.words.len() as u32;
                self.maker.push_files(&mut self.words, files, 1);
                Newest::Bounds { offset }
            } else {
                Newest::Plain
            };
            return;
        }
        let sources = level0::distinct_endpoints(self.order, files);
        let endpoints = Endpoints { files, sources: Some(&sources) };
        let len = sources.len() as u32;
        let mut step = Step { len, heads: self.words.len() as u32, ..Step::default() };
        if self.has_heads() {
            step.width = 1;
            self.push_endpoint_heads(endpoints, 1);
            if self.has_too_many_ties(&step) {
                step.width = 2;
                self.words.truncate(step.heads as usize);
                self.push_endpoint_heads(endpoints, 2);
            }
        }
        if let Some(parent) = parents.choose(&self.index, &self.words, &step, Some(&sources)) {
            self.push_bridge(&parent, &mut step, None, Some(&sources));
        }
        let (at, masks) = (self.words.len(), self.words.len() + sources.len());
        self.words.extend_from_slice(&sources);
        level0::push_masks(&mut self.words, self.order, endpoints);
        self.index.newest = Newest::Masked { step, sources: at as u32, masks: masks as u32 };
    }

    fn push_endpoint_heads(&mut self, endpoints: Endpoints<'_>, width: u8) {
        for at in 0..endpoints.len() {
            self.maker.push(&mut self.words, endpoints.key(at), width);
        }
    }
}

/// Words of a bridge that leads on from a level.
fn bridge_len(before: &Step) -> usize {
    before.len as usize + 2
}

/// Fills a bridge. `is_below` says whether an endpoint of the level it leads to is below one of the level it leads
/// from.
fn merge(bridge: &mut [u32], (len, next_len): (usize, usize), is_below: impl Fn(usize, usize) -> bool) {
    let mut rank = 0;
    for (at, entry) in bridge.iter_mut().take(len).enumerate() {
        let low = rank;
        while rank < next_len && is_below(rank, at) {
            rank += 1;
        }
        *entry = bridge_entry(low, rank > low);
    }
    let guards = bridge.iter_mut().skip(len);
    for (entry, value) in guards.zip([bridge_entry(rank, rank < next_len), bridge_entry(next_len, false)]) {
        *entry = value;
    }
}

fn bridge_entry(rank: usize, has_window: bool) -> u32 {
    rank as u32 | if has_window { WINDOW } else { 0 }
}

fn same(old: &[Arc<FileMetadata>], new: &[Arc<FileMetadata>]) -> Same {
    let first = old.iter().zip(new).take_while(|(old, new)| Arc::ptr_eq(old, new)).count();
    let rest = old[first..].iter().rev().zip(new[first..].iter().rev());
    Same { first, last: rest.take_while(|(old, new)| Arc::ptr_eq(old, new)).count() }
}
