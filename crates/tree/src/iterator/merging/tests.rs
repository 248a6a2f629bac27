use super::super::model::{History, children};
use super::*;
use crate::iterator::ReadSet;
use crate::iterator::SourceIterator;
use ferrock_base::comparator::CustomComparator;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::iterator::{EmptyIterator, VecIterator};
use ferrock_base::types::ValueType;
use ferrock_table::ScanMachine;
use proptest::prelude::*;
use std::sync::Arc;

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn merged(order: &InternalComparator, pieces: &[Entries]) -> MergingIterator<SourceIterator<VecIterator>> {
    let child = |piece: &Entries| {
        SourceIterator::new(VecIterator::new(order.clone(), Arc::new(piece.clone())), order.clone(), None)
    };
    MergingIterator::new(order.clone(), pieces.iter().map(child).collect())
}

fn assert_same(merging: &impl InternalIterator, naive: &impl InternalIterator) {
    assert_eq!(merging.valid(), naive.valid());
    assert_eq!(merging.key().escape_ascii().to_string(), naive.key().escape_ascii().to_string());
    assert_eq!(merging.value(), naive.value());
    assert!(merging.status().is_ok());
}

/// Keys ordered by length first, to have an order that heads know nothing of.
struct ByLength;

impl CustomComparator for ByLength {
    fn name(&self) -> &str {
        "test.ByLength"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.len().cmp(&b.len()).then_with(|| a.cmp(b))
    }
}

fn order_of(kind: u8) -> InternalComparator {
    InternalComparator::new(match kind % 3 {
        0 => Comparator::Bytewise,
        1 => Comparator::ReverseBytewise,
        _ => Comparator::Custom(Arc::new(ByLength)),
    })
}

fn key_strategy() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(0u8..3, 0..4),
        (0u8..5, 0u8..6).prop_map(|(a, b)| [&b"a-long-shared-prefix-"[..], &[a, 0, b]].concat()),
        (0u8..5).prop_map(|a| [&[a][..], &[0xff; 12]].concat()),
    ]
}

proptest! {
    #[test]
    fn merges_like_one_sorted_list(
        kind in 0u8..3,
        keys in prop::collection::vec((key_strategy(), 0usize..4), 0..60),
        moves in prop::collection::vec((0u8..10, key_strategy(), 0u64..70), 1..80),
    ) {
        let order = order_of(kind);
        let mut pieces = vec![Entries::new(); 4];
        let mut all = Entries::new();
        for (index, (key, piece)) in keys.iter().enumerate() {
            let key = make_internal_key(key, SequenceNumber(index as u64), ValueType::Value);
            let entry = (key, format!("{index}").into_bytes());
            pieces[*piece].push(entry.clone());
            all.push(entry);
        }
        for list in pieces.iter_mut().chain([&mut all]) {
            list.sort_by(|a, b| order.compare(&a.0, &b.0));
        }
        let mut merging = merged(&order, &pieces);
        let mut naive = VecIterator::new(order.clone(), Arc::new(all));
        for (action, key, sequence) in moves {
            let target = make_internal_key(&key, SequenceNumber(sequence), ValueType::FOR_SEEK);
            match action {
                0 => (merging.seek(&target), naive.seek(&target)),
                1 => (merging.seek_for_prev(&target), naive.seek_for_prev(&target)),
                2 => (merging.seek_to_first(), naive.seek_to_first()),
                3 => (merging.seek_to_last(), naive.seek_to_last()),
                4..=6 => (merging.next(), naive.next()),
                _ => (merging.prev(), naive.prev()),
            };
            assert_same(&merging, &naive);
        }
    }

    #[test]
    fn sees_every_entry_of_tables_and_levels(
        history in History::strategy(12, 60),
        cuts in prop::collection::vec(any::<usize>(), 0..6),
        per_file in 1usize..8,
        moves in prop::collection::vec((0u8..8, 0u8..12, 0u64..70), 1..60),
    ) {
        let order = InternalComparator::default();
        let mut merging = MergingIterator::new(order.clone(), children(&history, &cuts, per_file, (None, None)));
        let mut naive = VecIterator::new(order, Arc::new(history.source(0, history.0.len()).0));
        for (action, key, sequence) in moves {
            let key = super::super::model::key_bytes(key);
            let target = make_internal_key(&key, SequenceNumber(sequence), ValueType::FOR_SEEK);
            match action {
                0 => (merging.seek(&target), naive.seek(&target)),
                1 => (merging.seek_for_prev(&target), naive.seek_for_prev(&target)),
                2..=4 => (merging.next(), naive.next()),
                _ => (merging.prev(), naive.prev()),
            };
            assert_same(&merging, &naive);
        }
    }
}

#[test]
fn equal_keys_come_newest_child_first() {
    let order = InternalComparator::default();
    let key = make_internal_key(b"k", SequenceNumber(1), ValueType::Value);
    let piece = |value: &[u8]| vec![(key.clone(), value.to_vec())];
    let mut iter = merged(&order, &[piece(b"new"), piece(b"old")]);
    iter.seek_to_first();
    assert_eq!(iter.value(), b"new");
    iter.next();
    assert_eq!(iter.value(), b"old");
    iter.prev();
    assert_eq!(iter.value(), b"new");
    iter.next();
    assert_eq!(iter.value(), b"old");
    iter.next();
    assert!(!iter.valid());
    iter.seek_to_last();
    assert_eq!(iter.value(), b"old");
    iter.prev();
    assert_eq!(iter.value(), b"new");
    iter.seek_to_last();
    iter.next();
    assert!(!iter.valid(), "turning round does not repeat the newer child's entry");
    iter.seek_to_first();
    iter.prev();
    assert!(!iter.valid(), "nor the older child's");
}

/// Fails behind its first entry.
struct Breaking {
    inner: VecIterator,
    broken: bool,
}

impl InternalIterator for Breaking {
    fn valid(&self) -> bool {
        !self.broken && self.inner.valid()
    }
    fn key(&self) -> &[u8] {
        self.inner.key()
    }
    fn value(&self) -> &[u8] {
        self.inner.value()
    }
    fn seek_to_first(&mut self) {
        self.broken = false;
        self.inner.seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.broken = true;
    }
    fn seek(&mut self, target: &[u8]) {
        self.broken = false;
        self.inner.seek(target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.inner.seek_for_prev(target);
    }
    fn next(&mut self) {
        self.broken = true;
    }
    fn prev(&mut self) {
        self.broken = true;
    }
    fn status(&self) -> Result<()> {
        if self.broken { Err(Error::corruption("broken block")) } else { Ok(()) }
    }
}

#[test]
fn a_lost_child_is_an_error_not_an_end() {
    let order = InternalComparator::default();
    let entries = |keys: &[u8]| -> Arc<Entries> {
        let entry = |key: &u8| (make_internal_key(&[*key], SequenceNumber(1), ValueType::Value), Vec::new());
        Arc::new(keys.iter().map(entry).collect())
    };
    let child = |keys: &[u8], breaks: bool| {
        let inner = VecIterator::new(order.clone(), entries(keys));
        let empty = VecIterator::new(order.clone(), Arc::default());
        let inner = if keys.is_empty() { empty } else { inner };
        SourceIterator::new(Breaking { inner, broken: breaks }, order.clone(), None)
    };
    let mut iter = MergingIterator::new(order.clone(), vec![child(b"bc", false), child(b"a", false)]);
    iter.seek_to_first();
    assert!(iter.valid());
    iter.next();
    assert!(!iter.valid());
    assert!(iter.status().unwrap_err().is_corruption());
    iter.seek_to_first();
    assert!(iter.valid() && iter.status().is_ok());
    let failed = EmptyIterator::with_error(Error::corruption("table"));
    let mut iter = MergingIterator::new(order.clone(), vec![SourceIterator::new(failed, order, None)]);
    iter.seek_to_first();
    assert!(iter.status().unwrap_err().is_corruption());
}

/// A source whose file answers every read with `TryAgain`.
struct Refusing;

impl InternalIterator for Refusing {
    fn valid(&self) -> bool {
        false
    }
    fn key(&self) -> &[u8] {
        &[]
    }
    fn value(&self) -> &[u8] {
        &[]
    }
    fn seek_to_first(&mut self) {}
    fn seek_to_last(&mut self) {}
    fn seek(&mut self, _: &[u8]) {}
    fn seek_for_prev(&mut self, _: &[u8]) {}
    fn next(&mut self) {}
    fn prev(&mut self) {}
    fn status(&self) -> Result<()> {
        Err(Error::new(ferrock_base::ErrorKind::TryAgain, "the device is busy"))
    }
}

impl ScanMachine for Refusing {}

impl TombstoneIterator for Refusing {
    fn has_range_tombstones(&self) -> bool {
        false
    }
    fn covering_sequence(&self, _: &[u8], _: SequenceNumber) -> Option<SequenceNumber> {
        None
    }
    fn covered_until(&self, _: &[u8], _: SequenceNumber, _: &mut Vec<u8>) -> bool {
        false
    }
    fn covered_from(&self, _: &[u8], _: SequenceNumber, _: &mut Vec<u8>) -> bool {
        false
    }
}

#[test]
fn a_merge_that_does_not_pause_fails_with_what_its_child_fails_with() {
    let mut merging = MergingIterator::new(InternalComparator::default(), vec![Refusing]);
    merging.set_pausing(true);
    merging.seek_to_first();
    let mut needs = ReadSet::default();
    merging.needs(&mut needs, |child| child);
    assert!(merging.is_paused() && needs.is_empty());
    // As `Cursor::fill_blocking`.
    merging.set_pausing(false);
    merging.resume();
    assert!(merging.status().is_err());
    assert!(!merging.is_paused(), "a batch that a thread fills ends without an error where the iterator is paused");
}
