//! What a table's range tombstones cover, for compactions that drop what lies under them.
//!
//! ```text
//! fragments of the table   [b, d) [d, g) [g, k)      [p, q)     [t, v) [v, x)
//! runs                     [b               k)       [p  q)     [t         x)     user keys without a gap
//! ```
//!
//! A table that lies under a run as a whole can be dropped; see
//! [`picker`](crate::compaction::picker). A run under which no table lies is forgotten at the first look: all that
//! comes to lie there later is newer, or made of pieces of tables that reached over the end of the run, and those
//! meet the run when its own table is compacted. So a table with many small tombstones is looked at once.
//!
//! The fragments are those of the open table. A table that was closed has none to look at until it is opened again.

use ferrock_base::range_tombstone::FragmentedRangeTombstones;
use ferrock_base::sync::Mutex;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// The runs of one table that may still cover others.
#[derive(Debug)]
pub struct Covers {
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    fragments: Weak<FragmentedRangeTombstones>,
    /// Indexes of fragments; `None` before the first look.
    runs: Option<Vec<Range<usize>>>,
}

impl Covers {
    /// Those of an open table.
    #[must_use]
    pub fn new(fragments: &Arc<FragmentedRangeTombstones>) -> Self {
        Self { held: Mutex::new(Held { fragments: Arc::downgrade(fragments), runs: None }) }
    }

    /// The table was opened again. Runs that were forgotten stay so. `stays`: the table stays open for as long as there
    /// is its file; another counts where no open one is known.
    pub(crate) fn reopened(&self, fragments: &Arc<FragmentedRangeTombstones>, stays: bool) {
        let mut held = self.held.lock();
        if stays || held.fragments.strong_count() == 0 {
            held.fragments = Arc::downgrade(fragments);
        }
    }

    /// Shows each run that is left, as fragments and the indexes of its own among them; it is forgotten where `is_kept`
    /// says false. Nothing is shown of a table that is closed.
    pub(crate) fn look(&self, mut is_kept: impl FnMut(&FragmentedRangeTombstones, &Range<usize>) -> bool) {
        let mut held = self.held.lock();
        if held.runs.as_ref().is_some_and(Vec::is_empty) {
            return;
        }
        let Some(fragments) = held.fragments.upgrade() else { return };
        let runs = held.runs.get_or_insert_with(|| runs_of(&fragments));
        runs.retain(|run| is_kept(&fragments, run));
    }
}

/// Fragments that follow each other without a gap, as many as there are.
fn runs_of(fragments: &FragmentedRangeTombstones) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut end: Option<&[u8]> = None;
    for index in 0..fragments.len() {
        let Some(fragment) = fragments.get(index) else { break };
        match runs.last_mut() {
            Some(run) if end.is_some_and(|end| fragments.comparator().equal(end, fragment.start)) => {
                run.end = index + 1;
            }
            _ => runs.push(index..index + 1),
        }
        end = Some(fragment.end);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::range_tombstone::RangeTombstone;
    use ferrock_base::{Comparator, SequenceNumber};

    fn fragments(list: &[(&str, &str, u64)]) -> Arc<FragmentedRangeTombstones> {
        let tombstones = list.iter().map(|(start, end, sequence)| RangeTombstone {
            start: start.as_bytes().to_vec(),
            end: end.as_bytes().to_vec(),
            sequence: SequenceNumber(*sequence),
        });
        Arc::new(FragmentedRangeTombstones::new(Comparator::Bytewise, tombstones.collect()))
    }

    fn seen(covers: &Covers, kept: &str) -> Vec<String> {
        let mut seen = Vec::new();
        covers.look(|fragments, run| {
            let ends = (fragments.get(run.start).unwrap().start, fragments.get(run.end - 1).unwrap().end);
            seen.push(format!("{}{}", ends.0.escape_ascii(), ends.1.escape_ascii()));
            seen.last().is_some_and(|name| name == kept)
        });
        seen
    }

    #[test]
    fn runs_are_shown_until_they_are_forgotten() {
        let list = fragments(&[("b", "g", 5), ("d", "k", 9), ("p", "q", 1), ("q", "r", 7), ("t", "u", 3)]);
        let covers = Covers::new(&list);
        assert_eq!(seen(&covers, "pr"), ["bk", "pr", "tu"]);
        assert_eq!(seen(&covers, "pr"), ["pr"]);
        // Of a table that is closed there is nothing to see; opened again, what was left.
        drop(list);
        assert_eq!(seen(&covers, ""), Vec::<String>::new());
        let list = fragments(&[("b", "g", 5), ("d", "k", 9), ("p", "q", 1), ("q", "r", 7), ("t", "u", 3)]);
        covers.reopened(&list, false);
        // One that is opened beside it, for a job, and closed again takes nothing away.
        let beside = fragments(&[("b", "g", 5), ("d", "k", 9), ("p", "q", 1), ("q", "r", 7), ("t", "u", 3)]);
        covers.reopened(&beside, false);
        drop(beside);
        assert_eq!(seen(&covers, "pr"), ["pr"]);
        // Of two threads that opened it the first was beside: the table that stays counts.
        let kept = fragments(&[("b", "g", 5), ("d", "k", 9), ("p", "q", 1), ("q", "r", 7), ("t", "u", 3)]);
        covers.reopened(&kept, true);
        drop(list);
        assert_eq!(seen(&covers, ""), ["pr"]);
        assert_eq!(seen(&covers, ""), Vec::<String>::new());
    }
}
