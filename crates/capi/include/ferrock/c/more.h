/* More of what works: reads, batches, environments, metadata. */
#ifndef FERROCK_C_MORE_H
#define FERROCK_C_MORE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

void rocksdb_verify_checksum_with_options(rocksdb_t* db, const rocksdb_readoptions_t* options, char** errptr);
rocksdb_column_family_handle_t** rocksdb_create_column_families(
    rocksdb_t* db, const rocksdb_options_t* column_family_options, int num_column_families,
    const char* const* column_family_names, size_t* lencfs, char** errptr);
void rocksdb_create_column_families_destroy(rocksdb_column_family_handle_t** list);
uint32_t rocksdb_column_family_handle_get_id(rocksdb_column_family_handle_t* handle);
char* rocksdb_column_family_handle_get_name(rocksdb_column_family_handle_t* handle, size_t* name_len);
char* rocksdb_get_db_identity(rocksdb_t* db, size_t* id_len);
void rocksdb_batched_multi_get_cf_slice(
    rocksdb_t* db, const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    size_t num_keys, const rocksdb_slice_t* keys_list, rocksdb_pinnableslice_t** values, char** errs,
    const bool sorted_input);
unsigned char rocksdb_key_may_exist(
    rocksdb_t* db, const rocksdb_readoptions_t* options, const char* key, size_t key_len, char** value,
    size_t* val_len, const char* timestamp, size_t timestamp_len, unsigned char* value_found);
unsigned char rocksdb_key_may_exist_cf(
    rocksdb_t* db, const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, char** value, size_t* val_len, const char* timestamp, size_t timestamp_len,
    unsigned char* value_found);
void rocksdb_create_iterators(
    rocksdb_t* db, rocksdb_readoptions_t* opts, rocksdb_column_family_handle_t** column_families,
    rocksdb_iterator_t** iterators, size_t size, char** errptr);
int rocksdb_property_int_cf(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family, const char* propname, uint64_t* out_val);
void rocksdb_approximate_sizes_cf(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family, int num_ranges,
    const char* const* range_start_key, const size_t* range_start_key_len, const char* const* range_limit_key,
    const size_t* range_limit_key_len, uint64_t* sizes, char** errptr);
void rocksdb_approximate_sizes_cf_with_flags(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family, int num_ranges,
    const char* const* range_start_key, const size_t* range_start_key_len, const char* const* range_limit_key,
    const size_t* range_limit_key_len, uint8_t include_flags, uint64_t* sizes, char** errptr);
void rocksdb_approximate_sizes_with_options(
    rocksdb_t* db, const rocksdb_size_approximation_options_t* options, int num_ranges,
    const char* const* range_start_key, const size_t* range_start_key_len, const char* const* range_limit_key,
    const size_t* range_limit_key_len, uint64_t* sizes, char** errptr);
void rocksdb_approximate_sizes_cf_with_options(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family,
    const rocksdb_size_approximation_options_t* options, int num_ranges, const char* const* range_start_key,
    const size_t* range_start_key_len, const char* const* range_limit_key, const size_t* range_limit_key_len,
    uint64_t* sizes, char** errptr);
void rocksdb_compact_range_cf_opt(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family, rocksdb_compactoptions_t* opt,
    const char* start_key, size_t start_key_len, const char* limit_key, size_t limit_key_len);
void rocksdb_flush_cfs(
    rocksdb_t* db, const rocksdb_flushoptions_t* options, rocksdb_column_family_handle_t** column_family,
    int num_column_families, char** errptr);
const char* rocksdb_iter_timestamp(const rocksdb_iterator_t* iterator, size_t* tslen);
rocksdb_slice_t rocksdb_iter_key_slice(const rocksdb_iterator_t* iter);
rocksdb_slice_t rocksdb_iter_value_slice(const rocksdb_iterator_t* iter);
rocksdb_slice_t rocksdb_iter_timestamp_slice(const rocksdb_iterator_t* iter);
rocksdb_writebatch_t* rocksdb_writebatch_create_with_params(
    size_t reserved_bytes, size_t max_bytes, size_t protection_bytes_per_key, size_t default_cf_ts_sz);
void rocksdb_writebatch_set_save_point(rocksdb_writebatch_t* b);
void rocksdb_writebatch_rollback_to_save_point(rocksdb_writebatch_t* b, char** errptr);
void rocksdb_writebatch_pop_save_point(rocksdb_writebatch_t* b, char** errptr);
void rocksdb_writebatch_verify_checksum(rocksdb_writebatch_t* b, char** errptr);
void rocksdb_writebatch_putv(
    rocksdb_writebatch_t* b, int num_keys, const char* const* keys_list, const size_t* keys_list_sizes,
    int num_values, const char* const* values_list, const size_t* values_list_sizes);
void rocksdb_writebatch_putv_cf(
    rocksdb_writebatch_t* b, rocksdb_column_family_handle_t* column_family, int num_keys,
    const char* const* keys_list, const size_t* keys_list_sizes, int num_values, const char* const* values_list,
    const size_t* values_list_sizes);
void rocksdb_writebatch_mergev(
    rocksdb_writebatch_t* b, int num_keys, const char* const* keys_list, const size_t* keys_list_sizes,
    int num_values, const char* const* values_list, const size_t* values_list_sizes);
void rocksdb_writebatch_mergev_cf(
    rocksdb_writebatch_t* b, rocksdb_column_family_handle_t* column_family, int num_keys,
    const char* const* keys_list, const size_t* keys_list_sizes, int num_values, const char* const* values_list,
    const size_t* values_list_sizes);
void rocksdb_writebatch_singledelete(rocksdb_writebatch_t* b, const char* key, size_t klen);
void rocksdb_writebatch_singledelete_cf(
    rocksdb_writebatch_t* b, rocksdb_column_family_handle_t* column_family, const char* key, size_t klen);
void rocksdb_writebatch_deletev(
    rocksdb_writebatch_t* b, int num_keys, const char* const* keys_list, const size_t* keys_list_sizes);
void rocksdb_writebatch_deletev_cf(
    rocksdb_writebatch_t* b, rocksdb_column_family_handle_t* column_family, int num_keys,
    const char* const* keys_list, const size_t* keys_list_sizes);
void rocksdb_writebatch_delete_range(
    rocksdb_writebatch_t* b, const char* start_key, size_t start_key_len, const char* end_key, size_t end_key_len);
void rocksdb_writebatch_delete_rangev(
    rocksdb_writebatch_t* b, int num_keys, const char* const* start_keys_list, const size_t* start_keys_list_sizes,
    const char* const* end_keys_list, const size_t* end_keys_list_sizes);
void rocksdb_writebatch_delete_rangev_cf(
    rocksdb_writebatch_t* b, rocksdb_column_family_handle_t* column_family, int num_keys,
    const char* const* start_keys_list, const size_t* start_keys_list_sizes, const char* const* end_keys_list,
    const size_t* end_keys_list_sizes);
void rocksdb_writebatch_iterate(
    rocksdb_writebatch_t* writebatch, void* state,
    void (*put)(void*, const char* k, size_t klen, const char* v, size_t vlen),
    void (*deleted)(void*, const char* k, size_t klen));
void rocksdb_writebatch_iterate_ld(
    rocksdb_writebatch_t* writebatch, void* state,
    void (*put)(void*, const char* k, size_t klen, const char* v, size_t vlen),
    void (*deleted)(void*, const char* k, size_t klen), void (*log_data)(void*, const char* blob, size_t blob_len));
void rocksdb_writebatch_iterate_cf(
    rocksdb_writebatch_t* writebatch, void* state,
    void (*put_cf)(void*, uint32_t cfid, const char* k, size_t klen, const char* v, size_t vlen),
    void (*deleted_cf)(void*, uint32_t cfid, const char* k, size_t klen),
    void (*merge_cf)(void*, uint32_t cfid, const char* k, size_t klen, const char* v, size_t vlen));
void rocksdb_writebatch_iterate_cf_ld(
    rocksdb_writebatch_t* writebatch, void* state,
    void (*put_cf)(void*, uint32_t cfid, const char* k, size_t klen, const char* v, size_t vlen),
    void (*deleted_cf)(void*, uint32_t cfid, const char* k, size_t klen),
    void (*merge_cf)(void*, uint32_t cfid, const char* k, size_t klen, const char* v, size_t vlen),
    void (*log_data)(void*, const char* blob, size_t blob_len));
void rocksdb_set_options(
    rocksdb_t* db, int count, const char* const keys[], const char* const values[], char** errptr);
void rocksdb_set_db_options(
    rocksdb_t* db, int count, const char* const keys[], const char* const values[], char** errptr);
rocksdb_ratelimiter_t* rocksdb_ratelimiter_create(
    int64_t rate_bytes_per_sec, int64_t refill_period_us, int32_t fairness);
rocksdb_ratelimiter_t* rocksdb_ratelimiter_create_auto_tuned(
    int64_t rate_bytes_per_sec, int64_t refill_period_us, int32_t fairness);
rocksdb_ratelimiter_t* rocksdb_ratelimiter_create_with_mode(
    int64_t rate_bytes_per_sec, int64_t refill_period_us, int32_t fairness, int mode, bool auto_tuned);
void rocksdb_ratelimiter_destroy(rocksdb_ratelimiter_t* ratelimiter);
void rocksdb_compactionfilter_set_ignore_snapshots(
    rocksdb_compactionfilter_t* compactionfilter, unsigned char argument1);
void rocksdb_flush_wal_with_options(rocksdb_t* db, const rocksdb_flushwaloptions_t* options, char** errptr);
rocksdb_env_t* rocksdb_create_default_env(void);
rocksdb_env_t* rocksdb_create_mem_env(void);
void rocksdb_env_set_background_threads(rocksdb_env_t* env, int n);
int rocksdb_env_get_background_threads(rocksdb_env_t* env);
void rocksdb_env_set_high_priority_background_threads(rocksdb_env_t* env, int n);
int rocksdb_env_get_high_priority_background_threads(rocksdb_env_t* env);
void rocksdb_env_set_low_priority_background_threads(rocksdb_env_t* env, int n);
int rocksdb_env_get_low_priority_background_threads(rocksdb_env_t* env);
void rocksdb_env_set_bottom_priority_background_threads(rocksdb_env_t* env, int n);
int rocksdb_env_get_bottom_priority_background_threads(rocksdb_env_t* env);
void rocksdb_env_join_all_threads(rocksdb_env_t* env);
void rocksdb_env_lower_thread_pool_io_priority(rocksdb_env_t* env);
void rocksdb_env_lower_high_priority_thread_pool_io_priority(rocksdb_env_t* env);
void rocksdb_env_lower_thread_pool_cpu_priority(rocksdb_env_t* env);
void rocksdb_env_lower_high_priority_thread_pool_cpu_priority(rocksdb_env_t* env);
void rocksdb_env_destroy(rocksdb_env_t* env);
void rocksdb_create_dir_if_missing(rocksdb_env_t* env, const char* path, char** errptr);
rocksdb_livefiles_t* rocksdb_livefiles_create(void);
const char* rocksdb_livefiles_column_family_name(const rocksdb_livefiles_t* livefiles, int index);
const char* rocksdb_livefiles_directory(const rocksdb_livefiles_t* livefiles, int index);
const char* rocksdb_livefiles_smallestkey(const rocksdb_livefiles_t* livefiles, int index, size_t* size);
const char* rocksdb_livefiles_largestkey(const rocksdb_livefiles_t* livefiles, int index, size_t* size);
uint64_t rocksdb_livefiles_smallest_seqno(const rocksdb_livefiles_t* livefiles, int index);
uint64_t rocksdb_livefiles_largest_seqno(const rocksdb_livefiles_t* livefiles, int index);
uint64_t rocksdb_livefiles_entries(const rocksdb_livefiles_t* livefiles, int index);
uint64_t rocksdb_livefiles_deletions(const rocksdb_livefiles_t* livefiles, int index);
rocksdb_livefile_t* rocksdb_livefile_create(void);
void rocksdb_livefile_set_column_family_name(rocksdb_livefile_t* livefile, const char* argument1);
void rocksdb_livefile_set_level(rocksdb_livefile_t* livefile, int argument1);
void rocksdb_livefile_set_name(rocksdb_livefile_t* livefile, const char* argument1);
void rocksdb_livefile_set_directory(rocksdb_livefile_t* livefile, const char* argument1);
void rocksdb_livefile_set_size(rocksdb_livefile_t* livefile, size_t argument1);
void rocksdb_livefile_set_smallest_key(rocksdb_livefile_t* livefile, const char* argument1, size_t argument2);
void rocksdb_livefile_set_largest_key(rocksdb_livefile_t* livefile, const char* argument1, size_t argument2);
void rocksdb_livefile_set_smallest_seqno(rocksdb_livefile_t* livefile, uint64_t argument1);
void rocksdb_livefile_set_largest_seqno(rocksdb_livefile_t* livefile, uint64_t argument1);
void rocksdb_livefile_set_num_entries(rocksdb_livefile_t* livefile, uint64_t argument1);
void rocksdb_livefile_set_num_deletions(rocksdb_livefile_t* livefile, uint64_t argument1);
void rocksdb_livefile_destroy(rocksdb_livefile_t* livefile);
void rocksdb_livefiles_add(rocksdb_livefiles_t* livefiles, rocksdb_livefile_t* livefile);
rocksdb_column_family_metadata_t* rocksdb_get_column_family_metadata(rocksdb_t* db);
rocksdb_column_family_metadata_t* rocksdb_get_column_family_metadata_cf(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family);
void rocksdb_column_family_metadata_destroy(rocksdb_column_family_metadata_t* cf_meta);
uint64_t rocksdb_column_family_metadata_get_size(rocksdb_column_family_metadata_t* cf_meta);
size_t rocksdb_column_family_metadata_get_file_count(rocksdb_column_family_metadata_t* cf_meta);
char* rocksdb_column_family_metadata_get_name(rocksdb_column_family_metadata_t* cf_meta);
size_t rocksdb_column_family_metadata_get_level_count(rocksdb_column_family_metadata_t* cf_meta);
rocksdb_level_metadata_t* rocksdb_column_family_metadata_get_level_metadata(
    rocksdb_column_family_metadata_t* cf_meta, size_t i);
void rocksdb_level_metadata_destroy(rocksdb_level_metadata_t* level_meta);
int rocksdb_level_metadata_get_level(rocksdb_level_metadata_t* level_meta);
uint64_t rocksdb_level_metadata_get_size(rocksdb_level_metadata_t* level_meta);
size_t rocksdb_level_metadata_get_file_count(rocksdb_level_metadata_t* level_meta);
rocksdb_sst_file_metadata_t* rocksdb_level_metadata_get_sst_file_metadata(
    rocksdb_level_metadata_t* level_meta, size_t i);
void rocksdb_sst_file_metadata_destroy(rocksdb_sst_file_metadata_t* file_meta);
char* rocksdb_sst_file_metadata_get_relative_filename(rocksdb_sst_file_metadata_t* file_meta);
char* rocksdb_sst_file_metadata_get_directory(rocksdb_sst_file_metadata_t* file_meta);
uint64_t rocksdb_sst_file_metadata_get_size(rocksdb_sst_file_metadata_t* file_meta);
char* rocksdb_sst_file_metadata_get_smallestkey(rocksdb_sst_file_metadata_t* file_meta, size_t* len);
char* rocksdb_sst_file_metadata_get_largestkey(rocksdb_sst_file_metadata_t* file_meta, size_t* len);
rocksdb_memory_consumers_t* rocksdb_memory_consumers_create(void);
void rocksdb_memory_consumers_add_db(rocksdb_memory_consumers_t* consumers, rocksdb_t* db);
void rocksdb_memory_consumers_add_cache(rocksdb_memory_consumers_t* consumers, rocksdb_cache_t* cache);
void rocksdb_memory_consumers_destroy(rocksdb_memory_consumers_t* consumers);
rocksdb_memory_usage_t* rocksdb_approximate_memory_usage_create(rocksdb_memory_consumers_t* consumers, char** errptr);
void rocksdb_approximate_memory_usage_destroy(rocksdb_memory_usage_t* usage);
uint64_t rocksdb_approximate_memory_usage_get_mem_table_total(rocksdb_memory_usage_t* memory_usage);
uint64_t rocksdb_approximate_memory_usage_get_mem_table_unflushed(rocksdb_memory_usage_t* memory_usage);
uint64_t rocksdb_approximate_memory_usage_get_mem_table_readers_total(rocksdb_memory_usage_t* memory_usage);
uint64_t rocksdb_approximate_memory_usage_get_cache_total(rocksdb_memory_usage_t* memory_usage);
void rocksdb_disable_manual_compaction(rocksdb_t* db);
void rocksdb_enable_manual_compaction(rocksdb_t* db);
rocksdb_pinnable_handle_t* rocksdb_get_pinned_v2(
    rocksdb_t* db, const rocksdb_readoptions_t* options, const char* key, size_t keylen, char** errptr);
rocksdb_pinnable_handle_t* rocksdb_get_pinned_cf_v2(
    rocksdb_t* db, const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t keylen, char** errptr);
const char* rocksdb_pinnable_handle_get_value(const rocksdb_pinnable_handle_t* handle, size_t* vallen);
void rocksdb_pinnable_handle_destroy(rocksdb_pinnable_handle_t* handle);
unsigned char rocksdb_get_into_buffer(
    rocksdb_t* db, const rocksdb_readoptions_t* options, const char* key, size_t keylen, char* buffer,
    size_t buffer_size, size_t* vallen, unsigned char* found, char** errptr);
unsigned char rocksdb_get_into_buffer_cf(
    rocksdb_t* db, const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t keylen, char* buffer, size_t buffer_size, size_t* vallen, unsigned char* found,
    char** errptr);
rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_bloom_format(double bits_per_key, bool original_format);
rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_ribbon_format(
    double bloom_equivalent_bits_per_key, int bloom_before_level);

#ifdef __cplusplus
}
#endif

#endif
