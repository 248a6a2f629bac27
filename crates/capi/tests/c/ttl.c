/* Databases whose entries expire: every way to write and read takes times off, and families have lives of their own. */
#include "check.h"
#include <stdint.h>
#include <time.h>

static rocksdb_options_t* options;
static rocksdb_writeoptions_t* write_options;
static rocksdb_readoptions_t* read_options;

static void check_get(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* key, const char* expected) {
  size_t length = 99;
  char* value = rocksdb_get_cf(db, read_options, family, key, strlen(key), &length, &err);
  OK();
  CHECK(expected ? is_bytes(value, length, expected) : value == NULL);
  rocksdb_free(value);
}

static void compact(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  rocksdb_compactoptions_t* how = rocksdb_compactoptions_create();
  rocksdb_compactoptions_set_bottommost_level_compaction(how, 2);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flush_cf(db, flush, family, &err);
  OK();
  rocksdb_compact_range_cf_opt(db, family, how, NULL, 0, NULL, 0);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_compactoptions_destroy(how);
}

/* All ways to write and to read, of a database with the default family alone. */
static void test_reads_and_writes(const char* path) {
  rocksdb_t* db = rocksdb_open_with_ttl(options, path, 1000, &err);
  OK();
  rocksdb_put(db, write_options, "a", 1, "one", 3, &err);
  OK();
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, "b", 1, "two", 3);
  rocksdb_writebatch_put(batch, "c", 1, "", 0);
  rocksdb_writebatch_put(batch, "d", 1, "four", 4);
  rocksdb_writebatch_delete(batch, "d", 1);
  rocksdb_write(db, write_options, batch, &err);
  OK();
  CHECK(rocksdb_writebatch_count(batch) == 4);
  rocksdb_writebatch_destroy(batch);
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  check_get(db, family, "a", "one");
  check_get(db, family, "b", "two");
  check_get(db, family, "c", "");
  check_get(db, family, "d", NULL);
  rocksdb_pinnableslice_t* pinned = rocksdb_get_pinned(db, read_options, "a", 1, &err);
  OK();
  CHECK(slice_is(pinned, "one"));
  rocksdb_pinnableslice_destroy(pinned);
  const char* keys[] = {"a", "b", "d"};
  const size_t lengths[] = {1, 1, 1};
  char *values[3], *errors[3];
  size_t value_lengths[3];
  rocksdb_multi_get(db, read_options, 3, keys, lengths, values, value_lengths, errors);
  CHECK(!errors[0] && !errors[1] && !errors[2] && !values[2]);
  CHECK(is_bytes(values[0], value_lengths[0], "one") && is_bytes(values[1], value_lengths[1], "two"));
  rocksdb_free(values[0]);
  rocksdb_free(values[1]);
  rocksdb_iterator_t* it = rocksdb_create_iterator(db, read_options);
  rocksdb_iter_seek_to_first(it);
  size_t length = 99;
  const char* value = rocksdb_iter_value(it, &length);
  CHECK(key_is(it, "a") && is_bytes(value, length, "one"));
  rocksdb_iter_seek_to_last(it);
  value = rocksdb_iter_value(it, &length);
  CHECK(key_is(it, "c") && length == 0 && value);
  rocksdb_iter_prev(it);
  value = rocksdb_iter_value(it, &length);
  CHECK(key_is(it, "b") && is_bytes(value, length, "two"));
  rocksdb_iter_destroy(it);
  compact(db, family);
  check_get(db, family, "a", "one");
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  /* Without a life the times are there. */
  db = rocksdb_open(options, path, &err);
  OK();
  char* raw = rocksdb_get(db, read_options, "a", 1, &length, &err);
  OK();
  CHECK(length == 7 && !memcmp(raw, "one", 3));
  uint32_t time_of_write;
  memcpy(&time_of_write, raw + 3, 4);
  int64_t age = (int64_t)time(NULL) - time_of_write;
  CHECK(age >= 0 && age < 600);
  rocksdb_free(raw);
  /* What was written without a time is reported. */
  rocksdb_put(db, write_options, "e", 1, "xyz", 3, &err);
  OK();
  rocksdb_close(db);
  db = rocksdb_open_with_ttl(options, path, 0, &err);
  OK();
  CHECK(!rocksdb_get(db, read_options, "e", 1, &length, &err));
  FAILED("Corruption: ", "");
  rocksdb_close(db);
}

/* A value as one of June 2014, of a database without a life, whose values then are what such a database has on disk. */
static void put_old(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  const char old[] = {'o', 'l', 'd', 0x40, 0x5a, (char)0x92, 0x53};
  rocksdb_put_cf(db, write_options, family, "k", 1, old, sizeof old, &err);
  OK();
}

static void test_families(const char* path) {
  const char* names[] = {"default", "short", "forever"};
  const rocksdb_options_t* all[] = {options, options, options};
  rocksdb_column_family_handle_t* handles[5];
  rocksdb_t* db = rocksdb_open_column_families(options, path, 3, names, all, handles, &err);
  OK();
  for (int i = 0; i < 3; i++) {
    put_old(db, handles[i]);
    rocksdb_column_family_handle_destroy(handles[i]);
  }
  rocksdb_close(db);
  const int ttls[] = {2000000000, 1, 0};
  db = rocksdb_open_column_families_with_ttl(options, path, 3, names, all, handles, ttls, &err);
  OK();
  handles[3] = rocksdb_create_column_family_with_ttl(db, options, "made", 100000, &err);
  OK();
  handles[4] = rocksdb_create_column_family(db, options, "without", &err);
  OK();
  for (int i = 0; i < 5; i++) {
    if (i >= 3) {
      rocksdb_put_cf(db, write_options, handles[i], "k", 1, "old", 3, &err);
      OK();
    }
    check_get(db, handles[i], "k", "old");
    compact(db, handles[i]);
    check_get(db, handles[i], "k", i == 1 ? NULL : "old");
    rocksdb_column_family_handle_destroy(handles[i]);
  }
  rocksdb_close(db);
}

#if HERE
static void test_what_is_refused(const char* path) {
  const char* names[] = {"default"};
  const rocksdb_options_t* all[] = {options};
  rocksdb_column_family_handle_t* handle = NULL;
  CHECK(!rocksdb_open_column_families_with_ttl(options, path, 1, names, all, &handle, NULL, &err));
  FAILED("Invalid argument: ", "times to live");
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  CHECK(!rocksdb_create_column_family_with_ttl(db, options, "x", 1, &err));
  FAILED("Invalid argument: ", "rocksdb_open_with_ttl");
  rocksdb_close(db);
}
#endif

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[4096];
  options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  write_options = rocksdb_writeoptions_create();
  read_options = rocksdb_readoptions_create();
  snprintf(path, sizeof path, "%s/reads", argv[1]);
  test_reads_and_writes(path);
  snprintf(path, sizeof path, "%s/families", argv[1]);
  test_families(path);
#if HERE
  snprintf(path, sizeof path, "%s/refused", argv[1]);
  test_what_is_refused(path);
#endif
  rocksdb_readoptions_destroy(read_options);
  rocksdb_writeoptions_destroy(write_options);
  rocksdb_options_destroy(options);
  return 0;
}
