//! Blocks with checksums of their entries, of which a bit turns over in memory: every answer is right or an error.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use super::*;

/// What `step` gives through all entries, or `None` with an error.
fn walk(
    iter: &mut DataBlockIter<&DataBlock>,
    begin: fn(&mut DataBlockIter<&DataBlock>),
    step: Step,
) -> Option<Entries> {
    begin(iter);
    let mut seen = Vec::new();
    while iter.valid() {
        seen.push((iter.key().to_vec(), iter.value().to_vec()));
        step(iter);
    }
    iter.status().ok().map(|()| seen)
}

type Step = fn(&mut DataBlockIter<&DataBlock>);
type Placement = fn(&mut DataBlockIter<&DataBlock>, &[u8]);
/// Handles with their keys.
type IndexEntries = Vec<(BlockHandle, Vec<u8>)>;

/// All answers of a block, each `None` where it is an error.
fn answers(block: &DataBlock, targets: &[Vec<u8>], global: Option<SequenceNumber>) -> Vec<Option<Entries>> {
    let mut iter = DataBlockIter::new(block, InternalComparator::default(), global);
    let mut answers = vec![
        walk(&mut iter, |iter| iter.seek_to_first(), |iter| iter.next()),
        walk(&mut iter, |iter| iter.seek_to_last(), |iter| iter.prev()),
    ];
    for target in targets {
        let placements: [Placement; 3] = [
            |iter, target| iter.seek(target),
            |iter, target| iter.seek_for_prev(target),
            |iter, target| iter.seek_for_get(target),
        ];
        for (kind, place) in placements.into_iter().enumerate() {
            place(&mut iter, target);
            let user = ferrock_base::internal_key::user_key;
            // A lookup shows its own key, or another one, whichever that is.
            let is_shown = iter.valid() && (kind < 2 || user(iter.key()) == user(target));
            let shown: Entries = is_shown.then(|| (iter.key().to_vec(), iter.value().to_vec())).into_iter().collect();
            answers.push(iter.status().ok().map(|()| shown));
        }
    }
    answers
}

fn check_flips(bytes: &[u8], targets: &[Vec<u8>], bits: &[prop::sample::Index]) -> Result<(), TestCaseError> {
    for global in [None, Some(SequenceNumber(9))] {
        let right = answers(&DataBlock::new(bytes.to_vec()).unwrap(), targets, global);
        prop_assert!(right.iter().all(Option::is_some));
        prop_assert_eq!(&answers(&DataBlock::new(bytes.to_vec()).unwrap().protected(), targets, global), &right);
        for bit in bits {
            let bit = bit.index(bytes.len() * 8);
            let mut flipped = bytes.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let block = DataBlock::new(bytes.to_vec()).unwrap().protected().with_bytes(flipped);
            for (shown, right) in answers(&block, targets, global).iter().zip(&right) {
                prop_assert!(shown.is_none() || shown == right, "bit {} of {}", bit, bytes.len() * 8);
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_data_block_shows_no_entry_that_changed_in_memory(
        entries in entries_strategy(),
        targets in targets_strategy(),
        interval in 1usize..20,
        form in 0..3,
        bits in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
    ) {
        let bytes = match form {
            0 => build(&entries, interval, true),
            1 => build_separated(&entries, interval),
            _ => with_hash_index(&entries, interval, 7),
        };
        let keys = entries.iter().map(|(key, _)| key.clone());
        let targets: Vec<Vec<u8>> = keys.chain(targets).collect();
        check_flips(&bytes, &targets, &bits)?;
    }

    #[test]
    fn an_index_shows_no_entry_that_changed_in_memory(
        keys in prop::collection::btree_set(prop::collection::vec(prop::sample::select(vec![b'a', b'b']), 0..20), 1..40),
        targets in targets_strategy(),
        interval in 1usize..5,
        reversed in any::<bool>(),
        search in prop::sample::select(vec![IndexSearch::Binary, IndexSearch::Interpolation]),
        flips in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
    ) {
        let comparator =
            InternalComparator::new(if reversed { Comparator::ReverseBytewise } else { Comparator::Bytewise });
        let mut keys: Vec<Vec<u8>> =
            keys.iter().map(|key| make_internal_key(key, SequenceNumber(3), ValueType::Value)).collect();
        keys.sort_by(|a, b| comparator.compare(a, b));
        let format = IndexFormat { key_is_user_key: false, value_is_delta_encoded: false, has_first_key: false };
        let entries: Entries = keys
            .iter()
            .zip(1u64..)
            .map(|(key, number)| {
                let mut handle = Vec::new();
                BlockHandle { offset: number * 4096, size: 4000 + number }.encode_to(&mut handle);
                (key.clone(), handle)
            })
            .collect();
        let bytes = build(&entries, interval, true);
        let targets: Vec<Vec<u8>> = keys.into_iter().chain(targets).collect();
        let index = || IndexBlock::new(bytes.clone(), format, &comparator).unwrap().with_search(search);
        let right = index_answers(&index(), &comparator, &targets);
        prop_assert!(right.iter().all(Option::is_some));
        prop_assert_eq!(&index_answers(&index().protected(), &comparator, &targets), &right);
        for flip in flips {
            let mut index = index().protected();
            index.flip_bit(|bits| flip.index(bits));
            for (shown, right) in index_answers(&index, &comparator, &targets).iter().zip(&right) {
                prop_assert!(shown.is_none() || shown == right);
            }
        }
    }
}

/// All answers of an index, each `None` where it is an error.
fn index_answers(
    index: &IndexBlock,
    comparator: &InternalComparator,
    targets: &[Vec<u8>],
) -> Vec<Option<IndexEntries>> {
    let mut cursor = IndexCursor::new();
    let shown = |cursor: &IndexCursor| {
        let mut key = Vec::new();
        cursor.key_into(index, &mut key);
        (cursor.entry(index).handle, key)
    };
    let mut answers = Vec::new();
    for is_forward in [true, false] {
        let mut seen = Vec::new();
        if is_forward {
            cursor.seek_to_first(index)
        } else {
            cursor.seek_to_last(index)
        };
        while cursor.valid() {
            seen.push(shown(&cursor));
            if is_forward {
                cursor.next(index)
            } else {
                cursor.prev(index)
            };
        }
        answers.push(cursor.status().ok().map(|()| seen));
    }
    for target in targets {
        cursor.seek(index, comparator, target);
        let seen = cursor.valid().then(|| shown(&cursor)).into_iter().collect();
        answers.push(cursor.status().ok().map(|()| seen));
    }
    answers
}
