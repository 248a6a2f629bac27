/* Every option that is one number: its default, and that a getter tells what was set. The defaults are RocksDB's. */
#include "check.h"

#define PAIR(set, get, type, standard, other) \
  do { \
    if (get(options) != (type)(standard)) { \
      fprintf(stderr, "%s begins at %g\n", #get, (double)get(options)); \
      exit(1); \
    } \
    set(options, other); \
    if (get(options) != (type)(other)) { \
      fprintf(stderr, "%s is %g\n", #get, (double)get(options)); \
      exit(1); \
    } \
    set(options, (type)(standard)); \
    CHECK(get(options) == (type)(standard)); \
  } while (0)

static void test_wal_readoptions(void) {
  rocksdb_wal_readoptions_t* options = rocksdb_wal_readoptions_create();
  PAIR(rocksdb_wal_readoptions_set_verify_checksums,
       rocksdb_wal_readoptions_get_verify_checksums, unsigned char, 1, 0);
  rocksdb_wal_readoptions_destroy(options);
}

static void test_options(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  PAIR(rocksdb_options_set_allow_ingest_behind, rocksdb_options_get_allow_ingest_behind, unsigned char, 0, 1);
  PAIR(rocksdb_options_compaction_readahead_size, rocksdb_options_get_compaction_readahead_size, size_t, 2097152, 3);
  PAIR(rocksdb_options_set_create_if_missing, rocksdb_options_get_create_if_missing, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_create_missing_column_families,
       rocksdb_options_get_create_missing_column_families, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_error_if_exists, rocksdb_options_get_error_if_exists, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_paranoid_checks, rocksdb_options_get_paranoid_checks, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_open_files_async, rocksdb_options_get_open_files_async, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_info_log_level, rocksdb_options_get_info_log_level, int, 1, 2);
  PAIR(rocksdb_options_set_write_buffer_size, rocksdb_options_get_write_buffer_size, size_t, 67108864, 3);
  PAIR(rocksdb_options_set_db_write_buffer_size, rocksdb_options_get_db_write_buffer_size, size_t, 0, 3);
  PAIR(rocksdb_options_set_max_open_files, rocksdb_options_get_max_open_files, int, -1, 2);
  PAIR(rocksdb_options_set_max_file_opening_threads, rocksdb_options_get_max_file_opening_threads, int, 16, 2);
  PAIR(rocksdb_options_set_max_total_wal_size, rocksdb_options_get_max_total_wal_size, uint64_t, 0, 3);
  PAIR(rocksdb_options_set_compression_options_zstd_max_train_bytes,
       rocksdb_options_get_compression_options_zstd_max_train_bytes, int, 0, 2);
  PAIR(rocksdb_options_set_compression_options_use_zstd_dict_trainer,
       rocksdb_options_get_compression_options_use_zstd_dict_trainer, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_compression_options_parallel_threads,
       rocksdb_options_get_compression_options_parallel_threads, int, 1, 2);
  PAIR(rocksdb_options_set_compression_options_max_dict_buffer_bytes,
       rocksdb_options_get_compression_options_max_dict_buffer_bytes, uint64_t, 0, 3);
  PAIR(rocksdb_options_set_num_levels, rocksdb_options_get_num_levels, int, 7, 2);
  PAIR(rocksdb_options_set_level0_file_num_compaction_trigger,
       rocksdb_options_get_level0_file_num_compaction_trigger, int, 4, 2);
  PAIR(rocksdb_options_set_level0_slowdown_writes_trigger,
       rocksdb_options_get_level0_slowdown_writes_trigger, int, 20, 2);
  PAIR(rocksdb_options_set_level0_stop_writes_trigger, rocksdb_options_get_level0_stop_writes_trigger, int, 36, 2);
  PAIR(rocksdb_options_set_target_file_size_base, rocksdb_options_get_target_file_size_base, uint64_t, 67108864, 3);
  PAIR(rocksdb_options_set_target_file_size_multiplier, rocksdb_options_get_target_file_size_multiplier, int, 1, 2);
  PAIR(rocksdb_options_set_max_bytes_for_level_base,
       rocksdb_options_get_max_bytes_for_level_base, uint64_t, 268435456, 3);
  PAIR(rocksdb_options_set_level_compaction_dynamic_level_bytes,
       rocksdb_options_get_level_compaction_dynamic_level_bytes, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_max_bytes_for_level_multiplier,
       rocksdb_options_get_max_bytes_for_level_multiplier, double, 10.0, 0.5);
  PAIR(rocksdb_options_set_ttl, rocksdb_options_get_ttl, uint64_t, 18446744073709551614ULL, 3);
  PAIR(rocksdb_options_set_periodic_compaction_seconds,
       rocksdb_options_get_periodic_compaction_seconds, uint64_t, 18446744073709551614ULL, 3);
  PAIR(rocksdb_options_set_memtable_op_scan_flush_trigger,
       rocksdb_options_get_memtable_op_scan_flush_trigger, uint32_t, 0, 3);
  PAIR(rocksdb_options_set_memtable_avg_op_scan_flush_trigger,
       rocksdb_options_get_memtable_avg_op_scan_flush_trigger, uint32_t, 0, 3);
  PAIR(rocksdb_options_set_min_tombstones_for_range_conversion,
       rocksdb_options_get_min_tombstones_for_range_conversion, uint32_t, 0, 3);
  PAIR(rocksdb_options_set_skip_stats_update_on_db_open,
       rocksdb_options_get_skip_stats_update_on_db_open, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_enable_blob_files, rocksdb_options_get_enable_blob_files, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_min_blob_size, rocksdb_options_get_min_blob_size, uint64_t, 0, 3);
  PAIR(rocksdb_options_set_blob_file_size, rocksdb_options_get_blob_file_size, uint64_t, 268435456, 3);
  PAIR(rocksdb_options_set_blob_compression_type, rocksdb_options_get_blob_compression_type, int, 0, 1);
  PAIR(rocksdb_options_set_enable_blob_gc, rocksdb_options_get_enable_blob_gc, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_blob_gc_age_cutoff, rocksdb_options_get_blob_gc_age_cutoff, double, 0.25, 0.5);
  PAIR(rocksdb_options_set_blob_gc_force_threshold, rocksdb_options_get_blob_gc_force_threshold, double, 1.0, 0.5);
  PAIR(rocksdb_options_set_read_triggered_compaction_threshold,
       rocksdb_options_get_read_triggered_compaction_threshold, double, 0.0, 0.5);
  PAIR(rocksdb_options_set_max_compaction_trigger_wakeup_seconds,
       rocksdb_options_get_max_compaction_trigger_wakeup_seconds, uint64_t, 43200, 3);
  PAIR(rocksdb_options_set_blob_compaction_readahead_size,
       rocksdb_options_get_blob_compaction_readahead_size, uint64_t, 0, 3);
  PAIR(rocksdb_options_set_blob_file_starting_level, rocksdb_options_get_blob_file_starting_level, int, 0, 2);
  PAIR(rocksdb_options_set_prepopulate_blob_cache, rocksdb_options_get_prepopulate_blob_cache, int, 0, 1);
  PAIR(rocksdb_options_set_max_write_buffer_number, rocksdb_options_get_max_write_buffer_number, int, 2, 1);
  PAIR(rocksdb_options_set_min_write_buffer_number_to_merge,
       rocksdb_options_get_min_write_buffer_number_to_merge, int, 1, 2);
  PAIR(rocksdb_options_set_max_write_buffer_size_to_maintain,
       rocksdb_options_get_max_write_buffer_size_to_maintain, int64_t, 0, 2);
  PAIR(rocksdb_options_set_enable_pipelined_write, rocksdb_options_get_enable_pipelined_write, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_unordered_write, rocksdb_options_get_unordered_write, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_max_subcompactions, rocksdb_options_get_max_subcompactions, uint32_t, 1, 3);
  PAIR(rocksdb_options_set_max_background_jobs, rocksdb_options_get_max_background_jobs, int, 2, 1);
  PAIR(rocksdb_options_set_max_background_compactions, rocksdb_options_get_max_background_compactions, int, -1, 2);
  PAIR(rocksdb_options_set_max_background_flushes, rocksdb_options_get_max_background_flushes, int, -1, 2);
  PAIR(rocksdb_options_set_max_log_file_size, rocksdb_options_get_max_log_file_size, size_t, 0, 3);
  PAIR(rocksdb_options_set_log_file_time_to_roll, rocksdb_options_get_log_file_time_to_roll, size_t, 0, 3);
  PAIR(rocksdb_options_set_keep_log_file_num, rocksdb_options_get_keep_log_file_num, size_t, 1000, 3);
  PAIR(rocksdb_options_set_recycle_log_file_num, rocksdb_options_get_recycle_log_file_num, size_t, 0, 3);
  PAIR(rocksdb_options_set_soft_pending_compaction_bytes_limit,
       rocksdb_options_get_soft_pending_compaction_bytes_limit, size_t, 68719476736ULL, 3);
  PAIR(rocksdb_options_set_hard_pending_compaction_bytes_limit,
       rocksdb_options_get_hard_pending_compaction_bytes_limit, size_t, 274877906944ULL, 3);
  PAIR(rocksdb_options_set_max_manifest_file_size, rocksdb_options_get_max_manifest_file_size, size_t, 1073741824, 3);
  PAIR(rocksdb_options_set_table_cache_numshardbits, rocksdb_options_get_table_cache_numshardbits, int, 6, 2);
  PAIR(rocksdb_options_set_arena_block_size, rocksdb_options_get_arena_block_size, size_t, 0, 3);
  PAIR(rocksdb_options_set_use_fsync, rocksdb_options_get_use_fsync, int, 0, 1);
  PAIR(rocksdb_options_set_WAL_ttl_seconds, rocksdb_options_get_WAL_ttl_seconds, uint64_t, 0, 3);
  PAIR(rocksdb_options_set_WAL_size_limit_MB, rocksdb_options_get_WAL_size_limit_MB, uint64_t, 0, 3);
  PAIR(rocksdb_options_set_manifest_preallocation_size,
       rocksdb_options_get_manifest_preallocation_size, size_t, 4194304, 3);
  PAIR(rocksdb_options_set_allow_mmap_reads, rocksdb_options_get_allow_mmap_reads, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_allow_mmap_writes, rocksdb_options_get_allow_mmap_writes, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_use_direct_reads, rocksdb_options_get_use_direct_reads, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_use_direct_io_for_flush_and_compaction,
       rocksdb_options_get_use_direct_io_for_flush_and_compaction, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_is_fd_close_on_exec, rocksdb_options_get_is_fd_close_on_exec, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_stats_dump_period_sec, rocksdb_options_get_stats_dump_period_sec, unsigned int, 600, 3);
  PAIR(rocksdb_options_set_stats_persist_period_sec,
       rocksdb_options_get_stats_persist_period_sec, unsigned int, 600, 3);
  PAIR(rocksdb_options_set_advise_random_on_open, rocksdb_options_get_advise_random_on_open, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_use_adaptive_mutex, rocksdb_options_get_use_adaptive_mutex, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_bytes_per_sync, rocksdb_options_get_bytes_per_sync, uint64_t, 0, 3);
  PAIR(rocksdb_options_set_wal_bytes_per_sync, rocksdb_options_get_wal_bytes_per_sync, uint64_t, 0, 3);
  PAIR(rocksdb_options_set_writable_file_max_buffer_size,
       rocksdb_options_get_writable_file_max_buffer_size, uint64_t, 1048576, 3);
  PAIR(rocksdb_options_set_allow_concurrent_memtable_write,
       rocksdb_options_get_allow_concurrent_memtable_write, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_enable_write_thread_adaptive_yield,
       rocksdb_options_get_enable_write_thread_adaptive_yield, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_max_sequential_skip_in_iterations,
       rocksdb_options_get_max_sequential_skip_in_iterations, uint64_t, 8, 3);
  PAIR(rocksdb_options_set_disable_auto_compactions,
       rocksdb_options_get_disable_auto_compactions, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_optimize_filters_for_hits,
       rocksdb_options_get_optimize_filters_for_hits, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_delete_obsolete_files_period_micros,
       rocksdb_options_get_delete_obsolete_files_period_micros, uint64_t, 21600000000ULL, 3);
  PAIR(rocksdb_options_set_memtable_prefix_bloom_size_ratio,
       rocksdb_options_get_memtable_prefix_bloom_size_ratio, double, 0.0, 0.5);
  PAIR(rocksdb_options_set_max_compaction_bytes, rocksdb_options_get_max_compaction_bytes, uint64_t, 0, 3);
  PAIR(rocksdb_options_set_write_dbid_to_manifest, rocksdb_options_get_write_dbid_to_manifest, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_write_identity_file, rocksdb_options_get_write_identity_file, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_track_and_verify_wals_in_manifest,
       rocksdb_options_get_track_and_verify_wals_in_manifest, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_memtable_huge_page_size, rocksdb_options_get_memtable_huge_page_size, size_t, 0, 3);
  PAIR(rocksdb_options_set_max_successive_merges, rocksdb_options_get_max_successive_merges, size_t, 0, 3);
  PAIR(rocksdb_options_set_bloom_locality, rocksdb_options_get_bloom_locality, uint32_t, 0, 3);
  PAIR(rocksdb_options_set_inplace_update_support, rocksdb_options_get_inplace_update_support, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_inplace_update_num_locks, rocksdb_options_get_inplace_update_num_locks, size_t, 10000, 3);
  PAIR(rocksdb_options_set_report_bg_io_stats, rocksdb_options_get_report_bg_io_stats, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_avoid_unnecessary_blocking_io,
       rocksdb_options_get_avoid_unnecessary_blocking_io, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_experimental_mempurge_threshold,
       rocksdb_options_get_experimental_mempurge_threshold, double, 0.0, 0.5);
  PAIR(rocksdb_options_set_wal_recovery_mode, rocksdb_options_get_wal_recovery_mode, int, 2, 0);
  PAIR(rocksdb_options_set_compression, rocksdb_options_get_compression, int, 4, 1);
  PAIR(rocksdb_options_set_bottommost_compression, rocksdb_options_get_bottommost_compression, int, 255, 1);
  PAIR(rocksdb_options_set_compaction_style, rocksdb_options_get_compaction_style, int, 0, 1);
  PAIR(rocksdb_options_set_atomic_flush, rocksdb_options_get_atomic_flush, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_manual_wal_flush, rocksdb_options_get_manual_wal_flush, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_wal_compression, rocksdb_options_get_wal_compression, int, 0, 7);
  PAIR(rocksdb_options_set_compaction_pri, rocksdb_options_get_compaction_pri, int, 3, 1);
  PAIR(rocksdb_options_set_flush_verify_memtable_count,
       rocksdb_options_get_flush_verify_memtable_count, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_compaction_verify_record_count,
       rocksdb_options_get_compaction_verify_record_count, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_track_and_verify_wals, rocksdb_options_get_track_and_verify_wals, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_verify_sst_unique_id_in_manifest,
       rocksdb_options_get_verify_sst_unique_id_in_manifest, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_read_io_executor_threads, rocksdb_options_get_read_io_executor_threads, int, 1, 2);
  PAIR(rocksdb_options_set_async_wal_precreate, rocksdb_options_get_async_wal_precreate, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_verify_manifest_content_on_close,
       rocksdb_options_get_verify_manifest_content_on_close, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_optimize_manifest_for_recovery,
       rocksdb_options_get_optimize_manifest_for_recovery, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_reuse_manifest_on_open, rocksdb_options_get_reuse_manifest_on_open, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_max_manifest_space_amp_pct, rocksdb_options_get_max_manifest_space_amp_pct, int, 500, 2);
  PAIR(rocksdb_options_set_use_direct_io_for_compaction_reads,
       rocksdb_options_get_use_direct_io_for_compaction_reads, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_allow_fallocate, rocksdb_options_get_allow_fallocate, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_persist_stats_to_disk, rocksdb_options_get_persist_stats_to_disk, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_stats_history_buffer_size,
       rocksdb_options_get_stats_history_buffer_size, size_t, 1048576, 3);
  PAIR(rocksdb_options_set_strict_bytes_per_sync, rocksdb_options_get_strict_bytes_per_sync, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_enable_thread_tracking, rocksdb_options_get_enable_thread_tracking, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_delayed_write_rate, rocksdb_options_get_delayed_write_rate, uint64_t, 0, 3);
  PAIR(rocksdb_options_set_max_write_batch_group_size_bytes,
       rocksdb_options_get_max_write_batch_group_size_bytes, uint64_t, 1048576, 3);
  PAIR(rocksdb_options_set_write_thread_max_yield_usec,
       rocksdb_options_get_write_thread_max_yield_usec, uint64_t, 100, 3);
  PAIR(rocksdb_options_set_write_thread_slow_yield_usec,
       rocksdb_options_get_write_thread_slow_yield_usec, uint64_t, 3, 4);
  PAIR(rocksdb_options_set_allow_2pc, rocksdb_options_get_allow_2pc, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_dump_malloc_stats, rocksdb_options_get_dump_malloc_stats, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_avoid_flush_during_recovery,
       rocksdb_options_get_avoid_flush_during_recovery, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_enforce_write_buffer_manager_during_recovery,
       rocksdb_options_get_enforce_write_buffer_manager_during_recovery, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_avoid_flush_during_shutdown,
       rocksdb_options_get_avoid_flush_during_shutdown, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_two_write_queues, rocksdb_options_get_two_write_queues, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_background_close_inactive_wals,
       rocksdb_options_get_background_close_inactive_wals, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_prefix_seek_opt_in_only, rocksdb_options_get_prefix_seek_opt_in_only, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_log_readahead_size, rocksdb_options_get_log_readahead_size, size_t, 0, 3);
  PAIR(rocksdb_options_set_best_efforts_recovery, rocksdb_options_get_best_efforts_recovery, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_max_bgerror_resume_count,
       rocksdb_options_get_max_bgerror_resume_count, int, 2147483647, 2);
  PAIR(rocksdb_options_set_bgerror_resume_retry_interval,
       rocksdb_options_get_bgerror_resume_retry_interval, uint64_t, 1000000, 3);
  PAIR(rocksdb_options_set_allow_data_in_errors, rocksdb_options_get_allow_data_in_errors, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_lowest_used_cache_tier, rocksdb_options_get_lowest_used_cache_tier, int, 2, 0);
  PAIR(rocksdb_options_set_enforce_single_del_contracts,
       rocksdb_options_get_enforce_single_del_contracts, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_follower_refresh_catchup_period_ms,
       rocksdb_options_get_follower_refresh_catchup_period_ms, uint64_t, 10000, 3);
  PAIR(rocksdb_options_set_follower_catchup_retry_count,
       rocksdb_options_get_follower_catchup_retry_count, uint64_t, 10, 3);
  PAIR(rocksdb_options_set_follower_catchup_retry_wait_ms,
       rocksdb_options_get_follower_catchup_retry_wait_ms, uint64_t, 100, 3);
  PAIR(rocksdb_options_set_metadata_write_temperature, rocksdb_options_get_metadata_write_temperature, int, 0, 4);
  PAIR(rocksdb_options_set_wal_write_temperature, rocksdb_options_get_wal_write_temperature, int, 0, 4);
  PAIR(rocksdb_options_set_fast_sst_open, rocksdb_options_get_fast_sst_open, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_memtable_whole_key_filtering,
       rocksdb_options_get_memtable_whole_key_filtering, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_target_file_size_is_upper_bound,
       rocksdb_options_get_target_file_size_is_upper_bound, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_strict_max_successive_merges,
       rocksdb_options_get_strict_max_successive_merges, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_paranoid_file_checks, rocksdb_options_get_paranoid_file_checks, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_verify_output_flags, rocksdb_options_get_verify_output_flags, int, 0, 2);
  PAIR(rocksdb_options_set_force_consistency_checks,
       rocksdb_options_get_force_consistency_checks, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_disallow_memtable_writes,
       rocksdb_options_get_disallow_memtable_writes, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_sample_for_compression, rocksdb_options_get_sample_for_compression, uint64_t, 0, 3);
  PAIR(rocksdb_options_set_last_level_temperature, rocksdb_options_get_last_level_temperature, int, 0, 4);
  PAIR(rocksdb_options_set_default_write_temperature, rocksdb_options_get_default_write_temperature, int, 0, 4);
  PAIR(rocksdb_options_set_default_temperature, rocksdb_options_get_default_temperature, int, 0, 4);
  PAIR(rocksdb_options_set_preclude_last_level_data_seconds,
       rocksdb_options_get_preclude_last_level_data_seconds, uint64_t, 0, 3);
  PAIR(rocksdb_options_set_preserve_internal_time_seconds,
       rocksdb_options_get_preserve_internal_time_seconds, uint64_t, 0, 3);
  PAIR(rocksdb_options_set_enable_blob_direct_write,
       rocksdb_options_get_enable_blob_direct_write, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_blob_direct_write_partitions,
       rocksdb_options_get_blob_direct_write_partitions, uint32_t, 1, 3);
  PAIR(rocksdb_options_set_memtable_protection_bytes_per_key,
       rocksdb_options_get_memtable_protection_bytes_per_key, uint32_t, 0, 3);
  PAIR(rocksdb_options_set_persist_user_defined_timestamps,
       rocksdb_options_get_persist_user_defined_timestamps, unsigned char, 1, 0);
  PAIR(rocksdb_options_set_block_protection_bytes_per_key,
       rocksdb_options_get_block_protection_bytes_per_key, uint8_t, 0, 3);
  PAIR(rocksdb_options_set_bottommost_file_compaction_delay,
       rocksdb_options_get_bottommost_file_compaction_delay, uint32_t, 0, 3);
  PAIR(rocksdb_options_set_paranoid_memory_checks, rocksdb_options_get_paranoid_memory_checks, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_memtable_verify_per_key_checksum_on_seek,
       rocksdb_options_get_memtable_verify_per_key_checksum_on_seek, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_cf_allow_ingest_behind, rocksdb_options_get_cf_allow_ingest_behind, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_memtable_batch_lookup_optimization,
       rocksdb_options_get_memtable_batch_lookup_optimization, unsigned char, 0, 1);
  PAIR(rocksdb_options_set_memtable_max_range_deletions,
       rocksdb_options_get_memtable_max_range_deletions, uint32_t, 0, 3);
  PAIR(rocksdb_options_set_uncache_aggressiveness, rocksdb_options_get_uncache_aggressiveness, uint32_t, 0, 3);
  rocksdb_options_destroy(options);
}

static void test_readoptions(void) {
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  PAIR(rocksdb_readoptions_set_deadline, rocksdb_readoptions_get_deadline, uint64_t, 0, 3);
  PAIR(rocksdb_readoptions_set_io_timeout, rocksdb_readoptions_get_io_timeout, uint64_t, 0, 3);
  PAIR(rocksdb_readoptions_set_read_tier, rocksdb_readoptions_get_read_tier, int, 0, 1);
  PAIR(rocksdb_readoptions_set_rate_limiter_priority, rocksdb_readoptions_get_rate_limiter_priority, int, 4, 2);
  PAIR(rocksdb_readoptions_set_value_size_soft_limit,
       rocksdb_readoptions_get_value_size_soft_limit, uint64_t, 18446744073709551615ULL, 3);
  PAIR(rocksdb_readoptions_set_verify_checksums, rocksdb_readoptions_get_verify_checksums, unsigned char, 1, 0);
  PAIR(rocksdb_readoptions_set_fill_cache, rocksdb_readoptions_get_fill_cache, unsigned char, 1, 0);
  PAIR(rocksdb_readoptions_set_ignore_range_deletions,
       rocksdb_readoptions_get_ignore_range_deletions, unsigned char, 0, 1);
  PAIR(rocksdb_readoptions_set_async_io, rocksdb_readoptions_get_async_io, unsigned char, 0, 1);
  PAIR(rocksdb_readoptions_set_optimize_multiget_for_io,
       rocksdb_readoptions_get_optimize_multiget_for_io, unsigned char, 1, 0);
  PAIR(rocksdb_readoptions_set_readahead_size, rocksdb_readoptions_get_readahead_size, size_t, 0, 3);
  PAIR(rocksdb_readoptions_set_max_skippable_internal_keys,
       rocksdb_readoptions_get_max_skippable_internal_keys, uint64_t, 0, 3);
  PAIR(rocksdb_readoptions_set_tailing, rocksdb_readoptions_get_tailing, unsigned char, 0, 1);
  PAIR(rocksdb_readoptions_set_total_order_seek, rocksdb_readoptions_get_total_order_seek, unsigned char, 0, 1);
  PAIR(rocksdb_readoptions_set_auto_prefix_mode, rocksdb_readoptions_get_auto_prefix_mode, unsigned char, 0, 1);
  PAIR(rocksdb_readoptions_set_prefix_same_as_start,
       rocksdb_readoptions_get_prefix_same_as_start, unsigned char, 0, 1);
  PAIR(rocksdb_readoptions_set_pin_data, rocksdb_readoptions_get_pin_data, unsigned char, 0, 1);
  PAIR(rocksdb_readoptions_set_adaptive_readahead, rocksdb_readoptions_get_adaptive_readahead, unsigned char, 0, 1);
  PAIR(rocksdb_readoptions_set_background_purge_on_iterator_cleanup,
       rocksdb_readoptions_get_background_purge_on_iterator_cleanup, unsigned char, 0, 1);
  PAIR(rocksdb_readoptions_set_auto_readahead_size, rocksdb_readoptions_get_auto_readahead_size, unsigned char, 1, 0);
  PAIR(rocksdb_readoptions_set_allow_unprepared_value,
       rocksdb_readoptions_get_allow_unprepared_value, unsigned char, 0, 1);
  PAIR(rocksdb_readoptions_set_auto_refresh_iterator_with_snapshot,
       rocksdb_readoptions_get_auto_refresh_iterator_with_snapshot, unsigned char, 0, 1);
  PAIR(rocksdb_readoptions_set_io_activity, rocksdb_readoptions_get_io_activity, int, 255, 2);
  PAIR(rocksdb_readoptions_set_merge_operand_count_threshold,
       rocksdb_readoptions_get_merge_operand_count_threshold, size_t, 0, 3);
  rocksdb_readoptions_destroy(options);
}

static void test_compactoptions(void) {
  rocksdb_compactoptions_t* options = rocksdb_compactoptions_create();
  PAIR(rocksdb_compactoptions_set_exclusive_manual_compaction,
       rocksdb_compactoptions_get_exclusive_manual_compaction, unsigned char, 0, 1);
  PAIR(rocksdb_compactoptions_set_bottommost_level_compaction,
       rocksdb_compactoptions_get_bottommost_level_compaction, unsigned char, 1, 2);
  PAIR(rocksdb_compactoptions_set_change_level, rocksdb_compactoptions_get_change_level, unsigned char, 0, 1);
  PAIR(rocksdb_compactoptions_set_target_level, rocksdb_compactoptions_get_target_level, int, -1, 2);
  PAIR(rocksdb_compactoptions_set_target_path_id, rocksdb_compactoptions_get_target_path_id, int, 0, 2);
  PAIR(rocksdb_compactoptions_set_allow_write_stall,
       rocksdb_compactoptions_get_allow_write_stall, unsigned char, 0, 1);
  PAIR(rocksdb_compactoptions_set_max_subcompactions, rocksdb_compactoptions_get_max_subcompactions, int, 0, 2);
  PAIR(rocksdb_compactoptions_set_blob_garbage_collection_policy,
       rocksdb_compactoptions_get_blob_garbage_collection_policy, int, 2, 0);
  PAIR(rocksdb_compactoptions_set_blob_garbage_collection_age_cutoff,
       rocksdb_compactoptions_get_blob_garbage_collection_age_cutoff, double, -1.0, 0.5);
  rocksdb_compactoptions_destroy(options);
}

static void test_replay_options(void) {
  rocksdb_replay_options_t* options = rocksdb_replay_options_create();
  PAIR(rocksdb_replay_options_set_num_threads, rocksdb_replay_options_get_num_threads, uint32_t, 1, 3);
  PAIR(rocksdb_replay_options_set_fast_forward, rocksdb_replay_options_get_fast_forward, double, 1.0, 0.5);
  rocksdb_replay_options_destroy(options);
}

static void test_universal_compaction_options(void) {
  rocksdb_universal_compaction_options_t* options = rocksdb_universal_compaction_options_create();
  PAIR(rocksdb_universal_compaction_options_set_size_ratio,
       rocksdb_universal_compaction_options_get_size_ratio, int, 1, 2);
  PAIR(rocksdb_universal_compaction_options_set_min_merge_width,
       rocksdb_universal_compaction_options_get_min_merge_width, int, 2, 1);
  PAIR(rocksdb_universal_compaction_options_set_max_merge_width,
       rocksdb_universal_compaction_options_get_max_merge_width, int, -1, 2);
  PAIR(rocksdb_universal_compaction_options_set_max_size_amplification_percent,
       rocksdb_universal_compaction_options_get_max_size_amplification_percent, int, 200, 2);
  PAIR(rocksdb_universal_compaction_options_set_compression_size_percent,
       rocksdb_universal_compaction_options_get_compression_size_percent, int, -1, 2);
  PAIR(rocksdb_universal_compaction_options_set_stop_style,
       rocksdb_universal_compaction_options_get_stop_style, int, 1, 0);
  PAIR(rocksdb_universal_compaction_options_set_max_read_amp,
       rocksdb_universal_compaction_options_get_max_read_amp, int, -1, 2);
  PAIR(rocksdb_universal_compaction_options_set_allow_trivial_move,
       rocksdb_universal_compaction_options_get_allow_trivial_move, unsigned char, 0, 1);
  PAIR(rocksdb_universal_compaction_options_set_incremental,
       rocksdb_universal_compaction_options_get_incremental, unsigned char, 0, 1);
  PAIR(rocksdb_universal_compaction_options_set_reduce_file_locking,
       rocksdb_universal_compaction_options_get_reduce_file_locking, unsigned char, 1, 0);
  rocksdb_universal_compaction_options_destroy(options);
}

static void test_fifo_compaction_options(void) {
  rocksdb_fifo_compaction_options_t* options = rocksdb_fifo_compaction_options_create();
  PAIR(rocksdb_fifo_compaction_options_set_allow_compaction,
       rocksdb_fifo_compaction_options_get_allow_compaction, unsigned char, 0, 1);
  PAIR(rocksdb_fifo_compaction_options_set_max_table_files_size,
       rocksdb_fifo_compaction_options_get_max_table_files_size, uint64_t, 1073741824, 3);
  PAIR(rocksdb_fifo_compaction_options_set_max_data_files_size,
       rocksdb_fifo_compaction_options_get_max_data_files_size, uint64_t, 0, 3);
  PAIR(rocksdb_fifo_compaction_options_set_use_kv_ratio_compaction,
       rocksdb_fifo_compaction_options_get_use_kv_ratio_compaction, unsigned char, 0, 1);
  PAIR(rocksdb_fifo_compaction_options_set_age_for_warm,
       rocksdb_fifo_compaction_options_get_age_for_warm, uint64_t, 0, 3);
  PAIR(rocksdb_fifo_compaction_options_set_allow_trivial_copy_when_change_temperature,
       rocksdb_fifo_compaction_options_get_allow_trivial_copy_when_change_temperature, unsigned char, 0, 1);
  PAIR(rocksdb_fifo_compaction_options_set_trivial_copy_buffer_size,
       rocksdb_fifo_compaction_options_get_trivial_copy_buffer_size, uint64_t, 4096, 3);
  rocksdb_fifo_compaction_options_destroy(options);
}

static void test_wait_for_compact_options(void) {
  rocksdb_wait_for_compact_options_t* options = rocksdb_wait_for_compact_options_create();
  PAIR(rocksdb_wait_for_compact_options_set_abort_on_pause,
       rocksdb_wait_for_compact_options_get_abort_on_pause, unsigned char, 0, 1);
  PAIR(rocksdb_wait_for_compact_options_set_flush, rocksdb_wait_for_compact_options_get_flush, unsigned char, 0, 1);
  PAIR(rocksdb_wait_for_compact_options_set_close_db,
       rocksdb_wait_for_compact_options_get_close_db, unsigned char, 0, 1);
  PAIR(rocksdb_wait_for_compact_options_set_timeout, rocksdb_wait_for_compact_options_get_timeout, uint64_t, 0, 3);
  PAIR(rocksdb_wait_for_compact_options_set_wait_for_purge,
       rocksdb_wait_for_compact_options_get_wait_for_purge, unsigned char, 0, 1);
  rocksdb_wait_for_compact_options_destroy(options);
}

static void test_writeoptions(void) {
  rocksdb_writeoptions_t* options = rocksdb_writeoptions_create();
  PAIR(rocksdb_writeoptions_set_sync, rocksdb_writeoptions_get_sync, unsigned char, 0, 1);
  PAIR(rocksdb_writeoptions_disable_WAL, rocksdb_writeoptions_get_disable_WAL, unsigned char, 0, 1);
  PAIR(rocksdb_writeoptions_set_ignore_missing_column_families,
       rocksdb_writeoptions_get_ignore_missing_column_families, unsigned char, 0, 1);
  PAIR(rocksdb_writeoptions_set_no_slowdown, rocksdb_writeoptions_get_no_slowdown, unsigned char, 0, 1);
  PAIR(rocksdb_writeoptions_set_low_pri, rocksdb_writeoptions_get_low_pri, unsigned char, 0, 1);
  PAIR(rocksdb_writeoptions_set_memtable_insert_hint_per_batch,
       rocksdb_writeoptions_get_memtable_insert_hint_per_batch, unsigned char, 0, 1);
  PAIR(rocksdb_writeoptions_set_rate_limiter_priority, rocksdb_writeoptions_get_rate_limiter_priority, int, 4, 2);
  PAIR(rocksdb_writeoptions_set_protection_bytes_per_key,
       rocksdb_writeoptions_get_protection_bytes_per_key, size_t, 0, 3);
  PAIR(rocksdb_writeoptions_set_io_activity, rocksdb_writeoptions_get_io_activity, int, 255, 2);
  rocksdb_writeoptions_destroy(options);
}

static void test_flushoptions(void) {
  rocksdb_flushoptions_t* options = rocksdb_flushoptions_create();
  PAIR(rocksdb_flushoptions_set_wait, rocksdb_flushoptions_get_wait, unsigned char, 1, 0);
  PAIR(rocksdb_flushoptions_set_allow_write_stall, rocksdb_flushoptions_get_allow_write_stall, unsigned char, 0, 1);
  PAIR(rocksdb_flushoptions_set_force_atomic_flush, rocksdb_flushoptions_get_force_atomic_flush, unsigned char, 0, 1);
  PAIR(rocksdb_flushoptions_set_listener_wait, rocksdb_flushoptions_get_listener_wait, unsigned char, 0, 1);
  rocksdb_flushoptions_destroy(options);
}

static void test_flushwaloptions(void) {
  rocksdb_flushwaloptions_t* options = rocksdb_flushwaloptions_create();
  PAIR(rocksdb_flushwaloptions_set_sync, rocksdb_flushwaloptions_get_sync, unsigned char, 0, 1);
  PAIR(rocksdb_flushwaloptions_set_rate_limiter_priority,
       rocksdb_flushwaloptions_get_rate_limiter_priority, int, 4, 2);
  rocksdb_flushwaloptions_destroy(options);
}

static void test_envoptions(void) {
  rocksdb_envoptions_t* options = rocksdb_envoptions_create();
  PAIR(rocksdb_envoptions_set_use_mmap_reads, rocksdb_envoptions_get_use_mmap_reads, unsigned char, 0, 1);
  PAIR(rocksdb_envoptions_set_use_mmap_writes, rocksdb_envoptions_get_use_mmap_writes, unsigned char, 0, 1);
  PAIR(rocksdb_envoptions_set_use_direct_reads, rocksdb_envoptions_get_use_direct_reads, unsigned char, 0, 1);
  PAIR(rocksdb_envoptions_set_use_direct_writes, rocksdb_envoptions_get_use_direct_writes, unsigned char, 0, 1);
  PAIR(rocksdb_envoptions_set_allow_fallocate, rocksdb_envoptions_get_allow_fallocate, unsigned char, 1, 0);
  PAIR(rocksdb_envoptions_set_fd_cloexec, rocksdb_envoptions_get_fd_cloexec, unsigned char, 1, 0);
  PAIR(rocksdb_envoptions_set_bytes_per_sync, rocksdb_envoptions_get_bytes_per_sync, uint64_t, 0, 3);
  PAIR(rocksdb_envoptions_set_strict_bytes_per_sync,
       rocksdb_envoptions_get_strict_bytes_per_sync, unsigned char, 0, 1);
  PAIR(rocksdb_envoptions_set_fallocate_with_keep_size,
       rocksdb_envoptions_get_fallocate_with_keep_size, unsigned char, 1, 0);
  PAIR(rocksdb_envoptions_set_compaction_readahead_size,
       rocksdb_envoptions_get_compaction_readahead_size, size_t, 2097152, 3);
  PAIR(rocksdb_envoptions_set_writable_file_max_buffer_size,
       rocksdb_envoptions_get_writable_file_max_buffer_size, size_t, 1048576, 3);
  rocksdb_envoptions_destroy(options);
}

static void test_trace_options(void) {
  rocksdb_trace_options_t* options = rocksdb_trace_options_create();
  PAIR(rocksdb_trace_options_set_max_trace_file_size,
       rocksdb_trace_options_get_max_trace_file_size, uint64_t, 68719476736ULL, 3);
  PAIR(rocksdb_trace_options_set_sampling_frequency, rocksdb_trace_options_get_sampling_frequency, uint64_t, 1, 3);
  PAIR(rocksdb_trace_options_set_filter, rocksdb_trace_options_get_filter, uint64_t, 0, 3);
  PAIR(rocksdb_trace_options_set_preserve_write_order,
       rocksdb_trace_options_get_preserve_write_order, unsigned char, 0, 1);
  rocksdb_trace_options_destroy(options);
}

static void test_block_cache_trace_options(void) {
  rocksdb_block_cache_trace_options_t* options = rocksdb_block_cache_trace_options_create();
  PAIR(rocksdb_block_cache_trace_options_set_sampling_frequency,
       rocksdb_block_cache_trace_options_get_sampling_frequency, uint64_t, 1, 3);
  rocksdb_block_cache_trace_options_destroy(options);
}

static void test_block_cache_trace_writer_options(void) {
  rocksdb_block_cache_trace_writer_options_t* options = rocksdb_block_cache_trace_writer_options_create();
  PAIR(rocksdb_block_cache_trace_writer_options_set_max_trace_file_size,
       rocksdb_block_cache_trace_writer_options_get_max_trace_file_size, uint64_t, 68719476736ULL, 3);
  rocksdb_block_cache_trace_writer_options_destroy(options);
}

static void test_compaction_options(void) {
  rocksdb_compaction_options_t* options = rocksdb_compaction_options_create();
  PAIR(rocksdb_compaction_options_set_compression, rocksdb_compaction_options_get_compression, int, 255, 1);
  PAIR(rocksdb_compaction_options_set_output_file_size_limit,
       rocksdb_compaction_options_get_output_file_size_limit, uint64_t, 18446744073709551615ULL, 3);
  PAIR(rocksdb_compaction_options_set_max_subcompactions,
       rocksdb_compaction_options_get_max_subcompactions, uint32_t, 0, 3);
  PAIR(rocksdb_compaction_options_set_output_temperature_override,
       rocksdb_compaction_options_get_output_temperature_override, int, 0, 4);
  PAIR(rocksdb_compaction_options_set_allow_trivial_move,
       rocksdb_compaction_options_get_allow_trivial_move, unsigned char, 0, 1);
  rocksdb_compaction_options_destroy(options);
}

static void test_ingestexternalfileoptions(void) {
  rocksdb_ingestexternalfileoptions_t* options = rocksdb_ingestexternalfileoptions_create();
  PAIR(rocksdb_ingestexternalfileoptions_set_move_files,
       rocksdb_ingestexternalfileoptions_get_move_files, unsigned char, 0, 1);
  PAIR(rocksdb_ingestexternalfileoptions_set_link_files,
       rocksdb_ingestexternalfileoptions_get_link_files, unsigned char, 0, 1);
  PAIR(rocksdb_ingestexternalfileoptions_set_failed_move_fall_back_to_copy,
       rocksdb_ingestexternalfileoptions_get_failed_move_fall_back_to_copy, unsigned char, 1, 0);
  PAIR(rocksdb_ingestexternalfileoptions_set_snapshot_consistency,
       rocksdb_ingestexternalfileoptions_get_snapshot_consistency, unsigned char, 1, 0);
  PAIR(rocksdb_ingestexternalfileoptions_set_allow_global_seqno,
       rocksdb_ingestexternalfileoptions_get_allow_global_seqno, unsigned char, 1, 0);
  PAIR(rocksdb_ingestexternalfileoptions_set_allow_blocking_flush,
       rocksdb_ingestexternalfileoptions_get_allow_blocking_flush, unsigned char, 1, 0);
  PAIR(rocksdb_ingestexternalfileoptions_set_ingest_behind,
       rocksdb_ingestexternalfileoptions_get_ingest_behind, unsigned char, 0, 1);
  PAIR(rocksdb_ingestexternalfileoptions_set_write_global_seqno,
       rocksdb_ingestexternalfileoptions_get_write_global_seqno, unsigned char, 0, 1);
  PAIR(rocksdb_ingestexternalfileoptions_set_verify_checksums_before_ingest,
       rocksdb_ingestexternalfileoptions_get_verify_checksums_before_ingest, unsigned char, 0, 1);
  PAIR(rocksdb_ingestexternalfileoptions_set_verify_checksums_readahead_size,
       rocksdb_ingestexternalfileoptions_get_verify_checksums_readahead_size, size_t, 0, 3);
  PAIR(rocksdb_ingestexternalfileoptions_set_verify_file_checksum,
       rocksdb_ingestexternalfileoptions_get_verify_file_checksum, unsigned char, 1, 0);
  PAIR(rocksdb_ingestexternalfileoptions_set_fail_if_not_bottommost_level,
       rocksdb_ingestexternalfileoptions_get_fail_if_not_bottommost_level, unsigned char, 0, 1);
  PAIR(rocksdb_ingestexternalfileoptions_set_allow_db_generated_files,
       rocksdb_ingestexternalfileoptions_get_allow_db_generated_files, unsigned char, 0, 1);
  PAIR(rocksdb_ingestexternalfileoptions_set_fill_cache,
       rocksdb_ingestexternalfileoptions_get_fill_cache, unsigned char, 1, 0);
  PAIR(rocksdb_ingestexternalfileoptions_set_prefetch_lmax_index_and_filter_blocks,
       rocksdb_ingestexternalfileoptions_get_prefetch_lmax_index_and_filter_blocks, unsigned char, 1, 0);
  PAIR(rocksdb_ingestexternalfileoptions_set_file_opening_threads,
       rocksdb_ingestexternalfileoptions_get_file_opening_threads, int, 1, 2);
  rocksdb_ingestexternalfileoptions_destroy(options);
}

static void test_open_and_compact_options(void) {
  rocksdb_open_and_compact_options_t* options = rocksdb_open_and_compact_options_create();
  PAIR(rocksdb_open_and_compact_options_set_allow_resumption,
       rocksdb_open_and_compact_options_get_allow_resumption, unsigned char, 0, 1);
  rocksdb_open_and_compact_options_destroy(options);
}

static void test_import_column_family_options(void) {
  rocksdb_import_column_family_options_t* options = rocksdb_import_column_family_options_create();
  PAIR(rocksdb_import_column_family_options_set_move_files,
       rocksdb_import_column_family_options_get_move_files, unsigned char, 0, 1);
  rocksdb_import_column_family_options_destroy(options);
}

static void test_size_approximation_options(void) {
  rocksdb_size_approximation_options_t* options = rocksdb_size_approximation_options_create();
  PAIR(rocksdb_size_approximation_options_set_include_memtables,
       rocksdb_size_approximation_options_get_include_memtables, unsigned char, 0, 1);
  PAIR(rocksdb_size_approximation_options_set_include_files,
       rocksdb_size_approximation_options_get_include_files, unsigned char, 1, 0);
  PAIR(rocksdb_size_approximation_options_set_include_blob_files,
       rocksdb_size_approximation_options_get_include_blob_files, unsigned char, 0, 1);
  PAIR(rocksdb_size_approximation_options_set_files_size_error_margin,
       rocksdb_size_approximation_options_get_files_size_error_margin, double, -1.0, 0.5);
  rocksdb_size_approximation_options_destroy(options);
}

static void test_livefiles_storage_info_options(void) {
  rocksdb_livefiles_storage_info_options_t* options = rocksdb_livefiles_storage_info_options_create();
  PAIR(rocksdb_livefiles_storage_info_options_set_include_checksum_info,
       rocksdb_livefiles_storage_info_options_get_include_checksum_info, unsigned char, 0, 1);
  PAIR(rocksdb_livefiles_storage_info_options_set_wal_size_for_flush,
       rocksdb_livefiles_storage_info_options_get_wal_size_for_flush, uint64_t, 0, 3);
  PAIR(rocksdb_livefiles_storage_info_options_set_atomic_flush,
       rocksdb_livefiles_storage_info_options_get_atomic_flush, unsigned char, 0, 1);
  rocksdb_livefiles_storage_info_options_destroy(options);
}

static void test_column_family_metadata_options(void) {
  rocksdb_column_family_metadata_options_t* options = rocksdb_column_family_metadata_options_create();
  PAIR(rocksdb_column_family_metadata_options_set_level,
       rocksdb_column_family_metadata_options_get_level, int, -1, 2);
  rocksdb_column_family_metadata_options_destroy(options);
}

static void test_cuckoo_table_options(void) {
  rocksdb_cuckoo_table_options_t* options = rocksdb_cuckoo_options_create();
  PAIR(rocksdb_cuckoo_options_set_hash_table_ratio, rocksdb_cuckoo_options_get_hash_table_ratio, double, 0.9, 0.5);
  PAIR(rocksdb_cuckoo_options_set_max_search_depth, rocksdb_cuckoo_options_get_max_search_depth, uint32_t, 100, 3);
  PAIR(rocksdb_cuckoo_options_set_cuckoo_block_size, rocksdb_cuckoo_options_get_cuckoo_block_size, uint32_t, 5, 3);
  PAIR(rocksdb_cuckoo_options_set_identity_as_first_hash,
       rocksdb_cuckoo_options_get_identity_as_first_hash, unsigned char, 0, 1);
  PAIR(rocksdb_cuckoo_options_set_use_module_hash, rocksdb_cuckoo_options_get_use_module_hash, unsigned char, 1, 0);
  rocksdb_cuckoo_options_destroy(options);
}

static void test_backup_engine_options(void) {
  rocksdb_backup_engine_options_t* options = rocksdb_backup_engine_options_create("/backups");
  PAIR(rocksdb_backup_engine_options_set_io_buffer_size,
       rocksdb_backup_engine_options_get_io_buffer_size, uint64_t, 0, 3);
  PAIR(rocksdb_backup_engine_options_set_backup_rate_limit,
       rocksdb_backup_engine_options_get_backup_rate_limit, uint64_t, 0, 3);
  PAIR(rocksdb_backup_engine_options_set_max_background_operations,
       rocksdb_backup_engine_options_get_max_background_operations, int, 1, 2);
  PAIR(rocksdb_backup_engine_options_set_share_table_files,
       rocksdb_backup_engine_options_get_share_table_files, unsigned char, 1, 0);
  PAIR(rocksdb_backup_engine_options_set_sync, rocksdb_backup_engine_options_get_sync, unsigned char, 1, 0);
  PAIR(rocksdb_backup_engine_options_set_destroy_old_data,
       rocksdb_backup_engine_options_get_destroy_old_data, unsigned char, 0, 1);
  PAIR(rocksdb_backup_engine_options_set_backup_log_files,
       rocksdb_backup_engine_options_get_backup_log_files, unsigned char, 1, 0);
  PAIR(rocksdb_backup_engine_options_set_restore_rate_limit,
       rocksdb_backup_engine_options_get_restore_rate_limit, uint64_t, 0, 3);
  PAIR(rocksdb_backup_engine_options_set_share_files_with_checksum,
       rocksdb_backup_engine_options_get_share_files_with_checksum, unsigned char, 1, 0);
  PAIR(rocksdb_backup_engine_options_set_callback_trigger_interval_size,
       rocksdb_backup_engine_options_get_callback_trigger_interval_size, uint64_t, 4194304, 3);
  PAIR(rocksdb_backup_engine_options_set_max_valid_backups_to_open,
       rocksdb_backup_engine_options_get_max_valid_backups_to_open, int, 2147483647, 2);
  PAIR(rocksdb_backup_engine_options_set_share_files_with_checksum_naming,
       rocksdb_backup_engine_options_get_share_files_with_checksum_naming, int, -2147483646, 2);
  PAIR(rocksdb_backup_engine_options_set_schema_version, rocksdb_backup_engine_options_get_schema_version, int, 1, 2);
  PAIR(rocksdb_backup_engine_options_set_current_temperatures_override_manifest,
       rocksdb_backup_engine_options_get_current_temperatures_override_manifest, unsigned char, 0, 1);
  rocksdb_backup_engine_options_destroy(options);
}

static void test_create_backup_options(void) {
  rocksdb_create_backup_options_t* options = rocksdb_create_backup_options_create();
  PAIR(rocksdb_create_backup_options_set_decrease_background_thread_cpu_priority,
       rocksdb_create_backup_options_get_decrease_background_thread_cpu_priority, unsigned char, 0, 1);
  PAIR(rocksdb_create_backup_options_set_background_thread_cpu_priority,
       rocksdb_create_backup_options_get_background_thread_cpu_priority, int, 2, 1);
  PAIR(rocksdb_create_backup_options_set_flush_before_backup,
       rocksdb_create_backup_options_get_flush_before_backup, unsigned char, 0, 1);
  PAIR(rocksdb_create_backup_options_set_atomic_flush,
       rocksdb_create_backup_options_get_atomic_flush, unsigned char, 0, 1);
  rocksdb_create_backup_options_destroy(options);
}

static void test_restore_options(void) {
  rocksdb_restore_options_t* options = rocksdb_restore_options_create();
  PAIR(rocksdb_restore_options_set_keep_log_files, rocksdb_restore_options_get_keep_log_files, unsigned char, 0, 1);
  PAIR(rocksdb_restore_options_set_mode, rocksdb_restore_options_get_mode, int, 65535, 2);
  rocksdb_restore_options_destroy(options);
}

static void test_transactiondb_options(void) {
  rocksdb_transactiondb_options_t* options = rocksdb_transactiondb_options_create();
  PAIR(rocksdb_transactiondb_options_set_max_num_locks,
       rocksdb_transactiondb_options_get_max_num_locks, int64_t, -1, 2);
  PAIR(rocksdb_transactiondb_options_set_max_num_deadlocks,
       rocksdb_transactiondb_options_get_max_num_deadlocks, uint32_t, 5, 3);
  PAIR(rocksdb_transactiondb_options_set_num_stripes, rocksdb_transactiondb_options_get_num_stripes, size_t, 16, 3);
  PAIR(rocksdb_transactiondb_options_set_transaction_lock_timeout,
       rocksdb_transactiondb_options_get_transaction_lock_timeout, int64_t, 1000, 2);
  PAIR(rocksdb_transactiondb_options_set_default_lock_timeout,
       rocksdb_transactiondb_options_get_default_lock_timeout, int64_t, 1000, 2);
  PAIR(rocksdb_transactiondb_options_set_write_policy, rocksdb_transactiondb_options_get_write_policy, int, 0, 2);
  PAIR(rocksdb_transactiondb_options_set_rollback_merge_operands,
       rocksdb_transactiondb_options_get_rollback_merge_operands, unsigned char, 0, 1);
  PAIR(rocksdb_transactiondb_options_set_use_per_key_point_lock_mgr,
       rocksdb_transactiondb_options_get_use_per_key_point_lock_mgr, unsigned char, 0, 1);
  PAIR(rocksdb_transactiondb_options_set_skip_concurrency_control,
       rocksdb_transactiondb_options_get_skip_concurrency_control, unsigned char, 0, 1);
  PAIR(rocksdb_transactiondb_options_set_default_write_batch_flush_threshold,
       rocksdb_transactiondb_options_get_default_write_batch_flush_threshold, int64_t, 0, 2);
  PAIR(rocksdb_transactiondb_options_set_enable_udt_validation,
       rocksdb_transactiondb_options_get_enable_udt_validation, unsigned char, 1, 0);
  PAIR(rocksdb_transactiondb_options_set_txn_commit_bypass_memtable_threshold,
       rocksdb_transactiondb_options_get_txn_commit_bypass_memtable_threshold, uint32_t, 4294967295ULL, 3);
  rocksdb_transactiondb_options_destroy(options);
}

static void test_transaction_options(void) {
  rocksdb_transaction_options_t* options = rocksdb_transaction_options_create();
  PAIR(rocksdb_transaction_options_set_set_snapshot,
       rocksdb_transaction_options_get_set_snapshot, unsigned char, 0, 1);
  PAIR(rocksdb_transaction_options_set_deadlock_detect,
       rocksdb_transaction_options_get_deadlock_detect, unsigned char, 0, 1);
  PAIR(rocksdb_transaction_options_set_use_only_the_last_commit_time_batch_for_recovery,
       rocksdb_transaction_options_get_use_only_the_last_commit_time_batch_for_recovery, unsigned char, 0, 1);
  PAIR(rocksdb_transaction_options_set_lock_timeout, rocksdb_transaction_options_get_lock_timeout, int64_t, -1, 2);
  PAIR(rocksdb_transaction_options_set_deadlock_timeout_us,
       rocksdb_transaction_options_get_deadlock_timeout_us, int64_t, 500, 2);
  PAIR(rocksdb_transaction_options_set_expiration, rocksdb_transaction_options_get_expiration, int64_t, -1, 2);
  PAIR(rocksdb_transaction_options_set_deadlock_detect_depth,
       rocksdb_transaction_options_get_deadlock_detect_depth, int64_t, 50, 2);
  PAIR(rocksdb_transaction_options_set_max_write_batch_size,
       rocksdb_transaction_options_get_max_write_batch_size, size_t, 0, 3);
  PAIR(rocksdb_transaction_options_set_skip_concurrency_control,
       rocksdb_transaction_options_get_skip_concurrency_control, unsigned char, 0, 1);
  PAIR(rocksdb_transaction_options_set_skip_prepare,
       rocksdb_transaction_options_get_skip_prepare, unsigned char, 1, 0);
  PAIR(rocksdb_transaction_options_set_write_batch_flush_threshold,
       rocksdb_transaction_options_get_write_batch_flush_threshold, int64_t, -1, 2);
  PAIR(rocksdb_transaction_options_set_write_batch_track_timestamp_size,
       rocksdb_transaction_options_get_write_batch_track_timestamp_size, unsigned char, 0, 1);
  PAIR(rocksdb_transaction_options_set_commit_bypass_memtable,
       rocksdb_transaction_options_get_commit_bypass_memtable, unsigned char, 0, 1);
  PAIR(rocksdb_transaction_options_set_large_txn_commit_optimize_threshold,
       rocksdb_transaction_options_get_large_txn_commit_optimize_threshold, uint32_t, 0, 3);
  PAIR(rocksdb_transaction_options_set_large_txn_commit_optimize_byte_threshold,
       rocksdb_transaction_options_get_large_txn_commit_optimize_byte_threshold, uint64_t, 0, 3);
  rocksdb_transaction_options_destroy(options);
}

static void test_optimistictransaction_options(void) {
  rocksdb_optimistictransaction_options_t* options = rocksdb_optimistictransaction_options_create();
  PAIR(rocksdb_optimistictransaction_options_set_set_snapshot,
       rocksdb_optimistictransaction_options_get_set_snapshot, unsigned char, 0, 1);
  rocksdb_optimistictransaction_options_destroy(options);
}

static void test_optimistictransactiondb_options(void) {
  rocksdb_optimistictransactiondb_options_t* options = rocksdb_optimistictransactiondb_options_create();
  PAIR(rocksdb_optimistictransactiondb_options_set_validate_policy,
       rocksdb_optimistictransactiondb_options_get_validate_policy, int, 1, 2);
  PAIR(rocksdb_optimistictransactiondb_options_set_occ_lock_buckets,
       rocksdb_optimistictransactiondb_options_get_occ_lock_buckets, uint32_t, 1048576, 3);
  rocksdb_optimistictransactiondb_options_destroy(options);
}

#if HERE
static void test_sst_file_manager(void) {
  rocksdb_sst_file_manager_t* options = rocksdb_sst_file_manager_create(NULL);
  PAIR(rocksdb_sst_file_manager_set_delete_rate_bytes_per_second,
       rocksdb_sst_file_manager_get_delete_rate_bytes_per_second, int64_t, 0, 7);
  PAIR(rocksdb_sst_file_manager_set_max_trash_db_ratio, rocksdb_sst_file_manager_get_max_trash_db_ratio, double, 0.25, 0.5);
  rocksdb_sst_file_manager_set_max_allowed_space_usage(options, 1);
  rocksdb_sst_file_manager_set_compaction_buffer_size(options, 1);
  CHECK(!rocksdb_sst_file_manager_is_max_allowed_space_reached(options));
  CHECK(!rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(options));
  CHECK(rocksdb_sst_file_manager_get_total_size(options) == 0);
  CHECK(rocksdb_sst_file_manager_get_total_trash_size(options) == 0);
  rocksdb_sst_file_manager_destroy(options);
  rocksdb_cuckoo_table_options_t* table = rocksdb_cuckoo_options_create();
  rocksdb_cuckoo_options_set_hash_ratio(table, 0.5);
  rocksdb_cuckoo_options_destroy(table);
}
#endif

int main(void) {
#if HERE
  test_sst_file_manager();
#endif
  test_wal_readoptions();
  test_options();
  test_readoptions();
  test_compactoptions();
  test_replay_options();
  test_universal_compaction_options();
  test_fifo_compaction_options();
  test_wait_for_compact_options();
  test_writeoptions();
  test_flushoptions();
  test_flushwaloptions();
  test_envoptions();
  test_trace_options();
  test_block_cache_trace_options();
  test_block_cache_trace_writer_options();
  test_compaction_options();
  test_ingestexternalfileoptions();
  test_open_and_compact_options();
  test_import_column_family_options();
  test_size_approximation_options();
  test_livefiles_storage_info_options();
  test_column_family_metadata_options();
  test_cuckoo_table_options();
  test_backup_engine_options();
  test_create_backup_options();
  test_restore_options();
  test_transactiondb_options();
  test_transaction_options();
  test_optimistictransaction_options();
  test_optimistictransactiondb_options();
  return 0;
}
