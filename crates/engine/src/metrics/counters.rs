//! Counters of an open database: relaxed, added to at most once per operation, group or job.

use super::stats_text::WriteCounts;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

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

    /// What `dbstats` is made of.
    pub(crate) fn writes(&self) -> WriteCounts {
        let get = Self::get;
        WriteCounts {
            batches: get(&self.batches_written),
            keys: get(&self.keys_written),
            groups: get(&self.write_groups),
            bytes: get(&self.bytes_written),
            logged_batches: get(&self.batches_written).saturating_sub(get(&self.unlogged_batches)),
            log_bytes: get(&self.wal_bytes),
            syncs: get(&self.wal_syncs),
            stall_us: get(&self.stall_us),
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
