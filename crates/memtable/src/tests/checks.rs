//! Memtables that look for changes of memory, of which a bit turns over: every answer is right or an error.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use super::*;

type Entry = (Vec<u8>, Vec<u8>);

/// All answers of a memtable, each `None` where it is an error.
fn answers(table: &Arc<MemTable>, keys: &[Vec<u8>]) -> Vec<Option<Vec<Entry>>> {
    let mut answers = Vec::new();
    let mut iter = table.iter();
    for is_forward in [true, false] {
        let mut seen = Vec::new();
        if is_forward {
            iter.seek_to_first()
        } else {
            iter.seek_to_last()
        };
        while iter.valid() {
            seen.push((iter.key().to_vec(), iter.value().to_vec()));
            if is_forward {
                iter.next()
            } else {
                iter.prev()
            };
        }
        answers.push(iter.status().ok().map(|()| seen));
    }
    for key in keys {
        let mut seen = Vec::new();
        let found = table.get(&LookupKey::new(key, SequenceNumber(1 << 20)), |sequence, kind, value| {
            seen.push((make_internal_key(key, sequence, kind), value.to_vec()));
            true
        });
        answers.push(found.ok().map(|()| seen));
        let target = make_internal_key(key, SequenceNumber(1 << 20), ValueType::FOR_SEEK);
        for is_forward in [true, false] {
            if is_forward {
                iter.seek(&target)
            } else {
                iter.seek_for_prev(&target)
            };
            let shown = iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec()));
            answers.push(iter.status().ok().map(|()| shown.into_iter().collect()));
        }
    }
    answers
}

fn filled(options: &MemTableOptions, entries: &[Entry]) -> Arc<MemTable> {
    let table = Arc::new(MemTable::new(options.clone()));
    for ((key, value), sequence) in entries.iter().zip(1..) {
        table.add_in_place(SequenceNumber(sequence), key, value, SequenceNumber(0)).unwrap();
    }
    table
}

proptest! {
    #[test]
    fn a_protected_memtable_shows_no_entry_that_changed(
        kind in kinds(),
        extractor in extractors(),
        comparator in comparators(),
        entries in prop::collection::vec(
            (prop::collection::vec(0u8..3, 0..4), prop::collection::vec(any::<u8>(), 0..200)),
            1..30,
        ),
        (bytes, verify_on_seek, check_order) in
            (prop::sample::select(vec![4u8, 8]), any::<bool>(), any::<bool>()),
        in_place_locks in prop::sample::select(vec![0, 0, 3]),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0usize..2000), 1..8),
        later in prop::collection::vec((prop::collection::vec(0u8..3, 0..4), Just(vec![7; 3])), 0..6),
    ) {
        let plain = MemTableOptions { kind, prefix_extractor: extractor, in_place_locks, ..options(comparator) };
        let protected =
            MemTableOptions { protection_bytes: bytes, verify_on_seek, check_order, ..plain.clone() };
        let keys: Vec<Vec<u8>> = entries.iter().map(|(key, _)| key.clone()).chain([vec![1, 9], vec![]]).collect();
        let right = answers(&filled(&plain, &entries), &keys);
        prop_assert!(right.iter().all(Option::is_some));
        prop_assert_eq!(&answers(&filled(&protected, &entries), &keys), &right);
        for (which, bit) in flips {
            let table = filled(&protected, &entries);
            let key = &entries[which.index(entries.len())].0;
            // Where values are written over, an entry is compared when it is shown, and not when a search passes it.
            let mut value_bytes = 0;
            table.get(&LookupKey::new(key, SequenceNumber(1 << 20)), |_, _, value| {
                value_bytes = value.len();
                false
            }).unwrap();
            prop_assume!(in_place_locks == 0 || value_bytes > 0);
            let bit = if in_place_locks > 0 { 8 * key.len() + bit % (8 * value_bytes) } else { bit };
            prop_assert!(table.turn_over_bit(key, bit));
            for (shown, right) in answers(&table, &keys).iter().zip(&right) {
                prop_assert!(shown.is_none() || shown == right);
            }
            // What is written behind the damage hides nothing.
            let mut written = entries.clone();
            for (key, value) in &later {
                let sequence = SequenceNumber(written.len() as u64 + 1);
                if table.add_in_place(sequence, key, value, SequenceNumber(0)).is_err() {
                    break;
                }
                written.push((key.clone(), value.clone()));
            }
            let right = answers(&filled(&plain, &written), &keys);
            for (shown, right) in answers(&table, &keys).iter().zip(&right) {
                prop_assert!(shown.is_none() || shown == right);
            }
        }
    }
}

fn three_keys(change: fn(&mut MemTableOptions)) -> Arc<MemTable> {
    let mut options = options(Comparator::Bytewise);
    change(&mut options);
    let table = Arc::new(MemTable::new(options));
    for (key, sequence) in [b"a", b"m", b"z"].into_iter().zip(1..) {
        table.add(SequenceNumber(sequence), ValueType::Value, key, b"value").unwrap();
    }
    table
}

fn look_up(table: &MemTable, key: &[u8]) -> ferrock_base::Result<usize> {
    let mut found = 0;
    table.get(&LookupKey::new(key, SequenceNumber(9)), |_, _, _| {
        found += 1;
        true
    })?;
    Ok(found)
}

/// The sums of what a search ends between are compared; on demand those of all that it meets.
#[test]
fn seeks_verify_what_they_meet() {
    // The second of them is `memtable_verify_per_key_checksum_on_seek`.
    let found = |verify_on_seek: bool| {
        (0..100u8)
            .filter(|damaged| {
                let options = MemTableOptions { protection_bytes: 8, verify_on_seek, ..options(Comparator::Bytewise) };
                let table = MemTable::new(options);
                for key in 0..100u8 {
                    table.add(SequenceNumber(1 + u64::from(key)), ValueType::Value, &[key], b"value").unwrap();
                }
                // A bit of the value: the key compares as before.
                assert!(table.turn_over_bit(&[*damaged], 3 * 8));
                let outcome = look_up(&table, &[200]);
                if let Err(error) = &outcome {
                    assert_eq!(error.kind(), ErrorKind::Corruption);
                    assert!(error.message().contains("changed after it was written"), "{error}");
                }
                outcome.is_err()
            })
            .count()
    };
    assert_eq!(found(false), 1, "the last entry is on one side of where the search ends");
    let met = found(true);
    assert!((3..50).contains(&met), "{met}");
}

/// Without sums a key that went out of order is found where reads compare the order (`paranoid_memory_checks`).
#[test]
fn keys_out_of_order_are_found() {
    // `paranoid_memory_checks` of a family.
    let misplaced = |check_order: bool| {
        let table = three_keys(if check_order { |options| options.check_order = true } else { |_| {} });
        // "m" becomes "-": before "a".
        assert!(table.turn_over_bit(b"m", 6));
        let mut iter = table.iter();
        iter.seek_to_first();
        while iter.valid() {
            iter.next();
        }
        iter.status()
    };
    misplaced(false).unwrap();
    let error = misplaced(true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.message().contains("not behind the entry before it"), "{error}");
}

/// The sum takes as many bytes as are asked for.
#[test]
fn sums_take_their_bytes() {
    let used = |bytes: u8| {
        let table = MemTable::new(MemTableOptions { protection_bytes: bytes, ..options(Comparator::Bytewise) });
        let before = table.approximate_memory_bytes();
        for sequence in 1..=64u64 {
            table.add(SequenceNumber(sequence), ValueType::Value, b"k", &[7; 61]).unwrap();
        }
        table.approximate_memory_bytes() - before
    };
    assert!(used(8) > used(0), "{} {}", used(8), used(0));
}
