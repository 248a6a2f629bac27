/*
 * The C interface of Ferrock: RocksDB's names, signatures and rules of ownership.
 *
 * To build a program that was written for RocksDB, put this directory's parent in front of RocksDB's headers and link
 * the library:
 *
 *     cc program.c -I<ferrock>/crates/capi/include -L<dir> -lferrock_capi -Wl,-rpath,<dir>
 *
 * "rocksdb/c.h" beside this directory includes this file. Every function of RocksDB's is declared, here or in the files
 * of "c" beside this one; those of features that are not built report it when they are called.
 *
 * Reading the declarations
 *
 *   handles     T* from ..._create is the caller's until ..._destroy. A null handle is never a crash.
 *   handed over an argument that a comment calls "taken" belongs to the callee from then on; do not destroy it.
 *   errptr      points to a char* that is null or came from malloc. On failure it is replaced by a text, status first
 *               ("IO error: ...", "Corruption: ...", "Invalid argument: ...", "Not implemented: ..."), for the caller
 *               to free. On success it is left alone.
 *   results     char* results come from malloc: end them with free or rocksdb_free. const char* results belong to the
 *               handle that they came from.
 *   setters     cannot fail. A value out of its bounds, or one that is not built, fails the open that uses it.
 *   booleans    unsigned char or int: 0 is false, all else is true.
 *   threads     databases, column families, caches and snapshots may be used by many threads at once, every other
 *               handle by one at a time.
 */
#ifndef FERROCK_C_H
#define FERROCK_C_H

#include "c/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Memory ----------------------------------------------------------------------------------------------------- */

void rocksdb_free(void* memory);

/* ---- Databases -------------------------------------------------------------------------------------------------- */

rocksdb_t* rocksdb_open(const rocksdb_options_t* options, const char* path, char** errptr);
rocksdb_t* rocksdb_open_for_read_only(const rocksdb_options_t* options, const char* path,
                                      unsigned char error_if_wal_file_exists, char** errptr);
/* One name, one options and one place for a handle for each of `count` families; "default" must be among them. */
rocksdb_t* rocksdb_open_column_families(const rocksdb_options_t* options, const char* path, int count,
                                        const char* const* names, const rocksdb_options_t* const* family_options,
                                        rocksdb_column_family_handle_t** handles, char** errptr);
rocksdb_t* rocksdb_open_for_read_only_column_families(const rocksdb_options_t* options, const char* path, int count,
                                                      const char* const* names,
                                                      const rocksdb_options_t* const* family_options,
                                                      rocksdb_column_family_handle_t** handles,
                                                      unsigned char error_if_wal_file_exists, char** errptr);
void rocksdb_close(rocksdb_t* db);
void rocksdb_destroy_db(const rocksdb_options_t* options, const char* path, char** errptr);
uint64_t rocksdb_get_latest_sequence_number(rocksdb_t* db);

/* ---- Column families -------------------------------------------------------------------------------------------- */

rocksdb_column_family_handle_t* rocksdb_create_column_family(rocksdb_t* db, const rocksdb_options_t* options,
                                                             const char* name, char** errptr);
void rocksdb_drop_column_family(rocksdb_t* db, rocksdb_column_family_handle_t* family, char** errptr);
rocksdb_column_family_handle_t* rocksdb_get_default_column_family_handle(rocksdb_t* db);
void rocksdb_column_family_handle_destroy(rocksdb_column_family_handle_t* family);
char** rocksdb_list_column_families(const rocksdb_options_t* options, const char* path, size_t* count, char** errptr);
void rocksdb_list_column_families_destroy(char** names, size_t count);

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

void rocksdb_put(rocksdb_t* db, const rocksdb_writeoptions_t* options, const char* key, size_t key_length,
                 const char* value, size_t value_length, char** errptr);
void rocksdb_put_cf(rocksdb_t* db, const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* family,
                    const char* key, size_t key_length, const char* value, size_t value_length, char** errptr);
void rocksdb_merge(rocksdb_t* db, const rocksdb_writeoptions_t* options, const char* key, size_t key_length,
                   const char* operand, size_t operand_length, char** errptr);
void rocksdb_merge_cf(rocksdb_t* db, const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* family,
                      const char* key, size_t key_length, const char* operand, size_t operand_length, char** errptr);
void rocksdb_delete(rocksdb_t* db, const rocksdb_writeoptions_t* options, const char* key, size_t key_length,
                    char** errptr);
void rocksdb_delete_cf(rocksdb_t* db, const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* family,
                       const char* key, size_t key_length, char** errptr);
/* For keys that were put exactly once since they were last removed. */
void rocksdb_singledelete(rocksdb_t* db, const rocksdb_writeoptions_t* options, const char* key, size_t key_length,
                          char** errptr);
void rocksdb_singledelete_cf(rocksdb_t* db, const rocksdb_writeoptions_t* options,
                             rocksdb_column_family_handle_t* family, const char* key, size_t key_length,
                             char** errptr);
/* From `start` up to, not including, `end`. */
void rocksdb_delete_range_cf(rocksdb_t* db, const rocksdb_writeoptions_t* options,
                             rocksdb_column_family_handle_t* family, const char* start, size_t start_length,
                             const char* end, size_t end_length, char** errptr);
void rocksdb_write(rocksdb_t* db, const rocksdb_writeoptions_t* options, rocksdb_writebatch_t* batch, char** errptr);

rocksdb_writebatch_t* rocksdb_writebatch_create(void);
rocksdb_writebatch_t* rocksdb_writebatch_create_from(const char* data, size_t length);
void rocksdb_writebatch_destroy(rocksdb_writebatch_t* batch);
void rocksdb_writebatch_clear(rocksdb_writebatch_t* batch);
int rocksdb_writebatch_count(rocksdb_writebatch_t* batch);
const char* rocksdb_writebatch_data(rocksdb_writebatch_t* batch, size_t* length);
void rocksdb_writebatch_put(rocksdb_writebatch_t* batch, const char* key, size_t key_length, const char* value,
                            size_t value_length);
void rocksdb_writebatch_put_cf(rocksdb_writebatch_t* batch, rocksdb_column_family_handle_t* family, const char* key,
                               size_t key_length, const char* value, size_t value_length);
void rocksdb_writebatch_merge(rocksdb_writebatch_t* batch, const char* key, size_t key_length, const char* operand,
                              size_t operand_length);
void rocksdb_writebatch_merge_cf(rocksdb_writebatch_t* batch, rocksdb_column_family_handle_t* family, const char* key,
                                 size_t key_length, const char* operand, size_t operand_length);
void rocksdb_writebatch_delete(rocksdb_writebatch_t* batch, const char* key, size_t key_length);
void rocksdb_writebatch_delete_cf(rocksdb_writebatch_t* batch, rocksdb_column_family_handle_t* family, const char* key,
                                  size_t key_length);
void rocksdb_writebatch_delete_range_cf(rocksdb_writebatch_t* batch, rocksdb_column_family_handle_t* family,
                                        const char* start, size_t start_length, const char* end, size_t end_length);
void rocksdb_writebatch_put_log_data(rocksdb_writebatch_t* batch, const char* data, size_t length);

rocksdb_writeoptions_t* rocksdb_writeoptions_create(void);
void rocksdb_writeoptions_destroy(rocksdb_writeoptions_t* options);
void rocksdb_writeoptions_set_sync(rocksdb_writeoptions_t* options, unsigned char sync);
void rocksdb_writeoptions_disable_WAL(rocksdb_writeoptions_t* options, int disable);

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

/* Null and length 0 when there is no value. */
char* rocksdb_get(rocksdb_t* db, const rocksdb_readoptions_t* options, const char* key, size_t key_length,
                  size_t* value_length, char** errptr);
char* rocksdb_get_cf(rocksdb_t* db, const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* family,
                     const char* key, size_t key_length, size_t* value_length, char** errptr);
/* The value where it lies, without a copy; null when there is none. */
rocksdb_pinnableslice_t* rocksdb_get_pinned(rocksdb_t* db, const rocksdb_readoptions_t* options, const char* key,
                                            size_t key_length, char** errptr);
rocksdb_pinnableslice_t* rocksdb_get_pinned_cf(rocksdb_t* db, const rocksdb_readoptions_t* options,
                                               rocksdb_column_family_handle_t* family, const char* key,
                                               size_t key_length, char** errptr);
const char* rocksdb_pinnableslice_value(const rocksdb_pinnableslice_t* value, size_t* length);
void rocksdb_pinnableslice_destroy(rocksdb_pinnableslice_t* value);
/* Every element of the three arrays of results is written: value and error of a key that is not there are null. */
void rocksdb_multi_get(rocksdb_t* db, const rocksdb_readoptions_t* options, size_t count, const char* const* keys,
                       const size_t* key_lengths, char** values, size_t* value_lengths, char** errors);
void rocksdb_multi_get_cf(rocksdb_t* db, const rocksdb_readoptions_t* options,
                          const rocksdb_column_family_handle_t* const* families, size_t count,
                          const char* const* keys, const size_t* key_lengths, char** values, size_t* value_lengths,
                          char** errors);
void rocksdb_batched_multi_get_cf(rocksdb_t* db, const rocksdb_readoptions_t* options,
                                  rocksdb_column_family_handle_t* family, size_t count, const char* const* keys,
                                  const size_t* key_lengths, rocksdb_pinnableslice_t** values, char** errors,
                                  const bool sorted_input);

rocksdb_iterator_t* rocksdb_create_iterator(rocksdb_t* db, const rocksdb_readoptions_t* options);
rocksdb_iterator_t* rocksdb_create_iterator_cf(rocksdb_t* db, const rocksdb_readoptions_t* options,
                                               rocksdb_column_family_handle_t* family);
void rocksdb_iter_destroy(rocksdb_iterator_t* iterator);
unsigned char rocksdb_iter_valid(const rocksdb_iterator_t* iterator);
void rocksdb_iter_seek_to_first(rocksdb_iterator_t* iterator);
void rocksdb_iter_seek_to_last(rocksdb_iterator_t* iterator);
void rocksdb_iter_seek(rocksdb_iterator_t* iterator, const char* key, size_t key_length);
void rocksdb_iter_seek_for_prev(rocksdb_iterator_t* iterator, const char* key, size_t key_length);
void rocksdb_iter_next(rocksdb_iterator_t* iterator);
void rocksdb_iter_prev(rocksdb_iterator_t* iterator);
/* Good until the iterator moves. */
const char* rocksdb_iter_key(const rocksdb_iterator_t* iterator, size_t* length);
const char* rocksdb_iter_value(const rocksdb_iterator_t* iterator, size_t* length);
void rocksdb_iter_get_error(const rocksdb_iterator_t* iterator, char** errptr);
/* From now on over the present state, without a snapshot; seek before using it again. */
void rocksdb_iter_refresh(const rocksdb_iterator_t* iterator, char** errptr);

const rocksdb_snapshot_t* rocksdb_create_snapshot(rocksdb_t* db);
void rocksdb_release_snapshot(rocksdb_t* db, const rocksdb_snapshot_t* snapshot);
uint64_t rocksdb_snapshot_get_sequence_number(const rocksdb_snapshot_t* snapshot);

rocksdb_readoptions_t* rocksdb_readoptions_create(void);
void rocksdb_readoptions_destroy(rocksdb_readoptions_t* options);
void rocksdb_readoptions_set_verify_checksums(rocksdb_readoptions_t* options, unsigned char verify);
void rocksdb_readoptions_set_fill_cache(rocksdb_readoptions_t* options, unsigned char fill);
void rocksdb_readoptions_set_snapshot(rocksdb_readoptions_t* options, const rocksdb_snapshot_t* snapshot);
/* The bytes of bounds are copied; a null pointer takes a bound away. */
void rocksdb_readoptions_set_iterate_lower_bound(rocksdb_readoptions_t* options, const char* key, size_t key_length);
void rocksdb_readoptions_set_iterate_upper_bound(rocksdb_readoptions_t* options, const char* key, size_t key_length);
void rocksdb_readoptions_set_prefix_same_as_start(rocksdb_readoptions_t* options, unsigned char same);
void rocksdb_readoptions_set_total_order_seek(rocksdb_readoptions_t* options, unsigned char total);
void rocksdb_readoptions_set_readahead_size(rocksdb_readoptions_t* options, size_t bytes);
size_t rocksdb_readoptions_get_readahead_size(rocksdb_readoptions_t* options);
/* Microseconds since 1970, and for one request: after them, what would have to ask a file ends in "Operation timed out". */
void rocksdb_readoptions_set_deadline(rocksdb_readoptions_t* options, uint64_t microseconds);
uint64_t rocksdb_readoptions_get_deadline(rocksdb_readoptions_t* options);
void rocksdb_readoptions_set_io_timeout(rocksdb_readoptions_t* options, uint64_t microseconds);
uint64_t rocksdb_readoptions_get_io_timeout(rocksdb_readoptions_t* options);
void rocksdb_readoptions_set_async_io(rocksdb_readoptions_t* options, unsigned char value);
unsigned char rocksdb_readoptions_get_async_io(rocksdb_readoptions_t* options);
void rocksdb_readoptions_set_adaptive_readahead(rocksdb_readoptions_t* options, unsigned char value);
unsigned char rocksdb_readoptions_get_adaptive_readahead(rocksdb_readoptions_t* options);
void rocksdb_readoptions_set_auto_readahead_size(rocksdb_readoptions_t* options, unsigned char value);
unsigned char rocksdb_readoptions_get_auto_readahead_size(rocksdb_readoptions_t* options);

/* ---- Maintenance ------------------------------------------------------------------------------------------------ */

void rocksdb_flush(rocksdb_t* db, const rocksdb_flushoptions_t* options, char** errptr);
void rocksdb_flush_cf(rocksdb_t* db, const rocksdb_flushoptions_t* options, rocksdb_column_family_handle_t* family,
                      char** errptr);
void rocksdb_flush_wal(rocksdb_t* db, unsigned char sync, char** errptr);
rocksdb_flushoptions_t* rocksdb_flushoptions_create(void);
void rocksdb_flushoptions_destroy(rocksdb_flushoptions_t* options);
void rocksdb_flushoptions_set_wait(rocksdb_flushoptions_t* options, unsigned char wait);

/* A null pointer stands for the first key, and for the last. */
void rocksdb_compact_range(rocksdb_t* db, const char* start, size_t start_length, const char* limit,
                           size_t limit_length);
void rocksdb_compact_range_cf(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* start,
                              size_t start_length, const char* limit, size_t limit_length);
void rocksdb_compact_range_opt(rocksdb_t* db, rocksdb_compactoptions_t* options, const char* start,
                               size_t start_length, const char* limit, size_t limit_length);
rocksdb_compactoptions_t* rocksdb_compactoptions_create(void);
void rocksdb_compactoptions_destroy(rocksdb_compactoptions_t* options);
/* 0 skip, 1 if there is a compaction filter, 2 force, 3 force for files that this compaction did not write */
void rocksdb_compactoptions_set_bottommost_level_compaction(rocksdb_compactoptions_t* options, unsigned char value);

void rocksdb_wait_for_compact(rocksdb_t* db, rocksdb_wait_for_compact_options_t* options, char** errptr);
rocksdb_wait_for_compact_options_t* rocksdb_wait_for_compact_options_create(void);
void rocksdb_wait_for_compact_options_destroy(rocksdb_wait_for_compact_options_t* options);
/* Pauses are counted; work goes on when each was taken back. */
void rocksdb_pause_background_work(rocksdb_t* db, char** errptr);
void rocksdb_continue_background_work(rocksdb_t* db, char** errptr);
void rocksdb_verify_checksum(rocksdb_t* db, char** errptr);

char* rocksdb_property_value(rocksdb_t* db, const char* name);
char* rocksdb_property_value_cf(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* name);
/* 0 when there is such a property, and -1 when not. */
int rocksdb_property_int(rocksdb_t* db, const char* name, uint64_t* value);
void rocksdb_approximate_sizes(rocksdb_t* db, int count, const char* const* starts, const size_t* start_lengths,
                               const char* const* limits, const size_t* limit_lengths, uint64_t* sizes,
                               char** errptr);

const rocksdb_livefiles_t* rocksdb_livefiles(rocksdb_t* db);
void rocksdb_livefiles_destroy(const rocksdb_livefiles_t* files);
int rocksdb_livefiles_count(const rocksdb_livefiles_t* files);
const char* rocksdb_livefiles_name(const rocksdb_livefiles_t* files, int index);
int rocksdb_livefiles_level(const rocksdb_livefiles_t* files, int index);
size_t rocksdb_livefiles_size(const rocksdb_livefiles_t* files, int index);

/* ---- Options of databases and column families ------------------------------------------------------------------- */

rocksdb_options_t* rocksdb_options_create(void);
void rocksdb_options_destroy(rocksdb_options_t* options);
void rocksdb_get_options_from_string(const rocksdb_options_t* base, const char* text, rocksdb_options_t* result,
                                     char** errptr);
/* `env` must be null. `cache` may be; given, it is the block cache of every family. */
void rocksdb_load_latest_options(const char* path, rocksdb_env_t* env, bool ignore_unknown_options,
                                 rocksdb_cache_t* cache, rocksdb_options_t** db_options, size_t* count, char*** names,
                                 rocksdb_options_t*** family_options, char** errptr);
void rocksdb_load_latest_options_destroy(rocksdb_options_t* db_options, char** names,
                                         rocksdb_options_t** family_options, size_t count);

void rocksdb_options_set_create_if_missing(rocksdb_options_t* options, unsigned char value);
void rocksdb_options_set_create_missing_column_families(rocksdb_options_t* options, unsigned char value);
void rocksdb_options_set_paranoid_checks(rocksdb_options_t* options, unsigned char value);
void rocksdb_options_set_max_open_files(rocksdb_options_t* options, int value);
void rocksdb_options_set_max_background_jobs(rocksdb_options_t* options, int value);
void rocksdb_options_set_max_total_wal_size(rocksdb_options_t* options, uint64_t value);
void rocksdb_options_set_manual_wal_flush(rocksdb_options_t* options, unsigned char value);
void rocksdb_options_set_use_direct_reads(rocksdb_options_t* options, unsigned char value);
void rocksdb_options_set_use_direct_io_for_flush_and_compaction(rocksdb_options_t* options, unsigned char value);
void rocksdb_options_set_wal_recovery_mode(rocksdb_options_t* options, int value);
void rocksdb_options_set_statistics_level(rocksdb_options_t* options, int value);

void rocksdb_options_set_write_buffer_size(rocksdb_options_t* options, size_t value);
void rocksdb_options_set_max_write_buffer_number(rocksdb_options_t* options, int value);
void rocksdb_options_set_level0_file_num_compaction_trigger(rocksdb_options_t* options, int value);
void rocksdb_options_set_level0_slowdown_writes_trigger(rocksdb_options_t* options, int value);
void rocksdb_options_set_level0_stop_writes_trigger(rocksdb_options_t* options, int value);
void rocksdb_options_set_max_bytes_for_level_base(rocksdb_options_t* options, uint64_t value);
void rocksdb_options_set_level_compaction_dynamic_level_bytes(rocksdb_options_t* options, unsigned char value);
void rocksdb_options_set_target_file_size_base(rocksdb_options_t* options, uint64_t value);
void rocksdb_options_set_compaction_style(rocksdb_options_t* options, int value);
void rocksdb_options_set_disable_auto_compactions(rocksdb_options_t* options, int value);
void rocksdb_options_set_force_consistency_checks(rocksdb_options_t* options, unsigned char value);
void rocksdb_options_set_compression(rocksdb_options_t* options, int value);
void rocksdb_options_set_compression_per_level(rocksdb_options_t* options, const int* values, size_t count);
void rocksdb_options_set_bottommost_compression(rocksdb_options_t* options, int value);
void rocksdb_options_set_compression_options(rocksdb_options_t* options, int window_bits, int level, int strategy,
                                             int max_dict_bytes);
void rocksdb_options_set_compression_options_zstd_max_train_bytes(rocksdb_options_t* options, int value);
void rocksdb_options_set_compression_options_max_dict_buffer_bytes(rocksdb_options_t* options, uint64_t value);
void rocksdb_options_set_compression_options_use_zstd_dict_trainer(rocksdb_options_t* options, unsigned char value);
void rocksdb_options_set_compression_options_parallel_threads(rocksdb_options_t* options, int value);
void rocksdb_options_set_bottommost_compression_options(rocksdb_options_t* options, int window_bits, int level,
                                                        int strategy, int max_dict_bytes, unsigned char enabled);
void rocksdb_options_set_bottommost_compression_options_zstd_max_train_bytes(
    rocksdb_options_t* options, int value, unsigned char enabled);
void rocksdb_options_set_bottommost_compression_options_max_dict_buffer_bytes(
    rocksdb_options_t* options, uint64_t value, unsigned char enabled);
void rocksdb_options_set_bottommost_compression_options_use_zstd_dict_trainer(
    rocksdb_options_t* options, unsigned char value, unsigned char enabled);
int rocksdb_options_get_compression(rocksdb_options_t* options);
int rocksdb_options_get_bottommost_compression(rocksdb_options_t* options);
int rocksdb_options_get_compression_options_zstd_max_train_bytes(rocksdb_options_t* options);
uint64_t rocksdb_options_get_compression_options_max_dict_buffer_bytes(rocksdb_options_t* options);
int rocksdb_options_get_compression_options_parallel_threads(rocksdb_options_t* options);
unsigned char rocksdb_options_get_compression_options_use_zstd_dict_trainer(rocksdb_options_t* options);
unsigned char rocksdb_options_get_bottommost_compression_options_use_zstd_dict_trainer(rocksdb_options_t* options);
void rocksdb_options_set_optimize_filters_for_hits(rocksdb_options_t* options, int value);
unsigned char rocksdb_options_get_optimize_filters_for_hits(rocksdb_options_t* options);
void rocksdb_options_set_memtable_prefix_bloom_size_ratio(rocksdb_options_t* options, double value);
double rocksdb_options_get_memtable_prefix_bloom_size_ratio(rocksdb_options_t* options);
void rocksdb_options_set_memtable_whole_key_filtering(rocksdb_options_t* options, unsigned char value);
unsigned char rocksdb_options_get_memtable_whole_key_filtering(rocksdb_options_t* options);
/* Copied: */
void rocksdb_options_set_block_based_table_factory(rocksdb_options_t* options,
                                                   rocksdb_block_based_table_options_t* table_options);
/* Stay the caller's, and must outlive the databases opened with them: */
void rocksdb_options_set_comparator(rocksdb_options_t* options, rocksdb_comparator_t* comparator);
void rocksdb_options_set_compaction_filter(rocksdb_options_t* options, rocksdb_compactionfilter_t* filter);
/* Taken: */
void rocksdb_options_set_merge_operator(rocksdb_options_t* options, rocksdb_mergeoperator_t* merge_operator);
void rocksdb_options_set_prefix_extractor(rocksdb_options_t* options, rocksdb_slicetransform_t* extractor);
void rocksdb_options_set_uint64add_merge_operator(rocksdb_options_t* options);

/* ---- Options of tables ------------------------------------------------------------------------------------------ */

rocksdb_block_based_table_options_t* rocksdb_block_based_options_create(void);
void rocksdb_block_based_options_destroy(rocksdb_block_based_table_options_t* options);
void rocksdb_block_based_options_set_block_size(rocksdb_block_based_table_options_t* options, size_t value);
void rocksdb_block_based_options_set_block_restart_interval(rocksdb_block_based_table_options_t* options, int value);
void rocksdb_block_based_options_set_metadata_block_size(rocksdb_block_based_table_options_t* options, uint64_t value);
void rocksdb_block_based_options_set_partition_filters(rocksdb_block_based_table_options_t* options,
                                                       unsigned char value);
void rocksdb_block_based_options_set_format_version(rocksdb_block_based_table_options_t* options, int value);
void rocksdb_block_based_options_set_checksum(rocksdb_block_based_table_options_t* options, char value);
void rocksdb_block_based_options_set_index_type(rocksdb_block_based_table_options_t* options, int value);
void rocksdb_block_based_options_set_data_block_index_type(rocksdb_block_based_table_options_t* options, int value);
void rocksdb_block_based_options_set_data_block_hash_ratio(rocksdb_block_based_table_options_t* options, double value);
void rocksdb_block_based_options_set_whole_key_filtering(rocksdb_block_based_table_options_t* options,
                                                         unsigned char value);
void rocksdb_block_based_options_set_no_block_cache(rocksdb_block_based_table_options_t* options, unsigned char value);
void rocksdb_block_based_options_set_cache_index_and_filter_blocks(rocksdb_block_based_table_options_t* options,
                                                                   unsigned char value);
void rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(
    rocksdb_block_based_table_options_t* options, unsigned char value);
void rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(
    rocksdb_block_based_table_options_t* options, unsigned char value);
void rocksdb_block_based_options_set_pin_top_level_index_and_filter(rocksdb_block_based_table_options_t* options,
                                                                    unsigned char value);
void rocksdb_block_based_options_set_block_size_deviation(rocksdb_block_based_table_options_t* options, int value);
void rocksdb_block_based_options_set_index_block_restart_interval(
    rocksdb_block_based_table_options_t* options, int value);
void rocksdb_block_based_options_set_decouple_partitioned_filters(
    rocksdb_block_based_table_options_t* options, unsigned char value);
void rocksdb_block_based_options_set_optimize_filters_for_memory(
    rocksdb_block_based_table_options_t* options, unsigned char value);
void rocksdb_block_based_options_set_detect_filter_construct_corruption(
    rocksdb_block_based_table_options_t* options, unsigned char value);
void rocksdb_block_based_options_set_enable_index_compression(
    rocksdb_block_based_table_options_t* options, unsigned char value);
void rocksdb_block_based_options_set_use_delta_encoding(rocksdb_block_based_table_options_t* options,
                                                        unsigned char value);
void rocksdb_block_based_options_set_verify_compression(rocksdb_block_based_table_options_t* options,
                                                        unsigned char value);
void rocksdb_block_based_options_set_block_align(rocksdb_block_based_table_options_t* options, unsigned char value);
void rocksdb_block_based_options_set_super_block_alignment_size(
    rocksdb_block_based_table_options_t* options, size_t value);
void rocksdb_block_based_options_set_super_block_alignment_space_overhead_ratio(
    rocksdb_block_based_table_options_t* options, size_t value);
void rocksdb_block_based_options_set_separate_key_value_in_data_block(
    rocksdb_block_based_table_options_t* options, unsigned char value);
void rocksdb_block_based_options_set_uniform_cv_threshold(rocksdb_block_based_table_options_t* options, double value);
void rocksdb_block_based_options_set_data_block_hash_table_util_ratio(
    rocksdb_block_based_table_options_t* options, double value);
void rocksdb_block_based_options_set_max_auto_readahead_size(
    rocksdb_block_based_table_options_t* options, size_t value);
void rocksdb_block_based_options_set_initial_auto_readahead_size(
    rocksdb_block_based_table_options_t* options, size_t value);
void rocksdb_block_based_options_set_num_file_reads_for_auto_readahead(
    rocksdb_block_based_table_options_t* options, uint64_t value);
void rocksdb_block_based_options_set_read_amp_bytes_per_bit(rocksdb_block_based_table_options_t* options,
                                                            uint32_t value);
void rocksdb_block_based_options_set_use_udi_as_primary_index(
    rocksdb_block_based_table_options_t* options, unsigned char value);
void rocksdb_block_based_options_set_fail_if_no_udi_on_open(rocksdb_block_based_table_options_t* options,
                                                            unsigned char value);
void rocksdb_block_based_options_set_index_shortening(rocksdb_block_based_table_options_t* options, int value);
void rocksdb_block_based_options_set_index_block_search_type(rocksdb_block_based_table_options_t* options, int value);
void rocksdb_block_based_options_set_prepopulate_block_cache(rocksdb_block_based_table_options_t* options, int value);
void rocksdb_block_based_options_set_top_level_index_pinning_tier(
    rocksdb_block_based_table_options_t* options, int value);
void rocksdb_block_based_options_set_partition_pinning_tier(rocksdb_block_based_table_options_t* options, int value);
void rocksdb_block_based_options_set_unpartitioned_pinning_tier(
    rocksdb_block_based_table_options_t* options, int value);
uint64_t rocksdb_block_based_options_get_block_size(rocksdb_block_based_table_options_t* options);
int rocksdb_block_based_options_get_block_restart_interval(rocksdb_block_based_table_options_t* options);
uint64_t rocksdb_block_based_options_get_metadata_block_size(rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_partition_filters(rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_no_block_cache(rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_whole_key_filtering(rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_cache_index_and_filter_blocks(
    rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_cache_index_and_filter_blocks_with_high_priority(
    rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_pin_l0_filter_and_index_blocks_in_cache(
    rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_pin_top_level_index_and_filter(
    rocksdb_block_based_table_options_t* options);
uint32_t rocksdb_block_based_options_get_format_version(rocksdb_block_based_table_options_t* options);
int rocksdb_block_based_options_get_block_size_deviation(rocksdb_block_based_table_options_t* options);
int rocksdb_block_based_options_get_index_block_restart_interval(rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_decouple_partitioned_filters(
    rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_optimize_filters_for_memory(
    rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_detect_filter_construct_corruption(
    rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_enable_index_compression(rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_use_delta_encoding(rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_verify_compression(rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_block_align(rocksdb_block_based_table_options_t* options);
size_t rocksdb_block_based_options_get_super_block_alignment_size(rocksdb_block_based_table_options_t* options);
size_t rocksdb_block_based_options_get_super_block_alignment_space_overhead_ratio(
    rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_separate_key_value_in_data_block(
    rocksdb_block_based_table_options_t* options);
double rocksdb_block_based_options_get_uniform_cv_threshold(rocksdb_block_based_table_options_t* options);
double rocksdb_block_based_options_get_data_block_hash_table_util_ratio(rocksdb_block_based_table_options_t* options);
size_t rocksdb_block_based_options_get_max_auto_readahead_size(rocksdb_block_based_table_options_t* options);
size_t rocksdb_block_based_options_get_initial_auto_readahead_size(rocksdb_block_based_table_options_t* options);
uint64_t rocksdb_block_based_options_get_num_file_reads_for_auto_readahead(
    rocksdb_block_based_table_options_t* options);
uint32_t rocksdb_block_based_options_get_read_amp_bytes_per_bit(rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_use_udi_as_primary_index(rocksdb_block_based_table_options_t* options);
unsigned char rocksdb_block_based_options_get_fail_if_no_udi_on_open(rocksdb_block_based_table_options_t* options);
int rocksdb_block_based_options_get_checksum(rocksdb_block_based_table_options_t* options);
int rocksdb_block_based_options_get_index_type(rocksdb_block_based_table_options_t* options);
int rocksdb_block_based_options_get_data_block_index_type(rocksdb_block_based_table_options_t* options);
int rocksdb_block_based_options_get_index_shortening(rocksdb_block_based_table_options_t* options);
int rocksdb_block_based_options_get_index_block_search_type(rocksdb_block_based_table_options_t* options);
int rocksdb_block_based_options_get_prepopulate_block_cache(rocksdb_block_based_table_options_t* options);
/* Always an error: no user-defined index is built. */
void rocksdb_block_based_options_set_user_defined_index_factory_from_string(
    rocksdb_block_based_table_options_t* options, const char* value, size_t value_length, char** errptr);
void rocksdb_block_based_options_clear_user_defined_index_factory(rocksdb_block_based_table_options_t* options);
const char* rocksdb_block_based_options_get_user_defined_index_factory_name(
    const rocksdb_block_based_table_options_t* options, size_t* name_length);
/* Shared; the caller's handle may be destroyed at any time: */
void rocksdb_block_based_options_set_block_cache(rocksdb_block_based_table_options_t* options, rocksdb_cache_t* cache);
/* Taken: */
void rocksdb_block_based_options_set_filter_policy(rocksdb_block_based_table_options_t* options,
                                                   rocksdb_filterpolicy_t* policy);

/* All of them are the one kind of cache there is. A read that finds no room over a strict limit fails with
 * "Operation aborted: Memory limit reached: ...". */
rocksdb_cache_t* rocksdb_cache_create_lru(size_t capacity);
rocksdb_cache_t* rocksdb_cache_create_lru_with_strict_capacity_limit(size_t capacity);
rocksdb_cache_t* rocksdb_cache_create_lru_opts(const rocksdb_lru_cache_options_t* options);
rocksdb_cache_t* rocksdb_cache_create_hyper_clock(size_t capacity, size_t estimated_entry_charge);
rocksdb_cache_t* rocksdb_cache_create_hyper_clock_opts(const rocksdb_hyper_clock_cache_options_t* options);
void rocksdb_cache_destroy(rocksdb_cache_t* cache);
void rocksdb_cache_disown_data(rocksdb_cache_t* cache);
void rocksdb_cache_set_capacity(rocksdb_cache_t* cache, size_t capacity);
size_t rocksdb_cache_get_capacity(const rocksdb_cache_t* cache);
size_t rocksdb_cache_get_usage(const rocksdb_cache_t* cache);
size_t rocksdb_cache_get_pinned_usage(const rocksdb_cache_t* cache);
size_t rocksdb_cache_get_table_address_count(const rocksdb_cache_t* cache);
size_t rocksdb_cache_get_occupancy_count(const rocksdb_cache_t* cache);

rocksdb_lru_cache_options_t* rocksdb_lru_cache_options_create(void);
void rocksdb_lru_cache_options_destroy(rocksdb_lru_cache_options_t* options);
void rocksdb_lru_cache_options_set_capacity(rocksdb_lru_cache_options_t* options, size_t capacity);
void rocksdb_lru_cache_options_set_num_shard_bits(rocksdb_lru_cache_options_t* options, int bits);
rocksdb_hyper_clock_cache_options_t* rocksdb_hyper_clock_cache_options_create(size_t capacity,
                                                                              size_t estimated_entry_charge);
void rocksdb_hyper_clock_cache_options_destroy(rocksdb_hyper_clock_cache_options_t* options);
void rocksdb_hyper_clock_cache_options_set_capacity(rocksdb_hyper_clock_cache_options_t* options, size_t capacity);
void rocksdb_hyper_clock_cache_options_set_estimated_entry_charge(rocksdb_hyper_clock_cache_options_t* options,
                                                                  size_t estimated_entry_charge);
void rocksdb_hyper_clock_cache_options_set_num_shard_bits(rocksdb_hyper_clock_cache_options_t* options, int bits);

/* Bounds the memory of the memtables of every database that is opened with it. */
rocksdb_write_buffer_manager_t* rocksdb_write_buffer_manager_create(size_t buffer_size, bool allow_stall);
rocksdb_write_buffer_manager_t* rocksdb_write_buffer_manager_create_with_cache(size_t buffer_size,
                                                                               const rocksdb_cache_t* cache,
                                                                               bool allow_stall);
void rocksdb_write_buffer_manager_destroy(rocksdb_write_buffer_manager_t* manager);
bool rocksdb_write_buffer_manager_enabled(rocksdb_write_buffer_manager_t* manager);
bool rocksdb_write_buffer_manager_cost_to_cache(rocksdb_write_buffer_manager_t* manager);
size_t rocksdb_write_buffer_manager_memory_usage(rocksdb_write_buffer_manager_t* manager);
size_t rocksdb_write_buffer_manager_mutable_memtable_memory_usage(rocksdb_write_buffer_manager_t* manager);
size_t rocksdb_write_buffer_manager_dummy_entries_in_cache_usage(rocksdb_write_buffer_manager_t* manager);
size_t rocksdb_write_buffer_manager_buffer_size(rocksdb_write_buffer_manager_t* manager);
void rocksdb_write_buffer_manager_set_buffer_size(rocksdb_write_buffer_manager_t* manager, size_t size);
void rocksdb_write_buffer_manager_set_allow_stall(rocksdb_write_buffer_manager_t* manager, bool allow);
void rocksdb_options_set_write_buffer_manager(rocksdb_options_t* options, rocksdb_write_buffer_manager_t* manager);

rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_bloom(double bits_per_key);
rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_bloom_full(double bits_per_key);
rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_ribbon(double bloom_equivalent_bits_per_key);
rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_ribbon_hybrid(double bloom_equivalent_bits_per_key,
                                                                  int bloom_before_level);
void rocksdb_filterpolicy_destroy(rocksdb_filterpolicy_t* policy);

/* ---- Components made of callbacks -------------------------------------------------------------------------------
 * Callbacks get `state`, may run on any thread and by many at once, and must not throw. `destructor` runs once, when
 * the component and the last database that uses it are gone. `name` is asked for when the component is created.
 */

rocksdb_comparator_t* rocksdb_comparator_create(void* state, void (*destructor)(void* state),
                                                int (*compare)(void* state, const char* a, size_t a_length,
                                                               const char* b, size_t b_length),
                                                const char* (*name)(void* state));
void rocksdb_comparator_destroy(rocksdb_comparator_t* comparator);

/* The merge callbacks give a result and its length, or set *success to 0. `delete_value` ends results; without it, free
 * does. `existing` is null when there is no value yet. Operands are oldest first. */
rocksdb_mergeoperator_t* rocksdb_mergeoperator_create(
    void* state, void (*destructor)(void* state),
    char* (*full_merge)(void* state, const char* key, size_t key_length, const char* existing, size_t existing_length,
                        const char* const* operands, const size_t* operand_lengths, int operand_count,
                        unsigned char* success, size_t* result_length),
    char* (*partial_merge)(void* state, const char* key, size_t key_length, const char* const* operands,
                           const size_t* operand_lengths, int operand_count, unsigned char* success,
                           size_t* result_length),
    void (*delete_value)(void* state, const char* value, size_t value_length), const char* (*name)(void* state));
void rocksdb_mergeoperator_destroy(rocksdb_mergeoperator_t* merge_operator);

/* Asked about every value that a compaction sees: gives nonzero to remove it, or sets *value_changed and where the new
 * value is. The new value stays the callback's; it is copied when the callback returns. */
rocksdb_compactionfilter_t* rocksdb_compactionfilter_create(
    void* state, void (*destructor)(void* state),
    unsigned char (*filter)(void* state, int level, const char* key, size_t key_length, const char* existing,
                            size_t existing_length, char** new_value, size_t* new_length,
                            unsigned char* value_changed),
    const char* (*name)(void* state));
void rocksdb_compactionfilter_destroy(rocksdb_compactionfilter_t* filter);

/* The prefix must lie in the key; a key whose prefix does not, has none. Both must agree on the same key at any time. */
rocksdb_slicetransform_t* rocksdb_slicetransform_create(
    void* state, void (*destructor)(void* state),
    char* (*transform)(void* state, const char* key, size_t length, size_t* prefix_length),
    unsigned char (*in_domain)(void* state, const char* key, size_t length), const char* (*name)(void* state));
rocksdb_slicetransform_t* rocksdb_slicetransform_create_fixed_prefix(size_t length);
rocksdb_slicetransform_t* rocksdb_slicetransform_create_noop(void);
void rocksdb_slicetransform_destroy(rocksdb_slicetransform_t* transform);

#ifdef __cplusplus
}
#endif

#include "c/options.h"
#include "c/operations.h"
#include "c/more.h"
#include "c/transactions.h"
#include "c/copies.h"
#include "c/events.h"
#include "c/other.h"

#endif
