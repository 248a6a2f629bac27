//! The numbers of an open database: all of them as [`Metrics`], and those that properties tell one by one.
//!
//! No lock is held for longer than one number takes. Of the scheduler's, each family takes it twice, for a look; what a
//! writer takes otherwise, the lock of the logs, is taken once. The work grows with the number of tables.

use super::DbCore;
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::metrics::levels::FamilyJobs;
use crate::metrics::{
    BackgroundMetrics, CacheMetrics, FamilyMetrics, LevelMetrics, LogMetrics, MemtableMetrics, Metrics,
    SnapshotMetrics, StallMetrics, StoredBytes, stalls,
};
use crate::write::controller::StallCondition;
use ferrock_memtable::MemTable;
use ferrock_table::TableBlockCache;
use ferrock_tree::compaction::picker;
use ferrock_tree::version::Version;
use std::sync::Arc;

/// See [`Db::metrics`](super::Db::metrics).
pub(super) fn metrics(core: &DbCore) -> Metrics {
    let mut families: Vec<Arc<ColumnFamilyData>> = core.families.load().iter().map(Arc::clone).collect();
    families.sort_by_key(|data| data.id);
    Metrics {
        name: core.files.database().display().to_string(),
        uptime_us: core.metrics.uptime_us(core.env.clock.monotonic_us()),
        sequence: core.visible(),
        writes: core.metrics.counters().writes(),
        stalls: stall_metrics(core),
        background: background_metrics(core),
        snapshots: snapshot_metrics(core),
        memory: core.options.load().components.memory_budget.as_ref().map(|budget| budget.report()),
        block_cache: cache_metrics(core.reads.block_cache()),
        io: core.env.file_system.counters().snapshot(),
        logs: log_metrics(core),
        obsolete_table_bytes: obsolete_table_bytes(core),
        families: families.iter().map(|data| family_metrics(core, data)).collect(),
        statistics: core.metrics.statistics().map(|statistics| statistics.snapshot()),
    }
}

fn stall_metrics(core: &DbCore) -> StallMetrics {
    let controller = core.writes.controller();
    StallMetrics {
        condition: controller.condition().told(),
        delayed_write_rate: controller.actual_delayed_rate(),
        memory_stops: stalls::memory_stops(core.metrics.counters()),
        waits: core.metrics.waits().counts(),
    }
}

/// True while writers wait until flush or compaction have caught up.
pub(super) fn is_write_stopped(core: &DbCore) -> bool {
    core.writes.controller().condition() == StallCondition::Stopped
}

fn background_metrics(core: &DbCore) -> BackgroundMetrics {
    let counts = core.jobs.counts(0);
    BackgroundMetrics {
        running_flushes: counts.running_flushes,
        running_compactions: counts.running_compactions,
        running_sorted_runs: counts.running_sorted_runs,
        jobs: core.metrics.running().now(core.env.clock.monotonic_us()),
        compaction_aborts: core.jobs.num_aborts(),
        errors: counts.errors,
        error: core.jobs.standing_error(),
        pressure: core.jobs.pressure(),
        totals: core.metrics.counters().job_totals(),
    }
}

/// The snapshots that are held.
pub(super) fn snapshot_metrics(core: &DbCore) -> SnapshotMetrics {
    let (count, oldest) = core.reads.snapshots().summary();
    let Some((sequence, unix_seconds)) = oldest else { return SnapshotMetrics::default() };
    SnapshotMetrics {
        count,
        oldest_sequence: Some(sequence),
        oldest_unix_seconds: Some(unix_seconds),
        oldest_age_seconds: core.env.clock.unix_seconds().saturating_sub(unix_seconds),
        pinned_sequences: core.visible().0.saturating_sub(sequence.0),
    }
}

/// What a cache holds and did.
pub(super) fn cache_metrics(cache: &TableBlockCache) -> CacheMetrics {
    CacheMetrics {
        capacity_bytes: cache.capacity(),
        usage_bytes: cache.usage(),
        pinned_bytes: cache.pinned_usage(),
        stats: cache.stats(),
    }
}

fn log_metrics(core: &DbCore) -> LogMetrics {
    let size = core.writes.logs().size();
    LogMetrics { files: size.files, bytes: size.bytes }
}

/// Bytes of tables that only readers hold.
pub(super) fn obsolete_table_bytes(core: &DbCore) -> u64 {
    core.versions.live_files().zombie_tables.values().sum()
}

fn family_metrics(core: &DbCore, data: &Arc<ColumnFamilyData>) -> FamilyMetrics {
    let pinned = data.super_version.load();
    let jobs = data.jobs.now();
    let held = core.versions.held_by(data.id);
    let own_cache = pinned.options.block_cache.as_deref();
    FamilyMetrics {
        id: data.id,
        name: data.name.clone(),
        levels: levels(&pinned, &jobs),
        flushes: jobs.flushes,
        compactions: jobs.compactions,
        memtables: memtables(&pinned),
        is_flush_pending: core.jobs.counts(data.id).is_flush_pending,
        is_compaction_pending: core.jobs.is_compaction_due(data.id),
        pending_compaction_bytes: pinned.version.estimated_compaction_needed_bytes(&pinned.options),
        estimated_keys: estimated_keys(&pinned),
        live_data_bytes: pinned.version.estimated_live_data_size_bytes(),
        tables: StoredBytes { held_bytes: held.table_bytes, ..tables(&pinned.version) },
        table_reader_bytes: table_reader_bytes(data, &pinned.version),
        blobs: StoredBytes { held_bytes: held.blob_file_bytes, ..blob_files(&pinned.version) },
        blob_garbage_bytes: blob_garbage_bytes(&pinned.version),
        live_versions: held.versions,
        stalls: data.stalls.counts(),
        block_cache: own_cache.map(cache_metrics),
        blob_cache: data.blob_cache.as_ref().map(|cache| cache_metrics(cache.cache())),
    }
}

/// The levels of a version, with what jobs wrote into them.
pub(super) fn levels(pinned: &SuperVersion, jobs: &FamilyJobs) -> Vec<LevelMetrics> {
    let version = &pinned.version;
    let scores = picker::compaction_scores(version, &pinned.options);
    let of_level = |level: usize| {
        let compacting = version.level(level).iter().filter(|file| file.is_being_compacted());
        let (files_compacting, bytes_compacting) =
            compacting.fold((0, 0), |(files, bytes), file| (files + 1, bytes + file.size_bytes));
        let own_jobs = jobs.levels.get(level).copied().unwrap_or_default();
        LevelMetrics {
            level,
            files: version.level(level).len(),
            bytes: version.level_size_bytes(level),
            files_compacting,
            bytes_compacting,
            score: scores.iter().find(|score| score.level == level).map_or(0.0, |score| score.score),
            target_bytes: Some(version.targets().max_bytes(level)).filter(|bytes| *bytes != u64::MAX),
            jobs: own_jobs,
            write_amplification: own_jobs.write_amplification(jobs.bytes_into(level)),
        }
    };
    (0..version.num_levels()).map(of_level).collect()
}

/// The memtables that readers see.
pub(super) fn memtables(pinned: &SuperVersion) -> MemtableMetrics {
    let sum = |of: fn(&MemTable) -> u64| pinned.immutable.iter().map(|memtable| of(memtable)).sum();
    let bytes = |memtable: &MemTable| memtable.approximate_memory_bytes() as u64;
    MemtableMetrics {
        active_bytes: bytes(&pinned.memtable),
        active_entries: pinned.memtable.num_entries(),
        active_deletes: pinned.memtable.num_deletes(),
        immutable_count: pinned.immutable.len() as u64,
        immutable_bytes: sum(bytes),
        immutable_entries: sum(MemTable::num_entries),
        immutable_deletes: sum(MemTable::num_deletes),
    }
}

/// Keys of memtables and tables: a tombstone hides one key and is an entry itself.
pub(super) fn estimated_keys(pinned: &SuperVersion) -> u64 {
    let memtables = || std::iter::once(&pinned.memtable).chain(&pinned.immutable);
    let entries: u64 = memtables().map(|memtable| memtable.num_entries()).sum();
    let deletions: u64 = memtables().map(|memtable| memtable.num_deletes()).sum();
    (pinned.version.estimated_num_keys() + entries).saturating_sub(deletions.saturating_mul(2))
}

/// The tables of a version.
pub(super) fn tables(version: &Version) -> StoredBytes {
    let bytes = version.files().map(|(_, file)| file.size_bytes).sum();
    StoredBytes { files: version.num_files() as u64, bytes, held_bytes: bytes }
}

/// The blob files of a version.
pub(super) fn blob_files(version: &Version) -> StoredBytes {
    let files = version.blob_files();
    let bytes = files.values().map(|file| file.file_size_bytes()).sum();
    StoredBytes { files: files.len() as u64, bytes, held_bytes: bytes }
}

/// Bytes of blob files that no table refers to.
pub(super) fn blob_garbage_bytes(version: &Version) -> u64 {
    version.blob_files().values().map(|file| file.garbage_blob_bytes).sum()
}

/// Memory of the tables of a version that are open.
pub(super) fn table_reader_bytes(data: &ColumnFamilyData, version: &Version) -> u64 {
    let open = version.files().filter_map(|(_, file)| data.table_cache.get_if_open(file));
    open.map(|table| table.memory_bytes() as u64).sum()
}
