//! A database as a list of writes: a naive oracle of what every reader must see, and the sources that hold the writes.

use super::child::ChildIterator;
use super::level::{LevelSource, OpenedTable};
use super::range_tombstones::RangeTombstoneSource;
use super::source::SourceIterator;
use crate::read::ReadView;
use ferrock_base::Result;
use ferrock_base::comparator::{Comparator, InternalComparator};
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::iterator::VecIterator;
use ferrock_base::merge::{MergeOperator, StringAppend};
use ferrock_base::range_tombstone::{FragmentedRangeTombstones, RangeTombstone};
use ferrock_base::types::{SequenceNumber, ValueType};
use ferrock_table::ScanBounds;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Write {
    Put(u8),
    Delete(u8),
    SingleDelete(u8),
    Merge(u8),
    DeleteRange(u8, u8),
}

/// Sorted entries of one source.
pub(crate) type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Writes in order: the first has sequence number 1.
#[derive(Clone, Debug)]
pub(crate) struct History(pub Vec<Write>);

pub(crate) fn key_bytes(key: u8) -> Vec<u8> {
    // Several lengths, shared prefixes, and a range of first bytes.
    match key % 3 {
        0 => vec![b'k', key],
        1 => vec![b'k', key, 0],
        _ => [b"k".as_slice(), &[key], b"-a-longer-tail-of-the-key"].concat(),
    }
}

fn value_bytes(sequence: usize) -> Vec<u8> {
    format!("v{sequence}").into_bytes()
}

impl History {
    /// A history that respects the contract of single deletes: each follows exactly one put since the last tombstone.
    pub(crate) fn strategy(keys: u8, writes: usize) -> impl Strategy<Value = History> {
        let write = prop_oneof![
            5 => (0..keys).prop_map(Write::Put),
            2 => (0..keys).prop_map(Write::Delete),
            2 => (0..keys).prop_map(Write::SingleDelete),
            4 => (0..keys).prop_map(Write::Merge),
            1 => (0..keys, 0..keys).prop_map(|(a, b)| Write::DeleteRange(a.min(b), a.max(b))),
        ];
        prop::collection::vec(write, 0..writes).prop_map(|writes| History(writes).with_legal_single_deletes())
    }

    /// Keys of the upper half are only ever put and single-deleted, in turn; the others never single-deleted.
    fn with_legal_single_deletes(self) -> Self {
        let mut live: BTreeMap<u8, bool> = BTreeMap::new();
        let fixed = self.0.into_iter().map(|write| match write {
            Write::SingleDelete(key) | Write::Put(key) if key % 2 == 1 => {
                let live = live.entry(key).or_default();
                *live = !*live;
                if *live { Write::Put(key) } else { Write::SingleDelete(key) }
            }
            Write::SingleDelete(key) => Write::Delete(key),
            Write::Delete(key) | Write::Merge(key) if key % 2 == 1 => Write::Delete(key - 1),
            write => write,
        });
        Self(fixed.collect())
    }

    /// What a reader at `snapshot` reads.
    pub(crate) fn state_at(&self, snapshot: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
        self.state_in(&ReadView::UpTo(SequenceNumber(snapshot)))
    }

    /// The sequence numbers of some writes of single keys.
    pub(crate) fn some_points(&self, picks: &[usize]) -> BTreeSet<u64> {
        let points = (0..self.0.len()).filter(|&index| !matches!(self.0[index], Write::DeleteRange(..)));
        let points: Vec<u64> = points.map(|index| index as u64 + 1).collect();
        picks.iter().filter_map(|pick| points.get(pick % points.len().max(1)).copied()).collect()
    }

    /// What a reader with this view reads.
    pub(crate) fn state_in(&self, view: &ReadView) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let operator = StringAppend::default();
        let mut state = BTreeMap::new();
        for (index, write) in self.0.iter().enumerate() {
            let sequence = index + 1;
            if !view.sees(SequenceNumber(sequence as u64)) {
                continue;
            }
            match write {
                Write::Put(key) => drop(state.insert(key_bytes(*key), value_bytes(sequence))),
                Write::Delete(key) | Write::SingleDelete(key) => drop(state.remove(&key_bytes(*key))),
                Write::Merge(key) => {
                    let key = key_bytes(*key);
                    let mut merged = Vec::new();
                    let existing: Option<&[u8]> = state.get(&key).map(Vec::as_slice);
                    operator.full_merge(&key, existing, &[&value_bytes(sequence)], &mut merged);
                    state.insert(key, merged);
                }
                Write::DeleteRange(start, end) => {
                    let (start, end) = (key_bytes(*start), key_bytes(*end));
                    state.retain(|key, _| !(start <= *key && *key < end));
                }
            }
        }
        state
    }

    /// The entries and tombstones of the writes `from..to`, as a memtable or table of them has.
    pub(crate) fn source(&self, from: usize, to: usize) -> (Entries, Vec<RangeTombstone>) {
        let (mut entries, mut tombstones) = (Entries::new(), Vec::new());
        for (index, write) in self.0.iter().enumerate().take(to).skip(from) {
            let sequence = SequenceNumber(index as u64 + 1);
            let mut entry = |key: &u8, value_type, value| {
                entries.push((make_internal_key(&key_bytes(*key), sequence, value_type), value));
            };
            match write {
                Write::Put(key) => entry(key, ValueType::Value, value_bytes(index + 1)),
                Write::Delete(key) => entry(key, ValueType::Deletion, Vec::new()),
                Write::SingleDelete(key) => entry(key, ValueType::SingleDeletion, Vec::new()),
                Write::Merge(key) => entry(key, ValueType::Merge, value_bytes(index + 1)),
                Write::DeleteRange(start, end) => {
                    tombstones.push(RangeTombstone { start: key_bytes(*start), end: key_bytes(*end), sequence });
                }
            }
        }
        let order = InternalComparator::default();
        entries.sort_by(|a, b| order.compare(&a.0, &b.0));
        tombstones.retain(|tombstone| tombstone.start < tombstone.end);
        (entries, tombstones)
    }
}

/// A file of a level in memory.
#[derive(Clone, Debug)]
pub(crate) struct ModelFile {
    pub smallest: Vec<u8>,
    pub largest: Vec<u8>,
    pub entries: Arc<Entries>,
    pub tombstones: Arc<FragmentedRangeTombstones>,
}

impl ModelFile {
    pub(crate) fn source(&self) -> RangeTombstoneSource {
        RangeTombstoneSource::truncated(self.tombstones.clone(), &self.smallest, &self.largest)
    }
}

/// A level in memory.
#[derive(Clone, Debug)]
pub(crate) struct ModelLevel(pub Arc<Vec<ModelFile>>);

impl LevelSource for ModelLevel {
    type Iter = VecIterator;
    fn file_count(&self) -> usize {
        self.0.len()
    }
    fn smallest(&self, index: usize) -> &[u8] {
        &self.0[index].smallest
    }
    fn largest(&self, index: usize) -> &[u8] {
        &self.0[index].largest
    }
    fn open(&self, index: usize) -> Result<OpenedTable<VecIterator>> {
        let file = &self.0[index];
        let iter = VecIterator::new(InternalComparator::default(), file.entries.clone());
        Ok(OpenedTable { iter, tombstones: Some(file.tombstones.clone()) })
    }
}

pub(crate) type ModelChild = ChildIterator<VecIterator, ModelLevel>;

pub(crate) fn fragmented(tombstones: Vec<RangeTombstone>) -> Arc<FragmentedRangeTombstones> {
    Arc::new(FragmentedRangeTombstones::new(Comparator::Bytewise, tombstones))
}

/// Cuts a sorted run into files of `per_file` entries, with the boundaries that a compaction would give them.
pub(crate) fn split_into_files(entries: &Entries, tombstones: &[RangeTombstone], per_file: usize) -> Vec<ModelFile> {
    use crate::compaction::iterator::{boundary_between, output_contents};
    let order = InternalComparator::default();
    let fragments = fragmented(tombstones.to_vec());
    let surviving: Vec<RangeTombstone> = fragments
        .iter()
        .flat_map(|f| {
            f.sequences.iter().map(move |&sequence| RangeTombstone {
                start: f.start.to_vec(),
                end: f.end.to_vec(),
                sequence,
            })
        })
        .collect();
    let mut chunks: Vec<&[(Vec<u8>, Vec<u8>)]> = entries.chunks(per_file.max(1)).collect();
    if chunks.is_empty() {
        chunks.push(&[]);
    }
    let mut files = Vec::new();
    let mut lower: Option<Vec<u8>> = None;
    for (index, chunk) in chunks.iter().enumerate() {
        let points = chunk.first().zip(chunk.last()).map(|(first, last)| (&first.0[..], &last.0[..]));
        let next = chunks.get(index + 1).and_then(|next| next.first());
        let upper = points.zip(next).map(|((_, last), next)| boundary_between(&order, last, &next.0));
        let contents = output_contents(&order, &surviving, points, lower.as_deref(), upper.as_deref());
        if let (Some(smallest), Some(largest)) = (contents.smallest, contents.largest) {
            let tombstones = fragmented(contents.tombstones);
            files.push(ModelFile { smallest, largest, entries: Arc::new(chunk.to_vec()), tombstones });
        }
        lower = upper;
    }
    for pair in files.windows(2) {
        assert!(order.compare(&pair[0].largest, &pair[1].smallest).is_lt(), "files overlap: {pair:?}");
    }
    files
}

/// The history as children, newest first: the newest piece a memtable, then single tables, the oldest a level.
pub(crate) fn children(
    history: &History,
    cuts: &[usize],
    per_file: usize,
    bounds: (Option<Vec<u8>>, Option<Vec<u8>>),
) -> Vec<ModelChild> {
    let order = InternalComparator::default();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (history.0.len() + 1)).collect();
    cuts.extend([0, history.0.len()]);
    cuts.sort_unstable();
    let mut children = Vec::new();
    for (age, piece) in cuts.windows(2).enumerate() {
        let (entries, tombstones) = history.source(piece[0], piece[1]);
        // Several levels at the bottom, tables above, one memtable on top.
        if age < cuts.len() / 2 {
            let files = ModelLevel(Arc::new(split_into_files(&entries, &tombstones, per_file)));
            children.push(ChildIterator::Level(super::level::LevelIterator::new(
                files,
                order.clone(),
                Arc::new(ScanBounds::new(bounds.0.clone(), bounds.1.clone())),
            )));
            continue;
        }
        let iter = VecIterator::new(order.clone(), Arc::new(entries));
        let source = SourceIterator::new(iter, order.clone(), Some(RangeTombstoneSource::new(fragmented(tombstones))));
        children.push(if age + 2 == cuts.len() {
            ChildIterator::MemTable(source)
        } else {
            ChildIterator::Table(source)
        });
    }
    children.reverse();
    children
}
