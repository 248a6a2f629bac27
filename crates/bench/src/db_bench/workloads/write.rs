//! Writes, deletions, merges.

use super::permutation::Permutation;
use crate::benchmarks::Order;
use crate::failure::Result;
use crate::stats::Operation;
use crate::worker::Worker;
use ferrock::WriteBatch;

/// Bytes of a batch beside its keys and values, per record and in all: only to size a buffer.
const OVERHEAD_SIZE_BYTES: usize = 16;

impl Worker<'_> {
    /// A number of the given order: the n-th of this thread.
    fn number(&mut self, order: Order, permutation: &Permutation, count: u64) -> u64 {
        let num = self.shared.settings.num;
        match order {
            Order::Sequential => count % num,
            Order::Random => self.random_number(),
            Order::Permutation => permutation.at(count % num),
        }
    }

    pub(super) fn write(&mut self, order: Order, divisor: u64, batch: Option<u64>) -> Result<()> {
        let settings = self.shared.settings;
        let per_batch = batch.unwrap_or(settings.batch_size);
        let operations = (settings.writes / divisor).max(1);
        let permutation = Permutation::new(settings.num, self.random.next_u64());
        let mut pace = self.pace(operations, order == Order::Random);
        let mut count = 0;
        while pace.next(per_batch) {
            // The last batch may be shorter.
            let left = if settings.duration_us > 0 && order == Order::Random { per_batch } else { operations - count };
            let size = per_batch.min(left);
            self.put_batch(size, |worker, index| worker.number(order, &permutation, count + index))?;
            self.finished(size, Operation::Write);
            count += size;
        }
        Ok(())
    }

    /// Writes a batch of keys.
    pub(super) fn put_batch(&mut self, size: u64, mut number: impl FnMut(&mut Self, u64) -> u64) -> Result<()> {
        let settings = self.shared.settings;
        let entry_size = settings.key_size + settings.value_size;
        let bytes = entry_size.saturating_mul(usize::try_from(size).unwrap_or(usize::MAX));
        self.limit_write(bytes);
        let mut batch = WriteBatch::with_capacity(entry_size + OVERHEAD_SIZE_BYTES);
        for index in 0..size {
            let number = number(self, index);
            self.shared.keys.make(number, &mut self.key);
            self.shared.values.make(&self.key, &mut self.value);
            batch.put(&self.key, &self.value)?;
        }
        self.shared.db.write(batch, &self.shared.write_options)?;
        self.stats.add_bytes(bytes);
        Ok(())
    }

    pub(super) fn delete(&mut self, order: Order) -> Result<()> {
        let settings = self.shared.settings;
        let permutation = Permutation::new(1, 0);
        let mut pace = self.pace(settings.deletes, order == Order::Random);
        let mut count = 0;
        while pace.next(settings.batch_size) {
            let mut batch = WriteBatch::with_capacity(settings.key_size + OVERHEAD_SIZE_BYTES);
            for index in 0..settings.batch_size {
                let number = self.number(order, &permutation, count + index);
                self.shared.keys.make(number, &mut self.key);
                batch.delete(&self.key)?;
            }
            self.shared.db.write(batch, &self.shared.write_options)?;
            count += settings.batch_size;
            self.finished(settings.batch_size, Operation::Delete);
        }
        Ok(())
    }

    pub(super) fn merge_random(&mut self) -> Result<()> {
        let settings = self.shared.settings;
        let mut pace = self.pace(settings.writes, true);
        let mut updates = 0_u64;
        while pace.next(1) {
            let number = self.random.below(settings.merge_keys);
            self.shared.keys.make(number, &mut self.key);
            self.shared.values.make_operand(&self.key, &mut self.value);
            self.limit_write(self.key.len() + self.value.len());
            let mut batch = WriteBatch::with_capacity(self.key.len() + self.value.len() + OVERHEAD_SIZE_BYTES);
            batch.merge(&self.key, &self.value)?;
            self.shared.db.write(batch, &self.shared.write_options)?;
            self.stats.add_bytes(self.key.len() + self.value.len());
            self.finished(1, Operation::Merge);
            updates += 1;
        }
        self.stats.add_message(&format!("( updates:{updates})"));
        Ok(())
    }
}
