//! Writes, deletions, merges.

use crate::benchmarks::Order;
use crate::failure::Result;
use crate::stats::Operation;
use crate::worker::Worker;
use ferrock::WriteBatch;
use ferrock_bench::permutation::Permutation;

/// Bytes of a batch beside its keys and values, per record and in all: only to size a buffer.
const OVERHEAD_SIZE_BYTES: usize = 16;

/// A number of the given order: the n-th of this thread.
fn number(worker: &mut Worker<'_>, order: Order, permutation: &Permutation, count: u64) -> u64 {
    let num = worker.shared.settings.num;
    match order {
        Order::Sequential => count % num,
        Order::Random => worker.random_number(),
        Order::Permutation => permutation.at(count % num),
    }
}

pub(super) fn write(worker: &mut Worker<'_>, order: Order, divisor: u64, batch: Option<u64>) -> Result<()> {
    let settings = worker.shared.settings;
    let per_batch = batch.unwrap_or(settings.batch_size);
    let operations = (settings.writes / divisor).max(1);
    let permutation = Permutation::new(settings.num, worker.random.next_u64());
    let mut pace = worker.pace(operations, order == Order::Random);
    let mut count = 0;
    while pace.next(per_batch) {
        // The last batch may be shorter.
        let left = if settings.duration_us > 0 && order == Order::Random { per_batch } else { operations - count };
        let size = per_batch.min(left);
        put_batch(worker, size, |worker, index| number(worker, order, &permutation, count + index))?;
        worker.finished(size, Operation::Write);
        count += size;
        if settings.is_range_deletion_due(count, size) {
            delete_range(worker, order, &permutation, count)?;
        }
    }
    Ok(())
}

/// Deletes a range of numbers, or each of them, from one of the given order on.
fn delete_range(worker: &mut Worker<'_>, order: Order, permutation: &Permutation, count: u64) -> Result<()> {
    let shared = worker.shared;
    let (width, num) = (shared.settings.range_tombstone_width, shared.settings.num);
    let begin = number(worker, order, permutation, count);
    let end = begin.saturating_add(width).min(num);
    let mut batch = WriteBatch::new();
    if shared.settings.expand_range_tombstones {
        for number in begin..end {
            shared.keys.make(number, &mut worker.key);
            batch.delete(&worker.key)?;
        }
    } else {
        shared.keys.make(begin, &mut worker.key);
        shared.keys.make(end, &mut worker.value);
        batch.delete_range(&worker.key, &worker.value)?;
    }
    shared.db.write(batch, &shared.write_options)?;
    worker.finished(1, Operation::Delete);
    Ok(())
}

/// Writes a batch of keys.
pub(super) fn put_batch(
    worker: &mut Worker<'_>,
    size: u64,
    mut number: impl FnMut(&mut Worker<'_>, u64) -> u64,
) -> Result<()> {
    let settings = worker.shared.settings;
    let entry_size = settings.key_size + settings.value_size;
    let bytes = entry_size.saturating_mul(usize::try_from(size).unwrap_or(usize::MAX));
    worker.limit_write(bytes);
    let mut batch = WriteBatch::with_capacity(entry_size + OVERHEAD_SIZE_BYTES);
    for index in 0..size {
        let number = number(worker, index);
        worker.shared.keys.make(number, &mut worker.key);
        worker.shared.values.make(&worker.key, &mut worker.value);
        batch.put(&worker.key, &worker.value)?;
    }
    worker.shared.db.write(batch, &worker.shared.write_options)?;
    worker.stats.add_bytes(bytes);
    Ok(())
}

pub(super) fn delete(worker: &mut Worker<'_>, order: Order) -> Result<()> {
    let settings = worker.shared.settings;
    let permutation = Permutation::new(1, 0);
    let mut pace = worker.pace(settings.deletes, order == Order::Random);
    let mut count = 0;
    while pace.next(settings.batch_size) {
        let mut batch = WriteBatch::with_capacity(settings.key_size + OVERHEAD_SIZE_BYTES);
        for index in 0..settings.batch_size {
            let number = number(worker, order, &permutation, count + index);
            worker.shared.keys.make(number, &mut worker.key);
            batch.delete(&worker.key)?;
        }
        worker.shared.db.write(batch, &worker.shared.write_options)?;
        count += settings.batch_size;
        worker.finished(settings.batch_size, Operation::Delete);
    }
    Ok(())
}

/// Merges into a random one of the keys that are merged to.
pub(super) fn merge_one(worker: &mut Worker<'_>) -> Result<()> {
    let number = worker.random.below(worker.shared.settings.merge_keys);
    worker.shared.keys.make(number, &mut worker.key);
    worker.shared.values.make_operand(&worker.key, &mut worker.value);
    worker.limit_write(worker.key.len() + worker.value.len());
    let mut batch = WriteBatch::with_capacity(worker.key.len() + worker.value.len() + OVERHEAD_SIZE_BYTES);
    batch.merge(&worker.key, &worker.value)?;
    worker.shared.db.write(batch, &worker.shared.write_options)?;
    worker.stats.add_bytes(worker.key.len() + worker.value.len());
    Ok(())
}

pub(super) fn merge_random(worker: &mut Worker<'_>) -> Result<()> {
    let settings = worker.shared.settings;
    let mut pace = worker.pace(settings.writes, true);
    let mut updates = 0_u64;
    while pace.next(1) {
        merge_one(worker)?;
        worker.finished(1, Operation::Merge);
        updates += 1;
    }
    worker.stats.add_message(&format!("( updates:{updates})"));
    Ok(())
}
