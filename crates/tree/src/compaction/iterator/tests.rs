use super::*;
use crate::iterator::model::{Entries, History, ModelChild, ModelFile, ModelLevel, fragmented};
use crate::iterator::{
    ChildIterator, DbIterator, DbIteratorOptions, LevelIterator, MergingIterator, RangeTombstoneSource, SourceIterator,
};
use crate::read::ReadView;
use ferrock_base::comparator::{Comparator, InternalComparator};
use ferrock_base::internal_key::{ParsedInternalKey, make_internal_key, sequence, user_key};
use ferrock_base::iterator::VecIterator;
use ferrock_base::merge::StringAppend;
use ferrock_base::range_tombstone::RangeTombstone;
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

mod filters;
mod scripted;
mod split;

/// A sorted run of files.
type Run = Vec<ModelFile>;

/// Deeper levels that are known exactly, or (`None`, for a flush) not at all.
#[derive(Clone, Copy, Debug)]
struct Older<'a>(Option<&'a [Run]>);

impl Older<'_> {
    fn files(&self) -> impl Iterator<Item = &ModelFile> {
        self.0.into_iter().flatten().flatten()
    }
}

impl DeeperLevels for Older<'_> {
    fn key_not_exists_beyond_output_level(&mut self, key: &[u8]) -> bool {
        self.0.is_some() && !self.files().any(|file| user_key(&file.smallest) <= key && key <= user_key(&file.largest))
    }
    fn range_not_exists_beyond_output_level(&self, start: &[u8], end: &[u8]) -> bool {
        self.0.is_some()
            && !self.files().any(|file| user_key(&file.smallest) <= end && start <= user_key(&file.largest))
    }
}

fn options(snapshots: &[u64]) -> CompactionIteratorOptions {
    let snapshots = snapshots.iter().map(|&snapshot| SequenceNumber(snapshot)).collect();
    CompactionIteratorOptions {
        merge_operator: Some(Arc::new(StringAppend::default())),
        ..CompactionIteratorOptions::new(InternalComparator::default(), snapshots)
    }
}

fn input_of(files: &[&ModelFile]) -> (MergingIterator<SourceIterator<VecIterator>>, CompactionRangeTombstones) {
    let order = InternalComparator::default();
    let child = |file: &&ModelFile| {
        SourceIterator::new(VecIterator::new(order.clone(), file.entries.clone()), order.clone(), None)
    };
    let input = MergingIterator::new(order.clone(), files.iter().map(child).collect());
    let sources = files.iter().map(|file| file.source()).collect();
    (input, CompactionRangeTombstones::new(order, sources))
}

/// Compacts `files` (newest first) over `older` into a run; parts of the key range apart, split at `parts`.
fn compact(
    files: &[&ModelFile],
    older: Older<'_>,
    options: &CompactionIteratorOptions,
    per_file: usize,
    parts: &[Vec<u8>],
) -> Run {
    let mut run = Run::new();
    let mut read = 0;
    for part in 0..=parts.len() {
        let (input, tombstones) = input_of(files);
        let options = CompactionIteratorOptions {
            start: part.checked_sub(1).map(|before| parts[before].clone()),
            end: parts.get(part).cloned(),
            ..options.clone()
        };
        read += compact_part(CompactionIterator::new(input, tombstones, older, options), older, per_file, &mut run);
    }
    assert_eq!(read, files.iter().map(|file| file.entries.len() as u64).sum::<u64>(), "entries read");
    let order = InternalComparator::default();
    for pair in run.windows(2) {
        assert!(order.compare(&pair[0].largest, &pair[1].smallest).is_lt(), "overlap: {pair:?}");
    }
    run
}

fn compact_part<I: ferrock_base::iterator::InternalIterator>(
    mut iter: CompactionIterator<I, Older<'_>>,
    older: Older<'_>,
    per_file: usize,
    run: &mut Run,
) -> u64 {
    let order = InternalComparator::default();
    let grandparents = older.0.and_then(<[Run]>::first).into_iter().flatten().map(|file| Grandparent {
        smallest: file.smallest.clone(),
        largest: file.largest.clone(),
        size_bytes: 100 * file.entries.len() as u64,
    });
    let target = 100 * per_file as u64;
    let mut splitter = OutputSplitter::new(order.clone(), target, 10 * target, grandparents.collect());
    let mut outputs: Vec<Entries> = vec![Vec::new()];
    let mut last_key: Option<Vec<u8>> = None;
    iter.seek_to_first();
    while iter.valid() {
        assert!(
            last_key.as_ref().is_none_or(|last| order.compare(last, iter.key()).is_lt()),
            "output out of order: {last_key:?} {:?}",
            iter.key()
        );
        last_key = Some(iter.key().to_vec());
        if splitter.should_cut_before(iter.key(), 100 * outputs.last().unwrap().len() as u64) {
            outputs.push(Vec::new());
        }
        outputs.last_mut().unwrap().push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    let surviving = iter.tombstone_fates().surviving;
    let mut lower = iter.options.start.as_deref().map(output_split::sentinel);
    for (index, entries) in outputs.iter().enumerate() {
        let points = entries.first().zip(entries.last()).map(|(first, last)| (&first.0[..], &last.0[..]));
        let upper = match (points, outputs.get(index + 1).and_then(|next| next.first())) {
            (Some((_, last)), Some(next)) => Some(boundary_between(&order, last, &next.0)),
            _ => iter.options.end.as_deref().map(output_split::sentinel),
        };
        let contents = output_contents(&order, &surviving, points, lower.as_deref(), upper.as_deref());
        if let (Some(smallest), Some(largest)) = (contents.smallest, contents.largest) {
            let tombstones = fragmented(contents.tombstones);
            run.push(ModelFile { smallest, largest, entries: Arc::new(entries.clone()), tombstones });
        }
        lower = upper;
    }
    iter.dropped().input_entries
}

fn read_all(runs: &[Run], snapshot: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let order = InternalComparator::default();
    let child = |run: &Run| -> ModelChild {
        ChildIterator::Level(LevelIterator::new(ModelLevel(Arc::new(run.clone())), order.clone(), Arc::default()))
    };
    let merging = MergingIterator::new(order.clone(), runs.iter().map(child).collect());
    let options = DbIteratorOptions {
        merge_operator: Some(Arc::new(StringAppend::default())),
        ..DbIteratorOptions::new(Comparator::Bytewise, ReadView::UpTo(SequenceNumber(snapshot)))
    };
    let mut iter = DbIterator::new(merging, options, ());
    let mut state = BTreeMap::new();
    iter.seek_to_first();
    while iter.valid() {
        assert!(state.insert(iter.key().to_vec(), iter.value().to_vec()).is_none());
        iter.next();
    }
    iter.status().unwrap();
    state
}

/// A memtable's worth of writes as one "file".
fn memtable(history: &History, from: usize, to: usize) -> Run {
    let (entries, tombstones) = history.source(from, to);
    let order = InternalComparator::default();
    let points = entries.first().zip(entries.last()).map(|(first, last)| (&first.0[..], &last.0[..]));
    let contents = output_contents(&order, &tombstones, points, None, None);
    let (Some(smallest), Some(largest)) = (contents.smallest, contents.largest) else { return Run::new() };
    vec![ModelFile { smallest, largest, entries: Arc::new(entries), tombstones: fragmented(tombstones) }]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1200))]
    #[test]
    fn every_snapshot_reads_the_same_after_compactions(
        history in History::strategy(16, 120),
        cuts in prop::collection::vec(any::<usize>(), 0..6),
        snapshots in prop::collection::vec(0u64..130, 0..4),
        steps in prop::collection::vec((any::<usize>(), any::<usize>(), 1usize..12, prop::option::of(0u8..16)), 1..6),
        conflicts in prop::option::of(0u64..130),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (history.0.len() + 1)).collect();
        cuts.extend([0, history.0.len()]);
        cuts.sort_unstable();
        let base = CompactionIteratorOptions {
            earliest_write_conflict_snapshot: conflicts.map_or(MAX_SEQUENCE_NUMBER, SequenceNumber),
            ..options(&snapshots)
        };
        let check = |runs: &[Run]| {
            for &snapshot in snapshots.iter().chain([&MAX_SEQUENCE_NUMBER.0]) {
                prop_assert_eq!(read_all(runs, snapshot), history.state_at(snapshot), "at {}", snapshot);
            }
            Ok(())
        };
        // Newest first; each piece is flushed on its own.
        let mut runs: Vec<Run> = cuts.windows(2).rev().map(|piece| memtable(&history, piece[0], piece[1])).collect();
        check(&runs)?;
        for run in &mut runs {
            let flushed = compact(&run.iter().collect::<Vec<_>>(), Older(None), &base, usize::MAX >> 10, &[]);
            *run = flushed;
        }
        check(&runs)?;
        for (from, count, per_file, part) in steps {
            let from = from % runs.len();
            let to = (from + 1 + count % runs.len()).min(runs.len());
            let options = CompactionIteratorOptions { bottommost: to == runs.len(), ..base.clone() };
            let parts: Vec<Vec<u8>> = part.map(crate::iterator::model::key_bytes).into_iter().collect();
            let files: Vec<&ModelFile> = runs[from..to].iter().flatten().collect();
            let output = compact(&files, Older(Some(&runs[to..])), &options, per_file, &parts);
            runs.splice(from..to, [output]);
            check(&runs)?;
        }
    }

    #[test]
    fn a_full_compaction_without_snapshots_leaves_the_bare_state(
        history in History::strategy(16, 120),
        cuts in prop::collection::vec(any::<usize>(), 0..6),
        per_file in 1usize..12,
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (history.0.len() + 1)).collect();
        cuts.extend([0, history.0.len()]);
        cuts.sort_unstable();
        let runs: Vec<Run> = cuts.windows(2).rev().map(|piece| memtable(&history, piece[0], piece[1])).collect();
        let files: Vec<&ModelFile> = runs.iter().flatten().collect();
        let options = CompactionIteratorOptions { bottommost: true, ..options(&[]) };
        let output = compact(&files, Older(Some(&[])), &options, per_file, &[]);
        let expected: Entries = history
            .state_at(u64::MAX)
            .into_iter()
            .map(|(key, value)| (make_internal_key(&key, SequenceNumber(0), ValueType::Value), value))
            .collect();
        let entries: Entries = output.iter().flat_map(|file| file.entries.iter().cloned()).collect();
        prop_assert_eq!(entries, expected);
        prop_assert!(output.iter().all(|file| file.tombstones.is_empty()));
    }
}
