/* Environments, rate limiters, memory, and what is told of tables. */
#include "check.h"

/* A text whose length a call tells. */
#define IS(call, expected) \
  do { \
    const char* text_ = call; \
    CHECK(is_bytes(text_, length, expected)); \
  } while (0)

static void test_environments(const char* path) {
  rocksdb_env_t* env = rocksdb_create_default_env();
  rocksdb_env_set_background_threads(env, 2);
  CHECK(rocksdb_env_get_background_threads(env) == 2);
  rocksdb_env_set_high_priority_background_threads(env, 3);
  CHECK(rocksdb_env_get_high_priority_background_threads(env) == 3);
  rocksdb_env_set_low_priority_background_threads(env, 4);
  CHECK(rocksdb_env_get_low_priority_background_threads(env) == 4);
  rocksdb_env_set_bottom_priority_background_threads(env, 1);
  CHECK(rocksdb_env_get_bottom_priority_background_threads(env) == 1);
  rocksdb_env_lower_thread_pool_io_priority(env);
  rocksdb_env_lower_high_priority_thread_pool_io_priority(env);
  rocksdb_env_lower_thread_pool_cpu_priority(env);
  rocksdb_env_lower_high_priority_thread_pool_cpu_priority(env);
  rocksdb_create_dir_if_missing(env, path, &err);
  OK();
  rocksdb_create_dir_if_missing(env, path, &err);
  OK();
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_env(options, env);
  rocksdb_t* db = rocksdb_open(options, path_in(path, "default"), &err);
  OK();
  rocksdb_close(db);
#if HERE
  rocksdb_env_join_all_threads(env);
#endif
  rocksdb_options_destroy(options);
  rocksdb_env_destroy(env);
  /* Files in memory: nothing is left in the directory. */
  env = rocksdb_create_mem_env();
  options = new_options();
  rocksdb_options_set_env(options, env);
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  db = rocksdb_open(options, "/in-memory", &err);
  OK();
  put(db, wo, "key", "value");
  flush(db);
  rocksdb_close(db);
  db = rocksdb_open(options, "/in-memory", &err);
  OK();
  GET(db, ro, "key", "value");
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_env_destroy(env);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_readoptions_destroy(ro);
}

static void test_rate_limiters(const char* path) {
  rocksdb_ratelimiter_t* limiters[] = {
      rocksdb_ratelimiter_create(100 << 20, 100000, 10),
      rocksdb_ratelimiter_create_auto_tuned(100 << 20, 100000, 10),
      rocksdb_ratelimiter_create_with_mode(100 << 20, 100000, 10, 1, false),
      rocksdb_ratelimiter_create_with_mode(100 << 20, 100000, 10, 0, false),
      rocksdb_ratelimiter_create_with_mode(100 << 20, 100000, 10, 2, true),
  };
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_readoptions_set_rate_limiter_priority(ro, 3);
  for (int i = 0; i < 5; i++) {
    rocksdb_options_t* options = new_options();
    rocksdb_options_set_ratelimiter(options, limiters[i]);
    rocksdb_ratelimiter_destroy(limiters[i]);
    rocksdb_t* db = rocksdb_open(options, path, &err);
    OK();
    rocksdb_writeoptions_set_rate_limiter_priority(wo, 3);
    put(db, wo, "key", "value");
    flush(db);
    GET(db, ro, "key", "value");
    rocksdb_writeoptions_set_rate_limiter_priority(wo, 0);
    rocksdb_put(db, wo, "key", 3, "value", 5, &err);
    FAILED("Invalid argument: ", "WriteOptions::rate_limiter_priority only allows");
    rocksdb_close(db);
    rocksdb_options_destroy(options);
  }
  rocksdb_readoptions_destroy(ro);
  rocksdb_writeoptions_destroy(wo);
}

static void test_sst_file_managers(const char* path) {
  rocksdb_sst_file_manager_t* manager = rocksdb_sst_file_manager_create(NULL);
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_sst_file_manager(options, manager);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  put(db, wo, "key", "value");
  flush(db);
  CHECK(rocksdb_sst_file_manager_get_total_size(manager) > 0);
  rocksdb_sst_file_manager_set_max_allowed_space_usage(manager, 1);
  CHECK(rocksdb_sst_file_manager_is_max_allowed_space_reached(manager));
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_sst_file_manager_destroy(manager);
}

static void test_memory(rocksdb_t* db) {
  rocksdb_cache_t* cache = rocksdb_cache_create_lru(1 << 20);
  rocksdb_memory_consumers_t* consumers = rocksdb_memory_consumers_create();
  rocksdb_memory_consumers_add_db(consumers, db);
  rocksdb_memory_consumers_add_cache(consumers, cache);
  rocksdb_memory_usage_t* usage = rocksdb_approximate_memory_usage_create(consumers, &err);
  OK();
  uint64_t all = rocksdb_approximate_memory_usage_get_mem_table_total(usage);
  CHECK(all > 0 && all >= rocksdb_approximate_memory_usage_get_mem_table_unflushed(usage));
  CHECK(rocksdb_approximate_memory_usage_get_mem_table_readers_total(usage) < 1 << 30);
  CHECK(rocksdb_approximate_memory_usage_get_cache_total(usage) <= 1 << 20);
  rocksdb_approximate_memory_usage_destroy(usage);
  rocksdb_memory_consumers_destroy(consumers);
  rocksdb_cache_destroy(cache);
}

static void test_metadata(rocksdb_t* db, const char* path) {
  rocksdb_column_family_handle_t* first = rocksdb_get_default_column_family_handle(db);
  for (int i = 0; i < 2; i++) {
    rocksdb_column_family_metadata_t* all =
        i ? rocksdb_get_column_family_metadata(db) : rocksdb_get_column_family_metadata_cf(db, first);
    CHECK(rocksdb_column_family_metadata_get_size(all) > 0);
    CHECK(rocksdb_column_family_metadata_get_file_count(all) == 1);
    CHECK(rocksdb_column_family_metadata_get_level_count(all) == 7);
    char* name = rocksdb_column_family_metadata_get_name(all);
    CHECK(!strcmp(name, "default"));
    rocksdb_free(name);
    CHECK(!rocksdb_column_family_metadata_get_level_metadata(all, 99));
    rocksdb_level_metadata_t* level = rocksdb_column_family_metadata_get_level_metadata(all, 0);
    CHECK(rocksdb_level_metadata_get_level(level) == 0 && rocksdb_level_metadata_get_size(level) > 0);
    CHECK(rocksdb_level_metadata_get_file_count(level) == 1);
    CHECK(!rocksdb_level_metadata_get_sst_file_metadata(level, 1));
    rocksdb_sst_file_metadata_t* file = rocksdb_level_metadata_get_sst_file_metadata(level, 0);
    char* text = rocksdb_sst_file_metadata_get_relative_filename(file);
    CHECK(strstr(text, ".sst"));
    rocksdb_free(text);
    text = rocksdb_sst_file_metadata_get_directory(file);
    CHECK(!strcmp(text, path));
    rocksdb_free(text);
    CHECK(rocksdb_sst_file_metadata_get_size(file) > 0);
    size_t length = 0;
    text = rocksdb_sst_file_metadata_get_smallestkey(file, &length);
    CHECK(is_bytes(text, length, "a"));
    rocksdb_free(text);
    text = rocksdb_sst_file_metadata_get_largestkey(file, &length);
    CHECK(is_bytes(text, length, "b"));
    rocksdb_free(text);
    rocksdb_sst_file_metadata_destroy(file);
    rocksdb_level_metadata_destroy(level);
    rocksdb_column_family_metadata_destroy(all);
  }
#if HERE
  rocksdb_column_family_handle_destroy(first);
#endif
}

static void test_live_files(rocksdb_t* db, const char* path) {
  size_t length = 0;
  const rocksdb_livefiles_t* files = rocksdb_livefiles(db);
  CHECK(rocksdb_livefiles_count(files) == 1);
  CHECK(!strcmp(rocksdb_livefiles_column_family_name(files, 0), "default"));
  CHECK(!strcmp(rocksdb_livefiles_directory(files, 0), path));
  IS(rocksdb_livefiles_smallestkey(files, 0, &length), "a");
  IS(rocksdb_livefiles_largestkey(files, 0, &length), "b");
  CHECK(rocksdb_livefiles_smallest_seqno(files, 0) == 1 && rocksdb_livefiles_largest_seqno(files, 0) == 2);
  CHECK(rocksdb_livefiles_entries(files, 0) == 2 && rocksdb_livefiles_deletions(files, 0) == 0);
  rocksdb_livefiles_destroy(files);
  rocksdb_livefiles_t* own = rocksdb_livefiles_create();
  rocksdb_livefile_t* file = rocksdb_livefile_create();
  rocksdb_livefile_set_column_family_name(file, "family");
  rocksdb_livefile_set_name(file, "/000007.sst");
  rocksdb_livefile_set_directory(file, "/there");
  rocksdb_livefile_set_level(file, 3);
  rocksdb_livefile_set_size(file, 99);
  rocksdb_livefile_set_smallest_key(file, "from", 4);
  rocksdb_livefile_set_largest_key(file, "to", 2);
  rocksdb_livefile_set_smallest_seqno(file, 5);
  rocksdb_livefile_set_largest_seqno(file, 6);
  rocksdb_livefile_set_num_entries(file, 7);
  rocksdb_livefile_set_num_deletions(file, 8);
  rocksdb_livefiles_add(own, file);
  rocksdb_livefile_destroy(rocksdb_livefile_create());
  CHECK(rocksdb_livefiles_count(own) == 1 && rocksdb_livefiles_level(own, 0) == 3);
  CHECK(!strcmp(rocksdb_livefiles_name(own, 0), "/000007.sst") && rocksdb_livefiles_size(own, 0) == 99);
  IS(rocksdb_livefiles_largestkey(own, 0, &length), "to");
  CHECK(rocksdb_livefiles_entries(own, 0) == 7 && rocksdb_livefiles_deletions(own, 0) == 8);
  rocksdb_livefiles_destroy(own);
}

static void test_presets(const char* path) {
  rocksdb_options_t* options = new_options();
  rocksdb_options_increase_parallelism(options, 4);
  CHECK(rocksdb_options_get_max_background_jobs(options) == 4);
  rocksdb_options_set_memtable_prefix_bloom_size_ratio(options, 0.1);
  rocksdb_options_optimize_for_point_lookup(options, 8);
  CHECK(rocksdb_options_get_memtable_prefix_bloom_size_ratio(options) == 0.02);
  rocksdb_options_t* runs = rocksdb_options_create_copy(options);
  rocksdb_options_optimize_level_style_compaction(options, 64 << 20);
  CHECK(rocksdb_options_get_write_buffer_size(options) == 16 << 20);
  CHECK(rocksdb_options_get_min_write_buffer_number_to_merge(options) == 2);
  CHECK(rocksdb_options_get_max_write_buffer_number(options) == 6);
  CHECK(rocksdb_options_get_level0_file_num_compaction_trigger(options) == 2);
  CHECK(rocksdb_options_get_target_file_size_base(options) == 8 << 20);
  CHECK(rocksdb_options_get_max_bytes_for_level_base(options) == 64 << 20);
  CHECK(rocksdb_options_get_compaction_style(options) == rocksdb_level_compaction);
  rocksdb_options_optimize_universal_style_compaction(runs, 32 << 20);
  CHECK(rocksdb_options_get_write_buffer_size(runs) == 8 << 20);
  CHECK(rocksdb_options_get_min_write_buffer_number_to_merge(runs) == 2);
  CHECK(rocksdb_options_get_max_write_buffer_number(runs) == 6);
  CHECK(rocksdb_options_get_compaction_style(runs) == rocksdb_universal_compaction);
  CHECK(rocksdb_options_get_level0_file_num_compaction_trigger(runs) == 4);
  rocksdb_options_destroy(runs);
  rocksdb_options_t* copy = rocksdb_options_create_copy(options);
  rocksdb_options_prepare_for_bulk_load(copy);
  CHECK(rocksdb_options_get_num_levels(copy) == 2 && rocksdb_options_get_num_levels(options) == 7);
  CHECK(rocksdb_options_get_level0_file_num_compaction_trigger(copy) == 1 << 30);
  CHECK(rocksdb_options_get_level0_slowdown_writes_trigger(copy) == 1 << 30);
  CHECK(rocksdb_options_get_level0_stop_writes_trigger(copy) == 1 << 30);
  CHECK(rocksdb_options_get_soft_pending_compaction_bytes_limit(copy) == 0);
  CHECK(rocksdb_options_get_hard_pending_compaction_bytes_limit(copy) == 0);
  CHECK(rocksdb_options_get_disable_auto_compactions(copy));
  CHECK(rocksdb_options_get_max_compaction_bytes(copy) == (uint64_t)1 << 60);
  CHECK(rocksdb_options_get_max_write_buffer_number(copy) == 6);
  CHECK(rocksdb_options_get_min_write_buffer_number_to_merge(copy) == 1);
  CHECK(rocksdb_options_get_max_background_flushes(copy) == 4);
  CHECK(rocksdb_options_get_max_background_compactions(copy) == 2);
  CHECK(rocksdb_options_get_target_file_size_base(copy) == 256 << 20);
  rocksdb_options_destroy(copy);
  rocksdb_options_set_min_level_to_compress(options, 3);
  int factors[] = {1, 2, 1, 1, 1, 1, 1};
  rocksdb_options_set_max_bytes_for_level_multiplier_additional(options, factors, 7);
  rocksdb_options_checksum_handoff_file_types_add(options, 2);
  CHECK(rocksdb_options_checksum_handoff_file_types_contains(options, 2));
  CHECK(rocksdb_options_checksum_handoff_file_types_count(options) == 1);
  rocksdb_options_checksum_handoff_file_types_remove(options, 2);
  rocksdb_options_checksum_handoff_file_types_clear(options);
  CHECK(rocksdb_options_checksum_handoff_file_types_count(options) == 0);
  CHECK(rocksdb_options_calculate_sst_write_lifetime_hint_set_contains(options, 0));
  rocksdb_options_calculate_sst_write_lifetime_hint_set_add(options, 1);
  CHECK(rocksdb_options_calculate_sst_write_lifetime_hint_set_count(options) == 2);
  rocksdb_options_calculate_sst_write_lifetime_hint_set_remove(options, 1);
  rocksdb_options_calculate_sst_write_lifetime_hint_set_clear(options);
  CHECK(!rocksdb_options_calculate_sst_write_lifetime_hint_set_contains(options, 0));
  CHECK(!rocksdb_options_statistics_get_string(options) && rocksdb_options_get_statistics_level(options) == 0);
  rocksdb_options_enable_statistics(options);
  CHECK(rocksdb_options_get_statistics_level(options) == 3);
  rocksdb_options_set_statistics_level(options, 1);
  CHECK(rocksdb_options_get_statistics_level(options) == 1);
  char* statistics = rocksdb_options_statistics_get_string(options);
  CHECK(statistics && strstr(statistics, "rocksdb."));
  rocksdb_free(statistics);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_close(db);
  size_t length = 9;
  CHECK(rocksdb_options_get_db_log_dir(options, &length) && length == 0);
  rocksdb_options_set_db_log_dir(options, "/somewhere");
  IS(rocksdb_options_get_db_log_dir(options, &length), "/somewhere");
  rocksdb_options_set_db_host_id(options, "host");
  IS(rocksdb_options_get_db_host_id(options, &length), "host");
  rocksdb_options_set_daily_offpeak_time_utc(options, "01:00-02:00");
  IS(rocksdb_options_get_daily_offpeak_time_utc(options, &length), "01:00-02:00");
#if HERE
  db = rocksdb_open(options, path, &err);
  OK();
  char* notes = rocksdb_property_value(db, "ferrock.options-without-effect");
  CHECK(notes && strstr(notes, "db_log_dir = /somewhere has no effect"));
  rocksdb_free(notes);
  rocksdb_close(db);
  rocksdb_options_optimize_universal_style_compaction(options, 64 << 20);
#endif
  rocksdb_options_destroy(options);
}

#if HERE
static unsigned char keep(void* s, int l, const char* k, size_t kl, const char* v, size_t vl, char** n, size_t* nl,
                          unsigned char* c) {
  (void)s, (void)l, (void)k, (void)kl, (void)v, (void)vl, (void)n, (void)nl, (void)c;
  return 0;
}
static void end(void* state) { (void)state; }
static const char* name(void* state) {
  (void)state;
  return "keep";
}

static void test_components(const char* path) {
  rocksdb_filterpolicy_destroy(rocksdb_filterpolicy_create_bloom_format(10, true));
  rocksdb_filterpolicy_destroy(rocksdb_filterpolicy_create_ribbon_format(10, 1));
  rocksdb_compactionfilter_t* filter = rocksdb_compactionfilter_create(NULL, end, keep, name);
  rocksdb_options_t* options = new_options();
  rocksdb_compactionfilter_set_ignore_snapshots(filter, 0);
  rocksdb_options_set_compaction_filter(options, filter);
  CHECK(!rocksdb_open(options, path, &err));
  FAILED("Not implemented: ", "ignore_snapshots");
  rocksdb_compactionfilter_set_ignore_snapshots(filter, 1);
  rocksdb_options_set_compaction_filter(options, filter);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_compactionfilter_destroy(filter);
}
#endif

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[4096];
  snprintf(path, sizeof path, "%s/environments", argv[1]);
  test_environments(path);
  test_rate_limiters(path_in(argv[1], "limited"));
  test_sst_file_managers(path_in(argv[1], "counted"));
  test_presets(path_in(argv[1], "presets"));
  rocksdb_options_t* options = new_options();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  snprintf(path, sizeof path, "%s/told", argv[1]);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  put(db, wo, "a", "one");
  put(db, wo, "b", "two");
  flush(db);
  test_memory(db);
  test_metadata(db, path);
  test_live_files(db, path);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_writeoptions_destroy(wo);
#if HERE
  test_components(path_in(argv[1], "components"));
#endif
  return 0;
}
