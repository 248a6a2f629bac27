/* Flush, compaction, pauses, properties, lists of tables, sizes, checksums. */
#include "check.h"

/* A queue that holds nothing: what is flushed falls off its end. */
static void test_queue(const char* path) {
  rocksdb_options_t* options = new_options();
  rocksdb_fifo_compaction_options_t* queue = rocksdb_fifo_compaction_options_create();
  rocksdb_fifo_compaction_options_set_max_table_files_size(queue, 1);
  rocksdb_options_set_compaction_style(options, rocksdb_fifo_compaction);
  rocksdb_options_set_fifo_compaction_options(options, queue);
  rocksdb_options_set_fifo_compaction_options(options, NULL);
  rocksdb_options_set_fifo_compaction_options(NULL, queue);
  rocksdb_fifo_compaction_options_destroy(queue);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  put(db, wo, "key", "value");
  GET(db, ro, "key", "value");
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  GET(db, ro, "key", NULL);
  rocksdb_close(db);
  rocksdb_readoptions_destroy(ro);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_options_destroy(options);
}

/* Sorted runs that a caller makes one. */
static void test_runs(const char* path) {
  rocksdb_options_t* options = new_options();
  rocksdb_universal_compaction_options_t* universal = rocksdb_universal_compaction_options_create();
  rocksdb_universal_compaction_options_set_stop_style(universal, rocksdb_similar_size_compaction_stop_style);
  rocksdb_universal_compaction_options_set_size_ratio(universal, 10);
  rocksdb_options_set_compaction_style(options, rocksdb_universal_compaction);
  rocksdb_options_set_universal_compaction_options(options, universal);
  rocksdb_options_set_universal_compaction_options(options, NULL);
  rocksdb_options_set_universal_compaction_options(NULL, universal);
  rocksdb_universal_compaction_options_destroy(universal);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_flushoptions_t* fo = rocksdb_flushoptions_create();
  for (int run = 0; run < 3; run++) {
    put(db, wo, "key", run == 2 ? "newest" : "value");
    rocksdb_flush(db, fo, &err);
    OK();
  }
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  GET(db, ro, "key", "newest");
  char* files = rocksdb_property_value(db, "rocksdb.num-files-at-level6");
  CHECK(files != NULL && strcmp(files, "1") == 0);
  rocksdb_free(files);
  rocksdb_close(db);
  rocksdb_flushoptions_destroy(fo);
  rocksdb_readoptions_destroy(ro);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const char* path = path_in(argv[1], "maintenance");
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_disable_auto_compactions(options, 1);
  rocksdb_options_set_compression(options, rocksdb_no_compression);
  rocksdb_options_set_manual_wal_flush(options, 1);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_flushoptions_t* fo = rocksdb_flushoptions_create();
  char key[16], value[101] = {0};
  memset(value, 'v', 100);
  for (int file = 0; file < 2; file++) {
    for (int i = 0; i < 2000; i++) {
      snprintf(key, sizeof key, "key%05d", i);
      put(db, wo, key, value);
    }
    rocksdb_flush_wal(db, 0, &err);
    OK();
    rocksdb_flush(db, fo, &err);
    OK();
  }

  const rocksdb_livefiles_t* files = rocksdb_livefiles(db);
  CHECK(rocksdb_livefiles_count(files) == 2);
  for (int i = 0; i < 2; i++) {
    const char* name = rocksdb_livefiles_name(files, i);
    CHECK(name[0] == '/' && !strcmp(name + strlen(name) - 4, ".sst"));
    CHECK(rocksdb_livefiles_level(files, i) == 0 && rocksdb_livefiles_size(files, i) > 200000);
  }
  rocksdb_livefiles_destroy(files);

  uint64_t number = 0;
  CHECK(rocksdb_property_int(db, "rocksdb.estimate-num-keys", &number) == 0 && number == 4000);
  CHECK(rocksdb_property_int(db, "rocksdb.no-such-property", &number) == -1);
  char* text = rocksdb_property_value(db, "rocksdb.num-files-at-level0");
  CHECK(text && !strcmp(text, "2"));
  rocksdb_free(text);
  CHECK(!rocksdb_property_value(db, "rocksdb.no-such-property"));

  /* Paused twice, going on needs both taken back. */
  rocksdb_pause_background_work(db, &err);
  OK();
  rocksdb_pause_background_work(db, &err);
  OK();
  rocksdb_flushoptions_set_wait(fo, 0);
  put(db, wo, "paused", "yes");
  rocksdb_flush(db, fo, &err);
  OK();
  rocksdb_continue_background_work(db, &err);
  OK();
  CHECK(rocksdb_property_int(db, "rocksdb.num-immutable-mem-table", &number) == 0 && number == 1);
  rocksdb_continue_background_work(db, &err);
  OK();
  rocksdb_wait_for_compact_options_t* waiting = rocksdb_wait_for_compact_options_create();
  rocksdb_wait_for_compact(db, waiting, &err);
  OK();
  CHECK(rocksdb_property_int(db, "rocksdb.num-immutable-mem-table", &number) == 0 && number == 0);
  rocksdb_continue_background_work(db, &err);
  FAILED("Invalid argument: ", "");
  rocksdb_wait_for_compact_options_destroy(waiting);

  rocksdb_compactoptions_t* co = rocksdb_compactoptions_create();
  rocksdb_compactoptions_set_bottommost_level_compaction(co, 2);
  rocksdb_compact_range(db, "key00000", 8, "key00001", 8);
  rocksdb_compact_range_opt(db, co, NULL, 0, NULL, 0);
  files = rocksdb_livefiles(db);
  CHECK(rocksdb_livefiles_count(files) == 1 && rocksdb_livefiles_level(files, 0) > 0);
  uint64_t file_size = rocksdb_livefiles_size(files, 0);
  rocksdb_livefiles_destroy(files);

  const char* starts[] = {"key00000", "key00500", "x"};
  const char* limits[] = {"z", "key01000", "y"};
  const size_t start_lengths[] = {8, 8, 1}, limit_lengths[] = {1, 8, 1};
  uint64_t sizes[3] = {1, 1, 1};
  rocksdb_approximate_sizes(db, 3, starts, start_lengths, limits, limit_lengths, sizes, &err);
  OK();
  CHECK(sizes[0] == file_size && sizes[1] > sizes[0] / 5 && sizes[1] < sizes[0] / 3 && sizes[2] == 0);

  rocksdb_verify_checksum(db, &err);
  OK();

  // A file that begins before the range or ends behind it stays.
  rocksdb_suggest_compact_range(db, NULL, 0, NULL, 0, &err);
  OK();
  rocksdb_wait_for_compact_options_t* settled = rocksdb_wait_for_compact_options_create();
  rocksdb_wait_for_compact(db, settled, &err);
  OK();
  rocksdb_wait_for_compact_options_destroy(settled);
  rocksdb_delete_file_in_range(db, "key00001", 8, NULL, 0, &err);
  OK();
  files = rocksdb_livefiles(db);
  CHECK(rocksdb_livefiles_count(files) == 1);
  rocksdb_livefiles_destroy(files);
  rocksdb_delete_file_in_range(db, "key00000", 8, NULL, 0, &err);
  OK();
  files = rocksdb_livefiles(db);
  CHECK(rocksdb_livefiles_count(files) == 0);
  rocksdb_livefiles_destroy(files);
  rocksdb_close(db);
  rocksdb_compactoptions_destroy(co);
  rocksdb_flushoptions_destroy(fo);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_options_destroy(options);
  test_queue(path_in(argv[1], "queue"));
  test_runs(path_in(argv[1], "runs"));
  return 0;
}
