//! Lookups of many keys at once: sorted, each its own [`GetContext`].
//!
//! ```text
//! keys as given    c a b c
//! slots            2 0 1 2
//! lookups          a b c         sorted, each once; contexts[i] is the state of lookups[i]
//! ```

use super::get::GetContext;
use super::pinned::{Pin, PinnedValue};
use super::view::ReadView;
use ferrock_base::comparator::Comparator;
use ferrock_base::merge::MergeOperator;
use ferrock_base::{LookupKey, Result};

/// The lookups of a batch in key order. Duplicate keys are looked up once.
#[derive(Debug)]
pub struct MultiGetBatch<'a, P: Pin> {
    lookups: Vec<LookupKey>,
    contexts: Vec<GetContext<'a, P>>,
    /// For each key as the caller gave it, the index of its lookup.
    slots: Vec<usize>,
}

impl<'a, P: Pin> MultiGetBatch<'a, P> {
    /// Begins the lookup of `keys`, which come in any order, as `view` sees them.
    #[must_use]
    pub fn new(
        order: &Comparator,
        keys: &[&'a [u8]],
        view: &ReadView,
        merge_operator: Option<&'a (dyn MergeOperator + 'static)>,
    ) -> Self {
        let mut sorted: Vec<usize> = (0..keys.len()).collect();
        sorted.sort_by(|&a, &b| order.compare(keys[a], keys[b]));
        let mut lookups: Vec<LookupKey> = Vec::with_capacity(keys.len());
        let mut contexts: Vec<GetContext<'a, P>> = Vec::with_capacity(keys.len());
        let mut slots = vec![0; keys.len()];
        for index in sorted {
            if lookups.last().is_none_or(|last| !order.equal(last.user_key(), keys[index])) {
                lookups.push(LookupKey::new(keys[index], view.newest()));
                contexts.push(GetContext::new(keys[index], view.clone(), merge_operator));
            }
            slots[index] = lookups.len() - 1;
        }
        Self { lookups, contexts, slots }
    }

    /// The keys, sorted, and how far each has come. The two have the same length.
    pub fn parts(&mut self) -> (&[LookupKey], &mut [GetContext<'a, P>]) {
        (&self.lookups, &mut self.contexts)
    }

    /// The keys, sorted, how far each has come, and for each key as it was given the index of its lookup.
    pub fn into_parts(self) -> (Vec<LookupKey>, Vec<GetContext<'a, P>>, Vec<usize>) {
        (self.lookups, self.contexts, self.slots)
    }

    /// The results in the order in which the keys were given. `fetch` is asked for blobs, by key and index.
    #[must_use]
    pub fn finish(self, fetch: impl Fn(&[u8], &[u8]) -> Result<PinnedValue<P>>) -> Vec<Result<Option<PinnedValue<P>>>> {
        let finish = |mut context: GetContext<'_, P>| {
            let user_key = context.user_key();
            context.fetch_blob(|index| fetch(user_key, index));
            context.finish()
        };
        in_callers_order(self.contexts.into_iter().map(finish).collect(), &self.slots)
    }
}

/// The results of sorted lookups, each key once, in the order in which the keys were given.
pub fn in_callers_order<P: Pin>(
    mut results: Vec<Result<Option<PinnedValue<P>>>>,
    slots: &[usize],
) -> Vec<Result<Option<PinnedValue<P>>>> {
    let has_duplicates = results.len() < slots.len();
    let mut take = |slot: usize| match has_duplicates {
        true => results[slot].clone(),
        false => std::mem::replace(&mut results[slot], Ok(None)),
    };
    slots.iter().map(|&slot| take(slot)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::Error;
    use ferrock_base::types::{SequenceNumber, ValueType};
    use std::sync::Arc;

    #[test]
    fn results_come_in_the_callers_order() {
        let keys: [&[u8]; 4] = [b"c", b"a", b"b", b"c"];
        let at = ReadView::UpTo(SequenceNumber(9));
        let mut batch = MultiGetBatch::<Arc<Vec<u8>>>::new(&Comparator::Bytewise, &keys, &at, None);
        let (lookups, contexts) = batch.parts();
        assert_eq!(lookups.iter().map(LookupKey::user_key).collect::<Vec<_>>(), [&b"a"[..], b"b", b"c"]);
        for context in contexts {
            let (kind, value) = (ValueType::Value, context.user_key().to_vec());
            if value != b"b" {
                context.add(SequenceNumber(1), kind, &value, || None);
            }
        }
        batch.parts().1[1].fail(Error::corruption("block"));
        let results = batch.finish(|_, _| Err(Error::corruption("there are no blobs")));
        assert_eq!(*results[0].as_ref().unwrap().as_ref().unwrap(), b"c");
        assert_eq!(*results[1].as_ref().unwrap().as_ref().unwrap(), b"a");
        assert!(results[2].as_ref().unwrap_err().is_corruption());
        assert_eq!(*results[3].as_ref().unwrap().as_ref().unwrap(), b"c");
    }
}
