/* Every setter: good values open and show, in the OPTIONS file that the directory then has. */
#include "check.h"

static rocksdb_block_based_table_options_t* new_table_options(void) {
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  rocksdb_cache_t* cache = rocksdb_cache_create_lru(8 << 20);
  rocksdb_block_based_options_set_block_cache(table, cache);
  rocksdb_cache_destroy(cache); /* the options have it */
  rocksdb_block_based_options_set_block_size(table, 8192);
  rocksdb_block_based_options_set_block_restart_interval(table, 8);
  rocksdb_block_based_options_set_format_version(table, 5);
  rocksdb_block_based_options_set_checksum(table, 1);
  rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom(8));
  rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10));
  rocksdb_block_based_options_set_whole_key_filtering(table, 1);
  rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
  rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(table, 1);
  rocksdb_block_based_options_set_pin_top_level_index_and_filter(table, 0);
  rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
  rocksdb_block_based_options_set_no_block_cache(table, 0);
  rocksdb_block_based_options_set_index_type(table, rocksdb_block_based_table_index_type_two_level_index_search);
  rocksdb_block_based_options_set_partition_filters(table, 1);
  rocksdb_block_based_options_set_metadata_block_size(table, 2048);
  rocksdb_block_based_options_set_data_block_index_type(
      table, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);
  rocksdb_block_based_options_set_data_block_hash_ratio(table, 0.5);
  return table;
}

static rocksdb_options_t* every_option(void) {
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_paranoid_checks(options, 1);
  rocksdb_options_set_max_open_files(options, 500);
  rocksdb_options_set_max_background_jobs(options, 3);
  rocksdb_options_set_max_total_wal_size(options, 123456789);
  rocksdb_options_set_manual_wal_flush(options, 1);
  rocksdb_options_set_use_direct_reads(options, 0);
  rocksdb_options_set_use_direct_io_for_flush_and_compaction(options, 0);
  rocksdb_options_set_wal_recovery_mode(options, rocksdb_absolute_consistency_recovery);
  rocksdb_options_set_statistics_level(options, rocksdb_statistics_level_all);
  rocksdb_options_set_write_buffer_size(options, 7 << 20);
  rocksdb_options_set_max_write_buffer_number(options, 4);
  rocksdb_options_set_level0_file_num_compaction_trigger(options, 6);
  rocksdb_options_set_level0_slowdown_writes_trigger(options, 21);
  rocksdb_options_set_level0_stop_writes_trigger(options, 37);
  rocksdb_options_set_max_bytes_for_level_base(options, 99 << 20);
  rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 0);
  rocksdb_options_set_target_file_size_base(options, 9 << 20);
  rocksdb_options_set_compaction_style(options, rocksdb_level_compaction);
  rocksdb_options_set_disable_auto_compactions(options, 1);
  rocksdb_options_set_force_consistency_checks(options, 1);
  rocksdb_options_set_compression(options, rocksdb_zlib_compression);
  int levels[] = {rocksdb_no_compression, rocksdb_snappy_compression};
  rocksdb_options_set_compression_per_level(options, levels, 2);
  rocksdb_options_set_bottommost_compression(options, rocksdb_zstd_compression);
  rocksdb_options_set_uint64add_merge_operator(options);
  rocksdb_options_set_prefix_extractor(options, rocksdb_slicetransform_create_fixed_prefix(3));
  if (HERE) rocksdb_options_set_comparator(options, NULL); /* the bytewise order; in RocksDB none */
  rocksdb_options_set_compaction_filter(options, NULL);
  rocksdb_block_based_table_options_t* table = new_table_options();
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_block_based_options_destroy(table);
  return options;
}

/* The newest OPTIONS file has all of it; so does what is loaded from it, for it opens the same way. */
static void test_loading(const char* path) {
  rocksdb_cache_t* cache = rocksdb_cache_create_hyper_clock(4 << 20, 0);
  rocksdb_options_t* db_options = NULL;
  rocksdb_options_t** family_options = NULL;
  char** names = NULL;
  size_t count = 0;
  rocksdb_load_latest_options(path, NULL, false, cache, &db_options, &count, &names, &family_options, &err);
  OK();
  rocksdb_cache_destroy(cache);
  CHECK(count == 1 && !strcmp(names[0], "default"));
  rocksdb_column_family_handle_t* handle;
  rocksdb_options_set_create_if_missing(db_options, 0);
  rocksdb_t* db = rocksdb_open_column_families(db_options, path, 1, (const char* const*)names,
                                               (const rocksdb_options_t* const*)family_options, &handle, &err);
  OK();
  uint64_t capacity = 0;
  CHECK(rocksdb_property_int(db, "rocksdb.block-cache-capacity", &capacity) == 0 && capacity == 4 << 20);
  rocksdb_column_family_handle_destroy(handle);
  rocksdb_close(db);
  rocksdb_load_latest_options_destroy(db_options, names, family_options, count);
  rocksdb_load_latest_options(path_in(path, "nothing"), NULL, true, NULL, &db_options, &count, &names,
                              &family_options, &err);
  CHECK(err);
  CHECK(!db_options && count == 0 && !names && !family_options);
  rocksdb_free(err);
  err = NULL;
  /* What an error leaves can be handed back. */
  rocksdb_load_latest_options_destroy(db_options, names, family_options, count);
}

static void test_text(const char* path) {
  rocksdb_options_t* base = new_options();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_get_options_from_string(
      base, "write_buffer_size=2m;compression=kZSTD;block_based_table_factory={block_size=16k;block_cache=3m};", options,
      &err);
  OK();
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  uint64_t capacity = 0;
  CHECK(rocksdb_property_int(db, "rocksdb.block-cache-capacity", &capacity) == 0 && capacity == 3 << 20);
  rocksdb_close(db);
  rocksdb_get_options_from_string(base, "no_such_option=1", options, &err);
  FAILED("Invalid argument: ", "no_such_option");
  rocksdb_get_options_from_string(base, "write_buffer_size", options, &err);
  FAILED("Invalid argument: ", "");
  rocksdb_options_destroy(options);
  rocksdb_options_destroy(base);
}

/* Plain tables hold what was written, in both encodings, and take no deletions of ranges. */
static void test_plain_tables(const char* path) {
  for (char encoding = 0; encoding < 2; encoding++) {
    char directory[64];
    snprintf(directory, sizeof directory, "plain-%d", encoding);
    rocksdb_options_t* options = new_options();
    rocksdb_options_set_prefix_extractor(options, rocksdb_slicetransform_create_fixed_prefix(3));
    rocksdb_options_set_plain_table_factory(options, encoding ? 4 : 0, 10, 0.75, 16, 0, encoding, 0, encoding);
    rocksdb_options_set_bloom_locality(options, 1);
    CHECK(rocksdb_options_get_bloom_locality(options) == 1);
    rocksdb_options_set_allow_mmap_reads(options, 1);
    rocksdb_t* db = rocksdb_open(options, path_in(path, directory), &err);
    OK();
    rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
    rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
    const char* keys[] = {"abc0", "abc1", "abd2"};
    for (int i = 0; i < 3; i++) {
      rocksdb_put(db, wo, keys[i], 4, keys[i], 4, &err);
      OK();
    }
    rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
    rocksdb_delete_range_cf(db, wo, family, "a", 1, "b", 1, &err);
    rocksdb_column_family_handle_destroy(family);
    FAILED("Not implemented: ", "CFD::DeleteRange not supported for table type PlainTable in CF default");
    for (int flushed = 0; flushed < 2; flushed++) {
      for (int i = 0; i < 3; i++) GET(db, ro, keys[i], keys[i]);
      GET(db, ro, "abc2", NULL);
      rocksdb_iterator_t* it = rocksdb_create_iterator(db, ro);
      rocksdb_iter_seek(it, "abc0", 4);
      for (int i = 0; i < 2; i++, rocksdb_iter_next(it)) CHECK(key_is(it, keys[i]));
      rocksdb_iter_destroy(it);
      rocksdb_flushoptions_t* fo = rocksdb_flushoptions_create();
      rocksdb_flush(db, fo, &err);
      OK();
      rocksdb_flushoptions_destroy(fo);
    }
    rocksdb_readoptions_destroy(ro);
    rocksdb_writeoptions_destroy(wo);
    rocksdb_close(db);
    rocksdb_options_destroy(options);
  }
}

/* Every kind of memtable has what was written, before and after its flush. */
static void test_memtables(const char* path) {
  for (int kind = 0; kind < 3; kind++) {
    char directory[64];
    snprintf(directory, sizeof directory, "memtable-%d", kind);
    rocksdb_options_t* options = new_options();
    rocksdb_options_set_prefix_extractor(options, rocksdb_slicetransform_create_fixed_prefix(3));
    if (kind == 0) rocksdb_options_set_memtable_vector_rep(options);
    if (kind == 1) rocksdb_options_set_hash_skip_list_rep(options, 1000, 4, 4);
    if (kind == 2) rocksdb_options_set_hash_link_list_rep(options, 1000);
    if (kind > 0) {
      rocksdb_t* refused = rocksdb_open(options, path_in(path, directory), &err);
      CHECK(!refused);
      FAILED("Invalid argument: ", "concurrent writes (allow_concurrent_memtable_write)");
    }
    rocksdb_options_set_allow_concurrent_memtable_write(options, 0);
    rocksdb_t* db = rocksdb_open(options, path_in(path, directory), &err);
    OK();
    rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
    rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
    rocksdb_readoptions_set_total_order_seek(ro, 1);
    const char* keys[] = {"c", "abc1", "abd2", "", "abc0"};
    for (int i = 0; i < 5; i++) {
      rocksdb_put(db, wo, keys[i], strlen(keys[i]), keys[i], strlen(keys[i]), &err);
      OK();
    }
    for (int flushed = 0; flushed < 2; flushed++) {
      /* RocksDB takes the prefix of a key that has none. */
      if (HERE) GET(db, ro, "c", "c");
      GET(db, ro, "abc1", "abc1");
      GET(db, ro, "abc2", NULL);
      rocksdb_iterator_t* it = rocksdb_create_iterator(db, ro);
      rocksdb_iter_seek_to_first(it);
      const char* sorted[] = {"", "abc0", "abc1", "abd2", "c"};
      for (int i = 0; i < 5; i++, rocksdb_iter_next(it)) CHECK(key_is(it, sorted[i]));
      CHECK(!rocksdb_iter_valid(it));
      rocksdb_iter_destroy(it);
      rocksdb_flushoptions_t* fo = rocksdb_flushoptions_create();
      rocksdb_flush(db, fo, &err);
      OK();
      rocksdb_flushoptions_destroy(fo);
    }
    rocksdb_readoptions_destroy(ro);
    rocksdb_writeoptions_destroy(wo);
    rocksdb_close(db);
    rocksdb_options_destroy(options);
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[4096];
  snprintf(path, sizeof path, "%s", path_in(argv[1], "options"));
  rocksdb_options_t* options = every_option();
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  uint64_t number = 1;
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_merge(db, wo, "n", 1, (char*)&number, 8, &err);
  OK();
  uint64_t capacity = 0;
  CHECK(rocksdb_property_int(db, "rocksdb.block-cache-capacity", &capacity) == 0 && capacity == 8 << 20);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  if (HERE) test_loading(path); /* RocksDB wants an environment */
  test_text(path_in(argv[1], "text"));
  test_plain_tables(argv[1]);
  test_memtables(argv[1]);
  rocksdb_filterpolicy_destroy(rocksdb_filterpolicy_create_ribbon(10));
  return 0;
}
