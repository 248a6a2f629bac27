//! Metrics of memory, block caches and the file system.

use crate::definition::{Definition, Samples, Value, counter, gauge};
use ferrock_engine::metrics::{
    CacheMetrics, ClassSnapshot, EntryRole, IoSnapshot, Metrics, PurposeSnapshot, ReadClass, RoleStats, WritePurpose,
};

/// The database's cache without a label, and those that families have of their own, each with its family.
fn for_each_cache(metrics: &Metrics, mut then: impl FnMut(&str, &CacheMetrics)) {
    then("", &metrics.block_cache);
    for family in &metrics.families {
        if let Some(cache) = &family.block_cache {
            then(&family.name, cache);
        }
    }
}

fn caches(metrics: &Metrics, out: &mut Samples<'_>, of: fn(&CacheMetrics) -> usize) {
    for_each_cache(metrics, |family, cache| out.add(&[family], of(cache)));
}

fn roles<V: Into<Value>>(metrics: &Metrics, out: &mut Samples<'_>, of: fn(&RoleStats) -> V) {
    for_each_cache(metrics, |family, cache| {
        EntryRole::ALL.into_iter().for_each(|role| out.add(&[family, role.name()], of(cache.stats.role(role))));
    });
}

fn classes(metrics: &Metrics, out: &mut Samples<'_>, of: fn(&ClassSnapshot) -> u64) {
    ReadClass::ALL.into_iter().for_each(|class| out.add(&[class.name()], of(&metrics.io.class(class))));
}

fn purposes(metrics: &Metrics, out: &mut Samples<'_>, of: fn(&PurposeSnapshot) -> u64) {
    WritePurpose::ALL.into_iter().for_each(|purpose| out.add(&[purpose.name()], of(&metrics.io.purpose(purpose))));
}

fn operations(metrics: &Metrics, out: &mut Samples<'_>) {
    let IoSnapshot { opens, removes, renames, links, truncates, dir_syncs, dir_lists, metadata, .. } = metrics.io;
    for (kind, count) in [
        ("open", opens),
        ("remove", removes),
        ("rename", renames),
        ("link", links),
        ("truncate", truncates),
        ("directory_sync", dir_syncs),
        ("directory_list", dir_lists),
        ("metadata", metadata),
    ] {
        out.add(&[kind], count);
    }
}

/// In the order of a page.
pub(crate) const TABLE: &[Definition] = &[
    gauge("ferrock_memory_budget_bytes", &[], "The memory budget; absent without one.", |metrics, out| {
        if let Some(report) = &metrics.memory {
            out.add(&[], report.budget_bytes);
        }
    }),
    gauge(
        "ferrock_memory_held_bytes",
        &["holder"],
        "What holds the memory of the budget; absent without one.",
        |metrics, out| {
            let holders = metrics.memory.iter().flat_map(|report| &report.holders);
            holders.for_each(|holder| out.add(&[holder.name], holder.bytes));
        },
    ),
    gauge(
        "ferrock_block_cache_capacity_bytes",
        &["cf"],
        "Bytes that a block cache may hold. Without cf: that of all families that have none of their own.",
        |metrics, out| caches(metrics, out, |cache| cache.capacity_bytes),
    ),
    gauge(
        "ferrock_block_cache_usage_bytes",
        &["cf"],
        "Bytes that a block cache holds, reservations included.",
        |metrics, out| caches(metrics, out, |cache| cache.usage_bytes),
    ),
    gauge(
        "ferrock_block_cache_pinned_bytes",
        &["cf"],
        "Bytes of entries of a block cache that are in use.",
        |metrics, out| caches(metrics, out, |cache| cache.pinned_bytes),
    ),
    counter(
        "ferrock_block_cache_hits_total",
        &["cf", "kind"],
        "Lookups in a block cache that found their entry, by kind of entry.",
        |metrics, out| roles(metrics, out, |role| role.hits),
    ),
    counter(
        "ferrock_block_cache_misses_total",
        &["cf", "kind"],
        "Lookups in a block cache that found nothing.",
        |metrics, out| roles(metrics, out, |role| role.misses),
    ),
    counter(
        "ferrock_block_cache_inserts_total",
        &["cf", "kind"],
        "Entries that were put into a block cache.",
        |metrics, out| roles(metrics, out, |role| role.inserts),
    ),
    counter(
        "ferrock_block_cache_rejections_total",
        &["cf", "kind"],
        "Entries that a block cache with a strict capacity refused.",
        |metrics, out| roles(metrics, out, |role| role.rejections),
    ),
    counter(
        "ferrock_block_cache_evictions_total",
        &["cf", "kind"],
        "Entries that left a block cache for others.",
        |metrics, out| roles(metrics, out, |role| role.evictions),
    ),
    gauge("ferrock_block_cache_entries", &["cf", "kind"], "Entries of a block cache.", |metrics, out| {
        roles(metrics, out, |role| role.entry_count)
    }),
    gauge(
        "ferrock_block_cache_held_bytes",
        &["cf", "kind"],
        "Bytes of entries of a block cache, and of reservations in it.",
        |metrics, out| roles(metrics, out, |role| role.usage_bytes),
    ),
    gauge(
        "ferrock_obsolete_table_bytes",
        &[],
        "Bytes of tables that only readers of an older state keep.",
        |metrics, out| out.add(&[], metrics.obsolete_table_bytes),
    ),
    counter(
        "ferrock_io_read_requests_total",
        &[],
        "Reads that were asked for, of all databases that share the file system; those of mapped files not counted.",
        |metrics, out| out.add(&[], metrics.io.read_requests),
    ),
    counter("ferrock_io_read_bytes_total", &[], "Bytes that these reads returned.", |metrics, out| {
        out.add(&[], metrics.io.read_bytes);
    }),
    counter("ferrock_io_read_calls_total", &[], "System calls that they took.", |metrics, out| {
        out.add(&[], metrics.io.read_calls);
    }),
    counter("ferrock_io_mapped_read_requests_total", &[], "Reads of mapped files.", |metrics, out| {
        out.add(&[], metrics.io.mapped_read_requests);
    }),
    counter("ferrock_io_mapped_read_bytes_total", &[], "Bytes that these returned.", |metrics, out| {
        out.add(&[], metrics.io.mapped_read_bytes);
    }),
    counter("ferrock_io_batches_total", &[], "Sets of reads that were made together.", |metrics, out| {
        out.add(&[], metrics.io.batches);
    }),
    counter("ferrock_io_batch_requests_total", &[], "Reads of these sets.", |metrics, out| {
        out.add(&[], metrics.io.batch_requests);
    }),
    counter(
        "ferrock_io_class_requests_total",
        &["kind"],
        "Requests of reads that went to the device or the page cache, by what they read.",
        |metrics, out| classes(metrics, out, |class| class.requests),
    ),
    counter("ferrock_io_class_asked_bytes_total", &["kind"], "Bytes of them that were asked for.", |metrics, out| {
        classes(metrics, out, |class| class.asked_bytes)
    }),
    counter(
        "ferrock_io_class_device_bytes_total",
        &["kind"],
        "Bytes that they spanned, with alignment and gaps.",
        |metrics, out| classes(metrics, out, |class| class.device_bytes),
    ),
    counter(
        "ferrock_io_windows_waited_total",
        &[],
        "Reads ahead that were not complete when a thread waited for them.",
        |metrics, out| out.add(&[], metrics.io.windows_waited),
    ),
    counter(
        "ferrock_io_windows_discarded_total",
        &[],
        "Reads ahead that were thrown away with unused bytes.",
        |metrics, out| out.add(&[], metrics.io.windows_discarded),
    ),
    counter("ferrock_io_discarded_bytes_total", &[], "These bytes.", |metrics, out| {
        out.add(&[], metrics.io.discarded_bytes);
    }),
    counter(
        "ferrock_io_append_requests_total",
        &["kind"],
        "Appends to files, by what they are for.",
        |metrics, out| purposes(metrics, out, |purpose| purpose.append_requests),
    ),
    counter("ferrock_io_append_bytes_total", &["kind"], "Bytes of these appends.", |metrics, out| {
        purposes(metrics, out, |purpose| purpose.append_bytes)
    }),
    counter("ferrock_io_write_calls_total", &["kind"], "System calls that wrote.", |metrics, out| {
        purposes(metrics, out, |purpose| purpose.write_calls)
    }),
    counter("ferrock_io_written_bytes_total", &["kind"], "Bytes that they wrote, padding included.", |metrics, out| {
        purposes(metrics, out, |purpose| purpose.write_bytes)
    }),
    counter(
        "ferrock_io_mapped_written_bytes_total",
        &["kind"],
        "Bytes that were stored through a mapping instead.",
        |metrics, out| purposes(metrics, out, |purpose| purpose.mapped_bytes),
    ),
    counter("ferrock_io_syncs_total", &["kind"], "Syncs of files.", |metrics, out| {
        purposes(metrics, out, |purpose| purpose.syncs)
    }),
    counter(
        "ferrock_io_files_created_total",
        &["kind"],
        "Files that were created, or opened again for appends.",
        |metrics, out| purposes(metrics, out, |purpose| purpose.files_created),
    ),
    counter("ferrock_io_operations_total", &["kind"], "Operations on names and directories.", operations),
];
