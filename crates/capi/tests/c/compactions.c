/* Compactions of named files, cancelling, aborting, waiting, the end of background work. */
#include "check.h"

static rocksdb_writeoptions_t* wo;
static rocksdb_flushoptions_t* fo;

static void fill(rocksdb_t* db, const char* value) {
  put(db, wo, "a", value);
  put(db, wo, "b", value);
  rocksdb_flush(db, fo, &err);
  OK();
}

/* The names of all tables, newest first. */
static size_t names_of(rocksdb_t* db, char** names) {
  const rocksdb_livefiles_t* files = rocksdb_livefiles(db);
  int count = rocksdb_livefiles_count(files);
  for (int i = 0; i < count; i++) {
    names[i] = strdup(rocksdb_livefiles_name(files, i));
  }
  rocksdb_livefiles_destroy(files);
  return (size_t)count;
}

static void free_names(char** names, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(names[i]);
  }
}

static int level_of_first(rocksdb_t* db) {
  const rocksdb_livefiles_t* files = rocksdb_livefiles(db);
  int level = rocksdb_livefiles_level(files, 0);
  rocksdb_livefiles_destroy(files);
  return level;
}

static void test_compact_files(rocksdb_t* db) {
  rocksdb_compaction_options_t* options = rocksdb_compaction_options_create();
  CHECK(rocksdb_compaction_options_get_compression(options) == 255);
  CHECK(rocksdb_compaction_options_get_output_file_size_limit(options) == UINT64_MAX);
  CHECK(rocksdb_compaction_options_get_max_subcompactions(options) == 0);
  CHECK(rocksdb_compaction_options_get_allow_trivial_move(options) == 0);
  rocksdb_compaction_options_set_compression(options, rocksdb_no_compression);
  rocksdb_compaction_options_set_output_file_size_limit(options, 1 << 20);
  rocksdb_compaction_options_set_max_subcompactions(options, 2);
  CHECK(rocksdb_compaction_options_get_compression(options) == rocksdb_no_compression);
  CHECK(rocksdb_compaction_options_get_output_file_size_limit(options) == 1 << 20);
  CHECK(rocksdb_compaction_options_get_max_subcompactions(options) == 2);

  char* names[8];
  fill(db, "1");
  fill(db, "2");
  size_t count = names_of(db, names);
  CHECK(count == 2);
  char** made = NULL;
  size_t num_made = 0;
  rocksdb_compactionjobinfo_t* info = rocksdb_compactionjobinfo_create();
  rocksdb_compact_files(db, options, (const char* const*)names, count, 2, -1, &made, &num_made, info, &err);
  OK();
  CHECK(num_made == 1 && strstr(made[0], ".sst") && level_of_first(db) == 2);
  CHECK(rocksdb_compactionjobinfo_input_files_count(info) == 2 && rocksdb_compactionjobinfo_output_level(info) == 2);
  size_t length = 0;
  const char* output = rocksdb_compactionjobinfo_output_file_at(info, 0, &length);
  CHECK(length == strlen(made[0]) && !memcmp(output, made[0], length));
  CHECK(rocksdb_compactionjobinfo_output_records(info) == 2);
  rocksdb_compactionjobinfo_destroy(info);
  rocksdb_compact_files_output_file_names_destroy(made, num_made);

  /* They are gone. */
  rocksdb_compact_files(db, options, (const char* const*)names, count, 2, -1, NULL, NULL, NULL, &err);
  FAILED("Invalid argument: ", "does not exist");
  rocksdb_compact_files(db, NULL, NULL, 0, 2, -1, NULL, NULL, NULL, &err);
  FAILED("Invalid argument: ", "at least one file");
  free_names(names, count);

  count = names_of(db, names);
  rocksdb_compact_files(db, options, (const char* const*)names, count, 1, 0, NULL, NULL, NULL, &err);
  FAILED("Invalid argument: ", "below the output level");
  rocksdb_compact_files(db, options, (const char* const*)names, count, 3, 9, NULL, NULL, NULL, &err);
  FAILED("Invalid argument: ", "output path 9");
  rocksdb_compact_files(db, options, (const char* const*)names, count, -1, 0, NULL, NULL, NULL, &err);
  FAILED("Invalid argument: ", "negative");

  /* Moved. */
  rocksdb_compaction_options_set_allow_trivial_move(options, 1);
  CHECK(rocksdb_compaction_options_get_allow_trivial_move(options) == 1);
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  rocksdb_compact_files_cf(db, family, options, (const char* const*)names, count, 4, 0, &made, &num_made, NULL, &err);
  OK();
  CHECK(num_made == 1 && strstr(made[0], names[0]) && level_of_first(db) == 4);
  rocksdb_compact_files_output_file_names_destroy(made, num_made);
#if HERE
  rocksdb_column_family_handle_destroy(family);
#endif

  /* Canceled, and not any more. */
  unsigned char* canceled = rocksdb_compaction_options_canceled_create();
  rocksdb_compaction_options_set_canceled(options, canceled);
  rocksdb_compaction_options_canceled_set(canceled, 1);
  rocksdb_compact_files(db, options, (const char* const*)names, count, 5, 0, NULL, NULL, NULL, &err);
  FAILED("Result incomplete: ", "Manual compaction paused");
  rocksdb_compaction_options_canceled_set(canceled, 0);
  rocksdb_compact_files(db, options, (const char* const*)names, count, 5, 0, NULL, NULL, NULL, &err);
  OK();
  rocksdb_compaction_options_set_canceled(options, NULL);
  rocksdb_compaction_options_canceled_destroy(canceled);

  /* One that comes before is counted. */
  rocksdb_enable_manual_compaction(db);
  rocksdb_disable_manual_compaction(db);
  rocksdb_disable_manual_compaction(db);
  rocksdb_compact_files(db, options, (const char* const*)names, count, 5, 0, NULL, NULL, NULL, &err);
  FAILED("Result incomplete: ", "Manual compaction paused");
  rocksdb_enable_manual_compaction(db);
  rocksdb_abort_all_compactions(db);
  rocksdb_abort_all_compactions(db);
  rocksdb_resume_all_compactions(db);
  uint64_t aborts = 0;
  CHECK(rocksdb_property_int(db, "rocksdb.compaction-abort-count", &aborts) == 0 && aborts == 1);
  rocksdb_compact_files(db, options, (const char* const*)names, count, 5, 0, NULL, NULL, NULL, &err);
  FAILED("Result incomplete: ", "Compaction aborted");
  rocksdb_resume_all_compactions(db);
  rocksdb_compaction_options_set_compression(options, 77);
  rocksdb_compact_files(db, options, (const char* const*)names, count, 5, 0, NULL, NULL, NULL, &err);
  FAILED("Invalid argument: ", "compression");
  free_names(names, count);
  rocksdb_compaction_options_destroy(options);
}

static void test_waiting(rocksdb_t* db) {
  rocksdb_wait_for_compact_options_t* options = rocksdb_wait_for_compact_options_create();
  rocksdb_pause_background_work(db, &err);
  OK();
  rocksdb_wait_for_compact_options_set_abort_on_pause(options, 1);
  rocksdb_wait_for_compact(db, options, &err);
  FAILED("Operation aborted: ", "paused");
  rocksdb_wait_for_compact_options_set_abort_on_pause(options, 0);
  put(db, wo, "c", "3");
  rocksdb_flushoptions_set_wait(fo, 0);
  rocksdb_flush(db, fo, &err);
  OK();
  rocksdb_flushoptions_set_wait(fo, 1);
  rocksdb_wait_for_compact_options_set_timeout(options, 1000);
  rocksdb_wait_for_compact(db, options, &err);
  FAILED("Operation timed out: ", "");
  rocksdb_continue_background_work(db, &err);
  OK();
  rocksdb_wait_for_compact_options_set_timeout(options, 60000000);
  rocksdb_wait_for_compact_options_set_flush(options, 1);
  rocksdb_wait_for_compact_options_set_wait_for_purge(options, 1);
  rocksdb_wait_for_compact_options_set_close_db(options, 1);
  rocksdb_wait_for_compact(db, options, &err);
  OK();
  rocksdb_put(db, wo, "d", 1, "4", 1, &err);
  FAILED("Shutdown in progress: ", "");
  rocksdb_wait_for_compact_options_destroy(options);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const char* path = path_in(argv[1], "compactions");
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_disable_auto_compactions(options, 1);
  wo = rocksdb_writeoptions_create();
  fo = rocksdb_flushoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  test_compact_files(db);
  test_waiting(db);
  rocksdb_close(db);

  db = rocksdb_open(options, path, &err);
  OK();
  GET(db, ro, "a", "2");
  GET(db, ro, "c", "3");
  rocksdb_cancel_all_background_work(db, 1);
  rocksdb_cancel_all_background_work(NULL, 1);
  GET(db, ro, "a", "2");
  put(db, wo, "e", "5");
  rocksdb_flush(db, fo, &err);
  FAILED("Shutdown in progress: ", "");
  rocksdb_close(db);
  db = rocksdb_open(options, path, &err);
  OK();
  GET(db, ro, "e", "5");
  rocksdb_close(db);
  rocksdb_readoptions_destroy(ro);
  rocksdb_flushoptions_destroy(fo);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_options_destroy(options);
  return 0;
}
