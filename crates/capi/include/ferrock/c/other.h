/* Logs, and what is not built yet: traces, timestamps, files. */
#ifndef FERROCK_C_OTHER_H
#define FERROCK_C_OTHER_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

void rocksdb_put_with_ts(
    rocksdb_t* db, const rocksdb_writeoptions_t* options, const char* key, size_t keylen, const char* ts,
    size_t tslen, const char* val, size_t vallen, char** errptr);
void rocksdb_put_cf_with_ts(
    rocksdb_t* db, const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t keylen, const char* ts, size_t tslen, const char* val, size_t vallen, char** errptr);
void rocksdb_delete_with_ts(
    rocksdb_t* db, const rocksdb_writeoptions_t* options, const char* key, size_t keylen, const char* ts,
    size_t tslen, char** errptr);
void rocksdb_delete_cf_with_ts(
    rocksdb_t* db, const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t keylen, const char* ts, size_t tslen, char** errptr);
void rocksdb_singledelete_with_ts(
    rocksdb_t* db, const rocksdb_writeoptions_t* options, const char* key, size_t keylen, const char* ts,
    size_t tslen, char** errptr);
void rocksdb_singledelete_cf_with_ts(
    rocksdb_t* db, const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t keylen, const char* ts, size_t tslen, char** errptr);
void rocksdb_disable_file_deletions(rocksdb_t* db, char** errptr);
void rocksdb_enable_file_deletions(rocksdb_t* db, char** errptr);
void rocksdb_verify_file_checksums(rocksdb_t* db, char** errptr);
void rocksdb_verify_file_checksums_with_options(rocksdb_t* db, const rocksdb_readoptions_t* options, char** errptr);
void rocksdb_increase_full_history_ts_low(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family, const char* ts_low, size_t ts_lowlen,
    char** errptr);
char* rocksdb_get_full_history_ts_low(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family, size_t* ts_lowlen, char** errptr);
rocksdb_t* rocksdb_open_and_trim_history(
    const rocksdb_options_t* options, const char* name, int num_column_families,
    const char* const* column_family_names, const rocksdb_options_t* const* column_family_options,
    rocksdb_column_family_handle_t** column_family_handles, char* trim_ts, size_t trim_tslen, char** errptr);
char* rocksdb_get_with_ts(
    rocksdb_t* db, const rocksdb_readoptions_t* options, const char* key, size_t keylen, size_t* vallen, char** ts,
    size_t* tslen, char** errptr);
char* rocksdb_get_cf_with_ts(
    rocksdb_t* db, const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t keylen, size_t* vallen, char** ts, size_t* tslen, char** errptr);
void rocksdb_multi_get_with_ts(
    rocksdb_t* db, const rocksdb_readoptions_t* options, size_t num_keys, const char* const* keys_list,
    const size_t* keys_list_sizes, char** values_list, size_t* values_list_sizes, char** timestamp_list,
    size_t* timestamp_list_sizes, char** errs);
void rocksdb_multi_get_cf_with_ts(
    rocksdb_t* db, const rocksdb_readoptions_t* options,
    const rocksdb_column_family_handle_t* const* column_families, size_t num_keys, const char* const* keys_list,
    const size_t* keys_list_sizes, char** values_list, size_t* values_list_sizes, char** timestamps_list,
    size_t* timestamps_list_sizes, char** errs);
rocksdb_wal_iterator_t* rocksdb_get_updates_since(
    rocksdb_t* db, uint64_t seq_number, const rocksdb_wal_readoptions_t* options, char** errptr);
rocksdb_wal_files_t* rocksdb_get_sorted_wal_files(rocksdb_t* db, char** errptr);
rocksdb_wal_file_t* rocksdb_get_current_wal_file(rocksdb_t* db, char** errptr);
void rocksdb_suggest_compact_range(
    rocksdb_t* db, const char* start_key, size_t start_key_len, const char* limit_key, size_t limit_key_len,
    char** errptr);
void rocksdb_suggest_compact_range_cf(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family, const char* start_key, size_t start_key_len,
    const char* limit_key, size_t limit_key_len, char** errptr);
void rocksdb_compact_files(
    rocksdb_t* db, const rocksdb_compaction_options_t* options, const char* const* input_file_names,
    size_t num_input_file_names, int output_level, int output_path_id, char*** output_file_names,
    size_t* num_output_file_names, rocksdb_compactionjobinfo_t* compaction_job_info, char** errptr);
void rocksdb_compact_files_cf(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family, const rocksdb_compaction_options_t* options,
    const char* const* input_file_names, size_t num_input_file_names, int output_level, int output_path_id,
    char*** output_file_names, size_t* num_output_file_names, rocksdb_compactionjobinfo_t* compaction_job_info,
    char** errptr);
void rocksdb_compact_files_output_file_names_destroy(char** output_file_names, size_t num_output_file_names);
void rocksdb_wal_iter_next(rocksdb_wal_iterator_t* iter);
unsigned char rocksdb_wal_iter_valid(const rocksdb_wal_iterator_t* wal_iterator);
void rocksdb_wal_iter_status(const rocksdb_wal_iterator_t* iter, char** errptr);
rocksdb_writebatch_t* rocksdb_wal_iter_get_batch(const rocksdb_wal_iterator_t* iter, uint64_t* seq);
void rocksdb_wal_iter_destroy(const rocksdb_wal_iterator_t* iter);
rocksdb_wal_readoptions_t* rocksdb_wal_readoptions_create(void);
void rocksdb_wal_readoptions_destroy(rocksdb_wal_readoptions_t* options);
void rocksdb_wal_readoptions_set_verify_checksums(rocksdb_wal_readoptions_t* options, unsigned char verify_checksums);
unsigned char rocksdb_wal_readoptions_get_verify_checksums(rocksdb_wal_readoptions_t* options);
const char* rocksdb_wal_file_path_name(const rocksdb_wal_file_t* file);
uint64_t rocksdb_wal_file_log_number(const rocksdb_wal_file_t* file);
int rocksdb_wal_file_type(const rocksdb_wal_file_t* file);
uint64_t rocksdb_wal_file_start_sequence(const rocksdb_wal_file_t* file);
uint64_t rocksdb_wal_file_size_file_bytes(const rocksdb_wal_file_t* file);
void rocksdb_wal_file_destroy(rocksdb_wal_file_t* file);
size_t rocksdb_wal_files_count(const rocksdb_wal_files_t* files);
const rocksdb_wal_file_t* rocksdb_wal_files_get_wal_file(const rocksdb_wal_files_t* files, size_t index);
void rocksdb_wal_files_destroy(rocksdb_wal_files_t* files);
void rocksdb_writebatch_put_cf_with_ts(
    rocksdb_writebatch_t* writebatch, rocksdb_column_family_handle_t* column_family, const char* key, size_t klen,
    const char* ts, size_t tslen, const char* val, size_t vlen);
void rocksdb_writebatch_delete_cf_with_ts(
    rocksdb_writebatch_t* writebatch, rocksdb_column_family_handle_t* column_family, const char* key, size_t klen,
    const char* ts, size_t tslen);
void rocksdb_writebatch_singledelete_cf_with_ts(
    rocksdb_writebatch_t* b, rocksdb_column_family_handle_t* column_family, const char* key, size_t klen,
    const char* ts, size_t tslen);
void rocksdb_writebatch_update_timestamps(
    rocksdb_writebatch_t* wb, const char* ts, size_t tslen, void* state, size_t (*get_ts_size)(void*, uint32_t),
    char** errptr);
void rocksdb_writebatch_wi_update_timestamps(
    rocksdb_writebatch_wi_t* wbwi, const char* ts, size_t tslen, void* state,
    size_t (*get_ts_size)(void*, uint32_t), char** errptr);
uint64_t rocksdb_table_properties_user_defined_timestamps_persisted(const rocksdb_table_properties_t* props);
rocksdb_cuckoo_table_options_t* rocksdb_cuckoo_options_create(void);
void rocksdb_cuckoo_options_destroy(rocksdb_cuckoo_table_options_t* options);
void rocksdb_cuckoo_options_set_hash_ratio(rocksdb_cuckoo_table_options_t* options, double v);
rocksdb_logger_t* rocksdb_logger_create_stderr_logger(int log_level, const char* prefix);
rocksdb_logger_t* rocksdb_logger_create_callback_logger(
    int log_level, void (*)(void* priv, unsigned lev, char* msg, size_t len), void* priv_value);
void rocksdb_logger_destroy(rocksdb_logger_t* logger);
rocksdb_file_checksum_gen_factory_t* rocksdb_file_checksum_gen_crc32c_factory_create(void);
void rocksdb_file_checksum_gen_factory_destroy(rocksdb_file_checksum_gen_factory_t* factory);
rocksdb_sst_partitioner_factory_t* rocksdb_sst_partitioner_fixed_prefix_factory_create(size_t prefix_len);
void rocksdb_sst_partitioner_factory_destroy(rocksdb_sst_partitioner_factory_t* factory);
void rocksdb_set_perf_level(int argument0);
rocksdb_perfcontext_t* rocksdb_perfcontext_create(void);
void rocksdb_perfcontext_reset(rocksdb_perfcontext_t* context);
char* rocksdb_perfcontext_report(rocksdb_perfcontext_t* context, unsigned char exclude_zero_counters);
uint64_t rocksdb_perfcontext_metric(rocksdb_perfcontext_t* context, int metric);
void rocksdb_perfcontext_destroy(rocksdb_perfcontext_t* context);
rocksdb_walfilter_t* rocksdb_walfilter_create(
    void* state, void (*destructor)(void*),
    rocksdb_walfilter_column_family_log_number_map_cb column_family_log_number_map,
    rocksdb_walfilter_log_record_found_cb log_record_found, const char* (*name)(void*));
void rocksdb_walfilter_destroy(rocksdb_walfilter_t* walfilter);
unsigned char rocksdb_compactionfiltercontext_is_full_compaction(rocksdb_compactionfiltercontext_t* context);
unsigned char rocksdb_compactionfiltercontext_is_manual_compaction(rocksdb_compactionfiltercontext_t* context);
rocksdb_compactionfilterfactory_t* rocksdb_compactionfilterfactory_create(
    void* state, void (*destructor)(void*),
    rocksdb_compactionfilter_t* (*create_compaction_filter)( void*, rocksdb_compactionfiltercontext_t* context),
    const char* (*name)(void*));
void rocksdb_compactionfilterfactory_destroy(rocksdb_compactionfilterfactory_t* compactionfilterfactory);
rocksdb_comparator_t* rocksdb_comparator_with_ts_create(
    void* state, void (*destructor)(void*),
    int (*compare)(void*, const char* a, size_t alen, const char* b, size_t blen),
    int (*compare_ts)(void*, const char* a_ts, size_t a_tslen, const char* b_ts, size_t b_tslen),
    int (*compare_without_ts)(void*, const char* a, size_t alen, unsigned char a_has_ts, const char* b,
        size_t blen, unsigned char b_has_ts), const char* (*name)(void*), size_t timestamp_size);
rocksdb_compaction_options_t* rocksdb_compaction_options_create(void);
void rocksdb_compaction_options_destroy(rocksdb_compaction_options_t* compaction_options);
unsigned char* rocksdb_compaction_options_canceled_create(void);
void rocksdb_compaction_options_canceled_destroy(unsigned char* canceled);
void rocksdb_compaction_options_canceled_set(unsigned char* canceled, unsigned char value);
void rocksdb_compaction_options_set_canceled(rocksdb_compaction_options_t* options, unsigned char* canceled);
rocksdb_memory_allocator_t* rocksdb_jemalloc_nodump_allocator_create(char** errptr);
void rocksdb_memory_allocator_destroy(rocksdb_memory_allocator_t* memory_allocator);
void rocksdb_lru_cache_options_set_memory_allocator(
    rocksdb_lru_cache_options_t* lru_cache_options, rocksdb_memory_allocator_t* memory_allocator);
rocksdb_sst_file_manager_t* rocksdb_sst_file_manager_create(rocksdb_env_t* env);
void rocksdb_sst_file_manager_destroy(rocksdb_sst_file_manager_t* sfm);
void rocksdb_sst_file_manager_set_max_allowed_space_usage(
    rocksdb_sst_file_manager_t* sfm, uint64_t max_allowed_space);
void rocksdb_sst_file_manager_set_compaction_buffer_size(
    rocksdb_sst_file_manager_t* sfm, uint64_t compaction_buffer_size);
bool rocksdb_sst_file_manager_is_max_allowed_space_reached(rocksdb_sst_file_manager_t* sfm);
bool rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(rocksdb_sst_file_manager_t* sfm);
uint64_t rocksdb_sst_file_manager_get_total_size(rocksdb_sst_file_manager_t* sfm);
int64_t rocksdb_sst_file_manager_get_delete_rate_bytes_per_second(rocksdb_sst_file_manager_t* sfm);
void rocksdb_sst_file_manager_set_delete_rate_bytes_per_second(rocksdb_sst_file_manager_t* sfm, int64_t delete_rate);
double rocksdb_sst_file_manager_get_max_trash_db_ratio(rocksdb_sst_file_manager_t* sfm);
void rocksdb_sst_file_manager_set_max_trash_db_ratio(rocksdb_sst_file_manager_t* sfm, double ratio);
uint64_t rocksdb_sst_file_manager_get_total_trash_size(rocksdb_sst_file_manager_t* sfm);
void rocksdb_hyper_clock_cache_options_set_memory_allocator(
    rocksdb_hyper_clock_cache_options_t* hyper_clock_cache_options, rocksdb_memory_allocator_t* memory_allocator);
rocksdb_dbpath_t* rocksdb_dbpath_create(const char* path, uint64_t target_size);
void rocksdb_dbpath_destroy(rocksdb_dbpath_t* dbpath);
rocksdb_envoptions_t* rocksdb_envoptions_create(void);
void rocksdb_envoptions_destroy(rocksdb_envoptions_t* opt);
void rocksdb_envoptions_set_rate_limiter(rocksdb_envoptions_t* opt, rocksdb_ratelimiter_t* rate_limiter);
rocksdb_trace_options_t* rocksdb_trace_options_create(void);
void rocksdb_trace_options_destroy(rocksdb_trace_options_t* options);
rocksdb_trace_reader_t* rocksdb_trace_reader_create(
    rocksdb_env_t* env, const rocksdb_envoptions_t* env_options, const char* trace_path, char** errptr);
char* rocksdb_trace_reader_read(rocksdb_trace_reader_t* reader, size_t* size, char** errptr);
void rocksdb_trace_reader_reset(rocksdb_trace_reader_t* reader, char** errptr);
void rocksdb_trace_reader_close(rocksdb_trace_reader_t* reader, char** errptr);
void rocksdb_trace_reader_destroy(rocksdb_trace_reader_t* reader);
rocksdb_replay_options_t* rocksdb_replay_options_create(void);
void rocksdb_replay_options_destroy(rocksdb_replay_options_t* options);
void rocksdb_replay_options_set_num_threads(rocksdb_replay_options_t* options, uint32_t num_threads);
uint32_t rocksdb_replay_options_get_num_threads(rocksdb_replay_options_t* options);
void rocksdb_replay_options_set_fast_forward(rocksdb_replay_options_t* options, double fast_forward);
double rocksdb_replay_options_get_fast_forward(rocksdb_replay_options_t* options);
rocksdb_replayer_t* rocksdb_new_default_replayer(
    rocksdb_t* db, rocksdb_column_family_handle_t** column_families, size_t num_column_families, rocksdb_env_t* env,
    const rocksdb_envoptions_t* env_options, const char* trace_path, char** errptr);
void rocksdb_replayer_prepare(rocksdb_replayer_t* replayer, char** errptr);
uint64_t rocksdb_replayer_get_header_timestamp(const rocksdb_replayer_t* replayer);
void rocksdb_replayer_replay(rocksdb_replayer_t* replayer, const rocksdb_replay_options_t* options, char** errptr);
void rocksdb_replayer_destroy(rocksdb_replayer_t* replayer);
rocksdb_block_cache_trace_options_t* rocksdb_block_cache_trace_options_create(void);
void rocksdb_block_cache_trace_options_destroy(rocksdb_block_cache_trace_options_t* options);
rocksdb_block_cache_trace_writer_options_t* rocksdb_block_cache_trace_writer_options_create(void);
void rocksdb_block_cache_trace_writer_options_destroy(rocksdb_block_cache_trace_writer_options_t* options);
void rocksdb_start_trace(
    rocksdb_t* db, rocksdb_env_t* env, const rocksdb_envoptions_t* env_options,
    const rocksdb_trace_options_t* options, const char* trace_path, char** errptr);
void rocksdb_end_trace(rocksdb_t* db, char** errptr);
void rocksdb_start_io_trace(
    rocksdb_t* db, rocksdb_env_t* env, const rocksdb_envoptions_t* env_options,
    const rocksdb_trace_options_t* options, const char* trace_path, char** errptr);
void rocksdb_end_io_trace(rocksdb_t* db, char** errptr);
void rocksdb_start_block_cache_trace(
    rocksdb_t* db, rocksdb_env_t* env, const rocksdb_envoptions_t* env_options,
    const rocksdb_trace_options_t* options, const char* trace_path, char** errptr);
void rocksdb_start_block_cache_trace_with_options(
    rocksdb_t* db, rocksdb_env_t* env, const rocksdb_envoptions_t* env_options,
    const rocksdb_block_cache_trace_options_t* options,
    const rocksdb_block_cache_trace_writer_options_t* writer_options, const char* trace_path, char** errptr);
void rocksdb_end_block_cache_trace(rocksdb_t* db, char** errptr);
void rocksdb_sstfilewriter_put_with_ts(
    rocksdb_sstfilewriter_t* writer, const char* key, size_t keylen, const char* ts, size_t tslen, const char* val,
    size_t vallen, char** errptr);
void rocksdb_sstfilewriter_delete_with_ts(
    rocksdb_sstfilewriter_t* writer, const char* key, size_t keylen, const char* ts, size_t tslen, char** errptr);
rocksdb_universal_compaction_options_t* rocksdb_universal_compaction_options_create(void);
void rocksdb_universal_compaction_options_set_size_ratio(
    rocksdb_universal_compaction_options_t* universal_compaction_options, int argument1);
int rocksdb_universal_compaction_options_get_size_ratio(
    rocksdb_universal_compaction_options_t* universal_compaction_options);
void rocksdb_universal_compaction_options_set_min_merge_width(
    rocksdb_universal_compaction_options_t* universal_compaction_options, int argument1);
int rocksdb_universal_compaction_options_get_min_merge_width(
    rocksdb_universal_compaction_options_t* universal_compaction_options);
void rocksdb_universal_compaction_options_set_max_merge_width(
    rocksdb_universal_compaction_options_t* universal_compaction_options, int argument1);
int rocksdb_universal_compaction_options_get_max_merge_width(
    rocksdb_universal_compaction_options_t* universal_compaction_options);
void rocksdb_universal_compaction_options_set_max_size_amplification_percent(
    rocksdb_universal_compaction_options_t* universal_compaction_options, int argument1);
int rocksdb_universal_compaction_options_get_max_size_amplification_percent(
    rocksdb_universal_compaction_options_t* universal_compaction_options);
void rocksdb_universal_compaction_options_set_compression_size_percent(
    rocksdb_universal_compaction_options_t* universal_compaction_options, int argument1);
int rocksdb_universal_compaction_options_get_compression_size_percent(
    rocksdb_universal_compaction_options_t* universal_compaction_options);
void rocksdb_universal_compaction_options_set_stop_style(
    rocksdb_universal_compaction_options_t* universal_compaction_options, int argument1);
int rocksdb_universal_compaction_options_get_stop_style(
    rocksdb_universal_compaction_options_t* universal_compaction_options);
void rocksdb_universal_compaction_options_destroy(
    rocksdb_universal_compaction_options_t* universal_compaction_options);
rocksdb_fifo_compaction_options_t* rocksdb_fifo_compaction_options_create(void);
void rocksdb_fifo_compaction_options_set_allow_compaction(
    rocksdb_fifo_compaction_options_t* fifo_opts, unsigned char allow_compaction);
unsigned char rocksdb_fifo_compaction_options_get_allow_compaction(rocksdb_fifo_compaction_options_t* fifo_opts);
void rocksdb_fifo_compaction_options_set_max_table_files_size(
    rocksdb_fifo_compaction_options_t* fifo_opts, uint64_t size);
uint64_t rocksdb_fifo_compaction_options_get_max_table_files_size(rocksdb_fifo_compaction_options_t* fifo_opts);
void rocksdb_fifo_compaction_options_set_max_data_files_size(
    rocksdb_fifo_compaction_options_t* fifo_opts, uint64_t size);
uint64_t rocksdb_fifo_compaction_options_get_max_data_files_size(rocksdb_fifo_compaction_options_t* fifo_opts);
void rocksdb_fifo_compaction_options_set_use_kv_ratio_compaction(
    rocksdb_fifo_compaction_options_t* fifo_opts, unsigned char use_kv_ratio_compaction);
unsigned char rocksdb_fifo_compaction_options_get_use_kv_ratio_compaction(
    rocksdb_fifo_compaction_options_t* fifo_opts);
void rocksdb_fifo_compaction_options_destroy(rocksdb_fifo_compaction_options_t* fifo_opts);
rocksdb_livefiles_storage_info_options_t* rocksdb_livefiles_storage_info_options_create(void);
void rocksdb_livefiles_storage_info_options_destroy(rocksdb_livefiles_storage_info_options_t* options);
rocksdb_livefiles_storage_info_t* rocksdb_get_livefiles_storage_info(
    rocksdb_t* db, const rocksdb_livefiles_storage_info_options_t* options, char** errptr);
size_t rocksdb_livefiles_storage_info_count(const rocksdb_livefiles_storage_info_t* info);
const char* rocksdb_livefiles_storage_info_relative_filename(
    const rocksdb_livefiles_storage_info_t* info, size_t index);
const char* rocksdb_livefiles_storage_info_directory(const rocksdb_livefiles_storage_info_t* info, size_t index);
uint64_t rocksdb_livefiles_storage_info_file_number(const rocksdb_livefiles_storage_info_t* info, size_t index);
int rocksdb_livefiles_storage_info_file_type(const rocksdb_livefiles_storage_info_t* info, size_t index);
uint64_t rocksdb_livefiles_storage_info_size(const rocksdb_livefiles_storage_info_t* info, size_t index);
int rocksdb_livefiles_storage_info_temperature(const rocksdb_livefiles_storage_info_t* info, size_t index);
const char* rocksdb_livefiles_storage_info_file_checksum(const rocksdb_livefiles_storage_info_t* info, size_t index);
const char* rocksdb_livefiles_storage_info_file_checksum_func_name(
    const rocksdb_livefiles_storage_info_t* info, size_t index);
const char* rocksdb_livefiles_storage_info_replacement_contents(
    const rocksdb_livefiles_storage_info_t* info, size_t index, size_t* size);
unsigned char rocksdb_livefiles_storage_info_trim_to_size(const rocksdb_livefiles_storage_info_t* info, size_t index);
void rocksdb_livefiles_storage_info_destroy(rocksdb_livefiles_storage_info_t* info);
void rocksdb_delete_file_in_range(
    rocksdb_t* db, const char* start_key, size_t start_key_len, const char* limit_key, size_t limit_key_len,
    char** errptr);
void rocksdb_delete_file_in_range_cf(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family, const char* start_key, size_t start_key_len,
    const char* limit_key, size_t limit_key_len, char** errptr);
rocksdb_column_family_metadata_t* rocksdb_get_column_family_metadata_with_options(
    rocksdb_t* db, const rocksdb_column_family_metadata_options_t* options);
rocksdb_column_family_metadata_options_t* rocksdb_column_family_metadata_options_create(void);
void rocksdb_column_family_metadata_options_destroy(rocksdb_column_family_metadata_options_t* options);
void rocksdb_column_family_metadata_options_set_start_key(
    rocksdb_column_family_metadata_options_t* options, const char* key, size_t key_len);
const char* rocksdb_column_family_metadata_options_get_start_key(
    const rocksdb_column_family_metadata_options_t* options, size_t* key_len);
void rocksdb_column_family_metadata_options_set_end_key(
    rocksdb_column_family_metadata_options_t* options, const char* key, size_t key_len);
const char* rocksdb_column_family_metadata_options_get_end_key(
    const rocksdb_column_family_metadata_options_t* options, size_t* key_len);
rocksdb_column_family_metadata_t* rocksdb_get_column_family_metadata_cf_with_options(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family,
    const rocksdb_column_family_metadata_options_t* options);
void rocksdb_cancel_all_background_work(rocksdb_t* db, unsigned char wait);
rocksdb_statistics_histogram_data_t* rocksdb_statistics_histogram_data_create(void);
void rocksdb_statistics_histogram_data_destroy(rocksdb_statistics_histogram_data_t* data);
double rocksdb_statistics_histogram_data_get_median(rocksdb_statistics_histogram_data_t* data);
double rocksdb_statistics_histogram_data_get_p95(rocksdb_statistics_histogram_data_t* data);
double rocksdb_statistics_histogram_data_get_p99(rocksdb_statistics_histogram_data_t* data);
double rocksdb_statistics_histogram_data_get_average(rocksdb_statistics_histogram_data_t* data);
double rocksdb_statistics_histogram_data_get_std_dev(rocksdb_statistics_histogram_data_t* data);
double rocksdb_statistics_histogram_data_get_max(rocksdb_statistics_histogram_data_t* data);
uint64_t rocksdb_statistics_histogram_data_get_count(rocksdb_statistics_histogram_data_t* data);
uint64_t rocksdb_statistics_histogram_data_get_sum(rocksdb_statistics_histogram_data_t* data);
double rocksdb_statistics_histogram_data_get_min(rocksdb_statistics_histogram_data_t* data);
void rocksdb_envoptions_set_use_mmap_reads(rocksdb_envoptions_t* opt, unsigned char v);
unsigned char rocksdb_envoptions_get_use_mmap_reads(rocksdb_envoptions_t* opt);
void rocksdb_envoptions_set_use_mmap_writes(rocksdb_envoptions_t* opt, unsigned char v);
unsigned char rocksdb_envoptions_get_use_mmap_writes(rocksdb_envoptions_t* opt);
void rocksdb_envoptions_set_use_direct_reads(rocksdb_envoptions_t* opt, unsigned char v);
unsigned char rocksdb_envoptions_get_use_direct_reads(rocksdb_envoptions_t* opt);
void rocksdb_envoptions_set_use_direct_writes(rocksdb_envoptions_t* opt, unsigned char v);
unsigned char rocksdb_envoptions_get_use_direct_writes(rocksdb_envoptions_t* opt);
void rocksdb_envoptions_set_allow_fallocate(rocksdb_envoptions_t* opt, unsigned char v);
unsigned char rocksdb_envoptions_get_allow_fallocate(rocksdb_envoptions_t* opt);
void rocksdb_envoptions_set_fd_cloexec(rocksdb_envoptions_t* opt, unsigned char v);
unsigned char rocksdb_envoptions_get_fd_cloexec(rocksdb_envoptions_t* opt);
void rocksdb_envoptions_set_bytes_per_sync(rocksdb_envoptions_t* opt, uint64_t v);
uint64_t rocksdb_envoptions_get_bytes_per_sync(rocksdb_envoptions_t* opt);
void rocksdb_envoptions_set_strict_bytes_per_sync(rocksdb_envoptions_t* opt, unsigned char v);
unsigned char rocksdb_envoptions_get_strict_bytes_per_sync(rocksdb_envoptions_t* opt);
void rocksdb_envoptions_set_fallocate_with_keep_size(rocksdb_envoptions_t* opt, unsigned char v);
unsigned char rocksdb_envoptions_get_fallocate_with_keep_size(rocksdb_envoptions_t* opt);
void rocksdb_envoptions_set_compaction_readahead_size(rocksdb_envoptions_t* opt, size_t v);
size_t rocksdb_envoptions_get_compaction_readahead_size(rocksdb_envoptions_t* opt);
void rocksdb_envoptions_set_writable_file_max_buffer_size(rocksdb_envoptions_t* opt, size_t v);
size_t rocksdb_envoptions_get_writable_file_max_buffer_size(rocksdb_envoptions_t* opt);
void rocksdb_trace_options_set_max_trace_file_size(rocksdb_trace_options_t* opt, uint64_t v);
uint64_t rocksdb_trace_options_get_max_trace_file_size(rocksdb_trace_options_t* opt);
void rocksdb_trace_options_set_sampling_frequency(rocksdb_trace_options_t* opt, uint64_t v);
uint64_t rocksdb_trace_options_get_sampling_frequency(rocksdb_trace_options_t* opt);
void rocksdb_trace_options_set_filter(rocksdb_trace_options_t* opt, uint64_t v);
uint64_t rocksdb_trace_options_get_filter(rocksdb_trace_options_t* opt);
void rocksdb_trace_options_set_preserve_write_order(rocksdb_trace_options_t* opt, unsigned char v);
unsigned char rocksdb_trace_options_get_preserve_write_order(rocksdb_trace_options_t* opt);
void rocksdb_block_cache_trace_options_set_sampling_frequency(rocksdb_block_cache_trace_options_t* opt, uint64_t v);
uint64_t rocksdb_block_cache_trace_options_get_sampling_frequency(rocksdb_block_cache_trace_options_t* opt);
void rocksdb_block_cache_trace_writer_options_set_max_trace_file_size(
    rocksdb_block_cache_trace_writer_options_t* opt, uint64_t v);
uint64_t rocksdb_block_cache_trace_writer_options_get_max_trace_file_size(
    rocksdb_block_cache_trace_writer_options_t* opt);
void rocksdb_compaction_options_set_compression(rocksdb_compaction_options_t* opt, int v);
int rocksdb_compaction_options_get_compression(rocksdb_compaction_options_t* opt);
void rocksdb_compaction_options_set_output_file_size_limit(rocksdb_compaction_options_t* opt, uint64_t v);
uint64_t rocksdb_compaction_options_get_output_file_size_limit(rocksdb_compaction_options_t* opt);
void rocksdb_compaction_options_set_max_subcompactions(rocksdb_compaction_options_t* opt, uint32_t v);
uint32_t rocksdb_compaction_options_get_max_subcompactions(rocksdb_compaction_options_t* opt);
void rocksdb_compaction_options_set_output_temperature_override(rocksdb_compaction_options_t* opt, int v);
int rocksdb_compaction_options_get_output_temperature_override(rocksdb_compaction_options_t* opt);
void rocksdb_compaction_options_set_allow_trivial_move(rocksdb_compaction_options_t* opt, unsigned char v);
unsigned char rocksdb_compaction_options_get_allow_trivial_move(rocksdb_compaction_options_t* opt);
void rocksdb_livefiles_storage_info_options_set_include_checksum_info(
    rocksdb_livefiles_storage_info_options_t* opt, unsigned char v);
unsigned char rocksdb_livefiles_storage_info_options_get_include_checksum_info(
    rocksdb_livefiles_storage_info_options_t* opt);
void rocksdb_livefiles_storage_info_options_set_wal_size_for_flush(
    rocksdb_livefiles_storage_info_options_t* opt, uint64_t v);
uint64_t rocksdb_livefiles_storage_info_options_get_wal_size_for_flush(rocksdb_livefiles_storage_info_options_t* opt);
void rocksdb_livefiles_storage_info_options_set_atomic_flush(
    rocksdb_livefiles_storage_info_options_t* opt, unsigned char v);
unsigned char rocksdb_livefiles_storage_info_options_get_atomic_flush(rocksdb_livefiles_storage_info_options_t* opt);
void rocksdb_column_family_metadata_options_set_level(rocksdb_column_family_metadata_options_t* opt, int v);
int rocksdb_column_family_metadata_options_get_level(rocksdb_column_family_metadata_options_t* opt);
void rocksdb_cuckoo_options_set_hash_table_ratio(rocksdb_cuckoo_table_options_t* opt, double v);
double rocksdb_cuckoo_options_get_hash_table_ratio(rocksdb_cuckoo_table_options_t* opt);
void rocksdb_cuckoo_options_set_max_search_depth(rocksdb_cuckoo_table_options_t* opt, uint32_t v);
uint32_t rocksdb_cuckoo_options_get_max_search_depth(rocksdb_cuckoo_table_options_t* opt);
void rocksdb_cuckoo_options_set_cuckoo_block_size(rocksdb_cuckoo_table_options_t* opt, uint32_t v);
uint32_t rocksdb_cuckoo_options_get_cuckoo_block_size(rocksdb_cuckoo_table_options_t* opt);
void rocksdb_cuckoo_options_set_identity_as_first_hash(rocksdb_cuckoo_table_options_t* opt, unsigned char v);
unsigned char rocksdb_cuckoo_options_get_identity_as_first_hash(rocksdb_cuckoo_table_options_t* opt);
void rocksdb_cuckoo_options_set_use_module_hash(rocksdb_cuckoo_table_options_t* opt, unsigned char v);
unsigned char rocksdb_cuckoo_options_get_use_module_hash(rocksdb_cuckoo_table_options_t* opt);
void rocksdb_universal_compaction_options_set_max_read_amp(rocksdb_universal_compaction_options_t* opt, int v);
int rocksdb_universal_compaction_options_get_max_read_amp(rocksdb_universal_compaction_options_t* opt);
void rocksdb_universal_compaction_options_set_allow_trivial_move(
    rocksdb_universal_compaction_options_t* opt, unsigned char v);
unsigned char rocksdb_universal_compaction_options_get_allow_trivial_move(
    rocksdb_universal_compaction_options_t* opt);
void rocksdb_universal_compaction_options_set_incremental(
    rocksdb_universal_compaction_options_t* opt, unsigned char v);
unsigned char rocksdb_universal_compaction_options_get_incremental(rocksdb_universal_compaction_options_t* opt);
void rocksdb_universal_compaction_options_set_reduce_file_locking(
    rocksdb_universal_compaction_options_t* opt, unsigned char v);
unsigned char rocksdb_universal_compaction_options_get_reduce_file_locking(
    rocksdb_universal_compaction_options_t* opt);
void rocksdb_fifo_compaction_options_set_age_for_warm(rocksdb_fifo_compaction_options_t* opt, uint64_t v);
uint64_t rocksdb_fifo_compaction_options_get_age_for_warm(rocksdb_fifo_compaction_options_t* opt);
void rocksdb_fifo_compaction_options_set_allow_trivial_copy_when_change_temperature(
    rocksdb_fifo_compaction_options_t* opt, unsigned char v);
unsigned char rocksdb_fifo_compaction_options_get_allow_trivial_copy_when_change_temperature(
    rocksdb_fifo_compaction_options_t* opt);
void rocksdb_fifo_compaction_options_set_trivial_copy_buffer_size(rocksdb_fifo_compaction_options_t* opt, uint64_t v);
uint64_t rocksdb_fifo_compaction_options_get_trivial_copy_buffer_size(rocksdb_fifo_compaction_options_t* opt);
void rocksdb_abort_all_compactions(rocksdb_t* db);
void rocksdb_resume_all_compactions(rocksdb_t* db);

#ifdef __cplusplus
}
#endif

#endif
