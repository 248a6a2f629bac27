//! Reads and writes together.

use super::{read, write};
use crate::benchmarks::{Back, Front};
use crate::failure::Result;
use crate::stats::Operation;
use crate::worker::Worker;
use ferrock::{ReadOptions, WriteBatch};
use std::sync::atomic::Ordering;

fn put_random(worker: &mut Worker<'_>) -> Result<()> {
    write::put_batch(worker, 1, |worker, _| worker.random_number())
}

pub(super) fn update_random(worker: &mut Worker<'_>) -> Result<()> {
    let settings = worker.shared.settings;
    let (mut updates, mut found) = (0_u64, 0_u64);
    let mut pace = worker.pace(settings.reads.max(settings.writes), true);
    while pace.next(1) {
        let number = worker.random_number();
        worker.shared.keys.make(number, &mut worker.key);
        found += u64::from(read::look_up(worker)?);
        write::put_batch(worker, 1, |_, _| number)?;
        updates += 1;
        worker.finished(1, Operation::Update);
    }
    worker.stats.add_message(&format!("( updates:{updates} found:{found})"));
    Ok(())
}

pub(super) fn read_write(worker: &mut Worker<'_>) -> Result<()> {
    let settings = worker.shared.settings;
    let (mut reads, mut writes, mut found) = (0_u64, 0_u64, 0_u64);
    let mut pace = worker.pace(settings.reads.max(settings.writes), true);
    while pace.next(1) {
        if worker.random.below(100) < settings.read_write_percent {
            let number = worker.random_number();
            worker.shared.keys.make(number, &mut worker.key);
            found += u64::from(read::look_up(worker)?);
            reads += 1;
            worker.finished(1, Operation::Read);
        } else {
            put_random(worker)?;
            writes += 1;
            worker.finished(1, Operation::Write);
        }
    }
    worker.stats.add_message(&format!(
        "( reads:{reads} writes:{writes} total:{} found:{found})",
        settings.reads.max(settings.writes)
    ));
    Ok(())
}

pub(super) fn read_merge(worker: &mut Worker<'_>) -> Result<()> {
    let settings = worker.shared.settings;
    let (mut reads, mut merges, mut found) = (0_u64, 0_u64, 0_u64);
    let mut pace = worker.pace(settings.reads.max(settings.writes), true);
    while pace.next(1) {
        if worker.random.below(100) < settings.merge_read_percent {
            write::merge_one(worker)?;
            merges += 1;
            worker.finished(1, Operation::Merge);
        } else {
            let number = worker.random.below(settings.merge_keys);
            worker.shared.keys.make(number, &mut worker.key);
            found += u64::from(read::look_up(worker)?);
            reads += 1;
            worker.finished(1, Operation::Read);
        }
    }
    let total = settings.reads.max(settings.writes);
    worker.stats.add_message(&format!("( reads:{reads} merges:{merges} total:{total} hits:{found})"));
    Ok(())
}

/// Keys that are written and deleted together: a key and a digit.
const TOGETHER: u8 = 10;

/// Writes, deletes and looks up ten keys at a time. A look-up is of one snapshot, in which all are there or none.
pub(super) fn verify_ten(worker: &mut Worker<'_>) -> Result<()> {
    let settings = worker.shared.settings;
    let (mut gets, mut puts, mut deletes, mut found) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut pace = worker.pace(settings.reads.max(settings.writes), true);
    while pace.next(1) {
        let number = worker.random_number();
        worker.shared.keys.make(number, &mut worker.key);
        let draw = worker.random.below(100);
        if draw < settings.read_write_percent {
            found += u64::from(look_up_ten(worker)?);
            gets += 1;
            worker.finished(1, Operation::Read);
        } else if draw < settings.read_write_percent + settings.delete_percent {
            change_ten(worker, true)?;
            deletes += 1;
            worker.finished(1, Operation::Delete);
        } else {
            change_ten(worker, false)?;
            puts += 1;
            worker.finished(1, Operation::Write);
        }
    }
    let message = format!("( get:{gets} put:{puts} del:{deletes} total:{} found:{found})", gets + puts + deletes);
    worker.stats.add_message(&message);
    Ok(())
}

fn ten_keys(key: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    (0..TOGETHER).map(move |digit| [key, &[b'0' + digit]].concat())
}

fn change_ten(worker: &mut Worker<'_>, deletes: bool) -> Result<()> {
    let shared = worker.shared;
    let mut batch = WriteBatch::new();
    for key in ten_keys(&worker.key) {
        if deletes {
            batch.delete(&key)?;
        } else {
            shared.values.make(&key, &mut worker.value);
            batch.put(&key, &worker.value)?;
        }
    }
    worker.stats.add_bytes(batch.data().len());
    Ok(shared.db.write(batch, &shared.write_options)?)
}

fn look_up_ten(worker: &mut Worker<'_>) -> Result<bool> {
    let shared = worker.shared;
    let options = ReadOptions { snapshot: Some(shared.db.snapshot()), ..shared.read_options.clone() };
    let base = std::mem::take(&mut worker.key);
    let mut found = 0;
    for key in ten_keys(&base) {
        if let Some(value) = shared.db.get_with(&options, &key)? {
            worker.stats.add_bytes(key.len() + value.len());
            worker.check(&key, &value)?;
            found += 1;
        }
    }
    if found != 0 && found != TOGETHER {
        return Err(worker.wrong(&format!("{found} of {TOGETHER} keys that are written together are there"), &base));
    }
    worker.key = base;
    Ok(found > 0)
}

/// The thread after the last reader does something else until the readers are done.
pub(super) fn beside(worker: &mut Worker<'_>, front: Front, back: Back) -> Result<()> {
    if worker.index < worker.shared.settings.threads {
        let outcome = match front {
            Front::Read => read::read_random(worker, false, false),
            Front::Seek => read::seek_random(worker),
            Front::MultiRead => read::multi_read_random(worker),
            Front::NewIterator => read::new_iterator(worker),
        };
        worker.shared.readers.fetch_sub(1, Ordering::Relaxed);
        return outcome;
    }
    while is_wanted(worker) {
        match back {
            Back::Put => put_random(worker)?,
            Back::Merge => write::merge_one(worker)?,
            Back::Scan => scan_while_wanted(worker)?,
        }
        worker.finished(1, Operation::Write);
    }
    Ok(())
}

fn is_wanted(worker: &Worker<'_>) -> bool {
    worker.shared.readers.load(Ordering::Relaxed) > 0 && !worker.shared.stop.load(Ordering::Relaxed)
}

/// Reads from the first key on, to the last one if there is time.
fn scan_while_wanted(worker: &mut Worker<'_>) -> Result<()> {
    let mut iter = worker.shared.db.iter(&worker.shared.read_options);
    iter.seek_to_first();
    while iter.valid() && is_wanted(worker) {
        worker.check(iter.key(), iter.value())?;
        iter.next();
    }
    Ok(iter.status()?)
}
