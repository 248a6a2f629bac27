//! `Metrics` as JSON: the fields under their names, units at their ends.

use crate::source::View;
use ferrock::Error;
use ferrock::metrics::{
    CacheMetrics, EntryRole, FamilyMetrics, JobMetrics, LevelMetrics, Metrics, ReadClass, RunningJob,
    StatisticsSnapshot, WritePurpose,
};
use serde_json::{Map, Value, json};

/// Expands to an object of the fields that are named, under their names.
macro_rules! fields {
    ($of:expr; $($field:ident),* $(,)?) => { json!({ $(stringify!($field): $of.$field),* }) };
}

/// All numbers of a database.
pub(crate) fn metrics(view: &View, metrics: &Metrics) -> Value {
    let debt_bytes: u64 = metrics.families.iter().map(|family| family.pending_compaction_bytes).sum();
    json!({
        "name": metrics.name,
        "is_live": view.is_live,
        "as_of_us": view.as_of_us,
        "uptime_us": metrics.uptime_us,
        "sequence": metrics.sequence.0,
        "debt_bytes": debt_bytes,
        "writes": fields!(metrics.writes; batches, unlogged_batches, keys, groups, parallel_groups, bytes, wal_bytes,
            wal_syncs, stall_us),
        "stalls": stalls(metrics),
        "background": background(metrics),
        "snapshots": {
            "count": metrics.snapshots.count,
            "oldest_age_seconds": metrics.snapshots.oldest_age_seconds,
            "pinned_sequences": metrics.snapshots.pinned_sequences,
        },
        "memory": memory(metrics),
        "block_cache": cache(&metrics.block_cache),
        "io": io(metrics),
        "logs": fields!(metrics.logs; files, bytes),
        "obsolete_table_bytes": metrics.obsolete_table_bytes,
        "families": metrics.families.iter().map(family).collect::<Vec<_>>(),
        "statistics": metrics.statistics.as_ref().map(statistics),
    })
}

/// An error: its kind, all of its text, the file and the offset in it, and what to do.
pub(crate) fn error(error: &Error) -> Value {
    json!({
        "kind": error.kind().name(),
        "message": error.to_string(),
        "file": error.file().map(|file| file.display().to_string()),
        "offset": error.offset(),
        "remedy": remedy(error),
    })
}

fn remedy(error: &Error) -> &'static str {
    if error.is_corruption() {
        "Copy the directory before anything else. Then bring back the file from a backup. For a damaged log, `ferrock \
         digest DIR --wal-recovery-mode MODE` shows what other rules would keep; a MANIFEST can be rebuilt from the \
         tables by the `repair` of RocksDB's own `ldb`."
    } else if error.is_not_found() {
        "Check that this is the directory of a database and that no file of it was moved away: CURRENT names the \
         MANIFEST, and that every table."
    } else {
        "Check that this process may read the directory and its files, and what the error says of them."
    }
}

fn stalls(metrics: &Metrics) -> Value {
    let stalls = &metrics.stalls;
    let waits = stalls.waits.iter().map(|waits| {
        json!({
            "cause": waits.cause.name(),
            "delays": waits.delays,
            "delay_us": waits.delay_us,
            "stops": waits.stops,
            "stop_us": waits.stop_us,
        })
    });
    json!({
        "condition": stalls.condition.name(),
        "delayed_write_rate": stalls.delayed_write_rate,
        "memory_stops": stalls.memory_stops,
        "waits": waits.collect::<Vec<_>>(),
    })
}

fn background(metrics: &Metrics) -> Value {
    let background = &metrics.background;
    json!({
        "running_flushes": background.running_flushes,
        "running_compactions": background.running_compactions,
        "running_sorted_runs": background.running_sorted_runs,
        "jobs": background.jobs.iter().map(running_job).collect::<Vec<_>>(),
        "errors": background.errors,
        "error": background.error.as_ref().map(error),
        "write_stall_proximity_pct": background.pressure.write_stall_proximity_pct,
        "totals": fields!(background.totals; flushes, flush_bytes, flush_us, compactions, trivial_moves,
            compaction_read_bytes, compaction_write_bytes, compaction_copied_bytes, compaction_us,
            remote_compactions),
    })
}

fn running_job(job: &RunningJob) -> Value {
    let mut value = fields!(job; job_id, thread_id, family, reason, is_manual, start_level, output_level, inputs,
        input_bytes, written_bytes, elapsed_us);
    value["kind"] = job.kind.name().into();
    value["stage"] = job.stage.name().into();
    value
}

/// The holders of the budget, or without one what can be told apart all the same: memtables, open tables, the block
/// cache by kind.
fn memory(metrics: &Metrics) -> Value {
    let holder = |name: &str, bytes: u64| json!({ "name": name, "bytes": bytes });
    if let Some(report) = &metrics.memory {
        let holders = report.holders.iter().map(|of| holder(of.name, of.bytes as u64));
        return json!({ "budget_bytes": report.budget_bytes, "holders": holders.collect::<Vec<_>>() });
    }
    let families = &metrics.families;
    let mut holders = vec![
        holder("memtables", families.iter().map(|family| family.memtables.bytes()).sum()),
        holder("open tables", families.iter().map(|family| family.table_reader_bytes).sum()),
    ];
    for role in EntryRole::ALL {
        let bytes = metrics.block_cache.stats.role(role).usage_bytes as u64;
        if bytes > 0 {
            holders.push(holder(&format!("block cache: {}", role.name()), bytes));
        }
    }
    json!({ "budget_bytes": null, "holders": holders })
}

fn cache(cache: &CacheMetrics) -> Value {
    let kinds = EntryRole::ALL.into_iter().filter_map(|role| {
        let stats = cache.stats.role(role);
        let is_used = stats.hits + stats.misses + stats.inserts > 0 || stats.usage_bytes > 0;
        is_used.then(|| {
            json!({
                "kind": role.name(),
                "hits": stats.hits,
                "misses": stats.misses,
                "inserts": stats.inserts,
                "evictions": stats.evictions,
                "rejections": stats.rejections,
                "entries": stats.entry_count,
                "usage_bytes": stats.usage_bytes,
            })
        })
    });
    json!({
        "capacity_bytes": cache.capacity_bytes,
        "usage_bytes": cache.usage_bytes,
        "pinned_bytes": cache.pinned_bytes,
        "kinds": kinds.collect::<Vec<_>>(),
    })
}

fn io(metrics: &Metrics) -> Value {
    let io = &metrics.io;
    let mut value = fields!(io; read_requests, read_bytes, read_calls, mapped_read_requests, mapped_read_bytes,
        batches, batch_requests, opens, removes);
    value["append_bytes"] = json!(io.append_bytes());
    value["syncs"] = json!(io.syncs());
    value["data_reads"] = json!(io.class(ReadClass::Data).requests);
    value["table_append_bytes"] = json!(io.purpose(WritePurpose::Table).append_bytes);
    value
}

fn jobs(jobs: &JobMetrics) -> Value {
    fields!(jobs; jobs, read_above_bytes, read_there_bytes, written_bytes, uncompressed_bytes, moved_bytes,
        blob_read_bytes, blob_written_bytes, entries, dropped, us, cpu_us)
}

fn level(level: &LevelMetrics) -> Value {
    let mut value = fields!(level; level, files, bytes, files_compacting, bytes_compacting, score, target_bytes,
        write_amplification);
    value["jobs"] = jobs(&level.jobs);
    value
}

fn family(family: &FamilyMetrics) -> Value {
    let mut value = fields!(family; id, name, is_flush_pending, is_compaction_pending, pending_compaction_bytes,
        estimated_keys, live_data_bytes, table_reader_bytes, blob_garbage_bytes, live_versions);
    let fields = json!({
        "levels": family.levels.iter().map(level).collect::<Vec<_>>(),
        "flushes": jobs(&family.flushes),
        "compactions": jobs(&family.compactions),
        "write_amplification": family.write_amplification(),
        "space_amplification": family.space_amplification(),
        "sorted_runs": family.sorted_runs(),
        "memtables": fields!(family.memtables; active_bytes, active_entries, active_deletes, immutable_count,
            immutable_bytes, immutable_entries, immutable_deletes),
        "tables": fields!(family.tables; files, bytes, held_bytes),
        "blobs": fields!(family.blobs; files, bytes, held_bytes),
        "stalls": fields!(family.stalls; memtable_stops, memtable_delays, level0_stops, level0_delays,
            level0_stops_while_compacting, level0_delays_while_compacting, pending_bytes_stops,
            pending_bytes_delays),
        "block_cache": family.block_cache.as_ref().map(cache),
        "blob_cache": family.blob_cache.as_ref().map(cache),
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut value, fields) {
        all.extend(more);
    }
    value
}

/// Those that are not zero.
fn statistics(statistics: &StatisticsSnapshot) -> Value {
    let tickers = statistics.tickers.iter().filter(|(_, value)| *value > 0);
    let tickers: Map<String, Value> = tickers.map(|(ticker, value)| (ticker.name().to_owned(), json!(value))).collect();
    let histograms = statistics.histograms.iter().filter(|(_, data)| data.count() > 0);
    let histograms: Map<String, Value> = histograms
        .map(|(histogram, data)| {
            let value = json!({
                "count": data.count(),
                "sum": data.sum(),
                "average": data.average(),
                "p50": data.median(),
                "p95": data.percentile(95.0),
                "p99": data.percentile(99.0),
                "max": data.max(),
            });
            (histogram.name().to_owned(), value)
        })
        .collect();
    json!({ "tickers": tickers, "histograms": histograms })
}
