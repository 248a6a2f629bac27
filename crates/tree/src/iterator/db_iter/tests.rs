use super::super::model::{History, ModelChild, children, key_bytes};
use super::*;
use ferrock_base::comparator::InternalComparator;
use ferrock_base::merge::StringAppend;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound;

type Entry = Option<(Vec<u8>, Vec<u8>)>;

fn options(snapshot: u64) -> DbIteratorOptions {
    options_of(ReadView::UpTo(SequenceNumber(snapshot)))
}

fn options_of(view: ReadView) -> DbIteratorOptions {
    DbIteratorOptions {
        merge_operator: Some(Arc::new(StringAppend::default())),
        ..DbIteratorOptions::new(Comparator::Bytewise, view)
    }
}

fn current(iter: &DbIterator<ModelChild, ()>) -> Entry {
    iter.status().unwrap();
    iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec()))
}

/// The same moves over the expected contents.
struct Naive {
    state: BTreeMap<Vec<u8>, Vec<u8>>,
    at: Option<Vec<u8>>,
}

impl Naive {
    fn go(&mut self, found: Option<Vec<u8>>) {
        self.at = found;
    }
    fn seek(&mut self, key: &[u8]) {
        self.go(self.state.range(key.to_vec()..).next().map(|(key, _)| key.clone()));
    }
    fn seek_for_prev(&mut self, key: &[u8]) {
        self.go(self.state.range(..=key.to_vec()).next_back().map(|(key, _)| key.clone()));
    }
    fn next(&mut self) {
        let Some(at) = self.at.take() else { return };
        self.go(self.state.range((Bound::Excluded(at), Bound::Unbounded)).next().map(|(key, _)| key.clone()));
    }
    fn prev(&mut self) {
        let Some(at) = self.at.take() else { return };
        self.go(self.state.range(..at).next_back().map(|(key, _)| key.clone()));
    }
    fn current(&self) -> Entry {
        self.at.clone().map(|key| (key.clone(), self.state[&key].clone()))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn reads_like_a_map(
        history in History::strategy(24, 120),
        cuts in prop::collection::vec(any::<usize>(), 0..7),
        per_file in 1usize..10,
        snapshot in 0u64..130,
        hidden in prop::collection::vec(any::<usize>(), 0..40),
        bounds in (prop::option::of(0u8..24), prop::option::of(0u8..24)),
        max_skip in 0u64..5,
        moves in prop::collection::vec((0u8..14, 0u8..25), 1..60),
    ) {
        let (lower, upper) = (bounds.0.map(key_bytes), bounds.1.map(key_bytes));
        // Half of the histories are read by a view that hides writes.
        let view = match hidden.len() % 2 {
            0 => ReadView::UpTo(SequenceNumber(snapshot)),
            _ => ReadView::Without(SequenceNumber(snapshot), Arc::new(history.some_points(&hidden))),
        };
        let mut state = history.state_in(&view);
        state.retain(|key, _| {
            lower.as_ref().is_none_or(|lower| lower <= key) && upper.as_ref().is_none_or(|upper| key < upper)
        });
        let inner = children(&history, &cuts, per_file, (lower.clone(), upper.clone()));
        let inner = MergingIterator::new(InternalComparator::default(), inner);
        let options = DbIteratorOptions {
            lower_bound: lower,
            upper_bound: upper,
            max_sequential_skip_in_iterations: max_skip,
            ..options_of(view)
        };
        let mut iter = DbIterator::new(inner, options, ());
        let mut naive = Naive { state, at: None };
        for (action, key) in moves {
            let key = key_bytes(key);
            match action {
                0 | 1 => (iter.seek(&key), naive.seek(&key)),
                2 | 3 => (iter.seek_for_prev(&key), naive.seek_for_prev(&key)),
                4 => (iter.seek_to_first(), naive.seek(b"")),
                5 => (iter.seek_to_last(), naive.seek_for_prev(b"zzz")),
                6..=9 => (iter.next(), naive.next()),
                _ => (iter.prev(), naive.prev()),
            };
            prop_assert_eq!(current(&iter), naive.current());
        }
        iter.seek_to_first();
        naive.seek(b"");
        while naive.at.is_some() {
            prop_assert_eq!(current(&iter), naive.current());
            iter.next();
            naive.next();
        }
        prop_assert_eq!(current(&iter), None);
        iter.seek_to_last();
        naive.seek_for_prev(b"zzz");
        while naive.at.is_some() {
            prop_assert_eq!(current(&iter), naive.current());
            iter.prev();
            naive.prev();
        }
        prop_assert_eq!(current(&iter), None);
    }
}

mod scripted;
