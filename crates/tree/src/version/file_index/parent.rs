//! Which level the bridge to a level leads from.
//!
//! That of the level before in the chain is the smallest, and where all levels spread over the same keys it is as good
//! as any. But a level may be crowded into a corner, such as what is left of a level that is being emptied:
//!
//! ```text
//! root          e e e e e e e e e e e e e e e e e e e e e e e e
//! next level      f     f       f      f     f      f     f
//! a remnant     ggggggg
//! last level      h         h          h        h         h
//! ```
//!
//! Behind the last `g` a bridge from the remnant does not narrow the search: all of the last level is one window. So a
//! few endpoints of the root are used as sample keys, and the earlier level is chosen whose windows cost these samples
//! least. The choice does not change the result of a search.

use super::heads::Heads;
use super::{Endpoints, FileIndex, Step};
use crate::version::version::LevelFiles;
use ferrock_base::Comparator;

/// Number of endpoints of the root used as samples.
const SAMPLES: usize = 16;
/// Cost of entering a window, in comparisons.
const ENTERING: u32 = 4;
/// Comparisons of all samples together that a level before the last must save: its bridge is larger, and so less often
/// in a processor's cache.
const WORTHWHILE: u32 = 24;

/// Chooses for one index.
pub(super) struct Parents<'a> {
    order: &'a Comparator,
    levels: &'a [LevelFiles],
    /// Words that bridges may still take beyond those of a plain chain.
    spare: usize,
}

impl<'a> Parents<'a> {
    /// At most a byte per file and four kilobytes go into larger bridges.
    pub(super) fn new(order: &'a Comparator, levels: &'a [LevelFiles], files: usize) -> Self {
        Self { order, levels, spare: files / 4 + 1024 }
    }

    /// The step that the bridge to `to`, whose heads are in `words` already, leads from: one of those that `index` has.
    pub(super) fn choose(
        &mut self,
        index: &FileIndex,
        words: &[u32],
        to: &Step,
        sources: Option<&[u32]>,
    ) -> Option<Step> {
        let (root, last) = (index.steps().first()?, index.steps().last()?);
        let view = |step: &Step, sources| View {
            heads: Heads::new(words.get(step.heads as usize..).unwrap_or_default(), step.len, step.width),
            endpoints: Endpoints {
                files: self.levels.get(usize::from(step.level)).map_or(&[], |files| files),
                sources,
            },
            len: step.len as usize,
        };
        let (root, target) = (view(root, None), view(to, sources));
        let more_than_last = |step: &Step| (step.len - last.len.min(step.len)) as usize;
        let mut best = (last, u32::MAX);
        for step in index.steps().iter().rev().filter(|step| more_than_last(step) <= self.spare) {
            if best.1 == 0 || index.steps().len() == 1 {
                break;
            }
            let cost = self.cost(&root, &view(step, None), &target);
            if cost.saturating_add(WORTHWHILE) <= best.1 {
                best = (step, cost);
            }
        }
        self.spare -= more_than_last(best.0);
        Some(*best.0)
    }

    /// The cost of a bridge's windows for the samples.
    fn cost(&self, root: &View<'_>, from: &View<'_>, to: &View<'_>) -> u32 {
        let sample = |number: usize| {
            let rank = self.rank(from, root, (2 * number + 1) * root.len / (2 * SAMPLES));
            let low = rank.checked_sub(1).map_or(0, |before| self.rank(to, from, before));
            let high = if rank < from.len { self.rank(to, from, rank) } else { to.len };
            match high.saturating_sub(low) {
                0 => 0,
                window => ENTERING + window.ilog2(),
            }
        };
        (0..SAMPLES).map(sample).sum()
    }

    /// The endpoints of `view` below endpoint `at` of `of`, by the first eight bytes where there are some.
    fn rank(&self, view: &View<'_>, of: &View<'_>, at: usize) -> usize {
        let Some(head) = of.heads.first(at) else {
            return view.endpoints.rank_within(self.order, of.endpoints.key(at), 0, view.len);
        };
        let (mut low, mut high) = (0, view.len);
        while low < high {
            let middle = low + (high - low) / 2;
            if view.heads.first(middle).is_some_and(|other| other < head) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// The endpoints of a level that is being indexed.
struct View<'a> {
    heads: Heads<'a>,
    endpoints: Endpoints<'a>,
    len: usize,
}
