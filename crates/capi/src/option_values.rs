//! Options of databases and column families that are one number: a setter and a getter a line.
//!
//! `settings_options!` are fields of the option tables, which bound them. `kept_texts!` are options without a field, by
//! their names in an OPTIONS file: what the engine does not take as a value of theirs is kept for the getter, and
//! refused by the open.

use crate::options::{rocksdb_options_t, set};
use crate::refused::out_of_range;
use ferrock::options::{
    COLUMN_FAMILY_OPTIONS_WITHOUT_EFFECT as COLUMN_FAMILY_OPTIONS, DB_OPTIONS_WITHOUT_EFFECT as DB_OPTIONS, Temperature,
};
use std::ffi::{c_int, c_uchar, c_uint};

/// Setter and getter of a field.
macro_rules! settings_options {
    ($( $half:ident . settings . $field:ident : $set:ident ($set_ty:ty), $get:ident ($get_ty:ty); )*) => {$(
        c_setters! {
            for rocksdb_options_t:
            #[doc = "Sets an option of the option tables."]
            fn $set($set_ty) => $half.settings.$field;
        }
        c_getters! {
            for rocksdb_options_t:
            #[doc = "The value of such an option."]
            fn $get() -> $get_ty => $half.settings.$field;
        }
    )*};
}

/// Setter and getter of an option that has no field.
macro_rules! kept_texts {
    ($half:ident in $table:ident: $( $form:ident $(($names:ident))? $option:ident :
        $set:ident ($set_ty:ty), $get:ident ($get_ty:ty); )*) => {$(
        c_functions! {
            #[doc = "Sets an option that has no effect here: the open refuses what is not built."]
            fn $set(options: *mut rocksdb_options_t, value: $set_ty) {
                // SAFETY: the contract.
                if let Some(options) = unsafe { options.as_mut() } {
                    let text = forms::$form::text(value.into_number() $(, $names)?);
                    let outcome = match &text {
                        Some(text) => options.$half.passthrough.set($table, stringify!($option), text).map(drop),
                        None => Err(out_of_range(stringify!($option), value, "the values of RocksDB")),
                    };
                    options.keep(stringify!($option), text, outcome);
                }
            }

            #[doc = "What such an option was set to."]
            fn $get(options: *mut rocksdb_options_t) -> $get_ty {
                // SAFETY: the contract.
                let Some(options) = (unsafe { options.as_ref() }) else { return Default::default() };
                let text = options.kept_text(stringify!($option));
                let text = text.or_else(|| options.$half.passthrough.get($table, stringify!($option)));
                let number = text.and_then(|text| forms::$form::number(&text $(, $names)?));
                number.map_or_else(Default::default, <$get_ty as Number>::of_number)
            }
        }
    )*};
}

settings_options! {
    db.settings.compaction_readahead_size:
        rocksdb_options_compaction_readahead_size(usize),
        rocksdb_options_get_compaction_readahead_size(usize);
    db.settings.max_bgerror_resume_count:
        rocksdb_options_set_max_bgerror_resume_count(c_int),
        rocksdb_options_get_max_bgerror_resume_count(c_int);
    db.settings.bgerror_resume_retry_interval:
        rocksdb_options_set_bgerror_resume_retry_interval(u64),
        rocksdb_options_get_bgerror_resume_retry_interval(u64);
    db.settings.allow_ingest_behind:
        rocksdb_options_set_allow_ingest_behind(c_uchar),
        rocksdb_options_get_allow_ingest_behind(c_uchar);
    db.settings.follower_refresh_catchup_period_ms:
        rocksdb_options_set_follower_refresh_catchup_period_ms(u64),
        rocksdb_options_get_follower_refresh_catchup_period_ms(u64);
    db.settings.follower_catchup_retry_count:
        rocksdb_options_set_follower_catchup_retry_count(u64),
        rocksdb_options_get_follower_catchup_retry_count(u64);
    db.settings.follower_catchup_retry_wait_ms:
        rocksdb_options_set_follower_catchup_retry_wait_ms(u64),
        rocksdb_options_get_follower_catchup_retry_wait_ms(u64);
    db.settings.create_if_missing:
        rocksdb_options_set_create_if_missing(c_uchar),
        rocksdb_options_get_create_if_missing(c_uchar);
    db.settings.create_missing_column_families:
        rocksdb_options_set_create_missing_column_families(c_uchar),
        rocksdb_options_get_create_missing_column_families(c_uchar);
    db.settings.error_if_exists:
        rocksdb_options_set_error_if_exists(c_uchar),
        rocksdb_options_get_error_if_exists(c_uchar);
    db.settings.best_efforts_recovery:
        rocksdb_options_set_best_efforts_recovery(c_uchar),
        rocksdb_options_get_best_efforts_recovery(c_uchar);
    db.settings.paranoid_checks:
        rocksdb_options_set_paranoid_checks(c_uchar),
        rocksdb_options_get_paranoid_checks(c_uchar);
    db.settings.db_write_buffer_size:
        rocksdb_options_set_db_write_buffer_size(usize),
        rocksdb_options_get_db_write_buffer_size(usize);
    db.settings.max_open_files: rocksdb_options_set_max_open_files(c_int), rocksdb_options_get_max_open_files(c_int);
    db.settings.max_file_opening_threads:
        rocksdb_options_set_max_file_opening_threads(c_int),
        rocksdb_options_get_max_file_opening_threads(c_int);
    db.settings.open_files_async:
        rocksdb_options_set_open_files_async(c_uchar),
        rocksdb_options_get_open_files_async(c_uchar);
    db.settings.wal_ttl_seconds: rocksdb_options_set_WAL_ttl_seconds(u64), rocksdb_options_get_WAL_ttl_seconds(u64);
    db.settings.wal_size_limit_mb:
        rocksdb_options_set_WAL_size_limit_MB(u64),
        rocksdb_options_get_WAL_size_limit_MB(u64);
    db.settings.max_total_wal_size:
        rocksdb_options_set_max_total_wal_size(u64),
        rocksdb_options_get_max_total_wal_size(u64);
    db.settings.max_subcompactions:
        rocksdb_options_set_max_subcompactions(u32),
        rocksdb_options_get_max_subcompactions(u32);
    db.settings.max_background_jobs:
        rocksdb_options_set_max_background_jobs(c_int),
        rocksdb_options_get_max_background_jobs(c_int);
    db.settings.max_background_compactions:
        rocksdb_options_set_max_background_compactions(c_int),
        rocksdb_options_get_max_background_compactions(c_int);
    db.settings.max_background_flushes:
        rocksdb_options_set_max_background_flushes(c_int),
        rocksdb_options_get_max_background_flushes(c_int);
    db.settings.max_log_file_size:
        rocksdb_options_set_max_log_file_size(usize),
        rocksdb_options_get_max_log_file_size(usize);
    db.settings.keep_log_file_num:
        rocksdb_options_set_keep_log_file_num(usize),
        rocksdb_options_get_keep_log_file_num(usize);
    db.settings.max_manifest_file_size:
        rocksdb_options_set_max_manifest_file_size(usize),
        rocksdb_options_get_max_manifest_file_size(usize);
    family.settings.enable_blob_files:
        rocksdb_options_set_enable_blob_files(c_uchar),
        rocksdb_options_get_enable_blob_files(c_uchar);
    family.settings.enable_blob_direct_write:
        rocksdb_options_set_enable_blob_direct_write(c_uchar),
        rocksdb_options_get_enable_blob_direct_write(c_uchar);
    family.settings.blob_direct_write_partitions:
        rocksdb_options_set_blob_direct_write_partitions(u32),
        rocksdb_options_get_blob_direct_write_partitions(u32);
    family.settings.min_blob_size: rocksdb_options_set_min_blob_size(u64), rocksdb_options_get_min_blob_size(u64);
    family.settings.blob_file_size: rocksdb_options_set_blob_file_size(u64), rocksdb_options_get_blob_file_size(u64);
    family.settings.enable_blob_garbage_collection:
        rocksdb_options_set_enable_blob_gc(c_uchar),
        rocksdb_options_get_enable_blob_gc(c_uchar);
    family.settings.blob_garbage_collection_age_cutoff:
        rocksdb_options_set_blob_gc_age_cutoff(f64),
        rocksdb_options_get_blob_gc_age_cutoff(f64);
    family.settings.blob_garbage_collection_force_threshold:
        rocksdb_options_set_blob_gc_force_threshold(f64),
        rocksdb_options_get_blob_gc_force_threshold(f64);
    family.settings.blob_file_starting_level:
        rocksdb_options_set_blob_file_starting_level(c_int),
        rocksdb_options_get_blob_file_starting_level(c_int);
    family.settings.blob_compaction_readahead_size:
        rocksdb_options_set_blob_compaction_readahead_size(u64),
        rocksdb_options_get_blob_compaction_readahead_size(u64);
    family.settings.bloom_locality: rocksdb_options_set_bloom_locality(u32), rocksdb_options_get_bloom_locality(u32);
    db.settings.allow_mmap_reads:
        rocksdb_options_set_allow_mmap_reads(c_uchar),
        rocksdb_options_get_allow_mmap_reads(c_uchar);
    db.settings.use_direct_reads:
        rocksdb_options_set_use_direct_reads(c_uchar),
        rocksdb_options_get_use_direct_reads(c_uchar);
    db.settings.use_direct_io_for_flush_and_compaction:
        rocksdb_options_set_use_direct_io_for_flush_and_compaction(c_uchar),
        rocksdb_options_get_use_direct_io_for_flush_and_compaction(c_uchar);
    db.settings.stats_dump_period_sec:
        rocksdb_options_set_stats_dump_period_sec(c_uint),
        rocksdb_options_get_stats_dump_period_sec(c_uint);
    db.settings.stats_persist_period_sec:
        rocksdb_options_set_stats_persist_period_sec(c_uint),
        rocksdb_options_get_stats_persist_period_sec(c_uint);
    db.settings.stats_history_buffer_size:
        rocksdb_options_set_stats_history_buffer_size(usize),
        rocksdb_options_get_stats_history_buffer_size(usize);
    db.settings.persist_stats_to_disk:
        rocksdb_options_set_persist_stats_to_disk(c_uchar),
        rocksdb_options_get_persist_stats_to_disk(c_uchar);
    db.settings.max_compaction_trigger_wakeup_seconds:
        rocksdb_options_set_max_compaction_trigger_wakeup_seconds(u64),
        rocksdb_options_get_max_compaction_trigger_wakeup_seconds(u64);
    db.settings.advise_random_on_open:
        rocksdb_options_set_advise_random_on_open(c_uchar),
        rocksdb_options_get_advise_random_on_open(c_uchar);
    db.settings.bytes_per_sync: rocksdb_options_set_bytes_per_sync(u64), rocksdb_options_get_bytes_per_sync(u64);
    db.settings.strict_bytes_per_sync:
        rocksdb_options_set_strict_bytes_per_sync(c_uchar),
        rocksdb_options_get_strict_bytes_per_sync(c_uchar);
    db.settings.wal_bytes_per_sync:
        rocksdb_options_set_wal_bytes_per_sync(u64),
        rocksdb_options_get_wal_bytes_per_sync(u64);
    db.settings.writable_file_max_buffer_size:
        rocksdb_options_set_writable_file_max_buffer_size(u64),
        rocksdb_options_get_writable_file_max_buffer_size(u64);
    db.settings.allow_concurrent_memtable_write:
        rocksdb_options_set_allow_concurrent_memtable_write(c_uchar),
        rocksdb_options_get_allow_concurrent_memtable_write(c_uchar);
    db.settings.write_dbid_to_manifest:
        rocksdb_options_set_write_dbid_to_manifest(c_uchar),
        rocksdb_options_get_write_dbid_to_manifest(c_uchar);
    db.settings.write_identity_file:
        rocksdb_options_set_write_identity_file(c_uchar),
        rocksdb_options_get_write_identity_file(c_uchar);
    db.settings.manual_wal_flush:
        rocksdb_options_set_manual_wal_flush(c_uchar),
        rocksdb_options_get_manual_wal_flush(c_uchar);
    db.settings.track_and_verify_wals_in_manifest:
        rocksdb_options_set_track_and_verify_wals_in_manifest(c_uchar),
        rocksdb_options_get_track_and_verify_wals_in_manifest(c_uchar);
    db.settings.verify_sst_unique_id_in_manifest:
        rocksdb_options_set_verify_sst_unique_id_in_manifest(c_uchar),
        rocksdb_options_get_verify_sst_unique_id_in_manifest(c_uchar);
    db.settings.max_manifest_space_amp_pct:
        rocksdb_options_set_max_manifest_space_amp_pct(c_int),
        rocksdb_options_get_max_manifest_space_amp_pct(c_int);
    db.settings.manifest_preallocation_size:
        rocksdb_options_set_manifest_preallocation_size(usize),
        rocksdb_options_get_manifest_preallocation_size(usize);
    db.settings.use_direct_io_for_compaction_reads:
        rocksdb_options_set_use_direct_io_for_compaction_reads(c_uchar),
        rocksdb_options_get_use_direct_io_for_compaction_reads(c_uchar);
    db.settings.verify_manifest_content_on_close:
        rocksdb_options_set_verify_manifest_content_on_close(c_uchar),
        rocksdb_options_get_verify_manifest_content_on_close(c_uchar);
    db.settings.allow_fallocate:
        rocksdb_options_set_allow_fallocate(c_uchar),
        rocksdb_options_get_allow_fallocate(c_uchar);
    db.settings.max_write_batch_group_size_bytes:
        rocksdb_options_set_max_write_batch_group_size_bytes(u64),
        rocksdb_options_get_max_write_batch_group_size_bytes(u64);
    db.settings.avoid_flush_during_recovery:
        rocksdb_options_set_avoid_flush_during_recovery(c_uchar),
        rocksdb_options_get_avoid_flush_during_recovery(c_uchar);
    db.settings.atomic_flush: rocksdb_options_set_atomic_flush(c_uchar), rocksdb_options_get_atomic_flush(c_uchar);
    db.settings.avoid_flush_during_shutdown:
        rocksdb_options_set_avoid_flush_during_shutdown(c_uchar),
        rocksdb_options_get_avoid_flush_during_shutdown(c_uchar);
    family.settings.write_buffer_size:
        rocksdb_options_set_write_buffer_size(usize),
        rocksdb_options_get_write_buffer_size(usize);
    family.settings.num_levels: rocksdb_options_set_num_levels(c_int), rocksdb_options_get_num_levels(c_int);
    family.settings.level0_file_num_compaction_trigger:
        rocksdb_options_set_level0_file_num_compaction_trigger(c_int),
        rocksdb_options_get_level0_file_num_compaction_trigger(c_int);
    family.settings.level0_slowdown_writes_trigger:
        rocksdb_options_set_level0_slowdown_writes_trigger(c_int),
        rocksdb_options_get_level0_slowdown_writes_trigger(c_int);
    family.settings.level0_stop_writes_trigger:
        rocksdb_options_set_level0_stop_writes_trigger(c_int),
        rocksdb_options_get_level0_stop_writes_trigger(c_int);
    family.settings.target_file_size_base:
        rocksdb_options_set_target_file_size_base(u64),
        rocksdb_options_get_target_file_size_base(u64);
    family.settings.target_file_size_multiplier:
        rocksdb_options_set_target_file_size_multiplier(c_int),
        rocksdb_options_get_target_file_size_multiplier(c_int);
    family.settings.target_file_size_is_upper_bound:
        rocksdb_options_set_target_file_size_is_upper_bound(c_uchar),
        rocksdb_options_get_target_file_size_is_upper_bound(c_uchar);
    family.settings.max_bytes_for_level_base:
        rocksdb_options_set_max_bytes_for_level_base(u64),
        rocksdb_options_get_max_bytes_for_level_base(u64);
    family.settings.level_compaction_dynamic_level_bytes:
        rocksdb_options_set_level_compaction_dynamic_level_bytes(c_uchar),
        rocksdb_options_get_level_compaction_dynamic_level_bytes(c_uchar);
    family.settings.max_bytes_for_level_multiplier:
        rocksdb_options_set_max_bytes_for_level_multiplier(f64),
        rocksdb_options_get_max_bytes_for_level_multiplier(f64);
    family.settings.max_write_buffer_number:
        rocksdb_options_set_max_write_buffer_number(c_int),
        rocksdb_options_get_max_write_buffer_number(c_int);
    family.settings.min_write_buffer_number_to_merge:
        rocksdb_options_set_min_write_buffer_number_to_merge(c_int),
        rocksdb_options_get_min_write_buffer_number_to_merge(c_int);
    family.settings.soft_pending_compaction_bytes_limit:
        rocksdb_options_set_soft_pending_compaction_bytes_limit(usize),
        rocksdb_options_get_soft_pending_compaction_bytes_limit(usize);
    family.settings.hard_pending_compaction_bytes_limit:
        rocksdb_options_set_hard_pending_compaction_bytes_limit(usize),
        rocksdb_options_get_hard_pending_compaction_bytes_limit(usize);
    family.settings.memtable_huge_page_size:
        rocksdb_options_set_memtable_huge_page_size(usize),
        rocksdb_options_get_memtable_huge_page_size(usize);
    family.settings.max_successive_merges:
        rocksdb_options_set_max_successive_merges(usize),
        rocksdb_options_get_max_successive_merges(usize);
    family.settings.strict_max_successive_merges:
        rocksdb_options_set_strict_max_successive_merges(c_uchar),
        rocksdb_options_get_strict_max_successive_merges(c_uchar);
    family.settings.inplace_update_support:
        rocksdb_options_set_inplace_update_support(c_uchar),
        rocksdb_options_get_inplace_update_support(c_uchar);
    family.settings.inplace_update_num_locks:
        rocksdb_options_set_inplace_update_num_locks(usize),
        rocksdb_options_get_inplace_update_num_locks(usize);
    family.settings.arena_block_size:
        rocksdb_options_set_arena_block_size(usize),
        rocksdb_options_get_arena_block_size(usize);
    family.settings.memtable_max_range_deletions:
        rocksdb_options_set_memtable_max_range_deletions(u32),
        rocksdb_options_get_memtable_max_range_deletions(u32);
    family.settings.memtable_op_scan_flush_trigger:
        rocksdb_options_set_memtable_op_scan_flush_trigger(u32),
        rocksdb_options_get_memtable_op_scan_flush_trigger(u32);
    family.settings.memtable_avg_op_scan_flush_trigger:
        rocksdb_options_set_memtable_avg_op_scan_flush_trigger(u32),
        rocksdb_options_get_memtable_avg_op_scan_flush_trigger(u32);
    family.settings.min_tombstones_for_range_conversion:
        rocksdb_options_set_min_tombstones_for_range_conversion(u32),
        rocksdb_options_get_min_tombstones_for_range_conversion(u32);
    family.settings.memtable_protection_bytes_per_key:
        rocksdb_options_set_memtable_protection_bytes_per_key(u32),
        rocksdb_options_get_memtable_protection_bytes_per_key(u32);
    family.settings.block_protection_bytes_per_key:
        rocksdb_options_set_block_protection_bytes_per_key(u8),
        rocksdb_options_get_block_protection_bytes_per_key(u8);
    family.settings.paranoid_memory_checks:
        rocksdb_options_set_paranoid_memory_checks(c_uchar),
        rocksdb_options_get_paranoid_memory_checks(c_uchar);
    family.settings.memtable_verify_per_key_checksum_on_seek:
        rocksdb_options_set_memtable_verify_per_key_checksum_on_seek(c_uchar),
        rocksdb_options_get_memtable_verify_per_key_checksum_on_seek(c_uchar);
    family.settings.bottommost_file_compaction_delay:
        rocksdb_options_set_bottommost_file_compaction_delay(u32),
        rocksdb_options_get_bottommost_file_compaction_delay(u32);
    family.settings.sample_for_compression:
        rocksdb_options_set_sample_for_compression(u64),
        rocksdb_options_get_sample_for_compression(u64);
    family.settings.uncache_aggressiveness:
        rocksdb_options_set_uncache_aggressiveness(u32),
        rocksdb_options_get_uncache_aggressiveness(u32);
    family.settings.read_triggered_compaction_threshold:
        rocksdb_options_set_read_triggered_compaction_threshold(f64),
        rocksdb_options_get_read_triggered_compaction_threshold(f64);
    family.settings.preclude_last_level_data_seconds:
        rocksdb_options_set_preclude_last_level_data_seconds(u64),
        rocksdb_options_get_preclude_last_level_data_seconds(u64);
    family.settings.paranoid_file_checks:
        rocksdb_options_set_paranoid_file_checks(c_uchar),
        rocksdb_options_get_paranoid_file_checks(c_uchar);
    family.settings.verify_output_flags:
        rocksdb_options_set_verify_output_flags(c_int),
        rocksdb_options_get_verify_output_flags(c_int);
    family.settings.max_sequential_skip_in_iterations:
        rocksdb_options_set_max_sequential_skip_in_iterations(u64),
        rocksdb_options_get_max_sequential_skip_in_iterations(u64);
    family.settings.disable_auto_compactions:
        rocksdb_options_set_disable_auto_compactions(c_int),
        rocksdb_options_get_disable_auto_compactions(c_uchar);
    family.settings.max_compaction_bytes:
        rocksdb_options_set_max_compaction_bytes(u64),
        rocksdb_options_get_max_compaction_bytes(u64);
    family.settings.cf_allow_ingest_behind:
        rocksdb_options_set_cf_allow_ingest_behind(c_uchar),
        rocksdb_options_get_cf_allow_ingest_behind(c_uchar);
    family.settings.force_consistency_checks:
        rocksdb_options_set_force_consistency_checks(c_uchar),
        rocksdb_options_get_force_consistency_checks(c_uchar);
}

kept_texts! {
    db in DB_OPTIONS:
    flag skip_stats_update_on_db_open:
        rocksdb_options_set_skip_stats_update_on_db_open(c_uchar),
        rocksdb_options_get_skip_stats_update_on_db_open(c_uchar);
    flag enable_pipelined_write:
        rocksdb_options_set_enable_pipelined_write(c_uchar),
        rocksdb_options_get_enable_pipelined_write(c_uchar);
    flag unordered_write: rocksdb_options_set_unordered_write(c_uchar), rocksdb_options_get_unordered_write(c_uchar);
    number log_file_time_to_roll:
        rocksdb_options_set_log_file_time_to_roll(usize),
        rocksdb_options_get_log_file_time_to_roll(usize);
    number recycle_log_file_num:
        rocksdb_options_set_recycle_log_file_num(usize),
        rocksdb_options_get_recycle_log_file_num(usize);
    number table_cache_numshardbits:
        rocksdb_options_set_table_cache_numshardbits(c_int),
        rocksdb_options_get_table_cache_numshardbits(c_int);
    flag use_fsync: rocksdb_options_set_use_fsync(c_int), rocksdb_options_get_use_fsync(c_int);
    flag allow_mmap_writes:
        rocksdb_options_set_allow_mmap_writes(c_uchar),
        rocksdb_options_get_allow_mmap_writes(c_uchar);
    flag is_fd_close_on_exec:
        rocksdb_options_set_is_fd_close_on_exec(c_uchar),
        rocksdb_options_get_is_fd_close_on_exec(c_uchar);
    flag use_adaptive_mutex:
        rocksdb_options_set_use_adaptive_mutex(c_uchar),
        rocksdb_options_get_use_adaptive_mutex(c_uchar);
    flag enable_write_thread_adaptive_yield:
        rocksdb_options_set_enable_write_thread_adaptive_yield(c_uchar),
        rocksdb_options_get_enable_write_thread_adaptive_yield(c_uchar);
    number delete_obsolete_files_period_micros:
        rocksdb_options_set_delete_obsolete_files_period_micros(u64),
        rocksdb_options_get_delete_obsolete_files_period_micros(u64);
    flag avoid_unnecessary_blocking_io:
        rocksdb_options_set_avoid_unnecessary_blocking_io(c_uchar),
        rocksdb_options_get_avoid_unnecessary_blocking_io(c_uchar);
    flag dump_malloc_stats:
        rocksdb_options_set_dump_malloc_stats(c_uchar),
        rocksdb_options_get_dump_malloc_stats(c_uchar);
    flag flush_verify_memtable_count:
        rocksdb_options_set_flush_verify_memtable_count(c_uchar),
        rocksdb_options_get_flush_verify_memtable_count(c_uchar);
    flag compaction_verify_record_count:
        rocksdb_options_set_compaction_verify_record_count(c_uchar),
        rocksdb_options_get_compaction_verify_record_count(c_uchar);
    flag track_and_verify_wals:
        rocksdb_options_set_track_and_verify_wals(c_uchar),
        rocksdb_options_get_track_and_verify_wals(c_uchar);
    number read_io_executor_threads:
        rocksdb_options_set_read_io_executor_threads(c_int),
        rocksdb_options_get_read_io_executor_threads(c_int);
    flag async_wal_precreate:
        rocksdb_options_set_async_wal_precreate(c_uchar),
        rocksdb_options_get_async_wal_precreate(c_uchar);
    flag optimize_manifest_for_recovery:
        rocksdb_options_set_optimize_manifest_for_recovery(c_uchar),
        rocksdb_options_get_optimize_manifest_for_recovery(c_uchar);
    flag reuse_manifest_on_open:
        rocksdb_options_set_reuse_manifest_on_open(c_uchar),
        rocksdb_options_get_reuse_manifest_on_open(c_uchar);
    flag enable_thread_tracking:
        rocksdb_options_set_enable_thread_tracking(c_uchar),
        rocksdb_options_get_enable_thread_tracking(c_uchar);
    number write_thread_max_yield_usec:
        rocksdb_options_set_write_thread_max_yield_usec(u64),
        rocksdb_options_get_write_thread_max_yield_usec(u64);
    number write_thread_slow_yield_usec:
        rocksdb_options_set_write_thread_slow_yield_usec(u64),
        rocksdb_options_get_write_thread_slow_yield_usec(u64);
    flag allow_2pc: rocksdb_options_set_allow_2pc(c_uchar), rocksdb_options_get_allow_2pc(c_uchar);
    flag enforce_write_buffer_manager_during_recovery:
        rocksdb_options_set_enforce_write_buffer_manager_during_recovery(c_uchar),
        rocksdb_options_get_enforce_write_buffer_manager_during_recovery(c_uchar);
    flag two_write_queues:
        rocksdb_options_set_two_write_queues(c_uchar),
        rocksdb_options_get_two_write_queues(c_uchar);
    flag background_close_inactive_wals:
        rocksdb_options_set_background_close_inactive_wals(c_uchar),
        rocksdb_options_get_background_close_inactive_wals(c_uchar);
    flag prefix_seek_opt_in_only:
        rocksdb_options_set_prefix_seek_opt_in_only(c_uchar),
        rocksdb_options_get_prefix_seek_opt_in_only(c_uchar);
    number log_readahead_size:
        rocksdb_options_set_log_readahead_size(usize),
        rocksdb_options_get_log_readahead_size(usize);
    flag allow_data_in_errors:
        rocksdb_options_set_allow_data_in_errors(c_uchar),
        rocksdb_options_get_allow_data_in_errors(c_uchar);
    names(CACHE_TIERS) lowest_used_cache_tier:
        rocksdb_options_set_lowest_used_cache_tier(c_int),
        rocksdb_options_get_lowest_used_cache_tier(c_int);
    flag enforce_single_del_contracts:
        rocksdb_options_set_enforce_single_del_contracts(c_uchar),
        rocksdb_options_get_enforce_single_del_contracts(c_uchar);
    flag fast_sst_open: rocksdb_options_set_fast_sst_open(c_uchar), rocksdb_options_get_fast_sst_open(c_uchar);
}

kept_texts! {
    family in COLUMN_FAMILY_OPTIONS:
    number max_write_buffer_size_to_maintain:
        rocksdb_options_set_max_write_buffer_size_to_maintain(i64),
        rocksdb_options_get_max_write_buffer_size_to_maintain(i64);
    flag report_bg_io_stats:
        rocksdb_options_set_report_bg_io_stats(c_int),
        rocksdb_options_get_report_bg_io_stats(c_uchar);
    real experimental_mempurge_threshold:
        rocksdb_options_set_experimental_mempurge_threshold(f64),
        rocksdb_options_get_experimental_mempurge_threshold(f64);
    flag disallow_memtable_writes:
        rocksdb_options_set_disallow_memtable_writes(c_uchar),
        rocksdb_options_get_disallow_memtable_writes(c_uchar);
    flag persist_user_defined_timestamps:
        rocksdb_options_set_persist_user_defined_timestamps(c_uchar),
        rocksdb_options_get_persist_user_defined_timestamps(c_uchar);
    flag memtable_batch_lookup_optimization:
        rocksdb_options_set_memtable_batch_lookup_optimization(c_uchar),
        rocksdb_options_get_memtable_batch_lookup_optimization(c_uchar);
}

/// A number of C on its way to and from a text.
pub(crate) trait Number: Copy {
    /// As the widest number.
    fn into_number(self) -> Wide;
    /// From the widest.
    fn of_number(number: Wide) -> Self;
}

/// Every number of the C interface, without loss.
#[derive(Clone, Copy)]
pub(crate) enum Wide {
    /// A whole number.
    Whole(i128),
    /// Another.
    Real(f64),
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            fn into_number(self) -> Wide {
                Wide::Whole(self as i128)
            }
            fn of_number(number: Wide) -> Self {
                match number {
                    Wide::Whole(number) => number as $ty,
                    Wide::Real(number) => number as $ty,
                }
            }
        }
    )*};
}
numbers!(u8, i32, u32, i64, u64, usize);

impl Number for f64 {
    fn into_number(self) -> Wide {
        Wide::Real(self)
    }
    fn of_number(number: Wide) -> Self {
        match number {
            Wide::Whole(number) => number as f64,
            Wide::Real(number) => number,
        }
    }
}

/// The temperature of RocksDB's number.
pub(crate) fn temperature_of(option: &str, number: c_int) -> ferrock::Result<Temperature> {
    let known = Temperature::ALL.into_iter().find(|known| c_int::from(*known as u8) == number);
    known.ok_or_else(|| out_of_range(option, number, "the values of RocksDB"))
}

/// Setters and getters of temperatures.
macro_rules! temperatures {
    ($( #[doc = $doc:tt] $place:ident.$option:ident: $set:ident, $get:ident; )*) => {
        c_functions! {$(
            #[doc = $doc]
            fn $set(options: *mut rocksdb_options_t, temperature: c_int) {
                const OPTION: &str = stringify!($option);
                let known = temperature_of(OPTION, temperature);
                // SAFETY: the contract.
                unsafe { set(options, OPTION, |options| known.map(|known| options.$place.$option = known)) };
            }

            /// The number of that temperature.
            fn $get(options: *mut rocksdb_options_t) -> c_int {
                // SAFETY: the contract.
                unsafe { options.as_ref() }.map_or(0, |options| c_int::from(options.$place.$option as u8))
            }
        )*}
    };
}

temperatures! {
    /// The temperature that new tables are recorded with.
    family.default_write_temperature:
        rocksdb_options_set_default_write_temperature, rocksdb_options_get_default_write_temperature;
    /// The temperature that tables without a recorded one are opened with.
    family.default_temperature: rocksdb_options_set_default_temperature, rocksdb_options_get_default_temperature;
    /// The temperature of tables that compactions write into the last level.
    family.last_level_temperature:
        rocksdb_options_set_last_level_temperature, rocksdb_options_get_last_level_temperature;
    /// The temperature that the MANIFEST, CURRENT, IDENTITY and OPTIONS files are created with.
    db.metadata_write_temperature:
        rocksdb_options_set_metadata_write_temperature, rocksdb_options_get_metadata_write_temperature;
    /// The temperature that logs are created with.
    db.wal_write_temperature: rocksdb_options_set_wal_write_temperature, rocksdb_options_get_wal_write_temperature;
}

/// Numbers of C and the names that an OPTIONS file has for them.
type Names = &'static [(c_int, &'static str)];

const CACHE_TIERS: Names = &[(0, "kVolatileTier"), (1, "kVolatileCompressedTier"), (2, "kNonVolatileBlockTier")];

/// How numbers are written in an OPTIONS file.
mod forms {
    use super::{Names, Number, Wide};

    pub(super) mod flag {
        use super::{Number, Wide};

        pub(in super::super) fn text(number: Wide) -> Option<String> {
            Some((u64::of_number(number) != 0).to_string())
        }
        pub(in super::super) fn number(text: &str) -> Option<Wide> {
            Some(Wide::Whole((matches!(text, "true" | "1")).into()))
        }
    }

    pub(super) mod number {
        use super::{Number, Wide};

        pub(in super::super) fn text(number: Wide) -> Option<String> {
            match number {
                Wide::Whole(number) => Some(number.to_string()),
                Wide::Real(_) => Some(f64::of_number(number).to_string()),
            }
        }
        pub(in super::super) fn number(text: &str) -> Option<Wide> {
            text.parse().ok().map(Wide::Whole)
        }
    }

    pub(super) mod real {
        use super::{Number, Wide};

        pub(in super::super) fn text(number: Wide) -> Option<String> {
            Some(format!("{:.6}", f64::of_number(number)))
        }
        pub(in super::super) fn number(text: &str) -> Option<Wide> {
            text.parse().ok().map(Wide::Real)
        }
    }

    pub(super) mod names {
        use super::{Names, Number, Wide};

        pub(in super::super) fn text(number: Wide, names: Names) -> Option<String> {
            let known = names.iter().find(|(known, _)| *known == i32::of_number(number));
            known.map(|(_, name)| (*name).to_owned())
        }
        pub(in super::super) fn number(text: &str, names: Names) -> Option<Wide> {
            names.iter().find(|(_, name)| *name == text).map(|(number, _)| Wide::Whole((*number).into()))
        }
    }
}
