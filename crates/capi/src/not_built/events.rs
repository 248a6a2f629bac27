//! Listeners, and what they hear.

use super::{not_built, unbuilt_types};
use crate::callback::Destructor;
use crate::options::rocksdb_options_t;
use std::ffi::{c_char, c_int, c_uchar, c_void};

unbuilt_types! {
    rocksdb_compaction_file_info_t, rocksdb_compaction_job_stats_t, rocksdb_compactionjobinfo_t,
    rocksdb_eventlistener_t, rocksdb_flushjobinfo_t, rocksdb_memtableinfo_t, rocksdb_status_ptr_t,
    rocksdb_subcompactionjobinfo_t, rocksdb_table_properties_collector_factory_t, rocksdb_table_properties_t,
    rocksdb_writestallcondition_t, rocksdb_writestallinfo_t,
}

not_built! {
    fn rocksdb_flushjobinfo_cf_id(info: *const rocksdb_flushjobinfo_t) -> u32 = neutral;
    fn rocksdb_flushjobinfo_cf_name(
        info: *const rocksdb_flushjobinfo_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_flushjobinfo_file_path(
        info: *const rocksdb_flushjobinfo_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_flushjobinfo_file_number(info: *const rocksdb_flushjobinfo_t) -> u64 = neutral;
    fn rocksdb_flushjobinfo_thread_id(info: *const rocksdb_flushjobinfo_t) -> u64 = neutral;
    fn rocksdb_flushjobinfo_job_id(info: *const rocksdb_flushjobinfo_t) -> c_int = neutral;
    fn rocksdb_flushjobinfo_triggered_writes_slowdown(info: *const rocksdb_flushjobinfo_t) -> c_uchar = neutral;
    fn rocksdb_flushjobinfo_triggered_writes_stop(info: *const rocksdb_flushjobinfo_t) -> c_uchar = neutral;
    fn rocksdb_flushjobinfo_smallest_seqno(info: *const rocksdb_flushjobinfo_t) -> u64 = neutral;
    fn rocksdb_flushjobinfo_largest_seqno(info: *const rocksdb_flushjobinfo_t) -> u64 = neutral;
    fn rocksdb_flushjobinfo_flush_reason(info: *const rocksdb_flushjobinfo_t) -> u32 = neutral;
    fn rocksdb_flushjobinfo_blob_compression_type(info: *const rocksdb_flushjobinfo_t) -> u32 = neutral;
    fn rocksdb_compactionjobinfo_cf_id(info: *const rocksdb_compactionjobinfo_t) -> u32 = neutral;
    fn rocksdb_compactionjobinfo_cf_name(
        info: *const rocksdb_compactionjobinfo_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_compactionjobinfo_status(info: *const rocksdb_compactionjobinfo_t) = error;
    fn rocksdb_compactionjobinfo_thread_id(info: *const rocksdb_compactionjobinfo_t) -> u64 = neutral;
    fn rocksdb_compactionjobinfo_job_id(info: *const rocksdb_compactionjobinfo_t) -> c_int = neutral;
    fn rocksdb_compactionjobinfo_num_l0_files(info: *const rocksdb_compactionjobinfo_t) -> c_int = neutral;
    fn rocksdb_compactionjobinfo_base_input_level(info: *const rocksdb_compactionjobinfo_t) -> c_int = neutral;
    fn rocksdb_compactionjobinfo_output_level(info: *const rocksdb_compactionjobinfo_t) -> c_int = neutral;
    fn rocksdb_compactionjobinfo_compaction_reason(info: *const rocksdb_compactionjobinfo_t) -> u32 = neutral;
    fn rocksdb_compactionjobinfo_compression(info: *const rocksdb_compactionjobinfo_t) -> u32 = neutral;
    fn rocksdb_compactionjobinfo_blob_compression_type(info: *const rocksdb_compactionjobinfo_t) -> u32 = neutral;
    fn rocksdb_compactionjobinfo_aborted(info: *const rocksdb_compactionjobinfo_t) -> c_uchar = neutral;
    fn rocksdb_subcompactionjobinfo_cf_id(info: *const rocksdb_subcompactionjobinfo_t) -> u32 = neutral;
    fn rocksdb_subcompactionjobinfo_cf_name(
        info: *const rocksdb_subcompactionjobinfo_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_subcompactionjobinfo_status(info: *const rocksdb_subcompactionjobinfo_t) = error;
    fn rocksdb_subcompactionjobinfo_thread_id(info: *const rocksdb_subcompactionjobinfo_t) -> u64 = neutral;
    fn rocksdb_subcompactionjobinfo_job_id(info: *const rocksdb_subcompactionjobinfo_t) -> c_int = neutral;
    fn rocksdb_subcompactionjobinfo_subcompaction_job_id(
        info: *const rocksdb_subcompactionjobinfo_t,
    ) -> c_int = neutral;
    fn rocksdb_subcompactionjobinfo_base_input_level(info: *const rocksdb_subcompactionjobinfo_t) -> c_int = neutral;
    fn rocksdb_subcompactionjobinfo_output_level(info: *const rocksdb_subcompactionjobinfo_t) -> c_int = neutral;
    fn rocksdb_subcompactionjobinfo_compaction_reason(info: *const rocksdb_subcompactionjobinfo_t) -> u32 = neutral;
    fn rocksdb_subcompactionjobinfo_compression(info: *const rocksdb_subcompactionjobinfo_t) -> u32 = neutral;
    fn rocksdb_subcompactionjobinfo_blob_compression_type(
        info: *const rocksdb_subcompactionjobinfo_t,
    ) -> u32 = neutral;
    fn rocksdb_memtableinfo_cf_name(
        info: *const rocksdb_memtableinfo_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_memtableinfo_first_seqno(info: *const rocksdb_memtableinfo_t) -> u64 = neutral;
    fn rocksdb_memtableinfo_earliest_seqno(info: *const rocksdb_memtableinfo_t) -> u64 = neutral;
    fn rocksdb_memtableinfo_num_entries(info: *const rocksdb_memtableinfo_t) -> u64 = neutral;
    fn rocksdb_memtableinfo_num_deletes(info: *const rocksdb_memtableinfo_t) -> u64 = neutral;
    fn rocksdb_memtableinfo_newest_udt(
        info: *const rocksdb_memtableinfo_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_compactionjobinfo_input_files_count(info: *const rocksdb_compactionjobinfo_t) -> usize = neutral;
    fn rocksdb_compactionjobinfo_output_files_count(info: *const rocksdb_compactionjobinfo_t) -> usize = neutral;
    fn rocksdb_compactionjobinfo_elapsed_micros(info: *const rocksdb_compactionjobinfo_t) -> u64 = neutral;
    fn rocksdb_compactionjobinfo_num_corrupt_keys(info: *const rocksdb_compactionjobinfo_t) -> u64 = neutral;
    fn rocksdb_compactionjobinfo_input_records(info: *const rocksdb_compactionjobinfo_t) -> u64 = neutral;
    fn rocksdb_compactionjobinfo_output_records(info: *const rocksdb_compactionjobinfo_t) -> u64 = neutral;
    fn rocksdb_compactionjobinfo_total_input_bytes(info: *const rocksdb_compactionjobinfo_t) -> u64 = neutral;
    fn rocksdb_compactionjobinfo_total_output_bytes(info: *const rocksdb_compactionjobinfo_t) -> u64 = neutral;
    fn rocksdb_compactionjobinfo_num_input_files(info: *const rocksdb_compactionjobinfo_t) -> usize = neutral;
    fn rocksdb_compactionjobinfo_num_input_files_at_output_level(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> usize = neutral;
    fn rocksdb_writestallinfo_cf_name(
        info: *const rocksdb_writestallinfo_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_writestallinfo_cur(
        info: *const rocksdb_writestallinfo_t,
    ) -> *const rocksdb_writestallcondition_t = neutral;
    fn rocksdb_writestallinfo_prev(
        info: *const rocksdb_writestallinfo_t,
    ) -> *const rocksdb_writestallcondition_t = neutral;
    fn rocksdb_table_properties_orig_file_number(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_data_size(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_uncompressed_data_size(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_index_size(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_index_partitions(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_top_level_index_size(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_index_key_is_user_key(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_index_value_is_delta_encoded(
        props: *const rocksdb_table_properties_t,
    ) -> u64 = neutral;
    fn rocksdb_table_properties_udi_is_primary_index(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_filter_size(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_raw_key_size(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_raw_value_size(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_num_data_blocks(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_num_data_blocks_compression_rejected(
        props: *const rocksdb_table_properties_t,
    ) -> u64 = neutral;
    fn rocksdb_table_properties_num_data_blocks_compression_bypassed(
        props: *const rocksdb_table_properties_t,
    ) -> u64 = neutral;
    fn rocksdb_table_properties_num_uniform_blocks(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_num_entries(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_num_filter_entries(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_num_deletions(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_num_merge_operands(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_num_range_deletions(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_format_version(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_fixed_key_len(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_column_family_id(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_creation_time(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_oldest_key_time(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_newest_key_time(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_file_creation_time(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_slow_compression_estimated_data_size(
        props: *const rocksdb_table_properties_t,
    ) -> u64 = neutral;
    fn rocksdb_table_properties_fast_compression_estimated_data_size(
        props: *const rocksdb_table_properties_t,
    ) -> u64 = neutral;
    fn rocksdb_table_properties_external_sst_file_global_seqno_offset(
        props: *const rocksdb_table_properties_t,
    ) -> u64 = neutral;
    fn rocksdb_table_properties_tail_start_offset(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_key_largest_seqno(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_key_smallest_seqno(props: *const rocksdb_table_properties_t) -> u64 = neutral;
    fn rocksdb_table_properties_data_block_restart_interval(
        props: *const rocksdb_table_properties_t,
    ) -> u64 = neutral;
    fn rocksdb_table_properties_index_block_restart_interval(
        props: *const rocksdb_table_properties_t,
    ) -> u64 = neutral;
    fn rocksdb_table_properties_separate_key_value_in_data_block(
        props: *const rocksdb_table_properties_t,
    ) -> u64 = neutral;
    fn rocksdb_table_properties_db_id(
        props: *const rocksdb_table_properties_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_table_properties_db_session_id(
        props: *const rocksdb_table_properties_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_table_properties_db_host_id(
        props: *const rocksdb_table_properties_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_table_properties_column_family_name(
        props: *const rocksdb_table_properties_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_table_properties_filter_policy_name(
        props: *const rocksdb_table_properties_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_table_properties_comparator_name(
        props: *const rocksdb_table_properties_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_table_properties_merge_operator_name(
        props: *const rocksdb_table_properties_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_table_properties_prefix_extractor_name(
        props: *const rocksdb_table_properties_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_table_properties_property_collectors_names(
        props: *const rocksdb_table_properties_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_table_properties_compression_name(
        props: *const rocksdb_table_properties_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_table_properties_compression_options(
        props: *const rocksdb_table_properties_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_table_properties_seqno_to_time_mapping(
        props: *const rocksdb_table_properties_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_compaction_job_stats_elapsed_micros(stats: *const rocksdb_compaction_job_stats_t) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_cpu_micros(stats: *const rocksdb_compaction_job_stats_t) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_has_accurate_num_input_records(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> c_uchar = neutral;
    fn rocksdb_compaction_job_stats_num_input_records(stats: *const rocksdb_compaction_job_stats_t) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_num_blobs_read(stats: *const rocksdb_compaction_job_stats_t) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_num_input_files(stats: *const rocksdb_compaction_job_stats_t) -> usize = neutral;
    fn rocksdb_compaction_job_stats_num_input_files_trivially_moved(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> usize = neutral;
    fn rocksdb_compaction_job_stats_num_input_files_at_output_level(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> usize = neutral;
    fn rocksdb_compaction_job_stats_num_filtered_input_files(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> usize = neutral;
    fn rocksdb_compaction_job_stats_num_filtered_input_files_at_output_level(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> usize = neutral;
    fn rocksdb_compaction_job_stats_num_output_records(stats: *const rocksdb_compaction_job_stats_t) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_num_output_files(stats: *const rocksdb_compaction_job_stats_t) -> usize = neutral;
    fn rocksdb_compaction_job_stats_num_output_files_blob(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> usize = neutral;
    fn rocksdb_compaction_job_stats_is_full_compaction(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> c_uchar = neutral;
    fn rocksdb_compaction_job_stats_is_manual_compaction(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> c_uchar = neutral;
    fn rocksdb_compaction_job_stats_is_remote_compaction(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> c_uchar = neutral;
    fn rocksdb_compaction_job_stats_total_input_bytes(stats: *const rocksdb_compaction_job_stats_t) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_total_blob_bytes_read(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_total_output_bytes(stats: *const rocksdb_compaction_job_stats_t) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_total_output_bytes_blob(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_total_skipped_input_bytes(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_num_records_replaced(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_total_input_raw_key_bytes(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_total_input_raw_value_bytes(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_num_input_deletion_records(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_num_expired_deletion_records(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_num_corrupt_keys(stats: *const rocksdb_compaction_job_stats_t) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_file_write_nanos(stats: *const rocksdb_compaction_job_stats_t) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_file_range_sync_nanos(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_file_fsync_nanos(stats: *const rocksdb_compaction_job_stats_t) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_file_prepare_write_nanos(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_smallest_output_key_prefix(
        stats: *const rocksdb_compaction_job_stats_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_compaction_job_stats_largest_output_key_prefix(
        stats: *const rocksdb_compaction_job_stats_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_compaction_job_stats_num_single_del_fallthru(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> u64 = neutral;
    fn rocksdb_compaction_job_stats_num_single_del_mismatch(
        stats: *const rocksdb_compaction_job_stats_t,
    ) -> u64 = neutral;
    fn rocksdb_compaction_file_info_level(info: *const rocksdb_compaction_file_info_t) -> c_int = neutral;
    fn rocksdb_compaction_file_info_file_number(info: *const rocksdb_compaction_file_info_t) -> u64 = neutral;
    fn rocksdb_compactionjobinfo_create() -> *mut rocksdb_compactionjobinfo_t = handle;
    fn rocksdb_compactionjobinfo_destroy(info: *mut rocksdb_compactionjobinfo_t) = destroy;
    fn rocksdb_reset_status(status_ptr: *mut rocksdb_status_ptr_t) = neutral;
    fn rocksdb_status_ptr_get_error(status: *mut rocksdb_status_ptr_t) = error;
    fn rocksdb_table_properties_has_key_largest_seqno(props: *const rocksdb_table_properties_t) -> c_uchar = neutral;
    fn rocksdb_table_properties_has_key_smallest_seqno(props: *const rocksdb_table_properties_t) -> c_uchar = neutral;
    fn rocksdb_table_properties_user_collected_properties_count(
        props: *const rocksdb_table_properties_t,
    ) -> usize = neutral;
    fn rocksdb_table_properties_user_collected_properties_key_at(
        props: *const rocksdb_table_properties_t, pos: usize, key_len: *mut usize,
    ) -> *const c_char = neutral(key_len);
    fn rocksdb_table_properties_user_collected_properties_value_at(
        props: *const rocksdb_table_properties_t, pos: usize, value_len: *mut usize,
    ) -> *const c_char = neutral(value_len);
    fn rocksdb_table_properties_readable_properties_count(
        props: *const rocksdb_table_properties_t,
    ) -> usize = neutral;
    fn rocksdb_table_properties_readable_properties_key_at(
        props: *const rocksdb_table_properties_t, pos: usize, key_len: *mut usize,
    ) -> *const c_char = neutral(key_len);
    fn rocksdb_table_properties_readable_properties_value_at(
        props: *const rocksdb_table_properties_t, pos: usize, value_len: *mut usize,
    ) -> *const c_char = neutral(value_len);
    fn rocksdb_flushjobinfo_table_properties(
        info: *const rocksdb_flushjobinfo_t,
    ) -> *const rocksdb_table_properties_t = neutral;
    fn rocksdb_compactionjobinfo_input_file_at(
        info: *const rocksdb_compactionjobinfo_t, pos: usize, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_compactionjobinfo_output_file_at(
        info: *const rocksdb_compactionjobinfo_t, pos: usize, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_compactionjobinfo_stats(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> *const rocksdb_compaction_job_stats_t = neutral;
    fn rocksdb_compactionjobinfo_input_file_infos_count(info: *const rocksdb_compactionjobinfo_t) -> usize = neutral;
    fn rocksdb_compactionjobinfo_input_file_info_at(
        info: *const rocksdb_compactionjobinfo_t, pos: usize,
    ) -> *const rocksdb_compaction_file_info_t = neutral;
    fn rocksdb_compactionjobinfo_output_file_infos_count(info: *const rocksdb_compactionjobinfo_t) -> usize = neutral;
    fn rocksdb_compactionjobinfo_output_file_info_at(
        info: *const rocksdb_compactionjobinfo_t, pos: usize,
    ) -> *const rocksdb_compaction_file_info_t = neutral;
    fn rocksdb_compactionjobinfo_table_properties_count(info: *const rocksdb_compactionjobinfo_t) -> usize = neutral;
    fn rocksdb_compactionjobinfo_table_properties_key_at(
        info: *const rocksdb_compactionjobinfo_t, pos: usize, key_len: *mut usize,
    ) -> *const c_char = neutral(key_len);
    fn rocksdb_compactionjobinfo_table_properties_value_at(
        info: *const rocksdb_compactionjobinfo_t, pos: usize,
    ) -> *const rocksdb_table_properties_t = neutral;
    fn rocksdb_compactionjobinfo_table_properties_for_file(
        info: *const rocksdb_compactionjobinfo_t, file_name: *const c_char, file_name_len: usize,
    ) -> *const rocksdb_table_properties_t = neutral;
    fn rocksdb_subcompactionjobinfo_stats(
        info: *const rocksdb_subcompactionjobinfo_t,
    ) -> *const rocksdb_compaction_job_stats_t = neutral;
    fn rocksdb_eventlistener_create(
        state: *mut c_void, destructor: Destructor, on_flush_begin: *const c_void, on_flush_completed: *const c_void,
        on_compaction_begin: *const c_void, on_compaction_completed: *const c_void,
        on_subcompaction_begin: *const c_void, on_subcompaction_completed: *const c_void,
        on_external_file_ingested: *const c_void, on_background_error: *const c_void,
        on_stall_conditions_changed: *const c_void, on_memtable_sealed: *const c_void,
    ) -> *mut rocksdb_eventlistener_t = handle(state, destructor);
    fn rocksdb_eventlistener_destroy(eventlistener: *mut rocksdb_eventlistener_t) = destroy;
    fn rocksdb_options_add_eventlistener(
        options: *mut rocksdb_options_t, eventlistener: *mut rocksdb_eventlistener_t,
    ) = refuse(eventlistener);
    fn rocksdb_table_properties_collector_factory_destroy(
        factory: *mut rocksdb_table_properties_collector_factory_t,
    ) = destroy;
    fn rocksdb_options_add_table_properties_collector_factory(
        options: *mut rocksdb_options_t,
        table_properties_collector_factory: *mut rocksdb_table_properties_collector_factory_t,
    ) = refuse;
}
