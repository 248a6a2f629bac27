/* Statistics of databases, and counters of a thread. */
#include "check.h"

enum { KEYS = 1000 };

/* Tickers and histograms by RocksDB's numbers. */
enum {
  BLOCK_CACHE_MISS = 0,
  BLOCK_CACHE_HIT = 1,
  DB_GET = 0,
  DB_WRITE = 1,
};

static rocksdb_t* open_db(rocksdb_options_t* options, const char* path) {
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  return db;
}

static void fill(rocksdb_t* db) {
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  for (int number = 0; number < KEYS; number++) {
    char key[16];
    int length = snprintf(key, sizeof key, "key%06d", number);
    rocksdb_put(db, write, key, length, "value", 5, &err);
    OK();
  }
  rocksdb_flush(db, flush, &err);
  OK();
  rocksdb_flushoptions_destroy(flush);
  rocksdb_writeoptions_destroy(write);
}

static void get(rocksdb_t* db, const char* key) {
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  size_t length = 0;
  rocksdb_free(rocksdb_get(db, read, key, strlen(key), &length, &err));
  OK();
  CHECK(length == 5);
  rocksdb_readoptions_destroy(read);
}

static void counts_of_a_database(const char* path) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_statistics_histogram_data_t* data = rocksdb_statistics_histogram_data_create();
  CHECK(!HERE || rocksdb_options_statistics_get_ticker_count(options, BLOCK_CACHE_HIT) == 0);
  rocksdb_options_enable_statistics(options);
  rocksdb_t* db = open_db(options, path);
  fill(db);
  get(db, "key000000");
  get(db, "key000000");
  CHECK(rocksdb_options_statistics_get_ticker_count(options, BLOCK_CACHE_MISS) == 1);
  CHECK(rocksdb_options_statistics_get_ticker_count(options, BLOCK_CACHE_HIT) == 1);
  CHECK(!HERE || rocksdb_options_statistics_get_ticker_count(options, 1 << 20) == 0);
  rocksdb_options_statistics_get_histogram_data(options, DB_WRITE, data);
  CHECK(rocksdb_statistics_histogram_data_get_count(data) == KEYS);
  CHECK(rocksdb_statistics_histogram_data_get_sum(data) <= KEYS * rocksdb_statistics_histogram_data_get_max(data));
  CHECK(rocksdb_statistics_histogram_data_get_min(data) <= rocksdb_statistics_histogram_data_get_median(data));
  CHECK(rocksdb_statistics_histogram_data_get_median(data) <= rocksdb_statistics_histogram_data_get_p95(data));
  CHECK(rocksdb_statistics_histogram_data_get_p95(data) <= rocksdb_statistics_histogram_data_get_p99(data));
  CHECK(rocksdb_statistics_histogram_data_get_p99(data) <= rocksdb_statistics_histogram_data_get_max(data));
  CHECK(rocksdb_statistics_histogram_data_get_average(data) <= rocksdb_statistics_histogram_data_get_max(data));
  CHECK(rocksdb_statistics_histogram_data_get_std_dev(data) >= 0);
  rocksdb_options_statistics_get_histogram_data(options, DB_GET, data);
  CHECK(rocksdb_statistics_histogram_data_get_count(data) == 2);
#if HERE /* RocksDB crashes */
  rocksdb_options_statistics_get_histogram_data(options, 1 << 20, data);
  CHECK(rocksdb_statistics_histogram_data_get_count(data) == 0);
#endif
  char* text = rocksdb_options_statistics_get_string(options);
  CHECK(strstr(text, "rocksdb.block.cache.hit COUNT : 1\n"));
  char* property = rocksdb_property_value(db, "rocksdb.options-statistics");
  CHECK(strstr(property, "rocksdb.block.cache.hit COUNT : 1\n"));
  rocksdb_free(property);
  rocksdb_free(text);
  /* A level that counts nothing keeps what was counted. */
  rocksdb_options_set_statistics_level(options, 0);
  get(db, "key000001");
  CHECK(rocksdb_options_statistics_get_ticker_count(options, BLOCK_CACHE_HIT) == 1);
  rocksdb_close(db);
  rocksdb_statistics_histogram_data_destroy(data);
  rocksdb_options_destroy(options);
}

/* The numbers of sums: each is another one, and those of times are 0 where counts alone are wanted. */
static void times_of_a_thread(rocksdb_t* db, rocksdb_perfcontext_t* context) {
  static const int times[] = {rocksdb_get_snapshot_time,        rocksdb_get_from_memtable_time,
                              rocksdb_get_post_process_time,    rocksdb_get_from_output_files_time,
                              rocksdb_seek_internal_seek_time,  rocksdb_seek_child_seek_time,
                              rocksdb_write_wal_time,           rocksdb_write_memtable_time,
                              rocksdb_write_pre_and_post_process_time};
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  for (int level = rocksdb_enable_count; level <= rocksdb_enable_time; level += 2) {
    rocksdb_set_perf_level(level);
    rocksdb_perfcontext_reset(context);
    rocksdb_put(db, write, "in memory", 9, "value", 5, &err);
    OK();
    get(db, "key000500");
    rocksdb_iterator_t* iter = rocksdb_create_iterator(db, read);
    rocksdb_iter_seek(iter, "key000500", 9);
    CHECK(rocksdb_iter_valid(iter));
    rocksdb_iter_destroy(iter);
    for (size_t index = 0; index < sizeof times / sizeof *times; index++) {
      CHECK((rocksdb_perfcontext_metric(context, times[index]) > 0) == (level == rocksdb_enable_time));
    }
    CHECK(rocksdb_perfcontext_metric(context, rocksdb_get_from_memtable_count) == 1);
    CHECK(rocksdb_perfcontext_metric(context, rocksdb_seek_on_memtable_count) == 1);
    CHECK(rocksdb_perfcontext_metric(context, rocksdb_seek_child_seek_count) == 2);
  }
  rocksdb_writeoptions_destroy(write);
  rocksdb_readoptions_destroy(read);
}

static void counts_of_a_thread(const char* path) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_t* db = open_db(options, path);
  rocksdb_perfcontext_t* context = rocksdb_perfcontext_create();
  get(db, "key000500");
  /* RocksDB counts unless it is told not to. */
  CHECK(!HERE || rocksdb_perfcontext_metric(context, rocksdb_block_read_count) == 0);
  rocksdb_set_perf_level(rocksdb_enable_count);
  rocksdb_perfcontext_reset(context);
  get(db, "key000500");
  get(db, "key000000");
  CHECK(rocksdb_perfcontext_metric(context, rocksdb_block_cache_hit_count) == 1);
  CHECK(rocksdb_perfcontext_metric(context, rocksdb_block_read_count) == 1);
  CHECK(rocksdb_perfcontext_metric(context, rocksdb_get_read_bytes) == 10);
  CHECK(rocksdb_perfcontext_metric(context, rocksdb_total_metric_count) == 0);
  CHECK(rocksdb_perfcontext_metric(context, -1) == 0);
  char* report = rocksdb_perfcontext_report(context, 1);
  CHECK(strstr(report, "block_read_count = 1") && !strstr(report, "= 0"));
  rocksdb_free(report);
  report = rocksdb_perfcontext_report(context, 0);
  CHECK(strstr(report, "user_key_comparison_count = ") && strstr(report, ", write_memtable_time = 0, "));
  rocksdb_free(report);
  rocksdb_perfcontext_reset(context);
  CHECK(rocksdb_perfcontext_metric(context, rocksdb_block_read_count) == 0);
  times_of_a_thread(db, context);
  rocksdb_set_perf_level(rocksdb_disable);
  rocksdb_perfcontext_destroy(context);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static void null_handles(void) {
  if (!HERE) return; /* RocksDB crashes */
  CHECK(!rocksdb_options_statistics_get_string(NULL) && !rocksdb_perfcontext_report(NULL, 1));
  CHECK(rocksdb_options_statistics_get_ticker_count(NULL, BLOCK_CACHE_HIT) == 0);
  rocksdb_options_enable_statistics(NULL);
  rocksdb_options_statistics_get_histogram_data(NULL, DB_GET, NULL);
  CHECK(rocksdb_statistics_histogram_data_get_median(NULL) == 0);
  rocksdb_perfcontext_reset(NULL);
  CHECK(rocksdb_perfcontext_metric(NULL, rocksdb_block_read_count) == 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  counts_of_a_database(path_in(argv[1], "statistics"));
  counts_of_a_thread(path_in(argv[1], "statistics"));
  null_handles();
  return 0;
}
