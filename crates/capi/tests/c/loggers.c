/* Loggers, which take the lines of the LOG, and questions for the tables of some levels and keys. */
#include "check.h"
#include <unistd.h>

typedef struct {
  int lines;
  int versions;
  int events;
  int warnings;
  int untagged;
} Seen;

static void on_line(void* state, unsigned level, char* line, size_t length) {
  Seen* seen = state;
  seen->lines++;
  CHECK(level <= 5 && strlen(line) <= length && line[length] == 0);
  seen->versions += strstr(line, "RocksDB version: ") != NULL;
  seen->events += strstr(line, "EVENT_LOG_v1 {\"time_micros\": ") != NULL;
  seen->warnings += level == 3;
  seen->untagged += level == 3 && strstr(line, "[ERROR]") == NULL;
}

static int exists(const char* directory, const char* name) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return access(path, F_OK) == 0;
}

static void put_both(rocksdb_t* db, const char* first, const char* last) {
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_put(db, write, first, strlen(first), "value", 5, &err);
  OK();
  rocksdb_put(db, write, last, strlen(last), "value", 5, &err);
  OK();
  rocksdb_writeoptions_destroy(write);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flush(db, flush, &err);
  OK();
  rocksdb_flushoptions_destroy(flush);
}

/* The tables of a question, which must be of so many levels, the first of them with this number. */
static size_t tables(rocksdb_t* db, rocksdb_column_family_metadata_options_t* options, size_t levels, int first) {
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  rocksdb_column_family_metadata_t* found = rocksdb_get_column_family_metadata_cf_with_options(db, family, options);
  size_t count = rocksdb_column_family_metadata_get_file_count(found);
  rocksdb_column_family_metadata_destroy(found);
  found = rocksdb_get_column_family_metadata_with_options(db, options);
  CHECK(rocksdb_column_family_metadata_get_file_count(found) == count);
  CHECK(rocksdb_column_family_metadata_get_level_count(found) == levels);
  CHECK((rocksdb_column_family_metadata_get_size(found) > 0) == (count > 0));
  if (levels > 0) {
    rocksdb_level_metadata_t* level = rocksdb_column_family_metadata_get_level_metadata(found, 0);
    CHECK(rocksdb_level_metadata_get_level(level) == first);
    rocksdb_sst_file_metadata_t* file = rocksdb_level_metadata_get_sst_file_metadata(level, 0);
    CHECK(rocksdb_sst_file_metadata_get_size(file) > 0);
    rocksdb_sst_file_metadata_destroy(file);
    rocksdb_level_metadata_destroy(level);
  }
  rocksdb_column_family_metadata_destroy(found);
#if HERE
  rocksdb_column_family_handle_destroy(family);
#endif
  return count;
}

static void set_range(rocksdb_column_family_metadata_options_t* options, const char* start, const char* end) {
  rocksdb_column_family_metadata_options_set_start_key(options, start, start ? strlen(start) : 0);
  rocksdb_column_family_metadata_options_set_end_key(options, end, end ? strlen(end) : 0);
  size_t length = 77;
  const char* kept = rocksdb_column_family_metadata_options_get_start_key(options, &length);
  CHECK(!kept == !start && length == (start ? strlen(start) : 0) && !memcmp(start ? kept : "", start ? start : "", length));
  kept = rocksdb_column_family_metadata_options_get_end_key(options, &length);
  CHECK(!kept == !end && length == (end ? strlen(end) : 0) && !memcmp(end ? kept : "", end ? end : "", length));
}

/* Two tables of level 6, a to c and d to f, and one of level 0, g to i. */
static void test_metadata(rocksdb_t* db) {
  put_both(db, "a", "c");
  put_both(db, "d", "f");
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  put_both(db, "g", "i");
  rocksdb_column_family_metadata_options_t* options = rocksdb_column_family_metadata_options_create();
  CHECK(rocksdb_column_family_metadata_options_get_level(options) == -1);
  size_t all = tables(db, NULL, 2, 0);
  CHECK(all == tables(db, options, 2, 0) && all >= 2);
  rocksdb_column_family_metadata_options_set_level(options, 0);
  CHECK(rocksdb_column_family_metadata_options_get_level(options) == 0);
  CHECK(tables(db, options, 1, 0) == 1);
  rocksdb_column_family_metadata_options_set_level(options, 6);
  CHECK(tables(db, options, 1, 6) == all - 1);
  set_range(options, "g", NULL);
  CHECK(tables(db, options, 0, 0) == 0);
  rocksdb_column_family_metadata_options_set_level(options, 3);
  CHECK(tables(db, options, 0, 0) == 0);
  rocksdb_column_family_metadata_options_set_level(options, 9);
  CHECK(tables(db, options, 0, 0) == 0);
  rocksdb_column_family_metadata_options_set_level(options, -2);
  CHECK(tables(db, options, 1, 0) == 1);
  set_range(options, NULL, NULL);
  CHECK(tables(db, options, 2, 0) == all);
  set_range(options, NULL, "a");
  CHECK(tables(db, options, 1, 6) == 1);
  set_range(options, "b", "b");
  CHECK(tables(db, options, 1, 6) == 1);
  set_range(options, "i", "z");
  CHECK(tables(db, options, 1, 0) == 1);
  set_range(options, "j", NULL);
  CHECK(tables(db, options, 0, 0) == 0);
  set_range(options, "d", "c");
  CHECK(tables(db, options, 0, 0) == 0);
  set_range(options, "", "");
  CHECK(tables(db, options, 0, 0) == 0);
  set_range(options, "", "a");
  CHECK(tables(db, options, 1, 6) == 1);
  rocksdb_column_family_metadata_options_destroy(options);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[500], other[520];
  snprintf(path, sizeof path, "%s/loggers", argv[1]);
  snprintf(other, sizeof other, "%s/other", argv[1]);
  Seen info = {0}, errors = {0};
  rocksdb_logger_t* logger = rocksdb_logger_create_callback_logger(1, on_line, &info);
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  /* Of the file alone. */
  rocksdb_options_set_info_log_level(options, 4);
  rocksdb_logger_t* none = rocksdb_options_get_info_log(options);
  CHECK(none);
  rocksdb_logger_destroy(none);
  rocksdb_options_set_info_log(options, logger);
  rocksdb_options_set_info_log(options, NULL);
  rocksdb_logger_t* same = rocksdb_options_get_info_log(options);
  CHECK(same && same != logger);
  rocksdb_logger_destroy(logger);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  CHECK(info.versions == 1);
  test_metadata(db);
  CHECK(info.events >= 6);
  CHECK(!exists(path, "LOG"));
  rocksdb_close(db);

  /* The first lines come whatever the level is. */
  logger = rocksdb_logger_create_callback_logger(3, on_line, &errors);
  rocksdb_options_set_info_log(options, logger);
  rocksdb_logger_destroy(logger);
  db = rocksdb_open(options, other, &err);
  OK();
  put_both(db, "a", "b");
  rocksdb_close(db);
  CHECK(errors.versions == 1 && errors.events == 0 && errors.lines < info.lines);
  CHECK(errors.warnings == errors.untagged);

  /* Options that get the logger of others. */
  rocksdb_options_t* again = rocksdb_options_create();
  rocksdb_options_set_info_log(again, same);
  rocksdb_logger_destroy(same);
  int before = info.lines;
  db = rocksdb_open(again, path, &err);
  OK();
  rocksdb_close(db);
  CHECK(info.lines > before && !exists(path, "LOG"));
  rocksdb_options_destroy(again);

  rocksdb_compaction_service_options_override_t* worker = rocksdb_compaction_service_options_override_create();
  logger = rocksdb_logger_create_stderr_logger(5, NULL);
  rocksdb_compaction_service_options_override_set_info_log(worker, logger);
  rocksdb_compaction_service_options_override_destroy(worker);
  rocksdb_logger_destroy(logger);
  logger = rocksdb_logger_create_stderr_logger(1, "here: ");
  rocksdb_options_set_info_log(options, logger);
  rocksdb_logger_destroy(logger);
  db = rocksdb_open(options, other, &err);
  OK();
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  puts("loggers passed");
  return 0;
}
