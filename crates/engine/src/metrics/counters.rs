//! Counters of an open database: relaxed, added to at most once per operation, group or job.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// What writers did since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteMetrics {
    /// Batches.
    pub batches: u64,
    /// Of those, batches that did not go to the log.
    pub unlogged_batches: u64,
    /// Records of batches.
    pub keys: u64,
    /// Groups of batches that were written together.
    pub groups: u64,
    /// Of those, groups whose members inserted at the same time.
    pub parallel_groups: u64,
    /// Bytes of batches.
    pub bytes: u64,
    /// Bytes of batches that went to the log.
    pub wal_bytes: u64,
    /// Syncs of the log that writers asked for.
    pub wal_syncs: u64,
    /// Microseconds for which writers were slowed down or stopped.
    pub stall_us: u64,
}

impl WriteMetrics {
    /// Batches that went to the log.
    #[must_use]
    pub fn logged_batches(&self) -> u64 {
        self.batches.saturating_sub(self.unlogged_batches)
    }

    /// What came since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            batches: self.batches.saturating_sub(earlier.batches),
            unlogged_batches: self.unlogged_batches.saturating_sub(earlier.unlogged_batches),
            keys: self.keys.saturating_sub(earlier.keys),
            groups: self.groups.saturating_sub(earlier.groups),
            parallel_groups: self.parallel_groups.saturating_sub(earlier.parallel_groups),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            wal_bytes: self.wal_bytes.saturating_sub(earlier.wal_bytes),
            wal_syncs: self.wal_syncs.saturating_sub(earlier.wal_syncs),
            stall_us: self.stall_us.saturating_sub(earlier.stall_us),
        }
    }
}

/// What flushes and compactions of all families did since the database was opened, dropped families included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobTotals {
    /// Flushes.
    pub flushes: u64,
    /// Bytes of tables that flushes wrote.
    pub flush_bytes: u64,
    /// Microseconds of flushes.
    pub flush_us: u64,
    /// Compactions that rewrote tables.
    pub compactions: u64,
    /// Compactions that only moved tables.
    pub trivial_moves: u64,
    /// Bytes of the input tables.
    pub compaction_read_bytes: u64,
    /// Bytes of the output tables.
    pub compaction_write_bytes: u64,
    /// Of those, bytes of blocks that were copied as they were stored.
    pub compaction_copied_bytes: u64,
    /// Microseconds of compactions.
    pub compaction_us: u64,
    /// Compactions of which another process brought the tables.
    pub remote_compactions: u64,
}

/// Declares the counters once, as fields and as the names under which they are printed.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of one database since it was opened.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $($(#[$doc])* pub(crate) $name: AtomicU64,)*
        }

        impl Counters {
            /// Every counter as a line `name=value`, for programs.
            pub(crate) fn to_lines(&self) -> String {
                let mut out = String::new();
                $(let _ = writeln!(out, "{}={}", stringify!($name), Self::get(&self.$name));)*
                out
            }
        }
    };
}

counters! {
    /// Groups of batches that went to the log together.
    write_groups,
    /// Groups whose members inserted in parallel.
    parallel_groups,
    /// Batches.
    batches_written,
    /// Records of batches.
    keys_written,
    /// Bytes of batches.
    bytes_written,
    /// Bytes of batches that went to the log.
    wal_bytes,
    /// Batches that did not go to the log.
    unlogged_batches,
    /// Syncs of the log that writers asked for.
    wal_syncs,
    /// Time spent appending to the log and syncing it; sampled.
    wal_us,
    /// Time spent inserting into memtables; sampled.
    memtable_us,
    /// Time for which writers were slowed down or stopped.
    stall_us,
    /// Writes that waited for the memory of all memtables.
    memory_stalls,
    /// Flush jobs.
    flushes,
    /// Bytes of tables that flushes wrote.
    flush_bytes,
    /// Time of flush jobs.
    flush_us,
    /// Compaction jobs that rewrote tables.
    compactions,
    /// Compactions that only moved tables.
    trivial_moves,
    /// Compactions that dropped tables for the size of a queue.
    fifo_max_size_compactions,
    /// Compactions that dropped tables for their age.
    fifo_ttl_compactions,
    /// Tables that were dropped because they lay under a range deletion as a whole.
    range_deleted_tables,
    /// Looks for compactions that are due by age, by the thread that does nothing else.
    age_looks,
    /// Bytes of the input tables.
    compaction_read_bytes,
    /// Bytes of the output tables.
    compaction_write_bytes,
    /// Data blocks that compactions copied from their inputs as they were stored.
    compaction_copied_blocks,
    /// Bytes of these blocks, as they were stored.
    compaction_copied_bytes,
    /// Time of compaction jobs.
    compaction_us,
    /// Compactions of which another process brought the tables.
    remote_compactions,
    /// Results of other processes that failed a check.
    remote_compactions_refused,
    /// Bytes that compactions in other processes read.
    remote_compact_read_bytes,
    /// Bytes that compactions in other processes wrote.
    remote_compact_write_bytes,
    /// Compressed blocks that `verify_compression` found right.
    verified_blocks,
}

impl Counters {
    #[inline]
    pub(crate) fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    /// What writers did: `dbstats` is made of it.
    pub(crate) fn writes(&self) -> WriteMetrics {
        let get = Self::get;
        WriteMetrics {
            batches: get(&self.batches_written),
            unlogged_batches: get(&self.unlogged_batches),
            keys: get(&self.keys_written),
            groups: get(&self.write_groups),
            parallel_groups: get(&self.parallel_groups),
            bytes: get(&self.bytes_written),
            wal_bytes: get(&self.wal_bytes),
            wal_syncs: get(&self.wal_syncs),
            stall_us: get(&self.stall_us),
        }
    }

    /// What jobs did, of all families.
    pub(crate) fn job_totals(&self) -> JobTotals {
        let get = Self::get;
        JobTotals {
            flushes: get(&self.flushes),
            flush_bytes: get(&self.flush_bytes),
            flush_us: get(&self.flush_us),
            compactions: get(&self.compactions),
            trivial_moves: get(&self.trivial_moves),
            compaction_read_bytes: get(&self.compaction_read_bytes),
            compaction_write_bytes: get(&self.compaction_write_bytes),
            compaction_copied_bytes: get(&self.compaction_copied_bytes),
            compaction_us: get(&self.compaction_us),
            remote_compactions: get(&self.remote_compactions),
        }
    }

    #[inline]
    pub(crate) fn get(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_printed_by_name() {
        let statistics = Counters::default();
        Counters::add(&statistics.flushes, 3);
        let lines = statistics.to_lines();
        assert!(lines.lines().any(|line| line == "flushes=3") && lines.contains("stall_us=0\n"), "{lines}");
    }
}
