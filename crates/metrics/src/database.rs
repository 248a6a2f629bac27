//! Metrics of a database: writes, stalls, jobs, snapshots.

use crate::definition::{Definition, Samples, counter, gauge, seconds};
use ferrock_engine::WriteStallCondition;
use ferrock_engine::metrics::{Metrics, WriterWaits};

fn conditions(metrics: &Metrics, out: &mut Samples<'_>) {
    use WriteStallCondition::{Delayed, Normal, Stopped};
    for condition in [Normal, Delayed, Stopped] {
        out.add(&[condition.name()], metrics.stalls.condition == condition);
    }
}

fn for_each_wait(metrics: &Metrics, then: impl FnMut(&WriterWaits)) {
    metrics.stalls.waits.iter().for_each(then);
}

/// In the order of a page.
pub(crate) const TABLE: &[Definition] = &[
    gauge("ferrock_uptime_seconds", &[], "Seconds since the database was opened.", |metrics, out| {
        out.add(&[], seconds(metrics.uptime_us));
    }),
    gauge("ferrock_sequence_number", &[], "The newest sequence number that reads see.", |metrics, out| {
        out.add(&[], metrics.sequence.0);
    }),
    counter("ferrock_write_batches_total", &[], "Batches that were written.", |metrics, out| {
        out.add(&[], metrics.writes.batches);
    }),
    counter("ferrock_write_unlogged_batches_total", &[], "Batches that did not go to the log.", |metrics, out| {
        out.add(&[], metrics.writes.unlogged_batches);
    }),
    counter("ferrock_write_keys_total", &[], "Records of batches that were written.", |metrics, out| {
        out.add(&[], metrics.writes.keys);
    }),
    counter("ferrock_write_groups_total", &[], "Groups of batches that were written together.", |metrics, out| {
        out.add(&[], metrics.writes.groups);
    }),
    counter(
        "ferrock_write_parallel_groups_total",
        &[],
        "Groups whose members inserted at the same time.",
        |metrics, out| out.add(&[], metrics.writes.parallel_groups),
    ),
    counter("ferrock_write_bytes_total", &[], "Bytes of batches that were written.", |metrics, out| {
        out.add(&[], metrics.writes.bytes);
    }),
    counter("ferrock_wal_written_bytes_total", &[], "Bytes of batches that went to the log.", |metrics, out| {
        out.add(&[], metrics.writes.wal_bytes);
    }),
    counter("ferrock_wal_syncs_total", &[], "Syncs of the log that writers asked for.", |metrics, out| {
        out.add(&[], metrics.writes.wal_syncs);
    }),
    gauge("ferrock_wal_files", &[], "Logs that are still needed.", |metrics, out| {
        out.add(&[], metrics.logs.files);
    }),
    gauge("ferrock_wal_bytes", &[], "Bytes of logs that are still needed.", |metrics, out| {
        out.add(&[], metrics.logs.bytes);
    }),
    gauge(
        "ferrock_write_condition",
        &["kind"],
        "1 for how writers are treated now: normal, delayed or stopped; 0 for the others.",
        conditions,
    ),
    gauge(
        "ferrock_delayed_write_bytes_per_second",
        &[],
        "Bytes a second that delayed writers get; 0 where none is delayed.",
        |metrics, out| out.add(&[], metrics.stalls.delayed_write_rate),
    ),
    counter(
        "ferrock_write_stall_seconds_total",
        &[],
        "Time for which writers were slowed down or stopped, of all causes.",
        |metrics, out| out.add(&[], seconds(metrics.writes.stall_us)),
    ),
    counter(
        "ferrock_writer_waits_total",
        &["cause", "kind"],
        "Waits of writers that are over, by cause; kind: delay or stop.",
        |metrics, out| {
            for_each_wait(metrics, |waits| {
                out.add(&[waits.cause.name(), "delay"], waits.delays);
                out.add(&[waits.cause.name(), "stop"], waits.stops);
            });
        },
    ),
    counter("ferrock_writer_wait_seconds_total", &["cause", "kind"], "Time of these waits.", |metrics, out| {
        for_each_wait(metrics, |waits| {
            out.add(&[waits.cause.name(), "delay"], seconds(waits.delay_us));
            out.add(&[waits.cause.name(), "stop"], seconds(waits.stop_us));
        });
    }),
    counter(
        "ferrock_write_memory_stops_total",
        &[],
        "Writes that began to wait for the memory of all memtables.",
        |metrics, out| out.add(&[], metrics.stalls.memory_stops),
    ),
    gauge(
        "ferrock_write_stall_proximity_ratio",
        &[],
        "The part of the way to the first slowdown of writers, of the family that is nearest; over 1 behind it.",
        |metrics, out| out.add(&[], f64::from(metrics.background.pressure.write_stall_proximity_pct) / 100.0),
    ),
    gauge(
        "ferrock_compaction_speedup",
        &[],
        "1 while writers are slowed down or stopped, or are about to be.",
        |metrics, out| out.add(&[], metrics.background.pressure.compaction_speedup_active),
    ),
    gauge("ferrock_running_flushes", &[], "Flushes that run.", |metrics, out| {
        out.add(&[], metrics.background.running_flushes);
    }),
    gauge("ferrock_running_compactions", &[], "Compactions that run.", |metrics, out| {
        out.add(&[], metrics.background.running_compactions);
    }),
    gauge(
        "ferrock_running_compaction_sorted_runs",
        &[],
        "Sorted runs that running compactions read.",
        |metrics, out| out.add(&[], metrics.background.running_sorted_runs),
    ),
    gauge(
        "ferrock_compaction_aborts",
        &[],
        "Calls that have compactions aborted and were not taken back.",
        |metrics, out| out.add(&[], metrics.background.compaction_aborts),
    ),
    counter("ferrock_background_errors_total", &[], "Background errors.", |metrics, out| {
        out.add(&[], metrics.background.errors);
    }),
    gauge("ferrock_background_error", &[], "1 while writes are stopped for an error.", |metrics, out| {
        out.add(&[], metrics.background.error.is_some());
    }),
    counter("ferrock_flushes_total", &[], "Flushes that ended.", |metrics, out| {
        out.add(&[], metrics.background.totals.flushes);
    }),
    counter("ferrock_flush_written_bytes_total", &[], "Bytes of tables that flushes wrote.", |metrics, out| {
        out.add(&[], metrics.background.totals.flush_bytes);
    }),
    counter("ferrock_flush_seconds_total", &[], "Time of flushes.", |metrics, out| {
        out.add(&[], seconds(metrics.background.totals.flush_us));
    }),
    counter("ferrock_compactions_total", &[], "Compactions that rewrote tables.", |metrics, out| {
        out.add(&[], metrics.background.totals.compactions);
    }),
    counter("ferrock_trivial_moves_total", &[], "Compactions that only moved tables.", |metrics, out| {
        out.add(&[], metrics.background.totals.trivial_moves);
    }),
    counter("ferrock_compaction_read_bytes_total", &[], "Bytes of tables that compactions read.", |metrics, out| {
        out.add(&[], metrics.background.totals.compaction_read_bytes);
    }),
    counter(
        "ferrock_compaction_written_bytes_total",
        &[],
        "Bytes of tables that compactions wrote.",
        |metrics, out| {
            out.add(&[], metrics.background.totals.compaction_write_bytes);
        },
    ),
    counter(
        "ferrock_compaction_copied_bytes_total",
        &[],
        "Bytes of blocks that compactions copied as they were stored.",
        |metrics, out| out.add(&[], metrics.background.totals.compaction_copied_bytes),
    ),
    counter("ferrock_compaction_seconds_total", &[], "Time of compactions.", |metrics, out| {
        out.add(&[], seconds(metrics.background.totals.compaction_us));
    }),
    counter(
        "ferrock_remote_compactions_total",
        &[],
        "Compactions of which another process brought the tables.",
        |metrics, out| out.add(&[], metrics.background.totals.remote_compactions),
    ),
    gauge("ferrock_snapshots", &[], "Snapshots that are held.", |metrics, out| {
        out.add(&[], metrics.snapshots.count);
    }),
    gauge(
        "ferrock_oldest_snapshot_sequence_number",
        &[],
        "The oldest sequence number that a snapshot holds; absent without a snapshot.",
        |metrics, out| {
            if let Some(sequence) = metrics.snapshots.oldest_sequence {
                out.add(&[], sequence.0);
            }
        },
    ),
    gauge("ferrock_oldest_snapshot_age_seconds", &[], "Age of the oldest snapshot; 0 without one.", |metrics, out| {
        out.add(&[], metrics.snapshots.oldest_age_seconds)
    }),
    gauge(
        "ferrock_snapshot_pinned_sequences",
        &[],
        "Sequence numbers that were given since the oldest snapshot: at most so many entries are kept for it.",
        |metrics, out| out.add(&[], metrics.snapshots.pinned_sequences),
    ),
];
