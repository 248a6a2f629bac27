/* Listeners made of callbacks: what they are told, when they are called, and who ends them. */
#include "check.h"
#include <stdatomic.h>
#include <unistd.h>

struct heard {
  atomic_int flush_begin, flush_completed, compaction_begin, compaction_completed, part_begin, part_completed;
  atomic_int errors, stalls, sealed, destroyed, calls_db;
  atomic_int flush_job, compaction_job, last_reason;
  uint64_t memtable_entries;
  int resets, has_blobs, is_quiet;
};

static rocksdb_writeoptions_t* wo;
static rocksdb_readoptions_t* ro;

static int text_is(const char* text, size_t size, const char* expected) {
  return is_bytes(text, size, expected) && text[size] == 0;
}

static int ends_in(const char* text, size_t size, const char* end) {
  size_t length = strlen(end);
  return size >= length && !memcmp(text + size - length, end, length) && text[size] == 0;
}

/* The callback's database is the one that is told of. */
static void call_db(struct heard* heard, rocksdb_t* db) {
  CHECK(db);
  if (heard->calls_db) {
    char* error = NULL;
    size_t length = 0;
    rocksdb_free(rocksdb_get(db, ro, "k0", 2, &length, &error));
    CHECK(!error);
    char* stats = rocksdb_property_value(db, "rocksdb.stats");
    CHECK(stats);
    rocksdb_free(stats);
  }
}

static void check_properties(const rocksdb_table_properties_t* p, uint64_t entries, const char* family) {
  size_t size = 99;
  CHECK(p);
  CHECK(rocksdb_table_properties_num_entries(p) == entries);
  CHECK(rocksdb_table_properties_orig_file_number(p) > 0);
  CHECK(rocksdb_table_properties_data_size(p) > 0);
  CHECK(rocksdb_table_properties_uncompressed_data_size(p) < (1 << 20));
  CHECK(rocksdb_table_properties_index_size(p) > 0);
  CHECK(rocksdb_table_properties_index_partitions(p) == 0);
  CHECK(rocksdb_table_properties_top_level_index_size(p) == 0);
  CHECK(rocksdb_table_properties_index_key_is_user_key(p) == 1);
  CHECK(rocksdb_table_properties_index_value_is_delta_encoded(p) == 1);
  CHECK(rocksdb_table_properties_udi_is_primary_index(p) == 0);
  CHECK(rocksdb_table_properties_filter_size(p) == 0);
  CHECK(rocksdb_table_properties_raw_key_size(p) > 0);
  CHECK(rocksdb_table_properties_raw_value_size(p) > 0);
  CHECK(rocksdb_table_properties_num_data_blocks(p) >= 1);
  CHECK(rocksdb_table_properties_num_data_blocks_compression_rejected(p) == 0);
  CHECK(rocksdb_table_properties_num_data_blocks_compression_bypassed(p) >= 1);
  CHECK(rocksdb_table_properties_num_uniform_blocks(p) <= rocksdb_table_properties_num_data_blocks(p));
  CHECK(rocksdb_table_properties_num_filter_entries(p) == 0);
  CHECK(rocksdb_table_properties_num_deletions(p) == 0);
  CHECK(rocksdb_table_properties_num_merge_operands(p) == 0);
  CHECK(rocksdb_table_properties_num_range_deletions(p) == 0);
  CHECK(rocksdb_table_properties_format_version(p) >= 5);
  CHECK(rocksdb_table_properties_fixed_key_len(p) == 0);
  CHECK(rocksdb_table_properties_column_family_id(p) == 0);
  CHECK(rocksdb_table_properties_creation_time(p) > 0);
  CHECK(rocksdb_table_properties_oldest_key_time(p) <= rocksdb_table_properties_creation_time(p));
  CHECK(rocksdb_table_properties_newest_key_time(p) > 0);
  CHECK(rocksdb_table_properties_file_creation_time(p) > 0);
  CHECK(rocksdb_table_properties_slow_compression_estimated_data_size(p) == 0);
  CHECK(rocksdb_table_properties_fast_compression_estimated_data_size(p) == 0);
  CHECK(rocksdb_table_properties_external_sst_file_global_seqno_offset(p) == 0);
  CHECK(rocksdb_table_properties_tail_start_offset(p) > 0);
  CHECK(rocksdb_table_properties_user_defined_timestamps_persisted(p) == 1);
  CHECK(rocksdb_table_properties_has_key_largest_seqno(p) && rocksdb_table_properties_has_key_smallest_seqno(p));
  CHECK(rocksdb_table_properties_key_smallest_seqno(p) <= rocksdb_table_properties_key_largest_seqno(p));
  CHECK(rocksdb_table_properties_data_block_restart_interval(p) == 16);
  CHECK(rocksdb_table_properties_index_block_restart_interval(p) == 1);
  CHECK(rocksdb_table_properties_separate_key_value_in_data_block(p) == 0);
  const char* text = rocksdb_table_properties_db_id(p, &size);
  CHECK(text && size > 0 && text[size] == 0);
  text = rocksdb_table_properties_db_session_id(p, &size);
  CHECK(text && size == 20);
  CHECK(rocksdb_table_properties_db_host_id(p, &size));
  text = rocksdb_table_properties_column_family_name(p, &size);
  CHECK(text_is(text, size, family));
  text = rocksdb_table_properties_filter_policy_name(p, &size);
  CHECK(text_is(text, size, ""));
  text = rocksdb_table_properties_comparator_name(p, &size);
  CHECK(text_is(text, size, "leveldb.BytewiseComparator"));
  text = rocksdb_table_properties_merge_operator_name(p, &size);
  CHECK(text_is(text, size, "nullptr"));
  text = rocksdb_table_properties_prefix_extractor_name(p, &size);
  CHECK(text_is(text, size, "nullptr"));
  text = rocksdb_table_properties_property_collectors_names(p, &size);
  CHECK(text_is(text, size, "[]"));
  text = rocksdb_table_properties_compression_name(p, &size);
  CHECK(text && size > 0);
  text = rocksdb_table_properties_compression_options(p, &size);
  CHECK(text && size > 0);
  text = rocksdb_table_properties_seqno_to_time_mapping(p, &size);
  CHECK(text_is(text, size, ""));
  size_t count = rocksdb_table_properties_user_collected_properties_count(p);
  for (size_t i = 0; i < count; i++) {
    size_t value = 0;
    CHECK(rocksdb_table_properties_user_collected_properties_key_at(p, i, &size) && size > 0);
    CHECK(rocksdb_table_properties_user_collected_properties_value_at(p, i, &value));
  }
  CHECK(!rocksdb_table_properties_user_collected_properties_key_at(p, count, &size) && size == 0);
  CHECK(!rocksdb_table_properties_user_collected_properties_value_at(p, count, &size) && size == 0);
  count = rocksdb_table_properties_readable_properties_count(p);
  CHECK(!rocksdb_table_properties_readable_properties_key_at(p, count, &size) && size == 0);
  CHECK(!rocksdb_table_properties_readable_properties_value_at(p, count, &size) && size == 0);
}

static void check_blob_file(const rocksdb_blob_file_addition_info_t* blob) {
  size_t size = 99;
  const char* path = rocksdb_blob_file_addition_info_blob_file_path(blob, &size);
  CHECK(ends_in(path, size, ".blob"));
  CHECK(rocksdb_blob_file_addition_info_blob_file_number(blob) > 0);
  CHECK(rocksdb_blob_file_addition_info_total_blob_count(blob) > 0);
  CHECK(rocksdb_blob_file_addition_info_total_blob_bytes(blob) > 1000);
}

static void check_flush(const rocksdb_flushjobinfo_t* info) {
  size_t size = 99;
  CHECK(rocksdb_flushjobinfo_cf_id(info) == 0);
  const char* name = rocksdb_flushjobinfo_cf_name(info, &size);
  CHECK(text_is(name, size, "default"));
  CHECK(rocksdb_flushjobinfo_thread_id(info) > 0);
  CHECK(rocksdb_flushjobinfo_job_id(info) > 0);
  CHECK(!rocksdb_flushjobinfo_triggered_writes_stop(info));
  CHECK(rocksdb_flushjobinfo_triggered_writes_slowdown(info) <= 1);
  CHECK(rocksdb_flushjobinfo_blob_compression_type(info) == rocksdb_no_compression);
}

static void on_flush_begin(void* state, rocksdb_t* db, const rocksdb_flushjobinfo_t* info) {
  struct heard* heard = state;
  if (heard->is_quiet) return;
  check_flush(info);
  CHECK(heard->sealed > 0);
  heard->flush_job = rocksdb_flushjobinfo_job_id(info);
  heard->last_reason = (int)rocksdb_flushjobinfo_flush_reason(info);
  call_db(heard, db);
  heard->flush_begin++;
}

static void on_flush_completed(void* state, rocksdb_t* db, const rocksdb_flushjobinfo_t* info) {
  struct heard* heard = state;
  size_t size = 99;
  if (heard->is_quiet) return;
  check_flush(info);
  CHECK(heard->flush_job == rocksdb_flushjobinfo_job_id(info));
  CHECK(heard->last_reason == (int)rocksdb_flushjobinfo_flush_reason(info));
  const char* path = rocksdb_flushjobinfo_file_path(info, &size);
  CHECK(ends_in(path, size, ".sst"));
  CHECK(rocksdb_flushjobinfo_file_number(info) > 0);
  CHECK(rocksdb_flushjobinfo_smallest_seqno(info) > 0);
  CHECK(rocksdb_flushjobinfo_largest_seqno(info) >= rocksdb_flushjobinfo_smallest_seqno(info));
  check_properties(rocksdb_flushjobinfo_table_properties(info), heard->memtable_entries, "default");
  size_t blobs = rocksdb_flushjobinfo_blob_file_addition_infos_count(info);
  CHECK(blobs == (size_t)heard->has_blobs);
  CHECK((rocksdb_flushjobinfo_oldest_blob_file_number(info) != UINT64_MAX &&
         rocksdb_flushjobinfo_oldest_blob_file_number(info) > 0) == heard->has_blobs);
  if (blobs > 0) {
    check_blob_file(rocksdb_flushjobinfo_blob_file_addition_info_at(info, 0));
  }
  call_db(heard, db);
  heard->flush_completed++;
}

static void check_stats(const rocksdb_compaction_job_stats_t* s, int is_over) {
  size_t size = 99;
  CHECK(s);
  CHECK(rocksdb_compaction_job_stats_has_accurate_num_input_records(s));
  CHECK(rocksdb_compaction_job_stats_num_blobs_read(s) <= 100);
  CHECK(rocksdb_compaction_job_stats_num_input_files_trivially_moved(s) == 0);
  CHECK(rocksdb_compaction_job_stats_num_filtered_input_files(s) == 0);
  CHECK(rocksdb_compaction_job_stats_num_filtered_input_files_at_output_level(s) == 0);
  CHECK(rocksdb_compaction_job_stats_num_input_files_at_output_level(s) == 0);
  CHECK(!rocksdb_compaction_job_stats_is_remote_compaction(s));
  CHECK(rocksdb_compaction_job_stats_total_skipped_input_bytes(s) == 0);
  CHECK(rocksdb_compaction_job_stats_total_blob_bytes_read(s) < (1 << 20));
  CHECK(rocksdb_compaction_job_stats_num_input_deletion_records(s) == 0);
  CHECK(rocksdb_compaction_job_stats_num_expired_deletion_records(s) == 0);
  CHECK(rocksdb_compaction_job_stats_num_corrupt_keys(s) == 0);
  CHECK(rocksdb_compaction_job_stats_file_write_nanos(s) == 0);
  CHECK(rocksdb_compaction_job_stats_file_range_sync_nanos(s) == 0);
  CHECK(rocksdb_compaction_job_stats_file_fsync_nanos(s) == 0);
  CHECK(rocksdb_compaction_job_stats_file_prepare_write_nanos(s) == 0);
  CHECK(rocksdb_compaction_job_stats_num_single_del_fallthru(s) == 0);
  CHECK(rocksdb_compaction_job_stats_num_single_del_mismatch(s) == 0);
  CHECK(rocksdb_compaction_job_stats_cpu_micros(s) < 60000000);
  CHECK(rocksdb_compaction_job_stats_elapsed_micros(s) < 60000000);
  if (is_over) {
    CHECK(rocksdb_compaction_job_stats_num_input_records(s) == 200);
    CHECK(rocksdb_compaction_job_stats_num_input_files(s) == 2);
    CHECK(rocksdb_compaction_job_stats_total_input_bytes(s) > 0);
    CHECK(rocksdb_compaction_job_stats_num_output_records(s) == 100);
    CHECK(rocksdb_compaction_job_stats_num_output_files(s) == 1);
    CHECK(rocksdb_compaction_job_stats_num_output_files_blob(s) == 0);
    CHECK(rocksdb_compaction_job_stats_is_full_compaction(s) && rocksdb_compaction_job_stats_is_manual_compaction(s));
    CHECK(rocksdb_compaction_job_stats_total_output_bytes(s) > 0);
    CHECK(rocksdb_compaction_job_stats_total_output_bytes_blob(s) == 0);
    CHECK(rocksdb_compaction_job_stats_num_records_replaced(s) == 100);
    CHECK(rocksdb_compaction_job_stats_total_input_raw_key_bytes(s) > 200);
    CHECK(rocksdb_compaction_job_stats_total_input_raw_value_bytes(s) > 200);
    const char* key = rocksdb_compaction_job_stats_smallest_output_key_prefix(s, &size);
    CHECK(text_is(key, size, "k0"));
    key = rocksdb_compaction_job_stats_largest_output_key_prefix(s, &size);
    CHECK(text_is(key, size, "k99"));
  }
}

static void check_compaction(const rocksdb_compactionjobinfo_t* info) {
  size_t size = 99;
  char* error = NULL;
  CHECK(rocksdb_compactionjobinfo_cf_id(info) == 0);
  const char* name = rocksdb_compactionjobinfo_cf_name(info, &size);
  CHECK(text_is(name, size, "default"));
  rocksdb_compactionjobinfo_status(info, &error);
  CHECK(!error);
  CHECK(rocksdb_compactionjobinfo_thread_id(info) > 0);
  CHECK(rocksdb_compactionjobinfo_job_id(info) > 0);
  CHECK(rocksdb_compactionjobinfo_num_l0_files(info) <= 2);
  CHECK(rocksdb_compactionjobinfo_base_input_level(info) == 0);
  CHECK(rocksdb_compactionjobinfo_output_level(info) > 0);
  CHECK(rocksdb_compactionjobinfo_compaction_reason(info) == 9);
  CHECK(rocksdb_compactionjobinfo_compression(info) == rocksdb_no_compression);
  CHECK(rocksdb_compactionjobinfo_blob_compression_type(info) == rocksdb_no_compression);
  CHECK(!rocksdb_compactionjobinfo_aborted(info));
  CHECK(rocksdb_compactionjobinfo_input_files_count(info) == 2);
  CHECK(rocksdb_compactionjobinfo_input_file_infos_count(info) == 2);
  for (size_t i = 0; i < 2; i++) {
    const char* path = rocksdb_compactionjobinfo_input_file_at(info, i, &size);
    CHECK(ends_in(path, size, ".sst"));
    check_properties(rocksdb_compactionjobinfo_table_properties_for_file(info, path, size), 100, "default");
    const rocksdb_compaction_file_info_t* file = rocksdb_compactionjobinfo_input_file_info_at(info, i);
    CHECK(rocksdb_compaction_file_info_level(file) == 0 && rocksdb_compaction_file_info_file_number(file) > 0);
    CHECK(rocksdb_compaction_file_info_oldest_blob_file_number(file) + 1 <= 1);
  }
  CHECK(!rocksdb_compactionjobinfo_table_properties_for_file(info, "other", 5));
  CHECK(rocksdb_compactionjobinfo_num_corrupt_keys(info) == 0);
  CHECK(rocksdb_compactionjobinfo_elapsed_micros(info) < 60000000);
  CHECK(rocksdb_compactionjobinfo_num_input_files_at_output_level(info) == 0);
  CHECK(rocksdb_compactionjobinfo_blob_file_addition_infos_count(info) == 0);
  CHECK(rocksdb_compactionjobinfo_blob_file_garbage_infos_count(info) == 0);
}

static void on_compaction_begin(void* state, rocksdb_t* db, const rocksdb_compactionjobinfo_t* info) {
  struct heard* heard = state;
  if (heard->has_blobs || heard->is_quiet) return;
  check_compaction(info);
  CHECK(rocksdb_compactionjobinfo_output_files_count(info) == 0);
  CHECK(rocksdb_compactionjobinfo_output_file_infos_count(info) == 0);
  heard->compaction_job = rocksdb_compactionjobinfo_job_id(info);
  call_db(heard, db);
  heard->compaction_begin++;
}

static void check_garbage(const rocksdb_compactionjobinfo_t* info) {
  size_t size = 99;
  CHECK(rocksdb_compactionjobinfo_blob_file_addition_infos_count(info) == 1);
  check_blob_file(rocksdb_compactionjobinfo_blob_file_addition_info_at(info, 0));
  CHECK(rocksdb_compactionjobinfo_blob_file_garbage_infos_count(info) >= 1);
  const rocksdb_blob_file_garbage_info_t* garbage = rocksdb_compactionjobinfo_blob_file_garbage_info_at(info, 0);
  const char* path = rocksdb_blob_file_garbage_info_blob_file_path(garbage, &size);
  CHECK(ends_in(path, size, ".blob"));
  CHECK(rocksdb_blob_file_garbage_info_blob_file_number(garbage) > 0);
  CHECK(rocksdb_blob_file_garbage_info_garbage_blob_count(garbage) > 0);
  CHECK(rocksdb_blob_file_garbage_info_garbage_blob_bytes(garbage) > 1000);
}

static void on_compaction_completed(void* state, rocksdb_t* db, const rocksdb_compactionjobinfo_t* info) {
  struct heard* heard = state;
  size_t size = 99;
  if (heard->is_quiet) return;
  if (heard->has_blobs) {
    check_garbage(info);
    heard->compaction_completed++;
    return;
  }
  check_compaction(info);
  CHECK(heard->compaction_job == rocksdb_compactionjobinfo_job_id(info));
  CHECK(heard->part_completed == 1);
  CHECK(rocksdb_compactionjobinfo_output_files_count(info) == 1);
  CHECK(rocksdb_compactionjobinfo_output_file_infos_count(info) == 1);
  const char* path = rocksdb_compactionjobinfo_output_file_at(info, 0, &size);
  CHECK(ends_in(path, size, ".sst"));
  check_properties(rocksdb_compactionjobinfo_table_properties_for_file(info, path, size), 100, "default");
  const rocksdb_compaction_file_info_t* file = rocksdb_compactionjobinfo_output_file_info_at(info, 0);
  CHECK(rocksdb_compaction_file_info_level(file) == rocksdb_compactionjobinfo_output_level(info));
  CHECK(rocksdb_compactionjobinfo_table_properties_count(info) == 3);
  CHECK(rocksdb_compactionjobinfo_table_properties_key_at(info, 2, &size) && size > 0);
  CHECK(rocksdb_compactionjobinfo_table_properties_value_at(info, 2));
  CHECK(!rocksdb_compactionjobinfo_table_properties_key_at(info, 3, &size) && size == 0);
  CHECK(!rocksdb_compactionjobinfo_table_properties_value_at(info, 3));
  CHECK(rocksdb_compactionjobinfo_input_records(info) == 200);
  CHECK(rocksdb_compactionjobinfo_output_records(info) == 100);
  CHECK(rocksdb_compactionjobinfo_total_input_bytes(info) > 0);
  CHECK(rocksdb_compactionjobinfo_total_output_bytes(info) > 0);
  CHECK(rocksdb_compactionjobinfo_num_input_files(info) == 2);
  check_stats(rocksdb_compactionjobinfo_stats(info), 1);
  call_db(heard, db);
  heard->compaction_completed++;
}

static void check_part(const rocksdb_subcompactionjobinfo_t* info) {
  size_t size = 99;
  char* error = NULL;
  CHECK(rocksdb_subcompactionjobinfo_cf_id(info) == 0);
  const char* name = rocksdb_subcompactionjobinfo_cf_name(info, &size);
  CHECK(text_is(name, size, "default"));
  rocksdb_subcompactionjobinfo_status(info, &error);
  CHECK(!error);
  CHECK(rocksdb_subcompactionjobinfo_thread_id(info) > 0);
  CHECK(rocksdb_subcompactionjobinfo_job_id(info) > 0);
  CHECK(rocksdb_subcompactionjobinfo_subcompaction_job_id(info) == 0);
  CHECK(rocksdb_subcompactionjobinfo_base_input_level(info) == 0);
  CHECK(rocksdb_subcompactionjobinfo_output_level(info) > 0);
  CHECK(rocksdb_subcompactionjobinfo_compaction_reason(info) == 9);
  CHECK(rocksdb_subcompactionjobinfo_compression(info) == rocksdb_no_compression);
  CHECK(rocksdb_subcompactionjobinfo_blob_compression_type(info) == rocksdb_no_compression);
}

static void on_part_begin(void* state, const rocksdb_subcompactionjobinfo_t* info) {
  struct heard* heard = state;
  if (heard->has_blobs || heard->is_quiet) return;
  check_part(info);
  CHECK(rocksdb_subcompactionjobinfo_job_id(info) == heard->compaction_job);
  check_stats(rocksdb_subcompactionjobinfo_stats(info), 0);
  heard->part_begin++;
}

static void on_part_completed(void* state, const rocksdb_subcompactionjobinfo_t* info) {
  struct heard* heard = state;
  if (heard->has_blobs || heard->is_quiet) return;
  check_part(info);
  check_stats(rocksdb_subcompactionjobinfo_stats(info), 0);
  CHECK(rocksdb_compaction_job_stats_num_input_records(rocksdb_subcompactionjobinfo_stats(info)) == 200);
  heard->part_completed++;
}

static void on_background_error(void* state, uint32_t reason, rocksdb_status_ptr_t* status) {
  struct heard* heard = state;
  char* error = NULL;
  rocksdb_status_ptr_get_error(status, &error);
  CHECK(error);
  rocksdb_free(error);
  heard->last_reason = (int)reason;
  if (heard->resets) {
    rocksdb_reset_status(status);
    error = NULL;
    rocksdb_status_ptr_get_error(status, &error);
    CHECK(!error);
  }
  heard->errors++;
}

static void on_stall(void* state, const rocksdb_writestallinfo_t* info) {
  struct heard* heard = state;
  size_t size = 99;
  const char* name = rocksdb_writestallinfo_cf_name(info, &size);
  CHECK(text_is(name, size, "default"));
  int now = *(const int*)(const void*)rocksdb_writestallinfo_cur(info);
  int before = *(const int*)(const void*)rocksdb_writestallinfo_prev(info);
  CHECK(now != before && now >= 0 && now <= 2 && before >= 0 && before <= 2);
  heard->stalls++;
}

static void on_sealed(void* state, const rocksdb_memtableinfo_t* info) {
  struct heard* heard = state;
  size_t size = 99;
  const char* name = rocksdb_memtableinfo_cf_name(info, &size);
  CHECK(text_is(name, size, "default"));
  const char* timestamp = rocksdb_memtableinfo_newest_udt(info, &size);
  CHECK(text_is(timestamp, size, ""));
  CHECK(rocksdb_memtableinfo_first_seqno(info) > 0);
  CHECK(rocksdb_memtableinfo_earliest_seqno(info) <= rocksdb_memtableinfo_first_seqno(info));
  CHECK(rocksdb_memtableinfo_num_deletes(info) == 0);
  heard->memtable_entries = rocksdb_memtableinfo_num_entries(info);
  heard->sealed++;
}

static void destroy(void* state) {
  ((struct heard*)state)->destroyed++;
}

/* A thread of the database that is ending may be the last that holds the listener. */
static void wait_for(atomic_int* count, int wanted) {
  for (int i = 0; i < 60000 && *count != wanted; i++) {
    usleep(1000);
  }
  CHECK(*count == wanted);
}

static rocksdb_eventlistener_t* new_listener(struct heard* heard) {
  return rocksdb_eventlistener_create(heard, destroy, on_flush_begin, on_flush_completed, on_compaction_begin,
                                      on_compaction_completed, on_part_begin, on_part_completed, NULL,
                                      on_background_error, on_stall, on_sealed);
}

static void fill(rocksdb_t* db, const char* value) {
  char key[16];
  for (int i = 0; i < 100; i++) {
    snprintf(key, sizeof key, "k%d", i);
    put(db, wo, key, value);
  }
}

static rocksdb_options_t* options_with(struct heard* heard) {
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_compression(options, rocksdb_no_compression);
  rocksdb_options_set_disable_auto_compactions(options, 1);
  rocksdb_options_add_eventlistener(options, new_listener(heard));
  return options;
}

static void test_jobs(const char* path) {
  struct heard heard = {.calls_db = 1};
  rocksdb_options_t* options = options_with(&heard);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  for (int round = 1; round <= 2; round++) {
    fill(db, round == 1 ? "first" : "second");
    flush(db);
    CHECK(heard.sealed == round && heard.flush_begin == round && heard.flush_completed == round);
    CHECK(heard.last_reason == 10);
  }
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  CHECK(heard.compaction_begin == 1 && heard.compaction_completed == 1);
  CHECK(heard.part_begin == 1 && heard.part_completed == 1 && heard.errors == 0);
  rocksdb_options_destroy(options);
  CHECK(heard.destroyed == 0);
  rocksdb_close(db);
  wait_for(&heard.destroyed, 1);
}

static void test_blob_files(const char* path) {
  struct heard heard = {.has_blobs = 1};
  char large[2001];
  memset(large, 'v', 2000);
  large[2000] = 0;
  rocksdb_options_t* options = options_with(&heard);
  rocksdb_options_set_enable_blob_files(options, 1);
  rocksdb_options_set_min_blob_size(options, 1000);
  rocksdb_options_set_enable_blob_gc(options, 1);
  rocksdb_options_set_blob_gc_age_cutoff(options, 1.0);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  for (int round = 1; round <= 2; round++) {
    fill(db, large);
    flush(db);
    CHECK(heard.flush_completed == round);
  }
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  CHECK(heard.compaction_completed == 1);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  wait_for(&heard.destroyed, 1);
}

static void test_stalls(const char* path) {
  struct heard heard = {.is_quiet = 1};
  rocksdb_options_t* options = options_with(&heard);
  rocksdb_options_set_disable_auto_compactions(options, 0);
  rocksdb_options_set_level0_file_num_compaction_trigger(options, 2);
  rocksdb_options_set_level0_slowdown_writes_trigger(options, 2);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  for (int round = 0; round < 2; round++) {
    fill(db, "value");
    flush(db);
  }
  /* Slowed down by two tables, until they are compacted. */
  wait_for(&heard.stalls, 2);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  wait_for(&heard.destroyed, 1);
}

/* Options are copied with their listeners, which any number of databases share; a listener that nothing owns ends. */
static void test_lives(const char* path, const char* other_path) {
  struct heard heard = {0}, unused = {0};
  rocksdb_eventlistener_destroy(new_listener(&unused));
  CHECK(unused.destroyed == 1);
  rocksdb_options_t* options = options_with(&heard);
  rocksdb_options_t* copy = rocksdb_options_create_copy(options);
  rocksdb_options_destroy(options);
  rocksdb_t* db = rocksdb_open(copy, path, &err);
  OK();
  rocksdb_t* other = rocksdb_open(copy, other_path, &err);
  OK();
  rocksdb_options_destroy(copy);
  fill(db, "value");
  flush(db);
  rocksdb_close(db);
  fill(other, "value");
  flush(other);
  CHECK(heard.flush_completed == 2 && heard.destroyed == 0);
  rocksdb_close(other);
  wait_for(&heard.destroyed, 1);

  rocksdb_compactionjobinfo_t* empty = rocksdb_compactionjobinfo_create();
  size_t size = 99;
  CHECK(rocksdb_compactionjobinfo_input_files_count(empty) == 0);
  const char* name = rocksdb_compactionjobinfo_cf_name(empty, &size);
  CHECK(is_bytes(name, size, ""));
  rocksdb_compactionjobinfo_destroy(empty);
}

/* The directory is gone: a flush fails. The listener lets it count for nothing at first. */
static void test_errors(const char* path) {
  struct heard heard = {.resets = 1};
  char moved[4200], from[4200];
  snprintf(from, sizeof from, "%s", path);
  snprintf(moved, sizeof moved, "%s.moved", path);
  rocksdb_options_t* options = options_with(&heard);
  rocksdb_t* db = rocksdb_open(options, from, &err);
  OK();
  fill(db, "value");
  CHECK(!rename(from, moved));
  rocksdb_flushoptions_t* no_wait = rocksdb_flushoptions_create();
  rocksdb_flushoptions_set_wait(no_wait, 0);
  rocksdb_flush(db, no_wait, &err);
  if (err) {
    /* The new log could not be made. */
    rocksdb_free(err);
    err = NULL;
  }
  for (int i = 0; i < 10000 && heard.errors == 0; i++) {
    usleep(1000);
  }
  CHECK(heard.errors > 0);
  heard.resets = 0;
  rocksdb_flushoptions_destroy(no_wait);
  CHECK(!rename(moved, from));
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  wait_for(&heard.destroyed, 1);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  wo = rocksdb_writeoptions_create();
  ro = rocksdb_readoptions_create();
  char other[4096];
  test_jobs(path_in(argv[1], "jobs"));
  test_blob_files(path_in(argv[1], "blob_files"));
  test_stalls(path_in(argv[1], "stalls"));
  snprintf(other, sizeof other, "%s/other", argv[1]);
  test_lives(path_in(argv[1], "lives"), other);
  if (HERE) test_errors(path_in(argv[1], "errors"));
  rocksdb_writeoptions_destroy(wo);
  rocksdb_readoptions_destroy(ro);
  return 0;
}
