//! Checks that the database has exactly the acknowledged keys.

use super::workload::{KEYS_PER_BATCH, Workload};
use crate::output;
use ferrock::{Db, ReadOptions};
use ferrock_base::random::Random;

/// The result of a verification. All but `looked_up`, `found` and `expected` must be zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Verification {
    /// Keys that must be there, each looked up.
    pub(super) looked_up: u64,
    /// Keys that the iterator saw.
    pub(super) found: u64,
    /// Keys that must be there and are not.
    pub(super) missing: u64,
    /// Keys with another value than was written.
    pub(super) wrong: u64,
    /// Keys that are there and were never written, or written later than the last acknowledged batch and the next.
    pub(super) unexpected: u64,
    /// Batches that are there in part.
    pub(super) torn_batches: u64,
    /// Iterator steps out of order.
    pub(super) out_of_order: u64,
}

impl Verification {
    pub(super) fn is_good(&self) -> bool {
        self.missing + self.wrong + self.unexpected + self.torn_batches + self.out_of_order == 0
    }
}

/// After the kill: every acknowledged key, and besides them nothing or the one batch that was in flight, whole.
pub(super) fn after_crash(db: &Db, workload: &Workload, acknowledged: u64) -> ferrock::Result<Verification> {
    let most = (acknowledged + KEYS_PER_BATCH).min(workload.keys);
    verify(db, workload, acknowledged, most)
}

/// At the end: every key and nothing else.
pub(super) fn complete(db: &Db, workload: &Workload) -> ferrock::Result<Verification> {
    verify(db, workload, workload.keys, workload.keys)
}

/// Looks up `count` keys in random order; the values are not checked.
pub(super) fn random_gets(db: &Db, workload: &Workload, count: u64) -> ferrock::Result<()> {
    let mut random = Random::new(workload.seed);
    for _ in 0..count {
        db.get(&workload.key(random.below(workload.keys)))?;
    }
    Ok(())
}

fn verify(db: &Db, workload: &Workload, least: u64, most: u64) -> ferrock::Result<Verification> {
    let bar = output::progress("verify", least + most);
    let mut result = Verification { looked_up: least, ..Verification::default() };
    let mut expected = Vec::with_capacity(workload.value_size_bytes);
    for index in 0..least {
        workload.fill_value(index, &mut expected);
        match db.get(&workload.key(index))? {
            None => result.missing += 1,
            Some(value) if value[..] == expected[..] => {}
            Some(_) => result.wrong += 1,
        }
        if index.is_multiple_of(4096) {
            bar.set_position(index);
        }
    }
    scan(db, workload, most, &mut result, |seen| bar.set_position(least + seen))?;
    bar.finish_and_clear();
    Ok(result)
}

fn scan(
    db: &Db,
    workload: &Workload,
    most: u64,
    result: &mut Verification,
    mut progress: impl FnMut(u64),
) -> ferrock::Result<()> {
    let mut expected = Vec::with_capacity(workload.value_size_bytes);
    let mut previous: Option<[u8; super::workload::KEY_SIZE_BYTES]> = None;
    let mut end = 0;
    let mut iter = db.iter(&ReadOptions { fill_cache: false, ..ReadOptions::default() });
    iter.seek_to_first();
    while iter.valid() {
        match workload.index_of(iter.key()).filter(|index| *index < most) {
            Some(index) => {
                workload.fill_value(index, &mut expected);
                result.wrong += u64::from(iter.value() != &expected[..]);
                let key = workload.key(index);
                result.out_of_order += u64::from(previous.is_some_and(|previous| previous >= key));
                previous = Some(key);
                end = end.max(index + 1);
                result.found += 1;
            }
            None => result.unexpected += 1,
        }
        if result.found.is_multiple_of(4096) {
            progress(result.found);
        }
        iter.next();
    }
    iter.status()?;
    // The keys found are distinct, as they came in order; with none missing below the last, they are a prefix.
    result.missing += end.saturating_sub(result.found);
    result.torn_batches = u64::from(!end.is_multiple_of(KEYS_PER_BATCH) && end != workload.keys);
    Ok(())
}
