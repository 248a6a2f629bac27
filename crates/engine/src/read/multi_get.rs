//! Lookups of many keys at once: sorted, each its own [`GetContext`], asked level by level.

use super::get::GetContext;
use super::pinned::{Pin, PinnedValue};
use crate::blob::FetchBlob;
#[cfg(test)]
use ferrock_base::Error;
use ferrock_base::Result;
use ferrock_base::comparator::Comparator;
use ferrock_base::merge::MergeOperator;

/// The lookups of a batch in key order. Duplicate keys are looked up once.
#[derive(Debug)]
pub struct MultiGetBatch<'a, P: Pin> {
    contexts: Vec<GetContext<'a, P>>,
    /// For each key as the caller gave it, the index of its context.
    slots: Vec<usize>,
}

impl<'a, P: Pin> MultiGetBatch<'a, P> {
    /// Begins the lookup of `keys`, which come in any order. Values in blob files come from `blobs`.
    #[must_use]
    pub fn new(
        order: &Comparator,
        keys: &[&'a [u8]],
        merge_operator: Option<&'a (dyn MergeOperator + 'static)>,
        blobs: Option<&'a dyn FetchBlob>,
    ) -> Self {
        let mut sorted: Vec<usize> = (0..keys.len()).collect();
        sorted.sort_by(|&a, &b| order.compare(keys[a], keys[b]));
        let mut contexts: Vec<GetContext<'a, P>> = Vec::with_capacity(keys.len());
        let mut slots = vec![0; keys.len()];
        for index in sorted {
            if contexts.last().is_none_or(|last| !order.equal(last.user_key(), keys[index])) {
                let context = GetContext::new(keys[index], merge_operator);
                contexts.push(blobs.into_iter().fold(context, GetContext::with_blobs));
            }
            slots[index] = contexts.len() - 1;
        }
        Self { contexts, slots }
    }

    /// The lookups that still need older sources, in key order.
    pub fn pending(&mut self) -> impl Iterator<Item = &mut GetContext<'a, P>> {
        self.contexts.iter_mut().filter(|context| !context.is_done())
    }

    /// True when no source can change any result.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.contexts.iter().all(GetContext::is_done)
    }

    /// Ends every unfinished lookup with `error`.
    #[cfg(test)]
    pub fn fail(&mut self, error: &Error) {
        self.pending().for_each(|context| context.fail(error.clone()));
    }

    /// The results in the order in which the keys were given.
    #[must_use]
    pub fn finish(self) -> Vec<Result<Option<PinnedValue<P>>>> {
        let results: Vec<_> = self.contexts.into_iter().map(GetContext::finish).collect();
        self.slots.iter().map(|&slot| results[slot].clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::types::{SequenceNumber, ValueType};
    use std::sync::Arc;

    #[test]
    fn results_come_in_the_callers_order() {
        let keys: [&[u8]; 4] = [b"c", b"a", b"b", b"c"];
        let mut batch = MultiGetBatch::<Arc<Vec<u8>>>::new(&Comparator::Bytewise, &keys, None, None);
        let asked: Vec<&[u8]> = batch.pending().map(|context| context.user_key()).collect();
        assert_eq!(asked, [&b"a"[..], b"b", b"c"]);
        for context in batch.pending() {
            let (kind, value) = (ValueType::Value, context.user_key().to_vec());
            if value != b"b" {
                context.add(SequenceNumber(1), kind, &value, || None);
            }
        }
        assert!(!batch.is_done());
        batch.fail(&Error::corruption("block"));
        let results = batch.finish();
        assert_eq!(*results[0].as_ref().unwrap().as_ref().unwrap(), b"c");
        assert_eq!(*results[1].as_ref().unwrap().as_ref().unwrap(), b"a");
        assert!(results[2].as_ref().unwrap_err().is_corruption());
        assert_eq!(*results[3].as_ref().unwrap().as_ref().unwrap(), b"c");
    }
}
