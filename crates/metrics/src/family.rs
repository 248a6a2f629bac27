//! Metrics of column families and of their levels.

use crate::definition::{Definition, Samples, Value, counter, gauge, seconds};
use ferrock_engine::metrics::{CacheMetrics, FamilyMetrics, FamilyStalls, JobMetrics, LevelMetrics, Metrics};

fn families<V: Into<Value>>(metrics: &Metrics, out: &mut Samples<'_>, of: fn(&FamilyMetrics) -> V) {
    metrics.families.iter().for_each(|family| out.add(&[&family.name], of(family)));
}

/// Two numbers of each family, each with its kind.
fn pairs<V: Into<Value>>(
    metrics: &Metrics,
    out: &mut Samples<'_>,
    kinds: [&str; 2],
    of: impl Fn(&FamilyMetrics) -> [V; 2],
) {
    for family in &metrics.families {
        for (kind, value) in kinds.into_iter().zip(of(family)) {
            out.add(&[&family.name, kind], value);
        }
    }
}

fn memtables(metrics: &Metrics, out: &mut Samples<'_>, of: fn(&FamilyMetrics) -> [u64; 2]) {
    pairs(metrics, out, ["active", "immutable"], of);
}

fn jobs<V: Into<Value>>(metrics: &Metrics, out: &mut Samples<'_>, of: fn(&JobMetrics) -> V) {
    pairs(metrics, out, ["flush", "compaction"], |family| [of(&family.flushes), of(&family.compactions)]);
}

fn levels<V: Into<Value>>(metrics: &Metrics, out: &mut Samples<'_>, of: fn(&LevelMetrics) -> V) {
    for family in &metrics.families {
        family.levels.iter().for_each(|level| out.add(&[&family.name, &level.level.to_string()], of(level)));
    }
}

fn stalls(metrics: &Metrics, out: &mut Samples<'_>) {
    for family in &metrics.families {
        let FamilyStalls { memtable_stops, memtable_delays, level0_stops, level0_delays, .. } = family.stalls;
        for (cause, delays, stops) in [
            ("memtables", memtable_delays, memtable_stops),
            ("level0_files", level0_delays, level0_stops),
            ("pending_compaction_bytes", family.stalls.pending_bytes_delays, family.stalls.pending_bytes_stops),
        ] {
            out.add(&[&family.name, cause, "delay"], delays);
            out.add(&[&family.name, cause, "stop"], stops);
        }
    }
}

fn blob_caches(metrics: &Metrics, out: &mut Samples<'_>, of: fn(&CacheMetrics) -> usize) {
    for family in &metrics.families {
        if let Some(cache) = &family.blob_cache {
            out.add(&[&family.name], of(cache));
        }
    }
}

/// In the order of a page.
pub(crate) const TABLE: &[Definition] = &[
    gauge("ferrock_level_files", &["cf", "level"], "Tables of a level.", |metrics, out| {
        levels(metrics, out, |level| level.files);
    }),
    gauge("ferrock_level_bytes", &["cf", "level"], "Bytes of the tables of a level.", |metrics, out| {
        levels(metrics, out, |level| level.bytes);
    }),
    gauge(
        "ferrock_level_compacting_files",
        &["cf", "level"],
        "Tables of a level that running compactions read.",
        |metrics, out| levels(metrics, out, |level| level.files_compacting),
    ),
    gauge(
        "ferrock_level_compacting_bytes",
        &["cf", "level"],
        "Bytes of the tables of a level that running compactions read.",
        |metrics, out| levels(metrics, out, |level| level.bytes_compacting),
    ),
    gauge(
        "ferrock_level_score",
        &["cf", "level"],
        "How urgent a compaction of a level is: from 1 on it is due.",
        |metrics, out| levels(metrics, out, |level| level.score),
    ),
    gauge(
        "ferrock_level_target_bytes",
        &["cf", "level"],
        "Bytes that a level may hold before data moves down; absent without a limit.",
        |metrics, out| {
            for family in &metrics.families {
                for level in &family.levels {
                    if let Some(bytes) = level.target_bytes {
                        out.add(&[&family.name, &level.level.to_string()], bytes);
                    }
                }
            }
        },
    ),
    counter("ferrock_level_jobs_total", &["cf", "level"], "Jobs that wrote tables into a level.", |metrics, out| {
        levels(metrics, out, |level| level.jobs.jobs);
    }),
    counter(
        "ferrock_level_read_above_bytes_total",
        &["cf", "level"],
        "Bytes of tables of upper levels that jobs which wrote into a level read.",
        |metrics, out| levels(metrics, out, |level| level.jobs.read_above_bytes),
    ),
    counter(
        "ferrock_level_read_there_bytes_total",
        &["cf", "level"],
        "Bytes of tables of the level itself that these jobs read.",
        |metrics, out| levels(metrics, out, |level| level.jobs.read_there_bytes),
    ),
    counter(
        "ferrock_level_written_bytes_total",
        &["cf", "level"],
        "Bytes of tables that jobs wrote into a level.",
        |metrics, out| levels(metrics, out, |level| level.jobs.written_bytes),
    ),
    counter(
        "ferrock_level_uncompressed_written_bytes_total",
        &["cf", "level"],
        "The same as they would be had no data block been compressed.",
        |metrics, out| levels(metrics, out, |level| level.jobs.uncompressed_bytes),
    ),
    counter(
        "ferrock_level_blob_read_bytes_total",
        &["cf", "level"],
        "Bytes of records of blob files that these jobs read.",
        |metrics, out| levels(metrics, out, |level| level.jobs.blob_read_bytes),
    ),
    counter(
        "ferrock_level_blob_written_bytes_total",
        &["cf", "level"],
        "Bytes of blob files that these jobs wrote.",
        |metrics, out| levels(metrics, out, |level| level.jobs.blob_written_bytes),
    ),
    counter(
        "ferrock_level_moved_bytes_total",
        &["cf", "level"],
        "Bytes of tables that only moved into a level.",
        |metrics, out| levels(metrics, out, |level| level.jobs.moved_bytes),
    ),
    counter(
        "ferrock_level_entries_total",
        &["cf", "level"],
        "Entries that jobs which wrote into a level read.",
        |metrics, out| levels(metrics, out, |level| level.jobs.entries),
    ),
    counter(
        "ferrock_level_dropped_entries_total",
        &["cf", "level"],
        "Of these, entries that came to nothing.",
        |metrics, out| levels(metrics, out, |level| level.jobs.dropped),
    ),
    counter(
        "ferrock_level_job_seconds_total",
        &["cf", "level"],
        "Time of jobs that wrote into a level.",
        |metrics, out| levels(metrics, out, |level| seconds(level.jobs.us)),
    ),
    counter(
        "ferrock_level_job_cpu_seconds_total",
        &["cf", "level"],
        "Time that these jobs took of the processor, of all their threads.",
        |metrics, out| levels(metrics, out, |level| seconds(level.jobs.cpu_us)),
    ),
    gauge(
        "ferrock_level_write_amplification",
        &["cf", "level"],
        "Bytes written into a level for each that came from above since the open; 0 without any.",
        |metrics, out| levels(metrics, out, |level| level.write_amplification),
    ),
    counter("ferrock_jobs_total", &["cf", "kind"], "Jobs that wrote tables: flush or compaction.", |metrics, out| {
        jobs(metrics, out, |jobs| jobs.jobs);
    }),
    counter(
        "ferrock_job_read_bytes_total",
        &["cf", "kind"],
        "Bytes of tables and blob files that jobs read.",
        |metrics, out| {
            jobs(metrics, out, JobMetrics::read_bytes);
        },
    ),
    counter(
        "ferrock_job_written_bytes_total",
        &["cf", "kind"],
        "Bytes of tables and blob files that jobs wrote.",
        |metrics, out| jobs(metrics, out, JobMetrics::all_written_bytes),
    ),
    counter("ferrock_job_entries_total", &["cf", "kind"], "Entries that jobs read.", |metrics, out| {
        jobs(metrics, out, |jobs| jobs.entries);
    }),
    counter(
        "ferrock_job_dropped_entries_total",
        &["cf", "kind"],
        "Of these, entries that came to nothing.",
        |metrics, out| jobs(metrics, out, |jobs| jobs.dropped),
    ),
    counter("ferrock_job_seconds_total", &["cf", "kind"], "Time of jobs.", |metrics, out| {
        jobs(metrics, out, |jobs| seconds(jobs.us));
    }),
    gauge(
        "ferrock_write_amplification",
        &["cf"],
        "Bytes that jobs wrote for each that flushes wrote, since the open; 0 before the first flush.",
        |metrics, out| families(metrics, out, FamilyMetrics::write_amplification),
    ),
    gauge(
        "ferrock_space_amplification",
        &["cf"],
        "Bytes of files for each byte that is alive: an estimate, 0 without files.",
        |metrics, out| families(metrics, out, FamilyMetrics::space_amplification),
    ),
    gauge(
        "ferrock_sorted_runs",
        &["cf"],
        "Sorted runs of tables: what a lookup without filters may have to search.",
        |metrics, out| families(metrics, out, FamilyMetrics::sorted_runs),
    ),
    gauge(
        "ferrock_memtable_bytes",
        &["cf", "kind"],
        "Memory of memtables: active, or immutable, which wait for their flush.",
        |metrics, out| {
            memtables(metrics, out, |family| [family.memtables.active_bytes, family.memtables.immutable_bytes]);
        },
    ),
    gauge("ferrock_memtable_entries", &["cf", "kind"], "Entries of memtables.", |metrics, out| {
        memtables(metrics, out, |family| [family.memtables.active_entries, family.memtables.immutable_entries]);
    }),
    gauge("ferrock_memtable_deletes", &["cf", "kind"], "Deletions among these.", |metrics, out| {
        memtables(metrics, out, |family| [family.memtables.active_deletes, family.memtables.immutable_deletes]);
    }),
    gauge("ferrock_immutable_memtables", &["cf"], "Memtables that wait for their flush.", |metrics, out| {
        families(metrics, out, |family| family.memtables.immutable_count);
    }),
    gauge("ferrock_flush_pending", &["cf"], "1 while a full memtable waits for a flush to begin.", |metrics, out| {
        families(metrics, out, |family| family.is_flush_pending);
    }),
    gauge(
        "ferrock_compaction_pending",
        &["cf"],
        "1 while an automatic compaction is due and does not run.",
        |metrics, out| families(metrics, out, |family| family.is_compaction_pending),
    ),
    gauge(
        "ferrock_pending_compaction_bytes",
        &["cf"],
        "Bytes that compactions must rewrite until no level is too large: an estimate.",
        |metrics, out| families(metrics, out, |family| family.pending_compaction_bytes),
    ),
    gauge("ferrock_estimated_keys", &["cf"], "Keys that a scan would find: an estimate.", |metrics, out| {
        families(metrics, out, |family| family.estimated_keys);
    }),
    gauge(
        "ferrock_live_data_bytes",
        &["cf"],
        "Bytes of tables that a scan would read, and of records of blob files that are no garbage: an estimate.",
        |metrics, out| families(metrics, out, |family| family.live_data_bytes),
    ),
    gauge("ferrock_table_files", &["cf"], "Tables.", |metrics, out| {
        families(metrics, out, |family| family.tables.files);
    }),
    gauge("ferrock_table_bytes", &["cf"], "Bytes of tables.", |metrics, out| {
        families(metrics, out, |family| family.tables.bytes);
    }),
    gauge(
        "ferrock_table_held_bytes",
        &["cf"],
        "Bytes of tables, those that only readers hold included.",
        |metrics, out| families(metrics, out, |family| family.tables.held_bytes),
    ),
    gauge(
        "ferrock_table_reader_bytes",
        &["cf"],
        "Memory of open tables, blocks in a cache not counted.",
        |metrics, out| families(metrics, out, |family| family.table_reader_bytes),
    ),
    gauge("ferrock_blob_files", &["cf"], "Blob files.", |metrics, out| {
        families(metrics, out, |family| family.blobs.files);
    }),
    gauge("ferrock_blob_bytes", &["cf"], "Bytes of blob files.", |metrics, out| {
        families(metrics, out, |family| family.blobs.bytes);
    }),
    gauge(
        "ferrock_blob_held_bytes",
        &["cf"],
        "Bytes of blob files, those that only readers hold included.",
        |metrics, out| families(metrics, out, |family| family.blobs.held_bytes),
    ),
    gauge(
        "ferrock_blob_garbage_bytes",
        &["cf"],
        "Bytes of blob files that no table refers to any more.",
        |metrics, out| families(metrics, out, |family| family.blob_garbage_bytes),
    ),
    gauge(
        "ferrock_live_versions",
        &["cf"],
        "Versions of the tree that are current or held by readers.",
        |metrics, out| families(metrics, out, |family| family.live_versions),
    ),
    counter(
        "ferrock_stall_conditions_total",
        &["cf", "cause", "kind"],
        "How often a family was found to slow writers down (delay) or to stop them (stop), by cause.",
        stalls,
    ),
    gauge(
        "ferrock_blob_cache_capacity_bytes",
        &["cf"],
        "Bytes that the cache of values of blob files may hold; absent without one.",
        |metrics, out| blob_caches(metrics, out, |cache| cache.capacity_bytes),
    ),
    gauge("ferrock_blob_cache_usage_bytes", &["cf"], "Bytes that it holds.", |metrics, out| {
        blob_caches(metrics, out, |cache| cache.usage_bytes)
    }),
    gauge("ferrock_blob_cache_pinned_bytes", &["cf"], "Bytes of its entries that are in use.", |metrics, out| {
        blob_caches(metrics, out, |cache| cache.pinned_bytes)
    }),
];
