/* Options of single operations. A value that is not built makes the operation report it. */
#ifndef FERROCK_C_OPERATIONS_H
#define FERROCK_C_OPERATIONS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

rocksdb_size_approximation_options_t* rocksdb_size_approximation_options_create(void);
void rocksdb_size_approximation_options_destroy(rocksdb_size_approximation_options_t* options);
void rocksdb_set_options_cf(
    rocksdb_t* db, rocksdb_column_family_handle_t* handle, int count, const char* const keys[],
    const char* const values[], char** errptr);
void rocksdb_readoptions_set_read_tier(rocksdb_readoptions_t* opt, int v);
int rocksdb_readoptions_get_read_tier(rocksdb_readoptions_t* opt);
void rocksdb_readoptions_set_rate_limiter_priority(rocksdb_readoptions_t* opt, int v);
int rocksdb_readoptions_get_rate_limiter_priority(rocksdb_readoptions_t* opt);
void rocksdb_readoptions_set_value_size_soft_limit(rocksdb_readoptions_t* opt, uint64_t v);
uint64_t rocksdb_readoptions_get_value_size_soft_limit(rocksdb_readoptions_t* opt);
unsigned char rocksdb_readoptions_get_verify_checksums(rocksdb_readoptions_t* opt);
unsigned char rocksdb_readoptions_get_fill_cache(rocksdb_readoptions_t* opt);
void rocksdb_readoptions_set_ignore_range_deletions(rocksdb_readoptions_t* opt, unsigned char v);
unsigned char rocksdb_readoptions_get_ignore_range_deletions(rocksdb_readoptions_t* opt);
void rocksdb_readoptions_set_optimize_multiget_for_io(rocksdb_readoptions_t* opt, unsigned char v);
unsigned char rocksdb_readoptions_get_optimize_multiget_for_io(rocksdb_readoptions_t* opt);
void rocksdb_readoptions_set_max_skippable_internal_keys(rocksdb_readoptions_t* opt, uint64_t v);
uint64_t rocksdb_readoptions_get_max_skippable_internal_keys(rocksdb_readoptions_t* opt);
void rocksdb_readoptions_set_tailing(rocksdb_readoptions_t* opt, unsigned char v);
unsigned char rocksdb_readoptions_get_tailing(rocksdb_readoptions_t* opt);
unsigned char rocksdb_readoptions_get_total_order_seek(rocksdb_readoptions_t* opt);
void rocksdb_readoptions_set_auto_prefix_mode(rocksdb_readoptions_t* opt, unsigned char v);
unsigned char rocksdb_readoptions_get_auto_prefix_mode(rocksdb_readoptions_t* opt);
unsigned char rocksdb_readoptions_get_prefix_same_as_start(rocksdb_readoptions_t* opt);
void rocksdb_readoptions_set_pin_data(rocksdb_readoptions_t* opt, unsigned char v);
unsigned char rocksdb_readoptions_get_pin_data(rocksdb_readoptions_t* opt);
void rocksdb_readoptions_set_background_purge_on_iterator_cleanup(rocksdb_readoptions_t* opt, unsigned char v);
unsigned char rocksdb_readoptions_get_background_purge_on_iterator_cleanup(rocksdb_readoptions_t* opt);
void rocksdb_readoptions_set_allow_unprepared_value(rocksdb_readoptions_t* opt, unsigned char v);
unsigned char rocksdb_readoptions_get_allow_unprepared_value(rocksdb_readoptions_t* opt);
void rocksdb_readoptions_set_auto_refresh_iterator_with_snapshot(rocksdb_readoptions_t* opt, unsigned char v);
unsigned char rocksdb_readoptions_get_auto_refresh_iterator_with_snapshot(rocksdb_readoptions_t* opt);
void rocksdb_readoptions_set_io_activity(rocksdb_readoptions_t* opt, int v);
int rocksdb_readoptions_get_io_activity(rocksdb_readoptions_t* opt);
void rocksdb_readoptions_set_timestamp(rocksdb_readoptions_t* readoptions, const char* ts, size_t tslen);
void rocksdb_readoptions_set_iter_start_ts(rocksdb_readoptions_t* readoptions, const char* ts, size_t tslen);
void rocksdb_readoptions_set_merge_operand_count_threshold(rocksdb_readoptions_t* readoptions, size_t threshold);
void rocksdb_readoptions_clear_merge_operand_count_threshold(rocksdb_readoptions_t* readoptions);
unsigned char rocksdb_readoptions_has_merge_operand_count_threshold(rocksdb_readoptions_t* readoptions);
size_t rocksdb_readoptions_get_merge_operand_count_threshold(rocksdb_readoptions_t* readoptions);
void rocksdb_readoptions_set_request_id(
    rocksdb_readoptions_t* readoptions, const char* request_id, size_t request_id_len);
void rocksdb_readoptions_clear_request_id(rocksdb_readoptions_t* readoptions);
const char* rocksdb_readoptions_get_request_id(rocksdb_readoptions_t* readoptions, size_t* request_id_len);
void rocksdb_readoptions_set_table_filter(
    rocksdb_readoptions_t* readoptions, void* state, void (*destructor)(void*),
    rocksdb_readoptions_table_filter_cb table_filter);
void rocksdb_readoptions_clear_table_filter(rocksdb_readoptions_t* readoptions);
unsigned char rocksdb_readoptions_has_table_filter(const rocksdb_readoptions_t* readoptions);
void rocksdb_readoptions_set_table_index_factory_from_string(
    rocksdb_readoptions_t* readoptions, const char* value, size_t value_len, char** errptr);
void rocksdb_readoptions_clear_table_index_factory(rocksdb_readoptions_t* readoptions);
const char* rocksdb_readoptions_get_table_index_factory_name(
    const rocksdb_readoptions_t* readoptions, size_t* name_len);
void rocksdb_compactoptions_set_exclusive_manual_compaction(
    rocksdb_compactoptions_t* compactoptions, unsigned char argument1);
unsigned char rocksdb_compactoptions_get_exclusive_manual_compaction(rocksdb_compactoptions_t* compactoptions);
unsigned char rocksdb_compactoptions_get_bottommost_level_compaction(rocksdb_compactoptions_t* compactoptions);
void rocksdb_compactoptions_set_change_level(rocksdb_compactoptions_t* compactoptions, unsigned char argument1);
unsigned char rocksdb_compactoptions_get_change_level(rocksdb_compactoptions_t* compactoptions);
void rocksdb_compactoptions_set_target_level(rocksdb_compactoptions_t* compactoptions, int argument1);
int rocksdb_compactoptions_get_target_level(rocksdb_compactoptions_t* compactoptions);
void rocksdb_compactoptions_set_target_path_id(rocksdb_compactoptions_t* compactoptions, int argument1);
int rocksdb_compactoptions_get_target_path_id(rocksdb_compactoptions_t* compactoptions);
void rocksdb_compactoptions_set_allow_write_stall(rocksdb_compactoptions_t* compactoptions, unsigned char argument1);
unsigned char rocksdb_compactoptions_get_allow_write_stall(rocksdb_compactoptions_t* compactoptions);
void rocksdb_compactoptions_set_max_subcompactions(rocksdb_compactoptions_t* compactoptions, int argument1);
int rocksdb_compactoptions_get_max_subcompactions(rocksdb_compactoptions_t* compactoptions);
void rocksdb_compactoptions_set_full_history_ts_low(rocksdb_compactoptions_t* compactoptions, char* ts, size_t tslen);
rocksdb_flushwaloptions_t* rocksdb_flushwaloptions_create(void);
void rocksdb_flushwaloptions_destroy(rocksdb_flushwaloptions_t* options);
void rocksdb_wait_for_compact_options_set_abort_on_pause(rocksdb_wait_for_compact_options_t* opt, unsigned char v);
unsigned char rocksdb_wait_for_compact_options_get_abort_on_pause(rocksdb_wait_for_compact_options_t* opt);
void rocksdb_wait_for_compact_options_set_flush(rocksdb_wait_for_compact_options_t* opt, unsigned char v);
unsigned char rocksdb_wait_for_compact_options_get_flush(rocksdb_wait_for_compact_options_t* opt);
void rocksdb_wait_for_compact_options_set_close_db(rocksdb_wait_for_compact_options_t* opt, unsigned char v);
unsigned char rocksdb_wait_for_compact_options_get_close_db(rocksdb_wait_for_compact_options_t* opt);
void rocksdb_wait_for_compact_options_set_timeout(rocksdb_wait_for_compact_options_t* opt, uint64_t microseconds);
uint64_t rocksdb_wait_for_compact_options_get_timeout(rocksdb_wait_for_compact_options_t* opt);
unsigned char rocksdb_writeoptions_get_sync(rocksdb_writeoptions_t* opt);
unsigned char rocksdb_writeoptions_get_disable_WAL(rocksdb_writeoptions_t* opt);
void rocksdb_writeoptions_set_ignore_missing_column_families(rocksdb_writeoptions_t* opt, unsigned char v);
unsigned char rocksdb_writeoptions_get_ignore_missing_column_families(rocksdb_writeoptions_t* opt);
void rocksdb_writeoptions_set_no_slowdown(rocksdb_writeoptions_t* opt, unsigned char v);
unsigned char rocksdb_writeoptions_get_no_slowdown(rocksdb_writeoptions_t* opt);
void rocksdb_writeoptions_set_low_pri(rocksdb_writeoptions_t* opt, unsigned char v);
unsigned char rocksdb_writeoptions_get_low_pri(rocksdb_writeoptions_t* opt);
void rocksdb_writeoptions_set_memtable_insert_hint_per_batch(rocksdb_writeoptions_t* opt, unsigned char v);
unsigned char rocksdb_writeoptions_get_memtable_insert_hint_per_batch(rocksdb_writeoptions_t* opt);
void rocksdb_writeoptions_set_rate_limiter_priority(rocksdb_writeoptions_t* opt, int v);
int rocksdb_writeoptions_get_rate_limiter_priority(rocksdb_writeoptions_t* opt);
void rocksdb_writeoptions_set_protection_bytes_per_key(rocksdb_writeoptions_t* opt, size_t v);
size_t rocksdb_writeoptions_get_protection_bytes_per_key(rocksdb_writeoptions_t* opt);
void rocksdb_writeoptions_set_io_activity(rocksdb_writeoptions_t* opt, int v);
int rocksdb_writeoptions_get_io_activity(rocksdb_writeoptions_t* opt);
unsigned char rocksdb_flushoptions_get_wait(rocksdb_flushoptions_t* opt);
void rocksdb_flushoptions_set_allow_write_stall(rocksdb_flushoptions_t* opt, unsigned char v);
unsigned char rocksdb_flushoptions_get_allow_write_stall(rocksdb_flushoptions_t* opt);
void rocksdb_flushoptions_set_force_atomic_flush(rocksdb_flushoptions_t* opt, unsigned char v);
unsigned char rocksdb_flushoptions_get_force_atomic_flush(rocksdb_flushoptions_t* opt);
void rocksdb_flushoptions_set_listener_wait(rocksdb_flushoptions_t* opt, unsigned char v);
unsigned char rocksdb_flushoptions_get_listener_wait(rocksdb_flushoptions_t* opt);
void rocksdb_flushwaloptions_set_sync(rocksdb_flushwaloptions_t* opt, unsigned char v);
unsigned char rocksdb_flushwaloptions_get_sync(rocksdb_flushwaloptions_t* opt);
void rocksdb_flushwaloptions_set_rate_limiter_priority(rocksdb_flushwaloptions_t* opt, int v);
int rocksdb_flushwaloptions_get_rate_limiter_priority(rocksdb_flushwaloptions_t* opt);
void rocksdb_compactoptions_set_blob_garbage_collection_policy(rocksdb_compactoptions_t* opt, int v);
int rocksdb_compactoptions_get_blob_garbage_collection_policy(rocksdb_compactoptions_t* opt);
void rocksdb_compactoptions_set_blob_garbage_collection_age_cutoff(rocksdb_compactoptions_t* opt, double v);
double rocksdb_compactoptions_get_blob_garbage_collection_age_cutoff(rocksdb_compactoptions_t* opt);
void rocksdb_size_approximation_options_set_include_memtables(
    rocksdb_size_approximation_options_t* opt, unsigned char v);
unsigned char rocksdb_size_approximation_options_get_include_memtables(rocksdb_size_approximation_options_t* opt);
void rocksdb_size_approximation_options_set_include_files(rocksdb_size_approximation_options_t* opt, unsigned char v);
unsigned char rocksdb_size_approximation_options_get_include_files(rocksdb_size_approximation_options_t* opt);
void rocksdb_size_approximation_options_set_include_blob_files(
    rocksdb_size_approximation_options_t* opt, unsigned char v);
unsigned char rocksdb_size_approximation_options_get_include_blob_files(rocksdb_size_approximation_options_t* opt);
void rocksdb_size_approximation_options_set_files_size_error_margin(
    rocksdb_size_approximation_options_t* opt, double v);
double rocksdb_size_approximation_options_get_files_size_error_margin(rocksdb_size_approximation_options_t* opt);
void rocksdb_wait_for_compact_options_set_wait_for_purge(rocksdb_wait_for_compact_options_t* opt, unsigned char v);
unsigned char rocksdb_wait_for_compact_options_get_wait_for_purge(rocksdb_wait_for_compact_options_t* opt);

#ifdef __cplusplus
}
#endif

#endif
