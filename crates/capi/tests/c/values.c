/* Every option of tables, filters and compression: what was set is told, opens, and is in the OPTIONS file; what is not
 * built is refused by the open, which names it; prefix extractors made of callbacks. */
#include "check.h"

static void set_and_get(rocksdb_block_based_table_options_t* table) {
  rocksdb_block_based_options_set_block_size(table, 4321);
  CHECK(rocksdb_block_based_options_get_block_size(table) == 4321);
  rocksdb_block_based_options_set_block_restart_interval(table, 7);
  CHECK(rocksdb_block_based_options_get_block_restart_interval(table) == 7);
  rocksdb_block_based_options_set_metadata_block_size(table, 2345);
  CHECK(rocksdb_block_based_options_get_metadata_block_size(table) == 2345);
  rocksdb_block_based_options_set_partition_filters(table, 1);
  CHECK(rocksdb_block_based_options_get_partition_filters(table) == 1);
  rocksdb_block_based_options_set_no_block_cache(table, 1);
  CHECK(rocksdb_block_based_options_get_no_block_cache(table) == 1);
  rocksdb_block_based_options_set_whole_key_filtering(table, 0);
  CHECK(rocksdb_block_based_options_get_whole_key_filtering(table) == 0);
  rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
  CHECK(rocksdb_block_based_options_get_cache_index_and_filter_blocks(table) == 1);
  rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(table, 0);
  CHECK(rocksdb_block_based_options_get_cache_index_and_filter_blocks_with_high_priority(table) == 0);
  rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
  CHECK(rocksdb_block_based_options_get_pin_l0_filter_and_index_blocks_in_cache(table) == 1);
  rocksdb_block_based_options_set_pin_top_level_index_and_filter(table, 0);
  CHECK(rocksdb_block_based_options_get_pin_top_level_index_and_filter(table) == 0);
  rocksdb_block_based_options_set_format_version(table, 6);
  CHECK(rocksdb_block_based_options_get_format_version(table) == 6);
  rocksdb_block_based_options_set_block_size_deviation(table, 20);
  CHECK(rocksdb_block_based_options_get_block_size_deviation(table) == 20);
  rocksdb_block_based_options_set_index_block_restart_interval(table, 3);
  CHECK(rocksdb_block_based_options_get_index_block_restart_interval(table) == 3);
  rocksdb_block_based_options_set_decouple_partitioned_filters(table, 0);
  CHECK(rocksdb_block_based_options_get_decouple_partitioned_filters(table) == 0);
  rocksdb_block_based_options_set_optimize_filters_for_memory(table, 0);
  CHECK(rocksdb_block_based_options_get_optimize_filters_for_memory(table) == 0);
  rocksdb_block_based_options_set_detect_filter_construct_corruption(table, 1);
  CHECK(rocksdb_block_based_options_get_detect_filter_construct_corruption(table) == 1);
  rocksdb_block_based_options_set_enable_index_compression(table, 0);
  CHECK(rocksdb_block_based_options_get_enable_index_compression(table) == 0);
  rocksdb_block_based_options_set_use_delta_encoding(table, 0);
  CHECK(rocksdb_block_based_options_get_use_delta_encoding(table) == 0);
  rocksdb_block_based_options_set_verify_compression(table, 1);
  CHECK(rocksdb_block_based_options_get_verify_compression(table) == 1);
  rocksdb_block_based_options_set_block_align(table, 0);
  CHECK(rocksdb_block_based_options_get_block_align(table) == 0);
  rocksdb_block_based_options_set_super_block_alignment_size(table, 65536);
  CHECK(rocksdb_block_based_options_get_super_block_alignment_size(table) == 65536);
  rocksdb_block_based_options_set_super_block_alignment_space_overhead_ratio(table, 64);
  CHECK(rocksdb_block_based_options_get_super_block_alignment_space_overhead_ratio(table) == 64);
  rocksdb_block_based_options_set_separate_key_value_in_data_block(table, 1);
  CHECK(rocksdb_block_based_options_get_separate_key_value_in_data_block(table) == 1);
  rocksdb_block_based_options_set_uniform_cv_threshold(table, 0.25);
  CHECK(rocksdb_block_based_options_get_uniform_cv_threshold(table) == 0.25);
  rocksdb_block_based_options_set_data_block_hash_table_util_ratio(table, 0.5);
  CHECK(rocksdb_block_based_options_get_data_block_hash_table_util_ratio(table) == 0.5);
  rocksdb_block_based_options_set_max_auto_readahead_size(table, 300000);
  CHECK(rocksdb_block_based_options_get_max_auto_readahead_size(table) == 300000);
  rocksdb_block_based_options_set_initial_auto_readahead_size(table, 16384);
  CHECK(rocksdb_block_based_options_get_initial_auto_readahead_size(table) == 16384);
  rocksdb_block_based_options_set_num_file_reads_for_auto_readahead(table, 4);
  CHECK(rocksdb_block_based_options_get_num_file_reads_for_auto_readahead(table) == 4);
  rocksdb_block_based_options_set_read_amp_bytes_per_bit(table, 32);
  CHECK(rocksdb_block_based_options_get_read_amp_bytes_per_bit(table) == 32);
  rocksdb_block_based_options_set_use_udi_as_primary_index(table, 1);
  CHECK(rocksdb_block_based_options_get_use_udi_as_primary_index(table) == 1);
  rocksdb_block_based_options_set_fail_if_no_udi_on_open(table, 1);
  CHECK(rocksdb_block_based_options_get_fail_if_no_udi_on_open(table) == 1);
  rocksdb_block_based_options_set_checksum(table, 3);
  CHECK(rocksdb_block_based_options_get_checksum(table) == 3);
  rocksdb_block_based_options_set_index_type(table, 2);
  CHECK(rocksdb_block_based_options_get_index_type(table) == 2);
  rocksdb_block_based_options_set_data_block_index_type(table, 1);
  CHECK(rocksdb_block_based_options_get_data_block_index_type(table) == 1);
  rocksdb_block_based_options_set_index_shortening(table, 2);
  CHECK(rocksdb_block_based_options_get_index_shortening(table) == 2);
  rocksdb_block_based_options_set_index_block_search_type(table, rocksdb_block_based_table_index_block_search_type_auto);
  CHECK(rocksdb_block_based_options_get_index_block_search_type(table) == rocksdb_block_based_table_index_block_search_type_auto);
  rocksdb_block_based_options_set_prepopulate_block_cache(table, 1);
  CHECK(rocksdb_block_based_options_get_prepopulate_block_cache(table) == 1);
  rocksdb_block_based_options_set_top_level_index_pinning_tier(table, rocksdb_block_based_k_all_pinning_tier);
  rocksdb_block_based_options_set_partition_pinning_tier(table, rocksdb_block_based_k_none_pinning_tier);
  rocksdb_block_based_options_set_unpartitioned_pinning_tier(table,
                                                             rocksdb_block_based_k_flush_and_similar_pinning_tier);
  rocksdb_block_based_options_set_data_block_hash_ratio(table, 0.6);
  CHECK(rocksdb_block_based_options_get_data_block_hash_table_util_ratio(table) == 0.6);
  size_t length = 7;
  CHECK(!rocksdb_block_based_options_get_user_defined_index_factory_name(table, &length) && length == 0);
  rocksdb_block_based_options_clear_user_defined_index_factory(table);
  rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_ribbon_hybrid(10, 1));
}

static void open_fails(const char* path, rocksdb_options_t* options, rocksdb_block_based_table_options_t* table,
                       const char* prefix, const char* option) {
  rocksdb_options_set_block_based_table_factory(options, table);
  CHECK(!rocksdb_open(options, path, &err));
  FAILED(prefix, option);
}

/* The newest OPTIONS file has the text. */
static void options_say(const char* path, const char* text) {
  char command[8192];
  snprintf(command, sizeof command, "grep -qF '%s' \"$(ls -t %s/OPTIONS-* | head -1)\"", text, path);
  if (system(command) != 0) {
    fprintf(stderr, "the OPTIONS file does not have `%s`\n", text);
    exit(1);
  }
}

static void test_table_options(const char* path) {
  rocksdb_options_t* options = new_options();
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  set_and_get(table);
  if (HERE) open_fails(path, options, table, "Not implemented: ", "");
  rocksdb_block_based_options_set_read_amp_bytes_per_bit(table, 0);
  if (HERE) open_fails(path, options, table, "Not implemented: ", "");
  rocksdb_block_based_options_set_use_udi_as_primary_index(table, 0);
  if (HERE) open_fails(path, options, table, "Not implemented: ", "");
  rocksdb_block_based_options_set_fail_if_no_udi_on_open(table, 0);
  rocksdb_block_based_options_set_index_block_search_type(table, 3);
  if (HERE) open_fails(path, options, table, "Invalid argument: ", "index_block_search_type = 3");
  rocksdb_block_based_options_set_index_block_search_type(table, 2);
  rocksdb_block_based_options_set_no_block_cache(table, 0);
  rocksdb_block_based_options_set_index_shortening(table, 3);
  if (HERE) open_fails(path, options, table, "Invalid argument: ", "index_shortening = 3");
  rocksdb_block_based_options_set_index_shortening(table, 1);
  rocksdb_block_based_options_set_user_defined_index_factory_from_string(table, "no_such", 7, &err);
  if (HERE) FAILED("Not implemented: ", "no_such");
  if (err) rocksdb_free(err);
  err = NULL;
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_close(db);
  options_say(path, "block_size=4321");
  options_say(path, "metadata_block_size=2345");
  options_say(path, "index_block_restart_interval=3");
  options_say(path, "super_block_alignment_size=65536");
  options_say(path, "index_shortening=kShortenSeparators");
  options_say(path, "optimize_filters_for_memory=false");
  options_say(path, "decouple_partitioned_filters=false");
  options_say(path, "uniform_cv_threshold=0.25");
  options_say(path, "separate_key_value_in_data_block=true");
  options_say(path, "partition_pinning=kNone");
  options_say(path, "top_level_index_pinning=kAll");
  options_say(path, "unpartitioned_pinning=kFlushedAndSimilar");
  options_say(path, "verify_compression=true");
  options_say(path, "index_block_search_type=kAuto");
  options_say(path, "prepopulate_block_cache=kFlushOnly");
  options_say(path, "max_auto_readahead_size=300000");
  rocksdb_block_based_options_destroy(table);
  rocksdb_options_destroy(options);
}

static void test_compression(const char* path) {
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_compression(options, rocksdb_zstd_compression);
  CHECK(rocksdb_options_get_compression(options) == rocksdb_zstd_compression);
  CHECK(rocksdb_options_get_bottommost_compression(options) == 255);
  rocksdb_options_set_bottommost_compression(options, rocksdb_zlib_compression);
  CHECK(rocksdb_options_get_bottommost_compression(options) == rocksdb_zlib_compression);
  rocksdb_options_set_compression_options(options, -14, 3, 0, 4096);
  rocksdb_options_set_compression_options_zstd_max_train_bytes(options, 40960);
  CHECK(rocksdb_options_get_compression_options_zstd_max_train_bytes(options) == 40960);
  rocksdb_options_set_compression_options_max_dict_buffer_bytes(options, 1 << 20);
  CHECK(rocksdb_options_get_compression_options_max_dict_buffer_bytes(options) == 1 << 20);
  rocksdb_options_set_compression_options_use_zstd_dict_trainer(options, 0);
  CHECK(!rocksdb_options_get_compression_options_use_zstd_dict_trainer(options));
  rocksdb_options_set_compression_options_parallel_threads(options, 1);
  CHECK(rocksdb_options_get_compression_options_parallel_threads(options) == 1);
  rocksdb_options_set_bottommost_compression_options(options, -14, 9, 0, 2048, 1);
  rocksdb_options_set_bottommost_compression_options_zstd_max_train_bytes(options, 20480, 1);
  rocksdb_options_set_bottommost_compression_options_max_dict_buffer_bytes(options, 1 << 19, 1);
  rocksdb_options_set_bottommost_compression_options_use_zstd_dict_trainer(options, 0, 1);
  CHECK(!rocksdb_options_get_bottommost_compression_options_use_zstd_dict_trainer(options));
  rocksdb_options_set_optimize_filters_for_hits(options, 1);
  CHECK(rocksdb_options_get_optimize_filters_for_hits(options) == 1);
  rocksdb_options_set_memtable_prefix_bloom_size_ratio(options, 0.125);
  CHECK(rocksdb_options_get_memtable_prefix_bloom_size_ratio(options) == 0.125);
  rocksdb_options_set_memtable_whole_key_filtering(options, 1);
  CHECK(rocksdb_options_get_memtable_whole_key_filtering(options) == 1);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_close(db);
  options_say(path, "max_dict_bytes=4096");
  options_say(path, "zstd_max_train_bytes=20480");
  options_say(path, "optimize_filters_for_hits=true");
  options_say(path, "memtable_whole_key_filtering=true");
  if (HERE) {
    rocksdb_options_set_compression_options(options, -14, 3, 0, -1);
    CHECK(!rocksdb_open(options, path, &err));
    FAILED("Invalid argument: ", "max_dict_bytes = -1");
  }
  rocksdb_options_destroy(options);
}

/* Keys look like "group:rest"; the prefix ends with the colon. */
static int ended = 0;
static void end_state(void* state) { ended += *(int*)state; }
static const char* colon_name(void* state) {
  (void)state;
  return "test.Colon";
}
static char* before_colon(void* state, const char* key, size_t length, size_t* prefix_length) {
  (void)state;
  const char* colon = memchr(key, ':', length);
  *prefix_length = colon ? (size_t)(colon - key) + 1 : length;
  return (char*)key;
}
static unsigned char has_colon(void* state, const char* key, size_t length) {
  (void)state;
  return memchr(key, ':', length) != NULL;
}

static void test_prefixes(const char* path) {
  static int one = 1;
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_prefix_extractor(
      options, rocksdb_slicetransform_create(&one, end_state, before_colon, has_colon, colon_name));
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom(10));
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_block_based_options_destroy(table);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  const char* keys[] = {"a:1", "a:2", "bb:1", "bb:2", "none"};
  for (int i = 0; i < 5; i++) {
    rocksdb_put(db, wo, keys[i], strlen(keys[i]), "v", 1, &err);
    OK();
  }
  rocksdb_flushoptions_t* fo = rocksdb_flushoptions_create();
  rocksdb_flush(db, fo, &err);
  OK();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_readoptions_set_prefix_same_as_start(ro, 1);
  rocksdb_iterator_t* it = rocksdb_create_iterator(db, ro);
  rocksdb_iter_seek(it, "bb:", 3);
  CHECK(key_is(it, "bb:1"));
  rocksdb_iter_next(it);
  CHECK(key_is(it, "bb:2"));
  rocksdb_iter_next(it);
  CHECK(!rocksdb_iter_valid(it)); /* "none" has no prefix */
  rocksdb_iter_seek(it, "a:2", 3);
  CHECK(key_is(it, "a:2"));
  rocksdb_iter_next(it);
  CHECK(!rocksdb_iter_valid(it));
  rocksdb_iter_destroy(it);
  rocksdb_readoptions_destroy(ro);
  rocksdb_flushoptions_destroy(fo);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_close(db);
  options_say(path, "prefix_extractor=test.Colon");
  rocksdb_options_destroy(options);
  CHECK(ended == 1);
  rocksdb_slicetransform_destroy(rocksdb_slicetransform_create(&one, end_state, before_colon, has_colon, colon_name));
  CHECK(ended == 2);
  if (HERE) {
    options = new_options();
    rocksdb_options_set_prefix_extractor(options,
                                         rocksdb_slicetransform_create(&one, NULL, NULL, has_colon, colon_name));
    CHECK(!rocksdb_open(options, path, &err));
    FAILED("Invalid argument: ", "transform");
    rocksdb_options_destroy(options);
  }
}

/* Rules by which tables with many deletions are compacted. */
static void test_deletion_rules(const char* path) {
  char* err = NULL;
  rocksdb_options_t* options = new_options();
  rocksdb_options_add_compact_on_deletion_collector_factory(options, 128, 2);
  rocksdb_options_add_compact_on_deletion_collector_factory_del_ratio(options, 256, 3, 0.5);
  rocksdb_options_add_compact_on_deletion_collector_factory_min_file_size(options, 0, 0, 0.25, 1000);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_close(db);
  if (HERE) {
    options_say(path, "compact_on_deletion={{window_size=128;deletion_trigger=2;deletion_ratio=0.000000;min_file_size=0;}:"
                      "{window_size=256;deletion_trigger=3;deletion_ratio=0.500000;min_file_size=0;}:"
                      "{window_size=0;deletion_trigger=0;deletion_ratio=0.250000;min_file_size=1000;}}");
  }
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[4096];
  snprintf(path, sizeof path, "%s", path_in(argv[1], "table"));
  test_table_options(path);
  snprintf(path, sizeof path, "%s", path_in(argv[1], "compression"));
  test_compression(path);
  snprintf(path, sizeof path, "%s", path_in(argv[1], "prefixes"));
  test_prefixes(path);
  snprintf(path, sizeof path, "%s", path_in(argv[1], "deletions"));
  test_deletion_rules(path);
  return 0;
}
