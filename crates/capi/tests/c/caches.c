/* Caches, their options, and managers of memtable memory. */
#include "check.h"

static void test_options(void) {
  rocksdb_lru_cache_options_t* lru = rocksdb_lru_cache_options_create();
  rocksdb_lru_cache_options_set_capacity(lru, 4 << 20);
  rocksdb_lru_cache_options_set_num_shard_bits(lru, 2);
  rocksdb_cache_t* cache = rocksdb_cache_create_lru_opts(lru);
  rocksdb_lru_cache_options_set_capacity(lru, 1 << 20);
  CHECK(rocksdb_cache_get_capacity(cache) == 4 << 20);
  rocksdb_lru_cache_options_destroy(lru);
  rocksdb_cache_set_capacity(cache, 2 << 20);
  CHECK(rocksdb_cache_get_capacity(cache) == 2 << 20);
  rocksdb_cache_destroy(cache);

  rocksdb_hyper_clock_cache_options_t* clock = rocksdb_hyper_clock_cache_options_create(1 << 20, 4096);
  rocksdb_hyper_clock_cache_options_set_capacity(clock, 3 << 20);
  rocksdb_hyper_clock_cache_options_set_estimated_entry_charge(clock, 8192);
  rocksdb_hyper_clock_cache_options_set_num_shard_bits(clock, -1);
  cache = rocksdb_cache_create_hyper_clock_opts(clock);
  CHECK(rocksdb_cache_get_capacity(cache) == 3 << 20);
  rocksdb_hyper_clock_cache_options_destroy(clock);
  rocksdb_cache_destroy(cache);
}

/* Values of blob files come from a cache of their own, into which flushes put them. */
static void test_blobs(const char* path) {
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_enable_blob_files(options, 1);
  rocksdb_options_set_min_blob_size(options, 100);
  rocksdb_cache_t* cache = rocksdb_cache_create_lru(1 << 20);
  rocksdb_options_set_blob_cache(options, cache);
  rocksdb_options_set_prepopulate_blob_cache(options, 1);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  char text[1000];
  memset(text, 'v', sizeof text);
  text[sizeof text - 1] = 0;
  put(db, wo, "key", text);
  CHECK(rocksdb_cache_get_usage(cache) == 0);
  flush(db);
  CHECK(rocksdb_cache_get_usage(cache) >= sizeof text - 1);
  char* capacity = rocksdb_property_value(db, "rocksdb.blob-cache-capacity");
  CHECK(capacity && strcmp(capacity, "1048576") == 0);
  rocksdb_free(capacity);
  rocksdb_close(db);
  rocksdb_options_set_blob_cache(options, NULL);
  db = rocksdb_open(options, path, &err);
  OK();
  CHECK(!rocksdb_property_value(db, "rocksdb.blob-cache-capacity"));
  rocksdb_close(db);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_cache_destroy(cache);
  rocksdb_options_destroy(options);
}

static void test_use(const char* path) {
  rocksdb_options_t* options = new_options();
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  rocksdb_cache_t* cache = rocksdb_cache_create_lru_with_strict_capacity_limit(8 << 20);
  rocksdb_block_based_options_set_block_cache(table, cache);
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_write_buffer_manager_t* manager = rocksdb_write_buffer_manager_create_with_cache(1 << 20, cache, true);
  CHECK(rocksdb_write_buffer_manager_enabled(manager) && rocksdb_write_buffer_manager_cost_to_cache(manager));
  rocksdb_options_set_write_buffer_manager(options, manager);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  char name[32], text[1000];
  memset(text, 'v', sizeof text);
  text[sizeof text - 1] = 0;
  for (int number = 0; number < 300; number++) {
    snprintf(name, sizeof name, "key%06d", number);
    put(db, wo, name, text);
  }
  CHECK(rocksdb_write_buffer_manager_memory_usage(manager) >= 300000);
  CHECK(rocksdb_write_buffer_manager_mutable_memtable_memory_usage(manager) >= 300000);
  CHECK(rocksdb_write_buffer_manager_dummy_entries_in_cache_usage(manager) >= 300000);
  CHECK(rocksdb_cache_get_pinned_usage(cache) >= 300000);
  flush(db);
  rocksdb_write_buffer_manager_set_buffer_size(manager, 2 << 20);
  rocksdb_write_buffer_manager_set_allow_stall(manager, false);
  CHECK(rocksdb_write_buffer_manager_buffer_size(manager) == 2 << 20);

  size_t entries = rocksdb_cache_get_occupancy_count(cache);
  size_t usage = rocksdb_cache_get_usage(cache);
  size_t length = 0;
  char* value = rocksdb_get(db, ro, "key000007", 9, &length, &err);
  OK();
  CHECK(value && length == sizeof text - 1);
  rocksdb_free(value);
  CHECK(rocksdb_cache_get_occupancy_count(cache) > entries && rocksdb_cache_get_usage(cache) > usage);
  CHECK(rocksdb_cache_get_table_address_count(cache) > rocksdb_cache_get_occupancy_count(cache));

  /* A strict limit that leaves no room: the read says so, and succeeds once there is some. */
  rocksdb_cache_set_capacity(cache, 0);
  value = rocksdb_get(db, ro, "key000250", 9, &length, &err);
  CHECK(!value && err && strstr(err, "Memory limit reached"));
  rocksdb_free(err);
  err = NULL;
  rocksdb_cache_set_capacity(cache, 8 << 20);
  value = rocksdb_get(db, ro, "key000250", 9, &length, &err);
  OK();
  CHECK(value && length == sizeof text - 1);
  rocksdb_free(value);

  rocksdb_close(db);
  rocksdb_write_buffer_manager_destroy(manager);
  rocksdb_cache_destroy(cache);
  rocksdb_block_based_options_destroy(table);
  rocksdb_options_destroy(options);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_readoptions_destroy(ro);
}

static void test_null(void) {
  if (!HERE) return; /* RocksDB crashes */
  CHECK(rocksdb_cache_get_usage(NULL) == 0 && !rocksdb_cache_create_lru_opts(NULL));
  CHECK(!rocksdb_cache_create_hyper_clock_opts(NULL) && !rocksdb_write_buffer_manager_enabled(NULL));
  rocksdb_cache_set_capacity(NULL, 1);
  rocksdb_cache_disown_data(NULL);
  rocksdb_options_set_write_buffer_manager(NULL, NULL);
}

/* A cache of rows is taken, and changes nothing that is read. */
static void test_row_cache(const char* path) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_cache_t* cache = rocksdb_cache_create_lru(1 << 20);
  rocksdb_options_set_row_cache(options, cache);
  rocksdb_cache_destroy(cache);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_flushoptions_t* fo = rocksdb_flushoptions_create();
  rocksdb_put(db, wo, "a", 1, "1", 1, &err);
  rocksdb_flush(db, fo, &err);
  OK();
  for (int i = 0; i < 2; i++) {
    rocksdb_pinnableslice_t* value = rocksdb_get_pinned(db, ro, "a", 1, &err);
    CHECK(slice_is(value, "1"));
    rocksdb_pinnableslice_destroy(value);
  }
  rocksdb_close(db);
  rocksdb_options_set_row_cache(options, NULL);
  rocksdb_flushoptions_destroy(fo);
  rocksdb_readoptions_destroy(ro);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  test_options();
  test_use(path_in(argv[1], "caches"));
  test_blobs(path_in(argv[1], "blob-caches"));
  test_row_cache(path_in(argv[1], "row-cache"));
  test_null();
  rocksdb_write_buffer_manager_t* manager = rocksdb_write_buffer_manager_create(0, false);
  CHECK(!rocksdb_write_buffer_manager_enabled(manager) && !rocksdb_write_buffer_manager_cost_to_cache(manager));
  rocksdb_write_buffer_manager_destroy(manager);
  return 0;
}
