/* Backups, checkpoints, tables written by hand, which are not built yet; and compactions in other processes. */
#ifndef FERROCK_C_COPIES_H
#define FERROCK_C_COPIES_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

rocksdb_t* rocksdb_open_with_ttl(const rocksdb_options_t* options, const char* name, int ttl, char** errptr);
rocksdb_t* rocksdb_open_as_secondary(
    const rocksdb_options_t* options, const char* name, const char* secondary_path, char** errptr);
rocksdb_backup_engine_t* rocksdb_backup_engine_open(
    const rocksdb_options_t* options, const char* path, char** errptr);
rocksdb_backup_engine_t* rocksdb_backup_engine_open_opts(
    const rocksdb_backup_engine_options_t* options, rocksdb_env_t* env, char** errptr);
rocksdb_create_backup_options_t* rocksdb_create_backup_options_create(void);
void rocksdb_create_backup_options_destroy(rocksdb_create_backup_options_t* options);
void rocksdb_create_backup_options_set_progress_callback(
    rocksdb_create_backup_options_t* options, void* state, rocksdb_create_backup_options_progress_cb callback);
void rocksdb_create_backup_options_set_exclude_files_callback(
    rocksdb_create_backup_options_t* options, void* state, rocksdb_create_backup_options_exclude_files_cb callback);
void rocksdb_backup_engine_create_new_backup(rocksdb_backup_engine_t* be, rocksdb_t* db, char** errptr);
void rocksdb_backup_engine_create_new_backup_flush(
    rocksdb_backup_engine_t* be, rocksdb_t* db, unsigned char flush_before_backup, char** errptr);
void rocksdb_backup_engine_create_new_backup_with_options(
    rocksdb_backup_engine_t* be, rocksdb_t* db, const rocksdb_create_backup_options_t* options, uint32_t* backup_id,
    char** errptr);
void rocksdb_backup_engine_create_new_backup_with_metadata(
    rocksdb_backup_engine_t* be, rocksdb_t* db, const rocksdb_create_backup_options_t* options,
    const char* app_metadata, size_t app_metadata_len, uint32_t* backup_id, char** errptr);
void rocksdb_backup_engine_purge_old_backups(
    rocksdb_backup_engine_t* be, uint32_t num_backups_to_keep, char** errptr);
rocksdb_restore_options_t* rocksdb_restore_options_create(void);
void rocksdb_restore_options_destroy(rocksdb_restore_options_t* opt);
void rocksdb_backup_engine_verify_backup(rocksdb_backup_engine_t* be, uint32_t backup_id, char** errptr);
void rocksdb_backup_engine_restore_db_from_latest_backup(
    rocksdb_backup_engine_t* be, const char* db_dir, const char* wal_dir,
    const rocksdb_restore_options_t* restore_options, char** errptr);
void rocksdb_backup_engine_restore_db_from_backup(
    rocksdb_backup_engine_t* be, const char* db_dir, const char* wal_dir,
    const rocksdb_restore_options_t* restore_options, const uint32_t backup_id, char** errptr);
const rocksdb_backup_engine_info_t* rocksdb_backup_engine_get_backup_info(rocksdb_backup_engine_t* be);
int rocksdb_backup_engine_info_count(const rocksdb_backup_engine_info_t* info);
int64_t rocksdb_backup_engine_info_timestamp(const rocksdb_backup_engine_info_t* info, int index);
uint32_t rocksdb_backup_engine_info_backup_id(const rocksdb_backup_engine_info_t* info, int index);
uint64_t rocksdb_backup_engine_info_size(const rocksdb_backup_engine_info_t* info, int index);
uint32_t rocksdb_backup_engine_info_number_files(const rocksdb_backup_engine_info_t* info, int index);
const char* rocksdb_backup_engine_info_app_metadata(const rocksdb_backup_engine_info_t* info, int index, size_t* len);
void rocksdb_backup_engine_info_destroy(const rocksdb_backup_engine_info_t* info);
void rocksdb_backup_engine_stop_backup(rocksdb_backup_engine_t* be);
void rocksdb_backup_engine_close(rocksdb_backup_engine_t* be);
void rocksdb_repair_db(const rocksdb_options_t* options, const char* name, char** errptr);
rocksdb_backup_engine_options_t* rocksdb_backup_engine_options_create(const char* backup_dir);
void rocksdb_backup_engine_options_set_env(rocksdb_backup_engine_options_t* options, rocksdb_env_t* env);
void rocksdb_backup_engine_options_set_backup_rate_limiter(
    rocksdb_backup_engine_options_t* options, rocksdb_ratelimiter_t* limiter);
void rocksdb_backup_engine_options_set_restore_rate_limiter(
    rocksdb_backup_engine_options_t* options, rocksdb_ratelimiter_t* limiter);
void rocksdb_backup_engine_options_destroy(rocksdb_backup_engine_options_t* backup_engine_options);
rocksdb_checkpoint_t* rocksdb_checkpoint_object_create(rocksdb_t* db, char** errptr);
void rocksdb_checkpoint_create(
    rocksdb_checkpoint_t* checkpoint, const char* checkpoint_dir, uint64_t log_size_for_flush, char** errptr);
rocksdb_export_import_files_metadata_t* rocksdb_checkpoint_export_column_family(
    rocksdb_checkpoint_t* checkpoint, rocksdb_column_family_handle_t* column_family, const char* export_dir,
    char** errptr);
void rocksdb_checkpoint_object_destroy(rocksdb_checkpoint_t* checkpoint);
rocksdb_t* rocksdb_open_column_families_with_ttl(
    const rocksdb_options_t* options, const char* name, int num_column_families,
    const char* const* column_family_names, const rocksdb_options_t* const* column_family_options,
    rocksdb_column_family_handle_t** column_family_handles, const int* ttls, char** errptr);
rocksdb_t* rocksdb_open_as_secondary_column_families(
    const rocksdb_options_t* options, const char* name, const char* secondary_path, int num_column_families,
    const char* const* column_family_names, const rocksdb_options_t* const* column_family_options,
    rocksdb_column_family_handle_t** column_family_handles, char** errptr);
rocksdb_column_family_handle_t* rocksdb_create_column_family_with_import(
    rocksdb_t* db, rocksdb_options_t* column_family_options, const char* column_family_name,
    rocksdb_import_column_family_options_t* import_options, rocksdb_export_import_files_metadata_t* metadata,
    char** errptr);
rocksdb_column_family_handle_t* rocksdb_create_column_family_with_ttl(
    rocksdb_t* db, const rocksdb_options_t* column_family_options, const char* column_family_name, int ttl,
    char** errptr);
const char* rocksdb_externalfileingestioninfo_cf_name(const rocksdb_externalfileingestioninfo_t* info, size_t* size);
const char* rocksdb_externalfileingestioninfo_external_file_path(
    const rocksdb_externalfileingestioninfo_t* info, size_t* size);
const char* rocksdb_externalfileingestioninfo_internal_file_path(
    const rocksdb_externalfileingestioninfo_t* info, size_t* size);
uint64_t rocksdb_externalfileingestioninfo_global_seqno(const rocksdb_externalfileingestioninfo_t* info);
const rocksdb_table_properties_t* rocksdb_externalfileingestioninfo_table_properties(
    const rocksdb_externalfileingestioninfo_t* info);
rocksdb_sstfilewriter_t* rocksdb_sstfilewriter_create(
    const rocksdb_envoptions_t* env, const rocksdb_options_t* io_options);
rocksdb_sstfilewriter_t* rocksdb_sstfilewriter_create_with_comparator(
    const rocksdb_envoptions_t* env, const rocksdb_options_t* io_options, const rocksdb_comparator_t* comparator);
void rocksdb_sstfilewriter_open(rocksdb_sstfilewriter_t* writer, const char* name, char** errptr);
void rocksdb_sstfilewriter_add(
    rocksdb_sstfilewriter_t* writer, const char* key, size_t keylen, const char* val, size_t vallen, char** errptr);
void rocksdb_sstfilewriter_put(
    rocksdb_sstfilewriter_t* writer, const char* key, size_t keylen, const char* val, size_t vallen, char** errptr);
void rocksdb_sstfilewriter_merge(
    rocksdb_sstfilewriter_t* writer, const char* key, size_t keylen, const char* val, size_t vallen, char** errptr);
void rocksdb_sstfilewriter_delete(rocksdb_sstfilewriter_t* writer, const char* key, size_t keylen, char** errptr);
void rocksdb_sstfilewriter_delete_range(
    rocksdb_sstfilewriter_t* writer, const char* begin_key, size_t begin_keylen, const char* end_key,
    size_t end_keylen, char** errptr);
void rocksdb_sstfilewriter_finish(rocksdb_sstfilewriter_t* writer, char** errptr);
void rocksdb_sstfilewriter_file_size(rocksdb_sstfilewriter_t* writer, uint64_t* file_size);
void rocksdb_sstfilewriter_destroy(rocksdb_sstfilewriter_t* writer);
rocksdb_ingestexternalfileoptions_t* rocksdb_ingestexternalfileoptions_create(void);
void rocksdb_ingestexternalfileoptions_set_move_files(
    rocksdb_ingestexternalfileoptions_t* opt, unsigned char move_files);
void rocksdb_ingestexternalfileoptions_set_snapshot_consistency(
    rocksdb_ingestexternalfileoptions_t* opt, unsigned char snapshot_consistency);
void rocksdb_ingestexternalfileoptions_set_allow_global_seqno(
    rocksdb_ingestexternalfileoptions_t* opt, unsigned char allow_global_seqno);
void rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(
    rocksdb_ingestexternalfileoptions_t* opt, unsigned char allow_blocking_flush);
void rocksdb_ingestexternalfileoptions_set_ingest_behind(
    rocksdb_ingestexternalfileoptions_t* opt, unsigned char ingest_behind);
void rocksdb_ingestexternalfileoptions_set_fail_if_not_bottommost_level(
    rocksdb_ingestexternalfileoptions_t* opt, unsigned char fail_if_not_bottommost_level);
void rocksdb_ingestexternalfileoptions_destroy(rocksdb_ingestexternalfileoptions_t* opt);
void rocksdb_ingest_external_file(
    rocksdb_t* db, const char* const* file_list, const size_t list_len,
    const rocksdb_ingestexternalfileoptions_t* opt, char** errptr);
void rocksdb_ingest_external_file_cf(
    rocksdb_t* db, rocksdb_column_family_handle_t* handle, const char* const* file_list, const size_t list_len,
    const rocksdb_ingestexternalfileoptions_t* opt, char** errptr);
void rocksdb_try_catch_up_with_primary(rocksdb_t* db, char** errptr);
rocksdb_import_column_family_options_t* rocksdb_import_column_family_options_create(void);
void rocksdb_import_column_family_options_set_move_files(
    rocksdb_import_column_family_options_t* import_column_family_options, unsigned char argument1);
void rocksdb_import_column_family_options_destroy(
    rocksdb_import_column_family_options_t* import_column_family_options);
rocksdb_export_import_files_metadata_t* rocksdb_export_import_files_metadata_create(void);
char* rocksdb_export_import_files_metadata_get_db_comparator_name(
    rocksdb_export_import_files_metadata_t* export_import_files_metadata);
void rocksdb_export_import_files_metadata_set_db_comparator_name(
    rocksdb_export_import_files_metadata_t* export_import_files_metadata, const char* argument1);
rocksdb_livefiles_t* rocksdb_export_import_files_metadata_get_files(
    rocksdb_export_import_files_metadata_t* export_import_files_metadata);
void rocksdb_export_import_files_metadata_set_files(
    rocksdb_export_import_files_metadata_t* export_import_files_metadata, rocksdb_livefiles_t* livefiles);
void rocksdb_export_import_files_metadata_destroy(
    rocksdb_export_import_files_metadata_t* export_import_files_metadata);
/* Compactions in other processes. The callback `schedule` hands over its response; null is a failure. The callback
 * `wait` hands over a result from malloc, that of `rocksdb_open_and_compact`. A service is handed over to options. */
rocksdb_compactionservice_scheduleresponse_t* rocksdb_compactionservice_scheduleresponse_create(
    const char* scheduled_job_id, int status, char** errptr);
rocksdb_compactionservice_scheduleresponse_t* rocksdb_compactionservice_scheduleresponse_create_with_status(
    int status, char** errptr);
int rocksdb_compactionservice_scheduleresponse_getstatus(
    const rocksdb_compactionservice_scheduleresponse_t* response);
const char* rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(
    const rocksdb_compactionservice_scheduleresponse_t* response, size_t* len);
void rocksdb_compactionservice_scheduleresponse_t_destroy(rocksdb_compactionservice_scheduleresponse_t* response);
const char* rocksdb_compactionservice_jobinfo_t_get_db_name(
    const rocksdb_compactionservice_jobinfo_t* info, size_t* len);
const char* rocksdb_compactionservice_jobinfo_t_get_db_id(
    const rocksdb_compactionservice_jobinfo_t* info, size_t* len);
const char* rocksdb_compactionservice_jobinfo_t_get_db_session_id(
    const rocksdb_compactionservice_jobinfo_t* info, size_t* len);
const char* rocksdb_compactionservice_jobinfo_t_get_cf_name(
    const rocksdb_compactionservice_jobinfo_t* info, size_t* len);
uint32_t rocksdb_compactionservice_jobinfo_t_get_cf_id(const rocksdb_compactionservice_jobinfo_t* info);
uint64_t rocksdb_compactionservice_jobinfo_t_get_job_id(const rocksdb_compactionservice_jobinfo_t* info);
int rocksdb_compactionservice_jobinfo_t_get_priority(const rocksdb_compactionservice_jobinfo_t* info);
int rocksdb_compactionservice_jobinfo_t_get_compaction_reason(const rocksdb_compactionservice_jobinfo_t* info);
int rocksdb_compactionservice_jobinfo_t_get_base_input_level(const rocksdb_compactionservice_jobinfo_t* info);
int rocksdb_compactionservice_jobinfo_t_get_output_level(const rocksdb_compactionservice_jobinfo_t* info);
unsigned char rocksdb_compactionservice_jobinfo_t_is_full_compaction(const rocksdb_compactionservice_jobinfo_t* info);
unsigned char rocksdb_compactionservice_jobinfo_t_is_manual_compaction(
    const rocksdb_compactionservice_jobinfo_t* info);
unsigned char rocksdb_compactionservice_jobinfo_t_is_bottommost_level(
    const rocksdb_compactionservice_jobinfo_t* info);
rocksdb_compactionservice_t* rocksdb_compactionservice_create(
    void* state, void (*destructor)(void*), rocksdb_compaction_service_schedule_cb schedule, const char* name,
    rocksdb_compaction_service_wait_cb wait,
    rocksdb_compaction_service_cancel_awaiting_jobs_cb cancel_awaiting_jobs,
    rocksdb_compaction_service_on_installation_cb on_installation);
/* What a worker has in place of what the OPTIONS file names. Merge operators, factories of filters and prefix extractors
 * are handed over, all else is copied or shared; null changes nothing. */
rocksdb_compaction_service_options_override_t* rocksdb_compaction_service_options_override_create(void);
rocksdb_compaction_service_options_override_t* rocksdb_compaction_service_options_override_create_from_options(
    rocksdb_options_t* option);
void rocksdb_compaction_service_options_override_destroy(
    rocksdb_compaction_service_options_override_t* override_options);
void rocksdb_compaction_service_options_override_set_env(
    rocksdb_compaction_service_options_override_t* override_options, rocksdb_env_t* env);
void rocksdb_compaction_service_options_override_set_comparator(
    rocksdb_compaction_service_options_override_t* override_options, rocksdb_comparator_t* comparator);
void rocksdb_compaction_service_options_override_set_merge_operator(
    rocksdb_compaction_service_options_override_t* override_options, rocksdb_mergeoperator_t* merge_operator);
void rocksdb_compaction_service_options_override_set_compaction_filter(
    rocksdb_compaction_service_options_override_t* override_options, rocksdb_compactionfilter_t* compaction_filter);
void rocksdb_compaction_service_options_override_set_compaction_filter_factory(
    rocksdb_compaction_service_options_override_t* override_options,
    rocksdb_compactionfilterfactory_t* compaction_filter_factory);
void rocksdb_compaction_service_options_override_set_prefix_extractor(
    rocksdb_compaction_service_options_override_t* override_options, rocksdb_slicetransform_t* prefix_extractor);
void rocksdb_compaction_service_options_override_set_block_based_table_factory(
    rocksdb_compaction_service_options_override_t* override_options,
    rocksdb_block_based_table_options_t* table_options);
void rocksdb_compaction_service_options_override_set_cuckoo_table_factory(
    rocksdb_compaction_service_options_override_t* override_options, rocksdb_cuckoo_table_options_t* table_options);
void rocksdb_compaction_service_options_override_add_event_listener(
    rocksdb_compaction_service_options_override_t* override_options, rocksdb_eventlistener_t* event_listener);
void rocksdb_compaction_service_options_override_set_statistics(
    rocksdb_compaction_service_options_override_t* override_options, rocksdb_options_t* options);
void rocksdb_compaction_service_options_override_set_info_log(
    rocksdb_compaction_service_options_override_t* override_options, rocksdb_logger_t* logger);
void rocksdb_compaction_service_options_override_set_option(
    rocksdb_compaction_service_options_override_t* override_options, const char* key, const char* value);
void rocksdb_compaction_service_options_override_set_file_checksum_gen_factory(
    rocksdb_compaction_service_options_override_t* override_options, rocksdb_file_checksum_gen_factory_t* factory);
void rocksdb_compaction_service_options_override_set_sst_partitioner_factory(
    rocksdb_compaction_service_options_override_t* override_options, rocksdb_sst_partitioner_factory_t* factory);
void rocksdb_compaction_service_options_override_add_table_properties_collector_factory(
    rocksdb_compaction_service_options_override_t* override_options,
    rocksdb_table_properties_collector_factory_t* factory);
unsigned char* rocksdb_open_and_compact_canceled_create(void);
void rocksdb_open_and_compact_canceled_destroy(unsigned char* canceled);
void rocksdb_open_and_compact_canceled_set(unsigned char* canceled, unsigned char value);
rocksdb_open_and_compact_options_t* rocksdb_open_and_compact_options_create(void);
void rocksdb_open_and_compact_options_destroy(rocksdb_open_and_compact_options_t* options);
void rocksdb_open_and_compact_options_set_canceled(
    rocksdb_open_and_compact_options_t* options, unsigned char* canceled);
void rocksdb_open_and_compact_options_set_allow_resumption(
    rocksdb_open_and_compact_options_t* options, unsigned char allow_resumption);
/* Runs a job in a directory of its own. The result is to be freed; overrides and options stay the caller's. */
char* rocksdb_open_and_compact(
    const char* db_path, const char* output_directory, const char* input, size_t input_len, size_t* output_len,
    const rocksdb_compaction_service_options_override_t* override_options, char** errptr);
char* rocksdb_open_and_compact_with_options(
    const rocksdb_open_and_compact_options_t* options, const char* db_path, const char* output_directory,
    const char* input, size_t input_len, size_t* output_len,
    const rocksdb_compaction_service_options_override_t* override_options, char** errptr);
unsigned char rocksdb_ingestexternalfileoptions_get_move_files(rocksdb_ingestexternalfileoptions_t* opt);
void rocksdb_ingestexternalfileoptions_set_link_files(rocksdb_ingestexternalfileoptions_t* opt, unsigned char v);
unsigned char rocksdb_ingestexternalfileoptions_get_link_files(rocksdb_ingestexternalfileoptions_t* opt);
void rocksdb_ingestexternalfileoptions_set_failed_move_fall_back_to_copy(
    rocksdb_ingestexternalfileoptions_t* opt, unsigned char v);
unsigned char rocksdb_ingestexternalfileoptions_get_failed_move_fall_back_to_copy(
    rocksdb_ingestexternalfileoptions_t* opt);
unsigned char rocksdb_ingestexternalfileoptions_get_snapshot_consistency(rocksdb_ingestexternalfileoptions_t* opt);
unsigned char rocksdb_ingestexternalfileoptions_get_allow_global_seqno(rocksdb_ingestexternalfileoptions_t* opt);
unsigned char rocksdb_ingestexternalfileoptions_get_allow_blocking_flush(rocksdb_ingestexternalfileoptions_t* opt);
unsigned char rocksdb_ingestexternalfileoptions_get_ingest_behind(rocksdb_ingestexternalfileoptions_t* opt);
void rocksdb_ingestexternalfileoptions_set_write_global_seqno(
    rocksdb_ingestexternalfileoptions_t* opt, unsigned char v);
unsigned char rocksdb_ingestexternalfileoptions_get_write_global_seqno(rocksdb_ingestexternalfileoptions_t* opt);
void rocksdb_ingestexternalfileoptions_set_verify_checksums_before_ingest(
    rocksdb_ingestexternalfileoptions_t* opt, unsigned char v);
unsigned char rocksdb_ingestexternalfileoptions_get_verify_checksums_before_ingest(
    rocksdb_ingestexternalfileoptions_t* opt);
void rocksdb_ingestexternalfileoptions_set_verify_checksums_readahead_size(
    rocksdb_ingestexternalfileoptions_t* opt, size_t v);
size_t rocksdb_ingestexternalfileoptions_get_verify_checksums_readahead_size(
    rocksdb_ingestexternalfileoptions_t* opt);
void rocksdb_ingestexternalfileoptions_set_verify_file_checksum(
    rocksdb_ingestexternalfileoptions_t* opt, unsigned char v);
unsigned char rocksdb_ingestexternalfileoptions_get_verify_file_checksum(rocksdb_ingestexternalfileoptions_t* opt);
unsigned char rocksdb_ingestexternalfileoptions_get_fail_if_not_bottommost_level(
    rocksdb_ingestexternalfileoptions_t* opt);
void rocksdb_ingestexternalfileoptions_set_allow_db_generated_files(
    rocksdb_ingestexternalfileoptions_t* opt, unsigned char v);
unsigned char rocksdb_ingestexternalfileoptions_get_allow_db_generated_files(
    rocksdb_ingestexternalfileoptions_t* opt);
void rocksdb_ingestexternalfileoptions_set_fill_cache(rocksdb_ingestexternalfileoptions_t* opt, unsigned char v);
unsigned char rocksdb_ingestexternalfileoptions_get_fill_cache(rocksdb_ingestexternalfileoptions_t* opt);
void rocksdb_ingestexternalfileoptions_set_prefetch_lmax_index_and_filter_blocks(
    rocksdb_ingestexternalfileoptions_t* opt, unsigned char v);
unsigned char rocksdb_ingestexternalfileoptions_get_prefetch_lmax_index_and_filter_blocks(
    rocksdb_ingestexternalfileoptions_t* opt);
void rocksdb_ingestexternalfileoptions_set_file_opening_threads(rocksdb_ingestexternalfileoptions_t* opt, int v);
int rocksdb_ingestexternalfileoptions_get_file_opening_threads(rocksdb_ingestexternalfileoptions_t* opt);
unsigned char rocksdb_open_and_compact_options_get_allow_resumption(rocksdb_open_and_compact_options_t* opt);
unsigned char rocksdb_import_column_family_options_get_move_files(rocksdb_import_column_family_options_t* opt);
void rocksdb_backup_engine_options_set_io_buffer_size(rocksdb_backup_engine_options_t* opt, uint64_t v);
uint64_t rocksdb_backup_engine_options_get_io_buffer_size(rocksdb_backup_engine_options_t* opt);
void rocksdb_backup_engine_options_set_backup_rate_limit(rocksdb_backup_engine_options_t* opt, uint64_t v);
uint64_t rocksdb_backup_engine_options_get_backup_rate_limit(rocksdb_backup_engine_options_t* opt);
void rocksdb_backup_engine_options_set_max_background_operations(rocksdb_backup_engine_options_t* opt, int v);
int rocksdb_backup_engine_options_get_max_background_operations(rocksdb_backup_engine_options_t* opt);
void rocksdb_backup_engine_options_set_backup_dir(rocksdb_backup_engine_options_t* opt, const char* v);
const char* rocksdb_backup_engine_options_get_backup_dir(rocksdb_backup_engine_options_t* opt, size_t* size);
void rocksdb_backup_engine_options_set_share_table_files(rocksdb_backup_engine_options_t* opt, unsigned char v);
unsigned char rocksdb_backup_engine_options_get_share_table_files(rocksdb_backup_engine_options_t* opt);
void rocksdb_backup_engine_options_set_sync(rocksdb_backup_engine_options_t* opt, unsigned char v);
unsigned char rocksdb_backup_engine_options_get_sync(rocksdb_backup_engine_options_t* opt);
void rocksdb_backup_engine_options_set_destroy_old_data(rocksdb_backup_engine_options_t* opt, unsigned char v);
unsigned char rocksdb_backup_engine_options_get_destroy_old_data(rocksdb_backup_engine_options_t* opt);
void rocksdb_backup_engine_options_set_backup_log_files(rocksdb_backup_engine_options_t* opt, unsigned char v);
unsigned char rocksdb_backup_engine_options_get_backup_log_files(rocksdb_backup_engine_options_t* opt);
void rocksdb_backup_engine_options_set_restore_rate_limit(rocksdb_backup_engine_options_t* opt, uint64_t v);
uint64_t rocksdb_backup_engine_options_get_restore_rate_limit(rocksdb_backup_engine_options_t* opt);
void rocksdb_backup_engine_options_set_share_files_with_checksum(
    rocksdb_backup_engine_options_t* opt, unsigned char v);
unsigned char rocksdb_backup_engine_options_get_share_files_with_checksum(rocksdb_backup_engine_options_t* opt);
void rocksdb_backup_engine_options_set_callback_trigger_interval_size(
    rocksdb_backup_engine_options_t* opt, uint64_t v);
uint64_t rocksdb_backup_engine_options_get_callback_trigger_interval_size(rocksdb_backup_engine_options_t* opt);
void rocksdb_backup_engine_options_set_max_valid_backups_to_open(rocksdb_backup_engine_options_t* opt, int v);
int rocksdb_backup_engine_options_get_max_valid_backups_to_open(rocksdb_backup_engine_options_t* opt);
void rocksdb_backup_engine_options_set_share_files_with_checksum_naming(rocksdb_backup_engine_options_t* opt, int v);
int rocksdb_backup_engine_options_get_share_files_with_checksum_naming(rocksdb_backup_engine_options_t* opt);
void rocksdb_backup_engine_options_set_schema_version(rocksdb_backup_engine_options_t* opt, int v);
int rocksdb_backup_engine_options_get_schema_version(rocksdb_backup_engine_options_t* opt);
void rocksdb_backup_engine_options_set_current_temperatures_override_manifest(
    rocksdb_backup_engine_options_t* opt, unsigned char v);
unsigned char rocksdb_backup_engine_options_get_current_temperatures_override_manifest(
    rocksdb_backup_engine_options_t* opt);
void rocksdb_create_backup_options_set_decrease_background_thread_cpu_priority(
    rocksdb_create_backup_options_t* opt, unsigned char v);
unsigned char rocksdb_create_backup_options_get_decrease_background_thread_cpu_priority(
    rocksdb_create_backup_options_t* opt);
void rocksdb_create_backup_options_set_background_thread_cpu_priority(rocksdb_create_backup_options_t* opt, int v);
int rocksdb_create_backup_options_get_background_thread_cpu_priority(rocksdb_create_backup_options_t* opt);
void rocksdb_create_backup_options_set_flush_before_backup(rocksdb_create_backup_options_t* opt, unsigned char v);
unsigned char rocksdb_create_backup_options_get_flush_before_backup(rocksdb_create_backup_options_t* opt);
void rocksdb_create_backup_options_set_atomic_flush(rocksdb_create_backup_options_t* opt, unsigned char v);
unsigned char rocksdb_create_backup_options_get_atomic_flush(rocksdb_create_backup_options_t* opt);
void rocksdb_restore_options_set_keep_log_files(rocksdb_restore_options_t* opt, int v);
unsigned char rocksdb_restore_options_get_keep_log_files(rocksdb_restore_options_t* opt);
void rocksdb_restore_options_set_mode(rocksdb_restore_options_t* opt, int v);
int rocksdb_restore_options_get_mode(rocksdb_restore_options_t* opt);

#ifdef __cplusplus
}
#endif

#endif
