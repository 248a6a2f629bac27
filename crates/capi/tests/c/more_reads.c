/* Further ways to read, maintain and ask. */
#include "check.h"

/* A text whose length a call tells. */
#define IS(call, expected) \
  do { \
    const char* text_ = call; \
    CHECK(is_bytes(text_, length, expected)); \
  } while (0)

static void test_reads(rocksdb_t* db, rocksdb_readoptions_t* ro, rocksdb_column_family_handle_t* family) {
  char buffer[8];
  size_t length = 9;
  unsigned char found = 9;
  CHECK(rocksdb_get_into_buffer(db, ro, "a", 1, buffer, sizeof buffer, &length, &found, &err) == 1);
  OK();
  CHECK(found == 1 && is_bytes(buffer, length, "one"));
  CHECK(rocksdb_get_into_buffer(db, ro, "a", 1, buffer, 2, &length, &found, &err) == 0 && found == 1 && length == 3);
  CHECK(rocksdb_get_into_buffer(db, ro, "z", 1, buffer, 2, &length, &found, &err) == 0 && found == 0 && length == 0);
  CHECK(rocksdb_get_into_buffer_cf(db, ro, family, "f", 1, buffer, 8, &length, &found, &err) == 1 && length == 6);
  OK();
  rocksdb_pinnable_handle_t* value = rocksdb_get_pinned_v2(db, ro, "a", 1, &err);
  OK();
  IS(rocksdb_pinnable_handle_get_value(value, &length), "one");
  rocksdb_pinnable_handle_destroy(value);
  CHECK(!rocksdb_get_pinned_v2(db, ro, "z", 1, &err));
  value = rocksdb_get_pinned_cf_v2(db, ro, family, "f", 1, &err);
  IS(rocksdb_pinnable_handle_get_value(value, &length), "family");
  rocksdb_pinnable_handle_destroy(value);
  char* text = NULL;
  CHECK(rocksdb_key_may_exist(db, ro, "a", 1, &text, &length, NULL, 0, &found));
  if (found) {
    CHECK(is_bytes(text, length, "one"));
    rocksdb_free(text);
  }
  CHECK(rocksdb_key_may_exist(db, ro, "a", 1, NULL, NULL, NULL, 0, NULL));
  /* Of what is not there for certain the value is known: an empty one. */
  CHECK(!rocksdb_key_may_exist_cf(db, ro, family, "a", 1, &text, &length, NULL, 0, &found));
  CHECK(found && text && length == 0);
  rocksdb_free(text);
  CHECK(!rocksdb_key_may_exist_cf(db, ro, family, "a", 1, NULL, NULL, NULL, 0, NULL));
  rocksdb_slice_t keys[] = {{"f", 1}, {"z", 1}};
  rocksdb_pinnableslice_t* values[2];
  char* errors[2];
  rocksdb_batched_multi_get_cf_slice(db, ro, family, 2, keys, values, errors, true);
  CHECK(!errors[0] && !errors[1] && slice_is(values[0], "family") && !values[1]);
  rocksdb_pinnableslice_destroy(values[0]);
}

static void test_iterators(rocksdb_t* db, rocksdb_readoptions_t* ro, rocksdb_column_family_handle_t* family) {
  rocksdb_column_family_handle_t* first = rocksdb_get_default_column_family_handle(db);
  rocksdb_column_family_handle_t* families[] = {first, family};
  rocksdb_iterator_t* its[2];
  rocksdb_create_iterators(db, ro, families, its, 2, &err);
  OK();
  rocksdb_iter_seek_to_first(its[0]);
  rocksdb_iter_seek_to_first(its[1]);
  rocksdb_slice_t key = rocksdb_iter_key_slice(its[0]), value = rocksdb_iter_value_slice(its[1]);
  CHECK(is_bytes(key.data, key.size, "a") && is_bytes(value.data, value.size, "family"));
#if HERE
  size_t length = 9;
  CHECK(rocksdb_iter_timestamp(its[0], &length) && length == 0 && rocksdb_iter_timestamp_slice(its[0]).size == 0);
#endif
  rocksdb_iter_destroy(its[0]);
  rocksdb_iter_destroy(its[1]);
#if HERE
  rocksdb_column_family_handle_destroy(first);
#endif
  /* A tailing iterator follows. */
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_set_tailing(ro, 1);
  rocksdb_iterator_t* it = rocksdb_create_iterator(db, ro);
  rocksdb_iter_seek(it, "b", 1);
  CHECK(key_is(it, "b"));
  put(db, wo, "c", "three");
  rocksdb_iter_next(it);
  CHECK(key_is(it, "c") && value_is(it, "three"));
  rocksdb_iter_next(it);
  CHECK(!rocksdb_iter_valid(it));
  put(db, wo, "d", "four");
  rocksdb_iter_seek(it, "d", 1);
  CHECK(key_is(it, "d"));
  rocksdb_iter_destroy(it);
  rocksdb_readoptions_set_tailing(ro, 0);
  rocksdb_writeoptions_destroy(wo);
}

static void test_sizes(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  const char *from[] = {"a"}, *to[] = {"z"};
  const size_t lengths[] = {1};
  uint64_t size = 0;
  rocksdb_approximate_sizes_cf(db, family, 1, from, lengths, to, lengths, &size, &err);
  OK();
  CHECK(size > 0);
  uint64_t flagged = 0;
  rocksdb_approximate_sizes_cf_with_flags(db, family, 1, from, lengths, to, lengths, 2, &flagged, &err);
  OK();
  CHECK(flagged == size);
  rocksdb_size_approximation_options_t* options = rocksdb_size_approximation_options_create();
  rocksdb_approximate_sizes_cf_with_options(db, family, options, 1, from, lengths, to, lengths, &flagged, &err);
  OK();
  CHECK(flagged == size);
  rocksdb_approximate_sizes_with_options(db, options, 1, from, lengths, to, lengths, &size, &err);
  OK();
  CHECK(size > 0);
  rocksdb_size_approximation_options_set_include_files(options, 0);
  rocksdb_approximate_sizes_with_options(db, options, 1, from, lengths, to, lengths, &size, &err);
  FAILED("Invalid argument: ", "");
  rocksdb_size_approximation_options_destroy(options);
}

static void test_maintenance(rocksdb_t* db, rocksdb_readoptions_t* ro, rocksdb_column_family_handle_t* family) {
  rocksdb_flushoptions_t* flush_options = rocksdb_flushoptions_create();
  rocksdb_column_family_handle_t* first = rocksdb_get_default_column_family_handle(db);
  rocksdb_column_family_handle_t* families[] = {first, family};
  rocksdb_flush_cfs(db, flush_options, families, 2, &err);
  OK();
  rocksdb_flushoptions_destroy(flush_options);
#if HERE
  rocksdb_column_family_handle_destroy(first);
#endif
  rocksdb_flushwaloptions_t* wal_options = rocksdb_flushwaloptions_create();
  rocksdb_flushwaloptions_set_sync(wal_options, 1);
  rocksdb_flush_wal_with_options(db, wal_options, &err);
  OK();
  rocksdb_flushwaloptions_destroy(wal_options);
  rocksdb_verify_checksum_with_options(db, ro, &err);
  OK();
  rocksdb_compactoptions_t* compact = rocksdb_compactoptions_create();
  rocksdb_compactoptions_set_bottommost_level_compaction(compact, 2);
  rocksdb_disable_manual_compaction(db);
  rocksdb_compact_range_cf_opt(db, family, compact, NULL, 0, NULL, 0);
  uint64_t files = 9;
  CHECK(rocksdb_property_int_cf(db, family, "rocksdb.num-files-at-level0", &files) == -1 || files == 1);
  char* at_level0 = rocksdb_property_value_cf(db, family, "rocksdb.num-files-at-level0");
  CHECK(at_level0 && !strcmp(at_level0, "1"));
  rocksdb_free(at_level0);
  rocksdb_enable_manual_compaction(db);
  rocksdb_compact_range_cf_opt(db, family, compact, NULL, 0, NULL, 0);
  at_level0 = rocksdb_property_value_cf(db, family, "rocksdb.num-files-at-level0");
  CHECK(at_level0 && !strcmp(at_level0, "0"));
  rocksdb_free(at_level0);
  rocksdb_compactoptions_destroy(compact);
  CHECK(rocksdb_property_int_cf(db, family, "rocksdb.estimate-num-keys", &files) == 0 && files == 1);
  size_t length = 0;
  char* identity = rocksdb_get_db_identity(db, &length);
  CHECK(identity && length > 10);
  rocksdb_free(identity);
  CHECK(rocksdb_column_family_handle_get_id(family) == 1);
  char* name = rocksdb_column_family_handle_get_name(family, &length);
  CHECK(is_bytes(name, length, "other"));
  rocksdb_free(name);
}

static void test_changes(rocksdb_t* db, rocksdb_options_t* options, rocksdb_column_family_handle_t* family) {
  const char *names[] = {"write_buffer_size"}, *values[] = {"1000000"};
  const char *bad[] = {"no_such_option"}, *db_names[] = {"max_background_jobs"}, *jobs[] = {"3"};
  rocksdb_set_options(db, 1, (const char* const*)names, (const char* const*)values, &err);
  OK();
  rocksdb_set_options_cf(db, family, 1, (const char* const*)names, (const char* const*)values, &err);
  OK();
  rocksdb_set_db_options(db, 1, (const char* const*)db_names, (const char* const*)jobs, &err);
  OK();
  rocksdb_set_options(db, 1, (const char* const*)bad, (const char* const*)values, &err);
  FAILED("Invalid argument: ", "");
  rocksdb_set_options(db, 0, (const char* const*)names, (const char* const*)values, &err);
  FAILED("Invalid argument: ", "");
  const char* const new_names[] = {"x", "y"};
  size_t count = 9;
  rocksdb_column_family_handle_t** created = rocksdb_create_column_families(db, options, 2, new_names, &count, &err);
  OK();
  CHECK(count == 2 && rocksdb_column_family_handle_get_id(created[1]) == 3);
  rocksdb_column_family_handle_destroy(created[0]);
  rocksdb_column_family_handle_destroy(created[1]);
  rocksdb_create_column_families_destroy(created);
}

#if HERE
static int ended = 0;
static void end(void* state) {
  (void)state;
  ended++;
}

static unsigned char every_table(void* state, const rocksdb_table_properties_t* properties) {
  (void)state, (void)properties;
  return 1;
}

static void test_read_options(rocksdb_t* db, rocksdb_readoptions_t* ro) {
  size_t length = 9;
  CHECK(!rocksdb_readoptions_has_merge_operand_count_threshold(ro));
  rocksdb_readoptions_set_merge_operand_count_threshold(ro, 5);
  CHECK(rocksdb_readoptions_has_merge_operand_count_threshold(ro));
  rocksdb_readoptions_clear_merge_operand_count_threshold(ro);
  CHECK(!rocksdb_readoptions_get_request_id(ro, &length) && length == 0);
  rocksdb_readoptions_set_request_id(ro, "id", 2);
  IS(rocksdb_readoptions_get_request_id(ro, &length), "id");
  rocksdb_readoptions_clear_request_id(ro);
  rocksdb_readoptions_clear_table_index_factory(ro);
  CHECK(!rocksdb_readoptions_get_table_index_factory_name(ro, &length));
  rocksdb_readoptions_set_table_index_factory_from_string(ro, "x", 1, &err);
  FAILED("Not implemented: ", "rocksdb_readoptions_set_table_index_factory_from_string");
  rocksdb_readoptions_set_table_filter(ro, NULL, end, every_table);
  CHECK(ended == 1 && rocksdb_readoptions_has_table_filter(ro));
  CHECK(!rocksdb_get(db, ro, "a", 1, &length, &err));
  FAILED("Not implemented: ", "table_filter");
  rocksdb_iterator_t* it = rocksdb_create_iterator(db, ro);
  rocksdb_iter_seek_to_first(it);
  CHECK(!rocksdb_iter_valid(it));
  rocksdb_iter_get_error(it, &err);
  FAILED("Not implemented: ", "table_filter");
  rocksdb_iter_refresh(it, &err);
  FAILED("Not implemented: ", "table_filter");
  rocksdb_iter_destroy(it);
  rocksdb_readoptions_clear_table_filter(ro);
  rocksdb_readoptions_set_timestamp(ro, "12345678", 8);
  CHECK(!rocksdb_get_pinned(db, ro, "a", 1, &err));
  FAILED("Not implemented: ", "timestamp");
  rocksdb_readoptions_set_timestamp(ro, NULL, 0);
  rocksdb_readoptions_set_iter_start_ts(ro, "12345678", 8);
  CHECK(!rocksdb_get_pinned(db, ro, "a", 1, &err));
  FAILED("Not implemented: ", "iter_start_ts");
  rocksdb_readoptions_set_iter_start_ts(ro, NULL, 0);
  rocksdb_readoptions_set_ignore_range_deletions(ro, 1);
  CHECK(!rocksdb_get_pinned(db, ro, "a", 1, &err));
  FAILED("Not implemented: ", "ignore_range_deletions = 1");
  rocksdb_readoptions_set_ignore_range_deletions(ro, 0);
  GET(db, ro, "a", "one");
  rocksdb_compactoptions_t* compact = rocksdb_compactoptions_create();
  rocksdb_compactoptions_set_full_history_ts_low(compact, "12345678", 8);
  rocksdb_compact_range_opt(db, compact, NULL, 0, NULL, 0);
  rocksdb_compactoptions_destroy(compact);
}
#endif

int main(int argc, char** argv) {
  CHECK(argc == 2);
  rocksdb_options_t* options = new_options();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_t* db = rocksdb_open(options, path_in(argv[1], "reads"), &err);
  OK();
  rocksdb_column_family_handle_t* family = rocksdb_create_column_family(db, options, "other", &err);
  OK();
  put(db, wo, "a", "one");
  put(db, wo, "b", "two");
  rocksdb_put_cf(db, wo, family, "f", 1, "family", 6, &err);
  OK();
  test_reads(db, ro, family);
  test_iterators(db, ro, family);
#if HERE
  test_read_options(db, ro);
#endif
  test_maintenance(db, ro, family);
  test_sizes(db, family);
  test_changes(db, options, family);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_readoptions_destroy(ro);
  rocksdb_writeoptions_destroy(wo);
  return 0;
}
