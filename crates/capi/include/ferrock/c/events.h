/* Listeners, and what they are told. An info lives while the callback runs that gets it, and what its functions give
 * lives as long. A listener is handed over to options. Nothing ingests files yet, and collectors of table properties are
 * not built. */
#ifndef FERROCK_C_EVENTS_H
#define FERROCK_C_EVENTS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

uint32_t rocksdb_flushjobinfo_cf_id(const rocksdb_flushjobinfo_t* info);
const char* rocksdb_flushjobinfo_cf_name(const rocksdb_flushjobinfo_t* info, size_t* size);
const char* rocksdb_flushjobinfo_file_path(const rocksdb_flushjobinfo_t* info, size_t* size);
uint64_t rocksdb_flushjobinfo_file_number(const rocksdb_flushjobinfo_t* info);
uint64_t rocksdb_flushjobinfo_oldest_blob_file_number(const rocksdb_flushjobinfo_t* info);
uint64_t rocksdb_flushjobinfo_thread_id(const rocksdb_flushjobinfo_t* info);
int rocksdb_flushjobinfo_job_id(const rocksdb_flushjobinfo_t* info);
unsigned char rocksdb_flushjobinfo_triggered_writes_slowdown(const rocksdb_flushjobinfo_t* info);
unsigned char rocksdb_flushjobinfo_triggered_writes_stop(const rocksdb_flushjobinfo_t* info);
uint64_t rocksdb_flushjobinfo_smallest_seqno(const rocksdb_flushjobinfo_t* info);
uint64_t rocksdb_flushjobinfo_largest_seqno(const rocksdb_flushjobinfo_t* info);
uint32_t rocksdb_flushjobinfo_flush_reason(const rocksdb_flushjobinfo_t* info);
uint32_t rocksdb_flushjobinfo_blob_compression_type(const rocksdb_flushjobinfo_t* info);
uint32_t rocksdb_compactionjobinfo_cf_id(const rocksdb_compactionjobinfo_t* info);
const char* rocksdb_compactionjobinfo_cf_name(const rocksdb_compactionjobinfo_t* info, size_t* size);
void rocksdb_compactionjobinfo_status(const rocksdb_compactionjobinfo_t* info, char** errptr);
uint64_t rocksdb_compactionjobinfo_thread_id(const rocksdb_compactionjobinfo_t* info);
int rocksdb_compactionjobinfo_job_id(const rocksdb_compactionjobinfo_t* info);
int rocksdb_compactionjobinfo_num_l0_files(const rocksdb_compactionjobinfo_t* info);
int rocksdb_compactionjobinfo_base_input_level(const rocksdb_compactionjobinfo_t* info);
int rocksdb_compactionjobinfo_output_level(const rocksdb_compactionjobinfo_t* info);
uint32_t rocksdb_compactionjobinfo_compaction_reason(const rocksdb_compactionjobinfo_t* info);
uint32_t rocksdb_compactionjobinfo_compression(const rocksdb_compactionjobinfo_t* info);
uint32_t rocksdb_compactionjobinfo_blob_compression_type(const rocksdb_compactionjobinfo_t* info);
unsigned char rocksdb_compactionjobinfo_aborted(const rocksdb_compactionjobinfo_t* info);
uint32_t rocksdb_subcompactionjobinfo_cf_id(const rocksdb_subcompactionjobinfo_t* info);
const char* rocksdb_subcompactionjobinfo_cf_name(const rocksdb_subcompactionjobinfo_t* info, size_t* size);
void rocksdb_subcompactionjobinfo_status(const rocksdb_subcompactionjobinfo_t* info, char** errptr);
uint64_t rocksdb_subcompactionjobinfo_thread_id(const rocksdb_subcompactionjobinfo_t* info);
int rocksdb_subcompactionjobinfo_job_id(const rocksdb_subcompactionjobinfo_t* info);
int rocksdb_subcompactionjobinfo_subcompaction_job_id(const rocksdb_subcompactionjobinfo_t* info);
int rocksdb_subcompactionjobinfo_base_input_level(const rocksdb_subcompactionjobinfo_t* info);
int rocksdb_subcompactionjobinfo_output_level(const rocksdb_subcompactionjobinfo_t* info);
uint32_t rocksdb_subcompactionjobinfo_compaction_reason(const rocksdb_subcompactionjobinfo_t* info);
uint32_t rocksdb_subcompactionjobinfo_compression(const rocksdb_subcompactionjobinfo_t* info);
uint32_t rocksdb_subcompactionjobinfo_blob_compression_type(const rocksdb_subcompactionjobinfo_t* info);
const char* rocksdb_memtableinfo_cf_name(const rocksdb_memtableinfo_t* info, size_t* size);
uint64_t rocksdb_memtableinfo_first_seqno(const rocksdb_memtableinfo_t* info);
uint64_t rocksdb_memtableinfo_earliest_seqno(const rocksdb_memtableinfo_t* info);
uint64_t rocksdb_memtableinfo_num_entries(const rocksdb_memtableinfo_t* info);
uint64_t rocksdb_memtableinfo_num_deletes(const rocksdb_memtableinfo_t* info);
const char* rocksdb_memtableinfo_newest_udt(const rocksdb_memtableinfo_t* info, size_t* size);
size_t rocksdb_compactionjobinfo_input_files_count(const rocksdb_compactionjobinfo_t* info);
size_t rocksdb_compactionjobinfo_output_files_count(const rocksdb_compactionjobinfo_t* info);
uint64_t rocksdb_compactionjobinfo_elapsed_micros(const rocksdb_compactionjobinfo_t* info);
uint64_t rocksdb_compactionjobinfo_num_corrupt_keys(const rocksdb_compactionjobinfo_t* info);
uint64_t rocksdb_compactionjobinfo_input_records(const rocksdb_compactionjobinfo_t* info);
uint64_t rocksdb_compactionjobinfo_output_records(const rocksdb_compactionjobinfo_t* info);
uint64_t rocksdb_compactionjobinfo_total_input_bytes(const rocksdb_compactionjobinfo_t* info);
uint64_t rocksdb_compactionjobinfo_total_output_bytes(const rocksdb_compactionjobinfo_t* info);
size_t rocksdb_compactionjobinfo_num_input_files(const rocksdb_compactionjobinfo_t* info);
size_t rocksdb_compactionjobinfo_num_input_files_at_output_level(const rocksdb_compactionjobinfo_t* info);
const char* rocksdb_writestallinfo_cf_name(const rocksdb_writestallinfo_t* info, size_t* size);
const rocksdb_writestallcondition_t* rocksdb_writestallinfo_cur(const rocksdb_writestallinfo_t* info);
const rocksdb_writestallcondition_t* rocksdb_writestallinfo_prev(const rocksdb_writestallinfo_t* info);
uint64_t rocksdb_table_properties_orig_file_number(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_data_size(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_uncompressed_data_size(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_index_size(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_index_partitions(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_top_level_index_size(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_index_key_is_user_key(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_index_value_is_delta_encoded(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_udi_is_primary_index(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_filter_size(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_raw_key_size(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_raw_value_size(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_num_data_blocks(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_num_data_blocks_compression_rejected(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_num_data_blocks_compression_bypassed(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_num_uniform_blocks(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_num_entries(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_num_filter_entries(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_num_deletions(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_num_merge_operands(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_num_range_deletions(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_format_version(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_fixed_key_len(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_column_family_id(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_creation_time(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_oldest_key_time(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_newest_key_time(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_file_creation_time(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_slow_compression_estimated_data_size(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_fast_compression_estimated_data_size(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_external_sst_file_global_seqno_offset(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_tail_start_offset(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_key_largest_seqno(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_key_smallest_seqno(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_data_block_restart_interval(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_index_block_restart_interval(const rocksdb_table_properties_t* props);
uint64_t rocksdb_table_properties_separate_key_value_in_data_block(const rocksdb_table_properties_t* props);
const char* rocksdb_table_properties_db_id(const rocksdb_table_properties_t* props, size_t* size);
const char* rocksdb_table_properties_db_session_id(const rocksdb_table_properties_t* props, size_t* size);
const char* rocksdb_table_properties_db_host_id(const rocksdb_table_properties_t* props, size_t* size);
const char* rocksdb_table_properties_column_family_name(const rocksdb_table_properties_t* props, size_t* size);
const char* rocksdb_table_properties_filter_policy_name(const rocksdb_table_properties_t* props, size_t* size);
const char* rocksdb_table_properties_comparator_name(const rocksdb_table_properties_t* props, size_t* size);
const char* rocksdb_table_properties_merge_operator_name(const rocksdb_table_properties_t* props, size_t* size);
const char* rocksdb_table_properties_prefix_extractor_name(const rocksdb_table_properties_t* props, size_t* size);
const char* rocksdb_table_properties_property_collectors_names(const rocksdb_table_properties_t* props, size_t* size);
const char* rocksdb_table_properties_compression_name(const rocksdb_table_properties_t* props, size_t* size);
const char* rocksdb_table_properties_compression_options(const rocksdb_table_properties_t* props, size_t* size);
const char* rocksdb_table_properties_seqno_to_time_mapping(const rocksdb_table_properties_t* props, size_t* size);
uint64_t rocksdb_compaction_job_stats_elapsed_micros(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_cpu_micros(const rocksdb_compaction_job_stats_t* stats);
unsigned char rocksdb_compaction_job_stats_has_accurate_num_input_records(
    const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_num_input_records(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_num_blobs_read(const rocksdb_compaction_job_stats_t* stats);
size_t rocksdb_compaction_job_stats_num_input_files(const rocksdb_compaction_job_stats_t* stats);
size_t rocksdb_compaction_job_stats_num_input_files_trivially_moved(const rocksdb_compaction_job_stats_t* stats);
size_t rocksdb_compaction_job_stats_num_input_files_at_output_level(const rocksdb_compaction_job_stats_t* stats);
size_t rocksdb_compaction_job_stats_num_filtered_input_files(const rocksdb_compaction_job_stats_t* stats);
size_t rocksdb_compaction_job_stats_num_filtered_input_files_at_output_level(
    const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_num_output_records(const rocksdb_compaction_job_stats_t* stats);
size_t rocksdb_compaction_job_stats_num_output_files(const rocksdb_compaction_job_stats_t* stats);
size_t rocksdb_compaction_job_stats_num_output_files_blob(const rocksdb_compaction_job_stats_t* stats);
unsigned char rocksdb_compaction_job_stats_is_full_compaction(const rocksdb_compaction_job_stats_t* stats);
unsigned char rocksdb_compaction_job_stats_is_manual_compaction(const rocksdb_compaction_job_stats_t* stats);
unsigned char rocksdb_compaction_job_stats_is_remote_compaction(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_total_input_bytes(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_total_blob_bytes_read(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_total_output_bytes(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_total_output_bytes_blob(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_total_skipped_input_bytes(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_num_records_replaced(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_total_input_raw_key_bytes(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_total_input_raw_value_bytes(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_num_input_deletion_records(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_num_expired_deletion_records(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_num_corrupt_keys(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_file_write_nanos(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_file_range_sync_nanos(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_file_fsync_nanos(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_file_prepare_write_nanos(const rocksdb_compaction_job_stats_t* stats);
const char* rocksdb_compaction_job_stats_smallest_output_key_prefix(
    const rocksdb_compaction_job_stats_t* stats, size_t* size);
const char* rocksdb_compaction_job_stats_largest_output_key_prefix(
    const rocksdb_compaction_job_stats_t* stats, size_t* size);
uint64_t rocksdb_compaction_job_stats_num_single_del_fallthru(const rocksdb_compaction_job_stats_t* stats);
uint64_t rocksdb_compaction_job_stats_num_single_del_mismatch(const rocksdb_compaction_job_stats_t* stats);
int rocksdb_compaction_file_info_level(const rocksdb_compaction_file_info_t* info);
uint64_t rocksdb_compaction_file_info_file_number(const rocksdb_compaction_file_info_t* info);
uint64_t rocksdb_compaction_file_info_oldest_blob_file_number(const rocksdb_compaction_file_info_t* info);
const char* rocksdb_blob_file_addition_info_blob_file_path(
    const rocksdb_blob_file_addition_info_t* info, size_t* size);
uint64_t rocksdb_blob_file_addition_info_blob_file_number(const rocksdb_blob_file_addition_info_t* info);
uint64_t rocksdb_blob_file_addition_info_total_blob_count(const rocksdb_blob_file_addition_info_t* info);
uint64_t rocksdb_blob_file_addition_info_total_blob_bytes(const rocksdb_blob_file_addition_info_t* info);
const char* rocksdb_blob_file_garbage_info_blob_file_path(const rocksdb_blob_file_garbage_info_t* info, size_t* size);
uint64_t rocksdb_blob_file_garbage_info_blob_file_number(const rocksdb_blob_file_garbage_info_t* info);
uint64_t rocksdb_blob_file_garbage_info_garbage_blob_count(const rocksdb_blob_file_garbage_info_t* info);
uint64_t rocksdb_blob_file_garbage_info_garbage_blob_bytes(const rocksdb_blob_file_garbage_info_t* info);
rocksdb_compactionjobinfo_t* rocksdb_compactionjobinfo_create(void);
void rocksdb_compactionjobinfo_destroy(rocksdb_compactionjobinfo_t* info);
void rocksdb_reset_status(rocksdb_status_ptr_t* status_ptr);
void rocksdb_status_ptr_get_error(rocksdb_status_ptr_t* status, char** errptr);
unsigned char rocksdb_table_properties_has_key_largest_seqno(const rocksdb_table_properties_t* props);
unsigned char rocksdb_table_properties_has_key_smallest_seqno(const rocksdb_table_properties_t* props);
size_t rocksdb_table_properties_user_collected_properties_count(const rocksdb_table_properties_t* props);
const char* rocksdb_table_properties_user_collected_properties_key_at(
    const rocksdb_table_properties_t* props, size_t pos, size_t* key_len);
const char* rocksdb_table_properties_user_collected_properties_value_at(
    const rocksdb_table_properties_t* props, size_t pos, size_t* value_len);
size_t rocksdb_table_properties_readable_properties_count(const rocksdb_table_properties_t* props);
const char* rocksdb_table_properties_readable_properties_key_at(
    const rocksdb_table_properties_t* props, size_t pos, size_t* key_len);
const char* rocksdb_table_properties_readable_properties_value_at(
    const rocksdb_table_properties_t* props, size_t pos, size_t* value_len);
const rocksdb_table_properties_t* rocksdb_flushjobinfo_table_properties(const rocksdb_flushjobinfo_t* info);
size_t rocksdb_flushjobinfo_blob_file_addition_infos_count(const rocksdb_flushjobinfo_t* info);
const rocksdb_blob_file_addition_info_t* rocksdb_flushjobinfo_blob_file_addition_info_at(
    const rocksdb_flushjobinfo_t* info, size_t pos);
const char* rocksdb_compactionjobinfo_input_file_at(
    const rocksdb_compactionjobinfo_t* info, size_t pos, size_t* size);
const char* rocksdb_compactionjobinfo_output_file_at(
    const rocksdb_compactionjobinfo_t* info, size_t pos, size_t* size);
const rocksdb_compaction_job_stats_t* rocksdb_compactionjobinfo_stats(const rocksdb_compactionjobinfo_t* info);
size_t rocksdb_compactionjobinfo_input_file_infos_count(const rocksdb_compactionjobinfo_t* info);
const rocksdb_compaction_file_info_t* rocksdb_compactionjobinfo_input_file_info_at(
    const rocksdb_compactionjobinfo_t* info, size_t pos);
size_t rocksdb_compactionjobinfo_output_file_infos_count(const rocksdb_compactionjobinfo_t* info);
const rocksdb_compaction_file_info_t* rocksdb_compactionjobinfo_output_file_info_at(
    const rocksdb_compactionjobinfo_t* info, size_t pos);
size_t rocksdb_compactionjobinfo_table_properties_count(const rocksdb_compactionjobinfo_t* info);
const char* rocksdb_compactionjobinfo_table_properties_key_at(
    const rocksdb_compactionjobinfo_t* info, size_t pos, size_t* key_len);
const rocksdb_table_properties_t* rocksdb_compactionjobinfo_table_properties_value_at(
    const rocksdb_compactionjobinfo_t* info, size_t pos);
const rocksdb_table_properties_t* rocksdb_compactionjobinfo_table_properties_for_file(
    const rocksdb_compactionjobinfo_t* info, const char* file_name, size_t file_name_len);
size_t rocksdb_compactionjobinfo_blob_file_addition_infos_count(const rocksdb_compactionjobinfo_t* info);
const rocksdb_blob_file_addition_info_t* rocksdb_compactionjobinfo_blob_file_addition_info_at(
    const rocksdb_compactionjobinfo_t* info, size_t pos);
size_t rocksdb_compactionjobinfo_blob_file_garbage_infos_count(const rocksdb_compactionjobinfo_t* info);
const rocksdb_blob_file_garbage_info_t* rocksdb_compactionjobinfo_blob_file_garbage_info_at(
    const rocksdb_compactionjobinfo_t* info, size_t pos);
const rocksdb_compaction_job_stats_t* rocksdb_subcompactionjobinfo_stats(const rocksdb_subcompactionjobinfo_t* info);
rocksdb_eventlistener_t* rocksdb_eventlistener_create(
    void* state, void (*destructor_)(void*), on_flush_begin_cb on_flush_begin,
    on_flush_completed_cb on_flush_completed, on_compaction_begin_cb on_compaction_begin,
    on_compaction_completed_cb on_compaction_completed, on_subcompaction_begin_cb on_subcompaction_begin,
    on_subcompaction_completed_cb on_subcompaction_completed,
    on_external_file_ingested_cb on_external_file_ingested, on_background_error_cb on_background_error,
    on_stall_conditions_changed_cb on_stall_conditions_changed, on_memtable_sealed_cb on_memtable_sealed);
void rocksdb_eventlistener_destroy(rocksdb_eventlistener_t* eventlistener);
void rocksdb_table_properties_collector_factory_destroy(rocksdb_table_properties_collector_factory_t* factory);

#ifdef __cplusplus
}
#endif

#endif
