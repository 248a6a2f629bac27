//! What a database and its families work with beside settings.

use crate::Effect::{self, Elsewhere, Shown};
use crate::database::max_file_opening_threads;
use crate::setup::{Setup, flush_range, flushed_properties, force_compaction, key, number};
use ferrock::options::CompactionFilter;
use ferrock::statistics::{Statistics, Ticker};
use ferrock::{Comparator, ReadOptions};
use ferrock_base::clock::SystemClock;
use ferrock_base::compaction_filter::RemoveEmptyValues;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use ferrock_vfs::{FileSystem, IoPriority, RateLimiter, TokenBucket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub const EFFECTS: &[(&str, Effect)] = &[
    ("Components.thread_pools", Elsewhere("tests/thread_pools.rs", "databases_share_the_threads")),
    ("Components.file_system", Shown(file_system)),
    ("Components.clock", Shown(clock)),
    // The threads are those of the spawner that was given.
    ("Components.spawner", Shown(max_file_opening_threads)),
    ("Components.block_cache", Shown(block_cache)),
    ("Components.row_cache", Elsewhere("tests/cache_usage.rs", "a_cache_of_rows_is_taken_and_said_to_have_no_effect")),
    (
        "Components.write_buffer_manager",
        Elsewhere("tests/write_buffer_manager.rs", "memtables_are_flushed_before_they_pass_the_size"),
    ),
    (
        "Components.memory_budget",
        Elsewhere("tests/memory_budget.rs", "a_text_sets_it_and_it_changes_while_a_database_is_open"),
    ),
    (
        "Components.sst_file_manager",
        Elsewhere("tests/sst_file_manager.rs", "files_are_counted_and_removed_at_the_rate"),
    ),
    (
        "SstFileManagerOptions.delete_rate_bytes_per_second",
        Elsewhere("../options/src/sst_file_manager/tests.rs", "trash_goes_at_its_rate"),
    ),
    (
        "SstFileManagerOptions.max_trash_db_ratio",
        Elsewhere("../options/src/sst_file_manager/tests.rs", "much_trash_is_not_paced"),
    ),
    (
        "SstFileManagerOptions.bytes_max_delete_chunk",
        Elsewhere("../options/src/sst_file_manager/tests.rs", "large_files_are_cut_unless_they_have_another_name"),
    ),
    ("Components.rate_limiter", Shown(rate_limiter)),
    ("Components.info_log", Elsewhere("tests/events/loggers.rs", "the_info_log_takes_all_lines_in_place_of_a_file")),
    ("Components.listeners", Shown(listeners)),
    (
        "Components.file_checksum_gen_factory",
        Elsewhere("tests/file_checksums.rs", "every_file_that_is_written_has_its_checksum"),
    ),
    ("Components.statistics", Shown(statistics)),
    (
        "Components.compaction_service",
        Elsewhere("tests/remote_compaction/main.rs", "closing_ends_the_wait_for_a_worker"),
    ),
    ("CacheOptions.capacity_bytes", Shown(block_cache)),
    ("CacheOptions.shard_bits", Elsewhere("../cache/src/tests.rs", "keys_of_one_file_spread_over_shards")),
    ("CacheOptions.strict_capacity_limit", Shown(strict_capacity_limit)),
    ("CacheOptions.fail_when_full", Elsewhere("tests/cache_limit.rs", "a_full_cache_fails_reads_where_that_is_wanted")),
    ("CacheOptions.high_pri_pool_ratio", Elsewhere("../cache/src/tests.rs", "pools_bound_what_a_priority_is_worth")),
    ("CacheOptions.low_pri_pool_ratio", Elsewhere("../cache/src/tests.rs", "pools_bound_what_a_priority_is_worth")),
    ("CacheOptions.charge_metadata", Elsewhere("../cache/src/tests.rs", "metadata_is_charged_on_demand")),
    ("DbOptions.db_paths", Elsewhere("tests/places/paths.rs", "each_level_lies_in_its_directory")),
    (
        "ColumnFamilyOptions.table_factory",
        Elsewhere("tests/plain_tables.rs", "every_form_is_written_compacted_and_read_again"),
    ),
    (
        "ColumnFamilyOptions.compaction_thread_limiter",
        Elsewhere("tests/task_limiter.rs", "families_share_the_tasks_of_their_limiter"),
    ),
    ("ColumnFamilyOptions.cf_paths", Elsewhere("tests/places/paths.rs", "families_have_directories_of_their_own")),
    ("ColumnFamilyOptions.comparator", Shown(comparator)),
    ("ColumnFamilyOptions.merge_operator", Shown(merge_operator)),
    ("ColumnFamilyOptions.prefix_extractor", Elsewhere("tests/api.rs", "prefix_seeks_and_total_order")),
    (
        "ColumnFamilyOptions.inplace_callback",
        Elsewhere("tests/in_place_callback.rs", "no_change_of_several_threads_is_lost"),
    ),
    (
        "ColumnFamilyOptions.blob_direct_write_partition_strategy",
        Elsewhere("tests/blob_direct_write.rs", "a_strategy_chooses_the_file_of_each_value"),
    ),
    ("ColumnFamilyOptions.compaction_filter", Shown(compaction_filter)),
    (
        "ColumnFamilyOptions.sst_partitioner_factory",
        Elsewhere("tests/sst_partitioner.rs", "compactions_end_a_table_with_each_partition"),
    ),
    (
        "ColumnFamilyOptions.table_properties_collector_factories",
        Elsewhere("tests/property_collectors.rs", "collectors_see_what_is_in_a_table"),
    ),
    (
        "ColumnFamilyOptions.compaction_filter_factory",
        Elsewhere("tests/filter_factory.rs", "each_compaction_has_a_filter_of_its_own"),
    ),
    (
        "CacheUsageOptions.compression_dictionary_building_buffer",
        Elsewhere("../table/tests/charging.rs", "a_dictionary_is_made_of_what_the_cache_has_room_for"),
    ),
    (
        "CacheUsageOptions.filter_construction",
        Elsewhere("../table/tests/charging.rs", "a_ribbon_filter_without_room_becomes_a_bloom_filter"),
    ),
    ("CacheUsageOptions.block_based_table_reader", Elsewhere("tests/cache_usage.rs", "open_tables_are_charged")),
    (
        "CacheUsageOptions.blob_cache",
        Elsewhere("tests/blob_cache.rs", "a_cache_of_its_own_is_charged_to_the_block_cache"),
    ),
    (
        "ColumnFamilyOptions.blob_cache",
        Elsewhere("tests/blob_cache.rs", "every_way_of_reading_goes_through_the_cache_and_pins_values_in_it"),
    ),
    ("ColumnFamilyOptions.block_cache", Elsewhere("tests/lifecycle.rs", "a_family_may_have_a_cache_of_its_own")),
    (
        "ColumnFamilyOptions.filter_policy",
        Elsewhere("tests/options_effect/table.rs", "more_bits_a_key_make_larger_filters"),
    ),
];

fn file_system() {
    let setup = Setup::new();
    drop(setup.open());
    assert!(setup.files(|name| name == "CURRENT").len() == 1 && !Path::new(crate::setup::DIRECTORY).exists());
    assert!(setup.memory.counters().snapshot().append_bytes() > 0);
}

fn clock() {
    let setup = Setup::new().with_manual_clock();
    assert_eq!(flushed_properties(&setup).file_creation_time, 1_700_000_000);
    assert!(flushed_properties(&Setup::new()).file_creation_time > 1_700_000_000);
}

fn block_cache() {
    let capacities = [1 << 20, 8 << 20].map(|bytes| {
        let db = Setup::new().with_cache(bytes).open();
        number(&db, "block-cache-capacity") as usize
    });
    assert_eq!(capacities, [1 << 20, 8 << 20]);
    // One cache for two databases.
    let one = Setup::new().with_cache(8 << 20);
    let mut other = Setup::new();
    other.db.components.block_cache = one.db.components.block_cache.clone();
    let (one, other) = (one.open(), other.open());
    flush_range(&one, 0..1000);
    let before = number(&other, "block-cache-usage");
    one.get(key(5).as_bytes()).unwrap().unwrap();
    assert!(number(&other, "block-cache-usage") > before);
}

/// Blocks in use that do not fit together: the cache goes over the capacity while they are used, or does not take them.
fn strict_capacity_limit() {
    let usages = [false, true].map(|strict_capacity_limit| {
        let mut setup = Setup::new();
        setup.db.components.block_cache = Some(TableBlockCache::new(CacheOptions {
            capacity_bytes: 10_000,
            strict_capacity_limit,
            ..CacheOptions::default()
        }));
        let db = setup.open();
        flush_range(&db, 0..1000);
        let mut iters: Vec<_> = (0..20).map(|_| db.iter(&ReadOptions::default())).collect();
        for (number, iter) in (0..1000).step_by(50).zip(&mut iters) {
            iter.seek(key(number).as_bytes());
            assert_eq!(iter.key(), key(number).as_bytes());
        }
        number(&db, "block-cache-usage")
    });
    assert!(usages[0] > 20_000 && usages[1] <= 10_000, "{usages:?}");
}

fn rate_limiter() {
    let mut setup = Setup::new();
    let bucket = Arc::new(TokenBucket::new(1 << 30, SystemClock::shared()));
    setup.db.components.rate_limiter = Some(Arc::clone(&bucket) as Arc<dyn RateLimiter>);
    let db = setup.open();
    flush_range(&db, 0..1000);
    let flushed = bucket.granted_bytes(IoPriority::High);
    assert!(flushed >= db.live_files()[0].size_bytes, "{flushed}");
    force_compaction(&db);
    assert!(bucket.granted_bytes(IoPriority::Low) >= flushed / 2, "compaction asks too, at its own priority");
}

fn listeners() {
    let setup = Setup::new();
    let db = setup.open();
    (0..2).for_each(|_| flush_range(&db, 0..10));
    assert_eq!(setup.compactions.begun.load(Ordering::SeqCst), 0);
    db.compact_range(None, None).unwrap();
    assert_eq!(setup.compactions.begun.load(Ordering::SeqCst), 1);
}

fn statistics() {
    let counted = [false, true].map(|has_statistics| {
        let (mut setup, statistics) = (Setup::new(), Arc::new(Statistics::default()));
        setup.db.components.statistics = has_statistics.then(|| Arc::clone(&statistics));
        flush_range(&setup.open(), 0..10);
        statistics.ticker(Ticker::NumberKeysWritten)
    });
    assert_eq!(counted, [0, 10]);
}

fn comparator() {
    let firsts = [Comparator::Bytewise, Comparator::ReverseBytewise].map(|comparator| {
        let mut setup = Setup::new();
        setup.family.comparator = comparator;
        let db = setup.open();
        flush_range(&db, 0..10);
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek_to_first();
        iter.key().to_vec()
    });
    assert_eq!(firsts, [key(0).into_bytes(), key(9).into_bytes()]);
}

fn merge_operator() {
    use ferrock::options::MergeOperator;
    use ferrock_base::merge::StringAppend;
    let joined = [",", ";"].map(|delimiter| {
        let mut setup = Setup::new();
        setup.family.merge_operator = Some(Arc::new(StringAppend::new(delimiter)) as Arc<dyn MergeOperator>);
        let db = setup.open();
        db.merge(b"k", b"a").unwrap();
        db.merge(b"k", b"b").unwrap();
        db.get(b"k").unwrap().unwrap().to_vec()
    });
    assert_eq!(joined, [b"a,b", b"a;b"]);
    let db = Setup::new().open();
    assert!(db.merge(b"k", b"a").is_err(), "there is no operator");
}

fn compaction_filter() {
    let left = [None, Some(Arc::new(RemoveEmptyValues) as Arc<dyn CompactionFilter>)].map(|filter| {
        let mut setup = Setup::new();
        setup.family.compaction_filter = filter;
        let db = setup.open();
        db.put(b"empty", b"").unwrap();
        db.put(b"full", b"v").unwrap();
        db.flush().unwrap();
        force_compaction(&db);
        (db.get(b"empty").unwrap().is_some(), db.get(b"full").unwrap().is_some())
    });
    assert_eq!(left, [(true, true), (false, true)]);
}
