//! A memtable of any kind against a sorted list.
//!
//! ```text
//! input     | kind and options u8 | bytes of a key u8 | operation ...
//! operation | what u8 | key |           a key has 0 to 3 bytes, of few letters, so that prefixes and keys come again
//! ```

use ferrock_base::comparator::{Comparator, InternalComparator};
use ferrock_base::internal_key::{make_internal_key, trailer, user_key};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{InternalIterator, LookupKey, MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use ferrock_memtable::{MemTable, MemTableIter, MemTableKind, MemTableOptions};
use std::sync::Arc;

struct Tested {
    table: Arc<MemTable>,
    order: InternalComparator,
    /// Internal keys and values, sorted.
    model: Vec<(Vec<u8>, Vec<u8>)>,
    /// Of the newest entry.
    sequence: u64,
    is_concurrent: bool,
}

/// Adds entries, looks keys up and moves iterators, as the input says.
pub fn memtable(data: &[u8]) {
    let [options, letters, operations @ ..] = data else { return };
    let order =
        InternalComparator::new(if options & 4 == 0 { Comparator::Bytewise } else { Comparator::ReverseBytewise });
    let table = Arc::new(MemTable::new(MemTableOptions {
        comparator: order.clone(),
        arena_block_bytes: 4096,
        prefix_extractor: match options >> 3 & 3 {
            0 => None,
            1 => Some(PrefixExtractor::Fixed(1)),
            2 => Some(PrefixExtractor::Capped(2)),
            _ => Some(PrefixExtractor::Noop),
        },
        prefix_bloom_bits: if options & 32 == 0 { 0 } else { 512 },
        whole_key_filtering: options & 32 != 0,
        kind: match options & 3 {
            0 => MemTableKind::SkipList,
            1 => MemTableKind::HashSkipList { bucket_count: 3, height: 3, branching: 2 },
            2 => MemTableKind::HashLinkList { bucket_count: 3, threshold: 4 },
            _ => MemTableKind::Vector,
        },
        in_place_locks: if options & 64 == 0 { 0 } else { 2 },
        ..MemTableOptions::default()
    }));
    let is_concurrent = options & 192 == 128;
    let mut tested = Tested { table, order, model: Vec::new(), sequence: 0, is_concurrent };
    let mut iter = tested.table.iter();
    let mut rest = operations;
    while let Some((&what, after)) = rest.split_first() {
        let (key, after) = after.split_at(after.len().min(usize::from(what >> 6)));
        let key: Vec<u8> = key.iter().map(|byte| byte % letters.max(&1)).collect();
        rest = after;
        match what % 8 {
            0 => tested.add(ValueType::Value, &key),
            1 => tested.add(ValueType::Deletion, &key),
            2 => tested.add(ValueType::Merge, &key),
            3 => tested.add_in_place(&key),
            4 => tested.look_up(&key, MAX_SEQUENCE_NUMBER),
            5 => tested.look_up(&key, SequenceNumber(tested.sequence / 2)),
            6 if options & 3 == 0 => tested.walk(&mut iter, &key),
            // What is not always sorted shows an iterator the entries that were there when it was first positioned.
            6 => tested.walk(&mut tested.table.iter(), &key),
            _ => iter = tested.table.iter(),
        }
    }
    assert_eq!(tested.table.num_entries(), tested.model.len() as u64);
}

impl Tested {
    fn add(&mut self, value_type: ValueType, key: &[u8]) {
        self.sequence += 1;
        let (sequence, value) = (SequenceNumber(self.sequence), self.sequence.to_string().into_bytes());
        let added = if self.is_concurrent {
            self.table.add_concurrent(sequence, value_type, key, &value)
        } else {
            self.table.add(sequence, value_type, key, &value)
        };
        added.expect("a new entry");
        let entry = make_internal_key(key, sequence, value_type);
        let at = self.model.partition_point(|(other, _)| self.order.compare(other, &entry).is_lt());
        self.model.insert(at, (entry, value));
    }

    /// Writes over the newest entry of the key where that is a value as long or longer.
    fn add_in_place(&mut self, key: &[u8]) {
        let target = make_internal_key(key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
        let at = self.model.partition_point(|(other, _)| self.order.compare(other, &target).is_lt());
        let newest = self.model.get_mut(at).filter(|(entry, _)| user_key(entry) == key);
        let value = (self.sequence + 1).to_string().into_bytes();
        match newest {
            Some((entry, old))
                if self.table.writes_in_place()
                    && trailer(entry) as u8 == ValueType::Value as u8
                    && value.len() <= old.len() =>
            {
                self.sequence += 1;
                let sequence = SequenceNumber(self.sequence);
                self.table.add_in_place(sequence, key, &value, SequenceNumber(0)).expect("a new value");
                *old = value;
            }
            _ => self.add(ValueType::Value, key),
        }
    }

    fn look_up(&self, key: &[u8], upper: SequenceNumber) {
        let lookup = LookupKey::new(key, upper);
        let is_wanted = |entry: &&(Vec<u8>, Vec<u8>)| {
            user_key(&entry.0) == key && self.order.compare(&entry.0, lookup.internal_key()).is_ge()
        };
        let mut wanted = self.model.iter().filter(is_wanted);
        let visited = self.table.get(&lookup, |sequence, value_type, value| {
            let (entry, wanted) = wanted.next().expect("no more entries than there are");
            assert_eq!((&make_internal_key(key, sequence, value_type), value), (entry, &wanted[..]));
            true
        });
        visited.expect("a memtable without checks has none that fail");
        assert!(wanted.next().is_none());
        assert!(self.table.may_contain(key) || !self.model.iter().any(|(entry, _)| user_key(entry) == key));
    }

    /// Steps from a key on in both directions.
    fn walk(&self, iter: &mut MemTableIter, key: &[u8]) {
        let target = make_internal_key(key, SequenceNumber(self.sequence / 2), ValueType::FOR_SEEK);
        let at = self.model.partition_point(|(other, _)| self.order.compare(other, &target).is_lt());
        let check = |iter: &MemTableIter, wanted: Option<usize>| {
            let wanted = wanted.and_then(|at| self.model.get(at));
            assert_eq!(iter.valid(), wanted.is_some());
            if let Some((entry, value)) = wanted {
                assert_eq!((iter.key(), iter.value()), (&entry[..], &value[..]));
            }
        };
        iter.seek(&target);
        check(iter, Some(at));
        if iter.valid() {
            iter.next();
            check(iter, Some(at + 1));
        }
        iter.seek(&target);
        if iter.valid() {
            iter.prev();
            check(iter, at.checked_sub(1));
        }
        iter.seek_to_last();
        check(iter, self.model.len().checked_sub(1));
    }
}
